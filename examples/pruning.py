"""How much to prune: three methods, and cross-validation to choose the cost of a leaf.

Run it with ``python examples/pruning.py``.
"""

from __future__ import annotations

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import hornbeam as hb


def main() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    X_grow, X_prune, y_grow, y_prune = train_test_split(X_train, y_train, random_state=0)

    full = hb.DecisionTreeClassifier().fit(X_train, y_train)
    grown = hb.DecisionTreeClassifier().fit(X_grow, y_grow)
    choice = hb.choose_ccp_alpha(full, X_train, y_train, one_standard_error=True)
    trees = {
        "unpruned": full,
        f"cost-complexity, alpha {choice.ccp_alpha:.4f}": choice.estimator,
        "reduced-error on a quarter": hb.prune_reduced_error(grown, X_prune, y_prune),
        "pessimistic": hb.prune_pessimistic(full),
    }
    print(f"{'':32} {'leaves':>7} {'test accuracy':>14}")
    for name, tree in trees.items():
        print(f"{name:32} {tree.get_n_leaves():7d} {tree.score(X_test, y_test):14.3f}")

    print("\nWhy the root of the unpruned tree asks what it asks:\n")
    print(full.explain_split(0))


if __name__ == "__main__":
    main()

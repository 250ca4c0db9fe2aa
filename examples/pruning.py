"""How much to prune: the cost-complexity path and cross-validation.

Run it with ``python examples/pruning.py``.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score

import hornbeam as hb


def main() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    path = hb.DecisionTreeClassifier().cost_complexity_pruning_path(X, y)
    print(f"{'ccp_alpha':>10} {'leaves':>7} {'accuracy in 5 folds':>20}")
    for alpha in np.unique(path.ccp_alphas)[::3]:
        tree = hb.DecisionTreeClassifier(ccp_alpha=max(alpha, 0.0))
        accuracy = cross_val_score(tree, X, y, cv=5).mean()
        print(f"{alpha:10.4f} {tree.fit(X, y).get_n_leaves():7d} {accuracy:20.3f}")


if __name__ == "__main__":
    main()

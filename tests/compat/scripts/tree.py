"""A script of a user of scikit-learn's trees: grown, walked by hand, pruned, and shown."""

import numpy as np
from sklearn.datasets import load_breast_cancer, make_friedman1
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_graphviz, export_text

data = load_breast_cancer()
X_train, X_test, y_train, y_test = train_test_split(
    data.data, data.target, test_size=0.5, random_state=0
)
tree = DecisionTreeClassifier(max_depth=4, min_samples_leaf=5, random_state=0)
tree.fit(X_train, y_train)


def walk(node=0):
    """What everybody writes to turn a tree into code."""
    inner = tree.tree_
    if inner.feature[node] == -2:
        return int(np.argmax(inner.value[node][0]))
    left, right = inner.children_left[node], inner.children_right[node]
    return (int(inner.feature[node]), float(inner.threshold[node]), walk(left), walk(right))


def follow(row, rules):
    """The class that the code says."""
    while isinstance(rules, tuple):
        rules = rules[2] if row[rules[0]] <= rules[1] else rules[3]
    return rules


rules = walk()
by_hand = [follow(row, rules) for row in X_test]
assert (by_hand == tree.predict(X_test)).all()
print(export_text(tree, feature_names=list(data.feature_names), show_weights=True))
print(len(export_graphviz(tree, feature_names=data.feature_names, filled=True)))

path = DecisionTreeClassifier(random_state=0).cost_complexity_pruning_path(X_train, y_train)
alphas = path.ccp_alphas[:-1]
found = [
    cross_val_score(DecisionTreeClassifier(random_state=0, ccp_alpha=a), X_train, y_train).mean()
    for a in alphas
]
pruned = DecisionTreeClassifier(random_state=0, ccp_alpha=alphas[int(np.argmax(found))])
pruned.fit(X_train, y_train)
print(pruned.get_depth(), pruned.get_n_leaves(), pruned.decision_path(X_test).shape)

XR, yr = make_friedman1(1200, noise=1.0, random_state=0)
regressor = DecisionTreeRegressor(min_samples_leaf=10).fit(XR[:600], yr[:600])

metrics = {
    "accuracy": tree.score(X_test, y_test),
    "accuracy of the pruned one": pruned.score(X_test, y_test),
    "r2": regressor.score(XR[600:], yr[600:]),
}

"""Extremely randomised trees by themselves, and scikit-learn's arguments and names on trees."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification

import hornbeam as hb

X, Y = make_classification(120, 5, n_informative=4, n_redundant=0, random_state=0)


@pytest.mark.parametrize(
    "extra, plain, features",
    [
        (hb.ExtraTreeClassifier, hb.DecisionTreeClassifier, "sqrt"),
        (hb.ExtraTreeRegressor, hb.DecisionTreeRegressor, 1.0),
    ],
)
def test_they_are_trees_with_random_cuts(extra, plain, features, tmp_path):
    tree = extra(random_state=1).fit(X, Y)
    same = plain(splitter="random", max_features=features, random_state=1).fit(X, Y)
    assert tree.digest() == same.digest()
    tree.save(tmp_path / "tree")
    again = hb.load(tmp_path / "tree")
    assert type(again) is extra and again.digest() == tree.digest()


def test_check_input_changes_nothing():
    tree = hb.DecisionTreeClassifier(max_depth=3).fit(X, Y, check_input=False)
    assert tree.digest() == hb.DecisionTreeClassifier(max_depth=3).fit(X, Y).digest()
    for method in ("predict", "predict_proba", "apply"):
        ask = getattr(tree, method)
        np.testing.assert_array_equal(ask(X, check_input=False), ask(X))
    assert (tree.decision_path(X, check_input=False) != tree.decision_path(X)).nnz == 0


def test_a_stored_tree_answers_to_the_names_of_the_peer():
    tree = hb.DecisionTreeClassifier(max_depth=3).fit(X, Y)
    stored = tree.tree_
    np.testing.assert_array_equal(stored.apply(X), tree.apply(X))
    assert (stored.decision_path(X) != tree.decision_path(X)).nnz == 0
    shares = stored.compute_feature_importances()
    np.testing.assert_allclose(shares, tree.feature_importances_[: len(shares)])
    assert stored.compute_feature_importances(normalize=False).sum() < 1.0
    assert stored.capacity == stored.node_count == len(stored.missing_go_to_left)
    leaf = stored.children_left < 0
    assert (stored.children_right[~leaf] == stored.children_left[~leaf] + 1).all()
    assert (stored.missing_go_to_left[leaf] == 0).all()

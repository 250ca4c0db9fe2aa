"""Feature importance by relative gain."""

from __future__ import annotations

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.tree.importance import gain_importance, relative_gain


def fitted(seed=0, n=120, n_features=4, **params):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    return hb.DecisionTreeRegressor(**params).fit(X, 2 * X[:, 1] + rng.normal(size=n))


def slow_importance(tree, n_features):
    """Sum over nodes: (w_N / w_all) * (impurity - weighted impurity of the children)."""
    total = np.zeros(n_features)
    for node in np.flatnonzero(~tree.is_leaf):
        left, right = tree.children_left[node], tree.children_right[node]
        below = tree.weight[left] * tree.impurity[left] + tree.weight[right] * tree.impurity[right]
        decrease = tree.impurity[node] - below / tree.weight[node]
        total[tree.feature[node]] += tree.weight[node] / tree.weight[0] * decrease
    return total / total.sum()


@pytest.mark.mission("T11")
@pytest.mark.quick
@pytest.mark.parametrize("seed", range(3))
def test_importance_is_the_share_of_the_relative_gain(seed):
    tree = fitted(seed)
    importance = tree.feature_importances_
    assert importance == pytest.approx(slow_importance(tree.tree_, 4))
    assert importance.sum() == pytest.approx(1.0)
    assert importance.argmax() == 1


@pytest.mark.mission("T11")
@pytest.mark.quick
def test_gains_of_all_splits_add_up_to_what_the_leaves_save():
    tree = fitted().tree_
    leaves = tree.is_leaf
    saved = tree.impurity[0] - (tree.weight * tree.impurity)[leaves].sum() / tree.weight[0]
    assert relative_gain(tree).sum() == pytest.approx(saved)
    assert (relative_gain(tree)[leaves] == 0).all()


@pytest.mark.mission("T11")
@pytest.mark.quick
def test_unused_features_have_none_and_a_lone_root_gives_zeros():
    tree = fitted(max_depth=1)
    assert sorted(tree.feature_importances_) == [0.0, 0.0, 0.0, 1.0]
    alone = hb.DecisionTreeClassifier().fit([[0.0, 1.0], [1.0, 0.0]], [1, 1])
    assert alone.feature_importances_.tolist() == [0.0, 0.0]
    assert gain_importance(alone.tree_, 7).shape == (7,)

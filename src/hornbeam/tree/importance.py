"""Feature importance by relative gain."""

from __future__ import annotations

import numpy as np

from hornbeam.dtypes import Array
from hornbeam.tree.scaling import weights_of
from hornbeam.tree.storage import Tree


def relative_gain(tree: Tree) -> Array:
    """Relative gain of each node's split: (w_N / w_all) * decrease of the impurity.

    Where squared targets are beyond all numbers the gains are in a larger unit.
    """
    inner = np.flatnonzero(~tree.is_leaf)
    if np.isinf(tree.impurity).any():
        return _gain_of_means(tree, inner)
    weight, whole = weights_of(tree)
    gain = weight * tree.impurity
    children = np.zeros(tree.node_count)
    np.add.at(children, tree.parent[1:], gain[1:])
    gain[inner] -= children[inner]
    gain[tree.is_leaf] = 0.0
    return gain / whole


def _gain_of_means(tree: Tree, inner: Array) -> Array:
    """The same from what children predict: w_l w_r / (w_N w_all) * (mean_l - mean_r)^2.

    In such a unit that targets are not above 1.
    """
    gain = np.zeros(tree.node_count)
    left, right = tree.first_child[inner], tree.first_child[inner] + 1
    value = np.ldexp(tree.value, -int(np.frexp(np.abs(tree.value).max())[1]))
    squares = np.mean((value[left] - value[right]) ** 2, axis=1)
    shares = tree.weight[left] / tree.weight[inner], tree.weight[right] / tree.weight[0]
    gain[inner] = shares[0] * shares[1] * squares
    return gain


def feature_gains(tree: Tree, n_features: int) -> Array:
    """Relative gain of all splits on each feature."""
    inner = ~tree.is_leaf
    return np.bincount(tree.feature[inner], relative_gain(tree)[inner], n_features)


def gain_importance(tree: Tree, n_features: int) -> Array:
    """Share of each feature in the relative gain of all splits; sums to 1 unless all are 0."""
    total = feature_gains(tree, n_features)
    whole = total.sum()
    return total / whole if whole > 0 else total

"""Feature importance by relative gain."""

from __future__ import annotations

import numpy as np

from hornbeam.dtypes import Array
from hornbeam.tree.storage import Tree


def relative_gain(tree: Tree) -> Array:
    """Relative gain of each node's split: (w_N / w_all) * decrease of the impurity."""
    gain = tree.weight * tree.impurity
    inner = np.flatnonzero(~tree.is_leaf)
    children = np.zeros(tree.node_count)
    np.add.at(children, tree.parent[1:], gain[1:])
    gain[inner] -= children[inner]
    gain[tree.is_leaf] = 0.0
    return gain / tree.weight[0]


def feature_gains(tree: Tree, n_features: int) -> Array:
    """Relative gain of all splits on each feature."""
    inner = ~tree.is_leaf
    return np.bincount(tree.feature[inner], relative_gain(tree)[inner], n_features)


def gain_importance(tree: Tree, n_features: int) -> Array:
    """Share of each feature in the relative gain of all splits; sums to 1 unless all are 0."""
    total = feature_gains(tree, n_features)
    whole = total.sum()
    return total / whole if whole > 0 else total

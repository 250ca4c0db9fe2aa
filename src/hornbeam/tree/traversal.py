"""Prediction of one tree: which leaf each row falls into, and the way there."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse

from hornbeam.dtypes import NODE, THRESHOLD, Array
from hornbeam.kernels.traverse import LANES, MISSING_RIGHT, find_leaves, find_leaves_by_sets
from hornbeam.tree.predict import Cells, Outputs, send_down
from hornbeam.tree.storage import Tree

_SECONDS_PER_STEP = 2e-9


class Walker:
    """A tree made ready to be walked; made once per tree, safe to share by threads."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree.arrays()
        self.only_thresholds = bool(np.all(tree.kind <= THRESHOLD))
        self.seconds_per_row = (2 + tree.max_depth) * _SECONDS_PER_STEP
        packed = np.zeros(tree.node_count, [("t", "f8"), ("child", "i4"), ("feature", "i4")])
        leaf = tree.is_leaf
        packed["t"] = np.where(leaf, np.inf, tree.threshold)
        packed["child"] = np.where(leaf, np.arange(tree.node_count), tree.first_child)
        packed["feature"] = np.where(leaf, 0, tree.feature + tree.missing_branch * MISSING_RIGHT)
        self.thresholds = packed.view(np.float64)
        self.links = packed.view(np.int32)

    def leaves(self, matrix: Any, n_jobs: int | None = 1, checked: bool = True) -> Array | None:
        """Leaf of each row of a matrix; None if an infinite value was met on the way.

        With ``checked=False`` only the values that the tree asks for are looked at.
        """
        leaves = np.empty(matrix.shape[0], NODE)

        def walk(cells: Cells, first: int, last: int, outputs: Outputs) -> bool:
            flat, row_step, column_step, n_columns = cells
            (own,) = outputs
            if self.only_thresholds:
                n_checked = n_columns if checked else 0
                finite: bool = find_leaves(
                    flat, row_step, column_step, n_checked, first, last,
                    self.thresholds, self.links, np.empty(LANES, np.int64), own,
                )  # fmt: skip
                return finite
            find_leaves_by_sets(flat, row_step, column_step, first, last, self.tree, own)
            return True

        finite = send_down(matrix, walk, (leaves,), n_jobs, self.seconds_per_row)
        return leaves if finite else None


_walkers: WeakKeyDictionary[Tree, Walker] = WeakKeyDictionary()


def walker(tree: Tree) -> Walker:
    """The walker of a tree, made when it is first asked for."""
    ready = _walkers.get(tree)
    if ready is None:
        ready = _walkers[tree] = Walker(tree)
    return ready


def decision_path(tree: Tree, leaves: Array) -> scipy.sparse.csr_matrix:
    """Which nodes each row passes, as a sparse indicator matrix like scikit-learn's."""
    ended, which = np.unique(leaves, return_inverse=True)
    paths = []
    for leaf in ended:
        path, node = [], int(leaf)
        while node >= 0:
            path.append(node)
            node = int(tree.parent[node])
        paths.append(path[::-1])
    lengths = np.array([len(path) for path in paths])
    indptr = np.concatenate([[0], np.cumsum(lengths[which])])
    indices = np.concatenate([paths[i] for i in which])
    data = np.ones(len(indices), np.int64)
    return scipy.sparse.csr_matrix((data, indices, indptr), shape=(len(leaves), tree.node_count))

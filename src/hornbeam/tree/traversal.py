"""Prediction of one tree: which leaf each row falls into, and the way there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse

from hornbeam.dtypes import NODE, THRESHOLD, Array
from hornbeam.kernels.traverse import LANES, MISSING_RIGHT, find_leaves, find_leaves_by_sets
from hornbeam.runtime.team import run_parallel, thread_count
from hornbeam.tree.storage import Tree

_SECONDS_PER_STEP = 2e-9
_CHUNK_ROWS = 4096
_BLOCK_BYTES = 1 << 23


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
        n_rows = matrix.shape[0]
        leaves = np.empty(n_rows, NODE)
        if scipy.sparse.issparse(matrix):
            step = max(1, _BLOCK_BYTES // (8 * matrix.shape[1]))
            for start in range(0, n_rows, step):
                block = matrix[start : start + step].toarray()
                leaves[start : start + step] = self.leaves(block, n_jobs, checked)
            return leaves
        walk = self._walk_on(matrix, leaves, checked)
        seconds = n_rows * self.seconds_per_row
        if n_rows <= _CHUNK_ROWS or thread_count(n_jobs, seconds) == 1:
            return leaves if walk(0, n_rows) else None
        n_chunks = -(-n_rows // _CHUNK_ROWS)
        finite = np.ones(n_chunks, bool)

        def walk_chunk(chunk: int) -> None:
            first = chunk * _CHUNK_ROWS
            finite[chunk] = walk(first, min(n_rows, first + _CHUNK_ROWS))

        run_parallel(walk_chunk, n_chunks, n_jobs, seconds)
        return leaves if finite.all() else None

    def _walk_on(self, matrix: Array, leaves: Array, checked: bool) -> Callable[[int, int], bool]:
        """A function that walks a span of the rows; it says whether all values are finite."""
        flat = matrix.ravel(order="K")
        row_step = matrix.strides[0] // matrix.itemsize
        column_step = matrix.strides[1] // matrix.itemsize
        n_columns = matrix.shape[1] if checked else 0  # that are looked through

        def walk(first: int, last: int) -> bool:
            if self.only_thresholds:
                return find_leaves(
                    flat, row_step, column_step, n_columns, first, last,
                    self.thresholds, self.links, np.empty(LANES, np.int64), leaves,
                )  # fmt: skip
            find_leaves_by_sets(flat, row_step, column_step, first, last, self.tree, leaves)
            return True

        return walk


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

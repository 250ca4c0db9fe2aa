"""Prediction with fractions: a row with a missing value goes down every branch.

At a node that asks for a missing value, or for a category that none of its training rows
had, a row parts into fractions, one per branch, in proportion to the training weight of
the branches. What is predicted is the mixture of all leaves that it reaches.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse

from hornbeam.dtypes import LEAF, MULTIWAY, NODE, Array
from hornbeam.kernels.quinlan.fractions import mix_leaves, walk_to_leaves
from hornbeam.runtime.team import run_parallel
from hornbeam.tree.storage import Tree

_SECONDS_PER_STEP = 4e-9
_CHUNK_ROWS = 4096
_BLOCK_BYTES = 1 << 23


class FractionArrays(NamedTuple):
    """What the kernels read of a tree."""

    first_child: Array
    n_branches: Array
    feature: Array
    kind: Array
    threshold: Array
    set_start: Array
    set_words: Array
    weight: Array
    value: Array
    own_branch: Array  # of missing values, -1 where they have none
    heaviest: Array  # branch


class FractionWalker:
    """A tree made ready for rows with fractions; safe to share by threads."""

    def __init__(self, tree: Tree, n_categories: Array) -> None:
        self.node_count = tree.node_count
        self.seconds_per_row = (2 + tree.max_depth) * _SECONDS_PER_STEP
        own = np.full(tree.node_count, -1, NODE)
        several = np.flatnonzero(tree.kind == MULTIWAY)
        several = several[tree.n_branches[several] > n_categories[tree.feature[several]]]
        own[several] = tree.n_branches[several] - 1
        heaviest = np.zeros(tree.node_count, NODE)
        for node in np.flatnonzero(tree.kind != LEAF):
            first = int(tree.first_child[node])
            weights = tree.weight[first : first + int(tree.n_branches[node])]
            heaviest[node] = np.argmax(weights)
        shared = {name: getattr(tree, name) for name in FractionArrays._fields[:-2]}
        self.arrays = FractionArrays(**shared, own_branch=own, heaviest=heaviest)

    def leaves(self, matrix: Any, n_jobs: int | None = 1) -> tuple[Array, Array]:
        """Leaf of each row, and whether it reaches several.

        Of several leaves it is the one behind the heaviest branches.
        """
        n_rows = matrix.shape[0]
        leaves, mixed = np.empty(n_rows, NODE), np.empty(n_rows, np.bool_)
        values, row_step, column_step = _flat(matrix)
        n_chunks = -(-n_rows // _CHUNK_ROWS)

        def walk(chunk: int) -> None:
            first = chunk * _CHUNK_ROWS
            last = min(n_rows, first + _CHUNK_ROWS)
            walk_to_leaves(values, row_step, column_step, first, last, self.arrays, leaves, mixed)

        run_parallel(walk, n_chunks, n_jobs, n_rows * self.seconds_per_row)
        return leaves, mixed

    def mixture(self, matrix: Any, n_jobs: int | None = 1) -> Array:
        """Class shares of each row: those of its leaf, or the mixture of several."""
        leaves, mixed = self.leaves(matrix, n_jobs)
        shares: Array = self.arrays.value[leaves]
        rows = np.flatnonzero(mixed)
        if len(rows):
            mixture = np.zeros((len(rows), shares.shape[1]))
            stack, parts = np.empty(self.node_count, np.int64), np.empty(self.node_count)
            values, row_step, column_step = _flat(matrix)
            mix_leaves(values, row_step, column_step, rows, self.arrays, stack, parts, mixture)
            total = mixture.sum(axis=1)
            known = (total > 0.0) & (total < np.inf)  # weights of a made-up file may say nothing
            shares[rows[known]] = mixture[known] / total[known, None]
        return shares


def _flat(matrix: Array) -> tuple[Array, int, int]:
    """The cells of a matrix in memory order, and the steps from row to row and column."""
    steps = (stride // matrix.itemsize for stride in matrix.strides)
    return matrix.ravel(order="K"), *steps  # type: ignore[return-value]


def dense_blocks(matrix: Any) -> Any:
    """A dense matrix as it is, a sparse one in dense blocks of rows."""
    if not scipy.sparse.issparse(matrix):
        yield matrix
        return
    step = max(1, _BLOCK_BYTES // (8 * matrix.shape[1]))
    for start in range(0, matrix.shape[0], step):
        yield matrix[start : start + step].toarray()


_walkers: WeakKeyDictionary[Tree, FractionWalker] = WeakKeyDictionary()


def fraction_walker(tree: Tree, n_categories: Array) -> FractionWalker:
    """The walker of a tree, made when it is first asked for."""
    ready = _walkers.get(tree)
    if ready is None:
        ready = _walkers[tree] = FractionWalker(tree, n_categories)
    return ready

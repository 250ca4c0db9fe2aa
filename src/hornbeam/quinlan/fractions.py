"""Prediction with fractions: a row with a missing value goes down every branch.

At a node that asks for a missing value, or for a category that none of its training rows
had, a row parts into fractions, one per branch, in proportion to the training weight of
the branches. What is predicted is the mixture of all leaves that it reaches.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from hornbeam.dtypes import LEAF, MULTIWAY, NODE, Array
from hornbeam.kernels.quinlan.fractions import mix_leaves, walk_to_leaves
from hornbeam.tree.predict import Cells, Outputs, send_down
from hornbeam.tree.storage import Tree

_SECONDS_PER_STEP = 4e-9


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

    def leaves(self, matrix: Any, n_jobs: int | None = 1) -> Array:
        """Leaf of each row; of a row that reaches several, the one behind the heaviest branches."""
        leaves, mixed = np.empty(matrix.shape[0], NODE), np.empty(matrix.shape[0], np.bool_)
        send_down(matrix, self._walk, (leaves, mixed), n_jobs, self.seconds_per_row)
        return leaves

    def mixture(self, matrix: Any, n_jobs: int | None = 1) -> Array:
        """Class shares of each row: those of its leaf, or the mixture of several."""
        n_rows = matrix.shape[0]
        shares = np.empty((n_rows, self.arrays.value.shape[1]))
        leaves, mixed = np.empty(n_rows, NODE), np.empty(n_rows, np.bool_)

        def walk(cells: Cells, first: int, last: int, outputs: Any) -> bool:
            own, leaves, mixed = outputs
            self._walk(cells, first, last, (leaves, mixed))
            own[first:last] = self.arrays.value[leaves[first:last]]
            rows = first + np.flatnonzero(mixed[first:last])
            if len(rows):
                self._mix(cells, rows, own)
            return True

        send_down(matrix, walk, (shares, leaves, mixed), n_jobs, self.seconds_per_row)
        return shares

    def _walk(self, cells: Cells, first: int, last: int, outputs: Outputs) -> bool:
        flat, row_step, column_step, _ = cells
        walk_to_leaves(flat, row_step, column_step, first, last, self.arrays, *outputs)
        return True

    def _mix(self, cells: Cells, rows: Array, shares: Array) -> None:
        """Put the mixtures of the leaves that these rows reach into their shares."""
        flat, row_step, column_step, _ = cells
        mixture = np.zeros((len(rows), shares.shape[1]))
        stack, parts = np.empty(self.node_count, np.int64), np.empty(self.node_count)
        mix_leaves(flat, row_step, column_step, rows, self.arrays, stack, parts, mixture)
        total = mixture.sum(axis=1)
        known = (total > 0.0) & (total < np.inf)  # weights of a made-up file may say nothing
        shares[rows[known]] = mixture[known] / total[known, None]


_walkers: WeakKeyDictionary[Tree, FractionWalker] = WeakKeyDictionary()


def fraction_walker(tree: Tree, n_categories: Array) -> FractionWalker:
    """The walker of a tree, made when it is first asked for."""
    ready = _walkers.get(tree)
    if ready is None:
        ready = _walkers[tree] = FractionWalker(tree, n_categories)
    return ready

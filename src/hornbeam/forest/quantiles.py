"""Quantiles of the target from the training rows in the leaves (Meinshausen 2006).

A row's prediction is the mean of the training targets in its leaves, each tree giving the
same weight to its leaf. The quantile regression forest looks at the whole distribution
with these weights instead of its mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hornbeam.dtypes import Array

_BLOCK_ENTRIES = 1 << 22  # training rows looked at in one go
ROUNDING = 1e-6  # of a weight: shares are float32, so a sum that should be a level may miss it
_LEAST_SHARE = float(np.finfo(np.float32).tiny)  # of a row that is hardly worth anything


@dataclass(frozen=True)
class LeafSamples:
    """The training rows in each leaf of a forest.

    Attributes
    ----------
    values : float64
        Target of each training row, ascending.
    first : int64
        ``first[root[tree] + node]`` is where the rows of a leaf begin in ``rank``.
    rank : int32
        Training rows leaf by leaf, as places in ``values``.
    share : float32
        Weight of each of them in its leaf, above 0; those of a leaf sum to 1.
    """

    values: Array
    first: Array
    rank: Array
    share: Array

    @classmethod
    def gather(cls, leaves: Array, root: Array, y: Array, weights: Any) -> LeafSamples:
        """Sort the training rows by leaf.

        ``leaves`` are the rows' leaves (n_rows, n_trees); ``weights(tree)`` is what each row
        weighs in a tree, 0 out of the bag.
        """
        order = np.argsort(y, kind="stable")
        place = np.empty(len(y), np.int32)
        place[order] = np.arange(len(y), dtype=np.int32)
        counts = np.zeros(int(root[-1]) + 1, np.int64)
        ranks, shares = [], []
        for tree in range(leaves.shape[1]):
            weight = weights(tree)
            inside = np.flatnonzero(weight > 0)
            leaf = leaves[inside, tree]
            by_leaf = np.lexsort((place[inside], leaf))
            n_nodes = int(root[tree + 1] - root[tree])
            total = np.bincount(leaf, weight[inside], n_nodes)
            counts[root[tree] + 1 : root[tree + 1] + 1] = np.bincount(leaf, minlength=n_nodes)
            ranks.append(place[inside[by_leaf]])
            share = weight[inside] / total[leaf]
            shares.append(np.maximum(share[by_leaf], _LEAST_SHARE).astype(np.float32))
        return cls(y[order], np.cumsum(counts), np.concatenate(ranks), np.concatenate(shares))

    def quantiles(self, leaves: Array, levels: Array) -> Array:
        """Quantiles for rows given by their leaves (counted over all trees): (rows, levels).

        The smallest training target whose cumulative weight reaches the level.
        """
        n_rows = len(leaves)
        found = np.empty((n_rows, len(levels)))
        sizes = (self.first[leaves + 1] - self.first[leaves]).sum(axis=1)
        ends = np.cumsum(sizes)
        start = 0
        while start < n_rows:
            base = ends[start - 1] if start else 0
            end = max(start + 1, int(np.searchsorted(ends, base + _BLOCK_ENTRIES, "right")))
            found[start:end] = self._block(leaves[start:end], levels)
            start = end
        return found

    def shares(self, nodes: slice, leaves: Array, y: Array) -> tuple[Array, Array]:
        """Of the rows in a leaf of a tree each: the share below a value, and at or below it.

        ``nodes`` are those of the tree among all; ``leaves`` are counted from the first one.
        """
        first = self.first[nodes.start : nodes.stop + 1]
        entries = slice(int(first[0]), int(first[-1]))
        # rows are sorted by leaf and by rank, so one number tells both in order
        n_values = len(self.values) + 1
        leaf = np.repeat(np.arange(len(first) - 1), np.diff(first))
        key = leaf * n_values + self.rank[entries]
        reached = np.concatenate([[0.0], np.cumsum(self.share[entries], dtype=np.float64)])
        start = reached[first[leaves] - first[0]]
        total = reached[first[leaves + 1] - first[0]] - start
        ends = (np.searchsorted(self.values, y, side) for side in ("left", "right"))
        below, at = (
            (reached[np.searchsorted(key, leaves * n_values + end)] - start) / total for end in ends
        )
        return below, at

    def _block(self, leaves: Array, levels: Array) -> Array:
        n_rows, n_trees = leaves.shape
        begin = self.first[leaves].ravel()
        size = self.first[leaves + 1].ravel() - begin
        ends = np.cumsum(size)
        entry = np.arange(ends[-1]) - np.repeat(ends - size, size) + np.repeat(begin, size)
        row = np.repeat(np.arange(n_rows), size.reshape(n_rows, n_trees).sum(axis=1))
        rank, share = self.rank[entry], self.share[entry].astype(np.float64)
        order = np.lexsort((rank, row))
        rank, share = rank[order], np.cumsum(share[order])
        row_end = np.cumsum(np.bincount(row, minlength=n_rows))
        before = np.concatenate([[0.0], share[row_end[:-1] - 1]])
        total = share[row_end - 1] - before
        found = np.empty((n_rows, len(levels)))
        for number, level in enumerate(levels):
            wanted = before + total * level - ROUNDING * total
            at = np.searchsorted(share, wanted, "left")
            first = np.concatenate([[0], row_end[:-1]])
            found[:, number] = self.values[rank[np.clip(at, first, row_end - 1)]]
        return found


def read_levels(quantiles: Any) -> Array:
    """Levels of quantiles, checked."""
    levels = np.atleast_1d(np.asarray(quantiles, np.float64))
    if levels.ndim != 1 or not len(levels) or not np.all((levels >= 0) & (levels <= 1)):
        raise ValueError(f"quantiles must be numbers from 0 to 1, but are {quantiles!r}.")
    return levels

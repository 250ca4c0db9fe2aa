"""Which rows and which columns each member of an ensemble sees.

A sample is a function of (seed, number of the member), so members can be fitted in any
order, by any thread, or later, and their samples need not be stored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hornbeam.dtypes import FEATURE, ROW, Array
from hornbeam.kernels.isolation import draw_features, draw_priorities, draw_rows, draw_weighted


@dataclass(frozen=True)
class SampleSize:
    """How much of a table each member sees, and how it is drawn."""

    n_rows: int
    n_features: int
    bootstrap: bool  # rows are drawn with replacement
    bootstrap_features: bool = False


class Sampler:
    """Draws the samples of members, again and again the same ones.

    Parameters
    ----------
    seed : int
    shape : pair of int
        Of the table.
    size : SampleSize
    weight : array of float64, optional
        Rows are drawn with probabilities by these weights.

    Examples
    --------
    >>> from hornbeam.data.sampling import Sampler, SampleSize
    >>> sampler = Sampler(0, (5, 2), SampleSize(5, 2, bootstrap=False))
    >>> sorted(sampler.rows(0, 1)[0].tolist())
    [0, 1, 2, 3, 4]
    """

    def __init__(
        self, seed: int, shape: tuple[int, int], size: SampleSize, weight: Array | None = None
    ) -> None:
        self.seed, self.size, self.weight = seed, size, weight
        self.n_rows, self.n_features = shape

    def rows(self, first: int, count: int) -> Array:
        """Rows of some members: int32 of shape (count, size of a sample)."""
        size = self.size.n_rows
        rows = np.empty((count, size), ROW)
        if self.weight is None:
            table = np.empty(1 << (2 * size).bit_length(), ROW)
            draw_rows(
                self.seed, first, count, self.n_rows, size, self.size.bootstrap, table, rows.ravel()
            )
            return rows
        cumulated = np.cumsum(self.weight)
        priorities = np.empty(self.n_rows)
        for i in range(count):
            if self.size.bootstrap:
                draw_weighted(self.seed, first + i, cumulated, rows[i])
            else:
                draw_priorities(self.seed, first + i, self.weight, priorities)
                best = np.argpartition(priorities, self.n_rows - size)[self.n_rows - size :]
                rows[i] = np.sort(best)
        return rows

    def features(self, first: int, count: int) -> Array:
        """Columns of some members, ascending: int32 of shape (count, number of columns)."""
        size, replace = self.size.n_features, self.size.bootstrap_features
        features = np.empty((count, size), FEATURE)
        if size == self.n_features and not replace:
            features[:] = np.arange(size)
            return features
        order = np.empty(self.n_features, FEATURE)
        draw_features(
            self.seed, first, count, self.n_features, size, replace, order, features.ravel()
        )
        features.sort(axis=1)
        return features

"""Keep sums and sums of squares inside the number range, whatever the units of y.

Targets like 1e200 or 1e-30 would overflow or vanish when squared, and targets whose
spread is tiny beside their mean would drown in rounding errors. Such targets are shifted
and scaled by a power of two before a tree is grown, and the tree is put back into the
user's units afterwards. Everyday targets are left alone, bit for bit.

The same goes for predictions: the sum of numbers near the largest there is would overflow,
though their mean does not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hornbeam.dtypes import STAT, Array
from hornbeam.tree.storage import Tree

_LARGE_EXPONENT = 300
_SMALL_EXPONENT = -20
_SPREAD = 1e-3
# Numbers are made so many powers of two smaller where their sum may be too large, which
# leaves room for as many of them as there may be trees.
HEADROOM = 32
_LARGE = 2.0 ** (1024 - HEADROOM)
# Squares of numbers with larger exponents, or smaller ones, may be beyond all numbers.
_SQUARE_EXPONENT = 400


@dataclass(frozen=True)
class Scaling:
    """y = scaled * 2**exponent + offset."""

    offset: Array
    exponent: int = 0
    degree: int = 2  # an impurity of that degree: 2 for squares, 1 for absolute values

    @classmethod
    def of(cls, values: Array, degree: int, may_shift: bool) -> Scaling:
        """The scaling that these targets need; most need none."""
        none = np.zeros(values.shape[1])
        if not values.size:
            return cls(none)
        middle = values[0] / 2 + (values.max(axis=0) / 2 + values.min(axis=0) / 2) / 2
        spread = np.abs(values / 2 - middle / 2).max(axis=0)
        offset = none
        if may_shift:
            offset = np.where(spread < _SPREAD * np.abs(middle) / 2, values[0], none)
        exponent = int(np.frexp(np.abs(values / 2 - offset / 2).max())[1]) + 1
        needed = exponent > _LARGE_EXPONENT or (exponent < _SMALL_EXPONENT and spread.any())
        return cls(offset, exponent if needed else 0, degree)

    @property
    def changes(self) -> bool:
        """Whether the tree sees other numbers than the user's."""
        return bool(self.offset.any()) or self.exponent != 0

    def apply(self, values: Array) -> Array:
        """Targets as the tree sees them."""
        if not self.changes:
            return values
        half = np.ldexp(values, -1 - self.exponent) - np.ldexp(self.offset, -1 - self.exponent)
        return np.ldexp(half, 1)

    def impurity(self, value: float) -> float:
        """An impurity in the user's units, as the tree sees it."""
        with np.errstate(over="ignore"):
            return float(np.ldexp(value, -self.degree * self.exponent))

    def restore(self, tree: Tree) -> Tree:
        """The tree in the user's units."""
        if not self.changes:
            return tree
        with np.errstate(over="ignore"):
            return replace(
                tree,
                value=np.ldexp(tree.value, self.exponent) + self.offset,
                impurity=np.ldexp(tree.impurity, self.degree * self.exponent),
            )


def weights_of(tree: Tree) -> tuple[Array, float]:
    """Weights of nodes to multiply impurities with, and what the products are to be divided by.

    These are shares of the whole where a product with a weight may be beyond all numbers.
    """
    whole = float(tree.weight[0])
    if tree.impurity.max() <= np.finfo(STAT).max / max(whole, 1.0):
        return tree.weight, whole
    return tree.weight / whole, 1.0


def is_large(values: Array) -> bool:
    """Whether sums of such numbers may be beyond all numbers."""
    return bool(max(values.max(initial=0.0), -values.min(initial=0.0)) >= _LARGE)


class Totals:
    """Sums of what members of an ensemble predict, and their means, for numbers of any size.

    Where a sum is beyond all numbers, the mean comes from the sum of smaller numbers.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.total = np.zeros(shape)
        self._small: Array | None = None

    def add(self, values: Array, rows: Any = ...) -> None:
        """Add a member's predictions for some of the rows."""
        if self._small is None and is_large(values):
            self._small = np.ldexp(self.total, -HEADROOM)
        with np.errstate(over="ignore", invalid="ignore"):
            self.total[rows] += values
        if self._small is not None:
            self._small[rows] += np.ldexp(values, -HEADROOM)

    def mean(self, count: Any) -> Array:
        """Mean of what was added; NaN where that was nothing."""
        with np.errstate(invalid="ignore"):
            mean: Array = self.total / count
            if self._small is None:
                return mean
            return np.where(np.isfinite(mean), mean, np.ldexp(self._small / count, HEADROOM))


def scaled_r2(truth: Array, found: Array, sample_weight: Array | None = None) -> float:
    """R2, mean over the outputs; the units of an output do not matter to it."""
    from sklearn.metrics import r2_score  # takes long to import, and a tree needs no score

    largest = np.maximum(np.abs(truth).max(axis=0), np.abs(found).max(axis=0))
    exponent = np.frexp(largest)[1]
    exponent = np.where(np.abs(exponent) > _SQUARE_EXPONENT, exponent, 0)
    truth, found = np.ldexp(truth, -exponent), np.ldexp(found, -exponent)
    return float(r2_score(truth, found, sample_weight=sample_weight))

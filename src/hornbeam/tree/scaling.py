"""Keep sums of squares inside the number range, whatever the units of y.

Targets like 1e200 or 1e-30 would overflow or vanish when squared, and targets whose
spread is tiny beside their mean would drown in rounding errors. Such targets are shifted
and scaled by a power of two before a tree is grown, and the tree is put back into the
user's units afterwards. Everyday targets are left alone, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hornbeam.dtypes import Array
from hornbeam.tree.storage import Tree

_LARGE_EXPONENT = 300
_SMALL_EXPONENT = -20
_SPREAD = 1e-3


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

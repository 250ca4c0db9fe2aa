"""Which rows each tree of a forest is grown on, and what they weigh.

A bag follows from the seed and the number of the tree, so nobody has to remember it:
who asks later which rows were in the bag of tree 7 draws it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, overload

import numpy as np

from hornbeam.data.folds import NO_KIN, Kin
from hornbeam.dtypes import Array
from hornbeam.kernels.bag import draw_bag

_GOLDEN = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1
_BAG = 2  # the branches of a root have the numbers 0 and 1


def derive_key(key: int, number: int) -> int:
    """`hornbeam.runtime.random.derive` in Python."""
    bits = (key + (number + 1) * _GOLDEN) & _MASK
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _MASK
    return bits ^ (bits >> 31)


@dataclass(frozen=True)
class Bags:
    """The bags of a forest's trees.

    Attributes
    ----------
    seed : int
        Of the forest.
    n_rows : int
        Rows of the training table.
    n_draws : int
        Rows drawn, with replacement, for each tree; 0 means that each tree gets all rows.
    drawable : int64 array or None
        The rows that can be drawn, those with a weight above 0; None means all.
    kin : Kin
        Of all rows. Rows of a group are drawn together, so that none of them is out of the bag
        of a tree that knows another one.
    """

    seed: int
    n_rows: int
    n_draws: int
    drawable: Array | None = None
    kin: Kin = NO_KIN

    @classmethod
    def of(cls, seed: int, weight: Array, n_draws: int, kin: Kin = NO_KIN) -> Bags:
        """Bags of the rows with a weight above 0: the others might as well not be there."""
        counted = weight > 0
        drawable = None if counted.all() else np.flatnonzero(counted)
        return cls(seed, len(weight), n_draws, drawable, kin)

    def key(self, tree: int) -> int:
        """Key of a tree's random numbers."""
        return derive_key(self.seed, tree)

    def counts(self, tree: int) -> Array:
        """How often each row is in the bag of a tree."""
        if self.n_draws == 0:
            return np.ones(self.n_rows, np.int32)
        key, n_draws = np.uint64(derive_key(self.key(tree), _BAG)), self.n_draws
        n_drawable = self.n_rows if self.drawable is None else len(self.drawable)
        groups = self._groups
        n_units = n_drawable if groups is None else int(groups.max(initial=-1)) + 1
        drawn = np.empty(n_units, np.int32)
        draw_bag(key, max(1, round(n_draws * n_units / n_drawable)), drawn)
        drawn = drawn if groups is None else drawn[groups]
        if self.drawable is None:
            return drawn
        counts = np.zeros(self.n_rows, np.int32)
        counts[self.drawable] = drawn
        return counts

    @cached_property
    def _groups(self) -> Array | None:
        """The group of each row that can be drawn, numbered without gaps."""
        if self.kin.groups is None:
            return None
        groups = self.kin.groups if self.drawable is None else self.kin.groups[self.drawable]
        return np.unique(groups, return_inverse=True)[1]


class TreeSamples(Sequence[Array]):
    """The rows that each tree was grown on, each drawn when it is asked for."""

    def __init__(self, bags: Bags, n_trees: int) -> None:
        self.bags, self.n_trees = bags, n_trees

    def __len__(self) -> int:
        return self.n_trees

    @overload
    def __getitem__(self, index: int) -> Array: ...

    @overload
    def __getitem__(self, index: slice) -> list[Array]: ...

    def __getitem__(self, index: int | slice) -> Array | list[Array]:
        numbers = range(len(self))[index]
        if isinstance(numbers, range):
            return [self[number] for number in numbers]
        return np.repeat(np.arange(self.bags.n_rows, dtype=np.int32), self.bags.counts(numbers))

    def copy(self) -> list[Array]:
        """All of them, drawn now."""
        return list(self)

    def __repr__(self) -> str:
        return f"<rows of {len(self)} trees>"


def count_draws(bootstrap: bool, max_samples: Any, n_rows: int) -> int:
    """How many rows are drawn for a tree; 0 without bootstrap."""
    if not bootstrap:
        if max_samples is not None:
            raise ValueError(
                f"max_samples={max_samples} is how many rows to draw, but bootstrap=False takes "
                "all rows for every tree: `max_sample` cannot be set if `bootstrap=False`. Either "
                "switch to `bootstrap=True` or set `max_sample=None`."
            )
        return 0
    if max_samples is None:
        return n_rows
    if isinstance(max_samples, Integral):
        return int(max_samples)
    return max(1, round(n_rows * float(max_samples)))


def balance_bag(labels: Array, class_start: Array, counts: Array) -> Array:
    """Factor of each row that gives all classes in a bag the same weight.

    With several outputs it is the product over them, as scikit-learn has it.
    """
    factor = np.ones(len(labels))
    for output in range(len(class_start) - 1):
        first, last = class_start[output], class_start[output + 1]
        number = labels[:, output] - first
        drawn = np.bincount(number, counts, minlength=last - first)
        there = drawn > 0
        share = np.zeros(last - first)
        share[there] = counts.sum() / (np.count_nonzero(there) * drawn[there])
        factor *= share[number]
    return factor

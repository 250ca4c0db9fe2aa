"""Parts of a table, each with a grower of its own: where sums are added up.

Growing a tree asks for the sums of some nodes over all rows, and each grower has those over the
rows of its own pages. Where a grower has all rows, there is nothing to add. Otherwise it comes up
for air with the histograms of some nodes (kernels/boosting/ahead.py), and whoever connects the
parts adds them up: the sums are integers, so that all growers find the same splits and grow the
same tree, each with its own rows in the leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hornbeam.dtypes import Array


class Parts(Protocol):
    """What connects a grower to the growers of the other parts of its table.

    Attributes
    ----------
    n_rows : int
        Rows of the whole table.
    first_row : int
        Number of the first row of this part among them.
    are_many : bool
        Whether there are other parts.
    """

    @property
    def n_rows(self) -> int: ...  # noqa: D102

    @property
    def first_row(self) -> int: ...  # noqa: D102

    @property
    def are_many(self) -> bool: ...  # noqa: D102

    def add_up(self, sums: Sequence[Array]) -> None:
        """Add the sums of all parts, in place: arrays of int64, of the same lengths everywhere."""

    def largest(self, numbers: Sequence[float]) -> list[float]:
        """The largest of each of some numbers over all parts."""


@dataclass(frozen=True)
class OnePart:
    """A grower that has all rows."""

    n_rows: int
    first_row: int = 0
    are_many: bool = False

    def add_up(self, sums: Sequence[Array]) -> None:
        """Nothing is to be added."""

    def largest(self, numbers: Sequence[float]) -> list[float]:
        """The numbers are those of all rows."""
        return list(numbers)

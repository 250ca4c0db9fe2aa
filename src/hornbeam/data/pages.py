"""Pages: the runs of rows that a coded table is cut into, each with codes of its own.

What grows trees goes through a table page by page: it counts the rows that a node has in each
page, adds up, and lets every page part its own rows. Sums are sums of integers, so no result
depends on where a table is cut. A table in memory is one page, unless somebody says otherwise::

    with cut_at(100, 250):
        fit(X, y)  # on pages of 100, 150 and all further rows

Kernels see the borders of all pages as an array, and of each page the slots of a view
(runtime/views.py): ``make_slots(view_of_page_0, view_of_page_1, ..)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from hornbeam.dtypes import Array

Held = TypeVar("Held")
_CUTS: ContextVar[tuple[int, ...]] = ContextVar("cuts", default=())


@dataclass(frozen=True, eq=False)
class Page(Generic[Held]):
    """The rows ``start`` to ``stop`` of a table, and what is held of them."""

    start: int
    stop: int
    codes: Held

    @property
    def n_rows(self) -> int:
        """How many rows there are, perhaps none."""
        return self.stop - self.start


@dataclass(frozen=True, eq=False)
class Pages(Generic[Held]):
    """All pages of a table, in the order of its rows.

    Attributes
    ----------
    border : int64 array, length n_pages + 1
        Page p holds the rows border[p] .. border[p + 1].
    codes : tuple
        What is held of each page.
    """

    border: Array
    codes: tuple[Held, ...]

    @classmethod
    def cut(cls, border: Array, take: Callable[[int, int], Held]) -> Pages[Held]:
        """Cut a table at these rows; ``take(start, stop)`` returns what is held of a page."""
        spans = zip(border[:-1].tolist(), border[1:].tolist(), strict=True)
        return cls(border, tuple(take(start, stop) for start, stop in spans))

    def __len__(self) -> int:
        """Return how many pages there are, at least one."""
        return len(self.codes)

    def __iter__(self) -> Iterator[Page[Held]]:
        """Page after page."""
        spans = zip(self.border[:-1].tolist(), self.border[1:].tolist(), strict=True)
        for (start, stop), codes in zip(spans, self.codes, strict=True):
            yield Page(start, stop, codes)

    @property
    def n_rows(self) -> int:
        """How many rows the table has."""
        return int(self.border[-1])

    def chosen(self, mask: Array, take: Callable[[Held, Array], Held]) -> Pages[Held]:
        """Some of the rows; ``take(codes, mask)`` returns those of a page.

        Rows stay in their pages, of which some may have none then.
        """
        before = np.concatenate([[0], np.cumsum(mask)])
        taken = tuple(take(page.codes, mask[page.start : page.stop]) for page in self)
        return Pages(before[self.border].astype(np.int64), taken)


def page_borders(n_rows: int) -> Array:
    """Where a table of so many rows is cut: at 0, at the rows of `cut_at`, and at its end.

    Examples
    --------
    >>> from hornbeam.data.pages import cut_at, page_borders
    >>> page_borders(10).tolist()
    [0, 10]
    >>> with cut_at(3, 3, 7):
    ...     page_borders(10).tolist(), page_borders(5).tolist()
    ([0, 3, 3, 7, 10], [0, 3, 3, 5, 5])
    """
    inner = np.array(_CUTS.get(), np.int64)
    return np.concatenate([[0], np.minimum(inner, n_rows), [n_rows]]).astype(np.int64)


@contextmanager
def cut_at(*rows: int) -> Iterator[None]:
    """Let tables that are coded meanwhile be cut at these rows, which must ascend.

    This is no public setting: data in memory are best left in one page.
    """
    if list(rows) != sorted(rows) or min(rows, default=0) < 0:
        raise ValueError(f"Pages must be cut at ascending rows, got {rows}.")
    token = _CUTS.set(rows)
    try:
        yield
    finally:
        _CUTS.reset(token)

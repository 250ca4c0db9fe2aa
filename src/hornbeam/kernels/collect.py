"""Collect what the rows of a node come to in the cells of a histogram, one for each code.

There is one loop, over the pieces of a node (kernels/pieces.py). What it is made of:

- where codes are: those of one byte, or of four;
- what a row adds to the cell of its code: a function ``add(into, seen, copy, code, j)`` of the
  arrays that are added to, of the number of the row among those of all nodes, and of what it has
  to tell of the rows before it, which may be nothing;
- how many copies of the cells there are. Neighbouring rows often fall into the same cell, and
  an addition to a cell has to wait for the one before it. So few cells are counted in copies in
  turn, which `join_copies` adds up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import int64, uint64

from hornbeam.kernels.pieces import column_of, next_piece
from hornbeam.runtime.kernel import inlined, part

COPIED_CELLS = 1024  # so many are still counted in copies
N_COPIES = 4


# --- where codes are --------------------------------------------------------------------


@inlined
def bytes_of(page):
    """Codes that are bytes."""
    return page.bins


@inlined
def words_of(page):
    """Codes that are four bytes wide."""
    return page.ranks


# --- the loop -----------------------------------------------------------------------------


def make_collector(
    add: Callable[..., Any], codes_of: Callable[..., Any] = bytes_of, copies: int = 1
) -> Any:
    """Add the rows ``first`` to ``last`` of a node to the cells of their codes.

    Codes beyond ``most``, of which the missing one is the last, count as that. Returns what
    ``add`` has to tell of all rows; of no row it is ``seen``.
    """

    def collect(table, row, feature, first, last, most, into, seen):
        begin = first
        while begin < last:
            page, end = next_piece(table, row, begin, last)
            codes, offset = codes_of(page), column_of(page, feature)
            for j in range(begin, end):
                code = min(int64(codes[offset + row[j]]), most)
                seen = add(into, seen, j & (copies - 1), code, j)
            begin = end
        return seen

    return inlined(collect)


@part
def join_copies(cells, span, distance, n_copies):
    """Add up cells that were counted in copies, which are empty afterwards."""
    for cell in range(span):
        for copy in range(1, n_copies):
            cells[cell] += cells[copy * distance + cell]
            cells[copy * distance + cell] = 0


# --- which codes a node has -----------------------------------------------------------------


@inlined
def note_code(occupied, code):
    """Note that a code occurs."""
    occupied[code >> 6] |= uint64(1) << uint64(code & 63)


@inlined
def note_all(occupied, n_codes):
    """Note every code: where most of them occur, looking at all is cheaper than noting."""
    for word in range((n_codes >> 6) + 1):
        occupied[word] = ~uint64(0)

"""Collect what the rows of a node come to in the cells of a histogram, one for each code.

There is one loop, over the pieces of a node (kernels/pieces.py). What it is made of:

- where codes are: bytes, four bytes, or either;
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
from hornbeam.runtime.kernel import inlined, part, part_of

COPIED_CELLS = 1024  # so many are still counted in copies
N_COPIES = 4


# --- where codes are --------------------------------------------------------------------


@inlined
def bytes_of(table, page):
    """Codes that are bytes."""
    return page.bins


@inlined
def words_of(table, page):
    """Codes that are four bytes wide."""
    return page.ranks


@inlined
def codes_of(table, page):
    """Codes of either width."""
    return page.bins, page.ranks, table.as_bytes


@inlined
def one_code(codes, place):
    """A code of those that have one width."""
    return int64(codes[place])


@inlined
def either_code(codes, place):
    """A code of those that have either width."""
    return int64(codes[0][place]) if codes[2] else int64(codes[1][place])


BYTES, WORDS, EITHER = (bytes_of, one_code), (words_of, one_code), (codes_of, either_code)


# --- the loop -----------------------------------------------------------------------------


def make_collector(
    name: str,
    add: Callable[..., Any],
    place: tuple[Callable[..., Any], Callable[..., Any]] = BYTES,
    copies: int = 1,
) -> Any:
    """Add the rows ``first`` to ``last`` of a node to the cells of their codes.

    Codes beyond ``most``, of which the missing one is the last, count as that. Returns what
    ``add`` has to tell of all rows, and what ``seen`` was before them.
    """
    find_codes, code_at = place

    def collect(table, row, feature, first, last, most, into, seen):
        begin = first
        while begin < last:
            page, end = next_piece(table, row, begin, last)
            codes, offset = find_codes(table, page), column_of(page, feature)
            n_turns = (end - begin) // copies
            for turn in range(n_turns):
                for copy in range(copies):
                    j = begin + copies * turn + copy
                    code = min(code_at(codes, offset + row[j]), most)
                    seen = add(into, seen, copy, code, j)
            for j in range(begin + copies * n_turns, end):
                code = min(code_at(codes, offset + row[j]), most)
                seen = add(into, seen, 0, code, j)
            begin = end
        return seen

    return part_of(collect, name)


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

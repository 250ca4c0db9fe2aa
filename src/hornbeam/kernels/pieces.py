"""Read the codes of a node, page by page.

A table is pages of codes, even when there is one: runs of its rows, each with codes of its own.
The rows of a node ascend, since parting keeps their order; so those that lie in one page are
neighbours, a piece of the node, and a loop over the rows of a node is one over its pieces::

    begin = first
    while begin < last:
        page, end = next_piece(problem, row, begin, last)
        bins, offset = page.bins, column_of(page, feature)
        for j in range(begin, end):
            code = bins[offset + row[j]]
        begin = end

Nothing is summed up anew for a page: sums go on from one page to the next, in the order of the
rows. They are rounded as those of one page are, and a tree does not depend on where pages end.
Every kernel that reads codes of the table does it in this way; with one page it costs as much as
to look at the number of the last row.
"""

from __future__ import annotations

from typing import NamedTuple

from hornbeam.runtime.kernel import inlined, part
from hornbeam.runtime.pointers import F4, F8, U1, U4


class PageCodes(NamedTuple):
    """A run of rows of a table, and what is known of them."""

    start: int  # its first row in the table
    stop: int  # the row behind its last one
    bins: U1  # codes[feature * (stop - start) + row - start] if they are bytes (data/coding.py)
    ranks: U4  # ... or if they are four bytes wide; the other one is empty
    by_row: U1  # the same codes row by row, row_stride apart; empty if that is 0
    narrow_values: F4  # values of crowded columns (data/coding.py), n_crowded per row, or ...
    wide_values: F8  # ... if they are eight bytes wide; the other one is empty, or both


@part
def page_of(pages, n_pages, row):
    """The page that a row of the table lies in."""
    low, high = 0, n_pages - 1
    while low < high:
        middle = (low + high) >> 1
        if pages[middle].stop <= row:
            low = middle + 1
        else:
            high = middle
    return pages[low]


@part
def end_of_piece(page, row, begin, last):
    """Where the rows of a node end that lie in a page; that at ``begin`` is the first of them."""
    stop = page.stop
    if row[last - 1] < stop:
        return last
    low, high = begin + 1, last - 1
    while low < high:
        middle = (low + high) >> 1
        if row[middle] < stop:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def next_piece(table, row, begin, last):
    """The page of the row at ``begin``, and the end of the rows behind it that lie there, too."""
    page, end = table.pages[0], last
    if table.n_pages > 1:  # small nodes, of which there are millions, notice a look at a row
        page = page_of(table.pages, table.n_pages, row[begin])
        end = end_of_piece(page, row, begin, last)
    return page, end


@part
def end_of_run(page, row, begin, last):
    """Where the rows behind ``begin`` end that lie in a page, up to the first that does not."""
    place = begin + 1
    while place < last and page.start <= row[place] < page.stop:
        place += 1
    return place


@inlined
def next_run(table, row, begin, last):
    """As `next_piece`, for rows that need not ascend: those of a page may be several runs."""
    page, end = page_of(table.pages, table.n_pages, row[begin]), last
    if table.n_pages > 1:
        end = end_of_run(page, row, begin, last)
    return page, end


@inlined
def column_of(page, feature):
    """Where the codes of a feature are: behind it as many as the number of a row in the table."""
    return feature * (page.stop - page.start) - page.start


@inlined
def first_row_of(page, stride):
    """Where the codes of rows are: behind it, for a row, its number times ``stride``."""
    return -page.start * stride

"""Lay out the rows of a tree, and part the rows of a node between its children.

Rows keep their order, so what is read for them later lies in ascending places, and those of
a page stay in its places. A large node is parted in two steps, so that all threads can help:
flag every row and count the flags of each chunk, then move each chunk to where the counts say
it belongs.
"""

from __future__ import annotations

import numpy as np
from numba import int64

from hornbeam.kernels.boosting.state import (
    CHUNK,
    COLLECTING,
    NODES_AT,
    ROWS_AT,
    TABLE_AT,
    TEAM_AT,
    WORD_DRAWN,
    WORD_FLAGS,
    WORD_GRADIENT,
    WORD_HESSIAN,
    WORD_MODE,
    WORD_MOVES,
    load_nodes,
    load_rows,
    load_table,
    load_team,
    page_of,
)
from hornbeam.kernels.boosting.steps import LayOutRows, PartTogether
from hornbeam.kernels.pages import page_of_chunk
from hornbeam.runtime.atomics import STOP, atomic_add, atomic_load, barrier
from hornbeam.runtime.kernel import part, step


@part
def pack_slopes(table, rows, row):
    """Gradient and hessian of a row as two integers in one word.

    No hessian rounds to zero: a cell of a histogram is empty if its hessian is.
    """
    gradient = int64(np.rint(rows.slope[2 * row] * table.units.gradient_scale))
    hessian = int64(np.rint(rows.slope[2 * row + 1] * table.units.hessian_scale))
    return (gradient << table.units.lane) + max(hessian, int64(1))


@step(LayOutRows)
def lay_out_all(slots, size, rank):
    """Pack the slopes of all rows and add them up."""
    table, rows = load_table(slots, TABLE_AT), load_rows(slots, ROWS_AT)
    nodes, words = load_nodes(slots, NODES_AT), load_team(slots, TEAM_AT).words
    n_rows, lane = table.shape.n_rows, table.units.lane
    mask = (int64(1) << lane) - 1
    gradient, hessian = int64(0), int64(0)
    while True:
        start = CHUNK * atomic_add(words, WORD_FLAGS, 1)
        if start >= n_rows:
            break
        for row in range(start, end_of_chunk(start, n_rows)):
            word = pack_slopes(table, rows, row)
            rows.row[row] = row
            rows.word[row] = word
            gradient += word >> lane
            hessian += word & mask
    atomic_add(words, WORD_GRADIENT, gradient)
    atomic_add(words, WORD_HESSIAN, hessian)
    if rank == 0:
        for page in range(table.shape.n_pages):
            nodes.first[page], nodes.last[page] = table.border[page], table.border[page + 1]
        nodes.n_rows[0] = words[WORD_DRAWN] = n_rows


@step(LayOutRows)
def lay_out_drawn(slots, size, rank):
    """Pack the slopes of the rows that the root has been given, and add them up."""
    table, rows = load_table(slots, TABLE_AT), load_rows(slots, ROWS_AT)
    nodes, team = load_nodes(slots, NODES_AT), load_team(slots, TEAM_AT)
    words, n_rows, root = team.words, table.shape.n_rows, int64(0)
    lane = table.units.lane
    mask = (int64(1) << lane) - 1
    gradient, hessian = int64(0), int64(0)
    page, passed = int64(0), int64(0)
    while True:
        chunk = atomic_add(words, WORD_FLAGS, 1)
        page, passed = page_of_rows(table, nodes, root, chunk, page, passed)
        start = nodes.first[page] + (chunk - passed) * CHUNK
        if start >= nodes.last[page]:
            break
        for j in range(start, end_of_chunk(start, nodes.last[page])):
            row = int64(rows.row[j])
            word = pack_slopes(table, rows, row)
            rows.word[row] = word
            gradient += word >> lane
            hessian += word & mask
    atomic_add(words, WORD_GRADIENT, gradient)
    atomic_add(words, WORD_HESSIAN, hessian)
    if rank == 0:
        words[WORD_DRAWN] = nodes.n_rows[0]
    while table.shape.is_sparse:  # no node holds the others
        start = CHUNK * atomic_add(words, WORD_MOVES, 1)
        if start >= n_rows:
            return
        for row in range(start, end_of_chunk(start, n_rows)):
            team.holder[row] = -1


@part
def page_of_laid_out(table, chunk, page, passed):
    """The page that holds a chunk of the table's rows (see `page_of_chunk`)."""
    border, n_pages = table.border, table.shape.n_pages
    return page_of_chunk(border, 0, border, 1, n_pages, CHUNK, chunk, page, passed)


@part
def page_of_rows(table, nodes, node, chunk, page, passed):
    """The page that holds a chunk of a node's rows (see `page_of_chunk`)."""
    n_pages = table.shape.n_pages
    at = node * n_pages
    return page_of_chunk(nodes.first, at, nodes.last, at, n_pages, CHUNK, chunk, page, passed)


@part
def end_of_chunk(start, last):
    """Where the chunk that begins here ends."""
    return min(start + CHUNK, last)


@part
def sum_counts(rows, chunk, chunk_end):
    """How many rows were counted in some chunks."""
    total = int64(0)
    for k in range(chunk, chunk_end):
        total += rows.counts[k]
    return total


@part
def note_drawn(table, rows, nodes):
    """Note which rows the root holds, from the counts of its chunks."""
    total, chunk = int64(0), int64(0)
    for page in range(table.shape.n_pages):
        start, stop = table.border[page], table.border[page + 1]
        chunk_end = chunk + (stop - start + CHUNK - 1) // CHUNK
        drawn = sum_counts(rows, chunk, chunk_end)
        nodes.first[page], nodes.last[page] = start, start + drawn
        total += drawn
        chunk = chunk_end
    nodes.n_rows[0] = total


@part
def note_left(table, rows, nodes, node):
    """Note where the rows of each page that go right begin; returns how many go left in all."""
    n_pages = table.shape.n_pages
    total, chunk = int64(0), int64(0)
    for at in range(node * n_pages, (node + 1) * n_pages):
        chunk_end = chunk + (nodes.last[at] - nodes.first[at] + CHUNK - 1) // CHUNK
        n_left = sum_counts(rows, chunk, chunk_end)
        nodes.middle[at] = nodes.first[at] + n_left
        total += n_left
        chunk = chunk_end
    return total


@part
def codes_of_split(table, nodes, team, page, node):
    """The codes that a node's rows of a page are parted by; that of a row is at (place + row)."""
    if table.shape.is_sparse or table.shape.is_listed:
        return team.column, int64(0)
    held = page_of(table, page)
    return held.by_column, table.column[nodes.feature[node]] * held.n_rows - held.start


@part
def flag_chunk(table, rows, nodes, team, node, page, chunk, passed):
    """Flag the rows of a chunk that go left, and count them; False if there is no such chunk."""
    codes, at = codes_of_split(table, nodes, team, page, node)
    goes_left, place = team.goes_left, node * table.shape.n_pages + page
    source = int64(nodes.buffer[node]) * table.shape.n_rows
    last = nodes.last[place]
    start = nodes.first[place] + (chunk - passed) * CHUNK
    if start >= last:
        return False
    count = int64(0)
    for j in range(start, end_of_chunk(start, last)):
        goes = goes_left[codes[at + int64(rows.row[source + j])]]
        rows.flag[j] = goes
        count += int64(goes)
    rows.counts[chunk] = count
    return True


@part
def move_chunk(table, rows, nodes, node, page, chunk, passed):
    """Move the rows of a chunk to the other buffer; False if there is no such chunk.

    There is no branch on the side: both places are known, and one of them advances.
    """
    n_rows, at = table.shape.n_rows, node * table.shape.n_pages + page
    buffer = int64(nodes.buffer[node])
    source, target = buffer * n_rows, (1 - buffer) * n_rows
    first, last = nodes.first[at], nodes.last[at]
    start = first + (chunk - passed) * CHUNK
    if start >= last:
        return False
    before = sum_counts(rows, passed, chunk)
    left, right = first + before, nodes.middle[at] + start - first - before
    for j in range(start, end_of_chunk(start, last)):
        goes = int64(rows.flag[j])
        place = left if goes else right
        rows.row[target + place] = rows.row[source + j]
        left += goes
        right += 1 - goes
    return True


@part
def part_alone(table, rows, nodes, team, node):
    """Part a node's rows by one thread in one step; returns how many go left.

    The left side grows from the front of the node's places in the other buffer, the right
    side from their end, so its rows are in reverse order; no sum depends on that.
    """
    n_rows, n_pages = table.shape.n_rows, table.shape.n_pages
    buffer = int64(nodes.buffer[node])
    source, target = buffer * n_rows, (1 - buffer) * n_rows
    goes_left, in_order = team.goes_left, rows.row
    n_left = int64(0)
    for page in range(n_pages):
        codes, at = codes_of_split(table, nodes, team, page, node)
        first, last = nodes.first[node * n_pages + page], nodes.last[node * n_pages + page]
        left, right = first, last - 1
        for j in range(first, last):
            row = in_order[source + j]
            goes = int64(goes_left[codes[at + int64(row)]])
            place = right + goes * (left - right)  # without a branch
            in_order[target + place] = row
            left += goes
            right -= 1 - goes
        nodes.middle[node * n_pages + page] = left
        n_left += left - first
    return n_left


@step(PartTogether)
def part_together(slots, node, size, rank):
    """Part a node by all threads: flag its rows, make its children if it is its turn, move rows."""
    table, rows = load_table(slots, TABLE_AT), load_rows(slots, ROWS_AT)
    nodes, team = load_nodes(slots, NODES_AT), load_team(slots, TEAM_AT)
    words = team.words
    page, passed, some = int64(0), int64(0), True
    while some:
        chunk = atomic_add(words, WORD_FLAGS, 1)
        page, passed = page_of_rows(table, nodes, node, chunk, page, passed)
        some = flag_chunk(table, rows, nodes, team, node, page, chunk, passed)
    barrier(words, size)
    if atomic_load(words, STOP) != 0:
        return  # nobody waited: some rows may not be flagged
    ahead = words[WORD_MODE] == COLLECTING
    if rank == 0:
        n_left = note_left(table, rows, nodes, node)
        if not ahead:
            table.steps.settle(slots, node, n_left, size)
    barrier(words, size)
    page, passed, some = int64(0), int64(0), ahead or nodes.child[node] != 0
    while some:
        chunk = atomic_add(words, WORD_MOVES, 1)
        page, passed = page_of_rows(table, nodes, node, chunk, page, passed)
        some = move_chunk(table, rows, nodes, node, page, chunk, passed)

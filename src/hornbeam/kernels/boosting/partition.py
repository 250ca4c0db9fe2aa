"""Lay out the rows of a tree, and part the rows of a node between its children.

Rows keep their order, so what is read for them later lies in ascending places. A large
node is parted in two steps, so that all threads can help: flag every row and count the
flags of each chunk, then move each chunk to where the counts say it belongs.
"""

from __future__ import annotations

import numpy as np
from numba import int64, uint64

from hornbeam.kernels.boosting.state import (
    CHUNK,
    NODES_AT,
    ROWS_AT,
    TABLE_AT,
    TEAM_AT,
    WORD_DRAWN,
    WORD_FLAGS,
    WORD_GRADIENT,
    WORD_HESSIAN,
    WORD_MOVES,
    load_nodes,
    load_rows,
    load_table,
    load_team,
)
from hornbeam.kernels.boosting.steps import LayOutRows, PartTogether
from hornbeam.runtime.atomics import STOP, atomic_add, atomic_load, barrier
from hornbeam.runtime.kernel import part, step
from hornbeam.runtime.random import derive


@part
def pack_slopes(table, rows, row):
    """Gradient and hessian of a row as two integers in one word.

    No hessian rounds to zero: a cell of a histogram is empty if its hessian is.
    """
    gradient = int64(np.rint(rows.slope[2 * row] * table.units.gradient_scale))
    hessian = int64(np.rint(rows.slope[2 * row + 1] * table.units.hessian_scale))
    return (gradient << table.units.lane) + max(hessian, int64(1))


@part
def is_drawn(table, row):
    """Whether a row takes part in this tree."""
    return int64(derive(table.draw.seed, row) >> uint64(33)) < table.draw.rows_below


@step(LayOutRows)
def lay_out_all(slots, size, rank):
    """Pack the slopes of all rows and add them up."""
    table, rows = load_table(slots, TABLE_AT), load_rows(slots, ROWS_AT)
    words = load_team(slots, TEAM_AT).words
    n_rows, lane = table.shape.n_rows, table.units.lane
    mask = (int64(1) << lane) - 1
    gradient, hessian = int64(0), int64(0)
    while True:
        start = CHUNK * atomic_add(words, WORD_FLAGS, 1)
        if start >= n_rows:
            break
        for row in range(start, min(start + CHUNK, n_rows)):
            word = pack_slopes(table, rows, row)
            rows.row[row] = row
            rows.word[row] = word
            gradient += word >> lane
            hessian += word & mask
    atomic_add(words, WORD_GRADIENT, gradient)
    atomic_add(words, WORD_HESSIAN, hessian)
    if rank == 0:
        words[WORD_DRAWN] = n_rows


@step(LayOutRows)
def lay_out_drawn(slots, size, rank):
    """Draw the rows of this tree, pack the slopes of each and add them up."""
    table, rows = load_table(slots, TABLE_AT), load_rows(slots, ROWS_AT)
    team = load_team(slots, TEAM_AT)
    words = team.words
    n_rows, lane = table.shape.n_rows, table.units.lane
    mask = (int64(1) << lane) - 1
    gradient, hessian = int64(0), int64(0)
    while True:
        chunk = atomic_add(words, WORD_FLAGS, 1)
        start = chunk * CHUNK
        if start >= n_rows:
            break
        place = start
        for row in range(start, end_of_chunk(start, n_rows)):
            if table.shape.is_sparse:
                team.holder[row] = -1
            if is_drawn(table, row):
                word = pack_slopes(table, rows, row)
                rows.word[row] = word
                rows.row[n_rows + place] = row  # the other buffer, until the counts are known
                gradient += word >> lane
                hessian += word & mask
                place += 1
        rows.counts[chunk] = place - start
    atomic_add(words, WORD_GRADIENT, gradient)
    atomic_add(words, WORD_HESSIAN, hessian)
    barrier(words, size)
    if rank == 0:
        words[WORD_DRAWN] = sum_counts(rows, n_rows)
    while True:
        chunk = atomic_add(words, WORD_MOVES, 1)
        start = chunk * CHUNK
        if start >= n_rows:
            return
        place = sum_counts(rows, start)
        for k in range(rows.counts[chunk]):
            rows.row[place + k] = rows.row[n_rows + start + k]


@part
def end_of_chunk(start, last):
    """Where the chunk that begins here ends."""
    return min(start + CHUNK, last)


@part
def sum_counts(rows, n_rows):
    """How many were counted in the chunks of the first ``n_rows`` rows."""
    total = int64(0)
    for chunk in range((n_rows + CHUNK - 1) // CHUNK):
        total += rows.counts[chunk]
    return total


@part
def flag_chunk(table, rows, nodes, team, node, chunk):
    """Flag the rows of a chunk that go left, and count them; False if there is no such chunk."""
    n_rows = table.shape.n_rows
    codes, at = table.by_column, table.column[nodes.feature[node]] * n_rows
    if table.shape.is_sparse:
        codes, at = team.column, int64(0)
    goes_left = team.goes_left
    source = int64(nodes.buffer[node]) * n_rows
    last = nodes.last[node]
    start = nodes.first[node] + chunk * CHUNK
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
def move_chunk(table, rows, nodes, node, n_left, chunk):
    """Move the rows of a chunk to the other buffer; False if there is no such chunk.

    There is no branch on the side: both places are known, and one of them advances.
    """
    n_rows = table.shape.n_rows
    buffer = int64(nodes.buffer[node])
    source, target = buffer * n_rows, (1 - buffer) * n_rows
    first, last = nodes.first[node], nodes.last[node]
    start = first + chunk * CHUNK
    if start >= last:
        return False
    before = sum_counts(rows, start - first)
    left, right = first + before, start + n_left - before
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
    n_rows = table.shape.n_rows
    codes, at = table.by_column, table.column[nodes.feature[node]] * n_rows
    if table.shape.is_sparse:
        codes, at = team.column, int64(0)
    buffer = int64(nodes.buffer[node])
    source, target = buffer * n_rows, (1 - buffer) * n_rows
    goes_left, in_order = team.goes_left, rows.row
    first, last = nodes.first[node], nodes.last[node]
    left, right = first, last - 1
    for j in range(first, last):
        row = in_order[source + j]
        goes = int64(goes_left[codes[at + int64(row)]])
        place = right + goes * (left - right)  # without a branch
        in_order[target + place] = row
        left += goes
        right -= 1 - goes
    return left - first


@step(PartTogether)
def part_together(slots, node, size, rank):
    """Part a large node by all threads: flag its rows, make its children, move the rows."""
    table, rows = load_table(slots, TABLE_AT), load_rows(slots, ROWS_AT)
    nodes, team = load_nodes(slots, NODES_AT), load_team(slots, TEAM_AT)
    words = team.words
    while flag_chunk(table, rows, nodes, team, node, atomic_add(words, WORD_FLAGS, 1)):
        pass
    barrier(words, size)
    if atomic_load(words, STOP) != 0:
        return  # nobody waited: some rows may not be flagged
    n_left = sum_counts(rows, nodes.last[node] - nodes.first[node])
    if rank == 0:
        table.steps.settle(slots, node, n_left, size)
    barrier(words, size)
    if nodes.child[node] != 0:
        while move_chunk(table, rows, nodes, node, n_left, atomic_add(words, WORD_MOVES, 1)):
            pass

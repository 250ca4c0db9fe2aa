"""Sparse tables: count what is stored, and give the zeros what remains of the node.

    sum of the zeros of a feature = sum of the node - sum of the feature's other cells

so the work grows with the entries that are not zero.
"""

from __future__ import annotations

from numba import int64

from hornbeam.kernels.boosting.partition import end_of_chunk, page_of_rows
from hornbeam.kernels.boosting.state import (
    CHUNK,
    FLUSH_ROWS,
    NODES_AT,
    ROWS_AT,
    TABLE_AT,
    TEAM_AT,
    WORD_COUNTS,
    load_nodes,
    load_rows,
    load_table,
    load_team,
    page_of,
)
from hornbeam.kernels.boosting.steps import CountColumns, CountShared, PrepareSparse
from hornbeam.runtime.atomics import atomic_add
from hornbeam.runtime.kernel import part, step


@part
def count_entries(table, held, rows, nodes, team, tile, node, first, last):
    """Add the entries of a node's rows in a page to a tile of one word per cell; label the rows."""
    tiles, buffer = team.tiles, int64(nodes.buffer[node])
    offset = buffer * table.shape.n_rows
    label = nodes.label[node]
    for j in range(first, last):
        row = int64(rows.row[offset + j])
        word = rows.word[row]
        team.holder[row] = label
        at = row - held.start
        for entry in range(held.entry_start[at], held.entry_start[at + 1]):
            tiles[tile + int64(held.entry_cell[entry])] += word


@part
def empty_cells(table, tiles, tile, sums, base, fresh):
    """Add a tile to a histogram (or make it anew) and clear the tile."""
    n_cells, lane = table.shape.n_cells, table.units.lane
    mask = (int64(1) << lane) - 1
    for cell in range(n_cells):
        word = tiles[tile + cell]
        tiles[tile + cell] = 0
        if fresh:
            sums[base + cell] = word >> lane
            sums[base + n_cells + cell] = word & mask
        else:
            sums[base + cell] += word >> lane
            sums[base + n_cells + cell] += word & mask


@step(CountColumns)
def count_sparse_alone(slots, node, slot, place, place_end, rank):
    """Make a node's histogram of all columns by one thread, into its slot."""
    table, rows = load_table(slots, TABLE_AT), load_rows(slots, ROWS_AT)
    nodes, team = load_nodes(slots, NODES_AT), load_team(slots, TEAM_AT)
    base, n_pages = 2 * slot * table.shape.n_cells, table.shape.n_pages
    fresh, room = True, int64(FLUSH_ROWS)
    for page in range(n_pages):
        held = page_of(table, page)
        start, last = nodes.first[node * n_pages + page], nodes.last[node * n_pages + page]
        while start < last:
            if room == 0:
                empty_cells(table, team.tiles, 0, team.cells, base, fresh)
                fresh, room = False, int64(FLUSH_ROWS)
            stop = min(start + room, last)
            count_entries(table, held, rows, nodes, team, 0, node, start, stop)
            room -= stop - start
            start = stop
    empty_cells(table, team.tiles, 0, team.cells, base, fresh)


@step(CountShared)
def count_sparse_shared(slots, node, rank):
    """Count a node's rows together with the other threads, each in a histogram of its own."""
    table, rows = load_table(slots, TABLE_AT), load_rows(slots, ROWS_AT)
    nodes, team = load_nodes(slots, NODES_AT), load_team(slots, TEAM_AT)
    n_cells, n_pages = table.shape.n_cells, table.shape.n_pages
    tile, base = rank * n_cells, 2 * rank * n_cells
    fresh, room = True, int64(FLUSH_ROWS)
    page, passed = int64(0), int64(0)
    while True:
        chunk = atomic_add(team.words, WORD_COUNTS, 1)
        page, passed = page_of_rows(table, nodes, node, chunk, page, passed)
        start = nodes.first[node * n_pages + page] + (chunk - passed) * CHUNK
        last = nodes.last[node * n_pages + page]
        if start >= last or room < CHUNK:
            empty_cells(table, team.tiles, tile, team.sums, base, fresh)
            fresh, room = False, int64(FLUSH_ROWS)
        if start >= last:
            return
        stop = end_of_chunk(start, last)
        room -= stop - start
        count_entries(table, page_of(table, page), rows, nodes, team, tile, node, start, stop)


@part
def count_left(table, nodes, team, node):
    """How many rows of a node go left at its split, from the entries of its feature alone.

    A row knows the node that holds it by the node's label. The larger child of a split
    keeps the label of its parent, so that only rows that are counted need a new one.
    """
    feature, label = int64(nodes.feature[node]), nodes.label[node]
    listed, left = int64(0), int64(0)
    for page in range(table.shape.n_pages):
        held = page_of(table, page)
        for entry in range(held.column_start[feature], held.column_start[feature + 1]):
            here = int64(team.holder[held.start + int64(held.column_row[entry])] == label)
            listed += here
            left += here * int64(team.goes_left[held.column_code[entry]])
    if team.goes_left[table.default[feature]]:
        left += nodes.n_rows[node] - listed
    return left


@part
def spread_column(table, team, feature):
    """Write the code of every row of a feature, for the rows to be parted by it."""
    zero = table.default[feature]
    for row in range(table.shape.n_rows):
        team.column[row] = zero
    for page in range(table.shape.n_pages):
        held = page_of(table, page)
        for entry in range(held.column_start[feature], held.column_start[feature + 1]):
            team.column[held.start + int64(held.column_row[entry])] = held.column_code[entry]


@step(PrepareSparse)
def prepare_sparse(slots, node, size):
    """Write out the column of a split; False if a child would have too few rows.

    That is known before any row is moved, and the node is on its way to be searched again.
    """
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    team = load_team(slots, TEAM_AT)
    n_left = count_left(table, nodes, team, node)
    n_right = nodes.n_rows[node] - n_left
    if min(n_left, n_right) < table.rules.min_leaf:
        table.steps.settle(slots, node, n_left, size)
        return False
    spread_column(table, team, int64(nodes.feature[node]))
    return True

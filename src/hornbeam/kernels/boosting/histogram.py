"""Histograms: one addition per row and feature.

Threads share out the rows of a large node, or the features of a small one. The larger of
two siblings is never counted: its histogram is what remains of their parent's.
"""

from __future__ import annotations

from numba import int64

from hornbeam.kernels.boosting.state import (
    AHEAD,
    CHUNK,
    FLUSH_ROWS,
    LANE,
    MISSING,
    N_ACTIVE,
    N_CELLS,
    N_FEATURES,
    N_ROWS,
    NODES_AT,
    ROWS_AT,
    STRIDE,
    TABLE_AT,
    TEAM_AT,
    TILE_STRIDE,
    WORD_COUNTS,
    load_nodes,
    load_rows,
    load_table,
    load_team,
)
from hornbeam.runtime.atomics import atomic_add, prefetch
from hornbeam.runtime.kernel import kernel, part

# Features counted in one pass over some rows: their tile stays in the cache.
BLOCK_FEATURES = 64
# Threads share out features instead of rows in nodes with fewer rows than this, and in
# tables with so many features that adding up histograms would cost more than counting.
LEAST_SHARED_ROWS = 4096
MANY_FEATURES = 256


@part
def count_rows(table, rows, tiles, tile, buffer, first, last, active, place, place_end):
    """Add rows to the tile of the drawn features ``place`` to ``place_end``."""
    stride, codes = table.whole[STRIDE], table.by_row
    feature, feature_end = int64(active[place]), int64(active[place_end - 1]) + 1
    offset = buffer * table.whole[N_ROWS]
    neighbours = feature_end - feature == place_end - place
    for j in range(offset + first, offset + last):
        prefetch(codes, int64(rows.row[j + AHEAD]) * stride + feature)
        word = rows.word[j]
        at = int64(rows.row[j]) * stride
        if neighbours:
            for f in range(feature, feature_end):
                tiles[tile + f * TILE_STRIDE + int64(codes[at + f])] += word
        else:
            for k in range(place, place_end):
                f = int64(active[k])
                tiles[tile + f * TILE_STRIDE + int64(codes[at + f])] += word


@part
def empty_tile(table, tiles, tile, sums, base, active, place, place_end, fresh):
    """Add the tile of some features to a histogram (or make it anew) and clear the tile."""
    n_cells, lane = table.whole[N_CELLS], table.whole[LANE]
    mask = (int64(1) << lane) - 1
    gradients, hessians = base, base + n_cells
    for k in range(place, place_end):
        feature = int64(active[k])
        n_codes, cell = table.n_codes[feature], table.cell_start[feature]
        at = tile + feature * TILE_STRIDE
        # missing values have the last code in the tile, and the last cell of the feature
        missing = tiles[at + MISSING]
        tiles[at + MISSING] = 0
        for code in range(n_codes):
            word = tiles[at + code]
            tiles[at + code] = 0
            if fresh:
                sums[gradients + cell + code] = word >> lane
                sums[hessians + cell + code] = word & mask
            else:
                sums[gradients + cell + code] += word >> lane
                sums[hessians + cell + code] += word & mask
        if fresh:
            sums[gradients + cell + n_codes] = missing >> lane
            sums[hessians + cell + n_codes] = missing & mask
        else:
            sums[gradients + cell + n_codes] += missing >> lane
            sums[hessians + cell + n_codes] += missing & mask


@part
def count_block(table, rows, tiles, tile, sums, base, buffer, first, last, active, place, end):
    """Make the histogram of some features, flushing the tile whenever it is full."""
    fresh = True
    start = first
    while start < last or fresh:
        stop = min(start + FLUSH_ROWS, last)
        if start < stop:
            count_rows(table, rows, tiles, tile, buffer, start, stop, active, place, end)
        empty_tile(table, tiles, tile, sums, base, active, place, end, fresh)
        fresh = False
        start = stop


@kernel
def count_features(slots, node, slot, place, place_end, rank):
    """Make a node's histogram for some features, into its slot."""
    table, rows = load_table(slots, TABLE_AT), load_rows(slots, ROWS_AT)
    nodes, team = load_nodes(slots, NODES_AT), load_team(slots, TEAM_AT)
    tile = rank * table.whole[N_FEATURES] * TILE_STRIDE
    base = 2 * slot * table.whole[N_CELLS]
    first, last, buffer = nodes.first[node], nodes.last[node], int64(nodes.buffer[node])
    while place < place_end:
        end = min(place + BLOCK_FEATURES, place_end)
        count_block(
            table, rows, team.tiles, tile, team.cells, base, buffer, first, last, team.active,
            place, end,
        )  # fmt: skip
        place = end
    return 0.0


@kernel
def count_shared(slots, node, unused, unused_too, none, rank):
    """Count a node's rows together with the other threads, each in a histogram of its own."""
    table, rows = load_table(slots, TABLE_AT), load_rows(slots, ROWS_AT)
    nodes, team = load_nodes(slots, NODES_AT), load_team(slots, TEAM_AT)
    whole, active = table.whole, team.active
    n_active = whole[N_ACTIVE]
    tile = rank * whole[N_FEATURES] * TILE_STRIDE
    base = 2 * rank * whole[N_CELLS]
    first, last, buffer = nodes.first[node], nodes.last[node], int64(nodes.buffer[node])
    fresh, held = True, int64(0)
    while True:
        start = first + CHUNK * atomic_add(team.words, WORD_COUNTS, 1)
        full = held + CHUNK > FLUSH_ROWS
        if start >= last or full:
            empty_tile(table, team.tiles, tile, team.sums, base, active, 0, n_active, fresh)
            fresh, held = False, int64(0)
        if start >= last:
            return 0.0
        stop = min(start + CHUNK, last)
        held += stop - start
        place = int64(0)
        while place < n_active:
            end = min(place + BLOCK_FEATURES, n_active)
            count_rows(table, rows, team.tiles, tile, buffer, start, stop, active, place, end)
            place = end


@part
def add_shared(table, team, slot, feature, size):
    """Add up the histograms of all threads, for one feature, into a slot."""
    n_cells = table.whole[N_CELLS]
    base = 2 * slot * n_cells
    for plane in range(2):
        start = plane * n_cells + table.cell_start[feature]
        stop = plane * n_cells + table.cell_start[feature + 1]
        for i in range(start, stop):
            total = team.sums[i]
            for rank in range(1, size):
                total += team.sums[2 * rank * n_cells + i]
            team.cells[base + i] = total


@part
def subtract(table, cells, from_slot, slot, feature):
    """Leave the sibling's histogram where their parent's was, for one feature."""
    n_cells = table.whole[N_CELLS]
    for plane in range(2):
        start = plane * n_cells + table.cell_start[feature]
        stop = plane * n_cells + table.cell_start[feature + 1]
        for i in range(start, stop):
            cells[2 * from_slot * n_cells + i] -= cells[2 * slot * n_cells + i]

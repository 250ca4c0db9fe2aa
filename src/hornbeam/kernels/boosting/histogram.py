"""Histograms: one addition per row and feature.

Threads share out the rows of a large node, or the features of a small one. The larger of
two siblings is never counted: its histogram is what remains of their parent's.
"""

from __future__ import annotations

from numba import int64

from hornbeam.kernels.boosting.partition import end_of_chunk, page_of_rows
from hornbeam.kernels.boosting.state import (
    AHEAD,
    ALL_HELD,
    CHUNK,
    FLUSH_ROWS,
    HELD_ROOM,
    MISSING,
    NODES_AT,
    ROWS_AT,
    TABLE_AT,
    TEAM_AT,
    TILE_STRIDE,
    WORD_COUNTS,
    load_nodes,
    load_rows,
    load_table,
    load_team,
    page_of,
)
from hornbeam.kernels.boosting.steps import (
    AddShared,
    CountColumns,
    CountHeld,
    CountShared,
    EmptyShared,
    FillDefault,
)
from hornbeam.runtime.atomics import atomic_add, prefetch
from hornbeam.runtime.kernel import part, step

# Columns counted in one pass over some rows: their tile stays in the cache.
BLOCK_COLUMNS = 64
# Threads share out columns instead of rows in nodes with fewer rows than this, and in
# tables with so many columns that adding up histograms would cost more than counting.
LEAST_SHARED_ROWS = 4096
MANY_COLUMNS = 256


@part
def count_rows(table, held, rows, tiles, tile, buffer, first, last, bundle, place, place_end):
    """Add rows of a page to the tile of the drawn columns ``place`` to ``place_end``."""
    stride, codes = table.shape.stride, held.by_row
    begin = held.start * stride
    column, column_end = int64(bundle[place]), int64(bundle[place_end - 1]) + 1
    offset = buffer * table.shape.n_rows
    neighbours = column_end - column == place_end - place
    in_order, words = rows.row, rows.word
    for j in range(first, last):
        ahead = int64(in_order[offset + j + AHEAD])
        prefetch(codes, ahead * stride - begin + column)
        prefetch(words, ahead)
        row = int64(in_order[offset + j])
        word, at = words[row], row * stride - begin
        if neighbours:
            for c in range(column, column_end):
                tiles[tile + c * TILE_STRIDE + int64(codes[at + c])] += word
        else:
            for k in range(place, place_end):
                c = int64(bundle[k])
                tiles[tile + c * TILE_STRIDE + int64(codes[at + c])] += word


@part
def empty_own_column(table, tiles, at, sums, base, feature, kept):
    """Add a column that holds one feature to a histogram, and clear it.

    ``kept`` are the bits of the sums that count: none of them if the histogram is new.
    """
    n_cells, lane = table.shape.n_cells, table.units.lane
    mask = (int64(1) << lane) - 1
    n_codes = table.n_codes[feature]
    gradients = base + table.cell_start[feature]
    hessians = gradients + n_cells
    # missing values have the last code in the tile, and the last cell of the feature
    missing = tiles[at + MISSING]
    tiles[at + MISSING] = 0
    for code in range(n_codes):
        word = tiles[at + code]
        tiles[at + code] = 0
        sums[gradients + code] = (sums[gradients + code] & kept) + (word >> lane)
        sums[hessians + code] = (sums[hessians + code] & kept) + (word & mask)
    sums[gradients + n_codes] = (sums[gradients + n_codes] & kept) + (missing >> lane)
    sums[hessians + n_codes] = (sums[hessians + n_codes] & kept) + (missing & mask)


@part
def default_cell(table, feature):
    """The cell of a feature whose rows are not counted."""
    code = int64(table.default[feature])
    return table.n_codes[feature] if code == MISSING else code


@part
def own_code(table, feature, code):
    """The code of a feature in a row that has this code in the feature's column."""
    if not table.is_shared[feature]:
        return code
    cell = code - table.offset[feature]
    if cell < 0 or cell >= table.width[feature]:
        return int64(table.default[feature])
    cell += cell >= default_cell(table, feature)
    return int64(MISSING) if cell == table.n_codes[feature] else cell


@step(EmptyShared)
def empty_shared_column(slots, at, base, feature, kept, counted):
    """Add one feature of a shared column to a histogram, and clear it there.

    The cell of its default code gets what remains of the node later. ``counted`` tells
    whether the histogram is one of a thread's own, where threads share out rows.
    """
    table, team = load_table(slots, TABLE_AT), load_team(slots, TEAM_AT)
    tiles, sums = team.tiles, team.sums if counted else team.cells
    n_cells, lane = table.shape.n_cells, table.units.lane
    mask = (int64(1) << lane) - 1
    gradients = base + table.cell_start[feature]
    hessians = gradients + n_cells
    skipped = default_cell(table, feature)
    place = at + table.offset[feature]
    end = place + table.width[feature]
    for cell in range(table.n_codes[feature] + 1):
        word = int64(0)
        if cell != skipped and place < end:
            word = tiles[place]
            tiles[place] = 0
            place += 1
        sums[gradients + cell] = (sums[gradients + cell] & kept) + (word >> lane)
        sums[hessians + cell] = (sums[hessians + cell] & kept) + (word & mask)


@part
def empty_tile(slots, table, team, tile, counted, base, place, place_end, fresh):
    """Add the tile of some columns to a histogram (or make it anew) and clear the tile."""
    kept = int64(0) if fresh else int64(-1)
    sums = team.sums if counted else team.cells
    for k in range(place, place_end):
        at = tile + int64(team.bundle[k]) * TILE_STRIDE
        for i in range(team.bundle_start[k], team.bundle_start[k + 1]):
            feature = int64(team.bundle_feature[i])
            if table.is_shared[feature]:
                table.steps.empty_shared(slots, at, base, feature, kept, counted)
            else:
                empty_own_column(table, team.tiles, at, sums, base, feature, kept)


@step(CountColumns)
def count_columns(slots, node, slot, place, place_end, rank):
    """Make a node's histogram for some columns, into its slot."""
    table, rows = load_table(slots, TABLE_AT), load_rows(slots, ROWS_AT)
    nodes, team = load_nodes(slots, NODES_AT), load_team(slots, TEAM_AT)
    tile = rank * table.shape.n_columns * TILE_STRIDE
    base, n_pages = 2 * slot * table.shape.n_cells, table.shape.n_pages
    buffer, tiles = int64(nodes.buffer[node]), team.tiles
    while place < place_end:
        end = min(place + BLOCK_COLUMNS, place_end)
        fresh, room = True, int64(FLUSH_ROWS)
        for page in range(n_pages):
            held = page_of(table, page)
            start, last = nodes.first[node * n_pages + page], nodes.last[node * n_pages + page]
            while start < last:
                if room == 0:
                    empty_tile(slots, table, team, tile, False, base, place, end, fresh)
                    fresh, room = False, int64(FLUSH_ROWS)
                stop = min(start + room, last)
                count_rows(
                    table, held, rows, tiles, tile, buffer, start, stop, team.bundle, place, end
                )
                room -= stop - start
                start = stop
        empty_tile(slots, table, team, tile, False, base, place, end, fresh)
        place = end


@step(CountShared)
def count_shared(slots, node, rank):
    """Count a node's rows together with the other threads, each in a histogram of its own."""
    table, rows = load_table(slots, TABLE_AT), load_rows(slots, ROWS_AT)
    nodes, team = load_nodes(slots, NODES_AT), load_team(slots, TEAM_AT)
    n_bundles = table.draw.n_bundles
    tile = rank * table.shape.n_columns * TILE_STRIDE
    base = 2 * rank * table.shape.n_cells
    buffer, n_pages = int64(nodes.buffer[node]), table.shape.n_pages
    fresh, room = True, int64(FLUSH_ROWS)
    page, passed = int64(0), int64(0)
    while True:
        chunk = atomic_add(team.words, WORD_COUNTS, 1)
        page, passed = page_of_rows(table, nodes, node, chunk, page, passed)
        start = nodes.first[node * n_pages + page] + (chunk - passed) * CHUNK
        last = nodes.last[node * n_pages + page]
        if start >= last or room < CHUNK:
            empty_tile(slots, table, team, tile, True, base, int64(0), n_bundles, fresh)
            fresh, room = False, int64(FLUSH_ROWS)
        if start >= last:
            return
        stop = end_of_chunk(start, last)
        room -= stop - start
        held, place = page_of(table, page), int64(0)
        while place < n_bundles:
            end = min(place + BLOCK_COLUMNS, n_bundles)
            count_rows(
                table, held, rows, team.tiles, tile, buffer, start, stop, team.bundle, place, end
            )
            place = end


@step(CountHeld)
def count_held(slots, node, feature, rank):
    """Count the rows of a node in each cell of a feature, for one thread."""
    table, rows = load_table(slots, TABLE_AT), load_rows(slots, ROWS_AT)
    nodes, team = load_nodes(slots, NODES_AT), load_team(slots, TEAM_AT)
    at, n_codes, n_pages = HELD_ROOM * rank, table.n_codes[feature], table.shape.n_pages
    for cell in range(n_codes + 1):
        team.held[at + cell] = 0
    team.held[at + ALL_HELD] = nodes.n_rows[node]
    if table.shape.is_sparse:
        listed = int64(0)
        for page in range(n_pages):
            held = page_of(table, page)
            for entry in range(held.column_start[feature], held.column_start[feature + 1]):
                row = held.start + int64(held.column_row[entry])
                here = int64(team.holder[row] == nodes.label[node])
                team.held[at + min(int64(held.column_code[entry]), n_codes)] += here
                listed += here
        team.held[at + default_cell(table, feature)] += nodes.n_rows[node] - listed
        return
    source = int64(nodes.buffer[node]) * table.shape.n_rows
    for page in range(n_pages):
        held, place = page_of(table, page), node * n_pages + page
        column = table.column[feature] * held.n_rows - held.start
        for j in range(source + nodes.first[place], source + nodes.last[place]):
            code = int64(held.by_column[column + int64(rows.row[j])])
            team.held[at + min(own_code(table, feature, code), n_codes)] += 1


@part
def fill_default(table, nodes, cells, node, slot, feature):
    """Give the default code of a feature what remains of the node."""
    n_cells = table.shape.n_cells
    start, stop = table.cell_start[feature], table.cell_start[feature + 1]
    default = start + default_cell(table, feature)
    for plane in range(2):
        base = (2 * slot + plane) * n_cells
        total = nodes.gradient[node] if plane == 0 else nodes.hessian[node]
        cells[base + default] = 0
        for cell in range(start, stop):
            total -= cells[base + cell]
        cells[base + default] = total


@step(FillDefault)
def fill_default_cell(slots, node, slot, feature):
    """`fill_default`, for features that are sparse or share a column."""
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    fill_default(table, nodes, load_team(slots, TEAM_AT).cells, node, slot, feature)


@step(AddShared)
def add_shared(slots, slot, feature, size):
    """Add up the histograms of all threads, for one feature, into a slot."""
    table, team = load_table(slots, TABLE_AT), load_team(slots, TEAM_AT)
    n_cells = table.shape.n_cells
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
    n_cells = table.shape.n_cells
    for plane in range(2):
        start = plane * n_cells + table.cell_start[feature]
        stop = plane * n_cells + table.cell_start[feature + 1]
        for i in range(start, stop):
            cells[2 * from_slot * n_cells + i] -= cells[2 * slot * n_cells + i]

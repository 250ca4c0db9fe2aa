"""Copy the codes of a small node's rows into a tile that fits the cache.

Deep in a tree the rows of a node are scattered over the whole table, and every code that
is looked at is a cache miss. A subtree that is grown on a tile has its codes close
together. Ranks are numbered anew within the tile, so that they are small: most nodes
then count codes instead of sorting them. (Not for random cuts, which need the ranks.)
"""

from __future__ import annotations

from numba import int64, types, uint32, uint64

from hornbeam.dtypes import MISSING_RANK
from hornbeam.kernels.order import ENTRY_MASK
from hornbeam.kernels.pieces import column_of, first_row_of, next_piece
from hornbeam.kernels.ranges import find_ranges
from hornbeam.kernels.state import (
    NODES_AT,
    PROBLEM_AT,
    ROWS_AT,
    SCRATCH_AT,
    load_nodes,
    load_problem,
    load_rows,
    load_scratch,
)
from hornbeam.runtime.kernel import inlined, kernel
from hornbeam.runtime.pointers import bare


@inlined
def copy_column(problem, rows, feature, first, last, tile):
    """Copy a column's codes as they are."""
    row, begin, out, own = rows.row, first, feature * (last - first) - first, tile.pages[0]
    while begin < last:
        page, end = next_piece(problem, row, begin, last)
        offset = column_of(page, feature)
        for j in range(begin, end):
            if problem.as_bytes:
                own.bins[out + j] = page.bins[offset + row[j]]
            else:
                own.ranks[out + j] = page.ranks[offset + row[j]]
        begin = end


@inlined
def copy_rows(problem, rows, first, last, tile):
    """Copy the codes row by row."""
    row, stride, begin, own = rows.row, problem.row_stride, first, tile.pages[0]
    while begin < last:
        page, end = next_piece(problem, row, begin, last)
        offset = first_row_of(page, stride)
        for j in range(begin, end):
            start = offset + int64(row[j]) * stride
            for i in range(stride):
                own.by_row[(j - first) * stride + i] = page.by_row[start + i]
        begin = end


@inlined
def rank_column(problem, slots, scratch, feature, first, last, tile):
    """Copy a column's ranks, numbered anew; returns how many there are."""
    out = feature * (last - first) - first
    known = problem.steps.sort(slots, feature, first, last)
    keys = scratch.spare_keys if scratch.ask.in_spare else scratch.keys
    rank = 0
    for i in range(last - first):
        entry = int64(keys[i] & uint64(ENTRY_MASK))
        if i > 0 and i < known and keys[i] >> uint64(32) != keys[i - 1] >> uint64(32):
            rank += 1
        tile.pages[0].ranks[out + entry] = uint32(rank) if i < known else uint32(MISSING_RANK)
    return rank + int64(known > 0)


@kernel
def make_tile(slots, tile_slots, node):
    """Fill a thread's tile with the codes of a node, and number its rows within it.

    It already knows how many these are.
    """
    slots = bare(slots)
    problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
    nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
    tile = load_problem(tile_slots, PROBLEM_AT)
    first, last = int64(nodes.first[node]), int64(nodes.last[node])
    n_features, stride = problem.n_features, problem.row_stride
    if stride > 0:
        find_ranges(problem, rows.row, first, last, scratch)
        copy_rows(problem, rows, first, last, tile)
    for feature in range(n_features):
        tile.n_codes[feature] = problem.n_codes[feature]
        if stride > 0 and not scratch.varies[feature]:
            continue
        if problem.rules.knows_constant and nodes.constant[node * n_features + feature]:
            continue
        kept = problem.rules.random_cuts  # they look up the value behind a rank
        if kept or problem.as_bytes or problem.is_category[feature]:
            copy_column(problem, rows, feature, first, last, tile)
        else:
            tile.n_codes[feature] = rank_column(problem, slots, scratch, feature, first, last, tile)
    for j in range(first, last):
        tile.origin[j - first] = rows.row[j]
        rows.row[j] = j - first


TILE_SIGNATURE = types.void(types.Array(int64, 1, "C"), types.Array(int64, 1, "C"), int64)

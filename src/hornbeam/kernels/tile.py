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
    offset, out = feature * problem.n_rows, feature * (last - first) - first
    for j in range(first, last):
        if problem.as_bytes:
            tile.bins[out + j] = problem.bins[offset + rows.row[j]]
        else:
            tile.ranks[out + j] = problem.ranks[offset + rows.row[j]]


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
        tile.ranks[out + entry] = uint32(rank) if i < known else uint32(MISSING_RANK)
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
        for j in range(first, last):
            start = int64(rows.row[j]) * stride
            for i in range(stride):
                tile.by_row[(j - first) * stride + i] = problem.by_row[start + i]
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

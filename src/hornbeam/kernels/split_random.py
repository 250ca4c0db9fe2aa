"""Cut a number feature at a random place, as extremely randomised trees do."""

from __future__ import annotations

import math

from numba import int64, uint32, uint64

from hornbeam.dtypes import (
    MISSING_RANK,
)
from hornbeam.kernels.order import (
    gather_codes,
)
from hornbeam.kernels.split import try_cuts
from hornbeam.kernels.state import (
    ASK_CELLS,
    ASK_FIRST,
    ASK_IN_SPARE,
    ASK_KEYS,
    ASK_MONOTONE,
    BYTES,
    NODES_AT,
    PROBLEM_AT,
    ROWS_AT,
    SCRATCH_AT,
    load_desk,
    load_nodes,
    load_problem,
    load_rows,
    load_scratch,
)
from hornbeam.runtime.kernel import (
    kernel,
    part,
)
from hornbeam.runtime.random import (
    derive,
    draw_unit,
)


@part
def part_keys(scratch, count, cut, high):  # type: ignore[no-untyped-def]
    """List rows up to code ``cut`` under that code, the others under ``high``."""
    ask = scratch.ask
    first = ask[ASK_FIRST]
    ask[ASK_CELLS] = 0
    ask[ASK_IN_SPARE] = 0
    place = 0
    for side in range(2):
        for j in range(count):
            code = int64(scratch.codes[j])
            if code != MISSING_RANK and (code <= cut) == (side == 0):
                code = high if side else cut
                scratch.keys[place] = (uint64(code) << uint64(32)) | uint64(first + j)
                place += 1
    ask[ASK_KEYS] = place
    for j in range(count):
        if scratch.codes[j] == uint32(MISSING_RANK):
            scratch.keys[place] = uint64(first + j)
            place += 1


@part
def random_cut(problem, feature, low, high, key):  # type: ignore[no-untyped-def]
    """A random threshold between the node's smallest and largest value.

    Returns the threshold and the last code below it.
    """
    book, start = problem.book, problem.book_start[feature]
    if problem.whole[BYTES]:
        high -= 1  # the last border between two codes of the node
    bottom, top = book[start + low], book[start + high]
    threshold = bottom + draw_unit(derive(key, feature), 1) * (top - bottom)
    if threshold >= top and high > low:
        threshold = bottom
    cut, above = low, high + 1
    while above - cut > 1:  # the last code whose value is at most the threshold
        middle = (cut + above) // 2
        if book[start + middle] <= threshold:
            cut = middle
        else:
            above = middle
    if problem.whole[BYTES]:
        threshold = book[start + cut]
    return threshold, cut


@kernel
def search_random_number(slots, node, feature, rank, desk_at):  # type: ignore[no-untyped-def]
    """Random cut of a number feature; the protocol is that of `split.search_number`."""
    problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
    nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
    desk = load_desk(slots, desk_at)
    first, last = nodes.first[node], nodes.last[node]
    low, high, n_missing = gather_codes(problem, feature, rows.row, first, last, scratch.codes)
    if n_missing == last - first or (low == high and n_missing == 0):
        return 0.0
    scratch.ask[ASK_MONOTONE] = problem.monotone[feature]
    threshold, cut = math.inf, high
    if low < high:
        threshold, cut = random_cut(problem, feature, low, high, nodes.key[node])
    part_keys(scratch, last - first, cut, high)
    try_cuts(problem, rows, scratch, feature, n_missing, threshold, rank, desk)
    return 1.0

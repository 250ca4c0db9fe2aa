"""Cut a number feature at a random place, as extremely randomised trees do."""

from __future__ import annotations

import math

from numba import int64, uint64

from hornbeam.kernels.order import ENTRY_MASK
from hornbeam.kernels.split import present_keys, try_cuts
from hornbeam.kernels.state import (
    ASK_KEYS,
    ASK_MONOTONE,
    BYTES,
    NODES_AT,
    ORDER,
    PROBLEM_AT,
    ROWS_AT,
    SCRATCH_AT,
    load_desk,
    load_nodes,
    load_problem,
    load_rows,
    load_scratch,
)
from hornbeam.runtime.atomics import call_address
from hornbeam.runtime.kernel import inlined, kernel, part
from hornbeam.runtime.random import derive_for_feature, draw_unit


@part
def part_keys(scratch, cut, high):
    """Leave one place to cut: keys up to code ``cut`` get that code, the others ``high``."""
    keys = present_keys(scratch)
    for i in range(scratch.ask[ASK_KEYS]):
        code = cut if int64(keys[i] >> uint64(32)) <= cut else high
        keys[i] = (uint64(code) << uint64(32)) | (keys[i] & uint64(ENTRY_MASK))


@inlined
def place_of(problem, feature, code):
    """Where a code lies: its value if it is a rank, about the middle of its bin otherwise."""
    book, start = problem.book, problem.book_start[feature]
    if not problem.whole[BYTES]:
        return book[start + code]
    last = problem.n_codes[feature] - 2  # of the borders between bins
    below, above = min(max(code - 1, 0), last), min(code, last)
    if below < above or last == 0:
        return book[start + below] / 2.0 + book[start + above] / 2.0 + (code - 0.5) * (last == 0)
    # the first bin and the last one have a single border: as wide as their neighbours
    inner = 1 if code == 0 else last - 1
    return book[start + below] - (book[start + inner] - book[start + below]) / 2.0


@part
def random_cut(problem, feature, low, high, key):
    """A random threshold between the node's smallest and largest value.

    Returns the threshold and the last code below it. In bins the threshold is the border
    behind that code, and a border is the more likely the farther its neighbours are.
    """
    bottom, top = place_of(problem, feature, low), place_of(problem, feature, high)
    threshold = bottom + draw_unit(derive_for_feature(key, feature), 0) * (top - bottom)
    if threshold >= top:
        threshold = bottom
    cut, step = low, int64(1)  # find the last code that is not above the threshold
    while 2 * step <= high - 1 - low:
        step *= 2
    while step > 0:
        ahead = min(cut + step, high - 1)
        # no branch: it would be a coin toss
        cut += (ahead - cut) * int64(place_of(problem, feature, ahead) <= threshold)
        step //= 2
    if problem.whole[BYTES]:
        threshold = problem.book[problem.book_start[feature] + cut]
    return threshold, cut


@kernel
def search_random_number(slots, node, feature, rank, desk_at):
    """Random cut of a number feature; the protocol is that of `split.search_number`."""
    problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
    nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
    desk = load_desk(slots, desk_at)
    if call_address(problem.whole[ORDER], (slots, node, feature)) == 0.0:
        return 0.0
    scratch.ask[ASK_MONOTONE] = problem.monotone[feature]
    keys = present_keys(scratch)
    low = int64(keys[0] >> uint64(32))
    high = int64(keys[scratch.ask[ASK_KEYS] - 1] >> uint64(32))
    threshold = math.inf
    if low < high:
        threshold, cut = random_cut(problem, feature, low, high, nodes.key[node])
        part_keys(scratch, cut, high)
    try_cuts(problem, rows, scratch, feature, threshold, rank, desk)
    return 1.0

"""Cut a number feature at a random place, as extremely randomised trees do.

Missing values of a node: one of its rows is drawn. If it has no value, the question is whether
the value is missing. Otherwise the known values are cut, and the missing ones go to a random
side. So a few missing values rarely make a question of their own, and many often do.
"""

from __future__ import annotations

import math

from numba import int64, uint64

from hornbeam.kernels.lanes import PLACE_LANES, count_up_to_place
from hornbeam.kernels.order import ENTRY_MASK
from hornbeam.kernels.split import present_keys, try_cuts
from hornbeam.kernels.state import (
    NODES_AT,
    PROBLEM_AT,
    ROWS_AT,
    SCRATCH_AT,
    Search,
    load_desk,
    load_nodes,
    load_problem,
    load_rows,
    load_scratch,
)
from hornbeam.runtime.kernel import inlined, part, step
from hornbeam.runtime.random import derive_for_feature, draw_below, draw_unit

# The random number of a node and feature that draws a row; there are fewer categories than that.
DRAWN_ROW = 1 << 32


@part
def part_keys(scratch, cut, high, n_keys):
    """Leave one place to cut: keys up to code ``cut`` get that code, the others ``high``."""
    keys = present_keys(scratch)
    for i in range(n_keys):
        code = cut if int64(keys[i] >> uint64(32)) <= cut else high
        keys[i] = (uint64(code) << uint64(32)) | (keys[i] & uint64(ENTRY_MASK))


@inlined
def place_between(bottom, top, feature, key):
    """A random place from one value to below another."""
    place = bottom + draw_unit(derive_for_feature(key, feature), 0) * (top - bottom)
    return place if place < top else bottom


@inlined
def random_place(problem, feature, low, high, key):
    """A random place from that of code ``low`` to below that of code ``high``."""
    start = problem.place_start[feature]
    return place_between(problem.places[start + low], problem.places[start + high], feature, key)


@inlined
def draws_left(feature, key):
    """Whether the missing values of a node go left of a random cut: one side is drawn.

    To try both would let features with missing values win more often than others.
    """
    return draw_below(derive_for_feature(key, feature), 1, 2) == 1


@inlined
def draws_missing(feature, missing_weight, weight, key):
    """Whether a drawn row of a node has no value of a feature: then that is asked."""
    return draw_unit(derive_for_feature(key, feature), DRAWN_ROW) * weight < missing_weight


@inlined
def may_ask(problem, feature, known_vary):
    """Whether there is something to ask if no missing value is drawn.

    A node whose known values are all alike has nothing to cut. But of a column that has one
    value everywhere nothing else can be asked than if it is there.
    """
    return known_vary or problem.n_codes[feature] == 1


@part
def random_bin(problem, feature, low, high, key):
    """The last bin on the left of a random cut between the node's smallest and largest bin.

    A cut is the more likely the farther the bins beside it are from each other.
    """
    place = random_place(problem, feature, low, high, key)
    # The places before those of all codes are of every 16th code.
    start = problem.place_start[feature]
    block = PLACE_LANES * (count_up_to_place(problem.places, start - PLACE_LANES, place) - 1)
    return block + count_up_to_place(problem.places, start + block, place) - 1


@inlined
def border_behind(problem, feature, code):
    """The threshold that parts a bin from the next one."""
    return problem.borders[problem.border_start[feature] + code]


@part
def random_value(problem, feature, low, high, key):
    """A random threshold between the node's smallest and largest value.

    Returns the threshold and the last rank that is not above it.
    """
    threshold = random_place(problem, feature, low, high, key)
    places, start = problem.places, problem.place_start[feature]
    cut, step = low, int64(1)
    while 2 * step <= high - 1 - low:
        step *= 2
    while step > 0:
        ahead = min(cut + step, high - 1)
        # no branch: it would be a coin toss
        cut += (ahead - cut) * int64(places[start + ahead] <= threshold)
        step //= 2
    return threshold, cut


@part
def weigh_missing(rows, scratch):
    """Weight of the entries whose code is missing."""
    ask, keys = scratch.ask, present_keys(scratch)
    stats = scratch.entry_stats if ask.cells else rows.stats
    weight = 0.0
    for i in range(ask.n_keys, ask.n_all_keys):
        weight += stats[int64(keys[i] & uint64(ENTRY_MASK)) * ask.n_stats]
    return weight


@step(Search)
def search_random_number(slots, node, feature, rank, desk_at):
    """Random cut of a number feature; the protocol is that of `split.search_number`."""
    problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
    nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
    desk = load_desk(slots, desk_at)
    if not problem.steps.order(slots, node, feature):
        return False
    scratch.ask.monotone = problem.monotone[feature]
    keys = present_keys(scratch)
    low = int64(keys[0] >> uint64(32))
    high = int64(keys[scratch.ask.n_keys - 1] >> uint64(32))
    missing = weigh_missing(rows, scratch)
    threshold, weight = math.inf, scratch.ask.weight
    if missing > 0.0 and draws_missing(feature, missing, weight, nodes.key[node]):
        part_keys(scratch, high, high, scratch.ask.n_keys)
        low = high
    elif not may_ask(problem, feature, low < high):
        return True
    if low == high:
        try_cuts(problem, rows, scratch, feature, threshold, rank, desk, 0)
        return True
    if problem.as_bytes:
        cut = random_bin(problem, feature, low, high, nodes.key[node])
        threshold = border_behind(problem, feature, cut)
    else:
        threshold, cut = random_value(problem, feature, low, high, nodes.key[node])
    known, all_keys = scratch.ask.n_keys, scratch.ask.n_all_keys
    missing_left = known < all_keys and draws_left(feature, nodes.key[node])
    if not missing_left:
        scratch.ask.n_keys = all_keys  # as if the missing values were large ones
    part_keys(scratch, cut, high, scratch.ask.n_keys)
    improved = try_cuts(problem, rows, scratch, feature, threshold, rank, desk, int64(missing_left))
    if improved and known < all_keys:
        desk.best_missing_left[rank] = int64(missing_left)
    return True

"""Part the categories of a feature at random by class weights.

This is `split_categories.search_random_category` for forests: byte codes, one output, and the
cautious rule. The splits are the same. One of them is tried, so nothing has to be in order:
each category that a node has gets a side, and what is on the left is summed. Weights that are
not whole numbers are left to the general search.
"""

from __future__ import annotations

from typing import Any

from numba import float64, int64, uint8

from hornbeam.dtypes import MISSING_BIN
from hornbeam.kernels.collect import make_collector
from hornbeam.kernels.split_bin_categories import (
    category_of,
    clear_class_groups,
    list_class_groups,
    name_group,
    share_of,
    shares_differ,
)
from hornbeam.kernels.split_categories import draw_class, draw_forced, draw_right
from hornbeam.kernels.split_random import draws_missing, may_ask
from hornbeam.kernels.state import (
    ABSENT,
    LEFT,
    NODES_AT,
    PROBLEM_AT,
    RIGHT,
    ROWS_AT,
    SCRATCH_AT,
    Search,
    load_desk,
    load_nodes,
    load_problem,
    load_rows,
    load_scratch,
)
from hornbeam.kernels.sums import ROW_UNIT, WEIGHT_MASK
from hornbeam.runtime.kernel import inlined, part, step
from hornbeam.runtime.random import derive_for_feature, draw_below, draw_unit

# --- groups ----------------------------------------------------------------------------

# Two classes are counted in one word for each code: all rows, and those of the second class.
# There are copies of it, behind the cells of the groups: neighbouring rows often have the same
# code, and an addition has to wait for the one before it.
_COPIES = 8
_COPY_CELLS = MISSING_BIN + 5  # so that no two copies are a page apart
_COPIES_AT = 2 * (MISSING_BIN + 1)


@inlined
def add_pair(into, seen, copy, code, j):
    """Count a row of one of two classes."""
    words, labels = into
    words[_COPIES_AT + copy * _COPY_CELLS + code] += ROW_UNIT + labels[j]
    return seen


collect_pairs = make_collector(add_pair, copies=_COPIES)


@inlined
def join_copies(words, n_codes):
    """Add up what `collect_pairs` counted in copies."""
    for copy in range(1, _COPIES):
        start = _COPIES_AT + copy * _COPY_CELLS
        for code in range(n_codes):
            words[_COPIES_AT + code] += words[start + code]
            words[start + code] = 0
        words[_COPIES_AT + MISSING_BIN] += words[start + MISSING_BIN]
        words[start + MISSING_BIN] = 0


@inlined
def take_word(words, code):
    """What was counted of a code; leaves nothing."""
    word = words[_COPIES_AT + code]
    words[_COPIES_AT + code] = 0
    return word


@inlined
def list_pairs(scratch, n_codes):
    """Make cells for two classes of what `collect_pairs` counted.

    They are as those of `split_bin_categories.list_class_groups`.
    """
    words, n_groups, unit = scratch.cell_words, int64(0), ROW_UNIT + 1
    join_copies(words, n_codes)
    for code in range(n_codes):
        word = take_word(words, code)
        n_rows, second = word >> 32, word & WEIGHT_MASK
        words[2 * n_groups] = (n_rows - second) * unit
        words[2 * n_groups + 1] = second * unit
        name_group(scratch, n_groups, code)
        n_groups += n_rows > 0
    return n_groups, take_word(words, MISSING_BIN) >> 32


@part
def cut_shares(scratch, n_groups, n_classes, which, key):
    """Cut the order of the groups' shares of a class at random, as a number is cut.

    This is `split_categories.cut_means` without the order: low shares are up to the threshold,
    but the last of the highest ones is not.
    """
    means, sides = scratch.group_mean, scratch.sides
    lowest, highest, last = 1.0, 0.0, int64(0)
    for group in range(n_groups):
        mean = share_of(scratch, group, n_classes, which)
        means[group] = mean
        lowest = min(lowest, mean)
        last = group if mean >= highest else last
        highest = max(highest, mean)
    threshold = lowest + draw_unit(key, 1) * (highest - lowest)
    low_side = uint8(draw_below(key, 2, 2) == 0)
    for group in range(n_groups):
        sides[group] = low_side if means[group] <= threshold else 1 - low_side
    sides[last] = 1 - low_side


@part
def draw_sides(scratch, n_groups, key):
    """The subset of `split_categories.draw_subset`, as a side for each group."""
    forced_left, forced_right = draw_forced(n_groups, key)
    for group in range(n_groups):
        # no group is forced here, so that draws are made side by side
        scratch.sides[group] = 1 - draw_right(key, category_of(scratch, group), 0, -1, -1)
    scratch.sides[forced_right] = 0
    scratch.sides[forced_left] = 1


@inlined
def all_left(scratch, n_groups):
    """Put all groups on the left: only missing values are on the right."""
    for group in range(n_groups):
        scratch.sides[group] = 1


@inlined
def weigh_missing_cells(scratch, n_codes, n_classes):
    """Weight of the rows that have no category; their cells are as `list_class_groups` says."""
    weight = int64(0)
    for k in range(n_classes):
        weight += scratch.cell_words[n_codes * n_classes + k] & WEIGHT_MASK
    return float64(weight)


@inlined
def sum_left(scratch, n_groups, n_classes):
    """Sum the class weights of the groups on the left; returns how many rows they have."""
    words, sides, content = scratch.cell_words, scratch.sides, int64(0)
    for k in range(n_classes):
        word = int64(0)
        for group in range(n_groups):
            word += words[group * n_classes + k] * int64(sides[group])
        scratch.left[k] = float64(word & WEIGHT_MASK)
        content += word
    return content >> 32


@inlined
def note_groups(problem, scratch, feature, n_groups, desk, rank):
    """Write down on which side each category is."""
    member_at = rank * problem.max_categories
    for code in range(problem.n_codes[feature]):
        desk.member[member_at + code] = ABSENT
    for group in range(n_groups):
        side = LEFT if scratch.sides[group] else RIGHT
        desk.member[member_at + category_of(scratch, group)] = side


# --- the search ------------------------------------------------------------------------


def make_class_random_category_search(judge: Any, variant: str | None) -> Any:
    """The kernel; ``judge`` is that of `scan.make_cut_judge`."""

    def search_random_class_categories(slots, node, feature, rank, desk_at):
        problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
        nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
        desk = load_desk(slots, desk_at)
        if not problem.weights.whole:
            general = problem.steps.search_category
            return general(slots, node, feature, rank, desk_at)
        first, last = int64(nodes.first[node]), int64(nodes.last[node])
        n_classes, n_codes = scratch.ask.n_totals, problem.n_codes[feature]
        key = derive_for_feature(nodes.key[node], feature)
        if problem.weights.unit and n_classes == 2:
            into = (scratch.cell_words, rows.labels)
            collect_pairs(problem, rows.row, feature, first, last, MISSING_BIN, into, 0)
            n_groups, n_missing = list_pairs(scratch, n_codes)
        else:
            problem.steps.fill(slots, node, feature)
            n_groups, n_missing = list_class_groups(scratch, n_codes, n_classes)
        varies = n_groups > 0 and n_groups + (n_missing > 0) > 1
        missing_weight = float64(n_missing)
        if not problem.weights.unit:
            missing_weight = weigh_missing_cells(scratch, n_codes, n_classes)
        asks = n_missing > 0 and draws_missing(
            feature, missing_weight, scratch.ask.weight, nodes.key[node]
        )
        if asks or (varies and may_ask(problem, feature, n_groups > 1)):
            if asks:
                all_left(scratch, n_groups)
            elif shares_differ(problem, scratch, n_groups, n_classes, last - first):
                which = draw_class(problem, scratch, key)
                cut_shares(scratch, n_groups, n_classes, which, key)
            else:
                draw_sides(scratch, n_groups, key)
            counted = (last - first, sum_left(scratch, n_groups, n_classes), n_missing)
            left, zero = scratch.left, int64(0)
            if judge(problem, scratch, feature, left, counted, zero, zero, desk, rank):
                note_groups(problem, scratch, feature, n_groups, desk, rank)
        clear_class_groups(scratch, n_groups, n_codes, n_classes)
        return varies

    return step(Search, variant)(search_random_class_categories)

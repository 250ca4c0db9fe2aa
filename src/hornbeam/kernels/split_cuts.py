"""Cut number features whose codes are bins at random places.

This is `split_random.search_random_number` for the common case: byte codes and sums. A
cut takes one pass over the rows of a node. Where every row weighs 1, one pass serves all
features of a node, 32 of them in a vector (kernels/lanes.py). The splits are the same.
"""

from __future__ import annotations

import math
from typing import Any

from numba import int64, uint8, uint64

from hornbeam.dtypes import MISSING_BIN
from hornbeam.kernels.collect import make_collector
from hornbeam.kernels.lanes import (
    LANES,
    SUM_LANES,
    add_above,
    add_up_to,
    count_above,
    count_two_up_to,
    count_up_to,
)
from hornbeam.kernels.pieces import first_row_of, next_piece
from hornbeam.kernels.split import nothing_better
from hornbeam.kernels.split_random import (
    border_behind,
    draws_left,
    draws_missing,
    may_ask,
    random_bin,
)
from hornbeam.kernels.state import (
    NODES_AT,
    PROBLEM_AT,
    ROWS_AT,
    SCRATCH_AT,
    WORD_DRAWN,
    Search,
    SearchTogether,
    load_desk,
    load_nodes,
    load_problem,
    load_rows,
    load_scratch,
)
from hornbeam.runtime.kernel import inlined, part, step

# A lane counts up to 255 before it overflows.
MOST_COUNTED = 255


# --- one cut --------------------------------------------------------------------------


@inlined
def add_to_range(into, seen, copy, code, j):
    """Smallest and largest code, and how many rows have none."""
    low, high, n_missing = seen
    missing = code == MISSING_BIN
    return min(low, code), max(high, int64(-1) if missing else code), n_missing + missing


collect_range = make_collector(add_to_range)


@inlined
def code_range(problem, scratch, row, feature, first, last):
    """Smallest and largest code of a node's rows, and whether some rows have none."""
    if scratch.ask.has_ranges:
        missing = scratch.top[feature] == MISSING_BIN
        return int64(scratch.low[feature]), int64(scratch.high[feature]) - 1, int64(missing)
    none = (int64(MISSING_BIN), int64(-1), int64(0))
    return collect_range(problem, row, feature, first, last, MISSING_BIN, (), none)


@inlined
def draw_cut(problem, feature, low, high, key):
    """Last code of the left side; only missing values may be on the right."""
    return random_bin(problem, feature, low, high, key) if low < high else high


@inlined
def place_missing(problem, feature, counted, weights, key):
    """What becomes of a cut and a node's missing values (see kernels/split_random.py).

    ``counted`` are the rows of the node, left of the cut, and without a value, ``weights``
    those of the last and of all. Returns whether known values are cut (otherwise all of them
    are on the left), whether the missing ones are on the left, and whether there is a split
    at all.
    """
    node_rows, left_rows, n_missing = counted
    is_cut = left_rows + n_missing < node_rows
    if n_missing == 0:
        return is_cut, False, is_cut
    if draws_missing(feature, weights[0], weights[1], key):
        return False, False, True
    return is_cut, is_cut and draws_left(feature, key), may_ask(problem, feature, is_cut)


@inlined
def note_threshold(problem, desk, rank, feature, cut, is_cut):
    """Look up the threshold of the best cut so far; few cuts are that."""
    desk.best_threshold[rank] = border_behind(problem, feature, cut) if is_cut else math.inf


@inlined
def side_of(code, cut):
    """0 right of a cut, 1 left of it, 2 missing; no branch to mispredict."""
    return int64(code <= cut) + 2 * int64(code == MISSING_BIN)


@inlined
def add_class_side(into, seen, copy, code, j):
    """Add a row to its side of a cut and its class; tells rows on the left and without a value."""
    sums, cut, n_classes, labels, shift, stats = into
    side = side_of(code, cut)
    sums[side * n_classes + labels[j - shift]] += stats[j]
    return seen[0] + (side & 1), seen[1] + (side >> 1)


@inlined
def add_moment_side(into, seen, copy, code, j):
    """Add the moments of a row to its side of a cut; otherwise as `add_class_side`."""
    sums, cut, stats = into
    side = side_of(code, cut)
    for s in range(3):
        sums[3 * side + s] += stats[3 * j + s]
    return seen[0] + (side & 1), seen[1] + (side >> 1)


collect_class_sides = make_collector(add_class_side)
collect_moment_sides = make_collector(add_moment_side)


@inlined
def judge_class_cut(judge, problem, scratch, desk, rank, feature, cut, key, counted):
    """Judge a cut; class weights of its sides are in cell_sums, as `side_of` numbers them.

    ``cut`` is the last code on the left, ``counted`` are the rows of the node, on the left, and
    without a value.
    """
    node_rows, left_rows, n_missing = counted
    n_classes, total, left = scratch.ask.n_totals, scratch.total, scratch.left
    sums, missing_weight = scratch.cell_sums, 0.0
    for k in range(n_classes):
        missing_weight += sums[2 * n_classes + k]
    asked = (missing_weight, scratch.ask.weight)
    is_cut, missing_left, may_be = place_missing(problem, feature, counted, asked, key)
    if not is_cut:
        left_rows = node_rows - n_missing
    left_rows += n_missing if missing_left else 0
    for k in range(n_classes):
        left[k] = sums[n_classes + k] if is_cut else total[k] - sums[2 * n_classes + k]
        if missing_left:
            left[k] += sums[2 * n_classes + k]
    for i in range(3 * n_classes):
        sums[i] = 0.0
    if may_be:
        counted, side = (node_rows, left_rows, n_missing), int64(missing_left)
        last = cut if is_cut else problem.n_codes[feature] - 1
        if judge(problem, scratch, feature, left, counted, side, last, desk, rank):
            note_threshold(problem, desk, rank, feature, cut, is_cut)


@inlined
def judge_moment_cut(judge, problem, scratch, desk, rank, feature, cut, key, counted):
    """Judge a cut; moments of its sides are in cell_sums, otherwise as `judge_class_cut`."""
    node_rows, left_rows, n_missing = counted
    total, sums = scratch.total, scratch.cell_sums
    asked = (sums[6], total[0])
    is_cut, missing_left, may_be = place_missing(problem, feature, counted, asked, key)
    weight, total_y, second = sums[3], sums[4], sums[5]
    if not is_cut:
        left_rows = node_rows - n_missing
        weight, total_y, second = total[0] - sums[6], total[1] - sums[7], total[2] - sums[8]
    if missing_left:
        left_rows += n_missing
        weight, total_y, second = weight + sums[6], total_y + sums[7], second + sums[8]
    for i in range(9):
        sums[i] = 0.0
    if may_be:
        left, counted = (weight, total_y, second), (node_rows, left_rows, n_missing)
        side, last = int64(missing_left), cut if is_cut else problem.n_codes[feature] - 1
        if judge(problem, scratch, feature, left, counted, side, last, desk, rank):
            note_threshold(problem, desk, rank, feature, cut, is_cut)


def make_class_cut_search(judge: Any, variant: str | None) -> Any:
    """A random cut by class weights; ``judge`` is that of `scan.make_cut_judge`."""

    def search_class_cut(slots, node, feature, rank, desk_at):
        problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
        nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
        desk = load_desk(slots, desk_at)
        first, last = int64(nodes.first[node]), int64(nodes.last[node])
        row, stats = rows.row, rows.stats
        n_classes, anew = scratch.ask.n_totals, scratch.ask.anew
        labels, shift = (scratch.labels, first) if anew else (rows.labels, int64(0))
        low, high, n_missing = code_range(problem, scratch, row, feature, first, last)
        if high < 0 or (n_missing == 0 and low == high):
            return False
        cut = draw_cut(problem, feature, low, high, nodes.key[node])
        sums, zero = scratch.cell_sums, int64(0)
        into = (sums, cut, n_classes, labels, shift, stats)
        left_rows, n_missing = collect_class_sides(
            problem, row, feature, first, last, MISSING_BIN, into, (zero, zero)
        )
        counted = (last - first, left_rows, n_missing)
        judge_class_cut(judge, problem, scratch, desk, rank, feature, cut, nodes.key[node], counted)
        return True

    return step(Search, variant)(search_class_cut)


def make_moment_cut_search(judge: Any, variant: str | None) -> Any:
    """A random cut by the moments of one output; ``judge`` is that of `scan.make_cut_judge`."""

    def search_moment_cut(slots, node, feature, rank, desk_at):
        problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
        nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
        desk = load_desk(slots, desk_at)
        first, last = int64(nodes.first[node]), int64(nodes.last[node])
        row, stats = rows.row, rows.stats
        low, high, n_missing = code_range(problem, scratch, row, feature, first, last)
        if high < 0 or (n_missing == 0 and low == high):
            return False
        cut = draw_cut(problem, feature, low, high, nodes.key[node])
        sums, zero = scratch.cell_sums, int64(0)
        into = (sums, cut, stats)
        left_rows, n_missing = collect_moment_sides(
            problem, row, feature, first, last, MISSING_BIN, into, (zero, zero)
        )
        counted = (last - first, left_rows, n_missing)
        judge_moment_cut(
            judge, problem, scratch, desk, rank, feature, cut, nodes.key[node], counted
        )
        return True

    return step(Search, variant)(search_moment_cut)


# --- all cuts of a node ---------------------------------------------------------------


@inlined
def draw_cuts(problem, nodes, node, scratch, desk):
    """Draw the cut of each number feature that is searched.

    Returns whether one has missing values, and in which blocks of features they all are: a
    bit for every 8 of them.
    """
    missing, blocks = False, uint64(0)
    for place in range(desk.words[WORD_DRAWN]):
        feature = desk.features[place]
        if problem.is_category[feature]:
            continue
        low, high = int64(scratch.low[feature]), int64(scratch.high[feature]) - 1
        missing |= scratch.top[feature] == MISSING_BIN
        blocks |= uint64(1) << uint64(feature // SUM_LANES)
        scratch.cuts[feature] = draw_cut(problem, feature, low, high, nodes.key[node])
    return missing, blocks


@inlined
def has_cut(blocks, lane, n_lanes):
    """Whether one of the features from ``lane`` on has a cut: often none of them is drawn."""
    of_lanes = (uint64(1) << uint64(n_lanes // SUM_LANES)) - uint64(1)
    return (blocks >> uint64(lane // SUM_LANES)) & of_lanes != uint64(0)


@part
def count_sides(problem, scratch, row, labels, shift, first, last, n_classes, missing, blocks):
    """Rows of each class below the cut of each feature, then those that have no value.

    They are in lane_counts, or in lane_rows where they may be more than a lane can count.
    """
    stride, width = problem.row_stride, problem.lane_width
    counts, cuts, known = scratch.lane_counts, scratch.cuts, scratch.known_codes
    n_cells = (1 + int64(missing)) * n_classes * width
    begin = first
    while begin < last:
        page, end = next_piece(problem, row, begin, min(last, begin + MOST_COUNTED))
        by_row, offset = page.by_row, first_row_of(page, stride)
        for lane in range(0, stride, LANES):
            if not has_cut(blocks, lane, LANES):
                continue
            if n_classes == 2:
                table = (by_row, offset, stride)
                count_two_up_to(table, row, begin, end, lane, cuts, labels, shift, counts, width)
            else:
                for j in range(begin, end):
                    start = offset + row[j] * stride + lane
                    at = labels[j - shift] * width + lane
                    count_up_to(by_row, start, cuts, lane, counts, at, uint8(1))
            if missing:
                for j in range(begin, end):
                    start = offset + row[j] * stride + lane
                    at = (n_classes + labels[j - shift]) * width + lane
                    count_above(by_row, start, known, lane, counts, at, uint8(1))
        if last - first > MOST_COUNTED:
            for cell in range(n_cells):
                scratch.lane_rows[cell] += counts[cell]
                counts[cell] = 0
        begin = end
    return n_cells


@inlined
def rows_in_lane(scratch, node_rows, cell):
    """What `count_sides` counted."""
    counted = int64(scratch.lane_counts[cell])
    return scratch.lane_rows[cell] if node_rows > MOST_COUNTED else counted


@inlined
def clear_lanes(scratch, node_rows, n_cells):
    """Leave nothing of what `count_sides` counted."""
    if node_rows > MOST_COUNTED:
        for cell in range(n_cells):
            scratch.lane_rows[cell] = 0
    else:
        for cell in range(n_cells):
            scratch.lane_counts[cell] = 0


def make_class_cuts_search(judge: Any, variant: str | None) -> Any:
    """`make_class_cut_search` for all features of a node whose rows weigh 1 each."""

    def search_class_cuts(slots, node, desk_at):
        problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
        nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
        desk = load_desk(slots, desk_at)
        first, last = int64(nodes.first[node]), int64(nodes.last[node])
        n_classes, anew = scratch.ask.n_totals, scratch.ask.anew
        labels, shift = (scratch.labels, first) if anew else (rows.labels, int64(0))
        width, node_rows, sums = problem.lane_width, last - first, scratch.cell_sums
        missing, blocks = draw_cuts(problem, nodes, node, scratch, desk)
        n_cells = count_sides(
            problem, scratch, rows.row, labels, shift, first, last, n_classes, missing, blocks
        )
        for place in range(desk.words[WORD_DRAWN]):
            feature, rank = desk.features[place], int64(0)
            if problem.is_category[feature]:
                problem.search[feature](slots, node, feature, rank, desk_at)
            else:
                left_rows, n_missing = int64(0), int64(0)
                for k in range(n_classes):
                    count = rows_in_lane(scratch, node_rows, k * width + feature)
                    left_rows += count
                    sums[n_classes + k] = count
                    if missing:
                        cell = (n_classes + k) * width + feature
                        count = rows_in_lane(scratch, node_rows, cell)
                        n_missing += count
                        sums[2 * n_classes + k] = count
                cut, counted = int64(scratch.cuts[feature]), (node_rows, left_rows, n_missing)
                judge_class_cut(
                    judge, problem, scratch, desk, rank, feature, cut, nodes.key[node], counted
                )
            if nothing_better(problem, nodes, node, desk, rank):
                break
        clear_lanes(scratch, node_rows, n_cells)

    return step(SearchTogether, variant)(search_class_cuts)


@part
def sum_sides(problem, scratch, row, stats, first, last, lane, missing):
    """Statistics of the rows below the cuts of 8 features, then of those that have no value."""
    stride, lanes = problem.row_stride, scratch.lane_sums
    for s in range(6 if missing else 3):
        for i in range(SUM_LANES):
            lanes[s * stride + lane + i] = 0.0
    begin = first
    while begin < last:
        page, end = next_piece(problem, row, begin, last)
        table = (page.by_row, first_row_of(page, stride), stride)
        add_up_to(table, row, begin, end, lane, scratch.cuts, stats, lanes, lane)
        if missing:
            known, at = scratch.known_codes, 3 * stride + lane
            add_above(table, row, begin, end, lane, known, stats, lanes, at)
        begin = end


def make_moment_cuts_search(judge: Any, variant: str | None) -> Any:
    """`make_moment_cut_search` for all features of a node whose rows weigh 1 each."""

    def search_moment_cuts(slots, node, desk_at):
        problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
        nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
        desk = load_desk(slots, desk_at)
        first, last = int64(nodes.first[node]), int64(nodes.last[node])
        stride, row, stats = problem.row_stride, rows.row, rows.stats
        sums, lanes = scratch.cell_sums, scratch.lane_sums
        missing, blocks = draw_cuts(problem, nodes, node, scratch, desk)
        for lane in range(0, problem.n_features, SUM_LANES):
            if has_cut(blocks, lane, SUM_LANES):
                sum_sides(problem, scratch, row, stats, first, last, lane, missing)
        for place in range(desk.words[WORD_DRAWN]):
            feature, rank = desk.features[place], int64(0)
            if problem.is_category[feature]:
                problem.search[feature](slots, node, feature, rank, desk_at)
            else:
                for s in range(6 if missing else 3):  # left of the cut, then without a value
                    sums[3 + s] = lanes[s * stride + feature]
                cut = int64(scratch.cuts[feature])
                counted = (last - first, int64(sums[3]), int64(sums[6]))
                judge_moment_cut(
                    judge, problem, scratch, desk, rank, feature, cut, nodes.key[node], counted
                )
            if nothing_better(problem, nodes, node, desk, rank):
                break

    return step(SearchTogether, variant)(search_moment_cuts)

"""Search a number feature whose codes are bins, straight from a histogram of the node.

This is `split.search_number` for the common case: byte codes and sums. There is no list of
keys in between, and the criterion is part of the kernel, so a small node, of which a deep
tree has thousands, costs one call per feature. The splits are the same as those of the
general search.
"""

from __future__ import annotations

import math
from typing import Any

from numba import float64, int64, uint8

from hornbeam.dtypes import MISSING_BIN
from hornbeam.kernels.collect import (
    COPIED_CELLS,
    N_COPIES,
    join_copies,
    make_collector,
    note_all,
    note_code,
)
from hornbeam.kernels.lanes import LANES, count_above
from hornbeam.kernels.pieces import first_row_of, next_piece
from hornbeam.kernels.scan import make_cell_scan
from hornbeam.kernels.split import keep_split, nothing_better
from hornbeam.kernels.state import (
    NODES_AT,
    PROBLEM_AT,
    ROWS_AT,
    SCRATCH_AT,
    WORD_DRAWN,
    FillCells,
    Search,
    SearchTogether,
    load_desk,
    load_nodes,
    load_problem,
    load_rows,
    load_scratch,
)
from hornbeam.kernels.sums import ROW_UNIT, WEIGHT_MASK, SumsByWalk
from hornbeam.runtime.kernel import inlined, part, step

# --- class weights --------------------------------------------------------------------


# The classes of a node are numbered anew where it has few of many (see split.ask_about_node):
# labels are scratch.labels then, and class_start is scratch.class_span.


@inlined
def add_class(into, seen, copy, code, j):
    """Add a row to the cell of its code and class.

    ``unit``: it weighs 1; ``note``: note its code; ``distance`` is that of copies of the cells.
    """
    (words, occupied, n_classes, labels, shift, stats), unit, note, distance = into
    if note:
        note_code(occupied, code)
    cell = copy * distance + code * n_classes + labels[j - shift]
    words[cell] += ROW_UNIT + (1 if unit else int64(stats[j]))
    return seen


@inlined
def weigh_class(into, seen, copy, code, j):
    """Add a row whose weight is not a whole number."""
    (words, occupied, n_classes, labels, shift, stats), sums, note, distance = into
    if note:
        note_code(occupied, code)
    cell = copy * distance + code * n_classes + labels[j - shift]
    words[cell] += ROW_UNIT
    sums[cell] += stats[j]
    return seen


collect_classes = make_collector(add_class, copies=N_COPIES)
collect_weights = make_collector(weigh_class, copies=N_COPIES)


@step(FillCells)
def fill_class_cells(slots, node, feature):
    """Rows and weight of each (code, class); missing values come after the last code."""
    problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
    nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
    first, last = int64(nodes.first[node]), int64(nodes.last[node])
    row, stats, anew = rows.row, rows.stats, scratch.ask.anew
    labels, shift = (scratch.labels, first) if anew else (rows.labels, int64(0))
    n_codes, n_classes = problem.n_codes[feature], scratch.ask.n_totals
    words, occupied = scratch.cell_words, scratch.occupied
    span, unit = (n_codes + 1) * n_classes, problem.weights.unit
    distance = span if N_COPIES * span <= COPIED_CELLS else 0
    cells = (words, occupied, n_classes, labels, shift, stats)
    if not problem.weights.whole:
        note, sums = last - first < span, scratch.cell_sums
        if note:
            distance = 0
        else:
            note_all(occupied, n_codes)
        into = (cells, sums, note, distance)
        collect_weights(problem, row, feature, first, last, n_codes, into, 0)
        if distance > 0:
            join_copies(words, span, distance, N_COPIES)
            join_copies(sums, span, distance, N_COPIES)
    elif last - first < span:
        if unit:  # what is known when this is compiled costs nothing in the loop
            into = (cells, True, True, 0)
            collect_classes(problem, row, feature, first, last, n_codes, into, 0)
        else:
            into = (cells, False, True, 0)
            collect_classes(problem, row, feature, first, last, n_codes, into, 0)
    else:
        note_all(occupied, n_codes)
        if unit:
            into = (cells, True, False, distance)
            collect_classes(problem, row, feature, first, last, n_codes, into, 0)
        else:
            into = (cells, False, False, distance)
            collect_classes(problem, row, feature, first, last, n_codes, into, 0)
        if distance > 0:
            join_copies(words, span, distance, N_COPIES)


@inlined
def fill_classes(slots, problem, rows, scratch, node, feature, first, last):
    """The kernel is a step: searches of categories call it, too."""
    problem.steps.fill(slots, node, feature)


@inlined
def count_missing_classes(problem, scratch, feature):
    """How many rows of the node have no value."""
    n_classes, n_missing = scratch.ask.n_totals, int64(0)
    for k in range(n_classes):
        n_missing += scratch.cell_words[problem.n_codes[feature] * n_classes + k] >> 32
    return n_missing


@inlined
def forget_missing_classes(problem, scratch, feature):
    """Leave nothing in the cells of missing values."""
    n_classes = scratch.ask.n_totals
    for k in range(n_classes):
        scratch.cell_words[problem.n_codes[feature] * n_classes + k] = 0
        scratch.cell_sums[problem.n_codes[feature] * n_classes + k] = 0.0


def _make_bins_search(
    fill: Any, scan: Any, count_missing: Any, forget_missing: Any, variant: str | None
) -> Any:
    """Best cut of a feature: fill its cells, and scan them for both sides of missing values."""

    def search_bins(slots, node, feature, rank, desk_at):
        problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
        nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
        desk = load_desk(slots, desk_at)
        first, last = int64(nodes.first[node]), int64(nodes.last[node])
        fill(slots, problem, rows, scratch, node, feature, first, last)
        n_missing, n_found = count_missing(problem, scratch, feature), 0
        for missing_left in range(1 + (n_missing > 0)):
            clear = n_missing == 0 or missing_left == 1
            score, code, left_rows, n_found = scan(
                problem, scratch, feature, last - first, missing_left, clear
            )
            # a missing value seen later goes with the larger side
            side = missing_left if n_missing > 0 else int64(2 * left_rows > last - first)
            keep_split(desk, rank, feature, score, code, side, math.nan)
        if n_missing > 0:
            forget_missing(problem, scratch, feature)
        return n_found > 0 and n_found + (n_missing > 0) > 1

    return step(Search, variant)(search_bins)


def make_class_bins_search(sums: SumsByWalk, variant: str | None) -> Any:
    """Best cut by class weights; those of two classes, if whole numbers, are kept at hand."""
    assert sums.two_cells is not None
    scan_all, scan_two = (
        make_cell_scan(sums.cells, variant),
        make_cell_scan(sums.two_cells, variant),
    )

    @inlined
    def scan(problem, scratch, feature, node_rows, missing_left, clear):
        if scratch.ask.n_totals == 2 and problem.weights.whole:
            found = scan_two(problem, scratch, feature, node_rows, missing_left, clear)
        else:
            found = scan_all(problem, scratch, feature, node_rows, missing_left, clear)
        return found

    return _make_bins_search(
        fill_classes, scan, count_missing_classes, forget_missing_classes, variant
    )


@inlined
def judge_pair(judge, problem, scratch, desk, rank, feature, node_rows):
    """Judge the one cut of a feature that has two codes; returns whether it varies.

    The cells of the classes hold the rows that have the second code, and are emptied.
    """
    words, total, left = scratch.cell_words, scratch.total, scratch.left
    right_rows = int64(0)
    for k in range(scratch.ask.n_totals):
        left[k] = total[k] - float64(words[k] & WEIGHT_MASK)
        right_rows += words[k] >> 32
        words[k] = 0
    left_rows = node_rows - right_rows
    varies = left_rows > 0 and right_rows > 0
    if varies:
        counted = (node_rows, left_rows, int64(0))
        judge(problem, scratch, feature, left, counted, int64(0), int64(0), desk, rank)
    return varies


@inlined
def add_one(into, largest, copy, code, j):
    """Add a row to its class, unless it has the first code; tells the largest code."""
    words, labels, shift, stats, unit = into
    if code != 0:
        largest = max(largest, code)
        words[labels[j - shift]] += ROW_UNIT + (1 if unit else int64(stats[j]))
    return largest


collect_ones = make_collector(add_one)


def make_class_pair_search(judge: Any, variant: str | None) -> Any:
    """The one cut of a feature that has two codes, by class weights.

    ``judge`` is that of `scan.make_cut_judge`. Most columns of zeros and ones hold few ones: a
    row without one costs a look.
    """

    def search_class_pair(slots, node, feature, rank, desk_at):
        problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
        nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
        first, last = int64(nodes.first[node]), int64(nodes.last[node])
        row, stats, anew, unit = rows.row, rows.stats, scratch.ask.anew, problem.weights.unit
        labels, shift = (scratch.labels, first) if anew else (rows.labels, int64(0))
        words, largest = scratch.cell_words, int64(MISSING_BIN)
        if problem.weights.whole:
            into = (words, labels, shift, stats, unit)
            zero = int64(0)
            largest = collect_ones(problem, row, feature, first, last, MISSING_BIN, into, zero)
        if largest == MISSING_BIN:
            for k in range(scratch.ask.n_totals):
                words[k] = 0
            search = problem.steps.search_number
            return search(slots, node, feature, rank, desk_at)
        desk = load_desk(slots, desk_at)
        return judge_pair(judge, problem, scratch, desk, rank, feature, last - first)

    return step(Search, variant)(search_class_pair)


@inlined
def is_pair(problem, scratch, feature):
    """Whether a feature has two codes, and a value in all rows of the node."""
    return (
        problem.n_codes[feature] == 2
        and not problem.is_category[feature]
        and scratch.top[feature] < MISSING_BIN
    )


@part
def count_ones(problem, scratch, rows, first, last, n_classes):
    """Rows and weight of each (class, feature) whose code is not 0, for all features at once.

    A lane is as wide as a code: it is emptied before what it counts may exceed that. The
    cuts are all 0 here, where none of them is random.
    """
    stride, width = problem.row_stride, problem.lane_width
    anew, row, stats = scratch.ask.anew, rows.row, rows.stats
    labels, shift = (scratch.labels, first) if anew else (rows.labels, int64(0))
    counts, zeros, words = scratch.lane_counts, scratch.cuts, scratch.lane_rows
    weights_at = n_classes * width
    most = problem.weights.lane_rows
    begin = first
    while begin < last:
        page, end = next_piece(problem, row, begin, min(last, begin + most))
        by_row, offset = page.by_row, first_row_of(page, stride)
        for lane in range(0, stride, LANES):
            for j in range(begin, end):
                start = offset + row[j] * stride + lane
                at = labels[j - shift] * width + lane
                count_above(by_row, start, zeros, lane, counts, at, uint8(1))
                weight = uint8(stats[j])
                count_above(by_row, start, zeros, lane, counts, weights_at + at, weight)
        for cell in range(weights_at):
            weight = int64(counts[weights_at + cell])
            words[cell] += (int64(counts[cell]) << 32) + weight
            counts[cell] = 0
            counts[weights_at + cell] = 0
        begin = end


def make_class_pairs_search(judge: Any, variant: str | None) -> Any:
    """Search the features of a node, those that have two codes all at once."""

    def search_class_pairs(slots, node, desk_at):
        problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
        nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
        desk = load_desk(slots, desk_at)
        first, last = int64(nodes.first[node]), int64(nodes.last[node])
        n_classes, width = scratch.ask.n_totals, problem.lane_width
        words, found = scratch.lane_rows, 0
        for place in range(desk.words[WORD_DRAWN]):
            found += is_pair(problem, scratch, desk.features[place])
        together = found > 1
        if together:
            count_ones(problem, scratch, rows, first, last, n_classes)
        for place in range(desk.words[WORD_DRAWN]):
            feature, rank = desk.features[place], int64(0)
            if together and is_pair(problem, scratch, feature):
                for k in range(n_classes):
                    scratch.cell_words[k] = words[k * width + feature]
                judge_pair(judge, problem, scratch, desk, rank, feature, last - first)
            else:
                problem.search[feature](slots, node, feature, rank, desk_at)
            if nothing_better(problem, nodes, node, desk, rank):
                break
        if together:
            for cell in range(n_classes * width):
                words[cell] = 0

    return step(SearchTogether, variant)(search_class_pairs)


# --- moments --------------------------------------------------------------------------


def make_moment_adder(width: int) -> Any:
    """Add a row to the cell of its code, as so many numbers, and note the code."""

    @inlined
    def add_moments(into, seen, copy, code, j):
        cells, occupied, stats = into
        note_code(occupied, code)
        cells[width * code] += 1.0
        for s in range(width - 1):
            cells[width * code + 1 + s] += stats[3 * j + s]
        return seen

    return add_moments


collect_first_moments = make_collector(make_moment_adder(3))
collect_moments = make_collector(make_moment_adder(4))


def make_moment_bins_search(sums: SumsByWalk, width: int, variant: str | None) -> Any:
    """Best cut by the moments of one output.

    A cell has ``width`` numbers: rows, weight, sum and, if the score reads it, second moment.
    """
    collect = collect_first_moments if width == 3 else collect_moments

    @inlined
    def fill(slots, problem, rows, scratch, node, feature, first, last):
        """Missing values come after the last code."""
        into = (scratch.cell_sums, scratch.occupied, rows.stats)
        collect(problem, rows.row, feature, first, last, problem.n_codes[feature], into, 0)

    @inlined
    def count_missing(problem, scratch, feature):
        return int64(scratch.cell_sums[problem.n_codes[feature] * width])

    @inlined
    def forget_missing(problem, scratch, feature):
        for k in range(width):
            scratch.cell_sums[problem.n_codes[feature] * width + k] = 0.0

    scan = make_cell_scan(sums.cells, variant)
    return _make_bins_search(fill, scan, count_missing, forget_missing, variant)

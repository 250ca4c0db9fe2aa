"""Search a number feature whose codes are bins, straight from a histogram of the node.

This is `split.search_number` for the common case: byte codes and sums. There is no list of
keys in between, and the criterion is part of the kernel, so a small node, of which a deep
tree has thousands, costs one call per feature. The splits are the same as those of the
general search.

A cell of class weights is one integer where the weights are whole numbers, as those of a
bootstrap sample are: the rows in its upper half, their weight in the lower one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from numba import float64, int64, uint8, uint64

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
from hornbeam.kernels.scan import keeps_order
from hornbeam.kernels.split import beats, nothing_better
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
from hornbeam.runtime.atomics import trailing_zeros
from hornbeam.runtime.kernel import inlined, part, part_of, step

ROW_UNIT = 1 << 32
WEIGHT_MASK = ROW_UNIT - 1


# --- keeping a split -------------------------------------------------------------------


@inlined
def keep_split(desk, rank, feature, score, cut, missing_left, threshold):
    """Keep a split if it is this thread's best so far."""
    if beats(desk, rank, feature, score):
        desk.best_score[rank] = score
        desk.best_feature[rank] = feature
        desk.best_cut[rank] = cut
        desk.best_missing_left[rank] = missing_left
        desk.best_threshold[rank] = threshold


@inlined
def allows(min_leaf, min_weight, node_rows, left_rows, left_weight, right_weight):
    """Whether both sides of a cut are large enough."""
    fewest = min(left_rows, node_rows - left_rows)
    lightest = min(left_weight, right_weight)
    return fewest >= min_leaf and lightest >= min_weight and lightest > 0.0


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
    """Add a row whose weight is not a whole number, and note its code."""
    (words, occupied, n_classes, labels, shift, stats), sums = into
    note_code(occupied, code)
    cell = code * n_classes + labels[j - shift]
    words[cell] += ROW_UNIT
    sums[cell] += stats[j]
    return seen


collect_classes = make_collector(add_class, copies=N_COPIES)
collect_weights = make_collector(weigh_class)


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
        into = (cells, scratch.cell_sums)
        collect_weights(problem, row, feature, first, last, n_codes, into, 0)
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


def make_class_bins_search(
    score: Callable[..., float], may_beat: Callable[..., bool], variant: str | None
) -> Any:
    """Best cut by class weights; ``score`` as in `scan.make_class_scan`.

    ``may_beat(squares, left_weight, right_weight, best)`` is False where the score cannot be
    above the best one so far, which is cheaper to say than the score.
    """

    def scan_class_cells(
        problem, scratch, feature, node_rows, n_classes, span, missing_left, clear
    ):
        n_codes = problem.n_codes[feature]
        words, sums, occupied = scratch.cell_words, scratch.cell_sums, scratch.occupied
        total, left, right, ask = scratch.total, scratch.left, scratch.right, scratch.ask
        whole, min_leaf = problem.weights.whole, problem.rules.min_leaf
        min_weight, weight = ask.min_weight, ask.weight
        monotone = problem.monotone[feature]
        left_rows, left_weight = int64(0), 0.0
        left_squares, right_squares = 0.0, 0.0
        for k in range(n_classes):
            left[k] = 0.0
            if missing_left:
                cell = n_codes * n_classes + k
                left[k] = float64(words[cell] & WEIGHT_MASK) if whole else sums[cell]
                left_rows += words[cell] >> 32
                left_weight += left[k]
            right[k] = total[k] - left[k]
            left_squares += left[k] * left[k]
            right_squares += right[k] * right[k]
        best, best_code, best_rows, n_found = -math.inf, int64(-1), int64(0), 0
        for word in range((n_codes >> 6) + 1):
            bits = occupied[word]
            if clear:
                occupied[word] = uint64(0)
            while bits != uint64(0):
                code = (word << 6) + trailing_zeros(bits)
                bits &= bits - uint64(1)
                if code >= n_codes:
                    break
                rows_before = left_rows
                for k in range(n_classes):  # empty cells, too: to ask would take longer
                    cell = code * n_classes + k
                    content = words[cell]
                    added = float64(content & WEIGHT_MASK) if whole else sums[cell]
                    if clear:
                        words[cell] = 0
                        if not whole:
                            sums[cell] = 0.0
                    left_rows += content >> 32
                    left_weight += added
                    before = left[k]
                    left[k] = before + added
                    # (a + w)^2 - a^2 and b^2 - (b - w)^2
                    left_squares += added * (2.0 * before + added)
                    right_squares -= added * (2.0 * right[k] - added)
                    right[k] = total[k] - left[k]
                if left_rows == rows_before:
                    continue  # the code does not occur
                n_found += 1
                right_weight = weight - left_weight
                if not allows(
                    min_leaf, min_weight, node_rows, left_rows, left_weight, right_weight
                ):
                    continue
                if monotone != 0 and not keeps_order(
                    monotone,
                    left[n_classes - 1] / left_weight,
                    right[n_classes - 1] / right_weight,
                    ask.lower,
                    ask.upper,
                ):
                    continue
                squares = (left_squares, right_squares) if whole else (-1.0, -1.0)
                if whole and not may_beat(squares, left_weight, right_weight, best):
                    continue
                value = score(left, right, left_weight, right_weight, span, 1, squares)
                if value > best:
                    best, best_code, best_rows = value, code, left_rows
        return best, best_code, best_rows, n_found

    def scan_two_classes(problem, scratch, feature, node_rows, span, missing_left, clear):
        n_codes, words, occupied = problem.n_codes[feature], scratch.cell_words, scratch.occupied
        left, right, ask = scratch.left, scratch.right, scratch.ask
        min_leaf, min_weight = problem.rules.min_leaf, ask.min_weight
        monotone = problem.monotone[feature]
        first_total, second_total = scratch.total[0], scratch.total[1]
        before = int64(0)
        first_left, second_left = 0.0, 0.0
        if missing_left:
            first, second = words[2 * n_codes], words[2 * n_codes + 1]
            before = (first + second) >> 32
            first_left, second_left = float64(first & WEIGHT_MASK), float64(second & WEIGHT_MASK)
        best, best_code, best_rows, n_found = -math.inf, int64(-1), int64(0), 0
        for word in range((n_codes >> 6) + 1):
            bits = occupied[word]
            if clear:
                occupied[word] = uint64(0)
            while bits != uint64(0):
                code = (word << 6) + trailing_zeros(bits)
                bits &= bits - uint64(1)
                if code >= n_codes:
                    break
                first, second = words[2 * code], words[2 * code + 1]
                if clear:
                    words[2 * code], words[2 * code + 1] = 0, 0
                if first + second == 0:
                    continue  # the code does not occur
                n_found += 1
                before += (first + second) >> 32
                first_left += float64(first & WEIGHT_MASK)
                second_left += float64(second & WEIGHT_MASK)
                first_right, second_right = first_total - first_left, second_total - second_left
                left_weight, right_weight = first_left + second_left, first_right + second_right
                squares = (
                    first_left * first_left + second_left * second_left,
                    first_right * first_right + second_right * second_right,
                )
                if not allows(min_leaf, min_weight, node_rows, before, left_weight, right_weight):
                    continue
                if not may_beat(squares, left_weight, right_weight, best):
                    continue
                if monotone != 0 and not keeps_order(
                    monotone,
                    second_left / left_weight,
                    second_right / right_weight,
                    ask.lower,
                    ask.upper,
                ):
                    continue
                left[0], left[1], right[0], right[1] = (
                    first_left,
                    second_left,
                    first_right,
                    second_right,
                )
                value = score(left, right, left_weight, right_weight, span, 1, squares)
                if value > best:
                    best, best_code, best_rows = value, code, before
        return best, best_code, best_rows, n_found

    scan_cells = part_of(scan_class_cells, variant)
    scan_two = part_of(scan_two_classes, variant)

    def search_class_bins(slots, node, feature, rank, desk_at):
        problem, nodes = load_problem(slots, PROBLEM_AT), load_nodes(slots, NODES_AT)
        scratch, desk = load_scratch(slots, SCRATCH_AT), load_desk(slots, desk_at)
        first, last = int64(nodes.first[node]), int64(nodes.last[node])
        n_codes, n_classes = problem.n_codes[feature], scratch.ask.n_totals
        span = scratch.class_span if scratch.ask.anew else problem.class_start
        problem.steps.fill(slots, node, feature)
        missing = int64(0)
        for k in range(n_classes):
            missing += scratch.cell_words[n_codes * n_classes + k] >> 32
        n_found = 0
        for missing_left in range(1 + (missing > 0)):
            clear = missing == 0 or missing_left == 1
            if n_classes == 2 and problem.weights.whole:
                score, code, left_rows, n_found = scan_two(
                    problem, scratch, feature, last - first, span, missing_left, clear
                )
            else:
                score, code, left_rows, n_found = scan_cells(
                    problem, scratch, feature, last - first, n_classes, span, missing_left, clear
                )
            # a missing value seen later goes with the larger side
            side = missing_left if missing > 0 else int64(2 * left_rows > last - first)
            keep_split(desk, rank, feature, score, code, side, math.nan)
        if missing > 0:
            for k in range(n_classes):
                scratch.cell_words[n_codes * n_classes + k] = 0
                scratch.cell_sums[n_codes * n_classes + k] = 0.0
        return n_found > 0 and n_found + (missing > 0) > 1

    return step(Search, variant)(search_class_bins)


def _make_pair_judge(score: Callable[..., float], variant: str | None) -> Any:
    """Score the one cut of a feature that has two codes.

    The cells of the classes hold the rows that have the second code, and are emptied.
    """

    def judge_pair(problem, scratch, desk, rank, feature, node_rows):
        n_classes, words = scratch.ask.n_totals, scratch.cell_words
        span = scratch.class_span if scratch.ask.anew else problem.class_start
        total, left, right, ask = scratch.total, scratch.left, scratch.right, scratch.ask
        right_rows, right_weight = int64(0), 0.0
        left_squares, right_squares = 0.0, 0.0
        for k in range(n_classes):
            right[k] = float64(words[k] & WEIGHT_MASK)
            left[k] = total[k] - right[k]
            right_rows += words[k] >> 32
            right_weight += right[k]
            left_squares += left[k] * left[k]
            right_squares += right[k] * right[k]
            words[k] = 0
        left_rows, left_weight = node_rows - right_rows, ask.weight - right_weight
        if left_rows == 0 or right_rows == 0:
            return False
        min_leaf, min_weight = problem.rules.min_leaf, ask.min_weight
        monotone = problem.monotone[feature]
        if allows(min_leaf, min_weight, node_rows, left_rows, left_weight, right_weight) and (
            monotone == 0
            or keeps_order(
                monotone,
                left[n_classes - 1] / left_weight,
                right[n_classes - 1] / right_weight,
                ask.lower,
                ask.upper,
            )
        ):
            squares = (left_squares, right_squares)
            value = score(left, right, left_weight, right_weight, span, 1, squares)
            side = int64(2 * left_rows > node_rows)
            keep_split(desk, rank, feature, value, int64(0), side, math.nan)
        return True

    return part_of(judge_pair, variant)


@inlined
def add_one(into, largest, copy, code, j):
    """Add a row to its class, unless it has the first code; tells the largest code."""
    words, labels, shift, stats, unit = into
    if code != 0:
        largest = max(largest, code)
        words[labels[j - shift]] += ROW_UNIT + (1 if unit else int64(stats[j]))
    return largest


collect_ones = make_collector(add_one)


def make_class_pair_search(score: Callable[..., float], variant: str | None) -> Any:
    """The one cut of a feature that has two codes, by class weights.

    ``score`` as in `scan.make_class_scan`. Most columns of zeros and ones hold few ones: a
    row without one costs a look.
    """
    judge = _make_pair_judge(score, variant)

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
        return judge(problem, scratch, load_desk(slots, desk_at), rank, feature, last - first)

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


def make_class_pairs_search(score: Callable[..., float], variant: str | None) -> Any:
    """Search the features of a node, those that have two codes all at once."""
    judge = _make_pair_judge(score, variant)

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
                judge(problem, scratch, desk, rank, feature, last - first)
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


def make_moment_bins_search(
    score: Callable[..., float], first_moments: bool, variant: str | None
) -> Any:
    """Best cut by the moments of one output; ``score`` as in `scan.make_moment_scan`.

    With ``first_moments`` the score reads weights and sums only, no second moments. A cell
    is the number of rows, their weight, their sum and, if it is read, the second moment.
    """
    width = 3 if first_moments else 4
    collect = collect_first_moments if first_moments else collect_moments

    def scan_moment_cells(problem, scratch, feature, node_rows, missing_left, clear):
        n_codes, cells, occupied = problem.n_codes[feature], scratch.cell_sums, scratch.occupied
        total, ask = scratch.total, scratch.ask
        total_weight, total_sum, total_second = total[0], total[1], total[2]
        min_leaf, min_weight = problem.rules.min_leaf, ask.min_weight
        monotone = problem.monotone[feature]
        left_rows, left_weight, left_sum, left_second = int64(0), 0.0, 0.0, 0.0
        if missing_left:
            cell = n_codes * width
            left_rows = int64(cells[cell])
            left_weight, left_sum = cells[cell + 1], cells[cell + 2]
            if not first_moments:
                left_second = cells[cell + 3]
        best, best_code, best_rows, n_found = -math.inf, int64(-1), int64(0), 0
        for word in range((n_codes >> 6) + 1):
            bits = occupied[word]
            if clear:
                occupied[word] = uint64(0)
            while bits != uint64(0):
                code = (word << 6) + trailing_zeros(bits)
                bits &= bits - uint64(1)
                if code >= n_codes:
                    break
                cell = code * width
                n_found += 1
                left_rows += int64(cells[cell])
                left_weight += cells[cell + 1]
                left_sum += cells[cell + 2]
                if not first_moments:
                    left_second += cells[cell + 3]
                if clear:
                    cells[cell] = 0.0
                    cells[cell + 1] = 0.0
                    cells[cell + 2] = 0.0
                    if not first_moments:
                        cells[cell + 3] = 0.0
                right_weight = total_weight - left_weight
                if not allows(
                    min_leaf, min_weight, node_rows, left_rows, left_weight, right_weight
                ):
                    continue
                right_sum = total_sum - left_sum
                if monotone != 0 and not keeps_order(
                    monotone,
                    left_sum / left_weight,
                    right_sum / right_weight,
                    ask.lower,
                    ask.upper,
                ):
                    continue
                left = (left_weight, left_sum, left_second)
                right = (right_weight, right_sum, total_second - left_second)
                value = score(left, right, 1)
                if value > best:
                    best, best_code, best_rows = value, code, left_rows
        return best, best_code, best_rows, n_found

    scan_cells = part_of(scan_moment_cells, variant)

    def search_moment_bins(slots, node, feature, rank, desk_at):
        problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
        nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
        desk = load_desk(slots, desk_at)
        first, last = int64(nodes.first[node]), int64(nodes.last[node])
        n_codes = problem.n_codes[feature]
        into = (scratch.cell_sums, scratch.occupied, rows.stats)
        collect(problem, rows.row, feature, first, last, n_codes, into, 0)
        missing_at = n_codes * width
        n_missing = int64(scratch.cell_sums[missing_at])
        n_found = 0
        for missing_left in range(1 + (n_missing > 0)):
            clear = n_missing == 0 or missing_left == 1
            value, code, left_rows, n_found = scan_cells(
                problem, scratch, feature, last - first, missing_left, clear
            )
            # a missing value seen later goes with the larger side
            side = missing_left if n_missing > 0 else int64(2 * left_rows > last - first)
            keep_split(desk, rank, feature, value, code, side, math.nan)
        if n_missing > 0:
            for i in range(width):
                scratch.cell_sums[missing_at + i] = 0.0
        return n_found > 0 and n_found + (n_missing > 0) > 1

    return step(Search, variant)(search_moment_bins)

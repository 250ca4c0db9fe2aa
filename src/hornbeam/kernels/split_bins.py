"""Search a number feature whose codes are bins, straight from a histogram of the node.

This is `split.search_number` and `split_random.search_random_number` for the common case:
byte codes and sums. There is no list of keys in between, and the criterion is part of the
kernel, so a small node, of which a deep tree has thousands, costs one call per feature.
The splits are the same as those of the general search.

A cell of class weights is one integer where the weights are whole numbers, as those of a
bootstrap sample are: the rows in its upper half, their weight in the lower one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from numba import float64, int64, uint64

from hornbeam.dtypes import MISSING_BIN
from hornbeam.kernels.scan import keeps_order
from hornbeam.kernels.split import beats
from hornbeam.kernels.split_random import random_cut
from hornbeam.kernels.state import (
    ASK_ANEW,
    ASK_LOWER,
    ASK_MIN_WEIGHT,
    ASK_N_TOTALS,
    ASK_RANGES,
    ASK_UPPER,
    ASK_WEIGHT,
    MIN_LEAF,
    N_ROWS,
    NODES_AT,
    PROBLEM_AT,
    ROWS_AT,
    SCRATCH_AT,
    SEARCH_NUMBER,
    UNIT_WEIGHTS,
    WHOLE_WEIGHTS,
    load_desk,
    load_nodes,
    load_problem,
    load_rows,
    load_scratch,
)
from hornbeam.runtime.atomics import call_address, trailing_zeros
from hornbeam.runtime.kernel import inlined, part_of, specialise

ROW_UNIT = 1 << 32
WEIGHT_MASK = ROW_UNIT - 1
COPIED_CELLS = 1024
# With missing values a random cut is tried with them on the right, then all known values
# against the missing ones, then the cut with them on the left.
KNOWN_LEFT, MISSING_LEFT = 1, 2


# --- which codes a node has -----------------------------------------------------------


@inlined
def note_all(occupied, n_codes):
    """Note every code: where most of them occur, looking at all is cheaper than noting."""
    for word in range((n_codes >> 6) + 1):
        occupied[word] = ~uint64(0)


@inlined
def code_range(problem, scratch, row, feature, first, last):
    """Smallest and largest code of a node's rows, and whether some rows have none."""
    if scratch.ask[ASK_RANGES]:
        missing = scratch.top[feature] == MISSING_BIN
        return int64(scratch.low[feature]), int64(scratch.high[feature]) - 1, int64(missing)
    bins, offset = problem.bins, feature * problem.whole[N_ROWS]
    low, high = int64(MISSING_BIN), int64(-1)
    n_missing = int64(0)
    for j in range(first, last):
        code = int64(bins[offset + row[j]])
        missing = code == MISSING_BIN
        n_missing += missing
        low = min(low, code)
        high = max(high, int64(-1) if missing else code)
    return low, high, n_missing


@inlined
def goes_first(code, cut, missing_left):
    """1 if a code is on the left side of a cut, else 0; no branch to mispredict."""
    return int64(code <= cut) | (int64(code == MISSING_BIN) & int64(missing_left))


@inlined
def keep_split(desk, rank, feature, score, cut, missing_left, threshold):
    """Keep a split if it is this thread's best so far."""
    if beats(score, feature, desk.best_score[rank], desk.best_feature[rank]):
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
def fill_class_cells(problem, scratch, labels, shift, row, stats, feature, first, last, n_classes):
    """Rows and weight of each (code, class); missing values come after the last code."""
    n_codes, bins = problem.n_codes[feature], problem.bins
    offset, unit = feature * problem.whole[N_ROWS], problem.whole[UNIT_WEIGHTS]
    words, sums, occupied = scratch.cell_words, scratch.cell_sums, scratch.occupied
    span = (n_codes + 1) * n_classes
    if not problem.whole[WHOLE_WEIGHTS]:
        for j in range(first, last):
            code = min(int64(bins[offset + row[j]]), n_codes)
            occupied[code >> 6] |= uint64(1) << uint64(code & 63)
            cell = code * n_classes + labels[j - shift]
            words[cell] += ROW_UNIT
            sums[cell] += stats[j]
    elif span > last - first:  # fewer rows than cells: note the codes that occur
        for j in range(first, last):
            code = min(int64(bins[offset + row[j]]), n_codes)
            occupied[code >> 6] |= uint64(1) << uint64(code & 63)
            cell = code * n_classes + labels[j - shift]
            words[cell] += ROW_UNIT + (1 if unit else int64(stats[j]))
    else:
        # Neighbouring rows often fall into the same cell, and an addition to a cell has to
        # wait for the one before it: few cells are counted in four copies in turn.
        note_all(occupied, n_codes)
        step = span if 4 * span <= COPIED_CELLS else 0
        for j in range(first, last):
            code = min(int64(bins[offset + row[j]]), n_codes)
            cell = (j & 3) * step + code * n_classes + labels[j - shift]
            words[cell] += ROW_UNIT + (1 if unit else int64(stats[j]))
        if step > 0:
            for cell in range(span):
                for copy in range(1, 4):
                    words[cell] += words[copy * step + cell]
                    words[copy * step + cell] = 0


def make_class_bins_search(score: Callable[..., float], variant: str | None) -> Any:
    """Best cut by class weights; ``score`` as in `scan.make_class_scan`."""

    def scan_class_cells(
        problem, scratch, feature, node_rows, n_classes, span, missing_left, clear
    ):
        n_codes = problem.n_codes[feature]
        words, sums, occupied = scratch.cell_words, scratch.cell_sums, scratch.occupied
        total, left, right, real = scratch.total, scratch.left, scratch.right, scratch.real
        whole, min_leaf = problem.whole[WHOLE_WEIGHTS], problem.whole[MIN_LEAF]
        min_weight, weight = real[ASK_MIN_WEIGHT], real[ASK_WEIGHT]
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
                    real[ASK_LOWER],
                    real[ASK_UPPER],
                ):
                    continue
                squares = (left_squares, right_squares) if whole else (-1.0, -1.0)
                value = score(left, right, left_weight, right_weight, span, 1, squares)
                if value > best:
                    best, best_code, best_rows = value, code, left_rows
        return best, best_code, best_rows, n_found

    scan_cells = part_of(scan_class_cells, variant)

    def search_class_bins(slots, node, feature, rank, desk_at):
        problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
        nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
        desk = load_desk(slots, desk_at)
        first, last = int64(nodes.first[node]), int64(nodes.last[node])
        n_codes, n_classes = problem.n_codes[feature], scratch.ask[ASK_N_TOTALS]
        anew, row, stats = scratch.ask[ASK_ANEW], rows.row, rows.stats
        labels, shift = (scratch.labels, first) if anew else (rows.labels, int64(0))
        span = scratch.class_span if anew else problem.class_start
        fill_class_cells(
            problem, scratch, labels, shift, row, stats, feature, first, last, n_classes
        )
        missing = int64(0)
        for k in range(n_classes):
            missing += scratch.cell_words[n_codes * n_classes + k] >> 32
        n_found = 0
        for missing_left in range(1 + (missing > 0)):
            clear = missing == 0 or missing_left == 1
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
        return float64(n_found > 0 and n_found + (missing > 0) > 1)

    return specialise(search_class_bins, variant)


def make_class_pair_search(score: Callable[..., float], variant: str | None) -> Any:
    """The one cut of a feature that has two codes, by class weights.

    ``score`` as in `scan.make_class_scan`. Most columns of zeros and ones hold few ones: a
    row without one costs a look.
    """

    def search_class_pair(slots, node, feature, rank, desk_at):
        problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
        nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
        desk = load_desk(slots, desk_at)
        first, last = int64(nodes.first[node]), int64(nodes.last[node])
        n_classes, anew = scratch.ask[ASK_N_TOTALS], scratch.ask[ASK_ANEW]
        row, stats, bins = rows.row, rows.stats, problem.bins
        labels, shift = (scratch.labels, first) if anew else (rows.labels, int64(0))
        span = scratch.class_span if anew else problem.class_start
        offset, unit = feature * problem.whole[N_ROWS], problem.whole[UNIT_WEIGHTS]
        words, largest = scratch.cell_words, int64(0)
        if problem.whole[WHOLE_WEIGHTS]:
            for j in range(first, last):
                code = int64(bins[offset + row[j]])
                if code != 0:
                    largest = max(largest, code)
                    words[labels[j - shift]] += ROW_UNIT + (1 if unit else int64(stats[j]))
        total, left, right, real = scratch.total, scratch.left, scratch.right, scratch.real
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
        if largest == MISSING_BIN or not problem.whole[WHOLE_WEIGHTS]:
            search = problem.whole[SEARCH_NUMBER]
            return call_address(search, (slots, node, feature, rank, desk_at))
        left_rows, left_weight = last - first - right_rows, real[ASK_WEIGHT] - right_weight
        if left_rows == 0 or right_rows == 0:
            return 0.0
        min_leaf, min_weight = problem.whole[MIN_LEAF], real[ASK_MIN_WEIGHT]
        monotone = problem.monotone[feature]
        if allows(min_leaf, min_weight, last - first, left_rows, left_weight, right_weight) and (
            monotone == 0
            or keeps_order(
                monotone,
                left[n_classes - 1] / left_weight,
                right[n_classes - 1] / right_weight,
                real[ASK_LOWER],
                real[ASK_UPPER],
            )
        ):
            squares = (left_squares, right_squares)
            value = score(left, right, left_weight, right_weight, span, 1, squares)
            side = int64(2 * left_rows > last - first)
            keep_split(desk, rank, feature, value, int64(0), side, math.nan)
        return 1.0

    return specialise(search_class_pair, variant)


def make_class_cut_search(score: Callable[..., float], variant: str | None) -> Any:
    """A random cut by class weights; ``score`` as in `scan.make_class_scan`."""

    def search_class_cut(slots, node, feature, rank, desk_at):
        problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
        nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
        desk = load_desk(slots, desk_at)
        first, last = int64(nodes.first[node]), int64(nodes.last[node])
        bins, row, stats = problem.bins, rows.row, rows.stats
        offset, n_classes = feature * problem.whole[N_ROWS], scratch.ask[ASK_N_TOTALS]
        anew = scratch.ask[ASK_ANEW]
        labels, shift = (scratch.labels, first) if anew else (rows.labels, int64(0))
        span = scratch.class_span if anew else problem.class_start
        total, left, right, real = scratch.total, scratch.left, scratch.right, scratch.real
        sums = scratch.cell_sums
        low, high, n_missing = code_range(problem, scratch, row, feature, first, last)
        if high < 0 or (n_missing == 0 and low == high):
            return 0.0
        threshold, cut = math.inf, high
        if low < high:
            threshold, cut = random_cut(problem, feature, low, high, nodes.key[node])
        for attempt in range(3 if n_missing > 0 else 1):
            limit, missing_left = (high if attempt == KNOWN_LEFT else cut), attempt == MISSING_LEFT
            for k in range(2 * n_classes):
                sums[k] = 0.0
            left_rows = int64(0)
            for j in range(first, last):
                code = int64(bins[offset + row[j]])
                goes_left = goes_first(code, limit, missing_left)
                left_rows += goes_left
                sums[goes_left * n_classes + labels[j - shift]] += stats[j]
            left_weight = 0.0
            left_squares, right_squares = 0.0, 0.0
            for k in range(n_classes):
                left[k] = sums[n_classes + k]
                left_weight += left[k]
                right[k] = total[k] - left[k]
                left_squares += left[k] * left[k]
                right_squares += right[k] * right[k]
                sums[n_classes + k] = 0.0
                sums[k] = 0.0
            right_weight = real[ASK_WEIGHT] - left_weight
            min_leaf, min_weight = problem.whole[MIN_LEAF], real[ASK_MIN_WEIGHT]
            if not allows(min_leaf, min_weight, last - first, left_rows, left_weight, right_weight):
                continue
            monotone = problem.monotone[feature]
            if monotone != 0 and not keeps_order(
                monotone,
                left[n_classes - 1] / left_weight,
                right[n_classes - 1] / right_weight,
                real[ASK_LOWER],
                real[ASK_UPPER],
            ):
                continue
            whole = problem.whole[WHOLE_WEIGHTS]
            squares = (left_squares, right_squares) if whole else (-1.0, -1.0)
            value = score(left, right, left_weight, right_weight, span, 1, squares)
            side = int64(missing_left) if n_missing > 0 else int64(2 * left_rows > last - first)
            keep_split(desk, rank, feature, value, limit, side, threshold)
        return 1.0

    return specialise(search_class_cut, variant)


# --- moments --------------------------------------------------------------------------


def make_moment_bins_search(
    score: Callable[..., float], first_moments: bool, variant: str | None
) -> Any:
    """Best cut by the moments of one output; ``score`` as in `scan.make_moment_scan`.

    With ``first_moments`` the score reads weights and sums only, no second moments. A cell
    is the number of rows, their weight, their sum and, if it is read, the second moment.
    """
    step = 3 if first_moments else 4

    def fill_moment_cells(problem, rows, scratch, feature, first, last):
        """Missing values come after the last code."""
        n_codes, offset = problem.n_codes[feature], feature * problem.whole[N_ROWS]
        bins, row, stats = problem.bins, rows.row, rows.stats
        cells, occupied = scratch.cell_sums, scratch.occupied
        for j in range(first, last):
            code = min(int64(bins[offset + row[j]]), n_codes)
            occupied[code >> 6] |= uint64(1) << uint64(code & 63)
            cells[step * code] += 1.0
            cells[step * code + 1] += stats[3 * j]
            cells[step * code + 2] += stats[3 * j + 1]
            if not first_moments:
                cells[step * code + 3] += stats[3 * j + 2]

    def scan_moment_cells(problem, scratch, feature, node_rows, missing_left, clear):
        n_codes, cells, occupied = problem.n_codes[feature], scratch.cell_sums, scratch.occupied
        total, real = scratch.total, scratch.real
        total_weight, total_sum, total_second = total[0], total[1], total[2]
        min_leaf, min_weight = problem.whole[MIN_LEAF], real[ASK_MIN_WEIGHT]
        monotone = problem.monotone[feature]
        left_rows, left_weight, left_sum, left_second = int64(0), 0.0, 0.0, 0.0
        if missing_left:
            cell = n_codes * step
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
                cell = code * step
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
                    real[ASK_LOWER],
                    real[ASK_UPPER],
                ):
                    continue
                left = (left_weight, left_sum, left_second)
                right = (right_weight, right_sum, total_second - left_second)
                value = score(left, right, 1)
                if value > best:
                    best, best_code, best_rows = value, code, left_rows
        return best, best_code, best_rows, n_found

    fill_cells = part_of(fill_moment_cells, variant)
    scan_cells = part_of(scan_moment_cells, variant)

    def search_moment_bins(slots, node, feature, rank, desk_at):
        problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
        nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
        desk = load_desk(slots, desk_at)
        first, last = int64(nodes.first[node]), int64(nodes.last[node])
        fill_cells(problem, rows, scratch, feature, first, last)
        missing_at = problem.n_codes[feature] * step
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
            for i in range(step):
                scratch.cell_sums[missing_at + i] = 0.0
        return float64(n_found > 0 and n_found + (n_missing > 0) > 1)

    return specialise(search_moment_bins, variant)


def make_moment_cut_search(score: Callable[..., float], variant: str | None) -> Any:
    """A random cut by the moments of one output; ``score`` as in `scan.make_moment_scan`."""

    def search_moment_cut(slots, node, feature, rank, desk_at):
        problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
        nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
        desk = load_desk(slots, desk_at)
        first, last = int64(nodes.first[node]), int64(nodes.last[node])
        bins, row, stats = problem.bins, rows.row, rows.stats
        offset, total, real = feature * problem.whole[N_ROWS], scratch.total, scratch.real
        low, high, n_missing = code_range(problem, scratch, row, feature, first, last)
        if high < 0 or (n_missing == 0 and low == high):
            return 0.0
        threshold, cut = math.inf, high
        if low < high:
            threshold, cut = random_cut(problem, feature, low, high, nodes.key[node])
        for attempt in range(3 if n_missing > 0 else 1):
            limit, missing_left = (high if attempt == KNOWN_LEFT else cut), attempt == MISSING_LEFT
            left_rows = int64(0)
            weight, total_y, second = 0.0, 0.0, 0.0
            for j in range(first, last):
                code = int64(bins[offset + row[j]])
                goes_left = goes_first(code, limit, missing_left)
                left_rows += goes_left
                share = float64(goes_left)  # 1 or 0: a branch would be a coin toss
                weight += share * stats[3 * j]
                total_y += share * stats[3 * j + 1]
                second += share * stats[3 * j + 2]
            left = (weight, total_y, second)
            right = (total[0] - weight, total[1] - total_y, total[2] - second)
            min_leaf, min_weight = problem.whole[MIN_LEAF], real[ASK_MIN_WEIGHT]
            if not allows(min_leaf, min_weight, last - first, left_rows, left[0], right[0]):
                continue
            monotone = problem.monotone[feature]
            if monotone != 0 and not keeps_order(
                monotone,
                left[1] / left[0],
                right[1] / right[0],
                real[ASK_LOWER],
                real[ASK_UPPER],
            ):
                continue
            value = score(left, right, 1)
            side = int64(missing_left) if n_missing > 0 else int64(2 * left_rows > last - first)
            keep_split(desk, rank, feature, value, limit, side, threshold)
        return 1.0

    return specialise(search_moment_cut, variant)

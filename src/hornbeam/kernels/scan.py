"""Walk along the places where a node can be cut, and score every one of them.

A scan is a walk (along ordered keys, along cells, or to one cut that was drawn) times what is
summed (class weights, moments, order statistics, see kernels/sums.py) times a criterion. What is
summed and the criterion are small functions that are compiled into the walk.
Growing calls a scan by its address, so a user's own criterion runs at the speed of a
built-in one and nothing else is compiled again.

Scores are only compared within a node, larger is better. A scan returns the best score
(minus infinity if no cut is allowed) and leaves the place in ``ask``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from numba import float64, int64, uint64

from hornbeam.dtypes import EPSILON
from hornbeam.kernels.order import ENTRY_MASK
from hornbeam.kernels.split import keep_split
from hornbeam.kernels.state import (
    Scan,
    Summarise,
)
from hornbeam.kernels.sums import Sums
from hornbeam.runtime.atomics import trailing_zeros
from hornbeam.runtime.kernel import inlined, part, part_of, step


@inlined
def allows(min_leaf, min_weight, node_rows, left_rows, left_weight, right_weight):
    """Whether both sides of a cut are large enough."""
    fewest = min(left_rows, node_rows - left_rows)
    lightest = min(left_weight, right_weight)
    return fewest >= min_leaf and lightest >= min_weight and lightest > 0.0


@part
def keeps_order(direction, left_value, right_value, lower, upper):
    """Whether two child values respect a monotone direction and the node's bounds."""
    inside = lower <= left_value <= upper and lower <= right_value <= upper
    return inside and (left_value - right_value) * direction <= 0


def make_key_scan(sums: Sums, variant: str | None) -> Any:
    """Walk along the keys of a node: cuts lie between different codes."""
    open_sides, add, weigh, values, judge, _ = sums

    def scan_keys(keys, labels, stats, rows, class_start, total, start, left, right, order, ask):
        entries, sides, seen = open_sides(
            labels, stats, class_start, total, start, left, right, order, ask, keys
        )
        n_keys, node_rows, left_rows = ask.n_keys, ask.n_rows, ask.start_rows
        min_leaf, min_weight = ask.min_leaf, ask.min_weight
        cells, monotone, best = ask.cells, ask.monotone, -math.inf
        for place in range(n_keys):
            entry = int64(keys[place] & uint64(ENTRY_MASK))
            left_rows += rows[entry] if cells else 1
            seen = add(entries, sides, seen, entry)
            if place + 1 < n_keys and keys[place] >> uint64(32) == keys[place + 1] >> uint64(32):
                continue  # equal codes stay together
            weights = weigh(sides, seen)
            if left_rows < min_leaf or weights[0] < min_weight or weights[0] <= 0.0:
                continue
            if node_rows - left_rows < min_leaf or weights[1] < min_weight or weights[1] <= 0.0:
                break
            if monotone != 0:
                low, high = values(sides, seen, weights)
                if not keeps_order(monotone, low, high, ask.lower, ask.upper):
                    continue
            value = judge(sides, seen, weights)
            if value > best:
                best = value
                ask.best_key = place
                ask.best_rows = left_rows
        return best

    return step(Scan, variant)(scan_keys)


def make_cell_scan(sums: Sums, variant: str | None) -> Any:
    """Walk along the cells of the codes that a node has, of a histogram for bytes.

    Returns the best score, the last code on the left and the rows there, and how many codes
    there are. With ``clear`` the cells are left empty, but for that of missing values.
    """
    open_sides, add, weigh, values, judge, may_beat = sums

    def scan_cells(problem, scratch, feature, node_rows, missing_left, clear):
        cells, sides, seen, left_rows = open_sides(problem, scratch, feature, missing_left)
        n_codes, occupied, ask = problem.n_codes[feature], scratch.occupied, scratch.ask
        min_leaf, min_weight = problem.rules.min_leaf, ask.min_weight
        monotone = problem.monotone[feature]
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
                seen, left_rows = add(cells, sides, seen, left_rows, code, clear)
                if left_rows == rows_before:
                    continue  # the code does not occur
                n_found += 1
                weights = weigh(sides, seen)
                if not allows(min_leaf, min_weight, node_rows, left_rows, weights[0], weights[1]):
                    continue
                if not may_beat(sides, seen, weights, best):
                    continue
                if monotone != 0:
                    low, high = values(sides, seen, weights)
                    if not keeps_order(monotone, low, high, ask.lower, ask.upper):
                        continue
                value = judge(sides, seen, weights)
                if value > best:
                    best, best_code, best_rows = value, code, left_rows
        return best, best_code, best_rows, n_found

    return part_of(scan_cells, variant)


def make_cut_judge(sums: Sums, variant: str | None) -> Any:
    """Keep the one cut that is drawn, or one split of categories, if it is the best so far.

    ``left`` is what the left side sums to, ``counted`` are the rows of the node, on the left and
    without a value; with some of these ``missing_left`` says where they are. Returns whether it
    is the best; its threshold is not known here.
    """
    open_sides, _, weigh, values, judge, _ = sums

    def judge_cut(problem, scratch, feature, left, counted, missing_left, cut, desk, rank):
        node_rows, left_rows, n_missing = counted
        ask, monotone = scratch.ask, problem.monotone[feature]
        sides, seen = open_sides(problem, scratch, left)
        weights = weigh(sides, seen)
        min_leaf, min_weight = problem.rules.min_leaf, ask.min_weight
        if not allows(min_leaf, min_weight, node_rows, left_rows, weights[0], weights[1]):
            return False
        if monotone != 0:
            low, high = values(sides, seen, weights)
            if not keeps_order(monotone, low, high, ask.lower, ask.upper):
                return False
        # a missing value seen later goes with the larger side
        side = missing_left if n_missing > 0 else int64(2 * left_rows > node_rows)
        value = judge(sides, seen, weights)
        return keep_split(desk, rank, feature, value, cut, side, math.nan)

    return part_of(judge_cut, variant)


def make_class_summary(impurity: Callable[..., float], variant: str | None) -> Any:
    """Class weights of a node's rows, and the mean of its outputs' impurities.

    Without rows ``total`` holds the class weights of the one output already.
    """

    def sum_classes(labels, stats, class_start, total, order, ask):
        n_labels = ask.n_labels
        n_classes = ask.n_totals
        first, last = ask.first, ask.last
        weight = 0.0
        for k in range(n_classes):
            if first < last:
                total[k] = 0.0
            weight += total[k]
        if ask.unit_weights and n_labels == 1 and n_classes == 2:
            second = int64(0)
            for j in range(first, last):  # many rows at a time: no sum waits for another
                second += labels[j]
            total[0] += float64(last - first - second)
            total[1] += float64(second)
            weight += float64(last - first)
        else:
            for j in range(first, last):
                weight += stats[j]
                for output in range(n_labels):
                    total[labels[j * n_labels + output]] += stats[j]
        ask.summed_weight = weight
        return impurity(total, weight, class_start, n_labels)

    return step(Summarise, variant)(sum_classes)


def make_moment_summary(impurity: Callable[..., float], variant: str | None) -> Any:
    """Moments of a node's rows, and the mean of its outputs' impurities.

    Without rows ``total`` holds the moments already.
    """

    def sum_moments(labels, stats, class_start, total, order, ask):
        n_stats, n_outputs = ask.n_stats, ask.n_outputs
        first, last = ask.first, ask.last
        if first == last:
            ask.summed_weight = total[0]
            return impurity(total, n_outputs)
        if n_stats == 3:
            weight, sum_, second = 0.0, 0.0, 0.0
            for j in range(first, last):
                weight += stats[3 * j]
                sum_ += stats[3 * j + 1]
                second += stats[3 * j + 2]
            total[0], total[1], total[2] = weight, sum_, second
        else:
            for s in range(n_stats):
                total[s] = 0.0
            for j in range(first, last):
                for s in range(n_stats):
                    total[s] += stats[j * n_stats + s]
        pure, j = True, first
        while pure and j < last:
            for s in range(1, 1 + n_outputs):  # w_j y_j / w_j against the first row's
                here = stats[j * n_stats + s] * stats[first * n_stats]
                there = stats[first * n_stats + s] * stats[j * n_stats]
                pure = pure and abs(here - there) <= 4.0 * EPSILON * abs(there)
            j += 1
        ask.summed_weight = total[0]
        # sums of equal values carry rounding errors that look like an impurity
        return 0.0 if pure else impurity(total, n_outputs)

    return step(Summarise, variant)(sum_moments)

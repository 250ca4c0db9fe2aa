"""Walk along the ordered entries of a node and score every place where it can be cut.

A scan is what is summed (class weights, moments, order statistics) times a criterion.
The criterion is a small function that is compiled into the scan: `make_class_scan(gini)`.
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
from hornbeam.kernels.state import (
    Scan,
    Summarise,
)
from hornbeam.runtime.kernel import part, step


@part
def keeps_order(direction, left_value, right_value, lower, upper):
    """Whether two child values respect a monotone direction and the node's bounds."""
    inside = lower <= left_value <= upper and lower <= right_value <= upper
    return inside and (left_value - right_value) * direction <= 0


def make_class_scan(score: Callable[..., float], variant: str | None) -> Any:
    """Scan of class weights.

    ``score(left, right, left_weight, right_weight, class_start, n_outputs, squares)``
    judges a cut; ``squares`` are the sums of the squared class weights of both sides where
    they are known without rounding errors (the weights are whole numbers), else negative.
    """

    def scan_classes(keys, labels, stats, rows, class_start, total, start, left, right, order, ask):
        n_classes = ask.n_totals
        for k in range(n_classes):
            left[k] = start[k]
        n_keys, n_labels = ask.n_keys, ask.n_labels
        left_rows, node_rows = ask.start_rows, ask.n_rows
        left_weight, weight = ask.start_weight, ask.weight
        min_leaf, min_weight = ask.min_leaf, ask.min_weight
        cells, monotone = ask.cells, ask.monotone
        best = -math.inf
        left_squares, right_squares = 0.0, 0.0
        for k in range(n_classes):
            right[k] = total[k] - left[k]
            left_squares += left[k] * left[k]
            right_squares += right[k] * right[k]
        whole_weights = ask.whole_weights and n_labels == 1
        for place in range(n_keys):
            entry = int64(keys[place] & uint64(ENTRY_MASK))
            entry_weight = stats[entry]
            left_weight += entry_weight
            left_rows += rows[entry] if cells else 1
            for output in range(n_labels):
                label = labels[entry * n_labels + output]
                before = left[label]
                left[label] = before + entry_weight
                # (a + w)^2 - a^2 and b^2 - (b - w)^2
                left_squares += entry_weight * (2.0 * before + entry_weight)
                right_squares -= entry_weight * (2.0 * right[label] - entry_weight)
                right[label] = total[label] - left[label]
            if place + 1 < n_keys and keys[place] >> uint64(32) == keys[place + 1] >> uint64(32):
                continue  # equal codes stay together
            right_weight = weight - left_weight
            if left_rows < min_leaf or left_weight < min_weight or left_weight <= 0.0:
                continue
            if node_rows - left_rows < min_leaf or right_weight < min_weight:
                break
            if right_weight <= 0.0:
                break
            if monotone != 0 and not keeps_order(
                monotone,
                left[n_classes - 1] / left_weight,
                right[n_classes - 1] / right_weight,
                ask.lower,
                ask.upper,
            ):
                continue
            squares = (left_squares, right_squares) if whole_weights else (-1.0, -1.0)
            value = score(left, right, left_weight, right_weight, class_start, n_labels, squares)
            if value > best:
                best = value
                ask.best_key = place
                ask.best_rows = left_rows
        return best

    return step(Scan, variant)(scan_classes)


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


def make_moment_scan(score: Callable[..., float], variant: str | None) -> Any:
    """Scan of moments (weight, sums, sums of squares); ``score(left, right, n_outputs)``."""

    def scan_moments(keys, labels, stats, rows, class_start, total, start, left, right, order, ask):
        n_keys, n_stats, n_outputs = ask.n_keys, ask.n_stats, ask.n_outputs
        for s in range(n_stats):
            left[s] = start[s]
        left_rows, node_rows = ask.start_rows, ask.n_rows
        min_leaf, min_weight = ask.min_leaf, ask.min_weight
        cells, monotone = ask.cells, ask.monotone
        best = -math.inf
        for place in range(n_keys):
            entry = int64(keys[place] & uint64(ENTRY_MASK))
            left_rows += rows[entry] if cells else 1
            for s in range(n_stats):
                left[s] += stats[entry * n_stats + s]
            if place + 1 < n_keys and keys[place] >> uint64(32) == keys[place + 1] >> uint64(32):
                continue  # equal codes stay together
            right[0] = total[0] - left[0]
            if left_rows < min_leaf or left[0] < min_weight or left[0] <= 0.0:
                continue
            if node_rows - left_rows < min_leaf or right[0] < min_weight or right[0] <= 0.0:
                break
            for s in range(1, n_stats):
                right[s] = total[s] - left[s]
            if monotone != 0 and not keeps_order(
                monotone,
                left[1] / left[0],
                right[1] / right[0],
                ask.lower,
                ask.upper,
            ):
                continue
            value = score(left, right, n_outputs)
            if value > best:
                best = value
                ask.best_key = place
                ask.best_rows = left_rows
        return best

    return step(Scan, variant)(scan_moments)


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

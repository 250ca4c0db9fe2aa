"""Scan and summary for the absolute error: medians instead of sums.

Entries are single rows with the statistics (weight, y of each output). The loss of a side,
sum of w |y - median|, comes from a Fenwick tree over the ranks of y: adding a row and
finding the weighted median both take log(n) steps, so a feature costs n log(n).

The array ``order`` is cut into blocks of one value per row of the node.
"""

from __future__ import annotations

from numba import int64, uint64

from hornbeam.kernels.order import ENTRY_MASK
from hornbeam.kernels.scan import make_key_scan
from hornbeam.kernels.state import Summarise
from hornbeam.kernels.sums import Sums
from hornbeam.runtime.kernel import inlined, part, step

# Blocks of ``order``.
VALUES, ITEMS, SPARE, RANKS, TREE_WEIGHT, TREE_SUM, LOSS, LEFT_MEDIAN, RIGHT_MEDIAN = range(9)
ORDER_BLOCKS = 9


@part
def sort_values(order, count):
    """Sort ITEMS by VALUES (stable merge sort) and write each item's rank to RANKS."""
    items, spare, values = ITEMS * count, SPARE * count, VALUES * count
    for i in range(count):
        order[items + i] = i
    width = 1
    while width < count:
        start = 0
        while start < count:
            middle = min(start + width, count)
            end = min(start + 2 * width, count)
            i, j = start, middle
            for place in range(start, end):
                take_left = i < middle and (
                    j >= end
                    or order[values + int64(order[items + i])]
                    <= order[values + int64(order[items + j])]
                )
                if take_left:
                    order[spare + place] = order[items + i]
                    i += 1
                else:
                    order[spare + place] = order[items + j]
                    j += 1
            start = end
        for i in range(count):
            order[items + i] = order[spare + i]
        width *= 2
    for i in range(count):
        order[RANKS * count + int64(order[items + i])] = i


@part
def add_row(order, count, item, weight):
    """Add a row to the Fenwick tree."""
    index = int64(order[RANKS * count + item])
    amount = weight * order[VALUES * count + item]
    while index < count:
        order[TREE_WEIGHT * count + index] += weight
        order[TREE_SUM * count + index] += amount
        index |= index + 1


@part
def find_median(order, count, weight, upper):
    """The smallest value of the Fenwick tree's rows up to which half of their weight lies.

    With ``upper``: up to which more than half of it lies. Returns the weight and the sum of
    the rows before it, too.
    """
    step = 1
    while step * 2 <= count:
        step *= 2
    below = 0  # ranks whose cumulated weight is less than half
    weight_below = 0.0
    sum_below = 0.0
    while step > 0:
        index = below + step - 1
        if index < count:
            heavier = weight_below + order[TREE_WEIGHT * count + index]
            if heavier < 0.5 * weight or (upper and heavier == 0.5 * weight):
                weight_below = heavier
                sum_below += order[TREE_SUM * count + index]
                below += step
        step //= 2
    below = min(below, count - 1)
    return order[VALUES * count + int64(order[ITEMS * count + below])], weight_below, sum_below


@part
def median_and_loss(order, count, weight, total, bounded):
    """Weighted median of the rows in the Fenwick tree, and their loss around it.

    Between two rows any value has the same loss. What a leaf predicts, and what is bounded,
    is their middle, as in `sum_order`.
    """
    median, weight_below, sum_below = find_median(order, count, weight, False)
    loss = median * weight_below - sum_below
    loss += (total - sum_below) - median * (weight - weight_below)
    if bounded:
        upper, weight_below, sum_below = find_median(order, count, weight, True)
        median = 0.5 * median + 0.5 * upper
    return median, loss


@part
def clear_tree(order, count):
    """Empty the Fenwick tree."""
    for i in range(count):
        order[TREE_WEIGHT * count + i] = 0.0
        order[TREE_SUM * count + i] = 0.0


@part
def add_losses(keys, stats, order, n_keys, count, n_stats, first, last, step, early, side, bounded):
    """Walk keys ``first`` to ``last`` and add, at every cut, the loss of the rows behind.

    ``early``: the missing rows (keys from n_keys on) are behind from the start. ``bounded``:
    the medians are asked for, too.
    """
    clear_tree(order, count)
    weight = 0.0
    total = 0.0
    if early:
        for i in range(n_keys, count):
            row_weight = stats[int64(keys[i] & uint64(ENTRY_MASK)) * n_stats]
            add_row(order, count, i, row_weight)
            weight += row_weight
            total += row_weight * order[VALUES * count + i]
    for place in range(first, last, step):
        if side == RIGHT_MEDIAN and weight > 0.0:
            median, loss = median_and_loss(order, count, weight, total, bounded)
            order[LOSS * count + place] += loss
            order[RIGHT_MEDIAN * count + place] = median
        row_weight = stats[int64(keys[place] & uint64(ENTRY_MASK)) * n_stats]
        add_row(order, count, place, row_weight)
        weight += row_weight
        total += row_weight * order[VALUES * count + place]
        if side == LEFT_MEDIAN:
            median, loss = median_and_loss(order, count, weight, total, bounded)
            order[LOSS * count + place] += loss
            order[LEFT_MEDIAN * count + place] = median


@inlined
def open_order(labels, stats, class_start, total, start, left, right, order, ask, keys):
    """Find the loss of both sides at every place; the weight on the left and the place are seen."""
    n_keys, count = ask.n_keys, ask.n_rows
    n_stats, n_outputs = ask.n_stats, ask.n_outputs
    missing_left, bounded = ask.start_rows > 0, ask.monotone != 0
    for place in range(n_keys):
        order[LOSS * count + place] = 0.0
    for reverse in range(n_outputs):
        output = n_outputs - 1 - reverse  # output 0 last: its medians stay for the constraint
        for i in range(count):
            entry = int64(keys[i] & uint64(ENTRY_MASK))
            order[VALUES * count + i] = stats[entry * n_stats + 1 + output]
        sort_values(order, count)
        add_losses(
            keys, stats, order, n_keys, count, n_stats,
            0, n_keys, 1, missing_left, LEFT_MEDIAN, bounded,
        )  # fmt: skip
        add_losses(
            keys, stats, order, n_keys, count, n_stats,
            n_keys - 1, -1, -1, not missing_left, RIGHT_MEDIAN, bounded,
        )  # fmt: skip
    return (stats, n_stats), (order, count, ask.weight), (ask.start_weight, int64(-1))


@inlined
def add_to_order(entries, sides, seen, entry):
    """Only the weight is summed."""
    stats, n_stats = entries
    return seen[0] + stats[entry * n_stats], seen[1] + 1


@inlined
def weigh_order(sides, seen):
    """What is not on the left is on the right."""
    return seen[0], sides[2] - seen[0]


@inlined
def medians(sides, seen, weights):
    """Those of both sides."""
    order, count, _ = sides
    return order[LEFT_MEDIAN * count + seen[1]], order[RIGHT_MEDIAN * count + seen[1]]


@inlined
def judge_order(sides, seen, weights):
    """Minus the loss."""
    order, count, _ = sides
    return -order[LOSS * count + seen[1]]


order_sums = Sums(open_order, add_to_order, weigh_order, medians, judge_order)
scan_order = make_key_scan(order_sums, "order statistics")


@step(Summarise)
def sum_order(labels, stats, class_start, total, order, ask):
    """Medians of a node's rows, and the mean absolute error around them."""
    first, count = ask.first, ask.last - ask.first
    n_stats, n_outputs = ask.n_stats, ask.n_outputs
    weight = 0.0
    for j in range(count):
        weight += stats[(first + j) * n_stats]
    total[0] = weight
    ask.summed_weight = weight
    loss = 0.0
    for output in range(n_outputs):
        for j in range(count):
            order[VALUES * count + j] = stats[(first + j) * n_stats + 1 + output]
        sort_values(order, count)
        below = 0.0
        median = 0.0
        for i in range(count):
            item = int64(order[ITEMS * count + i])
            below += stats[(first + item) * n_stats]
            if below >= 0.5 * weight:
                median = order[VALUES * count + item]
                if below == 0.5 * weight and i + 1 < count:  # between two rows: their middle
                    item = int64(order[ITEMS * count + i + 1])
                    median = 0.5 * median + 0.5 * order[VALUES * count + item]
                break
        total[1 + output] = median
        for j in range(count):
            loss += stats[(first + j) * n_stats] * abs(order[VALUES * count + j] - median)
    return loss / (weight * n_outputs)

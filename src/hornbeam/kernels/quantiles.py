"""Summaries of weighted values: what the weighted quantile sketch is made of.

A summary (source 002, appendix A) is a table of four rows, ascending by value::

    VALUE   some of the values
    BELOW   at least so much weight lies below the value   (r-)
    WEIGHT  at least so much lies on it                    (w)
    UP_TO   at most so much lies up to it, with it         (r+)

Between two neighbours the weight below is at least BELOW + WEIGHT of the left one, and at most
UP_TO - WEIGHT of the right one.
"""

from __future__ import annotations

from hornbeam.dtypes import Array
from hornbeam.runtime.kernel import kernel

VALUE, BELOW, WEIGHT, UP_TO = range(4)


@kernel
def summarise_sorted(values: Array, weights: Array, out: Array) -> int:
    """Summarise ascending values exactly; returns how many distinct ones have a weight."""
    count, below = 0, 0.0
    for i in range(values.size):
        if weights[i] <= 0.0:
            continue
        if count == 0 or values[i] != out[VALUE, count - 1]:
            out[VALUE, count] = values[i]
            out[BELOW, count] = below
            out[WEIGHT, count] = 0.0
            count += 1
        below += weights[i]
        out[WEIGHT, count - 1] += weights[i]
        out[UP_TO, count - 1] = below
    return count


@kernel
def merge_summaries(one: Array, other: Array, out: Array) -> int:
    """Merge two summaries (equations 10 to 14); returns how many values the result has.

    A value that only one of them holds lies between two neighbours of the other.
    """
    i, j, count = 0, 0, 0
    n_one, n_other = one.shape[1], other.shape[1]
    while i < n_one or j < n_other:
        take_one = j == n_other or (i < n_one and one[VALUE, i] <= other[VALUE, j])
        take_other = i == n_one or (j < n_other and other[VALUE, j] <= one[VALUE, i])
        below, weight, up_to = 0.0, 0.0, 0.0
        value = one[VALUE, i] if take_one else other[VALUE, j]
        if take_one:
            below, weight, up_to = one[BELOW, i], one[WEIGHT, i], one[UP_TO, i]
        else:
            if i > 0:
                below = one[BELOW, i - 1] + one[WEIGHT, i - 1]
            if i < n_one:
                up_to = one[UP_TO, i] - one[WEIGHT, i]
            elif n_one > 0:
                up_to = one[UP_TO, n_one - 1]
        if take_other:
            below += other[BELOW, j]
            weight += other[WEIGHT, j]
            up_to += other[UP_TO, j]
        else:
            if j > 0:
                below += other[BELOW, j - 1] + other[WEIGHT, j - 1]
            if j < n_other:
                up_to += other[UP_TO, j] - other[WEIGHT, j]
            elif n_other > 0:
                up_to += other[UP_TO, n_other - 1]
        out[VALUE, count] = value
        out[BELOW, count] = below
        out[WEIGHT, count] = weight
        out[UP_TO, count] = up_to
        count += 1
        i += take_one
        j += take_other
    return count


@kernel
def prune_summary(summary: Array, n_steps: int, out: Array) -> int:
    """Keep the values nearest to ``n_steps + 1`` even ranks, the two ends among them.

    The query of each rank is equation 17. Returns how many values are kept.
    """
    last, count, i = summary.shape[1] - 1, 0, 0
    total = summary[UP_TO, last]
    taken = -1
    for step in range(n_steps + 1):
        rank = total * (step / n_steps)
        # the last value whose middle rank is not beyond the one that is looked for
        while i < last and summary[BELOW, i + 1] + summary[UP_TO, i + 1] <= 2.0 * rank:
            i += 1
        chosen = i
        if i < last and 2.0 * rank >= summary[BELOW, i] + summary[UP_TO, i]:
            between = summary[BELOW, i] + summary[WEIGHT, i]
            between += summary[UP_TO, i + 1] - summary[WEIGHT, i + 1]
            if 2.0 * rank >= between:
                chosen = i + 1
        if step == 0:
            chosen = 0
        if step == n_steps:
            chosen = last
        if chosen > taken:
            for row in range(4):
                out[row, count] = summary[row, chosen]
            count += 1
            taken = chosen
    return count

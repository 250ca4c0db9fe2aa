"""What a criterion sums of the two sides of a cut, and how it judges them.

A scan (kernels/scan.py) is a walk along the places where a node can be cut, times what is summed
of its sides: class weights, moments, or order statistics (kernels/order_statistics.py), times a
criterion's score. What is summed is said by a few functions, `Sums`, that become part of the
walk when it is compiled:

- ``open`` puts on the left what is there before the walk starts, and says what the others need;
- ``add`` brings an entry, or the cell of a code, to the left side;
- ``weigh`` tells the weights of both sides, ``values`` what they predict (for constraints);
- ``may_beat`` is False where the score cannot be above the best one so far, which is cheaper
  to say than the score, and ``judge`` is the score.

``sides`` are arrays and numbers that stay the same, ``seen`` are sums that are kept at hand.

Sums of squares are those of the class weights of both sides. They are asked for where the
weights are whole numbers, so that they are not rounded; otherwise a score gets -1 for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from numba import float64, int64

from hornbeam.runtime.kernel import inlined

# A cell of class weights is one integer where the weights are whole numbers, as those of a
# bootstrap sample are: the rows in its upper half, their weight in the lower one.
ROW_UNIT = 1 << 32
WEIGHT_MASK = ROW_UNIT - 1


@inlined
def may_always(sides, seen, weights, best):
    """Any cut may be the best."""
    return True


class Sums(NamedTuple):
    """What is summed along a walk."""

    open: Callable[..., Any]
    add: Callable[..., Any] | None  # there is nothing to add to a cut that is drawn
    weigh: Callable[..., Any]
    values: Callable[..., Any]
    judge: Callable[..., Any]
    may_beat: Callable[..., Any] = may_always


class SumsByWalk(NamedTuple):
    """What a criterion sums along each kind of walk."""

    entries: Sums
    cells: Sums
    cut: Sums
    two_cells: Sums | None = None  # where there are two classes


# --- class weights ------------------------------------------------------------------------


@inlined
def open_class_entries(labels, stats, class_start, total, start, left, right, order, ask, keys):
    """Class weights in arrays, their squares and the weight of the left side at hand."""
    n_classes, n_labels = ask.n_totals, ask.n_labels
    left_squares, right_squares = 0.0, 0.0
    for k in range(n_classes):
        left[k] = start[k]
        right[k] = total[k] - left[k]
        left_squares += left[k] * left[k]
        right_squares += right[k] * right[k]
    whole = ask.whole_weights and n_labels == 1
    sides = (left, right, total, n_classes, class_start, n_labels, whole, ask.weight)
    return (labels, stats), sides, (ask.start_weight, left_squares, right_squares)


@inlined
def move_class(sides, seen, label, weight):
    """Bring some weight of a class to the left side."""
    left, right, total = sides[0], sides[1], sides[2]
    before = left[label]
    left[label] = before + weight
    # (a + w)^2 - a^2 and b^2 - (b - w)^2
    left_squares = seen[1] + weight * (2.0 * before + weight)
    right_squares = seen[2] - weight * (2.0 * right[label] - weight)
    right[label] = total[label] - left[label]
    return seen[0], left_squares, right_squares


@inlined
def add_class_entry(entries, sides, seen, entry):
    """An entry has a weight, and a label for each output."""
    labels, stats = entries
    n_labels = sides[5]
    seen = (seen[0] + stats[entry], seen[1], seen[2])
    for output in range(n_labels):
        seen = move_class(sides, seen, labels[entry * n_labels + output], stats[entry])
    return seen


@inlined
def open_class_cells(problem, scratch, feature, missing_left):
    """The cells of missing values are on the left first, if so asked; tells their rows, too."""
    words, sums, n_classes = scratch.cell_words, scratch.cell_sums, scratch.ask.n_totals
    total, left, right, whole = scratch.total, scratch.left, scratch.right, problem.weights.whole
    left_rows, weight, left_squares, right_squares = int64(0), 0.0, 0.0, 0.0
    for k in range(n_classes):
        left[k] = 0.0
        if missing_left:
            cell = problem.n_codes[feature] * n_classes + k
            left[k] = float64(words[cell] & WEIGHT_MASK) if whole else sums[cell]
            left_rows += words[cell] >> 32
            weight += left[k]
        right[k] = total[k] - left[k]
        left_squares += left[k] * left[k]
        right_squares += right[k] * right[k]
    span = scratch.class_span if scratch.ask.anew else problem.class_start
    sides = (left, right, total, n_classes, span, 1, whole, scratch.ask.weight)
    return (words, sums), sides, (weight, left_squares, right_squares), left_rows


@inlined
def add_class_cell(cells, sides, seen, left_rows, code, clear):
    """Empty cells, too: to ask would take longer."""
    words, sums = cells
    n_classes, whole = sides[3], sides[6]
    for k in range(n_classes):
        cell = code * n_classes + k
        content = words[cell]
        added = float64(content & WEIGHT_MASK) if whole else sums[cell]
        if clear:
            words[cell] = 0
            if not whole:
                sums[cell] = 0.0
        left_rows += content >> 32
        seen = move_class(sides, (seen[0] + added, seen[1], seen[2]), k, added)
    return seen, left_rows


@inlined
def open_class_cut(problem, scratch, left):
    """The class weights on the left are known."""
    total, right, n_classes = scratch.total, scratch.right, scratch.ask.n_totals
    weight, left_squares, right_squares = 0.0, 0.0, 0.0
    for k in range(n_classes):
        right[k] = total[k] - left[k]
        weight += left[k]
        left_squares += left[k] * left[k]
        right_squares += right[k] * right[k]
    span = scratch.class_span if scratch.ask.anew else problem.class_start
    whole = problem.weights.whole
    sides = (left, right, total, n_classes, span, 1, whole, scratch.ask.weight)
    return sides, (weight, left_squares, right_squares)


@inlined
def weigh_classes(sides, seen):
    """The weight of the left side is at hand."""
    return seen[0], sides[7] - seen[0]


@inlined
def class_values(sides, seen, weights):
    """The shares of the last class."""
    last = sides[3] - 1
    return sides[0][last] / weights[0], sides[1][last] / weights[1]


@inlined
def open_two_classes(problem, scratch, feature, missing_left):
    """Two classes whose weights are whole numbers: both of them at hand."""
    words, n_codes = scratch.cell_words, problem.n_codes[feature]
    left_rows, seen = int64(0), (0.0, 0.0)
    if missing_left:
        seen, left_rows = add_two_classes(words, (), seen, left_rows, n_codes, False)
    span = scratch.class_span if scratch.ask.anew else problem.class_start
    sides = (scratch.left, scratch.right, scratch.total[0], scratch.total[1], span)
    return words, sides, seen, left_rows


@inlined
def add_two_classes(words, sides, seen, left_rows, code, clear):
    """The cells of a code are neighbours."""
    first, second = words[2 * code], words[2 * code + 1]
    if clear:
        words[2 * code], words[2 * code + 1] = 0, 0
    added = (seen[0] + float64(first & WEIGHT_MASK), seen[1] + float64(second & WEIGHT_MASK))
    return added, left_rows + ((first + second) >> 32)


@inlined
def weigh_two_classes(sides, seen):
    """What is not on the left is on the right."""
    return seen[0] + seen[1], (sides[2] - seen[0]) + (sides[3] - seen[1])


@inlined
def values_of_two_classes(sides, seen, weights):
    """The shares of the second class."""
    return seen[1] / weights[0], (sides[3] - seen[1]) / weights[1]


@inlined
def squares_of_two_classes(sides, seen):
    """Sums of squares, which are not rounded."""
    first, second = sides[2] - seen[0], sides[3] - seen[1]
    return seen[0] * seen[0] + seen[1] * seen[1], first * first + second * second


def class_sums(
    score: Callable[..., float], may_beat: Callable[..., bool] | None = None
) -> SumsByWalk:
    """Sums of class weights.

    ``score(left, right, left_weight, right_weight, class_start, n_outputs, squares)``
    judges a cut; ``squares`` are those of the class weights of both sides, negative where they
    would be rounded. ``may_beat(squares, left_weight, right_weight, best)`` is asked before.
    """

    @inlined
    def judge_classes(sides, seen, weights):
        left, right, _, _, span, n_labels, whole, _ = sides
        squares = (seen[1], seen[2]) if whole else (-1.0, -1.0)
        return score(left, right, weights[0], weights[1], span, n_labels, squares)

    @inlined
    def classes_may_beat(sides, seen, weights, best):
        return not sides[6] or may_beat((seen[1], seen[2]), weights[0], weights[1], best)

    @inlined
    def judge_two_classes(sides, seen, weights):
        left, right, first, second, span = sides
        left[0], left[1], right[0], right[1] = seen[0], seen[1], first - seen[0], second - seen[1]
        squares = squares_of_two_classes(sides, seen)
        return score(left, right, weights[0], weights[1], span, 1, squares)

    @inlined
    def two_classes_may_beat(sides, seen, weights, best):
        return may_beat(squares_of_two_classes(sides, seen), weights[0], weights[1], best)

    shared = (weigh_classes, class_values, judge_classes)
    two = (weigh_two_classes, values_of_two_classes, judge_two_classes)
    asked = (classes_may_beat, two_classes_may_beat) if may_beat else (may_always, may_always)
    return SumsByWalk(
        entries=Sums(open_class_entries, add_class_entry, *shared),
        cells=Sums(open_class_cells, add_class_cell, *shared, asked[0]),
        two_cells=Sums(open_two_classes, add_two_classes, *two, asked[1]),
        cut=Sums(open_class_cut, None, *shared),
    )


# --- moments ------------------------------------------------------------------------------


@inlined
def open_moment_entries(labels, stats, class_start, total, start, left, right, order, ask, keys):
    """Moments of any number of outputs, in arrays."""
    for s in range(ask.n_stats):
        left[s] = start[s]
    return stats, (left, right, total, ask.n_stats, ask.n_outputs), 0


@inlined
def add_moment_entry(stats, sides, seen, entry):
    """An entry has a weight, sums and second moments."""
    left, n_stats = sides[0], sides[3]
    for s in range(n_stats):
        left[s] += stats[entry * n_stats + s]
    return seen


@inlined
def weigh_moment_arrays(sides, seen):
    """What is not on the left is on the right."""
    left, right, total, n_stats, _ = sides
    for s in range(n_stats):
        right[s] = total[s] - left[s]
    return left[0], right[0]


@inlined
def values_of_moment_arrays(sides, seen, weights):
    """The means of the first output."""
    return sides[0][1] / weights[0], sides[1][1] / weights[1]


@inlined
def open_moment_cut(problem, scratch, left):
    """The three moments on the left are known, and those of the node."""
    total = scratch.total
    return (total[0], total[1], total[2]), left


@inlined
def rest_of(sides, seen):
    """The moments on the right."""
    return sides[0] - seen[0], sides[1] - seen[1], sides[2] - seen[2]


@inlined
def weigh_moments(sides, seen):
    """The first moment is the weight."""
    return seen[0], sides[0] - seen[0]


@inlined
def moment_values(sides, seen, weights):
    """The means."""
    return seen[1] / weights[0], (sides[1] - seen[1]) / weights[1]


def moment_cells(width: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """``open`` and ``add`` of cells of rows, weight, sum and, if they are 4, second moment."""

    @inlined
    def add_moment_cell(cells, sides, seen, left_rows, code, clear):
        """Bring the cell of a code to the left side."""
        cell, second = code * width, seen[2]
        if width > 3:
            second += cells[cell + 3]
        seen = (seen[0] + cells[cell + 1], seen[1] + cells[cell + 2], second)
        left_rows += int64(cells[cell])
        if clear:
            for k in range(width):
                cells[cell + k] = 0.0
        return seen, left_rows

    @inlined
    def open_moment_cells(problem, scratch, feature, missing_left):
        """The cell of missing values is on the left first, if so asked."""
        total, cells = scratch.total, scratch.cell_sums
        seen, left_rows = (0.0, 0.0, 0.0), int64(0)
        if missing_left:
            n_codes = problem.n_codes[feature]
            seen, left_rows = add_moment_cell(cells, (), seen, left_rows, n_codes, False)
        return cells, (total[0], total[1], total[2]), seen, left_rows

    return open_moment_cells, add_moment_cell


def moment_sums(score: Callable[..., float], width: int) -> SumsByWalk:
    """Sums of moments; ``score(left, right, n_outputs)`` judges a cut.

    Cells have ``width`` numbers: rows, weight, sum and maybe a second moment.
    """

    @inlined
    def judge_moment_arrays(sides, seen, weights):
        return score(sides[0], sides[1], sides[4])

    @inlined
    def judge_moments(sides, seen, weights):
        return score(seen, rest_of(sides, seen), 1)

    arrays = (weigh_moment_arrays, values_of_moment_arrays, judge_moment_arrays)
    shared = (weigh_moments, moment_values, judge_moments)
    return SumsByWalk(
        entries=Sums(open_moment_entries, add_moment_entry, *arrays),
        cells=Sums(*moment_cells(width), *shared),
        cut=Sums(open_moment_cut, None, *shared),
    )

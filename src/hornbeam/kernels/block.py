"""Grow a node of up to 64 rows, and all below it, as sets of bits.

Most nodes of a deep tree have few rows: loops over them are too short to be fast, and most of
their time goes to branches that nobody can predict. So the codes of such a node are copied
once, feature by feature; a set of its rows is a word with a bit for each, and a vector
instruction compares the codes of all rows with a cut. Classes are counted by counting bits,
and parting a node moves nothing.

The driver hands such a node to `grow_block`, and gets back all that grows below it. This is what
its steps do (kernels/grow.py, kernels/settle.py) with the searches of kernels/split_cuts.py,
kernels/split_random_categories.py and kernels/split_bin_categories.py, for random cuts by the
moments of one output, or by classes where every row weighs 1. The nodes are the same (but for
the rounding of moments), with one exception: where a forest has the values behind crowded bins
at hand, a block cuts between these. So few rows often share a bin, and could not be told apart.
"""

from __future__ import annotations

import math
from typing import Any

from numba import float64, int64, uint8, uint64

from hornbeam.dtypes import EPSILON, MISSING_BIN, WORD_BITS
from hornbeam.kernels.features import draw_features, list_features
from hornbeam.kernels.lanes import (
    BLOCK_LANES,
    highest_code,
    highest_value,
    lowest_code,
    lowest_value,
    rows_equal,
    rows_equal_value,
    rows_up_to,
    rows_up_to_value,
    sum_values,
)
from hornbeam.kernels.order import merge_sort
from hornbeam.kernels.pieces import first_row_of, next_piece, page_of
from hornbeam.kernels.settle import add_children, note_gain, note_split, summarise
from hornbeam.kernels.split import ask_about_node, may_split, nothing_better
from hornbeam.kernels.split_bin_categories import (
    WIDTH,
    category_of,
    note_group,
    shares_differ,
    values_differ,
)
from hornbeam.kernels.split_categories import cut_means, draw_class, may_differ
from hornbeam.kernels.split_cuts import draw_cut
from hornbeam.kernels.split_random import (
    border_behind,
    draws_left,
    draws_missing,
    may_ask,
    place_between,
)
from hornbeam.kernels.split_random_categories import all_left, cut_shares, draw_sides, note_groups
from hornbeam.kernels.state import (
    CLOSED,
    NODES_AT,
    PROBLEM_AT,
    ROWS_AT,
    SCRATCH_AT,
    SPLIT,
    TEAM_DESK_AT,
    WORD_DRAWN,
    WORD_FOUND,
    WORD_LEAVES,
    GrowBlock,
    JudgeBlock,
    PartGroups,
    load_desk,
    load_nodes,
    load_problem,
    load_rows,
    load_scratch,
)
from hornbeam.kernels.sums import ROW_UNIT
from hornbeam.runtime.atomics import count_bits, trailing_zeros
from hornbeam.runtime.kernel import inlined, part, step
from hornbeam.runtime.random import derive_for_feature

# As many codes of a row are copied in a loop of one length; rows are padded to a multiple of it.
COPIED_CODES = 16
# Statistics of a row: weight, sum and second moment; behind them are the values of y.
STATS = 3

# --- a block ---------------------------------------------------------------------------


@inlined
def copy_codes(problem, rows, scratch, first, n_rows):
    """Copy the codes of a node's rows."""
    codes, stride, row = scratch.block_codes, problem.row_stride, rows.row
    begin, last = first, first + n_rows
    while begin < last:
        page, end = next_piece(problem, row, begin, last)
        by_row, offset = page.by_row, first_row_of(page, stride)
        for i in range(begin - first, end - first):
            start = offset + row[first + i] * stride
            for feature in range(0, stride, COPIED_CODES):
                for k in range(COPIED_CODES):
                    codes[(feature + k) * BLOCK_LANES + i] = by_row[start + feature + k]
        begin = end


@inlined
def row_of_table(problem, rows, place):
    """The number in the table of a row of a node, which may be grown on a tile."""
    row = int64(rows.row[place])
    return int64(problem.origin[row]) if problem.tiled else row


@inlined
def copy_values(problem, rows, scratch, first, n_rows):
    """Copy the values of crowded features; missing ones are above all others."""
    n_crowded, wide = problem.n_crowded, problem.has_wide_values
    pages, n_pages, values = problem.value_pages, problem.n_value_pages, scratch.block_values
    page = page_of(pages, n_pages, row_of_table(problem, rows, first))
    for i in range(n_rows):
        row = row_of_table(problem, rows, first + i)
        if row >= page.stop:
            page = page_of(pages, n_pages, row)
        for place in range(n_crowded):
            at = (row - page.start) * n_crowded + place
            value = page.wide_values[at] if wide else float64(page.narrow_values[at])
            # -0.0 becomes 0.0
            values[place * BLOCK_LANES + i] = value + 0.0 if value == value else math.inf


@inlined
def copy_labels(problem, rows, scratch, first, n_rows, everyone):
    """List the rows of each class."""
    labels, n_classes, second = scratch.block_labels, problem.sums.n_totals, uint64(0)
    if n_classes == 2:
        for i in range(n_rows):
            second |= uint64(rows.labels[first + i]) << uint64(i)
        labels[0], labels[1] = everyone ^ second, second
    else:
        for k in range(n_classes):
            labels[k] = 0
        for i in range(n_rows):
            labels[rows.labels[first + i]] |= uint64(1) << uint64(i)


@inlined
def copy_stats(rows, scratch, first, n_rows):
    """Copy the statistics of a node's rows, one after the other, then their values."""
    stats = scratch.block_stats
    for i in range(n_rows):
        start = STATS * (first + i)
        for s in range(STATS):
            stats[s * BLOCK_LANES + i] = rows.stats[start + s]
        stats[STATS * BLOCK_LANES + i] = rows.stats[start + 1] / rows.stats[start]


@part
def fill_block(problem, rows, scratch, first, n_rows):
    """Copy what is known of a node's rows; returns the set of all of them."""
    everyone = ~uint64(0) >> uint64(BLOCK_LANES - n_rows)
    copy_codes(problem, rows, scratch, first, n_rows)
    copy_values(problem, rows, scratch, first, n_rows)
    if problem.sums.n_labels > 0:
        copy_labels(problem, rows, scratch, first, n_rows, everyone)
    else:
        copy_stats(rows, scratch, first, n_rows)
    return everyone


@inlined
def find_varying(problem, scratch, here):
    """Note which features vary in a set of rows, missing values counting as one."""
    codes, values, one = scratch.block_codes, scratch.block_values, trailing_zeros(here)
    for feature in range(problem.n_features):
        at = feature * BLOCK_LANES
        if problem.value_at[feature] >= 0:
            at = problem.value_at[feature] * BLOCK_LANES
            alike = rows_equal_value(values, at, values[at + one]) & here
        else:
            alike = rows_equal(codes, at, codes[at + one]) & here
        scratch.varies[feature] = uint8(alike != here)


@inlined
def part_classes(problem, scratch, here):
    """Part a set of rows by their classes.

    Where classes may be numbered anew, only those that the set has are listed, as
    `split.number_anew` does.
    """
    total, n_listed, anew = scratch.total, int64(0), bool(problem.steps.number_anew)
    for k in range(problem.sums.n_totals):
        of_class = scratch.block_labels[k] & here
        scratch.block_classes[n_listed] = of_class
        total[n_listed] = float64(count_bits(of_class))
        n_listed += not anew or of_class != 0
    scratch.ask.n_totals = n_listed
    scratch.ask.anew = anew
    scratch.class_span[1] = n_listed


@part
def sum_up(problem, rows, nodes, node, scratch, here):
    """Totals, weight and impurity of a node that has these rows."""
    total, stats, pure = scratch.total, scratch.block_stats, False
    if problem.sums.n_labels > 0:
        n_classes = problem.sums.n_totals
        scratch.ask.n_totals = n_classes
        for k in range(n_classes):
            total[k] = float64(count_bits(scratch.block_labels[k] & here))
    else:
        for s in range(STATS):
            total[s] = sum_values(stats, s * BLOCK_LANES, here)
        lowest = lowest_value(stats, STATS * BLOCK_LANES, here)
        highest = highest_value(stats, STATS * BLOCK_LANES, here)
        # sums of equal values carry rounding errors that look like an impurity
        pure = highest - lowest <= 4.0 * EPSILON * max(abs(lowest), abs(highest))
    summarise(problem, rows, nodes, node, scratch, 0, 0)
    if pure:
        nodes.impurity[node] = 0.0


@inlined
def list_groups(problem, scratch, feature, known):
    """List the categories of a set of rows, and the rows of each; returns how many there are."""
    codes, at, n_groups = scratch.block_codes, feature * BLOCK_LANES, int64(0)
    for word in range(0, problem.n_codes[feature], WORD_BITS):
        present = uint64(0)
        for i in range(BLOCK_LANES):  # not only those of the set: a loop of one length is faster
            place = uint64(codes[at + i]) - uint64(word)
            counts = (known >> uint64(i)) & uint64(place < WORD_BITS)
            present |= counts << (place & uint64(WORD_BITS - 1))
        while present != uint64(0):
            code = word + trailing_zeros(present)
            present &= present - uint64(1)
            scratch.block_groups[n_groups] = rows_equal(codes, at, uint8(code)) & known
            note_group(scratch, n_groups, code)
            n_groups += 1
    return n_groups


@part
def groups_differ(problem, scratch, n_groups, n_classes, n_rows):
    """Whether the groups differ by more than chance.

    Fills their cells, as `split_bin_categories.list_class_groups` does, if that is asked at all.
    """
    if not may_differ(problem, n_rows, n_groups):
        return False
    for group in range(n_groups):
        for k in range(n_classes):
            count = count_bits(scratch.block_groups[group] & scratch.block_classes[k])
            scratch.cell_words[group * n_classes + k] = count * (ROW_UNIT + 1)
    return shares_differ(problem, scratch, n_groups, n_classes, n_rows)


@inlined
def weigh_rows(problem, scratch, here):
    """Weight of a set of rows; those with classes weigh 1 each."""
    if problem.sums.n_labels > 0:
        return float64(count_bits(here))
    return sum_values(scratch.block_stats, int64(0), here)


@part
def cut_number(problem, scratch, feature, here, missing, key):
    """Cut a number at random; returns the rows on the left (maybe none), and the threshold."""
    codes, values, at = scratch.block_codes, scratch.block_values, feature * BLOCK_LANES
    if problem.value_at[feature] >= 0:
        at, known = problem.value_at[feature] * BLOCK_LANES, here ^ missing
        low, high = lowest_value(values, at, known), highest_value(values, at, known)
        threshold = place_between(low, high, feature, key)
        left = rows_up_to_value(values, at, threshold) & here
        is_cut = low < high
    else:
        first, last = lowest_code(codes, at, here), highest_code(codes, at, here) - 1
        cut = draw_cut(problem, feature, first, last, key)
        left = rows_up_to(codes, at, uint8(cut)) & here
        is_cut = (left | missing) != here
        threshold = border_behind(problem, feature, cut) if is_cut else math.inf
    left |= missing if is_cut and draws_left(feature, key) else uint64(0)
    if not may_ask(problem, feature, is_cut):
        left = uint64(0)
    return left, threshold if is_cut else math.inf


@inlined
def join_left(scratch, n_groups):
    """Leave the rows of the groups on the left behind those of all groups."""
    left = uint64(0)
    for group in range(n_groups):
        # no branch: the sides are tossed coins
        left |= scratch.block_groups[group] & (uint64(0) - uint64(scratch.sides[group]))
    scratch.block_groups[BLOCK_LANES] = left


@step(PartGroups)
def part_groups(slots, feature, node, here, missing):
    """Part categories at random; returns how many there are.

    The rows on the left are left behind the rows of the groups.
    """
    problem, nodes = load_problem(slots, PROBLEM_AT), load_nodes(slots, NODES_AT)
    scratch = load_scratch(slots, SCRATCH_AT)
    n_groups = list_groups(problem, scratch, feature, here ^ missing)
    n_classes, key = scratch.ask.n_totals, derive_for_feature(nodes.key[node], feature)
    n_rows = count_bits(here)
    if groups_differ(problem, scratch, n_groups, n_classes, n_rows):
        which = draw_class(problem, scratch, key)
        cut_shares(scratch, n_groups, n_classes, which, key)
    else:
        draw_sides(scratch, n_groups, key)
    join_left(scratch, n_groups)
    if may_differ(problem, n_rows, n_groups):
        for cell in range(n_groups * n_classes):
            scratch.cell_words[cell] = 0
    return n_groups


@part
def means_differ(problem, scratch, n_groups, n_rows):
    """Whether the groups differ by more than chance; orders them by their means if so."""
    cells, stats = scratch.cell_sums, scratch.block_stats
    if not may_differ(problem, n_rows, n_groups):
        return False
    for group in range(n_groups):
        cell = WIDTH * category_of(scratch, group)
        for s in range(STATS):
            of_group = scratch.block_groups[group]
            cells[cell + 1 + s] = sum_values(stats, s * BLOCK_LANES, of_group)
        scratch.group_mean[group] = cells[cell + 2] / cells[cell + 1]
    differ = values_differ(problem, scratch, n_groups, n_rows)
    for group in range(n_groups):
        cell = WIDTH * category_of(scratch, group)
        for k in range(WIDTH):
            cells[cell + k] = 0.0
    if differ:
        merge_sort(scratch.group_mean, scratch.group_order, scratch.group_spare, n_groups)
    return differ


@step(PartGroups)
def part_value_groups(slots, feature, node, here, missing):
    """`part_groups` by the values of the rows."""
    problem, nodes = load_problem(slots, PROBLEM_AT), load_nodes(slots, NODES_AT)
    scratch = load_scratch(slots, SCRATCH_AT)
    n_groups = list_groups(problem, scratch, feature, here ^ missing)
    key = derive_for_feature(nodes.key[node], feature)
    if means_differ(problem, scratch, n_groups, count_bits(here)):
        n_left = cut_means(scratch, n_groups, key, False)
        for place in range(n_groups):
            scratch.sides[scratch.group_order[place]] = uint8(place < n_left)
    else:
        draw_sides(scratch, n_groups, key)
    join_left(scratch, n_groups)
    return n_groups


# --- growth ----------------------------------------------------------------------------


def make_block_judge(judge: Any, variant: str | None) -> Any:
    """A kernel that keeps a split by classes if it is the best so far, and says so.

    ``judge`` is that of `scan.make_cut_judge`. The sets are those of the rows of a node, on the
    left, and without a value.
    """

    def judge_block(slots, feature, desk_at, here, left, missing):
        problem, scratch = load_problem(slots, PROBLEM_AT), load_scratch(slots, SCRATCH_AT)
        of_left, zero, desk = scratch.left, int64(0), load_desk(slots, desk_at)
        for k in range(scratch.ask.n_totals):
            of_left[k] = float64(count_bits(left & scratch.block_classes[k]))
        counted = (count_bits(here), count_bits(left), count_bits(missing))
        side = int64(left & missing != uint64(0))
        return judge(problem, scratch, feature, of_left, counted, side, zero, desk, zero)

    return step(JudgeBlock, variant)(judge_block)


def make_value_block_judge(judge: Any, variant: str | None) -> Any:
    """`make_block_judge` by moments."""

    def judge_value_block(slots, feature, desk_at, here, left, missing):
        problem, scratch = load_problem(slots, PROBLEM_AT), load_scratch(slots, SCRATCH_AT)
        stats, zero, desk = scratch.block_stats, int64(0), load_desk(slots, desk_at)
        of_left = (
            sum_values(stats, 0, left),
            sum_values(stats, BLOCK_LANES, left),
            sum_values(stats, 2 * BLOCK_LANES, left),
        )
        counted = (count_bits(here), count_bits(left), count_bits(missing))
        side = int64(left & missing != uint64(0))
        return judge(problem, scratch, feature, of_left, counted, side, zero, desk, zero)

    return step(JudgeBlock, variant)(judge_value_block)


@part
def draw_question(slots, problem, nodes, node, scratch, feature, here, missing):
    """Draw a split of a feature, as kernels/split_random.py says.

    Returns the rows on the left (none if there is nothing to ask), the threshold of a number
    and how many categories there are.
    """
    known, key, asks = here ^ missing, nodes.key[node], False
    if missing != uint64(0):
        missing_weight = weigh_rows(problem, scratch, missing)
        asks = draws_missing(feature, missing_weight, scratch.ask.weight, key)
    if not problem.is_category[feature]:
        left, threshold = known, math.inf
        if not asks:
            left, threshold = cut_number(problem, scratch, feature, here, missing, key)
        return left, threshold, int64(0)
    n_groups = problem.steps.part_groups(slots, feature, node, here, missing)
    left = scratch.block_groups[BLOCK_LANES]
    if asks:
        all_left(scratch, n_groups)
        left = known
    elif not may_ask(problem, feature, n_groups > 1):
        left = uint64(0)
    return left, math.nan, n_groups


@part
def search_set(slots, problem, nodes, node, scratch, desk, desk_at, here):
    """Search the features that are drawn for a node; returns the rows on the left."""
    codes, rank = scratch.block_codes, int64(0)
    desk.best_score[rank] = -math.inf
    desk.best_feature[rank] = problem.n_features
    best = uint64(0)
    for place in range(desk.words[WORD_DRAWN]):
        feature = desk.features[place]
        missing = rows_equal(codes, feature * BLOCK_LANES, uint8(MISSING_BIN)) & here
        left, threshold, n_groups = draw_question(
            slots, problem, nodes, node, scratch, feature, here, missing
        )
        if left == uint64(0):
            continue
        if problem.steps.judge_block(slots, feature, desk_at, here, left, missing):
            best = left
            desk.best_threshold[rank] = threshold
            if n_groups > 0:
                note_groups(problem, scratch, feature, n_groups, desk, rank)
        if nothing_better(problem, nodes, node, desk, rank):
            break
    return best


@step(GrowBlock)
def grow_block(slots, node, desk_at):
    """Grow a node of few rows, and all below it."""
    problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
    nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
    desk, shared = load_desk(slots, desk_at), load_desk(slots, TEAM_DESK_AT).words
    first, n_rows = int64(nodes.first[node]), int64(nodes.last[node] - nodes.first[node])
    waiting, waiting_rows, n_waiting = scratch.block_nodes, scratch.block_rows, int64(1)
    waiting[0], waiting_rows[0] = node, fill_block(problem, rows, scratch, first, n_rows)
    while n_waiting > 0:
        n_waiting -= 1
        node, here = int64(waiting[n_waiting]), waiting_rows[n_waiting]
        nodes.state[node] = CLOSED
        if not may_split(problem, nodes, node):
            continue
        find_varying(problem, scratch, here)
        desk.words[WORD_FOUND] = 0
        list_features(problem, desk, scratch.varies, False, nodes.key[node])
        draw_features(problem, desk, scratch.varies, nodes.key[node], int64(0))
        ask_about_node(problem, nodes, node, scratch)
        if problem.sums.n_labels > 0:
            part_classes(problem, scratch, here)
        left = search_set(slots, problem, nodes, node, scratch, desk, desk_at, here)
        if left == uint64(0):
            continue
        note_split(problem, nodes, node, desk, 0)
        if problem.is_category[nodes.feature[node]]:
            problem.steps.keep_set(slots, node, 0, desk_at)
        middle = nodes.first[node] + count_bits(left)
        child = add_children(problem, nodes, node, middle, shared)
        for branch in range(2):
            of_child = left if branch == 0 else here ^ left
            sum_up(problem, rows, nodes, child + branch, scratch, of_child)
            waiting[n_waiting + 1 - branch] = child + branch
            waiting_rows[n_waiting + 1 - branch] = of_child
        if note_gain(problem, nodes, node, child):
            nodes.state[node] = SPLIT
            desk.words[WORD_LEAVES] += 1
            n_waiting += 2

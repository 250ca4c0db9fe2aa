"""Split a category feature by class weights or values, straight from a histogram of the node.

This is `split_categories.search_category` for forests: byte codes, one output, and the
cautious rule. The splits are the same, but for rounding; there is no list of keys in between,
and the criterion is part of the kernel. Classes whose weights are not whole numbers, or which
take more than one order of the categories, are left to the general search.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from numba import float64, int64, uint64

from hornbeam.dtypes import WORD_BITS
from hornbeam.kernels.order import merge_sort
from hornbeam.kernels.split import beats
from hornbeam.kernels.split_bins import WEIGHT_MASK, allows, keep_split
from hornbeam.kernels.split_categories import (
    cut_means,
    draw_class,
    draw_forced,
    draw_right,
    draw_subset,
    explained,
    is_clear,
    may_differ,
    shuffle_groups,
)
from hornbeam.kernels.state import (
    ABSENT,
    ASK_IN_SPARE,
    ASK_MIN_WEIGHT,
    ASK_N_TOTALS,
    ASK_WEIGHT,
    FILL,
    LEFT,
    LOGS,
    MAX_CATEGORIES,
    MIN_LEAF,
    N_ROWS,
    NODES_AT,
    PROBLEM_AT,
    RANDOM_CUTS,
    RIGHT,
    ROWS_AT,
    SCRATCH_AT,
    SEARCH_CATEGORY,
    UNIT_WEIGHTS,
    WHOLE_WEIGHTS,
    load_desk,
    load_nodes,
    load_problem,
    load_rows,
    load_scratch,
)
from hornbeam.runtime.atomics import call_address, count_bits, trailing_zeros
from hornbeam.runtime.kernel import inlined, part, part_of, step
from hornbeam.runtime.random import derive_for_feature

# --- groups ----------------------------------------------------------------------------


@inlined
def note_group(scratch, group, code):
    """Let a category be a group of one key."""
    scratch.keys[group] = uint64(code) << uint64(32)
    scratch.group_start[group] = group
    scratch.group_order[group] = group


@inlined
def category_of(scratch, group):
    """The category of a group."""
    return int64(scratch.keys[group] >> uint64(32))


@inlined
def list_occupied(scratch, n_codes):
    """List the codes that are noted as occupied, as groups of one key each; returns how many."""
    occupied, n_groups = scratch.occupied, int64(0)
    for word in range((n_codes >> 6) + 1):
        bits = occupied[word]
        occupied[word] = uint64(0)
        while bits != uint64(0):
            code = (word << 6) + trailing_zeros(bits)
            bits &= bits - uint64(1)
            if code < n_codes:  # missing values are no group
                note_group(scratch, n_groups, code)
                n_groups += 1
    scratch.ask[ASK_IN_SPARE] = 0
    return n_groups


@part
def shares_differ(scratch, n_groups, n_classes, n_rows):
    """Whether the groups differ by more than chance, as `split_categories.groups_differ`."""
    words, all_sums = scratch.cell_words, scratch.right
    if not may_differ(n_rows, n_groups):
        return False
    for k in range(n_classes):
        all_sums[k] = 0.0
    all_weight, between, common = 0.0, 0.0, 0.0
    for group in range(n_groups):
        start = category_of(scratch, group) * n_classes
        weight, squares = 0.0, 0.0
        for k in range(n_classes):
            amount = float64(words[start + k] & WEIGHT_MASK)
            weight += amount
            squares += amount * amount
            all_sums[k] += amount
        all_weight += weight
        between += squares / weight
    for k in range(n_classes):
        common += all_sums[k] * all_sums[k] / all_weight
    return is_clear(between - common, all_weight - common, n_rows, n_groups)


@part
def order_by_share(scratch, n_groups, n_classes, which):
    """Order the groups by the share of a class."""
    for group in range(n_groups):
        start = category_of(scratch, group) * n_classes
        weight = int64(0)
        for k in range(n_classes):
            weight += scratch.cell_words[start + k] & WEIGHT_MASK
        amount = scratch.cell_words[start + which] & WEIGHT_MASK
        scratch.group_mean[group] = float64(amount) / float64(weight)
    merge_sort(scratch.group_mean, scratch.group_order, scratch.group_spare, n_groups)


@inlined
def note_members(problem, scratch, feature, n_groups, n_left, desk, rank):
    """Write down that the first groups go left and the others right."""
    member_at = rank * problem.whole[MAX_CATEGORIES]
    for code in range(problem.n_codes[feature]):
        desk.member[member_at + code] = ABSENT
    for place in range(n_groups):
        category = category_of(scratch, scratch.group_order[place])
        desk.member[member_at + category] = LEFT if place < n_left else RIGHT


# --- class weights ---------------------------------------------------------------------

# The categories of so few rows are seldom told apart by their classes: they need no cells.
FEW_ROWS = 64


@inlined
def note_codes(problem, rows, codes, feature, first, n_rows):
    """List the codes of a node's rows; returns a bit for each of them, missing ones come last."""
    n_codes, offset = problem.n_codes[feature], feature * problem.whole[N_ROWS]
    bins, row, present = problem.bins, rows.row, uint64(0)
    for i in range(n_rows):
        code = min(int64(bins[offset + row[first + i]]), n_codes)
        codes[i] = code
        present |= uint64(1) << uint64(code)
    return present


@part
def draw_codes(known, n_groups, key):
    """The subset of `draw_subset`, as a bit for each category."""
    forced_left, forced_right = draw_forced(n_groups, key)
    chosen, left, group = known, uint64(0), int64(0)
    while chosen != uint64(0):
        code = trailing_zeros(chosen)
        right = draw_right(key, code, group, forced_left, forced_right)
        left |= uint64(1 - right) << uint64(code)
        chosen &= chosen - uint64(1)
        group += 1
    return left


@inlined
def list_class_groups(scratch, n_codes, n_classes):
    """List the categories that a node has; returns how many."""
    n_groups = int64(0)
    for group in range(list_occupied(scratch, n_codes)):
        code, content = category_of(scratch, group), int64(0)
        for k in range(n_classes):
            content += scratch.cell_words[code * n_classes + k]
        if content > 0:  # where rows are many, all codes are noted
            note_group(scratch, n_groups, code)
            n_groups += 1
    return n_groups


def make_class_category_search(score: Callable[..., float], variant: str | None) -> Any:
    """The kernel; ``score`` as in `scan.make_class_scan`."""

    def judge_sides(problem, scratch, feature, counted, missing_left, place, desk, rank):
        """Keep a split whose class weights on the left are in ``left`` if it is the best.

        ``counted`` are the rows of the node, on the left, and without a value.
        """
        node_rows, left_rows, n_missing = counted
        total, left, right, real = scratch.total, scratch.left, scratch.right, scratch.real
        left_weight, left_squares, right_squares = 0.0, 0.0, 0.0
        for k in range(scratch.ask[ASK_N_TOTALS]):
            right[k] = total[k] - left[k]
            left_weight += left[k]
            left_squares += left[k] * left[k]
            right_squares += right[k] * right[k]
        right_weight = real[ASK_WEIGHT] - left_weight
        min_leaf, min_weight = problem.whole[MIN_LEAF], real[ASK_MIN_WEIGHT]
        if not allows(min_leaf, min_weight, node_rows, left_rows, left_weight, right_weight):
            return False
        squares, span = (left_squares, right_squares), problem.class_start
        value = score(left, right, left_weight, right_weight, span, 1, squares)
        if not beats(desk, rank, feature, value):
            return False
        # a missing value seen later goes with the larger side
        side = missing_left if n_missing > 0 else int64(2 * left_rows > node_rows)
        keep_split(desk, rank, feature, value, place, side, math.nan)
        return True

    judge = part_of(judge_sides, variant)

    def try_order(problem, scratch, feature, n_groups, only, n_missing, node_rows, desk, rank):
        """Score the groups in their order: every cut, or if ``only`` >= 0 that one."""
        n_classes, words, left = scratch.ask[ASK_N_TOTALS], scratch.cell_words, scratch.left
        missing_at = problem.n_codes[feature] * n_classes
        best_cut = int64(-1)
        for missing_left in range(1 + (n_missing > 0 and only < 0)):
            content = int64(0)
            for k in range(n_classes):
                added = words[missing_at + k] if missing_left else 0
                left[k] = float64(added & WEIGHT_MASK)
                content += added
            for place in range(n_groups if only < 0 else only):
                start = category_of(scratch, scratch.group_order[place]) * n_classes
                for k in range(n_classes):
                    added = words[start + k]
                    left[k] += float64(added & WEIGHT_MASK)
                    content += added
                if only >= 0 and place + 1 < only:
                    continue
                counted = (node_rows, content >> 32, n_missing)
                if judge(problem, scratch, feature, counted, missing_left, place, desk, rank):
                    best_cut = place
        if best_cut >= 0:
            note_members(problem, scratch, feature, n_groups, best_cut + 1, desk, rank)

    try_groups = part_of(try_order, variant)

    def try_few(problem, rows, scratch, feature, first, last, key, desk, rank):
        """Draw a subset of a node's categories without counting them one by one.

        Returns how many categories there are, counting the missing values as one; -1 if they
        may differ by more than chance, so that they must be counted.
        """
        n_codes, node_rows = problem.n_codes[feature], last - first
        codes, left, labels, stats = scratch.row_sides, scratch.left, rows.labels, rows.stats
        present = note_codes(problem, rows, codes, feature, first, node_rows)
        known = present & ((uint64(1) << uint64(n_codes)) - uint64(1))
        missing = int64(present != known)
        n_groups = count_bits(known)
        if may_differ(node_rows, n_groups):
            return int64(-1)
        if n_groups == 0 or n_groups + missing < 2:
            return int64(1)
        chosen = draw_codes(known, n_groups, key)
        left_rows, second = int64(0), int64(0)
        if problem.whole[UNIT_WEIGHTS] and scratch.ask[ASK_N_TOTALS] == 2:
            for i in range(node_rows):
                goes_left = int64((chosen >> uint64(codes[i])) & uint64(1))
                left_rows += goes_left
                second += goes_left & int64(labels[first + i])
            left[0], left[1] = float64(left_rows - second), float64(second)
        else:
            for k in range(scratch.ask[ASK_N_TOTALS]):
                left[k] = 0.0
            for i in range(node_rows):
                goes_left = int64((chosen >> uint64(codes[i])) & uint64(1))
                left_rows += goes_left
                left[labels[first + i]] += float64(goes_left) * stats[first + i]
        counted, only = (node_rows, left_rows, missing), count_bits(chosen)
        if judge(problem, scratch, feature, counted, int64(0), only - 1, desk, rank):
            member_at = rank * problem.whole[MAX_CATEGORIES]
            for code in range(n_codes):
                side = LEFT if (chosen >> uint64(code)) & uint64(1) else RIGHT
                here = (known >> uint64(code)) & uint64(1)
                desk.member[member_at + code] = side if here else ABSENT
        return n_groups + missing

    draw_few = part_of(try_few, variant)

    def search_class_categories(slots, node, feature, rank, desk_at):
        problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
        nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
        desk, general = load_desk(slots, desk_at), problem.whole[SEARCH_CATEGORY]
        if not problem.whole[WHOLE_WEIGHTS]:
            return call_address(general, (slots, node, feature, rank, desk_at))
        first, last = int64(nodes.first[node]), int64(nodes.last[node])
        n_classes, n_codes = scratch.ask[ASK_N_TOTALS], problem.n_codes[feature]
        key, words = derive_for_feature(nodes.key[node], feature), scratch.cell_words
        few = n_codes < WORD_BITS and (last - first <= FEW_ROWS or n_codes <= 2)
        if few and problem.whole[RANDOM_CUTS]:
            n_found = draw_few(problem, rows, scratch, feature, first, last, key, desk, rank)
            if n_found >= 0:
                return float64(n_found > 1)
        call_address(problem.whole[FILL], (slots, node, feature))
        n_groups = list_class_groups(scratch, n_codes, n_classes)
        n_missing = int64(0)
        for k in range(n_classes):
            n_missing += words[n_codes * n_classes + k] >> 32
        varies = n_groups > 0 and n_groups + (n_missing > 0) > 1
        differ = shares_differ(scratch, n_groups, n_classes, last - first)
        only, listed = int64(-1), True
        if not varies:
            listed = False
        elif problem.whole[RANDOM_CUTS]:
            if differ:
                which = draw_class(problem, scratch, key)
                order_by_share(scratch, n_groups, n_classes, which)
                only = cut_means(scratch, n_groups, key, True)
            else:
                only = draw_subset(scratch, n_groups, key)
        elif not differ:
            shuffle_groups(scratch, n_groups, key)
        elif n_classes == 2:
            order_by_share(scratch, n_groups, n_classes, int64(1))
        else:
            listed = False
        if listed:
            try_groups(
                problem, scratch, feature, n_groups, only, n_missing, last - first, desk, rank
            )
        for group in range(n_groups):
            start = category_of(scratch, group) * n_classes
            for k in range(n_classes):
                words[start + k] = 0
        for k in range(n_classes):
            words[n_codes * n_classes + k] = 0
        if varies and not listed:
            return call_address(general, (slots, node, feature, rank, desk_at))
        return float64(varies)

    return step(search_class_categories, variant)


# --- values ------------------------------------------------------------------------------

WIDTH = 4  # of a cell: rows, weight, sum and second moment


@inlined
def list_value_groups(problem, rows, scratch, feature, first, last):
    """Fill the cells of a node, and list the categories that it has; returns how many."""
    n_codes, offset = problem.n_codes[feature], feature * problem.whole[N_ROWS]
    bins, row, stats = problem.bins, rows.row, rows.stats
    cells, occupied = scratch.cell_sums, scratch.occupied
    for j in range(first, last):
        code = min(int64(bins[offset + row[j]]), n_codes)
        occupied[code >> 6] |= uint64(1) << uint64(code & 63)
        cells[WIDTH * code] += 1.0
        for k in range(3):
            cells[WIDTH * code + 1 + k] += stats[3 * j + k]
    n_groups = list_occupied(scratch, n_codes)
    for group in range(n_groups):
        cell = WIDTH * category_of(scratch, group)
        scratch.group_mean[group] = cells[cell + 2] / cells[cell + 1]
    return n_groups


@inlined
def values_differ(problem, scratch, n_groups, n_rows):
    """Whether the groups differ by more than chance, as `split_categories.groups_differ`."""
    cells, logs = scratch.cell_sums, problem.whole[LOGS]
    if not may_differ(n_rows, n_groups):
        return False
    weight, amount, between, total = 0.0, 0.0, 0.0, 0.0
    for group in range(n_groups):
        cell = WIDTH * category_of(scratch, group)
        weight += cells[cell + 1]
        amount += cells[cell + 2]
        between += explained(logs, cells[cell + 2], cells[cell + 1])
        total += cells[cell + 3]
    common = explained(logs, amount, weight)
    return is_clear(between - common, total - common, n_rows, n_groups)


def make_moment_category_search(score: Callable[..., float], variant: str | None) -> Any:
    """The kernel; ``score`` as in `scan.make_moment_scan`."""

    def try_order(problem, scratch, feature, n_groups, only, n_missing, node_rows, desk, rank):
        """Score the groups in their order: every cut, or if ``only`` >= 0 that one."""
        cells, total, real = scratch.cell_sums, scratch.total, scratch.real
        missing_at = WIDTH * problem.n_codes[feature]
        min_leaf, min_weight = problem.whole[MIN_LEAF], real[ASK_MIN_WEIGHT]
        best_cut = int64(-1)
        for missing_left in range(1 + (n_missing > 0 and only < 0)):
            left_rows, left = 0.0, (0.0, 0.0, 0.0)
            if missing_left:
                left_rows = cells[missing_at]
                left = (cells[missing_at + 1], cells[missing_at + 2], cells[missing_at + 3])
            for place in range(n_groups if only < 0 else only):
                cell = WIDTH * category_of(scratch, scratch.group_order[place])
                left_rows += cells[cell]
                left = (
                    left[0] + cells[cell + 1],
                    left[1] + cells[cell + 2],
                    left[2] + cells[cell + 3],
                )
                if only >= 0 and place + 1 < only:
                    continue
                right = (total[0] - left[0], total[1] - left[1], total[2] - left[2])
                n_left = int64(left_rows)
                if not allows(min_leaf, min_weight, node_rows, n_left, left[0], right[0]):
                    continue
                value = score(left, right, 1)
                if beats(desk, rank, feature, value):
                    best_cut = place
                    # a missing value seen later goes with the larger side
                    larger = int64(2 * n_left > node_rows)
                    side = missing_left if n_missing > 0 else larger
                    keep_split(desk, rank, feature, value, place, side, math.nan)
        if best_cut >= 0:
            note_members(problem, scratch, feature, n_groups, best_cut + 1, desk, rank)

    try_groups = part_of(try_order, variant)

    def search_moment_categories(slots, node, feature, rank, desk_at):
        problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
        nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
        desk, cells = load_desk(slots, desk_at), scratch.cell_sums
        first, last = int64(nodes.first[node]), int64(nodes.last[node])
        n_groups = list_value_groups(problem, rows, scratch, feature, first, last)
        missing_at = WIDTH * problem.n_codes[feature]
        n_missing = int64(cells[missing_at])
        varies = n_groups > 0 and n_groups + (n_missing > 0) > 1
        if varies:
            key, only = derive_for_feature(nodes.key[node], feature), int64(-1)
            differ = values_differ(problem, scratch, n_groups, last - first)
            if differ:
                means, order = scratch.group_mean, scratch.group_order
                merge_sort(means, order, scratch.group_spare, n_groups)
            if problem.whole[RANDOM_CUTS] and differ:
                only = cut_means(scratch, n_groups, key, False)
            elif problem.whole[RANDOM_CUTS]:
                only = draw_subset(scratch, n_groups, key)
            elif not differ:
                shuffle_groups(scratch, n_groups, key)
            try_groups(
                problem, scratch, feature, n_groups, only, n_missing, last - first, desk, rank
            )
        for group in range(n_groups):
            cell = WIDTH * category_of(scratch, group)
            for k in range(WIDTH):
                cells[cell + k] = 0.0
        for k in range(WIDTH):
            cells[missing_at + k] = 0.0
        return float64(varies)

    return step(search_moment_categories, variant)

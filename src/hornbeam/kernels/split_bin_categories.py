"""Split a category feature by class weights or values, straight from a histogram of the node.

This is `split_categories.search_category` for forests: byte codes, one output, and the
cautious rule. The splits are the same, but for rounding; there is no list of keys in between,
and the criterion is part of the kernel. Classes whose weights are not whole numbers, or which
take more than one order of the categories, are left to the general search; random splits by
class weights have one of their own (kernels/split_random_categories.py).
"""

from __future__ import annotations

from typing import Any

from numba import float64, int64, uint64

from hornbeam.kernels.order import merge_sort
from hornbeam.kernels.split_bins import collect_moments
from hornbeam.kernels.split_categories import (
    cut_means,
    draw_subset,
    explained,
    is_clear,
    may_differ,
    shuffle_groups,
)
from hornbeam.kernels.split_random import draws_missing, may_ask
from hornbeam.kernels.state import (
    ABSENT,
    LEFT,
    NODES_AT,
    PROBLEM_AT,
    RIGHT,
    ROWS_AT,
    SCRATCH_AT,
    Search,
    load_desk,
    load_nodes,
    load_problem,
    load_rows,
    load_scratch,
)
from hornbeam.kernels.sums import WEIGHT_MASK
from hornbeam.runtime.atomics import trailing_zeros
from hornbeam.runtime.kernel import inlined, part, part_of, step
from hornbeam.runtime.random import derive_for_feature

EVERY = -1  # cut of an order of groups is tried

# --- groups ----------------------------------------------------------------------------


@inlined
def name_group(scratch, group, code):
    """Let a group be a category."""
    scratch.keys[group] = uint64(code) << uint64(32)


@inlined
def note_group(scratch, group, code):
    """Let a category be a group of one key."""
    name_group(scratch, group, code)
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
    scratch.ask.in_spare = 0
    return n_groups


@part
def shares_differ(problem, scratch, n_groups, n_classes, n_rows):
    """Whether the groups differ by more than chance, as `split_categories.groups_differ`."""
    words, all_sums = scratch.cell_words, scratch.right
    if not may_differ(problem, n_rows, n_groups):
        return False
    for k in range(n_classes):
        all_sums[k] = 0.0
    all_weight, between, common = 0.0, 0.0, 0.0
    for group in range(n_groups):
        weight, squares = 0.0, 0.0
        for k in range(n_classes):
            amount = float64(words[group * n_classes + k] & WEIGHT_MASK)
            weight += amount
            squares += amount * amount
            all_sums[k] += amount
        all_weight += weight
        between += squares / weight
    for k in range(n_classes):
        common += all_sums[k] * all_sums[k] / all_weight
    return is_clear(between - common, all_weight - common, n_rows, n_groups)


@inlined
def share_of(scratch, group, n_classes, which):
    """The share of a class in a group."""
    words, weight = scratch.cell_words, int64(0)
    for k in range(n_classes):
        weight += words[group * n_classes + k] & WEIGHT_MASK
    return float64(words[group * n_classes + which] & WEIGHT_MASK) / float64(weight)


@part
def order_by_share(scratch, n_groups, n_classes, which):
    """Order the groups by the share of a class."""
    for group in range(n_groups):
        scratch.group_mean[group] = share_of(scratch, group, n_classes, which)
    merge_sort(scratch.group_mean, scratch.group_order, scratch.group_spare, n_groups)


@inlined
def note_members(problem, scratch, feature, n_groups, n_left, desk, rank):
    """Write down that the first groups go left and the others right."""
    member_at = rank * problem.max_categories
    for code in range(problem.n_codes[feature]):
        desk.member[member_at + code] = ABSENT
    for place in range(n_groups):
        category = category_of(scratch, scratch.group_order[place])
        desk.member[member_at + category] = LEFT if place < n_left else RIGHT


# --- class weights ---------------------------------------------------------------------


@inlined
def list_class_groups(scratch, n_codes, n_classes):
    """List the categories that a node has; returns how many, and how many rows have none.

    Their cells become neighbours: those of a group begin at its number times ``n_classes``.
    """
    words, n_groups, n_missing = scratch.cell_words, int64(0), int64(0)
    for group in range(list_occupied(scratch, n_codes)):
        code, content = category_of(scratch, group), int64(0)
        for k in range(n_classes):
            word = words[code * n_classes + k]
            words[code * n_classes + k] = 0
            words[n_groups * n_classes + k] = word
            content += word
        name_group(scratch, n_groups, code)
        n_groups += content > 0  # where rows are many, all codes are noted
    for k in range(n_classes):
        n_missing += words[n_codes * n_classes + k] >> 32
    return n_groups, n_missing


@inlined
def clear_class_groups(scratch, n_groups, n_codes, n_classes):
    """Leave nothing in the cells of groups and of missing values."""
    for cell in range(n_groups * n_classes):
        scratch.cell_words[cell] = 0
    for k in range(n_classes):
        scratch.cell_words[n_codes * n_classes + k] = 0


@inlined
def open_class_groups(problem, scratch, feature, missing_left):
    """Class weights of the left side, and rows and weight of all classes in one word."""
    n_classes, words, left = scratch.ask.n_totals, scratch.cell_words, scratch.left
    content = int64(0)
    for k in range(n_classes):
        added = words[problem.n_codes[feature] * n_classes + k] if missing_left else 0
        left[k] = float64(added & WEIGHT_MASK)
        content += added
    return left, content


@inlined
def add_class_group(scratch, left, content, group):
    """Bring the cells of a group to the left side."""
    n_classes, words = scratch.ask.n_totals, scratch.cell_words
    for k in range(n_classes):
        added = words[group * n_classes + k]
        left[k] += float64(added & WEIGHT_MASK)
        content += added
    return left, content


@inlined
def rows_of_classes(content):
    """The upper half of a word."""
    return content >> 32


def make_group_scan(sums: Any, judge: Any, variant: str | None) -> Any:
    """Walk along groups of categories in their order.

    ``sums`` are three functions: ``open`` puts on the left what is there before, maybe the missing
    values, ``add`` brings a group there, and ``rows`` tells how many rows are there.
    """
    open_left, add, rows_of = sums

    def try_order(problem, scratch, feature, n_groups, only, n_missing, node_rows, desk, rank):
        """Judge EVERY cut, or ``only`` that one behind so many groups."""
        best_cut = int64(-1)
        for missing_left in range(1 + (n_missing > 0 and only < 0)):
            left, content = open_left(problem, scratch, feature, missing_left)
            for place in range(n_groups if only < 0 else only):
                left, content = add(scratch, left, content, scratch.group_order[place])
                if only >= 0 and place + 1 < only:
                    continue
                counted = (node_rows, rows_of(content), n_missing)
                if judge(problem, scratch, feature, left, counted, missing_left, place, desk, rank):
                    best_cut = place
        if best_cut >= 0:
            note_members(problem, scratch, feature, n_groups, best_cut + 1, desk, rank)

    return part_of(try_order, variant)


def make_class_category_search(judge: Any, variant: str | None) -> Any:
    """The kernel; ``judge`` is that of `scan.make_cut_judge`."""
    class_groups = (open_class_groups, add_class_group, rows_of_classes)
    try_groups = make_group_scan(class_groups, judge, variant)

    def search_class_categories(slots, node, feature, rank, desk_at):
        problem = load_problem(slots, PROBLEM_AT)
        nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
        desk, general = load_desk(slots, desk_at), problem.steps.search_category
        if not problem.weights.whole:
            return general(slots, node, feature, rank, desk_at)
        node_rows = int64(nodes.last[node]) - int64(nodes.first[node])
        n_classes, n_codes = scratch.ask.n_totals, problem.n_codes[feature]
        problem.steps.fill(slots, node, feature)
        n_groups, n_missing = list_class_groups(scratch, n_codes, n_classes)
        varies = n_groups > 0 and n_groups + (n_missing > 0) > 1
        listed = varies
        if not shares_differ(problem, scratch, n_groups, n_classes, node_rows):
            shuffle_groups(scratch, n_groups, derive_for_feature(nodes.key[node], feature))
        elif n_classes == 2:
            order_by_share(scratch, n_groups, n_classes, int64(1))
        else:
            listed = False
        if listed:
            try_groups(problem, scratch, feature, n_groups, EVERY, n_missing, node_rows, desk, rank)
        clear_class_groups(scratch, n_groups, n_codes, n_classes)
        if varies and not listed:
            return general(slots, node, feature, rank, desk_at)
        return varies

    return step(Search, variant)(search_class_categories)


# --- values ------------------------------------------------------------------------------

WIDTH = 4  # of a cell: rows, weight, sum and second moment


@inlined
def list_value_groups(problem, rows, scratch, feature, first, last):
    """Fill the cells of a node, and list the categories that it has; returns how many."""
    n_codes, cells = problem.n_codes[feature], scratch.cell_sums
    into = (cells, scratch.occupied, rows.stats)
    collect_moments(problem, rows.row, feature, first, last, n_codes, into, 0)
    n_groups = list_occupied(scratch, n_codes)
    for group in range(n_groups):
        cell = WIDTH * category_of(scratch, group)
        scratch.group_mean[group] = cells[cell + 2] / cells[cell + 1]
    return n_groups


@inlined
def values_differ(problem, scratch, n_groups, n_rows):
    """Whether the groups differ by more than chance, as `split_categories.groups_differ`."""
    cells, logs = scratch.cell_sums, problem.sums.logs
    if not may_differ(problem, n_rows, n_groups):
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


@inlined
def open_moment_groups(problem, scratch, feature, missing_left):
    """Moments of the left side, and how many rows are there."""
    cells, cell = scratch.cell_sums, WIDTH * problem.n_codes[feature]
    left, rows = (0.0, 0.0, 0.0), 0.0
    if missing_left:
        left, rows = (cells[cell + 1], cells[cell + 2], cells[cell + 3]), cells[cell]
    return left, rows


@inlined
def add_moment_group(scratch, left, rows, group):
    """Bring the cell of a group to the left side."""
    cells, cell = scratch.cell_sums, WIDTH * category_of(scratch, group)
    left = (left[0] + cells[cell + 1], left[1] + cells[cell + 2], left[2] + cells[cell + 3])
    return left, rows + cells[cell]


@inlined
def rows_of_moments(rows):
    """As a whole number."""
    return int64(rows)


def make_moment_category_search(judge: Any, variant: str | None) -> Any:
    """The kernel; ``judge`` is that of `scan.make_cut_judge`."""
    moment_groups = (open_moment_groups, add_moment_group, rows_of_moments)
    try_groups = make_group_scan(moment_groups, judge, variant)

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
            key, only = derive_for_feature(nodes.key[node], feature), int64(EVERY)
            random, may_be = problem.rules.random_cuts, True
            asks = random and n_missing > 0
            asks = asks and draws_missing(
                feature, cells[missing_at + 1], scratch.total[0], nodes.key[node]
            )
            differ = not asks and values_differ(problem, scratch, n_groups, last - first)
            if differ:
                means, order = scratch.group_mean, scratch.group_order
                merge_sort(means, order, scratch.group_spare, n_groups)
            if asks:
                only = n_groups
            elif random and differ:
                only = cut_means(scratch, n_groups, key, False)
            elif random:
                only = draw_subset(scratch, n_groups, key)
                may_be = may_ask(problem, feature, n_groups > 1)
            elif not differ:
                shuffle_groups(scratch, n_groups, key)
            if may_be:
                try_groups(
                    problem, scratch, feature, n_groups, only, n_missing, last - first, desk, rank
                )
        for group in range(n_groups):
            cell = WIDTH * category_of(scratch, group)
            for k in range(WIDTH):
                cells[cell + k] = 0.0
        for k in range(WIDTH):
            cells[missing_at + k] = 0.0
        return varies

    return step(Search, variant)(search_moment_categories)

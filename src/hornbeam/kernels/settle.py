"""Make the best split of a node real: part its rows, make and sum up its children."""

from __future__ import annotations

import math

from numba import float64, int64, types

from hornbeam.dtypes import EPSILON, MISSING_BIN, MISSING_RANK
from hornbeam.kernels.split import ask_about_node
from hornbeam.kernels.state import (
    ANSWER_WEIGHT,
    ASK_FIRST,
    ASK_LAST,
    BYTES,
    CONSTRAINED,
    HAND_ON_BOUNDS,
    KEEP_SET,
    KNOWS_CONSTANT,
    LEFT,
    MAX_CATEGORIES,
    MIN_DECREASE,
    N_FEATURES,
    N_LABELS,
    N_ROWS,
    N_STATS,
    N_TOTALS,
    NODES_AT,
    PROBLEM_AT,
    RANDOM_CUTS,
    ROWS_AT,
    SCRATCH_AT,
    SUMMARY,
    TEAM_DESK_AT,
    TILED,
    TOTAL_WEIGHT,
    UNSEEN,
    load_desk,
    load_nodes,
    load_problem,
    load_rows,
    load_scratch,
)
from hornbeam.runtime.atomics import NODE_COUNT, atomic_add, call_address
from hornbeam.runtime.kernel import inlined, kernel, part
from hornbeam.runtime.random import derive


@inlined
def best_rank(desk, size):
    """Which thread of the desk found the best split: score, then the lower feature."""
    best = 0
    for rank in range(1, size):
        score, best_score = desk.best_score[rank], desk.best_score[best]
        earlier = desk.best_feature[rank] < desk.best_feature[best]
        if score > best_score or (score == best_score and earlier):
            best = rank
    return best


@inlined
def list_sides(problem, scratch, desk, rank, feature, cut, missing_left):
    """For each code in bins whether it goes left, so that no row has to be asked more."""
    sides, n_codes = scratch.sides, problem.n_codes[feature]
    if problem.is_category[feature]:
        member_at = rank * problem.whole[MAX_CATEGORIES]
        for code in range(n_codes):
            sides[code] = desk.member[member_at + code] == LEFT
    else:
        for code in range(n_codes):
            sides[code] = code <= cut
    sides[MISSING_BIN] = missing_left


@inlined
def part_by_bin(problem, rows, nodes, node, scratch, desk, rank):
    """`part_rows` where codes are bins and rows have one label and weight, or three moments."""
    feature, cut = desk.best_feature[rank], desk.best_cut[rank]
    list_sides(problem, scratch, desk, rank, feature, cut, desk.best_missing_left[rank])
    offset, sides = feature * problem.whole[N_ROWS], scratch.sides
    row, labels, stats, bins = rows.row, rows.labels, rows.stats, problem.bins
    spare_row, spare_labels = scratch.spare_row, scratch.spare_labels
    spare_stats = scratch.spare_stats
    first, last = int64(nodes.first[node]), int64(nodes.last[node])
    left, right = first, 0
    low_code, high_code = int64(-1), int64(MISSING_BIN)
    if problem.whole[N_LABELS] == 1:
        for j in range(first, last):
            here, label, stat = row[j], labels[j], stats[j]
            code = int64(bins[offset + here])
            goes_left = int64(sides[code])
            low_code = max(low_code, code if code <= cut else int64(-1))
            high_code = min(high_code, int64(MISSING_BIN) if code <= cut else code)
            row[left], labels[left], stats[left] = here, label, stat
            spare_row[right], spare_labels[right], spare_stats[right] = here, label, stat
            left += goes_left
            right += 1 - goes_left
        for i in range(right):
            labels[left + i] = spare_labels[i]
        for i in range(right):
            stats[left + i] = spare_stats[i]
    else:
        for j in range(first, last):
            here = row[j]
            weight, total, second = stats[3 * j], stats[3 * j + 1], stats[3 * j + 2]
            code = int64(bins[offset + here])
            goes_left = int64(sides[code])
            low_code = max(low_code, code if code <= cut else int64(-1))
            high_code = min(high_code, int64(MISSING_BIN) if code <= cut else code)
            row[left], spare_row[right] = here, here
            stats[3 * left], spare_stats[3 * right] = weight, weight
            stats[3 * left + 1], spare_stats[3 * right + 1] = total, total
            stats[3 * left + 2], spare_stats[3 * right + 2] = second, second
            left += goes_left
            right += 1 - goes_left
        for i in range(3 * right):
            stats[3 * left + i] = spare_stats[i]
    for i in range(right):
        row[left + i] = spare_row[i]
    nodes.low_code[node] = low_code
    nodes.high_code[node] = high_code if high_code < MISSING_BIN else -1
    return left


@inlined
def part_rows(problem, rows, nodes, node, scratch, desk, rank):
    """Move the rows that go left before those that go right, keeping their order.

    Both places are written and one of them advances, so there is no branch to mispredict.
    Returns the first row of the right side.
    """
    feature, cut = desk.best_feature[rank], desk.best_cut[rank]
    missing_left = desk.best_missing_left[rank]
    category, as_bytes = problem.is_category[feature], problem.whole[BYTES]
    missing_code = MISSING_BIN if as_bytes else MISSING_RANK
    member_at = rank * problem.whole[MAX_CATEGORIES]
    n_labels, n_stats = problem.whole[N_LABELS], problem.whole[N_STATS]
    offset = feature * problem.whole[N_ROWS]
    first, last = int64(nodes.first[node]), int64(nodes.last[node])
    left, right = first, 0
    low_code, high_code = int64(-1), int64(MISSING_RANK)
    low_row, high_row = int64(0), int64(0)
    for j in range(first, last):
        row = rows.row[j]
        code = int64(problem.bins[offset + row]) if as_bytes else int64(problem.ranks[offset + row])
        if code == missing_code:
            goes_left = missing_left
        elif category:
            goes_left = int64(desk.member[member_at + code] == LEFT)
        else:
            goes_left = int64(code <= cut)
            if goes_left:
                if code > low_code:
                    low_code, low_row = code, int64(row)
            elif code < high_code:
                high_code, high_row = code, int64(row)
        rows.row[left] = row
        scratch.spare_row[right] = row
        for o in range(n_labels):
            label = rows.labels[j * n_labels + o]
            rows.labels[left * n_labels + o] = label
            scratch.spare_labels[right * n_labels + o] = label
        for s in range(n_stats):
            stat = rows.stats[j * n_stats + s]
            rows.stats[left * n_stats + s] = stat
            scratch.spare_stats[right * n_stats + s] = stat
        left += goes_left
        right += 1 - goes_left
    for i in range(right):
        rows.row[left + i] = scratch.spare_row[i]
    for i in range(right * n_labels):
        rows.labels[left * n_labels + i] = scratch.spare_labels[i]
    for i in range(right * n_stats):
        rows.stats[left * n_stats + i] = scratch.spare_stats[i]
    nodes.low_code[node] = low_code
    nodes.high_code[node] = high_code if high_code < MISSING_RANK else -1
    tiled = problem.whole[TILED]
    nodes.low_row[node] = problem.origin[low_row] if tiled else low_row
    nodes.high_row[node] = problem.origin[high_row] if tiled else high_row
    return left


@part
def summarise(problem, rows, nodes, node, scratch):
    """Totals, weight and impurity of a node from its rows."""
    scratch.ask[ASK_FIRST] = nodes.first[node]
    scratch.ask[ASK_LAST] = nodes.last[node]
    nodes.impurity[node] = call_address(
        problem.whole[SUMMARY],
        (
            rows.labels,
            rows.stats,
            problem.class_start,
            scratch.total,
            scratch.order,
            scratch.ask,
            scratch.real,
        ),
    )
    nodes.weight[node] = scratch.real[ANSWER_WEIGHT]
    n_totals = problem.whole[N_TOTALS]
    for k in range(n_totals):
        nodes.totals[node * n_totals + k] = scratch.total[k]


@inlined
def make_children(problem, rows, nodes, node, middle, scratch, shared):
    """Make both children of a node whose rows are parted at ``middle``."""
    child = atomic_add(shared, NODE_COUNT, 2)
    nodes.child[node] = child
    n_features = problem.whole[N_FEATURES]
    for branch in range(2):
        new = child + branch
        nodes.first[new] = middle if branch else nodes.first[node]
        nodes.last[new] = nodes.last[node] if branch else middle
        nodes.depth[new] = nodes.depth[node] + 1
        nodes.state[new] = UNSEEN
        nodes.key[new] = derive(nodes.key[node], branch)
        if problem.whole[KNOWS_CONSTANT]:
            for f in range(n_features):
                nodes.constant[new * n_features + f] = nodes.constant[node * n_features + f]
        summarise(problem, rows, nodes, new, scratch)
    return child


@kernel
def settle(slots, node, desk_at, size):
    """Turn the best split of a node into children; returns 1 if the gain is large enough.

    Node -1 stands for the root, which is only to be summed up.
    """
    problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
    nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
    desk, shared = load_desk(slots, desk_at), load_desk(slots, TEAM_DESK_AT).words
    ask_about_node(problem, nodes, max(node, 0), scratch)
    if node < 0:
        summarise(problem, rows, nodes, 0, scratch)
        problem.real[TOTAL_WEIGHT] = nodes.weight[0]
        return 0.0
    rank = best_rank(desk, size)
    if desk.best_score[rank] == -math.inf:
        return 0.0
    feature = desk.best_feature[rank]
    nodes.feature[node] = feature
    nodes.missing_left[node] = desk.best_missing_left[rank]
    if problem.whole[RANDOM_CUTS]:
        nodes.threshold[node] = desk.best_threshold[rank]
    n_labels, n_stats = problem.whole[N_LABELS], problem.whole[N_STATS]
    usual = (n_labels == 1 and n_stats == 1) or (n_labels == 0 and n_stats == 3)
    if problem.whole[BYTES] and usual:
        middle = part_by_bin(problem, rows, nodes, node, scratch, desk, rank)
    else:
        middle = part_rows(problem, rows, nodes, node, scratch, desk, rank)
    if problem.is_category[feature]:
        call_address(problem.whole[KEEP_SET], (slots, node, rank, desk_at))
    child = make_children(problem, rows, nodes, node, middle, scratch, shared)
    if problem.whole[CONSTRAINED]:
        call_address(problem.whole[HAND_ON_BOUNDS], (slots, node))
    left, right = nodes.weight[child], nodes.weight[child + 1]
    remaining = left * nodes.impurity[child] + right * nodes.impurity[child + 1]
    decrease = nodes.impurity[node] - remaining / (left + right)
    gain = nodes.weight[node] / problem.real[TOTAL_WEIGHT] * decrease
    nodes.gain[node] = gain
    return float64(gain + EPSILON >= problem.real[MIN_DECREASE])


SETTLE_SIGNATURE = float64(types.Array(int64, 1, "C"), int64, int64, int64)

"""Part the rows of a node between its children.

The rows that go left move before those that go right, and both keep their order. Both
places are written and one of them advances, so there is no branch to mispredict. Each
kernel returns the first row of the right side; growing calls the one that fits by its
address.
"""

from __future__ import annotations

from numba import float64, int64

from hornbeam.dtypes import MISSING_BIN, MISSING_RANK
from hornbeam.kernels.state import (
    BYTES,
    LEFT,
    MAX_CATEGORIES,
    N_LABELS,
    N_ROWS,
    N_STATS,
    NODES_AT,
    PROBLEM_AT,
    ROWS_AT,
    SCRATCH_AT,
    TILED,
    load_desk,
    load_nodes,
    load_problem,
    load_rows,
    load_scratch,
)
from hornbeam.runtime.kernel import inlined, step
from hornbeam.runtime.pointers import SLOTS

NOT_LEFT = -1  # below every code


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


@step
def part_labelled(slots, node, desk_at, rank):
    """Part rows that have one label and one weight each; codes are bins."""
    problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
    nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
    desk = load_desk(slots, desk_at)
    feature, cut = desk.best_feature[rank], desk.best_cut[rank]
    list_sides(problem, scratch, desk, rank, feature, cut, desk.best_missing_left[rank])
    offset, sides, bins = feature * problem.whole[N_ROWS], scratch.sides, problem.bins
    row, labels, stats = rows.row, rows.labels, rows.stats
    spare_row, spare_labels = scratch.spare_row, scratch.spare_labels
    spare_stats = scratch.spare_stats
    first, last = int64(nodes.first[node]), int64(nodes.last[node])
    left, right = first, 0
    low_code, high_code = int64(NOT_LEFT), int64(MISSING_BIN)
    for j in range(first, last):
        here, label, stat = row[j], labels[j], stats[j]
        code = int64(bins[offset + here])
        goes_left = int64(sides[code])
        low_code = max(low_code, code if code <= cut else int64(NOT_LEFT))
        high_code = min(high_code, int64(MISSING_BIN) if code <= cut else code)
        row[left], labels[left], stats[left] = here, label, stat
        spare_row[right], spare_labels[right], spare_stats[right] = here, label, stat
        left += goes_left
        right += 1 - goes_left
    for i in range(right):
        row[left + i] = spare_row[i]
    for i in range(right):
        labels[left + i] = spare_labels[i]
    for i in range(right):
        stats[left + i] = spare_stats[i]
    nodes.low_code[node] = low_code
    nodes.high_code[node] = high_code if high_code < MISSING_BIN else -1
    return float64(left)


@step
def part_moments(slots, node, desk_at, rank):
    """Part rows that have three moments each; codes are bins."""
    problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
    nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
    desk = load_desk(slots, desk_at)
    feature, cut = desk.best_feature[rank], desk.best_cut[rank]
    list_sides(problem, scratch, desk, rank, feature, cut, desk.best_missing_left[rank])
    offset, sides, bins = feature * problem.whole[N_ROWS], scratch.sides, problem.bins
    row, stats = rows.row, rows.stats
    spare_row, spare_stats = scratch.spare_row, scratch.spare_stats
    first, last = int64(nodes.first[node]), int64(nodes.last[node])
    left, right = first, 0
    low_code, high_code = int64(NOT_LEFT), int64(MISSING_BIN)
    for j in range(first, last):
        here = row[j]
        weight, total, second = stats[3 * j], stats[3 * j + 1], stats[3 * j + 2]
        code = int64(bins[offset + here])
        goes_left = int64(sides[code])
        low_code = max(low_code, code if code <= cut else int64(NOT_LEFT))
        high_code = min(high_code, int64(MISSING_BIN) if code <= cut else code)
        row[left], spare_row[right] = here, here
        stats[3 * left], spare_stats[3 * right] = weight, weight
        stats[3 * left + 1], spare_stats[3 * right + 1] = total, total
        stats[3 * left + 2], spare_stats[3 * right + 2] = second, second
        left += goes_left
        right += 1 - goes_left
    for i in range(right):
        row[left + i] = spare_row[i]
    for i in range(3 * right):
        stats[3 * left + i] = spare_stats[i]
    nodes.low_code[node] = low_code
    nodes.high_code[node] = high_code if high_code < MISSING_BIN else -1
    return float64(left)


@step
def part_rows(slots, node, desk_at, rank):
    """Part rows in the general case: any labels, statistics and codes."""
    problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
    nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
    desk = load_desk(slots, desk_at)
    feature, cut = desk.best_feature[rank], desk.best_cut[rank]
    missing_left = desk.best_missing_left[rank]
    category, as_bytes = problem.is_category[feature], problem.whole[BYTES]
    missing_code = MISSING_BIN if as_bytes else MISSING_RANK
    member_at = rank * problem.whole[MAX_CATEGORIES]
    n_labels, n_stats = problem.whole[N_LABELS], problem.whole[N_STATS]
    offset = feature * problem.whole[N_ROWS]
    first, last = int64(nodes.first[node]), int64(nodes.last[node])
    left, right = first, 0
    low_code, high_code = int64(NOT_LEFT), int64(MISSING_RANK)
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
    return float64(left)


PART_SIGNATURE = float64(SLOTS, int64, int64, int64)

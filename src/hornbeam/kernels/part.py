"""Part the rows of a node between its children.

The rows that go left move before those that go right, and both keep their order. Both
places are written and one of them advances, so there is no branch to mispredict. What
belongs to a row is parted array by array: a loop over all of them at once has more
pointers than a processor has registers; only where rows are few is it faster. Each kernel
returns the first row of the right side; growing calls the one that fits by its address.
"""

from __future__ import annotations

from numba import int64, uint8

from hornbeam.dtypes import MISSING_BIN, MISSING_RANK
from hornbeam.kernels.lanes import PART_LANES, copy_four, part_lanes
from hornbeam.kernels.pieces import column_of, next_piece
from hornbeam.kernels.state import (
    LEFT,
    NODES_AT,
    PROBLEM_AT,
    ROWS_AT,
    SCRATCH_AT,
    PartRows,
    load_desk,
    load_nodes,
    load_problem,
    load_rows,
    load_scratch,
)
from hornbeam.runtime.kernel import inlined, part, step

NOT_LEFT = -1  # below every code
FEW_ROWS = 16


@inlined
def list_bins(problem, listed, feature, row, first, n_rows):
    """List the codes of a node's rows."""
    begin, last = first, first + n_rows
    while begin < last:
        page, end = next_piece(problem, row, begin, last)
        bins, offset = page.bins, column_of(page, feature)
        for j in range(begin, end):
            listed[j - first] = bins[offset + row[j]]
        begin = end


@inlined
def find_category_sides(problem, scratch, desk, rank, feature, missing_left, row, first, n_rows):
    """List for each row of a node whether its category goes left."""
    member_at, n_codes = rank * problem.max_categories, problem.n_codes[feature]
    sides, row_sides = scratch.sides, scratch.row_sides
    for code in range(n_codes):
        sides[code] = desk.member[member_at + code] == LEFT
    sides[MISSING_BIN] = missing_left
    list_bins(problem, row_sides, feature, row, first, n_rows)
    for i in range(n_rows):
        row_sides[i] = sides[row_sides[i]]


@inlined
def find_number_sides(
    problem, nodes, node, scratch, feature, cut, missing_left, row, first, n_rows
):
    """List for each row of a node whether it is below the cut; note the codes next to it."""
    row_sides = scratch.row_sides
    missing, last_left, missing_side = uint8(MISSING_BIN), uint8(cut), uint8(missing_left)
    list_bins(problem, row_sides, feature, row, first, n_rows)
    if not problem.rules.random_cuts:
        low, high = uint8(0), missing
        for i in range(n_rows):
            code = row_sides[i]
            low = max(low, code if code <= last_left else uint8(0))
            high = min(high, missing if code <= last_left else code)
        nodes.low_code[node] = low
        nodes.high_code[node] = high if high < missing else -1
    for i in range(n_rows):
        code = row_sides[i]
        row_sides[i] = uint8(code <= last_left) | (uint8(code == missing) & missing_side)


@part
def find_sides(problem, rows, nodes, node, scratch, desk, rank):
    """List for each row of a node whether it goes left; returns the rows' place and number."""
    feature, cut = desk.best_feature[rank], desk.best_cut[rank]
    row, missing_left = rows.row, desk.best_missing_left[rank]
    first, n_rows = int64(nodes.first[node]), int64(nodes.last[node] - nodes.first[node])
    if problem.is_category[feature]:
        find_category_sides(problem, scratch, desk, rank, feature, missing_left, row, first, n_rows)
    else:
        find_number_sides(
            problem, nodes, node, scratch, feature, cut, missing_left, row, first, n_rows
        )
    return first, n_rows


@part
def move(items, spare, row_sides, first, n_rows):
    """Part one array of a node's rows; returns the first place of the right side."""
    left, right = first, int64(0)
    n_together = n_rows - n_rows % PART_LANES
    for i in range(0, n_together, PART_LANES):
        gone_left = part_lanes(items, first + i, left, spare, right, row_sides, i)
        left += gone_left
        right += PART_LANES - gone_left
    for i in range(n_together, n_rows):
        item, goes_left = items[first + i], int64(row_sides[i])
        items[left], spare[right] = item, item
        left += goes_left
        right += 1 - goes_left
    for i in range(right):
        items[left + i] = spare[i]
    return left


@part
def move_together(rows, scratch, first, n_rows, n_labels, n_stats):
    """Part all arrays of a node's rows in one loop; returns the first row of the right side."""
    row, labels, stats = rows.row, rows.labels, rows.stats
    spare_row, spare_labels, spare_stats = (
        scratch.spare_row,
        scratch.spare_labels,
        scratch.spare_stats,
    )
    left, right = first, int64(0)
    for i in range(n_rows):
        j, goes_left = first + i, int64(scratch.row_sides[i])
        number = row[j]
        row[left], spare_row[right] = number, number
        for o in range(n_labels):
            label = labels[j * n_labels + o]
            labels[left * n_labels + o], spare_labels[right * n_labels + o] = label, label
        for s in range(n_stats):
            stat = stats[j * n_stats + s]
            stats[left * n_stats + s], spare_stats[right * n_stats + s] = stat, stat
        left += goes_left
        right += 1 - goes_left
    for i in range(right):
        row[left + i] = spare_row[i]
        for o in range(n_labels):
            labels[(left + i) * n_labels + o] = spare_labels[i * n_labels + o]
        for s in range(n_stats):
            stats[(left + i) * n_stats + s] = spare_stats[i * n_stats + s]
    return left


@step(PartRows)
def part_labelled(slots, node, desk_at, rank):
    """Part rows that have one label and one weight each; codes are bins."""
    problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
    nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
    desk, row_sides = load_desk(slots, desk_at), scratch.row_sides
    first, n_rows = find_sides(problem, rows, nodes, node, scratch, desk, rank)
    if n_rows < FEW_ROWS:
        n_stats = int64(not problem.weights.unit)
        return move_together(rows, scratch, first, n_rows, 1, n_stats)
    left = move(rows.row, scratch.spare_row, row_sides, first, n_rows)
    move(rows.labels, scratch.spare_labels, row_sides, first, n_rows)
    if not problem.weights.unit:  # they are all alike
        move(rows.stats, scratch.spare_stats, row_sides, first, n_rows)
    return left


@step(PartRows)
def part_moments(slots, node, desk_at, rank):
    """Part rows that have three moments each; codes are bins."""
    problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
    nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
    desk, row_sides = load_desk(slots, desk_at), scratch.row_sides
    stats, spare_stats = rows.stats, scratch.spare_stats
    first, n_rows = find_sides(problem, rows, nodes, node, scratch, desk, rank)
    if n_rows < FEW_ROWS:
        return move_together(rows, scratch, first, n_rows, 0, 3)
    middle = move(rows.row, scratch.spare_row, row_sides, first, n_rows)
    left, right = 3 * first, int64(0)
    # The fourth is the next row's first: it is written where it was, or where nobody reads.
    for i in range(n_rows - 1):
        goes_left = 3 * int64(row_sides[i])
        copy_four(stats, 3 * (first + i), stats, left, spare_stats, right)
        left += goes_left
        right += 3 - goes_left
    goes_left = 3 * int64(row_sides[n_rows - 1])
    for i in range(3):
        stat = stats[3 * (first + n_rows - 1) + i]
        stats[left + i], spare_stats[right + i] = stat, stat
    left += goes_left
    right += 3 - goes_left
    for i in range(right):
        stats[left + i] = spare_stats[i]
    return middle


@step(PartRows)
def part_rows(slots, node, desk_at, rank):
    """Part rows in the general case: any labels, statistics and codes."""
    problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
    nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
    desk = load_desk(slots, desk_at)
    feature, cut = desk.best_feature[rank], desk.best_cut[rank]
    missing_left = desk.best_missing_left[rank]
    category, as_bytes = problem.is_category[feature], problem.as_bytes
    missing_code = MISSING_BIN if as_bytes else MISSING_RANK
    member_at = rank * problem.max_categories
    n_labels, n_stats = problem.sums.n_labels, problem.sums.n_stats
    row = rows.row
    first, last = int64(nodes.first[node]), int64(nodes.last[node])
    low_code, high_code = int64(NOT_LEFT), int64(MISSING_RANK)
    low_row, high_row = int64(0), int64(0)
    begin = first
    while begin < last:
        page, end = next_piece(problem, row, begin, last)
        bins, ranks, offset = page.bins, page.ranks, column_of(page, feature)
        for j in range(begin, end):
            code = int64(bins[offset + row[j]]) if as_bytes else int64(ranks[offset + row[j]])
            if code == missing_code:
                goes_left = missing_left
            elif category:
                goes_left = int64(desk.member[member_at + code] == LEFT)
            else:
                goes_left = int64(code <= cut)
                if goes_left:
                    if code > low_code:
                        low_code, low_row = code, int64(row[j])
                elif code < high_code:
                    high_code, high_row = code, int64(row[j])
            scratch.row_sides[j - first] = goes_left
        begin = end
    left = move_together(rows, scratch, first, last - first, n_labels, n_stats)
    nodes.low_code[node] = low_code
    nodes.high_code[node] = high_code if high_code < MISSING_RANK else -1
    tiled = problem.tiled
    nodes.low_row[node] = problem.origin[low_row] if tiled else low_row
    nodes.high_row[node] = problem.origin[high_row] if tiled else high_row
    return left

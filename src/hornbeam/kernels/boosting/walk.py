"""Rows that a tree was not grown on walk down it to their leaves.

The trail of a node is where a row looks next::

    trail[TRAIL * node]         (first child << 32) + column, and whether its children are leaves
    trail[TRAIL * node + 1 ..]  256 bits: the codes of the column that go left

so that numbers, categories, missing values and features that share a column are one and the same
step. A row waits for memory at every node on its way; so many rows take a step each before any
takes the next one, and none waits for another. Those that have come to a leaf leave the list.
"""

from __future__ import annotations

from numba import int64, types, uint64

from hornbeam.kernels.boosting.nodes import goes_left
from hornbeam.kernels.boosting.state import (
    MEMBER_WORDS,
    MISSING,
    NODES_AT,
    ROWS_AT,
    TABLE_AT,
    TRAIL,
    load_nodes,
    load_rows,
    load_table,
    page_of,
)
from hornbeam.kernels.boosting.steps import WalkRows
from hornbeam.runtime.kernel import kernel, part, step
from hornbeam.runtime.pointers import bare

_TOGETHER = 512  # rows that take a step each before any takes the next one
# Bits of the first word of a trail: the left and the right child is a leaf, then the column.
_LEFT_IS_LEAF, _RIGHT_IS_LEAF = 31, 30
_COLUMN_BITS = (1 << 30) - 1


@kernel
def lay_trails(slots, n_nodes):
    """Lay the trails of a finished tree on a table that is not sparse."""
    slots = bare(slots)
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    if table.shape.is_sparse or table.shape.is_listed:
        return  # its rows are looked up one by one
    for node in range(n_nodes):
        at, child = node * TRAIL, uint64(nodes.child[node])
        nodes.trail[at] = uint64(0)
        if child == 0:
            continue
        feature = int64(nodes.feature[node])
        to_leaf = uint64(nodes.child[child] == 0) << uint64(_LEFT_IS_LEAF)
        to_leaf |= uint64(nodes.child[child + uint64(1)] == 0) << uint64(_RIGHT_IS_LEAF)
        nodes.trail[at] = (child << uint64(32)) | to_leaf | uint64(table.column[feature])
        for word in range(MEMBER_WORDS):
            nodes.trail[at + 1 + word] = uint64(0)
        for code in range(256):
            left = uint64(goes_left(table, nodes, node, feature, code))
            nodes.trail[at + 1 + (code >> 6)] |= left << uint64(code & 63)


@part
def code_of_entry(table, held, row, feature):
    """The code of one cell of a page of a sparse table."""
    row -= held.start
    start, stop = table.cell_start[feature], table.cell_start[feature + 1]
    low, high = held.entry_start[row], held.entry_start[row + 1]
    while low < high:  # the first entry that is not before the feature's cells
        middle = (low + high) >> 1
        if int64(held.entry_cell[middle]) < start:
            low = middle + 1
        else:
            high = middle
    if low == held.entry_start[row + 1] or int64(held.entry_cell[low]) >= stop:
        return int64(table.default[feature])
    code = int64(held.entry_cell[low]) - start
    return int64(MISSING) if code == table.n_codes[feature] else code


@part
def walk_entries(table, held, nodes, row):
    """The leaf of a row of a sparse table."""
    node = int64(0)
    while nodes.child[node] != 0:
        feature = int64(nodes.feature[node])
        code = code_of_entry(table, held, row, feature)
        node = int64(nodes.child[node]) + 1 - goes_left(table, nodes, node, feature, code)
    return node


@part
def rank_at(table, held, row, feature):
    """The code of one cell of a page with sorted lists: the rank of its value, -1: missing."""
    row -= held.start
    if not table.shape.is_sparse:
        return int64(held.rank[feature * held.n_rows + row])
    low, high = held.column_start[feature], held.column_start[feature + 1]
    stop = high
    while low < high:  # the first entry that is not before the row
        middle = (low + high) >> 1
        if int64(held.column_row[middle]) < row:
            low = middle + 1
        else:
            high = middle
    if low == stop or int64(held.column_row[low]) != row:
        return int64(table.default[feature])
    return int64(held.rank[low])


@part
def walk_ranks(table, held, nodes, row):
    """The leaf of a row of a page with sorted lists."""
    node = int64(0)
    while nodes.child[node] != 0:
        feature = int64(nodes.feature[node])
        code = rank_at(table, held, row, feature)
        if code < 0:
            left = int64(nodes.missing_left[node])
        elif table.is_category[feature]:
            word = nodes.member[node * MEMBER_WORDS + (code >> 6)]
            left = int64((word >> uint64(code & 63)) & uint64(1))
        else:
            left = int64(code <= int64(nodes.cut[node]))
        node = int64(nodes.child[node]) + 1 - left
    return node


@part
def walk_together(table, held, rows, nodes, start, stop):
    """Walk those of some rows of a page down whose leaves are not known.

    The list of those on their way has a place for each row of the table, so that nobody else
    writes there.
    """
    trail, by_row, leaf, waiting = nodes.trail, held.by_row, rows.leaf, rows.waiting
    stride, end = table.shape.stride, start
    for row in range(start, stop):
        waiting[end] = row
        end += leaf[row] < 0
        leaf[row] = max(leaf[row], 0)
    if nodes.child[0] == 0:
        return
    while end > start:
        last, end = end, start
        for j in range(start, last):
            row = int64(waiting[j])
            at = int64(leaf[row]) * TRAIL
            there = trail[at]
            code = int64(by_row[(row - held.start) * stride + int64(there & uint64(_COLUMN_BITS))])
            left = (trail[at + 1 + (code >> 6)] >> uint64(code & 63)) & uint64(1)
            leaf[row] = int64(there >> uint64(32)) + 1 - int64(left)
            waiting[end] = row
            end += 1 - int64((there >> (uint64(_RIGHT_IS_LEAF) + left)) & uint64(1))


@part
def find_leaves(table, rows, nodes, start, stop):
    """Find the leaves of those rows of a chunk that are not known: of which they are negative."""
    leaf = rows.leaf
    for page in range(table.shape.n_pages):
        held = page_of(table, page)
        first, last = max(start, held.start), min(stop, held.start + held.n_rows)
        if table.shape.is_sparse or table.shape.is_listed:
            for row in range(first, last):
                if leaf[row] < 0 and table.shape.is_listed:
                    leaf[row] = walk_ranks(table, held, nodes, row)
                elif leaf[row] < 0:
                    leaf[row] = walk_entries(table, held, nodes, row)
            continue
        while first < last:
            end = min(first + _TOGETHER, last)
            walk_together(table, held, rows, nodes, first, end)
            first = end


@step(WalkRows)
def walk_rows(slots, start, stop):
    """Find the leaves of those rows of a chunk that were not drawn for the tree."""
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    find_leaves(table, load_rows(slots, ROWS_AT), nodes, start, stop)


TRAILS_SIGNATURE = types.void(types.Array(int64, 1, "C"), int64)

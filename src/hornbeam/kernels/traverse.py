"""Send rows down a tree.

Nodes are packed into 16 bytes, so that a step costs one memory access for the node and
one for the value it asks for::

    float64 threshold | int32 first child | int32 feature, flags in the upper bits

A leaf is its own child and its threshold is infinite, so that several rows can walk in
step without asking each whether it has arrived.
"""

from __future__ import annotations

from numba import int64, uint64

from hornbeam.dtypes import MULTIWAY, SUBSET, THRESHOLD
from hornbeam.runtime.kernel import inlined, kernel, part

MISSING_RIGHT = 1 << 30
FEATURE_MASK = MISSING_RIGHT - 1
LANES = 8
BLOCK = 64  # rows that are looked at for infinities, then walked
LARGEST = 1.7976931348623157e308


@part
def holds_infinite(values, row_step, column_step, n_columns, first, last):
    """Whether any value of these rows is infinite (and bring the rows into the cache)."""
    found = 0
    if column_step == 1 and row_step == n_columns:
        for i in range(first * n_columns, last * n_columns):
            found += abs(values[i]) > LARGEST
    else:
        for column in range(n_columns):
            for row in range(first, last):
                found += abs(values[row * row_step + column * column_step]) > LARGEST
    return found > 0


@inlined
def walk_in_step(
    values, origin, row_step, column_step, n_lanes, thresholds, links, root, lanes, first
):
    """Send LANES rows down a tree with thresholds only, all asking at once.

    The rows begin at ``origin``, each ``row_step`` further; behind the last of ``n_lanes`` it goes
    down again. ``lanes[first:first + LANES]`` get their leaves, as nodes counted through.
    """
    for lane in range(LANES):
        lanes[first + lane] = root
    moving = int64(1)
    while moving != 0:
        moving = int64(0)
        for lane in range(LANES):
            node = int64(lanes[first + lane])
            flags = int64(links[4 * node + 3])
            place = origin + min(lane, n_lanes - 1) * row_step
            x = values[place + (flags & FEATURE_MASK) * column_step]
            right = int64(x > thresholds[2 * node]) | (int64(x != x) & (flags >> 30))
            target = int64(links[4 * node + 2]) + right
            moving |= target ^ node
            lanes[first + lane] = target


@kernel
def find_leaves(
    values, row_step, column_step, n_columns, first, last, thresholds, links, lanes, leaves
):
    """Leaf of each row, for trees with thresholds only; False if a value is infinite.

    ``values[row * row_step + column * column_step]`` is the table; ``thresholds`` and
    ``links`` are two views of the packed nodes; ``lanes`` is room for LANES nodes.
    """
    for block in range(first, last, BLOCK):
        end = min(block + BLOCK, last)
        if holds_infinite(values, row_step, column_step, n_columns, block, end):
            return False
        for start in range(block, end, LANES):
            # the last group of a block overlaps the one before it, if there is one
            row = max(min(start, end - LANES), block)
            n_lanes = min(LANES, end - row)
            walk_in_step(
                values, row * row_step, row_step, column_step, n_lanes, thresholds, links, 0,
                lanes, 0,
            )  # fmt: skip
            for lane in range(n_lanes):
                leaves[row + lane] = lanes[lane]
    return True


@part
def is_listed(words, first, last, category):
    """Whether words that hold two ascending category numbers each hold this one."""
    low, high = 2 * first, 2 * last
    while low < high:
        middle = (low + high) >> 1
        word = words[middle >> 1]
        here = int64((word >> uint64(32 * (middle & 1))) & uint64(0xFFFFFFFF))
        if here == category:
            return True
        if here < category:
            low = middle + 1
        else:
            high = middle
    return False


@inlined
def branch_of_category(kind, set_words, first, last, missing, category):
    """Branch of a known category; ``set_words[first:last]`` is the set of the node."""
    if kind == SUBSET:
        word = set_words[first + (category >> 6)]
        return int64(1) - int64((word >> uint64(category & 63)) & uint64(1))
    if kind == MULTIWAY:
        return category
    return int64(1) - missing if is_listed(set_words, first, last, category) else missing


@kernel
def find_leaves_by_sets(values, row_step, column_step, first, last, tree, leaves):
    """Leaf of each row, for trees that also ask for categories."""
    for row in range(first, last):
        node = int64(0)
        while tree.first_child[node] != 0:
            x = values[row * row_step + int64(tree.feature[node]) * column_step]
            branch = int64(tree.missing_branch[node])
            if x == x:
                kind = tree.kind[node]
                if kind == THRESHOLD:
                    branch = int64(x > tree.threshold[node])
                else:
                    start, end = tree.set_start[node], tree.set_start[node + 1]
                    branch = branch_of_category(kind, tree.set_words, start, end, branch, int64(x))
            node = tree.first_child[node] + branch
        leaves[row] = node

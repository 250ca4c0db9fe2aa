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
from hornbeam.runtime.kernel import kernel

MISSING_RIGHT = 1 << 30
FEATURE_MASK = MISSING_RIGHT - 1
LANES = 8


@kernel
def find_leaves(values, row_step, column_step, first, last, thresholds, links, leaves):  # type: ignore[no-untyped-def]
    """Leaf of each row, for trees with thresholds only.

    ``values[row * row_step + column * column_step]`` is the table; ``thresholds`` and
    ``links`` are two views of the packed nodes.
    """
    start = first
    while start < last:
        lanes = min(LANES, last - start)
        for lane in range(lanes):
            leaves[start + lane] = 0
        moving = True
        while moving:
            moving = False
            for lane in range(lanes):
                row = start + lane
                node = int64(leaves[row])
                flags = int64(links[4 * node + 3])
                x = values[row * row_step + (flags & FEATURE_MASK) * column_step]
                right = x > thresholds[2 * node]
                if x != x:
                    right = (flags & MISSING_RIGHT) != 0
                target = links[4 * node + 2] + right
                moving |= target != node
                leaves[row] = target
        start += lanes


@kernel
def find_leaves_by_sets(values, row_step, column_step, first, last, tree, leaves):  # type: ignore[no-untyped-def]
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
                elif kind == SUBSET:
                    category = int64(x)
                    word = tree.set_words[tree.set_start[node] + (category >> 6)]
                    branch = int64(1) - int64((word >> uint64(category & 63)) & uint64(1))
                elif kind == MULTIWAY:
                    branch = int64(x)
            node = tree.first_child[node] + branch
        leaves[row] = node

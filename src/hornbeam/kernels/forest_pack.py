"""Pack a grown tree into the records of a forest's store (see kernels/forest.py).

The same as tree/build.py and `ForestStore.pack` after it, for bins and in one pass: a forest
of small trees would otherwise spend its time in Python.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from numba import float32, int64

from hornbeam.kernels.forest import CATEGORY
from hornbeam.kernels.state import NODES_AT, PROBLEM_AT, SPLIT, load_nodes, load_problem
from hornbeam.kernels.traverse import MISSING_RIGHT
from hornbeam.runtime.kernel import inlined, kernel
from hornbeam.runtime.pointers import F4, F8, I4, I8, U1
from hornbeam.runtime.views import make_loader


class Packing(NamedTuple):
    """What is read besides the nodes, and what is written."""

    n_values: int
    by_classes: bool
    has_random_cuts: bool
    has_one_output: bool
    edges: F8  # see `hornbeam.data.coding.Codes`
    edge_start: I8
    is_category: U1
    order: I4  # old number of each node
    threshold: F8  # the records, seen as numbers of each kind
    link: I4
    link_float: F4
    impurity: F4
    gains: F8  # per feature
    table: F8  # distinct predictions of leaves
    pure_row: I4  # per value: row of the table that gives all to it, -1 if there is none
    set_node: I4  # old numbers of the nodes that ask for categories


load_packing = make_loader(Packing)


@inlined
def middle_of(low, high):
    """The middle between two values; one that rounds up to the larger would send it left."""
    middle = low / 2.0 + high / 2.0
    return (low if middle >= high and low < high else middle) + 0.0


@inlined
def table_row(nodes, old, n_totals, packing, n_rows):
    """Write what a leaf predicts into the table, or find it there; returns its row."""
    n_values, by_classes, table = packing.n_values, packing.by_classes, packing.table
    first = old * n_totals + (0 if by_classes else 1)
    weight = nodes.weight[old]
    if by_classes and packing.has_one_output:
        for k in range(n_values):
            if nodes.totals[first + k] == weight:
                if packing.pure_row[k] >= 0:
                    return int64(packing.pure_row[k])
                packing.pure_row[k] = n_rows
                break
    for k in range(n_values):
        table[n_rows * n_values + k] = nodes.totals[first + k] / weight
    return n_rows


@kernel
def pack_nodes(slots, packing_slots):
    """Fill the records level by level; returns how many there are, rows of the table, and sets."""
    nodes, packing = load_nodes(slots, NODES_AT), load_packing(packing_slots, 0)
    n_totals, order = load_problem(slots, PROBLEM_AT).sums.n_totals, packing.order
    by_table = packing.by_classes or packing.n_values > 1
    order[0] = 0
    n_nodes, n_rows, n_sets = int64(1), int64(0), int64(0)
    new = int64(0)
    while new < n_nodes:
        old = int64(order[new])
        packing.impurity[new] = float32(nodes.impurity[old])
        if nodes.state[old] == SPLIT:
            feature = int64(nodes.feature[old])
            packing.gains[feature] += nodes.gain[old]
            flags = feature + (0 if nodes.missing_left[old] else MISSING_RIGHT)
            threshold = math.inf  # all known values left, the missing ones right
            if packing.is_category[feature]:
                flags += CATEGORY
                threshold = n_sets
                packing.set_node[n_sets] = old
                n_sets += 1
            elif packing.has_random_cuts:
                threshold = nodes.threshold[old]
            elif nodes.high_code[old] >= 0:
                start = packing.edge_start[feature]
                low = packing.edges[start + nodes.low_code[old]]
                threshold = middle_of(low, packing.edges[start + nodes.high_code[old] - 1])
            packing.threshold[2 * new] = threshold
            packing.link[4 * new + 2] = n_nodes
            packing.link[4 * new + 3] = flags
            order[n_nodes] = nodes.child[old]
            order[n_nodes + 1] = nodes.child[old] + 1
            n_nodes += 2
        else:
            packing.link[4 * new + 3] = nodes.last[old] - nodes.first[old]
            if by_table:
                row = table_row(nodes, old, n_totals, packing, n_rows)
                n_rows = max(n_rows, row + 1)
                packing.threshold[2 * new] = nodes.weight[old]
                packing.link[4 * new + 2] = ~row
            else:
                packing.threshold[2 * new] = nodes.totals[old * n_totals + 1] / nodes.weight[old]
                packing.link_float[4 * new + 2] = float32(-nodes.weight[old])
        new += 1
    return n_nodes, n_rows, n_sets


@kernel
def renumber_nodes(link, threshold, set_shift, rows):
    """Let nodes name their category sets and their rows of the table by new numbers.

    Without rows leaves stay as they are. No branch: to be a leaf is a coin toss.
    """
    by_table = len(rows) > 0
    for node in range(len(link) // 4):
        child, flags, place = int64(link[4 * node + 2]), link[4 * node + 3], threshold[2 * node]
        asks_set = child >= 0 and flags & CATEGORY != 0
        threshold[2 * node] = place + set_shift if asks_set else place
        if by_table:
            row = rows[max(~child, 0)]
            link[4 * node + 2] = child if child >= 0 else ~row

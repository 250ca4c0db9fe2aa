"""Monotone constraints: hand the bounds of a node's value on to its children."""

from __future__ import annotations

from numba import int64

from hornbeam.kernels.state import (
    NODES_AT,
    PROBLEM_AT,
    AboutNode,
    load_nodes,
    load_problem,
)
from hornbeam.runtime.kernel import inlined, step


@inlined
def value_of(problem, nodes, node):
    """The value that monotone constraints bound: mean, median or share of the last class."""
    total = nodes.totals[node * problem.sums.n_totals + problem.sums.value_at]
    return total if problem.sums.value_is_total else total / nodes.weight[node]


@step(AboutNode)
def hand_on_bounds(slots, node):
    """Bound the values of a node's children by its own bounds and by their middle.

    The middle is within the node's own bounds, however the values of the children were
    rounded: else a child would have bounds that no value keeps.
    """
    problem, nodes = load_problem(slots, PROBLEM_AT), load_nodes(slots, NODES_AT)
    child = int64(nodes.child[node])
    for branch in range(2):
        nodes.lower[child + branch] = nodes.lower[node]
        nodes.upper[child + branch] = nodes.upper[node]
    direction = problem.monotone[nodes.feature[node]]
    if direction != 0:
        between = 0.5 * (value_of(problem, nodes, child) + value_of(problem, nodes, child + 1))
        between = min(max(between, nodes.lower[node]), nodes.upper[node])
        smaller = child if direction > 0 else child + 1
        nodes.upper[smaller] = between
        nodes.lower[2 * child + 1 - smaller] = between

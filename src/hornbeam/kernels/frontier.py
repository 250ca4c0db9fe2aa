"""The frontier: nodes that wait for their turn, and the orders in which trees grow.

Whatever grows takes its nodes from here. An order of growth is a priority: the node with the
largest one is next, and of equals the one that was made first. To add an order, name it in
`ORDERS` and say in `priority_of` what a node is worth; estimators, their checks and their
documentation take it from there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import float64, int64

from hornbeam.dtypes import Array
from hornbeam.runtime.kernel import part
from hornbeam.runtime.pointers import F8, I4


class Order(NamedTuple):
    """An order of growth."""

    code: int
    by_gain: bool  # it must be known what a split gains before it is a node's turn
    doc: str  # which node is next


BEST_FIRST, LEVEL_WISE, DEPTH_FIRST = range(3)
ORDERS = {
    "leaf": Order(BEST_FIRST, True, "the one with the largest gain"),
    "level": Order(LEVEL_WISE, False, "the shallowest"),
    "depth": Order(DEPTH_FIRST, False, "the deepest"),
}


def list_orders() -> str:
    """Which node is next in each order, for documentation."""
    return ", ".join(f"{order.doc} ({growth!r})" for growth, order in ORDERS.items())


@part
def priority_of(order, depth, gain):
    """What a node is worth whose split gains so much: infinite where nobody has searched yet."""
    if order == BEST_FIRST:
        return float64(gain)
    if order == DEPTH_FIRST:
        return float64(depth)
    return -float64(depth)


class Frontier(NamedTuple):
    """Nodes that wait: a heap with the next one on top."""

    order: int  # its code
    by_gain: bool
    node: I4
    priority: F8


# Of the words that a team shares (runtime/atomics.py): how many nodes wait
WORD_WAITING = 41


def new_frontier(growth: str, most: int) -> Frontier:
    """A frontier on which so many nodes may wait, in an order of `ORDERS`."""
    order = ORDERS[growth]
    return Frontier(order.code, order.by_gain, np.zeros(most, np.int32), np.zeros(most))


def longer(frontier: Frontier, most: int) -> Frontier:
    """The same nodes on a frontier with more room."""
    node, priority = np.zeros(most, np.int32), np.zeros(most)
    node[: len(frontier.node)] = frontier.node
    priority[: len(frontier.node)] = frontier.priority
    return frontier._replace(node=node, priority=priority)


def begin_with(frontier: Frontier, words: Array, node: int) -> None:
    """Let a node wait, and no other."""
    frontier.node[0], frontier.priority[0] = node, 0.0
    words[WORD_WAITING] = 1


@part
def comes_before(priority, node, other_priority, other):
    """Which of two nodes is next."""
    return priority > other_priority or (priority == other_priority and node < other)


@part
def push(frontier, words, node, depth, gain):
    """Put a node on the frontier."""
    nodes, priorities = frontier.node, frontier.priority
    priority = priority_of(frontier.order, depth, gain)
    place = words[WORD_WAITING]
    words[WORD_WAITING] = place + 1
    while place > 0:
        above = (place - 1) >> 1
        if not comes_before(priority, node, priorities[above], nodes[above]):
            break
        nodes[place], priorities[place] = nodes[above], priorities[above]
        place = above
    nodes[place], priorities[place] = node, priority


@part
def pop(frontier, words):
    """Take the next node from the frontier, -1 if there is none."""
    nodes, priorities = frontier.node, frontier.priority
    if words[WORD_WAITING] == 0:
        return int64(-1)
    last = words[WORD_WAITING] - 1
    words[WORD_WAITING] = last
    top, moved, priority, place = int64(nodes[0]), nodes[last], priorities[last], int64(0)
    while True:
        child = 2 * place + 1
        if child >= last:
            break
        right = child + 1
        if right < last and comes_before(
            priorities[right], nodes[right], priorities[child], nodes[child]
        ):
            child = right
        if comes_before(priority, moved, priorities[child], nodes[child]):
            break
        nodes[place], priorities[place] = nodes[child], priorities[child]
        place = child
    nodes[place], priorities[place] = moved, priority
    return top

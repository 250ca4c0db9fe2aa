"""The frontier: nodes that wait for their turn, and the orders in which trees grow.

Whatever grows takes its nodes from here. An order of growth is a priority: the node with the
largest one is next, and of equals the one that was made first. To add an order, name it in
`ORDERS` and say in `priority_of` what a node is worth; estimators, their checks and their
documentation take it from there.
"""

from __future__ import annotations

from typing import NamedTuple

from numba import float64, int64

from hornbeam.dtypes import Array
from hornbeam.runtime.kernel import part
from hornbeam.runtime.pointers import F8, I4
from hornbeam.runtime.views import new_arrays


class Order(NamedTuple):
    """An order of growth: its number, and which node is next."""

    code: int
    doc: str


BEST_FIRST, LEVEL_WISE, DEPTH_FIRST = range(3)
ORDERS = {
    "leaf": Order(BEST_FIRST, "the one with the largest gain"),
    "level": Order(LEVEL_WISE, "the shallowest"),
    "depth": Order(DEPTH_FIRST, "the deepest"),
}


@part
def priority_of(order, depth, gain):
    """What a node is worth that would gain so much by its split."""
    if order == BEST_FIRST:
        return float64(gain)
    if order == DEPTH_FIRST:
        return float64(depth)
    return -float64(depth)


class Frontier(NamedTuple):
    """Nodes that wait: a heap with the next one on top."""

    order: int  # its code
    node: I4
    priority: F8


# Of the words that a team shares (runtime/atomics.py): how many nodes wait
WORD_WAITING = 41


def new_frontier(order: int, most: int) -> Frontier:
    """A frontier on which so many nodes may wait."""
    frontier: Frontier = new_arrays(Frontier, {"node": most, "priority": most}, order=order)
    return frontier


def longer(frontier: Frontier, most: int) -> Frontier:
    """The same nodes on a frontier with more room."""
    other = new_frontier(frontier.order, most)
    other.node[: len(frontier.node)] = frontier.node
    other.priority[: len(frontier.node)] = frontier.priority
    return other


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

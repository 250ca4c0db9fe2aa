"""Nodes that wait to be split: a heap in the order of growth."""

from __future__ import annotations

from numba import int64

from hornbeam.kernels.boosting.state import WORD_TAIL
from hornbeam.kernels.state import BEST_FIRST, DEPTH_FIRST
from hornbeam.runtime.kernel import part


@part
def comes_before(growth, nodes, one, other):
    """Which of two nodes is split first; the older one if nothing else tells."""
    if growth == BEST_FIRST and nodes.gain[one] != nodes.gain[other]:
        return nodes.gain[one] > nodes.gain[other]
    if growth == DEPTH_FIRST and nodes.depth[one] != nodes.depth[other]:
        return nodes.depth[one] > nodes.depth[other]
    return one < other


@part
def push(table, nodes, team, node):
    """Put a node on the frontier."""
    growth, frontier = table.rules.growth, team.frontier
    place = team.words[WORD_TAIL]
    team.words[WORD_TAIL] += 1
    while place > 0:
        above = (place - 1) >> 1
        if not comes_before(growth, nodes, node, int64(frontier[above])):
            break
        frontier[place] = frontier[above]
        place = above
    frontier[place] = node


@part
def pop(table, nodes, team):
    """Take the next node from the frontier, -1 if there is none."""
    growth, frontier = table.rules.growth, team.frontier
    if team.words[WORD_TAIL] == 0:
        return int64(-1)
    team.words[WORD_TAIL] -= 1
    size = team.words[WORD_TAIL]
    top, moved = int64(frontier[0]), int64(frontier[size])
    place = int64(0)
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and comes_before(
            growth, nodes, int64(frontier[child + 1]), int64(frontier[child])
        ):
            child += 1
        if comes_before(growth, nodes, moved, int64(frontier[child])):
            break
        frontier[place] = frontier[child]
        place = child
    frontier[place] = moved
    return top

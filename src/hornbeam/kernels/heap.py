"""The frontier of best-first growth: a heap with the most promising node on top.

Growing calls it by its address, so that other orders of growth do not compile it.
"""

from __future__ import annotations

import math

from hornbeam.kernels.state import (
    NODES_AT,
    UNSEEN,
    WORD_TAIL,
    Sift,
    load_desk,
    load_nodes,
)
from hornbeam.runtime.kernel import part, step


@part
def comes_before(nodes, one, other):
    """Best-first order: nodes not yet searched, then the larger gain, then the older node."""
    gain_one = math.inf if nodes.state[one] == UNSEEN else nodes.gain[one]
    gain_other = math.inf if nodes.state[other] == UNSEEN else nodes.gain[other]
    return gain_one > gain_other or (gain_one == gain_other and one < other)


@step(Sift)
def sift(slots, desk_at, place):
    """Bring the node at ``place`` of the frontier, the only one out of order, to its place."""
    nodes, desk = load_nodes(slots, NODES_AT), load_desk(slots, desk_at)
    frontier, size = desk.frontier, desk.words[WORD_TAIL]
    moved = frontier[place]
    while place > 0 and comes_before(nodes, moved, frontier[(place - 1) // 2]):
        frontier[place] = frontier[(place - 1) // 2]
        place = (place - 1) // 2
    while True:
        child = 2 * place + 1
        if child + 1 < size and comes_before(nodes, frontier[child + 1], frontier[child]):
            child += 1
        if child >= size or comes_before(nodes, moved, frontier[child]):
            break
        frontier[place] = frontier[child]
        place = child
    frontier[place] = moved

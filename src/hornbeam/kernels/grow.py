"""How CART and forests grow: the steps of the driver (kernels/driver.py) but for the last one.

Several threads first work together on large nodes, each on other features; small nodes are put
aside as tasks, and each task is grown with all below it by a single thread with the same steps on
a tile of the codes. What a node becomes depends on its rows and its key alone, so the tree does
not depend on who did what. A node of few rows may be grown with all below it by a kernel of its
own (kernels/block.py). Splits are settled in kernels/settle.py.
"""

from __future__ import annotations

import math

from numba import int64

from hornbeam.kernels.driver import (
    ALONE,
    FINISHED,
    FULL,
    STOPPED,
    TOGETHER,
    ScanSums,
    TakeNodes,
)
from hornbeam.kernels.frontier import WORD_WAITING, pop
from hornbeam.kernels.settle import adopt_children
from hornbeam.kernels.split import (
    ask_about_node,
    is_block,
    is_pair,
    is_small,
    may_split,
    nothing_better,
)
from hornbeam.kernels.state import (
    CLOSED,
    NODES_AT,
    PROBLEM_AT,
    SCRATCH_AT,
    TEAM_DESK_AT,
    UNSEEN,
    WORD_DRAWN,
    WORD_FEATURES,
    WORD_FOUND,
    WORD_LEAVES,
    WORD_MORE,
    WORD_NODE,
    WORD_SETS,
    load_desk,
    load_nodes,
    load_problem,
    load_scratch,
)
from hornbeam.runtime.atomics import (
    NEXT_TASK,
    NODE_COUNT,
    STOP,
    atomic_load,
    barrier,
    claim,
)
from hornbeam.runtime.kernel import inlined, step

# --- take ---------------------------------------------------------------------------


@inlined
def has_room(problem, desk, shared):
    """Whether every thread can still make as many nodes and category sets as it does at once."""
    room = problem.room
    threads = room.threads
    return (
        atomic_load(shared, NODE_COUNT) + room.nodes_at_once * threads <= room.nodes
        and atomic_load(shared, WORD_SETS) + room.sets_at_once * threads <= room.sets
        and desk.words[WORD_WAITING] + 2 <= room.nodes
    )


@inlined
def next_node(problem, nodes, desk, tasks, shared):
    """The next node to search, -1 if there is none.

    Nodes that may not be split become leaves here, so that every node that is taken is
    searched. Best-first growth makes splits final here, when their turn comes.
    """
    words = desk.words
    while has_room(problem, desk, shared):
        node = pop(desk.frontier, words)
        if node < 0:
            return node
        if nodes.state[node] == UNSEEN:
            if may_split(problem, nodes, node):
                return node
            nodes.state[node] = CLOSED
        elif words[WORD_LEAVES] < problem.rules.max_leaves:
            adopt_children(problem, nodes, node, desk, tasks, shared)
        else:
            return int64(-1)
    return int64(-1)


@step(TakeNodes)
def take_node(slots, at, size):
    """Take the next node that may be split, and plan its search.

    A node of few rows may be grown here, with all below it.
    """
    problem, nodes = load_problem(slots, PROBLEM_AT), load_nodes(slots, NODES_AT)
    scratch, desk = load_scratch(slots, SCRATCH_AT), load_desk(slots, at)
    words, shared = desk.words, load_desk(slots, TEAM_DESK_AT).words
    if nodes.weight[0] == 0.0:
        words[WORD_NODE] = -1  # the root is still to be summed up
        return ALONE
    while atomic_load(shared, STOP) == 0:
        node = next_node(problem, nodes, desk, scratch.tasks, shared)
        if node < 0:
            return FINISHED if has_room(problem, desk, shared) else FULL
        words[WORD_NODE] = node
        words[WORD_FOUND] = 0
        if size == 1 and problem.steps.grow_block and is_block(nodes, node):
            problem.steps.grow_block(slots, node, at)
            continue
        problem.steps.plan(slots, node, at, 0)
        small = is_small(nodes, node)
        if problem.rules.ties != 0 and not small:
            for feature in range(problem.n_features):
                desk.feature_score[feature] = -math.inf
        return ALONE if small or size == 1 else TOGETHER
    return STOPPED


# --- scan ---------------------------------------------------------------------------


@inlined
def search_round(slots, problem, nodes, node, desk, at, rank, size, last, shared):
    """Search listed features up to place ``last``, taking one after the other."""
    words = desk.words
    n_features = problem.n_features
    # two rows are parted by the first random cut there is: the others need not be drawn
    drawn = problem.rules.random_cuts and is_pair(nodes, node)
    if size == 1 and problem.steps.search_together and not drawn:
        problem.steps.search_together(slots, node, at)
        return
    while True:
        place = claim(words, NEXT_TASK, 1, size == 1)
        if place >= last or atomic_load(shared, STOP) != 0:
            return
        feature = desk.features[place]
        if feature < 0:
            continue  # known to be constant
        if problem.search[feature](slots, node, feature, rank, at):
            claim(words, WORD_FOUND, 1, size == 1)
            if nothing_better(problem, nodes, node, desk, rank):
                words[WORD_FOUND] = problem.rules.max_features
                return
        elif problem.rules.knows_constant:
            nodes.constant[node * n_features + feature] = 1


@step(ScanSums)
def search_node(slots, at, rank, size):
    """Search a node's best split with all threads of the desk, round by round as planned.

    What the first thread may already change for the next node is read before the last
    barrier; WORD_MORE only changes between two of this node.
    """
    problem, nodes = load_problem(slots, PROBLEM_AT), load_nodes(slots, NODES_AT)
    scratch, desk = load_scratch(slots, SCRATCH_AT), load_desk(slots, at)
    words, shared = desk.words, load_desk(slots, TEAM_DESK_AT).words
    node = words[WORD_NODE]
    if node < 0:
        return
    n_candidates, drawn = words[WORD_FEATURES], words[WORD_DRAWN]
    desk.best_score[rank] = -math.inf
    desk.best_feature[rank] = problem.n_features
    ask_about_node(problem, nodes, node, scratch)
    desk.tie[rank] = scratch.ask.tie if is_small(nodes, node) else 0.0
    # only the thread that plans knows the ranges
    scratch.ask.has_ranges = rank == 0 and problem.row_stride > 0
    if problem.steps.number_anew:
        problem.steps.number_anew(slots, node)
    one_round = problem.row_stride > 0 and not problem.rules.count_constant
    while True:
        search_round(slots, problem, nodes, node, desk, at, rank, size, drawn, shared)
        if one_round or drawn >= n_candidates:  # no listed feature is constant, or none is left
            return
        barrier(words, size)
        if rank == 0:
            words[WORD_MORE] = drawn
            if atomic_load(shared, STOP) == 0:
                problem.steps.plan(slots, node, at, drawn)
        barrier(words, size)
        if words[WORD_MORE] == drawn:
            return
        drawn = words[WORD_MORE]

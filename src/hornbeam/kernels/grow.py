"""The growth loop.

    take a node from the frontier   (kernels/frontier.py)
    search its best split           (kernels/split.py)
    part its rows, make its children, put them on the frontier

Several threads first work together on large nodes, each on other features;
small nodes are put aside as tasks, and each task is grown with all below it by a single
thread running the same loop on a tile of the codes. What a node becomes depends on its
rows and its key alone, so the tree does not depend on who did what. A node of few rows may
be grown with all below it by a kernel of its own (kernels/block.py).

All state lives in arrays: when room runs out the loop returns FULL, the caller makes
room, and calling it again goes on where it was.
"""

from __future__ import annotations

import math

from numba import int64, types

from hornbeam.kernels.frontier import BEST_FIRST, WORD_WAITING, pop, push
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
    DONE,
    FULL,
    NODES_AT,
    PROBLEM_AT,
    READY,
    SCRATCH_AT,
    SPLIT,
    STOPPED,
    TEAM_DESK_AT,
    UNSEEN,
    WORD_DRAWN,
    WORD_FEATURES,
    WORD_FOUND,
    WORD_LEAVES,
    WORD_MORE,
    WORD_NODE,
    WORD_SETS,
    WORD_STATUS,
    WORD_TASKS,
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
from hornbeam.runtime.kernel import inlined, kernel, part
from hornbeam.runtime.pointers import bare

# --- one node -----------------------------------------------------------------------


@inlined
def search_round(slots, problem, nodes, node, desk, desk_at, rank, size, last, shared):
    """Search listed features up to place ``last``, taking one after the other."""
    words = desk.words
    n_features = problem.n_features
    if is_small(nodes, node) and rank > 0:
        return
    together = bool(problem.steps.search_together) and (is_small(nodes, node) or size == 1)
    # two rows are parted by the first random cut there is: the others need not be drawn
    if together and not (problem.rules.random_cuts and is_pair(nodes, node)):
        problem.steps.search_together(slots, node, desk_at)
        return
    while True:
        place = claim(words, NEXT_TASK, 1, size == 1)
        if place >= last or atomic_load(shared, STOP) != 0:
            return
        feature = desk.features[place]
        if feature < 0:
            continue  # known to be constant
        if problem.search[feature](slots, node, feature, rank, desk_at):
            claim(words, WORD_FOUND, 1, size == 1)
            if nothing_better(problem, nodes, node, desk, rank):
                words[WORD_FOUND] = problem.rules.max_features
                return
        elif problem.rules.knows_constant:
            nodes.constant[node * n_features + feature] = 1


@inlined
def search_node(slots, problem, nodes, node, scratch, desk, desk_at, rank, size, shared):
    """Search a node's best split with all threads of the desk, round by round as planned.

    What the first thread may already change for the next node is read before the last
    barrier; WORD_MORE only changes between two of this node.
    """
    words = desk.words
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
        search_round(slots, problem, nodes, node, desk, desk_at, rank, size, drawn, shared)
        barrier(words, size)
        if one_round or drawn >= n_candidates:  # no listed feature is constant, or none is left
            return
        if rank == 0:
            words[WORD_MORE] = drawn
            if atomic_load(shared, STOP) == 0:
                problem.steps.plan(slots, node, desk_at, drawn)
        barrier(words, size)
        if words[WORD_MORE] == drawn:
            return
        drawn = words[WORD_MORE]


# --- the loop -----------------------------------------------------------------------


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


@part
def adopt_children(problem, nodes, node, desk, tasks, shared):
    """Make a split final and put the children on the frontier, or aside as tasks.

    A task is a node so small that one thread should grow it and all below it, in a tile
    of its own (kernels/tile.py).
    """
    nodes.state[node] = SPLIT
    frontier, words = desk.frontier, desk.words
    may_set_aside = not problem.tiled and frontier.order != BEST_FIRST
    for branch in range(2):
        new = nodes.child[node] + branch
        if may_set_aside and nodes.last[new] - nodes.first[new] <= problem.room.task_rows:
            tasks[shared[WORD_TASKS]] = new
            shared[WORD_TASKS] += 1
        else:
            push(frontier, words, new, nodes.depth[new], math.inf)  # to be searched at once
    words[WORD_LEAVES] += 1


@inlined
def next_node(problem, nodes, desk, tasks, shared):
    """The next node to search, or -1 with a status: done, full or stopped.

    Nodes that may not be split become leaves here, so that every node handed to the
    threads is searched. Best-first growth makes splits final here, when their turn comes.
    """
    words = desk.words
    while True:
        words[WORD_STATUS] = STOPPED
        if atomic_load(shared, STOP) != 0:
            return -1
        words[WORD_STATUS] = FULL
        if not has_room(problem, desk, shared):
            return -1
        words[WORD_STATUS] = DONE
        node = pop(desk.frontier, words)
        if node < 0:
            return node
        if nodes.state[node] == UNSEEN:
            if may_split(problem, nodes, node):
                return node
            nodes.state[node] = CLOSED
            continue
        if words[WORD_LEAVES] >= problem.rules.max_leaves:
            return -1
        adopt_children(problem, nodes, node, desk, tasks, shared)


@kernel
def expand(slots, desk_at, rank, size):
    """Grow until the frontier of a desk is empty, room runs out or somebody says stop.

    All ``size`` threads at the desk call this together. Returns DONE, FULL or STOPPED.
    """
    slots = bare(slots)
    problem, nodes = load_problem(slots, PROBLEM_AT), load_nodes(slots, NODES_AT)
    scratch, desk = load_scratch(slots, SCRATCH_AT), load_desk(slots, desk_at)
    words, shared = desk.words, load_desk(slots, TEAM_DESK_AT).words
    if rank == 0 and nodes.weight[0] == 0.0:  # the very first node is still to be summed up
        problem.steps.settle(slots, -1, desk_at, size)
    while True:
        if rank == 0:
            node = next_node(problem, nodes, desk, scratch.tasks, shared)
            words[WORD_NODE] = node
            if node >= 0:
                words[WORD_FOUND] = 0
                if size == 1 and problem.steps.grow_block and is_block(nodes, node):
                    problem.steps.grow_block(slots, node, desk_at)
                    continue
                problem.steps.plan(slots, node, desk_at, 0)
                if problem.rules.ties != 0 and not is_small(nodes, node):
                    for feature in range(problem.n_features):
                        desk.feature_score[feature] = -math.inf
        barrier(words, size)
        if rank > 0 and atomic_load(shared, STOP) != 0:
            return STOPPED  # the first thread may still be at work on what the desk holds
        node = words[WORD_NODE]
        if node < 0:
            return words[WORD_STATUS]
        # The search ends with a barrier, so nobody reads WORD_NODE late, when it is already
        # the next node's.
        search_node(slots, problem, nodes, node, scratch, desk, desk_at, rank, size, shared)
        if rank > 0:
            continue
        nodes.state[node] = CLOSED
        if atomic_load(shared, STOP) != 0:
            continue
        if problem.steps.settle(slots, node, desk_at, size):
            if desk.frontier.order == BEST_FIRST:
                nodes.state[node] = READY
                push(desk.frontier, words, node, nodes.depth[node], nodes.gain[node])
            else:
                adopt_children(problem, nodes, node, desk, scratch.tasks, shared)


EXPAND_SIGNATURE = int64(types.Array(int64, 1, "C"), int64, int64, int64)

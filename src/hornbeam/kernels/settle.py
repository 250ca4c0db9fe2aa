"""Make the best split of a node real: part its rows, make and sum up its children."""

from __future__ import annotations

import math

from numba import int64

from hornbeam.dtypes import EPSILON
from hornbeam.kernels.driver import SettleSplits
from hornbeam.kernels.frontier import push
from hornbeam.kernels.split import ask_about_node, is_small, may_split
from hornbeam.kernels.state import (
    CLOSED,
    NODES_AT,
    PROBLEM_AT,
    READY,
    ROWS_AT,
    SCRATCH_AT,
    SPLIT,
    TEAM_DESK_AT,
    UNSEEN,
    WORD_LEAVES,
    WORD_NODE,
    WORD_TASKS,
    load_desk,
    load_nodes,
    load_problem,
    load_rows,
    load_scratch,
)
from hornbeam.runtime.atomics import NODE_COUNT, claim
from hornbeam.runtime.kernel import inlined, part, step
from hornbeam.runtime.random import derive


@inlined
def best_rank(desk, size):
    """Which thread of the desk found the best split: score, then the lower feature."""
    best = 0
    for rank in range(1, size):
        score, best_score = desk.best_score[rank], desk.best_score[best]
        earlier = desk.best_feature[rank] < desk.best_feature[best]
        if score > best_score or (score == best_score and earlier):
            best = rank
    return best


@part
def prefer_lower(slots, problem, nodes, node, scratch, desk, desk_at, rank):
    """Of the features of a large node that are as good as the best, take the lowest.

    Its split is searched once more: what was kept is that of the best score.
    """
    least = desk.best_score[rank] - scratch.ask.tie
    feature = int64(0)
    while desk.feature_score[feature] < least:
        feature += 1
    if feature < desk.best_feature[rank]:
        desk.best_score[rank] = -math.inf
        problem.search[feature](slots, node, feature, rank, desk_at)


@part
def summarise(problem, rows, nodes, node, scratch, first, last):
    """Totals, weight and impurity of a node from these rows; from its totals if none."""
    scratch.ask.first = first
    scratch.ask.last = last
    nodes.impurity[node] = problem.steps.summarise(
        rows.labels, rows.stats, problem.class_start, scratch.total, scratch.order, scratch.ask
    )
    nodes.weight[node] = scratch.ask.summed_weight
    n_totals = problem.sums.n_totals
    for k in range(n_totals):
        nodes.totals[node * n_totals + k] = scratch.total[k]


@inlined
def note_split(problem, nodes, node, desk, rank):
    """Write down the best split of a node, but for its category set."""
    nodes.feature[node] = desk.best_feature[rank]
    nodes.missing_left[node] = desk.best_missing_left[rank]
    if problem.rules.random_cuts:
        nodes.threshold[node] = desk.best_threshold[rank]


@inlined
def note_gain(problem, nodes, node, child):
    """Write down what a split gains; returns whether that is enough."""
    left, right = nodes.weight[child], nodes.weight[child + 1]
    remaining = left * nodes.impurity[child] + right * nodes.impurity[child + 1]
    decrease = nodes.impurity[node] - remaining / (left + right)
    gain = nodes.weight[node] / nodes.weight[0] * decrease
    nodes.gain[node] = gain
    return gain + EPSILON >= problem.rules.min_decrease


@inlined
def add_children(problem, nodes, node, middle, shared):
    """Add both children of a node whose rows are parted at ``middle``; returns the first."""
    child = claim(shared, NODE_COUNT, 2, problem.room.threads == 1)
    nodes.child[node] = child
    n_features = problem.n_features
    for branch in range(2):
        new = child + branch
        nodes.first[new] = middle if branch else nodes.first[node]
        nodes.last[new] = nodes.last[node] if branch else middle
        nodes.depth[new] = nodes.depth[node] + 1
        nodes.state[new] = UNSEEN
        nodes.key[new] = derive(nodes.key[node], branch)
        if problem.rules.knows_constant:
            for f in range(n_features):
                nodes.constant[new * n_features + f] = nodes.constant[node * n_features + f]
    return child


@inlined
def make_children(problem, rows, nodes, node, middle, scratch, shared):
    """Make both children of a node whose rows are parted at ``middle``."""
    child = add_children(problem, nodes, node, middle, shared)
    # Where sums are exact, the totals of the larger child are what the smaller one leaves.
    subtract = problem.weights.whole and problem.sums.n_labels == 1
    left_rows, right_rows = middle - nodes.first[node], nodes.last[node] - middle
    smaller = child + int64(right_rows < left_rows)
    n_totals = problem.sums.n_totals
    for turn in range(2):
        new = smaller if turn == 0 else 2 * child + 1 - smaller
        first, last = int64(nodes.first[new]), int64(nodes.last[new])
        if subtract and turn == 1:
            last = first
            for k in range(n_totals):
                rest = nodes.totals[node * n_totals + k] - nodes.totals[smaller * n_totals + k]
                scratch.total[k] = rest
        summarise(problem, rows, nodes, new, scratch, first, last)
    return child


@part
def adopt_children(problem, nodes, node, desk, tasks, shared):
    """Make a split final and put the children on the frontier, or aside as tasks.

    A task is a node so small that one thread should grow it and all below it, in a tile
    of its own (kernels/tile.py). What may not be split need not wait: it is a leaf.
    """
    nodes.state[node] = SPLIT
    frontier, words = desk.frontier, desk.words
    may_set_aside = not problem.tiled and not frontier.by_gain
    for branch in range(2):
        new = nodes.child[node] + branch
        if not may_split(problem, nodes, new):
            nodes.state[new] = CLOSED
        elif may_set_aside and nodes.last[new] - nodes.first[new] <= problem.room.task_rows:
            tasks[shared[WORD_TASKS]] = new
            shared[WORD_TASKS] += 1
        else:
            push(frontier, words, new, nodes.depth[new], math.inf)  # to be searched at once
    words[WORD_LEAVES] += 1


@part
def make_split(slots, problem, rows, nodes, node, scratch, desk, at, size, shared):
    """Turn the best split of a node into children; returns whether the gain is large enough."""
    rank = best_rank(desk, size)
    if desk.best_score[rank] == -math.inf:
        return False
    if problem.rules.ties != 0 and not is_small(nodes, node):
        prefer_lower(slots, problem, nodes, node, scratch, desk, at, rank)
    feature = desk.best_feature[rank]
    note_split(problem, nodes, node, desk, rank)
    if problem.is_category[feature]:
        problem.steps.keep_set(slots, node, rank, at)  # as long as the rows ascend
    middle = problem.steps.part(slots, node, at, rank)
    child = make_children(problem, rows, nodes, node, middle, scratch, shared)
    if problem.rules.constrained:
        problem.steps.hand_on_bounds(slots, node)
    return note_gain(problem, nodes, node, child)


@step(SettleSplits)
def settle_node(slots, at, size):
    """Make the best split of a node that was searched.

    The node waits for its turn with it, if the order of growth asks what a split gains; otherwise
    its children do. Node -1 stands for the root, which is only to be summed up.
    """
    problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
    nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
    desk, shared = load_desk(slots, at), load_desk(slots, TEAM_DESK_AT).words
    node = desk.words[WORD_NODE]
    ask_about_node(problem, nodes, max(node, 0), scratch)
    if node < 0:
        first, last = int64(nodes.first[0]), int64(nodes.last[0])
        summarise(problem, rows, nodes, 0, scratch, first, last)
        return
    nodes.state[node] = CLOSED
    if not make_split(slots, problem, rows, nodes, node, scratch, desk, at, size, shared):
        return
    if desk.frontier.by_gain:
        nodes.state[node] = READY
        push(desk.frontier, desk.words, node, nodes.depth[node], nodes.gain[node])
    else:
        adopt_children(problem, nodes, node, desk, scratch.tasks, shared)

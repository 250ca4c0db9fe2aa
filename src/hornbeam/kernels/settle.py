"""Make the best split of a node real: part its rows, make and sum up its children."""

from __future__ import annotations

import math

from numba import float64, int64

from hornbeam.dtypes import EPSILON
from hornbeam.kernels.split import ask_about_node
from hornbeam.kernels.state import (
    ANSWER_WEIGHT,
    ASK_FIRST,
    ASK_LAST,
    CONSTRAINED,
    HAND_ON_BOUNDS,
    KEEP_SET,
    KNOWS_CONSTANT,
    MIN_DECREASE,
    N_FEATURES,
    N_LABELS,
    N_TOTALS,
    NODES_AT,
    PART,
    PROBLEM_AT,
    RANDOM_CUTS,
    ROWS_AT,
    SCRATCH_AT,
    SUMMARY,
    TEAM_DESK_AT,
    THREADS,
    TOTAL_WEIGHT,
    UNSEEN,
    WHOLE_WEIGHTS,
    load_desk,
    load_nodes,
    load_problem,
    load_rows,
    load_scratch,
)
from hornbeam.runtime.atomics import NODE_COUNT, call_address, claim
from hornbeam.runtime.kernel import inlined, part, step
from hornbeam.runtime.pointers import SLOTS
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
def summarise(problem, rows, nodes, node, scratch, first, last):
    """Totals, weight and impurity of a node from these rows; from its totals if none."""
    scratch.ask[ASK_FIRST] = first
    scratch.ask[ASK_LAST] = last
    nodes.impurity[node] = call_address(
        problem.whole[SUMMARY],
        (
            rows.labels,
            rows.stats,
            problem.class_start,
            scratch.total,
            scratch.order,
            scratch.ask,
            scratch.real,
        ),
    )
    nodes.weight[node] = scratch.real[ANSWER_WEIGHT]
    n_totals = problem.whole[N_TOTALS]
    for k in range(n_totals):
        nodes.totals[node * n_totals + k] = scratch.total[k]


@inlined
def note_split(problem, nodes, node, desk, rank):
    """Write down the best split of a node, but for its category set."""
    nodes.feature[node] = desk.best_feature[rank]
    nodes.missing_left[node] = desk.best_missing_left[rank]
    if problem.whole[RANDOM_CUTS]:
        nodes.threshold[node] = desk.best_threshold[rank]


@inlined
def note_gain(problem, nodes, node, child):
    """Write down what a split gains; returns whether that is enough."""
    left, right = nodes.weight[child], nodes.weight[child + 1]
    remaining = left * nodes.impurity[child] + right * nodes.impurity[child + 1]
    decrease = nodes.impurity[node] - remaining / (left + right)
    gain = nodes.weight[node] / problem.real[TOTAL_WEIGHT] * decrease
    nodes.gain[node] = gain
    return gain + EPSILON >= problem.real[MIN_DECREASE]


@inlined
def add_children(problem, nodes, node, middle, shared):
    """Add both children of a node whose rows are parted at ``middle``; returns the first."""
    child = claim(shared, NODE_COUNT, 2, problem.whole[THREADS] == 1)
    nodes.child[node] = child
    n_features = problem.whole[N_FEATURES]
    for branch in range(2):
        new = child + branch
        nodes.first[new] = middle if branch else nodes.first[node]
        nodes.last[new] = nodes.last[node] if branch else middle
        nodes.depth[new] = nodes.depth[node] + 1
        nodes.state[new] = UNSEEN
        nodes.key[new] = derive(nodes.key[node], branch)
        if problem.whole[KNOWS_CONSTANT]:
            for f in range(n_features):
                nodes.constant[new * n_features + f] = nodes.constant[node * n_features + f]
    return child


@inlined
def make_children(problem, rows, nodes, node, middle, scratch, shared):
    """Make both children of a node whose rows are parted at ``middle``."""
    child = add_children(problem, nodes, node, middle, shared)
    # Where sums are exact, the totals of the larger child are what the smaller one leaves.
    subtract = problem.whole[WHOLE_WEIGHTS] and problem.whole[N_LABELS] == 1
    left_rows, right_rows = middle - nodes.first[node], nodes.last[node] - middle
    smaller = child + int64(right_rows < left_rows)
    n_totals = problem.whole[N_TOTALS]
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


@step
def settle(slots, node, desk_at, size):
    """Turn the best split of a node into children; returns 1 if the gain is large enough.

    Node -1 stands for the root, which is only to be summed up.
    """
    problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
    nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
    desk, shared = load_desk(slots, desk_at), load_desk(slots, TEAM_DESK_AT).words
    ask_about_node(problem, nodes, max(node, 0), scratch)
    if node < 0:
        first, last = int64(nodes.first[0]), int64(nodes.last[0])
        summarise(problem, rows, nodes, 0, scratch, first, last)
        problem.real[TOTAL_WEIGHT] = nodes.weight[0]
        return 0.0
    rank = best_rank(desk, size)
    if desk.best_score[rank] == -math.inf:
        return 0.0
    feature = desk.best_feature[rank]
    note_split(problem, nodes, node, desk, rank)
    middle = int64(call_address(problem.whole[PART], (slots, node, desk_at, rank)))
    if problem.is_category[feature]:
        call_address(problem.whole[KEEP_SET], (slots, node, rank, desk_at))
    child = make_children(problem, rows, nodes, node, middle, scratch, shared)
    if problem.whole[CONSTRAINED]:
        call_address(problem.whole[HAND_ON_BOUNDS], (slots, node))
    return float64(note_gain(problem, nodes, node, child))


SETTLE_SIGNATURE = float64(SLOTS, int64, int64, int64)

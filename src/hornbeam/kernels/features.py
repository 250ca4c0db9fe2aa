"""Which features of a node are searched: all that vary, or some of them, drawn at random.

One thread of a desk plans, before the others join it. Growing calls the plan by its
address, so that a tree that searches all features does not compile the drawing.
"""

from __future__ import annotations

from numba import int64, uint8

from hornbeam.kernels.ranges import find_ranges
from hornbeam.kernels.state import (
    NODES_AT,
    PROBLEM_AT,
    ROWS_AT,
    SCRATCH_AT,
    WORD_DRAWN,
    WORD_FEATURES,
    WORD_FOUND,
    WORD_MORE,
    Plan,
    load_desk,
    load_nodes,
    load_problem,
    load_rows,
    load_scratch,
)
from hornbeam.runtime.atomics import NEXT_TASK
from hornbeam.runtime.kernel import inlined, part, step
from hornbeam.runtime.random import draw_below


@inlined
def recall_varying(problem, nodes, node, varies):
    """Note which features are not known to be constant in a node."""
    n_features, knows = problem.n_features, problem.rules.knows_constant
    for feature in range(n_features):
        varies[feature] = not (knows and nodes.constant[node * n_features + feature] != 0)


@part
def list_features(problem, desk, varies, everyone, key):
    """List the features that vary, or everyone.

    Where all of them are searched and ties are for the first to win, they are shuffled. (A
    list that only began anywhere would favour those behind many that are not as good.)
    """
    features = desk.features
    n_features, constant_too = problem.n_features, uint8(everyone)
    shuffled = problem.rules.random_ties and problem.rules.max_features >= n_features
    n_listed = int64(0)
    for feature in range(n_features):
        listed = varies[feature] | constant_too
        features[n_listed] = feature  # what is not listed is overwritten, or behind the list
        if shuffled and listed:
            other = draw_below(key, n_listed, n_listed + 1)
            features[n_listed] = features[other]
            features[other] = feature
        n_listed += listed
    desk.words[WORD_FEATURES] = n_listed


@step(Plan)
def plan_all(slots, node, desk_at, drawn):
    """List the features that are not known to be constant in a node, to search them all."""
    problem, nodes = load_problem(slots, PROBLEM_AT), load_nodes(slots, NODES_AT)
    scratch, desk = load_scratch(slots, SCRATCH_AT), load_desk(slots, desk_at)
    recall_varying(problem, nodes, node, scratch.varies)
    list_features(problem, desk, scratch.varies, False, nodes.key[node])
    desk.words[WORD_DRAWN] = desk.words[WORD_FEATURES]
    desk.words[NEXT_TASK] = 0  # the others read it behind the next barrier


@inlined
def draw_features(problem, desk, varies, key, drawn):
    """Draw from the listed features for a node's next round, after ``drawn`` (Fisher-Yates).

    Features are drawn until ``max_features`` of them were not constant: a constant feature
    offers no split, so it does not count. Under the other rule it does, and more than
    ``max_features`` are only drawn as long as all were constant. A feature that is listed
    though it is known to be constant is listed as -1.
    """
    words, features = desk.words, desk.features
    counts, n_features = problem.rules.count_constant, problem.n_features
    n_candidates = words[WORD_FEATURES]
    need = problem.rules.max_features - words[WORD_FOUND]
    if counts and drawn > 0:
        need = int64(words[WORD_FOUND] == 0)
    last_place = min(drawn + max(int64(0), need), n_candidates)
    if problem.rules.max_features < n_features:
        for place in range(drawn, last_place):
            other = place + draw_below(key, place, n_candidates - place)
            chosen = features[other]
            features[other] = features[place]
            features[place] = chosen
    if counts:
        for place in range(drawn, last_place):
            if not varies[features[place]]:
                features[place] = -1
    words[WORD_MORE if drawn > 0 else WORD_DRAWN] = last_place
    words[NEXT_TASK] = drawn


@step(Plan)
def plan_drawn(slots, node, desk_at, drawn):
    """Draw the features of a node's next round; before the first one, list those that vary."""
    problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
    nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
    desk = load_desk(slots, desk_at)
    if drawn == 0:
        if problem.row_stride > 0:
            first, last = int64(nodes.first[node]), int64(nodes.last[node])
            find_ranges(problem, rows.row, first, last, scratch)
        else:
            recall_varying(problem, nodes, node, scratch.varies)
        everyone = problem.rules.count_constant
        list_features(problem, desk, scratch.varies, everyone, nodes.key[node])
    draw_features(problem, desk, scratch.varies, nodes.key[node], drawn)

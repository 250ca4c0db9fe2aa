"""Search the best split of a node on one feature.

Numbers are cut at the best place (here) or at a random one (split_random.py), categories
are parted into two sets (split_categories.py). All of them order the node's entries in
some way and ask the criterion's scan (kernels/scan.py) for the best cut, with the missing
values on the right and, if there are any, on the left. Growing calls the searches by
their addresses, so that only what a fit needs is compiled.
"""

from __future__ import annotations

import math

from numba import int64, uint64

from hornbeam.dtypes import EPSILON
from hornbeam.kernels.lanes import BLOCK_LANES
from hornbeam.kernels.order import ENTRY_MASK, cell_keys
from hornbeam.kernels.state import (
    NODES_AT,
    PROBLEM_AT,
    ROWS_AT,
    SCRATCH_AT,
    WORD_FIRST_WINS,
    AboutNode,
    OrderEntries,
    Search,
    load_desk,
    load_nodes,
    load_problem,
    load_rows,
    load_scratch,
)
from hornbeam.kernels.ties import tie_of
from hornbeam.runtime.kernel import inlined, part, step

# A histogram pays while there are at most this many codes per row of the node (64 of them
# are passed over at a time if no row has them).
CODES_PER_ROW = 64
# So few rows are sorted faster than counted.
SORTED_ROWS = 24
# So small a node is searched by one thread, which can stop when the split is perfect.
SMALL_ROWS = 256


@part
def ask_about_node(problem, nodes, node, scratch):
    """Fill in the parts of a scan's question that are the same for all features."""
    ask = scratch.ask
    ask.n_rows = nodes.last[node] - nodes.first[node]
    ask.first = nodes.first[node]
    ask.min_leaf = problem.rules.min_leaf
    ask.n_stats = problem.sums.n_stats
    ask.n_labels = problem.sums.n_labels
    ask.n_outputs = problem.sums.n_outputs
    ask.whole_weights = problem.weights.whole
    ask.unit_weights = problem.weights.unit
    ask.weight = nodes.weight[node]
    ask.min_weight = problem.weights.min_leaf
    if problem.rules.constrained:
        ask.lower = nodes.lower[node]
        ask.upper = nodes.upper[node]
    ask.tie = tie_of(problem, nodes, node)
    n_totals = problem.sums.n_totals
    ask.n_totals = n_totals
    ask.anew = False
    for k in range(n_totals):
        scratch.total[k] = nodes.totals[node * n_totals + k]


@step(AboutNode)
def number_anew(slots, node):
    """Number the classes that a node has from 0 up, so that the others cost no time.

    Deep in a tree most nodes have two or three of many classes.
    """
    problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
    nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
    n_classes, n_present = problem.sums.n_totals, 0
    for k in range(n_classes):
        scratch.new_number[k] = n_present
        if scratch.total[k] > 0.0:
            scratch.total[n_present] = scratch.total[k]
            n_present += 1
    first, last = int64(nodes.first[node]), int64(nodes.last[node])
    for j in range(first, last):
        scratch.labels[j - first] = scratch.new_number[rows.labels[j]]
    scratch.ask.n_totals = n_present
    scratch.ask.anew = True
    scratch.class_span[1] = n_present


@inlined
def is_small(nodes, node):
    """Whether a single thread searches the node, whoever else is at the desk."""
    return nodes.last[node] - nodes.first[node] <= SMALL_ROWS


@inlined
def may_split(problem, nodes, node):
    """Whether the pre-pruning rules let a node be searched at all."""
    rules = problem.rules
    count = nodes.last[node] - nodes.first[node]
    return (
        nodes.depth[node] < rules.max_depth
        and count >= rules.min_split
        and count >= 2 * rules.min_leaf
        and nodes.weight[node] >= 2 * problem.weights.min_leaf
        and nodes.impurity[node] > EPSILON
    )


@inlined
def is_block(nodes, node):
    """Whether the rows of a node are as few as a word has bits (see kernels/block.py)."""
    return nodes.last[node] - nodes.first[node] <= BLOCK_LANES


@inlined
def is_pair(nodes, node):
    """Whether the node has two rows."""
    return nodes.last[node] - nodes.first[node] == 2


@inlined
def nothing_better(problem, nodes, node, desk, rank):
    """Whether the best split so far of a small node cannot be beaten: the search ends early.

    Two rows can be parted in one way only. Pure children are as good as it gets; but where
    all features are searched, ties are for the first of them to win. In larger nodes what
    is found first depends on the threads.
    """
    sampled = problem.rules.max_features < problem.n_features
    perfect = sampled and desk.best_score[rank] >= problem.sums.perfect_score
    parted = is_pair(nodes, node) and desk.best_score[rank] > -math.inf
    return is_small(nodes, node) and (perfect or parted)


@inlined
def present_keys(scratch):
    """The array that holds the present key list."""
    return scratch.spare_keys if scratch.ask.in_spare else scratch.keys


@inlined
def put_missing_left(rows, scratch):
    """Sum the entries whose code is missing: they are on the left before the scan starts."""
    ask, start, cells = scratch.ask, scratch.start, scratch.ask.cells
    keys = present_keys(scratch)
    labels = scratch.entry_labels if cells else rows.labels
    stats = scratch.entry_stats if cells else rows.stats
    n_labels, n_stats = ask.n_labels, ask.n_stats
    for i in range(ask.n_keys, ask.n_all_keys):
        entry = int64(keys[i] & uint64(ENTRY_MASK))
        weight = stats[entry * n_stats]
        scratch.ask.start_weight += weight
        ask.start_rows += scratch.entry_rows[entry] if cells else 1
        for output in range(n_labels):
            start[labels[entry * n_labels + output]] += weight
        if n_labels == 0:
            for s in range(n_stats):
                start[s] += stats[entry * n_stats + s]


@inlined
def put_nothing_left(scratch):
    """Start a scan with an empty left side."""
    for k in range(scratch.ask.n_totals):
        scratch.start[k] = 0.0
    scratch.ask.start_rows = 0
    scratch.ask.start_weight = 0.0


@inlined
def scan(problem, rows, scratch):
    """Best score over the cuts of the present key list."""
    cells = scratch.ask.cells
    return problem.steps.scan(
        present_keys(scratch),
        scratch.entry_labels if cells else rows.labels,
        scratch.entry_stats if cells else rows.stats,
        scratch.entry_rows,
        problem.class_start,
        scratch.total,
        scratch.start,
        scratch.left,
        scratch.right,
        scratch.order,
        scratch.ask,
    )


@inlined
def beats(desk, rank, feature, score):
    """Order of candidates: score, then the lower feature, then the earlier cut.

    Scores of two features of a small node, which one thread searches, count as equal if
    rounding explains what they differ by (kernels/ties.py). Those of a larger one are compared
    as they are, so that it does not matter who finds what first, and noted for
    `settle.prefer_lower`.

    A tree of a forest is grown by one thread, and takes features in a random order: the
    first of equally good splits is any of them. Two rows, which every feature that varies
    parts as well as another, would else always be parted by the first one.
    """
    best_score, best_feature = desk.best_score[rank], desk.best_feature[rank]
    if score == -math.inf or score != score:
        return False
    if desk.words[WORD_FIRST_WINS] != 0:
        return score > best_score
    desk.feature_score[feature] = max(desk.feature_score[feature], score)
    tie = desk.tie[rank] if feature != best_feature else 0.0
    return score > best_score + tie or (feature < best_feature and score >= best_score - tie)


@inlined
def keep_split(desk, rank, feature, score, cut, missing_left, threshold):
    """Keep a split if it is this thread's best so far; returns whether it is."""
    better = beats(desk, rank, feature, score)
    if better:
        desk.best_score[rank] = score
        desk.best_feature[rank] = feature
        desk.best_cut[rank] = cut
        desk.best_missing_left[rank] = missing_left
        desk.best_threshold[rank] = threshold
    return better


@part
def try_cuts(problem, rows, scratch, feature, threshold, rank, desk, first_side):
    """Scan the present key list for both sides of the missing values; keep the best.

    With ``first_side`` 1 the missing values are only tried on the left. Returns whether
    this list holds the best split so far.
    """
    improved = False
    ask = scratch.ask
    missing = ask.n_all_keys > ask.n_keys
    for missing_left in range(first_side, 1 + missing):
        put_nothing_left(scratch)
        if missing_left == 1:
            put_missing_left(rows, scratch)
        score = scan(problem, rows, scratch)
        if scratch.ask.owed > 0.0:
            score -= scratch.ask.owed * (score - scratch.ask.whole_score)
        if beats(desk, rank, feature, score):
            improved = True
            desk.best_score[rank] = score
            desk.best_threshold[rank] = threshold
            desk.best_feature[rank] = feature
            desk.best_cut[rank] = int64(present_keys(scratch)[ask.best_key] >> uint64(32))
            desk.best_missing_left[rank] = missing_left
            if not missing:  # a missing value seen later goes with the larger side
                desk.best_missing_left[rank] = int64(2 * ask.best_rows > ask.n_rows)
    return improved


@step(OrderEntries)
def order_entries(slots, node, feature):
    """List the node's entries by ascending code, as histogram cells or as sorted rows.

    Returns whether the feature varies in the node.
    """
    problem, nodes = load_problem(slots, PROBLEM_AT), load_nodes(slots, NODES_AT)
    scratch = load_scratch(slots, SCRATCH_AT)
    ask = scratch.ask
    first, last = int64(nodes.first[node]), int64(nodes.last[node])
    n_codes = problem.n_codes[feature]
    few = (n_codes + 1) * problem.sums.n_classes <= problem.room.cells
    few = few and n_codes <= CODES_PER_ROW * (last - first) and last - first > SORTED_ROWS
    ask.in_spare = 0
    ask.cells = few and not problem.sums.rows_only
    if ask.cells:
        problem.steps.count_cells(slots, feature, first, last)
        n_keys, known = cell_keys(problem, scratch, feature)
        first_code = scratch.keys[0] >> uint64(32)
        varies = known > 0 and scratch.keys[n_keys - 1] >> uint64(32) != first_code
    else:
        known = problem.steps.sort(slots, feature, first, last)
        n_keys = last - first
        keys = present_keys(scratch)
        constant = known == n_keys and keys[0] >> uint64(32) == keys[known - 1] >> uint64(32)
        varies = known > 0 and not constant
    ask.n_keys = known
    ask.n_all_keys = n_keys
    return varies


@step(Search)
def search_number(slots, node, feature, rank, desk_at):
    """Best cut of a number feature; returns whether it varies in the node.

    The best split so far of this thread is in ``desk.best_*[rank]``.
    """
    problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
    scratch, desk = load_scratch(slots, SCRATCH_AT), load_desk(slots, desk_at)
    if not problem.steps.order(slots, node, feature):
        return False
    scratch.ask.monotone = problem.monotone[feature]
    try_cuts(problem, rows, scratch, feature, math.nan, rank, desk, 0)
    return True

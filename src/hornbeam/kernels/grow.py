"""The growth loop.

    take a node from the frontier
    search its best split           (kernels/split.py)
    part its rows, make its children, put them on the frontier

Depth-first, level-wise and best-first growth differ only in which node of the frontier
is next. Several threads first work together on large nodes, each on other features;
small nodes are put aside as tasks, and each task is grown with all below it by a single
thread running the same loop on a tile of the codes. What a node becomes depends on its
rows and its key alone, so the tree does not depend on who did what.

All state lives in arrays: when room runs out the loop returns FULL, the caller makes
room, and calling it again goes on where it was.
"""

from __future__ import annotations

import math

from numba import int64, uint64

from hornbeam.dtypes import EPSILON, MISSING_BIN, MISSING_RANK, WORD_BITS
from hornbeam.kernels.split import ask_about_node
from hornbeam.kernels.state import (
    ABSENT,
    ANSWER_WEIGHT,
    ASK_FIRST,
    ASK_LAST,
    BEST_FIRST,
    BYTES,
    CAPACITY,
    CATEGORY_WORDS,
    CLOSED,
    CONSTRAINED,
    DEPTH_FIRST,
    DONE,
    FULL,
    GROWTH,
    KNOWS_CONSTANT,
    LEFT,
    LEVEL_WISE,
    MAX_CATEGORIES,
    MAX_DEPTH,
    MAX_FEATURES,
    MAX_LEAVES,
    MIN_DECREASE,
    MIN_LEAF,
    MIN_SPLIT,
    MIN_WEIGHT_LEAF,
    N_FEATURES,
    N_LABELS,
    N_ROWS,
    N_STATS,
    N_TOTALS,
    NODES_AT,
    PROBLEM_AT,
    RANDOM_CUTS,
    READY,
    ROWS_AT,
    SCRATCH_AT,
    SEARCH_CATEGORY,
    SEARCH_NUMBER,
    SET_CAPACITY,
    SPLIT,
    STOPPED,
    SUMMARY,
    TASK_ROWS,
    TEAM_DESK_AT,
    THREADS,
    TILED,
    TOTAL_WEIGHT,
    UNSEEN,
    VALUE_AT,
    VALUE_IS_TOTAL,
    WORD_FEATURES,
    WORD_FOUND,
    WORD_HEAD,
    WORD_LEAVES,
    WORD_NODE,
    WORD_SETS,
    WORD_STATUS,
    WORD_TAIL,
    WORD_TASKS,
    load_desk,
    load_nodes,
    load_problem,
    load_rows,
    load_scratch,
)
from hornbeam.runtime.atomics import (
    NEXT_TASK,
    NODE_COUNT,
    STOP,
    atomic_add,
    atomic_load,
    atomic_store,
    barrier,
    call_address,
)
from hornbeam.runtime.kernel import kernel, part
from hornbeam.runtime.random import derive, draw_below

# --- the frontier -------------------------------------------------------------------


@part
def comes_before(nodes, one, other):
    """Best-first order: nodes not yet searched, then the larger gain, then the older node."""
    gain_one = math.inf if nodes.state[one] == UNSEEN else nodes.gain[one]
    gain_other = math.inf if nodes.state[other] == UNSEEN else nodes.gain[other]
    return gain_one > gain_other or (gain_one == gain_other and one < other)


@part
def push(problem, nodes, desk, node):
    """Put a node on the frontier (a heap when growing best-first)."""
    frontier, words = desk.frontier, desk.words
    place = words[WORD_TAIL]
    words[WORD_TAIL] += 1
    if problem.whole[GROWTH] == BEST_FIRST:
        while place > 0 and comes_before(nodes, node, frontier[(place - 1) // 2]):
            frontier[place] = frontier[(place - 1) // 2]
            place = (place - 1) // 2
    frontier[place] = node


@part
def pop(problem, nodes, desk):
    """Take the next node from the frontier, -1 if there is none."""
    frontier, words = desk.frontier, desk.words
    if words[WORD_HEAD] == words[WORD_TAIL]:
        return -1
    if problem.whole[GROWTH] == LEVEL_WISE:
        words[WORD_HEAD] += 1
        return frontier[words[WORD_HEAD] - 1]
    words[WORD_TAIL] -= 1
    size = words[WORD_TAIL]
    moved = frontier[size]
    if problem.whole[GROWTH] == DEPTH_FIRST or size == 0:
        return moved
    top = frontier[0]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and comes_before(nodes, frontier[child + 1], frontier[child]):
            child += 1
        if comes_before(nodes, moved, frontier[child]):
            break
        frontier[place] = frontier[child]
        place = child
    frontier[place] = moved
    return top


# --- one node -----------------------------------------------------------------------


@part
def may_split(problem, nodes, node):
    """Whether the pre-pruning rules let a node be searched at all."""
    whole, real = problem.whole, problem.real
    count = nodes.last[node] - nodes.first[node]
    return (
        nodes.depth[node] < whole[MAX_DEPTH]
        and count >= whole[MIN_SPLIT]
        and count >= 2 * whole[MIN_LEAF]
        and nodes.weight[node] >= 2 * real[MIN_WEIGHT_LEAF]
        and nodes.impurity[node] > EPSILON
    )


@part
def list_features(problem, nodes, node, desk):
    """List the features that are not known to be constant; returns how many."""
    n_features = problem.whole[N_FEATURES]
    n_candidates = 0
    for feature in range(n_features):
        desk.features[n_candidates] = feature
        if not problem.whole[KNOWS_CONSTANT] or nodes.constant[node * n_features + feature] == 0:
            n_candidates += 1
    return n_candidates


@part
def draw_features(nodes, node, desk, drawn, need, n_candidates):
    """Bring ``need`` random features to the places after ``drawn`` (Fisher-Yates)."""
    key = nodes.key[node]
    for place in range(drawn, drawn + need):
        other = place + draw_below(key, place, n_candidates - place)
        feature = desk.features[other]
        desk.features[other] = desk.features[place]
        desk.features[place] = feature


@part
def search_round(slots, problem, nodes, node, desk, desk_at, rank, last, shared):
    """Search listed features up to place ``last``, taking one after the other."""
    words = desk.words
    n_features = problem.whole[N_FEATURES]
    while True:
        place = atomic_add(words, NEXT_TASK, 1)
        if place >= last or atomic_load(shared, STOP) != 0:
            return
        feature = desk.features[place]
        search = problem.whole[SEARCH_NUMBER]
        if problem.is_category[feature]:
            search = problem.whole[SEARCH_CATEGORY]
        varies = call_address(search, (slots, node, feature, rank, desk_at))
        if varies > 0.0:
            atomic_add(words, WORD_FOUND, 1)
        elif problem.whole[KNOWS_CONSTANT]:
            nodes.constant[node * n_features + feature] = 1


@part
def search_node(slots, problem, nodes, node, scratch, desk, desk_at, rank, size, shared):
    """Search a node's best split with all threads of the desk.

    Features are drawn in rounds until ``max_features`` of them were not constant: a
    constant feature offers no split, so it does not count.
    """
    words = desk.words
    desk.best_score[rank] = -math.inf
    desk.best_feature[rank] = problem.whole[N_FEATURES]
    ask_about_node(problem, nodes, node, scratch)
    if rank == 0:
        words[WORD_FEATURES] = list_features(problem, nodes, node, desk)
        words[WORD_FOUND] = 0
    barrier(words, size)
    n_candidates = words[WORD_FEATURES]
    drawn = 0
    while True:
        need = min(problem.whole[MAX_FEATURES] - words[WORD_FOUND], n_candidates - drawn)
        barrier(words, size)
        if need <= 0 or atomic_load(shared, STOP) != 0:
            return
        if rank == 0:
            if problem.whole[MAX_FEATURES] < problem.whole[N_FEATURES]:
                draw_features(nodes, node, desk, drawn, need, n_candidates)
            atomic_store(words, NEXT_TASK, drawn)
        barrier(words, size)
        drawn += need
        search_round(slots, problem, nodes, node, desk, desk_at, rank, drawn, shared)
        barrier(words, size)


@part
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
def part_rows(problem, rows, nodes, node, scratch, desk, rank):
    """Move the rows that go left before those that go right, keeping their order.

    Both places are written and one of them advances, so there is no branch to mispredict.
    Returns the first row of the right side.
    """
    feature, cut = desk.best_feature[rank], desk.best_cut[rank]
    missing_left = desk.best_missing_left[rank]
    category, as_bytes = problem.is_category[feature], problem.whole[BYTES]
    missing_code = MISSING_BIN if as_bytes else MISSING_RANK
    member_at = rank * problem.whole[MAX_CATEGORIES]
    n_labels, n_stats = problem.whole[N_LABELS], problem.whole[N_STATS]
    offset = feature * problem.whole[N_ROWS]
    first, last = int64(nodes.first[node]), int64(nodes.last[node])
    left, right = first, 0
    low_code, high_code = int64(-1), int64(MISSING_RANK)
    low_row, high_row = int64(0), int64(0)
    for j in range(first, last):
        row = rows.row[j]
        code = int64(problem.bins[offset + row]) if as_bytes else int64(problem.ranks[offset + row])
        if code == missing_code:
            goes_left = missing_left
        elif category:
            goes_left = int64(desk.member[member_at + code] == LEFT)
        else:
            goes_left = int64(code <= cut)
            if goes_left:
                if code > low_code:
                    low_code, low_row = code, int64(row)
            elif code < high_code:
                high_code, high_row = code, int64(row)
        rows.row[left] = row
        scratch.spare_row[right] = row
        for o in range(n_labels):
            label = rows.labels[j * n_labels + o]
            rows.labels[left * n_labels + o] = label
            scratch.spare_labels[right * n_labels + o] = label
        for s in range(n_stats):
            stat = rows.stats[j * n_stats + s]
            rows.stats[left * n_stats + s] = stat
            scratch.spare_stats[right * n_stats + s] = stat
        left += goes_left
        right += 1 - goes_left
    for i in range(right):
        rows.row[left + i] = scratch.spare_row[i]
    for i in range(right * n_labels):
        rows.labels[left * n_labels + i] = scratch.spare_labels[i]
    for i in range(right * n_stats):
        rows.stats[left * n_stats + i] = scratch.spare_stats[i]
    nodes.low_code[node] = low_code
    nodes.high_code[node] = high_code if high_code < MISSING_RANK else -1
    tiled = problem.whole[TILED]
    nodes.low_row[node] = problem.origin[low_row] if tiled else low_row
    nodes.high_row[node] = problem.origin[high_row] if tiled else high_row
    return left


@part
def summarise(problem, rows, nodes, node, scratch):
    """Totals, weight and impurity of a node from its rows."""
    scratch.ask[ASK_FIRST] = nodes.first[node]
    scratch.ask[ASK_LAST] = nodes.last[node]
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


@part
def value_of(problem, nodes, node):
    """The value that monotone constraints bound: mean, median or share of the last class."""
    total = nodes.totals[node * problem.whole[N_TOTALS] + problem.whole[VALUE_AT]]
    return total if problem.whole[VALUE_IS_TOTAL] else total / nodes.weight[node]


@part
def bound_children(problem, nodes, node, child):
    """Hand the bounds of monotone constraints on to the children."""
    for branch in range(2):
        nodes.lower[child + branch] = nodes.lower[node]
        nodes.upper[child + branch] = nodes.upper[node]
    direction = problem.monotone[nodes.feature[node]]
    if direction != 0:
        between = 0.5 * (value_of(problem, nodes, child) + value_of(problem, nodes, child + 1))
        smaller = child if direction > 0 else child + 1
        nodes.upper[smaller] = between
        nodes.lower[2 * child + 1 - smaller] = between


@part
def make_children(problem, rows, nodes, node, middle, scratch, shared):
    """Make both children of a node whose rows are parted at ``middle``."""
    child = atomic_add(shared, NODE_COUNT, 2)
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
        summarise(problem, rows, nodes, new, scratch)
    if problem.whole[CONSTRAINED]:
        bound_children(problem, nodes, node, child)
    return child


@part
def keep_category_set(problem, nodes, node, desk, rank, shared):
    """Write the bit set of categories that go left.

    A category the node has not seen goes where its missing values go.
    """
    n_categories = problem.n_codes[desk.best_feature[rank]]
    n_words = (n_categories + WORD_BITS - 1) // WORD_BITS
    start = atomic_add(shared, WORD_SETS, n_words)
    nodes.set_start[node] = start
    missing_left = desk.best_missing_left[rank]
    member_at = rank * problem.whole[MAX_CATEGORIES]
    for w in range(n_words):
        bits = uint64(0)
        for b in range(min(WORD_BITS, n_categories - w * WORD_BITS)):
            side = desk.member[member_at + w * WORD_BITS + b]
            if side == LEFT or (side == ABSENT and missing_left):
                bits |= uint64(1) << uint64(b)
        nodes.sets[start + w] = bits


@part
def settle(problem, rows, nodes, node, scratch, desk, size, shared):
    """Turn the best split found into children; returns whether the gain is large enough."""
    rank = best_rank(desk, size)
    if desk.best_score[rank] == -math.inf:
        return False
    feature = desk.best_feature[rank]
    nodes.feature[node] = feature
    nodes.missing_left[node] = desk.best_missing_left[rank]
    if problem.whole[RANDOM_CUTS]:
        nodes.threshold[node] = desk.best_threshold[rank]
    middle = part_rows(problem, rows, nodes, node, scratch, desk, rank)
    if problem.is_category[feature]:
        keep_category_set(problem, nodes, node, desk, rank, shared)
    child = make_children(problem, rows, nodes, node, middle, scratch, shared)
    left, right = nodes.weight[child], nodes.weight[child + 1]
    remaining = left * nodes.impurity[child] + right * nodes.impurity[child + 1]
    decrease = nodes.impurity[node] - remaining / (left + right)
    gain = nodes.weight[node] / problem.real[TOTAL_WEIGHT] * decrease
    nodes.gain[node] = gain
    return gain + EPSILON >= problem.real[MIN_DECREASE]


# --- the loop -----------------------------------------------------------------------


@part
def has_room(problem, desk, shared):
    """Whether every thread can still make two nodes and one category set."""
    whole = problem.whole
    threads = whole[THREADS]
    return (
        atomic_load(shared, NODE_COUNT) + 2 * threads <= whole[CAPACITY]
        and atomic_load(shared, WORD_SETS) + whole[CATEGORY_WORDS] * threads <= whole[SET_CAPACITY]
        and desk.words[WORD_TAIL] + 2 <= whole[CAPACITY]
    )


@part
def adopt_children(problem, nodes, node, desk, tasks, shared):
    """Make a split final and put the children on the frontier, or aside as tasks.

    A task is a node so small that one thread should grow it and all below it, in a tile
    of its own (kernels/tile.py).
    """
    nodes.state[node] = SPLIT
    may_set_aside = not problem.whole[TILED] and problem.whole[GROWTH] != BEST_FIRST
    for branch in range(2):
        new = nodes.child[node] + 1 - branch  # the left child is taken first from a stack
        if may_set_aside and nodes.last[new] - nodes.first[new] <= problem.whole[TASK_ROWS]:
            tasks[shared[WORD_TASKS]] = new
            shared[WORD_TASKS] += 1
        else:
            push(problem, nodes, desk, new)
    desk.words[WORD_LEAVES] += 1


@part
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
        node = pop(problem, nodes, desk)
        if node < 0:
            return node
        if nodes.state[node] == UNSEEN:
            if may_split(problem, nodes, node):
                return node
            nodes.state[node] = CLOSED
            continue
        if words[WORD_LEAVES] >= problem.whole[MAX_LEAVES]:
            return -1
        adopt_children(problem, nodes, node, desk, tasks, shared)


@kernel
def expand(slots, desk_at, rank, size):
    """Grow until the frontier of a desk is empty, room runs out or somebody says stop.

    All ``size`` threads at the desk call this together. Returns DONE, FULL or STOPPED.
    """
    problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
    nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
    desk, shared = load_desk(slots, desk_at), load_desk(slots, TEAM_DESK_AT).words
    words = desk.words
    if rank == 0 and nodes.weight[0] == 0.0:  # the very first node is still to be summed up
        ask_about_node(problem, nodes, 0, scratch)
        summarise(problem, rows, nodes, 0, scratch)
        problem.real[TOTAL_WEIGHT] = nodes.weight[0]
    while True:
        if rank == 0:
            words[WORD_NODE] = next_node(problem, nodes, desk, scratch.tasks, shared)
        barrier(words, size)
        if rank > 0 and atomic_load(shared, STOP) != 0:
            return STOPPED  # the first thread may still be at work on what the desk holds
        node = words[WORD_NODE]
        if node < 0:
            return words[WORD_STATUS]
        # The search holds barriers, so nobody reads WORD_NODE late, when it is already
        # the next node's.
        search_node(slots, problem, nodes, node, scratch, desk, desk_at, rank, size, shared)
        if rank > 0:
            continue
        nodes.state[node] = CLOSED
        if atomic_load(shared, STOP) != 0:
            continue
        if settle(problem, rows, nodes, node, scratch, desk, size, shared):
            if problem.whole[GROWTH] == BEST_FIRST:
                nodes.state[node] = READY
                push(problem, nodes, desk, node)
            else:
                adopt_children(problem, nodes, node, desk, scratch.tasks, shared)

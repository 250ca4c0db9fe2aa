"""The growth loop of a boosted tree: all threads of a team together, node by node.

    take the best node from the frontier            one thread
    part its rows between its children              all threads, by chunks of rows
    count the smaller child, subtract the other     all threads, by rows or by features
    search both                                     all threads, by features
    put them on the frontier                        one thread

Leaf-wise, level-wise and depth-first growth differ only in which node is next.
"""

from __future__ import annotations

import math

from numba import int64, types, uint64

from hornbeam.kernels.boosting.histogram import (
    LEAST_SHARED_ROWS,
    MANY_FEATURES,
    add_shared,
    count_features,
    count_shared,
    subtract,
)
from hornbeam.kernels.boosting.partition import (
    flag_chunk,
    flag_together,
    lay_out_rows,
    move_chunk,
    move_together,
    sum_counts,
)
from hornbeam.kernels.boosting.search import (
    SearchedNode,
    leaf_objective,
    leaf_weight,
    search_category,
    search_number,
)
from hornbeam.kernels.boosting.state import (
    BEST_CUT,
    BEST_FEATURE,
    BEST_GAIN,
    BEST_GRADIENT,
    BEST_HESSIAN,
    BEST_LEFT_VALUE,
    BEST_MISSING_LEFT,
    BEST_RIGHT_VALUE,
    CHUNK,
    FEATURES_BY_LEVEL,
    FEATURES_BY_NODE,
    FINISHED,
    FLAGGING,
    GRADIENT_UNIT,
    GROWTH,
    HESSIAN_UNIT,
    LAMBDA,
    MAX_DEPTH,
    MAX_LEAVES,
    MEMBER_WORDS,
    MIN_GAIN,
    MIN_HESSIAN,
    MIN_LEAF,
    N_ACTIVE,
    N_BEST,
    N_BEST_WHOLE,
    N_CELLS,
    N_DRAWN,
    N_FEATURES,
    N_GROUPS,
    N_SLOTS,
    NODES_AT,
    ROWS_AT,
    SEARCHING,
    SEED,
    TABLE_AT,
    TEAM_AT,
    UNKNOWN,
    WORD_BUILD,
    WORD_BUILD_SLOT,
    WORD_BY_FEATURE,
    WORD_COUNTS,
    WORD_FLAGS,
    WORD_FREE,
    WORD_GRADIENT,
    WORD_HESSIAN,
    WORD_LEAVES,
    WORD_MODE,
    WORD_MOVES,
    WORD_NODE,
    WORD_NODES,
    WORD_OTHER,
    WORD_OTHER_SLOT,
    WORD_SEARCH,
    WORD_SECOND,
    WORD_TAIL,
    load_nodes,
    load_rows,
    load_table,
    load_team,
)
from hornbeam.kernels.state import BEST_FIRST, DEPTH_FIRST
from hornbeam.runtime.atomics import STOP, atomic_add, atomic_load, atomic_store, barrier
from hornbeam.runtime.kernel import kernel, part
from hornbeam.runtime.random import derive, derive_for_feature

GAIN_NOISE = 2.0**-40  # share of a node's objective that may be rounding error

# --- the frontier: a heap -----------------------------------------------------------


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
    growth, frontier = table.whole[GROWTH], team.frontier
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
    growth, frontier = table.whole[GROWTH], team.frontier
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


# --- which features a node may ask ----------------------------------------------------


@part
def keep_smallest(team, may_ask, at, n_active, key, kept):
    """Of the features that may be asked, keep those with the smallest hashes."""
    allowed = int64(0)
    for k in range(n_active):
        feature = int64(team.active[k])
        if may_ask[at + feature]:
            allowed += 1
            team.draw[k] = derive_for_feature(key, feature) >> uint64(1)
        else:
            team.draw[k] = uint64(2**63)
    if allowed <= kept:
        return allowed
    low, high = uint64(0), uint64(2**63 - 1)  # the smallest limit that lets enough through
    while low < high:
        middle = low + ((high - low) >> uint64(1))
        below = int64(0)
        for k in range(n_active):
            below += team.draw[k] <= middle
        if below >= kept:
            high = middle
        else:
            low = middle + uint64(1)
    for k in range(n_active):
        if team.draw[k] > high:
            may_ask[at + int64(team.active[k])] = 0
    return kept


@part
def choose_features(table, nodes, team, node, which):
    """Mark the features a node may ask: drawn for its tree, level and node, and allowed."""
    whole = table.whole
    n_features, n_active, n_groups = whole[N_FEATURES], whole[N_ACTIVE], whole[N_GROUPS]
    at = which * n_features
    for k in range(n_active):
        team.may_ask[at + int64(team.active[k])] = 1
    if n_groups > 0:
        for k in range(n_active):
            feature = int64(team.active[k])
            allowed = False
            for group in range(n_groups):
                if (
                    nodes.groups[node * n_groups + group]
                    and table.groups[group * n_features + feature]
                ):
                    allowed = True
            if not allowed:
                team.may_ask[at + feature] = 0
    key = derive(whole[SEED], n_features)
    if whole[FEATURES_BY_LEVEL] < n_active:
        level_key = derive(key, nodes.depth[node])
        n_active_left = whole[FEATURES_BY_LEVEL]
        keep_smallest(team, team.may_ask, at, n_active, level_key, n_active_left)
    if whole[FEATURES_BY_NODE] < n_active:
        node_key = derive(derive(key, -1), node)
        keep_smallest(team, team.may_ask, at, n_active, node_key, whole[FEATURES_BY_NODE])


# --- making nodes -----------------------------------------------------------------------


@part
def may_split(table, nodes, team, node):
    """Whether the rules let a node be searched."""
    whole, real = table.whole, table.real
    count = nodes.last[node] - nodes.first[node]
    hessian = float(nodes.hessian[node]) * real[HESSIAN_UNIT]
    return (
        nodes.depth[node] < whole[MAX_DEPTH]
        and team.words[WORD_LEAVES] < whole[MAX_LEAVES]
        and count >= 2 * whole[MIN_LEAF]
        and count >= 2
        and hessian >= 2.0 * real[MIN_HESSIAN]
    )


@part
def take_slot(table, team, node, nodes):
    """A place for a node's histogram; the last one is for those that cannot be kept."""
    if team.words[WORD_FREE] == 0:
        nodes.slot[node] = -1
        return table.whole[N_SLOTS]
    team.words[WORD_FREE] -= 1
    slot = int64(team.free_slots[team.words[WORD_FREE]])
    nodes.slot[node] = slot
    return slot


@part
def release_slot(nodes, team, node):
    """A node's histogram is needed no more."""
    if nodes.slot[node] >= 0:
        team.free_slots[team.words[WORD_FREE]] = nodes.slot[node]
        team.words[WORD_FREE] += 1
        nodes.slot[node] = -1


@part
def mark_sides(table, nodes, team, node):
    """Which side each code goes to at a node's split, as a table."""
    feature = int64(nodes.feature[node])
    n_codes = table.n_codes[feature]
    for code in range(256):
        if table.is_category[feature]:
            word = nodes.member[node * MEMBER_WORDS + (code >> 6)]
            team.goes_left[code] = (word >> uint64(code & 63)) & uint64(1)
        else:
            team.goes_left[code] = code <= int64(nodes.cut[node])
    for code in range(n_codes, 256):
        team.goes_left[code] = nodes.missing_left[node]


@part
def make_child(table, nodes, parent, node, n_left, is_left):
    """One child of a split: its rows, sums, value and bounds."""
    whole = table.whole
    middle = nodes.first[parent] + n_left
    nodes.first[node] = nodes.first[parent] if is_left else middle
    nodes.last[node] = middle if is_left else nodes.last[parent]
    nodes.buffer[node] = 1 - nodes.buffer[parent]
    nodes.depth[node] = nodes.depth[parent] + 1
    left_gradient, left_hessian = nodes.left_gradient[parent], nodes.left_hessian[parent]
    nodes.gradient[node] = left_gradient if is_left else nodes.gradient[parent] - left_gradient
    nodes.hessian[node] = left_hessian if is_left else nodes.hessian[parent] - left_hessian
    nodes.value[node] = nodes.left_value[parent] if is_left else nodes.right_value[parent]
    nodes.lower[node] = nodes.lower[parent]
    nodes.upper[node] = nodes.upper[parent]
    make_leaf(table, nodes, node)
    direction = table.monotone[nodes.feature[parent]]
    if direction != 0:
        border = 0.5 * (nodes.left_value[parent] + nodes.right_value[parent])
        if (direction > 0) == is_left:
            nodes.upper[node] = border
        else:
            nodes.lower[node] = border
    n_groups = whole[N_GROUPS]
    for group in range(n_groups):
        holds = table.groups[group * whole[N_FEATURES] + int64(nodes.feature[parent])]
        nodes.groups[node * n_groups + group] = nodes.groups[parent * n_groups + group] & holds


@part
def make_leaf(table, nodes, node):
    """What every new node is until a split of it is made."""
    nodes.child[node] = 0
    nodes.slot[node] = -1
    nodes.feature[node] = -1
    nodes.gain[node] = 0.0
    nodes.least_rows[node] = float(table.whole[MIN_LEAF])


@part
def plan_search(table, nodes, team, node, left):
    """Decide whose histogram is counted and whose is what remains."""
    words = team.words
    smaller = left
    if nodes.last[left] - nodes.first[left] > nodes.last[left + 1] - nodes.first[left + 1]:
        smaller = left + 1
    larger = 2 * left + 1 - smaller
    search_smaller = may_split(table, nodes, team, smaller)
    search_larger = may_split(table, nodes, team, larger)
    words[WORD_BUILD] = words[WORD_OTHER] = words[WORD_SECOND] = -1
    if search_larger and nodes.slot[node] >= 0:
        words[WORD_BUILD], words[WORD_OTHER] = smaller, larger
        nodes.slot[larger] = nodes.slot[node]
        nodes.slot[node] = -1
        words[WORD_OTHER_SLOT] = nodes.slot[larger]
    else:
        release_slot(nodes, team, node)
        if search_smaller:
            words[WORD_BUILD] = smaller
        if search_larger:
            words[WORD_SECOND if search_smaller else WORD_BUILD] = larger


@part
def plan_build(table, nodes, team, size):
    """Set the stage for counting WORD_BUILD (and subtracting it from WORD_OTHER)."""
    words, whole = team.words, table.whole
    build, other = words[WORD_BUILD], words[WORD_OTHER]
    atomic_store(words, WORD_COUNTS, 0)
    atomic_store(words, WORD_SEARCH, 0)
    if build < 0:
        return
    words[WORD_BUILD_SLOT] = take_slot(table, team, build, nodes)
    few = nodes.last[build] - nodes.first[build] < LEAST_SHARED_ROWS
    words[WORD_BY_FEATURE] = size == 1 or few or whole[N_ACTIVE] >= MANY_FEATURES
    choose_features(table, nodes, team, build, 0)
    if other >= 0:
        choose_features(table, nodes, team, other, 1)


@part
def settle_split(table, rows, nodes, team, node, n_left, size):
    """Make the children of a node whose rows are flagged; False if one has too few rows.

    Such a node goes back to be searched again, more cautiously.
    """
    words = team.words
    n_right = nodes.last[node] - nodes.first[node] - n_left
    if min(n_left, n_right) < table.whole[MIN_LEAF]:
        nodes.least_rows[node] *= 2.0
        words[WORD_BUILD] = words[WORD_SECOND] = -1
        words[WORD_OTHER] = node if nodes.slot[node] >= 0 else -1
        words[WORD_OTHER_SLOT] = nodes.slot[node]
        nodes.feature[node] = -1
        choose_features(table, nodes, team, node, 1)
        atomic_store(words, WORD_SEARCH, 0)
        return False
    if nodes.missing_left[node] == UNKNOWN:
        nodes.missing_left[node] = n_left >= n_right
    left = words[WORD_NODES]
    words[WORD_NODES] += 2
    words[WORD_LEAVES] += 1
    nodes.child[node] = left
    make_child(table, nodes, node, left, n_left, True)
    make_child(table, nodes, node, left + 1, n_left, False)
    plan_search(table, nodes, team, node, left)
    plan_build(table, nodes, team, size)
    return True


@part
def next_split(table, rows, nodes, team, size):
    """Take nodes from the frontier until all threads are needed, or none is left.

    Small nodes are parted here; children that cannot be split again need no other thread.
    """
    words = team.words
    while True:
        words[WORD_MODE] = FINISHED
        if words[WORD_LEAVES] >= table.whole[MAX_LEAVES] or atomic_load(words, STOP) != 0:
            return
        node = pop(table, nodes, team)
        if node < 0:
            return
        words[WORD_NODE] = node
        mark_sides(table, nodes, team, node)
        atomic_store(words, WORD_FLAGS, 0)
        atomic_store(words, WORD_MOVES, 0)
        if size > 1 and nodes.last[node] - nodes.first[node] > CHUNK:
            words[WORD_MODE] = FLAGGING
            return
        words[WORD_MODE] = SEARCHING
        chunk = int64(0)
        while flag_chunk(table, rows, nodes, node, team.goes_left, chunk):
            chunk += 1
        n_left = sum_counts(rows, nodes.last[node] - nodes.first[node])
        if settle_split(table, rows, nodes, team, node, n_left, size):
            chunk = int64(0)
            while move_chunk(table, rows, nodes, node, n_left, chunk):
                chunk += 1
        if words[WORD_BUILD] >= 0 or words[WORD_OTHER] >= 0:
            return


# --- searching ---------------------------------------------------------------------------


@part
def node_objective(table, nodes, node):
    """Twice by how much the best weight lowers the objective of a node as a leaf."""
    real = table.real
    g = float(nodes.gradient[node]) * real[GRADIENT_UNIT]
    h = float(nodes.hessian[node]) * real[HESSIAN_UNIT]
    weight = leaf_weight(real, g, h, real[LAMBDA], nodes.lower[node], nodes.upper[node])
    return leaf_objective(real, g, h, real[LAMBDA], weight)


@part
def expect_more_than(table, nodes, team, place, node):
    """The gain that a split must exceed: the least one asked for, and rounding errors."""
    noise = GAIN_NOISE * abs(node_objective(table, nodes, node))
    team.best[place * N_BEST + BEST_GAIN] = max(table.real[MIN_GAIN], noise)
    team.best_whole[place * N_BEST_WHOLE + BEST_FEATURE] = -1


@part
def describe(table, nodes, node):
    """What a search needs to know of a node."""
    real = table.real
    hessian = nodes.hessian[node]
    rows = float(nodes.last[node] - nodes.first[node])
    return SearchedNode(
        nodes.gradient[node],
        hessian,
        rows / max(1.0, float(hessian)),
        nodes.least_rows[node],
        max(int64(1), int64(math.ceil(real[MIN_HESSIAN] / real[HESSIAN_UNIT]))),
        nodes.lower[node],
        nodes.upper[node],
        node_objective(table, nodes, node),
    )


@part
def search_feature(table, team, node, which, slot, feature, rank):
    """Search one feature of one node."""
    whole = table.whole
    if not team.may_ask[which * whole[N_FEATURES] + feature]:
        return
    start = 2 * slot * whole[N_CELLS] + table.cell_start[feature]
    place = 2 * rank + which
    if table.is_category[feature]:
        search_category(
            table, team.cells, start, feature, node, team.best, team.best_whole,
            team.member, place, team.sort_key, team.sort_code, 256 * rank,
        )  # fmt: skip
    else:
        search_number(table, team.cells, start, feature, node, team.best, team.best_whole, place)


@part
def count_and_search(table, rows, nodes, team, build, other, rank, size):
    """Search the new nodes, block by block of features; count those first, if need be."""
    words, n_active = team.words, table.whole[N_ACTIVE]
    slot, other_slot = words[WORD_BUILD_SLOT], words[WORD_OTHER_SLOT]
    by_feature = words[WORD_BY_FEATURE]
    search_build = build >= 0 and may_split(table, nodes, team, build)
    one, two = max(build, int64(0)), max(other, int64(0))
    expect_more_than(table, nodes, team, 2 * rank, one)
    expect_more_than(table, nodes, team, 2 * rank + 1, two)
    build_node, other_node = describe(table, nodes, one), describe(table, nodes, two)
    width = max(int64(1), min(int64(64), n_active // (4 * size) if size > 1 else n_active))
    while True:
        first = width * atomic_add(words, WORD_SEARCH, 1)
        if first >= n_active or atomic_load(words, STOP) != 0:
            return
        last = min(first + width, n_active)
        if build >= 0 and by_feature:
            count_features(table, rows, nodes, team, build, slot, first, last, rank)
        for k in range(first, last):
            feature = int64(team.active[k])
            if build >= 0 and not by_feature:
                add_shared(table, team, slot, feature, size)
            if build >= 0 and other >= 0:
                subtract(table, team.cells, other_slot, slot, feature)
            if search_build:
                search_feature(table, team, build_node, 0, slot, feature, rank)
            if other >= 0:
                search_feature(table, team, other_node, 1, other_slot, feature, rank)


@part
def adopt_best(table, nodes, team, node, which, size):
    """Take the best split any thread has found: largest gain, then smallest feature."""
    chosen = int64(-1)
    for rank in range(size):
        place = 2 * rank + which
        feature = team.best_whole[place * N_BEST_WHOLE + BEST_FEATURE]
        if feature < 0:
            continue
        if chosen >= 0:
            gain = team.best[place * N_BEST + BEST_GAIN]
            best = team.best[chosen * N_BEST + BEST_GAIN]
            best_feature = team.best_whole[chosen * N_BEST_WHOLE + BEST_FEATURE]
            if gain < best or (gain == best and feature > best_feature):
                continue
        chosen = place
    if chosen < 0:
        release_slot(nodes, team, node)
        return
    at, at_whole = chosen * N_BEST, chosen * N_BEST_WHOLE
    nodes.gain[node] = team.best[at + BEST_GAIN]
    nodes.left_value[node] = team.best[at + BEST_LEFT_VALUE]
    nodes.right_value[node] = team.best[at + BEST_RIGHT_VALUE]
    nodes.feature[node] = team.best_whole[at_whole + BEST_FEATURE]
    nodes.cut[node] = team.best_whole[at_whole + BEST_CUT]
    nodes.missing_left[node] = team.best_whole[at_whole + BEST_MISSING_LEFT]
    nodes.left_gradient[node] = team.best_whole[at_whole + BEST_GRADIENT]
    nodes.left_hessian[node] = team.best_whole[at_whole + BEST_HESSIAN]
    for word in range(MEMBER_WORDS):
        nodes.member[node * MEMBER_WORDS + word] = team.member[chosen * MEMBER_WORDS + word]
    push(table, nodes, team, node)


@part
def search_new_nodes(table, rows, nodes, team, build, other, rank, size):
    """Count and search the new nodes, and put them on the frontier.

    Words are read before the last barrier: the first thread changes them after it.
    """
    words = team.words
    while (build >= 0 or other >= 0) and atomic_load(words, STOP) == 0:
        second = words[WORD_SECOND]
        if build >= 0 and not words[WORD_BY_FEATURE]:
            count_shared(table, rows, nodes, team, build, rank)
            barrier(words, size)
        count_and_search(table, rows, nodes, team, build, other, rank, size)
        barrier(words, size)
        if rank == 0:
            if build >= 0 and may_split(table, nodes, team, build):
                adopt_best(table, nodes, team, build, 0, size)
            elif build >= 0:
                release_slot(nodes, team, build)
            if other >= 0:
                adopt_best(table, nodes, team, other, 1, size)
            if second >= 0:
                words[WORD_BUILD], words[WORD_OTHER], words[WORD_SECOND] = second, -1, -1
                plan_build(table, nodes, team, size)
        if second >= 0:
            barrier(words, size)
        build, other = second, int64(-1)


@part
def make_root(table, nodes, team, size):
    """The root: all drawn rows."""
    real, words = table.real, team.words
    nodes.first[0] = 0
    nodes.last[0] = table.whole[N_DRAWN]
    nodes.buffer[0] = 0
    nodes.depth[0] = 0
    make_leaf(table, nodes, 0)
    nodes.gradient[0] = words[WORD_GRADIENT]
    nodes.hessian[0] = words[WORD_HESSIAN]
    nodes.lower[0] = -math.inf
    nodes.upper[0] = math.inf
    g = float(nodes.gradient[0]) * real[GRADIENT_UNIT]
    h = float(nodes.hessian[0]) * real[HESSIAN_UNIT]
    nodes.value[0] = 0.0
    if h + real[LAMBDA] > 0.0:
        nodes.value[0] = leaf_weight(real, g, h, real[LAMBDA], -math.inf, math.inf)
    for group in range(table.whole[N_GROUPS]):
        nodes.groups[group] = 1
    words[WORD_NODES] = words[WORD_LEAVES] = 1
    words[WORD_TAIL] = 0
    words[WORD_FREE] = table.whole[N_SLOTS]
    for slot in range(table.whole[N_SLOTS]):
        team.free_slots[slot] = slot
    words[WORD_OTHER] = words[WORD_SECOND] = -1
    words[WORD_BUILD] = 0 if may_split(table, nodes, team, 0) else -1
    plan_build(table, nodes, team, size)


@kernel
def grow_boosted(slots, rank, size):
    """Grow one tree on the slopes of this round; every thread of the team calls this."""
    table, rows = load_table(slots, TABLE_AT), load_rows(slots, ROWS_AT)
    nodes, team = load_nodes(slots, NODES_AT), load_team(slots, TEAM_AT)
    words = team.words
    lay_out_rows(table, rows, team, rank, size)
    barrier(words, size)
    if rank == 0:
        make_root(table, nodes, team, size)
    barrier(words, size)
    build, other = words[WORD_BUILD], int64(-1)
    while True:
        search_new_nodes(table, rows, nodes, team, build, other, rank, size)
        if rank == 0:
            next_split(table, rows, nodes, team, size)
        barrier(words, size)
        if words[WORD_MODE] == FINISHED or atomic_load(words, STOP) != 0:
            return
        if words[WORD_MODE] == FLAGGING:
            node = words[WORD_NODE]
            flag_together(table, rows, nodes, team, node)
            barrier(words, size)
            n_left = sum_counts(rows, nodes.last[node] - nodes.first[node])
            if rank == 0:
                settle_split(table, rows, nodes, team, node, n_left, size)
            barrier(words, size)
            build, other = words[WORD_BUILD], words[WORD_OTHER]
            if nodes.child[node] != 0:
                move_together(table, rows, nodes, team, node, n_left)
            barrier(words, size)
        else:
            build, other = words[WORD_BUILD], words[WORD_OTHER]


GROW_SIGNATURE = types.void(types.Array(int64, 1, "C"), int64, int64)

"""The growth loop of a boosted tree: all threads of a team together, node by node.

    take the best node from the frontier            one thread
    part its rows between its children              all threads, by chunks of rows
    count the smaller child, subtract the other     all threads, by rows or by columns
    search both                                     all threads, by columns
    put them on the frontier                        one thread

Leaf-wise, level-wise and depth-first growth differ only in which node is next.
"""

from __future__ import annotations

from numba import int64, types

from hornbeam.kernels.boosting.frontier import push
from hornbeam.kernels.boosting.histogram import subtract
from hornbeam.kernels.boosting.nodes import may_split, release_slot
from hornbeam.kernels.boosting.search import describe
from hornbeam.kernels.boosting.state import (
    ADD_SHARED,
    ADOPT_NODES,
    BEST_CUT,
    BEST_FEATURE,
    BEST_GAIN,
    BEST_GRADIENT,
    BEST_HESSIAN,
    BEST_LEFT_VALUE,
    BEST_MISSING_LEFT,
    BEST_RIGHT_VALUE,
    COUNT_AND_SEARCH,
    COUNT_COLUMNS,
    COUNT_SHARED,
    FILL_DEFAULT,
    FINISHED,
    FLAGGING,
    LAY_OUT_ROWS,
    MAKE_ROOT,
    MEMBER_WORDS,
    MIN_GAIN,
    N_BEST,
    N_BEST_WHOLE,
    N_BUNDLES,
    N_NODE_REAL,
    NEXT_SPLIT,
    NODE_OBJECTIVE,
    NODES_AT,
    PART_TOGETHER,
    PLAN_BUILD,
    SEARCH_FEATURES,
    SPARSE,
    TABLE_AT,
    TEAM_AT,
    WORD_BUILD,
    WORD_BUILD_SLOT,
    WORD_BY_COLUMN,
    WORD_MODE,
    WORD_NODE,
    WORD_OTHER,
    WORD_OTHER_SLOT,
    WORD_SEARCH,
    WORD_SECOND,
    load_nodes,
    load_table,
    load_team,
)
from hornbeam.runtime.atomics import STOP, atomic_add, atomic_load, barrier, call_address
from hornbeam.runtime.kernel import kernel, part, step
from hornbeam.runtime.pointers import bare

GAIN_NOISE = 2.0**-40  # share of a node's objective that may be rounding error


@part
def expect_more_than(table, nodes, team, place, node):
    """Note a node, and the gain that a split of it must exceed.

    That is the least one asked for, and more than rounding errors.
    """
    describe(table, nodes, team, node, place)
    noise = GAIN_NOISE * abs(team.node_real[place * N_NODE_REAL + NODE_OBJECTIVE])
    team.best[place * N_BEST + BEST_GAIN] = max(table.real[MIN_GAIN], noise)
    team.best_whole[place * N_BEST_WHOLE + BEST_FEATURE] = -1


@step
def count_and_search(slots, build, other, size, unused, rank):
    """Search the new nodes, block by block of columns; count those first, if need be."""
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    team = load_team(slots, TEAM_AT)
    words, n_bundles = team.words, table.whole[N_BUNDLES]
    slot, other_slot = words[WORD_BUILD_SLOT], words[WORD_OTHER_SLOT]
    by_column, fill = words[WORD_BY_COLUMN], table.whole[FILL_DEFAULT]
    search_build = build >= 0 and may_split(table, nodes, team, build)
    one, two = max(build, int64(0)), max(other, int64(0))
    expect_more_than(table, nodes, team, 2 * rank, one)
    expect_more_than(table, nodes, team, 2 * rank + 1, two)
    sparse = table.whole[SPARSE]
    width = max(int64(1), min(int64(64), n_bundles // (4 * size) if size > 1 else n_bundles))
    if sparse and by_column:
        width = n_bundles  # one pass over the entries counts all features
    while True:
        first = width * atomic_add(words, WORD_SEARCH, 1)
        if first >= n_bundles or atomic_load(words, STOP) != 0:
            return 0.0
        last = min(first + width, n_bundles)
        if build >= 0 and by_column:
            call_address(table.whole[COUNT_COLUMNS], (slots, build, slot, first, last, rank))
        start, stop = int64(team.bundle_start[first]), int64(team.bundle_start[last])
        for k in range(start, stop):
            if build < 0:
                break
            feature = int64(team.bundle_feature[k])
            if not by_column:
                add = table.whole[ADD_SHARED]
                call_address(add, (slots, slot, feature, size, int64(0), rank))
            if sparse or table.is_shared[feature]:
                call_address(fill, (slots, build, slot, feature, int64(0), rank))
            if other >= 0:
                subtract(table, team.cells, other_slot, slot, feature)
        search = table.whole[SEARCH_FEATURES]
        if search_build:
            call_address(search, (slots, int64(0), slot, start, stop, rank))
        if other >= 0:
            call_address(search, (slots, int64(1), other_slot, start, stop, rank))


@part
def adopt_best(table, nodes, team, node, which, size):
    """Take the best split any thread has found: largest gain, then smallest feature."""
    chosen = int64(-1)
    for other in range(size):
        place = 2 * other + which
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


@step
def adopt_nodes(slots, build, other, second, size, rank):
    """Put the nodes that were searched on the frontier, and plan a second one if there is one."""
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    team, none = load_team(slots, TEAM_AT), int64(0)
    words = team.words
    for which in range(2):
        node = build if which == 0 else other
        if node < 0:
            continue
        if which == 0 and not may_split(table, nodes, team, node):
            release_slot(nodes, team, node)  # it was counted for its sibling's sake
        else:
            adopt_best(table, nodes, team, node, which, size)
    if second >= 0:
        words[WORD_BUILD], words[WORD_OTHER], words[WORD_SECOND] = second, -1, -1
        call_address(table.whole[PLAN_BUILD], (slots, size, none, none, none, rank))
    return 0.0


@part
def search_new_nodes(slots, whole, words, build, other, rank, size):
    """Count and search the new nodes, and put them on the frontier.

    Words are read before the last barrier: the first thread changes them after it.
    """
    none = int64(0)
    while (build >= 0 or other >= 0) and atomic_load(words, STOP) == 0:
        second = words[WORD_SECOND]
        if build >= 0 and not words[WORD_BY_COLUMN]:
            call_address(whole[COUNT_SHARED], (slots, build, none, none, none, rank))
            barrier(words, size)
        call_address(whole[COUNT_AND_SEARCH], (slots, build, other, size, none, rank))
        barrier(words, size)
        if rank == 0:
            call_address(whole[ADOPT_NODES], (slots, build, other, second, size, rank))
        if second >= 0:
            barrier(words, size)
        build, other = second, int64(-1)


@kernel
def grow_boosted(slots, rank, size):
    """Grow one tree on the slopes of this round; every thread of the team calls this."""
    slots = bare(slots)
    whole, words = load_table(slots, TABLE_AT).whole, load_team(slots, TEAM_AT).words
    none = int64(0)
    call_address(whole[LAY_OUT_ROWS], (slots, size, none, none, none, rank))
    barrier(words, size)
    if rank == 0:
        call_address(whole[MAKE_ROOT], (slots, size, none, none, none, rank))
    barrier(words, size)
    build, other = words[WORD_BUILD], int64(-1)
    while True:
        search_new_nodes(slots, whole, words, build, other, rank, size)
        if rank == 0:
            call_address(whole[NEXT_SPLIT], (slots, size, none, none, none, rank))
        barrier(words, size)
        if words[WORD_MODE] == FINISHED or atomic_load(words, STOP) != 0:
            return
        if words[WORD_MODE] == FLAGGING:
            call_address(whole[PART_TOGETHER], (slots, words[WORD_NODE], size, none, none, rank))
            build, other = words[WORD_BUILD], words[WORD_OTHER]
            barrier(words, size)
        else:
            build, other = words[WORD_BUILD], words[WORD_OTHER]


GROW_SIGNATURE = types.void(types.Array(int64, 1, "C"), int64, int64)

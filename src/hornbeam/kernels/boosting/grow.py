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

from hornbeam.kernels.boosting.histogram import subtract
from hornbeam.kernels.boosting.nodes import may_split, release_slot
from hornbeam.kernels.boosting.search import describe, place_of_search
from hornbeam.kernels.boosting.state import (
    ADDING,
    ADDING_ROOT,
    BY_COLUMNS,
    BY_ROWS,
    COLLECTING,
    COUNTED,
    FINISHED,
    FLAGGING,
    MEMBER_WORDS,
    NODES_AT,
    PLANTING,
    TABLE_AT,
    TEAM_AT,
    WORD_BUILD,
    WORD_BUILD_SLOT,
    WORD_HOW,
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
from hornbeam.kernels.boosting.steps import AdoptNodes, CountAndSearch
from hornbeam.kernels.frontier import push
from hornbeam.runtime.atomics import STOP, atomic_add, atomic_load, barrier
from hornbeam.runtime.kernel import kernel, part, step
from hornbeam.runtime.pointers import bare

GAIN_NOISE = 2.0**-40  # share of a node's objective that may be rounding error


@part
def expect_more_than(table, nodes, team, place, node):
    """Note a node, and the gain that a split of it must exceed.

    That is the least one asked for, and more than rounding errors.
    """
    describe(table, nodes, team, node, place)
    noise = GAIN_NOISE * abs(team.searched.objective[place])
    team.best.gain[place] = max(table.rules.min_gain, noise)
    team.best.feature[place] = -1


@step(CountAndSearch)
def count_and_search(slots, build, other, size, rank):
    """Search the new nodes, block by block of columns; count those first, if need be."""
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    team, steps = load_team(slots, TEAM_AT), table.steps
    words, n_bundles = team.words, table.draw.n_bundles
    slot, other_slot = words[WORD_BUILD_SLOT], words[WORD_OTHER_SLOT]
    by_column = words[WORD_HOW] == BY_COLUMNS
    by_rows = words[WORD_HOW] == BY_ROWS
    search_build = build >= 0 and may_split(table, nodes, team, build)
    one, two = max(build, int64(0)), max(other, int64(0))
    expect_more_than(table, nodes, team, place_of_search(rank, 0), one)
    expect_more_than(table, nodes, team, place_of_search(rank, 1), two)
    sparse = table.shape.is_sparse
    width = max(int64(1), min(int64(64), n_bundles // (4 * size) if size > 1 else n_bundles))
    if sparse and by_column:
        width = n_bundles  # one pass over the entries counts all features
    while True:
        first = width * atomic_add(words, WORD_SEARCH, 1)
        if first >= n_bundles or atomic_load(words, STOP) != 0:
            return
        last = min(first + width, n_bundles)
        if build >= 0 and by_column:
            steps.count_columns(slots, build, slot, first, last, rank)
        start, stop = int64(team.bundle_start[first]), int64(team.bundle_start[last])
        for k in range(start, stop):
            if build < 0:
                break
            feature = int64(team.bundle_feature[k])
            if by_rows:
                steps.add_shared(slots, slot, feature, size)
            if sparse or table.is_shared[feature]:
                steps.fill_default(slots, build, slot, feature)
            if other >= 0:
                subtract(table, team.cells, other_slot, slot, feature)
        if search_build:
            steps.search_features(slots, 0, slot, start, stop, rank)
        if other >= 0:
            steps.search_features(slots, 1, other_slot, start, stop, rank)


@part
def adopt_best(table, nodes, team, node, which, size):
    """Take the best split any thread has found: largest gain, then smallest feature."""
    best, chosen = team.best, int64(-1)
    for other in range(size):
        place = place_of_search(other, which)
        feature = best.feature[place]
        if feature < 0:
            continue
        if chosen >= 0:
            gain, most = best.gain[place], best.gain[chosen]
            if gain < most or (gain == most and feature > best.feature[chosen]):
                continue
        chosen = place
    if chosen < 0:
        release_slot(nodes, team, node)
        return
    nodes.gain[node] = best.gain[chosen]
    nodes.left_value[node] = best.left_value[chosen]
    nodes.right_value[node] = best.right_value[chosen]
    nodes.feature[node] = best.feature[chosen]
    nodes.cut[node] = best.cut[chosen]
    nodes.missing_left[node] = best.missing_left[chosen]
    nodes.left_gradient[node] = best.gradient[chosen]
    nodes.left_hessian[node] = best.hessian[chosen]
    for word in range(MEMBER_WORDS):
        nodes.member[node * MEMBER_WORDS + word] = best.member[chosen * MEMBER_WORDS + word]
    push(team.frontier, team.words, node, nodes.depth[node], nodes.gain[node])


@step(AdoptNodes)
def adopt_nodes(slots, build, other, second, size):
    """Put the nodes that were searched on the frontier, and plan a second one if there is one."""
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    team = load_team(slots, TEAM_AT)
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
        table.steps.plan_build(slots, size)


@part
def search_new_nodes(slots, steps, words, build, other, rank, size):
    """Count and search the new nodes, and put them on the frontier.

    Words are read before the last barrier: the first thread changes them after it. Returns True
    to come up for air with the histogram of a node to which the sums of other parts must be added.
    """
    while (build >= 0 or other >= 0) and atomic_load(words, STOP) == 0:
        second = words[WORD_SECOND]
        if build >= 0 and bool(steps.count_apart) and words[WORD_HOW] != COUNTED:
            steps.count_apart(slots, build, words[WORD_BUILD_SLOT], size, rank)
            if load_table(slots, TABLE_AT).rules.is_part:
                if rank == 0:
                    words[WORD_MODE] = ADDING
                barrier(words, size)
                return True
        elif build >= 0 and words[WORD_HOW] == BY_ROWS:
            steps.count_shared(slots, build, rank)
            barrier(words, size)
        steps.count_and_search(slots, build, other, size, rank)
        barrier(words, size)
        if rank == 0:
            steps.adopt_nodes(slots, build, other, second, size)
        if second >= 0:
            barrier(words, size)
        build, other = second, int64(-1)
    return False


@part
def plant(slots, steps, words, is_part, mode, rank, size):
    """Lay out the rows and make the root; True if the sums of other parts are needed for it."""
    if mode == PLANTING:
        steps.lay_out_rows(slots, size, rank)
        barrier(words, size)
        if is_part:
            if rank == 0:
                words[WORD_MODE] = ADDING_ROOT
            return True
    if rank == 0:
        steps.make_root(slots, size)
    barrier(words, size)
    return False


@kernel
def grow_boosted(slots, rank, size):
    """Grow one tree on the slopes of this round; every thread of the team calls this.

    It comes up for air before the tree is finished if there are other parts of the table. When
    their sums have been added up, it is called again and goes on.
    """
    slots = bare(slots)
    table, words = load_table(slots, TABLE_AT), load_team(slots, TEAM_AT).words
    steps, is_part, mode = table.steps, table.rules.is_part, words[WORD_MODE]
    if mode != ADDING and plant(slots, steps, words, is_part, mode, rank, size):
        return
    build, other = words[WORD_BUILD], words[WORD_OTHER]
    if mode == ADDING:
        barrier(words, size)  # the first thread changes words after it
    while True:
        if search_new_nodes(slots, steps, words, build, other, rank, size):
            return
        if rank == 0:
            steps.next_split(slots, size)
        barrier(words, size)
        if words[WORD_MODE] == FINISHED or atomic_load(words, STOP) != 0:
            return
        if words[WORD_MODE] == FLAGGING:
            steps.part_together(slots, words[WORD_NODE], size, rank)
            build, other = words[WORD_BUILD], words[WORD_OTHER]
            barrier(words, size)
        elif words[WORD_MODE] == COLLECTING:
            steps.collect(slots, size, rank)
            if is_part:
                return
            build, other = int64(-1), int64(-1)
        else:
            build, other = words[WORD_BUILD], words[WORD_OTHER]


GROW_SIGNATURE = types.void(types.Array(int64, 1, "C"), int64, int64)

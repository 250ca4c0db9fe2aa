"""How boosted trees grow: the steps of the driver (kernels/driver.py) but for the first one.

    take      part the rows of a small node, make its children   one thread       (nodes.py)
    collect   part the rows of a large node                      by chunks of rows
              count the smaller child                            by rows, where columns are few
    scan      count the smaller child, subtract the other        by columns
              search both                                        by columns
    settle    put them on the frontier                           one thread

The first turn of a tree lays out its rows and makes the root.
"""

from __future__ import annotations

from numba import int64

from hornbeam.kernels.boosting.histogram import subtract
from hornbeam.kernels.boosting.nodes import may_split, release_slot
from hornbeam.kernels.boosting.search import describe, place_of_search
from hornbeam.kernels.boosting.state import (
    BY_COLUMNS,
    BY_ROWS,
    COLLECTING,
    COUNTED,
    FLAGGING,
    MEMBER_WORDS,
    NODES_AT,
    PLANTING,
    SEARCHING,
    TABLE_AT,
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
from hornbeam.kernels.driver import CollectSums, ScanSums, SettleSplits
from hornbeam.kernels.frontier import push
from hornbeam.runtime.atomics import STOP, atomic_add, atomic_load, barrier
from hornbeam.runtime.kernel import part, step

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


@step(CollectSums)
def collect_sums(slots, at, rank, size):
    """Part and count nodes with all threads, as far as they do not share out the columns.

    True to come up for air with sums to which those of other parts of the table must be added.
    """
    table, words = load_table(slots, TABLE_AT), load_team(slots, at).words
    steps, is_part, mode = table.steps, table.rules.is_part, words[WORD_MODE]
    if mode == PLANTING:
        steps.lay_out_rows(slots, size, rank)
        return is_part
    if mode == COLLECTING:
        steps.collect(slots, size, rank)
        return is_part
    if mode == FLAGGING:
        steps.part_together(slots, words[WORD_NODE], size, rank)
        barrier(words, size)
    build = words[WORD_BUILD]
    if build < 0 or atomic_load(words, STOP) != 0:
        return False
    if bool(steps.count_apart) and words[WORD_HOW] != COUNTED:
        steps.count_apart(slots, build, words[WORD_BUILD_SLOT], size, rank)
        return is_part
    if words[WORD_HOW] == BY_ROWS:
        steps.count_shared(slots, build, rank)
        barrier(words, size)
    return False


@step(ScanSums)
def count_and_search(slots, at, rank, size):
    """Search the new nodes, block by block of columns; count those first, if need be."""
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    team, steps = load_team(slots, at), table.steps
    words, n_bundles = team.words, table.draw.n_bundles
    build, other = words[WORD_BUILD], words[WORD_OTHER]
    if words[WORD_MODE] == PLANTING or (build < 0 and other < 0):
        return
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


@step(SettleSplits)
def settle_nodes(slots, at, size):
    """Put the nodes that were searched on the frontier, and plan a second one if there is one."""
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    team = load_team(slots, at)
    words = team.words
    if words[WORD_MODE] == PLANTING:
        words[WORD_MODE] = SEARCHING
        table.steps.make_root(slots, size)
        return
    words[WORD_MODE] = SEARCHING
    for which in range(2):
        node = words[WORD_BUILD] if which == 0 else words[WORD_OTHER]
        if node < 0:
            continue
        if which == 0 and not may_split(table, nodes, team, node):
            release_slot(nodes, team, node)  # it was counted for its sibling's sake
        else:
            adopt_best(table, nodes, team, node, which, size)
    second = words[WORD_SECOND]
    words[WORD_BUILD], words[WORD_OTHER], words[WORD_SECOND] = second, -1, -1
    if second >= 0:
        table.steps.plan_build(slots, size)

"""Part and count nodes ahead of their turn, several at a time.

Where other parts of a table are far away, to ask them for their sums node by node would take
longer than all else. So the nodes that come next, as far as is known, are parted and counted
together, and their sums are added up in one go. Of each node it is the child with the smaller
hessian that is counted. It waits beyond the nodes, with its rows and its histogram, for the
turn of its parent. Only then the children are made and searched, and what a better node has
overtaken goes on waiting: the tree is that of growing node by node, however many are counted
together.
"""

from __future__ import annotations

from numba import int64

from hornbeam.kernels.boosting.nodes import (
    ask_again,
    has_too_few,
    how_to_count,
    is_searched,
    make_children,
    mark_split,
    plan_search,
    release_slot,
    take_rows,
    take_slot,
)
from hornbeam.kernels.boosting.partition import part_alone
from hornbeam.kernels.boosting.sparse import spread_column
from hornbeam.kernels.boosting.state import (
    BY_ROWS,
    COLLECTING,
    COUNTED,
    NODES_AT,
    ROWS_AT,
    TABLE_AT,
    TEAM_AT,
    WORD_BUILD,
    WORD_COUNTS,
    WORD_FLAGS,
    WORD_FREE,
    WORD_HOW,
    WORD_JOBS,
    WORD_LABEL,
    WORD_LEAVES,
    WORD_MODE,
    WORD_MOVES,
    WORD_SEARCH,
    load_nodes,
    load_rows,
    load_table,
    load_team,
)
from hornbeam.kernels.boosting.steps import Collect, CountApart, SettleSplit
from hornbeam.kernels.driver import FINISHED, STOPPED, TOGETHER, TakeNodes
from hornbeam.kernels.frontier import WORD_WAITING, pop, push
from hornbeam.runtime.atomics import STOP, atomic_add, atomic_load, atomic_store, barrier
from hornbeam.runtime.kernel import part, step

COLUMNS_AT_A_TIME = 16


# --- which nodes --------------------------------------------------------------------------


@part
def free_place(table, team):
    """A place for a child that waits, -1 if there is none; for the next node there always is."""
    for place in range(2 * table.rules.ahead):
        if not team.taken[place]:
            return int64(place)
    return int64(-1)


@part
def drop_histogram(nodes, team, first):
    """Forget the histogram of a node that is far from its turn; it will be counted again."""
    for place in range(team.words[WORD_WAITING] - 1, -1, -1):
        node = int64(team.frontier.node[place])
        if node != first and nodes.slot[node] >= 0:
            release_slot(nodes, team, node)
            return


@part
def let_wait(table, nodes, team, n_jobs, node):
    """Give the child of a node a place to wait, and a histogram if its parent will need it.

    False if there is no room. The nodes before it will have been split when its turn comes.
    """
    rules, words = table.rules, team.words
    place = free_place(table, team)
    leaves = words[WORD_LEAVES] + n_jobs + 1
    is_searched = nodes.depth[node] + 1 < rules.max_depth and leaves < rules.max_leaves
    if is_searched and n_jobs == 0 and words[WORD_FREE] == 0:
        drop_histogram(nodes, team, node)
    if place < 0 or (is_searched and words[WORD_FREE] == 0):
        return False
    child = table.shape.most_nodes + place
    team.taken[place] = 1
    nodes.ahead[node], nodes.slot[child] = child, -1
    if is_searched:
        take_slot(table, team, child, nodes)
    team.job[n_jobs] = node
    return True


@part
def put_back(nodes, team, node):
    """Put a node on the frontier again."""
    push(team.frontier, team.words, node, nodes.depth[node], nodes.gain[node])


@part
def choose_nodes(table, nodes, team):
    """List the nodes that come next and are not parted yet."""
    words, n_jobs, n_taken = team.words, int64(0), int64(0)
    room = min(table.rules.ahead, table.rules.max_leaves - words[WORD_LEAVES])
    while n_jobs < room:
        node = pop(team.frontier, words)
        if node < 0:
            break
        team.popped[n_taken] = node
        n_taken += 1
        n_jobs += nodes.ahead[node] < 0
    for k in range(n_taken):
        put_back(nodes, team, int64(team.popped[k]))
    n_jobs = 0
    for k in range(n_taken):
        node = int64(team.popped[k])
        if nodes.ahead[node] >= 0:
            continue
        if not let_wait(table, nodes, team, n_jobs, node):
            break
        n_jobs += 1
    words[WORD_JOBS] = n_jobs


@step(TakeNodes)
def take_ahead(slots, at, size):
    """Split nodes of the frontier that were counted, until one is to be searched or counted."""
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    team = load_team(slots, at)
    words = team.words
    while not is_searched(words):
        if atomic_load(words, STOP) != 0:
            return STOPPED
        if words[WORD_LEAVES] >= table.rules.max_leaves:
            return FINISHED
        node = pop(team.frontier, words)
        if node < 0:
            return FINISHED
        child = int64(nodes.ahead[node])
        if child < 0:
            put_back(nodes, team, node)
            choose_nodes(table, nodes, team)
            words[WORD_MODE] = COLLECTING
            return TOGETHER
        n_left = nodes.n_rows[child]
        if not team.is_left[child - table.shape.most_nodes]:
            n_left = nodes.n_rows[node] - n_left
        table.steps.settle(slots, node, n_left, size)
    return TOGETHER if atomic_load(words, STOP) == 0 else STOPPED


# --- parting and counting -------------------------------------------------------------------


@part
def make_waiting(table, nodes, team, node, size):
    """Give the child that waits its rows, those of this part of the table, and plan its count."""
    words, n_pages = team.words, table.shape.n_pages
    child = int64(nodes.ahead[node])
    is_left = 2 * nodes.left_hessian[node] <= nodes.hessian[node]
    team.is_left[child - table.shape.most_nodes] = is_left
    take_rows(table, nodes, node, child, int64(0), is_left)
    n_rows = int64(0)
    for at in range(child * n_pages, (child + 1) * n_pages):
        n_rows += nodes.last[at] - nodes.first[at]
    nodes.n_rows[child] = n_rows
    nodes.label[child] = table.shape.most_nodes + words[WORD_LABEL]
    words[WORD_LABEL] += 1
    atomic_store(words, WORD_COUNTS, 0)
    atomic_store(words, WORD_SEARCH, 0)
    words[WORD_HOW] = how_to_count(table, nodes, child, size)


@step(Collect)
def collect(slots, size, rank):
    """Part the nodes that were chosen and count a child of each, with all threads."""
    table, rows = load_table(slots, TABLE_AT), load_rows(slots, ROWS_AT)
    nodes, team = load_nodes(slots, NODES_AT), load_team(slots, TEAM_AT)
    words, steps = team.words, table.steps
    for job in range(words[WORD_JOBS]):
        node = int64(team.job[job])
        if rank == 0:
            mark_split(slots, table, nodes, team, node)
            if table.shape.is_sparse:
                spread_column(table, team, int64(nodes.feature[node]))
            atomic_store(words, WORD_FLAGS, 0)
            atomic_store(words, WORD_MOVES, 0)
        barrier(words, size)
        if size > 1:
            steps.part_together(slots, node, size, rank)
        else:
            part_alone(table, rows, nodes, team, node)
        barrier(words, size)
        if rank == 0:
            make_waiting(table, nodes, team, node, size)
        barrier(words, size)
        if atomic_load(words, STOP) != 0:
            return  # nobody waited
        child = int64(nodes.ahead[node])
        if nodes.slot[child] >= 0:
            steps.count_apart(slots, child, int64(nodes.slot[child]), size, rank)


@step(CountApart)
def count_apart(slots, node, slot, size, rank):
    """Make a node's histogram in a slot with all threads, to be searched later."""
    table, team = load_table(slots, TABLE_AT), load_team(slots, TEAM_AT)
    words, steps, n_bundles = team.words, table.steps, table.draw.n_bundles
    by_rows, width = words[WORD_HOW] == BY_ROWS, int64(COLUMNS_AT_A_TIME)
    if by_rows:
        steps.count_shared(slots, node, rank)
        barrier(words, size)
    elif table.shape.is_sparse:
        width = n_bundles  # one pass over the entries counts all features
    while True:
        first = width * atomic_add(words, WORD_SEARCH, 1)
        if first >= n_bundles or atomic_load(words, STOP) != 0:
            break
        last = min(first + width, n_bundles)
        if not by_rows:
            steps.count_columns(slots, node, slot, first, last, rank)
            continue
        for k in range(team.bundle_start[first], team.bundle_start[last]):
            steps.add_shared(slots, slot, int64(team.bundle_feature[k]), size)
    barrier(words, size)
    if rank == 0:
        words[WORD_HOW] = COUNTED
        atomic_store(words, WORD_SEARCH, 0)
    barrier(words, size)


# --- a node whose turn has come ---------------------------------------------------------------


@part
def give_back_rows(table, rows, nodes, team, node, child):
    """Label the rows of a child that was counted in vain as those of its parent."""
    source, n_pages = int64(nodes.buffer[child]) * table.shape.n_rows, table.shape.n_pages
    for at in range(child * n_pages, (child + 1) * n_pages):
        for j in range(source + nodes.first[at], source + nodes.last[at]):
            team.holder[rows.row[j]] = nodes.label[node]


@step(SettleSplit)
def settle_ahead(slots, node, n_left, size):
    """Make the children of a node of which one has been counted (see `settle_split`)."""
    table, rows = load_table(slots, TABLE_AT), load_rows(slots, ROWS_AT)
    nodes, team = load_nodes(slots, NODES_AT), load_team(slots, TEAM_AT)
    words, child = team.words, int64(nodes.ahead[node])
    place = child - table.shape.most_nodes
    team.taken[place] = 0
    if has_too_few(table, nodes, node, n_left):
        nodes.ahead[node] = -1
        if table.shape.is_sparse:
            give_back_rows(table, rows, nodes, team, node, child)
        release_slot(nodes, team, child)
        ask_again(nodes, team, node, n_left)
        table.steps.plan_build(slots, size)
        return
    left = make_children(table, nodes, team, node, n_left)
    smaller = left if team.is_left[place] else left + 1
    nodes.label[smaller] = nodes.label[child]
    plan_search(table, nodes, team, node, left, smaller)
    if words[WORD_BUILD] == smaller:
        nodes.slot[smaller], nodes.slot[child] = nodes.slot[child], -1
    else:
        release_slot(nodes, team, child)
    table.steps.plan_build(slots, size)

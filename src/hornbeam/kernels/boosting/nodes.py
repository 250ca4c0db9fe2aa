"""Make nodes: settle a split, hand rows and bounds to its children, plan their search."""

from __future__ import annotations

import math

from numba import int64, uint64

from hornbeam.kernels.boosting.frontier import pop
from hornbeam.kernels.boosting.histogram import LEAST_SHARED_ROWS, MANY_COLUMNS, own_code
from hornbeam.kernels.boosting.partition import part_alone
from hornbeam.kernels.boosting.search import leaf_weight
from hornbeam.kernels.boosting.state import (
    CHOOSE_FEATURES,
    CHUNK,
    COUNT_HELD,
    DRAWS_FEATURES,
    FINISHED,
    FLAGGING,
    GRADIENT_UNIT,
    HESSIAN_UNIT,
    LAMBDA,
    MARK_SIDES,
    MAX_DEPTH,
    MAX_LEAVES,
    MEMBER_WORDS,
    MIN_HESSIAN,
    MIN_LEAF,
    N_ACTIVE,
    N_BUNDLES,
    N_DRAWN,
    N_FEATURES,
    N_GROUPS,
    N_SLOTS,
    NODES_AT,
    PLAN_BUILD,
    PREPARE_SPARSE,
    ROWS_AT,
    SEARCHING,
    SETTLE,
    SPARSE,
    TABLE_AT,
    TEAM_AT,
    UNKNOWN,
    WORD_BUILD,
    WORD_BUILD_SLOT,
    WORD_BY_COLUMN,
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
from hornbeam.runtime.atomics import STOP, atomic_load, atomic_store, call_address
from hornbeam.runtime.kernel import part, step

ROUNDING = 2.0**-20  # equal hessians that are rounded still seem to be enough rows


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


@step
def mark_sides(slots, node, unused, unused_too, none, rank):
    """Which side each code of a column goes to at a node's split, as a table.

    This is for categories and shared columns.
    """
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    team = load_team(slots, TEAM_AT)
    feature = int64(nodes.feature[node])
    for code in range(256):
        own = own_code(table, feature, code)
        if own >= table.n_codes[feature]:
            left = nodes.missing_left[node] == 1
        elif table.is_category[feature]:
            word = nodes.member[node * MEMBER_WORDS + (own >> 6)]
            left = (word >> uint64(own & 63)) & uint64(1) != 0
        else:
            left = own <= int64(nodes.cut[node])
        team.goes_left[code] = left
    return 0.0


@part
def mark_number(table, nodes, team, node):
    """The same for a number in a column of its own."""
    n_codes = table.n_codes[nodes.feature[node]]
    for code in range(256):
        known = int64(code < n_codes)
        below, missing = int64(code <= int64(nodes.cut[node])), nodes.missing_left[node] == 1
        team.goes_left[code] = below if known else missing


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
    # a cell that is not empty holds a row, whatever its hessian seems to say
    judged = table.whole[MIN_LEAF] > 1 and table.whole[COUNT_HELD] == 0
    least = float(table.whole[MIN_LEAF]) if judged else 0.0
    nodes.least_rows[node] = least * (1.0 - ROUNDING)
    nodes.label[node] = node


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
        nodes.label[larger] = nodes.label[node]  # see sparse.count_left
        nodes.slot[node] = -1
        words[WORD_OTHER_SLOT] = nodes.slot[larger]
    else:
        release_slot(nodes, team, node)
        if search_smaller:
            words[WORD_BUILD] = smaller
        if search_larger:
            words[WORD_SECOND if search_smaller else WORD_BUILD] = larger


@step
def plan_build(slots, size, unused, unused_too, none, rank):
    """Set the stage for counting WORD_BUILD (and subtracting it from WORD_OTHER)."""
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    team = load_team(slots, TEAM_AT)
    words, whole = team.words, table.whole
    build, other = words[WORD_BUILD], words[WORD_OTHER]
    atomic_store(words, WORD_COUNTS, 0)
    atomic_store(words, WORD_SEARCH, 0)
    if build >= 0:
        words[WORD_BUILD_SLOT] = take_slot(table, team, build, nodes)
        few = nodes.last[build] - nodes.first[build] < LEAST_SHARED_ROWS
        spread = few or whole[N_BUNDLES] >= MANY_COLUMNS
        words[WORD_BY_COLUMN] = size == 1 or (spread and not whole[SPARSE])
    if whole[DRAWS_FEATURES]:  # otherwise the nodes may ask all that the tree has
        for which in range(2):
            node = build if which == 0 else other
            if node >= 0:
                call_address(
                    whole[CHOOSE_FEATURES], (slots, node, int64(which), int64(0), int64(0), rank)
                )
    return 0.0


@part
def ask_for_more(nodes, node, n_left, n_right):
    """Ask for sides that seem larger, by how much the one with too few rows has misled.

    It seemed to have enough, so a cut like that does not come back.
    """
    hessian = nodes.left_hessian[node]
    if n_right < n_left:
        hessian = nodes.hessian[node] - hessian
    seemed = float(hessian) * (float(n_left + n_right) / float(nodes.hessian[node]))
    nodes.least_rows[node] *= seemed / float(min(n_left, n_right))


@step
def settle_split(slots, node, n_left, size, unused, rank):
    """Make the children of a node whose rows are flagged; 0 if one has too few rows.

    Such a node goes back to be searched again, more cautiously.
    """
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    team = load_team(slots, TEAM_AT)
    words, none = team.words, int64(0)
    n_right = nodes.last[node] - nodes.first[node] - n_left
    if min(n_left, n_right) < table.whole[MIN_LEAF]:
        ask_for_more(nodes, node, n_left, n_right)
        nodes.feature[node] = -1
        kept = nodes.slot[node] >= 0  # its histogram; otherwise it is counted again
        words[WORD_SECOND] = -1
        words[WORD_BUILD] = -1 if kept else node
        words[WORD_OTHER] = node if kept else -1
        words[WORD_OTHER_SLOT] = nodes.slot[node]
        call_address(table.whole[PLAN_BUILD], (slots, size, none, none, none, rank))
        return 0.0
    if nodes.missing_left[node] == UNKNOWN:
        nodes.missing_left[node] = n_left >= n_right
    left = words[WORD_NODES]
    words[WORD_NODES] += 2
    words[WORD_LEAVES] += 1
    nodes.child[node] = left
    for side in range(2):
        make_child(table, nodes, node, left + side, n_left, side == 0)
    plan_search(table, nodes, team, node, left)
    call_address(table.whole[PLAN_BUILD], (slots, size, none, none, none, rank))
    return 1.0


@step
def next_split(slots, size, unused, unused_too, none, rank):
    """Take nodes from the frontier until all threads are needed, or none is left.

    Small nodes are parted here; children that cannot be split again need no other thread.
    """
    table, rows = load_table(slots, TABLE_AT), load_rows(slots, ROWS_AT)
    nodes, team = load_nodes(slots, NODES_AT), load_team(slots, TEAM_AT)
    words, whole, none = team.words, table.whole, int64(0)
    while True:
        words[WORD_MODE] = FINISHED
        if words[WORD_LEAVES] >= whole[MAX_LEAVES] or atomic_load(words, STOP) != 0:
            return 0.0
        node = pop(table, nodes, team)
        if node < 0:
            return 0.0
        words[WORD_NODE] = node
        feature = nodes.feature[node]
        if table.is_category[feature] or table.is_shared[feature]:
            call_address(whole[MARK_SIDES], (slots, node, none, none, none, rank))
        else:
            mark_number(table, nodes, team, node)
        if whole[SPARSE]:
            prepare = whole[PREPARE_SPARSE]
            if call_address(prepare, (slots, node, size, none, none, rank)) == 0.0:
                words[WORD_MODE] = SEARCHING
                return 0.0
        atomic_store(words, WORD_FLAGS, 0)
        atomic_store(words, WORD_MOVES, 0)
        if size > 1 and nodes.last[node] - nodes.first[node] > CHUNK:
            words[WORD_MODE] = FLAGGING
            return 0.0
        words[WORD_MODE] = SEARCHING
        n_left = part_alone(table, rows, nodes, team, node)
        call_address(whole[SETTLE], (slots, node, n_left, size, none, rank))
        if words[WORD_BUILD] >= 0 or words[WORD_OTHER] >= 0:
            return 0.0


@step
def make_root(slots, size, unused, unused_too, none, rank):
    """The root: all drawn rows."""
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    team, root = load_team(slots, TEAM_AT), int64(0)
    real, words = table.real, team.words
    nodes.first[0] = 0
    nodes.last[0] = table.whole[N_DRAWN]
    nodes.buffer[0] = 0
    nodes.depth[0] = 0
    make_leaf(table, nodes, root)
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
    for k in range(table.whole[N_ACTIVE]):
        feature = int64(team.active[k])
        team.may_ask[feature] = team.may_ask[table.whole[N_FEATURES] + feature] = 1
    words[WORD_OTHER] = words[WORD_SECOND] = -1
    words[WORD_BUILD] = 0 if may_split(table, nodes, team, root) else -1
    call_address(table.whole[PLAN_BUILD], (slots, size, root, root, root, rank))
    return 0.0

"""Make nodes: settle a split, hand rows and bounds to its children, plan their search."""

from __future__ import annotations

import math

from numba import int64, uint64

from hornbeam.kernels.boosting.histogram import LEAST_SHARED_ROWS, MANY_COLUMNS, own_code
from hornbeam.kernels.boosting.partition import part_alone
from hornbeam.kernels.boosting.search import leaf_weight
from hornbeam.kernels.boosting.state import (
    BY_COLUMNS,
    BY_ROWS,
    CHUNK,
    COUNTED,
    FLAGGING,
    MEMBER_WORDS,
    NODES_AT,
    PLANTING,
    ROWS_AT,
    TABLE_AT,
    TEAM_AT,
    UNKNOWN,
    WORD_BUILD,
    WORD_BUILD_SLOT,
    WORD_COUNTS,
    WORD_FLAGS,
    WORD_FREE,
    WORD_GRADIENT,
    WORD_HESSIAN,
    WORD_HOW,
    WORD_LEAVES,
    WORD_MODE,
    WORD_MOVES,
    WORD_NODE,
    WORD_NODES,
    WORD_OTHER,
    WORD_OTHER_SLOT,
    WORD_SEARCH,
    WORD_SECOND,
    load_nodes,
    load_rows,
    load_table,
    load_team,
)
from hornbeam.kernels.boosting.steps import MakeRoot, MarkSides, PlanBuild, SettleSplit
from hornbeam.kernels.driver import FINISHED, STOPPED, TOGETHER, TakeNodes
from hornbeam.kernels.frontier import WORD_WAITING, pop
from hornbeam.runtime.atomics import STOP, atomic_load, atomic_store
from hornbeam.runtime.kernel import part, step

ROUNDING = 2.0**-20  # equal hessians that are rounded still seem to be enough rows


@part
def may_split(table, nodes, team, node):
    """Whether the rules let a node be searched."""
    count = nodes.n_rows[node]
    hessian = float(nodes.hessian[node]) * table.units.hessian
    return (
        nodes.depth[node] < table.rules.max_depth
        and team.words[WORD_LEAVES] < table.rules.max_leaves
        and count >= 2 * table.rules.min_leaf
        and count >= 2
        and hessian >= 2.0 * table.rules.min_hessian
    )


@part
def take_slot(table, team, node, nodes):
    """A place for a node's histogram; the last one is for those that cannot be kept."""
    if team.words[WORD_FREE] == 0:
        nodes.slot[node] = -1
        return table.shape.n_slots
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
def goes_left(table, nodes, node, feature, code):
    """Whether rows with this code in the column of a node's feature go left at its split."""
    own = own_code(table, feature, code)
    if own >= table.n_codes[feature]:
        return int64(nodes.missing_left[node] == 1)
    if table.is_category[feature]:
        word = nodes.member[node * MEMBER_WORDS + (own >> 6)]
        return int64((word >> uint64(own & 63)) & uint64(1))
    return int64(own <= int64(nodes.cut[node]))


@step(MarkSides)
def mark_sides(slots, node):
    """Which side each code of a column goes to at a node's split, as a table.

    This is for categories and shared columns.
    """
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    team = load_team(slots, TEAM_AT)
    feature = int64(nodes.feature[node])
    for code in range(256):
        team.goes_left[code] = goes_left(table, nodes, node, feature, code)


@part
def mark_number(table, nodes, team, node):
    """The same for a number in a column of its own."""
    n_codes = table.n_codes[nodes.feature[node]]
    for code in range(256):
        known = int64(code < n_codes)
        below, missing = int64(code <= int64(nodes.cut[node])), nodes.missing_left[node] == 1
        team.goes_left[code] = below if known else missing


@part
def take_rows(table, nodes, parent, node, n_left, is_left):
    """Give a child its rows, in every page."""
    n_pages = table.shape.n_pages
    for page in range(n_pages):
        at, above = node * n_pages + page, parent * n_pages + page
        nodes.first[at] = nodes.first[above] if is_left else nodes.middle[above]
        nodes.last[at] = nodes.middle[above] if is_left else nodes.last[above]
    nodes.n_rows[node] = n_left if is_left else nodes.n_rows[parent] - n_left
    nodes.buffer[node] = 1 - nodes.buffer[parent]


@part
def make_child(table, nodes, parent, node, n_left, is_left):
    """One child of a split: its rows, sums, value and bounds."""
    take_rows(table, nodes, parent, node, n_left, is_left)
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
    n_groups = table.shape.n_groups
    for group in range(n_groups):
        holds = table.groups[group * table.shape.n_features + int64(nodes.feature[parent])]
        nodes.groups[node * n_groups + group] = nodes.groups[parent * n_groups + group] & holds


@part
def make_leaf(table, nodes, node):
    """What every new node is until a split of it is made."""
    nodes.child[node] = 0
    nodes.slot[node] = -1
    nodes.feature[node] = -1
    nodes.gain[node] = 0.0
    # a cell that is not empty holds a row, whatever its hessian seems to say
    judged = table.rules.min_leaf > 1 and not bool(table.steps.count_held)
    least = float(table.rules.min_leaf) if judged else 0.0
    nodes.least_rows[node] = least * (1.0 - ROUNDING)
    nodes.label[node] = node
    nodes.ahead[node] = -1


@part
def plan_search(table, nodes, team, node, left, smaller):
    """Decide whose histogram is counted and whose is what remains."""
    words = team.words
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


@part
def how_to_count(table, nodes, node, size):
    """Whether threads share out the rows of a node, or the columns."""
    few = nodes.n_rows[node] < LEAST_SHARED_ROWS
    spread = few or table.draw.n_bundles >= MANY_COLUMNS
    if size == 1 or (spread and not table.shape.is_sparse):
        return int64(BY_COLUMNS)
    return int64(BY_ROWS)


@step(PlanBuild)
def plan_build(slots, size):
    """Set the stage for counting WORD_BUILD (and subtracting it from WORD_OTHER)."""
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    team = load_team(slots, TEAM_AT)
    words = team.words
    build, other = words[WORD_BUILD], words[WORD_OTHER]
    atomic_store(words, WORD_COUNTS, 0)
    atomic_store(words, WORD_SEARCH, 0)
    if build >= 0:
        words[WORD_BUILD_SLOT], words[WORD_HOW] = nodes.slot[build], COUNTED
        if nodes.slot[build] < 0:
            words[WORD_BUILD_SLOT] = take_slot(table, team, build, nodes)
            words[WORD_HOW] = how_to_count(table, nodes, build, size)
    if table.rules.draws_features:  # otherwise the nodes may ask all that the tree has
        for which in range(2):
            node = build if which == 0 else other
            if node >= 0:
                table.steps.choose_features(slots, node, which)


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


@part
def has_too_few(table, nodes, node, n_left):
    """Whether a child would have fewer rows than a leaf must have."""
    return min(n_left, nodes.n_rows[node] - n_left) < table.rules.min_leaf


@part
def ask_again(nodes, team, node, n_left):
    """Plan to search a node again, more cautiously."""
    words = team.words
    ask_for_more(nodes, node, n_left, nodes.n_rows[node] - n_left)
    nodes.feature[node] = -1
    kept = nodes.slot[node] >= 0  # its histogram; otherwise it is counted again
    words[WORD_SECOND] = -1
    words[WORD_BUILD] = -1 if kept else node
    words[WORD_OTHER] = node if kept else -1
    words[WORD_OTHER_SLOT] = nodes.slot[node]


@part
def make_children(table, nodes, team, node, n_left):
    """Make the children of a node; returns the left one."""
    words = team.words
    if nodes.missing_left[node] == UNKNOWN:
        nodes.missing_left[node] = 2 * n_left >= nodes.n_rows[node]
    left = words[WORD_NODES]
    words[WORD_NODES] += 2
    words[WORD_LEAVES] += 1
    nodes.child[node] = left
    for side in range(2):
        make_child(table, nodes, node, left + side, n_left, side == 0)
    return left


@step(SettleSplit)
def settle_split(slots, node, n_left, size):
    """Make the children of a node whose rows are flagged.

    If one would have too few rows, the node goes back to be searched again, more cautiously.
    """
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    team = load_team(slots, TEAM_AT)
    if has_too_few(table, nodes, node, n_left):
        ask_again(nodes, team, node, n_left)
    else:
        left = make_children(table, nodes, team, node, n_left)
        smaller = left + (1 if nodes.n_rows[left] > nodes.n_rows[left + 1] else 0)
        plan_search(table, nodes, team, node, left, smaller)
    table.steps.plan_build(slots, size)


@part
def mark_split(slots, table, nodes, team, node):
    """Note to which side each code goes at a node's split, as a table."""
    feature = nodes.feature[node]
    if table.is_category[feature] or table.is_shared[feature]:
        table.steps.mark_sides(slots, node)
    else:
        mark_number(table, nodes, team, node)


@part
def is_searched(words):
    """Whether there are nodes to be counted or searched, or rows to be laid out."""
    return words[WORD_MODE] == PLANTING or words[WORD_BUILD] >= 0 or words[WORD_OTHER] >= 0


@step(TakeNodes)
def take_node(slots, at, size):
    """Take nodes from the frontier until all threads are needed, or none is left.

    Small nodes are parted here; children that cannot be split again need no other thread.
    """
    table, rows = load_table(slots, TABLE_AT), load_rows(slots, ROWS_AT)
    nodes, team = load_nodes(slots, NODES_AT), load_team(slots, at)
    words, steps = team.words, table.steps
    while not is_searched(words):
        if atomic_load(words, STOP) != 0:
            return STOPPED
        if words[WORD_LEAVES] >= table.rules.max_leaves:
            return FINISHED
        node = pop(team.frontier, words)
        if node < 0:
            return FINISHED
        words[WORD_NODE] = node
        mark_split(slots, table, nodes, team, node)
        if bool(steps.prepare_sparse) and not steps.prepare_sparse(slots, node, size):
            continue
        atomic_store(words, WORD_FLAGS, 0)
        atomic_store(words, WORD_MOVES, 0)
        if size > 1 and nodes.n_rows[node] > CHUNK:
            words[WORD_MODE] = FLAGGING
            return TOGETHER
        n_left = part_alone(table, rows, nodes, team, node)
        steps.settle(slots, node, n_left, size)
    return TOGETHER if atomic_load(words, STOP) == 0 else STOPPED


@step(MakeRoot)
def make_root(slots, size):
    """The root: all drawn rows, which are laid out."""
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    team, root = load_team(slots, TEAM_AT), int64(0)
    words = team.words
    nodes.buffer[0] = 0
    nodes.depth[0] = 0
    make_leaf(table, nodes, root)
    nodes.gradient[0] = words[WORD_GRADIENT]
    nodes.hessian[0] = words[WORD_HESSIAN]
    nodes.lower[0] = -math.inf
    nodes.upper[0] = math.inf
    g = float(nodes.gradient[0]) * table.units.gradient
    h = float(nodes.hessian[0]) * table.units.hessian
    nodes.value[0] = 0.0
    if h + table.penalty > 0.0:
        nodes.value[0] = leaf_weight(table.rules, g, h, table.penalty, -math.inf, math.inf)
    for group in range(table.shape.n_groups):
        nodes.groups[group] = 1
    words[WORD_NODES] = words[WORD_LEAVES] = 1
    words[WORD_WAITING] = 0
    words[WORD_FREE] = table.shape.n_slots
    for slot in range(table.shape.n_slots):
        team.free_slots[slot] = slot
    for k in range(table.draw.n_active):
        feature = int64(team.active[k])
        team.may_ask[feature] = team.may_ask[table.shape.n_features + feature] = 1
    words[WORD_OTHER] = words[WORD_SECOND] = -1
    words[WORD_BUILD] = 0 if may_split(table, nodes, team, root) else -1
    table.steps.plan_build(slots, size)

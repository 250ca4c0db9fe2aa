"""Search the histogram of a node for its best split.

The objective of a leaf with gradient sum G and hessian sum H is

    G w + (H + lambda) w^2 / 2 + alpha |w|

which is smallest at the leaf weight w = -T(G) / (H + lambda), where T moves G towards
zero by alpha. A split is worth by how much it lowers the objective (sources 001, section
6.3; 002; 004):

    gain = (T(G_L)^2 / (H_L + lambda) + T(G_R)^2 / (H_R + lambda) - T(G)^2 / (H + lambda)) / 2
"""

from __future__ import annotations

import math
from typing import NamedTuple

from numba import float64, int64, uint64

from hornbeam.kernels.boosting.state import (
    ALL_HELD,
    ALPHA,
    BEST_CUT,
    BEST_FEATURE,
    BEST_GAIN,
    BEST_GRADIENT,
    BEST_HESSIAN,
    BEST_LEFT_VALUE,
    BEST_MISSING_LEFT,
    BEST_RIGHT_VALUE,
    CATEGORY_LAMBDA,
    CATEGORY_RULE,
    CATEGORY_SMOOTH,
    COUNT_HELD,
    GRADIENT_UNIT,
    HELD_ROOM,
    HESSIAN_UNIT,
    LAMBDA,
    MAX_STEP,
    MEMBER_WORDS,
    MIN_HESSIAN,
    MIN_LEAF,
    MOST_CUTS,
    N_BEST,
    N_BEST_WHOLE,
    N_CELLS,
    N_FEATURES,
    N_NODE_REAL,
    N_NODE_WHOLE,
    NODE_ENOUGH,
    NODE_GRADIENT,
    NODE_HESSIAN,
    NODE_LOWER,
    NODE_OBJECTIVE,
    NODE_ROWS_PER_HESSIAN,
    NODE_UPPER,
    PLAIN,
    SEARCH_BOUND,
    SEARCH_CATEGORY,
    TABLE_AT,
    TEAM_AT,
    UNKNOWN,
    WORD_BUILD,
    WORD_OTHER,
    load_table,
    load_team,
)
from hornbeam.kernels.state import ONE_AGAINST_REST
from hornbeam.runtime.atomics import call_address
from hornbeam.runtime.kernel import part, step

# Up to this many categories in a node need no smoothing and no extra penalty.
FEW_CATEGORIES = 4
MANY_CUTS = 16  # of a feature: they are first looked at together


@part
def leaf_weight(real, gradient, hessian, penalty, lower, upper):
    """W = -T(G) / (H + lambda), within the step limit and the node's bounds."""
    if gradient > real[ALPHA]:
        weight = -(gradient - real[ALPHA]) / (hessian + penalty)
    elif gradient < -real[ALPHA]:
        weight = -(gradient + real[ALPHA]) / (hessian + penalty)
    else:
        weight = 0.0
    if real[MAX_STEP] > 0.0:
        weight = min(max(weight, -real[MAX_STEP]), real[MAX_STEP])
    return min(max(weight, lower), upper)


@part
def leaf_objective(real, gradient, hessian, penalty, weight):
    """Twice by how much this weight lowers the objective of a leaf."""
    return -(
        2.0 * gradient * weight
        + (hessian + penalty) * weight * weight
        + 2.0 * real[ALPHA] * abs(weight)
    )


@part
def note_cut(best, best_whole, which, gain, values, left):
    """Note the best cut so far."""
    best[which * N_BEST + BEST_GAIN] = gain
    best[which * N_BEST + BEST_LEFT_VALUE], best[which * N_BEST + BEST_RIGHT_VALUE] = values
    best_whole[which * N_BEST_WHOLE + BEST_GRADIENT] = left[0]
    best_whole[which * N_BEST_WHOLE + BEST_HESSIAN] = left[1]


@part
def is_better(best, best_whole, which, gain, feature):
    """Whether a split is better than the best so far: of equal gains the first feature wins.

    Features that share a column are searched one after the other, so not always in order.
    """
    most = best[which * N_BEST + BEST_GAIN]
    first = feature < best_whole[which * N_BEST_WHOLE + BEST_FEATURE]
    return gain > most or (gain == most and first)


@part
def try_plain(real, best, best_whole, which, feature, penalty, node, left):
    """Score one way to part the node; returns True if it is the best so far.

    ``left`` are gradient and hessian (integers) of the left side. There are no bounds here,
    no limits and no alpha.
    """
    gl, hl = float64(left[0]) * real[GRADIENT_UNIT], float64(left[1]) * real[HESSIAN_UNIT]
    gr = float64(node.gradient - left[0]) * real[GRADIENT_UNIT]
    hr = float64(node.hessian - left[1]) * real[HESSIAN_UNIT]
    after = gl * gl / (hl + penalty) + gr * gr / (hr + penalty)
    gain = 0.5 * (after - node.objective)
    if not is_better(best, best_whole, which, gain, feature):
        return False
    note_cut(best, best_whole, which, gain, (-gl / (hl + penalty), -gr / (hr + penalty)), left)
    return True


@part
def try_cut(table, best, best_whole, which, feature, direction, penalty, node, left):
    """Score one way to part the node, with all that may bind its children."""
    real = table.real
    if table.whole[PLAIN]:
        return try_plain(real, best, best_whole, which, feature, penalty, node, left)
    gl, hl = float64(left[0]) * real[GRADIENT_UNIT], float64(left[1]) * real[HESSIAN_UNIT]
    gr = float64(node.gradient - left[0]) * real[GRADIENT_UNIT]
    hr = float64(node.hessian - left[1]) * real[HESSIAN_UNIT]
    wl = leaf_weight(real, gl, hl, penalty, node.lower, node.upper)
    wr = leaf_weight(real, gr, hr, penalty, node.lower, node.upper)
    if (wl - wr) * direction > 0.0:
        return False
    after = leaf_objective(real, gl, hl, penalty, wl)
    after += leaf_objective(real, gr, hr, penalty, wr)
    gain = 0.5 * (after - node.objective)
    if not is_better(best, best_whole, which, gain, feature):
        return False
    note_cut(best, best_whole, which, gain, (wl, wr), left)
    return True


class SearchedNode(NamedTuple):
    """What a search needs to know of a node.

    Histograms do not hold the number of rows. A side with the hessian h seems to have
    ``h * rows_per_hessian`` rows, which is exact where all hessians are equal. Where they
    are not, a split that leaves too few rows is found out when the rows are parted. The
    node is then searched again with a larger ``Nodes.least_rows``. Where single rows weigh so
    much that others would seem to be no rows at all, rows are counted instead (COUNT_HELD).
    """

    gradient: int
    hessian: int
    enough: int  # hessian that a side needs, for its own sake and for its rows
    rows_per_hessian: float
    lower: float
    upper: float
    objective: float  # twice by how much the node's own weight lowers it


@part
def node_objective(table, nodes, node):
    """Twice by how much the best weight lowers the objective of a node as a leaf."""
    real = table.real
    g = float(nodes.gradient[node]) * real[GRADIENT_UNIT]
    h = float(nodes.hessian[node]) * real[HESSIAN_UNIT]
    weight = leaf_weight(real, g, h, real[LAMBDA], nodes.lower[node], nodes.upper[node])
    return leaf_objective(real, g, h, real[LAMBDA], weight)


@part
def describe(table, nodes, team, node, place):
    """Note what the searches of a node need to know of it, for one thread."""
    real, whole, noted = table.real, team.node_whole, team.node_real
    hessian = nodes.hessian[node]
    rows_per_hessian = float(nodes.last[node] - nodes.first[node]) / max(1.0, float(hessian))
    least_rows = nodes.least_rows[node]
    enough = max(int64(1), int64(math.ceil(real[MIN_HESSIAN] / real[HESSIAN_UNIT])))
    enough = max(enough, int64(least_rows / max(rows_per_hessian, 1e-300)) - 1)
    while float64(enough) * rows_per_hessian < least_rows and enough <= hessian:
        enough += 1
    whole[place * N_NODE_WHOLE + NODE_GRADIENT] = nodes.gradient[node]
    whole[place * N_NODE_WHOLE + NODE_HESSIAN] = hessian
    whole[place * N_NODE_WHOLE + NODE_ENOUGH] = enough
    noted[place * N_NODE_REAL + NODE_ROWS_PER_HESSIAN] = rows_per_hessian
    noted[place * N_NODE_REAL + NODE_LOWER] = nodes.lower[node]
    noted[place * N_NODE_REAL + NODE_UPPER] = nodes.upper[node]
    noted[place * N_NODE_REAL + NODE_OBJECTIVE] = node_objective(table, nodes, node)


@part
def described(team, place):
    """What was noted of a node."""
    at, at_real = place * N_NODE_WHOLE, place * N_NODE_REAL
    return SearchedNode(
        team.node_whole[at + NODE_GRADIENT],
        team.node_whole[at + NODE_HESSIAN],
        team.node_whole[at + NODE_ENOUGH],
        team.node_real[at_real + NODE_ROWS_PER_HESSIAN],
        team.node_real[at_real + NODE_LOWER],
        team.node_real[at_real + NODE_UPPER],
        team.node_real[at_real + NODE_OBJECTIVE],
    )


@part
def may_beat(node, left_gradient, left_hessian, penalty, to_beat):
    """Whether a cut can be better than the best so far, without a division.

    G_L^2 / h_L + G_R^2 / h_R > t, where h = H + lambda, all in units of the integers and
    with room for rounding errors: those that may, are then tried exactly.
    """
    gl, hl = float64(left_gradient), float64(left_hessian) + penalty
    gr, hr = float64(node.gradient - left_gradient), float64(node.hessian - left_hessian) + penalty
    return gl * gl * hr + gr * gr * hl >= to_beat * hl * hr


@part
def amount_to_beat(table, best, which, node):
    """What `may_beat` compares with: the best gain so far, in units of the integers."""
    real = table.real
    unit = real[GRADIENT_UNIT] * real[GRADIENT_UNIT] / real[HESSIAN_UNIT]
    amount = (2.0 * best[which * N_BEST + BEST_GAIN] + node.objective) / unit
    return amount - 1e-9 * abs(amount)


@part
def add_up(cells, start, hessians, first, n_cuts, prefix, at):
    """Gradients and hessians left of each cut; ``first`` are those of the missing values."""
    left_gradient, left_hessian = first
    for code in range(n_cuts):
        left_gradient += cells[start + code]
        left_hessian += cells[hessians + code]
        prefix[at + code] = left_gradient
        prefix[at + MOST_CUTS + code] = left_hessian


@part
def some_may_beat(node, prefix, at, n_cuts, penalty, to_beat):
    """Whether any cut can be better than the best so far: vector code, no cut by itself."""
    found = int64(0)
    for code in range(n_cuts):
        left_gradient, left_hessian = prefix[at + code], prefix[at + MOST_CUTS + code]
        enough = (left_hessian >= node.enough) & (node.hessian - left_hessian >= node.enough)
        better = may_beat(node, left_gradient, left_hessian, penalty, to_beat)
        found |= int64(enough & better)
    return found != 0


@part
def note_number(best_whole, which, feature, code, missing_left):
    """Note where a number is cut."""
    best_whole[which * N_BEST_WHOLE + BEST_FEATURE] = feature
    best_whole[which * N_BEST_WHOLE + BEST_CUT] = code
    best_whole[which * N_BEST_WHOLE + BEST_MISSING_LEFT] = missing_left


@part
def search_number(table, team, node, which, slot, feature, to_beat, rank):
    """Try every cut of a number, with its missing values on the right, then on the left.

    Returns what a cut must beat from now on.
    """
    cells, best, best_whole = team.cells, team.best, team.best_whole
    start = 2 * slot * table.whole[N_CELLS] + table.cell_start[feature]
    n_codes, hessians = table.n_codes[feature], start + table.whole[N_CELLS]
    penalty = table.real[LAMBDA]
    scaled_penalty = penalty / table.real[HESSIAN_UNIT]
    missing_gradient, missing_hessian = cells[start + n_codes], cells[hessians + n_codes]
    some_missing = missing_hessian != 0
    for missing_left in range(2 if some_missing else 1):
        left_gradient = missing_gradient if missing_left else int64(0)
        left_hessian = missing_hessian if missing_left else int64(0)
        # with missing values on the right, all known ones may go left
        n_cuts = n_codes - 1 + (1 if some_missing and not missing_left else 0)
        if n_cuts >= MANY_CUTS:
            at_prefix = 2 * MOST_CUTS * rank
            first = (left_gradient, left_hessian)
            add_up(cells, start, hessians, first, n_cuts, team.prefix, at_prefix)
            if not some_may_beat(node, team.prefix, at_prefix, n_cuts, scaled_penalty, to_beat):
                continue
        for code in range(n_cuts):
            here = cells[hessians + code]
            if here == 0:
                continue
            left_gradient += cells[start + code]
            left_hessian += here
            if left_hessian < node.enough:
                continue
            if node.hessian - left_hessian < node.enough:
                break
            if not may_beat(node, left_gradient, left_hessian, scaled_penalty, to_beat):
                continue
            left = (left_gradient, left_hessian)
            if try_plain(table.real, best, best_whole, which, feature, penalty, node, left):
                side = missing_left if some_missing else UNKNOWN
                note_number(best_whole, which, feature, code, side)
                to_beat = amount_to_beat(table, best, which, node)
    return to_beat


@part
def rows_in(table, team, node, cell, hessian, rank):
    """How many rows of a node a cell of the feature holds, or seems to hold."""
    if table.whole[COUNT_HELD] != 0:
        return float64(team.held[HELD_ROOM * rank + cell])
    return float64(hessian) * node.rows_per_hessian


@part
def too_few(table, team, n_left, rank):
    """Whether a side has too few of the rows that were counted: 1 the left, 2 the right one."""
    if table.whole[COUNT_HELD] == 0:
        return int64(0)  # that is judged by hessians
    least = float64(table.whole[MIN_LEAF])
    if n_left < least:
        return int64(1)
    return int64(2 if float64(team.held[HELD_ROOM * rank + ALL_HELD]) - n_left < least else 0)


@step
def search_bound(slots, which, slot, feature, unused, rank):
    """`search_number` with constraints, limits, alpha or counted rows: every cut in full."""
    table, team = load_table(slots, TABLE_AT), load_team(slots, TEAM_AT)
    which += 2 * rank
    node = described(team, which)
    cells, best, best_whole = team.cells, team.best, team.best_whole
    start = 2 * slot * table.whole[N_CELLS] + table.cell_start[feature]
    n_codes, direction = table.n_codes[feature], table.monotone[feature]
    hessians = start + table.whole[N_CELLS]
    some_missing = cells[hessians + n_codes] != 0
    for missing_left in range(2 if some_missing else 1):
        left_gradient = cells[start + n_codes] if missing_left else int64(0)
        left_hessian = cells[hessians + n_codes] if missing_left else int64(0)
        n_left = rows_in(table, team, node, n_codes, left_hessian, rank) if missing_left else 0.0
        n_cuts = n_codes - 1 + (1 if some_missing and not missing_left else 0)
        for code in range(n_cuts):
            here = cells[hessians + code]
            if here == 0:
                continue
            left_gradient += cells[start + code]
            left_hessian += here
            n_left += rows_in(table, team, node, code, here, rank)
            few = too_few(table, team, n_left, rank)
            if left_hessian < node.enough or few == 1:
                continue
            if node.hessian - left_hessian < node.enough or few == 2:
                break
            left = (left_gradient, left_hessian)
            penalty = table.real[LAMBDA]
            if try_cut(table, best, best_whole, which, feature, direction, penalty, node, left):
                side = missing_left if some_missing else UNKNOWN
                note_number(best_whole, which, feature, code, side)
    return 0.0


@step
def search_features(slots, which, slot, first, last, rank):
    """Search some drawn features of a node, those that it may ask."""
    table, team = load_table(slots, TABLE_AT), load_team(slots, TEAM_AT)
    place, count = which + 2 * rank, table.whole[COUNT_HELD]
    plain = table.whole[PLAIN] != 0 and count == 0
    searched = team.words[WORD_OTHER if which else WORD_BUILD]
    node = described(team, place)
    to_beat = amount_to_beat(table, team.best, place, node)
    for k in range(first, last):
        feature = int64(team.bundle_feature[k])
        if not team.may_ask[which * table.whole[N_FEATURES] + feature]:
            continue
        if count != 0:
            call_address(count, (slots, searched, feature, int64(0), int64(0), rank))
        if plain and not table.is_category[feature]:
            to_beat = search_number(table, team, node, place, slot, feature, to_beat, rank)
        else:
            search = table.whole[SEARCH_CATEGORY if table.is_category[feature] else SEARCH_BOUND]
            call_address(search, (slots, which, slot, feature, int64(0), rank))
            to_beat = amount_to_beat(table, team.best, place, node)
    return 0.0


@part
def sort_categories(table, team, start, node, n_codes, smooth, rank):
    """List the categories that are there (missing is one) by gradient over hessian.

    Those that seem to have fewer than ``smooth`` rows are left out; returns how many are not.
    """
    real, cells = table.real, team.cells
    keys, codes, at = team.sort_key, team.sort_code, 256 * rank
    hessians = start + table.whole[N_CELLS]
    n_present = int64(0)
    for code in range(n_codes + 1):
        here = cells[hessians + code]
        if here == 0 or rows_in(table, team, node, code, here, rank) < smooth:
            continue
        gradient = float64(cells[start + code]) * real[GRADIENT_UNIT]
        hessian = float64(cells[hessians + code]) * real[HESSIAN_UNIT]
        key = gradient / (hessian + smooth)
        place = at + n_present
        while place > at and keys[place - 1] > key:
            keys[place] = keys[place - 1]
            codes[place] = codes[place - 1]
            place -= 1
        keys[place] = key
        codes[place] = code
        n_present += 1
    return n_present


@step
def search_category(slots, which, slot, feature, unused, rank):
    """Part the categories: sorted by their gradients, or one against the rest.

    Categories of few rows have wild gradients, and many categories can be parted in many
    ways. Hence the smoothing and the extra penalty, and rare categories always go right.
    """
    table, team = load_table(slots, TABLE_AT), load_team(slots, TEAM_AT)
    which += 2 * rank
    node = described(team, which)
    cells, best, best_whole, member = team.cells, team.best, team.best_whole, team.member
    codes, at_sort = team.sort_code, 256 * rank
    whole, real = table.whole, table.real
    start = 2 * slot * whole[N_CELLS] + table.cell_start[feature]
    n_codes = table.n_codes[feature]
    hessians = start + whole[N_CELLS]
    n_present = int64(0)
    for code in range(n_codes + 1):
        n_present += cells[hessians + code] != 0
    one_by_one = whole[CATEGORY_RULE] == ONE_AGAINST_REST
    gentle = n_present <= FEW_CATEGORIES or one_by_one
    smooth = 0.0 if gentle else real[CATEGORY_SMOOTH]
    penalty = real[LAMBDA] + (0.0 if gentle else real[CATEGORY_LAMBDA])
    n_sorted = sort_categories(table, team, start, node, n_codes, smooth, rank)
    at_whole, words = which * N_BEST_WHOLE, which * MEMBER_WORDS
    left_gradient, left_hessian, n_left = int64(0), int64(0), 0.0
    found = int64(-1)
    all_sorted = n_sorted == n_present and not one_by_one
    for place in range(n_sorted - 1 if all_sorted else n_sorted):
        code = int64(codes[at_sort + place])
        if one_by_one:
            left_gradient, left_hessian, n_left = int64(0), int64(0), 0.0
        left_gradient += cells[start + code]
        left_hessian += cells[hessians + code]
        n_left += rows_in(table, team, node, code, cells[hessians + code], rank)
        if left_hessian < node.enough or node.hessian - left_hessian < node.enough:
            continue
        if too_few(table, team, n_left, rank) != 0:
            continue
        left = (left_gradient, left_hessian)
        if try_cut(table, best, best_whole, which, feature, int64(0), penalty, node, left):
            found = place
    if found < 0:
        return 0.0
    best_whole[at_whole + BEST_FEATURE] = feature
    best_whole[at_whole + BEST_CUT] = 0
    for word in range(MEMBER_WORDS):
        member[words + word] = uint64(0)
    larger_left = 2 * best_whole[at_whole + BEST_HESSIAN] >= node.hessian
    for code in range(n_codes):  # what is not in the node goes with most of its weight
        if larger_left and cells[hessians + code] == 0:
            member[words + (code >> 6)] |= uint64(1) << uint64(code & 63)
    for place in range(found if one_by_one else 0, found + 1):
        code = int64(codes[at_sort + place])
        member[words + (code >> 6)] |= uint64(1) << uint64(code & 63)
    missing = (member[words + (n_codes >> 6)] >> uint64(n_codes & 63)) & uint64(1)
    some_missing = cells[hessians + n_codes] != 0
    best_whole[at_whole + BEST_MISSING_LEFT] = int64(missing) if some_missing else UNKNOWN
    return 0.0

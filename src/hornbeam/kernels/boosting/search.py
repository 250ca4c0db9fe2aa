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
from collections.abc import Callable
from typing import Any, NamedTuple

from numba import float64, int64, uint64

from hornbeam.kernels.boosting.state import (
    ALL_HELD,
    HELD_ROOM,
    LINE,
    MEMBER_WORDS,
    MOST_CUTS,
    TABLE_AT,
    TEAM_AT,
    UNKNOWN,
    WORD_BUILD,
    WORD_OTHER,
    load_table,
    load_team,
)
from hornbeam.kernels.boosting.steps import SearchFeature, SearchFeatures
from hornbeam.kernels.state import ONE_AGAINST_REST
from hornbeam.runtime.kernel import inlined, part, part_of, step

# Up to this many categories in a node need no smoothing and no extra penalty.
FEW_CATEGORIES = 4
MANY_CUTS = 16  # of a feature: they are first looked at together


@part
def place_of_search(rank, which):
    """Where a thread notes what it finds for one of the new nodes."""
    return LINE * rank + which


@part
def leaf_weight(rules, gradient, hessian, penalty, lower, upper):
    """W = -T(G) / (H + lambda), within the step limit and the node's bounds."""
    if gradient > rules.alpha:
        weight = -(gradient - rules.alpha) / (hessian + penalty)
    elif gradient < -rules.alpha:
        weight = -(gradient + rules.alpha) / (hessian + penalty)
    else:
        weight = 0.0
    if rules.max_step > 0.0:
        weight = min(max(weight, -rules.max_step), rules.max_step)
    return min(max(weight, lower), upper)


@part
def leaf_objective(rules, gradient, hessian, penalty, weight):
    """Twice by how much this weight lowers the objective of a leaf."""
    return -(
        2.0 * gradient * weight
        + (hessian + penalty) * weight * weight
        + 2.0 * rules.alpha * abs(weight)
    )


@part
def note_cut(best, place, gain, values, left):
    """Note the best cut so far."""
    best.gain[place] = gain
    best.left_value[place], best.right_value[place] = values
    best.gradient[place], best.hessian[place] = left


@part
def is_better(best, place, gain, feature):
    """Whether a split is better than the best so far: of equal gains the first feature wins.

    Features that share a column are searched one after the other, so not always in order.
    """
    most = best.gain[place]
    return gain > most or (gain == most and feature < best.feature[place])


@part
def try_plain(units, best, place, feature, penalty, node, left):
    """Score one way to part the node; returns True if it is the best so far.

    ``left`` are gradient and hessian (integers) of the left side. There are no bounds here,
    no limits and no alpha.
    """
    gl, hl = float64(left[0]) * units.gradient, float64(left[1]) * units.hessian
    gr = float64(node.gradient - left[0]) * units.gradient
    hr = float64(node.hessian - left[1]) * units.hessian
    after = gl * gl / (hl + penalty) + gr * gr / (hr + penalty)
    gain = 0.5 * (after - node.objective)
    if not is_better(best, place, gain, feature):
        return False
    note_cut(best, place, gain, (-gl / (hl + penalty), -gr / (hr + penalty)), left)
    return True


@part
def try_cut(table, best, place, feature, direction, penalty, node, left):
    """Score one way to part the node, with all that may bind its children."""
    rules, units = table.rules, table.units
    if rules.is_plain:
        return try_plain(units, best, place, feature, penalty, node, left)
    gl, hl = float64(left[0]) * units.gradient, float64(left[1]) * units.hessian
    gr = float64(node.gradient - left[0]) * units.gradient
    hr = float64(node.hessian - left[1]) * units.hessian
    wl = leaf_weight(rules, gl, hl, penalty, node.lower, node.upper)
    wr = leaf_weight(rules, gr, hr, penalty, node.lower, node.upper)
    if (wl - wr) * direction > 0.0:
        return False
    after = leaf_objective(rules, gl, hl, penalty, wl)
    after += leaf_objective(rules, gr, hr, penalty, wr)
    gain = 0.5 * (after - node.objective)
    if not is_better(best, place, gain, feature):
        return False
    note_cut(best, place, gain, (wl, wr), left)
    return True


class SearchedNode(NamedTuple):
    """What a search needs to know of a node.

    Histograms do not hold the number of rows. A side with the hessian h seems to have
    ``h * rows_per_hessian`` rows, which is exact where all hessians are equal. Where they
    are not, a split that leaves too few rows is found out when the rows are parted. The
    node is then searched again with a larger ``BoostNodes.least_rows``. Where single rows weigh so
    much that others would seem to be no rows at all, rows are counted instead (``count_held``).
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
    rules, units, penalty = table.rules, table.units, table.penalty
    g = float(nodes.gradient[node]) * units.gradient
    h = float(nodes.hessian[node]) * units.hessian
    weight = leaf_weight(rules, g, h, penalty, nodes.lower[node], nodes.upper[node])
    return leaf_objective(rules, g, h, penalty, weight)


@part
def describe(table, nodes, team, node, place):
    """Note what the searches of a node need to know of it, for one thread."""
    searched, hessian = team.searched, nodes.hessian[node]
    rows_per_hessian = float(nodes.n_rows[node]) / max(1.0, float(hessian))
    least_rows = nodes.least_rows[node]
    enough = max(int64(1), int64(math.ceil(table.rules.min_hessian / table.units.hessian)))
    enough = max(enough, int64(least_rows / max(rows_per_hessian, 1e-300)) - 1)
    while float64(enough) * rows_per_hessian < least_rows and enough <= hessian:
        enough += 1
    searched.gradient[place] = nodes.gradient[node]
    searched.hessian[place] = hessian
    searched.enough[place] = enough
    searched.rows_per_hessian[place] = rows_per_hessian
    searched.lower[place] = nodes.lower[node]
    searched.upper[place] = nodes.upper[node]
    searched.objective[place] = node_objective(table, nodes, node)


@part
def described(team, place):
    """What was noted of a node."""
    searched = team.searched
    return SearchedNode(
        searched.gradient[place],
        searched.hessian[place],
        searched.enough[place],
        searched.rows_per_hessian[place],
        searched.lower[place],
        searched.upper[place],
        searched.objective[place],
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
def amount_to_beat(table, best, place, node):
    """What `may_beat` compares with: the best gain so far, in units of the integers."""
    units = table.units
    unit = units.gradient * units.gradient / units.hessian
    amount = (2.0 * best.gain[place] + node.objective) / unit
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
def note_number(best, place, feature, code, missing_left):
    """Note where a number is cut."""
    best.feature[place] = feature
    best.cut[place] = code
    best.missing_left[place] = missing_left


@part
def rows_in(table, team, node, cell, hessian, rank):
    """How many rows of a node a cell of the feature holds, or seems to hold."""
    if table.steps.count_held:
        return float64(team.held[HELD_ROOM * rank + cell])
    return float64(hessian) * node.rows_per_hessian


@part
def rows_of_node(table, team, node, rank):
    """How many rows a node holds, counted or judged as in `rows_in`."""
    if table.steps.count_held:
        return float64(team.held[HELD_ROOM * rank + ALL_HELD])
    return float64(node.hessian) * node.rows_per_hessian


@part
def breaks_limits(rules, n_left, n_categories, rows_right):
    """Whether a cut of many sorted categories leaves too many on each side, or too few rows."""
    smaller = min(n_left, n_categories - n_left)
    return smaller > rules.category_limit or rows_right < rules.category_rows


@part
def too_few(table, team, n_left, rank):
    """Whether a side has too few of the rows that were counted: 1 the left, 2 the right one."""
    if not bool(table.steps.count_held):
        return int64(0)  # that is judged by hessians
    least = float64(table.rules.min_leaf)
    if n_left < least:
        return int64(1)
    return int64(2 if float64(team.held[HELD_ROOM * rank + ALL_HELD]) - n_left < least else 0)


# --- numbers ------------------------------------------------------------------------------


def make_number_search(
    skips: Callable[..., bool],
    rows_at: Callable[..., float],
    few_rows: Callable[..., int],
    judge: Callable[..., Any],
) -> Any:
    """Try every cut of a number, with its missing values on the right, then on the left.

    ``skips`` tells for all cuts of one side of the missing values at once that none can be the
    best, ``rows_at`` how many rows a cell holds, ``few_rows`` whether a side has too few of them
    (1 the left, 2 the right one), and ``judge`` whether a cut is the best, and what must be beaten
    from now on. That is returned.
    """

    def search_cells(table, team, node, place, slot, feature, to_beat, rank):
        cells, best = team.cells, team.best
        start = 2 * slot * table.shape.n_cells + table.cell_start[feature]
        n_codes, hessians = table.n_codes[feature], start + table.shape.n_cells
        some_missing = cells[hessians + n_codes] != 0
        for missing_left in range(2 if some_missing else 1):
            left = (int64(0), int64(0))
            n_left = 0.0
            if missing_left:
                left = (cells[start + n_codes], cells[hessians + n_codes])
                n_left = rows_at(table, team, node, n_codes, left[1], rank)
            # with missing values on the right, all known ones may go left
            n_cuts = n_codes - 1 + (1 if some_missing and not missing_left else 0)
            if skips(table, team, node, start, left, n_cuts, to_beat, rank):
                continue
            for code in range(n_cuts):
                here = cells[hessians + code]
                if here == 0:
                    continue
                left = (left[0] + cells[start + code], left[1] + here)
                n_left += rows_at(table, team, node, code, here, rank)
                few = few_rows(table, team, n_left, rank)
                if left[1] < node.enough or few == 1:
                    continue
                if node.hessian - left[1] < node.enough or few == 2:
                    break
                is_best, to_beat = judge(table, best, place, feature, node, left, to_beat)
                if is_best:
                    side = missing_left if some_missing else UNKNOWN
                    note_number(best, place, feature, code, side)
        return to_beat

    return search_cells


@inlined
def no_rows(table, team, node, cell, hessian, rank):
    """Nobody counts rows: they are judged by hessians."""
    return 0.0


@inlined
def never_few(table, team, n_left, rank):
    """... and no side has too few of them."""
    return 0


@inlined
def none_may_beat(table, team, node, start, left, n_cuts, to_beat, rank):
    """Many cuts are first looked at together."""
    if n_cuts < MANY_CUTS:
        return False
    at, hessians = 2 * MOST_CUTS * rank, start + table.shape.n_cells
    penalty = table.penalty / table.units.hessian
    add_up(team.cells, start, hessians, left, n_cuts, team.prefix, at)
    return not some_may_beat(node, team.prefix, at, n_cuts, penalty, to_beat)


@inlined
def judge_plain(table, best, place, feature, node, left, to_beat):
    """Without constraints, limits or alpha, most cuts need no division."""
    penalty, is_best = table.penalty, False
    if may_beat(node, left[0], left[1], penalty / table.units.hessian, to_beat):
        is_best = try_plain(table.units, best, place, feature, penalty, node, left)
        if is_best:
            to_beat = amount_to_beat(table, best, place, node)
    return is_best, to_beat


@inlined
def never(table, team, node, start, left, n_cuts, to_beat, rank):
    """Nothing is skipped."""
    return False


@inlined
def judge_bound(table, best, place, feature, node, left, to_beat):
    """Every cut in full."""
    direction, penalty = table.monotone[feature], table.penalty
    return try_cut(table, best, place, feature, direction, penalty, node, left), to_beat


search_plain = part_of(make_number_search(none_may_beat, no_rows, never_few, judge_plain), "plain")
search_in_full = inlined(make_number_search(never, rows_in, too_few, judge_bound))


@step(SearchFeature)
def search_bound(slots, which, slot, feature, rank):
    """A number with constraints, limits, alpha or counted rows."""
    table, team = load_table(slots, TABLE_AT), load_team(slots, TEAM_AT)
    place = place_of_search(rank, which)
    search_in_full(table, team, described(team, place), place, slot, feature, 0.0, rank)


@step(SearchFeatures)
def search_features(slots, which, slot, first, last, rank):
    """Search some drawn features of a node, those that it may ask."""
    table, team = load_table(slots, TABLE_AT), load_team(slots, TEAM_AT)
    place, steps = place_of_search(rank, which), table.steps
    counts = bool(steps.count_held)
    plain = table.rules.is_plain and not counts
    searched = team.words[WORD_OTHER if which else WORD_BUILD]
    node = described(team, place)
    to_beat = amount_to_beat(table, team.best, place, node)
    for k in range(first, last):
        feature = int64(team.bundle_feature[k])
        if not team.may_ask[which * table.shape.n_features + feature]:
            continue
        if counts:
            steps.count_held(slots, searched, feature, rank)
        if plain and not table.is_category[feature]:
            to_beat = search_plain(table, team, node, place, slot, feature, to_beat, rank)
            continue
        if table.is_category[feature]:
            steps.search_category(slots, which, slot, feature, rank)
        else:
            steps.search_bound(slots, which, slot, feature, rank)
        to_beat = amount_to_beat(table, team.best, place, node)


@part
def sort_categories(table, team, start, node, n_codes, smooth, rank):
    """List the categories that are there (missing is one) by gradient over hessian.

    Those that seem to have fewer than ``smooth`` rows are left out; returns how many are not.
    """
    units, cells = table.units, team.cells
    keys, codes, at = team.sort_key, team.sort_code, 256 * rank
    hessians = start + table.shape.n_cells
    n_present = int64(0)
    for code in range(n_codes + 1):
        here = cells[hessians + code]
        if here == 0 or rows_in(table, team, node, code, here, rank) < smooth:
            continue
        gradient = float64(cells[start + code]) * units.gradient
        hessian = float64(cells[hessians + code]) * units.hessian
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


@part
def note_category(table, team, at, node, start, feature, first, last):
    """Note how categories are parted: those at some places of the sorted list are on the left."""
    cells, best, codes, n_codes = team.cells, team.best, team.sort_code, table.n_codes[feature]
    hessians, member, words = start + table.shape.n_cells, best.member, at * MEMBER_WORDS
    best.feature[at], best.cut[at] = feature, 0
    for word in range(MEMBER_WORDS):
        member[words + word] = uint64(0)
    larger_left = 2 * best.hessian[at] >= node.hessian
    for code in range(n_codes):  # what is not in the node goes with most of its weight
        if larger_left and cells[hessians + code] == 0:
            member[words + (code >> 6)] |= uint64(1) << uint64(code & 63)
    for place in range(first, last):
        code = int64(codes[place])
        member[words + (code >> 6)] |= uint64(1) << uint64(code & 63)
    missing = (member[words + (n_codes >> 6)] >> uint64(n_codes & 63)) & uint64(1)
    some_missing = cells[hessians + n_codes] != 0
    best.missing_left[at] = int64(missing) if some_missing else UNKNOWN


@step(SearchFeature)
def search_category(slots, which, slot, feature, rank):
    """Part the categories: sorted by their gradients, or one against the rest.

    Categories of few rows have wild gradients, and many categories can be parted in many
    ways. Hence the smoothing and the extra penalty, and rare categories always go right.
    """
    table, team = load_table(slots, TABLE_AT), load_team(slots, TEAM_AT)
    at = place_of_search(rank, which)
    node, cells, best = described(team, at), team.cells, team.best
    codes, at_sort = team.sort_code, 256 * rank
    rules = table.rules
    start = 2 * slot * table.shape.n_cells + table.cell_start[feature]
    n_codes = table.n_codes[feature]
    hessians = start + table.shape.n_cells
    n_present = int64(0)
    for code in range(n_codes + 1):
        n_present += cells[hessians + code] != 0
    one_by_one = rules.category_rule == ONE_AGAINST_REST
    gentle = n_present <= FEW_CATEGORIES or one_by_one
    smooth = 0.0 if gentle else rules.category_smooth
    penalty = table.penalty + (0.0 if gentle else rules.category_lambda)
    n_sorted = sort_categories(table, team, start, node, n_codes, smooth, rank)
    left_gradient, left_hessian, n_left = int64(0), int64(0), 0.0
    n_rows, n_passed = rows_of_node(table, team, node, rank), 0.0
    found = int64(-1)
    all_sorted = n_sorted == n_present and not one_by_one
    for place in range(n_sorted - 1 if all_sorted else n_sorted):
        code = int64(codes[at_sort + place])
        if one_by_one:
            left_gradient, left_hessian, n_left = int64(0), int64(0), 0.0
        left_gradient += cells[start + code]
        left_hessian += cells[hessians + code]
        here = rows_in(table, team, node, code, cells[hessians + code], rank)
        n_left += here
        n_passed += here
        if not gentle:
            if n_passed < rules.category_rows:
                continue
            n_passed = 0.0
            if breaks_limits(rules, place + 1, n_present, n_rows - n_left):
                continue
        if left_hessian < node.enough or node.hessian - left_hessian < node.enough:
            continue
        if too_few(table, team, n_left, rank) != 0:
            continue
        left = (left_gradient, left_hessian)
        if try_cut(table, best, at, feature, int64(0), penalty, node, left):
            found = place
    if found < 0:
        return
    first = found if one_by_one else 0
    note_category(table, team, at, node, start, feature, at_sort + first, at_sort + found + 1)

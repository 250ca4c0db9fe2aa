"""How symmetric trees grow: all nodes of a level are asked the same question.

    take     all nodes from the frontier                                            one thread
    scan     what do all nodes gain by a cut of a feature, taken together?         all threads
    settle   part the rows of every node by the best question, make children        one thread

These are the steps of the driver (kernels/driver.py).

The trees of several scores share their questions: a gain is the sum over nodes and scores. A
node of which a child would have too few rows does not take part. It stays as it is, and may
take part in a later question.

A feature is searched node by node, in a tile of sums and row counts by place. The place of a
number's code is the code itself, and missing values come last; the place of a category is its
rank in the order in which categories are parted.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np
from numba import float32, float64, int64, types, uint64

from hornbeam.kernels.boosting.grow import GAIN_NOISE
from hornbeam.kernels.boosting.histogram import own_code
from hornbeam.kernels.boosting.nodes import make_leaf, take_rows
from hornbeam.kernels.boosting.partition import part_alone
from hornbeam.kernels.boosting.search import (
    FEW_CATEGORIES,
    breaks_limits,
    leaf_objective,
    leaf_weight,
)
from hornbeam.kernels.boosting.sparse import spread_column
from hornbeam.kernels.boosting.state import (
    LINE,
    MEMBER_WORDS,
    MISSING,
    NODES_AT,
    PLANTING,
    ROWS_AT,
    SEARCHING,
    TABLE_AT,
    TEAM_AT,
    UNKNOWN,
    WORD_DEPTH,
    WORD_DRAWN,
    WORD_JOBS,
    WORD_LEAVES,
    WORD_MODE,
    WORD_NODES,
    WORD_SEARCH,
    BoostNodes,
    BoostRows,
    BoostTable,
    BoostTeam,
    load_nodes,
    load_rows,
    load_table,
    load_team,
    page_of,
)
from hornbeam.kernels.driver import (
    FINISHED,
    STOPPED,
    TOGETHER,
    ScanSums,
    SettleSplits,
    TakeNodes,
)
from hornbeam.kernels.frontier import WORD_WAITING, pop, push
from hornbeam.kernels.state import ONE_AGAINST_REST
from hornbeam.runtime.atomics import (
    STOP,
    atomic_add,
    atomic_load,
    trailing_zeros,
)
from hornbeam.runtime.kernel import kernel, part, routine, step
from hornbeam.runtime.pointers import F8, I4, I8, U1, U8
from hornbeam.runtime.views import Slots, make_loader, width_of

PLACES = 256  # room for codes and missing values
PLACE_WORDS = 5  # bits for these, and for one more place, of rare categories
CUTS = 258  # room for the cuts of a feature, and some to spare
N_GAINS = 2 * CUTS
NO_PART = -math.inf  # gain of a node that a question does not split


class SearchQuestion(Protocol):
    """Search a feature of which ``n_sorted`` categories have places of their own (-1: a number)."""

    def __call__(self, slots: Slots, feature: int, n_sorted: int, rank: int) -> None: ...


class OrderCategories(Protocol):
    """Order the categories of a feature; returns how many have a place of their own."""

    def __call__(self, slots: Slots, feature: int, rank: int) -> int: ...


class CountEntries(Protocol):
    """Count a feature of a sparse table in all nodes."""

    def __call__(self, slots: Slots, feature: int, rank: int) -> None: ...


class SymmetricSteps(NamedTuple):
    """The steps of symmetric trees beside those of `boosting.steps` that they share."""

    search_question: SearchQuestion
    order_categories: OrderCategories | None = None
    count_entries: CountEntries | None = None


class SymmetricBest(NamedTuple):
    """The best question that each thread has found; thread r notes it at [LINE * r]."""

    gain: F8
    extra: F8  # the price of sorting
    feature: I8
    cut: I8
    missing_left: I8
    member: U8  # the codes that go left, 4 words


class SymmetricLevel(NamedTuple):
    """What growing symmetric trees needs beside `state`, for all scores at once.

    Arrays of BoostNodes that hold a gradient, a hessian or a value have one block per score: that
    of node n and score k is at [k * n_nodes + n].
    """

    n_scores: int
    n_nodes: int  # room for nodes
    tile_nodes: int  # nodes that a tile has room for
    tile_places: int
    steps: SymmetricSteps
    penalty: F8  # lambda of each score
    slope: I4  # gradient and hessian of each row: slope[2 * (row * n_scores + score)], and the next
    n_left: I8  # per node: rows that go left by the question of the level
    tile: I8  # per thread: gradients and hessians, tile[2 * (place * n_scores + score)] ...
    held: I8  # ... rows in each place ...
    present: U8  # ... and a bit for each place that has some; of a sparse table for every node
    left: I8  # per thread: gradients and hessians of the left side
    gain: F8  # per thread: what all nodes gain by each cut, with missing values on the right ...
    # ... and, if there are any, on the left
    place_of: I4  # per thread: the place of each code of a category
    key: F8  # per thread: what categories are sorted by ...
    code_at: I4  # ... and the code at each place ...
    may_cut: U1  # ... whether the feature may be cut behind it ...
    price: F8  # ... and the penalty that sorting them adds to lambda, at [LINE * rank]
    absent: U8  # per thread: codes that no node holds, of the feature searched, then of the best
    best: SymmetricBest


LEVEL_AT = width_of(BoostTable, BoostRows, BoostNodes, BoostTeam)
load_level = make_loader(SymmetricLevel)


class Question(NamedTuple):
    """How a feature is asked."""

    feature: int
    n_places: int
    by_place: bool  # places are ranks of categories
    alone: bool  # one category against the rest
    extra: float  # penalty that sorted categories add to lambda
    direction: int  # +1, -1: scores must rise, fall with the feature


@kernel
def pack_score(slots, slopes, which):
    """Round the slopes of one score to integers; no hessian becomes zero."""
    table, level = load_table(slots, TABLE_AT), load_level(slots, LEVEL_AT)
    n_scores, units = level.n_scores, table.units
    for row in range(table.shape.n_rows):
        at = 2 * (row * n_scores + which)
        level.slope[at] = int64(np.rint(slopes[2 * row] * units.gradient_scale))
        hessian = int64(np.rint(slopes[2 * row + 1] * units.hessian_scale))
        level.slope[at + 1] = max(hessian, int64(1))


# --- counting ----------------------------------------------------------------------------


@part
def place_in_tile(table, level, question, code, rank):
    """The place of a code."""
    if question.by_place:
        cell = table.n_codes[question.feature] if code == MISSING else code
        return int64(level.place_of[rank * PLACES + cell])
    return question.n_places - 1 if code == MISSING else code


@part
def count_row(level, slot, place, row):
    """Add a row to its place in a tile."""
    width, at = 2 * level.n_scores, slot * level.tile_places + place
    level.held[at] += 1
    level.present[slot * PLACE_WORDS + (place >> 6)] |= uint64(1) << uint64(place & 63)
    for k in range(width):
        level.tile[at * width + k] += int64(level.slope[row * width + k])


@part
def count_node(table, rows, nodes, level, question, slot, node, rank):
    """Count the rows of a node."""
    n_pages = table.shape.n_pages
    source = int64(nodes.buffer[node]) * table.shape.n_rows
    for page in range(n_pages):
        held, at = page_of(table, page), node * n_pages + page
        column = table.column[question.feature] * held.n_rows - held.start
        for j in range(nodes.first[at], nodes.last[at]):
            row = int64(rows.row[source + j])
            code = own_code(table, question.feature, int64(held.by_column[column + row]))
            count_row(level, slot, place_in_tile(table, level, question, code, rank), row)


@step(CountEntries)
def count_entries(slots, feature, rank):
    """Count a feature of a sparse table, of all nodes in one pass over its entries.

    Its zeros get what remains of each node. There are no categories in sparse tables, so the
    place of a code is the code.
    """
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    team, level = load_team(slots, TEAM_AT), load_level(slots, LEVEL_AT)
    first, n_codes = rank * level.tile_nodes, table.n_codes[feature]
    for page in range(table.shape.n_pages):
        held = page_of(table, page)
        for entry in range(held.column_start[feature], held.column_start[feature + 1]):
            row = held.start + int64(held.column_row[entry])
            index = int64(team.holder[row])
            if index >= 0:
                code = int64(held.column_code[entry])
                count_row(level, first + index, n_codes if code == MISSING else code, row)
    zero = int64(table.default[feature])
    zero = n_codes if zero == MISSING else zero
    for index in range(team.words[WORD_JOBS]):
        node = int64(team.job[index])
        add_zeros(nodes, level, first + index, node, zero, n_codes + 1)


@part
def add_zeros(nodes, level, slot, node, zero, n_places):
    """Give the zeros of a sparse feature what remains of a node."""
    n_scores, n_nodes = level.n_scores, level.n_nodes
    first = slot * level.tile_places
    count = nodes.n_rows[node]
    for place in range(first, first + n_places):
        count -= level.held[place]
    if count == 0:
        return
    level.held[first + zero] += count
    level.present[slot * PLACE_WORDS + (zero >> 6)] |= uint64(1) << uint64(zero & 63)
    for k in range(n_scores):
        gradient, hessian = nodes.gradient[k * n_nodes + node], nodes.hessian[k * n_nodes + node]
        for place in range(first, first + n_places):
            gradient -= level.tile[2 * (place * n_scores + k)]
            hessian -= level.tile[2 * (place * n_scores + k) + 1]
        level.tile[2 * ((first + zero) * n_scores + k)] += gradient
        level.tile[2 * ((first + zero) * n_scores + k) + 1] += hessian


@part
def clear_tile(level, slot):
    """Forget what was counted."""
    width, first = 2 * level.n_scores, slot * level.tile_places
    for word in range(PLACE_WORDS):
        bits = level.present[slot * PLACE_WORDS + word]
        level.present[slot * PLACE_WORDS + word] = uint64(0)
        while bits != 0:
            at = first + (word << 6) + trailing_zeros(bits)
            bits &= bits - uint64(1)
            level.held[at] = 0
            for k in range(width):
                level.tile[at * width + k] = 0


# --- gains ---------------------------------------------------------------------------------


@routine
def objective_before(table, nodes, level, node):
    """Twice by how much a node's own weights lower the objective, summed over scores."""
    rules, units, n_nodes, total = table.rules, table.units, level.n_nodes, 0.0
    for k in range(level.n_scores):
        g = float64(nodes.gradient[k * n_nodes + node]) * units.gradient
        h = float64(nodes.hessian[k * n_nodes + node]) * units.hessian
        penalty = level.penalty[k]
        if rules.is_plain:
            total += g * g / (h + penalty)
        else:
            weight = leaf_weight(rules, g, h, penalty, nodes.lower[node], nodes.upper[node])
            total += leaf_objective(rules, g, h, penalty, weight)
    return total


@routine
def gain_of_node(table, nodes, level, question, node, before, left, at):
    """What a node gains by a split (`search`), summed over scores, less the price of a leaf.

    It is NO_PART if the rules do not let the node be split like that.

    ``left[at:]`` are gradient and hessian (integers) of the left side, score by score.
    """
    rules, units, n_nodes = table.rules, table.units, level.n_nodes
    plain, lower, upper = rules.is_plain, nodes.lower[node], nodes.upper[node]
    after, left_hessian, right_hessian = 0.0, 0.0, 0.0
    for k in range(level.n_scores):
        one, two = left[at + 2 * k], left[at + 2 * k + 1]
        gl, hl = float64(one) * units.gradient, float64(two) * units.hessian
        gr = float64(nodes.gradient[k * n_nodes + node] - one) * units.gradient
        hr = float64(nodes.hessian[k * n_nodes + node] - two) * units.hessian
        penalty = level.penalty[k] + question.extra
        left_hessian += hl
        right_hessian += hr
        if plain:
            after += gl * gl / (hl + penalty) + gr * gr / (hr + penalty)
            continue
        wl = leaf_weight(rules, gl, hl, penalty, lower, upper)
        wr = leaf_weight(rules, gr, hr, penalty, lower, upper)
        if (wl - wr) * question.direction > 0.0:
            return NO_PART
        one_side = leaf_objective(rules, gl, hl, penalty, wl)
        after += one_side + leaf_objective(rules, gr, hr, penalty, wr)  # also if they change sides
    if min(left_hessian, right_hessian) < rules.min_hessian:
        return NO_PART
    return 0.5 * (after - before) - rules.min_gain


@part
def take_left(level, rank, at, afresh):
    """Add a place of a tile to the left side of a cut; returns its rows."""
    width = 2 * level.n_scores
    for k in range(width):
        before = int64(0) if afresh else level.left[rank * width + k]
        level.left[rank * width + k] = before + level.tile[at * width + k]
    return level.held[at]


@part
def spread_gain(level, gain, at, sides, first, last):
    """Add what a node gains to some neighbouring cuts, on one or both sides of missing values.

    Gains are added node by node, the same for every feature, so that questions which part all
    nodes alike gain the same to the last bit.
    """
    if gain == 0.0:
        return
    for side in range(sides):
        for cut in range(at + side * CUTS + first, at + side * CUTS + last):
            level.gain[cut] += gain


@part
def add_gains(table, nodes, level, question, slot, node, before, missing_left, at, sides, rank):
    """Add what a node gains by each cut, its missing values on one side, to ``level.gain[at:]``.

    A node without any has two ``sides`` to add to where another one has some. Between two
    places that the node has rows in nothing changes.
    """
    least, width = table.rules.min_leaf, 2 * level.n_scores
    first, n_cuts = slot * level.tile_places, question.n_places - 1
    n_rows, gain, since = nodes.n_rows[node], 0.0, int64(0)
    n_left = level.held[first + n_cuts] if missing_left else int64(0)
    for k in range(width):
        missing = level.tile[(first + n_cuts) * width + k]
        level.left[rank * width + k] = missing if missing_left else int64(0)
    for word in range(PLACE_WORDS):
        bits = level.present[slot * PLACE_WORDS + word]
        while bits != 0:
            place = (word << 6) + trailing_zeros(bits)
            bits &= bits - uint64(1)
            if place >= n_cuts:
                break
            spread_gain(level, gain, at, sides, since, since + 1 if question.alone else place)
            held = take_left(level, rank, first + place, question.alone)
            n_left = held if question.alone else n_left + held
            gain, since = 0.0, place
            if min(n_left, n_rows - n_left) >= least:
                found = gain_of_node(
                    table, nodes, level, question, node, before, level.left, rank * width
                )
                gain = found if found > NO_PART else 0.0
    spread_gain(level, gain, at, sides, since, since + 1 if question.alone else n_cuts)


# --- categories ----------------------------------------------------------------------------


@part
def note_code(words, at, code):
    """Put a code into a set."""
    words[at + (code >> 6)] |= uint64(1) << uint64(code & 63)


@part
def telling_score(level, slot, n_cells, smooth):
    """The score that differs most between the categories in the tile: they are sorted by it."""
    n_scores, first = level.n_scores, slot * level.tile_places
    best, most = int64(0), -1.0
    for k in range(n_scores):
        spread = 0.0
        for cell in range(n_cells):
            at = 2 * ((first + cell) * n_scores + k)
            gradient, hessian = float64(level.tile[at]), float64(level.tile[at + 1])
            if hessian > 0.0:
                spread += gradient * gradient / (hessian + smooth)
        if spread > most:
            best, most = k, spread
    return best


@part
def sort_places(table, level, slot, n_cells, smooth, rank):
    """Give categories their places, by the gradient over the hessian of the telling score.

    Those of fewer than ``smooth`` rows all get the last place. Returns how many there are.
    """
    n_scores, first, at = level.n_scores, slot * level.tile_places, rank * PLACES
    unit = smooth / table.units.hessian
    score = telling_score(level, slot, n_cells, unit)
    n_sorted = int64(0)
    for cell in range(n_cells):
        level.place_of[at + cell] = -1
        rows = level.held[first + cell]
        if rows == 0 or float64(rows) < smooth:
            continue
        here = 2 * ((first + cell) * n_scores + score)
        key = float64(level.tile[here]) / (float64(level.tile[here + 1]) + unit)
        place = at + n_sorted
        while place > at and level.key[place - 1] > key:
            level.key[place] = level.key[place - 1]
            level.code_at[place] = level.code_at[place - 1]
            place -= 1
        level.key[place] = key
        level.code_at[place] = cell
        n_sorted += 1
    for word in range(MEMBER_WORDS):
        level.absent[2 * rank * MEMBER_WORDS + word] = uint64(0)
    for cell in range(n_cells):
        if level.held[first + cell] == 0:
            note_code(level.absent, 2 * rank * MEMBER_WORDS, cell)
    for place in range(n_sorted):
        level.place_of[at + int64(level.code_at[at + place])] = place
    for cell in range(n_cells):
        if level.place_of[at + cell] < 0:
            level.place_of[at + cell] = n_sorted
    return n_sorted


@part
def mark_cuts(rules, level, first, n_cells, n_present, n_sorted, gentle, rank):
    """Mark behind which places a feature may be cut: all, unless there are many categories."""
    at, n_rows, n_left, n_passed = rank * PLACES, 0.0, 0.0, 0.0
    for cell in range(n_cells):
        n_rows += float64(level.held[first + cell])
    for place in range(n_sorted):
        level.may_cut[at + place] = 1
        if gentle:
            continue
        here = float64(level.held[first + int64(level.code_at[at + place])])
        n_left += here
        n_passed += here
        if n_passed < rules.category_rows:
            level.may_cut[at + place] = 0
            continue
        n_passed = 0.0
        if breaks_limits(rules, place + 1, n_present, n_rows - n_left):
            level.may_cut[at + place] = 0


@step(OrderCategories)
def order_categories(slots, feature, rank):
    """Find the order in which the categories of a feature are parted, the same for all nodes.

    As in `search_category`: few categories need no smoothing and no price; of many, those of
    few rows always go right. Returns how many have a place of their own.
    """
    table, rows = load_table(slots, TABLE_AT), load_rows(slots, ROWS_AT)
    nodes, team = load_nodes(slots, NODES_AT), load_team(slots, TEAM_AT)
    level, rules = load_level(slots, LEVEL_AT), table.rules
    slot, n_cells = rank * level.tile_nodes, table.n_codes[feature] + 1
    whole = Question(feature, n_cells, False, False, 0.0, int64(0))
    for index in range(team.words[WORD_JOBS]):
        node = int64(team.job[index])
        count_node(table, rows, nodes, level, whole, slot, node, rank)
    n_present = int64(0)
    for cell in range(n_cells):
        n_present += level.held[slot * level.tile_places + cell] > 0
    gentle = n_present <= FEW_CATEGORIES or rules.category_rule == ONE_AGAINST_REST
    smooth = 0.0 if gentle else rules.category_smooth
    level.price[LINE * rank] = 0.0 if gentle else rules.category_lambda
    n_sorted = sort_places(table, level, slot, n_cells, smooth, rank)
    mark_cuts(rules, level, slot * level.tile_places, n_cells, n_present, n_sorted, gentle, rank)
    clear_tile(level, slot)
    return n_sorted


# --- the search ----------------------------------------------------------------------------


@part
def note_question(table, level, question, rank, cut, missing_left, some_missing):
    """Note the best question of a thread so far."""
    best, at, words = level.best, LINE * rank, rank * MEMBER_WORDS
    best.extra[at] = question.extra
    best.feature[at] = question.feature
    best.cut[at] = cut
    best.missing_left[at] = missing_left if some_missing else UNKNOWN
    if not question.by_place:
        return
    n_codes = table.n_codes[question.feature]
    for word in range(MEMBER_WORDS):
        best.member[words + word] = uint64(0)
        level.absent[2 * words + MEMBER_WORDS + word] = level.absent[2 * words + word]
    for cell in range(n_codes + 1):
        place = int64(level.place_of[rank * PLACES + cell])
        if place == cut or (place < cut and not question.alone):
            note_code(best.member, words, cell)
    word, bit = n_codes >> 6, uint64(n_codes & 63)  # of missing values
    if (level.absent[2 * words + word] >> bit) & uint64(1) == 0:
        best.missing_left[at] = int64((best.member[words + word] >> bit) & uint64(1))


@step(SearchQuestion)
def search_question(slots, feature, n_sorted, rank):
    """Add up what all nodes gain by each cut of a feature, and note the best one.

    ``n_sorted`` categories have places of their own (-1: it is a number).
    """
    table, rows = load_table(slots, TABLE_AT), load_rows(slots, ROWS_AT)
    nodes, team = load_nodes(slots, NODES_AT), load_team(slots, TEAM_AT)
    level, sparse = load_level(slots, LEVEL_AT), table.shape.is_sparse
    best = level.best
    by_place = n_sorted >= 0
    alone = by_place and table.rules.category_rule == ONE_AGAINST_REST
    n_places = n_sorted + 1 if by_place else table.n_codes[feature] + 1
    extra = level.price[LINE * rank] if by_place else 0.0
    direction = int64(0) if by_place else table.monotone[feature]
    question = Question(feature, n_places, by_place, alone, extra, direction)
    first, at = rank * level.tile_nodes, rank * N_GAINS
    for cut in range(N_GAINS):
        level.gain[at + cut] = 0.0
    some_missing = False
    if sparse:
        level.steps.count_entries(slots, feature, rank)
    for index in range(team.words[WORD_JOBS]):
        node, slot = int64(team.job[index]), first + (index if sparse else 0)
        if not sparse:
            count_node(table, rows, nodes, level, question, slot, node, rank)
        before = objective_before(table, nodes, level, node)
        missing = level.held[slot * level.tile_places + n_places - 1]
        two_ways = missing > 0 and not by_place
        if two_ways and not some_missing:
            some_missing = True
            for cut in range(at, at + CUTS):
                level.gain[cut + CUTS] = level.gain[cut]
        sides = int64(2 if some_missing and not two_ways else 1)
        for side in range(2 if two_ways else 1):
            gains = at + side * CUTS
            add_gains(table, nodes, level, question, slot, node, before, side, gains, sides, rank)
        clear_tile(level, slot)
    for side in range(2 if some_missing else 1):
        for cut in range(n_places - 1):
            if by_place and not level.may_cut[rank * PLACES + cut]:
                continue
            gain = level.gain[at + side * CUTS + cut]
            if gain > best.gain[LINE * rank]:
                best.gain[LINE * rank] = gain
                note_question(table, level, question, rank, cut, side, some_missing)


@step(ScanSums)
def search_level(slots, at, rank, size):
    """Search the features that the level may ask, one by one as threads are free."""
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    team, level = load_team(slots, at), load_level(slots, LEVEL_AT)
    before = 0.0
    for index in range(team.words[WORD_JOBS]):
        before += abs(objective_before(table, nodes, level, int64(team.job[index])))
    level.best.gain[LINE * rank] = GAIN_NOISE * before  # to be exceeded
    level.best.feature[LINE * rank] = -1
    while True:
        k = atomic_add(team.words, WORD_SEARCH, 1)
        if k >= table.draw.n_active or atomic_load(team.words, STOP) != 0:
            return
        feature = int64(team.active[k])
        if not team.may_ask[feature]:
            continue
        n_sorted = int64(-1)
        if table.is_category[feature]:
            n_sorted = level.steps.order_categories(slots, feature, rank)
        level.steps.search_question(slots, feature, n_sorted, rank)


@part
def best_thread(best, size):
    """Who has found the best question: largest gain, then smallest feature; -1: nobody."""
    chosen = int64(-1)
    for rank in range(size):
        feature = best.feature[LINE * rank]
        if feature < 0:
            continue
        if chosen >= 0:
            gain, most = best.gain[LINE * rank], best.gain[LINE * chosen]
            if gain < most or (gain == most and feature > best.feature[LINE * chosen]):
                continue
        chosen = int64(rank)
    return chosen


# --- a level ---------------------------------------------------------------------------------


@part
def put_question(nodes, best, node, chosen):
    """Write a question into a node."""
    nodes.feature[node] = best.feature[LINE * chosen]
    nodes.cut[node] = best.cut[LINE * chosen]
    nodes.missing_left[node] = best.missing_left[LINE * chosen]
    for word in range(MEMBER_WORDS):
        nodes.member[node * MEMBER_WORDS + word] = best.member[chosen * MEMBER_WORDS + word]


@part
def weigh_node(table, rows, nodes, team, level, question, node):
    """Part the rows of a node, and note its left side and what it gains."""
    n_pages, width = table.shape.n_pages, 2 * level.n_scores
    n_left = part_alone(table, rows, nodes, team, node)
    level.n_left[node] = n_left
    nodes.gain[node] = NO_PART
    for k in range(width):
        level.left[k] = 0
    target = (1 - int64(nodes.buffer[node])) * table.shape.n_rows
    for at in range(node * n_pages, (node + 1) * n_pages):
        for j in range(target + nodes.first[at], target + nodes.middle[at]):
            row = int64(rows.row[j]) * width
            for k in range(width):
                level.left[k] += int64(level.slope[row + k])
    if min(n_left, nodes.n_rows[node] - n_left) < table.rules.min_leaf:
        return
    before = objective_before(table, nodes, level, node)
    gain = gain_of_node(table, nodes, level, question, node, before, level.left, int64(0))
    nodes.gain[node] = gain
    for k in range(level.n_scores):
        at = k * level.n_nodes + node
        nodes.left_gradient[at], nodes.left_hessian[at] = level.left[2 * k], level.left[2 * k + 1]


@part
def make_side(table, nodes, level, question, parent, node, is_left):
    """One child of a node: its rows, its sums, values and bounds."""
    units, n_nodes = table.units, level.n_nodes
    take_rows(table, nodes, parent, node, level.n_left[parent], is_left)
    nodes.depth[node] = nodes.depth[parent] + 1
    nodes.lower[node], nodes.upper[node] = nodes.lower[parent], nodes.upper[parent]
    make_leaf(table, nodes, node)
    for k in range(level.n_scores):
        at, above = k * n_nodes + node, k * n_nodes + parent
        gradient, hessian = nodes.left_gradient[above], nodes.left_hessian[above]
        if not is_left:
            gradient, hessian = nodes.gradient[above] - gradient, nodes.hessian[above] - hessian
        nodes.gradient[at], nodes.hessian[at] = gradient, hessian
        g, h = float64(gradient) * units.gradient, float64(hessian) * units.hessian
        penalty = level.penalty[k] + question.extra
        nodes.value[at] = leaf_weight(
            table.rules, g, h, penalty, nodes.lower[node], nodes.upper[node]
        )


@part
def take_absent_left(nodes, team, level, chosen):
    """Categories that no node holds go where most rows go."""
    n_rows, n_left = int64(0), int64(0)
    for index in range(team.words[WORD_JOBS]):
        node = int64(team.job[index])
        n_rows += nodes.n_rows[node]
        n_left += level.n_left[node]
    if 2 * n_left < n_rows:
        return
    for index in range(team.words[WORD_JOBS]):
        node = int64(team.job[index])
        for word in range(MEMBER_WORDS):
            absent = level.absent[(2 * chosen + 1) * MEMBER_WORDS + word]
            nodes.member[node * MEMBER_WORDS + word] |= absent


@part
def split_node(table, nodes, team, level, question, node):
    """Make the children of a node that takes part."""
    left = team.words[WORD_NODES]
    team.words[WORD_NODES] += 2
    team.words[WORD_LEAVES] += 1
    count, n_left = nodes.n_rows[node], level.n_left[node]
    if nodes.missing_left[node] == UNKNOWN:
        nodes.missing_left[node] = 2 * n_left >= count
    nodes.child[node] = left
    for side in range(2):
        make_side(table, nodes, level, question, node, left + side, side == 0)
        wait_for_question(table, nodes, team, left + side)
    if question.direction != 0:
        border = 0.5 * (nodes.value[left] + nodes.value[left + 1])
        rises = question.direction > 0
        nodes.upper[left if rises else left + 1] = border
        nodes.lower[left + 1 if rises else left] = border


@part
def split_nodes(table, nodes, team, level, question):
    """Split the nodes that take part, those that gain most if not all may be split."""
    words, n_open = team.words, team.words[WORD_JOBS]
    takers = int64(0)
    for index in range(n_open):
        takers += nodes.gain[int64(team.job[index])] > NO_PART
    room = table.rules.max_leaves - words[WORD_LEAVES]
    for _ in range(takers - room):  # leave out the one that gains least, the youngest of equals
        worst = int64(-1)
        for index in range(n_open):
            node = int64(team.job[index])
            if nodes.gain[node] > NO_PART and (worst < 0 or nodes.gain[node] <= nodes.gain[worst]):
                worst = node
        nodes.gain[worst] = NO_PART
    for index in range(n_open):
        node = int64(team.job[index])
        if nodes.gain[node] > NO_PART:
            split_node(table, nodes, team, level, question, node)
        else:
            nodes.feature[node] = -1
            wait_for_question(table, nodes, team, node)


@part
def wait_for_question(table, nodes, team, node):
    """Put a leaf on the frontier, if it is large enough to take part in a question."""
    if nodes.n_rows[node] >= max(int64(2), 2 * table.rules.min_leaf):
        push(team.frontier, team.words, node, nodes.depth[node], 0.0)


@part
def label_rows(table, rows, nodes, team):
    """Note which open node holds each row of a sparse table."""
    n_rows, n_pages = table.shape.n_rows, table.shape.n_pages
    for row in range(n_rows):
        team.holder[row] = -1
    for index in range(team.words[WORD_JOBS]):
        node = int64(team.job[index])
        source = int64(nodes.buffer[node]) * n_rows
        for at in range(node * n_pages, (node + 1) * n_pages):
            for j in range(nodes.first[at], nodes.last[at]):
                team.holder[rows.row[source + j]] = index


@part
def plant(table, rows, nodes, team, level):
    """The root: all drawn rows."""
    units = table.units
    width, root, n_drawn = 2 * level.n_scores, int64(0), int64(0)
    for k in range(width):
        level.left[k] = 0
    for page in range(table.shape.n_pages):
        if not table.rules.draws_rows:
            nodes.first[page], nodes.last[page] = table.border[page], table.border[page + 1]
            for row in range(nodes.first[page], nodes.last[page]):
                rows.row[row] = row
        for j in range(nodes.first[page], nodes.last[page]):
            row = int64(rows.row[j]) * width
            for k in range(width):
                level.left[k] += int64(level.slope[row + k])
        n_drawn += nodes.last[page] - nodes.first[page]
    team.words[WORD_DRAWN] = nodes.n_rows[0] = n_drawn
    nodes.buffer[0] = nodes.depth[0] = 0
    nodes.lower[0], nodes.upper[0] = -math.inf, math.inf
    make_leaf(table, nodes, root)
    for k in range(level.n_scores):
        at = k * level.n_nodes
        nodes.gradient[at], nodes.hessian[at] = level.left[2 * k], level.left[2 * k + 1]
        g = float64(nodes.gradient[at]) * units.gradient
        h = float64(nodes.hessian[at]) * units.hessian
        nodes.value[at] = 0.0
        if h + level.penalty[k] > 0.0:
            nodes.value[at] = leaf_weight(table.rules, g, h, level.penalty[k], -math.inf, math.inf)
    for group in range(table.shape.n_groups):
        nodes.groups[group] = 1
    for k in range(table.draw.n_active):
        team.may_ask[int64(team.active[k])] = 1
    team.words[WORD_NODES] = team.words[WORD_LEAVES] = 1
    wait_for_question(table, nodes, team, root)


@step(TakeNodes)
def take_level(slots, at, size):
    """Take all nodes that can take part in the next question, and the features it may ask.

    Features are drawn for the level as for a node; its number is the depth, since there is
    always a node of that number.
    """
    table, rows = load_table(slots, TABLE_AT), load_rows(slots, ROWS_AT)
    nodes, team = load_nodes(slots, NODES_AT), load_team(slots, at)
    words, n_open = team.words, int64(0)
    if words[WORD_MODE] == PLANTING:
        plant(table, rows, nodes, team, load_level(slots, LEVEL_AT))
        words[WORD_MODE] = SEARCHING
    if atomic_load(words, STOP) != 0:
        return STOPPED
    while words[WORD_WAITING] > 0:
        team.job[n_open] = pop(team.frontier, words)
        n_open += 1
    words[WORD_JOBS] = n_open
    words[WORD_SEARCH] = 0
    depth = words[WORD_DEPTH]
    if (
        n_open == 0
        or words[WORD_LEAVES] >= table.rules.max_leaves
        or depth >= table.rules.max_depth
    ):
        return FINISHED
    if table.shape.is_sparse:
        label_rows(table, rows, nodes, team)
    if table.rules.draws_features:
        kept = nodes.depth[depth]
        nodes.depth[depth] = depth
        table.steps.choose_features(slots, depth, 0)
        nodes.depth[depth] = kept
    return TOGETHER


@step(SettleSplits)
def ask(slots, at, size):
    """Ask the best question that was found; without one nobody waits for another."""
    table, rows = load_table(slots, TABLE_AT), load_rows(slots, ROWS_AT)
    nodes, team = load_nodes(slots, NODES_AT), load_team(slots, at)
    level, n_groups = load_level(slots, LEVEL_AT), table.shape.n_groups
    best, first = level.best, int64(team.job[0])
    chosen = best_thread(best, size)
    if chosen < 0:
        return
    depth = team.words[WORD_DEPTH]
    team.words[WORD_DEPTH] = depth + 1
    feature = best.feature[LINE * chosen]
    direction = int64(0) if table.is_category[feature] else table.monotone[feature]
    extra = best.extra[LINE * chosen]
    question = Question(feature, int64(0), False, False, extra, direction)
    for index in range(team.words[WORD_JOBS]):
        put_question(nodes, best, int64(team.job[index]), chosen)
    table.steps.mark_sides(slots, first)
    if table.shape.is_sparse:
        spread_column(table, team, feature)
    for index in range(team.words[WORD_JOBS]):
        weigh_node(table, rows, nodes, team, level, question, int64(team.job[index]))
    if table.is_category[feature]:
        take_absent_left(nodes, team, level, chosen)
    split_nodes(table, nodes, team, level, question)
    for group in range(n_groups):  # those of the next question, see `take_level`
        held = table.groups[group * table.shape.n_features + feature]
        here = depth * n_groups + group
        nodes.groups[here + n_groups] = nodes.groups[here] & held


PACK_SIGNATURE = types.void(types.Array(int64, 1, "C"), types.Array(float32, 1, "C"), int64)

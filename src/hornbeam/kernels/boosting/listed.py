"""Exact and approximate split finding along sorted lists of rows (sources 002, sections 3 and 4.1).

The column block of a feature lists the rows with a known value, smallest value first. A node has
a stretch of every list: that of its parent, parted without changing the order. So the best cut of
a node is found by going along its stretches once, with the sums of what lies behind::

    entry = row + DISTINCT (its value is not that of the entry before)
                + CANDIDATE (the approximate algorithm may cut before it)

The marks of entries that go to the other side pass on to the next one that stays. Rows that are
not listed have a missing value, or in a sparse table a zero, which then lies between the negative
and the positive entries; missing values are listed behind these.

    take      flag the sides of a node's rows, part its rows     one thread, or all by chunks
    scan      part the lists, search both children               all threads, feature by feature
"""

from __future__ import annotations

from typing import NamedTuple

from numba import float64, int64

from hornbeam.kernels.boosting.grow import expect_more_than
from hornbeam.kernels.boosting.nodes import make_children, may_split
from hornbeam.kernels.boosting.search import (
    amount_to_beat,
    described,
    may_beat,
    note_number,
    place_of_search,
    try_cut,
)
from hornbeam.kernels.boosting.state import (
    ALL_HELD,
    COUNTED,
    HELD_ROOM,
    NODES_AT,
    PLANTING,
    ROWS_AT,
    TABLE_AT,
    TEAM_AT,
    UNKNOWN,
    WORD_BUILD,
    WORD_BUILD_SLOT,
    WORD_DRAWN,
    WORD_HOW,
    WORD_MODE,
    WORD_NODE,
    WORD_OTHER,
    WORD_SEARCH,
    WORD_SECOND,
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
from hornbeam.kernels.boosting.steps import (
    CountHeld,
    PlanBuild,
    PrepareSparse,
    SettleSplit,
)
from hornbeam.kernels.boosting.walk import rank_at
from hornbeam.kernels.driver import ScanSums
from hornbeam.runtime.atomics import STOP, atomic_add, atomic_load, atomic_store
from hornbeam.runtime.kernel import kernel, part, step
from hornbeam.runtime.pointers import F8, I4, I8
from hornbeam.runtime.views import make_loader, width_of

DISTINCT = 1 << 30
CANDIDATE = 1 << 29
ROW_MASK = CANDIDATE - 1
BOTH = DISTINCT | CANDIDATE
STRETCH = 256  # entries whose cuts are first looked at together
NEVER, PER_TREE, PER_NODE = range(3)


class SortedLists(NamedTuple):
    """The lists of all features, three times: as they were made, and for nodes in turn."""

    sorted: I4  # all rows, smallest value first, by feature
    start: I8  # the entries of feature f are start[f] .. start[f + 1]
    zero_at: I4  # of these: as zero and known of the nodes
    known_at: I4
    entry: I4  # those of nodes: entry[buffer * n_entries + ...]
    buffer: I4  # per node: 0 or 1; -1: the lists as they were made
    first: I4  # per node and feature, less start: the negative entries of a sparse table ...
    zero: I4  # ... then the others ...
    known: I4  # ... then missing values
    last: I4
    gradient: F8  # per thread: sums left of each entry of a stretch
    hessian: F8
    n_entries: int
    mark: int  # DISTINCT or CANDIDATE: before which entries a node may be cut
    proposes: int  # candidates: NEVER, PER_TREE, PER_NODE
    n_buckets: float  # one over eps
    lists_zeros: bool  # rows that are not listed are missing; False: they have a zero


LISTS_AT = width_of(BoostTable, BoostRows, BoostNodes, BoostTeam)
load_lists = make_loader(SortedLists)


@kernel
def list_rows(codes, starts, entry):
    """List the rows by their code (-1: missing, not listed); ``starts`` is where each code begins.

    It ends as where each code ends.
    """
    for row in range(codes.size):
        code = codes[row]
        if code >= 0:
            place = starts[code]
            entry[place] = row
            starts[code] = place + 1
    for code in range(starts.size):
        place = starts[code - 1] if code > 0 else 0
        if place < entry.size:
            entry[place] |= BOTH


# --- where lists are ------------------------------------------------------------------------


@part
def entries_of(lists, node):
    """The array that holds the lists of a node, and where they begin in it."""
    buffer = int64(lists.buffer[node])
    if buffer < 0:
        return lists.sorted, int64(0)
    return lists.entry, buffer * lists.n_entries


@part
def sum_entries(table, rows, entry, first, last):
    """Gradients and hessians of some entries."""
    lane = table.units.lane
    mask = (int64(1) << lane) - 1
    gradient, hessian = int64(0), int64(0)
    for i in range(first, last):
        word = rows.word[int64(entry[i]) & ROW_MASK]
        gradient += word >> lane
        hessian += word & mask
    return gradient, hessian


# --- part lists -----------------------------------------------------------------------------


@part
def count_side(team, entry, first, last):
    """How many of some entries go left."""
    n_left = int64(0)
    for i in range(first, last):
        n_left += int64(team.column[int64(entry[i]) & ROW_MASK])
    return n_left


@part
def move_entries(team, entry, first, last, out, left, right):
    """Part some entries, each side in its order; returns where the sides go on."""
    left_marks, right_marks = int64(0), int64(0)
    for i in range(first, last):
        here = int64(entry[i])
        row, marks = here & ROW_MASK, here & BOTH
        left_marks |= marks
        right_marks |= marks
        goes = team.column[row] != 0
        out[left if goes else right] = row | (left_marks if goes else right_marks)
        left_marks = int64(0) if goes else left_marks
        right_marks = right_marks if goes else int64(0)
        left += int64(goes)
        right += int64(not goes)
    return left, right


@part
def keep_entries(team, entry, first, last, out, place):
    """Copy the entries of drawn rows; returns where they end."""
    pending = int64(0)
    for i in range(first, last):
        here = int64(entry[i])
        pending |= here & BOTH
        if team.column[here & ROW_MASK] != 0:
            out[place] = (here & ROW_MASK) | pending
            pending = int64(0)
            place += 1
    return place


@part
def lay_out_list(team, lists, feature):
    """The list of the root: that of all rows, or a copy with the drawn ones."""
    at, n_all = lists.start[feature], lists.start[feature + 1] - lists.start[feature]
    zero, known = int64(lists.zero_at[feature]), int64(lists.known_at[feature])
    lists.first[feature] = 0
    if lists.buffer[0] < 0:
        lists.zero[feature], lists.known[feature] = zero, known
        lists.last[feature] = n_all
        return
    out, entry = lists.entry, lists.sorted
    place = keep_entries(team, entry, at, at + zero, out, at)
    lists.zero[feature] = place - at
    place = keep_entries(team, entry, at + zero, at + known, out, place)
    lists.known[feature] = place - at
    place = keep_entries(team, entry, at + known, at + n_all, out, place)
    lists.last[feature] = place - at


@part
def part_list(table, nodes, team, lists, node, feature):
    """Part the stretch of a node between its children."""
    n_features = table.shape.n_features
    left, at = int64(nodes.child[node]), node * n_features + feature
    entry, base = entries_of(lists, node)
    base += lists.start[feature]
    first, zero = base + int64(lists.first[at]), base + int64(lists.zero[at])
    known, last = base + int64(lists.known[at]), base + int64(lists.last[at])
    negative, positive, missing = int64(0), int64(0), int64(0)
    if last - first == nodes.n_rows[node] and zero == first and known == last:
        positive = nodes.n_rows[left]
    else:
        negative = count_side(team, entry, first, zero)
        positive = count_side(team, entry, zero, known)
        missing = count_side(team, entry, known, last)
    origin = int64(lists.buffer[left]) * lists.n_entries + lists.start[feature]
    begin = origin + int64(lists.first[at])
    middle = begin + negative + positive + missing
    one, other = begin, middle
    one, other = move_entries(team, entry, first, zero, lists.entry, one, other)
    note_zero(lists, left * n_features + feature, begin - origin, one - origin)
    note_zero(lists, (left + 1) * n_features + feature, middle - origin, other - origin)
    one, other = move_entries(team, entry, zero, known, lists.entry, one, other)
    lists.known[left * n_features + feature] = one - origin
    lists.known[(left + 1) * n_features + feature] = other - origin
    one, other = move_entries(team, entry, known, last, lists.entry, one, other)
    lists.last[left * n_features + feature] = one - origin
    lists.last[(left + 1) * n_features + feature] = other - origin


@part
def note_zero(lists, at, first, zero):
    """Note where a stretch begins, and where its zeros are."""
    lists.first[at] = first
    lists.zero[at] = zero


# --- candidates -----------------------------------------------------------------------------


@part
def mark_bucket(table, rows, entry, first, last, scale, before, bucket):
    """Mark where the hessian to the left passes a multiple of eps; see `propose`."""
    lane = table.units.lane
    mask = (int64(1) << lane) - 1
    for i in range(first, last):
        here = int64(entry[i])
        marked = here & ~int64(CANDIDATE)
        if here & DISTINCT:
            now = int64(float64(before) * scale)
            if now != bucket:
                marked |= CANDIDATE
            bucket = now
        entry[i] = marked
        before += rows.word[here & ROW_MASK] & mask
    return before, bucket


@part
def propose(table, rows, nodes, lists, node, feature):
    """Mark candidates: values that begin a new bucket of the hessian to the left of them.

    r(x) is the share of the hessian of the known values below x (equation 8 of source 002). Values
    with the same floor(r(x) / eps) are a bucket, so less than eps lies in each but for its last
    value. No sketch is closer: the lists are sorted, and integers are added up.
    """
    at = node * table.shape.n_features + feature
    entry, base = entries_of(lists, node)
    base += lists.start[feature]
    first, zero = base + int64(lists.first[at]), base + int64(lists.zero[at])
    known, last = base + int64(lists.known[at]), base + int64(lists.last[at])
    _, total = sum_entries(table, rows, entry, first, known)
    _, missing = sum_entries(table, rows, entry, known, last)
    zeros = int64(0)
    if not lists.lists_zeros:
        zeros = nodes.hessian[node] - total - missing
        total += zeros
    scale = lists.n_buckets / max(1.0, float64(total))
    before, bucket = mark_bucket(table, rows, entry, first, zero, scale, int64(0), int64(-1))
    mark_bucket(table, rows, entry, zero, known, scale, before + zeros, bucket)


# --- search ---------------------------------------------------------------------------------


@part
def some_may_beat_here(lists, node, at, count, penalty, to_beat):
    """Whether any cut of a stretch can be better than the best so far: vector code."""
    found = int64(0)
    for j in range(count):
        gradient, hessian = lists.gradient[at + j], lists.hessian[at + j]
        found |= int64(may_beat(node, gradient, hessian, penalty, to_beat))
    return found != 0


@part
def fill_prefix(table, rows, lists, entry, first, last, at, left):
    """The sums left of each entry of a stretch; returns those left of its end."""
    lane = table.units.lane
    mask = (int64(1) << lane) - 1
    gradient, hessian = left
    for i in range(first, last):
        lists.gradient[at + i - first] = float64(gradient)
        lists.hessian[at + i - first] = float64(hessian)
        word = rows.word[int64(entry[i]) & ROW_MASK]
        gradient += word >> lane
        hessian += word & mask
    return gradient, hessian


@part
def judge_here(table, team, node, place, feature, left, n_left, n_rows, to_beat):
    """Whether the cut behind these rows is the best so far, and what must be beaten from now on."""
    least = table.rules.min_leaf
    if n_left < least or n_rows - n_left < least:
        return False, to_beat
    if left[1] < node.enough or node.hessian - left[1] < node.enough:
        return False, to_beat
    penalty = table.penalty
    plain = table.rules.is_plain
    if plain and not may_beat(node, left[0], left[1], penalty / table.units.hessian, to_beat):
        return False, to_beat
    direction = table.monotone[feature]
    is_best = try_cut(table, team.best, place, feature, direction, penalty, node, left)
    if is_best:
        to_beat = amount_to_beat(table, team.best, place, node)
    return is_best, to_beat


@part
def go_along(
    table, rows, team, lists, node, place, feature, entry, span, left, n_left, n_rows, side, rank,
    to_beat,
):  # fmt: skip
    """Try the cuts before the entries of a stretch that are marked; returns the sums behind it.

    The first entry of the span is not cut before.
    """
    lane, penalty = table.units.lane, table.penalty / table.units.hessian
    mask, at = (int64(1) << lane) - 1, STRETCH * rank
    first, stop = span
    held = page_of(table, 0)
    plain = table.rules.is_plain
    for start in range(first, stop, STRETCH):
        end = min(start + STRETCH, stop)
        behind = fill_prefix(table, rows, lists, entry, start, end, at, left)
        if plain and not some_may_beat_here(lists, node, at, end - start, penalty, to_beat):
            left = behind
            n_left += end - start
            continue
        for i in range(start, end):
            here = int64(entry[i])
            if (here & lists.mark) != 0 and i > first:
                is_best, to_beat = judge_here(
                    table, team, node, place, feature, left, n_left, n_rows, to_beat
                )
                if is_best:
                    code = rank_at(table, held, int64(entry[i - 1]) & ROW_MASK, feature)
                    note_number(team.best, place, feature, code, side)
            word = rows.word[here & ROW_MASK]
            left = (left[0] + (word >> lane), left[1] + (word & mask))
            n_left += 1
    return left, n_left, to_beat


@part
def search_list(table, rows, nodes, team, lists, which, feature, rank):
    """Search a number for the best cut, with its missing values on the right, then on the left."""
    number = team.words[WORD_OTHER if which else WORD_BUILD]
    place = place_of_search(rank, which)
    node = described(team, place)
    n_rows = nodes.n_rows[number]
    at = number * table.shape.n_features + feature
    entry, base = entries_of(lists, number)
    base += lists.start[feature]
    first, zero = base + int64(lists.first[at]), base + int64(lists.zero[at])
    known, last = base + int64(lists.known[at]), base + int64(lists.last[at])
    held = page_of(table, 0)
    n_zeros, n_missing = int64(0), last - known
    if lists.lists_zeros:
        n_missing += n_rows - (last - first)
    else:
        n_zeros = n_rows - (last - first)
    zeros, missing = (int64(0), int64(0)), (int64(0), int64(0))
    if n_zeros > 0 or n_missing > 0:
        some = sum_entries(table, rows, entry, first, known)
        rest = (node.gradient - some[0], node.hessian - some[1])
        if lists.lists_zeros:
            missing = rest
        else:
            missing = sum_entries(table, rows, entry, known, last)
            zeros = (rest[0] - missing[0], rest[1] - missing[1])
    to_beat = amount_to_beat(table, team.best, place, node)
    for missing_left in range(2 if n_missing > 0 else 1):
        left, n_left = (int64(0), int64(0)), int64(0)
        if missing_left:
            left, n_left = missing, n_missing
        side = missing_left if n_missing > 0 else UNKNOWN
        for section in range(3):  # negative entries, zeros, other entries
            begin = first if section == 0 else zero
            end = zero if section == 0 else known
            n_here = n_zeros if section == 1 else end - begin
            if n_here == 0:
                continue
            if section == 1:
                left = (left[0] + zeros[0], left[1] + zeros[1])
                n_left += n_zeros
            else:
                left, n_left, to_beat = go_along(
                    table, rows, team, lists, node, place, feature, entry, (begin, end), left,
                    n_left, n_rows, side, rank, to_beat,
                )  # fmt: skip
            # behind the last known value, a cut parts known from missing values
            is_last = section == 2 or (section == 1 and known == zero)
            is_last |= section == 0 and known == zero and n_zeros == 0
            if is_last and (n_missing == 0 or missing_left):
                continue
            is_best, to_beat = judge_here(
                table, team, node, place, feature, left, n_left, n_rows, to_beat
            )
            if is_best:
                code = int64(table.default[feature])
                if section != 1:
                    code = rank_at(table, held, int64(entry[end - 1]) & ROW_MASK, feature)
                note_number(team.best, place, feature, code, side)


@step(CountHeld)
def count_category(slots, node, feature, rank):
    """Count gradients, hessians and rows of a node for each category of a feature."""
    table, rows = load_table(slots, TABLE_AT), load_rows(slots, ROWS_AT)
    nodes, team = load_nodes(slots, NODES_AT), load_team(slots, TEAM_AT)
    held, lane, n_codes = page_of(table, 0), table.units.lane, table.n_codes[feature]
    mask, n_cells = (int64(1) << lane) - 1, table.shape.n_cells
    start = 2 * rank * n_cells + table.cell_start[feature]
    for code in range(n_codes + 1):
        team.cells[start + code] = team.cells[start + n_cells + code] = 0
        team.held[HELD_ROOM * rank + code] = 0
    offset = int64(nodes.buffer[node]) * table.shape.n_rows
    for j in range(nodes.first[node], nodes.last[node]):
        row = int64(rows.row[offset + j])
        code = int64(held.rank[feature * held.n_rows + row])
        code = n_codes if code < 0 else code
        word = rows.word[row]
        team.cells[start + code] += word >> lane
        team.cells[start + n_cells + code] += word & mask
        team.held[HELD_ROOM * rank + code] += 1
    team.held[HELD_ROOM * rank + ALL_HELD] = nodes.n_rows[node]


# --- steps ----------------------------------------------------------------------------------


@step(ScanSums)
def search_lists(slots, at, rank, size):
    """Part the lists of a node between its children and search both, feature by feature."""
    table, rows = load_table(slots, TABLE_AT), load_rows(slots, ROWS_AT)
    nodes, team = load_nodes(slots, NODES_AT), load_team(slots, at)
    lists, words, steps = load_lists(slots, LISTS_AT), team.words, table.steps
    build, other = words[WORD_BUILD], words[WORD_OTHER]
    if words[WORD_MODE] == PLANTING or (build < 0 and other < 0):
        return
    is_root = build == 0
    expect_more_than(table, nodes, team, place_of_search(rank, 0), max(build, int64(0)))
    expect_more_than(table, nodes, team, place_of_search(rank, 1), max(other, int64(0)))
    while True:
        k = atomic_add(words, WORD_SEARCH, 1)
        if k >= table.draw.n_active or atomic_load(words, STOP) != 0:
            return
        feature = int64(team.active[k])
        is_category = table.is_category[feature] != 0
        if not is_category:
            if is_root:
                lay_out_list(team, lists, feature)
            else:
                part_list(table, nodes, team, lists, words[WORD_NODE], feature)
            if is_root and lists.proposes == PER_TREE:
                propose(table, rows, nodes, lists, build, feature)
        for which in range(2):
            node = other if which else build
            if node < 0:
                continue
            if not is_category and lists.proposes == PER_NODE:
                propose(table, rows, nodes, lists, node, feature)
            if not team.may_ask[which * table.shape.n_features + feature]:
                continue
            if is_category:
                steps.count_held(slots, node, feature, rank)
                steps.search_category(slots, which, rank, feature, rank)
            else:
                search_list(table, rows, nodes, team, lists, which, feature, rank)


@part
def plan_root(table, rows, team, lists):
    """Lists of drawn rows, or those that get marks, are copies."""
    n_drawn, n_rows = team.words[WORD_DRAWN], table.shape.n_rows
    is_copy = n_drawn < n_rows or lists.proposes != NEVER
    lists.buffer[0] = 0 if is_copy else -1
    if is_copy:
        for row in range(n_rows):
            team.column[row] = 0
        for place in range(n_drawn):
            team.column[int64(rows.row[place])] = 1


@step(PlanBuild)
def plan_lists(slots, size):
    """Set the stage for searching WORD_BUILD and WORD_OTHER."""
    table, rows = load_table(slots, TABLE_AT), load_rows(slots, ROWS_AT)
    team, lists = load_team(slots, TEAM_AT), load_lists(slots, LISTS_AT)
    words = team.words
    if words[WORD_BUILD] == 0:
        plan_root(table, rows, team, lists)
    atomic_store(words, WORD_SEARCH, 0)
    words[WORD_HOW], words[WORD_BUILD_SLOT] = COUNTED, 0
    if table.rules.draws_features:
        for which in range(2):
            node = words[WORD_OTHER] if which else words[WORD_BUILD]
            if node >= 0:
                table.steps.choose_features(slots, node, which)


@step(SettleSplit)
def settle_listed(slots, node, n_left, size):
    """Make the children of a node; rows were counted, so neither has too few."""
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    team, lists = load_team(slots, TEAM_AT), load_lists(slots, LISTS_AT)
    words = team.words
    left = make_children(table, nodes, team, node, n_left)
    buffer = 1 if lists.buffer[node] == 0 else 0
    lists.buffer[left] = lists.buffer[left + 1] = buffer
    words[WORD_BUILD] = left if may_split(table, nodes, team, left) else int64(-1)
    words[WORD_OTHER] = left + 1 if may_split(table, nodes, team, left + 1) else int64(-1)
    words[WORD_SECOND] = -1
    table.steps.plan_build(slots, size)


@step(PrepareSparse)
def flag_sides(slots, node, size):
    """Write to which side every row of a node goes."""
    table, rows = load_table(slots, TABLE_AT), load_rows(slots, ROWS_AT)
    nodes, team = load_nodes(slots, NODES_AT), load_team(slots, TEAM_AT)
    lists, held = load_lists(slots, LISTS_AT), page_of(table, 0)
    feature, column = int64(nodes.feature[node]), team.column
    offset = int64(nodes.buffer[node]) * table.shape.n_rows
    begin, end = nodes.first[node], nodes.last[node]
    missing = int64(nodes.missing_left[node] == 1)
    if table.is_category[feature]:
        for j in range(begin, end):
            row = int64(rows.row[offset + j])
            code = int64(held.rank[feature * held.n_rows + row])
            column[row] = missing if code < 0 else int64(team.goes_left[code])
    else:
        cut, at = int64(nodes.cut[node]), node * table.shape.n_features + feature
        usual = missing if lists.lists_zeros else int64(table.default[feature] <= cut)
        for j in range(begin, end):
            column[int64(rows.row[offset + j])] = usual
        entry, base = entries_of(lists, node)
        base += lists.start[feature]
        low, high = base + int64(lists.first[at]), base + int64(lists.known[at])
        first, known = low, high
        while low < high:
            middle = (low + high) >> 1
            if rank_at(table, held, int64(entry[middle]) & ROW_MASK, feature) <= cut:
                low = middle + 1
            else:
                high = middle
        for i in range(first, known):
            column[int64(entry[i]) & ROW_MASK] = int64(i < low)
        for i in range(known, base + int64(lists.last[at])):
            column[int64(entry[i]) & ROW_MASK] = missing
    team.goes_left[0], team.goes_left[1] = 0, 1
    return True

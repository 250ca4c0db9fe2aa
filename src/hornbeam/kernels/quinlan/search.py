"""Search one feature of a node: the gain and the split information of its test.

Quinlan's C4.5, release 8. A missing value says nothing about a feature, so with the
known weight W_k of all weight W

    gain = W_k / W * (H(known) - sum over branches of w_b / W_k * H(branch)),

and the split information counts the missing ones as a branch of their own. ID3 has no
missing values: where there are any they are one more category. Of the gain of many
categories C4.5 counts what is beyond chance (hornbeam/chance.py).
"""

from __future__ import annotations

import math

from numba import int64, uint64

from hornbeam.chance import are_well_filled, chance_share, clear_share
from hornbeam.kernels.collect import make_collector, words_of
from hornbeam.kernels.quinlan.measure import LEAST, TIE, bits, lift, split_info
from hornbeam.kernels.quinlan.order import sort_entries
from hornbeam.kernels.quinlan.state import (
    ENTRIES_AT,
    FOUND_AT,
    MANY_CATEGORIES,
    MISSING_CODE,
    NODES_AT,
    SCRATCH_AT,
    TABLE_AT,
    GainOfFeature,
    load_entries,
    load_found,
    load_nodes,
    load_scratch,
    load_table,
)
from hornbeam.runtime.kernel import inlined, part, step

LARGEST_LEAST = 25.0  # Quinlan: a side of a cut needs a tenth of the mean class, but not more


@inlined
def add_weight(into, seen, copy, code, i):
    """Add an entry to the cell of its code and class."""
    cells, n_classes, labels, weights = into
    cells[code * n_classes + labels[i]] += weights[i]
    return seen


@inlined
def add_unknown(into, seen, copy, code, i):
    """Add a missing entry to its class, or take it away; tells the weight of all of them."""
    sums, labels, weights, sign = into
    if code == MISSING_CODE:
        seen += weights[i]
        sums[labels[i]] += sign * weights[i]
    return seen


@inlined
def add_witness(into, seen, copy, code, i):
    """Tells weight and squared weights of the entries whose value is known."""
    total, squares = seen
    if code != MISSING_CODE:
        total += into[i]
        squares += into[i] * into[i]
    return total, squares


collect_weights = make_collector(add_weight, words_of)
collect_unknown = make_collector(add_unknown, words_of)
collect_witnesses = make_collector(add_witness, words_of)


@part
def count_cells(table, entries, scratch, feature, first, last):
    """Add up the weight of every code and class; returns the missing weight.

    The cells of missing values are the last ones.
    """
    n_classes, n_codes, cells = table.n_classes, table.n_codes[feature], scratch.cells
    for i in range((n_codes + 1) * n_classes):
        cells[i] = 0.0
    into = (cells, n_classes, entries.label, entries.weight)
    collect_weights(table, entries.row, feature, first, last, n_codes, into, 0)
    unknown = 0.0
    for label in range(n_classes):
        unknown += cells[n_codes * n_classes + label]
    return unknown


@part
def weigh_missing(table, entries, feature, first, last, sums, sign):
    """Add the weight of missing entries to the sum of their class, or take it away.

    Returns the weight of all of them.
    """
    into = (sums, entries.label, entries.weight, sign)
    return collect_unknown(table, entries.row, feature, first, last, MISSING_CODE, into, 0.0)


@part
def fits_cells(table, feature, first, last):
    """Whether counting codes is possible, and cheaper than sorting them."""
    n_codes = table.n_codes[feature]
    fits = (n_codes + 1) * table.n_classes <= table.n_cells
    grouped = table.is_category[feature] and table.settings.with_groups
    return fits and (grouped or n_codes <= 4 * (last - first))


# --- numbers ------------------------------------------------------------------------------


@part
def move(left, right, label, weight, scale):
    """Move weight of one class to the left; returns the change of both sides' sums."""
    before = lift(left[label], scale) + lift(right[label], scale)
    left[label] += weight
    right[label] -= weight
    if right[label] < LEAST:  # what rounding leaves of nothing
        right[label] = 0.0
    return lift(left[label], scale) + lift(right[label], scale) - before


@part
def cut_between(table, feature, low, high):
    """The largest code whose value is not above the middle between two codes (release 8)."""
    start = table.value_start[feature]
    middle = table.values[start + low] / 2.0 + table.values[start + high] / 2.0
    while low + 1 < high:
        code = (low + high) >> 1
        if table.values[start + code] <= middle:
            low = code
        else:
            high = code
    return low


@inlined
def put_right(table, nodes, entries, scratch, node, feature, first, last, counted):
    """Count or sort the entries of a node; all that have a value are on the right.

    Returns how many are sorted, and the weight of those that have no value.
    """
    n_classes, n_keys, unknown = table.n_classes, int64(0), 0.0
    for label in range(n_classes):
        scratch.left[label] = 0.0
        scratch.right[label] = nodes.counts[node * n_classes + label]
    if counted:
        unknown = count_cells(table, entries, scratch, feature, first, last)
        for label in range(n_classes):
            scratch.right[label] -= scratch.cells[table.n_codes[feature] * n_classes + label]
    else:
        n_keys = sort_entries(table, entries.row, scratch, feature, first, last)
        if n_keys < last - first:
            unknown = weigh_missing(table, entries, feature, first, last, scratch.right, -1.0)
    return n_keys, unknown


@inlined
def move_cells(table, scratch, code):
    """Move the cells of a code to the left; returns the change of both sides' sums."""
    change = int64(0)
    for label in range(table.n_classes):
        weight = scratch.cells[code * table.n_classes + label]
        if weight > 0.0:
            change += move(scratch.left, scratch.right, label, weight, table.scale)
    return change


@inlined
def move_run(table, entries, scratch, step, n_keys, first, weight_left):
    """Move sorted entries of one code to the left, those from a place on.

    Returns where the next code begins, the change of both sides' sums and the weight on the left.
    """
    code, change = scratch.keys[step] >> uint64(32), int64(0)
    while step < n_keys and scratch.keys[step] >> uint64(32) == code:
        place = first + int64(scratch.keys[step] & uint64(0xFFFFFFFF))
        label, weight = int64(entries.label[place]), entries.weight[place]
        change += move(scratch.left, scratch.right, label, weight, table.scale)
        weight_left += weight
        step += 1
    return step, change, weight_left


@step(GainOfFeature)
def search_number(slots, node, feature, first, last):
    """Find the threshold with the largest gain."""
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    entries, found = load_entries(slots, ENTRIES_AT), load_found(slots, FOUND_AT)
    scratch = load_scratch(slots, SCRATCH_AT)
    n_classes, scale = table.n_classes, table.scale
    n_codes = table.n_codes[feature]
    right, cells, total = scratch.right, scratch.cells, nodes.weight[node]
    counted = fits_cells(table, feature, first, last)
    n_keys, unknown = put_right(table, nodes, entries, scratch, node, feature, first, last, counted)
    known = total - unknown
    least = max(table.settings.min_leaf, min(0.1 * known / n_classes, LARGEST_LEAST))
    if known < 2.0 * least - LEAST:
        return
    inner = int64(0)  # sum of x * log2(x) over the classes of both sides
    for label in range(n_classes):
        if right[label] < LEAST:
            right[label] = 0.0
        inner += lift(right[label], scale)
    base_sum = inner
    best, best_low, best_high, best_left = -1.0, int64(-1), int64(-1), 0.0
    candidates = int64(0)
    low, weight_left = int64(-1), 0.0
    step, n_steps = int64(0), n_codes if counted else n_keys
    while step < n_steps:
        code = step
        if not counted:
            code = int64(scratch.keys[step] >> uint64(32))
        here = 0.0
        if counted:
            for label in range(n_classes):
                here += cells[code * n_classes + label]
            if here <= 0.0:
                step += 1
                continue
        if low >= 0 and weight_left >= least - LEAST and known - weight_left >= least - LEAST:
            candidates += 1
            sides = lift(weight_left, scale) + lift(known - weight_left, scale)
            gain = float(lift(known, scale) - base_sum - sides + inner) / scale / total
            if gain > best + TIE:
                best, best_low, best_high, best_left = gain, low, code, weight_left
        if known - weight_left < least - LEAST:
            break
        if counted:
            inner += move_cells(table, scratch, code)
            weight_left += here
            step += 1
        else:
            step, change, weight_left = move_run(
                table, entries, scratch, step, n_keys, first, weight_left
            )
            inner += change
        low = code
    if candidates == 0:
        return
    if table.settings.is_corrected:
        best -= math.log2(float(candidates)) / total
    if best > TIE:
        found.gain[feature] = best
        found.info[feature] = split_info(total, best_left, known - best_left, unknown)
        found.cut[feature] = cut_between(table, feature, best_low, best_high)


# --- categories -----------------------------------------------------------------------------


@part
def judge_branches(table, found, feature, total, unknown, base, inner, outer, n_large):
    """Note the gain of a multiway split.

    ``base``, ``inner`` and ``outer`` are the sums of x * log2(x) over the classes, the
    classes of all branches, and the branches.
    """
    known = total - unknown
    if n_large < 2:
        return
    scale = table.scale
    gain = float(lift(known, scale) - base - outer + inner) / scale / total
    if table.settings.by_ratio and gain <= TIE:
        return
    found.gain[feature] = max(gain, 0.0)
    found.info[feature] = (bits(total) - float(outer) / scale - bits(unknown)) / total


share_by_chance = inlined(chance_share)
share_that_is_clear = inlined(clear_share)
fill_well = inlined(are_well_filled)


@part
def count_witnesses(table, entries, feature, first, last):
    """As how many entries of equal weights those count whose value is known."""
    total, squares = collect_witnesses(
        table, entries.row, feature, first, last, MISSING_CODE, entries.weight, (0.0, 0.0)
    )
    return total * total / squares


@part
def pay_chance(table, entries, scratch, found, feature, first, last, known, squares, n_groups):
    """Take from a gain what many categories owe to chance; if nothing remains it is no gain.

    Classes vary by the squares of their indicators (Light and Margolin 1971); ``squares`` are
    those that the branches explain: class weights squared over the weight of the branch. The
    gain of categories that explain no more than chance is noted apart, if each has rows enough.
    """
    if table.is_category[feature] != MANY_CATEGORIES or found.gain[feature] < 0.0:
        return
    common, n_kinds = 0.0, float(n_groups)
    for label in range(table.n_classes):
        common += scratch.right[label] * scratch.right[label] / known
    n_rows = count_witnesses(table, entries, feature, first, last)
    between, total = squares - common, known - common
    gain = -1.0
    if between > share_that_is_clear(n_kinds, n_rows) * total:
        gain = found.gain[feature] * (1.0 - share_by_chance(n_kinds, n_rows) * total / between)
    elif fill_well(n_kinds, n_rows):
        found.unproven[feature] = found.gain[feature]
    found.gain[feature] = gain if gain > TIE else -1.0


@inlined
def sum_cells(table, scratch, n_codes, least):
    """What branches for all codes come to, one by one, from their cells.

    Returns the sums of x * log2(x) over their classes and over the branches, how many are large
    enough and how many there are, and the squares that they explain (`pay_chance`).
    """
    inner, outer, n_large, n_groups, squares = int64(0), int64(0), int64(0), int64(0), 0.0
    cells, n_classes = scratch.cells, table.n_classes
    for code in range(n_codes):
        here = 0.0
        for label in range(n_classes):
            weight = cells[code * n_classes + label]
            here += weight
            inner += lift(weight, table.scale)
        outer += lift(here, table.scale)
        n_groups += here > 0.0
        for label in range(n_classes if here > 0.0 else 0):
            squares += cells[code * n_classes + label] ** 2 / here
        n_large += here > 0.0 and here >= least
    return inner, outer, n_large, n_groups, squares


@inlined
def sum_runs(table, entries, scratch, n_keys, first, least):
    """`sum_cells` from entries that are sorted by their codes."""
    inner, outer, n_large, n_groups, squares = int64(0), int64(0), int64(0), int64(0), 0.0
    left, keys, step = scratch.left, scratch.keys, int64(0)
    while step < n_keys:
        code = keys[step] >> uint64(32)
        start, here = step, 0.0
        while step < n_keys and keys[step] >> uint64(32) == code:
            place = first + int64(keys[step] & uint64(0xFFFFFFFF))
            left[entries.label[place]] += entries.weight[place]
            here += entries.weight[place]
            step += 1
        for i in range(start, step):
            label = entries.label[first + int64(keys[i] & uint64(0xFFFFFFFF))]
            inner += lift(left[label], table.scale)
            squares += left[label] ** 2 / here
            left[label] = 0.0
        outer += lift(here, table.scale)
        n_groups += 1
        n_large += here >= least
    return inner, outer, n_large, n_groups, squares


@step(GainOfFeature)
def search_category(slots, node, feature, first, last):
    """Judge the split of a node into one branch per category."""
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    entries, found = load_entries(slots, ENTRIES_AT), load_found(slots, FOUND_AT)
    scratch = load_scratch(slots, SCRATCH_AT)
    n_classes, scale = table.n_classes, table.scale
    n_codes = table.n_codes[feature]
    own_branch = table.missing_is_branch[feature] != 0
    left, right, cells = scratch.left, scratch.right, scratch.cells
    total, least = nodes.weight[node], table.settings.min_leaf - LEAST
    base, grouped, unknown = int64(0), False, 0.0
    for label in range(n_classes):
        left[label] = 0.0
        right[label] = nodes.counts[node * n_classes + label]
    if fits_cells(table, feature, first, last):
        unknown = count_cells(table, entries, scratch, feature, first, last)
        if unknown > 0.0 and not own_branch:
            for label in range(n_classes):
                right[label] = max(right[label] - cells[n_codes * n_classes + label], 0.0)
        inner, outer, n_large, n_groups, squares = sum_cells(
            table, scratch, n_codes + own_branch, least
        )
        grouped = table.settings.with_groups and n_large >= 1
    else:
        n_keys = sort_entries(table, entries.row, scratch, feature, first, last)
        inner, outer, n_large, n_groups, squares = sum_runs(
            table, entries, scratch, n_keys, first, least
        )
        if n_keys < last - first:  # missing values are a run of their own, or left out
            unknown = weigh_missing(table, entries, feature, first, last, left, 1.0)
            for label in range(n_classes):
                if own_branch:
                    inner += lift(left[label], scale)
                else:
                    right[label] = max(right[label] - left[label], 0.0)
            if own_branch:
                outer += lift(unknown, scale)
                n_large += unknown >= least
    for label in range(n_classes):
        base += lift(right[label], scale)
    if own_branch:
        unknown = 0.0
    if grouped:
        table.steps.group(slots, node, feature, first, last)
    else:
        judge_branches(table, found, feature, total, unknown, base, inner, outer, n_large)
    known = total - unknown
    pay_chance(table, entries, scratch, found, feature, first, last, known, squares, n_groups)

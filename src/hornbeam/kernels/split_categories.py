"""Part the categories of a feature into two sets.

The best subset against the rest, one category against the rest, or a random subset.
"""

from __future__ import annotations

import math

from numba import float64, int64, types, uint64

from hornbeam.dtypes import WORD_BITS
from hornbeam.kernels.order import ENTRY_MASK, merge_sort
from hornbeam.kernels.split import present_keys, try_cuts
from hornbeam.kernels.state import (
    ABSENT,
    ASK_ALL_KEYS,
    ASK_CELLS,
    ASK_IN_SPARE,
    ASK_KEYS,
    ASK_MONOTONE,
    ASK_N_LABELS,
    ASK_N_STATS,
    CATEGORY_RULE,
    LEFT,
    MAX_CATEGORIES,
    N_LABELS,
    N_OUTPUTS,
    N_TOTALS,
    NODES_AT,
    ONE_AGAINST_REST,
    ORDER,
    PROBLEM_AT,
    RANDOM_CUTS,
    RIGHT,
    ROWS_AT,
    ROWS_ONLY,
    SCRATCH_AT,
    TEAM_DESK_AT,
    VALUE_IS_TOTAL,
    WORD_SETS,
    load_desk,
    load_nodes,
    load_problem,
    load_rows,
    load_scratch,
)
from hornbeam.runtime.atomics import atomic_add, call_address
from hornbeam.runtime.kernel import kernel, part
from hornbeam.runtime.random import derive_for_feature, draw_below

# Up to this many categories every subset is tried where no ordering is known to be exact.
EXHAUSTIVE_GROUPS = 8


@part
def group_categories(scratch):
    """Cut the ordered key list into groups of equal category; returns how many."""
    keys = present_keys(scratch)
    n_groups = 0
    for i in range(scratch.ask[ASK_KEYS]):
        if i == 0 or keys[i] >> uint64(32) != keys[i - 1] >> uint64(32):
            scratch.group_start[n_groups] = i
            n_groups += 1
    scratch.group_start[n_groups] = scratch.ask[ASK_KEYS]
    return n_groups


@part
def rank_groups(problem, rows, scratch, n_groups, which):
    """Order the groups by the share of class ``which`` (or the mean of that output)."""
    ask = scratch.ask
    keys = present_keys(scratch)
    labels = scratch.entry_labels if ask[ASK_CELLS] else rows.labels
    stats = scratch.entry_stats if ask[ASK_CELLS] else rows.stats
    n_labels, n_stats = ask[ASK_N_LABELS], ask[ASK_N_STATS]
    for g in range(n_groups):
        weight = 0.0
        amount = 0.0
        for i in range(scratch.group_start[g], scratch.group_start[g + 1]):
            entry = int64(keys[i] & uint64(ENTRY_MASK))
            entry_weight = stats[entry * n_stats]
            weight += entry_weight
            for output in range(n_labels):
                if labels[entry * n_labels + output] == which:
                    amount += entry_weight
            if n_labels == 0:
                y = stats[entry * n_stats + 1 + which]
                amount += entry_weight * y if problem.whole[ROWS_ONLY] else y
        scratch.group_mean[g] = amount / weight
        scratch.group_order[g] = g
    merge_sort(scratch.group_mean, scratch.group_order, scratch.group_spare, n_groups)


@part
def list_groups(scratch, n_groups, n_left):
    """Write the key list in the order of ``group_order`` to the free key array.

    With ``n_left`` < 0 each group has a code of its own (its rank); otherwise the first
    ``n_left`` groups share code 0 and the others code 1.
    """
    ask = scratch.ask
    source, target = scratch.keys, scratch.spare_keys
    if ask[ASK_IN_SPARE]:
        source, target = scratch.spare_keys, scratch.keys
    place = 0
    for rank in range(n_groups):
        g = scratch.group_order[rank]
        code = rank
        if n_left >= 0:
            code = int64(rank >= n_left)
        for i in range(scratch.group_start[g], scratch.group_start[g + 1]):
            entry = source[i] & uint64(ENTRY_MASK)
            target[place] = (uint64(code) << uint64(32)) | entry
            place += 1
    for i in range(place, ask[ASK_ALL_KEYS]):
        target[i] = source[i]


@part
def try_groups(problem, rows, scratch, feature, n_groups, n_left, rank, desk):
    """Scan the groups in their present order; remember the sides if it is the best."""
    ask = scratch.ask
    list_groups(scratch, n_groups, n_left)
    ask[ASK_IN_SPARE] = 1 - ask[ASK_IN_SPARE]
    improved = try_cuts(problem, rows, scratch, feature, math.nan, rank, desk)
    ask[ASK_IN_SPARE] = 1 - ask[ASK_IN_SPARE]
    if not improved:
        return
    keys = present_keys(scratch)
    cut = desk.best_cut[rank]
    member_at = rank * problem.whole[MAX_CATEGORIES]
    for c in range(problem.n_codes[feature]):
        desk.member[member_at + c] = ABSENT
    for place in range(n_groups):
        code = place
        if n_left >= 0:
            code = int64(place >= n_left)
        category = int64(keys[scratch.group_start[scratch.group_order[place]]] >> uint64(32))
        desk.member[member_at + category] = LEFT if code <= cut else RIGHT


@part
def search_subsets(problem, rows, scratch, feature, n_groups, rank, desk):
    """Best subset of the categories against the rest.

    Ordered by the share of one class of two, or by the mean, the best subset is a
    prefix (Breiman et al. 1984, theorem 4.5). With more classes or outputs, or medians,
    all subsets of a few categories are tried, and one ordering per class of many.
    """
    orderings = problem.whole[N_OUTPUTS]
    if problem.whole[N_LABELS] > 0:
        orderings = problem.whole[N_TOTALS]
    exact = problem.whole[ROWS_ONLY] == 0 and orderings == 1
    if problem.whole[N_LABELS] == 1 and orderings == 2:
        exact = True
    if exact or n_groups > EXHAUSTIVE_GROUPS:
        first = 1 if problem.whole[N_LABELS] == 1 and orderings == 2 else 0
        for which in range(first, orderings):
            rank_groups(problem, rows, scratch, n_groups, which)
            try_groups(problem, rows, scratch, feature, n_groups, -1, rank, desk)
        return
    for subset in range(1, 1 << max(0, n_groups - 1)):
        n_left = 0
        place = 0
        for side in range(2):
            for g in range(n_groups):
                if (subset >> g) & 1 == 1 - side:
                    scratch.group_order[place] = g
                    place += 1
            if side == 0:
                n_left = place
        try_groups(problem, rows, scratch, feature, n_groups, n_left, rank, desk)
    if n_groups == 1:  # only the missing values can be parted from the rest
        scratch.group_order[0] = 0
        try_groups(problem, rows, scratch, feature, n_groups, 1, rank, desk)


@part
def try_single(problem, rows, scratch, feature, n_groups, single, rank, desk):
    """Scan one category against all others, listing only its own entries.

    What is not listed is on the right, so that all categories together cost one pass.
    """
    ask = scratch.ask
    source, target = scratch.keys, scratch.spare_keys
    if ask[ASK_IN_SPARE]:
        source, target = scratch.spare_keys, scratch.keys
    known, all_keys = ask[ASK_KEYS], ask[ASK_ALL_KEYS]
    first, last = scratch.group_start[single], scratch.group_start[single + 1]
    place = 0
    for i in range(first, last):
        target[place] = source[i]
        place += 1
    ask[ASK_KEYS] = place
    for i in range(known, all_keys):
        target[place] = source[i]
        place += 1
    ask[ASK_ALL_KEYS] = place
    ask[ASK_IN_SPARE] = 1 - ask[ASK_IN_SPARE]
    improved = try_cuts(problem, rows, scratch, feature, math.nan, rank, desk)
    ask[ASK_IN_SPARE] = 1 - ask[ASK_IN_SPARE]
    ask[ASK_KEYS], ask[ASK_ALL_KEYS] = known, all_keys
    if improved:
        member_at = rank * problem.whole[MAX_CATEGORIES]
        for c in range(problem.n_codes[feature]):
            desk.member[member_at + c] = ABSENT
        for g in range(n_groups):
            category = int64(source[scratch.group_start[g]] >> uint64(32))
            desk.member[member_at + category] = LEFT if g == single else RIGHT


@part
def search_one_against_rest(problem, rows, scratch, feature, n_groups, rank, desk):
    """Each category against all others, and all of them against the missing values."""
    medians = problem.whole[VALUE_IS_TOTAL]  # of both sides: they need all rows listed
    for single in range(n_groups):
        if not medians:
            try_single(problem, rows, scratch, feature, n_groups, single, rank, desk)
            continue
        scratch.group_order[0] = single
        for g in range(n_groups):
            if g != single:
                scratch.group_order[g + (g < single)] = g
        try_groups(problem, rows, scratch, feature, n_groups, 1, rank, desk)
    if scratch.ask[ASK_ALL_KEYS] > scratch.ask[ASK_KEYS]:
        for g in range(n_groups):
            scratch.group_order[g] = g
        try_groups(problem, rows, scratch, feature, n_groups, n_groups, rank, desk)


@part
def search_random_subset(problem, rows, scratch, feature, n_groups, key, rank, desk):
    """A random subset of the node's categories against the rest."""
    keys = present_keys(scratch)
    key = derive_for_feature(key, feature)
    forced_left = draw_below(key, 0, n_groups)
    forced_right = (forced_left + 1 + draw_below(key, 1, max(1, n_groups - 1))) % n_groups
    place = 0
    n_left = 0
    for side in range(2):
        for g in range(n_groups):
            category = int64(keys[scratch.group_start[g]] >> uint64(32))
            right = draw_below(key, 2 + category, 2)
            if g == forced_left:
                right = 0
            elif g == forced_right:
                right = 1
            if right == side:
                scratch.group_order[place] = g
                place += 1
        if side == 0:
            n_left = place
    try_groups(problem, rows, scratch, feature, n_groups, n_left, rank, desk)


@kernel
def search_category(slots, node, feature, rank, desk_at):
    """Split of a category feature; the protocol is that of `split.search_number`."""
    problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
    nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
    desk = load_desk(slots, desk_at)
    if call_address(problem.whole[ORDER], (slots, node, feature)) == 0.0:
        return 0.0
    scratch.ask[ASK_MONOTONE] = 0
    n_groups = group_categories(scratch)
    if problem.whole[RANDOM_CUTS]:
        key = nodes.key[node]
        search_random_subset(problem, rows, scratch, feature, n_groups, key, rank, desk)
    elif problem.whole[CATEGORY_RULE] == ONE_AGAINST_REST:
        search_one_against_rest(problem, rows, scratch, feature, n_groups, rank, desk)
    else:
        search_subsets(problem, rows, scratch, feature, n_groups, rank, desk)
    return 1.0


@kernel
def keep_category_set(slots, node, rank, desk_at):
    """Write the bit set of categories that go left.

    A category the node has not seen goes where its missing values go.
    """
    problem, nodes = load_problem(slots, PROBLEM_AT), load_nodes(slots, NODES_AT)
    desk, shared = load_desk(slots, desk_at), load_desk(slots, TEAM_DESK_AT).words
    n_categories = problem.n_codes[desk.best_feature[rank]]
    n_words = (n_categories + WORD_BITS - 1) // WORD_BITS
    start = atomic_add(shared, WORD_SETS, n_words)
    nodes.set_start[node] = start
    missing_left = desk.best_missing_left[rank]
    member_at = rank * problem.whole[MAX_CATEGORIES]
    for w in range(n_words):
        bits = uint64(0)
        for b in range(min(WORD_BITS, n_categories - w * WORD_BITS)):
            side = desk.member[member_at + w * WORD_BITS + b]
            if side == LEFT or (side == ABSENT and missing_left):
                bits |= uint64(1) << uint64(b)
        nodes.sets[start + w] = bits
    return 0.0


KEEP_SIGNATURE = float64(types.Array(int64, 1, "C"), int64, int64, int64)

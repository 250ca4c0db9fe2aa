"""Part the categories of a feature into two sets.

The best subset against the rest, one category against the rest, or a random subset. The best
subset of many categories has to prove itself beyond chance (hornbeam/chance.py). Forests
are cautious: where the categories of a node differ no more than chance makes them, an order
made of their classes would be learnt by heart (a column of ticket numbers parts every node
into pure halves), so that the order is drawn at random there, or everywhere if so asked.
"""

from __future__ import annotations

import math

from numba import float64, int64, uint64

from hornbeam.chance import are_well_filled, chance_share, clear_share
from hornbeam.dtypes import NO_CATEGORY, WORD_BITS
from hornbeam.kernels.order import ENTRY_MASK, merge_sort
from hornbeam.kernels.split import present_keys, try_cuts
from hornbeam.kernels.split_random import draws_missing, may_ask, weigh_missing
from hornbeam.kernels.state import (
    ABSENT,
    CAUTIOUS,
    EXPLAINED,
    LEFT,
    MANY_CATEGORIES,
    MINUS_IMPURITY,
    NODES_AT,
    PROBLEM_AT,
    RANDOM_SIDES,
    RIGHT,
    ROWS_AT,
    SCRATCH_AT,
    TEAM_DESK_AT,
    WORD_SETS,
    KeepSet,
    Search,
    load_desk,
    load_nodes,
    load_problem,
    load_rows,
    load_scratch,
)
from hornbeam.runtime.atomics import claim
from hornbeam.runtime.kernel import inlined, part, routine, step
from hornbeam.runtime.random import derive_for_feature, draw_below, draw_unit

# Up to this many categories every subset is tried where no ordering is known to be exact.
EXHAUSTIVE_GROUPS = 8
# A cautious node orders its categories by their classes if these vary so many times as much
# between categories as within them.
CLEAR_RATIO = 4.0


share_by_chance = inlined(chance_share)
share_that_is_clear = inlined(clear_share)
fill_well = inlined(are_well_filled)


@part
def group_categories(scratch):
    """Cut the ordered key list into groups of equal category; returns how many."""
    keys = present_keys(scratch)
    n_groups = 0
    for i in range(scratch.ask.n_keys):
        if i == 0 or keys[i] >> uint64(32) != keys[i - 1] >> uint64(32):
            scratch.group_start[n_groups] = i
            n_groups += 1
    scratch.group_start[n_groups] = scratch.ask.n_keys
    return n_groups


@inlined
def is_wary(problem):
    """Whether categories are ordered by their classes only where they differ, or never."""
    rule = problem.rules.category_rule
    return rule in (CAUTIOUS, RANDOM_SIDES)


@inlined
def may_differ(problem, n_rows, n_groups):
    """Whether to ask if groups differ.

    Two groups have but one order, and of many the best order fits by chance.
    """
    asks = problem.rules.category_rule != RANDOM_SIDES
    return asks and n_groups > 2 and fill_well(n_groups, n_rows)


@inlined
def is_clear(between, total, n_rows, n_groups):
    """Whether groups differ by more than chance, by the F ratio of a variance analysis.

    ``total`` is what the rows vary around the mean of all of them, ``between`` how much of
    it the means of the groups explain.
    """
    return between * (n_rows - n_groups) > CLEAR_RATIO * (total - between) * (n_groups - 1)


@inlined
def explained(logs, amount, weight):
    """What a mean explains of the second moment: squares, or logarithms (of a deviance)."""
    if logs:
        return amount * math.log(amount / weight) if amount > 0.0 else 0.0
    return amount * amount / weight


@part
def vary(problem, rows, scratch, n_groups):
    """How much the rows of a node vary between its categories, and how much at all.

    Values vary by their squares, classes by those of their indicators (Light and Margolin
    1971; the Gini index is made of them), counts by their deviance.
    """
    ask, sums, all_sums = scratch.ask, scratch.left, scratch.right
    keys, logs = present_keys(scratch), problem.sums.logs
    labels = scratch.entry_labels if ask.cells else rows.labels
    stats = scratch.entry_stats if ask.cells else rows.stats
    n_labels, n_stats = ask.n_labels, ask.n_stats
    n_values = 0 if n_labels > 0 else problem.sums.n_outputs
    n_sums = problem.sums.n_totals if n_labels > 0 else n_values
    for k in range(n_sums):
        all_sums[k] = 0.0
    all_weight, between, total = 0.0, 0.0, 0.0
    for g in range(n_groups):
        weight = 0.0
        for k in range(n_sums):
            sums[k] = 0.0
        for i in range(scratch.group_start[g], scratch.group_start[g + 1]):
            entry = int64(keys[i] & uint64(ENTRY_MASK))
            start = entry * n_stats
            weight += stats[start]
            for k in range(n_labels):
                sums[labels[entry * n_labels + k]] += stats[start]
                total += stats[start]
            for k in range(n_values):
                y = stats[start + 1 + k]
                if problem.sums.rows_only:
                    sums[k] += stats[start] * y
                    total += stats[start] * y * y
                else:
                    sums[k] += y
                    total += stats[start + 1 + n_values + k]
        all_weight += weight
        for k in range(n_sums):
            between += explained(logs, sums[k], weight)
            all_sums[k] += sums[k]
    for k in range(n_sums):
        common = explained(logs, all_sums[k], all_weight)
        between -= common
        total -= common
    return between, total


@inlined
def groups_differ(problem, rows, scratch, n_groups):
    """Whether the categories of a node differ so much that a cautious tree may order them."""
    n_rows, differ = scratch.ask.n_rows, False
    if may_differ(problem, n_rows, n_groups):
        between, total = vary(problem, rows, scratch, n_groups)
        differ = is_clear(between, total, n_rows, n_groups)
    return differ


@part
def rank_groups(problem, rows, scratch, n_groups, which):
    """Order the groups by the share of class ``which`` (or the mean of that output)."""
    ask = scratch.ask
    keys = present_keys(scratch)
    labels = scratch.entry_labels if ask.cells else rows.labels
    stats = scratch.entry_stats if ask.cells else rows.stats
    n_labels, n_stats = ask.n_labels, ask.n_stats
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
                amount += entry_weight * y if problem.sums.rows_only else y
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
    if ask.in_spare:
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
    for i in range(place, ask.n_all_keys):
        target[i] = source[i]


@routine
def try_groups(problem, rows, scratch, feature, n_groups, n_left, rank, desk):
    """Scan the groups in their present order; remember the sides if it is the best."""
    ask = scratch.ask
    list_groups(scratch, n_groups, n_left)
    ask.in_spare = 1 - ask.in_spare
    improved = try_cuts(problem, rows, scratch, feature, math.nan, rank, desk, 0)
    ask.in_spare = 1 - ask.in_spare
    if improved:
        note_sides(problem, scratch, feature, n_groups, n_left, rank, desk)


@inlined
def is_listed(problem, feature):
    """Whether the sets of a feature are lists of the categories that are there."""
    return problem.n_codes[feature] > problem.rules.list_from


@inlined
def forget_members(problem, feature, rank, desk):
    """Take every category from its side; returns the place of the first one.

    Lists have no place for those that a node does not have, so nobody asks for them.
    """
    member_at = rank * problem.max_categories
    if not is_listed(problem, feature):
        for c in range(problem.n_codes[feature]):
            desk.member[member_at + c] = ABSENT
    return member_at


@part
def note_sides(problem, scratch, feature, n_groups, n_left, rank, desk):
    """Write down on which side of the best cut each group is; `list_groups` gave the codes."""
    keys = present_keys(scratch)
    cut = desk.best_cut[rank]
    member_at = forget_members(problem, feature, rank, desk)
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
    orderings = problem.sums.n_outputs
    if problem.sums.n_labels > 0:
        orderings = problem.sums.n_totals
    exact = problem.sums.rows_only == 0 and orderings == 1
    if problem.sums.n_labels == 1 and orderings == 2:
        exact = True
    if exact or n_groups > EXHAUSTIVE_GROUPS:
        first = 1 if problem.sums.n_labels == 1 and orderings == 2 else 0
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
    if ask.in_spare:
        source, target = scratch.spare_keys, scratch.keys
    known, all_keys = ask.n_keys, ask.n_all_keys
    first, last = scratch.group_start[single], scratch.group_start[single + 1]
    place = 0
    for i in range(first, last):
        target[place] = source[i]
        place += 1
    ask.n_keys = place
    for i in range(known, all_keys):
        target[place] = source[i]
        place += 1
    ask.n_all_keys = place
    ask.in_spare = 1 - ask.in_spare
    improved = try_cuts(problem, rows, scratch, feature, math.nan, rank, desk, 0)
    ask.in_spare = 1 - ask.in_spare
    ask.n_keys, ask.n_all_keys = known, all_keys
    if improved:
        member_at = forget_members(problem, feature, rank, desk)
        for g in range(n_groups):
            category = int64(source[scratch.group_start[g]] >> uint64(32))
            desk.member[member_at + category] = LEFT if g == single else RIGHT


@inlined
def draw_forced(n_groups, key):
    """Two groups of a random subset: one that is in it, and one that is not."""
    forced_left = draw_below(key, 0, n_groups)
    forced_right = forced_left + 1 + draw_below(key, 1, max(1, n_groups - 1))
    return forced_left, forced_right if forced_right < n_groups else forced_right - n_groups


@inlined
def draw_right(key, category, group, forced_left, forced_right):
    """1 if a category is not in the random subset, else 0; it has the number of its group."""
    right = draw_below(key, 2 + category, 2)
    right = int64(1) if group == forced_right else right
    return int64(0) if group == forced_left else right


@part
def draw_subset(scratch, n_groups, key):
    """Put a random subset of the groups first; returns how many. Neither side is empty."""
    keys = present_keys(scratch)
    forced_left, forced_right = draw_forced(n_groups, key)
    place = 0
    n_left = 0
    for side in range(2):
        for g in range(n_groups):
            category = int64(keys[scratch.group_start[g]] >> uint64(32))
            if draw_right(key, category, g, forced_left, forced_right) == side:
                scratch.group_order[place] = g
                place += 1
        if side == 0:
            n_left = place
    return n_left


@part
def shuffle_groups(scratch, n_groups, key):
    """Bring the groups into a random order."""
    for g in range(n_groups):
        other = draw_below(key, g, g + 1)
        scratch.group_order[g] = scratch.group_order[other]
        scratch.group_order[other] = g


@part
def keep_order(scratch, n_groups):
    """Leave the groups in the order of their codes; returns how many there are."""
    for g in range(n_groups):
        scratch.group_order[g] = g
    return n_groups


@part
def draw_class(problem, scratch, key):
    """One of the node's classes (or of the outputs) at random, to order the categories by."""
    if problem.sums.n_labels == 0:
        return draw_below(key, 0, problem.sums.n_outputs)
    n_present = 0
    for k in range(problem.sums.n_totals):
        n_present += scratch.total[k] > 0.0
    left_out = draw_below(key, 0, n_present)
    for k in range(problem.sums.n_totals):
        if scratch.total[k] > 0.0:
            if left_out == 0:
                return k
            left_out -= 1
    return 0


@part
def cut_means(scratch, n_groups, key, are_shares):
    """Cut the order of the groups' means at random; returns how many are left.

    Shares of a class are cut as numbers are. Means of values may be far from the others
    where a category has few rows, and most cuts would part just these: there every place is
    as likely as another. Low means are as often on the left as on the right, where missing
    values are.
    """
    means, order = scratch.group_mean, scratch.group_order
    n_left = 1 + draw_below(key, 1, n_groups - 1)
    if are_shares:
        lowest, highest = means[order[0]], means[order[n_groups - 1]]
        threshold = lowest + draw_unit(key, 1) * (highest - lowest)
        n_left = 1
        while n_left < n_groups - 1 and means[order[n_left]] <= threshold:
            n_left += 1
    if draw_below(key, 2, 2) == 1:
        for place in range(n_groups // 2):
            opposite = n_groups - 1 - place
            order[place], order[opposite] = order[opposite], order[place]
        n_left = max(1, n_groups - n_left)
    return n_left


@part
def try_sides(problem, rows, scratch, feature, n_groups, n_left, rank, desk):
    """Score one split only: the first groups against the others and the missing values."""
    ask = scratch.ask
    known, all_keys = ask.n_keys, ask.n_all_keys
    list_groups(scratch, n_groups, n_left)
    ask.in_spare = 1 - ask.in_spare
    if problem.sums.value_is_total:  # medians of both sides need all rows listed
        keys = present_keys(scratch)
        for i in range(known, all_keys):
            keys[i] = (uint64(1) << uint64(32)) | (keys[i] & uint64(ENTRY_MASK))
        ask.n_keys = all_keys
    else:
        listed = 0
        for place in range(n_left):
            g = scratch.group_order[place]
            listed += scratch.group_start[g + 1] - scratch.group_start[g]
        ask.n_keys = ask.n_all_keys = listed  # what is not listed is on the right
    improved = try_cuts(problem, rows, scratch, feature, math.nan, rank, desk, 0)
    ask.in_spare = 1 - ask.in_spare
    ask.n_keys, ask.n_all_keys = known, all_keys
    if improved:
        note_sides(problem, scratch, feature, n_groups, n_left, rank, desk)
        if all_keys > known:
            desk.best_missing_left[rank] = 0


# --- the searches ------------------------------------------------------------------------

# One for each rule, so that only the one that a tree needs is compiled. The protocol is that
# of `split.search_number`.


@inlined
def find_groups(problem, scratch, slots, node, feature):
    """Group the rows of a node by category; returns how many groups there are, 0 if constant."""
    if not problem.steps.order(slots, node, feature):
        return int64(0)
    scratch.ask.monotone = 0
    return group_categories(scratch)


@step(Search)
def search_random_category(slots, node, feature, rank, desk_at):
    """One random split: a subset of the node's categories against the rest.

    A cautious forest cuts the order of the means at random where these differ. Its missing
    values have a side beforehand, so that a column that has some is not tried more
    often than others.
    """
    problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
    nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
    desk = load_desk(slots, desk_at)
    n_groups = find_groups(problem, scratch, slots, node, feature)
    if n_groups == 0:
        return False
    key = derive_for_feature(nodes.key[node], feature)
    wary, missing = is_wary(problem), weigh_missing(rows, scratch)
    weight = scratch.ask.weight
    if missing > 0.0 and draws_missing(feature, missing, weight, nodes.key[node]):
        n_left = keep_order(scratch, n_groups)
    elif not may_ask(problem, feature, n_groups > 1):
        return True
    elif wary and groups_differ(problem, rows, scratch, n_groups):
        rank_groups(problem, rows, scratch, n_groups, draw_class(problem, scratch, key))
        n_left = cut_means(scratch, n_groups, key, problem.sums.n_labels > 0)
    else:
        n_left = draw_subset(scratch, n_groups, key)
    if wary:
        try_sides(problem, rows, scratch, feature, n_groups, n_left, rank, desk)
    else:
        try_groups(problem, rows, scratch, feature, n_groups, n_left, rank, desk)
    return True


@step(Search)
def search_single_category(slots, node, feature, rank, desk_at):
    """Each category against all others, and all of them against the missing values."""
    problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
    scratch, desk = load_scratch(slots, SCRATCH_AT), load_desk(slots, desk_at)
    n_groups = find_groups(problem, scratch, slots, node, feature)
    if n_groups == 0:
        return False
    medians = problem.sums.value_is_total  # of both sides: they need all rows listed
    for single in range(n_groups):
        if not medians:
            try_single(problem, rows, scratch, feature, n_groups, single, rank, desk)
            continue
        scratch.group_order[0] = single
        for g in range(n_groups):
            if g != single:
                scratch.group_order[g + (g < single)] = g
        try_groups(problem, rows, scratch, feature, n_groups, 1, rank, desk)
    if scratch.ask.n_all_keys > scratch.ask.n_keys:
        keep_order(scratch, n_groups)
        try_groups(problem, rows, scratch, feature, n_groups, n_groups, rank, desk)
    return True


@part
def count_witnesses(problem, rows, scratch):
    """As how many rows of equal weights those of a node count whose category is known."""
    ask, squares, n_rows = scratch.ask, 0.0, float64(scratch.ask.n_rows)
    n_missing = 0.0
    for i in range(ask.n_keys, ask.n_all_keys):
        entry = int64(present_keys(scratch)[i] & uint64(ENTRY_MASK))
        n_missing += float64(scratch.entry_rows[entry]) if ask.cells else 1.0
    if problem.weights.unit:
        return n_rows - n_missing
    for j in range(ask.first, ask.first + ask.n_rows):
        weight = rows.stats[j * ask.n_stats] / scratch.ask.weight
        squares += weight * weight
    return (1.0 - n_missing / n_rows) / squares


@inlined
def score_of_whole(problem, scratch, impurity):
    """The score of a split that changes nothing."""
    form, weight, score = problem.sums.score_form, scratch.ask.weight, 0.0
    if form == MINUS_IMPURITY:
        score = -impurity * problem.sums.score_unit * weight
    elif form == EXPLAINED:
        for k in range(problem.sums.n_outputs):
            score += explained(problem.sums.logs, scratch.total[1 + k], weight)
    return score


@part
def prove_themselves(problem, rows, scratch, n_groups, n_rows, impurity):
    """Whether many categories explain more than chance does; notes what they owe to it.

    The rows of the node count as ``n_rows`` witnesses.
    """
    n_kinds = float64(n_groups)
    owed = share_by_chance(n_kinds, n_rows)
    if owed == 0.0 or owed == 1.0:
        return owed == 0.0
    between, total = vary(problem, rows, scratch, n_groups)
    if not between > share_that_is_clear(n_kinds, n_rows) * total:
        return False
    scratch.ask.owed = owed * total / between
    scratch.ask.whole_score = score_of_whole(problem, scratch, impurity)
    return True


@inlined
def cut_as_numbers(problem, rows, scratch, feature, n_groups, n_rows, rank, desk):
    """Cut categories that have proven nothing in the order of their codes, as numbers are.

    With few rows of each, only what is missing may tell.
    """
    n_left = -1 if fill_well(n_groups, n_rows) else n_groups
    if n_left < 0 or scratch.ask.n_all_keys > scratch.ask.n_keys:
        keep_order(scratch, n_groups)
        try_groups(problem, rows, scratch, feature, n_groups, n_left, rank, desk)


@step(Search)
def search_category(slots, node, feature, rank, desk_at):
    """The best subset of the categories against the rest.

    The cautious rule asks for it only where categories differ by more than chance; otherwise
    their order is a random one.
    """
    problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
    nodes, scratch = load_nodes(slots, NODES_AT), load_scratch(slots, SCRATCH_AT)
    desk = load_desk(slots, desk_at)
    n_groups = find_groups(problem, scratch, slots, node, feature)
    if n_groups == 0:
        return False
    if is_wary(problem) and not groups_differ(problem, rows, scratch, n_groups):
        shuffle_groups(scratch, n_groups, derive_for_feature(nodes.key[node], feature))
        try_groups(problem, rows, scratch, feature, n_groups, -1, rank, desk)
        return True
    if problem.is_category[feature] == MANY_CATEGORIES:
        n_rows, impurity = count_witnesses(problem, rows, scratch), nodes.impurity[node]
        if not prove_themselves(problem, rows, scratch, n_groups, n_rows, impurity):
            cut_as_numbers(problem, rows, scratch, feature, n_groups, n_rows, rank, desk)
            return True
    search_subsets(problem, rows, scratch, feature, n_groups, rank, desk)
    scratch.ask.owed = 0.0
    return True


@inlined
def list_side(problem, nodes, node, scratch, slots, desk, rank):
    """List the categories of a node that do not go where its missing values go, ascending.

    They are written into the keys, from the beginning; returns how many.
    """
    feature, member_at = desk.best_feature[rank], rank * problem.max_categories
    side = RIGHT if desk.best_missing_left[rank] else LEFT
    first, last = int64(nodes.first[node]), int64(nodes.last[node])
    known = problem.steps.sort(slots, feature, first, last)
    keys, n_listed, before = present_keys(scratch), int64(0), int64(-1)
    for i in range(known):
        category = int64(keys[i] >> uint64(32))
        if category != before and desk.member[member_at + category] == side:
            keys[n_listed] = uint64(category)
            n_listed += 1
        before = category
    return n_listed


@inlined
def write_list(nodes, start, n_words, scratch, n_listed):
    """Write listed categories into the sets, two in a word; the last half may be empty."""
    keys = present_keys(scratch)
    for w in range(n_words):
        second = keys[2 * w + 1] if 2 * w + 1 < n_listed else uint64(NO_CATEGORY)
        nodes.sets[start + w] = keys[2 * w] | (second << uint64(32))


@step(KeepSet)
def keep_category_set(slots, node, rank, desk_at):
    """Write the bit set of categories that go left, or list those that are few.

    A category the node has not seen goes where its missing values go.
    """
    problem, nodes = load_problem(slots, PROBLEM_AT), load_nodes(slots, NODES_AT)
    desk, shared = load_desk(slots, desk_at), load_desk(slots, TEAM_DESK_AT).words
    feature, scratch = desk.best_feature[rank], load_scratch(slots, SCRATCH_AT)
    n_categories = problem.n_codes[feature]
    n_words, n_listed = (n_categories + WORD_BITS - 1) // WORD_BITS, int64(-1)
    if is_listed(problem, feature):
        n_listed = list_side(problem, nodes, node, scratch, slots, desk, rank)
        n_words = (n_listed + 1) // 2
    start = claim(shared, WORD_SETS, n_words, problem.room.threads == 1)
    nodes.set_start[node] = start
    nodes.set_length[node] = n_words
    if n_listed >= 0:
        write_list(nodes, start, n_words, scratch, n_listed)
        return
    missing_left = desk.best_missing_left[rank]
    member_at = rank * problem.max_categories
    for w in range(n_words):
        bits = uint64(0)
        for b in range(min(WORD_BITS, n_categories - w * WORD_BITS)):
            side = desk.member[member_at + w * WORD_BITS + b]
            if side == LEFT or (side == ABSENT and missing_left):
                bits |= uint64(1) << uint64(b)
        nodes.sets[start + w] = bits

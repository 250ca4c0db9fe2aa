"""Merge the categories of a feature into groups, as C4.5 does when asked to.

Every category that occurs begins as a group. As long as there are more than two, the two
whose merger gives the best gain ratio become one, unless every merger lowers it. Of many
categories the rarest are one group from the beginning.

With the sums F over x * log2(x), merging groups i and j lowers the gain by
``loss = F(w_i + w_j) - F(w_i) - F(w_j) - (sums of the classes likewise)`` and the split
information by ``saving = F(w_i + w_j) - F(w_i) - F(w_j)``, both divided by the weight; a
pair keeps these numbers until one of it is merged.
"""

from __future__ import annotations

from numba import int64

from hornbeam.kernels.quinlan.measure import LEAST, TIE, bits
from hornbeam.kernels.quinlan.search import count_cells
from hornbeam.kernels.quinlan.state import (
    ENTRIES_AT,
    FOUND_AT,
    MOST_GROUPED,
    NODES_AT,
    SCRATCH_AT,
    TABLE_AT,
    GroupCategories,
    load_entries,
    load_found,
    load_nodes,
    load_scratch,
    load_table,
)
from hornbeam.runtime.kernel import part, step


@part
def measure_pair(scratch, n_classes, one, two):
    """Write what a merger of two groups costs and saves; ``one`` < ``two``."""
    cells, weight = scratch.cells, scratch.branch_weight
    saving = bits(weight[one] + weight[two]) - bits(weight[one]) - bits(weight[two])
    loss = saving
    for label in range(n_classes):
        a, b = cells[one * n_classes + label], cells[two * n_classes + label]
        if a > 0.0 and b > 0.0:
            loss -= bits(a + b) - bits(a) - bits(b)
    scratch.loss[one * MOST_GROUPED + two] = loss
    scratch.saving[one * MOST_GROUPED + two] = saving


@part
def add_group(scratch, n_classes, one, two):
    """Add the cells of a group to another's."""
    for label in range(n_classes):
        scratch.cells[one * n_classes + label] += scratch.cells[two * n_classes + label]
    scratch.branch_weight[one] += scratch.branch_weight[two]


@part
def move_group(scratch, n_codes, n_classes, one, two):
    """Give group ``two`` the number ``one``, which nobody has any more."""
    for label in range(n_classes):
        scratch.cells[one * n_classes + label] = scratch.cells[two * n_classes + label]
    scratch.branch_weight[one] = scratch.branch_weight[two]
    for code in range(n_codes):
        if scratch.group[code] == two:
            scratch.group[code] = one


@part
def first_groups(scratch, n_codes, n_classes):
    """A group per category that occurs (-1: it does not); returns how many groups.

    Of more than MOST_GROUPED categories the rarest share the last group.
    """
    cells, weight, group = scratch.cells, scratch.branch_weight, scratch.group
    n_groups = int64(0)
    for code in range(n_codes):
        here = 0.0
        for label in range(n_classes):
            here += cells[code * n_classes + label]
        group[code] = -1
        weight[code] = here
        n_groups += here > 0.0
    bound, n_bound = 0.0, int64(0)  # categories up to this weight share a group
    while n_groups - n_bound > MOST_GROUPED - 1 and n_groups > MOST_GROUPED:
        heavier = 1e300
        for code in range(n_codes):
            if weight[code] > bound:
                heavier = min(heavier, weight[code])
        bound, n_bound = heavier, int64(0)
        for code in range(n_codes):
            n_bound += 0.0 < weight[code] <= bound
    number, shared = int64(0), int64(-1)
    for code in range(n_codes):
        here = weight[code]
        if here <= 0.0:
            continue
        if here <= bound and shared >= 0:
            group[code] = shared
            for label in range(n_classes):
                cells[shared * n_classes + label] += cells[code * n_classes + label]
            weight[shared] += here
            continue
        if here <= bound:
            shared = number
        group[code] = number
        if number != code:
            for label in range(n_classes):
                cells[number * n_classes + label] = cells[code * n_classes + label]
        weight[number] = here
        number += 1
    return number


@step(GroupCategories)
def group_categories(slots, node, feature, first, last):
    """Merge categories while that improves the gain ratio; ``group`` keeps the result.

    Returns the number of groups.
    """
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    entries, found = load_entries(slots, ENTRIES_AT), load_found(slots, FOUND_AT)
    scratch = load_scratch(slots, SCRATCH_AT)
    n_classes, n_codes = table.n_classes, table.n_codes[feature]
    total = nodes.weight[node]
    unknown = count_cells(table, entries, scratch, feature, first, last)
    known, base = total - unknown, 0.0
    for label in range(n_classes):
        missing = scratch.cells[n_codes * n_classes + label]
        base += bits(max(nodes.counts[node * n_classes + label] - missing, 0.0))
    n_groups = first_groups(scratch, n_codes, n_classes)
    inner, outer = 0.0, 0.0
    for one in range(n_groups):
        outer += bits(scratch.branch_weight[one])
        for label in range(n_classes):
            inner += bits(scratch.cells[one * n_classes + label])
        for two in range(one + 1, n_groups):
            measure_pair(scratch, n_classes, one, two)
    gain = (bits(known) - base - outer + inner) / total
    info = (bits(total) - outer - bits(unknown)) / total
    while n_groups > 2:
        best, best_one, best_two = -1.0, int64(-1), int64(-1)
        for one in range(n_groups):
            for two in range(one + 1, n_groups):
                pair = one * MOST_GROUPED + two
                less_info = info - scratch.saving[pair] / total
                if less_info > TIE:
                    ratio = (gain - scratch.loss[pair] / total) / less_info
                    if ratio > best + TIE:
                        best, best_one, best_two = ratio, one, two
        if best_one < 0 or best < gain / info - TIE:
            break
        pair = best_one * MOST_GROUPED + best_two
        gain -= scratch.loss[pair] / total
        info -= scratch.saving[pair] / total
        add_group(scratch, n_classes, best_one, best_two)
        for code in range(n_codes):
            if scratch.group[code] == best_two:
                scratch.group[code] = best_one
        n_groups -= 1
        if best_two != n_groups:
            move_group(scratch, n_codes, n_classes, best_two, n_groups)
        for one in range(n_groups):
            for two in (best_one, best_two):
                if two < n_groups and one != two:
                    measure_pair(scratch, n_classes, min(one, two), max(one, two))
    n_large = int64(0)
    for one in range(n_groups):
        n_large += scratch.branch_weight[one] >= table.settings.min_leaf - LEAST
    if n_large >= 2 and gain > TIE:
        found.gain[feature] = gain
        found.info[feature] = info
    return n_groups

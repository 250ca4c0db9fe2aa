"""Make a split: part the entries of a node between its branches.

An entry whose value is missing goes to every branch that has any known weight, with the
share of its weight that the branch has of the known weight. The shares add up to one.
"""

from __future__ import annotations

from numba import int64

from hornbeam.dtypes import MULTIWAY, SUBSET, THRESHOLD
from hornbeam.kernels.pieces import column_of, next_run
from hornbeam.kernels.quinlan.search import fits_cells
from hornbeam.kernels.quinlan.state import (
    ENTRIES_AT,
    FOUND_AT,
    GROUPS_FULL,
    MISSING_CODE,
    NODES_AT,
    NODES_FULL,
    SCRATCH_AT,
    STACK_FULL,
    TABLE_AT,
    WORD_FULL,
    WORD_GROUPS,
    WORD_NODES,
    SplitNode,
    load_entries,
    load_found,
    load_nodes,
    load_scratch,
    load_table,
)
from hornbeam.runtime.kernel import part, step


@part
def branch_of(table, nodes, node, feature, code):
    """Branch of a code at a node, -1 if the value is missing and has no branch of its own."""
    if code == MISSING_CODE:
        return table.n_codes[feature] if table.missing_is_branch[feature] else int64(-1)
    if nodes.kind[node] == THRESHOLD:
        return int64(code > nodes.cut[node])
    if nodes.kind[node] == SUBSET:
        return int64(nodes.branch_of[nodes.groups[node] + code])
    return code


@part
def weigh_branches(table, nodes, entries, scratch, node, first, last):
    """Sum up what goes down each branch; returns how many entries the children will have."""
    n_branches, feature = int64(nodes.branches[node]), int64(nodes.feature[node])
    weight, size, row = scratch.branch_weight, scratch.branch_size, entries.row
    for branch in range(n_branches):
        weight[branch] = 0.0
        size[branch] = 0
    known, n_missing, begin = 0.0, int64(0), first
    while begin < last:
        page, end = next_run(table, row, begin, last)
        codes, offset = page.ranks, column_of(page, feature)
        for i in range(begin, end):
            branch = branch_of(table, nodes, node, feature, int64(codes[offset + row[i]]))
            if branch >= 0:
                weight[branch] += entries.weight[i]
                size[branch] += 1
                known += entries.weight[i]
            else:
                n_missing += 1
        begin = end
    n_entries = int64(0)
    for branch in range(n_branches):
        if size[branch] > 0:
            weight[branch] /= known  # from here on the share of an entry that is missing
            size[branch] += n_missing
            n_entries += size[branch]
    return n_entries


@part
def part_entries(table, nodes, entries, scratch, node, first, last, sizes, weights, counts):
    """Replace a node's entries on the stack by its children's, the first child on top.

    Call `weigh_branches` before. What the children have is written to ``sizes``,
    ``weights`` and ``counts``.
    """
    n_branches, child = int64(nodes.branches[node]), int64(nodes.child[node])
    n_classes, feature = table.n_classes, int64(nodes.feature[node])
    place, n_entries = scratch.branch_place, int64(0)
    for branch in range(n_branches - 1, -1, -1):
        place[branch] = n_entries
        n_entries += scratch.branch_size[branch]
        sizes[child + branch] = scratch.branch_size[branch]
        weights[child + branch] = 0.0
        for label in range(n_classes):
            counts[(child + branch) * n_classes + label] = 0.0
    begin = first
    while begin < last:
        page, end = next_run(table, entries.row, begin, last)
        codes, offset = page.ranks, column_of(page, feature)
        for i in range(begin, end):
            row, label, weight = entries.row[i], entries.label[i], entries.weight[i]
            branch = branch_of(table, nodes, node, feature, int64(codes[offset + row]))
            start, stop = branch, branch + 1
            if branch < 0:
                start, stop = int64(0), n_branches
            for b in range(start, stop):
                if scratch.branch_size[b] == 0:
                    continue
                share = weight * scratch.branch_weight[b] if branch < 0 else weight
                entries.new_row[place[b]] = row
                entries.new_label[place[b]] = label
                entries.new_weight[place[b]] = share
                place[b] += 1
                weights[child + b] += share
                counts[(child + b) * n_classes + label] += share
        begin = end
    for i in range(n_entries):
        entries.row[first + i] = entries.new_row[i]
        entries.label[first + i] = entries.new_label[i]
        entries.weight[first + i] = entries.new_weight[i]


@part
def note_groups(slots, table, nodes, found, scratch, node, feature, first, last):
    """Group the categories once more and keep the result; False if there is no room.

    Categories that do not occur in the node go where most of its weight goes.
    """
    n_codes = table.n_codes[feature]
    start = found.words[WORD_GROUPS]
    if start + n_codes > table.capacity.groups:
        return False
    n_groups = table.steps.group(slots, node, feature, first, last)
    largest = int64(0)
    for group in range(n_groups):
        if scratch.branch_weight[group] > scratch.branch_weight[largest]:
            largest = group
    for code in range(n_codes):
        group = int64(scratch.group[code])
        nodes.branch_of[start + code] = group if group >= 0 else largest
    nodes.groups[node] = start
    nodes.kind[node] = SUBSET
    nodes.branches[node] = n_groups
    found.words[WORD_GROUPS] = start + n_codes
    return True


@step(SplitNode)
def split_node(slots, node, feature, first, last):
    """Split a node; returns how many entries its children have, -1 if there is no room."""
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    entries, found = load_entries(slots, ENTRIES_AT), load_found(slots, FOUND_AT)
    scratch = load_scratch(slots, SCRATCH_AT)
    child = found.words[WORD_NODES]
    n_branches = int64(2)
    if table.is_category[feature]:
        n_branches = table.n_codes[feature] + int64(table.missing_is_branch[feature])
    if child + n_branches > table.capacity.nodes:
        found.words[WORD_FULL] = NODES_FULL
        return -1
    nodes.feature[node] = feature
    nodes.branches[node] = n_branches
    nodes.kind[node] = MULTIWAY if table.is_category[feature] else THRESHOLD
    nodes.cut[node] = found.cut[feature]
    nodes.child[node] = child
    n_groups = found.words[WORD_GROUPS]
    grouped = table.is_category[feature] and table.settings.with_groups
    grouped = grouped and fits_cells(table, feature, first, last)
    if grouped and not note_groups(slots, table, nodes, found, scratch, node, feature, first, last):
        found.words[WORD_FULL] = GROUPS_FULL
        return -1
    n_entries = weigh_branches(table, nodes, entries, scratch, node, first, last)
    if first + n_entries > table.capacity.waiting:
        found.words[WORD_GROUPS] = n_groups
        found.words[WORD_FULL] = STACK_FULL
        return -1
    part_entries(
        table, nodes, entries, scratch, node, first, last, nodes.size, nodes.weight, nodes.counts
    )
    n_branches = int64(nodes.branches[node])
    for branch in range(n_branches):
        nodes.depth[child + branch] = nodes.depth[node] + 1
    found.words[WORD_NODES] = child + n_branches
    return n_entries

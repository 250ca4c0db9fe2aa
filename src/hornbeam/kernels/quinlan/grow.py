"""The growth loop of ID3 and C4.5: take the top node of the stack, search it, split it.

Large nodes are searched by all threads, feature by feature; everything else is done by
the first thread while the others wait. So no result depends on how many there are.
"""

from __future__ import annotations

from numba import int64, types

from hornbeam.dtypes import LEAF
from hornbeam.kernels.quinlan.measure import LEAST, TIE
from hornbeam.kernels.quinlan.split import part_entries, weigh_branches
from hornbeam.kernels.quinlan.state import (
    ENTRIES_AT,
    FINISHED,
    FOUND_AT,
    LEAVES_FULL,
    NODES_AT,
    SCRATCH_AT,
    SEARCHING,
    TABLE_AT,
    WORD_CHOSEN,
    WORD_FULL,
    WORD_LEAVES,
    WORD_MODE,
    WORD_NODE,
    WORD_STACK,
    WORD_WAITING,
    ChooseFeature,
    load_entries,
    load_found,
    load_nodes,
    load_scratch,
    load_table,
)
from hornbeam.runtime.atomics import (
    NEXT_TASK,
    STOP,
    atomic_add,
    atomic_load,
    barrier,
)
from hornbeam.runtime.kernel import kernel, part, step
from hornbeam.runtime.pointers import bare

AVERAGE_SLACK = 1e-3  # in bits; Quinlan's, for gains that are as good as the average


@part
def is_worth_a_search(table, nodes, node):
    """Whether a node can be split at all: not pure, large enough, not too deep."""
    n_classes = table.n_classes
    if nodes.depth[node] >= table.settings.max_depth:
        return False
    if nodes.weight[node] < table.settings.min_split - LEAST:
        return False
    n_present = int64(0)
    for label in range(n_classes):
        n_present += nodes.counts[node * n_classes + label] > 0.0
    return n_present > 1


@step(ChooseFeature)
def choose_feature(slots, node):
    """The feature to split on, -1 for none.

    C4.5 takes the best gain ratio among the features whose gain is at least the average;
    ID3 takes the best gain, unless its share of the whole tree's weight is too small. Where no
    feature gains anything, C4.5 takes the best ratio of categories that have proven nothing:
    together with another feature they may still tell.
    """
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    found = load_found(slots, FOUND_AT)
    n_features, ratio = table.n_features, table.settings.by_ratio
    total, count = 0.0, int64(0)
    for feature in range(n_features):
        if table.is_counted[feature] and found.gain[feature] >= 0.0:
            total += found.gain[feature]
            count += 1
    average = total / float(count) - AVERAGE_SLACK if count > 0 and ratio else 0.0
    best, chosen = 0.0 if ratio else -1.0, int64(-1)
    for feature in range(n_features):
        gain, info = found.gain[feature], found.info[feature]
        if gain < 0.0 or gain < average or (ratio and info <= TIE):
            continue
        worth = gain / info if ratio else gain
        if worth > best + TIE:
            best, chosen = worth, feature
    for feature in range(n_features if chosen < 0 else 0):
        gain, info = found.unproven[feature], found.info[feature]
        if gain > TIE and info > TIE and gain / info > best + TIE:
            best, chosen = gain / info, feature
            found.gain[feature] = gain
    if chosen >= 0:
        relative = found.gain[chosen] * nodes.weight[node] / table.root_weight
        if relative < table.settings.min_decrease:
            return -1
    return chosen


@part
def finish_leaf(nodes, entries, found, node, first, last):
    """Move the entries of a leaf from the stack to those of the leaves."""
    words = found.words
    start = words[WORD_LEAVES]
    nodes.kind[node] = LEAF
    for i in range(first, last):
        entries.leaf_row[start + i - first] = entries.row[i]
        entries.leaf_label[start + i - first] = entries.label[i]
        entries.leaf_weight[start + i - first] = entries.weight[i]
    words[WORD_LEAVES] = start + last - first
    words[WORD_STACK] = first
    words[WORD_WAITING] -= 1


@part
def search_features(slots, table, nodes, entries, found):
    """Search features as long as there are some that no thread has taken."""
    node = found.words[WORD_NODE]
    last = found.words[WORD_STACK]
    first = last - nodes.size[node]
    while True:
        feature = atomic_add(found.words, NEXT_TASK, 1)
        if feature >= table.n_features or atomic_load(found.words, STOP) != 0:
            return
        found.gain[feature], found.unproven[feature] = -1.0, 0.0
        if table.is_category[feature]:
            table.steps.search_category(slots, node, feature, first, last)
        else:
            table.steps.search_number(slots, node, feature, first, last)


@part
def work_on_top(slots, table, nodes, entries, found):
    """Choose and make the split of the top node, or make it a leaf; False: no room."""
    words = found.words
    node = words[WORD_NODE]
    last = words[WORD_STACK]
    first = last - nodes.size[node]
    feature = int64(-1)
    if words[WORD_CHOSEN]:
        feature = table.steps.choose(slots, node)
    if feature < 0:
        if words[WORD_LEAVES] + last - first > table.capacity.leaves:
            words[WORD_FULL] = LEAVES_FULL
            return False
        finish_leaf(nodes, entries, found, node, first, last)
        return True
    n_entries = table.steps.split(slots, node, feature, first, last)
    if n_entries < 0:
        return False
    words[WORD_STACK] = first + n_entries
    waiting = words[WORD_WAITING] - 1
    child, n_branches = int64(nodes.child[node]), int64(nodes.branches[node])
    for branch in range(n_branches - 1, -1, -1):
        entries.waiting[waiting] = child + branch
        waiting += 1
    words[WORD_WAITING] = waiting
    return True


@kernel
def grow_quinlan(slots, rank, size):
    """Grow the tree until no node waits or an array is full; every thread calls this."""
    slots = bare(slots)
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    entries, found = load_entries(slots, ENTRIES_AT), load_found(slots, FOUND_AT)
    words = found.words
    while rank > 0:
        barrier(words, size)
        if words[WORD_MODE] == FINISHED or atomic_load(words, STOP) != 0:
            return
        search_features(slots, table, nodes, entries, found)
        barrier(words, size)
    going = True
    while going and words[WORD_WAITING] > 0 and atomic_load(words, STOP) == 0:
        node = int64(entries.waiting[words[WORD_WAITING] - 1])
        words[WORD_NODE] = node
        nodes.first[node] = words[WORD_LEAVES]
        words[WORD_CHOSEN] = is_worth_a_search(table, nodes, node)
        if words[WORD_CHOSEN]:
            words[NEXT_TASK] = 0
            if size > 1 and nodes.size[node] * table.n_features >= table.n_together:
                words[WORD_MODE] = SEARCHING
                barrier(words, size)
                search_features(slots, table, nodes, entries, found)
                barrier(words, size)
            else:
                search_features(slots, table, nodes, entries, found)
        going = work_on_top(slots, table, nodes, entries, found)
    words[WORD_MODE] = FINISHED
    barrier(words, size)


@kernel
def refill(slots, root, n_entries, sizes, weights, counts, visited):
    """Send entries down a subtree as it is, for `hornbeam.quinlan.pruning`.

    The entries are the first ones of the stack. What each node of the subtree gets is
    written to ``sizes``, ``weights`` and ``counts``, its nodes to ``visited``, parents
    first. Returns how many these are, -1 if the stack is too small.
    """
    slots = bare(slots)
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    entries, scratch = load_entries(slots, ENTRIES_AT), load_scratch(slots, SCRATCH_AT)
    n_classes = table.n_classes
    sizes[root], weights[root] = n_entries, 0.0
    for label in range(n_classes):
        counts[root * n_classes + label] = 0.0
    for i in range(n_entries):
        weights[root] += entries.weight[i]
        counts[root * n_classes + entries.label[i]] += entries.weight[i]
    entries.waiting[0] = root
    n_waiting, n_visited, last = int64(1), int64(0), int64(n_entries)
    while n_waiting > 0:
        n_waiting -= 1
        node = int64(entries.waiting[n_waiting])
        visited[n_visited] = node
        n_visited += 1
        first = last - sizes[node]
        if nodes.kind[node] == LEAF:
            last = first
            continue
        needed = weigh_branches(table, nodes, entries, scratch, node, first, last)
        if first + needed > table.capacity.waiting:
            return int64(-1)
        part_entries(table, nodes, entries, scratch, node, first, last, sizes, weights, counts)
        last = first + needed
        child = int64(nodes.child[node])
        for branch in range(int64(nodes.branches[node]) - 1, -1, -1):
            entries.waiting[n_waiting] = child + branch
            n_waiting += 1
    return n_visited


GROW_SIGNATURE = types.void(types.Array(int64, 1, "C"), int64, int64)

"""How ID3 and C4.5 grow: the steps of the driver (kernels/driver.py).

Growth is depth first, and the entries of a node are those on top of the stack of the nodes that
wait. Large nodes are searched by all threads, feature by feature; everything else is done by the
first thread while the others wait. So no result depends on how many there are.
"""

from __future__ import annotations

from numba import int64

from hornbeam.dtypes import LEAF
from hornbeam.kernels.driver import (
    ALONE,
    FINISHED,
    FULL,
    STOPPED,
    TOGETHER,
    ScanSums,
    SettleSplits,
    TakeNodes,
)
from hornbeam.kernels.frontier import WORD_WAITING, pop, push
from hornbeam.kernels.quinlan.measure import LEAST, TIE
from hornbeam.kernels.quinlan.split import part_entries, weigh_branches
from hornbeam.kernels.quinlan.state import (
    ENTRIES_AT,
    FOUND_AT,
    LEAVES_FULL,
    NODES_AT,
    SCRATCH_AT,
    TABLE_AT,
    WORD_FULL,
    WORD_LEAVES,
    WORD_NODE,
    WORD_STACK,
    load_entries,
    load_found,
    load_nodes,
    load_scratch,
    load_table,
)
from hornbeam.runtime.atomics import NEXT_TASK, STOP, atomic_load, claim
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


@part
def choose_feature(table, nodes, found, node):
    """The feature to split on, -1 for none.

    C4.5 takes the best gain ratio among the features whose gain is at least the average;
    ID3 takes the best gain, unless its share of the whole tree's weight is too small. Where no
    feature gains anything, C4.5 takes the best ratio of categories that have proven nothing:
    together with another feature they may still tell.
    """
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
            return int64(-1)
    return chosen


@part
def finish_leaf(table, nodes, entries, found, node, first, last):
    """Move the entries of a leaf from the stack to those of the leaves, if there is room."""
    words = found.words
    start = words[WORD_LEAVES]
    if start + last - first > table.capacity.leaves:
        wait_for_room(nodes, found, node, LEAVES_FULL)
        return
    nodes.kind[node] = LEAF
    for i in range(first, last):
        entries.leaf_row[start + i - first] = entries.row[i]
        entries.leaf_label[start + i - first] = entries.label[i]
        entries.leaf_weight[start + i - first] = entries.weight[i]
    words[WORD_LEAVES] = start + last - first
    words[WORD_STACK] = first


@part
def wait_for_room(nodes, found, node, what):
    """Put a node back on the frontier until there is room."""
    found.words[WORD_FULL] = what
    push(found.frontier, found.words, node, nodes.depth[node], 0.0)


@step(TakeNodes)
def take_node(slots, at, size):
    """Take the top node of the stack that may be split; those before it are leaves."""
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    entries, found = load_entries(slots, ENTRIES_AT), load_found(slots, at)
    words = found.words
    while atomic_load(words, STOP) == 0:
        if words[WORD_FULL] != 0:
            return FULL
        node = pop(found.frontier, words)
        if node < 0:
            return FINISHED
        words[WORD_NODE] = node
        nodes.first[node] = words[WORD_LEAVES]
        if is_worth_a_search(table, nodes, node):
            words[NEXT_TASK] = 0
            is_large = nodes.size[node] * table.n_features >= table.n_together
            return TOGETHER if size > 1 and is_large else ALONE
        last = words[WORD_STACK]
        finish_leaf(table, nodes, entries, found, node, last - nodes.size[node], last)
    return STOPPED


@step(ScanSums)
def search_features(slots, at, rank, size):
    """Search features as long as there are some that no thread has taken."""
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    found = load_found(slots, at)
    words = found.words
    node, last = words[WORD_NODE], words[WORD_STACK]
    first = last - nodes.size[node]
    while True:
        feature = claim(words, NEXT_TASK, 1, size == 1)
        if feature >= table.n_features or atomic_load(words, STOP) != 0:
            return
        found.gain[feature], found.unproven[feature] = -1.0, 0.0
        if table.is_category[feature]:
            table.steps.search_category(slots, node, feature, first, last)
        else:
            table.steps.search_number(slots, node, feature, first, last)


@step(SettleSplits)
def settle_node(slots, at, size):
    """Choose and make the split of the top node, or make it a leaf."""
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    entries, found = load_entries(slots, ENTRIES_AT), load_found(slots, at)
    words = found.words
    node, last = words[WORD_NODE], words[WORD_STACK]
    first = last - nodes.size[node]
    feature = choose_feature(table, nodes, found, node)
    if feature < 0:
        finish_leaf(table, nodes, entries, found, node, first, last)
        return
    n_entries = table.steps.split(slots, node, feature, first, last)
    if n_entries < 0:
        wait_for_room(nodes, found, node, words[WORD_FULL])
        return
    words[WORD_STACK] = first + n_entries
    child = int64(nodes.child[node])
    for branch in range(child, child + int64(nodes.branches[node])):
        push(found.frontier, words, branch, nodes.depth[branch], 0.0)


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
    frontier, words = load_found(slots, FOUND_AT).frontier, load_found(slots, FOUND_AT).words
    n_classes = table.n_classes
    sizes[root], weights[root] = n_entries, 0.0
    for label in range(n_classes):
        counts[root * n_classes + label] = 0.0
    for i in range(n_entries):
        weights[root] += entries.weight[i]
        counts[root * n_classes + entries.label[i]] += entries.weight[i]
    words[WORD_WAITING] = 0
    push(frontier, words, root, nodes.depth[root], 0.0)
    n_visited, last = int64(0), int64(n_entries)
    while words[WORD_WAITING] > 0:
        node = pop(frontier, words)
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
        for branch in range(child, child + int64(nodes.branches[node])):
            push(frontier, words, branch, nodes.depth[branch], 0.0)
    return n_visited

"""Turn what growing leaves behind into stored trees.

Nodes are numbered anew level by level (`number_nodes`), codes become thresholds and category sets
in the user's units, sums become predictions. `store_nodes` makes the arrays of all binary trees;
what differs between CART and boosting is where thresholds, sets and predictions come from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hornbeam.dtypes import (
    FEATURE,
    LEAF,
    LISTED,
    NO_CHILD,
    NO_FEATURE,
    NODE,
    SPLIT_KIND,
    STAT,
    SUBSET,
    THRESHOLD,
    WORD,
    Array,
)
from hornbeam.kernels import state as s
from hornbeam.tree.rules import LIST_FROM
from hornbeam.tree.sets import ranges, unfold_sets
from hornbeam.tree.storage import Tree

if TYPE_CHECKING:
    from hornbeam.criteria import Criterion
    from hornbeam.data.coding import Codes
    from hornbeam.tree.rules import GrowthRules


class Asked(NamedTuple):
    """The nodes of some trees in the order in which they are stored, and what they ask."""

    order: Array  # their numbers while they grew
    node_start: Array  # where the nodes of each tree begin, and the end
    first_child: Array  # counted from the root of the tree
    feature: Array
    of_categories: Array  # bool, as the next
    of_numbers: Array


def number_nodes(
    roots: Array, first_of: Callable[[Array], Array], feature: Array, is_category: Array
) -> Asked:
    """Number the nodes of grown trees tree by tree and level by level.

    ``first_of(nodes)`` is the first child of each of some nodes, -1 of a leaf; ``feature`` is
    what nodes ask, by the numbers that they grew with.
    """
    levels, firsts = [roots], []
    while len(levels[-1]):
        firsts.append(first_of(levels[-1]))
        left = firsts[-1][firsts[-1] >= 0]
        levels.append(np.column_stack([left, left + 1]).ravel())
    order, split = np.concatenate(levels), np.concatenate(firsts) >= 0
    node_start: Array = np.array([0, len(order)])
    own: Array = np.cumsum(split) - split
    if len(roots) != 1:  # trees one after the other; of one tree that is the order by levels
        tree = _trees_of(len(roots), firsts)
        by_tree = np.argsort(tree, kind="stable")
        order, tree, split = order[by_tree], tree[by_tree], split[by_tree]
        node_start = np.concatenate([[0], np.cumsum(np.bincount(tree, minlength=len(roots)))])
        before: Array = np.cumsum(split) - split  # splits of nodes before this one
        own = before - before[node_start[:-1]][tree]
    asked = np.where(split, feature[order], NO_FEATURE).astype(FEATURE)
    category = split.copy()
    category[split] = is_category[asked[split]] != 0
    first_child = np.where(split, 1 + 2 * own, NO_CHILD).astype(NODE)
    return Asked(order, node_start, first_child, asked, category, split & ~category)


def _trees_of(n_trees: int, firsts: Sequence[Array]) -> Array:
    """The tree of each node, level by level; ``firsts`` as in `number_nodes`."""
    trees = [np.arange(n_trees)]
    for first in firsts[:-1]:
        trees.append(np.repeat(trees[-1][first >= 0], 2))
    return np.concatenate(trees)


def store_nodes(
    asked: Asked,
    missing_left: Array,
    n_words: Array,
    set_words: Array,
    set_kind: Array | int = SUBSET,
    **statistics: Array,
) -> Tree:
    """The arrays of binary trees.

    ``n_words`` are the lengths of the sets of the nodes that ask for categories, ``set_kind`` are
    their kinds; ``statistics`` are the other fields of `Tree`.
    """
    split = asked.first_child != NO_CHILD
    kind = np.where(split, THRESHOLD, LEAF).astype(SPLIT_KIND)
    kind[asked.of_categories] = set_kind
    lengths = np.zeros(len(kind) + 1, np.int64)
    lengths[1:][asked.of_categories] = n_words
    return Tree(
        first_child=asked.first_child,
        n_branches=np.where(split, 2, 0).astype(NODE),
        feature=asked.feature,
        kind=kind,
        missing_branch=np.where(split, 1 - missing_left, 0).astype(NODE),
        set_start=np.cumsum(lengths),
        set_words=set_words,
        **statistics,
    )


def build_tree(
    nodes: s.Nodes,
    codes: Codes,
    criterion: Criterion,
    rules: GrowthRules,
    value_at: Callable[[Array, Array], Array],
) -> Tree:
    """Store a grown tree."""

    def first_of(level: Array) -> Array:
        return np.where(nodes.state[level] == s.SPLIT, nodes.child[level], -1)

    asked = number_nodes(np.zeros(1, np.int64), first_of, nodes.feature, codes.is_category)
    order, of_sets = asked.order, asked.feature[asked.of_categories]
    sets = category_sets(nodes, order[asked.of_categories])
    listed = rules.list_sets & (codes.n_codes[of_sets] > LIST_FROM)
    return store_nodes(
        asked,
        nodes.missing_left[order],
        *unfold_sets(*sets, of_sets, codes.category_code),
        set_kind=np.where(listed, LISTED, SUBSET),
        threshold=_thresholds(nodes, asked, codes, rules, value_at),
        n_samples=(nodes.last[order] - nodes.first[order]).astype(np.int64),
        weight=nodes.weight[order],
        impurity=nodes.impurity[order],
        value=_values(nodes, order, criterion, rules),
    )


def _thresholds(
    nodes: s.Nodes,
    asked: Asked,
    codes: Codes,
    rules: GrowthRules,
    value_at: Callable[[Array, Array], Array],
) -> Array:
    """Thresholds in the user's units: the middle between the two sides of each split."""
    order, feature, ordered = asked.order, asked.feature, asked.of_numbers
    threshold = np.full(len(order), np.nan)
    threshold[ordered] = np.inf  # all known values left, the missing ones right
    if rules.random_cuts:
        threshold[ordered] = nodes.threshold[order[ordered]]
        return threshold
    between = np.flatnonzero(ordered & (nodes.high_code[order] >= 0))
    old, features = order[between], feature[between]
    if not codes.as_bytes:
        low = value_at(nodes.low_row[old], features).astype(np.float64)
        high = value_at(nodes.high_row[old], features).astype(np.float64)
    else:
        start = codes.edge_start[features]
        low = codes.edges[start + nodes.low_code[old]]
        high = codes.edges[start + nodes.high_code[old] - 1]
    middle = low / 2.0 + high / 2.0
    # a middle that rounds up to the larger value would send it left
    threshold[between] = np.where((middle >= high) & (low < high), low, middle) + 0.0
    return threshold


def category_sets(nodes: s.Nodes, asking: Array) -> tuple[Array, Array]:
    """Sets over codes of nodes that ask for categories: length of each, one after the other."""
    places = nodes.set_start[asking]
    n_words = nodes.set_length[asking].astype(np.int64)
    if n_words.max(initial=1) > 1:
        places = ranges(places, n_words)
    return n_words, nodes.sets[places].astype(WORD, copy=False)


def _values(nodes: s.Nodes, order: Array, criterion: Criterion, rules: GrowthRules) -> Array:
    """What each node predicts: class shares, means or medians, within their bounds."""
    weight = nodes.weight[order, None]
    totals = nodes.totals.reshape(len(nodes.weight), -1)[order]
    if criterion.summed == "classes":
        value = totals / weight
    elif criterion.summed == "order":
        value = totals[:, 1:]
    else:
        value = totals[:, 1 : 1 + totals.shape[1] // 2] / weight
    value = np.ascontiguousarray(value, STAT)
    if rules.monotone is not None:
        value[:, -1] = np.clip(value[:, -1], nodes.lower[order], nodes.upper[order])
        if criterion.summed == "classes":
            value[:, 0] = 1.0 - value[:, 1]
    return value

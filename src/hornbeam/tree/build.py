"""Turn what growing leaves behind into a stored `Tree`: the one conversion point.

Nodes are renumbered level by level, codes become thresholds and category sets in the
user's units, sums become predictions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

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


def build_tree(
    nodes: s.Nodes,
    codes: Codes,
    criterion: Criterion,
    rules: GrowthRules,
    value_at: Callable[[Array, Array], Array],
) -> Tree:
    """Store a grown tree."""
    order, first_child = _number_by_level(nodes)
    split = first_child != NO_CHILD
    feature = np.where(split, nodes.feature[order], NO_FEATURE).astype(FEATURE)
    category = np.zeros(len(order), bool)
    category[split] = codes.is_category[feature[split]] != 0
    n_words = np.zeros(len(order), np.int64)
    n_words[category], set_words = unfold_sets(
        *category_sets(nodes, order[category]), feature[category], codes.category_code
    )
    kind = np.where(split, THRESHOLD, LEAF).astype(SPLIT_KIND)
    listed = rules.list_sets & (codes.n_codes[feature[category]] > LIST_FROM)
    kind[category] = np.where(listed, LISTED, SUBSET)
    return Tree(
        first_child=first_child,
        n_branches=np.where(split, 2, 0).astype(NODE),
        feature=feature,
        kind=kind,
        threshold=_thresholds(nodes, order, feature, split & ~category, codes, rules, value_at),
        missing_branch=np.where(split, 1 - nodes.missing_left[order], 0).astype(NODE),
        set_start=np.concatenate([[0], np.cumsum(n_words)]),
        set_words=set_words,
        n_samples=(nodes.last[order] - nodes.first[order]).astype(np.int64),
        weight=nodes.weight[order],
        impurity=nodes.impurity[order],
        value=_values(nodes, order, criterion, rules),
    )


def _number_by_level(nodes: s.Nodes) -> tuple[Array, Array]:
    """Old numbers of the tree's nodes in their new order, and the new first children."""
    levels, first_child = [np.zeros(1, np.int64)], []
    next_number = 1
    while len(levels[-1]):
        level = levels[-1]
        split = nodes.state[level] == s.SPLIT
        numbers = np.full(len(level), NO_CHILD, NODE)
        numbers[split] = next_number + 2 * np.arange(np.count_nonzero(split))
        first_child.append(numbers)
        child = nodes.child[level[split]]
        levels.append(np.column_stack([child, child + 1]).ravel())
        next_number += 2 * len(child)
    return np.concatenate(levels), np.concatenate(first_child)


def _thresholds(
    nodes: s.Nodes,
    order: Array,
    feature: Array,
    ordered: Array,
    codes: Codes,
    rules: GrowthRules,
    value_at: Callable[[Array, Array], Array],
) -> Array:
    """Thresholds in the user's units: the middle between the two sides of each split."""
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

"""Turn grown trees into stored ones: codes become thresholds and category sets.

All trees of a model are converted at once, so that it costs little per tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from hornbeam.boosting.grower import GrownTree
from hornbeam.boosting.rules import BoostRules
from hornbeam.data.coding import Codes
from hornbeam.data.sparse_coding import SparseCodes
from hornbeam.dtypes import (
    FEATURE,
    LEAF,
    NO_CHILD,
    NO_FEATURE,
    NODE,
    SPLIT_KIND,
    SUBSET,
    THRESHOLD,
    WORD,
    WORD_BITS,
    Array,
)
from hornbeam.tree.sets import SharedCodes
from hornbeam.tree.storage import Tree, Trees

AnyCodes: TypeAlias = Codes | SparseCodes


def build_trees(grown: Sequence[GrownTree], codes: AnyCodes, rules: BoostRules) -> Trees:
    """Store grown trees; ``value`` of each is what its nodes add to a score."""
    if not grown:
        return Trees.of([])
    joined = {name: np.concatenate([getattr(t, name) for t in grown]) for name in _FIELDS}
    sizes = np.array([len(tree.child) for tree in grown])
    start = np.concatenate([[0], np.cumsum(sizes)])
    order, first_child = _number_by_level(joined["child"], sizes, start)
    columns = {name: array[order] for name, array in joined.items()}
    split = first_child != NO_CHILD
    feature = np.where(split, columns["feature"], NO_FEATURE).astype(FEATURE)
    category = np.zeros(len(order), bool)
    category[split] = codes.is_category[feature[split]] != 0
    n_words, words = _category_sets(columns["member"], feature, category, codes)
    nodes = Tree(
        first_child=first_child,
        n_branches=np.where(split, 2, 0).astype(NODE),
        feature=feature,
        kind=np.where(split, np.where(category, SUBSET, THRESHOLD), LEAF).astype(SPLIT_KIND),
        threshold=_thresholds(columns["cut"], feature, split & ~category, codes),
        missing_branch=np.where(split, 1 - columns["missing_left"], 0).astype(NODE),
        set_start=np.concatenate([[0], np.cumsum(n_words)]),
        set_words=words,
        n_samples=columns["count"],
        weight=columns["hessian"],
        impurity=_impurities(columns, np.repeat([t.penalty for t in grown], sizes), rules),
        value=columns["value"].reshape(-1, 1),
    )
    shared = SharedCodes.of(codes.category_code, len(codes.n_codes))
    return Trees(nodes, start, codes=shared if len(shared.columns) else None)


_FIELDS = (
    "child", "feature", "cut", "missing_left", "member", "gradient", "hessian", "count", "value",
    "step",
)  # fmt: skip


def _number_by_level(child: Array, sizes: Array, start: Array) -> tuple[Array, Array]:
    """Old numbers of all nodes tree by tree and level by level, and the new first children."""
    child = np.where(child != 0, child + np.repeat(start[:-1], sizes), -1)
    levels = [start[:-1]]
    while len(levels[-1]):
        first = child[levels[-1]]
        first = first[first >= 0]
        levels.append(np.column_stack([first, first + 1]).ravel())
    order = np.concatenate(levels)
    tree = np.repeat(np.arange(len(sizes)), sizes)
    order = order[np.argsort(tree[order], kind="stable")]
    number = np.empty(len(order), NODE)
    number[order] = np.arange(len(order)) - np.repeat(start[:-1], sizes)
    first = child[order]
    return order, np.where(first >= 0, number[first], NO_CHILD).astype(NODE)


def _thresholds(cut: Array, feature: Array, ordered: Array, codes: AnyCodes) -> Array:
    """The upper border of the last bin that goes left; infinite if only missing go right."""
    threshold = np.full(len(cut), np.nan)
    asked = feature[ordered]
    place = codes.edge_start[asked] + cut[ordered]
    edges = np.append(codes.edges, np.inf)
    inside = place < codes.edge_start[asked + 1]
    threshold[ordered] = edges[np.where(inside, place, len(codes.edges))]
    return threshold


def _category_sets(
    member: Array, feature: Array, category: Array, codes: AnyCodes
) -> tuple[Array, Array]:
    """Bit sets over codes of the category splits, one after the other, and their lengths."""
    n_words = np.zeros(len(feature), np.int64)
    pieces = [np.empty(0, WORD)]
    for node in np.flatnonzero(category):
        column = int(feature[node])
        n_codes = int(codes.n_codes[column])
        words = member[node, : -(-n_codes // WORD_BITS)].copy()
        if n_codes % WORD_BITS:  # the bit behind the last category stands for missing
            words[-1] &= WORD((1 << (n_codes % WORD_BITS)) - 1)
        pieces.append(words)
        n_words[node] = len(words)
    return n_words, np.concatenate(pieces)


def _impurities(columns: dict[str, Array], penalty: Array, rules: BoostRules) -> Array:
    """The objective of each node per unit of its hessian.

    A split's decrease of it, weighted as in every tree, is the gain of the split.
    """
    gradient, hessian, step = columns["gradient"], columns["hessian"], columns["step"]
    objective = gradient * step + 0.5 * (hessian + penalty) * step * step
    objective += rules.reg_alpha * np.abs(step)
    return np.divide(objective, hessian, out=np.zeros(len(hessian)), where=hessian > 0)

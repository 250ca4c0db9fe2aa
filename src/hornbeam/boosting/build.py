"""Turn grown trees into stored ones: codes become thresholds and category sets.

All trees of a model are converted at once, so that it costs little per tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from hornbeam.boosting.grower import GrownTree
from hornbeam.boosting.rules import BoostRules
from hornbeam.data.coding import Codes
from hornbeam.data.facets import JointCodes, join_facets
from hornbeam.data.sparse_coding import SparseCodes
from hornbeam.dtypes import WORD, WORD_BITS, Array
from hornbeam.tree.build import Asked, number_nodes, store_nodes
from hornbeam.tree.sets import SharedCodes
from hornbeam.tree.storage import Trees

AnyCodes: TypeAlias = Codes | SparseCodes


def build_trees(grown: Sequence[GrownTree], codes: AnyCodes, rules: BoostRules) -> Trees:
    """Store grown trees; ``value`` of each is what its nodes add to a score."""
    if not grown:
        return Trees.of([])
    joined = {name: np.concatenate([getattr(t, name) for t in grown]) for name in _FIELDS}
    sizes = np.array([len(tree.child) for tree in grown])
    roots = np.cumsum(sizes) - sizes
    child = np.where(joined["child"] != 0, joined["child"] + np.repeat(roots, sizes), -1)
    joint: dict[int, JointCodes] = {}
    column, n_columns = joined["feature"], len(codes.n_codes)
    if isinstance(codes, Codes):
        joint, column, n_columns = join_facets(codes), codes.column_of(column), codes.n_columns
    asked = number_nodes(roots, child.__getitem__, column, codes.is_category)
    columns = {name: array[asked.order] for name, array in joined.items()}
    nodes = store_nodes(
        asked,
        columns["missing_left"],
        *_category_sets(columns, asked, codes, joint),
        threshold=_thresholds(columns["cut"], asked, codes),
        n_samples=columns["count"],
        weight=columns["hessian"],
        impurity=_impurities(columns, np.repeat([t.penalty for t in grown], sizes), rules),
        value=columns["value"].reshape(-1, 1),
    )
    of_category = {column: own.of_category for column, own in joint.items()}
    shared = SharedCodes.of(of_category, n_columns)
    return Trees(nodes, asked.node_start, codes=shared if len(shared.columns) else None)


_FIELDS = (
    "child", "feature", "cut", "missing_left", "member", "gradient", "hessian", "count", "value",
    "step",
)  # fmt: skip


def _thresholds(cut: Array, asked: Asked, codes: AnyCodes) -> Array:
    """The upper border of the last bin that goes left; infinite if only missing go right."""
    threshold, ordered = np.full(len(cut), np.nan), asked.of_numbers
    feature = asked.feature[ordered]
    place = codes.edge_start[feature] + cut[ordered]
    edges = np.append(codes.edges, np.inf)
    inside = place < codes.edge_start[feature + 1]
    threshold[ordered] = edges[np.where(inside, place, len(codes.edges))]
    return threshold


def _category_sets(
    columns: dict[str, Array], asked: Asked, codes: AnyCodes, joint: Mapping[int, JointCodes]
) -> tuple[Array, Array]:
    """Lengths of the bit sets of the category splits, and the sets one after another.

    They are over the codes of a column, or over its joint codes if it has facets.
    """
    pieces = [np.empty(0, WORD)]
    for node in np.flatnonzero(asked.of_categories):
        feature, column = int(columns["feature"][node]), int(asked.feature[node])
        n_codes, words = int(codes.n_codes[feature]), columns["member"][node]
        if column in joint:
            code = joint[column].of_facet[feature]
            if codes.is_category[feature]:
                bits = np.unpackbits(words.view(np.uint8), bitorder="little")[code]
            else:  # a facet in order is cut as a number is
                bits = (code <= columns["cut"][node]).view(np.uint8)
            padded = np.zeros(-(-len(bits) // WORD_BITS) * WORD_BITS, np.uint8)
            padded[: len(bits)] = bits
            pieces.append(np.packbits(padded, bitorder="little").view(WORD))
            continue
        words = words[: -(-n_codes // WORD_BITS)].copy()
        if n_codes % WORD_BITS:  # the bit behind the last category stands for missing
            words[-1] &= WORD((1 << (n_codes % WORD_BITS)) - 1)
        pieces.append(words)
    return np.array([len(words) for words in pieces[1:]], np.int64), np.concatenate(pieces)


def _impurities(columns: dict[str, Array], penalty: Array, rules: BoostRules) -> Array:
    """The objective of each node per unit of its hessian.

    A split's decrease of it, weighted as in every tree, is the gain of the split.
    """
    gradient, hessian, step = columns["gradient"], columns["hessian"], columns["step"]
    objective = gradient * step + 0.5 * (hessian + penalty) * step * step
    objective += rules.reg_alpha * np.abs(step)
    return np.divide(objective, hessian, out=np.zeros(len(hessian)), where=hessian > 0)

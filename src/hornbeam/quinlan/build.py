"""Turn a grown tree into a stored `Tree`: codes become thresholds and category sets.

The store knows splits into two sets of categories, but not into three or more. Groups of
categories are therefore stored as a chain of two-way splits: the first group or another
one, the second group or another one, ... Rows end in the same leaves, and the fractions
of a missing value multiply along the chain to the same ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hornbeam.dtypes import (
    FEATURE,
    LEAF,
    MULTIWAY,
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
from hornbeam.quinlan.grower import Grown
from hornbeam.tree.storage import Tree


@dataclass(frozen=True)
class _Place:
    """A node to be stored: a grown one, from some branch of its split on."""

    node: int
    branch: int = 0


def build_tree(grown: Grown) -> Tree:
    """Store a grown tree, level by level."""
    places, first_child, n_branches, parent = _number_by_level(grown)
    node = np.array([place.node for place in places])
    counts, size = _totals(grown, places)
    weight = counts.sum(axis=1)
    kind = np.where(first_child != NO_CHILD, grown.nodes.kind[node], LEAF).astype(SPLIT_KIND)
    split = kind != LEAF
    feature = np.where(split, grown.nodes.feature[node], NO_FEATURE).astype(FEATURE)
    set_start, set_words = _category_sets(grown, places, kind, feature)
    return Tree(
        first_child=first_child,
        n_branches=n_branches,
        feature=feature,
        kind=kind,
        threshold=_thresholds(grown, node, kind),
        missing_branch=_missing_branches(grown, first_child, n_branches, feature, kind, weight),
        set_start=set_start,
        set_words=set_words,
        n_samples=size,
        weight=weight,
        impurity=_entropies(counts, weight),
        value=_values(counts, weight, parent),
    )


def _number_by_level(grown: Grown) -> tuple[list[_Place], Array, Array, Array]:
    """The nodes in their new order, with their first child, branches and parent."""
    nodes = grown.nodes
    places, parent = [_Place(0)], [-1]
    first_child, n_branches = [], []
    for number, place in enumerate(places):  # the list grows while it is read
        children: list[_Place] = []
        if nodes.kind[place.node] == SUBSET:
            children = [_Place(int(nodes.child[place.node]) + place.branch)]
            last = int(nodes.branches[place.node]) - 1
            more = place.branch + 1
            rest = _Place(int(nodes.child[place.node]) + last)
            children.append(rest if more == last else _Place(place.node, more))
        elif nodes.kind[place.node] != LEAF:
            children = [_Place(child) for child in grown.children(place.node)]
        first_child.append(len(places) if children else NO_CHILD)
        n_branches.append(len(children))
        places.extend(children)
        parent.extend([number] * len(children))
    return places, np.array(first_child, NODE), np.array(n_branches, NODE), np.array(parent)


def _totals(grown: Grown, places: list[_Place]) -> tuple[Array, Array]:
    """Class weights and entries of each node; for the rest of a chain, of what is left."""
    node = np.array([place.node for place in places])
    counts, size = grown.counts[node].copy(), grown.nodes.size[node].copy()
    for number, place in enumerate(places):
        if place.branch > 0:
            rest = np.array(grown.children(place.node)[place.branch :])
            counts[number] = grown.counts[rest].sum(axis=0)
            size[number] = grown.nodes.size[rest].sum()
    return counts, size


def _thresholds(grown: Grown, node: Array, kind: Array) -> Array:
    threshold = np.full(len(node), np.nan)
    number = kind == THRESHOLD
    start = grown.codes.edge_start[grown.nodes.feature[node[number]]]
    threshold[number] = grown.codes.edges[start + grown.nodes.cut[node[number]]]
    return threshold


def _missing_branches(
    grown: Grown, first_child: Array, n_branches: Array, feature: Array, kind: Array, weight: Array
) -> Array:
    """The branch of their own, or the heaviest one, for tools that know only one way."""
    branch = np.zeros(len(kind), NODE)
    for node in np.flatnonzero(kind != LEAF):
        first = int(first_child[node])
        if kind[node] == MULTIWAY and grown.table.missing_is_branch[feature[node]]:
            branch[node] = n_branches[node] - 1
        else:
            branch[node] = np.argmax(weight[first : first + int(n_branches[node])])
    return branch


def _category_sets(
    grown: Grown, places: list[_Place], kind: Array, feature: Array
) -> tuple[Array, Array]:
    """Bit sets of the categories that go to branch 0."""
    n_words = np.zeros(len(places), np.int64)
    pieces = [np.empty(0, WORD)]
    for number in np.flatnonzero(kind == SUBSET):
        place, n_codes = places[number], int(grown.codes.n_codes[feature[number]])
        start = int(grown.nodes.groups[place.node])
        chosen = grown.nodes.branch_of[start : start + n_codes] == place.branch
        padded = np.zeros(-(-n_codes // WORD_BITS) * WORD_BITS, np.uint8)
        padded[:n_codes] = chosen
        words = np.packbits(padded, bitorder="little").view(WORD)
        pieces.append(words)
        n_words[number] = len(words)
    return np.concatenate([[0], np.cumsum(n_words)]), np.concatenate(pieces)


def _entropies(counts: Array, weight: Array) -> Array:
    """Entropy of each node in bits; 0 where nothing is."""
    share = counts / np.where(weight > 0.0, weight, 1.0)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(share > 0.0, share * np.log2(share), 0.0)
    return np.maximum(-parts.sum(axis=1), 0.0)


def _values(counts: Array, weight: Array, parent: Array) -> Array:
    """Class shares of each node; a branch without rows has those of its parent."""
    value: Array = counts / np.where(weight > 0.0, weight, 1.0)[:, None]
    for node in np.flatnonzero(weight <= 0.0):  # parents come first
        value[node] = value[parent[node]]
    return value

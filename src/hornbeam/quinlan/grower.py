"""Grow an ID3 or C4.5 tree from codes: set the stage for the kernels and run them.

What growing leaves behind is a `Grown` tree: nodes in the order they were made, and the
entries (row, class, weight) of its leaves. Pruning changes it; `hornbeam.quinlan.build`
stores it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from hornbeam.chance import find_many
from hornbeam.data.coding import Codes
from hornbeam.dtypes import LABEL, LEAF, NO_CHILD, ROW, Array
from hornbeam.kernels.driver import Crew, DriverSteps, drive, driver_kernels
from hornbeam.kernels.frontier import begin_with, longer, new_frontier
from hornbeam.kernels.quinlan import state as s
from hornbeam.kernels.quinlan.groups import group_categories
from hornbeam.kernels.quinlan.grow import refill, search_features, settle_node, take_node
from hornbeam.kernels.quinlan.order import DIGITS
from hornbeam.kernels.quinlan.search import search_category, search_number
from hornbeam.kernels.quinlan.split import split_node
from hornbeam.runtime.companion import compile_all
from hornbeam.runtime.team import new_shared, run_team, thread_count
from hornbeam.runtime.views import declared_signatures, make_slots, new_arrays

_TURN = DriverSteps(take=take_node, scan=search_features, settle=settle_node)
_UNLIMITED = 2**31 - 1
_CELL_LIMIT = 1 << 18  # of a histogram: two megabytes
_TOGETHER = 1 << 16  # entries x features that are worth waking the other threads
_SECONDS_PER_PAIR = 20e-9
_MANY_VALUES = 0.3  # Quinlan: with a category for every third row a feature is not counted


@dataclass(frozen=True)
class QuinlanRules:
    """The parameters of growing, resolved to numbers."""

    ratio: bool  # gain ratio behind the average-gain filter, or plain gain
    min_leaf: float = 0.0  # weight that two branches must have
    min_split: float = 0.0  # weight of a node that may be split, where rows have fractions
    min_decrease: float = 0.0
    max_depth: int | None = None
    corrected: bool = True
    grouping: bool = False
    missing_is_branch: bool = False  # a category of its own
    beyond_chance: bool = False  # many categories count by what they gain beyond chance


class Grown:
    """A tree that has grown and may still be pruned.

    Attributes
    ----------
    nodes : `kernels.quinlan.state.QuinlanNodes` of arrays
        One entry per node; children come after their parent.
    counts : array, shape (n_nodes, n_classes)
        Weight of each class.
    """

    def __init__(
        self, codes: Codes, labels: Array, weight: Array, rules: QuinlanRules, k: int
    ) -> None:
        self.codes = codes
        self.table = _make_table(codes, weight, rules, k)
        self.n_classes = k
        self.nodes: s.QuinlanNodes = _make_nodes(self.table)
        self.entries = _make_entries(self.table, labels, weight)
        self.found = _make_found(self.table)
        nodes, words = self.nodes, self.found.words
        nodes.size[0] = len(labels)
        nodes.counts[:k] = np.bincount(labels, weight, k)
        nodes.weight[0] = nodes.counts[:k].sum()
        words[s.WORD_NODES] = 1
        begin_with(self.found.frontier, words, 0)
        words[s.WORD_STACK] = len(labels)

    # --- growing ------------------------------------------------------------------------

    def grow(self, n_jobs: int | None) -> None:
        """Run the driver until the tree is complete."""
        n_pairs = self.codes.n_rows * self.table.n_features
        seconds = n_pairs * _SECONDS_PER_PAIR
        size = thread_count(n_jobs, seconds if n_pairs >= _TOGETHER else 0.0)
        scratches = [_make_scratch(self.table, self.codes.n_rows) for _ in range(size)]
        words = self.found.words
        while True:
            slots = [self._slots(scratch) for scratch in scratches]
            run_team(partial(_grow_on, slots, size), size, words, seconds)
            if not words[s.WORD_FULL]:
                break
            self._make_room(int(words[s.WORD_FULL]))
            words[s.WORD_FULL] = 0
        self._trim(int(words[s.WORD_NODES]), int(words[s.WORD_LEAVES]))
        self.scratch = scratches[0]

    def _slots(self, scratch: s.QuinlanScratch) -> Array:
        return make_slots(self.table, self.nodes, self.entries, self.found, scratch)

    def _make_room(self, full: int) -> None:
        """Double what is full; everything goes on where it was."""
        room = self.table.capacity
        if full == s.NODES_FULL:
            room = room._replace(nodes=2 * room.nodes)
            grown = {
                name: _longer(array, 2 * len(array))
                for name, array in self.nodes._asdict().items()
                if name != "branch_of"
            }
            self.nodes = self.nodes._replace(**grown)
            self.found = self.found._replace(frontier=longer(self.found.frontier, room.nodes))
        elif full == s.GROUPS_FULL:
            room = room._replace(groups=2 * room.groups)
            self.nodes = self.nodes._replace(branch_of=_longer(self.nodes.branch_of, room.groups))
        elif full == s.STACK_FULL:
            room = room._replace(waiting=2 * room.waiting)
            self._lengthen_entries(_STACK, room.waiting)
        else:
            room = room._replace(leaves=2 * room.leaves)
            self._lengthen_entries(_LEAVES, room.leaves)
        self.table = self.table._replace(capacity=room)

    def _lengthen_entries(self, names: Sequence[str], length: int) -> None:
        longer = {name: _longer(getattr(self.entries, name), length) for name in names}
        self.entries = self.entries._replace(**longer)

    def _trim(self, n_nodes: int, n_leaf_entries: int) -> None:
        """Cut the arrays to what is in use, and find where the entries of each node end."""
        lengths = {"counts": n_nodes * self.n_classes, "branch_of": len(self.nodes.branch_of)}
        self.nodes = s.QuinlanNodes(
            *(
                array[: lengths.get(name, n_nodes)].copy()
                for name, array in self.nodes._asdict().items()
            )
        )
        capacity = self.table.capacity._replace(nodes=n_nodes)
        self.table = self.table._replace(capacity=capacity)
        self.counts = self.nodes.counts.reshape(n_nodes, self.n_classes)
        self.last = self.nodes.first + self.nodes.size
        child, branches = self.nodes.child, self.nodes.branches
        for node in np.flatnonzero(child != NO_CHILD)[::-1]:
            self.last[node] = self.last[child[node] + branches[node] - 1]

    # --- pruning ------------------------------------------------------------------------

    def children(self, node: int) -> range:
        """Numbers of the children of a node."""
        first = int(self.nodes.child[node])
        return range(first, first + int(self.nodes.branches[node]))

    def sum_below(self, amounts: Array, node: int) -> float:
        """The sum of what the children of a node have, one after the other."""
        children = self.children(node)
        return float(np.cumsum(amounts[children.start : children.stop])[-1])

    def inner_nodes(self) -> list[int]:
        """Inner nodes that can be reached, parents first."""
        inner: list[int] = []
        stack = [0] if self.nodes.kind[0] != LEAF else []
        while stack:
            node = stack.pop()
            children = self.children(node)  # of a split by many categories most are leaves
            below = self.nodes.kind[children.start : children.stop]
            inner.append(node)
            stack.extend((children.start + np.flatnonzero(below != LEAF)).tolist())
        return sorted(inner)

    def cut(self, node: int) -> None:
        """Make a node a leaf."""
        self.nodes.kind[node] = LEAF
        self.nodes.child[node] = NO_CHILD
        self.nodes.branches[node] = 0

    def raise_child(self, node: int, child: int) -> None:
        """Let a node ask what one of its children asks, with the branches of that child."""
        for name in ("child", "branches", "feature", "kind", "cut", "groups"):
            array = getattr(self.nodes, name)
            array[node] = array[child]

    def refilled(self, root: int, node: int) -> Refilled:
        """What the subtree of ``root`` gets when all entries of ``node`` are sent down there."""
        span = slice(int(self.nodes.first[node]), int(self.last[node]))
        row, label, weight = (getattr(self.entries, name)[span] for name in _LEAVES)
        if self.has_missing:  # one row may have come down several branches
            row, first, which = np.unique(row, return_index=True, return_inverse=True)
            label, weight = label[first], np.bincount(which, weight)
        got = self._trial
        while True:
            for name, array in zip(_WAITING, (row, label, weight), strict=True):
                getattr(self.entries, name)[: len(array)] = array
            slots = self._slots(self.scratch)
            count = refill(slots, root, len(row), got.size, got.weight, got.counts, got.visited)
            if count >= 0:
                return replace(got, visited=got.visited[:count])
            self._make_room(s.STACK_FULL)

    @cached_property
    def has_missing(self) -> bool:
        """Whether any value of the training table is missing and divides its row."""
        return bool((self.codes.has_missing & (self.table.missing_is_branch == 0)).any())

    @cached_property
    def _trial(self) -> Refilled:
        n_nodes = len(self.nodes.child)
        return Refilled(
            np.zeros(n_nodes, np.int64),
            np.zeros(n_nodes),
            np.zeros(n_nodes * self.n_classes),
            np.zeros(n_nodes, np.int64),
            np.zeros(n_nodes),
            self.n_classes,
        )


@dataclass
class Refilled:
    """What the nodes of a subtree would hold; only the entries of ``visited`` mean anything."""

    size: Array
    weight: Array
    counts: Array
    visited: Array  # parents before their children
    estimate: Array  # room for their pessimistic errors
    n_classes: int

    def counts_of(self, nodes: Array) -> Array:
        """Class weights of these nodes."""
        return self.counts.reshape(-1, self.n_classes)[nodes]


_STACK = ("row", "label", "weight", "new_row", "new_label", "new_weight")
_WAITING = _STACK[:3]
_LEAVES = ("leaf_row", "leaf_label", "leaf_weight")


def grow(
    codes: Codes,
    labels: Array,
    weight: Array,
    n_classes: int,
    rules: QuinlanRules,
    n_jobs: int | None = None,
) -> Grown:
    """Grow a tree on rows of positive weight."""
    grown = Grown(codes, labels, weight, rules, n_classes)
    grown.grow(n_jobs)
    return grown


def _grow_on(slots: list[Array], size: int, rank: int) -> Any:
    return drive(slots[rank], s.FOUND_AT, rank, size)


def _longer(array: Array, length: int) -> Array:
    longer = np.zeros(length, array.dtype)
    longer[: len(array)] = array
    return longer


def _make_table(codes: Codes, weight: Array, rules: QuinlanRules, n_classes: int) -> s.QuinlanTable:
    n_features, n_rows = len(codes.n_codes), codes.n_rows
    total = float(weight.sum())
    is_category = codes.is_category != 0
    missing = np.zeros(n_features, np.uint8)
    if rules.missing_is_branch:
        missing[:] = is_category & codes.has_missing
    counted = ~is_category | (codes.n_codes < _MANY_VALUES * total)
    cells = (codes.n_codes + 1) * n_classes
    categories = int(codes.n_codes[is_category].max(initial=0))
    kernels = [search_number, search_category, split_node]
    if rules.grouping:
        kernels.append(group_categories)
    compile_all([*driver_kernels(_TURN), *declared_signatures(kernels)])
    largest = max(abs(total * math.log2(total)) if total > 0 else 0.0, 1.0) + n_classes
    has_fractions = bool(codes.has_missing.any())
    n_entries = n_rows + n_rows // 4 + 16
    return s.QuinlanTable(
        n_features=n_features,
        n_classes=n_classes,
        root_weight=total,
        scale=2.0 ** (60 - math.ceil(math.log2(largest))),
        n_cells=int(cells[cells <= _CELL_LIMIT].max(initial=1)),
        n_together=_TOGETHER,
        pages=codes.views(),
        n_pages=len(codes.pages),
        n_codes=np.ascontiguousarray(codes.n_codes, np.int64),
        is_category=_kinds(codes, total, rules),
        missing_is_branch=missing,
        is_counted=(counted if counted.any() else np.ones(n_features)).astype(np.uint8),
        values=np.ascontiguousarray(codes.edges, np.float64),
        value_start=np.ascontiguousarray(codes.edge_start, np.int64),
        settings=_make_settings(rules, has_fractions),
        capacity=s.QuinlanCapacity(
            nodes=1024 + 2 * categories,
            waiting=n_entries,
            leaves=n_entries,
            groups=64 * (categories + 1) if rules.grouping else 1,
        ),
        steps=s.QuinlanSteps(
            search_number=search_number,
            search_category=search_category,
            group=group_categories if rules.grouping else None,
            split=split_node,
        ),
    )


def _make_settings(rules: QuinlanRules, has_fractions: bool) -> s.QuinlanSettings:
    least = 2.0 * rules.min_leaf
    return s.QuinlanSettings(
        by_ratio=rules.ratio,
        is_corrected=rules.corrected,
        with_groups=rules.grouping,
        min_leaf=rules.min_leaf,
        min_split=max(least, rules.min_split) if has_fractions else least,
        min_decrease=rules.min_decrease,
        max_depth=_UNLIMITED if rules.max_depth is None else rules.max_depth,
    )


def _kinds(codes: Codes, total: float, rules: QuinlanRules) -> Array:
    """Which features are categories, and which of them must prove themselves beyond chance."""
    many = find_many(codes, total) if rules.beyond_chance else False
    return np.where(many, s.MANY_CATEGORIES, codes.is_category).astype(np.uint8)


def _make_nodes(table: s.QuinlanTable) -> s.QuinlanNodes:
    lengths = dict.fromkeys(s.QuinlanNodes._fields, table.capacity.nodes)
    lengths["counts"] *= table.n_classes
    lengths["branch_of"] = table.capacity.groups
    nodes: s.QuinlanNodes = new_arrays(s.QuinlanNodes, lengths)
    return nodes


def _make_entries(table: s.QuinlanTable, labels: Array, weight: Array) -> s.QuinlanEntries:
    lengths = dict.fromkeys(_STACK, table.capacity.waiting)
    lengths |= dict.fromkeys(_LEAVES, table.capacity.leaves)
    entries: s.QuinlanEntries = new_arrays(s.QuinlanEntries, lengths)
    n_rows = len(labels)
    entries.row[:n_rows] = np.arange(n_rows, dtype=ROW)
    entries.label[:n_rows] = labels.astype(LABEL)
    entries.weight[:n_rows] = weight
    return entries


def _make_found(table: s.QuinlanTable) -> s.QuinlanFound:
    n_features, words = table.n_features, new_shared()
    return s.QuinlanFound(
        crew=Crew(words, _TURN),
        words=words,
        frontier=new_frontier("depth", table.capacity.nodes),
        gain=np.zeros(n_features),
        unproven=np.zeros(n_features),
        info=np.zeros(n_features),
        cut=np.zeros(n_features, np.int64),
    )


def _make_scratch(table: s.QuinlanTable, n_rows: int) -> s.QuinlanScratch:
    is_category = table.is_category != 0
    n_branches = 2 + int(table.n_codes[is_category].max(initial=0))
    pairs = s.MOST_GROUPED**2 if table.settings.with_groups else 0
    lengths = {
        "cells": table.n_cells,
        "left": table.n_classes,
        "right": table.n_classes,
        "keys": n_rows,
        "new_keys": n_rows,
        "digits": DIGITS + 1,
        "branch_weight": n_branches,
        "branch_size": n_branches,
        "branch_place": n_branches,
        "group": n_branches,
        "loss": pairs,
        "saving": pairs,
    }
    scratch: s.QuinlanScratch = new_arrays(s.QuinlanScratch, lengths)
    return scratch

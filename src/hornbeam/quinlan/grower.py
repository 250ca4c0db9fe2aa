"""Grow an ID3 or C4.5 tree from codes: set the stage for the kernels and run them.

What growing leaves behind is a `Grown` tree: nodes in the order they were made, and the
entries (row, class, weight) of its leaves. Pruning changes it; `hornbeam.quinlan.build`
stores it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from hornbeam.chance import find_many
from hornbeam.data.coding import Codes
from hornbeam.dtypes import LABEL, LEAF, MISSING_RANK, NO_CHILD, ROW, STAT, Array
from hornbeam.kernels.quinlan import state as s
from hornbeam.kernels.quinlan.groups import group_categories
from hornbeam.kernels.quinlan.grow import (
    GROW_SIGNATURE,
    choose_feature,
    grow_quinlan,
    refill,
)
from hornbeam.kernels.quinlan.order import DIGITS
from hornbeam.kernels.quinlan.search import search_category, search_number
from hornbeam.kernels.quinlan.split import split_node
from hornbeam.runtime.companion import compile_all
from hornbeam.runtime.kernel import address_of, compiled
from hornbeam.runtime.team import new_shared, run_team, thread_count
from hornbeam.runtime.views import make_slots, new_arrays

_UNLIMITED = 2**31 - 1
_CELL_LIMIT = 1 << 18  # of a histogram: two megabytes
_TOGETHER = 1 << 16  # entries x features that are worth waking the other threads
_SECONDS_PER_PAIR = 20e-9
_MANY_VALUES = 0.3  # Quinlan: with a category for every third row a feature is not counted


@dataclass(frozen=True)
class Rules:
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
    nodes : `kernels.quinlan.state.Nodes` of arrays
        One entry per node; children come after their parent.
    counts : array, shape (n_nodes, n_classes)
        Weight of each class.
    """

    def __init__(self, codes: Codes, labels: Array, weight: Array, rules: Rules, k: int) -> None:
        self.codes = codes
        self.table = _make_table(codes, weight, rules, k)
        self.n_classes = k
        self.nodes: s.Nodes = _make_nodes(self.table)
        self.entries = _make_entries(self.table, labels, weight)
        self.found = _make_found(self.table)
        nodes, words = self.nodes, self.found.words
        nodes.size[0] = len(labels)
        nodes.counts[:k] = np.bincount(labels, weight, k)
        nodes.weight[0] = nodes.counts[:k].sum()
        words[s.WORD_NODES] = words[s.WORD_WAITING] = 1
        words[s.WORD_STACK] = len(labels)

    # --- growing ------------------------------------------------------------------------

    def grow(self, n_jobs: int | None) -> None:
        """Run the growth loop until the tree is complete."""
        compiled(grow_quinlan, GROW_SIGNATURE)
        n_pairs = int(self.table.whole[s.N_ROWS] * self.table.whole[s.N_FEATURES])
        seconds = n_pairs * _SECONDS_PER_PAIR
        size = thread_count(n_jobs, seconds if n_pairs >= _TOGETHER else 0.0)
        scratches = [_make_scratch(self.table) for _ in range(size)]
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

    def _slots(self, scratch: s.Scratch) -> Array:
        return make_slots(self.table, self.nodes, self.entries, self.found, scratch)

    def _make_room(self, full: int) -> None:
        """Double what is full; everything goes on where it was."""
        whole = self.table.whole
        if full == s.NODES_FULL:
            old = int(whole[s.CAPACITY])
            whole[s.CAPACITY] = 2 * old
            grown = {
                name: _longer(array, 2 * len(array))
                for name, array in self.nodes._asdict().items()
                if name != "branch_of"
            }
            self.nodes = self.nodes._replace(**grown)
            self.entries = self.entries._replace(waiting=_longer(self.entries.waiting, 2 * old))
        elif full == s.GROUPS_FULL:
            whole[s.GROUP_CAPACITY] *= 2
            longer = _longer(self.nodes.branch_of, int(whole[s.GROUP_CAPACITY]))
            self.nodes = self.nodes._replace(branch_of=longer)
        else:
            place = s.STACK_CAPACITY if full == s.STACK_FULL else s.LEAF_CAPACITY
            whole[place] *= 2
            names = _STACK if full == s.STACK_FULL else _LEAVES
            longer_entries = {
                name: _longer(getattr(self.entries, name), int(whole[place])) for name in names
            }
            self.entries = self.entries._replace(**longer_entries)

    def _trim(self, n_nodes: int, n_leaf_entries: int) -> None:
        """Cut the arrays to what is in use, and find where the entries of each node end."""
        lengths = {"counts": n_nodes * self.n_classes, "branch_of": len(self.nodes.branch_of)}
        self.nodes = s.Nodes(
            *(
                array[: lengths.get(name, n_nodes)].copy()
                for name, array in self.nodes._asdict().items()
            )
        )
        self.table.whole[s.CAPACITY] = n_nodes
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
        missing = (self.codes.columns == MISSING_RANK).any(axis=1)
        return bool((missing & (self.table.missing_is_branch == 0)).any())

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
    rules: Rules,
    n_jobs: int | None = None,
) -> Grown:
    """Grow a tree on rows of positive weight."""
    grown = Grown(codes, labels, weight, rules, n_classes)
    grown.grow(n_jobs)
    return grown


def _grow_on(slots: list[Array], size: int, rank: int) -> Any:
    return grow_quinlan(slots[rank], rank, size)


def _longer(array: Array, length: int) -> Array:
    longer = np.zeros(length, array.dtype)
    longer[: len(array)] = array
    return longer


def _make_table(codes: Codes, weight: Array, rules: Rules, n_classes: int) -> s.Table:
    n_features, n_rows = codes.columns.shape
    total = float(weight.sum())
    is_category = codes.is_category != 0
    missing = np.zeros(n_features, np.uint8)
    if rules.missing_is_branch:
        missing[:] = is_category & (codes.columns == MISSING_RANK).any(axis=1)
    counted = ~is_category | (codes.n_codes < _MANY_VALUES * total)
    cells = (codes.n_codes + 1) * n_classes
    categories = int(codes.n_codes[is_category].max(initial=0))
    whole = np.zeros(s.N_WHOLE, np.int64)
    whole[s.N_ROWS], whole[s.N_FEATURES], whole[s.N_CLASSES] = n_rows, n_features, n_classes
    whole[s.MAX_DEPTH] = _UNLIMITED if rules.max_depth is None else rules.max_depth
    whole[s.RATIO] = rules.ratio
    whole[s.CORRECTED] = rules.corrected
    whole[s.GROUPING] = rules.grouping
    whole[s.CAPACITY] = 1024 + 2 * categories
    whole[s.STACK_CAPACITY] = whole[s.LEAF_CAPACITY] = n_rows + n_rows // 4 + 16
    whole[s.GROUP_CAPACITY] = 64 * (categories + 1) if rules.grouping else 1
    whole[s.CELLS] = int(cells[cells <= _CELL_LIMIT].max(initial=1))
    whole[s.TOGETHER] = _TOGETHER
    steps = {
        s.SEARCH_NUMBER: search_number,
        s.SEARCH_CATEGORY: search_category,
        s.CHOOSE: choose_feature,
        s.SPLIT: split_node,
        s.GROUP: group_categories,
    }
    if not rules.grouping:
        del steps[s.GROUP]
    compile_all([(step, s.STEP_SIGNATURE) for step in steps.values()])
    for place, step in steps.items():
        whole[place] = address_of(step, s.STEP_SIGNATURE)
    real = np.zeros(s.N_REAL, STAT)
    real[s.MIN_LEAF] = rules.min_leaf
    real[s.MIN_SPLIT] = 2.0 * rules.min_leaf
    if (codes.columns == MISSING_RANK).any():
        real[s.MIN_SPLIT] = max(2.0 * rules.min_leaf, rules.min_split)
    real[s.MIN_DECREASE] = rules.min_decrease
    real[s.ROOT_WEIGHT] = total
    largest = max(abs(total * math.log2(total)) if total > 0 else 0.0, 1.0) + n_classes
    real[s.SCALE] = 2.0 ** (60 - math.ceil(math.log2(largest)))
    return s.Table(
        codes.columns.ravel(),
        np.ascontiguousarray(codes.n_codes, np.int64),
        _kinds(codes, total, rules),
        missing,
        (counted if counted.any() else np.ones(n_features)).astype(np.uint8),
        np.ascontiguousarray(codes.edges, np.float64),
        np.ascontiguousarray(codes.edge_start, np.int64),
        whole,
        real,
    )


def _kinds(codes: Codes, total: float, rules: Rules) -> Array:
    """Which features are categories, and which of them must prove themselves beyond chance."""
    many = find_many(codes, total) if rules.beyond_chance else False
    return np.where(many, s.MANY_CATEGORIES, codes.is_category).astype(np.uint8)


def _make_nodes(table: s.Table) -> s.Nodes:
    lengths = dict.fromkeys(s.Nodes._fields, int(table.whole[s.CAPACITY]))
    lengths["counts"] *= int(table.whole[s.N_CLASSES])
    lengths["branch_of"] = int(table.whole[s.GROUP_CAPACITY])
    nodes: s.Nodes = new_arrays(s.Nodes, lengths)
    return nodes


def _make_entries(table: s.Table, labels: Array, weight: Array) -> s.Entries:
    whole = table.whole
    lengths = dict.fromkeys(_STACK, int(whole[s.STACK_CAPACITY]))
    lengths |= dict.fromkeys(_LEAVES, int(whole[s.LEAF_CAPACITY]))
    lengths["waiting"] = int(whole[s.CAPACITY])
    entries: s.Entries = new_arrays(s.Entries, lengths)
    n_rows = len(labels)
    entries.row[:n_rows] = np.arange(n_rows, dtype=ROW)
    entries.label[:n_rows] = labels.astype(LABEL)
    entries.weight[:n_rows] = weight
    return entries


def _make_found(table: s.Table) -> s.Found:
    n_features = int(table.whole[s.N_FEATURES])
    return s.Found(
        np.zeros(n_features), np.zeros(n_features), np.zeros(n_features, np.int64), new_shared()
    )


def _make_scratch(table: s.Table) -> s.Scratch:
    whole = table.whole
    is_category = table.is_category != 0
    n_branches = 2 + int(table.n_codes[is_category].max(initial=0))
    pairs = s.MOST_GROUPED**2 if whole[s.GROUPING] else 0
    sorted_rows = int(whole[s.N_ROWS])
    lengths = {
        "cells": int(whole[s.CELLS]),
        "left": int(whole[s.N_CLASSES]),
        "right": int(whole[s.N_CLASSES]),
        "keys": sorted_rows,
        "new_keys": sorted_rows,
        "digits": DIGITS + 1,
        "branch_weight": n_branches,
        "branch_size": n_branches,
        "branch_place": n_branches,
        "group": n_branches,
        "loss": pairs,
        "saving": pairs,
    }
    scratch: s.Scratch = new_arrays(s.Scratch, lengths)
    return scratch

"""A fitted tree: flat arrays, nothing else.

Nodes are numbered level by level. The children of a node are neighbours, so a node
stores the number of its first child and a branch is an addition::

    child = first_child[node] + branch

Binary and multiway trees are therefore one type. A tree never changes after it was
built; pruning makes a new one.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hornbeam.dtypes import (
    FEATURE,
    LEAF,
    LISTED,
    MAX_NODES,
    NO_CATEGORY,
    NODE,
    SPLIT_KIND,
    STAT,
    WORD,
    Array,
)
from hornbeam.tree.scikit_learn import ScikitLearnNames


class TreeArrays(NamedTuple):
    """The arrays a traversal kernel reads; a NamedTuple, because kernels take those."""

    first_child: Array
    feature: Array
    kind: Array
    threshold: Array
    missing_branch: Array
    set_start: Array
    set_words: Array


@dataclass(frozen=True, eq=False)
class Tree(ScikitLearnNames):
    """One fitted tree as flat arrays (one entry per node unless said otherwise).

    Attributes
    ----------
    first_child : int32
        Number of the first child, 0 for a leaf. Children come after their parent.
    n_branches : int32
        Number of children: 0 for a leaf, 2 for a binary split, more for a multiway one.
    feature : int32
        Column that is asked, -1 for a leaf.
    kind : uint8
        LEAF, THRESHOLD, SUBSET, MULTIWAY or LISTED (see ``hornbeam.dtypes``).
    threshold : float64
        ``x <= threshold`` goes to branch 0; NaN where the split is of another kind.
    missing_branch : int32
        Branch of a missing value.
    set_start : int64, length n_nodes + 1
        ``set_words[set_start[i]:set_start[i + 1]]`` is the set of node i. SUBSET: bit c says
        that category c goes to branch 0. LISTED: two category numbers per word, ascending,
        of those that do not go to ``missing_branch``. Empty for other kinds.
    set_words : uint64, any length
    n_samples : int64
        Training rows in the node.
    weight : float64
        Sum of their weights.
    impurity : float64
    value : float64, shape (n_nodes, n_values)
        What the node predicts: class shares (one block per output) or means.
    """

    first_child: Array
    n_branches: Array
    feature: Array
    kind: Array
    threshold: Array
    missing_branch: Array
    set_start: Array
    set_words: Array
    n_samples: Array
    weight: Array
    impurity: Array
    value: Array

    @property
    def node_count(self) -> int:
        """How many nodes the tree has, leaves included."""
        return len(self.first_child)

    @property
    def is_leaf(self) -> Array:
        """Which nodes are leaves."""
        return self.kind == LEAF

    @property
    def n_leaves(self) -> int:
        """How many leaves the tree has."""
        return int(np.count_nonzero(self.is_leaf))

    @cached_property
    def parent(self) -> Array:
        """Number of each node's parent, -1 for the root."""
        parent = np.full(self.node_count, -1, NODE)
        inner = np.flatnonzero(~self.is_leaf)
        counts = self.n_branches[inner]
        first = np.repeat(self.first_child[inner], counts)
        offset = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        parent[first + offset] = np.repeat(inner, counts)
        return parent

    @cached_property
    def depth(self) -> Array:
        """How many questions lead to each node."""
        depth = np.zeros(self.node_count, NODE)
        for node in range(1, self.node_count):  # parents come before their children
            depth[node] = depth[self.parent[node]] + 1
        return depth

    @property
    def max_depth(self) -> int:
        """Depth of the deepest leaf."""
        return int(self.depth[-1])  # numbered level by level

    def arrays(self) -> TreeArrays:
        """The part of the tree that a traversal reads."""
        return TreeArrays(*(getattr(self, name) for name in TreeArrays._fields))

    def category_set(self, node: int) -> Array:
        """Category numbers that go to branch 0 at a SUBSET node, ascending.

        At a LISTED node those that do not go where missing values go.
        """
        words = self.set_words[self.set_start[node] : self.set_start[node + 1]]
        if self.kind[node] == LISTED:
            halves = words.view(np.uint32)
            return halves[halves != NO_CATEGORY].astype(np.int64)
        bits = np.unpackbits(words.view(np.uint8), bitorder="little")
        return np.flatnonzero(bits)

    def goes_first(self, node: int, n_categories: int) -> Array:
        """Which categories go to branch 0 at a node that has a set (bool array)."""
        is_in_set = np.zeros(n_categories, bool)
        is_in_set[self.category_set(node)] = True
        inverted = self.kind[node] == LISTED and self.missing_branch[node] == 0
        return ~is_in_set if inverted else is_in_set

    def digest(self) -> str:
        """SHA-256 of all arrays: equal digests mean the same tree, bit for bit."""
        state = hashlib.sha256()
        for field in fields(self):
            array = np.ascontiguousarray(getattr(self, field.name))
            little = array.astype(array.dtype.newbyteorder("<"), copy=False)
            state.update(f"{field.name}:{array.dtype.str[1:]}:{array.shape};".encode())
            state.update(little.tobytes())
        return state.hexdigest()


def check_node_count(n_nodes: int) -> None:
    """Raise an error unless all nodes of a model can have numbers."""
    if n_nodes > MAX_NODES:
        raise ValueError(
            f"The trees of this model have {n_nodes} nodes, but a model can have at most "
            f"{MAX_NODES}. Grow fewer trees (n_estimators) or smaller ones (max_depth, "
            "max_leaf_nodes, min_samples_leaf)."
        )


# Name -> (dtype, is it one entry per node) for every stored array; the model file and
# its validator derive from this table.
TREE_FIELDS: dict[str, type[np.generic]] = {
    "first_child": NODE,
    "n_branches": NODE,
    "feature": FEATURE,
    "kind": SPLIT_KIND,
    "threshold": np.float64,
    "missing_branch": NODE,
    "set_start": np.int64,
    "set_words": WORD,
    "n_samples": np.int64,
    "weight": STAT,
    "impurity": STAT,
    "value": STAT,
}

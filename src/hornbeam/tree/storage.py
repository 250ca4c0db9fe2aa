"""Fitted trees: flat arrays, nothing else.

`Trees` are the arrays of any number of trees; `Tree` is one, alone or as a view of its part.
Nodes are numbered level by level, in each tree from 0. The children of a node are
neighbours, so a node stores the number of its first child and a branch is an addition::

    child = first_child[node] + branch

Binary and multiway trees are therefore one type. A tree never changes after it was
built; pruning makes a new one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, overload

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
    SUBSET,
    WORD,
    Array,
)
from hornbeam.tree.scikit_learn import ScikitLearnNames
from hornbeam.tree.sets import SharedCodes, unfold_sets


class TreeArrays(NamedTuple):
    """The arrays a traversal kernel reads; a NamedTuple, because kernels take those."""

    first_child: Array
    feature: Array
    kind: Array
    threshold: Array
    missing_branch: Array
    set_start: Array
    set_words: Array


@dataclass(frozen=True, eq=False, repr=False)
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
        LEAF, THRESHOLD, SUBSET, MULTIWAY, LISTED or PLANE (see ``hornbeam.dtypes``).
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

    def __repr__(self) -> str:
        return f"<Tree of {self.node_count:,} nodes, {self.n_leaves:,} of them leaves>"

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


def stored_tree(estimator: Any) -> Tree:
    """The tree of a fitted estimator, also where ``tree_`` shows another view of it."""
    tree: Tree = vars(estimator)["tree_"]
    return tree


class Planes(NamedTuple):
    """The planes of the nodes of some trees, one after the other in the order of the nodes.

    A row goes left if the sum of weight times value over the terms of a node is at most the
    threshold of the node.
    """

    n_terms: Array  # int32, one entry per node of all trees; 0 unless it is a PLANE
    feature: Array  # int32, one entry per term, as the others
    weight: Array
    missing: Array  # what a missing value adds


PLANE_FIELDS: dict[str, type[np.generic]] = {
    "n_terms": NODE,
    "feature": FEATURE,
    "weight": STAT,
    "missing": STAT,
}


class Trees(Sequence[Tree]):
    """Any number of trees with equally many values per node; never changes.

    ``trees[i]`` is a view of one; ``trees[i:j]`` are some neighbouring ones.

    Parameters
    ----------
    nodes : Tree
        The nodes of all trees, tree after tree. Children are counted from the root of their
        tree, words of ``set_start`` through all trees.
    node_start : int64, length n_trees + 1
        Where the nodes of each tree begin, and the end.
    planes : Planes, optional
        Of the nodes that ask for the side of a plane.
    codes : SharedCodes, optional
        What the bit sets of some columns are over. A view of one tree has them over categories.
    """

    def __init__(
        self,
        nodes: Tree,
        node_start: Array,
        planes: Planes | None = None,
        codes: SharedCodes | None = None,
    ) -> None:
        self.nodes = nodes
        self.node_start = node_start
        self.planes = planes
        self.codes = codes

    @classmethod
    def of(cls, trees: Iterable[Tree], n_values: int = 1) -> Trees:
        """Put trees one after the other; without any, ``n_values`` is how many values they have.

        Parameters
        ----------
        trees : iterable of Tree
        n_values : int
        """
        trees = list(trees)
        if len(trees) == 1:
            return cls(trees[0], np.array([0, trees[0].node_count]))
        nodes = _joined(trees or [_no_tree(n_values)])
        sizes = [tree.node_count for tree in trees]
        return cls(nodes, np.cumsum([0, *sizes], dtype=np.int64))

    @classmethod
    def join(cls, parts: Sequence[Trees]) -> Trees:
        """The trees of several, at least one, in their order."""
        parts = [part for part in parts if len(part)] or list(parts[:1])
        if len(parts) == 1:
            return parts[0]
        sizes = np.concatenate([np.diff(part.node_start) for part in parts])
        planes = [part.planes for part in parts if part.planes is not None]
        if len(planes) not in (0, len(parts)):
            raise ValueError("some of the trees have planes and some do not")
        joined = Planes(*map(np.concatenate, zip(*planes, strict=True))) if planes else None
        start = np.concatenate([[0], np.cumsum(sizes)])
        codes = parts[0].codes
        if not all(_are_the_same(codes, part.codes) for part in parts):
            codes, parts = None, [part.unfolded() for part in parts]
        return cls(_joined([part.nodes for part in parts]), start, joined, codes)

    def unfolded(self) -> Trees:
        """The same trees with all sets over categories."""
        if self.codes is None:
            return self
        return Trees(_unfolded(self.nodes, self.codes), self.node_start, self.planes)

    @property
    def n_values(self) -> int:
        """How many values a node has."""
        return int(self.nodes.value.shape[1])

    def __len__(self) -> int:
        return len(self.node_start) - 1

    @overload
    def __getitem__(self, which: int) -> Tree: ...

    @overload
    def __getitem__(self, which: slice) -> Trees: ...

    def __getitem__(self, which: int | slice) -> Tree | Trees:
        if not isinstance(which, slice):
            number = range(len(self))[which]
            tree = self._part(int(self.node_start[number]), int(self.node_start[number + 1]))
            return tree if self.codes is None else _unfolded(tree, self.codes)
        first, last, step = which.indices(len(self))
        if step != 1:
            raise ValueError(f"{which} does not name neighbouring trees")
        start = self.node_start[first : max(first, last) + 1]
        nodes = self._part(int(start[0]), int(start[-1]))
        planes = self._planes_of(int(start[0]), int(start[-1]))
        return Trees(nodes, start - start[0], planes, self.codes)

    def _part(self, first: int, last: int) -> Tree:
        """The nodes ``first:last``, their sets counted anew."""
        nodes = self.nodes
        if first == 0 and last == nodes.node_count:
            return nodes
        words = nodes.set_start[first : last + 1]
        parts = {name: getattr(nodes, name)[first:last] for name in TREE_FIELDS}
        parts["set_start"] = words - words[0]
        parts["set_words"] = nodes.set_words[words[0] : words[-1]]
        return Tree(**parts)

    def _planes_of(self, first: int, last: int) -> Planes | None:
        if self.planes is None:
            return None
        ends = np.concatenate([[0], np.cumsum(self.planes.n_terms, dtype=np.int64)])
        terms = slice(int(ends[first]), int(ends[last]))
        return Planes(self.planes.n_terms[first:last], *(a[terms] for a in self.planes[1:]))

    def arrays(self) -> dict[str, Array]:
        """All arrays by name, as a model file keeps them and `validate_trees` takes them."""
        arrays = {name: getattr(self.nodes, name) for name in TREE_FIELDS}
        arrays["node_start"] = self.node_start
        if self.planes is not None:
            planes = self.planes._asdict()
            arrays |= {f"planes.{name}": planes[name] for name in PLANE_FIELDS}
        if self.codes is not None:
            arrays |= self.codes._asdict()
        return arrays


def _are_the_same(codes: SharedCodes | None, others: SharedCodes | None) -> bool:
    if codes is None or others is None:
        return codes is others
    return codes.are(others)


def _unfolded(nodes: Tree, codes: SharedCodes) -> Tree:
    """Nodes with sets over categories, from those with sets over codes."""
    subset, n_words = nodes.kind == SUBSET, np.diff(nodes.set_start)
    n_words[subset], words = unfold_sets(
        n_words[subset], nodes.set_words, nodes.feature[subset], codes.by_column()
    )
    set_start = np.concatenate([[0], np.cumsum(n_words)])
    return replace(nodes, set_start=set_start, set_words=words)


def _joined(trees: Sequence[Tree]) -> Tree:
    """The nodes of trees one after the other."""
    fields = {name: np.concatenate([getattr(t, name) for t in trees]) for name in TREE_FIELDS}
    lengths = [np.zeros(1, np.int64), *(np.diff(tree.set_start) for tree in trees)]
    fields["set_start"] = np.cumsum(np.concatenate(lengths))
    return Tree(**fields)


def _no_tree(n_values: int) -> Tree:
    """The nodes of no tree at all."""
    fields: dict[str, Array] = {name: np.empty(0, dtype) for name, dtype in TREE_FIELDS.items()}
    fields["set_start"], fields["value"] = np.zeros(1, np.int64), np.empty((0, n_values))
    return Tree(**fields)


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

"""All trees of a forest in few arrays: 20 bytes per node, and what prediction reads.

A fully grown forest has millions of nodes, so the store keeps what cannot be worked out
again: the 16 bytes of a node that prediction reads (see kernels/forest.py), and the
impurity as float32. What an inner node predicts, its weight and its rows are those of the
leaves below it; `ForestStore.tree` works them out and returns an ordinary `Tree`.

A leaf of a regression forest holds its value. Where a leaf predicts several numbers (class
shares, several outputs), it holds its row in a table of distinct predictions: most leaves of
a fully grown classifier are pure, so the table is tiny. The table is in the order of a key
of its rows, so that the same trees have the same digest however they were put together.

Where a column has more categories than codes, trees are grown on codes, and so their sets are
kept: 32 bytes at most. Which code a category has is known once, for all trees.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from hornbeam.dtypes import (
    BIN,
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
from hornbeam.forest.predict import Walks
from hornbeam.kernels.forest import CATEGORY, FEATURE_MASK, Forest
from hornbeam.kernels.forest_pack import renumber_nodes
from hornbeam.kernels.traverse import MISSING_RIGHT
from hornbeam.runtime.team import run_parallel
from hornbeam.tree.scaling import HEADROOM, is_large
from hornbeam.tree.sets import SharedCodes, unfold_sets
from hornbeam.tree.storage import Tree, check_node_count

# One node; the fields mean something else in a leaf (see kernels/forest.py).
RECORD = np.dtype([("threshold", np.float64), ("child", np.int32), ("feature", np.int32)])
# Name -> (dtype, dimensions) of every array in `ForestStore.arrays`.
STORE_FIELDS: dict[str, tuple[type[np.generic], int]] = {
    "threshold": (np.float64, 1),
    "child": (np.int32, 1),
    "feature": (np.int32, 1),
    "impurity": (np.float32, 1),
    "root": (np.int64, 1),
    "set_start": (np.int64, 1),
    "set_words": (WORD, 1),
    "table": (np.float64, 2),
    "inner_value": (np.float64, 2),
    "weight_unit": (np.float64, 1),
    "impurity_unit": (np.float64, 1),
    "class_start": (np.int64, 1),
    "code_start": (np.int64, 1),
    "code_of_category": (BIN, 1),
}
_CODES = ("code_start", "code_of_category")
# Where the largest weight (or impurity) of a tree is outside this range its unit is not 1.
_LEAST, _MOST = 1e-30, 1e30
_BAG_BYTES = 1 << 24  # who is in the bag of how many trees is known at once
_SECONDS_PER_DRAW = 1e-8


class NodeSums(NamedTuple):
    """What all nodes of some trees hold; the nodes of the trees are counted through."""

    root: Array  # of each tree
    first_child: Array
    n_samples: Array
    weight: Array
    value: Array  # (nodes, values)


@dataclass(frozen=True, eq=False)
class ForestStore:
    """The trees of a fitted forest, packed; binary trees only.

    A store never changes. `pack` makes one of trees, `join` one of stores.

    Attributes
    ----------
    nodes : RECORD, one entry per node
        Tree after tree, level by level, the children of a node side by side.
        An inner node has its threshold (or the number of its category set), its first child,
        counted from the root, and its feature with the flags MISSING_RIGHT and CATEGORY.
        A leaf has a negative child. With a table, a leaf holds its weight, ``~row`` of the
        table and its training rows; without one, its value, the bits of ``-weight`` as
        float32 and its training rows.
    impurity : float32, one entry per node
    root : int64, length n_trees + 1
        Number of each tree's first node, and of the end.
    set_start : int64, length n_sets + 1
        ``set_words[set_start[i]:set_start[i + 1]]`` is category set i, as in `Tree`; over
        codes where the categories of its column share them. Such codes may also be in order,
        and then nodes cut them as numbers are cut.
    set_words : uint64
    table : float64, shape (n_distinct, n_values)
        What leaves predict; without a table of shape (0, 1).
    inner_value : float64, shape (n_inner, n_values) or (0, n_values)
        What inner nodes predict, where that is not the mean of the leaves below.
    weight_unit, impurity_unit : float64, one entry per tree
        What the float32 weights and impurities are multiplied with: powers of two, 1 unless
        float32 has no room for the numbers themselves.
    class_start : int64
        Where the values of each output begin, and the end.
    by_table : bool
        Whether leaves predict a row of the table.
    code_start : int64, length n_features + 1, or 0 if no column has more categories than codes
        ``code_of_category[code_start[f]:code_start[f + 1]]`` are the codes of the categories of
        column f; none if its sets are over the categories themselves.
    code_of_category : uint8
    """

    nodes: Array
    impurity: Array
    root: Array
    set_start: Array
    set_words: Array
    table: Array
    inner_value: Array
    weight_unit: Array
    impurity_unit: Array
    class_start: Array
    by_table: bool
    code_start: Array = field(default_factory=lambda: np.empty(0, np.int64))
    code_of_category: Array = field(default_factory=lambda: np.empty(0, BIN))

    def __reduce__(self) -> tuple[Any, ...]:
        return ForestStore, tuple(getattr(self, one.name) for one in fields(self))

    # --- making one -----------------------------------------------------------------

    @classmethod
    def pack(
        cls,
        trees: Sequence[Tree],
        by_table: bool,
        class_start: Any = None,
        keep_inner: bool = False,
    ) -> ForestStore:
        """Pack trees.

        Parameters
        ----------
        trees : sequence of Tree
            At least one; binary.
        by_table : bool
            False for regression with one output, True for everything else.
        class_start : array of int, optional
            Where the values of each output begin, and the end; one output by default.
        keep_inner : bool, default False
            Keep what inner nodes predict, because it is not the mean of the leaves below
            (medians).
        """
        return cls.join([_pack_tree(tree, by_table, class_start, keep_inner) for tree in trees])

    @classmethod
    def join(cls, stores: list[ForestStore], release: bool = False) -> ForestStore:
        """One store with the trees of several, in their order.

        With ``release`` the list is emptied on the way, so that a store that nobody else
        holds is gone as soon as it was copied, and all trees never exist twice.
        """
        if not stores:
            raise ValueError("a forest needs at least one tree: give at least one store")
        if len(stores) == 1:
            return stores[0]
        collection = Collection(sum(store.n_nodes for store in stores))
        for store in _emptied(stores) if release else stores:
            collection.append(store)
        return collection.store()

    def take(self, trees: slice) -> ForestStore:
        """A store of some neighbouring trees, as if only they had been packed."""
        first, last, step = trees.indices(self.n_trees)
        if step != 1 or last <= first:
            raise ValueError(f"{trees} does not name one or more neighbouring trees")
        place = slice(int(self.root[first]), int(self.root[last]))
        inner = slice(*((self.root[[first, last]] - [first, last]) // 2))  # half but the root
        nodes = _as_words(self.nodes[place]).copy().view(RECORD)
        sets = self._sets_of(nodes)
        words = slice(int(self.set_start[sets.start]), int(self.set_start[sets.stop]))
        used = np.zeros(len(self.table), bool)
        if self.by_table:
            used[~nodes["child"][nodes["child"] < 0]] = True
        renumber(nodes, -sets.start, np.cumsum(used) - 1)
        return replace(
            self,
            nodes=nodes,
            impurity=self.impurity[place].copy(),
            root=self.root[first : last + 1] - place.start,
            set_start=self.set_start[sets.start : sets.stop + 1] - words.start,
            set_words=self.set_words[words].copy(),
            table=self.table[used],
            inner_value=self.inner_value[inner].copy(),
            weight_unit=self.weight_unit[first:last].copy(),
            impurity_unit=self.impurity_unit[first:last].copy(),
        )

    def check_joins(self, other: ForestStore) -> None:
        """Raise an error unless trees of the other store may be put beside those of this one."""
        if self.by_table != other.by_table or not np.array_equal(
            self.class_start, other.class_start
        ):
            raise ValueError(
                f"trees that predict {other.n_values} values cannot join those of a forest "
                f"that predicts {self.n_values}: all must be made for the same target"
            )
        if not self.has_codes(other.code_start, other.code_of_category):
            raise ValueError(
                "trees cannot join those of a forest that gives other codes to the categories of "
                "a column: all must be grown on the same rows"
            )

    def has_codes(self, code_start: Array, code_of_category: Array) -> bool:
        """Whether these are the codes of categories that the sets are over."""
        return self._codes.are(SharedCodes(code_start, code_of_category))

    # --- what it holds --------------------------------------------------------------

    @property
    def n_trees(self) -> int:
        """How many trees there are."""
        return len(self.root) - 1

    @property
    def n_nodes(self) -> int:
        """How many nodes all trees have, leaves included."""
        return len(self.nodes)

    @property
    def n_values(self) -> int:
        """How many numbers a leaf predicts."""
        return int(self.table.shape[1])

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays().values())

    def arrays(self) -> dict[str, Array]:
        """The arrays by name, as a model file keeps them and `validate.check_store` takes them.

        The fields of a node are arrays of their own here.
        """
        split = {name: self.nodes[name] for name in RECORD.names or ()}
        return split | {name: getattr(self, name) for name in STORE_FIELDS if name not in split}

    def digest(self) -> str:
        """SHA-256 of all arrays: equal digests mean the same trees, bit for bit."""
        state = hashlib.sha256(b"table;" if self.by_table else b"values;")
        for name, array in self.arrays().items():
            if name in _CODES and not len(self.code_start):
                continue  # the digest of a forest without them is older than they are
            little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
            state.update(f"{name}:{array.dtype.str[1:]}:{array.shape};".encode())
            state.update(little.tobytes())
        return state.hexdigest()

    def node_count(self, tree: int) -> int:
        """How many nodes a tree has."""
        return int(self.root[tree + 1] - self.root[tree])

    def leaf_values(self, tree: int, leaves: Array) -> Array:
        """What leaves of a tree, given by their numbers, predict: (n, n_values)."""
        chosen = self.nodes[self.root[tree] + leaves]
        return self._leaf_values(chosen)

    def leaf_samples(self, tree: int, leaves: Array) -> Array:
        """How many training rows are in leaves of a tree, given by their numbers."""
        return self.nodes["feature"][self.root[tree] + leaves]

    def leaf_weights(self, tree: int, leaves: Array) -> Array:
        """What the training rows in leaves of a tree weigh."""
        return self._leaf_weights(self.nodes[self.root[tree] + leaves], self.weight_unit[tree])

    def tree(self, number: int, with_sets: bool = True) -> Tree:
        """A tree as an ordinary `Tree`, its sets over categories.

        Values, weights and rows of inner nodes are summed up from the leaves, so they may
        differ from those of the grown tree by rounding. Impurities are rounded to float32.
        Sets over very many categories take much memory: ``with_sets=False`` is for those who
        only look at how the nodes hang together.
        """
        number = range(self.n_trees)[number]
        place = slice(int(self.root[number]), int(self.root[number + 1]))
        nodes = self.nodes[place]
        leaf = nodes["child"] < 0
        subset = ~leaf & (nodes["feature"] & CATEGORY != 0)
        cut = self._cuts_codes(nodes)
        sums = self.sums(number, number + 1)
        set_start, set_words = np.zeros(len(nodes) + 1, np.int64), np.empty(0, WORD)
        if with_sets:
            set_start, set_words = self._sets_by_node(nodes, subset)
            if cut.any():
                set_start, set_words = self._with_cuts(nodes, cut, set_start, set_words)
        subset |= cut
        return Tree(
            first_child=sums.first_child,
            n_branches=np.where(leaf, 0, 2).astype(NODE),
            feature=np.where(leaf, NO_FEATURE, nodes["feature"] & FEATURE_MASK).astype(FEATURE),
            kind=np.where(leaf, LEAF, np.where(subset, SUBSET, THRESHOLD)).astype(SPLIT_KIND),
            threshold=np.where(leaf | subset, np.nan, nodes["threshold"]),
            missing_branch=(~leaf & (nodes["feature"] & MISSING_RIGHT != 0)).astype(NODE),
            set_start=set_start,
            set_words=set_words,
            n_samples=sums.n_samples,
            weight=sums.weight,
            impurity=self.impurity[place].astype(np.float64) * self.impurity_unit[number],
            value=sums.value,
        )

    def _leaf_values(self, leaves: Array) -> Array:
        if self.by_table:
            return self.table[~leaves["child"]]
        return leaves["threshold"][:, None]

    def _leaf_weights(self, leaves: Array, unit: Any) -> Array:
        if self.by_table:
            return leaves["threshold"].copy()
        negative = np.ascontiguousarray(leaves["child"]).view(np.float32)
        return -negative.astype(np.float64) * unit

    def sums(self, first: int, last: int) -> NodeSums:
        """Rows, weights and values of all nodes of the trees ``first:last``, from their leaves."""
        start = self.root[first : last + 1] - self.root[first]
        nodes = self.nodes[int(self.root[first]) : int(self.root[last])]
        leaf, tree = nodes["child"] < 0, np.repeat(np.arange(last - first), np.diff(start))
        first_child = np.where(leaf, NO_CHILD, nodes["child"] + start[tree]).astype(NODE)
        n_samples = np.zeros(len(nodes), np.int64)
        weight = np.zeros(len(nodes))
        value = np.zeros((len(nodes), self.n_values))
        n_samples[leaf] = nodes["feature"][leaf]
        weight[leaf] = self._leaf_weights(nodes[leaf], self.weight_unit[first:last][tree[leaf]])
        value[leaf] = self._leaf_values(nodes[leaf])
        # a power of two keeps sums of counts exact, and the sums of large values finite
        total = np.add.reduceat(weight, start[:-1])
        exponent = np.minimum(np.ceil(np.log2(np.where(total > 0, total, 1.0))), 1023.0)
        unit = (2.0**exponent)[tree]
        sums = value * (weight / unit)[:, None]
        for inner in list(levels(first_child, start[:-1]))[::-1]:
            left = first_child[inner]
            right = left + 1
            n_samples[inner] = n_samples[left] + n_samples[right]
            weight[inner] = weight[left] + weight[right]
            sums[inner] = sums[left] + sums[right]
            heavy = weight[inner, None] > 0
            mean = sums[inner] / np.where(heavy, (weight[inner] / unit[inner])[:, None], 1.0)
            value[inner] = np.where(heavy, mean, value[left] / 2 + value[right] / 2)
        if len(self.inner_value):
            before = int(self.root[first] - first) // 2
            value[~leaf] = self.inner_value[before : before + np.count_nonzero(~leaf)]
        return NodeSums(start[:-1], first_child, n_samples, weight, value)

    def _sets_by_node(self, nodes: Array, subset: Array) -> tuple[Array, Array]:
        """Category sets of a tree, and where the set of each node begins."""
        sets = self._sets_of(nodes)
        length = np.diff(self.set_start[sets.start : sets.stop + 1])
        place = slice(int(self.set_start[sets.start]), int(self.set_start[sets.stop]))
        n_words = np.zeros(len(nodes), np.int64)
        n_words[subset], words = unfold_sets(
            length,
            self.set_words[place].copy(),
            nodes["feature"][subset] & FEATURE_MASK,
            self._codes.by_column(),
        )
        return _ends(n_words), words

    def _cuts_codes(self, nodes: Array) -> Array:
        """Which nodes cut the codes of a column of categories that are in order."""
        numbers = (nodes["child"] >= 0) & (nodes["feature"] & CATEGORY == 0)
        if not len(self.code_start):
            return np.zeros(len(nodes), bool)
        return numbers & np.isin(nodes["feature"] & FEATURE_MASK, self._codes.columns)

    def _with_cuts(
        self, nodes: Array, cut: Array, set_start: Array, set_words: Array
    ) -> tuple[Array, Array]:
        """The sets of all nodes, with those of the categories below a cut."""
        codes = self._codes.by_column()
        pieces = [set_words[first:last] for first, last in pairwise(set_start.tolist())]
        for node in np.flatnonzero(cut).tolist():
            code = codes[int(nodes["feature"][node] & FEATURE_MASK)]
            bits = np.zeros(-(-len(code) // WORD_BITS) * WORD_BITS, np.uint8)
            bits[: len(code)] = code <= nodes["threshold"][node]
            pieces[node] = np.packbits(bits, bitorder="little").view(WORD)
        return _ends(np.array([len(piece) for piece in pieces])), np.concatenate(pieces)

    @property
    def _codes(self) -> SharedCodes:
        """The codes that sets are over."""
        return SharedCodes(self.code_start, self.code_of_category)

    def asked_features(self) -> Array:
        """Numbers of the columns that any node asks for, ascending."""
        inner = self.nodes["child"] >= 0
        return np.unique(self.nodes["feature"][inner] & FEATURE_MASK)

    def _sets_of(self, nodes: Array) -> slice:
        """Numbers of the category sets of some neighbouring trees."""
        asked = nodes["threshold"][_asks_set(nodes)]
        return slice(int(asked[0]), int(asked[-1]) + 1) if len(asked) else slice(0, 0)

    # --- prediction -----------------------------------------------------------------

    @cached_property
    def _walks(self) -> Walks:
        return self._walks_with(self.table)

    @cached_property
    def _hard_walks(self) -> Walks:
        """As `_walks`, each leaf giving its whole vote to its most probable classes."""
        table = np.zeros_like(self.table)
        for first, last in zip(self.class_start[:-1], self.class_start[1:], strict=True):
            best = self.table[:, first:last].argmax(axis=1)
            table[np.arange(len(table)), first + best] = 1.0
        return self._walks_with(table)

    @cached_property
    def _is_large(self) -> bool:
        """Whether the trees predict numbers whose sum may be beyond all numbers."""
        if self.by_table:
            return is_large(self.table)
        numbers = self.nodes["threshold"]  # of questions and leaves: large ones are rare
        return is_large(numbers) and is_large(numbers[self.nodes["child"] < 0])

    @cached_property
    def _shrunk_walks(self) -> Walks:
        """As `_walks`, with predictions so small that their sum is a number."""
        nodes = _as_words(self.nodes).copy().view(RECORD)
        if not self.by_table:
            leaf = nodes["child"] < 0
            nodes["threshold"][leaf] = np.ldexp(nodes["threshold"][leaf], -HEADROOM)
        return replace(self, nodes=nodes)._walks_with(np.ldexp(self.table, -HEADROOM))

    def _choose_walks(self, hard: bool, shrunk: bool) -> Walks:
        if hard and not self.by_table:
            raise ValueError("a regression forest has no classes to vote for: use hard=False")
        if hard:
            return self._hard_walks
        return self._shrunk_walks if shrunk else self._walks

    def _walks_with(self, table: Array) -> Walks:
        inner = self.nodes["child"] >= 0
        asked = self.nodes["feature"][inner] & FEATURE_MASK
        n_columns = int(asked.max()) + 1 if len(asked) else 0
        forest = Forest(
            by_table=self.by_table,
            has_sets=len(self.set_start) > 1,
            n_asked=n_columns,
            threshold=self.nodes.view(np.float64),
            link=self.nodes.view(np.int32),
            root=self.root,
            set_start=self.set_start,
            set_words=self.set_words,
            table=table,
            n_known=self._known_categories(n_columns),
        )
        return Walks(forest, self.n_values, self._codes)

    def _known_categories(self, n_columns: int) -> Array:
        """How many categories, or codes, the sets of each column can hold; 0: there are none."""
        asking = self.nodes[_asks_set(self.nodes)]
        sets = asking["threshold"].astype(np.int64)
        known = np.zeros(n_columns, np.int64)
        known[asking["feature"] & FEATURE_MASK] = np.diff(self.set_start)[sets] * WORD_BITS
        return known

    def scores(
        self,
        matrix: Any,
        n_jobs: int | None = None,
        first: int = 0,
        last: int | None = None,
        checked: bool = True,
        hard: bool = False,
        shrunk: bool = False,
    ) -> Array | None:
        """What the trees ``first:last`` predict, summed in the order of the trees.

        Returns float64 of shape (n_rows, n_values); None if the matrix holds an infinite
        value, which `Schema.read` has the words for. With ``checked=False`` infinite values
        are compared like any other. With ``hard=True`` a tree gives 1 to its most probable
        class (the first of equals) of each output. With ``shrunk=True`` predictions are divided
        by 2**HEADROOM first, so that no sum is beyond all numbers.
        """
        walks = self._choose_walks(hard, shrunk)
        first, last, _ = slice(first, last).indices(self.n_trees)
        scores = np.zeros((matrix.shape[0], self.n_values))
        finite = walks.run(matrix, n_jobs, first, max(first, last), scores, checked=checked)
        return scores if finite else None

    def means(self, matrix: Any, n_jobs: int | None = None, hard: bool = False) -> Array | None:
        """What all trees predict on average; None as in `scores`."""
        shrunk = self._is_large
        means = self.scores(matrix, n_jobs, hard=hard, shrunk=shrunk)
        if means is not None:
            means /= self.n_trees
        return np.ldexp(means, HEADROOM) if shrunk and means is not None else means

    def scores_where(
        self,
        matrix: Any,
        n_jobs: int | None,
        in_bag: Callable[[int], Array],
        first: int = 0,
        last: int | None = None,
        hard: bool = False,
        shrunk: bool = False,
    ) -> tuple[Array, Array] | None:
        """Sums over the trees that a row is not in the bag of, and how many these are.

        ``in_bag(tree)`` says for each row whether (or how often) the tree was grown on it;
        it is called once per tree, from several threads. None, ``hard`` and ``shrunk`` as in
        `scores`.
        """
        walks = self._choose_walks(hard, shrunk)
        first, last, _ = slice(first, last).indices(self.n_trees)
        n_rows = matrix.shape[0]
        scores, votes = np.zeros((n_rows, self.n_values)), np.zeros(n_rows, NODE)
        step = max(1, min(last - first, _BAG_BYTES // max(1, n_rows)))
        for start in range(first, last, step):
            end = min(start + step, last)
            bags = np.empty((end - start, n_rows), np.uint8)  # the kernel reads them tree by tree

            def fill(number: int, start: int = start, bags: Array = bags) -> None:
                np.not_equal(in_bag(start + number), 0, out=bags[number].view(bool))

            run_parallel(fill, end - start, n_jobs, bags.size * _SECONDS_PER_DRAW)
            if not walks.run(matrix, n_jobs, start, end, scores, bags=bags.T, votes=votes):
                return None
        return scores, votes

    def leaves(
        self,
        matrix: Any,
        n_jobs: int | None = None,
        first: int = 0,
        last: int | None = None,
        checked: bool = True,
    ) -> Array | None:
        """Number of each row's leaf in the trees ``first:last``: int32, (n_rows, n_trees).

        Leaves are numbered as in `tree`. None as in `scores`.
        """
        first, last, _ = slice(first, last).indices(self.n_trees)
        nodes = np.empty((matrix.shape[0], max(0, last - first)), NODE)
        walks = self._walks
        finite = walks.run(matrix, n_jobs, first, max(first, last), nodes=nodes, checked=checked)
        return nodes if finite else None

    def leaves_of(
        self, matrix: Any, tree: int, rows: Array | None = None, n_jobs: int | None = 1
    ) -> Array | None:
        """Leaf of each row (or of some rows) in one tree; None as in `scores`."""
        tree = range(self.n_trees)[tree]
        chosen = matrix if rows is None else matrix[rows]
        leaves = self.leaves(chosen, n_jobs, tree, tree + 1)
        return None if leaves is None else leaves[:, 0]


def _pack_tree(tree: Tree, by_table: bool, class_start: Any, keep_inner: bool) -> ForestStore:
    """A store of one tree."""
    leaf, n_values = tree.is_leaf, tree.value.shape[1]
    if np.any(tree.kind == MULTIWAY):
        raise ValueError("a forest is packed from binary trees, but a split has more branches")
    if not by_table and n_values != 1:
        raise ValueError(f"leaves that predict {n_values} values need a table: use by_table=True")
    subset = tree.kind == SUBSET
    nodes = np.empty(tree.node_count, RECORD)
    nodes["threshold"] = tree.threshold
    nodes["threshold"][subset] = np.arange(np.count_nonzero(subset))
    nodes["child"] = tree.first_child
    nodes["feature"] = np.where(
        leaf,
        tree.n_samples,
        tree.feature + tree.missing_branch * MISSING_RIGHT + subset * CATEGORY,
    )
    table, unit = np.empty((0, n_values)), 1.0
    if by_table:
        table, rows = distinct_rows(tree.value[leaf])
        nodes["threshold"][leaf] = tree.weight[leaf]
        nodes["child"][leaf] = ~rows
    else:
        weight = tree.weight[leaf]
        unit = _unit(weight)
        nodes["threshold"][leaf] = tree.value[leaf, 0]
        nodes["child"][leaf] = (-(weight / unit).astype(np.float32)).view(np.int32)
    impurity_unit = _unit(tree.impurity)
    return ForestStore(
        nodes=nodes,
        impurity=(tree.impurity / impurity_unit).astype(np.float32),
        root=np.array([0, tree.node_count]),
        set_start=_ends(np.diff(tree.set_start)[subset]),
        set_words=tree.set_words.astype(WORD, copy=False),
        table=table,
        inner_value=tree.value[~leaf] if keep_inner else np.empty((0, n_values)),
        weight_unit=np.array([unit]),
        impurity_unit=np.array([impurity_unit]),
        class_start=np.array([0, n_values] if class_start is None else class_start, np.int64),
        by_table=bool(by_table),
    )


def _unit(numbers: Array) -> float:
    """A power of two that brings numbers into the range of float32; 1 if they are there."""
    largest = float(numbers.max())
    if largest <= 0 or _LEAST <= largest <= _MOST:
        return 1.0
    return float(2.0 ** np.floor(np.log2(largest)))


def _as_words(nodes: Array) -> Array:
    """The memory of nodes as numbers, which NumPy copies at once, not field by field."""
    return nodes.view(WORD)


def renumber(nodes: Array, set_shift: int, rows: Array) -> None:
    """Let nodes name their sets and their rows of the table by new numbers, in place."""
    if set_shift or (len(rows) and np.any(rows != np.arange(len(rows)))):
        links, thresholds = nodes.view(np.int32), nodes.view(np.float64)
        renumber_nodes(links, thresholds, set_shift, np.ascontiguousarray(rows, np.int64))


def _asks_set(nodes: Array) -> Array:
    """Which nodes ask for categories."""
    return (nodes["child"] >= 0) & (nodes["feature"] & CATEGORY != 0)


def distinct_rows(rows: Array) -> tuple[Array, Array]:
    """Distinct rows, in the order of a key, and which of them each row is."""
    bits = np.ascontiguousarray(rows).view(np.uint64)
    factors = (np.arange(rows.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)) * np.uint64(
        0x9E3779B97F4A7C15
    )
    mixed = (bits ^ (bits >> np.uint64(29))) * factors
    keys = (mixed ^ (mixed >> np.uint64(32))).sum(axis=1, dtype=np.uint64)
    _, index, inverse = np.unique(keys, return_index=True, return_inverse=True)
    if np.array_equal(bits[index[inverse]], bits):
        return rows[index], inverse
    distinct, inverse = np.unique(bits, axis=0, return_inverse=True)  # two rows have one key
    return distinct.view(np.float64), inverse.reshape(-1)


def levels(first_child: Array, roots: Array) -> Iterator[Array]:
    """Inner nodes of some trees, level by level."""
    nodes = roots
    while len(inner := nodes[first_child[nodes] != NO_CHILD]):
        yield inner
        left = first_child[inner]
        nodes = np.concatenate([left, left + 1])


class Collection:
    """Trees that are put one behind the other, to be one store in the end."""

    def __init__(self, n_nodes: int = 0) -> None:
        """Make room for so many nodes; more is made when needed."""
        check_node_count(n_nodes)
        self.nodes = np.empty(n_nodes, RECORD)
        self.impurity = np.empty(n_nodes, np.float32)
        self.words = np.empty(0, WORD)
        self.end = self.words_end = 0
        self.parts: list[ForestStore] = []  # all but their nodes and sets

    def append(self, store: ForestStore, n_more: int = 0) -> None:
        """Copy the trees of a store; about ``n_more`` more stores of its size will come."""
        if self.parts:
            self.parts[0].check_joins(store)
        place = slice(self.end, self.end + store.n_nodes)
        check_node_count(place.stop)
        if place.stop > len(self.nodes):
            self._make_room(place.stop + int(1.1 * n_more * store.n_nodes))
        self.impurity[place] = store.impurity
        _as_words(self.nodes[place])[:] = _as_words(store.nodes)
        self.end = place.stop
        n_words = len(store.set_words)
        words = slice(self.words_end, self.words_end + n_words)
        if words.stop > len(self.words):
            larger = np.empty(words.stop + int(1.1 * n_more * n_words), WORD)
            larger[: self.words_end] = self.words[: self.words_end]
            self.words = larger
        self.words[words] = store.set_words
        self.words_end = words.stop
        nodes, words_of = store.nodes[:0].copy(), store.set_words[:0].copy()
        rest = replace(store, nodes=nodes, impurity=self.impurity[:0], set_words=words_of)
        self.parts.append(rest)

    def _make_room(self, n_nodes: int) -> None:
        nodes, impurity = np.empty(n_nodes, RECORD), np.empty(n_nodes, np.float32)
        _as_words(nodes[: self.end])[:] = _as_words(self.nodes[: self.end])
        impurity[: self.end] = self.impurity[: self.end]
        self.nodes, self.impurity = nodes, impurity

    def store(self) -> ForestStore:
        """All trees; the collection must not be used afterwards."""
        parts = self.parts
        table, rows = distinct_rows(np.concatenate([part.table for part in parts]))
        root = _ends(np.concatenate([np.diff(part.root) for part in parts]))
        inner_value = np.concatenate([part.inner_value for part in parts])
        if len(inner_value) not in (0, (root[-1] - len(root) + 1) // 2):
            raise ValueError("some of the trees keep what inner nodes predict and some do not")
        nodes = self.nodes[: self.end]  # what is behind them was never touched
        end = n_sets = n_rows = 0
        for part in parts:
            place = slice(end, end := end + int(part.root[-1]))
            renumber(nodes[place], n_sets, rows[n_rows : n_rows + len(part.table)])
            n_sets += len(part.set_start) - 1
            n_rows += len(part.table)
        return replace(
            parts[0],
            nodes=nodes,
            impurity=self.impurity[: self.end],
            root=root,
            set_start=_ends(np.concatenate([np.diff(part.set_start) for part in parts])),
            set_words=self.words[: self.words_end],
            table=table,
            inner_value=inner_value,
            weight_unit=np.concatenate([part.weight_unit for part in parts]),
            impurity_unit=np.concatenate([part.impurity_unit for part in parts]),
        )


def _emptied(stores: list[ForestStore]) -> Iterator[ForestStore]:
    """The stores of a list, in order; each leaves the list when it is its turn."""
    stores.reverse()
    while stores:
        yield stores.pop()


def _ends(counts: Array) -> Array:
    """Where each of some neighbouring runs begins, and the end of the last."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])

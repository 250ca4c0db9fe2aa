"""Many trees whose predictions are added up: what boosting and forests predict with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from hornbeam.dtypes import LISTED, MULTIWAY, NODE, SUBSET, THRESHOLD, WORD_BITS, Array
from hornbeam.errors import rebuilt
from hornbeam.kernels.ensemble import (
    ALL_BITS,
    BY_BITS,
    BY_QUESTIONS,
    BY_STEPS,
    CHUNK_BITS,
    GROUP,
    EnsembleTask,
    Packed,
    predict_rows,
)
from hornbeam.kernels.traverse import MISSING_RIGHT
from hornbeam.runtime.views import make_slots, remembered_slots
from hornbeam.tree.predict import Cells, Outputs, check_width, send_down
from hornbeam.tree.sets import SharedCodes
from hornbeam.tree.storage import Planes, Tree, Trees, check_node_count

# A tree of more leaves is walked: that takes less time then.
_MOST_LEAVES = 256
# Rows of a block: all of them take part in each step, and the block stays in the cache.
_MOST_WIDTH = 128
_BLOCK_BYTES = 1 << 18
_LINE_BYTES = 64  # of the cache
# What one row costs, for the choice of the number of threads.
_SECONDS_PER_QUESTION = 1e-10
_SECONDS_PER_STEP = 2e-9
_SECONDS_PER_VALUE = 5e-10
_SECONDS_PER_TERM = 1e-9  # of a plane


class Ensemble:
    """Trees and the scores they are added to; never changes, safe to share by threads.

    Parameters
    ----------
    trees : Trees, or sequence of Tree
    score_of_tree : array of int
        Which score a tree's value is added to. A tree with several values adds them to
        this score and the ones behind it.
    n_scores : int
    start : array of n_scores float64
        What the scores are before the first tree.
    """

    def __init__(
        self, trees: Trees | Sequence[Tree], score_of_tree: Any, n_scores: int, start: Any
    ) -> None:
        self.trees = trees if isinstance(trees, Trees) else Trees.of(trees, int(n_scores))
        check_node_count(self.trees.nodes.node_count)
        self.score_of_tree = np.array(score_of_tree, np.int64)
        self.n_scores = int(n_scores)
        self.start = np.array(start, np.float64)
        width, n_trees = self.trees.n_values, len(self.trees)
        if self.score_of_tree.shape != (n_trees,) or self.start.shape != (self.n_scores,):
            raise ValueError(
                f"{n_trees} trees and {self.n_scores} scores need as many entries in "
                f"score_of_tree and start, not {self.score_of_tree.shape} and {self.start.shape}"
            )
        if np.any(self.score_of_tree < 0) or np.any(self.score_of_tree + width > self.n_scores):
            raise ValueError(f"a tree adds to a score beyond the {self.n_scores} there are")
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuilt, (Ensemble, self.trees, self.score_of_tree, self.n_scores, self.start)

    @property
    def n_trees(self) -> int:
        """How many trees there are."""
        return len(self.trees)

    @cached_property
    def _made(self) -> PackedTrees:
        return PackedTrees(self.trees, self.score_of_tree)

    @property
    def packed(self) -> PackedTrees:
        """The trees as the kernels want them, made when they are first asked for."""
        if "_made" in self.__dict__:
            return self._made
        with self._lock:
            return self._made

    def scores(
        self,
        matrix: Any,
        n_jobs: int | None = None,
        first: int = 0,
        last: int | None = None,
        checked: bool = True,
    ) -> Array | None:
        """Start plus the values of the trees ``first:last``, summed in the order of the trees.

        Returns float64 of shape (n_rows, n_scores); None if the matrix holds an infinite
        value, which `Schema.read` has the words for. With ``checked=False`` infinite values
        are compared like any other.
        """
        scores = self._start_scores(matrix)
        first, last, _ = slice(first, last).indices(self.n_trees)
        return scores if self._run(matrix, n_jobs, first, last, scores, None, checked) else None

    def staged_scores(
        self, matrix: Any, n_jobs: int | None = None, every: int = 1
    ) -> Iterator[Array | None]:
        """Scores after each ``every`` trees (and after the last); None as in `scores`."""
        scores = self._start_scores(matrix)
        for first in range(0, self.n_trees, every):
            last = min(first + every, self.n_trees)
            if not self._run(matrix, n_jobs, first, last, scores, None):
                yield None
                return
            yield scores.copy()

    def leaves(self, matrix: Any, n_jobs: int | None = None) -> Array | None:
        """Number of each row's leaf in each tree: int32, (n_rows, n_trees); None as in `scores`."""
        nodes = np.empty((matrix.shape[0], self.n_trees), NODE)
        return nodes if self._run(matrix, n_jobs, 0, self.n_trees, None, nodes) else None

    def _start_scores(self, matrix: Any) -> Array:
        scores = np.empty((matrix.shape[0], self.n_scores))
        scores[:] = self.start
        return scores

    def _run(
        self,
        matrix: Any,
        n_jobs: int | None,
        first: int,
        last: int,
        scores: Array | None,
        nodes: Array | None,
        checked: bool = True,
    ) -> bool:
        """Add to scores or fill in nodes; False if an infinite value was met."""
        packed = self.packed
        check_width(matrix.shape[1], packed.n_columns)
        n_scores = 0 if scores is None else self.n_scores

        def walk(cells: Cells, first_row: int, last_row: int, outputs: Outputs) -> bool:
            width = packed.width_for(last_row - first_row)
            task = remembered_slots(
                EnsembleTask, *cells[1:], checked, n_scores, first, last, first_row, last_row,
                width,
            )  # fmt: skip
            return packed.predict(cells[0], task, width, *outputs)

        prepare = packed.coded if len(packed.coded_columns) else None
        seconds_per_row = (last - first) / max(1, self.n_trees) * packed.seconds_per_row
        return send_down(matrix, walk, (scores, nodes), n_jobs, seconds_per_row, prepare=prepare)


class PackedTrees:
    """Trees made ready for the kernel `predict_rows`."""

    def __init__(self, trees: Trees, score_of_tree: Array) -> None:
        nodes = _Nodes(trees)
        planes = trees.planes or Planes(np.zeros_like(nodes.child), *3 * [np.empty(0)])
        n_leaves = nodes.n_leaves[nodes.root]
        method = np.where(n_leaves <= _MOST_LEAVES, BY_BITS, BY_STEPS)
        asked = np.maximum.reduceat(nodes.kind, nodes.root) if len(trees) else nodes.kind
        method[(asked == SUBSET) & (method == BY_STEPS)] = BY_QUESTIONS
        method[asked > SUBSET] = BY_QUESTIONS
        if trees.planes is not None:  # their blocks are not made for bits
            method[:] = BY_QUESTIONS
        inner = nodes.kind > 0
        used = np.union1d(nodes.feature[inner], planes.feature).astype(np.int32)
        column = np.where(inner, np.searchsorted(used, nodes.feature), 0).astype(np.int32)
        chunks = _Chunks(nodes, column, method, n_leaves)
        leaves, first_leaf = nodes.leaves(), _starts(n_leaves)[:-1]
        self.arrays = Packed(
            n_trees=len(trees),
            n_used=len(used),
            method=method.astype(np.uint8),
            first_chunk=chunks.first_chunk,
            root=nodes.root,
            first_leaf=first_leaf,
            n_values=trees.n_values,
            by_row=trees.planes is not None,
            score=score_of_tree,
            node_of_leaf=(leaves - np.repeat(nodes.root, n_leaves)).astype(np.int32),
            value=trees.nodes.value[leaves].ravel(),
            used=used,
            span=chunks.span,
            keep=chunks.keep,
            column=column[chunks.node],
            node=chunks.node.astype(np.int32),
            first_term=_starts(planes.n_terms),
            term_column=np.searchsorted(used, planes.feature).astype(np.int32),
            term_weight=planes.weight,
            term_missing=planes.missing,
            **nodes.packed(column),
        )
        self.codes = trees.codes or SharedCodes.of({}, 0)
        self.coded_columns = np.intersect1d(self.codes.columns, used)
        self.n_columns = int(used[-1]) + 1 if len(used) else 0  # that a table must have
        self.cuts = {"d": chunks.threshold, "f": round_down(chunks.threshold)}
        self.slots = make_slots(self.arrays)
        room = _BLOCK_BYTES // (8 * max(1, len(used))) // GROUP * GROUP
        self.width = int(min(max(room, GROUP), _MOST_WIDTH))
        walked = method != BY_BITS
        self.seconds_per_row = (
            len(chunks.keep) * _SECONDS_PER_QUESTION
            + np.log2(n_leaves[walked] + 1).sum() * 2 * _SECONDS_PER_STEP
            + len(trees) * trees.n_values * _SECONDS_PER_VALUE
            + len(planes.weight) / max(1, len(nodes.child)) * len(trees) * 8 * _SECONDS_PER_TERM
        )

    def coded(self, matrix: Array) -> Array:
        """A copy of a table with codes in the place of categories that share them."""
        return self.codes.coded(matrix, self.coded_columns)

    def width_for(self, n_rows: int) -> int:
        """How many rows the blocks have into which so many are put."""
        return min(self.width, -(-n_rows // GROUP) * GROUP)

    def predict(
        self, flat: Array, task: Array, width: int, scores: Array | None, nodes: Array | None
    ) -> bool:
        """Run the kernel on a task, given by its slots, in blocks of so many rows."""
        # sums over planes are of float64, so their blocks are, too: each number is made one once
        kind = np.dtype(np.float64) if self.arrays.by_row else flat.dtype
        new_room: Callable[..., Array] = np.empty if width == GROUP else _empty_aligned
        finite: bool = predict_rows(
            flat,
            self.cuts[kind.char],
            self.slots,
            task,
            new_room(max(1, self.arrays.n_used) * width, kind),
            new_room(width, np.uint32),
            new_room(width, np.uint32),
            np.empty(0) if scores is None else scores.reshape(-1),
            np.empty(0, NODE) if nodes is None else nodes.reshape(-1),
        )
        return finite


class _Nodes:
    """The nodes of all trees in one numbering, with their leaves numbered left to right."""

    def __init__(self, trees: Trees) -> None:
        nodes, counts = trees.nodes, np.diff(trees.node_start)
        self.root = trees.node_start[:-1]
        self.tree = np.repeat(np.arange(len(trees)), counts)
        self.kind = nodes.kind
        self.feature = nodes.feature.astype(np.int64)
        self.threshold = nodes.threshold
        self.missing = nodes.missing_branch
        self.n_branches = nodes.n_branches.astype(np.int64)
        self.child = nodes.first_child + np.repeat(self.root, counts)
        self.child[self.kind == 0] = np.flatnonzero(self.kind == 0)  # a leaf is its own child
        # and one more word, which is read, but not used, for a set without words
        self.set_words = np.append(nodes.set_words, np.uint64(0))
        self.set_start = nodes.set_start
        self._number_leaves()

    def _number_leaves(self) -> None:
        """Count the leaves below each node and number them, one level at a time."""
        levels = [self.root]
        parents = []
        while len(levels[-1]):
            level = levels[-1]
            inner = level[self.kind[level] > 0]
            counts = self.n_branches[inner]
            place = np.arange(counts.sum()) - np.repeat(_starts(counts)[:-1], counts)
            parents.append(inner)
            levels.append(np.repeat(self.child[inner], counts) + place)
        self.n_leaves = (self.kind == 0).astype(np.int64)
        for inner, below in zip(parents[::-1], levels[:0:-1], strict=True):
            if len(inner):
                starts = _starts(self.n_branches[inner])[:-1]
                self.n_leaves[inner] = np.add.reduceat(self.n_leaves[below], starts)
        self.first_leaf = np.zeros(len(self.kind), np.int64)  # in its own tree
        for inner, below in zip(parents, levels[1:], strict=True):
            counts = self.n_branches[inner]
            before = _starts(self.n_leaves[below])[:-1]
            shift = self.first_leaf[inner] - before[_starts(counts)[:-1]] if len(inner) else inner
            self.first_leaf[below] = before + np.repeat(shift, counts)

    def leaves(self) -> Array:
        """Numbers of all leaves: tree by tree, left to right."""
        leaves = np.flatnonzero(self.kind == 0)
        return leaves[np.lexsort((self.first_leaf[leaves], self.tree[leaves]))]

    def packed(self, column: Array) -> dict[str, Array]:
        """The arrays of `Packed` that have one entry per node."""
        leaf = self.kind == 0
        threshold = np.where(leaf, np.inf, self.threshold)
        # where categories are asked, the threshold says how many are known
        threshold[self.kind == SUBSET] = np.diff(self.set_start)[self.kind == SUBSET] * WORD_BITS
        threshold[self.kind == MULTIWAY] = self.n_branches[self.kind == MULTIWAY]
        threshold[self.kind == LISTED] = np.inf
        nodes = np.zeros(len(leaf), [("threshold", "f8"), ("child", "i4"), ("column", "i4")])
        nodes["threshold"] = threshold
        nodes["child"] = self.child
        nodes["column"] = column + np.where(leaf | (self.missing != 1), 0, MISSING_RIGHT)
        return {
            "threshold": nodes.view(np.float64),
            "link": nodes.view(np.int32),
            "missing": self.missing,
            "kind": self.kind,
            "leaf_of_node": self.first_leaf.astype(np.int32),
            "set_start": self.set_start,
            "set_words": self.set_words,
        }


class _Chunks:
    """The questions of small trees: which of 32 leaves stay when a row goes right."""

    def __init__(self, nodes: _Nodes, column: Array, method: Array, n_leaves: Array) -> None:
        by_bits = method == BY_BITS
        n_chunks = np.where(by_bits, -(-n_leaves // CHUNK_BITS), 0)
        self.first_chunk = _starts(n_chunks)
        node = np.flatnonzero((nodes.kind > 0) & by_bits[nodes.tree])
        first = nodes.first_leaf[node]
        last = first + nodes.n_leaves[nodes.child[node]]  # the leaves on the left of a node
        touched = (last - 1) // CHUNK_BITS - first // CHUNK_BITS + 1
        number = np.arange(touched.sum()) - np.repeat(_starts(touched)[:-1], touched)
        chunk = np.repeat(first // CHUNK_BITS, touched) + number
        node, first, last = (np.repeat(array, touched) for array in (node, first, last))
        low = np.maximum(first - chunk * CHUNK_BITS, 0).astype(np.uint64)
        high = np.minimum(last - chunk * CHUNK_BITS, CHUNK_BITS).astype(np.uint64)
        one = np.uint64(1)
        cleared = ((one << high) - one) ^ ((one << low) - one)
        chunk += self.first_chunk[nodes.tree[node]]
        # the three runs of a chunk; columns in order, so that neighbours share cache lines
        run = 3 * chunk + np.where(nodes.kind[node] == THRESHOLD, nodes.missing[node], 2)
        order = np.lexsort((column[node], run))
        self.span = np.searchsorted(run[order], np.arange(3 * n_chunks.sum() + 1))
        self.node = node[order]
        self.keep = (np.uint64(ALL_BITS) - cleared[order]).astype(np.uint32)
        self.threshold = nodes.threshold[self.node]


def round_down(thresholds: Array) -> Array:
    """The largest float32 that is not above each threshold.

    ``x > threshold`` is the same question for every float32 x then.
    """
    with np.errstate(over="ignore"):
        near = thresholds.astype(np.float32)
        below = np.nextafter(near, np.float32(-np.inf))
    return np.where(near.astype(np.float64) > thresholds, below, near)


def _empty_aligned(size: int, dtype: Any) -> Array:
    """An array that begins where a line of the cache does.

    Vectors of a block that reach over two lines make a walk take a third longer.
    """
    n_bytes = size * np.dtype(dtype).itemsize
    room = np.empty(n_bytes + _LINE_BYTES, np.uint8)
    start = -room.__array_interface__["data"][0] % _LINE_BYTES
    return room[start : start + n_bytes].view(dtype)


def _starts(counts: Array) -> Array:
    """Where each of some neighbouring runs begins, and the end of the last."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])

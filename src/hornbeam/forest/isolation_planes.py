"""Isolation trees that part rows by random planes (the extended isolation forest).

A tree with planes is stored as an ordinary tree whose threshold is compared with the weighted
sum of several columns; the terms of the sums are arrays of their own.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from hornbeam.dtypes import FEATURE, NODE, STAT, THRESHOLD, WORD, Array
from hornbeam.errors import ModelFileError, rebuilt
from hornbeam.forest.isolation_growth import Planes
from hornbeam.kernels.isolation import BLOCK_ROWS, PlaneForest, PlaneTask, add_plane_paths
from hornbeam.model.arrays import checked_array
from hornbeam.model.entries import take_array
from hornbeam.runtime.team import run_parallel
from hornbeam.runtime.views import make_slots, remembered_slots
from hornbeam.tree.storage import Tree, check_node_count

_CHUNK_ROWS = 2048
_DENSE_BYTES = 1 << 23
_SECONDS_PER_TERM = 1e-9
_NAMES: dict[str, type[np.generic]] = {
    "n_terms": NODE,
    "feature": FEATURE,
    "weight": STAT,
    "missing": STAT,
}


class PlaneEnsemble:
    """Trees with planes whose values are added up; what `tree.ensemble.Ensemble` is to others."""

    def __init__(self, trees: Sequence[Tree], planes: Planes) -> None:
        self.trees = tuple(trees)
        check_node_count(sum(tree.node_count for tree in self.trees))
        self.planes = planes
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuilt, (PlaneEnsemble, self.trees, self.planes)

    @property
    def n_trees(self) -> int:
        """How many trees there are."""
        return len(self.trees)

    @cached_property
    def _made(self) -> tuple[PlaneForest, Array]:
        trees = self.trees
        counts = np.array([tree.node_count for tree in trees], np.int64)
        root = np.cumsum(counts) - counts
        offset = np.repeat(root, counts)
        child = np.concatenate([tree.first_child for tree in trees]).astype(np.int64)
        set_start, words = [np.zeros(1, np.int64)], 0
        for tree in trees:
            set_start.append(tree.set_start[1:] + words)
            words += len(tree.set_words)
        first_term = np.concatenate([[0], np.cumsum(self.planes.n_terms, dtype=np.int64)])
        fields = {
            name: np.concatenate([getattr(tree, name) for tree in trees])
            for name in ("kind", "feature", "threshold", "missing_branch")
        }
        forest = PlaneForest(
            n_trees=len(trees),
            root=root,
            first_child=np.where(child > 0, child + offset, 0).astype(NODE),
            value=np.concatenate([tree.value[:, 0] for tree in trees]),
            set_start=np.concatenate(set_start),
            set_words=np.concatenate([tree.set_words for tree in trees]).astype(WORD),
            first_term=first_term,
            term_feature=self.planes.feature,
            term_weight=self.planes.weight,
            term_missing=self.planes.missing,
            **fields,
        )
        return forest, make_slots(forest)

    def scores(self, matrix: Any, n_jobs: int | None = None) -> Array | None:
        """Sum of the path lengths of each row, (n_rows, 1); None if a value is infinite."""
        n_rows, n_columns = matrix.shape
        if scipy.sparse.issparse(matrix):
            step = max(1, _DENSE_BYTES // (8 * max(1, n_columns)))
            parts = [
                self.scores(matrix[start : start + step].toarray(), n_jobs)
                for start in range(0, n_rows, step)
            ]
            return np.concatenate([part for part in parts if part is not None])
        with self._lock:
            forest, slots = self._made
        paths = np.zeros((n_rows, 1))
        flat, total = matrix.ravel("K"), paths.ravel()
        size = matrix.itemsize
        row_step, column_step = matrix.strides[0] // size, matrix.strides[1] // size
        n_chunks = -(-n_rows // _CHUNK_ROWS)
        finite = np.ones(n_chunks, bool)

        def walk(chunk: int) -> None:
            first = chunk * _CHUNK_ROWS
            last = min(n_rows, first + _CHUNK_ROWS)
            task = remembered_slots(PlaneTask, row_step, column_step, n_columns, first, last)
            block = np.empty(BLOCK_ROWS * n_columns)
            finite[chunk] = add_plane_paths(flat, slots, task, block, total)

        per_node = 3 + len(self.planes.feature) / max(1, len(forest.kind))
        seconds = n_rows * self.n_trees * 8 * per_node * _SECONDS_PER_TERM
        run_parallel(walk, n_chunks, n_jobs, seconds)
        return paths if finite.all() else None


def pack_planes(planes: Planes) -> dict[str, Array]:
    """Planes as arrays of a model file."""
    return {f"planes.{name}": np.ascontiguousarray(getattr(planes, name)) for name in _NAMES}


def take_planes(arrays: dict[str, Array]) -> Planes:
    """Remove the arrays that `pack_planes` made and return the planes, not checked yet."""
    return Planes(*(take_array(arrays, f"planes.{name}") for name in _NAMES))


def checked_planes(planes: Any, trees: Sequence[Tree], schema: Any) -> Planes:
    """Planes that fit the trees and the columns, or an error that says what does not.

    Parameters
    ----------
    planes : Planes
        Nobody vouches for it.
    trees : sequence of Tree
        Checked.
    schema : Schema

    Returns
    -------
    Planes
    """
    if not isinstance(planes, Planes):
        raise ModelFileError("The planes of the model are none.")
    typed = Planes(
        *(
            checked_array(array, f"planes.{name}", dtype)
            for (name, dtype), array in zip(_NAMES.items(), planes, strict=True)
        )
    )
    kind = np.concatenate([tree.kind for tree in trees])
    if len(typed.n_terms) != len(kind):
        raise ModelFileError(f"planes.n_terms has {len(typed.n_terms)} entries, not {len(kind)}.")
    asks = kind == THRESHOLD
    if (typed.n_terms < 0).any() or ((typed.n_terms > 0) != asks).any():
        raise ModelFileError("planes.n_terms does not fit the kinds of the nodes.")
    total = int(typed.n_terms.sum(dtype=np.int64))
    for name, array in zip(list(_NAMES)[1:], typed[1:], strict=True):
        if len(array) != total:
            raise ModelFileError(f"planes.{name} has {len(array)} entries, not {total}.")
    inside = (typed.feature >= 0) & (typed.feature < schema.n_features)
    if not inside.all() or schema.is_category[typed.feature].any():
        raise ModelFileError("planes.feature names a column that does not exist, or categories.")
    if not (np.isfinite(typed.weight).all() and np.isfinite(typed.missing).all()):
        raise ModelFileError("planes.weight and planes.missing must be finite.")
    return typed


def without_planes(trees: Sequence[Tree]) -> Planes:
    """Planes of trees that have none."""
    n_nodes = sum(tree.node_count for tree in trees)
    return Planes(
        np.zeros(n_nodes, NODE), np.zeros(0, FEATURE), np.zeros(0, STAT), np.zeros(0, STAT)
    )

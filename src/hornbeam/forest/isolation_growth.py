"""Grow isolation trees: sample rows and columns, run the kernel, store the trees.

Each tree is a function of (seed, its number, the table), so trees can be grown by any
thread, in any order, or later (Liu, Ting and Zhou 2008, "Isolation Forest").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from hornbeam.data.sampling import Sampler, SampleSize
from hornbeam.dtypes import FEATURE, LEAF, NODE, PLANE, ROW, SUBSET, WORD, Array
from hornbeam.kernels.isolation import (
    IsolationBatch,
    IsolationNodes,
    IsolationPlan,
    IsolationRoom,
    grow_trees,
)
from hornbeam.runtime.team import run_parallel
from hornbeam.runtime.views import make_slots, new_arrays
from hornbeam.tree.storage import Planes, Tree, Trees

EULER_GAMMA = 0.5772156649015329
_SECONDS_PER_STEP = 8e-9  # one row at one node
_BATCH_BYTES = 1 << 25
_BATCH_TREES = 8


def average_path(n: Any) -> Array:
    """How many questions it takes on average to isolate one of n rows: c(n) of the paper.

    It is the average length of an unsuccessful search in a binary search tree,
    ``2 H(n - 1) - 2 (n - 1) / n`` with the harmonic number ``H(i) ~ ln(i) + 0.5772``.

    Parameters
    ----------
    n : array-like of int

    Returns
    -------
    array of float64
        0 for a single row, 1 for two.

    Examples
    --------
    >>> from hornbeam.forest.isolation_growth import average_path
    >>> average_path([1, 2, 256]).round(3).tolist()
    [0.0, 1.0, 10.245]
    """
    n = np.asarray(n, np.float64)
    many = np.maximum(n, 3.0)
    length = 2.0 * (np.log(many - 1.0) + EULER_GAMMA) - 2.0 * (many - 1.0) / many
    return np.where(n > 2, length, np.where(n == 2, 1.0, 0.0))


@dataclass(frozen=True)
class IsolationRules:
    """How trees are sampled and grown."""

    size: SampleSize  # what a tree sees
    plane_size: int  # columns of a plane; 1: trees cut along the axes
    seed: int

    @property
    def n_rows(self) -> int:
        """Rows of the sample of a tree."""
        return self.size.n_rows

    @property
    def max_depth(self) -> int:
        """The height limit: what a balanced tree of the sample needs."""
        return max(1, int(self.n_rows - 1).bit_length())

    @property
    def most_nodes(self) -> int:
        """How many nodes a tree can have."""
        return int(min(2 * self.n_rows - 1, 2 ** (self.max_depth + 1) - 1))


def grow_isolation_trees(
    matrix: Any,
    n_categories: Array,
    rules: IsolationRules,
    weight: Array | None,
    first_tree: int,
    n_trees: int,
    n_jobs: int | None,
) -> Trees:
    """Grow some trees of a forest.

    Parameters
    ----------
    matrix : float32 or float64 array, or sparse matrix
        Category columns hold category numbers, missing values are NaN.
    n_categories : int64 array
        Of each column, 0 for numbers.
    rules : IsolationRules
    weight : float64 array or None
        Rows are drawn by.
    first_tree, n_trees : int
        Which trees.
    n_jobs : int or None

    Returns
    -------
    Trees
        The value of a node is the path length that a row gets which ends there: questions
        asked, and `average_path` of the rows that are still together. The latter is its
        impurity. With planes unless trees cut along the axes.
    """
    sampler = Sampler(rules.seed, matrix.shape, rules.size, weight)
    plan = IsolationPlan(
        seed=rules.seed,
        max_depth=rules.max_depth,
        plane_size=rules.plane_size,
        n_categories=n_categories,
        average=average_path(np.arange(rules.n_rows + 1)),
    )
    sparse = scipy.sparse.issparse(matrix)
    source = matrix.tocsr() if sparse else matrix
    size = 1 if sparse else _batch_size(rules, n_categories)
    n_batches = -(-n_trees // size)
    batches: list[Trees | None] = [None] * n_batches

    def grow(batch: int) -> None:
        start = first_tree + batch * size
        count = min(size, first_tree + n_trees - start)
        rows, features = sampler.rows(start, count), sampler.features(start, count)
        if sparse:
            batches[batch] = _grow_sparse(source, plan, rules, start, rows, features)
        else:
            batches[batch] = _grow_batch(source, plan, rules, start, rows, features, None)

    seconds = n_trees * rules.n_rows * rules.max_depth * _SECONDS_PER_STEP
    if weight is not None:
        seconds += n_trees * sampler.n_rows * _SECONDS_PER_STEP
    run_parallel(grow, n_batches, n_jobs, seconds)
    return Trees.join([batch for batch in batches if batch is not None])


def _batch_size(rules: IsolationRules, n_categories: Array) -> int:
    """How many trees one call of the kernel grows."""
    words = -(-int(n_categories.max()) // 64)
    per_tree = rules.most_nodes * (56 + 4 * words + 8 * rules.plane_size)
    return int(min(max(_BATCH_BYTES // per_tree, 1), _BATCH_TREES))


def _grow_sparse(
    matrix: Any,
    plan: IsolationPlan,
    rules: IsolationRules,
    start: int,
    rows: Array,
    features: Array,
) -> Trees:
    """Grow a tree on a dense copy of its rows, without columns where these have only zeros."""
    sample = matrix[rows[0]].tocsc()
    stored = np.flatnonzero(np.diff(sample.indptr))
    names = stored[np.isin(stored, features[0])].astype(FEATURE)
    if not len(names):
        names = features[0][:1]
    dense = np.asfortranarray(sample[:, names].toarray())
    own = plan._replace(n_categories=np.zeros(len(names), np.int64))
    own_rows = np.arange(rules.n_rows, dtype=ROW)[None]
    columns = np.arange(len(names), dtype=FEATURE)[None]
    return _grow_batch(dense, own, rules, start, own_rows, columns, names)


def _grow_batch(
    matrix: Array,
    plan: IsolationPlan,
    rules: IsolationRules,
    start: int,
    rows: Array,
    features: Array,
    names: Array | None,
) -> Trees:
    """Grow some trees in one call of the kernel; ``names`` are the columns' real numbers."""
    n_trees = len(rows)
    grown, room = _new_room(plan, rules, n_trees)
    batch = IsolationBatch(
        row_step=matrix.strides[0] // matrix.itemsize,
        column_step=matrix.strides[1] // matrix.itemsize,
        first_tree=start,
        n_trees=n_trees,
        n_rows=rows.shape[1],
        n_candidates=features.shape[1],
    )
    borders = np.zeros(3 * (n_trees + 1), np.int64)
    slots = make_slots(plan, batch, grown, room)
    grow_trees(matrix.ravel("K"), slots, rows.ravel(), features.ravel(), borders)
    ends = borders.reshape(-1, 3)
    n_terms = ends[-1, 2]
    if names is not None:
        inner = grown.kind[: ends[-1, 0]] != LEAF
        grown.feature[: ends[-1, 0]][inner] = names[grown.feature[: ends[-1, 0]][inner]]
        grown.term_feature[:n_terms] = names[grown.term_feature[:n_terms]]
    return _stored(grown, plan, ends)


def _new_room(
    plan: IsolationPlan, rules: IsolationRules, n_trees: int
) -> tuple[IsolationNodes, IsolationRoom]:
    n_nodes = n_trees * rules.most_nodes
    n_inner = n_trees * (rules.most_nodes // 2) + 1
    n_words = -(-int(plan.n_categories.max()) // 64)
    terms = n_inner * rules.plane_size if rules.plane_size > 1 else 0
    lengths = dict.fromkeys(IsolationNodes._fields, n_nodes)
    lengths["set_words"] = n_inner * n_words
    lengths |= dict.fromkeys(("term_feature", "term_weight", "term_missing"), terms)
    room = dict.fromkeys(("rows", "x", "projection"), rules.n_rows)
    room |= {"columns": len(plan.n_categories), "present": n_words}
    return new_arrays(IsolationNodes, lengths), new_arrays(IsolationRoom, room)


def _stored(grown: IsolationNodes, plan: IsolationPlan, ends: Array) -> Trees:
    """Store trees; ``ends`` says where the nodes, words and terms of each begin, and end."""
    n_nodes, n_words, n_terms = ends[-1]
    kind, feature, n_samples = (
        array[:n_nodes].copy() for array in (grown.kind, grown.feature, grown.n_samples)
    )
    set_start = np.zeros(n_nodes + 1, np.int64)
    subset = kind == SUBSET
    set_start[1:][subset] = -(-plan.n_categories[feature[subset]] // 64)
    planes = None
    if plan.plane_size > 1:
        n_asked = grown.n_terms[:n_nodes].copy()
        kind[n_asked > 0] = PLANE
        terms = grown.term_feature, grown.term_weight, grown.term_missing
        planes = Planes(n_asked, *(array[:n_terms].copy() for array in terms))
    nodes = Tree(
        first_child=grown.first_child[:n_nodes].copy(),
        n_branches=np.where(kind == LEAF, 0, 2).astype(NODE),
        feature=feature,
        kind=kind,
        threshold=grown.threshold[:n_nodes].copy(),
        missing_branch=grown.missing_branch[:n_nodes].copy(),
        set_start=np.cumsum(set_start),
        set_words=grown.set_words[:n_words].astype(WORD),
        n_samples=n_samples,
        weight=n_samples.astype(np.float64),
        impurity=plan.average[n_samples],
        value=grown.value[:n_nodes].copy().reshape(-1, 1),
    )
    return Trees(nodes, ends[:, 0].copy(), planes)

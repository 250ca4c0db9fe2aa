"""The training table as an explanation reads it: the rows of a node, feature by feature."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse

from hornbeam.chance import are_many
from hornbeam.data.coding import Codes
from hornbeam.data.target import read_weights
from hornbeam.dtypes import BIN, MISSING_BIN, Array
from hornbeam.explain.measures import ClassMeasure, Measure, MomentMeasure, OrderMeasure
from hornbeam.tree.grower import Target
from hornbeam.tree.memory import FitData, held_out_rows, recall
from hornbeam.tree.scaling import Scaling
from hornbeam.tree.storage import Tree, stored_tree
from hornbeam.tree.traversal import walker

_CLOSE = 1e-6  # sums in another order differ by much less, another table by more


@dataclass(frozen=True, eq=False)
class Table:
    """What a tree was grown on."""

    estimator: Any
    tree: Tree
    matrix: Any
    target: Target  # as the tree sees it
    scaling: Scaling
    leaves: Array  # of each row

    @cached_property
    def _codes(self) -> Codes:
        matrix = self.matrix.tocsc() if scipy.sparse.issparse(self.matrix) else self.matrix
        codes: Codes = self.estimator._reader().encode(self.estimator.schema_, matrix)
        return codes

    def rows(self, node: int) -> Array:
        """Numbers of the rows that reach a node; rows of weight 0 do not count."""
        below = np.zeros(self.tree.node_count, bool)
        below[node] = True
        for child in range(node + 1, self.tree.node_count):
            below[child] = below[self.tree.parent[child]]
        return np.flatnonzero(below[self.leaves] & (self.target.weight > 0))

    def branches(self, node: int, rows: Array) -> Array:
        """The branch that each of a node's rows takes there."""
        first, count = int(self.tree.first_child[node]), int(self.tree.n_branches[node])
        branch = np.zeros(self.tree.node_count, np.int64)
        for child in range(first, self.tree.node_count):
            is_child = child < first + count
            branch[child] = child - first if is_child else branch[self.tree.parent[child]]
        return branch[self.leaves[rows]]

    def measure(self, rows: Array) -> Measure:
        """The criterion on some of the rows."""
        criterion, target = self.estimator.criterion, self.target
        weight = target.weight[rows]
        if target.labels is not None:
            return ClassMeasure(criterion, weight, target.labels[rows], target.class_start)
        assert target.values is not None
        kind = OrderMeasure if criterion == "absolute_error" else MomentMeasure
        return kind(criterion, weight, target.values[rows])

    def column(self, feature: int, rows: Array) -> Array:
        """The values of a feature as float64; missing ones are NaN."""
        column = self.matrix[rows][:, [feature]] if self._is_sparse else self.matrix[rows, feature]
        return np.asarray(column.toarray().ravel() if self._is_sparse else column, np.float64)

    @property
    def _is_sparse(self) -> bool:
        return bool(scipy.sparse.issparse(self.matrix))

    def codes(self, feature: int, rows: Array) -> Array:
        """What the tree tells apart of a feature: its values, or the bins of a histogram."""
        if self.estimator.finder != "histogram":
            return self.column(feature, rows)
        codes = self._codes.columns[feature, rows]
        assert codes.dtype == BIN
        return np.where(codes == MISSING_BIN, np.nan, codes)

    def must_prove(self, feature: int) -> bool:
        """Whether splits of a feature have to prove themselves beyond chance."""
        estimator = self.estimator
        if estimator.category_split != "subset" or estimator.splitter == "random":
            return False
        counted = np.flatnonzero(self.target.weight > 0)
        codes = self.codes(feature, counted)
        return are_many(len(np.unique(codes[~np.isnan(codes)])), len(counted))

    def categories(self, feature: int, codes: Array) -> Array:
        """The categories behind some codes: several share one where they outnumber the bins."""
        if self.estimator.finder == "histogram" and feature in self._codes.category_code:
            return np.flatnonzero(np.isin(self._codes.category_code[feature], codes))
        return codes.astype(np.int64)

    def threshold(self, feature: int, low: float, high: float) -> float:
        """Where a cut between two neighbouring codes of a node lies."""
        if self.estimator.finder == "histogram":
            start = self._codes.edge_start[feature]
            low = float(self._codes.edges[start + int(low)])
            high = float(self._codes.edges[start + int(high) - 1])
        middle = low / 2.0 + high / 2.0
        return low if middle >= high > low else middle

    def value(self, value: Array) -> Array:
        """A prediction in the user's units."""
        return np.ldexp(value, self.scaling.exponent) + self.scaling.offset

    def impurity(self, impurity: Any) -> Any:
        """An impurity or gain in the user's units."""
        with np.errstate(over="ignore"):
            return np.ldexp(impurity, self.scaling.degree * self.scaling.exponent)


def open_table(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Table:
    """The table a tree was grown on: as given, or as `fit` got it if it is still there."""
    tree, name = stored_tree(estimator), type(estimator).__name__
    data = fit_data(estimator, X, y, sample_weight)
    matrix = estimator.schema_.read(data.X, name)
    weight = read_weights(data.sample_weight, matrix.shape[0])
    if data.held_out is not None:
        weight = np.where(data.held_out, 0.0, weight)
    target, scaling = estimator._reader().target(data.y, weight, {})
    leaves = walker(tree).leaves(matrix, estimator.n_jobs)
    assert leaves is not None  # the schema lets no infinite value pass
    return Table(estimator, tree, matrix, target, scaling, leaves)


def fit_data(estimator: Any, X: Any, y: Any, sample_weight: Any) -> FitData:
    """What `fit` got: as given, or as remembered."""
    if (X is None) != (y is None):
        raise ValueError("Pass both X and y as they were in fit, or neither of them.")
    if X is None:
        data = recall(stored_tree(estimator))
        if data is None:
            raise ValueError(
                "A tree keeps no data, and the tables that fit got are gone (or were lists, or "
                "the model was loaded): pass them, explain_split(node, X, y, sample_weight)."
            )
        return data
    return FitData(X, y, sample_weight, _held_out(estimator, y, sample_weight))


def _held_out(estimator: Any, y: Any, sample_weight: Any) -> Array | None:
    """The rows that `fit` did not grow on, because it pruned by them."""
    if getattr(estimator, "pruning", None) != "reduced_error":
        return None
    known = held_out_rows(stored_tree(estimator))
    if known is not None and len(known) == len(y):
        return known
    if not isinstance(estimator.random_state, Integral):
        raise ValueError(
            f"fit held out rows to prune by, and which ones is not known any more with "
            f"random_state={estimator.random_state!r}. Fit again with a whole number."
        )
    held: Array = ~estimator._hold_out(y, sample_weight).learnt
    return held


def check_rows(table: Table, node: int, rows: Array, measure: Measure) -> None:
    """Raise unless the node holds the rows it had in `fit`, as far as one can tell."""
    tree = table.tree
    where = "Pass the X, y and sample_weight that fit got, unchanged."
    if len(rows) != tree.n_samples[node]:
        raise ValueError(
            f"This is not the table that the tree was grown on: {len(rows)} of its rows reach node "
            f"{node}, but {tree.n_samples[node]} did in fit. {where}"
        )
    sums = measure.sums(np.zeros(len(rows), np.int64), 1)
    impurity = float(table.impurity(measure.impurity(sums)[0]))
    known = float(tree.impurity[node])
    scale = max(abs(known), _spread(table, measure))
    same = abs(sums[0, 0] - tree.weight[node]) <= _CLOSE * tree.weight[node]
    if not same or not (impurity == known or abs(impurity - known) <= _CLOSE * scale):
        raise ValueError(
            f"This is not the table that the tree was grown on: node {node} has the weight "
            f"{sums[0, 0]:.6g} and the impurity {impurity:.6g} there, but {tree.weight[node]:.6g} "
            f"and {known:.6g} in fit. {where}"
        )


def _spread(table: Table, measure: Measure) -> float:
    """The size of numbers whose rounding errors an impurity may show."""
    if table.target.values is None:
        return 1.0
    size = float(np.abs(table.target.values).max(initial=0.0)) ** min(table.scaling.degree, 2)
    return float(table.impurity(size))

"""Linear models as rounds of boosting: what they keep, and what they say of rows.

A score is a sum over features, f(x) = a x for a number and a coefficient of its own for each
category. A missing value counts as the mean of its column in training; if there were missing values
in training, that they are missing has a coefficient, too. So every cell adds one number to a score,
which are added in the order of the features: tables that are dense or sparse, read whole or row by
row, get the same scores to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from hornbeam.data.schema import Schema
from hornbeam.dtypes import Array
from hornbeam.errors import rebuilt
from hornbeam.tree.ensemble import Ensemble
from hornbeam.tree.storage import Trees

LINEAR = "linear"  # the booster
NUMBER, MISSING = -1, -2  # kinds of terms; others are the numbers of categories
LARGEST = 1e150  # of a number in X: its square is one
_CELLS = 1 << 16  # of a table that are worked on at a time


class LinearTerms(NamedTuple):
    """What coefficients belong to, in the order of the features, and what their columns hold.

    Attributes
    ----------
    feature : int32 array of n_terms
    kind : int32 array of n_terms
        `NUMBER`, `MISSING`, or the number of a category.
    fill : float64 array of n_features
        What a missing number counts as.
    spread : float64 array of n_terms
        Standard deviations of the columns in training.
    """

    feature: Array
    kind: Array
    fill: Array
    spread: Array


class LinearRounds(Ensemble):
    """An ensemble without trees: the coefficients of a linear model after each round.

    Parameters
    ----------
    terms : LinearTerms
    path : float64 array (n_rounds, n_scores, n_terms + 1)
        Coefficients, and behind them the intercepts.
    start : array of n_scores float64
        What the scores are before the first round.
    """

    def __init__(self, terms: LinearTerms, path: Any, start: Any) -> None:
        self.terms, self.path = terms, np.array(path, np.float64)
        super().__init__(Trees.of([]), [], len(np.atleast_1d(start)), start)

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuilt, (LinearRounds, self.terms, self.path, self.start)

    def scaled(self, by: Callable[[Array], Array]) -> LinearRounds:
        """The same for targets of another scale."""
        return LinearRounds(self.terms, by(self.path), by(self.start))

    @property
    def n_rounds(self) -> int:
        """How many rounds there are."""
        return len(self.path)

    def first(self, n_rounds: int) -> LinearRounds:
        """The first so many rounds."""
        return LinearRounds(self.terms, self.path[:n_rounds], self.start)

    def coefficients(self, n_rounds: int | None = None) -> Array:
        """Coefficients and intercepts after so many rounds, (n_scores, n_terms + 1)."""
        n_rounds = self.n_rounds if n_rounds is None else n_rounds
        if n_rounds:
            found: Array = self.path[n_rounds - 1]
            return found
        none = np.zeros((self.n_scores, len(self.terms.feature) + 1))
        none[:, -1] = self.start
        return none

    def scores(
        self,
        matrix: Any,
        n_jobs: int | None = None,
        first: int = 0,
        last: int | None = None,
        checked: bool = True,
    ) -> Array | None:
        """Scores of each row, (n_rows, n_scores); a round counts as many "trees" as scores.

        With ``first`` they are those of the last round, less those of the ones before it.
        """
        every = self.n_scores
        last = self.n_rounds * every if last is None else last
        after = linear_scores(self.terms, self.coefficients(last // every), matrix)
        if not first:
            return after
        before = linear_scores(self.terms, self.coefficients(first // every), matrix)
        return after - before + self.start

    def staged_scores(
        self, matrix: Any, n_jobs: int | None = None, every: int = 1
    ) -> Iterator[Array | None]:
        """Scores after each round."""
        for number in range(1, self.n_rounds + 1):
            yield linear_scores(self.terms, self.coefficients(number), matrix)


def linear_scores(terms: LinearTerms, coefficients: Array, matrix: Any) -> Array:
    """Scores of each row of a matrix of floats, (n_rows, n_scores)."""
    if scipy.sparse.issparse(matrix):
        check_size(matrix.data)
        return _of_sparse(terms, coefficients, scipy.sparse.csc_array(matrix))
    check_size(matrix)
    scores = np.empty((len(matrix), len(coefficients)))
    step = max(1, _CELLS // max(1, matrix.shape[1]))
    cells = [_Cells(terms, own) for own in coefficients]
    for first in range(0, len(matrix), step):
        rows = np.asarray(matrix[first : first + step], np.float64)
        for which, own in enumerate(cells):
            scores[first : first + step, which] = own.of_rows(rows)
    return scores


def check_size(values: Array) -> None:
    """Raise a ValueError if some values of X are so large that they cannot be multiplied."""
    if not len(values):
        return
    largest = max(np.fmax.reduce(values, axis=None), -np.fmin.reduce(values, axis=None))
    if largest > LARGEST:
        raise ValueError(
            f"X holds infinite values, or numbers beyond {LARGEST:g}, which a linear model cannot "
            "multiply: clip them, or make them missing (NaN), or take booster='trees'."
        )


class _Cells:
    """What each cell adds to one score."""

    def __init__(self, terms: LinearTerms, coefficients: Array) -> None:
        own = coefficients[:-1]
        n_features = len(terms.fill)
        self.intercept = float(coefficients[-1])
        self.slope, self.missing = np.zeros(n_features), np.zeros(n_features)
        numbers, lacks = terms.kind == NUMBER, terms.kind == MISSING
        self.slope[terms.feature[numbers]] = own[numbers]
        self.missing[terms.feature[lacks]] = own[lacks]
        self.missing += self.slope * terms.fill
        self.tables: dict[int, Array] = {}
        listed = np.flatnonzero(terms.kind >= 0)
        for feature in np.unique(terms.feature[listed]):
            mine = listed[terms.feature[listed] == feature]
            table = np.zeros(int(terms.kind[mine].max()) + 2)  # the last one: unknown
            table[terms.kind[mine]] = own[mine]
            self.tables[int(feature)] = table

    def of_rows(self, rows: Array) -> Array:
        """Scores of some rows."""
        parts = np.empty((len(rows), rows.shape[1] + 1))
        parts[:, 0] = self.intercept
        lacks = np.isnan(rows)
        np.multiply(rows, self.slope, out=parts[:, 1:])
        np.copyto(parts[:, 1:], self.missing, where=lacks)
        for feature in self.tables:
            parts[:, feature + 1] = self.of_categories(feature, rows[:, feature])
        summed: Array = np.add.accumulate(parts, axis=1)[:, -1]  # from left to right
        return summed

    def of_categories(self, feature: int, values: Array) -> Array:
        """What categories add."""
        table, lacks = self.tables[feature], np.isnan(values)
        last = len(table) - 1
        code = np.where(lacks, last, values).astype(np.int64)
        code[(code < 0) | (code > last)] = last
        added: Array = np.where(lacks, self.missing[feature], table[code])
        return added


def _of_sparse(terms: LinearTerms, coefficients: Array, matrix: Any) -> Array:
    """The same for a sparse matrix by columns: zeros of numbers add nothing."""
    scores = np.empty((matrix.shape[0], len(coefficients)))
    for which, own in enumerate(coefficients):
        cells = _Cells(terms, own)
        total = np.full(matrix.shape[0], cells.intercept)
        for feature in np.flatnonzero((cells.slope != 0.0) | (cells.missing != 0.0)):
            place = slice(matrix.indptr[feature], matrix.indptr[feature + 1])
            rows, values = matrix.indices[place], matrix.data[place]
            lacks, slope = np.isnan(values), cells.slope[feature]
            total[rows] += np.where(lacks, cells.missing[feature], values * slope)
        scores[:, which] = total
    return scores


class LinearPredictor:
    """What a fitted linear model predicts, without the checks of ``predict``.

    Called as `hornbeam.boosting.predictor.Predictor` is: with one row of numbers, or with rows.
    """

    def __init__(
        self,
        ensemble: LinearRounds,
        link: Callable[[Array], Array] | None,
        n_features: int,
        classes: Array | None = None,
    ) -> None:
        self.ensemble, self.link = ensemble, link
        self.n_features, self.classes = int(n_features), classes
        self._cells = [_Cells(ensemble.terms, own) for own in ensemble.coefficients()]

    def __call__(self, rows: Any) -> Any:
        """Predict one row or several."""
        rows = np.asarray(rows, np.float64)
        table = rows[None] if rows.ndim == 1 else rows
        if table.ndim != 2 or table.shape[1] != self.n_features:
            raise ValueError(
                f"the predictor got an array of shape {rows.shape}, but takes one row of "
                f"{self.n_features} numbers or rows of shape (n, {self.n_features})"
            )
        scores = np.stack([cells.of_rows(table) for cells in self._cells], axis=1)
        if self.link is not None:
            found = self.link(scores)
        else:
            found = scores[:, 0] if scores.shape[1] == 1 else scores
        return found[0] if rows.ndim == 1 else found


def term_names(terms: LinearTerms, schema: Schema) -> list[str]:
    """What coefficients belong to, in words."""
    names = []
    for feature, kind in zip(terms.feature.tolist(), terms.kind.tolist(), strict=True):
        name = schema.feature_names[feature]
        if kind == NUMBER:
            names.append(name)
        elif kind == MISSING:
            names.append(f"{name} is missing")
        else:
            labels = schema.columns[feature].categories or ()
            names.append(f"{name}={labels[kind] if kind < len(labels) else 'other'}")
    return names


def linear_importances(model: LinearRounds, n_features: int) -> Array:
    """Share of each feature in the sum of coefficients times standard deviations."""
    terms, own = model.terms, np.abs(model.coefficients()[:, :-1]).sum(axis=0)
    total = np.bincount(terms.feature, own * terms.spread, n_features)
    whole = total.sum()
    return total / whole if whole > 0 else total

"""Prediction for serving: made once from a fitted model, then called for rows as they come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hornbeam.dtypes import NODE, SUBSET, WORD_BITS, Array
from hornbeam.errors import ModelFileError, contradictions
from hornbeam.kernels.ensemble import GROUP, EnsembleTask, predict_rows
from hornbeam.model.state import finite_array, whole
from hornbeam.runtime.views import make_slots
from hornbeam.tree.ensemble import Ensemble
from hornbeam.tree.predict import check_width
from hornbeam.tree.storage import Trees
from hornbeam.tree.validate import Known, validate_trees


class Predictor:
    """What a fitted model predicts, without the checks of ``predict``; see ``model.predictor()``.

    Call it with a row (a 1-D array of ``n_features`` numbers) or with rows (2-D, float32 or
    float64). For rows it returns what the model returns, for a row the entry of that row:
    1-D probabilities, or one number. Any number of threads may call it at once.

    A row is numbers as the trees see them: a category is its number in the training table
    (an unknown number counts as missing), and missing is NaN. An infinite value is compared
    like any other number, where ``predict`` refuses it.

    Parameters
    ----------
    ensemble : Ensemble
    link : callable or None
        Turns scores, float64 of shape (n_rows, n_scores), into what is returned, with one
        entry per row; None returns the scores (1-D if there is one per row).
    n_features : int
    classes : array or None
        The labels that the columns of the result belong to; kept as ``predictor.classes``.
    n_jobs : int or None, default 1
        Threads for many rows at once.
    """

    def __init__(
        self,
        ensemble: Ensemble,
        link: Callable[[Array], Array] | None,
        n_features: int,
        classes: Array | None = None,
        n_jobs: int | None = 1,
    ) -> None:
        self.ensemble = ensemble
        self.link = link
        self.n_features = int(n_features)
        self.classes = classes
        self.n_jobs = n_jobs
        packed = ensemble.packed
        check_width(self.n_features, packed.n_columns)
        self._start = ensemble.start[None, :]
        self._slots = packed.slots
        self._is_coded = len(packed.coded_columns) > 0
        self._cuts = {np.dtype(char): cuts for char, cuts in packed.cuts.items()}
        self._block_size = max(1, packed.arrays.n_used) * GROUP
        self._no_nodes = np.empty(0, NODE)
        # of one row; read by all threads, written by none
        self._task = make_slots(
            EnsembleTask(
                row_step=self.n_features,
                column_step=1,
                n_columns=self.n_features,
                is_checked=False,
                n_scores=ensemble.n_scores,
                first_tree=0,
                last_tree=ensemble.n_trees,
                first_row=0,
                last_row=1,
                width=GROUP,
            )
        )
        for dtype in self._cuts:  # compiled now rather than at the first request
            self(np.zeros(self.n_features, dtype))

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.ensemble, self.link, self.n_features, self.classes, self.n_jobs)

    def __call__(self, rows: Any) -> Any:
        """Predict one row or several."""
        if type(rows) is not np.ndarray or rows.dtype not in self._cuts:
            rows = np.asarray(rows, np.float64)
        if rows.ndim != 1:
            return self._predict_many(rows)
        if len(rows) != self.n_features:
            raise self._wrong_shape(rows)
        flags = rows.flags
        if not (flags.c_contiguous and flags.aligned and flags.writeable):
            rows = rows.copy()
        if self._is_coded:
            rows = self.ensemble.packed.coded(rows[None])[0]
        scores = self._start.copy()
        predict_rows(
            rows,
            self._cuts[rows.dtype],
            self._slots,
            self._task,
            np.empty(self._block_size, rows.dtype),
            np.empty(GROUP, np.uint32),
            np.empty(GROUP, np.uint32),
            scores[0],
            self._no_nodes,
        )
        return self._finish(scores)[0]

    def _predict_many(self, rows: Array) -> Array:
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise self._wrong_shape(rows)
        scores = self.ensemble.scores(rows, self.n_jobs, checked=False)
        assert scores is not None  # only a check can refuse
        return self._finish(scores)

    def _finish(self, scores: Array) -> Array:
        if self.link is not None:
            return self.link(scores)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _wrong_shape(self, rows: Array) -> ValueError:
        return ValueError(
            f"the predictor got an array of shape {rows.shape}, but takes one row of "
            f"{self.n_features} numbers or rows of shape (n, {self.n_features})"
        )


def _unpickled(ensemble: Any, link: Any, n_features: Any, classes: Any, n_jobs: Any) -> Predictor:
    """A predictor out of a pickle: nobody vouches for its trees, and it runs kernels at once."""
    with contradictions("The pickled predictor"):
        if not isinstance(ensemble, Ensemble):
            raise ModelFileError("The pickled predictor has an ensemble that is none.")
        if link is not None and not callable(link):
            raise ModelFileError("The pickled predictor has a link that is no function.")
        if n_jobs is not None:
            whole({"n_jobs": n_jobs}, "n_jobs", -(2**31), 2**31 - 1)
        n_columns = whole({"n_features": n_features}, "n_features", 1, 2**31 - 1)
        trees = _checked_trees(ensemble.trees, n_columns)
        start = finite_array(ensemble.start, "start")
        again = Ensemble(trees, ensemble.score_of_tree, ensemble.n_scores, start)
        return Predictor(again, link, n_columns, classes, n_jobs)


def _checked_trees(trees: Any, n_features: int) -> Trees:
    """The trees, checked as those of a model are; which columns are categories they say alone."""
    if not isinstance(trees, Trees):
        raise ModelFileError("The pickled predictor has trees that are none.")
    nodes = trees.nodes
    n_columns = min(n_features, 1 + int(nodes.feature.max(initial=0)))
    n_words = np.zeros(max(1, n_columns), np.int64)
    asks = nodes.kind == SUBSET
    np.maximum.at(n_words, nodes.feature[asks], np.diff(nodes.set_start)[asks])
    known = Known(WORD_BITS * n_words, n_words > 0)
    if trees.codes is None:
        return validate_trees(trees.arrays(), known)
    n_codes = np.diff(trees.codes.code_start)  # each column has one per category
    n_categories = np.zeros(len(n_codes), np.int64)
    n_categories[: len(n_words)] = known.n_categories[: len(n_codes)]
    n_categories[n_codes > 0] = n_codes[n_codes > 0]
    return validate_trees(trees.arrays(), Known(n_categories, n_categories > 0))

"""What a forest says about rows that its trees have not seen: a score that needs no test set."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import is_classifier

from hornbeam.data.folds import Kin
from hornbeam.data.target import read_values, read_weights
from hornbeam.dtypes import Array
from hornbeam.forest.bags import Bags, derive_key
from hornbeam.forest.store import ForestStore
from hornbeam.notices import warn
from hornbeam.runtime.team import run_parallel
from hornbeam.tree.estimators import join_outputs
from hornbeam.tree.scaling import HEADROOM, is_large, scaled_r2
from hornbeam.tree.task import Task

_SHUFFLE = 3  # of a tree's keys, beside its bag
_SECONDS_PER_WALK = 5e-8


class OutOfBag:
    """Sums over the trees that a row is not in the bag of; trees may be added in pieces."""

    def __init__(self, forest: Any, task: Task, bags: Bags, y: Any, fitted: dict[str, Any]) -> None:
        self.task, self.bags, self.n_jobs = task, bags, forest.n_jobs
        self.hard = getattr(forest, "voting", "soft") == "hard"
        self.classifier = is_classifier(forest)
        self.own_score = forest.oob_score if callable(forest.oob_score) else None
        self.classes = fitted.get("classes_")
        self.n_outputs = fitted["n_outputs_"]
        self.y = self._named(_labels(task)) if self.classifier else read_values(y, "")
        self.shrunk = not self.classifier and is_large(self.y)
        self.counted = task.target.weight > 0  # other rows are as good as not there
        self.sums: Array = np.zeros(0)
        self.votes: Array = np.zeros(0)

    def add(self, store: ForestStore, first: int) -> None:
        """Let more trees vote; ``first`` is the number of the first of them."""
        found = store.scores_where(
            self.task.matrix,
            self.n_jobs,
            lambda tree: self.bags.counts(first + tree),
            hard=self.hard,
            shrunk=self.shrunk,
        )
        assert found is not None  # the matrix was checked when it was read
        sums, votes = found
        if len(self.sums):
            sums, votes = self.sums + sums, self.votes + votes
        self.sums, self.votes = sums, votes

    @property
    def means(self) -> Array:
        """What the trees predict on average; NaN for rows that were in all bags."""
        with np.errstate(invalid="ignore"):
            means: Array = self.sums / self.votes[:, None]
        return np.ldexp(means, HEADROOM) if self.shrunk else means

    def prediction(self) -> Array:
        """Class or value of each row, (rows, outputs)."""
        if not self.classifier:
            return self.means
        return self._named(_most_probable(self.sums, self.task.target.class_start))

    def _named(self, numbers: Array) -> Array:
        """Classes by name, given by their numbers: (rows, outputs)."""
        classes = self.classes if isinstance(self.classes, list) else [self.classes]
        columns = [names[column] for names, column in zip(classes, numbers.T, strict=True)]
        return join_outputs(columns)

    def score(self) -> float:
        """Accuracy or R2, or the user's own score, on the rows that have a prediction.

        With several outputs a row counts as right when all of its classes are.
        """
        seen = self.counted & (self.votes > 0)
        if not seen.any():
            return -np.inf
        y, found = self.y[seen], self.prediction()[seen]
        if self.own_score is not None:
            one = y.shape[1] == 1
            return float(self.own_score(y[:, 0], found[:, 0]) if one else self.own_score(y, found))
        if not self.classifier:
            return scaled_r2(y, found)
        return float(np.mean(np.all(y == found, axis=1)))

    def attributes(self) -> dict[str, Any]:
        """The fitted attributes that scikit-learn's forests have, and a warning if need be."""
        n_unseen = int(np.sum(self.votes == 0))
        if n_unseen:
            warn(
                f"Some inputs do not have OOB scores: {n_unseen} rows are in the bag of every "
                "tree. This probably means too few trees were used to compute any reliable OOB "
                "estimates.",
            )
        found = {"oob_score_": self.score()}
        name = "oob_decision_function_" if self.classifier else "oob_prediction_"
        if self.classifier and self.n_outputs > 1:
            assert isinstance(self.classes, list)
            counts = np.cumsum([len(c) for c in self.classes])[:-1]
            blocks = np.split(self.means, counts, axis=1)
            alike = len({block.shape for block in blocks}) == 1
            return {**found, name: np.stack(blocks, axis=2) if alike else blocks}
        one_value = not self.classifier and self.n_outputs == 1
        return {**found, name: self.means[:, 0] if one_value else self.means}


def _labels(task: Task) -> Array:
    """Number of each row's class, counted from 0 in each output."""
    assert task.target.labels is not None
    return task.target.labels - task.target.class_start[:-1]


def _most_probable(sums: Array, class_start: Array) -> Array:
    """Number of the class with the largest sum, for each output: (rows, outputs)."""
    blocks = np.split(sums, class_start[1:-1], axis=1)
    return np.stack([block.argmax(axis=1) for block in blocks], axis=1)


def permutation_importances(
    forest: Any, X: Any, y: Any, sample_weight: Any, groups: Any = None
) -> Array:
    """By how much each tree's score falls when a column is shuffled: (n_trees, n_features).

    Only rows out of the tree's bag are looked at, and each column is shuffled among them.
    Trees that have seen all rows are left out.
    """
    if X is None or y is None:
        raise ValueError(
            "importances('permutation', X, y) looks at the training rows out of each tree's bag: "
            "pass the X and y of fit."
        )
    if forest.n_draws_ == 0:
        raise ValueError(
            "importances('permutation') needs rows out of the bag, but bootstrap=False gave every "
            "row to every tree. Use sklearn.inspection.permutation_importance with other rows."
        )
    matrix = forest._read(X)
    if matrix.shape[0] != forest.n_rows_in_:
        raise ValueError(
            f"importances('permutation', X, y) needs the {forest.n_rows_in_} training rows, but X "
            f"has {matrix.shape[0]}."
        )
    truth, weight = _read_truth(forest, y, read_weights(sample_weight, matrix.shape[0]))
    kin = Kin.read(groups, None, len(weight))
    bags = Bags.of(forest.seed_, weight, forest.n_draws_, kin)
    falls = np.full((forest.store_.n_trees, matrix.shape[1]), np.nan)

    def look(number: int) -> None:
        outside = np.flatnonzero((bags.counts(number) == 0) & (weight > 0))
        if len(outside):
            rows = matrix[outside].toarray() if issparse(matrix) else matrix[outside]
            falls[number] = _falls_of_tree(
                forest, number, rows, truth[outside], weight[outside], bags.key(number)
            )

    seconds = falls.size * len(truth) * _SECONDS_PER_WALK
    run_parallel(look, len(falls), forest.n_jobs, seconds)
    return falls[~np.isnan(falls).any(axis=1)]


def _read_truth(forest: Any, y: Any, weight: Array) -> tuple[Array, Array]:
    """Class numbers or values of the rows, (rows, outputs), and what the rows weigh."""
    known: dict[str, Any] = {}
    target, _ = forest._reader().target(y, weight, known)
    if target.labels is None:
        return read_values(y, ""), target.weight
    if not equal_classes(known["classes_"], forest.classes_):
        raise ValueError(
            f"importances('permutation', X, y) needs the y of fit with the classes "
            f"{forest.classes_}, but this y has {known['classes_']}."
        )
    return target.labels - target.class_start[:-1], target.weight


def equal_classes(old: Any, new: Any) -> bool:
    """Whether two forests know the same classes, in every output."""
    old, new = (c if isinstance(c, list) else [c] for c in (old, new))
    return len(old) == len(new) and all(map(np.array_equal, old, new))


def _falls_of_tree(
    forest: Any, number: int, rows: Array, truth: Array, weight: Array, key: int
) -> Array:
    store = forest.store_.take(slice(number, number + 1))
    score = _score_of_classes if is_classifier(forest) else _score_of_values
    before = score(store, rows, truth, weight)
    falls = np.zeros(rows.shape[1])
    random = np.random.default_rng([derive_key(key, _SHUFFLE), number])
    shuffled = rows.copy()
    for feature in store.asked_features():  # others change nothing
        shuffled[:, feature] = random.permutation(rows[:, feature])
        falls[feature] = before - score(store, shuffled, truth, weight)
        shuffled[:, feature] = rows[:, feature]
    return falls


def _score_of_classes(store: ForestStore, rows: Array, truth: Array, weight: Array) -> float:
    """Share of the weight whose class is right, mean over the outputs."""
    scores = store.scores(rows, 1)
    assert scores is not None  # rows of a table that was checked when it was read
    found = _most_probable(scores, store.class_start)
    return float(np.average(np.mean(found == truth, axis=1), weights=weight))


def _score_of_values(store: ForestStore, rows: Array, truth: Array, weight: Array) -> float:
    """R2 on these rows, mean over the outputs."""
    if len(truth) < 2:
        return 0.0
    found = store.means(rows, 1)
    assert found is not None  # rows of a table that was checked when it was read
    return scaled_r2(truth, found, weight)

"""Fit members on folds of the rows, and let each predict the rows that its fold holds out."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from hornbeam.combine.jobs import run_jobs
from hornbeam.combine.members import free_threads, retold, seed_open
from hornbeam.combine.outputs import ask
from hornbeam.combine.tables import TableRows
from hornbeam.data.folds import Kin, Split
from hornbeam.data.schema import identities_are_known
from hornbeam.dtypes import Array
from hornbeam.model.registry import is_registered
from hornbeam.notices import silenced
from hornbeam.progress import ProgressBar


@dataclass
class FitInput:
    """What a fit of many members works on.

    Attributes
    ----------
    rows : TableRows
    target : array
        Classes by their names, or numbers.
    classes : array or None
    weight : array or None
    kin : Kin
    seed : int
        Of members that have none.
    metadata : dict
        What else `fit` of each member gets, by its name: an entry per row, or anything else.
    """

    rows: TableRows
    target: Array
    classes: Array | None
    weight: Array | None
    kin: Kin
    seed: int
    metadata: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def labels(self) -> Array | None:
        """Number of each row's class."""
        return None if self.classes is None else np.searchsorted(self.classes, self.target)

    def counted(self) -> FitInput:
        """The same without rows of weight 0: they might as well not be there."""
        assert self.weight is not None
        rows = np.flatnonzero(self.weight > 0.0)
        if len(rows) == self.rows.n_rows:
            return self
        metadata = {
            name: {key: _of_rows(value, rows, self.rows.n_rows) for key, value in own.items()}
            for name, own in self.metadata.items()
        }
        return replace(
            self,
            rows=TableRows(self.rows.table[rows], self.rows.is_frame),
            target=self.target[rows],
            weight=self.weight[rows],
            kin=self.kin.chosen(rows),
            metadata=metadata,
        )

    def fit_arguments(self, name: str, estimator: Any, rows: Array | None) -> dict[str, Any]:
        """What a member's `fit` gets of some rows (None: all), besides table and target."""
        found = dict(self.metadata.get(name, {}))
        if self.weight is not None and "sample_weight" not in found and name not in self.metadata:
            require_weights(name, estimator)
            found["sample_weight"] = self.weight
        found |= kin_arguments(estimator, self.kin)
        if rows is None:
            return found
        n_rows = self.rows.n_rows
        return {key: _of_rows(value, rows, n_rows) for key, value in found.items()}


def require_weights(name: str, estimator: Any) -> None:
    """Raise if a member cannot be told what rows weigh."""
    if not has_fit_parameter(estimator, "sample_weight"):
        raise TypeError(
            f"Underlying estimator {type(estimator).__name__} does not support sample weights, but "
            f"sample_weight was passed to fit. Leave it away, or replace the member {name!r}."
        )


def kin_arguments(estimator: Any, kin: Kin) -> dict[str, Any]:
    """What hornbeam's own estimators get, so that their own splits respect it."""
    if not kin or not is_registered(estimator):
        return {}
    known = inspect.signature(estimator.fit).parameters
    said = {"groups": kin.groups, "time": kin.time}
    return {key: value for key, value in said.items() if value is not None and key in known}


def _of_rows(value: Any, rows: Array, n_rows: int) -> Any:
    """Some rows of what has one entry per row."""
    per_row = getattr(value, "shape", None) or (hasattr(value, "__len__") and (len(value),))
    if not per_row or isinstance(value, (str, bytes, dict)) or per_row[0] != n_rows:
        return value
    return _safe_indexing(value, rows)


@dataclass(frozen=True)
class FoldFit:
    """One member to be fitted on one fold, or on all rows."""

    number: int  # of the member
    name: str
    estimator: Any
    method: str
    fold: int
    n_folds: int
    split: Split | None  # None: all rows, and none are asked about

    @property
    def place(self) -> str:
        """Where it is fitted, in words."""
        return "all rows" if self.split is None else f"fold {self.fold} of {self.n_folds}"


def fit_task(given: FitInput, task: FoldFit, alone: bool) -> tuple[Any, Array | None]:
    """Fit a member, and ask it about the rows that its fold holds out.

    ``alone`` means that no other member is fitted at the same time, so that this one may use
    as many threads as it likes.
    """
    member, split = clone(task.estimator), task.split
    seed_open(member, np.random.default_rng([given.seed, task.number, task.fold]))
    learnt = None if split is None or split.learnt.all() else np.flatnonzero(split.learnt)
    every = np.arange(given.rows.n_columns)
    table = given.rows.part(learnt, every)
    target = given.target if learnt is None else given.target[learnt]
    free = [] if alone else free_threads(member)
    name, kind = task.name, type(member).__name__
    with silenced(task.fold > 0), identities_are_known():
        with retold(f"The member {name!r} ({kind}) could not be fitted on {task.place}"):
            more = given.fit_arguments(name, member, learnt)
            member.set_params(**dict.fromkeys(free, 1))
            member.fit(table, target, **more)
            member.set_params(**dict.fromkeys(free, None))
        if split is None:
            return member, None
        held = given.rows.part(np.flatnonzero(split.held), every)
        what = f"The member {name!r} ({kind}) of {task.place} could not predict what this holds out"
        with retold(what):
            return member, ask(member, held, task.method, given.classes, alone)


@dataclass
class HeldOut:
    """What models have predicted for rows that they have not seen.

    Attributes
    ----------
    rows : array
        Numbers of the rows that any fold holds out.
    blocks : list of arrays of shape (len(rows), n_values)
        Of each member. A row that several folds hold out has their mean.
    """

    rows: Array
    blocks: list[Array]


def cross_fit(
    given: FitInput,
    named: list[tuple[str, Any]],
    methods: list[str],
    folds: list[Split],
    again: bool,
    n_jobs: int | None,
    bar: ProgressBar,
    keep_folds: bool = True,
) -> tuple[list[list[Any]], HeldOut | None]:
    """Fit all members on all folds, and ``again`` on all rows.

    Returns
    -------
    list of lists
        The fitted models of each member: with ``keep_folds`` of the folds, and last that of all
        rows.
    HeldOut or None
        None without folds.
    """
    splits: list[Split | None] = [*folds, *([None] if again else [])]
    tasks = [
        FoldFit(number, name, estimator, methods[number], fold, len(folds), split)
        for fold, split in enumerate(splits)
        for number, (name, estimator) in enumerate(named)
    ]
    models: list[list[Any]] = [[] for _ in named]
    said: list[list[Array]] = [[] for _ in named]
    turns = iter(enumerate(tasks, 1))

    def keep(result: tuple[Any, Array | None]) -> None:
        done, task = next(turns)
        model, block = result
        if keep_folds or task.split is None:
            models[task.number].append(model)
        if block is not None:
            said[task.number].append(block)
        bar.show(done, f"{task.name}, {task.place}")

    run_jobs(fit_task, lambda i: (given, tasks[i]), len(tasks), keep, n_jobs)
    return models, _collected(folds, said) if folds else None


def _collected(folds: list[Split], said: list[list[Array]]) -> HeldOut:
    times = np.sum([split.held for split in folds], axis=0)
    rows = np.flatnonzero(times)
    blocks = []
    for of_member in said:
        total = np.zeros((len(times), of_member[0].shape[1]))
        for split, block in zip(folds, of_member, strict=True):
            total[split.held] += block
        blocks.append(total[rows] / times[rows, None])
    return HeldOut(rows, blocks)


def mean_blocks(
    models: list[list[Any]],
    methods: list[str],
    classes: Array | None,
    rows: TableRows,
    n_jobs: int | None,
    use: Callable[[int], bool] = lambda number: True,
) -> list[Array | None]:
    """What each member predicts for rows: the mean of its models; None for those not used."""
    table = rows.part(None, np.arange(rows.n_columns))
    asked = [(i, model) for i, own in enumerate(models) if use(i) for model in own]
    found: list[Array | None] = [None] * len(models)
    turns = iter(asked)

    def arguments(place: int) -> tuple[Any, ...]:
        number, model = asked[place]
        return model, table, methods[number], classes

    def add(block: Array) -> None:
        number = next(turns)[0]
        known, added = found[number], block / len(models[number])
        found[number] = added if known is None else known + added

    run_jobs(ask_retold, arguments, len(asked), add, n_jobs)
    return found


def ask_retold(model: Any, table: Any, method: str, classes: Array | None, alone: bool) -> Array:
    """As `ask`, with errors that name the member."""
    with retold(f"A member ({type(model).__name__}) could not predict"):
        return ask(model, table, method, classes, alone)


class FoldMean:
    """A member that has a model for each fold: it says what these say in the mean.

    Parameters
    ----------
    models : list of estimators
    classes : array or None
    """

    def __init__(self, models: list[Any], classes: Array | None) -> None:
        self.estimators_, self.classes_ = models, classes

    def predict(self, X: Any) -> Array:
        """Predict the class with the largest mean share, or the mean value, of each row."""
        if self.classes_ is None:
            return self._mean(X, "predict")[:, 0]
        soft = all(hasattr(model, "predict_proba") for model in self.estimators_)
        shares = self._mean(X, "predict_proba" if soft else "predict")
        return np.asarray(self.classes_[shares.argmax(axis=1)])

    def predict_proba(self, X: Any) -> Array:
        """Mean probability of each class."""
        return self._mean(X, "predict_proba")

    def decision_function(self, X: Any) -> Array:
        """Mean decision function."""
        block = self._mean(X, "decision_function")
        return block[:, 0] if block.shape[1] == 1 else block

    def _mean(self, X: Any, method: str) -> Array:
        asked = [ask(model, X, method, self.classes_, True) for model in self.estimators_]
        return np.asarray(sum(block / len(asked) for block in asked))

"""The libraries of gradient boosting: how each is made, fed and asked, in one place.

Two kinds of settings: :data:`EQUAL` ones, for times, which make every library grow the same
amount of tree from the same amount of bins; and a library's own defaults, for quality, where
only the number of rounds is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse

from benchmarks import metrics
from benchmarks.datasets import DataSet, Task
from benchmarks.harness import Contender, Options
from benchmarks.results import Target

THREADS = 2
ROUNDS = 100
HORNBEAM, LIGHTGBM, XGBOOST = "hornbeam", "LightGBM", "XGBoost"
CATBOOST, SKLEARN = "CatBoost", "HistGradientBoosting"
MOST_CATEGORIES = 255  # of a column in HistGradientBoosting
MOST_DENSE_COLUMNS = 1000  # of a sparse matrix that is made dense for a library


@dataclass(frozen=True)
class Library:
    """One library.

    Attributes
    ----------
    name : str
    module : str
        Where its estimators are.
    estimators : dict of task to str
        Their names; a task that is not there is not for this library.
    rounds : str
        Its name for the number of rounds.
    threads : str
        Its name for the number of threads; empty where only the thread pool says.
    always : dict
        Parameters of every estimator: silence, the seed.
    equal : dict
        Parameters that make it comparable: see :func:`equal`.
    table : callable(X) -> X
        The same table, in the form in which the library takes categories natively.
    groups : callable(sizes) -> dict
        What its ``fit`` wants to know of queries, from the number of rows of each.
    categories : callable(X) -> dict
        What its ``fit`` wants to know of category columns.
    """

    name: str
    module: str
    estimators: Mapping[Task, str]
    rounds: str
    threads: str
    always: Mapping[str, Any]
    equal: Mapping[str, Any]
    table: Callable[[Any], Any] = lambda X: X
    groups: Callable[[Any], dict[str, Any]] = lambda sizes: {"group": sizes}
    categories: Callable[[Any], dict[str, Any]] = lambda X: {}

    @property
    def is_installed(self) -> bool:
        return find_spec(self.module.partition(".")[0]) is not None

    @cached_property
    def _imported(self) -> ModuleType:
        return import_module(self.module)

    def can(self, data: DataSet) -> bool:
        """Whether it knows the task, and can hold the table."""
        wide = scipy.sparse.issparse(data.X) and data.X.shape[1] > MOST_DENSE_COLUMNS
        return data.task in self.estimators and not (wide and self.table is _dense_or_coded)

    def parameters(self, n_rounds: int, n_threads: int = THREADS) -> dict[str, Any]:
        """Return what an estimator is given even where it has its default settings."""
        threads = {self.threads: n_threads} if self.threads else {}
        return {self.rounds: n_rounds, **threads, **self.always}

    def make(self, task: Task, **parameters: Any) -> Any:
        """Return an estimator."""
        return getattr(self._imported, self.estimators[task])(**parameters)

    def fit(self, estimator: Any, X: Any, y: Any, queries: Any = None) -> Any:
        """Fit on a table that :attr:`table` made; return the estimator."""
        more = self.categories(X) | ({} if queries is None else self.groups(queries))
        return estimator.fit(X, y, **more)

    def answer(self, model: Any, X: Any, task: Task) -> Any:
        """Return probabilities of classes, values or scores of rows."""
        return model.predict_proba(X) if task == "classification" else model.predict(X)


def _dense_or_coded(X: Any) -> Any:
    """Make sparse tables dense, and give columns of very many categories as numbers."""
    if scipy.sparse.issparse(X):
        return X.toarray()
    if not isinstance(X, pd.DataFrame):
        return X
    many = [name for name in _category_columns(X) if len(X[name].cat.categories) > MOST_CATEGORIES]
    codes = {name: X[name].cat.codes.astype(np.float32).replace(-1, np.nan) for name in many}
    return X.assign(**codes)


def _words(X: Any) -> Any:
    """Give categories as words, and a missing one as a word of its own."""
    if not isinstance(X, pd.DataFrame):
        return X
    columns = {name: X[name].astype(object).fillna("?") for name in _category_columns(X)}
    return X.assign(**{name: column.astype(str) for name, column in columns.items()})


def _word_columns(X: Any) -> dict[str, Any]:
    if not isinstance(X, pd.DataFrame):
        return {}
    return {"cat_features": [name for name in X if X[name].dtype.kind not in "fiub"]}


def _category_columns(X: pd.DataFrame) -> list[str]:
    return [name for name in X if isinstance(X[name].dtype, pd.CategoricalDtype)]


def _numbered(sizes: Any) -> Any:
    return np.repeat(np.arange(len(sizes)), sizes)


LIBRARIES = {
    library.name: library
    for library in (
        Library(
            HORNBEAM,
            "hornbeam",
            {
                "classification": "GradientBoostingClassifier",
                "regression": "GradientBoostingRegressor",
                "ranking": "GradientBoostingRanker",
            },
            "n_estimators",
            "n_jobs",
            {"random_state": 0},
            {
                "learning_rate": 0.1,
                "max_leaf_nodes": 31,
                "max_depth": None,
                "max_bins": 255,
                "min_samples_leaf": 20,
                "colsample_bynode": 1.0,
            },
        ),
        Library(
            LIGHTGBM,
            "lightgbm",
            {
                "classification": "LGBMClassifier",
                "regression": "LGBMRegressor",
                "ranking": "LGBMRanker",
            },
            "n_estimators",
            "n_jobs",
            {"random_state": 0, "verbosity": -1},
            {"learning_rate": 0.1, "num_leaves": 31, "max_bin": 255, "min_child_samples": 20},
        ),
        Library(
            XGBOOST,
            "xgboost",
            {
                "classification": "XGBClassifier",
                "regression": "XGBRegressor",
                "ranking": "XGBRanker",
            },
            "n_estimators",
            "n_jobs",
            {"random_state": 0, "enable_categorical": True},
            {  # it has no least number of rows in a leaf, only a least sum of hessians
                "learning_rate": 0.1,
                "tree_method": "hist",
                "grow_policy": "lossguide",
                "max_leaves": 31,
                "max_depth": 0,
                "max_bin": 255,
            },
        ),
        Library(
            CATBOOST,
            "catboost",
            {
                "classification": "CatBoostClassifier",
                "regression": "CatBoostRegressor",
                "ranking": "CatBoostRanker",
            },
            "iterations",
            "thread_count",
            {"random_seed": 0, "verbose": False, "allow_writing_files": False},
            # Its own kind of tree, all nodes of a level split alike, with 32 leaves.
            {"learning_rate": 0.1, "depth": 5, "border_count": 254},
            table=_words,
            groups=lambda sizes: {"group_id": _numbered(sizes)},
            categories=_word_columns,
        ),
        Library(
            SKLEARN,
            "sklearn.ensemble",
            {
                "classification": "HistGradientBoostingClassifier",
                "regression": "HistGradientBoostingRegressor",
            },
            "max_iter",
            "",
            # By default it stops early, but not always: all are to make the same rounds.
            {"random_state": 0, "early_stopping": False},
            {"learning_rate": 0.1, "max_leaf_nodes": 31, "max_bins": 255, "min_samples_leaf": 20},
            table=_dense_or_coded,
        ),
    )
}
CATBOOST_LEAFWISE = {
    "learning_rate": 0.1,
    "grow_policy": "Lossguide",
    "max_leaves": 31,
    "min_data_in_leaf": 20,
    "border_count": 254,
}


def threads(options: Options) -> int:
    """Two; one for tiny sizes, where others may be at work and waiting threads do harm."""
    return options.size(THREADS, 1)


def installed(options: Options, names: Sequence[str] = tuple(LIBRARIES)) -> list[Library]:
    """Keep the libraries that are there, and say in the report when one is not."""
    chosen = [LIBRARIES[name] for name in names]
    for library in chosen:
        if not library.is_installed:
            options.note(f"{library.name} is not installed and left out (see the extra 'bench').")
    return [library for library in chosen if library.is_installed]


# --- contenders ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Setup:
    """A library with the settings it has in a case."""

    library: Library
    name: str = ""
    target: Target | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    n_rounds: int = ROUNDS
    n_threads: int = THREADS

    @property
    def title(self) -> str:
        return self.name or self.library.name

    def changed(self, name: str = "", target: Target | None = None, **parameters: Any) -> Setup:
        """Return the same with some other parameters."""
        changed = {**self.parameters, **parameters}
        return replace(self, name=name or self.name, target=target, parameters=changed)

    def make(self, task: Task) -> Any:
        """Return a new estimator."""
        given = self.library.parameters(self.n_rounds, self.n_threads)
        return self.library.make(task, **given, **self.parameters)

    def fitted(self, data: DataSet) -> Any:
        """Return a new model of the training rows."""
        table = self.library.table(data.X)
        return self.library.fit(self.make(data.task), table, data.y, data.queries)

    def fitting(self) -> Contender:
        """Time ``fit`` with everything in it but the form of categories."""

        def prepare(data: DataSet) -> Any:
            return self.make(data.task), self.library.table(data.X)

        def run(state: Any, data: DataSet) -> Any:
            estimator, table = state
            return self.library.fit(estimator, table, data.y, data.queries)

        def score(model: Any, data: DataSet) -> float:
            X_test = self.library.table(data.X_test)
            return metrics.score(self.library.answer(model, X_test, data.task), data)

        return Contender(self.title, prepare, run, score, self.target)


def equal(library: Library, target: Target | None = None, **more: Any) -> Setup:
    """Return a library with what makes all alike.

    A learning rate of 0.1, 31 leaves, 255 bins, 20 rows in a leaf at least, 2 threads.
    """
    return Setup(library, target=target, parameters=library.equal, **more)

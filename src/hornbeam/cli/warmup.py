"""``hornbeam warmup``: compile ahead of time by fitting every kind of model once, on 60 rows."""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse
from rich.progress import Progress

import hornbeam
from hornbeam.cli.screen import Screen
from hornbeam.criteria import ABSOLUTE_ERROR, CLASSIFICATION_CRITERIA, REGRESSION_CRITERIA
from hornbeam.runtime.kernel import cache_directory, compile_times

_CLASS_CRITERIA = tuple(CLASSIFICATION_CRITERIA)
_VALUE_CRITERIA = (*REGRESSION_CRITERIA, ABSOLUTE_ERROR)
_FINDERS = (("exact", "best"), ("exact", "random"), ("histogram", "best"))
_ROWS = 60

Job = Callable[[], Any]


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    screen = Screen(options.quiet)
    os.environ["HORNBEAM_QUIET"] = "1"  # the progress bar says it better
    start = time.perf_counter()
    jobs = [*_tree_jobs(), *_forest_jobs(), *_boosting_jobs()]
    with Progress(console=screen.progress, transient=True) as progress:
        for job in progress.track(jobs, description="compiling"):
            job()
    seconds = time.perf_counter() - start
    n_new = len(compile_times())
    where = cache_directory() or "nowhere: the cache directory cannot be used"
    screen.say(f"{n_new} kernels were compiled in {seconds:.1f} s; they are kept in {where}")


def _tree_jobs() -> Iterator[Job]:
    """Fits of single trees that together reach the kernels a user's fit would."""
    trees: list[tuple[Any, tuple[str, ...]]] = [
        (hornbeam.DecisionTreeClassifier, _CLASS_CRITERIA),
        (hornbeam.DecisionTreeRegressor, _VALUE_CRITERIA),
    ]
    values, y = _values(), np.arange(_ROWS) % 3
    for (tree, criteria), (finder, splitter) in itertools.product(trees, _FINDERS):
        for criterion in criteria:
            one = tree(criterion=criterion, finder=finder, splitter=splitter)
            yield partial(_fit_and_predict, one, values, y)
        one = tree(finder=finder, splitter=splitter)
        yield partial(_fit_and_predict, one, values.astype(np.float32), y)
        mixed = tree(finder=finder, splitter=splitter, categorical_features=[0, 1])
        yield partial(_fit_and_predict, mixed, values, y)


def _forest_jobs() -> Iterator[Job]:
    """Fits of forests; what they grow by, single trees have compiled for the most part."""
    forests: list[tuple[Any, tuple[str, ...]]] = [
        (hornbeam.RandomForestClassifier, _CLASS_CRITERIA),
        (hornbeam.RandomForestRegressor, _VALUE_CRITERIA),
        (hornbeam.ExtraTreesClassifier, _CLASS_CRITERIA),
        (hornbeam.ExtraTreesRegressor, _VALUE_CRITERIA),
    ]
    values, y = _values(), np.arange(_ROWS) % 3
    few: dict[str, Any] = {"n_estimators": 20, "bootstrap": True, "oob_score": True}
    for forest, criteria in forests:
        for criterion in criteria:
            yield partial(_fit_and_predict, forest(criterion=criterion, **few), values, y)
        yield partial(_fit_and_predict, forest(**few), values.astype(np.float32), y)
        mixed = forest(categorical_features=[0, 1], **few)
        yield partial(_fit_and_predict, mixed, values, y)


def _boosting_jobs() -> Iterator[Job]:
    """Fits of boosting: every loss, and every kind of table."""
    few: dict[str, Any] = {"n_estimators": 2, "min_samples_leaf": 5, "verbose": 0}
    classifier, regressor = hornbeam.GradientBoostingClassifier, hornbeam.GradientBoostingRegressor
    values, positive = _values(), 1.0 + np.arange(_ROWS) % 3
    tables = (values, values.astype(np.float32), scipy.sparse.csr_array(values))
    for X in tables:
        yield partial(_fit_and_predict, regressor(**few), X, positive)
    kinds: list[dict[str, Any]] = [
        {"categorical_features": [0, 1]},
        {"colsample_bynode": 0.5},
        {"subsample": 0.5},
        {"reg_alpha": 1.0},
    ]
    for more, growth in itertools.product(kinds, ("leaf", "symmetric")):
        one = regressor(growth=growth, **more, **few)
        yield partial(_fit_and_predict, one, values, positive)
    sparse = regressor(growth="symmetric", **few)
    yield partial(_fit_and_predict, sparse, tables[-1], positive)
    for loss in hornbeam.losses.names("regression"):
        order = 1 if loss == "sqrt_absolute" else 2
        one = regressor(loss=loss, order=order, early_stopping=True, **few)
        yield partial(_fit_and_predict, one, values, positive)
    for loss, n_classes in (
        ("log_loss", 2),
        ("exponential", 2),
        ("log_loss", 3),
        ("log_loss_k1", 3),
    ):
        one = classifier(loss=loss, early_stopping=True, **few)
        yield partial(_fit_and_predict, one, values, np.arange(_ROWS) % n_classes)
    ranker = hornbeam.GradientBoostingRanker(early_stopping=True, **few)
    yield partial(_fit_and_predict, ranker, values, np.arange(_ROWS) % 3, group=[6] * 10)


def _fit_and_predict(estimator: Any, X: Any, y: Any, **more: Any) -> None:
    model = estimator.fit(X, y, **more)
    model.predict(X)
    if hasattr(model, "predictor"):
        model.predictor()  # compiles for float32 and float64 rows


def _values() -> Any:
    return (np.arange(3.0 * _ROWS).reshape(_ROWS, 3) * 7) % 11

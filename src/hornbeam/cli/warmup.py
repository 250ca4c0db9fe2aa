"""``hornbeam warmup``: compile ahead of time by fitting every kind of tree once, on 60 rows."""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.progress import Progress

import hornbeam
from hornbeam.cli.screen import Screen
from hornbeam.runtime.kernel import cache_directory, compile_times

_CLASS_CRITERIA = ("gini", "entropy", "log_loss", "misclassification")
_VALUE_CRITERIA = ("squared_error", "absolute_error", "friedman_mse", "poisson")
_FINDERS = (("exact", "best"), ("exact", "random"), ("histogram", "best"))


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    screen = Screen(options.quiet)
    os.environ["HORNBEAM_QUIET"] = "1"  # the progress bar says it better
    start = time.perf_counter()
    jobs = list(_jobs())
    with Progress(console=screen.progress, transient=True) as progress:
        for estimator, X, y in progress.track(jobs, description="compiling"):
            estimator.fit(X, y).predict(X)
    seconds = time.perf_counter() - start
    n_new = len(compile_times())
    where = cache_directory() or "nowhere: the cache directory cannot be used"
    screen.say(f"{n_new} kernels were compiled in {seconds:.1f} s; they are kept in {where}")


def _jobs() -> Iterator[tuple[Any, Any, Any]]:
    """Estimators and small data that together reach the kernels a user's fit would."""
    trees: list[tuple[Any, tuple[str, ...]]] = [
        (hornbeam.DecisionTreeClassifier, _CLASS_CRITERIA),
        (hornbeam.DecisionTreeRegressor, _VALUE_CRITERIA),
    ]
    values = (np.arange(180.0).reshape(60, 3) * 7) % 11
    y = np.arange(60) % 3
    for (tree, criteria), (finder, splitter) in itertools.product(trees, _FINDERS):
        for criterion in criteria:
            yield tree(criterion=criterion, finder=finder, splitter=splitter), values, y
        yield tree(finder=finder, splitter=splitter), values.astype(np.float32), y
        mixed = tree(finder=finder, splitter=splitter, categorical_features=[0, 1])
        yield mixed, values, y

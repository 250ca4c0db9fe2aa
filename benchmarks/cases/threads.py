"""Fit on one thread and on two: how much faster, and whether the tree is the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import hornbeam as hb
from benchmarks import datasets
from benchmarks.harness import Case, Contender, Options, fitting, measure_all
from benchmarks.results import Row


def rows(options: Options) -> Iterable[Row]:
    return measure_all(cases(options), options)


def cases(options: Options) -> Iterable[Case]:
    n_rows, n_test = options.size(300_000, 2000), options.size(50_000, 1000)
    data = datasets.synthetic(n_rows, n_test)
    numbers = datasets.synthetic_regression(n_rows, n_test)
    for finder in ("exact", "histogram"):
        for estimator, on in (
            (hb.DecisionTreeClassifier, data),
            (hb.DecisionTreeRegressor, numbers),
        ):
            make = partial(estimator, random_state=0, max_depth=8, finder=finder)
            kind = "classifier" if on is data else "regressor"
            yield Case(
                f"{kind}, {finder}, max_depth=8",
                on,
                (_threads(make, 1), _threads(make, 2)),
                reference="1 thread",
                threads=2,
                tolerance=0.0,
            )


def _threads(make: Any, n_jobs: int) -> Contender:
    name = "1 thread" if n_jobs == 1 else f"{n_jobs} threads"
    contender = fitting(name, partial(make, n_jobs=n_jobs))
    return replace(contender, digest=_digest)


def _digest(model: Any) -> str:
    return str(model.tree_.digest())

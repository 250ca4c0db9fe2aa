"""Predict with one tree on one thread: many rows at once, and single rows in a loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
import sklearn.tree

import hornbeam as hb
from benchmarks import datasets
from benchmarks.datasets import Array, DataSet
from benchmarks.harness import (
    SKLEARN,
    Case,
    Contender,
    Options,
    at_hand,
    measure_all,
    predicting,
)
from benchmarks.results import Row, Target

MANY_ROWS = Target.at_least(1.0)
SINGLE_ROWS = Target.at_least(3.0)
N_SINGLE = 1000


def rows(options: Options) -> Iterable[Row]:
    return measure_all(cases(options), options)


def cases(options: Options) -> Iterable[Case]:
    n_rows, n_test = options.size(100_000, 2000), options.size(100_000, 1000)
    sets = datasets.covtype(n_rows, n_test), datasets.synthetic(n_rows, n_test)
    for data in at_hand(options, *sets):
        for name, parameters in (("fully grown", {}), ("max_depth=8", {"max_depth": 8})):
            yield from _cases_on(data, name, parameters)


def _cases_on(data: DataSet, name: str, parameters: dict[str, Any]) -> Iterable[Case]:
    theirs = partial(sklearn.tree.DecisionTreeClassifier, random_state=0, **parameters)
    ours = partial(hb.DecisionTreeClassifier, random_state=0, n_jobs=1, **parameters)
    yield Case(
        f"{len(data.X_test)} rows, {name}",
        data,
        (
            _contender(SKLEARN, theirs, _all_rows),
            _contender("hornbeam", ours, _all_rows, MANY_ROWS),
        ),
    )
    # The shortest way that hornbeam has for one row has to reach the target.
    short = hasattr(hb.DecisionTreeClassifier, "predict_one")
    single = [
        _contender(SKLEARN, theirs, _row_by_row),
        _contender("hornbeam predict", ours, _row_by_row, None if short else SINGLE_ROWS),
    ]
    if short:
        single.append(_contender("hornbeam predict_one", ours, _one_by_one, SINGLE_ROWS))
    yield Case(f"{N_SINGLE} single rows, {name}", data, tuple(single))


def _contender(
    name: str,
    make: Callable[[], Any],
    predict: Callable[[Any, DataSet], Any],
    target: Target | None = None,
) -> Contender:
    return predicting(name, make, predict, target, _accuracy)


def _all_rows(model: Any, data: DataSet) -> Array:
    predicted: Array = model.predict(data.X_test)
    return predicted


def _row_by_row(model: Any, data: DataSet) -> Array:
    X = data.X_test[:N_SINGLE]
    return np.concatenate([model.predict(X[i : i + 1]) for i in range(len(X))])


def _one_by_one(model: Any, data: DataSet) -> Array:
    return np.array([model.predict_one(row) for row in data.X_test[:N_SINGLE]])


def _accuracy(predicted: Array, data: DataSet) -> float:
    return float(np.mean(predicted == data.y_test[: len(predicted)]))

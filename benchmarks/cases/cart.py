"""Fit one tree on one thread: hornbeam, exact and histogram, beside scikit-learn."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import sklearn.tree

import hornbeam as hb
from benchmarks import datasets
from benchmarks.harness import SKLEARN, Case, Contender, Options, at_hand, fitting, measure_all
from benchmarks.results import Row, Target

EXACT = Target.at_least(2.0)
HISTOGRAM = Target.at_least(5.0)
# A fully grown regression tree repeats the noise of single rows: its R2 moves more.
REGRESSION_TOLERANCE = 0.03


def rows(options: Options) -> Iterable[Row]:
    return measure_all(cases(options), options)


def cases(options: Options) -> Iterable[Case]:
    n_test = options.size(100_000, 1000)
    million = datasets.synthetic(options.size(1_000_000, 2000), n_test)
    for data in at_hand(options, datasets.covtype(options.size(100_000, 2000), n_test), million):
        yield Case("classifier, fully grown", data, contenders("DecisionTreeClassifier"))
    yield Case(
        "classifier, max_depth=8", million, contenders("DecisionTreeClassifier", max_depth=8)
    )
    numbers = datasets.synthetic_regression(options.size(200_000, 2000), n_test)
    for name, parameters in (("fully grown", {}), ("max_depth=8", {"max_depth": 8})):
        yield Case(
            f"regressor, {name}",
            numbers,
            contenders("DecisionTreeRegressor", **parameters),
            tolerance=REGRESSION_TOLERANCE,
        )


def contenders(estimator: str, **parameters: Any) -> tuple[Contender, ...]:
    """Return scikit-learn's tree and hornbeam's two, all with the same parameters."""
    theirs = partial(getattr(sklearn.tree, estimator), random_state=0, **parameters)
    ours = partial(getattr(hb, estimator), random_state=0, n_jobs=1, **parameters)
    return (
        fitting(SKLEARN, theirs),
        fitting("hornbeam exact", ours, EXACT),
        fitting("hornbeam histogram", partial(ours, finder="histogram"), HISTOGRAM),
    )

"""A user's own split criterion, written in Python, beside its built-in twin."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import hornbeam as hb
from benchmarks import datasets
from benchmarks.harness import Case, Contender, Options, at_hand, fitting, measure_all
from benchmarks.results import Row, Target

BUILT_IN, OWN = "built in", "user's own"
SLOWER = Target.at_most(1.3)


def own_gini(counts, weight):  # type: ignore[no-untyped-def]
    impurity = 1.0
    for count in counts:
        impurity -= (count / weight) ** 2
    return impurity


def own_squared_error(weight, total, squares):  # type: ignore[no-untyped-def]
    return squares / weight - (total / weight) ** 2


def rows(options: Options) -> Iterable[Row]:
    return measure_all(cases(options), options)


def cases(options: Options) -> Iterable[Case]:
    n_rows, n_test = options.size(100_000, 2000), options.size(10_000, 1000)
    sets = datasets.covtype(n_rows, n_test), datasets.synthetic(n_rows, n_test)
    numbers = datasets.synthetic_regression(n_rows, n_test)
    for finder in ("exact", "histogram"):
        make = partial(hb.DecisionTreeClassifier, random_state=0, n_jobs=1, finder=finder)
        for data in at_hand(options, *sets):
            yield _case(f"gini, {finder}", data, _twins(make, "gini", own_gini))
        make = partial(hb.DecisionTreeRegressor, random_state=0, n_jobs=1, finder=finder)
        twins = _twins(make, "squared_error", own_squared_error)
        yield _case(f"squared error, {finder}", numbers, twins)


def _case(name: str, data: datasets.DataSet, twins: tuple[Contender, ...]) -> Case:
    return Case(name, data, twins, reference=BUILT_IN, meaning="as much", tolerance=0.02)


def _twins(make: Any, criterion: str, own: Any) -> tuple[Contender, ...]:
    return (
        fitting(BUILT_IN, partial(make, criterion=criterion)),
        fitting(OWN, partial(make, criterion=own), SLOWER),
    )

"""Fit of boosting, 100 rounds of 31 leaves on 2 threads: a million rows, and a suite of ten."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks import datasets, shared
from benchmarks.boosters import (
    CATBOOST,
    CATBOOST_LEAFWISE,
    HORNBEAM,
    LIGHTGBM,
    ROUNDS,
    SKLEARN,
    XGBOOST,
    Setup,
    equal,
    installed,
    threads,
)
from benchmarks.datasets import DataSet
from benchmarks.harness import Case, Contender, Options, at_hand, measure_all
from benchmarks.results import Row, Target

# How many times as long as hornbeam the others take, at least.
AS_LONG = {
    LIGHTGBM: Target.at_least(1.8),
    XGBOOST: Target.at_least(1.4),
    CATBOOST: Target.at_least(2.0),
    SKLEARN: Target.at_least(2.0),
}
QUANTISED = Target.at_least(1.25)
IN_SUITE, SUITE_MEAN = Target.at_least(0.9), Target.at_least(1.5)
SUITE = "suite"
BUDGET = 30.0  # seconds of a case after which it is not repeated
QUICK_SETS = ("adult", "letter")
PICTURE_ROUNDS = 10  # of 10 classes: 100 trees, as with two classes


def rows(options: Options) -> Iterable[Row]:
    options.note(
        "Reference is hornbeam: 2.00x as much means that a library takes twice its time. The "
        "score is the AUC (for many classes of each against the rest, by its share) or R2."
    )
    options.note(
        "All have a learning rate of 0.1, 31 leaves, 255 bins and at least 20 rows in a leaf. "
        "XGBoost grows by loss and has no least number of rows; CatBoost's own trees have 32 "
        "leaves at depth 5, all nodes of a level split alike, and reach less in 100 rounds."
    )
    hurried = replace(options, budget=min(options.budget, BUDGET))
    yield from measure_all(million(options), hurried)
    measured = list(measure_all(suite(options), hurried))
    yield from measured
    yield from suite_mean(measured)


def million(options: Options) -> Iterator[Case]:
    """Compare all libraries on a million rows; CatBoost apart, as its trees are others."""
    data = datasets.synthetic(options.size(1_000_000, 2000), options.size(100_000, 1000))
    n_rounds = options.size(ROUNDS, 10)
    n_threads = threads(options)
    case = partial(Case, data=data, reference=HORNBEAM, threads=n_threads, meaning="as much")
    setups: list[Setup] = []
    others: list[Setup] = []
    for library in installed(options):
        setup = equal(library, AS_LONG.get(library.name), n_rounds=n_rounds, n_threads=n_threads)
        (others if library.name == CATBOOST else setups).append(setup)
        if library.name == LIGHTGBM:
            quantised = setup.changed("LightGBM quantised", QUANTISED, use_quantized_grad=True)
            setups.append(quantised)
        if library.name == CATBOOST:
            leaf_wise = replace(setup, name="CatBoost leaf-wise", target=None)
            others.append(replace(leaf_wise, parameters=CATBOOST_LEAFWISE))
    yield case("31 leaves", contenders=_fits(setups), tolerance=0.005)
    if others:
        yield case("31 leaves, CatBoost", contenders=_fits([setups[0], *others]), tolerance=0.02)


def suite(options: Options) -> Iterator[Case]:
    """Compare with LightGBM on ten sets of many kinds."""
    libraries = installed(options, (HORNBEAM, LIGHTGBM))
    if len(libraries) < 2:
        return
    for found in suite_sets(options):
        for data in at_hand(options, found):
            n_rounds = PICTURE_ROUNDS if data.name.startswith("pictures") else ROUNDS
            n_rounds, n_threads = options.size(n_rounds, 5), threads(options)
            setups = [
                equal(library, IN_SUITE, n_rounds=n_rounds, n_threads=n_threads)
                for library in libraries
            ]
            case = Case(SUITE, data, _fits(setups), HORNBEAM, threads=n_threads)
            yield replace(case, meaning="as much", tolerance=0.02)


def suite_sets(options: Options) -> Iterator[DataSet | None]:
    """Make or read the ten sets, one at a time."""
    n_test = options.size(50_000, 500)
    yield datasets.synthetic(1000, n_test)
    most = {"adult": 50_000, "covtype": 150_000, "letter": 20_000, "nycflights13": 400_000}
    most |= {"diamonds": 60_000, "w8a": 50_000, "kddcup99_10pct": 150_000}
    for name, n_rows in most.items():
        if options.quick and name not in QUICK_SETS:
            continue
        data = shared.load(name)
        yield None if data is None else data.capped(options.size(n_rows, 1000)).split(0)
    yield datasets.pictures(options.size(60_000, 500), options.size(10_000, 200))
    yield datasets.synthetic_regression(options.size(1_000_000, 2000), n_test)


def suite_mean(rows: Sequence[Row]) -> Iterator[Row]:
    """Take the geometric mean of LightGBM's times over hornbeam's."""
    ratios = [row.ratio for row in rows if row.contender == LIGHTGBM and row.ratio is not None]
    if ratios:
        mean = float(np.exp(np.mean(np.log(ratios))))
        target = replace(SUITE_MEAN, of="value")
        data = f"geometric mean of {len(ratios)}"
        yield Row(SUITE, data, f"{LIGHTGBM} / {HORNBEAM}", mean, "x", target=target)


def _fits(setups: Sequence[Setup]) -> tuple[Contender, ...]:
    return tuple(setup.fitting() for setup in setups)

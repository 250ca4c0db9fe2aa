"""Fit beside a busy process on every core: how much slower than on a free machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import sklearn.tree

import hornbeam as hb
from benchmarks import datasets, machine
from benchmarks.children import busy_cores
from benchmarks.harness import SKLEARN, Case, Options, fitting, measure
from benchmarks.results import Row, Target

SLOW_DOWN = Target.at_most(1.5)


def rows(options: Options) -> Iterable[Row]:
    data = datasets.synthetic(options.size(200_000, 2000), options.size(10_000, 100))
    parameters: dict[str, Any] = {"random_state": 0, "max_depth": 8}
    ours = partial(hb.DecisionTreeClassifier, **parameters)
    cores = machine.cores()
    case = Case(
        "free machine",
        data,
        (
            fitting(SKLEARN, partial(sklearn.tree.DecisionTreeClassifier, **parameters)),
            fitting("hornbeam exact", ours),
            fitting("hornbeam exact, 1 thread", partial(ours, n_jobs=1)),
            fitting("hornbeam histogram", partial(ours, finder="histogram")),
        ),
        threads=cores,
    )
    free = measure(case, options)
    with busy_cores(cores):
        busy = measure(replace(case, name=f"{cores} busy processes"), options)
    yield from free
    yield from busy
    yield from slow_downs(free, busy)


def slow_downs(free: list[Row], busy: list[Row]) -> Iterable[Row]:
    """Divide busy times by free ones, and compare each contender's factor with the first's."""
    reference: Row | None = None
    for before, after in zip(free, busy, strict=True):
        factor = after.value / before.value
        row = Row("slow-down", before.data, before.contender, factor, "x", meaning="as much")
        if reference is None:
            reference = row
            yield row
        else:
            yield row.against(reference, SLOW_DOWN)

"""Boosting with a user's own logistic loss, written in Python, beside the built-in one."""

from __future__ import annotations

import math
from collections.abc import Iterable

import hornbeam as hb
from benchmarks import datasets
from benchmarks.boosters import HORNBEAM, LIBRARIES, ROUNDS, equal, threads
from benchmarks.harness import Case, Options, measure_all
from benchmarks.results import Row, Target

BUILT_IN, SLOPES, VALUE = "built in", "own gradient and hessian", "own value alone"
SLOWER = Target.at_most(1.3)


def gradient(y, score):  # type: ignore[no-untyped-def]
    return 1.0 / (1.0 + math.exp(-score)) - y


def hessian(y, score):  # type: ignore[no-untyped-def]
    p = 1.0 / (1.0 + math.exp(-score))
    return p * (1.0 - p)


def value(y, score):  # type: ignore[no-untyped-def]
    return max(score, 0.0) - score * y + math.log1p(math.exp(-abs(score)))


def rows(options: Options) -> Iterable[Row]:
    options.note("Where only the value is given, it is derived by the rules of calculus.")
    options.note("The score is the AUC.")
    losses = {SLOPES: hb.losses.OwnLoss(gradient=gradient, hessian=hessian), VALUE: value}
    n_rounds, n_threads = options.size(ROUNDS, 10), threads(options)
    setup = equal(LIBRARIES[HORNBEAM], name=BUILT_IN, n_rounds=n_rounds, n_threads=n_threads)
    setups = [setup, *(setup.changed(name, SLOWER, loss=loss) for name, loss in losses.items())]
    data = datasets.synthetic(options.size(1_000_000, 2000), options.size(100_000, 1000))
    contenders = tuple(setup.fitting() for setup in setups)
    case = Case("logistic loss", data, contenders, BUILT_IN, 0.001, n_threads, "as much")
    return measure_all([case], options)

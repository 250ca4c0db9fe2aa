"""Fit C4.5 on kddcup99: at most three times the time of the histogram CART tree.

Where the set is not at hand, a made one takes its place, for which no limit is set.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import hornbeam as hb
from benchmarks import datasets, shared
from benchmarks.harness import Case, Options, at_hand, fitting, measure_all
from benchmarks.results import Row, Target

CART = "histogram CART"
MOST = Target.at_most(3.0)


def rows(options: Options) -> Iterable[Row]:
    return measure_all(cases(options), options)


def cases(options: Options) -> Iterable[Case]:
    whole = shared.load("kddcup99_10pct")
    if whole is not None and options.quick:
        whole = whole.capped(3000)
    real = at_hand(options, None if whole is None else whole.split(0))
    most = MOST if real else None
    for data in real or [datasets.synthetic(options.size(100_000, 2000), 1000)]:
        for name, n_jobs in (("one thread", 1), ("as many threads as pay", None)):
            contenders = (
                fitting(
                    CART, partial(hb.DecisionTreeClassifier, finder="histogram", n_jobs=n_jobs)
                ),
                fitting("C4.5", partial(hb.C45Classifier, n_jobs=n_jobs), most),
                fitting(
                    "C4.5, unpruned", partial(hb.C45Classifier, pruning=None, n_jobs=n_jobs), most
                ),
            )
            yield Case(name, data, contenders, reference=CART, meaning="as much")

"""What a stack costs beyond the fits of its members: boosting, random forest and extra trees.

"members alone" are the same fits without a stack: five folds and all rows, one after the other,
with all threads for each. Everything else that a stack does (parting rows, asking about held
ones, the final estimator) is its overhead.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import sklearn.ensemble
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import hornbeam as hb
from benchmarks import datasets, shared
from benchmarks.datasets import DataSet
from benchmarks.harness import SKLEARN, Case, Contender, Options, at_hand, measure_all
from benchmarks.results import Row, Target
from hornbeam.combine.stacking.base import FOLDS_KEY
from hornbeam.data.folds import Splits

ALONE, GREEDY, LINEAR = "members alone", "greedy stack", "linear stack"
THREADS = 2
N_FOLDS = 5
OVERHEAD = Target.at_most(1.05)


def rows(options: Options) -> Iterable[Row]:
    sets = [datasets.synthetic(options.size(4_000, 300), options.size(5_000, 300))]
    for name in ("adult", "magic_gamma"):
        whole = shared.load(name)
        capped = None if whole is None else whole.capped(options.size(5_000, 400))
        for data in at_hand(options, None if capped is None else capped.split(0)):
            numbered = shared.numbered(data.X), shared.numbered(data.X_test)
            sets.append(replace(data, X=numbered[0], X_test=numbered[1]))
    yield from measure_all([case(data, options) for data in sets], options)
    options.note(
        f"All have refit='refit' and {N_FOLDS} folds. '{SKLEARN}' is its stack of the same "
        "members, whose final estimator is logistic regression, as that of the linear stack."
    )


def case(data: DataSet, options: Options) -> Case:
    """Time fits of stacks, and of their members alone."""
    few: dict[str, Any] = {"n_estimators": 5} if options.quick else {}
    few |= {"random_state": 0, "n_jobs": options.size(THREADS, 1)}
    members = [
        ("boosting", hb.GradientBoostingClassifier(**few)),
        ("random forest", hb.RandomForestClassifier(**few)),
        ("extra trees", hb.ExtraTreesClassifier(**few)),
    ]
    final = LogisticRegression(max_iter=1000)
    more: dict[str, Any] = {"cv": N_FOLDS, "refit": "refit", "random_state": 0}
    makers = {
        GREEDY: hb.StackingClassifier(members, **more),
        LINEAR: hb.StackingClassifier(members, final, **more),
        SKLEARN: sklearn.ensemble.StackingClassifier(members, final, cv=N_FOLDS),
    }
    targets = {GREEDY: OVERHEAD, LINEAR: OVERHEAD, SKLEARN: None}
    contenders = [Contender(ALONE, lambda data: None, lambda _, data: fit_alone(members, data))]
    contenders += [stack(name, maker, targets[name]) for name, maker in makers.items()]
    return Case("fit", data, tuple(contenders), reference=ALONE, threads=THREADS, meaning="as much")


def stack(name: str, maker: Any, target: Target | None) -> Contender:
    """Time the fit of a stack."""
    return Contender(
        name,
        lambda data: clone(maker),
        lambda model, data: model.fit(data.X, data.y),
        lambda model, data: float(model.score(data.X_test, data.y_test)),
        target,
    )


def fit_alone(members: list[tuple[str, Any]], data: DataSet) -> list[Any]:
    """Fit the members on the folds of a stack and on all rows, and ask them nothing."""
    folds = Splits(len(data.y), (0, FOLDS_KEY), data.y).folds(N_FOLDS)
    tables = [(data.X[learnt], data.y[learnt]) for learnt, _ in folds] + [(data.X, data.y)]
    return [clone(member).fit(X, y) for X, y in tables for _, member in members]

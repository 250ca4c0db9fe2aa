"""AdaBoost with 100 stumps, or 100 trees of depth 3, on 2 threads: fit, predict and memory.

Members are the same for both: hornbeam's exact trees and scikit-learn's, in SAMME. "bins" are
hornbeam's trees on histograms.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.ensemble
import sklearn.tree
from sklearn.metrics import accuracy_score

import hornbeam as hb
from benchmarks import datasets, shared
from benchmarks.children import ask
from benchmarks.datasets import Array, DataSet
from benchmarks.harness import SKLEARN, Case, Contender, Options, at_hand, measure_all
from benchmarks.results import Row, Target

HORNBEAM, BINS = "hornbeam", "hornbeam, bins"
THREADS = 2
N_ROUNDS = 100
DEPTHS = {"stumps": 1, "trees of depth 3": 3}
FIT, PREDICT = Target.at_least(15.0), Target.at_least(10.0)
MEMORY = Target.at_most(1.0)


def rows(options: Options) -> Iterable[Row]:
    hurried = replace(options, repeats=min(options.repeats, 3), budget=min(options.budget, 30.0))
    for data in sets(options):
        for name, depth in DEPTHS.items():
            models = Models(depth, options)
            cases = [
                fit_case(f"{N_ROUNDS} {name}, fit", data, models),
                predict_case(f"{N_ROUNDS} {name}, predict {len(data.y_test)} rows", data, models),
            ]
            yield from measure_all(cases, hurried)
    yield from memory_rows(options)
    options.note(
        f"Members of both libraries are the same, and so are the votes. '{BINS}' has members with "
        "finder='histogram', of at most 255 bins. For all of them, categories are numbers in "
        "alphabetical order, and what is missing is -1."
    )


def sets(options: Options) -> Iterator[DataSet]:
    """Make or read the sets, as arrays of numbers."""
    yield from at_hand(
        options, datasets.covtype(options.size(100_000, 600), options.size(100_000, 300))
    )
    for name in ("adult", "letter"):
        whole = shared.load(name)
        if whole is not None and options.quick:
            whole = whole.capped(600)
        for data in at_hand(options, None if whole is None else whole.split(0)):
            yield replace(data, X=_complete(data.X), X_test=_complete(data.X_test))
    yield datasets.synthetic(options.size(20_000, 300), options.size(20_000, 300))


def _complete(X: Any) -> Array:
    """The table as numbers, without gaps: scikit-learn's AdaBoost takes none."""
    return np.nan_to_num(shared.numbered(X), nan=-1.0)


@dataclass
class Models:
    """One ensemble of each contender, kept when it is fitted."""

    depth: int
    options: Options
    fitted: dict[tuple[str, int], Any] = field(default_factory=dict)

    def make(self, name: str) -> Any:
        """An ensemble that is not fitted yet."""
        n_rounds = self.options.size(N_ROUNDS, 5)
        if name == SKLEARN:
            tree = sklearn.tree.DecisionTreeClassifier(max_depth=self.depth)
            return sklearn.ensemble.AdaBoostClassifier(tree, n_estimators=n_rounds, random_state=0)
        finder = "histogram" if name == BINS else "exact"
        stump = hb.DecisionTreeClassifier(max_depth=self.depth, finder=finder)
        threads = self.options.size(THREADS, 1)
        return hb.AdaBoostClassifier(stump, n_estimators=n_rounds, n_jobs=threads, random_state=0)

    def fit(self, name: str, data: DataSet) -> Any:
        """Fit, and keep what was fitted."""
        self.fitted[name, len(data.X)] = model = self.make(name).fit(data.X, data.y)
        return model

    def __call__(self, name: str, data: DataSet) -> Any:
        known = self.fitted.get((name, len(data.X)))
        return self.fit(name, data) if known is None else known


def fit_case(title: str, data: DataSet, models: Models) -> Case:
    """Time fits; the score is the accuracy on test rows."""

    def contender(name: str, target: Target | None) -> Contender:
        return Contender(
            name,
            lambda data: None,
            lambda _, data: models.fit(name, data),
            lambda model, data: float(model.score(data.X_test, data.y_test)),
            target,
        )

    return _case(title, data, contender, FIT)


def predict_case(title: str, data: DataSet, models: Models) -> Case:
    """Time predictions of all test rows."""

    def contender(name: str, target: Target | None) -> Contender:
        return Contender(
            name, lambda data: models(name, data), lambda model, data: model.predict(data.X_test),
            _accuracy, target,
        )  # fmt: skip

    return _case(title, data, contender, PREDICT)


def _case(title: str, data: DataSet, contender: Any, target: Target) -> Case:
    contenders = contender(SKLEARN, None), contender(HORNBEAM, target), contender(BINS, None)
    return Case(title, data, contenders, threads=THREADS)


def _accuracy(predicted: Array, data: DataSet) -> float:
    return float(accuracy_score(data.y_test, predicted))


def memory_rows(options: Options) -> Iterator[Row]:
    """Peak memory of a fit beyond what was there before it, each in a process of its own."""
    data = datasets.covtype(options.size(100_000, 600), 1000)
    if data is None:
        data = datasets.synthetic(options.size(100_000, 600), 1000)
    case = "stumps, peak memory of the fit"
    if options.only not in f"{case} {data.name}":
        return
    with tempfile.TemporaryDirectory() as folder:
        paths = {"X": str(Path(folder) / "X.npy"), "y": str(Path(folder) / "y.npy")}
        np.save(paths["X"], data.X)
        np.save(paths["y"], data.y)
        grown = {}
        for name, module in ((SKLEARN, "sklearn.ensemble"), (HORNBEAM, "hornbeam")):
            given = {"n_estimators": options.size(N_ROUNDS, 5), "random_state": 0}
            request = {"module": module, "estimator": "AdaBoostClassifier", "parameters": given}
            answer = ask("memory", {**request, **paths})
            grown[name] = Row(case, data.name, name, answer["growth"] / 1e6, "MB")
    yield grown[SKLEARN]
    yield replace(grown[HORNBEAM], meaning="as much").against(grown[SKLEARN], MEMORY)

"""Quality of forests beside scikit-learn's, default settings, 100 trees: every shared set, 5 seeds.

A seed parts training from test rows, the same for both libraries, and is the seed of their
forests; of few rows it makes four folds, whose mean counts. The figure is the accuracy or R2;
hornbeam's row is the mean difference to scikit-learn, and its target is not to be below it by
more than two standard errors.

What was measured is kept, set by set and library by library (see benchmarks/kept.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import sklearn.ensemble
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import hornbeam as hb
from benchmarks import datasets, shared
from benchmarks.datasets import DataSet
from benchmarks.harness import SKLEARN, Options
from benchmarks.kept import Figures, Kept, shapes, version
from benchmarks.results import Row, Target
from benchmarks.shared import SharedSet

HORNBEAM = "hornbeam"
DIFFERENCE = f"{HORNBEAM} - {SKLEARN}"
KINDS = {"random forest": "RandomForest", "extra trees": "ExtraTrees"}
METRICS = {"classification": "accuracy", "regression": "R2"}
SUFFIXES = {"classification": "Classifier", "regression": "Regressor"}
N_SEEDS = 5
N_TREES = 100
MOST_ROWS = 20_000  # of a set, three quarters of them for training
MOST_COLUMNS = 1000  # more of them are texts, a word each: hours for fully grown forests
NOISE = 2.0  # standard errors
ROUNDING = 1e-9
# Folders of hornbeam whose changes can change a forest.
SOURCES = ("forest", "tree", "data", "kernels", "hornbeam")
QUICK_SETS = ("car_evaluation", "medical_insurance")


def rows(options: Options) -> Iterable[Row]:
    found: list[Row] = []
    for data in sets(options):
        for kind in KINDS:
            found += rows_on(data, kind, options)
    yield from found
    yield from summary(found)
    options.note(
        f"The figure is the mean over {N_SEEDS} seeds, not the best run: {SKLEARN}'s accuracy or "
        "R2, and hornbeam's minus that; hornbeam's own is the score. A target is minus "
        f"{NOISE:g} standard errors of the mean difference."
    )
    options.note(shared.FOLDS_NOTE)
    options.note(
        f"Sets are cut to {MOST_ROWS} rows; classes of fewer than {shared.LEAST_OF_CLASS} rows in "
        f"what remains are left out, and so are the sets for teaching, of fewer than "
        f"{shared.LEAST_ROWS} rows."
    )
    options.note(
        f"hornbeam gets categories as such, {SKLEARN} their numbers in alphabetical order; both "
        "get missing values as they are."
    )


def sets(options: Options) -> Iterator[SharedSet]:
    """Read every set whose name holds ``options.only``, one at a time; made ones if none is."""
    there = shared.names()
    for name in there:
        if options.only not in name or (options.quick and name not in QUICK_SETS):
            continue
        data = shared.load(name)
        if data is None or data.task not in METRICS:
            continue
        if data.X.shape[1] > MOST_COLUMNS:
            options.note(f"{name} is left out: {data.X.shape[1]} columns.")
            continue
        yield data.capped(options.size(MOST_ROWS, 600))
    if not there:
        options.note("Shared data were not at hand (see HORNBEAM_DATA): only made sets.")
        for made in (datasets.synthetic, datasets.synthetic_regression):
            whole = made(options.size(MOST_ROWS, 600), 1)
            yield SharedSet(made.__name__, whole.task, whole.X, whole.y)


def rows_on(data: SharedSet, kind: str, options: Options) -> list[Row]:
    """Compare the two libraries on one set: scikit-learn's row, and the difference."""
    seeds = [data.folds(seed) for seed in range(options.size(N_SEEDS, 2))]
    kept = Kept("forest_quality", data.name, options)
    theirs, ours = (figures(library, kind, seeds, kept, options) for library in (SKLEARN, HORNBEAM))
    title = f"{data.name} {datasets.shape(len(data.y), data.X.shape[1])}"
    pairs = [(their, our) for [their], [our] in zip(theirs, ours, strict=True)]
    return compared(f"{kind}, {METRICS[data.task]}", title, pairs)


def figures(
    library: str, kind: str, seeds: Sequence[Sequence[DataSet]], kept: Kept, options: Options
) -> Figures:
    """Return the score of a library's forests for each seed."""
    n_trees = options.size(N_TREES, 10)
    made_by = version("sklearn") if library == SKLEARN else version("hornbeam", SOURCES)
    of = {"version": made_by, "trees": n_trees, "splits": shapes(chain.from_iterable(seeds))}

    def mean_score(seed: int, folds: Sequence[DataSet]) -> float:
        return float(np.mean([score(library, kind, split, seed, n_trees) for split in folds]))

    def measure() -> Figures:
        with threadpool_limits(limits=1):
            return [[mean_score(seed, folds)] for seed, folds in enumerate(seeds)]

    return kept.figures(f"{library}, {kind}", of, measure)


def score(library: str, kind: str, data: DataSet, seed: int, n_trees: int) -> float:
    """How good a library's forest is on the test rows."""
    module: Any = sklearn.ensemble if library == SKLEARN else hb
    table = shared.numbered if library == SKLEARN else lambda X: X
    forest = getattr(module, KINDS[kind] + SUFFIXES[data.task])(
        n_estimators=n_trees, random_state=seed, n_jobs=1
    )
    forest.fit(table(data.X), data.y)
    return float(forest.score(table(data.X_test), data.y_test))


def compared(case: str, title: str, pairs: Sequence[tuple[float, float]]) -> list[Row]:
    """Return scikit-learn's row, and hornbeam's difference with its bound."""
    theirs, ours = np.array(pairs).T
    difference = ours - theirs
    error = float(np.std(difference, ddof=1)) / math.sqrt(len(difference))
    base = Row(case, title, SKLEARN, float(theirs.mean()), "", tuple(theirs.tolist()))
    return [
        replace(base, score=base.value),
        replace(
            base,
            contender=DIFFERENCE,
            value=float(difference.mean()),
            runs=tuple(difference.tolist()),
            score=float(ours.mean()),
            target=Target.at_least(-NOISE * error - ROUNDING, "value"),
        ),
    ]


def summary(rows: Sequence[Row]) -> Iterator[Row]:
    """Count the sets where a forest is below, and take the mean of the differences."""
    for kind in KINDS:
        ours = [row for row in rows if row.contender == DIFFERENCE and row.case.startswith(kind)]
        if not ours:
            continue
        below = sum(row.verdict == "missed" for row in ours)
        count = Row(f"{kind}, sets below", f"{len(ours)} sets", DIFFERENCE, below, "sets")
        yield replace(count, target=Target.at_most(0, "value"))
        for metric in METRICS.values():
            these = [row.value for row in ours if row.case == f"{kind}, {metric}"]
            if these:
                title = f"mean of {len(these)} sets"
                mean = Row(f"{kind}, {metric}", title, DIFFERENCE, float(np.mean(these)), "")
                yield replace(mean, target=Target.at_least(0.0, "value"))

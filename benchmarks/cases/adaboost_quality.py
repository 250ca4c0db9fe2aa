"""Quality of AdaBoost beside scikit-learn's with the same members: every shared set, 5 seeds.

100 stumps and 100 trees of depth 3, SAMME for classes and R2 for numbers. A seed parts training
from test rows and is the seed of both ensembles; of few rows it makes four folds, whose mean
counts. Categories are numbers in alphabetical order for both, and gaps a number below all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import sklearn.ensemble
import sklearn.tree
from sklearn.metrics import accuracy_score, r2_score
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import hornbeam as hb
from benchmarks import datasets, shared
from benchmarks.cases.adaboost import DEPTHS, N_ROUNDS, filled
from benchmarks.cases.forest_quality import (
    DIFFERENCE,
    HORNBEAM,
    METRICS,
    NOISE,
    SUFFIXES,
    compared,
)
from benchmarks.cases.forest_quality import sets as all_sets
from benchmarks.datasets import DataSet
from benchmarks.harness import SKLEARN, Options
from benchmarks.kept import Figures, Kept, shapes, version
from benchmarks.results import Row
from benchmarks.shared import SharedSet

N_SEEDS = 5
MOST_ROWS = 2000  # of a set: scikit-learn sorts all columns in each of 100 rounds
# Folders of hornbeam whose changes can change the members or their votes.
SOURCES = ("combine", "tree", "data", "kernels", "hornbeam")


def rows(options: Options) -> Iterable[Row]:
    found: list[Row] = []
    for data in all_sets(options):
        capped = data.capped(options.size(MOST_ROWS, 300))
        for name, depth in DEPTHS.items():
            found += rows_on(capped, name, depth, options)
    yield from found
    yield from summary(found)
    options.note(
        f"The figure is the mean over {N_SEEDS} seeds: {SKLEARN}'s accuracy or R2, and hornbeam's "
        f"minus that; hornbeam's own is the score. A target is minus {NOISE:g} standard errors of "
        f"the mean difference. Sets are cut to {MOST_ROWS} rows. Members of both differ only where "
        f"splits are equally good: {SKLEARN} draws one of them."
    )
    options.note(shared.FOLDS_NOTE)


def rows_on(data: SharedSet, name: str, depth: int, options: Options) -> list[Row]:
    """Compare the two libraries on one set: scikit-learn's row, and the difference."""
    seeds = [data.folds(seed) for seed in range(options.size(N_SEEDS, 2))]
    kept = Kept("adaboost_quality", data.name, options)
    theirs, ours = (
        figures(library, name, depth, seeds, kept, options) for library in (SKLEARN, HORNBEAM)
    )
    title = f"{data.name} {datasets.shape(len(data.y), data.X.shape[1])}"
    pairs = [(their, our) for [their], [our] in zip(theirs, ours, strict=True)]
    return compared(f"{N_ROUNDS} {name}, {METRICS[data.task]}", title, pairs)


def figures(
    library: str,
    name: str,
    depth: int,
    seeds: Sequence[Sequence[DataSet]],
    kept: Kept,
    options: Options,
) -> Figures:
    """Return the score of a library's ensembles for each seed."""
    n_rounds = options.size(N_ROUNDS, 5)
    made_by = version("sklearn") if library == SKLEARN else version("hornbeam", SOURCES)
    splits = shapes(split for folds in seeds for split in folds)
    of = {"version": made_by, "rounds": n_rounds, "splits": splits}

    def measure() -> Figures:
        with threadpool_limits(limits=1):
            return [
                [float(np.mean([score(library, depth, part, seed, n_rounds) for part in folds]))]
                for seed, folds in enumerate(seeds)
            ]

    return kept.figures(f"{library}, {name}", of, measure)


def score(library: str, depth: int, data: DataSet, seed: int, n_rounds: int) -> float:
    """How good a library's ensemble is on the test rows."""
    ensembles: Any = sklearn.ensemble if library == SKLEARN else hb
    trees: Any = sklearn.tree if library == SKLEARN else hb
    suffix = SUFFIXES[data.task]
    member = getattr(trees, f"DecisionTree{suffix}")(max_depth=depth)
    model = getattr(ensembles, f"AdaBoost{suffix}")(
        member, n_estimators=n_rounds, random_state=seed
    )
    data = filled(data)
    model.fit(data.X, data.y)
    measure = accuracy_score if data.task == "classification" else r2_score
    return float(measure(data.y_test, model.predict(data.X_test)))


def summary(rows: Sequence[Row]) -> Iterator[Row]:
    """Count the sets where hornbeam is below, and take the mean of the differences."""
    for name in DEPTHS:
        start = f"{N_ROUNDS} {name}"
        ours = [row for row in rows if row.contender == DIFFERENCE and row.case.startswith(start)]
        if not ours:
            continue
        below = sum(row.verdict == "missed" for row in ours)
        count = Row(f"{start}, sets below", f"{len(ours)} sets", DIFFERENCE, below, "sets")
        yield count
        for metric in METRICS.values():
            these = [row.value for row in ours if row.case == f"{start}, {metric}"]
            if these:
                title = f"mean of {len(these)} sets"
                mean = Row(f"{start}, {metric}", title, DIFFERENCE, float(np.mean(these)), "")
                yield mean

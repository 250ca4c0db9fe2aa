"""Quality of boosting with default settings, 100 rounds: every shared set, 5 seeds.

A library gives its default settings but for the number of rounds; the figure is the mean over
seeds. A seed parts training from test rows, the same for all; of few rows it makes four folds,
and its figure is their mean. hornbeam is compared with whichever other library is best on
average, and its target is that one's figure, but for two standard errors of the mean difference
between the two over the seeds.

What was measured is kept, set by set and library by library (see benchmarks/kept.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks import datasets, metrics, shared
from benchmarks.boosters import HORNBEAM, LIBRARIES, ROUNDS, Library, Setup, installed, threads
from benchmarks.datasets import DataSet
from benchmarks.harness import Options
from benchmarks.kept import Figures, Kept, shapes, version
from benchmarks.results import Row, Target
from benchmarks.shared import SharedSet

N_SEEDS = 5
MOST_ROWS = 20_000  # of a set, three quarters of them for training
MOST_SCORES = 40_000  # rows times classes: a round grows a tree for each class
NOISE = 2.0  # standard errors
ROUNDING = 1e-9
SOURCES = ("boosting", "data", "hornbeam")  # folders of hornbeam whose changes can change a model
QUICK_SETS = ("car_evaluation", "catboost_querywise", "medical_insurance")


@dataclass(frozen=True)
class Metric:
    """What a set is judged by."""

    name: str
    of: Callable[[Any, DataSet], float]
    less_is_better: bool

    def best(self, rows: Sequence[Row]) -> Row:
        choose = min if self.less_is_better else max
        return choose(rows, key=lambda row: row.value)

    def bound(self, ours: Row, best: Row) -> Target:
        """Return the target of our ratio to the best: nothing worse than noise."""
        differences = np.subtract(ours.runs, best.runs)
        error = float(np.std(differences, ddof=1)) / math.sqrt(len(differences))
        slack = NOISE * error / best.value + ROUNDING
        return Target.at_most(1 + slack) if self.less_is_better else Target.at_least(1 - slack)


LOG_LOSS = Metric("log loss", lambda answer, data: metrics.log_loss(answer, data.y_test), True)
AUC = Metric("AUC", metrics.score, False)
RMSE = Metric("RMSE", lambda answer, data: metrics.rmse(answer, data.y_test), True)
R2 = Metric("R2", metrics.score, False)
NDCG = Metric("NDCG@10", metrics.score, False)
# The first one has rows for every library, the second one is their score.
METRICS = {"classification": (LOG_LOSS, AUC), "regression": (RMSE, R2), "ranking": (NDCG, NDCG)}


def rows(options: Options) -> Iterable[Row]:
    found = [row for data in shared_sets(options) for row in rows_on(data, options)]
    yield from found
    for made in made_sets(options):
        yield from rows_on(made, options)
    yield from summary(found)
    options.note("The made sets (synthetic) are listed, but neither counted nor ranked.")
    options.note(
        f"The figure is the mean over {N_SEEDS} seeds, not the best run; the score is the AUC "
        "(each class against the rest, by its share), R2 or NDCG@10."
    )
    options.note(
        f"A target is the best other library's figure but for {NOISE:g} standard errors of the "
        "mean difference between the two over the seeds."
    )
    options.note(shared.FOLDS_NOTE)
    options.note(
        f"Sets are cut to {MOST_ROWS} rows ({MOST_SCORES} rows times classes); classes of fewer "
        f"than {shared.LEAST_OF_CLASS} rows in what remains are left out, and so are the sets for "
        f"teaching, of fewer than {shared.LEAST_ROWS} rows."
    )


def shared_sets(options: Options) -> Iterator[SharedSet]:
    """Read every set whose name holds ``options.only``, one at a time."""
    there = shared.names()
    if not there:
        options.note("Shared data were not at hand (see HORNBEAM_DATA): only made sets.")
    for name in sorted(there, key=_bytes):
        if options.only not in name or (options.quick and name not in QUICK_SETS):
            continue
        data = shared.load(name)
        if data is not None:
            most = MOST_SCORES // data.n_classes if data.n_classes > 2 else MOST_ROWS
            yield data.capped(options.size(most, 1000))


def made_sets(options: Options) -> Iterator[SharedSet]:
    """Make two more."""
    for made in (datasets.synthetic, datasets.synthetic_regression):
        if options.only not in made.__name__:
            continue
        whole = made(options.size(MOST_ROWS, 1000), 1)
        yield SharedSet(made.__name__, whole.task, whole.X, whole.y)


def _bytes(name: str) -> int:
    """Return the size of a set's files, so that small sets come first."""
    return sum(path.stat().st_size for path in (datasets.data_folder() / name).iterdir())


def rows_on(
    data: SharedSet,
    options: Options,
    case: str = "boosting_quality",
    names: Sequence[str] = tuple(LIBRARIES),
    n_seeds: int | None = None,
) -> list[Row]:
    """Compare the libraries on one set."""
    n_seeds = options.size(N_SEEDS, 2) if n_seeds is None else n_seeds
    seeds = [data.folds(seed) for seed in range(n_seeds)]
    first_split = seeds[0][0]
    libraries = [library for library in installed(options, names) if library.can(first_split)]
    kept = Kept(case, data.name, options)
    known = {library.name: figures(library, seeds, kept, options) for library in libraries}
    first, second = METRICS[data.task]
    title = first_split.name
    judged = _judged(first, [_row(first, 0, name, title, known[name]) for name in known])
    if data.task == "classification":  # R2 judges as RMSE does
        seconds = [_row(second, 1, name, title, known[name]) for name in known]
        judged += [row for row in _judged(second, seconds) if row.contender == HORNBEAM]
    return judged


def figures(library: Library, seeds: list[list[DataSet]], kept: Kept, options: Options) -> Figures:
    """Return both metrics of a library for each seed."""
    sources = SOURCES if library.name == HORNBEAM else ()
    made_by = version(library.module, sources)
    of = {"version": made_by, "rounds": ROUNDS, "splits": shapes(chain.from_iterable(seeds))}
    return kept.figures(library.name, of, lambda: _measure(library, seeds, options))


def _measure(library: Library, seeds: list[list[DataSet]], options: Options) -> Figures:
    n_rounds, n_threads = options.size(ROUNDS, 10), threads(options)
    setup = Setup(library, n_rounds=n_rounds, n_threads=n_threads)

    def both(split: DataSet) -> list[float]:
        answer = library.answer(setup.fitted(split), library.table(split.X_test), split.task)
        return [metric.of(answer, split) for metric in METRICS[split.task]]

    with threadpool_limits(limits=n_threads):
        return [np.mean([both(split) for split in folds], axis=0).tolist() for folds in seeds]


def _row(metric: Metric, which: int, name: str, title: str, figures: Figures) -> Row:
    runs = tuple(both[which] for both in figures)
    return Row(
        case=metric.name,
        data=title,
        contender=name,
        value=float(np.mean(runs)),
        unit="",
        runs=runs,
        meaning="as much",
        score=float(np.mean([both[1] for both in figures])),
    )


def _judged(metric: Metric, rows: list[Row]) -> list[Row]:
    """Compare hornbeam's row with the best of the others."""
    others = [row for row in rows if row.contender != HORNBEAM]
    if not others:
        return rows
    best = metric.best(others)
    return [
        row.against(best, metric.bound(row, best)) if row.contender == HORNBEAM else row
        for row in rows
    ]


def summary(rows: Sequence[Row]) -> Iterator[Row]:
    """Count the sets where hornbeam is behind, and give the mean rank of every library."""
    for metric in (LOG_LOSS, AUC, RMSE, NDCG):
        ours = [row for row in rows if row.case == metric.name and row.contender == HORNBEAM]
        if not ours:
            continue
        behind = sum(row.verdict == "missed" for row in ours)
        count = Row("sets behind", f"{len(ours)} sets, {metric.name}", HORNBEAM, behind, "sets")
        yield replace(count, target=Target.at_most(0, "value"))
    for name, ranks in _ranks(rows).items():
        mean = float(np.mean(ranks))
        yield Row("mean rank", f"{len(ranks)} sets", name, mean, "")


def _ranks(rows: Sequence[Row]) -> dict[str, list[int]]:
    ranks: dict[str, list[int]] = {}
    for metric in (LOG_LOSS, RMSE, NDCG):
        here = [row for row in rows if row.case == metric.name]
        for data in {row.data: None for row in here}:
            among = [row for row in here if row.data == data]
            among.sort(key=lambda row: row.value, reverse=not metric.less_is_better)
            for rank, row in enumerate(among, start=1):
                ranks.setdefault(row.contender, []).append(rank)
    return ranks

"""Quality of the presets beside the libraries that they are named after, on shared sets.

A preset and its namesake get the same rows, 5 seeds, 20,000 rows at most. XGBoost and LightGBM
have their default settings and 100 rounds, CatBoost its defaults but for 300 rounds of a rate of
0.1 (so has the preset), and Friedman's machine is scikit-learn's, with 8 leaves. The target is
the namesake's figure, but for two standard errors of the mean difference over the seeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import hornbeam as hb
from benchmarks import shared
from benchmarks.boosters import CATBOOST, LIBRARIES, LIGHTGBM, XGBOOST, Library, Setup, threads
from benchmarks.cases.boosting_quality import METRICS, MOST_ROWS, Metric
from benchmarks.datasets import DataSet
from benchmarks.harness import Options
from benchmarks.results import Row
from benchmarks.shared import SharedSet

N_SEEDS = 5
# Numbers only, so that none is told apart by what it does with categories.
SETS = (
    "abalone",
    "california_housing",
    "concrete",
    "letter",
    "magic_gamma",
    "power_plant_ccpp",
    "reg_cpu_act",
    "reg_elevators",
    "spambase",
    "uci_segment",
    "uci_waveform5000",
)
FRIEDMAN = Library(
    "GradientBoosting",
    "sklearn.ensemble",
    {"classification": "GradientBoostingClassifier", "regression": "GradientBoostingRegressor"},
    "n_estimators",
    "",
    {"random_state": 0},
    {},
)
# The library, its rounds, its changes, and those of the preset.
NAMESAKES = {
    "friedman": (FRIEDMAN, 100, {"max_leaf_nodes": 8, "max_depth": None}, {}),
    "xgboost": (LIBRARIES[XGBOOST], 100, {}, {}),
    "lightgbm": (LIBRARIES[LIGHTGBM], 100, {}, {}),
    "catboost": (LIBRARIES[CATBOOST], 300, {"learning_rate": 0.1}, {"learning_rate": 0.1}),
}


def rows(options: Options) -> Iterator[Row]:
    found = [row for data in _sets(options) for row in _rows_on(data, options)]
    yield from found
    for name in NAMESAKES:
        ours = [row for row in found if row.contender == f'preset("{name}")']
        behind = sum(row.verdict == "missed" for row in ours)
        yield Row("sets behind the namesake", f"{len(ours)} sets", name, behind, "sets")
    options.note("The figure is the mean over seeds; a target allows two standard errors.")


def _sets(options: Options) -> Iterator[SharedSet]:
    for name in SETS:
        if options.only in name and (not options.quick or name == "concrete"):
            data = shared.load(name)
            if data is not None:
                yield data.capped(options.size(MOST_ROWS, 500))


def _rows_on(data: SharedSet, options: Options) -> Iterable[Row]:
    metric = METRICS[data.task][0]
    seeds = [data.folds(seed) for seed in range(options.size(N_SEEDS, 2))]
    made: list[Row] = []
    for name, (library, n_rounds, changes, own) in NAMESAKES.items():
        if not library.is_installed:
            options.note(f"{library.name} is not installed and left out (see the extra 'bench').")
            continue
        n_threads, n_rounds = threads(options), options.size(n_rounds, 10)
        setup = Setup(library, n_rounds=n_rounds, n_threads=n_threads).changed(**changes)

        def theirs(split: DataSet, setup: Setup = setup) -> float:
            library = setup.library
            model = setup.fitted(split)
            return metric.of(library.answer(model, library.table(split.X_test), split.task), split)

        def ours(split: DataSet, name: str = name, n: int = n_rounds, own: dict = own) -> float:  # type: ignore[type-arg]
            makers = {
                "classification": hb.GradientBoostingClassifier,
                "regression": hb.GradientBoostingRegressor,
            }
            maker = makers[split.task]
            model = maker.preset(name, n_estimators=n, random_state=0, **own)
            model.fit(split.X, split.y)
            asked = model.predict_proba if split.task == "classification" else model.predict
            return metric.of(asked(split.X_test), split)

        with threadpool_limits(limits=n_threads):
            runs = [
                [float(np.mean([of(split) for split in folds])) for folds in seeds]
                for of in (ours, theirs)
            ]
        here, there = (
            _row(metric, seeds[0][0].name, who, figures)
            for who, figures in zip((f'preset("{name}")', library.name), runs, strict=True)
        )
        made += [here.against(there, metric.bound(here, there)), there]
    return made


def _row(metric: Metric, title: str, contender: str, runs: list[float]) -> Row:
    mean = float(np.mean(runs))
    return Row(metric.name, title, contender, mean, "", tuple(runs), meaning="as much", score=mean)

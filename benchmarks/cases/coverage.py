"""How much of new rows the bands of quantiles hold, before and after ``calibrate=True``.

A seed draws training rows of a size and up to 4,000 other rows to ask about. Default settings,
100 rounds or trees. The figure is the share of the new rows inside the band, the mean over the
seeds; the score is the mean width of the band, in standard deviations of the target.

What was measured is kept, set by set and contender by contender (see benchmarks/kept.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import hornbeam as hb
from benchmarks import shared
from benchmarks.boosters import HORNBEAM, LIGHTGBM, Library, Setup, installed
from benchmarks.datasets import Array, DataSet, shape
from benchmarks.harness import Options
from benchmarks.kept import Figures, Kept, shapes, version
from benchmarks.results import Row, Target

SIZES = {500: 3, 2_000: 2, 8_000: 1}  # of training rows, and how many seeds: few rows differ most
QUICK_SIZES = {200: 1}
MOST_ASKED, LEAST_ASKED = 4_000, 400
BANDS = (0.8, 0.9)
JUDGED = 0.8
OFF = 0.03  # a band that holds this much more or less than it says is off
LEVELS = np.array([0.05, 0.1, 0.9, 0.95])
SETS = (
    "abalone",
    "bike_sharing_hour",
    "california_housing",
    "concrete",
    "diamonds",
    "power_plant_ccpp",
    "reg_cpu_act",
    "wine_quality",
)
CALIBRATED = "calibrated"
# Folders of hornbeam whose changes can change a model.
SOURCES = ("boosting", "forest", "tree", "data", "kernels", "hornbeam")
Quantiles = Callable[[DataSet, int], Array]  # of the test rows, (n_rows, n_levels)


def rows(options: Options) -> Iterable[Row]:
    known = contenders(options)
    for size, n_seeds in (QUICK_SIZES if options.quick else SIZES).items():
        drawn = sets(options, size, range(n_seeds))
        found = [row for data in drawn for row in rows_on(data, size, known, options)]
        yield from (row for row in found if row.case == case(JUDGED, size))
        yield from summary(found, size)
    options.note(
        "The figure is the share of new rows inside the band, the mean over seeds ("
        + ", ".join(f"{size} rows: {n_seeds}" for size, n_seeds in SIZES.items())
        + "); the score is the mean width of the band in standard deviations of the target."
    )
    options.note(
        "Targets of abalone, bike_sharing_hour, reg_cpu_act and wine_quality are whole numbers: "
        "where many rows share one, a band holds all of them or none."
    )
    options.note(
        f"A set is off if its {JUDGED:.0%} band holds more or less by over {OFF:g}, on average."
    )


def made(n_rows: int, seed: int, noise: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Ten columns, of which five make Friedman's first function; noise that follows the others."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, 10))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    y += 10 * X[:, 3] + 5 * X[:, 4]
    return X.astype(np.float32), y + noise(X) * rng.normal(size=n_rows)


MADE: Mapping[str, Callable[[Array], Array]] = {
    "made, even noise": lambda X: np.full(len(X), 2.0),
    "made, uneven noise": lambda X: 0.2 + 6.0 * X[:, 5] ** 2,
}


def sets(options: Options, size: int, seeds: Sequence[int]) -> Iterator[list[DataSet]]:
    """Training and test rows of each set that has enough, a pair for each seed."""
    for name, noise in MADE.items():
        pairs = [made(size + options.size(MOST_ASKED, 500), seed, noise) for seed in seeds]
        title = f"{name} {shape(size, 10)}"
        yield [
            DataSet(title, X[:size], y[:size], X[size:], y[size:], "regression") for X, y in pairs
        ]
    if not shared.names():
        options.note("Shared data were not at hand (see HORNBEAM_DATA): only made sets.")
    for name in () if options.quick else SETS:
        data = shared.load(name) if options.only in name else None
        if data is not None and len(data.y) >= size + LEAST_ASKED:
            yield [data.drawn(size, MOST_ASKED, seed) for seed in seeds]


def contenders(options: Options) -> dict[str, Quantiles]:
    """Return who is compared: how each predicts the quantiles of test rows."""
    n_rounds = options.size(100, 8)
    common: dict[str, Any] = {"n_estimators": n_rounds, "n_jobs": 1}

    def boosting(calibrate: bool) -> Quantiles:
        def ask(data: DataSet, seed: int) -> Array:
            model = hb.GradientBoostingRegressor(
                loss="quantile", quantile=LEVELS, calibrate=calibrate, **common
            )
            return model.fit(data.X, data.y).predict(data.X_test)

        return ask

    def forest(kind: Any, calibrate: bool) -> Quantiles:
        def ask(data: DataSet, seed: int) -> Array:
            model = kind(leaf_samples=True, calibrate=calibrate, random_state=seed, **common)
            return model.fit(data.X, data.y).predict_quantiles(data.X_test, LEVELS)

        return ask

    def other(library: Library) -> Quantiles:
        setup = Setup(library, n_rounds=n_rounds, n_threads=1)

        def ask(data: DataSet, seed: int) -> Array:
            models = [setup.changed(objective="quantile", alpha=float(level)) for level in LEVELS]
            X_test = library.table(data.X_test)
            found = [model.fitted(data).predict(X_test) for model in models]
            return np.sort(np.array(found).T, axis=1)

        return ask

    known = {library.name: other(library) for library in installed(options, [LIGHTGBM])}
    kinds = {"random forest": hb.RandomForestRegressor, "extra trees": hb.ExtraTreesRegressor}
    for calibrate in (False, True):
        suffix = f", {CALIBRATED}" if calibrate else ""
        known[f"{HORNBEAM}, boosting{suffix}"] = boosting(calibrate)
        for name, kind in kinds.items():
            known[f"{HORNBEAM}, {name}{suffix}"] = forest(kind, calibrate)
    return known


def case(band: float, size: int) -> str:
    return f"{band:.0%} band, {size} rows"


def rows_on(
    seeds: Sequence[DataSet], size: int, known: Mapping[str, Quantiles], options: Options
) -> list[Row]:
    """Compare on one set: a row for each band and contender."""
    title, found = seeds[0].name, []
    kept = Kept("coverage", title, options)
    for name, ask in known.items():

        def measure() -> Figures:
            with threadpool_limits(limits=1):
                return [figures(ask(data, seed), data) for seed, data in enumerate(seeds)]  # noqa: B023

        made_by = version("hornbeam", SOURCES) if HORNBEAM in name else version("lightgbm")
        of = {"version": made_by, "levels": LEVELS.tolist(), "splits": shapes(seeds)}
        by_seed = np.array(kept.figures(name, of, measure))
        for number, band in enumerate(BANDS):
            runs, widths = by_seed[:, 2 * number], by_seed[:, 2 * number + 1]
            row = Row(case(band, size), title, name, float(runs.mean()), "", tuple(runs.tolist()))
            found.append(replace(row, score=float(widths.mean())))
    return found


def figures(quantiles: Array, data: DataSet) -> list[float]:
    """How much of the test rows each band holds, and how wide it is, one after the other."""
    found = []
    for band in BANDS:
        ends = [int(np.argmin(np.abs(LEVELS - 0.5 - half))) for half in (-band / 2, band / 2)]
        low, high = (quantiles[:, end] for end in ends)
        inside = (low <= data.y_test) & (data.y_test <= high)
        found += [float(inside.mean()), float(np.mean(high - low) / data.y_test.std())]
    return found


def summary(found: Sequence[Row], size: int) -> Iterator[Row]:
    """Means over the sets, how far calibrated ones are off, and how many sets are."""
    names = dict.fromkeys(row.contender for row in found)
    for name, band in ((name, band) for band in BANDS for name in names):
        mine = [row for row in found if row.contender == name and row.case == case(band, size)]
        mean = _mean(mine)
        yield mean
        if CALIBRATED in name:
            off = replace(mean, case=f"off {mean.case}", value=abs(mean.value - band), score=None)
            yield replace(off, runs=(), target=Target.at_most(OFF, "value"))
    for name in names:
        mine = [row for row in found if row.contender == name and row.case == case(JUDGED, size)]
        off = sum(abs(row.value - JUDGED) > OFF for row in mine)
        yield Row(f"sets off, {size} rows", f"{len(mine)} sets", name, off, "sets")


def _mean(rows: Sequence[Row]) -> Row:
    runs = tuple(row.value for row in rows)
    width = float(np.mean([row.score for row in rows if row.score is not None]))
    mean = Row(rows[0].case, f"mean of {len(rows)} sets", rows[0].contender, float(np.mean(runs)))
    return replace(mean, unit="", runs=runs, score=width)

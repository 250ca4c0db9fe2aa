"""How much of new rows the bands of quantiles hold, before and after ``calibrate=True``.

A seed draws training rows of a size and up to 4,000 other rows to ask about. Default settings,
100 rounds or trees. The figure is the share of the new rows inside the band, the mean over the
seeds; the score is the mean width of the band, in standard deviations of the target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import hornbeam as hb
from benchmarks import shared
from benchmarks.boosters import HORNBEAM, LIBRARIES, LIGHTGBM
from benchmarks.datasets import Array, DataSet, shape
from benchmarks.harness import Options
from benchmarks.results import Row, Target
from benchmarks.shared import SharedSet

N_SEEDS = 5
SIZES = (500, 2_000, 8_000)
MOST_ASKED, LEAST_ASKED = 4_000, 400
BANDS = (0.5, 0.8, 0.9)
JUDGED = 0.8
OFF = 0.03  # a band that holds this much more or less than it says is off
LEVELS = np.array([0.05, 0.1, 0.25, 0.75, 0.9, 0.95])
SETS = (
    "abalone",
    "bike_sharing_hour",
    "california_housing",
    "concrete",
    "diamonds",
    "medical_insurance",
    "power_plant_ccpp",
    "reg_cpu_act",
    "reg_elevators",
    "wine_quality",
)
CALIBRATED = "calibrated"
Quantiles = Callable[[DataSet, int], Array]  # of the test rows, (n_rows, n_levels)


def rows(options: Options) -> Iterable[Row]:
    known = contenders(options)
    for size in SIZES if not options.quick else (200,):
        found = [row for data in sets(options, size) for row in rows_on(data, size, known, options)]
        yield from (row for row in found if row.case == case(JUDGED, size))
        yield from summary(found, size)
    options.note(
        f"The figure is the share of new rows inside the band, the mean over {N_SEEDS} seeds; the "
        "score is the mean width of the band in standard deviations of the target."
    )
    options.note("Targets of abalone and wine_quality are whole numbers, of which a band holds all or none.")
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


def sets(options: Options, size: int) -> Iterator[list[DataSet]]:
    """Training and test rows of each set that has enough, a pair for each seed."""
    seeds = range(options.size(N_SEEDS, 2))
    for name, noise in MADE.items():
        pairs = [made(size + MOST_ASKED, seed, noise) for seed in seeds]
        yield [
            DataSet(name, X[:size], y[:size], X[size:], y[size:], "regression") for X, y in pairs
        ]
    if not shared.names():
        options.note("Shared data were not at hand (see HORNBEAM_DATA): only made sets.")
    for name in () if options.quick else SETS:
        data = shared.load(name) if options.only in name else None
        if data is not None and len(data.y) >= size + LEAST_ASKED:
            yield [parted(data, size, seed) for seed in seeds]


def parted(data: SharedSet, size: int, seed: int) -> DataSet:
    """Draw training rows, and rows to ask about."""
    order = np.random.default_rng(seed).permutation(len(data.y))[: size + MOST_ASKED]
    train, test = order[:size], order[size:]
    parts = (shared.rows_of(data.X, train), data.y[train], shared.rows_of(data.X, test), data.y[test])
    return DataSet(data.name, *parts, "regression")


def contenders(options: Options) -> dict[str, Quantiles]:
    """Return who is compared: how each predicts the quantiles of test rows."""
    n_rounds = options.size(100, 20)

    def boosting(calibrate: bool) -> Quantiles:
        def ask(data: DataSet, seed: int) -> Array:
            model = hb.GradientBoostingRegressor(
                loss="quantile", quantile=LEVELS, calibrate=calibrate, n_estimators=n_rounds
            )
            return model.fit(data.X, data.y).predict(data.X_test)

        return ask

    def forest(kind: Any, calibrate: bool) -> Quantiles:
        def ask(data: DataSet, seed: int) -> Array:
            model = kind(
                leaf_samples=True, calibrate=calibrate, random_state=seed, n_estimators=n_rounds
            )
            return model.fit(data.X, data.y).predict_quantiles(data.X_test, LEVELS)

        return ask

    def lightgbm(data: DataSet, seed: int) -> Array:
        library = LIBRARIES[LIGHTGBM]
        X, X_test = library.table(data.X), library.table(data.X_test)
        found = [
            library.make(data.task, objective="quantile", alpha=level, n_estimators=n_rounds)
            .fit(X, data.y)
            .predict(X_test)
            for level in LEVELS
        ]
        return np.sort(np.array(found).T, axis=1)

    known: dict[str, Quantiles] = {}
    if LIBRARIES[LIGHTGBM].is_installed:
        known[LIGHTGBM] = lightgbm
    else:
        options.note(f"{LIGHTGBM} is not installed.")
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
    title = f"{seeds[0].name} {shape(size, seeds[0].X.shape[1])}"
    found = []
    for name, ask in known.items():
        with threadpool_limits(limits=2):
            predicted = [ask(data, seed) for seed, data in enumerate(seeds)]
        for band in BANDS:
            pairs = [measured(q, data, band) for q, data in zip(predicted, seeds, strict=True)]
            runs, widths = zip(*pairs, strict=True)
            row = Row(case(band, size), title, name, float(np.mean(runs)), "", tuple(runs))
            found.append(replace(row, score=float(np.mean(widths))))
    return found


def measured(quantiles: Array, data: DataSet, band: float) -> tuple[float, float]:
    """How much of the test rows a band holds, and how wide it is."""
    ends = (int(np.argmin(np.abs(LEVELS - level))) for level in (0.5 - band / 2, 0.5 + band / 2))
    low, high = (quantiles[:, end] for end in ends)
    inside = (low <= data.y_test) & (data.y_test <= high)
    return float(inside.mean()), float(np.mean(high - low) / data.y_test.std())


def summary(found: Sequence[Row], size: int) -> Iterator[Row]:
    """Means over the sets, with their bounds where bands are calibrated, and who is off where."""
    names = dict.fromkeys(row.contender for row in found)
    for name, band in ((name, band) for band in BANDS for name in names):
        mine = [row for row in found if row.contender == name and row.case == case(band, size)]
        row = _mean(mine)
        if CALIBRATED in name:
            yield replace(row, target=Target.at_least(band - OFF, "value"))
            row = replace(row, target=Target.at_most(band + OFF, "value"))
        yield row
    for name in names:
        mine = [row for row in found if row.contender == name and row.case == case(JUDGED, size)]
        off = sum(abs(row.value - JUDGED) > OFF for row in mine)
        yield Row(f"sets off, {size} rows", f"{len(mine)} sets", name, off, "sets")


def _mean(rows: Sequence[Row]) -> Row:
    runs = tuple(row.value for row in rows)
    width = float(np.mean(list(chain(row.score for row in rows if row.score is not None))))
    first = rows[0]
    return Row(
        first.case, f"mean of {len(rows)} sets", first.contender, float(np.mean(runs)), "", runs, score=width
    )

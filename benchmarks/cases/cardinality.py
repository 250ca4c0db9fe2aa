"""Quality on columns of many categories, default settings, 100 rounds: made sets and flights.

One column of 300, 1,000 or 10,000 categories, which are equally frequent or follow Zipf's law, a
column of 100,000, eight columns of 500 and four of 5,000, beside four numbers; one whose
categories turn the effect of a number round; and flights with their numbers and those of the
aircraft. What is compared, and how it is judged, is as in `boosting_quality`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks import shared
from benchmarks.boosters import CATBOOST, HORNBEAM, LIGHTGBM, SKLEARN
from benchmarks.cases import boosting_quality
from benchmarks.harness import Options
from benchmarks.results import Row
from benchmarks.shared import SharedSet

N_SEEDS = 3
N_ROWS = 40_000
MOST_FLIGHTS = 60_000
NAMES = (HORNBEAM, LIGHTGBM, CATBOOST, SKLEARN)
FLIGHTS = {"airlines_2k_per_year": ["FlightNum"], "nycflights13": ["flight"]}


class Made(NamedTuple):
    """Columns of a made table."""

    categories: tuple[int, ...]
    zipf: bool = False
    turns: bool = False  # each category also has an effect of its own on one of the numbers
    regression: bool = False


MADE = {
    "300 even": Made((300,)),
    "1000 even": Made((1000,)),
    "10000 even": Made((10_000,)),
    "300 Zipf": Made((300,), True),
    "1000 Zipf": Made((1000,), True),
    "10000 Zipf": Made((10_000,), True),
    "100000 Zipf": Made((100_000,), True),
    "8 of 500": Made((500,) * 8),
    "4 of 5000": Made((5000,) * 4),
    "300 turn a number": Made((300,), turns=True),
    "1000 values": Made((1000,), regression=True),
    "10000 values Zipf": Made((10_000,), True, regression=True),
}


def rows(options: Options) -> Iterable[Row]:
    found: list[Row] = []
    for data in sets(options):
        n_seeds = options.size(N_SEEDS, 2)
        found += boosting_quality.rows_on(data, options, "cardinality", NAMES, n_seeds)
    yield from found
    yield from boosting_quality.summary(found)
    options.note(
        "Numbers of flights are given as categories. Figures are means over the seeds; a target is "
        f"the better of {LIGHTGBM} and {CATBOOST} but for two standard errors of the difference. "
        f"{SKLEARN} gets columns of more than 255 categories as numbers."
    )


def sets(options: Options) -> Iterator[SharedSet]:
    """Make the sets whose names hold ``options.only``, and read the flights if they are there."""
    for number, (name, made) in enumerate(MADE.items()):
        if options.only in name:
            yield make(name, made, options.size(N_ROWS, 1200), number)
    for name, numbers in FLIGHTS.items():
        data = shared.load(name) if options.only in name else None
        if data is not None:
            X = data.X.assign(
                **{column: data.X[column].astype("Int64").astype("category") for column in numbers}
            )
            flights = SharedSet(f"{name}, by flight", data.task, X, data.y)
            yield flights.capped(options.size(MOST_FLIGHTS, 1200))


def make(name: str, made: Made, n_rows: int, seed: int) -> SharedSet:
    """Make a table: the answer is a sum of effects of categories and of numbers, and noise."""
    rng = np.random.default_rng([24, seed])
    numbers = rng.normal(size=(n_rows, 4))
    signal = 0.8 * numbers[:, 0] - 0.6 * numbers[:, 1] * (numbers[:, 2] > 0)
    frame = pd.DataFrame(numbers.astype(np.float32), columns=list("abcd"))
    size = 1.5 / np.sqrt(len(made.categories))
    for column, n_categories in enumerate(made.categories):
        share = 1.0 / np.arange(1, n_categories + 1) ** float(made.zipf)
        drawn = rng.choice(n_categories, n_rows, p=share / share.sum())
        effect = rng.normal(size=n_categories)[drawn]
        if made.turns:
            effect = 0.7 * (effect + rng.normal(size=n_categories)[drawn] * np.sign(numbers[:, 3]))
        signal += size * effect
        frame[f"k{column}"] = pd.Categorical(drawn, categories=np.arange(n_categories))
    if made.regression:
        return SharedSet(name, "regression", frame, signal + rng.normal(size=n_rows))
    y = (rng.random(n_rows) < 1.0 / (1.0 + np.exp(-signal))).astype(np.int64)
    return SharedSet(name, "classification", frame, y)

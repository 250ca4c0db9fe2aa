"""Random tables to learn from, small and odd: ties, gaps, constants, categories, thin ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse

from benchmarks.datasets import Array
from benchmarks.digest_tables import TARGETS, WEIGHTS, Random, Settings, Table, strange_rows

SIZES = (1, 2, 3, 5, 8, 20, 63, 64, 65, 130, 400)
SIZE_ODDS = np.array([1, 2, 2, 2, 3, 6, 2, 2, 2, 6, 4]) / 32.0


def _words(rng: Random, n: int, n_words: int) -> Array:
    chosen = (n_words * rng.random(n) ** 1.5).astype(int)
    words = np.array([f"w{number}" for number in range(n_words)] + [None], object)
    return words[np.where(rng.random(n) < 0.1, n_words, chosen)]


NUMBERS: dict[str, Callable[[Random, int], Array]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "ties": lambda rng, n: rng.integers(4, size=n).astype(float),
    "many ties": lambda rng, n: rng.normal(size=n).round(1),
    "constant": lambda rng, n: np.full(n, rng.normal()),
    "zeros": lambda rng, n: rng.normal(size=n) * (rng.random(n) < 0.1),
    "signed zeros": lambda rng, n: rng.choice([0.0, -0.0, 1.0], n),
    "gaps": lambda rng, n: np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
    "nearly all gaps": lambda rng, n: np.where(rng.random(n) < 0.95, np.nan, rng.normal(size=n)),
    "all gaps": lambda rng, n: np.full(n, np.nan),
    "giant": lambda rng, n: rng.normal(size=n) * 1e300,
    "tiny": lambda rng, n: rng.normal(size=n) * 5e-324 * 1e3,
    "neighbours": lambda rng, n: 1.0 + rng.integers(3, size=n) * np.finfo(float).eps,
    "heavy": lambda rng, n: rng.standard_cauchy(size=n),
}
OTHERS: dict[str, Callable[[Random, int], Any]] = {
    "few words": lambda rng, n: _words(rng, n, 3),
    "some words": lambda rng, n: _words(rng, n, int(rng.integers(4, 80))),
    "names": lambda rng, n: np.array([f"row {number}" for number in range(n)], object),
    "truths": lambda rng, n: rng.random(n) < 0.4,
    "categories": lambda rng, n: pd.Categorical.from_codes(
        rng.integers(-1, 5, size=n), categories=[f"c{number}" for number in range(7)]
    ),
}
MANY_OUTPUTS = ("DecisionTree", "ExtraTree", "RandomForest", "Bagging")
PLAIN_TARGETS = {
    "Classifier": ("two", "three", "letters", "rare", "named", "pair"),
    "Regressor": ("real", "positive", "counts", "vector", "vast"),
    "Ranker": ("grades",),
    "": ("real",),  # not looked at
}


def random_table(rng: Random, estimator: str, settings: Settings) -> Table:
    """A table for an estimator of this name with these settings, and strange rows to ask for."""
    n_rows = int(rng.choice(SIZES, p=SIZE_ODDS))
    n_columns = int(rng.integers(1, 9))
    if rng.random() < 0.05:
        n_rows, n_columns = int(rng.integers(1, 6)), int(rng.integers(50, 300))
    X = _columns(rng, n_rows, n_columns, only_words=estimator.startswith("ID3"))
    strange = strange_rows(X, int(rng.choice([1, 7, 60])))
    if isinstance(X, np.ndarray) and rng.random() < 0.3:
        form = rng.choice([scipy.sparse.csr_matrix, scipy.sparse.csc_array, np.asfortranarray])
        X, strange = form(X), form(strange)
    more: Settings = {}
    if rng.random() < 0.4:
        weights = WEIGHTS[rng.choice(list(WEIGHTS))](rng, n_rows)
        more["sample_weight"] = weights
    if estimator.endswith("Ranker"):
        sizes = np.bincount(rng.integers(1 + n_rows // 5, size=n_rows))
        more["group"] = sizes[sizes > 0]
    y = random_target(rng, n_rows, estimator, settings, X)
    return Table(X, y, strange, more)


def _columns(rng: Random, n_rows: int, n_columns: int, only_words: bool) -> Any:
    """An array of numbers, or a frame of numbers and words."""
    as_frame = only_words or rng.random() < 0.6
    names = [*NUMBERS, *OTHERS] if as_frame else [*NUMBERS]
    if only_words:
        names = [*OTHERS]
    kinds = {**NUMBERS, **OTHERS}
    chosen = rng.choice(names, n_columns)
    if rng.random() < 0.3:  # all of one kind
        chosen = [chosen[0]] * n_columns
    columns = [kinds[kind](rng, n_rows) for kind in chosen]
    if not as_frame:
        return np.column_stack(columns)
    return pd.DataFrame({f"x{place}": column for place, column in enumerate(columns)})


def random_target(
    rng: Random, n_rows: int, estimator: str, settings: Settings, X: Any = None
) -> Any:
    """What to learn: in half of the tables it follows from the first columns."""
    end = next(end for end in PLAIN_TARGETS if estimator.endswith(end))
    names = PLAIN_TARGETS[end]
    one_output = not estimator.startswith(MANY_OUTPUTS)
    if one_output:
        names = tuple(name for name in names if name not in ("pair", "vector"))
    if settings.get("loss", "") in ("poisson", "gamma", "tweedie"):
        names = ("positive",)
    if settings.get("criterion", "") == "poisson":
        names = ("positive", "counts")
    z = rng.normal(size=n_rows)
    if isinstance(X, pd.DataFrame) and rng.random() < 0.5:
        for name in X.columns[:3]:
            codes = pd.factorize(X[name].astype(str))[0]
            z += rng.normal(size=n_rows)[codes]
    return TARGETS[rng.choice(names)](z)

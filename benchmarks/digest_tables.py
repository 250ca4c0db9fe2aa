"""The tables of `benchmarks.digests`: made ones by a few words, and the shared sets, cut short.

The words of a made table are its kind, its target, its weights and its form, as in
``"mixed two whole-weights"``; all but the kind may be missing. Boosting may also be "validated"
on some of the rows, or "started" from given scores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse

from benchmarks import shared
from benchmarks.datasets import Array

Random = np.random.Generator
Settings = dict[str, Any]

SHARED_ROWS = 2_000


def _gappy(X: Array, rng: Random) -> Array:
    return np.where(rng.random(X.shape) < 0.15, np.nan, X)


def _mixed(rng: Random, n_rows: int) -> pd.DataFrame:
    """Numbers with gaps, few and many categories, and truths."""
    size, words = rng.gamma(2.0, size=n_rows), rng.choice(["a", "b", "c", None], n_rows)
    return pd.DataFrame(
        {
            "size": _gappy(size, rng),
            "age": rng.integers(90, size=n_rows).astype(np.float64),
            "kind": words,
            "town": _words(rng, n_rows, 40),
            "street": _words(rng, n_rows, 300),
            "new": rng.random(n_rows) < 0.4,
        }
    )


def _words(rng: Random, n_rows: int, n_words: int) -> Array:
    chosen = (n_words * rng.random(n_rows) ** 1.5).astype(int)  # some are frequent
    return np.array([f"w{number}" for number in range(n_words)], object)[chosen]


def _one_hot(rng: Random, n_rows: int, *sizes: int) -> Array:
    """Groups of columns of which one is 1, which can share a column, and two of numbers."""
    groups = [np.eye(size)[rng.integers(size, size=n_rows)] for size in sizes]
    return np.hstack([*groups, rng.normal(size=(n_rows, 2))])


KINDS: dict[str, Callable[[Random], Any]] = {
    "numbers": lambda rng: rng.normal(size=(1_000, 8)),
    "gaps": lambda rng: _gappy(rng.normal(size=(800, 6)), rng),
    "ties": lambda rng: rng.integers(5, size=(600, 6)).astype(np.float64),
    "constant": lambda rng: np.hstack([np.full((200, 3), 7.0), rng.normal(size=(200, 1))]),
    "column": lambda rng: rng.normal(size=(400, 1)),
    "tiny2": lambda rng: rng.normal(size=(2, 3)),
    "tiny5": lambda rng: rng.normal(size=(5, 2)),
    "tiny20": lambda rng: _gappy(rng.normal(size=(20, 3)), rng),
    "block64": lambda rng: rng.normal(size=(64, 5)),
    "wide": lambda rng: rng.normal(size=(250, 600)),
    "wider": lambda rng: rng.integers(3, size=(150, 1_100)).astype(np.float64),
    "giant": lambda rng: rng.normal(size=(300, 4)) * 1e30,
    "onehot": lambda rng: _one_hot(rng, 1_500, 30, 12, 8),
    "thin": lambda rng: rng.normal(size=(1_200, 60)) * (rng.random((1_200, 60)) < 0.05),
    "mixed": lambda rng: _mixed(rng, 1_500),
    "small mixed": lambda rng: _mixed(rng, 80),
    "words": lambda rng: _mixed(rng, 900)[["kind", "town", "new"]],
    "streets": lambda rng: pd.DataFrame(
        {"street": _words(rng, 12_000, 5_000), "x": rng.normal(size=12_000)}
    ),
    "large": lambda rng: rng.normal(size=(20_000, 8)),
    "large mixed": lambda rng: _mixed(rng, 20_000),
    "large onehot": lambda rng: _one_hot(rng, 20_000, 40, 20),
    "huge": lambda rng: _gappy(rng.normal(size=(60_000, 5)), rng),
}


def _classes(z: Array, n_classes: int) -> Array:
    return np.argsort(np.argsort(z, kind="stable"), kind="stable") * n_classes // len(z)


TARGETS: dict[str, Callable[[Array], Array]] = {
    "two": lambda z: _classes(z, 2),
    "three": lambda z: _classes(z, 3),
    "letters": lambda z: _classes(z, 26),
    "rare": lambda z: (_classes(z, 30) == 29).astype(int),
    "named": lambda z: np.where(z > 0, "yes", "no"),
    "pair": lambda z: np.column_stack([_classes(z, 2), _classes(-z * z, 3)]),
    "real": lambda z: z,
    "positive": lambda z: z - z.min() + 0.1,
    "counts": lambda z: np.floor(2.0 * (z - z.min())),
    "vector": lambda z: np.column_stack([z, z * z, -z]),
    "vast": lambda z: z * 1e200,
    "grades": lambda z: _classes(z, 5),
}
WEIGHTS: dict[str, Callable[[Random, int], Array]] = {
    "unit-weights": lambda rng, n: np.ones(n),
    "whole-weights": lambda rng, n: rng.integers(1, 5, size=n).astype(np.float64),
    "real-weights": lambda rng, n: rng.uniform(0.2, 3.0, size=n),
    "zero-weights": lambda rng, n: np.where(rng.random(n) < 0.3, 0.0, 1.0),
    "heavy-weights": lambda rng, n: np.where(rng.random(n) < 0.02, 1e6, 1e-3),
}
FORMS: dict[str, Callable[[Any], Any]] = {
    "csr": scipy.sparse.csr_matrix,
    "csc": scipy.sparse.csc_matrix,
    "float32": lambda X: X.astype(np.float32),
    "fortran": np.asfortranarray,
}


@dataclass(frozen=True)
class Table:
    """Rows to learn from, with what `fit` is given besides, and strange rows to be asked for."""

    X: Any
    y: Any
    strange: Any
    more: Settings = field(default_factory=dict)


@lru_cache(maxsize=64)
def made(spec: str, n_group: int = 0) -> Table:
    """A made table by its words; queries have so many rows each, if any."""
    kind = max((kind for kind in KINDS if f"{spec} ".startswith(f"{kind} ")), key=len)
    words = spec[len(kind) :].split()
    rng = np.random.default_rng([len(kind), *kind.encode()])
    X = KINDS[kind](rng)
    z, strange = _signal(X, rng), strange_rows(X)
    y: Any = None
    more: Settings = {"group": [n_group] * (len(z) // n_group)} if n_group else {}
    for word in words:
        if word in TARGETS:
            y = TARGETS[word](z)
        elif word == "validated":  # the table's own rows, every fourth
            more |= {"X_val": X[::4], "y_val": y[::4]}
        elif word == "started":
            more["init_score"] = 0.1 * z
        elif word in WEIGHTS:
            more["sample_weight"] = WEIGHTS[word](np.random.default_rng(5), len(z))
        else:
            X, strange = FORMS[word](X), FORMS[word](strange)
    return Table(X, y, strange, more)


def _signal(X: Any, rng: Random) -> Array:
    """Numbers that the columns explain in part; no sum depends on threads."""
    if isinstance(X, pd.DataFrame):
        X = np.column_stack([_effect(X[name], rng) for name in X])
    values = np.nan_to_num(X) / np.maximum(1.0, np.abs(np.nan_to_num(X)).max(axis=0))
    sums = (values * rng.normal(size=values.shape[1])).sum(axis=1)
    signal: Array = sums + 3.0 * values[:, 0] * values[:, -1] + 0.2 * rng.normal(size=len(values))
    return signal


def _effect(column: Any, rng: Random) -> Array:
    """Numbers as they are, categories by a number for each."""
    if column.dtype.kind == "f":
        return np.asarray(column)
    codes, seen = pd.factorize(column, use_na_sentinel=False)
    effects: Array = rng.normal(size=len(seen))[codes]
    return effects


def strange_rows(X: Any, n_rows: int = 60) -> Any:
    """Rows like the first ones, but mixed up, with other gaps and with unseen categories."""
    if scipy.sparse.issparse(X):
        return type(X)(strange_rows(X[:n_rows].toarray()))
    if isinstance(X, pd.DataFrame):
        columns = [_strange_column(X[name].to_numpy()[:n_rows], j) for j, name in enumerate(X)]
        return pd.DataFrame(dict(zip(X, columns, strict=True)))
    columns = [_strange_column(column, j) for j, column in enumerate(X[:n_rows].T)]
    return np.column_stack(columns).astype(X.dtype)


def _strange_column(column: Any, number: int) -> Array:
    column = np.roll(np.asarray(column), number + 1)
    places = np.arange(len(column)) + number
    if column.dtype == bool:
        return column
    if column.dtype.kind == "f":
        return np.where(places % 7 == 0, np.nan, np.where(places % 5 == 0, 1.5 * column, column))
    unseen: Any = -1 if column.dtype.kind == "i" else "never seen"
    column = np.where(places % 9 == 0, unseen, column.astype(object))
    return np.where(places % 7 == 0, None, column)


@lru_cache(maxsize=1)
def of_shared(name: str) -> Table:
    """Some rows of a shared set; whole queries where there are any."""
    data = shared.load(name)
    assert data is not None, f"{name} is not at hand."
    if data.queries is None:
        data = data.capped(SHARED_ROWS)
        return Table(data.X, data.y, strange_rows(data.X))
    n_rows = int(np.flatnonzero(np.diff(data.queries[: SHARED_ROWS + 1]))[-1]) + 1
    sizes = np.unique(data.queries[:n_rows], return_counts=True)[1]
    X, y = data.X[:n_rows], data.y[:n_rows]
    return Table(X, y, strange_rows(X), {"group": sizes})

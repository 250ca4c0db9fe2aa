"""The data of the benchmarks: synthetic sets always, shared ones where they are at hand."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.model_selection import train_test_split

Array = np.ndarray[Any, np.dtype[Any]]
Task = Literal["classification", "regression", "ranking"]

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class DataSet:
    """Training rows, and test rows that a fit does not see.

    ``X`` is C-ordered float32, which is scikit-learn's own type for trees, so that no
    contender pays for a conversion; or a pandas frame of float32 and category columns, or a
    sparse matrix. Rows of a query follow each other, and ``queries`` are their numbers.
    """

    name: str
    X: Any
    y: Array
    X_test: Any
    y_test: Array
    task: Task = "classification"
    queries: Array | None = None
    queries_test: Array | None = None

    def head(self, n_rows: int) -> DataSet:
        """Return the same data with its first rows only."""
        return replace(
            self,
            X=self.X[:n_rows],
            y=self.y[:n_rows],
            X_test=self.X_test[:n_rows],
            y_test=self.y_test[:n_rows],
        )


def synthetic(n_rows: int = 1_000_000, n_test: int = 100_000) -> DataSet:
    """28 normal columns; the class depends on all of them, on waves and on products."""
    X, z = _signal(n_rows + n_test)
    return _split(f"synthetic {shape(n_rows, 28)}", X, (z > 0).astype(np.int32), n_rows)


def synthetic_regression(n_rows: int = 1_000_000, n_test: int = 100_000) -> DataSet:
    """Return the columns of :func:`synthetic` with the signal itself as the target."""
    X, z = _signal(n_rows + n_test)
    data = _split(f"synthetic {shape(n_rows, 28)}, regression", X, z, n_rows)
    return replace(data, task="regression")


def pictures(n_rows: int = 60_000, n_test: int = 10_000) -> DataSet:
    """Made pictures of 28 x 28 grey values, 10 classes: blots around places of each class.

    Like photographs of clothes: a third of the values is 0, mostly near the border, the rest
    are whole numbers up to 255, and neighbours are alike.
    """
    rng = np.random.default_rng(0)
    n_classes, n_blots, side = 10, 6, 28
    places = rng.uniform(6, 22, size=(n_classes, n_blots, 2))
    y = rng.integers(n_classes, size=n_rows + n_test)
    grid = np.arange(side)
    X = np.zeros((len(y), side, side), np.float32)
    for blot in range(n_blots):
        centre = places[y, blot] + rng.normal(scale=2.0, size=(len(y), 2))
        width = rng.uniform(8, 40, size=(len(y), 1))
        across, down = (np.exp(-((grid - centre[:, [axis]]) ** 2) / width) for axis in (0, 1))
        X += (across[:, :, None] * down[:, None, :]).astype(np.float32)
    X += rng.normal(scale=0.05, size=X.shape).astype(np.float32)
    X = np.clip(np.floor(160 * (X - 0.1)), 0, 255).reshape(len(y), side * side)
    return _split(f"pictures {shape(n_rows, side * side)}, 10 classes", X, y, n_rows)


def gathering(n_rows: int = 100_000, n_test: int = 10_000) -> DataSet:
    """10 columns, a crowd in the middle, and one row in fifty far out: class 1, the anomalies."""
    rng = np.random.default_rng(0)
    y = (rng.random(n_rows + n_test) < 0.02).astype(np.int64)
    X = rng.normal(size=(len(y), 10)) * np.where(y, 4.0, 1.0)[:, None]
    return _split(f"gathering {shape(n_rows, 10)}", X.astype(np.float32), y, n_rows)


def covtype(n_rows: int = 100_000, n_test: int = 100_000) -> DataSet | None:
    """Forest cover types (54 columns of whole numbers, 7 classes), or None when not at hand."""
    path = shared_path("covtype", "data.parquet")
    if path is None:
        return None
    X, y = _read_covtype(path)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, train_size=n_rows, test_size=n_test, random_state=0, stratify=y
    )
    return DataSet(f"covtype {shape(n_rows, X.shape[1])}", X_train, y_train, X_test, y_test)


def data_folder() -> Path | None:
    """Where the shared data sets are: what ``HORNBEAM_DATA`` says, or None if it says nothing.

    No other place is looked at: what a benchmark or a test does must not depend on what
    happens to lie beside the project.
    """
    chosen = os.environ.get("HORNBEAM_DATA")
    return Path(chosen) if chosen else None


def shared_path(*parts: str) -> Path | None:
    """Path of a file of the shared data sets, or None when it is not at hand."""
    folder = data_folder()
    path = None if folder is None else folder.joinpath(*parts)
    return path if path is not None and path.is_file() else None


@lru_cache(maxsize=1)
def _signal(n_rows: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 28)).astype(np.float32)
    slopes = rng.normal(size=28)
    z = 0.3 * (X @ slopes) + np.sin(2 * X[:, 0]) * X[:, 1] + X[:, 2] * X[:, 3]
    z -= 0.5 * np.abs(X[:, 4]) * X[:, 5]
    z += rng.normal(size=n_rows)
    return X, z


@lru_cache(maxsize=1)
def _read_covtype(path: Path) -> tuple[Array, Array]:
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    y = table.column("Cover_Type").to_numpy().astype(np.int64)
    columns = table.drop_columns(["Cover_Type"]).columns
    X = np.empty((len(y), len(columns)), np.float32)
    for position, column in enumerate(columns):
        X[:, position] = column.to_numpy()
    return X, y


def _split(name: str, X: Array, y: Array, n_rows: int) -> DataSet:
    return DataSet(name, X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:])


def shape(n_rows: int, n_columns: int) -> str:
    """Write a size shortly: 1M x 28."""
    for unit, size in (("M", 1_000_000), ("k", 1000)):
        if n_rows >= size and n_rows % size == 0:
            return f"{n_rows // size}{unit} x {n_columns}"
    return f"{n_rows} x {n_columns}"

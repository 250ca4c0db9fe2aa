"""The one reader of what users pass to ``fit``: a table and the weights of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hornbeam.data.schema import Schema
from hornbeam.data.target import read_weights
from hornbeam.dtypes import MAX_ROWS, Array


@dataclass(frozen=True)
class TrainingTable:
    """A table as ``fit`` reads it.

    Attributes
    ----------
    schema : Schema
    matrix : float32 or float64 array, or csc_array
        Category columns hold category numbers, missing values are NaN.
    weight : float64 array
        One per row; 1 where no weights were given.
    """

    schema: Schema
    matrix: Any
    weight: Array

    @property
    def n_rows(self) -> int:
        """How many rows the table has."""
        return int(self.matrix.shape[0])

    def attributes(self) -> dict[str, Any]:
        """The fitted attributes that every estimator has of its table."""
        return {"schema_": self.schema, **columns_of(self.schema)}


def read_table(
    X: Any,
    sample_weight: Any,
    name: str,
    categorical_features: Any = "from_dtype",
    unseen: str = "missing",
    keep_identities: bool = False,
    schema: Schema | None = None,
) -> TrainingTable:
    """Read the table and the weights that an estimator learns from.

    Parameters
    ----------
    X : table
    sample_weight : array-like of shape (n_samples,) or None
    name : str
        Who asks, for errors.
    categorical_features, unseen, keep_identities
        As in `Schema.learn`.
    schema : Schema or None
        That of an earlier fit, which this one goes on from.

    Returns
    -------
    TrainingTable
    """
    if schema is None:
        schema, matrix = Schema.learn(X, name, categorical_features, unseen, keep_identities)
    else:
        matrix = schema.read(X, name)
    n_rows = matrix.shape[0]
    if n_rows > MAX_ROWS:
        raise ValueError(f"X has {n_rows} rows; {name} takes up to {MAX_ROWS}.")
    return TrainingTable(schema, matrix, read_weights(sample_weight, n_rows))


def columns_of(schema: Schema) -> dict[str, Any]:
    """The fitted attributes that say what columns there are."""
    columns: dict[str, Any] = {"n_features_in_": schema.n_features}
    if schema.named:
        columns["feature_names_in_"] = np.array(schema.feature_names, dtype=object)
    return columns

"""Constraints that a user puts on features, read and checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from hornbeam.data.schema import Schema
from hornbeam.dtypes import Array


def read_monotone(constraint: Any, schema: Schema) -> Array | None:
    """Monotone directions per feature, given by position or by name; None if there are none."""
    if constraint is None:
        return None
    if isinstance(constraint, dict):
        unknown = [name for name in constraint if name not in schema.feature_names]
        if unknown:
            raise ValueError(
                f"monotonic_cst names {unknown[0]!r}, which is not a column of X: "
                f"{list(schema.feature_names)[:10]}."
            )
        constraint = [constraint.get(name, 0) for name in schema.feature_names]
    directions = np.asarray(constraint)
    if directions.shape != (schema.n_features,):
        shape = len(directions) if directions.ndim == 1 else directions.shape
        raise ValueError(
            f"monotonic_cst has shape {shape} but the input data X has "
            f"{schema.n_features} features: give one direction per feature."
        )
    if not np.all(np.isin(directions, (-1, 0, 1))):
        raise ValueError(
            f"monotonic_cst must be None or an array-like of -1, 0 or 1, but got "
            f"{directions.tolist()}."
        )
    bent = np.flatnonzero((directions != 0) & schema.is_category)
    if len(bent):
        raise ValueError(
            f"monotonic_cst constrains {schema.feature_names[bent[0]]!r}, which is a category: "
            "categories have no order. Set it to 0, or encode the column as numbers."
        )
    return directions.astype(np.int64) if directions.any() else None

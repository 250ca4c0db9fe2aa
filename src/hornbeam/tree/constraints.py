"""Constraints that a user puts on features, read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hornbeam.data.schema import Schema
from hornbeam.dtypes import Array


def by_feature(given: Any, parameter: str, one: str, usual: float, schema: Schema) -> Array:
    """What a user says of features, by position or by name, as an array; else ``usual``.

    ``one`` is what is said of a feature, for the error.
    """
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in schema.feature_names]
        if unknown:
            raise ValueError(
                f"{parameter} names {unknown[0]!r}, which is not a column of X: "
                f"{list(schema.feature_names)[:10]}."
            )
        given = [given.get(name, usual) for name in schema.feature_names]
    found = np.asarray(given)
    if found.shape != (schema.n_features,):
        shape = len(found) if found.ndim == 1 else found.shape
        raise ValueError(
            f"{parameter} has shape {shape} but the input data X has {schema.n_features} "
            f"features: give one {one} per feature, or a dict that names some."
        )
    return found


def read_monotone(constraint: Any, schema: Schema) -> Array | None:
    """Monotone directions per feature, given by position or by name; None if there are none."""
    if constraint is None:
        return None
    directions = by_feature(constraint, "monotonic_cst", "direction", 0, schema)
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

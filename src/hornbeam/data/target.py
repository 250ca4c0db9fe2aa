"""Read y and the weights: check them, number the classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from hornbeam.dtypes import LABEL, Array


def read_weights(sample_weight: Any, n_rows: int) -> Array:
    """Sample weights as float64: none is negative, NaN or infinite, and not all are zero."""
    if sample_weight is None:
        return np.ones(n_rows)
    weight = np.asarray(sample_weight)
    if weight.ndim == 0:
        weight = np.full(n_rows, weight)
    if weight.dtype.kind not in "fiub":
        weight = _as_float(weight, "sample_weight")
    if weight.ndim != 1 or len(weight) != n_rows:
        raise ValueError(
            f"sample_weight.shape == {weight.shape}, expected {(n_rows,)}: one weight per row."
        )
    weight = weight.astype(np.float64)
    bad = ~np.isfinite(weight) | (weight < 0)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"sample_weight[{row}] is {weight[row]}; weights must be finite and not negative. "
            "A weight of 0 leaves a row out."
        )
    if not weight.any():
        raise ValueError("All entries of sample_weight are 0, so there is no row to learn from.")
    # A power of two changes no comparison and no share, but keeps sums away from the ends
    # of the number range.
    exponent = int(np.frexp(weight.max())[1])
    return weight if abs(exponent) < 300 else np.ldexp(weight, -exponent)


def _as_float(values: Array, what: str) -> Array:
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} must hold numbers: {error}.") from error


def check_length(y: Array, n_rows: int) -> None:
    """X and y must have as many rows as each other."""
    if len(y) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {[n_rows, len(y)]}. "
            "X and y must have one row each per sample."
        )


def _to_columns(y: Any, name: str) -> Array:
    """Y as an array (rows, outputs), whatever it came as."""
    if y is None:
        raise ValueError(
            f"{name} requires y to be passed, but the target y is None: pass fit(X, y)."
        )
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        raise ValueError("y is a masked array with masked entries; drop those rows first.")
    if hasattr(y, "to_numpy"):
        y = y.to_numpy()
    y = np.asarray(y)
    if y.ndim == 0 or y.ndim > 2:
        raise ValueError(f"y must have one column, or one per output; its shape is {y.shape}.")
    return y.reshape(-1, 1) if y.ndim == 1 else y


@dataclass(frozen=True)
class Classes:
    """The classes of each output, and the number of the class of each row."""

    names: list[Array]
    labels: Array  # (rows, outputs), classes of all outputs numbered one after the other
    start: Array

    @property
    def counts(self) -> list[int]:
        """Number of classes per output."""
        return [len(names) for names in self.names]


def read_classes(y: Any, name: str) -> Classes:
    """Number the classes of each output; missing and continuous targets are errors."""
    columns = _to_columns(y, name)
    _refuse_missing(columns)
    check_classification_targets(columns if columns.shape[1] > 1 else columns.ravel())
    names, labels, start = [], np.empty(columns.shape, LABEL), [0]
    for output in range(columns.shape[1]):
        column = columns[:, output]
        if column.dtype == object and all(isinstance(value, str) for value in column):
            column = column.astype(str)
        try:
            found, numbers = np.unique(column, return_inverse=True)
        except TypeError as error:
            kinds = sorted({type(value).__name__ for value in column})
            raise TypeError(
                f"y mixes values of types {', '.join(kinds)}; classes must be of one type, "
                "for example all strings."
            ) from error
        names.append(found)
        labels[:, output] = numbers + start[-1]
        start.append(start[-1] + len(found))
    return Classes(names, labels, np.array(start, np.int64))


def _refuse_missing(columns: Array) -> None:
    """NaN, None, NaT and pd.NA in y have no class."""
    if columns.dtype.kind in "fc":
        check_array(columns, input_name="y", ensure_2d=False, ensure_all_finite=True)
    elif columns.dtype.kind == "O":
        for row, value in enumerate(columns.ravel()):
            if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:
                raise ValueError(
                    f"Input y contains NaN: {value!r} in row {row // columns.shape[1]}. Drop the "
                    "rows without a target."
                )


def read_values(y: Any, name: str) -> Array:
    """Targets of a regression as float64 (rows, outputs), all finite."""
    columns = _to_columns(y, name)
    if columns.dtype.kind == "O":
        _refuse_missing(columns)
    if columns.dtype.kind == "c":
        raise ValueError("Complex data not supported: y must be real numbers.")
    if columns.dtype.kind not in "fiub":
        try:
            columns = columns.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"y must hold numbers for a regression, but holds {columns.ravel()[0]!r}. "
                "For classes use the classifier."
            ) from error
    checked: Array = check_array(
        columns, input_name="y", ensure_2d=False, dtype=np.float64, ensure_all_finite=True,
        ensure_min_samples=0,
    )  # fmt: skip
    return checked


def weigh_classes(weight: Array, class_weight: Any, y: Any, classes: Classes) -> Array:
    """Multiply the sample weights by the weight of each row's class."""
    if class_weight is None:
        return weight
    if isinstance(class_weight, dict) and len(classes.names) == 1:
        unknown = [key for key in class_weight if key not in set(classes.names[0].tolist())]
        if unknown:
            raise ValueError(
                f"class_weight names {unknown[0]!r}, which is not a class of y: "
                f"{classes.names[0].tolist()[:10]}."
            )
    columns = _to_columns(y, "")
    expanded = compute_sample_weight(
        class_weight, columns if columns.shape[1] > 1 else columns.ravel()
    )
    return read_weights(weight * expanded, len(weight))

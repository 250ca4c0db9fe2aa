"""Read y and the weights: check them, number the classes."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from hornbeam.data.columns import (
    first_inexact,
    is_missing,
    listed,
    refuse_complex,
    short,
)
from hornbeam.dtypes import LABEL, Array
from hornbeam.errors import SparseTargetError
from hornbeam.notices import warn


def read_weights(sample_weight: Any, n_rows: int) -> Array:
    """Sample weights as float64: none is negative, NaN or infinite, and not all are zero."""
    if sample_weight is None:
        return np.broadcast_to(1.0, n_rows)  # takes no memory
    weight = _to_array(sample_weight, "sample_weight")
    if weight.ndim == 0:
        weight = np.full(n_rows, weight)
    if weight.dtype.kind in "cMm":
        raise ValueError(f"sample_weight must hold real numbers, but its dtype is {weight.dtype}.")
    if weight.dtype.kind not in "fiub":
        try:
            weight = weight.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"sample_weight must hold numbers: {error}.") from error
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
        raise ValueError("All entries of sample_weight are zero, so there is no row to learn from.")
    # A power of two changes no comparison and no share, but keeps sums away from the ends
    # of the number range.
    exponent = int(np.frexp(weight.max())[1])
    return weight if abs(exponent) < 300 else np.ldexp(weight, -exponent)


def _to_array(values: Any, what: str) -> Array:
    """Whatever holds the values, as an array."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"{what} is a masked array with masked entries; drop those rows first.")
    if scipy.sparse.issparse(values):
        raise SparseTargetError(
            f"sparse multilabel-indicator for {what} is not supported. {what} is a sparse matrix; "
            f"pass {what}.toarray()."
        )
    from_arrow = type(values).__module__.startswith("pyarrow")  # to_numpy() refuses nulls there
    if hasattr(values, "to_numpy") and not from_arrow:
        values = values.to_numpy()
    try:
        array: Array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{what} cannot be read as an array: {error}") from error
    return array


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
    y = _to_array(y, "y")
    if y.ndim == 0 or y.ndim > 2 or y.shape[1:] == (0,):
        raise ValueError(f"y must have one column, or one per output; its shape is {y.shape}.")
    if y.dtype.kind == "c":
        refuse_complex("y")
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
    names, labels, start = [], np.empty(columns.shape, LABEL), [0]
    for output in range(columns.shape[1]):
        column = columns[:, output]
        if column.dtype == object:
            column = _of_one_type(column)
        _refuse_missing(column.reshape(-1, 1))
        if len(column) and column.dtype.kind not in "iub":  # whole numbers are always classes
            check_classification_targets(column)
        found, numbers = _number(column)
        names.append(found)
        labels[:, output] = numbers + start[-1]
        start.append(start[-1] + len(found))
    return Classes(names, labels, np.array(start, np.int64))


def _of_one_type(column: Array) -> Array:
    """Python objects as an array of strings, bools or numbers, if they are all of one kind."""
    _refuse_missing(column.reshape(-1, 1))
    for kind, dtype in ((str, str), ((bool, np.bool_), bool), (Integral, np.int64), (Real, float)):
        if all(isinstance(value, kind) for value in column):
            try:
                return column.astype(dtype)
            except OverflowError:
                largest = max(column, key=abs)
                raise ValueError(
                    f"y holds the integer {short(largest)}, which 64 bits do not hold. Turn the "
                    "classes into strings."
                ) from None
    kinds = sorted({type(value).__name__ for value in column})
    raise TypeError(
        f"y holds values of the types {listed(kinds)}; its argument must be all string, all bool "
        "or all number values. Turn the classes into one type, for instance all strings."
    )


def _number(column: Array) -> tuple[Array, Array]:
    """The distinct values, ascending, and the number of each row's."""
    if column.dtype.kind in "iu" and len(column):
        low, high = int(column.min()), int(column.max())
        if high - low < 4 * len(column):  # counting is faster than sorting
            wide = column if column.dtype == np.uint64 else column.astype(np.int64, copy=False)
            shifted = (wide - low).astype(np.int64, copy=False)
            there = np.bincount(shifted, minlength=high - low + 1) > 0
            found = (np.flatnonzero(there).astype(wide.dtype) + low).astype(column.dtype)
            return found, (np.cumsum(there) - 1).astype(LABEL)[shifted]
    if column.dtype.kind == "f":
        column = column + column.dtype.type(0.0)  # -0.0 and 0.0 are one class, and it is 0.0
    return np.unique(column, return_inverse=True)


def _refuse_missing(columns: Array) -> None:
    """NaN, None, NaT, pd.NA and infinity in y have no class and no value."""
    if columns.dtype.kind in "Mm":
        gone = np.isnat(columns)
    elif columns.dtype.kind == "f":
        gone = ~np.isfinite(columns)
    elif columns.dtype.kind == "O":
        gone = np.array([is_missing(value) for value in columns.ravel()], bool)
        gone = gone.reshape(columns.shape)
    else:
        return
    if not gone.any():
        return
    row, output = np.unravel_index(int(np.argmax(gone)), columns.shape)
    value = columns[row, output]
    what = "NaN"
    if columns.dtype.kind == "f" and np.isinf(value):
        what = f"infinity or a value too large for {columns.dtype!r}"
    raise ValueError(f"Input y contains {what}. Row {row} holds {value}: drop such rows.")


def warn_column_vector(y: Any) -> None:
    """Say that y was a column where a flat array was expected, in scikit-learn's words."""
    shape = getattr(y, "shape", None)
    if shape is not None and len(shape) == 2 and shape[1] == 1:
        warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape "
            "of y to (n_samples, ), for example using ravel().",
            DataConversionWarning,
        )


def read_values(y: Any, name: str) -> Array:
    """Targets of a regression as float64 (rows, outputs), all finite."""
    columns = _to_columns(y, name)
    _refuse_missing(columns)
    if columns.dtype.kind in "Mm":
        raise TypeError(
            f"y holds dates or times ({columns.dtype}), and a regression predicts numbers. Turn "
            "it into numbers, such as the seconds since a fixed date."
        )
    if columns.dtype.kind in "iu":
        for column in columns.T:
            row = first_inexact(column)
            if row >= 0:
                raise ValueError(
                    f"y holds the integer {column[row]} in row {row}, which is beyond 2**53 and "
                    "which float64 cannot hold exactly. Subtract a constant, or convert y to "
                    "float yourself."
                )
    try:
        with np.errstate(over="ignore"):
            values: Array = columns.astype(np.float64, copy=False)
    except OverflowError as error:
        largest = max((v for v in columns.ravel().tolist() if isinstance(v, int)), key=abs)
        raise ValueError(
            f"y holds the integer {short(largest)}, for which float64 has no room. Divide y by a "
            "power of ten."
        ) from error
    except (TypeError, ValueError) as error:
        rows = enumerate(columns.tolist())
        value, row = next((v, i) for i, r in rows for v in r if not _is_number(v))
        raise ValueError(
            f"y must hold numbers for a regression, but holds {short(value)} in row {row}. "
            "For classes use the classifier."
        ) from error
    _refuse_missing(values)
    return np.ascontiguousarray(values) + 0.0  # which makes 0.0 of -0.0: they are one number


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _check_class_weight(class_weight: Any) -> None:
    """Weights of classes are finite numbers and none is negative."""
    for weights in class_weight if isinstance(class_weight, list) else [class_weight]:
        for label, weight in weights.items() if isinstance(weights, dict) else ():
            if not isinstance(weight, Real) or not 0.0 <= float(weight) < np.inf:
                raise ValueError(
                    f"class_weight[{label!r}] is {short(weight)}; weights must be finite and not "
                    "negative. A weight of 0 leaves a class out."
                )


def warn_weightless(weight: Array, classes: Classes) -> None:
    """Warn of classes that no model can learn, since all of their rows have the weight 0."""
    if weight.strides == (0,) or (weight > 0.0).all():
        return
    total = np.zeros(int(classes.start[-1]))
    for output in range(classes.labels.shape[1]):
        total += np.bincount(classes.labels[:, output], weights=weight, minlength=len(total))
    weightless = np.flatnonzero(total == 0.0)
    if not len(weightless):
        return
    every = [name for names in classes.names for name in names.tolist()]
    named = listed([every[number] for number in weightless])
    several = len(weightless) > 1
    warn(
        f"{'Classes' if several else 'Class'} {named} of y {'have' if several else 'has'} no "
        f"weight: sample_weight or class_weight is 0 in all rows of {'them' if several else 'it'}. "
        "The model cannot learn what it never sees: it keeps a probability of (nearly) 0. Drop "
        "these rows if that is meant."
    )


def weigh_classes(weight: Array, class_weight: Any, y: Any, classes: Classes) -> Array:
    """Multiply the sample weights by the weight of each row's class."""
    if class_weight is None:
        return weight
    _check_class_weight(class_weight)
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
    return read_weights(weight * read_weights(expanded, len(weight)), len(weight))

"""One entry for every kind of table a user may have.

`open_table` finds out what X is and wraps it; columns are read one by one, when the
schema asks for them. Nothing here imports pandas, polars or pyarrow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from hornbeam.data.columns import (
    EXACT_INTEGERS,
    Column,
    check_exact,
    from_numpy,
    holds_exactly,
    refuse_complex,
    short,
)
from hornbeam.data.frames import (
    FrameTable,
    PandasTable,
    is_frame,
    is_pandas,
    is_series,
    open_frame,
)
from hornbeam.data.matrix import as_float_matrix, finite
from hornbeam.data.sparse import SparseTable
from hornbeam.dtypes import MAX_ROWS, Array

_RESHAPE = (
    "Reshape your data either using array.reshape(-1, 1) if your data has a single feature or "
    "array.reshape(1, -1) if it contains a single sample."
)


class ArrayTable:
    """A 2-D NumPy array of any dtype, with or without a mask of missing entries."""

    names: None = None

    def __init__(self, values: Array, mask: Array | None = None) -> None:
        self.values = values
        self.mask = mask
        self.shape: tuple[int, int] = values.shape

    @property
    def is_plain(self) -> bool:
        """Whether every column holds numbers and no entry is masked."""
        return self.mask is None and self.values.dtype.kind in "fiu"

    def title(self, index: int) -> str:
        """How errors call a column."""
        return f"column {index}"

    def column(self, index: int) -> Column:
        """Read one column."""
        missing = None if self.mask is None else self.mask[:, index]
        return from_numpy(self.values[:, index], self.title(index), missing)

    def matrix(self) -> Array:
        """All columns as one float matrix, without a copy where that is possible."""
        return number_matrix(self.values, self.title)


def number_matrix(values: Array, title: Callable[[int], str]) -> Array:
    """Numbers as a float matrix, or an error if one is infinite or would be rounded."""
    if values.dtype.kind in "iu" and not holds_exactly(values):
        for index in range(values.shape[1]):
            check_exact(values[:, index], None, title(index))
    return finite(as_float_matrix(values), title, values.dtype)


Table = ArrayTable | FrameTable | SparseTable


def open_table(X: Any, estimator_name: str) -> Table:
    """Wrap whatever the user passed as a table with at least one row and one column."""
    table: Table
    if scipy.sparse.issparse(X):
        table = SparseTable(X)
    elif is_pandas(X):
        table = PandasTable(X)
    elif is_frame(X):
        table = open_frame(X)
    elif is_series(X):
        raise ValueError(
            f"Expected a 2-dimensional container but got {type(X)} instead. Pass a DataFrame "
            "containing a single row (i.e. single sample) or a single column (i.e. single "
            "feature) instead."
        )
    else:
        table = _open_array(X, estimator_name)
    _check_shape(table.shape, estimator_name)
    return table


def _open_array(X: Any, estimator_name: str) -> ArrayTable:
    values, mask = _to_array(X)
    if values.dtype.kind == "c":
        refuse_complex("X")
    if values.dtype.kind == "V":
        raise TypeError(
            f"X is a structured array with the dtype {values.dtype}. Pass it as a data frame, "
            "for instance pandas.DataFrame(X), so that each field is a column."
        )
    if values.ndim == 0:
        raise ValueError(
            f"Expected 2D array, got scalar array instead:\narray={short(values.item())}.\n"
            + _RESHAPE
        )
    if values.ndim == 1:
        raise ValueError(f"Expected 2D array, got 1D array instead:\narray={values}.\n" + _RESHAPE)
    if values.ndim > 2:
        raise ValueError(
            f"Found array with dim {values.ndim}, while dim <= 2 is required by "
            f"{estimator_name}. The shape is {values.shape}; flatten each sample to one row."
        )
    return ArrayTable(values, mask)


def _to_array(X: Any) -> tuple[Array, Array | None]:
    """X as an array, and the mask of its missing entries if it has one."""
    if isinstance(X, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(X)
        return np.asarray(X.data), mask if mask.any() else None
    if isinstance(X, np.ndarray):
        return np.asarray(X), None
    try:
        values = np.asarray(X)
        if isinstance(X, (list, tuple)) and _lost_in_conversion(values):
            values = np.asarray(X, dtype=object)
    except ValueError as error:
        raise ValueError(_ragged(X) or f"X cannot be read as a table: {error}") from error
    if values.ndim == 1 and values.dtype == object and (message := _ragged(X)):
        raise ValueError(message)
    return values, None


def _lost_in_conversion(values: Array) -> bool:
    """Whether NumPy made strings of numbers, or rounded integers, to find one dtype."""
    if values.dtype.kind == "f" and values.size:
        return bool(np.any(np.abs(values) >= EXACT_INTEGERS))
    return values.dtype.kind in "US"


def _ragged(X: Any) -> str | None:
    """The sentence about rows of different lengths, if that is what X has."""
    try:
        lengths = [len(row) for row in X]
    except TypeError:
        return None
    for row, length in enumerate(lengths):
        if length != lengths[0]:
            return (
                f"The rows of X have different lengths: row 0 has {lengths[0]} values, row {row} "
                f"has {length}. Give every row the same columns; None or NaN is a missing value."
            )
    return None


def _check_shape(shape: tuple[int, int], estimator_name: str) -> None:
    for count, what in zip(shape, ("sample", "feature"), strict=True):
        if count < 1:
            raise ValueError(
                f"Found array with {count} {what}(s) (shape={shape}) while a minimum of 1 is "
                f"required by {estimator_name}."
            )
    if shape[0] > MAX_ROWS:
        raise ValueError(f"X has {shape[0]} rows; {estimator_name} takes at most {MAX_ROWS}.")

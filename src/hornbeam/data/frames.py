"""Data frames of every library, through narwhals.

narwhals says what a column is; only the codes of dictionary columns, which it does not
hand out, are taken from the library's own object (by its methods, without importing it).

Predictions of single rows often come as pandas frames, and going through narwhals takes
many times as long as a forest does. So the usual columns of pandas are read directly.
"""

from __future__ import annotations

import importlib.util
import weakref
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from hornbeam.data.columns import (
    EXACT_INTEGERS,
    Categories,
    Column,
    Label,
    Numbers,
    clean_labels,
    from_booleans,
    from_labels,
    from_numpy,
    from_objects,
    from_strings,
    from_times,
    listed,
    recode,
    refuse_nested,
)
from hornbeam.dtypes import Array

_FEW_STRINGS = 200  # so many rows are looked up one by one sooner than by pandas


class FrameTable:
    """A data frame; ``names`` is None unless every column name is a string."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        columns = frame.columns
        self.names = feature_names(columns)
        self.shape: tuple[int, int] = (frame.shape[0], len(columns))

    @property
    def frame(self) -> Any:
        """The frame as narwhals sees it."""
        return self._frame

    def title(self, index: int) -> str:
        """How errors call a column."""
        return f"column {index}" if self.names is None else f"column {self.names[index]!r}"

    @cached_property
    def _columns(self) -> list[Any]:
        """All columns: asking an Arrow table for one of them looks at all of its names."""
        return list(self.frame.iter_columns())

    def column(self, index: int) -> Column:
        """Read one column."""
        return _read_series(self._columns[index], self.title(index))


class PandasTable(FrameTable):
    """A pandas frame, whose usual columns are read without narwhals."""

    def __init__(self, native: Any) -> None:
        _check_duplicates(native)
        self.native = native
        self.names = feature_names(native.columns.tolist())
        self.shape = native.shape

    @cached_property
    def frame(self) -> Any:
        """The frame as narwhals sees it."""
        return nw.from_native(self.native, eager_only=True)

    @cached_property
    def _arrays(self) -> list[Any]:
        """The arrays of the columns: a series around each would take ten times as long."""
        arrays = getattr(self.native, "_iter_column_arrays", None)  # not public, so it may go
        if arrays is not None:
            return list(arrays())
        return [series.array for _, series in self.native.items()]

    def column(self, index: int) -> Column:
        """Read one column."""
        array, title = self._arrays[index], self.title(index)
        dtype = array.dtype
        if isinstance(dtype, np.dtype):
            return from_numpy(np.asarray(array), title)
        if dtype.name == "category":
            labels, table = _declared_labels(dtype.categories)
            return Categories(recode(array.codes.astype(np.int64), table), labels, True, "category")
        if dtype.name in ("str", "string") and len(array) <= _FEW_STRINGS:
            return from_strings(array.tolist(), str(dtype))
        if dtype.name.startswith("period"):
            return from_times(np.asarray(array.to_timestamp()), None, title, dtype.name)
        series = nw.from_native(self.native.iloc[:, index], series_only=True)
        return _read_series(series, title)

    def numbers(self) -> Array | None:
        """All columns as one array, if all are numbers and none of them is rounded by that."""
        dtypes = self.native.dtypes.tolist()
        if not all(isinstance(dtype, np.dtype) and dtype.kind in "fiu" for dtype in dtypes):
            return None
        values: Array = self.native.to_numpy()
        if values.dtype.kind not in "fiu":
            return None
        mixed = values.dtype.kind == "f" and any(dtype.kind != "f" for dtype in dtypes)
        return None if mixed and bool((np.abs(values) >= EXACT_INTEGERS).any()) else values


# Labels of pandas' categories, which the rows of a frame share, as long as these are alive.
_labels: dict[int, tuple[Any, list[Label], list[int]]] = {}


def _declared_labels(categories: Any) -> tuple[list[Label], list[int]]:
    """Clean labels of an index of categories, and the number of each entry among them."""
    key = id(categories)
    known = _labels.get(key)
    if known is not None and known[0]() is categories:
        return known[1:]
    labels, table = clean_labels(categories.tolist())
    _labels[key] = weakref.ref(categories, lambda _: _labels.pop(key, None)), labels, table
    return labels, table


def is_frame(X: Any) -> bool:
    """Whether X is a data frame, lazy or not, or can be streamed as Arrow data."""
    return (
        nw.dependencies.is_into_dataframe(X)
        or (hasattr(X, "__arrow_c_stream__") and not is_series(X))
        or nw.dependencies.is_into_lazyframe(X)
        or hasattr(X, "__dataframe__")
    )


def is_series(X: Any) -> bool:
    """Whether X is a single column of a data frame library."""
    return bool(nw.dependencies.is_into_series(X))


def is_pandas(X: Any) -> bool:
    """Whether X is a pandas frame; quicker to find out than the rest."""
    return hasattr(X, "iloc") and bool(nw.dependencies.is_pandas_dataframe(X))


def open_frame(X: Any) -> FrameTable:
    """Wrap a data frame of any library."""
    if nw.dependencies.is_into_lazyframe(X):
        raise TypeError(
            f"X is a {type(X).__module__.partition('.')[0]} {type(X).__name__}, a query that has "
            "not been run. Pass its result: X.collect() (or what its library calls it)."
        )
    if nw.dependencies.is_into_dataframe(X):
        native = nw.to_native(X, pass_through=True)
        _check_duplicates(native)
        return FrameTable(nw.from_native(native, eager_only=True))
    if hasattr(X, "__arrow_c_stream__"):
        return FrameTable(_from_stream(X))
    raise TypeError(
        f"X is a {type(X).__name__}, a data frame that hornbeam cannot read. Convert it to "
        "pandas, polars or pyarrow, or pass X.to_numpy()."
    )


def _from_stream(X: Any) -> Any:
    for backend in ("pyarrow", "polars", "pandas"):
        if importlib.util.find_spec(backend) is None:
            continue
        try:
            return nw.from_arrow(X, backend=backend)
        except DuplicateError as error:
            raise ValueError(f"X has several columns with the same name. {error}") from error
    raise TypeError(
        f"X is a {type(X).__name__} that streams Arrow data, which takes pyarrow or polars to "
        "read. Install one of them (`pip install pyarrow`), or pass a NumPy array."
    )


def _check_duplicates(X: Any) -> None:
    """Name columns that occur twice, since they could not be told apart in predict."""
    names = X.column_names if nw.dependencies.is_pyarrow_table(X) else X.columns
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(
            f"X has several columns with the same name: {listed(twice)}. Rename or drop them, so "
            "that each name is there once."
        )


def feature_names(columns: Sequence[Any]) -> tuple[str, ...] | None:
    """The column names if all are strings, None if none is (scikit-learn's rule)."""
    strings = [isinstance(name, str) for name in columns]
    if columns and all(strings):
        return tuple(str(name) for name in columns)
    if any(strings):
        types = sorted({type(name).__qualname__ for name in columns})
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your "
            f"input has {types} as feature name / column name types. Make them all strings, for "
            "instance with X.columns = X.columns.astype(str)."
        )
    return None


# --- columns ------------------------------------------------------------------------------


def _read_series(series: Any, title: str) -> Column:
    dtype = series.dtype
    native = series.to_native()
    name = str(getattr(native, "dtype", getattr(native, "type", dtype)))
    name = name.partition("(categories")[0]  # an Enum would list them all
    if name == "object" or dtype in (nw.Object, nw.Unknown, nw.Binary, nw.Int128, nw.UInt128):
        return _read_values(series, dtype, title, name)
    if dtype.is_temporal():
        return _read_times(series, dtype, title, name)
    if dtype.is_nested():
        refuse_nested(title, name)
    missing = series.is_null().to_numpy() if series.null_count() else None
    if dtype == nw.Boolean:
        return from_booleans(_filled(series, missing, False), missing, name)
    if dtype.is_integer():
        return Numbers(_filled(series, missing, 0), missing, name)
    if dtype.is_decimal():
        return Numbers(series.cast(nw.Float64).to_numpy(), missing, name)
    if dtype.is_float():
        return Numbers(series.to_numpy(), None, name)
    return _read_dictionary(series, title, name)


def _filled(series: Any, missing: Array | None, value: Any) -> Array:
    filled: Array = (series if missing is None else series.fill_null(value)).to_numpy()
    return filled


def _read_values(series: Any, dtype: Any, title: str, name: str) -> Column:
    """Columns that narwhals does not type: NumPy or Python has to look at the values."""
    if dtype in (nw.Int128, nw.UInt128):
        return from_objects(series.to_list(), title, name)
    if series.null_count() == len(series):
        return Numbers(np.full(len(series), np.nan), None, name)
    return from_numpy(np.asarray(series.to_numpy()), title)._replace(dtype=name)


def _read_times(series: Any, dtype: Any, title: str, name: str) -> Column:
    """Dates, times and durations; moments with a zone are taken in UTC."""
    if dtype == nw.Time:
        return from_objects(series.to_list(), title, name)
    zone = dtype.time_zone if dtype == nw.Datetime else None
    if zone is not None:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    values = np.asarray(series.to_numpy())
    if values.dtype.kind == "O":  # dates of pandas on Arrow
        return from_objects(series.to_list(), title, name)
    return from_times(values, None, title, name, zone)


def _read_dictionary(series: Any, title: str, name: str) -> Column:
    """Strings and categoricals as codes and labels."""
    native = series.to_native()
    library = series.implementation
    if library.is_pandas_like():
        return _from_pandas(native, series, name)
    if library.is_polars():
        return _from_polars(series, name)
    if library.is_pyarrow():
        return _from_arrow(native, name)
    return from_objects(series.to_list(), title, name)


def _from_pandas(native: Any, series: Any, name: str) -> Categories:
    if str(native.dtype) == "category":
        codes = native.cat.codes.to_numpy().astype(np.int64)
        return from_labels(codes, native.cat.categories.tolist(), declared=True, dtype=name)
    if series.dtype == nw.Categorical:  # an Arrow dictionary inside pandas
        return _from_arrow(native.array.__arrow_array__(), name)
    codes, labels = native.factorize()
    return from_labels(codes.astype(np.int64), labels.tolist(), declared=False, dtype=name)


def _from_polars(series: Any, name: str) -> Categories:
    declared = series.dtype == nw.Enum
    if not declared:
        series = series.cast(nw.String)
        series = series.cast(nw.Enum(series.drop_nulls().unique().sort().to_list()))
    codes = series.to_native().to_physical().to_numpy()
    if codes.dtype.kind == "f":  # nulls came as NaN
        codes = np.where(np.isnan(codes), -1, codes)
    return from_labels(codes.astype(np.int64), series.dtype.categories, declared, name)


def _from_arrow(native: Any, name: str) -> Categories:
    declared = name.startswith("dictionary")
    encoded = native if declared else native.dictionary_encode()
    if hasattr(encoded, "combine_chunks"):
        encoded = encoded.combine_chunks()
    codes = encoded.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
    return from_labels(codes, encoded.dictionary.to_pylist(), declared, name)

"""One column of a table, before a schema gives its categories their numbers.

A column is either `Numbers` (raw, in the dtype they came in, so that nothing is rounded
before it is known what they are for) or `Categories` (row -> label by an integer code).
"""

from __future__ import annotations

import datetime
import decimal
import math
import numbers
import reprlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

import numpy as np

from hornbeam.data import times
from hornbeam.data.times import CLOCK, DURATION, MOMENT, TimeScale
from hornbeam.dtypes import Array

Label = str | int | float | bool
EXACT_INTEGERS = 2**53  # float64 holds every whole number up to here


class Numbers(NamedTuple):
    """Numbers as they came; ``missing`` marks rows without one (NaN marks itself).

    ``time`` says what they count if they came as dates, times or durations.
    """

    values: Array
    missing: Array | None
    dtype: str
    time: TimeScale | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no row has a number."""
        if self.missing is not None and bool(self.missing.all()):
            return True
        return self.values.dtype.kind == "f" and bool(np.isnan(self.values).all())


class Categories(NamedTuple):
    """``labels[codes[row]]`` is the category of a row, code -1 is missing.

    ``declared`` says that the order of the labels is the user's (a pandas Categorical,
    a polars Enum, an Arrow dictionary); otherwise the labels are those seen, sorted.
    """

    codes: Array
    labels: list[Label]
    declared: bool
    dtype: str


Column = Numbers | Categories


# --- NumPy columns ----------------------------------------------------------------


@lru_cache
def dtype_name(dtype: np.dtype[Any]) -> str:
    """The name of a dtype; NumPy takes as long for it as for reading a short column."""
    return str(dtype)


def from_numpy(values: Array, title: str, missing: Array | None = None) -> Column:
    """Read a 1-D array of any dtype; ``title`` names the column in errors."""
    kind = values.dtype.kind
    if kind in "fiu":
        return Numbers(values, missing, dtype_name(values.dtype))
    if kind == "b":
        return from_booleans(values, missing, dtype_name(values.dtype))
    if kind == "O" or kind in "UST":
        return from_objects(values.tolist(), title, dtype_name(values.dtype), missing)
    if kind in "Mm":
        return from_times(values, missing, title)
    if kind == "c":
        refuse_complex(title)
    raise TypeError(
        f"{title} has the dtype {values.dtype}, which hornbeam cannot read. Give it numbers, "
        "strings, bools, dates or categoricals; one column per field."
    )


def from_times(
    values: Array, missing: Array | None, title: str, dtype: str = "", zone: str | None = None
) -> Numbers:
    """Read datetime64 (in UTC if there is a zone) or timedelta64."""
    try:
        numbers, scale = times.from_numpy_times(values, zone)
    except TypeError as error:
        refuse_time(title, error)
    return Numbers(numbers, missing, dtype or dtype_name(values.dtype), scale)


def from_booleans(values: Array, missing: Array | None, dtype: str) -> Categories:
    """Bools are the two categories False and True."""
    codes = values.astype(np.int64)
    if missing is not None:
        codes[missing] = -1
    return from_labels(codes, [False, True], declared=False, dtype=dtype)


def from_labels(codes: Array, labels: Iterable[Any], declared: bool, dtype: str) -> Categories:
    """Categories from codes into raw labels: cleaned, merged when equal, and in order.

    Labels that no row has are kept only where the user declared them.
    """
    if not declared:
        used = np.bincount(codes[codes >= 0], minlength=1).astype(bool).tolist()
        labels = [label if i < len(used) and used[i] else None for i, label in enumerate(labels)]
    kept, table = clean_labels(labels, in_order=not declared)
    return Categories(recode(codes, table), kept, declared, dtype)


def clean_labels(labels: Iterable[Any], in_order: bool = False) -> tuple[list[Label], list[int]]:
    """The distinct clean labels, and which of them each label is (-1 for a missing one)."""
    raw = [clean_label(label) for label in labels]
    kept: list[Label] = list(dict.fromkeys(label for label in raw if label is not None))
    if in_order:
        kept.sort()
    number = {label: i for i, label in enumerate(kept)}
    return kept, [-1 if label is None else number[label] for label in raw]


def recode(codes: Array, table: list[int]) -> Array:
    """``table[code]`` for each code; -1, a missing value, stays."""
    if table == list(range(len(table))):
        return codes
    return np.array([*table, -1], np.int64)[codes]


def clean_label(label: Any) -> Label | None:
    """A category as str, int, float or bool; None when it stands for a missing value.

    Bytes are read as UTF-8. Labels of any other type (intervals, dates, tuples) are named
    by their ``str``, so that a schema is plain text.
    """
    if isinstance(label, str):
        return str(label)
    if isinstance(label, (bool, np.bool_)):
        return bool(label)
    if isinstance(label, (int, np.integer)):
        return int(label)
    if isinstance(label, bytes):
        return label.decode("utf-8", "backslashreplace")
    if is_missing(label):
        return None
    if isinstance(label, (float, np.floating)) and math.isfinite(label):
        return float(label) + 0.0  # -0.0 is 0.0, whichever of them comes first
    return str(label)


def is_missing(value: Any) -> bool:
    """Whether a value stands for "unknown": None, NaN, NaT or pandas' NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, decimal.Decimal):
        return value.is_nan()  # one that signals cannot be compared
    if isinstance(value, (float, np.floating, np.datetime64, np.timedelta64)):
        return bool(value != value)
    return False


# --- columns of Python objects ------------------------------------------------------

# Whatever pandas has of its own is one of these, too, but for periods.
_TIMES = {
    MOMENT: (datetime.date, np.datetime64),
    DURATION: (datetime.timedelta, np.timedelta64),
    CLOCK: (datetime.time,),
}


def _object_kind(kind: type) -> str:
    if issubclass(kind, (bool, np.bool_)):
        return "bool"
    if issubclass(kind, (str, bytes)):
        return "string"
    if kind is type(None) or kind.__name__ in ("NAType", "NaTType"):
        return "missing"
    for name, kinds in _TIMES.items():
        if issubclass(kind, kinds):
            return name
    if kind.__name__ == "Period":
        return MOMENT
    if issubclass(kind, (numbers.Real, decimal.Decimal)):
        return "number"
    return "complex" if issubclass(kind, numbers.Complex) else "other"


def from_objects(items: list[Any], title: str, dtype: str, missing: Array | None = None) -> Column:
    """Read a column of Python objects: all numbers, all strings, all bools or all dates.

    Work per row happens inside ``map``, ``set`` and ``fromiter``; Python code runs once
    per distinct type or value.
    """
    if missing is not None:
        items = [None if gone else item for item, gone in zip(items, missing, strict=True)]
    kind_of = {kind: _object_kind(kind) for kind in set(map(type, items))}
    if any(issubclass(kind, decimal.Decimal) for kind in kind_of):
        items = [_quiet(item) for item in items]
        kind_of = {kind: _object_kind(kind) for kind in set(map(type, items))}
    kinds = set(kind_of.values()) - {"missing"}
    if len(kinds) == 2 and "number" in kinds:
        kinds -= _only_nan(items, kind_of)
    if not kinds:
        return Numbers(np.full(len(items), np.nan), None, dtype)
    if kinds == {"number"}:
        return _object_numbers(items, title, dtype, set(kind_of))
    if kinds in ({"string"}, {"bool"}):
        return from_strings(items, dtype)
    if len(kinds) == 1 and kinds <= set(_TIMES):
        return _object_times(items, title, dtype, kinds.pop())
    _refuse_objects(items, kind_of, title)


def _quiet(item: Any) -> Any:
    """A signalling NaN, which can be neither compared nor hashed, as one that is silent."""
    return np.nan if isinstance(item, decimal.Decimal) and item.is_snan() else item


def _only_nan(items: list[Any], kind_of: dict[type, str]) -> set[str]:
    """{"number"} if every number among the items is NaN, which means missing."""
    found = all(is_missing(item) for item in items if kind_of[type(item)] == "number")
    return {"number"} if found else set()


def from_strings(items: list[Any], dtype: str) -> Categories:
    """Read strings, or bools, among which may be missing values."""
    distinct = list(dict.fromkeys(items))
    code = {label: i for i, label in enumerate(distinct)}
    codes = np.fromiter(map(code.__getitem__, items), np.int64, len(items))
    return from_labels(codes, distinct, declared=False, dtype=dtype)


def _object_numbers(items: list[Any], title: str, dtype: str, types: set[type]) -> Numbers:
    gone = {kind for kind in types if _object_kind(kind) == "missing"}
    whole = all(issubclass(kind, (int, np.integer)) for kind in types - gone)
    missing = None
    if gone:
        missing = np.fromiter((type(item) in gone for item in items), np.bool_, len(items))
        items = [0 if type(item) in gone else item for item in items]
    if whole:
        for integer in (np.int64, np.uint64):
            try:
                return Numbers(np.array(items, integer), missing, dtype)
            except OverflowError:
                continue
    try:
        values = np.array(items, np.float64)
    except OverflowError:
        row = next(i for i, item in enumerate(items) if _too_large(item))
        refuse_integer(title, items[row], row)
    for large in np.flatnonzero(np.abs(values) >= EXACT_INTEGERS).tolist():
        if isinstance(items[large], (int, np.integer)) and int(values[large]) != items[large]:
            refuse_integer(title, items[large], large)
    return Numbers(values, missing, dtype)


def _object_times(items: list[Any], title: str, dtype: str, kind: str) -> Numbers:
    items = [None if is_missing(item) else item for item in items]
    try:
        values, scale = times.from_objects(items, kind)
    except TypeError as error:
        refuse_time(title, error)
    return Numbers(values, None, dtype, scale)


def _too_large(item: Any) -> bool:
    try:
        float(item)
    except OverflowError:
        return True
    return False


# --- from one kind to the other -----------------------------------------------------


def to_floats(column: Numbers, title: str, dtype: type[np.floating[Any]]) -> Array:
    """The numbers as float32 or float64 with NaN for missing, or an error if one rounds."""
    values, missing = column.values, column.missing
    if values.dtype.kind in "iu":
        check_exact(values, missing, title)
    with np.errstate(over="ignore"):
        floats = values.astype(dtype)
    if missing is not None:
        floats[missing] = np.nan
    return floats


def check_exact(values: Array, missing: Array | None, title: str) -> None:
    """Refuse integers that float64 would round."""
    row = first_inexact(values, missing)
    if row >= 0:
        refuse_integer(title, int(values[row]), row)


def first_inexact(values: Array, missing: Array | None = None) -> int:
    """Position of the first integer that float64 would round, -1 if there is none."""
    if holds_exactly(values):
        return -1
    rows = np.flatnonzero((values > EXACT_INTEGERS) | (values < -EXACT_INTEGERS))
    if missing is not None:
        rows = rows[~missing[rows]]
    large = values[rows]
    floats = large.astype(np.float64)
    exact = floats < float(np.iinfo(values.dtype).max)  # the first float beyond the dtype
    exact[exact] = floats[exact].astype(values.dtype) == large[exact]
    return -1 if exact.all() else int(rows[np.argmin(exact)])


def holds_exactly(values: Array) -> bool:
    """Whether all integers are small enough for float64 to hold whatever they are."""
    if values.dtype.itemsize < 8 or values.size == 0:
        return True
    return bool(values.max() <= EXACT_INTEGERS and values.min() >= -EXACT_INTEGERS)


def float_type(dtype: np.dtype[Any]) -> type[np.floating[Any]]:
    """float32 if it holds every value of a dtype exactly, else float64."""
    narrow = dtype.itemsize <= (4 if dtype.kind == "f" else 2)
    return np.float32 if narrow else np.float64


def numbers_to_categories(column: Numbers, title: str) -> Categories:
    """Take each distinct number as a category, in ascending order; dates as their words."""
    values = column.values
    present = np.ones(len(values), np.bool_) if column.missing is None else ~column.missing
    if values.dtype.kind == "f":
        with np.errstate(over="ignore"):
            values = values.astype(np.float64, copy=False)  # of longdouble some become equal
        present &= ~np.isnan(values)
    distinct, inverse = np.unique(values[present], return_inverse=True)
    if values.dtype.kind == "f":
        distinct = distinct + 0.0  # -0.0 is 0.0, whichever comes first
        if np.isinf(distinct).any():
            row = int(np.flatnonzero(np.isinf(values) & present)[0])
            refuse_infinity(title, column.values[row], row, column.values.dtype)
        whole = (distinct == np.trunc(distinct)) & (np.abs(distinct) <= EXACT_INTEGERS)
        if whole.all():  # beyond, a whole number would pretend to digits that a float has not
            distinct = np.array([int(value) for value in distinct], object)
    codes = np.full(len(values), -1, np.int64)
    codes[present] = inverse
    if column.time is not None:  # in UTC, as rows of another zone are to be found again
        scale = replace(column.time, zone=column.time.zone and "UTC")
        words = [scale.words(number, exact=True) for number in distinct.tolist()]
        return from_labels(codes, words, declared=False, dtype=column.dtype)
    return Categories(codes, distinct.tolist(), False, column.dtype)


def categories_to_numbers(column: Categories) -> Numbers | None:
    """The labels as numbers if they are (True is 1), else None."""
    if any(isinstance(label, str) for label in column.labels):
        return None
    table = np.array([*map(float, column.labels), np.nan])
    return Numbers(table[column.codes], None, column.dtype)


# --- errors: sentences with the column, the value and the way out ---------------------


def short(value: Any) -> str:
    """A value as it is shown in an error."""
    return reprlib.repr(value)


def listed(values: Sequence[Any], limit: int = 5) -> str:
    """Some values, comma-separated."""
    shown = ", ".join(short(value) for value in values[:limit])
    return shown + (f" and {len(values) - limit} more" if len(values) > limit else "")


def refuse_time(title: str, why: Any) -> NoReturn:
    """Say what to do with dates and durations that are no numbers."""
    raise TypeError(
        f"{title} holds {why}. Make them all of one kind, for instance with "
        f"pandas.to_datetime({frame_line(title)}, utc=True), or numbers that mean something for "
        "the task, such as year, month, weekday and hour."
    )


def frame_line(title: str) -> str:
    """How a user writes the column that errors call so."""
    name = title.removeprefix("column ")
    return f"X[{name}]" if name != title and not name.isdigit() else f"X[:, {name}]"


def refuse_nested(title: str, dtype: Any) -> NoReturn:
    """Say what to do with lists and structs."""
    raise TypeError(
        f"{title} holds nested values ({dtype}). Give each element or field a column of its "
        "own (for instance with `unnest` or `explode`), or drop the column."
    )


def refuse_complex(title: str) -> NoReturn:
    """Say what to do with complex numbers."""
    raise ValueError(
        f"Complex data not supported: {title} holds complex numbers. Pass the real and the "
        "imaginary part as two columns."
    )


def refuse_integer(title: str, number: Any, row: int) -> NoReturn:
    """Say what to do with an integer that floating point would round."""
    raise ValueError(
        f"{title} holds the integer {short(number)} in row {row}, which is beyond 2**53 and "
        "which float64 cannot hold exactly. If it is an identifier, drop the column or name it "
        "in categorical_features; otherwise convert the column to float yourself."
    )


def refuse_infinity(title: str, value: Any, row: int, dtype: Any) -> NoReturn:
    """Say what to do with an infinite number."""
    raise ValueError(
        f"Input X contains infinity or a value too large for {dtype!r}: {title} holds {value} "
        f"in row {row}. Replace it by a finite number, or by NaN if the value is unknown."
    )


def _refuse_objects(items: list[Any], kind_of: dict[type, str], title: str) -> NoReturn:
    """Name the first value that does not fit the values before it, and the line that helps."""
    known = [
        (row, item, kind_of[type(item)]) for row, item in enumerate(items) if not is_missing(item)
    ]
    if any(kind == "complex" for _, _, kind in known):
        refuse_complex(title)
    first_row, first, first_kind = known[0]
    row, item, kind = next(
        (entry for entry in known if entry[2] == "other" or entry[2] != first_kind), known[0]
    )
    found = f"{title} holds {short(item)} of type {type(item).__name__} in row {row}"
    if kind != "other":
        found += f", but {short(first)} of type {type(first).__name__} in row {first_row}"
    raise TypeError(
        f"{found}: a column's argument must be all string, all bool, all date or all number values "
        f"(None and NaN are missing values). {_way_out(known, title)}, or drop it."
    )


def _way_out(known: list[tuple[int, Any, str]], title: str) -> str:
    """The line that makes one kind of a column of several."""
    kinds, name = {kind for _, _, kind in known}, frame_line(title)
    if "other" in kinds:
        return "Give it a value of one of these types in every row"
    if name.startswith("X[:"):
        text = f"{name} = [v if v is None else str(v) for v in {name}]"
        number = f"{name} = [v if v is None else float(v) for v in {name}]"
    else:
        text = f'{name} = {name}.map(str, na_action="ignore")'
        number = f"{name} = {name}.astype(float)"
    if kinds & set(_TIMES):
        date = f'{name} = pandas.to_datetime({name}, errors="coerce")'
        return f"Convert the column to one type: for dates {date}, for categories {text}"
    if kinds == {"bool", "number"} or all(_reads_as_number(item) for _, item, _ in known):
        return f"Convert the column to one type: for numbers {number}, for categories {text}"
    return f"Convert the column to one type: for categories {text}"


def _reads_as_number(item: Any) -> bool:
    try:
        float(item)
    except (TypeError, ValueError, OverflowError):
        return False
    return True

"""What a model knows about its columns: learnt in fit, enforced in predict.

The schema holds names, order, kinds and categories. It travels with the model, as plain
JSON, and turns any table into the float matrix that trees read.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from hornbeam.chance import identifies_rows
from hornbeam.data.choices import check_unseen, chosen_categories
from hornbeam.data.columns import (
    EXACT_INTEGERS,
    Categories,
    Column,
    Label,
    Numbers,
    categories_to_numbers,
    frame_line,
    listed,
    numbers_to_categories,
    short,
)
from hornbeam.data.frames import PandasTable
from hornbeam.data.inputs import ArrayTable, Table, number_matrix, open_table
from hornbeam.data.matrix import assemble
from hornbeam.data.sparse import SparseTable
from hornbeam.data.times import DURATION, TimeScale, reads_like_dates
from hornbeam.dtypes import Array
from hornbeam.kernels.binning import find_infinite
from hornbeam.notices import warn

_MISSING, _UNSEEN = -1, -2


@dataclass(frozen=True)
class ColumnSchema:
    """One column: its name, its kind, and for categories their labels in order.

    Attributes
    ----------
    name : str
    kind : {"number", "category", "identity"}
        An identity has a value of its own in nearly every row, and is only known or missing.
    dtype : str
        The dtype in fit, for information.
    categories : tuple of str, int, float or bool, or None
        The label of category number c is ``categories[c]``; None for other kinds.
    time : TimeScale or None
        What the numbers count if the column holds dates, times or durations: unit and time zone.
    """

    name: str
    kind: str
    dtype: str
    categories: tuple[Label, ...] | None = None
    time: TimeScale | None = None

    @cached_property
    def number_of(self) -> dict[Label, int]:
        """Category number of each label; labels are equal as in Python, so True is 1."""
        return {label: number for number, label in enumerate(self.categories or ())}

    @cached_property
    def has_strings(self) -> bool:
        """Whether a category is a string."""
        return any(isinstance(label, str) for label in self.categories or ())

    @cached_property
    def has_numbers(self) -> bool:
        """Whether a category is a number or a bool."""
        return any(not isinstance(label, str) for label in self.categories or ())


@dataclass(frozen=True)
class Schema:
    """Names, kinds and categories of the columns a model was fitted on.

    Examples
    --------
    >>> from hornbeam.data.schema import Schema
    >>> schema, matrix = Schema.learn([[1.5, "red"], [2.5, "blue"]])
    >>> schema.columns[1].categories
    ('blue', 'red')
    >>> schema.read([[3.5, "blue"], [None, "green"]]).tolist()
    [[3.5, 0.0], [nan, nan]]
    """

    columns: tuple[ColumnSchema, ...]
    named: bool
    unseen: str = "missing"

    @classmethod
    def learn(
        cls,
        X: Any,
        estimator_name: str = "this estimator",
        categorical_features: Any = "from_dtype",
        unseen: str = "missing",
        keep_identities: bool = False,
    ) -> tuple[Schema, Any]:
        """Learn the schema of a training table and read the table by it.

        Parameters
        ----------
        X : table
            NumPy array, list of rows, data frame of any library, or scipy sparse matrix.
        estimator_name : str
            Who asks, for errors.
        categorical_features : "from_dtype", None, or list of names, positions or a mask
            Number columns to take as categories. Strings, bools and categoricals always
            are.
        unseen : {"missing", "error", "other"}
            What a category that training has not seen becomes.
        keep_identities : bool
            Whether a column with a value of its own in nearly every row stays a category. There
            is a warning in any case.

        Returns
        -------
        schema : Schema
        matrix : float32 or float64 array, or csc_array for sparse input
            Category columns hold category numbers, missing values are NaN.
        """
        check_unseen(unseen)
        table = open_table(X, estimator_name)
        names = table.names or tuple(f"x{i}" for i in range(table.shape[1]))
        chosen = chosen_categories(categorical_features, names)
        if isinstance(table, SparseTable):
            _refuse_sparse_categories([names[i] for i in sorted(chosen)])
        if isinstance(table, SparseTable) or (
            isinstance(table, ArrayTable) and table.is_plain and not chosen
        ):
            dtype = str(table.values.dtype)
            columns = tuple(ColumnSchema(name, "number", dtype) for name in names)
            matrix = table.matrix("csc") if isinstance(table, SparseTable) else table.matrix()
            return cls(columns, False, unseen), matrix
        read = [_learn_column(table, index, index in chosen) for index in range(len(names))]
        _hint_at_dates(read, table.title)
        identities = _find_identities(read, table.title)
        for index in [] if keep_identities else identities:
            read[index] = _known_or_missing(read[index])
        columns = tuple(
            _column_schema(name, column) for name, column in zip(names, read, strict=True)
        )
        schema = cls(columns, table.names is not None, unseen)
        parts = [column if isinstance(column, Numbers) else column.codes for column in read]
        return schema, assemble(parts, [table.title(index) for index in range(len(names))])

    def read(self, X: Any, estimator_name: str = "this estimator") -> Any:
        """Read a table by this schema: columns by name, categories by their numbers.

        Returns a float32 or float64 matrix, or a ``csr_array`` for sparse input.
        """
        if self.takes_as_is(X, estimator_name) and find_infinite(X.ravel("K")) < 0:
            return X
        numbered = self._number(X)
        if numbered is not None:
            return numbered
        table = open_table(X, estimator_name)
        if self.named != (table.names is not None):
            _warn_names(estimator_name, given=not self.named)
        order = self._match(table, estimator_name)
        if isinstance(table, SparseTable):
            _refuse_sparse_categories(
                [c.name for c in self.columns if c.kind == "category" or c.time is not None]
            )
            return table.matrix("csr")
        if self._is_plain and isinstance(table, PandasTable) and order == range(self.n_features):
            numbers = table.numbers()
            if numbers is not None:
                return number_matrix(numbers, table.title)
        if self._is_plain and isinstance(table, ArrayTable) and table.is_plain:
            return table.matrix()
        parts = [
            self._read_column(column, table.column(index), table.title(index))
            for column, index in zip(self.columns, order, strict=True)
        ]
        return assemble(parts, [table.title(index) for index in order])

    def takes_as_is(self, X: Any, estimator_name: str) -> bool:
        """Whether X is an array that `read` would return as it is, unless it holds infinities.

        Prediction looks for those itself, while it has the values in the cache.
        """
        if not (self._is_plain and type(X) is np.ndarray and self._fits(X)):
            return False
        if self.named:
            _warn_names(estimator_name, given=False)
        return True

    @property
    def n_features(self) -> int:
        """How many columns the table has."""
        return len(self.columns)

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the columns; x0, x1, ... where the training table had none."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def is_category(self) -> Array:
        """Which columns are categories (bool array)."""
        return np.array([column.kind == "category" for column in self.columns], np.bool_)

    @cached_property
    def n_categories(self) -> Array:
        """Number of categories of each column, 0 for numbers (int64 array).

        With ``unseen="other"`` the one for unseen categories is counted.
        """
        counts = [
            len(column.categories) + (self.unseen == "other")
            if column.categories is not None
            else 0
            for column in self.columns
        ]
        return np.array(counts, np.int64)

    # --- prediction ------------------------------------------------------------------

    @cached_property
    def _is_plain(self) -> bool:
        """Whether all columns are numbers that mean nothing but themselves."""
        return not self.is_category.any() and all(c.time is None for c in self.columns)

    def _fits(self, X: Array) -> bool:
        """Whether an array can be used as it is (a few hundred nanoseconds)."""
        flags = X.flags
        return (
            (flags.c_contiguous or flags.f_contiguous)  # flags.farray is also true for strides
            and flags.aligned
            and flags.writeable
            and X.dtype.char in "fd"
            and X.dtype.isnative
            and X.ndim == 2
            and X.shape[1] == len(self.columns)
            and X.shape[0] > 0
        )

    @cached_property
    def _labels(self) -> dict[int, tuple[Array, Array]] | None:
        """Labels of each category column, ascending, and their numbers; None if not floats."""
        labels = {}
        for index in np.flatnonzero(self.is_category).tolist():
            known = self.columns[index].categories or ()
            if any(isinstance(label, str) or abs(label) > EXACT_INTEGERS for label in known):
                return None
            values = np.array([*known, math.nan], np.float64)  # NaN is behind all others
            order = np.argsort(values)
            labels[index] = values[order], order.astype(np.float64)
        return labels

    def _number(self, X: Any) -> Array | None:
        """Number the categories of a float array; None where `read` has to look closer."""
        if self.named or type(X) is not np.ndarray or not self._fits(X) or self._labels is None:
            return None
        if any(column.time is not None for column in self.columns):
            return None
        matrix = np.array(X, np.float64, order="F")
        if find_infinite(matrix.ravel("K")) >= 0:
            return None
        for index, (labels, numbers) in self._labels.items():
            column = matrix[:, index]
            place = labels.searchsorted(column)
            known = labels[place] == column
            if self.unseen != "missing" and not (known | np.isnan(column)).all():
                return None
            column[:] = np.where(known, numbers[place], np.nan)
        return matrix

    def _match(self, table: Table, estimator_name: str) -> Sequence[int]:
        """For each column of the schema, where it is in the table."""
        if self.named and table.names is not None:
            if table.names == self.feature_names:
                return range(self.n_features)
            place = {name: i for i, name in enumerate(table.names)}
            _check_names(self.feature_names, place)
            return [place[name] for name in self.feature_names]
        if table.shape[1] != self.n_features:
            raise ValueError(
                f"X has {table.shape[1]} features, but {estimator_name} is expecting "
                f"{self.n_features} features as input."
            )
        return range(self.n_features)

    def _read_column(self, known: ColumnSchema, column: Column, title: str) -> Numbers | Array:
        """One column of a new table as numbers or as category numbers."""
        if known.kind == "identity":
            return column if isinstance(column, Numbers) else _known_or_missing(column).codes
        if known.kind == "number":
            if isinstance(column, Numbers):
                return _on_scale(known, column, title)
            numbers = None if known.time is not None else categories_to_numbers(column)
            if numbers is None and known.time is not None:
                _refuse_other_scale(known, column, title)
            if numbers is None:
                raise ValueError(
                    f"{title} held numbers in fit ({known.dtype}) but holds strings now "
                    f"({column.dtype}), for instance {short(column.labels[0])}. Convert it to "
                    "numbers, or fit on strings too."
                )
            return numbers
        if isinstance(column, Numbers):
            column = numbers_to_categories(column, title)
        _check_labels(known, column, title)
        lookup = known.number_of
        table = [lookup.get(label, _UNSEEN) for label in column.labels]
        codes = np.array([*table, _MISSING], np.int64)[column.codes]
        if _UNSEEN in table:
            self._settle_unseen(known, column, codes, title)
        return codes

    def _settle_unseen(
        self, known: ColumnSchema, column: Categories, codes: Array, title: str
    ) -> None:
        """Replace unseen categories by what ``unseen`` says, in place."""
        rows = np.flatnonzero(codes == _UNSEEN)
        if self.unseen == "error" and len(rows):
            labels = [column.labels[code] for code in dict.fromkeys(column.codes[rows].tolist())]
            raise ValueError(
                f"{title} holds categories that were not there in fit: {listed(labels)} (first in "
                f"row {rows[0]}). Fit on data that has them, or choose unseen='missing' or "
                "unseen='other'."
            )
        codes[rows] = len(known.number_of) if self.unseen == "other" else _MISSING

    # --- JSON --------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The schema as plain JSON values."""
        columns = [
            {
                "name": column.name,
                "kind": column.kind,
                "dtype": column.dtype,
                "categories": None if column.categories is None else list(column.categories),
                **({} if column.time is None else {"time": column.time.to_dict()}),
            }
            for column in self.columns
        ]
        return {"columns": columns, "named": self.named, "unseen": self.unseen}

    @classmethod
    def from_dict(cls, content: Any) -> Schema:
        """Rebuild a schema from `to_dict`; anything else is a ValueError that says why."""
        fields = _fields(content, {"columns": list, "named": bool, "unseen": str}, "the schema")
        check_unseen(fields["unseen"])
        columns = tuple(
            _column_from_dict(column, f"column {i} of the schema")
            for i, column in enumerate(fields["columns"])
        )
        if not columns:
            raise ValueError("the schema has no columns")
        if len({column.name for column in columns}) < len(columns):
            raise ValueError("the schema has several columns with the same name")
        return cls(columns, fields["named"], fields["unseen"])


# --- learning ------------------------------------------------------------------------------


def _learn_column(table: Any, index: int, is_chosen: bool) -> Column:
    column: Column = table.column(index)
    if is_chosen and isinstance(column, Numbers):
        return numbers_to_categories(column, table.title(index))
    return column


def _column_schema(name: str, column: Column) -> ColumnSchema:
    if isinstance(column, Numbers):
        return ColumnSchema(name, "number", column.dtype, time=column.time)
    if column.labels is _IDENTITY:
        return ColumnSchema(name, "identity", column.dtype)
    return ColumnSchema(name, "category", column.dtype, tuple(column.labels))


# --- identities ----------------------------------------------------------------------------

_IDENTITY: list[Label] = ["known"]
_silent: ContextVar[bool] = ContextVar("silent", default=False)


@contextmanager
def identities_are_known() -> Iterator[None]:
    """Say nothing about identities: whoever fits many models on one table has said it."""
    token = _silent.set(True)
    try:
        yield
    finally:
        _silent.reset(token)


def _find_identities(read: Sequence[Column], title: Callable[[int], str]) -> list[int]:
    """Columns of categories that tell rows apart and nothing else; they are named in a warning."""
    found = []
    for index, column in enumerate(read):
        if isinstance(column, Numbers):
            continue
        known = column.codes[column.codes >= 0]
        if not identifies_rows(min(len(column.labels), len(known)), len(known)):
            continue
        n_distinct = int(np.count_nonzero(np.bincount(known, minlength=len(column.labels))))
        if identifies_rows(n_distinct, len(known)):
            found.append(index)
            if not _silent.get() and not reads_like_dates(column.labels):
                _warn_identity(title(index), n_distinct, len(known))
    return found


def _hint_at_dates(read: Sequence[Column], title: Callable[[int], str]) -> None:
    """Say of text that is dates that it is taken for text, and how it becomes dates."""
    for index, column in enumerate(read):
        if isinstance(column, Numbers) or column.declared or _silent.get():
            continue
        if reads_like_dates(column.labels):
            name = title(index)
            warn(
                f"{name[0].upper() + name[1:]} holds text that reads like dates, such as "
                f"{short(column.labels[0])}, and is taken for categories, which have no order and "
                "no new ones. Make it dates, for instance with "
                f"pandas.to_datetime({frame_line(name)}), here and in predict."
            )


def _warn_identity(title: str, n_distinct: int, n_known: int) -> None:
    title = title[0].upper() + title[1:]
    warn(
        f"{title} has {n_distinct:,} different values in {n_known:,} rows: it identifies rows and "
        "tells nothing about new ones. Leave it out, or make something of it that rows have in "
        "common."
    )


def _known_or_missing(column: Any) -> Categories:
    """What is left of an identity."""
    return column._replace(codes=np.where(column.codes < 0, _MISSING, 0), labels=_IDENTITY)


def _refuse_sparse_categories(names: Sequence[str]) -> None:
    if names:
        raise ValueError(
            "X is a sparse matrix, which holds numbers, but these columns are categories or dates: "
            f"{listed(names)}. Pass a data frame, or X.toarray()."
        )


# --- matching --------------------------------------------------------------------------------


def _warn_names(estimator_name: str, given: bool) -> None:
    """Say that columns are matched by position, in scikit-learn's words."""
    if given:
        message = f"X has feature names, but {estimator_name} was fitted without feature names"
    else:
        message = (
            f"X does not have valid feature names, but {estimator_name} was fitted with feature "
            "names"
        )
    warnings.warn(message, UserWarning, stacklevel=4)  # the caller of predict


def _check_names(expected: Sequence[str], given: Iterable[str]) -> None:
    """Name the columns that are new or gone, in scikit-learn's words."""
    extra, gone = sorted(set(given) - set(expected)), sorted(set(expected) - set(given))
    if not extra and not gone:
        return
    lines = ["The feature names should match those that were passed during fit."]
    for names, what in (
        (extra, "Feature names unseen at fit time:"),
        (gone, "Feature names seen at fit time, yet now missing:"),
    ):
        if names:
            lines += [what, *(f"- {name}" for name in names[:5])]
            lines += ["- ..."] if len(names) > 5 else []
    raise ValueError("\n".join(lines) + "\n")


def _on_scale(known: ColumnSchema, column: Numbers, title: str) -> Numbers:
    """Numbers of a new table in the unit in which fit counted them."""
    if known.time == column.time or column.is_empty:
        return column
    if known.time is None or column.time is None or known.time.kind != column.time.kind:
        _refuse_other_scale(known, column, title)
    if (known.time.zone is None) != (column.time.zone is None):
        was, now = known.time.zone or "no time zone", column.time.zone or "no time zone"
        zone = known.time.zone or column.time.zone
        raise ValueError(
            f"{title} held moments with {was} in fit, but with {now} now, so nobody knows "
            f"when they were. Give both the same, for instance with .dt.tz_localize({zone!r}) or, "
            "to have none, .dt.tz_localize(None)."
        )
    return column._replace(values=column.time.on(column.values, known.time), time=known.time)


def _refuse_other_scale(known: ColumnSchema, column: Column, title: str) -> NoReturn:
    """Say that dates are no numbers, and the reverse."""
    was = "numbers" if known.time is None else f"dates or times ({known.time.label})"
    time = column.time if isinstance(column, Numbers) else None
    now = "text or bools" if isinstance(column, Categories) else "numbers"
    now = now if time is None else f"dates or times ({time.label})"
    way = "Convert it to what it was in fit"
    if known.time is not None and time is None:
        what = "timedelta" if known.time.kind == DURATION else "datetime"
        way += f", for instance with pandas.to_{what}"
    raise ValueError(f"{title} held {was} in fit ({known.dtype}) but holds {now} now. {way}.")


def _check_labels(known: ColumnSchema, column: Categories, title: str) -> None:
    """Refuse strings where the categories were numbers, and the reverse."""
    strings = any(isinstance(label, str) for label in column.labels)
    others = any(not isinstance(label, str) for label in column.labels)
    if strings and not others and known.has_numbers and not known.has_strings:
        was, now = "numbers or bools", "strings"
    elif others and not strings and known.has_strings and not known.has_numbers:
        was, now = "strings", "numbers or bools"
    else:
        return
    raise ValueError(
        f"{title} held {was} as categories in fit ({known.dtype}, for instance "
        f"{short((known.categories or ('',))[0])}) but holds {now} now ({column.dtype}, for "
        f"instance {short(column.labels[0])}). Convert it to the type it had in fit."
    )


# --- reading JSON that may be hostile -----------------------------------------------------------


def _fields(content: Any, types: dict[str, Any], what: str) -> dict[str, Any]:
    """The content, after checking that it is a dict with exactly these keys and types."""
    if not isinstance(content, dict) or set(content) != set(types):
        raise ValueError(f"{what} must have exactly the keys {listed(sorted(types))}")
    for key, expected in types.items():
        if not isinstance(content[key], expected):
            raise ValueError(f"{what} has {short(content[key])} as {key!r}")
    return content


def _column_from_dict(content: Any, what: str) -> ColumnSchema:
    types = {"name": str, "kind": str, "dtype": str, "categories": (list, type(None))}
    if isinstance(content, dict) and "time" in content:
        types["time"] = dict
    fields = _fields(content, types, what)
    categories = fields["categories"]
    if fields["kind"] not in ("number", "category", "identity"):
        raise ValueError(f"{what} has the unknown kind {short(fields['kind'])}")
    if (categories is None) != (fields["kind"] != "category"):
        raise ValueError(f"{what}: categories must be there for a category, and only then")
    for label in categories or ():
        if not isinstance(label, (str, int, float)) or (
            isinstance(label, float) and not math.isfinite(label)
        ):
            raise ValueError(f"{what} has the category {short(label)}")
    if categories is not None and len(set(categories)) < len(categories):
        raise ValueError(f"{what} has the same category twice")
    if categories is not None:
        categories = tuple(categories)
    time = None
    if "time" in fields:
        time = TimeScale.from_dict(fields["time"], f"the time of {what}")
        if fields["kind"] != "number":
            raise ValueError(f"{what} has a time, but is no number")
    return ColumnSchema(fields["name"], fields["kind"], fields["dtype"], categories, time)

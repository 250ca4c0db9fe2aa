"""Rows and columns of whatever table the user has, without changing what it is.

A member is given the same kind of table as the ensemble: a data frame stays one, with its
names, and prediction finds its columns by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from hornbeam.data.frames import FrameTable
from hornbeam.data.inputs import ArrayTable, open_table
from hornbeam.dtypes import Array


@dataclass(frozen=True)
class TableRows:
    """A table that rows and columns can be taken from."""

    table: Any  # an array, a sparse matrix in csr format or a narwhals data frame
    is_frame: bool
    layout: str | None = None  # of a sparse matrix, as the user gave it

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.table.shape[0])

    @property
    def n_columns(self) -> int:
        """How many columns there are."""
        return int(self.table.shape[1])

    @property
    def native(self) -> Any:
        """The table as the kind that the user gave."""
        return self.table.to_native() if self.is_frame else self.table

    def part(self, rows: Array | None, columns: Array) -> Any:
        """Some rows (None: all) of some columns, as the kind of table that the user gave."""
        table = self.table if rows is None else self.table[rows]
        if not np.array_equal(columns, np.arange(self.n_columns)):
            table = table[:, columns.tolist()] if self.is_frame else table[:, columns]
        if self.is_frame:
            return table.to_native()
        return table if self.layout in (None, "csr") else table.asformat(self.layout)


def read_rows(X: Any, estimator: Any, fitted: bool) -> TableRows:
    """Look at a table; what is wrong with its columns is said in scikit-learn's words.

    Parameters
    ----------
    X : table
    estimator : object
        Who asks. Number and names of the columns are noted there, or compared with what is
        noted there if it is ``fitted``.
    fitted : bool

    Returns
    -------
    TableRows
    """
    rows = open_rows(X, type(estimator).__name__)
    known = getattr(estimator, "feature_names_in_", None) if fitted and rows.is_frame else None
    if known is not None and set(known) == set(rows.table.columns):
        rows = TableRows(rows.table.select(list(known)), True)
    validate_data(estimator, rows.native, reset=not fitted, skip_check_array=True)
    return rows


def open_rows(X: Any, name: str) -> TableRows:
    """A table as rows and columns; ``name`` is who asks, in errors."""
    table = open_table(X, name)
    if isinstance(table, FrameTable):
        return TableRows(table.frame, True)
    if isinstance(table, ArrayTable):
        values: Any = table.values if table.mask is None else _unmasked(table.values, table.mask)
        return TableRows(values, False)
    layout = "csc" if table.values.format == "csc" else "csr"
    return TableRows(table.values.tocsr(), False, layout)


def _unmasked(values: Array, mask: Array) -> Array:
    """A masked array with its masked entries as missing values."""
    numbers = values.dtype.kind in "fiub"
    plain = values.astype(np.float64 if numbers else object)
    plain[mask] = np.nan if numbers else None
    return plain

"""The training table as boosting reads it: codes by row for counting, by feature for parting."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hornbeam.data.coding import Codes
from hornbeam.dtypes import BIN, Array
from hornbeam.kernels.boosting.pack import pack_rows
from hornbeam.runtime.team import run_parallel

_PACK_ROWS = 1 << 14
_SECONDS_PER_CODE = 0.5e-9
_LINE = 64  # bytes of a cache line


@dataclass(frozen=True, eq=False)
class CodedTable:
    """Codes in both layouts.

    Attributes
    ----------
    codes : Codes
        By feature, with the code books.
    by_row : uint8 array, shape (n_rows, stride)
    cell_start : int64 array, length n_features + 1
        First cell of each feature in a histogram; one for every code and one for missing.
    """

    codes: Codes
    by_row: Array
    cell_start: Array

    @property
    def n_rows(self) -> int:
        """How many rows the table has."""
        return int(self.codes.columns.shape[1])

    @property
    def n_features(self) -> int:
        """How many features the table has."""
        return len(self.codes.n_codes)

    @property
    def n_cells(self) -> int:
        """Cells of a histogram over all features."""
        return int(self.cell_start[-1])


def code_table(codes: Codes, n_jobs: int | None) -> CodedTable:
    """Lay the codes out by row as well."""
    n_features, n_rows = codes.columns.shape
    by_row = np.empty((n_rows, _stride(n_features)), BIN)

    def pack(task: int) -> None:
        first = task * _PACK_ROWS
        pack_rows(codes.columns, first, min(first + _PACK_ROWS, n_rows), by_row)

    n_tasks = -(-n_rows // _PACK_ROWS)
    run_parallel(pack, n_tasks, n_jobs, n_rows * n_features * _SECONDS_PER_CODE)
    cell_start = np.concatenate([[0], np.cumsum(codes.n_codes + 1)]).astype(np.int64)
    return CodedTable(codes, by_row, cell_start)


def _stride(n_features: int) -> int:
    """Bytes of a row: narrow rows are padded so that none lies across two cache lines."""
    if n_features >= _LINE:
        return n_features
    stride = 1
    while stride < n_features:
        stride *= 2
    return stride

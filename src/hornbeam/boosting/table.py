"""The training table as boosting reads it: codes by row for counting, by column for parting."""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from hornbeam.boosting.bundles import Bundles, find_bundles, no_bundles
from hornbeam.data.coding import Codes, encode_bins, encode_like, find_zero_code
from hornbeam.data.sparse_coding import SparseCodes, encode_sparse_bins, encode_sparse_like
from hornbeam.dtypes import BIN, MISSING_BIN, Array
from hornbeam.kernels.boosting.pack import pack_bundles, pack_rows
from hornbeam.runtime.team import run_parallel

_PACK_ROWS = 1 << 14
_SECONDS_PER_CODE = 0.5e-9
_LINE = 64  # bytes of a cache line
_MANY_CODES = 1 << 22  # below, what is left over is not worth a system call


@dataclass(frozen=True, eq=False)
class CodedTable:
    """Codes in both layouts; of a sparse table only the entries that are not zero.

    Attributes
    ----------
    codes : Codes or SparseCodes
        The code books, and the entries of a sparse table; other codes are in the layouts.
    n_rows : int
    cell_start : int64 array, length n_features + 1
        First cell of each feature in a histogram; one for every code and one for missing.
    by_row : uint8 array, shape (n_rows, stride)
        Empty for a sparse table.
    by_column : uint8 array, shape (n_columns, n_rows)
        Empty for a sparse table, and for one that no tree is grown on.
    bundles : Bundles
        Which features share a column.
    features : int64 array
        The features that can part the rows, ascending; only these are searched.
    entry_start, entry_cell : int64 and int32 array
        Sparse table: the cells that row i counts in are
        entry_cell[entry_start[i] : entry_start[i + 1]], ascending.
    """

    codes: Codes | SparseCodes
    n_rows: int
    cell_start: Array
    by_row: Array
    by_column: Array
    bundles: Bundles
    features: Array
    entry_start: Array
    entry_cell: Array

    def parting(self, least_rows: int) -> CodedTable:
        """The same table, in which features that cannot part its rows take no time.

        Most words of a collection of texts are in fewer documents than a leaf must have. The
        side of a split that has no zeros would be too small.
        """
        can_part = self._count_others() >= least_rows
        if can_part.all() or not can_part.any():
            return self
        if isinstance(self.codes, SparseCodes):
            return _lay_out_sparse(self.codes, can_part)
        return replace(self, features=np.flatnonzero(can_part))

    def _count_others(self) -> Array:
        """How many rows of each feature have another code than that of zeros."""
        if isinstance(self.codes, SparseCodes):
            return self.codes.count_others()
        bundles, zero = self.bundles, find_zero_code(self.codes.edges, self.codes.edge_start)
        others = np.full(self.n_features, self.n_rows)  # of a category: there are no zeros
        for feature in np.flatnonzero(self.codes.is_category == 0).tolist():
            column, code = self.by_column[bundles.column[feature]], zero[feature]
            if not bundles.is_shared[feature]:
                is_other = column != code
            elif code == bundles.default[feature]:  # it is not in the column
                start = bundles.offset[feature]
                is_other = (column >= start) & (column < start + bundles.width[feature])
            else:
                is_other = column != bundles.lookup(feature, self.codes.n_codes[feature])[code]
            others[feature] = np.count_nonzero(is_other)
        return others

    def __getitem__(self, mask: Array) -> CodedTable:
        """Some of the rows, coded as they are; ``mask`` tells which."""
        if isinstance(self.codes, SparseCodes):
            return _lay_out_sparse(self.codes[mask])
        rows = np.flatnonzero(mask)
        by_column = self.by_column.take(rows, axis=1)
        return replace(self, n_rows=len(rows), by_row=self.by_row[rows], by_column=by_column)

    @property
    def is_sparse(self) -> bool:
        """Whether only entries that are not zero are there."""
        return isinstance(self.codes, SparseCodes)

    @property
    def n_features(self) -> int:
        """How many features the table has."""
        return len(self.codes.n_codes)

    @property
    def n_cuts(self) -> int:
        """In how many places the features can be cut, all together."""
        return int(np.maximum(self.codes.n_codes.astype(np.int64) - 1, 0).sum())

    @property
    def n_cells(self) -> int:
        """Cells of a histogram over all features."""
        return int(self.cell_start[-1])


def code_table(
    matrix: Any, is_category: Array, n_categories: Array, max_bins: int, n_jobs: int | None
) -> CodedTable:
    """Code a table, learning its bins."""
    if scipy.sparse.issparse(matrix):
        return _lay_out_sparse(encode_sparse_bins(matrix, max_bins, n_jobs))
    codes = encode_bins(matrix, is_category, n_categories, max_bins=max_bins, n_jobs=n_jobs)
    table = _lay_out(codes, find_bundles(codes.columns, codes.n_codes), n_jobs)
    if codes.columns.size > _MANY_CODES:
        del codes
        _give_back()
    return table


def code_table_like(table: CodedTable, matrix: Any, n_jobs: int | None) -> CodedTable:
    """Code another table by the same bins."""
    if isinstance(table.codes, SparseCodes):
        return _lay_out_sparse(encode_sparse_like(table.codes, matrix, n_jobs))
    if scipy.sparse.issparse(matrix):
        matrix = matrix.toarray()
    codes = encode_like(table.codes, matrix, n_jobs)
    coded = _lay_out(codes, no_bundles(len(codes.n_codes)), n_jobs)
    return replace(coded, by_column=np.empty((0, 0), BIN))  # scores follow trees row by row


def _give_back() -> None:
    """Let the system have the memory that coding has freed, where the C library keeps it."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # only glibc has it
        if trim is not None:
            trim(0)


def _cell_start(n_codes: Array) -> Array:
    return np.concatenate([[0], np.cumsum(n_codes + 1)]).astype(np.int64)


def _lay_out(codes: Codes, bundles: Bundles, n_jobs: int | None) -> CodedTable:
    """Lay the codes out by column and by row."""
    n_features, n_rows = codes.columns.shape
    by_column, lookup = codes.columns, np.empty(0)
    if bundles.is_shared.any():
        by_column = np.zeros((bundles.n_columns, n_rows), BIN)
        lookup = np.array([bundles.lookup(f, int(codes.n_codes[f])) for f in range(n_features)])
    by_row = np.empty((n_rows, _stride(bundles.n_columns)), BIN)

    def pack(task: int) -> None:
        first, last = task * _PACK_ROWS, min((task + 1) * _PACK_ROWS, n_rows)
        if len(lookup):
            pack_bundles(codes.columns, bundles.column, lookup, first, last, by_column)
        pack_rows(by_column, first, last, by_row)

    n_tasks = -(-n_rows // _PACK_ROWS)
    run_parallel(pack, n_tasks, n_jobs, n_rows * n_features * _SECONDS_PER_CODE)
    books = codes.without_rows()
    cells = _cell_start(codes.n_codes)
    nothing = np.empty(0, np.int64)
    entries = (nothing, nothing.astype(np.int32))
    features = np.arange(n_features)
    return CodedTable(books, n_rows, cells, by_row, by_column, bundles, features, *entries)


def _lay_out_sparse(codes: SparseCodes, can_part: Array | None = None) -> CodedTable:
    """Turn entries by feature into entries by row; of features that cannot part them, none."""
    n_features, n_entries = len(codes.n_codes), np.diff(codes.column_start)
    if can_part is None:
        can_part = np.ones(n_features, bool)
    cell_start = _cell_start(np.where(can_part, codes.n_codes, -1))
    kept = np.repeat(can_part, n_entries)
    n_entries = np.where(can_part, n_entries, 0)
    code = codes.column_code[kept].astype(np.int32)
    missing = code == MISSING_BIN
    code[missing] = np.repeat(codes.n_codes, n_entries)[missing]
    cell = np.repeat(cell_start[:-1], n_entries).astype(np.int32) + code
    start = np.concatenate([[0], np.cumsum(n_entries)])
    entries = (cell, codes.column_row[kept], start)
    by_column = scipy.sparse.csc_array(entries, (codes.n_rows, n_features))
    by_row = by_column.tocsr()  # stable, so the cells of a row ascend
    entry_start, entry_cell = by_row.indptr.astype(np.int64), by_row.data
    bundles, features = no_bundles(n_features), np.flatnonzero(can_part)
    nothing = np.empty((0, 0), BIN)
    layouts = (nothing, nothing, bundles, features, entry_start, entry_cell)
    return CodedTable(codes, codes.n_rows, cell_start, *layouts)


def _stride(n_features: int) -> int:
    """Bytes of a row: narrow rows are padded so that none lies across two cache lines."""
    if n_features >= _LINE:
        return n_features
    stride = 1
    while stride < n_features:
        stride *= 2
    return stride

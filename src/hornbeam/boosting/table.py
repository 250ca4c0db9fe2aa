"""The training table as boosting reads it: pages of codes, by row and by column."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from hornbeam.boosting.bundles import Bundles, find_bundles, no_bundles
from hornbeam.data.coding import Codes, encode_bins, encode_like, find_zero_code
from hornbeam.data.pages import Pages, page_borders
from hornbeam.data.sparse_coding import SparseCodes, encode_sparse_bins, encode_sparse_like
from hornbeam.dtypes import BIN, MISSING_BIN, Array
from hornbeam.kernels.boosting.pack import pack_bundles, pack_rows
from hornbeam.runtime.team import run_parallel

_PACK_ROWS = 1 << 14
_SECONDS_PER_CODE = 0.5e-9
_LINE = 64  # bytes of a cache line
_MANY_CODES = 1 << 22  # below, what is left over is not worth a system call


@dataclass(frozen=True, eq=False)
class DenseLayout:
    """The codes of a page in both layouts.

    Attributes
    ----------
    by_row : uint8 array, shape (n_rows, stride)
    by_column : uint8 array, shape (n_columns, n_rows)
        Empty in a table that no tree is grown on.
    """

    by_row: Array
    by_column: Array

    def __getitem__(self, mask: Array) -> DenseLayout:
        """Some of the rows; ``mask`` tells which."""
        rows = np.flatnonzero(mask)
        return DenseLayout(self.by_row[rows], self.by_column.take(rows, axis=1))


@dataclass(frozen=True, eq=False)
class SparseLayout:
    """The entries of a page that are not zero, by feature and by row.

    Attributes
    ----------
    codes : SparseCodes
        The entries by feature.
    entry_start, entry_cell : int64 and int32 array
        The cells that row i of the page counts in are
        entry_cell[entry_start[i] : entry_start[i + 1]], ascending.
    """

    codes: SparseCodes
    entry_start: Array
    entry_cell: Array


Layout = DenseLayout | SparseLayout


@dataclass(frozen=True, eq=False)
class CodedTable:
    """Pages of codes, and what all of them have in common.

    Attributes
    ----------
    codes : Codes or SparseCodes
        The code books; the codes are in the layouts of the pages.
    pages : Pages of DenseLayout or SparseLayout
    cell_start : int64 array, length n_features + 1
        First cell of each feature in a histogram; one for every code and one for missing.
    bundles : Bundles
        Which features share a column.
    features : int64 array
        The features that can part the rows, ascending; only these are searched.
    """

    codes: Codes | SparseCodes
    pages: Pages[Any]
    cell_start: Array
    bundles: Bundles
    features: Array

    def parting(self, least_rows: int) -> CodedTable:
        """The same table, in which features that cannot part its rows take no time.

        Most words of a collection of texts are in fewer documents than a leaf must have. The
        side of a split that has no zeros would be too small.
        """
        can_part = self._count_others() >= least_rows
        if can_part.all() or not can_part.any():
            return self
        if isinstance(self.codes, SparseCodes):
            return _lay_out_sparse(self.codes, self._sparse_pages(), can_part)
        return replace(self, features=np.flatnonzero(can_part))

    def _count_others(self) -> Array:
        """How many rows of each feature have another code than that of zeros."""
        if isinstance(self.codes, SparseCodes):
            counts = [codes.count_others() for codes in self._sparse_pages().codes]
            return np.array(counts).sum(axis=0)
        bundles, zero = self.bundles, find_zero_code(self.codes.edges, self.codes.edge_start)
        others = np.full(self.n_features, self.n_rows)  # of a category: there are no zeros
        for feature in np.flatnonzero(self.codes.is_category == 0).tolist():
            code, start = zero[feature], bundles.offset[feature]
            is_shared = bundles.is_shared[feature]
            in_default = is_shared and code == bundles.default[feature]  # it is not in the column
            if is_shared and not in_default:
                code = bundles.lookup(feature, self.codes.n_codes[feature])[code]
            others[feature] = 0
            for page in self.pages:
                column = page.codes.by_column[bundles.column[feature]]
                is_other = column != code
                if in_default:
                    is_other = (column >= start) & (column < start + bundles.width[feature])
                others[feature] += np.count_nonzero(is_other)
        return others

    def _sparse_pages(self) -> Pages[SparseCodes]:
        """The entries of each page by feature."""
        return Pages(self.pages.border, tuple(layout.codes for layout in self.pages.codes))

    def __getitem__(self, mask: Array) -> CodedTable:
        """Some of the rows, coded as they are; ``mask`` tells which."""
        if isinstance(self.codes, SparseCodes):
            some = self._sparse_pages().chosen(mask, lambda codes, kept: codes[kept])
            return _lay_out_sparse(self.codes, some)
        return replace(self, pages=self.pages.chosen(mask, lambda layout, kept: layout[kept]))

    @property
    def bundled_columns(self) -> list[list[int]]:
        """The columns of the matrix that are counted together, bundle by bundle."""
        source = None if isinstance(self.codes, SparseCodes) else self.codes.source
        named = (b if source is None else np.unique(source[b]) for b in self.bundles.shared)
        return [bundle.tolist() for bundle in named if len(bundle) > 1]

    @property
    def is_sparse(self) -> bool:
        """Whether only entries that are not zero are there."""
        return isinstance(self.codes, SparseCodes)

    @property
    def n_rows(self) -> int:
        """How many rows the table has."""
        return self.pages.n_rows

    @property
    def n_pairs(self) -> int:
        """How many codes are counted where every row is: those of entries, or of columns."""
        if self.is_sparse:
            return sum(len(layout.entry_cell) for layout in self.pages.codes)
        return self.n_rows * self.bundles.n_columns

    @property
    def n_features(self) -> int:
        """How many features the table has."""
        return len(self.codes.n_codes)

    @property
    def column_of_feature(self) -> Array:
        """The column of the user's table that each feature codes."""
        features = np.arange(self.n_features)
        return self.codes.column_of(features) if isinstance(self.codes, Codes) else features

    @property
    def n_cuts(self) -> int:
        """In how many places the features can be cut, all together."""
        return int(np.maximum(self.codes.n_codes.astype(np.int64) - 1, 0).sum())

    @property
    def n_cells(self) -> int:
        """Cells of a histogram over all features."""
        return int(self.cell_start[-1])


def code_table(
    matrix: Any,
    is_category: Array,
    n_categories: Array,
    max_bins: int,
    n_jobs: int | None,
    widen: Callable[[Codes], Codes] | None = None,
    max_conflict_rate: float | None = 0.0,
) -> CodedTable:
    """Code a table, learning its bins.

    ``widen`` codes columns with more categories than bins in other ways, too (see `data.facets`).
    Exclusive features share columns unless ``max_conflict_rate`` is None. Those of a sparse table
    do not: it is counted entry by entry.
    """
    if scipy.sparse.issparse(matrix):
        return _cut_sparse(encode_sparse_bins(matrix, max_bins, n_jobs))
    codes = encode_bins(matrix, is_category, n_categories, max_bins=max_bins, n_jobs=n_jobs)
    if codes.category_code and widen is not None:
        codes = widen(codes)
    bundles = no_bundles(len(codes.n_codes))
    if max_conflict_rate is not None:
        bundles = find_bundles(codes.columns, codes.n_codes, max_conflict_rate)
    table = _lay_out(codes, bundles, n_jobs)
    if codes.n_rows * len(codes.n_codes) > _MANY_CODES:
        del codes
        _give_back()
    return table


def code_table_like(table: CodedTable, matrix: Any, n_jobs: int | None) -> CodedTable:
    """Code another table by the same bins."""
    if isinstance(table.codes, SparseCodes):
        return _cut_sparse(encode_sparse_like(table.codes, matrix, n_jobs))
    if scipy.sparse.issparse(matrix):
        matrix = matrix.toarray()
    codes = encode_like(table.codes, matrix, n_jobs)
    coded = _lay_out(codes, no_bundles(len(codes.n_codes)), n_jobs)
    nothing = np.empty((0, 0), BIN)  # scores follow trees row by row
    layouts = tuple(DenseLayout(layout.by_row, nothing) for layout in coded.pages.codes)
    return replace(coded, pages=Pages(coded.pages.border, layouts))


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
    columns = by_column = codes.columns
    (n_features, n_rows), lookup = columns.shape, np.empty(0)
    if bundles.is_shared.any():
        by_column = np.zeros((bundles.n_columns, n_rows), BIN)
        lookup = np.array([bundles.lookup(f, int(codes.n_codes[f])) for f in range(n_features)])
    by_row = np.empty((n_rows, row_stride(bundles.n_columns)), BIN)

    def pack(task: int) -> None:
        first, last = task * _PACK_ROWS, min((task + 1) * _PACK_ROWS, n_rows)
        if len(lookup):
            pack_bundles(columns, bundles.column, lookup, first, last, by_column)
        pack_rows(by_column, first, last, by_row)

    n_tasks = -(-n_rows // _PACK_ROWS)
    run_parallel(pack, n_tasks, n_jobs, n_rows * n_features * _SECONDS_PER_CODE)

    def take(start: int, stop: int) -> DenseLayout:
        return DenseLayout(by_row[start:stop], np.ascontiguousarray(by_column[:, start:stop]))

    pages = Pages.cut(page_borders(n_rows), take)
    books = codes.without_rows()
    return CodedTable(books, pages, _cell_start(codes.n_codes), bundles, np.arange(n_features))


def _cut_sparse(codes: SparseCodes) -> CodedTable:
    """Cut a sparse table into pages, and lay these out."""
    row = np.arange(codes.n_rows)

    def take(start: int, stop: int) -> SparseCodes:
        is_whole = start == 0 and stop == codes.n_rows
        return codes if is_whole else codes[(row >= start) & (row < stop)]

    pages = Pages.cut(page_borders(codes.n_rows), take)
    return _lay_out_sparse(codes.without_entries(), pages)


def _lay_out_sparse(
    books: SparseCodes, pages: Pages[SparseCodes], can_part: Array | None = None
) -> CodedTable:
    """Lay the entries of all pages out by row; of features that cannot part the rows, none."""
    n_features = len(books.n_codes)
    if can_part is None:
        can_part = np.ones(n_features, bool)
    cell_start = _cell_start(np.where(can_part, books.n_codes, -1))
    layouts = tuple(_by_row(codes, cell_start, can_part) for codes in pages.codes)
    features = np.flatnonzero(can_part)
    laid_out = Pages(pages.border, layouts)
    return CodedTable(books, laid_out, cell_start, no_bundles(n_features), features)


def _by_row(codes: SparseCodes, cell_start: Array, can_part: Array) -> SparseLayout:
    """Turn entries by feature into entries by row."""
    n_features, n_entries = len(codes.n_codes), np.diff(codes.column_start)
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
    return SparseLayout(codes, by_row.indptr.astype(np.int64), by_row.data)


def row_stride(n_features: int) -> int:
    """Bytes of a row: narrow rows are padded so that none lies across two cache lines."""
    if n_features >= _LINE:
        return n_features
    stride = 1
    while stride < n_features:
        stride *= 2
    return stride

"""The training table of exact and approximate boosting: rows listed by the values of each feature.

Codes are ranks of the distinct values; the border above a code is the middle to the next value.
So these are the code books of histograms with as many bins as there are values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from hornbeam.boosting.bundles import no_bundles
from hornbeam.boosting.table import CodedTable
from hornbeam.data.coding import (
    Codes,
    encode_bins,
    encode_like,
    encode_ranks,
    midpoints,
)
from hornbeam.data.pages import Pages
from hornbeam.data.sparse_coding import SparseCodes
from hornbeam.dtypes import MISSING_BIN, Array
from hornbeam.kernels.boosting.listed import BOTH, CANDIDATE, list_rows
from hornbeam.runtime.team import run_parallel

_SECONDS_PER_ENTRY = 20e-9
_NO_ROWS = np.empty(0, np.int32)


@dataclass(frozen=True, eq=False)
class ListedLayout:
    """The ranks of all rows.

    Attributes
    ----------
    n_rows : int
    rank : int32 array
        Feature by feature the rank of every row, -1 if it is missing; or, of a sparse table, of
        every entry.
    column_start, column_row : int64 and int32 array
        Sparse table: the entries of feature f, by row, are column_start[f] .. column_start[f + 1].
    """

    n_rows: int
    rank: Array
    column_start: Array
    column_row: Array


@dataclass(frozen=True, eq=False)
class ColumnLists:
    """The rows of each feature by value, see kernels/boosting/listed.py.

    Attributes
    ----------
    entry : int32 array
    start : int64 array, length n_features + 1
    zero_at, known_at : int32 array
        Where in a list the negative entries of a sparse table end, and where the known values do.
    """

    entry: Array
    start: Array
    zero_at: Array
    known_at: Array


@dataclass(frozen=True, eq=False)
class ListedTable(CodedTable):
    """A coded table of one page: a list of rows goes through the whole table."""

    n_jobs: int | None = None

    @property
    def layout(self) -> ListedLayout:
        """The ranks."""
        layout: ListedLayout = self.pages.codes[0]
        return layout

    def parting(self, least_rows: int) -> CodedTable:
        """The same table, in which features that cannot part its rows are not searched."""
        can_part = self._count_others() >= least_rows
        if can_part.all() or not can_part.any():
            return self
        return replace(self, features=np.flatnonzero(can_part))

    def _count_others(self) -> Array:
        """How many rows of each feature have another code than that of zeros."""
        codes, layout = self.codes, self.layout
        if isinstance(codes, SparseCodes):
            column = np.repeat(np.arange(self.n_features), np.diff(layout.column_start))
            others = column[layout.rank != codes.zero_code[column]]
            return np.bincount(others, minlength=self.n_features)
        below = np.concatenate([[0], np.cumsum(codes.edges < 0.0)])
        zero = np.diff(below[codes.edge_start])
        ranks = layout.rank.reshape(self.n_features, -1)
        pairs = zip(ranks, zero, codes.is_category, strict=True)
        others = [self.n_rows if kind else np.count_nonzero(r != z) for r, z, kind in pairs]
        return np.array(others, np.int64)

    def __getitem__(self, mask: Array) -> CodedTable:
        """Some of the rows, with the same ranks."""
        layout, n_kept = self.layout, int(np.count_nonzero(mask))
        if not self.is_sparse:
            rank = layout.rank.reshape(-1, layout.n_rows)[:, mask].ravel()
            chosen = replace(layout, n_rows=n_kept, rank=rank)
        else:
            kept = mask[layout.column_row]
            row = (np.cumsum(mask) - 1)[layout.column_row[kept]].astype(np.int32)
            start = np.concatenate([[0], np.cumsum(kept)])[layout.column_start]
            chosen = ListedLayout(n_kept, layout.rank[kept], start.astype(np.int64), row)
        return replace(self, pages=_one_page(chosen))

    @property
    def n_pairs(self) -> int:
        """How many entries are listed at most."""
        return len(self.layout.rank)

    @cached_property
    def lists(self) -> ColumnLists:
        """The sorted lists, which all growers share."""
        return _list_entries(self) if self.is_sparse else _list_columns(self)


def _one_page(layout: ListedLayout) -> Pages[Any]:
    return Pages(np.array([0, layout.n_rows], np.int64), (layout,))


def list_table(
    matrix: Any, is_category: Array, n_categories: Array, max_bins: int, n_jobs: int | None
) -> ListedTable:
    """List the rows of a table; ``max_bins`` is for categories only."""
    if matrix.shape[0] > CANDIDATE:
        raise ValueError(
            f"X has {matrix.shape[0]} rows, but split='exact' and split='approximate' list at most "
            f"{CANDIDATE}: set split='histogram'."
        )
    if scipy.sparse.issparse(matrix):
        return _list_sparse(matrix, n_jobs)
    is_category = np.asarray(is_category, bool)
    none = np.zeros(len(is_category), bool)
    ranks = encode_ranks(matrix, none, np.zeros(len(none), np.int64), n_jobs, with_values=True)
    rank = ranks.columns.view(np.int32)  # the code of a missing value is -1
    cell_start, codes = np.zeros(len(none) + 1, np.int64), ranks
    edges = []
    for feature in range(len(none)):
        values = ranks.edges[ranks.edge_start[feature] : ranks.edge_start[feature + 1]]
        keep = not is_category[feature]
        edges.append(midpoints(values[:-1], values[1:]) if keep else np.empty(0))
    n_codes, kinds = ranks.n_codes.copy(), is_category.astype(np.uint8)
    category_code = {}
    if is_category.any():
        chosen = np.flatnonzero(is_category)
        some = np.asarray(n_categories)[chosen]
        held = encode_bins(matrix[:, chosen], none[chosen] | True, some, max_bins, n_jobs)
        rank[chosen] = np.where(held.columns == MISSING_BIN, -1, held.columns.astype(np.int32))
        n_codes[chosen] = held.n_codes
        category_code = {int(chosen[k]): table for k, table in held.category_code.items()}
        cell_start[1:] = np.cumsum(np.where(is_category, n_codes + 1, 0))
    codes = replace(
        ranks,
        n_codes=n_codes,
        is_category=kinds,
        edges=np.concatenate([*edges, np.empty(0)]),
        edge_start=np.concatenate([[0], np.cumsum([len(e) for e in edges])]).astype(np.int64),
        category_code=category_code,
    ).without_rows()
    no_start = np.zeros(len(none) + 1, np.int64)
    layout = ListedLayout(matrix.shape[0], np.ascontiguousarray(rank).ravel(), no_start, _NO_ROWS)
    return _table(codes, layout, cell_start, n_jobs)


def list_table_like(table: ListedTable, matrix: Any, n_jobs: int | None) -> ListedTable:
    """The ranks of other rows among the values of a first table."""
    codes, n_features = table.codes, table.n_features
    if isinstance(codes, SparseCodes):
        stored = _stored(matrix)
        column = np.repeat(np.arange(n_features), np.diff(stored.indptr))
        rank = np.empty(len(stored.data), np.int32)
        for feature in np.unique(column).tolist():
            some = slice(stored.indptr[feature], stored.indptr[feature + 1])
            rank[some] = _find_ranks(codes, feature, stored.data[some])
        start = stored.indptr.astype(np.int64)
        layout = ListedLayout(matrix.shape[0], rank, start, stored.indices.astype(np.int32))
        return replace(table, pages=_one_page(layout), n_jobs=n_jobs)
    if scipy.sparse.issparse(matrix):
        matrix = matrix.toarray()
    ranks = np.empty((n_features, matrix.shape[0]), np.int32)
    categories = np.flatnonzero(codes.is_category)
    if len(categories):
        held = encode_like(_categories_alone(codes), matrix[:, categories], n_jobs).columns
        ranks[categories] = np.where(held == MISSING_BIN, -1, held.astype(np.int32))

    def find(feature: int) -> None:
        if not codes.is_category[feature]:
            ranks[feature] = _find_ranks(codes, feature, matrix[:, feature])

    run_parallel(find, n_features, n_jobs, ranks.size * _SECONDS_PER_ENTRY)
    no_start = np.zeros(n_features + 1, np.int64)
    layout = ListedLayout(matrix.shape[0], ranks.ravel(), no_start, _NO_ROWS)
    return replace(table, pages=_one_page(layout), n_jobs=n_jobs)


def _table(
    codes: Codes | SparseCodes, layout: ListedLayout, cell_start: Array, n_jobs: int | None
) -> ListedTable:
    n_features = len(codes.n_codes)
    bundles, features = no_bundles(n_features), np.arange(n_features)
    return ListedTable(codes, _one_page(layout), cell_start, bundles, features, n_jobs)


def _find_ranks(codes: Any, feature: int, values: Array) -> Array:
    """The rank of each value: how many borders lie below it."""
    edges = codes.edges[codes.edge_start[feature] : codes.edge_start[feature + 1]]
    found = np.searchsorted(edges, values, "left").astype(np.int32)
    return np.where(np.isnan(values), np.int32(-1), found)


def _categories_alone(codes: Any) -> Codes:
    """The code books of the categories."""
    chosen = np.flatnonzero(codes.is_category)
    nothing = np.zeros(len(chosen) + 1, np.int64)
    folded = {k: codes.category_code[f] for k, f in enumerate(chosen) if f in codes.category_code}
    return replace(
        codes,
        n_codes=codes.n_codes[chosen],
        is_category=codes.is_category[chosen],
        edges=np.empty(0),
        edge_start=nothing,
        middles=np.empty(0),
        middle_start=nothing,
        category_code=folded,
    )


def _list_columns(table: ListedTable) -> ColumnLists:
    """Sort the rows of each feature by counting their ranks."""
    n_rows, n_features = table.n_rows, table.n_features
    rank = table.layout.rank.reshape(n_features, n_rows)
    is_number = table.codes.is_category == 0
    n_known = np.array(
        [np.count_nonzero(r >= 0) if n else 0 for r, n in zip(rank, is_number, strict=True)]
    )
    start = np.concatenate([[0], np.cumsum(n_known)]).astype(np.int64)
    entry = np.zeros(int(start[-1]), np.int32)

    def fill(feature: int) -> None:
        if not is_number[feature]:
            return
        counts = np.bincount(rank[feature] + 1, minlength=int(table.codes.n_codes[feature]) + 1)
        starts = np.concatenate([[0], np.cumsum(counts[1:])])[:-1].astype(np.int64)
        list_rows(rank[feature], starts, entry[start[feature] : start[feature + 1]])

    run_parallel(fill, n_features, table.n_jobs, rank.size * _SECONDS_PER_ENTRY)
    return ColumnLists(entry, start, np.zeros(n_features, np.int32), n_known.astype(np.int32))


# --- sparse tables --------------------------------------------------------------------------


def _stored(matrix: Any) -> Any:
    """The entries that are not zero, column by column, each column by rows."""
    stored = scipy.sparse.csc_array(matrix, copy=True)
    stored.sum_duplicates()
    stored.eliminate_zeros()
    stored.sort_indices()
    return stored


def _list_sparse(matrix: Any, n_jobs: int | None) -> ListedTable:
    """Rank the entries of each column together with its zeros."""
    stored = _stored(matrix)
    n_rows, n_features = stored.shape
    rank = np.empty(len(stored.data), np.int32)
    edges, zero = [], np.zeros(n_features, np.int64)
    for feature in range(n_features):
        some = slice(stored.indptr[feature], stored.indptr[feature + 1])
        values = stored.data[some]
        known = values[~np.isnan(values)]
        if len(values) < n_rows:
            known = np.append(known, known.dtype.type(0.0))
        distinct = np.unique(known)
        edges.append(midpoints(distinct[:-1], distinct[1:]))
        found = np.searchsorted(distinct, values).astype(np.int32)
        rank[some] = np.where(np.isnan(values), -1, found)
        zero[feature] = np.searchsorted(distinct, 0.0)
    n_edges = np.array([len(e) for e in edges], np.int64)
    start = stored.indptr.astype(np.int64)
    codes = SparseCodes(
        n_rows,
        n_edges + 1,
        np.concatenate([*edges, np.empty(0)]),
        np.concatenate([[0], np.cumsum(n_edges)]).astype(np.int64),
        np.zeros(n_features + 1, np.int64),
        _NO_ROWS,
        np.empty(0, np.uint8),
        zero,
    )
    layout = ListedLayout(n_rows, rank, start, stored.indices.astype(np.int32))
    return _table(codes, layout, np.zeros(n_features + 1, np.int64), n_jobs)


def _list_entries(table: ListedTable) -> ColumnLists:
    """Sort the entries of all columns: negative ones, positive ones, then missing values."""
    layout, codes = table.layout, table.codes
    assert isinstance(codes, SparseCodes)
    n_entries = np.diff(layout.column_start)
    column = np.repeat(np.arange(table.n_features), n_entries)
    code = np.where(layout.rank < 0, np.int32(2**31 - 1), layout.rank)
    order = np.lexsort((code, column))
    is_new = np.ones(len(order), bool)
    if len(order) > 1:
        is_new[1:] = (np.diff(code[order]) != 0) | (np.diff(column[order]) != 0)
    entry = layout.column_row[order] | np.where(is_new, BOTH, 0).astype(np.int32)
    is_negative = (layout.rank >= 0) & (layout.rank < codes.zero_code[column])
    zero_at = np.bincount(column[is_negative], minlength=table.n_features)
    known_at = np.bincount(column[layout.rank >= 0], minlength=table.n_features)
    return ColumnLists(
        entry.astype(np.int32),
        layout.column_start,
        zero_at.astype(np.int32),
        known_at.astype(np.int32),
    )

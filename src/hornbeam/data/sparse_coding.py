"""Code a sparse matrix into bins without making it dense.

Only what is stored is coded; all other cells of a column are zero and share one code.
Work and memory grow with the stored entries, not with the cells.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse

from hornbeam.data.coding import find_zero_code, midpoints
from hornbeam.dtypes import BIN, MISSING_BIN, ROW, Array
from hornbeam.kernels.binning import assign_sparse_bins, cut_by_weight
from hornbeam.runtime.team import run_parallel

_SECONDS_PER_ENTRY = 100e-9
_COLUMNS_AT_A_TIME = 64
_FEW_ENTRIES = 64  # of a column: it is coded together with others


@dataclass(frozen=True, eq=False)
class SparseCodes:
    """A sparse table as codes; the attributes that `Codes` has mean the same here.

    Attributes
    ----------
    column_start : int64 array, length n_features + 1
        The entries of a feature are column_start[f] .. column_start[f + 1].
    column_row, column_code : int32 and uint8 array
        Row and code of each entry that is not zero; 255 means missing.
    zero_code : uint8 array
        The code of a zero, per feature.
    """

    n_rows: int
    n_codes: Array
    edges: Array
    edge_start: Array
    column_start: Array
    column_row: Array
    column_code: Array
    zero_code: Array
    category_code: dict[int, Array] = field(default_factory=dict)

    def __getitem__(self, mask: Array) -> SparseCodes:
        """Some of the rows, coded as they are; ``mask`` tells which."""
        kept = mask[self.column_row]
        start = np.concatenate([[0], np.cumsum(kept)])[self.column_start]
        row = (np.cumsum(mask, dtype=np.int32) - 1)[self.column_row[kept]]
        return replace(
            self,
            n_rows=int(np.count_nonzero(mask)),
            column_start=start.astype(np.int64),
            column_row=row.astype(np.int32),
            column_code=self.column_code[kept],
        )

    def without_entries(self) -> SparseCodes:
        """The code books alone."""
        return replace(
            self,
            column_start=np.zeros(len(self.n_codes) + 1, np.int64),
            column_row=np.empty(0, ROW),
            column_code=np.empty(0, BIN),
        )

    def count_others(self) -> Array:
        """How many rows of each feature have another code than that of zeros."""
        feature = np.repeat(np.arange(len(self.n_codes)), np.diff(self.column_start))
        others = feature[self.column_code != self.zero_code[feature]]
        return np.bincount(others, minlength=len(self.n_codes))

    @property
    def is_category(self) -> Array:
        """No column of a sparse matrix is a category."""
        return np.zeros(len(self.n_codes), np.uint8)


def encode_sparse_bins(matrix: Any, max_bins: int, n_jobs: int | None = None) -> SparseCodes:
    """Code a sparse matrix, as `hornbeam.data.coding.encode_bins` codes a dense one.

    Examples
    --------
    >>> import numpy as np, scipy.sparse
    >>> from hornbeam.data.sparse_coding import encode_sparse_bins
    >>> codes = encode_sparse_bins(scipy.sparse.csc_array(np.array([[0.0], [2.0], [0.0]])), 255)
    >>> codes.zero_code.tolist(), codes.column_code.tolist(), codes.edges.tolist()
    ([0], [1], [1.0])
    """
    stored = _stored(matrix)
    n_rows, n_features = stored.shape
    n_entries = np.diff(stored.indptr)
    has_few = n_entries < min(_FEW_ENTRIES, max_bins)
    owner, edges_of_few = _edges_of_few(stored, has_few)
    many = np.flatnonzero(~has_few)
    edges_of_many: list[Array] = [np.empty(0)] * len(many)

    def find(task: int) -> None:
        for place in _span(task, len(many)):
            start, end = stored.indptr[many[place] : many[place] + 2]
            edges_of_many[place] = _find_edges(
                stored.data[start:end], n_rows - (end - start), max_bins
            )

    _for_columns(find, len(many), len(stored.data), n_jobs)
    n_edges = np.bincount(owner, minlength=n_features)
    n_edges[many] = [len(edges) for edges in edges_of_many]
    edges = np.empty(n_edges.sum())
    is_of_few = np.repeat(has_few, n_edges)
    edges[is_of_few] = edges_of_few
    edges[~is_of_few] = np.concatenate([*edges_of_many, np.empty(0)])
    edge_start = np.concatenate([[0], np.cumsum(n_edges)]).astype(np.int64)
    return _assign(stored, n_edges + 1, edges, edge_start, n_jobs)


def encode_sparse_like(codes: SparseCodes, matrix: Any, n_jobs: int | None = None) -> SparseCodes:
    """Code another sparse matrix by the bins of a first one."""
    stored = _stored(matrix)
    coded = _assign(stored, codes.n_codes, codes.edges, codes.edge_start, n_jobs)
    return replace(coded, zero_code=codes.zero_code)


def _stored(matrix: Any) -> Any:
    """The entries that are not zero, column by column, each column by rows."""
    stored = scipy.sparse.csc_array(matrix, copy=True)
    stored.sum_duplicates()
    stored.eliminate_zeros()
    stored.sort_indices()
    return stored


def _edges_of_few(stored: Any, has_few: Array) -> tuple[Array, Array]:
    """Every border between two values of the columns that have few of them, all at once.

    Returns the column of each border, and the border. Most words of a collection of texts are
    in few documents, and to take such columns one by one would take longer than all else.
    """
    n_rows, n_features = stored.shape
    n_entries = np.diff(stored.indptr)
    column = np.repeat(np.arange(n_features), n_entries)
    chosen = has_few[column] & ~np.isnan(stored.data)
    with_zeros = np.flatnonzero(has_few & (n_entries < n_rows))
    column = np.concatenate([column[chosen], with_zeros])
    value = np.concatenate([stored.data[chosen], np.zeros(len(with_zeros), stored.data.dtype)])
    order = np.lexsort((value, column))
    column, value = column[order], value[order]
    below = np.flatnonzero((column[1:] == column[:-1]) & (value[1:] != value[:-1]))
    return column[below], midpoints(value[below], value[below + 1])


def _find_edges(entries: Array, n_zeros: int, max_bins: int) -> Array:
    """Borders between the bins of a column with these entries and so many zeros."""
    lowest = entries.min() if len(entries) else 0.0
    if lowest == (entries.max() if len(entries) else 0.0):  # the usual case: one value
        distinct, counts = entries[:1], np.array([len(entries)])[: len(entries)]
    else:
        known = entries[~np.isnan(entries)]
        distinct, counts = np.unique(known, return_counts=True)
    if n_zeros:
        place = np.searchsorted(distinct, 0.0)
        distinct, counts = np.insert(distinct, place, 0.0), np.insert(counts, place, n_zeros)
    below = np.arange(max(len(distinct) - 1, 0))
    if len(distinct) > max_bins:
        below = np.empty(max_bins, np.int64)
        below = below[: cut_by_weight(counts, int(counts.sum()), max_bins, below)]
    return midpoints(distinct[below], distinct[below + 1])


def _assign(
    stored: Any, n_codes: Array, edges: Array, start: Array, n_jobs: int | None
) -> SparseCodes:
    n_rows, n_features = stored.shape
    code = np.empty(len(stored.data), BIN)
    column_start = stored.indptr.astype(np.int64)

    def assign(task: int) -> None:
        span = _span(task, n_features)
        columns = (column_start, edges, start, span.start, span.stop)
        assign_sparse_bins(stored.data, *columns, MISSING_BIN, code)

    _for_columns(assign, n_features, len(stored.data), n_jobs)
    return SparseCodes(
        n_rows,
        n_codes.astype(np.int64),
        edges,
        start,
        column_start,
        stored.indices.astype(ROW),
        code,
        find_zero_code(edges, start),
    )


def _span(task: int, n_features: int) -> range:
    return range(task * _COLUMNS_AT_A_TIME, min((task + 1) * _COLUMNS_AT_A_TIME, n_features))


def _for_columns(work: Any, n_columns: int, n_entries: int, n_jobs: int | None) -> None:
    n_tasks = -(-n_columns // _COLUMNS_AT_A_TIME)
    run_parallel(work, n_tasks, n_jobs, n_entries * _SECONDS_PER_ENTRY)

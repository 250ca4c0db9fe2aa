"""Turn the float matrix into codes, the small integers that training sees.

Exact split finding works on ranks of the distinct values, histogram split finding on
bins. Both keep the order of the values, and both take category numbers as they are.
Columns are coded independently, on as many threads as pay; a code never depends on how
many those are.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from hornbeam.data.matrix import kernel_view
from hornbeam.data.pages import Page, Pages, page_borders
from hornbeam.dtypes import BIN, MAX_BINS, MISSING_BIN, MISSING_RANK, RANK, Array
from hornbeam.kernels.binning import (
    EDGE_SLOTS,
    assign_bins,
    collect_distinct,
    count_categories,
    cut_by_weight,
    hash_rows,
    number_categories,
    rank_sorted,
)
from hornbeam.kernels.pieces import PageCodes
from hornbeam.runtime.team import run_parallel
from hornbeam.runtime.views import ViewArray

# The rank of a median estimated from m rows is off by 0.5 / sqrt(m) of all rows (standard
# error): for 200,000 rows 0.11%, which is 0.29 of one bin in 255, and less towards the tails.
SAMPLE_ROWS = 200_000
# For the choice of threads only; orders of magnitude, not yet calibrated by a benchmark.
_SECONDS_PER_RANK = 120e-9  # sorting dominates
_SECONDS_PER_BIN = 12e-9
_VECTOR_BYTES = 32  # rows of codes are padded to a multiple or the half of it
_ROW_BYTES = 32  # of a row-major table this much of a row is read at once, half a cache line
_COPY_BYTES = 1 << 22  # columns copied at a time, per thread
_BLOCK_ROWS = 2048


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Some rows as codes, feature by feature: what a page of a table holds.

    Attributes
    ----------
    columns : uint8 or uint32 array, shape (n_features, n_rows)
        The code of each row; the largest value of the dtype means missing.
    values : float32 or float64 array of shape (n_rows, n_crowded), optional
        The crowded columns themselves, for those who cut their bins; see `Codes.with_values`.
    """

    columns: Array
    values: Array | None = None

    @cached_property
    def by_row(self) -> Array:
        """The codes row by row, each padded to 16 or a multiple of 32 bytes; of bins only.

        Behind the last row there is room for a vector that begins in it.
        """
        n_features, n_rows = self.columns.shape
        stride = padded_width(n_features)
        rows = np.zeros(n_rows * stride + _VECTOR_BYTES, BIN)[: n_rows * stride]
        rows = rows.reshape(n_rows, stride)
        rows[:, :n_features] = self.columns.T
        return rows


def padded_width(n_features: int) -> int:
    """How many bytes a row of so many features has in `CodedRows.by_row`."""
    if n_features <= _VECTOR_BYTES // 2:  # twice as many rows fit into the cache
        return _VECTOR_BYTES // 2
    return -(-n_features // _VECTOR_BYTES) * _VECTOR_BYTES


@dataclass(frozen=True, eq=False)
class Codes:
    """A table as codes: pages of coded rows, and what the codes mean.

    Attributes
    ----------
    pages : `Pages` of `CodedRows`
        The codes of all rows.
    n_codes : int64 array
        Codes in use per feature, missing not counted.
    is_category : uint8 array
        1 where codes are category numbers (or stand for several, see ``category_code``).
    edges : float64 array
        Bins: ``edges[edge_start[f] + c]`` is the upper border of code c (x <= edge),
        ``n_codes[f] - 1`` of them per number feature. Ranks: the distinct values of each
        number feature if they were asked for, else none.
    edge_start : int64 array, length n_features + 1
    middles : float64 array
        Bins: where each code of a number feature lies, the middle between the smallest and
        the largest value that has it; ``middles[middle_start[f] + c]``. Ranks: none.
    middle_start : int64 array, length n_features + 1
    category_code : dict
        Only for features with more categories than bins: the code of each category.
        The rare ones share the last code, or see `data.facets`.
    crowded : uint8 array
        Bins: 1 where a number feature has more values than bins. Ranks: none.
    source : int64 array, optional
        Where columns of the table are coded more than once: the column of each feature. The
        columns themselves come first.
    """

    pages: Pages[CodedRows]
    n_codes: Array
    is_category: Array
    edges: Array
    edge_start: Array
    middles: Array
    middle_start: Array
    category_code: dict[int, Array] = field(default_factory=dict)
    crowded: Array = field(default_factory=lambda: np.empty(0, np.uint8))
    source: Array | None = None

    @property
    def n_rows(self) -> int:
        """How many rows the table has."""
        return self.pages.n_rows

    @property
    def as_bytes(self) -> bool:
        """Whether codes are bytes, as those of bins are."""
        return bool(self.pages.codes[0].columns.dtype == BIN)

    @property
    def columns(self) -> Array:
        """The codes of all rows as one array, which is a copy if there are several pages."""
        columns: list[Array] = [rows.columns for rows in self.pages.codes]
        return columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1)

    @property
    def values(self) -> Array | None:
        """The values of crowded columns of all rows, if they are known; as `columns`."""
        values = [rows.values for rows in self.pages.codes if rows.values is not None]
        if len(values) <= 1:
            return values[0] if values else None
        return np.concatenate(values)

    @cached_property
    def has_missing(self) -> Array:
        """Which features are missing in some row (bool array)."""
        missing = MISSING_BIN if self.as_bytes else MISSING_RANK
        found = [(rows.columns == missing).any(axis=1) for rows in self.pages.codes]
        return np.logical_or.reduce(found)

    @property
    def n_columns(self) -> int:
        """How many columns the table has."""
        return len(self.n_codes) if self.source is None else int(self.source.max()) + 1

    def column_of(self, features: Array) -> Array:
        """The columns of the table that some features code; what is negative stays."""
        if self.source is None:
            return features
        return np.where(features < 0, features, self.source[features])

    def facets_of(self, column: int) -> list[int]:
        """The other features that code a column."""
        if self.source is None:
            return []
        return [f for f in np.flatnonzero(self.source == column).tolist() if f != column]

    def with_columns(self, columns: Array) -> Codes:
        """Other codes of the rows, by the same code books."""
        return replace(self, pages=_cut(columns))

    def without_rows(self) -> Codes:
        """The code books alone."""
        return self.chosen(np.empty(0, np.int64))

    def chosen(self, rows: Array) -> Codes:
        """The codes of some of the rows."""
        values = self.values
        return replace(
            self, pages=_cut(self.columns[:, rows], None if values is None else values[rows])
        )

    def with_values(self, matrix: Any) -> Codes:
        """Remember the values of crowded columns, row by row."""
        crowded = np.flatnonzero(self.crowded)
        if scipy.sparse.issparse(matrix):
            values = scipy.sparse.csc_array(matrix)[:, crowded].toarray("C")
        else:
            values = kernel_view(matrix)
            if len(crowded) < values.shape[1]:
                values = values[:, crowded]
            values = np.ascontiguousarray(values)  # the table itself, if it can be
        with_values = tuple(
            replace(page.codes, values=values[page.start : page.stop]) for page in self.pages
        )
        return replace(self, pages=replace(self.pages, codes=with_values))

    def views(self, by_row: bool = False) -> ViewArray[PageCodes]:
        """What kernels see of the pages, perhaps row by row, too."""
        return ViewArray([_view(page, by_row) for page in self.pages])


def _cut(columns: Array, values: Array | None = None) -> Pages[CodedRows]:
    """Coded rows as pages, as many as there are to be; nothing is copied for a single one."""

    def take(start: int, stop: int) -> CodedRows:
        part = None if values is None else values[start:stop]
        return CodedRows(np.ascontiguousarray(columns[:, start:stop]), part)

    return Pages.cut(page_borders(columns.shape[1]), take)


def _view(page: Page[CodedRows], by_row: bool) -> PageCodes:
    """What kernels see of a page."""
    rows, no_bins, no_values = page.codes, np.empty(0, BIN), np.empty(0, np.float32)
    as_bytes, values = rows.columns.dtype == BIN, rows.values
    narrow = values is not None and values.dtype == np.float32
    return PageCodes(
        start=page.start,
        stop=page.stop,
        bins=rows.columns.ravel() if as_bytes else no_bins,
        ranks=np.empty(0, RANK) if as_bytes else rows.columns.ravel(),
        by_row=rows.by_row.ravel() if by_row else no_bins,
        narrow_values=values.ravel() if values is not None and narrow else no_values,
        wide_values=np.empty(0) if values is None or narrow else values.ravel(),
    )


def encode_ranks(
    matrix: Any,
    is_category: Array,
    n_categories: Array,
    n_jobs: int | None = None,
    with_values: bool = False,
) -> Codes:
    """Code each number by its rank among the distinct values of its column.

    Parameters
    ----------
    matrix : float32 or float64 array, or scipy sparse array
        As `Schema.learn` returns it: NaN is missing, categories are numbers.
    is_category, n_categories : array
        What the schema says about each column.
    n_jobs : int, optional
        Threads; None means as many as pay.
    with_values : bool
        Whether to keep the distinct values, as ``edges``.

    Examples
    --------
    >>> import numpy as np
    >>> from hornbeam.data.coding import encode_ranks
    >>> codes = encode_ranks(np.array([[2.5], [-1.0], [2.5]]), np.array([False]), np.array([0]))
    >>> codes.columns.tolist()
    [[1, 0, 1]]
    """
    n_rows, n_features = matrix.shape
    codes = np.empty((n_features, n_rows), RANK)
    n_codes = np.array(n_categories, np.int64)
    values: list[Array] = [np.empty(0)] * n_features

    def encode(feature: int, column: Array) -> None:
        out = codes[feature]
        if is_category[feature]:
            table = np.arange(n_codes[feature], dtype=np.int64)
            number_categories(column, table, MISSING_RANK, out)
            return
        n_codes[feature] = rank_values(column, out)
        if with_values:
            values[feature] = _values_by_code(column, out, int(n_codes[feature]))

    _for_each_column(encode, matrix, n_jobs, _SECONDS_PER_RANK)
    no_middles = _flatten([np.empty(0)] * n_features)
    kinds = is_category.astype(np.uint8)
    return Codes(_cut(codes), n_codes, kinds, *_flatten(values), *no_middles)


def encode_bins(
    matrix: Any,
    is_category: Array,
    n_categories: Array,
    max_bins: int = MAX_BINS,
    n_jobs: int | None = None,
    seed: int = 0,
    wide: float = 0.0,
    deal_rare: bool = False,
) -> Codes:
    """Code each number by one of at most ``max_bins`` bins of its column.

    A column with few distinct values gets a bin for each; otherwise bins hold about
    equally many rows, judged by the ``SAMPLE_ROWS`` rows whose numbers have the smallest
    hashes. A feature with more categories than bins keeps the most frequent ones apart.

    Parameters
    ----------
    matrix, is_category, n_categories, n_jobs
        As in `encode_ranks`.
    max_bins : int
        From 2 to 255.
    seed : int
        Chooses the sample of large tables.
    wide : float
        Share of the cuts that are equally far apart: few rows far out would share a bin
        otherwise.
    deal_rare : bool
        Deal rare categories out to the frequent ones instead of putting them all into one
        code, for trees that part categories at random: one code would tell rare from frequent.

    Examples
    --------
    >>> import numpy as np
    >>> from hornbeam.data.coding import encode_bins
    >>> codes = encode_bins(np.array([[2.0], [np.nan], [4.0]]), np.array([False]), np.array([0]))
    >>> codes.columns.tolist(), codes.edges.tolist()
    ([[0, 255, 1]], [3.0])
    """
    if not 2 <= max_bins <= MAX_BINS:
        raise ValueError(f"max_bins must be between 2 and {MAX_BINS}, got {max_bins}.")
    n_rows, n_features = matrix.shape
    codes = np.empty((n_features, n_rows), BIN)
    n_codes = np.array(n_categories, np.int64)
    edges: list[Array] = [np.empty(0)] * n_features
    middles: list[Array] = [np.empty(0)] * n_features
    category_code: dict[int, Array] = {}
    crowded = np.zeros(n_features, np.uint8)
    sample = sample_rows(n_rows, seed)

    def encode(feature: int, column: Array) -> None:
        out = codes[feature]
        if is_category[feature]:
            table = np.arange(n_codes[feature], dtype=np.int64)
            if n_codes[feature] > max_bins:
                table = fold_rare(column, int(n_codes[feature]), max_bins, deal_rare)
                category_code[feature] = table.astype(np.int32)
                n_codes[feature] = max_bins
            number_categories(column, table, MISSING_BIN, out)
            return
        found = find_edges(column, max_bins, sample, wide)
        edges[feature], middles[feature], crowded[feature] = found
        n_codes[feature] = len(middles[feature])
        assign_bins(column, _padded(edges[feature]), MISSING_BIN, out)

    _for_each_column(encode, matrix, n_jobs, _SECONDS_PER_BIN)
    folded = dict(sorted(category_code.items()))
    flat = (*_flatten(edges), *_flatten(middles))
    return Codes(_cut(codes), n_codes, is_category.astype(np.uint8), *flat, folded, crowded)


def encode_like(codes: Codes, matrix: Any, n_jobs: int | None = None) -> Codes:
    """Code another table by the bins of a first one, as `encode_bins` coded that.

    Examples
    --------
    >>> import numpy as np
    >>> from hornbeam.data.coding import encode_bins, encode_like
    >>> codes = encode_bins(np.array([[2.0], [np.nan], [4.0]]), np.array([False]), np.array([0]))
    >>> encode_like(codes, np.array([[9.0], [1.0], [np.nan]])).columns.tolist()
    [[1, 0, 255]]
    """
    columns = np.empty((len(codes.n_codes), matrix.shape[0]), BIN)

    def encode(feature: int, column: Array) -> None:
        if codes.is_category[feature]:
            own = np.arange(codes.n_codes[feature], dtype=np.int64)
            for coded in (feature, *codes.facets_of(feature)):
                columns[coded] = category_bins(column, codes.category_code.get(coded, own))
            return
        edges = codes.edges[codes.edge_start[feature] : codes.edge_start[feature + 1]]
        assign_bins(column, _padded(edges), MISSING_BIN, columns[feature])

    _for_each_column(encode, matrix, n_jobs, _SECONDS_PER_BIN)
    return replace(codes, pages=_cut(columns))


# --- ranks ------------------------------------------------------------------------------


def rank_values(column: Array, codes: Array) -> int:
    """Write the rank of each value, and return how many distinct ones there are.

    Few distinct values are found by a search among them; many are sorted.
    """
    found = np.empty(EDGE_SLOTS, column.dtype)
    count = int(collect_distinct(column, EDGE_SLOTS - 1, found))
    if count < EDGE_SLOTS:
        assign_bins(column, _padded(found[: max(count - 1, 0)]), MISSING_RANK, codes)
        return count
    return int(rank_sorted(column, np.argsort(column), MISSING_RANK, codes))


# --- bins -------------------------------------------------------------------------------


def find_edges(
    column: Array, max_bins: int, sample: Array | None, wide: float = 0.0
) -> tuple[Array, Array, bool]:
    """Borders between the bins of a column of numbers, the middle of each, and if it is crowded."""
    found = np.empty(max_bins + 1, column.dtype)
    count = int(collect_distinct(column, max_bins, found))
    if count <= max_bins:
        values = found[:count]
        return midpoints(values[:-1], values[1:]), values.astype(np.float64) + 0.0, False
    drawn = _known(column if sample is None else column[sample])
    if sample is not None and len(drawn) < SAMPLE_ROWS // 10:  # a mostly missing column
        drawn = _known(column)
    distinct, counts = np.unique(drawn, return_counts=True)
    below = np.arange(max(len(distinct) - 1, 0))
    if len(distinct) > max_bins:
        apart = cut_by_width(distinct, int(wide * max_bins))
        cuts = np.empty(max_bins, np.int64)
        n_cuts = cut_by_weight(counts, int(counts.sum()), max_bins - len(apart), cuts)
        below = np.union1d(apart, cuts[:n_cuts])
    smallest = distinct[np.concatenate([[0], below + 1])].astype(np.float64)
    largest = distinct[np.concatenate([below, [-1]])].astype(np.float64)
    middles = smallest / 2 + largest / 2 + 0.0
    return midpoints(distinct[below], distinct[below + 1]), middles, True


def codes_of_bins(column: Array, edges: Array) -> Array:
    """The bin of each value, between so many edges."""
    codes = np.empty(len(column), BIN)
    assign_bins(np.ascontiguousarray(column), _padded(edges), MISSING_BIN, codes)
    return codes


def category_bins(column: Array, code_of_category: Array) -> Array:
    """The code of the category of each row."""
    codes = np.empty(len(column), BIN)
    table = np.asarray(code_of_category, np.int64)
    number_categories(np.ascontiguousarray(column), table, MISSING_BIN, codes)
    return codes


def cut_by_width(distinct: Array, n_bins: int) -> Array:
    """After which distinct values a bin ends, so that bins are equally wide; empty ones go."""
    share = np.arange(1, n_bins) / max(1, n_bins)
    edges = float(distinct[0]) * (1.0 - share) + float(distinct[-1]) * share
    below = np.unique(np.searchsorted(distinct, edges, side="right")) - 1
    return below[(below >= 0) & (below < len(distinct) - 1)]


def find_zero_code(edges: Array, edge_start: Array) -> Array:
    """The code of a zero, per number feature: how many of its edges are below."""
    below = np.concatenate([[0], np.cumsum(edges < 0.0)])[edge_start]
    return np.diff(below).astype(BIN)


def midpoints(below: Array, above: Array) -> Array:
    """An edge between neighbours: ``below <= edge < above``, also after rounding."""
    low, high = below.astype(np.float64), above.astype(np.float64)
    edges = low / 2 + high / 2
    return np.where((low <= edges) & (edges < high), edges, low) + 0.0  # -0.0 becomes 0.0


def sample_rows(n_rows: int, seed: int) -> Array | None:
    """Rows that large tables are judged by: those with the smallest hashes; None for all."""
    if n_rows <= SAMPLE_ROWS:
        return None
    hashes = np.empty(n_rows, np.uint64)
    hash_rows(seed, hashes)
    return np.sort(np.argpartition(hashes, SAMPLE_ROWS)[:SAMPLE_ROWS])


def fold_rare(column: Array, n_categories: int, max_bins: int, deal: bool) -> Array:
    """The code of each category: frequent ones apart, the rest together in the last code.

    Or, if ``deal``, the rest is dealt out, a category to each code in turn.
    """
    counts = np.zeros(n_categories, np.int64)
    count_categories(column, counts)
    by_count = np.argsort(-counts, kind="stable")
    table = np.full(n_categories, max_bins - 1, np.int64)
    if deal:
        table[by_count] = np.arange(n_categories) % max_bins
        return table
    kept = np.sort(by_count[: max_bins - 1])
    table[kept] = np.arange(max_bins - 1)
    return table


# --- columns ------------------------------------------------------------------------------


def _for_each_column(
    encode: Callable[[int, Array], None], matrix: Any, n_jobs: int | None, seconds: float
) -> None:
    """Call ``encode(feature, column)`` with every column, contiguous, on several threads.

    ``seconds`` is what one entry costs.
    """
    n_rows, n_features = matrix.shape
    width, read = _reader(matrix)

    def work(task: int) -> None:
        first = task * width
        for offset, column in enumerate(read(first, min(first + width, n_features))):
            encode(first + offset, column)

    run_parallel(work, -(-n_features // width), n_jobs, n_features * n_rows * seconds)


def _reader(matrix: Any) -> tuple[int, Callable[[int, int], Iterable[Array]]]:
    """How many columns to read at once, and a function that reads such a span of them."""
    if scipy.sparse.issparse(matrix):
        stored = scipy.sparse.csc_array(matrix)
        return 1, lambda first, last: [_sparse_column(stored, first)]
    dense = kernel_view(matrix)
    if dense.flags.f_contiguous:
        return 1, lambda first, last: [dense[:, first]]
    most = max(1, _COPY_BYTES // max(1, len(dense) * dense.itemsize))
    width = min(_ROW_BYTES // dense.itemsize, most)
    return width, lambda first, last: _transposed(dense, first, last)


def _sparse_column(stored: Any, feature: int) -> Array:
    span = slice(stored.indptr[feature], stored.indptr[feature + 1])
    values = np.zeros(stored.shape[0], stored.dtype)
    values[stored.indices[span]] = stored.data[span]
    return values


def _transposed(dense: Array, first: int, last: int) -> Array:
    """Some neighbouring columns as rows, copied in blocks that stay in the cache."""
    columns = _passing((last - first, len(dense)), dense.dtype)
    for start in range(0, len(dense), _BLOCK_ROWS):
        stop = start + _BLOCK_ROWS
        columns[:, start:stop] = dense[start:stop, first:last].T
    return columns


def _passing(shape: tuple[int, int], dtype: Any) -> Array:
    """Memory that goes back to the system as soon as it is let go.

    What a thread frees otherwise stays with the thread, and the peak of a fit is that much
    higher.
    """
    n_bytes = max(1, shape[0] * shape[1] * np.dtype(dtype).itemsize)
    try:
        memory = mmap.mmap(-1, n_bytes)
    except (OSError, OverflowError) as error:  # as all other memory that is not to be had
        raise MemoryError(
            f"There is no memory for {shape[1]} rows of {shape[0]} columns ({n_bytes} bytes): "
            "pass fewer rows or float32, or give the process more memory."
        ) from error
    return np.frombuffer(memory, dtype, shape[0] * shape[1]).reshape(shape)


def _known(column: Array) -> Array:
    known: Array = column[~np.isnan(column)]
    return known


def _padded(edges: Array) -> Array:
    padded = np.full(EDGE_SLOTS, np.inf)
    padded[: len(edges)] = edges
    return padded


def _values_by_code(column: Array, codes: Array, n_codes: int) -> Array:
    known = codes != MISSING_RANK
    values = np.empty(n_codes)
    values[codes[known]] = column[known]
    return values + 0.0  # -0.0 becomes 0.0


def _flatten(parts: list[Array]) -> tuple[Array, Array]:
    start = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([len(part) for part in parts], out=start[1:])
    return np.concatenate([*parts, np.empty(0)]), start

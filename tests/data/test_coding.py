"""Codes against oracles of a few lines: np.unique for ranks, np.searchsorted for bins."""

from __future__ import annotations

import errno
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hornbeam.data import coding
from hornbeam.data.coding import Codes, encode_bins, encode_ranks, midpoints
from hornbeam.data.pages import cut_at
from hornbeam.dtypes import MISSING_BIN, MISSING_RANK


def ranks(X: Any, n_categories: list[int] | None = None, **options: Any) -> Codes:
    counts = np.array(n_categories or [0] * X.shape[1])
    return encode_ranks(X, counts > 0, counts, **options)


def bins(X: Any, n_categories: list[int] | None = None, **options: Any) -> Codes:
    counts = np.array(n_categories or [0] * X.shape[1])
    return encode_bins(X, counts > 0, counts, **options)


def edges_of(codes: Codes, feature: int) -> np.ndarray:
    return codes.edges[codes.edge_start[feature] : codes.edge_start[feature + 1]]


def same(one: Codes, other: Codes) -> bool:
    """Whether two codings are the same, bit for bit."""
    names = ("columns", "n_codes", "is_category", "edges", "edge_start")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def check_ranks(X: np.ndarray, codes: Codes) -> None:
    assert codes.columns.dtype == np.uint32 and codes.columns.flags.c_contiguous
    for feature, column in enumerate(X.T):
        known = ~np.isnan(column)
        distinct, expected = np.unique(column[known], return_inverse=True)
        np.testing.assert_array_equal(codes.columns[feature, known], expected)
        assert (codes.columns[feature, ~known] == MISSING_RANK).all()
        assert codes.n_codes[feature] == len(distinct)
        if len(codes.edges):
            np.testing.assert_array_equal(edges_of(codes, feature), distinct)


def check_bins(X: np.ndarray, codes: Codes, max_bins: int) -> None:
    assert codes.columns.dtype == np.uint8 and codes.columns.flags.c_contiguous
    for feature, column in enumerate(X.T):
        known = ~np.isnan(column)
        edges = edges_of(codes, feature)
        assert (np.diff(edges) > 0).all()
        expected = np.searchsorted(edges, column[known].astype(np.float64), side="left")
        np.testing.assert_array_equal(codes.columns[feature, known], expected)
        assert (codes.columns[feature, ~known] == MISSING_BIN).all()
        distinct = np.unique(column[known])
        if len(distinct) <= max_bins:
            assert codes.n_codes[feature] == len(distinct)
        assert codes.n_codes[feature] == (len(edges) + 1 if len(distinct) else 0)
        assert codes.n_codes[feature] <= max_bins
        used = np.unique(codes.columns[feature, known])
        np.testing.assert_array_equal(used, np.arange(codes.n_codes[feature]))


def mixed_table(n_rows: int, dtype: Any = np.float64) -> np.ndarray:
    """Continuous, rounded, constant, skewed, all-missing and two-valued columns."""
    rng = np.random.default_rng(n_rows)
    X = np.column_stack(
        [
            rng.normal(size=n_rows),
            rng.integers(-3, 4, n_rows),
            np.full(n_rows, 7.0),
            np.where(rng.random(n_rows) < 0.8, 0.0, rng.exponential(size=n_rows)),
            np.full(n_rows, np.nan),
            rng.random(n_rows) < 0.5,
            rng.integers(0, 300, n_rows),
        ]
    ).astype(dtype)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


# --- the same as the oracles ------------------------------------------------------------------

VALUES = st.one_of(
    st.floats(allow_infinity=False),
    st.sampled_from([0.0, -0.0, 1.0, np.nextafter(1.0, 2), 5e-324, -5e-324, 1e308, -1e308]),
)


@given(arrays(np.float64, st.tuples(st.integers(1, 30), st.integers(1, 3)), elements=VALUES))
def test_ranks_of_any_numbers(X: np.ndarray) -> None:
    check_ranks(X, ranks(X, with_values=True))
    check_ranks(X, ranks(X))


@given(
    arrays(np.float64, st.tuples(st.integers(1, 30), st.integers(1, 3)), elements=VALUES),
    st.integers(2, 12),
)
def test_bins_of_any_numbers(X: np.ndarray, max_bins: int) -> None:
    check_bins(X, bins(X, max_bins=max_bins), max_bins)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [1, 2, 100, 5000])
def test_many_kinds_of_columns(dtype: Any, n_rows: int) -> None:
    X = mixed_table(n_rows, dtype)
    check_ranks(X, ranks(X, with_values=True))
    for max_bins in (2, 3, 16, 254, 255):
        check_bins(X, bins(X, max_bins=max_bins), max_bins)


@given(arrays(np.float64, st.integers(2, 40), elements=VALUES))
def test_order_is_kept(column: np.ndarray) -> None:
    column = column[~np.isnan(column)]
    if len(column) < 2:
        return
    X = column.reshape(-1, 1)
    exact = ranks(X).columns[0].astype(np.int64)
    np.testing.assert_array_equal(exact[:, None] < exact, column[:, None] < column)
    coarse = bins(X, max_bins=4).columns[0].astype(np.int64)
    assert (np.diff(coarse[np.argsort(column, kind="stable")]) >= 0).all()


def test_zeros_of_both_signs_are_one_value() -> None:
    X = np.array([[-0.0], [0.0], [1.0]])
    assert ranks(X).columns.tolist() == [[0, 0, 1]]
    assert bins(X).columns.tolist() == [[0, 0, 1]]
    values = ranks(X, with_values=True).edges
    assert values.tolist() == [0, 1] and not np.signbit(values).any()


def test_255_and_256_distinct_values() -> None:
    for count in (254, 255, 256, 257):
        X = np.arange(count, dtype=np.float64).reshape(-1, 1)
        check_ranks(X, ranks(X))
        codes = bins(X)
        check_bins(X, codes, 255)
        assert codes.n_codes[0] == min(count, 255)


# --- edges ------------------------------------------------------------------------------------


def test_midpoints_part_neighbours() -> None:
    low = np.array([1.0, 0.0, -5e-324, 5e-324, -1.7e308, 1.7e308, np.nextafter(1.0, 0)])
    high = np.array([np.nextafter(1.0, 2), 5e-324, 0.0, 1e-323, 1.7e308, 1.75e308, 1.0])
    edges = midpoints(low, high)
    assert (low <= edges).all() and (edges < high).all()
    assert midpoints(np.array([1.0]), np.array([2.0])).tolist() == [1.5]


def test_bins_hold_equally_many_rows() -> None:
    X = np.random.default_rng(0).normal(size=(50_000, 1))
    sizes = np.bincount(bins(X, max_bins=50).columns[0])
    assert len(sizes) == 50 and sizes.min() > 990 and sizes.max() < 1010


def test_a_heavy_value_has_a_bin_of_its_own() -> None:
    rng = np.random.default_rng(0)
    column = np.where(rng.random(20_000) < 0.9, 0.0, rng.normal(size=20_000))
    codes = bins(column.reshape(-1, 1), max_bins=64)
    assert codes.n_codes[0] == 64
    (zero,) = np.unique(codes.columns[0, column == 0])
    assert (codes.columns[0] == zero).sum() - (column == 0).sum() < 100
    rest = np.bincount(codes.columns[0, column != 0], minlength=64)
    assert np.delete(rest, zero).max() < 100


@example([1, 1, 1, 1, 1, 1, 4, 1, 4, 1, 4, 2, 3, 3, 4], 9)  # a heavy value comes last
@given(st.lists(st.integers(1, 50), min_size=3, max_size=60), st.integers(2, 20))
def test_cuts_are_few_and_ascending(counts: list[int], max_bins: int) -> None:
    column = np.repeat(np.arange(float(len(counts))), counts)
    codes = bins(column.reshape(-1, 1), max_bins=max_bins)
    check_bins(column.reshape(-1, 1), codes, max_bins)
    sizes = np.bincount(codes.columns[0])
    assert sizes.max() <= max(max(counts), 2 * len(column) / max_bins) + max(counts)


def test_sample_is_drawn_by_row_number(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    exact = bins(X)
    monkeypatch.setattr(coding, "SAMPLE_ROWS", 5000)
    sampled = bins(X)
    check_bins(X, sampled, 255)
    assert not same(exact, sampled)
    assert same(sampled, bins(X)) and same(sampled, bins(X, n_jobs=3))
    assert not same(sampled, bins(X, seed=1))
    rows = coding.sample_rows(20_000, seed=0)
    assert rows is not None and len(np.unique(rows)) == 5000
    quarters = np.bincount(rows // 5000)
    assert quarters.min() > 1100 and quarters.max() < 1400


def test_rare_values_outside_the_sample_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coding, "SAMPLE_ROWS", 10)
    X = np.zeros((1000, 1))
    X[17], X[800] = 5.0, np.nan
    codes = bins(X)
    assert codes.n_codes.tolist() == [2] and codes.edges.tolist() == [2.5]


def test_a_mostly_missing_column_is_judged_by_all_its_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(coding, "SAMPLE_ROWS", 1000)
    column = np.full(50_000, np.nan)
    column[::100] = np.arange(500)
    assert bins(column.reshape(-1, 1)).n_codes.tolist() == [255]


@pytest.mark.quick
@pytest.mark.parametrize("max_bins", [-1, 0, 1, 256, 2**31, float("nan")])
def test_wrong_max_bins(max_bins: Any) -> None:
    with pytest.raises(ValueError, match=f"between 2 and 255, got {max_bins}"):
        bins(np.ones((2, 1)), max_bins=max_bins)


# --- categories -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_category_numbers_are_codes(dtype: Any) -> None:
    X = np.array([[2, 0.5], [np.nan, 1.5], [0, np.nan]], dtype)
    for codes, missing in ((ranks(X, [5, 0]), MISSING_RANK), (bins(X, [5, 0]), MISSING_BIN)):
        assert codes.columns.tolist() == [[2, missing, 0], [0, 1, missing]]
        assert codes.n_codes.tolist() == [5, 2] and codes.is_category.tolist() == [1, 0]
        assert codes.is_category.dtype == np.uint8 and not codes.category_code
        assert len(edges_of(codes, 0)) == 0


def test_rare_categories_share_the_last_code() -> None:
    column = np.array([0, 1, 1, 2, 3, 3, 3, 4, 4, np.nan])
    codes = bins(column.reshape(-1, 1), [6], max_bins=4)
    # 3 is the most frequent; of 1 and 4 both stay; 0, 2 and 5 (in no row) are folded
    assert codes.category_code[0].tolist() == [3, 0, 3, 1, 2, 3]
    assert codes.category_code[0].dtype == np.int32
    assert codes.columns.tolist() == [[3, 0, 0, 3, 1, 1, 1, 2, 2, 255]]
    assert codes.n_codes.tolist() == [4]
    assert ranks(column.reshape(-1, 1), [6]).columns[0, :-1].tolist() == column[:-1].tolist()


def test_rare_categories_are_dealt_out() -> None:
    column = np.array([0, 1, 1, 2, 3, 3, 3, 4, 4, np.nan])
    codes = bins(column.reshape(-1, 1), [6], max_bins=4, deal_rare=True)
    # by frequency 3, 1, 4, 0, then 2 shares the code of 3, and 5 (in no row) that of 1
    assert codes.category_code[0].tolist() == [3, 1, 0, 0, 2, 1]
    assert codes.columns.tolist() == [[3, 1, 1, 0, 0, 0, 0, 2, 2, 255]]
    assert not bins(column.reshape(-1, 1), [6], deal_rare=True).category_code


def test_ties_between_categories_go_to_the_smaller_number() -> None:
    X = np.arange(10.0).reshape(-1, 1)
    assert bins(X, [10], max_bins=3).category_code[0].tolist() == [0, 1] + [2] * 8


def test_100_000_categories() -> None:
    X = np.random.default_rng(0).integers(0, 100_000, (200_000, 1)).astype(np.float64)
    codes = bins(X, [100_000])
    assert codes.n_codes.tolist() == [255] and codes.columns.max() == 254
    np.testing.assert_array_equal(codes.category_code[0][X[:, 0].astype(int)], codes.columns[0])
    assert ranks(X, [100_000]).n_codes.tolist() == [100_000]


# --- the way data lie in memory changes nothing, nor does the number of threads ---------------


@pytest.mark.parametrize("encode", [ranks, bins])
def test_layouts_and_threads_agree(encode: Any) -> None:
    X = mixed_table(5000)
    expected = encode(X, n_jobs=1)
    frozen = X.copy()
    frozen.flags.writeable = False
    for table in (
        np.asfortranarray(X),
        frozen,
        np.asfortranarray(frozen),
        scipy.sparse.csc_array(X),
        scipy.sparse.csr_array(X),
        X[:, :],
    ):
        for n_jobs in (None, 1, 2, 4):
            assert same(encode(table, n_jobs=n_jobs), expected)


def test_float32_and_float64_agree() -> None:
    X = mixed_table(5000, np.float32)
    assert same(ranks(X), ranks(X.astype(np.float64)))
    assert same(bins(X), bins(X.astype(np.float64)))


def test_a_sparse_column_counts_its_zeros() -> None:
    X = scipy.sparse.csc_array(np.array([[0.0, 0], [-1.0, 0], [2.0, 0], [0.0, 0]]))
    assert ranks(X).columns.tolist() == [[1, 0, 2, 1], [0] * 4]
    assert bins(X).edges.tolist() == [-0.5, 1.0]


# --- bins for random cuts -------------------------------------------------------------------


def test_half_of_the_bins_are_equally_wide() -> None:
    rng = np.random.default_rng(0)
    X = rng.lognormal(0.0, 1.5, 5000)[:, None]  # few values far out
    n_alone = {
        wide: int(np.sum(np.bincount(bins(X, wide=wide).columns[0]) == 1))
        for wide in (0.0, 0.125, 0.5)
    }
    assert n_alone[0.0] == 0 and n_alone[0.5] > 15, "the largest values have a bin each"
    assert n_alone[0.0] < n_alone[0.125] < n_alone[0.5]
    codes = bins(X, wide=0.5)
    edges = codes.edges
    assert 200 < codes.n_codes[0] == len(edges) + 1 <= 255
    assert np.all(np.diff(edges) > 0)
    np.testing.assert_array_equal(codes.columns[0], np.searchsorted(edges, X[:, 0]))
    assert np.diff(edges).max() < 1.5 * np.ptp(X) / 127 + np.diff(np.sort(X[:, 0])).max()
    assert np.bincount(codes.columns[0]).max() < 2 * len(X) / 127


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e308])
def test_wide_bins_of_any_scale(scale: float) -> None:
    X = np.random.default_rng(1).uniform(-1, 1, 2000)[:, None] * scale
    codes = bins(X, wide=0.5)
    assert 200 < codes.n_codes[0] <= 255 and np.isfinite(codes.edges).all()
    np.testing.assert_array_equal(codes.columns[0], np.searchsorted(codes.edges, X[:, 0]))


def test_crowded_columns_and_their_values() -> None:
    """A column is crowded if it has more values than bins; some rows can be chosen of all."""
    rng = np.random.default_rng(0)
    matrix = np.column_stack([rng.integers(0, 9, 50), rng.normal(size=50), rng.integers(0, 3, 50)])
    is_category, n_categories = np.array([False, False, True]), np.array([0, 0, 3])
    codes = encode_bins(matrix, is_category, n_categories, max_bins=16)
    assert codes.crowded.tolist() == [0, 1, 0] and codes.values is None
    rows = np.array([3, 4, 40])
    for table in (matrix, np.asfortranarray(matrix), scipy.sparse.csr_array(matrix)):
        chosen = codes.with_values(table).chosen(rows)
        assert chosen.values is not None and chosen.values.flags.c_contiguous
        assert np.array_equal(chosen.values, matrix[rows, 1:2])
        assert np.array_equal(chosen.columns, codes.columns[:, rows])
    every = encode_bins(matrix[:, 1:2], is_category[1:2], n_categories[1:2], max_bins=16)
    column = np.ascontiguousarray(matrix[:, 1:2])
    assert np.shares_memory(every.with_values(column).values, column), (
        "no copy where none is needed"
    )


@pytest.mark.quick
@pytest.mark.parametrize("n_rows", [2**33, 2**60])
def test_memory_that_is_not_to_be_had(n_rows: int) -> None:
    """More than any address space, and more than any number of bytes can be."""
    with pytest.raises(MemoryError, match=f"no memory for {n_rows} rows of {2**20} columns"):
        coding._passing((2**20, n_rows), np.float64)


def test_a_system_without_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any) -> None:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    monkeypatch.setattr(coding.mmap, "mmap", fail)
    X = np.arange(60.0).reshape(12, 5)
    for encode in (ranks, bins):
        with pytest.raises(MemoryError, match="no memory for 12 rows"):
            encode(X)


def test_pages_hold_the_codes_of_their_rows() -> None:
    """Wherever a table is cut, codes and code books are the same."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 20))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 1] = np.nan_to_num(X[:, 1])
    for encode in (bins, ranks):
        whole = encode(X)
        with cut_at(0, 7, 7, 30):
            cut = encode(X)
        assert [page.n_rows for page in cut.pages] == [0, 7, 0, 23, 20]
        assert len(whole.pages) == 1 and cut.n_rows == whole.n_rows == 50
        for name in ("columns", "n_codes", "edges", "middles", "has_missing"):
            np.testing.assert_array_equal(getattr(cut, name), getattr(whole, name))
        assert whole.has_missing.tolist() == np.isnan(X).any(axis=0).tolist()
        for page in cut.pages:
            span = slice(page.start, page.stop)
            np.testing.assert_array_equal(page.codes.columns, whole.columns[:, span])
            assert page.codes.columns.flags.c_contiguous


def test_values_and_rows_of_codes_lie_in_their_pages() -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    whole = bins(X, max_bins=16).with_values(X)
    with cut_at(11, 12):
        cut = bins(X, max_bins=16).with_values(X)
        some = cut.chosen(np.arange(5, 40))
    assert [page.n_rows for page in some.pages] == [11, 1, 23]
    np.testing.assert_array_equal(cut.values, X)
    np.testing.assert_array_equal(some.values, X[5:40])
    np.testing.assert_array_equal(some.columns, whole.columns[:, 5:40])
    for page in cut.pages:
        rows = slice(page.start, page.stop)
        np.testing.assert_array_equal(page.codes.values, X[rows])
        np.testing.assert_array_equal(page.codes.by_row, whole.pages.codes[0].by_row[rows])

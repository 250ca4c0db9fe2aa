"""Coding a sparse matrix gives the codes of the dense one, from its stored entries alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam.data.coding import encode_bins, encode_like
from hornbeam.data.sparse_coding import SparseCodes, encode_sparse_bins, encode_sparse_like

pytestmark = pytest.mark.quick


def dense_codes(matrix: np.ndarray, max_bins: int) -> Any:
    none = np.zeros(matrix.shape[1], np.int64)
    return encode_bins(matrix, none.astype(bool), none, max_bins=max_bins)


def spread(codes: SparseCodes) -> np.ndarray:
    """The codes of all cells, zeros included."""
    columns = np.repeat(codes.zero_code[:, None], codes.n_rows, axis=1)
    for feature in range(len(codes.n_codes)):
        entries = slice(codes.column_start[feature], codes.column_start[feature + 1])
        columns[feature, codes.column_row[entries]] = codes.column_code[entries]
    return columns


def random_matrix(seed: int, n_rows: int, share: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(n_rows, 4)).round(int(rng.integers(0, 3)))
    matrix *= rng.random(matrix.shape) < share
    matrix[rng.random(matrix.shape) < 0.05] = np.nan
    matrix[:, 3] = np.abs(matrix[:, 3]) + rng.integers(0, 2)
    return matrix + 0.0  # no negative zeros


@pytest.mark.mission("X5")
@pytest.mark.mission("L1")
@settings(max_examples=60)
@given(
    st.integers(0, 2**20),
    st.integers(1, 400),
    st.sampled_from([0.0, 0.05, 0.5, 1.0]),
    st.sampled_from([2, 5, 255]),
)
def test_codes_are_those_of_the_dense_matrix(
    seed: int, n_rows: int, share: float, max_bins: int
) -> None:
    matrix = random_matrix(seed, n_rows, share)
    sparse = encode_sparse_bins(scipy.sparse.csr_array(matrix), max_bins, 2)
    dense = dense_codes(matrix, max_bins)
    # the zero has a code, also in a column where all is missing
    np.testing.assert_array_equal(sparse.n_codes, np.maximum(dense.n_codes, 1))
    np.testing.assert_array_equal(sparse.edges, dense.edges)
    np.testing.assert_array_equal(sparse.edge_start, dense.edge_start)
    np.testing.assert_array_equal(spread(sparse), dense.columns)
    assert len(sparse.column_code) == np.count_nonzero(matrix)
    assert not sparse.is_category.any() and sparse.category_code == {}
    other = random_matrix(seed + 1, n_rows, share)
    again = encode_sparse_like(sparse, scipy.sparse.csc_array(other))
    np.testing.assert_array_equal(spread(again), encode_like(dense, other).columns)


def test_explicit_zeros_duplicates_and_disorder_do_not_matter() -> None:
    rows, columns = np.array([4, 0, 0, 2, 4]), np.array([0, 0, 0, 0, 1])
    messy = scipy.sparse.coo_array(([5.0, 1.0, 1.0, 0.0, 0.0], (rows, columns)), shape=(6, 2))
    codes = encode_sparse_bins(messy, 255)
    assert codes.column_row.tolist() == [0, 4] and codes.column_start.tolist() == [0, 2, 2]
    np.testing.assert_array_equal(spread(codes), dense_codes(messy.toarray(), 255).columns)
    assert messy.data.tolist() == [5.0, 1.0, 1.0, 0.0, 0.0]  # the user's matrix stays as it is


def test_threads_do_not_matter_with_many_columns() -> None:
    matrix = scipy.sparse.random_array((500, 300), density=0.05, rng=np.random.default_rng(0))
    one, four = (encode_sparse_bins(matrix, 16, n_jobs) for n_jobs in (1, 4))
    for name in ("n_codes", "edges", "column_row", "column_code", "zero_code"):
        np.testing.assert_array_equal(getattr(one, name), getattr(four, name))


def test_empty_matrices() -> None:
    codes = encode_sparse_bins(scipy.sparse.csr_array((5, 3)), 255)
    assert codes.n_codes.tolist() == [1, 1, 1] and codes.zero_code.tolist() == [0, 0, 0]
    assert len(codes.edges) == len(codes.column_code) == 0

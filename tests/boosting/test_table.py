"""The coded table: codes by row are codes by column, and sparse entries are its cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

from hornbeam.boosting.table import CodedTable, code_table, code_table_like
from hornbeam.data.sparse_coding import SparseCodes
from hornbeam.dtypes import MISSING_BIN

pytestmark = pytest.mark.quick


def code(matrix: object, n_features: int, n_jobs: int = 1) -> CodedTable:
    none = np.zeros(n_features, np.int64)
    return code_table(matrix, none.astype(bool), none, 255, n_jobs)


@pytest.mark.parametrize("n_features", [1, 2, 3, 63, 64, 65])
def test_rows_are_columns_turned_round(n_features: int) -> None:
    rng = np.random.default_rng(n_features)
    matrix = rng.integers(0, 9, (300, n_features)).astype(float)
    matrix[rng.random(matrix.shape) < 0.1] = np.nan
    table = code(matrix, n_features, n_jobs=2)
    stride = table.by_row.shape[1]
    assert stride >= n_features and (64 % stride == 0 or stride == n_features >= 64)
    np.testing.assert_array_equal(table.by_row[:, :n_features], table.by_column.T)
    np.testing.assert_array_equal(np.diff(table.cell_start), table.codes.n_codes + 1)
    assert table.n_cells == table.cell_start[-1] and not table.is_sparse
    again = code_table_like(table, matrix[::-1], 1)
    np.testing.assert_array_equal(again.by_row[:, :n_features], table.by_column.T[::-1])
    from_sparse = code_table_like(table, scipy.sparse.csr_array(matrix), 1)
    np.testing.assert_array_equal(from_sparse.by_row[:, :n_features], table.by_column.T)


@pytest.mark.mission("X5")
def test_entries_by_row_are_entries_by_feature() -> None:
    rng = np.random.default_rng(0)
    matrix = rng.integers(-3, 4, (200, 7)) * (rng.random((200, 7)) < 0.3) * 1.0
    matrix[rng.random(matrix.shape) < 0.05] = np.nan
    table = code(scipy.sparse.csc_array(matrix), 7)
    dense = code(matrix, 7)
    assert table.is_sparse and isinstance(table.codes, SparseCodes)
    for row in range(200):
        cells = table.entry_cell[table.entry_start[row] : table.entry_start[row + 1]].tolist()
        expected = []
        for feature in np.flatnonzero(matrix[row]):
            found = int(dense.by_column[feature, row])
            last = int(dense.codes.n_codes[feature])
            expected.append(
                int(table.cell_start[feature]) + (last if found == MISSING_BIN else found)
            )
        assert cells == expected


@pytest.mark.parametrize("sparse", [False, True])
def test_some_rows_of_a_table_are_coded_as_they_were(sparse: bool) -> None:
    rng = np.random.default_rng(5)
    matrix = rng.integers(-3, 4, (200, 7)) * (rng.random((200, 7)) < 0.4) * 1.0
    matrix[rng.random(matrix.shape) < 0.05] = np.nan
    mask = rng.random(200) < 0.5
    kind = scipy.sparse.csr_array if sparse else np.asarray
    table = code(kind(matrix), 7)
    some, expected = table[mask], code_table_like(table, kind(matrix[mask]), 1)
    assert some.n_rows == expected.n_rows == mask.sum()
    np.testing.assert_array_equal(some.entry_start, expected.entry_start)
    np.testing.assert_array_equal(some.entry_cell, expected.entry_cell)
    np.testing.assert_array_equal(some.by_row, expected.by_row)
    assert some.codes.n_codes is table.codes.n_codes
    if not sparse:  # trees can be grown on them
        np.testing.assert_array_equal(some.by_column, table.by_column[:, mask])
        return
    for name in ("n_rows", "column_start", "column_row", "column_code"):
        found, wanted = getattr(some.codes, name), getattr(expected.codes, name)
        np.testing.assert_array_equal(found, wanted)
        assert getattr(found, "dtype", None) == getattr(wanted, "dtype", None)


def rare_table(n_rows: int = 400) -> np.ndarray:
    """Columns that differ from zero in few rows, and some in all but few; never two at once."""
    rng = np.random.default_rng(3)
    matrix = np.zeros((n_rows, 40))
    row = 0
    for feature in range(30):
        n_others = feature % 12
        matrix[row : row + n_others, feature] = rng.integers(1, 4, n_others) - 2.5
        row += n_others
    matrix[:, 30] = 7.0
    matrix[:, 31] = np.nan
    matrix[:3, 32] = np.nan
    matrix[:, 33] = np.where(np.arange(n_rows) < 4, 0.0, 1.0)  # zeros are rare
    matrix[:, 34:] = rng.normal(size=(n_rows, 6))
    return matrix


@pytest.mark.parametrize("least_rows", [1, 5, 20])
@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array])
def test_features_that_cannot_part_the_rows_are_left_out(kind: Any, least_rows: int) -> None:
    """Their rows that are not zero are fewer than a leaf must have."""
    matrix = rare_table()
    table = code(kind(matrix), matrix.shape[1])
    parting = table.parting(least_rows)
    varies = [len(np.unique(column)) > 1 or np.isnan(column[0]) for column in matrix.T]
    expected = np.flatnonzero(varies & (np.count_nonzero(matrix, axis=0) >= least_rows))
    np.testing.assert_array_equal(parting.features, expected)
    if not parting.is_sparse:
        assert table.bundles.is_shared.any() and parting.by_row is table.by_row
        return
    widths = np.diff(parting.cell_start)
    kept = np.isin(np.arange(matrix.shape[1]), expected)
    np.testing.assert_array_equal(widths, np.where(kept, table.codes.n_codes + 1, 0))
    assert len(parting.entry_cell) == np.count_nonzero(matrix[:, kept])


def test_a_table_that_nothing_parts_stays_as_it_is() -> None:
    for kind in (np.asarray, scipy.sparse.csr_array):
        table = code(kind(rare_table()), 40)
        assert table.parting(401) is table

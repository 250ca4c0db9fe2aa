"""The coded table: codes by row are codes by column, and sparse entries are its cells."""

from __future__ import annotations

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

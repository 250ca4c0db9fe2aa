"""The coded table: codes by row are codes by column, and sparse entries are its cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

from hornbeam.boosting.table import CodedTable, code_table, code_table_like
from hornbeam.data.pages import cut_at
from hornbeam.data.sparse_coding import SparseCodes
from hornbeam.dtypes import MISSING_BIN

pytestmark = pytest.mark.quick


def layout_of(table: CodedTable) -> Any:
    """The layout of a table in one page."""
    (layout,) = table.pages.codes
    return layout


def code(matrix: object, n_features: int, n_jobs: int = 1) -> CodedTable:
    none = np.zeros(n_features, np.int64)
    return code_table(matrix, none.astype(bool), none, 255, n_jobs)


@pytest.mark.parametrize("n_features", [1, 2, 3, 63, 64, 65])
def test_rows_are_columns_turned_round(n_features: int) -> None:
    rng = np.random.default_rng(n_features)
    matrix = rng.integers(0, 9, (300, n_features)).astype(float)
    matrix[rng.random(matrix.shape) < 0.1] = np.nan
    table = code(matrix, n_features, n_jobs=2)
    layout = layout_of(table)
    stride = layout.by_row.shape[1]
    assert stride >= n_features and (64 % stride == 0 or stride == n_features >= 64)
    np.testing.assert_array_equal(layout.by_row[:, :n_features], layout.by_column.T)
    np.testing.assert_array_equal(np.diff(table.cell_start), table.codes.n_codes + 1)
    assert table.n_cells == table.cell_start[-1] and not table.is_sparse
    again = code_table_like(table, matrix[::-1], 1)
    by_row = layout_of(again).by_row
    np.testing.assert_array_equal(by_row[:, :n_features], layout.by_column.T[::-1])
    from_sparse = code_table_like(table, scipy.sparse.csr_array(matrix), 1)
    by_row = layout_of(from_sparse).by_row
    np.testing.assert_array_equal(by_row[:, :n_features], layout.by_column.T)


@pytest.mark.mission("X5")
def test_entries_by_row_are_entries_by_feature() -> None:
    rng = np.random.default_rng(0)
    matrix = rng.integers(-3, 4, (200, 7)) * (rng.random((200, 7)) < 0.3) * 1.0
    matrix[rng.random(matrix.shape) < 0.05] = np.nan
    table = code(scipy.sparse.csc_array(matrix), 7)
    dense, layout = code(matrix, 7), layout_of(table)
    by_column = layout_of(dense).by_column
    assert table.is_sparse and isinstance(table.codes, SparseCodes)
    for row in range(200):
        cells = layout.entry_cell[layout.entry_start[row] : layout.entry_start[row + 1]].tolist()
        expected = []
        for feature in np.flatnonzero(matrix[row]):
            found = int(by_column[feature, row])
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
    assert some.codes.n_codes is table.codes.n_codes
    kept, wished = layout_of(some), layout_of(expected)
    if not sparse:  # trees can be grown on them
        np.testing.assert_array_equal(kept.by_row, wished.by_row)
        np.testing.assert_array_equal(kept.by_column, layout_of(table).by_column[:, mask])
        return
    np.testing.assert_array_equal(kept.entry_start, wished.entry_start)
    np.testing.assert_array_equal(kept.entry_cell, wished.entry_cell)
    for name in ("n_rows", "column_start", "column_row", "column_code"):
        found, wanted = getattr(kept.codes, name), getattr(wished.codes, name)
        np.testing.assert_array_equal(found, wanted)
        assert getattr(found, "dtype", None) == getattr(wanted, "dtype", None)


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("cuts", [(60,), (0, 1, 150), (30, 30, 200, 300)])
def test_pages_hold_the_codes_of_their_rows(cuts: tuple[int, ...], kind: Any) -> None:
    matrix = rare_table(200)
    mask = np.random.default_rng(1).random(200) < 0.5
    whole = code(kind(matrix), 40)
    with cut_at(*cuts):
        table = code(kind(matrix), 40)
        other = code_table_like(whole, kind(matrix), 1)
    assert len(table.pages) == len(cuts) + 1 and table.n_rows == 200
    assert table.n_pairs == whole.n_pairs
    features = table.parting(5).features.tolist()
    assert features == whole.parting(5).features.tolist() and len(features) < 40
    all_rows = np.arange(200)
    again = code_table_like(whole, kind(matrix), 1)
    cases = (table, whole, all_rows), (other, again, all_rows), (table[mask], whole, all_rows[mask])
    for cut, coded, numbers in cases:
        for page in cut.pages:
            chosen = np.isin(np.arange(200), numbers[page.start : page.stop])
            expected = layout_of(coded[chosen])
            if cut.is_sparse:
                np.testing.assert_array_equal(page.codes.entry_start, expected.entry_start)
                np.testing.assert_array_equal(page.codes.entry_cell, expected.entry_cell)
            else:
                n_columns = cut.bundles.n_columns
                found, wanted = page.codes.by_row, expected.by_row
                np.testing.assert_array_equal(found[:, :n_columns], wanted[:, :n_columns])
        assert cut.n_rows == len(numbers)


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
        assert table.bundles.is_shared.any() and parting.pages is table.pages
        return
    widths = np.diff(parting.cell_start)
    kept = np.isin(np.arange(matrix.shape[1]), expected)
    np.testing.assert_array_equal(widths, np.where(kept, table.codes.n_codes + 1, 0))
    assert len(layout_of(parting).entry_cell) == np.count_nonzero(matrix[:, kept])


def test_a_table_that_nothing_parts_stays_as_it_is() -> None:
    for kind in (np.asarray, scipy.sparse.csr_array):
        table = code(kind(rare_table()), 40)
        assert table.parting(401) is table

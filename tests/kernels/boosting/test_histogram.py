"""Histograms of packed integers: lanes at their limits, exact sums, exact subtraction."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from hornbeam import losses
from hornbeam.boosting import scores as scoring
from hornbeam.boosting.grower import BoostedGrower
from hornbeam.boosting.rules import BoostRules
from hornbeam.boosting.scores import RowScores
from hornbeam.boosting.table import CodedTable, _lay_out, code_table, no_bundles
from hornbeam.data.coding import Codes, encode_bins
from hornbeam.kernels.boosting import state as s
from hornbeam.kernels.boosting.histogram import fill_default, subtract
from hornbeam.kernels.slopes import SlopePeak
from hornbeam.runtime.kernel import specialise
from hornbeam.runtime.pointers import bare

LARGEST = np.float32(2.0 - 2.0**-23)  # rounds up to a power of two: one unit beyond its bits


not_stored = partial(specialise, variant=None)


@not_stored
def count_columns(slots, node, slot, place, place_end, rank):  # type: ignore[no-untyped-def]
    steps = s.load_table(slots, s.TABLE_AT).steps
    steps.count_columns(bare(slots), node, slot, place, place_end, rank)


@not_stored
def count_shared(slots, node, rank):  # type: ignore[no-untyped-def]
    s.load_table(slots, s.TABLE_AT).steps.count_shared(bare(slots), node, rank)


@pytest.fixture(autouse=True)
def _real_threads(monkeypatch: Any) -> None:
    monkeypatch.setattr(scoring, "LEAST_SECONDS", 0.0)


def encode(matrix: np.ndarray) -> Codes:
    none = np.zeros(matrix.shape[1], np.int64)
    return encode_bins(matrix, none.astype(bool), none, max_bins=255)


def bundled(matrix: Any) -> CodedTable:
    """The table as boosting has it: of a dense one, exclusive features share a column."""
    none = np.zeros(matrix.shape[1], np.int64)
    return code_table(matrix, none.astype(bool), none, 255, 1)


def make(slopes: np.ndarray, matrix: Any, equal: bool = False, n_jobs: int = 1) -> BoostedGrower:
    """A grower that has laid out and packed its rows, each feature in a column of its own."""
    table = _lay_out(encode(matrix), no_bundles(matrix.shape[1]), 1)
    return prepare(slopes, table, equal, n_jobs)


def prepare(slopes: np.ndarray, table: CodedTable, equal: bool, n_jobs: int) -> BoostedGrower:
    """A grower that has made no split."""
    n_rows, n_features = table.n_rows, table.n_features
    loss = losses.resolve("squared_error", task="regression")
    scores = RowScores(loss, np.zeros(n_rows), np.ones(n_rows), np.zeros(1), 2)
    scores.slope[:] = slopes.astype(np.float32).ravel()
    gradient, hessian = np.abs(slopes).max(axis=0).tolist()
    scores.peak = SlopePeak(gradient, hessian, n_bad=0, least=1.0)
    scores.equal_hessians = equal
    rules = BoostRules(max_leaf_nodes=2, min_samples_leaf=n_rows)
    grower = BoostedGrower(table, rules, scores, n_jobs)
    grower.grow(0, np.arange(n_features))
    assert int(grower.words[s.WORD_NODES]) == 1
    return grower


def integers(grower: BoostedGrower, slopes: np.ndarray) -> list[tuple[int, int]]:
    """Gradient and hessian of each row as Python integers, which have no limits."""
    units = grower.units
    return [
        (int(np.rint(float(g) / units.gradient)), max(1, int(np.rint(float(h) / units.hessian))))
        for g, h in slopes
    ]


def expected_cells(grower: BoostedGrower, codes: np.ndarray, whole: list[Any]) -> list[list[int]]:
    """Sums of gradients and of hessians for every cell, one row after the other."""
    table = grower.table
    cells = [[0, 0] for _ in range(table.shape.n_cells)]
    for feature in range(codes.shape[0]):
        start, n_codes = int(table.cell_start[feature]), int(table.n_codes[feature])
        for code, (g, h) in zip(codes[feature].tolist(), whole, strict=True):
            cell = start + (n_codes if code == s.MISSING else code)
            cells[cell][0] += g
            cells[cell][1] += h
    return cells


def cells_of(plane: np.ndarray, grower: BoostedGrower, slot: int = 0) -> list[list[int]]:
    n_cells = grower.table.shape.n_cells
    pair = plane[2 * slot * n_cells : 2 * (slot + 1) * n_cells].reshape(2, n_cells)
    return [[int(g), int(h)] for g, h in pair.T]


SIZES = [1, 2, 100, s.CHUNK, s.FLUSH_ROWS - 1, s.FLUSH_ROWS, s.FLUSH_ROWS + 1, 2 * s.FLUSH_ROWS + 7]


@pytest.mark.mission("L2")
@pytest.mark.quick
@pytest.mark.parametrize("equal", [False, True])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("n_rows", SIZES)
def test_the_largest_slopes_all_in_one_bin(n_rows: int, sign: float, equal: bool) -> None:
    """As many rows as a tile holds, each as large as can be, and more rows than that."""
    slopes = np.tile([sign * LARGEST, LARGEST], (n_rows, 1))
    grower = make(slopes, np.zeros((n_rows, 2)), equal)
    lane = grower.units.lane
    (g, h), *_ = whole = integers(grower, slopes)
    held = min(n_rows, s.FLUSH_ROWS)
    assert held * h < 2**lane and abs(held * g) << lane < 2**63
    assert held * h >= 2 ** (lane - 2)  # and no bit is wasted
    assert int(grower.nodes.gradient[0]) == n_rows * g
    assert int(grower.nodes.hessian[0]) == n_rows * h
    count_columns(grower.slots, 0, 0, 0, 2, 0)
    codes = np.zeros((2, n_rows), int)
    assert cells_of(grower.team.cells, grower) == expected_cells(grower, codes, whole)


@pytest.mark.mission("L2")
@pytest.mark.quick
@pytest.mark.parametrize("equal", [False, True])
@pytest.mark.parametrize("n_rows", [5, 300, s.FLUSH_ROWS + 300])
def test_sums_are_those_of_python_integers(n_rows: int, equal: bool) -> None:
    """Slopes of all sizes and signs, missing values, several features, one thread or two."""
    rng = np.random.default_rng(n_rows)
    slopes = rng.normal(size=(n_rows, 2)) * 10.0 ** rng.uniform(-6, 0, (n_rows, 2))
    slopes[:, 1] = 0.25 if equal else np.abs(slopes[:, 1])
    slopes = slopes.astype(np.float32).astype(float)
    matrix = rng.integers(0, 9, (n_rows, 3)).astype(float)
    matrix[rng.random(matrix.shape) < 0.2] = np.nan
    grower = make(slopes, matrix, equal, n_jobs=2)
    expected = expected_cells(grower, encode(matrix).columns, integers(grower, slopes))
    count_columns(grower.slots, 0, 1, 0, 3, 1)
    assert cells_of(grower.team.cells, grower, slot=1) == expected
    grower.words[s.WORD_COUNTS] = 0
    count_shared(grower.slots, 0, 0)  # takes all chunks; the second thread none
    count_shared(grower.slots, 0, 1)
    assert cells_of(grower.team.sums, grower) == expected
    assert not np.any(cells_of(grower.team.sums, grower, slot=1))
    assert not grower.team.tiles.any()  # left clean for the next node


@not_stored
def remainders(slots, from_slot, slot, n_features):  # type: ignore[no-untyped-def]
    table, team = s.load_table(slots, s.TABLE_AT), s.load_team(slots, s.TEAM_AT)
    for feature in range(n_features):
        subtract(table, team.cells, from_slot, slot, feature)


@pytest.mark.mission("L2")
@pytest.mark.quick
def test_what_remains_of_the_parent_is_the_sibling() -> None:
    n_rows = 3000
    rng = np.random.default_rng(0)
    slopes = np.column_stack([rng.normal(size=n_rows), rng.uniform(0.1, 1.0, n_rows)])
    slopes = slopes.astype(np.float32).astype(float)
    matrix = rng.integers(0, 20, (n_rows, 4)).astype(float)
    grower = make(slopes, matrix)
    whole = integers(grower, slopes)
    codes = encode(matrix).columns
    count_columns(grower.slots, 0, 0, 0, 4, 0)
    # the first rows are the one child, the others its sibling
    grower.nodes.last[0] = grower.nodes.n_rows[0] = 1100
    count_columns(grower.slots, 0, 1, 0, 4, 0)
    remainders(grower.slots, 0, 1, 4)
    parts = [(slice(1100, None), 0), (slice(0, 1100), 1)]
    for rows, slot in parts:
        expected = expected_cells(grower, codes[:, rows], whole[rows])
        assert cells_of(grower.team.cells, grower, slot) == expected


@pytest.mark.mission("X5")
@pytest.mark.quick
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_lanes_of_sparse_tables_hold_as_many_rows(sign: float) -> None:
    n_rows = s.FLUSH_ROWS + 5
    slopes = np.tile([sign * LARGEST, LARGEST], (n_rows, 1))
    matrix = np.zeros((n_rows, 2))
    matrix[:, 0] = 3.0
    matrix[::7, 1] = np.nan
    grower = prepare(slopes, bundled(scipy.sparse.csc_array(matrix)), False, n_jobs=2)
    (g, h), *_ = integers(grower, slopes)
    n_missing = len(matrix[::7])
    start = grower.table.cell_start
    grower.words[s.WORD_COUNTS] = 0
    count_columns(grower.slots, 0, 0, 0, 2, 0)
    count_shared(grower.slots, 0, 0)
    for plane in ("cells", "sums"):
        cells = cells_of(getattr(grower.team, plane), grower)
        assert cells[int(start[0])] == [n_rows * g, n_rows * h]
        assert cells[int(start[2]) - 1] == [n_missing * g, n_missing * h]
        assert cells[int(start[1])] == [0, 0]  # zeros are filled in when they are searched


@not_stored
def fill_defaults(slots, slot, n_features):  # type: ignore[no-untyped-def]
    table, nodes = s.load_table(slots, s.TABLE_AT), s.load_nodes(slots, s.NODES_AT)
    team = s.load_team(slots, s.TEAM_AT)
    for feature in range(n_features):
        fill_default(table, nodes, team.cells, 0, slot, feature)


@pytest.mark.mission("L2")
@pytest.mark.quick
def test_features_that_share_a_column_have_the_sums_of_their_own() -> None:
    """One word per row counts six exclusive features; the default gets what remains."""
    n_rows = s.FLUSH_ROWS + 100
    rng = np.random.default_rng(0)
    slopes = np.column_stack([rng.normal(size=n_rows), rng.uniform(0.1, 1.0, n_rows)])
    slopes = slopes.astype(np.float32).astype(float)
    matrix = np.zeros((n_rows, 6))
    matrix[np.arange(n_rows), rng.integers(0, 6, n_rows)] = rng.integers(1, 4, n_rows)
    matrix[::50] = 0.0
    table = bundled(matrix)
    assert table.bundles.n_columns < 6
    grower = prepare(slopes, table, False, 1)
    count_columns(grower.slots, 0, 0, 0, grower.draw.n_bundles, 0)
    fill_defaults(grower.slots, 0, 6)
    whole = integers(grower, slopes)
    expected = expected_cells(grower, encode(matrix).columns, whole)
    assert cells_of(grower.team.cells, grower) == expected

"""Ranges of codes in a node, for all features at once."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from hornbeam.dtypes import MISSING_BIN
from hornbeam.kernels.lanes import LANES, span_lanes


@njit
def _spans(by_row, stride, rows, first, last, low, high, top):
    for lane in range(0, stride, LANES):
        span_lanes(by_row, stride, rows, first, last, lane, low, high, top)


@pytest.mark.parametrize("stride", [32, 96])
@pytest.mark.parametrize("n_rows", [1, 2, 77])
def test_ranges_are_those_of_numpy(stride, n_rows):
    random = np.random.default_rng(stride + n_rows)
    table = random.integers(0, 256, (200, stride)).astype(np.uint8)
    table[:, 3] = MISSING_BIN
    table[:, 5] = 17
    rows = random.choice(200, n_rows, replace=False).astype(np.int32)
    low, high, top = (np.full(stride, 9, np.uint8) for _ in range(3))
    _spans(table.ravel(), stride, rows, 0, n_rows, low, high, top)
    codes = table[rows].astype(int)
    known = np.where(codes == MISSING_BIN, -1, codes)
    assert np.array_equal(low, codes.min(axis=0))
    assert np.array_equal(high, known.max(axis=0) + 1)
    assert np.array_equal(top, codes.max(axis=0))

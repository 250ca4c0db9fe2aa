"""Ranges of codes in a node, for all features at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit

from hornbeam.dtypes import MISSING_BIN
from hornbeam.kernels.lanes import LANES
from hornbeam.kernels.ranges import find_ranges


class Page(NamedTuple):
    """What `find_ranges` reads of a page."""

    start: int
    stop: int
    by_row: Any


class Table(NamedTuple):
    """What it reads of a problem."""

    pages: Any
    n_pages: int
    row_stride: int


class Room(NamedTuple):
    """What it writes of a scratch."""

    low: Any
    high: Any
    top: Any
    varies: Any


@njit
def _find(table, rows, room):
    find_ranges(table, rows, 0, len(rows), room)


@pytest.mark.parametrize("stride", [16, 32, 96])
@pytest.mark.parametrize("n_rows", [1, 2, 77])
@pytest.mark.parametrize("cuts", [(), (0, 60, 61)])
def test_ranges_are_those_of_numpy(stride, n_rows, cuts):
    random = np.random.default_rng(stride + n_rows)
    by_row = random.integers(0, 256, 200 * stride + LANES).astype(np.uint8)
    table = by_row[: 200 * stride].reshape(200, stride)
    table[:, 3] = MISSING_BIN
    table[:, 5] = 17
    rows = np.sort(random.choice(200, n_rows, replace=False)).astype(np.int32)
    room = Room(*(np.full(max(stride, LANES), 9, np.uint8) for _ in range(4)))
    borders = zip((0, *cuts), (*cuts, 200), strict=True)
    pages = tuple(Page(start, stop, by_row[start * stride :]) for start, stop in borders)
    _find(Table(pages, len(pages), stride), rows, room)
    low, high, top, varies = (array[:stride] for array in room)
    codes = table[rows].astype(int)
    known = np.where(codes == MISSING_BIN, -1, codes)
    assert np.array_equal(low, codes.min(axis=0))
    assert np.array_equal(high, known.max(axis=0) + 1)
    assert np.array_equal(top, codes.max(axis=0))
    several = np.array([len(set(column)) > 1 for column in codes.T])
    assert np.array_equal(varies, several & (high > 0))

"""Vectors of codes against what NumPy says."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit, uint8

from hornbeam.kernels import lanes
from hornbeam.kernels.lanes import (
    BLOCK_LANES,
    LANES,
    PART_LANES,
    PLACE_LANES,
    SUM_LANES,
    add_above,
    add_up_to,
    copy_four,
    count_above,
    count_two_up_to,
    count_up_to,
    count_up_to_place,
    highest_code,
    highest_value,
    lowest_code,
    lowest_value,
    part_lanes,
    rows_equal,
    rows_equal_value,
    rows_up_to,
    rows_up_to_value,
    sum_values,
)

N_ROWS, STRIDE = 90, 64


@njit
def _count(by_row, stride, row, cuts, below, above):
    for lane in range(0, stride, LANES):
        for j in range(len(row)):
            start = row[j] * stride + lane
            count_up_to(by_row, start, cuts, lane, below, lane, uint8(1))
            count_above(by_row, start, cuts, lane, above, lane, uint8(2))


@njit
def _count_two(by_row, stride, row, first, last, cuts, labels, shift, counts, width):
    table, middle = (by_row, 0, stride), (first + last) // 2
    for lane in range(0, stride, LANES):
        count_two_up_to(table, row, first, middle, lane, cuts, labels, shift, counts, width)
        count_two_up_to(table, row, middle, last, lane, cuts, labels, shift, counts, width)


@njit
def _copy(source, place, target, to, other, there):
    copy_four(source, place, target, to, other, there)


@njit
def _add(by_row, stride, row, cuts, stats, below, above):
    for lane in range(0, stride, SUM_LANES):
        table, n_rows = (by_row, 0, stride), len(row)
        for begin, end in ((0, 7), (7, n_rows)):
            add_up_to(table, row, begin, end, lane, cuts, stats, below, lane)
            add_above(table, row, begin, end, lane, cuts, stats, above, lane)


def _part(items, place, left, spare, right, sides, number):
    return part_lanes(items, place, left, spare, right, sides, number)


@njit
def _count_places(places, at, limit):
    return count_up_to_place(places, at, limit)


@pytest.fixture
def table():
    random = np.random.default_rng(0)
    codes = random.integers(0, 256, (N_ROWS, STRIDE)).astype(np.uint8)
    row = random.choice(N_ROWS, 60, replace=False).astype(np.int32)
    cuts = random.integers(0, 256, STRIDE).astype(np.uint8)
    return codes, row, cuts


def test_codes_are_counted_on_both_sides_of_a_cut(table):
    codes, row, cuts = table
    below, above = np.full(STRIDE, 3, np.uint8), np.zeros(STRIDE, np.uint8)
    _count(codes.ravel(), STRIDE, row, cuts, below, above)
    n_below = (codes[row] <= cuts).sum(axis=0)
    assert np.array_equal(below, 3 + n_below)
    assert np.array_equal(above, 2 * (len(row) - n_below))


def test_rows_of_two_classes_are_counted_up_to_a_cut(table):
    codes, row, cuts = table
    labels = np.random.default_rng(1).integers(0, 2, len(row)).astype(np.int32)
    counts = np.zeros((3, STRIDE), np.uint8)
    counts[0], counts[2] = 3, 9
    first, last, shift = 4, len(row), 2
    _count_two(codes.ravel(), STRIDE, row, first, last, cuts, labels, shift, counts.ravel(), STRIDE)
    below = codes[row[first:last]] <= cuts
    for label in range(2):
        chosen = labels[first - shift : last - shift] == label
        before = 3 if label == 0 else 0
        assert np.array_equal(counts[label], before + below[chosen].sum(axis=0))
    assert np.all(counts[2] == 9)


def test_lanes_behind_a_short_row_are_kept_apart():
    random = np.random.default_rng(2)
    half = LANES // 2
    room = random.integers(0, 256, N_ROWS * half + LANES).astype(np.uint8)
    codes = room[: N_ROWS * half].reshape(N_ROWS, half)
    row = np.arange(N_ROWS, dtype=np.int32)
    cuts = random.integers(0, 256, LANES).astype(np.uint8)
    labels = random.integers(0, 2, N_ROWS).astype(np.int32)
    counts = np.zeros((2, LANES), np.uint8)
    _count_two(room, half, row, 0, N_ROWS, cuts, labels, 0, counts.ravel(), LANES)
    below = codes <= cuts[:half]
    for label in range(2):
        assert np.array_equal(counts[label, :half], below[labels == label].sum(axis=0))


def test_four_items_are_copied_to_two_places():
    items, spare = np.arange(10.0), np.zeros(6)
    _copy(items, 5, items, 1, spare, 2)
    assert items.tolist() == [0, 5, 6, 7, 8, 5, 6, 7, 8, 9]
    assert spare.tolist() == [0, 0, 5, 6, 7, 8]


def test_sums_are_added_in_the_order_of_the_rows(table):
    codes, row, cuts = table
    stats = np.random.default_rng(1).normal(size=(len(row), 3))
    below, above = np.full((2, 3, STRIDE), 7.5)  # what was there before
    _add(codes.ravel(), STRIDE, row, cuts, stats.ravel(), below.ravel(), above.ravel())
    is_below = codes[row] <= cuts
    for feature in range(STRIDE):
        total = np.full((2, 3), 7.5)
        for j in range(len(row)):
            total[0 if is_below[j, feature] else 1] += stats[j]
        assert np.array_equal([below[:, feature], above[:, feature]], total)


@pytest.mark.parametrize("kind", [np.int32, np.float64])
@pytest.mark.parametrize("way", ["of this processor", "compressed"])
def test_items_are_parted_in_their_order(kind, way, monkeypatch):
    if way == "compressed":  # LLVM has it for every processor
        monkeypatch.setattr(lanes, "_shuffles_only", lambda context: False)
    part = njit(_part)
    for pattern in range(1 << PART_LANES):
        goes_left = np.array([pattern >> i & 1 for i in range(PART_LANES)], np.uint8)
        items, spare = np.arange(20).astype(kind), np.full(20, -1).astype(kind)
        sides = np.concatenate([np.full(3, 9, np.uint8), goes_left])
        block = items[6 : 6 + PART_LANES].copy()
        gone_left = part(items, 6, 5, spare, 2, sides, 3)
        assert gone_left == goes_left.sum()
        assert np.array_equal(items[5 : 5 + gone_left], block[goes_left == 1])
        assert np.array_equal(spare[2 : 2 + PART_LANES - gone_left], block[goes_left == 0])
        assert np.array_equal(items[:5], np.arange(5)) and np.all(spare[:2] == -1)
        assert np.array_equal(items[14:], np.arange(14, 20))
        assert np.all(spare[2 + PART_LANES :] == -1)


@pytest.mark.parametrize("limit", [-1.0, 0.0, 6.5, 15.0, 99.0, np.inf])
def test_places_are_counted_up_to_a_limit(limit):
    places = np.concatenate([[np.nan], np.arange(PLACE_LANES, dtype=float), [0.0]])
    assert _count_places(places, 1, limit) == np.count_nonzero(places[1:-1] <= limit)


@njit
def _ask_block(codes, at, code, rows):
    return (
        rows_up_to(codes, at, code),
        rows_equal(codes, at, code),
        lowest_code(codes, at, rows),
        highest_code(codes, at, rows),
    )


def test_sets_of_rows_by_their_codes():
    random = np.random.default_rng(0)
    for trial in range(50):
        codes = random.integers(0, 256, 3 * BLOCK_LANES).astype(np.uint8)
        here = random.random(BLOCK_LANES) < 0.1 * (trial % 11)
        part, code = codes[BLOCK_LANES : 2 * BLOCK_LANES], codes[random.integers(0, len(codes))]
        bits = np.uint64(sum(1 << int(i) for i in np.flatnonzero(here)))
        up_to, equal, low, high = _ask_block(codes, BLOCK_LANES, code, bits)
        assert int(up_to) == sum(1 << int(i) for i in np.flatnonzero(part <= code))
        assert int(equal) == sum(1 << int(i) for i in np.flatnonzero(part == code))
        assert low == part[here].min(initial=255)
        assert high == (part[here] + np.uint8(1)).max(initial=0)  # 255 is missing, and becomes 0


@njit
def _ask_values(values, at, value, rows):
    return (
        rows_up_to_value(values, at, value),
        rows_equal_value(values, at, value),
        lowest_value(values, at, rows),
        highest_value(values, at, rows),
        sum_values(values, at, rows),
    )


def test_sets_of_rows_by_their_values():
    """Lanes that are not in the set hold anything, and infinity stands for a missing value."""
    random = np.random.default_rng(0)
    for trial in range(50):
        values = random.integers(-50, 50, 3 * BLOCK_LANES) / 4.0
        here = random.random(BLOCK_LANES) < 0.1 * (trial % 11)
        part, value = values[BLOCK_LANES : 2 * BLOCK_LANES], values[random.integers(0, len(values))]
        part[~here & (random.random(BLOCK_LANES) < 0.5)] = np.inf
        bits = np.uint64(sum(1 << int(i) for i in np.flatnonzero(here)))
        up_to, equal, low, high, total = _ask_values(values, BLOCK_LANES, value, bits)
        assert int(up_to) == sum(1 << int(i) for i in np.flatnonzero(part <= value))
        assert int(equal) == sum(1 << int(i) for i in np.flatnonzero(part == value))
        assert low == part[here].min(initial=np.inf)
        assert high == part[here].max(initial=-np.inf)
        assert total == part[here].sum()

"""Random sides of categories, against their definition."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit, uint64

from hornbeam.forest.bags import derive_key
from hornbeam.kernels.split_bins import ROW_UNIT
from hornbeam.kernels.split_random_categories import cut_shares, draw_sides


class Scratch(NamedTuple):
    """What the two functions read and write."""

    keys: Any
    sides: Any
    cell_words: Any
    group_mean: Any


def make_scratch(categories: list[int], counts: Any = ()) -> Scratch:
    n_groups = len(categories)
    words = (np.array(counts, np.int64) * (ROW_UNIT + 1)).ravel()
    keys = np.array(categories, np.uint64) << np.uint64(32)
    return Scratch(keys, np.full(n_groups, 9, np.uint8), words, np.zeros(n_groups))


@njit
def _draw(scratch, n_groups, key):
    draw_sides(scratch, n_groups, uint64(key))


@njit
def _cut(scratch, n_groups, n_classes, which, key):
    cut_shares(scratch, n_groups, n_classes, which, uint64(key))


def _below(key, counter, limit):
    return ((derive_key(key, counter) >> 32) * limit) >> 32


@pytest.mark.parametrize("categories", [[5], [0, 62], [1, 2, 3], list(range(63)), [3, 200, 254]])
def test_a_subset_has_one_side_for_each_category(categories):
    n_groups = len(categories)
    for key in range(50):
        inside = _below(key, 0, n_groups)
        outside = (inside + 1 + _below(key, 1, max(1, n_groups - 1))) % n_groups
        expected = [
            (_below(key, 2 + code, 2) == 0 and group != outside) or group == inside
            for group, code in enumerate(categories)
        ]
        scratch = make_scratch(categories)
        _draw(scratch, n_groups, np.uint64(key))
        assert scratch.sides.tolist() == expected


@pytest.mark.parametrize("which", [0, 1, 2])
def test_shares_are_cut_into_low_and_high_ones(which):
    random = np.random.default_rng(which)
    lows = 0
    for key in range(200):
        counts = random.integers(1, 9, (7, 3))
        shares = counts[:, which] / counts.sum(axis=1)
        scratch = make_scratch(list(range(7)), counts)
        _cut(scratch, 7, 3, which, np.uint64(key))
        left, right = shares[scratch.sides == 1], shares[scratch.sides == 0]
        assert len(left) + len(right) == 7 and len(left) > 0 and len(right) > 0
        assert left.max() <= right.min() or right.max() <= left.min()
        lows += shares.argmin() in np.flatnonzero(scratch.sides)
    assert 60 < lows < 140, "low shares are as often on the left as on the right"


def test_equal_shares_are_still_cut():
    scratch = make_scratch([0, 1, 2], [[1, 1], [2, 2], [4, 4]])
    for key in range(20):
        _cut(scratch, 3, 2, 1, np.uint64(key))
        assert 0 < scratch.sides.sum() < 3

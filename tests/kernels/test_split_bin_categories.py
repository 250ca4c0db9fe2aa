"""Random subsets of categories, drawn as bits, against their definition."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numba import njit, uint64

import hornbeam as hb
from hornbeam.forest.bags import derive_key
from hornbeam.kernels.split_random_categories import draw_codes


@njit
def _draw(known, n_groups, key):
    return draw_codes(uint64(known), n_groups, uint64(key))


def _below(key, counter, limit):
    return ((derive_key(key, counter) >> 32) * limit) >> 32


@pytest.mark.parametrize("categories", [[5], [0, 62], [1, 2, 3], list(range(63))])
def test_a_subset_has_one_side_for_each_category(categories):
    n_groups, known = len(categories), sum(1 << code for code in categories)
    for key in range(50):
        inside = _below(key, 0, n_groups)
        outside = (inside + 1 + _below(key, 1, max(1, n_groups - 1))) % n_groups
        expected = 0
        for group, code in enumerate(categories):
            chosen = _below(key, 2 + code, 2) == 0 and group != outside
            expected |= (chosen or group == inside) << code
        assert _draw(known, n_groups, np.uint64(key)) == expected


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("with_missing", [False, True])
def test_few_categories_are_parted_as_many_are(weighted, n_classes, with_missing):
    """Categories that no row has do not change a tree, but more than 63 are counted one by one."""
    random = np.random.default_rng(n_classes)
    codes = random.integers(-1 if with_missing else 0, [[2], [6], [40]], (3, 600))
    y = (codes.sum(axis=0) + (random.random(600) < 0.2)) % n_classes
    weight = random.integers(1, 3, 600) if weighted else None

    def table(n_more):
        names = [f"{number:03d}" for number in range(40 + n_more)]
        counts = (2, 6, 40)
        columns = [
            pd.Categorical.from_codes(code, names[: count + n_more])
            for code, count in zip(codes, counts, strict=True)
        ]
        return pd.DataFrame(dict(zip("abc", columns, strict=True)))

    few, many = (
        hb.ExtraTreesClassifier(n_estimators=5, random_state=0, min_samples_split=2).fit(
            table(n_more), y, sample_weight=weight
        )
        for n_more in (0, 64)
    )
    assert few.store_.n_nodes > 100
    assert np.array_equal(few.apply(table(0)), many.apply(table(64)))
    assert np.array_equal(few.predict_proba(table(0)), many.predict_proba(table(64)))

"""Exclusive features share a column, and nothing else changes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.boosting import table as tables
from hornbeam.boosting.bundles import Bundles, find_bundles, no_bundles
from hornbeam.data.coding import encode_bins


def one_hot(n_rows: int = 3000) -> tuple[Any, Any]:
    """Two groups of exclusive columns, four of noise, and missing values in one group."""
    random = np.random.default_rng(0)
    X = np.zeros((n_rows, 24))
    first, second = random.integers(0, 12, n_rows), random.integers(0, 8, n_rows)
    X[np.arange(n_rows), first] = random.integers(1, 4, n_rows)
    X[:, 12:16] = random.normal(size=(n_rows, 4))
    X[np.arange(n_rows), 16 + second] = 1.0
    X[second == 3, 19] = np.nan
    y = X[:, 12] + first % 3 + 2.0 * (second == 3) + random.normal(size=n_rows)
    return X, y


def bundles_of(X: Any) -> tuple[Bundles, Any]:
    n_features = X.shape[1]
    codes = encode_bins(X, np.zeros(n_features, bool), np.zeros(n_features, np.int64))
    return find_bundles(codes.columns, codes.n_codes), codes


@pytest.mark.mission("L5")
@pytest.mark.parametrize(
    "parameters",
    [{}, {"subsample": 0.6}, {"colsample_bytree": 0.4}, {"colsample_bynode": 0.5}, {"n_jobs": 4}],
)
def test_bundling_does_not_change_the_model(
    parameters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = one_hot()
    assert bundles_of(X)[0].n_columns == 6
    model = hb.GradientBoostingRegressor(n_estimators=20, random_state=0, **parameters)
    with_bundles = model.fit(X, y).digest()
    monkeypatch.setattr(tables, "find_bundles", lambda columns, n_codes: no_bundles(len(n_codes)))
    assert model.fit(X, y).digest() == with_bundles


def test_features_of_a_bundle_never_differ_in_the_same_row() -> None:
    bundles, codes = bundles_of(one_hot()[0])
    for column in range(bundles.n_columns):
        members = np.flatnonzero(bundles.column == column)
        if len(members) == 1:
            continue
        different = codes.columns[members] != bundles.default[members, None]
        assert different.sum(axis=0).max() == 1
        spans = sorted((bundles.offset[f], bundles.offset[f] + bundles.width[f]) for f in members)
        assert spans[0][0] == 1
        assert all(end == start for (_, end), (start, _) in itertools.pairwise(spans))
        assert spans[-1][1] <= 256


def test_every_code_can_be_told_from_its_column() -> None:
    bundles, codes = bundles_of(one_hot()[0])
    for feature in np.flatnonzero(bundles.is_shared):
        n_codes = int(codes.n_codes[feature])
        lookup = bundles.lookup(int(feature), n_codes)
        there = np.unique(codes.columns[feature])
        images = lookup[there[there != bundles.default[feature]]]
        assert lookup[bundles.default[feature]] == 0
        assert len(set(images.tolist())) == len(images)
        assert 0 not in images


def test_dense_features_are_left_alone() -> None:
    X = np.random.default_rng(0).normal(size=(500, 5))
    bundles, _ = bundles_of(X)
    assert bundles.n_columns == 5
    assert not bundles.is_shared.any()


def test_many_exclusive_features_need_several_columns() -> None:
    random = np.random.default_rng(0)
    n_rows = 4000
    X = np.zeros((n_rows, 300))
    X[np.arange(n_rows), random.integers(0, 300, n_rows)] = 1.0
    bundles, _ = bundles_of(X)
    assert bundles.n_columns == 2  # 255 codes besides the default of all
    y = X[:, :150].sum(axis=1)
    model = hb.GradientBoostingRegressor(n_estimators=5, min_samples_leaf=1).fit(X, y)
    assert len(model.trees_) == 5

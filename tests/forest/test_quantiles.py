"""Quantiles and intervals of a regression forest."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.forest import quantiles
from hornbeam.forest.bags import Bags

rng = np.random.default_rng(2)
N = 400
X = rng.uniform(-2, 2, size=(N, 3))
Y = X[:, 0] * 2 + rng.normal(size=N) * (0.3 + np.abs(X[:, 1]))
FORESTS = [hb.RandomForestRegressor, hb.ExtraTreesRegressor]


def grown(forest: Any = hb.RandomForestRegressor, **params: Any) -> Any:
    few = {"n_estimators": 20, "min_samples_leaf": 5, "leaf_samples": True, "random_state": 0}
    return forest(**{**few, **params})


def naive_weights(model: Any, rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Weight of each training row for each row, tree by tree (Meinshausen 2006)."""
    bags = Bags.of(model.seed_, weight, model.n_draws_)
    ours, theirs = model.apply(rows), model.apply(X)
    total = np.zeros((len(rows), N))
    for tree in range(len(model.estimators_)):
        same = (ours[:, tree, None] == theirs[None, :, tree]) * (bags.counts(tree) * weight)
        total += same / same.sum(axis=1, keepdims=True)
    return total / len(model.estimators_)


@pytest.mark.quick
@pytest.mark.parametrize("forest", FORESTS)
@pytest.mark.parametrize("weighted", [False, True])
def test_quantiles_are_those_of_the_leaf_weights(forest: Any, weighted: bool) -> None:
    weight = rng.integers(0, 4, N) if weighted else np.ones(N)
    model = grown(forest).fit(X, Y, weight)
    shares = naive_weights(model, X[:60], weight)
    np.testing.assert_allclose(shares @ Y, model.predict(X[:60]))  # the mean of the distribution
    order = np.argsort(Y)
    steps = np.cumsum(shares[:, order], axis=1)
    for level in (0.05, 0.3, 0.5, 0.77, 0.95):
        found = model.predict_quantiles(X[:60], level)
        assert found.shape == (60,)
        place = np.searchsorted(Y[order], found)
        np.testing.assert_array_equal(Y[order][place], found)
        reached = steps[np.arange(60), place]
        before = np.where(place > 0, steps[np.arange(60), place - 1], 0.0)
        assert np.all(reached >= level - 2e-6) and np.all(before < level + 2e-6)


def test_quantiles_rise_with_the_level() -> None:
    model = grown().fit(X, Y)
    found = model.predict_quantiles(X, np.linspace(0, 1, 21))
    assert found.shape == (N, 21)
    assert np.all(np.diff(found, axis=1) >= 0)
    assert np.all((found[:, 0] >= Y.min()) & (found[:, -1] <= Y.max()))
    assert np.array_equal(model.predict_quantiles(X, [0.5])[:, 0], model.predict_quantiles(X, 0.5))
    interval = model.predict_interval(X, 0.8)
    np.testing.assert_array_equal(interval, model.predict_quantiles(X, [0.1, 0.9]))


def test_rows_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    model = grown().fit(X, Y)
    whole = model.predict_quantiles(X)
    monkeypatch.setattr(quantiles, "_BLOCK_ENTRIES", 1000)
    np.testing.assert_array_equal(model.predict_quantiles(X), whole)


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_intervals_cover_what_they_say(coverage: float) -> None:
    """Noise that depends on X: a single width would not do."""
    train = rng.uniform(-2, 2, size=(4000, 3))
    test = rng.uniform(-2, 2, size=(2000, 3))

    def draw(rows: np.ndarray) -> np.ndarray:
        return rows[:, 0] * 2 + rng.normal(size=len(rows)) * (0.3 + np.abs(rows[:, 1]))

    model = hb.RandomForestRegressor(
        n_estimators=40, min_samples_leaf=20, leaf_samples=True, random_state=0
    ).fit(train, draw(train))
    low, high = model.predict_interval(test, coverage).T
    y = draw(test)
    inside = (low <= y) & (y <= high)
    assert abs(inside.mean() - coverage) < 0.05
    quiet, loud = np.abs(test[:, 1]) < 0.5, np.abs(test[:, 1]) > 1.5
    assert np.mean((high - low)[loud]) > 1.5 * np.mean((high - low)[quiet])


def test_leaves_of_one_row_know_one_value() -> None:
    whole = {"min_samples_leaf": 1, "min_samples_split": 2}
    model = grown(hb.ExtraTreesRegressor, n_estimators=5, **whole).fit(X, Y)
    for level in (0.0, 0.5, 1.0):
        np.testing.assert_array_equal(model.predict_quantiles(X, level), Y)


def test_samples_are_saved(tmp_path: Any) -> None:
    model = grown().fit(X, Y)
    model.save(tmp_path / "model")
    loaded = hb.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_interval(X), model.predict_interval(X))


@pytest.mark.parametrize("forest", FORESTS)
@pytest.mark.parametrize("least", [1e-45, 1e-300])
def test_rows_that_weigh_next_to_nothing_are_saved(
    forest: Any, least: float, tmp_path: Any
) -> None:
    """What such a row is worth in its leaf is below all float32."""
    weight = np.where(np.arange(N) % 3 == 0, least, 1.0)
    model = grown(forest).fit(X, Y, weight)
    assert model.leaf_samples_.share.min() > 0.0
    model.save(tmp_path / "model")
    expected = model.predict_interval(X)
    for again in (hb.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict_interval(X), expected)
    heavy = np.sort(Y[weight == 1.0])
    assert np.isin(expected[:, 0], heavy).all()  # no row without weight is a quantile


def test_what_quantiles_need() -> None:
    model = grown().fit(X, Y)
    for wrong in (1.5, [-0.1, 0.5], [], [[0.1]], np.nan):
        with pytest.raises(ValueError, match="quantiles must be numbers from 0 to 1"):
            model.predict_quantiles(X, wrong)
    for wrong in (0.0, 1.0, 90):
        with pytest.raises(ValueError, match="coverage must be between 0 and 1"):
            model.predict_interval(X, wrong)
    with pytest.raises(ValueError, match="leaf_samples=True"):
        grown(leaf_samples=False).fit(X, Y).predict_quantiles(X)
    model = grown()
    with pytest.raises(ValueError, match="one output, but y has 2"):
        model.fit(X, np.column_stack([Y, Y]))
    assert not hasattr(model, "store_")

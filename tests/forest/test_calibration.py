"""Quantiles of forests that hold for new rows."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import hornbeam as hb
from hornbeam.conformal import held_quantiles
from hornbeam.errors import ModelFileError
from hornbeam.forest import calibration
from hornbeam.forest.bags import Bags
from hornbeam.model.modelfile import load_model_bytes, model_bytes

Forest, Extra = hb.RandomForestRegressor, hb.ExtraTreesRegressor
LEVELS = np.linspace(0.0, 1.0, 21)


def table(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Noise that depends on a column."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n_rows, 4))
    return X, 2 * X[:, 0] + X[:, 1] ** 2 + rng.normal(size=n_rows) * (0.3 + np.abs(X[:, 2]))


X, Y = table(200, 0)
TIED = Y.round()


def grown(kind: Any = Forest, **params: Any) -> Any:
    few = {"n_estimators": 12, "min_samples_leaf": 5, "random_state": 0}
    return kind(**{**few, "leaf_samples": True, "calibrate": True, **params})


def naive_places(
    model: Any, y: np.ndarray, rows: np.ndarray, weight: np.ndarray, held: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Shares of the training rows in the leaves of each row, tree by tree and row by row.

    ``held(tree)`` tells which rows a tree is asked about.
    """
    leaves, bags = model.apply(X), Bags.of(model.seed_, weight, model.n_draws_)
    below, reached = np.full((2, len(rows), len(model.estimators_)), np.nan)
    for tree in range(len(model.estimators_)):
        counts = bags.counts(tree) * weight
        for row in np.flatnonzero(held(tree)):
            shares = counts * (leaves[:, tree] == leaves[row, tree])
            below[row, tree] = shares[y < y[row]].sum() / shares.sum()
            reached[row, tree] = shares[y <= y[row]].sum() / shares.sum()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows in all bags
        return np.nanmean(below, axis=1), np.nanmean(reached, axis=1)


@pytest.mark.parametrize("y", [Y, TIED], ids=["numbers", "ties"])
@pytest.mark.parametrize("weighted", [False, True])
def test_levels_are_those_of_rows_out_of_the_bag(
    y: np.ndarray, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calibration, "ENOUGH_TREES", 1)
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    weight = weight if weighted else np.ones(len(y))
    model = grown().fit(X, y, weight)
    bags = Bags.of(model.seed_, weight, model.n_draws_)
    found = naive_places(model, y, X, weight, lambda tree: (bags.counts(tree) == 0) & (weight > 0))
    seen = ~np.isnan(found[0])
    (below, reached), weight = (places[seen] for places in found), weight[seen]
    low = held_quantiles(reached, weight, np.array([0.1]))
    high = held_quantiles(below, weight, np.array([0.9]))
    np.testing.assert_allclose(model.calibration_[[100, 900]], [*low, *high], atol=1e-5)


def test_levels_of_folds() -> None:
    """Each row is asked about where it was left out of the fit."""
    model = grown(Extra, min_samples_leaf=10).fit(X, TIED)
    folds = calibration.draw_folds(len(X), model.seed_, calibration._FOLD_KEY)
    below, reached = np.zeros((2, len(X)))
    rules = {"min_samples_split": model.min_samples_split_, "max_features": model.max_features_}
    for learnt, fold in folds:
        part = grown(Extra, min_samples_leaf=10, calibrate=False, **rules)
        part.random_state = _SameSeed(model.seed_)
        part.fit(X[learnt], TIED[learnt])
        quantiles = part.predict_quantiles(X[fold], np.linspace(0.005, 0.995, 199))
        below[fold] = np.mean(quantiles < TIED[fold, None], axis=1)
        reached[fold] = np.mean(quantiles <= TIED[fold, None], axis=1)
    low = held_quantiles(reached, np.ones(len(X)), np.array([0.1]))
    high = held_quantiles(below, np.ones(len(X)), np.array([0.9]))
    np.testing.assert_allclose(model.calibration_[[100, 900]], [*low, *high], atol=0.01)


class _SameSeed(np.random.RandomState):
    """Draws one number, so that a forest gets the seed of another."""

    def __init__(self, number: int) -> None:
        super().__init__(0)
        self.number = number

    def randint(self, *_: Any, **__: Any) -> int:  # type: ignore[override]
        return self.number


@pytest.mark.parametrize(
    "params",
    [
        {"min_samples_leaf": 10},
        {"kind": Extra, "min_samples_leaf": 5},
        {"kind": Extra, "bootstrap": True, "min_samples_leaf": 5},
        {"n_estimators": 30},
    ],
    ids=["random", "extra", "extra with bags", "few trees"],
)
def test_intervals_hold_what_they_say(params: dict[str, Any]) -> None:
    rows, y = table(1000, 100)
    quantiles = np.array([0.1, 0.25, 0.75, 0.9])
    inside = np.zeros(4)
    for seed in range(3):
        model = grown(**{"n_estimators": 100, "random_state": seed, **params})
        found = model.fit(*table(500, seed)).predict_quantiles(rows, quantiles)
        inside += np.mean(y[:, None] <= found, axis=0) / 3
    assert abs(inside[3] - inside[0] - 0.8) < 0.03
    assert abs(inside[2] - inside[1] - 0.5) < 0.04
    np.testing.assert_allclose(inside, quantiles, atol=0.04)


@pytest.mark.quick
@pytest.mark.parametrize("kind", [Forest, Extra])
@pytest.mark.parametrize("y", [Y, TIED], ids=["numbers", "ties"])
def test_quantiles_still_rise_with_the_level(kind: Any, y: np.ndarray) -> None:
    model = grown(kind).fit(X, y)
    assert np.all(np.diff(model.calibration_) >= 0)
    assert model.calibration_[[0, -1]].tolist() == [0.0, 1.0]
    found = model.predict_quantiles(X, LEVELS)
    assert np.all(np.diff(found, axis=1) >= 0)
    raw = grown(kind, calibrate=False).fit(X, y)
    asked = calibration.levels_to_ask(LEVELS, model.calibration_)
    np.testing.assert_array_equal(found, raw.predict_quantiles(X, asked))
    assert np.interp(0.0333, calibration.GRID, model.calibration_) == pytest.approx(
        calibration.levels_to_ask(np.array([0.0333]), model.calibration_)[0]
    )


@pytest.mark.quick
@pytest.mark.parametrize("kind", [Forest, Extra])
def test_the_trees_are_the_same(kind: Any) -> None:
    plain, model = grown(kind, calibrate=False).fit(X, Y), grown(kind).fit(X, Y)
    assert plain.store_.digest() == model.store_.digest()
    assert plain.digest() != model.digest()
    assert model.set_params(calibrate=False).fit(X, Y).digest() == plain.digest()
    assert "calibration_" not in vars(model)


@pytest.mark.quick
@pytest.mark.parametrize("kind", [Forest, Extra])
def test_any_threads_and_any_kind_of_table(kind: Any) -> None:
    digests = {grown(kind, n_jobs=n_jobs).fit(X, Y).digest() for n_jobs in (1, 2, 3)}
    assert len(digests) == 1
    zeros = np.where(X > 1, X, 0.0)
    dense = grown(kind).fit(zeros, Y)
    sparse = grown(kind).fit(scipy.sparse.csr_array(zeros), Y)
    np.testing.assert_array_equal(dense.calibration_, sparse.calibration_)


@pytest.mark.quick
@pytest.mark.parametrize("kind", [Forest, Extra])
def test_going_on_is_the_forest_of_one_go(kind: Any) -> None:
    slow = grown(kind, n_estimators=5, warm_start=True).fit(X, Y)
    slow.set_params(n_estimators=12).fit(X, Y)
    assert slow.digest() == grown(kind).fit(X, Y).digest()


@pytest.mark.quick
def test_rows_of_no_weight_are_not_asked() -> None:
    weight = np.ones(len(Y))
    weight[::3] = 0.0
    far = np.where(weight > 0, Y, 1e6)
    for kind in (Forest, Extra):
        model = grown(kind).fit(X, far, weight)
        assert np.all(model.predict_quantiles(X, 1.0) < 1e3)
        np.testing.assert_array_equal(
            model.calibration_, grown(kind).fit(X, Y, weight).calibration_
        )


@pytest.mark.quick
def test_calibrated_forests_come_back(tmp_path: Path) -> None:
    model = grown().fit(X, Y)
    model.save(tmp_path / "model")
    for again in (hb.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert again.digest() == model.digest()
        np.testing.assert_array_equal(again.predict_interval(X), model.predict_interval(X))


@pytest.mark.quick
@pytest.mark.parametrize(
    "levels",
    [
        calibration.GRID[:-1],
        calibration.GRID[::-1],
        calibration.GRID * 2,
        np.full(1001, np.nan),
        calibration.GRID.astype(np.float32),
        "none",
    ],
    ids=["short", "falling", "beyond", "nan", "float32", "text"],
)
def test_levels_from_outside_are_checked(levels: Any) -> None:
    model = grown().fit(X, Y)
    model.calibration_ = levels
    with pytest.raises(ModelFileError, match="calibration"):
        pickle.loads(pickle.dumps(model))
    if isinstance(levels, np.ndarray) and levels.dtype == np.float64:  # others are written as such
        with pytest.raises(ModelFileError, match="calibration"):
            load_model_bytes(model_bytes(model))


@pytest.mark.quick
def test_what_calibration_needs() -> None:
    for kind in (Forest, Extra):
        with pytest.raises(ValueError, match="set leaf_samples=True as well"):
            grown(kind, leaf_samples=False).fit(X, Y)
    with pytest.raises(ValueError, match="there is 1 row"):
        grown().fit(X[:1], Y[:1])
    with pytest.raises(ValueError, match="calibrate"):
        grown(calibrate="yes").fit(X, Y)


@pytest.mark.quick
def test_leaves_that_know_too_few_values_are_named() -> None:
    whole = {"n_estimators": 3, "min_samples_leaf": 1, "min_samples_split": 2}
    with pytest.warns(UserWarning, match=r"Set min_samples_leaf=5, or grow more trees") as seen:
        grown(**whole).fit(X, Y)
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grown(n_estimators=30).fit(X, Y)

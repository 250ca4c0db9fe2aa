"""Columns with more categories than codes: every category counts, and a set stays a set."""

from __future__ import annotations

import copy
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score, roc_auc_score

import hornbeam as hb
from hornbeam.data.pages import cut_at

N, N_TOWNS = 6000, 700


def towns(seed: int, n_rows: int = 2 * N, n_towns: int = N_TOWNS, zipf: bool = False) -> Any:
    """Two numbers and a town, which matters by itself."""
    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, n_towns + 1) ** zipf
    town = rng.choice(n_towns, n_rows, p=share / share.sum())
    effect = rng.normal(size=n_towns)
    frame = pd.DataFrame({"a": rng.normal(size=n_rows), "b": rng.normal(size=n_rows)})
    frame["town"] = pd.Categorical(np.char.add("t", town.astype(str)))
    value = frame["a"].to_numpy() + 1.5 * effect[town]
    return frame, value + rng.normal(size=n_rows)


FRAME, VALUE = towns(0)
FRAME.loc[::23, "town"] = None
CLASSES = np.digitize(VALUE, [-1.0, 1.0])
LEARN, TEST = FRAME[:N], FRAME[N:]
FEW: dict[str, Any] = {"n_estimators": 20, "learning_rate": 0.2, "random_state": 0}
MODELS: dict[str, tuple[Any, Any]] = {
    "leaf": (hb.GradientBoostingRegressor(**FEW), VALUE),
    "level": (hb.GradientBoostingRegressor(**FEW, growth="level", max_depth=5), VALUE),
    "depth": (hb.GradientBoostingRegressor(**FEW, growth="depth"), VALUE),
    "symmetric": (hb.GradientBoostingRegressor(**FEW, growth="symmetric"), VALUE),
    "alternate": (hb.GradientBoostingClassifier(**FEW, growth="alternate"), VALUE > 0),
    "draws": (
        hb.GradientBoostingRegressor(
            **FEW, subsample=0.7, colsample_bytree=0.7, colsample_bynode=0.6
        ),
        VALUE,
    ),
    "bound": (
        hb.GradientBoostingRegressor(
            **FEW, monotonic_cst={"a": 1}, interaction_constraints=[["a", "town"], ["b"]]
        ),
        VALUE,
    ),
    "classes": (hb.GradientBoostingClassifier(**FEW), CLASSES),
    "quantiles": (hb.GradientBoostingRegressor(**FEW, loss="quantile", quantile=[0.1, 0.9]), VALUE),
    "narrow": (hb.GradientBoostingRegressor(**FEW, max_bins=20), VALUE),
}


def fitted(name: str, **changes: Any) -> Any:
    model, y = MODELS[name]
    return copy.deepcopy(model).set_params(**changes).fit(LEARN, y[:N])


@pytest.mark.parametrize("name", MODELS)
def test_stored_trees_say_what_grown_ones_said(name: str) -> None:
    """Rows to watch walk the codes; predictions walk the sets of the stored trees."""
    model, y = MODELS[name]
    model = copy.deepcopy(model)
    model.fit(LEARN, y[:N], X_val=TEST, y_val=y[N:])
    told = model.history_["validation"]
    scores = model._scores(TEST)
    if name in ("classes", "alternate"):
        share = model.predict_proba(TEST)
        own = -np.log(share[np.arange(N), y[N:].astype(int)]).mean()
    elif name == "quantiles":
        error = y[N:, None] - scores
        level = np.array([0.1, 0.9])
        own = np.maximum(level * error, (level - 1) * error).mean(axis=0)
        own = own.sum() if abs(own.sum() - told[-1]) < abs(own.mean() - told[-1]) else own.mean()
    else:
        error = ((y[N:] - model.predict(TEST)) ** 2).mean()
        own = error if abs(error - told[-1]) < abs(error / 2 - told[-1]) else error / 2
    assert told[-1] == pytest.approx(own, rel=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_threads_and_pages_change_nothing(name: str) -> None:
    digest = fitted(name).digest()
    for n_jobs in (1, 2, 4):
        assert fitted(name, n_jobs=n_jobs).digest() == digest
    for cuts in ((1000,), (0, 7, 8, 2000, 4100, 5999)):
        with cut_at(*cuts):
            assert fitted(name).digest() == digest


@pytest.mark.parametrize("name", ["leaf", "classes"])
def test_a_file_holds_the_model_and_its_sets_are_small(name: str, tmp_path: Path) -> None:
    model = fitted(name)
    trees = model.ensemble_.trees
    assert trees.nodes.set_words.nbytes <= 64 * trees.nodes.node_count
    assert trees.codes.code_of_category.max() >= 255  # more than a byte tells apart
    path = tmp_path / "model.hb"
    model.save(path)
    loaded = hb.load(path)
    np.testing.assert_array_equal(loaded._scores(TEST), model._scores(TEST))
    assert loaded.digest() == model.digest()


def test_a_set_is_a_set_whatever_the_codes() -> None:
    """A single tree has its sets over categories, and says the same."""
    model = fitted("leaf")
    X = TEST[:500]
    leaves = model.apply(X)
    matrix = model._matrix(X)
    for number in (0, 7, 19):
        tree = model.trees_[number]
        for row in range(0, 500, 7):
            node = 0
            while tree.first_child[node]:
                x = matrix[row, tree.feature[node]]
                if np.isnan(x):
                    branch = tree.missing_branch[node]
                elif tree.kind[node] == 2:
                    first, last = tree.set_start[node : node + 2]
                    words = tree.set_words[first:last]
                    assert len(words) == -(-N_TOWNS // 64)
                    branch = 1 - (int(words[int(x) >> 6]) >> (int(x) & 63) & 1)
                else:
                    branch = int(x > tree.threshold[node])
                node = tree.first_child[node] + branch
            assert node == leaves[row, number]
    text = hb.export_text(model.tree(0))
    assert "town in" in text or "town not in" in text or "town" in text


def test_what_was_not_seen_is_missing() -> None:
    model = fitted("leaf")
    strange, missing = TEST[:50].copy(), TEST[:50].copy()
    strange["town"], missing["town"] = "atlantis", None
    np.testing.assert_array_equal(model.predict(strange), model.predict(missing))
    other = fitted("leaf", unseen="other")
    assert np.isfinite(other.predict(strange)).all()
    with pytest.raises(ValueError, match="atlantis"):
        fitted("leaf", unseen="error").predict(strange)


def test_nothing_is_folded_any_more() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted("leaf")
        fitted("classes")
    with pytest.warns(UserWarning, match="category_split='subset' tells all of them apart"):
        fitted("leaf", category_split="one_vs_rest")


def test_going_on_is_nearly_as_good_as_fitting_at_once() -> None:
    """Rows have their category's place in the order as new rows see it when a fit goes on."""
    at_once = r2_score(VALUE[N:], fitted("leaf").predict(TEST))
    model = copy.deepcopy(MODELS["leaf"][0]).set_params(n_estimators=8, warm_start=True)
    model.fit(LEARN, VALUE[:N])
    first = model.ensemble_.trees[:8].nodes.threshold
    model.set_params(n_estimators=20).fit(LEARN, VALUE[:N])
    np.testing.assert_array_equal(model.ensemble_.trees[:8].nodes.threshold, first)
    assert r2_score(VALUE[N:], model.predict(TEST)) > at_once - 0.01


def test_importances_are_those_of_columns() -> None:
    importances = fitted("leaf").feature_importances_
    assert importances.shape == (3,) and importances.argmax() == 2


def test_fits_without_wide_columns_do_not_notice() -> None:
    model = hb.GradientBoostingRegressor(**FEW).fit(LEARN[["a", "b"]], VALUE[:N])
    assert model.ensemble_.trees.codes is None


def one_hot(frame: pd.DataFrame, like: pd.DataFrame) -> Any:
    known = pd.Index(like["town"].cat.categories)
    columns = pd.get_dummies(frame["town"].cat.set_categories(known)).to_numpy(np.float32)
    return np.column_stack([frame[["a", "b"]].to_numpy(np.float32), columns])


@pytest.mark.mission("L6")
@pytest.mark.parametrize("zipf", [False, True])
@pytest.mark.parametrize("seed", [1, 2])
def test_sets_of_categories_are_better_than_one_hot_columns(zipf: bool, seed: int) -> None:
    frame, value = towns(seed, 2 * N, 400, zipf)
    model = hb.GradientBoostingRegressor(n_estimators=60, learning_rate=0.1)
    own = r2_score(value[N:], model.fit(frame[:N], value[:N]).predict(frame[N:]))
    X = one_hot(frame, frame)
    hot = r2_score(value[N:], model.fit(X[:N], value[:N]).predict(X[N:]))
    assert own > hot + 0.02


@pytest.mark.mission("L6")
def test_noise_of_many_categories_is_not_learnt() -> None:
    """Names without effect, two rows of each: as good as without them, nearly."""
    rng = np.random.default_rng(3)
    frame, _ = towns(3)
    y = frame["a"] + rng.normal(size=2 * N) > 0
    frame["town"] = pd.Categorical(rng.integers(0, N // 2, 2 * N).astype(str))
    model = hb.GradientBoostingClassifier(n_estimators=60, learning_rate=0.1)
    with_names = model.fit(frame[:N], y[:N]).predict_proba(frame[N:])[:, 1]
    without = model.fit(frame[["a", "b"]][:N], y[:N]).predict_proba(frame[["a", "b"]][N:])[:, 1]
    assert roc_auc_score(y[N:], with_names) > roc_auc_score(y[N:], without) - 0.01


def test_a_hundred_thousand_categories() -> None:
    frame, value = towns(4, 200_000, 100_000, zipf=True)
    half = 100_000
    model = hb.GradientBoostingRegressor(n_estimators=30, learning_rate=0.2)
    model.fit(frame[:half], value[:half])
    plain = hb.GradientBoostingRegressor(n_estimators=30, learning_rate=0.2)
    plain.fit(frame[["a", "b"]][:half], value[:half])
    without = r2_score(value[half:], plain.predict(frame[["a", "b"]][half:]))
    assert r2_score(value[half:], model.predict(frame[half:])) > without + 0.1
    trees = model.ensemble_.trees
    assert trees.nodes.set_words.nbytes <= 64 * trees.nodes.node_count

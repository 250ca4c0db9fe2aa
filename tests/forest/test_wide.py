"""Forests on columns with more categories than codes: these are put in order."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score

import hornbeam as hb
from hornbeam.data.pages import cut_at

N, N_TOWNS = 4000, 600
FORESTS = [
    hb.RandomForestClassifier,
    hb.RandomForestRegressor,
    hb.ExtraTreesClassifier,
    hb.ExtraTreesRegressor,
]


def towns(seed: int, n_rows: int = 2 * N, n_towns: int = N_TOWNS) -> Any:
    rng = np.random.default_rng(seed)
    town, effect = rng.integers(0, n_towns, n_rows), rng.normal(size=n_towns)
    frame = pd.DataFrame({"a": rng.normal(size=n_rows), "b": rng.normal(size=n_rows)})
    frame["town"] = pd.Categorical(np.char.add("t", town.astype(str)))
    return frame, frame["a"].to_numpy() + 1.5 * effect[town] + rng.normal(size=n_rows)


FRAME, VALUE = towns(0)
FRAME.loc[::23, "town"] = None
LEARN, TEST = FRAME[:N], FRAME[N:]
CLASSES = np.digitize(VALUE, [-1.0, 1.0])


def target(forest: Any) -> Any:
    return CLASSES if "Classifier" in forest.__name__ else VALUE


def fitted(forest: Any, **params: Any) -> Any:
    return forest(n_estimators=20, random_state=0, **params).fit(LEARN, target(forest)[:N])


@pytest.mark.parametrize("forest", FORESTS)
def test_trees_say_what_the_forest_says(forest: Any) -> None:
    """Trees on their own have sets over categories; the forest cuts codes."""
    model = fitted(forest)
    said = [tree.predict(TEST) for tree in model.estimators_]
    if "Regressor" in forest.__name__:
        np.testing.assert_allclose(np.mean(said, axis=0), model.predict(TEST), rtol=1e-6)
    leaves = model.apply(TEST[:200])
    matrix = model._read(TEST[:200])
    kinds = set()
    for number in (0, 11):
        tree = model.estimators_[number].tree_
        kinds |= set(tree.kind[tree.feature == 2].tolist())
        for row in range(0, 200, 3):
            node = 0
            while tree.first_child[node]:
                x = matrix[row, tree.feature[node]]
                branch = int(x > tree.threshold[node]) if tree.kind[node] == 1 else 1
                if np.isnan(x):
                    branch = tree.missing_branch[node]
                elif tree.kind[node] == 2:
                    words = tree.set_words[tree.set_start[node] : tree.set_start[node + 1]]
                    branch = 1 - (int(words[int(x) >> 6]) >> (int(x) & 63) & 1)
                node = tree.first_child[node] + branch
            assert node == leaves[row, number]
    assert kinds == {2}


@pytest.mark.parametrize("forest", FORESTS)
def test_threads_and_pages_change_nothing(forest: Any) -> None:
    digest = fitted(forest, n_jobs=1).digest()
    for n_jobs in (2, 4):
        assert fitted(forest, n_jobs=n_jobs).digest() == digest
    with cut_at(7, 1000, 3001):
        assert fitted(forest).digest() == digest


@pytest.mark.parametrize("forest", FORESTS[:2])
def test_files_and_going_on(forest: Any, tmp_path: Path) -> None:
    model = fitted(forest)
    model.save(tmp_path / "model.hb")
    loaded = hb.load(tmp_path / "model.hb")
    assert loaded.digest() == model.digest()
    np.testing.assert_array_equal(loaded.predict(TEST), model.predict(TEST))
    half = forest(n_estimators=10, random_state=0, warm_start=True)
    half.fit(LEARN, target(forest)[:N]).set_params(n_estimators=20)
    assert half.fit(LEARN, target(forest)[:N]).digest() == model.digest()
    text = hb.export_text(model.estimators_[0], max_depth=3)
    assert "town" in text


def test_nothing_is_folded_any_more() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(hb.RandomForestRegressor)
    with pytest.warns(UserWarning, match="finder='exact' tells all of them apart"):
        fitted(hb.RandomForestRegressor, category_split="subset")


@pytest.mark.mission("L6")
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("forest", [hb.RandomForestRegressor, hb.ExtraTreesRegressor])
def test_order_is_better_than_one_hot_columns(forest: Any, seed: int) -> None:
    frame, value = towns(seed, 2 * N, 300)
    model = forest(n_estimators=30, random_state=0)
    own = r2_score(value[N:], model.fit(frame[:N], value[:N]).predict(frame[N:]))
    dummies = pd.get_dummies(frame["town"]).to_numpy(np.float32)
    X = np.column_stack([frame[["a", "b"]].to_numpy(np.float32), dummies])
    hot = r2_score(value[N:], model.fit(X[:N], value[:N]).predict(X[N:]))
    assert own > hot + 0.02


def test_scores_out_of_the_bag_are_honest() -> None:
    """Names of two rows each mean nothing: rows must not see their own target in the order."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"a": rng.normal(size=N)})
    frame["town"] = pd.Categorical(rng.integers(0, N // 2, N).astype(str))
    y = frame["a"].to_numpy() + rng.normal(size=N)
    model = hb.RandomForestRegressor(n_estimators=60, oob_score=True, random_state=0, n_jobs=2)
    model.fit(frame, y)
    new = pd.DataFrame({"a": rng.normal(size=N)})
    new["town"] = pd.Categorical(rng.integers(0, N // 2, N).astype(str))
    truth = new["a"].to_numpy() + rng.normal(size=N)
    assert abs(model.oob_score_ - r2_score(truth, model.predict(new))) < 0.06


def test_several_outputs_have_one_order() -> None:
    both = np.column_stack([VALUE, -VALUE])[:N]
    model = hb.RandomForestRegressor(n_estimators=10, random_state=0).fit(LEARN, both)
    assert r2_score(np.column_stack([VALUE, -VALUE])[N:], model.predict(TEST)) > 0.3

"""Wrong input to a forest is an error that says what is wrong, by the name of the forest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import hornbeam as hb

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
LABEL = rng.integers(0, 2, 40)
FORESTS = [
    hb.RandomForestClassifier,
    hb.RandomForestRegressor,
    hb.ExtraTreesClassifier,
    hb.ExtraTreesRegressor,
]
EVERY = [*FORESTS, hb.RandomTreesEmbedding]


@pytest.mark.parametrize("forest", FORESTS)
@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"n_estimators": 0}, "'n_estimators' parameter"),
        ({"max_samples": -1.5}, "'max_samples' parameter"),
        ({"max_features": "all"}, "'max_features' parameter"),
        ({"constant_features": "drop"}, "'constant_features' parameter"),
        ({"oob_score": "yes"}, "'oob_score' parameter"),
        ({"verbose": -1}, "'verbose' parameter"),
        ({"finder": "fast"}, "'finder' parameter"),
        ({"bootstrap": False, "max_samples": 3}, "bootstrap=False takes all rows"),
        ({"max_leaf_nodes": 5, "growth": "level"}, "needs growth='leaf'"),
        ({"monotonic_cst": [1, 0]}, "monotonic_cst"),
    ],
)
def test_wrong_parameters(forest: Any, params: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as caught:
        forest(**params).fit(X, LABEL)
    assert "DecisionTree" not in str(caught.value)


def test_parameters_by_another_name() -> None:
    with pytest.raises(TypeError, match="did you mean 'n_jobs'"):
        hb.RandomForestClassifier(nthread=2)
    with pytest.raises(TypeError, match="voting"):
        hb.RandomForestRegressor(voting="hard")


@pytest.mark.parametrize("forest", EVERY)
@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (np.empty((0, 3)), "0 sample"),
        (np.empty((3, 0)), "0 feature"),
        ([1.0, 2.0], "2D array"),
        ([[1.0, np.inf]] * 3, "infinit"),
        ([[1.0 + 2.0j]] * 3, "[Cc]omplex"),
    ],
    ids=["rows", "columns", "flat", "infinite", "complex"],
)
def test_wrong_tables(forest: Any, table: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as caught:
        forest(n_estimators=2).fit(table, [0, 1, 0][: len(table)])
    assert "DecisionTree" not in str(caught.value)


@pytest.mark.parametrize("forest", EVERY)
def test_infinite_values_are_found_in_prediction(forest: Any) -> None:
    model = forest(n_estimators=2).fit(X, LABEL)
    for place in ((0, 0), (39, 2)):
        bad = X.copy()
        bad[place] = -np.inf
        for table in (bad, bad.astype(np.float32), np.asfortranarray(bad), bad[place[0]][None]):
            with pytest.raises(ValueError, match="infinit"):
                model.apply(table)
            if hasattr(model, "predict"):
                with pytest.raises(ValueError, match="infinit"):
                    model.predict(table)


@pytest.mark.parametrize("forest", FORESTS)
def test_wrong_targets_and_weights(forest: Any) -> None:
    model = forest(n_estimators=2)
    for y, sentence in (
        (np.full(40, np.nan), "Input y contains NaN"),
        (LABEL[:39], "inconsistent numbers of samples"),
        (None, f"{forest.__name__} requires y"),
        (np.zeros((40, 0)), "y must have one column"),
    ):
        with pytest.raises(ValueError, match=sentence):
            model.fit(X, y)
    for weight, sentence in (
        (np.zeros(40), "All entries of sample_weight are zero"),
        (np.full(40, -1.0), r"sample_weight\[0\] is -1.0"),
        (np.ones(39), "one weight per row"),
    ):
        with pytest.raises(ValueError, match=sentence):
            model.fit(X, LABEL, weight)


def test_wrong_class_weights() -> None:
    model = hb.RandomForestClassifier(n_estimators=2)
    with pytest.raises(ValueError, match="names 5, which is not a class"):
        model.set_params(class_weight={5: 1.0}).fit(X, LABEL)
    with pytest.raises(ValueError, match="finite and not negative"):
        model.set_params(class_weight={0: -1.0}).fit(X, LABEL)


@pytest.mark.parametrize("forest", EVERY)
def test_columns_are_matched_by_name(forest: Any) -> None:
    frame = pd.DataFrame(X, columns=list("abc"))
    model = forest(n_estimators=2, random_state=0).fit(frame, LABEL)
    assert np.array_equal(model.apply(frame[list("cab")]), model.apply(frame))
    with pytest.raises(ValueError, match="now missing:\n- c"):
        model.apply(frame[["a", "b"]])
    with pytest.raises(ValueError, match="2 features"):
        forest(n_estimators=2).fit(X, LABEL).apply(X[:, :2])


@pytest.mark.parametrize("forest", FORESTS)
def test_not_fitted(forest: Any) -> None:
    for call in ("predict", "apply", "decision_path", "proximities"):
        with pytest.raises(NotFittedError):
            getattr(forest(), call)(X)
    for name in ("importances", "digest"):
        with pytest.raises(NotFittedError):
            getattr(forest(), name)()
    with pytest.raises(NotFittedError):
        _ = forest().estimators_


@pytest.mark.parametrize("forest", EVERY)
def test_extreme_tables(forest: Any) -> None:
    """One row, one column, constant columns, nothing but holes, the largest numbers."""
    for table in (
        X[:1],
        X[:, :1],
        np.ones((30, 2)),
        np.full((30, 2), np.nan),
        np.array([[-1.7e308], [1.7e308], [0.0], [1.0]] * 5),
        np.array([["a", None]] * 6, object),
        pd.DataFrame({"flag": [True, False] * 10, "when": ["x"] * 20}),
    ):
        model = forest(n_estimators=4, random_state=0).fit(table, LABEL[: len(table)])
        assert model.apply(table).shape == (len(table), 4)
        if hasattr(model, "predict"):
            assert np.all(np.isfinite(model.predict(table).astype(float)))


def test_extreme_targets() -> None:
    for y in (LABEL * 1e300, LABEL * 1e-300, LABEL + 1e15):
        model = hb.ExtraTreesRegressor(n_estimators=4, random_state=0).fit(X, y)
        np.testing.assert_allclose(model.predict(X), y, rtol=1e-12)
    many = hb.RandomForestClassifier(n_estimators=3, random_state=0).fit(X, np.arange(40))
    assert many.predict_proba(X).shape == (40, 40)

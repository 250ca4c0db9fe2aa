"""Early stopping, staged predictions and warm start: the right number of rounds."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

import hornbeam as hb

Regressor, Classifier = hb.GradientBoostingRegressor, hb.GradientBoostingClassifier

rng = np.random.default_rng(0)
N = 600


def make(n: int) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(n, 4))
    return X, X[:, 0] + X[:, 1] ** 2 + rng.normal(0, 0.5, n)


X, LEVEL = make(N)
X_VAL, LEVEL_VAL = make(300)
SMALL: dict[str, Any] = {"min_samples_leaf": 5, "learning_rate": 0.3, "random_state": 0}


def test_a_class_is_never_held_out_whole() -> None:
    """However large the share is that is held out: a class of one row stays to be learnt from."""
    y = (LEVEL > 1.0).astype(int)
    y[X[:, 0] > 2.0] = 2
    rare = np.flatnonzero(y == 2)
    y[rare[3:]] = 1
    y[rare[0]] = 3
    for fraction in (0.1, 0.6, 0.9, 0.99):
        model = Classifier(**SMALL, early_stopping=True, validation_fraction=fraction)
        shares = model.set_params(n_estimators=20).fit(X, y).predict_proba(X).max(axis=0)
        assert shares.min() > 1e-6, fraction


# --- early stopping -----------------------------------------------------------------------------


@pytest.mark.mission("G3")
def test_a_given_set_stops_and_the_best_model_is_kept() -> None:
    model = Regressor(**SMALL, early_stopping=True, n_iter_no_change=5, n_estimators=500)
    model.fit(X, LEVEL, X_val=X_VAL, y_val=LEVEL_VAL)
    losses = model.history_["validation"]
    assert model.n_iter_ == np.argmin(losses) + 1 == len(losses) - 5
    assert len(model.trees_) == model.n_iter_ < 500
    reached = 0.5 * np.mean((model.predict(X_VAL) - LEVEL_VAL) ** 2)
    assert reached == pytest.approx(losses.min(), rel=1e-12)
    fewer = Regressor(**SMALL, n_estimators=model.n_iter_).fit(X, LEVEL)
    assert fewer.digest() == model.digest()


@pytest.mark.mission("G3")
@pytest.mark.parametrize("kind", ["regression", "two", "three", "sparse", "frame"])
def test_an_automatic_hold_out(kind: str) -> None:
    table: Any = X
    if kind == "sparse":
        table = scipy.sparse.csc_array(X * (np.abs(X) > 0.5))
    if kind == "frame":
        table = pd.DataFrame(X, columns=list("abcd"))
    y = {"two": LEVEL > 1, "three": np.digitize(LEVEL, [0, 2])}.get(kind, LEVEL)
    maker = Classifier if kind in ("two", "three") else Regressor
    model = maker(**SMALL, early_stopping=True, n_estimators=300).fit(table, y)
    assert 1 < model.n_iter_ < 300
    assert len(model.history_["validation"]) == model.n_iter_ + 10
    assert model.fit(table, y).digest() == model.digest()
    assert model.trees_[0].n_samples[0] == pytest.approx(0.9 * N, abs=2)


@pytest.mark.mission("G3")
def test_a_billion_rounds_end() -> None:
    for model in (Regressor, Classifier):
        fitted = model(**SMALL, early_stopping=True, n_estimators=10**9)
        assert fitted.fit(X, (LEVEL > 1) if model is Classifier else LEVEL).n_iter_ < 1000


def test_inside_cross_validation() -> None:
    model = Regressor(**SMALL, early_stopping=True, n_estimators=200)
    scores = cross_val_score(model, X, LEVEL, cv=3)
    assert scores.min() > 0.6
    search = GridSearchCV(model, {"max_leaf_nodes": [4, 31]}, cv=2).fit(X, LEVEL)
    assert search.best_estimator_.n_iter_ < 200
    again = clone(search.best_estimator_).fit(X, LEVEL)
    assert again.digest() == search.best_estimator_.digest()
    assert not hasattr(clone(again), "n_iter_")


def test_weights_of_the_validation_rows_count() -> None:
    weight = rng.uniform(0.0, 3.0, 300)
    model = Regressor(**SMALL, n_estimators=5)
    model.fit(X, LEVEL, X_val=X_VAL, y_val=LEVEL_VAL, sample_weight_val=weight)
    expected = np.average(0.5 * (model.predict(X_VAL) - LEVEL_VAL) ** 2, weights=weight)
    assert model.history_["validation"][-1] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("scale", [1.0, 1e-15, 1e15, 1e-30, 1e30])
def test_the_scale_of_y_does_not_matter(scale: float) -> None:
    """What counts as an improvement must not depend on the units of y."""
    model = Regressor(**SMALL, early_stopping=True).fit(X, LEVEL * scale)
    plain = Regressor(**SMALL, early_stopping=True).fit(X, LEVEL)
    assert abs(model.n_iter_ - plain.n_iter_) <= 2
    assert model.score(X, LEVEL * scale) == pytest.approx(plain.score(X, LEVEL), abs=0.01)


def test_validation_targets_are_checked_like_those_of_training() -> None:
    y = np.abs(LEVEL) + 0.1
    for loss, words in (("poisson", "negative"), ("gamma", "not positive")):
        model = Regressor(loss=loss, early_stopping=True)
        with warnings.catch_warnings(), pytest.raises(ValueError, match=words):
            warnings.simplefilter("error")
            model.fit(X, y, X_val=X_VAL, y_val=-np.abs(LEVEL_VAL) - 0.1)


def test_held_out_rows_without_weight() -> None:
    """A hold-out in which no row has weight says nothing: weightless rows are not held out."""
    weight = np.zeros(N)
    weight[:12] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(10):
            model = Regressor(early_stopping=True, random_state=seed).fit(X, LEVEL, weight)
            assert np.isfinite(model.history_["validation"]).all()


def test_sets_that_cannot_validate() -> None:
    model = Regressor(early_stopping=True)
    with pytest.raises(ValueError, match="leaves 0 of 4 rows to validate on"):
        model.fit(X[:4], LEVEL[:4])
    with pytest.raises(ValueError, match=r"4 features|4 columns"):
        model.fit(X, LEVEL, X_val=X_VAL[:, :2], y_val=LEVEL_VAL)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, LEVEL, X_val=X_VAL, y_val=LEVEL_VAL[:10])
    for alone in ({"X_val": X_VAL}, {"y_val": LEVEL_VAL}):
        with pytest.raises(ValueError, match="X_val and y_val belong together"):
            model.fit(X, LEVEL, **alone)
    with pytest.raises(ValueError, match="y_val holds the class 'z', which is not among"):
        Classifier().fit(X, ["a", "b"] * 300, X_val=X_VAL, y_val=["a", "b", "z"] * 100)
    frame = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(ValueError, match="feature names should match"):
        model.fit(frame, LEVEL, X_val=frame.rename(columns={"a": "z"}), y_val=LEVEL)


# --- staged predictions -------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["regression", "two", "three", "quantiles"])
def test_stages_are_refits_with_fewer_rounds(task: str) -> None:
    y = {"two": LEVEL > 1, "three": np.digitize(LEVEL, [0, 2])}.get(task, LEVEL)
    maker = Classifier if task in ("two", "three") else Regressor
    params = {"loss": "quantile", "quantile": [0.1, 0.9]} if task == "quantiles" else {}
    model = maker(**SMALL, **params, n_estimators=6, subsample=0.7).fit(X, y)
    refits = [clone(model).set_params(n_estimators=n).fit(X, y) for n in range(1, 7)]
    names = ["predict"]
    if maker is Classifier:
        names += ["predict_proba", "decision_function"]
    for name in names:
        stages = list(getattr(model, f"staged_{name}")(X_VAL))
        assert len(stages) == 6
        for stage, refit in zip(stages, refits, strict=True):
            np.testing.assert_array_equal(stage, getattr(refit, name)(X_VAL))


# --- warm start ---------------------------------------------------------------------------------

WARM: list[dict[str, Any]] = [
    {},
    {"subsample": 0.7, "colsample_bytree": 0.5, "colsample_bynode": 0.5},
    {"order": 1},
    {"loss": "absolute_error"},
    {"loss": "huber"},
    {"loss": "quantile", "quantile": [0.1, 0.5, 0.9]},
]


@pytest.mark.mission("G3")
@pytest.mark.parametrize("params", WARM, ids=repr)
def test_thirty_and_thirty_rounds_are_sixty(params: dict[str, Any]) -> None:
    whole = Regressor(**SMALL, **params, n_estimators=60).fit(X, LEVEL)
    parts = Regressor(**SMALL, **params, n_estimators=30, warm_start=True).fit(X, LEVEL)
    assert parts.set_params(n_estimators=60).fit(X, LEVEL).digest() == whole.digest()


@pytest.mark.parametrize("bounds", [[1], [0, 2]])
def test_classes_go_on_where_they_were(bounds: list[int]) -> None:
    y = np.digitize(LEVEL, bounds)
    whole = Classifier(**SMALL, n_estimators=10).fit(X, y)
    parts = Classifier(**SMALL, n_estimators=4, warm_start=True).fit(X, y)
    assert parts.set_params(n_estimators=10).fit(X, y).digest() == whole.digest()


def test_a_warm_start_without_new_rounds_changes_nothing() -> None:
    for early in (False, True):
        model = Regressor(**SMALL, n_estimators=30, warm_start=True, early_stopping=early)
        digest = model.fit(X, LEVEL).digest()
        model.set_params(n_estimators=model.n_iter_).fit(X, LEVEL)
        assert model.digest() == digest
    with pytest.raises(ValueError, match=r"n_estimators=2 must be at least the .* rounds"):
        model.set_params(n_estimators=2).fit(X, LEVEL)


def test_a_warm_start_keeps_the_best_of_all_rounds() -> None:
    """New rounds that only overfit are not kept."""
    model = Regressor(**SMALL, early_stopping=True, n_estimators=300, warm_start=True)
    model.fit(X, LEVEL, X_val=X_VAL, y_val=LEVEL_VAL)
    best, rounds = model.history_["validation"].min(), model.n_iter_
    model.set_params(n_estimators=rounds + 5, learning_rate=1.0)
    model.fit(X, LEVEL, X_val=X_VAL, y_val=LEVEL_VAL)
    assert 0.5 * np.mean((model.predict(X_VAL) - LEVEL_VAL) ** 2) <= best * (1 + 1e-12)


def test_a_warm_start_on_fewer_columns_is_refused() -> None:
    model = Regressor(**SMALL, n_estimators=3, warm_start=True).fit(X, LEVEL)
    with pytest.raises(ValueError, match=r"2 (columns|features)"):
        model.set_params(n_estimators=4).fit(X[:, :2], LEVEL)


def test_a_warm_start_knows_the_categories_of_before() -> None:
    """Old trees ask categories by number: a new one must not shift the others."""
    frame = pd.DataFrame({"c": rng.choice(list("bcd"), N)})
    y = frame["c"].map({"b": 0.0, "c": 5.0, "d": 9.0}).to_numpy()
    model = Regressor(**SMALL, n_estimators=30, warm_start=True).fit(frame, y)
    more = pd.DataFrame({"c": ["a", "b", "c", "d"] * 100})
    target = more["c"].map({"a": 0.0, "b": 0.0, "c": 5.0, "d": 9.0}).to_numpy()
    model.set_params(n_estimators=31).fit(more, target)
    assert np.abs(model.predict(more) - target)[more["c"] != "a"].max() < 0.5


def test_a_warm_start_on_other_classes_is_refused() -> None:
    labels = Classifier(**SMALL, n_estimators=3, warm_start=True).fit(X, LEVEL > 0)
    with pytest.raises(ValueError, match="class"):
        labels.set_params(n_estimators=4).fit(X, np.digitize(LEVEL, [0, 1]))
    swapped = Classifier(**SMALL, n_estimators=3, warm_start=True)
    swapped.fit(X, np.where(LEVEL > 1, "b", "a"))
    with pytest.raises(ValueError, match="class"):
        swapped.set_params(n_estimators=4).fit(X, np.where(LEVEL > 1, "c", "b"))

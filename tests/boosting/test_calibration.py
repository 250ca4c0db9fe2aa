"""Quantiles of boosting that are moved to where they hold for new rows."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.boosting import calibration
from hornbeam.conformal import draw_folds, held_quantiles
from hornbeam.errors import ModelFileError
from hornbeam.model.modelfile import load_model_bytes, model_bytes

Regressor = hb.GradientBoostingRegressor
BAND = [0.1, 0.9]
# nothing is drawn and nothing tried, so that a model of some rows can be made by hand
PLAIN: dict[str, Any] = {
    "loss": "quantile",
    "n_estimators": 8,
    "learning_rate": 0.2,
    "colsample_bynode": 1.0,
    "max_depth": 3,
    "min_samples_leaf": 4,
    "category_smooth": 1.0,
}


def table(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Noise that depends on a column."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (n_rows, 4)).astype(float)  # few values: bins do not depend on rows
    y = 2 * X[:, 0] + X[:, 1] * (X[:, 2] > 5) + rng.normal(size=n_rows) * (0.5 + X[:, 3] / 4)
    return X, y


X, Y = table(240, 0)


def coverage(model: Any, rows: np.ndarray, y: np.ndarray) -> float:
    low, high = model.predict(rows).T
    return float(np.mean((low <= y) & (y <= high)))


def naive_shifts(model: Any, weight: np.ndarray | None = None) -> np.ndarray:
    """Fit a model without each fold, and look at what it leaves of the fold."""
    n_rows, shares = len(Y), np.atleast_1d(model.quantile)
    weight = np.ones(n_rows) if weight is None else weight
    rest = np.empty((n_rows, len(shares)))
    for learnt, held in draw_folds(n_rows, model.seed_, calibration._FOLD_KEY):
        part = Regressor(**model.get_params()).set_params(calibrate=False)
        part.fit(X[learnt], Y[learnt], weight[learnt])
        rest[held] = Y[held, None] - part.predict(X[held]).reshape(-1, len(shares))
    return np.array([held_quantiles(rest[:, k], weight, share) for k, share in enumerate(shares)])


@pytest.mark.quick
@pytest.mark.parametrize("quantile", [0.3, [0.1, 0.9], [0.05, 0.5, 0.95]])
@pytest.mark.parametrize("weighted", [False, True])
def test_shifts_are_those_of_models_without_each_fold(quantile: Any, weighted: bool) -> None:
    weight = np.random.default_rng(1).integers(1, 4, len(Y)).astype(float) if weighted else None
    model = Regressor(**PLAIN, quantile=quantile, calibrate=True).fit(X, Y, weight)
    np.testing.assert_allclose(model.calibration_, naive_shifts(model, weight), atol=1e-6)
    plain = Regressor(**PLAIN, quantile=quantile).fit(X, Y, weight)
    moved = plain.predict(X).reshape(len(X), -1) + model.calibration_
    found = model.predict(X)
    assert found.shape == plain.predict(X).shape
    np.testing.assert_array_equal(found.reshape(len(X), -1), np.sort(moved, axis=1))


@pytest.mark.parametrize("n_rows", [500, 2000])
def test_bands_hold_what_they_say(n_rows: int) -> None:
    rows, y = table(4000, 100)
    before, after, single = [], [], []
    for seed in range(3):
        train = table(n_rows, seed)
        few = {"n_estimators": 60, "learning_rate": 0.1, "loss": "quantile"}
        before.append(coverage(Regressor(**few, quantile=BAND).fit(*train), rows, y))
        model = Regressor(**few, quantile=BAND, calibrate=True).fit(*train)
        after.append(coverage(model, rows, y))
        single.append(np.mean(y <= model.predict(rows)[:, 1]))
    assert np.mean(before) < 0.75
    assert abs(np.mean(after) - 0.8) < 0.03
    assert abs(np.mean(single) - 0.9) < 0.03


@pytest.mark.quick
def test_calibrated_quantiles_do_not_cross() -> None:
    shares = np.linspace(0.05, 0.95, 10)
    model = Regressor(**PLAIN, quantile=shares, calibrate=True).fit(X, Y)
    model.calibration_ = np.linspace(3.0, -3.0, 10)  # the outer ones move in
    for found in (model.predict(X), *model.staged_predict(X), model.predictor()(X)):
        assert np.all(np.diff(found, axis=1) >= 0)


@pytest.mark.quick
def test_the_model_itself_is_the_same() -> None:
    """Rows are given back: the trees are those of a fit that held out none."""
    plain = Regressor(**PLAIN, quantile=BAND).fit(X, Y)
    model = Regressor(**PLAIN, quantile=BAND, calibrate=True).fit(X, Y)
    assert [a.digest() for a in plain.trees_] == [b.digest() for b in model.trees_]
    assert "calibration_" not in vars(plain) and plain.digest() != model.digest()
    assert model.set_params(calibrate=False).fit(X, Y).digest() == plain.digest()
    assert "calibration_" not in vars(model)


@pytest.mark.quick
def test_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hornbeam.boosting.scores.LEAST_SECONDS", 0.0)
    models = [
        Regressor(loss="quantile", quantile=BAND, calibrate=True, n_estimators=5, n_jobs=n_jobs)
        for n_jobs in (1, 2, 3)
    ]
    assert len({model.fit(X, Y).digest() for model in models}) == 1


@pytest.mark.quick
def test_stages_and_serving() -> None:
    model = Regressor(**PLAIN, quantile=BAND, calibrate=True).fit(X, Y)
    *_, last = model.staged_predict(X)
    np.testing.assert_array_equal(last, model.predict(X))
    serve = pickle.loads(pickle.dumps(model.predictor()))
    np.testing.assert_array_equal(serve(X), model.predict(X))
    np.testing.assert_array_equal(serve(X[3]), model.predict(X)[3])


@pytest.mark.quick
def test_going_on_is_the_model_of_one_go() -> None:
    slow = Regressor(**PLAIN, quantile=BAND, calibrate=True, warm_start=True)
    slow.set_params(n_estimators=3).fit(X, Y)
    slow.set_params(n_estimators=8).fit(X, Y)
    assert slow.digest() == Regressor(**PLAIN, quantile=BAND, calibrate=True).fit(X, Y).digest()


@pytest.mark.quick
def test_early_stopping_keeps_its_rows_and_its_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folds are made of the rows that the model has learnt from, with as many rounds."""
    seen: list[int] = []
    monkeypatch.setattr(
        calibration, "draw_folds", lambda n, *more: seen.append(n) or draw_folds(n, *more)
    )
    rounds: list[int] = []
    boost = hb.boosting.base.boost
    monkeypatch.setattr(
        hb.boosting.base,
        "boost",
        lambda course, rules, given, *more: (
            rounds.append(given.n_rounds) or boost(course, rules, given, *more)
        ),
    )
    stopping = {**PLAIN, "n_estimators": 200, "early_stopping": True, "n_iter_no_change": 3}
    model = Regressor(**stopping, quantile=BAND, calibrate=True, random_state=0).fit(X, Y)
    assert model.n_iter_ < 200
    assert seen == [216] and rounds == [200] + [model.n_iter_] * 10


@pytest.mark.quick
def test_scores_to_start_from_are_not_part_of_the_shift() -> None:
    base = 2 * X[:, 0]
    model = Regressor(**PLAIN, quantile=BAND, calibrate=True)
    model.fit(X, Y, init_score=np.column_stack([base, base]))
    low, high = (base[:, None] + model.predict(X)).T
    inside = (low <= Y) & (high >= Y)
    assert 0.8 < np.mean(inside) < 0.97
    rest = Regressor(**PLAIN, quantile=BAND, calibrate=True).fit(X, Y - base)
    assert np.abs(model.calibration_ - rest.calibration_).max() < 1.5


@pytest.mark.quick
def test_targets_of_any_size() -> None:
    """Targets that slopes cannot hold are learnt in other units; shifts are in the user's."""
    model = Regressor(**PLAIN, quantile=BAND, calibrate=True)
    usual = model.fit(X, Y).calibration_
    for exponent in (-300, 300):
        found = model.fit(X, np.ldexp(Y, exponent)).calibration_
        np.testing.assert_allclose(np.ldexp(found, -exponent), usual, rtol=1e-6)


@pytest.mark.quick
def test_rows_of_no_weight_are_not_there() -> None:
    weight = np.ones(len(Y))
    weight[::7] = 0.0
    model = Regressor(**PLAIN, quantile=BAND, calibrate=True)
    some = model.fit(X[weight > 0], Y[weight > 0]).calibration_
    np.testing.assert_array_equal(model.fit(X, Y, weight).calibration_, some)


@pytest.mark.quick
def test_calibrated_models_come_back(tmp_path: Path) -> None:
    model = Regressor(**PLAIN, quantile=BAND, calibrate=True).fit(X, Y)
    model.save(tmp_path / "model")
    for again in (hb.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert again.digest() == model.digest()
        assert again.calibration_.tobytes() == model.calibration_.tobytes()
        assert again.predict(X).tobytes() == model.predict(X).tobytes()
    assert model_bytes(hb.load(tmp_path / "model")) == model_bytes(model)


@pytest.mark.quick
@pytest.mark.parametrize(
    "shifts",
    [np.array([np.nan, 1.0]), np.array([np.inf, 1.0]), np.zeros(3), np.zeros((2, 1)), "none"],
)
def test_shifts_from_outside_are_checked(shifts: Any) -> None:
    model = Regressor(**PLAIN, quantile=BAND, calibrate=True).fit(X, Y)
    model.calibration_ = shifts
    with pytest.raises(ModelFileError, match="calibration"):
        pickle.loads(pickle.dumps(model))
    if isinstance(shifts, np.ndarray):
        with pytest.raises(ModelFileError, match="calibration"):
            load_model_bytes(model_bytes(model))


@pytest.mark.quick
def test_only_quantiles_have_shifts() -> None:
    model = Regressor(**{**PLAIN, "loss": "squared_error"}).fit(X, Y)
    model.calibration_ = np.zeros(1)
    with pytest.raises(ModelFileError, match="quantiles that the model predicts"):
        load_model_bytes(model_bytes(model))
    with pytest.raises(ValueError, match=r"predicts none: set loss='quantile'"):
        Regressor(calibrate=True).fit(X, Y)
    with pytest.raises(ValueError, match="there is 1 row"):
        Regressor(loss="quantile", calibrate=True).fit(X[:1], Y[:1])
    with pytest.raises(ValueError, match="calibrate"):
        Regressor(loss="quantile", calibrate="yes").fit(X, Y)

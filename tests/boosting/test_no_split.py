"""A model that cannot learn says so."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import hornbeam as hb

X = np.arange(60.0).reshape(-1, 1)


def test_hessians_too_small_for_min_child_weight() -> None:
    y = 1e-30 * (1.0 + X[:, 0] % 7)
    with pytest.warns(UserWarning, match="less than twice min_child_weight=0.001"):
        hb.GradientBoostingRegressor(loss="poisson").fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = hb.GradientBoostingRegressor(loss="poisson", min_child_weight=0.0).fit(X, y)
    assert model.trees_[0].n_leaves > 1


def test_gradients_that_vanish() -> None:
    with pytest.warns(UserWarning, match="all gradients round to zero"):
        hb.GradientBoostingRegressor(loss="log_cosh").fit(X, 1e-300 * X[:, 0])


def test_steps_that_are_too_small_for_the_targets() -> None:
    model = hb.GradientBoostingRegressor(loss="log_cosh", learning_rate=0.1)
    with pytest.warns(UserWarning, match="one row has nearly all of the hessian"):
        model.fit(X[:59], 1e20 * X[:59, 0])
    with pytest.warns(UserWarning, match="'log_cosh' are too small for such targets"):
        model.set_params(min_child_weight=0.0).fit(X, 1e20 * X[:, 0])


@pytest.mark.parametrize("loss", ["poisson", "gamma", "tweedie"])
@pytest.mark.parametrize("scale", [1e-40, 1e40])
def test_means_whose_logarithm_is_out_of_range(loss: str, scale: float) -> None:
    with pytest.raises(ValueError, match=f"The mean of y is .* the loss '{loss}' predicts the log"):
        hb.GradientBoostingRegressor(loss=loss).fit(X, scale * (1.0 + X[:, 0]))


# --- targets beyond float32 -----------------------------------------------------------------

RNG = np.random.default_rng(5)
WAVES = RNG.normal(size=(300, 3))
HEIGHT = np.sin(2 * WAVES[:, 0]) + WAVES[:, 1] + 0.1 * RNG.normal(size=300)
OF_LOSS: dict[str, dict[str, Any]] = {
    "squared_error": {"reg_alpha": 0.5, "min_split_gain": 0.01, "max_delta_step": 0.5},
    "huber": {"reg_alpha": 0.5},
    "sqrt_absolute": {"order": 1, "min_split_gain": 0.01},
    "absolute_error": {},
    "quantile": {},
}


@pytest.mark.parametrize("exponent", [-1000, -152, 152, 1000])
@pytest.mark.parametrize("loss", OF_LOSS)
def test_a_power_of_two_in_the_target_is_a_power_of_two_in_the_model(
    loss: str, exponent: int
) -> None:
    """Also in limits that are compared with gradients and gains."""
    power = {"squared_error": 1.0, "huber": 1.0, "sqrt_absolute": -0.5}.get(loss, 0.0)
    limits = OF_LOSS[loss]
    if abs(exponent) == 1000 and "min_split_gain" in limits:
        limits = {"order": limits.get("order", 2)}  # the limit itself is beyond float64
    times = {"reg_alpha": power, "min_split_gain": 2 * power, "max_delta_step": 1.0}
    scaled = {
        name: value if name == "order" else float(np.ldexp(value, round(times[name] * exponent)))
        for name, value in limits.items()
    }
    settings = {"loss": loss, "n_estimators": 10, "learning_rate": 0.3}
    usual = hb.GradientBoostingRegressor(**settings, **limits).fit(WAVES, HEIGHT)
    model = hb.GradientBoostingRegressor(**settings, **scaled)
    model.fit(WAVES, np.ldexp(HEIGHT, exponent))
    assert (model.predict(WAVES) == np.ldexp(usual.predict(WAVES), exponent)).all()
    assert usual.score(WAVES, HEIGHT) > 0.3


def test_far_targets_are_stopped_watched_continued_and_saved(tmp_path: Path) -> None:
    y, far = HEIGHT, np.ldexp(HEIGHT, -500)
    settings = {"early_stopping": True, "n_iter_no_change": 3, "random_state": 0}
    usual = hb.GradientBoostingRegressor(**settings).fit(WAVES, y)
    model = hb.GradientBoostingRegressor(**settings).fit(WAVES, far)
    assert model.n_iter_ == usual.n_iter_ > 3
    expected = np.ldexp(usual.history_["validation"], -1000)
    assert (model.history_["validation"] == expected).all()
    first = hb.GradientBoostingRegressor(n_estimators=5, warm_start=True).fit(WAVES, far)
    first.save(tmp_path / "m.hornbeam")
    at_once = hb.GradientBoostingRegressor(n_estimators=9).fit(WAVES, far)
    for going_on in (first, hb.load(tmp_path / "m.hornbeam")):
        assert going_on.set_params(n_estimators=9).fit(WAVES, far).digest() == at_once.digest()
    shifted = hb.GradientBoostingRegressor().fit(WAVES, far, init_score=far / 2)
    assert np.corrcoef(shifted.predict(WAVES), HEIGHT)[0, 1] > 0.9
    huge = hb.GradientBoostingRegressor(early_stopping=True, random_state=0)
    huge.fit(WAVES, np.ldexp(y, 1000)).save(tmp_path / "huge.hornbeam")
    assert (hb.load(tmp_path / "huge.hornbeam").predict(WAVES) == huge.predict(WAVES)).all()


def test_targets_too_far_apart_for_float64() -> None:
    y = np.where(WAVES[:, 0] > 1.5, 1.7e308, -1.7e308)
    settings = {"n_estimators": 1, "learning_rate": 1.0, "reg_lambda": 0.0}
    with pytest.raises(ValueError, match="divide y by 10"):
        hb.GradientBoostingRegressor(**settings).fit(WAVES, y)
    model = hb.GradientBoostingRegressor(**settings).fit(WAVES, y / 10)
    assert model.predict(WAVES) == pytest.approx(y / 10)


# --- rows that outweigh all others ----------------------------------------------------------

ONE_HEAVY = np.ones(300)
ONE_HEAVY[7] = 30_000.0


def rest_of(model: Any, y: Any, weight: Any = ONE_HEAVY, table: Any = WAVES) -> float:
    """Share of the variance of the light rows that is explained."""
    light = weight == 1.0
    error = y[light] - model.fit(table, y, weight).predict(table)[light]
    return float(1.0 - error.var() / y[light].var())


@pytest.mark.parametrize("growth", ["leaf", "level", "depth", "symmetric", "alternate"])
@pytest.mark.parametrize("ratio", [1e4, 3e4, 1e6, 1e8])
def test_one_heavy_row_does_not_hide_the_others(growth: str, ratio: float) -> None:
    weight = np.where(ONE_HEAVY > 1.0, ratio, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert rest_of(hb.GradientBoostingRegressor(growth=growth), HEIGHT, weight) > 0.8


@pytest.mark.parametrize(
    "settings",
    [
        {"loss": "absolute_error"},
        {"loss": "huber"},
        {"loss": "quantile"},
        {"loss": "log_cosh"},
        {"loss": "sqrt_absolute", "order": 1},
        {"order": 1},
        {"subsample": 0.8, "random_state": 0},
        {"monotonic_cst": [0, 1, 0]},
        {"learning_rate": 0.1, "colsample_bynode": 0.7, "random_state": 0},
    ],
)
def test_one_heavy_row_under_other_settings(settings: dict[str, Any]) -> None:
    assert rest_of(hb.GradientBoostingRegressor(**settings), HEIGHT) > 0.7


def test_heavy_rows_of_sparse_tables_shared_columns_and_categories() -> None:
    random = np.random.default_rng(1)
    town = random.integers(0, 12, 300)
    y = np.linspace(-1.0, 1.0, 12)[random.permutation(12)][town] + 0.1 * random.normal(size=300)
    flags = np.eye(12)[town]  # exclusive: they share a column
    flags[random.random(flags.shape) < 0.02] = np.nan
    words = pd.DataFrame({"town": pd.Categorical(town.astype(str))})
    several = np.where(np.arange(300) % 60 == 7, 1e5, 1.0)
    for weight in (ONE_HEAVY, several):
        for table in (flags, words):
            assert rest_of(hb.GradientBoostingRegressor(), y, weight, table) > 0.8
        models = [
            hb.GradientBoostingRegressor(n_estimators=5, n_jobs=n_jobs).fit(table, y, weight)
            for table in (flags, scipy.sparse.csr_array(flags))
            for n_jobs in (1, 2)
        ]
        assert len({model.digest() for model in models}) == 1


def test_heavy_rows_never_make_a_leaf_too_small() -> None:
    model = hb.GradientBoostingRegressor(n_estimators=20, min_samples_leaf=7)
    for tree in model.fit(WAVES, HEIGHT, ONE_HEAVY).trees_:
        assert tree.n_samples[tree.feature < 0].min() >= 7


def test_a_heavy_row_of_classes_and_of_queries() -> None:
    light = ONE_HEAVY == 1.0
    for labels in (HEIGHT > 0.0, np.digitize(HEIGHT, [-0.7, 0.7])):
        model = hb.GradientBoostingClassifier(growth="leaf").fit(WAVES, labels, ONE_HEAVY)
        assert (model.predict(WAVES) == labels)[light].mean() > 0.9
    grades = np.digitize(HEIGHT, [-0.7, 0.7])
    ranker = hb.GradientBoostingRanker().fit(
        WAVES, grades, group=[30] * 10, sample_weight=ONE_HEAVY
    )
    assert np.corrcoef(ranker.predict(WAVES), HEIGHT)[0, 1] > 0.5


def test_a_row_that_outweighs_all_is_named() -> None:
    far_heavier = np.where(ONE_HEAVY > 1.0, 1e12, 1.0)
    with pytest.warns(UserWarning, match="weighs as much as 1e.12 rows of usual weight"):
        hb.GradientBoostingRegressor(n_estimators=2).fit(WAVES, HEIGHT, far_heavier)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        weight = np.where(ONE_HEAVY > 1.0, 1e8, 1.0)
        model = hb.GradientBoostingClassifier(growth="leaf", min_child_weight=1.0)
        model.fit(WAVES, HEIGHT > 0.0, weight)
    assert len(said) == 2
    assert "weighs as much as 1e+08 rows" in str(said[0].message)
    assert "No tree has a split, since one row weighs" in str(said[1].message)
    assert {warning.filename for warning in said} == {__file__}


def test_nothing_to_say_about_constant_data() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = hb.GradientBoostingRegressor().fit(np.zeros((60, 1)), X[:, 0])
        hb.GradientBoostingRegressor().fit(X, np.ones(60))
    assert model.trees_[0].n_leaves == 1

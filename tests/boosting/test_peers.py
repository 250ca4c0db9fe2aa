"""The same bins and settings as LightGBM, XGBoost and scikit-learn: the same predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hornbeam as hb

Classifier, Regressor = hb.GradientBoostingClassifier, hb.GradientBoostingRegressor
ROUNDS, RATE = 30, 0.1

rng = np.random.default_rng(0)
N = 2000
X = rng.integers(0, 64, (N, 6)).astype(float)  # few values: everybody has the same bins
Z = X.copy()
X[rng.random(X.shape) < 0.05] = np.nan
LEVEL = Z[:, 0] / 10 + 3 * np.sin(Z[:, 1] / 8) + Z[:, 2] * Z[:, 3] / 900 + rng.normal(0, 0.5, N)
WEIGHT = rng.uniform(0.5, 1.5, N)  # no two splits have the same gain: who is first does not matter


def lightgbm_model(X: Any, y: Any, objective: str, weight: Any = None, **more: Any) -> Any:
    lightgbm = pytest.importorskip("lightgbm")
    params = {
        "objective": objective, "num_leaves": 31, "learning_rate": RATE, "min_data_in_leaf": 1,
        "min_sum_hessian_in_leaf": 1.0, "lambda_l2": 0.0, "min_data_in_bin": 1, "max_bin": 255,
        "feature_pre_filter": False, "enable_bundle": False, "num_threads": 1, "verbose": -1,
        "deterministic": True, **more,
    }  # fmt: skip
    data = lightgbm.Dataset(X, y, weight=weight, params=params)
    return lightgbm.train(params, data, ROUNDS).predict(X)


def xgboost_model(X: Any, y: Any, objective: str) -> Any:
    xgboost = pytest.importorskip("xgboost")
    params = {
        "objective": objective, "eta": RATE, "max_depth": 6, "min_child_weight": 1.0, "lambda": 1.0,
        "tree_method": "hist", "max_bin": 256, "nthread": 1, "base_score": float(np.mean(y)),
    }  # fmt: skip
    data = xgboost.DMatrix(X, y)
    return xgboost.train(params, data, ROUNDS).predict(data)


def ours(maker: Any, preset: str, X: Any, y: Any, weight: Any = None) -> Any:
    params = {"n_estimators": ROUNDS, "learning_rate": RATE, "min_child_weight": 1.0}
    model = maker.preset(preset, min_samples_leaf=1, **params).fit(X, y, weight)
    if maker is Regressor:
        return model.predict(X)
    shares = model.predict_proba(X)
    return shares[:, 1] if shares.shape[1] == 2 else shares


def correlation(one: Any, other: Any) -> float:
    return float(np.corrcoef(np.ravel(one), np.ravel(other))[0, 1])


@pytest.mark.mission("L3")
@pytest.mark.mission("L1")
@pytest.mark.parametrize("task", ["regression", "binary", "multiclass"])
def test_lightgbm_on_the_same_bins(task: str) -> None:
    """Leaf-wise trees, without the shortcuts that LightGBM takes with penalties."""
    y: Any = LEVEL
    if task != "regression":
        y = np.digitize(LEVEL, np.quantile(LEVEL, [0.5] if task == "binary" else [0.3, 0.7]))
    more = {"num_class": 3} if task == "multiclass" else {}
    peer = lightgbm_model(X, y, task, WEIGHT, **more)
    found = ours(Regressor if task == "regression" else Classifier, "lightgbm", X, y, WEIGHT)
    np.testing.assert_allclose(found, peer, rtol=1e-5, atol=1e-5)


@pytest.mark.mission("X1")
@pytest.mark.mission("X11")
@pytest.mark.mission("X5")
@pytest.mark.parametrize("objective", ["reg:squarederror", "binary:logistic"])
def test_xgboost_on_the_same_bins(objective: str) -> None:
    """Level-wise trees, to the precision of float32, in which XGBoost keeps its scores."""
    two = objective == "binary:logistic"
    y = (np.median(LEVEL) < LEVEL).astype(int) if two else LEVEL
    peer = xgboost_model(X, y, objective)
    found = ours(Classifier if two else Regressor, "xgboost", X, y)
    np.testing.assert_allclose(found, peer, rtol=1e-4, atol=1e-5)


@pytest.mark.mission("G1")
def test_friedman_is_scikit_learns() -> None:
    from sklearn.ensemble import GradientBoostingRegressor

    peer = GradientBoostingRegressor(
        n_estimators=15, max_leaf_nodes=8, max_depth=None, random_state=0
    ).fit(Z, LEVEL)
    model = Regressor.preset("friedman", n_estimators=15).fit(Z, LEVEL)
    np.testing.assert_allclose(model.predict(Z), peer.predict(Z), rtol=1e-6, atol=1e-6)


def binned(frame: pd.DataFrame) -> np.ndarray:
    """Numbers as one of 200 bins, so that all libraries cut at the same places."""
    shares = np.linspace(0, 1, 201)[1:-1]
    columns = []
    for name in frame.select_dtypes("number"):
        column = frame[name].to_numpy(float)
        code = np.searchsorted(np.nanquantile(column, shares), column).astype(float)
        columns.append(np.where(np.isnan(column), np.nan, code))
    return np.column_stack(columns)


@pytest.mark.mission("X1")
@pytest.mark.parametrize("name", ["california_housing", "lightgbm_binary"])
def test_shared_sets(name: str, shared_data: Path) -> None:
    maker: Any
    if name == "california_housing":
        frame = pd.read_csv(shared_data / name / "data.csv.gz")
        y = frame.pop("median_house_value").to_numpy() / 1e5
        maker, theirs = Regressor, ("regression", "reg:squarederror")
    else:
        frame = pd.read_csv(shared_data / name / "train.csv.gz")
        y = frame.pop("label").to_numpy().astype(int)
        maker, theirs = Classifier, ("binary", "binary:logistic")
    table = binned(frame)
    peer = lightgbm_model(table, y, theirs[0])
    assert correlation(ours(maker, "lightgbm", table, y), peer) > 0.999
    peer = xgboost_model(table, y, theirs[1])
    assert correlation(ours(maker, "xgboost", table, y), peer) > 0.999

"""The metrics of XGBoost and LightGBM, against their definitions row by row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from hornbeam.compat.lightgbm.metrics import read_metrics as lightgbm_metrics
from hornbeam.compat.xgboost.metrics import NAMES, read_metric, read_metrics

rng = np.random.default_rng(0)
N = 40
Y, P = rng.gamma(2.0, 2.0, N), rng.gamma(2.0, 2.0, N)
LABEL, SHARE = rng.integers(0, 2, N), rng.uniform(0.05, 0.95, N)
CLASS, SHARES = rng.integers(0, 3, N), rng.dirichlet(np.ones(3), N)
WEIGHT = rng.uniform(0.5, 2.0, N)


def pinball(y: float, p: float, q: float) -> float:
    return q * (y - p) if y > p else (1 - q) * (p - y)


ROWS: dict[str, Any] = {  # what one row costs
    "mae": lambda y, p: abs(y - p),
    "mape": lambda y, p: abs(y - p) / y,
    "mphe": lambda y, p: math.sqrt(1 + (y - p) ** 2) - 1,
    "poisson-nloglik": lambda y, p: p - y * math.log(p) + math.lgamma(y + 1),
    "gamma-nloglik": lambda y, p: y / p + math.log(p),
    "gamma-deviance": lambda y, p: 2 * (y / p - 1 - math.log(y / p)),
    "tweedie-nloglik@1.2": lambda y, p: -y * p**-0.2 / -0.2 + p**0.8 / 0.8,
    "quantile@0.3": lambda y, p: pinball(y, p, 0.3),
}
CLASSES: dict[str, Any] = {
    "logloss": lambda y, p: -math.log(p if y else 1 - p),
    "error": lambda y, p: float((p > 0.5) != bool(y)),
    "error@0.7": lambda y, p: float((p > 0.7) != bool(y)),
}


@pytest.mark.quick
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["even", "weighted"])
def test_means_over_rows(weight: Any) -> None:
    weights = np.ones(N) if weight is None else weight
    for table, y, p in ((ROWS, Y, P), (CLASSES, LABEL, SHARE)):
        for name, cost in table.items():
            found = read_metric(name).measure(y, p, weight, None)
            costs = [cost(float(a), float(b)) for a, b in zip(y, p, strict=True)]
            assert found == pytest.approx(np.dot(costs, weights) / weights.sum(), rel=1e-9), name
    squares = np.dot((Y - P) ** 2, weights) / weights.sum()
    assert read_metric("rmse").measure(Y, P, weight, None) == pytest.approx(math.sqrt(squares))
    logs = np.dot((np.log1p(Y) - np.log1p(P)) ** 2, weights) / weights.sum()
    assert read_metric("rmsle").measure(Y, P, weight, None) == pytest.approx(math.sqrt(logs))
    several = [-math.log(SHARES[row, CLASS[row]]) for row in range(N)]
    found = read_metric("mlogloss").measure(CLASS, SHARES, weight, None)
    assert found == pytest.approx(np.dot(several, weights) / weights.sum())
    wrong = [float(SHARES[row].argmax() != CLASS[row]) for row in range(N)]
    found = read_metric("merror").measure(CLASS, SHARES, weight, None)
    assert found == pytest.approx(np.dot(wrong, weights) / weights.sum())


@pytest.mark.quick
def test_areas_count_pairs() -> None:
    pairs = [
        (SHARE[a] > SHARE[b]) + 0.5 * (SHARE[a] == SHARE[b])
        for a in np.flatnonzero(LABEL == 1)
        for b in np.flatnonzero(LABEL == 0)
    ]
    assert read_metric("auc").measure(LABEL, SHARE, None, None) == pytest.approx(np.mean(pairs))
    assert math.isnan(read_metric("auc").measure(np.ones(N), SHARE, None, None))
    assert 0.0 < read_metric("aucpr").measure(LABEL, SHARE, None, None) < 1.0
    assert 0.3 < read_metric("auc").measure(CLASS, SHARES, None, None) < 0.7


@pytest.mark.quick
def test_ranking_goes_query_by_query() -> None:
    y, p = np.array([2, 0, 1, 0, 0, 1]), np.array([0.1, 0.9, 0.5, 0.4, 0.3, 0.2])
    group = np.array([3, 3])
    first = ((2 - 1) / math.log2(3) + (4 - 1) / math.log2(4)) / (
        3 / math.log2(2) + 1 / math.log2(3)
    )
    second = (1 / math.log2(4)) / (1 / math.log2(2))
    found = read_metric("ndcg").measure(y, p, None, group)
    assert found == pytest.approx((first + second) / 2)
    top = read_metric("ndcg@2").measure(y, p, None, group)
    assert top == pytest.approx((1 / math.log2(3)) / (3 + 1 / math.log2(3)) / 2)
    precisions = ((1 / 2 + 2 / 3) / 2 + 1 / 3) / 2
    assert read_metric("map").measure(y, p, None, group) == pytest.approx(precisions)
    nothing = read_metric("ndcg").measure(np.zeros(6), p, None, group)
    assert nothing == 1.0


@pytest.mark.quick
def test_names_that_there_are_not() -> None:
    for name in ("rmsee", "auc@3", "gamma-deviance@2", "cox-nloglik"):
        with pytest.raises(ValueError, match=f"eval_metric='{name}' is not measured here"):
            read_metric(name)
    assert all(read_metric(name).name == name for name in NAMES)
    assert [one.name for one in read_metrics(None, "rmse")] == ["rmse"]
    assert [one.name for one in read_metrics(["auc", "auc", "logloss"], "x")] == ["auc", "logloss"]
    with pytest.raises(ValueError, match="eval_metric='rmsle' is not measured here"):
        lightgbm_metrics("rmsle", None, "l2", (1,), {})


@pytest.mark.quick
def test_metrics_of_lightgbm_add_up() -> None:
    def own(y: Any, p: Any) -> tuple[str, float, bool]:
        return "mine", float(np.max(np.abs(y - p))), False

    names = [one.name for one in lightgbm_metrics([own, "mae", "mse"], None, "l2", (1,), {})]
    assert names == ["l1", "l2", "own"]  # its own name it says with the first answer
    found = lightgbm_metrics([own], "None", "l2", (1,), {})[0]
    assert found.measure(Y, P, None, None) == np.max(np.abs(Y - P))
    assert (found.name, found.larger_is_better) == ("mine", False)
    ranked = lightgbm_metrics("map", None, "ndcg", (1, 3), {})
    assert [one.name for one in ranked] == ["map@1", "map@3", "ndcg@1", "ndcg@3"]
    assert all(one.larger_is_better for one in ranked)
    wide = lightgbm_metrics("quantile", None, "l2", (1,), {"alpha": 0.3})[0]
    assert wide.measure(Y, P, None, None) == read_metric("quantile@0.3").measure(Y, P, None, None)
    with pytest.raises(TypeError, match=r"must return \(name, value, is_higher_better\)"):
        lightgbm_metrics(lambda y, p: 3.0, None, "l2", (1,), {})[1].measure(Y, P, None, None)

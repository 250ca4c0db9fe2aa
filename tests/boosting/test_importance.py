"""Importances of boosted trees, each against a few naive lines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.inspection import permutation_importance

import hornbeam as hb

rng = np.random.default_rng(0)
X = rng.normal(size=(500, 4))
X[rng.random((500, 4)) < 0.1] = np.nan
LEVEL = 3.0 * np.nan_to_num(X[:, 1]) + np.nan_to_num(X[:, 0]) + rng.normal(0, 0.2, 500)
FEW: dict[str, Any] = {"n_estimators": 12, "min_samples_leaf": 5, "random_state": 0}
ONE: dict[str, Any] = {"n_estimators": 1, "learning_rate": 1.0, "reg_lambda": 0.0}
KINDS = ("gain", "split", "cover", "squared")


def models() -> list[Any]:
    return [
        hb.GradientBoostingRegressor(**FEW, reg_lambda=1.0).fit(X, LEVEL),
        hb.GradientBoostingClassifier(**FEW).fit(X, np.digitize(LEVEL, [-1, 1])),
        hb.GradientBoostingRanker(**FEW).fit(X, LEVEL > 0, group=[50] * 10),
    ]


def naive(model: Any, kind: str) -> np.ndarray:
    """Node by node: gradient and hessian sums from the values, gains from the formula."""
    total = np.zeros(4)
    for tree in model.trees_:
        own = np.zeros(4)
        for node in np.flatnonzero(~tree.is_leaf):
            first = tree.first_child[node]
            objectives = tree.impurity * tree.weight
            gain = objectives[node] - objectives[first] - objectives[first + 1]
            amount = {"split": 1.0, "cover": tree.weight[node]}.get(kind, gain)
            own[tree.feature[node]] += amount
        total += own / own.sum() if kind == "squared" and own.any() else own
    return total / total.sum()


@pytest.mark.mission("G4")
@pytest.mark.parametrize("number", range(3))
def test_shares_are_those_of_plain_loops(number: int) -> None:
    model = models()[number]
    for kind in KINDS:
        found = model.importances(kind)
        assert found.sum() == pytest.approx(1.0) and (found >= 0).all()
        assert found == pytest.approx(naive(model, kind), rel=1e-9)
        assert np.argmax(found) == 1 or kind in ("split", "cover")
    assert model.feature_importances_.tolist() == model.importances("gain").tolist()


@pytest.mark.mission("G4")
def test_gains_are_falls_of_the_objective() -> None:
    """Without penalties the gain of all splits of a tree is half of sum r^2 - (r - step)^2."""
    model = hb.GradientBoostingRegressor(**ONE).fit(X, LEVEL)
    tree, before = model.trees_[0], 0.5 * np.sum((LEVEL - LEVEL.mean()) ** 2)
    objective = tree.impurity * tree.weight
    fall = objective[0] - objective[tree.is_leaf].sum()
    assert fall == pytest.approx(before - 0.5 * np.sum((LEVEL - model.predict(X)) ** 2))


@pytest.mark.mission("G4")
def test_features_that_no_tree_asks() -> None:
    model = hb.GradientBoostingRegressor(**FEW).fit(np.ones((500, 4)), LEVEL)
    for kind in KINDS:
        assert model.importances(kind).tolist() == [0.0] * 4


@pytest.mark.mission("G4")
def test_permutation_is_that_of_scikit_learn() -> None:
    for model in models()[:2]:
        y = LEVEL if len(model.trees_) == 12 else np.digitize(LEVEL, [-1, 1])
        found = model.importances("permutation", X, y)
        peer = permutation_importance(model, X, y, n_repeats=5, random_state=0).importances_mean
        assert found.tolist() == peer.tolist() and np.argmax(found) == 1
        assert abs(found[2]) < 0.05 * found[1]


def test_what_cannot_be_is_a_sentence() -> None:
    regressor, _, ranker = models()
    with pytest.raises(ValueError, match=r"kind must be one of \('gain'.* but is 'shap'"):
        regressor.importances("shap")
    with pytest.raises(ValueError, match="needs rows to shuffle: pass X and y"):
        regressor.importances("permutation")
    with pytest.raises(ValueError, match="which rows belong to one query: pass either group"):
        ranker.importances("permutation", X, LEVEL > 0)

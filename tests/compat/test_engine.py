"""What adapters keep of their engine, and what comes back out of a pickle."""

from __future__ import annotations

import pickle
from functools import cache
from typing import Any

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.compat import lightgbm, sklearn, xgboost

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 4))
LEVEL = X[:, 0] - X[:, 1] ** 2
LABEL = np.digitize(LEVEL, [-1.0, 0.0])
FEW = {"n_estimators": 3, "random_state": 0}
MODELS: dict[str, tuple[Any, Any]] = {
    "sklearn.HistGradientBoostingClassifier": (
        sklearn.HistGradientBoostingClassifier(max_iter=3),
        LABEL,
    ),
    "sklearn.HistGradientBoostingRegressor": (
        sklearn.HistGradientBoostingRegressor(max_iter=3),
        LEVEL,
    ),
    "sklearn.GradientBoostingClassifier": (sklearn.GradientBoostingClassifier(**FEW), LABEL),
    "sklearn.GradientBoostingRegressor": (
        sklearn.GradientBoostingRegressor(**FEW, init=hb.DecisionTreeRegressor(max_depth=2)),
        LEVEL,
    ),
    "xgboost.XGBClassifier": (xgboost.XGBClassifier(**FEW), LABEL),
    "xgboost.XGBRegressor": (xgboost.XGBRegressor(**FEW), LEVEL),
    "lightgbm.LGBMClassifier": (lightgbm.LGBMClassifier(**FEW), LABEL),
    "lightgbm.LGBMRegressor": (lightgbm.LGBMRegressor(**FEW), LEVEL),
}
NAMES = list(MODELS)


@cache
def fitted(name: str) -> Any:
    """One of the models, fitted when it is first asked for."""
    model, y = MODELS[name]
    return model.fit(X, y)


@pytest.fixture
def model(request: pytest.FixtureRequest) -> Any:
    return fitted(request.param)


def forged(model: Any, **changes: Any) -> bytes:
    """A pickle of a model with other contents."""
    other = type(model).__new__(type(model))
    vars(other).update({**vars(model), **changes})
    return pickle.dumps(other)


@pytest.mark.parametrize("model", NAMES, indirect=True)
def test_a_pickled_adapter_is_the_same(model: Any) -> None:
    same = pickle.loads(pickle.dumps(model))
    assert vars(same).keys() == vars(model).keys()
    assert same.digest() == model.digest()
    np.testing.assert_array_equal(same.predict(X), model.predict(X))
    unfitted = pickle.loads(pickle.dumps(type(model)()))
    assert not hasattr(unfitted, "engine_")


@pytest.mark.parametrize("model", NAMES, indirect=True)
def test_an_engine_that_is_none_is_refused(model: Any) -> None:
    other = hb.DecisionTreeRegressor().fit(X, LEVEL)
    for engine in (None, 3, other, type(model.engine_)()):
        with pytest.raises(hb.ModelFileError, match="must be a fitted GradientBoosting"):
            pickle.loads(forged(model, engine_=engine))


@pytest.mark.parametrize("model", NAMES, indirect=True)
def test_what_an_adapter_shows_is_what_its_engine_says(model: Any) -> None:
    same = pickle.loads(forged(model, n_features_in_=99, classes_=None, n_classes_="x"))
    assert same.n_features_in_ == 4
    for name in ("classes_", "n_classes_"):
        assert hasattr(same, name) == hasattr(model, name)
    np.testing.assert_array_equal(same.predict(X), model.predict(X))


@pytest.mark.parametrize(
    "number, changes, words",
    [
        (0, {"max_iter": -3}, "max_iter"),
        (2, {"learning_rate": "x"}, "learning_rate"),
        (3, {"init_": 5}, "init_ is a int, which has no predict"),
        (3, {"grown_with_": [3]}, "grown_with_ must be a list of pairs"),
        (2, {"grown_with_": [(3.5, {})]}, "grown_with_ must be a list of pairs"),
        (4, {"kwargs": None}, "kwargs must be a dict"),
        (5, {"evals_result_": 3}, "evals_result_ must be a dict"),
        (6, {"best_iteration_": "x"}, "best_iteration_ must be"),
    ],
)
def test_what_else_is_wrong_is_said(number: int, changes: Any, words: str) -> None:
    with pytest.raises(hb.ModelFileError, match=words):
        pickle.loads(forged(fitted(NAMES[number]), **changes))


@pytest.mark.parametrize("model", NAMES[::2], indirect=True)
def test_a_parameter_that_is_not_there_is_said(model: Any) -> None:
    other = type(model).__new__(type(model))
    vars(other).update({name: value for name, value in vars(model).items() if name != "max_depth"})
    with pytest.raises(hb.ModelFileError, match="max_depth"):
        pickle.loads(pickle.dumps(other))

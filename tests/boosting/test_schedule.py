"""Learning rates of their own for the rounds, and predictions of the first rounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import hornbeam as hb
from hornbeam.boosting.schedule import read_schedule

Classifier, Regressor = hb.GradientBoostingClassifier, hb.GradientBoostingRegressor
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4))
X[rng.random(X.shape) < 0.05] = np.nan
LEVEL = np.nan_to_num(X[:, 0]) + 0.5 * np.nan_to_num(X[:, 1]) ** 2 + rng.normal(0, 0.2, 300)
THREE = np.digitize(LEVEL, [0.0, 1.0])


def falling(number: int) -> float:
    return 0.3 * 0.8**number


def test_one_rate_for_all_rounds_is_that_rate() -> None:
    plain = Regressor(n_estimators=8, learning_rate=0.1).fit(X, LEVEL)
    for rates in ([0.1] * 8, np.full(8, 0.1), lambda number: 0.1):
        listed = Regressor(n_estimators=8, learning_rate=rates).fit(X, LEVEL)
        assert listed.digest() == plain.digest()
        assert listed.learning_rate_ == pytest.approx(0.1)


@pytest.mark.parametrize(("maker", "y"), [(Regressor, LEVEL), (Classifier, THREE)])
def test_each_round_takes_its_own_rate(maker: Any, y: Any) -> None:
    """The leaf values of each tree are those of a tree of rate 1, times the rate.

    Rounds of a model that follows a schedule differ from those of another from the second on,
    so each is taken from a warm start that is cut there.
    """
    params = {"order": 2, "reg_lambda": 1.0, "growth": "leaf", "colsample_bynode": 1.0}
    model = maker(n_estimators=5, learning_rate=falling, **params).fit(X, y)
    for number in range(5):
        halved = [falling(k) * (0.5 if k == number else 1.0) for k in range(number + 1)]
        other = maker(n_estimators=number + 1, learning_rate=halved, **params).fit(X, y)
        every = model.ensemble_.n_scores
        for place in range(number * every, (number + 1) * every):
            leaf = model.trees_[place].is_leaf
            np.testing.assert_array_equal(
                0.5 * model.trees_[place].value[leaf], other.trees_[place].value[leaf]
            )


def test_a_warm_start_goes_on_with_the_schedule() -> None:
    whole = Regressor(n_estimators=9, learning_rate=falling, random_state=0).fit(X, LEVEL)
    parts = Regressor(n_estimators=4, learning_rate=falling, random_state=0, warm_start=True)
    parts.fit(X, LEVEL).set_params(n_estimators=9).fit(X, LEVEL)
    assert parts.digest() == whole.digest()


def test_rates_of_dropped_rounds_are_scaled_as_always() -> None:
    drops = {"n_estimators": 12, "drop_rate": 0.3, "random_state": 0}
    one = Regressor(learning_rate=0.2, **drops).fit(X, LEVEL)
    listed = Regressor(learning_rate=[0.2] * 12, **drops).fit(X, LEVEL)
    assert one.digest() == listed.digest()


@pytest.mark.parametrize(
    ("rates", "message"),
    [
        ([0.1, 0.2], "learning_rate has 2 entries, but n_estimators=3"),
        ([], "has 0 entries"),
        ([0.1, -0.2, 0.3], "learning_rate holds -0.2 for round 1: every learning rate must be a"),
        ([0.1, 0.0, 0.3], "holds 0.0 for round 1"),
        ([0.1, np.nan, 0.3], "nan for round 1"),
        ([0.1, np.inf, 0.3], "inf for round 1"),
        ([0.1, "much", 0.3], "'much' for round 1"),
        ([0.1, True, 0.3], "True for round 1"),
        ([[0.1], [0.2], [0.3]], "for round 0"),
        (lambda number: 0.1 - number, "returned -0.9 for round 1"),
        (lambda number: None, "returned None for round 0"),
    ],
)
def test_schedules_that_make_no_sense_are_sentences(rates: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Regressor(n_estimators=3, learning_rate=rates).fit(X, LEVEL)
    with pytest.raises(ValueError, match=message):
        read_schedule(rates, 3)


def test_a_scheduled_model_is_an_estimator_like_others(tmp_path: Any) -> None:
    model = Regressor(n_estimators=4, learning_rate=[0.4, 0.3, 0.2, 0.1])
    search = GridSearchCV(model, {"max_depth": [1, 2]}, cv=2).fit(X, LEVEL)
    assert clone(model).learning_rate == [0.4, 0.3, 0.2, 0.1]
    search.best_estimator_.save(tmp_path / "model")
    read = hb.load(tmp_path / "model")
    assert read.digest() == search.best_estimator_.digest()
    assert read.learning_rate == [0.4, 0.3, 0.2, 0.1]
    by_function = Regressor(n_estimators=4, learning_rate=falling).fit(X, LEVEL)
    by_function.save(tmp_path / "model")
    assert hb.load(tmp_path / "model").digest() == by_function.digest()


# --- the first rounds ------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_first_rounds_are_those_of_a_shorter_fit(n_jobs: int) -> None:
    params = {"learning_rate": 0.2, "random_state": 0, "n_jobs": n_jobs}
    longer, shorter = (Classifier(n_estimators=n, **params).fit(X, THREE) for n in (9, 4))
    for name in ("predict", "predict_proba", "decision_function", "apply"):
        found = getattr(longer, name)(X, n_rounds=4)
        np.testing.assert_array_equal(found, getattr(shorter, name)(X))
    longer, shorter = (Regressor(n_estimators=n, **params).fit(X, LEVEL) for n in (9, 4))
    for name in ("predict", "apply"):
        found = getattr(longer, name)(X, n_rounds=4)
        np.testing.assert_array_equal(found, getattr(shorter, name)(X))
    stages = list(longer.staged_predict(X))
    for number in range(1, 10):
        np.testing.assert_array_equal(longer.predict(X, n_rounds=number), stages[number - 1])
    np.testing.assert_array_equal(longer.predict(X, n_rounds=None), longer.predict(X))
    np.testing.assert_allclose(longer.predict(X, n_rounds=0), LEVEL.mean())
    assert longer.apply(X, n_rounds=0).shape == (300, 0)


def test_the_ranker_ranks_by_the_first_rounds_too() -> None:
    ranker = hb.GradientBoostingRanker(n_estimators=6).fit(X, THREE, group=[150, 150])
    stages = list(ranker.staged_predict(X))
    np.testing.assert_array_equal(ranker.predict(X, n_rounds=2), stages[1])


@pytest.mark.parametrize("n_rounds", [-1, 4, 1.0, "all", True])
def test_rounds_that_are_not_there_are_a_sentence(n_rounds: Any) -> None:
    model = Regressor(n_estimators=3, learning_rate=0.1).fit(X, LEVEL)
    for method in (model.predict, model.apply):
        with pytest.raises(ValueError, match="n_rounds must be a whole number from 0 to the 3"):
            method(X, n_rounds=n_rounds)

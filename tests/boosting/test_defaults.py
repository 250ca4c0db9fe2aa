"""What "auto" stands for, and that the penalty falls with the hessians."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.boosting.defaults import Settings, Shape, settle, usual_leaf, usual_rate

RNG = np.random.default_rng(7)
X = RNG.normal(size=(300, 4))
NOISY = X[:, 0] + X[:, 1] ** 2 + RNG.normal(size=300)
CLASS = np.digitize(NOISY, [0.5, 1.5])


@pytest.mark.quick
@pytest.mark.parametrize(
    ("n_rows", "leaf"), [(2, 1), (42, 5), (160, 20), (4999, 20), (5000, 5), (10**6, 5)]
)
def test_leaves_have_more_rows_where_there_are_few(n_rows: int, leaf: int) -> None:
    assert usual_leaf(n_rows) == leaf


@given(st.integers(2, 10**7))
def test_leaves_are_always_small_enough_for_a_split(n_rows: int) -> None:
    assert 1 <= usual_leaf(n_rows) <= n_rows / 2


@pytest.mark.quick
@pytest.mark.parametrize(
    ("shape", "rate"),
    [
        (Shape(1000, 2000, "regression"), 0.1),
        (Shape(5000, 2000, "regression"), 0.15),
        (Shape(5000, 2000, "classification"), 0.1),
        (Shape(5000, 2000, "ranking"), 0.1),
        (Shape(640, 64, "classification"), 0.15),
        (Shape(639, 64, "classification"), 0.1),
        (Shape(10**6, 65, "classification"), 0.1),
    ],
)
def test_rates(shape: Shape, rate: float) -> None:
    assert usual_rate(shape) == rate


@pytest.mark.quick
def test_numbers_stay_as_they_are() -> None:
    shape = Shape(100, 50, "regression")
    assert settle(0.3, 7, 2.0, shape) == Settings(0.3, 7, 2.0, False)
    assert settle("auto", "auto", "auto", shape) == Settings(0.1, 12, 1.0, True)


@pytest.mark.parametrize("name", ["learning_rate", "min_samples_leaf", "reg_lambda"])
def test_other_words_are_refused(name: str) -> None:
    wrong: dict[str, Any] = {name: "automatic"}
    with pytest.raises(ValueError, match=name):
        hb.GradientBoostingRegressor(**wrong).fit(X, NOISY)


def test_a_regression_is_that_of_the_numbers() -> None:
    by_hand: dict[str, Any] = {"learning_rate": 0.1, "min_samples_leaf": 20, "reg_lambda": 1.0}
    chosen = hb.GradientBoostingRegressor(n_estimators=5).fit(X, NOISY)
    given_numbers = hb.GradientBoostingRegressor(n_estimators=5, **by_hand).fit(X, NOISY)
    assert (chosen.predict(X) == given_numbers.predict(X)).all()


def test_cuts_of_a_table_count_for_the_rate() -> None:
    """Three values in each of four columns can be cut in eight places."""
    few = np.digitize(X, [-0.5, 0.5]).astype(float)
    chosen = hb.GradientBoostingRegressor(n_estimators=1).fit(few, NOISY)
    by_hand = hb.GradientBoostingRegressor(n_estimators=1, learning_rate=0.15).fit(few, NOISY)
    assert (chosen.predict(few) == by_hand.predict(few)).all()


def test_leaf_values_follow_the_falling_penalty() -> None:
    """W = -G / (H + lambda), where lambda is the share of their first sum that hessians have."""
    y = NOISY > 1.0
    model = hb.GradientBoostingClassifier(n_estimators=12, learning_rate=0.5).fit(X, y)
    score = np.full(len(y), model.ensemble_.start[0])
    sums: list[float] = []
    for tree, leaf in zip(model.trees_, model.apply(X).T, strict=True):
        p = 1 / (1 + np.exp(-score))
        gradient, hessian = p - y, p * (1 - p)
        penalty = sums[-1] / sums[0] if sums else 1.0
        for node in np.unique(leaf):
            g, h = gradient[leaf == node].sum(), hessian[leaf == node].sum()
            assert tree.value[node, 0] == pytest.approx(-0.5 * g / (h + penalty), 1e-4, 1e-6)
        sums.append(hessian.sum())
        score = score + tree.value[leaf, 0]
    assert sums[-1] < 0.6 * sums[0]


def test_sure_classes_are_learnt_to_the_end() -> None:
    y = (X[:, 0] > 0) ^ (X[:, 1] > 0)
    losses = []
    settings: tuple[dict[str, Any], ...] = ({}, {"reg_lambda": 1.0})
    for chosen in settings:
        model = hb.GradientBoostingClassifier(**chosen).fit(X, y)
        right = model.predict_proba(X)[np.arange(len(y)), y.astype(int)]
        losses.append(-np.log(right).mean())
    assert losses[0] < 0.5 * losses[1]


@pytest.mark.parametrize("y", [CLASS, CLASS > 1], ids=["three classes", "two classes"])
def test_a_warm_start_goes_on_with_the_fallen_penalty(y: Any) -> None:
    model = hb.GradientBoostingClassifier(n_estimators=4, warm_start=True, random_state=0)
    model.fit(X, y).set_params(n_estimators=9).fit(X, y)
    at_once = hb.GradientBoostingClassifier(n_estimators=9, random_state=0).fit(X, y)
    assert model.digest() == at_once.digest()


def test_gains_count_the_penalty_of_their_tree() -> None:
    """The gain of a split by its definition, from the stored weights, values and lambda."""
    model = hb.GradientBoostingClassifier(n_estimators=8, learning_rate=1.0).fit(X, NOISY > 1.0)
    first = model.trees_[0].weight[0]
    fall = [1.0, *(min(1.0, tree.weight[0] / first) for tree in model.trees_[:-1])]
    for tree, penalty in zip(model.trees_, fall, strict=True):
        step = tree.value[:, 0]
        gain = 0.5 * step**2 * (tree.weight + penalty)  # G = -w (H + lambda)
        np.testing.assert_allclose(-tree.impurity * tree.weight, gain, rtol=1e-6, atol=1e-9)

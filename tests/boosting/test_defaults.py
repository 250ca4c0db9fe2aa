"""What "auto" stands for, and that the penalty falls with the hessians."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.boosting.defaults import (
    Settings,
    Shape,
    settle,
    usual_depth,
    usual_leaf,
    usual_levels,
    usual_share,
    usual_smooth,
)

RNG = np.random.default_rng(7)
X = RNG.normal(size=(300, 4))
NOISY = X[:, 0] + X[:, 1] ** 2 + RNG.normal(size=300)
CLASS = np.digitize(NOISY, [0.5, 1.5])


def shape(
    n_rows: int, n_cuts: int = 2000, task: str = "classification", n_features: int = 10, **more: int
) -> Shape:
    return Shape(n_rows, n_features, n_cuts, task, **more)


@pytest.mark.quick
@pytest.mark.parametrize(("n_rows", "leaf"), [(2, 1), (24, 3), (40, 5), (10**6, 5)])
def test_leaves_have_five_rows_unless_there_are_few(n_rows: int, leaf: int) -> None:
    assert usual_leaf(shape(n_rows)) == leaf


@pytest.mark.quick
@pytest.mark.parametrize(
    ("n_rows", "n_classes", "leaf"),
    [(160, 6, 2), (8, 6, 1), (634, 4, 3), (1000, 4, 5), (10**6, 26, 5), (160, 2, 5)],
)
def test_leaves_of_several_classes_follow_the_rows_of_a_class(
    n_rows: int, n_classes: int, leaf: int
) -> None:
    assert usual_leaf(shape(n_rows, n_classes=n_classes)) == leaf


@given(st.integers(2, 10**7), st.integers(1, 1000))
def test_leaves_are_always_small_enough_for_a_split(n_rows: int, n_classes: int) -> None:
    assert 1 <= usual_leaf(shape(n_rows, n_classes=n_classes)) <= n_rows / 2


@pytest.mark.quick
@pytest.mark.parametrize(
    ("table", "depth"),
    [
        (shape(1499), 4),
        (shape(1500), None),
        (shape(2999, n_classes=2), 4),
        (shape(3000, n_classes=2), None),
        (shape(1499, n_classes=10), 4),
        (shape(1500, n_classes=10), 5),
        (shape(2999, n_classes=10), 5),
        (shape(3000, n_classes=10), None),
        (shape(5000, n_classes=10), None),
        (shape(1499, 40), None),
        (shape(1499, n_features=400), 4),
        (shape(1499, n_features=401), None),
        (shape(1499, task="ranking"), 4),
        (shape(1499, task="regression"), 7),
        (shape(1500, task="regression"), None),
    ],
)
def test_depths(table: Shape, depth: int | None) -> None:
    assert usual_depth(table, 31) == depth


@pytest.mark.quick
def test_a_limit_of_depth_takes_no_leaves_from_who_allows_more() -> None:
    few = shape(1000)
    assert usual_depth(few, 31) == usual_depth(few, 2) == 4
    assert usual_depth(few, 32) is None
    assert usual_depth(few, None) is None


@pytest.mark.quick
@pytest.mark.parametrize(
    ("table", "levels"),
    [
        (shape(2999, n_classes=2), 4),
        (shape(3000, n_classes=2), 6),
        (shape(100, n_classes=3), 5),
        (shape(3000, n_classes=3), 6),
        (shape(100, n_features=401, n_classes=2), 6),
        (shape(100, task="regression"), 6),
        (shape(10**6, n_classes=2), 6),
    ],
)
def test_levels_of_symmetric_trees(table: Shape, levels: int) -> None:
    assert usual_levels(table) == levels


@pytest.mark.quick
@pytest.mark.parametrize(
    ("table", "share"),
    [
        (shape(4999), 0.4),
        (shape(5000), 1.0),
        (shape(4999, n_features=5), 1.0),
        (shape(4999, n_features=6), 0.4),
        (shape(4999, n_features=10**5), 0.4),
        (shape(4999, 64), 1.0),
        (shape(1919, 64), 0.4),
        (shape(800), 0.4),
        (shape(799, n_features=20), 0.15),
        (shape(799, n_features=8), 0.25),
        (shape(799, n_features=5), 1.0),
        (shape(799, task="regression"), 0.4),
    ],
)
def test_shares_of_features(table: Shape, share: float) -> None:
    assert usual_share(table) == share


@pytest.mark.quick
def test_categories_are_smoothed_less_where_rows_are_few() -> None:
    assert [usual_smooth(n_rows) for n_rows in (500, 5000, 9000, 10**4, 10**6)] == [
        1,
        10,
        18,
        20,
        20,
    ]


@pytest.mark.quick
def test_numbers_stay_as_they_are() -> None:
    numbers: dict[str, Any] = {
        "max_depth": 3,
        "min_samples_leaf": 7,
        "reg_lambda": 2.0,
        "colsample_bynode": 0.9,
        "category_smooth": 4.0,
    }
    table = shape(100, 50, "regression")
    given_numbers = settle(hb.GradientBoostingRegressor(**numbers), table)
    assert given_numbers == Settings("leaf", 3, 3, 7, 2.0, False, 0.9, 4.0)
    no_limit = settle(hb.GradientBoostingRegressor(max_depth=None), table)
    assert no_limit == Settings("leaf", None, None, 5, 1.0, True, 0.4, 0.2)
    assert settle(hb.GradientBoostingRegressor(), table).max_depth == 7


def test_default_settings_give_one_model_and_seeds_give_others() -> None:
    wide = RNG.normal(size=(300, 8))
    y = wide[:, 0] + wide[:, 1] * wide[:, 2]
    digests = {hb.GradientBoostingRegressor(n_estimators=5).fit(wide, y).digest() for _ in "ab"}
    assert len(digests) == 1
    for seed in (1, 2):
        seeded = hb.GradientBoostingRegressor(n_estimators=5, random_state=seed)
        digests.add(seeded.fit(wide, y).digest())
    assert len(digests) == 3
    asked = hb.GradientBoostingRegressor(n_estimators=5, colsample_bynode=0.4)
    assert len({asked.fit(wide, y).digest() for _ in "abc"}) > 1


def test_trees_of_few_rows_are_short_and_ask_different_features() -> None:
    wide = RNG.normal(size=(600, 8))
    y = wide.sum(axis=1) + RNG.normal(size=600) > 0.0
    model = hb.GradientBoostingClassifier(n_estimators=20).fit(wide, y)
    assert model.colsample_bynode_ < 1.0
    assert max(tree.max_depth for tree in model.trees_) == 4
    assert len({tree.feature[0] for tree in model.trees_}) > 1
    no_draws = hb.GradientBoostingClassifier(n_estimators=5, colsample_bynode=1.0).fit(wide, y)
    assert {tree.feature[0] for tree in no_draws.trees_[:3]} == {0}


@pytest.mark.parametrize(
    "name",
    [
        "learning_rate",
        "max_depth",
        "min_samples_leaf",
        "reg_lambda",
        "colsample_bynode",
        "category_smooth",
    ],
)
def test_other_words_are_refused(name: str) -> None:
    wrong: dict[str, Any] = {name: "automatic"}
    with pytest.raises(ValueError, match=name):
        hb.GradientBoostingRegressor(**wrong).fit(X, NOISY)


def test_a_regression_is_that_of_the_numbers() -> None:
    by_hand: dict[str, Any] = {
        "max_depth": 7,
        "min_samples_leaf": 5,
        "reg_lambda": 1.0,
    }
    chosen = hb.GradientBoostingRegressor(n_estimators=5).fit(X, NOISY)
    by_hand["learning_rate"] = chosen.learning_rate_
    given_numbers = hb.GradientBoostingRegressor(n_estimators=5, **by_hand).fit(X, NOISY)
    assert (chosen.predict(X) == given_numbers.predict(X)).all()


def test_cuts_of_a_table_count_for_the_depth() -> None:
    """Three values in each of four columns can be cut in eight places."""
    few = np.digitize(X, [-0.5, 0.5]).astype(float)
    chosen = hb.GradientBoostingClassifier(n_estimators=1, learning_rate=0.1).fit(few, CLASS)
    by_hand = hb.GradientBoostingClassifier(n_estimators=1, learning_rate=0.1, max_depth=None)
    assert chosen.digest() == by_hand.fit(few, CLASS).digest()


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

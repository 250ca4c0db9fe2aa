"""Monotone constraints hold for what trees and forests predict, whatever they are grown by."""

from __future__ import annotations

import numpy as np
import pytest

import hornbeam as hb


def own_variance(weight, total, squares):
    return squares / weight - (total / weight) ** 2


def own_gini(counts, weight):
    impurity = 1.0
    for count in counts:
        impurity -= (count / weight) ** 2
    return impurity


REGRESSION = ["squared_error", "friedman_mse", "absolute_error", "poisson", own_variance]
CLASSIFICATION = ["gini", "entropy", "log_loss", "misclassification", own_gini]
WAYS = [
    {"finder": finder, "splitter": splitter, "growth": growth}
    for finder, splitter, growth in [
        ("exact", "best", "depth"),
        ("exact", "random", "level"),
        ("histogram", "best", "leaf"),
        ("histogram", "best", "level"),
        ("histogram", "random", "depth"),
    ]
]


def table(seed):
    """A small table full of ties, or of none; with or without missing values and weights."""
    rng = np.random.default_rng(seed)
    n_rows, n_columns = int(rng.integers(4, 50)), int(rng.integers(1, 4))
    shape = n_rows, n_columns
    X = rng.normal(size=shape) if seed % 2 else rng.integers(0, 8, shape).astype(float)
    if seed % 3 == 0:
        X[rng.random(shape) < 0.2] = np.nan
        X[0] = 0.0
    y = np.abs(rng.normal(size=n_rows)) if seed % 5 < 2 else rng.integers(0, 5, n_rows) + 0.0
    y[:2] = 0.0, 1.0
    weight = [None, rng.random(n_rows) + 0.1, rng.integers(1, 4, n_rows)][seed % 7 % 3]
    directions = rng.integers(-1, 2, n_columns)
    directions[rng.integers(n_columns)] = rng.choice([-1, 1])
    return X, y, weight, directions


def falls(answer, X, directions):
    """By how much answers go the wrong way, at most, while one constrained column rises."""
    worst = 0.0
    for column in np.flatnonzero(directions):
        known = np.unique(X[~np.isnan(X[:, column]), column])
        steps = np.concatenate([[known[0] - 1], known, (known[1:] + known[:-1]) / 2])
        steps.sort()
        rows = np.repeat(X[:12], len(steps), axis=0)
        rows[:, column] = np.tile(steps, len(X[:12]))
        found = answer(rows).reshape(-1, len(steps))
        worst = max(worst, (-directions[column] * np.diff(found, axis=1)).max())
    return worst


def check(model, y, X, weight, directions):
    model.fit(X, y, sample_weight=weight)
    answer = model.predict
    if hasattr(model, "predict_proba"):

        def answer(rows):
            return model.predict_proba(rows)[:, 1]

    assert falls(answer, X, directions) <= 0.0


@pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(way.values()))
@pytest.mark.parametrize("criterion", REGRESSION)
def test_regression_trees_keep_the_directions(criterion, way):
    for seed in range(30):
        X, y, weight, directions = table(seed)
        model = hb.DecisionTreeRegressor(
            criterion=criterion,
            monotonic_cst=directions,
            min_samples_leaf=1 + seed % 2,
            ccp_alpha=0.01 * (seed % 4 == 0),
            random_state=seed,
            **way,
        )
        check(model, y, X, weight, directions)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(way.values()))
@pytest.mark.parametrize("criterion", CLASSIFICATION)
def test_classification_trees_keep_the_directions(criterion, way):
    for seed in range(20):
        X, y, weight, directions = table(seed)
        model = hb.DecisionTreeClassifier(
            criterion=criterion, monotonic_cst=directions, random_state=seed, **way
        )
        check(model, y > np.median(y[2:]), X, weight, directions)


@pytest.mark.parametrize("criterion", REGRESSION)
@pytest.mark.parametrize("model", [hb.RandomForestRegressor, hb.ExtraTreesRegressor])
def test_regression_forests_keep_the_directions(model, criterion):
    for seed in range(15):
        X, y, weight, directions = table(seed)
        forest = model(
            n_estimators=4, criterion=criterion, monotonic_cst=directions, random_state=seed
        )
        y[0] += y.max()  # every bag of Poisson counts has some
        check(forest, y + 0.01, X, weight, directions)


@pytest.mark.parametrize("criterion", CLASSIFICATION)
@pytest.mark.parametrize("model", [hb.RandomForestClassifier, hb.ExtraTreesClassifier])
def test_classification_forests_keep_the_directions(model, criterion):
    for seed in range(15):
        X, y, weight, directions = table(seed)
        forest = model(
            n_estimators=4, criterion=criterion, monotonic_cst=directions, random_state=seed
        )
        check(forest, y > np.median(y[2:]), X, weight, directions)


@pytest.mark.quick
def test_the_middle_of_two_medians_is_bounded_not_the_lower_one():
    X, y = np.arange(4.0)[:, None], [3.0, 0.0, 0.0, 1.0]
    model = hb.DecisionTreeRegressor(criterion="absolute_error", monotonic_cst=[1])
    assert model.fit(X, y).predict(X).tolist() == [0.0, 0.0, 0.0, 1.0]
    mirrored = hb.DecisionTreeRegressor(criterion="absolute_error", monotonic_cst=[-1])
    assert mirrored.fit(-X, y).predict(-X).tolist() == [0.0, 0.0, 0.0, 1.0]

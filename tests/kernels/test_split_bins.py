"""The searches of bins find what the general search finds."""

from __future__ import annotations

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.kernels.split import search_number
from hornbeam.kernels.split_random import search_random_number
from hornbeam.tree import grower, steps


def _table(seed, n_rows, n_classes):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 6)).round(random.integers(0, 3))
    X[:, 4] = X[:, 4] > 0  # two codes
    X[:, 5] = X[:, 5] > 1.5  # few ones
    if seed % 2:
        X[random.random(X.shape) < 0.1] = np.nan
    y = random.integers(0, n_classes, n_rows)
    y[X[:, 0] > 0.3] = 0
    weight = (None, random.integers(1, 4, n_rows), random.integers(2, 7, n_rows) / 4)[seed % 3]
    return X, y, weight


def _digests(monkeypatch, make, X, y, weight):
    """Digests of the model with special searches, those of one feature, and general ones."""
    special = make().fit(X, y, sample_weight=weight).digest()
    monkeypatch.setattr(grower, "search_together", lambda criterion, rules, problem: None)
    single = make().fit(X, y, sample_weight=weight).digest()
    monkeypatch.setattr(steps, "_number_search", _general)
    monkeypatch.setattr(steps, "_category_search", _general_categories)
    general = make().fit(X, y, sample_weight=weight).digest()
    monkeypatch.undo()
    return {special, single, general}


def _general(criterion, rules, problem):
    return search_random_number if rules.random_cuts else search_number


def _general_categories(criterion, rules, special):
    return steps.general_category_search(rules.random_cuts, rules.category_split)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("splitter", ["best", "random"])
def test_class_searches_are_the_general_one(monkeypatch, criterion, n_classes, splitter):
    for seed in range(12):
        X, y, weight = _table(seed, 40 + 60 * seed, n_classes)

        def make(seed=seed):
            return hb.DecisionTreeClassifier(
                criterion=criterion,
                splitter=splitter,
                finder="histogram",
                max_features=None if seed % 4 else 3,
                min_samples_leaf=1 + seed % 3,
                random_state=seed,
            )

        assert len(_digests(monkeypatch, make, X, y, weight)) == 1, seed


@pytest.mark.parametrize("criterion", ["squared_error", "friedman_mse"])
@pytest.mark.parametrize("splitter", ["best", "random"])
def test_moment_searches_are_the_general_one(monkeypatch, criterion, splitter):
    for seed in range(12):
        X, y, weight = _table(seed, 40 + 60 * seed, 7)
        if weight is not None:
            weight = np.ceil(weight)  # whole numbers add up to the same sum in any order

        def make(seed=seed):
            return hb.DecisionTreeRegressor(
                criterion=criterion,
                splitter=splitter,
                finder="histogram",
                min_samples_leaf=1 + seed % 3,
                random_state=seed,
            )

        assert len(_digests(monkeypatch, make, X, y, weight)) == 1, seed


@pytest.mark.parametrize("estimator", [hb.DecisionTreeClassifier, hb.DecisionTreeRegressor])
def test_monotone_constraints_are_kept_in_bins(monkeypatch, estimator):
    for seed in range(0, 12, 2):
        X, y, _ = _table(seed, 300, 2)

        def make():
            return estimator(finder="histogram", monotonic_cst=[1, -1, 0, 0, 1, 0], max_depth=6)

        assert len(_digests(monkeypatch, make, X, y, None)) == 1, seed


@pytest.mark.parametrize("finder", ["exact", "histogram"])
def test_every_place_is_drawn_as_often_as_its_gap_is_wide(finder):
    X = np.array([[0.0], [1.0], [2.0], [6.0]] * 5)
    y = np.arange(20) % 4
    cuts = []
    for seed in range(600):
        stump = hb.DecisionTreeClassifier(
            splitter="random", finder=finder, max_depth=1, random_state=seed
        ).fit(X, y)
        cuts.append(np.searchsorted([0.0, 1.0, 2.0, 6.0], stump.tree_.threshold[0]))
    shares = np.bincount(cuts, minlength=4)[1:] / 600
    np.testing.assert_allclose(shares, [1 / 6, 1 / 6, 4 / 6], atol=0.06)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("forest", [hb.RandomForestClassifier, hb.ExtraTreesClassifier])
def test_searches_of_categories_are_the_general_one(monkeypatch, forest, n_classes):
    for seed in range(8):
        X, y, weight = _table(seed, 60 + 60 * seed, n_classes)
        random = np.random.default_rng(seed)
        X[:, 0] = random.integers(0, 30, len(X))
        X[:, 3] = random.integers(0, 4, len(X))

        def make(seed=seed):
            return forest(
                n_estimators=3,
                categorical_features=[0, 3],
                min_samples_leaf=1 + seed % 2,
                random_state=seed,
            )

        assert len(_digests(monkeypatch, make, X, y, weight)) == 1, seed


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_categories_that_differ_are_parted_by_their_shares(monkeypatch, n_classes, weighted):
    """Large nodes, where categories are cut in the order of their shares: it is never made."""
    for seed in range(4):
        random = np.random.default_rng(seed)
        X = random.integers(0, [3, 12, 100, 255], (4000, 4)).astype(float)
        if seed % 2:
            X[random.random(X.shape) < 0.05] = np.nan
        y = (X[:, 1] > 7) + (X[:, 2] % 3 > 1) + random.integers(0, 3, 4000)
        weight = random.integers(1, 4, 4000) if weighted else None

        def make(seed=seed):
            return hb.ExtraTreesClassifier(
                n_estimators=3,
                categorical_features=[0, 1, 2, 3],
                max_features=None,
                min_samples_leaf=20,
                random_state=seed,
            )

        assert len(_digests(monkeypatch, make, X, y % n_classes, weight)) == 1, seed


@pytest.mark.parametrize("criterion", ["squared_error", "friedman_mse", "poisson"])
@pytest.mark.parametrize("forest", [hb.RandomForestRegressor, hb.ExtraTreesRegressor])
def test_searches_of_categories_by_values_are_the_general_one(monkeypatch, forest, criterion):
    for seed in range(8):
        X, y, _ = _table(seed, 60 + 60 * seed, 9)
        random = np.random.default_rng(seed)
        X[:, 0] = random.integers(0, 30, len(X))
        X[:, 3] = random.integers(0, 4, len(X))
        y = y + 3.0 * (X[:, 3] == 2)
        # No sum is rounded: y log y is 0 for zeros and ones, or whole numbers have the mean 0.
        if criterion == "poisson":
            y = (y > 3).astype(float)
        else:
            y[-1] -= y.sum()

        def make(seed=seed):
            return forest(
                n_estimators=3,
                criterion=criterion,
                categorical_features=[0, 3],
                min_samples_leaf=1 + seed % 2,
                max_features=1.0 if seed % 3 else 0.5,
                random_state=seed,
            )

        assert len(_digests(monkeypatch, make, X, y, None)) == 1, seed


@pytest.mark.parametrize("forest", [hb.RandomForestClassifier, hb.ExtraTreesClassifier])
def test_many_columns_of_zeros_and_ones_are_counted_side_by_side(monkeypatch, forest):
    random = np.random.default_rng(3)
    X = (random.random((900, 70)) < random.random(70) * 0.4).astype(float)
    X[:, 7] = random.normal(size=900)
    X[::50, 11] = np.nan
    y = (X[:, :9].sum(axis=1) + (X[:, 7] > 0) * 2).astype(int) % 3

    def make():
        return forest(n_estimators=4, random_state=0)

    heavy = np.where(np.arange(900) % 2, 1.0, 40.0)  # too heavy for lanes of a byte
    for weight in (None, random.integers(1, 9, 900), heavy):
        assert len(_digests(monkeypatch, make, X, y, weight)) == 1


def test_a_large_node_overflows_no_lane(monkeypatch):
    random = np.random.default_rng(4)
    X = random.integers(0, 2, (3000, 3)).astype(float)
    X[:100, 0] = np.nan
    y = random.integers(0, 2, 3000)

    def make():
        return hb.ExtraTreesClassifier(n_estimators=2, max_features=None, random_state=0)

    assert len(_digests(monkeypatch, make, X, y, None)) == 1

"""Nodes of few rows that grow as sets of bits are those of the driver."""

from __future__ import annotations

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.kernels.lanes import BLOCK_LANES
from hornbeam.tree import steps


def _table(seed, n_rows, n_classes, with_missing):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 20)).round(2)
    X[:, 1] = X[:, 1] > 1.0
    X[:, 2] = random.integers(0, 4, n_rows)
    X[:, 3] = random.integers(0, 200, n_rows)  # more categories than a word has bits
    X[:, 4] = 7.0  # no choice
    if with_missing:
        X[random.random(X.shape) < 0.1] = np.nan
    y = random.integers(0, n_classes, n_rows)
    y[X[:, 0] > 0.5] = 0
    y[X[:, 2] == 1] = 1
    return X, y


def _without_blocks(monkeypatch, make, X, y):
    """Digest of the model that is grown node by node."""
    with monkeypatch.context() as patch:
        patch.setattr(steps, "grows_blocks", lambda criterion, rules, codes, problem: False)
        return make().fit(X, y).digest()


@pytest.mark.parametrize("with_missing", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 30])
@pytest.mark.parametrize("categories", [[], [2, 3]])
def test_blocks_grow_what_the_loop_grows(monkeypatch, categories, n_classes, with_missing):
    for seed in range(6):
        n_rows = (5, BLOCK_LANES, BLOCK_LANES + 1, 300, 1000, 3000)[seed]
        X, y = _table(seed, n_rows, n_classes, with_missing)

        def make(seed=seed):
            return hb.ExtraTreesClassifier(
                n_estimators=3,
                categorical_features=categories or "from_dtype",
                max_features=(None, "sqrt", 1)[seed % 3],
                min_samples_split=2,
                random_state=seed,
            )

        assert make().fit(X, y).digest() == _without_blocks(monkeypatch, make, X, y), seed


@pytest.mark.parametrize(
    "rules",
    [
        {"criterion": "entropy"},
        {"criterion": "misclassification"},
        {"min_samples_leaf": 3},
        {"min_samples_split": 20},
        {"min_weight_fraction_leaf": 0.004},
        {"min_impurity_decrease": 1e-3},
        {"max_depth": 6},
        {"growth": "level"},
        {"max_leaf_nodes": 50},
        {"max_features": 3},
    ],
)
def test_blocks_keep_the_rules_of_growth(monkeypatch, rules):
    X, y = _table(1, 1000, 4, True)

    def make():
        return hb.DecisionTreeClassifier(
            splitter="random", finder="histogram", random_state=0, **rules
        )

    assert make().fit(X, y).digest() == _without_blocks(monkeypatch, make, X, y)


def test_blocks_are_used_where_they_can_be(monkeypatch):
    """Random cuts by classes of rows that weigh 1 each: otherwise the tests above say nothing."""
    asked = []
    grows = steps.grows_blocks

    def ask(*args):
        asked.append(grows(*args))
        return asked[-1]

    monkeypatch.setattr(steps, "grows_blocks", ask)
    X, y = _table(0, 200, 2, False)
    hb.ExtraTreesClassifier(n_estimators=1, min_samples_split=2).fit(X, y)
    hb.RandomForestClassifier(n_estimators=1, min_samples_split=2).fit(X, y)
    hb.ExtraTreesClassifier(n_estimators=1, min_samples_split=2, max_leaf_nodes=9).fit(X, y)
    assert asked == [True, False, False]


@pytest.mark.parametrize("criterion", ["squared_error", "friedman_mse", "poisson"])
@pytest.mark.parametrize("with_missing", [False, True])
@pytest.mark.parametrize("categories", [[], [2, 3]])
def test_blocks_of_values_grow_what_the_loop_grows(
    monkeypatch, categories, with_missing, criterion
):
    """Whole numbers are summed without rounding, and no bin holds more than one value."""
    for seed in range(6):
        n_rows = (5, BLOCK_LANES, BLOCK_LANES + 1, 300, 1000, 3000)[seed]
        X, y = _table(seed, n_rows, 30, with_missing)
        X[:, :3] = (2 * X[:, :3]).round()
        X[:, 5:] = X[:, 5:].round(1)
        random = np.random.default_rng(seed)
        weight = random.integers(1, 4, n_rows) if seed % 2 else None

        def make(seed=seed):
            return hb.ExtraTreesRegressor(
                n_estimators=3,
                criterion=criterion,
                categorical_features=categories or "from_dtype",
                max_features=(None, 0.5, 1)[seed % 3],
                min_samples_split=2,
                min_samples_leaf=1 + seed % 2,
                random_state=seed,
            )

        y = y if criterion != "poisson" else 2.0**y  # logarithms are rounded, but not these
        with monkeypatch.context() as patch:
            patch.setattr(steps, "grows_blocks", lambda criterion, rules, codes, problem: False)
            expected = make().fit(X, y, weight)
        found = make().fit(X, y, weight)
        assert found.store_.n_nodes == expected.store_.n_nodes, seed
        assert np.array_equal(found.apply(X), expected.apply(X)), seed
        assert np.allclose(found.predict(X), expected.predict(X), rtol=1e-12), seed


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("with_missing", [False, True])
def test_small_nodes_cut_between_values_that_share_a_bin(dtype, with_missing):
    """A table of one block is grown as by exact cuts, however coarse its bins are."""
    random = np.random.default_rng(0)
    for seed in range(10):
        X = random.normal(size=(BLOCK_LANES, 3)).astype(dtype)
        if with_missing:
            X[random.choice(BLOCK_LANES, 3, replace=False), [0, 1, 2]] = np.nan
        y = random.integers(0, 1000, BLOCK_LANES)
        coarse, exact = (
            hb.ExtraTreesRegressor(
                n_estimators=3, max_features=1.0, min_samples_split=2, random_state=seed, **finder
            ).fit(X, y)
            for finder in ({"max_bins": 4}, {"finder": "exact"})
        )
        assert np.array_equal(coarse.apply(X), exact.apply(X))
        points = random.normal(size=(500, 3)).astype(dtype)
        assert coarse.predict(points).tobytes() == exact.predict(points).tobytes()


def test_rows_that_share_every_bin_are_told_apart():
    """What 255 bins of 4,000 values cannot: a tree ends with a row in each leaf."""
    x = np.random.default_rng(0).permutation(4_000)[:, None].astype(float)
    forest = hb.ExtraTreesRegressor(n_estimators=2, min_samples_split=2, random_state=0)
    assert np.array_equal(forest.fit(x, x[:, 0]).predict(x), x[:, 0])


def test_room_for_the_category_sets_of_blocks_is_made():
    """Every split asks for a set of four words, and the first room is for fewer."""
    random = np.random.default_rng(0)
    X, y = random.integers(0, 250, (20_000, 3)), random.integers(0, 2, 20_000)
    forest = hb.ExtraTreesClassifier(
        n_estimators=2, categorical_features=[0, 1, 2], min_samples_split=2, random_state=0
    ).fit(X, y)
    assert forest.store_.n_nodes > 20_000
    assert forest.score(X, y) > 0.99

"""Of equally good features the lowest wins, whichever way their sums are rounded."""

from __future__ import annotations

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.kernels.split import SMALL_ROWS

REGRESSION = ["squared_error", "friedman_mse", "poisson", "absolute_error"]
CLASSIFICATION = ["gini", "entropy", "misclassification"]


def rich_tables(n_tables, n_rows=None):
    """Columns, then all of them mirrored or stretched: these part the rows alike.

    With targets far from zero or near it, rounded or not, and real weights or none.
    """
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        shape = n_rows or int(rng.integers(3, 40)), int(rng.integers(1, 4))
        X = rng.normal(size=shape) if seed % 2 else rng.integers(0, 9, shape).astype(float)
        y = rng.normal(size=shape[0]) + (0.0, 3.0, 100.0)[seed % 3]
        y = y.round(1) if seed % 5 < 2 else y
        weight = rng.random(shape[0]) + 0.05 if seed % 4 < 2 else None
        order = rng.permutation(shape[1])
        yield X, np.hstack([X, -X, np.exp(X / 10)[:, order], X]), y, weight


def check(model, y, X, rich, weight):
    """The copies change nothing: no node asks for one."""
    few = model.fit(X, y, weight).tree_.digest()
    many = model.fit(rich, y, weight).tree_
    assert many.feature.max() < X.shape[1]
    assert many.digest() == few


@pytest.mark.parametrize("finder", ["exact", "histogram"])
@pytest.mark.parametrize("criterion", REGRESSION)
def test_mirrored_columns_do_not_change_a_regression_tree(criterion, finder):
    for X, rich, y, weight in rich_tables(40):
        model = hb.DecisionTreeRegressor(criterion=criterion, finder=finder)
        check(model, np.abs(y) if criterion == "poisson" else y, X, rich, weight)


@pytest.mark.parametrize("finder", ["exact", "histogram"])
@pytest.mark.parametrize("criterion", CLASSIFICATION)
def test_mirrored_columns_do_not_change_a_classification_tree(criterion, finder):
    for X, rich, y, weight in rich_tables(40):
        model = hb.DecisionTreeClassifier(criterion=criterion, finder=finder)
        check(model, np.digitize(y - y.mean(), [-0.5, 0.5]), X, rich, weight)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "gini"])
def test_large_nodes_take_the_lowest_feature_too(criterion, n_jobs):
    """More rows than one thread searches alone; several outputs as well."""
    for X, rich, y, weight in rich_tables(6, n_rows=2 * SMALL_ROWS):
        if criterion == "gini":
            model: object = hb.DecisionTreeClassifier(max_depth=4, n_jobs=n_jobs)
            check(model, np.digitize(y - y.mean(), [-0.5, 0.5]), X, rich, weight)
            continue
        model = hb.DecisionTreeRegressor(criterion=criterion, max_depth=4, n_jobs=n_jobs)
        check(model, y, X, rich, weight)
        if criterion == "squared_error":
            check(model, np.column_stack([y, y[::-1]]), X, rich, weight)


def test_the_threads_of_a_large_node_agree():
    """Nearly equal columns, in every order: the tree does not depend on who finds what."""
    rng = np.random.default_rng(1)
    y = rng.normal(size=3_000)
    base = y + rng.normal(size=3_000)
    rich = np.column_stack([-base, base, np.arctan(base), -np.arctan(base), rng.normal(size=3_000)])
    for order in (np.arange(5), np.arange(5)[::-1], np.array([4, 2, 0, 1, 3])):
        fits = [
            hb.DecisionTreeRegressor(max_depth=6, n_jobs=n).fit(rich[:, order], y) for n in (1, 2)
        ]
        assert fits[0].digest() == fits[1].digest()
        informative = set(np.flatnonzero(order != 4))
        assert set(fits[0].tree_.feature[:3]) <= {min(informative), *np.flatnonzero(order == 4)}


@pytest.mark.quick
def test_three_rows_that_two_columns_part_alike():
    X, y = [[0, 0], [1, -1], [2, -2]], [0.2, -0.5, -0.4]
    assert hb.DecisionTreeRegressor().fit(X, y).tree_.feature[0] == 0


@pytest.mark.quick
@pytest.mark.parametrize("larger", [0, 1])
def test_features_that_differ_by_more_than_rounding_are_told_apart(larger):
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    y = np.array([0.0, 0.5, 0.5, 1.0])
    y[2 - larger] += 1e-9  # the column that has this row on the side of the last one gains more
    assert hb.DecisionTreeRegressor().fit(X, y).tree_.feature[0] == larger

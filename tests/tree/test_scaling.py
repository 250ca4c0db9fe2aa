"""Targets in any units: the tree of y * 2^k + c is the tree of y."""

from __future__ import annotations

import numpy as np
import pytest

import hornbeam as hb

CRITERIA = ["squared_error", "friedman_mse", "absolute_error"]


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + 0.3 * rng.normal(size=n)


def assert_same_questions(one, other):
    for name in ("first_child", "feature", "threshold", "n_samples"):
        ours, theirs = getattr(one.tree_, name), getattr(other.tree_, name)
        np.testing.assert_array_equal(ours, theirs, err_msg=name)


@pytest.mark.quick
@pytest.mark.parametrize("criterion", [*CRITERIA, "poisson"])
@pytest.mark.parametrize("exponent", [-1000, -100, -30, 40, 600, 1000])
def test_units_do_not_change_the_tree(criterion, exponent):
    X, y = table()
    y = np.exp(y) if criterion == "poisson" else y
    plain = hb.DecisionTreeRegressor(criterion=criterion, min_samples_leaf=5).fit(X, y)
    scaled = hb.DecisionTreeRegressor(criterion=criterion, min_samples_leaf=5)
    scaled.fit(X, np.ldexp(y, exponent))
    assert_same_questions(plain, scaled)
    assert scaled.predict(X) == pytest.approx(np.ldexp(plain.predict(X), exponent), rel=1e-12)


@pytest.mark.quick
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("size", [1e200, 1e-30, 1e-300, 1e300])
def test_extreme_targets_are_no_constant(criterion, size):
    X, y = table()
    tree = hb.DecisionTreeRegressor(criterion=criterion).fit(X, size * y)
    assert tree.predict(X) == pytest.approx(size * y, rel=1e-12)


@pytest.mark.quick
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("offset, spread", [(1e9, 2.0**-20), (-1e12, 2.0**-9), (1e15, 1.0)])
def test_a_small_spread_beside_a_large_mean_is_seen(criterion, offset, spread):
    """Whole multiples of the spread, so that adding the offset loses nothing."""
    X, y = table()
    y = np.round(20 * y)
    shifted = hb.DecisionTreeRegressor(criterion=criterion, min_samples_leaf=5)
    shifted.fit(X, offset + spread * y)
    plain = hb.DecisionTreeRegressor(criterion=criterion, min_samples_leaf=5).fit(X, y)
    assert shifted.get_n_leaves() == plain.get_n_leaves() > 5
    assert (shifted.predict(X) - offset) / spread == pytest.approx(plain.predict(X), abs=0.3)


@pytest.mark.quick
def test_several_outputs_with_a_small_spread_each():
    X, y = table()
    y = np.column_stack([1e9 + np.round(20 * y) * 2.0**-20, -1e8 + np.round(9 * y) * 2.0**-20])
    tree = hb.DecisionTreeRegressor().fit(X, y)
    np.testing.assert_array_equal(tree.predict(X), y)


@pytest.mark.quick
def test_constant_targets_stay_what_they_are():
    X, _ = table()
    for value in (0.1, 1e9 + 0.1, 1e-300, 1e300, -7.0, 0.0):
        tree = hb.DecisionTreeRegressor().fit(X, np.full(len(X), value))
        assert tree.get_n_leaves() == 1
        assert tree.predict(X[:1])[0] == pytest.approx(value, rel=1e-15)


@pytest.mark.quick
def test_min_impurity_decrease_is_in_the_users_units():
    X, y = table()
    plain = hb.DecisionTreeRegressor(min_impurity_decrease=0.01).fit(X, y)
    scaled = hb.DecisionTreeRegressor(min_impurity_decrease=np.ldexp(0.01, -120))
    scaled.fit(X, np.ldexp(y, -60))
    assert_same_questions(plain, scaled)
    assert plain.get_n_leaves() > 2
    assert scaled.tree_.impurity == pytest.approx(np.ldexp(plain.tree_.impurity, -120), rel=1e-9)

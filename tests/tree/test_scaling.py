"""Targets in any units: the tree of y * 2^k + c is the tree of y."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import r2_score

import hornbeam as hb
from hornbeam.tree.scaling import Totals, scaled_r2

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


@pytest.mark.quick
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("size", [1e200, 1e306, 1.7e308])
def test_importances_do_not_depend_on_units(criterion, size):
    """The squares of such targets are beyond all numbers, their importances are not."""
    X, y = table()
    y /= np.abs(y).max()
    for n_outputs in (1, 2):
        Y = y if n_outputs == 1 else np.column_stack([y, X[:, 1] / 10])
        tree = hb.DecisionTreeRegressor(criterion=criterion, max_depth=5)
        expected = tree.set_params(ccp_alpha=0.0).fit(X, Y).feature_importances_
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = tree.set_params(ccp_alpha=0.1).fit(X, size * Y).feature_importances_
        assert found == pytest.approx(expected, rel=1e-9)
        assert np.isfinite(tree.predict(X)).all()


@pytest.mark.quick
def test_means_of_numbers_near_the_largest_one():
    rng = np.random.default_rng(0)
    members = [rng.choice([-1.7e308, 1.7e308, 5.0], 30) for _ in range(7)]
    totals = Totals((30,))
    totals.add(np.ones(10), slice(10))
    for member in members:
        totals.add(member)
    exact = [Fraction(i < 10) + sum(Fraction(float(m[i])) for m in members) for i in range(30)]
    count = np.where(np.arange(30) < 10, 8, 7)
    expected = [float(total / int(n)) for total, n in zip(exact, count, strict=True)]
    assert totals.mean(count) == pytest.approx(expected, rel=1e-12)


@pytest.mark.quick
def test_means_of_everyday_numbers_are_plain_sums_over_counts():
    members = np.random.default_rng(1).normal(size=(9, 40))
    totals, total = Totals((40,)), np.zeros(40)
    for member in members:
        totals.add(member)
        total += member
    np.testing.assert_array_equal(totals.mean(9), total / 9)
    assert np.isnan(Totals((1,)).mean(np.zeros(1)))[0]
    infinite = Totals((2,))
    infinite.add(np.array([np.inf, 1.0]))
    assert infinite.mean(1).tolist() == [np.inf, 1.0]


@pytest.mark.quick
def test_r2_does_not_depend_on_units():
    rng = np.random.default_rng(2)
    y, w = rng.normal(size=(50, 2)), rng.random(50)
    found = y + rng.normal(size=(50, 2))
    expected = r2_score(y, found, sample_weight=w)
    assert scaled_r2(y, found, w) == expected
    for exponent in (-900, 900):
        scaled = [np.ldexp(values, [exponent, 0]) for values in (y, found)]
        assert scaled_r2(*scaled, w) == pytest.approx(expected, rel=1e-12)

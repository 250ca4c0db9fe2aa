"""The upper limit of a leaf's errors against the exact binomial limit, and pruning by it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom

import hornbeam as hb
from hornbeam.tree.pruning.pessimistic import error_limits, prune_by_limit, upper_errors


def exact_limit(errors, n, confidence):
    """Errors at the rate with which as few errors come up with that probability (Clopper)."""
    return n * beta.ppf(1.0 - confidence, errors + 1, n - errors)


@pytest.mark.quick
def test_no_errors_is_the_exact_binomial_limit():
    n = np.arange(1, 200)
    limit = upper_errors(0, n, 0.25)
    assert binom.cdf(0, n, limit / n) == pytest.approx(0.25)


@pytest.mark.quick
@pytest.mark.parametrize("confidence", [0.05, 0.1, 0.25, 0.4])
def test_whole_errors_are_close_to_the_exact_limit(confidence):
    """Measured: the normal approximation is off by at most 0.11 errors at Quinlan's 0.25.

    It is worst for one error among many rows, and worse the further from 0.25.
    """
    most = {0.05: 0.53, 0.1: 0.21, 0.25: 0.11, 0.4: 0.18}[confidence]
    for n in (1, 2, 3, 6, 10, 14, 30, 100, 1000):
        errors = np.arange(n)
        away = np.abs(upper_errors(errors, n, confidence) - exact_limit(errors, n, confidence))
        assert away.max() < most


@pytest.mark.quick
def test_numbers_of_quinlans_book():
    """U25%(0, 6) = 0.206, (0, 9) = 0.143, (0, 1) = 0.750; (1, 16) = 0.157 by the exact limit."""
    rates = upper_errors([0, 0, 0], [6, 9, 1], 0.25) / [6, 9, 1]
    assert rates.round(3).tolist() == [0.206, 0.143, 0.75]
    assert float(upper_errors(1, 16, 0.25)) / 16 == pytest.approx(0.157, abs=0.003)


@settings(max_examples=200, deadline=None)
@given(
    st.floats(0.01, 1e6),
    st.floats(0, 1),
    st.floats(0, 1),
    st.floats(0.001, 0.5),
    st.floats(0.001, 0.5),
)
def test_the_limit_is_between_the_errors_and_all_rows_and_grows(n, one, two, tight, loose):
    low, high = sorted((one * n, two * n))
    tight, loose = sorted((tight, loose))
    limits = upper_errors([low, high], n, tight)
    assert low <= limits[0] <= n and high <= limits[1] <= n
    if n >= 1:
        assert limits[0] <= limits[1] + 1e-9 * n  # more errors, a higher limit
        assert upper_errors(low, n, loose) <= limits[0] + 1e-9 * n  # more confident, lower


@pytest.mark.quick
def test_nothing_has_no_errors():
    assert upper_errors(0.0, 0.0) == 0.0
    assert upper_errors([], []).shape == (0,)
    assert upper_errors(np.zeros((2, 1)), np.ones(3)).shape == (2, 3)


@pytest.mark.mission("T10")
@pytest.mark.quick
def test_pruning_never_raises_the_pessimistic_estimate():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(0, 8, (80, 3)).astype(float), rng.integers(0, 3, 80)
        tree = hb.DecisionTreeClassifier().fit(X, y).tree_
        for confidence in (0.05, 0.25, 0.5):
            pruned = prune_by_limit(tree, [3], confidence)
            before, after = (error_limits(t, [3], confidence) for t in (tree, pruned))
            assert after[pruned.is_leaf].sum() <= before[tree.is_leaf].sum() + 1e-9
            for node in np.flatnonzero(~pruned.is_leaf):  # no cut would still be free
                below = _leaves_below(pruned, node)
                assert after[node] > after[below].sum()


def _leaves_below(tree, node):
    below = {node}
    for child in range(node + 1, tree.node_count):
        if int(tree.parent[child]) in below:
            below.add(child)
    return [n for n in below if tree.is_leaf[n]]

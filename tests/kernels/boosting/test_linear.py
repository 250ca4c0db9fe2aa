"""Coordinate descent on a parabola, against sums and solutions that are written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam.kernels.boosting import linear as kernels


def problem(seed: int, n: int = 40, d: int = 6) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    csc = scipy.sparse.csc_array(X)
    entries = (csc.indptr.astype(np.int64), csc.indices.astype(np.int32), csc.data)
    return X, entries, rng.normal(size=n), rng.uniform(0.5, 2.0, n)


def test_sums_of_columns_are_those_of_matrices() -> None:
    X, entries, gradient, hessian = problem(0)
    sums, slopes = np.zeros(18), np.zeros(6)
    kernels.sum_columns(*entries, gradient, hessian, sums, 0, 6)
    np.testing.assert_allclose(sums[0::3], X.T @ gradient)
    np.testing.assert_allclose(sums[1::3], X.T @ hessian)
    np.testing.assert_allclose(sums[2::3], (X**2).T @ hessian)
    kernels.sum_gradients(*entries, gradient, slopes, 2, 5)
    np.testing.assert_allclose(slopes[2:5], (X.T @ gradient)[2:5])
    assert not slopes[:2].any() and slopes[5] == 0.0
    scratch, product = np.zeros(40), np.zeros(4)
    kernels.multiply_column(*entries, hessian, scratch, 2, 6, product)
    np.testing.assert_allclose(product, (X.T * hessian @ X)[2, 2:])
    assert not scratch.any()


@pytest.mark.parametrize("rows", [(0, 40), (7, 23), (39, 40), (5, 5)])
def test_gradients_follow_the_coefficients(rows: tuple[int, int]) -> None:
    X, entries, gradient, hessian = problem(1)
    change = np.array([0.5, -1.0, 2.0, 0.0, 1.0, 3.0])
    expected = gradient.copy()
    moved = X[:, 1:5] @ change[1:5] + 0.25
    expected[slice(*rows)] += (hessian * moved)[slice(*rows)]
    kernels.move_gradients(
        *entries, hessian, change, 0.25, np.array([1, 5]), np.array(rows), gradient
    )
    np.testing.assert_allclose(gradient, expected)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.0, 5.0), st.floats(0.0, 5.0), st.booleans())
def test_descent_ends_where_no_direction_goes_down(
    seed: int, alpha: float, penalty: float, signed: bool
) -> None:
    """The conditions of Karush, Kuhn and Tucker, at w + d."""
    X, _, gradient, hessian = problem(seed)
    product, slope = X.T * hessian @ X, X.T @ gradient
    at = np.random.default_rng(seed).normal(size=6)
    sign = np.array([1.0, -1.0, 0.0, 0.0, 1.0, 0.0]) * signed
    change, left = np.zeros(6), slope.copy()
    kernels.descend(product.ravel(), left, at, change, sign, np.array([alpha, penalty]), 10_000)
    after = at + change
    rest = slope + product @ change + penalty * after
    np.testing.assert_allclose(left, slope + product @ change, atol=1e-9)
    scale = 1e-8 * (1.0 + np.abs(product).max())
    for j in range(6):
        assert after[j] * sign[j] >= 0.0
        if after[j] != 0.0:
            assert abs(rest[j] + alpha * np.sign(after[j])) < scale
        else:
            low, high = rest[j] - alpha, rest[j] + alpha  # of the objective's directions
            assert sign[j] > 0 or low <= scale
            assert sign[j] < 0 or high >= -scale


def test_a_column_of_nothing_gets_nothing() -> None:
    change = np.zeros(2)
    product, slope = np.array([0.0, 0.0, 0.0, 2.0]), np.array([0.0, -4.0])
    kernels.descend(product, slope, np.zeros(2), change, np.zeros(2), np.zeros(2), 10)
    np.testing.assert_array_equal(change, [0.0, 2.0])

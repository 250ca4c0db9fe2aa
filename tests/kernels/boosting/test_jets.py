"""Jets: a loss given by its value alone gets the derivatives that one takes by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hornbeam import losses

Y = np.array([-1.5, -0.5, 0.0, 0.25, 1.0, 2.0])
SCORES = np.array([0.75, -0.25, 0.5, 1.5, -1.25, 0.3])


def slopes(value: Callable[..., Any], scores: Any = SCORES, y: Any = Y) -> tuple[Any, Any]:
    """Gradients and hessians of a loss given by its value."""
    loss = losses.resolve(losses.OwnLoss(value, start=0.0), task="regression")
    found = losses.slopes_of(loss, y, np.ones(len(y)), scores)[0][0]
    return found[:, 0], found[:, 1]


def cube(y: float, s: float) -> float:
    return (s - y) ** 3 + s**2 - s**1 + 7 * s**0


def ratio(y: float, s: float) -> float:
    return (s * s - y) / (2.0 + s**2) + 3.0 / (4.0 + s) - s / 2


def growth(y: float, s: float) -> float:
    return math.exp(-y * s) + 2.0**s + np.exp(s) * math.log(3.0 + s) + (3.0 + s) ** s


def roots(y: float, s: float) -> float:
    return math.sqrt(4.0 + s) + np.log1p(np.square(s)) + (4.0 + s) ** 1.5 + np.power(s, 2)


def waves(y: float, s: float) -> float:
    return math.sin(s) * np.cos(y - s) + math.tanh(s - y) + np.cosh(s) - math.sinh(+s)


def turns(y: float, s: float) -> float:
    """Branches, one of which leaves a number where the other leaves a jet."""
    cost = 0.0
    if s > y:
        cost = 2.0 * (s - y) ** 2
    elif s != y:
        cost = abs(s - y) * (y - s)
    return cost + max(s, 0.5) * min(min(s, 1.0), y) + np.where(s >= 0.0, s, -s * s)


def derived(function: Callable[..., float], y: float, s: float) -> tuple[float, float]:
    """Both derivatives by Richardson's extrapolation of central differences."""

    def at(h: float) -> tuple[float, float]:
        low, middle, high = function(y, s - h), function(y, s), function(y, s + h)
        return (high - low) / (2 * h), (high - 2 * middle + low) / (h * h)

    wide, narrow = np.array(at(4e-3)), np.array(at(2e-3))
    first, second = (4.0 * narrow - wide) / 3.0
    return float(first), float(second)


@pytest.mark.mission("X9")
@pytest.mark.parametrize("function", [cube, ratio, growth, roots, waves, turns])
def test_derivatives_are_those_of_differences(function: Callable[..., float]) -> None:
    expected = np.array([derived(function, y, s) for y, s in zip(Y, SCORES, strict=True)])
    gradient, hessian = slopes(function)
    np.testing.assert_allclose(gradient, expected[:, 0], rtol=2e-6, atol=2e-6)
    np.testing.assert_allclose(hessian, expected[:, 1], rtol=2e-5, atol=2e-5)


def test_large_scores_lose_no_digits() -> None:
    """Differences of a value near 1e8 would be noise; by calculus slopes are exact."""

    def shifted(y: float, s: float) -> float:
        return 1e8 + 0.5 * (s - y) ** 2

    gradient, hessian = slopes(shifted)
    np.testing.assert_array_equal(gradient, (SCORES - Y).astype(np.float32))
    np.testing.assert_array_equal(hessian, np.ones(len(Y)))


def test_kinks_are_left_towards_larger_scores() -> None:
    zeros = np.zeros(1)

    def kinked(y: float, s: float) -> float:
        return abs(s) + max(s, 0.0) + min(0.0, s) + abs(-s) + max(0.0, -s)

    assert slopes(kinked, zeros, zeros)[0].tolist() == [1.0 + 1.0 + 0.0 + 1.0 + 0.0]

    def logistic(y: float, s: float) -> float:
        """Written so that it does not overflow: two kinks that cancel."""
        return max(s, 0.0) - s * y + math.log1p(math.exp(-abs(s)))

    gradient, hessian = slopes(logistic, zeros, zeros)
    assert (gradient.tolist(), hessian.tolist()) == ([0.5], [0.25])


def test_a_function_without_a_rule_is_derived_by_differences() -> None:
    def turned(y: float, s: float) -> float:
        return (s - y) ** 2 + math.atan(s)

    expected = 2.0 * (SCORES - Y) + 1.0 / (1.0 + SCORES**2)
    np.testing.assert_allclose(slopes(turned)[0], expected, rtol=1e-6)


def test_a_gradient_gets_its_hessian() -> None:
    def gradient(y: float, s: float) -> float:
        return math.tanh(s - y) + s

    loss = losses.resolve(losses.OwnLoss(gradient=gradient, start=0.0), task="regression")
    found = losses.slopes_of(loss, Y, np.ones(len(Y)), SCORES)[0][0]
    np.testing.assert_allclose(found[:, 0], np.tanh(SCORES - Y) + SCORES, rtol=1e-6)
    np.testing.assert_allclose(found[:, 1], 2.0 - np.tanh(SCORES - Y) ** 2, rtol=1e-6)

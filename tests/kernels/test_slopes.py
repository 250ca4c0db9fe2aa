"""The kernels behind losses: exponential, chunks, weights, and what they note in passing."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from hornbeam import losses
from hornbeam.kernels.slopes import (
    NEW_PEAK,
    LossRows,
    SlopePeak,
    call_fill,
    call_measure,
    call_prepare,
    exp,
    log,
    log1p,
)
from hornbeam.runtime.kernel import specialise
from hornbeam.runtime.views import make_slots, place_of, read_notes, set_fields


def apply(function, x):
    """A part of kernels, applied to an array."""

    def to_all(x, result):
        for i in range(len(x)):
            result[i] = function(x[i])

    result = np.empty_like(x)
    specialise(to_all, None)(x, result)
    return result


def exps(x):
    return apply(exp, x)


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-12])
def test_log_is_as_good_as_the_library_one(scale):
    x = np.concatenate([10.0 ** np.linspace(-307.6, 308, 50_001), np.linspace(0.4, 2.2, 50_001)])
    np.testing.assert_allclose(apply(log, x), np.log(x), rtol=1e-14)
    near_one = 1.0 + scale * np.linspace(-0.5, 0.5, 10_001)
    np.testing.assert_allclose(apply(log, near_one), np.log(near_one), rtol=1e-14)
    near_zero = scale * np.linspace(0.0, 3.0, 10_001)
    np.testing.assert_allclose(apply(log1p, near_zero), np.log1p(near_zero), rtol=1e-14)


def test_log_at_the_ends_of_its_range():
    x = np.array([0.0, -1.0, math.inf, math.nan, 5e-324, 1e-310, -math.inf, 1.0])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(apply(log, x), np.log(x), rtol=1e-14)


def test_exp_is_as_good_as_the_library_one():
    x = np.concatenate(
        [np.linspace(-708, 709, 100_001), np.linspace(-1, 1, 100_001), [0.0, 1e-300, -1e-17]]
    )
    true = np.array([math.exp(v) for v in x])
    assert np.max(np.abs(exps(x) / true - 1.0)) < 1e-14
    assert exps(np.zeros(1))[0] == 1.0


def test_exp_ends_in_finite_numbers_and_keeps_nan():
    high, low, nothing = exps(np.array([1e308, -1e308, math.nan]))
    assert high == pytest.approx(math.exp(709.0)) and low == pytest.approx(math.exp(-708.0))
    assert math.isnan(nothing)
    assert np.isfinite(exps(np.array([math.inf, -math.inf]))).all()


# --- every kernel the same way ---------------------------------------------------------------

GROUPS = np.array([0, 1, 4, 4, 30, 61, 300, 700])  # one row, none, and more than a block


def all_cases():
    for name in losses.names("regression"):
        yield name, "regression", 0
    for n_classes in (2, 3, 5):
        for name in losses.names("classification"):
            if name != "exponential" or n_classes == 2:
                yield name, "classification", n_classes
    yield "lambdamart", "ranking", 0


CASES = list(all_cases())


def make(name, task, n_classes, n=700, seed=0, **options):
    """Loss, y, weight, scores (score-major) and groups of random rows."""
    rng = np.random.default_rng(seed)
    y = rng.gamma(2.0, size=n)
    if task == "classification":
        y = rng.integers(0, n_classes, n).astype(float)
    if task == "ranking":
        y = rng.integers(0, 5, n).astype(float)
    loss = losses.resolve(
        name, task=task, n_classes=n_classes, y=y, options=losses.LossOptions(**options)
    )
    scores = rng.normal(size=(loss.n_scores, n))
    return loss, y, rng.uniform(0.5, 2.0, n), scores, GROUPS if task == "ranking" else None


def in_chunks(loss, y, weight, scores, groups, places, order=2):
    rows, n_units = losses._loss_rows(loss, y, weight, scores, order, groups)
    slots, slopes = make_slots(rows._replace(measure=loss.measure)), []
    ends = [0, *places, n_units]
    total = 0.0
    for first, last in pairwise(ends):
        if loss.prepare is not None:
            call_prepare(slots, first, last)
        total += call_measure(slots, first, last)
    for which in range(loss.n_scores):
        set_fields(slots, 0, LossRows, which=which)
        for first, last in pairwise(ends):
            call_fill(slots, first, last)
        slopes.append(rows.slope.copy())
    return np.array(slopes), read_notes(slots, place_of(LossRows, "peak"), SlopePeak), total


@pytest.mark.parametrize(("name", "task", "n_classes"), CASES)
def test_chunks_change_nothing(name, task, n_classes):
    problem = make(name, task, n_classes)
    slopes, peak, total = in_chunks(*problem, [])
    places = [1, 2, 5] if task == "ranking" else [1, 3, 100, 255, 256, 611]
    chunked, chunked_peak, chunked_total = in_chunks(*problem, places)
    assert slopes.tobytes() == chunked.tobytes()
    assert peak == chunked_peak
    assert total == pytest.approx(chunked_total, rel=1e-12)


@pytest.mark.parametrize(("name", "task", "n_classes"), CASES)
def test_peak_is_what_the_slopes_say(name, task, n_classes):
    loss, y, weight, scores, groups = make(name, task, n_classes)
    weight[:50] = 0.0
    slopes, peak = losses.slopes_of(loss, y, weight, scores, groups=groups)
    raw, _ = losses.slopes_of(loss, y, np.broadcast_to(1.0, len(y)), scores, groups=groups)
    assert peak.gradient == np.abs(slopes[..., 0]).max()
    assert peak.hessian == np.abs(slopes[..., 1]).max()
    assert peak.n_bad == 0
    assert peak.least == pytest.approx(float(raw[:, 50:, 1].min()), rel=1e-6)


@pytest.mark.parametrize(("name", "task", "n_classes"), CASES)
def test_weights_multiply_and_a_shared_weight_is_the_same(name, task, n_classes):
    loss, y, weight, scores, groups = make(name, task, n_classes)
    ones = np.broadcast_to(1.0, len(y))
    plain, _ = losses.slopes_of(loss, y, ones, scores, groups=groups)
    weighted, _ = losses.slopes_of(loss, y, weight, scores, groups=groups)
    np.testing.assert_allclose(weighted, plain * weight[:, None], rtol=3e-7)
    spelt_out, _ = losses.slopes_of(loss, y, np.ones(len(y)), scores, groups=groups)
    assert spelt_out.tobytes() == plain.tobytes()
    halves, _ = losses.slopes_of(loss, y, np.broadcast_to(0.5, len(y)), scores, groups=groups)
    np.testing.assert_array_equal(halves, 0.5 * plain)


@pytest.mark.parametrize(("name", "task", "n_classes"), CASES)
def test_first_order_counts_weights_and_notes_the_true_hessian(name, task, n_classes):
    loss, y, weight, scores, groups = make(name, task, n_classes)
    second, second_peak = losses.slopes_of(loss, y, weight, scores, 2, groups)
    first, first_peak = losses.slopes_of(loss, y, weight, scores, 1, groups)
    np.testing.assert_array_equal(first[..., 0], second[..., 0])
    expected = np.broadcast_to(weight.astype(np.float32), first.shape[:2])
    np.testing.assert_array_equal(first[..., 1], expected)
    assert first_peak.least == second_peak.least


@pytest.mark.mission("T13")
@pytest.mark.parametrize(("name", "task", "n_classes"), CASES)
def test_weight_two_is_the_row_twice(name, task, n_classes):
    loss, y, _, scores, groups = make(name, task, n_classes)
    if task == "ranking":  # a query twice
        twice = np.concatenate([groups, len(y) + groups[1:]])
        rows = np.concatenate([np.arange(len(y))] * 2)
        weight = np.full(len(y), 2.0)
    else:
        rows = np.concatenate([np.arange(len(y)), np.arange(10)])
        twice, weight = None, np.ones(len(y))
        weight[:10] = 2.0
    ones = np.broadcast_to(1.0, len(rows))
    once, _ = losses.slopes_of(loss, y, weight, scores, groups=groups)
    repeated, _ = losses.slopes_of(loss, y[rows], ones, scores[:, rows], groups=twice)
    np.testing.assert_allclose(once.sum(axis=1), repeated.sum(axis=1), rtol=1e-4, atol=1e-4)
    value = losses.total_loss(loss, y, weight, scores, groups)
    again = losses.total_loss(loss, y[rows], ones, scores[:, rows], twice)
    assert value == pytest.approx(again, rel=1e-12)


EXTREMES = [1e308, -1e308, 750.0, -750.0, 0.0, 40.0, -40.0, 1e-308]


@pytest.mark.parametrize(
    ("name", "task", "n_classes"),
    [case for case in CASES if case[0] not in ("squared_error",)],
)
def test_extreme_scores_give_finite_slopes(name, task, n_classes):
    loss, y, _, _, _ = make(name, task, n_classes, n=64)
    rng = np.random.default_rng(1)
    scores = rng.choice(EXTREMES, (loss.n_scores, 64))
    groups = np.array([0, 10, 64]) if task == "ranking" else None
    ones = np.broadcast_to(1.0, 64)
    slopes, peak = losses.slopes_of(loss, y, ones, scores, groups=groups)
    assert np.isfinite(slopes).all() and peak.n_bad == 0
    assert not math.isnan(losses.total_loss(loss, y, ones, scores, groups))
    if name != "sqrt_absolute":
        assert slopes[..., 1].min() > 0 and peak.least > 0


def test_bad_slopes_are_counted_one_by_one():
    def value(y, score):
        return y * score

    def gradient(y, score):
        return math.nan if y == 1.0 else score - y

    def hessian(y, score):
        return math.inf if y >= 1.0 else 1.0

    own = losses.OwnLoss(value, gradient, hessian)
    loss = losses.resolve(own, task="regression")
    y = np.array([0.0, 1.0, 2.0, 0.0])
    _, peak = losses.slopes_of(loss, y, np.ones(4), np.zeros(4))
    assert peak.n_bad == 3
    _, peak = losses.slopes_of(loss, y[[0, 3]], np.zeros(2), np.zeros(2))
    assert peak == NEW_PEAK

"""Losses: derivatives, start values, links, targets, ranking, and a user's own."""

from __future__ import annotations

import math
import pickle
from itertools import pairwise

import numba
import numpy as np
import pytest
import scipy.special
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import log_loss, mean_pinball_loss, mean_tweedie_deviance, ndcg_score

import hornbeam as hb
from hornbeam import losses
from hornbeam.kernels.slopes import FillSlopes
from hornbeam.runtime.views import signature_of

ONE = np.broadcast_to(1.0, 1)


def regression(name, y=None, **options):
    y = np.array([0.0, 1.0, 2.0, 4.0]) if y is None else y
    return losses.resolve(name, task="regression", y=y, options=losses.LossOptions(**options))


def classes(name, n_classes):
    return losses.resolve(name, task="classification", n_classes=n_classes)


RANK = losses.resolve("lambdamart", task="ranking")


def value(loss, y, scores):
    """Loss of one row in float64."""
    return losses.total_loss(loss, np.array([y]), ONE, np.asarray(scores, float))


def derivatives(loss, y, scores, k):
    """First and second derivative by score k, from five points."""
    step = 2.0**-9

    def at(move):
        moved = np.array(scores, float)
        moved[k] += move * step
        return value(loss, y, moved)

    first = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step)
    second = (16 * (at(1) + at(-1)) - (at(2) + at(-2)) - 30 * at(0)) / (12 * step**2)
    return first, second


SMOOTH = {
    "squared_error": {},
    "sqrt_absolute": {},
    "poisson": {},
    "gamma": {},
    "tweedie": {"tweedie_power": 1.3},
}
BOUNDED = {"huber": {"huber_quantile": 0.5}, "log_cosh": {}}


@pytest.mark.mission("G1")
@pytest.mark.parametrize("name", SMOOTH)
def test_regression_slopes_are_the_derivatives(name):
    loss, rng = regression(name, **SMOOTH[name]), np.random.default_rng(0)
    for _ in range(200):
        y, score = rng.gamma(2.0) + 0.01, rng.normal()
        if name == "sqrt_absolute" and abs(y - score) < 0.2:
            continue
        slopes, _ = losses.slopes_of(loss, np.array([y]), ONE, np.array([score]))
        assert slopes[0, 0] == pytest.approx(derivatives(loss, y, [score], 0), rel=1e-5, abs=1e-6)


@pytest.mark.mission("G1")
@pytest.mark.parametrize("name", BOUNDED)
def test_bounds_are_parabolas_above_the_loss(name):
    """The gradient is exact; with the hessian, the parabola touches and lies above."""
    loss, rng = regression(name, **BOUNDED[name]), np.random.default_rng(0)
    for _ in range(200):
        y, score, step = rng.normal(0, 3, 3)
        slopes, _ = losses.slopes_of(loss, np.array([y]), ONE, np.array([score]))
        gradient, hessian = slopes[0, 0].astype(float)
        first, second = derivatives(loss, y, [score], 0)
        assert gradient == pytest.approx(first, rel=1e-3, abs=1e-3)  # Huber has a corner
        assert 0 < hessian <= 1 and second <= hessian + 1e-3
        parabola = value(loss, y, [score]) + gradient * step + 0.5 * hessian * step**2
        assert value(loss, y, [score + step]) <= parabola + 1e-6


@pytest.mark.mission("G1")
@pytest.mark.parametrize("name", ["absolute_error", "quantile"])
def test_losses_with_a_kink_have_slopes_on_both_sides(name):
    loss, rng = regression(name, quantile=[0.1, 0.5, 0.8]), np.random.default_rng(0)
    for _ in range(100):
        y, scores = rng.normal(), rng.normal(size=loss.n_scores)
        slopes, _ = losses.slopes_of(loss, np.array([y]), ONE, scores)
        for k in range(loss.n_scores):
            if abs(y - scores[k]) > 0.01:
                assert slopes[k, 0, 0] == pytest.approx(derivatives(loss, y, scores, k)[0])
    at_target, _ = losses.slopes_of(loss, np.array([1.5]), ONE, np.full(loss.n_scores, 1.5))
    assert (at_target[..., 0] == 0).all() and (at_target[..., 1] == 1).all()


@pytest.mark.mission("G2")
@pytest.mark.parametrize(
    ("name", "n_classes"),
    [("log_loss", 2), ("log_loss", 3), ("log_loss", 7), ("log_loss_k1", 2), ("log_loss_k1", 3),
     ("log_loss_k1", 6), ("exponential", 2)],
)  # fmt: skip
def test_classification_slopes_are_the_derivatives(name, n_classes):
    loss, rng = classes(name, n_classes), np.random.default_rng(0)
    factor = n_classes / (n_classes - 1) if loss.link_name == "softmax" else 1.0
    for _ in range(60):
        y, scores = float(rng.integers(n_classes)), rng.normal(0, 2, loss.n_scores)
        slopes, _ = losses.slopes_of(loss, np.array([y]), ONE, scores)
        for k in range(loss.n_scores):
            first, second = derivatives(loss, y, scores, k)
            expected = (first, factor * second)
            assert slopes[k, 0] == pytest.approx(expected, rel=1e-5, abs=1e-6)


@pytest.mark.mission("G2")
def test_k1_form_has_one_plus_the_sum_in_the_denominator():
    loss, scores = classes("log_loss_k1", 4), np.array([0.3, -1.0, 2.0])
    slopes, _ = losses.slopes_of(loss, np.array([2.0]), ONE, scores)
    shares = np.exp(scores) / (1.0 + np.exp(scores).sum())
    np.testing.assert_allclose(slopes[:, 0, 0], shares - [0, 1, 0], rtol=1e-6)
    assert value(loss, 0.0, scores) == pytest.approx(math.log(1.0 + np.exp(scores).sum()))
    assert loss.link(scores[None])[0] == pytest.approx([1.0 - shares.sum(), *shares])


@pytest.mark.mission("G2")
def test_logistic_slopes_keep_their_digits_near_certainty():
    loss = classes("log_loss", 2)
    slopes, _ = losses.slopes_of(loss, np.ones(1), ONE, np.array([30.0]))
    assert slopes[0, 0] == pytest.approx([-math.exp(-30.0), math.exp(-30.0)], rel=1e-6, abs=2e-16)


def test_values_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    y, weight, scores = rng.gamma(2.0, size=100), rng.uniform(1, 2, 100), rng.normal(size=100)

    def mean(loss, y, scores):
        return losses.total_loss(loss, y, weight, scores) / weight.sum()

    for name, power in (("poisson", 1.0), ("tweedie", 1.5), ("gamma", 2.0)):
        deviance = mean_tweedie_deviance(y, np.exp(scores), sample_weight=weight, power=power)
        assert mean(regression(name), y, scores) == pytest.approx(0.5 * deviance)
    pinball = mean_pinball_loss(y, scores, sample_weight=weight, alpha=0.2)
    assert mean(regression("quantile", quantile=0.2), y, scores) == pytest.approx(pinball)
    labels, scores = rng.integers(0, 3, 100).astype(float), rng.normal(size=(3, 100))
    loss = classes("log_loss", 3)
    expected = log_loss(labels, loss.link(scores.T), sample_weight=weight)
    assert mean(loss, labels, scores) == pytest.approx(expected)


# --- start values ----------------------------------------------------------------------------

STARTS = [
    *((name, "regression", 0) for name in losses.names("regression")),
    *((name, "classification", 2) for name in losses.names("classification")),
    ("log_loss", "classification", 4),
    ("log_loss_k1", "classification", 4),
]


@pytest.mark.mission("G1")
@pytest.mark.mission("G2")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("name", "task", "n_classes"), STARTS)
def test_start_is_the_best_constant(name, task, n_classes, weighted):
    rng = np.random.default_rng(3)
    y = rng.gamma(2.0, size=61) if task == "regression" else rng.integers(0, n_classes, 61)
    y = y.astype(float)
    weight = rng.uniform(0.1, 3.0, 61) if weighted else np.broadcast_to(1.0, 61)
    options = losses.LossOptions(quantile=[0.2, 0.7])
    loss = losses.resolve(name, task=task, n_classes=n_classes, options=options, y=y, weight=weight)
    start = loss.start(y, weight)
    assert start.shape == (loss.n_scores,) and start.dtype == np.float64

    def total(constant):
        return losses.total_loss(loss, y, weight, np.repeat(constant[:, None], 61, axis=1))

    for k in range(loss.n_scores):
        for step in (-0.5, -1e-2, -1e-4, 1e-4, 1e-2, 0.5):
            moved = start.copy()
            moved[k] += step
            assert total(moved) >= total(start) - 1e-9


@pytest.mark.mission("G2")
def test_ten_percent_positives_start_at_the_log_of_one_ninth():
    y = np.repeat([1.0, 0.0], [10, 90])
    ones = np.broadcast_to(1.0, 100)
    assert classes("log_loss", 2).start(y, ones)[0] == pytest.approx(math.log(1 / 9), rel=1e-14)
    half = classes("exponential", 2).start(y, ones)[0]
    assert half == pytest.approx(0.5 * math.log(1 / 9), rel=1e-14)
    assert classes("log_loss_k1", 3).start(np.append(y, 2.0), np.ones(101))[0] == pytest.approx(
        math.log(1 / 9)
    )


def test_softmax_starts_at_centred_logs_of_the_shares():
    y = np.repeat([0.0, 1.0, 2.0], [1, 2, 5])
    start = classes("log_loss", 3).start(y, np.ones(8))
    assert start.sum() == pytest.approx(0.0, abs=1e-12)
    assert scipy.special.softmax(start) == pytest.approx([1 / 8, 2 / 8, 5 / 8])


@pytest.mark.parametrize("scale", [1e30, 1e-30, 1e307, 1e-307])
@pytest.mark.parametrize("name", losses.names("regression"))
def test_start_survives_every_scale(name, scale):
    y = np.array([1.0, 2.0, 3.0, 7.0, 9.0]) * scale
    if name in ("poisson", "gamma", "tweedie") and not 1e-32 < scale < 1e32:
        loss = losses.resolve(name, task="regression", y=y, weight=np.ones(5))
        with pytest.raises(ValueError, match=r"means between e\^-75 and e\^75: scale y"):
            loss.start(y, np.ones(5))
        return
    for weight in (np.broadcast_to(1.0, 5), np.full(5, 2.0**299), np.full(5, 2.0**-299)):
        loss = losses.resolve(name, task="regression", y=y, weight=weight)
        start = loss.start(y, weight)
        assert np.isfinite(start).all()
        if name in ("squared_error", "poisson", "gamma", "tweedie"):
            mean = loss.link(start)[0]
            assert mean == pytest.approx(4.4 * scale, rel=1e-9)
        elif abs(math.log10(scale)) <= 30 and name != "log_cosh":
            assert scale <= start[0] <= 9 * scale


def test_a_class_without_weight_gives_a_finite_start():
    y, weight = np.array([0.0, 1.0, 2.0]), np.array([1.0, 0.0, 1.0])
    for name in ("log_loss", "log_loss_k1"):
        assert np.isfinite(classes(name, 3).start(y, weight)).all()
    assert np.isfinite(classes("exponential", 2).start(np.ones(2), np.ones(2))).all()


def naive_quantile(values, weight, share):
    """The definition, with rows repeated as often as they weigh."""
    rows = np.sort(np.repeat(values, weight.astype(int)))
    if share == 0.5:
        return float(np.median(rows))
    return float(rows[min(range(len(rows)), key=lambda i: (i + 1 < share * len(rows) - 1e-9, i))])


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 3)), min_size=1, max_size=30),
    st.sampled_from([0.1, 0.25, 0.3, 0.5, 0.7, 0.9, 1e-9, 1 - 1e-9]),
)
def test_weighted_quantile_is_that_of_repeated_rows(rows, share):
    values, weight = (np.array(column, float) for column in zip(*rows, strict=True))
    weight[0] += 1.0
    found = losses.weighted_quantile(values, weight, share)
    assert found == naive_quantile(values, weight, share)
    ones = np.broadcast_to(1.0, len(values))
    assert losses.weighted_quantile(values, ones, share) == naive_quantile(values, ones, share)


# --- links and targets ---------------------------------------------------------------------


@pytest.mark.parametrize("scores", [[0.3, -2.0], [[0.3], [-2.0]]])
def test_links_of_one_score(scores):
    scores = np.array(scores)
    flat = scores.ravel()
    np.testing.assert_array_equal(regression("squared_error").link(scores), flat)
    np.testing.assert_allclose(regression("poisson").link(scores), np.exp(flat))
    shares = 1 / (1 + np.exp(-flat))
    np.testing.assert_allclose(classes("log_loss", 2).link(scores)[:, 1], shares)
    shares = 1 / (1 + np.exp(-2 * flat))
    np.testing.assert_allclose(classes("exponential", 2).link(scores)[:, 1], shares)
    np.testing.assert_array_equal(RANK.link(scores), flat)


@pytest.mark.parametrize(
    ("name", "n_classes"),
    [("log_loss", 2), ("log_loss", 4), ("log_loss_k1", 4), ("exponential", 2)],
)
def test_probabilities_of_extreme_scores_sum_to_one(name, n_classes):
    loss = classes(name, n_classes)
    scores = np.random.default_rng(0).choice([1e308, -1e308, 750.0, 0.0], (50, loss.n_scores))
    shares = loss.link(scores)
    assert shares.shape == (50, n_classes) and (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


@pytest.mark.mission("G1")
def test_quantiles_of_one_model_never_cross():
    loss = regression("quantile", quantile=[0.1, 0.5, 0.9])
    scores = np.random.default_rng(0).normal(size=(100, 3))
    assert (np.diff(loss.link(scores), axis=1) >= 0).all()
    assert loss.link(scores).shape == (100, 3) and loss.n_scores == 3
    assert regression("quantile").link(scores[:, :1]).shape == (100, 1)


@pytest.mark.parametrize(
    ("name", "y", "message"),
    [
        ("poisson", [1.0, -2.0], "negative which is not allowed for the loss 'poisson': -2.0"),
        ("poisson", [0.0, 0.0], "Sum of y is not strictly positive"),
        ("tweedie", [-1.0], "'tweedie'"),
        ("gamma", [1.0, 0.0], "not positive which is not allowed for the loss 'gamma': 0.0"),
    ],
)
def test_targets_outside_the_range_are_named(name, y, message):
    with pytest.raises(ValueError, match=message):
        regression(name, np.array([1.0])).check_target(np.array(y))


@pytest.mark.parametrize("label", [-1.0, 2.5, 31.0])
def test_relevance_labels_are_whole_and_small(label):
    with pytest.raises(ValueError, match=rf"y\[1\] is {label}"):
        RANK.check_target(np.array([0.0, label]))
    RANK.check_target(np.array([0.0, 30.0]))


@pytest.mark.parametrize(
    ("options", "name", "message"),
    [
        ({"quantile": 1.0}, "quantile", "between 0 and 1"),
        ({"quantile": []}, "quantile", "between 0 and 1"),
        ({"quantile": [0.9, 0.1]}, "quantile", "ascending"),
        ({"tweedie_power": 2.5}, "tweedie", "tweedie_power must be from 1"),
        ({"huber_quantile": 0.0}, "huber", "huber_quantile"),
        ({}, "log_loss", "loss must be one of .*'squared_error'.* but is 'log_loss'"),
    ],
)
def test_bad_options_are_sentences(options, name, message):
    with pytest.raises(ValueError, match=message):
        regression(name, **options)


def test_other_impossible_losses_are_sentences():
    with pytest.raises(ValueError, match=r"for two classes, but y has 3\."):
        classes("exponential", 3)
    with pytest.raises(TypeError, match="but is a int"):
        regression(3)


def test_huber_delta_is_fixed_by_the_residuals_of_the_median():
    y = np.array([0.0, 1.0, 2.0, 3.0, 100.0])
    assert regression("huber", y, huber_quantile=0.8).settings[0] == 2.0
    assert regression("huber", np.array([1.0, 1.0, 1.0, 5.0])).settings[0] == 4.0
    assert regression("huber", np.array([1.0] * 19 + [21.0])).settings[0] == 1.0  # the mean
    assert regression("huber", np.ones(3)).settings[0] == 1.0


# --- slopes that cannot be used ----------------------------------------------------------------


@pytest.mark.mission("X9")
def test_a_loss_that_bends_down_refuses_newton_steps():
    loss = regression("sqrt_absolute")
    _, peak = losses.slopes_of(loss, np.array([1.0]), ONE, np.array([0.0]))
    assert peak.least == -0.25
    with pytest.raises(ValueError, match=r"'sqrt_absolute' has second .* as -0\.25\).*order=1"):
        losses.check_slopes(loss, peak, 2)
    losses.check_slopes(loss, peak, 1)


@pytest.mark.mission("X9")
def test_negative_gradient_of_the_square_root_is_sign_over_two_roots():
    loss = regression("sqrt_absolute")
    for rest in (4.0, -4.0, 0.25):
        slopes, _ = losses.slopes_of(loss, np.array([rest]), ONE, np.zeros(1), 1)
        assert -slopes[0, 0, 0] == pytest.approx(np.sign(rest) / (2 * math.sqrt(abs(rest))))
    flat, _ = losses.slopes_of(loss, np.array([1e-13]), ONE, np.zeros(1), 1)
    assert flat[0, 0, 0] == 0.0


@pytest.mark.mission("X9")
def test_nan_and_overflow_are_sentences():
    def broken(y, score):
        return math.sqrt(score - 1.0)

    loss = regression(losses.OwnLoss(broken, start=0.0))
    _, peak = losses.slopes_of(loss, np.zeros(1), ONE, np.zeros(1))
    with pytest.raises(ValueError, match=r"'broken' returned NaN or infinite gradients"):
        losses.check_slopes(loss, peak, 1)
    _, peak = losses.slopes_of(regression("squared_error"), np.array([1e300]), ONE, np.zeros(1))
    with pytest.raises(ValueError, match="scale y"):
        losses.check_slopes(regression("squared_error"), peak, 2)


# --- a user's own loss -------------------------------------------------------------------------


def my_logistic(y, score):
    return math.log(1.0 + math.exp(-score)) + (1.0 - y) * score


def my_gradient(y, score):
    return 1.0 / (1.0 + np.exp(-score)) - y


def my_hessian(y, score):
    share = 1.0 / (1.0 + math.exp(-score))
    return share * (1.0 - share)


def my_square(y, score):
    return 0.5 * (score - y) ** 2


def rest(y, score):
    return score - y


def one(y, score):
    return 1.0


def own_problem(seed=0, n=300):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(float)
    return y, rng.uniform(0.5, 2.0, n), rng.normal(0, 2, n)


OWN = {
    "value": (losses.OwnLoss(my_logistic), 1e-6),
    "gradient": (losses.OwnLoss(gradient=my_gradient), 1e-6),
    "gradient and hessian": (losses.OwnLoss(gradient=my_gradient, hessian=my_hessian), 5e-7),
    "all three": (losses.OwnLoss(my_logistic, my_gradient, my_hessian), 5e-7),
    "a function": (my_logistic, 1e-6),
    "compiled functions": (losses.OwnLoss(numba.njit(my_logistic)), 1e-6),
}


@pytest.mark.mission("T14")
@pytest.mark.mission("X9")
@pytest.mark.mission("G1")
@pytest.mark.parametrize("how", OWN)
def test_own_logistic_is_the_built_in_one(how):
    own, tolerance = OWN[how]
    y, weight, scores = own_problem()
    mine, built_in = losses.resolve(own, task="classification", n_classes=2), classes("log_loss", 2)
    ours, peak = losses.slopes_of(mine, y, weight, scores)
    expected, _ = losses.slopes_of(built_in, y, weight, scores)
    np.testing.assert_allclose(ours, expected, rtol=tolerance, atol=tolerance)
    losses.check_slopes(mine, peak, 2)
    # a value made of the gradient differs by what a score of 0 costs
    offset = 0.0 if getattr(own, "value", own) else weight.sum() * math.log(2.0)
    total = losses.total_loss(built_in, y, weight, scores)
    assert losses.total_loss(mine, y, weight, scores) + offset == pytest.approx(total, rel=1e-7)
    assert mine.start(y, weight) == pytest.approx(built_in.start(y, weight), abs=1e-5)
    np.testing.assert_array_equal(mine.link(scores), built_in.link(scores))


@pytest.mark.mission("T14")
def test_own_squares_are_the_built_in_ones_bit_for_bit():
    y, weight, scores = own_problem()
    mine = regression(losses.OwnLoss(my_square, rest, one))
    ours, _ = losses.slopes_of(mine, y, weight, scores)
    expected, _ = losses.slopes_of(regression("squared_error"), y, weight, scores)
    assert ours.tobytes() == expected.tobytes()
    total = losses.total_loss(regression("squared_error"), y, weight, scores)
    assert losses.total_loss(mine, y, weight, scores) == total
    assert mine.start(y, weight)[0] == pytest.approx(np.average(y, weights=weight), abs=1e-7)


@pytest.mark.parametrize("scale", [1e6, 1.0])
def test_search_finds_the_start_far_from_zero(scale):
    y = scale * np.array([5.0, 6.0, 10.0])
    start = regression(my_square).start(y, np.ones(3))
    assert start[0] == pytest.approx(7.0 * scale, rel=1e-6)

    def counts(y, score):
        return math.exp(score) - y * score

    own = losses.OwnLoss(counts, link="log")
    assert regression(own).start(y, np.ones(3))[0] == pytest.approx(math.log(7.0 * scale))
    assert regression(own).link(np.zeros(2)) == pytest.approx([1.0, 1.0])


def test_search_gives_up_where_there_is_no_best_constant():
    def downhill(y, score):
        return -score

    def nothing(y, score):
        return math.nan

    for function in (downhill, nothing):
        start = regression(function).start(np.array([1.0, 2.0, 3.0]), np.ones(3))
        assert start[0] == 2.0


def test_a_given_start_is_taken():
    assert regression(losses.OwnLoss(my_square, start=3)).start(np.zeros(2), np.ones(2)) == [3.0]


@pytest.mark.mission("X9")
@pytest.mark.parametrize(
    "bad",
    [
        lambda y, score: str(y),
        lambda y, score: (y, score),
        lambda y, score: np.zeros(3),
        lambda y, score: {}[score],
        lambda y: 0.0,
    ],
)
def test_what_cannot_be_compiled_is_a_sentence(bad):
    with pytest.raises(TypeError, match=r"\. It must be made of functions"):
        regression(bad)


def test_own_losses_that_make_no_sense_are_sentences():
    with pytest.raises(ValueError, match="needs value or gradient"):
        losses.OwnLoss()
    with pytest.raises(ValueError, match="link must be"):
        losses.OwnLoss(my_square, link="probit")
    with pytest.raises(ValueError, match="start must be"):
        losses.OwnLoss(my_square, start="mean")
    with pytest.raises(ValueError, match="3 classes"):
        losses.resolve(my_square, task="classification", n_classes=3)
    with pytest.raises(ValueError, match="ranking"):
        losses.resolve(my_square, task="ranking")
    with pytest.raises(ValueError, match="use link='logit'"):
        losses.resolve(losses.OwnLoss(my_square, link="log"), task="classification", n_classes=2)
    with pytest.raises(TypeError, match="plain functions"):
        regression(losses.OwnLoss(np.hypot))


@pytest.mark.mission("X9")
def test_a_loss_that_raises_says_so():
    def touchy(y, score):
        if y > 1.0:
            raise ValueError("y is beyond my range")
        return y * score

    loss = regression(losses.OwnLoss(touchy, start=0.0))
    with pytest.raises(ValueError, match="beyond my range"):
        losses.slopes_of(loss, np.array([2.0]), ONE, np.zeros(1))


def test_functions_with_a_closure_are_not_mixed_up():
    def scaled(factor):
        def loss(y, score):
            return factor * (y - score) ** 2

        return loss

    slopes = [
        losses.slopes_of(regression(scaled(factor)), np.zeros(1), ONE, np.ones(1))[0][0, 0, 0]
        for factor in (1.0, 5.0)
    ]
    assert slopes == pytest.approx([2.0, 10.0], rel=1e-6)


def test_plain_functions_are_kept_on_disk_and_closures_are_not():
    y = np.zeros(2)

    def with_closure(_, score):
        return (score - y[0]) ** 2

    plain, enclosed = regression(my_square), losses.OwnLoss(with_closure, start=0.0)
    fill = plain.fill
    codegen = fill.targetctx.codegen()
    signature = signature_of(FillSlopes)
    assert fill._cache.read(signature, codegen) is not None
    assert regression(enclosed).fill._cache._identify(signature, codegen) is None


def test_own_losses_are_values():
    own = losses.OwnLoss(my_square, link="log", start=1.0)
    assert own == losses.OwnLoss(my_square, link="log", start=1.0) and own.name == "my_square"
    assert own != losses.OwnLoss(my_logistic, link="log", start=1.0)
    assert pickle.loads(pickle.dumps(losses.OwnLoss(math.hypot))).value is math.hypot


def test_losses_are_public():
    assert hb.losses.OwnLoss is losses.OwnLoss


# --- ranking --------------------------------------------------------------------------------


def naive_lambdas(y, scores, truncation=30):
    """Burges' lambdas with |delta NDCG|, both normalisations, by plain loops."""
    order = sorted(range(len(y)), key=lambda i: (-scores[i], i))
    gain, discount = 2.0**y - 1.0, 1.0 / np.log2(np.arange(len(y)) + 2.0)
    ideal = (np.sort(gain)[::-1] * discount)[:truncation].sum()
    gradient, hessian, size = np.zeros(len(y)), np.zeros(len(y)), 0.0
    for a in range(len(y)):
        for b in range(a + 1, len(y)):
            i, j = order[a], order[b]
            if a >= truncation or y[i] == y[j]:
                continue
            delta = abs(gain[i] - gain[j]) * abs(discount[a] - discount[b]) / ideal
            if y[i] < y[j]:
                i, j = j, i
            if scores.max() != scores.min():
                delta /= 0.01 + abs(scores[i] - scores[j])
            rho = 1.0 / (1.0 + math.exp(scores[i] - scores[j]))
            gradient[i] -= rho * delta
            gradient[j] += rho * delta
            hessian[[i, j]] += rho * (1.0 - rho) * delta
            size += 2.0 * rho * delta
    factor = math.log2(1.0 + size) / size if size > 0 else 1.0
    return factor * gradient, factor * hessian


@pytest.mark.mission("G2")
@pytest.mark.parametrize("seed", range(4))
def test_lambdas_are_those_of_plain_loops(seed):
    rng = np.random.default_rng(seed)
    ends = np.cumsum([0, 1, 2, 7, 20, 45, 90])
    y = rng.integers(0, 5, ends[-1]).astype(float)
    scores = rng.normal(size=ends[-1]).round(1)  # with ties
    scores[ends[3] : ends[4]] = 0.5  # all equal, as in the first round
    y[ends[2] : ends[3]] = 2.0  # nothing to choose
    slopes, _ = losses.slopes_of(RANK, y, np.ones(len(y)), scores, groups=ends)
    for first, last in pairwise(ends):
        gradient, hessian = naive_lambdas(y[first:last], scores[first:last])
        assert slopes[0, first:last, 0] == pytest.approx(gradient, rel=1e-5, abs=1e-7)
        assert slopes[0, first:last, 1] == pytest.approx(hessian, rel=1e-5, abs=1e-7)
        assert slopes[0, first:last, 0].sum() == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_ndcg_is_that_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    ends = np.cumsum([0, 5, 12, 40])
    y, scores = rng.integers(0, 5, ends[-1]).astype(float), rng.normal(size=ends[-1])
    y[ends[:-1]] = 4.0
    weight = np.repeat([1.0, 2.0, 0.5], np.diff(ends))
    expected = 0.0
    for first, last, group_weight in zip(ends, ends[1:], [1.0, 2.0, 0.5], strict=False):
        gain = 2.0 ** y[None, first:last] - 1.0
        expected += group_weight * (1.0 - ndcg_score(gain, scores[None, first:last], k=10))
    assert losses.total_loss(RANK, y, weight, scores, ends) == pytest.approx(expected)


def test_a_query_without_relevant_documents_costs_nothing():
    assert losses.total_loss(RANK, np.zeros(3), np.ones(3), np.arange(3.0), np.array([0, 3])) == 0
    assert RANK.start(np.zeros(3), np.ones(3)) == [0.0]

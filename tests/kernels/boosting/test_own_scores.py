"""A user's loss of one score per class: softmax in their own words is the built-in one."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
import pytest

import hornbeam as hb
from hornbeam import losses
from hornbeam.boosting import scores as scores_of_rows

Classifier, Own = hb.GradientBoostingClassifier, losses.OwnLoss


def soft(y, scores):
    top, total = max(scores), 0.0
    for score in scores:
        total += math.exp(score - top)
    return math.log(total) + top - scores[int(y)]


def soft_of_arrays(y, scores):
    top = scores.max()
    return np.log(np.exp(scores - top).sum()) + top - scores[int(y)]


def soft_gradient(y, scores, k):
    top, total = max(scores), 0.0
    for score in scores:
        total += math.exp(score - top)
    return math.exp(scores[k] - top) / total - (1.0 if k == int(y) else 0.0)


def soft_hessian(y, scores, k):
    share = np.exp(scores[k]) / np.exp(scores).sum()
    return share * (1.0 - share)


OWN = {
    "value": Own(soft, n_scores="classes"),
    "value of arrays": Own(soft_of_arrays, n_scores="classes"),
    "gradient": Own(gradient=soft_gradient, n_scores="classes"),
    "gradient and hessian": Own(None, soft_gradient, soft_hessian, n_scores="classes"),
    "all three": Own(soft, soft_gradient, soft_hessian, n_scores="classes"),
    "value and hessian": Own(soft, hessian=soft_hessian, n_scores="classes"),
}


def of_classes(own: Any, n_classes: int = 3) -> losses.Loss:
    return losses.resolve(own, task="classification", n_classes=n_classes)


def problem(n_classes: int = 3, n: int = 300, seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n).astype(float)
    return y, rng.uniform(0.5, 2.0, n), rng.normal(0, 2, n_classes * n)


@pytest.mark.mission("X9")
@pytest.mark.parametrize("how", OWN)
@pytest.mark.parametrize("n_classes", [3, 7])
def test_own_softmax_is_the_built_in_one(how: str, n_classes: int) -> None:
    y, weight, scores = problem(n_classes)
    mine, built_in = of_classes(OWN[how], n_classes), of_classes("log_loss", n_classes)
    ours, peak = losses.slopes_of(mine, y, weight, scores)
    expected, _ = losses.slopes_of(built_in, y, weight, scores)
    expected[..., 1] *= (n_classes - 1) / n_classes  # the built-in one knows better (eq. 31)
    np.testing.assert_allclose(ours, expected, rtol=1e-6, atol=2e-6)
    losses.check_slopes(mine, peak, 2)
    offset = 0.0 if OWN[how].value else weight.sum() * math.log(n_classes)
    total = losses.total_loss(built_in, y, weight, scores)
    assert losses.total_loss(mine, y, weight, scores) + offset == pytest.approx(total, rel=1e-7)
    start, known = mine.start(y, weight), built_in.start(y, weight)
    np.testing.assert_allclose(start - start.mean(), known, atol=1e-4)
    table = scores.reshape(n_classes, -1).T
    np.testing.assert_array_equal(mine.link(table), built_in.link(table))


@pytest.mark.mission("X9")
@pytest.mark.parametrize("growth", ["leaf", "symmetric"])
def test_a_model_of_an_own_loss(growth: str, tmp_path: Any, monkeypatch: Any) -> None:
    """It learns as well as the built-in one, and neither threads nor files change it."""
    monkeypatch.setattr(scores_of_rows, "LEAST_SECONDS", 0.0)  # real threads
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = np.array(["few", "some", "many"])[np.digitize(X[:, 0] + X[:, 1] ** 2, [0.0, 1.0])]
    params = {"n_estimators": 15, "learning_rate": 0.2, "growth": growth, "random_state": 0}
    models = [
        Classifier(loss=OWN["value"], n_jobs=n_jobs, **params).fit(X[:400], y[:400])
        for n_jobs in (1, 2, 4)
    ]
    assert len({model.digest() for model in models}) == 1
    built_in = Classifier(**params).fit(X[:400], y[:400])
    own, usual = (model.score(X[400:], y[400:]) for model in (models[0], built_in))
    assert own > usual - 0.03 and own > 0.8
    np.testing.assert_allclose(models[0].predict_proba(X).sum(axis=1), 1.0)
    models[0].save(tmp_path / "model")
    read = hb.load(tmp_path / "model")
    assert read.digest() == models[0].digest()
    np.testing.assert_array_equal(read.predict_proba(X), models[0].predict_proba(X))
    order_1 = Classifier(loss=OWN["value"], order=1, **params).fit(X[:400], y[:400])
    assert order_1.score(X[400:], y[400:]) > 0.75


def test_two_classes_have_two_scores() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] > 0).astype(int)
    model = Classifier(loss=OWN["value"], n_estimators=10, learning_rate=0.3).fit(X, y)
    shares, decided = model.predict_proba(X), model.decision_function(X)
    assert model.ensemble_.n_scores == 2 and decided.shape == (300,)
    np.testing.assert_allclose(shares[:, 1], 1.0 / (1.0 + np.exp(-decided)))
    np.testing.assert_array_equal(model.predict(X), decided > 0)
    assert model.score(X, y) > 0.9


def test_the_start_is_the_best_constant_of_the_loss() -> None:
    """Squares of distances to one: the best scores are the shares."""

    def brier(y, scores):
        total = 0.0
        for k in range(len(scores)):
            total += (scores[k] - (1.0 if k == int(y) else 0.0)) ** 2
        return total

    y = np.array([0.0, 0.0, 1.0, 2.0])
    own = Own(brier, n_scores="classes")
    np.testing.assert_allclose(of_classes(own).start(y, np.ones(4)), [0.5, 0.25, 0.25], atol=1e-5)
    own = Own(brier, n_scores="classes", start=0.25)
    np.testing.assert_array_equal(of_classes(own).start(y, np.ones(4)), [0.25] * 3)
    endless = Own(lambda y, scores: -scores[0], n_scores="classes")
    assert np.isfinite(of_classes(endless).start(y, np.ones(4))).all()


def test_functions_may_write_to_the_scores() -> None:
    """They have a copy of their own."""

    compiled = numba.njit(soft)

    def careless(y, scores):
        cost = compiled(y, scores)
        for k in range(len(scores)):
            scores[k] = 0.0
        return cost

    y, weight, scores = problem()
    mine = of_classes(Own(careless, gradient=soft_gradient, n_scores="classes"))
    kept = scores.copy()
    total = losses.total_loss(of_classes("log_loss"), y, weight, scores)
    assert losses.total_loss(mine, y, weight, scores) == pytest.approx(total, rel=1e-7)
    np.testing.assert_array_equal(scores, kept)


def test_what_makes_no_sense_is_a_sentence() -> None:
    with pytest.raises(ValueError, match="n_scores must be 1 or 'classes'"):
        Own(soft, n_scores=3)
    with pytest.raises(ValueError, match="link must be 'softmax' or None for n_scores='classes'"):
        Own(soft, n_scores="classes", link="logit")
    with pytest.raises(ValueError, match="link must be 'identity', 'log', 'logit' or None"):
        Own(soft, link="softmax")
    with pytest.raises(ValueError, match="for regression there are no classes"):
        losses.resolve(OWN["value"], task="regression")
    with pytest.raises(ValueError, match="257 classes: losses of your own take at most 256"):
        of_classes(OWN["value"], 257)
    with pytest.raises(ValueError, match=r"n_scores='classes'\)"):
        of_classes(soft)
    with pytest.raises(TypeError, match="does not take y, scores and k"):
        of_classes(Own(soft, gradient=soft, n_scores="classes"))
    with pytest.raises(TypeError, match="does not take y and scores"):
        of_classes(Own(lambda y: 0.0, n_scores="classes"))
    with pytest.raises(TypeError, match=r"could not be compiled.*value\(y, scores\)"):
        of_classes(Own(lambda y, scores: scores, n_scores="classes"))


def test_hessians_that_are_zero_are_refused_by_newton_steps() -> None:
    def straight(y, scores):
        return scores[0] - scores[int(y)]

    y, weight, scores = problem()
    mine = of_classes(Own(straight, n_scores="classes", start=0.0))
    _, peak = losses.slopes_of(mine, y, weight, scores)
    with pytest.raises(ValueError, match="second derivatives that are not positive"):
        losses.check_slopes(mine, peak, 2)
    losses.check_slopes(mine, peak, 1)
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = Classifier(loss=Own(straight, n_scores="classes", start=0.0), learning_rate=0.1)
    with pytest.raises(ValueError, match=r"not positive .* use order=1"):
        model.fit(X, np.arange(60) % 3)

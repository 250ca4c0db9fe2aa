"""What scikit-learn's AdaBoost says with the same members, ours says, too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn.ensemble as theirs
from sklearn.datasets import load_diabetes, make_classification
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import hornbeam as hb

TWO = make_classification(300, 6, n_redundant=0, flip_y=0.2, random_state=3)
THREE = make_classification(
    300, 6, n_informative=4, n_redundant=0, n_classes=3, flip_y=0.2, random_state=3
)
NUMBERS = tuple(part[:200] for part in load_diabetes(return_X_y=True))


@pytest.mark.mission("A1", "A4")
@pytest.mark.parametrize(("X", "y"), [TWO, THREE], ids=["two classes", "three"])
@pytest.mark.parametrize(
    "member",
    [DecisionTreeClassifier(max_depth=1), DecisionTreeClassifier(max_depth=3), GaussianNB()],
    ids=repr,
)
def test_samme_with_the_same_members(X: Any, y: Any, member: Any) -> None:
    given: dict[str, Any] = {"n_estimators": 15, "learning_rate": 0.7, "random_state": 0}
    # no two splits are equally good by such weights: scikit-learn would draw one of them
    weight = np.random.default_rng(0).uniform(0.1, 1.0, len(y))
    weight[::7] = 0.0
    ours = hb.AdaBoostClassifier(member, **given).fit(X, y, weight)
    peer = theirs.AdaBoostClassifier(member, **given).fit(X, y, weight)
    assert len(ours) == len(peer.estimators_) > 1
    np.testing.assert_allclose(ours.estimator_weights_, peer.estimator_weights_[: len(ours)])
    np.testing.assert_allclose(ours.estimator_errors_, peer.estimator_errors_[: len(ours)])
    np.testing.assert_array_equal(ours.predict(X), peer.predict(X))
    np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), atol=1e-12)
    for mine, other in zip(ours.staged_predict(X), peer.staged_predict(X), strict=True):
        np.testing.assert_array_equal(mine, other)
    decisions = zip(ours.staged_decision_function(X), peer.staged_decision_function(X), strict=True)
    for mine, other in decisions:
        np.testing.assert_allclose(mine, other, atol=1e-12)
    assert list(ours.staged_score(X, y)) == pytest.approx(list(peer.staged_score(X, y)))


@pytest.mark.mission("A3", "A4")
@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
@pytest.mark.parametrize("member", [DecisionTreeRegressor(max_depth=3), Ridge()], ids=repr)
def test_r2_with_the_same_members(loss: str, member: Any) -> None:
    X, y = NUMBERS
    given: dict[str, Any] = {"n_estimators": 12, "loss": loss, "random_state": 1}
    ours = hb.AdaBoostRegressor(member, **given).fit(X, y)
    peer = theirs.AdaBoostRegressor(member, **given).fit(X, y)
    assert len(ours) == len(peer.estimators_) > 1
    np.testing.assert_allclose(ours.estimator_weights_, peer.estimator_weights_[: len(ours)])
    np.testing.assert_allclose(ours.predict(X), peer.predict(X))
    for mine, other in zip(ours.staged_predict(X), peer.staged_predict(X), strict=True):
        np.testing.assert_allclose(mine, other)


def test_our_own_trees_are_as_theirs() -> None:
    X, y = TWO
    ours = hb.AdaBoostClassifier(n_estimators=10).fit(X, y)
    peer = theirs.AdaBoostClassifier(n_estimators=10, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.estimator_weights_, peer.estimator_weights_)
    np.testing.assert_array_equal(ours.predict(X), peer.predict(X))


@pytest.mark.quick
def test_arguments_stand_where_theirs_do() -> None:
    stump = LogisticRegression()
    assert hb.AdaBoostClassifier(stump).estimator is stump
    assert hb.AdaBoostRegressor(stump).estimator is stump
    for ours, peer in (
        (hb.AdaBoostClassifier(), theirs.AdaBoostClassifier()),
        (hb.AdaBoostRegressor(), theirs.AdaBoostRegressor()),
    ):
        own, known = ours.get_params(), peer.get_params()
        for name in set(own) & set(known) - {"algorithm"}:
            assert own[name] == known[name], name
        assert set(known) - {"algorithm"} <= set(own)


def by_probabilities(X: Any, y: Any, member: Any, n_rounds: int, rate: float) -> np.ndarray:
    """SAMME.R as it was published; returns the sum of h."""
    classes, labels = np.unique(y, return_inverse=True)
    n_classes = len(classes)
    code = np.where(np.eye(n_classes, dtype=bool), 1.0, -1.0 / (n_classes - 1))
    weight, total = np.full(len(y), 1.0 / len(y)), np.zeros((len(y), n_classes))
    for _ in range(n_rounds):
        shares = member.fit(X, y, sample_weight=weight).predict_proba(X)
        logs = np.log(np.maximum(shares, np.finfo(float).eps))
        total += (n_classes - 1) * (logs - logs.mean(axis=1, keepdims=True))
        factor = (code[labels] * logs).sum(axis=1) * (n_classes - 1) / n_classes
        weight = weight * np.exp(-rate * factor)
        weight /= weight.sum()
    return total / n_rounds


@pytest.mark.mission("A2")
@pytest.mark.parametrize(("X", "y"), [TWO, THREE], ids=["two classes", "three"])
@pytest.mark.parametrize("member", [GaussianNB(), hb.DecisionTreeClassifier(max_depth=2)], ids=repr)
def test_samme_r_is_as_published(X: Any, y: Any, member: Any) -> None:
    model = hb.AdaBoostClassifier(member, n_estimators=4, algorithm="SAMME.R", learning_rate=0.5)
    model.fit(X, y)
    mean = by_probabilities(X, y, member, len(model), 0.5)
    expected = mean[:, 1] - mean[:, 0] if len(model.classes_) == 2 else mean
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), model.classes_[mean.argmax(axis=1)])

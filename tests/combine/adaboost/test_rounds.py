"""The rounds of AdaBoost by hand, from members that are given, and where each variant stops."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.combine.adaboost.rounds import drucker, samme, samme_r

LABELS = np.array([0, 0, 1, 1, 2, 2])
UNIFORM = np.full(6, 1 / 6)
# what three members say of the rows: each is wrong about two, one and two of them
VOTES = [
    np.array([0, 0, 1, 0, 2, 0]),
    np.array([0, 1, 1, 1, 2, 2]),
    np.array([2, 0, 1, 1, 1, 2]),
]


class Given:
    """Members that have been fitted already; notes the weights that each would have got."""

    def __init__(self, outputs: Any) -> None:
        self.given, self.most = list(outputs), len(outputs)
        self.weights: list[np.ndarray] = []

    def fit(self, weight: np.ndarray, number: int, draw: Any = None) -> int:
        self.weights.append(weight.copy())
        return number

    def predict(self, member: int, table: int = 0) -> Any:
        return np.asarray(self.given[member])

    shares = predict


@pytest.mark.quick
@pytest.mark.mission("A1")
def test_three_rounds_of_samme_by_hand() -> None:
    members = Given(VOTES)
    rounds = list(samme(members, LABELS, UNIFORM, 3, 1.0))
    # round 1: 2 of 6 wrong, err = 1/3, alpha = log 2 + log 2 = log 4
    np.testing.assert_allclose(members.weights[0], UNIFORM)
    np.testing.assert_allclose([rounds[0].error, rounds[0].weight], [1 / 3, np.log(4)])
    # rows 3 and 5 weigh 4 times as much as the others: 12 twelfths in all
    np.testing.assert_allclose(members.weights[1], np.array([1, 1, 1, 4, 1, 4]) / 12)
    # round 2: row 1 is wrong, err = 1/12, alpha = log 11 + log 2 = log 22
    np.testing.assert_allclose([rounds[1].error, rounds[1].weight], [1 / 12, np.log(22)])
    np.testing.assert_allclose(members.weights[2], np.array([1, 22, 1, 4, 1, 4]) / 33)
    # round 3: rows 0 and 4 are wrong, err = 2/33, alpha = log(31/2) + log 2 = log 31
    np.testing.assert_allclose([rounds[2].error, rounds[2].weight], [2 / 33, np.log(31)])


@pytest.mark.quick
@pytest.mark.mission("A2")
def test_three_rounds_of_samme_r_by_hand() -> None:
    labels = np.array([0, 0, 1, 1])
    shares = np.array([[0.8, 0.2], [0.4, 0.6], [0.2, 0.8], [0.2, 0.8]])
    members = Given([shares, shares, shares])
    rounds = list(samme_r(members, labels, np.full(4, 0.25), 2, 1.0))
    # exp(-1/2 y . log p) of two classes: sqrt(p of the other / p of the own class)
    factor = np.sqrt([0.2 / 0.8, 0.6 / 0.4, 0.2 / 0.8, 0.2 / 0.8])
    for power, weight in enumerate(members.weights):
        np.testing.assert_allclose(weight, factor**power / (factor**power).sum())
    assert [one.weight for one in rounds] == [1.0, 1.0, 1.0]
    wrong = [weight[1] for weight in members.weights]
    np.testing.assert_allclose([one.error for one in rounds], wrong)


@pytest.mark.quick
@pytest.mark.mission("A3")
@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
def test_three_rounds_of_r2_by_hand(loss: str) -> None:
    target = np.array([0.0, 1.0, 2.0, 4.0])
    outputs = [[0.0, 1.0, 2.0, 2.0], [0.0, 0.0, 2.0, 4.0], [0.5, 1.0, 2.0, 4.0]]
    members = Given(outputs)
    rounds = list(drucker(members, target, np.full(4, 0.25), loss, 1.0, None))
    weight = [0.25] * 4
    for number, output in enumerate(outputs):
        np.testing.assert_allclose(members.weights[number], weight)
        errors = [abs(y - f) for y, f in zip(target, output, strict=True)]
        relative = [error / max(errors) for error in errors]
        if loss == "square":
            relative = [error * error for error in relative]
        if loss == "exponential":
            relative = [1.0 - np.exp(-error) for error in relative]
        mean = sum(w * e for w, e in zip(weight, relative, strict=True))
        beta = mean / (1.0 - mean)
        np.testing.assert_allclose(rounds[number].error, mean)
        np.testing.assert_allclose(rounds[number].weight, np.log(1.0 / beta))
        weight = [w * beta ** (1.0 - e) for w, e in zip(weight, relative, strict=True)]
        weight = [w / sum(weight) for w in weight]
    if loss == "linear":  # one row of four is off: E = 1/4, beta = 1/3; it weighs 1/2 from then on
        np.testing.assert_allclose(members.weights[1], [1 / 6, 1 / 6, 1 / 6, 1 / 2])


def first_form(members: Given, labels: np.ndarray, n_classes: int) -> np.ndarray:
    """The loop with vectors: y and b are 1 for a class and -1/(K-1) for the others."""
    code = np.where(np.eye(n_classes, dtype=bool), 1.0, -1.0 / (n_classes - 1))
    weight = np.full(len(labels), 1.0 / len(labels))
    scores = np.zeros((len(labels), n_classes))
    for number in range(members.most):
        members.fit(weight / weight.sum(), number)
        votes = members.predict(number)
        error = weight[votes != labels].sum() / weight.sum()
        beta = (n_classes - 1) ** 2 / n_classes
        beta *= np.log((1.0 - error) / error) + np.log(n_classes - 1.0)
        agreement = (code[labels] * code[votes]).sum(axis=1)
        weight = weight * np.exp(-beta * agreement / n_classes)
        scores += beta * code[votes]
    return scores


@pytest.mark.quick
@pytest.mark.mission("A1")
def test_both_forms_of_the_loop_weigh_and_predict_alike() -> None:
    one, other = Given(VOTES), Given(VOTES)
    alphas = [found.weight for found in samme(one, LABELS, UNIFORM, 3, 1.0)]
    scores = first_form(other, LABELS, 3)
    np.testing.assert_allclose(one.weights, other.weights)
    votes = sum(a * np.eye(3)[v] for a, v in zip(alphas, VOTES, strict=True))
    assert isinstance(votes, np.ndarray)
    np.testing.assert_array_equal(votes.argmax(axis=1), scores.argmax(axis=1))
    # and the votes differ from f by a factor and what all classes share
    np.testing.assert_allclose((3 - 1) * (votes - votes.mean(axis=1, keepdims=True)), scores)


@pytest.mark.quick
@pytest.mark.mission("A1")
@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_indicators_of_the_votes_decide_as_vectors_do(n_classes: int) -> None:
    """The question of source 000: b = alpha (K [vote] - 1) / (K - 1), so all scores grow alike."""
    rng = np.random.default_rng(n_classes)
    alphas = rng.exponential(size=20)
    votes = rng.integers(n_classes, size=(20, 500))
    code = np.where(np.eye(n_classes, dtype=bool), 1.0, -1.0 / (n_classes - 1))
    by_vector = np.tensordot(alphas, code[votes], 1)
    by_indicator = np.tensordot(alphas, np.eye(n_classes)[votes], 1)
    np.testing.assert_array_equal(by_vector.argmax(axis=1), by_indicator.argmax(axis=1))
    slope = n_classes / (n_classes - 1)
    shift = alphas.sum() / (n_classes - 1)
    np.testing.assert_allclose(by_vector, slope * by_indicator - shift, atol=1e-9)


@pytest.mark.quick
@pytest.mark.mission("A1")
def test_two_classes_are_discrete_adaboost() -> None:
    """Freund and Schapire 1997, with y and h in -1 and 1: alpha is half of SAMME's."""
    sign = np.array([1, 1, 1, -1, -1, -1])
    outputs = [[1, 1, -1, -1, -1, -1], [1, 1, 1, 1, -1, -1], [-1, 1, 1, -1, -1, -1]]
    members = Given([np.array(h) > 0 for h in outputs])
    rounds = list(samme(members, (sign > 0).astype(int), UNIFORM, 2, 1.0))
    weight = UNIFORM.copy()
    for number, h in enumerate(np.array(outputs)):
        np.testing.assert_allclose(members.weights[number], weight)
        error = weight[h != sign].sum()
        alpha = 0.5 * np.log((1.0 - error) / error)
        np.testing.assert_allclose(
            [rounds[number].error, rounds[number].weight / 2], [error, alpha]
        )
        weight = weight * np.exp(-alpha * sign * h)
        weight /= weight.sum()


@pytest.mark.quick
def test_a_perfect_member_is_the_last_one() -> None:
    rounds = list(samme(Given([VOTES[0], LABELS, VOTES[1]]), LABELS, UNIFORM, 3, 1.0))
    assert [one.member for one in rounds] == [0, 1]
    assert rounds[-1][1:] == (1.0, 0.0)
    target = np.arange(4.0)
    found = list(drucker(Given([target, target]), target, np.full(4, 0.25), "linear", 1.0, None))
    assert [one[1:] for one in found] == [(1.0, 0.0)]


@pytest.mark.quick
def test_a_useless_member_ends_boosting_and_is_left_out() -> None:
    useless = (LABELS + 1) % 3
    rounds = list(samme(Given([VOTES[0], useless, VOTES[1]]), LABELS, UNIFORM, 3, 1.0))
    assert [one.member for one in rounds] == [0]
    with pytest.raises(ValueError, match=r"not better than guessing: it gets 1\.000"):
        list(samme(Given([useless]), LABELS, UNIFORM, 3, 1.0))
    target, bad = np.arange(4.0), [1.0, 2.0, 3.0, 4.0]  # all rows are as wrong as the worst
    good = [0.0, 1.0, 2.0, 2.9]
    found = list(drucker(Given([good, bad]), target, np.full(4, 0.25), "linear", 1.0, None))
    assert [one.member for one in found] == [0]
    alone = list(drucker(Given([bad, good]), target, np.full(4, 0.25), "linear", 1.0, None))
    assert [one[1:] for one in alone] == [(1.0, 1.0)]


@pytest.mark.quick
def test_weights_that_grow_without_end_are_said() -> None:
    members = Given([VOTES[0]] * 3)
    with pytest.warns(UserWarning, match="have become infinite in round 1"):
        rounds = list(samme(members, LABELS, UNIFORM, 3, 1000.0))
    assert len(rounds) == 1


@pytest.mark.parametrize("rate, algorithm", [(5e-324, "SAMME"), (1e308, "SAMME.R")])
def test_members_must_weigh_something_that_can_be_added_up(rate: float, algorithm: str) -> None:
    X, y = np.arange(10.0)[:, None], np.arange(10) % 2
    model = hb.AdaBoostClassifier(n_estimators=5, learning_rate=rate, algorithm=algorithm)
    said = pytest.warns(UserWarning, match="infinite") if rate > 1.0 else nullcontext()
    with said, pytest.raises(ValueError, match=r"weigh .* together, .* nearer to 1"):
        model.fit(X, y)
    assert not hasattr(model, "estimators_")


@pytest.mark.quick
def test_rows_without_weight_never_count() -> None:
    weight = np.array([0.0, 0.25, 0.25, 0.0, 0.25, 0.25])
    members = Given(VOTES)
    rounds = list(samme(members, LABELS, weight, 3, 1.0))
    assert all(used[0] == 0.0 == used[3] for used in members.weights)
    np.testing.assert_allclose(rounds[0].error, 0.25)

"""The rounds of AdaBoost: fit a member, see where it errs, weigh the rows anew.

Each algorithm is a generator of rounds, which ends where the published one stops. Whoever takes
the rounds may stop earlier.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from hornbeam.combine.adaboost.members import Members
from hornbeam.dtypes import Array
from hornbeam.notices import warn

LEAST = float(np.finfo(np.float64).eps)  # weights and probabilities are not below
MOST_WEIGHT = 1e300  # of all members together: what they say is multiplied by it
USELESS_R2 = 0.5  # Drucker 1997: a member with so much relative error is none


class Round(NamedTuple):
    """What a round has brought."""

    member: Any
    weight: float  # of the member in the ensemble
    error: float  # of the member on the weighted rows


def samme(
    members: Members, labels: Array, weight: Array, n_classes: int, learning_rate: float
) -> Iterator[Round]:
    """SAMME (Zhu, Zou, Rosset and Hastie 2009), with 2 classes discrete AdaBoost.

    With err the weighted share of rows that the member gets wrong::

        alpha = learning_rate * (log((1 - err) / err) + log(K - 1))
        w_i <- w_i * exp(alpha * [member is wrong about row i]),  then sum(w) = 1

    Source 000 has two forms of this loop. The other one multiplies votes by
    ``beta = alpha * (K-1)^2 / K`` and weights by ``exp(-beta / K * y_i . b(x_i))``, where y and b
    are 1 for a class and -1/(K-1) for the others. All its weights are those here times a number
    that all rows share, and so they are the same once their sum is 1.
    """
    for number in range(members.most):
        weight = _raised(weight)
        member = members.fit(weight, number)
        wrong = members.predict(member) != labels
        error = float(np.average(wrong, weights=weight))
        if error <= 0.0:  # nothing is left to learn
            yield Round(member, 1.0, 0.0)
            return
        if error >= 1.0 - 1.0 / n_classes:
            if number == 0:
                raise ValueError(
                    f"The first member ({type(member).__name__}) is not better than guessing: it "
                    f"gets {error:.3f} of the weight of {n_classes} classes wrong, so AdaBoost "
                    "has nothing to build on. Choose a stronger estimator."
                )
            return
        alpha = learning_rate * (np.log((1.0 - error) / error) + np.log(n_classes - 1.0))
        yield Round(member, float(alpha), error)
        with np.errstate(over="ignore"):
            weight = np.where(wrong, weight * np.exp(alpha), weight)
        if not (weight := _normal(weight, number)).any():
            return


def samme_r(
    members: Members, labels: Array, weight: Array, n_classes: int, learning_rate: float
) -> Iterator[Round]:
    """SAMME.R, which boosts by the probabilities p_k of the members.

    ::

        h_k = (K - 1) * (log p_k - mean_j log p_j)
        w_i <- w_i * exp(-learning_rate * (K - 1) / K * y_i . log p(x_i)),  then sum(w) = 1

    where y is 1 for the class of the row and -1/(K-1) for the others, so that
    ``(K - 1) / K * y . log p`` is ``log p_c - mean_j log p_j``.
    """
    rows = np.arange(len(labels))
    for number in range(members.most):
        weight = _raised(weight)
        member = members.fit(weight, number)
        shares = members.shares(member)
        error = float(np.average(shares.argmax(axis=1) != labels, weights=weight))
        yield Round(member, learning_rate, error)
        if error <= 0.0:
            return
        logs = np.log(np.maximum(shares, LEAST))
        ahead = logs[rows, labels] - logs.mean(axis=1)
        with np.errstate(over="ignore"):
            weight = weight * np.exp(-learning_rate * ahead)
        if not (weight := _normal(weight, number)).any():
            return


def drucker(
    members: Members,
    target: Array,
    weight: Array,
    loss: str,
    learning_rate: float,
    draw: np.random.RandomState | None,
) -> Iterator[Round]:
    """AdaBoost.R2 (Drucker 1997).

    ::

        e_i = |y_i - f(x_i)| / max_j |y_j - f(x_j)|     linear; its square; or 1 - exp(-e_i)
        E = sum w_i e_i,   beta = E / (1 - E),   member weight = learning_rate * log(1 / beta)
        w_i <- w_i * beta^((1 - e_i) * learning_rate),  then sum(w) = 1

    A member is fitted to rows drawn by their weights (``draw``), or to the weights themselves.
    It stops when E >= 1/2.
    """
    counted = weight > 0.0
    for number in range(members.most):
        weight = _raised(weight)
        member = members.fit(weight, number, draw)
        error_of_row = np.abs(members.predict(member) - target)
        largest = float(error_of_row[counted].max())
        if largest > 0.0:
            error_of_row /= largest
        if loss == "square":
            error_of_row **= 2
        elif loss == "exponential":
            error_of_row = 1.0 - np.exp(-error_of_row)
        error = float(weight[counted] @ error_of_row[counted])
        if error <= 0.0:  # nothing is left to learn
            yield Round(member, 1.0, 0.0)
            return
        if error >= USELESS_R2:
            if number == 0:  # there is nothing better
                yield Round(member, 1.0, error)
            return
        beta = error / (1.0 - error)
        yield Round(member, float(learning_rate * np.log(1.0 / beta)), error)
        weight = np.where(counted, weight * beta ** ((1.0 - error_of_row) * learning_rate), 0.0)
        if not (weight := _normal(weight, number)).any():
            return


def check_weights(weights: Array) -> None:
    """Raise where the members together weigh nothing, or more than can be added up."""
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if not 0.0 < total <= MOST_WEIGHT:
        raise ValueError(
            f"The members weigh {total:g} together, but it must be more than 0 and at most "
            f"{MOST_WEIGHT:g}. Choose a learning_rate nearer to 1."
        )


def _raised(weight: Array) -> Array:
    """Weights of which none but those that are 0 is next to nothing."""
    return np.where(weight > 0.0, np.maximum(weight, LEAST), 0.0)


def _normal(weight: Array, number: int) -> Array:
    """The weights divided by their sum; all 0 if that is no number to divide by."""
    total = float(weight.sum())
    if not np.isfinite(total):
        warn(
            f"The weights of the rows have become infinite in round {number + 1}, so boosting ends "
            "there. Choose a lower learning_rate."
        )
    return weight / total if 0.0 < total < np.inf else np.zeros_like(weight)

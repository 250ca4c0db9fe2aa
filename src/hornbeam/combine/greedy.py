"""Greedy selection of members: add, again and again, the one that helps the mean the most.

Caruana, Niculescu-Mizil, Crew and Ksikes (2004). A member may be added several times; how often
is its weight. What members predict must come from models that have not seen the rows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hornbeam.dtypes import Array

N_STEPS = 25
_ROUNDING = 1e-9  # losses that differ by less are equal
_LEAST = 1e-7  # probabilities are not below: what is held impossible may happen once


def select(predictions: Array, loss: Callable[[Array], float], n_steps: int = N_STEPS) -> Array:
    """How often each member is selected, with replacement.

    ::

        E_0 = 0,  m_t = arg min_m loss((E_{t-1} + p_m) / t),  E_t = E_{t-1} + p_{m_t}

    Of equally good members the first is added; of all prefixes of m_1, m_2, ... the best counts,
    and of equally good ones the shortest.

    Parameters
    ----------
    predictions : array of shape (n_members, n_rows, n_values)
    loss : callable
        Of a mean of predictions.
    n_steps : int

    Returns
    -------
    int64 array of shape (n_members,)

    Examples
    --------
    >>> import numpy as np
    >>> from hornbeam.combine.greedy import select
    >>> predictions = np.array([[[0.0], [1.0]], [[2.0], [3.0]], [[5.0], [-5.0]]])
    >>> select(predictions, lambda mean: float(np.mean((mean[:, 0] - [1.0, 2.0]) ** 2)))
    array([1, 1, 0])
    """
    total = np.zeros(predictions.shape[1:])
    chosen: list[int] = []
    best_loss, best_length = np.inf, 1
    for step in range(1, n_steps + 1):
        losses = np.array([loss((total + added) / step) for added in predictions])
        number = int(np.argmax(losses <= losses.min() * (1.0 + _ROUNDING)))
        chosen.append(number)
        total = total + predictions[number]
        if losses[number] < best_loss * (1.0 - _ROUNDING):
            best_loss, best_length = float(losses[number]), step
    return np.bincount(chosen[:best_length], minlength=len(predictions)).astype(np.int64)


def greedy_weights(
    blocks: list[Array], target: Array, weight: Array, labels: Array | None, votes: bool
) -> Array:
    """Weights of members, whose sum is 1, by what they have predicted for held-out rows.

    Parameters
    ----------
    blocks : list of arrays of shape (n_rows, n_values)
        Probabilities of the classes, votes, or values of each member.
    target : array
        What is predicted, of a regression.
    weight : array
        Of the rows.
    labels : array of int or None
        Number of each row's class.
    votes : bool
        Whether the share of wrong rows counts and not their logarithmic loss.
    """
    weight = weight / weight.sum()
    if labels is None:
        scale = float(np.abs(target).max(initial=0.0)) or 1.0
        found = select(np.stack(blocks) / scale, _squares(target / scale, weight))
    elif votes:
        found = select(np.stack(blocks), _errors(labels, weight))
    else:
        own = np.stack([block[np.arange(len(labels)), labels] for block in blocks])
        found = select(own[:, :, None], _surprise(weight))
    return np.asarray(found / found.sum())


def _squares(target: Array, weight: Array) -> Callable[[Array], float]:
    def loss(mean: Array) -> float:
        with np.errstate(over="ignore"):  # of what is beyond all bounds
            return float(np.sum(weight * (mean[:, 0] - target) ** 2))

    return loss


def _surprise(weight: Array) -> Callable[[Array], float]:
    """Logarithmic loss, from the probabilities of the right classes alone."""
    return lambda mean: -float(np.sum(weight * np.log(np.maximum(mean[:, 0], _LEAST))))


def _errors(labels: Array, weight: Array) -> Callable[[Array], float]:
    return lambda mean: float(np.sum(weight * (mean.argmax(axis=1) != labels)))

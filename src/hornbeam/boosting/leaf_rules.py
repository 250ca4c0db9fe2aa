"""Values of leaves that are not just a Newton step: quantiles and line searches.

A tree of boosting is grown on slopes. For losses with kinks, and for first-order steps
(Friedman 2001, Algorithm 1), the value of a leaf is then chosen anew: the constant that,
added to the scores of the leaf's rows, makes their loss smallest.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from hornbeam.dtypes import Array
from hornbeam.losses import (
    Loss,
    best_order_statistic,
    slopes_of,
    total_loss,
    weighted_quantile,
)
from hornbeam.runtime.team import run_parallel

_MAX_STEPS = 30
_MAX_HALVINGS = 40
_TOLERANCE = 1e-7  # of the sum of gradients: slopes are float32
_SECONDS_PER_ROW = 100e-9


def leaf_values(
    loss: Loss,
    y: Array,
    weight: Array,
    scores: Array,
    row_lists: Sequence[Array],
    n_jobs: int | None = None,
    score: int = 0,
    groups: Array | None = None,
) -> Array:
    """The value of each leaf of a tree that will be added to one score of every row.

    Parameters
    ----------
    loss : Loss
    y, weight : arrays of shape (n_rows,)
    scores : array of shape (n_rows,) or (n_scores, n_rows)
        The scores before this tree. One score is enough where scores do not depend on
        each other (all losses but those of more than two classes).
    row_lists : sequence of integer arrays
        The rows of each leaf.
    n_jobs : int, optional
    score : int
        Which score the tree belongs to.
    groups : array, optional
        First rows of the queries and the number of rows, for ranking.

    Returns
    -------
    float64 array
        One value per leaf, 0 for a leaf without weight.
    """
    values = np.zeros(len(row_lists))
    own = scores if scores.ndim == 1 else scores[score]
    if loss.leaf_rule == "quantile":
        one_leaf = partial(_quantile, y - own, weight, float(loss.settings[score]))
    elif loss.leaf_rule == "search":
        one_leaf = partial(_order_statistic, loss, y - own, weight)
    elif loss.task == "regression":
        one_leaf = partial(_line_search, loss, y, weight, own)
    else:
        slopes, _ = slopes_of(loss, y, weight, scores, 2, groups)
        one_leaf = partial(_newton_step, slopes[score])

    def fill_leaf(leaf: int) -> None:
        rows = row_lists[leaf]
        if len(rows) and weight[rows].any():
            values[leaf] = one_leaf(rows)

    run_parallel(fill_leaf, len(row_lists), n_jobs, _SECONDS_PER_ROW * len(y))
    return values


def keep_order(child: Array, direction: Array, count: Array, value: Array) -> Array:
    """Bring values of leaves into the order that monotone constraints ask for.

    As in growing, the children of a constrained split are kept apart by a border between
    them: the middle of what they predict on the whole or, where that is the wrong way round,
    the mean of both. Values beyond the borders above them are moved to these.

    Parameters
    ----------
    child : integer array
        First of two neighbouring children of each node, which come after it; 0 for a leaf.
    direction : integer array
        +1 or -1 for nodes that ask for a constrained feature, else 0.
    count : array
        Rows of each node.
    value : float64 array
        Of each node; those of inner nodes do not matter.

    Returns
    -------
    float64 array
        The values of the leaves, and the means of the leaves below inner nodes.
    """
    mean, inner = value.copy(), np.flatnonzero(child != 0)
    for node in inner[::-1]:
        below = slice(child[node], child[node] + 2)
        mean[node] = np.average(mean[below], weights=np.maximum(count[below], 1))
    lower, upper = np.full(len(value), -np.inf), np.full(len(value), np.inf)
    for node in inner:
        left = child[node]
        lower[left : left + 2], upper[left : left + 2] = lower[node], upper[node]
        if direction[node] != 0:
            low, high = (left, left + 1) if direction[node] > 0 else (left + 1, left)
            between = 0.5 * (mean[low] + mean[high]) if mean[low] <= mean[high] else mean[node]
            lower[high] = upper[low] = np.clip(between, lower[node], upper[node])
    return np.clip(mean, lower, upper)


def _gather(weight: Array, rows: Array) -> Array:
    """Weights of some rows; a shared weight stays one that takes no memory."""
    return np.broadcast_to(weight[0], len(rows)) if weight.strides == (0,) else weight[rows]


def _quantile(rest: Array, weight: Array, share: float, rows: Array) -> float:
    return weighted_quantile(rest[rows], _gather(weight, rows), share)


def _order_statistic(loss: Loss, rest: Array, weight: Array, rows: Array) -> float:
    return best_order_statistic(loss, rest[rows], _gather(weight, rows))


def _newton_step(slopes: Array, rows: Array) -> float:
    """Friedman's single step: minus the sum of gradients over the sum of hessians."""
    gradient, hessian = slopes[rows].sum(axis=0, dtype=np.float64)
    return float(-gradient / hessian)


def _line_search(loss: Loss, y: Array, weight: Array, scores: Array, rows: Array) -> float:
    """Newton steps, each halved until the loss falls; a plain gradient step where it bends down."""
    y, weight, scores = y[rows], _gather(weight, rows), scores[rows]
    value, reached = 0.0, total_loss(loss, y, weight, scores)
    for _ in range(_MAX_STEPS):
        slopes, _ = slopes_of(loss, y, weight, scores + value)
        gradient, hessian = slopes[0].sum(axis=0, dtype=np.float64)
        size = np.abs(slopes[0, :, 0]).sum(dtype=np.float64)
        if not abs(gradient) > _TOLERANCE * size:
            break
        step = -gradient / (hessian if hessian > 0 else weight.sum())
        for _ in range(_MAX_HALVINGS):
            trial = total_loss(loss, y, weight, scores + value + step)
            if trial < reached:
                break
            step *= 0.5
        else:
            break  # rounding errors are all that is left
        value, reached = value + step, trial
    return float(value)

"""What XGBoost and LightGBM measure on rows, by the names and with the formulas that they have.

Each function takes the targets (classes as numbers from 0), the predictions (of two classes the
probability of the second one), weights or None, and the rows of each query or None.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.special
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_auc_score

from hornbeam.dtypes import Array

Measure = Callable[[Array, Array, "Array | None", "Array | None"], float]
_LEAST = 1e-15  # of a probability
_LEAST_MULTI = 1e-16


@dataclass(eq=False)
class Metric:
    """A name, a function, and which way is up."""

    name: str
    measure: Measure
    larger_is_better: bool = False


def mean(loss: Callable[[Array, Array], Array], root: bool = False) -> Measure:
    """The weighted mean of what each row costs, or its root."""

    def measure(y: Array, predicted: Array, weight: Array | None, group: Array | None) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            found = float(np.average(loss(y, predicted), weights=weight))
        return found**0.5 if root else found

    return measure


# --- numbers ---------------------------------------------------------------------------


def squared(y: Array, p: Array) -> Array:
    """The square of the error."""
    return (y - p) ** 2


def absolute(y: Array, p: Array) -> Array:
    """The size of the error."""
    return np.abs(y - p)


def squared_log(y: Array, p: Array) -> Array:
    """The square of the error of log(1 + y)."""
    gap: Array = np.log1p(p) - np.log1p(y)
    return gap**2


def relative(y: Array, p: Array) -> Array:
    """The size of the error as a share of y."""
    return np.abs((y - p) / y)


def relative_from_one(y: Array, p: Array) -> Array:
    """The same, where y counts as at least 1."""
    return np.abs(y - p) / np.maximum(1.0, np.abs(y))


def pseudo_huber(y: Array, p: Array) -> Array:
    """Of slope 1."""
    found: Array = np.sqrt(1.0 + (y - p) ** 2) - 1.0
    return found


def huber(delta: float, y: Array, p: Array) -> Array:
    """A parabola up to delta, a line beyond."""
    size = np.abs(y - p)
    return np.where(size <= delta, 0.5 * size**2, delta * (size - 0.5 * delta))


def pinball(share: float, y: Array, p: Array) -> Array:
    """The loss of a quantile."""
    return np.maximum(share * (y - p), (share - 1.0) * (y - p))


def poisson(y: Array, p: Array) -> Array:
    """Without what does not depend on p."""
    return p - y * np.log(p)


def poisson_likelihood(y: Array, p: Array) -> Array:
    """Minus its logarithm."""
    found: Array = poisson(y, p) + scipy.special.gammaln(y + 1.0)
    return found


def gamma(y: Array, p: Array) -> Array:
    """Minus the logarithm of its likelihood, of shape 1."""
    return y / p + np.log(p)


def gamma_deviance(y: Array, p: Array) -> Array:
    """Twice the distance of the likelihoods."""
    found: Array = 2.0 * (y / p - np.log(y / p) - 1.0)
    return found


def tweedie(power: float, y: Array, p: Array) -> Array:
    """Minus the logarithm of its likelihood, without what does not depend on p."""
    found: Array = p ** (2.0 - power) / (2.0 - power) - y * p ** (1.0 - power) / (1.0 - power)
    return found


# --- classes ---------------------------------------------------------------------------


def log_loss(y: Array, p: Array) -> Array:
    """Of two classes."""
    p = np.clip(p, _LEAST, 1.0 - _LEAST)
    return -np.where(y > 0, np.log(p), np.log1p(-p))


def log_loss_of_several(y: Array, p: Array) -> Array:
    """Of more classes."""
    own = p[np.arange(len(y)), y.astype(np.int64)]
    found: Array = -np.log(np.maximum(own, _LEAST_MULTI))
    return found


def wrong(threshold: float, y: Array, p: Array) -> Array:
    """Whether the class of two is the wrong one."""
    return ((p > threshold) != (y > 0)).astype(np.float64)


def wrong_of_several(y: Array, p: Array) -> Array:
    """Whether the class of several is the wrong one."""
    return (p.argmax(axis=1) != y).astype(np.float64)


def area(y: Array, p: Array, weight: Array | None, group: Array | None) -> float:
    """The area under the ROC curve; of several classes the mean by their frequency."""
    if group is not None:
        areas = [
            area(some, scores, None, None)
            for some, scores, _ in _queries(y, p, weight, group)
            if len(np.unique(some > 0)) > 1
        ]
        return float(np.mean(areas)) if areas else 0.5
    if len(np.unique(y)) < 2:
        return float("nan")
    if p.ndim > 1:
        return float(
            roc_auc_score(
                y, p, sample_weight=weight, multi_class="ovr", average="weighted",
                labels=np.arange(p.shape[1]),
            )
        )  # fmt: skip
    return float(roc_auc_score(y > 0, p, sample_weight=weight))


def area_of_precision(y: Array, p: Array, weight: Array | None, group: Array | None) -> float:
    """The area under the curve of precision and recall, by trapezia."""
    precision, recall, _ = precision_recall_curve(y > 0, p, sample_weight=weight)
    return float(auc(recall, precision))


def average_precision(y: Array, p: Array, weight: Array | None, group: Array | None) -> float:
    """The same by steps."""
    return float(average_precision_score(y > 0, p, sample_weight=weight))


# --- ranking ---------------------------------------------------------------------------


def by_query(score: Callable[[Array], float]) -> Measure:
    """The mean over queries of a score of the relevances in the order of the predictions."""

    def measure(y: Array, p: Array, weight: Array | None, group: Array | None) -> float:
        found, weights = [], []
        for relevance, scores, query_weight in _queries(y, p, weight, group):
            found.append(score(relevance[np.argsort(-scores, kind="stable")]))
            weights.append(query_weight)
        return float(np.average(found, weights=weights))

    return measure


def _queries(y: Array, p: Array, weight: Array | None, group: Array | None) -> Any:
    """The rows of each query, and what the query weighs."""
    first = 0
    for size in [len(y)] if group is None else group:
        rows = slice(first, first + int(size))
        yield y[rows], p[rows], 1.0 if weight is None else float(weight[rows].mean())
        first = rows.stop


def ndcg(top: int | None, relevance: Array) -> float:
    """Of the first few; 1 where nothing is relevant."""
    gains = 2.0**relevance - 1.0
    discounts = 1.0 / np.log2(np.arange(len(gains)) + 2.0)
    best = (np.sort(gains)[::-1] * discounts)[:top].sum()
    return float((gains * discounts)[:top].sum() / best) if best > 0 else 1.0


def mean_precision(top: int | None, relevance: Array) -> float:
    """The mean of the precision at each relevant document; 1 where nothing is relevant."""
    hits = relevance > 0
    if not hits.any():
        return 1.0
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    found = (precision * hits)[:top].sum()
    return float(found / min(hits.sum(), len(hits) if top is None else top))


def ranked(score: Callable[[int | None, Array], float], top: float | None) -> Measure:
    """A score by query of the first ``top`` documents."""
    return by_query(partial(score, None if top is None else int(top)))

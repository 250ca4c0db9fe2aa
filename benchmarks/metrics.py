"""How good predictions are, alike for every library."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.metrics import r2_score, roc_auc_score

from benchmarks.datasets import Array, DataSet

# Some libraries answer in float32: nobody is to lose because of the last digit of a sure row.
LEAST_PROBABILITY = 1e-7


def score(answer: Any, data: DataSet) -> float:
    """AUC, R2 or NDCG@10 on the test rows: more is better."""
    if data.task == "classification":
        return auc(answer, data.y_test)
    if data.task == "regression":
        return float(r2_score(data.y_test, answer))
    return ndcg(answer, data.y_test, data.queries_test)


def auc(probabilities: Array, y: Array) -> float:
    """Area under the ROC curve: for many classes, each against the rest, by their share."""
    if probabilities.shape[1] == 2:
        return float(roc_auc_score(y, probabilities[:, 1]))
    shares = np.bincount(y, minlength=probabilities.shape[1]) / len(y)
    there = [k for k, share in enumerate(shares) if 0 < share < 1]
    areas = [roc_auc_score(y == k, probabilities[:, k]) for k in there]
    return float(np.average(areas, weights=shares[there]))


def log_loss(probabilities: Array, y: Array) -> float:
    """Minus the mean logarithm of the probability that the true class was given."""
    given = np.asarray(probabilities, np.float64)
    given = given / given.sum(axis=1, keepdims=True)
    chosen = given[np.arange(len(y)), y]
    return float(-np.log(np.maximum(chosen, LEAST_PROBABILITY)).mean())


def rmse(predicted: Array, y: Array) -> float:
    """Root of the mean squared error."""
    return math.sqrt(float(np.mean((np.asarray(predicted, np.float64) - y) ** 2)))


def ndcg(scores: Array, relevance: Array, sizes: Any, k: int = 10) -> float:
    """Mean NDCG@k over the queries that have something to find, with gains 2^relevance - 1.

    Rows of equal score keep the order they came in.
    """
    found = []
    ends = np.cumsum(sizes)
    for start, end in zip(ends - sizes, ends, strict=True):
        gains = 2.0 ** relevance[start:end] - 1
        discounts = 1 / np.log2(np.arange(2, min(k, len(gains)) + 2))
        best = np.sort(gains)[::-1][:k] @ discounts
        if best > 0:
            order = np.argsort(-scores[start:end], kind="stable")[:k]
            found.append(gains[order] @ discounts / best)
    return float(np.mean(found))

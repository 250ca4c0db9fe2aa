"""How good a model is on held-out rows, beside a guess that ignores the features."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import metrics
from sklearn.dummy import DummyClassifier, DummyRegressor

from hornbeam.cli.parameters import quantiles_of

Scores = dict[str, float]  # NaN where a metric is not defined on these rows


def evaluate(model: Any, X: Any, y: Any) -> Scores:
    """Score a fitted model on rows it has not seen."""
    return _class_scores(model, X, y) if hasattr(model, "classes_") else _value_scores(model, X, y)


def baseline(model: Any, y_train: Any, y_test: Any) -> tuple[str, Scores]:
    """Score the best guess without features, and say what it is."""
    shares = quantiles_of(model)
    if shares:
        constant = np.tile(np.quantile(y_train, shares), (len(y_test), 1))
        return "quantile of the target", _quantile_scores(constant, y_test, shares)
    if hasattr(model, "classes_"):
        guess, name = DummyClassifier(strategy="prior"), "most frequent class"
    else:
        guess, name = DummyRegressor(strategy="mean"), "mean of the target"
    nothing = np.zeros((len(y_train), 1))
    guess.fit(nothing, y_train)
    return name, evaluate(guess, np.zeros((len(y_test), 1)), y_test)


def _class_scores(model: Any, X: Any, y: Any) -> Scores:
    labels = model.classes_
    predicted = model.predict(X)
    shares = model.predict_proba(X)

    def area() -> float:
        if len(labels) == 2:
            return float(metrics.roc_auc_score(y == labels[1], shares[:, 1]))
        return float(metrics.roc_auc_score(y, shares, multi_class="ovr", labels=labels))

    return {
        "accuracy": _defined(lambda: metrics.accuracy_score(y, predicted)),
        "balanced accuracy": _defined(lambda: metrics.balanced_accuracy_score(y, predicted)),
        "log loss": _defined(lambda: metrics.log_loss(y, shares, labels=labels)),
        "ROC AUC": _defined(area),
    }


def _value_scores(model: Any, X: Any, y: Any) -> Scores:
    predicted = model.predict(X)
    shares = quantiles_of(model)
    if shares:
        return _quantile_scores(predicted.reshape(len(y), -1), y, shares)
    return {
        "R2": _defined(lambda: metrics.r2_score(y, predicted)),
        "RMSE": _defined(lambda: metrics.root_mean_squared_error(y, predicted)),
        "MAE": _defined(lambda: metrics.mean_absolute_error(y, predicted)),
    }


def _quantile_scores(predicted: Any, y: Any, shares: list[float]) -> Scores:
    scores = {}
    for k, share in enumerate(shares):
        loss = metrics.mean_pinball_loss(y, predicted[:, k], alpha=share)
        scores[f"pinball loss of {share:g}"] = float(loss)
        scores[f"rows at or below {share:g}"] = float(np.mean(y <= predicted[:, k]))
    return scores


def _defined(metric: Callable[[], float]) -> float:
    """Compute a metric; NaN where it has no meaning (a class without test rows, one row)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return float(metric())
        except ValueError:
            return math.nan

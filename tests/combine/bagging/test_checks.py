"""scikit-learn's own checks on bagging."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils.estimator_checks import (
    check_param_validation,
    check_readonly_memmap_input,
    parametrize_with_checks,
)

import hornbeam as hb

Classifier, Regressor = hb.BaggingClassifier, hb.BaggingRegressor


@parametrize_with_checks(
    [
        Classifier(n_estimators=5),
        Regressor(n_estimators=5),
        Classifier(LogisticRegression(), 5, kind="pasting", voting="hard", max_samples=0.8),
        # of fewer patches it happens that none holds the one cell that a check has broken
        Regressor(Ridge(), 40, kind="patches", max_samples=0.8, n_jobs=2),
    ]
)
def test_yielded_check(estimator: Any, check: Any) -> None:
    """Weights are probabilities of being drawn, so a repeated row is not the same bit for bit."""
    if "sample_weight_equivalence" in str(check):
        pytest.skip("rows are drawn at random: test_sampling.py compares the probabilities")
    check(estimator)


@pytest.mark.parametrize("model", [Classifier(n_estimators=3), Regressor(n_estimators=3)], ids=repr)
@pytest.mark.parametrize("check", [check_param_validation, check_readonly_memmap_input])
def test_check_that_is_not_always_yielded(check: Any, model: Any) -> None:
    check(type(model).__name__, model)

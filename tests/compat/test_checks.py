"""scikit-learn's own checks on the adapters."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from hornbeam.compat.sklearn import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

FEW = {"n_estimators": 5}


@parametrize_with_checks(
    [
        GradientBoostingClassifier(**FEW),
        GradientBoostingRegressor(**FEW),
        HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5),
        HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=5),
    ]
)
def test_yielded_check(estimator: Any, check: Any) -> None:
    """As on our own boosting, a row of weight 2 is one row to ``min_samples_leaf``."""
    if "sample_weight_equivalence" in str(check):
        pytest.skip("min_samples_leaf counts rows, not weights")
    check(estimator)

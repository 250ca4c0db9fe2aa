"""scikit-learn's own checks on the isolation forest."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import (
    check_fit_idempotent,
    check_methods_subset_invariance,
    check_outliers_train,
    check_param_validation,
    check_readonly_memmap_input,
    parametrize_with_checks,
)

import hornbeam as hb

Forest = hb.IsolationForest
OTHER_WAYS = [
    {"extension_level": 1},
    {"bootstrap": True, "max_samples": 0.7},
    {"contamination": 0.2, "n_jobs": 2},
    {"max_features": 0.5},
]


@parametrize_with_checks([Forest(n_estimators=10)])
def test_yielded_check(estimator: Any, check: Any) -> None:
    """Weights are probabilities of being drawn, so a repeated row is not the same bit for bit."""
    if "sample_weight_equivalence" in str(check):
        pytest.skip("rows are drawn at random: test_isolation.py compares the probabilities")
    check(estimator)


@pytest.mark.parametrize("params", OTHER_WAYS, ids=repr)
def test_other_ways_of_isolating(params: dict[str, Any]) -> None:
    forest = Forest(n_estimators=20, random_state=0, **params)
    check_outliers_train("IsolationForest", forest)
    check_methods_subset_invariance("IsolationForest", forest)
    check_fit_idempotent("IsolationForest", forest)


@pytest.mark.parametrize("check", [check_param_validation, check_readonly_memmap_input])
def test_check_that_is_not_always_yielded(check: Any) -> None:
    check("IsolationForest", Forest(n_estimators=5))

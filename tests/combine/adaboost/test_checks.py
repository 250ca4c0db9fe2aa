"""scikit-learn's own checks on AdaBoost."""

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

Classifier, Regressor = hb.AdaBoostClassifier, hb.AdaBoostRegressor
DRAWN = (
    "rows are drawn at random, to be learnt from or to be held out: a repeated row is two of them"
)


def expected(estimator: Any) -> dict[str, str]:
    """Checks that cannot hold where rows are drawn."""
    if not (getattr(estimator, "resample", False) or estimator.early_stopping is True):
        return {}
    return {
        f"check_sample_weight_equivalence_on_{kind}_data": DRAWN for kind in ("dense", "sparse")
    }


@parametrize_with_checks(
    [
        Classifier(n_estimators=5),
        Classifier(n_estimators=5, algorithm="SAMME.R", calibrate=True),
        Classifier(LogisticRegression(), n_estimators=5, early_stopping=True),
        Regressor(n_estimators=5),
        Regressor(n_estimators=5, resample=False),
        Regressor(Ridge(), n_estimators=5, loss="square", early_stopping=True),
    ],
    expected_failed_checks=expected,
)
def test_yielded_check(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("model", [Classifier(n_estimators=3), Regressor(n_estimators=3)], ids=repr)
@pytest.mark.parametrize("check", [check_param_validation, check_readonly_memmap_input])
def test_check_that_is_not_always_yielded(check: Any, model: Any) -> None:
    check(type(model).__name__, model)

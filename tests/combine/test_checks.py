"""scikit-learn's own checks on voting, stacking and blending."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import (
    check_param_validation,
    check_readonly_memmap_input,
    parametrize_with_checks,
)

import hornbeam as hb

classes: list[Any] = [("line", LogisticRegression()), ("tree", DecisionTreeClassifier(max_depth=3))]
numbers: list[Any] = [("line", Ridge()), ("tree", DecisionTreeRegressor(max_depth=3))]
MODELS = [
    hb.VotingClassifier(classes),
    hb.VotingClassifier(classes, voting="soft", weights="held_out", cv=2),
    hb.VotingRegressor(numbers),
    hb.StackingClassifier(classes, cv=2),
    hb.StackingClassifier(classes, LogisticRegression(), cv=3, refit="fold_mean", n_jobs=2),
    hb.StackingRegressor(numbers, cv=2),
    hb.StackingRegressor(numbers, Ridge(), cv=3, passthrough=True),
    hb.BlendingClassifier(classes),
    hb.BlendingRegressor(numbers, Ridge(), refit=False),
]


@parametrize_with_checks(MODELS)
def test_yielded_check(estimator: Any, check: Any) -> None:
    """A row that is there twice can be in two folds, which one of weight 2 cannot."""
    splits = not isinstance(estimator, hb.VotingRegressor) and estimator != MODELS[0]
    if splits and "sample_weight_equivalence" in str(check):
        pytest.skip("rows are parted into folds, repeated ones like any other")
    check(estimator)


@pytest.mark.parametrize("model", [MODELS[0], MODELS[3], MODELS[5], MODELS[7]], ids=repr)
@pytest.mark.parametrize("check", [check_param_validation, check_readonly_memmap_input])
def test_check_that_is_not_always_yielded(check: Any, model: Any) -> None:
    check(type(model).__name__, model)

"""scikit-learn's own checks: all that it yields, for both trees."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import (
    check_classifiers_one_label_sample_weights,
    check_param_validation,
    check_sample_weight_equivalence_on_dense_data,
    parametrize_with_checks,
)

import hornbeam as hb

# ID3 takes categories only; scikit-learn's checks pass numbers.
TREES = [hb.C45Classifier(), hb.ID3Classifier(numeric="categories")]


@parametrize_with_checks(TREES)
def test_yielded_check(estimator: Any, check: Any) -> None:
    check(estimator)


OTHER_WAYS = [
    hb.C45Classifier(grouping=True, mdl_correction=False),
    hb.C45Classifier(pruning=None, n_jobs=2),
    hb.C45Classifier(raising=False, min_samples_leaf=0.1),
    hb.ID3Classifier(numeric="categories", missing="fractions"),
]


@pytest.mark.parametrize("model", OTHER_WAYS, ids=repr)
@pytest.mark.mission("T13")
def test_other_ways(model: Any) -> None:
    name = type(model).__name__
    check_sample_weight_equivalence_on_dense_data(name, model)
    check_classifiers_one_label_sample_weights(name, model)
    check_param_validation(name, model)

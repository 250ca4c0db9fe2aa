"""scikit-learn's own checks on the forests and the embedding."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import (
    check_classifiers_one_label_sample_weights,
    check_classifiers_train,
    check_fit_idempotent,
    check_methods_subset_invariance,
    check_param_validation,
    check_readonly_memmap_input,
    check_regressors_train,
    check_sample_weight_equivalence_on_dense_data,
    check_sample_weight_equivalence_on_sparse_data,
    check_transformer_general,
    parametrize_with_checks,
)

import hornbeam as hb

CLASSIFIERS = [hb.RandomForestClassifier, hb.ExtraTreesClassifier]
REGRESSORS = [hb.RandomForestRegressor, hb.ExtraTreesRegressor]
FORESTS = [*CLASSIFIERS, *REGRESSORS]


def expected_failures(estimator: Any) -> dict[str, str]:
    """Chance is a matter of rows: a row of weight 2 is one row that is drawn, not two."""
    if not estimator.bootstrap:
        return {}
    reason = "rows are drawn at random, so repeated rows are drawn more often"
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@parametrize_with_checks(
    [*(forest(n_estimators=10) for forest in FORESTS), hb.RandomTreesEmbedding(n_estimators=10)],
    expected_failed_checks=expected_failures,
)
def test_yielded_check(estimator: Any, check: Any) -> None:
    check(estimator)


OTHER_WAYS = [
    {"finder": "exact", "n_jobs": 2},
    {"max_leaf_nodes": 20, "constant_features": "count"},
    {"bootstrap": True, "max_samples": 0.7, "oob_score": True},
    {"bootstrap": True, "early_stopping": True},
]


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("params", OTHER_WAYS, ids=repr)
def test_other_ways_of_growing(params: dict[str, Any]) -> None:
    few = {"n_estimators": 20, "random_state": 0, **params}
    for forest in CLASSIFIERS:
        check_classifiers_train(forest.__name__, forest(**few))
        check_classifiers_one_label_sample_weights(forest.__name__, forest(**few))
    for forest in REGRESSORS:
        check_regressors_train(forest.__name__, forest(**few))
    for forest in FORESTS:
        check_methods_subset_invariance(forest.__name__, forest(**few))
        check_fit_idempotent(forest.__name__, forest(**few))


WEIGHING = [
    hb.RandomForestClassifier(bootstrap=False, max_features=None),
    hb.RandomForestClassifier(bootstrap=False, criterion="entropy", finder="exact"),
    hb.RandomForestRegressor(bootstrap=False, criterion="absolute_error"),
    hb.ExtraTreesRegressor(criterion="friedman_mse", max_features=None),
    hb.ExtraTreesClassifier(finder="exact"),
]


@pytest.mark.parametrize("model", WEIGHING, ids=repr)
def test_weights_are_repetitions(model: Any) -> None:
    model.set_params(n_estimators=5)
    check_sample_weight_equivalence_on_dense_data(type(model).__name__, model)
    check_sample_weight_equivalence_on_sparse_data(type(model).__name__, model)


@pytest.mark.parametrize("check", [check_param_validation, check_readonly_memmap_input])
@pytest.mark.parametrize("forest", [*FORESTS, hb.RandomTreesEmbedding])
def test_check_that_is_not_always_yielded(check: Any, forest: Any) -> None:
    check(forest.__name__, forest(n_estimators=5))


def test_a_dense_embedding() -> None:
    check_transformer_general(
        "RandomTreesEmbedding", hb.RandomTreesEmbedding(n_estimators=5, sparse_output=False)
    )

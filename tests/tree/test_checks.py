"""scikit-learn's own checks: all that it yields, and the ones it keeps to itself that apply."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import (
    check_classifiers_one_label_sample_weights,
    check_classifiers_predictions,
    check_classifiers_train,
    check_estimators_unfitted,
    check_fit_idempotent,
    check_inplace_ensure_writeable,
    check_methods_subset_invariance,
    check_n_features_in_after_fitting,
    check_param_validation,
    check_readonly_memmap_input,
    check_regressors_train,
    check_sample_weight_equivalence_on_dense_data,
    check_sample_weight_equivalence_on_sparse_data,
    parametrize_with_checks,
)

import hornbeam as hb

Classifier, Regressor = hb.DecisionTreeClassifier, hb.DecisionTreeRegressor
TREES = [Classifier, Regressor]


@parametrize_with_checks([Classifier(), Regressor()])
def test_yielded_check(estimator: Any, check: Any) -> None:
    """No expected failures: scikit-learn 1.9 declares none for its own trees either."""
    check(estimator)


# As scikit-learn does with its own trees, weights are checked with every criterion.
WEIGHING = [
    Classifier(criterion="entropy"),
    Classifier(criterion="log_loss"),
    Classifier(criterion="misclassification"),
    Classifier(finder="histogram"),
    Regressor(criterion="absolute_error"),
    Regressor(criterion="friedman_mse"),
    Regressor(criterion="poisson"),
    Regressor(finder="histogram"),
]


@pytest.mark.parametrize("model", WEIGHING, ids=repr)
def test_weights_are_repetitions(model: Any) -> None:
    check_sample_weight_equivalence_on_dense_data(type(model).__name__, model)
    check_sample_weight_equivalence_on_sparse_data(type(model).__name__, model)


OTHER_WAYS = [{"finder": "histogram"}, {"growth": "level", "n_jobs": 2}, {"max_leaf_nodes": 20}]


@pytest.mark.parametrize("params", OTHER_WAYS, ids=repr)
def test_other_ways_of_growing(params: dict[str, Any]) -> None:
    check_classifiers_train("Classifier", Classifier(**params))
    check_classifiers_one_label_sample_weights("Classifier", Classifier(**params))
    check_regressors_train("Regressor", Regressor(**params))
    for tree in TREES:
        check_methods_subset_invariance(tree.__name__, tree(**params))
        check_fit_idempotent(tree.__name__, tree(**params))


# --- checks that are never yielded ------------------------------------------------------------


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize(
    "check",
    [
        check_param_validation,
        check_inplace_ensure_writeable,
        # Yielded too; named here so that they run whatever scikit-learn yields.
        check_readonly_memmap_input,
        check_estimators_unfitted,
        check_n_features_in_after_fitting,
    ],
)
def test_check_that_is_not_always_yielded(check: Any, tree: Any) -> None:
    check(tree.__name__, tree())


def test_classes_are_named_as_they_came() -> None:
    X = np.random.default_rng(0).normal(size=(200, 4))
    y = np.where(X[:, 0] > 1, "yes", np.where(X[:, 1] > 0, "no", "perhaps"))
    check_classifiers_predictions(X, y, "Classifier", Classifier())


def test_array_api_check_runs_where_it_is_switched_on() -> None:
    """scikit-learn skips it unless SCIPY_ARRAY_API was set before scipy was imported."""
    code = (
        "import hornbeam as hb\n"
        "from sklearn.utils.estimator_checks import _yield_array_api_checks\n"
        "for tree in (hb.DecisionTreeClassifier(), hb.DecisionTreeRegressor()):\n"
        "    for check in _yield_array_api_checks(tree, only_numpy=True):\n"
        "        check(type(tree).__name__, tree)\n"
        "        print('checked')\n"
    )
    if not hasattr(estimator_checks, "_yield_array_api_checks"):
        pytest.skip("this version of scikit-learn has no such checks")
    if "only_numpy" not in inspect.signature(estimator_checks._yield_array_api_checks).parameters:
        pytest.skip("in this version of scikit-learn they need another array library")
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
    )
    assert result.stdout.count("checked") >= 2, result.stderr


@pytest.mark.parametrize("tree", TREES)
def test_predictors_have_no_output_containers(tree: Any) -> None:
    """`check_set_output_*`, `check_global_*` and `check_*_feature_names_out`: transformers only."""
    for name in ("transform", "fit_transform", "set_output", "get_feature_names_out"):
        assert not hasattr(tree(), name)


# --- column names -----------------------------------------------------------------------------
#
# `check_dataframe_column_names_consistency` cannot be called as it is: it asks for an error when
# the columns come in another order. We match columns by name, so another order gives the same
# predictions; everything else that it asks for is below.

NAMES = [f"col_{i}" for i in range(8)]


def named_fit(tree: Any) -> tuple[Any, pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(150, 8)), columns=NAMES)
    y = rng.integers(0, 2, 150) if tree is Classifier else rng.normal(size=150)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return tree(max_depth=4, random_state=0).fit(X, y), X, y


def methods_of(model: Any, y: Any) -> list[Any]:
    methods = [model.predict, model.apply, model.decision_path, lambda X: model.score(X, y)]
    if isinstance(model, Classifier):
        methods += [model.predict_proba, model.predict_log_proba]
    return methods


@pytest.mark.parametrize("tree", TREES)
def test_names_are_kept_and_accepted(tree: Any) -> None:
    model, X, y = named_fit(tree)
    assert isinstance(model.feature_names_in_, np.ndarray)
    assert model.feature_names_in_.dtype == object
    assert model.feature_names_in_.tolist() == NAMES
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for method in methods_of(model, y):
            method(X)


@pytest.mark.parametrize("tree", TREES)
def test_wrong_names_are_named(tree: Any) -> None:
    model, X, y = named_fit(tree)
    renamed = X.set_axis([f"another_prefix_{i}" for i in range(8)], axis=1)
    words = (
        "The feature names should match those that were passed during fit.\n"
        "Feature names unseen at fit time:\n- another_prefix_0\n- another_prefix_1\n"
    )
    fewer = (
        "The feature names should match those that were passed during fit.\n"
        "Feature names seen at fit time, yet now missing:\n- col_3\n"
    )
    for table, message in ((renamed, words), (X[NAMES[:3]], fewer)):
        for method in methods_of(model, y):
            with pytest.raises(ValueError, match=re.escape(message)):
                method(table)


@pytest.mark.parametrize("tree", TREES)
def test_columns_in_another_order_are_found_by_name(tree: Any) -> None:
    model, X, y = named_fit(tree)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for method in methods_of(model, y):
            plain, reversed_ = method(X), method(X[NAMES[::-1]])
            if hasattr(plain, "toarray"):
                plain, reversed_ = plain.toarray(), reversed_.toarray()
            np.testing.assert_array_equal(plain, reversed_)


@pytest.mark.parametrize("tree", TREES)
def test_a_nameless_table_gives_a_warning(tree: Any) -> None:
    model, X, _ = named_fit(tree)
    with pytest.warns(UserWarning, match="X does not have valid feature names, but"):
        nameless = model.predict(X.to_numpy())
    np.testing.assert_array_equal(nameless, model.predict(X))
    with pytest.warns(UserWarning, match="X has feature names, but"):
        tree().fit(X.to_numpy(), nameless).predict(X)
    assert not hasattr(tree().fit(X.to_numpy(), nameless), "feature_names_in_")

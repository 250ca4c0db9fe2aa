"""Infinite values in X are numbers to boosting: larger, or smaller, than all others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import hornbeam as hb

VALUES = np.array([-np.inf, -np.inf, 0.0, 1.0, 2.0, np.inf, np.inf, np.nan])
TARGET = np.array([5.0, 5.0, 1.0, 1.0, 1.0, 9.0, 9.0, 7.0])
SETTINGS = {"min_samples_leaf": 1, "n_estimators": 60, "learning_rate": 0.5, "reg_lambda": 0.0}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_infinite_values_are_learnt_from(dtype):
    X = VALUES.reshape(-1, 1).astype(dtype)
    model = hb.GradientBoostingRegressor(**SETTINGS).fit(X, TARGET)
    np.testing.assert_allclose(model.predict(X), TARGET, atol=1e-4)
    thresholds = np.concatenate([tree.threshold for tree in model.trees_])
    assert np.isfinite(thresholds[~np.isnan(thresholds)]).any()
    limit = np.finfo(dtype).max
    clipped = np.clip(X, -limit, limit)
    same = hb.GradientBoostingRegressor(**SETTINGS).fit(clipped, TARGET)
    assert same.digest() == model.digest()
    np.testing.assert_array_equal(model.apply(X), model.apply(clipped))
    np.testing.assert_array_equal(list(model.staged_predict(X))[3], list(same.staged_predict(X))[3])
    np.testing.assert_array_equal(X, VALUES.reshape(-1, 1).astype(dtype))  # not written to


def test_so_they_are_in_frames_sparse_tables_and_validation_rows():
    X = np.column_stack([VALUES, np.arange(8.0)])
    plain = hb.GradientBoostingRegressor(**SETTINGS).fit(X, TARGET)
    frame = pd.DataFrame({"a": VALUES, "b": np.arange(8)})
    named = hb.GradientBoostingRegressor(**SETTINGS).fit(frame, TARGET)
    np.testing.assert_array_equal(named.predict(frame), plain.predict(X))
    sparse = scipy.sparse.csr_array(np.nan_to_num(X, nan=0.0, posinf=np.inf, neginf=-np.inf))
    model = hb.GradientBoostingRegressor(**SETTINGS).fit(sparse, TARGET)
    np.testing.assert_array_equal(model.predict(sparse), model.predict(sparse.toarray()))
    watched = hb.GradientBoostingRegressor(**SETTINGS).fit(X, TARGET, X_val=X, y_val=TARGET)
    assert watched.history_["validation"][-1] < 1e-4


def test_others_still_refuse_them():
    with pytest.raises(ValueError, match=r"infinity.*column 0 holds -inf in row 0"):
        hb.DecisionTreeRegressor().fit(VALUES.reshape(-1, 1), TARGET)

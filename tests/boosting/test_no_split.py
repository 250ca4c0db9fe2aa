"""A model that cannot learn says so."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import hornbeam as hb

X = np.arange(60.0).reshape(-1, 1)


def test_hessians_too_small_for_min_child_weight() -> None:
    y = 1e-30 * (1.0 + X[:, 0] % 7)
    with pytest.warns(UserWarning, match="less than twice min_child_weight=0.001"):
        hb.GradientBoostingRegressor(loss="poisson").fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = hb.GradientBoostingRegressor(loss="poisson", min_child_weight=0.0).fit(X, y)
    assert model.trees_[0].n_leaves > 1


def test_gradients_that_vanish() -> None:
    with pytest.warns(UserWarning, match="all gradients round to zero"):
        hb.GradientBoostingRegressor().fit(X, 1e-300 * X[:, 0])


def test_nothing_to_say_about_constant_data() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = hb.GradientBoostingRegressor().fit(np.zeros((60, 1)), X[:, 0])
        hb.GradientBoostingRegressor().fit(X, np.ones(60))
    assert model.trees_[0].n_leaves == 1

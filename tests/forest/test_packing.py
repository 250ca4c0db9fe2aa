"""Packing a grown tree in one pass gives what the way through an ordinary tree gives."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import hornbeam as hb
from hornbeam.forest import packing
from hornbeam.forest.packing import Packer


def _table(with_categories):
    random = np.random.default_rng(3)
    X = pd.DataFrame(random.normal(size=(400, 4)), columns=list("abcd"))
    X.loc[random.random(400) < 0.1, "b"] = np.nan
    if with_categories:
        X["e"] = pd.Categorical(random.choice(list("uvwxyz"), 400))
    y = (X["a"] > 0).astype(int) + (X["c"] > 0.5).astype(int)
    y[random.random(400) < 0.2] = 0
    return X, y


@pytest.mark.parametrize(
    "estimator",
    [
        hb.RandomForestClassifier,
        hb.RandomForestRegressor,
        hb.ExtraTreesClassifier,
        hb.ExtraTreesRegressor,
    ],
)
@pytest.mark.parametrize("with_categories", [False, True])
@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("min_samples_leaf", [1, 7])
def test_one_pass_is_the_long_way(
    monkeypatch, estimator, with_categories, outputs, min_samples_leaf
):
    X, y = _table(with_categories)
    target = y if outputs == 1 else np.column_stack([y, y % 2])

    def fit():
        forest = estimator(n_estimators=5, min_samples_leaf=min_samples_leaf, random_state=0)
        return forest.fit(X, target)

    at_once = fit()
    prepare = Packer.__init__

    def the_long_way(self, task, ccp_alpha):
        prepare(self, task, ccp_alpha)
        self.special = True

    monkeypatch.setattr(Packer, "__init__", the_long_way)
    slowly = fit()
    assert at_once.digest() == slowly.digest()
    monkeypatch.undo()
    monkeypatch.setattr(packing, "_SHORT_TABLE", 0)  # tables are made distinct tree by tree
    assert fit().digest() == slowly.digest()
    np.testing.assert_allclose(
        at_once.feature_importances_, slowly.feature_importances_, rtol=1e-12, atol=1e-15
    )

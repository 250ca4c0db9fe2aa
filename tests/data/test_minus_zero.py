"""Minus zero is zero: which of them a table holds does not show in any model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import hornbeam as hb
from hornbeam.model.modelfile import model_bytes

rng = np.random.default_rng(0)
TABLES = {
    "whole": rng.integers(-1, 2, size=(40, 4)).astype(float),
    "sparse": np.where(rng.random((40, 4)) < 0.6, 0.0, rng.normal(size=(40, 4)).round(1)),
    "tiny": rng.choice([0.0, 5e-324, -5e-324, 1e-320, 1.5], size=(40, 4)),
}
VALUES = rng.integers(-1, 2, 40).astype(float)
few: dict[str, Any] = {"n_estimators": 3, "random_state": 0}
rounds: dict[str, Any] = {"min_samples_leaf": 1, "learning_rate": 0.1, **few}
MODELS = {
    "tree": hb.DecisionTreeClassifier(),
    "bins": hb.DecisionTreeRegressor(finder="histogram"),
    "medians": hb.DecisionTreeRegressor(criterion="absolute_error"),
    "random cuts": hb.DecisionTreeRegressor(splitter="random", random_state=0),
    "categories": hb.DecisionTreeClassifier(categorical_features=[0, 1]),
    "id3": hb.ID3Classifier(numeric="categories"),
    "c45": hb.C45Classifier(),
    "forest": hb.RandomForestClassifier(categorical_features=[0], **few),
    "leaf samples": hb.RandomForestRegressor(leaf_samples=True, **few),
    "extra trees": hb.ExtraTreesRegressor(**few),
    "isolation": hb.IsolationForest(categorical_features=[0], **few),
    "planes": hb.IsolationForest(extension_level=2, contamination=0.1, **few),
    "boosted classes": hb.GradientBoostingClassifier(categorical_features=[1], **rounds),
    "boosted medians": hb.GradientBoostingRegressor(loss="absolute_error", **rounds),
}
NO_CATEGORIES = ("bins", "random cuts", "planes", "extra trees", "boosted medians")


def with_minus(values: np.ndarray) -> np.ndarray:
    """Every other zero is a negative one."""
    changed = values.copy()
    zeros = np.flatnonzero(changed == 0.0)
    changed.reshape(-1)[zeros[::2]] = -0.0
    assert np.signbit(changed[changed == 0.0]).any()
    return changed


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", MODELS)
def test_dense_tables_and_targets(name: str, table: str) -> None:
    model, X = MODELS[name], TABLES[table]
    expected = model_bytes(model.fit(X, VALUES))
    digest, kept = model.digest(), X.copy()
    for changed, y in ((with_minus(X), VALUES), (X, with_minus(VALUES))):
        assert model_bytes(model.fit(changed, y)) == expected and model.digest() == digest
    assert np.array_equal(np.signbit(X), np.signbit(kept))


@pytest.mark.parametrize("name", NO_CATEGORIES)
def test_stored_zeros_of_sparse_tables(name: str) -> None:
    model, X = MODELS[name], scipy.sparse.csr_array(TABLES["sparse"])
    stored = X + scipy.sparse.csr_array((np.ones(3), ([0, 1, 2], [0, 0, 1])), X.shape)
    stored.data[:] = [X[r, c] or -0.0 for r, c in zip(*stored.nonzero(), strict=True)]
    assert stored.nnz > X.nnz
    assert model_bytes(model.fit(stored, VALUES)) == model_bytes(model.fit(X, VALUES))

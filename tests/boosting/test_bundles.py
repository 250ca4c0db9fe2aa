"""Exclusive features share a column, and nothing else changes."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import hornbeam as hb
from hornbeam.boosting.bundles import Bundles, find_bundles
from hornbeam.data.coding import encode_bins
from hornbeam.data.pages import cut_at


def one_hot(n_rows: int = 3000) -> tuple[Any, Any]:
    """Two groups of exclusive columns, four of noise, and missing values in one group."""
    random = np.random.default_rng(0)
    X = np.zeros((n_rows, 24))
    first, second = random.integers(0, 12, n_rows), random.integers(0, 8, n_rows)
    X[np.arange(n_rows), first] = random.integers(1, 4, n_rows)
    X[:, 12:16] = random.normal(size=(n_rows, 4))
    X[np.arange(n_rows), 16 + second] = 1.0
    X[second == 3, 19] = np.nan
    y = X[:, 12] + first % 3 + 2.0 * (second == 3) + random.normal(size=n_rows)
    return X, y


def bundles_of(X: Any) -> tuple[Bundles, Any]:
    n_features = X.shape[1]
    codes = encode_bins(X, np.zeros(n_features, bool), np.zeros(n_features, np.int64))
    return find_bundles(codes.columns, codes.n_codes), codes


@pytest.mark.mission("L5")
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"subsample": 0.6},
        {"sampling": "goss"},
        {"colsample_bytree": 0.4},
        {"colsample_bynode": 0.5},
        {"n_jobs": 4},
        {"growth": "level"},
        {"growth": "depth"},
        {"growth": "symmetric"},
        {"growth": "alternate"},
    ],
    ids=str,
)
def test_bundling_does_not_change_the_model(parameters: dict[str, Any]) -> None:
    X, y = one_hot()
    assert bundles_of(X)[0].n_columns == 6
    model = hb.GradientBoostingRegressor(n_estimators=20, random_state=0, **parameters)
    with_bundles = model.fit(X, y).digest()
    assert [len(bundle) for bundle in model.bundles_] == [12, 8]
    predicted = model.predict(X)
    assert model.set_params(bundle_features=False).fit(X, y).digest() == with_bundles
    assert model.bundles_ == []
    np.testing.assert_array_equal(model.predict(X), predicted)
    stored = scipy.sparse.csr_array(np.nan_to_num(X))
    digests = {model.set_params(bundle_features=b).fit(stored, y).digest() for b in (True, False)}
    assert len(digests) == 1 and model.bundles_ == []


# --- conflicts -----------------------------------------------------------------------------


def conflicting(n_rows: int = 4000) -> Any:
    """Columns that are one in a twentieth of the rows, each independently of the others."""
    return (np.random.default_rng(0).random((n_rows, 30)) < 0.05).astype(float)


def greedy(differs: Any, most: int) -> list[set[int]]:
    """The definition: columns by how often they differ, each to the first bundle with room."""
    bundles: list[tuple[set[int], Any, int]] = []
    for feature in sorted(range(len(differs)), key=lambda f: (-differs[f].sum(), f)):
        for place, (members, taken, conflicts) in enumerate(bundles):
            more = int((taken & differs[feature]).sum())
            if conflicts + more <= most:
                bundles[place] = members | {feature}, taken | differs[feature], conflicts + more
                break
        else:
            bundles.append(({feature}, differs[feature].copy(), 0))
    return [members for members, _, _ in bundles]


@pytest.mark.mission("L5")
@pytest.mark.parametrize("rate", [0.0, 0.002, 0.01, 0.05, 0.3])
def test_conflicts_that_are_allowed_are_used_greedily(rate: float) -> None:
    X = conflicting()
    codes = encode_bins(X, np.zeros(30, bool), np.zeros(30, np.int64))
    bundles = find_bundles(codes.columns, codes.n_codes, rate)
    expected = [members for members in greedy(X.T != 0, int(rate * len(X))) if len(members) > 1]
    found = [set(bundle.tolist()) for bundle in bundles.shared]
    assert sorted(map(sorted, found)) == sorted(map(sorted, expected))
    for bundle in bundles.shared:
        together = (X[:, bundle] != 0).sum(axis=1)
        assert (np.maximum(together, 1) - 1).sum() <= rate * len(X)
    assert rate == 0.0 or bundles.n_columns < 30


@pytest.mark.parametrize("growth", ["leaf", "level", "symmetric"])
@pytest.mark.usefixtures("real_threads")
def test_a_model_with_conflicts_is_that_of_what_is_seen(growth: str) -> None:
    """Where features conflict, the last one is seen: the fit is one on that table."""
    X, few = conflicting(), {"n_estimators": 10, "min_samples_leaf": 5, "growth": growth}
    y = X @ np.random.default_rng(1).normal(size=30)
    y += np.random.default_rng(2).normal(0, 0.3, len(y))
    model = hb.GradientBoostingRegressor(**few, max_conflict_rate=0.02, random_state=0).fit(X, y)
    seen, bundles = X.copy(), model.bundles_
    for bundle in bundles:
        for earlier, feature in itertools.combinations(bundle, 2):
            seen[X[:, feature] != 0, earlier] = 0.0
    assert (seen != X).any() and max(map(len, bundles)) > 2
    plain = hb.GradientBoostingRegressor(**few, bundle_features=False, random_state=0)
    assert model.digest() == plain.fit(seen, y).digest()
    for n_jobs, cuts in [(2, ()), (4, (17, 2000)), (1, (1, 2, 3, 1000, 1001, 3999))]:
        with cut_at(*cuts):
            again = model.set_params(n_jobs=n_jobs).fit(X, y)
            assert again.bundles_ == bundles and again.digest() == plain.digest()


def test_dense_columns_in_conflict_stay_alone() -> None:
    X = np.random.default_rng(0).normal(size=(500, 5))
    model = hb.GradientBoostingRegressor(n_estimators=3, max_conflict_rate=0.9).fit(X, X[:, 0])
    assert model.bundles_ == []
    plain = hb.GradientBoostingRegressor(n_estimators=3, bundle_features=False).fit(X, X[:, 0])
    assert plain.digest() == model.digest()


@pytest.mark.parametrize(
    ("name", "values"),
    [("max_conflict_rate", [-0.1, 1.0, np.nan, "some"]), ("bundle_features", ["yes", None])],
)
def test_bad_parameters(name: str, values: list[Any]) -> None:
    X, y = one_hot(200)
    for value in values:
        with pytest.raises(ValueError, match=f"The '{name}' parameter"):
            hb.GradientBoostingRegressor(**{name: value}).fit(X, y)


def test_bundles_are_saved(tmp_path: Any) -> None:
    X, y = one_hot()
    model = hb.GradientBoostingRegressor(n_estimators=3).fit(X, y)
    model.save(tmp_path / "model")
    assert hb.load(tmp_path / "model").bundles_ == model.bundles_ == pickled(model).bundles_
    for wrong in ([[0]], [[1, 0]], [[1, 1]], [[0, 24]], [[0, "1"]], [0, 1], None):
        broken = pickled(model)
        broken.bundles_ = wrong
        with pytest.raises(hb.ModelFileError, match="bundle"):
            pickled(broken)


def pickled(model: Any) -> Any:
    return pickle.loads(pickle.dumps(model))


def test_features_of_a_bundle_never_differ_in_the_same_row() -> None:
    bundles, codes = bundles_of(one_hot()[0])
    for column in range(bundles.n_columns):
        members = np.flatnonzero(bundles.column == column)
        if len(members) == 1:
            continue
        different = codes.columns[members] != bundles.default[members, None]
        assert different.sum(axis=0).max() == 1
        spans = sorted((bundles.offset[f], bundles.offset[f] + bundles.width[f]) for f in members)
        assert spans[0][0] == 1
        assert all(end == start for (_, end), (start, _) in itertools.pairwise(spans))
        assert spans[-1][1] <= 256


def test_every_code_can_be_told_from_its_column() -> None:
    bundles, codes = bundles_of(one_hot()[0])
    for feature in np.flatnonzero(bundles.is_shared):
        n_codes = int(codes.n_codes[feature])
        lookup = bundles.lookup(int(feature), n_codes)
        there = np.unique(codes.columns[feature])
        images = lookup[there[there != bundles.default[feature]]]
        assert lookup[bundles.default[feature]] == 0
        assert len(set(images.tolist())) == len(images)
        assert 0 not in images


def test_dense_features_are_left_alone() -> None:
    X = np.random.default_rng(0).normal(size=(500, 5))
    bundles, _ = bundles_of(X)
    assert bundles.n_columns == 5
    assert not bundles.is_shared.any()


def test_many_exclusive_features_need_several_columns() -> None:
    random = np.random.default_rng(0)
    n_rows = 4000
    X = np.zeros((n_rows, 300))
    X[np.arange(n_rows), random.integers(0, 300, n_rows)] = 1.0
    bundles, _ = bundles_of(X)
    assert bundles.n_columns == 2  # 255 codes besides the default of all
    y = X[:, :150].sum(axis=1)
    model = hb.GradientBoostingRegressor(n_estimators=5, min_samples_leaf=1).fit(X, y)
    assert len(model.trees_) == 5

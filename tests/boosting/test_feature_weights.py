"""Features are drawn in proportion to their weights."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import hornbeam as hb

Regressor = hb.GradientBoostingRegressor
SHARES = ["colsample_bytree", "colsample_bylevel", "colsample_bynode"]
WEIGHTS = [1.0, 2.0, 3.0, 4.0, 0.0]
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 5))
NOISE = rng.normal(size=200)


def stumps(**params: Any) -> Any:
    """Each tree asks one feature, if it may ask one only."""
    usual = {"n_estimators": 1000, "learning_rate": 0.1, "max_leaf_nodes": 2, "random_state": 0}
    return Regressor(**usual | params).fit(X, NOISE)


def asked(model: Any) -> Counter[int]:
    return Counter(int(tree.feature[0]) for tree in model.trees_ if not tree.is_leaf[0])


@pytest.mark.mission("X8")
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("growth", ["leaf", "symmetric"])
def test_one_feature_is_drawn_in_proportion(share: str, growth: str) -> None:
    counts = asked(stumps(feature_weights=WEIGHTS, growth=growth, **{share: 0.2}))
    total = sum(counts.values())
    expected = np.array(WEIGHTS[:4]) / 10 * total
    assert counts[4] == 0 and total > 900
    found = np.array([counts[k] for k in range(4)])
    assert ((found - expected) ** 2 / expected).sum() < 20  # chi squared, 3 of freedom: 2e-4


@pytest.mark.mission("X8")
@pytest.mark.parametrize("share", SHARES)
def test_two_features_are_drawn_one_after_the_other(share: str) -> None:
    """As `numpy.random.choice` draws without replacement: the second among those left."""
    signal = NOISE + 100.0 * X[:, 0]  # the first is asked wherever it may be
    params = {"learning_rate": 1e-6, "max_leaf_nodes": 2, "n_estimators": 1000, "random_state": 0}
    model = Regressor(feature_weights=WEIGHTS, **params, **{share: 0.4}).fit(X, signal)
    draws = np.random.default_rng(1)
    chances = np.array(WEIGHTS) / 10
    there = [0 in draws.choice(5, 2, False, chances) for _ in range(4000)]
    expected = np.mean(there)
    assert asked(model)[0] / 1000 == pytest.approx(expected, abs=0.06)


def test_weights_that_are_all_alike_change_nothing() -> None:
    params = {"n_estimators": 5, "learning_rate": 0.1, "colsample_bynode": 0.5, "random_state": 0}
    plain = Regressor(**params).fit(X, NOISE)
    for weights in ([3.0] * 5, np.full(5, 1e-300)):
        assert Regressor(feature_weights=weights, **params).fit(X, NOISE).digest() == plain.digest()


def test_a_scale_of_the_weights_changes_nothing() -> None:
    params = {"n_estimators": 5, "learning_rate": 0.1, "colsample_bynode": 0.5, "random_state": 0}
    digests = {
        Regressor(feature_weights=np.array(WEIGHTS) * scale, **params).fit(X, NOISE).digest()
        for scale in (1.0, 2.0**-900, 2.0**1000)
    }
    assert len(digests) == 1


@pytest.mark.usefixtures("real_threads")
def test_draws_depend_neither_on_threads_nor_on_the_order_or_kind_of_columns() -> None:
    table = pd.DataFrame(np.where(X > 0, X, 0.0), columns=list("abcde"))
    weights = dict(zip("abcde", WEIGHTS, strict=True))
    for share in SHARES:
        params = {"n_estimators": 8, "learning_rate": 0.1, "random_state": 0, share: 0.5}
        digests = {
            Regressor(feature_weights=weights, n_jobs=n, **params).fit(table, NOISE).digest()
            for n in (1, 2, 4)
        }
        assert len(digests) == 1
        turned = Regressor(feature_weights=weights, **params).fit(table[list("edcba")], NOISE)
        straight = Regressor(feature_weights=weights, **params).fit(table, NOISE)
        np.testing.assert_array_equal(turned.predict(table), straight.predict(table))
        sparse = Regressor(feature_weights=WEIGHTS, **params)
        sparse.fit(scipy.sparse.csr_array(table.to_numpy()), NOISE)
        dense = Regressor(feature_weights=WEIGHTS, **params).fit(table.to_numpy(), NOISE)
        assert sparse.digest() == dense.digest()


def test_a_feature_of_weight_zero_is_never_asked() -> None:
    model = Regressor(feature_weights={"a": 0}, n_estimators=20, learning_rate=0.1)
    table = pd.DataFrame(X, columns=list("abcde"))
    model.fit(table, 10 * X[:, 0] + NOISE)
    assert model.importances("split")[0] == 0.0 and model.importances("split")[1:].all()
    lonely = Regressor(feature_weights=[0, 0, 0, 0, 1], n_estimators=3, learning_rate=0.1)
    constant = X.copy()
    constant[:, 4] = 1.0  # all that is left cannot part the rows
    assert lonely.fit(constant, NOISE).predict(constant).std() == 0.0


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], "feature_weights has shape 2 but the input data X has 5 features"),
        ([1, 1, 1, 1, -1], "gives 'x4' the weight -1.0: weights must be finite and not negative"),
        ([1, 1, 1, 1, np.nan], "the weight nan"),
        ([1, 1, 1, 1, np.inf], "the weight inf"),
        ([0, 0, 0, 0, 0], "feature_weights are all 0"),
        (["a", "b", "c", "d", "e"], "feature_weights must be numbers"),
        ({"nowhere": 2.0}, "feature_weights names 'nowhere', which is not a column of X"),
        ([[1, 1, 1, 1, 1]], "feature_weights has shape"),
    ],
)
def test_weights_that_make_no_sense_are_sentences(weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Regressor(feature_weights=weights, colsample_bynode=0.5).fit(X, NOISE)


def test_weights_that_nothing_is_drawn_by_are_a_warning() -> None:
    model = Regressor(feature_weights=WEIGHTS, n_estimators=2, colsample_bynode=1.0)
    with pytest.warns(UserWarning, match="every node may ask all of them: set colsample_bytree"):
        model.fit(X, NOISE)

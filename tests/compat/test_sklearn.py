"""scikit-learn's constructors, with hornbeam's engine behind them."""

from __future__ import annotations

import importlib
import inspect
import pickle

import numpy as np
import pytest
import sklearn.ensemble
from sklearn.datasets import make_classification, make_regression

import hornbeam as hb
import hornbeam.compat.sklearn as compat

REGRESSION = make_regression(200, 5, noise=5.0, random_state=0)
CLASSES = make_classification(200, 5, n_informative=4, n_redundant=0, random_state=0)
PAIRS = [
    (compat.HistGradientBoostingRegressor, REGRESSION),
    (compat.HistGradientBoostingClassifier, CLASSES),
]


@pytest.mark.quick
@pytest.mark.parametrize("translation", compat.TRANSLATIONS, ids=lambda t: t.theirs)
def test_constructors_are_those_of_the_peer(translation):
    theirs = inspect.signature(getattr(sklearn.ensemble, translation.theirs)).parameters
    ours = inspect.signature(getattr(compat, translation.theirs)).parameters
    assert list(ours) == list(theirs)
    for name, parameter in theirs.items():
        assert (ours[name].kind, ours[name].default) == (parameter.kind, parameter.default)


@pytest.mark.quick
def test_whatever_has_the_peers_name_can_be_imported():
    for name in compat.__all__:
        assert getattr(compat, name).__name__ == name
        assert any(
            hasattr(importlib.import_module(f"sklearn.{room}"), name)
            for room in ("ensemble", "tree")
        )


@pytest.mark.parametrize("cls, data", PAIRS)
def test_histogram_boosting_predicts_as_the_peer_does(cls, data):
    """Equal trees wherever gains are not almost equal, so nearly equal predictions."""
    X, y = data
    ours = cls(max_iter=10).fit(X, y)
    theirs = getattr(sklearn.ensemble, cls.__name__)(max_iter=10).fit(X, y)
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=0.02)
    first = [model.set_params(max_iter=1).fit(X, y) for model in (ours, theirs)]
    score = [getattr(m, "decision_function", m.predict)(X) for m in first]
    np.testing.assert_allclose(*score, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("cls, data", PAIRS)
@pytest.mark.parametrize("fraction", [0.2, None])
def test_histogram_boosting_stops_by_the_peers_rule(cls, data, fraction):
    X, y = data
    params = {
        "early_stopping": True,
        "validation_fraction": fraction,
        "n_iter_no_change": 4,
        "tol": 0.01,
        "random_state": 0,
    }
    ours = cls(**params).fit(X, y)
    scores = ours.train_score_ if fraction is None else ours.validation_score_
    assert len(scores) == ours.n_iter_ + 1 == len(ours.train_score_)
    stopped = [
        n for n in range(5, len(scores) + 1) if max(scores[n - 4 : n]) <= scores[n - 5] + 0.01
    ]
    assert stopped == [len(scores)]
    theirs = getattr(sklearn.ensemble, cls.__name__)(**params).fit(X, y)
    np.testing.assert_allclose(ours.train_score_[:2], theirs.train_score_[:2], rtol=1e-3)
    np.testing.assert_allclose(ours.validation_score_[:2], theirs.validation_score_[:2], rtol=1e-3)


@pytest.mark.parametrize("cls, data", PAIRS)
def test_models_go_on_and_survive_pickling_and_saving(cls, data, tmp_path):
    X, y = data
    whole = cls(max_iter=6).fit(X, y)
    part = cls(max_iter=3, warm_start=True).fit(X, y)
    assert part.n_iter_ == 3
    assert part.set_params(max_iter=6).fit(X, y).digest() == whole.digest()
    with pytest.raises(ValueError, match="max_iter=2 must be larger than or equal to n_iter_=6"):
        part.set_params(max_iter=2).fit(X, y)
    again = pickle.loads(pickle.dumps(whole))
    np.testing.assert_array_equal(again.predict(X), whole.predict(X))
    whole.save(tmp_path / "model.hornbeam")
    np.testing.assert_array_equal(hb.load(tmp_path / "model.hornbeam").predict(X), whole.predict(X))


@pytest.mark.parametrize("cls, data", PAIRS)
def test_errors_name_the_class_that_the_user_wrote(cls, data):
    X, y = data
    with pytest.raises(ValueError, match=f"{cls.__name__} is expecting 5 features"):
        cls(max_iter=1).fit(X, y).predict(X[:, :2])
    with pytest.raises(ValueError, match="The 'max_iter' parameter of " + cls.__name__):
        cls(max_iter=0).fit(X, y)
    with pytest.raises(ValueError, match=r"scoring='accuracy'\).*leave scoring='loss'"):
        cls(scoring="accuracy").fit(X, y)

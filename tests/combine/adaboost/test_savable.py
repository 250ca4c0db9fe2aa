"""AdaBoost comes back from files and pickles with all its members, or a sentence says why not."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.naive_bayes import GaussianNB

import hornbeam as hb
from hornbeam.errors import ModelFileError

X, Y = load_iris(return_X_y=True)
XR, YR = (part[:150] for part in load_diabetes(return_X_y=True))
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
few: dict[str, Any] = {"n_estimators": 3, "random_state": 0}
CASES: dict[str, tuple[Any, Any, Any]] = {
    "samme": (hb.AdaBoostClassifier(**few), X, NAMES),
    "samme.r": (hb.AdaBoostClassifier(algorithm="SAMME.R", calibrate=True, **few), X, NAMES),
    "boosted": (hb.AdaBoostClassifier(hb.GradientBoostingClassifier(n_estimators=2), **few), X, Y),
    "r2": (hb.AdaBoostRegressor(**few), XR, YR),
}


@pytest.mark.parametrize("name", CASES)
def test_the_same_ensemble_comes_back(name: str, tmp_path: Path) -> None:
    maker, table, target = CASES[name]
    model = clone(maker).fit(table, target)
    model.save(tmp_path / "boosted.hornbeam")
    for same in (
        hb.load(tmp_path / "boosted.hornbeam"),
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
    ):
        assert same.digest() == model.digest()
        np.testing.assert_array_equal(same.predict(table), model.predict(table))
        np.testing.assert_array_equal(same.estimator_weights_, model.estimator_weights_)
        np.testing.assert_array_equal(same.estimator_errors_, model.estimator_errors_)
        if hasattr(model, "predict_proba"):
            np.testing.assert_array_equal(same.predict_proba(table), model.predict_proba(table))
        assert clone(same).fit(table, target).digest() == model.digest()


@pytest.mark.quick
def test_members_of_others_are_pickled_where_both_sides_say_so(tmp_path: Path) -> None:
    model = hb.AdaBoostClassifier(GaussianNB(), **few).fit(X, Y)
    with pytest.raises(TypeError, match="GaussianNB, which is not one of hornbeam's"):
        model.digest()
    path = tmp_path / "foreign.hornbeam"
    with pytest.raises(Exception, match="allow_pickle"):
        model.save(path)
    model.save(path, allow_pickle=True)
    with pytest.raises(ModelFileError, match="allow_pickle"):
        hb.load(path)
    same = hb.load(path, allow_pickle=True)
    np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))


@pytest.mark.quick
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"estimator_weights_": np.array([1.0, -1.0, 1.0])}, "must be a number from 0"),
        ({"estimator_weights_": np.ones(2)}, "for each of 3 members"),
        ({"estimator_weights_": np.zeros(3)}, "weigh 0 together"),
        ({"estimator_weights_": np.full(3, 1e308)}, "weigh inf together"),
        ({"estimator_errors_": np.array([0.1, np.nan, 0.1])}, "estimator_errors holds"),
        ({"estimators_": []}, "has no members"),
        ({"calibration_": -1.0}, "calibration_"),
        ({"classes_": np.array([2, 1, 0])}, "ascending order"),
        ({"n_features_in_": 3}, "Member 0 does not fit"),
    ],
)
def test_a_pickle_that_no_fit_leaves_is_an_error(changes: dict[str, Any], words: str) -> None:
    model = hb.AdaBoostClassifier(**few).fit(X, Y)
    vars(model).update(changes)
    with pytest.raises(ModelFileError, match=words):
        pickle.loads(pickle.dumps(model))


@pytest.mark.quick
def test_a_saved_ensemble_of_numbers_has_no_members_that_predict_classes() -> None:
    model = hb.AdaBoostRegressor(**few).fit(XR, YR)
    model.estimators_ = hb.AdaBoostClassifier(**few).fit(X, NAMES).estimators_
    with pytest.raises(ModelFileError, match="does not fit"):
        pickle.loads(pickle.dumps(model))

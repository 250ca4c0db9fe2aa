"""Votes, stacks and blends come back from files and pickles, or a sentence says why not."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB

import hornbeam as hb
from hornbeam.model.modelfile import load_model_bytes, model_bytes

X, Y = load_iris(return_X_y=True)
FRAME = pd.DataFrame(X, columns=list("abcd"))
NAMES = np.array(["no", "perhaps", "yes"])[Y]
XR, YR = load_diabetes(return_X_y=True)
tree, other = hb.DecisionTreeClassifier(max_depth=2), hb.DecisionTreeClassifier(max_depth=4)
number = hb.DecisionTreeRegressor(max_depth=2)
CLASSES: list[Any] = [("a", tree), ("gone", "drop"), ("b", other)]
NUMBERS: list[Any] = [("a", number), ("b", hb.GradientBoostingRegressor(n_estimators=3))]
FOREIGN: list[Any] = [("line", LogisticRegression(max_iter=500)), ("bayes", GaussianNB())]
CASES: dict[str, tuple[Any, Any, Any]] = {
    "votes": (hb.VotingClassifier(CLASSES), FRAME, NAMES),
    "soft": (hb.VotingClassifier(CLASSES, voting="soft", weights=[1, 0, 2]), X, NAMES),
    "found": (hb.VotingRegressor(NUMBERS, weights="held_out", cv=2), XR, YR),
    "greedy": (hb.StackingClassifier(CLASSES, cv=2), FRAME, NAMES),
    "stack": (hb.StackingClassifier(CLASSES, tree, cv=2, passthrough=True), FRAME, NAMES),
    "fold_mean": (hb.StackingRegressor(NUMBERS, number, cv=2, refit="fold_mean"), XR, YR),
    "layers": (hb.StackingRegressor(NUMBERS, hb.StackingRegressor(NUMBERS, cv=2), cv=2), XR, YR),
    "blend": (hb.BlendingRegressor(NUMBERS, number), XR, YR),
    "bag": (hb.BaggingRegressor(hb.StackingRegressor(NUMBERS, cv=2), 2), XR, YR),
}


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    model, table, target = CASES[request.param]
    return model.set_params(random_state=0).fit(table, target), table


def test_a_file_brings_back_the_same_model(case: tuple[Any, Any], tmp_path: Path) -> None:
    model, table = case
    model.save(tmp_path / "model.hornbeam")
    same = hb.load(tmp_path / "model.hornbeam")
    assert same.digest() == model.digest()
    assert np.array_equal(same.predict(table), model.predict(table))
    assert repr(same) == repr(model)
    if hasattr(model, "predict_proba"):
        assert np.array_equal(same.predict_proba(table), model.predict_proba(table))
    if hasattr(model, "transform"):
        assert np.array_equal(np.asarray(same.transform(table)), np.asarray(model.transform(table)))
        assert list(same.named_estimators_) == list(model.named_estimators_)


def test_so_does_a_pickle(case: tuple[Any, Any]) -> None:
    model, table = case
    same = pickle.loads(pickle.dumps(model))
    assert same.digest() == model.digest()
    assert np.array_equal(same.predict(table), model.predict(table))


def test_members_of_other_libraries_are_pickles_if_both_sides_say_so() -> None:
    model = hb.StackingClassifier(FOREIGN, LogisticRegression(), cv=2, random_state=0).fit(X, Y)
    with pytest.raises(TypeError, match="allow_pickle=True"):
        model_bytes(model)
    with pytest.raises(TypeError, match="has no digest"):
        model.digest()
    content = model_bytes(model, allow_pickle=True)
    with pytest.raises(hb.ModelFileError, match="allow_pickle=True"):
        load_model_bytes(content)
    same = load_model_bytes(content, allow_pickle=True)
    assert np.array_equal(same.predict_proba(X), model.predict_proba(X))


def test_a_splitter_is_named_where_it_cannot_be_saved() -> None:
    model = hb.StackingClassifier(CLASSES, cv=KFold(2, shuffle=True, random_state=0)).fit(X, Y)
    with pytest.raises(TypeError, match="cv"):
        model_bytes(model)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"weights_": np.array([1.0])}, "for each of 2"),
        ({"weights_": np.array([-1.0, 2.0])}, "for each of 2"),
        ({"weights_": np.array([np.nan, 2.0])}, "not finite"),
        ({"weights_": None}, "weights, or a final estimator"),
        ({"models_": []}, "no members"),
        ({"models_": [[number], [number]]}, "cannot be asked by 'predict_proba'"),
        ({"models_": [[tree], [other]]}, "Member 0 does not fit: it is a"),
        ({"stack_method_": ["predict"]}, "a method for each"),
        ({"stack_method_": ["fit", "predict"]}, "cannot be asked by 'fit'"),
        ({"final_estimator_": tree}, "final estimator is not fitted"),
        ({"final_estimator_": GaussianNB()}, "weights, or a final estimator"),
        ({"classes_": np.array(["yes", "perhaps", "no"])}, "ascending"),
        ({"n_features_in_": 5}, "does not"),
    ],
)
def test_a_pickle_that_cannot_be_is_refused(change: dict[str, Any], match: str) -> None:
    model = hb.StackingClassifier(CLASSES, cv=2, random_state=0).fit(FRAME, NAMES)
    state = {**model.__getstate__(), **change}
    with pytest.raises(hb.ModelFileError, match=match):
        object.__new__(hb.StackingClassifier).__setstate__(state)


def test_a_final_estimator_that_is_none() -> None:
    model = hb.StackingRegressor([("r", Ridge())], Ridge(), cv=2).fit(XR, YR)
    for final, match in ((tree, "another kind"), (hb.DecisionTreeRegressor(), "not fitted")):
        state = {**model.__getstate__(), "final_estimator_": final}
        with pytest.raises(hb.ModelFileError, match=match):
            object.__new__(hb.StackingRegressor).__setstate__(state)

"""Votes and averages are those of the textbook and of scikit-learn; weights can be found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn.ensemble
from combine.members import Failing, Fixed, Shareless
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import hornbeam as hb

X, Y = load_iris(return_X_y=True)
XR, YR = load_diabetes(return_X_y=True)
MEMBERS = [
    ("line", LogisticRegression(max_iter=500)),
    ("bayes", GaussianNB()),
    ("tree", DecisionTreeClassifier(max_depth=2, random_state=0)),
]
SAYS = [
    ("a", [[0.2, 0.5, 0.3]]),
    ("b", [[0.6, 0.3, 0.1]]),
    ("c", [[0.3, 0.4, 0.3]]),
]


@pytest.mark.mission("E8")
@pytest.mark.quick
def test_the_table_of_hard_votes() -> None:
    """Two of three vote for class 1."""
    votes = [("1", [1, 0, 0]), ("2", [1, 0, 0]), ("3", [0, 1, 0])]
    members = [(f"c{n}", Fixed([v])) for n, v in votes]
    model = hb.VotingClassifier(members).fit(X[:120:40], [1, 2, 3])
    assert model.predict(X[:1]).tolist() == [1]
    assert model._mean(X[:1], model.weights_).round(2).tolist() == [[0.67, 0.33, 0.0]]


@pytest.mark.mission("E8")
@pytest.mark.quick
def test_the_table_of_soft_votes() -> None:
    members = [(name, Fixed(shares)) for name, shares in SAYS]
    model = hb.VotingClassifier(members, voting="soft").fit(X[:120:40], [1, 2, 3])
    assert model.predict_proba(X[:1]).round(2).tolist() == [[0.37, 0.4, 0.23]]
    assert model.predict(X[:1]).tolist() == [2]
    hard = hb.VotingClassifier(members).fit(X[:120:40], [1, 2, 3])
    assert hard.predict(X[:1]).tolist() == [2]
    weighted = hb.VotingClassifier(members, voting="soft", weights=[0, 3, 1])
    assert weighted.fit(X[:120:40], [1, 2, 3]).predict(X[:1]).tolist() == [1]


@pytest.mark.mission("E8")
@pytest.mark.parametrize("weights", [None, [1, 2, 4], [0, 1, 1]])
@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_classes_are_those_of_scikit_learn(voting: str, weights: Any) -> None:
    names = np.array(["setosa", "versicolor", "virginica"])[Y]
    theirs = sklearn.ensemble.VotingClassifier(MEMBERS, voting=voting, weights=weights)
    ours = hb.VotingClassifier(MEMBERS, voting=voting, weights=weights)
    theirs.fit(X, names), ours.fit(X, names)
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    assert np.allclose(ours.transform(X), theirs.transform(X))
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    if voting == "soft":
        assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X))
    else:
        assert not hasattr(ours, "predict_proba")


@pytest.mark.mission("E8")
@pytest.mark.parametrize("weights", [None, [1.0, 2.0]])
def test_averages_are_those_of_scikit_learn(weights: Any) -> None:
    members = [("line", LinearRegression()), ("ridge", Ridge(10.0))]
    theirs = sklearn.ensemble.VotingRegressor(members, weights=weights).fit(XR, YR)
    ours = hb.VotingRegressor(members, weights=weights).fit(XR, YR)
    assert np.allclose(ours.predict(XR), theirs.predict(XR))
    assert np.allclose(ours.transform(XR), theirs.transform(XR))
    assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())


@pytest.mark.quick
def test_ties_of_votes_go_to_the_first_class() -> None:
    members = [("one", Fixed([[0, 1]])), ("two", Fixed([[1, 0]]))]
    assert hb.VotingClassifier(members).fit(X[:2], ["b", "a"]).predict(X[:1]).tolist() == ["a"]


@pytest.mark.quick
def test_members_can_be_dropped() -> None:
    model = hb.VotingClassifier(MEMBERS, voting="soft", weights=[1, 2, 3])
    model.set_params(bayes="drop").fit(X, Y)
    assert len(model) == 2 and model.named_estimators_.bayes == "drop"
    assert model.weights_.tolist() == [1, 3]
    assert model.named_estimators.line is MEMBERS[0][1]
    assert model.get_params()["line__max_iter"] == 500


def test_weights_are_found_on_rows_that_members_have_not_seen() -> None:
    """A tree without limits knows its rows by heart: on those it would have all the weight."""
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(200, 3))
    y = (noise[:, 0] + 2.0 * rng.normal(size=200) > 0).astype(int)
    members = [("line", LogisticRegression()), ("tree", hb.DecisionTreeClassifier(random_state=0))]
    model = hb.VotingClassifier(members, voting="soft", weights="held_out", random_state=0)
    assert model.fit(noise, y).weights_[0] > 0.9
    hard = hb.VotingClassifier(members, weights="held_out", random_state=0).fit(noise, y)
    assert hard.weights_.sum() == pytest.approx(1.0)
    numbers = hb.VotingRegressor(
        [("mean", Ridge(1e9)), ("line", LinearRegression())], weights="held_out", random_state=0
    )
    assert numbers.fit(XR, YR).weights_[1] > 0.8


def test_members_that_were_fitted_before() -> None:
    fitted = [(name, member.fit(X[::2], Y[::2])) for name, member in MEMBERS]
    model = hb.VotingClassifier(fitted, voting="soft", prefit=True, weights="held_out")
    model.fit(X[1::2], Y[1::2])
    assert model.estimators_[0] is fitted[0][1]
    assert model.score(X, Y) > 0.9
    with pytest.raises(NotFittedError, match="member 'line' is taken as it is"):
        hb.VotingClassifier([("line", LogisticRegression())], prefit=True).fit(X, Y)
    with pytest.raises(ValueError, match=r"member 'line' knows the class .*2.*, which y lacks"):
        hb.VotingClassifier(fitted, prefit=True).fit(X[:100], Y[:100])


@pytest.mark.quick
@pytest.mark.parametrize(
    ("members", "more", "match"),
    [
        ([], {}, "Invalid 'estimators' attribute"),
        ([("a", GaussianNB()), ("a", GaussianNB())], {}, "not unique"),
        ([("a__b", GaussianNB())], {}, "must not contain __"),
        ([("n_jobs", GaussianNB())], {}, "conflict with constructor arguments"),
        ([("a", "drop")], {}, "All estimators are dropped"),
        ([("a", Ridge())], {}, "The estimator Ridge should be a classifier"),
        ([("a", GaussianNB())], {"weights": [1, 2]}, "Number of `estimators` and weights"),
        ([("a", GaussianNB())], {"weights": [-1]}, "finite numbers from 0 up"),
        ([("a", GaussianNB())], {"weights": [np.nan]}, "finite numbers from 0 up"),
        ([("a", Shareless())], {"voting": "soft"}, "a does not implement the method predict_proba"),
        ([("a", Fixed([[np.nan, 1, 0]]))], {"voting": "soft"}, "must predict finite numbers"),
    ],
)
def test_bad_members_are_named(members: Any, more: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        hb.VotingClassifier(members, **more).fit(X, Y).predict(X)


@pytest.mark.quick
def test_members_of_mixed_tasks() -> None:
    with pytest.raises(ValueError, match=r"member 'b' of a VotingRegressor.*must be regressors"):
        hb.VotingRegressor([("a", Ridge()), ("b", GaussianNB())]).fit(XR, YR)
    with pytest.raises(ValueError, match=r"member 'bad'.*all rows: this row is needed"):
        hb.VotingRegressor([("bad", Failing(1e9))]).fit(XR, YR)


@pytest.mark.quick
def test_several_outputs_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="MultiOutputClassifier"):
        hb.VotingClassifier(MEMBERS).fit(X, np.column_stack([Y, Y]))
    with pytest.raises(ValueError, match="MultiOutputRegressor"):
        hb.VotingRegressor([("a", Ridge())]).fit(XR, np.column_stack([YR, YR]))


def test_importances_are_weighted() -> None:
    members = [("a", hb.DecisionTreeRegressor(max_depth=2)), ("b", hb.DecisionTreeRegressor())]
    model = hb.VotingRegressor(members, weights=[3, 1], random_state=0).fit(XR, YR)
    first, second = (m.feature_importances_ for m in model.estimators_)
    assert np.allclose(model.feature_importances_, 0.75 * first + 0.25 * second)
    with pytest.raises(AttributeError, match="member 'line'"):
        _ = hb.VotingClassifier(MEMBERS).fit(X, Y).feature_importances_

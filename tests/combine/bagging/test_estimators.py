"""Bagging: members are what they would be alone, and predictions are their means."""

from __future__ import annotations

import io
import pickle
import sys
import threading
import time
import warnings
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import sklearn
import sklearn.ensemble
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.metrics import accuracy_score, f1_score, r2_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import hornbeam as hb

Classifier, Regressor = hb.BaggingClassifier, hb.BaggingRegressor
X, NUMBER = make_classification(300, 8, n_informative=5, n_classes=3, random_state=0)
LABEL = np.array(["bat", "cat", "dog"])[NUMBER]
XR, YR = make_regression(250, 6, noise=10.0, random_state=0)
FRAME = pd.DataFrame(X, columns=list("abcdefgh")).assign(
    kind=np.where(NUMBER == 2, "tame", "wild"), day=pd.Categorical(NUMBER % 2 == 0)
)
KINDS = {
    "bagging": (300, 8, True),
    "pasting": (150, 8, False),
    "subspaces": (300, 4, False),
    "patches": (150, 4, False),
}


@pytest.mark.mission("E3")
@pytest.mark.quick
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("estimator", [None, GaussianNB(), KNeighborsClassifier()], ids=repr)
def test_the_four_kinds(kind: str, estimator: Any) -> None:
    """Each member is the estimator, fitted on the rows and columns that the model names."""
    model = Classifier(estimator, 7, kind=kind, random_state=0).fit(X, LABEL)
    n_rows, n_columns, repeats = KINDS[kind]
    total = np.zeros((300, 3))
    for number, member in enumerate(model.estimators_):
        rows, columns = model.estimators_samples_[number], model.estimators_features_[number]
        assert (len(rows), len(set(columns.tolist()))) == (n_rows, n_columns)
        assert (len(set(rows.tolist())) < n_rows) == repeats
        alone = type(member)(**member.get_params()).fit(X[rows][:, columns], LABEL[rows])
        shares = alone.predict_proba(X[:, columns])
        assert np.array_equal(member.predict_proba(X[:, columns]), shares)
        total += shares
    assert np.allclose(model.predict_proba(X), total / 7, rtol=1e-12)
    assert np.array_equal(model.predict(X), model.classes_[total.argmax(axis=1)])


@pytest.mark.mission("E3")
@pytest.mark.parametrize("kind", ["bagging", "pasting", "patches"])
@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_oob_of_a_classifier_equals_a_naive_one(kind: str, voting: str) -> None:
    model = Classifier(None, 25, kind=kind, voting=voting, oob_score=True, random_state=1)
    model.fit(X, LABEL)
    expected = np.full((300, 3), np.nan)
    for row in range(300):
        votes = []
        for number, member in enumerate(model.estimators_):
            if row not in model.estimators_samples_[number]:
                part = X[[row]][:, model.estimators_features_[number]]
                if voting == "soft":
                    votes.append(member.predict_proba(part)[0])
                else:
                    votes.append(model.classes_ == member.predict(part)[0])
        expected[row] = np.mean(votes, axis=0)
    assert np.allclose(model.oob_decision_function_, expected, rtol=1e-12, equal_nan=True)
    answers = model.classes_[expected.argmax(axis=1)]
    assert model.oob_score_ == accuracy_score(LABEL, answers)


@pytest.mark.mission("E3")
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_oob_of_a_regressor_equals_a_naive_one(n_outputs: int) -> None:
    target = YR if n_outputs == 1 else np.column_stack([YR, -YR])
    model = Regressor(None, 30, oob_score=True, random_state=1, n_jobs=2).fit(XR, target)
    expected = np.empty(target.shape)
    for row in range(250):
        out = [n for n in range(30) if row not in model.estimators_samples_[n]]
        expected[row] = np.mean([model.estimators_[n].predict(XR[[row]])[0] for n in out], axis=0)
    assert np.allclose(model.oob_prediction_, expected, rtol=1e-12)
    assert model.oob_score_ == pytest.approx(r2_score(target, expected), rel=1e-12)
    assert model.predict(XR).shape == target.shape


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("estimator", [None, hb.RandomForestRegressor(n_estimators=3)], ids=repr)
def test_targets_near_the_largest_number(estimator: Any, n_outputs: int) -> None:
    """The sum of what the members predict is beyond all numbers, their mean is not."""
    random = np.random.default_rng(3)
    y = random.uniform(0.4, 0.9, (250, n_outputs)) * np.sign(XR[:, :n_outputs])
    y = y[:, 0] if n_outputs == 1 else y
    model = Regressor(estimator, 25, oob_score=True, random_state=0)
    expected = model.fit(XR, y).predict(XR), model.oob_prediction_, model.oob_score_
    large = model.fit(XR, np.ldexp(y, 1024))
    found = large.predict(XR), large.oob_prediction_
    for one, other in zip(found, expected, strict=False):
        np.testing.assert_allclose(np.ldexp(one, -1024), other, rtol=1e-12)
    assert large.oob_score_ == pytest.approx(expected[2], rel=1e-9)


def test_rows_that_everybody_has_seen_have_no_oob_prediction() -> None:
    with pytest.warns(UserWarning, match="no out-of-bag prediction"):
        model = Classifier(None, 2, oob_score=True, random_state=0).fit(X, LABEL)
    nowhere = np.isnan(model.oob_decision_function_).any(axis=1)
    both = [set(sample.tolist()) for sample in model.estimators_samples_]
    assert set(np.flatnonzero(nowhere).tolist()) == both[0] & both[1]
    assert 0.5 < model.oob_score_ <= 1.0


def test_oob_by_a_score_of_your_own() -> None:
    def macro(y: Any, predicted: Any) -> float:
        return float(f1_score(y, predicted, average="macro"))

    model = Classifier(None, 30, oob_score=macro, random_state=0).fit(X, LABEL)
    answers = model.classes_[model.oob_decision_function_.argmax(axis=1)]
    assert model.oob_score_ == macro(LABEL, answers)


def test_hard_voting_counts_votes() -> None:
    model = Classifier(GaussianNB(), 9, voting="hard", random_state=0).fit(X, LABEL)
    votes = np.stack([member.predict(X) for member in model.estimators_])
    shares = np.stack([(votes == name).mean(axis=0) for name in model.classes_], axis=1)
    assert np.allclose(model.predict_proba(X), shares)
    without = Classifier(RidgeClassifier(), 9, random_state=0).fit(X, LABEL)  # no probabilities
    assert set(np.unique(np.round(without.predict_proba(X) * 9, 9))) <= set(range(10))


def test_decision_functions_are_averaged() -> None:
    model = Classifier(LogisticRegression(), 4, random_state=0).fit(X, LABEL)
    mean = np.mean([member.decision_function(X) for member in model.estimators_], axis=0)
    assert np.allclose(model.decision_function(X), mean)
    assert not hasattr(Classifier(GaussianNB()), "decision_function")
    assert not hasattr(Classifier(LogisticRegression(), voting="hard"), "decision_function")


def test_members_that_have_not_seen_a_class() -> None:
    y = np.zeros(60, int)
    y[:2] = 5
    model = Classifier(GaussianNB(), 20, kind="pasting", random_state=0).fit(X[:60], y)
    assert {len(member.classes_) for member in model.estimators_} == {1, 2}
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert model.classes_.tolist() == [0, 5]


# --- sameness -----------------------------------------------------------------------------------


@pytest.mark.mission("E3")
@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(max_features=2)], ids=repr)
def test_the_number_of_jobs_does_not_matter(estimator: Any) -> None:
    made = [
        Classifier(
            estimator, 20, kind="patches", bootstrap=True, oob_score=True, random_state=0, n_jobs=n
        ).fit(X, LABEL)
        for n in (None, 1, 2, 4)
    ]
    for other in made[1:]:
        assert np.array_equal(other.predict_proba(X), made[0].predict_proba(X))
        assert np.array_equal(
            other.oob_decision_function_, made[0].oob_decision_function_, equal_nan=True
        )
        for one, two in zip(other.estimators_, made[0].estimators_, strict=True):
            assert one.get_params() == two.get_params()


def test_warm_start_equals_all_at_once() -> None:
    params: dict[str, Any] = {"random_state": 0, "kind": "patches", "oob_score": True}
    grown = Classifier(n_estimators=15, warm_start=True, **params).fit(X, LABEL)
    first = list(grown.estimators_)
    grown.set_params(n_estimators=30).fit(X, LABEL)
    once = Classifier(n_estimators=30, **params).fit(X, LABEL)
    assert grown.estimators_[:15] == first  # the very same objects
    assert np.array_equal(grown.predict_proba(X), once.predict_proba(X))
    assert np.array_equal(grown.estimators_samples_, once.estimators_samples_)
    assert np.allclose(grown.oob_decision_function_, once.oob_decision_function_, equal_nan=True)
    with pytest.raises(ValueError, match="must be at least the 30 members"):
        grown.set_params(n_estimators=5).fit(X, LABEL)
    with pytest.raises(ValueError, match="n_rows_in_ is 300"):
        grown.set_params(n_estimators=35).fit(X[:200], LABEL[:200])
    with pytest.raises(ValueError, match="classes_"):
        grown.fit(X, NUMBER)


def test_members_have_different_seeds_also_inside_pipelines() -> None:
    inner = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_features=1))
    model = Classifier(inner, 5, random_state=0).fit(X, LABEL)
    seeds = {member[-1].random_state for member in model.estimators_}
    assert len(seeds) == 5 and None not in seeds


def test_pickle() -> None:
    model = Classifier(GaussianNB(), 5, random_state=0).fit(FRAME[list("abc")], LABEL)
    again = pickle.loads(pickle.dumps(model))
    part = FRAME[list("abc")]
    assert np.array_equal(again.predict_proba(part), model.predict_proba(part))


# --- tables -------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas], ids=["pandas", "polars"])
def test_frames_stay_frames(make: Any) -> None:
    """Members see the names of their columns, and categories stay categories."""
    frame = make(FRAME)
    model = Classifier(None, 6, kind="patches", random_state=0).fit(frame, LABEL)
    for member, features in zip(model.estimators_, model.estimators_features_, strict=True):
        assert member.feature_names_in_.tolist() == FRAME.columns[features].tolist()
    turned = make(FRAME[FRAME.columns[::-1]])
    assert np.array_equal(model.predict_proba(turned), model.predict_proba(frame))
    with pytest.raises(ValueError, match="seen at fit time, yet now missing"):
        model.predict(make(FRAME.drop(columns="kind")))
    with pytest.warns(UserWarning, match="valid feature names"):
        model.predict(FRAME.to_numpy())


def test_members_do_not_warn_about_names() -> None:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = Regressor(LinearRegression(), 3, kind="subspaces").fit(
            pd.DataFrame(XR).rename(columns=str), YR
        )
        assert model.predict(pd.DataFrame(XR).rename(columns=str)).shape == (250,)


def test_sparse_lists_and_masks() -> None:
    dense = np.where(np.abs(X) < 0.5, 0.0, X)
    sparse = scipy.sparse.csr_array(dense)
    params: dict[str, Any] = {"n_estimators": 4, "kind": "patches", "random_state": 0}
    expected = Classifier(**params).fit(dense, LABEL).predict_proba(dense)
    for table in (sparse, sparse.tocsc(), sparse.tocoo(), dense.tolist()):
        assert np.array_equal(Classifier(**params).fit(table, LABEL).predict_proba(table), expected)
    holes = np.ma.masked_array(X, mask=np.abs(X) < 0.1)
    masked = Classifier(**params).fit(holes, LABEL).predict_proba(holes)
    filled = np.where(holes.mask, np.nan, X)
    assert np.array_equal(masked, Classifier(**params).fit(filled, LABEL).predict_proba(filled))


def test_mixed_lists_keep_their_categories() -> None:
    table = [["sunny", 85.0], ["rain", None], ["sunny", 69.0], ["rain", 70.0]] * 5
    model = Classifier(None, 5, random_state=0).fit(table, ["no", "yes", "yes", "yes"] * 5)
    assert model.predict(table).shape == (20,)


# --- quality, speed, speech -----------------------------------------------------------------------


def test_as_good_as_scikit_learn() -> None:
    train, test = slice(0, 200), slice(200, 300)
    params: dict[str, Any] = {"n_estimators": 40, "random_state": 0}
    ours = [
        Classifier(DecisionTreeClassifier(), **params | {"random_state": s}).fit(
            X[train], LABEL[train]
        )
        for s in range(3)
    ]
    theirs = [
        sklearn.ensemble.BaggingClassifier(
            DecisionTreeClassifier(), **params | {"random_state": s}
        ).fit(X[train], LABEL[train])
        for s in range(3)
    ]
    mean = [np.mean([m.score(X[test], LABEL[test]) for m in side]) for side in (ours, theirs)]
    assert mean[0] > mean[1] - 0.04


class Threads(GaussianNB):  # type: ignore[misc]
    """A classifier that remembers how many threads it was allowed."""

    def __init__(self, n_jobs: int | None = None) -> None:
        super().__init__()
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Any:
        self.allowed_ = self.n_jobs
        return super().fit(X, y)


def test_threads_of_members_do_not_multiply() -> None:
    """Several members at a time have one thread each; a number that the user chose stays."""
    for n_jobs, inner, expected in ((1, None, None), (2, None, 1), (2, 3, 3)):
        model = Classifier(Threads(inner), 4, n_jobs=n_jobs).fit(X, LABEL)
        assert {member.allowed_ for member in model.estimators_} == {expected}
        assert {member.n_jobs for member in model.estimators_} == {inner}


def test_a_progress_bar_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for verbose, spoken in ((1, True), (0, False), (None, False)):
        stream = io.StringIO()
        monkeypatch.setattr(sys, "stderr", stream)
        Regressor(LinearRegression(), 3, verbose=verbose).fit(XR, YR)
        assert ("bagging" in stream.getvalue()) == spoken
        assert ("3/3" in stream.getvalue()) == spoken


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"kind": "boosting"}, "'kind' parameter"),
        ({"max_samples": 301, "kind": "pasting"}, "max_samples=301 is more than the 300"),
        ({"max_samples": 10**12}, "max_samples=1000000000000 is more than can be drawn"),
        ({"max_features": 9}, "max_features=9 is more than the 8"),
        ({"kind": "subspaces", "oob_score": True}, "every member sees all 300 rows"),
        ({"n_estimators": 0}, "'n_estimators' parameter"),
        ({"voting": "loud"}, "'voting' parameter"),
        ({"estimator": "tree"}, "'estimator' parameter"),
    ],
)
def test_wrong_parameters(params: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Classifier(**params).fit(X, LABEL)


def test_wrong_tables() -> None:
    with pytest.raises(ValueError, match="data frame cannot hold"):
        Classifier(kind="patches", bootstrap_features=True).fit(FRAME, LABEL)
    with pytest.raises(ValueError, match="2 outputs"):
        Classifier().fit(X, np.column_stack([NUMBER, NUMBER]))
    with pytest.raises(ValueError, match=r"inconsistent|rows"):
        Classifier().fit(X, LABEL[:10])
    model = Classifier(n_estimators=3).fit(X, LABEL)
    with pytest.raises(ValueError, match="7 features"):
        model.predict(X[:, :7])


def test_a_failed_fit_leaves_nothing_behind() -> None:
    model = Classifier(n_estimators=3).fit(X, LABEL)
    with pytest.raises(ValueError, match="infinit"):
        model.fit(np.full((10, 2), np.inf), LABEL[:10])
    assert not hasattr(model, "estimators_")


class Interrupted(DecisionTreeClassifier):
    """A member that Ctrl-C hits."""

    def fit(self, X: Any, y: Any) -> Any:
        raise KeyboardInterrupt

    def predict_proba(self, X: Any) -> Any:
        raise KeyboardInterrupt


def test_interrupted_members_leave_no_threads() -> None:
    good = Classifier(None, 8, n_jobs=4, random_state=0).fit(X, NUMBER)
    before = threading.active_count()
    for _ in range(40):
        with pytest.raises(KeyboardInterrupt):
            Classifier(Interrupted(), 8, n_jobs=4).fit(X, NUMBER)
    good.estimators_[3] = Interrupted()
    for _ in range(40):
        with pytest.raises(KeyboardInterrupt):
            good.predict(X)
    deadline = time.monotonic() + 10.0
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= before


def test_threads_of_members_know_the_configuration() -> None:
    class Looks(DecisionTreeClassifier):
        def fit(self, X: Any, y: Any) -> Any:
            self.found_ = sklearn.get_config()["assume_finite"]
            return super().fit(X, y)

    with sklearn.config_context(assume_finite=True):
        model = Classifier(Looks(), 4, n_jobs=2).fit(X, NUMBER)
    assert all(member.found_ for member in model.estimators_)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_joblib_says_where_members_are_fitted(backend: str) -> None:
    expected = Classifier(GaussianNB(), 40, oob_score=True, random_state=0).fit(X, NUMBER)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        model = Classifier(GaussianNB(), 40, oob_score=True, random_state=0).fit(X, NUMBER)
        assert np.array_equal(model.predict_proba(X), expected.predict_proba(X))
    assert model.oob_score_ == expected.oob_score_


def test_a_senseless_number_of_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "abc")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        assert len(Classifier(None, 3, n_jobs=-1).fit(X, NUMBER).estimators_) == 3


# --- rows that belong together -----------------------------------------------------------


def test_rows_of_a_group_are_not_out_of_bag_of_a_member_that_knows_another() -> None:
    """A memory of the group predicts its rows perfectly, unless it has never seen them."""
    groups = np.repeat(np.arange(40), 5)
    X = np.repeat(np.arange(40.0), 5)[:, None]
    y = np.repeat(np.random.default_rng(0).normal(size=40), 5)
    leaking = Regressor(n_estimators=30, max_samples=30, oob_score=True, random_state=0).fit(X, y)
    clean = clone(leaking).fit(X, y, groups=groups)
    assert leaking.oob_score_ > 0.5 > 0.2 > clean.oob_score_
    assert np.array_equal(leaking.predict(X), clean.predict(X))
    with pytest.raises(ValueError, match="with time these members may have seen"):
        clean.fit(X, y, time=np.arange(200))
    with pytest.raises(ValueError, match="groups has shape"):
        clean.fit(X, y, groups=[1])


def test_members_of_hornbeam_are_told_of_groups_and_of_copies() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    stack = hb.StackingRegressor([("tree", hb.DecisionTreeRegressor(max_depth=1))], cv=2)
    model = Regressor(stack, 2, random_state=0).fit(X, y)
    sample = model.estimators_samples_[0]
    assert len(np.unique(sample)) < 60
    expected = clone(model.estimators_[0]).fit(X[sample], y[sample], groups=sample)
    assert model.estimators_[0].digest() == expected.digest()
    groups = np.arange(60) // 4
    model.fit(X, y, groups=groups)
    expected = clone(model.estimators_[0]).fit(X[sample], y[sample], groups=groups[sample])
    assert model.estimators_[0].digest() == expected.digest()

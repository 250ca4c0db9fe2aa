"""AdaBoost as it is used: votes, probabilities, margins, held-out rows, what belongs together."""

from __future__ import annotations

import io
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

import hornbeam as hb
from hornbeam.combine.adaboost.committee import Ranked
from hornbeam.combine.adaboost.members import Members, make_members
from hornbeam.combine.tables import read_rows

Classifier, Regressor = hb.AdaBoostClassifier, hb.AdaBoostRegressor
X2, Y2 = (part[:300] for part in load_breast_cancer(return_X_y=True))
X3, Y3 = load_iris(return_X_y=True)
XR, YR = (part[:200] for part in load_diabetes(return_X_y=True))
RNG = np.random.default_rng(0)
NOISY = np.where(RNG.random(len(Y2)) < 0.2, 1 - Y2, Y2)
MIXED = pd.DataFrame(
    {
        "color": RNG.choice(["red", "green", "blue", None], 200),
        "size": np.where(RNG.random(200) < 0.2, np.nan, RNG.normal(size=200)),
    }
)
KIND = np.where((MIXED["color"] == "red") ^ (MIXED["size"] > 0), "yes", "no")


# --- members ----------------------------------------------------------------------------


def slowly(model: Any, X: Any, y: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Fit members one by one, by their own ``fit``."""

    def make(*arguments: Any, n_jobs: int | None, **more: Any) -> Members:
        return Members(*arguments, **more)

    with monkeypatch.context() as patch:
        patch.setattr("hornbeam.combine.adaboost.base.make_members", make)
        return sklearn.base.clone(model).fit(X, y)


@pytest.mark.mission("A4")
@pytest.mark.parametrize(
    ("model", "X", "y"),
    [
        (Classifier(n_estimators=8), X3, Y3),
        (Classifier(n_estimators=5), MIXED, KIND),
        (
            Classifier(
                hb.DecisionTreeClassifier(
                    max_depth=3, finder="histogram", max_features=2, min_weight_fraction_leaf=0.02,
                    class_weight="balanced", ccp_alpha=0.001,
                ),
                n_estimators=5, algorithm="SAMME.R", random_state=0,
            ),
            X2, NOISY,
        ),
        (Classifier(hb.DecisionTreeClassifier(max_depth=2, pruning="pessimistic")), X2, NOISY),
        (Regressor(n_estimators=5, random_state=0), XR, YR),
        (Regressor(n_estimators=5, random_state=0, resample=False, loss="square"), XR, YR),
        (
            Regressor(
                hb.DecisionTreeRegressor(max_depth=3, criterion="absolute_error"),
                n_estimators=3, random_state=0,
            ),
            XR, YR,
        ),
    ],
)  # fmt: skip
def test_regrown_trees_are_those_that_are_fitted(
    model: Any, X: Any, y: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.set_params(n_estimators=min(model.n_estimators, 8))
    fast, slow = sklearn.base.clone(model).fit(X, y), slowly(model, X, y, monkeypatch)
    assert fast.digest() == slow.digest()
    np.testing.assert_array_equal(fast.predict(X), slow.predict(X))


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"max_depth": 1}, True),
        ({"max_depth": 3, "ccp_alpha": 0.002}, True),
        ({"max_depth": 3, "finder": "histogram"}, True),
        ({"max_leaf_nodes": 6}, True),
        ({"max_depth": None}, False),  # too many nodes
    ],
)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_rows_are_where_growing_has_brought_them(
    more: dict[str, Any], told: bool, n_jobs: int
) -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"n": rng.normal(size=9000), "c": rng.choice(list("abcde"), 9000)})
    frame.loc[::7, "n"] = np.nan
    y = ((frame["n"] > 0) ^ frame["c"].isin(["a", "d"]) ^ (rng.random(9000) < 0.1)).to_numpy()
    maker, random = hb.DecisionTreeClassifier(**more), np.random.RandomState(0)
    rows = read_rows(frame, Classifier(), fitted=False)
    members = make_members(maker, rows, y, np.array([False, True]), random, 2, n_jobs=n_jobs)
    for number in range(2):
        member = members.fit(rng.random(9000), number)
        found = members.stage.leaves(member.tree_, 9000)
        assert (found is not None) == told or n_jobs > 1  # threads may grow nodes in tiles
        if found is not None:
            np.testing.assert_array_equal(found, member.apply(frame))
    members.fit(np.arange(9000) % 2.0, 0)
    assert members.stage.leaves(member.tree_, 9000) is None  # rows of weight 0 are nowhere


@pytest.mark.mission("A4")
def test_the_members_are_any_estimators() -> None:
    model = Classifier(LogisticRegression(), n_estimators=3).fit(X3, Y3)
    assert all(isinstance(member, LogisticRegression) for member in model)
    assert len(model) == 3
    assert model[0] is model.estimators_[0]
    with pytest.raises(AttributeError, match="LogisticRegression has no feature_importances_"):
        _ = model.feature_importances_
    nearest = Regressor(KNeighborsRegressor(3), n_estimators=3, random_state=0).fit(XR, YR)
    assert nearest.score(XR, YR) > 0.3  # rows are drawn, so members need take no weights


def test_the_result_does_not_depend_on_threads() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(6000, 5))
    y = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 1)
    digests, predicted = set(), []
    for n_jobs in (1, 2, 4):
        model = Classifier(
            hb.DecisionTreeClassifier(max_depth=3), n_estimators=4, n_jobs=n_jobs
        ).fit(X, y)
        digests.add(model.digest())
        predicted.append(model.predict_proba(X))
    assert len(digests) == 1
    assert all(np.array_equal(predicted[0], other) for other in predicted)
    numbers = {
        Regressor(n_estimators=3, n_jobs=n, random_state=0).fit(X, X[:, 0]).digest()
        for n in (1, 2, 4)
    }
    assert len(numbers) == 1


# --- votes and probabilities ------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["SAMME", "SAMME.R"])
@pytest.mark.parametrize(("X", "y"), [(X2, NOISY), (X3, Y3)], ids=["two", "three"])
def test_the_most_probable_class_is_predicted(X: Any, y: Any, algorithm: str) -> None:
    model = Classifier(n_estimators=6, algorithm=algorithm).fit(X, y)
    shares = model.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(X), model.classes_[shares.argmax(axis=1)])
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(shares))
    stages = list(model.staged_predict_proba(X))
    assert len(stages) == len(model)
    np.testing.assert_allclose(stages[-1], shares)


@pytest.mark.mission("A1")
def test_probabilities_follow_from_the_exponential_loss() -> None:
    """p_k = exp(V_k) / sum exp(V_j) of the votes; of two classes 1 / (1 + exp(-2 F))."""
    model = Classifier(n_estimators=7).fit(X2, NOISY)
    signs = np.array([np.where(member.predict(X2) == 1, 1.0, -1.0) for member in model])
    margin = 0.5 * model.estimator_weights_ @ signs
    np.testing.assert_allclose(model.predict_proba(X2)[:, 1], 1.0 / (1.0 + np.exp(-2.0 * margin)))


@pytest.mark.mission("A1")
@pytest.mark.parametrize("rate", [1.0, 0.3])
@pytest.mark.parametrize(("X", "y"), [(X2, NOISY), (X3, Y3)], ids=["two", "three"])
def test_the_training_error_is_under_its_bound(X: Any, y: Any, rate: float) -> None:
    weight = np.random.default_rng(2).uniform(0.1, 1.0, len(y))
    model = Classifier(n_estimators=15, learning_rate=rate).fit(X, y, weight)
    right = np.array(list(model.staged_score(X, y, weight)))
    assert np.all(1.0 - right <= model.training_error_bound_ + 1e-12)
    if rate == 1.0 and len(model.classes_) == 2:
        error = model.estimator_errors_
        product = np.cumprod(2.0 * np.sqrt(error * (1.0 - error)))
        np.testing.assert_allclose(model.training_error_bound_, product)
    with pytest.raises(AttributeError, match=r"algorithm='SAMME'"):
        _ = Classifier(n_estimators=2, algorithm="SAMME.R").fit(X, y).training_error_bound_


@pytest.mark.mission("A4")
def test_margins_are_what_the_votes_are_ahead_by() -> None:
    model = Classifier(n_estimators=8).fit(X3, Y3)
    share = model.estimator_weights_ / model.estimator_weights_.sum()
    votes = np.array([member.predict(X3) for member in model])
    expected = []
    for row, own in enumerate(Y3):
        of_class = [share[votes[:, row] == k].sum() for k in range(3)]
        expected.append(of_class[own] - max(of_class[:own] + of_class[own + 1 :]))
    margins = model.margins(X3, Y3)
    np.testing.assert_allclose(margins, expected, atol=1e-12)
    np.testing.assert_array_equal(margins > 1e-12, (model.predict(X3) == Y3) & (margins > 1e-12))
    np.testing.assert_allclose(list(model.staged_margins(X3, Y3))[-1], margins)
    with pytest.raises(ValueError, match="Margins need a class of"):
        model.margins(X3, np.full(len(X3), 9))
    with pytest.raises(ValueError, match="for each of the 150 rows"):
        model.margins(X3, Y3[:-1])


def test_margins_are_drawn() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    model = Classifier(n_estimators=8).fit(X3, Y3)
    ax = hb.plot_margins(model, X3, Y3, rounds=[2, 8])
    lines = ax.get_lines()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["2 rounds", "8 rounds"]
    np.testing.assert_allclose(lines[1].get_xdata(), np.sort(model.margins(X3, Y3)))
    with pytest.raises(ValueError, match="must be from 1 to the 8 rounds"):
        hb.plot_margins(model, X3, Y3, rounds=[9])
    with pytest.raises(TypeError, match="not a DecisionTreeClassifier"):
        hb.plot_margins(hb.DecisionTreeClassifier(), X3, Y3)


@pytest.mark.mission("A3")
def test_the_weighted_median_is_the_least_value_with_half_of_the_weight() -> None:
    rng = np.random.default_rng(0)
    values, weights = rng.integers(0, 6, (50, 7)).astype(float), rng.exponential(size=7)
    found = Ranked.of(values, weights).medians(None, 1)
    for row, median in zip(values, found, strict=True):
        least = min(v for v in row if weights[row <= v].sum() >= 0.5 * weights.sum())
        assert median == least
    even = Ranked.of(np.array([[4.0, 1.0, 2.0, 3.0]]), np.ones(4)).medians(None, 1)
    assert even == [2.0]  # not the mean of the two in the middle: a member has predicted it


# --- rows held out ----------------------------------------------------------------------


def test_early_stopping_gives_its_rows_back() -> None:
    given: dict[str, Any] = {"n_estimators": 60, "random_state": 0}
    stopped = Classifier(early_stopping=True, n_iter_no_change=5, **given).fit(X2, NOISY)
    assert 1 <= len(stopped) < 60
    whole = Classifier(**{**given, "n_estimators": len(stopped)}).fit(X2, NOISY)
    assert stopped.digest() == whole.digest()
    numbers = Regressor(early_stopping=True, n_iter_no_change=3, **given).fit(XR, YR)
    assert 1 <= len(numbers) < 60
    assert (
        numbers.digest()
        == Regressor(**{**given, "n_estimators": len(numbers)}).fit(XR, YR).digest()
    )


def test_calibration_changes_probabilities_only() -> None:
    rows = np.arange(len(X2))
    test = rows % 3 == 0
    plain = Classifier(n_estimators=40, random_state=0).fit(X2[~test], NOISY[~test])
    trusted = Classifier(n_estimators=40, random_state=0, calibrate=True, validation_fraction=0.3)
    trusted.fit(X2[~test], NOISY[~test])
    assert plain.calibration_ == 1.0
    assert 0.0 < trusted.calibration_ < 1.0  # noise makes votes too sure of themselves
    np.testing.assert_array_equal(plain.predict(X2), trusted.predict(X2))
    np.testing.assert_array_equal(plain.decision_function(X2), trusted.decision_function(X2))
    before, after = (log_loss(NOISY[test], m.predict_proba(X2[test])) for m in (plain, trusted))
    assert after < before


class Watcher(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Notes the rows that it is fitted on; says the first class where the first column is 0."""

    seen: list[Any] = []  # noqa: RUF012
    told: list[Any] = []  # noqa: RUF012

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, time: Any = None
    ) -> Any:
        self.classes_ = np.unique(y)
        Watcher.seen.append(X[:, 1].astype(int))
        Watcher.told.append((groups, time))
        return self

    def predict(self, X: Any) -> Any:
        return self.classes_[(X[:, 0] > 0).astype(int)]


@pytest.mark.parametrize("kind", ["groups", "time"])
def test_held_out_rows_respect_groups_and_time(kind: str) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    X = np.column_stack([np.where(rng.random(200) < 0.1, 1 - y, y), np.arange(200)])
    belongs = rng.integers(20, size=200)
    Watcher.seen, Watcher.told = [], []
    model = Classifier(Watcher(), n_estimators=3, early_stopping=True, validation_fraction=0.25)
    model.fit(X, y, **{kind: belongs})
    learnt = Watcher.seen[0]
    held = np.setdiff1d(np.arange(200), learnt)
    assert 20 < len(held) < 90
    if kind == "groups":
        assert not set(belongs[learnt]) & set(belongs[held])
    else:
        assert belongs[learnt].max() < belongs[held].min()
    groups, time = Watcher.told[-1]  # of the fit on all rows
    _, numbers = np.unique(belongs, return_inverse=True)
    np.testing.assert_array_equal(groups if kind == "groups" else time, numbers)
    assert (time if kind == "groups" else groups) is None


@pytest.mark.parametrize("algorithm", ["SAMME", "SAMME.R"])
def test_a_class_that_only_the_latest_rows_have(
    algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What learns before early stopping has not seen the first class, and says no other for it."""
    time = np.arange(120)
    y = np.where(time >= 110, 0, 1 + time % 2)
    X = np.column_stack([y + np.random.default_rng(0).normal(size=120), time % 7])
    given: dict[str, Any] = {"early_stopping": True, "n_estimators": 9, "random_state": 0}
    model = Classifier(algorithm=algorithm, validation_fraction=0.2, calibrate=True, **given)
    fast = sklearn.base.clone(model).fit(X, y, time=time)

    monkeypatch.setattr(
        "hornbeam.combine.adaboost.base.make_members",
        lambda *arguments, n_jobs, **more: Members(*arguments, **more),
    )
    slow = sklearn.base.clone(model).fit(X, y, time=time)
    assert fast.digest() == slow.digest()


def test_metadata_is_routed_to_it() -> None:
    groups = np.arange(len(X3)) % 10
    weight = (np.arange(len(X3)) % 4 > 0).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        model = Classifier(n_estimators=3, early_stopping=True, random_state=0)
        model.set_fit_request(sample_weight=True, groups=True)
        model.set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"learning_rate": [0.5, 1.0]}, cv=GroupKFold(3))
        search.fit(X3, Y3, sample_weight=weight, groups=groups)
        best = search.best_estimator_
    given = {"sample_weight": weight, "groups": groups}
    assert best.digest() == sklearn.base.clone(best).fit(X3, Y3, **given).digest()
    assert best.digest() != sklearn.base.clone(best).fit(X3, Y3).digest()


# --- what else it can do ----------------------------------------------------------------


def test_importances_are_those_of_the_members_by_their_weights() -> None:
    model = Classifier(n_estimators=5).fit(X3, Y3)
    weights = model.estimator_weights_ / model.estimator_weights_.sum()
    expected = sum(w * m.feature_importances_ for w, m in zip(weights, model, strict=True))
    np.testing.assert_allclose(model.feature_importances_, expected)
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_frames_keep_their_names_and_categories() -> None:
    model = Classifier(n_estimators=3).fit(MIXED, KIND)
    assert model.feature_names_in_.tolist() == ["color", "size"]
    turned = MIXED[["size", "color"]]
    np.testing.assert_array_equal(model.predict(turned), model.predict(MIXED))
    assert hb.export_text(model[0])


def test_progress_is_shown_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for verbose, expected in ((1, True), (0, False)):
        screen = io.StringIO()
        monkeypatch.setattr(sys, "stderr", screen)
        Classifier(n_estimators=3, verbose=verbose).fit(X3, Y3)
        assert ("AdaBoost" in screen.getvalue()) == expected


# --- bad input --------------------------------------------------------------------------


class NoNumbers(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Predicts NaN for the third row."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        return self

    def predict(self, X: Any) -> Any:
        return np.where(np.arange(len(X)) == 2, np.nan, 0.0)


class Failing(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Fails in its second fit."""

    fits = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        Failing.fits += 1
        if Failing.fits > 1:
            raise RuntimeError("no more memory")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.where(np.arange(len(X)) % 5 == 0, self.classes_[0], self.classes_[-1])


def test_a_member_that_fails_is_named() -> None:
    Failing.fits = 0
    y = (np.arange(40) % 4 > 0).astype(int)
    with pytest.raises(
        RuntimeError, match=r"member of round 2 \(Failing\) could not be fitted: no"
    ):
        Classifier(Failing()).fit(np.zeros((40, 1)), y)


@pytest.mark.parametrize(
    ("model", "X", "y", "kind", "words"),
    [
        (Classifier(hb.DecisionTreeRegressor()), X3, Y3, ValueError, "needs a classifier"),
        (Classifier(LinearRegression()), X3, Y3, ValueError, "needs a classifier"),
        (Regressor(hb.DecisionTreeClassifier()), XR, YR, ValueError, "needs a regressor"),
        (Regressor(LogisticRegression()), XR, YR, ValueError, "needs a regressor"),
        (Classifier(KNeighborsClassifier()), X3, Y3, TypeError, "doesn't support sample_weight"),
        (
            Regressor(KNeighborsRegressor(), resample=False),
            XR, YR, TypeError, r"AdaBoostRegressor\(resample=True\)",
        ),
        (Regressor(NoNumbers()), XR, YR, ValueError, r"\(NoNumbers\) predicts nan for row 2"),
        (
            Classifier(Watcher(), algorithm="SAMME.R"),
            X2, Y2, TypeError, "Watcher has no predict_proba",
        ),
        (Classifier(algorithm="SAMME.X"), X3, Y3, ValueError, "'algorithm' parameter"),
        (Classifier(learning_rate=0.0), X3, Y3, ValueError, "'learning_rate' parameter"),
        (Regressor(loss="cubic"), XR, YR, ValueError, "'loss' parameter"),
        (Classifier(n_estimators=0), X3, Y3, ValueError, "'n_estimators' parameter"),
        (Classifier(estimator=3), X3, Y3, ValueError, "'estimator' parameter"),
        (Classifier(), X3, np.column_stack([Y3, Y3]), ValueError, "y has 2 outputs"),
        (Regressor(), XR, np.column_stack([YR, YR]), ValueError, "y has 2 outputs"),
        (Classifier(), X3, Y3[:-1], ValueError, "149"),
        (
            Classifier(early_stopping=True), X3[:2], [0, 1],
            ValueError, "early_stopping=True with validation_fraction=0.1 holds out 0",
        ),
    ],
)  # fmt: skip
def test_bad_input_is_said(model: Any, X: Any, y: Any, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words):
        model.fit(X, y)
    assert not hasattr(model, "estimators_")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"groups": np.arange(9)}, r"groups has shape \(9,\), but X has 150 rows"),
        ({"time": [None] * 150}, r"time\[0\] is None; every row must have one"),
        ({"time": np.zeros(150)}, "time has 1 different values"),
        ({"groups": np.zeros(150)}, "holds out"),
        ({"sample_weight": np.zeros(150)}, "weight"),
        ({"sample_weight": -np.ones(150)}, "[Nn]egative"),
    ],
)
def test_bad_words_about_rows_are_said(more: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Classifier(early_stopping=True).fit(X3, Y3, **more)

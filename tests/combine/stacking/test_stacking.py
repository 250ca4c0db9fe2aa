"""Stacks: the counts of the sources, scikit-learn's results, held-out rows only, and bad input."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn.ensemble
from combine.members import Counting, Failing, Fixed, Memory, Shareless
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import (
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import hornbeam as hb
from hornbeam.combine.stacking.base import FOLDS_KEY
from hornbeam.data.folds import Kin, Splits

X, Y = load_iris(return_X_y=True)
X2, Y2 = (part[::4] for part in load_breast_cancer(return_X_y=True))
XR, YR = load_diabetes(return_X_y=True)
CLASSES: list[Any] = [
    ("bayes", GaussianNB()),
    ("tree", DecisionTreeClassifier(max_depth=2, random_state=0)),
]
NUMBERS: list[Any] = [("line", LinearRegression()), ("ridge", Ridge(1.0))]
three = [(name, Counting()) for name in "abc"]


# --- what the sources say --------------------------------------------------------------


@pytest.mark.mission("E9")
@pytest.mark.quick
def test_three_members_and_four_folds_are_twelve_fits_and_25_predictions() -> None:
    """12 predictions of held-out rows, 12 of the test rows, and the one of the final model."""
    Counting.counted()
    model = hb.StackingRegressor(three, Counting(), cv=4, refit="fold_mean").fit(XR, YR)
    assert Counting.counted() == (12 + 1, 12)
    model.predict(XR)
    assert Counting.counted() == (0, 12 + 1)


@pytest.mark.mission("E9")
@pytest.mark.quick
def test_a_refit_model_predicts_alone() -> None:
    Counting.counted()
    model = hb.StackingRegressor(three, Counting(), cv=4).fit(XR, YR)
    assert Counting.counted() == (12 + 3 + 1, 12)
    model.predict(XR)
    assert Counting.counted() == (0, 3 + 1)


@pytest.mark.mission("E10")
@pytest.mark.quick
def test_a_blend_of_three_is_four_fits_and_seven_predictions() -> None:
    Counting.counted()
    model = hb.BlendingRegressor(three, Counting(), refit=False).fit(XR, YR)
    assert Counting.counted() == (3 + 1, 3)
    model.predict(XR)
    assert Counting.counted() == (0, 3 + 1)


@pytest.mark.mission("E9")
def test_new_rows_get_the_mean_of_the_fold_models() -> None:
    """By hand: held-out predictions teach the final model, means of fold models are its input."""
    folds = list(KFold(4, shuffle=True, random_state=0).split(XR))
    learnt, asked = np.empty((len(XR), 2)), np.zeros((len(XR), 2))
    for fit_on, held in folds:
        for place, (_, member) in enumerate(NUMBERS):
            model = clone(member).fit(XR[fit_on], YR[fit_on])
            learnt[held, place] = model.predict(XR[held])
            asked[:, place] += model.predict(XR) / 4
    expected = LinearRegression().fit(learnt, YR).predict(asked)
    stack = hb.StackingRegressor(NUMBERS, LinearRegression(), cv=folds, refit="fold_mean")
    assert np.allclose(stack.fit(XR, YR).predict(XR), expected)
    assert np.allclose(stack.estimators_[0].predict(XR), asked[:, 0])


@pytest.mark.mission("E10")
def test_a_blend_learns_from_the_share_that_is_held_out() -> None:
    blend = hb.BlendingRegressor(NUMBERS, LinearRegression(), validation_fraction=0.3)
    blend.set_params(random_state=0, refit=False).fit(XR, YR)
    rows = [len(one.predict(XR)) for one in blend.estimators_]
    assert rows == [442, 442] and len(blend.models_[0]) == 1
    again = clone(blend).set_params(refit=True).fit(XR, YR)
    assert np.allclose(again.estimators_[0].coef_, LinearRegression().fit(XR, YR).coef_)


# --- what scikit-learn does ------------------------------------------------------------


@pytest.mark.parametrize("passthrough", [False, True])
@pytest.mark.parametrize("method", ["auto", "predict_proba", "decision_function"])
@pytest.mark.parametrize("table", [(X, Y), (X2, Y2)], ids=["three", "two"])
def test_classes_are_those_of_scikit_learn(table: Any, method: str, passthrough: bool) -> None:
    members = [("line", LogisticRegression(max_iter=300)), ("svc", SVC(random_state=0))]
    if method == "predict_proba":
        members = CLASSES
    A, b = table
    same: dict[str, Any] = {
        "cv": StratifiedKFold(3, shuffle=True, random_state=0),
        "stack_method": method,
        "passthrough": passthrough,
    }
    final = DecisionTreeClassifier(max_depth=3, random_state=0)
    theirs = sklearn.ensemble.StackingClassifier(members, final, **same).fit(A, b)
    ours = hb.StackingClassifier(members, final, **same, refit="refit").fit(A, b)
    assert np.allclose(ours.transform(A), theirs.transform(A))
    assert np.array_equal(ours.predict(A), theirs.predict(A))
    assert np.allclose(ours.predict_proba(A), theirs.predict_proba(A))
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    assert ours.stack_method_ == theirs.stack_method_
    assert hasattr(ours, "decision_function") == hasattr(theirs, "decision_function")


def test_values_are_those_of_scikit_learn() -> None:
    theirs = sklearn.ensemble.StackingRegressor(NUMBERS, Ridge(), cv=KFold(4)).fit(XR, YR)
    ours = hb.StackingRegressor(NUMBERS, Ridge(), cv=KFold(4), refit="refit").fit(XR, YR)
    assert np.allclose(ours.predict(XR), theirs.predict(XR))
    assert ours.n_features_in_ == theirs.n_features_in_
    before = sklearn.ensemble.StackingRegressor(theirs.estimators, Ridge(), cv="prefit")
    fitted = [(name, clone(one).fit(XR[::2], YR[::2])) for name, one in NUMBERS]
    before.set_params(estimators=fitted).fit(XR[1::2], YR[1::2])
    own = hb.StackingRegressor(fitted, Ridge(), cv="prefit").fit(XR[1::2], YR[1::2])
    assert np.allclose(own.predict(XR), before.predict(XR))
    with pytest.raises(NotFittedError, match="member 'line'"):
        hb.StackingRegressor(NUMBERS, cv="prefit").fit(XR, YR)


def test_votes_are_columns_of_zeros_and_ones() -> None:
    model = hb.StackingClassifier(CLASSES, LogisticRegression(), stack_method="predict")
    table = model.set_params(refit="refit").fit(X, Y).transform(X)
    assert set(np.unique(table)) == {0.0, 1.0} and table.shape == (150, 6)
    assert np.array_equal(table[:, :3].argmax(axis=1), model.estimators_[0].predict(X))
    assert model.fit(X2, Y2).transform(X2).shape == (len(X2), 2)


def test_sparse_tables_and_frames_pass_through() -> None:
    sparse = scipy.sparse.csr_matrix(XR)
    tree = DecisionTreeRegressor(max_depth=3, random_state=0)
    model = hb.StackingRegressor([("tree", tree)], tree, passthrough=True, random_state=0)
    dense = model.fit(XR, YR).predict(XR)
    assert np.allclose(model.fit(sparse, YR).predict(sparse), dense)
    assert scipy.sparse.issparse(model.transform(sparse))
    frame = pd.DataFrame(XR, columns=[f"c{i}" for i in range(10)])
    assert np.allclose(model.fit(frame, YR).predict(frame[frame.columns[::-1]]), dense)
    found = model.transform(frame)
    assert list(found.columns) == model.get_feature_names_out().tolist()
    assert np.allclose(model.fit(pd.DataFrame(XR), YR).predict(pd.DataFrame(XR)), dense)


def test_text_and_gaps_reach_members_of_hornbeam() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"word": rng.choice(["a", "b", None], 150), "n": rng.normal(size=150)})
    frame.loc[::5, "n"] = np.nan
    y = np.where((frame["word"] == "a") & (frame["n"].fillna(0) > -1), "yes", "no")
    members = [("tree", hb.DecisionTreeClassifier(max_depth=3)), ("c45", hb.C45Classifier())]
    for final in (None, hb.DecisionTreeClassifier(max_depth=2)):
        for through in (False, final is not None):
            model = hb.StackingClassifier(members, final, passthrough=through, random_state=0)
            assert model.fit(frame, y).score(frame, y) > 0.9


def test_several_layers() -> None:
    layer = hb.StackingRegressor(NUMBERS, Ridge(), cv=2)
    model = hb.StackingRegressor([*NUMBERS, ("stack", layer)], layer, cv=3, random_state=0)
    assert model.fit(XR, YR).score(XR, YR) > 0.4
    assert model.fit(XR, YR, groups=np.arange(442) // 4).score(XR, YR) > 0.4


def test_the_default_is_greedy_and_seeded() -> None:
    members = [("mean", Ridge(1e9)), ("line", LinearRegression())]
    first = hb.StackingRegressor(members, random_state=3).fit(XR, YR)
    assert first.weights_.sum() == pytest.approx(1.0) and first.weights_[1] > 0.8
    second = hb.StackingRegressor(members, "greedy", random_state=3).fit(XR, YR)
    assert np.array_equal(first.predict(XR), second.predict(XR))


def test_a_member_of_weight_zero_is_not_asked() -> None:
    members = [("good", LinearRegression()), ("useless", Counting())]
    model = hb.StackingRegressor(members, random_state=0).fit(XR, 1e-3 + XR[:, 0])
    assert model.weights_.tolist() == [1.0, 0.0]
    Counting.counted()
    model.predict(XR)
    assert Counting.counted() == (0, 0)


# --- rows that belong together ---------------------------------------------------------


def held_out(model: Any, X: Any, y: Any, **more: Any) -> Any:
    """Rows that the final estimator has learnt from."""
    seen: list[Any] = []

    class Final(Ridge):  # type: ignore[misc]
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            seen.append(np.asarray(y))
            return super().fit(X, y, sample_weight)

    model.set_params(final_estimator=Final()).fit(X, y, **more)
    return seen[0]


def test_the_earliest_rows_teach_nobody_but_members() -> None:
    y = np.arange(442.0)
    told = held_out(hb.StackingRegressor(NUMBERS, cv=5), XR, y, time=np.arange(442))
    assert told.min() > 60 and len(told) + told.min() == 442
    split = TimeSeriesSplit(4)
    told = held_out(hb.StackingRegressor(NUMBERS, cv=split), XR, y)
    assert sorted(told) == sorted(np.concatenate([held for _, held in split.split(XR)]))


def test_rows_held_out_again_and_again_have_their_mean() -> None:
    folds = ShuffleSplit(3, test_size=0.5, random_state=0)
    told = held_out(hb.StackingRegressor(NUMBERS, cv=folds), XR, np.arange(442.0))
    expected = np.unique(np.concatenate([held for _, held in folds.split(XR)]))
    assert np.array_equal(told, expected)
    model = hb.StackingRegressor(NUMBERS, cv=KFold(3), refit="refit").fit(XR, YR)
    oof = np.column_stack([cross_val_predict(one, XR, YR, cv=KFold(3)) for _, one in NUMBERS])
    loss = [np.mean((oof @ w - YR) ** 2) for w in (model.weights_, [1, 0], [0, 1])]
    assert loss[0] <= min(loss) + 1e-9


def test_early_stopping_of_a_member_stays_in_its_fold() -> None:
    """A fold model is the one that its rows, groups and times alone make."""
    groups, time = np.arange(442) // 4, np.arange(442) // 6
    boosting = hb.GradientBoostingRegressor(n_estimators=30, early_stopping=True, random_state=3)
    for kin in ({"groups": groups}, {"time": time}):
        model = hb.StackingRegressor([("boosting", boosting)], cv=2, random_state=0)
        model.set_params(refit="fold_mean").fit(XR, YR, **kin)
        seed = int(np.random.RandomState(0).randint(2**31 - 1))
        splits = Splits(
            442, (seed, FOLDS_KEY), kin=Kin.read(kin.get("groups"), kin.get("time"), 442)
        )
        for split, found in zip(splits.folds(2), model.models_[0], strict=True):
            told = {name: values[split.learnt] for name, values in kin.items()}
            alone = clone(boosting).fit(XR[split.learnt], YR[split.learnt], **told)
            assert found.digest() == alone.digest()
            assert found.n_iter_ == alone.n_iter_


@pytest.mark.quick
@pytest.mark.parametrize(
    ("more", "match"),
    [
        ({"groups": np.arange(442) % 3}, r"5 folds \(cv\) need as many groups, but there are 3"),
        ({"time": np.arange(442) % 4}, r"need 6 different times, but\s+time has 4"),
        ({"time": np.zeros(442)}, "need 6 different times, but"),
        ({"groups": [1, 2]}, r"groups has shape \(2,\), but X has 442 rows"),
        ({"groups": [None] * 442}, r"groups\[0\] is None"),
        ({"time": np.full(442, np.nan)}, r"time\[0\] is nan"),
    ],
)
def test_bad_groups_and_times(more: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        hb.StackingRegressor(NUMBERS).fit(XR, YR, **more)


@pytest.mark.quick
def test_times_with_ties_stay_together() -> None:
    times = np.arange(442) // 50
    told = held_out(hb.StackingRegressor(NUMBERS, cv=3), XR, np.arange(442.0), time=times)
    assert told.min() % 50 == 0


@pytest.mark.quick
def test_a_splitter_that_does_not_respect_them() -> None:
    with pytest.raises(ValueError, match=r"Fold 0 of cv learns from row .* group"):
        hb.StackingRegressor(NUMBERS, cv=KFold(3)).fit(XR, YR, groups=np.arange(442) % 2)
    with pytest.raises(ValueError, match="not earlier than all rows"):
        hb.StackingRegressor(NUMBERS, cv=KFold(3)).fit(XR, YR, time=np.arange(442))


# --- weights and metadata --------------------------------------------------------------


def test_rows_of_weight_zero_might_as_well_not_be_there() -> None:
    weight = np.ones(442)
    weight[::3] = 0.0
    there = weight > 0
    model = hb.StackingRegressor(NUMBERS, Ridge(), random_state=0).fit(XR, YR, weight)
    alone = clone(model).fit(XR[there], YR[there], weight[there])
    assert np.array_equal(model.predict(XR), alone.predict(XR))


@pytest.mark.quick
def test_a_member_that_takes_no_weights_is_named() -> None:
    members = [*NUMBERS, ("counting", Counting())]
    with pytest.raises(TypeError, match=r"Counting does not support sample weights.*'counting'"):
        hb.StackingRegressor(members).fit(XR, YR, np.ones(442))
    with pytest.raises(TypeError, match="final_estimator"):
        hb.StackingRegressor(NUMBERS, Counting()).fit(XR, YR, np.ones(442))


def test_metadata_is_routed_to_the_rows_of_a_fold() -> None:
    from sklearn import config_context

    class Told(Ridge):  # type: ignore[misc]
        def fit(self, X: Any, y: Any, sample_weight: Any = None, note: Any = None) -> Any:
            assert len(note) == len(y) and np.array_equal(note, y)
            assert sample_weight is None
            return super().fit(X, y)

    with config_context(enable_metadata_routing=True):
        told = Told().set_fit_request(note=True, sample_weight=False)
        model = hb.StackingRegressor([("told", told)], random_state=0)
        model.fit(XR, YR, YR**2, note=YR)
        assert model.weights_.tolist() == [1.0]
    with pytest.raises(TypeError, match=r"fit got \['note'\]"):
        hb.StackingRegressor(NUMBERS).fit(XR, YR, note=YR)


# --- nothing leaks ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda m: hb.StackingClassifier(m, random_state=0),
        lambda m: hb.BlendingClassifier(m, random_state=0),
        lambda m: hb.VotingClassifier(m, voting="soft", weights="held_out", random_state=0),
    ],
    ids=["stacking", "blending", "voting"],
)
def test_a_member_that_memorises_and_a_column_of_row_numbers_gain_nothing(make: Any) -> None:
    rng = np.random.default_rng(1)
    table = np.column_stack([rng.normal(size=(300, 3)), rng.permutation(300)])
    y = (table[:, 0] + rng.normal(size=300) > 0).astype(int)
    line = LogisticRegression(max_iter=5000)
    model = make([("line", line), ("memory", Memory()), ("deep", hb.DecisionTreeClassifier())])
    model.fit(table, y)
    assert model.weights_[0] > 0.9 and model.weights_[1] < 0.1
    assert hb.check_leakage(model, table, y) == []


# --- bad members -----------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.parametrize("error", [ValueError, TypeError, RuntimeError])
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_member_that_fails_in_one_fold_is_named_with_the_fold(error: Any, n_jobs: Any) -> None:
    cv = KFold(5)
    table = XR.copy()
    table[:, 0] = np.arange(442)
    members = [*NUMBERS, ("bad", Failing(442 - 1, error))]  # the row of the last fold
    with pytest.raises(error, match=r"'bad' \(Failing\) could not be fitted on fold 4 of 5: this"):
        hb.StackingRegressor(members, cv=cv, n_jobs=n_jobs).fit(table, YR)
    members = [*NUMBERS, ("bad", Failing(0, nan=True))]
    with pytest.raises(ValueError, match=r"'bad'.*fold 0 of 5 could not predict.*\[nan\]"):
        hb.StackingRegressor(members, cv=cv, n_jobs=n_jobs).fit(table, YR)


@pytest.mark.quick
def test_an_error_of_another_kind_keeps_it() -> None:
    members = [("bad", Failing(0, ZeroDivisionError))]
    table = XR.copy()
    table[:, 0] = np.arange(442)
    with pytest.raises(ZeroDivisionError) as caught:
        hb.StackingRegressor(members, cv=KFold(3)).fit(table, YR)
    assert "fold 0 of 3" in caught.value.__notes__[0]


@pytest.mark.quick
def test_members_without_probabilities() -> None:
    members = [*CLASSES, ("shareless", Shareless())]
    with pytest.raises(ValueError, match="shareless does not implement the method predict_proba"):
        hb.StackingClassifier(members, stack_method="predict_proba").fit(X, Y)
    model = hb.StackingClassifier(members, random_state=0).fit(X, Y)
    assert model.stack_method_ == ["predict_proba", "predict_proba", "predict"]
    assert model.score(X, Y) > 0.9
    ridge = [("ridge", RidgeClassifier()), *CLASSES]
    final = LogisticRegression()
    assert hb.StackingClassifier(ridge, final).fit(X, Y).stack_method_[0] == "decision_function"


@pytest.mark.quick
def test_a_class_that_is_absent_from_a_fold() -> None:
    rare = Y.copy()
    rare[0] = 3
    model = hb.StackingClassifier(CLASSES, random_state=0).fit(X, rare)
    assert model.predict_proba(X).shape == (150, 4)
    members = [("line", LogisticRegression(max_iter=500))]
    decided = hb.StackingClassifier(members, LogisticRegression(), stack_method="decision_function")
    with pytest.raises(ValueError, match=r"'line'.*fold \d of 5.*not seen the class 3"):
        decided.fit(X, rare)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: hb.StackingClassifier([("a", Ridge())]), "Ridge should be a classifier"),
        (lambda: hb.StackingRegressor([("a", GaussianNB())]), "GaussianNB should be a regressor"),
        (
            lambda: hb.StackingRegressor([("a", Ridge()), ("b", GaussianNB())]),
            r"member 'b' of a StackingRegressor",
        ),
        (lambda: hb.StackingClassifier(CLASSES, Ridge()), "`final_estimator` parameter should be"),
        (lambda: hb.StackingClassifier(CLASSES, "best"), "final_estimator"),
        (lambda: hb.StackingClassifier(CLASSES, passthrough=True), "only averages members"),
        (
            lambda: hb.StackingClassifier(CLASSES, stack_method="decision_function"),
            "values of decision functions are of different units",
        ),
        (lambda: hb.StackingClassifier(CLASSES, cv=1), "The 'cv' parameter"),
        (lambda: hb.StackingClassifier(CLASSES, cv=1000), "need as many rows"),
        (lambda: hb.StackingClassifier(CLASSES, cv=[]), "cv has no folds"),
        (lambda: hb.BlendingClassifier(CLASSES, validation_fraction=1e-9), "leaves 150 of 150"),
        (lambda: hb.StackingClassifier([("a", Fixed([[np.nan] * 3]))]), "must predict finite"),
    ],
)
def test_bad_parameters(make: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        make().fit(X, Y)


def test_a_fit_that_fails_leaves_nothing_behind() -> None:
    model = hb.StackingRegressor(NUMBERS).fit(XR, YR)
    with pytest.raises(ValueError, match="group"):
        model.fit(XR, YR, groups=np.zeros(442))
    with pytest.raises(NotFittedError):
        model.predict(XR)


# --- one model, whoever fits it --------------------------------------------------------


@pytest.mark.parametrize("final", ["greedy", hb.DecisionTreeRegressor(max_depth=3)], ids=repr)
def test_threads_and_the_order_of_completion_do_not_matter(final: Any) -> None:
    members = [
        ("boosting", hb.GradientBoostingRegressor(n_estimators=5, early_stopping=True)),
        ("forest", hb.RandomForestRegressor(n_estimators=3)),
        ("tree", hb.DecisionTreeRegressor(max_depth=3)),
    ]
    model = hb.StackingRegressor(members, final, cv=3, random_state=0)
    digests = {model.set_params(n_jobs=n).fit(XR, YR).digest() for n in (None, 1, 2, 4)}
    assert len(digests) == 1
    assert model.feature_importances_.sum() == pytest.approx(1.0)


class Late(Ridge):  # type: ignore[misc]
    """Takes its time to be fitted."""

    def __init__(self, alpha: float = 1.0, seconds: float = 0.0) -> None:
        super().__init__(alpha)
        self.seconds = seconds

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        time.sleep(self.seconds)
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("make", [hb.StackingRegressor, hb.BlendingRegressor, hb.VotingRegressor])
def test_a_member_that_is_late_changes_nothing(make: Any) -> None:
    answers = []
    for pauses in ((0.0, 0.05, 0.0), (0.05, 0.0, 0.02)):
        members = [(f"m{i}", Late(10.0**-i, pause)) for i, pause in enumerate(pauses)]
        model = make(members, n_jobs=3, random_state=0)
        if make is hb.VotingRegressor:
            model.set_params(weights="held_out")
        answers.append((model.fit(XR, YR).predict(XR), model.weights_))
    for one, other in zip(*answers, strict=True):
        np.testing.assert_array_equal(one, other)


def test_importances_follow_the_final_estimator() -> None:
    trees = [("a", hb.DecisionTreeRegressor(max_depth=2)), ("b", hb.DecisionTreeRegressor())]
    model = hb.StackingRegressor(trees, LinearRegression(), refit="refit", random_state=0)
    shares = np.abs(model.fit(XR, YR).final_estimator_.coef_)
    first, second = (m.feature_importances_ for m in model.estimators_)
    expected = (shares[0] * first + shares[1] * second) / shares.sum()
    assert np.allclose(model.feature_importances_, expected)
    with pytest.raises(AttributeError, match="does not say how much"):
        _ = hb.StackingRegressor(trees, SVR()).fit(XR, YR).feature_importances_


def test_progress_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    hb.StackingRegressor(NUMBERS, verbose=1, cv=3).fit(XR, YR)
    shown = capsys.readouterr().err
    assert "stacking" in shown and "8/8" in shown

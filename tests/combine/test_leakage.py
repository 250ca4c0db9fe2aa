"""The leak test finds leaks where there are some, and none in hornbeam's ensembles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn.ensemble
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB

import hornbeam as hb

X, Y = load_iris(return_X_y=True)
MEMBERS: list[Any] = [("bayes", GaussianNB()), ("tree", hb.DecisionTreeClassifier())]
ENSEMBLES = [
    hb.StackingClassifier(MEMBERS),
    hb.StackingClassifier(MEMBERS, GaussianNB(), refit="fold_mean", cv=3),
    hb.BlendingClassifier(MEMBERS),
    hb.BlendingClassifier(MEMBERS, refit=False),
    hb.VotingClassifier(MEMBERS, voting="soft", weights="held_out"),
    hb.VotingClassifier(MEMBERS),
]
rng = np.random.default_rng(0)


class Leaking(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Asks its members about their own rows."""

    def __init__(self, estimators: Any = None) -> None:
        self.estimators = estimators

    def fit(self, X: Any, y: Any) -> Any:
        for _, member in self.estimators:
            clone(member).fit(X, y).predict(X)
        return self


@pytest.mark.parametrize("model", ENSEMBLES, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize(
    "kin",
    [
        {},
        {"groups": rng.integers(0, 20, 150)},
        {"time": rng.integers(0, 20, 150)},
        {"groups": np.arange(150) // 3, "time": np.arange(150) // 2},
    ],
    ids=lambda kin: "+".join(kin) or "none",
)
def test_no_ensemble_leaks(model: Any, kin: Any) -> None:
    assert hb.check_leakage(model, X, Y, **kin) == []


@pytest.mark.quick
def test_leaks_are_found() -> None:
    found = hb.check_leakage(Leaking(MEMBERS), X, Y)
    assert [sentence[:18] for sentence in found] == ["The member 'bayes'", "The member 'tree' "]
    assert "(150 rows in all)" in found[0]


@pytest.mark.quick
def test_scikit_learn_s_stacks_do_not_know_groups_and_times() -> None:
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    theirs = sklearn.ensemble.StackingClassifier(MEMBERS, GaussianNB(), cv=folds)
    assert hb.check_leakage(theirs, X, Y) == []
    assert "the same group" in hb.check_leakage(theirs, X, Y, groups=np.arange(150) // 5)[0]
    assert "are not later" in hb.check_leakage(theirs, X, Y, time=np.arange(150))[0]


@pytest.mark.quick
def test_what_cannot_be_checked() -> None:
    with pytest.raises(TypeError, match="has no estimators"):
        hb.check_leakage(GaussianNB(), X, Y)
    with pytest.raises(ValueError, match="taken as they are"):
        hb.check_leakage(hb.StackingClassifier(MEMBERS, cv="prefit"), X, Y)

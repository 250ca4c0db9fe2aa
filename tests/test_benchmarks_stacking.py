"""The benchmark of stacks: its rows, its sums, and that it measures what the estimators do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hornbeam as hb
from benchmarks import shared
from benchmarks.cases import stacking
from benchmarks.datasets import DataSet
from benchmarks.harness import Options
from benchmarks.results import Row

QUICK = Options(True, 1, 1.0, "")


def made(task: Any) -> DataSet:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 3))
    y = X[:, 0] + 0.5 * rng.normal(size=160)
    y = (y > 0).astype(np.int64) if task == "classification" else y
    return DataSet("made", X[:100], y[:100], X[100:], y[100:], task)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_greedy_stack_is_that_of_the_estimator(task: Any, monkeypatch: Any) -> None:
    """The folds are drawn by another key there, so they are passed on here."""
    data = made(task)
    losses = dict(
        zip([*stacking.MEMBERS, *stacking.CONTENDERS], stacking.losses(data, 0, QUICK), strict=True)
    )
    suffix = {"classification": "Classifier", "regression": "Regressor"}[task]
    settings: dict[str, Any] = {**stacking.QUICK_MEMBERS, "random_state": 0}
    named = [
        (name, getattr(hb, kind + suffix)(**settings)) for name, kind in stacking.MEMBERS.items()
    ]
    labels = data.y if task == "classification" else None
    folds = [
        (np.flatnonzero(split.learnt), np.flatnonzero(split.held))
        for split in stacking.Splits(100, (0, 0), labels).folds(stacking.N_FOLDS)
    ]
    model = getattr(hb, f"Stacking{suffix}")(named, cv=folds).fit(data.X, data.y)
    classes = getattr(model, "classes_", None)
    for refit, name in (("fold_mean", "greedy"), ("refit", "greedy, refit")):
        model.set_params(refit=refit).fit(data.X, data.y)
        answer = model.predict(data.X_test)[:, None] if classes is None else None
        answer = model.predict_proba(data.X_test) if answer is None else answer
        assert stacking.loss(answer, data, classes) == pytest.approx(losses[name])


@pytest.mark.quick
def test_a_stack_is_worse_only_beyond_two_standard_errors() -> None:
    base = Row("regression, deciding", "d", "best member", 1.0, "", (1.0, 1.0, 1.0))
    best = np.ones(3)
    good = stacking.compared(base, "greedy", np.array([1.0, 1.1, 0.95]), best, 0.0)
    bad = stacking.compared(base, "greedy", np.array([1.1, 1.11, 1.12]), best, 0.0)
    assert good.verdict != "missed" and bad.verdict == "missed"
    assert bad.ratio == pytest.approx(1.11)
    count, mean = list(stacking.summed("regression", "greedy", [good, bad]))
    assert count.value == 1 and mean.value == pytest.approx((1.11 * 3.05 / 3) ** 0.5)


@pytest.mark.quick
def test_the_sets_are_parted_by_their_names() -> None:
    assert {stacking.decides(name) for name in ("adult", "abalone", "letter", "concrete")} == {
        True,
        False,
    }
    assert stacking.shared is shared

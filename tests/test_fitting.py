"""A fit that fails or is interrupted leaves the estimator as it was, or not fitted."""

from __future__ import annotations

import copy
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.fitting import become, fitting, forget, is_learnt, learnt

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3)).round(1)
Y = (X[:, 0] + rng.normal(size=60) > 0.0).astype(int)
few: dict[str, Any] = {"n_estimators": 3, "random_state": 0}
ESTIMATORS: dict[str, Any] = {
    "tree": hb.DecisionTreeClassifier(pruning="reduced_error", random_state=0, ccp_alpha=0.001),
    "values": hb.DecisionTreeRegressor(pruning="reduced_error", random_state=0),
    "id3": hb.ID3Classifier(numeric="categories"),
    "c45": hb.C45Classifier(),
    "forest": hb.RandomForestClassifier(oob_score=True, **few),
    "extra": hb.ExtraTreesRegressor(**few),
    "embedding": hb.RandomTreesEmbedding(**few),
    "isolation": hb.IsolationForest(contamination=0.1, **few),
    "bagging": hb.BaggingClassifier(hb.DecisionTreeClassifier(), oob_score=True, **few),
    "bagged values": hb.BaggingRegressor(hb.DecisionTreeRegressor(), oob_score=True, **few),
    "boosting": hb.GradientBoostingClassifier(learning_rate=0.1, **few),
    "ranker": hb.GradientBoostingRanker(learning_rate=0.1, **few),
}
WARM = [name for name, model in ESTIMATORS.items() if hasattr(model, "warm_start")]
SOURCES = str(Path(hb.__file__).parent)
KEPT_APART = ("team.py", "kernel.py", "companion.py", "atomics.py")  # these have their own tests


def fit(model: Any) -> Any:
    more = {"group": np.full(6, 10)} if "Ranker" in type(model).__name__ else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, Y, **more)


def interrupt_at(step: int, counted: list[int]) -> Any:
    """A trace function that interrupts before the ``step``-th line of hornbeam."""

    def trace(frame: Any, event: str, _: Any) -> Any:
        name = frame.f_code.co_filename
        if not name.startswith(SOURCES) or name.endswith(KEPT_APART):
            return None
        if event == "line":
            counted[0] += 1
            if counted[0] == step:
                raise KeyboardInterrupt
        return trace

    return trace


def traced_fit(model: Any, step: int) -> tuple[int, bool]:
    """How many lines ran, and whether the fit was interrupted."""
    counted = [0]
    before = sys.gettrace()
    sys.settrace(interrupt_at(step, counted))
    try:
        fit(model)
    except KeyboardInterrupt:
        return counted[0], True
    finally:
        sys.settrace(before)
    return counted[0], False


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(one[name] is other[name] for name in one)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_interrupt_leaves_nothing_behind(name: str) -> None:
    model = fit(copy.deepcopy(ESTIMATORS[name]))
    whole, n_interrupts = set(learnt(model)), 0
    n_lines, _ = traced_fit(model, 0)
    last_lines = range(max(1, n_lines - 30), n_lines + 1)
    for step in (*np.linspace(1, n_lines, 20).astype(int).tolist(), *last_lines):
        n_interrupts += traced_fit(model, step)[1]
        assert set(learnt(model)) in (set(), whole)  # the very last lines come behind the fit
    assert n_interrupts > 20


@pytest.mark.parametrize("name", WARM)
def test_an_interrupted_warm_start_changes_nothing(name: str) -> None:
    model = fit(copy.deepcopy(ESTIMATORS[name]).set_params(warm_start=True))
    before, n_interrupts = learnt(model), 0
    model.set_params(n_estimators=5)
    n_lines, _ = traced_fit(copy.deepcopy(model), 0)
    for step in np.linspace(1, n_lines - 30, 20).astype(int).tolist():
        if traced_fit(model, step)[1]:
            n_interrupts += 1
            assert same(learnt(model), before)
        become(model, before)
    assert n_interrupts > 10
    assert not same(learnt(fit(model)), before)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_fit_that_fails_leaves_nothing_behind(name: str) -> None:
    model = fit(copy.deepcopy(ESTIMATORS[name]))
    before = learnt(model)
    for table in (X[:0], np.full((60, 3), 1j)):
        with pytest.raises(ValueError):
            model.fit(table, Y)
        assert not learnt(model) or same(learnt(model), before)


def test_nothing_of_an_earlier_fit_remains() -> None:
    """A warm start that does not ask for an out-of-bag score has none."""
    for name in ("forest", "bagging", "bagged values"):
        model = fit(copy.deepcopy(ESTIMATORS[name]).set_params(warm_start=True))
        assert "oob_score_" in learnt(model)
        fit(model.set_params(oob_score=False, n_estimators=5))
        assert not [attribute for attribute in learnt(model) if attribute.startswith("oob")]
        plain = fit(copy.deepcopy(ESTIMATORS[name]).set_params(oob_score=False, n_estimators=5))
        assert learnt(model).keys() == learnt(plain).keys()


def test_an_offset_belongs_to_its_contamination(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fit(copy.deepcopy(ESTIMATORS["isolation"]))
    before = dict(vars(model))

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(hb.IsolationForest, "score_samples", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.set_contamination(0.4, X)
    assert same(vars(model), before)
    model.set_contamination(0.4)
    assert model.contamination == 0.4 and model.offset_ > before["offset_"]
    with pytest.raises(ValueError, match="contamination"):
        model.set_contamination(0.9)
    assert model.contamination == 0.4


@pytest.mark.quick
def test_one_step() -> None:
    model = hb.DecisionTreeClassifier()
    model.tree_, model.own = 1, 2  # type: ignore[assignment,attr-defined]
    with pytest.raises(KeyError), fitting(model) as copied:
        assert not learnt(copied) and copied.own == 2
        copied.tree_ = 3
        raise KeyError
    assert learnt(model) == {"tree_": 1}
    become(model, {"n_features_in_": 4})
    assert learnt(model) == {"n_features_in_": 4} and model.own == 2
    forget(model)
    assert not learnt(model) and not is_learnt("own") and is_learnt("_weight")

"""scikit-learn's callbacks, which are told of every step of every fit that has steps."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification

import hornbeam as hb
from hornbeam.compat.sklearn import HistGradientBoostingClassifier

pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9 has no callbacks")

X, Y = make_classification(80, 4, n_informative=3, n_redundant=0, random_state=0)
FEW = {"n_estimators": 20, "random_state": 0}
MAKERS = {
    "boosting": hb.GradientBoostingClassifier(**FEW),
    "forest": hb.RandomForestClassifier(**FEW, min_samples_split=2),
    "bagging": hb.BaggingClassifier(**FEW),
    "adaboost": hb.AdaBoostClassifier(**FEW),
    "isolation": hb.IsolationForest(**FEW),
    "adapter": HistGradientBoostingClassifier(max_iter=20),
}
STEPS = {"forest": 2}  # of ten trees


class Listener:
    def __init__(self, stop_at=None):
        self.told, self.models, self.stop_at = [], [], stop_at

    def setup(self, estimator, context):
        self.told.append("setup")

    def teardown(self, estimator, context):
        self.told.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None):
        assert len(X) == 80
        self.told.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.told.append(f"end {context.task_name}")
        if context.task_name == "step":
            self.models.append(fitted_estimator)
            return len(self.models) == self.stop_at
        return False


@pytest.mark.parametrize("name", MAKERS)
def test_every_step_is_told_of(name):
    listener = Listener()
    clone(MAKERS[name]).set_callbacks(listener).fit(X, Y)
    assert listener.told[:2] == ["setup", "begin fit"]
    assert listener.told[-2:] == ["end fit", "teardown"]
    n_steps = STEPS.get(name, 20)
    assert listener.told[2:-2] == ["begin step", "end step"] * n_steps


@pytest.mark.parametrize("name", ["boosting", "forest", "adaboost", "adapter"])
def test_models_on_the_way_are_those_of_shorter_fits(name):
    listener, maker = Listener(), MAKERS[name]
    model = clone(maker).set_callbacks(listener).fit(X, Y)
    silent = clone(maker).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), silent.predict_proba(X))
    size = "max_iter" if name == "adapter" else "n_estimators"
    first = clone(maker).set_params(**{size: 10 if name == "forest" else 1}).fit(X, Y)
    np.testing.assert_array_equal(listener.models[0].predict_proba(X), first.predict_proba(X))


@pytest.mark.parametrize("name", ["boosting", "forest", "adaboost"])
def test_a_callback_can_end_a_fit(name):
    model = clone(MAKERS[name]).set_callbacks(Listener(stop_at=1)).fit(X, Y)
    assert len(model.estimators_) == (10 if name == "forest" else 1)


def test_the_scoring_monitor_logs_a_score_for_each_round():
    from sklearn.callback import ScoringMonitor

    monitor = ScoringMonitor(scoring="accuracy")
    model = hb.GradientBoostingClassifier(n_estimators=3).set_callbacks(monitor).fit(X, Y)
    logged = [
        entry["accuracy"] for entry in monitor.get_logs().data if entry["task_name"] == "step"
    ]
    assert logged == pytest.approx([np.mean(p == Y) for p in model.staged_predict(X)])


def test_who_fails_has_been_cleaned_up_after():
    listener = Listener()
    model = hb.GradientBoostingClassifier().set_callbacks(listener)
    with pytest.raises(ValueError, match="one class"):
        model.fit(X, np.ones(80))
    model.fit(X, Y)
    assert listener.told.count("setup") == listener.told.count("teardown")

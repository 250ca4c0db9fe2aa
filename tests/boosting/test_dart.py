"""DART: rounds are dropped while the next one is learnt, and come back smaller."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.boosting.engine import Rounds, _draw_dropped

Regressor, Classifier = hb.GradientBoostingRegressor, hb.GradientBoostingClassifier

rng = np.random.default_rng(0)
N = 300
X = rng.normal(size=(N, 4))
LEVEL = X[:, 0] + X[:, 1] ** 2 + rng.normal(0, 0.3, N)
DART: dict[str, Any] = {
    "drop_rate": 0.3,
    "skip_drop": 0.2,
    "n_estimators": 15,
    "learning_rate": 0.3,
    "min_samples_leaf": 5,
    "random_state": 0,
}


def naive(model: Any, y: np.ndarray) -> np.ndarray:
    """The scores by the formulas of the paper, each round a tree of its own on residuals.

    With k rounds dropped, the new tree is learnt without them, counts 1 / (k + 1), and the
    dropped ones count k / (k + 1) of what they did.
    """
    params = model.get_params()
    rounds = Rounds(
        15, params["learning_rate"], 2, params["drop_rate"], params["skip_drop"], model.seed_
    )
    one = {**params, "drop_rate": 0.0, "n_estimators": 1, "learning_rate": 1.0}
    start, trees, scale = y.mean(), [], []
    for number in range(params["n_estimators"]):
        dropped = _draw_dropped(rounds, number, number)
        kept = np.zeros(N)
        for i in set(range(number)) - set(dropped):
            kept += scale[i] * trees[i]
        tree = Regressor(**one).fit(X, y, init_score=start + kept)
        trees.append(tree.predict(X))
        scale.append(params["learning_rate"] / (len(dropped) + 1))
        for i in dropped:
            scale[i] *= len(dropped) / (len(dropped) + 1)
    return start + sum(s * t for s, t in zip(scale, trees, strict=True))


def test_the_formulas_of_the_paper() -> None:
    model = Regressor(**DART).fit(X, LEVEL)
    rounds = Rounds(15, 0.3, 2, 0.3, 0.2, model.seed_)
    assert sum(bool(_draw_dropped(rounds, number, number)) for number in range(15)) > 5
    assert model.predict(X) == pytest.approx(naive(model, LEVEL), abs=1e-4)


@pytest.mark.parametrize("task", ["squared_error", "absolute_error", "two", "three"])
def test_scores_in_training_are_those_of_the_model(task: str) -> None:
    """Trees are taken out and put back many times: the last loss is that of `predict`."""
    stops: list[Any] = []
    fit = {"X_val": X[:50], "callbacks": [stops.append]}
    if task in ("two", "three"):
        y = np.digitize(LEVEL, [0.5] if task == "two" else [0.0, 1.0])
        model = Classifier(**DART).fit(X, y, y_val=y[:50], **fit)
        losses = -np.log(model.predict_proba(X)[np.arange(N), y])
    else:
        model = Regressor(**DART, loss=task).fit(X, LEVEL, y_val=LEVEL[:50], **fit)
        rest = model.predict(X) - LEVEL
        losses = 0.5 * rest**2 if task == "squared_error" else np.abs(rest)
    assert stops[-1].train_loss == pytest.approx(losses.mean(), rel=1e-9)
    assert stops[-1].valid_loss == pytest.approx(losses[:50].mean(), rel=1e-9)
    assert model.history_["train"][-1] == stops[-1].train_loss


@pytest.mark.usefixtures("real_threads")
def test_threads_and_repetitions_do_not_matter() -> None:
    models = [Regressor(**DART, n_jobs=n_jobs).fit(X, LEVEL) for n_jobs in (1, 1, 2, 4, None)]
    assert len({model.digest() for model in models}) == 1
    other = Regressor(**{**DART, "random_state": 1}).fit(X, LEVEL)
    assert other.digest() != models[0].digest()


def test_shares_of_dropped_rounds() -> None:
    rounds = Rounds(1000, 0.1, drop_rate=0.1, skip_drop=0.5, seed=3)
    drawn = [_draw_dropped(rounds, number, 200) for number in range(200, 1200)]
    skipped = sum(not dropped for dropped in drawn)
    assert 0.45 < skipped / 1000 < 0.55
    assert 18 < np.mean([len(dropped) for dropped in drawn if dropped]) < 22
    never = Rounds(1000, 0.1, drop_rate=0.0, seed=3)
    assert not any(_draw_dropped(never, number, 200) for number in range(100))


def test_no_early_stopping() -> None:
    """Later rounds shrink the trees of earlier ones, so there is no best round to go back to."""
    model = Regressor(**DART, early_stopping=True)
    with pytest.raises(ValueError, match=r"Early stopping does not go with drop_rate=0\.3"):
        model.fit(X, LEVEL, X_val=X[:50], y_val=LEVEL[:50])
    model.set_params(drop_rate=0.0).fit(X, LEVEL, X_val=X[:50], y_val=LEVEL[:50])
    assert model.n_iter_ >= 1


def test_no_warm_start() -> None:
    model = Regressor(**DART, warm_start=True).fit(X, LEVEL)
    with pytest.raises(ValueError, match=r"warm_start=True does not go with drop_rate=0\.3"):
        model.set_params(n_estimators=20).fit(X, LEVEL)

"""Boosted models come back from files and pickles bit for bit, or a ModelFileError says why not."""

from __future__ import annotations

import copy
import functools
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from model.test_modelfile import (
    array_changes,
    check_bit_flips,
    check_truncations,
    forged,
    header_of,
    replaced_integers,
)

import hornbeam as hb
from hornbeam.errors import ModelFileError, UnavailableFunctionError
from hornbeam.model.modelfile import load_model_bytes, model_bytes
from hornbeam.model.values import UnavailableFunction

Classifier, Regressor = hb.GradientBoostingClassifier, hb.GradientBoostingRegressor
Ranker = hb.GradientBoostingRanker

rng = np.random.default_rng(0)
N = 120
FRAME = pd.DataFrame(
    {"age": rng.normal(40, 15, N).round(1), "color": rng.choice(["red", "green", "blue"], N)}
)
FRAME.loc[rng.random(N) < 0.2, "age"] = np.nan
LEVEL = FRAME["age"].fillna(90) + 20 * (FRAME["color"] == "red") + rng.normal(0, 3, N)
LEVEL = LEVEL.to_numpy()
LABEL = np.where(LEVEL > 60, "high", np.where(LEVEL > 40, "middle", "low"))
FEW: dict[str, Any] = {"n_estimators": 3, "min_samples_leaf": 10, "random_state": 0}


def square(y: float, score: float) -> float:
    return (y - score) ** 2


def gradient(y: float, score: float) -> float:
    return score - y


def hessian(y: float, score: float) -> float:
    return 1.0


OWN = hb.losses.OwnLoss(gradient=gradient, hessian=hessian, start=50.0, name="mine")
MAKERS: dict[str, Callable[[], Any]] = {
    "regressor": lambda: Regressor(**FEW).fit(FRAME, LEVEL),
    "poisson": lambda: Regressor(**FEW, loss="poisson").fit(FRAME, np.abs(LEVEL)),
    "quantiles": lambda: Regressor(**FEW, loss="quantile", quantile=[0.1, 0.9]).fit(FRAME, LEVEL),
    "calibrated": lambda: Regressor(
        **FEW, loss="quantile", quantile=[0.1, 0.9], calibrate=True
    ).fit(FRAME, LEVEL),
    "two": lambda: Classifier(**FEW).fit(FRAME, LABEL == "high"),
    "three": lambda: Classifier(**FEW, class_weight="balanced").fit(FRAME, LABEL),
    "two scores": lambda: Classifier(**FEW, loss="log_loss_k1").fit(FRAME, LABEL),
    "exponential": lambda: Classifier(**FEW, loss="exponential").fit(FRAME, LABEL == "low"),
    "ranker": lambda: Ranker(**FEW, query="q").fit(FRAME.assign(q=np.arange(N) // 12), LABEL > "k"),
    "early": lambda: Regressor(**FEW, early_stopping=True).fit(FRAME, LEVEL),
    "constrained": lambda: Regressor(
        **FEW, monotonic_cst={"age": 1}, interaction_constraints=[["age"], ["color"]]
    ).fit(FRAME, LEVEL),
    "own": lambda: Regressor(**FEW, loss=square).fit(FRAME, LEVEL),
    "own loss": lambda: Regressor(**FEW, loss=OWN).fit(FRAME, LEVEL),
}


@functools.cache
def trained(name: str) -> Any:
    return MAKERS[name]()


@functools.cache
def tiny() -> Any:
    """A model whose file is small enough for every damage to be tried."""
    return Regressor(n_estimators=1, min_samples_leaf=1, max_leaf_nodes=2).fit(
        [[0.0], [1.0]], [3.0, 5.0]
    )


def outputs(model: Any) -> list[bytes]:
    names = ["predict"] + (["predict_proba"] if isinstance(model, Classifier) else [])
    return [getattr(model, name)(FRAME).tobytes() for name in names]


@pytest.mark.parametrize("name", MAKERS)
def test_the_same_model_comes_back(name: str, tmp_path: Path) -> None:
    model = trained(name)
    model.save(tmp_path / "model")
    loaded = hb.load(tmp_path / "model")
    assert type(loaded) is type(model)
    fitted = {key for key in vars(model) if key.endswith("_")}
    for again in (loaded, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert again.digest() == model.digest()
        assert {key for key in vars(again) if key.endswith("_")} == fitted
        assert again.n_iter_ == model.n_iter_ and again.seed_ == model.seed_
        assert outputs(again) == outputs(model)
        assert again.feature_importances_.tolist() == model.feature_importances_.tolist()
        for key, losses in model.history_.items():
            assert again.history_[key].tolist() == losses.tolist()
        if "own" not in name:
            assert again.get_params() == model.get_params()
    row = np.array([30.0, 1.0])
    assert loaded.predictor()(row).tobytes() == model.predictor()(row).tobytes()
    assert model_bytes(loaded) == model_bytes(model)


def test_a_loaded_model_goes_on_learning(tmp_path: Path) -> None:
    model = Regressor(**FEW, warm_start=True, subsample=0.7).fit(FRAME, LEVEL)
    model.save(tmp_path / "model")
    whole = model.set_params(n_estimators=6).fit(FRAME, LEVEL).digest()
    loaded = hb.load(tmp_path / "model").set_params(n_estimators=6).fit(FRAME, LEVEL)
    assert loaded.digest() == whole


@pytest.mark.mission("X9")
def test_an_own_loss_is_saved_by_its_name() -> None:
    """A model file holds no code: it predicts, and a new fit needs the function."""
    loaded = load_model_bytes(model_bytes(trained("own")))
    assert loaded.loss == UnavailableFunction("square")
    with pytest.raises(UnavailableFunctionError, match="square"):
        loaded.fit(FRAME, LEVEL)
    assert loaded.set_params(loss=square).fit(FRAME, LEVEL).digest() == trained("own").digest()
    loaded = load_model_bytes(model_bytes(trained("own loss")))
    assert (loaded.loss.name, loaded.loss.start) == ("mine", 50.0)
    assert loaded.loss.gradient == UnavailableFunction("gradient")
    with pytest.raises(UnavailableFunctionError, match="gradient"):
        loaded.fit(FRAME, LEVEL)


# --- damage ----------------------------------------------------------------------------------


def test_every_truncation_is_noticed() -> None:
    check_truncations(model_bytes(tiny()))


def test_every_single_bit_flip_is_noticed() -> None:
    check_bit_flips(model_bytes(tiny()))


def predictions(model: Any) -> bytes:
    return bytes(model.predict([[0.0], [1.0], [np.nan]]).tobytes())


def test_every_integer_replaced_by_somebody_who_knows_the_checksum() -> None:
    """An error, the same predictions, or a model whose indices are all inside."""
    few = {"n_estimators": 1, "min_samples_leaf": 10, "max_leaf_nodes": 4}
    data, refused = model_bytes(Classifier(**few).fit(FRAME, LABEL)), 0
    for arrays in array_changes(data):
        try:
            loaded = load_model_bytes(forged(data, arrays=arrays))
        except ModelFileError:
            refused += 1
        else:
            assert loaded.predict_proba(FRAME[:5]).shape == (5, 3)
    assert refused > 100
    data = model_bytes(tiny())
    for header in replaced_integers(header_of(data)):
        try:
            loaded = load_model_bytes(forged(data, **header))
        except ModelFileError:
            continue
        assert predictions(loaded) == predictions(tiny())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"link": "oak"}, "There is no link 'oak'"),
        ({"link": 3}, "is a int, not str"),
        ({"n_iter": 2}, "has 1 trees, not 1 for each of 2 rounds"),
        ({"n_iter": -1}, "n_iter_ cannot be -1"),
        ({"history": {"train": [1, "x"]}}, "history 'train' is not a list of numbers"),
        ({"history": []}, "is a list, not dict"),
        ({"seed": "x"}, "is a str, not int"),
        ({"learning_rate": "fast"}, "is a str, not float"),
        ({"learning_rate": 0.0}, "learning_rate_ cannot be 0.0"),
        ({"learning_rate": -0.1}, "learning_rate_ cannot be -0.1"),
        ({"more": 1}, "an entry too many"),
    ],
)
def test_hostile_entries(changes: dict[str, Any], message: str) -> None:
    data = model_bytes(tiny())
    model = {**header_of(data)["model"], **changes}
    with pytest.raises(ModelFileError, match=message):
        load_model_bytes(forged(data, model=model))


def test_hostile_starts_and_losses() -> None:
    from safetensors.numpy import load as load_arrays

    data = model_bytes(trained("three"))
    arrays = load_arrays(data)
    for start in (np.zeros(0), np.zeros(2), np.zeros(5), np.full(3, np.nan)):
        with pytest.raises(ModelFileError):
            load_model_bytes(forged(data, arrays={**arrays, "start": start}))
    data = model_bytes(trained("own loss"))
    model = header_of(data)["model"]
    bodies: list[Any] = [
        3,
        {},
        {"name": "x"},
        {**model["params"]["loss"]["$own_loss"], "link": "x"},
    ]
    for body in bodies:
        params = {**model["params"], "loss": {"$own_loss": body}}
        with pytest.raises(ModelFileError, match=r"own.loss"):
            load_model_bytes(forged(data, model={**model, "params": params}))


def test_a_damaged_pickle_is_noticed() -> None:
    model = copy.deepcopy(trained("regressor"))
    inner = np.flatnonzero(~model.trees_[1].is_leaf)
    model.trees_[1].feature[inner[0]] = 9
    with pytest.raises(ModelFileError, match=r"feature\[\d+\] is 9"):
        pickle.loads(pickle.dumps(model))
    state = copy.deepcopy(trained("regressor")).__getstate__()
    for damage in ({"ensemble_": "x"}, {"schema_": None}):
        with pytest.raises(ModelFileError, match=r"ensemble_ that is none|no schema_"):
            Regressor().__setstate__({**state, **damage})
    unfitted = pickle.loads(pickle.dumps(Regressor(n_estimators=7)))
    assert unfitted.n_estimators == 7 and not hasattr(unfitted, "ensemble_")

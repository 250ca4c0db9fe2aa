"""Isolation forests come back from files and pickles bit for bit, or a ModelFileError says why."""

from __future__ import annotations

import copy
import functools
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from model.test_modelfile import array_changes, forged, header_of, replaced_integers

import hornbeam as hb
from hornbeam.errors import ModelFileError
from hornbeam.model.modelfile import load_model_bytes, model_bytes

Forest = hb.IsolationForest
rng = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "age": np.where(rng.random(120) < 0.2, np.nan, rng.normal(40, 15, 120)),
        "size": rng.normal(size=120),
        "color": rng.choice(["red", "green", "blue"], 120),
    }
)
WAYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "planes": {"extension_level": 1},
    "scores": {"contamination": 0.1, "max_features": 0.7},
    "bootstrap": {"bootstrap": True, "unseen": "missing"},
}


@functools.cache
def trained(name: str) -> Any:
    return Forest(n_estimators=5, max_samples=16, random_state=0, **WAYS[name]).fit(FRAME)


@functools.cache
def tiny(level: int) -> Any:
    """A model whose file is small enough for every damage to be tried."""
    table = [[0.0, 1.0], [1.0, 5.0], [3.0, 2.0]]
    return Forest(n_estimators=1, extension_level=level, random_state=0).fit(table)


@pytest.mark.parametrize("name", WAYS)
def test_the_same_model_comes_back(name: str, tmp_path: Path) -> None:
    forest = trained(name)
    forest.save(tmp_path / "model")
    loaded = hb.load(tmp_path / "model")
    fitted = {key for key in vars(forest) if key.endswith("_")}
    for again in (loaded, pickle.loads(pickle.dumps(forest)), copy.deepcopy(forest)):
        assert again.digest() == forest.digest()
        assert {key for key in vars(again) if key.endswith("_")} == fitted
        assert again.get_params() == forest.get_params()
        assert np.array_equal(again.score_samples(FRAME), forest.score_samples(FRAME))
        assert np.array_equal(again.predict(FRAME), forest.predict(FRAME))
        assert np.array_equal(again.estimators_samples_, forest.estimators_samples_)
        assert np.array_equal(again.training_scores_, forest.training_scores_)
    assert model_bytes(loaded) == model_bytes(forest)


def test_a_loaded_forest_goes_on(tmp_path: Path) -> None:
    forest = Forest(n_estimators=5, warm_start=True, contamination=0.1, random_state=0).fit(FRAME)
    forest.save(tmp_path / "model")
    loaded = hb.load(tmp_path / "model")
    assert loaded.set_contamination(0.2).offset_ == forest.set_contamination(0.2).offset_
    whole = forest.set_params(n_estimators=9).fit(FRAME).digest()
    assert loaded.set_params(n_estimators=9).fit(FRAME).digest() == whole


def test_samples_drawn_by_weights_are_not_in_a_file(tmp_path: Path) -> None:
    forest = Forest(n_estimators=3, random_state=0).fit(FRAME, sample_weight=np.arange(120) + 1.0)
    assert len(forest.estimators_samples_) == 3
    forest.save(tmp_path / "model")
    with pytest.raises(AttributeError, match="sample_weight"):
        _ = hb.load(tmp_path / "model").estimators_samples_


@pytest.mark.parametrize("level", [0, 1])
def test_no_damaged_array_reaches_a_kernel(level: int) -> None:
    """Whatever is written into an array: an error, or a forest that answers."""
    data = model_bytes(tiny(level))
    refused = tried = 0
    for arrays in array_changes(data):
        tried += 1
        try:
            forest = load_model_bytes(forged(data, arrays=arrays))
        except ModelFileError:
            refused += 1
            continue
        assert forest.score_samples([[0.0, 1.0], [np.nan, 2.0]]).shape == (2,)
    assert refused > tried / 3 > 0


@pytest.mark.parametrize("level", [0, 1])
def test_no_damaged_number_in_the_header_reaches_a_kernel(level: int) -> None:
    data = model_bytes(tiny(level))
    refused = tried = 0
    for header in replaced_integers(header_of(data)):
        tried += 1
        try:
            forest = load_model_bytes(forged(data, **header))
            forest.score_samples([[0.0, 1.0]])
            assert len(forest.estimators_samples_) == 1
        except ModelFileError:
            refused += 1
    assert refused > tried / 3 > 0


def test_a_pickle_with_a_foreign_tree_is_refused() -> None:
    forest = copy.deepcopy(trained("planes"))
    state = forest.__getstate__()
    planes = forest.ensemble_.trees.planes
    for name, value in (("feature", 99), ("feature", 2), ("n_terms", 7), ("weight", np.nan)):
        bad = getattr(planes, name).copy()
        bad[0] = value
        broken = copy.deepcopy(forest.ensemble_)
        broken.trees.planes = planes._replace(**{name: bad})
        with pytest.raises(ModelFileError):
            Forest().__setstate__({**state, "ensemble_": broken})
    with pytest.raises(ModelFileError, match="ensemble_"):
        Forest().__setstate__({**state, "ensemble_": "trees"})

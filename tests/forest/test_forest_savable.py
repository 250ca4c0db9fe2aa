"""Forests come back from files and pickles bit for bit, or a ModelFileError says why not."""

from __future__ import annotations

import copy
import functools
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from model.test_modelfile import array_changes, forged, header_of, replaced_integers

import hornbeam as hb
from hornbeam.errors import ModelFileError
from hornbeam.model.modelfile import load_model_bytes, model_bytes

pytestmark = pytest.mark.filterwarnings("ignore:Column .* has")

rng = np.random.default_rng(0)
N = 120
FRAME = pd.DataFrame(
    {
        "age": np.where(rng.random(N) < 0.2, np.nan, rng.normal(40, 15, N)),
        "size": rng.normal(size=N),
        "color": rng.choice(["red", "green", "blue"], N),
    }
)
LEVEL = FRAME["size"].to_numpy() + 2 * (FRAME["color"] == "red").to_numpy()
LABEL = np.array(["no", "perhaps", "yes"])[np.digitize(LEVEL, [0.0, 1.0])]
KINDS: dict[str, tuple[Any, Any]] = {
    "classes": (hb.RandomForestClassifier(), LABEL),
    "votes": (hb.ExtraTreesClassifier(voting="hard", class_weight="balanced"), LABEL),
    "outputs": (hb.RandomForestClassifier(), np.column_stack([LABEL, LEVEL > 0])),
    "values": (hb.RandomForestRegressor(monotonic_cst={"size": 1}), LEVEL),
    "samples": (hb.RandomForestRegressor(leaf_samples=True, max_samples=0.5), LEVEL),
    "calibrated": (
        hb.RandomForestRegressor(leaf_samples=True, calibrate=True, min_samples_leaf=10),
        LEVEL,
    ),
    "medians": (hb.ExtraTreesRegressor(criterion="absolute_error"), LEVEL),
    "several": (hb.ExtraTreesRegressor(), np.column_stack([LEVEL, -LEVEL])),
    "embedding": (hb.RandomTreesEmbedding(), None),
    "codes": (hb.RandomForestClassifier(max_bins=2), LABEL),  # three colors, two codes
}


@functools.cache
def trained(kind: str) -> Any:
    model, y = KINDS[kind]
    return copy.deepcopy(model).set_params(n_estimators=4, random_state=0).fit(FRAME, y)


@functools.cache
def tiny(kind: str) -> Any:
    """A model whose file is small enough for every damage to be tried."""
    model, _ = KINDS[kind]
    few = {"n_estimators": 2, "max_depth": 1, "random_state": 0}
    if kind == "values":
        few["monotonic_cst"] = None
    y = {"classes": [0, 1, 0, 1], "outputs": [[0, 1], [1, 0], [0, 2], [1, 1]]}
    y["codes"] = y["classes"]
    table = [["a", 1.0], ["b", 5.0], ["a", 2.0], ["b", 3.0]]
    if kind == "codes":
        few["max_features"] = None
        table = [["a", 1.0], ["c", 1.0], ["b", 1.0], ["c", 1.0]]
    return copy.deepcopy(model).set_params(**few).fit(table, y.get(kind, [0.0, 1.0, 2.0, 3.0]))


def use(model: Any, table: Any) -> Any:
    return model.transform(table) if hasattr(model, "transform") else model.predict(table)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_forest_comes_back(kind: str, tmp_path: Path) -> None:
    forest = trained(kind)
    forest.save(tmp_path / "model")
    loaded = hb.load(tmp_path / "model")
    fitted = {key for key in vars(forest) if key.endswith("_")}
    for again in (loaded, pickle.loads(pickle.dumps(forest)), copy.deepcopy(forest)):
        assert again.digest() == forest.digest()
        assert {key for key in vars(again) if key.endswith("_")} == fitted
        assert repr(again.get_params()) == repr(forest.get_params())
        ours, theirs = use(again, FRAME), use(forest, FRAME)
        assert (ours != theirs).nnz == 0 if kind == "embedding" else np.array_equal(ours, theirs)
        assert np.array_equal(again.feature_importances_, forest.feature_importances_)
    assert model_bytes(loaded) == model_bytes(forest)


def test_the_score_out_of_the_bag_is_kept(tmp_path: Path) -> None:
    for model, y in (
        (hb.RandomForestClassifier(oob_score=True), LABEL),
        (hb.RandomForestRegressor(oob_score=True), LEVEL),
    ):
        forest = model.set_params(n_estimators=40, random_state=0).fit(FRAME, y)
        forest.save(tmp_path / "model")
        assert hb.load(tmp_path / "model").oob_score_ == forest.oob_score_


def test_a_loaded_forest_goes_on(tmp_path: Path) -> None:
    forest = hb.RandomForestClassifier(n_estimators=3, warm_start=True, random_state=0)
    forest.fit(FRAME, LABEL).save(tmp_path / "model")
    loaded = hb.load(tmp_path / "model").set_params(n_estimators=7).fit(FRAME, LABEL)
    assert loaded.digest() == forest.set_params(n_estimators=7).fit(FRAME, LABEL).digest()


# --- hostile files -----------------------------------------------------------------------------

SMALL = ["classes", "outputs", "values", "samples", "medians", "embedding", "codes"]
ROWS = [["a", 1.0], ["c", 9.0], [None, np.nan]]


@pytest.mark.parametrize("kind", ["classes", "samples"])
def test_every_truncation_and_every_flipped_bit_is_noticed(kind: str) -> None:
    data = model_bytes(tiny(kind))
    for end in range(0, len(data), 3):
        with pytest.raises(ModelFileError):
            load_model_bytes(data[:end])
    for place in range(0, len(data), 2):
        damaged = bytearray(data)
        damaged[place] ^= 1 << (place % 8)
        with pytest.raises(ModelFileError):
            load_model_bytes(bytes(damaged))


@pytest.mark.parametrize("kind", SMALL)
def test_no_damaged_array_reaches_a_kernel(kind: str) -> None:
    """Whatever is written into an array: an error, or a forest that answers."""
    data = model_bytes(tiny(kind))
    refused = tried = 0
    for arrays in array_changes(data):
        tried += 1
        try:
            forest = load_model_bytes(forged(data, arrays=arrays))
        except ModelFileError:
            refused += 1
            continue
        assert use(forest, ROWS).shape[0] == 3
        if kind == "samples":
            assert np.all(np.isfinite(forest.predict_quantiles(ROWS)))
    assert refused > tried / 3 > 0


@pytest.mark.parametrize("kind", SMALL)
def test_no_damaged_number_in_the_header_reaches_a_kernel(kind: str) -> None:
    data = model_bytes(tiny(kind))
    refused = tried = 0
    for header in replaced_integers(header_of(data)):
        tried += 1
        try:
            forest = load_model_bytes(forged(data, **header))
            use(forest, ROWS)
        except ModelFileError:
            refused += 1
    assert refused > tried / 4 > 0


def test_shares_that_are_no_numbers_are_refused() -> None:
    samples = tiny("samples").leaf_samples_
    state = tiny("samples").__getstate__()
    for name, value in (("share", np.nan), ("share", -1.0), ("values", np.inf), ("rank", 99)):
        bad = getattr(samples, name).copy()
        bad[0] = value
        broken = replace(samples, **{name: bad})
        with pytest.raises(ModelFileError, match=r"training rows of|values holds"):
            hb.RandomForestRegressor().__setstate__({**state, "leaf_samples_": broken})


@pytest.mark.parametrize("kind", ["classes", "values"])
def test_a_pickle_with_a_foreign_store_is_refused(kind: str) -> None:
    forest = trained(kind)
    state, store = forest.__getstate__(), forest.store_
    other = trained("values" if kind == "classes" else "classes").store_
    broken: list[Any] = ["trees", None, other, store.take(slice(0, 1))]
    for name, value in (("child", 10**6), ("child", 0), ("feature", 77)):
        nodes = store.nodes.copy()
        nodes[name][0] = value
        broken.append(replace(store, nodes=nodes))
    codes, start = np.zeros(3, np.uint8), np.array([0, 0, 0, 3])
    broken.append(replace(store, code_of_category=codes))
    broken.append(replace(store, code_start=start))
    broken.append(replace(store, code_start=start[::-1].copy(), code_of_category=codes))
    broken.append(replace(store, code_start=start, code_of_category=codes + np.uint8(255)))
    broken.append(replace(store, code_start=start, code_of_category=None))
    broken.append(replace(store, root=store.root[::-1].copy()))
    broken.append(replace(store, nodes=store.nodes.view(np.uint8)))
    broken.append(replace(store, nodes=None))
    for bad in broken:
        with pytest.raises(ModelFileError):
            type(forest)().__setstate__({**state, "store_": bad})
    numbers = ("seed_", "n_rows_in_", "n_draws_", "n_features_in_")
    found = ("min_samples_split_", "max_features_", "category_split_")
    for name in ("schema_", "tree_gains_", *numbers, *found):
        missing = {key: value for key, value in state.items() if key != name}
        with pytest.raises(ModelFileError):
            type(forest)().__setstate__(missing)
        with pytest.raises(ModelFileError):
            type(forest)().__setstate__({**state, name: "hello"})
        with pytest.raises(ModelFileError):
            type(forest)().__setstate__({**state, name: []})

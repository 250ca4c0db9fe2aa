"""Whatever a file or a pickle says, it is refused or does no harm: every parameter and number."""

from __future__ import annotations

import copy
import dataclasses
import functools
import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from model.test_modelfile import forged, header_of
from safetensors.numpy import load as load_arrays

import hornbeam as hb
from hornbeam.errors import ModelFileError
from hornbeam.fitting import is_learnt, learnt
from hornbeam.model.modelfile import load_model_bytes, model_bytes

rng = np.random.default_rng(0)
NUMBERS = pd.DataFrame({"age": rng.normal(40, 15, 40).round(), "size": rng.normal(size=40)})
NUMBERS.loc[::7, "age"] = np.nan
FRAME = NUMBERS.assign(color=rng.choice(["red", "green", "blue"], 40))
COLORS = FRAME[["color"]].assign(kind=rng.choice(["a", "b"], 40))
VALUE = NUMBERS["size"].to_numpy() + rng.normal(size=40)
LABEL = np.where(VALUE > 0.0, "yes", "no")
GRADE = np.digitize(VALUE, [-0.5, 0.5]).astype(float)
few: dict[str, Any] = {"n_estimators": 2, "random_state": 0}
MODELS: dict[str, tuple[Any, Any, Any]] = {
    "tree classifier": (hb.DecisionTreeClassifier(max_depth=3), FRAME, LABEL),
    "tree regressor": (hb.DecisionTreeRegressor(max_depth=3), FRAME, VALUE),
    "two outputs": (hb.DecisionTreeClassifier(max_depth=2), FRAME, np.c_[LABEL, LABEL]),
    "id3": (hb.ID3Classifier(), COLORS, LABEL),
    "c45": (hb.C45Classifier(), FRAME, LABEL),
    "forest classifier": (hb.RandomForestClassifier(max_depth=3, **few), FRAME, GRADE),
    "forest regressor": (
        hb.RandomForestRegressor(max_depth=3, leaf_samples=True, oob_score=True, **few),
        FRAME,
        VALUE,
    ),
    "extra trees": (hb.ExtraTreesRegressor(max_depth=3, **few), FRAME, VALUE),
    "embedding": (hb.RandomTreesEmbedding(**few), FRAME, None),
    "isolation": (hb.IsolationForest(max_samples=16, contamination=0.1, **few), FRAME, None),
    "planes": (hb.IsolationForest(max_samples=16, extension_level=1, **few), FRAME, None),
    "boosted classes": (hb.GradientBoostingClassifier(min_samples_leaf=2, **few), FRAME, GRADE),
    "boosted values": (hb.GradientBoostingRegressor(min_samples_leaf=2, **few), FRAME, VALUE),
    "bagged classes": (hb.BaggingClassifier(None, **few), FRAME, LABEL),
    "bagged values": (hb.BaggingRegressor(None, **few), FRAME, VALUE),
}
NONSENSE: list[Any] = [
    None, "x", -1, 0, 3.5, 1e300, float("nan"), 2**70, [], [float("nan")], {"x": "y"},
    np.array([np.nan, 1.0]), object,
]  # fmt: skip
OPTIONAL = (
    "feature_names_in_",
    "oob_score_",
    "oob_prediction_",
    "leaf_samples_",
    "estimator_",
    "bags_",
)


@functools.cache
def trained(name: str) -> Any:
    model, X, y = MODELS[name]
    weighted = {"sample_weight": np.linspace(0.5, 2.0, 40)} if name == "planes" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows that are in every bag
        return copy.deepcopy(model).fit(X, y, **weighted)


def outputs(name: str, model: Any) -> list[Any]:
    """What a model says of the rows."""
    X = MODELS[name][1][:8]
    found = []
    for method in ("predict_proba", "predict", "score_samples", "transform"):
        if hasattr(model, method):
            result = getattr(model, method)(X)
            found.append(result.toarray() if hasattr(result, "toarray") else np.asarray(result))
    if hasattr(model, "leaf_samples_"):
        found.append(model.predict_quantiles(X, [0.1, 0.9]))
    return found


@functools.cache
def usual_outputs(name: str) -> list[Any]:
    return outputs(name, trained(name))


def check_harmless(name: str, model: Any, equal: bool) -> None:
    """The model predicts as the one it was made of, or at least numbers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = outputs(name, model)
    for one, usual in zip(found, usual_outputs(name), strict=False):
        assert one.shape == usual.shape
        assert one.dtype.kind in "OU" or np.isfinite(one).all()
        assert not equal or np.array_equal(one, usual)


def encoded(value: Any) -> Any:
    """A value as a forger writes it into the header."""
    from hornbeam.model.values import encode_value

    return encode_value(value) if value is not object else {"$oak": 1}


@pytest.mark.parametrize("name", MODELS)
def test_every_parameter_of_a_file(name: str) -> None:
    data, refused = model_bytes(trained(name)), 0
    model = header_of(data)["model"]
    for key in model["params"]:
        for value in NONSENSE:
            params = {**model["params"], key: encoded(value)}
            try:
                loaded = load_model_bytes(forged(data, model={**model, "params": params}))
            except ModelFileError:
                refused += 1
            else:
                assert key != "n_jobs" or value is None or isinstance(value, int)
                check_harmless(name, loaded.set_params(**{key: getattr(trained(name), key)}), True)
    assert refused > 3 * len(model["params"])


@pytest.mark.parametrize("name", MODELS)
def test_every_attribute_of_a_pickle(name: str) -> None:
    model, refused = trained(name), 0
    state = model.__getstate__()
    for key in state:
        for value in NONSENSE:
            try:
                changed = type(model).__new__(type(model))
                changed.__setstate__({**state, key: value})
            except ModelFileError:
                refused += 1
                continue
            if not is_learnt(key):
                changed.set_params(**{key: getattr(model, key)})
            check_harmless(name, changed, key != "offset_")
    assert refused > 4 * len(state)
    for key in state:
        rest = {other: value for other, value in state.items() if other != key}
        changed = type(model).__new__(type(model))
        try:
            changed.__setstate__(rest)
        except ModelFileError:
            continue
        assert not is_learnt(key) or key in OPTIONAL or key.startswith("_")
        check_harmless(name, changed, True)


def changes_of(array: Any) -> Iterator[Any]:
    """The same array with one entry that is none, of another type, and of another length."""
    if array.dtype.kind in "fiu" and array.dtype.names is None and array.size:
        if array.dtype.kind == "f":
            extremes: list[Any] = [np.nan, np.inf, -np.inf]
        else:
            extremes = [np.iinfo(array.dtype).max, np.iinfo(array.dtype).min]
        for place in {0, array.size // 2, array.size - 1}:
            for value in extremes:
                changed = array.copy()
                changed.reshape(-1)[place] = value
                yield changed
    yield array[:-1].copy()
    yield np.concatenate([array, array])
    yield array.reshape(1, *array.shape).copy()
    if array.dtype.names is None and array.dtype.kind in "fiu":
        yield array.astype(np.float32 if array.dtype != np.float32 else np.float64)
        yield np.zeros(array.shape, np.int16)
        yield array.astype(object)


@pytest.mark.parametrize("name", MODELS)
def test_every_array_of_a_file(name: str) -> None:
    data, refused = model_bytes(trained(name)), 0
    arrays = load_arrays(data)
    for key, array in arrays.items():
        for changed in changes_of(array):
            if changed.dtype == object:
                continue
            try:
                loaded = load_model_bytes(forged(data, arrays={**arrays, key: changed}))
            except ModelFileError:
                refused += 1
            else:
                check_harmless(name, loaded, False)
    assert refused > 3 * len(arrays)


def arrays_in(content: Any, put: Any = None) -> Iterator[tuple[Any, Any]]:
    """All arrays of numbers inside an object, each with a function that replaces it."""
    if isinstance(content, np.ndarray) and content.dtype != object:
        yield content, put
    elif isinstance(content, dict):
        for key in content:
            yield from arrays_in(content[key], functools.partial(content.__setitem__, key))
    elif isinstance(content, list):
        for place, item in enumerate(content):
            yield from arrays_in(item, functools.partial(content.__setitem__, place))
    elif isinstance(content, tuple):  # what is in it can only be changed in place
        for item in content:
            yield from arrays_in(item)
    elif dataclasses.is_dataclass(content) or type(content).__module__.startswith("hornbeam"):
        own = {key: value for key, value in vars(content).items() if not key.startswith("_lock")}
        for key, value in own.items():
            yield from arrays_in(value, functools.partial(vars(content).__setitem__, key))


@pytest.mark.parametrize("name", MODELS)
def test_every_array_of_a_pickle(name: str) -> None:
    """Replaced where it can be, else overwritten in place; then pickled and unpickled."""
    model = pickle.loads(pickle.dumps(trained(name)))
    refused = n_arrays = 0
    for array, put in list(arrays_in(learnt(model))):
        if not array.size or array.ndim == 0:
            continue
        n_arrays += 1
        original = array.copy()
        for changed in changes_of(original):
            if changed.dtype == array.dtype and changed.shape == array.shape:
                array[...] = changed
            elif put is not None:
                put(changed)
            try:
                again = pickle.loads(pickle.dumps(model))
            except (ModelFileError, ValueError):
                refused += 1
            else:
                check_harmless(name, again, False)
            array[...] = original
            if put is not None:
                put(array)
    assert refused > 2 * n_arrays > 0


@pytest.mark.parametrize("name", ["tree classifier", "two outputs", "id3", "c45"])
@pytest.mark.parametrize("value", [0.25, -1.0, 1e15])
def test_what_is_no_share_of_a_class_is_refused(name: str, value: float) -> None:
    model = trained(name)
    data, arrays = model_bytes(model), load_arrays(model_bytes(model))
    arrays["trees.value"][-1, 0] = value
    with pytest.raises(ModelFileError, match="holds no shares of classes"):
        load_model_bytes(forged(data, arrays=arrays))
    forged_model = copy.deepcopy(model)
    forged_model.tree_.value[-1, 0] = value
    with pytest.raises(ModelFileError, match="holds no shares of classes"):
        pickle.loads(pickle.dumps(forged_model))


def test_what_is_no_share_of_a_class_in_a_forest_is_refused() -> None:
    data = model_bytes(trained("forest classifier"))
    arrays = load_arrays(data)
    arrays["forest.table"][0] *= 2.0
    with pytest.raises(ModelFileError, match="holds no shares of classes"):
        load_model_bytes(forged(data, arrays=arrays))


@pytest.mark.parametrize("name", ["boosted values", "isolation", "planes"])
@pytest.mark.parametrize("trees", [("x",), 3, None])
def test_parts_that_are_none_are_refused_in_words(name: str, trees: Any) -> None:
    model = copy.deepcopy(trained(name))
    vars(model.ensemble_)["trees"] = trees
    with pytest.raises(ModelFileError, match="The pickled model"):
        pickle.loads(pickle.dumps(model))


@pytest.mark.parametrize("name", ["id3", "c45"])
@pytest.mark.parametrize("value", [0.0, -1.0])
def test_fractions_of_no_weight_are_refused(name: str, value: float) -> None:
    """A row that is missing a value would be told 0 / 0."""
    data = model_bytes(trained(name))
    arrays = load_arrays(data)
    arrays["trees.weight"][1:] = value
    with pytest.raises(ModelFileError, match="leaves a split without rows"):
        load_model_bytes(forged(data, arrays=arrays))

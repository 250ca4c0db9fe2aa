"""The model file: the same model comes back, or a ModelFileError; never anything else."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model.handmade import StandIn, pairs, sample_rows, steps, weather
from model.strategies import estimators
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save

import hornbeam
from hornbeam.errors import ModelFileError
from hornbeam.model.kept import Contents
from hornbeam.model.modelfile import (
    NO_CHECKSUM,
    load,
    load_model_bytes,
    model_bytes,
    pack_file,
    save_model,
)
from hornbeam.model.registry import register_estimator
from hornbeam.model.values import UnavailableFunction
from hornbeam.tree.savable import read_trees, write_trees
from hornbeam.tree.storage import Trees
from hornbeam.tree.validate import Known, validate_trees

INTEGERS = (-1, 2**31, 2**40)  # and "itself + 1"


def header_of(data: bytes) -> dict[str, Any]:
    frame = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    header: dict[str, Any] = json.loads(frame["__metadata__"]["hornbeam"])
    return header


def forged(data: bytes, **changes: Any) -> bytes:
    """The same file with other header entries or arrays and a right checksum."""
    arrays = changes.pop("arrays", None) or load_arrays(data)
    return pack_file({**header_of(data), "sha256": NO_CHECKSUM, **changes}, arrays)


def same(first: StandIn, second: StandIn) -> bool:
    return (
        first.tree_.digest() == second.tree_.digest()
        and first.schema_ == second.schema_
        and first.get_params() == second.get_params()
        and first.n_outputs_ == second.n_outputs_
    )


# --- the way there and back -------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.parametrize("make", [weather, steps, pairs])
def test_save_and_load(make: Callable[[], StandIn], tmp_path: Path) -> None:
    estimator, path = make(), tmp_path / "tree.hornbeam"
    save_model(estimator, path)
    loaded = load(str(path))
    assert same(loaded, estimator)
    X = sample_rows(estimator)
    np.testing.assert_array_equal(loaded.predict_values(X), estimator.predict_values(X))
    assert os.listdir(tmp_path) == ["tree.hornbeam"]


def test_the_file_is_plain_safetensors_and_equal_models_give_equal_bytes() -> None:
    data = model_bytes(weather())
    assert data == model_bytes(weather()) == model_bytes(load_model_bytes(data))
    assert load_arrays(data)["trees.first_child"].tolist() == [1, 4, 0, 6, 0, 0, 0, 0]
    header = header_of(data)
    assert header["format"] == 2
    assert header["version"] == hornbeam.__version__
    assert header["estimator"] == "StandIn"


@settings(max_examples=60)
@given(estimators())
def test_random_trees_come_back(estimator: StandIn) -> None:
    assert same(load_model_bytes(model_bytes(estimator)), estimator)


def test_parameters_of_every_kind_come_back() -> None:
    def my_criterion() -> None: ...

    estimator = weather()
    estimator.set_params(
        criterion=my_criterion,
        class_weight={0: 1.5, "$x": (1, None)},
        seed=StandIn(seed=np.random.RandomState(0), class_weight=np.array([1.0, np.inf])),
    )
    loaded = load_model_bytes(model_bytes(estimator))
    assert loaded.criterion == UnavailableFunction("my_criterion")
    assert loaded.class_weight == {0: 1.5, "$x": (1, None)}
    assert isinstance(loaded.seed, StandIn) and loaded.seed.seed is None
    np.testing.assert_array_equal(loaded.seed.class_weight, [1.0, np.inf])


@pytest.mark.parametrize(
    "classes",
    [
        np.array([3, 5]),
        np.array([-0.5, 2.5]),
        np.array([False, True]),
        np.array(["ja", "nein, 日本\n"]),
        np.array(["a", "bcd"], dtype=object),
    ],
)
def test_classes_of_every_kind_come_back(classes: np.ndarray) -> None:
    estimator = weather()
    estimator.classes_ = classes
    loaded = load_model_bytes(model_bytes(estimator))
    assert loaded.classes_.dtype == classes.dtype
    assert loaded.classes_.tolist() == classes.tolist()


def test_a_parameter_that_came_later_has_its_default() -> None:
    data = model_bytes(weather())
    model = {**header_of(data)["model"], "params": {"seed": 5}}
    loaded = load_model_bytes(forged(data, model=model))
    assert (loaded.criterion, loaded.seed) == ("gini", 5)


def test_many_trees_in_one_file() -> None:
    schema, trees = weather().schema_, [weather().tree_, weather().tree_, weather().tree_]
    contents, known = Contents(), Known.by(schema, 2)
    write_trees(Trees.of(trees), contents)
    arrays = dict(contents.arrays)
    again = validate_trees(read_trees(contents).arrays(), known)
    assert [tree.digest() for tree in again] == [tree.digest() for tree in trees]
    assert not contents.arrays
    for wrong in ([0, 9, 16, 24], [0, 8, 8, 24], [0, 8, 16], [0, 8, 16, 25], [8, 16, 24], [0, 24]):
        contents.arrays |= {**arrays, "trees.node_start": np.array(wrong)}
        with pytest.raises(ModelFileError):
            validate_trees(read_trees(contents).arrays(), known)


def test_what_is_not_ours_is_refused_in_words(tmp_path: Path) -> None:
    class Stranger:
        pass

    with pytest.raises(TypeError, match="cannot save a Stranger"):
        save_model(Stranger(), tmp_path / "x")
    estimator = weather()
    estimator.seed = {1, 2}
    with pytest.raises(TypeError, match=r"'params'\]\['seed'\] is a set"):
        save_model(estimator, tmp_path / "x")
    assert os.listdir(tmp_path) == []


def test_a_model_that_could_not_be_loaded_replaces_nothing(tmp_path: Path) -> None:
    path = tmp_path / "model"
    save_model(weather(), path)
    before = path.read_bytes()
    broken = weather()
    broken.tree_.value[0, 0] = np.nan
    with pytest.raises(ModelFileError, match=r"value\[0\]"):
        save_model(broken, path)
    assert path.read_bytes() == before


# --- damage -----------------------------------------------------------------------------


def check_truncations(data: bytes) -> None:
    """No file that is cut anywhere, or goes on, is a model."""
    for size in range(len(data)):
        with pytest.raises(ModelFileError):
            load_model_bytes(data[:size])
    for more in (b"\0", b" ", data):
        with pytest.raises(ModelFileError):
            load_model_bytes(data + more)


def check_bit_flips(data: bytes) -> None:
    """No file with another bit anywhere is a model."""
    for place in range(len(data)):
        for bit in range(8):
            changed = bytearray(data)
            changed[place] ^= 1 << bit
            with pytest.raises(ModelFileError):
                load_model_bytes(bytes(changed))


def test_every_truncation_is_noticed() -> None:
    check_truncations(model_bytes(weather()))


def test_every_single_bit_flip_is_noticed() -> None:
    check_bit_flips(model_bytes(weather()))


@pytest.mark.parametrize("wipe", [b"\0", b"\xff", b"{", b'"'])
def test_every_wiped_byte_and_block_is_noticed(wipe: bytes) -> None:
    data = model_bytes(steps())
    for size in (1, 16, 512):
        for place in range(0, len(data) - size, size):
            changed = data[:place] + wipe * size + data[place + size :]
            if changed != data:
                with pytest.raises(ModelFileError):
                    load_model_bytes(changed)


# --- authors who mean harm (they know how to compute a checksum) ----------------------------


def array_changes(data: bytes) -> Iterator[dict[str, np.ndarray]]:
    arrays = load_arrays(data)
    for name, array in arrays.items():
        if array.dtype.kind == "f":
            continue
        for place in range(array.size):
            for value in (*INTEGERS, int(array.flat[place]) + 1):
                changed = array.copy()  # of a larger integer, the bits that fit
                changed.flat[place] = np.array(value % 2**64, np.uint64).astype(array.dtype)
                yield {**arrays, name: changed}


@pytest.mark.parametrize("make", [weather, steps])
def test_every_integer_of_the_arrays_replaced(make: Callable[[], StandIn]) -> None:
    """An error, or a tree that can be walked: its indices are all inside."""
    estimator = make()
    data, X = model_bytes(estimator), sample_rows(estimator, 15)
    outcomes = []
    for arrays in array_changes(data):
        try:
            loaded = load_model_bytes(forged(data, arrays=arrays))
        except ModelFileError:
            outcomes.append("refused")
        else:
            assert loaded.predict_values(X).shape == estimator.predict_values(X).shape
            outcomes.append("walked")
    assert outcomes.count("refused") > len(outcomes) / 2


def replaced_integers(value: Any) -> Iterator[Any]:
    """Copies of a JSON value in which one integer is another one."""
    if isinstance(value, dict):
        for key, item in value.items():
            for changed in replaced_integers(item):
                yield {**value, key: changed}
    elif isinstance(value, list):
        for place, item in enumerate(value):
            for changed in replaced_integers(item):
                yield [*value[:place], changed, *value[place + 1 :]]
    elif type(value) is int:
        yield from (*INTEGERS, value + 1)


@pytest.mark.parametrize("make", [weather, pairs])
def test_every_integer_of_the_header_replaced(make: Callable[[], StandIn]) -> None:
    estimator = make()
    data, X = model_bytes(estimator), sample_rows(estimator)
    expected = estimator.predict_values(X)
    for header in replaced_integers(header_of(data)):
        try:
            loaded = load_model_bytes(forged(data, **header, arrays=load_arrays(data)))
        except ModelFileError:
            continue
        np.testing.assert_array_equal(loaded.predict_values(X), expected)


def reframed(data: bytes, frame: Any) -> bytes:
    """The same arrays under another list of arrays, with a right checksum."""
    end = 8 + int.from_bytes(data[:8], "little")
    checksum = header_of(data)["sha256"]
    text = json.dumps(frame, separators=(",", ":")).replace(checksum, NO_CHECKSUM)
    raw = bytearray(len(text).to_bytes(8, "little") + text.encode() + data[end:])
    from hornbeam.model.modelfile import _write_checksum

    _write_checksum(raw, 8 + len(text))
    return bytes(raw)


def test_every_integer_of_the_list_of_arrays_replaced() -> None:
    estimator = weather()
    data = model_bytes(estimator)
    frame = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    assert same(load_model_bytes(reframed(data, frame)), estimator)  # the forgery works
    for changed in replaced_integers(frame):
        with pytest.raises(ModelFileError):
            load_model_bytes(reframed(data, changed))


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("x", {"dtype": "F8_E4M3", "shape": [1], "data_offsets": [0, 1]}),
        ("x", {"dtype": "I32", "shape": [0, 2**60], "data_offsets": [0, 0]}),
        ("x", {"dtype": "I32", "shape": [1] * 300, "data_offsets": [0, 4]}),
        ("x", {"dtype": ["I32"], "shape": [], "data_offsets": [0, 4]}),
        ("x", {"dtype": "I32", "shape": 5, "data_offsets": [0, 4]}),
        ("x", {"dtype": "I32", "shape": [0], "data_offsets": [0, 0]}),
        ("x", []),
        ("trees.kind", None),
        ("__metadata__", {"hornbeam": 5}),
        ("__metadata__", {}),
        ("__metadata__", []),
    ],
)
def test_hostile_lists_of_arrays(name: str, entry: Any) -> None:
    data = model_bytes(weather())
    frame = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    if name == "__metadata__":
        header = len(json.dumps({**frame, name: entry})).to_bytes(8, "little")
        changed = header + json.dumps({**frame, name: entry}).encode() + data[-400:]
    else:
        changed = reframed(data, {**frame, name: entry})
    with pytest.raises(ModelFileError):
        load_model_bytes(changed)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 3}, "formats up to 2. Upgrade with"),
        ({"format": 1}, "format 2 only. Fit the model again, or .* save it again"),
        ({"format": 0}, "which format"),
        ({"format": True}, "which format"),
        ({"format": "1"}, "which format"),
        ({"version": 3}, "which format"),
        ({"estimator": "Oak"}, "holds a 'Oak', which this version"),
        ({"estimator": ["StandIn"]}, "which estimator"),
        ({"model": []}, "entries"),
        ({"model": {}}, "lacks the entry 'params'"),
        ({"more": 1}, "entries"),
    ],
)
def test_hostile_headers(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        load_model_bytes(forged(model_bytes(weather()), **changes))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("params", {"criterion": 1, "class_weight": 2, "other": 3}, "does not know .'other'"),
        ("params", {"$dict": [[1, 2]]}, "does not know .'1'"),
        ("params", [], "'params' is a list, not dict"),
        ("schema", {"columns": []}, "contradicts itself"),
        ("schema", {"$float": "nan"}, "is a float, not dict"),
        ("n_outputs", 2, "does not fit"),
        ("n_outputs", 1.0, "is a float, not int"),
        ("n_outputs", True, "is a bool, not int"),
        ("classes", None, "value has 2 columns, but the model predicts 1"),
        ("classes", {"$array": 3}, "wrong form"),
        ("classes", [], "does not fit"),
        ("extra", 1, "an entry too many: 'extra'"),
    ],
)
def test_hostile_models(key: str, value: Any, message: str) -> None:
    data = model_bytes(weather())
    model = {**header_of(data)["model"], key: value}
    with pytest.raises(ModelFileError, match=message):
        load_model_bytes(forged(data, model=model))


def test_arrays_too_many_too_few_and_of_other_types() -> None:
    data = model_bytes(weather())
    arrays = load_arrays(data)
    with pytest.raises(ModelFileError, match="an array too many: 'spy'"):
        load_model_bytes(forged(data, arrays={**arrays, "spy": np.zeros(3)}))
    for name, array in arrays.items():
        rest = {key: value for key, value in arrays.items() if key != name}
        with pytest.raises(ModelFileError, match=f"lacks the array '{name}'"):
            load_model_bytes(forged(data, arrays=rest))
        for wrong in (array.astype(np.float32), array[:-1].copy(), np.zeros((2, 2, 2))):
            with pytest.raises(ModelFileError):
                load_model_bytes(forged(data, arrays={**arrays, name: wrong}))


@pytest.mark.parametrize(
    "inner",
    ['{"a":1,"a":2}', "[" * 100_000, '{"format":NaN}', '{"format":1' + "0" * 400 + "}", "3", ""],
)
def test_hostile_json_in_the_header(inner: str) -> None:
    with pytest.raises(ModelFileError):
        load_model_bytes(save({"a": np.zeros(1)}, metadata={"hornbeam": inner}))


def test_lengths_that_lie() -> None:
    data = model_bytes(weather())
    for length in (0, 1, 7, 2**31, 2**40, 2**63, 2**64 - 1):
        with pytest.raises(ModelFileError):
            load_model_bytes(length.to_bytes(8, "little") + data[8:])


# --- files ------------------------------------------------------------------------------


def test_what_is_no_model_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with pytest.raises(FileNotFoundError):
        load(path)
    with pytest.raises(ModelFileError, match="It is a folder"):
        load(tmp_path)
    for content in (b"", b"x", b"PK\x03\x04" + bytes(100), b"name,age\nAda,36\n" * 50):
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=r"Cannot load '.*file': It is"):
            load(path)
    path.write_bytes(save({"a": np.zeros(3)}))
    with pytest.raises(ModelFileError, match="not one that hornbeam wrote"):
        load(path)
    path.write_bytes(model_bytes(weather())[:-1])
    with pytest.raises(ModelFileError, match="damaged or incomplete"):
        load(path)


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge"
    with open(path, "wb") as file:
        file.write(model_bytes(weather()))
        file.truncate(2**33)  # sparse: takes no room
    with pytest.raises(ModelFileError, match="damaged or incomplete"):
        load(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="not a regular file"):
        load(tmp_path / "pipe")


def test_an_estimator_whose_loading_fails_gives_a_sentence() -> None:
    @register_estimator
    class Fragile(StandIn):
        @classmethod
        def _from_contents(cls, contents: Contents) -> StandIn:
            raise ZeroDivisionError("a bug")

    data = forged(model_bytes(weather()), estimator="Fragile")
    with pytest.raises(ModelFileError, match="contradicts itself: a bug"):
        load_model_bytes(data)


# --- random hostility ------------------------------------------------------------------------

JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["$array", "$dict", "$tuple", "dtype", "shape", "values", "columns"]),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=8,
)


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(data: bytes) -> None:
    for content in (data, len(data).to_bytes(8, "little") + b"{" + data):
        with pytest.raises(ModelFileError):
            load_model_bytes(content)


@settings(max_examples=200)
@given(st.sampled_from(["params", "schema", "classes", "n_outputs"]), JSON)
def test_random_entries_are_refused_or_harmless(key: str, value: Any) -> None:
    estimator = weather()
    data, X = model_bytes(estimator), sample_rows(estimator, 5)
    try:
        loaded = load_model_bytes(forged(data, model={**header_of(data)["model"], key: value}))
    except (ModelFileError, ValueError) as error:  # the forger cannot write infinities
        assert isinstance(error, ModelFileError) or "JSON compliant" in str(error)
        return
    np.testing.assert_array_equal(loaded.predict_values(X), estimator.predict_values(X))


def test_a_lack_of_memory_is_no_fault_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_model(weather(), tmp_path / "tree")

    def fail(*arguments: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(StandIn, "_from_contents", fail)
    with pytest.raises(MemoryError):
        load(tmp_path / "tree")


def test_loading_while_others_save(tmp_path: Path) -> None:
    """Whoever loads gets one of the models, never an error."""
    models, path = [weather(), steps()], tmp_path / "tree"
    save_model(models[0], path)

    def save_both() -> None:
        for turn in range(60):
            save_model(models[turn % 2], path)

    saver = threading.Thread(target=save_both)
    saver.start()
    seen = []
    while saver.is_alive():
        seen.append(load(path))
    saver.join()
    assert seen and all(any(same(model, one) for one in models) for model in seen)

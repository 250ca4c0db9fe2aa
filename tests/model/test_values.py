"""JSON values of the header: everything a parameter may be, and nothing hostile."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.errors import ModelFileError, UnavailableFunctionError
from hornbeam.model.values import UnavailableFunction, decode_value, encode_value, parse_json


def round_trip(value: Any) -> Any:
    return decode_value(parse_json(json.dumps(encode_value(value), allow_nan=False), "it"))


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**60), 10**60), st.floats(allow_nan=False), st.text()
)
KEYS = st.one_of(st.integers(), st.text(), st.booleans())
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner), st.lists(inner).map(tuple), st.dictionaries(KEYS, inner)
    ),
    max_leaves=12,
)


@given(VALUES)
def test_values_come_back_equal_and_of_the_same_type(value: Any) -> None:
    again = round_trip(value)
    assert again == value
    assert type(again) is type(value)


@pytest.mark.parametrize(
    "array",
    [
        np.array([3, 1, 2], np.int64),
        np.array([[0.5, np.nan], [np.inf, -np.inf]], np.float32),
        np.array([True, False]),
        np.array(["ä", "longer", "\ud800"]),
        np.array(["a", 1, 2.5, None], dtype=object),
        np.array([], np.uint8),
        np.array(7),
    ],
)
def test_arrays_keep_their_dtype(array: np.ndarray) -> None:
    again = round_trip(array)
    assert again.dtype == array.dtype and again.shape == array.shape
    np.testing.assert_array_equal(again, array)


def test_numpy_scalars_become_python_ones() -> None:
    assert round_trip([np.int8(3), np.float64(0.5), np.bool_(True), np.str_("x")]) == [
        3, 0.5, True, "x",
    ]  # fmt: skip
    assert math.isnan(round_trip(np.nan))


def test_a_function_travels_by_name_only() -> None:
    def my_criterion() -> None:
        raise AssertionError("never called")

    again = round_trip({"criterion": my_criterion})["criterion"]
    assert again == UnavailableFunction("my_criterion") and hash(again)
    assert round_trip(again) == again
    with pytest.raises(UnavailableFunctionError, match="'my_criterion' was given to the model"):
        again(1, 2)


def test_random_states_become_none() -> None:
    assert round_trip([np.random.RandomState(0), np.random.default_rng(0)]) == [None, None]


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ({"a": object()}, TypeError, r"value\['a'\] is a object"),
        (np.array(["2020"], "datetime64[D]"), TypeError, "dtype datetime64"),
        ({1, 2}, TypeError, "is a set"),
        (10**200, ValueError, "more than 100 digits"),
        (dict, TypeError, "is a type"),
    ],
)
def test_what_cannot_be_saved_is_named(value: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        encode_value(value)


def test_a_value_that_holds_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ValueError, match="nested more than 32 deep"):
        encode_value(loop)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "a": 2}', "'a' twice"),
        ('{"a": NaN}', "NaN"),
        ("[-Infinity]", "Infinity"),
        ("[1e999]", "too large"),
        ("[1" + "0" * 400 + "]", "401 digits"),
        ("[1" + "0" * 10_000 + "]", "10001 digits"),
        ("[" * 200_000, "nested too deep"),
        ('{"a":' * 200_000, "nested too deep"),
        ('{"a": ', "not valid JSON"),
        (b"\xff\xfe{}", "not valid JSON"),
        (b'"\xff"', "not valid JSON"),
    ],
)
def test_hostile_json(text: str | bytes, message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        parse_json(text, "The header")


def _array(**changes: Any) -> dict[str, Any]:
    return {"$array": {"dtype": "int8", "shape": [2], "values": [1, 2], **changes}}


@pytest.mark.parametrize(
    "value",
    [
        {"$unknown": 1},
        {"$tuple": [1], "more": 2},
        {"$tuple": 1},
        {"$float": "1.0"},
        {"$float": ["nan"]},
        {"$function": 3},
        {"$dict": [[1]]},
        {"$dict": [[[1], 2]]},
        {"$dict": [[1, 2], [1, 3]]},
        {"$dict": {"a": 1}},
        {"$array": [1, 2]},
        {"$estimator": "DecisionTreeClassifier"},
        _array(dtype="complex128"),
        _array(dtype=["int8"]),
        _array(shape=[3]),
        _array(shape=[-1, -2]),
        _array(shape=[2**62, 2**62]),
        _array(shape=[2.0]),
        _array(shape=[1, 1, 1, 1, 2]),
        _array(values=[1, 300]),
        _array(values=[1, 2.0]),
        _array(values=[1, True]),
        _array(values=[1, None]),
        _array(dtype="float64", values=[1.0, "2"]),
        _array(dtype="bool", values=[True, 1]),
        _array(dtype="str", values=["a", 1]),
        _array(dtype="str", shape=[70_000], values=["x" * 1000] + ["y"] * 69_999),
        _array(dtype="object", values=["a", []]),
        json.loads("[" * 40 + "]" * 40),
    ],
)
def test_hostile_values(value: Any) -> None:
    with pytest.raises(ModelFileError):
        decode_value(value)

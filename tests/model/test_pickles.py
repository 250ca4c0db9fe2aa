"""Pickles in a model file: none without a word of the user, and none that lies."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from hornbeam.errors import ModelFileError
from hornbeam.model.pickles import Pickles
from hornbeam.model.values import decode_value, encode_value


def test_estimators_anywhere_in_a_value_come_back() -> None:
    pickles = Pickles(allowed=True)
    value = {"one": Ridge(2.0), "more": [(1, Ridge(3.0))], 5: None}
    text = encode_value(value, "it", 0, pickles)
    assert sorted(pickles.arrays) == ["pickle.0", "pickle.1"]
    again = decode_value(text, 0, pickles)
    assert repr(again) == repr(value)
    assert pickles.arrays == {}


def test_without_a_word_there_are_none() -> None:
    for pickles in (None, Pickles()):
        with pytest.raises(TypeError, match=r"it\['a'\] is a sklearn.*Ridge, which is not one of"):
            encode_value({"a": Ridge()}, "it", 0, pickles)
    content = {"pickle.0": np.frombuffer(pickle.dumps(Ridge()), np.uint8)}
    for pickles in (None, Pickles(False, content)):
        with pytest.raises(ModelFileError, match="a pickled Ridge, and reading a pickle runs"):
            decode_value([{"$pickle": ["Ridge", 0]}], 0, pickles)
    assert list(content) == ["pickle.0"]


def test_classes_are_no_estimators() -> None:
    with pytest.raises(TypeError, match="it is a ABCMeta"):
        encode_value(Ridge, "it", 0, Pickles(allowed=True))


@pytest.mark.parametrize("body", [None, {}, [], "Ridge", ["Ridge"], ["Ridge", 0, 0], [0, "Ridge"]])
def test_values_of_the_wrong_form(body: Any) -> None:
    with pytest.raises(ModelFileError, match="wrong form"):
        decode_value({"$pickle": body}, 0, Pickles(allowed=True))


@pytest.mark.parametrize("content", [b"", b"x", b"\x80\x05", pickle.dumps(Ridge())[:-5]])
def test_what_is_no_pickle(content: bytes) -> None:
    pickles = Pickles(True, {"pickle.0": np.frombuffer(content, np.uint8)})
    with pytest.raises(ModelFileError, match="cannot be read"):
        pickles.take(["sklearn.linear_model._ridge.Ridge", 0])

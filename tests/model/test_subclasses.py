"""Models of classes that a user made from hornbeam's."""

from __future__ import annotations

import pickle

import pytest

import hornbeam as hb
from hornbeam.model.modelfile import load_model_bytes, model_bytes
from hornbeam.model.registry import REGISTRY, register_estimator

X, Y = [[1.0], [2.0], [3.0]], ["a", "b", "b"]


class Shouting(hb.DecisionTreeClassifier):
    def shout(self, table):
        return [name.upper() for name in self.predict(table)]


class Deeper(hb.DecisionTreeClassifier):
    def __init__(self, by=1, max_depth=None):
        super().__init__(max_depth=max_depth)
        self.by = by


def test_they_are_saved_as_what_they_were_made_from(tmp_path):
    model = Shouting(max_depth=2).fit(X, Y)
    model.save(tmp_path / "model")
    again = hb.load(tmp_path / "model")
    assert type(again) is hb.DecisionTreeClassifier and again.max_depth == 2
    assert again.digest() == model.digest()
    assert pickle.loads(pickle.dumps(model)).shout(X) == ["A", "B", "B"]


def test_parameters_that_they_add_have_no_place_in_a_file():
    with pytest.raises(TypeError, match=r"Deeper as the DecisionTreeClassifier .* parameter 'by'"):
        model_bytes(Deeper().fit(X, Y))


def test_registered_they_are_read_back_as_themselves():
    register_estimator(Shouting)
    try:
        assert load_model_bytes(model_bytes(Shouting().fit(X, Y))).shout(X) == ["A", "B", "B"]
    finally:
        del REGISTRY["Shouting"]

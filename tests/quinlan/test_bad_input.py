"""Bad input gives a sentence that names what is wrong, and a failed fit leaves nothing behind."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.exceptions import NotFittedError

import hornbeam as hb

TREES = [hb.C45Classifier(), hb.ID3Classifier(numeric="categories")]
X = [["a", "x"], ["b", "y"], ["a", "y"], ["b", "x"]]
Y = [0, 1, 0, 1]


@pytest.mark.quick
@pytest.mark.mission("T2")
def test_id3_refuses_numbers_and_says_what_to_do() -> None:
    frame = pd.DataFrame({"sky": ["sun", "rain"], "age": [1.5, 2.0], "height": [3, 4]})
    with pytest.raises(ValueError, match="column 'age' holds numbers") as info:
        hb.ID3Classifier().fit(frame, [0, 1])
    for way in ("C45Classifier", "KBinsDiscretizer", "numeric='categories'", "'height'"):
        assert way in str(info.value)


def test_id3_takes_numbers_as_categories_when_told_to() -> None:
    frame = pd.DataFrame({"sky": ["sun", "rain", None] * 2, "age": [1.5, 2.0, 7.0] * 2})
    model = hb.ID3Classifier(numeric="categories").fit(frame, [0, 1, 2] * 2)
    assert model.schema_.columns[1].categories == (1.5, 2.0, 7.0)
    assert model.score(frame, [0, 1, 2] * 2) == 1.0
    with pytest.raises(TypeError, match="Sparse data was passed"):
        hb.ID3Classifier(numeric="categories").fit(scipy.sparse.eye(3).tocsr(), [0, 1, 2])


BAD = [
    ({"X": []}, "0 sample|empty|Expected 2D|at least"),
    ({"X": np.empty((0, 2))}, "0 sample"),
    ({"X": np.empty((4, 0))}, r"0 feature"),
    ({"X": [1, 2, 3, 4]}, "2D array"),
    ({"X": [[np.inf, 1.0]] * 4}, "infinity"),
    ({"y": None}, "y"),
    ({"y": [0, 1]}, "inconsistent numbers of samples"),
    ({"y": [0, 1, 0, np.nan]}, "NaN"),
    ({"y": [0.5, 1.5, 2.5, 3.25]}, "continuous|Unknown label type"),
    ({"y": [[0, 1]] * 4}, "y has 2 columns"),
    ({"sample_weight": [1, 1, 1, -1]}, r"sample_weight\[3\] is -1"),
    ({"sample_weight": [0, 0, 0, 0]}, "zero"),
    ({"sample_weight": [1, 1]}, "sample_weight.shape"),
]


@pytest.mark.parametrize("estimator", TREES, ids=repr)
@pytest.mark.parametrize(("change", "words"), BAD, ids=str)
def test_bad_tables(estimator: Any, change: dict[str, Any], words: str) -> None:
    arguments = {"X": X, "y": Y, "sample_weight": None} | change
    estimator.fit(X, Y)
    with pytest.raises((ValueError, TypeError), match=words):
        estimator.fit(**arguments)
    with pytest.raises(NotFittedError):
        estimator.predict(X)


PARAMETERS = [
    (hb.C45Classifier, "confidence", 0.0),
    (hb.C45Classifier, "confidence", 0.6),
    (hb.C45Classifier, "min_samples_leaf", 0),
    (hb.C45Classifier, "min_samples_leaf", 0.5),
    (hb.C45Classifier, "max_depth", 0),
    (hb.C45Classifier, "pruning", "some"),
    (hb.C45Classifier, "raising", "yes"),
    (hb.C45Classifier, "grouping", 2),
    (hb.ID3Classifier, "numeric", "bins"),
    (hb.ID3Classifier, "missing", "drop"),
    (hb.ID3Classifier, "min_impurity_decrease", -1.0),
]


@pytest.mark.parametrize(("tree", "name", "value"), PARAMETERS)
def test_bad_parameters_are_named(tree: Any, name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=re.escape(f"'{name}' parameter of {tree.__name__}")):
        tree(**{name: value}).fit(X, Y)


def test_an_unknown_parameter_has_a_hint() -> None:
    with pytest.raises(TypeError, match="did you mean 'confidence'"):
        hb.C45Classifier(confidenc=0.1)


def test_unseen_categories_can_be_an_error() -> None:
    model = hb.C45Classifier(unseen="error").fit(X, Y)
    with pytest.raises(ValueError, match="not there in fit"):
        model.predict([["zebra", "x"]])


@pytest.mark.parametrize("estimator", TREES, ids=repr)
def test_unseen_other_is_mixed(estimator: Any) -> None:
    estimator = estimator.set_params(unseen="other")
    proba = estimator.fit(X * 5, Y * 5).predict_proba([["zebra", "x"]])
    estimator.set_params(unseen="missing")
    np.testing.assert_allclose(proba, [[0.5, 0.5]])


EDGES = {
    "one row": (np.ones((1, 2)), [3]),
    "one class": (np.arange(8.0).reshape(4, 2), ["a"] * 4),
    "constant": (np.ones((6, 2)), [0, 1] * 3),
    "all missing": (np.full((6, 2), np.nan), [0, 1] * 3),
    "one known": (np.array([[np.nan], [np.nan], [1.0], [np.nan]]), [0, 0, 1, 1]),
    "sparse": (scipy.sparse.csr_matrix(np.eye(6)), [0, 1] * 3),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges(name: str) -> None:
    table, y = EDGES[name]
    model = hb.C45Classifier().fit(table, y)
    proba = model.predict_proba(table)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert set(model.predict(table)) <= set(y)
    if name in ("constant", "all missing"):
        np.testing.assert_allclose(proba, 0.5)

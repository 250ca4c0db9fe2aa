"""Wrong input to the isolation forest is an error that says what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import hornbeam as hb

Forest = hb.IsolationForest
X = np.random.default_rng(0).normal(size=(40, 3))


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"n_estimators": 0}, "'n_estimators' parameter"),
        ({"max_samples": 1.5}, "'max_samples' parameter"),
        ({"max_samples": "all"}, "'max_samples' parameter"),
        ({"max_features": 0.0}, "'max_features' parameter"),
        ({"contamination": 0.6}, "'contamination' parameter"),
        ({"extension_level": -1}, "'extension_level' parameter"),
        ({"extension_level": 3}, "but X has 3. Choose at most 2"),
        ({"unseen": "ignore"}, "'unseen' parameter"),
    ],
)
def test_wrong_parameters(params: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Forest(**params).fit(X)


def test_a_parameter_by_another_name() -> None:
    with pytest.raises(TypeError, match="did you mean 'n_jobs'"):
        Forest(nthread=2)


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (np.empty((0, 3)), "0 sample"),
        (np.empty((3, 0)), "0 feature"),
        ([1.0, 2.0], "2D array"),
        ([[1.0, np.inf]], "infinit"),
        ([[1.0 + 2.0j]], "[Cc]omplex"),
    ],
    ids=["rows", "columns", "flat", "infinite", "complex"],
)
def test_wrong_tables(table: Any, sentence: str) -> None:
    forest = Forest(n_estimators=2).fit(X)
    with pytest.raises(ValueError, match=sentence):
        Forest(n_estimators=2).fit(table)
    if np.ndim(table) == 2 and np.shape(table)[1]:
        with pytest.raises(ValueError):
            forest.score_samples(table)


@pytest.mark.parametrize("level", [0, 1])
def test_infinite_values_are_found_in_prediction(level: int) -> None:
    forest = Forest(n_estimators=2, extension_level=level).fit(X)
    bad = X.copy()
    bad[39, 2] = -np.inf
    for table in (bad, bad.astype(np.float32), np.asfortranarray(bad)):
        with pytest.raises(ValueError, match="infinit"):
            forest.score_samples(table)


def test_the_largest_numbers() -> None:
    """Their range overflows; cuts between them do not."""
    table = np.array([[-1.7e308], [1.7e308], [0.0], [1.0]] * 5)
    for level in (0, 1):
        wide = np.hstack([table, table[::-1]])
        forest = Forest(n_estimators=20, random_state=0, extension_level=level).fit(wide)
        scores = forest.anomaly_score(wide)
        assert np.all(np.isfinite(scores)) and np.all((scores >= 0) & (scores <= 1))
        assert all(
            np.isfinite(tree.threshold[~tree.is_leaf]).all() for tree in forest.ensemble_.trees
        )


def test_neighbouring_numbers_can_be_cut() -> None:
    table = np.array([[1.0], [np.nextafter(1.0, 2.0)]])
    assert all(tree.n_leaves == 2 for tree in Forest(n_estimators=5).fit(table).trees_)


def test_weights() -> None:
    with pytest.raises(ValueError, match=r"sample_weight\[1\] is -1.0"):
        Forest().fit(X[:2], sample_weight=[1.0, -1.0])
    with pytest.raises(ValueError, match="All entries of sample_weight are zero"):
        Forest().fit(X, sample_weight=np.zeros(40))
    forest = Forest(n_estimators=3).fit(X, sample_weight=np.arange(40) < 5)
    assert forest.max_samples_ == 5


def test_too_many_samples_are_all() -> None:
    with pytest.warns(UserWarning, match="greater than the total number"):
        forest = Forest(n_estimators=2, max_samples=100).fit(X)
    assert forest.max_samples_ == 40


def test_columns() -> None:
    frame = pd.DataFrame(X, columns=list("abc"))
    forest = Forest(n_estimators=2).fit(frame)
    with pytest.raises(ValueError, match="now missing:\n- c"):
        forest.predict(frame[["a", "b"]])
    with pytest.raises(ValueError, match="2 features"):
        Forest(n_estimators=2).fit(X).predict(X[:, :2])
    with pytest.raises(ValueError, match="not there in fit"):
        Forest(n_estimators=2, unseen="error").fit([["a"], ["b"]]).predict([["c"]])


def test_not_fitted() -> None:
    for call in ("predict", "score_samples", "anomaly_score", "path_length"):
        with pytest.raises(NotFittedError):
            getattr(Forest(), call)(X)
    with pytest.raises(NotFittedError):
        Forest().set_contamination(0.1)


def test_a_failed_fit_leaves_nothing_behind() -> None:
    forest = Forest(n_estimators=2).fit(X)
    with pytest.raises(ValueError, match="infinit"):
        forest.fit([[np.inf]])
    assert not hasattr(forest, "ensemble_")

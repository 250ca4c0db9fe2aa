"""The predictor for serving against the scores it stands for."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

import hornbeam as hb
from hornbeam.boosting.predictor import Predictor
from hornbeam.errors import ModelFileError
from hornbeam.tree.ensemble import Ensemble

N_FEATURES = 28


def logistic(scores):
    positive = 1.0 / (1.0 + np.exp(-scores[:, 0]))
    return np.column_stack([1.0 - positive, positive])


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, N_FEATURES)).astype(np.float32)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X


@pytest.fixture(scope="module")
def ensemble(table):
    rng = np.random.default_rng(1)
    trees = [
        hb.DecisionTreeRegressor(max_leaf_nodes=31, finder="histogram")
        .fit(table, rng.normal(size=len(table)))
        .tree_
        for _ in range(100)
    ]
    return Ensemble(trees, np.zeros(100, int), 1, [0.25])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_and_rows_are_the_scores_through_the_link(ensemble, table, dtype):
    classes = np.array(["no", "yes"])
    predict = Predictor(ensemble, logistic, N_FEATURES, classes)
    X = table.astype(dtype)
    expected = logistic(ensemble.scores(X))
    np.testing.assert_array_equal(predict(X), expected)
    for row in range(40):
        one = predict(X[row])
        assert one.shape == (2,)
        np.testing.assert_array_equal(one, logistic(ensemble.scores(X[[row]]))[0])
    assert predict.classes is classes


def test_without_a_link_scores_come_back(ensemble, table):
    values = Predictor(ensemble, None, N_FEATURES)
    expected = ensemble.scores(table)
    np.testing.assert_array_equal(values(table), expected[:, 0])
    assert values(table[5]) == expected[5, 0]
    twice = Ensemble(ensemble.trees, np.arange(100) % 2, 2, [0.0, 1.0])
    both = Predictor(twice, None, N_FEATURES)
    np.testing.assert_array_equal(both(table), twice.scores(table))
    np.testing.assert_array_equal(both(table[5]), twice.scores(table)[5])


def test_rows_of_any_layout_and_type(ensemble, table):
    predict = Predictor(ensemble, None, N_FEATURES)
    row = np.arange(N_FEATURES)
    expected = ensemble.scores(row[None, :].astype(float))[0, 0]
    frozen = row.astype(float)
    frozen.flags.writeable = False
    strided = np.repeat(row, 2).astype(np.float32)[::2]
    for form in (row, row.tolist(), frozen, strided, row.astype(">f4"), row.astype(np.float16)):
        assert predict(form) == expected
    np.testing.assert_array_equal(predict(table[:0]), np.empty(0))
    np.testing.assert_array_equal(predict(np.asfortranarray(table)), predict(table))


def test_infinite_values_are_compared(ensemble, table):
    predict = Predictor(ensemble, None, N_FEATURES)
    for infinite, large in ((np.inf, np.finfo("f4").max), (-np.inf, np.finfo("f4").min)):
        row, same = table[0].copy(), table[0].copy()
        row[::3], same[::3] = infinite, large
        assert predict(row) == predict(same)
        np.testing.assert_array_equal(predict(row[None, :]), predict(same[None, :]))


@pytest.mark.parametrize("shape", [(), (3,), (29,), (2, 27), (1, 1, 28)])
def test_wrong_shapes_are_refused(ensemble, shape):
    with pytest.raises(ValueError, match=r"takes one row of 28 numbers or rows of shape \(n, 28\)"):
        Predictor(ensemble, None, N_FEATURES)(np.zeros(shape))


def test_a_predictor_for_too_few_features_is_refused(ensemble):
    with pytest.raises(ValueError, match="5 columns"):
        Predictor(ensemble, None, 5)


def test_eight_threads_at_once(ensemble, table):
    predict = Predictor(ensemble, logistic, N_FEATURES)
    expected = predict(table[:400])
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            rows = np.array(list(pool.map(predict, table[:400])))
            np.testing.assert_array_equal(rows, expected)


def test_pickle(ensemble, table):
    predict = Predictor(ensemble, logistic, N_FEATURES, np.array([0, 1]))
    again = pickle.loads(pickle.dumps(predict))
    np.testing.assert_array_equal(again(table), predict(table))
    np.testing.assert_array_equal(again(table[0]), predict(table[0]))
    assert again.classes.tolist() == [0, 1]


def changed(predict, field, values):
    """A pickle of a predictor whose trees are not as they were."""
    again = pickle.loads(pickle.dumps(predict))
    object.__setattr__(again.ensemble.trees.nodes, field, values)
    return pickle.dumps(again)


def test_hostile_pickles_are_refused_before_any_kernel_runs(ensemble):
    predict = Predictor(ensemble, None, N_FEATURES)
    nodes = ensemble.trees.nodes
    for field, sentence in (("first_child", "level by level"), ("feature", "has 28 features")):
        values = getattr(nodes, field).copy()
        values[0] = 0 if field == "first_child" else 10**6  # a row would go round for ever
        with pytest.raises(ModelFileError, match=sentence):
            pickle.loads(changed(predict, field, values))
    for field in ("feature", "set_start", "value"):
        with pytest.raises(ModelFileError):
            pickle.loads(changed(predict, field, "text"))
    for name, value in (("link", 3), ("n_jobs", []), ("n_features", -1), ("n_features", None)):
        again = pickle.loads(pickle.dumps(predict))
        setattr(again, name, value)
        with pytest.raises(ModelFileError, match=name):
            pickle.loads(pickle.dumps(again))


def test_predictors_with_categories_come_back():
    rng = np.random.default_rng(0)
    words = np.array([f"w{number}" for number in range(90)], object)[rng.integers(90, size=500)]
    frame = pd.DataFrame({"x": rng.normal(size=500), "word": words})
    y = rng.normal(size=90)[pd.factorize(words)[0]] + frame["x"]
    model = hb.GradientBoostingRegressor(n_estimators=5, category_smooth=1.0, random_state=0)
    predict = model.fit(frame, y).predictor()
    rows = np.column_stack([frame["x"], rng.integers(-3, 200, 500)])
    again = pickle.loads(pickle.dumps(predict))
    np.testing.assert_array_equal(again(rows), predict(rows))

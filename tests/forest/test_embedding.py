"""The embedding by totally random trees."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.datasets import make_circles
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import hornbeam as hb
from hornbeam.forest.embedding import draw_units, encode_leaves
from hornbeam.forest.store import ForestStore
from hornbeam.runtime.kernel import kernel
from hornbeam.runtime.random import draw_unit
from hornbeam.tree.estimators import DecisionTreeRegressor

Embedding = hb.RandomTreesEmbedding
rng = np.random.default_rng(3)
X = rng.normal(size=(200, 3))
FRAME = pd.DataFrame(np.where(rng.random((200, 3)) < 0.1, np.nan, X), columns=list("abc")).assign(
    kind=rng.choice(list("uvw"), 200)
)


@kernel
def unit(key, counter):
    """`draw_unit` as kernels call it."""
    return draw_unit(key, counter)


def four_trees_of_four_leaves() -> ForestStore:
    """Tree t asks column t, which holds 0, 1, 2 or 3; each value has a leaf, in this order."""
    trees = []
    for column in range(4):
        table = np.zeros((4, 4))
        table[:, column] = range(4)
        trees.append(DecisionTreeRegressor().fit(table, [0.0, 1.0, 10.0, 11.0]).tree_)
    return ForestStore.pack(trees, by_table=False)


@pytest.mark.quick
@pytest.mark.mission("E6")
def test_four_trees_of_four_leaves() -> None:
    """Source 000: leaves 0 to 15; rows in the leaves [0, 7, 8, 14] and [1, 7, 9, 13]."""
    model = Embedding(n_estimators=4).fit(rng.integers(0, 4, (30, 4)).astype(float))
    model.store_ = four_trees_of_four_leaves()
    rows = np.array([[0, 7, 8, 14], [1, 7, 9, 13], [0, 6, 8, 14]]) - 4 * np.arange(4)
    found = model.transform(rows.astype(float)).toarray()
    i, j, k = found
    assert i.tolist() == [1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 0]
    assert j.tolist() == [0, 1, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0]
    assert np.sum((k - i) ** 2) < np.sum((k - j) ** 2)  # k = [0, 6, 8, 14] is closer to i
    np.testing.assert_array_equal(found @ found.T, 4 * model.proximities(rows.astype(float)))


@pytest.mark.mission("E6")
@pytest.mark.parametrize("params", [{}, {"max_leaf_nodes": 4}, {"max_depth": 2, "n_jobs": 2}])
def test_one_column_per_leaf(params: dict[str, Any]) -> None:
    model = Embedding(n_estimators=6, random_state=0, **params)
    found = model.fit_transform(FRAME)
    assert scipy.sparse.issparse(found) and found.format == "csr"
    leaves, columns = model.apply(FRAME), []
    for number, tree in enumerate(model.estimators_):
        for leaf in np.flatnonzero(tree.tree_.is_leaf):
            columns.append(leaves[:, number] == leaf)
    np.testing.assert_array_equal(found.toarray(), np.column_stack(columns))
    assert np.all(found.sum(axis=1) == 6) and np.all(found.sum(axis=0) > 0)
    dense = Embedding(n_estimators=6, random_state=0, sparse_output=False, **params)
    np.testing.assert_array_equal(dense.fit_transform(FRAME), found.toarray())


def test_names_of_the_columns() -> None:
    model = Embedding(n_estimators=2, max_depth=1, random_state=0).fit(X)
    names = ["randomtreesembedding_0_1", "randomtreesembedding_0_2"]
    names += ["randomtreesembedding_1_1", "randomtreesembedding_1_2"]
    assert model.get_feature_names_out().tolist() == names
    model.set_params(sparse_output=False).set_output(transform="pandas")
    assert model.transform(X).columns.tolist() == names


def test_every_feature_is_asked_as_often() -> None:
    """Whatever they look like: chance alone chooses, and where to cut."""
    table = np.column_stack([X[:, 0], X[:, 1] * 1000, np.exp(3 * X[:, 2]), np.ones(200)])
    model = Embedding(n_estimators=300, max_depth=1, random_state=0).fit(table)
    roots = np.array([tree.tree_.feature[0] for tree in model.estimators_])
    counts = np.bincount(roots, minlength=4)
    assert counts[3] == 0 and np.all(np.abs(counts[:3] - 100) < 4 * np.sqrt(300 * 2 / 9))
    cuts = [t.tree_.threshold[0] for t in model.estimators_ if t.tree_.feature[0] == 0]
    assert len(set(cuts)) > 50


def test_the_same_for_any_way_to_it() -> None:
    expected = Embedding(n_estimators=20, random_state=0).fit(FRAME).digest()
    for n_jobs in (1, 2, 4):
        model = Embedding(n_estimators=20, random_state=0, n_jobs=n_jobs).fit(FRAME)
        assert model.digest() == expected
    warm = Embedding(n_estimators=7, random_state=0, warm_start=True).fit(FRAME)
    assert warm.set_params(n_estimators=20).fit(FRAME).digest() == expected
    assert pickle.loads(pickle.dumps(warm)).digest() == expected
    again = Embedding(n_estimators=20, random_state=0).fit(FRAME, rng.normal(size=200))
    assert again.digest() == expected  # y is ignored


def test_saved_and_loaded(tmp_path: Any) -> None:
    model = Embedding(n_estimators=5, random_state=0).fit(FRAME)
    model.save(tmp_path / "model")
    loaded = hb.load(tmp_path / "model")
    assert loaded.digest() == model.digest() and loaded.get_params() == model.get_params()
    assert (loaded.transform(FRAME) != model.transform(FRAME)).nnz == 0


def test_a_linear_model_on_it_is_not_linear() -> None:
    circles, y = make_circles(400, noise=0.1, factor=0.4, random_state=0)
    line = LogisticRegression().fit(circles[:200], y[:200]).score(circles[200:], y[200:])
    pipe = make_pipeline(Embedding(random_state=0), LogisticRegression())
    embedded = pipe.fit(circles[:200], y[:200]).score(circles[200:], y[200:])
    assert line < 0.7 < 0.95 < embedded


def test_unseen_categories_and_missing_values() -> None:
    model = Embedding(n_estimators=5, random_state=0).fit(FRAME)
    new = pd.DataFrame({"a": [np.nan], "b": [None], "c": [9e9], "kind": ["never seen"]})
    assert model.transform(new).sum() == 5
    with pytest.raises(ValueError, match="infinit"):
        model.transform(new.assign(a=np.inf))


def test_no_target_no_prediction() -> None:
    for name in ("predict", "score", "predict_proba"):
        assert not hasattr(Embedding().fit(X), name)
    with pytest.raises(TypeError, match="bootstrap"):
        Embedding(bootstrap=True)


def test_random_numbers_are_those_of_the_kernels() -> None:
    expected = [unit(np.uint64(12345), counter) for counter in range(50)]
    assert draw_units(12345, 50).tolist() == expected
    assert encode_leaves(four_trees_of_four_leaves(), np.full((2, 4), 6)).shape == (2, 16)

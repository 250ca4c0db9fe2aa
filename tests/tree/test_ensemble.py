"""Many trees at once against the loop that defines them, bit for bit."""

from __future__ import annotations

import dataclasses
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from tree.test_traversal import KINDS, naive_leaves, random_rows, random_tree

import hornbeam as hb
from hornbeam.tree import ensemble as module
from hornbeam.tree import predict as driver
from hornbeam.tree.ensemble import Ensemble
from hornbeam.tree.traversal import Walker

N_FEATURES = 6


def random_ensemble(rng, kinds="thresholds", n_trees=7, n_scores=1, n_inner=25):
    """Trees of random questions and values; some add to several scores."""
    trees, first = [], []
    n_values = int(rng.integers(1, n_scores + 1))
    for _ in range(n_trees):
        tree = random_tree(rng, N_FEATURES, KINDS[kinds], n_inner)
        value = rng.normal(size=(tree.node_count, n_values)) * 10.0 ** rng.integers(-9, 9)
        trees.append(dataclasses.replace(tree, value=value))
        first.append(int(rng.integers(0, n_scores - n_values + 1)))
    return Ensemble(trees, first, n_scores, rng.normal(size=n_scores))


def naive_scores(ensemble, X, first=0, last=None):
    """start + value[leaf of tree 0] + value[leaf of tree 1] + ..., in this order."""
    scores = np.tile(ensemble.start, (X.shape[0], 1))
    for tree, score in list(zip(ensemble.trees, ensemble.score_of_tree, strict=True))[first:last]:
        for row, leaf in enumerate(naive_leaves(tree, X)):
            scores[row, score : score + tree.value.shape[1]] += tree.value[leaf]
    return scores


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    kinds=st.sampled_from(list(KINDS)),
    n_rows=st.integers(0, 40),
    n_scores=st.integers(1, 4),
    n_inner=st.sampled_from([0, 1, 10, 40, 100]),
    dtype=st.sampled_from([np.float32, np.float64]),
    order=st.sampled_from(["C", "F"]),
)
def test_scores_are_those_of_the_naive_loop(seed, kinds, n_rows, n_scores, n_inner, dtype, order):
    rng = np.random.default_rng(seed)
    ensemble = random_ensemble(rng, kinds, 5, n_scores, n_inner)
    X = np.asarray(random_rows(rng, n_rows, N_FEATURES), dtype, order=order)
    np.testing.assert_array_equal(ensemble.scores(X), naive_scores(ensemble, X))
    leaves = ensemble.leaves(X)
    assert leaves.dtype == np.int32
    for number, tree in enumerate(ensemble.trees):
        np.testing.assert_array_equal(leaves[:, number], naive_leaves(tree, X))


@pytest.fixture(scope="module")
def boosted():
    """Trees of 31 and of 400 leaves, trained on rows with holes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 8)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0]) * np.nan_to_num(X[:, 1]) + rng.normal(size=len(X))
    trees = [
        hb.DecisionTreeRegressor(max_leaf_nodes=leaves, random_state=seed, max_features=3)
        .fit(X[:4000], y[:4000] + rng.normal(size=4000))
        .tree_
        for seed, leaves in enumerate([31] * 8 + [400] * 2)
    ]
    return Ensemble(trees, np.arange(10) % 2, 2, [0.5, -0.25]), X


def walked_scores(ensemble, X):
    scores = np.tile(ensemble.start, (len(X), 1))
    for tree, score in zip(ensemble.trees, ensemble.score_of_tree, strict=True):
        scores[:, score] += tree.value[Walker(tree).leaves(X), 0]
    return scores


@pytest.mark.quick
def test_fitted_trees_predict_as_each_on_its_own(boosted):
    ensemble, X = boosted
    assert len(set(ensemble.packed.arrays.method)) == 2  # both ways are in it
    expected = walked_scores(ensemble, X)
    for form in (X, X.astype(np.float64), np.asfortranarray(X)):
        np.testing.assert_array_equal(ensemble.scores(form), expected)


@pytest.mark.quick
def test_results_do_not_depend_on_threads_or_blocks(boosted, monkeypatch):
    ensemble, X = boosted
    expected, leaves = ensemble.scores(X, 1), ensemble.leaves(X, 1)
    for n_jobs in (2, 4, None):
        np.testing.assert_array_equal(ensemble.scores(X, n_jobs), expected)
        np.testing.assert_array_equal(ensemble.leaves(X, n_jobs), leaves)
    monkeypatch.setattr(driver, "CHUNK_ROWS", 77)
    monkeypatch.setattr(module, "_BLOCK_BYTES", 1000)  # blocks of 16 rows
    again = pickle.loads(pickle.dumps(ensemble))
    assert again.packed.width == 16
    np.testing.assert_array_equal(again.scores(X, 4), expected)


@pytest.mark.quick
def test_a_part_of_the_trees(boosted):
    ensemble, X = boosted
    X = X[:100]
    for first, last in ((0, 0), (0, 3), (4, 9), (9, None), (0, None)):
        np.testing.assert_array_equal(
            ensemble.scores(X, first=first, last=last), naive_scores(ensemble, X, first, last)
        )


@pytest.mark.quick
@pytest.mark.parametrize("every", [1, 3, 10, 99])
def test_stages_are_cumulative(boosted, every):
    ensemble, X = boosted
    X = X[:300]
    ends = [min(end, 10) for end in range(every, 10 + every, every)]
    stages = list(ensemble.staged_scores(X, 1, every))
    assert len(stages) == len(ends)
    for stage, end in zip(stages, ends, strict=True):
        np.testing.assert_array_equal(stage, ensemble.scores(X, last=end))


@pytest.mark.quick
@pytest.mark.parametrize("form", [scipy.sparse.csr_array, scipy.sparse.csc_matrix])
def test_sparse_rows(boosted, form, monkeypatch):
    monkeypatch.setattr(driver, "_PIECE_BYTES", 6000)  # several pieces
    ensemble, X = boosted
    X = np.where(np.abs(X[:500]) < 0.7, np.float32(0), X[:500])
    np.testing.assert_array_equal(ensemble.scores(form(X)), ensemble.scores(X))
    np.testing.assert_array_equal(ensemble.leaves(form(X)), ensemble.leaves(X))


@pytest.mark.quick
@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("n_rows", [1, 16, 130, 9000])
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_infinite_value_is_met_in_any_column(boosted, value, n_rows, order):
    ensemble, X = boosted
    for column in range(X.shape[1]):
        bad = X[:n_rows].copy(order)
        bad[-1, column] = value
        assert ensemble.scores(bad) is None
        assert ensemble.leaves(bad, 2) is None
        assert list(ensemble.staged_scores(bad)) == [None]
        assert ensemble.scores(bad, checked=False) is not None


@pytest.mark.quick
def test_no_rows_no_trees_and_trees_without_questions(boosted):
    ensemble, X = boosted
    assert ensemble.scores(X[:0]).shape == (0, 2)
    assert ensemble.leaves(X[:0]).shape == (0, 10)
    nothing = Ensemble([], [], 2, [1.0, 2.0])
    assert nothing.scores(X[:3]).tolist() == [[1.0, 2.0]] * 3
    assert nothing.leaves(X[:3]).shape == (3, 0)
    root = hb.DecisionTreeRegressor().fit(X[:10], np.full(10, 4.0)).tree_
    roots = Ensemble([root, root], [0, 0], 1, [1.0])
    assert roots.scores(X[:3]).tolist() == [[9.0]] * 3
    assert roots.leaves(X[:3]).tolist() == [[0, 0]] * 3


@pytest.mark.quick
def test_string_columns():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.normal(size=800), "b": rng.choice(list("uvwxyz"), 800)})
    frame["c"] = rng.integers(0, 150, 800).astype(str)
    frame.loc[::7, "b"] = None
    y = frame["a"] + 2 * frame["b"].isin(["u", "x"]) + frame["c"].isin(["3", "77", "140"])
    models = [
        hb.DecisionTreeRegressor(max_leaf_nodes=31, random_state=seed, max_features=2).fit(
            frame, y + rng.normal(size=800)
        )
        for seed in range(6)
    ]
    ensemble = Ensemble([model.tree_ for model in models], np.zeros(6, int), 1, [0.0])
    expected = np.zeros(800)
    for model in models:
        expected += model.predict(frame)
    matrix = models[0].schema_.read(frame, "test")
    np.testing.assert_array_equal(ensemble.scores(matrix)[:, 0], expected)


@pytest.mark.quick
def test_eight_threads_share_a_fresh_ensemble(boosted):
    ensemble, X = boosted
    expected = ensemble.scores(X)
    for _ in range(5):
        fresh = pickle.loads(pickle.dumps(ensemble))
        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(lambda _, own=fresh: own.scores(X, 1), range(16)))
        for result in results:
            np.testing.assert_array_equal(result, expected)


@pytest.mark.quick
def test_a_pickle_holds_the_trees_only(boosted):
    ensemble, X = boosted
    ensemble.scores(X[:1])
    content = pickle.dumps(ensemble)
    assert len(content) < 1.2 * len(pickle.dumps(ensemble.trees)) + 1000
    again = pickle.loads(content)
    assert "_made" not in vars(again)
    np.testing.assert_array_equal(again.scores(X), ensemble.scores(X))


@pytest.mark.quick
def test_arrays_that_kernels_do_not_take(boosted):
    ensemble, X = boosted
    expected = ensemble.scores(X[:200:2])
    frozen = X[:200:2].copy()
    frozen.flags.writeable = False
    for form in (X[:200:2], frozen, np.asfortranarray(X[:200])[::2]):
        np.testing.assert_array_equal(ensemble.scores(form), expected)


@pytest.mark.quick
def test_what_does_not_fit_is_refused(boosted):
    ensemble, X = boosted
    with pytest.raises(ValueError, match="2 columns, but the trees ask for column 7"):
        ensemble.scores(X[:, :2])
    tree = ensemble.trees[0]
    with pytest.raises(ValueError, match="beyond the 1"):
        Ensemble([tree], [1], 1, [0.0])
    with pytest.raises(ValueError, match="as many entries"):
        Ensemble([tree], [0, 0], 1, [0.0])

"""Walking a tree: the kernels against a naive walk, row by row."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from tree import oracle

import hornbeam as hb
from hornbeam.dtypes import LEAF, MULTIWAY, SUBSET, THRESHOLD
from hornbeam.tree.storage import Tree
from hornbeam.tree.traversal import Walker, decision_path

CATEGORIES = 70  # more than one word of a bit set


def random_tree(rng, n_features, kinds, n_inner=25):
    """A valid tree of random questions; odd features hold categories."""
    questions: list[tuple] = []  # (kind, feature, threshold, missing branch, set, n_branches)
    waiting, n_nodes = 1, 1
    while waiting:
        waiting -= 1
        kind = int(rng.choice(kinds)) if len(questions) < n_inner or not questions else LEAF
        if waiting and rng.random() < 0.2:
            kind = LEAF
        questions.append(question(rng, kind, n_features))
        waiting += questions[-1][-1]
        n_nodes += questions[-1][-1]
    return store(questions, n_nodes)


def question(rng, kind, n_features):
    number, category = 2 * rng.integers(n_features // 2), 2 * rng.integers(n_features // 2) + 1
    if kind == LEAF:
        return LEAF, -1, np.nan, 0, [], 0
    if kind == THRESHOLD:
        cut = rng.choice([rng.normal(), np.inf, 0.0, 0.5])
        return THRESHOLD, number, cut, rng.integers(2), [], 2
    if kind == SUBSET:
        words = rng.integers(0, 2**63, -(-CATEGORIES // 64), dtype=np.uint64)
        return SUBSET, category, np.nan, rng.integers(2), words, 2
    return MULTIWAY, category, np.nan, rng.integers(CATEGORIES), [], CATEGORIES


def store(questions, n_nodes):
    kind, feature, threshold, missing, sets, branches = map(list, zip(*questions, strict=True))
    branches = np.array(branches, np.int32)
    first = np.where(branches > 0, 1 + np.cumsum(branches) - branches, 0).astype(np.int32)
    return Tree(
        first_child=first,
        n_branches=branches,
        feature=np.array(feature, np.int32),
        kind=np.array(kind, np.uint8),
        threshold=np.array(threshold, float),
        missing_branch=np.array(missing, np.int32),
        set_start=np.concatenate([[0], np.cumsum([len(words) for words in sets])]),
        set_words=np.concatenate([np.empty(0, np.uint64), *sets]).astype(np.uint64),
        n_samples=np.ones(n_nodes, np.int64),
        weight=np.ones(n_nodes),
        impurity=np.zeros(n_nodes),
        value=np.arange(n_nodes, dtype=float)[:, None],
    )


def random_rows(rng, n_rows, n_features):
    """Numbers in even columns (some on a cut), categories in odd ones, holes."""
    X = rng.normal(size=(n_rows, n_features))
    X[:, ::2] = np.where(rng.random(X[:, ::2].shape) < 0.3, 0.5, X[:, ::2])
    X[:, 1::2] = rng.integers(0, CATEGORIES, X[:, 1::2].shape)
    X[rng.random(X.shape) < 0.15] = np.nan
    return X


def naive_leaves(tree, X):
    return [oracle.walk(tree, row)[-1] for row in X]


KINDS = {
    "thresholds": [THRESHOLD],
    "sets": [THRESHOLD, SUBSET],
    "multiway": [THRESHOLD, SUBSET, MULTIWAY],
}


@pytest.mark.quick
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kinds", KINDS)
def test_random_trees_are_walked_as_by_hand(kinds, dtype, order):
    rng = np.random.default_rng(0)
    for _ in range(8):
        tree = random_tree(rng, 6, KINDS[kinds])
        X = np.asarray(random_rows(rng, int(rng.integers(1, 60)), 6), dtype=dtype, order=order)
        np.testing.assert_array_equal(Walker(tree).leaves(X), naive_leaves(tree, X))


@pytest.mark.quick
@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("n_rows", [0, 1, 2, 7, 8, 9, 17])
def test_any_number_of_rows(kinds, n_rows):
    rng = np.random.default_rng(1)
    tree, X = random_tree(rng, 4, KINDS[kinds]), random_rows(rng, 20, 4)[:n_rows]
    np.testing.assert_array_equal(Walker(tree).leaves(X), naive_leaves(tree, X))


@pytest.mark.quick
@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("form", [scipy.sparse.csr_array, scipy.sparse.csc_array])
def test_sparse_rows_are_walked_like_dense_ones(kinds, form):
    rng = np.random.default_rng(2)
    tree, X = random_tree(rng, 6, KINDS[kinds]), random_rows(rng, 200, 6)
    X[rng.random(X.shape) < 0.5] = 0.0
    np.testing.assert_array_equal(Walker(tree).leaves(form(X)), naive_leaves(tree, X))


@pytest.mark.quick
@pytest.mark.parametrize("kinds", KINDS)
def test_threads_walk_the_same_way(kinds):
    rng = np.random.default_rng(3)
    tree, X = random_tree(rng, 6, KINDS[kinds]), random_rows(rng, 20_000, 6)
    expected = Walker(tree).leaves(X, n_jobs=1)
    for n_jobs in (2, 4, None):
        np.testing.assert_array_equal(Walker(tree).leaves(X, n_jobs), expected)
    np.testing.assert_array_equal(expected[:300], naive_leaves(tree, X[:300]))


@pytest.mark.quick
@pytest.mark.parametrize("kinds", KINDS)
def test_a_lone_root_is_everybodys_leaf(kinds):
    rng = np.random.default_rng(4)
    tree = store([question(rng, LEAF, 4)], 1)
    assert Walker(tree).leaves(random_rows(rng, 9, 4)).tolist() == [0] * 9


@pytest.mark.quick
@pytest.mark.parametrize("kinds", KINDS)
def test_decision_path_lists_the_nodes_of_the_naive_walk(kinds):
    rng = np.random.default_rng(5)
    tree, X = random_tree(rng, 6, KINDS[kinds]), random_rows(rng, 40, 6)
    paths = decision_path(tree, Walker(tree).leaves(X))
    assert paths.shape == (40, tree.node_count)
    for row, expected in enumerate(oracle.walk(tree, x) for x in X):
        assert paths[[row]].indices.tolist() == expected


@pytest.mark.quick
def test_every_training_row_falls_into_a_leaf_that_counted_it():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(500, 4)), rng.normal(size=500)
    X[rng.random(X.shape) < 0.2] = np.nan
    tree = hb.DecisionTreeRegressor(max_depth=6).fit(X, y)
    counts = np.bincount(tree.apply(X), minlength=tree.tree_.node_count)
    expected = np.where(tree.tree_.is_leaf, tree.tree_.n_samples, 0)
    np.testing.assert_array_equal(counts, expected)


@pytest.mark.quick
@pytest.mark.parametrize("n_rows", [1, 3, 9, 10_000])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, scipy.sparse.csr_array])
def test_an_infinite_value_is_refused_wherever_it_is(form, value, n_rows):
    """Also in the last row, and in a column that no question asks for."""
    rng = np.random.default_rng(7)
    tree = hb.DecisionTreeRegressor(max_depth=1).fit(rng.normal(size=(30, 3)), np.arange(30.0))
    for column in range(3):
        X = rng.normal(size=(n_rows, 3))
        X[-1, column] = value
        with pytest.raises(ValueError, match="infinity"):
            tree.predict(form(X))


@pytest.mark.quick
def test_values_on_a_threshold_go_left_in_both_precisions():
    X = np.array([[1.0], [2.0]])
    tree = hb.DecisionTreeRegressor().fit(X, [0.0, 1.0])
    assert tree.tree_.threshold[0] == 1.5
    for dtype in (np.float32, np.float64):
        assert tree.predict(np.array([[1.5]], dtype)).tolist() == [0.0]
        assert tree.predict(np.nextafter(np.array([[1.5]], dtype), dtype(2))).tolist() == [1.0]

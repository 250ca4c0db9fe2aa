"""The kernel of packed trees: every way to walk against a naive walk."""

from __future__ import annotations

import numpy as np
import pytest
from tree import test_traversal
from tree.test_traversal import KINDS, naive_leaves, random_rows, random_tree

from hornbeam.forest import predict
from hornbeam.forest.store import ForestStore
from hornbeam.kernels.forest import FEW_ROWS, WALKERS

N_FEATURES = 6
# Nodes per row up to which trees are copied: none is, or every one that can be.
NEVER, ALWAYS = ({"numbers": most, "sets": most} for most in (0, 1 << 30))


@pytest.mark.quick
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kinds", ["thresholds", "sets"])
@pytest.mark.parametrize("n_trees", [1, WALKERS - 1, WALKERS, WALKERS + 1, 3 * WALKERS])
def test_every_way_ends_in_the_leaf_of_the_naive_walk(n_trees, kinds, dtype):
    rng = np.random.default_rng(n_trees)
    trees = [random_tree(rng, N_FEATURES, KINDS[kinds], 20) for _ in range(n_trees)]
    packed = ForestStore.pack(trees, False)
    X = random_rows(rng, 40, N_FEATURES).astype(dtype)
    expected = np.array([naive_leaves(tree, X) for tree in trees]).T
    for n_rows in (1, 2, FEW_ROWS, FEW_ROWS + 1, 2 * WALKERS, 40):
        np.testing.assert_array_equal(packed.leaves(X[:n_rows]), expected[:n_rows])


@pytest.mark.quick
@pytest.mark.parametrize("n_rows", [3, 50])
@pytest.mark.parametrize("n_categories", [2, 63, 64, 65, 200])
def test_sets_of_one_word_and_of_several(n_categories, n_rows, monkeypatch):
    monkeypatch.setattr(test_traversal, "CATEGORIES", n_categories)
    rng = np.random.default_rng(n_categories)
    tree = random_tree(rng, N_FEATURES, KINDS["sets"], 40)
    X = random_rows(rng, n_rows, N_FEATURES)
    leaves = ForestStore.pack([tree], False).leaves(X)
    np.testing.assert_array_equal(leaves[:, 0], naive_leaves(tree, X))


@pytest.mark.quick
@pytest.mark.parametrize("copied", [NEVER, ALWAYS], ids=["never", "always"])
@pytest.mark.parametrize("n_categories", [61, 62, 63, 64, 65])
@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_walked_alike_whatever_is_asked_and_missing(
    dtype, complete, n_categories, copied, monkeypatch
):
    monkeypatch.setattr(predict, "_NODES_PER_ROW", copied)
    rng = np.random.default_rng(7)
    trees = [set_tree(rng, n_categories, monkeypatch, 60) for _ in range(8)]
    X = random_rows(rng, 300, N_FEATURES).astype(dtype)
    X[:60, 1::2] = rng.integers(58, max(64, n_categories), (60, 3))  # the last, and none
    X[1::2, 1::2] = np.nan  # categories may be missing where no number is
    if complete:
        X[:, ::2] = np.nan_to_num(X[:, ::2], posinf=1.0, neginf=-1.0)
    expected = np.array([naive_leaves(tree, X) for tree in trees]).T
    for order in "CF":
        table = np.asarray(X, order=order)
        np.testing.assert_array_equal(ForestStore.pack(trees, False).leaves(table), expected)


def set_tree(rng, n_categories, monkeypatch, n_inner):
    """A random tree of thresholds and sets; no set holds a category that is not there."""
    monkeypatch.setattr(test_traversal, "CATEGORIES", n_categories)
    tree = random_tree(rng, N_FEATURES, KINDS["sets"], n_inner)
    n_words = -(-n_categories // 64)
    there = np.array([2 ** min(64, n_categories - 64 * i) - 1 for i in range(n_words)], np.uint64)
    tree.set_words[:] &= np.tile(there, len(tree.set_words) // n_words)
    return tree


@pytest.mark.quick
@pytest.mark.parametrize("n_rows", [3, 50])
@pytest.mark.parametrize("copied", [NEVER, ALWAYS], ids=["never", "always"])
@pytest.mark.parametrize("category", [-1.0, 128.0, 1e18, np.inf, -np.inf])
def test_a_category_that_cannot_be_counts_as_missing(category, copied, n_rows, monkeypatch):
    monkeypatch.setattr(predict, "_NODES_PER_ROW", copied)
    rng = np.random.default_rng(5)
    trees = [set_tree(rng, 62 if copied is ALWAYS else 128, monkeypatch, 25) for _ in range(5)]
    packed = ForestStore.pack(trees, False)
    X = random_rows(rng, n_rows, N_FEATURES)
    strange, missing = X.copy(), X.copy()
    strange[:, 1::2], missing[:, 1::2] = category, np.nan
    np.testing.assert_array_equal(
        packed.leaves(strange, checked=False), packed.leaves(missing, checked=False)
    )


@pytest.mark.quick
@pytest.mark.parametrize("copied", [NEVER, ALWAYS], ids=["never", "always"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_of_every_size_are_in_the_right_order(dtype, copied, monkeypatch):
    monkeypatch.setattr(predict, "_NODES_PER_ROW", copied)
    rng = np.random.default_rng(8)
    info = np.finfo(dtype)
    sizes = [0.0, info.smallest_subnormal, info.tiny, 0.1, 1.0, 1e30, info.max, np.inf]
    numbers = np.array([sign * size for size in sizes for sign in (1, -1)] + [np.nan], dtype)
    tree = random_tree(rng, N_FEATURES, KINDS["thresholds"], 60)
    cuts = np.concatenate([numbers[:-1].astype(float), [1e-320, -1e-320, 1e300, -1e300]])
    tree.threshold[:] = np.where(tree.is_leaf, np.nan, rng.choice(cuts, tree.node_count))
    X = rng.choice(numbers, (400, N_FEATURES))
    leaves = ForestStore.pack([tree], False).leaves(X, checked=False)
    np.testing.assert_array_equal(leaves[:, 0], naive_leaves(tree, X))


@pytest.mark.quick
def test_a_float32_is_compared_with_the_whole_threshold():
    rng = np.random.default_rng(6)
    tree = random_tree(rng, N_FEATURES, KINDS["thresholds"], 40)
    finite = np.isfinite(tree.threshold)
    tree.threshold[finite] = np.float32(tree.threshold[finite]) * (1 + 1e-12)
    cuts = tree.threshold[finite].astype(np.float32)
    for n_rows in (5, 60):
        X = rng.choice(cuts, (n_rows, N_FEATURES))
        leaves = ForestStore.pack([tree], False).leaves(X)
        np.testing.assert_array_equal(leaves[:, 0], naive_leaves(tree, X))

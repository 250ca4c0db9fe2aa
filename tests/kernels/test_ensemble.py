"""The kernel of many trees: each way of finding a leaf against a naive walk."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from tree import test_traversal
from tree.test_traversal import KINDS, naive_leaves, random_rows, random_tree

from hornbeam.kernels.ensemble import BY_BITS, BY_QUESTIONS, BY_STEPS
from hornbeam.tree import ensemble as module
from hornbeam.tree.ensemble import Ensemble, round_down

N_FEATURES = 6


def with_values(tree, rng, n_values=1):
    return dataclasses.replace(tree, value=rng.normal(size=(tree.node_count, n_values)))


def ensemble_of(trees):
    return Ensemble(trees, np.zeros(len(trees), int), 1, [0.0])


WAYS = {  # kinds of questions, inner nodes, most leaves that bits are used for -> the way
    "one chunk": ("thresholds", 20, 256, BY_BITS),
    "one chunk of sets": ("sets", 20, 256, BY_BITS),
    "chunks": ("thresholds", 120, 256, BY_BITS),
    "chunks of sets": ("sets", 120, 256, BY_BITS),
    "steps": ("thresholds", 120, 0, BY_STEPS),
    "steps with sets": ("sets", 120, 0, BY_QUESTIONS),
    "multiway": ("multiway", 30, 256, BY_QUESTIONS),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [1, 15, 16, 17, 130, 300])
@pytest.mark.parametrize("way", WAYS)
def test_every_way_ends_in_the_leaf_of_the_naive_walk(way, n_rows, dtype, monkeypatch):
    kinds, n_inner, most_leaves, method = WAYS[way]
    monkeypatch.setattr(module, "_MOST_LEAVES", most_leaves)
    rng = np.random.default_rng(n_rows)
    trees = [random_tree(rng, N_FEATURES, KINDS[kinds], n_inner) for _ in range(3)]
    X = random_rows(rng, n_rows, N_FEATURES).astype(dtype)
    many = ensemble_of(trees)
    assert method in many.packed.arrays.method
    leaves = many.leaves(X)
    for number, tree in enumerate(trees):
        np.testing.assert_array_equal(leaves[:, number], naive_leaves(tree, X))


@pytest.mark.parametrize("n_inner", [30, 31, 32, 63, 64, 95])
def test_chunks_that_are_just_full(n_inner):
    rng = np.random.default_rng(n_inner)
    X = random_rows(rng, 200, N_FEATURES)
    for _ in range(10):
        tree = random_tree(rng, N_FEATURES, KINDS["thresholds"], n_inner)
        leaves = ensemble_of([tree]).leaves(X)
        np.testing.assert_array_equal(leaves[:, 0], naive_leaves(tree, X))


@pytest.mark.parametrize("n_categories", [2, 63, 64, 65, 200])
def test_sets_of_one_word_and_of_several(n_categories, monkeypatch):
    monkeypatch.setattr(test_traversal, "CATEGORIES", n_categories)
    rng = np.random.default_rng(n_categories)
    for dtype in (np.float32, np.float64):
        tree = random_tree(rng, N_FEATURES, KINDS["sets"], 40)
        X = random_rows(rng, 200, N_FEATURES).astype(dtype)
        leaves = ensemble_of([tree]).leaves(X)
        np.testing.assert_array_equal(leaves[:, 0], naive_leaves(tree, X))


@pytest.mark.parametrize("n_categories", [30, 70])
@pytest.mark.parametrize("most_leaves", [0, 256])
@pytest.mark.parametrize("category", [-1.0, 128.0, 1e18, np.inf, -np.inf])
@pytest.mark.parametrize("kinds", ["sets", "multiway"])
def test_a_category_that_cannot_be_counts_as_missing(
    kinds, category, most_leaves, n_categories, monkeypatch
):
    monkeypatch.setattr(test_traversal, "CATEGORIES", n_categories)
    monkeypatch.setattr(module, "_MOST_LEAVES", most_leaves)
    rng = np.random.default_rng(5)
    many = ensemble_of([with_values(random_tree(rng, 6, KINDS[kinds]), rng) for _ in range(5)])
    X = random_rows(rng, 50, 6)
    strange, missing = X.copy(), X.copy()
    strange[:, 1::2], missing[:, 1::2] = category, np.nan
    np.testing.assert_array_equal(
        many.scores(strange, checked=False), many.scores(missing, checked=False)
    )


def test_rounding_a_threshold_down_keeps_the_answer_of_every_float32():
    rng = np.random.default_rng(0)
    special = [0.0, -0.0, 1e300, -1e300, 1e-300, -1e-300, np.inf, -np.inf, 3.5e38, -3.5e38]
    cuts = np.concatenate([special, rng.normal(size=200), rng.normal(size=200).astype(np.float32)])
    rounded = round_down(cuts)
    assert rounded.dtype == np.float32
    with np.errstate(over="ignore"):
        near = np.concatenate([np.nextafter(rounded, np.float32(to)) for to in (-np.inf, np.inf)])
    xs = np.concatenate([rounded, near, np.float32([np.inf, -np.inf, np.nan])])
    expected = xs.astype(np.float64)[:, None] > cuts
    np.testing.assert_array_equal(xs[:, None] > rounded, expected)

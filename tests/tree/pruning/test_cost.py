"""Minimal cost-complexity pruning against a brute-force weakest-link search."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tree.test_oracle import random_table

import hornbeam as hb
from hornbeam.tree.pruning.cost import cut_below, prune_by_cost, pruning_path


def risk(tree, node):
    """R(t): share of the weight in a node times its impurity."""
    return tree.weight[node] / tree.weight[0] * tree.impurity[node]


def leaves_below(tree, node, cut):
    if tree.is_leaf[node] or node in cut:
        return [node]
    first = int(tree.first_child[node])
    return leaves_below(tree, first, cut) + leaves_below(tree, first + 1, cut)


def strength(tree, node, cut):
    """g(t) = (R(t) - R(T_t)) / (|leaves of T_t| - 1)."""
    leaves = leaves_below(tree, node, cut)
    return (risk(tree, node) - sum(risk(tree, leaf) for leaf in leaves)) / (len(leaves) - 1)


def cost(tree, alpha, cut=frozenset()):
    leaves = leaves_below(tree, 0, cut)
    return sum(risk(tree, leaf) for leaf in leaves) + alpha * len(leaves)


def reachable_inner_nodes(tree, cut):
    nodes = [0]
    for node in nodes:
        if not tree.is_leaf[node] and node not in cut:
            nodes += [int(tree.first_child[node]), int(tree.first_child[node]) + 1]
    return [node for node in nodes if not tree.is_leaf[node] and node not in cut]


def slow_path(tree):
    """Cut the weakest link, one at a time, looking at all of them each time."""
    cut, alphas = set(), [0.0]
    while inner := reachable_inner_nodes(tree, cut):
        weakest = min(inner, key=lambda node: strength(tree, node, cut))
        alphas.append(strength(tree, weakest, cut))
        cut.add(weakest)
    return np.array(alphas)


def steps(alphas):
    """Distinct alphas: links that are equally weak may be cut in any order, or at once when
    one of them is below the other."""
    return np.unique(np.round(alphas, 10))


def grown(seed=0, n=60, task="classifier", **params):
    rng = np.random.default_rng(seed)
    X = random_table(rng, n, n_categories=4, missing=True)
    if task == "classifier":
        return X, hb.DecisionTreeClassifier(**params).fit(X, rng.integers(0, 3, n))
    return X, hb.DecisionTreeRegressor(**params).fit(X, rng.normal(size=n))


@pytest.mark.mission("T9")
@pytest.mark.quick
@pytest.mark.parametrize("task", ["classifier", "regressor"])
@pytest.mark.parametrize("seed", range(5))
def test_path_cuts_the_weakest_link_each_time(task, seed):
    tree = grown(seed, task=task)[1].tree_
    alphas, risks = pruning_path(tree)
    assert steps(alphas) == pytest.approx(steps(slow_path(tree)), abs=1e-9)
    assert (np.diff(alphas) >= -1e-12).all() and (np.diff(risks) >= -1e-12).all()
    assert risks[-1] == pytest.approx(tree.impurity[0])


@pytest.mark.mission("T9")
@pytest.mark.quick
@pytest.mark.parametrize("seed", range(5))
def test_no_single_cut_or_regrowth_makes_a_pruned_tree_cheaper(seed):
    tree = grown(seed)[1].tree_
    alphas, _ = pruning_path(tree)
    for alpha in (alphas[:-1] + alphas[1:]) / 2:
        pruned = prune_by_cost(tree, alpha)
        cheapest = cost(pruned, alpha)
        assert cheapest <= cost(tree, alpha) + 1e-12
        for node in reachable_inner_nodes(pruned, set()):
            assert cheapest <= cost(pruned, alpha, {node}) + 1e-12


@pytest.mark.mission("T9")
@pytest.mark.quick
def test_pruned_trees_shrink_along_the_path_to_the_root():
    _, estimator = grown()
    alphas, _ = pruning_path(estimator.tree_)
    leaves = [prune_by_cost(estimator.tree_, alpha + 1e-12).n_leaves for alpha in alphas]
    assert leaves == sorted(leaves, reverse=True)
    assert leaves[-1] == 1


@pytest.mark.mission("T9")
@pytest.mark.quick
def test_pruned_nodes_keep_what_they_knew():
    """A pruned tree predicts for every row what the full tree's node on its path says."""
    X, estimator = grown(seed=2)
    full = estimator.tree_
    inner = np.flatnonzero(~full.is_leaf)
    cut = np.zeros(full.node_count, bool)
    cut[inner[len(inner) // 2 :]] = True
    pruned = cut_below(full, cut)
    path = estimator.decision_path(X).toarray() == 1
    expected = [next(n for n in np.flatnonzero(row) if cut[n] or full.is_leaf[n]) for row in path]
    estimator.tree_ = pruned
    np.testing.assert_array_equal(estimator.predict_proba(X), full.value[expected])
    assert pruned.n_samples[pruned.is_leaf].sum() == len(X)


@pytest.mark.mission("T9")
@pytest.mark.quick
def test_ccp_alpha_of_fit_is_the_pruned_full_tree():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.normal(size=200)
    full = hb.DecisionTreeRegressor().fit(X, y).tree_
    pruned = hb.DecisionTreeRegressor(ccp_alpha=0.01).fit(X, y).tree_
    assert pruned.digest() == prune_by_cost(full, 0.01).digest()
    assert 1 < pruned.n_leaves < full.n_leaves


@pytest.mark.mission("T9")
def test_a_long_chain_is_pruned_without_recursion():
    X = np.arange(140.0)[:, None]
    tree = hb.DecisionTreeRegressor().fit(X, 4.0 ** np.arange(140)).tree_
    alphas, _ = pruning_path(tree)
    assert len(alphas) >= 2
    assert prune_by_cost(tree, np.inf).node_count == 1


@pytest.mark.mission("T9")
def test_category_sets_survive_pruning():
    frame = pd.DataFrame({"c": list("abcdefgh") * 10})
    y = np.tile([1, 1, 5, 5, 9, 9, 9.5, 9.5], 10)
    tree = hb.DecisionTreeRegressor().fit(frame, y)
    pruned = hb.DecisionTreeRegressor(ccp_alpha=0.1).fit(frame, y)
    assert (tree.get_n_leaves(), pruned.get_n_leaves()) == (4, 3)
    assert pruned.predict(frame)[:8] == pytest.approx([1, 1, 5, 5, 9.25, 9.25, 9.25, 9.25])

"""What must hold on every table: fractions, pruning, threads, weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quinlan import tables

import hornbeam as hb
from hornbeam.data.coding import encode_ranks
from hornbeam.data.schema import Schema
from hornbeam.dtypes import LEAF
from hornbeam.quinlan.grower import Grown, QuinlanRules, grow
from hornbeam.quinlan.pruning import collapse, pessimistic_errors, prune


def make_table(seed: int, n: int = 150, holes: float = 0.15) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n).round(1),
            "b": rng.choice(["u", "v", "w", "x"], n),
            "c": rng.integers(0, 6, n).astype(float),
            "d": rng.choice(["p", "q"], n),
        }
    )
    signal = frame["a"] + (frame["b"] == "u") - (frame["c"] > 3) + rng.normal(0, 0.8, n)
    y = np.digitize(signal, [-0.5, 0.5])
    frame = frame.mask(rng.random(frame.shape) < holes)
    return frame, y


seeds = st.integers(0, 10**6)


@given(seeds, st.booleans())
@settings(max_examples=25)
@pytest.mark.mission("T3")
def test_fractions_sum_to_one(seed: int, grouping: bool) -> None:
    X, y = make_table(seed)
    model = hb.C45Classifier(grouping=grouping).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, atol=1e-12)
    tree = model.tree_
    for node in np.flatnonzero(tree.kind != LEAF):
        first, count = int(tree.first_child[node]), int(tree.n_branches[node])
        assert tree.weight[first : first + count].sum() == pytest.approx(tree.weight[node])
    assert tree.weight[0] == pytest.approx(len(y))


@given(seeds, st.booleans())
@settings(max_examples=20)
@pytest.mark.mission("T3")
def test_a_complete_row_goes_to_one_leaf(seed: int, grouping: bool) -> None:
    X, y = make_table(seed, holes=0.0)
    model = hb.C45Classifier(grouping=grouping).fit(X, y)
    leaves = model.apply(X)
    np.testing.assert_array_equal(model.predict_proba(X), model.tree_.value[leaves])
    counts = np.bincount(leaves, minlength=model.tree_.node_count)
    is_leaf = model.tree_.is_leaf
    np.testing.assert_array_equal(counts[is_leaf], model.tree_.n_samples[is_leaf])
    path = model.decision_path(X)
    np.testing.assert_array_equal(np.asarray(path.sum(axis=0)).ravel(), model.tree_.n_samples)


@pytest.mark.mission("T3")
def test_a_missing_value_gets_the_weighted_mix_of_its_branches() -> None:
    X, y = tables.read(tables.GOLF)
    model = hb.C45Classifier().fit(X, y)
    skies, weights = ("overcast", "rain", "sunny"), model.tree_.weight[1:4]
    assert weights.tolist() == [4.0, 5.0, 5.0]
    for row in range(len(X)):
        unknown, known = X.iloc[[row]].copy(), pd.concat([X.iloc[[row]]] * 3)
        unknown["outlook"], known["outlook"] = None, skies
        expected = weights / 14 @ model.predict_proba(known)
        np.testing.assert_allclose(model.predict_proba(unknown)[0], expected)


def test_a_category_the_node_has_not_seen_is_mixed() -> None:
    """ "rain" never was windy: below it, that is as good as unknown."""
    X = pd.DataFrame(
        {
            "sky": ["sun"] * 6 + ["rain"] * 8,
            "wind": ["n", "s", "e", "n", "s", "e"] + ["n", "s"] * 4,
        }
    )
    y = ["a"] * 6 + ["b", "c"] * 4
    model = hb.C45Classifier(pruning=None).fit(X, y)
    assert model.feature_names_in_[model.tree_.feature[0]] == "sky"
    proba = model.predict_proba(pd.DataFrame({"sky": ["rain"], "wind": ["e"]}))[0]
    np.testing.assert_allclose(proba, [0.0, 0.5, 0.5])
    same = model.predict_proba(pd.DataFrame({"sky": ["rain"], "wind": ["never"]}))[0]
    np.testing.assert_allclose(same, proba)


def grown_on(X: Any, y: Any) -> Grown:
    schema, matrix = Schema.learn(X)
    codes = encode_ranks(matrix, schema.is_category, schema.n_categories, 1, with_values=True)
    return grow(codes, y, np.ones(len(y)), 3, QuinlanRules(ratio=True, min_leaf=2.0))


def estimate(grown: Grown, confidence: float) -> float:
    """Pessimistic errors of all leaves that can be reached."""
    stack, total = [0], 0.0
    while stack:
        node = stack.pop()
        if grown.nodes.kind[node] == LEAF:
            total += float(pessimistic_errors(grown.counts[[node]], confidence)[0])
        stack.extend(grown.children(node))
    return total


@given(seeds, st.sampled_from([0.05, 0.25, 0.5]), st.booleans())
@settings(max_examples=40)
@pytest.mark.mission("T3")
def test_pruning_never_raises_the_pessimistic_estimate(
    seed: int, confidence: float, raising: bool
) -> None:
    X, y = make_table(seed, holes=0.1 * (seed % 2))
    grown = grown_on(X, y)
    collapse(grown)
    before, n_inner = estimate(grown, confidence), len(grown.inner_nodes())
    prune(grown, confidence, raising)
    assert estimate(grown, confidence) <= before + 1e-6
    assert len(grown.inner_nodes()) <= n_inner
    # raising keeps all the weight in the tree
    leaves = [
        child for node in grown.inner_nodes() for child in grown.children(node)
        if grown.nodes.kind[child] == LEAF
    ]  # fmt: skip
    if leaves:
        assert grown.nodes.weight[leaves].sum() == pytest.approx(len(y))


def test_raising_does_happen_and_is_counted_right() -> None:
    """Some of these tables raise a subtree; rows then go where the stored tree says."""
    raised = 0
    for seed in range(12):
        X, y = make_table(seed, n=200, holes=0.0)
        plain = hb.C45Classifier(raising=False).fit(X, y)
        model = hb.C45Classifier().fit(X, y)
        raised += model.digest() != plain.digest()
        leaves = model.apply(X)
        for leaf in np.unique(leaves):
            shares = np.bincount(y[leaves == leaf], minlength=3) / (leaves == leaf).sum()
            np.testing.assert_allclose(model.tree_.value[leaf], shares)
    assert raised >= 1


@pytest.mark.parametrize(
    "estimator", [hb.C45Classifier(), hb.C45Classifier(grouping=True)], ids=repr
)
def test_threads_do_not_matter(estimator: Any) -> None:
    rng = np.random.default_rng(0)
    X, y = make_table(1, n=30_000)
    X["many"] = rng.normal(size=len(X))
    digests = {estimator.set_params(n_jobs=n_jobs).fit(X, y).digest() for n_jobs in (1, 2, 3)}
    assert len(digests) == 1


@given(seeds)
@settings(max_examples=15)
@pytest.mark.mission("T13")
def test_weight_two_is_the_row_twice(seed: int) -> None:
    X, y = make_table(seed, n=60)
    weight = np.random.default_rng(seed).integers(0, 3, 60)
    weight[0] = 1
    # the categories of the rows that are left out stay known to the weighted tree
    twice = pd.concat([X.loc[X.index.repeat(weight)]])
    weighted = hb.C45Classifier().fit(X, y, weight)
    repeated = hb.C45Classifier().fit(twice, y.repeat(weight))
    np.testing.assert_allclose(
        weighted.predict_proba(X)[weight > 0], repeated.predict_proba(X)[weight > 0], atol=1e-9
    )


def test_weights_that_are_shares_count_as_rows() -> None:
    X, y = make_table(5)
    plain = hb.C45Classifier().fit(X, y)
    shares = hb.C45Classifier().fit(X, y, np.full(len(y), 1 / len(y)))
    np.testing.assert_allclose(plain.predict_proba(X), shares.predict_proba(X))


def test_grouping_merges_categories_and_keeps_fractions() -> None:
    """Four letters, two of a kind each: two groups instead of four branches."""
    rng = np.random.default_rng(0)
    letters = rng.choice(list("abcd"), 400)
    y = np.where(np.isin(letters, ["a", "c"]), 0, 1) ^ (rng.random(400) < 0.1)
    X = pd.DataFrame({"letter": letters, "noise": rng.normal(size=400)})
    model = hb.C45Classifier(grouping=True).fit(X, y)
    assert hb.export_text(model, max_depth=0).startswith("|--- letter in {a, c}\n")
    assert model.tree_.n_branches[0] == 2
    unknown = model.predict_proba(pd.DataFrame({"letter": [None], "noise": [0.0]}))[0]
    np.testing.assert_allclose(unknown, np.bincount(y) / 400, atol=0.02)


def test_three_groups_are_a_chain_with_the_same_fractions() -> None:
    rng = np.random.default_rng(1)
    letters = rng.choice(list("abcdef"), 900)
    y = np.array([{"a": 0, "b": 0, "c": 1, "d": 1, "e": 2, "f": 2}[x] for x in letters])
    X = pd.DataFrame({"letter": letters})
    model = hb.C45Classifier(grouping=True, pruning=None).fit(X, y)
    assert model.score(X, y) == 1.0
    unknown = model.predict_proba(pd.DataFrame({"letter": [None]}))[0]
    np.testing.assert_allclose(unknown, np.bincount(y) / 900)


def test_more_categories_than_are_grouped_pair_by_pair() -> None:
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 300, 3000)
    X = pd.DataFrame({"code": codes.astype(str)})
    model = hb.C45Classifier(grouping=True).fit(X, codes % 2)
    assert model.score(X, codes % 2) > 0.6
    assert model.tree_.n_branches.max() == 2


def test_importances_are_shares() -> None:
    X, y = make_table(7)
    importances = hb.C45Classifier().fit(X, y).feature_importances_
    assert importances.sum() == pytest.approx(1.0)
    assert importances[:3].sum() > importances[3]


# --- many categories ------------------------------------------------------------------------


def make_names(seed: int, n: int = 3000, n_names: int = 400) -> tuple[pd.DataFrame, Any]:
    """Numbers that matter and names that do not, some of them missing."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    X["name"] = [f"n{i}" for i in rng.integers(0, n_names, n)]
    X.loc[rng.random(n) < 0.3, "name"] = None
    return X, (X["a"] + X["b"] * X["c"] + 0.5 * rng.normal(size=n) > 0).astype(int)


@pytest.mark.parametrize("grouping", [False, True])
def test_names_that_mean_nothing_do_not_crowd_out_numbers(grouping: bool) -> None:
    """Their gain by chance used to raise the average that every other feature had to reach."""
    X, y = make_names(0)
    train, test = slice(0, 1500), slice(1500, None)
    model = hb.C45Classifier(grouping=grouping).fit(X[train], y[train])
    plain = hb.C45Classifier().fit(X[train].drop(columns="name"), y[train])
    score = plain.score(X[test].drop(columns="name"), y[test])
    assert model.score(X[test], y[test]) >= score - 0.01


def test_names_that_mean_nothing_are_not_grown_a_branch_each() -> None:
    """Missing names would be in every branch of every such split: the square of the table."""
    X, y = make_names(1)
    schema, matrix = Schema.learn(X)
    codes = encode_ranks(matrix, schema.is_category, schema.n_categories, with_values=True)
    rules = hb.C45Classifier()._growth_rules(float(len(y)))
    few, many = (
        grow(codes, y.to_numpy(), np.ones(len(y)), 2, replace(rules, beyond_chance=beyond))
        for beyond in (True, False)
    )
    assert 5 * few.nodes.size.sum() < many.nodes.size.sum()


def test_names_that_mean_something_are_asked() -> None:
    X, _ = make_names(2)
    codes = X["name"].str[1:].astype(float)
    y = ((codes % 2 == 0) | codes.isna()).astype(int)
    model = hb.C45Classifier().fit(X, y)
    assert model.tree_.feature[0] == 3 and model.score(X, y) > 0.9


def test_weights_that_say_nothing_about_branches_give_no_nan():
    """No fit leaves them, but a file may: the shares are those of the heaviest leaf then."""
    X, y = [["a"], ["b"], ["a"], ["b"], ["b"]] * 4, ["no", "yes", "no", "yes", "yes"] * 4
    model = hb.C45Classifier().fit(X, y)
    expected = model.predict_proba([["a"], ["b"]])
    assert not model.tree_.is_leaf[0]
    for weight in (1e308, 5e-324):
        weights = np.full(model.tree_.node_count, weight)
        model.tree_ = replace(model.tree_, weight=weights)
        shares = model.predict_proba([[None], ["b"]])
        assert np.isfinite(shares).all() and np.allclose(shares.sum(axis=1), 1.0)
        assert shares[0].tolist() in expected.tolist() or weight < 1.0
        assert shares[1].tolist() == expected[1].tolist()

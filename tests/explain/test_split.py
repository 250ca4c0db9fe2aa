"""explain_split: what it recomputes by the definitions is what the tree has."""

from __future__ import annotations

import gc
import html
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from tree import oracle
from tree.test_oracle import (
    random_classes,
    random_table,
    random_target,
    random_weights,
)

import hornbeam as hb
from hornbeam.dtypes import LEAF

CLASSIFICATION = ("gini", "entropy", "log_loss", "misclassification")
REGRESSION = ("squared_error", "absolute_error", "friedman_mse", "poisson")
CLEARLY = 1e-7
DAYS = """
sunny hot high weak no
sunny hot high strong no
overcast hot high weak yes
rain mild high weak yes
rain cool normal weak yes
rain cool normal strong no
overcast cool normal strong yes
sunny mild high weak no
sunny cool normal weak yes
rain mild normal weak yes
sunny mild normal strong yes
overcast mild high strong yes
overcast hot normal weak yes
rain mild high strong no
"""
TENNIS = pd.DataFrame(
    [day.split() for day in DAYS.strip().splitlines()],
    columns=["outlook", "temperature", "humidity", "wind", "play"],
)
PLAY = TENNIS.pop("play").to_numpy()


def own_gini(counts, weight):
    impurity = 1.0
    for count in counts:
        impurity -= (count / weight) ** 2
    return impurity


def own_variance(weight, total, squares):
    return squares / weight - (total / weight) ** 2


def check_node(model, node, data):
    """The split of a node is the best of all that are listed; returns the explanation."""
    found = model.explain_split(node, *data)
    assert str(found)
    scale = max(model.tree_.impurity[node], 1e-300)
    if model.tree_.kind[node] == LEAF:
        assert found.winner is None and found.reason.startswith("A leaf")
        return found
    winner = found.winner
    assert winner.feature == model.tree_.feature[node]
    assert found.node.impurity == pytest.approx(model.tree_.impurity[node], rel=1e-9, abs=1e-12)
    first = model.tree_.first_child[node]
    for branch, side in enumerate(winner.sides):
        assert side.n_rows == model.tree_.n_samples[first + branch]
        assert side.weight == pytest.approx(model.tree_.weight[first + branch])
    gains = np.array([c.gain for c in found.candidates])
    assert winner.gain >= gains.max() - 1e-9 * scale
    cuts = [cut for cut in found.cuts(winner.feature) if cut["gain"] == cut["gain"]]
    assert cuts[0]["gain"] == pytest.approx(winner.gain, abs=1e-9 * scale)
    if len(cuts) == 1 or cuts[0]["gain"] - cuts[1]["gain"] > CLEARLY * scale:
        assert winner.split == cuts[0]["split"]
    assert "not quite the table" not in found.reason
    return found


def check_tree(model, X, y, weight):
    model.fit(X, y, sample_weight=weight)
    others = np.random.default_rng(0).permutation(np.arange(1, model.tree_.node_count))
    for node in [0, *others[:1].tolist()]:
        check_node(model, node, (X, y, weight))


@pytest.mark.parametrize("criterion", [*CLASSIFICATION, own_gini])
def test_the_recomputed_winner_is_the_stored_split_of_classifiers(criterion):
    for seed in range(100):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 30))
        X = random_table(rng, n, n_categories=10 if seed % 5 == 0 else 4, missing=seed % 2 == 0)
        params = {"category_split": "one_vs_rest"} if seed % 7 == 0 else {}
        params |= {"min_samples_leaf": 1 + seed % 3, "max_bins": 5 if seed % 4 == 0 else 255}
        params |= {"finder": rng.choice(["exact", "histogram"])}
        model = hb.DecisionTreeClassifier(criterion=criterion, **params)
        check_tree(model, X, random_classes(rng, n), random_weights(rng, n))


@pytest.mark.parametrize("criterion", [*REGRESSION, own_variance])
def test_the_recomputed_winner_is_the_stored_split_of_regressors(criterion):
    for seed in range(100):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 25))
        X = random_table(rng, n, n_categories=9 if seed % 10 == 0 else 4, missing=seed % 2 == 0)
        params = {"category_split": "one_vs_rest"} if seed % 7 == 0 else {}
        params |= {"min_samples_leaf": 1 + seed % 3, "max_bins": 5 if seed % 4 == 0 else 255}
        params |= {"finder": rng.choice(["exact", "histogram"])}
        model = hb.DecisionTreeRegressor(criterion=criterion, **params)
        check_tree(model, X, random_target(rng, n, criterion), random_weights(rng, n))


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error", "absolute_error"])
def test_several_outputs_and_class_weights(criterion):
    regression = criterion in REGRESSION
    for seed in range(15):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(4, 30))
        X = random_table(rng, n, n_categories=3, missing=True)
        y = rng.normal(size=(n, 2)) if regression else rng.integers(0, 3, (n, 2))
        tree = hb.DecisionTreeRegressor if regression else hb.DecisionTreeClassifier
        check_tree(tree(criterion=criterion), X, y, random_weights(rng, n))
        if not regression:
            weighted = tree(criterion=criterion, class_weight="balanced")
            check_tree(weighted, X, y[:, 0], random_weights(rng, n))


@pytest.mark.parametrize("criterion", ["gini", "squared_error", "absolute_error"])
def test_constraints_bound_the_splits_that_are_compared(criterion):
    regression = criterion in REGRESSION
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 6, (40, 3)).astype(float)
        noise = X[:, 0] - X[:, 1] + 2 * rng.normal(size=40)
        tree = hb.DecisionTreeRegressor if regression else hb.DecisionTreeClassifier
        y = noise if regression else (noise > 0).astype(int)
        check_tree(tree(criterion=criterion, monotonic_cst=[1, -1, 0]), X, y, None)


def test_gains_are_those_of_the_oracle():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3))
    y = (X[:, 1] + 0.3 * rng.normal(size=60) > 0).astype(int)
    found = hb.DecisionTreeClassifier(criterion="entropy").fit(X, y).explain_split(0)
    before = oracle.entropy(y, np.ones(60))
    for cut in found.cuts("x2"):
        left = X[:, 2] <= cut["threshold"]
        expected = oracle.gain("entropy", y[:, None], np.ones(60), left, before)
        assert cut["gain"] == pytest.approx(expected, abs=1e-12)
    assert len(found.cuts("x2")) == 59


# --- what it says -----------------------------------------------------------------------------


@pytest.mark.quick
def test_the_numbers_of_play_tennis_are_in_the_formula():
    tree = hb.DecisionTreeClassifier(criterion="entropy").fit(TENNIS, PLAY)
    found = tree.explain_split()
    text = str(found)
    assert "14 rows, no=5, yes=9" in text
    assert "entropy = -5/14*log2(5/14) - 9/14*log2(9/14) = 0.940" in text
    assert "outlook in {rain, sunny}: gain = 0.940 - 10/14*1.000 - 4/14*0.000 = 0.226" in text
    assert "gain ratio = 0.226 / 0.863 = 0.262" in text
    assert "outlook gains most; next is humidity with 0.152." in text
    assert found.winner.gain == pytest.approx(
        hb.information.information_gain(PLAY, TENNIS.outlook == "overcast")
    )
    assert found.winner.gain_ratio == pytest.approx(
        hb.information.gain_ratio(PLAY, TENNIS.outlook == "overcast")
    )


@pytest.mark.quick
def test_gini_and_squared_error_with_their_numbers():
    found = hb.DecisionTreeClassifier().fit(TENNIS, PLAY).explain_split(0)
    assert found.impurity_formula() == "gini = 1 - (5/14)^2 - (9/14)^2 = 0.459"
    X, y = pd.DataFrame({"a": [1.0, 2.0, 3.0]}), np.array([1.0, 2.0, 6.0])
    found = hb.DecisionTreeRegressor().fit(X, y).explain_split(0)
    assert found.impurity_formula() == "squared_error = sum w*(y - mean)^2 / W = 14.000 / 3 = 4.667"
    assert found.gain_formula(found.winner) == "gain = 4.667 - 2/3*0.250 - 1/3*0.000 = 4.500"
    assert found.reason == "a is the only feature with a split."


@pytest.mark.quick
def test_of_equal_gains_the_first_feature_wins():
    X = pd.DataFrame({"a": [0.0, 1.0], "b": [5.0, 7.0]})
    y = np.array([0, 1])
    found = hb.DecisionTreeClassifier().fit(X, y).explain_split(0)
    assert found.reason == "a ties with b; of equal gains the first feature wins."


@pytest.mark.quick
def test_notebook_and_records():
    X = TENNIS.rename(columns={"outlook": "<b>out & look</b>"})
    found = hb.DecisionTreeClassifier().fit(X, PLAY).explain_split(0)
    page = found._repr_html_()
    assert html.escape("<b>out & look</b>") in page and "<b>out" not in page
    assert found.to_frame().shape[0] == 4
    records = found.records()
    assert [r["chosen"] for r in records] == [True, False, False, False]
    assert records[0]["branches"][1]["classes"] == {"no": 0.0, "yes": 4.0}
    assert found.cuts(0, top=1)[0]["split"] == records[0]["split"]
    with pytest.raises(ValueError, match=r"no feature 'rain'; there are <b>out"):
        found.cuts("rain")


@pytest.mark.quick
@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({}, "it is pure"),
        ({"max_depth": 1}, "at the depth 1, and max_depth"),
        ({"min_samples_split": 10**6}, "fewer than min_samples_split=1000000"),
        ({"min_samples_leaf": 60}, "two children of min_samples_leaf=60"),
        ({"min_weight_fraction_leaf": 0.3}, r"two children of at least 45"),
        ({"min_impurity_decrease": 0.3}, "less than min_impurity_decrease=0.3"),
        ({"max_leaf_nodes": 2}, "max_leaf_nodes=2 was reached"),
        ({"ccp_alpha": 0.3}, "A leaf by pruning: x0 <= 0.35 would gain 0.186"),
        ({"monotonic_cst": [0, 0, 0, 0]}, "it is pure"),
    ],
)
def test_a_leaf_says_why(params, words):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(150, 4)), 1)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    tree = hb.DecisionTreeClassifier(**params).fit(X, y)
    leaves = np.flatnonzero(tree.tree_.is_leaf)
    reasons = [tree.explain_split(leaf).reason for leaf in leaves]
    assert any(re.search(words, reason) for reason in reasons), reasons


@pytest.mark.quick
def test_rows_that_nothing_tells_apart():
    X, y = np.ones((6, 2)), np.array([0, 1, 0, 1, 0, 1])
    found = hb.DecisionTreeClassifier().fit(X, y).explain_split(0)
    assert found.reason == "A leaf: no feature tells its rows apart."
    assert [c.why_not for c in found.candidates] == ["the same in all rows"] * 2


@pytest.mark.quick
def test_drawn_cuts_and_drawn_features():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(80, 6)), rng.integers(0, 2, 80)
    tree = hb.DecisionTreeClassifier(splitter="random", random_state=0, max_depth=3).fit(X, y)
    found = tree.explain_split(0)
    assert found.winner.why_not == "drawn at random"
    assert found.winner.split == f"x{tree.tree_.feature[0]} <= {tree.tree_.threshold[0]:.6g}"
    tree = hb.DecisionTreeClassifier(max_features=1, random_state=0).fit(X, y)
    reasons = [tree.explain_split(node).reason for node in np.flatnonzero(~tree.tree_.is_leaf)]
    assert any("was not drawn" in reason for reason in reasons)


@pytest.mark.quick
def test_sparse_tables_and_extreme_targets():
    import scipy.sparse

    rng = np.random.default_rng(2)
    dense = rng.integers(0, 3, (50, 4)).astype(float)
    y = rng.normal(size=50) * 1e120
    model = hb.DecisionTreeRegressor(max_depth=2)
    check_tree(model, scipy.sparse.csr_matrix(dense), y, None)
    check_tree(model, dense, y, None)
    assert model.explain_split(0, dense, y).winner.sides[0].values[0] == pytest.approx(
        model.tree_.value[1]
    )


# --- which table --------------------------------------------------------------------------------


@pytest.mark.quick
def test_the_tables_of_fit_are_used_while_they_are_there():
    X, y = TENNIS.copy(), PLAY.copy()
    tree = hb.DecisionTreeClassifier().fit(X, y)
    expected = str(tree.explain_split(0, X, y))
    assert str(tree.explain_split(0)) == expected
    again = pickle.loads(pickle.dumps(tree))
    with pytest.raises(ValueError, match=r"A tree keeps no data.* pass them"):
        again.explain_split(0)
    assert str(again.explain_split(0, X, y)) == expected
    pruned = hb.prune_cost_complexity(tree, 0.01)
    assert pruned.explain_split(0).winner.feature == tree.tree_.feature[0]
    del X
    gc.collect()
    with pytest.raises(ValueError, match="A tree keeps no data"):
        tree.explain_split(0)


@pytest.mark.quick
def test_another_table_is_noticed():
    tree = hb.DecisionTreeClassifier().fit(TENNIS, PLAY)
    with pytest.raises(ValueError, match=r"13 of its rows reach node 0, but 14 did in fit"):
        tree.explain_split(0, TENNIS[1:], PLAY[1:])
    with pytest.raises(ValueError, match="not the table that the tree was grown on: node 0 has"):
        tree.explain_split(0, TENNIS, np.where(np.arange(14) < 7, "no", "yes"))
    with pytest.raises(ValueError, match="both X and y"):
        tree.explain_split(0, TENNIS)
    numbers = np.arange(20.0)[:, None]
    y = np.arange(20) % 3
    tree = hb.DecisionTreeClassifier().fit(numbers, y)
    y[:10] = 0
    with pytest.raises(ValueError, match="not the table"):
        tree.explain_split(0)


@pytest.mark.quick
def test_nodes_and_estimators_that_do_not_exist():
    tree = hb.DecisionTreeClassifier().fit(TENNIS, PLAY)
    with pytest.raises(ValueError, match=r"no node 99; the tree has the nodes 0 to"):
        tree.explain_split(99)
    with pytest.raises(TypeError, match="number of a node, not 'root'"):
        tree.explain_split("root")
    with pytest.raises(TypeError, match="needs a decision tree"):
        hb.explain_split(object(), 0)


@pytest.mark.quick
def test_rows_held_out_to_prune_by_are_left_out():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(100, 3)), rng.integers(0, 2, 100)
    y[X[:, 0] > 0] = 1
    tree = hb.DecisionTreeClassifier(pruning="reduced_error", random_state=3).fit(X, y)
    assert tree.explain_split(0).node.n_rows == 80
    again = pickle.loads(pickle.dumps(tree))
    assert again.explain_split(0, X, y).node.n_rows == 80
    forgetful = hb.DecisionTreeClassifier(pruning="reduced_error").fit(X, y)
    assert forgetful.explain_split(0, X, y).node.n_rows == 80
    with pytest.raises(ValueError, match="Fit again with a whole number"):
        pickle.loads(pickle.dumps(forgetful)).explain_split(0, X, y)


def test_nothing_is_cut_or_rounded_when_asked_for():
    rng = np.random.default_rng(0)
    names = [f"n{i:02}" for i in range(30)]
    X = pd.DataFrame({"name": rng.choice(names, 400), "x, y": rng.random(400)})
    y = X["name"].isin(names[:15]).to_numpy() + 0.0
    model = hb.DecisionTreeRegressor(max_depth=1).fit(X, y)
    text = str(model.explain_split())
    assert "… (" in text and text.endswith("max_categories=None shows them whole.")
    found = model.explain_split(decimals=None, max_categories=None)
    assert "…" not in str(found) and f"name in {{{', '.join(names[15:])}}}" in str(found)
    number = next(record for record in found.records() if record["feature"] == "x, y")
    best = found.cuts("x, y")[0]
    assert number["split"] == f'"x, y" <= {best["threshold"]!r}'
    assert f"{found.node.impurity!r}" in str(found)

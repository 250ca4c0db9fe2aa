"""Worked examples of the sources, and categories and missing values without encoding."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import hornbeam as hb

AREA, RENT = [[75.0], [90.0], [105.0]], [1000.0, 2000.0, 4000.0]


@pytest.mark.mission("T5")
@pytest.mark.quick
def test_rent_tree_of_source_003():
    """Cutting at 97.5 leaves (500^2 * 2) / 3, at 82.5 (1000^2 * 2) / 3: the first wins."""
    tree = hb.DecisionTreeRegressor().fit(AREA, RENT).tree_
    assert tree.threshold[0] == 97.5
    assert tree.impurity[0] == pytest.approx(np.var(RENT))
    assert tree.value[:, 0].tolist() == pytest.approx([7000 / 3, 1500, 4000, 1000, 2000])
    assert tree.threshold[1] == 82.5


@pytest.mark.mission("T5")
@pytest.mark.quick
def test_rent_stump_of_source_003():
    stump = hb.DecisionTreeRegressor(max_depth=1).fit(AREA, RENT)
    assert stump.predict(AREA).tolist() == [1500.0, 1500.0, 4000.0]


@pytest.mark.mission("T5")
@pytest.mark.quick
def test_rent_with_medians():
    tree = hb.DecisionTreeRegressor(criterion="absolute_error").fit(AREA, RENT).tree_
    assert tree.value[0, 0] == 2000.0
    assert tree.impurity[0] == pytest.approx(1000.0)
    assert tree.threshold[0] == 97.5


@pytest.mark.mission("T4")
@pytest.mark.quick
def test_best_subset_of_strings_is_found_in_one_split():
    X = pd.DataFrame({"colour": ["red", "green", "blue", "black"] * 3})
    y = ["warm", "cold", "cold", "warm"] * 3
    tree = hb.DecisionTreeClassifier().fit(X, y)
    assert tree.get_depth() == 1
    assert tree.predict(X).tolist() == y


@pytest.mark.mission("T4")
@pytest.mark.quick
def test_one_against_rest_needs_a_split_per_category():
    X = pd.DataFrame({"colour": ["red", "green", "blue", "black"] * 3})
    y = ["warm", "cold", "cold", "warm"] * 3
    tree = hb.DecisionTreeClassifier(category_split="one_vs_rest").fit(X, y)
    assert tree.predict(X).tolist() == y
    for node in np.flatnonzero(~tree.tree_.is_leaf):
        left = len(tree.tree_.category_set(node))
        assert left in (1, 3) or node > 0
    assert tree.get_depth() > 1


@pytest.mark.mission("T4")
@pytest.mark.quick
def test_missing_is_information():
    """Who did not answer is the question; all answers are alike."""
    X = pd.DataFrame({"answer": ["yes", "no", None] * 4, "number": [1.0, 2.0, np.nan] * 4})
    y = [0, 0, 1] * 4
    for column in X:
        tree = hb.DecisionTreeClassifier().fit(X[[column]], y)
        assert tree.get_depth() == 1
        assert tree.predict(X[[column]]).tolist() == y


@pytest.mark.mission("T4")
@pytest.mark.quick
def test_categories_the_node_has_not_seen_follow_its_missing_values():
    """Below number <= 0 there is no c: its bit in that node's set says where NaN goes."""
    X = pd.DataFrame({"number": [-1.0] * 6 + [1.0] * 6, "letter": list("aaaabb") + list("cccccc")})
    y = [0, 0, 0, 0, 1, 1, 5, 5, 5, 5, 5, 5]
    tree = hb.DecisionTreeClassifier().fit(X, y)
    strange = pd.DataFrame({"number": [-1.0, -1.0], "letter": ["c", None]})
    assert tree.predict(strange).tolist() == [tree.predict(strange)[1]] * 2


@pytest.mark.mission("T4")
@pytest.mark.quick
def test_bools_and_categoricals_need_no_encoding():
    X = pd.DataFrame(
        {
            "member": [True, False] * 6,
            "size": pd.Categorical(["S", "M", "L"] * 4, categories=["S", "M", "L", "XL"]),
        }
    )
    y = (X["member"] & (X["size"] != "M")).to_numpy().astype(int)
    tree = hb.DecisionTreeClassifier().fit(X, y)
    assert tree.predict(X).tolist() == y.tolist()
    assert set(tree.tree_.kind[~tree.tree_.is_leaf]) == {2}


@pytest.mark.mission("T4")
@pytest.mark.quick
@pytest.mark.parametrize("finder", ["exact", "histogram"])
@pytest.mark.parametrize("n", [3, 40])
def test_a_category_column_without_any_category_is_no_crash(n, finder):
    """Nothing but missing strings: a category, and not one of it is known."""
    X = pd.DataFrame({"number": np.arange(n) % 3.0, "empty": pd.Series([None] * n, dtype="string")})
    tree = hb.DecisionTreeClassifier(finder=finder).fit(X, np.arange(n) % 3)
    assert tree.schema_.is_category.tolist() == [False, True]
    assert tree.predict(X).tolist() == (np.arange(n) % 3).tolist()
    alone = hb.DecisionTreeClassifier(finder=finder).fit(X[["empty"]], np.arange(n) % 3)
    assert alone.get_n_leaves() == 1

"""Categories in forests: not learnt by heart where they differ no more than chance makes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import xlogy
from sklearn.base import clone

import hornbeam as hb
from hornbeam.kernels.split_categories import CLEAR_RATIO
from hornbeam.tree import grower

N_TOWNS = 6
FORESTS = [
    hb.RandomForestClassifier,
    hb.RandomForestRegressor,
    hb.ExtraTreesClassifier,
    hb.ExtraTreesRegressor,
]


def towns(
    rows_each: int, missing: int = 0, noise: float = 0.1, seed: int = 0
) -> tuple[pd.DataFrame, np.ndarray]:
    """Six towns, each with a mean of its own, in another order than their names."""
    words = list("abcdef") * rows_each + [None] * missing
    means = {"a": 3.0, "b": 0.0, "c": 5.0, "d": 1.0, "e": 4.0, "f": 2.0, None: 2.5}
    errors = np.random.default_rng(seed).normal(0, noise, len(words))
    y = np.array([means[word] for word in words]) + errors
    return pd.DataFrame({"town": pd.Categorical(words, categories=list("abcdef"))}), y


BY_MEAN = [1, 3, 5, 0, 4, 2]


def stumps(forest: Any, X: Any, y: Any, **params: Any) -> Any:
    given = {"max_depth": 1, "bootstrap": False, "n_estimators": 60, "random_state": 0, **params}
    return forest(**given).fit(X, y)


def left_sets(forest: Any) -> list[tuple[int, ...]]:
    trees = (tree.tree_ for tree in forest.estimators_)
    return [tuple(map(int, tree.category_set(0))) for tree in trees if tree.feature[0] >= 0]


@pytest.mark.parametrize("forest", [hb.RandomForestClassifier, hb.ExtraTreesClassifier])
def test_rare_categories_are_not_told_from_frequent_ones(forest: Any) -> None:
    """600 names do not fit into 255 codes; 300 of them have one row each, the others two."""
    numbers = np.r_[np.arange(600), np.arange(300)]
    names = pd.DataFrame({"name": [f"n{i:03d}" for i in numbers]})
    y = np.random.default_rng(0).integers(0, 2, len(names))
    for rule, is_dealt in (("cautious", True), ("subset", False)):
        for left in left_sets(stumps(forest, names, y, n_estimators=10, category_split=rule)):
            rare = np.array(left) >= 300
            assert (0 < rare.sum() < 300) == is_dealt


# --- the best split --------------------------------------------------------------------------


def test_names_are_not_learnt_by_heart() -> None:
    """The best two sets of names are nearly pure: a forest takes a random order, or no split."""
    names = pd.DataFrame({"name": [f"n{i // 2}" for i in range(200)]})
    y = np.random.default_rng(0).integers(0, 2, 200)
    best = stumps(hb.RandomForestClassifier, names, y, category_split="subset")
    cautious = stumps(hb.RandomForestClassifier, names, y)
    assert all(tree.tree_.node_count == 1 for tree in best.estimators_)
    assert all(tree.tree_.impurity[1:].max() > 0.4 for tree in cautious.estimators_)
    assert len(set(left_sets(cautious))) == 60, "each node draws an order of its own"


def test_names_count_less_beside_a_good_column() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=300), "name": [f"n{i // 2}" for i in range(300)]})
    y = (X["x"] + rng.normal(0, 0.7, 300) > 0).to_numpy().astype(int)
    share = {
        rule: hb.RandomForestClassifier(category_split=rule, random_state=0)
        .fit(X, y)
        .feature_importances_[1]
        for rule in ("cautious", "subset")
    }
    assert share["subset"] < share["cautious"] < 0.3


@pytest.mark.parametrize("forest", FORESTS[:2])
def test_where_towns_differ_the_best_subset_is_found(forest: Any) -> None:
    X, y = towns(6)
    if forest is hb.RandomForestClassifier:
        y = (y > 1.5).astype(int)
    for missing in (None, 7):  # rows that lack a town count for the node
        X.loc[:0, "town"] = None if missing else X["town"][0]
        assert (
            stumps(forest, X, y).digest() == stumps(forest, X, y, category_split="subset").digest()
        )


def test_where_towns_do_not_differ_orders_are_drawn() -> None:
    X, y = towns(20, noise=100.0)
    assert len(set(left_sets(stumps(hb.RandomForestRegressor, X, y)))) > 10
    assert set(left_sets(stumps(hb.RandomForestRegressor, X, y, category_split="subset"))) == {
        best_prefix(X, y)
    }


def best_prefix(X: pd.DataFrame, y: np.ndarray) -> tuple[int, ...]:
    """The towns of lowest mean that leave the least squares on both sides."""
    code = X["town"].cat.codes.to_numpy()
    by_mean = np.argsort([y[code == town].mean() for town in range(N_TOWNS)])
    prefixes = [by_mean[:n] for n in range(1, N_TOWNS)]
    left = [np.isin(code, prefix) for prefix in prefixes]
    least = np.argmin([squares(y[side]) + squares(y[~side]) for side in left])
    return tuple(sorted(map(int, prefixes[least])))


def squares(y: np.ndarray) -> float:
    """Sum of squares around the mean."""
    return float(((y - y.mean(axis=0)) ** 2).sum())


def deviance(y: np.ndarray) -> float:
    """Half the Poisson deviance."""
    return float(xlogy(y, y / y.mean()).sum())


def f_ratio(X: pd.DataFrame, y: np.ndarray, vary: Callable[[np.ndarray], float]) -> float:
    """Variance between the towns over that within them."""
    groups = [y[np.asarray(X["town"] == town)] for town in "abcdef"]
    within = sum(map(vary, groups))
    between = vary(np.concatenate(groups)) - within
    return (between / (N_TOWNS - 1)) / (within / (len(y) - N_TOWNS))


def test_more_pairs_of_towns_than_rows_are_not_ordered() -> None:
    X, y = towns(5)
    assert len(set(left_sets(stumps(hb.RandomForestRegressor, X, y)))) > 10, "30 rows for 36"
    best = left_sets(stumps(hb.RandomForestRegressor, X, y, category_split="subset"))
    assert set(best) == {tuple(sorted(BY_MEAN[:3]))}


KINDS: dict[str, tuple[Any, dict[str, Any], Any]] = {
    "values": (hb.RandomForestRegressor, {}, squares),
    "exact": (hb.RandomForestRegressor, {"finder": "exact"}, squares),
    "medians": (hb.RandomForestRegressor, {"criterion": "absolute_error"}, squares),
    "counts": (hb.RandomForestRegressor, {"criterion": "poisson"}, deviance),
    "outputs": (hb.RandomForestRegressor, {}, squares),
    "classes": (hb.RandomForestClassifier, {}, squares),
    "classes, exact": (hb.RandomForestClassifier, {"finder": "exact"}, squares),
    "entropy": (hb.RandomForestClassifier, {"criterion": "entropy"}, squares),
}


@pytest.mark.parametrize("kind", KINDS)
def test_towns_differ_if_the_f_ratio_says_so(kind: str) -> None:
    forest, params, vary = KINDS[kind]
    answers = set()
    for seed in range(12):
        X, y = towns(8, noise=1.0 + seed / 2, seed=seed)
        measured = y
        if kind == "counts":
            y = measured = np.floor(np.exp(y / 3))
        elif kind == "outputs":
            y = measured = np.column_stack([y, -2.0 * y[::-1]])
        elif forest is hb.RandomForestClassifier:
            y = np.digitize(y, [1.0, 3.0])
            measured = np.eye(3)[y]
        differ = f_ratio(X, measured, vary) > CLEAR_RATIO  # with 48 rows for 36 pairs
        answers.add(differ)
        drawn = len(set(left_sets(stumps(forest, X, y, n_estimators=20, **params)))) > 1
        assert drawn != differ, f"seed {seed}: F is {f_ratio(X, measured, vary):.3f}"
    assert answers == {False, True}, "both happen"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("random_cuts", [False, True])
def test_no_order_is_asked_for_if_it_is_to_be_random(kind: str, random_cuts: bool) -> None:
    """However much the towns differ, in large nodes and in those that grow as blocks."""
    forest, params, _ = KINDS[kind]
    if random_cuts:
        forest = FORESTS[FORESTS.index(forest) + 2]
    for rows_each in (8, 20):
        X, y = towns(rows_each)
        if kind == "counts":
            y = np.floor(np.exp(y / 2))
        elif kind == "outputs":
            y = np.column_stack([y, -2.0 * y])
        elif forest in (FORESTS[0], FORESTS[2]):
            y = np.digitize(y, [1.5, 3.5])
        found = left_sets(stumps(forest, X, y, category_split="random", **params))
        by_target = left_sets(stumps(forest, X, y, category_split="cautious", **params))
        # of a random order the best cut, at a random place, or a random subset
        assert len(set(found)) > 20 > len(set(by_target))


# --- a random split --------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [0, 10])
def test_extra_trees_cut_the_order_of_the_means(missing: int) -> None:
    X, y = towns(20, missing)
    found = set(left_sets(stumps(hb.ExtraTreesRegressor, X, y, n_estimators=300)))
    low = {tuple(sorted(BY_MEAN[:n])) for n in range(1, N_TOWNS)}
    high = {tuple(sorted(BY_MEAN[n:])) for n in range(1, N_TOWNS)}
    every = {tuple(range(N_TOWNS))} if missing else set()  # the question is if there is a town
    assert found == low | high | every, "every cut, and missing values with either side"


def test_extra_trees_cut_the_order_of_any_class() -> None:
    X, _ = towns(20)
    y = np.tile([0, 0, 0, 1, 2, 2], 20)  # a class for some towns: the towns of one are together
    found = set(left_sets(stumps(hb.ExtraTreesClassifier, X, y, n_estimators=300)))
    groups = {(0, 1, 2), (3,), (4, 5)}
    others = {tuple(sorted(set(range(N_TOWNS)) - set(group))) for group in groups}
    assert found == groups | others


def test_extra_trees_draw_subsets_of_categories_that_do_not_differ() -> None:
    X, y = towns(2, noise=100.0)
    found = left_sets(stumps(hb.ExtraTreesRegressor, X, y, n_estimators=600))
    assert all(0 < len(chosen) < N_TOWNS for chosen in found)
    assert len(set(found)) == 2**N_TOWNS - 2


# --- and otherwise ---------------------------------------------------------------------------


@pytest.mark.parametrize("forest", FORESTS)
@pytest.mark.parametrize("finder", ["histogram", "exact"])
def test_nodes_know_where_their_rows_went(forest: Any, finder: str) -> None:
    X, y = towns(4, 5)
    X["code"] = [f"c{i % 17}" for i in range(len(X))]
    y = (y > 2).astype(int) if forest in (FORESTS[0], FORESTS[2]) else y
    grown = forest(n_estimators=8, bootstrap=False, finder=finder, random_state=0).fit(X, y)
    leaves = grown.apply(X)
    for number, tree in enumerate(grown.estimators_):
        here = np.bincount(leaves[:, number], minlength=len(tree.tree_.n_samples))
        leaf = tree.tree_.feature < 0
        assert np.array_equal(here[leaf], tree.tree_.n_samples[leaf])


def test_medians_take_random_sides_too() -> None:
    X, y = towns(20, 10)
    forest = stumps(hb.ExtraTreesRegressor, X, y, criterion="absolute_error")
    assert all(0 < len(chosen) <= N_TOWNS for chosen in left_sets(forest))


@pytest.mark.parametrize("forest", FORESTS)
def test_a_tree_of_a_forest_can_be_fitted_again(forest: Any) -> None:
    X, y = towns(4)
    y = (y > 2).astype(int) if forest in (FORESTS[0], FORESTS[2]) else y
    tree = stumps(forest, X, y).estimators_[0]
    assert tree.category_split == "subset"
    assert clone(tree).fit(X, y).tree_.feature.size == 3


def test_another_rule_is_refused() -> None:
    X, y = towns(4)
    with pytest.raises(ValueError, match="category_split"):
        hb.RandomForestRegressor(category_split="bold").fit(X, y)


@pytest.mark.parametrize(
    ("kind", "n_classes", "weight", "needed"),
    [
        ("RandomForestClassifier", 2, 1.0, False),
        ("ExtraTreesClassifier", 2, 3.0, False),
        ("RandomForestRegressor", 0, 0.7, False),
        ("RandomForestClassifier", 3, 1.0, True),
        ("RandomForestClassifier", 2, 0.7, True),
        ("ExtraTreesClassifier", 2, 0.7, True),
    ],
)
def test_the_general_search_is_only_compiled_where_it_is_needed(
    kind: str, n_classes: int, weight: float, needed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes many seconds; the searches of the criteria do without it where they can."""
    searches: list[Any] = []
    make_slots = grower.make_slots

    def note(*groups: Any) -> Any:
        searches.extend(group.steps.search_category for group in groups[:1] if len(groups) > 1)
        return make_slots(*groups)

    monkeypatch.setattr(grower, "make_slots", note)
    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": random.normal(size=200), "k": random.choice(list("abcd"), 200)})
    y = random.normal(size=200) if n_classes == 0 else np.arange(200) % n_classes
    forest = getattr(hb, kind)(n_estimators=2, random_state=0, n_jobs=1)
    assert forest.fit(X, y, np.full(200, weight)).predict(X).shape == (200,)
    assert [search is not None for search in set(searches)] == [needed]

"""Growing: orders, threads, random draws, limits and room for many nodes."""

from __future__ import annotations

import threading

import numpy as np
import pandas as pd
import pytest
from tree.oracle import rows_of_nodes

import hornbeam as hb
from hornbeam.runtime.team import thread_count
from hornbeam.tree.importance import relative_gain

TREES = {"classifier": hb.DecisionTreeClassifier, "regressor": hb.DecisionTreeRegressor}


def table(n=800, n_features=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    return X, X[:, 2] + np.sign(X[:, 0] * X[:, 1]) + rng.normal(size=n)


def data(task, **shape):
    X, y = table(**shape)
    return X, (y > 0).astype(int) if task == "classifier" else y


def mixed_table(n=600, seed=0):
    """Numbers, categories and missing values."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.integers(0, 9, n).astype(float)})
    frame["c"] = rng.choice(list("pqrstuvw"), n)
    frame.loc[rng.random(n) < 0.2, "b"] = np.nan
    frame.loc[rng.random(n) < 0.2, "c"] = None
    return frame, (frame["a"] + frame["b"].fillna(3) > 4).astype(int) ^ (rng.random(n) < 0.1)


def digests(make, X, y, values):
    return {make(value).fit(X, y).digest() for value in values}


# --- order of growth ----------------------------------------------------------------------

DRAWS = [
    {},
    {"max_features": 3},
    {"splitter": "random"},
    {"splitter": "random", "max_features": 2},
    {"finder": "histogram", "max_bins": 16, "max_features": 3},
    {"min_samples_leaf": 5, "max_depth": 6},
]


@pytest.mark.mission("T7")
@pytest.mark.quick
@pytest.mark.parametrize("params", DRAWS, ids=str)
@pytest.mark.parametrize("task", TREES)
def test_every_order_gives_the_same_tree_where_leaves_are_not_limited(task, params):
    X, y = data(task)

    def make(growth):
        return TREES[task](growth=growth, random_state=7, **params)

    assert len(digests(make, X, y, ["depth", "level", "leaf", None])) == 1


@pytest.mark.mission("T7")
def test_every_order_gives_the_same_tree_of_categories_and_missing_values():
    X, y = mixed_table()
    for params in DRAWS[:1] + DRAWS[2:3]:
        trees = digests(
            lambda growth, params=params: hb.DecisionTreeClassifier(
                growth=growth, random_state=7, **params
            ),
            X,
            y,
            ["depth", "level", "leaf"],
        )
        assert len(trees) == 1


def question_at(tree, path):
    """Number of the node at the end of a path of branches from the root."""
    node = 0
    for branch in path:
        node = int(tree.first_child[node]) + branch
    return node


def inner_paths(tree):
    """Paths of branches from the root to every inner node."""
    paths = {0: ()}
    for node in range(1, tree.node_count):
        parent = int(tree.parent[node])
        paths[node] = (*paths[parent], node - int(tree.first_child[parent]))
    return {path for node, path in paths.items() if not tree.is_leaf[node]}


@pytest.mark.mission("T7")
@pytest.mark.quick
@pytest.mark.parametrize("task", TREES)
def test_best_first_takes_the_largest_relative_gain_at_each_step(task):
    """With one leaf more, exactly the best of all open nodes of the full tree is split."""
    X, y = data(task, n=400)
    full = TREES[task]().fit(X, y).tree_
    gains = relative_gain(full)
    before = set()
    for leaves in range(2, 30):
        open_nodes = {(*path, branch) for path in before for branch in (0, 1)} or {()}
        worth = {path: gains[question_at(full, path)] for path in open_nodes - before}
        grown = TREES[task](max_leaf_nodes=leaves).fit(X, y).tree_
        assert grown.n_leaves == leaves
        after = inner_paths(grown)
        (chosen,) = after - before
        assert before < after
        assert worth[chosen] == pytest.approx(max(worth.values()), rel=1e-12)
        before = after


@pytest.mark.mission("T7")
@pytest.mark.parametrize("growth", ["depth", "level"])
def test_limited_leaves_need_best_first(growth):
    X, y = table()
    with pytest.raises(ValueError, match=r"max_leaf_nodes=5 needs growth='leaf'"):
        hb.DecisionTreeRegressor(max_leaf_nodes=5, growth=growth).fit(X, y)


@pytest.mark.mission("T7")
def test_more_leaves_than_rows_is_no_limit():
    X, y = table(n=100)
    free = hb.DecisionTreeRegressor().fit(X, y)
    assert hb.DecisionTreeRegressor(max_leaf_nodes=10**9).fit(X, y).digest() == free.digest()


# --- pre-pruning -----------------------------------------------------------------------------


@pytest.mark.mission("T8")
@pytest.mark.quick
@pytest.mark.parametrize("task", TREES)
@pytest.mark.parametrize("depth", [1, 2, 5])
def test_max_depth(task, depth):
    X, y = data(task)
    tree = TREES[task](max_depth=depth).fit(X, y)
    assert tree.get_depth() == depth
    assert tree.get_n_leaves() <= 2**depth


@pytest.mark.mission("T8")
@pytest.mark.quick
@pytest.mark.parametrize("given, rows", [(37, 37), (0.05, 40), (0.0501, 41), (1.0, 800)])
def test_min_samples_split(given, rows):
    """A share of the rows is rounded up."""
    X, y = table(n=800)
    tree = hb.DecisionTreeRegressor(min_samples_split=given).fit(X, y).tree_
    assert tree.n_samples[~tree.is_leaf].min() >= rows
    one_more = hb.DecisionTreeRegressor(min_samples_split=rows).fit(X, y).tree_
    assert tree.digest() == one_more.digest()


@pytest.mark.mission("T8")
@pytest.mark.quick
@pytest.mark.parametrize("given, rows", [(17, 17), (0.05, 40), (0.0501, 41)])
def test_min_samples_leaf(given, rows):
    X, y = table(n=800)
    tree = hb.DecisionTreeRegressor(min_samples_leaf=given).fit(X, y).tree_
    assert tree.n_samples.min() >= rows
    assert tree.digest() == hb.DecisionTreeRegressor(min_samples_leaf=rows).fit(X, y).tree_.digest()


@pytest.mark.mission("T8")
@pytest.mark.quick
def test_min_weight_fraction_leaf():
    X, y = table()
    weight = np.random.default_rng(0).uniform(0.0, 2.0, len(y))
    tree = hb.DecisionTreeRegressor(min_weight_fraction_leaf=0.03)
    stored = tree.fit(X, y, sample_weight=weight).tree_
    assert stored.weight.min() >= 0.03 * weight.sum()
    assert stored.n_leaves > 10


@pytest.mark.mission("T8")
@pytest.mark.quick
@pytest.mark.parametrize("task", TREES)
def test_min_impurity_decrease_is_relative_to_the_whole_tree(task):
    X, y = data(task)
    full = TREES[task]().fit(X, y).tree_
    limited = TREES[task](min_impurity_decrease=0.01).fit(X, y).tree_
    assert relative_gain(limited)[~limited.is_leaf].min() >= 0.01
    closed = [p for p in inner_paths(full) - inner_paths(limited) if p[:-1] in inner_paths(limited)]
    assert closed
    assert max(relative_gain(full)[question_at(full, path)] for path in closed) < 0.01


@pytest.mark.mission("T8")
@pytest.mark.quick
def test_splits_that_gain_nothing_are_made():
    """The first cut of an exclusive or gains nothing, the next ones everything."""
    X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    assert hb.DecisionTreeClassifier().fit(X, y).predict(X).tolist() == y
    assert hb.DecisionTreeRegressor().fit(X, y).predict(X).tolist() == y


# --- random cuts and random features ----------------------------------------------------------


@pytest.mark.mission("T6")
@pytest.mark.quick
@pytest.mark.parametrize("finder", ["exact", "histogram"])
@pytest.mark.parametrize("seed", range(3))
def test_random_thresholds_lie_inside_the_range_of_their_node(seed, finder):
    X, y = table(n=300)
    X[:, 3] = np.round(X[:, 3])
    params = {"splitter": "random", "random_state": seed, "finder": finder}
    tree = hb.DecisionTreeRegressor(**params).fit(X, y).tree_
    rows = rows_of_nodes(tree, X)
    for node in np.flatnonzero(~tree.is_leaf):
        values = X[rows[node], tree.feature[node]]
        assert values.min() <= tree.threshold[node] < values.max()
        assert tree.n_samples[node] == len(rows[node])


@pytest.mark.mission("T6")
def test_random_thresholds_are_uniform():
    X = np.linspace(0.0, 1.0, 50)[:, None]
    y = X[:, 0]
    cuts = [
        hb.DecisionTreeRegressor(splitter="random", max_depth=1, random_state=seed)
        .fit(X, y)
        .tree_.threshold[0]
        for seed in range(400)
    ]
    counts = np.histogram(cuts, bins=5, range=(0, 1))[0]
    assert ((counts - 80) ** 2 / 80).sum() < 18.5  # chi-square, 4 degrees of freedom, p = 0.001


@pytest.mark.mission("T6")
def test_random_cuts_depend_on_the_seed_only():
    X, y = table(n=200)

    def make(seed):
        return hb.DecisionTreeRegressor(splitter="random", random_state=seed)

    assert len(digests(make, X, y, [1, 1, 1])) == 1
    assert len(digests(make, X, y, range(5))) == 5


@pytest.mark.mission("T6")
def test_random_subsets_of_categories_leave_nobody_out():
    """Every category is on the left and on the right now and then, and no side is empty."""
    frame = pd.DataFrame({"c": list("abcdef") * 5})
    y = np.arange(30.0)
    left = np.zeros(6)
    for seed in range(200):
        tree = hb.DecisionTreeRegressor(splitter="random", max_depth=1, random_state=seed)
        tree.fit(frame, y)
        chosen = tree.tree_.category_set(0)
        assert 0 < len(chosen) < 6
        left[chosen] += 1
    assert (left > 50).all() and (left < 150).all()


def root_features(n_seeds, X, y, **params):
    trees = (
        hb.DecisionTreeRegressor(max_depth=1, random_state=seed, **params).fit(X, y)
        for seed in range(n_seeds)
    )
    return np.array([tree.tree_.feature[0] for tree in trees])


@pytest.mark.mission("T6")
def test_one_feature_is_drawn_with_equal_chances():
    X, y = table(n=60, n_features=5)
    counts = np.bincount(root_features(500, X, y, max_features=1), minlength=5)
    assert ((counts - 100) ** 2 / 100).sum() < 18.5  # chi-square, 4 degrees of freedom


@pytest.mark.mission("T6")
def test_two_of_four_features_are_drawn_with_equal_chances():
    """The features gain in the order 0, 1, 2, 3. The best of a pair of them is 0 in 3 of 6
    pairs, 1 in 2 and 2 in 1; 3 never is."""
    rng = np.random.default_rng(0)
    y = np.repeat([0.0, 1.0], 100)
    X = np.column_stack([y + noise * rng.normal(size=200) for noise in (0.0, 0.5, 1.0, 4.0)])
    counts = np.bincount(root_features(600, X, y, max_features=2), minlength=4)
    expected = np.array([300, 200, 100])
    assert counts[3] == 0
    assert ((counts[:3] - expected) ** 2 / expected).sum() < 13.8  # 2 degrees of freedom


@pytest.mark.mission("T6")
@pytest.mark.parametrize("constant", [0.0, np.nan])
def test_constant_features_do_not_count_as_drawn(constant):
    """One feature of twenty varies: it is found whatever is drawn first."""
    X = np.full((40, 20), constant)
    X[:, 13] = np.arange(40)
    y = np.arange(40.0)
    assert set(root_features(30, X, y, max_features=1)) == {13}


@pytest.mark.mission("T6")
@pytest.mark.parametrize(
    "given, resolved",
    [(None, 9), ("sqrt", 3), ("log2", 3), (0.5, 4), (0.01, 1), (4, 4), (100, 9), (1.0, 9)],
)
def test_max_features_is_resolved_like_scikit_learn_does(given, resolved):
    X, y = table(n=30, n_features=9)
    assert hb.DecisionTreeRegressor(max_features=given).fit(X, y).max_features_ == resolved


@pytest.mark.mission("T6")
def test_features_of_a_child_do_not_follow_from_the_cut_of_its_parent():
    """Random numbers of different purposes must not be the same numbers."""
    rng = np.random.default_rng(0)
    X, y = rng.random((400, 6)), rng.normal(size=400)
    cuts, features = [], []
    for seed in range(3000):
        tree = hb.DecisionTreeRegressor(
            splitter="random", max_features=2, max_depth=2, random_state=seed
        )
        stored = tree.fit(X, y).tree_
        if stored.feature[0] == 0 and not stored.is_leaf[1]:
            cuts.append(stored.threshold[0])
            features.append(stored.feature[1])
    early = np.array(cuts) < np.median(cuts)
    counts = [np.bincount(np.array(features)[side], minlength=6) for side in (early, ~early)]
    expected = (counts[0] + counts[1]) / 2
    distance = sum(((count - expected) ** 2 / expected).sum() for count in counts)
    assert len(cuts) > 200
    assert distance < 25  # chi-square, 5 degrees of freedom, p = 0.00014


# --- threads ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large():
    """Large enough that threads work together on the first nodes and apart on the rest."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 20)).astype(np.float32)
    X[:, 5] = np.round(X[:, 5] * 3)
    X[rng.random(60_000) < 0.1, 7] = np.nan
    return X, X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=60_000)


@pytest.mark.mission("T7")
@pytest.mark.parametrize(
    "params",
    [
        {"max_depth": 7},
        {"max_depth": 7, "growth": "level"},
        {"max_leaf_nodes": 60},
        {"max_depth": 7, "max_features": 5, "splitter": "random"},
        {"max_depth": 7, "finder": "histogram"},
        {"max_depth": 6, "finder": "histogram", "max_features": 0.4, "growth": "level"},
    ],
    ids=str,
)
def test_any_number_of_threads_grows_the_same_tree(large, params):
    X, y = large
    assert thread_count(2, 1.0) == 2 and thread_count(4, 1.0) == 4
    assert thread_count(None, 1e-6) == 1  # small work is not worth a second thread

    def make(n_jobs):
        return hb.DecisionTreeRegressor(n_jobs=n_jobs, random_state=3, **params)

    assert len(digests(make, X, y, [1, 2, 4, None])) == 1


@pytest.mark.mission("T7")
def test_any_number_of_threads_grows_the_same_classifier_to_the_end(large):
    X, y = large[0][:20_000], large[1][:20_000] > 0

    def make(n_jobs):
        return hb.DecisionTreeClassifier(n_jobs=n_jobs, min_samples_leaf=2)

    assert len(digests(make, X, y, [1, 2, 4])) == 1


@pytest.mark.mission("T7")
def test_any_number_of_threads_grows_the_same_tree_of_categories():
    X, y = mixed_table(n=20_000)

    def make(n_jobs):
        return hb.DecisionTreeClassifier(n_jobs=n_jobs, max_depth=9)

    assert len(digests(make, X, y, [1, 2, 4])) == 1


@pytest.mark.mission("T7")
@pytest.mark.parametrize("params", [{"max_leaf_nodes": 20}, {"max_depth": 3}], ids=str)
def test_threads_do_not_lose_each_other_at_nodes_that_stay_leaves(params):
    """Nodes that may not be split are over at once; who is late must still see each of them."""
    X, y = table(n=300, n_features=4)
    seen = set()

    def fit_often():
        for repeat in range(60):
            tree = hb.DecisionTreeRegressor(n_jobs=1 + repeat % 4, min_samples_leaf=3, **params)
            seen.add(tree.fit(X, y).digest())

    thread = threading.Thread(target=fit_often, daemon=True)
    thread.start()
    thread.join(timeout=120)
    assert not thread.is_alive(), "threads wait for each other forever"
    assert len(seen) == 1


# --- room -----------------------------------------------------------------------------------


@pytest.mark.mission("T7")
@pytest.mark.parametrize("growth", ["depth", "level", "leaf"])
def test_many_thousand_nodes_find_room(growth):
    """One leaf per row: the arrays are enlarged several times on the way."""
    n = 20_000
    rng = np.random.default_rng(0)
    X, y = rng.permutation(n)[:, None].astype(float), rng.permutation(n).astype(float)
    tree = hb.DecisionTreeRegressor(growth=growth).fit(X, y)
    assert tree.tree_.node_count == 2 * n - 1
    np.testing.assert_array_equal(tree.predict(X), y)


@pytest.mark.mission("T7")
def test_many_category_sets_find_room():
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(1400), 3)
    frame, y = pd.DataFrame({"c": [f"c{i}" for i in codes]}), rng.normal(size=1400)[codes]
    for n_jobs in (1, 2):
        tree = hb.DecisionTreeRegressor(n_jobs=n_jobs).fit(frame, y)
        assert tree.predict(frame) == pytest.approx(y)
        assert len(tree.tree_.set_words) == 1399 * 22


@pytest.mark.mission("T7")
def test_a_chain_as_deep_as_it_gets_is_grown_and_walked():
    """y grows four times from row to row, so every cut takes off one row."""
    n = 140
    X, y = np.arange(n, dtype=float)[:, None], 4.0 ** np.arange(n)
    tree = hb.DecisionTreeRegressor().fit(X, y)
    assert (tree.get_n_leaves(), tree.get_depth()) == (n, n - 1)
    np.testing.assert_array_equal(tree.predict(X), y)

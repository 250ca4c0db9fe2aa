"""The stored tree: what can be read off it, and that the digest sees everything."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
from model.handmade import validate_tree
from sklearn.base import clone

import hornbeam as hb
from hornbeam.dtypes import LISTED, NO_CATEGORY, SUBSET
from hornbeam.errors import ModelFileError
from hornbeam.tree.storage import TREE_FIELDS, Tree, Trees
from hornbeam.tree.validate import Known, validate_trees


@pytest.fixture(scope="module")
def tree() -> Tree:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=80), "c": rng.choice(list("pqrst"), 80)})
    y = frame["a"].to_numpy() + 3.0 * frame["c"].isin(["p", "s"]).to_numpy()
    stored: Tree = hb.DecisionTreeRegressor(max_depth=4).fit(frame, y).tree_
    assert set(stored.kind) == {0, 1, 2}
    return stored


def changed(array):
    """A copy with one entry that differs."""
    copy = array.copy()
    copy.flat[-1] = 1 if copy.flat[-1] != 1 else 2
    return copy


@pytest.mark.quick
@pytest.mark.parametrize("name", [field.name for field in fields(Tree)])
def test_digest_changes_with_every_array(tree, name):
    other = replace(tree, **{name: changed(getattr(tree, name))})
    assert other.digest() != tree.digest()


@pytest.mark.quick
@pytest.mark.parametrize("name", [field.name for field in fields(Tree)])
def test_digest_sees_the_dtype_but_not_the_layout(tree, name):
    array = getattr(tree, name)
    swapped = array.astype(array.dtype.newbyteorder(">"))
    strided = np.repeat(array, 2, axis=0)[::2]
    assert replace(tree, **{name: swapped}).digest() == tree.digest()
    assert replace(tree, **{name: strided}).digest() == tree.digest()
    other_kind = np.float32 if array.dtype != np.float32 else np.float64
    assert replace(tree, **{name: array.astype(other_kind)}).digest() != tree.digest()


@pytest.mark.quick
def test_arrays_have_the_declared_dtypes_and_lengths(tree):
    assert list(TREE_FIELDS) == [field.name for field in fields(Tree)]
    for name, kind in TREE_FIELDS.items():
        assert getattr(tree, name).dtype == kind, name
    assert len(tree.set_start) == tree.node_count + 1
    assert tree.set_start[-1] == len(tree.set_words)


@pytest.mark.quick
def test_children_are_neighbours_after_their_parent(tree):
    inner = np.flatnonzero(~tree.is_leaf)
    assert (tree.first_child[inner] > inner).all()
    assert tree.parent[0] == -1
    for node in inner:
        first = tree.first_child[node]
        assert tree.parent[first] == tree.parent[first + 1] == node
    assert sorted([0, *tree.first_child[inner], *(tree.first_child[inner] + 1)]) == list(
        range(tree.node_count)
    )


@pytest.mark.quick
def test_nodes_are_numbered_level_by_level(tree):
    assert (np.diff(tree.depth) >= 0).all()
    assert tree.max_depth == tree.depth.max() == 4
    assert tree.depth[tree.first_child[~tree.is_leaf]] == pytest.approx(
        tree.depth[~tree.is_leaf] + 1
    )


@pytest.mark.quick
def test_children_share_the_rows_of_their_parent(tree):
    inner = np.flatnonzero(~tree.is_leaf)
    left, right = tree.children_left[inner], tree.children_right[inner]
    assert (tree.n_samples[left] + tree.n_samples[right] == tree.n_samples[inner]).all()
    assert tree.weight[left] + tree.weight[right] == pytest.approx(tree.weight[inner])
    assert tree.n_leaves == tree.is_leaf.sum() == len(inner) + 1


@pytest.mark.quick
def test_leaves_ask_nothing(tree):
    leaf = tree.is_leaf
    assert (tree.feature[leaf] == -1).all() and (tree.first_child[leaf] == 0).all()
    assert (tree.children_left[leaf] == -1).all() and (tree.children_right[leaf] == -1).all()
    assert np.isnan(tree.threshold[leaf]).all() and (tree.n_branches[leaf] == 0).all()


@pytest.mark.quick
def test_category_set_reads_the_bits():
    words = np.array([1 << 3 | 1 << 63, 1 << 1], np.uint64)
    leaf = hb.DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]).tree_
    tree = replace(leaf, set_start=np.array([0, 2, 2, 2]), set_words=words)
    assert tree.category_set(0).tolist() == [3, 63, 65]
    assert tree.category_set(1).tolist() == []


ENSEMBLES = [
    hb.RandomForestRegressor(n_estimators=8, n_jobs=2),
    hb.ExtraTreesRegressor(n_estimators=8),
    hb.RandomTreesEmbedding(n_estimators=8),
    hb.IsolationForest(n_estimators=8),
    hb.IsolationForest(n_estimators=8, extension_level=1),
    hb.GradientBoostingRegressor(n_estimators=8, min_samples_leaf=1),
]


@pytest.mark.parametrize("model", ENSEMBLES, ids=repr)
def test_more_nodes_than_numbers_are_an_error(model, monkeypatch):
    """Node numbers are int32: they must not wrap, in a fit or when more trees are added."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    model = clone(model).set_params(random_state=0, warm_start=True)
    model.fit(X, y)
    store = getattr(model, "store_", None)
    n_nodes = store.n_nodes if store else sum(tree.node_count for tree in model.ensemble_.trees)
    sentence = rf"have \d+ nodes, but a model can have at most {n_nodes}.*fewer trees"
    monkeypatch.setattr("hornbeam.tree.storage.MAX_NODES", n_nodes)
    clone(model).fit(X, y)
    with pytest.raises(ValueError, match=sentence):
        model.set_params(n_estimators=9).fit(X, y)
    with pytest.raises(ValueError, match=sentence):
        clone(model).fit(X, y)


def test_room_for_nodes_grows_up_to_the_limit(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6_000, 2)), rng.normal(size=6_000)
    tree = hb.DecisionTreeRegressor(n_jobs=1)
    n_nodes = tree.fit(X, y).tree_.node_count
    digest = tree.digest()
    for limit, room in ((n_nodes, 8), (n_nodes // 2, 0)):
        monkeypatch.setattr("hornbeam.tree.storage.MAX_NODES", limit + room)
        monkeypatch.setattr("hornbeam.tree.grower.MAX_NODES", limit + room)
        if room:
            assert tree.fit(X, y).digest() == digest
        else:
            with pytest.raises(ValueError, match="nodes, but a model can have at most"):
                tree.fit(X, y)


# --- lists of categories --------------------------------------------------------------------


def make_names(n_rows=400, n_names=60):
    """Names that matter, some missing, and some categories that do not occur."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, n_names, n_rows)
    frame = pd.DataFrame({"x": rng.normal(size=n_rows)})
    frame["name"] = pd.Categorical.from_codes(codes, [f"n{i}" for i in range(n_names + 5)])
    frame.loc[rng.random(n_rows) < 0.1, "name"] = None
    return frame, 3.0 * rng.normal(size=n_names)[codes] + frame["x"]


def list_from(monkeypatch, n_categories):
    for module in ("grower", "build"):
        monkeypatch.setattr(f"hornbeam.tree.{module}.LIST_FROM", n_categories)


@pytest.mark.parametrize("split", ["subset", "one_vs_rest"])
def test_lists_say_what_bits_say(monkeypatch, tmp_path, split):
    X, y = make_names()
    bits = hb.DecisionTreeRegressor(category_split=split, n_jobs=1).fit(X, y)
    list_from(monkeypatch, 16)
    lists = hb.DecisionTreeRegressor(category_split=split, n_jobs=1).fit(X, y)
    assert set(bits.tree_.kind) == {0, 1, SUBSET} and set(lists.tree_.kind) == {0, 1, LISTED}
    assert {0, 1} <= set(lists.tree_.missing_branch[lists.tree_.kind == LISTED])
    for name in set(TREE_FIELDS) - {"kind", "set_start", "set_words"}:
        np.testing.assert_array_equal(getattr(bits.tree_, name), getattr(lists.tree_, name))
    everything = pd.DataFrame({"x": 0.0, "name": [*X["name"].cat.categories, None, "new"]})
    np.testing.assert_array_equal(bits.apply(everything), lists.apply(everything))
    for node in np.flatnonzero(lists.tree_.kind == LISTED):
        expected = bits.tree_.goes_first(node, 65)
        np.testing.assert_array_equal(lists.tree_.goes_first(node, 65), expected)
    assert hb.export_text(lists) == hb.export_text(bits)
    lists.save(tmp_path / "lists.hornbeam")
    again = hb.load(tmp_path / "lists.hornbeam")
    assert again.tree_.digest() == lists.tree_.digest()
    np.testing.assert_array_equal(again.predict(everything), lists.predict(everything))
    pruned = hb.prune_cost_complexity(lists, 0.05)
    expected = hb.prune_cost_complexity(bits, 0.05).predict(everything)
    np.testing.assert_array_equal(pruned.predict(everything), expected)


def test_sets_do_not_grow_with_the_square():
    """Twice as many rows and categories: about twice the room for their sets."""
    words = []
    for n_names in (5_000, 10_000):
        codes = np.repeat(np.arange(n_names), 3)
        y = np.random.default_rng(0).normal(size=n_names)[codes]
        X = pd.DataFrame({"name": codes.astype(str)})
        tree = hb.DecisionTreeRegressor().fit(X, y)
        assert tree.score(X, y) > 0.9
        words.append(len(tree.tree_.set_words))
    assert words[1] < 2.5 * words[0] < 16 * 2.5 * 5_000


@pytest.mark.parametrize(
    "change", ["beyond", "falling", "twice", "padded", "empty", "not for others"]
)
def test_a_wrong_list_is_refused(monkeypatch, change):
    list_from(monkeypatch, 16)
    X, y = make_names()
    model = hb.DecisionTreeRegressor(max_depth=3, n_jobs=1).fit(X, y)
    arrays = {name: getattr(model.tree_, name).copy() for name in TREE_FIELDS}
    assert validate_tree(arrays, model.schema_, may_list=True).digest() == model.tree_.digest()
    node = int(np.flatnonzero(arrays["kind"] == LISTED)[0])
    start, halves = arrays["set_start"], arrays["set_words"].view(np.uint32)
    first, last = 2 * start[node], 2 * start[node + 1]
    if change == "beyond":
        halves[last - 1] = 65
    elif change == "falling":
        halves[first : first + 2] = halves[first : first + 2][::-1].copy()
    elif change == "twice":
        halves[first + 1] = halves[first]
    elif change == "padded":
        halves[first] = NO_CATEGORY
    elif change == "empty":
        start[node + 1 :] -= (last - first) // 2
        arrays["set_words"] = arrays["set_words"][(last - first) // 2 :]
    with pytest.raises(ModelFileError, match=r"kind\[|set_start\["):
        validate_tree(arrays, model.schema_, may_list=change != "not for others")


# --- several trees ------------------------------------------------------------------------


def several(n_trees=4):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"a": rng.normal(size=90), "c": rng.choice(list("pqrst"), 90)})
    made = [
        hb.DecisionTreeRegressor(max_depth=depth).fit(frame, rng.normal(size=90))
        for depth in range(1, n_trees + 1)
    ]
    return made[0].schema_, [model.tree_ for model in made]


def test_views_are_the_trees_that_were_put_together():
    _, singles = several()
    trees = Trees.of(singles)
    assert len(trees) == 4 and trees.n_values == 1
    assert [one.digest() for one in trees] == [one.digest() for one in singles]
    assert trees[-1].digest() == singles[-1].digest()
    assert trees[0].value.base is not None  # a view, no copy
    parts = [trees[:1], trees[1:1], trees[1:3], trees[3:]]
    assert [len(part) for part in parts] == [1, 0, 2, 1]
    again = Trees.join(parts)
    assert again.arrays().keys() == trees.arrays().keys()
    for name, array in trees.arrays().items():
        np.testing.assert_array_equal(again.arrays()[name], array)
    with pytest.raises(IndexError):
        trees[4]
    with pytest.raises(ValueError, match="neighbouring"):
        trees[::2]
    assert len(Trees.of([], 3)) == 0 and Trees.of([], 3).n_values == 3


def test_planes_go_with_their_nodes():
    X = np.random.default_rng(0).normal(size=(40, 3))
    forest = hb.IsolationForest(n_estimators=5, extension_level=1, random_state=0).fit(X)
    trees = forest.ensemble_.trees
    again = Trees.join([trees[:2], trees[2:]])
    for one, other in zip(again.planes, trees.planes, strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(ValueError, match="some do not"):
        Trees.join([trees, Trees(trees.nodes, trees.node_start)])


def hostile_trees():
    """(array, change of it, message): cycles, shared children, borders and questions."""

    def put(place, value):
        def change(array, trees):
            array[place(trees) if callable(place) else place] = value

        return change

    def second(trees):
        return int(trees.node_start[1])

    return [
        ("first_child", put(second, 0), "numbered level by level"),  # a cycle
        ("first_child", put(second, -1), "numbered level by level"),
        ("first_child", put(second, 3), "numbered level by level"),
        ("first_child", put(lambda t: second(t) + 1, 1), "numbered level by level"),  # two parents
        ("n_branches", put(second, 4), "adds up to"),
        ("n_branches", put(second, 2**31 - 1), "adds up to"),
        ("n_branches", put(second, 0), "a split has branches"),
        ("kind", put(second, 0), "a leaf has no branches"),
        ("kind", put(second, 3), "one branch per category|does not fit"),
        ("kind", put(second, 4), "no such kind"),
        ("kind", put(second, 5), "no such kind"),
        ("node_start", put(1, 0), "into trees"),
        ("node_start", put(1, 5), "adds up to"),
        ("node_start", put(1, 2**62), "into trees"),
        ("node_start", put(-1, 3), "into trees"),
        ("set_start", put(second, 2**40), "a set starts where"),
        ("missing_branch", put(second, 2), "no such branch"),
        ("value", put(second, np.nan), "finite"),
    ]


@pytest.mark.parametrize(("name", "change", "message"), hostile_trees())
def test_hostile_trees_are_refused(name, change, message):
    schema, singles = several()
    trees = Trees.of(singles)
    arrays = {key: array.copy() for key, array in trees.arrays().items()}
    assert len(validate_trees(arrays, Known.by(schema))) == 4
    change(arrays[name], trees)
    with pytest.raises(ModelFileError, match=message):
        validate_trees(arrays, Known.by(schema))

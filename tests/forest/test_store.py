"""The packed trees of a forest against the trees they were made of."""

from __future__ import annotations

import dataclasses
import gc
import itertools
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from tree import test_traversal
from tree.test_traversal import KINDS, naive_leaves, random_rows, random_tree

import hornbeam as hb
from hornbeam.dtypes import LEAF, THRESHOLD
from hornbeam.errors import ModelFileError
from hornbeam.forest import predict, store
from hornbeam.forest.store import ForestStore
from hornbeam.forest.validate import check_pickled, check_store
from hornbeam.tree import predict as driver
from hornbeam.tree.storage import TREE_FIELDS, Tree, Trees
from hornbeam.tree.validate import Known, validate_trees

N_FEATURES = 6
IS_CATEGORY = np.arange(N_FEATURES) % 2 == 1


def n_categories():
    return np.where(IS_CATEGORY, test_traversal.CATEGORIES, 0)


def with_sums(tree, rng, n_values, pure=False):
    """The tree with random leaves, and inner nodes that sum them up by the definition."""
    n_samples = rng.integers(1, 50, tree.node_count)
    weight = rng.integers(1, 100, tree.node_count).astype(float)
    value = rng.normal(size=(tree.node_count, n_values))
    if pure:
        value = np.eye(n_values)[rng.integers(0, n_values, tree.node_count)]
    for node in range(tree.node_count)[::-1]:
        if tree.kind[node] != LEAF:
            pair = tree.first_child[node] + np.arange(2)
            n_samples[node], weight[node] = n_samples[pair].sum(), weight[pair].sum()
            value[node] = np.average(value[pair], axis=0, weights=weight[pair])
    words = tree.set_words.copy()
    words[1::2] &= np.uint64(2 ** (test_traversal.CATEGORIES - 64) - 1)  # no category beyond
    return dataclasses.replace(
        tree,
        n_samples=n_samples,
        weight=weight,
        value=value,
        set_words=words,
        impurity=rng.random(tree.node_count).astype(np.float32).astype(float),
    )


def random_trees(rng, kinds="sets", n_trees=6, n_values=1, n_inner=30, pure=False):
    trees = (random_tree(rng, N_FEATURES, KINDS[kinds], n_inner) for _ in range(n_trees))
    return [with_sums(tree, rng, n_values, pure) for tree in trees]


def naive_scores(trees, X):
    """value[leaf of tree 0] + value[leaf of tree 1] + ..., in this order."""
    scores = np.zeros((len(X), trees[0].value.shape[1]))
    for tree in trees:
        scores += tree.value[naive_leaves(tree, X)]
    return scores


def assert_same_tree(found, expected):
    """Equal but for the rounding of what is summed up again."""
    for name in TREE_FIELDS:
        one, other = getattr(found, name), getattr(expected, name)
        assert one.dtype == other.dtype, name
        if name == "value":
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
            leaf = expected.is_leaf
            np.testing.assert_array_equal(one[leaf], other[leaf])
        else:
            np.testing.assert_array_equal(one, other, err_msg=name)


def checked(packed, arrays=None):
    return check_store(
        packed.arrays() if arrays is None else arrays,
        packed.by_table,
        Known(n_categories(), IS_CATEGORY, packed.n_values),
    )


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    kinds=st.sampled_from(["thresholds", "sets"]),
    n_rows=st.integers(0, 40),
    n_values=st.integers(1, 4),
    n_inner=st.sampled_from([0, 1, 10, 60]),
    dtype=st.sampled_from([np.float32, np.float64]),
    order=st.sampled_from(["C", "F"]),
    pure=st.booleans(),
)
def test_packed_trees_are_the_trees(seed, kinds, n_rows, n_values, n_inner, dtype, order, pure):
    rng = np.random.default_rng(seed)
    trees = random_trees(rng, kinds, 4, n_values, n_inner, pure)
    X = np.asarray(random_rows(rng, n_rows, N_FEATURES), dtype, order=order)
    packed = ForestStore.pack(trees, n_values > 1 or pure)
    np.testing.assert_array_equal(packed.scores(X), naive_scores(trees, X))
    leaves = packed.leaves(X)
    assert leaves.dtype == np.int32 and leaves.shape == (n_rows, 4)
    for number, tree in enumerate(trees):
        np.testing.assert_array_equal(leaves[:, number], naive_leaves(tree, X))
        again = packed.tree(number)
        assert_same_tree(again, tree)
        known = Known(n_categories(), IS_CATEGORY, n_values)
        validate_trees(Trees.of([again]).arrays(), known)
    assert checked(packed).digest() == packed.digest()
    assert pickle.loads(pickle.dumps(packed)).digest() == packed.digest()


@pytest.mark.quick
@pytest.mark.parametrize("by_table", [False, True])
def test_a_forest_is_the_same_however_it_was_put_together(by_table):
    rng = np.random.default_rng(1)
    trees = random_trees(rng, n_values=3 if by_table else 1, pure=by_table)
    whole = ForestStore.pack(trees, by_table)
    single = [ForestStore.pack([tree], by_table) for tree in trees]
    parts = [ForestStore.pack(trees[:2], by_table), ForestStore.pack(trees[2:], by_table)]
    assert ForestStore.join(single).digest() == whole.digest()
    assert ForestStore.join(parts).digest() == whole.digest()
    assert ForestStore.join(single, release=True).digest() == whole.digest()
    assert not single
    for first, last in ((0, 1), (0, 4), (2, 5), (0, 6)):
        taken = whole.take(slice(first, last))
        assert taken.digest() == ForestStore.pack(trees[first:last], by_table).digest()
    other = ForestStore.pack(trees[::-1], by_table)
    assert other.digest() != whole.digest()


@pytest.mark.quick
def test_medians_of_inner_nodes_are_kept():
    rng = np.random.default_rng(2)
    trees = random_trees(rng, n_trees=4)
    stump = random_trees(rng, n_trees=1, n_inner=0)
    trees = [
        dataclasses.replace(tree, value=rng.normal(size=tree.value.shape)) for tree in trees + stump
    ]
    packed = ForestStore.pack(trees, False, keep_inner=True)
    for kept in (packed, packed.take(slice(1, 5)), checked(packed)):
        for number in range(kept.n_trees):
            tree = trees[number + 5 - kept.n_trees]
            np.testing.assert_array_equal(kept.tree(number).value, tree.value)
    with pytest.raises(ValueError, match="some of the trees keep"):
        ForestStore.join([packed, ForestStore.pack(trees[:2], False)])


@pytest.mark.quick
@pytest.mark.parametrize("scale", [1e-200, 1e-40, 1.0, 1e40, 1e200])
def test_weights_and_impurities_that_float32_has_no_room_for(scale):
    rng = np.random.default_rng(3)
    (tree,) = random_trees(rng, n_trees=1)
    tree = dataclasses.replace(tree, weight=tree.weight * scale, impurity=tree.impurity * scale)
    again = ForestStore.pack([tree], False).tree(0)
    np.testing.assert_allclose(again.weight, tree.weight, rtol=2e-7)
    np.testing.assert_allclose(again.impurity, tree.impurity, rtol=2e-7)
    np.testing.assert_allclose(again.value, tree.value, rtol=1e-5, atol=1e-6)


@pytest.mark.quick
def test_values_near_the_end_of_the_number_range():
    rng = np.random.default_rng(4)
    (tree,) = random_trees(rng, n_trees=1)
    large = dataclasses.replace(tree, value=tree.value / np.abs(tree.value).max() * 1e308)
    again = ForestStore.pack([large], False).tree(0)
    np.testing.assert_allclose(again.value / 1e308, large.value / 1e308, atol=1e-12)


@pytest.mark.quick
def test_leaves_that_weigh_nothing():
    rng = np.random.default_rng(5)
    (tree,) = random_trees(rng, n_trees=1)
    empty = dataclasses.replace(tree, weight=np.zeros(tree.node_count))
    again = ForestStore.pack([empty], False).tree(0)
    assert np.isfinite(again.value).all() and not again.weight.any()


@pytest.mark.quick
def test_bytes_per_node():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(4000, 5)).astype(np.float32)
    y = rng.integers(0, 7, 4000)
    labels = hb.DecisionTreeClassifier(random_state=0).fit(X, y).tree_
    packed = ForestStore.pack([labels] * 3, True)
    assert packed.n_nodes == 3 * labels.node_count
    assert packed.table.shape == (7, 7)  # each class once
    assert packed.nbytes / packed.n_nodes < 20.3
    numbers = hb.DecisionTreeRegressor(random_state=0).fit(X, X[:, 0] + rng.normal(size=4000)).tree_
    packed = ForestStore.pack([numbers] * 3, False)
    assert packed.nbytes / packed.n_nodes < 20.1


@pytest.fixture(scope="module")
def forest():
    """Classification trees on rows with holes: (store, trees, rows)."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(9000, 8)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    signal = np.nan_to_num(X[:, 0]) * np.nan_to_num(X[:, 1]) + rng.normal(size=len(X)) / 4
    y = np.digitize(signal, [-0.5, 0.1, 0.6])
    trees = [
        hb.DecisionTreeClassifier(max_features=3, min_samples_leaf=leaf, random_state=seed)
        .fit(X[:4000], y[:4000])
        .tree_
        for seed, leaf in enumerate([1, 1, 1, 2, 5, 20, 1, 3, 1000, 4000])
    ]
    return ForestStore.pack(trees, True), trees, X


@pytest.mark.quick
def test_results_do_not_depend_on_threads_or_blocks(forest, monkeypatch):
    packed, trees, X = forest
    expected = np.zeros((len(X), 4))
    for number in range(len(trees)):
        expected += trees[number].value[packed.leaves_of(X, number)]
    leaves, in_bag = packed.leaves(X, 1), (np.arange(len(X)) % 3 == 0).__array__
    outside = packed.scores_where(X, 1, lambda tree: in_bag())
    for n_jobs in (1, 2, 4, None):
        for form in (X, X.astype(np.float64), np.asfortranarray(X)):
            np.testing.assert_array_equal(packed.scores(form, n_jobs), expected)
        np.testing.assert_array_equal(packed.leaves(X, n_jobs), leaves)
        for one, other in zip(
            packed.scores_where(X, n_jobs, lambda tree: in_bag()), outside, strict=True
        ):
            np.testing.assert_array_equal(one, other)
    monkeypatch.setattr(predict, "_LEAST_ROWS", 20)
    monkeypatch.setattr(predict, "_BLOCK_BYTES", 1000)  # blocks of 20 rows
    np.testing.assert_array_equal(packed.scores(X, 4), expected)
    by_row = [packed.scores(X[row : row + 1])[0] for row in range(50)]
    np.testing.assert_array_equal(by_row, expected[:50])


@pytest.mark.quick
def test_a_part_of_the_trees(forest):
    packed, trees, X = forest
    X = X[:100]
    for first, last in ((0, 0), (0, 3), (4, 9), (9, None), (0, None), (5, 2)):
        if chosen := trees[first:last]:
            expected = naive_scores(chosen, X)
        else:
            expected = np.zeros((100, 4))
        np.testing.assert_array_equal(packed.scores(X, first=first, last=last), expected)
        np.testing.assert_array_equal(
            packed.leaves(X, first=first, last=last), packed.leaves(X)[:, first:last]
        )


@pytest.mark.quick
@pytest.mark.parametrize("starts", [[0, 4], [0, 2, 4], [0, 1, 4]])
def test_hard_votes_go_to_the_first_of_the_most_probable_classes(forest, starts):
    _, trees, X = forest
    X = X[:300]
    packed = ForestStore.pack(trees, True, class_start=starts)
    votes = np.zeros((300, 4))
    for tree in trees:
        for row, leaf in enumerate(naive_leaves(tree, X)):
            for first, last in itertools.pairwise(starts):
                votes[row, first + int(tree.value[leaf, first:last].argmax())] += 1
    np.testing.assert_array_equal(packed.scores(X, hard=True), votes)
    assert (packed.scores(X, hard=True).sum(axis=1) == 10 * (len(starts) - 1)).all()


@pytest.mark.quick
@pytest.mark.parametrize("hard", [False, True])
def test_rows_in_the_bag_are_left_out(forest, hard, monkeypatch):
    packed, trees, X = forest
    X = X[:700]
    monkeypatch.setattr(store, "_BAG_BYTES", 3 * 700)  # three trees at once
    counts = np.random.default_rng(8).poisson(1, (10, 700))
    counts[:, 0], counts[:, 1] = 0, 1
    sums, votes = packed.scores_where(X, 2, counts.__getitem__, hard=hard)
    expected, n_trees = np.zeros((700, 4)), np.zeros(700)
    for number, tree in enumerate(trees):
        value = tree.value[naive_leaves(tree, X)]
        if hard:
            value = np.eye(4)[value.argmax(axis=1)]
        expected += np.where(counts[number, :, None] == 0, value, 0)
        n_trees += counts[number] == 0
    np.testing.assert_array_equal(sums, expected)
    np.testing.assert_array_equal(votes, n_trees)
    assert votes[0] == 10 and votes[1] == 0


@pytest.mark.quick
def test_what_leaves_hold(forest):
    packed, trees, X = forest
    rows = np.arange(0, 9000, 7)
    for number, tree in enumerate(trees):
        leaves = packed.leaves_of(X, number, rows)
        np.testing.assert_array_equal(leaves, packed.leaves_of(X, number)[rows])
        np.testing.assert_array_equal(packed.leaf_values(number, leaves), tree.value[leaves])
        np.testing.assert_array_equal(packed.leaf_samples(number, leaves), tree.n_samples[leaves])
        np.testing.assert_array_equal(packed.leaf_weights(number, leaves), tree.weight[leaves])
        assert packed.node_count(number) == tree.node_count


@pytest.mark.quick
@pytest.mark.parametrize("form", [scipy.sparse.csr_array, scipy.sparse.csc_matrix])
def test_sparse_rows(forest, form, monkeypatch):
    monkeypatch.setattr(driver, "_PIECE_BYTES", 6000)  # several pieces
    packed, _, X = forest
    X = np.where(np.abs(X[:500]) < 0.7, np.float32(0), X[:500])
    np.testing.assert_array_equal(packed.scores(form(X)), packed.scores(X))
    np.testing.assert_array_equal(packed.leaves(form(X)), packed.leaves(X))
    bags = np.random.default_rng(9).integers(0, 2, (10, 500))
    for one, other in zip(
        packed.scores_where(form(X), 1, bags.__getitem__),
        packed.scores_where(X, 1, bags.__getitem__),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.quick
@pytest.mark.parametrize("n_rows", [1, 16, 130, 9000])
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_infinite_value_is_met_in_any_column(forest, n_rows, order):
    packed, _, X = forest
    for column in range(X.shape[1]):
        bad = X[:n_rows].copy(order)
        bad[-1, column] = np.inf if column % 2 else -np.inf
        assert packed.scores(bad) is None
        assert packed.leaves(bad, 2) is None
        assert packed.scores_where(bad, 1, lambda tree, n=n_rows: np.zeros(n)) is None
        assert packed.scores(bad, checked=False) is not None


@pytest.mark.quick
def test_arrays_that_kernels_do_not_take(forest):
    packed, _, X = forest
    expected = packed.scores(X[:200:2].copy())
    frozen = X[:200:2].copy()
    frozen.flags.writeable = False
    for form in (X[:200:2], frozen, np.asfortranarray(X[:200])[::2]):
        np.testing.assert_array_equal(packed.scores(form), expected)


@pytest.mark.quick
def test_eight_threads_share_a_fresh_store(forest):
    packed, _, X = forest
    X, expected = X[:1000], packed.scores(X[:1000])
    for _ in range(3):
        fresh = pickle.loads(pickle.dumps(packed))
        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(lambda _, own=fresh: own.scores(X, 1), range(16)))
        for result in results:
            np.testing.assert_array_equal(result, expected)


@pytest.mark.quick
def test_what_does_not_fit_is_refused(forest):
    packed, trees, X = forest
    with pytest.raises(ValueError, match="2 columns, but the trees ask for column 7"):
        packed.scores(X[:, :2])
    with pytest.raises(ValueError, match="need a table"):
        ForestStore.pack(trees, False)
    with pytest.raises(ValueError, match="at least one tree"):
        ForestStore.pack([], True)
    with pytest.raises(ValueError, match="same target"):
        ForestStore.join([packed, ForestStore.pack(trees, True, class_start=[0, 2, 4])])
    with pytest.raises(ValueError, match="neighbouring"):
        packed.take(slice(0, 4, 2))
    with pytest.raises(IndexError):
        packed.tree(10)
    rng = np.random.default_rng(10)
    many_branches = random_tree(rng, N_FEATURES, [3])
    with pytest.raises(ValueError, match="binary"):
        ForestStore.pack([many_branches], False)
    regression = ForestStore.pack(random_trees(rng), False)
    with pytest.raises(ValueError, match="no classes"):
        regression.scores(random_rows(rng, 3, N_FEATURES), hard=True)


def tree_of_peer(peer):
    """A tree of scikit-learn as a `Tree`: its nodes in level order."""
    level, order = np.zeros(1, np.int64), []
    while len(level):
        order.append(level)
        inner = level[peer.children_left[level] >= 0]
        level = np.column_stack([peer.children_left[inner], peer.children_right[inner]]).ravel()
    old = np.concatenate(order)
    split = peer.children_left[old] >= 0
    first_child = np.where(split, 2 * np.cumsum(split) - 1, 0)
    return Tree(
        first_child=first_child.astype(np.int32),
        n_branches=np.where(split, 2, 0).astype(np.int32),
        feature=np.where(split, peer.feature[old], -1).astype(np.int32),
        kind=np.where(split, THRESHOLD, LEAF).astype(np.uint8),
        threshold=np.where(split, peer.threshold[old], np.nan),
        missing_branch=(split & (peer.missing_go_to_left[old] == 0)).astype(np.int32),
        set_start=np.zeros(len(old) + 1, np.int64),
        set_words=np.empty(0, np.uint64),
        n_samples=peer.n_node_samples[old].astype(np.int64),
        weight=peer.weighted_n_node_samples[old],
        impurity=peer.impurity[old],
        value=peer.value[old].reshape(len(old), -1),
    )


@pytest.mark.parametrize("several_outputs", [False, True])
def test_a_packed_forest_of_scikit_learn_predicts_what_scikit_learn_does(forest, several_outputs):
    _, _, X = forest
    y = np.nansum(X[:, :3], axis=1)
    classes = np.digitize(y, [-1, 0, 1])
    labels = RandomForestClassifier(7, random_state=0).fit(X[:2000], classes[:2000])
    packed = ForestStore.pack([tree_of_peer(one.tree_) for one in labels.estimators_], True)
    np.testing.assert_allclose(packed.scores(X) / 7, labels.predict_proba(X), atol=1e-12)
    goals = np.column_stack([y, -y, y**2]) if several_outputs else y
    numbers = RandomForestRegressor(7, random_state=0).fit(X[:2000], goals[:2000])
    trees = [tree_of_peer(one.tree_) for one in numbers.estimators_]
    packed = ForestStore.pack(trees, several_outputs)
    expected = numbers.predict(X).reshape(len(X), -1)
    np.testing.assert_allclose(packed.scores(X) / 7, expected, atol=1e-12)
    again = packed.tree(3)
    np.testing.assert_allclose(again.value, trees[3].value, atol=1e-6)
    np.testing.assert_array_equal(again.n_samples, trees[3].n_samples)
    np.testing.assert_array_equal(again.weight, trees[3].weight)
    np.testing.assert_allclose(again.impurity, trees[3].impurity, rtol=1e-7)


# --- stores that come from outside ------------------------------------------------------


def hostile():
    """(name of the case, array, change, message): each would lead a kernel or a person astray."""

    def put(place, value):
        def change(array, where):
            array[where[place]] = value

        return change

    def add(place, value):
        def change(array, where):
            array[where[place]] += value

        return change

    return [
        ("child", put("inner", 2**31 - 1), "children are numbered"),
        ("child", put("inner", 0), "children are numbered"),
        ("child", add("inner", 2), "children are numbered"),
        ("child", put("inner", -1), "n_branches of tree|in their order"),
        ("child", put("leaf", 1), "n_branches of tree|in their order"),
        ("child", put("leaf", -(2**31)), "the table has"),
        ("feature", put("number", 6), "has 6 features"),
        ("feature", put("number", -1), "no such column"),
        ("feature", put("number", 1), "does not fit this column"),
        ("feature", put("set", 1), "sets in their order"),
        ("feature", put("leaf", -5), "fewer rows than none"),
        ("threshold", put("number", np.nan), "nothing compares"),
        ("threshold", put("set", 1e18), "sets in their order"),
        ("threshold", put("set", -1.0), "sets in their order"),
        ("threshold", put("set", np.nan), "sets in their order"),
        ("threshold", put("leaf", np.inf), "is finite"),
        ("root", put("second", 2), "n_branches of tree"),
        ("root", put("second", -3), "does not part"),
        ("root", put("second", 2**62), "does not part"),
        ("root", put("end", 1), "does not part"),
        ("set_start", put("second", 2**40), "one word per 64"),
        ("set_start", put("second", -1), "one word per 64"),
        ("set_words", put("second", 2**63), "categories that do not exist"),
        ("table", put("second", np.nan), "a prediction is finite"),
        ("weight_unit", put("second", 0.0), "a unit is finite"),
        ("impurity_unit", put("second", np.inf), "a unit is finite"),
        ("class_start", put("second", 9), "class_start"),
    ]


@pytest.fixture(scope="module")
def sound():
    """A store with sets and a table, and some places in it."""
    packed = ForestStore.pack(random_trees(np.random.default_rng(11), n_values=3), True)
    child, feature = packed.nodes["child"], packed.nodes["feature"]
    inner = np.flatnonzero(child >= 0)
    asks_set = inner[feature[inner] & store.CATEGORY != 0]
    return packed, {
        "inner": inner[2],
        "leaf": np.flatnonzero(child < 0)[3],
        "set": asks_set[1],
        "number": np.setdiff1d(inner, asks_set)[1],
        "second": 1,
        "end": -1,
    }


@pytest.mark.quick
@pytest.mark.parametrize(("name", "change", "message"), hostile())
def test_no_hostile_array_passes(sound, name, change, message):
    packed, where = sound
    arrays = {key: array.copy() for key, array in packed.arrays().items()}
    change(arrays[name], where)
    with pytest.raises(ModelFileError, match=message):
        checked(packed, arrays)


@pytest.mark.quick
@pytest.mark.parametrize("name", store.STORE_FIELDS)
def test_no_array_of_another_size_or_type_passes(sound, name):
    packed, _ = sound
    arrays = dict(packed.arrays())
    changes = [
        lambda array: np.concatenate([array, np.ones((1, *array.shape[1:]), array.dtype)]),
        lambda array: array.astype(np.complex128),
        lambda array: array[None],
        lambda array: "text",
    ]
    # there are no inner values and no codes, which is allowed; a table may have unused rows
    if len(arrays[name]) and name != "table":
        changes.append(lambda array: array[:-1])
    for change in changes:
        if name == "table" and change is changes[0]:
            continue
        with pytest.raises(ModelFileError):
            checked(packed, arrays | {name: change(arrays[name])})
    with pytest.raises(ModelFileError, match="lacks the array"):
        checked(packed, {key: arrays[key] for key in arrays if key != name})


@pytest.mark.quick
def test_weights_of_regression_leaves_are_checked():
    packed = ForestStore.pack(random_trees(np.random.default_rng(12)), False)
    arrays = {key: array.copy() for key, array in packed.arrays().items()}
    leaf = np.flatnonzero(arrays["child"] < 0)[0]
    for bits in (0xFFC00000, 0xFF800000):  # NaN and minus infinity
        arrays["child"][leaf] = np.array([bits], np.uint32).view(np.int32)[0]
        with pytest.raises(ModelFileError, match="weights is finite"):
            checked(packed, arrays)


@pytest.mark.quick
def test_a_pickled_store_is_checked(sound):
    packed, _ = sound
    known = Known(n_categories(), IS_CATEGORY, 3)
    again = check_pickled(packed, known)
    assert again.digest() == packed.digest()
    broken = dataclasses.replace(packed, nodes=packed.impurity)
    with pytest.raises(ModelFileError, match="not nodes"):
        check_pickled(broken, known)
    with pytest.raises(ModelFileError, match="does not describe"):
        check_pickled(packed, dataclasses.replace(known, is_category=IS_CATEGORY[1:]))


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_arrays_with_a_changed_entry_are_refused_or_harmless(data):
    """Whatever one entry becomes: an error, or a store that predicts without going astray."""
    packed = ForestStore.pack(random_trees(np.random.default_rng(13), n_values=2, n_trees=2), True)
    arrays = {key: array.copy() for key, array in packed.arrays().items()}
    name = data.draw(st.sampled_from([key for key in arrays if arrays[key].size]))
    flat = arrays[name].reshape(-1)
    place = data.draw(st.integers(0, flat.size - 1))
    size = flat.dtype.itemsize
    flat[place : place + 1].view(f"u{size}")[0] = data.draw(st.integers(0, 2 ** (8 * size) - 1))
    try:
        changed = checked(packed, arrays)
    except ModelFileError:
        return
    X = random_rows(np.random.default_rng(14), 20, N_FEATURES)
    assert np.isfinite(changed.scores(X)).all()
    leaves = changed.leaves(X)
    for tree in range(2):
        assert changed.tree(tree).is_leaf[leaves[:, tree]].all()


def test_a_call_holds_the_memory_that_it_works_on(monkeypatch):
    """The end of the interpreter clears what belongs to a thread, even one in a kernel."""
    walks = random_store_walks()
    held = []

    def kernel(*_):
        memory = weakref.ref(walks._own.room.arrays.walkers)
        del walks._own.room
        gc.collect()
        held.append(memory() is not None)
        return True

    monkeypatch.setattr(predict, "predict_forest", kernel)
    for n_rows in (2, 500):
        walks.run(np.zeros((n_rows, walks.n_columns)), 1, 0, 1, np.zeros((n_rows, 1)))
    assert held == [True, True]


def random_store_walks():
    trees = hb.RandomForestRegressor(n_estimators=2, random_state=0)
    return trees.fit(np.arange(20.0).reshape(-1, 2), np.arange(10.0)).store_._walks

"""Columns of more categories than codes: sets over codes against sets over all categories."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from forest.test_store import random_trees
from tree import oracle, test_traversal
from tree.test_traversal import naive_leaves, random_rows

import hornbeam as hb
from hornbeam.dtypes import WORD_BITS
from hornbeam.errors import ModelFileError
from hornbeam.forest import predict as forest_predict
from hornbeam.forest.store import ForestStore
from hornbeam.forest.validate import check_pickled, check_store
from hornbeam.tree import predict, sets
from hornbeam.tree.sets import SharedCodes
from hornbeam.tree.validate import Known

pytestmark = pytest.mark.filterwarnings("ignore:Column .* has")

# --- random trees and random codes ------------------------------------------------------

N_FEATURES = 6
IS_CATEGORY = np.arange(N_FEATURES) % 2 == 1
NEVER, ALWAYS = ({"numbers": most, "sets": most} for most in (0, 1 << 30))


def coded_store(rng, n_codes=70, n_trees=5):
    """Trees whose columns 3 and 5 have 300 and 90 categories; those of column 1 are codes."""
    codes = {3: rng.integers(0, n_codes, 300), 5: rng.integers(0, n_codes, 90)}
    for own in codes.values():
        own[7] = n_codes - 1  # all codes are in use
    trees = random_trees(rng, n_trees=n_trees, n_values=3)
    start, code_of_category = SharedCodes.of(codes, N_FEATURES)
    packed = ForestStore.pack(trees, True)
    return replace(packed, code_start=start, code_of_category=code_of_category), trees, codes


def n_categories(n_codes=70):
    return np.array([0, n_codes, 0, 300, 0, 90])


def rows_and_coded_rows(rng, codes, n_rows):
    """Rows with categories in columns 3 and 5, known or not, and with their codes instead."""
    X = random_rows(rng, n_rows, N_FEATURES)
    coded = X.copy()
    for column, own in codes.items():
        known = rng.integers(0, len(own), n_rows)
        strange = rng.choice([np.nan, -1.0, len(own), len(own) + 3, 1e18], n_rows)
        is_known = rng.random(n_rows) < 0.7
        X[:, column] = np.where(is_known, known, strange)
        coded[:, column] = np.where(is_known, own[known], np.nan)
    return X, coded


@pytest.mark.quick
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("copied", [NEVER, ALWAYS], ids=["never", "always"])
@pytest.mark.parametrize("n_codes", [5, 62, 63, 64, 65, 255])
def test_a_category_goes_where_its_code_goes(n_codes, copied, dtype, monkeypatch):
    monkeypatch.setattr(forest_predict, "_NODES_PER_ROW", copied)
    monkeypatch.setattr(test_traversal, "CATEGORIES", n_codes)
    monkeypatch.setattr("forest.test_store.with_sums", with_no_more_than(n_codes))
    rng = np.random.default_rng(n_codes)
    coded, trees, codes = coded_store(rng, n_codes)
    X, by_code = rows_and_coded_rows(rng, codes, 200)
    expected = np.array([naive_leaves(tree, by_code) for tree in trees]).T
    for n_rows in (1, 3, 200):
        for order in "CF":
            table = np.asarray(X[:n_rows], dtype, order=order)
            kept = table.copy()
            np.testing.assert_array_equal(coded.leaves(table), expected[:n_rows])
            np.testing.assert_array_equal(table, kept)
    assert len(coded.leaves(X[:0])) == 0
    X[3, 5] = np.inf
    assert coded.leaves(X) is None and coded.leaves(X[:5]) is None
    assert coded.leaves(X, checked=False).shape == expected.shape


@pytest.mark.quick
@pytest.mark.parametrize("at_once", [1, 8 * N_FEATURES * 20, 1 << 24])
def test_rows_that_are_coded_in_pieces(at_once, monkeypatch):
    monkeypatch.setattr(predict, "_PIECE_BYTES", at_once)
    rng = np.random.default_rng(6)
    coded, trees, codes = coded_store(rng)
    X, by_code = rows_and_coded_rows(rng, codes, 50)
    leaves = np.array([naive_leaves(tree, by_code) for tree in trees]).T
    values = np.array([tree.value[own] for tree, own in zip(trees, leaves.T, strict=True)])
    assert np.array_equal(coded.leaves(X), leaves)
    assert np.array_equal(coded.leaves(scipy.sparse.csr_array(X)), leaves)
    assert np.array_equal(coded.scores(X), sum(values, np.zeros(values[0].shape)))
    bags = rng.integers(0, 2, (len(trees), 50))
    scores, votes = coded.scores_where(X, 1, bags.__getitem__)
    assert np.array_equal(votes, (bags == 0).sum(axis=0))
    outside = np.where(bags[:, :, None] == 0, values, 0.0)
    assert np.array_equal(scores, sum(outside, np.zeros(values[0].shape)))


def with_no_more_than(n_codes):
    """In place of `with_sums`: sets hold no codes beyond, and leaves predict anything."""

    def change(tree, rng, n_values, pure):
        n_words = -(-n_codes // WORD_BITS)
        there = [2 ** min(WORD_BITS, n_codes - WORD_BITS * i) - 1 for i in range(n_words)]
        words = tree.set_words & np.tile(np.array(there, np.uint64), len(tree.set_words) // n_words)
        value = rng.normal(size=(tree.node_count, n_values))
        return replace(tree, set_words=words, value=value)

    return change


@pytest.mark.quick
@pytest.mark.parametrize("at_once", [1, 1000, 1 << 24])
def test_unfolded_sets_hold_the_categories_of_their_codes(at_once, monkeypatch):
    monkeypatch.setattr(sets, "_BITS_AT_ONCE", at_once)
    rng = np.random.default_rng(1)
    coded, trees, codes = coded_store(rng)
    for number, tree in enumerate(trees):
        unfolded = coded.tree(number)
        for node in np.flatnonzero(~tree.is_leaf):
            of_codes, own = tree.category_set(node), codes.get(int(tree.feature[node]))
            expected = of_codes if own is None else np.flatnonzero(np.isin(own, of_codes))
            np.testing.assert_array_equal(unfolded.category_set(node), expected)
        bare = coded.tree(number, with_sets=False)
        assert not len(bare.set_words) and np.array_equal(bare.parent, tree.parent)
    inner = np.concatenate([tree.feature[~tree.is_leaf] for tree in trees])
    np.testing.assert_array_equal(coded.asked_features(), np.unique(inner))


@pytest.mark.quick
def test_parts_share_their_codes_and_others_are_refused():
    rng = np.random.default_rng(2)
    coded, _, _ = coded_store(rng)
    parts = [coded.take(slice(0, 2)), coded.take(slice(2, 5))]
    assert parts[0].code_of_category is coded.code_of_category
    assert ForestStore.join(parts).digest() == coded.digest()
    codes = coded.code_of_category.copy()
    codes[20] ^= 1
    none = {"code_start": coded.code_start[:0], "code_of_category": codes[:0]}
    for other in (replace(parts[1], code_of_category=codes), replace(parts[1], **none)):
        assert ForestStore.join([parts[0], other.take(slice(0, 1)), parts[1]][::2]).n_trees == 5
        for pair in ([parts[0], other], [other, parts[0]]):
            with pytest.raises(ValueError, match="other codes to the categories"):
                ForestStore.join(pair)
    assert replace(coded, code_of_category=codes).digest() != coded.digest()


# --- stores that come from outside ------------------------------------------------------


KNOWN = Known(n_categories(), IS_CATEGORY, 3)


def checked(arrays):
    return check_store(arrays, True, KNOWN)


def hostile():
    """(array, what it becomes, message): each would lead a kernel astray."""

    def put(place, value):
        def change(array):
            array[place] = value
            return array

        return change

    def column(length):
        """All codes in columns 3 and 5, so many of them in the first."""
        return lambda array: np.array([0, 0, 0, 0, length, length, 390])

    return [
        ("code_of_category", put(3, 255), r"code_of_category\[3\] is 255: there are 255 codes"),
        ("code_of_category", put(slice(None), 63), "one word per 64"),  # sets are too long
        ("code_of_category", put(9, 128), "one word per 64"),  # sets are too short for it
        ("code_of_category", put(9, 80), ""),  # known to no set: harmless
        ("code_of_category", put(slice(None), 64), "categories that do not exist"),
        ("code_of_category", lambda array: array[:-1], "does not part"),
        ("code_of_category", lambda array: np.append(array, array[:1]), "does not part"),
        ("code_of_category", lambda array: array[:0], "does not part"),
        ("code_of_category", lambda array: array.astype(np.int32), "dtype int32"),
        ("code_of_category", lambda array: array.astype(np.int8), "dtype int8"),
        ("code_of_category", lambda array: array[None], "2 dimensions"),
        ("code_of_category", lambda array: "codes", "not an array"),
        ("code_start", lambda array: array[:0], "does not part"),
        ("code_start", lambda array: array[:-1], "does not part"),
        ("code_start", lambda array: np.append(array, 390), "does not part"),
        ("code_start", lambda array: array.astype(float), "dtype float64"),
        ("code_start", put(0, 1), "does not part"),
        ("code_start", put(-1, 391), "does not part"),
        ("code_start", put(4, 2**62), "a code for each of its categories"),
        ("code_start", put(4, -(2**63)), "a code for each of its categories"),
        ("code_start", put(5, 0), "a code for each of its categories"),
        ("code_start", put(slice(1, 4), 300), "a code for each of its categories"),  # of numbers
        ("code_start", put(1, 70), "a code for each of its categories"),
        ("code_start", column(299), "a code for each of its categories"),
        ("code_start", column(301), "a code for each of its categories"),
        ("code_start", column(90), "a code for each of its categories"),
    ]


@pytest.mark.quick
@pytest.mark.parametrize(("name", "change", "message"), hostile())
def test_no_hostile_code_passes(name, change, message):
    rng = np.random.default_rng(3)
    coded, _, codes = coded_store(rng)
    arrays = {key: array.copy() for key, array in coded.arrays().items()}
    arrays[name] = change(arrays[name])
    if message:
        with pytest.raises(ModelFileError, match=message):
            checked(arrays)
        broken = replace(coded, **{key: arrays[key] for key in ("code_start", "code_of_category")})
        with pytest.raises(ModelFileError, match=message):
            check_pickled(broken, KNOWN)
        with pytest.raises(ModelFileError, match="lacks the array"):
            checked({key: array for key, array in arrays.items() if key != name})
        return
    assert checked(arrays).leaves(rows_and_coded_rows(rng, codes, 40)[0], checked=False).any()


@pytest.mark.quick
def test_sound_codes_pass():
    coded, _, _ = coded_store(np.random.default_rng(4))
    assert checked(coded.arrays()).digest() == coded.digest()
    again = pickle.loads(pickle.dumps(coded))
    passed = check_pickled(again, KNOWN)
    assert passed.digest() == coded.digest()
    with pytest.raises(ModelFileError, match="a code for each of its categories"):
        more = replace(KNOWN, n_categories=n_categories() + IS_CATEGORY)
        check_store(coded.arrays(), True, more)
    with pytest.raises(ModelFileError):  # codes of a number
        numbers = IS_CATEGORY & (np.arange(N_FEATURES) != 3)
        check_store(coded.arrays(), True, replace(KNOWN, is_category=numbers))


# --- forests ----------------------------------------------------------------------------


def towns(n_rows, n_categories, seed=0):
    """A table with a column of so many categories, some of them frequent, and its levels."""
    rng = np.random.default_rng(seed)
    which = np.minimum(rng.integers(0, n_categories, n_rows), rng.integers(0, n_categories, n_rows))
    which[:n_categories] = np.arange(n_categories)
    frame = pd.DataFrame(
        {
            "size": np.where(rng.random(n_rows) < 0.1, np.nan, rng.normal(size=n_rows)),
            "town": np.array([f"town {i}" for i in range(n_categories)], object)[which],
            "kind": rng.choice(["a", "b", "c"], n_rows),
        }
    )
    missing = rng.random(n_rows) < 0.05
    missing[:n_categories] = False  # each is there
    frame.loc[missing, "town"] = None
    return frame, rng.normal(size=n_categories)[which] + rng.normal(0, 0.5, n_rows)


def strange(frame):
    """Some of the rows, some of them with towns that nobody has seen, or none."""
    rows = frame.iloc[::37].copy()
    rows.iloc[::5, 1] = "elsewhere"
    rows.iloc[1::7, 1] = None
    return rows


FORESTS = {
    "random classifier": hb.RandomForestClassifier(),
    "random regressor": hb.RandomForestRegressor(),
    "extra classifier": hb.ExtraTreesClassifier(),
    "extra regressor": hb.ExtraTreesRegressor(),
    "few codes": hb.ExtraTreesClassifier(max_bins=40),
    "random sets": hb.RandomForestClassifier(category_split="random"),
    "subset": hb.RandomForestRegressor(category_split="subset"),
    "medians": hb.RandomForestRegressor(criterion="absolute_error", max_depth=6),
    "pruned": hb.ExtraTreesRegressor(ccp_alpha=1e-4),
    "monotone": hb.RandomForestRegressor(monotonic_cst={"size": 1}),
}


@pytest.mark.parametrize("n_categories", [1000, 5000])
@pytest.mark.parametrize("kind", FORESTS)
def test_forests_predict_like_their_unfolded_trees(kind, n_categories, tmp_path: Path):
    X, level = towns(3 * n_categories, n_categories)
    forest = pickle.loads(pickle.dumps(FORESTS[kind])).set_params(n_estimators=6, random_state=0)
    forest.fit(X, level > 0 if hasattr(forest, "predict_proba") else level)
    store = forest.store_
    assert len(store.code_of_category) == n_categories
    rows = strange(X)
    matrix = forest._read(rows)
    trees = [store.tree(number) for number in range(6)]
    asked = np.concatenate([np.diff(tree.set_start)[tree.feature == 1] for tree in trees])
    assert len(asked) and np.all(asked == -(-n_categories // WORD_BITS))
    expected = np.array([naive_leaves(tree, matrix) for tree in trees]).T
    np.testing.assert_array_equal(forest.apply(rows), expected)
    np.testing.assert_array_equal(forest.apply(rows[:3]), expected[:3])
    total = np.zeros((len(rows), store.n_values))
    for tree, leaves in zip(trees, expected.T, strict=True):
        total += tree.value[leaves]
    found = forest.predict_proba if hasattr(forest, "predict_proba") else forest.predict
    np.testing.assert_array_equal(found(rows), np.squeeze(total / 6))
    for number, tree in enumerate(forest.estimators_):
        np.testing.assert_array_equal(tree.apply(rows), expected[:, number])
    forest.save(tmp_path / "model")
    for again in (hb.load(tmp_path / "model"), pickle.loads(pickle.dumps(forest))):
        assert again.digest() == forest.digest()
        np.testing.assert_array_equal(again.predict(rows), forest.predict(rows))


@pytest.mark.parametrize("kind", ["extra regressor", "random classifier"])
def test_a_node_takes_few_bytes_whatever_the_number_of_categories(kind):
    X, level = towns(20_000, 5000)
    forest = pickle.loads(pickle.dumps(FORESTS[kind])).set_params(n_estimators=5, random_state=0)
    y = level > 0 if kind.endswith("classifier") else level
    forest.set_params(min_samples_split=2).fit(X[["town"]], y)
    assert forest.store_.nbytes <= 64 * forest.store_.n_nodes


def test_paths_importances_and_text_of_folded_columns():
    X, level = towns(3000, 1000)
    forest = hb.RandomForestRegressor(n_estimators=4, max_depth=3, random_state=0).fit(X, level)
    rows = strange(X)
    paths, start = forest.decision_path(rows)
    for number, tree in enumerate(forest.estimators_):
        own = paths[:, start[number] : start[number + 1]].toarray()
        np.testing.assert_array_equal(own, tree.decision_path(rows).toarray())
        matrix = forest._read(rows)
        walks = [oracle.walk(tree.tree_, row) for row in matrix]
        assert [np.flatnonzero(line).tolist() for line in own] == [sorted(walk) for walk in walks]
    importances = forest.importances("permutation", X, level)
    assert importances.argmax() == 1
    assert "town" in hb.export_text(forest.estimators_[0])


def test_a_warm_start_goes_on_with_the_same_codes_only():
    X, level = towns(3000, 1000)
    forest = hb.ExtraTreesRegressor(n_estimators=3, warm_start=True, random_state=0).fit(X, level)
    whole = hb.ExtraTreesRegressor(n_estimators=6, random_state=0).fit(X, level)
    assert forest.set_params(n_estimators=6).fit(X, level).digest() == whole.digest()
    other = X.copy()
    other.loc[1000:, "town"] = "town 7"  # the same categories, but others are frequent
    before = forest.digest()
    with pytest.raises(ValueError, match="other categories share codes"):
        forest.set_params(n_estimators=9).fit(other, level)
    assert forest.digest() == before

"""Sets over codes that categories share, against sets over the categories themselves."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import hornbeam as hb
from hornbeam.errors import ModelFileError
from hornbeam.model.modelfile import load_model_bytes, model_bytes
from hornbeam.tree import sets
from hornbeam.tree.ensemble import Ensemble
from hornbeam.tree.sets import SharedCodes, unfold_sets
from hornbeam.tree.storage import Trees
from hornbeam.tree.validate import Known, validate_trees

pytestmark = [pytest.mark.quick, pytest.mark.filterwarnings("ignore:Column .* has")]
N, N_NAMES = 400, 60
rng = np.random.default_rng(0)
NAMES = rng.integers(0, N_NAMES, N)
FRAME = pd.DataFrame({"x": rng.normal(size=N), "name": np.char.add("n", NAMES.astype(str))})
FRAME.loc[::17, "name"] = None
LEVEL = rng.normal(size=N_NAMES)[NAMES] + FRAME["x"].to_numpy()


@pytest.fixture(scope="module")
def boosted() -> hb.GradientBoostingRegressor:
    """Sixty names, of which eight codes tell seven apart."""
    model = hb.GradientBoostingRegressor(
        n_estimators=6, max_bins=8, min_samples_leaf=3, category_smooth=1.0, random_state=0
    )
    return model.fit(FRAME, LEVEL)


@pytest.mark.parametrize("bits", [1, 1 << 24])
def test_unfolded_sets_hold_the_categories_of_their_codes(
    bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sets, "_BITS_AT_ONCE", bits)
    codes = rng.integers(0, 70, 150).astype(np.uint8)
    chosen = [rng.random(70) < 0.5 for _ in range(4)]
    words = np.concatenate(
        [np.packbits(np.append(own, np.zeros(58, bool)), bitorder="little") for own in chosen]
    ).view(np.uint64)
    length, unfolded = unfold_sets(np.full(4, 2), words, np.array([1, 0, 1, 1]), {1: codes})
    assert length.tolist() == [3, 2, 3, 3]
    start = np.cumsum(length) - length
    for number in (0, 2, 3):
        own = unfolded[start[number] : start[number] + 3]
        bits_of = np.unpackbits(own.view(np.uint8), bitorder="little")
        assert bits_of[:150].tolist() == chosen[number][codes].tolist() and not bits_of[150:].any()
    assert unfolded[3:5].tolist() == words[2:4].tolist()


def test_trees_over_codes_say_what_trees_over_categories_say(
    boosted: hb.GradientBoostingRegressor,
) -> None:
    trees, matrix = boosted.ensemble_.trees, boosted.schema_.read(FRAME, "test")
    assert trees.codes is not None and trees.codes.columns.tolist() == [1]
    assert trees.nodes.set_words.nbytes <= 8 * (trees.nodes.kind == 2).sum()
    plain = Trees.of(list(trees))  # views have their sets over categories
    assert plain.codes is None and plain.nodes.set_start[-1] == trees.nodes.set_start[-1]
    assert trees.unfolded().nodes.digest() == plain.nodes.digest()
    other = Ensemble(plain, boosted.ensemble_.score_of_tree, 1, boosted.ensemble_.start)
    for table in (matrix, np.asfortranarray(matrix, np.float64), matrix[:1]):
        np.testing.assert_array_equal(boosted.ensemble_.scores(table), other.scores(table))
        np.testing.assert_array_equal(boosted.ensemble_.leaves(table), other.leaves(table))
    serve = boosted.predictor()
    expected = boosted.predict(FRAME)
    np.testing.assert_array_equal(serve(matrix), expected)
    again = pickle.loads(pickle.dumps(serve))
    for row in range(40):
        assert serve(matrix[row]) == again(matrix[row]) == expected[row]
    unknown = np.array([0.0, 1e6])
    assert serve(unknown) == serve(np.array([0.0, np.nan]))
    assert np.isnan(matrix[0, 1]) and not np.isnan(matrix[1, 1])  # and no table was changed


def test_trees_with_other_codes_are_joined_over_categories(
    boosted: hb.GradientBoostingRegressor,
) -> None:
    trees = boosted.ensemble_.trees
    assert Trees.join([trees[:2], trees[2:]]).codes is trees.codes
    codes = trees.codes
    assert codes is not None
    moved = SharedCodes(codes.code_start, codes.code_of_category[::-1].copy())
    others = Trees(trees.nodes, trees.node_start, codes=moved)
    joined = Trees.join([trees, others])
    assert joined.codes is None and len(joined) == 2 * len(trees)
    for number in (0, 3):
        assert joined[number].digest() == trees[number].digest()
        assert joined[number + len(trees)].digest() == others[number].digest()


def test_codes_of_files_are_checked(boosted: hb.GradientBoostingRegressor) -> None:
    loaded = load_model_bytes(model_bytes(boosted))
    assert loaded.digest() == boosted.digest()
    np.testing.assert_array_equal(loaded.predict(FRAME), boosted.predict(FRAME))
    known, arrays = Known.by(boosted.schema_), boosted.ensemble_.trees.arrays()
    assert validate_trees(arrays, known).codes is not None
    codes, start = arrays["code_of_category"], arrays["code_start"]
    for changes, sentence in (
        ({"code_of_category": codes[:-1]}, "does not part"),
        ({"code_of_category": codes.astype(np.int64)}, "dtype"),
        ({"code_of_category": np.full_like(codes, 255)}, "there are 255 codes"),
        ({"code_of_category": np.full_like(codes, 200)}, "one word per 64"),
        ({"code_of_category": np.zeros_like(codes)}, "categories that do not exist"),
        ({"code_start": start[::-1].copy()}, "does not part"),
        ({"code_start": np.array([0, len(codes), len(codes)])}, "a code for each"),
    ):
        with pytest.raises(ModelFileError, match=sentence):
            validate_trees({**arrays, **changes}, known)
    for name in SharedCodes._fields:
        with pytest.raises(ModelFileError, match="lacks the array"):
            validate_trees({key: arrays[key] for key in arrays if key != name}, known)

"""From any table to a tree: the same model from every container, a sentence for bad input."""

from __future__ import annotations

import copy
import datetime as dt
import io
import itertools
import pickle
import re
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import hornbeam as hb

Classifier, Regressor = hb.DecisionTreeClassifier, hb.DecisionTreeRegressor
TREES = [Classifier, Regressor]
FINDERS = ["exact", "histogram"]

rng = np.random.default_rng(0)
N = 300
NAMES = ["a", "b", "c", "d"]
# Multiples of 1/8 are exact in float32, float64 and text; a third of the entries are zero.
NUMBERS = rng.integers(-40, 40, (N, 4)) / 8.0 * (rng.random((N, 4)) < 0.7)
LEVEL = NUMBERS[:, 0] - 2.0 * NUMBERS[:, 1] * (NUMBERS[:, 2] > 0) + rng.integers(0, 4, N)
LABEL = np.where(LEVEL > 4, "high", np.where(LEVEL > 0, "middle", "low"))
HOLES = np.where(rng.random((N, 4)) < 0.2, np.nan, NUMBERS)


def target(tree: Any) -> np.ndarray:
    return LABEL if tree is Classifier else LEVEL


def make(tree: Any, finder: str = "exact", **params: Any) -> Any:
    return tree(finder=finder, max_bins=16, max_depth=6, random_state=0, **params)


def strided(values: np.ndarray) -> np.ndarray:
    wide = np.zeros((2 * values.shape[0], 3 * values.shape[1]), values.dtype)
    wide[::2, ::3] = values
    return wide[::2, ::3]


def read_only(values: np.ndarray) -> np.ndarray:
    values = values.copy()
    values.flags.writeable = False
    return values


CONTAINERS: dict[str, Callable[[np.ndarray], Any]] = {
    "Fortran": np.asfortranarray,
    "strided": strided,
    "reversed rows": lambda X: X[::-1].copy()[::-1],
    "some columns": lambda X: np.hstack([X, X])[:, :4],
    "some columns of Fortran": lambda X: np.asfortranarray(np.vstack([X, X]))[:N],
    "big endian": lambda X: X.astype(">f8"),
    "read-only": read_only,
    "float32": lambda X: X.astype(np.float32),
    "float32 Fortran": lambda X: np.asfortranarray(X.astype(np.float32)),
    "big-endian float32": lambda X: X.astype(">f4"),
    "float16": lambda X: X.astype(np.float16),
    "object": lambda X: X.astype(object),
    "list": lambda X: X.tolist(),
    "masked": np.ma.masked_invalid,
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "pandas nullable": lambda X: pd.DataFrame(X, columns=NAMES).astype("Float64"),
    "pandas Arrow": lambda X: pd.DataFrame(X, columns=NAMES).astype("float64[pyarrow]"),
    "pandas float32": lambda X: pd.DataFrame(X.astype(np.float32), columns=NAMES),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "polars nulls": lambda X: pl.DataFrame(X, schema=NAMES, nan_to_null=True),
    "pyarrow": lambda X: pa.table(dict(zip(NAMES, X.T.copy(), strict=True))),
    "CSR": scipy.sparse.csr_array,
    "CSC": scipy.sparse.csc_array,
    "COO": scipy.sparse.coo_array,
    "csr_matrix": scipy.sparse.csr_matrix,
    "CSR float32": lambda X: scipy.sparse.csr_array(X.astype(np.float32)),
}


# --- the same model -----------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.parametrize("finder", FINDERS)
@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("holes", [False, True], ids=["whole", "missing"])
def test_every_container_gives_the_same_model(tree: Any, finder: str, holes: bool) -> None:
    X = HOLES if holes else NUMBERS
    model = make(tree, finder).fit(X, target(tree))
    assert model.tree_.node_count > 20
    expected, predictions = model.digest(), model.predict(X)
    for name, container in CONTAINERS.items():
        other = make(tree, finder).fit(container(X), target(tree))
        assert other.digest() == expected, name
        np.testing.assert_array_equal(other.predict(container(X)), predictions, err_msg=name)
        with warnings.catch_warnings():  # tables with and without names are mixed here
            warnings.simplefilter("ignore", UserWarning)
            np.testing.assert_array_equal(model.predict(container(X)), predictions, err_msg=name)
            np.testing.assert_array_equal(other.apply(X), model.apply(X), err_msg=name)


@pytest.mark.quick
@pytest.mark.parametrize("tree", TREES)
def test_every_kind_of_number_gives_the_same_model(tree: Any) -> None:
    X = np.abs(NUMBERS * 8).astype(np.int64) % 100
    expected = make(tree).fit(X.astype(float), target(tree)).digest()
    for dtype in ("i1", "u1", "i2", ">i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "g"):
        assert make(tree).fit(X.astype(dtype), target(tree)).digest() == expected, dtype


COLOR = [["red", "green", "blue", "grey", None][i] for i in rng.integers(0, 5, N)]
MEMBER = rng.integers(0, 2, N).astype(bool)
SCORE = LEVEL + 3.0 * np.array([c in ("red", "blue") for c in COLOR]) - 2.0 * MEMBER
TEXT = {"color": COLOR, "member": MEMBER, "x": NUMBERS[:, 0]}
WORDS = sorted({c for c in COLOR if c})


def mixed_rows() -> list[list[Any]]:
    return [list(row) for row in zip(COLOR, MEMBER.tolist(), NUMBERS[:, 0], strict=True)]


def pandas_text(dtype: Any) -> pd.DataFrame:
    return pd.DataFrame({**TEXT, "color": pd.Series(COLOR, dtype=dtype)})


CATEGORY_TABLES: dict[str, Callable[[], Any]] = {
    "pandas": lambda: pd.DataFrame(TEXT),
    "pandas object": lambda: pandas_text(object),
    "pandas string": lambda: pandas_text("string"),
    "pandas categorical": lambda: pandas_text("category"),
    "pandas Arrow": lambda: pandas_text(pd.ArrowDtype(pa.string())),
    "pandas nullable bool": lambda: pd.DataFrame(TEXT).astype({"member": "boolean"}),
    "polars": lambda: pl.DataFrame(TEXT),
    "polars categorical": lambda: pl.DataFrame(TEXT, schema_overrides={"color": pl.Categorical}),
    "polars enum": lambda: pl.DataFrame(TEXT, schema_overrides={"color": pl.Enum(WORDS)}),
    "pyarrow": lambda: pa.table(TEXT),
    "pyarrow dictionary": lambda: pa.table({**TEXT, "color": pa.array(pd.Categorical(COLOR))}),
    "list": mixed_rows,
    "object array": lambda: np.array(mixed_rows(), dtype=object),
}


@pytest.mark.quick
@pytest.mark.parametrize("finder", FINDERS)
@pytest.mark.parametrize("tree", TREES)
def test_every_kind_of_category_gives_the_same_model(tree: Any, finder: str) -> None:
    y = np.where(SCORE > 2, "yes", "no") if tree is Classifier else SCORE
    model = make(tree, finder).fit(pd.DataFrame(TEXT), y)
    assert 1 in model.tree_.feature and 0 in model.tree_.feature
    expected, predictions = model.digest(), model.predict(pd.DataFrame(TEXT))
    for name, table in CATEGORY_TABLES.items():
        other = make(tree, finder).fit(table(), y)
        assert other.digest() == expected, name
        np.testing.assert_array_equal(other.predict(table()), predictions, err_msg=name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            np.testing.assert_array_equal(model.predict(table()), predictions, err_msg=name)


# --- the same model again -----------------------------------------------------------------------


def dumped_by_joblib(model: Any) -> Any:
    buffer = io.BytesIO()
    joblib.dump(model, buffer, compress=3)
    buffer.seek(0)
    return joblib.load(buffer)


@pytest.mark.quick
@pytest.mark.parametrize("finder", FINDERS)
@pytest.mark.parametrize("tree", TREES)
def test_copies_are_the_same_model(tree: Any, finder: str, tmp_path: Path) -> None:
    X = pd.DataFrame(TEXT)
    y = np.where(SCORE > 2, "yes", "no") if tree is Classifier else SCORE
    model = make(tree, finder).fit(X, y)
    model.save(tmp_path / "model.hornbeam")
    copies = {
        "pickle": pickle.loads(pickle.dumps(model)),
        "pickle 2": pickle.loads(pickle.dumps(model, protocol=2)),
        "copy": copy.copy(model),
        "deepcopy": copy.deepcopy(model),
        "joblib": dumped_by_joblib(model),
        "file": hb.load(tmp_path / "model.hornbeam"),
        "clone and refit": clone(model).fit(X, y),
        "refit": copy.deepcopy(model).fit(X, y),
        "refit after another fit": copy.deepcopy(model).fit(NUMBERS, target(tree)).fit(X, y),
        "refit after loading": hb.load(tmp_path / "model.hornbeam").fit(X, y),
    }
    for name, other in copies.items():
        assert other.digest() == model.digest(), name
        np.testing.assert_array_equal(other.predict(X), model.predict(X), err_msg=name)
        assert other.get_params() == model.get_params(), name
        assert other.schema_ == model.schema_, name
    with pytest.raises(NotFittedError):
        clone(model).predict(X)


@pytest.mark.quick
def test_digests_tell_models_apart() -> None:
    model = make(Classifier).fit(NUMBERS, LABEL)
    others = [
        make(Classifier).fit(NUMBERS, np.char.upper(LABEL)),
        make(Classifier).fit(NUMBERS + 1.0, LABEL),
        make(Classifier).fit(NUMBERS, LABEL, np.arange(1.0, N + 1.0)),
        make(Classifier).fit(NUMBERS[:, ::-1], LABEL),
    ]
    assert len({model.digest(), *(other.digest() for other in others)}) == 5


@pytest.mark.quick
@pytest.mark.parametrize("tree", TREES)
def test_one_row_at_a_time(tree: Any) -> None:
    model = make(tree).fit(HOLES, target(tree))
    together = model.predict(HOLES)
    for i in range(0, N, 7):
        assert model.predict(HOLES[i : i + 1])[0] == together[i]
        assert model.predict(HOLES[i : i + 1].tolist())[0] == together[i]


# --- predict: other order, unseen categories, missing values ------------------------------------


@pytest.mark.quick
@pytest.mark.parametrize("finder", FINDERS)
def test_columns_in_any_order(finder: str) -> None:
    model = make(Regressor, finder).fit(pd.DataFrame(TEXT), SCORE)
    expected = model.predict(pd.DataFrame(TEXT))
    for names in itertools.permutations(TEXT):
        for library in (pd.DataFrame, pl.DataFrame, pa.table):
            shuffled = library({name: TEXT[name] for name in names})
            np.testing.assert_array_equal(model.predict(shuffled), expected)


@pytest.mark.quick
@pytest.mark.parametrize("finder", FINDERS)
def test_unseen_categories(finder: str) -> None:
    train = pd.DataFrame({"c": ["a", "b", "c", None] * 20})
    y = np.array([0.0, 1.0, 2.0, 5.0] * 20)
    new = pd.DataFrame({"c": ["a", "z", None]})
    missing = Regressor(finder=finder).fit(train, y)
    assert missing.predict(new).tolist() == [0.0, 5.0, 5.0]
    strict = Regressor(finder=finder, unseen="error").fit(train, y)
    with pytest.raises(ValueError, match=r"column 'c' .*not there in fit: 'z' \(first in row 1\)"):
        strict.predict(new)
    assert strict.predict(new.iloc[[0, 2]]).tolist() == [0.0, 5.0]
    # One more category, that no training row has: it goes where the missing values go.
    other = Regressor(finder=finder, unseen="other").fit(train, y)
    assert other.predict(new)[[0, 2]].tolist() == [0.0, 5.0]
    np.testing.assert_array_equal(
        other.predict(pd.DataFrame({"c": ["z", "zz"]})), other.predict(new)[[1, 1]]
    )


@pytest.mark.quick
@pytest.mark.parametrize("finder", FINDERS)
@pytest.mark.parametrize("tree", TREES)
def test_missing_values_in_predict_only(tree: Any, finder: str) -> None:
    """Without any in training they go to the child with more rows, as in scikit-learn."""
    X = np.r_[np.zeros(30), np.ones(70)].reshape(-1, 1)
    y = X.ravel() if tree is Regressor else np.where(X.ravel() > 0, "one", "zero")
    model = tree(finder=finder).fit(X, y)
    assert model.predict([[np.nan], [0.0]]).tolist() == [y[-1], y[0]]
    model = tree(finder=finder).fit(1 - X, y)
    assert model.predict([[np.nan], [1.0]]).tolist() == [y[-1], y[0]]
    words = np.where(X > 0, "many", "few")
    frame = pd.DataFrame({"c": words.ravel()})
    model = tree(finder=finder).fit(frame, y)
    assert model.predict(pd.DataFrame({"c": [None, "few"]})).tolist() == [y[-1], y[0]]


# --- bad X --------------------------------------------------------------------------------------

SMALL = NUMBERS[:40]
DAY = dt.datetime(2020, 1, 1)
BAD_X: dict[str, tuple[Any, type[Exception], str]] = {
    "0 rows": (SMALL[:0], ValueError, r"0 sample\(s\) .* a minimum of 1 is required by Decision"),
    "0 columns": (SMALL[:, :0], ValueError, r"0 feature\(s\) .* a minimum of 1 is required"),
    "inf": (np.where(SMALL > 4, np.inf, SMALL), ValueError, "infinity.*column . holds inf in row"),
    "-inf": (pd.DataFrame({"a": [-np.inf] * 40}), ValueError, "infinity.*'a' holds -inf in row 0"),
    "complex": (SMALL * 1j, ValueError, "Complex data not supported.*two columns"),
    "large integers": (
        np.arange(40).reshape(-1, 1) + 2**53,
        ValueError,
        r"column 0 holds the integer 90071992547409\d+ .*2\*\*53.*drop the column",
    ),
    "mixed objects": (
        pd.DataFrame({"a": [1, "x"] * 20}, dtype=object),
        TypeError,
        "'a' holds 'x' of type str in row 1, but 1 of type int.*Convert",
    ),
    "duplicate names": (
        pd.DataFrame(SMALL, columns=list("abca")),
        ValueError,
        "several columns with the same name: 'a'. Rename",
    ),
    "datetimes": (pd.DataFrame({"d": [DAY, 1] * 20}), TypeError, "'d' holds 1 .*to_datetime"),
    "1-D": (SMALL[:, 0], ValueError, "Expected 2D array, got 1D array instead.*[Rr]eshape"),
    "None": (None, ValueError, "Expected 2D array"),
    "ragged": ([[1.0], [1.0, 2.0]] * 20, ValueError, "row 0 has 1 values, row 1 has 2"),
    "other length": (SMALL[:30], ValueError, r"inconsistent numbers of samples: \[30, 40\]"),
}


@pytest.mark.quick
@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize(("X", "error", "words"), BAD_X.values(), ids=BAD_X.keys())
def test_bad_tables(tree: Any, X: Any, error: type[Exception], words: str) -> None:
    model = make(tree).fit(SMALL, target(tree)[:40])
    with pytest.raises(error) as caught:
        model.fit(X, target(tree)[:40])
    assert re.search(words, str(caught.value), re.DOTALL), caught.value
    with pytest.raises(NotFittedError):  # nothing is left of the fit before
        model.predict(SMALL)


@pytest.mark.quick
@pytest.mark.parametrize("finder", FINDERS)
@pytest.mark.parametrize("tree", TREES)
def test_tables_with_nothing_to_learn_from(tree: Any, finder: str) -> None:
    """Constant and all-missing columns: a leaf if alone, no difference beside others."""
    y = target(tree)
    expected = make(tree, finder).fit(NUMBERS, y)
    most = make(tree).fit(np.zeros((N, 1)), y).predict([[0.0]])
    nothing: list[Any] = [
        np.full((N, 2), 7.5),
        np.full((N, 2), np.nan),
        pd.DataFrame({"a": [None] * N}),
        pd.DataFrame({"a": ["same"] * N}),
        scipy.sparse.csr_array((N, 2)),
    ]
    for X in nothing:
        model = make(tree, finder).fit(X, y)
        assert model.tree_.node_count == 1
        np.testing.assert_array_equal(model.predict(X), np.repeat(most, N))
        assert not model.feature_importances_.any()
    for column in (np.full((N, 1), 7.5), np.full((N, 1), np.nan)):
        beside = make(tree, finder).fit(np.hstack([NUMBERS, column]), y)
        assert beside.digest() == expected.digest()


@pytest.mark.quick
@pytest.mark.parametrize("finder", FINDERS)
@pytest.mark.parametrize("tree", TREES)
def test_one_row(tree: Any, finder: str) -> None:
    model = make(tree, finder).fit(NUMBERS[:1], target(tree)[:1])
    assert model.tree_.node_count == 1
    assert model.predict(NUMBERS[:3]).tolist() == [target(tree)[0]] * 3


@pytest.mark.quick
@pytest.mark.parametrize("tree", TREES)
def test_masked_entries_are_missing(tree: Any) -> None:
    masked = np.ma.array(np.where(np.isnan(HOLES), np.inf, HOLES), mask=np.isnan(HOLES))
    expected = make(tree).fit(HOLES, target(tree))
    model = make(tree).fit(masked, target(tree))
    assert model.digest() == expected.digest()
    np.testing.assert_array_equal(model.predict(masked), expected.predict(HOLES))


@pytest.mark.quick
def test_large_integers_as_categories() -> None:
    X = np.array([[2**60 + i % 3] for i in range(30)])
    model = Classifier(categorical_features=[0]).fit(X, np.arange(30) % 3)
    assert model.predict(X).tolist() == [i % 3 for i in range(30)]


@pytest.mark.parametrize("finder", FINDERS)
@pytest.mark.parametrize("tree", TREES)
def test_100_000_categories(tree: Any, finder: str) -> None:
    n = 100_000
    rows = np.arange(2 * n) // 2  # two of each category
    X = pd.DataFrame({"id": [f"id{i}" for i in rows], "x": np.arange(2 * n) % 7})
    y = rows % 2
    model = tree(finder=finder, max_depth=8).fit(X[:10], y[:10])  # compiled before the clock runs
    start = time.perf_counter()
    model.fit(X, y)
    predicted = model.predict(X)
    model.predict(X.assign(id="new")[:10])
    assert time.perf_counter() - start < 20
    if finder == "exact":  # one split parts the categories; bins keep only 254 of them apart
        np.testing.assert_array_equal(predicted, y)
        assert model.tree_.node_count == 3
    else:
        assert model.tree_.node_count > 3


# --- bad y --------------------------------------------------------------------------------------


def with_value(tree: Any, value: Any) -> np.ndarray:
    y = (np.arange(40) % 2).astype(object)
    y[3] = value
    return y


NO_VALUE = {"nan": np.nan, "None": None, "pd.NA": pd.NA, "NaT": pd.NaT}


@pytest.mark.quick
@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("value", NO_VALUE.values(), ids=NO_VALUE.keys())
def test_missing_targets(tree: Any, value: Any) -> None:
    y = with_value(tree, value)
    for target_ in (y, pd.Series(y), y.tolist(), y.reshape(-1, 1), np.column_stack([y, y])):
        with pytest.raises(ValueError, match=r"contains NaN\. Row 3 holds .*drop such rows"):
            make(tree).fit(SMALL, target_)


MISSING_TARGETS: dict[str, Any] = {
    "float": np.where(np.arange(40) == 3, np.nan, 1.0),
    "float32": np.where(np.arange(40) == 3, np.nan, 1.0).astype(np.float32),
    "Int64": pd.Series([1, 2, 1, None] * 10, dtype="Int64"),
    "string": pd.Series(["1", "2", "1", None] * 10, dtype="string"),
    "categorical": pd.Series(["1", "2", "1", None] * 10, dtype="category"),
    "polars": pl.Series([1, 2, 1, None] * 10),
    "polars text": pl.Series(["1", "2", "1", None] * 10),
    "pyarrow": pa.array([1, 2, 1, None] * 10),
    "pyarrow text": pa.array(["1", "2", "1", None] * 10),
    "data frame": pd.DataFrame({"y": [1, 2, 1, None] * 10}),
    "dates": np.array(["2020-01-01", "2020-01-02", "2020-01-01", "NaT"] * 10, "M8[D]"),
}


@pytest.mark.quick
@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("y", MISSING_TARGETS.values(), ids=MISSING_TARGETS.keys())
def test_missing_targets_of_every_library(tree: Any, y: Any) -> None:
    with pytest.raises(ValueError, match=r"Input y contains NaN\. Row 3 holds"):
        make(tree).fit(SMALL, y)


@pytest.mark.quick
@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_targets(tree: Any, value: float) -> None:
    y = with_value(tree, value)
    for target_ in (y, y.astype(float), y.astype(np.float32)):
        with pytest.raises(ValueError, match=r"Input y contains infinity.*Row 3 holds -?inf"):
            make(tree).fit(SMALL, target_)


MIXED = np.array([1, "a"] * 20, dtype=object)
BAD_Y: dict[str, tuple[Any, Any, type[Exception], str]] = {
    "None": (TREES, None, ValueError, "requires y to be passed, but the target y is None"),
    "scalar": (TREES, 3, ValueError, r"one column, or one per output; its shape is \(\)"),
    "3-D": (TREES, np.ones((40, 1, 1)), ValueError, r"its shape is \(40, 1, 1\)"),
    "no output": (TREES, np.ones((40, 0)), ValueError, r"its shape is \(40, 0\)"),
    "empty": (TREES, [], ValueError, r"inconsistent numbers of samples: \[40, 0\]"),
    "shorter": (TREES, np.ones(30), ValueError, r"inconsistent numbers of samples: \[40, 30\]"),
    "ragged": (TREES, [[1], [1, 2]] * 20, ValueError, "y cannot be read as an array"),
    "masked": (
        TREES,
        np.ma.masked_less(np.arange(40), 3),
        ValueError,
        "y is a masked array with masked entries; drop those rows",
    ),
    "complex": (TREES, np.ones(40) * 1j, ValueError, "Complex data not supported: y holds"),
    "sparse": (TREES, scipy.sparse.csr_array(np.ones((40, 1))), ValueError, r"y\.toarray\(\)"),
    "mixed": (
        [Classifier],
        MIXED,
        TypeError,
        "y holds values of the types 'int', 'str'.*for instance all strings",
    ),
    "bool and text": ([Classifier], np.array([True, "a"] * 20, object), TypeError, "'bool', 'str'"),
    "dicts": ([Classifier], np.array([{}] * 40, object), TypeError, "of the types 'dict'"),
    "continuous": (
        [Classifier],
        LEVEL[:40] + 0.3,
        ValueError,
        "Unknown label type: continuous.*regression target with continuous values",
    ),
    "huge classes": ([Classifier], [2**70, 2**71] * 20, ValueError, "64 bits do not hold.*strings"),
    "text": (
        [Regressor],
        ["1", "low"] * 20,
        ValueError,
        "must hold numbers for a regression, but holds 'low' in row 1. For classes use the class",
    ),
    "mixed numbers and text": ([Regressor], MIXED, ValueError, "but holds 'a' in row 1"),
    "large integers": (
        [Regressor],
        np.arange(40) + 2**60,
        ValueError,
        r"y holds the integer 1152921504606846977 in row 1, which is beyond 2\*\*53",
    ),
    "beyond float64": (
        [Regressor],
        [10**400] + [1] * 39,
        ValueError,
        "y holds the integer 1000.*float64 has no room",
    ),
    "dates": (
        [Regressor],
        np.array(["2020-01-01"] * 40, "M8[D]"),
        TypeError,
        "y holds dates or times.*seconds since",
    ),
}


@pytest.mark.quick
@pytest.mark.parametrize(("trees", "y", "error", "words"), BAD_Y.values(), ids=BAD_Y.keys())
def test_bad_targets(trees: Any, y: Any, error: type[Exception], words: str) -> None:
    for tree in trees:
        with pytest.raises(error, match=words):
            make(tree).fit(SMALL, y)


@pytest.mark.quick
def test_poisson_needs_counts() -> None:
    with pytest.raises(ValueError, match=r"negative.*Poisson regression: -1\.0"):
        Regressor(criterion="poisson").fit(SMALL, np.arange(40) - 1.0)
    with pytest.raises(ValueError, match="Sum of y is not strictly positive"):
        Regressor(criterion="poisson").fit(SMALL, np.zeros(40))


CLASSES: dict[str, Any] = {
    "text": np.array(["no", "yes"]),
    "text objects": np.array(["no", "yes"], object),
    "bool": np.array([False, True]),
    "bool objects": np.array([False, True], object),
    "int8": np.array([-128, 127], np.int8),
    "uint8": np.array([0, 255], np.uint8),
    "uint64": np.array([2**64 - 2, 2**64 - 1], np.uint64),
    "int64": np.array([-(2**63), 2**63 - 1]),
    "large": np.array([2**60, 2**60 + 1]),
    "int objects": np.array([3, 5], object),
    "whole floats": np.array([1.0, 2.0]),
}


@pytest.mark.quick
@pytest.mark.parametrize("classes", CLASSES.values(), ids=CLASSES.keys())
def test_classes_of_every_type(classes: np.ndarray, tmp_path: Path) -> None:
    number = (NUMBERS[:, 0] > 0).astype(int)
    y = classes[number]
    model = make(Classifier).fit(NUMBERS, y)
    assert model.classes_.tolist() == classes.tolist()
    assert model.predict(NUMBERS).tolist() == y.tolist()
    assert model.tree_.digest() == make(Classifier).fit(NUMBERS, number).tree_.digest()
    model.save(tmp_path / "model")
    assert hb.load(tmp_path / "model").predict(NUMBERS).tolist() == y.tolist()


@pytest.mark.quick
def test_outputs_of_different_types() -> None:
    """Strings beside numbers stay what they are."""
    y = np.empty((N, 2), object)
    y[:, 0], y[:, 1] = LABEL, NUMBERS[:, 0] > 0
    model = Classifier().fit(NUMBERS, y)
    assert [names.dtype.kind for names in model.classes_] == ["U", "b"]
    predicted = model.predict(NUMBERS)
    assert predicted.dtype == object and isinstance(predicted[0, 1], (bool, np.bool_))
    assert np.mean(predicted == y) > 0.9


@pytest.mark.quick
@pytest.mark.parametrize("finder", FINDERS)
def test_targets_that_do_not_vary(finder: str) -> None:
    one = make(Classifier, finder).fit(NUMBERS, ["only"] * N)
    assert one.tree_.node_count == 1 and one.classes_.tolist() == ["only"]
    assert set(one.predict(NUMBERS)) == {"only"}
    assert one.predict_proba(NUMBERS).tolist() == [[1.0]] * N
    assert one.predict_log_proba(NUMBERS).tolist() == [[0.0]] * N
    for value in (7.0, 0.1, 1e300, 5e-324, -0.0):
        flat = make(Regressor, finder).fit(NUMBERS, np.full(N, value))
        assert flat.tree_.node_count == 1 and set(flat.predict(NUMBERS)) == {value}


@pytest.mark.quick
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "friedman_mse"])
def test_targets_near_the_ends_of_the_number_range(criterion: str) -> None:
    """A power of two changes no comparison, so the trees are equal to the last bit."""
    plain = Regressor(criterion=criterion, max_depth=4).fit(NUMBERS, LEVEL)
    for exponent in (1000, 600, 20, -20, -600, -1000):
        scale = 2.0**exponent
        scaled = Regressor(criterion=criterion, max_depth=4).fit(NUMBERS, LEVEL * scale)
        np.testing.assert_array_equal(scaled.tree_.feature, plain.tree_.feature)
        np.testing.assert_array_equal(scaled.tree_.threshold, plain.tree_.threshold)
        np.testing.assert_array_equal(scaled.predict(NUMBERS) / scale, plain.predict(NUMBERS))


# --- bad weights --------------------------------------------------------------------------------


def weights_with(value: float) -> np.ndarray:
    weight = np.ones(40)
    weight[5] = value
    return weight


BAD_WEIGHTS: dict[str, tuple[Any, str]] = {
    "negative": (weights_with(-1.0), r"sample_weight\[5\] is -1.0; weights must be finite and not"),
    "NaN": (weights_with(np.nan), r"sample_weight\[5\] is nan; weights must be finite"),
    "inf": (weights_with(np.inf), r"sample_weight\[5\] is inf; weights must be finite"),
    "None": ([1.0, None] * 20, r"sample_weight\[1\] is nan"),
    "pd.NA": (pd.Series([1, None] * 20, dtype="Int64"), r"sample_weight\[1\] is nan"),
    "zero": (np.zeros(40), "All entries of sample_weight are zero, so there is no row to learn"),
    "short": (np.ones(3), r"sample_weight.shape == \(3,\), expected \(40,\)"),
    "empty": ([], r"sample_weight.shape == \(0,\), expected \(40,\)"),
    "2-D": (np.ones((40, 1)), r"sample_weight.shape == \(40, 1\), expected \(40,\)"),
    "text": (["heavy"] * 40, "sample_weight must hold numbers: .*heavy"),
    "complex": (np.ones(40) * 1j, "sample_weight must hold real numbers.*complex128"),
    "dates": (np.array(["2020"] * 40, "M8[Y]"), "sample_weight must hold real numbers.*datetime"),
    "masked": (np.ma.masked_less(np.arange(40), 3), "sample_weight is a masked array"),
    "ragged": ([[1], [1, 2]] * 20, "sample_weight cannot be read as an array"),
    "dict": ({"a": 1}, "sample_weight must hold numbers"),
}


@pytest.mark.quick
@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize(("weight", "words"), BAD_WEIGHTS.values(), ids=BAD_WEIGHTS.keys())
def test_bad_weights(tree: Any, weight: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make(tree).fit(SMALL, target(tree)[:40], weight)


@pytest.mark.quick
@pytest.mark.parametrize("finder", FINDERS)
@pytest.mark.parametrize("tree", TREES)
def test_huge_and_tiny_weights(tree: Any, finder: str) -> None:
    weight = rng.integers(1, 4, N).astype(float)
    plain = make(tree, finder).fit(NUMBERS, target(tree), weight)
    for exponent in (1000, 600, -600, -1020):  # a power of two changes no comparison
        model = make(tree, finder).fit(NUMBERS, target(tree), weight * 2.0**exponent)
        np.testing.assert_array_equal(model.tree_.feature, plain.tree_.feature)
        np.testing.assert_array_equal(model.tree_.threshold, plain.tree_.threshold)
        np.testing.assert_array_equal(model.tree_.value, plain.tree_.value)
    X = np.arange(200.0).reshape(-1, 1)
    y = target(tree)[:200]
    for scale in (1e300, 1e-300, 1e308):
        model = tree(finder=finder).fit(X, y, np.full(200, scale))
        if tree is Classifier:
            np.testing.assert_array_equal(model.predict(X), y)
        else:  # y * w / w rounds
            np.testing.assert_allclose(model.predict(X), y, rtol=1e-15)


@pytest.mark.quick
def test_huge_weights_of_rows_times_huge_weights_of_classes() -> None:
    small = {"low": 1.0, "middle": 2.0, "high": 3.0}
    large = {label: 2.0**700 * weight for label, weight in small.items()}
    plain = make(Classifier, class_weight=small).fit(NUMBERS, LABEL)
    huge = make(Classifier, class_weight=large).fit(NUMBERS, LABEL, np.full(N, 2.0**700))
    np.testing.assert_array_equal(huge.tree_.feature, plain.tree_.feature)
    np.testing.assert_array_equal(huge.tree_.value, plain.tree_.value)


# --- parameters ---------------------------------------------------------------------------------

NAN, INF = float("nan"), float("inf")
REFUSED: dict[str, list[Any]] = {
    "max_depth": [1e9, -1, 0, NAN, INF, "deep", 3.0],
    "max_bins": [2**31, 256, 1, 0, -1, NAN, 255.0],
    "min_samples_leaf": [0, -1, NAN, 1e9, INF, 1.0],
    "min_samples_split": [0, 1, NAN, 1e9, 1.5],
    "min_weight_fraction_leaf": [NAN, -0.1, 0.6, INF],
    "max_features": [0, -1, NAN, 2.0, "all"],
    "max_leaf_nodes": [0, 1, NAN, 5.0],
    "min_impurity_decrease": [NAN, -1.0, INF],
    "ccp_alpha": [NAN, -1, INF],
    "random_state": ["x", -1, 2**32, 1.5],
    "criterion": ["foo", None, 3],
    "splitter": ["worst"],
    "finder": ["guess"],
    "growth": ["wide"],
    "unseen": ["guess"],
    "category_split": ["all"],
    "categorical_features": ["x"],
    "n_jobs": [0, 1.5, NAN],
}


@pytest.mark.quick
@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("name", REFUSED)
def test_refused_parameters(tree: Any, name: str) -> None:
    for value in REFUSED[name]:
        words = (
            rf"The '{name}' parameter of {tree.__name__} must be .* Got {re.escape(repr(value))}"
        )
        with pytest.raises(ValueError, match=words):
            tree(**{name: value}).fit(SMALL, target(tree)[:40])


HUGE: dict[str, list[Any]] = {
    "max_depth": [10**9, 10**30],
    "max_leaf_nodes": [10**9, 10**30],
    "max_features": [10**9, 10**30],
    "n_jobs": [10**6, 10**30, -(10**6)],
}


@pytest.mark.quick
@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("name", HUGE)
def test_huge_parameters_set_no_limit(tree: Any, name: str) -> None:
    expected = tree(random_state=0).fit(SMALL, target(tree)[:40]).predict(SMALL)
    for value in HUGE[name]:
        model = tree(random_state=0, **{name: value}).fit(SMALL, target(tree)[:40])
        np.testing.assert_array_equal(model.predict(SMALL), expected)


@pytest.mark.quick
@pytest.mark.parametrize("tree", TREES)
def test_huge_limits_leave_a_single_leaf(tree: Any) -> None:
    for params in (
        {"min_samples_leaf": 10**9},
        {"min_samples_leaf": 10**30},
        {"min_samples_split": 10**30},
        {"min_impurity_decrease": 1e308},
        {"ccp_alpha": 1e308},
    ):
        model = tree(**params).fit(SMALL, target(tree)[:40])
        assert model.tree_.node_count == 1, params


@pytest.mark.quick
def test_parameters_that_do_not_fit_the_data() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"categorical_features": [99]}, "position 99, but X has 4 columns"),
        ({"monotonic_cst": [2, 0, 0, 0]}, "array-like of -1, 0 or 1, but got"),
        ({"monotonic_cst": [NAN, 0, 0, 0]}, "array-like of -1, 0 or 1, but got"),
        ({"monotonic_cst": [1]}, "monotonic_cst has shape .* has 4 features"),
        ({"monotonic_cst": {"z": 1}}, "monotonic_cst names 'z'"),
        ({"max_leaf_nodes": 5, "growth": "level"}, "max_leaf_nodes=5 needs growth='leaf'"),
    ]
    for params, words in cases:
        for tree in TREES:
            with pytest.raises(ValueError, match=words):
                tree(**params).fit(SMALL, np.arange(40) % 2)


@pytest.mark.quick
def test_bad_class_weights() -> None:
    cases: list[tuple[Any, str]] = [
        ({0: NAN, 1: 1}, r"class_weight\[0\] is nan; weights must be finite"),
        ({0: 1, 1: -1}, r"class_weight\[1\] is -1; weights must be finite and not negative"),
        ({0: INF}, r"class_weight\[0\] is inf"),
        ({0: "heavy"}, r"class_weight\[0\] is 'heavy'"),
        ({"x": 1}, "class_weight names 'x', which is not a class of y"),
        ({0: 0, 1: 0}, "are zero, so there is no row to learn from"),
        ("foo", "The 'class_weight' parameter"),
    ]
    for weights, words in cases:
        with pytest.raises(ValueError, match=words):
            Classifier(class_weight=weights).fit(SMALL, np.arange(40) % 2)

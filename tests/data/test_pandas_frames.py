"""pandas frames, which are read without narwhals, against the same values in other frames."""

from __future__ import annotations

import gc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam.data import frames
from hornbeam.data.columns import Categories, to_floats
from hornbeam.data.frames import PandasTable
from hornbeam.data.schema import Schema

WORDS = ("red", "blue", "", "green", "Blue")


def narwhals_column(frame, index):
    """The column as `FrameTable` reads it, through narwhals."""
    return frames.FrameTable.column(PandasTable(frame), index)


def assert_same_column(one, other):
    assert type(one) is type(other) and one.dtype == other.dtype
    if isinstance(one, Categories):
        np.testing.assert_array_equal(one.codes, other.codes)
        assert one.labels == other.labels and one.declared == other.declared
    else:
        floats = [to_floats(column, "the column", np.float64) for column in (one, other)]
        np.testing.assert_array_equal(*floats)


COLUMNS = {
    "float64": lambda rng, n: rng.normal(size=n),
    "float32": lambda rng, n: np.where(rng.random(n) < 0.3, np.nan, 1.5).astype(np.float32),
    "int16": lambda rng, n: rng.integers(-9, 9, n).astype(np.int16),
    "uint64": lambda rng, n: rng.integers(0, 9, n).astype(np.uint64),
    "bool": lambda rng, n: rng.random(n) < 0.5,
    "category": lambda rng, n: pd.Categorical.from_codes(rng.integers(-1, 5, n), WORDS),
    "number category": lambda rng, n: pd.Categorical.from_codes(rng.integers(-1, 2, n), [7, 3]),
    "str": lambda rng, n: pd.array(rng.choice(WORDS, n), "str"),
    "string": lambda rng, n: pd.array(rng.choice([*WORDS, None], n), "string"),
    "object": lambda rng, n: rng.choice(np.array([*WORDS, None], object), n),
    "object numbers": lambda rng, n: rng.choice(np.array([1, 2.5, None], object), n),
    "Int64": lambda rng, n: pd.array(rng.choice([1, 2, None], n), "Int64"),
    "boolean": lambda rng, n: pd.array(rng.choice([True, False, None], n), "boolean"),
}


def test_columns_without_what_pandas_keeps_to_itself(monkeypatch):
    """The arrays of columns are had by a method that is not public, and otherwise as well."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({kind: make(rng, 9) for kind, make in COLUMNS.items()})
    known = [PandasTable(frame).column(index) for index in range(len(COLUMNS))]
    monkeypatch.delattr(pd.DataFrame, "_iter_column_arrays")
    for index, column in enumerate(known):
        assert_same_column(PandasTable(frame).column(index), column)


@pytest.mark.quick
@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(sorted(COLUMNS)),
    n_rows=st.sampled_from([1, 2, 30, frames._FEW_STRINGS + 1]),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_column_is_what_narwhals_says(kind, n_rows, seed):
    values = COLUMNS[kind](np.random.default_rng(seed), n_rows)
    frame = pd.DataFrame({"other": np.zeros(n_rows), "a": values})
    assert_same_column(PandasTable(frame).column(1), narwhals_column(frame, 1))


@pytest.mark.quick
@pytest.mark.parametrize("n_rows", [1, 500])
def test_a_pandas_frame_is_read_as_a_polars_frame(n_rows):
    rng = np.random.default_rng(0)
    content = {
        "a": rng.normal(size=500),
        "b": rng.integers(0, 9, 500),
        "c": rng.choice(WORDS, 500),
        "d": rng.random(500) < 0.5,
    }
    schema, whole = Schema.learn(pd.DataFrame(content))
    other, same = Schema.learn(pl.DataFrame(content))
    assert schema.feature_names == other.feature_names
    np.testing.assert_array_equal(whole, same)
    some = {name: values[:n_rows] for name, values in content.items()}
    expected = schema.read(pl.DataFrame(some))
    np.testing.assert_array_equal(schema.read(pd.DataFrame(some)), expected)
    turned = pd.DataFrame({name: some[name] for name in "cadb"})
    np.testing.assert_array_equal(schema.read(turned), expected)


@pytest.mark.quick
@pytest.mark.parametrize(
    "dtypes",
    [["float32", "float32"], ["float64", "int64"], ["int8", "uint16"], ["uint64", "int64"]],
)
def test_numbers_become_one_matrix(dtypes):
    columns = {name: np.arange(3).astype(dtype) for name, dtype in zip("ab", dtypes, strict=True)}
    frame = pd.DataFrame(columns)
    schema, matrix = Schema.learn(frame)
    for rows in (slice(0, 3), slice(1, 2)):
        read = schema.read(frame[rows])
        np.testing.assert_array_equal(read, matrix[rows])
        assert read.dtype in (np.float32, np.float64)
    np.testing.assert_array_equal(schema.read(frame[["b", "a"]]), matrix)


@pytest.mark.quick
def test_numbers_that_a_matrix_would_round_are_named():
    frame = pd.DataFrame({"weight": [0.5, np.nan], "number": [1, 2]})
    schema, _ = Schema.learn(frame)
    exact = frame.assign(number=[2**53, 2**60])
    np.testing.assert_array_equal(schema.read(exact), [[0.5, 2.0**53], [np.nan, 2.0**60]])
    with pytest.raises(ValueError, match=r"column 'number' holds the integer 9007199254740993"):
        schema.read(frame.assign(number=[1, 2**53 + 1]))
    with pytest.raises(ValueError, match=r"column 'weight' holds inf in row 1"):
        schema.read(frame.assign(weight=[0.5, np.inf]))


@pytest.mark.quick
def test_reading_leaves_the_frame_alone():
    frame = pd.DataFrame({"a": [1.0, np.nan], "b": [3.0, 4.0]})
    schema, _ = Schema.learn(frame)
    before = frame.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schema.read(frame)
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.quick
def test_labels_are_kept_as_long_as_the_categories_live():
    before = set(frames._labels)
    frame = pd.DataFrame({"a": pd.Categorical(["x", "y", "x"], categories=["y", "x", "z"])})
    schema, _ = Schema.learn(frame)
    assert schema.columns[0].categories == ("y", "x", "z")
    (kept,) = set(frames._labels) - before
    for row in range(3):
        assert schema.read(frame[row : row + 1])[0, 0] == (row + 1) % 2
    renamed = pd.DataFrame({"a": frame["a"].cat.rename_categories({"x": "z", "z": "x"})})
    np.testing.assert_array_equal(schema.read(renamed)[:, 0], [2, 0, 2])
    del frame, renamed
    gc.collect()
    assert kept not in frames._labels

"""The schema: what is learnt in fit, and how predict holds new tables to it."""

from __future__ import annotations

import copy
import json
import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.data.schema import ColumnSchema, Schema

pytestmark = pytest.mark.quick

NAME = "DecisionTreeClassifier"
PEOPLE = pd.DataFrame(
    {
        "age": [30.0, np.nan, 50.0],
        "city": ["Rome", "Oslo", None],
        "member": [True, False, True],
        "grade": pd.Categorical(["low", "high", "low"], categories=["low", "mid", "high"]),
    }
)


# --- learning ---------------------------------------------------------------------------------


def test_what_is_learnt() -> None:
    schema, matrix = Schema.learn(PEOPLE, NAME)
    assert schema.named and schema.n_features == 4
    assert schema.feature_names == ("age", "city", "member", "grade")
    assert schema.columns[0] == ColumnSchema("age", "number", "float64")
    assert [column.categories for column in schema.columns[1:]] == [
        ("Oslo", "Rome"),
        (False, True),
        ("low", "mid", "high"),
    ]
    assert schema.is_category.tolist() == [False, True, True, True]
    assert schema.n_categories.tolist() == [0, 2, 2, 3]
    np.testing.assert_array_equal(matrix, [[30, 1, 1, 0], [np.nan, 0, 0, 2], [50, np.nan, 1, 0]])


def test_nameless_tables_get_names() -> None:
    for X in (np.ones((2, 3)), pd.DataFrame(np.ones((2, 3)))):
        schema, _ = Schema.learn(X, NAME)
        assert schema.feature_names == ("x0", "x1", "x2") and not schema.named


@pytest.mark.parametrize(
    "column",
    [
        pd.Categorical(["b", "a"], categories=["b", "z", "a"]),
        pl.Series(["b", "a"], dtype=pl.Enum(["b", "z", "a"])),
        pa.DictionaryArray.from_arrays(pa.array([0, 2]), pa.array(["b", "z", "a"])),
        pd.array(["b", "a"], dtype=pd.CategoricalDtype(["b", "z", "a"], ordered=True)),
    ],
    ids=lambda column: type(column).__name__,
)
def test_declared_categories_keep_their_order(column: Any) -> None:
    frame = pl.DataFrame if isinstance(column, pl.Series) else pd.DataFrame
    if isinstance(column, pa.Array):
        frame = pa.table
    schema, matrix = Schema.learn(frame({"c": column}), NAME)
    assert schema.columns[0].categories == ("b", "z", "a")
    assert matrix[:, 0].tolist() == [0, 2]


@pytest.mark.parametrize(
    "chosen", [["a"], [0], np.array([0]), [True, False], np.array([True, False]), ("a",)]
)
def test_chosen_columns_are_categories(chosen: Any) -> None:
    X = pd.DataFrame({"a": [30, 10, 30], "b": [1.0, 2.0, 3.0]})
    schema, matrix = Schema.learn(X, NAME, categorical_features=chosen)
    assert schema.columns[0].categories == (10, 30) and schema.columns[1].kind == "number"
    np.testing.assert_array_equal(matrix, [[1, 1], [0, 2], [1, 3]])


def test_categories_of_numbers_are_whole_where_they_can_be() -> None:
    X = np.array([[1.0, 0.5], [np.nan, 1.5]])
    schema, matrix = Schema.learn(X, NAME, categorical_features=[0, 1])
    assert schema.columns[0].categories == (1,) and schema.columns[1].categories == (0.5, 1.5)
    assert isinstance(schema.columns[0].categories[0], int)
    np.testing.assert_array_equal(matrix, [[0, 0], [np.nan, 1]])


def test_identifiers_beyond_float_can_be_categories() -> None:
    X = np.array([[2**60 + 1], [2**60]])
    schema, matrix = Schema.learn(X, NAME, categorical_features=[0])
    assert schema.columns[0].categories == (2**60, 2**60 + 1)
    assert matrix[:, 0].tolist() == [1, 0]
    assert schema.read(X)[:, 0].tolist() == [1, 0]


@pytest.mark.parametrize("chosen", [None, [], "from_dtype"])
def test_strings_are_categories_whatever_is_chosen(chosen: Any) -> None:
    schema, _ = Schema.learn(PEOPLE, NAME, categorical_features=chosen)
    assert schema.is_category.tolist() == [False, True, True, True]


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        (["wage"], "names 'wage', which is not a column.*'age', 'city'"),
        ([7], "position 7, but X has 4 columns, counted from 0 to 3"),
        ([-1], "position -1"),
        ([True], "mask of 1 bools, but X has 4 columns"),
        ([1.5], "holds 1.5 of type float"),
        ([None], "holds None"),
        ("age", "got 'age'.*list with one entry"),
        (3, "got 3"),
    ],
)
def test_wrong_choice_of_categories(chosen: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Schema.learn(PEOPLE, NAME, categorical_features=chosen)


@pytest.mark.parametrize("unseen", ["ignore", None, ["missing"]])
def test_wrong_unseen(unseen: Any) -> None:
    with pytest.raises(ValueError, match="unseen must be one of 'missing', 'error', 'other'"):
        Schema.learn(PEOPLE, NAME, unseen=unseen)


def test_sparse_matrices_hold_no_categories() -> None:
    X = scipy.sparse.csr_array(np.eye(3))
    with pytest.raises(ValueError, match=r"sparse.*'x1'.*toarray"):
        Schema.learn(X, NAME, categorical_features=[1])
    schema, _ = Schema.learn(np.eye(3), NAME, categorical_features=[1])
    with pytest.raises(ValueError, match=r"sparse.*'x1'"):
        schema.read(X, NAME)


def test_infinite_category() -> None:
    with pytest.raises(ValueError, match=r"infinity.*column 0 holds inf in row 1"):
        Schema.learn(np.array([[1.0], [np.inf]]), NAME, categorical_features=[0])


# --- names ------------------------------------------------------------------------------------


def test_columns_are_matched_by_name_in_any_order() -> None:
    schema, matrix = Schema.learn(PEOPLE, NAME)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(schema.read(PEOPLE[PEOPLE.columns[::-1]], NAME), matrix)
        np.testing.assert_array_equal(schema.read(pl.from_pandas(PEOPLE), NAME), matrix)
        table = pa.Table.from_pandas(PEOPLE).select(["city", "grade", "age", "member"])
        np.testing.assert_array_equal(schema.read(table, NAME), matrix)


def test_missing_and_extra_columns_are_named() -> None:
    schema, _ = Schema.learn(PEOPLE, NAME)
    with pytest.raises(ValueError) as caught:
        schema.read(PEOPLE.rename(columns={"age": "years"}), NAME)
    assert str(caught.value) == (
        "The feature names should match those that were passed during fit.\n"
        "Feature names unseen at fit time:\n- years\n"
        "Feature names seen at fit time, yet now missing:\n- age\n"
    )
    with pytest.raises(ValueError, match=r"yet now missing:\n- city\n$"):
        schema.read(PEOPLE.drop(columns="city"), NAME)
    with pytest.raises(
        ValueError, match=r"unseen at fit time:\n- e0\n- e1\n- e2\n- e3\n- e4\n- \.\.\."
    ):
        schema.read(PEOPLE.assign(**{f"e{i}": 1 for i in range(7)}), NAME)


def test_wrong_number_of_columns() -> None:
    schema, _ = Schema.learn(np.ones((2, 4)), NAME)
    for X in (np.ones((2, 3)), scipy.sparse.csr_array(np.ones((2, 3)))):
        with pytest.raises(
            ValueError,
            match=r"X has 3 features, but DecisionTreeClassifier is expecting 4 features as input",
        ):
            schema.read(X, NAME)


def test_nameless_table_for_named_schema() -> None:
    schema, matrix = Schema.learn(pd.DataFrame({"a": [1.0], "b": [2.0]}), NAME)
    words = "X does not have valid feature names, but DecisionTreeClassifier was fitted with"
    for X in (np.array([[1.0, 2.0]]), [[1, 2]], pd.DataFrame([[1.0, 2.0]])):
        with pytest.warns(UserWarning, match=words):
            np.testing.assert_array_equal(schema.read(X, NAME), matrix)


def test_named_table_for_nameless_schema() -> None:
    schema, matrix = Schema.learn(np.array([[1.0, 2.0]]), NAME)
    words = "X has feature names, but DecisionTreeClassifier was fitted without feature names"
    with pytest.warns(UserWarning, match=words):
        np.testing.assert_array_equal(schema.read(pl.DataFrame({"b": 1.0, "a": 2.0}), NAME), matrix)


# --- kinds and categories in predict ----------------------------------------------------------


def test_number_column_with_strings() -> None:
    schema, _ = Schema.learn(pd.DataFrame({"a": [1.0, 2.0]}), NAME)
    with pytest.raises(ValueError, match=r"'a' held numbers in fit \(float64\) but holds strings"):
        schema.read(pd.DataFrame({"a": ["1", "2"]}), NAME)


def test_category_column_with_numbers() -> None:
    schema, _ = Schema.learn(pd.DataFrame({"a": ["x", "y"]}), NAME)
    with pytest.raises(
        ValueError, match=r"'a' held strings as categories in fit.*numbers or bools"
    ):
        schema.read(pd.DataFrame({"a": [1, 2]}), NAME)
    schema, _ = Schema.learn(pd.DataFrame({"a": [1, 2]}), NAME, categorical_features=["a"])
    with pytest.raises(ValueError, match=r"'a' held numbers or bools as categories.*strings now"):
        schema.read(pd.DataFrame({"a": ["1", "2"]}), NAME)


def test_a_column_without_values_fits_every_kind() -> None:
    schema, _ = Schema.learn(pd.DataFrame({"a": ["x"], "b": [1.0]}), NAME)
    for empty in (None, np.nan, pd.NA):
        X = pd.DataFrame({"a": pd.Series([empty], dtype=object), "b": [empty]})
        assert np.isnan(schema.read(X, NAME)).all()


@pytest.mark.parametrize(
    "new",
    [
        pd.Series([True, False]),
        pd.Series([1, 0]),
        pd.Series([1.0, 0.0]),
        pd.Series([1, 0], dtype="Int8"),
        pd.Series([np.int16(1), np.bool_(False)], dtype=object).astype(bool),
        pd.Categorical([1, 0]),
    ],
    ids=lambda new: str(new.dtype),
)
def test_labels_are_equal_as_in_python(new: Any) -> None:
    schema, _ = Schema.learn(pd.DataFrame({"a": [True, False]}), NAME)
    assert schema.read(pd.DataFrame({"a": new}), NAME)[:, 0].tolist() == [1, 0]


def test_bools_in_a_number_column() -> None:
    schema, _ = Schema.learn(pd.DataFrame({"a": [1, 0]}), NAME)
    assert schema.read(pd.DataFrame({"a": [True, False]}), NAME)[:, 0].tolist() == [1, 0]


def test_other_category_order_in_predict() -> None:
    schema, _ = Schema.learn(PEOPLE[["grade"]], NAME)
    new = pd.DataFrame({"grade": pd.Categorical(["high", "low"], categories=["high", "low"])})
    assert schema.read(new, NAME)[:, 0].tolist() == [2, 0]
    assert schema.read(pl.DataFrame({"grade": ["mid", "low"]}), NAME)[:, 0].tolist() == [1, 0]


def test_unseen_categories() -> None:
    new = pd.DataFrame({"c": ["b", "new", None]})
    expected = {"missing": [1, np.nan, np.nan], "other": [1, 2, np.nan]}
    for unseen, values in expected.items():
        schema, _ = Schema.learn(pd.DataFrame({"c": ["a", "b"]}), NAME, unseen=unseen)
        np.testing.assert_array_equal(schema.read(new, NAME)[:, 0], values)
        assert schema.n_categories.tolist() == [2 + (unseen == "other")]
    schema, _ = Schema.learn(pd.DataFrame({"c": ["a", "b"]}), NAME, unseen="error")
    with pytest.raises(ValueError, match=r"'c' holds categories.*'new' \(first in row 1\)"):
        schema.read(new, NAME)
    declared = pd.DataFrame({"c": pd.Categorical(["a"], categories=["a", "never used"])})
    assert schema.read(declared, NAME).tolist() == [[0.0]]


def test_infinity_in_predict() -> None:
    schema, _ = Schema.learn(np.ones((2, 2)), NAME)
    with pytest.raises(ValueError, match=r"infinity.*column 1 holds inf in row 0"):
        schema.read(np.array([[1.0, np.inf]]), NAME)


@pytest.mark.parametrize("shape", [(0, 2), (2, 0)])
def test_empty_tables_in_predict(shape: tuple[int, int]) -> None:
    schema, _ = Schema.learn(np.ones((2, 2)), NAME)
    with pytest.raises(ValueError, match="while a minimum of 1 is required"):
        schema.read(np.empty(shape), NAME)


def test_sparse_and_dense_are_interchangeable() -> None:
    X = np.eye(3)
    schema, _ = Schema.learn(scipy.sparse.csr_array(X), NAME)
    assert schema.read(X, NAME) is X
    schema, _ = Schema.learn(X, NAME)
    np.testing.assert_array_equal(schema.read(scipy.sparse.coo_array(X), NAME).toarray(), X)


@given(st.lists(st.one_of(st.text(max_size=3), st.none()), min_size=1, max_size=20))
def test_text_agrees_between_libraries(values: list[str | None]) -> None:
    labels = sorted({value for value in values if value is not None})
    expected = [np.nan if value is None else labels.index(value) for value in values]
    column = np.array([*values, "sentinel"], object)[:-1].reshape(-1, 1)
    for X in (
        column,
        pd.DataFrame({"c": values}, dtype=object),
        pd.DataFrame({"c": pd.array(values, dtype="string")}),
        pl.DataFrame({"c": pl.Series(values, dtype=pl.String)}),
        pa.table({"c": pa.array(values, pa.string())}),
    ):
        schema, matrix = Schema.learn(X, NAME)
        np.testing.assert_array_equal(matrix[:, 0], expected)
        np.testing.assert_array_equal(schema.read(X, NAME)[:, 0], expected)


@pytest.mark.parametrize("unseen", ["missing", "other"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_of_numbered_categories_are_read_as_lists_are(unseen: str, dtype: Any) -> None:
    """An array has a way of its own, past the reading of columns."""
    X = np.array([[3.0, 0.5, 7.5], [1.0, 1.5, -0.0], [2.0, np.nan, 0.25]])
    schema, _ = Schema.learn(X, NAME, categorical_features=[0, 2], unseen=unseen)
    new = np.array([[2.0, 5.0, 0.0], [9.0, np.nan, 7.5], [np.nan, 1.0, np.nan], [1.5, 1.0, 0.3]])
    as_objects = schema.read(new.astype(dtype).astype(object), NAME)
    np.testing.assert_array_equal(schema.read(new.astype(dtype), NAME), as_objects)
    np.testing.assert_array_equal(schema.read(new[1:2], NAME), as_objects[1:2])


def test_arrays_of_numbered_categories_that_need_a_sentence() -> None:
    schema, _ = Schema.learn(np.eye(3), NAME, categorical_features=[1], unseen="error")
    with pytest.raises(ValueError, match=r"holds categories.*2 \(first in row 0\)"):
        schema.read(np.full((2, 3), 2.0), NAME)
    for column in (0, 1):
        X = np.eye(3)
        X[1, column] = np.inf
        with pytest.raises(ValueError, match="infinit"):
            schema.read(X, NAME)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_100_000_categories(library: Any) -> None:
    numbers = np.repeat(np.random.default_rng(0).permutation(100_000), 2)
    X = library({"c": [f"category {number:06d}" for number in numbers]})
    schema, matrix = Schema.learn(X, NAME)
    again = schema.read(X, NAME)
    assert schema.n_categories.tolist() == [100_000]
    np.testing.assert_array_equal(matrix[:, 0], numbers)
    np.testing.assert_array_equal(again, matrix)
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


# --- JSON -------------------------------------------------------------------------------------


def test_round_trips() -> None:
    schema, matrix = Schema.learn(PEOPLE, NAME, unseen="other")
    for again in (
        Schema.from_dict(json.loads(json.dumps(schema.to_dict()))),
        pickle.loads(pickle.dumps(schema)),
        copy.deepcopy(schema),
    ):
        assert again == schema and again.unseen == "other"
        np.testing.assert_array_equal(again.read(PEOPLE, NAME), matrix)


COLUMN = {"name": "a", "kind": "category", "dtype": "str", "categories": ["x", 1, 2.5, False]}
WHOLE = {"columns": [COLUMN], "named": True, "unseen": "missing"}


def test_the_hostile_examples_start_from_a_good_one() -> None:
    assert Schema.from_dict(WHOLE).columns[0].categories == ("x", 1, 2.5, False)


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        "schema",
        {},
        {**WHOLE, "extra": 1},
        {**WHOLE, "named": 1},
        {**WHOLE, "named": "yes"},
        {**WHOLE, "unseen": "explode"},
        {**WHOLE, "unseen": None},
        {**WHOLE, "columns": {}},
        {**WHOLE, "columns": []},
        {**WHOLE, "columns": [None]},
        {**WHOLE, "columns": [COLUMN, COLUMN]},
        *(
            {**WHOLE, "columns": [{**COLUMN, **change}]}
            for change in (
                {"name": 3},
                {"name": None},
                {"kind": "date"},
                {"kind": ["category"]},
                {"kind": "number"},
                {"dtype": None},
                {"categories": None},
                {"categories": "abc"},
                {"categories": [["x"]]},
                {"categories": [{}]},
                {"categories": [None]},
                {"categories": [float("nan")]},
                {"categories": [float("inf")]},
                {"categories": ["x", "x"]},
                {"categories": [1, True]},
                {"more": 1},
            )
        ),
    ],
)
def test_nonsense_is_refused(content: Any) -> None:
    with pytest.raises(ValueError, match=r"schema|unseen"):
        Schema.from_dict(content)

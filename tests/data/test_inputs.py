"""Every container gives the same matrix, and every bad input gives a sentence."""

from __future__ import annotations

import datetime as dt
import decimal
import re
import subprocess
import sys
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from hornbeam.data.schema import Schema

pytestmark = pytest.mark.quick


def learn(X: Any, **options: Any) -> tuple[Schema, Any]:
    return Schema.learn(X, "DecisionTreeClassifier", **options)


def matrix_of(X: Any, **options: Any) -> Any:
    return learn(X, **options)[1]


class Stream:
    """Any object that offers Arrow data and nothing else."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


# --- the same matrix from every container -----------------------------------------------------

NUMBERS = np.array([[1.5, -2.0, 0.0], [np.nan, 3.0, 4.0], [0.0, 7.0, 1e-300], [-0.0, 1e300, 2.0]])


def strided(values: np.ndarray) -> np.ndarray:
    wide = np.zeros((2 * values.shape[0], 3 * values.shape[1]), values.dtype)
    wide[::2, ::3] = values
    return wide[::2, ::3]


def misaligned(values: np.ndarray) -> np.ndarray:
    buffer = np.empty(values.nbytes + 1, np.uint8)
    moved = buffer[1:].view(values.dtype).reshape(values.shape)
    moved[:] = values
    return moved


def read_only(values: np.ndarray) -> np.ndarray:
    values = values.copy()
    values.flags.writeable = False
    return values


CONTAINERS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "strided": strided,
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "big endian": lambda X: X.astype(">f8"),
    "read-only": read_only,
    "misaligned": misaligned,
    "long double": lambda X: X.astype(np.longdouble),
    "object": lambda X: X.astype(object),
    "list": lambda X: X.tolist(),
    "tuple of arrays": lambda X: tuple(X),
    "list with None": lambda X: [[None if v != v else v for v in row] for row in X.tolist()],
    "masked": lambda X: np.ma.masked_invalid(X),
    "pandas": pd.DataFrame,
    "pandas nullable": lambda X: pd.DataFrame(X).astype("Float64"),
    "pandas Arrow": lambda X: pd.DataFrame(X).astype("float64[pyarrow]"),
    "pandas object": lambda X: pd.DataFrame(X).astype(object),
    "polars": lambda X: pl.DataFrame(X, schema=["a", "b", "c"]),
    "polars nulls": lambda X: pl.DataFrame(X, schema=["a", "b", "c"], nan_to_null=True),
    "pyarrow": lambda X: pa.table(dict(zip("abc", X.T.copy(), strict=True))),
    "record batch": lambda X: pa.record_batch(dict(zip("abc", X.T.copy(), strict=True))),
    "Arrow stream": lambda X: Stream(pa.table(dict(zip("abc", X.T.copy(), strict=True)))),
    "narwhals": lambda X: nw.from_native(pl.DataFrame(X, schema=["a", "b", "c"])),
    "csr_matrix": scipy.sparse.csr_matrix,
    "csr_array": scipy.sparse.csr_array,
    "csc_array": scipy.sparse.csc_array,
    "coo_array": scipy.sparse.coo_array,
    "lil_array": scipy.sparse.lil_array,
    "dok_array": scipy.sparse.dok_array,
    "bsr_array": scipy.sparse.bsr_array,
}


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_containers_agree(container: Any) -> None:
    X = container(NUMBERS)
    schema, matrix = learn(X)
    assert not schema.is_category.any()
    for got in (matrix, schema.read(container(NUMBERS), "DecisionTreeClassifier")):
        dense = got.toarray() if scipy.sparse.issparse(got) else got
        assert dense.dtype == np.float64
        np.testing.assert_array_equal(dense, NUMBERS)


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_matrices_suit_kernels(container: Any) -> None:
    matrix = matrix_of(container(NUMBERS))
    parts = [matrix]
    if scipy.sparse.issparse(matrix):
        assert matrix.format == "csc" and matrix.has_canonical_format
        parts = [matrix.data, matrix.indices, matrix.indptr]
    for part in parts:
        assert type(part) is np.ndarray
        assert part.flags.aligned and part.flags.writeable and part.dtype.isnative
        assert part.flags.c_contiguous or part.flags.f_contiguous


@given(
    arrays(
        st.sampled_from([np.float64, np.float32, np.int64, np.int8, np.uint32]),
        array_shapes(min_dims=2, max_dims=2, max_side=6),
        elements={"allow_infinity": False},
    )
)
def test_any_numbers_from_any_container(X: np.ndarray) -> None:
    if X.dtype.kind == "i":
        X = np.clip(X, -(2**53), 2**53).astype(X.dtype) if X.dtype.itemsize == 8 else X
    names = [f"f{i}" for i in range(X.shape[1])]
    expected = X.astype(np.float64)
    for table in (
        X,
        np.asfortranarray(X),
        X.tolist(),
        pd.DataFrame(X, columns=names),
        pl.DataFrame(X, schema=names),
        pa.table(dict(zip(names, X.T.copy(), strict=True))),
        scipy.sparse.coo_array(X),
    ):
        matrix = matrix_of(table)
        dense = matrix.toarray() if scipy.sparse.issparse(matrix) else matrix
        np.testing.assert_array_equal(dense, expected)


def test_no_copy_of_contiguous_floats() -> None:
    for dtype in (np.float32, np.float64):
        for order in ("C", "F"):
            X = np.ones((5, 3), dtype, order=order)
            schema, matrix = learn(X)
            assert matrix is X and schema.read(X) is X
            assert np.shares_memory(matrix_of(read_only(X)), X) is False
            frozen = X.view()
            frozen.flags.writeable = False
            assert np.shares_memory(matrix_of(frozen), X)


@pytest.mark.parametrize("to", [pa.Table.from_pandas, pl.from_pandas])
def test_columns_of_a_frame_are_taken_out_all_at_once(
    to: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One by one costs an Arrow table the square of its columns."""
    wide = to(pd.DataFrame(np.ones((2, 300)), columns=[f"c{i}" for i in range(300)]))
    calls, iterate = [], nw.DataFrame.iter_columns
    monkeypatch.setattr(nw.DataFrame, "iter_columns", lambda f: calls.append(f) or iterate(f))
    monkeypatch.delattr(nw.DataFrame, "__getitem__")
    schema, matrix = learn(wide)
    assert matrix.shape == (2, 300) and len(calls) == 1
    np.testing.assert_array_equal(schema.read(wide), matrix)
    assert len(calls) == 2


def test_memmap(tmp_path: Any) -> None:
    np.save(tmp_path / "X.npy", NUMBERS)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_array_equal(matrix_of(mapped), NUMBERS)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.uint8, np.int16, np.uint16])
def test_small_types_become_float32(dtype: Any) -> None:
    X = np.array([[1, 2], [3, 4]], dtype)
    assert matrix_of(X).dtype == np.float32
    assert matrix_of(pd.DataFrame(X)).dtype == np.float32
    assert matrix_of(pd.DataFrame({"a": X[:, 0], "b": [0.1, 0.2]})).dtype == np.float64


# --- kinds of columns -------------------------------------------------------------------------

ROWS = 4
TEXT = ["b", "a", None, "b"]
BOOLS = [True, False, None, True]


@pytest.mark.parametrize(
    "column",
    [
        np.array(TEXT, object),
        pd.Series(TEXT),
        pd.Series(TEXT, dtype="string"),
        pd.Series(TEXT, dtype=pd.ArrowDtype(pa.string())),
        pd.Series(TEXT, dtype=object),
        pd.Series(["b", "a", np.nan, "b"], dtype=object),
        pd.Series(["b", "a", pd.NA, "b"], dtype=object),
        pd.Categorical(TEXT),
        pl.Series(TEXT),
        pl.Series(TEXT, dtype=pl.Categorical),
        pl.Series(TEXT, dtype=pl.Enum(["a", "b"])),
        pa.chunked_array([pa.array(TEXT[:2]), pa.array(TEXT[2:])]),
        pa.chunked_array([pa.array(TEXT, pa.large_string())]),
        pa.chunked_array([pa.array([b"b", b"a", None, b"b"])]),
        pl.Series([b"b", b"a", None, b"b"]),
        np.ma.array(["b", "a", "x", "b"], mask=[0, 0, 1, 0]),
        np.ma.array([b"b", b"a", b"x", b"b"], mask=[0, 0, 1, 0]),
    ],
    ids=lambda column: f"{type(column).__module__}-{getattr(column, 'dtype', 'arrow')}"[:40],
)
def test_strings_are_categories(column: Any) -> None:
    schema, matrix = learn(as_table(column))
    assert schema.columns[0].kind == "category"
    assert schema.columns[0].categories == ("a", "b")
    np.testing.assert_array_equal(matrix[:, 0], [1, 0, np.nan, 1])
    np.testing.assert_array_equal(schema.read(as_table(column)), matrix)


def as_table(column: Any) -> Any:
    if isinstance(column, pl.Series):
        return pl.DataFrame({"c": column})
    if isinstance(column, pa.ChunkedArray):
        return pa.table({"c": column})
    if isinstance(column, np.ndarray):
        return column.reshape(-1, 1)
    return pd.DataFrame({"c": column})


@pytest.mark.parametrize(
    "column",
    [
        np.array(BOOLS, object),
        pd.Series(BOOLS, dtype="boolean"),
        pd.Series(BOOLS, dtype="bool[pyarrow]"),
        pd.Series(BOOLS, dtype=object),
        pl.Series(BOOLS),
        pa.chunked_array([pa.array(BOOLS)]),
        np.ma.array([True, False, True, True], mask=[0, 0, 1, 0]),
    ],
    ids=lambda column: f"{type(column).__module__}-{getattr(column, 'dtype', 'arrow')}"[:40],
)
def test_bools_are_categories(column: Any) -> None:
    schema, matrix = learn(as_table(column))
    assert schema.columns[0].categories == (False, True)
    np.testing.assert_array_equal(matrix[:, 0], [1, 0, np.nan, 1])


def test_strings_beside_numbers_in_lists() -> None:
    schema, matrix = learn([[1, "x", True], [2, "y", False]])
    assert [column.kind for column in schema.columns] == ["number", "category", "category"]
    np.testing.assert_array_equal(matrix, [[1, 0, 1], [2, 1, 0]])


def test_unicode_and_bytes_arrays() -> None:
    for X in (np.array([["é"], ["z"], [""]]), np.array([["é".encode()], [b"z"], [b""]])):
        schema, matrix = learn(X)
        assert schema.columns[0].categories == ("", "z", "é")
        assert matrix[:, 0].tolist() == [2, 1, 0]


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, None],
        [1.0, np.float32(2), np.nan],
        [decimal.Decimal(1), decimal.Decimal("2.0"), None],
        [np.int8(1), 2, pd.NA],
        [1, 2.0, pd.NaT],
    ],
)
def test_objects_that_are_numbers(values: list[Any]) -> None:
    schema, matrix = learn(pd.DataFrame({"a": pd.Series(values, dtype=object)}))
    assert schema.columns[0].kind == "number"
    np.testing.assert_array_equal(matrix[:, 0], [1, 2, np.nan])


def test_a_signalling_nan_is_missing() -> None:
    signal, plain = decimal.Decimal("sNaN"), decimal.Decimal("NaN")
    frame = pd.DataFrame({"a": pd.Series([signal, plain, decimal.Decimal(2)], dtype=object)})
    np.testing.assert_array_equal(matrix_of(frame)[:, 0], [np.nan, np.nan, 2.0])
    schema, _ = learn(pd.DataFrame({"a": pd.Series([signal, "u", "v"], dtype=object)}))
    assert schema.columns[0].categories == ("u", "v")


def test_wide_numbers_are_the_categories_that_float64_makes_of_them() -> None:
    near = np.longdouble(1) + np.finfo(np.longdouble).eps  # 1.0 as float64
    X = np.array([[1.0], [near], [2.0]], np.longdouble)
    schema, matrix = learn(X, categorical_features=[0])
    assert matrix[0] == matrix[1] != matrix[2] and schema.n_categories.tolist() == [2]
    if np.finfo(np.longdouble).max > np.finfo(np.float64).max:
        with pytest.raises(ValueError, match="too large"):
            schema.read(X * np.longdouble(10) ** 400)


def test_decimals_are_numbers() -> None:
    values = [decimal.Decimal("1.25"), None]
    for X in (pl.DataFrame({"a": values}), pa.table({"a": values})):
        np.testing.assert_array_equal(matrix_of(X)[:, 0], [1.25, np.nan])


def test_nullable_integers_keep_their_value() -> None:
    large = 2**53 - 1
    for X in (
        pd.DataFrame({"a": pd.array([large, None], dtype="Int64")}),
        pd.DataFrame({"a": pd.array([large, None], dtype="int64[pyarrow]")}),
        pl.DataFrame({"a": [large, None]}),
        pl.DataFrame({"a": pl.Series([large, None], dtype=pl.Int128)}),
        pa.table({"a": [large, None]}),
    ):
        np.testing.assert_array_equal(matrix_of(X)[:, 0], [large, np.nan])


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([None, None], dtype=object),
        pl.Series([None, None]),
        pa.chunked_array([pa.nulls(2)]),
        np.array([None, np.nan], object),
        pl.Series([None, None], dtype=pl.String),
        pd.Series([None, None], dtype="string"),
        pl.Series([None, None], dtype=pl.Categorical),
    ],
    ids=str,
)
def test_columns_without_any_value(column: Any) -> None:
    schema, matrix = learn(as_table(column))
    assert np.isnan(matrix).all()
    assert np.isnan(schema.read(as_table(column))).all()


def test_pandas_sparse_columns() -> None:
    X = pd.DataFrame({"a": pd.arrays.SparseArray([0, 0, 2]), "b": [1.0, 2.0, 3.0]})
    np.testing.assert_array_equal(matrix_of(X), [[0, 1], [0, 2], [2, 3]])


def test_intervals_are_named_by_their_text() -> None:
    schema, _ = learn(pd.DataFrame({"age": pd.cut([1, 30, 70], [0, 18, 65, 99])}))
    assert schema.columns[0].categories == ("(0, 18]", "(18, 65]", "(65, 99]")


# --- sparse matrices --------------------------------------------------------------------------


def test_sparse_oddities_are_settled_on_a_copy() -> None:
    data = np.array([5.0, 0.0, 2.0, 3.0])
    indices, indptr = np.array([2, 0, 1, 1]), np.array([0, 2, 4])
    X = scipy.sparse.csr_array((data, indices, indptr), shape=(2, 3))
    before = (X.data.copy(), X.indices.copy())
    schema, matrix = learn(X)
    np.testing.assert_array_equal(matrix.toarray(), [[0, 0, 5], [0, 5, 0]])
    read = schema.read(X)
    assert read.format == "csr" and read.has_canonical_format
    np.testing.assert_array_equal(read.toarray(), [[0, 0, 5], [0, 5, 0]])
    np.testing.assert_array_equal(X.data, before[0])
    np.testing.assert_array_equal(X.indices, before[1])


def test_sparse_duplicates_do_not_overflow() -> None:
    entries = (np.array([100, 100], np.int8), ([0, 0], [1, 1]))
    assert matrix_of(scipy.sparse.coo_array(entries, shape=(2, 2))).toarray()[0, 1] == 200


def test_sparse_index_types_are_few() -> None:
    X = scipy.sparse.csr_array(NUMBERS)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    assert matrix_of(X).indices.dtype == matrix_of(X).indptr.dtype == np.int32


def test_sparse_matrix_of_objects() -> None:
    X = scipy.sparse.csr_array(NUMBERS)
    X.data = X.data.astype(object)
    with pytest.raises(TypeError, match=r"sparse.*astype"):
        learn(X)


@pytest.mark.parametrize("container", [scipy.sparse.csr_array, scipy.sparse.csc_matrix])
def test_broken_sparse_matrix(container: Any) -> None:
    X = container(NUMBERS)
    X.indices[0] = 99
    with pytest.raises(ValueError, match="sparse matrix X is broken"):
        learn(X)
    X = scipy.sparse.coo_matrix(NUMBERS)
    X.row[0] = 99
    with pytest.raises(ValueError, match="sparse matrix X is broken"):
        learn(X)


# --- bad input: the error says which column, which value, and the way out ---------------------

DAY = dt.datetime(2020, 1, 1)
BAD = {
    "1-D": (np.arange(3.0), ValueError, "Expected 2D array, got 1D array instead.*[Rr]eshape"),
    "1-D list": ([1.0, 2.0], ValueError, "Expected 2D array, got 1D array instead"),
    "scalar": (3.0, ValueError, "Expected 2D array, got scalar array instead"),
    "None": (None, ValueError, "Expected 2D array, got scalar"),
    "3-D": (np.ones((2, 2, 2)), ValueError, "Found array with dim 3, while dim <= 2 is required"),
    "series": (pd.Series([1.0]), ValueError, "Expected a 2-dimensional container.*Series"),
    "polars series": (pl.Series([1.0]), ValueError, "Expected a 2-dimensional container"),
    "1-D sparse": (
        scipy.sparse.coo_array(np.ones(3)),
        ValueError,
        "Expected 2D input, got input with shape",
    ),
    "0 rows": (
        np.empty((0, 3)),
        ValueError,
        r"Found array with 0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required",
    ),
    "0 columns": (
        np.empty((12, 0)),
        ValueError,
        r"0 feature\(s\) \(shape=\(12, 0\)\) while a minimum of 1 is required",
    ),
    "0 columns, pandas": (pd.DataFrame(index=range(3)), ValueError, r"0 feature\(s\)"),
    "0 rows, polars": (pl.DataFrame({"a": []}), ValueError, r"0 sample\(s\)"),
    "0 rows, sparse": (scipy.sparse.csr_array((0, 2)), ValueError, r"0 sample\(s\)"),
    "empty list": ([], ValueError, "Expected 2D array"),
    "ragged": ([[1.0, 2.0], [3.0]], ValueError, "row 0 has 2 values, row 1 has 1"),
    "ragged strings": ([["a", "b"], ["c"]], ValueError, "row 0 has 2 values, row 1 has 1"),
    "complex": (np.ones((2, 2)) * 1j, ValueError, "Complex data not supported"),
    "complex list": ([[1j]], ValueError, "Complex data not supported"),
    "complex object": (np.array([[1j]], object), ValueError, "Complex data not supported"),
    "complex sparse": (scipy.sparse.csr_array([[1j]]), ValueError, "Complex data not supported"),
    "complex pandas": (pd.DataFrame({"a": [1j]}), ValueError, "Complex data not supported.*'a'"),
    "structured": (np.zeros(2, [("a", "f8")]), TypeError, "structured.*DataFrame"),
    "inf": (np.array([[1.0, np.inf]]), ValueError, "infinity.*column 1 holds inf in row 0"),
    "inf Fortran": (
        np.asfortranarray([[1.0, 2.0], [3.0, -np.inf]]),
        ValueError,
        "infinity.*column 1 holds -inf in row 1",
    ),
    "inf float32": (np.array([[np.inf]], np.float32), ValueError, "infinity.*float32"),
    "inf float16": (np.array([[np.inf]], np.float16), ValueError, "infinity.*float16"),
    "too large": (np.array([["1e4000"]], np.longdouble), ValueError, "too large"),
    "inf pandas": (pd.DataFrame({"a": [1.0, np.inf]}), ValueError, "infinity.*'a'.*row 1"),
    "inf polars": (pl.DataFrame({"a": [1.0, -np.inf]}), ValueError, "infinity.*'a'.*row 1"),
    "inf sparse": (
        scipy.sparse.csr_array([[0.0, 0.0], [0.0, np.inf]]),
        ValueError,
        "infinity.*column 1 holds inf in row 1",
    ),
    "large int": (
        np.array([[1], [2**53 + 1]]),
        ValueError,
        "column 0 holds the integer 9007199254740993 in row 1.*2\\*\\*53.*categorical_features",
    ),
    "large int, list": ([[0.5, 2**53 + 1]], ValueError, "column 1 .*9007199254740993"),
    "large uint": (np.array([[2**64 - 1]], np.uint64), ValueError, "18446744073709551615"),
    "negative": (np.array([[-(2**63) + 1]]), ValueError, "-9223372036854775807"),
    "huge int": ([[10**400]], ValueError, "integer 1000.*drop the column"),
    "large int, Int64": (
        pd.DataFrame({"id": pd.array([2**53 + 1, None], dtype="Int64")}),
        ValueError,
        "'id' holds the integer 9007199254740993",
    ),
    "large int, polars": (pl.DataFrame({"id": [None, 2**53 + 1]}), ValueError, "'id'.*row 1"),
    "large int, sparse": (
        scipy.sparse.coo_array(([2**53 + 1], ([1], [2])), shape=(3, 3)),
        ValueError,
        "column 2 holds the integer 9007199254740993 in row 1",
    ),
    "dict in objects": (
        np.array([[0.5], [{"foo": "bar"}]], object),
        TypeError,
        "column 0 holds.*foo.*dict in row 1.*argument must be .* string.* number",
    ),
    "mixed": (
        pd.DataFrame({"a": pd.Series([1, "x"], dtype=object)}),
        TypeError,
        "'a' holds 'x' of type str in row 1, but 1 of type int.*must be .* string.* number",
    ),
    "mixed after many": (
        pd.DataFrame({"a": pd.Series(["x"] * 200 + [3], dtype=object)}),
        TypeError,
        "'a' holds 3 of type int in row 200",
    ),
    "bool and number": (np.array([[True], [0.5]], object), TypeError, "0.5 of type float"),
    "tuples": (pd.DataFrame({"a": [(1, 2)]}), TypeError, "'a' holds \\(1, 2\\) of type tuple"),
    "lists": (pl.DataFrame({"l": [[1, 2]]}), TypeError, "'l'.*nested.*own"),
    "structs": (pl.DataFrame({"s": [{"a": 1}]}), TypeError, "'s'.*nested"),
    "lists, Arrow": (pa.table({"l": [[1, 2]]}), TypeError, "'l'.*nested"),
    "lazy": (pl.LazyFrame({"a": [1]}), TypeError, "LazyFrame.*collect"),
    "duplicates": (
        pd.DataFrame(np.ones((1, 3)), columns=["a", "b", "a"]),
        ValueError,
        "same name: 'a'.*Rename",
    ),
    "duplicates, Arrow": (
        pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]),
        ValueError,
        "same name: 'a'",
    ),
    "duplicates, stream": (
        Stream(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])),
        ValueError,
        "same name.*'a'",
    ),
    "mixed names": (
        pd.DataFrame(np.ones((1, 2)), columns=["a", 1]),
        TypeError,
        "Feature names are only supported if all input features have string names",
    ),
}


@pytest.mark.parametrize(("X", "error", "words"), BAD.values(), ids=BAD.keys())
def test_bad_input(X: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        learn(X)
    assert re.search(words, str(caught.value), re.DOTALL), str(caught.value)


def test_masked_entries_are_missing_whatever_they_hide() -> None:
    X = np.ma.array([[np.inf, 1.0], [2.0, 3.0]], mask=[[True, False], [False, False]])
    np.testing.assert_array_equal(matrix_of(X), [[np.nan, 1], [2, 3]])
    X = np.ma.array([[2**53 + 1], [5]], mask=[[True], [False]])
    np.testing.assert_array_equal(matrix_of(X), [[np.nan], [5]])


def test_exact_large_integers_are_fine() -> None:
    X = np.array([[2**53], [2**60], [-(2**63)]])
    assert matrix_of(X)[:, 0].tolist() == [2.0**53, 2.0**60, -(2.0**63)]


def test_lists_of_float_and_large_exact_integers() -> None:
    np.testing.assert_array_equal(matrix_of([[0.5, 2**60], [1e300, 1]]), [[0.5, 2**60], [1e300, 1]])


def test_data_frame_libraries_are_not_imported() -> None:
    code = (
        "import sys, numpy as np\n"
        "from hornbeam.data.schema import Schema\n"
        "schema, _ = Schema.learn(np.ones((2, 2)))\n"
        "schema.read([[1, 2]])\n"
        "Schema.learn([['a'], ['b']])\n"
        "print({'pandas', 'polars', 'pyarrow'} & set(sys.modules))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.strip() == "set()", result.stderr

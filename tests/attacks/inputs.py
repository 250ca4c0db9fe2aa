"""Nasty tables, targets and weights for every estimator: a model or a sentence, nothing else.

Each is learnt from, and each is also predicted by a model of a good table.
"""

from __future__ import annotations

import datetime
import decimal
import fractions
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import polars
import pyarrow
import scipy.sparse

from benchmarks.datasets import Array
from tests.attacks.bounds import ask
from tests.attacks.estimators import NAMES, class_of, few_of
from tests.attacks.guard import Attack, Failure, is_sentence

KINDS = NAMES
N = 40


def numbers() -> Array:
    return np.random.default_rng(0).normal(size=(N, 3)).round(1)


def but(place: Any, value: Any, start: Any = None) -> Any:
    """The good table, or what is given, with another value somewhere."""
    table = numbers() if start is None else start
    table[place] = value
    return table


def words(*more: Any) -> pd.DataFrame:
    return pd.DataFrame({"a": [*"uvwx"] * 9 + ["u"] * (4 - len(more)) + list(more), "b": range(N)})


def column(values: Any) -> pd.DataFrame:
    """A frame with a column of these values beside a good one."""
    return pd.DataFrame({"odd": pd.Series(list(values), dtype=object), "good": range(len(values))})


def repeated(*values: Any) -> list[Any]:
    return (list(values) * N)[:N]


class Strange:
    """An object that cannot even be compared or printed."""

    def __repr__(self) -> str:
        raise RuntimeError("no name")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    __hash__ = None  # type: ignore[assignment]


DAY = datetime.datetime(2020, 1, 1)
NEW_ROWS: dict[str, Callable[[], Any]] = {
    "gap": lambda: but((0, 0), np.nan),
    "column of gaps": lambda: but((slice(None), 1), np.nan),
    "all gaps": lambda: np.full((N, 3), np.nan),
    "inf": lambda: but((3, 1), np.inf),
    "-inf": lambda: but((3, 1), -np.inf),
    "1e306": lambda: numbers() * 1e306,
    "largest": lambda: but((0, 0), np.finfo(float).max, but((1, 0), np.finfo(float).min)),
    "smallest": lambda: numbers() * 5e-324,
    "minus zero": lambda: but((slice(None, None, 2), 0), -0.0, but((slice(None), 0), 0.0)),
    "no rows": lambda: numbers()[:0],
    "no columns": lambda: numbers()[:, :0],
    "nothing": lambda: np.empty((0, 0)),
    "one row": lambda: numbers()[:1],
    "two rows": lambda: numbers()[:2],
    "one column": lambda: numbers()[:, :1],
    "flat": lambda: numbers().ravel()[:N],
    "three dimensions": lambda: numbers()[None],
    "a number": lambda: 3.0,
    "None": lambda: None,
    "a word": lambda: "table",
    "a dict": lambda: {"a": [1.0] * N, "b": [2.0] * N},
    "a set": lambda: {1.0, 2.0},
    "a generator": lambda: (row for row in numbers()),
    "a function": lambda: numbers,
    "lists": lambda: numbers().tolist(),
    "ragged lists": lambda: [[1.0, 2.0, 3.0]] * (N - 1) + [[1.0]],
    "nested lists": lambda: [[[1.0], [2.0], [3.0]]] * N,
    "lists in cells": lambda: column([[1, 2]] * N),
    "dicts in cells": lambda: column([{"a": 1}] * N),
    "arrays in cells": lambda: column([np.arange(2)] * N),
    "sets in cells": lambda: column(repeated(frozenset({1}), frozenset({2}))),
    "tuples in cells": lambda: column(repeated((1, 2), (3,))),
    "mixed lists": lambda: [["a", 1.0, None], ["b", 2.0, True]] * (N // 2),
    "mixed types": lambda: column(repeated("a", 1, 2.5, None, True, np.nan)),
    "text and bytes": lambda: column(repeated("a", b"a", "b")),
    "bytes": lambda: np.array(repeated(b"a", b"b")).reshape(N, 1),
    "text numbers": lambda: column(repeated("1", "2.5", "-3")),
    "truths and words": lambda: column(repeated(True, False, "True", "False")),
    "numbers as objects": lambda: numbers().astype(object),
    "None among objects": lambda: but((0, 0), None, numbers().astype(object)),
    "huge whole numbers": lambda: column(repeated(2**70, 2**70 + 1, -(2**70))),
    "more than a float": lambda: column(repeated(10**400, 1, 2)),
    "int64 ends": lambda: np.array([[2**63 - 1, -(2**63)]] * N),
    "uint64 ends": lambda: np.array([[2**64 - 1, 0], [2**64 - 2, 1]] * (N // 2), np.uint64),
    "next whole numbers": lambda: np.arange(2**53, 2**53 + N).reshape(N, 1),
    "decimals": lambda: column([decimal.Decimal(i) / 3 for i in range(N)]),
    "decimal NaN": lambda: column(repeated(decimal.Decimal("NaN"), decimal.Decimal("sNaN"))),
    "fractions": lambda: column([fractions.Fraction(i, 7) for i in range(N)]),
    "complex": lambda: numbers() * 1j,
    "complex objects": lambda: column(repeated(1j, 2.0)),
    "float16": lambda: numbers().astype(np.float16),
    "longdouble": lambda: numbers().astype(np.longdouble) * np.longdouble(10) ** 400,
    "big endian": lambda: numbers().astype(">f8"),
    "unaligned": lambda: (
        np.frombuffer(b"\0" + numbers().tobytes(), np.uint8)[1:].view(np.float64).reshape(N, 3)
    ),
    "strided": lambda: np.repeat(numbers(), 2, axis=0)[::-2, ::-1],
    "read-only": lambda: np.broadcast_to(numbers()[:1], (N, 3)),
    "masked": lambda: np.ma.masked_array(numbers(), numbers() > 0),
    "matrix": lambda: np.matrix(numbers()),
    "structured": lambda: np.zeros(N, [("a", float), ("b", int)]),
    "dates": lambda: pd.DataFrame({"when": pd.date_range("2020", periods=N), "x": range(N)}),
    "no dates": lambda: pd.DataFrame({"when": [pd.NaT] * N, "x": range(N)}),
    "time spans": lambda: pd.DataFrame({"long": pd.to_timedelta(range(N), unit="h")}),
    "dates as objects": lambda: column([DAY] * N),
    "datetime64": lambda: np.full((N, 2), np.datetime64("2020")),
    "periods": lambda: pd.DataFrame({"p": pd.period_range("2020", periods=N, freq="D")}),
    "intervals": lambda: pd.DataFrame({"i": pd.cut(numbers()[:, 0], 4)}),
    "same name twice": lambda: pd.DataFrame(numbers(), columns=["a", "b", "a"]),
    "names of numbers": lambda: pd.DataFrame(numbers(), columns=[0, 1, 2]),
    "mixed names": lambda: pd.DataFrame(numbers(), columns=["a", 1, None]),
    "NaN names": lambda: pd.DataFrame(numbers(), columns=[np.nan, "b", np.nan]),
    "tuple names": lambda: pd.DataFrame(numbers(), columns=[("a", 1), ("a", 2), ("b", 1)]),
    "odd names": lambda: pd.DataFrame(numbers(), columns=["", "\n", "\u0000"]),
    "levels of names": lambda: pd.DataFrame(
        numbers(), columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)])
    ),
    "odd index": lambda: pd.DataFrame(numbers(), index=[7] * N),
    "series": lambda: pd.Series(numbers()[:, 0]),
    "words": words,
    "empty words": lambda: words("", " ", "\n"),
    "odd words": lambda: words("\u0000", "a" * 100_000),
    "half of a character": lambda: np.array([["\ud800", 1.0], ["b", 2.0]] * (N // 2), object),
    "words by case": lambda: words("U", "u ", "\uff55"),
    "one word": lambda: pd.DataFrame({"a": ["u"] * N}),
    "a word per row": lambda: pd.DataFrame({"a": [f"row {i}" for i in range(N)]}),
    "all missing words": lambda: pd.DataFrame({"a": pd.Series([None] * N, dtype=object)}),
    "missing of all sorts": lambda: column(repeated(None, np.nan, pd.NA, pd.NaT, "a")),
    "empty categories": lambda: pd.DataFrame({"a": pd.Categorical([None] * N, categories=[])}),
    "categories of lists": lambda: pd.DataFrame({"a": pd.Categorical(repeated((1,), (2,)))}),
    "categories of numbers": lambda: pd.DataFrame({"a": pd.Categorical(repeated(1.5, 2, -1))}),
    "categories of dates": lambda: pd.DataFrame({"a": pd.Categorical(repeated(DAY))}),
    "many categories": lambda: pd.DataFrame(
        {"a": pd.Categorical(repeated("c1", "c2"), categories=[f"c{i}" for i in range(5_000)])}
    ),
    "nullable": lambda: pd.DataFrame({"a": pd.array(repeated(1, None, 3), dtype="Int64")}),
    "nullable truths": lambda: pd.DataFrame({"a": pd.array(repeated(True, None), "boolean")}),
    "string type": lambda: pd.DataFrame({"a": pd.array(repeated("u", None), "string")}),
    "pandas sparse": lambda: pd.DataFrame(numbers()).astype(pd.SparseDtype(float, 0.0)),
    "strange objects": lambda: column([Strange()] * N),
    "classes as values": lambda: column([int, str] * (N // 2)),
    "csr": lambda: scipy.sparse.csr_matrix(numbers()),
    "csr of nothing": lambda: scipy.sparse.csr_matrix((N, 3)),
    "csr without rows": lambda: scipy.sparse.csr_matrix((0, 3)),
    "coo, twice": lambda: scipy.sparse.coo_matrix((np.ones(4), ([0] * 4, [1] * 4)), (N, 3)),
    "csr with NaN": lambda: scipy.sparse.csr_matrix(but((0, 0), np.nan)),
    "csr with inf": lambda: scipy.sparse.csr_matrix(but((0, 0), np.inf)),
    "csr of truths": lambda: scipy.sparse.csr_matrix(numbers() > 0),
    "csr of complex": lambda: scipy.sparse.csr_matrix(numbers() * 1j),
    "csr that lies": lambda: _lying(),
    "unsorted csr": lambda: _unsorted(),
    "lil": lambda: scipy.sparse.lil_matrix(numbers()),
    "polars": lambda: polars.DataFrame(numbers()),
    "polars nulls": lambda: polars.DataFrame({"a": [None] * N, "b": repeated("u", None)}),
    "polars lists": lambda: polars.DataFrame({"a": [[1, 2]] * N}),
    "polars lazy": lambda: polars.DataFrame(numbers()).lazy(),
    "arrow": lambda: pyarrow.table({"a": repeated(1.0, None), "b": repeated("u", None)}),
    "arrow, same name": lambda: pyarrow.table(
        [pyarrow.array(range(N)), pyarrow.array(range(N))], names=["a", "a"]
    ),
    "arrow decimals": lambda: pyarrow.table({"a": [decimal.Decimal("1.5")] * N}),
    "arrow chunks": lambda: pyarrow.concat_tables([pyarrow.table({"a": [1.0]})] * N),
    "arrow dictionary": lambda: pyarrow.table(
        {"a": pyarrow.array(repeated("u", "v", None)).dictionary_encode()}
    ),
}


def _lying() -> Any:
    """A sparse matrix whose indices point outside of it."""
    matrix = scipy.sparse.csr_matrix(numbers())
    matrix.indices[5] = 10_000
    return matrix


def _unsorted() -> Any:
    matrix = scipy.sparse.csr_matrix(numbers())
    matrix.indices[:2], matrix.data[:2] = matrix.indices[:2][::-1].copy(), matrix.data[:2][::-1]
    matrix.has_sorted_indices = False
    return matrix


CLASSES = np.arange(N) % 3
VALUES = np.sin(np.arange(N))
NEW_TARGETS: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "a number": lambda: 1,
    "a word": lambda: "target",
    "too short": lambda: CLASSES[:-1],
    "too long": lambda: np.arange(N + 1),
    "nothing": lambda: [],
    "one value": lambda: np.zeros(N),
    "one value, 1e306": lambda: np.full(N, 1e306),
    "1e306": lambda: VALUES * 1e306,
    "largest": lambda: but(0, np.finfo(float).max, but(1, np.finfo(float).min, VALUES.copy())),
    "smallest": lambda: np.sign(VALUES) * 5e-324,
    "1e-200": lambda: VALUES * 1e-200,
    "one is 1e300": lambda: but(0, 1e300, VALUES.copy()),
    "far from zero": lambda: 1e15 + VALUES,
    "NaN": lambda: but(0, np.nan, VALUES.copy()),
    "inf": lambda: but(0, np.inf, VALUES.copy()),
    "None inside": lambda: but(0, None, CLASSES.astype(object)),
    "minus zero": lambda: np.where(CLASSES > 0, 0.0, -0.0),
    "negative": lambda: -1.0 - CLASSES,
    "huge whole numbers": lambda: [2**70 + i % 2 for i in range(N)],
    "more than a float": lambda: [10**400 + i % 2 for i in range(N)],
    "truths": lambda: CLASSES > 0,
    "words": lambda: np.array(["a", "b", "c"])[CLASSES],
    "words and numbers": lambda: np.array(["a", 1, 2.5], dtype=object)[CLASSES],
    "bytes": lambda: np.array([b"a", b"b", b"c"])[CLASSES],
    "lists": lambda: [[1, 2]] * N,
    "ragged": lambda: [[1]] * (N - 1) + [[1, 2]],
    "a row": lambda: CLASSES[None],
    "a column": lambda: CLASSES[:, None],
    "two columns": lambda: np.column_stack([CLASSES, CLASSES]),
    "no columns": lambda: np.empty((N, 0)),
    "three dimensions": lambda: CLASSES[:, None, None],
    "complex": lambda: VALUES * 1j,
    "dates": lambda: pd.date_range("2020", periods=N),
    "time spans": lambda: pd.to_timedelta(range(N), unit="h"),
    "categories": lambda: pd.Categorical(repeated("a", "b")),
    "missing categories": lambda: pd.Series(pd.Categorical(repeated("a", None))),
    "series, odd index": lambda: pd.Series(CLASSES, index=range(100, 100 + N)),
    "frame": lambda: pd.DataFrame({"y": CLASSES}),
    "sparse": lambda: scipy.sparse.csr_matrix(CLASSES[:, None]),
    "masked": lambda: np.ma.masked_array(VALUES, VALUES > 0),
    "a class per row": lambda: np.arange(N),
    "float classes": lambda: CLASSES + 0.5,
    "strange objects": lambda: [Strange()] * N,
    "dict": lambda: dict.fromkeys(range(N), 1),
    "nullable": lambda: pd.array(repeated(1, None), dtype="Int64"),
    "polars": lambda: polars.Series(CLASSES),
}
NEW_WEIGHTS: dict[str, Callable[[], Any]] = {
    "zeros": lambda: np.zeros(N),
    "one row": lambda: but(0, 1.0, np.zeros(N)),
    "minus zero": lambda: -np.zeros(N),
    "negative": lambda: but(0, -1.0, np.ones(N)),
    "all negative": lambda: -np.ones(N),
    "NaN": lambda: but(0, np.nan, np.ones(N)),
    "inf": lambda: but(0, np.inf, np.ones(N)),
    "1e300": lambda: np.full(N, 1e300),
    "largest": lambda: np.full(N, np.finfo(float).max),
    "1e-300": lambda: np.full(N, 1e-300),
    "smallest": lambda: np.full(N, 5e-324),
    "far apart": lambda: np.geomspace(1e-300, 1e300, N),
    "one class": lambda: (CLASSES == 0).astype(float),
    "too short": lambda: np.ones(N - 1),
    "too long": lambda: np.ones(N + 1),
    "a number": lambda: 2.0,
    "no number": lambda: np.nan,
    "words": lambda: ["heavy"] * N,
    "text numbers": lambda: ["1"] * N,
    "None inside": lambda: [None] + [1.0] * (N - 1),
    "a column": lambda: np.ones((N, 1)),
    "a row": lambda: np.ones((1, N)),
    "complex": lambda: np.ones(N) * 1j,
    "truths": lambda: CLASSES > 0,
    "huge whole numbers": lambda: [2**70] * N,
    "dict": lambda: {0: 1.0},
    "sparse": lambda: scipy.sparse.csr_matrix(np.ones((N, 1))),
    "series, odd index": lambda: pd.Series(np.ones(N), index=range(100, 100 + N)),
    "dates": lambda: pd.date_range("2020", periods=N),
}
# What is done with one of the nasty things.
CASES = [
    *[("learn from", name) for name in NEW_ROWS],
    *[("learn from and gaps", name) for name in NEW_ROWS],
    *[("predict", name) for name in NEW_ROWS],
    *[("predict by words", name) for name in NEW_ROWS],
    *[("target", name) for name in NEW_TARGETS],
    *[("weights", name) for name in NEW_WEIGHTS],
    *[("target and zero weight", name) for name in NEW_TARGETS],
    *[("mixed up", name) for name in NEW_TARGETS],
]
ROUNDS = dict.fromkeys(KINDS, len(CASES))


def attack(attack: Attack, number: int) -> str:
    """Give one nasty thing to an estimator."""
    what, name = CASES[number % len(CASES)]
    try:
        with np.errstate(all="ignore"):
            return ACTIONS[what](attack.kind, name)
    except Exception as error:
        if is_sentence(error):
            return "refused"
        raise Failure(f"{attack.kind}: {what} {name!r}") from error


def _new(kind: str) -> Any:
    more = {"numeric": "categories"} if kind == "ID3Classifier" else {}
    return class_of(kind)(**few_of(kind), **more)


def _good_target(kind: str, n_rows: int = N) -> Any:
    return VALUES[:n_rows] if kind.endswith("Regressor") else CLASSES[:n_rows]


def _more(kind: str, n_rows: int = N) -> dict[str, Any]:
    return {"group": [n_rows]} if kind.endswith("Ranker") else {}


def _learnt(kind: str, X: Any, y: Any, **more: Any) -> str:
    model = _new(kind).fit(X, y, **_more(kind, _length(X)), **more)
    ask(model, X if hasattr(X, "shape") else np.asarray(numbers()[:, : model.n_features_in_]))
    return "learnt from"


def _length(X: Any) -> int:
    return X.shape[0] if getattr(X, "shape", ()) else N


def _learn(kind: str, name: str) -> str:
    X = NEW_ROWS[name]()
    return _learnt(kind, X, _good_target(kind, _length(X)))


def _learn_gaps(kind: str, name: str) -> str:
    """The same in a model that has other ways: two threads, subsets, own bins."""
    X = NEW_ROWS[name]()
    model = _new(kind)
    odd = {"n_jobs": 2, "unseen": "other", "finder": "histogram", "max_bins": 2}
    odd |= {"category_split": "one_vs_rest", "extension_level": 1, "kind": "patches"}
    known = {key: odd[key] for key in odd if key in model.get_params(deep=False)}
    model.set_params(**known)
    model.fit(X, _good_target(kind, _length(X)), **_more(kind, _length(X)))
    ask(model, X if hasattr(X, "shape") else numbers()[:, : model.n_features_in_])
    return "learnt from"


@lru_cache(maxsize=4)
def _good_model(kind: str, with_words: bool) -> Any:
    X = words() if with_words else numbers()
    return _new(kind).fit(X, _good_target(kind), **_more(kind))


def _predict(kind: str, name: str, with_words: bool = False) -> str:
    X = NEW_ROWS[name]()
    model = _good_model(kind, with_words)
    if hasattr(X, "shape"):
        ask(model, X)
    else:
        (model.transform if hasattr(model, "transform") else model.predict)(X)
    return "predicted"


def _target(kind: str, name: str, **more: Any) -> str:
    return _learnt(kind, numbers(), NEW_TARGETS[name](), **more)


def _target_of_words(kind: str, name: str) -> str:
    return _learnt(kind, words(), NEW_TARGETS[name]())


def _target_and_weight(kind: str, name: str) -> str:
    """The strange row counts for nothing."""
    return _target(kind, name, sample_weight=but(0, 0.0, np.ones(N)))


def _weights(kind: str, name: str) -> str:
    return _learnt(kind, numbers(), _good_target(kind), sample_weight=NEW_WEIGHTS[name]())


ACTIONS: dict[str, Callable[[str, str], str]] = {
    "learn from": _learn,
    "learn from and gaps": _learn_gaps,
    "predict": _predict,
    "predict by words": lambda kind, name: _predict(kind, name, with_words=True),
    "target": _target,
    "weights": _weights,
    "target and zero weight": _target_and_weight,
    "mixed up": _target_of_words,
}

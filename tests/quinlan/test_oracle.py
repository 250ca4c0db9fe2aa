"""Both trees equal the naive oracle, split for split and share for share, on random tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from quinlan.oracle import as_nested, grow, predict

import hornbeam as hb


def make_table(seed: int, n: int, only_categories: bool, share_missing: float) -> Any:
    rng = np.random.default_rng(seed)
    n_categories = [0 if not only_categories and rng.random() < 0.5 else int(k) for k in
                    rng.integers(2, 5, 4)]  # fmt: skip
    columns: list[Any] = [
        rng.integers(0, count, n).astype(float) if count else rng.integers(0, 12, n) / 4
        for count in n_categories
    ]
    signal = columns[0] + columns[1] * (columns[2] > 1) + rng.normal(0, 0.7, n)
    y = np.digitize(signal, np.quantile(signal, [0.3, 0.7]))
    y[: min(3, n)] = np.arange(min(3, n))
    X = np.column_stack(columns)
    for column, count in enumerate(n_categories):  # all categories occur, and are known
        X[:count, column] = np.arange(count)
    holes = rng.random(X.shape) < share_missing
    holes[:5] = False
    X[holes] = np.nan
    return X, y, n_categories, rng.choice([1.0, 1.0, 2.0, 0.5], n)


def to_frame(X: Any, n_categories: list[int]) -> pd.DataFrame:
    columns = {}
    for i, count in enumerate(n_categories):
        column = pd.Series(X[:, i])
        if count:
            labels = column.map({float(k): f"c{k}" for k in range(count)})
            column = labels.astype(pd.CategoricalDtype([f"c{k}" for k in range(count)]))
        columns[f"f{i}"] = column
    return pd.DataFrame(columns)


def spec_of(X: Any, weight: Any, n_categories: list[int], **more: Any) -> dict[str, Any]:
    total = float(weight.sum())
    counted = [not count or count < 0.3 * total for count in n_categories]
    return {
        "n_classes": 3,
        "categories": n_categories,
        "values": [sorted(set(X[~np.isnan(X[:, f]), f])) for f in range(X.shape[1])],
        "counted": counted if any(counted) else [True] * len(counted),
        "total": total,
        "mdl": True,
        "min_leaf": 2.0,
        "ratio": True,
        **more,
    }


def same(ours: Any, theirs: Any) -> None:
    """The same tests, and class weights that differ by rounding only."""
    assert isinstance(ours, list) == isinstance(theirs, list)
    if isinstance(ours, list):
        if sum(theirs) > 0:
            np.testing.assert_allclose(ours, theirs, atol=1e-9)
        else:
            assert sum(ours) == 0
        return
    assert ours[:2] == theirs[:2]
    for one, two in zip(ours[2], theirs[2], strict=True):
        same(one, two)


@given(st.integers(0, 10**6), st.integers(10, 80), st.booleans(), st.booleans(), st.booleans())
@settings(max_examples=60)
@pytest.mark.mission("T3")
def test_c45(seed: int, n: int, only_categories: bool, holes: bool, mdl: bool) -> None:
    X, y, n_categories, weight = make_table(seed, n, only_categories, 0.15 * holes)
    if weight.sum() < n:
        weight = np.ones(n)
    spec = spec_of(X, weight, n_categories, mdl=mdl)
    entries = list(zip(X.tolist(), y.tolist(), weight.tolist(), strict=True))
    theirs = grow(entries, spec)
    frame = to_frame(X, n_categories)
    model = hb.C45Classifier(pruning=None, mdl_correction=mdl).fit(frame, y, weight)
    same(as_nested(model.tree_), theirs)
    expected = [predict(theirs, row, spec) for row in X.tolist()]
    np.testing.assert_allclose(model.predict_proba(frame), expected, atol=1e-9)


@given(st.integers(0, 10**6), st.integers(10, 60), st.sampled_from(["fractions", "category"]))
@settings(max_examples=40)
@pytest.mark.mission("T2")
def test_id3(seed: int, n: int, missing: str) -> None:
    X, y, n_categories, _ = make_table(seed, n, True, 0.1)
    own = {f: bool(np.isnan(X[:, f]).any()) for f in range(4)} if missing == "category" else {}
    decrease = 0.02 * (seed % 3)
    weight = np.ones(n)
    spec = spec_of(
        X,
        weight,
        n_categories,
        ratio=False,
        min_leaf=0.0,
        own=own,
        decrease=decrease,
        min_split=float(missing == "fractions" and bool(np.isnan(X).any())),
    )
    theirs = grow(list(zip(X.tolist(), y.tolist(), weight.tolist(), strict=True)), spec)
    frame = to_frame(X, n_categories)
    model = hb.ID3Classifier(missing=missing, min_impurity_decrease=decrease).fit(frame, y)
    same(as_nested(model.tree_), theirs)
    expected = [predict(theirs, row, spec) for row in X.tolist()]
    np.testing.assert_allclose(model.predict_proba(frame), expected, atol=1e-9)


def test_many_distinct_numbers_are_sorted_not_counted() -> None:
    """A column with more values than a histogram has room for takes the other path."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = np.digitize(X[:, 0] + X[:, 1] * (X[:, 0] > 0), [-0.5, 0.7])
    spec = spec_of(X, np.ones(400), [0, 0])
    theirs = grow(list(zip(X.tolist(), y.tolist(), [1.0] * 400, strict=True)), spec)
    same(as_nested(hb.C45Classifier(pruning=None).fit(X, y).tree_), theirs)

"""Columns with more categories than bins are named, with what was done to them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hornbeam as hb

RNG = np.random.default_rng(0)
SHOP = np.concatenate([np.arange(600), RNG.integers(0, 100, 600)])
TABLE = pd.DataFrame({"size": RNG.normal(size=1200), "shop": [f"s{number}" for number in SHOP]})
Y = RNG.integers(0, 2, 1200)
COUNTS = np.sort(np.bincount(SHOP))


def messages(estimator: Any, X: Any = TABLE, y: Any = Y) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        estimator.fit(X, y)
    return [w for w in said if "categories; the model tells" in str(w.message)]


FEW = {"n_estimators": 2}
SINGLY = {"category_split": "one_vs_rest"}
BEST_SETS = {"category_split": "subset"}
FOLDING = [
    hb.GradientBoostingClassifier(**FEW, **SINGLY),
    hb.GradientBoostingRegressor(**FEW, **SINGLY, early_stopping=False),
    hb.DecisionTreeClassifier(finder="histogram"),
    hb.DecisionTreeRegressor(finder="histogram"),
    hb.RandomForestClassifier(**FEW, **BEST_SETS),
    hb.RandomForestRegressor(**FEW, **BEST_SETS),
    hb.ExtraTreesClassifier(**FEW, **BEST_SETS),
    hb.ExtraTreesRegressor(**FEW, **BEST_SETS),
    hb.RandomTreesEmbedding(**FEW),
    hb.BaggingClassifier(hb.DecisionTreeClassifier(finder="histogram"), n_estimators=3, n_jobs=2),
    hb.BaggingRegressor(hb.GradientBoostingRegressor(**FEW, **SINGLY), n_estimators=2, n_jobs=1),
]


@pytest.mark.parametrize("estimator", FOLDING, ids=lambda e: type(e).__name__)
def test_every_estimator_says_once_what_it_folds(estimator: Any) -> None:
    said = messages(estimator)
    assert len(said) == 1
    assert str(said[0].message).startswith("Column 'shop' has ")
    assert "tells all of them apart." in str(said[0].message)


def test_the_numbers_are_those_of_the_column() -> None:
    [said] = messages(hb.GradientBoostingClassifier(**FEW, **SINGLY))
    share = COUNTS[:-254].sum() / COUNTS.sum()
    assert str(said.message).startswith(
        "Column 'shop' has 600 categories; the model tells the 254 most frequent ones apart and "
        f"treats the 346 others ({share:.0%} of the rows) as one. "
    )
    assert said.filename == __file__
    [said] = messages(hb.DecisionTreeClassifier(finder="histogram", max_bins=100))
    assert "the 99 most frequent ones apart and treats the 501 others" in str(said.message)


def test_several_columns_are_said_at_once() -> None:
    many = pd.concat([TABLE["shop"].rename(f"shop {k}") for k in range(5)], axis=1)
    [said] = messages(hb.GradientBoostingClassifier(**FEW, **SINGLY), many)
    assert "'shop 2'" in str(said.message) and "'shop 3'" not in str(said.message)
    assert "So it is with 2 more columns." in str(said.message)


@pytest.mark.parametrize(
    "estimator",
    [
        hb.DecisionTreeClassifier(),
        hb.RandomForestClassifier(**FEW, finder="exact"),
        hb.C45Classifier(),
        hb.GradientBoostingClassifier(**FEW),
        hb.RandomForestClassifier(**FEW),
        hb.ExtraTreesClassifier(**FEW),
    ],
    ids=lambda e: type(e).__name__,
)
def test_nothing_to_say_where_all_are_told_apart(estimator: Any) -> None:
    assert not messages(estimator)
    known = TABLE[SHOP < 255].assign(shop=lambda t: t["shop"].astype("category"))
    assert not messages(hb.GradientBoostingClassifier(**FEW), known, Y[SHOP < 255])

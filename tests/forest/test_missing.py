"""Missing values in extra trees: how often a node asks if a value is missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import hornbeam as hb

rng = np.random.default_rng(0)
N_STUMPS = 400
KNOWN = np.repeat([1.0, 2.0, 5.0, 9.0], 30)
MISSING = np.full(40, np.nan)
COLUMN = np.concatenate([KNOWN, MISSING])[:, None]
TOWN = pd.DataFrame(
    {
        "town": pd.Categorical.from_codes(
            np.concatenate([np.repeat(np.arange(4), 30), np.full(40, -1)]), list("abcd")
        )
    }
)
VALUE = rng.integers(0, 50, len(COLUMN)).astype(float)
LABEL = rng.integers(0, 3, len(COLUMN))
KINDS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "classes": (hb.ExtraTreesClassifier, LABEL, {}),
    "classes, exact": (hb.ExtraTreesClassifier, LABEL, {"finder": "exact"}),
    "values": (hb.ExtraTreesRegressor, VALUE, {}),
    "values, exact": (hb.ExtraTreesRegressor, VALUE, {"finder": "exact"}),
    "medians": (hb.ExtraTreesRegressor, VALUE, {"criterion": "absolute_error"}),
    "outputs": (hb.ExtraTreesRegressor, np.column_stack([VALUE, -VALUE]), {}),
}


def share_asking(kind: str, X: Any, rows: Any = slice(None), weight: Any = None) -> float:
    """Share of the stumps that ask if the value is missing, among those that ask at all."""
    forest, y, params = KINDS[kind]
    model = forest(
        n_estimators=N_STUMPS, max_depth=1, min_samples_split=2, random_state=0, **params
    ).fit(X, y[rows], weight)
    trees = [tree.tree_ for tree in model.estimators_]
    assert all(tree.feature[0] == 0 for tree in trees)
    if isinstance(X, pd.DataFrame):
        asking = [len(tree.category_set(0)) == 4 for tree in trees]
    else:
        asking = [tree.threshold[0] == np.inf for tree in trees]
    return float(np.mean(asking))


@pytest.mark.mission("E5")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("table", [COLUMN, TOWN], ids=["number", "category"])
def test_a_node_asks_for_missing_values_as_often_as_rows_have_none(kind: str, table: Any) -> None:
    """In large nodes and in those that grow as blocks."""
    error = 4 * np.sqrt(0.25 * 0.75 / N_STUMPS)
    assert abs(share_asking(kind, table) - 0.25) < error
    rows = np.arange(0, len(COLUMN), 4)
    few = table.iloc[rows].reset_index(drop=True) if table is TOWN else table[rows]
    assert abs(share_asking(kind, few, rows) - 0.25) < error


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("table", [COLUMN, TOWN], ids=["number", "category"])
def test_rows_are_drawn_by_their_weight(kind: str, table: Any) -> None:
    weight = np.where(np.isnan(COLUMN[:, 0]), 3.0, 1.0)  # as if half of the rows had no value
    share = share_asking(kind, table, weight=weight)
    assert abs(share - 0.5) < 4 * np.sqrt(0.25 / N_STUMPS)


@pytest.mark.parametrize("kind", KINDS)
def test_of_a_column_with_one_value_nothing_else_is_asked(kind: str) -> None:
    assert share_asking(kind, np.where(COLUMN > 0, 1.0, np.nan)) == 1.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_rows", [50, 130])
def test_known_values_that_are_all_alike_cannot_be_cut(kind: str, n_rows: int) -> None:
    """After the second column all of a node have the same value of the first, or none."""
    forest, y, params = KINDS[kind]
    x = np.where(np.arange(2 * n_rows) < n_rows, 0.0, 1.0)
    holes = x.copy()
    holes[: n_rows // 5] = np.nan
    table = np.column_stack([holes, x])
    y = np.resize(y, (2 * n_rows, *np.shape(y)[1:]))
    model = forest(
        n_estimators=N_STUMPS, max_features=1, max_depth=2, min_samples_split=2, **params
    ).set_params(random_state=0)
    trees = [tree.tree_ for tree in model.fit(table, y).estimators_]
    below = [tree for tree in trees if tree.feature[0] == 1]
    asking = [tree.feature[tree.first_child[0]] == 0 for tree in below]
    assert len(below) > N_STUMPS / 3
    assert abs(np.mean(asking) - 0.2) < 4 * np.sqrt(0.2 * 0.8 / len(below))

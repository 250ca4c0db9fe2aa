"""A table that is cut into pages grows the tree of one page, wherever it is cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import hornbeam as hb
from hornbeam.data.pages import cut_at
from hornbeam.dtypes import LISTED
from hornbeam.tree import grower

# Of the many shops the rare ones share a code.
pytestmark = pytest.mark.filterwarnings("ignore:Column 'shop' has")
N = 900
CUTS = [(400,), (0, 7), (1, 3, 300, 301, 700, 899)]  # 2, 3 and 7 pages

random = np.random.default_rng(0)
NUMBERS = np.round(random.normal(size=(N, 6)), 1)
NUMBERS[random.random((N, 6)) < 0.1] = np.nan
NUMBERS[:, 4:] = NUMBERS[:, 4:] > 0.5  # two codes each
FRAME = pd.DataFrame(NUMBERS, columns=list("abcdef")).assign(
    kind=random.choice(list("uvwxyz"), N),
    town=pd.Series(random.integers(0, 60, N).astype(str), dtype="category"),
    shop=pd.Series(random.integers(0, 400, N).astype(str), dtype="category"),
)
Y = np.nan_to_num(NUMBERS[:, 0]) * (FRAME["kind"] < "x") + np.nan_to_num(NUMBERS[:, 1]) ** 2
Y = Y.to_numpy() + random.normal(0, 0.5, N)
CLASSES = np.digitize(Y, [0.0, 1.0])
COUNTS = random.integers(0, 4, N).astype(float)  # some rows weigh nothing
WEIGHT = random.uniform(0.2, 5.0, N)

Classifier, Regressor = hb.DecisionTreeClassifier, hb.DecisionTreeRegressor
BINS = {"finder": "histogram", "random_state": 0}
MODELS: dict[str, tuple[Any, Any, Any, Any]] = {
    "classes": (Classifier(**BINS), FRAME, CLASSES, None),
    "two classes, whole weights": (Classifier(**BINS), FRAME, Y > 0.5, COUNTS),
    "entropy, any weights": (Classifier(criterion="entropy", **BINS), FRAME, CLASSES, WEIGHT),
    "numbers, whole weights": (Classifier(**BINS), NUMBERS, CLASSES, COUNTS),
    "numbers, any weights": (Classifier(**BINS), NUMBERS, CLASSES, WEIGHT),
    "several outputs": (Classifier(**BINS), NUMBERS, np.column_stack([CLASSES, Y > 0]), WEIGHT),
    "one by one": (Classifier(category_split="one_vs_rest", **BINS), FRAME, CLASSES, None),
    "values": (Regressor(**BINS), FRAME, Y, None),
    "values, any weights": (Regressor(min_samples_leaf=5, **BINS), FRAME, Y, WEIGHT),
    "several values": (Regressor(**BINS), NUMBERS, np.column_stack([Y, -Y * Y]), WEIGHT),
    "poisson": (Regressor(criterion="poisson", **BINS), FRAME, Y - Y.min(), WEIGHT),
    "medians": (
        Regressor(criterion="absolute_error", max_depth=5, **BINS), NUMBERS, Y, WEIGHT,
    ),
    "best first": (Regressor(max_leaf_nodes=30, **BINS), FRAME, Y, WEIGHT),
    "level by level": (Classifier(growth="level", **BINS), FRAME, CLASSES, WEIGHT),
    "rising": (Regressor(monotonic_cst=[1, -1, 0, 0, 0, 0], **BINS), NUMBERS, Y, WEIGHT),
    "drawn features": (Classifier(max_features=2, **BINS), FRAME, CLASSES, COUNTS),
    "random cuts": (Classifier(splitter="random", **BINS), FRAME, CLASSES, WEIGHT),
    "random cuts of values": (Regressor(splitter="random", **BINS), FRAME, Y, WEIGHT),
    "ranks": (Classifier(), FRAME, CLASSES, WEIGHT),
    "ranks of values": (Regressor(), FRAME, Y, WEIGHT),
    "random cuts of ranks": (Regressor(splitter="random", random_state=0), FRAME, Y, WEIGHT),
}  # fmt: skip


def fit(name: str, cuts: tuple[int, ...], n_jobs: int = 1) -> Any:
    model, table, y, weight = MODELS[name]
    with cut_at(*cuts):
        return clone(model).set_params(n_jobs=n_jobs).fit(table, y, weight)


@pytest.mark.parametrize("tile_bytes", [1 << 10, 1 << 19], ids=["tiles", "one tile"])
@pytest.mark.parametrize("name", MODELS)
def test_pages_do_not_matter(name: str, tile_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In two, three and seven uneven pages, of which some have no row or one.

    Small nodes are copied into tiles, or grown on the pages where the table is as small.
    """
    expected = fit(name, ()).digest()
    monkeypatch.setattr(grower, "_TILE_BYTES", tile_bytes)
    monkeypatch.setattr(grower, "_LEAST_TILE_ROWS", 8)
    for cuts in CUTS:
        assert fit(name, cuts).digest() == expected, cuts


@pytest.mark.parametrize("name", ["classes", "values, any weights", "best first", "ranks"])
def test_threads_share_pages(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = fit(name, ()).digest()
    monkeypatch.setattr(grower, "_TILE_BYTES", 1 << 11)
    for cuts in CUTS:
        assert fit(name, cuts, n_jobs=2).digest() == expected, cuts


@settings(max_examples=15)
@given(
    st.sampled_from(["classes", "values, any weights", "drawn features", "ranks of values"]),
    st.lists(st.integers(0, N + 5), max_size=7).map(sorted),
)
def test_cuts_anywhere_do_not_matter(name: str, cuts: list[int]) -> None:
    assert fit(name, tuple(cuts)).digest() == fit(name, ()).digest()


def test_explaining_reads_pages() -> None:
    model = Classifier(max_depth=3, **BINS)
    expected = clone(model).fit(FRAME, CLASSES).explain_split(0)
    with cut_at(100, 101, 500):
        assert str(clone(model).fit(FRAME, CLASSES).explain_split(0)) == str(expected)


@pytest.mark.parametrize("max_depth", [1, None])
def test_lists_of_many_categories_do_not_depend_on_pages(max_depth: int | None) -> None:
    """Of more than 4,096 categories a node lists its own, by its rows before they are parted."""
    draws = np.random.default_rng(0)
    code = draws.permutation(np.tile(np.arange(4200), 3))
    street = pd.Series(code.astype(str), dtype="category")
    y = np.where(code < 400, 5.0, 0.0) + draws.normal(size=len(code))
    table = pd.DataFrame({"street": street, "x": draws.normal(size=len(code))})
    model = Regressor(max_depth=max_depth, min_samples_leaf=5, n_jobs=1)
    expected = clone(model).fit(table, y)
    assert LISTED in expected.tree_.kind
    for cuts in CUTS:
        with cut_at(*cuts):
            assert clone(model).fit(table, y).digest() == expected.digest(), cuts

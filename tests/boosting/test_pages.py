"""A table that is cut into pages grows the trees of one page, wherever it is cut."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.boosting.table import code_table
from hornbeam.data.pages import cut_at

N = 1200
N_MANY = 21_000  # more than a tile holds, and than one thread takes at a time
CUTS = [(500,), (0, 7), (1, 3, 300, 301, 700, 1199)]

random = np.random.default_rng(0)
NUMBERS = np.round(random.normal(size=(N, 6)), 1)
NUMBERS[random.random((N, 6)) < 0.1] = np.nan
FRAME = pd.DataFrame(NUMBERS, columns=list("abcdef")).assign(
    kind=random.choice(list("uvwxyz"), N), town=random.integers(0, 60, N).astype(str)
)
FRAME["town"] = FRAME["town"].astype("category")
Y = np.nan_to_num(NUMBERS[:, 0]) * (FRAME["kind"] < "x") + np.nan_to_num(NUMBERS[:, 1]) ** 2
Y = Y.to_numpy() + random.normal(0, 0.5, N)
CLASSES = np.digitize(Y, [0.0, 1.0])
WEIGHT = random.uniform(0.2, 5.0, N)
HEAVY = np.where(np.arange(N) == 17, 1e6, WEIGHT)
RARE = NUMBERS * (np.arange(6) == random.integers(0, 9, N)[:, None])  # never two in a row
STORED = scipy.sparse.csr_array(np.hstack([RARE, np.nan_to_num(NUMBERS[:, :2]).round()]))
MANY = np.round(random.normal(size=(N_MANY, 4)), 2)
MANY_Y = MANY[:, 0] * MANY[:, 1] + random.normal(size=N_MANY)

Regressor, Classifier = hb.GradientBoostingRegressor, hb.GradientBoostingClassifier
MODELS: dict[str, tuple[Any, Any, Any, Any]] = {
    "leaf": (Regressor(growth="leaf"), FRAME, Y, None),
    "level": (Regressor(growth="level", max_depth=4), FRAME, Y, WEIGHT),
    "depth": (Regressor(growth="depth", max_leaf_nodes=9), FRAME, Y, None),
    "symmetric": (Regressor(growth="symmetric"), FRAME, Y, WEIGHT),
    "symmetric classes": (Classifier(growth="symmetric", subsample=0.7), FRAME, CLASSES, None),
    "symmetric sparse": (Regressor(growth="symmetric"), STORED, Y, None),
    "symmetric bundled": (Regressor(growth="symmetric"), RARE, Y, None),
    "alternate": (Classifier(growth="alternate"), FRAME, Y > 0.5, None),
    "draws": (
        Regressor(subsample=0.6, colsample_bytree=0.8, colsample_bylevel=0.8, colsample_bynode=0.5),
        FRAME,
        Y,
        WEIGHT,
    ),
    "classes": (Classifier(subsample=0.8), FRAME, CLASSES, WEIGHT),
    "bounded": (
        Regressor(
            monotonic_cst=[1, -1, 0, 0, 0, 0, 0, 0],
            interaction_constraints=[[0, 1, 6], [2, 3, 4, 5, 7]],
            reg_alpha=0.1,
            max_delta_step=0.5,
        ),
        FRAME,
        Y,
        None,
    ),
    "one against the rest": (Classifier(category_split="one_vs_rest"), FRAME, Y > 0.5, None),
    "one heavy row": (Regressor(), FRAME, Y, HEAVY),
    "few rows in a leaf": (Classifier(min_samples_leaf=40), FRAME, Y > 0.5, WEIGHT),
    "bundled": (Regressor(), RARE, Y, None),
    "bundled, level": (Regressor(growth="level", max_depth=4), RARE, Y, None),
    "bundled, depth": (Regressor(growth="depth", max_leaf_nodes=9), RARE, Y, None),
    "bundled, one heavy row": (Regressor(), RARE, Y, HEAVY),
    "sparse": (Regressor(), STORED, Y, None),
    "sparse, level": (Regressor(growth="level", max_depth=4), STORED, Y, WEIGHT),
    "sparse, depth": (Regressor(growth="depth", max_leaf_nodes=9), STORED, Y, None),
    "sparse, drawn": (Regressor(subsample=0.7, min_samples_leaf=30), STORED, Y, WEIGHT),
    "sparse, one heavy row": (Regressor(), STORED, Y, HEAVY),
    "dropped rounds": (Regressor(drop_rate=0.5, skip_drop=0.0), FRAME, Y, None),
    "early stopping": (Regressor(early_stopping=True), FRAME, Y, None),
    "medians": (Regressor(loss="absolute_error"), FRAME, Y, None),
    "steps along a line": (Regressor(loss="huber", order=1), FRAME, Y, WEIGHT),
    "many rows": (Regressor(max_leaf_nodes=7), MANY, MANY_Y, None),
    "many rows, drawn": (Classifier(subsample=0.5, growth="level"), MANY, MANY_Y > 0, None),
    "many sparse rows": (Regressor(), scipy.sparse.csr_array(MANY), MANY_Y, None),
}


def fit(name: str, cuts: tuple[int, ...], n_jobs: int = 1) -> Any:
    model, table, y, weight = MODELS[name]
    model = pickle.loads(pickle.dumps(model))
    model.set_params(n_estimators=4, learning_rate=0.3, random_state=0, n_jobs=n_jobs)
    with cut_at(*(cut * len(y) // N for cut in cuts)):
        return model.fit(table, y, weight)


@pytest.mark.usefixtures("real_threads")
@pytest.mark.parametrize("name", MODELS)
def test_pages_do_not_matter(name: str) -> None:
    """In one, two, three and seven uneven pages, of which some have no row or one."""
    expected = fit(name, ()).digest()
    for cuts in CUTS:
        assert fit(name, cuts).digest() == expected, cuts
    if len(MODELS[name][2]) == N_MANY:
        for cuts in CUTS:
            assert fit(name, cuts, n_jobs=2).digest() == expected, cuts


@settings(max_examples=8)
@given(
    st.sampled_from(["draws", "sparse, drawn", "bundled", "symmetric sparse", "early stopping"]),
    st.lists(st.integers(0, N + 5), max_size=7).map(sorted),
)
def test_cuts_anywhere_do_not_matter(name: str, cuts: list[int]) -> None:
    assert fit(name, tuple(cuts)).digest() == fit(name, ()).digest()


def test_rows_are_where_the_cuts_say() -> None:
    """The model does not tell, so the table must."""
    none = np.zeros(6, np.int64)
    with cut_at(5, 5, 9):
        for table in (RARE, scipy.sparse.csr_array(RARE)):
            coded = code_table(table, none.astype(bool), none, 255, 1)
            assert [page.n_rows for page in coded.pages] == [5, 0, 4, N - 9]

"""A forest grows the same trees on one page of a table as on several."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import hornbeam as hb
from hornbeam.data.pages import cut_at

N = 700
CUTS = [(300,), (0, 7), (1, 3, 200, 201, 500, 699)]  # 2, 3 and 7 pages

random = np.random.default_rng(0)
NUMBERS = random.normal(size=(N, 6))  # more values than bins: small nodes are cut between them
NUMBERS[random.random((N, 6)) < 0.1] = np.nan
NUMBERS[:, 4:] = NUMBERS[:, 4:] > 0.5  # two codes each
FRAME = pd.DataFrame(NUMBERS, columns=list("abcdef")).assign(
    kind=random.choice(list("uvwxyz"), N),
    town=pd.Series(random.integers(0, 60, N).astype(str), dtype="category"),
)
Y = np.nan_to_num(NUMBERS[:, 0]) * (FRAME["kind"] < "x") + np.nan_to_num(NUMBERS[:, 1]) ** 2
Y = Y.to_numpy() + random.normal(0, 0.5, N)
CLASSES = np.digitize(Y, [0.0, 1.0])
WEIGHT = random.uniform(0.2, 5.0, N)

MODELS: dict[str, tuple[Any, Any, Any, Any]] = {
    "forest": (hb.RandomForestClassifier(), FRAME, CLASSES, None),
    "forest of two classes": (hb.RandomForestClassifier(), NUMBERS, Y > 0.5, None),
    "forest, weighted": (hb.RandomForestClassifier(), FRAME, CLASSES, WEIGHT),
    "forest, balanced": (
        hb.RandomForestClassifier(class_weight="balanced_subsample", oob_score=True),
        FRAME,
        CLASSES,
        None,
    ),
    "forest of values": (hb.RandomForestRegressor(oob_score=True), FRAME, Y, None),
    "forest of values, weighted": (hb.RandomForestRegressor(max_features=0.5), FRAME, Y, WEIGHT),
    "exact forest": (hb.RandomForestClassifier(finder="exact"), NUMBERS, CLASSES, None),
    "extra trees": (hb.ExtraTreesClassifier(), FRAME, CLASSES, None),
    "extra trees of two classes": (hb.ExtraTreesClassifier(), FRAME, Y > 0.5, None),
    "extra trees, weighted": (hb.ExtraTreesClassifier(), FRAME, CLASSES, WEIGHT),
    "extra trees of values": (hb.ExtraTreesRegressor(), FRAME, Y, None),
    "extra trees of values, weighted": (
        hb.ExtraTreesRegressor(bootstrap=True), NUMBERS, Y, WEIGHT,
    ),
    "embedding": (hb.RandomTreesEmbedding(), np.nan_to_num(NUMBERS), None, None),
}  # fmt: skip


def fit(name: str, cuts: tuple[int, ...], n_jobs: int) -> Any:
    model, table, y, weight = MODELS[name]
    model = clone(model).set_params(n_estimators=4, random_state=0, n_jobs=n_jobs)
    with cut_at(*cuts):
        return model.fit(table, y, weight)


@pytest.mark.parametrize("name", MODELS)
def test_pages_do_not_matter(name: str) -> None:
    """In two, three and seven uneven pages, of which some have no row or one."""
    expected = fit(name, (), n_jobs=1)
    for cuts in CUTS:
        paged = fit(name, cuts, n_jobs=2)
        assert paged.digest() == expected.digest(), cuts
        if getattr(expected, "oob_score", False):
            assert paged.oob_score_ == expected.oob_score_

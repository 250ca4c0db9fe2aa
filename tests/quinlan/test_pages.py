"""ID3 and C4.5 grow the tree of one page on a table that is cut into several."""

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
from hornbeam.quinlan import grower

N = 700
CUTS = [(300,), (0, 7), (1, 3, 200, 201, 500, 699)]  # 2, 3 and 7 pages

random = np.random.default_rng(0)
WHOLE = pd.DataFrame(random.normal(size=(N, 3)).round(1), columns=list("abc")).assign(
    wide=random.normal(size=N),
    few=random.choice(list("uvw"), N),
    many=random.integers(0, 200, N).astype(str),
)
LEVEL = WHOLE["a"] + 2 * WHOLE["few"].isin(["u", "w"]) + random.normal(0, 0.6, N)
LABEL = np.digitize(LEVEL, [0.0, 1.0])
HOLES = WHOLE.mask(random.random(WHOLE.shape) < 0.2)
NAMES = WHOLE[["few", "many"]].assign(a=WHOLE["a"].round().astype(str))
WEIGHT = random.uniform(0.2, 3.0, N)

MODELS: dict[str, tuple[Any, Any, Any]] = {
    "ID3": (hb.ID3Classifier(), NAMES, None),
    "ID3, missing": (hb.ID3Classifier(), NAMES.mask(random.random(NAMES.shape) < 0.2), WEIGHT),
    "C4.5": (hb.C45Classifier(), WHOLE, None),
    "C4.5, weighted": (hb.C45Classifier(), WHOLE, WEIGHT),
    "C4.5, missing": (hb.C45Classifier(), HOLES, WEIGHT),
    "C4.5, groups": (hb.C45Classifier(grouping=True), HOLES, WEIGHT),
    "C4.5, whole tree": (hb.C45Classifier(pruning=None), HOLES, None),
}


def fit(name: str, cuts: tuple[int, ...], n_jobs: int = 1) -> Any:
    model, table, weight = MODELS[name]
    with cut_at(*cuts):
        return clone(model).set_params(n_jobs=n_jobs).fit(table, LABEL, weight)


@pytest.mark.parametrize("name", MODELS)
def test_pages_do_not_matter(name: str) -> None:
    """In two, three and seven uneven pages, of which some have no row or one."""
    expected = fit(name, ()).digest()
    for cuts in CUTS:
        assert fit(name, cuts).digest() == expected, cuts


def test_threads_share_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = fit("C4.5, missing", ()).digest()
    monkeypatch.setattr(grower, "_TOGETHER", 100)
    assert fit("C4.5, missing", CUTS[-1], n_jobs=2).digest() == expected


@settings(max_examples=10)
@given(
    st.sampled_from(["ID3, missing", "C4.5, missing"]),
    st.lists(st.integers(0, N + 5), max_size=7).map(sorted),
)
def test_cuts_anywhere_do_not_matter(name: str, cuts: list[int]) -> None:
    assert fit(name, tuple(cuts)).digest() == fit(name, ()).digest()

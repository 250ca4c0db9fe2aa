"""The benchmark of a forest's predictions: the same rows for all, as an array and as a frame."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from benchmarks import shared
from benchmarks.cases import forest
from benchmarks.cases.forest import FRAME, HORNBEAM, PIPED
from benchmarks.datasets import DataSet
from benchmarks.harness import SKLEARN, Options


def mixed() -> DataSet:
    """200 rows of a number and a category; some test rows hold a category of their own."""
    rng = np.random.default_rng(0)
    words = rng.choice(np.array(["a", "b", "c"], object), 200)
    words[150:155] = "new"
    dtype = pd.CategoricalDtype(["a", "b", "c", "new"])
    X = pd.DataFrame(
        {
            "number": rng.normal(size=200).astype(np.float32),
            "word": pd.Series(words).astype(dtype),
        }
    )
    y = ((X["number"] > 0) ^ (words == "b")).to_numpy(np.int64)
    return DataSet("mixed", X[:150], y[:150], X[150:], y[150:])


def test_the_pipeline_learns_from_the_frame() -> None:
    data = mixed()
    model = PIPED.make(forest.RANDOM_FOREST, data, 20, 1).set_params(**{PIPED.n_jobs: 1})
    assert PIPED.score(model.fit(data.X, data.y), data) > 0.9


def test_hornbeam_is_told_the_categories_of_an_array() -> None:
    data = mixed()
    library = forest._told([1])
    model = library.make(forest.RANDOM_FOREST, data, 5, 1)
    model.fit(shared.numbered(data.X), data.y)
    assert model.schema_.is_category.tolist() == [False, True]


@pytest.mark.parametrize("form", ["frame", "array"])
def test_rows_of_predictions(form: str) -> None:
    data = mixed()
    if form == "array":
        data = replace(data, X=shared.numbered(data.X), X_test=shared.numbered(data.X_test))
    options = Options(quick=True, repeats=1)
    rows = list(forest.rows_of_fitted(data, forest.Models(options), options))
    timed = [row for row in rows if row.case.startswith("predict")]
    expected = ["predict 50 rows", "predict 50 single rows"]
    if form == "frame":
        expected += [title + FRAME for title in expected]
    assert [row.case for row in timed[::2]] == expected
    assert {row.contender for row in timed} == {HORNBEAM, SKLEARN}
    assert all(row.value > 0 and (row.score or 0.0) > 0.8 for row in timed)

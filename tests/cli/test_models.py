"""Bagging on the command line: what `info` and `predict` make of a model of models."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

import hornbeam as hb
from hornbeam.cli import main
from hornbeam.cli.models import schema_of, size_of, trees_of

rng = np.random.default_rng(0)
N = 200
FLATS = pd.DataFrame(
    {
        "size": np.where(rng.random(N) < 0.1, np.nan, rng.normal(70, 20, N)),
        "town": rng.choice(["Aa", "Bb", "Cc"], N),
        "zone": rng.choice(["1", "2"], N),  # text that looks like numbers
    }
)
FLATS.loc[::9, "town"] = None
RENT = FLATS["size"].fillna(50).to_numpy() * 10 + 200 * (FLATS["town"] == "Aa").to_numpy()
LET = np.where(RENT > 700, "no", "yes")
boost: dict[str, Any] = {"n_estimators": 3, "max_leaf_nodes": 4}
MODELS: dict[str, tuple[Any, Any]] = {
    "trees": (hb.BaggingClassifier(None, 4, random_state=0), LET),
    "patches": (
        hb.BaggingRegressor(
            hb.GradientBoostingRegressor(**boost), 5, kind="patches", max_features=2, random_state=0
        ),
        RENT,
    ),
    "nested": (
        hb.BaggingClassifier(
            hb.BaggingClassifier(hb.RandomForestClassifier(n_estimators=2), 2), 3, random_state=0
        ),
        LET,
    ),
    "two outputs": (hb.BaggingRegressor(None, 2, random_state=0), np.column_stack([RENT, -RENT])),
    "quantiles": (
        hb.BaggingRegressor(
            hb.GradientBoostingRegressor(loss="quantile", quantile=[0.1, 0.9], **boost), 2
        ),
        RENT,
    ),
}


@pytest.fixture(autouse=True)
def in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")


def fitted(name: str) -> Any:
    model, y = MODELS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(FLATS, y)


@pytest.mark.parametrize("name", MODELS)
def test_info_and_predict(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    model = fitted(name)
    model.save("bag.hornbeam")
    assert main(["info", "bag.hornbeam"]) == 0
    shown = capsys.readouterr().out
    assert type(model).__name__ in shown and model.digest() in shown
    assert f"trees of {len(model)} members" in shown
    assert "town" in shown and "Aa, Bb, Cc" in shown
    turned = FLATS[["zone", "size", "town"]].assign(other=1)
    turned.to_csv("flats.csv", index=False)
    command = ["predict", "bag.hornbeam", "flats.csv", "--out", "out.csv"]
    assert main([*command, *(["--proba"] if hasattr(model, "classes_") else [])]) == 0
    assert "does not use: other" in capsys.readouterr().err
    found, expected = pd.read_csv("out.csv"), model.predict(FLATS)
    if expected.ndim == 2:
        two = ["prediction_0", "prediction_1"]
        assert list(found) == (["quantile_0.1", "quantile_0.9"] if name == "quantiles" else two)
        assert np.array_equal(found.to_numpy(), expected)
        return
    assert np.array_equal(found["prediction"], expected)
    if hasattr(model, "classes_"):
        shares = found[["share_no", "share_yes"]].to_numpy()
        assert np.array_equal(shares, model.predict_proba(FLATS))


def test_columns_are_what_all_samples_show() -> None:
    model = fitted("patches")
    schema = schema_of(model)
    assert schema.named and schema.feature_names == ("size", "town", "zone")
    assert [column.kind for column in schema.columns] == ["number", "category", "category"]
    few = hb.BaggingRegressor(None, 20, max_samples=2, random_state=0).fit(FLATS, RENT)
    labels = schema_of(few).columns[1].categories
    assert labels == ("Aa", "Bb", "Cc")
    assert len(few[0].schema_.columns[1].categories) < 3  # of two rows
    one = hb.BaggingRegressor(None, 1, kind="subspaces", max_features=1, random_state=0)
    kinds = [column.kind for column in schema_of(one.fit(FLATS.to_numpy(), RENT)).columns]
    assert kinds.count("not drawn") == 2
    assert schema_of(one).feature_names == ("x0", "x1", "x2")
    tree = hb.DecisionTreeRegressor().fit(FLATS, RENT)
    assert schema_of(tree) is tree.schema_


def test_trees_of_members() -> None:
    assert len(trees_of(fitted("nested"))) == 12
    assert size_of(fitted("nested")).endswith("in 12 trees of 3 members")


def test_pickles_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    table = FLATS[["size"]].fillna(0)
    model = hb.BaggingClassifier(GaussianNB(), 2).fit(table, LET)
    model.save("bag.hornbeam", allow_pickle=True)
    table.to_csv("flats.csv", index=False)
    for command in (["info", "bag.hornbeam"], ["predict", "bag.hornbeam", "flats.csv"]):
        assert main(command) == 2
        assert "reading a pickle runs whatever code it names" in capsys.readouterr().err

"""Forests on the command line: train, predict, info and demo."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hornbeam as hb
from hornbeam.cli import main


@pytest.fixture(autouse=True)
def flats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"size": rng.normal(70, 20, 300), "town": rng.choice(["A", "B"], 300)})
    table["rent"] = table["size"] * 10 + 200 * (table["town"] == "A") + rng.normal(0, 20, 300)
    table["let"] = np.where(table["rent"] > 800, "no", "yes")
    table.to_csv("flats.csv", index=False)
    return table


def test_train_predict_info(flats: pd.DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["train", "flats.csv", "--target", "rent", "--model", "forest"]
    assert main([*command, "--n-estimators", "20", "--oob-score", "true"]) == 0
    assert "leaves in 20 trees" in capsys.readouterr().out
    model = hb.load("flats.hornbeam")
    assert isinstance(model, hb.RandomForestRegressor) and model.oob_score_ > 0.9
    assert model.verbose is None
    assert main(["info", "flats.hornbeam"]) == 0
    assert "RandomForestRegressor" in capsys.readouterr().out
    assert main(["predict", "flats.hornbeam", "flats.csv", "--out", "found.csv"]) == 0
    found = pd.read_csv("found.csv").iloc[:, -1].to_numpy()
    np.testing.assert_allclose(found, model.predict(flats.drop(columns="rent")))


def test_classes(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["train", "flats.csv", "--target", "let", "--drop", "rent", "--model", "forest"]
    assert main([*command, "--voting", "hard", "--n-estimators", "10"]) == 0
    model = hb.load("flats.hornbeam")
    assert isinstance(model, hb.RandomForestClassifier) and model.voting == "hard"
    assert "accuracy" in capsys.readouterr().out


def test_parameters_of_other_models(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["train", "flats.csv", "--target", "rent"]
    assert main([*command, "--model", "forest", "--learning-rate", "0.1"]) == 2
    assert "it belongs to --model boosting" in capsys.readouterr().err
    assert main([*command, "--leaf-samples", "true"]) == 2
    assert "it belongs to --model forest --task regression" in capsys.readouterr().err

"""Rule sets: short, generalised, and able to predict on their own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from quinlan import tables

import hornbeam as hb
from hornbeam.quinlan.rules import _Maker, _paths
from hornbeam.tree.pruning.pessimistic import upper_errors


@pytest.mark.mission("T3")
@pytest.mark.mission("T12")
def test_golf() -> None:
    X, y = tables.read(tables.GOLF)
    rules = hb.C45Classifier().fit(X, y).rules(X, y)
    assert str(rules).splitlines() == [
        "if outlook = sunny and humidity > 75 then no (3 rows, 0 wrong)",
        "if outlook = rain and windy = true then no (2 rows, 0 wrong)",
        "otherwise yes",
        "The first rule that holds decides; a missing value fulfils no condition.",
        "Categories that were not there in fit count as missing.",
    ]
    assert rules.score(X, y) == 1.0
    assert rules.default == "yes"


def test_a_dropped_condition_does_not_raise_the_pessimistic_error() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=300), "b": rng.choice(["u", "v"], 300)})
    y = ((X["a"] > 0) & (X["b"] == "u")).to_numpy().astype(int) ^ (rng.random(300) < 0.1)
    model = hb.C45Classifier().fit(X, y)
    matrix = model.schema_.read(X)
    maker = _Maker(model.tree_, matrix, y, np.ones(300), 0.25)
    dropped = 0
    for conditions, label in _paths(model.tree_):
        rule = maker.generalise(conditions, label)
        rate = float(upper_errors(rule.errors, rule.weight)) / rule.weight
        assert rate <= maker.judge(conditions, label)[2] + 1e-9
        dropped += len(conditions) - len(rule.conditions)
    assert dropped > 0


def test_house_votes(shared_data: Path) -> None:
    """About as right as the tree, with fewer statements."""
    frame = pd.read_csv(shared_data / "house_votes_84" / "data.csv.gz")
    target = (
        frame.columns[0]
        if set(frame.iloc[:, 0]) <= {"democrat", "republican"}
        else frame.columns[-1]
    )
    X, y = frame.drop(columns=target), frame[target]
    tree = hb.C45Classifier().fit(X, y)
    rules = tree.rules(X, y)
    assert len(rules) <= tree.get_n_leaves()
    assert rules.score(X, y) > tree.score(X, y) - 0.02


def test_other_rows_than_those_of_fit_are_refused() -> None:
    X, y = tables.read(tables.GOLF)
    tree = hb.C45Classifier().fit(X, y)
    with pytest.raises(ValueError, match="other classes than in fit"):
        tree.rules(X, ["maybe"] * 14)
    with pytest.raises(ValueError, match="inconsistent"):
        tree.rules(X, y[:5])


def test_a_single_leaf_has_only_a_default() -> None:
    tree = hb.C45Classifier().fit([[1.0], [1.0], [1.0]], ["a", "b", "b"])
    rules = tree.rules([[1.0], [1.0], [1.0]], ["a", "b", "b"])
    assert len(rules) == 0
    assert str(rules) == "otherwise b"
    assert rules.predict([[5.0]]).tolist() == ["b"]

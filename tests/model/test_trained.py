"""Files, text and pictures of trees that were really trained."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from model.test_modelfile import (
    array_changes,
    check_bit_flips,
    check_truncations,
    forged,
    header_of,
    replaced_integers,
)

import hornbeam as hb
from hornbeam.errors import UnavailableFunctionError
from hornbeam.model.modelfile import load_model_bytes, model_bytes

random = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "age": random.normal(40, 15, 120).round(1),
        "color": random.choice(["red", "green", "blue", "grey"], 120),
        "member": random.choice([True, False], 120),
    }
)
FRAME.loc[random.random(120) < 0.2, "age"] = np.nan
FRAME.loc[random.random(120) < 0.2, "color"] = None
LEVEL = (
    FRAME["age"].fillna(90) + 20 * FRAME["color"].isin(["red", "blue"]) + random.normal(0, 3, 120)
)
LABEL = np.where(LEVEL > 60, "high", np.where(LEVEL > 40, "middle", "low"))


TWO = np.column_stack([LABEL, np.where(FRAME["member"], "m", "n")])
GRID = np.arange(20.0).reshape(10, 2)
Classifier, Regressor = hb.DecisionTreeClassifier, hb.DecisionTreeRegressor
MAKERS: dict[str, Callable[[], Any]] = {
    "classifier": lambda: Classifier(max_leaf_nodes=9, random_state=0).fit(FRAME, LABEL),
    "regressor": lambda: Regressor(max_depth=4, random_state=0).fit(FRAME, LEVEL),
    "two classes": lambda: Classifier(max_depth=3).fit(FRAME, TWO),
    "two numbers": lambda: Regressor(max_depth=3).fit(FRAME, np.column_stack([LEVEL, -LEVEL])),
    "other": lambda: Classifier(max_depth=3, unseen="other").fit(FRAME, LABEL == "low"),
    "weights": lambda: Classifier(
        max_depth=2, class_weight={"low": 2, "middle": 1, "high": 0.5}
    ).fit(FRAME, LABEL, sample_weight=np.linspace(0.1, 1, 120)),
    "numbers": lambda: Classifier(max_depth=2).fit(GRID, [3, 5] * 5),
    "leaf": lambda: Regressor().fit([[1.0], [2.0]], [3.0, 3.0]),
}


@functools.cache
def trained(name: str) -> Any:
    return MAKERS[name]()


def table(name: str) -> Any:
    return {"numbers": GRID, "leaf": [[1.0]]}.get(name, FRAME)


@pytest.mark.quick
@pytest.mark.parametrize("name", MAKERS)
def test_save_and_load(name: str, tmp_path: Path) -> None:
    model, X = trained(name), table(name)
    model.save(tmp_path / "model")
    loaded = hb.load(tmp_path / "model")
    assert type(loaded) is type(model)
    assert loaded.tree_.digest() == model.tree_.digest()
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.predict(X).dtype == model.predict(X).dtype
    fitted = {key for key in vars(model) if key.endswith("_")}
    assert {key for key in vars(loaded) if key.endswith("_")} == fitted
    again = pickle.loads(pickle.dumps(model))
    assert again.tree_.digest() == model.tree_.digest()


def test_a_damaged_pickle_is_noticed() -> None:
    model = hb.DecisionTreeClassifier(max_depth=2).fit(FRAME, LABEL)
    changed = np.array(model.tree_.first_child)
    changed[0] = 1000
    object.__setattr__(model.tree_, "first_child", changed)
    with pytest.raises(hb.ModelFileError, match=r"first_child\[0\] is 1000"):
        pickle.loads(pickle.dumps(model))


def small() -> Any:
    return hb.DecisionTreeClassifier(max_depth=2, random_state=0).fit(FRAME, LABEL)


def test_every_truncation_and_bit_flip() -> None:
    data = model_bytes(small())
    for size in range(len(data)):
        with pytest.raises(hb.ModelFileError):
            load_model_bytes(data[:size])
    for place in range(len(data)):
        for bit in range(8):
            changed = bytearray(data)
            changed[place] ^= 1 << bit
            with pytest.raises(hb.ModelFileError):
                load_model_bytes(bytes(changed))


def test_every_integer_replaced_by_someone_who_knows_the_checksum() -> None:
    """The kernels see what passes: nothing may crash. The header cannot change a prediction."""
    model = small()
    data, expected = model_bytes(model), model.predict_proba(FRAME)
    for arrays in array_changes(data):
        try:
            loaded = load_model_bytes(forged(data, arrays=arrays))
        except hb.ModelFileError:
            continue
        assert loaded.predict_proba(FRAME).shape == expected.shape
    for header in replaced_integers(header_of(data)):
        try:
            loaded = load_model_bytes(forged(data, **header))
        except hb.ModelFileError:
            continue
        np.testing.assert_array_equal(loaded.predict_proba(FRAME), expected)


@pytest.mark.parametrize("name", MAKERS)
def test_text_rules_and_pictures(name: str) -> None:
    model = trained(name)
    rules = hb.export_rules(model)
    assert len(rules) == model.tree_.n_leaves
    assert sum(rule.n_samples for rule in rules) == model.tree_.n_samples[0]
    text = hb.export_text(model, max_depth=20)
    assert text.count("class: ") + text.count("value: ") == len(rules)
    ElementTree.fromstring(hb.tree_svg(model))


def test_plot(tmp_path: Path) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    assert hb.plot_tree(trained("classifier"), path=tmp_path / "tree.pdf")
    pyplot.close("all")


def test_rules_select_the_rows_they_claim() -> None:
    """Each rule, read back as a query on the table, covers as many rows as it says."""
    numbers = FRAME[["age"]].dropna()
    model = hb.DecisionTreeRegressor(max_depth=3).fit(numbers, LEVEL[numbers.index])
    for rule in hb.export_rules(model, decimals=None, show_missing=False):
        assert len(numbers.query(" and ".join(rule.conditions))) == rule.n_samples


def test_a_users_criterion_is_named_but_not_kept() -> None:
    def mine(counts, weight):  # type: ignore[no-untyped-def]
        return 1.0 - counts[0] / weight

    model = Classifier(criterion=mine, max_depth=2).fit(GRID, [3, 5] * 5)
    loaded = load_model_bytes(model_bytes(model))
    np.testing.assert_array_equal(loaded.predict(GRID), model.predict(GRID))
    assert "impurity" in hb.tree_svg(loaded)
    with pytest.raises(UnavailableFunctionError, match="'mine' was given to the model"):
        loaded.fit(GRID, [3, 5] * 5)


EXTREMES = [1e300, -1e300, 1.7976931348623157e308, 5e-324, -0.0, 2.0**63, 2.0**53 + 2, 1.5, 3.0]


@pytest.mark.parametrize("values", [EXTREMES, [1e300, 2.0**63, -0.0, 7.0]], ids=["any", "whole"])
def test_any_finite_number_is_a_category(values: list[float]) -> None:
    X = np.array(values * 3).reshape(-1, 1)
    y = np.arange(len(X)) % 2
    few: dict[str, Any] = {"n_estimators": 2, "random_state": 0, "categorical_features": [0]}
    for model in (
        hb.ID3Classifier(numeric="categories"),
        hb.C45Classifier(categorical_features=[0]),
        hb.DecisionTreeClassifier(categorical_features=[0]),
        hb.RandomForestClassifier(**few),
        hb.IsolationForest(**few),
        hb.GradientBoostingClassifier(min_samples_leaf=1, learning_rate=0.1, **few),
    ):
        data = model_bytes(model.fit(X, y))
        loaded = load_model_bytes(data)
        assert model_bytes(loaded) == data
        assert loaded.schema_.columns[0].categories == tuple(sorted(values))
        assert np.array_equal(loaded.predict(X), model.predict(X))


FEW_ROWS = [["a", 1.0], ["b", 5.0], ["a", 2.0], ["b", 3.0]] * 2
TINY: dict[str, Callable[[], Any]] = {
    "tree": lambda: Regressor(max_depth=1).fit(FEW_ROWS, [0.0, 1.0] * 4),
    "c45": lambda: hb.C45Classifier(min_samples_leaf=1).fit(FEW_ROWS, [0, 1] * 4),
    "planes": lambda: hb.IsolationForest(
        n_estimators=1, max_samples=3, extension_level=1, random_state=0
    ).fit(GRID),
    "forest": lambda: hb.RandomForestClassifier(
        n_estimators=2, max_depth=1, min_samples_split=2, random_state=0
    ).fit(FEW_ROWS, [0, 1] * 4),
    "adaboost": lambda: hb.AdaBoostRegressor(n_estimators=2, random_state=0).fit(
        FEW_ROWS, [0.0, 1.0] * 4
    ),
    "stack": lambda: hb.StackingClassifier(
        [("tree", hb.DecisionTreeClassifier(max_depth=1))], cv=2, random_state=0
    ).fit(FEW_ROWS, [0, 1] * 4),
}


@pytest.mark.parametrize("name", TINY)
def test_every_truncation_and_every_flipped_bit_is_noticed(name: str) -> None:
    data = model_bytes(TINY[name]())
    assert len(data) < 8000
    check_truncations(data)
    check_bit_flips(data)

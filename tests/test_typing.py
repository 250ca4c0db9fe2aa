"""What editors and type checkers know about hornbeam: a user's script under mypy and pyright."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src"
SCRIPT = """
from typing import assert_type

import numpy as np
import pandas as pd

import hornbeam as hb
from hornbeam.compat.sklearn import HistGradientBoostingClassifier
from hornbeam.compat.xgboost import XGBRegressor

X = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
y = [0, 1]

tree = hb.DecisionTreeClassifier(max_depth=3).fit(X, y)
assert_type(tree, hb.DecisionTreeClassifier)
print(tree.predict(X).shape, tree.classes_.tolist(), tree.n_features_in_ + 1)
print(tree.tree_.node_count, tree.schema_.feature_names, tree.feature_importances_.sum())
forest = hb.RandomForestRegressor(100, random_state=0).fit(X, np.array([0.5, 1.5]))
assert_type(forest, hb.RandomForestRegressor)
print(len(forest), forest[0].tree_.n_leaves, forest.predict(X).mean())
model = hb.GradientBoostingClassifier(n_estimators=10, learning_rate=0.1).fit(X, y)
assert_type(model, hb.GradientBoostingClassifier)
print(model.predict_proba(X)[:, 1], model.n_iter_ + 1, model.history_["train"].min())
assert_type(hb.GradientBoostingRegressor().fit(X, y), hb.GradientBoostingRegressor)
assert_type(hb.AdaBoostClassifier().fit(X, y), hb.AdaBoostClassifier)
assert_type(hb.BaggingClassifier().fit(X, y), hb.BaggingClassifier)
assert_type(hb.IsolationForest().fit(X), hb.IsolationForest)
assert_type(hb.C45Classifier().fit(X, y), hb.C45Classifier)
assert_type(HistGradientBoostingClassifier().fit(X, y), HistGradientBoostingClassifier)
assert_type(XGBRegressor().fit(X, y), XGBRegressor)
text: str = hb.export_text(tree, max_depth=2)
drawing: str = hb.tree_svg(forest, tree_index=3)
shares: dict[str, float] = dict(hb.importance_table(model))
tree.save("tree.hornbeam")
"""
WRONG = """
import hornbeam as hb

tree = hb.DecisionTreeClassifier().fit([[1.0]], [1])
tree.no_such_method()
hb.export_text(tree, decimals="two")
count: str = tree.n_features_in_
"""


def run(command: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


def write(folder: Path) -> None:
    (folder / "script.py").write_text(SCRIPT, encoding="utf-8")
    (folder / "wrong.py").write_text(WRONG, encoding="utf-8")


def test_mypy_knows_what_a_script_of_a_user_has(tmp_path: Path) -> None:
    write(tmp_path)
    options = ["--follow-imports=silent", "--ignore-missing-imports", "--cache-dir", "cache"]
    done = run(["mypy", *options, "script.py"], tmp_path, MYPYPATH=str(SOURCE))
    assert done.returncode == 0, done.stdout + done.stderr
    done = run(["mypy", *options, "wrong.py"], tmp_path, MYPYPATH=str(SOURCE))
    wrong = [line.split(":")[1] for line in done.stdout.splitlines() if ": error:" in line]
    assert {"6", "7"} <= set(wrong) <= {"5", "6", "7"}, done.stdout


def test_pyright_knows_what_a_script_of_a_user_has(tmp_path: Path) -> None:
    if importlib.util.find_spec("pyright") is None:
        pytest.skip("pyright is not installed")
    write(tmp_path)
    try:
        version = run(["pyright", "--version"], tmp_path)
    except subprocess.TimeoutExpired:
        pytest.skip("pyright wants to load Node.js, and there is no answer")
    if version.returncode:
        pytest.skip(f"pyright does not run here: {(version.stderr or version.stdout)[-200:]}")
    config = {"extraPaths": [str(SOURCE)], "typeCheckingMode": "standard"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(config), encoding="utf-8")
    options = ["--outputjson", "--pythonpath", sys.executable]
    done = run(["pyright", *options, "script.py", "wrong.py"], tmp_path)
    found = json.loads(done.stdout)["generalDiagnostics"]
    errors = [one for one in found if one["severity"] == "error"]
    lines = {name: [] for name in ("script.py", "wrong.py")}  # type: dict[str, list[int]]
    for error in errors:
        lines[Path(error["file"]).name].append(error["range"]["start"]["line"] + 1)
    assert lines["script.py"] == [], errors
    assert set(lines["wrong.py"]) == {5, 6, 7}, errors

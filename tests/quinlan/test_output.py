"""Files, pickles, text and drawings of trees with many branches."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from quinlan import tables

import hornbeam as hb
from hornbeam.errors import ModelFileError
from hornbeam.tree.storage import TREE_FIELDS

MODELS = {
    "id3": hb.ID3Classifier(missing="fractions"),
    "id3, own branch": hb.ID3Classifier(),
    "c45": hb.C45Classifier(),
    "c45, groups": hb.C45Classifier(grouping=True, pruning=None, min_samples_leaf=1),
}


@pytest.fixture(params=MODELS)
def fitted(request: Any) -> tuple[Any, Any]:
    X, y = tables.melons_alpha()
    return MODELS[request.param].fit(X, y), X


def test_files_and_pickles_predict_the_same(fitted: Any, tmp_path: Path) -> None:
    model, X = fitted
    model.save(tmp_path / "model")
    for copy in (hb.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert copy.digest() == model.digest()
        assert copy.get_params() == model.get_params()
        np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))


@pytest.mark.mission("T12")
def test_text_rules_and_drawings(fitted: Any) -> None:
    model, _ = fitted
    text, rules = hb.export_text(model), hb.export_rules(model)
    reached = model.tree_.is_leaf & (model.tree_.weight > 0.0)
    assert text.count("class:") == len(rules) == reached.sum()
    assert text.count("goes down all branches") == 1
    svg = hb.tree_svg(model)
    assert svg.startswith("<svg")
    assert "texture" in svg
    if getattr(model, "missing", "") == "category":
        assert "texture is missing" in text
        assert ">missing<" in svg


def test_missing_values_follow_their_own_branch() -> None:
    X, y = tables.melons_alpha()
    model = MODELS["id3, own branch"].fit(X, y)
    row = X.iloc[[7]]
    assert row["texture"].isna().all()
    leaf = int(model.apply(row)[0])
    np.testing.assert_array_equal(model.predict_proba(row)[0], model.tree_.value[leaf])
    assert model.predict(row)[0] == "yes"


@pytest.mark.parametrize("change", [-1, 2])
def test_a_wrong_number_of_branches_is_refused(change: int) -> None:
    """A multiway node has a branch per category, or one more for missing values; not another."""
    from model.handmade import validate_tree

    X, y = tables.read(tables.TENNIS)
    model = hb.ID3Classifier().fit(X, y)
    tree = replace(model.tree_)
    tree.n_branches[0] += change
    arrays = {name: getattr(tree, name) for name in TREE_FIELDS}
    with pytest.raises(ModelFileError):
        validate_tree(arrays, model.schema_, 2)

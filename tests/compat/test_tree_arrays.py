"""Trees of `hornbeam.compat.sklearn` show scikit-learn's arrays to scripts that walk them."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
import sklearn.tree
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression

import hornbeam as hb
import hornbeam.compat.sklearn as compat

X, Y = make_classification(200, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=1)
XR, YR = make_regression(150, 4, random_state=0)
ARRAYS = ("children_left", "children_right", "feature", "threshold", "value", "impurity")


def walk(module: Any, tree: Any, node: int = 0) -> list[Any]:
    """The script that everybody has: recursion down to nodes without a feature."""
    if tree.feature[node] != module._tree.TREE_UNDEFINED:
        question = (int(tree.feature[node]), round(float(tree.threshold[node]), 6))
        left = walk(module, tree, int(tree.children_left[node]))
        return [question, left, walk(module, tree, int(tree.children_right[node]))]
    return [int(np.argmax(tree.value[node][0])), tree.value[node].shape]


@pytest.mark.quick
def test_a_script_that_walks_a_tree_sees_scikit_learns() -> None:
    ours = compat.DecisionTreeClassifier(max_depth=2).fit(X, Y)
    theirs = sklearn.tree.DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, Y)
    assert walk(compat, ours.tree_) == walk(sklearn.tree, theirs.tree_)
    assert ours.tree_.value.shape == theirs.tree_.value.shape == (7, 1, 3)
    leaf = ours.tree_.children_left == compat._tree.TREE_LEAF
    assert (ours.tree_.feature[leaf] == -2).all() and (ours.tree_.threshold[leaf] == -2).all()
    assert (ours.apply(X) == ours.tree_.apply(X)).all() and leaf[ours.apply(X)].all()
    shares = ours.tree_.predict(X.astype(np.float32))
    assert shares == pytest.approx(theirs.tree_.predict(X.astype(np.float32)))
    importances = ours.tree_.compute_feature_importances()
    assert importances == pytest.approx(ours.feature_importances_)
    assert (ours.tree_.decision_path(X) != ours.decision_path(X)).nnz == 0


@pytest.mark.quick
@pytest.mark.parametrize("outputs", [1, 2])
def test_values_of_regressors_have_three_dimensions(outputs: int) -> None:
    y = YR if outputs == 1 else np.column_stack([YR, -YR])
    ours = compat.DecisionTreeRegressor(max_depth=2).fit(XR, y)
    theirs = sklearn.tree.DecisionTreeRegressor(max_depth=2, random_state=0).fit(XR, y)
    assert ours.tree_.value.shape == theirs.tree_.value.shape == (7, outputs, 1)
    X32 = XR.astype(np.float32)
    assert ours.tree_.predict(X32) == pytest.approx(theirs.tree_.predict(X32))


MADE: list[Any] = [
    compat.DecisionTreeClassifier(max_depth=3),
    compat.ExtraTreeClassifier(random_state=0, max_depth=3),
    compat.DecisionTreeRegressor(max_depth=3),
    compat.ExtraTreeRegressor(random_state=0, max_depth=3),
]


@pytest.mark.quick
@pytest.mark.parametrize("tree", MADE, ids=lambda tree: type(tree).__name__)
def test_hornbeam_reads_the_tree_behind_the_arrays(tree: Any, tmp_path: Path) -> None:
    own = getattr(hb, type(tree).__name__)(**tree.get_params()).fit(X, Y)
    assert clone(tree).fit(X, Y).digest() == own.digest()
    tree.fit(X, Y)
    assert hb.export_text(tree) == hb.export_text(own)
    assert str(tree.explain_split(0, X, Y)) == str(own.explain_split(0, X, Y))
    assert tree.get_n_leaves() == own.get_n_leaves() == tree.tree_.n_leaves
    for again in (pickle.loads(pickle.dumps(tree)), hb.load(saved(tree, tmp_path))):
        assert again.digest() == own.digest() and (again.predict(X) == own.predict(X)).all()
    assert "_shown" not in tree.__getstate__()
    pruned = hb.prune_cost_complexity(tree, 0.05)
    assert pruned.tree_.node_count < tree.tree_.node_count and (pruned.tree_.feature >= -2).all()
    assert tree.tree_ is tree.tree_  # made once, since scripts ask for it at every node
    other = tree.tree_
    assert tree.set_params(max_depth=1).fit(X, Y).tree_ is not other
    with pytest.raises(AttributeError, match="not fitted"):
        _ = clone(tree).tree_


def saved(tree: Any, folder: Path) -> Path:
    tree.save(folder / "tree")
    return folder / "tree"


@pytest.mark.quick
def test_trees_of_forests_and_boosting_show_arrays_too() -> None:
    forest = compat.RandomForestClassifier(3, random_state=0).fit(X, Y)
    assert forest[0].tree_.value.ndim == 3 and isinstance(forest[0], compat.DecisionTreeClassifier)
    assert forest.estimators_[1].tree_.feature.min() == -2
    trees = compat.ExtraTreesRegressor(2, random_state=0).fit(XR, YR)
    assert all(tree.tree_.value.shape[1:] == (1, 1) for tree in trees)
    samples = forest.estimators_samples_.copy()
    assert isinstance(samples, list) and len(samples) == 3
    pairs = zip(samples, forest.estimators_samples_, strict=True)
    assert all((one == two).all() for one, two in pairs)
    boosted = compat.GradientBoostingClassifier(n_estimators=2).fit(X, Y)
    theirs = sklearn.ensemble.GradientBoostingClassifier(n_estimators=2).fit(X, Y)
    assert boosted.estimators_.shape == theirs.estimators_.shape == (2, 3)
    assert boosted.estimators_[0, 0].tree_.value.shape[1:] == (1, 1)
    own = hb.RandomForestClassifier(3, random_state=0).fit(X, Y)
    assert forest.digest() == own.digest() and own[0].tree_.value.ndim == 2


@pytest.mark.quick
def test_a_tree_that_parts_categories_is_shown_as_it_is() -> None:
    frame = pd.DataFrame({"color": ["red", "blue", "green"] * 40})
    tree = compat.DecisionTreeClassifier().fit(frame, np.arange(120) % 3 == 1)
    assert type(tree.tree_).__name__ == "Tree" and len(tree.tree_.category_set(0))
    assert "color" in compat.export_text(tree)

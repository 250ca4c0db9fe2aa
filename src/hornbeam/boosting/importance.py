"""How important each feature is to a boosted model."""

from __future__ import annotations

from typing import Any

import numpy as np

from hornbeam.boosting.linear import LinearRounds, linear_importances
from hornbeam.dtypes import Array
from hornbeam.tree.importance import relative_gain
from hornbeam.tree.storage import Tree

KINDS = ("gain", "split", "cover", "squared", "permutation")


def importances(model: Any, kind: str, X: Any, y: Any) -> Array:
    """Importance of each feature; shares of one except for "permutation"."""
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {KINDS}, but is {kind!r}.")
    if kind == "permutation":
        return _permutation(model, X, y)
    n_features = model.n_features_in_
    if isinstance(model.ensemble_, LinearRounds):
        if kind != "gain":
            raise ValueError(
                f"importances({kind!r}) counts splits of trees, and booster='linear' has none: "
                "take 'gain' (coefficients times standard deviations) or 'permutation'."
            )
        return linear_importances(model.ensemble_, n_features)
    total = np.zeros(n_features)
    for tree in model.trees_:
        inner = ~tree.is_leaf
        total += np.bincount(tree.feature[inner], _amounts(tree, kind)[inner], n_features)
    whole = total.sum()
    return total / whole if whole > 0 else total


def _amounts(tree: Tree, kind: str) -> Array:
    """What each split counts for."""
    if kind == "split":
        return np.ones(tree.node_count)
    if kind == "cover":
        return tree.weight
    gain = relative_gain(tree) * tree.weight[0]
    # Friedman averages the squared improvements of each tree, so a tree counts by its share
    return gain / max(gain.sum(), np.finfo(float).tiny) if kind == "squared" else gain


def _permutation(model: Any, X: Any, y: Any) -> Array:
    if X is None or y is None:
        raise ValueError("importances('permutation', X, y) needs rows to shuffle: pass X and y.")
    from sklearn.inspection import permutation_importance

    found = permutation_importance(model, X, y, n_repeats=5, random_state=0)
    mean: Array = found.importances_mean
    return mean

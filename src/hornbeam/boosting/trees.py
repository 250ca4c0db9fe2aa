"""The trees of a boosted model as estimators of their own, and other things scikit-learn's have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from hornbeam.dtypes import Array
from hornbeam.tree.estimators import DecisionTreeRegressor
from hornbeam.tree.storage import Tree


def tree_estimators(
    model: Any, parameters: Callable[[int], dict[str, Any]], rate: float = 1.0
) -> Array:
    """All trees of a boosted model.

    Parameters
    ----------
    model : boosting estimator
        Fitted.
    parameters : function
        Returns the parameters of the trees of a round, counted from 0.
    rate : float
        What values are divided by.

    Returns
    -------
    array of DecisionTreeRegressor, shape (rounds, trees of a round)
    """
    width = model.ensemble_.n_scores
    made = np.empty(len(model.trees_), object)
    for number, tree in enumerate(model.trees_):
        made[number] = _as_estimator(model, tree, parameters(number // width), rate)
    return made.reshape(-1, width)


def _as_estimator(model: Any, tree: Tree, params: dict[str, Any], rate: float) -> Any:
    estimator = DecisionTreeRegressor(**params)
    for name in ("schema_", "n_features_in_", "feature_names_in_"):
        if name in vars(model):
            setattr(estimator, name, vars(model)[name])
    estimator.n_outputs_ = 1
    estimator.max_features_ = estimator.n_features_in_
    estimator.tree_ = tree if rate == 1.0 else replace(tree, value=tree.value / rate)
    return estimator

"""Which tree to look at: the one there is, or one of an ensemble."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np


def one_tree(estimator: Any, tree_index: int | None) -> tuple[Any, str]:
    """Take one tree of whatever a user wants to see, and say which one it is.

    Parameters
    ----------
    estimator : object
        A fitted estimator of one tree, or an ensemble of such.
    tree_index : int or None
        Which one; None is the first.

    Returns
    -------
    estimator, words
        An object with ``tree_`` and ``schema_``; the words are empty unless there are several.
    """
    if "tree_" in getattr(estimator, "__dict__", ()):
        if tree_index not in (None, 0, -1):
            raise ValueError(f"There is one tree, so tree_index={tree_index!r} is none of it.")
        return estimator, ""
    n_trees, take = _trees_of(estimator)
    index = 0 if tree_index is None else tree_index
    if not isinstance(index, Integral) or isinstance(index, bool):
        raise TypeError(f"tree_index must be a whole number, not {tree_index!r}.")
    if not -n_trees <= index < n_trees:
        raise IndexError(f"tree_index={index} must be from 0 to {n_trees - 1}.")
    index = int(index) % n_trees
    tree = take(index)
    if "tree_" not in getattr(tree, "__dict__", ()):
        raise TypeError(
            f"Member {index} of this {type(estimator).__name__} is a {type(tree).__name__}, which "
            "is no tree of hornbeam's: show that member by itself."
        )
    words = f"This is tree {index} of {n_trees} (0 to {n_trees - 1})"
    return tree, words + ("; tree_index= shows another one." if tree_index is None else ".")


def _trees_of(estimator: Any) -> tuple[int, Callable[[int], Any]]:
    """How many trees an ensemble has, and a function that returns one of them."""
    from sklearn.exceptions import NotFittedError

    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        raise TypeError(f"A fitted tree estimator is needed, not {estimator!r:.80}.")
    own = vars(estimator).get("engine_", estimator)  # of an adapter for another library
    name = type(estimator).__name__
    try:
        if hasattr(own, "tree") and hasattr(own, "trees_"):
            return len(own.trees_), own.tree
        members = getattr(own, "estimators_", None)
    except NotFittedError:
        members = None
    if members is None:
        if any(attribute.endswith("_") for attribute in vars(estimator)):
            raise TypeError(f"A fitted tree is needed, and this {name} has none.")
        raise NotFittedError(f"This {name} is not fitted: call fit first.")
    if isinstance(members, np.ndarray):
        members = members.ravel()
    return len(members), members.__getitem__

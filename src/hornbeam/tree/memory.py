"""Which rows a tree was grown on: known as long as the user keeps them, never kept alive.

A tree holds no data. It is remembered by weak references which tables `fit` got, so that
``explain_split(node)`` works in the session that fitted the tree; a pickled or loaded tree
has forgotten them.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hornbeam.dtypes import Array
from hornbeam.tree.storage import Tree


@dataclass(frozen=True)
class _Seen:
    """What `fit` got; each is called to be read, and gives None if it is gone."""

    X: Callable[[], Any]
    y: Callable[[], Any]
    sample_weight: Callable[[], Any] | None
    held_out: Array | None


@dataclass(frozen=True)
class FitData:
    """The arguments of `fit`, and the rows it held out (a mask) to prune the tree."""

    X: Any
    y: Any
    sample_weight: Any = None
    held_out: Array | None = None


_seen: weakref.WeakKeyDictionary[Tree, _Seen] = weakref.WeakKeyDictionary()


def remember(
    tree: Tree, X: Any, y: Any, sample_weight: Any = None, held_out: Array | None = None
) -> None:
    """Note what a tree was grown on, if it can be noted weakly (lists cannot)."""
    try:
        weight = None if sample_weight is None else weakref.ref(sample_weight)
        _seen[tree] = _Seen(weakref.ref(X), weakref.ref(y), weight, held_out)
    except TypeError:
        return


def hand_on(old: Tree, new: Tree) -> None:
    """A tree made of another one by pruning was grown on the same rows."""
    if old in _seen:
        _seen[new] = _seen[old]


def held_out_rows(tree: Tree) -> Array | None:
    """The rows that `fit` held out, if that is still known."""
    seen = _seen.get(tree)
    return None if seen is None else seen.held_out


def recall(tree: Tree) -> FitData | None:
    """The arguments of `fit`; None if they are gone."""
    seen = _seen.get(tree)
    if seen is None:
        return None
    X, y = seen.X(), seen.y()
    weight = None if seen.sample_weight is None else seen.sample_weight()
    if X is None or y is None or (seen.sample_weight is not None and weight is None):
        return None
    return FitData(X, y, weight, seen.held_out)

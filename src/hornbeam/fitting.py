"""What a fit leaves behind: all that it has learnt, or nothing.

A fit may fail, and Ctrl-C may stop it between any two steps. Then the estimator is as it was
before (a warm start), or not fitted: never a mixture of two fits. So a fit works on a copy, or
collects what it learns in a dict, and hands that over in one step at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

_ALSO_LEARNT = ("_weight", "_bags")  # besides the attributes whose names end with an underscore


def is_learnt(name: str) -> bool:
    """Whether an attribute of this name is set by ``fit``."""
    return (name.endswith("_") and not name.startswith("__")) or name in _ALSO_LEARNT


def learnt(estimator: Any) -> dict[str, Any]:
    """All that the last fit of an estimator has left behind."""
    return {name: value for name, value in vars(estimator).items() if is_learnt(name)}


def become(estimator: Any, fitted: Mapping[str, Any]) -> None:
    """Put what a fit has learnt in the place of what an earlier one has."""
    own = {name: value for name, value in vars(estimator).items() if not is_learnt(name)}
    estimator.__dict__ = {**own, **fitted}  # one step: no interrupt can come between two attributes


def forget(estimator: Any) -> None:
    """Drop what an earlier fit has learnt: a fit that fails leaves nothing behind."""
    become(estimator, {})


@contextmanager
def fitting(estimator: Any) -> Iterator[Any]:
    """A copy of an estimator, with its parameters only, to be fitted in the block.

    What the copy has learnt at the end becomes the estimator's own. A block that is left by
    an error changes nothing.
    """
    copy: Any = object.__new__(type(estimator))
    vars(copy).update(vars(estimator))
    forget(copy)
    yield copy
    become(estimator, learnt(copy))

"""What is done with one member of an ensemble, on any thread or in another process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from hornbeam.dtypes import Array


def set_seeds(estimator: Any, random: np.random.Generator) -> None:
    """Set every random state of an estimator, those of its parts as well."""
    names = sorted(
        name
        for name in estimator.get_params(deep=True)
        if name == "random_state" or name.endswith("__random_state")
    )
    estimator.set_params(**{name: int(random.integers(2**31 - 1)) for name in names})


def seed_open(estimator: Any, random: np.random.Generator) -> None:
    """Set the random states that are open (None); those that a user has set stay."""
    for name, value in sorted(estimator.get_params(deep=True).items()):
        if value is None and (name == "random_state" or name.endswith("__random_state")):
            estimator.set_params(**{name: int(random.integers(2**31 - 1))})


@contextmanager
def retold(what: str) -> Iterator[None]:
    """Say of an error where it has happened; it stays an error of its kind."""
    try:
        yield
    except (RuntimeError, TypeError, ValueError) as error:
        kind = next(k for k in (ValueError, TypeError, RuntimeError) if isinstance(error, k))
        raise kind(f"{what}: {error}") from error
    except Exception as error:
        error.add_note(f"{what}.")
        raise


def free_threads(estimator: Any) -> list[str]:
    """Parameters that leave the number of threads open."""
    params = estimator.get_params(deep=True)
    return [
        name
        for name, value in params.items()
        if value is None and (name == "n_jobs" or name.endswith("__n_jobs"))
    ]


def member_classes(member: Any, classes: Array) -> Array:
    """Numbers of the classes that a member has seen."""
    return np.searchsorted(classes, member.classes_)


def member_shares(member: Any, X: Any, classes: Array, voting: str, alone: bool) -> Array:
    """Probability of each class, or 1 for the one that the member votes for."""
    if voting == "soft" and hasattr(member, "predict_proba"):
        found = np.asarray(call_member(member, "predict_proba", X, alone), np.float64)
        if found.shape[1] == len(classes):
            return found
        shares = np.zeros((len(found), len(classes)))
        shares[:, member_classes(member, classes)] = found
        return shares
    votes = np.searchsorted(classes, call_member(member, "predict", X, alone))
    return np.eye(len(classes))[votes]


def member_values(member: Any, X: Any, alone: bool) -> Array:
    """What a regressor predicts."""
    return np.asarray(call_member(member, "predict", X, alone), np.float64)


def member_decision(member: Any, X: Any, alone: bool) -> Array:
    """The decision function of a classifier."""
    return np.asarray(call_member(member, "decision_function", X, alone), np.float64)


def call_member(member: Any, method: str, X: Any, alone: bool) -> Any:
    """Call a member, on one thread if others are called at the same time."""
    free = [] if alone else free_threads(member)
    if not free:
        return getattr(member, method)(X)
    member.set_params(**dict.fromkeys(free, 1))
    try:
        return getattr(member, method)(X)
    finally:
        member.set_params(**dict.fromkeys(free, None))

"""What is done with one member of an ensemble, on any thread or in another process."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from hornbeam.combine.bagging.tables import TableRows
from hornbeam.data.sampling import Sampler
from hornbeam.data.schema import identities_are_known
from hornbeam.dtypes import Array
from hornbeam.notices import silenced


def fit_member(
    estimator: Any,
    rows: TableRows,
    target: Array,
    sampler: Sampler,
    number: int,
    weighs: bool,
    alone: bool,
) -> Any:
    """Fit a clone of the estimator on the sample with this number.

    With ``weighs`` a row that was drawn repeatedly is there once, and weighs as much.
    ``alone`` means that no other member is fitted at the same time, so that this one may use
    as many threads as it likes.
    """
    member = clone(estimator)
    _seed(member, np.random.default_rng([sampler.seed, number]))
    chosen, more = sampler.rows(number, 1)[0], {}
    if weighs:
        chosen, counts = np.unique(chosen, return_counts=True)
        more = {"sample_weight": counts.astype(np.float64)}
    sample = rows.part(chosen, sampler.features(number, 1)[0])
    free = [] if alone else _free_threads(member)
    member.set_params(**dict.fromkeys(free, 1))
    with silenced(number > 0), identities_are_known():
        member.fit(sample, target[chosen], **more)
    return member.set_params(**dict.fromkeys(free, None))


def _seed(estimator: Any, random: np.random.Generator) -> None:
    """Set every random state of an estimator, those of its parts as well."""
    names = sorted(
        name
        for name in estimator.get_params(deep=True)
        if name == "random_state" or name.endswith("__random_state")
    )
    estimator.set_params(**{name: int(random.integers(2**31 - 1)) for name in names})


def _free_threads(estimator: Any) -> list[str]:
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
        found = np.asarray(_call(member, "predict_proba", X, alone), np.float64)
        if found.shape[1] == len(classes):
            return found
        shares = np.zeros((len(found), len(classes)))
        shares[:, member_classes(member, classes)] = found
        return shares
    votes = np.searchsorted(classes, _call(member, "predict", X, alone))
    return np.eye(len(classes))[votes]


def member_values(member: Any, X: Any, alone: bool) -> Array:
    """What a regressor predicts."""
    return np.asarray(_call(member, "predict", X, alone), np.float64)


def member_decision(member: Any, X: Any, alone: bool) -> Array:
    """The decision function of a classifier."""
    return np.asarray(_call(member, "decision_function", X, alone), np.float64)


def _call(member: Any, method: str, X: Any, alone: bool) -> Any:
    """Call a member, on one thread if others are called at the same time."""
    free = [] if alone else _free_threads(member)
    if not free:
        return getattr(member, method)(X)
    member.set_params(**dict.fromkeys(free, 1))
    try:
        return getattr(member, method)(X)
    finally:
        member.set_params(**dict.fromkeys(free, None))

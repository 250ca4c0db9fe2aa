"""Fit a member of bagging on its sample, on any thread or in another process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from hornbeam.combine.crossfit import kin_arguments
from hornbeam.combine.members import free_threads, set_seeds
from hornbeam.combine.routing import of_rows
from hornbeam.combine.tables import TableRows
from hornbeam.data.folds import Kin
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
    kin: Kin,
    routed: Mapping[str, Any],
    alone: bool,
) -> Any:
    """Fit a clone of the estimator on the sample with this number.

    With ``weighs`` a row that was drawn repeatedly is there once, and weighs as much. ``routed``
    is what else the member is given, row by row.
    ``alone`` means that no other member is fitted at the same time, so that this one may use
    as many threads as it likes.
    """
    member = clone(estimator)
    set_seeds(member, np.random.default_rng([sampler.seed, number]))
    chosen = sampler.rows(number, 1)[0]
    if weighs:
        chosen, counts = np.unique(chosen, return_counts=True)
    more = of_rows(routed, chosen, rows.n_rows)
    if weighs:
        more["sample_weight"] = counts * more.get("sample_weight", np.ones(len(chosen)))
    more |= kin_arguments(member, _kin_of_sample(member, kin, chosen))
    sample = rows.part(chosen, sampler.features(number, 1)[0])
    free = [] if alone else free_threads(member)
    member.set_params(**dict.fromkeys(free, 1))
    with silenced(number > 0), identities_are_known():
        member.fit(sample, target[chosen], **more)
    return member.set_params(**dict.fromkeys(free, None))


def _kin_of_sample(member: Any, kin: Kin, chosen: Array) -> Kin:
    """Which rows of a sample belong together: what the user says, and copies of a row.

    Copies matter to members that part their rows. Others need not know.
    """
    drawn = kin.chosen(chosen)
    parts = hasattr(member, "estimators") or getattr(member, "early_stopping", False)
    if drawn.groups is not None or not parts:
        return drawn
    return Kin(chosen.astype(np.int64), drawn.time)

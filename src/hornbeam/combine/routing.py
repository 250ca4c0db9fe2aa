"""Metadata that an ensemble passes on to its members, as scikit-learn routes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils.metadata_routing import process_routing

from hornbeam.dtypes import Array

Routed = Mapping[str, Mapping[str, Any]]  # method of a member -> what it is given besides X and y


def routed_to_members(owner: Any, method: str, params: Mapping[str, Any]) -> Routed:
    """What each method of a member is to be given when a method of the ensemble is called.

    Parameters
    ----------
    owner : object
        The ensemble, whose members stand under the name ``estimator`` in its routing.
    method : str
        Of the ensemble.
    params : dict
        What the user passed on top of its own arguments.

    Returns
    -------
    dict of str to dict
    """
    if not params:
        return {}
    if not get_config().get("enable_metadata_routing"):
        raise TypeError(
            f"{type(owner).__name__}.{method} was given {', '.join(params)}, which it can only "
            "pass on to its members: call sklearn.set_config(enable_metadata_routing=True) "
            "before, and ask for it with the member's set_"
            f"{method}_request. See https://scikit-learn.org/stable/metadata_routing.html"
        )
    routed: Routed = process_routing(owner, method, **params)["estimator"]
    return {name: given for name, given in routed.items() if given}


def of_rows(params: Mapping[str, Any], rows: Array, n_rows: int) -> dict[str, Any]:
    """The part of metadata that is about some rows; what is not one value per row stays whole.

    Parameters
    ----------
    params : dict
    rows : array of int
        Which rows.
    n_rows : int
        Of the table.

    Returns
    -------
    dict
    """

    def part(value: Any) -> Any:
        per_row = not isinstance(value, (str, bytes, dict)) and np.shape(value)[:1] == (n_rows,)
        return np.asarray(value)[rows] if per_row else value

    return {name: part(value) for name, value in params.items()}


@dataclass(frozen=True)
class WithMetadata:
    """A member whose methods are given metadata besides their rows."""

    member: Any
    routed: Routed

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # whoever copies or pickles asks before there is a member
            raise AttributeError(name)
        value = getattr(self.member, name)
        return partial(value, **self.routed[name]) if name in self.routed else value

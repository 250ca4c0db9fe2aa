"""Check what a model is made of besides its trees: parameters, schema, classes and numbers.

A file and a pickle pass through the same checks, so that neither brings in what `fit` would
have refused or could not have made. What differs is only where the arrays come from.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from hornbeam.dtypes import STAT, Array
from hornbeam.errors import ModelFileError
from hornbeam.fitting import is_learnt
from hornbeam.model.arrays import checked_array
from hornbeam.params import check_values

# Shares of classes are sums of weights over their sum: rounding moves them by far less.
_SHARES_AT_MOST_OFF = 1e-6


def checked_params(cls: type[Any], params: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters of an estimator class, checked by their declarations.

    Parameters
    ----------
    cls : type
        Class of the estimator.
    params : mapping
        What was found. One that is not there was added to the class later and has its default.

    Returns
    -------
    dict
    """
    known = inspect.signature(cls).parameters
    found = {name: params.get(name, known[name].default) for name in cls._get_param_names()}
    for name, value in found.items():
        if value is inspect.Parameter.empty:
            raise ModelFileError(f"The model lacks the parameter {name!r}.")
    try:
        check_values(cls, found)
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"The model has a parameter that cannot be: {error}") from error
    return found


def has_model(state: Mapping[str, Any]) -> bool:
    """Whether a state holds anything that ``fit`` has learnt."""
    return any(is_learnt(name) for name in state)


def check_classes(cls: type[Any], state: Mapping[str, Any]) -> None:
    """Raise unless a classifier, and only it, has classes, and as many as it says."""
    classes, n_outputs = state.get("classes_"), state["n_outputs_"]
    if issubclass(cls, ClassifierMixin) != (classes is not None):
        raise ModelFileError("The classes do not fit the estimator.")
    if classes is None:
        return
    listed = list(classes) if isinstance(classes, list) else [classes]
    if len(listed) != n_outputs or not all(_are_classes(names) for names in listed):
        raise ModelFileError("The classes do not fit the outputs.")
    counts = np.array([len(names) for names in listed])
    if not np.array_equal(np.atleast_1d(np.asarray(state.get("n_classes_"))), counts):
        raise ModelFileError(f"n_classes_ is not {counts.tolist()}, as the classes say.")


def check_shares(state: Mapping[str, Any], values: Array, name: str) -> None:
    """Raise unless the leaves of a classifier predict shares of the classes of each output.

    Parameters
    ----------
    state : mapping
        With ``n_classes_`` and checked ``classes_``, if it is a classifier.
    values : array of shape (n, sum of n_classes_)
        What they predict.
    name : str
        What it is called in an error.
    """
    if state.get("classes_") is None:
        return
    borders = np.cumsum(np.atleast_1d(state["n_classes_"]))[:-1]
    for shares in np.split(values, borders, axis=1):
        good = (shares >= 0.0).all(axis=1)
        good &= np.abs(shares.sum(axis=1) - 1.0) <= _SHARES_AT_MOST_OFF
        if not good.all():
            place = int(np.argmin(good))
            raise ModelFileError(f"{name}[{place}] holds no shares of classes: they add up to 1.")


def _are_classes(names: Any) -> bool:
    if not isinstance(names, np.ndarray) or names.ndim != 1 or not len(names):
        return False
    return names.dtype.kind != "f" or bool(np.isfinite(names).all())


def whole(state: Mapping[str, Any], name: str, least: int, most: int) -> int:
    """A whole number of a model's state.

    Parameters
    ----------
    state : mapping
    name : str
        Which entry.
    least, most : int
        What it can be.

    Returns
    -------
    int
    """
    value = state.get(name)
    good = isinstance(value, Integral) and not isinstance(value, bool)
    if not good or not least <= int(value) <= most:  # type: ignore[arg-type]
        raise ModelFileError(f"{name} cannot be {value!r:.60}: it is from {least} to {most}.")
    return int(value)  # type: ignore[arg-type]


def real(state: Mapping[str, Any], name: str, least: float, most: float) -> float:
    """A number of a model's state, as `whole`; NaN is none."""
    value = state.get(name)
    if not isinstance(value, Real) or not least <= float(value) <= most:
        raise ModelFileError(f"{name} cannot be {value!r:.60}: it is from {least} to {most}.")
    return float(value)


def check_weight(state: Mapping[str, Any], n_rows: int) -> None:
    """Raise unless the weights that rows are drawn by are weights, or there are none."""
    weight = state.get("_weight")
    if weight is None:
        return
    weight = checked_array(weight, "_weight", STAT)
    if len(weight) != n_rows or not np.isfinite(weight).all() or (weight < 0.0).any():
        raise ModelFileError(f"_weight is not a finite weight for each of {n_rows} rows.")


def check_sample_size(size: Any, kind: type, n_rows: int, n_features: int) -> None:
    """Raise unless samples of this size can be drawn from a table.

    Parameters
    ----------
    size : object
        What was found.
    kind : type
        What it must be: `hornbeam.data.sampling.SampleSize`.
    n_rows, n_features : int
        Of the table.
    """
    if not isinstance(size, kind):
        raise ModelFileError("The size of the samples is none.")
    state = vars(size)
    for name in ("bootstrap", "bootstrap_features"):
        if not isinstance(state.get(name), bool):
            raise ModelFileError(f"{name} cannot be {state.get(name)!r:.60}: it is True or False.")
    whole(state, "n_rows", 1, 2**31 - 1 if state["bootstrap"] else n_rows)
    whole(state, "n_features", 1, 2**31 - 1 if state["bootstrap_features"] else n_features)


def finite_array(array: Any, name: str, ndim: int = 1) -> Array:
    """An array of finite float64, or an error.

    Parameters
    ----------
    array : object
        What was found.
    name : str
        What it is called in an error.
    ndim : int
        The number of dimensions it must have.

    Returns
    -------
    array
    """
    numbers = checked_array(array, name, STAT, ndim)
    if not np.isfinite(numbers).all():
        raise ModelFileError(f"{name} holds a number that is not finite.")
    return numbers


def known_text(state: Mapping[str, Any], name: str, known: Iterable[str]) -> str:
    """An entry of a model's state that is one of some names."""
    value = state.get(name)
    if not isinstance(value, str) or value not in known:
        raise ModelFileError(f"There is no {name.strip('_')} {value!r:.60}.")
    return value

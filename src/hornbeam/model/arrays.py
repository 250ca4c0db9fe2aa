"""Arrays that nobody vouches for: what kind they must be of before anybody looks into them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from hornbeam.dtypes import Array
from hornbeam.errors import ModelFileError


def check_names(found: Iterable[str], wanted: Iterable[str]) -> None:
    """Raise unless both hold the same names.

    Parameters
    ----------
    found, wanted : iterable of str
        Names of arrays.
    """
    missing = sorted(set(wanted) - set(found))
    if missing:
        raise ModelFileError(f"The model lacks the array {missing[0]!r}.")
    extra = sorted(set(found) - set(wanted))
    if extra:
        raise ModelFileError(f"The model has an array that does not belong: {extra[0][:60]!r}.")


def checked_array(array: Any, name: str, dtype: type[np.generic], ndim: int = 1) -> Array:
    """Return an array that kernels may read, or say why it is not one.

    Parameters
    ----------
    array : object
        What was found.
    name : str
        What it is called in an error.
    dtype : type
        The dtype it must have, in any byte order.
    ndim : int
        The number of dimensions it must have.

    Returns
    -------
    array
        Contiguous, aligned, writable, native byte order.
    """
    if not isinstance(array, np.ndarray):
        raise ModelFileError(f"{name} is not an array.")
    array = np.asarray(array)  # what kernels read: a masked array would hide some of it from checks
    if array.dtype.newbyteorder("=") != np.dtype(dtype) or array.ndim != ndim:
        raise ModelFileError(
            f"{name} has dtype {array.dtype} and {array.ndim} dimensions, not "
            f"{np.dtype(dtype)} and {ndim}."
        )
    return np.require(array, dtype=dtype, requirements=["C", "A", "W"])

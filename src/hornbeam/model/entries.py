"""What an estimator takes out of a model file.

Whoever loads takes: an entry or array that is left over at the end does not belong, and
one that is not there is missing. Both are errors.
"""

from __future__ import annotations

from typing import Any

from hornbeam.dtypes import Array
from hornbeam.errors import ModelFileError


def take(header: dict[str, Any], key: str, *kinds: type) -> Any:
    """Remove an entry from the header and return it, if it is of one of the types.

    Parameters
    ----------
    header : dict
        The entries of the header that nobody has taken yet.
    key : str
        Name of the entry.
    *kinds : type
        Exact types allowed (a bool is not an int), ``type(None)`` among them if None is.

    Returns
    -------
    object
        The entry.
    """
    if key not in header:
        raise ModelFileError(f"The header lacks the entry {key!r}.")
    value = header.pop(key)
    if type(value) not in kinds:
        names = " or ".join(kind.__name__ for kind in kinds)
        raise ModelFileError(f"The entry {key!r} is a {type(value).__name__}, not {names}.")
    return value


def take_array(arrays: dict[str, Array], name: str) -> Array:
    """Remove an array and return it.

    Parameters
    ----------
    arrays : dict of str to array
        The arrays that nobody has taken yet.
    name : str
        Which one.

    Returns
    -------
    array
        Its dtype and shape are still to be checked (`validate.checked_array`).
    """
    if name not in arrays:
        raise ModelFileError(f"The file lacks the array {name!r}.")
    return arrays.pop(name)

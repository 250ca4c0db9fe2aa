"""Infinite numbers in a table: an error, or the largest numbers there are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from hornbeam.dtypes import Array

_are_numbers: ContextVar[bool] = ContextVar("infinities_are_numbers", default=False)


@contextmanager
def infinities_are_numbers() -> Iterator[None]:
    """Read infinite values as the largest numbers there are, instead of refusing them.

    A threshold between them and any other number is finite, so whoever grows trees on what was
    read may compare infinite values with it.
    """
    token = _are_numbers.set(True)
    try:
        yield
    finally:
        _are_numbers.reset(token)


def are_numbers() -> bool:
    """Whether infinite values are to be read as numbers."""
    return _are_numbers.get()


def bounded(values: Array) -> Array:
    """A copy of floats with the largest numbers in the place of infinite ones."""
    limit = np.finfo(values.dtype).max
    return np.clip(values, -limit, limit)

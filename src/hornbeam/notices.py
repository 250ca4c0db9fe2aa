"""Warnings that point to the user's own line, and that an ensemble does not repeat."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_PACKAGE = __name__.partition(".")[0]
_BETWEEN = ("sklearn.callback._callback_support",)  # what stands around our `fit`
_silent: ContextVar[bool] = ContextVar("silent", default=False)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn the caller of hornbeam, unless somebody else has said it already (`silenced`)."""
    if not _silent.get():
        warnings.warn(message, category, stacklevel=_levels_to_caller())


@contextmanager
def silenced(silent: bool) -> Iterator[None]:
    """Say nothing, if so: of the members of an ensemble, one speaks for all."""
    token = _silent.set(silent or _silent.get())
    try:
        yield
    finally:
        _silent.reset(token)


def _levels_to_caller() -> int:
    """How many calls `warn` is away from code that is not hornbeam's."""
    frame, levels = sys._getframe(1), 0
    while frame.f_back is not None and _is_own(frame.f_globals.get("__name__", "")):
        frame, levels = frame.f_back, levels + 1
    return levels + 1


def _is_own(module: str) -> bool:
    return module.partition(".")[0] == _PACKAGE or module in _BETWEEN

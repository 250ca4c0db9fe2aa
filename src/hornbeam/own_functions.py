"""What is wrong with a user's own function that does not compile, in a sentence."""

from __future__ import annotations

import inspect
import linecache
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from numba.core.errors import NumbaError, UnsupportedBytecodeError

NOT_COMPILED = (NumbaError, UnsupportedBytecodeError)

_BOILERPLATE = ("Failed in ", "During: ", "File ")
_LONGEST = 160  # of a reason


def what_is_wrong(error: Exception, functions: Sequence[Callable[..., Any]]) -> str:
    """Why some functions cannot be compiled: the reason, and the line if there is one.

    Parameters
    ----------
    error : Exception
        What Numba raised: many lines, most of which are about code that is not the user's.
    functions : sequence of functions
        The user's.
    """
    text = str(error)
    lines = [line.strip() for line in text.splitlines()]
    reason = next(line for line in lines if line and not line.startswith(_BOILERPLATE))
    place = _place(text, functions)
    if place is None:  # the function itself is well: it is what comes out that cannot be used
        return "what it returns is not a number" if "No implementation" in reason else reason
    return f"{reason[:_LONGEST].rstrip('. ')}, in {place}"


def _place(text: str, functions: Sequence[Callable[..., Any]]) -> str | None:
    """The line of the user's code that an error is about."""
    for function in functions:
        code = function.__code__
        name = Path(code.co_filename).name
        last = max((line for *_, line in code.co_lines() if line), default=0)
        named = rf"{re.escape(name)}(?:\", line | \()(\d+)"  # the two forms that Numba has
        for number in map(int, re.findall(named, text)):
            if code.co_firstlineno <= number <= last:
                source = linecache.getline(code.co_filename, number).strip()
                return f"line {number} of {name}" + (f": `{source}`" if source else "")
    return None


def takes(function: Callable[..., Any], n_arguments: int) -> bool:
    """Whether a function can be called with so many arguments."""
    try:
        inspect.signature(function).bind(*range(n_arguments))
    except TypeError:
        return False
    except ValueError:  # a signature that nobody knows
        return True
    return True

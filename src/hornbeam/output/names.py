"""Numbers, names and lists of names as text that stays on one line."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

LISTED = 6  # categories shown before "… (n more)"
# What could be taken for a part of a statement: the signs and words that statements are
# made of, and what would not be seen at the ends of a name.
_AMBIGUOUS = re.compile(
    r'["{},<>=…]| (and|then) | or (missing|unseen)| is (not |missing|anything|impossible|unseen)'
    r"|\([^()]* of |^[(|]|^not |^(missing|unseen|)$|^\s|\s$"
)
_CUT = re.compile(r", …(?: \([\d,]+ more\))?[});]")
_AMBIGUOUS_CLASS = re.compile(r'["\[\],]|\(\d[^()]* row|^\s|\s$|^$')


def printable(name: Any) -> str:
    r"""Return a name as text on one line, with control characters escaped.

    Parameters
    ----------
    name : object
        Name of a column, category or class.

    Returns
    -------
    str

    Examples
    --------
    >>> from hornbeam.output.names import printable
    >>> print(printable("two\nlines"))
    two\nlines
    """
    text = str(name)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escape(c) for c in text)


def quoted(name: Any, is_class: bool = False) -> str:
    r"""Return a name as it is written in statements: in quotes where it could be misread.

    Parameters
    ----------
    name : object
        Name of a column, category or class.
    is_class : bool
        Whether it is a class, which stands at the end of a line, so that less is ambiguous.

    Returns
    -------
    str
        In quotes, backslashes escape as in Python; without, there are no escapes.

    Examples
    --------
    >>> from hornbeam.output.names import quoted
    >>> print(quoted("dark red"), quoted("red, blue"), quoted("two\nlines"))
    dark red "red, blue" "two\nlines"
    """
    text = str(name)
    pattern = _AMBIGUOUS_CLASS if is_class else _AMBIGUOUS
    if text.isprintable() and not pattern.search(text):
        return text
    return in_quotes(text)


def in_quotes(text: str) -> str:
    """Return text in double quotes, with escapes as in Python.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str

    Examples
    --------
    >>> from hornbeam.output.names import in_quotes
    >>> print(in_quotes("1"))
    "1"
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{printable(escaped)}"'


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def format_number(number: float, decimals: int | None, trim: bool = False) -> str:
    """Write a number with so many decimals, or as many digits if these would all be zero.

    Parameters
    ----------
    number : float
        The number.
    decimals : int or None
        Digits behind the point; None for as many as it takes to read the very number back.
    trim : bool
        Leave out zeros at the end.

    Returns
    -------
    str

    Examples
    --------
    >>> from hornbeam.output.names import format_number
    >>> format_number(2.449999, 2), format_number(0.000123, 2), format_number(1e12, 2)
    ('2.45', '0.00012', '1e+12')
    """
    if decimals is None:
        return repr(float(number)).removesuffix(".0")
    size = abs(number)
    if math.isfinite(size) and size and not 0.5 * 10.0**-decimals <= size < 1e9:
        return f"{number:.{max(decimals, 1)}g}"
    text = f"{number:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if trim and "." in text else text


def format_count(number: float) -> str:
    """Write a count or a weight: thousands apart, no decimals where there are none.

    Parameters
    ----------
    number : float
        The count.

    Returns
    -------
    str

    Examples
    --------
    >>> from hornbeam.output.names import format_count
    >>> format_count(12345), format_count(2.5)
    ('12,345', '2.5')
    """
    if float(number).is_integer() and abs(number) < 1e15:
        return f"{int(number):,}"
    return f"{number:,.4g}"


def listed(names: Sequence[str], limit: int | None) -> str:
    """Join names with commas, the tail of a long list as "… (n more)".

    Parameters
    ----------
    names : sequence of str
        The names.
    limit : int or None
        How many to show at most; None for all.

    Returns
    -------
    str

    Examples
    --------
    >>> from hornbeam.output.names import listed
    >>> listed(["a", "b", "c", "d"], 2)
    'a, b, … (2 more)'
    """
    if limit is None or len(names) <= limit + 1:  # "… (1 more)" is no shorter than the name
        return ", ".join(names)
    return ", ".join(names[:limit]) + f", … ({len(names) - limit} more)"


def is_cut(text: str) -> bool:
    """Whether a list in a text of statements or rules has lost its tail.

    Parameters
    ----------
    text : str
        Lines with lists that `listed` has made.

    Returns
    -------
    bool

    Examples
    --------
    >>> from hornbeam.output.names import is_cut
    >>> is_cut("color in {red, blue, … (2 more)}"), is_cut("color in {red, blue}")
    (True, False)
    """
    return _CUT.search(text) is not None


def shortened(text: str, limit: int, keep: int = 0) -> str:
    """Cut text to so many characters, one of them "…".

    Parameters
    ----------
    text : str
        The text.
    limit : int
        Characters to keep.
    keep : int
        How many of them are the last ones, behind the "…".

    Returns
    -------
    str

    Examples
    --------
    >>> from hornbeam.output.names import shortened
    >>> shortened("sepal length (cm)", 9)
    'sepal le…'
    >>> shortened("sepal length (cm) <= 2.45", 18, keep=8)
    'sepal len… <= 2.45'
    """
    if len(text) <= limit:
        return text
    return text[: limit - 1 - keep].rstrip() + "…" + (text[-keep:] if keep else "")

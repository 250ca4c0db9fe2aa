"""Colours of classes and values, as ``#rrggbb``."""

from __future__ import annotations

import colorsys

# Okabe and Ito's palette: told apart with every kind of colour vision.
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#7f7f7f")
INK = "#1f2430"
QUIET = "#4d5563"
LINE = "#9aa3b0"
WHITE = "#ffffff"
PLAIN = "#f3f5f8"
LOW, HIGH = "#f4f9fd", "#85bfe6"  # of a regressor's values


def class_color(number: int) -> str:
    """Return the colour of a class.

    Parameters
    ----------
    number : int
        Which class, in the order of ``classes_``.

    Returns
    -------
    str
        A palette colour; for many classes, hues a golden angle apart.

    Examples
    --------
    >>> from hornbeam.output.colors import class_color
    >>> class_color(0)
    '#0072b2'
    """
    if number < len(PALETTE):
        return PALETTE[number]
    hue = (0.11 + 0.6180339887 * number) % 1.0
    return _hex(colorsys.hls_to_rgb(hue, 0.45, 0.6))


def mix(first: str, second: str, share: float) -> str:
    """Blend two colours.

    Parameters
    ----------
    first, second : str
        The colours.
    share : float
        Share of the second one, from 0 to 1.

    Returns
    -------
    str

    Examples
    --------
    >>> from hornbeam.output.colors import mix
    >>> mix("#000000", "#ffffff", 0.5)
    '#808080'
    """
    share = min(max(share, 0.0), 1.0)
    pairs = zip(_rgb(first), _rgb(second), strict=True)
    return _hex(tuple(a + (b - a) * share for a, b in pairs))


def _rgb(color: str) -> tuple[float, ...]:
    return tuple(int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))


def _hex(rgb: tuple[float, ...]) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in rgb)

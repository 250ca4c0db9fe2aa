"""A fitted tree as SVG, written by hand: no matplotlib, no Graphviz, no script inside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from xml.sax.saxutils import escape

from hornbeam.output.colors import INK, LINE, QUIET, WHITE
from hornbeam.output.names import LISTED
from hornbeam.output.nodes import view_of
from hornbeam.output.picture import (
    BAR,
    FONT,
    LINE_HEIGHT,
    MARGIN,
    PADDING,
    Box,
    Look,
    Picture,
    draw_picture,
    text_width,
)

FONTS = "'DejaVu Sans', Verdana, 'Segoe UI', Helvetica, Arial, sans-serif"
ANSWER_RISE = 12.0  # how far above its box an answer stands


class Svg(str):
    """SVG text that a notebook shows as a picture."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)


def tree_svg(
    estimator: Any,
    *,
    max_depth: int | None = None,
    feature_names: Sequence[Any] | None = None,
    class_names: Sequence[Any] | bool | None = None,
    filled: bool = True,
    impurity: bool = True,
    node_ids: bool = False,
    proportion: bool = False,
    rounded: bool = True,
    precision: int | None = 3,
    show_missing: bool = True,
    max_categories: int | None = LISTED,
    tree_index: int | None = None,
) -> Svg:
    """Draw a fitted tree as SVG.

    Parameters
    ----------
    estimator : fitted tree
        As for `export_text`.
    max_depth : int, optional
        Levels to draw; by default as many as stay legible.
    feature_names : sequence of str, optional
        Other names for the columns than those in the data.
    class_names : sequence of str, optional
        Other names for the classes, in the order of ``classes_``.
    filled : bool, default True
        Colour the boxes by class or value.
    impurity, node_ids : bool
        Whether boxes show the impurity, and the number of the node.
    proportion : bool, default False
        Show the share of the rows instead of their number.
    rounded : bool, default True
        Round the corners.
    precision : int or None, default 3
        Digits behind the point; None shows numbers exactly.
    show_missing : bool, default True
        Whether to say where missing values go.
    max_categories : int or None, default 6
        How many categories of a set to list before "… (n more)"; None lists all.
        Without a limit all branches of a node are drawn, and no line is cut.

    Returns
    -------
    str
        A whole SVG document; a notebook shows it as a picture.

    Examples
    --------
    >>> import hornbeam as hb
    >>> from hornbeam.output.svg import tree_svg
    >>> tree = hb.DecisionTreeRegressor().fit([[1.0], [2.0]], [0.0, 1.0])
    >>> tree_svg(tree)[:4]
    '<svg'
    """
    view = view_of(
        estimator,
        feature_names=feature_names,
        class_names=class_names,
        decimals=precision,
        trim=True,
        show_missing=show_missing,
        max_categories=max_categories,
        tree_index=tree_index,
    )
    look = Look(max_depth, filled, impurity, node_ids, proportion)
    return picture_svg(draw_picture(view, look), rounded)


def picture_svg(picture: Picture, rounded: bool = True) -> Svg:
    """Write a picture as SVG.

    Parameters
    ----------
    picture : Picture
        Boxes with positions.
    rounded : bool
        Round the corners.

    Returns
    -------
    str
    """
    size = f'width="{_n(picture.width)}" height="{_n(picture.height)}"'
    view_box = f'viewBox="0 0 {_n(picture.width)} {_n(picture.height)}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {view_box} role="img" '
        f'font-family="{FONTS}" font-size="{_n(FONT)}" text-anchor="middle">',
        "<title>Decision tree</title>",
        f'<rect {size} fill="{WHITE}"/>',
        f'<g fill="none" stroke="{LINE}" stroke-width="1.2">',
        *(_edge(picture.boxes[box.parent], box) for box in picture.boxes[1:]),
        "</g>",
        *(part for box in picture.boxes for part in _box(box, 6.0 if rounded else 0.0)),
        *(_note(y, words) for y, words in picture.notes),
        "</svg>",
    ]
    return Svg("\n".join(parts) + "\n")


def _n(number: float) -> str:
    """Write a coordinate in few characters."""
    return f"{number:.1f}".removesuffix(".0")


def _note(y: float, words: str) -> str:
    place = f'x="{_n(MARGIN)}" y="{_n(y + 4)}" text-anchor="start"'
    return f'<text {place} fill="{QUIET}">{escape(words)}</text>'


def _edge(parent: Box, child: Box) -> str:
    top, bottom = parent.y + parent.height, child.y
    middle = _n((top + bottom) / 2)
    start, end = f"{_n(parent.x)} {_n(top)}", f"{_n(child.x)} {_n(bottom)}"
    dashes = ' stroke-dasharray="2 3"' if child.stub else ""
    return f'<path d="M{start}C{_n(parent.x)} {middle} {_n(child.x)} {middle} {end}"{dashes}/>'


def _box(box: Box, radius: float) -> Iterator[str]:
    left = box.x - box.width / 2
    yield f"<g><title>{escape(box.title)}</title>"
    yield (
        f'<rect x="{_n(left)}" y="{_n(box.y)}" width="{_n(box.width)}" '
        f'height="{_n(box.height)}" rx="{_n(radius)}" fill="{box.fill}" stroke="{box.border}"/>'
    )
    for number, line in enumerate(box.lines):
        y = box.y + PADDING / 2 + (number + 0.75) * LINE_HEIGHT
        weight = ' font-weight="bold"' if line.bold else ""
        color = QUIET if line.quiet else INK
        text = escape(line.text).replace("  ", " \u00a0")
        yield f'<text x="{_n(box.x)}" y="{_n(y)}" fill="{color}"{weight}>{text}</text>'
    yield from _bar(box)
    yield "</g>"
    if box.answer:
        width, y = text_width(box.answer), box.y - ANSWER_RISE
        yield (
            f'<rect x="{_n(box.x - width / 2)}" y="{_n(y - 10)}" width="{_n(width)}" '
            f'height="14" fill="{WHITE}"/>'
        )
        yield f'<text x="{_n(box.x)}" y="{_n(y)}" fill="{QUIET}">{escape(box.answer)}</text>'


def _bar(box: Box) -> Iterator[str]:
    """Write the strip of class shares at the foot of a box."""
    x, room = box.x - box.width / 2 + PADDING, box.width - 2 * PADDING
    y = box.y + box.height - PADDING / 2 - BAR - 1
    for color, share in box.bar:
        size = f'width="{_n(share * room)}" height="{_n(BAR)}"'
        yield f'<rect x="{_n(x)}" y="{_n(y)}" {size} fill="{color}"/>'
        x += share * room

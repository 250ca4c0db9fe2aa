"""A fitted tree drawn with matplotlib (or saved as SVG without it)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hornbeam.errors import MissingDependencyError
from hornbeam.model.atomic import replace_file, replacing
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
)
from hornbeam.output.svg import ANSWER_RISE, picture_svg


class Artists(list[Any]):
    """What was drawn: a list that says so in a line, where a notebook would list it all."""

    def __repr__(self) -> str:
        return f"<drawing of {len(self)} artists>" if self else "<drawing in a file>"


def plot_tree(
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
    ax: Any = None,
    fontsize: float | None = None,
    path: str | os.PathLike[str] | None = None,
    show_missing: bool = True,
    max_categories: int | None = LISTED,
    tree_index: int | None = None,
) -> list[Any]:
    """Draw a fitted tree.

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
    ax : matplotlib Axes, optional
        Where to draw; by default the current axes if they are empty, else a new figure as
        large as the tree needs.
    fontsize : float, optional
        In points; by default what fits the axes.
    path : str or path, optional
        Also save the drawing; a file of this name is replaced. ``"tree.svg"`` needs no
        matplotlib and returns no artists; other endings are matplotlib's.
    show_missing : bool, default True
        Whether to say where missing values go.
    max_categories : int or None, default 6
        How many categories of a set to list before "… (n more)"; None lists all.
        Without a limit all branches of a node are drawn, and no line is cut.
    tree_index : int, optional
        Which tree of a forest or of a boosted model; by default the first, which a note says.

    Returns
    -------
    list of matplotlib artists

    Examples
    --------
    >>> import hornbeam as hb
    >>> tree = hb.DecisionTreeRegressor().fit([[1.0], [2.0]], [0.0, 1.0])
    >>> hb.plot_tree(tree, path="tree.svg")  # doctest: +SKIP
    <drawing in a file>
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
    picture = draw_picture(view, Look(max_depth, filled, impurity, node_ids, proportion))
    if path is not None and ax is None and os.fspath(path).lower().endswith(".svg"):
        replace_file(path, picture_svg(picture, rounded).encode())
        return Artists()
    axes = _axes(picture, fontsize) if ax is None else ax
    artists = Artists(_draw(picture, axes, fontsize, rounded))
    if path is not None:
        _save(axes.figure, Path(path))
    return artists


def _save(figure: Any, path: Path) -> None:
    """Save as matplotlib would, which adds an ending to a name that has none."""
    kind = path.suffix[1:] or figure.canvas.get_default_filetype()
    with replacing(path if path.suffix[1:] else path.with_suffix(f".{kind}")) as file:
        figure.savefig(file.name, format=kind)


def _axes(picture: Picture, fontsize: float | None) -> Any:
    """Return the current axes if nothing is drawn there, else new ones of the right size."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingDependencyError(
            "plot_tree draws with matplotlib, which is not installed. Install it with "
            "pip install matplotlib, or save an SVG, which needs nothing: "
            "plot_tree(estimator, path='tree.svg')."
        ) from error
    if pyplot.get_fignums() and not pyplot.gcf().axes:
        return pyplot.gcf().add_axes((0.0, 0.0, 1.0, 1.0))
    if pyplot.get_fignums() and not pyplot.gca().has_data():
        return pyplot.gca()
    unit = (fontsize or FONT) / FONT / 72  # inches
    size = (min(picture.width * unit, 200.0), min(picture.height * unit, 200.0))
    return pyplot.figure(figsize=size).add_axes((0.0, 0.0, 1.0, 1.0))


def _draw(picture: Picture, axes: Any, fontsize: float | None, rounded: bool) -> list[Any]:
    axes.set_xlim(0, picture.width)
    axes.set_ylim(picture.height, 0)  # downwards, as in the picture
    axes.set_aspect("equal")
    axes.set_axis_off()
    pen = _Pen(axes, fontsize or _font_that_fits(picture, axes), rounded)
    for box in picture.boxes[1:]:
        pen.edge(picture.boxes[box.parent], box)
    for box in picture.boxes:
        pen.box(box)
    for y, words in picture.notes:
        pen.note(y, words)
    return pen.artists


def _font_that_fits(picture: Picture, axes: Any) -> float:
    """Font size at which text and boxes, which scale with the axes, fit together."""
    figure, place = axes.figure, axes.get_position()
    width = place.width * figure.get_figwidth() * 72
    height = place.height * figure.get_figheight() * 72
    return float(FONT * min(width / picture.width, height / picture.height))


class _Pen:
    """Draws boxes and edges on axes and collects the artists."""

    def __init__(self, axes: Any, fontsize: float, rounded: bool) -> None:
        self.axes, self.fontsize = axes, fontsize
        self.scale = fontsize / FONT  # points per unit of the picture
        self.radius = 6.0 if rounded else 0.0
        self.artists: list[Any] = []

    def edge(self, parent: Box, child: Box) -> None:
        """Draw the curve from a box down to another."""
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path as Curve

        top, bottom = parent.y + parent.height, child.y
        middle = (top + bottom) / 2
        points = [(parent.x, top), (parent.x, middle), (child.x, middle), (child.x, bottom)]
        curve = Curve(points, [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4])
        style = (0, (2, 3)) if child.stub else "-"
        self._patch(PathPatch(curve, fill=False, edgecolor=LINE, linestyle=style), 1.2, 1)

    def box(self, box: Box) -> None:
        """Draw a box with its words, class shares and the answer above it."""
        from matplotlib.patches import FancyBboxPatch, Rectangle

        corner = (box.x - box.width / 2, box.y)
        shape = f"round,pad=0,rounding_size={self.radius}" if self.radius else "square,pad=0"
        rectangle = FancyBboxPatch(
            corner, box.width, box.height, shape, facecolor=box.fill, edgecolor=box.border
        )
        self._patch(rectangle, 1.0, 2)
        for number, line in enumerate(box.lines):
            y = box.y + PADDING / 2 + (number + 0.5) * LINE_HEIGHT
            self._text(box.x, y, line.text, QUIET if line.quiet else INK, line.bold)
        x, room = corner[0] + PADDING, box.width - 2 * PADDING
        y = box.y + box.height - PADDING / 2 - BAR - 1
        for color, share in box.bar:
            self._patch(Rectangle((x, y), share * room, BAR, facecolor=color), 0.0, 3)
            x += share * room
        if box.answer:
            halo = {"facecolor": WHITE, "edgecolor": "none", "pad": 1.0 * self.scale}
            self._text(box.x, box.y - ANSWER_RISE - 4, box.answer, QUIET, False, halo)

    def note(self, y: float, words: str) -> None:
        """Write a line below the tree."""
        self._text(MARGIN, y, words, QUIET, False, side="left")

    def _patch(self, patch: Any, line_width: float, order: int) -> None:
        patch.set(linewidth=line_width * self.scale, zorder=order)
        self.artists.append(self.axes.add_patch(patch))

    def _text(
        self,
        x: float,
        y: float,
        text: str,
        color: str,
        bold: bool,
        halo: Any = None,
        side: str = "center",
    ) -> None:
        self.artists.append(
            self.axes.text(
                x, y, text, color=color, fontsize=self.fontsize, zorder=4, bbox=halo,
                fontweight="bold" if bold else "normal", ha=side, va="center",
                parse_math=False,
            )
        )  # fmt: skip

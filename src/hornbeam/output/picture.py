"""A tree as boxes, lines and words with positions: the drawing before any drawing tool.

SVG and matplotlib draw the same `Picture`, whose unit is a point at the base font size.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hornbeam.dtypes import LEAF
from hornbeam.output.colors import HIGH, LOW, PLAIN, QUIET, WHITE, class_color, mix
from hornbeam.output.layout import TidyLayout
from hornbeam.output.names import format_count, is_cut, shortened
from hornbeam.output.nodes import NodeView, Path, TreeView

FONT = 11.0
LINE_HEIGHT = 15.0
PADDING = 9.0
BAR = 5.0  # height of the strip of class shares
LEVEL_GAP = 46.0
NEIGHBOUR_GAP = 14.0
MARGIN = 10.0
MAX_LEAVES = 64  # drawn unless max_depth says otherwise
MAX_CHILDREN = 16  # of one node; a multiway split can have thousands
LONGEST = 34  # characters of a line
LONGEST_ANSWER = 18
_PARTED = (
    "A row whose value no branch names goes down all branches, in proportion to their weights "
    "(or rows), and gets the mixture of what it reaches."
)
_HIDDEN = "Not all is drawn; max_depth and max_categories=None show more."
Place = tuple[int, int, Path]  # a node, its box, and what the questions so far let through
_END = re.compile(r" <= [^{}]*$|  [\d.]+%$")  # a threshold, or the share of a class


@dataclass(frozen=True)
class Line:
    """One line of text in a box."""

    text: str
    bold: bool = False
    quiet: bool = False


@dataclass
class Box:
    """A node, or a stub that stands for nodes not shown.

    ``x`` is the centre, ``y`` the upper border. `bar` holds the class shares.
    """

    lines: list[Line]
    title: str
    fill: str
    border: str
    bar: list[tuple[str, float]]
    parent: int = -1
    answer: str = ""
    stub: bool = False
    x: float = 0.0
    y: float = 0.0

    @property
    def is_cut(self) -> bool:
        """Whether a line, or the answer, is shorter than it should be."""
        lines = "\n".join(line.text for line in self.lines)
        return lines != self.title or self.answer.removesuffix(", missing").endswith("…")

    @property
    def width(self) -> float:
        """Room for the longest line."""
        widest = max(text_width(line.text, line.bold) for line in self.lines)
        return max(widest + 2 * PADDING, 30.0 if self.stub else 64.0)

    @property
    def height(self) -> float:
        """Room for all lines and the strip of class shares."""
        return len(self.lines) * LINE_HEIGHT + PADDING + (BAR + 4 if self.bar else 0)


@dataclass(frozen=True)
class Picture:
    """All boxes, numbered level by level; a box knows its parent. Notes stand below."""

    boxes: list[Box]
    width: float
    height: float
    notes: list[tuple[float, str]]  # middle of the line, and its words


@dataclass(frozen=True)
class Look:
    """What to show in a box; the parameters of `plot_tree` that both tools share."""

    max_depth: int | None = None
    filled: bool = True
    impurity: bool = True
    node_ids: bool = False
    proportion: bool = False


def text_width(text: str, bold: bool = False) -> float:
    """Estimate the width of text in a common sans-serif font.

    Parameters
    ----------
    text : str
        One line.
    bold : bool
        Whether it is set in bold.

    Returns
    -------
    float
        In points at the base font size; rather too wide than too narrow.
    """
    return sum(map(_em, text)) * FONT * (1.1 if bold else 1.0)


def _em(character: str) -> float:
    if character in " .,:;'|!ijlI":
        return 0.33
    if character in 'frt()[]{}-"/\\':
        return 0.41
    if character in "mwMW%@—…":
        return 0.96
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    if character in "<>=+~":
        return 0.84
    return 0.72 if character.isupper() else 0.63


def draw_picture(view: TreeView, look: Look) -> Picture:
    """Choose what is shown and where it goes.

    Parameters
    ----------
    view : TreeView
        The tree.
    look : Look
        What to show.

    Returns
    -------
    Picture
    """
    painter = _Painter(view, look)
    boxes = painter.boxes()
    children: list[list[int]] = [[] for _ in boxes]
    for number, box in enumerate(boxes[1:], start=1):
        children[box.parent].append(number)
    # A box is as wide as the answer above it, so that answers cannot collide.
    widths = [max(box.width, text_width(box.answer) + 4) for box in boxes]
    for box, x in zip(boxes, TidyLayout(children, widths, NEIGHBOUR_GAP).positions(), strict=True):
        box.x = x + MARGIN
    bottom = _place_levels(boxes)
    right = max(box.x + width / 2 for box, width in zip(boxes, widths, strict=True))
    notes = painter.notes(boxes)
    right = max([right, *(MARGIN + text_width(note) for note in notes)])
    first = bottom + LINE_HEIGHT
    lines = [(first + number * LINE_HEIGHT, note) for number, note in enumerate(notes)]
    bottom = lines[-1][0] + LINE_HEIGHT / 2 if lines else bottom
    return Picture(boxes, right + MARGIN, bottom + MARGIN, lines)


def _place_levels(boxes: Sequence[Box]) -> float:
    """Set y: a level starts below the tallest box of the level above; return the end."""
    levels: list[list[Box]] = []
    depth = [0] * len(boxes)
    for number, box in enumerate(boxes):
        depth[number] = depth[box.parent] + 1 if number else 0
        if depth[number] == len(levels):
            levels.append([])
        levels[depth[number]].append(box)
    y = MARGIN
    for level in levels:
        for box in level:
            box.y = y
        y += max(box.height for box in level) + LEVEL_GAP
    return y - LEVEL_GAP


class _Painter:
    """Makes the boxes: which nodes, which words, which colours."""

    def __init__(self, view: TreeView, look: Look) -> None:
        self.view, self.look = view, look
        numbers = view.tree.value[:, 0]
        self.low, self.high = float(np.min(numbers)), float(np.max(numbers))
        self.total = max(float(view.tree.weight[0]), 1e-300)

    def boxes(self) -> list[Box]:
        """Boxes of the visible part, level by level."""
        tree, boxes = self.view.tree, [self._node_box(self.view.node(0, {}))]
        level: list[Place] = [(0, 0, {})]
        depth, n_leaves = 0, 0
        while level:
            inner = [place for place in level if tree.kind[place[0]] != LEAF]
            n_leaves += len(level) - len(inner)
            shown = sum(min(len(self.view.branches(p[0])), MAX_CHILDREN) for p in inner)
            if self._is_deep_enough(depth, n_leaves + shown):
                boxes += [self._hidden_below(node, box) for node, box, _ in inner]
                break
            level = self._add_level(boxes, inner)
            depth += 1
        return boxes

    def notes(self, boxes: list[Box]) -> list[str]:
        """What must be known to read the picture, and what was left out of it."""
        view = self.view
        cut = any(is_cut(box.title) or box.is_cut for box in boxes)
        notes = view.notes(cut, decimals="precision")
        if view.parts_rows and view.show_missing and len(boxes) > 1:
            notes.insert(0, _PARTED)
        if any(box.stub for box in boxes):
            notes.append(_HIDDEN)
        return notes

    def _is_deep_enough(self, depth: int, n_leaves: int) -> bool:
        if self.look.max_depth is not None:
            return depth >= self.look.max_depth
        return depth > 0 and n_leaves > MAX_LEAVES

    def _add_level(self, boxes: list[Box], inner: list[Place]) -> list[Place]:
        """Append the children of these nodes; return where they are."""
        level: list[Place] = []
        for node, parent, path in inner:
            branches = self.view.branches(node)
            some = len(branches)
            if some > MAX_CHILDREN and self.view.max_categories is not None:
                some = MAX_CHILDREN - 1
            for number in branches[:some]:
                branch = self.view.branch(node, number, path)
                below = self.view.after(path, node, number)
                box = self._node_box(self.view.node(branch.child, below))
                box.parent = parent
                missing = branch.missing and branch.answer != "missing" and self.view.show_missing
                box.answer = self._cut(branch.answer, LONGEST_ANSWER) + ", missing" * missing
                level.append((branch.child, len(boxes), below))
                boxes.append(box)
            if some < len(branches):
                boxes.append(_stub(f"… {len(branches) - some:,} more", parent))
        return level

    def _cut(self, words: str, limit: int) -> str:
        if self.view.max_categories is not None:
            end = _END.search(words)  # what a long name must not push out
            keep = 0 if end is None else len(end[0])
            words = shortened(words, limit, keep if keep <= limit // 2 else 0)
        return words

    def _hidden_below(self, node: int, parent: int) -> Box:
        depth = int(self.view.height[node])
        return _stub(f"… {depth} more level{'s' if depth > 1 else ''}", parent)

    def _node_box(self, node: NodeView) -> Box:
        lines = [Line(f"node #{node.node}", quiet=True)] if self.look.node_ids else []
        predicted = self._prediction(node)
        if node.question:
            lines += [Line(node.question, bold=True), Line(predicted)]
        else:
            lines += [Line(predicted, bold=True)]
        lines.append(Line(self._support(node), quiet=True))
        if self.look.impurity:
            lines.append(
                Line(f"{self.view.criterion} {self.view.number(node.impurity)}", quiet=True)
            )
        return Box(
            lines=[Line(self._cut(x.text, LONGEST), x.bold, x.quiet) for x in lines],
            title="\n".join(line.text for line in lines),
            fill=self._fill(node),
            border=self._border(node),
            bar=self._bar(node),
        )

    def _prediction(self, node: NodeView) -> str:
        if self.view.class_names is None or self.view.n_outputs > 1:
            return node.prediction
        # "3  90%" would puzzle; "class 3  90%" does not.
        name = node.prediction if not _is_number(node.prediction) else f"class {node.prediction}"
        return f"{name}  {_percent(float(node.values[0][node.winner]))}"

    def _support(self, node: NodeView) -> str:
        if self.look.proportion:
            return f"{_percent(node.weight / self.total)} of the rows"
        words = f"{format_count(node.n_samples)} row{'s' if node.n_samples != 1 else ''}"
        if node.weight != node.n_samples:
            words += f", weight {format_count(node.weight)}"
        return words

    def _fill(self, node: NodeView) -> str:
        if not self.look.filled:
            return WHITE
        if node.winner < 0:
            span = self.high - self.low
            share = (float(node.values[0][0]) - self.low) / span if 0 < span < np.inf else 0.0
            return mix(LOW, HIGH, share)
        shares = node.values[0]
        floor = 1 / len(shares) if len(shares) > 1 else 0.0
        purity = (float(shares[node.winner]) - floor) / (1 - floor)
        return mix(WHITE, class_color(node.winner), 0.06 + 0.3 * purity)

    def _border(self, node: NodeView) -> str:
        if not self.look.filled:
            return QUIET
        base = HIGH if node.winner < 0 else class_color(node.winner)
        return mix(base, "#000000", 0.15)

    def _bar(self, node: NodeView) -> list[tuple[str, float]]:
        if node.winner < 0 or not self.look.filled or self.view.n_outputs > 1:
            return []
        shares = node.values[0]
        return [(class_color(c), float(share)) for c, share in enumerate(shares) if share > 0]


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _percent(share: float) -> str:
    return f"{100 * share:.1f}".removesuffix(".0") + "%"


def _stub(words: str, parent: int) -> Box:
    line = Line(words, quiet=True)
    return Box([line], words, PLAIN, PLAIN, [], parent=parent, stub=True)


__all__ = ["Box", "Line", "Look", "Picture", "draw_picture", "text_width"]

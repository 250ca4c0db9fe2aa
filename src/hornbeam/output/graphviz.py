"""A fitted tree in the language of Graphviz, with the words of `plot_tree`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from hornbeam.model.atomic import replace_file
from hornbeam.output.names import LISTED
from hornbeam.output.nodes import view_of
from hornbeam.output.picture import Box, Look, Picture, draw_picture


def export_graphviz(
    estimator: Any,
    out_file: Any = None,
    *,
    max_depth: int | None = None,
    feature_names: Sequence[Any] | None = None,
    class_names: Sequence[Any] | bool | None = None,
    filled: bool = True,
    leaves_parallel: bool = False,
    impurity: bool = True,
    node_ids: bool = False,
    proportion: bool = False,
    rotate: bool = False,
    rounded: bool = True,
    precision: int | None = 3,
    fontname: str = "helvetica",
    show_missing: bool = True,
    max_categories: int | None = LISTED,
    tree_index: int | None = None,
) -> str | None:
    r"""Write a fitted tree in the language of Graphviz.

    Parameters
    ----------
    estimator : fitted tree
        As for `export_text`.
    out_file : path or file, optional
        Where to; by default the text is returned.
    max_depth, feature_names, class_names, filled, impurity, node_ids, proportion, rounded
        As for `plot_tree`.
    leaves_parallel : bool, default False
        Draw all leaves on one line.
    rotate : bool, default False
        Grow the tree from left to right.
    precision, show_missing, max_categories, tree_index
        As for `plot_tree`.
    fontname : str, default "helvetica"

    Returns
    -------
    str or None
        The text, unless it went to a file.

    Examples
    --------
    >>> import hornbeam as hb
    >>> tree = hb.DecisionTreeRegressor().fit([[1.0], [2.0]], [0.0, 1.0])
    >>> print(hb.export_graphviz(tree, filled=False, rounded=False, impurity=False))
    digraph Tree {
    node [shape=box, style="filled", fontname="helvetica"];
    edge [fontname="helvetica"];
    0 [label="x0 <= 1.5\n0.5\n2 rows", fillcolor="#ffffff", color="#4d5563"];
    1 [label="0\n1 row", fillcolor="#ffffff", color="#4d5563"];
    0 -> 1 [label="yes"];
    2 [label="1\n1 row", fillcolor="#ffffff", color="#4d5563"];
    0 -> 2 [label="no, missing"];
    }
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
    style = "filled, rounded" if rounded else "filled"
    head = [f"node [shape=box, style={_quoted(style)}, fontname={_quoted(fontname)}];"]
    head += [f"edge [fontname={_quoted(fontname)}];"]
    head += ["graph [ranksep=equally, splines=polyline];"] * leaves_parallel
    head += ["rankdir=LR;"] * rotate
    text = "\n".join(["digraph Tree {", *head, *_body(picture, leaves_parallel), "}"])
    if out_file is None:
        return text
    if hasattr(out_file, "write"):
        out_file.write(text)
    else:
        replace_file(os.fspath(out_file), text.encode())
    return None


def _body(picture: Picture, leaves_parallel: bool) -> list[str]:
    """The boxes, each with the way that leads to it, and what must be known to read them."""
    lines = []
    for number, box in enumerate(picture.boxes):
        lines.append(f"{number} [{_look(box)}];")
        if number:
            lines.append(f"{box.parent} -> {number}{_answer(box)};")
    if leaves_parallel:
        parents = {box.parent for box in picture.boxes}
        leaves = [str(n) for n in range(len(picture.boxes)) if n not in parents]
        lines.append(f"{{rank=same; {'; '.join(leaves)}}};")
    notes = "\n".join(words for _, words in picture.notes)
    return lines + ([f"label={_quoted(notes)};"] if notes else [])


def _look(box: Box) -> str:
    words = "\n".join(line.text for line in box.lines)
    return f'label={_quoted(words)}, fillcolor="{box.fill}", color="{box.border}"'


def _answer(box: Box) -> str:
    return f" [label={_quoted(box.answer)}]" if box.answer else ""


def _quoted(words: str) -> str:
    """Text as a string of Graphviz, which reads a backslash as the start of something else."""
    escaped = words.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'

"""One tree of an ensemble, as everything that shows a tree wants it."""

from __future__ import annotations

from dataclasses import dataclass

from hornbeam.data.schema import Schema
from hornbeam.tree.storage import Tree


@dataclass(frozen=True, eq=False)
class SingleTree:
    """A tree with its schema: `hb.export_text`, `hb.plot_tree` and `hb.tree_svg` take it."""

    tree_: Tree
    schema_: Schema
    criterion: str
    n_outputs_: int = 1

"""Trees in a model file: one array per field, tree after tree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hornbeam.dtypes import Array
from hornbeam.errors import ModelFileError
from hornbeam.model.arrays import checked_array
from hornbeam.model.entries import take_array
from hornbeam.tree.storage import TREE_FIELDS, Tree


def pack_trees(trees: Sequence[Tree]) -> dict[str, Array]:
    """Join trees into the arrays of a model file.

    Parameters
    ----------
    trees : sequence of Tree
        All with the same number of values.

    Returns
    -------
    dict of str to array
        ``trees.<field>`` for each field, one tree after the other, and ``trees.node_start``, the
        first node of each tree and the end. ``trees.set_start`` counts through all trees.
    """
    names = [name for name in TREE_FIELDS if name != "set_start"]
    arrays = {
        f"trees.{name}": np.concatenate(
            [np.empty((0, 1) if name == "value" else 0, TREE_FIELDS[name])]
            if not len(trees)
            else [getattr(tree, name) for tree in trees]
        )
        for name in names
    }
    lengths = [np.zeros(1, np.int64), *(np.diff(tree.set_start) for tree in trees)]
    arrays["trees.set_start"] = np.cumsum(np.concatenate(lengths))
    arrays["trees.node_start"] = np.cumsum([0] + [tree.node_count for tree in trees])
    return arrays


def take_trees(arrays: dict[str, Array]) -> list[Tree]:
    """Remove the arrays that `pack_trees` made and return the trees, which nobody vouches for.

    Parameters
    ----------
    arrays : dict of str to array
        The arrays that nobody has taken yet.

    Returns
    -------
    list of Tree
        To be checked by `validate_trees`.
    """
    fields = {name: take_array(arrays, f"trees.{name}") for name in TREE_FIELDS}
    nodes = _take_borders(take_array(arrays, "trees.node_start"), "trees.node_start")
    n_nodes = int(nodes[-1])
    for name, array in fields.items():
        expected = n_nodes + (name == "set_start")
        if name != "set_words" and (array.ndim == 0 or len(array) != expected):
            raise ModelFileError(f"trees.{name} should have {expected} entries.")
    words = _take_borders(fields["set_start"], "trees.set_start")[nodes]
    if fields["set_words"].ndim == 0 or len(fields["set_words"]) != words[-1]:
        raise ModelFileError(f"trees.set_words should have {words[-1]} entries.")
    return [
        Tree(**{name: _part(name, fields[name], tree, nodes, words) for name in TREE_FIELDS})
        for tree in range(len(nodes) - 1)
    ]


def _take_borders(array: Array, name: str) -> Array:
    borders = checked_array(array, name, np.int64)
    if not len(borders) or borders[0] != 0 or (borders[1:] < borders[:-1]).any():
        raise ModelFileError(f"{name} does not ascend from 0.")
    return borders


def _part(name: str, array: Array, tree: int, nodes: Array, words: Array) -> Array:
    """The field of one tree; set_start has one entry more than nodes, and begins with 0."""
    if name == "set_words":
        return array[words[tree] : words[tree + 1]]
    if name == "set_start":
        return array[nodes[tree] : nodes[tree + 1] + 1] - words[tree]
    return array[nodes[tree] : nodes[tree + 1]]

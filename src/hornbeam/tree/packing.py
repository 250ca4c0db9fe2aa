"""Trees in a model file: one array per field, tree after tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hornbeam.dtypes import Array
from hornbeam.errors import ModelFileError
from hornbeam.model.arrays import checked_array
from hornbeam.model.entries import take_array
from hornbeam.tree.storage import TREE_FIELDS, Tree
from hornbeam.tree.validate import validate_tree


def pack_trees(trees: Sequence[Tree]) -> dict[str, Array]:
    """Join trees into the arrays of a model file.

    Parameters
    ----------
    trees : sequence of Tree
        All with the same number of values.

    Returns
    -------
    dict of str to array
        ``trees.<field>`` for each field, one tree after the other, and
        ``trees.node_start``, ``trees.word_start`` with the border of each tree.
    """
    arrays = {
        f"trees.{name}": np.concatenate([getattr(tree, name) for tree in trees])
        for name in TREE_FIELDS
    }
    arrays["trees.node_start"] = np.cumsum([0] + [tree.node_count for tree in trees])
    arrays["trees.word_start"] = np.cumsum([0] + [len(tree.set_words) for tree in trees])
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def take_trees(
    arrays: dict[str, Array],
    schema: Any,
    n_values: int,
    missing_is_branch: bool = False,
    may_list: bool = False,
) -> list[Tree]:
    """Remove the arrays that `pack_trees` made and return the trees, all checked.

    Parameters
    ----------
    arrays : dict of str to array
        The arrays that nobody has taken yet.
    schema : Schema
        What the model knows of its columns.
    n_values : int
        Number of values a node predicts.
    missing_is_branch : bool
        Whether a multiway split may have one more branch for missing values.
    may_list : bool
        As in `validate_tree`.

    Returns
    -------
    list of Tree
    """
    nodes = _take_borders(arrays, "trees.node_start")
    words = _take_borders(arrays, "trees.word_start")
    if len(nodes) != len(words):
        raise ModelFileError("trees.node_start and trees.word_start count different trees.")
    fields = {name: take_array(arrays, f"trees.{name}") for name in TREE_FIELDS}
    _check_total(fields, nodes[-1], words[-1], len(nodes) - 1)
    known = (schema.n_features, n_values, schema.n_categories, schema.is_category)
    trees = []
    for number in range(len(nodes) - 1):
        parts = {name: array[_span(name, number, nodes, words)] for name, array in fields.items()}
        trees.append(validate_tree(parts, *known, missing_is_branch, may_list))
    return trees


def _take_borders(arrays: dict[str, Array], name: str) -> list[int]:
    borders = checked_array(take_array(arrays, name), name, np.int64)
    if len(borders) < 2 or borders[0] != 0 or (borders[1:] < borders[:-1]).any():
        raise ModelFileError(f"{name} does not ascend from 0.")
    return [int(border) for border in borders]


def _check_total(fields: dict[str, Array], n_nodes: int, n_words: int, n_trees: int) -> None:
    totals = {"set_start": n_nodes + n_trees, "set_words": n_words}
    for name, array in fields.items():
        expected = totals.get(name, n_nodes)
        if array.ndim == 0 or len(array) != expected:
            raise ModelFileError(f"trees.{name} should have {expected} entries.")


def _span(name: str, tree: int, nodes: list[int], words: list[int]) -> slice:
    """Where the field of one tree lies; set_start has one entry more than nodes."""
    if name == "set_words":
        return slice(words[tree], words[tree + 1])
    if name == "set_start":
        return slice(nodes[tree] + tree, nodes[tree + 1] + tree + 1)
    return slice(nodes[tree], nodes[tree + 1])

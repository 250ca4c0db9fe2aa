"""Check a tree that came from outside, before any kernel sees it.

Kernels do not check indices: a wrong child pointer would read foreign memory. So every
tree from a file or a pickle passes through `validate_tree`, which looks at each size,
index and code in plain NumPy, a few passes over the arrays and no recursion.

Nodes are numbered level by level, hence the first children of the inner nodes, read in
order, are 1, then 1 + branches of the first inner node, and so on. Checking this one
running sum (and that a child comes after its parent) proves that every node but the
root has exactly one parent, that there is no cycle and that no pointer leaves the tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from hornbeam.dtypes import (
    LEAF,
    LISTED,
    MAX_NODES,
    MULTIWAY,
    NO_CATEGORY,
    NO_FEATURE,
    SUBSET,
    THRESHOLD,
    WORD_BITS,
    Array,
)
from hornbeam.errors import ModelFileError
from hornbeam.model.arrays import check_names, checked_array
from hornbeam.tree.storage import TREE_FIELDS, Tree


def validate_tree(
    arrays: Mapping[str, Any],
    n_features: int,
    n_values: int,
    n_categories: Array,
    is_category: Array,
    missing_is_branch: bool = False,
    may_list: bool = False,
) -> Tree:
    """Build a `Tree` from arrays that nobody vouches for.

    Parameters
    ----------
    arrays : mapping of str to array
        Exactly the fields of `Tree`.
    n_features : int
        Number of columns the model was trained on.
    n_values : int
        Number of values a node predicts.
    n_categories : int64 array of length n_features
        Categories per column, 0 for numbers.
    is_category : bool array of length n_features
        Which columns are categories.
    missing_is_branch : bool
        Whether a multiway split may have one more branch, the last, for missing values.
    may_list : bool
        Whether a set of categories may be a list: only a single tree of CART can read those.

    Returns
    -------
    Tree
        With writable, contiguous arrays of the native byte order.

    Raises
    ------
    ModelFileError
        With the array and the node where the first contradiction was found.
    """
    columns = _typed_columns(arrays)
    _check_lengths(columns, n_values)
    _check_links(columns, LISTED if may_list else MULTIWAY)
    categories = np.asarray(n_categories)
    _check_questions(columns, n_features, categories, np.asarray(is_category), missing_is_branch)
    _check_sets(columns, np.asarray(n_categories))
    _check_statistics(columns)
    return Tree(**columns)


def validate_trees(
    trees: Iterable[Tree],
    schema: Any,
    n_values: int = 1,
    missing_is_branch: bool = False,
    may_list: bool = False,
) -> list[Tree]:
    """Build trees from trees that nobody vouches for, as those of a pickle.

    Parameters
    ----------
    trees : iterable of Tree
    schema : Schema
        Checked.
    n_values, missing_is_branch, may_list
        As in `validate_tree`.

    Returns
    -------
    list of Tree
    """
    kinds = schema.n_features, n_values, schema.n_categories, schema.is_category
    fields = ({name: getattr(tree, name, None) for name in TREE_FIELDS} for tree in trees)
    return [validate_tree(arrays, *kinds, missing_is_branch, may_list) for arrays in fields]


def _typed_columns(arrays: Mapping[str, Any]) -> dict[str, Array]:
    check_names(arrays, TREE_FIELDS)
    return {
        name: checked_array(arrays[name], name, dtype, 2 if name == "value" else 1)
        for name, dtype in TREE_FIELDS.items()
    }


def _check_lengths(columns: Mapping[str, Array], n_values: int) -> None:
    n_nodes = len(columns["first_child"])
    if not 1 <= n_nodes <= MAX_NODES:
        raise ModelFileError(f"A tree of {n_nodes} nodes cannot be.")
    for name, array in columns.items():
        expected = n_nodes + 1 if name == "set_start" else n_nodes
        if name != "set_words" and len(array) != expected:
            raise ModelFileError(f"{name} has {len(array)} entries, not {expected}.")
    if columns["value"].shape[1] != n_values:
        raise ModelFileError(
            f"value has {columns['value'].shape[1]} columns, but the model predicts {n_values}."
        )


def _require(
    columns: Mapping[str, Array], name: str, nodes: Array, good: Array, reason: str
) -> None:
    """Raise for the first of these nodes whose entry is not good."""
    if not good.all():
        node = int(nodes[int(np.argmin(good))])
        raise ModelFileError(f"{name}[{node}] is {columns[name][node]}: {reason}.")


def _check_links(columns: Mapping[str, Array], last_kind: int) -> None:
    kind, first_child, n_branches = (columns[k] for k in ("kind", "first_child", "n_branches"))
    _require(columns, "kind", np.arange(len(kind)), kind <= last_kind, "no such kind of split")
    leaves, inner = np.flatnonzero(kind == LEAF), np.flatnonzero(kind != LEAF)
    for name, nothing in (("first_child", 0), ("n_branches", 0), ("missing_branch", 0)):
        _require(columns, name, leaves, columns[name][leaves] == nothing, "a leaf has no branches")
    asks = columns["feature"][leaves]
    _require(columns, "feature", leaves, asks == NO_FEATURE, "a leaf asks nothing")
    _require(columns, "n_branches", inner, n_branches[inner] >= 1, "a split has branches")
    counts = n_branches[inner].astype(np.int64)
    ends = 1 + np.cumsum(counts)
    first, rule = first_child[inner], "children are numbered level by level, after their parents"
    _require(columns, "first_child", inner, (first == ends - counts) & (first > inner), rule)
    total = int(ends[-1]) if len(inner) else 1
    if total != len(kind):
        raise ModelFileError(f"n_branches adds up to {total} nodes, but there are {len(kind)}.")


def _check_questions(
    columns: Mapping[str, Array],
    n_features: int,
    n_categories: Array,
    is_category: Array,
    missing_is_branch: bool,
) -> None:
    if len(n_categories) != n_features or len(is_category) != n_features:
        raise ModelFileError(f"The schema does not describe the {n_features} features.")
    kind, threshold = columns["kind"], columns["threshold"]
    inner = np.flatnonzero(kind != LEAF)
    asked, branches, missing = (
        columns[k][inner] for k in ("feature", "n_branches", "missing_branch")
    )
    exists = (asked >= 0) & (asked < n_features)
    _require(columns, "feature", inner, exists, f"the model has {n_features} features")
    number = kind[inner] == THRESHOLD
    fits = is_category[asked].astype(bool) != number
    _require(columns, "feature", inner, fits, "the kind of split does not fit this column")
    several = kind[inner] == MULTIWAY
    expected = np.where(several, n_categories[asked], 2)
    own = several & missing_is_branch & (branches == expected + 1) & (missing == expected)
    rule = "a multiway split has one branch per category, any other has two"
    _require(columns, "n_branches", inner, (branches == expected) | own, rule)
    known = (missing >= 0) & (missing < branches)
    _require(columns, "missing_branch", inner, known, "there is no such branch")
    comparable = ~np.isnan(threshold[inner[number]])
    _require(columns, "threshold", inner[number], comparable, "nothing compares with it")


def _check_sets(columns: Mapping[str, Array], n_categories: Array) -> None:
    kind, start, words = (columns[k] for k in ("kind", "set_start", "set_words"))
    subset, listed = np.flatnonzero(kind == SUBSET), np.flatnonzero(kind == LISTED)
    size = n_categories[columns["feature"][subset]].astype(np.int64)
    expected = np.zeros(len(kind) + 1, np.int64)
    expected[subset + 1] = -(-size // WORD_BITS)
    known = n_categories[columns["feature"][listed]].astype(np.int64)
    expected[listed + 1] = np.clip(start[listed + 1] - start[listed], 1, known // 2 + 1)
    expected = np.cumsum(expected)
    rule = "a set starts where the last one ended and has one word per 64 categories, or a list"
    _require(columns, "set_start", np.arange(len(start)), start == expected, rule)
    if len(words) != expected[-1]:
        raise ModelFileError(f"set_words has {len(words)} words, not {expected[-1]}.")
    cut = subset[size % WORD_BITS > 0]  # their last word is not full
    used = (size % WORD_BITS)[size % WORD_BITS > 0].astype(np.uint64)
    beyond = words[start[cut + 1] - 1] >> used
    _require(columns, "kind", cut, beyond == 0, "its set holds categories that do not exist")
    _check_lists(columns, listed, known)


def _check_lists(columns: Mapping[str, Array], listed: Array, n_categories: Array) -> None:
    """Two category numbers per word, ascending; only the last half of a list may be empty."""
    words = columns["set_words"]
    first, last = columns["set_start"][listed], columns["set_start"][listed + 1]
    halves = np.stack([words & np.uint64(NO_CATEGORY), words >> np.uint64(32)], axis=1)
    halves = halves.ravel().astype(np.int64)
    falls = np.concatenate([[0], np.cumsum(halves[1:] <= halves[:-1])])
    ascending = falls[2 * last - 1] == falls[2 * first]
    largest = halves[2 * last - 1]
    largest = np.where(largest == NO_CATEGORY, halves[2 * last - 2], largest)
    rule = "its list holds categories that do not exist, or not in ascending order"
    _require(columns, "kind", listed, ascending & (largest < n_categories), rule)


def _check_statistics(columns: Mapping[str, Array]) -> None:
    nodes = np.arange(len(columns["kind"]))
    counted = columns["n_samples"] >= 0
    _require(columns, "n_samples", nodes, counted, "there cannot be fewer rows than none")
    finite = np.isfinite(columns["weight"])
    _require(columns, "weight", nodes, finite, "a sum of weights is finite")
    sound = np.asarray(np.isfinite(columns["value"]).all(axis=1))
    _require(columns, "value", nodes, sound, "a prediction is finite")

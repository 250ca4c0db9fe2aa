"""Check trees that came from outside, before any kernel sees them.

Kernels do not check indices: a wrong child pointer would read foreign memory. So all trees from a
file or a pickle pass through `validate_trees`, which looks at each size, index and code in plain
NumPy, a few passes over the arrays and no recursion.

Nodes are numbered level by level, hence the first children of the inner nodes of a tree, read in
order, are 1, then 1 + branches of the first inner node, and so on. Checking this running sum (and
that a child comes after its parent) proves that every node but the root has exactly one parent,
that there is no cycle and that no pointer leaves the tree.

The compact form of forests passes the same checks of links and questions (`check_nodes`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hornbeam.dtypes import (
    BIN,
    JOINT_CODE,
    LEAF,
    LISTED,
    MAX_BINS,
    MAX_JOINT_CODES,
    MAX_NODES,
    MULTIWAY,
    NO_CATEGORY,
    NO_FEATURE,
    PLANE,
    SUBSET,
    THRESHOLD,
    WORD_BITS,
    Array,
)
from hornbeam.errors import ModelFileError
from hornbeam.model.arrays import check_names, checked_array
from hornbeam.tree.sets import SharedCodes
from hornbeam.tree.storage import PLANE_FIELDS, TREE_FIELDS, Planes, Tree, Trees


@dataclass(frozen=True)
class Known:
    """What trees have to fit.

    Attributes
    ----------
    n_categories : int64, one entry per column
        Categories of the column, 0 for numbers.
    is_category : bool, one entry per column
    n_values : int
        Number of values a node predicts.
    missing_is_branch : bool
        Whether a multiway split may have one more branch, the last, for missing values.
    may_list : bool
        Whether a set of categories may be a list: only a single tree of CART can read those.
    with_planes : bool
        Whether nodes ask for the side of a plane.
    """

    n_categories: Array
    is_category: Array
    n_values: int = 1
    missing_is_branch: bool = False
    may_list: bool = False
    with_planes: bool = False

    @classmethod
    def by(cls, schema: Any, n_values: int = 1, **more: Any) -> Known:
        """What trees have to fit that were grown on a table with this schema."""
        return cls(schema.n_categories, schema.is_category, n_values, **more)

    def over(self, codes: SharedCodes) -> Known:
        """The same, for sets that are over codes where categories share them."""
        n_bits, columns = np.array(self.n_categories, np.int64), codes.columns
        if len(columns):
            most = np.maximum.reduceat(codes.code_of_category, codes.code_start[columns])
            n_bits[columns] = most.astype(np.int64) + 1
        return replace(self, n_categories=n_bits)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.n_categories)


def validate_trees(arrays: Mapping[str, Any], known: Known) -> Trees:
    """Build `Trees` from arrays that nobody vouches for.

    Parameters
    ----------
    arrays : mapping of str to array
        What `Trees.arrays` returns.
    known : Known
        What the trees have to fit.

    Returns
    -------
    Trees
        With writable, contiguous arrays of the native byte order.

    Raises
    ------
    ModelFileError
        With the array and the node, counted through all trees, where the first contradiction
        was found.
    """
    planes = [f"planes.{name}" for name in PLANE_FIELDS] if known.with_planes else []
    shared = SharedCodes._fields if set(SharedCodes._fields) & set(arrays) else ()
    check_names(arrays, [*TREE_FIELDS, "node_start", *planes, *shared])
    columns = {
        name: checked_array(arrays[name], name, dtype, 2 if name == "value" else 1)
        for name, dtype in TREE_FIELDS.items()
    }
    start = checked_array(arrays["node_start"], "node_start", np.int64)
    _check_lengths(columns, start, known.n_values)
    codes = checked_codes(arrays, known) if shared else None
    check_nodes(columns, start, known if codes is None else known.over(codes))
    _check_statistics(columns)
    own = _checked_planes(arrays, columns["kind"], known) if known.with_planes else None
    return Trees(Tree(**columns), start, own, codes)


def check_nodes(columns: Mapping[str, Array], node_start: Array, known: Known) -> None:
    """Raise unless nodes hang together as trees and ask what can be asked of the columns.

    Parameters
    ----------
    columns : mapping of str to array
        The fields of `Tree` that say where a row goes, of equal lengths.
    node_start : int64 array
        Where the nodes of each tree begin, and the end; no tree is empty.
    known : Known
    """
    if len(known.is_category) != known.n_features:
        raise ModelFileError(f"The schema does not describe the {known.n_features} features.")
    _check_kinds(columns, known)
    _check_links(columns, node_start)
    _check_questions(columns, known)
    _check_sets(columns, np.asarray(known.n_categories))


def checked_codes(arrays: Mapping[str, Any], known: Known) -> SharedCodes:
    """Codes that categories share, if they fit the columns."""
    start = checked_array(arrays["code_start"], "code_start", np.int64)
    wide = getattr(arrays["code_of_category"], "dtype", None) == JOINT_CODE
    kind, most = (JOINT_CODE, MAX_JOINT_CODES) if wide else (BIN, MAX_BINS)
    codes = checked_array(arrays["code_of_category"], "code_of_category", kind)
    found, columns = SharedCodes(start, codes), dict(arrays)
    if not len(start) and not len(codes):
        return found
    n_features = known.n_features
    if len(start) != n_features + 1 or not len(codes) or start[0] != 0 or start[-1] != len(codes):
        raise ModelFileError(
            f"code_start does not part the {len(codes)} codes among the {n_features} columns."
        )
    length = np.diff(start)
    fits = (length == 0) | (np.asarray(known.is_category) & (length == known.n_categories))
    rule = "a column has a code for each of its categories, or for none"
    require(columns, "code_start", np.arange(1, len(start)), fits, rule)
    rule = f"there are {most} codes"
    require(columns, "code_of_category", np.arange(len(codes)), codes < most, rule)
    return found


def _check_lengths(columns: Mapping[str, Array], start: Array, n_values: int) -> None:
    n_nodes = len(columns["first_child"])
    whole = len(start) > 0 and start[0] == 0 and start[-1] == n_nodes <= MAX_NODES
    if not whole or (start[1:] <= start[:-1]).any():
        raise ModelFileError(f"node_start does not part the {n_nodes} nodes into trees.")
    for name, array in columns.items():
        expected = n_nodes + 1 if name == "set_start" else n_nodes
        if name != "set_words" and len(array) != expected:
            raise ModelFileError(f"{name} has {len(array)} entries, not {expected}.")
    if columns["value"].shape[1] != n_values:
        raise ModelFileError(
            f"value has {columns['value'].shape[1]} columns, but the model predicts {n_values}."
        )


def require(
    columns: Mapping[str, Array], name: str, nodes: Array, good: Array, reason: str
) -> None:
    """Raise for the first of these nodes whose entry is not good."""
    if not good.all():
        node = int(nodes[int(np.argmin(good))])
        raise ModelFileError(f"{name}[{node}] is {columns[name][node]}: {reason}.")


def _check_kinds(columns: Mapping[str, Array], known: Known) -> None:
    kind = columns["kind"]
    exists = (kind <= MULTIWAY) | (known.may_list & (kind == LISTED))
    exists |= known.with_planes & (kind == PLANE)
    require(columns, "kind", np.arange(len(kind)), exists, "no such kind of split")
    leaves = np.flatnonzero(kind == LEAF)
    for name, nothing in (("first_child", 0), ("n_branches", 0), ("missing_branch", 0)):
        require(columns, name, leaves, columns[name][leaves] == nothing, "a leaf has no branches")
    asks = columns["feature"][leaves]
    require(columns, "feature", leaves, asks == NO_FEATURE, "a leaf asks nothing")


def _check_links(columns: Mapping[str, Array], start: Array) -> None:
    kind, first_child, n_branches = (columns[k] for k in ("kind", "first_child", "n_branches"))
    inner = np.flatnonzero(kind != LEAF)
    require(columns, "n_branches", inner, n_branches[inner] >= 1, "a split has branches")
    counts = n_branches[inner].astype(np.int64)
    ends = np.concatenate([[0], np.cumsum(counts)])
    tree_ends = ends[np.searchsorted(inner, start)]  # how many children come before each tree
    total = 1 + np.diff(tree_ends)
    if not np.array_equal(total, np.diff(start)):
        odd = int(np.argmax(total != np.diff(start)))
        raise ModelFileError(
            f"n_branches of tree {odd} adds up to {total[odd]} nodes, but there are "
            f"{np.diff(start)[odd]}."
        )
    tree = np.searchsorted(start, inner, side="right") - 1
    expected = 1 + ends[:-1] - tree_ends[tree]
    good = (first_child[inner] == expected) & (expected > inner - start[tree])
    rule = "children are numbered level by level, after their parents"
    require(columns, "first_child", inner, good, rule)


def _check_questions(columns: Mapping[str, Array], known: Known) -> None:
    n_features, n_categories = known.n_features, np.asarray(known.n_categories)
    kind, threshold = columns["kind"], columns["threshold"]
    inner = np.flatnonzero(kind != LEAF)
    asked, branches, missing = (
        columns[k][inner] for k in ("feature", "n_branches", "missing_branch")
    )
    exists = (asked >= 0) & (asked < n_features)
    require(columns, "feature", inner, exists, f"the model has {n_features} features")
    number = (kind[inner] == THRESHOLD) | (kind[inner] == PLANE)
    fits = np.asarray(known.is_category)[asked].astype(bool) != number
    require(columns, "feature", inner, fits, "the kind of split does not fit this column")
    several = kind[inner] == MULTIWAY
    expected = np.where(several, n_categories[asked], 2)
    own = several & known.missing_is_branch & (branches == expected + 1) & (missing == expected)
    rule = "a multiway split has one branch per category, any other has two"
    require(columns, "n_branches", inner, (branches == expected) | own, rule)
    exists = (missing >= 0) & (missing < branches)
    require(columns, "missing_branch", inner, exists, "there is no such branch")
    comparable = ~np.isnan(threshold[inner[number]])
    require(columns, "threshold", inner[number], comparable, "nothing compares with it")


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
    require(columns, "set_start", np.arange(len(start)), start == expected, rule)
    if len(words) != expected[-1]:
        raise ModelFileError(f"set_words has {len(words)} words, not {expected[-1]}.")
    cut = subset[size % WORD_BITS > 0]  # their last word is not full
    used = (size % WORD_BITS)[size % WORD_BITS > 0].astype(np.uint64)
    beyond = words[start[cut + 1] - 1] >> used
    require(columns, "kind", cut, beyond == 0, "its set holds categories that do not exist")
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
    require(columns, "kind", listed, ascending & (largest < n_categories), rule)


def _check_statistics(columns: Mapping[str, Array]) -> None:
    nodes = np.arange(len(columns["kind"]))
    counted = columns["n_samples"] >= 0
    require(columns, "n_samples", nodes, counted, "there cannot be fewer rows than none")
    finite = np.isfinite(columns["weight"])
    require(columns, "weight", nodes, finite, "a sum of weights is finite")
    sound = np.asarray(np.isfinite(columns["value"]).all(axis=1))
    require(columns, "value", nodes, sound, "a prediction is finite")


def _checked_planes(arrays: Mapping[str, Any], kind: Array, known: Known) -> Planes:
    """Planes that fit the nodes and the columns."""
    planes = Planes(
        *(
            checked_array(arrays[f"planes.{name}"], f"planes.{name}", dtype)
            for name, dtype in PLANE_FIELDS.items()
        )
    )
    if len(planes.n_terms) != len(kind):
        raise ModelFileError(f"planes.n_terms has {len(planes.n_terms)} entries, not {len(kind)}.")
    if (planes.n_terms < 0).any() or ((planes.n_terms > 0) != (kind == PLANE)).any():
        raise ModelFileError("planes.n_terms does not fit the kinds of the nodes.")
    total = int(planes.n_terms.sum(dtype=np.int64))
    for name, array in zip(list(PLANE_FIELDS)[1:], planes[1:], strict=True):
        if len(array) != total:
            raise ModelFileError(f"planes.{name} has {len(array)} entries, not {total}.")
    inside = (planes.feature >= 0) & (planes.feature < known.n_features)
    if not inside.all() or np.asarray(known.is_category)[planes.feature].any():
        raise ModelFileError("planes.feature names a column that does not exist, or categories.")
    if not (np.isfinite(planes.weight).all() and np.isfinite(planes.missing).all()):
        raise ModelFileError("planes.weight and planes.missing must be finite.")
    return planes

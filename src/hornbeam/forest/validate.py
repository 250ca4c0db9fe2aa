"""Check what only the compact form of forests has, when it comes from outside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hornbeam.dtypes import (
    LEAF,
    MAX_NODES,
    NO_CHILD,
    NO_FEATURE,
    NODE,
    SPLIT_KIND,
    SUBSET,
    THRESHOLD,
    Array,
)
from hornbeam.errors import ModelFileError
from hornbeam.forest.store import RECORD, STORE_FIELDS, ForestStore
from hornbeam.kernels.forest import CATEGORY, FEATURE_MASK
from hornbeam.kernels.traverse import MISSING_RIGHT
from hornbeam.model.arrays import check_names, checked_array
from hornbeam.tree.sets import SharedCodes
from hornbeam.tree.validate import Known, check_nodes, checked_codes, require

_UNITS = ("weight_unit", "impurity_unit")


def check_store(arrays: Mapping[str, Any], by_table: bool, known: Known) -> ForestStore:
    """Build a store from arrays that nobody vouches for, before any kernel sees them.

    How nodes hang together and what they ask is checked as of all trees (`check_nodes`).

    Parameters
    ----------
    arrays : mapping of str to array
        What `ForestStore.arrays` returns.
    by_table : bool
        Whether leaves predict a row of the table.
    known : Known
        What the trees have to fit.

    Raises
    ------
    ModelFileError
        With the array and the place where the first contradiction was found.
    """
    check_names(arrays, STORE_FIELDS)
    columns = {
        name: checked_array(arrays[name], name, dtype, ndim)
        for name, (dtype, ndim) in STORE_FIELDS.items()
    }
    if len(known.is_category) != known.n_features:
        raise ModelFileError(f"The schema does not describe the {known.n_features} features.")
    _check_sizes(columns, by_table, known.n_values)
    _check_leaves(columns, by_table)
    codes = checked_codes(columns, known)
    nodes_of_all, known = _unpacked(columns), known.over(codes)
    known = replace(known, is_category=_asked_by_sets(nodes_of_all, codes, known))
    check_nodes(nodes_of_all, columns["root"], known)
    nodes = np.empty(len(columns["child"]), RECORD)
    for name in RECORD.names or ():
        nodes[name] = columns.pop(name)
    return ForestStore(nodes=nodes, by_table=by_table, **columns)


def _asked_by_sets(nodes: Mapping[str, Array], codes: SharedCodes, known: Known) -> Array:
    """Which columns must be asked by sets: of categories, unless their codes are in order."""
    is_category = np.array(known.is_category)
    cut = np.unique(nodes["feature"][nodes["kind"] == THRESHOLD])
    is_category[np.intersect1d(codes.columns, cut)] = 0
    return is_category


def _unpacked(columns: Mapping[str, Array]) -> dict[str, Array]:
    """The fields of `Tree` that say where a row goes."""
    child, flags, threshold = columns["child"], columns["feature"], columns["threshold"]
    inner = child >= 0
    nodes = np.flatnonzero(inner)
    require(columns, "feature", nodes, flags[nodes] >= 0, "there is no such column")
    category = inner & (flags & CATEGORY != 0)
    asking, start = np.flatnonzero(category), columns["set_start"]
    own = threshold[asking] == np.arange(len(asking))
    require(columns, "threshold", asking, own, "splits have their sets in their order")
    if len(start) != len(asking) + 1 or start[0] != 0:
        raise ModelFileError(f"set_start does not give each of {len(asking)} sets a place.")
    n_words = np.zeros(len(child) + 1, np.int64)
    n_words[asking + 1] = np.diff(start)
    return {
        "kind": np.where(inner, np.where(category, SUBSET, THRESHOLD), LEAF).astype(SPLIT_KIND),
        "first_child": np.where(inner, child, NO_CHILD),
        "n_branches": np.where(inner, 2, 0).astype(NODE),
        "feature": np.where(inner, flags & FEATURE_MASK, NO_FEATURE),
        "missing_branch": (inner & (flags & MISSING_RIGHT != 0)).astype(NODE),
        "threshold": threshold,
        "set_start": np.cumsum(n_words),
        "set_words": columns["set_words"],
    }


def store_of(arrays: Mapping[str, Any], by_table: bool) -> ForestStore:
    """A store of arrays that are not checked yet, but for the kinds of those of the nodes."""
    fields = dict(arrays)
    n_nodes = len(checked_array(fields["child"], "child", np.int32))
    nodes = np.empty(n_nodes, RECORD)
    for name in RECORD.names or ():
        nodes[name] = checked_array(fields.pop(name), name, STORE_FIELDS[name][0])
    return ForestStore(nodes=nodes, by_table=by_table, **fields)


def check_pickled(store: ForestStore, known: Known) -> ForestStore:
    """The same store, every index in it checked; for stores that come from a pickle."""
    if not isinstance(store.nodes, np.ndarray) or store.nodes.dtype != RECORD:
        raise ModelFileError("The nodes of the pickled forest are not nodes.")
    return check_store(store.arrays(), bool(store.by_table), known)


def _check_sizes(columns: Mapping[str, Array], by_table: bool, n_values: int) -> None:
    """Lengths of all arrays, the roots, and numbers that belong to no node."""
    root, n_nodes = columns["root"], len(columns["child"])
    sizes, every = np.diff(root), np.arange(len(root))
    whole = len(root) > 1 and root[0] == 0 and root[-1] == n_nodes <= MAX_NODES
    if not whole or (root[1:] <= root[:-1]).any():
        raise ModelFileError(f"root does not part the {n_nodes} nodes into trees.")
    n_inner = (n_nodes - len(sizes)) // 2
    lengths = {"threshold": n_nodes, "feature": n_nodes, "impurity": n_nodes}
    for name, length in (lengths | dict.fromkeys(_UNITS, len(sizes))).items():
        if len(columns[name]) != length:
            raise ModelFileError(f"{name} has {len(columns[name])} entries, not {length}.")
    for name, allowed in (("table", None if by_table else (0,)), ("inner_value", (0, n_inner))):
        shape = columns[name].shape
        if shape[1] != n_values or (allowed is not None and shape[0] not in allowed):
            raise ModelFileError(f"{name} has the shape {shape}, which does not fit the model.")
        finite: Array = np.asarray(np.isfinite(columns[name]).all(axis=1))
        require(columns, name, np.arange(shape[0]), finite, "a prediction is finite")
    if not by_table and n_values != 1:
        raise ModelFileError(f"Leaves without a table predict one value, not {n_values}.")
    for name in _UNITS:
        sound = np.isfinite(columns[name]) & (columns[name] > 0)
        require(columns, name, every, sound, "a unit is finite and above 0")
    start = columns["class_start"]
    in_order = len(start) > 1 and bool(np.all(start[1:] > start[:-1]))
    if not in_order or start[0] != 0 or start[-1] != n_values:
        raise ModelFileError(f"class_start does not part the {n_values} values into outputs.")


def _check_leaves(columns: Mapping[str, Array], by_table: bool) -> None:
    leaves = np.flatnonzero(columns["child"] < 0)
    child, content = columns["child"][leaves], columns["threshold"][leaves]
    if by_table:
        n_rows = len(columns["table"])
        require(columns, "child", leaves, ~child < n_rows, f"the table has {n_rows} rows")
    else:
        good = np.isfinite(child.view(np.float32))
        require(columns, "child", leaves, good, "a sum of weights is finite")
    require(columns, "threshold", leaves, np.isfinite(content), "what a leaf holds is finite")
    counted = columns["feature"][leaves] >= 0
    require(columns, "feature", leaves, counted, "there cannot be fewer rows than none")

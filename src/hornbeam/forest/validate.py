"""Check the arrays of a forest's store that came from outside, before any kernel sees them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hornbeam.dtypes import MAX_BINS, MAX_NODES, WORD_BITS, Array
from hornbeam.errors import ModelFileError
from hornbeam.forest.store import RECORD, STORE_FIELDS, ForestStore
from hornbeam.kernels.forest import CATEGORY, FEATURE_MASK
from hornbeam.model.arrays import check_names, checked_array

_UNITS = ("weight_unit", "impurity_unit")


def check_store(
    arrays: Mapping[str, Any],
    by_table: bool,
    n_features: int,
    n_values: int,
    n_categories: Array,
    is_category: Array,
) -> ForestStore:
    """Build a store from arrays that nobody vouches for, before any kernel sees them.

    The rules are those of `hornbeam.tree.validate`, tree by tree.

    Parameters
    ----------
    arrays : mapping of str to array
        What `ForestStore.arrays` returns.
    by_table : bool
        Whether leaves predict a row of the table.
    n_features, n_values : int
        Columns of the training table, and numbers that a leaf predicts.
    n_categories : int64 array of length n_features
        Categories per column, 0 for numbers.
    is_category : bool array of length n_features
        Which columns are categories.

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
    n_categories, is_category = np.asarray(n_categories), np.asarray(is_category).astype(bool)
    if len(n_categories) != n_features or len(is_category) != n_features:
        raise ModelFileError(f"The schema does not describe the {n_features} features.")
    _check_sizes(columns, by_table, n_values)
    _check_links(columns)
    _check_leaves(columns, by_table)
    n_bits = _check_codes(columns, n_features, n_categories, is_category)
    _check_questions(columns, n_features, n_bits, is_category)
    nodes = np.empty(len(columns["child"]), RECORD)
    for name in RECORD.names or ():
        nodes[name] = columns.pop(name)
    return ForestStore(nodes=nodes, by_table=by_table, **columns)


def store_of(arrays: Mapping[str, Any], by_table: bool) -> ForestStore:
    """A store of arrays that are not checked yet, but for the kinds of those of the nodes."""
    fields = dict(arrays)
    n_nodes = len(checked_array(fields["child"], "child", np.int32))
    nodes = np.empty(n_nodes, RECORD)
    for name in RECORD.names or ():
        nodes[name] = checked_array(fields.pop(name), name, STORE_FIELDS[name][0])
    return ForestStore(nodes=nodes, by_table=by_table, **fields)


def check_pickled(
    store: ForestStore, n_features: int, n_values: int, n_categories: Array, is_category: Array
) -> ForestStore:
    """The same store, every index in it checked; for stores that come from a pickle."""
    if not isinstance(store.nodes, np.ndarray) or store.nodes.dtype != RECORD:
        raise ModelFileError("The nodes of the pickled forest are not nodes.")
    return check_store(
        store.arrays(), bool(store.by_table), n_features, n_values, n_categories, is_category
    )


def _require(columns: Mapping[str, Array], name: str, places: Any, good: Any, why: str) -> None:
    """Raise for the first of these places of an array that is not good."""
    if not np.all(good):
        place = int(places[int(np.argmin(good))])
        raise ModelFileError(f"{name}[{place}] is {columns[name][place]}: {why}.")


def _check_sizes(columns: Mapping[str, Array], by_table: bool, n_values: int) -> None:
    """Lengths of all arrays, the roots, and numbers that belong to no node."""
    root, n_nodes = columns["root"], len(columns["child"])
    every = np.arange(len(root))
    inside = (root >= 0) & (root <= n_nodes)
    _require(columns, "root", every, inside, f"there are {n_nodes} nodes")
    if len(root) < 2 or root[0] != 0 or root[-1] != n_nodes or n_nodes > MAX_NODES:
        raise ModelFileError(f"root does not part the {n_nodes} nodes into trees.")
    sizes = np.diff(root)
    sound = (sizes > 0) & (sizes % 2 == 1)
    _require(columns, "root", every[1:], sound, "a binary tree has an odd number of nodes")
    n_inner = (n_nodes - len(sizes)) // 2
    lengths = {"threshold": n_nodes, "feature": n_nodes, "impurity": n_nodes}
    for name, length in (lengths | dict.fromkeys(_UNITS, len(sizes))).items():
        if len(columns[name]) != length:
            raise ModelFileError(f"{name} has {len(columns[name])} entries, not {length}.")
    for name, allowed in (("table", None if by_table else (0,)), ("inner_value", (0, n_inner))):
        shape = columns[name].shape
        if shape[1] != n_values or (allowed is not None and shape[0] not in allowed):
            raise ModelFileError(f"{name} has the shape {shape}, which does not fit the model.")
        finite = np.isfinite(columns[name]).all(axis=1)
        _require(columns, name, np.arange(shape[0]), finite, "a prediction is finite")
    if not by_table and n_values != 1:
        raise ModelFileError(f"Leaves without a table predict one value, not {n_values}.")
    for name in _UNITS:
        sound = np.isfinite(columns[name]) & (columns[name] > 0)
        _require(columns, name, every, sound, "a unit is finite and above 0")
    start = columns["class_start"]
    in_order = len(start) > 1 and bool(np.all(start[1:] > start[:-1]))
    if not in_order or start[0] != 0 or start[-1] != n_values:
        raise ModelFileError(f"class_start does not part the {n_values} values into outputs.")


def _check_links(columns: Mapping[str, Array]) -> None:
    """Level by level, the first children of a tree's inner nodes are 1, 3, 5 and so on."""
    root, child = columns["root"], columns["child"]
    inner = child >= 0
    sizes, n_before = np.diff(root), (root - np.arange(len(root))) // 2
    n_inner = np.add.reduceat(inner, root[:-1], dtype=np.int64)
    if not np.array_equal(n_inner, sizes // 2):
        odd = int(np.argmax(n_inner != sizes // 2))
        raise ModelFileError(
            f"Tree {odd} has {n_inner[odd]} splits, which do not make {sizes[odd]} nodes."
        )
    nodes = np.flatnonzero(inner)
    tree = np.repeat(np.arange(len(sizes)), n_inner)
    expected = 2 * (np.arange(len(nodes)) - n_before[tree]) + 1
    good = (child[nodes] == expected) & (expected > nodes - root[tree])
    rule = "children are numbered level by level, after their parents"
    _require(columns, "child", nodes, good, rule)


def _check_leaves(columns: Mapping[str, Array], by_table: bool) -> None:
    leaves = np.flatnonzero(columns["child"] < 0)
    child, content = columns["child"][leaves], columns["threshold"][leaves]
    if by_table:
        n_rows = len(columns["table"])
        _require(columns, "child", leaves, ~child < n_rows, f"the table has {n_rows} rows")
    else:
        good = np.isfinite(child.view(np.float32))
        _require(columns, "child", leaves, good, "a sum of weights is finite")
    _require(columns, "threshold", leaves, np.isfinite(content), "what a leaf holds is finite")
    counted = columns["feature"][leaves] >= 0
    _require(columns, "feature", leaves, counted, "there cannot be fewer rows than none")


def _check_codes(
    columns: Mapping[str, Array], n_features: int, n_categories: Array, is_category: Array
) -> Array:
    """Codes that categories share; returns how many bits the sets of each column have."""
    start, codes = columns["code_start"], columns["code_of_category"]
    n_bits = n_categories.astype(np.int64)
    if not len(start) and not len(codes):
        return n_bits
    if len(start) != n_features + 1 or not len(codes) or start[0] != 0 or start[-1] != len(codes):
        raise ModelFileError(
            f"code_start does not part the {len(codes)} codes among the {n_features} columns."
        )
    length = np.diff(start)
    fits = (length == 0) | (is_category & (length == n_bits))
    rule = "a column has a code for each of its categories, or for none"
    _require(columns, "code_start", np.arange(1, len(start)), fits, rule)
    rule = f"there are {MAX_BINS} codes"
    _require(columns, "code_of_category", np.arange(len(codes)), codes < MAX_BINS, rule)
    coded = np.flatnonzero(length)
    n_bits[coded] = np.maximum.reduceat(codes, start[coded]).astype(np.int64) + 1
    return n_bits


def _check_questions(
    columns: Mapping[str, Array], n_features: int, n_bits: Array, is_category: Array
) -> None:
    nodes = np.flatnonzero(columns["child"] >= 0)
    flags, threshold = columns["feature"][nodes], columns["threshold"][nodes]
    asked = flags & FEATURE_MASK
    exists = (flags >= 0) & (asked < n_features)
    _require(columns, "feature", nodes, exists, f"the model has {n_features} features")
    category = flags & CATEGORY != 0
    fits = is_category[asked] == category
    _require(columns, "feature", nodes, fits, "the kind of split does not fit this column")
    comparable = ~np.isnan(threshold)
    _require(columns, "threshold", nodes, comparable, "nothing compares with it")
    own = threshold[category] == np.arange(np.count_nonzero(category))
    _require(columns, "threshold", nodes[category], own, "splits have their sets in their order")
    size = n_bits[asked[category]]
    expected = np.concatenate([[0], np.cumsum(-(-size // WORD_BITS))])
    start, words = columns["set_start"], columns["set_words"]
    if not np.array_equal(start, expected) or len(words) != expected[-1]:
        raise ModelFileError(
            "set_start does not give each set one word per 64 categories or codes."
        )
    cut = np.flatnonzero(size % WORD_BITS)  # their last word is not full
    beyond = words[expected[cut + 1] - 1] >> (size[cut] % WORD_BITS).astype(np.uint64)
    rule = "the set holds categories that do not exist"
    _require(columns, "threshold", nodes[category][cut], beyond == 0, rule)

"""No array that could lead a kernel astray passes the validator."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model.handmade import StandIn, sample_rows, steps, validate_tree, walk, weather
from model.strategies import estimators

from hornbeam.errors import ModelFileError
from hornbeam.model.arrays import checked_array
from hornbeam.tree.savable import KeptTree
from hornbeam.tree.storage import TREE_FIELDS, Tree
from hornbeam.tree.validate import Known, validate_trees


def arrays_of(tree: Tree) -> dict[str, Any]:
    return {name: np.array(getattr(tree, name)) for name in TREE_FIELDS}


def validate(estimator: StandIn, arrays: dict[str, Any]) -> Tree:
    return validate_tree(arrays, estimator.schema_, estimator.tree_.value.shape[1])


@pytest.mark.quick
@pytest.mark.parametrize("make", [weather, steps])
def test_a_valid_tree_comes_back_unchanged(make: Callable[[], StandIn]) -> None:
    estimator = make()
    tree = validate(estimator, arrays_of(estimator.tree_))
    assert tree.digest() == estimator.tree_.digest()


def test_foreign_byte_order_strides_and_read_only_arrays_become_plain_ones() -> None:
    estimator = weather()
    arrays = arrays_of(estimator.tree_)
    for name, array in arrays.items():
        spread = np.repeat(array, 2, axis=0).astype(array.dtype.newbyteorder(">"))[::2]
        spread.flags.writeable = False
        arrays[name] = spread
    tree = validate(estimator, arrays)
    assert tree.digest() == estimator.tree_.digest()
    for name in TREE_FIELDS:
        flags = getattr(tree, name).flags
        assert flags.c_contiguous and flags.writeable and getattr(tree, name).dtype.isnative


# weather(): 0 outlook?, 1 humidity, 2 leaf, 3 wind, 4-7 leaves
@pytest.mark.parametrize(
    ("name", "node", "value", "message"),
    [
        ("kind", 0, 4, r"kind\[0\] is 4: no such kind"),
        ("kind", 1, 0, r"first_child\[1\] is 4: a leaf"),
        ("kind", 4, 1, r"n_branches\[4\] is 0: a split has branches"),
        ("kind", 1, 2, r"feature\[1\] is 0: the kind of split does not fit"),
        ("kind", 3, 1, r"feature\[3\] is 2: the kind of split does not fit"),
        ("first_child", 0, 0, r"first_child\[0\] is 0: children are numbered"),
        ("first_child", 1, 5, r"first_child\[1\] is 5: children are numbered"),
        ("first_child", 3, -1, r"first_child\[3\] is -1: children are numbered"),
        ("first_child", 7, 3, r"first_child\[7\] is 3: a leaf"),
        ("n_branches", 0, 2**31 - 1, r"adds up to 2147483652 nodes"),
        ("n_branches", 3, 3, r"n_branches of tree 0 adds up to 9 nodes, but there are 8"),
        ("n_branches", 3, -2, r"n_branches\[3\] is -2"),
        ("feature", 1, 3, r"feature\[1\] is 3: the model has 3 features"),
        ("feature", 1, -1, r"feature\[1\] is -1"),
        ("feature", 2, 0, r"feature\[2\] is 0: a leaf asks nothing"),
        ("feature", 0, 2, r"n_branches\[0\] is 3: a multiway split has one branch"),
        ("threshold", 1, np.nan, r"threshold\[1\] is nan"),
        ("missing_branch", 0, 3, r"missing_branch\[0\] is 3: there is no such branch"),
        ("missing_branch", 1, -1, r"missing_branch\[1\] is -1"),
        ("missing_branch", 4, 1, r"missing_branch\[4\] is 1: a leaf"),
        ("set_start", 0, 1, r"set_start\[0\] is 1"),
        ("set_start", 4, 2**40, r"set_start\[4\] is"),
        ("set_words", 0, 4, r"kind\[3\] is 2: its set holds categories that do not exist"),
        ("n_samples", 5, -1, r"n_samples\[5\] is -1"),
        ("weight", 5, np.inf, r"weight\[5\] is inf"),
        ("value", 6, np.nan, r"value\[6\] is \[nan nan\]"),
    ],
)
def test_one_wrong_entry_is_named(name: str, node: int, value: Any, message: str) -> None:
    estimator = weather()
    arrays = arrays_of(estimator.tree_)
    arrays[name][node] = value
    with pytest.raises(ModelFileError, match=message):
        validate(estimator, arrays)


@pytest.mark.parametrize("name", TREE_FIELDS)
@pytest.mark.parametrize("change", ["drop", "dtype", "shorter", "longer", "deeper", "list"])
def test_wrong_names_types_and_shapes(name: str, change: str) -> None:
    estimator = weather()
    arrays = arrays_of(estimator.tree_)
    array = arrays.pop(name)
    if change != "drop":
        wrong = {
            "dtype": array.astype(np.float32),
            "shorter": array[:-1],
            "longer": np.concatenate([array, array[:1]]),
            "deeper": array[..., None],
            "list": array.tolist(),
        }
        arrays[name] = wrong[change]
    # n_nodes is read off first_child, so its length is blamed on the next array.
    with pytest.raises(ModelFileError, match=f"{name}|n_branches has 8 entries"):
        validate(estimator, arrays)


def test_arrays_that_do_not_belong_and_wrong_widths() -> None:
    estimator = weather()
    arrays = arrays_of(estimator.tree_)
    with pytest.raises(ModelFileError, match="does not belong: 'more'"):
        validate(estimator, {**arrays, "more": np.zeros(3)})
    with pytest.raises(ModelFileError, match="value has 3 columns, but the model predicts 2"):
        validate(estimator, {**arrays, "value": np.zeros((8, 3))})
    empty = {name: array[:0] for name, array in arrays.items()}
    with pytest.raises(ModelFileError, match="part the 0 nodes into trees"):
        validate(estimator, empty)
    schema, whole = estimator.schema_, {**arrays, "node_start": np.array([0, 8])}
    with pytest.raises(ModelFileError, match="does not describe the 3 features"):
        validate_trees(whole, Known(schema.n_categories, schema.is_category[:2], 2))


@settings(max_examples=150)
@given(estimators(), st.data())
def test_a_changed_tree_is_refused_or_safe_to_walk(estimator: StandIn, data: Any) -> None:
    """Whatever one entry is replaced by, a tree that passes has no index outside."""
    arrays = arrays_of(estimator.tree_)
    names = [name for name in TREE_FIELDS if arrays[name].size]
    array = arrays[data.draw(st.sampled_from(names))]
    place = data.draw(st.integers(0, array.size - 1))
    if array.dtype.kind == "f":
        array.flat[place] = data.draw(st.floats())
    else:
        limits = np.iinfo(array.dtype)
        near = st.integers(-2, 9).map(lambda step: int(array.flat[place]) + step)
        value = data.draw(st.one_of(near, st.integers(limits.min, limits.max)))
        array.flat[place] = min(max(value, limits.min), limits.max)
    try:
        tree = validate(estimator, arrays)
    except ModelFileError:
        return
    for row in sample_rows(estimator, 20):
        walk(tree, row)  # asserts that every index is inside


def test_state_of_a_pickle_is_checked() -> None:
    estimator = weather()
    again = pickle.loads(pickle.dumps(estimator))
    assert again.tree_.digest() == estimator.tree_.digest()
    estimator.tree_.first_child[1] = 77
    with pytest.raises(ModelFileError, match=r"first_child\[1\] is 77"):
        pickle.loads(pickle.dumps(estimator))


def test_a_mask_hides_nothing_from_the_checks() -> None:
    """Kernels read what is below it."""
    estimator = weather()
    child = estimator.tree_.first_child.copy()
    child[1] = 500_000_000
    masked = np.ma.array(child, mask=np.arange(len(child)) == 1)
    object.__setattr__(estimator.tree_, "first_child", masked)
    with pytest.raises(ModelFileError, match=r"first_child\[1\] is 500000000"):
        pickle.loads(pickle.dumps(estimator))
    assert type(checked_array(masked, "child", child.dtype.type)) is np.ndarray


def test_a_state_without_a_tree() -> None:
    for state in ({"tree_": "oak", "schema_": weather().schema_}, {"schema_": weather().schema_}):
        with pytest.raises(ModelFileError, match="not a tree"):
            KeptTree().check(StandIn, state)

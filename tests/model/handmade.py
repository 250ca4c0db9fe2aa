"""Hand-made trees and estimators: what the output code needs, and nothing that trains."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from hornbeam.data.schema import ColumnSchema, Schema
from hornbeam.dtypes import LEAF, MULTIWAY, SUBSET, THRESHOLD, WORD_BITS
from hornbeam.errors import ModelFileError
from hornbeam.model.entries import take
from hornbeam.model.kept import Contents, n_values_of
from hornbeam.model.registry import new_estimator, register_estimator
from hornbeam.tree.savable import KeptTree, read_trees, write_trees
from hornbeam.tree.storage import TREE_FIELDS, Tree, Trees
from hornbeam.tree.validate import Known, validate_trees

# --- trees from nested Python objects ---------------------------------------------------


@dataclass
class Node:
    """A leaf, or a split when it has children."""

    value: list[float]
    rows: int = 10
    weight: float | None = None
    impurity: float = 0.0
    kind: int = LEAF
    feature: int = -1
    threshold: float = np.nan
    chosen: tuple[int, ...] = ()
    missing: int = 0
    children: tuple[Node, ...] = ()


def leaf(*value: float, rows: int = 10, weight: float | None = None) -> Node:
    return Node(list(value), rows, weight)


def _joined(children: tuple[Node, ...], missing: int | None) -> tuple[list[float], int, int]:
    """Value and rows of a parent, and by default the largest child for missing values."""
    rows = sum(child.rows for child in children)
    with np.errstate(all="ignore"):  # random values may be huge
        total = sum(np.array(child.value) * child.rows for child in children)
    if missing is None:
        missing = max(range(len(children)), key=lambda branch: (children[branch].rows, branch))
    return list(total / max(rows, 1)), rows, missing


def number(feature: int, threshold: float, *children: Node, missing: int | None = None) -> Node:
    value, rows, missing = _joined(children, missing)
    return Node(value, rows, None, 0.5, THRESHOLD, feature, threshold, (), missing, children)


def subset(
    feature: int, chosen: tuple[int, ...], *children: Node, missing: int | None = None
) -> Node:
    value, rows, missing = _joined(children, missing)
    return Node(value, rows, None, 0.5, SUBSET, feature, np.nan, chosen, missing, children)


def multiway(feature: int, *children: Node, missing: int | None = None) -> Node:
    value, rows, missing = _joined(children, missing)
    return Node(value, rows, None, 0.5, MULTIWAY, feature, np.nan, (), missing, children)


def bit_set(chosen: tuple[int, ...], n_categories: int) -> list[int]:
    words = [0] * -(-n_categories // WORD_BITS)
    for category in chosen:
        words[category // WORD_BITS] |= 1 << (category % WORD_BITS)
    return words


def build(root: Node, n_categories: list[int]) -> Tree:
    """Number the nodes level by level and store them."""
    order, queue = [], deque([root])
    while queue:
        order.append(queue.popleft())
        queue.extend(order[-1].children)
    branches = np.array([len(node.children) for node in order])
    ends = 1 + np.cumsum(branches)
    sets = [
        bit_set(node.chosen, n_categories[node.feature]) if node.kind == SUBSET else []
        for node in order
    ]
    columns: dict[str, Any] = {
        "first_child": np.where(branches > 0, ends - branches, 0),
        "n_branches": branches,
        "feature": [node.feature for node in order],
        "kind": [node.kind for node in order],
        "threshold": [node.threshold for node in order],
        "missing_branch": [node.missing for node in order],
        "set_start": np.cumsum([0] + [len(words) for words in sets]),
        "set_words": [word for words in sets for word in words],
        "n_samples": [node.rows for node in order],
        "weight": [node.rows if node.weight is None else node.weight for node in order],
        "impurity": [node.impurity for node in order],
        "value": [node.value for node in order],
    }
    return Tree(**{name: np.array(columns[name], dtype) for name, dtype in TREE_FIELDS.items()})


def validate_tree(
    arrays: dict[str, Any], schema: Any, n_values: int = 1, may_list: bool = False
) -> Tree:
    """A tree of the fields of one, checked."""
    whole = {**arrays, "node_start": np.array([0, len(arrays.get("first_child", ()))])}
    (tree,) = validate_trees(whole, Known.by(schema, n_values, may_list=may_list))
    return tree


# --- schema and estimators ----------------------------------------------------------------


def Column(name: str, *categories: Any) -> ColumnSchema:
    if categories:
        return ColumnSchema(name, "category", "str", categories)
    return ColumnSchema(name, "number", "float64")


class StandIn(BaseEstimator):
    """A tree estimator that cannot fit: its tree is given."""

    def __init__(self, criterion: Any = "gini", class_weight: Any = None, seed: Any = None):
        self.criterion = criterion
        self.class_weight = class_weight
        self.seed = seed

    def with_tree(self, root: Node, columns: list[ColumnSchema], classes: Any = None) -> StandIn:
        self.schema_ = Schema(tuple(columns), named=True)
        self.tree_ = build(root, self.schema_.n_categories.tolist())
        self._set_outputs(classes)
        return self

    def _set_outputs(self, classes: Any) -> None:
        if classes is None:
            self.n_outputs_ = self.tree_.value.shape[1] if hasattr(self, "tree_") else 1
        elif isinstance(classes, list):
            self.classes_ = classes
            self.n_outputs_ = len(classes)
            self.n_classes_ = np.array([len(names) for names in classes])
        else:
            self.classes_ = np.asarray(classes)
            self.n_outputs_ = 1
            self.n_classes_ = len(classes)

    def _model_contents(self) -> Contents:
        header = {
            "params": self.get_params(deep=False),
            "schema": self.schema_.to_dict(),
            "n_outputs": self.n_outputs_,
            "classes": getattr(self, "classes_", None),
        }
        contents = Contents(header)
        write_trees(Trees.of([self.tree_]), contents)
        return contents

    @classmethod
    def _from_contents(cls, contents: Contents) -> StandIn:
        header = contents.header
        self: StandIn = new_estimator(cls, take(header, "params", dict))
        self.schema_ = Schema.from_dict(take(header, "schema", dict))
        classes = take(header, "classes", np.ndarray, list, type(None))
        n_outputs = take(header, "n_outputs", int)
        self._set_outputs(classes)
        if classes is None:
            self.n_outputs_ = n_outputs
        elif n_outputs != self.n_outputs_:
            raise ModelFileError("n_outputs does not fit the classes.")
        known = Known.by(self.schema_, n_values_of(vars(self)))
        (self.tree_,) = validate_trees(read_trees(contents).arrays(), known)
        return self

    def __setstate__(self, state: dict[str, Any]) -> None:
        checked = dict(state)
        if "tree_" in checked:
            KeptTree().check(type(self), {**checked, "classes_": None})
        super().__setstate__(checked)

    def predict_values(self, X: np.ndarray) -> np.ndarray:
        """A traversal with checked indices: an index outside raises."""
        return np.array([self.tree_.value[walk(self.tree_, row)] for row in X])


register_estimator(StandIn)


def walk(tree: Tree, row: np.ndarray) -> int:
    """Leaf of a row; every index is checked, and a cycle would be noticed."""
    node = 0
    for _ in range(tree.node_count):
        if tree.kind[node] == LEAF:
            return node
        assert 0 <= tree.feature[node] < len(row)
        x = row[tree.feature[node]]
        if np.isnan(x):
            branch = int(tree.missing_branch[node])
        elif tree.kind[node] == THRESHOLD:
            branch = int(not x <= tree.threshold[node])
        elif tree.kind[node] == SUBSET:
            first, last = tree.set_start[node], tree.set_start[node + 1]
            assert 0 <= first <= last <= len(tree.set_words)
            word = first + int(x) // WORD_BITS
            assert word < last
            branch = 1 - (int(tree.set_words[word]) >> (int(x) % WORD_BITS) & 1)
        else:
            branch = int(x)
        assert 0 <= branch < tree.n_branches[node]
        child = int(tree.first_child[node]) + branch
        assert node < child < tree.node_count
        node = child
    raise AssertionError("the walk does not end")


# --- three trees that several tests look at ----------------------------------------------

WEATHER_COLUMNS = [
    Column("humidity"),
    Column("outlook", "sunny", "overcast", "rain"),
    Column("wind", "calm", "strong"),
]


def weather() -> StandIn:
    """Classifier with every kind of split."""
    root = multiway(
        1,
        number(0, 77.5, leaf(0.0, 1.0, rows=2), leaf(1.0, 0.0, rows=3), missing=0),
        leaf(0.0, 1.0, rows=4),
        subset(2, (1,), leaf(1.0, 0.0, rows=2), leaf(0.25, 0.75, rows=4), missing=0),
    )
    return StandIn().with_tree(root, WEATHER_COLUMNS, np.array(["no", "yes"]))


def steps() -> StandIn:
    """Regressor that asks the same column again and again."""
    root = number(
        0,
        2.0,
        number(0, 1.0, leaf(1.5, rows=4), leaf(2.25, rows=5)),
        number(
            1,
            0.0001,
            leaf(10.0, rows=6),
            number(0, 8.0, leaf(3.0), leaf(-1e12, rows=1, weight=2.5)),
        ),
    )
    return StandIn("squared_error").with_tree(root, [Column("x"), Column("slope")])


def pairs() -> StandIn:
    """Classifier of two outputs with three and two classes."""
    root = number(0, 0.5, leaf(0.5, 0.25, 0.25, 1.0, 0.0), leaf(0.0, 0.0, 1.0, 0.25, 0.75))
    classes = [np.array(["a", "b", "c"]), np.array([0, 1])]
    return StandIn().with_tree(root, [Column("x")], classes)


def sample_rows(estimator: StandIn, n_rows: int = 40, seed: int = 0) -> np.ndarray:
    """Random rows with missing values that fit the schema."""
    random = np.random.default_rng(seed)
    X = np.empty((n_rows, estimator.schema_.n_features))
    for number_, count in enumerate(estimator.schema_.n_categories):
        X[:, number_] = (
            random.integers(count, size=n_rows) if count else random.normal(5, 40, n_rows)
        )
    X[random.random(X.shape) < 0.2] = np.nan
    return X

"""One view of a fitted tree that feeds every text and picture.

`TreeView` knows the names (columns, categories, classes) and puts into words what a node
asks and predicts; the writers of text, rules, SVG and matplotlib only arrange it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hornbeam.dtypes import LEAF, MULTIWAY, Array
from hornbeam.output.conditions import Choice, Interval
from hornbeam.output.names import format_number, printable
from hornbeam.tree.storage import Tree

LISTED = 6  # categories shown before "… (n more)"


@dataclass(frozen=True)
class Branch:
    """One way out of a node."""

    child: int
    answer: str  # to the question of the node: "yes", "no" or a category
    missing: bool  # missing values go here, and that is worth showing


@dataclass(frozen=True)
class NodeView:
    """What there is to say about one node.

    Attributes
    ----------
    question : str
        "age <= 30.00", "color in {red, blue}", "color?" for a multiway split, "" for a leaf.
    prediction : str
        Class or value; in brackets if there are several outputs.
    values : tuple of arrays
        Per output the class shares, or one number.
    winner : int
        Number of the class predicted for the first output, -1 for a regressor.
    """

    node: int
    depth: int
    question: str
    n_samples: int
    weight: float
    impurity: float
    prediction: str
    values: tuple[Array, ...]
    winner: int


@dataclass(frozen=True)
class TreeView:
    """A fitted tree with the names of everything in it (made by `view_of`)."""

    tree: Tree
    feature_names: tuple[str, ...]
    categories: tuple[tuple[str, ...] | None, ...]  # per feature, None for numbers
    class_names: tuple[tuple[str, ...], ...] | None  # per output, None for a regressor
    n_outputs: int
    criterion: str
    missing_shown: tuple[bool, ...]  # per feature
    decimals: int = 2
    trim: bool = False  # leave out zeros behind the point

    def number(self, number: float) -> str:
        """Write a number as the caller wants numbers.

        Parameters
        ----------
        number : float
            A threshold, value or impurity.

        Returns
        -------
        str
        """
        return format_number(number, self.decimals, self.trim)

    def node(self, node: int) -> NodeView:
        """Describe one node.

        Parameters
        ----------
        node : int
            Its number.

        Returns
        -------
        NodeView
        """
        tree = self.tree
        values = self.values(node)
        return NodeView(
            node=node,
            depth=int(tree.depth[node]),
            question=self.question(node),
            n_samples=int(tree.n_samples[node]),
            weight=float(tree.weight[node]),
            impurity=float(tree.impurity[node]),
            prediction=self.prediction(values),
            values=values,
            winner=-1 if self.class_names is None else int(np.argmax(values[0])),
        )

    def values(self, node: int) -> tuple[Array, ...]:
        """Split the values of a node by output.

        Parameters
        ----------
        node : int
            Its number.

        Returns
        -------
        tuple of arrays
            Class shares, or an array of one number, per output.
        """
        sizes = [1] * self.n_outputs if self.class_names is None else map(len, self.class_names)
        borders = np.cumsum(list(sizes))[:-1]
        return tuple(np.split(self.tree.value[node], borders))

    def prediction(self, values: tuple[Array, ...]) -> str:
        """Name what a node with these values predicts.

        Parameters
        ----------
        values : tuple of arrays
            See `values`.

        Returns
        -------
        str
        """
        if self.class_names is None:
            found = [self.number(float(value[0])) for value in values]
        else:
            pairs = zip(values, self.class_names, strict=True)
            found = [names[int(np.argmax(shares))] for shares, names in pairs]
        return found[0] if len(found) == 1 else f"[{', '.join(found)}]"

    def question(self, node: int) -> str:
        """Put the split of a node as a question that branch 0 answers with yes.

        Parameters
        ----------
        node : int
            Its number.

        Returns
        -------
        str
            Empty for a leaf.
        """
        kind = self.tree.kind[node]
        if kind == LEAF:
            return ""
        if kind == MULTIWAY:
            return f"{self.feature_names[self.tree.feature[node]]}?"
        return self.condition(node, 0, with_missing=False)

    def branch(self, node: int, branch: int) -> Branch:
        """Describe one way out of a node.

        Parameters
        ----------
        node, branch : int
            Which one.

        Returns
        -------
        Branch
        """
        feature = int(self.tree.feature[node])
        if self.tree.kind[node] == MULTIWAY:
            names = self.categories[feature] or ()
            answer = names[branch] if branch < len(names) else "missing"
        else:
            answer = "no" if branch else "yes"
        return Branch(
            child=int(self.tree.first_child[node]) + branch,
            answer=answer,
            missing=answer != "missing"
            and self.missing_shown[feature]
            and branch == self.tree.missing_branch[node],
        )

    @cached_property
    def everything(self) -> list[Interval | Choice]:
        """What each column may be before any question was asked."""
        return [
            Interval() if names is None else Choice(np.arange(len(names)), len(names))
            for names in self.categories
        ]

    def narrow(self, before: Interval | Choice, node: int, branch: int) -> Interval | Choice:
        """Keep of what a column may be before a node what goes to one of its branches.

        Parameters
        ----------
        before : Interval or Choice
            What the column of the node may be when a row arrives there.
        node, branch : int
            Which way the row takes.

        Returns
        -------
        Interval or Choice
        """
        tree = self.tree
        missing = bool(tree.missing_branch[node] == branch)
        if isinstance(before, Interval):
            return before.narrow(float(tree.threshold[node]), branch, missing)
        if tree.kind[node] == MULTIWAY:
            return before.only(branch, missing)
        chosen = np.zeros(before.n_categories, bool)
        chosen[tree.category_set(node)] = True
        return before.among(chosen, branch, missing)

    def condition(self, node: int, branch: int, with_missing: bool = True) -> str:
        """Put one branch in words: "age <= 30.00 or missing".

        Parameters
        ----------
        node, branch : int
            Which one.
        with_missing : bool
            Whether to add "or missing" where that is known to matter.

        Returns
        -------
        str
        """
        feature = int(self.tree.feature[node])
        part = self.narrow(self.everything[feature], node, branch)
        return self.words(feature, part, with_missing)

    def words(self, feature: int, part: Interval | Choice, with_missing: bool = True) -> str:
        """Put what is known of a column in words.

        Parameters
        ----------
        feature : int
            Number of the column.
        part : Interval or Choice
            What is known.
        with_missing : bool
            Whether to add "or missing" where that is known to matter.

        Returns
        -------
        str
        """
        name, show = self.feature_names[feature], with_missing and self.missing_shown[feature]
        if isinstance(part, Interval):
            return part.words(name, self.number, show)
        return part.words(name, self.categories[feature] or (), LISTED, show)

    @cached_property
    def height(self) -> Array:
        """How many questions the longest way down from each node has."""
        tree = self.tree
        height = np.zeros(tree.node_count, np.int64)
        borders = np.flatnonzero(np.diff(tree.depth)) + 1  # levels are contiguous
        for level in reversed(np.split(np.arange(tree.node_count), borders)[1:]):
            np.maximum.at(height, tree.parent[level], height[level] + 1)
        return height


# --- from an estimator ------------------------------------------------------------------


def view_of(
    estimator: Any,
    *,
    feature_names: Sequence[Any] | None = None,
    class_names: Sequence[Any] | bool | None = None,
    decimals: int = 2,
    trim: bool = False,
    show_missing: bool | None = None,
) -> TreeView:
    """Look at a fitted tree estimator.

    Parameters
    ----------
    estimator : object
        Has ``tree_``, ``schema_``, ``n_outputs_`` and, if a classifier, ``classes_``.
    feature_names : sequence, optional
        Other names for the columns than those in the data.
    class_names : sequence, optional
        Other names for the classes, in the order of ``classes_``; one sequence per output
        if there are several.
    decimals : int
        Digits behind the point.
    trim : bool
        Leave out zeros behind the point.
    show_missing : bool, optional
        Whether to say where missing values go; by default for columns where training
        found that they do not belong to the larger side.

    Returns
    -------
    TreeView
    """
    if not hasattr(estimator, "tree_"):
        _refuse(estimator)
    if isinstance(decimals, bool) or not isinstance(decimals, (int, np.integer)) or decimals < 0:
        raise ValueError(f"decimals (or precision) must be a whole number >= 0, not {decimals!r}.")
    schema = estimator.schema_
    criterion = getattr(estimator, "criterion", None)
    return TreeView(
        tree=estimator.tree_,
        feature_names=_feature_names(schema, feature_names),
        categories=tuple(
            _category_names(column.categories, int(count), category)
            for column, count, category in zip(
                schema.columns, schema.n_categories, schema.is_category, strict=True
            )
        ),
        class_names=_class_names(estimator, class_names),
        n_outputs=int(estimator.n_outputs_),
        criterion=criterion if isinstance(criterion, str) else "impurity",
        missing_shown=tuple(_missing_shown(estimator, show_missing)),
        decimals=int(decimals),
        trim=trim,
    )


def _refuse(estimator: Any) -> None:
    from sklearn.exceptions import NotFittedError

    name = type(estimator).__name__
    if hasattr(estimator, "get_params") and not isinstance(estimator, type):
        raise NotFittedError(f"This {name} is not fitted, or has no single tree: call fit first.")
    raise TypeError(f"A fitted tree estimator is needed, not {estimator!r:.80}.")


def _feature_names(schema: Any, given: Sequence[Any] | None) -> tuple[str, ...]:
    names = schema.feature_names if given is None else list(given)
    if len(names) != schema.n_features:
        raise ValueError(
            f"feature_names has {len(names)} names, but the tree was fitted on "
            f"{schema.n_features} features."
        )
    return tuple(map(printable, names))


def _category_names(categories: Any, count: int, is_category: bool) -> tuple[str, ...] | None:
    """Names of the categories of a column; unseen="other" adds one that has no name."""
    if not is_category:
        return None
    names = tuple(map(printable, categories or ()))
    return names + ("(other)",) * (count - len(names))


def _class_names(
    estimator: Any, given: Sequence[Any] | bool | None
) -> tuple[tuple[str, ...], ...] | None:
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        return None
    single = int(estimator.n_outputs_) == 1
    wanted = [classes] if single else list(classes)
    if given is not None and not isinstance(given, bool):
        found = [given] if single else list(given)
        if list(map(len, found)) != list(map(len, wanted)):
            raise ValueError(
                f"class_names must name {' and '.join(str(len(c)) for c in wanted)} classes."
            )
        wanted = found
    return tuple(tuple(map(printable, names)) for names in wanted)


def _missing_shown(estimator: Any, wanted: bool | None) -> list[bool]:
    """Per column: as the caller wants, or whether a node learnt where missing values go.

    Where training saw none, they go with the largest branch; any other choice was learnt.
    """
    n_features = estimator.schema_.n_features
    if wanted is not None:
        return [bool(wanted)] * n_features
    tree = estimator.tree_
    inner = np.flatnonzero(tree.kind != LEAF)
    if not len(inner):
        return [False] * n_features
    first = tree.first_child[inner]
    largest = np.maximum.reduceat(tree.n_samples[1:], first - 1)  # children are neighbours
    chosen = tree.n_samples[first + tree.missing_branch[inner]]
    learnt = (chosen < largest) | np.isposinf(tree.threshold[inner])
    asked = set(tree.feature[inner[learnt]].tolist())
    return [feature in asked for feature in range(n_features)]

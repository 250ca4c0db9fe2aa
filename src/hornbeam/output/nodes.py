"""One view of a fitted tree that feeds every text and picture.

`TreeView` knows the names (columns, categories, classes) and puts into words what a node
asks and predicts; the writers of text, rules, SVG and matplotlib only arrange it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from hornbeam.data.times import TimeScale
from hornbeam.dtypes import LEAF, MULTIWAY, NO_FEATURE, Array
from hornbeam.output.conditions import Choice, Interval, Style
from hornbeam.output.names import LISTED, format_number, in_quotes, quoted
from hornbeam.tree.storage import Tree

_UNSEEN = {
    "missing": "Categories that were not there in fit count as missing.",
    "error": "Categories that were not there in fit are refused.",
    "other": '"Unseen" are categories that were not there in fit.',
}
Part = Interval | Choice
Path = dict[int, Part]  # feature -> what the questions so far let through


@dataclass(frozen=True)
class Branch:
    """One way out of a node."""

    child: int
    answer: str  # to the question of the node: "yes", "no" or a category
    missing: bool  # missing values that come to the node go here


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
    categories: tuple[tuple[str, ...] | None, ...]  # per feature as shown, None for numbers
    class_names: tuple[tuple[str, ...], ...] | None  # per output, None for a regressor
    n_outputs: int
    criterion: str
    unseen: str = "missing"  # what an unseen category becomes
    parts_rows: bool = False  # a row goes down every branch where its own is not known
    show_missing: bool = True
    max_categories: int | None = LISTED  # listed of a set; None for all
    decimals: int | None = 2  # None for exact numbers
    trim: bool = False  # leave out zeros behind the point
    times: tuple[TimeScale | None, ...] = ()  # per feature; none at all where no column has dates

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns as statements show them."""
        return tuple(map(quoted, self.feature_names))

    @cached_property
    def classes(self) -> tuple[tuple[str, ...], ...]:
        """The names of the classes as they are shown, per output; empty for a regressor."""
        return tuple(
            tuple(quoted(n, is_class=True) for n in names) for names in self.class_names or ()
        )

    @cached_property
    def style(self) -> Style:
        """How statements are written."""
        return Style(self.number, self.max_categories, self.show_missing, self.unseen)

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

    def threshold(self, feature: int, number: float) -> str:
        """Write a number of a column: as a date where the column holds dates.

        Parameters
        ----------
        feature : int
            Number of the column.
        number : float
            A threshold.

        Returns
        -------
        str
        """
        scale = self.times[feature] if self.times else None
        return self.number(number) if scale is None else scale.words(number, self.decimals is None)

    def style_of(self, feature: int) -> Style:
        """How statements on a column are written.

        Parameters
        ----------
        feature : int
            Number of the column.

        Returns
        -------
        Style
        """
        if not self.times or self.times[feature] is None:
            return self.style
        return replace(self.style, threshold=partial(self.threshold, feature))

    def node(self, node: int, path: Path) -> NodeView:
        """Describe one node.

        Parameters
        ----------
        node : int
            Its number.
        path : dict
            What the questions on the way there let through.

        Returns
        -------
        NodeView
        """
        tree = self.tree
        values = self.values(node)
        return NodeView(
            node=node,
            depth=int(tree.depth[node]),
            question=self.question(node, path),
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
            pairs = zip(values, self.classes, strict=True)
            found = [names[int(np.argmax(shares))] for shares, names in pairs]
        return found[0] if len(found) == 1 else f"[{', '.join(found)}]"

    def question(self, node: int, path: Path) -> str:
        """Put the split of a node as a question that branch 0 answers with yes.

        Parameters
        ----------
        node : int
            Its number.
        path : dict
            What the questions on the way there let through.

        Returns
        -------
        str
            Empty for a leaf.
        """
        kind = self.tree.kind[node]
        if kind == LEAF:
            return ""
        if kind == MULTIWAY:
            return f"{self.columns[self.tree.feature[node]]}?"
        return self.condition(node, 0, path, with_missing=False)

    def branches(self, node: int) -> list[int]:
        """Return the branches that a row can take.

        Parameters
        ----------
        node : int
            Its number.

        Returns
        -------
        list of int
            Where rows are parted, the branch of a category that had no training row gets
            nothing: a row that belongs there goes down all others.
        """
        every = range(int(self.tree.n_branches[node]))
        if not self.parts_rows or self.tree.kind[node] != MULTIWAY:
            return list(every)
        first = int(self.tree.first_child[node])
        return [branch for branch in every if self.tree.weight[first + branch] > 0.0]

    def branch(self, node: int, branch: int, path: Path) -> Branch:
        """Describe one way out of a node.

        Parameters
        ----------
        node, branch : int
            Which one.
        path : dict
            What the questions on the way to the node let through.

        Returns
        -------
        Branch
        """
        feature = int(self.tree.feature[node])
        if self.tree.kind[node] == MULTIWAY:
            names = [*(self.categories[feature] or ())] + ["unseen"] * (self.unseen == "other")
            answer = names[branch] if branch < len(names) else "missing"
        else:
            answer = "no" if branch else "yes"
        comes = self.before(path, feature).missing > 0.0
        return Branch(
            child=self._child(node, branch),
            answer=answer,
            missing=comes and self.missing_share(node, branch) == 1.0,
        )

    @cached_property
    def everything(self) -> list[Part]:
        """What each column may be before any question was asked."""
        more = int(self.unseen == "other")
        return [
            Interval() if names is None else Choice(np.arange(len(names) + more), len(names) + more)
            for names in self.categories
        ]

    def before(self, path: Path, feature: int) -> Part:
        """Return what a column may be at the end of a path.

        Parameters
        ----------
        path : dict
            What the questions on the way let through.
        feature : int
            Number of the column.

        Returns
        -------
        Interval or Choice
        """
        return path.get(feature) or self.everything[feature]

    def after(self, path: Path, node: int, branch: int) -> Path:
        """Return a path that goes on through one branch of a node.

        Parameters
        ----------
        path : dict
            What the questions on the way to the node let through.
        node, branch : int
            Which way the row takes.

        Returns
        -------
        dict
        """
        feature = int(self.tree.feature[node])
        return {**path, feature: self.narrow(self.before(path, feature), node, branch)}

    def missing_share(self, node: int, branch: int) -> float:
        """Return how much of a row that lacks the value goes to a branch.

        Parameters
        ----------
        node, branch : int
            Which one.

        Returns
        -------
        float
            1 or 0, unless the tree sends such a row down every branch.
        """
        if not self.parts_rows:
            return float(self.tree.missing_branch[node] == branch)
        own = self._own_branch(node)
        return self._weight_share(node, branch) if own < 0 else float(own == branch)

    def _own_branch(self, node: int) -> int:
        """Branch that a node has for missing values only, -1 if it has none with rows."""
        choice, last = self.everything[self.tree.feature[node]], int(self.tree.n_branches[node]) - 1
        if self.tree.kind[node] != MULTIWAY or not isinstance(choice, Choice):
            return -1
        is_there = last >= choice.n_categories
        return last if is_there and self.tree.weight[self._child(node, last)] > 0.0 else -1

    def _child(self, node: int, branch: int) -> int:
        return int(self.tree.first_child[node]) + branch

    def _weight_share(self, node: int, branch: int) -> float:
        first = int(self.tree.first_child[node])
        weights = self.tree.weight[first : first + int(self.tree.n_branches[node])]
        return float(weights[branch] / weights.sum())

    def _unknown(self, node: int, n_categories: int) -> Array | None:
        """Which categories no training row of a multiway node had; None if all were there."""
        first = int(self.tree.first_child[node])
        empty = self.tree.weight[first : first + n_categories] <= 0.0
        return empty if empty.any() else None

    def narrow(self, before: Part, node: int, branch: int) -> Part:
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
        tree, missing = self.tree, self.missing_share(node, branch)
        if isinstance(before, Interval):
            return before.narrow(float(tree.threshold[node]), branch, missing)
        if tree.kind[node] == MULTIWAY:
            unknown = self._unknown(node, before.n_categories) if self.parts_rows else None
            share = 0.0 if unknown is None else self._weight_share(node, branch)
            return before.only(branch, missing, unknown, share)
        return before.among(tree.goes_first(node, before.n_categories), branch, missing)

    def condition(self, node: int, branch: int, path: Path, with_missing: bool = True) -> str:
        """Put one branch in words: "age <= 30.00 or missing".

        Parameters
        ----------
        node, branch : int
            Which one.
        path : dict
            What the questions on the way to the node let through: no more is said than it
            takes to tell apart what arrives.
        with_missing : bool
            Whether to say where missing values go.

        Returns
        -------
        str
        """
        feature = int(self.tree.feature[node])
        name, before = self.columns[feature], self.before(path, feature).arriving()
        style = self.style_of(feature)
        style = style if with_missing else replace(style, show_missing=False)
        if isinstance(before, Interval):
            asked = self.narrow(Interval(missing=before.missing), node, branch).whole()
            assert isinstance(asked, Interval)
            return asked.words(name, style)
        part = self.narrow(before, node, branch).whole()
        assert isinstance(part, Choice)
        return part.words(name, self.categories[feature] or (), style, before)

    def words(self, feature: int, part: Part) -> str:
        """Put what is known of a column in words.

        Parameters
        ----------
        feature : int
            Number of the column.
        part : Interval or Choice
            What is known.

        Returns
        -------
        str
        """
        name = self.columns[feature]
        if isinstance(part, Interval):
            return part.words(name, self.style_of(feature))
        return part.words(name, self.categories[feature] or (), self.style)

    @cached_property
    def height(self) -> Array:
        """How many questions the longest way down from each node has."""
        tree = self.tree
        height = np.zeros(tree.node_count, np.int64)
        borders = np.flatnonzero(np.diff(tree.depth)) + 1  # levels are contiguous
        for level in reversed(np.split(np.arange(tree.node_count), borders)[1:]):
            np.maximum.at(height, tree.parent[level], height[level] + 1)
        return height

    # --- notes ------------------------------------------------------------------------

    def notes(
        self,
        cut: bool,
        rounded: bool = False,
        decimals: str = "decimals",
        nodes: Array | None = None,
    ) -> list[str]:
        """Say what a reader must know beside the tree, and what was left out.

        Parameters
        ----------
        cut : bool
            Whether lists were cut.
        rounded : bool
            Whether other numbers in it than thresholds and values are rounded.
        decimals : str
            What the parameter for the digits is called there.
        nodes : array of int, optional
            The nodes that are shown; by default all.

        Returns
        -------
        list of str
            Sentences.
        """
        found = []
        nodes = np.arange(self.tree.node_count) if nodes is None else nodes
        asked = set(self.tree.feature[nodes].tolist()) - {NO_FEATURE}
        if any(self.categories[feature] is not None for feature in asked):
            found.append(_UNSEEN[self.unseen])
        if asked and not self.show_missing:
            found.append("Where missing values go is left out; show_missing=True says it.")
        if cut:
            found.append("Long lists are cut; max_categories=None shows them whole.")
        if rounded or self._is_rounded(nodes):
            found.append(f"Numbers are rounded; {decimals}=None shows them exactly.")
        return found

    def _is_rounded(self, nodes: Array) -> bool:
        """Whether a threshold or a predicted number is not quite what is shown."""
        if self.decimals is None:
            return False
        nodes_of_numbers = nodes[np.isfinite(self.tree.threshold[nodes])]
        if any(self._is_rounded_time(node) for node in nodes_of_numbers.tolist() if self.times):
            return True
        if self.times:
            plain = np.array([scale is None for scale in self.times])
            nodes_of_numbers = nodes_of_numbers[plain[self.tree.feature[nodes_of_numbers]]]
        numbers = [self.tree.threshold[nodes_of_numbers]]
        if self.class_names is None:
            numbers.append(self.tree.value[nodes[self.tree.is_leaf[nodes]]].ravel())
        return any(float(self.number(float(x))) != x for x in np.concatenate(numbers))

    def _is_rounded_time(self, node: int) -> bool:
        scale = self.times[self.tree.feature[node]]
        number = float(self.tree.threshold[node])
        return scale is not None and scale.words(number) != scale.words(number, exact=True)


# --- from an estimator ------------------------------------------------------------------


def view_of(
    estimator: Any,
    *,
    feature_names: Sequence[Any] | None = None,
    class_names: Sequence[Any] | bool | None = None,
    decimals: int | None = 2,
    trim: bool = False,
    show_missing: bool = True,
    max_categories: int | None = LISTED,
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
    decimals : int or None
        Digits behind the point; None for exact numbers.
    trim : bool
        Leave out zeros behind the point.
    show_missing : bool
        Whether to say where missing values go.
    max_categories : int or None
        How many categories of a set to list; None for all.

    Returns
    -------
    TreeView
    """
    if not hasattr(estimator, "tree_"):
        _refuse(estimator)
    _check_whole("decimals (or precision)", decimals, 0)
    _check_whole("max_categories", max_categories, 1)
    schema = estimator.schema_
    criterion = getattr(estimator, "criterion", None)
    return TreeView(
        tree=estimator.tree_,
        feature_names=_feature_names(schema, feature_names),
        categories=tuple(_category_names(column.categories) for column in schema.columns),
        class_names=_class_names(estimator, class_names),
        n_outputs=int(estimator.n_outputs_),
        criterion=criterion if isinstance(criterion, str) else "impurity",
        unseen=schema.unseen,
        parts_rows=getattr(estimator, "_parts_rows", False),
        show_missing=bool(show_missing),
        max_categories=max_categories,
        decimals=decimals,
        trim=trim,
        times=_times(schema),
    )


def _times(schema: Any) -> tuple[TimeScale | None, ...]:
    found = tuple(column.time for column in schema.columns)
    return found if any(scale is not None for scale in found) else ()


def _check_whole(name: str, value: Any, least: int) -> None:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if value is not None and not (whole and value >= least):
        raise ValueError(f"{name} must be a whole number >= {least}, or None, not {value!r}.")


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
    return tuple(map(str, names))


def _category_names(categories: Sequence[Any] | None) -> tuple[str, ...] | None:
    """Names of the categories of a column; in quotes where 1 and "1" would look alike."""
    if categories is None:
        return None
    if len(set(map(str, categories))) < len(categories):
        return tuple(in_quotes(c) if isinstance(c, str) else str(c) for c in categories)
    return tuple(map(quoted, categories))


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
    return tuple(tuple(map(str, names)) for names in wanted)

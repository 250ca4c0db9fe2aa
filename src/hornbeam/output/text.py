"""A fitted tree as text: the whole tree, or one rule per leaf."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex, overload

import numpy as np

from hornbeam.dtypes import LEAF, THRESHOLD, Array
from hornbeam.output.conditions import Choice, Interval
from hornbeam.output.names import format_count
from hornbeam.output.nodes import TreeView, view_of


def export_text(
    estimator: Any,
    *,
    feature_names: Sequence[Any] | None = None,
    class_names: Sequence[Any] | None = None,
    max_depth: int = 10,
    spacing: int = 3,
    decimals: int = 2,
    show_weights: bool = False,
    show_samples: bool = False,
    show_impurity: bool = False,
    show_missing: bool | None = None,
) -> str:
    """Show a fitted tree as text.

    Parameters
    ----------
    estimator : DecisionTreeClassifier or DecisionTreeRegressor
        Fitted.
    feature_names : sequence of str, optional
        Other names for the columns than those in the data.
    class_names : sequence of str, optional
        Other names for the classes, in the order of ``classes_``; one sequence per output
        if there are several.
    max_depth : int, default 10
        Deeper branches are only mentioned.
    spacing : int, default 3
        Width of a level.
    decimals : int, default 2
        Digits behind the point.
    show_weights : bool, default False
        Add the weight of each class to the leaves of a classifier.
    show_samples, show_impurity : bool, default False
        Add the number of training rows, or the impurity, to each leaf.
    show_missing : bool, optional
        Whether to say where missing values go; by default for columns where training
        found that they do not belong to the larger side.

    Returns
    -------
    str
        One line per branch and leaf.

    Examples
    --------
    >>> import hornbeam as hb
    >>> X = [[1.0], [2.0], [3.0], [4.0]]
    >>> tree = hb.DecisionTreeClassifier().fit(X, ["low", "low", "high", "high"])
    >>> print(hb.export_text(tree, feature_names=["size"]))
    |--- size <= 2.50
    |   |--- class: low
    |--- size >  2.50
    |   |--- class: high
    <BLANKLINE>
    """
    if max_depth < 0 or spacing < 1:
        raise ValueError(f"max_depth must be >= 0 and spacing >= 1, not {max_depth}, {spacing}.")
    view = view_of(
        estimator,
        feature_names=feature_names,
        class_names=class_names,
        decimals=decimals,
        show_missing=show_missing,
    )
    extras = {"samples": show_samples, "impurity": show_impurity, "weights": show_weights}
    return "".join(_line(depth, spacing, words) for depth, words in _walk(view, max_depth, extras))


def _line(depth: int, spacing: int, words: str) -> str:
    bars = ("|" + " " * spacing) * depth
    return f"{bars}|{'-' * spacing} {words}\n"


def _walk(view: TreeView, max_depth: int, extras: dict[str, bool]) -> Iterator[tuple[int, str]]:
    """Depth and words of each line, from the top; a stack, because trees can be deep."""
    stack: list[tuple[int, int, str | None]] = [(0, 0, None)]
    while stack:
        depth, node, words = stack.pop()
        if words is not None:
            yield depth, words
        elif view.tree.kind[node] == LEAF:
            yield depth, _leaf_words(view, node, extras)
        elif depth > max_depth:
            yield depth, f"truncated branch of depth {view.height[node] + 1}"
        else:
            first = int(view.tree.first_child[node])
            for branch in reversed(range(int(view.tree.n_branches[node]))):
                stack.append((depth + 1, first + branch, None))
                stack.append((depth, node, _branch_words(view, node, branch)))


def _branch_words(view: TreeView, node: int, branch: int) -> str:
    words = view.condition(node, branch)
    if branch == 1 and view.tree.kind[node] == THRESHOLD:
        name = view.feature_names[view.tree.feature[node]]
        if words.startswith(f"{name} > "):  # so that the numbers of both branches align
            words = f"{name} >  {words[len(name) + 3 :]}"
    return words


def _leaf_words(view: TreeView, node: int, extras: dict[str, bool]) -> str:
    values, words = view.values(node), []
    if extras["samples"]:
        words.append(f"samples: {format_count(int(view.tree.n_samples[node]))}")
    if extras["impurity"]:
        impurity = view.number(float(view.tree.impurity[node]))
        words.append(f"{view.criterion}: {impurity}")
    if view.class_names is None:
        numbers = ", ".join(view.number(float(value[0])) for value in values)
        words.append(f"value: [{numbers}]")
        return " ".join(words)
    if extras["weights"]:
        words.append(f"weights: {_weights(view, node, values)}")
    words.append(f"class: {view.prediction(values)}")
    return " ".join(words)


def _weights(view: TreeView, node: int, values: tuple[Array, ...]) -> str:
    weight = float(view.tree.weight[node])
    outputs = [
        ", ".join(f"{share * weight:.{view.decimals}f}" for share in shares) for shares in values
    ]
    return " ".join(f"[{numbers}]" for numbers in outputs)


# --- rules ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """One leaf of a tree as a rule.

    Attributes
    ----------
    leaf : int
        Number of the leaf.
    conditions : tuple of str
        What must hold, one statement per column; empty if the tree is a single leaf.
    prediction : str
        The class or value predicted; in brackets if there are several outputs.
    n_samples : int
        Training rows the rule covers.
    weight : float
        Sum of their weights.
    shares : tuple of dict
        For a classifier, per output: class name to its share among these rows.
    value : array
        The values of the leaf as they are stored.
    """

    leaf: int
    conditions: tuple[str, ...]
    prediction: str
    n_samples: int
    weight: float
    shares: tuple[dict[str, float], ...]
    value: Array

    def __str__(self) -> str:
        parts = list(self.conditions)
        if len(parts) > 1:
            parts = [f"({part})" if part.endswith(" or missing") else part for part in parts]
        condition = "if " + " and ".join(parts) if parts else "always"
        support = f"{format_count(self.n_samples)} row{'s' if self.n_samples != 1 else ''}"
        if self.weight != self.n_samples:
            support += f", weight {format_count(self.weight)}"
        for shares in self.shares:
            support += f"; {_share_words(shares)}"
        return f"{condition} then {self.prediction} ({support})"


def _share_words(shares: dict[str, float], limit: int = 3) -> str:
    """Say the largest shares: "92% yes, 8% no"."""
    ranked = sorted(shares.items(), key=lambda item: -item[1])
    shown = [f"{_percent(share)} {name}" for name, share in ranked if share > 0]
    if len(shown) > limit:
        shown = shown[:limit] + ["…"]
    return ", ".join(shown)


def _percent(share: float) -> str:
    """Percent without claiming 100% or 0% for what is only nearly so."""
    percent = 100 * share
    if percent in (0.0, 100.0):
        return f"{percent:.0f}%"
    return f"{min(max(percent, 0.1), 99.9):.{0 if 1 <= percent <= 99 else 1}f}%"


class Rules(Sequence[Rule]):
    """The rules of a tree: a sequence of `Rule`, printed one per line."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = tuple(rules)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Rule: ...
    @overload
    def __getitem__(self, index: slice) -> Rules: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Rule | Rules:
        if isinstance(index, slice):
            return Rules(self._rules[index])
        return self._rules[index]

    def __len__(self) -> int:
        return len(self._rules)

    def __str__(self) -> str:
        return "\n".join(map(str, self._rules))

    __repr__ = __str__


def export_rules(
    estimator: Any,
    *,
    feature_names: Sequence[Any] | None = None,
    class_names: Sequence[Any] | None = None,
    decimals: int = 2,
    show_missing: bool | None = None,
) -> Rules:
    """Turn a fitted tree into rules, one per leaf.

    Questions on the same column along the way to a leaf are merged into one statement
    such as ``1.00 < x <= 2.00``.

    Parameters
    ----------
    estimator : DecisionTreeClassifier or DecisionTreeRegressor
        Fitted.
    feature_names : sequence of str, optional
        Other names for the columns than those in the data.
    class_names : sequence of str, optional
        Other names for the classes, in the order of ``classes_``; one sequence per output
        if there are several.
    decimals : int, default 2
        Digits behind the point.
    show_missing : bool, optional
        Whether to say where missing values go; by default for columns where training
        found that they do not belong to the larger side.

    Returns
    -------
    Rules
        A sequence of `Rule`, in the order of the leaves from left to right; ``print`` it,
        or use its parts.

    Examples
    --------
    >>> import hornbeam as hb
    >>> X = [[1.0], [2.0], [3.0], [4.0]]
    >>> tree = hb.DecisionTreeClassifier().fit(X, ["low", "low", "high", "high"])
    >>> print(hb.export_rules(tree, feature_names=["size"]))
    if size <= 2.50 then low (2 rows; 100% low)
    if size > 2.50 then high (2 rows; 100% high)
    """
    view = view_of(
        estimator,
        feature_names=feature_names,
        class_names=class_names,
        decimals=decimals,
        show_missing=show_missing,
    )
    return Rules(_rule(view, leaf, path) for leaf, path in _paths(view))


Path = dict[int, Interval | Choice]  # feature -> what the questions so far let through


def _paths(view: TreeView) -> Iterator[tuple[int, Path]]:
    """Yield every leaf, left to right, with what its path says about each column."""
    tree = view.tree
    stack: list[tuple[int, Path]] = [(0, {})]
    while stack:
        node, path = stack.pop()
        if tree.kind[node] == LEAF:
            yield node, path
            continue
        feature, first = int(tree.feature[node]), int(tree.first_child[node])
        before = path.get(feature) or view.everything[feature]
        for branch in reversed(range(int(tree.n_branches[node]))):
            stack.append((first + branch, {**path, feature: view.narrow(before, node, branch)}))


def _rule(view: TreeView, leaf: int, path: Path) -> Rule:
    values = view.values(leaf)
    shares: tuple[dict[str, float], ...] = ()
    if view.class_names is not None:
        pairs = zip(view.class_names, values, strict=True)
        shares = tuple(dict(zip(names, map(float, row), strict=True)) for names, row in pairs)
    return Rule(
        leaf=leaf,
        conditions=tuple(view.words(feature, part) for feature, part in path.items()),
        prediction=view.prediction(values),
        n_samples=int(view.tree.n_samples[leaf]),
        weight=float(view.tree.weight[leaf]),
        shares=shares,
        value=np.array(view.tree.value[leaf]),
    )

"""A fitted tree as text: the whole tree, or one rule per leaf."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex, overload

import numpy as np

from hornbeam.dtypes import LEAF, THRESHOLD, Array
from hornbeam.output.names import LISTED, format_count, format_number, is_cut, quoted
from hornbeam.output.nodes import Path, TreeView, view_of

_SHOWN_CLASSES = 3
_LOOSE = re.compile(r" or missing$| or missing \(| or unseen| and not missing$")
_PARTED = (
    "A row whose value no branch names goes down all branches, in proportion to the weights of "
    "their leaves, and gets the mixture of what it reaches"
)
_SHARE = re.compile(r" \([-\d.e]+ of ")
_SHARES = (
    '"(0.5 of missing, red)" holds for half a row whose value is missing or red. Shares of several '
    "columns are multiplied; a row gets the mixture of what the rules say about its shares."
)


def export_text(
    estimator: Any,
    *,
    feature_names: Sequence[Any] | None = None,
    class_names: Sequence[Any] | None = None,
    max_depth: int | None = 10,
    spacing: int = 3,
    decimals: int | None = 2,
    show_weights: bool = False,
    show_samples: bool = False,
    show_impurity: bool = False,
    show_missing: bool = True,
    max_categories: int | None = LISTED,
    tree_index: int | None = None,
) -> str:
    """Show a fitted tree as text.

    The text is the whole model, but for what the notes below the tree say was left out to
    keep it short; ``max_depth=None, decimals=None, max_categories=None`` leaves out nothing.
    Names that could be misread are in quotes.

    Parameters
    ----------
    estimator : fitted tree
        A `DecisionTreeClassifier`, `DecisionTreeRegressor`, `ID3Classifier` or
        `C45Classifier`; a forest or a boosted model, of which ``tree_index`` is shown.
    feature_names : sequence of str, optional
        Other names for the columns than those in the data.
    class_names : sequence of str, optional
        Other names for the classes, in the order of ``classes_``; one sequence per output
        if there are several.
    max_depth : int or None, default 10
        Deeper branches are only mentioned; None shows all.
    spacing : int, default 3
        Width of a level.
    decimals : int or None, default 2
        Digits behind the point; None shows numbers exactly.
    show_weights : bool, default False
        Add the weight of each class to the leaves of a classifier.
    show_samples, show_impurity : bool, default False
        Add the number of training rows, or the impurity, to each leaf.
    show_missing : bool, default True
        Whether to say where missing values go.
    max_categories : int or None, default 6
        How many categories of a set to list before "… (n more)"; None lists all.
    tree_index : int, optional
        Which tree of a forest or of a boosted model; by default the first, which a note says.

    Returns
    -------
    str
        One line per branch and leaf, then notes.

    Examples
    --------
    >>> import hornbeam as hb
    >>> X = [[1.0], [2.0], [3.0], [4.0]]
    >>> tree = hb.DecisionTreeClassifier().fit(X, ["low", "low", "high", "high"])
    >>> print(hb.export_text(tree, feature_names=["size"]))
    |--- size <= 2.50
    |   |--- class: low
    |--- size >  2.50 or missing
    |   |--- class: high
    <BLANKLINE>
    """
    if (max_depth is not None and max_depth < 0) or spacing < 1:
        raise ValueError(f"max_depth must be >= 0 and spacing >= 1, not {max_depth}, {spacing}.")
    view = view_of(
        estimator,
        feature_names=feature_names,
        class_names=class_names,
        decimals=decimals,
        show_missing=show_missing,
        max_categories=max_categories,
        tree_index=tree_index,
    )
    extras = {"samples": show_samples, "impurity": show_impurity, "weights": show_weights}
    depth = view.tree.node_count if max_depth is None else max_depth
    text = "".join(_line(*place, spacing) for place in _walk(view, depth, extras))
    notes = _text_notes(view, text, show_weights)
    if view.tree.max_depth > depth + 1:
        notes.append("Deep branches are cut; max_depth=None shows them.")
    return text + "".join(f"{note}\n" for note in notes)


def _text_notes(view: TreeView, text: str, show_weights: bool) -> list[str]:
    """What must be known to read the tree, and what was left out."""
    shows = show_weights and view.class_names is not None
    leaf = view.tree.is_leaf
    weights = view.tree.value[leaf] * view.tree.weight[leaf, None] if shows else np.empty(0)
    notes = view.notes(is_cut(text), _are_rounded(weights, view.decimals))
    if view.parts_rows and view.show_missing and view.tree.node_count > 1:
        hint = "" if shows else "; show_weights=True shows the weights"
        notes.insert(0, f"{_PARTED}{hint}.")
    if shows:
        order = " ".join(f"[{', '.join(names)}]" for names in view.classes)
        notes.append(f"Weights are of the classes {order}.")
    return notes


def _are_rounded(numbers: Array, decimals: int | None) -> bool:
    """Whether numbers differ by more than float arithmetic from what is shown of them."""
    if decimals is None:
        return False
    return not np.allclose(numbers, np.round(numbers, decimals), rtol=1e-12, atol=1e-12)


def _line(depth: int, words: str, spacing: int) -> str:
    bars = ("|" + " " * spacing) * depth
    return f"{bars}|{'-' * spacing} {words}\n"


def _walk(view: TreeView, max_depth: int, extras: dict[str, bool]) -> Iterator[tuple[int, str]]:
    """Depth and words of each line, from the top; a stack, because trees can be deep."""
    stack: list[tuple[int, int, Path, str | None]] = [(0, 0, {}, None)]
    while stack:
        depth, node, path, words = stack.pop()
        if words is not None:
            yield depth, words
        elif view.tree.kind[node] == LEAF:
            yield depth, _leaf_words(view, node, extras)
        elif depth > max_depth:
            yield depth, f"truncated branch of depth {view.height[node] + 1}"
        else:
            first = int(view.tree.first_child[node])
            for branch in reversed(view.branches(node)):
                stack.append((depth + 1, first + branch, view.after(path, node, branch), None))
                stack.append((depth, node, path, _branch_words(view, node, branch, path)))


def _branch_words(view: TreeView, node: int, branch: int, path: Path) -> str:
    words = view.condition(node, branch, path)
    if branch == 1 and view.tree.kind[node] == THRESHOLD:
        name = view.columns[view.tree.feature[node]]
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
    digits = view.decimals
    write = view.number if digits is None else (lambda number: f"{number:.{digits}f}")
    outputs = [", ".join(write(share * weight) for share in shares) for shares in values]
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
    words : str
        The rule as it is printed.
    """

    leaf: int
    conditions: tuple[str, ...]
    prediction: str
    n_samples: int
    weight: float
    shares: tuple[dict[str, float], ...]
    value: Array
    words: str

    def __str__(self) -> str:
        return self.words


class Rules(Sequence[Rule]):
    """The rules of a tree: a sequence of `Rule`, printed one per line.

    Attributes
    ----------
    notes : tuple of str
        What must be known to read them, and what was left out; printed below the rules.
    """

    def __init__(self, rules: Iterable[Rule], notes: Iterable[str] = ()) -> None:
        self._rules = tuple(rules)
        self.notes = tuple(notes)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Rule: ...
    @overload
    def __getitem__(self, index: slice) -> Rules: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Rule | Rules:
        if isinstance(index, slice):
            return Rules(self._rules[index], self.notes)
        return self._rules[index]

    def __len__(self) -> int:
        return len(self._rules)

    def __str__(self) -> str:
        return "\n".join([*map(str, self._rules), *self.notes])

    __repr__ = __str__


def export_rules(
    estimator: Any,
    *,
    feature_names: Sequence[Any] | None = None,
    class_names: Sequence[Any] | None = None,
    decimals: int | None = 2,
    show_missing: bool = True,
    max_categories: int | None = LISTED,
    tree_index: int | None = None,
) -> Rules:
    """Turn a fitted tree into rules, one per leaf.

    Questions on the same column along the way to a leaf are merged into one statement
    such as ``1.00 < x <= 2.00``. For every row exactly one rule holds, but in trees that part
    rows (ID3, C4.5): there a note says how shares of several rules are mixed.

    Parameters
    ----------
    estimator : fitted tree
        As for `export_text`.
    feature_names : sequence of str, optional
        Other names for the columns than those in the data.
    class_names : sequence of str, optional
        Other names for the classes, in the order of ``classes_``; one sequence per output
        if there are several.
    decimals : int or None, default 2
        Digits behind the point; None shows numbers exactly.
    show_missing : bool, default True
        Whether to say where missing values go.
    max_categories : int or None, default 6
        How many categories of a set to list before "… (n more)"; None lists all.
    tree_index : int, optional
        Which tree of a forest or of a boosted model; by default the first, which a note says.

    Returns
    -------
    Rules
        A sequence of `Rule`, in the order of the leaves from left to right; ``print`` it,
        or use its parts. Leaves that no row can reach have no rule.

    Examples
    --------
    >>> import hornbeam as hb
    >>> X = [[1.0], [2.0], [3.0], [4.0]]
    >>> tree = hb.DecisionTreeClassifier().fit(X, ["low", "low", "high", "high"])
    >>> print(hb.export_rules(tree, feature_names=["size"]))
    if size <= 2.50 then low (2 rows; 100% low)
    if size > 2.50 or missing then high (2 rows; 100% high)
    """
    view = view_of(
        estimator,
        feature_names=feature_names,
        class_names=class_names,
        decimals=decimals,
        show_missing=show_missing,
        max_categories=max_categories,
        tree_index=tree_index,
    )
    rules = [_rule(view, leaf, path) for leaf, path in _paths(view)]
    text = "\n".join(map(str, rules))
    shares = [100 * share for rule in rules for part in rule.shares for share in part.values()]
    digits = None if decimals is None else 0
    notes = view.notes(is_cut(text), _are_rounded(np.array(shares), digits))
    if _SHARE.search(text):
        notes.insert(0, _SHARES)
    return Rules(rules, notes)


def _paths(view: TreeView) -> Iterator[tuple[int, Path]]:
    """Yield every leaf, left to right, with what its path says about each column."""
    tree = view.tree
    stack: list[tuple[int, Path]] = [(0, {})]
    while stack:
        node, path = stack.pop()
        if tree.kind[node] == LEAF:
            yield node, path
            continue
        first = int(tree.first_child[node])
        for branch in reversed(view.branches(node)):
            stack.append((first + branch, view.after(path, node, branch)))


def _rule(view: TreeView, leaf: int, path: Path) -> Rule:
    values = view.values(leaf)
    shares: tuple[dict[str, float], ...] = ()
    if view.class_names is not None:
        pairs = zip(view.class_names, values, strict=True)
        shares = tuple(dict(zip(names, map(float, row), strict=True)) for names, row in pairs)
    conditions = tuple(view.words(feature, part) for feature, part in path.items())
    prediction = view.prediction(values)
    support = f"({_support(view, leaf, shares)})"
    return Rule(
        leaf=leaf,
        conditions=conditions,
        prediction=prediction,
        n_samples=int(view.tree.n_samples[leaf]),
        weight=float(view.tree.weight[leaf]),
        shares=shares,
        value=np.array(view.tree.value[leaf]),
        words=f"{joined(conditions)} then {prediction} {support}",
    )


def joined(conditions: Sequence[str]) -> str:
    """Join statements by "and": "if a <= 1 and (b > 2 or missing)".

    Parameters
    ----------
    conditions : sequence of str
        Statements, one per column.

    Returns
    -------
    str
        "always" if there are none.
    """
    if not conditions:
        return "always"
    if len(conditions) == 1:
        return f"if {conditions[0]}"
    return "if " + " and ".join(f"({c})" if _LOOSE.search(c) else c for c in conditions)


def _support(view: TreeView, leaf: int, shares: tuple[dict[str, float], ...]) -> str:
    """How many rows a leaf has, and of which classes."""
    count, weight = int(view.tree.n_samples[leaf]), float(view.tree.weight[leaf])
    words = f"{format_count(count)} row{'s' if count != 1 else ''}"
    if weight != count:
        digits = format_count(weight) if view.decimals is not None else view.number(weight)
        words += f", weight {digits}"
    limit = None if view.max_categories is None else _SHOWN_CLASSES
    return "; ".join(
        [words, *(_share_words(part, limit, view.decimals is None) for part in shares)]
    )


def _share_words(shares: dict[str, float], limit: int | None, exact: bool) -> str:
    """Say the largest shares: "92% yes, 8% no"."""
    ranked = sorted(shares.items(), key=lambda item: -item[1])
    shown = [
        f"{_percent(share, exact)} {quoted(name, is_class=True)}"
        for name, share in ranked
        if share > 0
    ]
    if limit is not None and len(shown) > limit:
        shown = shown[:limit] + ["…"]
    return ", ".join(shown)


def _percent(share: float, exact: bool) -> str:
    """Percent without claiming 100% or 0% for what is only nearly so."""
    percent = 100 * share
    if exact:
        return f"{format_number(percent, None)}%"
    if percent in (0.0, 100.0):
        return f"{percent:.0f}%"
    return f"{min(max(percent, 0.1), 99.9):.{0 if 1 <= percent <= 99 else 1}f}%"

"""Rule sets from a C4.5 tree (Quinlan 1993, chapter 5).

1. The path to each leaf becomes a rule.
2. A rule is generalised: conditions are dropped, one at a time, as long as that does
   not raise its pessimistic error rate on the training rows.
3. Rules that came out alike are one rule. Rules worse than a guess of the most frequent
   class are dropped, and so are rules that the set gets no more training rows wrong
   without.
4. The rules of a class stand together; classes whose rules are wrong for the fewest
   rows of others come first. A row gets the class of the first rule that covers it.
5. What no rule covers gets the default class, the most frequent one among such rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hornbeam.data.schema import Schema
from hornbeam.dtypes import LEAF, SUBSET, THRESHOLD, Array
from hornbeam.output.names import is_cut, quoted
from hornbeam.output.nodes import Path, TreeView
from hornbeam.output.text import joined
from hornbeam.tree.pruning.pessimistic import upper_errors
from hornbeam.tree.storage import Tree, stored_tree

_NOTHING = 1e-9


@dataclass(frozen=True)
class Condition:
    """One branch of one question: all rows that take it.

    A row with a missing value fulfils no condition.
    """

    node: int
    branch: int

    def holds(self, tree: Tree, matrix: Array) -> Array:
        """Which rows fulfil it."""
        x = matrix[:, tree.feature[self.node]]
        known = ~np.isnan(x)
        kind = tree.kind[self.node]
        if kind == THRESHOLD:
            left = x <= tree.threshold[self.node]
        elif kind == SUBSET:
            left = np.isin(x, tree.category_set(self.node))
        else:
            return known & (x == self.branch)
        return known & (left == (self.branch == 0))


@dataclass(frozen=True)
class ClassRule:
    """If all conditions hold, then this class.

    Attributes
    ----------
    conditions : tuple of Condition
    label : int
        Number of the class.
    weight, errors : float
        Training weight of the rows it covers, and of those of another class.
    words : str
        The rule in words.
    """

    conditions: tuple[Condition, ...]
    label: int
    weight: float
    errors: float
    words: str = field(default="", compare=False)

    def __str__(self) -> str:
        return self.words


class RuleSet:
    """Rules in order, and a default class; made by `C45Classifier.rules`.

    Attributes
    ----------
    rules : tuple of ClassRule
        The first one that covers a row decides.
    default : object
        Class of the rows that no rule covers.
    classes_ : array
    notes : tuple of str
        What must be known to read the rules, and what was left out; printed below them.
    """

    def __init__(
        self,
        tree: Tree,
        schema: Schema,
        classes: Array,
        rules: Any,
        label: int,
        notes: Iterable[str] = (),
    ) -> None:
        self._tree, self._schema = tree, schema
        self.classes_ = classes
        self.rules: tuple[ClassRule, ...] = tuple(rules)
        self._default = int(label)
        self.notes = tuple(notes)

    @property
    def default(self) -> Any:
        """Class of the rows that no rule covers."""
        return self.classes_[self._default]

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[ClassRule]:
        return iter(self.rules)

    def __str__(self) -> str:
        rest = f"otherwise {quoted(self.default, is_class=True)}"
        return "\n".join([*map(str, self.rules), rest, *self.notes])

    __repr__ = __str__

    def predict(self, X: Any) -> Array:
        """Predict the class of each row: that of the first rule that covers it.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        matrix = as_dense(self._schema.read(X, "RuleSet"))
        cover = [_cover(self._tree, matrix, rule.conditions) for rule in self.rules]
        chosen: Array = self.classes_[_first_label(cover, self.rules, len(matrix), self._default)]
        return chosen

    def score(self, X: Any, y: Any) -> float:
        """Share of the rows that are predicted right.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        float
        """
        return float(np.mean(self.predict(X) == np.asarray(y)))


def extract_rules(
    view: TreeView,
    estimator: Any,
    matrix: Array,
    labels: Array,
    weight: Array,
    confidence: float,
) -> RuleSet:
    """Rules of a fitted tree, generalised on its training rows; the view has their words."""
    tree: Tree = stored_tree(estimator)
    maker = _Maker(tree, matrix, labels, weight, confidence)
    rules = dict.fromkeys(maker.generalise(*path) for path in _paths(tree))
    guess = float(weight[labels != np.bincount(labels, weight).argmax()].sum() / weight.sum())
    kept = [r for r in rules if r.conditions and r.errors / max(r.weight, _NOTHING) <= guess]
    ordered = maker.in_order([rule for rule in kept if rule.weight > 0.0])
    chosen, default = maker.select(ordered)
    worded = [_worded(view, rule) for rule in chosen]
    notes = _notes(view, worded)
    return RuleSet(tree, estimator.schema_, estimator.classes_, worded, default, notes)


class _Maker:
    """Training rows, and which of them fulfil which condition."""

    def __init__(
        self, tree: Tree, matrix: Array, labels: Array, weight: Array, confidence: float
    ) -> None:
        self.tree, self.matrix = tree, matrix
        self.labels, self.weight = labels, weight
        self.confidence = confidence
        self.known: dict[Condition, Array] = {}

    def holds(self, condition: Condition) -> Array:
        if condition not in self.known:
            self.known[condition] = condition.holds(self.tree, self.matrix)
        return self.known[condition]

    def cover(self, conditions: tuple[Condition, ...]) -> Array:
        rows = np.ones(len(self.labels), bool)
        for condition in conditions:
            rows &= self.holds(condition)
        return rows

    def judge(self, conditions: tuple[Condition, ...], label: int) -> tuple[float, float, float]:
        """Weight covered, errors, and the pessimistic error rate."""
        rows = self.cover(conditions)
        weight = float(self.weight[rows].sum())
        errors = float(self.weight[rows & (self.labels != label)].sum())
        if weight <= 0.0:
            return 0.0, 0.0, 1.0
        return weight, errors, float(upper_errors(errors, weight, self.confidence)) / weight

    def generalise(self, conditions: tuple[Condition, ...], label: int) -> ClassRule:
        """Drop conditions as long as the pessimistic error rate does not rise."""
        weight, errors, rate = self.judge(conditions, label)
        while conditions:
            trials = []
            for place in range(len(conditions)):
                fewer = conditions[:place] + conditions[place + 1 :]
                trials.append((self.judge(fewer, label), fewer))
            best, fewer = min(trials, key=lambda trial: trial[0][2])
            if best[2] > rate + _NOTHING:
                break
            conditions, (weight, errors, rate) = fewer, best
        return ClassRule(tuple(sorted(conditions, key=_place)), label, weight, errors)

    def in_order(self, rules: list[ClassRule]) -> list[ClassRule]:
        """Class by class, those with the fewest false positives first; then the surest rules."""
        wrong: dict[int, float] = {}
        for label in {rule.label for rule in rules}:
            covered = np.zeros(len(self.labels), bool)
            for rule in rules:
                if rule.label == label:
                    covered |= self.cover(rule.conditions)
            wrong[label] = float(self.weight[covered & (self.labels != label)].sum())
        return sorted(
            rules,
            key=lambda r: (wrong[r.label], r.label, r.errors / r.weight, -r.weight),
        )

    def select(self, rules: list[ClassRule]) -> tuple[list[ClassRule], int]:
        """Leave out rules, from the last to the first, that do not save an error."""
        covers = {rule: self.cover(rule.conditions) for rule in rules}
        errors, default = self._errors(rules, covers)
        for rule in rules[::-1]:
            fewer = [other for other in rules if other is not rule]
            without, new_default = self._errors(fewer, covers)
            if without <= errors + _NOTHING:
                rules, errors, default = fewer, without, new_default
        return rules, default

    def _errors(self, rules: list[ClassRule], covers: dict[ClassRule, Array]) -> tuple[float, int]:
        """Weight that an ordered set gets wrong, with the best default class."""
        cover = [covers[rule] for rule in rules]
        label = _first_label(cover, rules, len(self.labels), -1)
        rest = label < 0
        chosen = rest if rest.any() else np.ones(len(label), bool)
        default = int(np.bincount(self.labels[chosen], self.weight[chosen]).argmax())
        label[rest] = default
        return float(self.weight[label != self.labels].sum()), default


def _first_label(cover: list[Array], rules: Any, n_rows: int, default: int) -> Array:
    """Class of the first rule that covers each row."""
    label = np.full(n_rows, default, np.int64)
    for rows, rule in zip(cover[::-1], list(rules)[::-1], strict=True):
        label[rows] = rule.label
    return label


def _cover(tree: Tree, matrix: Array, conditions: tuple[Condition, ...]) -> Array:
    rows = np.ones(len(matrix), bool)
    for condition in conditions:
        rows &= condition.holds(tree, matrix)
    return rows


def _paths(tree: Tree) -> Iterator[tuple[tuple[Condition, ...], int]]:
    """The conditions on the way to each leaf that has rows, and its class."""
    stack: list[tuple[int, tuple[Condition, ...]]] = [(0, ())]
    while stack:
        node, conditions = stack.pop()
        if tree.kind[node] == LEAF:
            if tree.weight[node] > 0.0:
                yield conditions, int(tree.value[node].argmax())
            continue
        first = int(tree.first_child[node])
        for branch in reversed(range(int(tree.n_branches[node]))):
            stack.append((first + branch, (*conditions, Condition(node, branch))))


def _place(condition: Condition) -> tuple[int, int]:
    return condition.node, condition.branch


def _worded(view: TreeView, rule: ClassRule) -> ClassRule:
    """The rule with its words; conditions on one column are one statement."""
    parts: Path = {}
    for condition in rule.conditions:
        parts = view.after(parts, condition.node, condition.branch)
    # a category without training rows is one like any other here, a missing value fulfils nothing
    words = joined([view.words(feature, part.whole()) for feature, part in parts.items()])
    support = f"{view.number(rule.weight)} rows, {view.number(rule.errors)} wrong"
    text = f"{words} then {view.classes[0][rule.label]} ({support})"
    return ClassRule(rule.conditions, rule.label, rule.weight, rule.errors, text)


def _notes(view: TreeView, rules: list[ClassRule]) -> list[str]:
    """What must be known to read the rules, and what was left out."""
    if not rules:
        return []
    order = "The first rule that holds decides; a missing value fulfils no condition."
    nodes = np.array([condition.node for rule in rules for condition in rule.conditions])
    return [order, *view.notes(is_cut("\n".join(map(str, rules))), nodes=nodes)]


def as_dense(matrix: Any) -> Array:
    """A matrix as a NumPy array."""
    dense: Array = matrix.toarray() if hasattr(matrix, "toarray") else matrix
    return dense

"""Explain the split of a node: do by the definitions what the tree did, and show it.

Every split of every feature is tried on the rows of the node, and the one that the tree
has is compared with the others. The data of `fit` is needed for that; a tree keeps none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hornbeam.dtypes import EPSILON, LEAF, MULTIWAY, SUBSET, THRESHOLD, Array
from hornbeam.dtypes import LISTED as LISTED_SET
from hornbeam.explain.measures import ClassMeasure, Measure
from hornbeam.explain.quinlan import explain_quinlan
from hornbeam.explain.report import (
    Candidate,
    Side,
    SplitExplanation,
    printable_classes,
    threshold_words,
)
from hornbeam.explain.search import Limits, Tried, try_feature
from hornbeam.explain.table import Table, check_rows, open_table
from hornbeam.output.names import LISTED, format_number, listed, printable
from hornbeam.output.nodes import TreeView, view_of
from hornbeam.tree.scaling import Scaling
from hornbeam.tree.storage import Tree

# Gains that differ by less than this share of the impurity are equal but for rounding.
_TIE = 1e-9


def explain_split(
    estimator: Any,
    node: int = 0,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    *,
    decimals: int | None = 3,
    max_categories: int | None = LISTED,
) -> SplitExplanation:
    """Show the table behind the split of a node, or why the node is a leaf.

    For each feature the best split is recomputed from the rows of the node: what is on its
    sides, how impure they are and what it gains, with the numbers filled into the formula.

    Parameters
    ----------
    estimator : fitted tree estimator
    node : int
        Number of the node; 0 is the root.
    X, y, sample_weight
        What was passed to `fit`. May be left out while those tables are still there.
    decimals : int or None, default 3
        Digits behind the point; None shows numbers, thresholds too, exactly.
    max_categories : int or None, default 6
        How many categories of a set, and how many classes, to list before "… (n more)"; None
        lists all, and cuts nothing else.

    Returns
    -------
    SplitExplanation
        Print it, look at it in a notebook, or ask it for ``records()``.

    Examples
    --------
    >>> import hornbeam as hb
    >>> X = [["sunny", 85], ["sunny", 80], ["overcast", 83], ["rain", 70], ["rain", 65]]
    >>> y = ["no", "no", "yes", "yes", "yes"]
    >>> tree = hb.DecisionTreeClassifier(criterion="entropy").fit(X, y)
    >>> print(hb.explain_split(tree, 0, X, y))
    Node 0 of DecisionTreeClassifier: 5 rows, no=2, yes=3
    entropy = -2/5*log2(2/5) - 3/5*log2(3/5) = 0.971
    <BLANKLINE>
       feature  split       branches                                           gain   gain ratio
    >  x0       x0 = sunny  yes: no=2, yes=0 (0.000); no: no=0, yes=3 (0.000)  0.971  1.000
       x1       x1 <= 75    yes: no=0, yes=2 (0.000); no: no=2, yes=1 (0.918)  0.420  0.433
    <BLANKLINE>
    x0 = sunny: gain = 0.971 - 2/5*0.000 - 3/5*0.000 = 0.971
    gain ratio = 0.971 / 0.971 = 1.000, split information = -2/5*log2(2/5) - 3/5*log2(3/5) = 0.971
    x0 gains most; next is x1 with 0.420.
    Tried of x0 (gains): x0 = sunny: 0.971; x0 in {overcast, sunny}: 0.420.
    """
    _check_node(estimator, node)
    view = view_of(estimator, decimals=decimals, trim=True, max_categories=max_categories)
    if hasattr(estimator, "_growth_rules"):
        return explain_quinlan(view, estimator, int(node), X, y, sample_weight)
    return _CartExplainer(open_table(estimator, X, y, sample_weight), int(node), view).explain()


def _check_node(estimator: Any, node: Any) -> None:
    if hasattr(estimator, "get_params"):
        check_is_fitted(estimator)
    tree = getattr(estimator, "tree_", None)
    grown_on_data = hasattr(estimator, "_reader") or hasattr(estimator, "_growth_rules")
    if not isinstance(tree, Tree) or not grown_on_data:
        raise TypeError(
            f"explain_split needs a decision tree that was fitted on X and y, and "
            f"{type(estimator).__name__} is none: a tree of a boosted model, for one, is grown "
            "on the gradients of its round, which are gone."
        )
    if isinstance(node, bool) or not isinstance(node, (int, np.integer)):
        raise TypeError(f"node must be the number of a node, not {node!r}.")
    if not 0 <= node < tree.node_count:
        raise ValueError(
            f"There is no node {node}; the tree has the nodes 0 to {tree.node_count - 1}."
        )


@dataclass(frozen=True, eq=False)
class _CartExplainer:
    """One node of a tree, and the table it was grown on."""

    table: Table
    node: int
    view: TreeView

    @property
    def tree(self) -> Tree:
        return self.table.tree

    @cached_property
    def rows(self) -> Array:
        return self.table.rows(self.node)

    @cached_property
    def measure(self) -> Measure:
        return self.table.measure(self.rows)

    @cached_property
    def rules(self) -> Any:
        """The parameters of growing as numbers; no random number of the user is used up."""
        estimator = self.table.estimator
        return estimator._reader().rules(
            estimator.schema_,
            self.table.target.weight,
            estimator.max_features_,
            Scaling(np.zeros(1)),  # gains are compared in the user's units
            seed=0,
        )

    def explain(self) -> SplitExplanation:
        """Try all features, and say why the tree has the split that it has."""
        check_rows(self.table, self.node, self.rows, self.measure)
        is_leaf = self.tree.kind[self.node] == LEAF
        why_not = self._may_not_split()
        tried = {} if why_not else self._try_all()
        candidates = [self._candidate(t) for t in tried.values()]
        chosen = -1
        if not is_leaf:
            chosen = int(self.tree.feature[self.node])
            candidates[chosen] = self._stored(tried[chosen])
            reason = self._why_chosen(candidates, chosen)
        else:
            reason = why_not or self._why_leaf(candidates)
        everything = np.zeros(len(self.rows), np.int64)
        criterion = self.measure.name
        return SplitExplanation(
            title=f"Node {self.node} of {type(self.table.estimator).__name__}",
            criterion=criterion,
            node=self._sides(everything, ["all"])[0],
            candidates=tuple(candidates),
            chosen=chosen,
            reason=reason,
            class_names=printable_classes(self.view),
            decimals=self.view.decimals,
            max_categories=self.view.max_categories,
            list_cuts=lambda feature: self._list_cuts(tried[feature]) if tried else [],
        )

    # --- trying ---------------------------------------------------------------------------

    def _try_all(self) -> dict[int, Tried]:
        monotone = self.rules.monotone
        lower, upper = self._bounds() if monotone is not None else (-np.inf, np.inf)
        found = {}
        for feature in range(self.table.estimator.n_features_in_):
            limits = Limits(
                self.rules.min_samples_leaf,
                self.rules.min_weight_leaf,
                0 if monotone is None else int(monotone[feature]),
                lower,
                upper,
            )
            found[feature] = try_feature(self.table, self.measure, feature, self.rows, limits)
        return found

    def _bounds(self) -> tuple[float, float]:
        """Bounds of the node's value: the middle of every constrained split above it."""
        lower, upper, child = -np.inf, np.inf, self.node
        path = []
        while child > 0:
            path.append((int(self.tree.parent[child]), child))
            child = int(self.tree.parent[child])
        for parent, child in reversed(path):
            direction = int(self.rules.monotone[self.tree.feature[parent]])
            if direction == 0:
                continue
            first = int(self.tree.first_child[parent])
            middle = 0.5 * (self._value_at(first) + self._value_at(first + 1))
            smaller = first if direction > 0 else first + 1
            if child == smaller:
                upper = middle
            else:
                lower = middle
        return lower, upper

    def _value_at(self, node: int) -> float:
        rows = self.table.rows(node)
        measure = self.table.measure(rows)
        return float(measure.value(measure.sums(np.zeros(len(rows), np.int64), 1))[0, -1])

    # --- candidates -------------------------------------------------------------------------

    def _candidate(self, tried: Tried) -> Candidate:
        """The best split of a feature, or why it has none."""
        feature, name = tried.feature, printable(self.view.feature_names[tried.feature])
        if not tried.varies:
            why = "always missing here" if not len(tried.present) else "the same in all rows"
            return Candidate(feature, name, why_not=why)
        if tried.best < 0:
            return Candidate(feature, name, n_tried=len(tried.gains), why_not=self._too_small())
        gain = float(self.table.impurity(tried.gains[tried.best]))
        branch = np.where(tried.goes_left(tried.best), 0, 1)
        return Candidate(
            feature,
            name,
            split=self._question(tried, tried.best),
            sides=self._sides(branch, ["yes", "no"]),
            gain=gain * (1.0 - tried.owed),
            chance=gain * tried.owed,
            n_tried=len(tried.gains),
            why_not="if cut here" if self.rules.random_cuts else "",
        )

    def _stored(self, tried: Tried) -> Candidate:
        """The split that the tree has."""
        kind, feature = self.tree.kind[self.node], tried.feature
        branch = self.table.branches(self.node, self.rows)
        name = printable(self.view.feature_names[feature])
        if kind == MULTIWAY:
            split, labels = (
                f"{self.view.columns[feature]}?",
                list(self.view.categories[feature] or ()),
            )
        else:
            split, labels = self._stored_question(tried, branch == 0), ["yes", "no"]
        sides = self._sides(branch, labels)
        gain = self._gain_of(branch == 0) if kind != MULTIWAY else self._decrease(sides)
        why = "drawn at random" if self.rules.random_cuts else ""
        counted = gain * (1.0 - tried.owed)
        split_of = Candidate(feature, name, split, sides, counted, len(tried.gains), why)
        return replace(split_of, chance=gain * tried.owed)

    def _gain_of(self, goes_left: Array) -> float:
        """Gain of a split by the criterion."""
        left, right = (
            self.measure.sums(side.astype(np.int64), 2)[1:] for side in (goes_left, ~goes_left)
        )
        return float(self.table.impurity(self.measure.gain(left, right)[0]))

    def _decrease(self, sides: tuple[Side, ...]) -> float:
        whole = sum(side.weight for side in sides)
        below = sum(side.weight * side.impurity for side in sides)
        return float(self.tree.impurity[self.node]) - below / whole

    def _sides(self, branch: Array, labels: list[str]) -> tuple[Side, ...]:
        sums = self.measure.sums(branch, len(labels))
        counts = np.bincount(branch, minlength=len(labels))
        return tuple(
            Side(
                label,
                int(counts[i]),
                float(sums[i, 0]),
                self._impurity(sums[i : i + 1]) if counts[i] else 0.0,
                self._values(sums[i]),
            )
            for i, label in enumerate(labels)
        )

    def _impurity(self, sums: Array) -> float:
        return float(self.table.impurity(self.measure.impurity(sums)[0]))

    def _values(self, sums: Array) -> tuple[Array, ...]:
        """Class weights per output, or what is predicted."""
        if isinstance(self.measure, ClassMeasure):
            return tuple(self.measure.blocks(sums))
        if sums[0] <= 0.0:
            return tuple(np.full((self.view.n_outputs, 1), np.nan))
        return tuple(self.table.value(self.measure.value(sums)).reshape(-1, 1))

    # --- words ------------------------------------------------------------------------------

    def _question(self, tried: Tried, cut: int) -> str:
        """A split in words."""
        left = tried.left(cut)
        if tried.is_category:
            return self._set_question(tried, left)
        return self._number_question(tried, self._threshold(tried, left), bool(left[-1]))

    def _stored_question(self, tried: Tried, goes_left: Array) -> str:
        left = np.zeros(len(tried.present) + 1, bool)
        left[tried.group[goes_left]] = True
        if self.tree.kind[self.node] in (SUBSET, LISTED_SET):
            return self._set_question(tried, left)
        assert self.tree.kind[self.node] == THRESHOLD
        return self._number_question(tried, float(self.tree.threshold[self.node]), bool(left[-1]))

    def _threshold(self, tried: Tried, left: Array) -> float:
        """The threshold of a cut; infinite if it only parts the missing values from the rest."""
        last = int(np.flatnonzero(left[:-1])[-1])
        if last + 1 == len(tried.present):
            return np.inf
        low, high = float(tried.present[last]), float(tried.present[last + 1])
        return self.table.threshold(tried.feature, low, high)

    def _number_question(self, tried: Tried, threshold: float, missing_left: bool) -> str:
        name = self.view.columns[tried.feature]
        if threshold == np.inf:
            return f"{name} is not missing"
        text = f"{name} <= {threshold_words(threshold, self.view, tried.feature)}"
        return text + (" or missing" if tried.has_missing and missing_left else "")

    def _set_question(self, tried: Tried, left: Array) -> str:
        """Only the categories that the node has are named."""
        name, names = self.view.columns[tried.feature], self.view.categories[tried.feature]
        if left[:-1].all():
            return f"{name} is not missing"
        members = [
            (names or ())[c] for c in self.table.categories(tried.feature, tried.present[left[:-1]])
        ]
        text = f"{name} in {{{listed(members, self.view.max_categories)}}}"
        if len(members) == 1:
            text = f"{name} = {members[0]}"
        return text + (" or missing" if tried.has_missing and left[-1] else "")

    def _list_cuts(self, tried: Tried) -> list[dict[str, Any]]:
        records = []
        for cut, gain in enumerate(tried.gains):
            record: dict[str, Any] = {"split": self._question(tried, cut)}
            if not tried.is_category:
                record["threshold"] = self._threshold(tried, tried.left(cut))
            gain *= 1.0 - tried.owed
            gain = float(self.table.impurity(gain)) if gain > -np.inf else float("nan")
            records.append({**record, "gain": gain})
        return records

    # --- reasons ----------------------------------------------------------------------------

    def _too_small(self) -> str:
        return (
            f"no split is allowed (min_samples_leaf={self.rules.min_samples_leaf}"
            + (
                f", min_weight_leaf={self.rules.min_weight_leaf:.6g}"
                if self.rules.min_weight_leaf
                else ""
            )
            + (", monotonic_cst" if self.rules.monotone is not None else "")
            + ", or many categories explain no more than chance)"
        )

    def _tie(self) -> float:
        return _TIE * max(float(self.tree.impurity[self.node]), 1e-300)

    def _why_chosen(self, candidates: list[Candidate], chosen: int) -> str:
        winner = candidates[chosen]
        if self.rules.random_cuts:
            return (
                f"splitter='random': one cut of each feature is drawn, and the best of those is "
                f"taken; this is what was drawn for {winner.name}."
            )
        others = sorted(
            (c for c in candidates if c.feature != chosen and c.sides), key=lambda c: -c.gain
        )
        better = [c for c in others if c.gain > winner.gain + self._tie()]
        ties = [c for c in others if abs(c.gain - winner.gain) <= self._tie()]
        if better:
            return self._why_not_best(winner, better)
        if ties:
            names = listed(sorted({c.name for c in ties}), self.view.max_categories)
            if all(c.feature > chosen for c in ties):
                return f"{winner.name} ties with {names}; of equal gains the first feature wins."
            return f"{winner.name} ties with {names}; their gains differ by rounding only."
        if not others:
            return f"{winner.name} is the only feature with a split."
        gain = format_number(others[0].gain, self.view.decimals)
        return f"{winner.name} gains most; next is {others[0].name} with {gain}."

    def _why_not_best(self, winner: Candidate, better: list[Candidate]) -> str:
        estimator = self.table.estimator
        names = listed([c.name for c in better], self.view.max_categories)
        if estimator.max_features_ < estimator.n_features_in_:
            return (
                f"max_features={estimator.max_features!r}: {estimator.max_features_} of the "
                f"features are drawn at each node. {winner.name} gains most among those; {names} "
                "would gain more but was not drawn."
            )
        return (
            f"On this table {names} would gain more than {winner.name}: it is not quite the table "
            "that the tree was grown on."
        )

    def _may_not_split(self) -> str:
        """Why the rules let the node not be split at all; empty if they do."""
        tree, node, rules = self.tree, self.node, self.rules
        if tree.kind[node] != LEAF:
            return ""
        n_rows, weight = int(tree.n_samples[node]), float(tree.weight[node])
        if tree.impurity[node] <= self.table.impurity(EPSILON):
            return "A leaf: it is pure, so there is nothing to gain."
        if rules.max_depth is not None and tree.depth[node] >= rules.max_depth:
            return f"A leaf: it is at the depth {tree.depth[node]}, and max_depth is that."
        if n_rows < 2 * rules.min_samples_leaf:
            return (
                f"A leaf: {n_rows} rows do not make two children of "
                f"min_samples_leaf={rules.min_samples_leaf}."
            )
        if n_rows < rules.min_samples_split:
            return (
                f"A leaf: {n_rows} rows are fewer than min_samples_split={rules.min_samples_split}."
            )
        if weight < 2 * rules.min_weight_leaf:
            return (
                f"A leaf: its weight of {weight:.6g} does not make two children of at least "
                f"{rules.min_weight_leaf:.6g} (min_weight_fraction_leaf)."
            )
        return ""

    def _why_leaf(self, candidates: list[Candidate]) -> str:
        """Why a node that may be split was not."""
        best = max(candidates, key=lambda c: c.gain)
        if not best.sides:
            if all("same" in c.why_not or "missing" in c.why_not for c in candidates):
                return "A leaf: no feature tells its rows apart."
            return f"A leaf: {self._too_small()}."
        share = float(self.tree.weight[self.node] / self.tree.weight[0])
        least = self.rules.min_impurity_decrease
        gain = format_number(best.gain, self.view.decimals)
        if share * (best.gain + best.chance) + EPSILON < least:
            part = format_number(share, self.view.decimals)
            return (
                f"A leaf: the best gain, {gain}, times the share of the rows, {part}, is less than "
                f"min_impurity_decrease={least:.6g}."
            )
        leaves = self.rules.max_leaf_nodes
        if leaves is not None and self.tree.n_leaves >= leaves:
            return (
                f"A leaf: max_leaf_nodes={leaves} was reached before its turn came "
                f"({best.split} would gain {gain})."
            )
        estimator = self.table.estimator
        if self.rules.random_cuts or estimator.max_features_ < estimator.n_features_in_:
            return f"A leaf: pruned, or no split was allowed among those drawn ({best.split})."
        return f"A leaf by pruning: {best.split} would gain {gain}."

"""Explain the splits of ID3 and C4.5: one branch per category, rows in fractions, gain ratio.

A missing value says nothing about a split, so with the weight W_k of the known rows

    gain = W_k / W * (H(known) - sum of w_b / W_k * H(branch b)) - log2(thresholds) / W,

the last term only for numbers and with `mdl_correction`. C4.5 takes the best gain ratio
among the features whose gain is at least the average.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from hornbeam.chance import are_many, are_well_filled, chance_share, clear_share
from hornbeam.data.target import read_weights, weigh_classes
from hornbeam.dtypes import LEAF, MULTIWAY, THRESHOLD, Array
from hornbeam.explain.measures import entropy_of_shares
from hornbeam.explain.report import (
    Candidate,
    Side,
    SplitExplanation,
    printable_classes,
    threshold_words,
)
from hornbeam.explain.table import fit_data
from hornbeam.kernels.quinlan.grow import AVERAGE_SLACK
from hornbeam.kernels.quinlan.measure import LEAST, TIE
from hornbeam.kernels.quinlan.search import LARGEST_LEAST
from hornbeam.output.names import format_count, format_number, printable
from hornbeam.output.nodes import TreeView
from hornbeam.tree.storage import Tree

_CLOSE = 1e-6
_MANY_VALUES = 0.3  # with a category for every third row a feature does not count in the average


def explain_quinlan(
    view: TreeView, estimator: Any, node: int, X: Any, y: Any, sample_weight: Any
) -> SplitExplanation:
    """Explain a node of a fitted `ID3Classifier` or `C45Classifier`."""
    from hornbeam.quinlan.base import as_counts

    data = fit_data(estimator, X, y, sample_weight)
    matrix = estimator.schema_.read(data.X, type(estimator).__name__)
    matrix = matrix.toarray() if scipy.sparse.issparse(matrix) else matrix
    classes = estimator._read_classes(data.y, matrix.shape[0])
    weight = read_weights(data.sample_weight, matrix.shape[0])
    weight = weigh_classes(weight, estimator.class_weight, data.y, classes)
    kept = weight > 0.0
    weight = as_counts(weight[kept])
    matrix, labels = np.asarray(matrix[kept], np.float64), classes.labels[kept, 0]
    share = node_shares(estimator.tree_, matrix, node, estimator.schema_.n_categories)
    return _QuinlanExplainer(
        view, estimator, node, matrix, labels, weight, weight * share
    ).explain()


def node_shares(tree: Tree, matrix: Array, node: int, n_categories: Array) -> Array:
    """The fraction of each row that reaches a node."""
    share = np.ones(len(matrix))
    while node > 0:
        parent = int(tree.parent[node])
        first, count = int(tree.first_child[parent]), int(tree.n_branches[parent])
        branch, unknown = _branches(tree, matrix, parent, n_categories)
        weights = tree.weight[first : first + count]
        part = tree.weight[node] / weights.sum()
        share = share * np.where(unknown, part, branch == node - first)
        node = parent
    return share


def _branches(tree: Tree, matrix: Array, node: int, n_categories: Array) -> tuple[Array, Array]:
    """The branch of each row at a node, and which rows go down all of them."""
    feature = int(tree.feature[node])
    column = matrix[:, feature]
    missing = np.isnan(column)
    if tree.kind[node] == THRESHOLD:
        return np.where(column <= tree.threshold[node], 0, 1), missing
    category = np.where(missing, -1, column).astype(np.int64)
    if tree.kind[node] != MULTIWAY:
        return np.where(np.isin(category, tree.category_set(node)), 0, 1), missing
    own = int(tree.n_branches[node]) > n_categories[feature]
    last = int(tree.n_branches[node]) - 1
    return np.where(missing & own, last, category), missing & (not own)


@dataclass(frozen=True, eq=False)
class _QuinlanExplainer:
    """One node, the training rows, and how much of each is in the node."""

    view: TreeView
    estimator: Any
    node: int
    matrix: Array
    labels: Array
    weight: Array
    here: Array

    @property
    def tree(self) -> Tree:
        tree: Tree = self.estimator.tree_
        return tree

    @cached_property
    def rules(self) -> Any:
        return self.estimator._growth_rules(float(self.weight.sum()))

    def explain(self) -> SplitExplanation:
        """Judge the split of every feature, and say why the tree has the one that it has."""
        self._check()
        is_leaf = self.tree.kind[self.node] == LEAF
        why_not = self._may_not_split() if is_leaf else ""
        n_features = self.estimator.n_features_in_
        candidates = [] if why_not else [self._candidate(f) for f in range(n_features)]
        chosen = -1 if is_leaf else int(self.tree.feature[self.node])
        best = self._choose(candidates)
        reason = (why_not or self._why_leaf(best)) if is_leaf else ""
        if not is_leaf:
            reason = self._why_chosen(candidates, chosen, best)
        return SplitExplanation(
            title=f"Node {self.node} of {type(self.estimator).__name__}",
            criterion="entropy",
            node=self._side("all", np.ones(len(self.here), bool)),
            candidates=tuple(candidates),
            chosen=chosen,
            reason=reason,
            ranked_by="gain ratio" if self.rules.ratio else "gain",
            class_names=printable_classes(self.view),
            decimals=self.view.decimals,
            max_categories=self.view.max_categories,
            list_cuts=self._list_cuts,
        )

    def _check(self) -> None:
        """Raise unless the node holds what it held in `fit`."""
        side = self._side("all", np.ones(len(self.here), bool))
        known = float(self.tree.weight[self.node])
        away = abs(side.values[0] / max(side.weight, LEAST) - self.tree.value[self.node])
        if abs(side.weight - known) > _CLOSE * known + LEAST or away.max() > _CLOSE:
            if known <= 0.0:  # a branch that no training row takes: nothing to compare
                return
            raise ValueError(
                f"This is not the table that the tree was grown on: node {self.node} has the "
                f"weight {side.weight:.6g} there, but {known:.6g} in fit, or other classes. Pass "
                "the X, y and sample_weight that fit got, unchanged."
            )

    # --- candidates -------------------------------------------------------------------------

    def _counts(self, chosen: Array) -> Array:
        n_classes = len(self.estimator.classes_)
        return np.bincount(self.labels[chosen], self.here[chosen], n_classes)

    def _side(self, label: str, chosen: Array) -> Side:
        counts = self._counts(chosen)
        n_rows, weight = int(np.count_nonzero(self.here[chosen] > 0)), float(counts.sum())
        return Side(label, n_rows, weight, _entropy(counts), (counts,))

    def _candidate(self, feature: int) -> Candidate:
        name, column = printable(self.view.feature_names[feature]), self.matrix[:, feature]
        there = self.here > 0
        if self.view.categories[feature] is None:
            return self._number(feature, name)
        return self._category(feature, name, column, there)

    def _category(self, feature: int, name: str, column: Array, there: Array) -> Candidate:
        """One branch per category."""
        names = self.view.categories[feature] or ()
        missing = np.isnan(column)
        present = np.unique(column[there & ~missing]).astype(int)
        sides = [self._side(names[c], there & (column == c)) for c in present]
        unknown = float(self.here[missing].sum())
        if self.rules.missing_is_branch and unknown > 0.0:
            sides.append(self._side("missing", there & missing))
            unknown = 0.0
        if len(sides) < 2:
            return Candidate(feature, name, why_not="the same in all rows")
        large = [side for side in sides if side.weight >= self.rules.min_leaf - LEAST]
        if len(large) < 2:
            why = f"fewer than two branches of {format_count(self.rules.min_leaf)} rows"
            return Candidate(feature, name, why_not=why)
        note = "before grouping" if self.rules.grouping else ""
        question = f"{self.view.columns[feature]}?"
        split = Candidate(feature, name, question, tuple(sides), n_tried=1, why_not=note)
        judged = self._judged(replace(split, unknown=unknown))
        return self._beyond_chance(judged, there & ~missing)

    def _beyond_chance(self, candidate: Candidate, known: Array) -> Candidate:
        """Take from the gain of many categories what they owe to chance."""
        everywhere = self.matrix[:, candidate.feature]
        n_categories = len(np.unique(everywhere[~np.isnan(everywhere)]))
        many = are_many(n_categories, int(self.weight.sum()))
        if not self.rules.beyond_chance or not many or len(candidate.sides) < 3:
            return candidate
        weight, size = self.here[known], len(candidate.sides)
        n_rows = float(weight.sum() ** 2 / (weight**2).sum())
        counts = np.array([side.values[0] for side in candidate.sides])
        common = (counts.sum(axis=0) ** 2).sum() / counts.sum()
        between = (counts**2 / counts.sum(axis=1, keepdims=True)).sum() - common
        total = counts.sum() - common
        if not between > clear_share(size, n_rows) * total:
            why = "its categories explain no more than chance"
            if not are_well_filled(size, n_rows):
                return Candidate(candidate.feature, candidate.name, why_not=why)
            return replace(candidate, gain=0.0, chance=candidate.gain, why_not=why)
        chance = candidate.gain * chance_share(size, n_rows) * float(total / between)
        return replace(candidate, gain=candidate.gain - chance, chance=chance)

    def _number(self, feature: int, name: str) -> Candidate:
        """The threshold with the largest gain."""
        found = [candidate for _, candidate in self._thresholds(feature)]
        if not found:
            why = "the same in all rows, or no side would be large enough"
            return Candidate(feature, name, why_not=why)
        best = found[0]
        for candidate in found:
            if candidate.gain > best.gain + TIE:
                best = candidate
        return best

    def _thresholds(self, feature: int) -> list[tuple[float, Candidate]]:
        """Every threshold of a number that is allowed, ascending, with its split."""
        name, column, there = (
            printable(self.view.feature_names[feature]),
            self.matrix[:, feature],
            self.here > 0,
        )
        unknown = float(self.here[np.isnan(column)].sum())
        cuts, found = self._cuts(column), []
        for cut in cuts:
            # Quinlan's threshold: the largest value of the whole table not above the middle
            threshold = float(column[column <= cut].max())
            yes = self._side("yes", there & (column <= cut))
            no = self._side("no", there & (column > cut))
            words = threshold_words(threshold, self.view, feature)
            question = f"{self.view.columns[feature]} <= {words}"
            candidate = Candidate(
                feature, name, question, (yes, no), n_tried=len(cuts), unknown=unknown
            )
            found.append((threshold, self._judged(candidate)))
        return found

    def _cuts(self, column: Array) -> Array:
        """Middles between neighbouring numbers that leave enough on both sides."""
        there = (self.here > 0) & ~np.isnan(column)
        values = np.unique(column[there])
        known = float(self.here[there].sum())
        share = min(0.1 * known / len(self.estimator.classes_), LARGEST_LEAST)
        least = max(self.rules.min_leaf, share) - LEAST
        left = np.cumsum([self.here[there & (column == value)].sum() for value in values])[:-1]
        middles = values[:-1] / 2.0 + values[1:] / 2.0
        return np.asarray(middles[(left >= least) & (known - left >= least)])

    def _judged(self, candidate: Candidate) -> Candidate:
        """A candidate with its gain."""
        counts = np.sum([side.values[0] for side in candidate.sides], axis=0)
        known, total = float(counts.sum()), float(self.here.sum())
        below = sum(side.weight * side.impurity for side in candidate.sides)
        gain = (known * _entropy(counts) - below) / total
        numbers = self.view.categories[candidate.feature] is None
        correction = 0.0
        if numbers and self.rules.corrected:
            correction = float(np.log2(candidate.n_tried)) / total
        return replace(
            candidate,
            gain=gain - correction,
            known_impurity=_entropy(counts),
            correction=correction,
        )

    def _list_cuts(self, feature: int) -> list[dict[str, Any]]:
        if self.view.categories[feature] is not None:
            only = self._candidate(feature)
            return [{"split": only.split, "gain": only.gain}] if only.sides else []
        return [
            {"split": candidate.split, "threshold": threshold, "gain": candidate.gain}
            for threshold, candidate in self._thresholds(feature)
        ]

    # --- the choice ---------------------------------------------------------------------------

    def _average(self, candidates: list[Candidate]) -> float:
        """The mean gain of the features that gain anything; many-valued ones do not count."""
        counts = self.estimator.schema_.n_categories
        few = [counts[c.feature] < _MANY_VALUES * self.weight.sum() for c in candidates]
        if not any(few):
            few = [True] * len(few)
        pairs = zip(candidates, few, strict=True)
        gains = [c.gain for c, counted in pairs if counted and self._gains(c)]
        return float(np.mean(gains)) if gains else 0.0

    def _gains(self, candidate: Candidate) -> bool:
        return bool(candidate.sides) and (candidate.gain > TIE or not self.rules.ratio)

    def _choose(self, candidates: list[Candidate]) -> Candidate | None:
        """What the rules choose: the first of the best, and where nothing gains of the unproven."""
        least = self._average(candidates) - AVERAGE_SLACK if self.rules.ratio else -np.inf
        unproven = [replace(c, gain=c.chance, chance=0.0) for c in candidates if _is_unproven(c)]
        return self._first_of_best(candidates, least) or self._first_of_best(unproven, -np.inf)

    def _first_of_best(self, candidates: list[Candidate], least: float) -> Candidate | None:
        best, worth = None, 0.0 if self.rules.ratio else -1.0
        for candidate in candidates:
            if not self._gains(candidate) or candidate.gain < least:
                continue
            if self.rules.ratio and candidate.split_information <= TIE:
                continue
            score = candidate.gain_ratio if self.rules.ratio else candidate.gain
            if score > worth + TIE:
                best, worth = candidate, score
        return best

    def _why_chosen(self, candidates: list[Candidate], chosen: int, best: Candidate | None) -> str:
        winner = candidates[chosen]
        if best is None or best.feature != chosen:
            return (
                f"{winner.name} is asked here because pruning raised its subtree to this node, or "
                "because categories were grouped."
            )
        if not self.rules.ratio:
            return f"{winner.name} gains most; of equal gains the first feature wins."
        if _is_unproven(winner):
            return (
                f"{winner.name} has the best gain ratio, though it explains no more than chance: "
                "nothing else gains anything, and together with another column it may."
            )
        average = format_number(self._average(candidates), self.view.decimals)
        return (
            f"{winner.name} has the best gain ratio of the features whose gain is at least the "
            f"average, {average}."
        )

    def _may_not_split(self) -> str:
        """Why the rules let a leaf not be split at all; empty if they do."""
        tree, node = self.tree, self.node
        weight = float(tree.weight[node])
        if weight <= 0.0:
            return "A leaf: no training row comes here; it predicts what its parent does."
        if np.count_nonzero(self._counts(self.here > 0) > 0.0) < 2:
            return "A leaf: it is pure, so there is nothing to gain."
        if self.rules.max_depth is not None and tree.depth[node] >= self.rules.max_depth:
            return f"A leaf: it is at the depth {tree.depth[node]}, and max_depth is that."
        if weight < 2.0 * self.rules.min_leaf - LEAST:
            return (
                f"A leaf: a weight of {format_count(weight)} does not make two branches of "
                f"{format_count(self.rules.min_leaf)} (min_samples_leaf)."
            )
        return ""

    def _why_leaf(self, best: Candidate | None) -> str:
        if best is None:
            return "A leaf: no split gains anything that the rules allow."
        gain = format_number(best.gain, self.view.decimals)
        share = float(self.tree.weight[self.node] / self.tree.weight[0])
        if share * best.gain < self.rules.min_decrease:
            part = format_number(share, self.view.decimals)
            return (
                f"A leaf: the best gain, {gain}, times the share of the rows, {part}, is less than "
                f"{self.rules.min_decrease:.6g}."
            )
        return f"A leaf by pruning: {best.split} would gain {gain}."


def _is_unproven(candidate: Candidate) -> bool:
    """Whether all of a gain is owed to chance, but the split may be made where nothing gains."""
    return candidate.gain == 0.0 < candidate.chance


def _entropy(counts: Array) -> float:
    total = counts.sum()
    return float(entropy_of_shares(counts / total)) if total > 0.0 else 0.0

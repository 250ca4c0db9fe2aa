"""Try every split of one feature at one node, and remember what each would gain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import xlogy

from hornbeam.chance import are_well_filled, chance_share, clear_share
from hornbeam.dtypes import Array
from hornbeam.explain.cuts import Cuts, number_cuts, single_cuts, subset_cuts
from hornbeam.explain.measures import ClassMeasure, Measure, OrderMeasure
from hornbeam.explain.table import Table


@dataclass(frozen=True)
class Limits:
    """What a split must respect."""

    min_samples_leaf: int
    min_weight_leaf: float
    direction: int = 0  # +1, -1: a monotone constraint on the feature; 0: none
    lower: float = -np.inf  # bounds of the node's value by constraints above it
    upper: float = np.inf


@dataclass(frozen=True, eq=False)
class Tried:
    """All splits of a feature that were tried, in the order of the search."""

    feature: int
    is_category: bool
    present: Array  # codes in the node, ascending: the groups
    group: Array  # of each row; len(present) for a missing value
    cuts: tuple[Cuts, ...]
    gains: Array  # minus infinity where a split is not allowed
    owed: float = 0.0  # the share of each gain that is owed to chance

    @property
    def best(self) -> int:
        """The first of the splits that gain most; -1 if none is allowed."""
        allowed = len(self.gains) > 0 and self.gains.max() > -np.inf
        return int(np.argmax(self.gains)) if allowed else -1

    @property
    def has_missing(self) -> bool:
        """Whether the feature is missing in some row of the node."""
        return bool((self.group == len(self.present)).any())

    @property
    def varies(self) -> bool:
        """Whether there is anything to tell apart."""
        return len(self.present) > 1 or (len(self.present) == 1 and self.has_missing)

    def left(self, cut: int) -> Array:
        """Which groups (the missing values last) a cut sends left."""
        for cuts in self.cuts:
            if cut < len(cuts):
                return cuts.left(cut)
            cut -= len(cuts)
        raise IndexError(cut)

    def goes_left(self, cut: int) -> Array:
        """Which rows a cut sends left."""
        return self.left(cut)[self.group]


def try_feature(table: Table, measure: Measure, feature: int, rows: Array, limits: Limits) -> Tried:
    """Try all splits of a feature on the rows of a node."""
    is_category = bool(table.estimator.schema_.is_category[feature])
    codes = table.codes(feature, rows)
    missing = np.isnan(codes)
    present, group_of_known = np.unique(codes[~missing], return_inverse=True)
    group = np.full(len(rows), len(present), np.int64)
    group[~missing] = group_of_known
    nothing = Tried(feature, is_category, present, group, (), np.empty(0))
    if not nothing.varies:
        return nothing
    must_prove = is_category and table.must_prove(feature)
    n_rows = _witnesses(table, group < len(present), rows)
    owed = _owed(table, group, len(present), n_rows, rows) if must_prove else 0.0
    if is_category and owed < 1.0:
        cuts = _category_cuts(table, measure, nothing, rows)
    else:
        cuts = number_cuts(len(present), nothing.has_missing)
    sides = (cuts, replace(cuts, missing_left=True)) if missing.any() else (cuts,)
    tried = replace(
        nothing,
        cuts=sides,
        gains=np.concatenate([_gains(measure, cut, group, limits) for cut in sides]),
        owed=owed if owed < 1.0 else 0.0,
    )
    if owed == 1.0 and not are_well_filled(len(present), n_rows):  # what is missing may still tell
        parts_missing = np.append(np.ones(len(present), bool), False)
        allowed = [
            np.array_equal(tried.left(cut), parts_missing) for cut in range(len(tried.gains))
        ]
        tried = replace(tried, gains=np.where(allowed, tried.gains, -np.inf))
    return tried


def _category_cuts(table: Table, measure: Measure, groups: Tried, rows: Array) -> Cuts:
    group, n_groups, has_missing = groups.group, len(groups.present), groups.has_missing
    if table.estimator.category_split == "one_vs_rest":
        return single_cuts(n_groups, has_missing)
    if isinstance(measure, ClassMeasure):
        sums = measure.sums(group, n_groups + 1)[:-1]
        shares = (sums[:, 1:] / sums[:, :1]).T
        binary = measure.labels.shape[1] == 1 and len(shares) == 2
        return subset_cuts(shares[1:] if binary else shares, binary, has_missing)
    assert table.target.values is not None
    values = table.target.values[rows]
    weight = np.bincount(group, measure.weight, n_groups + 1)[:-1]
    totals = [np.bincount(group, measure.weight * y, n_groups + 1)[:-1] for y in values.T]
    exact = len(totals) == 1 and not isinstance(measure, OrderMeasure)
    return subset_cuts(np.array(totals) / weight, exact, has_missing)


def _witnesses(table: Table, known: Array, rows: Array) -> float:
    """As how many rows of equal weights those count whose value is known."""
    weight = table.target.weight[rows]
    return float(known.mean() / np.sum((weight / weight.sum()) ** 2))


def _owed(table: Table, group: Array, n_groups: int, n_rows: float, rows: Array) -> float:
    """The share of a gain that many categories owe to chance (see `hornbeam.chance`).

    The rows count as ``n_rows`` witnesses; 1 means that nothing is proven.
    """
    weight, known = table.target.weight[rows], group < n_groups
    logs = table.estimator.criterion == "poisson"
    owed = chance_share(n_groups, n_rows)
    if owed in (0.0, 1.0):
        return owed
    w, g = weight[known], group[known]
    if table.target.labels is not None:
        labels = table.target.labels[rows][known]
        values = np.zeros((len(w), int(table.target.class_start[-1])))
        np.put_along_axis(values, labels, 1.0, axis=1)
        total = float(w.sum() * labels.shape[1])
    else:
        assert table.target.values is not None
        values = np.asarray(table.target.values[rows][known], np.float64)
        total = float((w[:, None] * (xlogy(values, values) if logs else values**2)).sum())
    sums = np.stack([np.bincount(g, w * column, n_groups) for column in values.T], axis=1)
    each = np.bincount(g, w, n_groups)[:, None]
    common = _explained(logs, sums.sum(axis=0), each.sum())
    between, total = _explained(logs, sums, each) - common, total - common
    return owed * total / between if between > clear_share(n_groups, n_rows) * total else 1.0


def _explained(logs: bool, sums: Array, weight: Any) -> float:
    """What means explain of the second moment."""
    mean = sums / weight
    return float((weight * (xlogy(mean, mean) if logs else mean**2)).sum())


def _gains(measure: Measure, cuts: Cuts, group: Array, limits: Limits) -> Array:
    """Gain of each cut; minus infinity if it leaves a side too small or breaks a constraint."""
    counts = np.bincount(group, minlength=cuts.n_groups + 1).astype(float)[:, None]
    left_rows = cuts.add_up(counts)[:, 0]
    right_rows = len(group) - left_rows
    left, right = measure.sides(cuts, group)
    least = max(1, limits.min_samples_leaf)
    allowed = (left_rows >= least) & (right_rows >= least)
    for side in (left, right):
        allowed &= (side[:, 0] >= limits.min_weight_leaf) & (side[:, 0] > 0.0)
    if limits.direction != 0:
        with np.errstate(divide="ignore", invalid="ignore"):
            low, high = measure.value(left)[:, -1], measure.value(right)[:, -1]
        for value in (low, high):
            allowed &= (limits.lower <= value) & (value <= limits.upper)
        allowed &= (low - high) * limits.direction <= 0
    gains = np.full(len(cuts), -np.inf)
    if allowed.any():
        gains[allowed] = measure.gain(left[allowed], right[allowed])
    return np.where(np.isnan(gains), -np.inf, gains)

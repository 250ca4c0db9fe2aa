"""Try every split of one feature at one node, and remember what each would gain."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

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
    if is_category:
        cuts = _category_cuts(table, measure, nothing, rows)
    else:
        cuts = number_cuts(len(present), nothing.has_missing)
    sides = (cuts, replace(cuts, missing_left=True)) if missing.any() else (cuts,)
    gains = [_gains(measure, cut, group, limits) for cut in sides]
    return replace(nothing, cuts=sides, gains=np.concatenate(gains))


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

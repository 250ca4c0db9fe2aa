"""How impure a set of rows is, from the definitions: class weights, moments or medians.

A measure sums up rows by group (the values of a feature) and judges sums. Its sums are
arrays whose first column is the weight. Growing does the same in compiled code; this is
the version to read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import xlogy

from hornbeam.criteria import ABSOLUTE_ERROR, impurity_function
from hornbeam.dtypes import EPSILON, Array
from hornbeam.explain.cuts import Cuts
from hornbeam.runtime.kernel import jitted


def entropy_of_shares(shares: Array) -> Array:
    """Minus the sum of p * log2(p) along the last axis."""
    return np.asarray(-xlogy(shares, shares).sum(axis=-1) / np.log(2.0))


_CLASS_FORMULAS: dict[str, Callable[[Array], Array]] = {
    "gini": lambda shares: 1.0 - (shares**2).sum(axis=-1),
    "entropy": entropy_of_shares,
    "log_loss": entropy_of_shares,
    "misclassification": lambda shares: 1.0 - shares.max(axis=-1),
}


@lru_cache(maxsize=32)
def _own_formula(function: Any) -> Any:
    """A user's formula with the arithmetic it has in growing: x / 0 is infinite, no error."""
    return jitted(getattr(function, "py_func", function))


class Measure(ABC):
    """What is summed of the rows of a node, and the impurity of such sums."""

    defined: Sequence[str] = ()  # criteria whose definition is here; of others the code is read

    def __init__(self, criterion: Any, weight: Array) -> None:
        self.criterion = criterion
        self.weight = weight
        self.own = None if criterion in self.defined else _own_formula(impurity_function(criterion))
        self.name = (
            criterion if isinstance(criterion, str) else getattr(criterion, "__name__", "impurity")
        )

    @abstractmethod
    def sums(self, group: Array, n_groups: int) -> Array:
        """Sums (groups, ...) of the rows of each group; column 0 is the weight."""

    @abstractmethod
    def impurity(self, sums: Array) -> Array:
        """Impurity of each row of sums: the mean over the outputs."""

    @abstractmethod
    def value(self, sums: Array) -> Array:
        """What rows with these sums are predicted to be: class shares, means or medians."""

    def sides(self, cuts: Cuts, group: Array) -> tuple[Array, Array]:
        """Sums of the rows on both sides of every cut."""
        sums = self.sums(group, cuts.n_groups + 1)
        left = cuts.add_up(sums)
        return left, sums.sum(axis=0) - left

    def gain(self, left: Array, right: Array) -> Array:
        """How much each cut lowers the impurity; minus infinity where it is not defined."""
        whole = left[:, 0] + right[:, 0]
        node = self.impurity((left + right)[:1])[0] if len(left) else 0.0
        below = left[:, 0] * self.impurity(left) + right[:, 0] * self.impurity(right)
        gain = node - below / whole
        return np.where(np.isfinite(below), gain, -np.inf)


class ClassMeasure(Measure):
    """Class weights; a criterion is a formula of the class shares."""

    defined = tuple(_CLASS_FORMULAS)

    def __init__(self, criterion: Any, weight: Array, labels: Array, class_start: Array) -> None:
        super().__init__(criterion, weight)
        self.labels, self.class_start = labels, class_start

    def sums(self, group: Array, n_groups: int) -> Array:
        """Weight and class weights of each group."""
        n_classes = int(self.class_start[-1])
        sums = np.zeros((n_groups, 1 + n_classes))
        sums[:, 0] = np.bincount(group, self.weight, n_groups)
        for labels in self.labels.T:
            cells = np.bincount(group * n_classes + labels, self.weight, n_groups * n_classes)
            sums[:, 1:] += cells.reshape(n_groups, n_classes)
        return sums

    def blocks(self, sums: Array) -> list[Array]:
        """The class weights of each output."""
        return np.split(sums[..., 1:], self.class_start[1:-1], axis=-1)

    def impurity(self, sums: Array) -> Array:
        """The formula of the class shares, mean over the outputs."""
        weight = sums[:, :1]
        own = self.own
        if own is None:
            formula = _CLASS_FORMULAS[self.criterion]
            found = [formula(block / weight) for block in self.blocks(sums)]
        else:
            found = [
                np.array([own(row.copy(), w) for row, w in zip(block, weight[:, 0], strict=True)])
                for block in self.blocks(sums)
            ]
        return np.asarray(np.mean(found, axis=0))

    def value(self, sums: Array) -> Array:
        """Class shares."""
        return np.asarray(sums[..., 1:] / sums[..., :1])


class MomentMeasure(Measure):
    """Sums of w, w*y and w*y*y (Poisson: w*y*log(y)); a criterion is a formula of them."""

    defined = ("squared_error", "friedman_mse", "poisson")

    def __init__(self, criterion: Any, weight: Array, values: Array) -> None:
        super().__init__(criterion, weight)
        # squares around the mean do not drown in rounding errors
        centred = criterion in ("squared_error", "friedman_mse")
        self.shift = weight @ values / weight.sum() if centred else np.zeros(values.shape[1])
        y = values - self.shift
        second = xlogy(y, y) if criterion == "poisson" else y * y
        self.n_outputs = values.shape[1]
        self.stats = weight[:, None] * np.hstack([np.ones((len(y), 1)), y, second])

    def sums(self, group: Array, n_groups: int) -> Array:
        """Sums of w, w*y and the second moment of each group."""
        return np.stack([np.bincount(group, column, n_groups) for column in self.stats.T], axis=1)

    def impurity(self, sums: Array) -> Array:
        """The formula of the moments, mean over the outputs."""
        weight = sums[:, :1]
        total, second = np.split(sums[:, 1:], 2, axis=1)
        own = self.own
        if own is not None:
            found = np.array(
                [[own(w, t, s) for t, s in zip(*row, strict=True)]
                 for w, row in zip(weight[:, 0], zip(total, second, strict=True), strict=True)]
            ).reshape(total.shape)  # fmt: skip
        elif self.criterion == "poisson":
            mean = total / weight
            found = second / weight - xlogy(mean, mean)
            found = np.where(mean > EPSILON, found, np.inf)  # no finite logarithm of the mean
        else:
            found = np.maximum(second / weight - (total / weight) ** 2, 0.0)
        return np.asarray(found.mean(axis=1))

    def gain(self, left: Array, right: Array) -> Array:
        """Decrease of the impurity; for friedman_mse his improvement (eq. 35 of his paper)."""
        if self.criterion == "poisson":
            return self._poisson_gain(left, right)
        if self.criterion != "friedman_mse":
            return super().gain(left, right)
        whole = left[:, 0] + right[:, 0]
        difference = (self.value(left) - self.value(right)).mean(axis=1)
        return np.asarray(left[:, 0] * right[:, 0] / whole**2 * difference**2)

    def _poisson_gain(self, left: Array, right: Array) -> Array:
        """Sides without events are not allowed; a rounding error is no event."""
        totals = slice(1, 1 + self.n_outputs)
        least = 2.0**-40 * (left + right)[:, totals]
        events = ((left[:, totals] > least) & (right[:, totals] > least)).all(axis=1)
        return np.where(events, super().gain(left, right), -np.inf)

    def value(self, sums: Array) -> Array:
        """Means."""
        return np.asarray(sums[..., 1 : 1 + self.n_outputs] / sums[..., :1] + self.shift)


class OrderMeasure(Measure):
    """Medians; the sums are the weight, the median of each output and the loss around them.

    Where half of the weight is below, any value between two rows is a median: their middle is
    predicted, and is what constraints look at.
    """

    defined = (ABSOLUTE_ERROR,)

    def __init__(self, criterion: Any, weight: Array, values: Array) -> None:
        super().__init__(criterion, weight)
        self.values = values
        self.order = np.argsort(values, axis=0, kind="stable")

    def sums(self, group: Array, n_groups: int) -> Array:
        """Weight, medians and loss of each group."""
        return np.stack([self._sum_up(group == g) for g in range(n_groups)])

    def _sum_up(self, chosen: Array) -> Array:
        """Weight, medians and the mean absolute error of some of the rows."""
        w = self.weight * chosen
        ordered = zip(self.values.T, self.order.T, strict=True)
        medians = [_median(y[o], w[o]) for y, o in ordered]
        loss, whole = (w[:, None] * np.abs(self.values - medians)).sum(), w.sum()
        mean = loss / (whole * len(medians)) if whole > 0 else 0.0
        return np.array([whole, *medians, mean])

    def sides(self, cuts: Cuts, group: Array) -> tuple[Array, Array]:
        """Medians do not add up: both sides of every cut are summed up anew."""
        masks = [cuts.left(i)[group] for i in range(len(cuts))]
        width = 2 + self.values.shape[1]
        left = np.array([self._sum_up(mask) for mask in masks]).reshape(-1, width)
        right = np.array([self._sum_up(~mask) for mask in masks]).reshape(-1, width)
        return left, right

    def gain(self, left: Array, right: Array) -> Array:
        """Decrease of the mean absolute error."""
        node = self._sum_up(np.ones(len(self.weight), bool))
        below = left[:, 0] * left[:, -1] + right[:, 0] * right[:, -1]
        return np.asarray(node[-1] - below / node[0])

    def impurity(self, sums: Array) -> Array:
        """Mean absolute error around the medians."""
        return np.asarray(sums[:, -1])

    def value(self, sums: Array) -> Array:
        """Medians."""
        return np.asarray(sums[..., 1:-1])


def _median(y: Array, w: Array) -> float:
    """Weighted median of ascending values: their middle if there are two."""
    below, half = np.cumsum(w), 0.5 * w.sum()
    counted = np.flatnonzero(w > 0)
    if not len(counted):
        return 0.0
    place = int(np.argmax(below >= half))
    later = counted[counted > place]
    if below[place] == half and len(later):
        return float(0.5 * y[place] + 0.5 * y[later[0]])
    return float(y[place])

"""A brute-force CART: what the fast trees must agree with.

Every split of a node is listed, every impurity is computed from its definition, row by row.
Nothing here is clever, so that it can be checked by reading. A table is a float matrix in
which category columns hold category numbers and NaN is missing; a split is the mask of the
rows that go left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from hornbeam.dtypes import LEAF, MULTIWAY, THRESHOLD

# --- impurities, from their definitions -----------------------------------------------


def shares(y, w):
    return np.array([w[y == k].sum() for k in np.unique(y)]) / w.sum()


def gini(y, w):
    return 1.0 - (shares(y, w) ** 2).sum()


def entropy(y, w):
    p = shares(y, w)
    return -(p * np.log2(p)).sum()


def misclassification(y, w):
    return 1.0 - shares(y, w).max()


def variance(y, w):
    mean = (w * y).sum() / w.sum()
    return (w * (y - mean) ** 2).sum() / w.sum()


def weighted_median(y, w):
    """The middle of all values that have at most half of the weight on either side."""
    half = w.sum() / 2
    good = [v for v in y if w[y < v].sum() <= half and w[y > v].sum() <= half]
    return (min(good) + max(good)) / 2


def absolute_error(y, w):
    return (w * np.abs(y - weighted_median(y, w))).sum() / w.sum()


def poisson(y, w):
    """Half the mean Poisson deviance; a mean of zero has none, so such a child is not allowed."""
    mean = (w * y).sum() / w.sum()
    if mean <= 0:
        return np.inf
    log_ratio = np.log(np.where(y > 0, y / mean, 1.0))
    return (w * (y * log_ratio - y + mean)).sum() / w.sum()


IMPURITIES = {
    "gini": gini,
    "entropy": entropy,
    "log_loss": entropy,
    "misclassification": misclassification,
    "squared_error": variance,
    "friedman_mse": variance,
    "absolute_error": absolute_error,
    "poisson": poisson,
}


def impurity(criterion, y, w):
    """Mean over the outputs (columns of y)."""
    return sum(IMPURITIES[criterion](column, w) for column in y.T) / y.shape[1]


def gain(criterion, y, w, left, before):
    """How much a split lowers the impurity; minus infinity if a child would be invalid."""
    w_left, w_right = w[left].sum(), w[~left].sum()
    if criterion == "friedman_mse":
        means = [(w[s, None] * y[s]).sum(axis=0) / w[s].sum() for s in (left, ~left)]
        difference = (means[0] - means[1]).mean()
        return w_left * w_right / w.sum() ** 2 * difference**2
    below = w_left * impurity(criterion, y[left], w[left])
    below += w_right * impurity(criterion, y[~left], w[~left])
    return before - below / w.sum() if np.isfinite(below) else -np.inf


# --- every split of a node --------------------------------------------------------------


def known_sets(values, is_category, one_vs_rest) -> Iterator[np.ndarray]:
    """Masks over the rows of a column, for every way to part its known values in two."""
    distinct = np.unique(values[~np.isnan(values)])
    if not is_category:
        for low in distinct[:-1]:
            yield values <= low
        return
    sizes = [1] if one_vs_rest else range(1, len(distinct))
    for size in sizes:
        for subset in combinations(distinct, size):
            yield np.isin(values, subset)


def splits(matrix, is_category, one_vs_rest=False) -> Iterator[tuple[int, np.ndarray]]:
    """Every (feature, rows that go left); missing values go left, right, or apart."""
    for feature, values in enumerate(matrix.T):
        missing = np.isnan(values)
        for left in known_sets(values, is_category[feature], one_vs_rest):
            if left.all() or not left.any():
                continue
            yield feature, left
            if missing.any():
                yield feature, left | missing
        if missing.any() and not missing.all():
            yield feature, ~missing


@dataclass(frozen=True)
class Rules:
    """The pre-pruning rules that decide whether a split is allowed."""

    min_samples_leaf: int = 1
    min_weight_leaf: float = 0.0

    def allow(self, w, left):
        return all(
            side.sum() >= self.min_samples_leaf and w[side].sum() >= self.min_weight_leaf - 1e-12
            for side in (left, ~left)
        )


# --- what categories explain by chance ----------------------------------------------------


def explained_share(criterion, groups, y, w):
    """The share of all that rows vary which the means of their groups explain."""
    if criterion in ("gini", "entropy", "log_loss", "misclassification"):
        y = np.column_stack([column == k for column in y.T for k in np.unique(column)])
    y = y.astype(float)
    mean = (w[:, None] * y).sum(axis=0) / w.sum()
    means = np.empty_like(y)
    for group in np.unique(groups):
        here = groups == group
        means[here] = (w[here, None] * y[here]).sum(axis=0) / w[here].sum()
    if criterion == "poisson":
        logs = [np.where(v > 0, v * np.log(np.where(v > 0, v, 1) / mean), 0) for v in (means, y)]
        between, total = ((w[:, None] * part).sum() for part in logs)
    else:
        between, total = ((w[:, None] * (v - mean) ** 2).sum() for v in (means, y))
    return between / total if total > 0 else 0.0


def owed_to_chance(criterion, column, rows, y, w):
    """The share of a gain that counts for nothing; ``column`` is that of the whole table."""
    known_categories = np.unique(column[~np.isnan(column)])
    if 2 ** (len(known_categories) - 1) <= len(column):
        return 0.0
    values = column[rows]
    known = ~np.isnan(values)
    k = len(np.unique(values[known]))
    n = known.mean() * w.sum() ** 2 / (w**2).sum()
    if k >= n:
        return 1.0
    if k <= 2:
        return 0.0
    share = (k - 2) / (n - 2)
    explained = explained_share(criterion, values[known], y[known], w[known])
    is_clear = explained > share + 3 * np.sqrt(2 * share * (1 - share) / (n - 2))
    return share / explained if is_clear else 1.0


def cuts_as_number(values, w, left):
    """Whether a set may be asked though it has proven nothing: what is missing, or an order."""
    known = ~np.isnan(values)
    if (left == known).all():
        return True
    if len(np.unique(values[known])) ** 2 > known.mean() * w.sum() ** 2 / (w**2).sum():
        return False
    sides = [values[side & known] for side in (left, ~left)]
    if not all(len(side) for side in sides):
        return False
    return max(sides[0]) < min(sides[1]) or max(sides[1]) < min(sides[0])


def candidates(criterion, table, rows, y, w, is_category, one_vs_rest=False, rules=None):
    """All valid splits of a node as {partition: gain}; a partition does not care about sides.

    ``table`` is that of all rows, the others are those of the node.
    """
    rules, matrix = rules or Rules(), table[rows]
    before = impurity(criterion, y, w)
    owed = np.zeros(matrix.shape[1])
    for feature in np.flatnonzero(is_category) if not one_vs_rest else ():
        owed[feature] = owed_to_chance(criterion, table[:, feature], rows, y, w)
    found: dict[bytes, float] = {}
    for feature, left in splits(matrix, is_category, one_vs_rest):
        key, counted = partition(left), 1.0 - owed[feature]
        if counted == 0.0:
            counted = float(cuts_as_number(matrix[:, feature], w, left))
        if counted and 0 < left.sum() < len(left) and rules.allow(w, left):
            worth = gain(criterion, y, w, left, before) * counted
            if worth > -np.inf:
                found[key] = max(worth, found.get(key, -np.inf))
    return found


def partition(left) -> bytes:
    """Name of a split of rows in two: the same for both choices of what is called left."""
    return (left ^ left[0]).tobytes()


# --- walking a stored tree ----------------------------------------------------------------


def branch_of(tree, node, x):
    """Which branch a value takes at an inner node."""
    if np.isnan(x):
        return int(tree.missing_branch[node])
    if tree.kind[node] == THRESHOLD:
        return int(not x <= tree.threshold[node])
    if tree.kind[node] == MULTIWAY:
        return int(x)
    return int(int(x) not in set(tree.category_set(node).tolist()))


def walk(tree, row) -> list[int]:
    """The nodes that a row passes."""
    path = [0]
    while tree.kind[path[-1]] != LEAF:
        node = path[-1]
        path.append(int(tree.first_child[node]) + branch_of(tree, node, row[tree.feature[node]]))
    return path


def rows_of_nodes(tree, matrix) -> list[np.ndarray]:
    """For every node, the numbers of the rows that reach it."""
    reached: list[list[int]] = [[] for _ in range(tree.node_count)]
    for number, row in enumerate(matrix):
        for node in walk(tree, row):
            reached[node].append(number)
    return [np.array(rows, dtype=int) for rows in reached]

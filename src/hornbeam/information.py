"""Information measures: how mixed a set of labels is, and how much a split explains.

Every function takes the values themselves, one per row: ``y`` holds the labels (or, for
the regression measures, the numbers), ``x`` says which branch of a split each row goes to,
``sample_weight`` says how much each row counts. Somebody who has counts or probabilities
instead passes them through :func:`from_counts`, which turns them into such rows:

>>> from hornbeam.information import entropy, from_counts, information_gain
>>> entropy(["yes", "yes", "no", "no"])
1.0
>>> entropy(*from_counts([0.5, 0.5]))
1.0
>>> information_gain(*from_counts([[2, 0], [0, 2]]))
1.0

Entropies are in bits. ``0 * log2(0)`` counts as 0, its limit.

The formulas are those of the source documents; each docstring names the document, by its
number, and the section.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hornbeam.dtypes import Array

__all__ = [
    "absolute_error",
    "conditional_entropy",
    "conditional_gini",
    "entropy",
    "entropy_taylor",
    "entropy_taylor_gain",
    "from_counts",
    "gain_ratio",
    "gini",
    "gini_gain",
    "information_gain",
    "joint_entropy",
    "mae_gain",
    "misclassification_error",
    "misclassification_gain",
    "mse_gain",
    "self_information",
    "split_information",
    "variance",
]


# --- one variable ------------------------------------------------------------------


def self_information(p: ArrayLike) -> Any:
    """How surprising an event of probability ``p`` is, in bits.

    ``I(p) = -log2(p)`` (source 000, part A, section 1): certain events tell nothing, and
    the surprises of independent events add up.

    Parameters
    ----------
    p : number or array-like of numbers in [0, 1]

    Returns
    -------
    float, or an array of the shape of ``p``
        ``inf`` where ``p`` is 0.

    Examples
    --------
    >>> self_information(1 / 8)
    3.0
    >>> self_information([1.0, 0.5])
    array([0., 1.])
    """
    shares = _numbers(p, "p")
    bad = shares[(shares < 0) | (shares > 1)]
    if bad.size:
        raise ValueError(f"p must hold probabilities between 0 and 1, but it holds {bad.flat[0]}.")
    with np.errstate(divide="ignore"):
        bits = 0.0 - np.log2(shares)
    return float(bits) if bits.ndim == 0 else bits


def entropy(y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """How many bits it takes, on average, to say which label a row has.

    ``H(Y) = -sum_k p_k log2 p_k`` (source 000, part A, section 1; 001, section 2.2; 004,
    details 1). It is 0 for a single label and at most ``log2 K`` for K labels.

    Examples
    --------
    >>> entropy(["a", "b", "c", "d"])
    2.0
    >>> round(entropy(*from_counts([9, 5])), 3)
    0.94
    """
    return _impurity(_entropy, y, sample_weight)


def gini(y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """How likely two rows drawn at random have different labels.

    ``Gini(Y) = sum_k p_k (1 - p_k) = 1 - sum_k p_k^2`` (source 000, part A, section 3; 001,
    section 2.2; 003, section 2; 004, details 1). It replaces the logarithm of the entropy by
    its first-order Taylor expansion at ``p = 1``, and is at most ``1 - 1/K``.

    Examples
    --------
    >>> gini(["yes", "yes", "no", "no"])
    0.5
    """
    return _impurity(_gini, y, sample_weight)


def misclassification_error(y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Share of the rows that is wrong when all get the most frequent label.

    ``Error(Y) = 1 - max_k p_k`` (source 004, details 1; 000, part A, exercises).

    Examples
    --------
    >>> misclassification_error(["a", "a", "a", "b"])
    0.25
    """
    return _impurity(_misclassification, y, sample_weight)


def entropy_taylor(y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Expand the entropy around ``p = 1`` one order further than Gini does.

    The second-order Taylor expansion ``-ln p ~ (1 - p) + (1 - p)^2 / 2`` put into the entropy:
    ``sum_k p_k (1 - p_k) (3 - p_k) / 2 = 3/2 - 2 sum_k p_k^2 + 1/2 sum_k p_k^3`` (source 000,
    part A, section 3, exercise). Like Gini, it leaves out the constant factor ``1 / ln 2``, so
    it approximates the entropy in nats. It lies between Gini and that entropy.

    Examples
    --------
    >>> entropy_taylor(["yes", "no"])
    0.625
    """
    return _impurity(_taylor, y, sample_weight)


def variance(y: ArrayLike, sample_weight: ArrayLike | None = None, *, ddof: int = 0) -> float:
    """How far the numbers ``y`` are from their mean, squared, on average.

    ``sum_i w_i (y_i - mean)^2 / (sum_i w_i - ddof)``. With ``ddof=0`` it divides by n, which is
    the squared error of a regression node (source 000, part A, section 3; 003, section 1.3);
    with ``ddof=1`` by n - 1 (source 004, details 1). A row of weight 2 counts as two rows.

    Examples
    --------
    >>> variance([1.0, 2.0, 3.0, 4.0])
    1.25
    >>> variance([1.0, 2.0, 3.0], ddof=1)
    1.0
    """
    numbers, weight = _weighted_numbers(y, sample_weight)
    if ddof not in (0, 1):
        raise ValueError(f"ddof must be 0 (divide by n) or 1 (divide by n - 1), not {ddof!r}.")
    divisor = weight.sum() - ddof
    if divisor <= 0:
        raise ValueError(
            f"The variance with ddof={ddof} needs a total weight above {ddof}, but it is "
            f"{weight.sum()}. Pass more rows, or ddof=0."
        )
    distance = numbers - _mean(numbers, weight)
    return float(weight @ distance**2 / divisor)


def absolute_error(y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """How far the numbers ``y`` are from their median, on average.

    ``sum_i w_i |y_i - median| / sum_i w_i`` (source 000, part A, section 3).

    Examples
    --------
    >>> absolute_error([1.0, 2.0, 6.0])
    1.6666666666666667
    """
    numbers, weight = _weighted_numbers(y, sample_weight)
    return _absolute_error(numbers, weight)


# --- two variables -----------------------------------------------------------------


def joint_entropy(y: ArrayLike, x: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """How many bits it takes to say both the label and the branch of a row.

    ``H(Y, X) = -sum_{k,m} p(y_k, x_m) log2 p(y_k, x_m)`` (source 000, part A, section 2,
    exercise).

    Examples
    --------
    >>> joint_entropy(["a", "a", "b", "b"], [0, 1, 0, 1])
    2.0
    """
    table = _table(y, x, sample_weight)
    return float(_entropy(table.cells / table.cells.sum(), _ONE_GROUP)[0])


def conditional_entropy(
    y: ArrayLike, x: ArrayLike, sample_weight: ArrayLike | None = None
) -> float:
    """How many bits are left to say about the label once the branch is known.

    ``H(Y|X) = sum_m p(x_m) H(Y | X = x_m)`` (source 000, part A, section 1; 004, details 1).

    Examples
    --------
    >>> conditional_entropy(["a", "a", "b", "b"], [0, 0, 1, 1])
    0.0
    """
    return _conditional(_entropy, _table(y, x, sample_weight))


def information_gain(y: ArrayLike, x: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """How many bits about the label the branch tells.

    ``G(Y, X) = H(Y) - H(Y|X)`` (source 000, part A, section 1; 001, section 2.3; 004, details
    1). It equals ``H(X) + H(Y) - H(Y, X)``, which is symmetric, and is 0 only when the two are
    independent.

    Examples
    --------
    >>> information_gain(["a", "a", "b", "b"], [0, 0, 1, 1])
    1.0
    >>> information_gain(["a", "a", "b", "b"], [0, 1, 0, 1])
    0.0
    """
    return _gain(_entropy, _table(y, x, sample_weight))


def split_information(x: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """How many bits the split itself holds, whatever the labels are.

    ``H_A(D) = -sum_m p(x_m) log2 p(x_m)``, the entropy of the branches (source 001, section
    2.3; 004, details 1).

    Examples
    --------
    >>> split_information(["left", "right", "left", "right"])
    1.0
    """
    return _impurity(_entropy, x, sample_weight, name="x")


def gain_ratio(y: ArrayLike, x: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """How much of the split's own information is about the label.

    ``G(Y, X) / H_A(D)``: the information gain over the entropy of the split (source 001,
    section 2.3; 004, details 1; source 000, part A, section 2, divides by the entropy of the
    labels, which does not hold back splits into many branches). A split with one branch tells
    nothing; its ratio is 0.

    Examples
    --------
    >>> gain_ratio(["a", "a", "b", "b"], [1, 2, 3, 4])
    0.5
    """
    table = _table(y, x, sample_weight)
    split = float(_entropy(table.branches / table.branches.sum(), _ONE_GROUP)[0])
    return _gain(_entropy, table) / split if split > 0 else 0.0


def conditional_gini(y: ArrayLike, x: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """How mixed the labels inside the branches are, by Gini.

    ``Gini(Y|X) = sum_m p(x_m) Gini(Y | X = x_m)`` (source 000, part A, section 3; 003, section
    2; 004, details 1).

    Examples
    --------
    >>> conditional_gini(["a", "b", "b", "b"], [0, 0, 1, 1])
    0.25
    """
    return _conditional(_gini, _table(y, x, sample_weight))


def gini_gain(y: ArrayLike, x: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """How much less mixed the labels inside the branches are, by Gini.

    ``Gini(Y) - Gini(Y|X)`` (source 000, part A, section 3; 001, section 2.3).

    Examples
    --------
    >>> gini_gain(["a", "a", "b", "b"], [0, 0, 1, 1])
    0.5
    """
    return _gain(_gini, _table(y, x, sample_weight))


def misclassification_gain(
    y: ArrayLike, x: ArrayLike, sample_weight: ArrayLike | None = None
) -> float:
    """How many fewer rows are wrong when each branch takes its own most frequent label.

    ``Error(Y) - sum_m p(x_m) Error(Y | X = x_m)``, as a share of the rows (source 004, details
    1; 000, part A, exercises).

    Examples
    --------
    >>> misclassification_gain(["a", "a", "a", "b"], [0, 0, 0, 1])
    0.25
    """
    return _gain(_misclassification, _table(y, x, sample_weight))


def entropy_taylor_gain(
    y: ArrayLike, x: ArrayLike, sample_weight: ArrayLike | None = None
) -> float:
    """How much a split lowers :func:`entropy_taylor`.

    The gain that the exercise of source 000, part A, section 3 asks for: the measure of the
    node minus the weighted mean over the branches.

    Examples
    --------
    >>> entropy_taylor_gain(["a", "a", "b", "b"], [0, 0, 1, 1])
    0.625
    """
    return _gain(_taylor, _table(y, x, sample_weight))


def mse_gain(y: ArrayLike, x: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """How much of the squared error of ``y`` the split takes away.

    The variance (``ddof=0``) of the node minus the weighted mean of the branches' variances
    (source 000, part A, section 3). Source 004 leaves open whether branches are averaged or
    added; they are averaged with their weights, for the plain sum orders splits differently.

    Examples
    --------
    >>> mse_gain([1.0, 1.0, 3.0, 3.0], ["left", "left", "right", "right"])
    1.0
    """
    numbers, weight, branch = _branched_numbers(y, x, sample_weight)
    total = np.bincount(branch, weight)
    means = np.bincount(branch, weight * numbers) / total
    # The decomposition of the variance: what lies between the branches is what the split
    # explains. Nothing is subtracted that could be larger than what it is taken from.
    return float(total @ (means - _mean(numbers, weight)) ** 2 / total.sum())


def mae_gain(y: ArrayLike, x: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """How much of the absolute error of ``y`` the split takes away.

    The mean distance from the median in the node minus the weighted mean of the branches' own
    (source 000, part A, section 3).

    Examples
    --------
    >>> mae_gain([1.0, 1.0, 3.0, 3.0], ["left", "left", "right", "right"])
    1.0
    """
    numbers, weight, branch = _branched_numbers(y, x, sample_weight)
    order = np.argsort(branch, kind="stable")
    starts = np.flatnonzero(np.diff(branch[order])) + 1
    rest = sum(
        float(weight[rows].sum()) * _absolute_error(numbers[rows], weight[rows])
        for rows in np.split(order, starts)
    )
    return max(_absolute_error(numbers, weight) - rest / float(weight.sum()), 0.0)


def from_counts(table: ArrayLike) -> tuple[Array, ...]:
    """Turn counts or probabilities into the rows that the other functions take.

    Parameters
    ----------
    table : array-like of non-negative numbers
        In one dimension the count (or share) of each label; in two dimensions one row per
        branch and one column per label. The numbers need not add up to 1.

    Returns
    -------
    (y, sample_weight) or (y, x, sample_weight)
        To be unpacked into a function: ``entropy(*from_counts([9, 5]))``.

    Examples
    --------
    The branches sunny, overcast and rain of the play-tennis table:

    >>> round(information_gain(*from_counts([[2, 3], [4, 0], [3, 2]])), 3)
    0.247
    """
    counts = _numbers(table, "table")
    if counts.ndim not in (1, 2) or counts.size == 0:
        raise ValueError(
            "table must have one dimension (a count per label) or two (branches by labels), and "
            f"at least one cell, but its shape is {counts.shape}."
        )
    _check_weights(counts.ravel(), "table")
    *x, y = np.indices(counts.shape)
    return (y.ravel(), *(branch.ravel() for branch in x), counts.ravel())


# --- how it is computed ------------------------------------------------------------
# A table of labels by branches is kept as its cells that are not empty, branch by branch, so
# that a column with a different value in every row costs no more than its rows.

_Measure = Callable[[Array, Array], Array]
_ONE_GROUP = np.zeros(1, np.intp)


class _Table(NamedTuple):
    """Labels by branches: the weights of the cells that are not empty, sorted by branch."""

    cells: Array
    starts: Array  # number of the first cell of each branch
    branches: Array  # weight of each branch
    labels: Array  # weight of each label


def _entropy(shares: Array, starts: Array) -> Array:
    """Entropy of each group of shares; each group adds up to 1 and starts at ``starts``."""
    return 0.0 - np.add.reduceat(shares * np.log2(shares), starts)


def _gini(shares: Array, starts: Array) -> Array:
    return np.add.reduceat(shares * (1.0 - shares), starts)


def _misclassification(shares: Array, starts: Array) -> Array:
    return 1.0 - np.maximum.reduceat(shares, starts)


def _taylor(shares: Array, starts: Array) -> Array:
    return np.add.reduceat(shares * (1.0 - shares) * (3.0 - shares) / 2.0, starts)


def _impurity(
    measure: _Measure, y: ArrayLike, sample_weight: ArrayLike | None, name: str = "y"
) -> float:
    codes = _codes(y, name)
    counts = np.bincount(codes, _weights(sample_weight, len(codes)))
    counts = counts[counts > 0]
    return float(measure(counts / counts.sum(), _ONE_GROUP)[0])


def _conditional(measure: _Measure, table: _Table) -> float:
    """Mean of the measure over the branches, weighted by their sizes."""
    sizes = np.diff(table.starts, append=len(table.cells))
    inside = measure(table.cells / np.repeat(table.branches, sizes), table.starts)
    return float(table.branches @ inside / table.branches.sum())


def _gain(measure: _Measure, table: _Table) -> float:
    """Subtract the measure after the split from that before; rounding never makes it negative.

    Each measure is concave, hence its mean over branches cannot exceed that of their union.
    """
    before = float(measure(table.labels / table.labels.sum(), _ONE_GROUP)[0])
    return max(before - _conditional(measure, table), 0.0)


def _table(y: ArrayLike, x: ArrayLike, sample_weight: ArrayLike | None) -> _Table:
    label, branch = _codes(y, "y"), _codes(x, "x")
    _check_same_length(len(label), len(branch), "x")
    weight = _weights(sample_weight, len(label))
    kept = weight > 0
    label, branch, weight = label[kept], branch[kept], weight[kept]
    n_labels = int(label.max()) + 1
    cell, which = np.unique(branch * n_labels + label, return_inverse=True)
    cells = np.bincount(which, weight)
    branch_of_cell = cell // n_labels
    starts = np.flatnonzero(np.diff(branch_of_cell, prepend=-1))
    labels = np.bincount(cell % n_labels, cells)
    return _Table(cells, starts, np.add.reduceat(cells, starts), labels[labels > 0])


def _mean(numbers: Array, weight: Array) -> float:
    return float(weight @ numbers / weight.sum())


def _absolute_error(numbers: Array, weight: Array) -> float:
    order = np.argsort(numbers, kind="stable")
    below = np.cumsum(weight[order])
    # Any number between the two middle ones is as near; take the lower.
    median = numbers[order[np.searchsorted(below, below[-1] / 2)]]
    return float(weight @ np.abs(numbers - median) / weight.sum())


# --- what may come in --------------------------------------------------------------


def _codes(values: ArrayLike, name: str) -> Array:
    """Turn values into numbers 0, 1, ...: which values are equal is all that matters."""
    array = np.asarray(values)
    _check_column(array, name)
    if array.dtype.kind == "O":
        missing = np.fromiter((_is_missing(value) for value in array), bool, len(array))
    else:
        missing = array != array
    if missing.any():
        raise ValueError(
            f"{name} has a missing value in row {int(np.argmax(missing))}. Leave such rows out, or "
            "give them a label of their own."
        )
    try:
        codes: Array = np.unique(array, return_inverse=True)[1]
    except TypeError as error:
        raise ValueError(
            f"{name} mixes values of different types ({error}). Convert them to one type, for "
            "example to strings."
        ) from error
    return codes


def _is_missing(value: Any) -> bool:
    """None, NaN, NaT, and pandas' NA, whose comparisons have no truth value."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return True


def _numbers(values: ArrayLike, name: str) -> Array:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers ({error}).") from error
    bad = numbers[~np.isfinite(numbers)]
    if bad.size:
        raise ValueError(f"{name} must hold finite numbers, but it holds {bad.flat[0]}.")
    return numbers


def _weighted_numbers(y: ArrayLike, sample_weight: ArrayLike | None) -> tuple[Array, Array]:
    numbers = _numbers(y, "y")
    _check_column(numbers, "y")
    return numbers, _weights(sample_weight, len(numbers))


def _branched_numbers(
    y: ArrayLike, x: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Array, Array, Array]:
    """Numbers, weights and branches of the rows that count; branches without rows are gone."""
    numbers, weight = _weighted_numbers(y, sample_weight)
    branch = _codes(x, "x")
    _check_same_length(len(numbers), len(branch), "x")
    kept = weight > 0
    return numbers[kept], weight[kept], np.unique(branch[kept], return_inverse=True)[1]


def _weights(sample_weight: ArrayLike | None, n_rows: int) -> Array:
    if sample_weight is None:
        return np.ones(n_rows)
    weight = _numbers(sample_weight, "sample_weight")
    _check_column(weight, "sample_weight")
    _check_same_length(n_rows, len(weight), "sample_weight")
    _check_weights(weight, "sample_weight")
    return weight


def _check_weights(weight: Array, name: str) -> None:
    if (weight < 0).any():
        raise ValueError(f"{name} must not be negative, but it holds {weight.min()}.")
    if not weight.any():
        raise ValueError(f"{name} is all zero, so nothing is left to measure.")
    with np.errstate(over="ignore"):
        if not np.isfinite(weight.sum()):
            raise ValueError(f"{name} adds up to more than a float holds. Scale it down.")


def _check_column(array: Array, name: str) -> None:
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, but its shape is {array.shape}.")
    if array.size == 0:
        raise ValueError(f"{name} is empty. Pass at least one row.")


def _check_same_length(n_rows: int, length: int, name: str) -> None:
    if length != n_rows:
        raise ValueError(f"{name} has {length} rows, but the labels have {n_rows}.")

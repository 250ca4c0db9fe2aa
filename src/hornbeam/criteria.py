"""Split criteria: how impure a node is.

A criterion is a small function of what a node's rows sum to:

- classification: ``impurity(counts, weight)``, the weight of each class and their sum;
- regression: ``impurity(weight, total, squares)``, the sums of w, w*y and w*y*y.

The functions below are the built-in ones, written as a user would write them. Any
function of that form can be passed as ``criterion=``; it is compiled and runs at the
speed of the built-in ones:

>>> import hornbeam as hb
>>> def gini(counts, weight):
...     impurity = 1.0
...     for count in counts:
...         impurity -= (count / weight) ** 2
...     return impurity
>>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
>>> tree = hb.DecisionTreeClassifier(criterion=gini).fit(X, y)
>>> tree.predict([[0.4], [2.6]])
array([0, 1])
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Literal

from hornbeam.dtypes import EPSILON
from hornbeam.kernels.block import make_block_judge, make_value_block_judge
from hornbeam.kernels.order_statistics import ORDER_BLOCKS, scan_order, sum_order
from hornbeam.kernels.scan import (
    make_class_summary,
    make_cut_judge,
    make_key_scan,
    make_moment_summary,
)
from hornbeam.kernels.split_bin_categories import (
    make_class_category_search,
    make_moment_category_search,
)
from hornbeam.kernels.split_bins import (
    make_class_bins_search,
    make_class_pair_search,
    make_class_pairs_search,
    make_moment_bins_search,
)
from hornbeam.kernels.split_cuts import (
    make_class_cut_search,
    make_class_cuts_search,
    make_moment_cut_search,
    make_moment_cuts_search,
)
from hornbeam.kernels.split_random_categories import make_class_random_category_search
from hornbeam.kernels.state import (
    DIFFERENCE,
    EXPLAINED,
    MINUS_IMPURITY,
    TIES_BY_CLASSES,
    TIES_BY_DIFFERENCE,
    TIES_BY_IMPURITY,
    TIES_BY_LOGS,
    TIES_BY_MEDIANS,
    TIES_BY_SQUARES,
    Summarise,
)
from hornbeam.kernels.sums import class_sums, moment_sums
from hornbeam.own_functions import NOT_COMPILED, takes, what_is_wrong
from hornbeam.runtime.kernel import compiled, fingerprint, inlined, part_of
from hornbeam.runtime.pointers import as_array
from hornbeam.runtime.views import signature_of

__all__ = [
    "entropy",
    "gini",
    "misclassification",
    "poisson_deviance",
    "squared_error",
]

# --- classification -----------------------------------------------------------------


def gini(counts, weight):
    """Gini impurity 1 - sum p_k^2 (source 000, part A; 001, section 2)."""
    squares = 0.0
    for k in range(len(counts)):
        squares += counts[k] * counts[k]
    return 1.0 - squares / (weight * weight)


def entropy(counts, weight):
    """Entropy - sum p_k log2 p_k, in bits (source 000, part A; 001, section 2)."""
    bits = 0.0
    for k in range(len(counts)):
        if counts[k] > 0.0:
            share = counts[k] / weight
            bits -= share * (math.log(share) / math.log(2.0))
    return bits


def misclassification(counts, weight):
    """Misclassification error 1 - max p_k (source 000, part A)."""
    largest = 0.0
    for k in range(len(counts)):
        largest = max(largest, counts[k])
    return 1.0 - largest / weight


# --- regression ---------------------------------------------------------------------


def squared_error(weight, total, squares):
    """Mean squared error around the mean: the variance (source 001, section 2)."""
    mean = total / weight
    return squares / weight - mean * mean


def poisson_deviance(weight, total, logs):
    """Half the mean Poisson deviance around the mean; ``logs`` is the sum of w*y*log(y)."""
    mean = total / weight
    if mean <= EPSILON:
        return math.inf  # a node without events has no finite log mean
    return logs / weight - mean * math.log(mean)


# --- from a formula to compiled scans -------------------------------------------------

# Share of a sum that may be rounding error: that of a million additions, and some more.
_ROUNDING = 2.0**-40


def _squared_error_score(left, right, n_outputs):
    """Sum of squared sums over weights: what a split changes of the squared error."""
    left_squares = 0.0
    right_squares = 0.0
    for output in range(n_outputs):
        left_squares += left[1 + output] * left[1 + output]
        right_squares += right[1 + output] * right[1 + output]
    return left_squares / left[0] + right_squares / right[0]


def _friedman_score(left, right, n_outputs):
    """Friedman's improvement w_l w_r / (w_l + w_r) * (mean_l - mean_r)^2, eq. 35 of his paper."""
    difference = 0.0
    for output in range(n_outputs):
        difference += right[0] * left[1 + output] - left[0] * right[1 + output]
    return difference * difference / (left[0] * right[0])


def _poisson_score(left, right, n_outputs):
    """What a split changes of the Poisson deviance; children need positive sums."""
    score = 0.0
    for output in range(n_outputs):
        left_mean, right_mean = left[1 + output] / left[0], right[1 + output] / right[0]
        # a difference of sums that should be zero may be a rounding error instead
        least = _ROUNDING * (left[1 + output] + right[1 + output])
        if left[1 + output] <= least or right[1 + output] <= least:
            return -math.inf
        if left_mean <= EPSILON or right_mean <= EPSILON:
            return -math.inf
        score += left[1 + output] * math.log(left_mean)
        score += right[1 + output] * math.log(right_mean)
    return score


def _gini_score(left, right, left_weight, right_weight, class_start, n_outputs, squares):
    """Minus the Gini impurity of both sides, from the sums of squared class weights."""
    left_squares, right_squares = squares
    if left_squares < 0.0:
        left_squares, right_squares = 0.0, 0.0
        for k in range(class_start[1]):
            left_squares += left[k] * left[k]
            right_squares += right[k] * right[k]
    left_gini = 1.0 - left_squares / (left_weight * left_weight)
    right_gini = 1.0 - right_squares / (right_weight * right_weight)
    return -right_weight * right_gini - left_weight * left_gini


def _gini_may_beat(squares, left_weight, right_weight, best):
    """Whether a Gini score may be above the best one so far, asked without a division.

    The score is S_l / w_l + S_r / w_r - w with S the squares, w the weights. What is
    rounded here is given back tenfold.
    """
    amount = squares[0] * right_weight + squares[1] * left_weight
    to_beat = best + (left_weight + right_weight)
    return amount >= to_beat * (left_weight * right_weight) * (1.0 - _ROUNDING)


def _class_functions(block: Callable[..., float], single: bool, variant: str | None) -> Any:
    """Impurity of a node (mean over its outputs) and score of a split, from one formula.

    What only several outputs need is not compiled for a ``single`` one.
    """
    inner = partial(part_of, variant=variant)
    compiled = inner(block)

    @inner
    def impurity_of_one(counts, weight, class_start, n_outputs):
        return compiled(as_array(counts, class_start[1]), weight)

    @inner
    def impurity_of_several(counts, weight, class_start, n_outputs):
        counts = as_array(counts, class_start[n_outputs])
        total = 0.0
        for output in range(n_outputs):
            total += compiled(counts[class_start[output] : class_start[output + 1]], weight)
        return total / n_outputs

    impurity = impurity_of_one if single else impurity_of_several
    if single and block is gini:
        return impurity, inner(_gini_score)

    @inner
    def score(left, right, left_weight, right_weight, class_start, n_outputs, squares):
        return -right_weight * impurity(right, right_weight, class_start, n_outputs) - (
            left_weight * impurity(left, left_weight, class_start, n_outputs)
        )

    return impurity, score


def _moment_functions(
    block: Callable[..., float], own_score: Callable[..., float] | None, variant: str | None
) -> tuple[Any, Any]:
    """Impurity of a node (mean over its outputs) and score of a split, from one formula."""
    inner = partial(part_of, variant=variant)
    compiled = inner(block)

    @inner
    def impurity(total, n_outputs):
        if n_outputs == 1:  # spares the division by the number of outputs
            return compiled(total[0], total[1], total[2])
        mean = 0.0
        for output in range(n_outputs):
            mean += compiled(total[0], total[1 + output], total[1 + n_outputs + output])
        return mean / n_outputs

    if own_score is not None:
        return impurity, inner(own_score)

    @inner
    def score(left, right, n_outputs):
        return -right[0] * impurity(right, n_outputs) - left[0] * impurity(left, n_outputs)

    return impurity, score


Summed = Literal["classes", "moments", "order"]


@dataclass(frozen=True)
class Criterion:
    """A criterion as growing uses it: what is summed, and functions compiled when needed."""

    name: str
    summed: Summed
    scan: Any  # see kernels/scan.py
    summary: Any
    bins_search: Any = None  # see kernels/split_bins.py; None where it cannot be used
    pair_search: Any = None
    pairs_search: Any = None
    cut_search: Any = None  # see kernels/split_cuts.py
    cuts_search: Any = None
    category_search: Any = None  # see kernels/split_bin_categories.py
    random_category_search: Any = None  # see kernels/split_random_categories.py
    block_judge: Any = None  # see kernels/block.py
    perfect_score: float = math.inf  # of a split into pure children, if that is known
    ties: int = TIES_BY_IMPURITY  # how large what its scores round is (kernels/ties.py)
    score_form: int = MINUS_IMPURITY  # what a score is of a node as a whole
    adds_outputs: bool = False  # a score is a sum over the outputs, an impurity their mean

    @property
    def second_moment(self) -> Literal["squares", "logs"]:
        """What is summed besides w and w*y."""
        return "logs" if self.name == "poisson" else "squares"

    def stats_per_row(self, n_outputs: int) -> int:
        """How many numbers are carried along with a row: its weight, then what is summed."""
        return {"classes": 1, "order": 1 + n_outputs, "moments": 1 + 2 * n_outputs}[self.summed]

    @property
    def order_blocks(self) -> int:
        """Working memory for order statistics, in values per row."""
        return ORDER_BLOCKS if self.summed == "order" else 0


def _class_criterion(
    name: str, block: Callable[..., float], single: bool, variant: str | None
) -> Criterion:
    if variant is not None:
        variant += " of one output" if single else " of several outputs"
    impurity, score = _class_functions(block, single, variant)
    sums = class_sums(score, inlined(_gini_may_beat) if block is gini else None)
    scan, summary = make_key_scan(sums.entries, variant), make_class_summary(impurity, variant)
    if not single:
        return Criterion(name, "classes", scan, summary)
    judge = make_cut_judge(sums.cut, variant)
    return Criterion(
        name,
        "classes",
        scan,
        summary,
        make_class_bins_search(sums, variant),
        make_class_pair_search(judge, variant),
        make_class_pairs_search(judge, variant),
        make_class_cut_search(judge, variant),
        make_class_cuts_search(judge, variant),
        make_class_category_search(judge, variant),
        make_class_random_category_search(judge, variant),
        make_block_judge(judge, variant),
    )


def _moment_criterion(
    name: str,
    block: Callable[..., float],
    score: Callable[..., float] | None,
    variant: str | None,
) -> Criterion:
    impurity, split_score = _moment_functions(block, score, variant)
    width = 4 if score is None else 3  # built-in scores read no second moments
    sums = moment_sums(split_score, width)
    judge = make_cut_judge(sums.cut, variant)
    category_search = make_moment_category_search(judge, variant)
    return Criterion(
        name,
        "moments",
        make_key_scan(sums.entries, variant),
        make_moment_summary(impurity, variant),
        make_moment_bins_search(sums, width, variant),
        None,
        None,
        make_moment_cut_search(judge, variant),
        make_moment_cuts_search(judge, variant),
        category_search,
        category_search,  # it has both rules
        make_value_block_judge(judge, variant),
        score_form=_SCORE_FORMS.get(score, MINUS_IMPURITY),
        adds_outputs=score in _SCORE_FORMS,
    )


# The built-in criteria: an impurity, and for numbers the score of a split, if there is a shorter
# formula of it than what the impurities of both sides come to. Parameters with their checks and
# docs, explanations and `hornbeam warmup` take the names from here.
CLASSIFICATION_CRITERIA: dict[str, Callable[..., float]] = {
    "gini": gini,
    "entropy": entropy,
    "log_loss": entropy,
    "misclassification": misclassification,
}
REGRESSION_CRITERIA: dict[str, tuple[Callable[..., float], Callable[..., float] | None]] = {
    "squared_error": (squared_error, _squared_error_score),
    "friedman_mse": (squared_error, _friedman_score),
    "poisson": (poisson_deviance, _poisson_score),
}
_SCORE_FORMS: dict[Callable[..., float] | None, int] = {
    _squared_error_score: EXPLAINED,
    _poisson_score: EXPLAINED,
    _friedman_score: DIFFERENCE,
}
ABSOLUTE_ERROR = "absolute_error"
_TIES = {
    "squared_error": TIES_BY_SQUARES,
    "friedman_mse": TIES_BY_DIFFERENCE,
    "poisson": TIES_BY_LOGS,
}


@cache
def built_in(name: str, single: bool) -> Criterion:
    """A built-in criterion, compiled when it is first asked for."""
    if name == ABSOLUTE_ERROR:
        return Criterion(
            name, "order", scan_order, sum_order, ties=TIES_BY_MEDIANS, adds_outputs=True
        )
    if name in CLASSIFICATION_CRITERIA:
        criterion = _class_criterion(name, CLASSIFICATION_CRITERIA[name], single, name)
        return replace(criterion, perfect_score=0.0, ties=TIES_BY_CLASSES)
    criterion = _moment_criterion(name, *REGRESSION_CRITERIA[name], name)
    return replace(criterion, ties=_TIES.get(name, TIES_BY_IMPURITY))


def impurity_function(criterion: str | Callable[..., float]) -> Callable[..., float]:
    """The formula of a criterion that has one, built-in or the user's own."""
    if not isinstance(criterion, str):
        return criterion
    if criterion in CLASSIFICATION_CRITERIA:
        return CLASSIFICATION_CRITERIA[criterion]
    return REGRESSION_CRITERIA[criterion][0]


@cache
def _from_function(function: Callable[..., float], classification: bool, single: bool) -> Criterion:
    name = getattr(function, "__name__", "criterion")
    function = getattr(function, "py_func", function)  # an njit function is fine, too
    variant = fingerprint(function)
    try:
        if classification:
            criterion = _class_criterion(name, function, single, variant)
        else:
            criterion = _moment_criterion(name, function, None, variant)
        compiled(criterion.summary, signature_of(Summarise))  # an error is to come now
        return criterion
    except NOT_COMPILED as error:
        form = "counts, weight" if classification else "weight, total, squares"
        fits = takes(function, form.count(",") + 1)
        reason = what_is_wrong(error, [function]) if fits else f"it does not take {form}"
        raise TypeError(
            f"The criterion {name!r} could not be compiled: {reason}. It must be a function "
            f"{name}({form}) of numbers that returns a number, in the part of Python that "
            "Numba understands."
        ) from None


def resolve(
    criterion: str | Callable[..., float], *, classification: bool, n_outputs: int = 1
) -> Criterion:
    """The compiled criterion for an estimator's ``criterion`` parameter."""
    single = n_outputs == 1 or not classification  # only class counts know the difference
    if isinstance(criterion, str):
        return built_in(criterion, single)
    return _from_function(criterion, classification, single)

"""Losses of gradient boosting: what a score costs, and which way is down.

A loss is declared once, below: value, gradient and hessian as formulas of one row, the
constant that boosting starts from, the link from scores to predictions, how leaves get
their values, the name of its metric, and which targets it allows.

A user's own loss is a small Python function. It is compiled and runs at the speed of the
built-in ones:

>>> import numpy as np
>>> import hornbeam as hb
>>> def absolute_relative(y, score):
...     return np.log(np.cosh(y / score - 1.0))
>>> hb.losses.OwnLoss(absolute_relative, start=1.0).name
'absolute_relative'
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import scipy.optimize
import scipy.special

from hornbeam.dtypes import Array
from hornbeam.kernels.slopes import (
    NEW_PEAK,
    TINY_HESSIAN,
    LossRows,
    RankRules,
    SlopePeak,
    call_fill,
    call_measure,
    call_prepare,
    choose,
    clip,
    exp,
    exp_single,
    log,
    log1p,
    make_fill,
    make_measure,
    make_rank_fill,
    make_rank_measure,
    make_softmax_fill,
    make_softmax_measure,
    make_softmax_prepare,
)
from hornbeam.own_functions import NOT_COMPILED, takes, what_is_wrong
from hornbeam.runtime.kernel import fingerprint, jitted, with_own_name
from hornbeam.runtime.views import make_slots, place_of, read_notes, set_fields, step_address

__all__ = ["Loss", "LossOptions", "OwnLoss", "apply_link", "names"]

Task = Literal["regression", "classification", "ranking"]
LeafRule = Literal["newton", "quantile", "search"]

# What a score on the log scale may be: see `exp_single`.
_LOG_LIMIT = 80.0
_LOG_ROOM = 5.0  # that predictions need around their mean
# Smallest curvature of a bound: still a normal number of float32.
_SMALLEST = 1e-37
# |y - score| below which the square root counts as flat.
_FLAT = 1e-12
_MAX_LABEL = 30  # of a document: gains are 2^label - 1
_RANK_RULES = RankRules(truncation=30, sigma=1.0, cut=10)
_SMALLEST_SHARE = 1e-15  # of a class that has no weight
_TOLERANCE = 1e-12  # of sums of weights that are compared

# --- formulas of one row -----------------------------------------------------------------
# value(y, score, settings, k) and slope(y, score, settings, k) -> gradient, hessian. A
# bound is used as hessian where the second derivative vanishes far from the target: with it
# the parabola lies above the loss, so that a Newton step cannot overshoot.


def _squared_value(y: float, score: float, settings: Array, k: int) -> float:
    """Half the square of y - score."""
    return 0.5 * (score - y) * (score - y)


def _squared_slope(y: float, score: float, settings: Array, k: int) -> tuple[float, float]:
    return score - y, 1.0


def _absolute_value(y: float, score: float, settings: Array, k: int) -> float:
    return abs(score - y)


def _absolute_slope(y: float, score: float, settings: Array, k: int) -> tuple[float, float]:
    """The sign; a curvature of 1 makes growing fit the signs by least squares."""
    return choose(score > y, 1.0, choose(score < y, -1.0, 0.0)), 1.0


def _quantile_value(y: float, score: float, settings: Array, k: int) -> float:
    """The pinball loss of the k-th quantile."""
    share, rest = settings[k], y - score
    return choose(rest > 0.0, share * rest, (share - 1.0) * rest)


def _quantile_slope(y: float, score: float, settings: Array, k: int) -> tuple[float, float]:
    share = settings[k]
    return choose(score > y, 1.0 - share, choose(score < y, -share, 0.0)), 1.0


def _huber_value(y: float, score: float, settings: Array, k: int) -> float:
    """A parabola up to delta = settings[0], a straight line beyond (Friedman 2001, sec. 4.4)."""
    delta, size = settings[0], abs(score - y)
    return choose(size <= delta, 0.5 * size * size, delta * (size - 0.5 * delta))


def _huber_slope(y: float, score: float, settings: Array, k: int) -> tuple[float, float]:
    """The bound delta / |r| on the straight parts, where the second derivative is 0."""
    delta, rest = settings[0], score - y
    bound = choose(abs(rest) <= delta, 1.0, delta / abs(rest)) + _SMALLEST
    return clip(rest, -delta, delta), bound


def _log_cosh_value(y: float, score: float, settings: Array, k: int) -> float:
    """Log of cosh(r) = |r| + log(1 + e^(-2|r|)) - log 2, which does not overflow."""
    size = abs(score - y)
    return size + log1p(exp(-2.0 * size)) - math.log(2.0)


def _log_cosh_slope(y: float, score: float, settings: Array, k: int) -> tuple[float, float]:
    """The tanh of r, and the bound tanh(r) / r >= 1 / cosh(r)^2."""
    rest = score - y
    slope = math.tanh(rest)
    return slope, choose(abs(rest) > 1e-6, slope / rest, 1.0) + _SMALLEST


def _sqrt_value(y: float, score: float, settings: Array, k: int) -> float:
    return math.sqrt(abs(score - y))


def _sqrt_slope(y: float, score: float, settings: Array, k: int) -> tuple[float, float]:
    """The slope sign(r) / (2 sqrt|r|); the second derivative -|r|^(-3/2) / 4 is negative."""
    rest = score - y
    flat, root = abs(rest) < _FLAT, math.sqrt(abs(rest))
    slope, bend = math.copysign(0.5, rest) / root, -0.25 / (root * root * root)
    return choose(flat, 0.0, slope), choose(flat, 0.0, bend)


def _poisson_value(y: float, score: float, settings: Array, k: int) -> float:
    """Half the Poisson deviance; the score is the log of the mean."""
    constant = choose(y > 0.0, y * log(y) - y, 0.0)
    return exp_single(score) - y * clip(score, -_LOG_LIMIT, _LOG_LIMIT) + constant


def _poisson_slope(y: float, score: float, settings: Array, k: int) -> tuple[float, float]:
    mean = exp_single(score)
    return mean - y, mean


def _gamma_value(y: float, score: float, settings: Array, k: int) -> float:
    """Half the gamma deviance; the score is the log of the mean."""
    score = clip(score, -_LOG_LIMIT, _LOG_LIMIT)
    return score - log(y) + y * exp_single(-score) - 1.0


def _gamma_slope(y: float, score: float, settings: Array, k: int) -> tuple[float, float]:
    ratio = y * exp_single(-score)
    return 1.0 - ratio, ratio + _SMALLEST


def _tweedie_value(y: float, score: float, settings: Array, k: int) -> float:
    """Half the Tweedie deviance of power 1 < p < 2; the score is the log of the mean."""
    one, two = 1.0 - settings[0], 2.0 - settings[0]
    constant = choose(y > 0.0, exp(two * log(y)) / (one * two), 0.0)
    return constant - y * exp_single(one * score) / one + exp_single(two * score) / two


def _tweedie_slope(y: float, score: float, settings: Array, k: int) -> tuple[float, float]:
    one, two = 1.0 - settings[0], 2.0 - settings[0]
    events, mean = y * exp_single(one * score), exp_single(two * score)
    return mean - events, two * mean - one * events


def _logistic_value(y: float, score: float, settings: Array, k: int) -> float:
    """Minus the log of the probability of class y (0 or 1)."""
    return choose(score > 0.0, score, 0.0) - y * score + log1p(exp(-abs(score)))


def _logistic_slope(y: float, score: float, settings: Array, k: int) -> tuple[float, float]:
    """The residual p - y and p (1 - p), without the rounding errors of 1 - p."""
    odds = exp(-score)
    share = 1.0 / (1.0 + odds)
    other = odds * share
    return (1.0 - y) * share - y * other, other * share + TINY_HESSIAN


def _exponential_value(y: float, score: float, settings: Array, k: int) -> float:
    """The loss e^(-y score) of AdaBoost, for y = 0 or 1 read as -1 or 1 (source 001, 6.2)."""
    return exp_single((1.0 - 2.0 * y) * score)


def _exponential_slope(y: float, score: float, settings: Array, k: int) -> tuple[float, float]:
    away = 1.0 - 2.0 * y
    cost = exp_single(away * score)
    return away * cost, cost


# --- start values --------------------------------------------------------------------------


def weighted_mean(y: Array, weight: Array) -> float:
    """Mean of y, whatever its scale: a power of two is taken out of the sum."""
    exponent = int(np.frexp(np.max(np.abs(y)))[1])
    total = np.sum(np.ldexp(y, -exponent) * weight)
    return float(np.ldexp(total / np.sum(weight), exponent))


def weighted_quantile(values: Array, weight: Array, share: float) -> float:
    """The smallest value at or below which at least this share of the weight lies.

    Where exactly half of the weight lies at or below a value, the median is the mean of
    that value and the next one, as NumPy's. A row of weight 2 counts like two rows.
    """
    if weight.strides == (0,) or (len(weight) and (weight == weight[0]).all()):
        return _plain_quantile(values, share)
    kept = weight > 0.0
    values, weight = values[kept], weight[kept]
    order = np.argsort(values, kind="stable")
    values, reached = values[order], np.cumsum(weight[order])
    wanted = share * reached[-1]
    slack = _TOLERANCE * reached[-1]
    place = min(int(np.searchsorted(reached, wanted - slack)), len(values) - 1)
    if share == 0.5 and abs(reached[place] - wanted) <= slack and place + 1 < len(values):
        return float(0.5 * values[place] + 0.5 * values[place + 1])
    return float(values[place])


def _plain_quantile(values: Array, share: float) -> float:
    """The same for equal weights: one or two order statistics, found without sorting."""
    wanted = share * len(values)
    place = max(0, math.ceil(wanted * (1.0 - _TOLERANCE)) - 1)
    if share == 0.5 and len(values) % 2 == 0:
        low, high = np.partition(values, [place, place + 1])[place : place + 2]
        return float(0.5 * low + 0.5 * high)
    return float(np.partition(values, place)[place])


def _start_mean(loss: Loss, y: Array, weight: Array) -> list[float]:
    return [weighted_mean(y, weight)]


def _start_log_mean(loss: Loss, y: Array, weight: Array) -> list[float]:
    mean = weighted_mean(y, weight)
    start = math.log(max(mean, np.finfo(np.float64).tiny))
    limit = _LOG_LIMIT - _LOG_ROOM
    if abs(start) > limit:
        raise ValueError(
            f"The mean of y is {mean:.3g}, but the loss {loss.name!r} predicts the logarithm of "
            f"means between e^-{limit:g} and e^{limit:g}: scale y."
        )
    return [start]


def _start_quantiles(loss: Loss, y: Array, weight: Array) -> list[float]:
    return [weighted_quantile(y, weight, share) for share in loss.settings]


def _start_descent(loss: Loss, y: Array, weight: Array) -> list[float]:
    """Steps downhill from the median; a hessian that is a bound cannot overshoot."""
    score = weighted_quantile(y, weight, 0.5)
    exponent = int(np.frexp(weight.max())[1])
    weight = weight if exponent == 1 else np.ldexp(weight, -exponent)
    for _ in range(50):
        slopes, peak = slopes_of(loss, y, weight, np.full(len(y), score))
        if peak.n_bad:
            break  # targets beyond float32: the median will do
        gradient, hessian = slopes[0].sum(axis=0, dtype=np.float64)
        step = float(gradient / hessian)
        score -= step
        if abs(step) <= 1e-9 * float(np.max(np.abs(y - score))):
            break
    return [score]


def _start_order_statistic(loss: Loss, y: Array, weight: Array) -> list[float]:
    return [best_order_statistic(loss, y, weight)]


def _start_zero(loss: Loss, y: Array, weight: Array) -> list[float]:
    return [0.0] * loss.n_scores


def _class_logs(y: Array, weight: Array, n_classes: int) -> Array:
    """Log of the share of each class."""
    total = np.bincount(y.astype(np.int64), weights=weight, minlength=n_classes)
    logs: Array = np.log(np.maximum(total / total.sum(), _SMALLEST_SHARE))
    return logs


def _start_log_odds(loss: Loss, y: Array, weight: Array) -> list[float]:
    zero, one = _class_logs(y, weight, 2)
    return [float(one - zero)]


def _start_half_log_odds(loss: Loss, y: Array, weight: Array) -> list[float]:
    return [0.5 * _start_log_odds(loss, y, weight)[0]]


def _start_shares(loss: Loss, y: Array, weight: Array) -> Array:
    logs = _class_logs(y, weight, loss.n_scores)
    return logs - logs.mean()


def _start_odds_to_first(loss: Loss, y: Array, weight: Array) -> Array:
    logs = _class_logs(y, weight, loss.n_scores + 1)
    return logs[1:] - logs[0]


# --- links -----------------------------------------------------------------------------------


def _link_identity(scores: Array) -> Array:
    return scores[:, 0]


def _link_log(scores: Array) -> Array:
    result: Array = np.exp(np.clip(scores[:, 0], -708.0, 709.0))
    return result


def _two_classes(scores: Array) -> Array:
    shares = np.empty((len(scores), 2))
    scipy.special.expit(-scores[:, 0], out=shares[:, 0])
    scipy.special.expit(scores[:, 0], out=shares[:, 1])
    return shares


def _link_half_logit(scores: Array) -> Array:
    return _two_classes(2.0 * np.clip(scores, -1e300, 1e300))


def _link_softmax(scores: Array) -> Array:
    result: Array = scipy.special.softmax(np.clip(scores, -1e300, 1e300), axis=1)
    return result


def _link_softmax_to_first(scores: Array) -> Array:
    return _link_softmax(np.pad(scores, ((0, 0), (1, 0))))


def _link_quantiles(scores: Array) -> Array:
    """Sorting makes quantiles that cross not cross, and is never further from the truth."""
    return np.sort(scores, axis=1)


LINKS: dict[str, Callable[[Array], Array]] = {
    "identity": _link_identity,
    "log": _link_log,
    "logit": _two_classes,
    "half_logit": _link_half_logit,
    "softmax": _link_softmax,
    "softmax_to_first": _link_softmax_to_first,
    "quantiles": _link_quantiles,
}


def apply_link(link: str, scores: Array) -> Array:
    """Predictions on the user's scale: `Loss.link` where only the link's name is known.

    Parameters
    ----------
    link : str
        `Loss.link_name`, which a stored model keeps.
    scores : array of shape (n_rows,) or (n_rows, n_scores)

    Returns
    -------
    array
        Probabilities (n_rows, n_classes), quantiles (n_rows, n_quantiles) or values (n_rows,).

    Examples
    --------
    >>> import numpy as np
    >>> from hornbeam.losses import apply_link
    >>> apply_link("logit", np.array([0.0]))
    array([[0.5, 0.5]])
    """
    return LINKS[link](scores.reshape(len(scores), -1))


# --- targets ---------------------------------------------------------------------------------


def _any_target(y: Array, name: str) -> None:
    """Every finite number is fine."""


def _check_counts(y: Array, name: str) -> None:
    if (y < 0).any():
        raise ValueError(
            f"Some value(s) of y are negative which is not allowed for the loss {name!r}: "
            f"{y.min()}. Use loss='squared_error' for targets of both signs."
        )
    if not (y > 0).any():
        raise ValueError(
            f"Sum of y is not strictly positive which is necessary for the loss {name!r}."
        )


def _check_positive(y: Array, name: str) -> None:
    if (y <= 0).any():
        raise ValueError(
            f"Some value(s) of y are not positive which is not allowed for the loss {name!r}: "
            f"{y.min()}. Use loss='tweedie' for targets with zeros."
        )


def _check_labels(y: Array, name: str) -> None:
    bad = (y < 0) | (y > _MAX_LABEL) | (y != np.floor(y))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"y[{row}] is {y[row]}; the loss {name!r} needs whole numbers from 0 (irrelevant) "
            f"to {_MAX_LABEL} as relevance labels. Number the grades of relevance."
        )


# --- declarations ------------------------------------------------------------------------------


def _inner(function: Callable[..., Any], variant: str | None) -> Any:
    """Compile a formula that becomes part of a kernel, even where it is called five times."""
    return jitted(with_own_name(function, variant), nogil=True, forceinline=True)


def _row_kernels(
    value: Callable[..., float], slope: Callable[..., tuple[float, float]], variant: str | None
) -> tuple[Any, Any]:
    fill = make_fill(_inner(slope, variant), variant)
    return fill, make_measure(_inner(value, variant), variant)


def _softmax_kernels(with_reference: bool, variant: str | None) -> tuple[Any, Any, Any]:
    makers = (make_softmax_fill, make_softmax_measure, make_softmax_prepare)
    fill, measure, prepare = (make(with_reference, variant) for make in makers)
    return fill, measure, prepare


def _rank_kernels(variant: str | None) -> tuple[Any, Any]:
    return make_rank_fill(_RANK_RULES, variant), make_rank_measure(_RANK_RULES, variant)


Start = Callable[["Loss", Array, Array], "list[float] | Array"]


@dataclass(frozen=True)
class _Declaration:
    """Everything that makes a loss."""

    task: Task
    metric: str
    kernels: Callable[[str], tuple[Any, ...]]
    start: Start
    link: str = "identity"
    leaf_rule: LeafRule = "newton"
    constant_hessian: bool = False
    convex: bool = True
    exact_hessian: bool = True  # False: the hessian is a bound, or stands for the structure
    check: Callable[[Array, str], None] = _any_target
    remark: str = ""  # on what it needs, for documentation


def _regression(
    metric: str,
    value: Callable[..., float],
    slope: Callable[..., tuple[float, float]],
    start: Start,
    **more: Any,
) -> _Declaration:
    return _Declaration("regression", metric, partial(_row_kernels, value, slope), start, **more)


_LOGISTIC = _Declaration(
    "classification",
    "log loss",
    partial(_row_kernels, _logistic_value, _logistic_slope),
    _start_log_odds,
    link="logit",
)
_DECLARED: dict[str, _Declaration] = {
    "squared_error": _regression(
        "half squared error", _squared_value, _squared_slope, _start_mean, constant_hessian=True
    ),
    "absolute_error": _regression(
        "absolute error",
        _absolute_value,
        _absolute_slope,
        _start_quantiles,
        leaf_rule="quantile",
        constant_hessian=True,
        exact_hessian=False,
    ),
    "huber": _regression(
        "Huber loss", _huber_value, _huber_slope, _start_descent, exact_hessian=False
    ),
    "quantile": _regression(
        "pinball loss",
        _quantile_value,
        _quantile_slope,
        _start_quantiles,
        link="quantiles",
        leaf_rule="quantile",
        constant_hessian=True,
        exact_hessian=False,
    ),
    "log_cosh": _regression(
        "log-cosh loss", _log_cosh_value, _log_cosh_slope, _start_descent, exact_hessian=False
    ),
    "sqrt_absolute": _regression(
        "square root of the absolute error",
        _sqrt_value,
        _sqrt_slope,
        _start_order_statistic,
        leaf_rule="search",
        convex=False,
        remark="needs ``order=1``",
    ),
    "poisson": _regression(
        "half Poisson deviance",
        _poisson_value,
        _poisson_slope,
        _start_log_mean,
        link="log",
        check=_check_counts,
    ),
    "gamma": _regression(
        "half gamma deviance",
        _gamma_value,
        _gamma_slope,
        _start_log_mean,
        link="log",
        check=_check_positive,
    ),
    "tweedie": _regression(
        "half Tweedie deviance",
        _tweedie_value,
        _tweedie_slope,
        _start_log_mean,
        link="log",
        check=_check_counts,
    ),
    "log_loss": _LOGISTIC,
    # two classes have one score in both forms
    "log_loss_k1": replace(_LOGISTIC, remark="one score less than classes"),
    "softmax": _Declaration(
        "classification",
        "log loss",
        partial(_softmax_kernels, False),
        _start_shares,
        link="softmax",
    ),
    "softmax_k1": _Declaration(
        "classification",
        "log loss",
        partial(_softmax_kernels, True),
        _start_odds_to_first,
        link="softmax_to_first",
    ),
    "exponential": _Declaration(
        "classification",
        "exponential loss",
        partial(_row_kernels, _exponential_value, _exponential_slope),
        _start_half_log_odds,
        link="half_logit",
        remark="two classes",
    ),
    "lambdamart": _Declaration(
        "ranking", "1 - NDCG@10", _rank_kernels, _start_zero, convex=False, check=_check_labels
    ),
}
_OF_SEVERAL_CLASSES = {"log_loss": "softmax", "log_loss_k1": "softmax_k1"}


def names(task: Task) -> list[str]:
    """Names of the built-in losses for a task.

    Parameters
    ----------
    task : {"regression", "classification", "ranking"}

    Returns
    -------
    list of str

    Examples
    --------
    >>> import hornbeam as hb
    >>> hb.losses.names("classification")
    ['log_loss', 'log_loss_k1', 'exponential']
    """
    inner = _OF_SEVERAL_CLASSES.values()
    return [name for name, loss in _DECLARED.items() if loss.task == task and name not in inner]


def list_names(task: Task) -> str:
    """Names of the built-in losses for a task with what they need, for documentation."""
    remarks = {name: _DECLARED[name].remark for name in names(task)}
    return ", ".join(f"{name!r} ({said})" if said else repr(name) for name, said in remarks.items())


# --- a loss as the engine uses it ------------------------------------------------------------


@dataclass(frozen=True)
class LossOptions:
    """Parameters of an estimator that only some losses read.

    Parameters
    ----------
    quantile : float or sequence of floats
        Which quantile (or quantiles, ascending) the loss "quantile" predicts.
    huber_quantile : float
        Share of the targets that the loss "huber" treats with squares: delta is this
        quantile of ``|y - median(y)|``. It stays fixed during training.
    tweedie_power : float
        Power of the loss "tweedie": 1 is Poisson, 2 is gamma.

    Examples
    --------
    >>> from hornbeam.losses import LossOptions
    >>> LossOptions(quantile=[0.1, 0.5, 0.9]).tweedie_power
    1.5
    """

    quantile: float | Sequence[float] = 0.5
    huber_quantile: float = 0.9
    tweedie_power: float = 1.5


@dataclass(frozen=True, eq=False)
class Loss:
    """A loss, compiled: its kernels and what goes with them."""

    name: str
    task: Task
    n_scores: int
    settings: Array  # float64, handed to the kernels
    kernels: tuple[Any, ...]  # steps, see kernels/slopes.py: fill, measure, perhaps prepare
    leaf_rule: LeafRule
    constant_hessian: bool
    convex: bool
    metric: str
    link_name: str
    exact_hessian: bool = True
    start_rule: Start = field(default=_start_zero, repr=False)
    target_rule: Callable[[Array, str], None] = field(default=_any_target, repr=False)

    @property
    def fill(self) -> Any:
        """The step that takes the slopes of a score."""
        return self.kernels[0]

    @property
    def measure(self) -> Any:
        """The step that sums up the loss; it is compiled when losses are first summed up."""
        return self.kernels[1]

    @property
    def prepare(self) -> Any:
        """The step that finds what the slopes of several scores share, or None."""
        return self.kernels[2] if len(self.kernels) > 2 else None

    @property
    def leaf_parameter(self) -> float:
        """The quantile of a leaf's residuals (the first one of several)."""
        return float(self.settings[0]) if self.leaf_rule == "quantile" else math.nan

    def start(self, y: Array, weight: Array) -> Array:
        """The constant scores that boosting starts from, one per score."""
        result: Array = np.asarray(self.start_rule(self, y, weight), np.float64)
        return result

    def link(self, scores: Array) -> Array:
        """Predictions on the user's scale, from scores (rows,) or (rows, scores)."""
        return apply_link(self.link_name, scores)

    def check_target(self, y: Array) -> None:
        """Raise a ValueError if the loss is not defined for these targets."""
        self.target_rule(y, self.name)


def check_slopes(loss: Loss, peak: SlopePeak, order: int) -> None:
    """Raise a ValueError if slopes cannot be used; ``peak`` is what fill left of them."""
    if peak.n_bad > 0:
        raise ValueError(
            f"The loss {loss.name!r} returned NaN or infinite gradients or hessians "
            f"({peak.n_bad} of them). Check it at the ends of its range; for a built-in "
            "loss scale y and sample_weight, since slopes must stay below 3e38."
        )
    if order == 2 and peak.least <= 0:
        raise ValueError(
            f"The loss {loss.name!r} has second derivatives that are not positive (as small as "
            f"{peak.least:.2g}), so a Newton step is not allowed; use order=1 (gradient "
            "steps with a line search per leaf)."
        )


@cache
def _built_in_kernels(name: str) -> tuple[Any, ...]:
    return _DECLARED[name].kernels(name)


def _built_in(name: str, shown: str, n_scores: int, settings: Sequence[float]) -> Loss:
    declared = _DECLARED[name]
    kernels = _built_in_kernels(name)
    step_address(kernels[0])  # compiled now
    return Loss(
        shown,
        declared.task,
        n_scores,
        np.array(settings, np.float64),
        kernels,
        declared.leaf_rule,
        declared.constant_hessian,
        declared.convex,
        declared.metric,
        declared.link,
        declared.exact_hessian,
        declared.start,
        declared.check,
    )


def resolve(
    loss: Any,
    *,
    task: Task,
    n_classes: int = 0,
    options: LossOptions | None = None,
    y: Array | None = None,
    weight: Array | None = None,
) -> Loss:
    """The compiled loss for an estimator's ``loss`` parameter.

    ``y`` (float64, classes numbered from 0) and ``weight`` are only read by losses whose
    settings depend on them.
    """
    options = LossOptions() if options is None else options
    if not isinstance(loss, str):
        return _own(loss, task, n_classes)
    if loss not in names(task):
        raise ValueError(
            f"loss must be one of {names(task)}, a function loss(y, score) or an "
            f"hb.losses.OwnLoss for {task}, but is {loss!r}."
        )
    if task == "classification":
        return _for_classes(loss, n_classes)
    if loss == "quantile":
        quantiles = _read_quantiles(options.quantile)
        return _built_in(loss, loss, len(quantiles), quantiles)
    if loss == "tweedie":
        return _tweedie(options.tweedie_power)
    settings: Sequence[float] = (0.0,)
    if loss == "absolute_error":
        settings = (0.5,)
    elif loss == "huber":
        settings = (_huber_delta(options.huber_quantile, y, weight),)
    return _built_in(loss, loss, 1, settings)


def _for_classes(name: str, n_classes: int) -> Loss:
    if n_classes <= 2:
        return _built_in(name, name, 1, (0.0,))
    if name not in _OF_SEVERAL_CLASSES:
        raise ValueError(
            f"The loss {name!r} is for two classes, but y has {n_classes}. Use loss='log_loss'."
        )
    # K scores have a freedom too many: all of them can move together. Stepping each as if the
    # others stood still goes too far by the factor K / (K - 1) (Friedman 2001, eq. 31).
    factor = n_classes / (n_classes - 1.0) if name == "log_loss" else 1.0
    n_scores = n_classes if name == "log_loss" else n_classes - 1
    return _built_in(_OF_SEVERAL_CLASSES[name], name, n_scores, (factor,))


def _read_quantiles(quantile: float | Sequence[float]) -> list[float]:
    try:
        found = np.atleast_1d(np.asarray(quantile, np.float64))
    except (TypeError, ValueError):
        found = np.empty(0)
    quantiles = [float(share) for share in found] if found.ndim == 1 else []
    if not quantiles or not all(0.0 < share < 1.0 for share in quantiles):
        raise ValueError(
            f"quantile must be a number (or a flat list) between 0 and 1, but is {quantile!r}."
        )
    if any(low >= high for low, high in pairwise(quantiles)):
        raise ValueError(f"Several quantiles must be ascending, but quantile is {quantile!r}.")
    return quantiles


def _huber_delta(share: float, y: Array | None, weight: Array | None) -> float:
    """Delta from the residuals of the median; their mean if most of them are zero."""
    if not 0.0 < share < 1.0:
        raise ValueError(f"huber_quantile must be between 0 and 1, but is {share!r}.")
    if y is None:
        raise ValueError("The loss 'huber' needs y to choose its delta.")
    weight = np.broadcast_to(1.0, len(y)) if weight is None else weight
    size = np.abs(y - weighted_quantile(y, weight, 0.5))
    return weighted_quantile(size, weight, share) or weighted_mean(size, weight) or 1.0


def _tweedie(power: float) -> Loss:
    if not 1.0 <= power <= 2.0:
        raise ValueError(
            f"tweedie_power must be from 1 (Poisson) to 2 (gamma), but is {power!r}; for 0 use "
            "loss='squared_error'."
        )
    ends = {1.0: "poisson", 2.0: "gamma"}
    return _built_in(ends.get(float(power), "tweedie"), "tweedie", 1, (power,))


# --- a user's own loss -------------------------------------------------------------------------


@dataclass(frozen=True)
class OwnLoss:
    """A loss of your own, of one score per row.

    Give ``value``, or ``gradient`` (and best ``hessian``), as plain functions of two
    floats, ``y`` and ``score``, in the part of Python that Numba understands. What is
    missing is made of what is there: derivatives by the rules of calculus, or by differences
    (to about 1e-8 of their size) where a function is used that there is no rule for; a
    value by integrating the gradient from 0.

    Parameters
    ----------
    value : function(y, score), optional
        What a score costs.
    gradient : function(y, score), optional
        Its derivative by the score.
    hessian : function(y, score), optional
        The second derivative; it must be positive for ``order=2``.
    link : {"identity", "log", "logit"}, optional
        From scores to predictions; by default "logit" for a classifier (where y is 0 or
        1), else "identity".
    start : float or "search"
        The score that boosting starts from; "search" takes the best constant.
    name : str, optional
        What the loss is called in messages and histories.

    Examples
    --------
    >>> import hornbeam as hb
    >>> def gradient(y, score):
    ...     return score - y
    >>> def hessian(y, score):
    ...     return 1.0
    >>> hb.losses.OwnLoss(gradient=gradient, hessian=hessian, name="least squares").name
    'least squares'
    """

    value: Callable[[float, float], float] | None = None
    gradient: Callable[[float, float], float] | None = None
    hessian: Callable[[float, float], float] | None = None
    link: str | None = None
    start: float | str = "search"
    name: str = ""

    def __post_init__(self) -> None:
        if self.value is None and self.gradient is None:
            raise ValueError("An OwnLoss needs value or gradient: a function of y and score.")
        if self.link not in (None, "identity", "log", "logit"):
            raise ValueError(
                f"link must be 'identity', 'log', 'logit' or None, but is {self.link!r}."
            )
        if self.start != "search" and (
            isinstance(self.start, str) or not math.isfinite(self.start)
        ):
            raise ValueError(f"start must be a finite number or 'search', but is {self.start!r}.")
        if not self.name:
            first = self.gradient if self.value is None else self.value
            object.__setattr__(self, "name", str(getattr(first, "__name__", "own loss")))


def _own(loss: Any, task: Task, n_classes: int) -> Loss:
    if not isinstance(loss, OwnLoss):
        if not callable(loss):
            raise TypeError(
                f"loss must be a name, a function loss(y, score) or an hb.losses.OwnLoss, but is "
                f"a {type(loss).__name__}."
            )
        loss = OwnLoss(loss)
    if task == "ranking" or n_classes > 2:
        what = "ranking" if task == "ranking" else f"{n_classes} classes"
        raise ValueError(
            f"The loss {loss.name!r} has one score per row and cannot be used for {what}; use "
            f"one of {names(task)}."
        )
    link = loss.link or ("logit" if task == "classification" else "identity")
    if task == "classification" and link != "logit":
        raise ValueError(
            f"The loss {loss.name!r} has the link {link!r}, but a classifier predicts "
            "probabilities: use link='logit'."
        )
    kernels = _own_kernels(loss.name, loss.value, loss.gradient, loss.hessian)
    return Loss(
        name=loss.name,
        task=task,
        n_scores=1,
        settings=np.zeros(1),
        kernels=kernels,
        leaf_rule="newton",
        constant_hessian=False,
        convex=False,  # nobody knows
        metric=loss.name,
        link_name=link,
        start_rule=partial(_start_own, loss.start),
    )


def _start_own(start: float | str, loss: Loss, y: Array, weight: Array) -> list[float]:
    if isinstance(start, str):
        return [_best_constant(loss, y, weight)]
    return [float(start)]


_MOST_TARGETS = 10_000  # that a start value is searched with


def _best_constant(loss: Loss, y: Array, weight: Array) -> float:
    """The constant score of the least total loss, by Brent's method around a guess."""
    if loss.link_name == "logit":
        guess, width = _start_log_odds(loss, y, weight)[0], 1.0
    else:
        guess = weighted_quantile(y, weight, 0.5)
        width = float(np.max(np.abs(y - guess))) / 4.0 or 1.0
        if loss.link_name == "log":
            guess, width = _start_log_mean(loss, y, weight)[0], 1.0

    y, weight = _condensed(y, weight)

    def total(score: float) -> float:
        return total_loss(loss, y, weight, np.full(len(y), score))

    with np.errstate(all="ignore"):
        try:
            found = float(scipy.optimize.minimize_scalar(total, (guess, guess + width)).x)
        except RuntimeError:  # the search for a valley gave up
            return guess
    near = abs(found - guess) <= 1e9 * (width + abs(guess))  # else it falls for ever
    return found if near and total(found) <= total(guess) else guess


def _condensed(y: Array, weight: Array) -> tuple[Array, Array]:
    """The distinct targets and their weights; neighbours are averaged if there are many."""
    distinct, place = np.unique(y, return_inverse=True)
    if len(distinct) > _MOST_TARGETS:
        place = place * _MOST_TARGETS // len(distinct)
    total = np.bincount(place, weight)
    return np.bincount(place, weight * y) / total, total


_FORM = (
    "It must be made of functions of two numbers, (y, score), that return a number, in the part "
    "of Python that Numba understands."
)


@cache
def _own_kernels(
    name: str,
    value: Callable[..., float] | None,
    gradient: Callable[..., float] | None,
    hessian: Callable[..., float] | None,
) -> tuple[Any, Any]:
    """Compile a user's functions into kernels, kept on disk if they stand for themselves."""
    functions = [getattr(function, "py_func", function) for function in (value, gradient, hessian)]
    for function in functions:
        if function is not None and not hasattr(function, "__code__"):
            raise TypeError(f"The loss {name!r} must be made of plain functions, not {function!r}.")
        if function is not None and not takes(function, 2):
            raise TypeError(f"The loss {name!r} does not take two numbers. {_FORM}")
    prints = ["" if function is None else fingerprint(function) for function in functions]
    known = [mark for mark in prints if mark is not None]
    variant = "own " + " ".join(f"<{mark}>" for mark in known) if len(known) == 3 else None
    inner = partial(_inner, variant=variant)
    parts = [None if f is None else inner(_with_our_exp(f)) for f in functions]
    try:
        measure = make_measure(inner(_own_value(*parts[:2])), variant)
        step_address(measure)
        return _own_fill(functions, parts, variant), measure
    except NOT_COMPILED as error:
        given = [function for function in functions if function is not None]
        raise TypeError(
            f"The loss {name!r} could not be compiled: {what_is_wrong(error, given)}. {_FORM}"
        ) from None


def _own_fill(functions: Sequence[Any], parts: Sequence[Any], variant: str | None) -> Any:
    """The kernel of the slopes: as they are given, by calculus, or else by differences."""
    rules = [_by_differences(*parts)]
    if functions[1] is None or functions[2] is None:
        rules.insert(0, _by_calculus(functions, parts, variant))
    for number, rule in enumerate(rules):
        own = None if variant is None else f"{variant} {rule.__name__}"
        fill = make_fill(_inner(rule, own), own)
        try:
            step_address(fill)
        except NOT_COMPILED:
            if number == len(rules) - 1:
                raise
        else:
            break
    return fill


def _with_our_exp(function: Callable[..., float]) -> Callable[..., float]:
    """A copy of a function whose exponentials and logarithms are those of the built-in losses."""
    names_ = dict(function.__globals__)
    for name in function.__code__.co_names:
        module = names_.get(name)
        if module is math or module is np:
            names_[name] = _module_with_our_exp(module)
    copy = types.FunctionType(
        function.__code__, names_, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
    return copy


@cache
def _module_with_our_exp(module: types.ModuleType) -> types.ModuleType:
    copy = types.ModuleType(module.__name__)
    copy.__dict__.update(vars(module))
    copy.__dict__.update(exp=exp, log=log)
    return copy


# Places and weights of the Gauss-Legendre rule on [0, 1].
_PLACES, _WEIGHTS = (tuple(0.5 * half) for half in np.polynomial.legendre.leggauss(16))
_NODES = tuple(
    (0.5 + float(place), float(weight)) for place, weight in zip(_PLACES, _WEIGHTS, strict=True)
)


def _own_value(value: Any, gradient: Any) -> Callable[..., float]:
    if value is not None:

        def given(y: float, score: float, settings: Array, k: int) -> float:
            return float(1.0 * value(y, score))

        return given

    def integral(y: float, score: float, settings: Array, k: int) -> float:
        total = 0.0
        for place, weight in _NODES:
            total += weight * float(1.0 * gradient(y, place * score))
        return total * score

    return integral


def _by_calculus(
    functions: Sequence[Any], parts: Sequence[Any], variant: str | None
) -> Callable[..., tuple[float, float]]:
    """Slopes by the rules of differentiation."""
    from hornbeam.kernels.boosting.jets import make_jet, to_jet  # few need to wait for its rules

    value, gradient, given = functions[0], functions[1], parts[1]
    if gradient is not None:
        gradient = _inner(gradient, variant)

        def hessian_by_calculus(
            y: float, score: float, settings: Array, k: int
        ) -> tuple[float, float]:
            jet = to_jet(gradient(y, make_jet(score, 1.0, 0.0)))
            return float(1.0 * given(y, score)), jet.first

        return hessian_by_calculus

    value = _inner(value, variant)

    def slopes_by_calculus(y: float, score: float, settings: Array, k: int) -> tuple[float, float]:
        jet = to_jet(value(y, make_jet(score, 1.0, 0.0)))
        return jet.first, jet.second

    return slopes_by_calculus


def _by_differences(value: Any, gradient: Any, hessian: Any) -> Callable[..., tuple[float, float]]:
    """Slopes as they are given; those that are not are made of differences."""
    if gradient is not None and hessian is not None:

        def given(y: float, score: float, settings: Array, k: int) -> tuple[float, float]:
            return float(1.0 * gradient(y, score)), float(1.0 * hessian(y, score))

        return given
    if gradient is not None:

        def of_gradient(y: float, score: float, settings: Array, k: int) -> tuple[float, float]:
            # the step that balances rounding and truncation of a first difference: eps^(1/3)
            step = 2.0**-17 * choose(abs(score) > 1.0, abs(score), 1.0)
            rise = float(1.0 * gradient(y, score + step)) - float(1.0 * gradient(y, score - step))
            return float(1.0 * gradient(y, score)), rise / (2.0 * step)

        return of_gradient

    def of_value(y: float, score: float, settings: Array, k: int) -> tuple[float, float]:
        # five points and a step near eps^(1/6): both differences are good to about 1e-9
        step = 2.0**-9 * choose(abs(score) > 16.0, 0.0625 * abs(score), 1.0)
        below, above = 1.0 * value(y, score - step), 1.0 * value(y, score + step)
        low, high = 1.0 * value(y, score - 2.0 * step), 1.0 * value(y, score + 2.0 * step)
        first = (8.0 * (above - below) - (high - low)) / (12.0 * step)
        bend = 16.0 * (above + below) - (high + low) - 30.0 * value(y, score)
        return float(first), float(bend / (12.0 * step * step))

    return of_value


# --- calls of the kernels from Python ----------------------------------------------------------


def _loss_rows(
    loss: Loss, y: Array, weight: Array, scores: Array, order: int, groups: Array | None
) -> tuple[LossRows, int]:
    """What the kernels of a loss work on (order 0: no slopes), and the number of units."""
    n_rows = len(y)
    shared = weight.strides == (0,) or n_rows == 1
    if groups is None:
        groups, largest = np.zeros(0, np.int64), 0
        n_units = n_rows
    else:
        largest = int(np.max(np.diff(groups), initial=0))
        n_units = len(groups) - 1
    prepare = loss.prepare if order else None
    rows = LossRows(
        target=np.ascontiguousarray(y, np.float64),
        weight=np.ascontiguousarray(weight[:1] if shared else weight, np.float64),
        score=np.ascontiguousarray(scores, np.float64).reshape(-1),
        slope=np.empty(2 * n_rows if order else 0, np.float32),
        settings=loss.settings,
        groups=np.ascontiguousarray(groups, np.int64),
        scratch=np.empty(4 * largest if prepare is None else n_rows),
        sums=np.empty(0),
        n_rows=n_rows,
        n_scores=loss.n_scores,
        weight_step=0 if shared else 1,
        order=order,
        peak=NEW_PEAK,
        fill=loss.fill,
        prepare=prepare,
        measure=None if order else loss.measure,
    )
    return rows, n_units


def slopes_of(
    loss: Loss,
    y: Array,
    weight: Array,
    scores: Array,
    order: int = 2,
    groups: Array | None = None,
) -> tuple[Array, SlopePeak]:
    """Slopes (scores, rows, 2) in one thread, and their peak; scores are score-major."""
    rows, n_units = _loss_rows(loss, y, weight, scores, order, groups)
    slots, slopes = make_slots(rows), np.empty((loss.n_scores, len(y), 2), np.float32)
    if rows.prepare is not None:
        call_prepare(slots, 0, n_units)
    for k in range(loss.n_scores):
        set_fields(slots, 0, LossRows, which=k)
        call_fill(slots, 0, n_units)
        slopes[k] = rows.slope.reshape(-1, 2)
    return slopes, read_notes(slots, place_of(LossRows, "peak"), SlopePeak)


def total_loss(
    loss: Loss, y: Array, weight: Array, scores: Array, groups: Array | None = None
) -> float:
    """Sum of weight times loss in one thread; scores are score-major."""
    rows, n_units = _loss_rows(loss, y, weight, scores, 0, groups)
    return float(call_measure(make_slots(rows), 0, n_units))


def best_order_statistic(loss: Loss, rest: Array, weight: Array) -> float:
    """The best constant among at most 64 evenly spaced order statistics of ``rest``.

    For losses that are concave on both sides of the target: their minima are targets.
    """
    values = np.sort(rest[weight > 0.0])
    places = np.linspace(0, len(values) - 1, min(64, len(values))).round().astype(np.int64)
    values = np.unique(values[places])
    totals = [total_loss(loss, rest, weight, np.full(len(rest), value)) for value in values]
    return float(values[int(np.argmin(totals))])

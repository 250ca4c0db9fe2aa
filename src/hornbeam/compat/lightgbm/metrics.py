"""The metrics of LightGBM by their names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from hornbeam.compat import metrics as m
from hornbeam.compat.metrics import Measure, Metric
from hornbeam.dtypes import Array

ALIASES = {
    "mean_absolute_error": "l1", "mae": "l1", "regression_l1": "l1",
    "mean_squared_error": "l2", "mse": "l2", "regression_l2": "l2", "regression": "l2",
    "root_mean_squared_error": "rmse", "l2_root": "rmse",
    "mean_absolute_percentage_error": "mape",
    "binary": "binary_logloss",
    "multiclass": "multi_logloss", "softmax": "multi_logloss",
    "lambdarank": "ndcg", "mean_average_precision": "map",
}  # fmt: skip
_LOSSES: dict[str, Measure] = {
    "l1": m.mean(m.absolute),
    "l2": m.mean(m.squared),
    "rmse": m.mean(m.squared, root=True),
    "mape": m.mean(m.relative_from_one),
    "poisson": m.mean(m.poisson),
    "gamma": m.mean(m.gamma),
    "binary_logloss": m.mean(m.log_loss),
    "binary_error": m.mean(partial(m.wrong, 0.5)),
    "multi_logloss": m.mean(m.log_loss_of_several),
    "multi_error": m.mean(m.wrong_of_several),
}
_AREAS: dict[str, Measure] = {"auc": m.area, "average_precision": m.average_precision}
_WITH_NUMBER: dict[str, tuple[Callable[[Any], Measure], str, float]] = {
    "quantile": (lambda at: m.mean(partial(m.pinball, at)), "alpha", 0.9),
    "huber": (lambda at: m.mean(partial(m.huber, at)), "alpha", 0.9),
    "tweedie": (lambda at: m.mean(partial(m.tweedie, at)), "tweedie_variance_power", 1.5),
}
_RANKED = {"ndcg": m.ndcg, "map": m.mean_precision}
NAMES = (*_LOSSES, *_AREAS, *_WITH_NUMBER, *_RANKED)


def read_metrics(
    eval_metric: Any, metric: Any, usual: str, eval_at: Sequence[int], known: dict[str, Any]
) -> list[Metric]:
    """The metrics of ``fit``, those of the constructor or else the usual one, and own functions."""
    asked, named = _as_list(eval_metric), _as_list(usual if metric is None else metric)
    names = [one for one in asked if isinstance(one, str)] + named
    found: dict[str, Metric] = {}
    for name in names:
        found |= {one.name: one for one in _named(str(name), eval_at, known)}
    for function in asked:
        if not isinstance(function, str):
            own = _own(function)
            found[own.name] = own
    return list(found.values())


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple, set)) else [value]


def _named(given: str, eval_at: Sequence[int], known: dict[str, Any]) -> list[Metric]:
    if given.lower() in ("none", "null", "custom", "na", ""):
        return []
    base, _, places = given.partition("@")
    name = ALIASES.get(base, base)
    if name in _LOSSES:
        return [Metric(name, _LOSSES[name])]
    if name in _AREAS:
        return [Metric(name, _AREAS[name], True)]
    if name in _WITH_NUMBER:
        make, parameter, usual = _WITH_NUMBER[name]
        number = known.get(parameter)
        return [Metric(name, make(usual if number is None else float(number)))]
    if name in _RANKED:
        tops = [int(top) for top in places.split(",")] if places else eval_at
        return [Metric(f"{name}@{top}", m.ranked(_RANKED[name], top), True) for top in tops]
    raise ValueError(
        f"eval_metric={given!r} is not measured here. There are {', '.join(NAMES)}, or pass a "
        "function metric(y_true, y_pred) that returns (name, value, is_higher_better)."
    )


def _own(function: Any) -> Metric:
    """A function of targets and predictions, which says what it is called when it answers."""
    if not callable(function):
        raise TypeError(f"eval_metric must be names or functions, but holds {function!r:.60}.")
    n_arguments = len(inspect.signature(function).parameters)

    def measure(y: Array, p: Array, weight: Array | None, group: Array | None) -> float:
        answer = function(*(y, p, weight, group)[:n_arguments])
        if not isinstance(answer, tuple) or len(answer) != 3:
            raise TypeError(
                f"The function {metric.name!r} of eval_metric must return (name, value, "
                f"is_higher_better), but returned {answer!r:.60}. For several metrics pass several "
                "functions."
            )
        metric.name, metric.larger_is_better = str(answer[0]), bool(answer[2])
        return float(answer[1])

    metric = Metric(str(getattr(function, "__name__", "metric")), measure)
    return metric

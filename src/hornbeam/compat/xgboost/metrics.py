"""The metrics of XGBoost by their names."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from hornbeam.compat import metrics as m
from hornbeam.compat.metrics import Measure, Metric
from hornbeam.dtypes import Array

_NUMBERS: dict[str, Measure] = {
    "rmse": m.mean(m.squared, root=True),
    "rmsle": m.mean(m.squared_log, root=True),
    "mae": m.mean(m.absolute),
    "mape": m.mean(m.relative),
    "mphe": m.mean(m.pseudo_huber),
    "poisson-nloglik": m.mean(m.poisson_likelihood),
    "gamma-nloglik": m.mean(m.gamma),
    "gamma-deviance": m.mean(m.gamma_deviance),
    "logloss": m.mean(m.log_loss),
    "mlogloss": m.mean(m.log_loss_of_several),
    "merror": m.mean(m.wrong_of_several),
}
_LARGER: dict[str, Measure] = {"auc": m.area, "aucpr": m.area_of_precision}
_NUMBERED: dict[str, tuple[Callable[[Any], Measure], Any, bool]] = {  # usual number, up
    "error": (lambda at: m.mean(partial(m.wrong, at)), 0.5, False),
    "tweedie-nloglik": (lambda at: m.mean(partial(m.tweedie, at)), 1.5, False),
    "quantile": (lambda at: m.mean(partial(m.pinball, at)), 0.5, False),
    "ndcg": (lambda top: m.ranked(m.ndcg, top), None, True),
    "map": (lambda top: m.ranked(m.mean_precision, top), None, True),
}

NAMES = (*_NUMBERS, *_LARGER, *_NUMBERED)

USUAL = {
    "reg:squarederror": "rmse",
    "reg:absoluteerror": "mae",
    "reg:quantileerror": "quantile",
    "reg:gamma": "gamma-nloglik",
    "reg:tweedie": "tweedie-nloglik@{tweedie_variance_power}",
    "count:poisson": "poisson-nloglik",
    "binary:logistic": "logloss",
    "multi:softprob": "mlogloss",
    "multi:softmax": "mlogloss",
    "rank:ndcg": "ndcg@32",
}


def read_metrics(given: Any, usual: str) -> list[Metric]:
    """The metrics that ``eval_metric`` names; the usual one of the objective if it is None."""
    several = [usual] if given is None else given
    several = several if isinstance(several, (list, tuple)) else [several]
    return list({metric.name: metric for metric in map(read_metric, several)}.values())


def read_metric(given: Any) -> Metric:
    """One metric, by its name or as a function of targets and predictions."""
    if callable(given):
        return Metric(str(getattr(given, "__name__", type(given).__name__)), _own(given))
    name, _, number = str(given).partition("@")
    if name in _NUMBERS and not number:
        return Metric(name, _NUMBERS[name])
    if name in _LARGER and not number:
        return Metric(name, _LARGER[name], True)
    if name not in _NUMBERED:
        raise ValueError(
            f"eval_metric={given!r} is not measured here. There are {', '.join(NAMES)}, or pass a "
            "function metric(y_true, y_pred), such as those of sklearn.metrics."
        )
    make, at, larger = _NUMBERED[name]
    return Metric(str(given), make(float(number.rstrip("-")) if number else at), larger)


def _own(function: Callable[..., Any]) -> Measure:
    def measure(y: Array, p: Array, weight: Array | None, group: Array | None) -> float:
        options = {} if weight is None else {"sample_weight": weight}
        return float(function(y, p, **options))

    return measure

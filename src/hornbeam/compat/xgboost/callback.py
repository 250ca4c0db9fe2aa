"""Callbacks of XGBoost: what is told of every round of its estimators, and may end the fit."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

EvalsLog = dict[str, dict[str, list[float]]]

_LARGER_IS_BETTER = ("auc", "aucpr", "pre", "map", "ndcg")


class TrainingCallback:
    """To be derived from: override what is to be heard."""

    def before_training(self, model: Any) -> Any:
        """Hear that the fit begins; ``model`` is the estimator."""
        return model

    def after_training(self, model: Any) -> Any:
        """Hear that the fit has ended."""
        return model

    def before_iteration(self, model: Any, epoch: int, evals_log: EvalsLog) -> bool:
        """Hear that a round begins; True ends the fit."""
        return False

    def after_iteration(self, model: Any, epoch: int, evals_log: EvalsLog) -> bool:
        """Hear that a round has ended; True ends the fit."""
        return False


class EarlyStopping(TrainingCallback):
    """Stop where a metric gets no better.

    Parameters
    ----------
    rounds : int
        Rounds without improvement after which to stop.
    metric_name, data_name : str or None
        What to look at; the last metric of the last rows.
    maximize : bool or None
        Whether more is better; None: as the name of the metric says.
    save_best : bool or None
        Whether the rounds after the best one are dropped, which they are anyway.
    min_delta : float
        The least improvement that counts.

    Examples
    --------
    >>> from hornbeam.compat.xgboost import XGBRegressor, callback
    >>> stop = callback.EarlyStopping(rounds=3, save_best=True)
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0]
    >>> model = XGBRegressor(callbacks=[stop]).fit(X, y, eval_set=[(X, y)], verbose=False)
    >>> model.best_iteration < 100
    True
    """

    def __init__(
        self,
        *,
        rounds: int,
        metric_name: str | None = None,
        data_name: str | None = None,
        maximize: bool | None = None,
        save_best: bool | None = False,
        min_delta: float = 0.0,
    ) -> None:
        if min_delta < 0:
            raise ValueError("min_delta must be greater or equal to 0.")
        self.rounds, self.metric_name, self.data = rounds, metric_name, data_name
        self.maximize, self.save_best, self.min_delta = maximize, save_best, min_delta
        self.best_iteration: int | None = None
        self.best_score = float("nan")

    def before_training(self, model: Any) -> Any:
        """Forget an earlier fit."""
        self.best_iteration, self.best_score = None, float("nan")
        return model

    def after_iteration(self, model: Any, epoch: int, evals_log: EvalsLog) -> bool:
        """Compare the figure of the round with the best one."""
        if not evals_log:
            raise ValueError("Must have at least 1 validation dataset for early stopping.")
        data = _named(evals_log, self.data, "dataset")
        metric = _named(evals_log[data], self.metric_name, "metric")
        score = evals_log[data][metric][-1]
        if self.best_iteration is None or self._is_better(score, metric):
            self.best_iteration, self.best_score = epoch, score
        return epoch - self.best_iteration >= self.rounds

    def _is_better(self, score: float, metric: str) -> bool:
        larger = self.maximize
        if larger is None:
            larger = metric != "mape" and metric.startswith(_LARGER_IS_BETTER)
        gain = operator.sub(score, self.best_score) if larger else self.best_score - score
        return gain > self.min_delta


def _named(log: dict[str, Any], name: str | None, what: str) -> str:
    """A key of what was evaluated: the last one if no name is given."""
    if name is None:
        return list(log)[-1]
    if name not in log:
        raise ValueError(f"No {what} named: {name}. There are {list(log)}.")
    return name


class EvaluationMonitor(TrainingCallback):
    """Print the figures of every so many rounds.

    Parameters
    ----------
    rank : int
        Not used: there is one process.
    period : int
        Rounds between two lines.
    show_stdv : bool
        Not used: there is no cross-validation.
    logger : function
        What prints a line.
    """

    def __init__(
        self,
        rank: int = 0,
        period: int = 1,
        show_stdv: bool = False,
        logger: Callable[[str], None] = print,
    ) -> None:
        if period < 1:
            raise ValueError(f"period must be at least 1, but is {period}.")
        self.period, self.logger = period, logger
        self._unsaid = ""

    def after_iteration(self, model: Any, epoch: int, evals_log: EvalsLog) -> bool:
        """Print the figures, or keep them for the end."""
        figures = "".join(
            f"\t{data}-{metric}:{scores[-1]:.5f}"
            for data, metrics in evals_log.items()
            for metric, scores in metrics.items()
        )
        self._unsaid = f"[{epoch}]{figures}" if figures else ""
        if epoch % self.period == 0:
            self._say()
        return False

    def after_training(self, model: Any) -> Any:
        """Print the last round."""
        self._say()
        return model

    def _say(self) -> None:
        if self._unsaid:
            self.logger(self._unsaid)
        self._unsaid = ""


class LearningRateScheduler(TrainingCallback):
    """There is no such thing here: all rounds have one learning rate."""

    def __init__(self, learning_rates: Callable[[int], float] | Sequence[float]) -> None:
        _refuse(
            "LearningRateScheduler has no equivalent here, since all rounds have one learning "
            "rate: set learning_rate to the smallest and n_estimators to more rounds."
        )


class TrainingCheckPoint(TrainingCallback):
    """There is no such thing here: a fit leaves a whole model or none."""

    def __init__(self, directory: Any, *args: Any, **options: Any) -> None:
        _refuse(
            "TrainingCheckPoint has no equivalent here: fit some rounds, save_model, and go on "
            "with fit(..., xgb_model=model)."
        )


def _refuse(sentence: str) -> NoReturn:
    raise NotImplementedError(sentence)

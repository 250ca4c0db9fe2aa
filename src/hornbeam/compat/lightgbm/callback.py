"""Callbacks of LightGBM: what is told of every round of its estimators, and may end the fit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

TRAINING = "training"  # rows that are learnt from


class EvalResult(NamedTuple):
    """One figure of one round."""

    dataset_name: str
    metric_name: str
    metric_value: float
    maximize: bool


@dataclass
class CallbackEnv:
    """What a callback is told."""

    model: Any
    params: dict[str, Any]
    iteration: int
    begin_iteration: int
    end_iteration: int
    evaluation_result_list: list[EvalResult]
    learnt: Collection[str] = ()  # names of the rows that are learnt from


class EarlyStopException(Exception):
    """Raised by a callback to end the fit.

    Parameters
    ----------
    best_iteration : int
        The round that is kept as the last one, from 0.
    best_score : list of EvalResult
        The figures of that round.
    """

    def __init__(self, best_iteration: int, best_score: Sequence[Any]) -> None:
        super().__init__(best_iteration, best_score)
        self.best_iteration = best_iteration
        self.best_score = [EvalResult(*score) for score in best_score]


class early_stopping:
    """Stop where a metric on rows that are not learnt from gets no better.

    Parameters
    ----------
    stopping_rounds : int
        Rounds without improvement after which to stop.
    first_metric_only : bool
        Look at the first metric only, instead of at each.
    verbose : bool
        Print what was found.
    min_delta : float or list of float
        The least improvement that counts; a list has one for each metric.

    Examples
    --------
    >>> from hornbeam.compat import lightgbm as lgb
    >>> X, y = [[float(i)] for i in range(40)], [float(i % 7) for i in range(40)]
    >>> model = lgb.LGBMRegressor(min_child_samples=2)
    >>> stop = lgb.early_stopping(3, verbose=False)
    >>> model = model.fit(X[:30], y[:30], eval_set=[(X[30:], y[30:])], callbacks=[stop])
    >>> model.best_iteration_ < 100
    True
    """

    order = 30
    before_iteration = False

    def __init__(
        self,
        stopping_rounds: int,
        first_metric_only: bool = False,
        verbose: bool = True,
        min_delta: float | list[float] = 0.0,
    ) -> None:
        if not isinstance(stopping_rounds, int):
            raise TypeError(f"stopping_rounds must be an integer, but is {stopping_rounds!r}.")
        deltas = min_delta if isinstance(min_delta, list) else [min_delta]
        if any(delta < 0 for delta in deltas):
            raise ValueError("Values for early stopping min_delta must be non-negative.")
        self.stopping_rounds, self.first_metric_only = stopping_rounds, first_metric_only
        self.verbose, self.deltas = verbose, deltas
        self.best: dict[tuple[str, str], tuple[int, list[EvalResult]]] = {}

    def __call__(self, env: CallbackEnv) -> None:
        """Compare the figures of a round with the best ones."""
        if self.stopping_rounds <= 0:
            return
        results = env.evaluation_result_list
        if not results:
            raise ValueError(
                "For early stopping, at least one dataset and eval metric is required for "
                "evaluation"
            )
        if env.iteration == env.begin_iteration:
            self.best = {}
            self._say(f"Training until validation scores don't improve for {self.stopping_rounds} "
                "rounds")  # fmt: skip
        names = list(dict.fromkeys(result.metric_name for result in results))
        if len(self.deltas) not in (1, len(names)):
            raise ValueError("Must provide a single value for min_delta or as many as metrics.")
        for result in results:
            delta = self.deltas[names.index(result.metric_name) if len(self.deltas) > 1 else 0]
            self._compare(result, results, env.iteration, delta)
        last = env.iteration == env.end_iteration - 1
        for result in results:
            if result.dataset_name in env.learnt:
                continue
            if self.first_metric_only and result.metric_name != names[0]:
                continue
            number, scores = self.best[result[:2]]
            if last or env.iteration - number >= self.stopping_rounds:
                start = "Did not meet early stopping. Best" if last else "Early stopping, best"
                self._say(f"{start} iteration is:\n[{number + 1}]\t{in_words(scores)}")
                raise EarlyStopException(number, scores)

    def _compare(
        self, result: EvalResult, results: list[EvalResult], iteration: int, delta: float
    ) -> None:
        key = result[:2]
        if key in self.best:
            reached = next(score for score in self.best[key][1] if score[:2] == key).metric_value
            gain = result.metric_value - reached
            if (gain if result.maximize else -gain) <= delta:
                return
        self.best[key] = iteration, results

    def _say(self, sentence: str) -> None:
        if self.verbose:
            print(sentence, flush=True)


def in_words(results: Sequence[EvalResult]) -> str:
    """Figures as LightGBM prints them."""
    return "\t".join(f"{r.dataset_name}'s {r.metric_name}: {r.metric_value:g}" for r in results)


def log_evaluation(period: int = 1, show_stdv: bool = True) -> Callable[[CallbackEnv], None]:
    """Return a callback that prints the figures of every so many rounds.

    Parameters
    ----------
    period : int
        Rounds between two lines; 0: none.
    show_stdv : bool
        Not used: there is no cross-validation.
    """

    def log(env: CallbackEnv) -> None:
        if period > 0 and env.evaluation_result_list and (env.iteration + 1) % period == 0:
            print(f"[{env.iteration + 1}]\t{in_words(env.evaluation_result_list)}", flush=True)

    log.order = 10  # type: ignore[attr-defined]
    return log


def record_evaluation(eval_result: dict[str, dict[str, list[Any]]]) -> Callable[..., None]:
    """Return a callback that notes all figures in a dict: rows, metric, a list.

    Parameters
    ----------
    eval_result : dict
        What it holds before is dropped.
    """
    if not isinstance(eval_result, dict):
        raise TypeError("eval_result should be a dictionary")

    def record(env: CallbackEnv) -> None:
        if env.iteration == env.begin_iteration:
            eval_result.clear()
        for result in env.evaluation_result_list:
            own = eval_result.setdefault(result.dataset_name, {})
            own.setdefault(result.metric_name, []).append(result.metric_value)

    record.order = 20  # type: ignore[attr-defined]
    return record


def reset_parameter(**kwargs: Any) -> Callable[[CallbackEnv], None]:
    """Raise an error: there is no such thing here."""
    raise NotImplementedError(
        f"reset_parameter({', '.join(kwargs)}) has no equivalent here, since all rounds have the "
        "same parameters: set learning_rate to the smallest and n_estimators to more rounds."
    )

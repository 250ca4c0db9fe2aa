"""What the adapters of XGBoost and LightGBM share: rows to evaluate, measured round by round.

Both measure several metrics on several sets of rows, let callbacks look at the figures, and keep
all rounds up to the best one. Here the engine is told to score the rows by their metrics
(`boosting.scoring`), what listens after each round may end the fit, and the engine is cut to the
rounds that are to be kept.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier

from hornbeam.boosting.engine import RoundReport
from hornbeam.boosting.linear import LinearRounds
from hornbeam.compat.engine import WithEngine
from hornbeam.compat.metrics import Metric
from hornbeam.compat.translation import Translation
from hornbeam.dtypes import Array
from hornbeam.errors import ModelFileError
from hornbeam.tree.ensemble import Ensemble
from hornbeam.tree.importance import relative_gain

EvalsLog = dict[str, dict[str, list[float]]]  # rows, metric, a figure per round


@dataclass(frozen=True)
class EvalSet:
    """Rows to evaluate, and what they are called."""

    name: str
    X: Any
    y: Any
    weight: Any = None
    group: Any = None
    qid: Any = None
    learnt: bool = False  # whether they are the rows that are learnt from


@dataclass
class Listener:
    """Told of every round by the engine: keeps the figures, and asks whether to go on.

    Attributes
    ----------
    metrics : sequence of Metric
    after : function
        Called with the number of the round, from 0, and all figures; True ends the fit.
    n_before : int
        Rounds of the model that the fit goes on with.
    log : dict
        All figures.
    """

    metrics: Sequence[Metric]
    after: Callable[[int, EvalsLog], bool]
    n_before: int = 0
    log: EvalsLog = field(default_factory=dict)
    rows: dict[str, str] = field(default_factory=dict)  # names of rows by those of the engine

    def __post_init__(self) -> None:
        self.names = [metric.name for metric in self.metrics]  # some change with the first answer

    def __call__(self, report: RoundReport) -> bool:
        """Note a round; True ends the fit."""
        for key, scores in report.scores.items():
            rows = self.rows[key]
            for metric, name in zip(self.metrics, self.names, strict=True):
                own = self.log.setdefault(rows, {}).setdefault(metric.name, [])
                own.append(scores[name])
        return self.after(report.number - 1 - self.n_before, self.log)


class BoosterAdapter(WithEngine):
    """What a class that stands for a booster of another library can do.

    ``engine_`` is the fitted estimator of ours, with all that it can do and they cannot.
    """

    _translation: ClassVar[Translation]
    _aliases: ClassVar[Mapping[str, str]] = {}

    kwargs: dict[str, Any]  # what the constructor was given besides

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all parameters, those given besides the named ones as well.

        Parameters
        ----------
        deep : bool

        Returns
        -------
        dict
        """
        return {**super().get_params(deep), **self.kwargs}

    def set_params(self, **params: Any) -> Any:
        """Set parameters; what the constructor does not name is kept beside the others.

        Parameters
        ----------
        **params

        Returns
        -------
        self
        """
        named = self._get_param_names()
        for name, value in params.items():
            if name in named:
                setattr(self, name, value)
            else:
                self.kwargs[name] = value
        return self

    def _given(self) -> dict[str, Any]:
        """All parameters by their first names, those that nobody has set as None."""
        translation: Translation = self._translation
        known = {row.theirs for row in translation.parameters}
        given: dict[str, Any] = dict.fromkeys(known)
        named = self._get_param_names()
        given |= {name: getattr(self, name) for name in named}
        for name, value in self.kwargs.items():
            first = self._aliases.get(name, name)
            if first not in known:
                raise TypeError(
                    f"{type(self).__name__} has no parameter {name!r}; the page about "
                    f"{translation.peer} lists those that it has."
                )
            given[first] = value
        return given

    def _check_rest(self, state: Mapping[str, Any]) -> None:
        for name in self._get_param_names():
            state[name]  # raises if there is none
        for name, kind in (
            ("kwargs", dict),
            ("evals_result_", dict),
            ("best_iteration_", Integral),
        ):
            if name in state and not isinstance(state[name], kind):
                raise ModelFileError(f"{name} must be a {kind.__name__}.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags

    def _fit_engine(
        self,
        engine: Any,
        X: Any,
        y: Any,
        sets: Sequence[EvalSet],
        listener: Listener,
        **more: Any,
    ) -> None:
        """Boost all rounds, or until the listener has heard enough."""
        if sets:
            engine.scoring = [scorer_of(metric) for metric in listener.metrics] or "loss"
            keys = [f"set {number}" for number in range(len(sets))]  # names may be any
            listener.rows = {key: rows.name for key, rows in zip(keys, sets, strict=True)}
            columns = {"X_val": "X", "y_val": "y", "sample_weight_val": "weight"}
            columns |= {"group_val": "group", "qid_val": "qid"} if self._ranks else {}
            for argument, column in columns.items():
                values = {key: getattr(r, column) for key, r in zip(keys, sets, strict=True)}
                if any(value is not None for value in values.values()):
                    more[argument] = values
        engine.fit(X, y, callbacks=[listener], **more)
        engine.scoring = "loss"  # what is saved with it holds no functions

    @property
    def _ranks(self) -> bool:
        return self._engine_class._task == "ranking"

    def _rounds(self, first: int = 0, last: int | None = None) -> Any:
        """The engine with some of its rounds; all of them without a ``last``."""
        engine = self._engine
        return engine if first == 0 and last is None else some_rounds(engine, first, last)


def some_rounds(engine: Any, first: int, last: int | None) -> Any:
    """A copy of an engine with the rounds from ``first`` up to before ``last``."""
    whole: Ensemble = engine.ensemble_
    rounds = range(engine.n_iter_)[first:last]
    if isinstance(whole, LinearRounds):
        if rounds.start:
            raise ValueError(
                f"A linear model is one of its first rounds, but the first one asked for is "
                f"{rounds.start}: ask for rounds from 0 on."
            )
        part = copy.copy(engine)
        part.ensemble_ = part.linear_ = whole.first(rounds.stop)
        part.n_iter_ = len(rounds)
        return part
    trees = whole.trees[rounds.start * whole.n_scores : rounds.stop * whole.n_scores]
    part = copy.copy(engine)
    scores = whole.score_of_tree[: len(trees)]
    part.ensemble_ = Ensemble(trees, scores, whole.n_scores, whole.start)
    part.n_iter_ = len(rounds)
    return part


def scorer_of(metric: Metric) -> Callable[..., float]:
    """A metric as the engine's ``scoring`` wants it."""

    def score(
        estimator: Any, X: Any, y: Array, sample_weight: Any = None, group: Any = None
    ) -> float:
        if is_classifier(estimator):
            predicted = estimator.predict_proba(X)
            predicted = predicted[:, 1] if predicted.shape[1] == 2 else predicted
            y = np.searchsorted(estimator.classes_, y)
        else:
            predicted = estimator.predict(X)
        return float(metric.measure(y, predicted, sample_weight, group))

    score.__name__ = metric.name
    return score


def pairs(eval_set: Any, argument: str = "eval_set") -> list[tuple[Any, Any]]:
    """The sets of an ``eval_set``: a list of (X, y)."""
    if eval_set is None:
        return []
    several = [eval_set] if isinstance(eval_set, tuple) else list(eval_set)
    for one in several:
        if not isinstance(one, (tuple, list)) or len(one) != 2:
            raise TypeError(f"{argument} must be a list of pairs (X, y), but holds {one!r:.60}.")
    return [tuple(one) for one in several]


def nth(values: Any, number: int, n_sets: int, argument: str) -> Any:
    """What an argument says of one of several sets; None where it says nothing."""
    if values is None:
        return None
    if isinstance(values, dict):
        return values.get(number)
    if len(values) != n_sets:
        raise ValueError(
            f"{argument} has {len(values)} entries, but eval_set has {n_sets}: give one for each."
        )
    return values[number]


def split_totals(engine: Any, by: str) -> tuple[Array, Array]:
    """Of each feature the number of splits, and the sum of their gains or covers.

    Gains are without the 1/2 of the objective, as in both libraries; a cover is the hessian
    of the rows that are split.
    """
    n_features = engine.n_features_in_
    splits, total = np.zeros(n_features), np.zeros(n_features)
    for tree in engine.trees_:
        inner = ~tree.is_leaf
        amounts = tree.weight if by == "cover" else 2.0 * relative_gain(tree) * tree.weight[0]
        splits += np.bincount(tree.feature[inner], minlength=n_features)
        total += np.bincount(tree.feature[inner], amounts[inner], n_features)
    return splits, total

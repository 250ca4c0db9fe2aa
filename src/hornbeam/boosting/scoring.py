"""Scores other than the loss, measured after every round: scikit-learn's names, or functions.

A scorer asks an estimator for predictions. The model that is still growing can give them for the
rows that are watched: their scores follow every tree anyway. So a scorer gets a copy of the
estimator that answers for these rows, and for no others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer

from hornbeam.boosting.queries import count_rows
from hornbeam.boosting.rows import Scale
from hornbeam.boosting.scores import RowScores
from hornbeam.dtypes import Array

LOSS = "loss"
Scorer = Callable[..., float]


def read_scoring(scoring: Any) -> dict[str, Scorer | None]:
    """The scorers that an estimator's ``scoring`` asks for, by name; None is the loss."""
    several = scoring if isinstance(scoring, (list, tuple)) else [scoring]
    if not several:
        raise ValueError(f"scoring={scoring!r} names nothing to watch: 'loss' is the usual one.")
    found: dict[str, Scorer | None] = {}
    for one in several:
        name, scorer = _read_one(one)
        if name in found:
            raise ValueError(
                f"scoring names {name!r} twice: give functions of different names, since the "
                "history has a column of that name."
            )
        found[name] = scorer
    return found


def _read_one(one: Any) -> tuple[str, Scorer | None]:
    if isinstance(one, str):
        return one, None if one == LOSS else get_scorer(one)
    if one is None:
        return "score", _own_score
    if not callable(one):
        raise TypeError(
            "scoring must be 'loss', a name of sklearn.metrics.get_scorer_names(), a function "
            f"score(estimator, X, y), None, or a list of these, but holds {one!r:.60}."
        )
    return str(getattr(one, "__name__", type(one).__name__)), one


def _own_score(estimator: Any, X: Any, y: Array, sample_weight: Array | None = None) -> float:
    return float(estimator.score(X, y, sample_weight))


@dataclass(frozen=True, eq=False)
class WatchedRows:
    """Rows whose predictions are scored after every round."""

    X: Any  # as scorers get it
    y: Array  # in the user's terms
    weight: Array | None
    scores: RowScores
    group: Array | None = None  # rows of each query


class Scoring:
    """Measures scores of watched rows as the model grows.

    Parameters
    ----------
    scorers : dict of str to function or None
        As `read_scoring` has them.
    rows : dict of str to WatchedRows
    model : estimator
        A copy that has all but its trees.
    scale : Scale
    """

    def __init__(
        self,
        scorers: Mapping[str, Scorer | None],
        rows: Mapping[str, WatchedRows],
        model: Any,
        scale: Scale,
    ) -> None:
        self.scorers = {name: scorer for name, scorer in scorers.items() if scorer is not None}
        self.rows, self.model, self.scale = rows, model, scale
        first = next(iter(scorers))
        self.decides = None if scorers[first] is None else first

    def measure(self) -> dict[str, dict[str, float]]:
        """The scores of the model as it is: rows, scorer, score."""
        return {name: self._measure(rows) for name, rows in self.rows.items()}

    def _measure(self, rows: WatchedRows) -> dict[str, float]:
        n_scores = rows.scores.loss.n_scores
        known = self.scale.up(rows.scores.score.reshape(n_scores, -1).T)

        def predict(X: Any) -> Array:
            if count_rows(X) != len(known):
                raise ValueError(
                    f"A function of scoring asked for predictions of {count_rows(X)} rows, but "
                    f"between rounds only those of the {len(known)} rows that it gets are known."
                )
            return known

        self.model._scores = predict
        given = {"sample_weight": rows.weight, "group": rows.group}
        options = {name: value for name, value in given.items() if value is not None}
        return {
            name: _as_number(name, scorer(self.model, rows.X, rows.y, **options))
            for name, scorer in self.scorers.items()
        }


def _as_number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"The scoring {name!r} returned {value!r:.60}, not a number.") from error


def uneven(weight: Array) -> Array | None:
    """Weights for a scorer; None if all are the same, since not every scorer takes some."""
    return None if not len(weight) or bool(np.all(weight == weight[0])) else weight

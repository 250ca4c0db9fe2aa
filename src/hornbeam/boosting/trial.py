"""How fast to learn: what ``learning_rate="auto"`` finds out before the fit.

Rounds times learning rate is how far a model goes. How far it should go depends on how much of
what trees find in some rows holds for others, and only other rows can tell. So one half of the
rows is boosted in large steps while the other half is watched, and then the other way round.
Where the loss of the watched rows is least, the model has gone far enough, and the learning
rate is chosen to get there in about 100 rounds.

The rate does not follow ``n_estimators``: 50 rounds and 50 more would not be 100 at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hornbeam.boosting.engine import Course, RoundReport, Rounds, boost
from hornbeam.boosting.grower import BoostRules
from hornbeam.boosting.rows import Rows
from hornbeam.dtypes import Array

USUAL_RATE = 0.1
LEAST_RATE, MOST_RATE = 0.06, 0.2
LEAST_ROWS = 100  # fewer do not tell
FEW_ROWS = 10_000  # with more, one half is enough to watch
MOST_ROWS = 40_000  # more would only cost time
TRIAL_RATE = 0.3
TRIAL_ROUNDS = 50
GOAL = 75  # rounds to get there: fewer than 100, since half of the rows mislead sooner than all
_TRIAL_KEY = 2  # tells these draws from others with the same seed

Draw = Callable[[Rows, float, np.random.Generator], Array]


def find_rate(rows: Rows, draw: Draw, losses: Callable[[Rows, Rows], Array], seed: int) -> float:
    """The learning rate that suits some rows.

    Parameters
    ----------
    rows : Rows
    draw : callable(rows, share, random) -> mask
        Draws a share of the rows.
    losses : callable(learnt, watched) -> float64 array
        Boosts some rows, and tells the loss of others after each round (`watched_losses`).
    seed : int
    """
    n_rows, random = len(rows.target), np.random.default_rng([seed, _TRIAL_KEY])
    if n_rows < LEAST_ROWS:
        return USUAL_RATE
    if n_rows > MOST_ROWS:
        rows = rows.chosen(draw(rows, MOST_ROWS / n_rows, random))
    held = draw(rows, 0.5, random)
    if not held.any():
        return USUAL_RATE  # every class has one row
    one, other = rows.chosen(~held), rows.chosen(held)
    curve = losses(one, other)
    if n_rows < FEW_ROWS:
        curve = 0.5 * (curve + losses(other, one))
    if not np.isfinite(curve).all() or curve.min() == curve.max():
        return USUAL_RATE  # half of the rows could not be learnt from
    distance = TRIAL_RATE * (1 + int(np.argmin(curve)))
    # what half of 40,000 rows cannot bear, a million may
    least = LEAST_RATE if n_rows <= MOST_ROWS else USUAL_RATE
    return min(max(distance / GOAL, least), MOST_RATE)


def watched_losses(
    course: Course, rules: BoostRules, order: int, seed: int, n_jobs: int | None
) -> Array:
    """The loss of the watched rows after each round of a trial."""
    losses: list[float] = []

    def note(report: RoundReport) -> bool:
        assert report.valid_loss is not None  # there are rows to watch
        losses.append(report.valid_loss)
        return False

    boost(course, rules, Rounds(TRIAL_ROUNDS, TRIAL_RATE, order, seed=seed), note, n_jobs)
    return np.array(losses)

"""How fast to learn, and with which trees: what ``"auto"`` finds out before the fit.

Rounds times learning rate is how far a model goes. How far it should go depends on how much of
what trees find in some rows holds for others, and only other rows can tell. So one half of the
rows is boosted in large steps while the other half is watched, and then the other way round.
Where the loss of the watched rows is least, the model has gone far enough, and the learning
rate is chosen to get there in about 100 rounds.

Where trees could be grown in two ways, both are tried, and the first one is taken unless the
other one is clearly better: half of the rows, in large steps, is too rough a test for more.

The rate does not follow ``n_estimators``: 50 rounds and 50 more would not be 100 at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
CLEARLY = 0.2  # of the least loss: a way to grow whose loss is larger by so much is worse
GOAL = 75  # rounds to get there: fewer than 100, since half of the rows mislead sooner than all
_TRIAL_KEY = 2  # tells these draws from others with the same seed

Draw = Callable[[Rows, float, np.random.Generator], Array]


def find_pace(
    rows: Rows,
    draw: Draw,
    growths: Sequence[str],
    losses: Callable[[Rows, Rows, str], Array],
    seed: int,
) -> tuple[str, float]:
    """How to grow trees, and the learning rate, that suit some rows.

    Parameters
    ----------
    rows : Rows
    draw : callable(rows, share, random) -> mask
        Draws a share of the rows.
    growths : sequence of str
        Ways to grow trees, the preferred one first; the last one needs no trial.
    losses : callable(learnt, watched, growth) -> float64 array
        Boosts some rows, and tells the loss of others after each round (`watched_losses`).
    seed : int
    """
    n_rows, random = len(rows.target), np.random.default_rng([seed, _TRIAL_KEY])
    unknown = growths[-1], USUAL_RATE
    if n_rows < LEAST_ROWS:
        return unknown
    if n_rows > MOST_ROWS:
        rows = rows.chosen(draw(rows, MOST_ROWS / n_rows, random))
    held = draw(rows, 0.5, random)
    if not held.any():
        return unknown  # every class has one row
    one, other = rows.chosen(~held), rows.chosen(held)
    curves = []
    for growth in growths:
        curve = losses(one, other, growth)
        if n_rows < FEW_ROWS:
            curve = 0.5 * (curve + losses(other, one, growth))
        if not np.isfinite(curve).all() or curve.min() == curve.max():
            return unknown  # half of the rows could not be learnt from
        curves.append(curve)
    losses_of = [float(curve.min()) for curve in curves]
    bearable = min(losses_of) + CLEARLY * abs(min(losses_of))  # a loss may be negative
    which = next(i for i, loss in enumerate(losses_of) if loss <= bearable)
    growth, curve = growths[which], curves[which]
    distance = TRIAL_RATE * (1 + int(np.argmin(curve)))
    # what half of 40,000 rows cannot bear, a million may
    slowest = LEAST_RATE if n_rows <= MOST_ROWS else USUAL_RATE
    return growth, min(max(distance / GOAL, slowest), MOST_RATE)


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

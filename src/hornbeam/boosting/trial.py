"""How fast to learn, and with which trees: what ``"auto"`` finds out before the fit.

Rounds times learning rate is how far a model goes. How far it should go depends on how much of
what trees find in some rows holds for others, and only other rows can tell. So one half of the
rows is boosted in large steps while the other half is watched, and then the other way round.
Where the loss of the watched rows is least, the model has gone far enough, and the learning
rate is chosen to get there in about 100 rounds.

Where trees could be grown in two ways, both are tried, and the first one is taken unless the
other one is clearly better: half of the rows, in large steps, is too rough a test for more.
The other one is given up where it falls behind, in either half.

Nodes of small tables ask some of the features only (`boosting.defaults`), which is bad where
few features of many matter. So trees of all features are tried, too, on the same halves. Where
they would do good they are ahead early, so most of them are given up after five rounds. They are
taken if the loss gets clearly lower.

The rate does not follow ``n_estimators``: 50 rounds and 50 more would not be 100 at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from hornbeam.boosting.engine import Course, RoundReport, Rounds, boost
from hornbeam.boosting.rows import TrainingRows
from hornbeam.boosting.rules import BoostRules
from hornbeam.data.folds import Splits
from hornbeam.dtypes import Array

USUAL_RATE = 0.1
LEAST_RATE, MOST_RATE = 0.06, 0.2
LEAST_ROWS = 100  # fewer do not tell
FEW_ROWS = 10_000  # with more, one half is enough to watch
MOST_ROWS = 40_000  # more would only cost time
TRIAL_RATE = 0.3
TRIAL_ROUNDS = 50
CLEARLY = 0.2  # of the least loss: a way to grow whose loss is larger by so much is worse
BETTER = 0.03  # of the least loss: another share of the features must bring so much
# After so many rounds a way to grow is given up if it is not ahead by this share. What
# hangs on features together is learnt late, so the first look is a lenient one.
LOOKS = {10: -0.05, 30: 0.0}
# Another share of the features must be ahead by so much when the usual one is half-way, if that
# one learns anything at all: its loss falls by a tenth.
SOON_BETTER, LEARNT, LEAST_LOOK = 0.02, 0.1, 5
GOAL = 75  # rounds to get there: fewer than 100, since half of the rows mislead sooner than all
_TRIAL_KEY = 2  # tells these draws from others with the same seed

SplitsOf = Callable[[TrainingRows, np.random.Generator], Splits]


class Leader(NamedTuple):
    """What another way to grow is compared with: losses, and by how much it must be ahead when."""

    curve: Array
    looks: dict[int, float]


Losses = Callable[[TrainingRows, TrainingRows, str, float, "Leader | None"], Array]


class Pace(NamedTuple):
    """What a trial finds: how to grow trees, of which share of the features, and how fast."""

    growth: str
    share: float
    rate: float


def find_pace(
    rows: TrainingRows,
    splits: SplitsOf,
    growths: Sequence[str],
    shares: Sequence[float],
    losses: Losses,
    seed: int,
) -> Pace:
    """How to grow trees, and the learning rate, that suit some rows.

    Parameters
    ----------
    rows : TrainingRows
    splits : callable(rows, random) -> Splits
        Who parts the rows.
    growths : sequence of str
        Ways to grow trees, the preferred one first; the last one needs no trial.
    shares : sequence of float
        Of the features that a node may ask: the preferred one, which needs no trial, and
        perhaps another one.
    losses : callable(learnt, watched, growth, share, leader) -> float64 array
        Boosts some rows, and tells the loss of others after each round (`watched_losses`);
        gives up early if it falls behind a leader, unless there is None.
    seed : int
    """
    n_rows, random = len(rows.target), np.random.default_rng([seed, _TRIAL_KEY])
    unknown = Pace(growths[-1], shares[0], USUAL_RATE)
    if n_rows < LEAST_ROWS:
        return unknown
    if n_rows > MOST_ROWS:
        rows = rows.chosen(splits(rows, random).some(MOST_ROWS / n_rows))
    halves = _halve(rows, splits, random)
    if not halves:
        return unknown  # every class has one row
    growth, share = growths[0], shares[0]
    curves = _curves(halves, losses, growth, share)
    if not tells(np.mean(curves, axis=0)):
        return unknown  # half of the rows could not be learnt from
    for rival in growths[1:]:
        raced = _race(halves, losses, rival, share, [Leader(curve, LOOKS) for curve in curves])
        if raced is not None and _is_clearly_better(raced, curves):
            growth, curves = rival, raced
    for rival_share in shares[1:]:
        leaders = [Leader(curve, early_looks(curve)) for curve in curves]
        raced = _race(halves, losses, growth, rival_share, leaders)
        if raced is not None and _gains(curves, raced).mean() > BETTER:
            share, curves = rival_share, raced
    distance = TRIAL_RATE * (1 + int(np.argmin(np.mean(curves, axis=0))))
    # what half of 40,000 rows cannot bear, a million may
    slowest = LEAST_RATE if n_rows <= MOST_ROWS else USUAL_RATE
    return Pace(growth, share, min(max(distance / GOAL, slowest), MOST_RATE))


def _halve(
    rows: TrainingRows, splits: SplitsOf, random: np.random.Generator
) -> list[tuple[TrainingRows, TrainingRows]]:
    """Rows to learn from and rows to watch; few rows also the other way round."""
    halves = splits(rows, random).halves(both=len(rows.target) < FEW_ROWS)
    if not halves:
        return []
    one, other = (rows.chosen(half) for half in halves[0])
    return [(one, other), (other, one)][: len(halves)]


def _curves(
    halves: Sequence[tuple[TrainingRows, TrainingRows]], losses: Losses, growth: str, share: float
) -> list[Array]:
    return [losses(learnt, watched, growth, share, None) for learnt, watched in halves]


def _race(
    halves: Sequence[tuple[TrainingRows, TrainingRows]],
    losses: Losses,
    growth: str,
    share: float,
    leaders: Sequence[Leader],
) -> list[Array] | None:
    """The curves of another way to grow; None where it was given up in one of the halves."""
    curves: list[Array] = []
    for (learnt, watched), leader in zip(halves, leaders, strict=True):
        curves.append(losses(learnt, watched, growth, share, leader))
        if len(curves[-1]) < len(leader.curve):
            return None
    return curves


def tells(curve: Array) -> bool:
    """Whether losses tell anything of how far a model should go."""
    return bool(np.isfinite(curve).all() and curve.min() != curve.max())


def _is_clearly_better(rival: Sequence[Array], usual: Sequence[Array]) -> bool:
    """Whether the usual way to grow gets a loss that is larger by so much."""
    least, bearable = (float(np.mean(curves, axis=0).min()) for curves in (rival, usual))
    return bearable > least + CLEARLY * abs(least)  # a loss may be negative


def _gains(usual: Sequence[Array], other: Sequence[Array]) -> Array:
    """By which share the other curves get lower than the usual ones, pair by pair."""
    least, reached = (np.array([curve.min() for curve in curves]) for curves in (usual, other))
    gains: Array = (least - reached) / np.maximum(np.abs(least), np.finfo(np.float64).tiny)
    return np.where(np.isfinite(gains), gains, -np.inf)


def watched_losses(
    course: Course,
    rules: BoostRules,
    order: int,
    seed: int,
    n_jobs: int | None,
    leader: Leader | None = None,
) -> Array:
    """The loss of the watched rows after each round of a trial, up to where it is given up."""
    losses: list[float] = []

    def note(report: RoundReport) -> bool:
        assert report.valid_loss is not None  # there are rows to watch
        losses.append(report.valid_loss)
        return leader is not None and falls_behind(losses, leader)

    boost(course, rules, Rounds(TRIAL_ROUNDS, TRIAL_RATE, order, seed=seed), note, n_jobs)
    return np.array(losses)


def early_looks(curve: Array) -> dict[int, float]:
    """When another share of the features must be ahead of such losses, and by how much."""
    fall = float(curve[0] - curve.min())
    if not fall > LEARNT * abs(float(curve[0])):
        return LOOKS
    half_way = 1 + int(np.argmax(curve <= curve[0] - fall / 2.0))
    return LOOKS | {max(half_way, LEAST_LOOK): SOON_BETTER}


def falls_behind(losses: Sequence[float], leader: Leader) -> bool:
    """Whether some losses did not get lower than the leader's in as many rounds."""
    n_rounds = len(losses)
    if n_rounds not in leader.looks:
        return False
    (gain,) = _gains([leader.curve[:n_rounds]], [np.array(losses)])
    return bool(gain <= leader.looks[n_rounds])

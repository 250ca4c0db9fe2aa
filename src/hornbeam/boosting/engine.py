"""The loop of gradient boosting.

    scores = the constant that minimises the loss
    for each round:
        for each score (one, or one per class):
            grow a tree on the gradients and hessians of the loss
            give each leaf its value, times the learning rate
            add the values to the scores
        take gradients and hessians at the new scores

`boost` is that loop, with validation, dropped trees (DART) and somebody to talk to.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

import numpy as np

from hornbeam.boosting.arrays import draw_numbers, draw_weights
from hornbeam.boosting.defaults import ALTERNATE, SYMMETRIC
from hornbeam.boosting.follower import Follower
from hornbeam.boosting.grower import (
    BoostedGrower,
    GrownTree,
    TreeGrower,
)
from hornbeam.boosting.leaf_rules import keep_order, leaf_values
from hornbeam.boosting.listed import ListedGrower
from hornbeam.boosting.listed_table import ListedTable
from hornbeam.boosting.rules import BoostRules
from hornbeam.boosting.scores import RowScores, paying_threads
from hornbeam.boosting.symmetric import SymmetricGrower
from hornbeam.boosting.table import CodedTable
from hornbeam.dtypes import Array
from hornbeam.losses import check_slopes
from hornbeam.runtime.team import run_parallel

_DROP_KEY = 1  # tells the draws of dropped rounds from other draws with the same seed


@dataclass(frozen=True)
class Rounds:
    """How many rounds there are, and how far each goes."""

    n_rounds: int
    learning_rate: float | Sequence[float]  # of all rounds, or of each, those before included
    order: int = 2
    drop_rate: float = 0.0
    skip_drop: float = 0.5
    seed: int = 0
    first_round: int = 0  # rounds that were boosted before
    hessians: tuple[float, ...] = ()  # of all rows, for each tree of those rounds

    def rate_of(self, number: int) -> float:
        """The learning rate of a round, counted from 0."""
        rate = self.learning_rate
        return rate if isinstance(rate, float) else rate[number]

    @property
    def distance(self) -> float:
        """How far all rounds go together."""
        first = self.first_round
        return sum(self.rate_of(number) for number in range(first, first + self.n_rounds))


@dataclass(frozen=True)
class RoundReport:
    """What is known after a round; callbacks are told of it.

    Attributes
    ----------
    number : int
        The round, counted from 1; rounds of the fit that a warm start goes on from count.
    train_loss : float
        Mean loss of the rows that are learnt from; NaN where it is not measured.
    losses : dict of str to float
        Mean loss of the validation rows, by their name.
    scores : dict of str to dict
        For the same names: what ``scoring`` asks for, by its name.
    """

    number: int
    train_loss: float
    losses: Mapping[str, float] = field(default_factory=dict)
    scores: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def valid_loss(self) -> float | None:
        """Mean loss of the first validation rows; None if there are none."""
        return next(iter(self.losses.values()), None)


Talk = Callable[[RoundReport], bool]


@dataclass(frozen=True, eq=False)
class Course:
    """What is boosted: rows to learn from, and rows to watch by name, with their scores."""

    table: CodedTable
    scores: RowScores
    validation: Mapping[str, tuple[CodedTable, RowScores]]
    start: Array  # scores before the first round, one per score


def boost(
    course: Course,
    rules: BoostRules,
    rounds: Rounds,
    talk: Talk | None,
    n_jobs: int | None,
    measure_train: bool = False,
    grown: list[GrownTree] | None = None,
) -> list[GrownTree]:
    """Boost; ``talk`` is told of every round and returns True to stop.

    Returns the trees, one per score and round: ``grown``, if that is a list to add them to.
    """
    table, scores = course.table.parting(rules.min_samples_leaf), course.scores
    validation = course.validation
    loss = scores.loss
    scores.take_slopes(n_jobs)
    followed = bool(validation) or rounds.drop_rate > 0.0
    symmetric, growers = None, []
    if rules.growth in (SYMMETRIC, ALTERNATE):
        symmetric = SymmetricGrower(table, rules, scores, n_jobs)
    if rules.growth != SYMMETRIC:
        growers = _make_growers(table, rules, scores, n_jobs, followed)
    watchers = [Follower(*rows, n_jobs) for rows in validation.values()]
    followers = list(watchers)
    if rounds.drop_rate > 0.0:
        followers.append(Follower(table, scores, n_jobs))
    result: list[GrownTree] = [] if grown is None else grown
    hessians, falling = list(rounds.hessians), rules.lambda_falls and not scores.equal_hessians
    refit = rounds.order == 1 or loss.leaf_rule != "newton"
    for number in range(rounds.first_round, rounds.first_round + rounds.n_rounds):
        dropped = _draw_dropped(rounds, number, len(result) // loss.n_scores)
        if dropped:
            _scale_rounds(result, dropped, loss.n_scores, -1.0, followers)
            scores.take_slopes(n_jobs)
        rate = rounds.rate_of(number) / (1 + len(dropped))
        before = scores.score.copy() if refit else scores.score
        trees: list[Any] = [None] * loss.n_scores
        falls = _falls(hessians if falling else (), loss.n_scores)
        # slopes are taken as the scores move, unless they depend on other scores, too
        at_once = loss.n_scores == 1 and not dropped and len(scores.groups) == 1

        def add_tree(grower: TreeGrower, tree: GrownTree, which: int) -> None:
            if refit:
                _refit_leaves(tree, grower, before, which, n_jobs)  # noqa: B023  (in the round)
            tree.value = rate * tree.value  # noqa: B023
            grower.advance(tree.value, which, at_once)  # noqa: B023
            trees[which] = tree  # noqa: B023

        def grow_one(grower: BoostedGrower, which: int) -> None:
            seed = seed_of_tree(rounds.seed, number, which)  # noqa: B023
            active = _draw_features(rules, table, seed)
            if loss.n_scores > 1:
                grower.take_slopes(which)
            check_slopes(loss, grower.peak, rounds.order)
            add_tree(grower, grower.grow(seed, active, falls[which]), which)  # noqa: B023

        def grow_all(grower: SymmetricGrower) -> None:
            seed = seed_of_tree(rounds.seed, number, 0)  # noqa: B023
            grower.take_slopes()
            for peak in grower.peaks:
                check_slopes(loss, peak, rounds.order)
            active = _draw_features(rules, table, seed)
            for which, tree in enumerate(grower.grow(seed, active, falls)):  # noqa: B023
                add_tree(grower, tree, which)

        if symmetric is not None and (not growers or number % 2 == 0):
            grow_all(symmetric)
        else:
            _share_out(grow_one, growers, loss.n_scores)
        result += trees
        hessians += [float(tree.hessian[0]) for tree in trees]
        for watcher in watchers:
            for which, tree in enumerate(trees):
                watcher.follow(tree, tree.value, which)
        if dropped:
            share = len(dropped) / (len(dropped) + 1)
            _scale_rounds(result, dropped, loss.n_scores, share, followers)
        if not at_once:
            scores.take_slopes(n_jobs)
        report = RoundReport(
            number + 1,
            scores.mean_loss(n_jobs) if measure_train else np.nan,
            {name: watched.mean_loss(n_jobs) for name, (_, watched) in validation.items()},
        )
        if talk is not None and talk(report):
            break
    return result


def _falls(hessians: Sequence[float], n_scores: int) -> list[float]:
    """The share of lambda that counts in the next tree of each score.

    A penalty is to be compared with hessians. Where a model grows sure of its rows, these
    vanish, and a penalty that stays would bring learning to a halt. So it falls as they do:
    to the share of their first sum that they had in the round before.
    """
    if not hessians:
        return [1.0] * n_scores
    ends = zip(hessians[:n_scores], hessians[-n_scores:], strict=True)
    return [min(1.0, last / first) if first > 0.0 else 1.0 for first, last in ends]


def _make_growers(
    table: CodedTable, rules: BoostRules, scores: RowScores, n_jobs: int | None, followed: bool
) -> list[BoostedGrower]:
    """One grower with all threads, or one per thread where a round has several trees."""
    n_scores = scores.loss.n_scores
    make: Any = ListedGrower if isinstance(table, ListedTable) else BoostedGrower
    first = make(table, rules, scores, n_jobs, alone=n_scores > 1, followed=followed)
    size = min(n_scores, paying_threads(n_jobs, first.seconds * n_scores))
    others = [make(table, rules, scores, n_jobs, alone=True) for _ in range(size - 1)]
    return [first, *others]


def _share_out(
    grow_one: Callable[[BoostedGrower, int], None], growers: list[BoostedGrower], n_scores: int
) -> None:
    """Add the trees of a round, side by side if there are several growers."""
    free: SimpleQueue[BoostedGrower] = SimpleQueue()
    for grower in growers:
        free.put(grower)

    def work(which: int) -> None:
        grower = free.get()
        try:
            grow_one(grower, which)
        finally:
            free.put(grower)

    run_parallel(work, n_scores, len(growers), growers[0].seconds * n_scores)


def _refit_leaves(
    tree: GrownTree, grower: TreeGrower, before: Array, which: int, n_jobs: int | None
) -> None:
    """Choose the values of the leaves anew, by the loss's own rule or a line search.

    ``before`` are the scores at the start of the round: all trees of a round, one per
    class, start from the same place. Constraints hold for the new values, too; those that the
    tree was grown with bound its steps, which are in the units of the slopes, not of y.
    """
    scores, leaf = grower.scores, tree.child == 0
    values = leaf_values(
        scores.loss,
        scores.target,
        grower.row_weights(),
        before.reshape(scores.loss.n_scores, -1),
        grower.rows_of_leaves(tree),
        n_jobs,
        which,
        scores.groups if len(scores.groups) > 1 else None,
    )
    limit = grower.rules.max_delta_step or np.inf
    tree.value = tree.step.copy()
    tree.value[leaf] = np.clip(values, -limit, limit)
    if grower.rules.monotone is not None:
        direction = np.where(leaf, 0, grower.table.monotone[tree.feature])
        tree.value[leaf] = keep_order(tree.child, direction, tree.count, tree.value)[leaf]


# --- draws -------------------------------------------------------------------------------


def seed_of_tree(seed: int, number: int, which: int) -> int:
    """A seed for a tree that depends on its place in the model, not on what came before."""
    place = struct.pack("<QQQ", seed, number, which)
    return int.from_bytes(hashlib.blake2b(place, digest_size=4).digest(), "little")


def _draw_features(rules: BoostRules, table: CodedTable, seed: int) -> Array:
    """The features that a tree may ask, ascending."""
    features, weights = table.features, draw_weights(table, rules)
    if len(weights):
        features = features[weights[features] > 0.0]
    if rules.colsample_bytree == 1.0:
        return features
    kept = max(1, round(rules.colsample_bytree * len(features)))
    random = np.random.default_rng(seed)
    if not len(weights):
        drawn = random.permutation(len(features))[:kept]
    else:  # one after the other, in proportion to their weights (Efraimidis and Spirakis 2006)
        order = np.argsort(draw_numbers(table, rules)[features])
        keys = random.standard_exponential(len(features)) / weights[features[order]]
        drawn = np.argsort(keys, kind="stable")[:kept]
    if rules.draw_number is not None:  # the same ones, in whatever order the columns are
        drawn = np.argsort(draw_numbers(table, rules)[features])[drawn]
    return features[np.sort(drawn)]


def _draw_dropped(rounds: Rounds, number: int, n_before: int) -> list[int]:
    """DART: rounds that are left out while the next one is learnt."""
    if rounds.drop_rate == 0.0 or n_before == 0:
        return []
    random = np.random.default_rng([_DROP_KEY, rounds.seed, number])
    if random.random() < rounds.skip_drop:
        return []
    dropped = np.flatnonzero(random.random(n_before) < rounds.drop_rate)
    if not len(dropped):
        dropped = np.array([random.integers(n_before)])
    return [int(d) for d in dropped]


def _scale_rounds(
    trees: list[GrownTree],
    dropped: Sequence[int],
    n_scores: int,
    share: float,
    followers: Sequence[Follower],
) -> None:
    """Take rounds out of all scores (share -1), or put them back scaled by ``share``."""
    for round_number in dropped:
        for which in range(n_scores):
            tree = trees[round_number * n_scores + which]
            if share >= 0.0:
                tree.value = share * tree.value
            values = tree.value if share >= 0.0 else -tree.value
            for follower in followers:
                follower.follow(tree, values, which)

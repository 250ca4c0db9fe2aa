"""How few rows a node may have, how many features it draws: what ``"auto"`` finds out.

Trees that are grown until each leaf is pure learn the noise of their rows by heart. The mean
of many trees forgets most of it, but not all, and where there is much noise shorter trees
make the better forest. Only other rows can tell. So a few trees are grown on one half of the
rows, as far as they go, and asked about the other half: by their leaves, and by the nodes
above them that would be leaves if nodes needed more rows to be split.

What counts is the error of a large forest, and few trees are none. But the squared error of
the mean of infinitely many trees is the mean product of the errors of two different ones
(Breiman: the correlation of trees times their error), and a few trees make many pairs.

Trees that draw features at each node differ more, and their mean is better for it, unless the
answer hangs on few features that are needed together: a node without them is wasted. Trees
that draw 0.7 of the features and trees that search all are compared on the same bags. So few
trees cannot tell small differences, but large ones they can, if no row counts for hundreds of
others: no tree is taken to be farther from the truth than one in a hundred is.

Where features are needed together, none of them explains much by itself, and categories that
do explain a little are asked first: in vain. There it is tried not to order them by what they
explain.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from hornbeam.data.folds import Splits
from hornbeam.dtypes import Array
from hornbeam.forest.bags import Bags, balance_bag, derive_key
from hornbeam.forest.growing import Plantation
from hornbeam.forest.store import NodeSums, levels
from hornbeam.tree.rules import GrowthRules
from hornbeam.tree.scaling import Scaling
from hornbeam.tree.task import Task

TRIED = ("min_samples_split", "max_features", "category_split")  # the rules to be found out
SIZES = (5, 10, 20, 50, 100)
SLIGHT = SIZES[0]  # without bags as good a guess as 2, so that the smallest gain counts
TREES = 6
TREES_OF_FEW = 10  # of each half
LEAST_ROWS = 100  # fewer do not tell
FEW_ROWS = 10_000  # with more, one half is enough to ask about, and fewer trees
MOST_ROWS = 5_000  # of a half: more would only cost time
MOST_VALUES = 30_000  # rows times what is predicted of each
SURE = 1.5  # standard errors by which the error must fall
CERTAIN = 2.0  # ... for fewer features to be drawn than usual
DRAWN = 0.7  # of the features, where that is compared with all of them
MUCH = 0.1  # of the error, by which it must fall for all of them to be searched
FAR_OUT = 0.01  # of the rows: their errors are cut down where features are compared
# Trees whose nodes draw so many features, and part categories in this way.
Trials: TypeAlias = "Callable[[int | None, str], list[Trial]]"
_TRIAL = -2  # the trees of a forest have the numbers from 0 up


def find_rules(
    task: Task, bags: Bags, balanced: bool, n_jobs: int | None, wanted: Collection[str]
) -> GrowthRules:
    """The rules of a task, with what is wanted found out.

    Parameters
    ----------
    task : Task
        What is to be grown. Its own ``min_samples_split`` is the least, and as many features
        as it says are drawn unless to search all of them is much better, or few better.
    bags : Bags
        Of the forest: its seed, and which share of the rows each tree gets.
    balanced : bool
        Whether the classes of each bag weigh the same.
    n_jobs : int or None
    wanted : collection of str
        Some of `TRIED`.
    """
    rules, n_features = task.rules, len(task.codes.n_codes)
    may_draw = "max_features" in wanted and rules.draws(n_features)
    halves = _halves(task, bags) if may_draw or "min_samples_split" in wanted else []
    if not halves:
        return rules

    @cache
    def trials(max_features: int | None, category_split: str) -> list[Trial]:
        changes = {"max_features": max_features, "category_split": category_split}
        return [half.tried(changes, balanced, n_jobs) for half in halves]

    if may_draw:
        rules = replace(rules, max_features=_drawn_features(trials, rules, n_features))
        together = rules.max_features == n_features
        if together and "category_split" in wanted and task.codes.is_category.any():
            rules = replace(rules, category_split=_category_split(trials, rules))
    if "min_samples_split" in wanted:
        tried = trials(rules.max_features, rules.category_split)
        size = _split_size(tried, rules.min_samples_split, slight_counts=bags.n_draws == 0)
        rules = replace(rules, min_samples_split=size)
    return rules


def _drawn_features(trials: Trials, rules: GrowthRules, n_features: int) -> int | None:
    """How many features a node should draw: all, few, or as many as it would."""
    few = max(1, int(DRAWN * n_features))
    by_few, by_all = _errors_apart(
        *(trials(number, rules.category_split) for number in (few, n_features))
    )
    if by_all.sum() < (1.0 - MUCH) * by_few.sum() and _surely_less(by_all, by_few, SURE):
        return n_features
    return few if _surely_less(by_few, by_all, CERTAIN) else rules.max_features


def _category_split(trials: Trials, rules: GrowthRules) -> str:
    """How to part categories, if features are needed together."""
    by_target, at_random = _errors_apart(
        *(trials(rules.max_features, split) for split in (rules.category_split, "random"))
    )
    return "random" if at_random.sum() < by_target.sum() else rules.category_split


def _split_size(trials: Sequence[Trial], least: int, slight_counts: bool) -> int:
    """How many rows a node should have to be split."""

    @cache
    def errors(size: int) -> Array:
        return np.concatenate([trial.errors(size) for trial in trials])

    chosen, first = least, errors(least)
    fewest = first
    for size in (size for size in SIZES if size > least):
        found = errors(size)
        if found.sum() < fewest.sum():
            chosen, fewest = size, found
        elif _surely_less(fewest, found, SURE):  # and still larger ones are still worse
            break
    if _surely_less(fewest, first, SURE):
        return chosen
    slight = slight_counts and least < SLIGHT and errors(SLIGHT).sum() < first.sum()
    return SLIGHT if slight else least


def _errors_apart(some: Sequence[Trial], others: Sequence[Trial]) -> tuple[Array, Array]:
    """Errors of each row in two large forests, grown to the end."""
    misses = np.concatenate([np.abs(trial.misses()) for trial in (*some, *others)])
    limit = np.quantile(misses, 1.0 - FAR_OUT, axis=0)
    one, other = (
        np.concatenate([trial.errors(0, limit) for trial in trials]) for trials in (some, others)
    )
    return one, other


@dataclass(frozen=True)
class Half:
    """Rows to learn from, and others to ask about."""

    learnt: Task
    asked: Task
    bags: Bags
    n_trees: int

    def tried(self, changes: dict[str, Any], balanced: bool, n_jobs: int | None) -> Trial:
        """Trees that are grown by other rules."""
        learnt = replace(self.learnt, rules=replace(self.learnt.rules, **changes))
        return Trial(learnt, self.asked, self.bags, balanced, n_jobs, self.n_trees)


def _halves(task: Task, bags: Bags) -> list[Half]:
    """One half of the rows to learn from, or both; nothing where that would not tell."""
    if task.criterion.summed == "order":  # medians are not after squared errors
        return []
    rows = np.flatnonzero(task.target.weight)
    n_values = max(int(task.target.class_start[-1]), task.target.n_outputs)
    most = min(len(rows) // 2, MOST_ROWS, MOST_VALUES // n_values)
    if 2 * most < LEAST_ROWS:
        return []
    key, kin = derive_key(bags.seed, _TRIAL), bags.kin.chosen(rows)
    pair = Splits(len(rows), np.random.default_rng(key), kin=kin).pair(most)
    if not all(half.any() for half in pair):
        return []
    few = len(rows) < FEW_ROWS
    n_trees = TREES_OF_FEW if few else TREES
    one, other = (_Part.of(task, bags, rows[half], key) for half in pair)
    pairs = [(one, other), (other, one)] if few and kin.time is None else [(one, other)]
    return [Half(learnt.task, asked.task, learnt.bags, n_trees) for learnt, asked in pairs]


@dataclass(frozen=True)
class _Part:
    """Some of the rows of a task, and the bags of trees that learn from them."""

    task: Task
    bags: Bags

    @classmethod
    def of(cls, task: Task, bags: Bags, rows: Array, key: int) -> _Part:
        part, n_all = task.chosen(rows), int(np.count_nonzero(task.target.weight))
        n_draws = -(-bags.n_draws * len(rows) // n_all)  # none only if the forest draws none
        return cls(part, Bags.of(key, part.target.weight, n_draws, bags.kin.chosen(rows)))


def _surely_less(some: Array, others: Array, sure: float) -> bool:
    """Whether the first errors are less than the others, by so many standard errors."""
    gain = others - some
    return bool(gain.sum() > sure * np.sqrt(len(gain)) * gain.std())


class Trial:
    """A few trees of some rows, and their errors on other rows."""

    def __init__(
        self,
        learnt: Task,
        asked: Task,
        bags: Bags,
        balanced: bool,
        n_jobs: int | None,
        n_trees: int = TREES,
    ) -> None:
        learnt = replace(learnt, scaling=Scaling(np.zeros(learnt.target.n_outputs)))
        store, _ = Plantation(learnt, bags, balanced, 0.0, n_jobs).grow(0, n_trees, lambda n: None)
        leaves = store.leaves(asked.matrix, n_jobs, checked=False)
        assert leaves is not None
        self.nodes = store.sums(0, n_trees)
        self.leaves = leaves.T + self.nodes.root[:, None]
        self.truth, self.weight = _truth(asked, balanced)

    def misses(self) -> Array:
        """By how much each tree is wrong about each row: a line for both, and each output."""
        misses: Array = self.nodes.value[self.leaves] - self.truth
        return misses.reshape(-1, self.truth.shape[1])

    def errors(self, size: int, limit: Array | None = None) -> Array:
        """Weighted squared error of each row in a large forest.

        Its trees do not split nodes of fewer than ``size`` rows, and are wrong by no more
        than ``limit`` per output.
        """
        total, own = np.zeros_like(self.truth), np.zeros(len(self.truth))
        for ends in stops(self.nodes, size)[self.leaves]:
            error = self.nodes.value[ends] - self.truth
            if limit is not None:
                np.clip(error, -limit, limit, out=error)
            total += error
            own += np.einsum("ij,ij->i", error, error)
        pairs = np.einsum("ij,ij->i", total, total) - own
        n_trees = len(self.leaves)
        return self.weight * pairs / (n_trees * (n_trees - 1))


def stops(nodes: NodeSums, size: int) -> Array:
    """Where the way to each node would end if nodes of fewer than ``size`` rows were leaves."""
    stop = np.arange(len(nodes.first_child))
    small = nodes.n_samples < size
    for inner in levels(nodes.first_child, nodes.root):
        ended = inner[small[inner] | (stop[inner] != inner)]
        left = nodes.first_child[ended]
        stop[left] = stop[left + 1] = stop[ended]
    return stop


def _truth(task: Task, balanced: bool) -> tuple[Array, Array]:
    """What a perfect tree would predict, and what the rows weigh."""
    target, weight = task.target, task.target.weight
    if task.criterion.summed != "classes":
        assert target.values is not None
        return target.values, weight
    assert target.labels is not None
    shares = np.zeros((len(weight), int(target.class_start[-1])))
    np.put_along_axis(shares, target.labels.astype(np.int64), 1.0, axis=1)
    if balanced:
        weight = weight * balance_bag(target.labels, target.class_start, np.ones(len(weight)))
    return shares, weight

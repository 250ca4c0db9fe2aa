"""Which level to ask the leaves for, so that a quantile holds for new rows: ``calibrate=True``.

The leaves of a row give a distribution of its target. If these distributions were right, a
tenth of the targets of new rows would lie in the lowest tenth of theirs. Where it is a
fourteenth instead, because leaves hold rows that differ more than they should, the level 0.1
is not the one to ask for, but the one below which a tenth of the targets lie (conformal
prediction of distributions: Chernozhukov, Wuethrich and Zhu 2021). Rows out of the bag are as
good as new ones; without bags, rows are held out in folds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hornbeam.conformal import draw_folds, held_quantiles
from hornbeam.dtypes import STAT, Array
from hornbeam.errors import ModelFileError
from hornbeam.forest.bags import Bags
from hornbeam.forest.growing import Plantation
from hornbeam.forest.quantiles import ROUNDING, LeafSamples
from hornbeam.model.arrays import checked_array
from hornbeam.notices import warn
from hornbeam.progress import ProgressBar
from hornbeam.tree.task import Task

# Levels for which the level to ask for is kept; between two of them it is interpolated.
GRID = np.linspace(0.0, 1.0, 1001)
ENOUGH_TREES = 30  # without a row in their bags: fewer do not stand for the whole forest
MANY_OUTSIDE = 0.1  # of the rows, whose targets are beyond all in their leaves
_FOLD_KEY = 4  # tells these draws from others with the same seed


def find_levels(
    forest: Any, task: Task, bags: Bags, y: Array, samples: LeafSamples, root: Array, leaves: Array
) -> Array:
    """The level to ask for, for each of `GRID`.

    ``leaves`` are those of the training rows, (n_rows, n_trees), and ``root`` is where the
    nodes of each tree begin. Trees that have a row out of their bags are fewer than all, so
    that their leaves hold fewer values; where they are too few, rows are held out in folds.
    """
    places, n_trees = Places(y), leaves.shape[1]
    n_drawable = np.count_nonzero(task.target.weight)
    n_outside = n_trees * (1.0 - 1.0 / n_drawable) ** bags.n_draws
    if bags.n_draws and n_outside >= ENOUGH_TREES and bags.kin.time is None:
        for tree in range(n_trees):
            rows = np.flatnonzero(bags.counts(tree) == 0)
            places.add(samples, root, leaves[rows, tree], tree, rows)
    else:
        _hold_out(forest, task, bags, n_trees, places)
    return places.levels(task.target.weight)


def _hold_out(forest: Any, task: Task, bags: Bags, n_trees: int, places: Places) -> None:
    """Look at each fold of the rows in the leaves of a forest of the other rows."""
    counted = np.flatnonzero(task.target.weight > 0)
    folds = draw_folds(len(counted), bags.seed, _FOLD_KEY, bags.kin.chosen(counted))
    with ProgressBar("calibrating", len(folds) * n_trees, forest.verbose) as bar:
        for number, fold in enumerate(folds):
            learnt, held = counted[fold.learnt], counted[fold.held]
            part, done = task.chosen(learnt), number * n_trees
            weight = part.target.weight
            n_draws = -(-bags.n_draws * len(learnt) // len(counted))
            own = Bags.of(bags.seed, weight, n_draws, bags.kin.chosen(learnt))
            plantation = Plantation(part, own, False, forest.ccp_alpha, forest.n_jobs)
            store, _ = plantation.grow(0, n_trees, lambda n: bar.show(done + n))  # noqa: B023
            inside, leaves = (
                store.leaves(task.matrix[rows], forest.n_jobs) for rows in (learnt, held)
            )
            assert inside is not None and leaves is not None  # the matrix was checked before
            samples = LeafSamples.gather(
                inside,
                store.root,
                places.y[learnt],
                lambda tree: own.counts(tree) * weight,  # noqa: B023
            )
            for tree in range(n_trees):
                places.add(samples, store.root, leaves[:, tree], tree, held)
    outside = (places.reached < ROUNDING) | (places.below > (1.0 - ROUNDING) * n_trees)
    share = float(np.mean(outside[places.n_trees > 0]))
    if share > MANY_OUTSIDE:
        warn(
            f"The targets of {share:.0%} of the held-out rows lie beyond all that are in their "
            "leaves, so that wide intervals cannot hold what they say, also with calibrate=True. "
            "Set min_samples_leaf=5, or grow more trees.",
        )


class Places:
    """Where the targets of rows lie in the distributions of their leaves."""

    def __init__(self, y: Array) -> None:
        self.y = y
        self.below, self.reached = np.zeros(len(y)), np.zeros(len(y))
        self.n_trees = np.zeros(len(y))

    def add(self, samples: LeafSamples, root: Array, leaves: Array, tree: int, rows: Array) -> None:
        """Look at some rows in their leaves of a tree that has not learnt from them."""
        nodes = slice(int(root[tree]), int(root[tree + 1]))
        below, reached = samples.shares(nodes, leaves, self.y[rows])
        self.below[rows] += below
        self.reached[rows] += reached
        self.n_trees[rows] += 1

    def levels(self, weight: Array) -> Array:
        """The level to ask for, for each of `GRID`, ascending from 0 to 1."""
        seen = (self.n_trees > 0) & (weight > 0)
        weight = weight[seen]
        below, reached = (sums[seen] / self.n_trees[seen] for sums in (self.below, self.reached))
        # of a target that several rows have, the outer end counts, so that it lies inside
        low, high = held_quantiles(reached, weight, GRID), held_quantiles(below, weight, GRID)
        middle = held_quantiles(0.5 * (below + reached), weight, np.array([0.5]))
        levels = np.where(GRID < 0.5, np.minimum(low, middle), np.maximum(high, middle))
        levels = np.clip(levels + np.where(GRID > 0.5, 2.0 * ROUNDING, 0.0), 0.0, 1.0)
        levels[0], levels[GRID == 0.5], levels[-1] = 0.0, middle, 1.0
        return levels


def levels_to_ask(levels: Array, calibration: Array | None) -> Array:
    """The levels to ask the leaves for; the same ones if nothing was calibrated."""
    return levels if calibration is None else np.interp(levels, GRID, calibration)


def check_levels(levels: Any) -> None:
    """Check what a file or a pickle has as levels."""
    found = checked_array(levels, "calibration", STAT)
    inside = np.all((found >= 0.0) & (found <= 1.0)) and np.all(found[1:] >= found[:-1])
    if len(found) != len(GRID) or not inside:
        raise ModelFileError(f"The calibration must be {len(GRID)} levels that rise from 0 to 1.")

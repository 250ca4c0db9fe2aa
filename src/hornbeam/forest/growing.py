"""Grow the trees of a forest, one tree per thread.

A tree depends on the data, the seed and its number only, so a forest is the same for any
number of threads, and 50 trees and then 50 more are the same as 100 at once.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable

import numpy as np

from hornbeam.dtypes import Array
from hornbeam.forest.bags import Bags, balance_bag
from hornbeam.forest.packing import Packer, TreeMemory
from hornbeam.forest.store import Collection, ForestStore
from hornbeam.kernels import state as s
from hornbeam.runtime.team import run_team, thread_count
from hornbeam.tree.grower import Layout, Stage, growth_seconds
from hornbeam.tree.task import Task


class Plantation:
    """A task and the bags of its trees; `grow` grows some of them."""

    def __init__(
        self, task: Task, bags: Bags, balanced: bool, ccp_alpha: float, n_jobs: int | None
    ) -> None:
        self.task = task
        self.bags = bags
        self.balanced = balanced
        self._packer = Packer(task, ccp_alpha)
        self.n_jobs = n_jobs
        self._layout = Layout(task.target, task.criterion)
        self._stop = _StopSwitch()
        self._idle: list[Stage] = []
        weight = float(task.target.weight.sum())
        self._weight_share = task.rules.min_weight_leaf / weight  # that a leaf must have
        # what all trees are grown on, if not on bags
        self._all_rows: tuple[s.Rows, float] | None = None
        if bags.n_draws == 0 and not balanced:
            self._all_rows = self._layout.rows(task.target.weight), weight

    def has_codes_of(self, store: ForestStore) -> bool:
        """Whether trees that are grown here may be put beside those of a store."""
        return store.has_codes(self._packer.code_start, self._packer.code_of_category)

    def grow(
        self, first: int, last: int, tell: Callable[[int], object]
    ) -> tuple[ForestStore, Array]:
        """Grow the trees ``first`` to ``last - 1``; returns them and each one's feature gains.

        ``tell(n)`` is called with the number of trees grown so far.
        """
        harvest = _Harvest(last - first)
        gains = np.zeros((last - first, len(self.task.codes.n_codes)))
        numbers, done, lock = itertools.count(), itertools.count(1), threading.Lock()

        def work(rank: int) -> None:
            while (number := next(numbers)) < last - first and not self._stop.pressed:
                memory = harvest.lend()
                grown = self._grow_one(first + number, memory)
                if grown is None:
                    return
                store, gains[number] = grown
                with lock:
                    harvest.bring(number, store, memory)
                    tell(next(done))

        n_features = len(self.task.codes.n_codes)
        seconds = growth_seconds(self.bags.n_rows, n_features, self.task.rules) * (last - first)
        size = min(last - first, thread_count(self.n_jobs, seconds))
        run_team(work, size, self._stop, seconds)  # type: ignore[arg-type]
        return harvest.collection.store(), gains

    def _grow_one(self, number: int, memory: TreeMemory) -> tuple[ForestStore, Array] | None:
        """One tree and its feature gains; None if Ctrl-C came first."""
        rows, weight = self._rows(number)
        stage = self._take_stage()
        if self._stop.pressed:  # before the stage could be told
            return None
        stage.grow(rows, self.bags.key(number), self._weight_share * weight, inline=True)
        if self._stop.pressed:  # the tree may be half grown
            return None
        packed = self._packer.pack(stage, memory)
        self._idle.append(stage)
        return packed

    def _rows(self, number: int) -> tuple[s.Rows, float]:
        """The rows of a tree's bag, and what they weigh; growing rearranges them."""
        target = self.task.target
        if self._all_rows is not None:
            rows, total = self._all_rows
            return s.Rows(*(array.copy() for array in rows)), total
        counts = self.bags.counts(number)
        weight = target.weight * counts
        if self.balanced:
            assert target.labels is not None
            weight *= balance_bag(target.labels, target.class_start, counts)
        return self._layout.rows(weight), float(weight.sum())

    def _take_stage(self) -> Stage:
        """A stage that no other thread is using."""
        try:
            return self._idle.pop()
        except IndexError:
            task = self.task
            stage = Stage(task.codes, task.target, task.criterion, task.rules, self.bags.n_rows, 1)
        self._stop.stages.append(stage)
        return stage


class _Harvest:
    """Collects trees in the order of their numbers, whichever is ready first."""

    def __init__(self, n_trees: int) -> None:
        self.n_trees = n_trees
        self.collection = Collection()
        self._early: dict[int, tuple[ForestStore, TreeMemory]] = {}
        self._free: list[TreeMemory] = []

    def lend(self) -> TreeMemory:
        """Memory for a tree, until it is brought."""
        try:
            return self._free.pop()
        except IndexError:
            return TreeMemory()

    def bring(self, number: int, store: ForestStore, memory: TreeMemory) -> None:
        """Take a tree, and all that have waited for it."""
        self._early[number] = store, memory
        while (turn := len(self.collection.parts)) in self._early:
            ready, memory = self._early.pop(turn)
            self.collection.append(ready, n_more=self.n_trees - turn - 1)
            self._free.append(memory)


class _StopSwitch:
    """Stands for the shared array of a team: its stop is the stop of all stages."""

    def __init__(self) -> None:
        self.pressed = False
        self.stages: list[Stage] = []

    def __setitem__(self, word: int, value: int) -> None:
        self.pressed = True
        for stage in self.stages:
            stage.shared[word] = value

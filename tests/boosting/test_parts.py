"""Two parts of a table, each with a grower of its own, grow the trees of the whole table."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from hornbeam import losses
from hornbeam.boosting.grower import BoostedGrower, GrownTree
from hornbeam.boosting.parts import OnePart
from hornbeam.boosting.rules import BoostRules
from hornbeam.boosting.sampling import Goss, Mvs, Uniform
from hornbeam.boosting.scores import RowScores
from hornbeam.boosting.table import CodedTable, code_table
from hornbeam.data.pages import Pages, cut_at
from hornbeam.dtypes import Array
from tests.boosting.test_pages import FRAME, MANY, MANY_Y, NUMBERS, RARE, STORED, WEIGHT, N, Y

ROUNDS = 3


class Meeting:
    """Where the threads that have a part each bring their numbers together."""

    def __init__(self, size: int) -> None:
        self.barrier = threading.Barrier(size, timeout=300.0)
        self.brought: dict[int, list[Array]] = {}
        self.times = 0

    def bring(self, rank: int, numbers: Sequence[Array]) -> list[list[Array]]:
        """What all have brought."""
        self.brought[rank] = [np.array(part) for part in numbers]
        self.barrier.wait()
        together = [self.brought[key] for key in sorted(self.brought)]
        self.times += rank == 0
        self.barrier.wait()
        return together


@dataclass(frozen=True)
class SomePart:
    """One of several parts."""

    meeting: Meeting
    rank: int
    n_rows: int
    first_row: int
    are_many: bool = True

    def add_up(self, sums: Sequence[Array]) -> None:
        for own, *others in zip(sums, *self.meeting.bring(self.rank, sums), strict=True):
            own[:] = sum(others)

    def largest(self, numbers: Sequence[float]) -> list[float]:
        brought = self.meeting.bring(self.rank, [np.array(numbers)])
        return np.max([part for (part,) in brought], axis=0).tolist()


def grow(
    table: CodedTable, y: Array, weight: Array, rules: BoostRules, parts: Any, n_jobs: int
) -> tuple[list[GrownTree], Array]:
    """Grow some trees, one on what the others have left; also returns the scores."""
    loss = losses.resolve("squared_error", task="regression")
    scores = RowScores(loss, y, weight, np.zeros(1), 2)
    grower = BoostedGrower(table, rules, scores, n_jobs, parts=parts)
    scores.take_slopes(n_jobs)
    trees = []
    for number in range(ROUNDS):
        tree = grower.grow(number, table.features)
        tree.value = 0.5 * tree.value
        grower.advance(tree.value, 0, True)
        trees.append(tree)
    return trees, scores.score


def part_of(table: CodedTable, rank: int) -> CodedTable:
    """One page of a table, as a table."""
    page = list(table.pages)[rank]
    return replace(table, pages=Pages(np.array([0, page.n_rows]), (page.codes,)))


CATEGORIES = np.column_stack([NUMBERS, FRAME["kind"].factorize()[0]])
CASES: dict[str, tuple[Any, BoostRules]] = {
    "leaf": (NUMBERS, BoostRules(max_leaf_nodes=15)),
    "four together": (NUMBERS, BoostRules(max_leaf_nodes=15, ahead=4)),
    "level": (CATEGORIES, BoostRules(growth="level", max_depth=4, ahead=8)),
    "depth": (CATEGORIES, BoostRules(growth="depth", max_leaf_nodes=9)),
    "drawn": (
        CATEGORIES,
        BoostRules(sampling=Uniform(0.6), colsample_bylevel=0.7, colsample_bynode=0.6, ahead=2),
    ),
    "few rows in a leaf": (NUMBERS, BoostRules(min_samples_leaf=60, ahead=2)),
    "bounded": (
        NUMBERS,
        BoostRules(monotone=np.array([1, -1, 0, 0, 0, 0]), reg_alpha=0.1, max_delta_step=0.7),
    ),
    "bundled": (RARE, BoostRules(ahead=2)),
    "sparse": (STORED, BoostRules(ahead=3)),
    "sparse, drawn": (STORED, BoostRules(sampling=Uniform(0.7), min_samples_leaf=30)),
    "goss": (NUMBERS, BoostRules(sampling=Goss())),
    "goss, sparse": (STORED, BoostRules(sampling=Goss(0.3, 0.3))),
    "mvs": (CATEGORIES, BoostRules(sampling=Mvs(0.5), ahead=2)),
    "many rows": (MANY, BoostRules(ahead=2)),
}


@pytest.mark.usefixtures("real_threads")
@pytest.mark.parametrize("cut", [0, 1, 450, N // 2])
@pytest.mark.parametrize("name", CASES)
def test_parts_grow_the_trees_of_the_whole(name: str, cut: int) -> None:
    matrix, rules = CASES[name]
    y, weight = (Y, WEIGHT) if matrix.shape[0] == N else (MANY_Y, np.ones(len(MANY_Y)))
    cut = cut * len(y) // N
    is_category = np.arange(matrix.shape[1]) == (6 if matrix is CATEGORIES else -1)
    with cut_at(cut):
        table = code_table(matrix, is_category, 6 * is_category, 255, 1)
    table = table.parting(rules.min_samples_leaf)
    expected, scores = grow(table, y, weight, replace(rules, ahead=0), None, 1)
    meeting = Meeting(2)

    def work(rank: int) -> tuple[list[GrownTree], Array]:
        rows = slice(0, cut) if rank == 0 else slice(cut, None)
        part = SomePart(meeting, rank, len(y), rows.start or 0)
        return grow(part_of(table, rank), y[rows], weight[rows], rules, part, 1 + rank)

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(work, range(2)))
    for trees, _ in found:
        for tree, wanted in zip(trees, expected, strict=True):
            splits = wanted.child > 0
            by_set = splits & is_category[wanted.feature]
            chosen = {"member": by_set, "cut": splits, "feature": splits, "missing_left": splits}
            for field in GrownTree.__slots__:
                one, other = np.asarray(getattr(tree, field)), np.asarray(getattr(wanted, field))
                which = chosen.get(field, ...)
                np.testing.assert_array_equal(one[which], other[which], field)
    np.testing.assert_array_equal(np.concatenate([part for _, part in found]), scores)
    n_splits = sum(np.count_nonzero(tree.child) for tree in expected)
    assert n_splits > 3 * ROUNDS
    assert meeting.times > 3 * ROUNDS  # the largest slopes, the root, its histogram, and more
    if rules.ahead >= 4:  # not one by one
        assert meeting.times < n_splits


def test_one_part_has_nothing_to_add() -> None:
    part = OnePart(7)
    sums = np.arange(3)
    part.add_up([sums])
    assert sums.tolist() == [0, 1, 2] and part.largest([0.5, 2.0]) == [0.5, 2.0]


def test_heavy_rows_of_parts_are_refused() -> None:
    weight = np.ones(N)
    weight[3] = 1e9
    table = code_table(NUMBERS, np.zeros(6, bool), np.zeros(6, np.int64), 255, 1)
    with pytest.raises(ValueError, match="One row weighs so much more than others"):
        grow(table, Y, weight, BoostRules(), SomePart(Meeting(1), 0, N, 0), 1)

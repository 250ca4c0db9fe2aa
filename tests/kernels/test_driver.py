"""The driver: turns of take, collect, scan and settle, of one thread and of several.

What grows here is a tree of numbers: node n has the children 2n and 2n + 1, as far as these are
below a limit. Each scan of a node adds it up.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from hornbeam.kernels.driver import (
    ADDING,
    ALONE,
    FINISHED,
    FULL,
    STOPPED,
    TOGETHER,
    WORD_TURN,
    CollectSums,
    Crew,
    DriverSteps,
    ScanSums,
    SettleSplits,
    TakeNodes,
    drive,
)
from hornbeam.kernels.frontier import Frontier, begin_with, new_frontier, pop, push
from hornbeam.runtime.atomics import STOP, atomic_add, atomic_load
from hornbeam.runtime.kernel import step
from hornbeam.runtime.pointers import I8
from hornbeam.runtime.team import new_shared, run_team
from hornbeam.runtime.views import make_loader, make_slots

WORD_NODE, WORD_SCANS, WORD_SUM, WORD_ROOM = 48, 49, 50, 51
AT = 1  # somewhere in the slots


class Numbers(NamedTuple):
    """What the threads share."""

    crew: Crew
    words: I8
    frontier: Frontier
    limit: int
    alone_from: int  # nodes from here on are not worth all threads


load_numbers = make_loader(Numbers)


@step(TakeNodes)
def take_number(slots: Any, at: int, size: int) -> Any:
    own = load_numbers(slots, at)
    if atomic_load(own.words, STOP) != 0:
        return STOPPED
    if own.words[WORD_ROOM] == 0:
        return FULL
    node = pop(own.frontier, own.words)
    own.words[WORD_NODE] = node
    if node < 0:
        return FINISHED
    return ALONE if node >= own.alone_from else TOGETHER


@step(ScanSums)
def scan_number(slots: Any, at: int, rank: int, size: int) -> None:
    words = load_numbers(slots, at).words
    atomic_add(words, WORD_SCANS, 1)
    if rank == 0:
        words[WORD_SUM] += words[WORD_NODE]


@step(CollectSums)
def come_up(slots: Any, at: int, rank: int, size: int) -> Any:
    return True


@step(SettleSplits)
def settle_number(slots: Any, at: int, size: int) -> None:
    own = load_numbers(slots, at)
    node = own.words[WORD_NODE]
    own.words[WORD_ROOM] -= 1
    for child in range(2 * node, 2 * node + 2):
        if child <= own.limit:
            push(own.frontier, own.words, child, node, 0.0)


def make(limit: int, alone_from: int, room: int = 99, collect: Any = None) -> Any:
    words, frontier = new_shared(), new_frontier("depth", limit + 2)
    begin_with(frontier, words, 1)
    words[WORD_ROOM] = room
    steps = DriverSteps(take_number, scan_number, settle_number, collect)
    numbers = Numbers(Crew(words, steps), words, frontier, limit, alone_from)
    return np.concatenate([np.zeros(AT, np.int64), make_slots(numbers)]), words, numbers


def turns(slots: Any, words: Any, size: int) -> set[int]:
    ends = []
    run_team(lambda rank: ends.append(drive(slots, AT, rank, size)), size, words, 1.0)
    return set(ends)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("alone_from", [1, 4, 99])
def test_every_node_is_worked_on_once(size: int, alone_from: int) -> None:
    slots, words, _kept = make(20, alone_from)
    assert turns(slots, words, size) == {FINISHED}
    together = min(alone_from, 21) - 1
    assert words[WORD_SUM] == sum(range(21))
    assert words[WORD_SCANS] == size * together + 20 - together


@pytest.mark.parametrize("size", [1, 2])
def test_it_goes_on_when_there_is_room_again(size: int) -> None:
    slots, words, _kept = make(9, 4, room=2)
    for _ in range(4):
        assert turns(slots, words, size) == {FULL}
        words[WORD_ROOM] = 2
    assert turns(slots, words, size) == {FINISHED}
    assert words[WORD_SUM] == sum(range(10))


@pytest.mark.parametrize("size", [1, 2])
def test_it_comes_up_with_sums_and_goes_on_with_the_same_node(size: int) -> None:
    slots, words, _kept = make(3, 99, collect=come_up)
    seen = []
    while turns(slots, words, size) == {ADDING}:
        seen.append(int(words[WORD_NODE]))
    assert words[WORD_TURN] == FINISHED
    assert seen == [1, 2, 3] or seen == [1, 3, 2]
    assert words[WORD_SUM] == 6


@pytest.mark.parametrize("size", [1, 2])
def test_it_leaves_when_somebody_says_stop(size: int) -> None:
    slots, words, _kept = make(9, 99)
    words[STOP] = 1
    assert turns(slots, words, size) == {STOPPED}
    assert words[WORD_SUM] == 0

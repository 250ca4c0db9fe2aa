"""The growth driver: the one loop in which trees grow.

    take      nodes from the frontier whose turn it is          first thread
    collect   their sums, page by page                          all threads
    (add up   where other parts of the table have sums, too)    the caller
    scan      the sums for the best splits                      all threads
    settle    these splits: children, which go on the frontier  first thread

CART and forests, boosting, symmetric trees, ID3 and C4.5 bring steps of their own. Which node is
next is up to the frontier (kernels/frontier.py), how many are taken at once to those who take
them: one, those that come next as far as is known, or a whole level. Searches that sum up
feature by feature collect while they scan.

All state lies in arrays. So the driver can come up for air, with sums that are to be added up or
because room has run out, and goes on where it was when it is called again.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from numba import int64, types

from hornbeam.runtime.atomics import STOP, atomic_load, barrier
from hornbeam.runtime.companion import Kernel
from hornbeam.runtime.kernel import kernel, part
from hornbeam.runtime.pointers import I8, bare
from hornbeam.runtime.views import Slots, declared_signatures, make_loader


class TakeNodes(Protocol):
    """Take nodes from the frontier, with one thread; returns what the crew does with them."""

    def __call__(self, slots: Slots, at: int, size: int) -> int: ...


class CollectSums(Protocol):
    """Sum up the rows of nodes, with all threads; whether other parts have sums, too."""

    def __call__(self, slots: Slots, at: int, rank: int, size: int) -> bool: ...


class ScanSums(Protocol):
    """Look for the best splits, with all threads."""

    def __call__(self, slots: Slots, at: int, rank: int, size: int) -> None: ...


class SettleSplits(Protocol):
    """Make the best splits, and put what is to be split next on the frontier, with one thread."""

    def __call__(self, slots: Slots, at: int, size: int) -> None: ...


class DriverSteps(NamedTuple):
    """What a turn consists of."""

    take: TakeNodes | None = None
    scan: ScanSums | None = None
    settle: SettleSplits | None = None
    collect: CollectSums | None = None  # None: scanning does it


class Crew(NamedTuple):
    """The threads that grow together: the first part of what they share."""

    words: I8  # layout of runtime/atomics.py
    steps: DriverSteps


load_crew = make_loader(Crew)

WORD_TURN = 42  # of these words: what the crew does next ...
# ... it leaves the driver, or works on nodes: those that are not worth all threads are left to
# the first one, while the others wait
FINISHED, FULL, STOPPED, ADDING, ALONE, TOGETHER = range(6)


@part
def next_turn(slots, at, steps, size):
    """Take nodes that are worth all threads, and grow those before them alone."""
    while True:
        turn = steps.take(slots, at, size)
        if turn != ALONE:
            return turn
        steps.scan(slots, at, int64(0), int64(1))
        steps.settle(slots, at, int64(1))


@kernel
def drive(slots, at, rank, size):
    """Grow until no node waits, room runs out, somebody says stop, or sums are to be added up.

    All threads of a crew call this together; ``at`` is where it is among the slots. Returns
    FINISHED, FULL, STOPPED or ADDING.
    """
    slots = bare(slots)
    crew = load_crew(slots, at)
    steps, words = crew.steps, crew.words
    is_added = words[WORD_TURN] == ADDING
    barrier(words, size)  # the first thread changes it
    while True:
        if not is_added:
            if rank == 0:
                words[WORD_TURN] = next_turn(slots, at, steps, size)
            barrier(words, size)
            if rank > 0 and atomic_load(words, STOP) != 0:
                return int64(STOPPED)  # the first thread may still be at work on what they share
            turn = words[WORD_TURN]
            if turn < ALONE:
                return turn
            if bool(steps.collect) and steps.collect(slots, at, rank, size):
                barrier(words, size)
                if rank == 0:
                    words[WORD_TURN] = ADDING
                return int64(ADDING)
        is_added = False
        steps.scan(slots, at, rank, size)
        barrier(words, size)
        if rank == 0 and atomic_load(words, STOP) == 0:
            steps.settle(slots, at, size)


DRIVE_SIGNATURE = int64(types.Array(int64, 1, "C"), int64, int64, int64)


def driver_kernels(steps: DriverSteps) -> list[Kernel]:
    """The driver and the steps of its turns, with their signatures."""
    return [(drive, DRIVE_SIGNATURE), *declared_signatures([step for step in steps if step])]

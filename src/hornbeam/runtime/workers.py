"""Threads that wait for calls, are lent out, and come back: what teams are made of.

Python runs the handlers of signals in the main thread. What these threads do is never
interrupted; the main thread, which waits for them, is, and `run_threads` lets it leave only when
all of them are done.
Workers are kept for the next call. After a fork the child starts with none.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import TypeVar

# A signal that an interrupt swallowed is made up for after this long.
LOOK_AGAIN_SECONDS = 0.2

Result = TypeVar("Result")


class Worker:
    """A thread that waits for calls, as long as somebody holds the worker.

    One that got lost, since an interrupt came between two steps, ends by itself.
    """

    def __init__(self) -> None:
        self.calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        arguments = (self.calls,)
        threading.Thread(target=_serve, args=arguments, name="hornbeam", daemon=True).start()

    def __del__(self) -> None:
        self.calls.put(None)


def _serve(calls: SimpleQueue[Callable[[], None] | None]) -> None:
    while (call := calls.get()) is not None:
        call()
        del call  # it may hold the worker, and large tables


class _Pool:
    """Idle workers. Several Python threads may borrow at once; each gets its own."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all workers: in a forked child their threads do not exist."""
        self._lock = threading.Lock()
        self._idle: list[Worker] = []

    def borrow(self, count: int) -> list[Worker]:
        with self._lock:
            workers = [self._idle.pop() for _ in range(min(count, len(self._idle)))]
        return workers + [Worker() for _ in range(count - len(workers))]

    def give_back(self, workers: list[Worker]) -> None:
        with self._lock:
            self._idle.extend(workers)


pool = _Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool.reset)


def run_threads(function: Callable[[int], object], size: int, stop: Callable[[], object]) -> None:
    """Call ``function(rank)`` on ``size`` workers and wait; errors and Ctrl-C come through.

    ``stop()`` is called after an error or an interrupt: it tells the others to come to an end.

    An interrupt may arrive between any two steps here, and whoever called would then free
    memory that workers still use. So every step from the first call that is handed out to the
    last outcome is inside ``try``. A call that was handed out twice runs once, and who is done
    is read off ``outcomes``, which only workers fill; a signal that got lost is made up for by
    looking again.
    """
    outcomes: list[BaseException | None] = []
    signals: SimpleQueue[None] = SimpleQueue()
    tickets = [[None] for _ in range(size)]

    def call(rank: int) -> None:
        try:
            tickets[rank].pop()
        except IndexError:
            return
        outcome: BaseException | None = None
        try:
            function(rank)
        except BaseException as error:
            stop()
            outcome = error
        outcomes.append(outcome)
        signals.put(None)

    workers = pool.borrow(size)
    handed_out = 0
    interrupt: BaseException | None = None
    while True:
        try:
            while handed_out < size:
                workers[handed_out].calls.put(partial(call, handed_out))
                handed_out += 1
            while len(outcomes) < size:
                with suppress(Empty):
                    signals.get(timeout=LOOK_AGAIN_SECONDS)
            break
        except BaseException as error:
            stop()
            interrupt = error
    pool.give_back(workers)
    failure = interrupt or next((outcome for outcome in outcomes if outcome is not None), None)
    if failure is not None:
        raise failure


def out_of_reach(function: Callable[[], Result]) -> Result:
    """Call a function where no signal reaches it; an interrupt is raised when it is done.

    For what must not be left half done. LLVM and Numba take their locks in Python code: an
    exception that the handler of a signal raises in there (Ctrl-C, or a time limit by an alarm)
    would leave a lock taken for ever, and in a callback of LLVM it would be lost.
    """
    if threading.current_thread() is not threading.main_thread():
        return function()
    results: list[Result] = []
    run_threads(lambda rank: results.append(function()), 1, stop=lambda: None)
    return results[0]

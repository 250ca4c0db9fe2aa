"""Threads: Python threads that meet inside compiled code, no OpenMP.

`run_team` runs one kernel on several threads at once (they share an int64 array and meet
at `runtime.atomics.barrier`); `run_parallel` spreads independent Python calls.
The calling thread only waits, so that Ctrl-C reaches it: it then raises the stop flag,
which kernels look at, and waits until all have left.
`run_in_order` is for calls that take long and know of no flag, such as a fit of any estimator:
Ctrl-C does not wait for those.
Workers are kept for the next call. After a fork the child starts with none.
"""

from __future__ import annotations

import itertools
import os
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from queue import Empty, SimpleQueue
from typing import Any

import joblib
import numpy as np

from hornbeam.dtypes import Array
from hornbeam.runtime.atomics import SHARED_WORDS, STOP

# A second thread pays when it saves more than waking it costs (some 30 us each).
_SECONDS_PER_THREAD = 500e-6
# More threads than this many per core only cost memory, whatever n_jobs says.
_THREADS_PER_CORE = 4
_FEW_THREADS = 8
# Work below this runs in the calling thread itself; Ctrl-C then waits that long at most.
_INLINE_SECONDS = 0.05
# A signal that an interrupt swallowed is made up for after this long.
_LOOK_AGAIN_SECONDS = 0.2


def thread_count(n_jobs: int | None, seconds: float) -> int:
    """How many threads to use for work that one thread does in about ``seconds``.

    ``n_jobs=None`` means as many as pay, a positive number that many (but at most 8, or
    four per core), a negative one scikit-learn's ``cores + 1 + n_jobs``.
    """
    if n_jobs is not None and 0 < n_jobs <= _FEW_THREADS:
        return n_jobs
    paying = int(seconds / _SECONDS_PER_THREAD)
    if n_jobs is None and paying <= 1:
        return 1
    cores = core_count()
    if n_jobs is None:
        return min(cores, paying)
    if n_jobs > 0:
        return min(n_jobs, max(_FEW_THREADS, _THREADS_PER_CORE * cores))
    return max(1, cores + 1 + n_jobs)


def core_count() -> int:
    """How many cores this process may use, by affinity, cgroups and ``LOKY_MAX_CPU_COUNT``."""
    try:
        return int(joblib.cpu_count())
    except ValueError:  # joblib takes the variable for a number, whatever it holds
        _say_that_ignored("LOKY_MAX_CPU_COUNT")
        return _allowed_cores()


def _allowed_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _say_that_ignored(variable: str) -> None:
    """Name a setting of the environment that cannot be used; once."""
    warnings.warn(
        f"The environment variable {variable} is {os.environ.get(variable)!r}, which is not a "
        "number of cores, so hornbeam ignores it. Set it to a whole number, or unset it.",
        RuntimeWarning,
        stacklevel=2,
    )


class _Worker:
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
        self._idle: list[_Worker] = []

    def borrow(self, count: int) -> list[_Worker]:
        with self._lock:
            workers = [self._idle.pop() for _ in range(min(count, len(self._idle)))]
        return workers + [_Worker() for _ in range(count - len(workers))]

    def give_back(self, workers: list[_Worker]) -> None:
        with self._lock:
            self._idle.extend(workers)


_pool = _Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.reset)


def new_shared() -> Array:
    """The zeroed array through which the threads of one team talk."""
    return np.zeros(SHARED_WORDS, np.int64)


def _run_threads(function: Callable[[int], object], size: int, shared: Array) -> None:
    """Call ``function(rank)`` on ``size`` workers and wait; errors and Ctrl-C come through.

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
            shared[STOP] = 1
            outcome = error
        outcomes.append(outcome)
        signals.put(None)

    workers = _pool.borrow(size)
    handed_out = 0
    interrupt: BaseException | None = None
    while True:
        try:
            while handed_out < size:
                workers[handed_out].calls.put(partial(call, handed_out))
                handed_out += 1
            while len(outcomes) < size:
                with suppress(Empty):
                    signals.get(timeout=_LOOK_AGAIN_SECONDS)
            break
        except BaseException as error:
            shared[STOP] = 1
            interrupt = error
    _pool.give_back(workers)
    failure = interrupt or next((outcome for outcome in outcomes if outcome is not None), None)
    if failure is not None:
        raise failure


def run_team(function: Callable[[int], object], size: int, shared: Array, seconds: float) -> None:
    """Call ``function(rank)`` on ``size`` threads at once; they share the array ``shared``.

    ``seconds`` is the expected duration: short work on one thread runs in the caller.
    """
    if size == 1 and seconds < _INLINE_SECONDS:
        function(0)
    else:
        _run_threads(function, size, shared)


def run_parallel(
    function: Callable[[int], object], n_tasks: int, n_jobs: int | None, cost_seconds: float
) -> None:
    """Call ``function(i)`` for every i below ``n_tasks``, from as many threads as pay.

    ``cost_seconds`` is about what all calls together take on one thread.
    """
    size = min(n_tasks, thread_count(n_jobs, cost_seconds))
    if size <= 1:
        for task in range(n_tasks):
            function(task)
        return
    shared = new_shared()
    tasks = itertools.count()  # next() on it is atomic

    def work(rank: int) -> None:
        while (task := next(tasks)) < n_tasks and not shared[STOP]:
            function(task)

    _run_threads(work, size, shared)


def run_in_order(
    function: Callable[[int], Any], n_tasks: int, size: int, use: Callable[[Any], object]
) -> None:
    """Call ``function(i)`` for every i below ``n_tasks`` on ``size`` threads.

    ``use(result)`` is called here, in the order of the tasks. After an error or Ctrl-C no
    further task begins; those that run are not waited for, and nobody sees what they return.
    """
    tasks = itertools.count()
    results: SimpleQueue[tuple[int, Any, BaseException | None]] = SimpleQueue()
    stopped = threading.Event()

    def work(worker: _Worker) -> None:
        while (task := next(tasks)) < n_tasks and not stopped.is_set():
            try:
                results.put((task, function(task), None))
            except BaseException as error:
                results.put((task, None, error))
        if not stopped.is_set():  # otherwise others have been started in its place
            _pool.give_back([worker])
        del worker  # the traceback of an error holds this frame, but is not to hold the worker

    early: dict[int, Any] = {}  # results whose turn has not come
    try:
        _hand_out(work, min(size, n_tasks))
        for task in range(n_tasks):
            while task not in early:
                with suppress(Empty):  # not every system lets Ctrl-C through to one that waits
                    number, result, error = results.get(timeout=_LOOK_AGAIN_SECONDS)
                    if error is not None:
                        raise error
                    early[number] = result
            use(early.pop(task))
    except BaseException:
        stopped.set()
        raise


def _hand_out(work: Callable[[_Worker], None], size: int) -> None:
    """Let workers begin; each has itself as the argument, to give itself back."""
    for worker in _pool.borrow(size):
        worker.calls.put(partial(work, worker))

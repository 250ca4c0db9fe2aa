"""Threads: Python threads that meet inside compiled code, no OpenMP.

`run_team` runs one kernel on several threads at once (they share an int64 array and meet
at `runtime.atomics.barrier`); `run_parallel` spreads independent Python calls.
The calling thread only waits, so that Ctrl-C reaches it: it then raises the stop flag,
which kernels look at, and waits until all have left.
`run_in_order` is for calls that take long and know of no flag, such as a fit of any estimator:
Ctrl-C does not wait for those.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache, lru_cache, partial
from queue import Empty, SimpleQueue
from typing import Any

import joblib
import numpy as np

from hornbeam.dtypes import Array
from hornbeam.runtime.atomics import SHARED_WORDS, STOP
from hornbeam.runtime.workers import LOOK_AGAIN_SECONDS, Worker, pool, run_threads

# A second thread pays when it saves more than waking it costs (some 30 us each).
_SECONDS_PER_THREAD = 500e-6
# More threads than this many per core only cost memory, whatever n_jobs says.
_THREADS_PER_CORE = 4
_FEW_THREADS = 8
# Work below this runs in the calling thread itself; Ctrl-C then waits that long at most.
_INLINE_SECONDS = 0.05
_VARIABLE = "LOKY_MAX_CPU_COUNT"


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
    """How many cores this process may use, by affinity, cgroups and ``LOKY_MAX_CPU_COUNT``.

    Small fits ask hundreds of times, and joblib reads files for it: it is asked once a second.
    """
    return _cores_known(joblib.cpu_count, os.environ.get(_VARIABLE), int(time.monotonic()))


@lru_cache(maxsize=1)
def _cores_known(ask: Callable[[], int], variable: str | None, second: int) -> int:
    """What joblib says within a second, as long as it is asked in the same way."""
    try:
        return int(ask())
    except ValueError:  # joblib takes the variable for a number, whatever it holds
        _say_that_ignored(_VARIABLE)
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


def new_shared() -> Array:
    """The zeroed array through which the threads of one team talk."""
    return np.zeros(SHARED_WORDS, np.int64)


def _raise_flag(shared: Array) -> None:
    """Tell the kernels of a team to come to an end."""
    shared[STOP] = 1


def run_team(function: Callable[[int], object], size: int, shared: Array, seconds: float) -> None:
    """Call ``function(rank)`` on ``size`` threads at once; they share the array ``shared``.

    ``seconds`` is the expected duration: short work on one thread runs in the caller.
    """
    if size == 1 and seconds < _INLINE_SECONDS:
        function(0)
    else:
        run_threads(function, size, partial(_raise_flag, shared))


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

    run_threads(work, size, partial(_raise_flag, shared))


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

    def work(worker: Worker) -> None:
        while (task := next(tasks)) < n_tasks and not stopped.is_set():
            try:
                results.put((task, function(task), None))
            except BaseException as error:
                results.put((task, None, error))
        if not stopped.is_set():  # otherwise others have been started in its place
            pool.give_back([worker])
        del worker  # the traceback of an error holds this frame, but is not to hold the worker

    early: dict[int, Any] = {}  # results whose turn has not come
    try:
        _hand_out(work, min(size, n_tasks))
        for task in range(n_tasks):
            while task not in early:
                with suppress(Empty):  # not every system lets Ctrl-C through to one that waits
                    number, result, error = results.get(timeout=LOOK_AGAIN_SECONDS)
                    if error is not None:
                        raise error
                    early[number] = result
            use(early.pop(task))
    except BaseException:
        stopped.set()
        raise


def _hand_out(work: Callable[[Worker], None], size: int) -> None:
    """Let workers begin; each has itself as the argument, to give itself back."""
    for worker in pool.borrow(size):
        worker.calls.put(partial(work, worker))

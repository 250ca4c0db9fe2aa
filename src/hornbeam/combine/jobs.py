"""What is done with many members: one at a time, or several on one thread each."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

import joblib
from joblib.parallel import ThreadingBackend, get_active_backend
from sklearn import config_context, get_config
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from hornbeam.runtime.team import run_in_order, thread_count


def run_jobs(
    job: Callable[..., Any],
    arguments: Callable[[int], tuple[Any, ...]],
    n_calls: int,
    use: Callable[[Any], object],
    n_jobs: int | None,
) -> None:
    """Call ``job(*arguments(i), alone)`` for every i, several at a time; use results in order.

    Several at a time means that each has one thread: the threads of a member and those of
    the libraries it calls would only fight for the cores. One at a time has all of them.

    Parameters
    ----------
    job : callable
    arguments : callable
        Its arguments by the number of the call, asked for when the call begins.
    n_calls : int
    use : callable
        Gets the results, in this thread and in the order of the calls.
    n_jobs : int or None
        How many are run at a time; joblib may have been told by the user.
    """
    size = _effective(n_jobs)
    if size == 1:
        for number in range(n_calls):
            use(job(*arguments(number), True))
        return
    backend, _ = get_active_backend(prefer="threads")
    with threadpool_limits(limits=1):
        if isinstance(backend, ThreadingBackend):
            config = get_config()  # threads begin with scikit-learn's defaults

            def call(number: int) -> Any:
                with config_context(**config):
                    return job(*arguments(number), False)

            run_in_order(call, n_calls, size, use)
            return
        parallel = Parallel(n_jobs=size, prefer="threads", return_as="generator")
        calls = (delayed(job)(*arguments(number), False) for number in range(n_calls))
        with closing(parallel(calls)) as results:
            for result in results:
                use(result)


def _effective(n_jobs: int | None) -> int:
    try:
        return int(joblib.effective_n_jobs(n_jobs))
    except ValueError:  # of the number of cores that the environment sets
        return thread_count(n_jobs, 0.0)

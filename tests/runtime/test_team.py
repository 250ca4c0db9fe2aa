"""Threads that share work, meet at a barrier, stop when told to, and survive a fork."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from functools import partial
from typing import Any

import numpy as np
import pytest

from hornbeam.runtime import team
from hornbeam.runtime.atomics import NEXT_TASK, STOP, atomic_add, barrier
from hornbeam.runtime.kernel import specialise
from hornbeam.runtime.team import (
    core_count,
    new_shared,
    run_in_order,
    run_parallel,
    run_team,
    thread_count,
)
from hornbeam.runtime.workers import pool

LONG = 10.0  # seconds of work that every thread pays for
# The cache knows the sources of the package only, so kernels of tests must not be kept.
not_stored = partial(specialise, variant=None)


# --- how many threads -----------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.parametrize(
    ("n_jobs", "cores", "expected"),
    [
        (None, 4, 4),
        (None, 1, 1),
        (1, 4, 1),
        (5, 4, 5),
        (5, 1, 5),
        (-1, 4, 4),
        (-2, 4, 3),
        (-4, 4, 1),
        (-(10**6), 4, 1),
        (10**6, 4, 16),
        (10**6, 1, 8),
        (10**30, 64, 256),
        (np.int64(3), 2, 3),
    ],
)
def test_thread_count(n_jobs: Any, cores: int, expected: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(team.joblib, "cpu_count", lambda: cores)
    assert thread_count(n_jobs, LONG) == expected


@pytest.mark.quick
def test_short_work_takes_few_threads(monkeypatch: Any) -> None:
    monkeypatch.setattr(team.joblib, "cpu_count", lambda: 64)
    counts = [thread_count(None, seconds) for seconds in (0.0, 1e-6, 1e-3, 5e-3, 1.0)]
    assert counts[:2] == [1, 1] and counts == sorted(counts) and counts[-1] == 64
    assert thread_count(3, 0.0) == 3  # a number is a number


@pytest.mark.quick
def test_cores_are_counted_once_a_second(monkeypatch: Any) -> None:
    asked: list[int] = []
    now = [100.2]

    def count() -> int:
        asked.append(3 + len(asked))
        return asked[-1]

    monkeypatch.setattr(team.joblib, "cpu_count", count)
    monkeypatch.setattr(team.time, "monotonic", lambda: now[0])
    assert [core_count() for _ in range(50)] == [3] * 50
    now[0] = 101.0
    assert core_count() == 4, "a limit may have changed meanwhile"
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "7")
    assert core_count() == 5, "as may the environment"


# --- independent tasks ----------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.parametrize("n_jobs", [None, 1, 2, 7])
@pytest.mark.parametrize("n_tasks", [0, 1, 2, 500])
def test_each_task_runs_once(n_tasks: int, n_jobs: int | None) -> None:
    done: list[int] = []
    run_parallel(done.append, n_tasks, n_jobs, LONG)
    assert sorted(done) == list(range(n_tasks))


@pytest.mark.quick
def test_tasks_run_at_the_same_time() -> None:
    meeting = threading.Barrier(3, timeout=30)
    run_parallel(lambda task: meeting.wait(), 3, 3, LONG)


@pytest.mark.quick
@pytest.mark.parametrize("n_jobs", [1, 4])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_errors_come_through_and_stop_the_rest(n_jobs: int, error: type[BaseException]) -> None:
    done: list[int] = []

    def work(task: int) -> None:
        if task == 3:
            raise error("task 3")
        time.sleep(0.001)
        done.append(task)

    with pytest.raises(error, match="task 3"):
        run_parallel(work, 10_000, n_jobs, LONG)
    assert len(done) < 1000
    again: list[int] = []
    run_parallel(again.append, 50, n_jobs, LONG)  # the team is usable afterwards
    assert sorted(again) == list(range(50))


@pytest.mark.quick
def test_threads_are_used_again() -> None:
    run_parallel(lambda task: None, 8, 4, LONG)
    before = threading.active_count()
    for _ in range(50):
        run_parallel(lambda task: None, 8, 4, LONG)
    assert threading.active_count() == before


@pytest.mark.quick
def test_work_inside_work() -> None:
    done: list[tuple[int, int]] = []
    run_parallel(
        lambda outer: run_parallel(lambda inner: done.append((outer, inner)), 5, 3, LONG),
        6, 3, LONG,
    )  # fmt: skip
    assert sorted(done) == [(i, j) for i in range(6) for j in range(5)]


@pytest.mark.quick
def test_eight_python_threads_at_once() -> None:
    done: list[list[int]] = [[] for _ in range(8)]

    def use(number: int) -> None:
        for _ in range(5):
            run_parallel(done[number].append, 20, 3, LONG)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [sorted(d) for d in done] == [sorted(list(range(20)) * 5)] * 8


# --- a team inside compiled code ------------------------------------------------------------------


@not_stored
def count_in_step(shared, counts, rank, size, rounds):
    """Every round each thread checks that all others have finished the round before."""
    mistakes = 0
    for turn in range(rounds):
        counts[rank * 8] += 1
        barrier(shared, size)
        for other in range(size):
            if counts[other * 8] != turn + 1:
                mistakes += 1
        barrier(shared, size)
        atomic_add(shared, NEXT_TASK, 1)
    return mistakes


@not_stored
def wait_for_nobody(shared):
    """Meet a thread that never comes."""
    barrier(shared, 2)


@pytest.mark.quick
@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_the_barrier_keeps_threads_in_step(size: int) -> None:
    """Also with more threads than cores."""
    shared, counts, rounds = new_shared(), np.zeros(8 * size, np.int64), 200
    mistakes: list[int] = []
    run_team(
        lambda rank: mistakes.append(count_in_step(shared, counts, rank, size, rounds)),
        size, shared, LONG,
    )  # fmt: skip
    assert mistakes == [0] * size
    assert counts[::8].tolist() == [rounds] * size
    assert shared[NEXT_TASK] == size * rounds


@pytest.mark.quick
def test_teams_of_several_python_threads() -> None:
    mistakes: list[int] = []

    def use() -> None:
        shared, counts = new_shared(), np.zeros(24, np.int64)
        run_team(
            lambda rank: mistakes.append(count_in_step(shared, counts, rank, 3, 50)),
            3, shared, LONG,
        )  # fmt: skip

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert mistakes == [0] * 24


@pytest.mark.quick
def test_an_error_frees_those_who_wait() -> None:
    shared = new_shared()

    def work(rank: int) -> None:
        if rank == 1:
            raise ValueError("thread 1 does not come")
        wait_for_nobody(shared)

    with pytest.raises(ValueError, match="does not come"):
        run_team(work, 2, shared, LONG)
    assert shared[STOP] == 1


def hornbeam_threads() -> int:
    return sum(thread.name == "hornbeam" for thread in threading.enumerate())


def test_results_are_used_in_order() -> None:
    def work(task: int) -> int:
        time.sleep(0.002 * (task % 3))
        return task * task

    used: list[int] = []
    run_in_order(work, 20, 4, used.append)
    assert used == [task * task for task in range(20)]
    run_in_order(work, 0, 4, used.append)
    assert len(used) == 20


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("where", ["work", "use"])
def test_calls_that_fail_or_are_interrupted_leave_no_thread(error: Any, where: str) -> None:
    """Those that run at that time are not waited for, but end; no further one begins."""
    pool.reset()
    before, go_on = hornbeam_threads(), threading.Event()
    for _ in range(30):
        begun: list[int] = []
        go_on.clear()

        def work(task: int, begun: list[int] = begun) -> int:
            begun.append(task)
            if task == 1 and where == "work":
                raise error
            if task > 1:
                go_on.wait(10.0)
            return task

        def use(result: int) -> None:
            if where == "use":
                raise error

        with pytest.raises(error):
            run_in_order(work, 100, 3, use)
        assert len(begun) < 6
        go_on.set()
    deadline = time.monotonic() + 10.0
    while hornbeam_threads() > before + 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert hornbeam_threads() <= before + 3


@pytest.mark.quick
@pytest.mark.parametrize("setting", ["abc", "", "2.5"])
def test_a_senseless_number_of_cores_is_named_and_ignored(
    setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", setting)
    team._say_that_ignored.cache_clear()
    with pytest.warns(RuntimeWarning, match=f"LOKY_MAX_CPU_COUNT is '{setting}'"):
        assert core_count() >= 1
    assert thread_count(-1, LONG) == core_count()  # and says so once
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert core_count() == 1


# --- in processes of their own --------------------------------------------------------------------


def run_script(code: str, *arguments: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


INTERRUPTED = """
import os, signal, threading, time
from hornbeam.runtime.team import run_parallel

threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
slept, done = [], []
def sleep(task):
    time.sleep(0.01)
    slept.append(task)
try:
    run_parallel(sleep, 100_000, 2, 1000.0)
except KeyboardInterrupt:
    print("stopped", len(slept) < 50_000)
run_parallel(done.append, 9, 2, 1000.0)
print(sorted(done) == list(range(9)))
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_stops_the_team() -> None:
    assert run_script(INTERRUPTED).split() == ["stopped", "True", "True"]


FORKED = """
import os, sys
import numpy as np
import hornbeam as hb

X = np.random.default_rng(0).normal(size=(20_000, 4))
y = X[:, 0] > X[:, 1]
def fit():
    return hb.DecisionTreeClassifier(max_depth=5, n_jobs=2, random_state=0).fit(X, y)

model = fit()
expected, predicted = model.digest(), model.predict(X)
child = os.fork()
if child == 0:
    same = fit().digest() == expected and (model.predict(X) == predicted).all()
    os._exit(0 if same else 1)
print(os.waitpid(child, 0)[1], fit().digest() == expected)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_has_a_team_of_its_own() -> None:
    assert run_script(FORKED).split() == ["0", "True"]


LIBRARIES = """
import sys
from pathlib import Path
import numpy, scipy.sparse, sklearn.base, sklearn.utils, sklearn.metrics
if sys.argv[1] == "hornbeam":
    import numpy as np
    import hornbeam as hb
    X = np.random.default_rng(0).normal(size=(20_000, 4))
    hb.DecisionTreeRegressor(max_depth=5, n_jobs=2).fit(X, X[:, 0]).predict(X)
names = {line.split("/")[-1].strip() for line in Path("/proc/self/maps").read_text().splitlines()}
print(*sorted(n for n in names if any(omp in n for omp in ("gomp", "libomp", "iomp", "tbb"))))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="needs /proc")
def test_no_openmp_library_is_loaded_by_us() -> None:
    """What scikit-learn itself loads is there in both."""
    assert run_script(LIBRARIES, "hornbeam") == run_script(LIBRARIES, "scikit-learn")

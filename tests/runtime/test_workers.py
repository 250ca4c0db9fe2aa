"""Threads that are lent out: none is left behind, and no signal reaches what they do."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from hornbeam.runtime import workers
from hornbeam.runtime.workers import out_of_reach, run_threads


def interrupt_at(step: int) -> Any:
    """A trace function that interrupts `run_threads` before the ``step``-th of its lines."""
    left = [step]

    def trace(frame: Any, event: str, value: Any) -> Any:
        if frame.f_code is not workers.run_threads.__code__:
            return None
        if event == "line":
            left[0] -= 1
            if left[0] == -1:
                raise KeyboardInterrupt
        return trace

    return trace


@pytest.mark.parametrize("look_again", [0.001, 0.2])
def test_an_interrupt_at_any_line_leaves_nobody_behind(
    look_again: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the memory of a fit would be freed while its threads still write to it."""
    monkeypatch.setattr(workers, "LOOK_AGAIN_SECONDS", look_again)
    interrupted = 0
    for step in range(1000):
        begun, left = [], []

        def work(rank: int, begun: Any = begun, left: Any = left) -> None:
            begun.append(rank)
            time.sleep(0.003 * (rank + 1))
            left.append(rank)

        sys.settrace(interrupt_at(step))
        try:
            workers.run_threads(work, 2, lambda: None)
        except KeyboardInterrupt:
            interrupted += 1
        else:
            break  # it has fewer lines
        finally:
            sys.settrace(None)
        assert sorted(begun) == sorted(left) and len(set(begun)) == len(begun)
    assert interrupted > 20
    assert sorted(left) == [0, 1]


def test_a_worker_that_got_lost_ends() -> None:
    before = set(threading.enumerate())
    worker = workers.Worker()
    (thread,) = set(threading.enumerate()) - before
    del worker
    thread.join(10.0)
    assert not thread.is_alive()


@pytest.mark.quick
def test_an_error_tells_the_others_to_stop() -> None:
    stopped = threading.Event()

    def work(rank: int) -> None:
        if rank == 1:
            raise ValueError("thread 1 fails")
        assert stopped.wait(10.0)

    with pytest.raises(ValueError, match="thread 1 fails"):
        run_threads(work, 2, stopped.set)


# --- out of reach of signals ----------------------------------------------------------------------


class TimeIsUp(Exception):
    """What somebody's own alarm raises."""


@pytest.fixture
def alarm() -> Iterator[None]:
    def ring(*_: object) -> None:
        raise TimeIsUp

    before = signal.signal(signal.SIGALRM, ring)
    yield
    signal.signal(signal.SIGALRM, before)


@pytest.mark.quick
def test_what_is_called_returns_and_raises_as_ever() -> None:
    assert out_of_reach(lambda: 42) == 42
    with pytest.raises(ZeroDivisionError):
        out_of_reach(lambda: 1 // 0)
    caller = threading.current_thread()
    assert out_of_reach(threading.current_thread) is not caller
    other: list[Any] = []
    thread = threading.Thread(
        target=lambda: other.append(out_of_reach(threading.current_thread) is thread)
    )
    thread.start()
    thread.join()
    assert other == [True], "only the main thread can be interrupted"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no alarms")
@pytest.mark.usefixtures("alarm")
def test_a_signal_is_raised_when_the_call_is_done() -> None:
    finished: list[bool] = []

    def work() -> None:
        os.kill(os.getpid(), signal.SIGALRM)
        time.sleep(0.05)
        finished.append(True)

    with pytest.raises(TimeIsUp):
        out_of_reach(work)
    assert finished == [True]


class PythonLock:
    """A lock that is taken in Python code, as that of LLVM is: an interrupt may come within."""

    def __init__(self) -> None:
        self.lock = threading.RLock()

    def __enter__(self) -> None:
        self.lock.acquire()
        for _ in range(20):
            pass

    def __exit__(self, *_: object) -> None:
        self.lock.release()


def can_be_taken(lock: Any) -> bool:
    """Whether a thread that never had a lock can take it."""
    taken: list[bool] = []

    def take() -> None:
        taken.append(lock.acquire(timeout=5.0))
        if taken[0]:
            lock.release()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return taken[0]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no alarms")
@pytest.mark.usefixtures("alarm")
def test_locks_are_never_left_taken() -> None:
    lock = PythonLock()

    def take_often() -> None:
        for _ in range(2000):
            with lock:
                pass

    def attempt(seconds: float) -> None:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            out_of_reach(take_often)
        finally:  # the alarm may come here, too, and has come then
            signal.setitimer(signal.ITIMER_REAL, 0)

    interrupts = 0
    for number in range(40):
        try:
            attempt(1e-4 * (1 + number % 10))
        except TimeIsUp:
            interrupts += 1
    assert interrupts > 20
    assert can_be_taken(lock.lock)

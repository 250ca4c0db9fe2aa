"""Fits and predictions that are interrupted, by Ctrl-C and by an alarm, and forks between them.

After each interrupt the same fit, left alone, must come to the model that it came to before all
of them. Threads must not become more, and no lock may be left taken: the watchdog notices if
the process stands still.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import hornbeam as hb
from benchmarks.digest_tables import Random, Table, made
from tests.attacks.estimators import class_of, few_of
from tests.attacks.guard import Attack, Failure, random_of

KINDS = ("thread", "process", "alarm")  # whence the interrupt comes
LEAST_SECONDS, MOST_SECONDS = 0.0002, 0.060
FORK_SHARE = 0.1
FORK_SECONDS = 50.0
MORE_THREADS = 4  # workers of one more team may be there at times


class TimeIsUp(Exception):
    """What somebody's own alarm raises."""


@dataclass(frozen=True, eq=False)
class Case:
    """An estimator and a table."""

    name: str
    spec: str
    settings: dict[str, Any] = field(default_factory=dict)

    def model(self) -> Any:
        return class_of(self.name)(**{**few_of(self.name), **self.settings})

    def table(self) -> Table:
        return made(self.spec, n_group=10 if self.name.endswith("Ranker") else 0)

    def fitted(self) -> Any:
        table = self.table()
        return self.model().fit(table.X, table.y, **table.more)


CASES = (
    Case("DecisionTreeClassifier", "mixed three"),
    Case("DecisionTreeClassifier", "large two", {"n_jobs": 2, "finder": "histogram"}),
    Case("DecisionTreeRegressor", "large real", {"n_jobs": 2, "max_leaf_nodes": 200}),
    Case("RandomForestClassifier", "mixed three", {"oob_score": True}),
    Case("RandomForestRegressor", "gaps real", {"leaf_samples": True, "n_jobs": 2}),
    Case("ExtraTreesClassifier", "numbers pair", {"n_jobs": 2}),
    Case("ExtraTreesRegressor", "large mixed real"),
    Case("RandomTreesEmbedding", "mixed"),
    Case("GradientBoostingClassifier", "mixed three", {"n_jobs": 2}),
    Case("GradientBoostingClassifier", "mixed two", {"growth": "symmetric"}),
    Case("GradientBoostingRegressor", "large mixed real", {"n_jobs": 2}),
    Case(
        "GradientBoostingRegressor",
        "gaps real",
        {"loss": "quantile", "quantile": [0.1, 0.9], "calibrate": True},
    ),
    Case("GradientBoostingRanker", "gaps grades"),
    Case("C45Classifier", "mixed three"),
    Case("ID3Classifier", "words three"),
    Case("IsolationForest", "mixed", {"n_jobs": 2}),
    Case("IsolationForest", "numbers", {"extension_level": 1}),
    Case("BaggingClassifier", "gaps three", {"n_jobs": 2}),
    Case("BaggingRegressor", "mixed real"),
    Case("AdaBoostClassifier", "mixed three"),
    Case("AdaBoostClassifier", "gaps two", {"n_jobs": 2, "early_stopping": True}),
    Case("AdaBoostRegressor", "gaps real"),
    Case("VotingClassifier", "gaps three", {"n_jobs": 2, "weights": "held_out"}),
    Case("VotingRegressor", "gaps real"),
    Case("StackingClassifier", "gaps three", {"n_jobs": 2}),
    Case("StackingRegressor", "gaps real", {"final_estimator": "greedy", "n_jobs": 2}),
    Case("BlendingRegressor", "gaps real"),
    Case("sklearn.HistGradientBoostingClassifier", "gaps three"),
    Case("sklearn.GradientBoostingRegressor", "numbers real"),
    Case("xgboost.XGBClassifier", "gaps three", {"n_jobs": 2}),
    Case("lightgbm.LGBMRegressor", "gaps real"),
)


@lru_cache(maxsize=1)
def undisturbed(attack: Attack) -> tuple[dict[Case, tuple[Any, str]], int]:
    """The models of all cases of an attack and their hashes; how many threads there are then."""
    sys.unraisablehook = swallowed.append
    signal.signal(signal.SIGINT, _interrupt)
    numbers = range(attack.first, attack.end)
    used = {_chosen(random_of(attack, number)): None for number in numbers}
    models = {case: case.fitted() for case in used}
    hashes = {case: (model, model.digest()) for case, model in models.items()}
    return hashes, threading.active_count()


def _chosen(rng: Random) -> Case:
    return CASES[rng.integers(len(CASES))]


def attack(attack: Attack, number: int) -> str:
    """Interrupt one fit or prediction, then let it run."""
    known, n_threads = undisturbed(attack)
    rng = random_of(attack, number)
    case = _chosen(rng)
    model, expected = known[case]
    if rng.random() < 0.3:
        method = getattr(model, "transform" if hasattr(model, "transform") else "predict")
        action: Callable[[], Any] = partial(method, case.table().X)
    elif rng.random() < 0.04:
        action = partial(_own_criterion(number).fit, *_small())
    else:
        action = case.fitted
    outcome = _interrupted(attack.kind, action, rng)
    if rng.random() < FORK_SHARE:
        _fork_and_fit(case, expected)
    if case.fitted().digest() != expected:
        raise Failure(f"After an interrupt {case} comes to another model.")
    if rng.random() < 0.3:  # some other one, too
        other = list(known)[rng.integers(len(known))]
        if other.fitted().digest() != known[other][1]:
            raise Failure(f"After an interrupt of {case}, {other} comes to another model.")
    _check_threads(n_threads + MORE_THREADS)
    return outcome


def _interrupted(kind: str, action: Callable[[], Any], rng: Random) -> str:
    """Do something over and over until the interrupt comes, or is overdue."""
    delay = LEAST_SECONDS * (MOST_SECONDS / LEAST_SECONDS) ** rng.random()
    error = TimeIsUp if kind == "alarm" else KeyboardInterrupt
    finished = 0
    swallowed.clear()
    try:
        with TIMERS[kind](delay) as is_over:
            while not is_over():
                action()
                finished += 1
            time.sleep(0.001)  # it may come just now
    except error:
        return "interrupted" if not finished else "interrupted again"
    return f"lost {'in a finalizer or callback ' if swallowed else ''}at {came_at[-1]}"


swallowed: list[Any] = []  # what Python could not raise
came_at: list[str] = [""]  # the lines that ran when the last interrupt came


def _note_place(frame: Any) -> None:
    stack = traceback.extract_stack(frame)[:-6:-1]
    came_at.append(" < ".join(f"{Path(line.filename).name}:{line.lineno}" for line in stack))


def _interrupt(number: int, frame: Any) -> None:
    """What Python does on SIGINT, with a note."""
    _note_place(frame)
    raise KeyboardInterrupt


# --- three ways to interrupt --------------------------------------------------------------------


@contextmanager
def _by_thread(delay: float) -> Iterator[Callable[[], bool]]:
    """SIGINT to the process, by one of its own threads."""

    def send() -> None:
        time.sleep(delay)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield lambda: not thread.is_alive()
    finally:
        thread.join()


@contextmanager
def _by_process(delay: float) -> Iterator[Callable[[], bool]]:
    """SIGINT by another process, as from a terminal."""
    helper = _helper()
    while select.select([helper.stdout], [], [], 0.0)[0]:  # an earlier answer
        os.read(helper.stdout.fileno(), 1)
    os.write(helper.stdin.fileno(), f"{delay}\n".encode())

    def is_over() -> bool:
        return bool(select.select([helper.stdout], [], [], 0.0)[0])

    try:
        yield is_over
    finally:
        while not is_over():
            time.sleep(0.001)


@lru_cache(maxsize=1)
def _helper() -> Any:
    """A process that sends one signal for each line it reads."""
    code = (
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "for line in sys.stdin:\n"
        "    time.sleep(float(line)); os.kill(os.getppid(), signal.SIGINT)\n"
        "    print(end='.', flush=True)\n"
    )
    command = [sys.executable, "-c", code]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


@contextmanager
def _by_alarm(delay: float) -> Iterator[Callable[[], bool]]:
    """An exception out of the handler of an alarm, as of somebody's time limit."""
    rung: list[bool] = []

    def ring(number: int, frame: Any) -> None:
        rung.append(True)
        _note_place(frame)
        raise TimeIsUp

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, delay)
    try:
        yield lambda: bool(rung)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


TIMERS: dict[str, Callable[[float], Any]] = {
    "thread": _by_thread,
    "process": _by_process,
    "alarm": _by_alarm,
}


# --- besides ------------------------------------------------------------------------------------


def _fork_and_fit(case: Case, expected: str) -> None:
    """A child has none of the threads; it must come to the same model."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if case.fitted().digest() == expected else 2
        finally:
            os._exit(status)
    until = time.monotonic() + FORK_SECONDS
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            if status:
                raise Failure(f"A forked child that fits {case} ends with {status}.")
            return
        time.sleep(0.002)
    os.kill(child, signal.SIGUSR1)  # where it is; `guard` shows what stands on standard error
    time.sleep(1.0)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise Failure(f"A forked child that fits {case} hangs.")


def _check_threads(most: int) -> None:
    until = time.monotonic() + 5.0
    while threading.active_count() > most:
        gc.collect()
        if time.monotonic() > until:
            names = sorted(thread.name for thread in threading.enumerate())
            raise Failure(f"There are {len(names)} threads, not {most}: {names}")
        time.sleep(0.01)


def _own_criterion(number: int) -> Any:
    """A criterion that no process has compiled before: the interrupt comes while it is."""
    space: dict[str, Any] = {}
    text = f"def own(counts, weight):\n    return {1 + number} * (1.0 - counts[0] / weight)\n"
    exec(text, space)
    return hb.DecisionTreeClassifier(criterion=space["own"])


def _small() -> tuple[Any, Any]:
    X = np.arange(60.0).reshape(20, 3)
    return X, np.arange(20) % 2

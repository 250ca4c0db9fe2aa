"""Rounds of an attack in another process, which may crash or hang: both are noticed.

The other process prints a line after each round. When it ends before the last one, the next
process goes on behind the round that it was in; when it says nothing for long, it is asked
where its threads are and then killed.
"""

from __future__ import annotations

import faulthandler
import json
import linecache
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]

COMMAND = (sys.executable, "-m", "tests.attacks")
SILENCE_SECONDS = 60.0  # or what the module of the attack says: fits with checks compile much
START_SECONDS = 600.0  # the first round may have to compile
MOST_FAILURES = 25  # no more are looked for in one kind
FAILED = "failed"


@dataclass(frozen=True)
class Attack:
    """Some rounds of one kind."""

    name: str
    kind: str
    seed: int
    first: int
    n_rounds: int

    @property
    def end(self) -> int:
        return self.first + self.n_rounds


@dataclass
class Report:
    """How often each outcome came, and what is to be looked into."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, number: int, outcome: str, what: str = "") -> None:
        self.counts[outcome] += 1
        if outcome == FAILED:
            self.failures.append(f"round {number}: {what}")


class Failure(Exception):
    """What a round raises when hornbeam did what it must not do."""


def random_of(attack: Attack, number: int) -> np.random.Generator:
    """The random numbers of a round."""
    return np.random.default_rng([attack.seed, number, *attack.kind.encode()])


# --- in the process that is attacked ------------------------------------------------------------


def attack_here(attack: Attack, module: ModuleType) -> None:
    """Run the rounds and print the number, the outcome and the failure of each as JSON."""
    if hasattr(signal, "SIGUSR1"):
        faulthandler.register(signal.SIGUSR1, all_threads=True, chain=False)
    faulthandler.enable()
    warnings.simplefilter("ignore")
    for category in (RuntimeWarning, DeprecationWarning, FutureWarning):  # as in our tests
        warnings.filterwarnings("error", category=category, module=r"hornbeam(\..*)?")
    for number in range(attack.first, attack.end):
        outcome, what = one_round(attack, module, number)
        print(json.dumps([number, outcome, what]), flush=True)


def one_round(attack: Attack, module: ModuleType, number: int) -> tuple[str, str]:
    """Outcome of a round, and what is wrong if it failed."""
    try:
        return module.attack(attack, number), ""
    except Exception as error:
        lines = traceback.format_exception(error)
        return FAILED, "".join(lines).rstrip()


def is_sentence(error: BaseException) -> bool:
    """Whether somebody meant to raise an error: the last line that ran is a ``raise`` of ours.

    NumPy's complaint about shapes is a ValueError too, but nobody can act on it. What
    scikit-learn says about a table or a parameter is as good as ours.
    """
    kinds = (ValueError, TypeError, NotImplementedError)  # the last as in scikit-learn's votes
    if not isinstance(error, kinds) or len(str(error).split()) < 3:
        return False
    *_, (frame, line) = traceback.walk_tb(error.__traceback__)
    file = Path(frame.f_code.co_filename)
    said = linecache.getline(str(file), line).strip().startswith("raise")
    return said and bool({"hornbeam", "sklearn"} & set(file.parts))


def refused(error: BaseException) -> str:
    """The outcome "refused" if an error is a sentence; otherwise it is raised again."""
    if not is_sentence(error):
        raise error
    return "refused"


# --- in the process that watches ----------------------------------------------------------------


def attack_guarded(
    attack: Attack, environment: dict[str, str], silence: float = SILENCE_SECONDS
) -> Report:
    """Run the rounds in as many processes as it takes, and collect what came of them."""
    report = Report()
    begun = time.monotonic()
    while attack.n_rounds > 0 and len(report.failures) < MOST_FAILURES:
        reached = _attack_once(attack, environment, report, silence)
        attack = replace(attack, first=reached, n_rounds=attack.end - reached)
    report.seconds = time.monotonic() - begun
    return report


def _attack_once(
    attack: Attack, environment: dict[str, str], report: Report, silence: float
) -> int:
    """Run rounds in one process until it ends; returns the number of the next round."""
    command = [*COMMAND, attack.name, "--here"]
    for key, value in (
        ("kind", attack.kind),
        ("seed", attack.seed),
        ("first", attack.first),
        ("rounds", attack.n_rounds),
    ):
        command += [f"--{key}", str(value)]
    said: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        threading.Thread(target=_listen, args=(process, said), daemon=True).start()
        number, patience = attack.first, START_SECONDS
        try:
            while (line := said.get(timeout=patience)) is not None:
                if not line.startswith("["):
                    continue  # somebody printed something
                number, outcome, what = json.loads(line)
                report.add(number, outcome, what + (_end_of(errors) if what else ""))
                number, patience = number + 1, silence
                if len(report.failures) >= MOST_FAILURES:
                    return attack.end
        except queue.Empty:
            _ask_for_stacks(process)
            report.add(number, FAILED, f"hangs{_end_of(errors)}")
            return number + 1
        finally:
            process.kill()
            status = process.wait()
        if number < attack.end:
            report.add(number, FAILED, f"the process ended with {status}{_end_of(errors)}")
            return number + 1
    return attack.end


def _listen(process: Any, said: queue.SimpleQueue[str | None]) -> None:
    for line in process.stdout:
        said.put(line)
    process.wait()
    said.put(None)


def _ask_for_stacks(process: Any) -> None:
    if hasattr(signal, "SIGUSR1"):
        process.send_signal(signal.SIGUSR1)
        time.sleep(1.0)


def _end_of(errors: Any) -> str:
    errors.seek(0)
    end: str = errors.read()[-6000:]
    errors.seek(0, os.SEEK_END)  # the other process writes on from here
    return f"\non standard error:\n{end}" if end else ""

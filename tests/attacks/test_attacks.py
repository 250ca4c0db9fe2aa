"""A few rounds of each attack; ``python -m tests.attacks NAME`` runs as many as one likes."""

from __future__ import annotations

import sys
import time
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from tests.attacks import files, guard, inputs, interrupts
from tests.attacks.guard import Attack, Failure, Report, attack_guarded, is_sentence

needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no alarms or forks")


# X "has feature names" where the model has none: scikit-learn's sentence is no matter here.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def rounds(name: str, kind: str, n_rounds: int, seed: int = 0) -> Attack:
    return Attack(name, kind, seed, 0, n_rounds)


def outcomes(module: Any, attack: Attack) -> Counter[str]:
    """Run the rounds in this process, where compiled code is at hand."""
    return Counter(module.attack(attack, number) for number in range(attack.n_rounds))


@needs_posix
@pytest.mark.parametrize("name", ["tree", "samples", "booster", "planes"])
@pytest.mark.parametrize("how", ["damaged", "hostile", "pickled"])
def test_files_are_refused_or_answer(how: str, name: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(files, "MOST_BYTES", None)  # a limit would stay with the other tests
    found = outcomes(files, rounds("files", f"{how} {name}", 25))
    assert found["refused"] > 10


@pytest.mark.parametrize("kind", inputs.KINDS)
def test_nasty_inputs_give_a_model_or_a_sentence(kind: str) -> None:
    some = range(hash_of(kind) % 29, len(inputs.CASES), 29)
    found = Counter(inputs.attack(rounds("inputs", kind, 0), number) for number in some)
    assert found["refused"] > 0 < found["learnt from"]


def hash_of(text: str) -> int:
    """Not the same cases for all estimators, but always the same ones."""
    return sum(text.encode())


@needs_posix
@pytest.mark.parametrize("kind", interrupts.KINDS)
def test_interrupts_leave_nothing_behind(kind: str) -> None:
    report = attack_guarded(rounds("interrupts", kind, 4), {})
    assert not report.failures
    assert report.counts.total() == 4


def test_random_fits_stay_inside_of_their_arrays() -> None:
    from tests.attacks import bounds

    report = attack_guarded(rounds("bounds", "quinlan", 8), bounds.ENVIRONMENT(), 300.0)
    assert not report.failures
    assert report.counts["fitted"] > 0


# --- the watchdog itself --------------------------------------------------------------------


VICTIM = """
import os, sys, time
from types import SimpleNamespace
sys.modules["tests.attacks.inputs"] = SimpleNamespace(attack=lambda attack, number: {})
from tests.attacks.__main__ import main
main(sys.argv[1:])
"""


def test_what_fails_is_reported_with_its_place() -> None:
    def attack(attack: Attack, number: int) -> str:
        if number == 1:
            raise Failure("it broke")
        return "fine"

    module: Any = SimpleNamespace(attack=attack)
    report = Report()
    for number in range(3):
        report.add(number, *guard.one_round(rounds("x", "y", 3), module, number))
    assert report.counts == {"fine": 2, "failed": 1}
    assert "round 1" in report.failures[0] and "it broke" in report.failures[0]


@pytest.mark.parametrize(
    "crime, sign", [("os._exit(3)", "ended with 3"), ("time.sleep(99)", "hangs")]
)
def test_crashes_and_hangs_are_noticed(crime: str, sign: str, monkeypatch: Any) -> None:
    """The rounds after a fatal one are run in another process."""
    fatal = VICTIM.format(f"{crime} if number == 2 else 'fine'")
    monkeypatch.setattr(guard, "COMMAND", (sys.executable, "-c", fatal))
    begun = time.monotonic()
    report = attack_guarded(rounds("inputs", "any", 5), {}, silence=1.0)
    assert report.counts == {"fine": 4, "failed": 1}
    assert "round 2" in report.failures[0] and sign in report.failures[0]
    assert time.monotonic() - begun < 60.0


def test_only_what_somebody_meant_to_say_is_a_sentence() -> None:
    import numpy as np

    import hornbeam as hb

    def error_of(work: Any) -> Exception:
        with pytest.raises(Exception) as caught:
            work()
        return caught.value

    assert is_sentence(error_of(lambda: hb.DecisionTreeClassifier().fit([[1.0]], [[[1]]])))
    assert is_sentence(error_of(lambda: hb.DecisionTreeClassifier(max_depth=0).fit([[1]], [1])))
    assert not is_sentence(error_of(lambda: np.ones(3) + np.ones(2)))
    assert not is_sentence(error_of(lambda: [][0]))

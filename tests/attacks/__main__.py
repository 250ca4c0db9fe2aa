"""``python -m tests.attacks NAME``: attack, and say what came of it."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from tests.attacks.guard import (
    SILENCE_SECONDS,
    Attack,
    Report,
    attack_guarded,
    attack_here,
)

NAMES = ("bounds", "files", "inputs", "interrupts", "sketches")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run an attack on the kinds of things that it has; the exit status is 1 if one succeeds."""
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--kind", action="append", help="only this kind; may be repeated")
    parser.add_argument("--rounds", type=int, help="of each kind; all there are, or 100")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first round")
    parser.add_argument("--here", action="store_true", help="in this process, without a watchdog")
    chosen = parser.parse_args(arguments)
    os.environ.setdefault("HORNBEAM_QUIET", "1")
    failed = 0
    module = importlib.import_module(f"tests.attacks.{chosen.name}")
    for kind in chosen.kind or module.KINDS:
        n_rounds = chosen.rounds or getattr(module, "ROUNDS", {}).get(kind, 100)
        attack = Attack(chosen.name, kind, chosen.seed, chosen.first, n_rounds)
        if chosen.here:
            attack_here(attack, module)
            continue
        silence = getattr(module, "SILENCE_SECONDS", SILENCE_SECONDS)
        report = attack_guarded(attack, getattr(module, "ENVIRONMENT", dict)(), silence)
        failed += len(report.failures)
        _print(attack, report)
    return 1 if failed else 0


def _print(attack: Attack, report: Report) -> None:
    counts = ", ".join(f"{count} {word}" for word, count in sorted(report.counts.items()))
    print(f"{attack.name} {attack.kind}: {counts} ({report.seconds:.0f} s)", flush=True)
    for failure in report.failures:
        print(f"  {failure}", flush=True)


if __name__ == "__main__":
    sys.exit(main())

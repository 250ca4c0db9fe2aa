"""What must happen in a process of its own: cold starts, peak memory, a busy machine.

A child is a script in this folder. It gets one JSON object as its argument and answers with
one JSON object as its last line of output.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.datasets import ROOT

TIMEOUT_SECONDS = 1800


def ask(
    child: str, request: Mapping[str, Any], environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Run a child and return its answer, with the wall time of its whole life as ``wall``."""
    # As a file, not with -m: the package around it would already import half of what is timed.
    path = ROOT / "benchmarks" / "children" / f"{child}.py"
    wall, output = run_python([str(path), json.dumps(request)], environment)
    answer: dict[str, Any] = json.loads(output.splitlines()[-1])
    return answer | {"wall": wall}


def run_python(
    arguments: list[str], environment: Mapping[str, str] | None = None
) -> tuple[float, str]:
    """Run a new interpreter; return its wall time and what it printed."""
    started = time.perf_counter()
    finished = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ | {"HORNBEAM_QUIET": "1"} | dict(environment or {}),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=TIMEOUT_SECONDS,
    )
    return time.perf_counter() - started, finished.stdout


@contextlib.contextmanager
def busy_cores(n_processes: int) -> Iterator[None]:
    """Keep cores busy with endless loops while the block runs."""
    command = [sys.executable, "-S", "-c", "while True: pass"]
    spinners = [subprocess.Popen(command) for _ in range(n_processes)]
    try:
        time.sleep(0.5)
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()

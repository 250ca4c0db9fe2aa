"""Fit one estimator; answer by how much the resident memory grew at its highest point."""

from __future__ import annotations

import contextlib
import gc
import json
import resource
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

FEW_ROWS = 2000


def main(request: dict[str, Any]) -> dict[str, float]:
    X, y = np.load(request["X"]), np.load(request["y"])
    factory = getattr(import_module(request["module"]), request["estimator"])
    # Compilers and imports take memory once per process, not once per fit.
    factory(**request["parameters"]).fit(X[:FEW_ROWS].copy(), y[:FEW_ROWS].copy())
    gc.collect()
    forget_peak()
    before = resident()
    model = factory(**request["parameters"]).fit(X, y)
    return {"growth": peak() - before, "input": X.nbytes, "score": float(model.score(X, y))}


def forget_peak() -> None:
    """Let Linux count the highest resident size from here on; elsewhere it never falls."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def resident() -> float:
    return _status("VmRSS") or peak()


def peak() -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return _status("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _status(field: str) -> float:
    """Read bytes from the process's own status; 0 where the system has none."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    return next(float(line.split()[1]) * 1024 for line in lines if line.startswith(field))


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))

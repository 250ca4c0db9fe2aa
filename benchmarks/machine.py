"""On what a measurement was made: enough to judge it, nothing that names the machine."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = (
    "hornbeam",
    "numpy",
    "numba",
    "llvmlite",
    "scikit-learn",
    "xgboost",
    "lightgbm",
    "catboost",
    "lleaves",
    "ydf",
    "dask",
)


def facts() -> dict[str, Any]:
    """Processor, cores, memory, system, and how busy the machine already was."""
    return {
        "processor": _processor(),
        "cores": cores(),
        "memory_gb": _memory_gb(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
    }


def versions() -> dict[str, str]:
    """Versions of hornbeam and of those peers that are installed."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or "unknown")


def cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory_gb() -> float | None:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
    return round(size / 2**30, 1)

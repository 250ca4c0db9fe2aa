"""The benchmarks, one file each: adding a file here adds a benchmark.

A file has a docstring, whose first line is the title, and a function
``rows(options) -> Iterable[Row]``.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module

from benchmarks.harness import Options
from benchmarks.results import Row


@dataclass(frozen=True)
class Benchmark:
    """A file of this folder."""

    name: str
    title: str
    rows: Callable[[Options], Iterable[Row]]


def names() -> list[str]:
    """Names of all benchmarks."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def load(name: str) -> Benchmark:
    """Import a benchmark by its name."""
    module = import_module(f"{__name__}.{name}")
    title = (module.__doc__ or name).partition("\n")[0].rstrip(".")
    return Benchmark(name, title, module.rows)

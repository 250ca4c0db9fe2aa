"""``hornbeam info``: the installation, or what a model file holds."""

from __future__ import annotations

import argparse
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from hornbeam.cli.models import schema_of, size_of, trees_of
from hornbeam.cli.predict import load_model
from hornbeam.cli.screen import Screen, make_listing, make_table
from hornbeam.runtime.kernel import cache_directory
from hornbeam.runtime.team import core_count

_PACKAGES = (
    "hornbeam",
    "numba",
    "llvmlite",
    "numpy",
    "scipy",
    "scikit-learn",
    "narwhals",
    "safetensors",
    "pyarrow",
    "matplotlib",
)
_CATEGORIES_SHOWN = 5


def run(options: argparse.Namespace) -> None:
    """Run the command."""
    screen = Screen(options.quiet)
    if options.model is None:
        screen.show(make_listing("hornbeam", installation()))
        return
    model = load_model(options.model)
    screen.show(make_listing(str(options.model), contents(model, options.model)))
    screen.show(make_table("Columns", ["name", "kind", "categories"], columns(schema_of(model))))


def installation() -> list[list[str]]:
    """Versions, cache and threads, as rows of a table."""
    directory = cache_directory()
    kernels = [] if directory is None else list(directory.glob("*.bin"))
    size = sum(file.stat().st_size for file in kernels)
    return [
        ["Python", f"{platform.python_version()} on {platform.platform()}"],
        *([name, _version(name)] for name in _PACKAGES),
        ["kernel cache", str(directory or "none: every process compiles anew")],
        ["compiled kernels", f"{len(kernels)} ({size / 1e6:.1f} MB)"],
        ["cores for threads", str(core_count())],
    ]


def contents(model: Any, path: Path) -> list[list[str]]:
    """What a model is, as rows of a table."""
    # by their text: arrays have no single answer to ==
    defaults = {name: repr(value) for name, value in type(model)().get_params(False).items()}
    given = {name: repr(value) for name, value in model.get_params(False).items()}
    changed = [f"{name}={text}" for name, text in given.items() if text != defaults[name]]
    rows = [
        ["model", type(model).__name__],
        ["file", f"{path.stat().st_size:,} bytes"],
        ["parameters", ", ".join(changed) or "all default"],
        ["size", size_of(model)],
        ["depth", str(max((tree.max_depth for tree in trees_of(model)), default=0))],
        ["outputs", str(getattr(model, "n_outputs_", 1))],
        ["unseen categories", str(schema_of(model).unseen)],
        ["digest", model.digest()],
    ]
    if hasattr(model, "classes_"):
        rows.insert(1, ["classes", _some(list(model.classes_))])
    if getattr(model, "history_", None):
        last = model.n_iter_ - 1  # early stopping has looked further and gone back
        losses = [f"{name} {loss[: last + 1][-1]:.5g}" for name, loss in model.history_.items()]
        rows.insert(-3, ["loss of the model", ", ".join(losses)])
    return rows


def columns(schema: Any) -> list[list[str]]:
    """Name, kind and categories of every column."""
    return [
        [
            column.name,
            column.time.label if column.time else column.kind,
            _some(list(column.categories or ())),
        ]
        for column in schema.columns
    ]


def _some(values: list[Any]) -> str:
    shown = ", ".join(str(value) for value in values[:_CATEGORIES_SHOWN])
    rest = len(values) - _CATEGORIES_SHOWN
    return f"{shown} and {rest:,} more" if rest > 0 else shown


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"

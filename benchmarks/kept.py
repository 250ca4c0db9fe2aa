"""Keep what was measured, set by set and contender by contender, in a folder beside the results.

A long run that was stopped goes on where it was. Figures are measured again when what they are of
has changed: the version of a library (of hornbeam its sources), the sizes of the splits, settings.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from benchmarks import report
from benchmarks.datasets import DataSet
from benchmarks.harness import Options

Figures = list[list[float]]  # of each split one or more


class Kept:
    """The figures of one set, in a file that grows contender by contender."""

    def __init__(self, folder: str, name: str, options: Options) -> None:
        self.path = None if options.quick else report.RESULTS / folder / f"{name}.json"
        self.known: dict[str, dict[str, Any]] = {}
        if self.path is not None and self.path.exists():
            self.known = json.loads(self.path.read_text(encoding="utf-8"))

    def figures(
        self, contender: str, of: dict[str, Any], measure: Callable[[], Figures]
    ) -> Figures:
        """Return the figures of a contender, measured now if they are not known.

        ``of`` says what they are of; it must be the same for known figures to be taken.
        """
        known = self.known.get(contender)
        if known is not None and known["of"] == of:
            return cast(Figures, known["figures"])
        found = measure()
        self.known[contender] = {"of": of, "figures": found}
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps(self.known, indent=1), encoding="utf-8")
        return found


def shapes(splits: Iterable[DataSet]) -> list[list[int]]:
    """Return the sizes of splits: training rows, columns and test rows."""
    return [[*split.X.shape, split.X_test.shape[0]] for split in splits]


def version(module: str, folders: Collection[str] = ()) -> str:
    """Return the version of a module's package, or a hash of its sources in these folders."""
    package = import_module(module.partition(".")[0])
    if not folders:
        return str(package.__version__)
    state = hashlib.sha256()
    for path in sorted(Path(package.__path__[0]).rglob("*.py")):
        if path.parent.name in folders:
            state.update(path.read_bytes())
    return state.hexdigest()[:16]

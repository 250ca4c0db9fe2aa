"""``python -m benchmarks.scripts`` runs the scripts of other libraries' users as they are.

What the peers reach is written beside the scripts, and a test holds hornbeam to it: there the same
scripts run with only the imports changed.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import warnings
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[1] / "tests" / "compat" / "scripts"
REACHED = SCRIPTS / "reached.json"

# The only change: where classes come from.
IMPORTS = {
    r"^from sklearn\.(ensemble|tree) import": "from hornbeam.compat.sklearn import",
    r"^from (xgboost|lightgbm) import": r"from hornbeam.compat.\1 import",
    r"^import (xgboost|lightgbm) as": r"import hornbeam.compat.\1 as",
}


def names() -> list[str]:
    """The scripts that there are."""
    return sorted(path.stem for path in SCRIPTS.glob("*.py"))


def with_our_imports(source: str) -> str:
    """A script with hornbeam's classes instead of the peer's."""
    for theirs, ours in IMPORTS.items():
        source = re.sub(theirs, ours, source, flags=re.MULTILINE)
    return source


def run(name: str, ours: bool) -> dict[str, float]:
    """Run a script; returns the metrics that it ends with."""
    path = SCRIPTS / f"{name}.py"
    source = path.read_text(encoding="utf-8")
    namespace = {"__name__": name}
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(with_our_imports(source) if ours else source, str(path), "exec"), namespace)
    metrics: dict[str, float] = namespace["metrics"]  # type: ignore[assignment]
    return {metric: float(value) for metric, value in metrics.items()}


def main() -> None:
    """Run all with their own imports, and write what is reached."""
    reached = {name: run(name, ours=False) for name in names()}
    rounded = {
        name: {metric: round(value, 4) for metric, value in metrics.items()}
        for name, metrics in reached.items()
    }
    REACHED.write_text(json.dumps(rounded, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

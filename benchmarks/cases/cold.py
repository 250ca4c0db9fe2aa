"""Start in a new process: imports, the first fit with an empty kernel cache, the next one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from typing import Any

from benchmarks.children import ask, run_python
from benchmarks.harness import Options
from benchmarks.results import Row, Target

IMPORTS = {
    "Python alone": "pass",
    "scikit-learn": "import sklearn.tree",
    "hornbeam": "import hornbeam",
    "hornbeam's tree": "import hornbeam; hornbeam.DecisionTreeClassifier",
}
FITS: dict[str, dict[str, Any]] = {
    "classifier, exact": {"estimator": "DecisionTreeClassifier", "parameters": {}},
    "classifier, histogram": {
        "estimator": "DecisionTreeClassifier",
        "parameters": {"finder": "histogram"},
    },
    "regressor, exact": {"estimator": "DecisionTreeRegressor", "parameters": {}},
    "boosting classifier": {"estimator": "GradientBoostingClassifier", "parameters": {}},
    "boosting regressor": {"estimator": "GradientBoostingRegressor", "parameters": {}},
}
FIRST_FIT = Target.at_most(8.0, "value")
FIRST_BOOSTING = Target.at_most(10.0, "value")
WARM_START = Target.at_most(1.5, "value")
ADDED_IMPORT = Target.at_most(0.3, "value")


def rows(options: Options) -> Iterable[Row]:
    yield from import_rows(options)
    for name, fit in chosen_fits(options):
        yield from fit_rows(name, {"module": "hornbeam", **fit}, options)


def chosen_fits(options: Options) -> list[tuple[str, dict[str, Any]]]:
    """Return the fits whose name holds ``options.only``; just one of them when quick."""
    fits = [(name, fit) for name, fit in FITS.items() if options.only in name]
    return fits[:1] if options.quick else fits


def import_rows(options: Options) -> Iterable[Row]:
    """Compare the whole life of interpreters that only import, in turn, best of several."""
    runs: dict[str, list[float]] = {name: [] for name in IMPORTS}
    for _ in range(options.size(max(options.repeats, 5), 1)):
        for name, statement in IMPORTS.items():
            runs[name].append(run_python(["-c", statement])[0])
    for name in IMPORTS:
        yield Row("import, whole process", "", name, min(runs[name]), runs=tuple(runs[name]))
    base = min(runs["scikit-learn"])
    for name in ("hornbeam", "hornbeam's tree"):
        added = min(runs[name]) - base
        yield Row("import, beyond scikit-learn's", "", name, added, target=ADDED_IMPORT)


def fit_rows(name: str, request: dict[str, Any], options: Options) -> Iterable[Row]:
    """Fit in new processes: once with an empty cache, then several times with what it left."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {"HORNBEAM_CACHE_DIR": cache}
        first = ask("cold", request, environment)
        again = [
            ask("cold", request, environment)
            for _ in range(options.size(max(options.repeats, 3), 1))
        ]
    case, data = "empty cache", "300 x 5"
    yield Row(f"{case}, import", data, name, first["import"])
    target = FIRST_BOOSTING if name.startswith("boosting") else FIRST_FIT
    yield Row(f"{case}, first fit", data, name, first["fit"], target=target)
    yield Row(f"{case}, whole process", data, name, first["wall"])
    walls = tuple(answer["wall"] for answer in again)
    fits = tuple(answer["fit"] for answer in again)
    yield Row("warm cache, fit", data, name, min(fits), runs=fits)
    yield Row("warm cache, whole process", data, name, min(walls), runs=walls, target=WARM_START)

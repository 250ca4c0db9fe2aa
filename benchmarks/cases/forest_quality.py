"""Quality of forests beside scikit-learn's, default settings, 100 trees: every shared set, 5 seeds.

A seed parts training from test rows, the same for both libraries, and is the seed of their
forests. The figure is the accuracy or R2; hornbeam's row is the mean difference to
scikit-learn, and its target is not to be below it by more than two standard errors.

A long run can be interrupted: what is done is kept in ``results/forest_quality.jsonl``, set by
set, and taken from there by the next run. The file goes away when all is done; delete it to
begin anew.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import sklearn.ensemble
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import hornbeam as hb
from benchmarks import datasets, report, shared
from benchmarks.datasets import DataSet
from benchmarks.harness import SKLEARN, Options
from benchmarks.results import Row, Target
from benchmarks.shared import SharedSet

KEPT = report.RESULTS / "forest_quality.jsonl"
DIFFERENCE = f"hornbeam - {SKLEARN}"
KINDS = {"random forest": "RandomForest", "extra trees": "ExtraTrees"}
METRICS = {"classification": "accuracy", "regression": "R2"}
SUFFIXES = {"classification": "Classifier", "regression": "Regressor"}
N_SEEDS = 5
N_TREES = 100
MOST_ROWS = 26_666  # of a set, three quarters of them, 20k, for training
MOST_COLUMNS = 1000  # more of them are texts, a word each: hours for fully grown forests
NOISE = 2.0  # standard errors
ROUNDING = 1e-9
QUICK_SETS = ("car_evaluation", "medical_insurance")


def rows(options: Options) -> Iterable[Row]:
    kept = Kept(None if options.quick or options.only else KEPT)
    found: list[Row] = []
    for data in sets(options):
        for kind in KINDS:
            found += kept.rows_on(data, kind, options)
    yield from found
    yield from summary(found)
    kept.forget()
    options.note(
        f"The figure is the mean over {N_SEEDS} seeds, not the best run: {SKLEARN}'s accuracy or "
        "R2, and hornbeam's minus that; hornbeam's own is the score. A target is minus "
        f"{NOISE:g} standard errors of the mean difference."
    )
    options.note(
        f"Sets are cut to 20k training rows; classes of fewer than {shared.LEAST_OF_CLASS} rows in "
        f"what remains are left out, and so are the sets for teaching, of fewer than "
        f"{shared.LEAST_ROWS} rows."
    )
    options.note(
        f"hornbeam gets categories as such, {SKLEARN} their numbers in alphabetical order; both "
        "get missing values as they are."
    )


def sets(options: Options) -> Iterator[SharedSet]:
    """Read every set whose name holds ``options.only``, one at a time; made ones if none is."""
    there = shared.names()
    for name in there:
        if options.only not in name or (options.quick and name not in QUICK_SETS):
            continue
        data = shared.load(name)
        if data is None or data.task not in METRICS:
            continue
        if data.X.shape[1] > MOST_COLUMNS:
            options.note(f"{name} is left out: {data.X.shape[1]} columns.")
            continue
        yield data.capped(options.size(MOST_ROWS, 600))
    if not there:
        options.note("Shared data were not at hand (see HORNBEAM_DATA): only made sets.")
        for made in (datasets.synthetic, datasets.synthetic_regression):
            whole = made(options.size(MOST_ROWS, 600), 1)
            yield SharedSet(made.__name__, whole.task, whole.X, whole.y)


def rows_on(data: SharedSet, kind: str, options: Options) -> list[Row]:
    """Compare the two libraries on one set: scikit-learn's row, and the difference."""
    n_seeds, n_trees = options.size(N_SEEDS, 2), options.size(N_TREES, 10)
    with threadpool_limits(limits=1):
        pairs = [scores(kind, data.split(seed), seed, n_trees) for seed in range(n_seeds)]
    title = f"{data.name} {datasets.shape(len(data.y), data.X.shape[1])}"
    return compared(f"{kind}, {METRICS[data.task]}", title, pairs)


def scores(kind: str, data: DataSet, seed: int, n_trees: int) -> tuple[float, float]:
    """How good the forests of scikit-learn and of hornbeam are on the test rows."""
    name = KINDS[kind] + SUFFIXES[data.task]
    given = {"n_estimators": n_trees, "random_state": seed, "n_jobs": 1}
    theirs = getattr(sklearn.ensemble, name)(**given)
    ours = getattr(hb, name)(**given)
    theirs.fit(shared.numbered(data.X), data.y)
    ours.fit(data.X, data.y)
    return (
        float(theirs.score(shared.numbered(data.X_test), data.y_test)),
        float(ours.score(data.X_test, data.y_test)),
    )


def compared(case: str, title: str, pairs: Sequence[tuple[float, float]]) -> list[Row]:
    """Return scikit-learn's row, and hornbeam's difference with its bound."""
    theirs, ours = np.array(pairs).T
    difference = ours - theirs
    error = float(np.std(difference, ddof=1)) / math.sqrt(len(difference))
    base = Row(case, title, SKLEARN, float(theirs.mean()), "", tuple(theirs.tolist()))
    return [
        replace(base, score=base.value),
        replace(
            base,
            contender=DIFFERENCE,
            value=float(difference.mean()),
            runs=tuple(difference.tolist()),
            score=float(ours.mean()),
            target=Target.at_least(-NOISE * error - ROUNDING, "value"),
        ),
    ]


def summary(rows: Sequence[Row]) -> Iterator[Row]:
    """Count the sets where a forest is below, and take the mean of the differences."""
    for kind in KINDS:
        ours = [row for row in rows if row.contender == DIFFERENCE and row.case.startswith(kind)]
        if not ours:
            continue
        below = sum(row.verdict == "missed" for row in ours)
        count = Row(f"{kind}, sets below", f"{len(ours)} sets", DIFFERENCE, below, "sets")
        yield replace(count, target=Target.at_most(0, "value"))
        for metric in METRICS.values():
            these = [row.value for row in ours if row.case == f"{kind}, {metric}"]
            if these:
                title = f"mean of {len(these)} sets"
                mean = Row(f"{kind}, {metric}", title, DIFFERENCE, float(np.mean(these)), "")
                yield replace(mean, target=Target.at_least(0.0, "value"))


@dataclass(frozen=True)
class Kept:
    """Rows that an interrupted run left behind: a line for each set and kind of forest."""

    path: Path | None

    def rows_on(self, data: SharedSet, kind: str, options: Options) -> list[Row]:
        """Return the rows from the file, or measure them and add them to it."""
        key = f"{data.name}, {kind}"
        known = self._lines().get(key)
        if known is not None:
            return [Row.from_dict(row) for row in known]
        found = rows_on(data, kind, options)
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            line = json.dumps({"key": key, "rows": [row.to_dict() for row in found]})
            with self.path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        return found

    def forget(self) -> None:
        """Remove the file: the run is done."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def _lines(self) -> dict[str, list[dict[str, object]]]:
        if self.path is None or not self.path.is_file():
            return {}
        lines = map(json.loads, self.path.read_text(encoding="utf-8").splitlines())
        return {line["key"]: line["rows"] for line in lines}

"""Peak memory of a fit of boosting, beyond what was there before it, beside LightGBM's."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks import datasets
from benchmarks.boosters import HORNBEAM, LIGHTGBM, ROUNDS, installed, threads
from benchmarks.children import ask
from benchmarks.datasets import DataSet
from benchmarks.harness import Options, at_hand
from benchmarks.results import Row, Target

NO_MORE = Target.at_most(1.0)
PAGE = 4096  # bytes: what fits into memory that was there counts as one
CASE = "classifier, 31 leaves"
MULTICLASS_ROUNDS = 20  # memory does not grow with more of them


def rows(options: Options) -> Iterable[Row]:
    sets = [datasets.synthetic(options.size(1_000_000, 3000), 1000)]
    if not options.quick:  # a process for each library: one data set is enough to try it
        sets = at_hand(options, datasets.covtype(300_000, 1000), *sets)
    for data in sets:
        if options.only in data.name:
            yield from rows_on(data, options)


def rows_on(data: DataSet, options: Options) -> Iterable[Row]:
    n_rounds = ROUNDS if len(np.unique(data.y)) == 2 else MULTICLASS_ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        paths = {"X": str(Path(folder) / "X.npy"), "y": str(Path(folder) / "y.npy")}
        np.save(paths["X"], data.X)
        np.save(paths["y"], np.unique(data.y, return_inverse=True)[1])
        found = [Row(CASE, data.name, "input", data.X.nbytes / 1e6, "MB")]
        for library in installed(options):
            if options.quick and library.name not in (HORNBEAM, LIGHTGBM):
                continue  # each takes a process of its own
            given = library.parameters(options.size(n_rounds, 5), threads(options))
            request = {
                "module": library.module,
                "estimator": library.estimators["classification"],
                "parameters": {**given, **library.equal},
                **paths,
            }
            answer = ask("memory", request)
            grown = max(answer["growth"], PAGE) / 1e6
            row = Row(CASE, data.name, library.name, grown, "MB", meaning="as much")
            found.append(row)
    return _beside_lightgbm(found)


def _beside_lightgbm(rows: list[Row]) -> list[Row]:
    reference = next((row for row in rows if row.contender == LIGHTGBM), None)
    if reference is None:
        return rows
    return [
        row
        if row is reference or row.contender == "input"
        else row.against(reference, NO_MORE if row.contender == HORNBEAM else None)
        for row in rows
    ]

"""Peak memory of a fit beyond what was there before it, against the size of the input."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import datasets
from benchmarks.children import ask
from benchmarks.datasets import DataSet
from benchmarks.harness import SKLEARN, Options, at_hand
from benchmarks.results import Row, Target

GROWTH = Target.at_most(2.0)
CONTENDERS: dict[str, dict[str, Any]] = {
    SKLEARN: {"module": "sklearn.tree", "parameters": {}},
    "hornbeam exact": {"module": "hornbeam", "parameters": {"n_jobs": 1}},
    "hornbeam exact, all threads": {"module": "hornbeam", "parameters": {}},
    "hornbeam histogram": {
        "module": "hornbeam",
        "parameters": {"finder": "histogram", "n_jobs": 1},
    },
}


def rows(options: Options) -> Iterable[Row]:
    sets = [datasets.synthetic(options.size(1_000_000, 2000), 1000)]
    if not options.quick:  # a process for each contender: one data set is enough to try it
        sets = at_hand(options, datasets.covtype(500_000, 1000), *sets)
    for data in sets:
        if options.only in data.name:
            yield from rows_on(data)


def rows_on(data: DataSet) -> Iterable[Row]:
    with tempfile.TemporaryDirectory() as folder:
        paths = {"X": str(Path(folder) / "X.npy"), "y": str(Path(folder) / "y.npy")}
        np.save(paths["X"], data.X)
        np.save(paths["y"], data.y)
        size = Row("classifier, fully grown", data.name, "input", data.X.nbytes / 1e6, "MB")
        yield size
        for name, contender in CONTENDERS.items():
            request = {"estimator": "DecisionTreeClassifier", **contender, **paths}
            answer = ask("memory", request)
            grown = Row(size.case, data.name, name, answer["growth"] / 1e6, "MB", meaning="as much")
            yield grown.against(size, None if name == SKLEARN else GROWTH)

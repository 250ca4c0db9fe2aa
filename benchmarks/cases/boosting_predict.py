"""Predict with 100 boosted trees: 100k rows on 2 threads, and single rows in a loop."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks import datasets, metrics
from benchmarks.boosters import (
    HORNBEAM,
    LIGHTGBM,
    ROUNDS,
    THREADS,
    XGBOOST,
    Setup,
    equal,
    installed,
    threads,
)
from benchmarks.datasets import Array, DataSet
from benchmarks.harness import Case, Contender, Options, measure_all
from benchmarks.results import Row, Target

LLEAVES, PREDICTOR = "lleaves", "hornbeam predictor"
# How many times as long as hornbeam the others take; "level" leaves 5 % to the clock.
AS_LONG = {
    LIGHTGBM: Target.at_least(5.0),
    XGBOOST: Target.at_least(1.5),
    LLEAVES: Target.at_least(0.95),
}
SINGLE_ROW = Target.at_most(20e-6, "value")
N_SINGLE = 1000
MANY, SINGLE = "many rows", "one row"


@dataclass(frozen=True)
class Way:
    """One way to predict: a fitted model becomes something that is asked."""

    name: str
    setup: Setup
    ready: Callable[[Any], Any]
    many: Callable[[Any, Array], Any]
    single: Callable[[Any, Array], Any]

    def contender(self, ask: Callable[[Any, Array], Any], target: Target | None) -> Contender:
        def prepare(data: DataSet) -> Any:
            return self.ready(self.setup.fitted(data))

        def run(state: Any, data: DataSet) -> Any:
            return ask(state, data.X_test)

        return Contender(self.name, prepare, run, _auc, target)


def rows(options: Options) -> Iterable[Row]:
    options.note(
        "Reference is hornbeam: 2.00x as much means that a library takes twice its time. All "
        "models have the settings of 'boosting'; lleaves compiles LightGBM's. The score is the AUC."
    )
    options.note(f"The time of one row is that of a loop over {N_SINGLE} rows, divided.")
    for row in measure_all(cases(options), options):
        yield _per_row(row) if row.case == SINGLE else row


def cases(options: Options) -> Iterator[Case]:
    n_rows = options.size(100_000, 2000)
    data = datasets.synthetic(n_rows, n_rows)
    few = replace(data, X_test=data.X_test[:N_SINGLE], y_test=data.y_test[:N_SINGLE])
    n_threads = threads(options)
    many = tuple(
        way.contender(way.many, AS_LONG.get(way.name))
        for way in ways(options, n_threads)
        if way.name != PREDICTOR  # it is for one row, or for rows on one thread
    )
    yield Case(MANY, data, many, HORNBEAM, threads=n_threads, meaning="as much", tolerance=0.02)
    single = tuple(way.contender(way.single, None) for way in ways(options, 1))
    yield Case(SINGLE, few, single, PREDICTOR, threads=1, meaning="as much", tolerance=0.05)


def ways(options: Options, n_threads: int) -> list[Way]:
    """Return the estimators of all libraries, and what is made of their models for serving."""
    setups = {
        library.name: equal(library, n_rounds=options.size(ROUNDS, 10), n_threads=n_threads)
        for library in installed(options)
    }
    found = [
        Way(name, setup, lambda model: model, _probabilities, _row_by_row)
        for name, setup in setups.items()
    ]
    ours = setups[HORNBEAM]
    found.append(
        Way(PREDICTOR, ours, lambda model: model.predictor(), lambda f, X: f(X), _call_by_call)
    )
    if find_spec(LLEAVES) and LIGHTGBM in setups:
        found.append(Way(LLEAVES, setups[LIGHTGBM], _compiled, _with_lleaves, _one_with_lleaves))
    else:
        options.note("lleaves is not installed and left out (see the extra 'bench').")
    return found


def _probabilities(model: Any, X: Array) -> Any:
    return model.predict_proba(X)


def _row_by_row(model: Any, X: Array) -> Array:
    return np.concatenate([model.predict_proba(X[i : i + 1]) for i in range(len(X))])


def _call_by_call(predictor: Any, X: Array) -> Array:
    return np.array([predictor(row) for row in X])


def _compiled(model: Any) -> Any:
    """Compile LightGBM's model for float32, the type of the rows."""
    import lleaves
    from llvmlite import binding

    # lleaves is written for older versions of llvmlite, which had these.
    old: dict[str, Any] = {
        "PassManagerBuilder": _Passes,
        "ModulePassManager": _PassManager,
        "initialize": lambda: None,
    }
    is_new = not hasattr(binding, "PassManagerBuilder")
    as_before = patch.multiple(binding, create=True, **old) if is_new else nullcontext()
    with tempfile.TemporaryDirectory() as folder, as_before:
        file = Path(folder) / "model.txt"
        model.booster_.save_model(file)
        compiled = lleaves.Model(model_file=str(file))
        compiled.compile(use_fp64=False)
    return compiled


class _Passes:
    """How much to optimise."""

    opt_level = 3
    inlining_threshold = 1

    def populate(self, manager: _PassManager) -> None:
        manager.passes = self


class _PassManager:
    passes: _Passes

    def run(self, module: Any) -> None:
        from llvmlite import binding

        machine = binding.Target.from_default_triple().create_target_machine(
            cpu=binding.get_host_cpu_name(), opt=self.passes.opt_level
        )
        options = binding.create_pipeline_tuning_options(speed_level=self.passes.opt_level)
        options.inlining_threshold = self.passes.inlining_threshold
        builder = binding.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)


def _with_lleaves(model: Any, X: Array) -> Any:
    return model.predict(X, n_jobs=THREADS)


def _one_with_lleaves(model: Any, X: Array) -> Array:
    return np.concatenate([model.predict(X[i : i + 1], n_jobs=1) for i in range(len(X))])


def _auc(answer: Array, data: DataSet) -> float:
    second = answer if answer.ndim == 1 else answer[:, 1]
    return metrics.auc(np.stack([1 - second, second], axis=1), data.y_test)


def _per_row(row: Row) -> Row:
    """Divide the time of the loop; the predictor must be quick by itself."""
    runs = tuple(run / N_SINGLE for run in row.runs)
    row = replace(row, value=row.value / N_SINGLE, runs=runs)
    return replace(row, target=SINGLE_ROW) if row.contender == PREDICTOR else row

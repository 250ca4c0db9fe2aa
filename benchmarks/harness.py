"""How contenders are timed: one after the other, round by round, in one process.

The clock of a shared machine drifts: a contender measured in the morning is not comparable
with one measured at noon. So every round runs each contender once on the same arrays, and the
best round of each counts. The first call, which may compile, is made before on a few rows and
reported apart.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks.datasets import DataSet
from benchmarks.results import Meaning, Row, Target

Clock = Callable[[], float]

WARM_UP_ROWS = 2000
MIN_ROUNDS = 2
SKLEARN = "scikit-learn"


@dataclass
class Options:
    """What the command line chose, and the notes that a benchmark leaves for the report."""

    quick: bool = False
    repeats: int = 5
    budget: float = 120.0
    only: str = ""
    notes: list[str] = field(default_factory=list)

    def note(self, sentence: str) -> None:
        """Say something once in the report."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    def size(self, full: int, quick: int) -> int:
        return quick if self.quick else full


@dataclass(frozen=True)
class Contender:
    """One of those that are compared.

    Attributes
    ----------
    name : str
    prepare : callable(data) -> state
        Anything that has to happen once before the timed calls, such as a fit whose
        predictions are timed. Not timed.
    run : callable(state, data) -> result
        What is timed.
    score : callable(result, data) -> float, or None
        How good the result is, to see that all contenders did the same work. Not timed.
    target : Target or None
        Bound on the ratio to the case's reference.
    digest : callable(result) -> str, or None
        Fingerprint of the result; contenders that have one must agree to the last bit.
    """

    name: str
    prepare: Callable[[DataSet], Any]
    run: Callable[[Any, DataSet], Any]
    score: Callable[[Any, DataSet], float] | None = None
    target: Target | None = None
    digest: Callable[[Any], str] | None = None


@dataclass(frozen=True)
class Case:
    """Contenders on one data set.

    Attributes
    ----------
    name : str
    data : DataSet
    contenders : tuple of Contender
    reference : str
        Name of the contender that the others are compared with.
    tolerance : float
        How far scores may lie apart before a row is flagged.
    threads : int
        Limit for thread pools of libraries; contenders set their own ``n_jobs``.
    meaning : "as fast" or "as much"
        How ratios are given: as speeds, or as times.
    """

    name: str
    data: DataSet
    contenders: tuple[Contender, ...]
    reference: str = SKLEARN
    tolerance: float = 0.01
    threads: int = 1
    meaning: Meaning = "as fast"

    def __post_init__(self) -> None:
        names = [contender.name for contender in self.contenders]
        if len(set(names)) < len(names):
            raise ValueError(f"The contenders of {self.name!r} share a name: {names}.")
        if self.reference not in names:
            raise ValueError(f"{self.name!r} has no contender {self.reference!r}, only {names}.")


@dataclass
class _Record:
    """What is known so far of a contender."""

    warm_up: float
    state: Any
    runs: list[float] = field(default_factory=list)
    result: Any = None


def measure(case: Case, options: Options, clock: Clock = time.perf_counter) -> list[Row]:
    """Time every contender of a case, alternately, and compare each with the reference."""
    few = case.data.head(WARM_UP_ROWS)
    with threadpool_limits(limits=case.threads):
        records = {
            contender.name: _Record(_warm_up(contender, few, clock), contender.prepare(case.data))
            for contender in case.contenders
        }
        started = clock()
        for done in range(1, options.repeats + 1):
            for contender in case.contenders:
                _run_once(contender, records[contender.name], case.data, clock)
            if done >= MIN_ROUNDS and clock() - started > options.budget:
                break
    return _compare(case, records)


def measure_all(cases: Iterable[Case], options: Options) -> Iterable[Row]:
    """Measure the cases whose name holds ``options.only``, one after the other."""
    for case in cases:
        if options.only in f"{case.name} {case.data.name}":
            yield from measure(case, options)


def at_hand(options: Options, *sets: DataSet | None) -> list[DataSet]:
    """Keep the data sets that are there, and say in the report when one is not."""
    if None in sets:
        options.note("Shared data were not at hand (see HORNBEAM_DATA); their cases are left out.")
    return [data for data in sets if data is not None]


def _warm_up(contender: Contender, few: DataSet, clock: Clock) -> float:
    started = clock()
    contender.run(contender.prepare(few), few)
    return clock() - started


def _run_once(contender: Contender, record: _Record, data: DataSet, clock: Clock) -> None:
    record.result = None  # the last model is freed outside the measured time
    gc.collect()
    started = clock()
    record.result = contender.run(record.state, data)
    record.runs.append(clock() - started)


def _compare(case: Case, records: Mapping[str, _Record]) -> list[Row]:
    rows = {
        contender.name: _row(case, contender, records[contender.name])
        for contender in case.contenders
    }
    reference = rows[case.reference]
    compared = []
    for contender in case.contenders:
        row = rows[contender.name]
        if row is not reference:
            row = row.against(reference, contender.target)
        flags = _disagreement(row, reference, case.tolerance) + _difference(row, reference)
        compared.append(row.flagged(*flags))
    return compared


def _row(case: Case, contender: Contender, record: _Record) -> Row:
    score = None if contender.score is None else contender.score(record.result, case.data)
    digest = "" if contender.digest is None else contender.digest(record.result)
    return Row(
        case=case.name,
        data=case.data.name,
        contender=contender.name,
        value=min(record.runs),
        runs=tuple(record.runs),
        warm_up=record.warm_up,
        score=score,
        digest=digest,
        meaning=case.meaning,
    )


def _disagreement(row: Row, reference: Row, tolerance: float) -> tuple[str, ...]:
    """Say by how much two scores differ, when that is more than the tolerance."""
    if row.score is None or reference.score is None:
        return ()
    distance = abs(row.score - reference.score)
    if distance <= tolerance:  # written so that NaN is a disagreement
        return ()
    return (
        f"score {row.score:.4f} differs from {reference.contender}'s {reference.score:.4f} "
        f"by more than {tolerance:g}",
    )


def _difference(row: Row, reference: Row) -> tuple[str, ...]:
    """Say that two results which ought to be the same are not."""
    if not row.digest or not reference.digest or row.digest == reference.digest:
        return ()
    return (f"the result is not {reference.contender}'s, to the last bit",)


# --- the two contenders that most cases need ---------------------------------------


def fitting(name: str, make: Callable[[], Any], target: Target | None = None) -> Contender:
    """Time ``fit`` of the estimator that ``make`` returns."""

    def run(estimator: Any, data: DataSet) -> Any:
        return estimator.fit(data.X, data.y)

    return Contender(name, lambda data: make(), run, _score_of_model, target)


def predicting(
    name: str,
    make: Callable[[], Any],
    predict: Callable[[Any, DataSet], Any],
    target: Target | None = None,
    score: Callable[[Any, DataSet], float] | None = None,
) -> Contender:
    """Time ``predict(model, data)`` of the estimator that ``make`` returns, fitted before."""

    def prepare(data: DataSet) -> Any:
        return make().fit(data.X, data.y)

    return Contender(name, prepare, predict, score, target)


def _score_of_model(model: Any, data: DataSet) -> float:
    return float(model.score(data.X_test, data.y_test))

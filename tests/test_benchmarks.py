"""The benchmark harness on toy contenders and a fake clock: its logic, not any timing."""

from __future__ import annotations

import doctest
import io
import json
import platform
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from benchmarks import cases, datasets, machine, report, results
from benchmarks.__main__ import main
from benchmarks.cases import compile as compile_case
from benchmarks.cases.busy import slow_downs
from benchmarks.datasets import DataSet
from benchmarks.harness import Case, Contender, Options, at_hand, fitting, measure, predicting
from benchmarks.results import Row, Target


class FakeClock:
    """A clock that only the contenders move."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def data() -> DataSet:
    X, y = np.zeros((5000, 2), np.float32), np.zeros(5000, np.int64)
    return DataSet("zeros 5k x 2", X, y, X[:10], y[:10])


def toy(
    name: str, seconds: list[float], clock: FakeClock, score: float = 0.9, **more: Any
) -> Contender:
    """Make a contender whose calls take the given seconds, the first being the warm-up."""
    remaining = iter(seconds)

    def run(state: Any, data: DataSet) -> str:
        clock.now += next(remaining)
        return name

    return Contender(name, lambda data: None, run, lambda result, data: score, **more)


def case_of(data: DataSet, *contenders: Contender, **more: Any) -> Case:
    return Case("toy", data, contenders, reference=contenders[0].name, **more)


# --- measuring -----------------------------------------------------------------------


def test_contenders_take_turns_after_each_warmed_up_on_a_few_rows(
    data: DataSet, clock: FakeClock
) -> None:
    calls: list[tuple[str, int]] = []

    def noting(name: str) -> Contender:
        def run(state: Any, data: DataSet) -> None:
            calls.append((name, len(data.X)))

        return Contender(name, lambda data: None, run)

    measure(case_of(data, noting("a"), noting("b")), Options(repeats=3), clock)
    assert calls == [("a", 2000), ("b", 2000)] + [("a", 5000), ("b", 5000)] * 3


def test_the_best_run_counts_and_the_warm_up_is_kept_apart(data: DataSet, clock: FakeClock) -> None:
    slow = toy("slow", [9.0, 4.0, 6.0, 5.0], clock)
    fast = toy("fast", [7.0, 3.0, 2.0, 2.5], clock)
    reference, row = measure(case_of(data, slow, fast), Options(repeats=3), clock)
    assert (reference.value, reference.runs, reference.warm_up) == (4.0, (4.0, 6.0, 5.0), 9.0)
    assert (row.value, row.runs, row.warm_up) == (2.0, (3.0, 2.0, 2.5), 7.0)
    assert row.ratio == 2.0
    assert row.reference == "slow"
    assert reference.ratio is None


def test_preparing_and_scoring_are_not_timed(data: DataSet, clock: FakeClock) -> None:
    def spend(seconds: float, result: Any) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            clock.now += seconds
            return result

        return call

    contender = Contender("only", spend(100, "state"), spend(1, "result"), spend(1000, 0.5))
    (row,) = measure(case_of(data, contender), Options(repeats=2), clock)
    assert row.runs == (1.0, 1.0)
    assert row.score == 0.5


def test_ratios_can_be_times_instead_of_speeds(data: DataSet, clock: FakeClock) -> None:
    a, b = toy("a", [1.0, 2.0], clock), toy("b", [1.0, 3.0], clock, target=Target.at_most(1.3))
    _, row = measure(case_of(data, a, b, meaning="as much"), Options(repeats=1), clock)
    assert (row.ratio, row.verdict) == (1.5, "missed")


def test_a_slow_case_stops_after_two_rounds(data: DataSet, clock: FakeClock) -> None:
    contender = toy("slow", [1.0, 50.0, 50.0, 50.0], clock)
    (row,) = measure(case_of(data, contender), Options(repeats=9, budget=60), clock)
    assert len(row.runs) == 2


@pytest.mark.parametrize(
    ("score", "agrees"), [(0.9, True), (0.895, True), (0.88, False), (0.92, False), (np.nan, False)]
)
def test_scores_that_do_not_agree_are_flagged(
    data: DataSet, clock: FakeClock, score: float, agrees: bool
) -> None:
    contenders = toy("a", [1.0] * 3, clock, 0.9), toy("b", [1.0] * 3, clock, score)
    _, row = measure(case_of(data, *contenders, tolerance=0.01), Options(repeats=2), clock)
    assert (row.flags == ()) == agrees
    assert row.is_good == agrees
    if not agrees:
        assert f"{score:.4f} differs from a's 0.9000 by more than 0.01" in row.flags[0]


def test_results_that_must_be_the_same_to_the_last_bit(data: DataSet, clock: FakeClock) -> None:
    contenders = [toy(name, [1.0] * 3, clock, digest=str.lower) for name in ("a", "A", "b")]
    rows = measure(case_of(data, *contenders), Options(repeats=2), clock)
    assert [bool(row.flags) for row in rows] == [False, False, True]


def test_a_case_without_its_reference_is_refused(data: DataSet, clock: FakeClock) -> None:
    with pytest.raises(ValueError, match="no contender 'scikit-learn', only"):
        Case("toy", data, (toy("a", [], clock),))
    with pytest.raises(ValueError, match="share a name"):
        case_of(data, toy("a", [], clock), toy("a", [], clock))


def test_fitting_and_predicting_call_the_estimator(data: DataSet, clock: FakeClock) -> None:
    calls: list[str] = []

    class Estimator:
        def fit(self, X: Any, y: Any) -> Estimator:
            calls.append(f"fit {len(X)}")
            return self

        def predict(self, X: Any) -> Any:
            calls.append(f"predict {len(X)}")
            return X

        def score(self, X: Any, y: Any) -> float:
            return 0.7

    (row,) = measure(case_of(data, fitting("f", Estimator)), Options(repeats=1), clock)
    assert calls == ["fit 2000", "fit 5000"]
    assert row.score == 0.7
    calls.clear()
    contender = predicting("p", Estimator, lambda model, data: model.predict(data.X_test))
    measure(case_of(data, contender), Options(repeats=2), clock)
    assert calls == ["fit 2000", "predict 10", "fit 5000", "predict 10", "predict 10"]


# --- rows ----------------------------------------------------------------------------


def test_targets_on_ratios_and_on_values() -> None:
    base = Row("c", "d", "base", 4.0)
    twice = replace(base, contender="twice", value=2.0)
    assert twice.against(base, Target.at_least(2.0)).verdict == "met"
    assert twice.against(base, Target.at_least(2.1)).verdict == "missed"
    more = replace(twice, meaning="as much").against(base, Target.at_most(0.5))
    assert (more.ratio, more.verdict) == (0.5, "met")
    assert replace(base, target=Target.at_most(3.0, "value")).verdict == "missed"
    assert base.verdict == ""
    assert replace(base, target=Target.at_least(1.0)).verdict == "missed", "no ratio, no success"


def test_examples_in_the_docstrings() -> None:
    for module in (results, report):
        assert doctest.testmod(module).failed == 0


# --- reports -------------------------------------------------------------------------


@pytest.fixture
def example() -> report.Report:
    base = Row("fit", "zeros 5k x 2", "peer", 4.0, runs=(4.0, 5.0), warm_up=0.01, score=0.9)
    ours = replace(base, contender="hornbeam", value=1.23456789, warm_up=3.0, score=0.5)
    rows = [base, ours.against(base, Target.at_least(5.0)).flagged("score 0.5 is odd")]
    begun = report.Report.begin("toy", "A toy benchmark")
    facts = begun.machine | {"processor": "Some CPU", "load_before": 0.5}
    begun = replace(begun, machine=facts, date="2024-05-06")
    return begun.finish(rows, ["A note."])


def test_report_survives_json(example: report.Report, tmp_path: Path) -> None:
    path = example.save(tmp_path / "results")
    again = report.Report.from_json(path.read_text())
    assert path.name == "toy.json"
    assert again.rows[1].value == 1.23457, "six digits are kept"
    assert again.rows[1].target == Target.at_least(5.0)
    assert again.to_json() == example.to_json()


def test_summary_shows_ratio_verdict_and_flag(example: report.Report) -> None:
    text = report.summary([example])
    assert "## toy" in text
    assert "2024-05-06; Some CPU" in text
    row = next(line for line in text.splitlines() if "| hornbeam |" in line)
    assert row == (
        "| fit | zeros 5k x 2 | hornbeam | 1.23 s | 3.24x as fast as peer | >= 5: missed "
        "| 0.5000 (!) | 3 s |"
    )
    assert "- hornbeam in 'fit' on zeros 5k x 2: score 0.5 is odd" in text
    assert "- A note." in text
    assert "--quick" not in text


def test_summary_is_written_from_all_files(example: report.Report, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    example.save(folder)
    replace(example, name="another", quick=True).save(folder)
    report.write_summary(folder)
    text = (tmp_path / "RESULTS.md").read_text()
    assert text.index("## another") < text.index("## toy")
    assert "times mean nothing" in text


def test_printed_table_names_what_is_odd(example: report.Report) -> None:
    console = Console(record=True, width=200, file=io.StringIO())
    report.show(example, console)
    printed = console.export_text()
    assert "3.24x as fast as peer" in printed
    assert "score 0.5 is odd" in printed


def test_facts_do_not_name_the_machine() -> None:
    known = json.dumps([machine.facts(), machine.versions()])
    assert platform.node() not in known or len(platform.node()) < 4
    assert str(Path.home()) not in known
    assert {"numpy", "scikit-learn"} <= set(machine.versions())


# --- data sets -------------------------------------------------------------------------


def test_synthetic_data_are_the_same_every_time() -> None:
    data = datasets.synthetic(2000, 500)
    assert data.name == "synthetic 2k x 28"
    assert data.X.shape == (2000, 28)
    assert data.X.dtype == np.float32
    assert data.X.flags.c_contiguous
    assert 0.3 < data.y.mean() < 0.7
    assert len(data.y_test) == 500
    datasets._signal.cache_clear()
    np.testing.assert_array_equal(datasets.synthetic(2000, 500).X, data.X)
    numbers = datasets.synthetic_regression(2000, 500)
    np.testing.assert_array_equal(numbers.y > 0, data.y == 1)


def test_shared_data_that_are_absent_are_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, data: DataSet
) -> None:
    monkeypatch.setenv("HORNBEAM_DATA", str(tmp_path))
    options = Options()
    assert at_hand(options, datasets.covtype(), data) == [data]
    assert "HORNBEAM_DATA" in options.notes[0]


# --- the command line --------------------------------------------------------------------


@pytest.fixture
def toy_benchmark(
    monkeypatch: pytest.MonkeyPatch, data: DataSet, clock: FakeClock
) -> list[Options]:
    """Put a benchmark named toy in the place of the real ones."""
    seen: list[Options] = []

    def rows(options: Options) -> list[Row]:
        seen.append(options)
        if options.only == "broken":
            raise RuntimeError("broken")
        contenders = toy("a", [1.0] * 3, clock), toy("b", [2.0] * 3, clock, target=Target(9, ">="))
        return measure(case_of(data, *contenders), replace(options, repeats=2), clock)

    monkeypatch.setattr(cases, "names", lambda: ["toy"])
    monkeypatch.setattr(cases, "load", lambda name: cases.Benchmark(name, "A toy", rows))
    return seen


def test_command_lists_runs_and_writes(
    toy_benchmark: list[Options], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([]) == 0
    assert capsys.readouterr().out.split() == ["toy", "A", "toy"]
    folder = tmp_path / "results"
    assert main(["toy", "--quick", "--results", str(folder)]) == 0
    assert toy_benchmark[0].quick
    assert json.loads((folder / "toy.json").read_text())["rows"][1]["ratio"] == 0.5
    assert ">= 9: missed" in (tmp_path / "RESULTS.md").read_text()
    (tmp_path / "RESULTS.md").unlink()
    assert main(["--summary", "--results", str(folder)]) == 0
    assert (tmp_path / "RESULTS.md").exists()


def test_command_writes_nothing_when_quick(toy_benchmark: list[Options]) -> None:
    before = {path: path.stat().st_mtime_ns for path in report.RESULTS.glob("*")}
    assert main(["all", "--quick"]) == 0
    assert {path: path.stat().st_mtime_ns for path in report.RESULTS.glob("*")} == before


def test_command_exit_status(
    toy_benchmark: list[Options], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["toy", "--quick", "--check"]) == 1, "a target was missed"
    assert main(["toy", "--quick", "--only", "broken"]) == 1
    assert "toy broke" in capsys.readouterr().err
    assert main(["unheard-of"]) == 2
    assert "There is no benchmark unheard-of" in capsys.readouterr().out


def test_every_benchmark_has_a_title() -> None:
    names = {"busy", "cart", "cold", "compile", "criterion", "memory", "predict", "threads"}
    assert names <= set(cases.names())
    for name in cases.names():
        title = cases.load(name).title
        assert title
        assert len(title) < 100


# --- the real benchmarks -------------------------------------------------------------------


def test_slow_down_is_compared_with_the_first_contenders() -> None:
    free = [Row("free", "d", name, 1.0) for name in ("peer", "hornbeam")]
    busy = [replace(free[0], value=2.0), replace(free[1], value=5.0)]
    peer, ours = slow_downs(free, busy)
    assert (peer.value, peer.ratio) == (2.0, None)
    assert (ours.value, ours.ratio, ours.verdict) == (5.0, 2.5, "missed")


def test_compile_times_come_slowest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"fit": 4.0, "compile_times": {"small": 1.0, "large": 2.0}}
    monkeypatch.setattr(compile_case, "ask", lambda *arguments: answer)
    rows = list(compile_case.rows(Options(quick=True)))
    assert [row.contender for row in rows] == ["large", "small", "first fit, all in all"]


def reads_shared_sets(name: str) -> bool:
    source = (Path(cases.__file__).parent / f"{name}.py").read_text(encoding="utf-8")
    return any(word in source for word in ("shared.", "shared_path", "covtype"))


@pytest.mark.parametrize("name", sorted(set(cases.names()) - {"compile"}))
def test_benchmark_runs_on_small_sizes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HORNBEAM_DATA", raising=False)
    check_small_run(name, tmp_path)


@pytest.mark.parametrize("name", list(filter(reads_shared_sets, cases.names())))
def test_benchmark_runs_on_shared_sets(name: str, tmp_path: Path, shared_data: Path) -> None:
    check_small_run(name, tmp_path)


def check_small_run(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    assert main([name, "--quick", "--repeats", "1", "--results", str(folder)]) == 0
    rows = report.Report.from_json((folder / f"{name}.json").read_text()).rows
    assert len({row.contender for row in rows}) > 1
    assert all(np.isfinite(row.value) for row in rows)

"""Where results go: a table on the screen, one JSON file per benchmark, RESULTS.md from all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import machine
from benchmarks.results import Row

RESULTS = Path(__file__).resolve().parent / "results"
COLUMNS = ("case", "data", "contender", "best", "ratio", "target", "score", "warm-up")
TOP = """\
# Benchmark results

Written by `python -m benchmarks <name>` from the files in `results/`; edits here are lost.
Contenders of a case run alternately in one process on the same arrays; "best" is the best of
several runs, after a first call on a few rows ("warm-up"), which may compile. "2.00x as fast"
compares with the contender named behind it, and so does "0.50x as much". The score is the
accuracy (R2 for regression, AUC for boosting) on rows that the fit did not see.
"""


@dataclass(frozen=True)
class Report:
    """All rows of one benchmark, and on what they were measured."""

    name: str
    title: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    date: str
    machine: dict[str, Any]
    versions: dict[str, str]
    quick: bool = False

    @classmethod
    def begin(cls, name: str, title: str, quick: bool = False) -> Report:
        """Make a report without rows, with the date and the facts of this machine."""
        today = datetime.now(UTC).date().isoformat()
        return cls(name, title, (), (), today, machine.facts(), machine.versions(), quick)

    def finish(self, rows: Sequence[Row], notes: Sequence[str] = ()) -> Report:
        """Return the report with what was measured."""
        return replace(self, rows=tuple(rows), notes=tuple(notes))

    def to_json(self) -> str:
        values = vars(self) | {"rows": [row.to_dict() for row in self.rows]}
        return json.dumps(_rounded(values), indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Report:
        values = json.loads(text)
        rows = tuple(Row.from_dict(row) for row in values["rows"])
        return cls(**values | {"rows": rows, "notes": tuple(values["notes"])})

    def save(self, folder: Path = RESULTS) -> Path:
        """Write ``<name>.json`` into the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.json"
        path.write_text(self.to_json(), encoding="utf-8")
        return path


def write_summary(folder: Path = RESULTS) -> None:
    """Write RESULTS.md, beside the folder, from every JSON file in it."""
    files = sorted(folder.glob("*.json"))
    reports = [Report.from_json(file.read_text(encoding="utf-8")) for file in files]
    (folder.parent / "RESULTS.md").write_text(summary(reports), encoding="utf-8")


def summary(reports: Sequence[Report]) -> str:
    """Render reports as one Markdown page."""
    return "\n".join([TOP, *(_section(report) for report in reports)])


def show(report: Report, console: Console | None = None) -> None:
    """Print a report as a table; what is missed or flagged stands out."""
    table = Table(title=f"{report.name}: {report.title}", title_justify="left")
    for column in COLUMNS:
        table.add_column(column, justify="right" if column in ("best", "warm-up") else "left")
    for row in report.rows:
        table.add_row(*_cells(row), style=None if row.is_good else "bold red")
    console = console or Console()
    console.print(table)
    for sentence in _remarks(report):
        console.print(f"- {sentence}", markup=False)


def _section(report: Report) -> str:
    lines = [f"## {report.name}", "", report.title, "", _circumstances(report), ""]
    lines += [_line(COLUMNS), _line(["---"] * len(COLUMNS))]
    lines += [_line(_cells(row)) for row in report.rows]
    remarks = [f"- {sentence}" for sentence in _remarks(report)]
    if remarks:
        lines += ["", *remarks]
    return "\n".join(lines) + "\n"


def _circumstances(report: Report) -> str:
    facts = report.machine
    used = ", ".join(f"{name} {number}" for name, number in report.versions.items())
    text = (
        f"{report.date}; {facts['processor']}, {facts['cores']} cores, {facts['memory_gb']} GB, "
        f"{facts['system']}; Python {facts['python']}, {used}; load before the run: "
        f"{facts['load_before']}."
    )
    return text + (" Small sizes (--quick): times mean nothing." if report.quick else "")


def _remarks(report: Report) -> list[str]:
    flags = [
        f"{row.contender} in {row.case!r} on {row.data}: {flag}"
        for row in report.rows
        for flag in row.flags
    ]
    return flags + list(report.notes)


def _cells(row: Row) -> tuple[str, ...]:
    digits = 2 if row.unit in ("s", "MB", "x") else 4  # what is left is how good a model is
    ratio = "" if row.ratio is None else f"{row.ratio:.{digits}f}x {row.meaning} as {row.reference}"
    target = "" if row.target is None else f"{row.target}: {row.verdict}"
    score = "" if row.score is None else f"{row.score:.4f}"
    warm_up = "" if row.warm_up is None else quantity(row.warm_up, "s")
    flagged = score + (" (!)" if row.flags else "")
    best = quantity(row.value, row.unit)
    return (row.case, row.data, row.contender, best, ratio, target, flagged, warm_up)


def quantity(value: float, unit: str) -> str:
    """Write a measurement with about three digits.

    Examples
    --------
    >>> quantity(0.00123, "s"), quantity(12.3456, "s"), quantity(130, "MB")
    ('1.23 ms', '12.3 s', '130 MB')
    >>> quantity(0.32154, "")  # without a unit: how good a model is
    '0.3215'
    """
    if not unit:
        return f"{value:.0f}" if abs(value) >= 1e4 else f"{value:.4g}"
    if unit == "s":
        for name, size in (("s", 1.0), ("ms", 1e-3)):
            if abs(value) >= size:
                return f"{_three_digits(value / size)} {name}"
        return f"{_three_digits(value / 1e-6)} us"
    return f"{value:.2f}x" if unit == "x" else f"{_three_digits(value)} {unit}"


def _three_digits(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _rounded(value: Any) -> Any:
    """Six digits of every float: the rest is noise that makes every diff long."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return value

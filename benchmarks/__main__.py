"""The command line: ``python -m benchmarks [name ...]``."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from benchmarks import cases, report
from benchmarks.harness import Options


def main(arguments: Sequence[str] | None = None) -> int:
    """List, run or report; the exit status is 1 when a benchmark broke."""
    chosen = _parser().parse_args(arguments)
    known = cases.names()
    if chosen.summary:
        report.write_summary(chosen.results)
        return 0
    if not chosen.names:
        for name in known:
            print(f"{name:12} {cases.load(name).title}")
        return 0
    wanted = known if "all" in chosen.names else chosen.names
    if unknown := sorted(set(wanted) - set(known)):
        print(f"There is no benchmark {', '.join(unknown)}; there are {', '.join(known)} and all.")
        return 2
    outcomes = [_run(name, chosen) for name in wanted]
    good = all(outcomes) if chosen.check else None not in outcomes
    return 0 if good else 1


def _run(name: str, chosen: argparse.Namespace) -> bool | None:
    """Run one benchmark; return whether all its rows are good, None when it broke."""
    options = Options(chosen.quick, chosen.repeats, chosen.budget, chosen.only)
    benchmark = cases.load(name)
    begun = report.Report.begin(name, benchmark.title, options.quick)
    try:
        rows = list(benchmark.rows(options))
    except Exception:
        print(f"{name} broke:", file=sys.stderr)
        traceback.print_exc()
        return None
    result = begun.finish(rows, options.notes)
    report.show(result)
    if not (chosen.quick or chosen.only) or chosen.results != report.RESULTS:
        result.save(chosen.results)
        report.write_summary(chosen.results)
    return all(row.is_good for row in rows)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help="benchmarks to run, or 'all'; none lists them")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, nothing is written")
    parser.add_argument("--repeats", type=int, default=5, help="rounds per case (default 5)")
    parser.add_argument(
        "--budget",
        type=float,
        default=120.0,
        help="seconds after which a case stops repeating, but not before two rounds (default 120)",
    )
    parser.add_argument(
        "--only", default="", help="run only cases whose name or data hold this; not written"
    )
    parser.add_argument("--check", action="store_true", help="fail when a target is missed")
    parser.add_argument("--summary", action="store_true", help="only write RESULTS.md again")
    parser.add_argument(
        "--results", type=Path, default=report.RESULTS, help="folder of the JSON files"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())

"""What the commands print: results on stdout, progress on stderr, errors as sentences.

Names of files, columns and classes are somebody else's text. What is printed goes through
`plain` here: a terminal must not obey what a table says.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from hornbeam.output.names import printable


class UserError(Exception):
    """Something the user can put right; the message says what and how."""


def plain(text: str) -> str:
    r"""Text as a terminal may show it: control characters are escaped, lines stay lines.

    Examples
    --------
    >>> print(plain("a \x1b[31mred\x1b[0m name"))
    a \x1b[31mred\x1b[0m name
    """
    return "\n".join(printable(line) for line in text.split("\n"))


class Screen:
    """Where a command writes to; a quiet one writes nothing."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        text: dict[str, Any] = {"markup": False, "emoji": False, "highlight": False}
        self.results = Console(quiet=quiet, **text)
        self.progress = Console(quiet=quiet, stderr=True, **text)

    @contextmanager
    def step(self, doing: str) -> Iterator[None]:
        """Show what is being done while it is done, and how long it took."""
        start = time.perf_counter()
        live = nullcontext() if self.quiet else self.progress.status(Text(plain(doing)))
        with live:
            yield
        self.note(f"{doing}: {time.perf_counter() - start:.1f} s")

    @contextmanager
    def rounds(self, doing: str, total: int) -> Iterator[Callable[[Any], None]]:
        """Show a bar; what it yields is told of every round of boosting, as a callback."""
        start = time.perf_counter()
        with Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[losses]}", markup=False),
            console=self.progress,
            disable=not self.progress.is_terminal,
            transient=True,
        ) as progress:
            task = progress.add_task(plain(doing), total=total, losses="")

            def show(report: Any) -> None:
                losses = f"loss {report.train_loss:.5g}"
                if report.valid_loss is not None:
                    losses += f", validation {report.valid_loss:.5g}"
                progress.update(task, completed=report.number, losses=losses)

            yield show
        self.note(f"{doing}: {time.perf_counter() - start:.1f} s")

    def note(self, sentence: str) -> None:
        """Say something that is not a result."""
        self.progress.print(plain(sentence), soft_wrap=True)

    def say(self, sentence: str) -> None:
        """Print one line of the result."""
        self.results.print(plain(sentence), soft_wrap=True)

    def show(self, table: Table) -> None:
        """Print a table of the result."""
        self.results.print(table)

    def bar(self, share: float, width: int = 20) -> str:
        """Draw a share between 0 and 1 as a bar."""
        mark = "#" if self.results.options.ascii_only else "█"
        return mark * round(share * width)


def make_table(
    title: str, columns: list[str], rows: list[list[str]], numbers: Collection[str] = ()
) -> Table:
    """Build a table; the columns named in ``numbers`` are aligned right."""
    table = Table(title=plain(title), title_justify="left")
    for name in columns:
        table.add_column(
            plain(name), justify="right" if name in numbers else "left", overflow="fold"
        )
    for row in rows:
        table.add_row(*map(plain, row))
    return table


def make_listing(title: str, rows: list[list[str]]) -> Table:
    """Build a table of names and what belongs to them."""
    table = Table(title=plain(title), title_justify="left", show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*map(plain, row))
    return table

"""A progress bar for long work: on a terminal, when it takes long, or when asked for."""

from __future__ import annotations

import sys
import time
from typing import Any

_PATIENCE_SECONDS = 2.0  # work that takes longer shows itself on a terminal


class ProgressBar:
    """A line on the terminal that counts steps.

    Parameters
    ----------
    label : str
        What is being done.
    total : int
        Number of steps.
    verbose : int or None
        1: show the bar; 0: never; None: on a terminal, when it takes long.
    """

    def __init__(self, label: str, total: int, verbose: int | None) -> None:
        self.label, self.total, self.verbose = label, total, verbose
        self.started = time.monotonic()
        self.bar: Any = None  # a rich Progress, once there is something to show
        self.task: Any = None
        self.silent = verbose == 0 or (verbose is None and not sys.stderr.isatty())

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def show(self, completed: int, text: str = "") -> None:
        """Move the bar; ``text`` stands behind it."""
        if self.silent:
            return
        if self.bar is None:
            if not self.verbose and time.monotonic() - self.started < _PATIENCE_SECONDS:
                return
            self._open()
        self.bar.update(self.task, completed=completed, text=text)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.progress import TimeRemainingColumn as Remaining

        columns = (TextColumn(self.label), BarColumn(), MofNCompleteColumn(), Remaining())
        console = Console(stderr=True)
        self.bar = Progress(*columns, TextColumn("{task.fields[text]}"), console=console)
        self.task = self.bar.add_task("", total=self.total, text="")
        self.bar.start()

    def close(self) -> None:
        """Leave the last line where it is."""
        if self.bar is not None:
            self.bar.stop()

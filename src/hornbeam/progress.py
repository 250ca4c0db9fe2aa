"""A progress bar for long work: on a terminal, when it takes long, or when asked for.

It is there for people to look at. Where it cannot be shown (stderr is closed, or nobody reads
it any more) the work goes on without it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
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
        self.silent = verbose == 0
        if verbose is None:
            with self._or_silence():
                self.silent = not sys.stderr.isatty()

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def show(self, completed: int, text: str = "") -> None:
        """Move the bar; ``text`` stands behind it."""
        if self.silent:
            return
        waits = time.monotonic() - self.started < _PATIENCE_SECONDS
        if self.bar is None and not self.verbose and waits:
            return
        with self._or_silence():
            if self.bar is None:
                self._open()
            self.bar.update(self.task, completed=completed, text=text)

    def _open(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.progress import TimeRemainingColumn as Remaining

        columns = (TextColumn(self.label), BarColumn(), MofNCompleteColumn(), Remaining())
        console = _quiet_console()
        self.bar = Progress(*columns, TextColumn("{task.fields[text]}"), console=console)
        self.task = self.bar.add_task("", total=self.total, text="")
        self.bar.start()

    @contextmanager
    def _or_silence(self) -> Iterator[None]:
        """Show no more once it has failed: the work must not fail by its progress bar."""
        try:
            yield
        except Exception:  # whatever a stream that is closed, broken or not there provokes
            self.silent = True

    def close(self) -> None:
        """Leave the last line where it is."""
        if self.bar is not None:
            with self._or_silence():
                self.bar.stop()


def _quiet_console() -> Any:
    """A console on stderr that falls silent when nobody reads it; rich's own ends the process."""
    from rich.console import Console

    class QuietConsole(Console):
        def on_broken_pipe(self) -> None:
            self.quiet = True

    return QuietConsole(stderr=True)

"""A progress bar for long work: on a terminal, when it takes long, or when asked for.

It is there for people to look at. Where it cannot be shown (stderr is closed, or nobody reads
it any more) the work goes on without it.
"""

from __future__ import annotations

import math
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
        1: show the bar; 0: never; None: on a terminal or in a notebook, when it takes long.
    """

    def __init__(self, label: str, total: int, verbose: int | None) -> None:
        self.label, self.total, self.verbose = label, total, verbose
        self.started = time.monotonic()
        self.bar: Any = None  # a rich Progress, once there is something to show
        self.task: Any = None
        self.silent = verbose == 0
        if verbose is None:
            with self._or_silence():
                self.silent = not sys.stderr.isatty() and _notebook() is None

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
        display = _notebook()
        if display is not None:
            self.bar = NotebookBar(self.label, self.total, display)
            return
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


def _notebook() -> Any:
    """IPython's ``display`` if this runs in a notebook, else None; imports nothing."""
    python = sys.modules.get("IPython")
    shell = None if python is None else python.get_ipython()
    if shell is None or type(shell).__name__ != "ZMQInteractiveShell":
        return None
    return sys.modules["IPython.display"].display


class NotebookBar:
    """A line of text in the output of a cell, which is replaced while the work goes on.

    Parameters
    ----------
    label : str
        What is being done.
    total : int
        Number of steps.
    display : function
        IPython's.
    """

    _WIDTH, _EVERY = 30, 0.2  # characters, and seconds between two changes

    def __init__(self, label: str, total: int, display: Any) -> None:
        self.label, self.total, self._display = label, max(1, total), display
        self.text, self._handle = "", None
        self._started = time.monotonic()
        self._changed = -math.inf

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": self.text}

    def update(self, task: Any, completed: int, text: str) -> None:
        """Show how far the work is.

        Parameters
        ----------
        task : object
            Not looked at.
        completed : int
            Steps that are done.
        text : str
            Stands behind the bar.
        """
        now = time.monotonic()
        if now - self._changed < self._EVERY and completed < self.total:
            return
        self._changed = now
        full = self._WIDTH * completed // self.total
        bar = "\u2588" * full + "\u2591" * (self._WIDTH - full)
        left = (now - self._started) * (self.total - completed) / max(1, completed)
        self.text = (
            f"{self.label} {bar} {completed}/{self.total}, {left:.0f} s left {text}".rstrip()
        )
        if self._handle is None:
            self._handle = self._display(self, display_id=True)
        else:
            self._handle.update(self)

    def stop(self) -> None:
        """Leave the last line where it is."""


def _quiet_console() -> Any:
    """A console on stderr that falls silent when nobody reads it; rich's own ends the process."""
    from rich.console import Console

    class QuietConsole(Console):
        def on_broken_pipe(self) -> None:
            self.quiet = True

    return QuietConsole(stderr=True)

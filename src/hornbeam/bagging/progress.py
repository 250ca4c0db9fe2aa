"""A progress bar that counts fitted members."""

from __future__ import annotations

import math

from hornbeam.boosting.engine import RoundReport
from hornbeam.boosting.history import ProgressBar


class MemberBar(ProgressBar):
    """A line on the terminal with the number of members that are fitted."""

    def __init__(self, members: int, verbose: int | None) -> None:
        super().__init__(members, verbose)
        self.done = 0

    def __enter__(self) -> MemberBar:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def advance(self) -> None:
        """Count one member more."""
        self.done += 1
        self.show(RoundReport(self.done, math.nan, None), "")

    def _open(self) -> None:
        from rich.progress import TextColumn

        super()._open()
        self.bar.columns = (TextColumn("bagging"), *self.bar.columns[1:])

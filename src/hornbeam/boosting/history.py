"""What happens round by round: history, early stopping, callbacks, a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hornbeam.boosting.engine import RoundReport
from hornbeam.boosting.rows import NO_SCALE, Scale
from hornbeam.dtypes import Array
from hornbeam.progress import ProgressBar


class Watch:
    """Told of every round; says when to stop. Use it in a ``with`` statement."""

    def __init__(
        self,
        rounds: int,
        metric: str,
        patience: int | None,
        tol: float,
        verbose: int | None,
        callbacks: Sequence[Callable[[RoundReport], Any]],
        history: dict[str, Array] | None,
        n_before: int = 0,
        scale: Scale = NO_SCALE,
    ) -> None:
        self.rounds, self.metric, self.patience, self.tol = rounds, metric, patience, tol
        self.callbacks, self.scale = callbacks, scale
        earlier = history or {}
        self.train: list[float] = list(earlier.get("train", ()))[:n_before]
        self.valid: list[float] = list(earlier.get("validation", ()))[:n_before]
        # a model that was stopped early ends with its best round
        self.best = scale.down_losses(self.valid[-1]) if len(self.valid) == n_before > 0 else np.inf
        self.best_number = n_before
        self.bar = ProgressBar("boosting", rounds, verbose)
        self.wants_train_loss = bool(callbacks) or bool(verbose) or patience is not None

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.close()

    def __call__(self, report: RoundReport) -> bool:
        """Note a round; True ends the fit."""
        valid_loss = report.valid_loss  # of scaled targets, where losses can be compared
        report = self._as_known(report)
        if self.wants_train_loss:
            self.train.append(report.train_loss)
        if valid_loss is not None and report.valid_loss is not None:
            self.valid.append(report.valid_loss)
            if self.best == np.inf or valid_loss < self.best - self.tol * abs(self.best):
                self.best, self.best_number = valid_loss, report.number
        self.bar.show(report.number, _losses(report, self.metric))
        stop = False
        for callback in self.callbacks:
            stop = bool(callback(report)) or stop
        return stop or (
            self.patience is not None and report.number - self.best_number >= self.patience
        )

    def _as_known(self, report: RoundReport) -> RoundReport:
        """A report in the user's units."""
        if not self.scale.exponent:
            return report
        valid = report.valid_loss
        return RoundReport(
            report.number,
            self.scale.up_losses(report.train_loss),
            None if valid is None else self.scale.up_losses(valid),
        )

    def best_round(self, n_rounds: int) -> int:
        """How many rounds to keep."""
        return n_rounds if self.patience is None else self.best_number

    def history(self) -> dict[str, Array]:
        """Losses by round."""
        found = {"train": np.array(self.train), "validation": np.array(self.valid)}
        return {name: losses for name, losses in found.items() if len(losses)}


def _losses(report: RoundReport, metric: str) -> str:
    """The losses of a round as text, empty if there are none."""
    text = metric if np.isfinite(report.train_loss) or report.valid_loss else ""
    if np.isfinite(report.train_loss):
        text += f" {report.train_loss:.5g}"
    if report.valid_loss is not None:
        text += f", validation {report.valid_loss:.5g}"
    return text


def history_frame(history: dict[str, Array]) -> Any:
    """The history as a pandas data frame, one row per round."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "history() makes a pandas data frame: pip install pandas, or read history_."
        ) from error
    longest = max((len(losses) for losses in history.values()), default=0)
    padded = {
        name: np.concatenate([np.full(longest - len(losses), np.nan), losses])
        for name, losses in history.items()
    }
    return pd.DataFrame(padded, index=pd.RangeIndex(1, longest + 1, name="round"))


def plot_history(history: dict[str, Array], ax: Any) -> Any:
    """Draw the losses of each round."""
    if not history:
        raise ValueError(
            "The fit measured no losses: pass X_val and y_val, callbacks, early_stopping=True or "
            "verbose=1."
        )
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots()
    for name, losses in history.items():
        ax.plot(np.arange(1, len(losses) + 1), losses, label=name)
    ax.set_xlabel("round")
    ax.set_ylabel("loss")
    ax.legend()
    return ax

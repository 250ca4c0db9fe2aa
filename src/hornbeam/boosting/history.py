"""What happens round by round: history, early stopping, callbacks, a bar or lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hornbeam.boosting.engine import RoundReport
from hornbeam.boosting.rows import NO_SCALE, Scale
from hornbeam.boosting.scoring import Scoring
from hornbeam.dtypes import Array
from hornbeam.progress import ProgressBar

TRAIN, VALIDATION = "train", "validation"  # names of rows


class Watch:
    """Told of every round; says when to stop. Use it in a ``with`` statement.

    Parameters
    ----------
    rounds : int
        How many there are to be.
    metric : str
        What the loss is called.
    patience : int or None
        Rounds without improvement that end the fit.
    tol : float
        The least improvement, as a share.
    verbose : int or None
        As the estimators declare it.
    callbacks : sequence of functions
    history : dict of str to array, or None
        That of the fit that this one goes on from.
    n_before : int
        The rounds of that fit.
    scale : Scale
    scoring : Scoring or None
        What is measured besides the loss; the fit stops by its first entry.
    train_loss : bool
        Whether the loss of the training rows is measured, though nobody asks for it.
    """

    def __init__(
        self,
        rounds: int,
        metric: str,
        patience: int | None,
        tol: float,
        verbose: int | None,
        callbacks: Sequence[Callable[[RoundReport], Any]],
        history: dict[str, Array] | None = None,
        n_before: int = 0,
        scale: Scale = NO_SCALE,
        scoring: Scoring | None = None,
        train_loss: bool = False,
    ) -> None:
        self.rounds, self.metric, self.patience, self.tol = rounds, metric, patience, tol
        self.callbacks, self.scale, self.scoring = callbacks, scale, scoring
        self.decides = None if scoring is None else scoring.decides
        earlier = {name: list(values)[:n_before] for name, values in (history or {}).items()}
        self.curves: dict[str, list[float]] = earlier
        self.n_before = n_before
        # a model that was stopped early ends with its best round
        self.best, self.best_number = np.inf, n_before
        self.every = verbose if verbose is not None and verbose > 1 else 0  # rounds per line
        self.bar = ProgressBar("boosting", rounds, 0 if self.every else verbose)
        asked = bool(callbacks) or bool(verbose) or patience is not None
        self.wants_train_loss = asked or train_loss

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.close()

    def __call__(self, report: RoundReport) -> bool:
        """Note a round; True ends the fit."""
        scores = {} if self.scoring is None else self.scoring.measure()
        known = self._as_known(replace(report, scores=scores))
        for name, value in self._measured(known).items():
            self.curves.setdefault(name, []).append(value)
        self._judge(report, scores)
        text = _in_words(known, self.metric)
        self.bar.show(report.number, text)
        stop = False
        for callback in self.callbacks:
            stop = bool(callback(known)) or stop
        if self.patience is not None and report.number - self.best_number >= self.patience:
            stop = True
        if self.every and (stop or report.number == self.rounds or not report.number % self.every):
            print(f"[{report.number}] {text}", flush=True)
        return stop

    def _judge(self, report: RoundReport, scores: dict[str, dict[str, float]]) -> None:
        """Note if the round is the best one yet."""
        if not report.losses:
            return
        first = next(iter(report.losses))
        curve = self.curves[first if self.decides is None else f"{first} {self.decides}"]
        goes_on = self.best == np.inf and len(curve) == self.n_before + 1 > 1
        if self.decides is None:  # of scaled targets, where losses can be compared
            value = report.losses[first]
            self.best = self.scale.down_losses(curve[-2]) if goes_on else self.best
        else:
            value = -scores[first][self.decides]
            self.best = -curve[-2] if goes_on else self.best
        if self.best == np.inf or value < self.best - self.tol * abs(self.best):
            self.best, self.best_number = value, report.number

    def _as_known(self, report: RoundReport) -> RoundReport:
        """A report in the user's units."""
        if not self.scale.exponent:
            return report
        up = self.scale.up_losses
        losses = {name: up(loss) for name, loss in report.losses.items()}
        return replace(report, train_loss=up(report.train_loss), losses=losses)

    def _measured(self, report: RoundReport) -> dict[str, float]:
        """All figures of a round, by the names that they have in the history."""
        found = {TRAIN: report.train_loss} if self.wants_train_loss else {}
        found |= report.losses
        for rows, scores in report.scores.items():
            found |= {f"{rows} {name}": score for name, score in scores.items()}
        return found

    def best_round(self, n_rounds: int) -> int:
        """How many rounds to keep."""
        return n_rounds if self.patience is None else self.best_number

    def history(self) -> dict[str, Array]:
        """Losses and scores by round."""
        return {name: np.array(curve) for name, curve in self.curves.items() if curve}


def _in_words(report: RoundReport, metric: str) -> str:
    """The figures of a round as text, empty if there are none."""
    losses = [f"{report.train_loss:.5g}"] if np.isfinite(report.train_loss) else []
    losses += [f"{name} {loss:.5g}" for name, loss in report.losses.items()]
    scores = [
        f"{rows} {name} {score:.5g}"
        for rows, scores in report.scores.items()
        for name, score in scores.items()
    ]
    text = ", ".join(losses + scores)
    return f"{metric} {text}" if text else ""


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

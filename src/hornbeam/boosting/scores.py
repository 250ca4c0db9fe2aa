"""Targets, scores and slopes of rows under a loss, and who works on them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hornbeam.boosting.rows import heaviest
from hornbeam.data.facets import Slopes
from hornbeam.dtypes import STAT, Array
from hornbeam.kernels.boosting import rounds
from hornbeam.kernels.boosting import state as s
from hornbeam.kernels.slopes import NEW_PEAK, LossRows, SlopePeak
from hornbeam.losses import Loss
from hornbeam.runtime.kernel import compiled
from hornbeam.runtime.team import run_team, thread_count
from hornbeam.runtime.views import make_slots, place_of, read_notes, set_fields

# Threads meet several times per node: below so many seconds per tree and thread, fewer
# threads are faster, also if more were asked for (the model is the same).
LEAST_SECONDS = 1.5e-3
_UNLIMITED = 2**31 - 1
_GROUPS_AT_A_TIME = 16
_PEAK_AT = place_of(LossRows, "peak")
_SECONDS_PER_SLOPE = 20e-9  # more than it takes: here threads meet only once


def paying_threads(n_jobs: int | None, seconds: float) -> int:
    """At most ``n_jobs`` threads, for trees that take one thread so many seconds."""
    paying = int(seconds / LEAST_SECONDS) if LEAST_SECONDS else _UNLIMITED
    return max(1, min(thread_count(n_jobs, 3600.0), paying))


class ScoreDesk(NamedTuple):
    """What a thread needs to work on scores: slots, and the arrays behind them."""

    slots: Array
    arrays: LossRows

    @property
    def peak(self) -> SlopePeak:
        """The largest slopes that this thread has seen."""
        peak: SlopePeak = read_notes(self.slots, _PEAK_AT, SlopePeak)
        return peak

    def reset_peak(self) -> None:
        """Forget the largest slopes."""
        set_fields(self.slots, 0, LossRows, peak=NEW_PEAK)


class RowScores:
    """Targets, scores and slopes of some rows under a loss."""

    def __init__(
        self,
        loss: Loss,
        target: Array,
        weight: Array,
        start: Array,
        order: int,
        groups: Array | None = None,
    ) -> None:
        self.loss, self.n_rows = loss, len(target)
        n_scores = loss.n_scores
        self.target = np.ascontiguousarray(target, STAT)
        even = bool(np.all(weight == weight[0])) if self.n_rows else True
        self.weight = np.ascontiguousarray(weight[:1] if even else weight, STAT)
        self.heaviest = 1.0 if even else heaviest(weight)
        self.score = np.empty(n_scores * self.n_rows, STAT)
        self.score.reshape(n_scores, -1)[:] = np.asarray(start).reshape(n_scores, -1)
        # of one score: those of several are taken in turn, and each grower has room for one
        self.slope = np.empty(2 * self.n_rows if n_scores == 1 else 0, np.float32)
        self.common = np.empty(0 if loss.prepare is None else self.n_rows, STAT)
        self.groups = np.zeros(1, np.int64) if groups is None else groups
        self.order = order
        n_units, step = self.units()
        self.sums = np.zeros(-(-n_units // step), STAT)
        self.peak = NEW_PEAK
        self._desks: list[ScoreDesk] = []
        self._measure: Any = None  # the step, once losses are summed up
        self.equal_hessians = even and (loss.constant_hessian or order == 1)

    def units(self) -> tuple[int, int]:
        """How many rows or queries there are, and how many a thread takes at a time."""
        if len(self.groups) > 1:
            return len(self.groups) - 1, _GROUPS_AT_A_TIME
        return self.n_rows, s.CHUNK

    def slots(self, size: int) -> list[Array]:
        """What kernels need, for each of some threads."""
        return [self.desk(rank).slots for rank in range(size)]

    def desk(self, rank: int) -> ScoreDesk:
        """The desk of a thread."""
        while len(self._desks) <= rank:
            self._desks.append(self._make_desk(self.slope))
        return self._desks[rank]

    def new_desk(self) -> ScoreDesk:
        """A desk with room for the slopes of one of several scores."""
        return self._make_desk(np.empty(2 * self.n_rows, np.float32))

    def _make_desk(self, slope: Array) -> ScoreDesk:
        longest = int(np.diff(self.groups).max(initial=1)) if len(self.groups) > 1 else 1
        scratch = self.common if len(self.common) else np.zeros(4 * longest)
        arrays = LossRows(
            target=self.target,
            weight=self.weight,
            score=self.score,
            slope=slope,
            settings=self.loss.settings,
            groups=self.groups,
            scratch=scratch,
            sums=self.sums,
            n_rows=self.n_rows,
            n_scores=self.loss.n_scores,
            weight_step=0 if len(self.weight) == 1 else 1,
            order=self.order,
            peak=NEW_PEAK,
            fill=self.loss.fill,
            prepare=self.loss.prepare,
            measure=self._measure,
        )
        return ScoreDesk(make_slots(arrays), arrays)

    def reset_peaks(self) -> None:
        """Forget the largest slopes."""
        for desk in self._desks:
            desk.reset_peak()

    def gather_peaks(self) -> None:
        """Take the largest slopes of all threads together."""
        peaks = [desk.peak for desk in self._desks]
        self.peak = SlopePeak(
            gradient=max(peak.gradient for peak in peaks),
            hessian=max(peak.hessian for peak in peaks),
            n_bad=sum(peak.n_bad for peak in peaks),
            least=min(peak.least for peak in peaks),
        )

    def take_slopes(self, n_jobs: int | None) -> None:
        """Take the slopes at the scores as they are; of several scores, what they share."""
        if self.loss.n_scores == 1:
            self.reset_peaks()
            self._work_through(rounds.take_slopes, n_jobs)
            self.gather_peaks()
        elif self.loss.prepare is not None:
            self._work_through(rounds.prepare_slopes, n_jobs)

    def take_slopes_of(self, which: int, desk: ScoreDesk, seconds: float) -> None:
        """Take the slopes of one of several scores; what they share was found before.

        ``seconds`` is what a tree of one score takes.
        """
        set_fields(desk.slots, 0, LossRows, which=which, peak=NEW_PEAK)
        words = np.zeros(s.N_WORDS, np.int64)
        compiled(rounds.take_slopes, rounds.SLOPES_SIGNATURE)
        n_rows = self.n_rows
        run_team(
            lambda rank: rounds.take_slopes(desk.slots, words, n_rows, s.CHUNK),
            1,
            words,
            seconds,
        )

    def first_slopes(self, n_jobs: int | None) -> Slopes:
        """The slopes at the scores as they are, of all scores at once."""
        self.take_slopes(n_jobs)
        taken = [self.slope]
        if self.loss.n_scores > 1:
            desk, taken = self.new_desk(), []
            for which in range(self.loss.n_scores):
                self.take_slopes_of(which, desk, 0.0)
                taken.append(desk.arrays.slope.copy())
        slopes = np.array(taken, np.float64).reshape(len(taken), -1, 2)
        return Slopes(slopes[:, :, 0].T, slopes[:, :, 1].T)

    def mean_loss(self, n_jobs: int | None) -> float:
        """Weighted mean of the loss."""
        if self._measure is None:
            self._measure = self.loss.measure
            for desk in self._desks:
                set_fields(desk.slots, 0, LossRows, measure=self._measure)
        self._work_through(rounds.take_losses, n_jobs)
        if len(self.groups) > 1:
            weight = np.broadcast_to(self.weight, self.n_rows)
            total = (np.add.reduceat(weight, self.groups[:-1]) / np.diff(self.groups)).sum()
        else:
            total = self.weight.sum() if len(self.weight) > 1 else self.weight[0] * self.n_rows
        return float(self.sums.sum() / total)

    def _work_through(self, kernel: Any, n_jobs: int | None) -> None:
        """Let a kernel of the loss see all rows or queries, on as many threads as pay."""
        n_units, step = self.units()
        seconds = self.n_rows * self.loss.n_scores * _SECONDS_PER_SLOPE
        slots = self.slots(paying_threads(n_jobs, seconds))
        words = np.zeros(s.N_WORDS, np.int64)
        compiled(kernel, rounds.SLOPES_SIGNATURE)
        run_team(lambda rank: kernel(slots[rank], words, n_units, step), len(slots), words, 0.0)

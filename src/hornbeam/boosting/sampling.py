"""Row sampling: which rows each tree is grown on, and what they weigh.

A sampling gives each row a probability by the slopes of its loss; the rows that are drawn weigh
one over it, so that all sums of a node are right on average. A sampling says what the key of a
row is (kernels/boosting/sampling.py) and, once the rows of each cell of keys are counted, with
which share those of a cell are drawn. Growing knows the drawn rows only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from hornbeam.boosting.parts import Parts
from hornbeam.boosting.units import unit
from hornbeam.dtypes import STAT, Array
from hornbeam.kernels.boosting import sampling as k
from hornbeam.kernels.boosting import state as s
from hornbeam.kernels.slopes import SlopePeak
from hornbeam.runtime.companion import Kernel
from hornbeam.runtime.team import run_team
from hornbeam.runtime.views import ViewArray, make_slots, set_fields

SAMPLINGS = ("uniform", "goss", "mvs")
_HASHES = 1 << k.HASH_BITS
_SECONDS_PER_ROW = 10e-9


class RowSampling(Protocol):
    """How the rows of a tree are drawn."""

    @property
    def key(self) -> int:
        """What the key of a row is."""

    @property
    def draws(self) -> bool:
        """Whether some rows may be left out."""

    def shares(self, cells: Array, counts: Array) -> Array:
        """The shares of some ascending cells that are drawn; ``counts`` are their rows."""


@dataclass(frozen=True)
class Uniform:
    """Every row with the same probability; all drawn rows weigh the same."""

    share: float = 1.0
    key: int = k.NO_KEY

    @property
    def draws(self) -> bool:  # noqa: D102
        return self.share < 1.0

    def shares(self, cells: Array, counts: Array) -> Array:
        """The same for all."""
        return np.full(len(cells), self.share)


ALL_ROWS = Uniform()


@dataclass(frozen=True)
class Goss:
    """Gradient-based one-side sampling (Ke et al. 2017, Algorithm 2).

    The share ``top`` of the rows with the largest |g h|, and the share ``other`` of all rows
    from the rest, which weigh (1 - top) / other. Rows of the cell through which the border goes
    are all drawn with the probability that a random order of them would give each.
    """

    top: float = 0.2
    other: float = 0.1
    key: int = k.PRODUCT

    @property
    def draws(self) -> bool:  # noqa: D102
        return self.top + self.other < 1.0

    def shares(self, cells: Array, counts: Array) -> Array:
        """1 for the top, other / (1 - top) for the rest, something between at the border."""
        through = np.cumsum(counts[::-1])[::-1]  # rows of a cell and of those above it
        room = self.top * counts.sum() - (through - counts)
        top: Array = np.clip(room / counts, 0.0, 1.0)
        return top + (1.0 - top) * (self.other / (1.0 - self.top))


@dataclass(frozen=True)
class Mvs:
    """Minimal variance sampling (Ibragimov and Gusev 2019).

    A row is drawn with probability min(1, v / mu), where v is the root of g^2 + lambda h^2 and
    mu is such that ``share`` of the rows are drawn on average. Lambda is the square of the sum of
    all |g| over the sum of all h, the longest step that the rows together can ask for: rows
    count alike in every unit of y.
    """

    share: float = 1.0
    key: int = k.NORM

    @property
    def draws(self) -> bool:  # noqa: D102
        return self.share < 1.0

    def shares(self, cells: Array, counts: Array) -> Array:
        """Each cell by the middle of its keys."""
        count, value = counts[::-1], middle_of(cells[::-1])
        n_wanted = self.share * count.sum()
        above = np.cumsum(count) - count  # rows that are drawn for sure if this cell is the first
        below = np.cumsum((count * value)[::-1])[::-1]  # that is not
        with np.errstate(divide="ignore", invalid="ignore"):
            border = below / (n_wanted - above)
            first = int(np.argmax((above < n_wanted) & (value <= border)))
            shares: Array = np.minimum(1.0, value / border[first])[::-1]
        return shares


def middle_of(cells: Array) -> Array:
    """The keys in the middle of some cells; infinite keys count as the largest finite ones."""
    shift = 31 - (k.N_CELLS - 1).bit_length()
    last = int(np.float32(np.inf).view(np.int32)) >> shift
    bits = (np.minimum(cells, last - 1).astype(np.int64) << shift) + (1 << (shift - 1))
    return bits.astype(np.int32).view(np.float32).astype(STAT)


def choose_sampling(name: str, share: float, top: float, other: float) -> RowSampling:
    """What the parameters ``sampling``, ``subsample``, ``top_rate`` and ``other_rate`` ask for."""
    if name == "uniform":
        return Uniform(share)
    if name == "mvs":
        if share == 1.0:
            raise ValueError(
                "sampling='mvs' draws the share `subsample` of the rows, and subsample=1.0 is all "
                "of them: set it to 0.5, say, or leave sampling at 'uniform'."
            )
        return Mvs(share)
    if share < 1.0:
        raise ValueError(
            f"sampling='goss' draws top_rate and other_rate of the rows, but subsample={share} "
            "asks for a share of them, too: leave subsample at 1.0, or sampling at 'uniform'."
        )
    if top + other > 1.0:
        raise ValueError(
            f"top_rate={top} and other_rate={other} are shares of all rows, so they must not come "
            f"to more than 1, but they come to {top + other:g}: lower one of them."
        )
    return Goss(top, other)


class RowSampler:
    """Draws the rows of one tree after the other, for a grower."""

    def __init__(
        self,
        sampling: RowSampling,
        slots: Array,
        words: Array,
        slopes: Sequence[Array],
        size: int,
        parts: Parts,
        keeps_weights: bool,
    ) -> None:
        n_rows = len(slopes[0]) // 2
        by_key = sampling.key != k.NO_KEY
        n_cells = k.N_CELLS if by_key else 1
        self.sampling, self.reweighs, self.parts = sampling, by_key, parts
        self._slots, self._words, self._size = slots, words, size
        self._seconds = n_rows * _SECONDS_PER_ROW
        self._sample = k.RowSample(
            slopes=ViewArray([k.ScoreSlopes(slope) for slope in slopes]),
            n_scores=len(slopes),
            key=sampling.key,
            reweighs=by_key,
            limit=np.empty(n_cells, np.int64),
            weight=np.empty(n_cells),
            counts=np.zeros(n_cells * size, np.int64),
            sums=np.zeros(s.LINE * size, np.int64),
            peak=np.zeros(s.LINE * size),
            keeps_weights=keeps_weights and by_key,
            row_weight=np.ones(n_rows if keeps_weights and by_key else 0),
        )
        self._sample_slots = make_slots(self._sample)
        if not by_key:
            self._set_shares(np.zeros(1, np.int64), np.ones(1, np.int64))

    def draw(self, peaks: Sequence[SlopePeak]) -> None:
        """Draw rows by their slopes, of which ``peaks`` are the largest, and weigh these."""
        if self.sampling.key == k.NORM:
            self._choose_penalty(peaks)
        if self.reweighs:
            counts = self._sample.counts.reshape(self._size, -1)
            counts[:] = 0
            self._run(k.count_cells)
            total = counts.sum(axis=0)
            self.parts.add_up([total])
            cells = np.flatnonzero(total)
            if len(cells):
                self._set_shares(cells, total[cells])
        size = self._size
        self._run(lambda slots, own, rank: k.draw_rows(slots, own, rank, size))

    def weighed(self, peak: SlopePeak) -> SlopePeak:
        """The largest slopes of the drawn rows, or of all where these are not weighed."""
        if not self.reweighs:
            return peak
        gradient, hessian = self._sample.peak.reshape(self._size, -1).max(axis=0)[:2].tolist()
        return peak._replace(gradient=gradient, hessian=hessian)

    def row_weights(self, weight: Array) -> Array:
        """What the drawn rows weigh, if all would have these weights otherwise."""
        return weight * self._sample.row_weight if self._sample.keeps_weights else weight

    def _set_shares(self, cells: Array, counts: Array) -> None:
        """Note which shares of the cells are drawn, and that rows weigh one over them."""
        limit = np.maximum(1, np.round(self.sampling.shares(cells, counts) * _HASHES))
        self._sample.limit[cells] = limit
        self._sample.weight[cells] = _HASHES / limit

    def _choose_penalty(self, peaks: Sequence[SlopePeak]) -> None:
        """Choose lambda from the sums of all slopes, as whole numbers to be exact."""
        tops = [max(peak.gradient for peak in peaks), max(peak.hessian for peak in peaks)]
        gradient, hessian = (unit(top, k.WHOLE_BITS) for top in self.parts.largest(tops))
        scales = {"gradient_scale": 1.0 / gradient, "hessian_scale": 1.0 / hessian}
        set_fields(self._sample_slots, 0, k.RowSample, **scales)
        self._run(k.sum_slopes)
        sums = self._sample.sums.reshape(self._size, -1)[:, :2].sum(axis=0)
        self.parts.add_up([sums])
        step = float(sums[0]) * gradient / max(float(sums[1]) * hessian, np.finfo(STAT).tiny)
        set_fields(self._sample_slots, 0, k.RowSample, penalty=step * step)

    def _run(self, kernel: Any) -> None:
        self._words[:] = 0
        slots, own = self._slots, self._sample_slots
        run_team(lambda rank: kernel(slots, own, rank), self._size, self._words, self._seconds)


def sampling_kernels(sampling: RowSampling) -> list[Kernel]:
    """The kernels that a sampling needs, with their signatures."""
    kernels: list[Kernel] = []
    if sampling.draws:
        kernels.append((k.draw_rows, k.DRAW_SIGNATURE))
    if sampling.draws and sampling.key != k.NO_KEY:
        kernels.append((k.count_cells, k.COUNT_SIGNATURE))
    if sampling.draws and sampling.key == k.NORM:
        kernels.append((k.sum_slopes, k.COUNT_SIGNATURE))
    return kernels

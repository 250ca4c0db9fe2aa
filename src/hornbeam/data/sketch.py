"""The weighted quantile sketch: where weighted values lie, to within a proved error."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hornbeam.dtypes import Array
from hornbeam.kernels.quantiles import (
    BELOW,
    UP_TO,
    VALUE,
    merge_summaries,
    prune_summary,
    summarise_sorted,
)

_MOST_LEVELS = 40  # of blocks: 2**40 of the smallest ones hold more rows than anybody has
_EMPTY = np.empty((4, 0))


class QuantileSketch:
    """Quantiles of weighted values that arrive in any batches, with a proved error.

    Holds some of the values with bounds of the weight below and up to each (the weighted
    quantile summary of Chen and Guestrin 2016, appendix). Every rank that it tells is off by
    at most ``eps`` of the total weight, whatever the values and weights are, in whatever order
    they come, and however sketches are merged.

    Parameters
    ----------
    eps : float
        The largest error of a rank, as a share of the total weight: above 0 and below 1.

    Attributes
    ----------
    n_rows : int
        Rows that were added, those of weight 0 included.
    weight : float
        Their total weight.
    error : float
        A bound of the error as it is now, at most ``eps`` unless `prune` was told to keep less.
        0 as long as all values are kept.

    Notes
    -----
    Rows are numbered in the order in which they are added, or as ``first_row`` says, and are kept
    in blocks of B >= 40 / eps rows, which begin at multiples of B. A whole block is summarised
    exactly. Two neighbouring blocks whose numbers are 2k and 2k + 1 become block k of the next
    level: their summaries are merged, which adds no error (theorem 1 of the appendix: the errors
    of both, each a share of its own weight, add up to the same share of the sum), and pruned to
    B + 1 values, which adds 1 / B of the weight (theorem 2). So a block of level l has an error of
    at most l / B, which is at most eps up to level 40. Rounding of the sums comes on top, about
    1e-16 of the weight per addition.

    What is in a sketch depends on the numbers of its rows only. Pages of a table that are added
    with their ``first_row``, in any order, to one sketch or to several that are merged, make the
    same sketch, bit by bit. Sketches that number the same rows, as two that began at row 0, hold
    different rows as far as `merge` can tell: the rows of the other one come behind. The error
    is the same then, but what is kept depends on the order of merging.

    Examples
    --------
    >>> import numpy as np
    >>> import hornbeam as hb
    >>> sketch = hb.QuantileSketch(eps=0.01).add(np.arange(1000))
    >>> sketch.quantile(0.5), sketch.rank(249.0)
    (500.0, 0.25)
    >>> other = hb.QuantileSketch(eps=0.01).add([2000.0], weights=[1000.0])
    >>> sketch.merge(other).quantile([0.25, 0.75]).tolist()
    [500.0, 2000.0]
    """

    def __init__(self, eps: float = 0.01) -> None:
        if not isinstance(eps, int | float | np.floating) or not 0.0 < eps < 1.0:
            raise ValueError(
                f"eps is the largest error of a rank as a share of the total weight, so it must be "
                f"above 0 and below 1, but is {eps!r:.60}: 0.01 is usual."
            )
        self.eps = float(eps)
        self._block = 1 << math.ceil(math.log2(_MOST_LEVELS / self.eps))
        self._next_row = 0
        self._runs: list[tuple[int, int]] = []  # rows that are numbered, first and behind the last
        self._raw: dict[int, list[tuple[int, Array, Array]]] = {}  # of blocks that are not whole
        self._blocks: dict[tuple[int, int], Array] = {}  # summaries by level and number
        self._loose: dict[int, Array] = {}  # summaries of rows whose numbers are taken, by level
        self._pruned: Array = _EMPTY
        self._n_loose = 0
        self._whole: Array | None = None

    def __repr__(self) -> str:
        return f"QuantileSketch(eps={self.eps:g}) of {self.n_rows} rows"

    # --- filling --------------------------------------------------------------------

    def add(self, values: Any, weights: Any = None, first_row: int | None = None) -> QuantileSketch:
        """Add values.

        Parameters
        ----------
        values : array-like of shape (n,)
            Numbers, without NaN.
        weights : array-like of shape (n,), optional
            Finite numbers that are not negative; 1 if there are none.
        first_row : int, optional
            The number of the first of them among all rows. None: they come behind those that
            were added last.

        Returns
        -------
        self
        """
        known = _read(values, "values")
        if np.isnan(known).any():
            raise ValueError(
                f"values[{int(np.isnan(known).argmax())}] is NaN, which has no rank: leave missing "
                "values out."
            )
        given = np.ones(len(known)) if weights is None else _read(weights, "weights")
        if len(given) != len(known):
            raise ValueError(f"There are {len(known)} values, but {len(given)} weights.")
        bad = ~(np.isfinite(given) & (given >= 0.0))
        if bad.any():
            raise ValueError(
                f"weights[{int(bad.argmax())}] is {given[bad][0]:g}: weights must be finite and "
                "not negative."
            )
        first = self._next_row if first_row is None else _read_row(first_row)
        self._number(first, first + len(known))
        self._take(first, known, given)
        self._whole = None
        return self

    def merge(self, other: QuantileSketch) -> QuantileSketch:
        """Add all that another sketch holds, which stays as it is.

        Parameters
        ----------
        other : QuantileSketch
            With the same ``eps``.

        Returns
        -------
        self
        """
        if not isinstance(other, QuantileSketch):
            raise TypeError(f"merge takes another QuantileSketch, but got {other!r:.60}.")
        if other.eps != self.eps:
            raise ValueError(
                f"Sketches of eps={self.eps:g} and eps={other.eps:g} do not merge: their blocks "
                "differ. Make both with the smaller one."
            )
        if other is self:
            raise ValueError("A sketch does not merge with itself: its rows would count twice.")
        self._whole = None
        if any(self._overlaps(*run) for run in other._runs):
            self._take_loose(other)
        else:
            for run in other._runs:
                self._number(*run)
            for key in sorted(other._blocks):
                self._put(*key, other._blocks[key])
            for block in sorted(other._raw):
                for first, values, weights in other._raw[block]:
                    self._take(first, values, weights)
        for level in sorted(other._loose):
            self._put_loose(level, other._loose[level])
        self._n_loose += other._n_loose
        self._pruned = _merged(self._pruned, other._pruned)
        return self

    def prune(self, n_values: int) -> QuantileSketch:
        """Keep at most so many of the values; ``error`` grows by up to 1 / (n_values - 1).

        Parameters
        ----------
        n_values : int
            At least 2.

        Returns
        -------
        self
        """
        if not isinstance(n_values, int | np.integer) or n_values < 2:
            raise ValueError(f"prune keeps 2 values at least, but n_values is {n_values!r:.60}.")
        kept, n_rows = _pruned(self._summary(), int(n_values) - 1), self.n_rows
        self._raw, self._blocks, self._loose, self._whole = {}, {}, {}, None
        self._pruned, self._n_loose = kept, n_rows - self._n_numbered
        return self

    # --- asking ---------------------------------------------------------------------

    @property
    def n_rows(self) -> int:
        """Rows that were added, those of weight 0 included."""
        return self._n_numbered + self._n_loose

    @property
    def weight(self) -> float:
        """The total weight."""
        summary = self._summary()
        return float(summary[UP_TO, -1]) if summary.shape[1] else 0.0

    @property
    def error(self) -> float:
        """A bound of the error of every rank, as a share of the total weight."""
        below, weight, up_to = self._known()[BELOW:]
        on_values = (up_to - below - weight).max()
        between = (up_to[1:] - weight[1:] - below[:-1] - weight[:-1]).max(initial=0.0)
        return float(max(on_values, between, 0.0) / up_to[-1])

    def quantile(self, q: Any) -> Any:
        """Return the value that has a share of the weight below it.

        Parameters
        ----------
        q : float or array-like of floats from 0 to 1

        Returns
        -------
        float or array
            A value x that was added. The weight below x is at most q + eps of the total, and
            that up to x, with it, at least q - eps.
        """
        shares = np.asarray(q, np.float64)
        if not ((shares >= 0.0) & (shares <= 1.0)).all():
            raise ValueError(f"q is a share of the weight, from 0 to 1, but is {q!r:.60}.")
        value, below, weight, up_to = self._known()
        rank = shares * up_to[-1]
        at = np.clip(np.searchsorted(below + up_to, 2.0 * rank, "right") - 1, 0, None)
        after = np.minimum(at + 1, len(value) - 1)
        middle = below[at] + weight[at] + up_to[after] - weight[after]
        far = (2.0 * rank >= middle) & (2.0 * rank >= below[at] + up_to[at])
        chosen = np.where(shares <= 0.0, 0, np.where(shares >= 1.0, len(value) - 1, at))
        chosen = np.where((shares > 0.0) & far, after, chosen)
        return float(value[chosen]) if shares.ndim == 0 else value[chosen]

    def rank(self, x: Any) -> Any:
        """Return the share of the weight that lies up to a value, with it.

        Parameters
        ----------
        x : float or array-like of floats

        Returns
        -------
        float or array
            Off by at most half of ``error``.
        """
        least, most = self._bounds(np.asarray(x, np.float64))
        share = np.clip((least + most) / 2.0 / self._known()[UP_TO, -1], 0.0, 1.0)
        return float(share) if np.ndim(share) == 0 else share

    def candidates(self, eps: float | None = None) -> Array:
        """Return values to try as cuts: between two neighbours lies little weight.

        Parameters
        ----------
        eps : float, optional
            At most this share of the weight lies strictly between two of them, but for the
            error of the sketch; None: the sketch's own. There are about 1 / eps.

        Returns
        -------
        array
            Ascending, the smallest and the largest value among them.
        """
        eps = self.eps if eps is None else QuantileSketch(eps).eps
        return _pruned(self._known(), math.ceil(1.0 / eps))[VALUE].copy()

    # --- inside ---------------------------------------------------------------------

    @property
    def _n_numbered(self) -> int:
        return sum(last - first for first, last in self._runs)

    def _overlaps(self, first: int, last: int) -> bool:
        return any(first < stop and start < last for start, stop in self._runs)

    def _number(self, first: int, last: int) -> None:
        """Note that these rows are in the sketch."""
        if first == last:
            return
        if self._overlaps(first, last):
            raise ValueError(
                f"Some of the rows {first} to {last - 1} are in the sketch already: first_row is "
                "the number of a row among all rows."
            )
        if last > self._block << _MOST_LEVELS:
            raise ValueError(
                f"first_row={first} is beyond what a sketch of eps={self.eps:g} holds."
            )
        runs = sorted([*self._runs, (first, last)])
        self._runs = runs[:1]
        for start, stop in runs[1:]:
            if start == self._runs[-1][1]:
                self._runs[-1] = (self._runs[-1][0], stop)
            else:
                self._runs.append((start, stop))
        self._next_row = self._runs[-1][1]

    def _take(self, first: int, values: Array, weights: Array) -> None:
        """Hand numbered rows out to their blocks, and summarise those that are whole."""
        size, last = self._block, first + len(values)
        for block in range(first // size, -(-last // size)):
            start, stop = max(first, block * size), min(last, (block + 1) * size)
            rows = slice(start - first, stop - first)
            parts = self._raw.pop(block, [])
            parts = [*parts, (start, values[rows].copy(), weights[rows].copy())]
            if sum(len(part[1]) for part in parts) < size:
                self._raw[block] = parts
            else:
                self._put(0, block, _exact(parts))

    def _put(self, level: int, number: int, summary: Array) -> None:
        """Put a block in its place; with its neighbour it becomes one of the next level."""
        while (level, number ^ 1) in self._blocks:
            other = self._blocks.pop((level, number ^ 1))
            pair = (other, summary) if number & 1 else (summary, other)
            summary = _pruned(_merged(*pair), self._block)
            level, number = level + 1, number >> 1
        self._blocks[level, number] = summary

    def _put_loose(self, level: int, summary: Array) -> None:
        """The same for blocks without numbers: any two of a level are neighbours."""
        while level in self._loose:
            summary = _pruned(_merged(self._loose.pop(level), summary), self._block)
            level += 1
        self._loose[level] = summary

    def _take_loose(self, other: QuantileSketch) -> None:
        """Take blocks whose rows have the numbers of others; rows by themselves get new ones."""
        n_raw = 0
        for block in sorted(other._raw):
            for _, values, weights in sorted(other._raw[block], key=lambda part: part[0]):
                self.add(values, weights)
                n_raw += len(values)
        for level, number in sorted(other._blocks):
            self._put_loose(level, other._blocks[level, number])
        self._n_loose += other._n_numbered - n_raw

    def _summary(self) -> Array:
        """The summary of all rows, merged in the order of their blocks."""
        if self._whole is None:
            whole = self._pruned
            for level in sorted(self._loose):
                whole = _merged(whole, self._loose[level])
            for key in sorted(self._blocks):
                whole = _merged(whole, self._blocks[key])
            parts = [part for block in sorted(self._raw) for part in self._raw[block]]
            self._whole = _merged(whole, _exact(parts)) if parts else whole
        return self._whole

    def _known(self) -> Array:
        """The summary, if there is something in it."""
        summary = self._summary()
        if not summary.shape[1]:
            raise ValueError(
                f"The sketch holds {self.n_rows} rows and no weight, so there are no quantiles: "
                "add values of positive weight first."
            )
        return summary

    def _bounds(self, x: Array) -> tuple[Array, Array]:
        """The least and the most weight that may lie up to some values."""
        value, below, weight, up_to = self._known()
        at = np.searchsorted(value, x, "right") - 1
        is_kept = (at >= 0) & (value[at] == x)
        after = np.minimum(at + 1, len(value) - 1)
        least = np.where(at < 0, 0.0, below[at] + weight[at])
        between = np.where(at + 1 < len(value), up_to[after] - weight[after], up_to[-1])
        return least, np.where(is_kept, up_to[at], between)


def _read(values: Any, name: str) -> Array:
    """Numbers as a line of float64."""
    try:
        numbers = np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}.") from error
    if numbers.ndim != 1:
        raise ValueError(f"{name} has shape {numbers.shape}; it must have one dimension.")
    return np.ascontiguousarray(numbers) + 0.0  # no negative zeros


def _read_row(first_row: Any) -> int:
    if not isinstance(first_row, int | np.integer) or first_row < 0:
        raise ValueError(f"first_row is the number of a row, from 0 on, but is {first_row!r:.60}.")
    return int(first_row)


def _exact(parts: list[tuple[int, Array, Array]]) -> Array:
    """The summary of rows, in the order of their numbers among equal values."""
    parts = sorted(parts, key=lambda part: part[0])
    values = np.concatenate([part[1] for part in parts])
    weights = np.concatenate([part[2] for part in parts])
    order = np.argsort(values, kind="stable")
    out = np.empty((4, len(values)))
    return out[:, : summarise_sorted(values[order], weights[order], out)].copy()


def _merged(one: Array, other: Array) -> Array:
    """Two summaries in one."""
    if not one.shape[1] or not other.shape[1]:
        return one if one.shape[1] else other
    out = np.empty((4, one.shape[1] + other.shape[1]))
    return out[:, : merge_summaries(one, other, out)].copy()


def _pruned(summary: Array, n_steps: int) -> Array:
    """At most ``n_steps + 1`` of the values."""
    if summary.shape[1] <= n_steps + 1:
        return summary
    out = np.empty((4, n_steps + 1))
    return out[:, : prune_summary(summary, n_steps, out)].copy()

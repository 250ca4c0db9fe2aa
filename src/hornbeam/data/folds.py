"""All splits of rows: hold-outs, halves, folds; and which rows belong together.

`Kin` is what a user says of the rows: ``groups`` (rows of one patient, one query, one machine) and
``time``. `Splits` makes every split from it. Two things hold for all of them: rows of a group are
never on both sides, and what learns has seen nothing that is as late as what is held. Rows that
would break this are on neither side.

Draws are keyed by (seed, what they are for), so they depend on nothing that was drawn before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from hornbeam.data.columns import is_missing
from hornbeam.dtypes import Array


class Split(NamedTuple):
    """Masks of the rows to learn from, and of those that are held out."""

    learnt: Array
    held: Array


@dataclass(frozen=True, eq=False)
class Kin:
    """Which rows belong together, and which come first.

    Attributes
    ----------
    groups : int64 array or None
        Number of each row's group.
    time : int64 array or None
        Place of each row's time among the distinct times: ties have the same place.
    """

    groups: Array | None = None
    time: Array | None = None

    @classmethod
    def read(cls, groups: Any, time: Any, n_rows: int) -> Kin:
        """What the user passes to ``fit``.

        Parameters
        ----------
        groups, time : array-like of shape (n_rows,) or None
            Anything that can be compared: numbers, strings, dates.
        n_rows : int
        """
        if groups is None and time is None:
            return NO_KIN
        return cls(_numbered("groups", groups, n_rows), _numbered("time", time, n_rows))

    def __bool__(self) -> bool:
        return self.groups is not None or self.time is not None

    def chosen(self, rows: Array) -> Kin:
        """The same of some of the rows: a mask, or their numbers."""
        if not self:
            return self
        return Kin(*(None if part is None else part[rows] for part in (self.groups, self.time)))

    def joined(self, groups: Array) -> Kin:
        """Kin of rows that also belong together by other groups, and are as late as the last."""
        _, groups = np.unique(groups, return_inverse=True)
        if self.groups is not None:
            groups = _connected(groups, self.groups)
        if self.time is None:
            return Kin(groups)
        last = np.zeros(int(groups.max(initial=0)) + 1, np.int64)
        np.maximum.at(last, groups, self.time)
        return Kin(groups, last[groups])

    def learnt(self, held: Array) -> Array:
        """A mask of all rows that may be learnt from while some are held out."""
        learnt: Array = ~held
        if self.time is not None and held.any():
            learnt &= self.time < self.time[held].min()
        if self.groups is not None:
            there = np.zeros(int(self.groups.max(initial=-1)) + 1, bool)
            there[self.groups[held]] = True
            learnt &= ~there[self.groups]
        return learnt

    def check(self, split: Split, number: int) -> None:
        """Raise if a split that somebody else has made does not respect it."""
        rows = np.flatnonzero(split.learnt & ~self.learnt(split.held) & ~split.held)
        if not self or not len(rows):
            return
        row = int(rows[0])
        alone = Kin(self.groups).learnt(split.held)
        if not alone[row]:
            raise ValueError(
                f"Fold {number} of cv learns from row {row}, whose group is also among the rows "
                "that it holds out. Choose a splitter that respects groups, or cv=5, which does."
            )
        raise ValueError(
            f"Fold {number} of cv learns from row {row}, which is not earlier than all rows that "
            "it holds out. Choose a splitter that respects time, or cv=5, which does."
        )


NO_KIN = Kin()


def _numbered(name: str, values: Any, n_rows: int) -> Array | None:
    """Numbers of the distinct values, ascending."""
    if values is None:
        return None
    if hasattr(values, "to_numpy") and not type(values).__module__.startswith("pyarrow"):
        values = values.to_numpy()
    array = np.asarray(values)
    if array.shape != (n_rows,):
        raise ValueError(f"{name} has shape {array.shape}, but X has {n_rows} rows: one for each.")
    missing = _missing(array)
    if missing.any():
        row = int(np.argmax(missing))
        raise ValueError(f"{name}[{row}] is {array[row]}; every row must have one.")
    try:
        return np.unique(array, return_inverse=True)[1].astype(np.int64)
    except TypeError as error:
        raise TypeError(f"{name} holds values that cannot be compared: {error}.") from error


def _missing(array: Array) -> Array:
    if array.dtype.kind == "f":
        return np.isnan(array)
    if array.dtype.kind in "mM":
        return np.isnat(array)
    if array.dtype.kind == "O":
        return np.array([is_missing(value) for value in array], bool)
    return np.zeros(len(array), bool)


def _connected(some: Array, others: Array) -> Array:
    """Groups that share no row in either sense."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n_some, n_others = int(some.max(initial=-1)) + 1, int(others.max(initial=-1)) + 1
    size, ones = n_some + n_others, np.ones(len(some))
    edges = coo_array((ones, (some, others + n_some)), shape=(size, size))
    labels = connected_components(edges, directed=False)[1]
    return np.asarray(labels[some], np.int64)


class Splits:
    """Makes all splits of some rows.

    Parameters
    ----------
    n_rows : int
    random : pair of int, Generator or RandomState
        What the draws follow from: a seed and a number that tells these draws from others with
        the same seed, or a source of permutations. One object draws again and again.
    classes : array of int, optional
        Number of each row's class: every split keeps their shares where it can.
    kin : Kin

    Examples
    --------
    >>> from hornbeam.data.folds import Kin, Splits
    >>> for learnt, held in Splits(4, (0, 1), kin=Kin.read(None, [1, 2, 2, 3], 4)).folds(2):
    ...     print(learnt.astype(int), held.astype(int))
    [1 0 0 0] [0 1 1 0]
    [1 1 1 0] [0 0 0 1]
    """

    def __init__(
        self, n_rows: int, random: Any, classes: Array | None = None, kin: Kin = NO_KIN
    ) -> None:
        self.n_rows, self.classes, self.kin = n_rows, classes, kin
        keyed = isinstance(random, tuple)
        self.random = np.random.default_rng(list(random)) if keyed else random

    # --- one split --------------------------------------------------------------------

    def hold_out(self, share: float) -> Split:
        """Hold out about this share: of the rows of each class, of the groups, or the latest.

        Every class has rows to learn from, except where only the latest rows have it.
        """
        if self.kin.time is not None:
            return self._around(self._late(share))
        if self.kin.groups is not None:
            return self._around(self._some_groups(share))
        return self._around(self.some(share))

    def hold_out_evenly(self, share: float) -> Split:
        """The same, but of all rows together the share is exact, since classes round together."""
        if self.kin:
            return self.hold_out(share)
        order = self._class_after_class()
        steps = np.floor(share * np.arange(self.n_rows + 1) + 0.5)
        held = np.zeros(self.n_rows, bool)
        held[order] = np.diff(steps) > 0  # every 1/share-th row
        return self._around(self._leave_some(held))

    def halves(self, both: bool) -> list[Split]:
        """One half to learn from and one to watch, and the other way round if both are asked.

        The future cannot teach the past, so with times there is one way only.
        """
        split = self.hold_out(0.5)
        if not (split.held.any() and split.learnt.any()):
            return []
        turned = Split(split.held, split.learnt)
        return [split, turned] if both and self.kin.time is None else [split]

    def pair(self, most: int) -> Split:
        """Two sets of at most so many rows."""
        order = self.random.permutation(self.n_rows)
        if not self.kin:
            return Split(self._mask(order[:most]), self._mask(order[most : 2 * most]))
        sides = self.hold_out(0.5)
        return Split(*(self._mask(order[side[order]][:most]) for side in sides))

    def some(self, share: float) -> Array:
        """A mask of about this share of the rows of each class, whatever belongs together."""
        if self.classes is None:
            return draw_share(self.n_rows, share, self.random)
        held = np.zeros(self.n_rows, bool)
        for number in range(int(self.classes.max(initial=-1)) + 1):
            rows = np.flatnonzero(self.classes == number)
            held[rows] = draw_share(len(rows), share, self.random)
        return self._leave_some(held)

    def _around(self, held: Array) -> Split:
        return Split(self.kin.learnt(held), held)

    def _mask(self, rows: Array) -> Array:
        mask = np.zeros(self.n_rows, bool)
        mask[rows] = True
        return mask

    def _leave_some(self, held: Array) -> Array:
        """Let go a row of each class that is held out whole: it could not be learnt."""
        for number in self._lost_classes(held):
            held[np.argmax(self.classes == number)] = False
        return held

    def _lost_classes(self, held: Array) -> Array:
        """Classes of which no row is left to learn from; never the only class that there is."""
        if self.classes is None:
            return np.zeros(0, np.int64)
        numbers = self.classes.astype(np.int64)
        n_rows, n_left = np.bincount(numbers), np.bincount(numbers, weights=~held)
        lost = np.flatnonzero((n_rows > 0) & (n_left == 0))
        return lost if np.count_nonzero(n_rows) > 1 else lost[:0]

    def _late(self, share: float) -> Array:
        """A mask of about this share of the rows, the latest ones; ties stay together."""
        (first,) = self._time_borders([1.0 - share])
        assert self.kin.time is not None
        return self.kin.time >= first

    def _some_groups(self, share: float) -> Array:
        """A mask of whole groups."""
        assert self.kin.groups is not None
        groups = self._group_numbers
        n_groups = int(groups.max(initial=-1)) + 1
        if self.classes is None:
            drawn = draw_share(n_groups, share, self.random)
        else:
            drawn = self._deal([share, 1.0 - share]) == 0
        held = drawn[groups]
        for number in self._lost_classes(held):
            held[groups == groups[np.argmax(self.classes == number)]] = False
        return held

    # --- folds ------------------------------------------------------------------------

    def folds(self, n_folds: int) -> list[Split]:
        """So many folds; each row is held out once, but the earliest ones, if rows have times."""
        if n_folds < 2:
            raise ValueError(f"cv={n_folds} makes no folds: choose at least 2.")
        if self.kin.time is not None:
            return self._forward(n_folds)
        if n_folds > self.n_folds_possible:
            what = "rows" if self.kin.groups is None else "groups"
            raise ValueError(
                f"{n_folds} folds (cv) need as many {what}, but there are "
                f"{self.n_folds_possible}. Choose a smaller cv."
            )
        fold = self._fold_of_rows(n_folds)
        return [self._around(fold == number) for number in range(n_folds)]

    @property
    def n_folds_possible(self) -> int:
        """How many folds there can be at most."""
        if self.kin.time is not None:
            return len(np.unique(self.kin.time)) - 1
        return self.n_rows if self.kin.groups is None else int(self._group_numbers.max()) + 1

    def _fold_of_rows(self, n_folds: int) -> Array:
        if self.kin.groups is not None:
            return self._deal([1.0 / n_folds] * n_folds)[self._group_numbers]
        if self.classes is None:
            return np.asarray(self.random.permutation(self.n_rows) % n_folds)
        fold = np.empty(self.n_rows, np.int64)
        fold[self._class_after_class()] = np.arange(self.n_rows) % n_folds
        return fold

    def _forward(self, n_folds: int) -> list[Split]:
        """Blocks of time, each predicted from what was before it; the first block by nobody."""
        if n_folds > self.n_folds_possible:
            n_times = self.n_folds_possible + 1
            raise ValueError(
                f"{n_folds} folds (cv) forward in time need {n_folds + 1} different times, but "
                f"time has {n_times}: rows of the same time stay together. Choose a smaller cv."
            )
        shares = [number / (n_folds + 1) for number in range(1, n_folds + 1)]
        assert self.kin.time is not None
        block = np.searchsorted(self._time_borders(shares), self.kin.time, side="right")
        found = [self._around(block == number) for number in range(1, n_folds + 1)]
        for number, split in enumerate(found):
            if not split.learnt.any():
                raise ValueError(
                    f"Fold {number} has nothing to learn from: all earlier rows are of groups that "
                    "it holds out. Pass either groups or time, or choose a smaller cv."
                )
        return found

    def _time_borders(self, shares: list[float]) -> Array:
        """The first times of blocks that begin after about these shares of the rows."""
        assert self.kin.time is not None
        times, counts = np.unique(self.kin.time, return_counts=True)
        if len(times) <= len(shares):
            raise ValueError(
                f"time has {len(times)} different values, but rows can only be parted into "
                f"{len(shares) + 1} blocks, one after the other, by as many: rows of the same time "
                "stay together."
            )
        before = np.cumsum(counts) - counts  # rows that are earlier
        borders, place = [], 0
        for number, share in enumerate(shares):
            nearest = int(np.argmin(np.abs(before - share * self.n_rows)))
            place = min(max(nearest, place + 1), len(times) - len(shares) + number)
            borders.append(times[place])
        return np.array(borders)

    @cached_property
    def _group_numbers(self) -> Array:
        """The groups of these rows, without gaps."""
        assert self.kin.groups is not None
        return np.unique(self.kin.groups, return_inverse=True)[1]

    def _deal(self, shares: list[float]) -> Array:
        """The part that each group goes to; parts get these shares of the rows and classes.

        Large groups choose first, and each takes the part that is the emptiest for what it
        holds: sum of squares of what parts have, relative to what they should.
        """
        groups = self._group_numbers
        n_groups = int(groups.max(initial=-1)) + 1
        classes = np.zeros(self.n_rows, np.int64) if self.classes is None else self.classes
        counts = np.zeros((n_groups, int(classes.max(initial=0)) + 1))
        np.add.at(counts, (groups, classes.astype(np.int64)), 1.0)
        sizes = counts.sum(axis=1)
        relative = np.column_stack([counts, sizes]) / np.maximum([*counts.sum(axis=0), 1.0], 1.0)
        relative[:, -1] /= max(self.n_rows, 1)
        order = self.random.permutation(n_groups)
        order = order[np.argsort(-sizes[order], kind="stable")]
        has, wanted = np.zeros((len(shares), relative.shape[1])), np.array(shares)
        part = np.empty(n_groups, np.int64)
        for group in order:
            mine = relative[group]
            part[group] = np.argmin((2.0 * has @ mine + mine @ mine) / wanted)
            has[part[group]] += mine
        return part

    def _class_after_class(self) -> Array:
        """The rows in a random order, but those of a class next to each other."""
        order = self.random.permutation(self.n_rows)
        classes = np.zeros(self.n_rows) if self.classes is None else self.classes
        return np.asarray(order[np.argsort(classes[order], kind="stable")])


def draw_share(count: int, share: float, random: Any) -> Array:
    """A mask of so many entries, of which about this share is set."""
    mask = np.zeros(count, bool)
    mask[random.permutation(count)[: round(share * count)]] = True
    return mask


def read_folds(cv: Any, splits: Splits, X: Any, y: Any, groups: Any = None) -> list[Split]:
    """Folds by a number (None: 5), a splitter of scikit-learn's kind, or pairs of row numbers.

    Parameters
    ----------
    cv : int, splitter, iterable or None
    splits : Splits
        Makes the folds, if their number is all that is said.
    X, y, groups
        What splitters look at.

    Returns
    -------
    list of Split
        Checked against groups and time.
    """
    if cv is None or isinstance(cv, (int, np.integer)):
        return splits.folds(5 if cv is None else int(cv))
    pairs: Iterable[Any] = cv.split(X, y, groups) if hasattr(cv, "split") else cv
    found = []
    for number, pair in enumerate(pairs):
        try:
            learnt, held = pair
            split = Split(*(_mask_of(rows, splits.n_rows) for rows in (learnt, held)))
        except (IndexError, TypeError, ValueError) as error:
            raise ValueError(
                f"Fold {number} of cv is no pair of rows to learn from and rows to hold out of "
                f"{splits.n_rows} rows ({error})."
            ) from error
        both = np.flatnonzero(split.learnt & split.held)
        if len(both):
            raise ValueError(
                f"Fold {number} of cv learns from row {both[0]}, which it also holds out."
            )
        if not split.learnt.any() or not split.held.any():
            raise ValueError(f"Fold {number} of cv has no rows on one of its sides.")
        splits.kin.check(split, number)
        found.append(split)
    if not found:
        raise ValueError("cv has no folds.")
    return found


def _mask_of(rows: Any, n_rows: int) -> Array:
    rows = np.asarray(rows)
    if rows.dtype == bool and rows.shape != (n_rows,):
        raise ValueError(f"a mask of shape {rows.shape}")
    mask = np.zeros(n_rows, bool)
    mask[rows if rows.dtype == bool else rows.astype(np.int64)] = True
    return mask

"""What a path through a tree says about one column, and how to put it in words.

A question narrows what a value may be. One question gives the label of a branch, all
questions on the way to a leaf give its rule; both are put in words here. The words are
literally true, also of missing values and of categories that were not there in fit:
"color != red" is only said where every other color goes, also one that nobody has seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hornbeam.dtypes import Array
from hornbeam.output.names import LISTED, listed

_ALL, _NONE = 1.0, 0.0


@dataclass(frozen=True)
class Style:
    """How statements are written.

    Attributes
    ----------
    number : function
        Puts a number in words.
    threshold : function, optional
        Puts a number of the column in words if it is not a plain one.
    limit : int or None
        How many categories to list before "… (n more)"; None for all.
    show_missing : bool
        Whether to say where missing values go.
    unseen : {"missing", "error", "other"}
        What a category becomes that was not there in fit.
    """

    number: Callable[[float], str]
    limit: int | None = LISTED
    show_missing: bool = True
    unseen: str = "missing"
    threshold: Callable[[float], str] | None = None


@dataclass(frozen=True)
class Interval:
    """Values of a number column that pass: ``low < x <= high``, and maybe missing ones.

    ``missing`` is the share of a row without a value that passes: all or nothing, but for
    trees that send such a row down every branch.
    """

    low: float = -math.inf
    high: float = math.inf
    missing: float = _ALL

    def narrow(self, threshold: float, branch: int, missing: float) -> Interval:
        """Keep what also goes to this branch of ``x <= threshold``.

        Parameters
        ----------
        threshold : float
            The threshold of the question.
        branch : int
            0 for yes, 1 for no.
        missing : float
            Share of a missing value that goes there.

        Returns
        -------
        Interval
        """
        share = self.missing * missing
        if branch == 0:
            return Interval(self.low, min(self.high, threshold), share)
        return Interval(max(self.low, threshold), self.high, share)

    def arriving(self) -> Interval:
        """Take what comes with a share for what comes whole.

        Returns
        -------
        Interval
        """
        return self if self.missing in (_ALL, _NONE) else replace(self, missing=_ALL)

    def whole(self) -> Interval:
        """Forget shares of missing values that are neither all nor nothing.

        Returns
        -------
        Interval
        """
        return self if self.missing == _ALL else replace(self, missing=_NONE)

    def words(self, name: str, style: Style) -> str:
        """Say it: ``age <= 30.00``, ``1.00 < x <= 2.00 or missing``, ``x is missing``.

        Parameters
        ----------
        name : str
            Name of the column.
        style : Style
            How to write it.

        Returns
        -------
        str
        """
        tail = _missing_words(self.missing, style, {})
        if self.low >= self.high:
            return _state_words(name, "missing", "impossible", self.missing, tail)
        if self.low == -math.inf and self.high == math.inf:
            return _state_words(name, "anything", "not missing", self.missing, tail)
        write = style.threshold or style.number
        if self.low == -math.inf:
            text = f"{name} <= {write(self.high)}"
        elif self.high == math.inf:
            text = f"{name} > {write(self.low)}"
        else:
            text = f"{write(self.low)} < {name} <= {write(self.high)}"
        return text + tail


def _state_words(name: str, with_missing: str, without: str, missing: float, tail: str) -> str:
    """Say what has no values to name: "x is missing", "x is anything", "x is not missing"."""
    state = with_missing if missing == _ALL else without
    return f"{name} is {state}{tail.removeprefix(' or missing')}"


def _missing_words(share: float, style: Style, parted: dict[float, list[str]]) -> str:
    """What to add about missing values, and about categories that pass with a share."""
    if not style.show_missing:
        return ""
    groups = {share: ["missing"], **parted} if _NONE < share < _ALL else parted
    if _NONE < share < _ALL and share in parted:
        groups[share] = ["missing", *parted[share]]
    words = [f"{style.number(s)} of {listed(names, style.limit)}" for s, names in groups.items()]
    return " or missing" * (share == _ALL) + (f" ({'; '.join(words)})" if words else "")


def _nobody() -> Array:
    return np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Choice:
    """Categories of a column that pass (their numbers, ascending), and maybe missing values.

    ``missing`` is as in `Interval`; ``shares`` are those of the categories ``parted``, which
    a tree sends down every branch, too. The category behind the last one that has a name
    stands for those that were not there in fit.
    """

    allowed: Array
    n_categories: int
    missing: float = _ALL
    parted: Array = field(default_factory=_nobody)
    shares: Array = field(default_factory=_nobody)

    def among(self, chosen: Array, branch: int, missing: float) -> Choice:
        """Keep what also goes to this branch of "is it one of the chosen ones?".

        Parameters
        ----------
        chosen : bool array
            Which categories go to branch 0.
        branch : int
            0 for yes, 1 for no.
        missing : float
            Share of a missing value that goes there.

        Returns
        -------
        Choice
        """
        kept = self.allowed[chosen[self.allowed] == (branch == 0)]
        stay = chosen[self.parted] == (branch == 0)
        parted, shares = self.parted[stay], self.shares[stay]
        return Choice(kept, self.n_categories, self.missing * missing, parted, shares)

    def only(self, category: int, missing: float, unknown: Array | None, share: float) -> Choice:
        """Keep one category (a branch of a multiway split).

        Parameters
        ----------
        category : int
            Its number; one that does not exist for a branch of missing values.
        missing : float
            Share of a missing value that goes there.
        unknown : bool array, or None
            Which categories the node sends down every branch.
        share : float
            Share of these that goes there.

        Returns
        -------
        Choice
        """
        place = int(np.searchsorted(self.allowed, category))
        kept = self.allowed[place : place + 1]
        kept = kept[kept == category]
        parted, shares = self.parted, self.shares
        if unknown is None:
            stay = parted == category
            parted, shares = parted[stay], shares[stay]
        else:
            kept, fresh = kept[~unknown[kept]], self.allowed[unknown[self.allowed]]
            stay, again = (parted == category) | unknown[parted], unknown[parted]
            shares = np.append(np.where(again, shares * share, shares)[stay], share + 0.0 * fresh)
            parted = np.append(parted[stay], fresh)
        return Choice(kept, self.n_categories, self.missing * missing, parted, shares)

    def arriving(self) -> Choice:
        """Take what comes with a share for what comes whole.

        Returns
        -------
        Choice
        """
        if self.missing in (_ALL, _NONE) and not len(self.parted):
            return self
        every = np.union1d(self.allowed, self.parted).astype(np.int64)
        return Choice(every, self.n_categories, _NONE if self.missing == _NONE else _ALL)

    def whole(self) -> Choice:
        """Forget what passes with a share that is neither all nor nothing.

        Returns
        -------
        Choice
        """
        return Choice(self.allowed, self.n_categories, _ALL if self.missing == _ALL else _NONE)

    def words(
        self, name: str, categories: Sequence[str], style: Style, before: Choice | None = None
    ) -> str:
        """Say it: ``color = red``, ``color in {red, blue}``, ``color not in {red}``.

        Parameters
        ----------
        name : str
            Name of the column.
        categories : sequence of str
            Names of the categories.
        style : Style
            How to write it.
        before : Choice, optional
            What else there may be; by default everything.

        Returns
        -------
        str
            The shorter of the two ways, "in" or "not in", that is literally true.
        """
        before = before or Choice(np.arange(self.n_categories), self.n_categories)
        known = self.allowed[self.allowed < len(categories)]
        has_unseen = len(known) < len(self.allowed)
        tail = _missing_words(self.missing, style, self._parted_names(categories))
        if not len(self.allowed):
            return _state_words(name, "missing", "impossible", self.missing, tail)
        n_excluded = len(before.allowed) - len(self.allowed)
        if not n_excluded:
            return _state_words(name, "anything", "not missing", self.missing, tail)
        literal = self._takes_the_rest(before, has_unseen, style)
        if self._is_shorter_negated(n_excluded, len(known), literal, style):
            gone = np.setdiff1d(before.allowed, self.allowed, assume_unique=True)
            text = _set_words(name, "!=", "not in", [categories[c] for c in gone], style)
            return text + (tail if literal else " and not missing")
        if not len(known):
            return f"{name} is unseen{tail}"
        text = _set_words(name, "=", "in", [categories[c] for c in known], style)
        return text + " or unseen" * has_unseen + tail

    def _parted_names(self, categories: Sequence[str]) -> dict[float, list[str]]:
        """Names of the categories that pass with a share, by their share."""
        named = [*categories, "unseen"]
        return {
            share: [named[c] for c in self.parted[self.shares == share]]
            for share in dict.fromkeys(self.shares.tolist())
        }

    def _takes_the_rest(self, before: Choice, has_unseen: bool, style: Style) -> bool:
        """Whether what has no name passes, if it can come: then "not in" is literally true."""
        if style.unseen == "other":
            return has_unseen or int(before.allowed[-1]) < self.n_categories - 1
        if style.unseen == "error" or not style.show_missing:
            return True
        return self.missing == _ALL or before.missing == _NONE

    def _is_shorter_negated(
        self, n_excluded: int, n_known: int, literal: bool, style: Style
    ) -> bool:
        """Whether "not in" is the better way to say it."""
        if n_excluded >= n_known or len(self.parted):
            return False
        # "and not missing" is long, and says of unseen categories only that they are missing
        brief = style.unseen == "missing" and self.missing == _NONE and n_known > LISTED
        return literal or brief


def _set_words(name: str, one: str, many: str, members: list[str], style: Style) -> str:
    if len(members) == 1:
        return f"{name} {one} {members[0]}"
    return f"{name} {many} {{{listed(members, style.limit)}}}"

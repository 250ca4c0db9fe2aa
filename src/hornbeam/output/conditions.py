"""What a path through a tree says about one column, and how to put it in words.

A question narrows what a value may be. One question gives the label of a branch, all
questions on the way to a leaf give its rule; both are put in words here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hornbeam.dtypes import Array
from hornbeam.output.names import listed


@dataclass(frozen=True)
class Interval:
    """Values of a number column that pass: ``low < x <= high``, and maybe missing ones."""

    low: float = -math.inf
    high: float = math.inf
    missing: bool = True

    def narrow(self, threshold: float, branch: int, missing: bool) -> Interval:
        """Keep what also goes to this branch of ``x <= threshold``.

        Parameters
        ----------
        threshold : float
            The threshold of the question.
        branch : int
            0 for yes, 1 for no.
        missing : bool
            Whether missing values go there.

        Returns
        -------
        Interval
        """
        keep = self.missing and missing
        if branch == 0:
            return replace(self, high=min(self.high, threshold), missing=keep)
        return replace(self, low=max(self.low, threshold), missing=keep)

    def words(self, name: str, number: Callable[[float], str], show_missing: bool) -> str:
        """Say it: ``age <= 30.00``, ``1.00 < x <= 2.00 or missing``, ``x is missing``.

        Parameters
        ----------
        name : str
            Name of the column.
        number : function
            Puts a number in words.
        show_missing : bool
            Whether missing values are worth a word.

        Returns
        -------
        str
        """
        if self.low >= self.high:
            return f"{name} is missing" if self.missing else f"{name} is impossible"
        if self.low == -math.inf and self.high == math.inf:
            return f"{name} is anything" if self.missing else f"{name} is not missing"
        if self.low == -math.inf:
            text = f"{name} <= {number(self.high)}"
        elif self.high == math.inf:
            text = f"{name} > {number(self.low)}"
        else:
            text = f"{number(self.low)} < {name} <= {number(self.high)}"
        return text + (" or missing" if self.missing and show_missing else "")


@dataclass(frozen=True, eq=False)
class Choice:
    """Categories of a column that pass (their numbers, ascending), and maybe missing values."""

    allowed: Array
    n_categories: int
    missing: bool = True

    def among(self, chosen: Array, branch: int, missing: bool) -> Choice:
        """Keep what also goes to this branch of "is it one of the chosen ones?".

        Parameters
        ----------
        chosen : bool array
            Which categories go to branch 0.
        branch : int
            0 for yes, 1 for no.
        missing : bool
            Whether missing values go there.

        Returns
        -------
        Choice
        """
        kept = self.allowed[chosen[self.allowed] == (branch == 0)]
        return replace(self, allowed=kept, missing=self.missing and missing)

    def only(self, category: int, missing: bool) -> Choice:
        """Keep one category (a branch of a multiway split).

        Parameters
        ----------
        category : int
            Its number.
        missing : bool
            Whether missing values go there.

        Returns
        -------
        Choice
        """
        place = int(np.searchsorted(self.allowed, category))
        kept = self.allowed[place : place + 1]
        return replace(self, allowed=kept[kept == category], missing=self.missing and missing)

    def words(self, name: str, categories: Sequence[str], limit: int, show_missing: bool) -> str:
        """Say it: ``color = red``, ``color in {red, blue}``, ``color not in {red}``.

        Parameters
        ----------
        name : str
            Name of the column.
        categories : sequence of str
            Names of the categories.
        limit : int
            How many categories to list before "… (n more)".
        show_missing : bool
            Whether missing values are worth a word.

        Returns
        -------
        str
            The shorter of the two ways, "in" or "not in".
        """
        n_excluded = self.n_categories - len(self.allowed)
        if not len(self.allowed):
            return f"{name} is missing" if self.missing else f"{name} is impossible"
        if not n_excluded:
            return f"{name} is anything" if self.missing else f"{name} is not missing"
        negative = n_excluded < len(self.allowed)
        shown = self._excluded() if negative else self.allowed
        members = [categories[c] for c in shown]
        if len(members) == 1:
            text = f"{name} {'!=' if negative else '='} {members[0]}"
        else:
            text = f"{name} {'not in' if negative else 'in'} {{{listed(members, limit)}}}"
        return text + (" or missing" if self.missing and show_missing else "")

    def _excluded(self) -> Array:
        out = np.ones(self.n_categories, bool)
        out[self.allowed] = False
        return np.flatnonzero(out)

"""The ways to part the values of one feature in two, as a tree considers them.

The rows of a node fall into groups: equal numbers (or bins), equal categories. Group
``n_groups`` are the missing values; a cut sends all of them to one side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hornbeam.dtypes import Array

# Up to this many categories every subset is tried where no ordering is known to be exact.
EXHAUSTIVE_GROUPS = 8


@dataclass(frozen=True)
class Cuts:
    """Prefixes of an order of the groups, or listed subsets of them, go left.

    Attributes
    ----------
    n_groups : int
        Groups of known values.
    orders : list of arrays
        Prefixes of each of them are cuts.
    n_prefixes : int
        How many: all but the longest, which is a cut only beside missing values.
    subsets : bool array (cuts, n_groups)
        Further cuts.
    missing_left : bool
        Where the missing values go.
    """

    n_groups: int
    orders: list[Array]
    n_prefixes: int
    subsets: Array
    missing_left: bool = False

    def __len__(self) -> int:
        return len(self.orders) * self.n_prefixes + len(self.subsets)

    def left(self, cut: int) -> Array:
        """Which groups (the missing values last) go left."""
        side = np.zeros(self.n_groups + 1, bool)
        listed = cut - len(self.orders) * self.n_prefixes
        if listed >= 0:
            side[:-1] = self.subsets[listed]
        else:
            which, place = divmod(cut, self.n_prefixes)
            side[self.orders[which][: place + 1]] = True
        side[-1] = self.missing_left
        return side

    def add_up(self, sums: Array) -> Array:
        """Sums of the groups on the left of each cut."""
        known = sums[:-1]
        found = [np.cumsum(known[order], axis=0)[: self.n_prefixes] for order in self.orders]
        found.append(self.subsets.astype(float) @ known)
        return np.concatenate(found) + (sums[-1] if self.missing_left else 0.0)


def _by_order(n_groups: int, orders: list[Array], has_missing: bool) -> Cuts:
    nothing = np.zeros((0, n_groups), bool)
    return Cuts(n_groups, orders, n_groups - (not has_missing), nothing)


def _by_subsets(subsets: Array, has_missing: bool) -> Cuts:
    everything = np.ones((int(has_missing), subsets.shape[1]), bool)
    return Cuts(subsets.shape[1], [], 0, np.vstack([subsets, everything]))


def number_cuts(n_groups: int, has_missing: bool) -> Cuts:
    """Between any two neighbouring numbers; and all of them against the missing values."""
    return _by_order(n_groups, [np.arange(n_groups)], has_missing)


def single_cuts(n_groups: int, has_missing: bool) -> Cuts:
    """One category against the others; and all of them against the missing values."""
    return _by_subsets(np.eye(n_groups, dtype=bool), has_missing)


def subset_cuts(means: Array, is_exact: bool, has_missing: bool) -> Cuts:
    """Any set of categories against the others, or what comes close where they are many.

    ``means`` (orderings, groups) are the shares of a class or the means of an output. If
    ``is_exact`` the best set is a prefix of that order (Breiman et al. 1984, theorem 4.5);
    otherwise all sets of a few categories are listed, and for many each order is tried.
    """
    n_groups = means.shape[1]
    if is_exact or n_groups > EXHAUSTIVE_GROUPS:
        orders = [np.argsort(mean, kind="stable") for mean in means]
        return _by_order(n_groups, orders, has_missing)
    numbers = np.arange(1, 1 << (n_groups - 1))
    return _by_subsets((numbers[:, None] >> np.arange(n_groups)) & 1 == 1, has_missing)

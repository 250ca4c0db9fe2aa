"""What categories explain by chance, and which columns have so many that it matters.

Rows that are dealt out to k categories at random differ between these, too: of the squares (or
the Gini impurity) of n rows the categories explain on average the share (k - 1) / (n - 1), whatever
the target is. With a category for every row that is all of it, and nothing of it is true of
another row. A question about a number explains as much by chance as two categories do, and need
not prove itself; so two categories need not either, and k of them owe the share

    s = (k - 2) / (n - 2).

It varies: the share that random groups explain has a beta distribution, whose variance is about
2 s (1 - s) / n, and a tree asks many times. So the categories of a node are parted only if all of
them together explain three standard deviations more than s. If they explain the share r, then
s / r of what any split of them gains is owed to chance: the rest competes with the other columns.
Categories that do not prove themselves are cut in the order that they have anyway, as numbers are,
if there are rows enough of each.
Rows of unequal weights count as (sum of w)^2 / (sum of w^2) equal ones: a row that weighs as much
as two is no second witness.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hornbeam.dtypes import Array

if TYPE_CHECKING:
    from hornbeam.data.coding import Codes

_DEVIATIONS = 3.0
_FEW_ROWS = 50
_NEARLY_ALL = 0.95


def chance_share(n_groups: float, n_rows: float) -> float:
    """The share of an impurity that so many categories owe to chance. Kernels compile it.

    Examples
    --------
    >>> from hornbeam.chance import chance_share
    >>> chance_share(2, 100), chance_share(51, 100), chance_share(100, 100)
    (0.0, 0.5, 1.0)
    """
    if n_groups >= n_rows:
        return 1.0
    return (n_groups - 2.0) / (n_rows - 2.0) if n_groups > 2.0 else 0.0


def clear_share(n_groups: float, n_rows: float) -> float:
    """The share of an impurity that is hardly ever explained by chance. Kernels compile it.

    Examples
    --------
    >>> from hornbeam.chance import clear_share
    >>> clear_share(2, 100), round(clear_share(51, 100), 2), clear_share(100, 100)
    (0.0, 0.71, 1.0)
    """
    if n_groups >= n_rows:
        return 1.0
    if n_groups <= 2.0:
        return 0.0
    share = (n_groups - 2.0) / (n_rows - 2.0)
    return share + _DEVIATIONS * math.sqrt(2.0 * share * (1.0 - share) / (n_rows - 2.0))


def are_well_filled(n_groups: float, n_rows: float) -> bool:
    """Whether there is a row for every pair of groups, so that no order fits by chance.

    What many categories say only together with another column shows nowhere but below a split
    that explains nothing. Where they are so well filled, it costs little to make one. Kernels
    compile it.

    Examples
    --------
    >>> from hornbeam.chance import are_well_filled
    >>> are_well_filled(10, 100), are_well_filled(11, 100)
    (True, False)
    """
    return n_groups * n_groups <= n_rows


def are_many(n_categories: int, n_rows: int) -> bool:
    """Whether a column offers more questions than a number with a value for every row.

    That one has n - 1 cuts, k categories can be parted in 2^(k - 1) - 1 ways. With fewer, a
    column of categories finds no more by chance than a number does.

    Examples
    --------
    >>> from hornbeam.chance import are_many
    >>> are_many(11, 1024), are_many(12, 1024)
    (False, True)
    """
    return n_categories - 1 >= n_rows.bit_length()


def identifies_rows(n_categories: int, n_rows: int) -> bool:
    """Whether so many categories tell rows apart and nothing else: they owe nearly everything.

    Of few rows each may well have a category of its own.

    Examples
    --------
    >>> from hornbeam.chance import identifies_rows
    >>> identifies_rows(3178, 3190), identifies_rows(929, 1309), identifies_rows(14, 14)
    (True, False, False)
    """
    return n_rows >= _FEW_ROWS and chance_share(n_categories, n_rows) >= _NEARLY_ALL


def find_many(codes: Codes, n_rows: float, counted: Array | None = None) -> Array:
    """Which features have many categories, of those that occur in the counted rows (bool array)."""
    many = np.zeros(len(codes.n_codes), bool)
    for feature in np.flatnonzero(codes.is_category).tolist():
        n_codes = int(codes.n_codes[feature])
        if are_many(n_codes, int(n_rows)):
            occurs = np.zeros(n_codes + 1, bool)  # missing values are the last
            for page in codes.pages:
                column = page.codes.columns[feature]
                if counted is not None:
                    column = column[counted[page.start : page.stop]]
                occurs[np.minimum(column, n_codes)] = True
            many[feature] = are_many(int(occurs[:-1].sum()), int(n_rows))
    return many

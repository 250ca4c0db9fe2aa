"""Quantiles that hold for new rows: what rows that were not learnt from say of them.

A model knows the rows it has learnt from too well, so its quantiles are too close to each
other for new rows. Rows that were held out tell by how much: of n of them and one new row, each
is as likely as the others to be the farthest out (conformal prediction: Vovk, Gammerman and
Shafer 2005; Romano, Patterson and Candes 2019). No row is lost by it: each is held out by a
model of the other rows, and the model that is kept has learnt from all (cross-conformal
prediction: Vovk 2015).
"""

from __future__ import annotations

import numpy as np

from hornbeam.data.folds import NO_KIN, Kin, Split, Splits
from hornbeam.dtypes import Array

LEAST_FOLDS, MOST_FOLDS = 5, 10
ROWS_AND_FOLDS = 100_000  # their product, between these: models of few rows should lose few of them
ENOUGH_HELD = 20_000  # rows: more of them would only cost time
_TOLERANCE = 1e-12  # of a sum of weights: what rounding may take from it


def draw_folds(n_rows: int, seed: int, key: int, kin: Kin = NO_KIN) -> list[Split]:
    """Splits that hold out each row at most once.

    There are 10 folds of up to 10,000 rows, and fewer of more, but at least 5; of more than
    20,000 rows only as many folds are asked for as hold 20,000.
    """
    if n_rows < 2:
        raise ValueError(
            f"calibrate=True holds out some rows while others are learnt, but there is {n_rows} "
            "row: pass at least two, or leave calibrate=False."
        )
    splits = Splits(n_rows, (seed, key), kin=kin)
    n_folds = min(n_rows, MOST_FOLDS, max(LEAST_FOLDS, ROWS_AND_FOLDS // n_rows))
    if kin:
        n_folds = min(n_folds, splits.n_folds_possible)
    n_asked = min(n_folds, -(-ENOUGH_HELD * n_folds // n_rows))
    folds = splits.folds(n_folds)  # the last ones have learnt most, if there is time
    return folds[:n_asked] if kin.time is None else folds[-n_asked:]


def held_quantiles(values: Array, weight: Array, shares: Array) -> Array:
    """Between which values of held-out rows a new one lies: one quantile for each share.

    Of n values and a new one, any is as likely as the others to be the k-th smallest. So the
    new one is not above the k-th smallest of the n with a probability of k / (n + 1). The
    rank of a share above one half is (n + 1) * share, rounded up, that of one below it is the
    same from above; the median is the mean of both. Where there is no such rank, because
    there are too few values, the farthest one is taken. A new row weighs as much as the mean
    of the others.
    """
    order = np.argsort(values, kind="stable")
    values, weight = values[order], weight[order]
    last = len(values) - 1
    below, above = np.cumsum(weight), np.cumsum(weight[::-1])
    total = below[-1] * (1.0 + 1.0 / len(values))
    slack = _TOLERANCE * total
    up = np.minimum(np.searchsorted(below, shares * total - slack), last)
    down = last - np.minimum(np.searchsorted(above, (1.0 - shares) * total - slack), last)
    upper, lower = values[up], values[down]
    middle = 0.5 * lower + 0.5 * upper
    found: Array = np.where(shares > 0.5, upper, np.where(shares < 0.5, lower, middle))
    return found

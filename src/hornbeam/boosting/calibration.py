"""By how much quantiles of boosting must be moved to hold for new rows: ``calibrate=True``.

Each fold of the rows is predicted by a model of the other rows, boosted as the model itself
is. Of the differences between their targets and a quantile, the same quantile is by how much
that quantile lies too high or too low (Romano, Patterson and Candes 2019, each end by itself).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hornbeam.boosting.rows import TrainingRows, lay_out_init
from hornbeam.conformal import draw_folds, held_quantiles
from hornbeam.dtypes import STAT, Array
from hornbeam.errors import ModelFileError
from hornbeam.model.arrays import checked_array
from hornbeam.progress import ProgressBar

_FOLD_KEY = 3  # tells these draws from others with the same seed
LINK = "quantiles"  # of the loss that can be calibrated


def find_shifts(
    rows: TrainingRows,
    predict: Callable[[TrainingRows, TrainingRows], Array],
    shares: Array,
    seed: int,
    verbose: int | None = None,
) -> Array:
    """What must be added to each quantile.

    Parameters
    ----------
    rows : TrainingRows
        All that the model has learnt from.
    predict : callable(learnt, held) -> array of shape (n_held, n_quantiles)
        Boosts some rows, and predicts others, without their start scores.
    shares : array
        Which quantiles they are.
    seed : int
    verbose : int or None
        Whether to show a progress bar.
    """
    rests, weights = [], []
    folds = draw_folds(len(rows.target), seed, _FOLD_KEY, rows.kin)
    with ProgressBar("calibrating", len(folds), verbose) as bar:
        for number, fold in enumerate(folds):
            held = rows.chosen(fold.held)
            target = held.target[:, None]
            if held.init_score is not None:
                target = target - lay_out_init(held.init_score, len(shares)).T
            rests.append(target - predict(rows.chosen(fold.learnt), held))
            weights.append(held.weight)
            bar.show(number + 1)
    rest, weight = np.concatenate(rests), np.concatenate(weights)
    pairs = zip(rest.T, shares, strict=True)
    return np.array([held_quantiles(column, weight, share) for column, share in pairs])


def moved(quantiles: Array, shifts: Array) -> Array:
    """Quantiles of each row, moved; sorted again, so that they do not cross."""
    return np.sort(quantiles + shifts, axis=1)


def check_shifts(shifts: Any, link: str, n_scores: int) -> Array:
    """What a file or a pickle has as shifts, checked."""
    found = checked_array(shifts, "calibration", STAT)
    if link != LINK or len(found) != n_scores or not np.isfinite(found).all():
        raise ModelFileError(
            "The calibration must be a finite number for each of the quantiles that the model "
            "predicts."
        )
    return found

"""How many errors a leaf may make on rows it has not seen, judged by its training rows.

A leaf with e errors among n training rows looks better than it is. C4.5 therefore counts
the upper confidence limit of a binomial proportion instead of e / n: the error rate with
which e errors or fewer would still come up with the probability ``confidence``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from hornbeam.dtypes import Array
from hornbeam.tree.pruning.cost import cut_below, cut_where_no_worse
from hornbeam.tree.storage import Tree

CONFIDENCE = 0.25  # Quinlan's confidence factor


def upper_errors(errors: Any, n: Any, confidence: float = CONFIDENCE) -> Array:
    """Upper limit of the errors of leaves: the errors seen and the extra ones to expect.

    This is the *total*; ``upper_errors(e, n) - e`` are the extra errors. It is never below
    ``errors`` and never above ``n``.

    Parameters
    ----------
    errors : float or array
        Weight of the training rows that a leaf gets wrong, 0 to n. Need not be whole.
    n : float or array
        Weight of all its training rows.
    confidence : float
        Between 0 and 0.5; smaller is more pessimistic. 0.5 leaves about the errors seen.

    Returns
    -------
    float64 array
        Of the common shape; 0 where n is 0.

    Notes
    -----
    The cases are those of C4.5:

    - no errors: the exact limit, n * (1 - confidence ** (1 / n));
    - less than one error: on the line between the limits of no and of one error;
    - all but half a row wrong: n;
    - else the normal approximation with a continuity correction of half an error,
      ``p = (f + z^2/2n + z * sqrt(f/n - f^2/n + z^2/4n^2)) / (1 + z^2/n)`` with
      ``f = (e + 0.5) / n`` and z the normal quantile of 1 - confidence.

    Examples
    --------
    Three leaves of Quinlan's book, and the leaf that would replace them:

    >>> from hornbeam.tree.pruning.pessimistic import upper_errors
    >>> upper_errors([0, 0, 0], [6, 9, 1], 0.25).round(3).tolist()
    [1.238, 1.285, 0.75]
    >>> float(upper_errors(1, 16, 0.25).round(3))
    2.476
    """
    errors, n = np.broadcast_arrays(np.asarray(errors, float), np.asarray(n, float))
    with np.errstate(divide="ignore", invalid="ignore"):
        none = n * -np.expm1(np.log(confidence) / n)
        one = _normal_limit(np.ones_like(n), n, confidence)
        limit = np.where(
            errors < 1.0,
            none + errors * (one - none),
            _normal_limit(errors, n, confidence),
        )
    return np.where(n > 0.0, np.clip(limit, errors, np.maximum(n, errors)), 0.0)


def _normal_limit(errors: Array, n: Array, confidence: float) -> Array:
    """The limit by the normal approximation; n where all but half a row are wrong."""
    z = -ndtri(confidence)
    share = np.minimum((errors + 0.5) / n, 1.0)
    spread = np.sqrt(share * (1.0 - share) / n + z * z / (4.0 * n * n))
    limit = n * (share + z * z / (2.0 * n) + z * spread) / (1.0 + z * z / n)
    return np.where(errors + 0.5 >= n, n, limit)


def error_limits(tree: Tree, n_classes: list[int], confidence: float) -> Array:
    """Upper limit of each node's errors, were it a leaf; mean over the outputs."""
    blocks = np.split(tree.value, np.cumsum(n_classes)[:-1], axis=1)
    wrong = [tree.weight * np.clip(1.0 - block.max(axis=1), 0.0, 1.0) for block in blocks]
    limits = [upper_errors(errors, tree.weight, confidence) for errors in wrong]
    return np.asarray(np.mean(limits, axis=0))


def prune_by_limit(tree: Tree, n_classes: list[int], confidence: float = CONFIDENCE) -> Tree:
    """Replace each subtree by a leaf where that does not raise the limit of the errors."""
    return cut_below(tree, cut_where_no_worse(tree, error_limits(tree, n_classes, confidence)))

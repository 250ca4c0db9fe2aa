"""Condorcet's jury: how often the majority of independent voters is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.stats import binom


def majority_error(n_voters: int, error: float) -> float:
    """Return how often the majority of independent voters is wrong.

    Parameters
    ----------
    n_voters : int
    error : float
        How often each of them is.

    Returns
    -------
    float

    Notes
    -----
    With M voters that err with probability e, each on its own::

        P = sum over k > M/2 of  (M choose k) e^k (1-e)^(M-k)

    and half of the probability of a tie if M is even: it is broken by a coin.

    Examples
    --------
    >>> from hornbeam import theory
    >>> round(theory.majority_error(25, 0.35), 2)
    0.06
    """
    _check(n_voters, error)
    half = n_voters // 2
    wrong = float(binom.sf(half, n_voters, error))
    return wrong if n_voters % 2 else wrong + 0.5 * float(binom.pmf(half, n_voters, error))


def hoeffding_bound(n_voters: int, error: float) -> float:
    """Return what the error of a majority of independent voters is not above.

    Parameters
    ----------
    n_voters : int
    error : float
        How often each of them is wrong; at 1/2 and above the bound is 1, which says nothing.

    Returns
    -------
    float

    Notes
    -----
    Hoeffding (1963): the share of M voters that err is above its mean e by 1/2 - e with a
    probability of at most::

        exp(-2 M (1/2 - e)^2) = exp(-M/2 (1 - 2e)^2)

    Examples
    --------
    >>> from hornbeam import theory
    >>> theory.majority_error(25, 0.35) < theory.hoeffding_bound(25, 0.35) < 0.33
    True
    """
    _check(n_voters, error)
    return float(np.exp(-0.5 * n_voters * max(0.0, 1.0 - 2.0 * error) ** 2))


def plot_jury(
    errors: Sequence[float] = (0.2, 0.3, 0.35, 0.4, 0.45, 0.55),
    most: int = 101,
    bound: bool = False,
    ax: Any = None,
) -> Any:
    """Draw the error of the majority against the number of voters.

    Parameters
    ----------
    errors : sequence of float
        How often a voter errs; a line each.
    most : int
        Voters at the right end; all odd numbers up to it are drawn.
    bound : bool
        Draw Hoeffding's bound, too, as a dashed line.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from hornbeam import theory
    >>> theory.plot_jury((0.35,), most=25).get_xlabel()
    'voters'
    """
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots()
    voters = np.arange(1, most + 1, 2)
    for error in errors:
        found = [majority_error(int(count), error) for count in voters]
        (line,) = ax.plot(voters, found, label=f"each errs {error:g}")
        if bound:
            limit = [hoeffding_bound(int(count), error) for count in voters]
            ax.plot(voters, limit, linestyle="--", color=line.get_color())
    ax.set_xlabel("voters")
    ax.set_ylabel("error of the majority")
    ax.legend()
    return ax


def _check(n_voters: int, error: float) -> None:
    if not isinstance(n_voters, Integral) or n_voters < 1:
        raise ValueError(f"n_voters must be a whole number from 1, got {n_voters!r}.")
    if not isinstance(error, Real) or not 0.0 <= error <= 1.0:
        raise ValueError(f"error must be a probability from 0 to 1, got {error!r}.")

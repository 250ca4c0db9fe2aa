"""How many rows a bootstrap sample holds."""

from __future__ import annotations

import numpy as np

from hornbeam.data.sampling import Sampler, SampleSize


def inclusion_probability(n_rows: int, n_draws: int | None = None) -> float:
    """Return how probable it is that a row is in a bootstrap sample.

    Parameters
    ----------
    n_rows : int
        Of the table.
    n_draws : int, optional
        Rows that are drawn, with replacement; as many as there are by default.

    Returns
    -------
    float

    Notes
    -----
    ::

        1 - (1 - 1/n)^m  ->  1 - 1/e = 0.632  for m = n draws of many rows

    so a share of 1/e = 0.368 of the rows is out of the bag. As each row has that probability, it
    also is the share of different rows that one expects in a sample (`distinct_share`).

    Examples
    --------
    >>> from hornbeam import theory
    >>> theory.inclusion_probability(2), round(theory.inclusion_probability(10**6), 3)
    (0.75, 0.632)
    """
    n_draws = n_rows if n_draws is None else n_draws
    if n_rows < 1 or n_draws < 1:
        raise ValueError(f"n_rows={n_rows} and n_draws={n_draws} must be at least 1.")
    if n_rows == 1:
        return 1.0
    return float(-np.expm1(n_draws * np.log1p(-1.0 / n_rows)))


def distinct_share(n_rows: int, n_draws: int | None = None) -> float:
    """Return the share of all rows that one expects to be in a bootstrap sample.

    Parameters
    ----------
    n_rows : int
        Of the table.
    n_draws : int, optional
        Rows that are drawn, with replacement; as many as there are by default.

    Returns
    -------
    float
        The same as `inclusion_probability`, since the expectation of a sum is that of its parts.

    Examples
    --------
    >>> from hornbeam import theory
    >>> theory.distinct_share(2)
    0.75
    """
    return inclusion_probability(n_rows, n_draws)


def measured_share(
    n_rows: int, n_draws: int | None = None, n_samples: int = 100, seed: int = 0
) -> tuple[float, float]:
    """Measure the share of different rows in samples that hornbeam's bagging draws.

    Parameters
    ----------
    n_rows : int
        Of the table.
    n_draws : int, optional
        Rows that are drawn, with replacement; as many as there are by default.
    n_samples : int
        How many samples are looked at.
    seed : int

    Returns
    -------
    mean, error : float
        The mean share, and its standard error.

    Examples
    --------
    >>> from hornbeam import theory
    >>> mean, error = theory.measured_share(1000)
    >>> abs(mean - theory.distinct_share(1000)) < 4 * error
    True
    """
    size = SampleSize(n_rows if n_draws is None else n_draws, 1, bootstrap=True)
    sampler = Sampler(seed, (n_rows, 1), size)
    samples = (sampler.rows(number, 1)[0] for number in range(n_samples))
    shares = np.array([len(np.unique(rows)) / n_rows for rows in samples])
    error = shares.std(ddof=1) / np.sqrt(n_samples) if n_samples > 1 else np.inf
    return float(shares.mean()), float(error)

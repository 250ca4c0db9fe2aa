"""What averaging does to the variance of models that resemble each other."""

from __future__ import annotations

from numbers import Integral


def variance_of_average(variance: float, correlation: float, n_models: int) -> float:
    """Return the variance of the mean of models that are correlated.

    Parameters
    ----------
    variance : float
        Of each model.
    correlation : float
        Between any two of them.
    n_models : int

    Returns
    -------
    float

    Notes
    -----
    ::

        Var(mean of M) = rho s^2 + (1 - rho) s^2 / M

    More models take away the second term only, which is why forests make their trees differ
    (random rows, random features): that lowers rho. Not every correlation can be: M models
    cannot all disagree, so ``rho >= -1 / (M - 1)``.

    Examples
    --------
    >>> from hornbeam import theory
    >>> theory.variance_of_average(1.0, 0.0, 100), theory.variance_of_average(1.0, 0.5, 100)
    (0.01, 0.505)
    """
    if not isinstance(n_models, Integral) or n_models < 1:
        raise ValueError(f"n_models must be a whole number from 1, got {n_models!r}.")
    if not variance >= 0.0:
        raise ValueError(f"variance must not be negative, got {variance!r}.")
    least = -1.0 if n_models == 1 else -1.0 / (n_models - 1)
    if not least <= correlation <= 1.0:
        raise ValueError(
            f"correlation must be from {least:.4g} to 1 for {n_models} models, got {correlation!r}."
        )
    return float(correlation * variance + (1.0 - correlation) * variance / n_models)

"""A picture of the margins of a boosted ensemble: `hornbeam.plot_margins`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def plot_margins(
    model: Any, X: Any, y: Any, rounds: Sequence[int] | None = None, ax: Any = None
) -> Any:
    """Draw which share of the rows has at most which margin (Schapire and others 1998).

    The more rows have a large margin, the surer the ensemble is of what it gets right. That the
    line goes on moving to the right after the last training error is gone is why AdaBoost seldom
    overfits.

    Parameters
    ----------
    model : AdaBoostClassifier
        Fitted.
    X : table of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    rounds : sequence of int, optional
        After how many rounds; a line each. By default after some, and after all.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import hornbeam as hb
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = hb.AdaBoostClassifier(n_estimators=20).fit(X, y)
    >>> hb.plot_margins(model, X, y, rounds=(5, 20)).get_xlabel()
    'margin'
    """
    import matplotlib.pyplot as plt

    if not hasattr(model, "staged_margins"):
        raise TypeError(f"plot_margins draws an AdaBoostClassifier, not a {type(model).__name__}.")
    last = len(model.estimators_)
    chosen = sorted(set(rounds or (min(5, last), -(-last // 4), last)))
    if chosen[0] < 1 or chosen[-1] > last:
        raise ValueError(f"rounds={list(chosen)} must be from 1 to the {last} rounds there are.")
    if ax is None:
        _, ax = plt.subplots()
    for number, margins in enumerate(model.staged_margins(X, y), 1):
        if number in chosen:
            share = np.arange(1, len(margins) + 1) / len(margins)
            ax.step(np.sort(margins), share, where="post", label=f"{number} rounds")
    ax.axvline(0.0, color="grey", linewidth=0.8)
    ax.set_xlabel("margin")
    ax.set_ylabel("share of rows with at most this margin")
    ax.legend()
    return ax

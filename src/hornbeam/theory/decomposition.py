"""Bias and variance of any estimator, measured by fitting it again and again.

Squared loss is decomposed as in every textbook, 0-1 loss as by Domingos (2000). What is not known
is the noise of the target, so it is part of the bias, as in Domingos' own experiments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import check_random_state

from hornbeam.combine.adaboost.members import seed_member
from hornbeam.data.sampling import Sampler, SampleSize
from hornbeam.dtypes import Array


@dataclass(frozen=True)
class BiasVariance:
    """What the mean loss of an estimator on test rows is made of.

    Attributes
    ----------
    loss : float
        Mean loss over all fits and test rows.
    bias : float
        Loss of the main prediction: the mean of the fits, or what most of them predict. With
        squared loss that is the squared bias and the noise.
    variance : float
        How far fits are from the main prediction. With 0-1 loss: what it adds to the loss, that
        is `unbiased_variance` minus `biased_variance` (with more than two classes, only the part
        of the latter where the fits become right).
    unbiased_variance, biased_variance : float
        Of 0-1 loss: disagreement with a main prediction that is right does harm, and with one
        that is wrong it may do good. Of squared loss: the variance, and 0.
    n_fits : int
    """

    loss: float
    bias: float
    variance: float
    unbiased_variance: float
    biased_variance: float
    n_fits: int


def bias_variance(
    estimator: Any,
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any,
    *,
    n_fits: int = 30,
    max_samples: float = 0.5,
    bootstrap: bool = False,
    random_state: Any = None,
) -> BiasVariance:
    """Measure bias and variance of an estimator by fitting it on many samples of the rows.

    Parameters
    ----------
    estimator : estimator
        Any of scikit-learn's kind. A classifier is measured by 0-1 loss, a regressor by the
        squared one.
    X, y
        The rows that samples are drawn from.
    X_test, y_test
        The rows whose predictions are compared.
    n_fits : int
        How often it is fitted.
    max_samples : float
        Share of the rows in a sample. Without replacement, fits on small samples of many rows
        are the closest to fits on tables of their own.
    bootstrap : bool
        Draw with replacement.
    random_state : int, RandomState instance or None

    Returns
    -------
    BiasVariance

    Notes
    -----
    Squared loss, with the mean prediction m(x) over all fits f::

        E (y - f)^2 = (y - m)^2 + E (f - m)^2             loss = bias + variance

    0-1 loss (Domingos 2000), with the prediction m(x) that most fits make, B(x) = [m != y]
    and V(x) = P(f != m)::

        P(f != y) = B + c V,   c = 1 where B = 0;  c = -P(f = y | f != m) where B = 1

    so that variance harms where the main prediction is right, and helps where it is wrong. With two
    classes c is 1 or -1. Means over the test rows of both sides are what is returned.

    Examples
    --------
    >>> import hornbeam as hb
    >>> from hornbeam import theory
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> stump = hb.DecisionTreeClassifier(max_depth=1)
    >>> found = theory.bias_variance(stump, X[:400], y[:400], X[400:], y[400:], random_state=0)
    >>> abs(found.loss - found.bias - found.variance) < 1e-12
    True
    """
    if n_fits < 2:
        raise ValueError(f"n_fits={n_fits} shows no variance: choose at least 2.")
    if not 0.0 < max_samples <= 1.0:
        raise ValueError(f"max_samples must be a share above 0, up to 1, got {max_samples!r}.")
    predicted = _refit(
        estimator, X, y, X_test, n_fits, max_samples, bootstrap, check_random_state(random_state)
    )
    y_test = np.asarray(y_test)
    if predicted.shape[1:] != y_test.shape:
        raise ValueError(
            f"y_test has shape {y_test.shape}, but predictions of X_test {predicted.shape[1:]}."
        )
    return (_of_classes if is_classifier(estimator) else _of_numbers)(predicted, y_test)


def _refit(
    estimator: Any,
    X: Any,
    y: Any,
    X_test: Any,
    n_fits: int,
    max_samples: float,
    bootstrap: bool,
    random: np.random.RandomState,
) -> Array:
    """What each fit predicts for the test rows."""
    from sklearn.utils import _safe_indexing

    n_rows = len(y)
    n_drawn = max(1, round(max_samples * n_rows))
    size = SampleSize(n_drawn, 1, bootstrap=bootstrap)
    sampler = Sampler(int(random.randint(2**31 - 1)), (n_rows, 1), size)
    found = []
    for number in range(n_fits):
        rows = np.sort(sampler.rows(number, 1)[0])
        member = clone(estimator)
        seed_member(member, random)
        member.fit(_safe_indexing(X, rows), _safe_indexing(y, rows))
        found.append(np.asarray(member.predict(X_test)))
    return np.stack(found)


def _of_numbers(predicted: Array, y: Array) -> BiasVariance:
    main = predicted.mean(axis=0)
    bias = float(((y - main) ** 2).mean())
    variance = float(((predicted - main) ** 2).mean())
    loss = float(((y - predicted) ** 2).mean())
    return BiasVariance(loss, bias, variance, variance, 0.0, len(predicted))


def _of_classes(predicted: Array, y: Array) -> BiasVariance:
    classes, numbers = np.unique(predicted, return_inverse=True)
    numbers = numbers.reshape(predicted.shape)
    counts = np.stack([(numbers == number).sum(axis=0) for number in range(len(classes))])
    main = classes[counts.argmax(axis=0)]
    biased = main != y
    wrong, other = (predicted != y).mean(axis=0), (predicted != main).mean(axis=0)
    right_again = (predicted == y).mean(axis=0)  # where the main prediction is wrong
    harm = float(np.where(biased, 0.0, other).mean())
    good = float(np.where(biased, right_again, 0.0).mean())
    bias = float(biased.mean())
    return BiasVariance(float(wrong.mean()), bias, harm - good, harm, good, len(predicted))


def plot_bias_variance(found: Mapping[str, BiasVariance], ax: Any = None) -> Any:
    """Draw bias and variance of several estimators as bars, their losses as marks.

    Parameters
    ----------
    found : mapping of str to BiasVariance
        By the names of the estimators.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from hornbeam import theory
    >>> some = theory.BiasVariance(0.3, 0.2, 0.1, 0.1, 0.0, 30)
    >>> theory.plot_bias_variance({"stump": some}).get_ylabel()
    'mean loss'
    """
    import matplotlib.pyplot as plt

    if not found:
        raise ValueError("There is nothing to draw: pass a name and a BiasVariance at least.")
    if ax is None:
        _, ax = plt.subplots()
    place, names = np.arange(len(found)), list(found)
    parts = {"bias": [], "variance": [], "loss": []}  # type: dict[str, list[float]]
    for one in found.values():
        for name, values in parts.items():
            values.append(getattr(one, name))
    ax.bar(place - 0.2, parts["bias"], 0.4, label="bias")
    ax.bar(place + 0.2, parts["variance"], 0.4, label="variance")
    ax.plot(place, parts["loss"], "k_", markersize=24, label="loss")
    ax.set_xticks(place, names)
    ax.set_ylabel("mean loss")
    ax.legend()
    return ax

"""AdaBoost for numbers: `AdaBoostRegressor`, by Drucker's AdaBoost.R2."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from sklearn.base import RegressorMixin, is_classifier
from sklearn.metrics import r2_score

from hornbeam.combine.adaboost.base import BaseAdaBoost
from hornbeam.combine.adaboost.committee import Ranked, committee_of
from hornbeam.combine.adaboost.members import Members
from hornbeam.combine.adaboost.rounds import Round, drucker
from hornbeam.data.target import read_values, warn_column_vector
from hornbeam.dtypes import Array
from hornbeam.model.registry import register_estimator
from hornbeam.params import declared
from hornbeam.tree.estimators import DecisionTreeRegressor


@register_estimator
@declared
class AdaBoostRegressor(RegressorMixin, BaseAdaBoost):  # type: ignore[misc]
    """AdaBoost.R2: regressors fitted one after the other, each on what was predicted badly.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted members.
    estimator_weights_ : array
        What each member weighs in the median.
    estimator_errors_ : array
        Relative error of each member on the weighted rows.
    feature_importances_ : array
        Only if the members have any.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had names.

    Examples
    --------
    >>> import hornbeam as hb
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = hb.AdaBoostRegressor(n_estimators=20, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.5)
    True
    """

    _declared_as = {  # noqa: RUF012
        "estimator": "adaboost_regressor",
        "n_estimators": "adaboost_rounds",
        "learning_rate": "adaboost_rate",
        "loss": "adaboost_loss",
        "random_state": "adaboost_random_state",
        "resample": "adaboost_resample",
        "early_stopping": "adaboost_stopping",
        "validation_fraction": "adaboost_fraction",
        "n_iter_no_change": "adaboost_patience",
        "n_jobs": "adaboost_jobs",
        "verbose": "adaboost_verbose",
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        loss: str = "linear",
        random_state: Any = None,
        resample: bool = True,
        early_stopping: bool | Literal["auto"] = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        n_jobs: int | None = None,
        verbose: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.loss = loss
        self.random_state = random_state
        self.resample = resample
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting --------------------------------------------------------------------

    def _default(self) -> Any:
        return DecisionTreeRegressor(max_depth=3)

    def _read_target(self, y: Any) -> Array:
        maker = self._maker
        if is_classifier(maker):
            raise ValueError(
                f"AdaBoostRegressor needs a regressor, but estimator is a "
                f"{type(maker).__name__}. Choose a regressor, or AdaBoostClassifier."
            )
        values = read_values(y, type(self).__name__)
        if values.shape[1] > 1:
            raise ValueError(
                f"y has {values.shape[1]} outputs, but AdaBoostRegressor takes one. Fit one "
                "ensemble per output (sklearn.multioutput.MultiOutputRegressor)."
            )
        warn_column_vector(y)
        return values[:, 0]

    def _rounds(
        self, members: Members, target: Array, weight: Array, random: np.random.RandomState
    ) -> Iterator[Round]:
        draw = random if self.resample else None
        return drucker(members, target, weight, self.loss, self.learning_rate, draw)

    def _watcher(self, members: Members, target: Array, weight: Array) -> HeldMedians:
        return HeldMedians(members, target, weight)

    # --- prediction -----------------------------------------------------------------

    def predict(self, X: Any) -> Array:
        """Predict the target of each row: the weighted median of what the members predict.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)

        Notes
        -----
        The least y such that the members which predict at most y have half of the weight::

            inf{y : sum of weights of members with y_m <= y  >=  sum of all weights / 2}

        It is what one of the members predicts.
        """
        return committee_of(self).medians(X, self)

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Predict the target of each row after each round.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Yields
        ------
        array of shape (n_samples,)
        """
        ranked = committee_of(self).ranked(X, self)
        for first in range(1, len(self.estimators_) + 1):
            yield ranked.medians(first, self.n_jobs)

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Return R2 after each round.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Yields
        ------
        float
        """
        for predicted in self.staged_predict(X):
            yield float(r2_score(y, predicted, sample_weight=sample_weight))


class HeldMedians:
    """How far the medians for held-out rows are off, round by round."""

    def __init__(self, members: Members, target: Array, weight: Array) -> None:
        self.members, self.target, self.weight = members, target, weight / weight.sum()
        self.values: list[Array] = []
        self.weights: list[float] = []

    def add(self, one: Round) -> float:
        """Add a member; returns the mean squared error."""
        self.values.append(self.members.predict(one.member, 1))
        self.weights.append(one.weight)
        ranked = Ranked.of(np.column_stack(self.values), np.array(self.weights))
        return float(self.weight @ (ranked.medians(None, 1) - self.target) ** 2)

    def remember(self) -> None:
        """Nothing is asked of the best round later."""

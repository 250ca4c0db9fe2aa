"""AdaBoost for classes: `AdaBoostClassifier`, by SAMME or SAMME.R."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from hornbeam.combine.adaboost.base import BaseAdaBoost
from hornbeam.combine.adaboost.committee import committee_of
from hornbeam.combine.adaboost.members import Members
from hornbeam.combine.adaboost.rounds import LEAST, Round, samme, samme_r
from hornbeam.data.target import read_classes, warn_column_vector, warn_weightless
from hornbeam.dtypes import Array
from hornbeam.model.registry import is_registered, register_estimator
from hornbeam.params import declared
from hornbeam.probabilities import Probabilities
from hornbeam.tree.estimators import DecisionTreeClassifier

# Between these factors the one is sought by which held-out rows trust the votes most.
_LEAST_TRUST, _MOST_TRUST = 1e-4, 1e2


@register_estimator
@declared
class AdaBoostClassifier(Probabilities, BaseAdaBoost):
    """AdaBoost: classifiers fitted one after the other, each on what the earlier ones got wrong.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted members.
    estimator_weights_ : array
        What the vote of each member weighs.
    estimator_errors_ : array
        Share of the weight of the rows that each member gets wrong.
    training_error_bound_ : array
        What the error on the training rows is not above after each round; only of SAMME.
    calibration_ : float
        What votes are multiplied with before they become probabilities; 1 unless `calibrate`.
    classes_ : array
    n_classes_ : int
    feature_importances_ : array
        Only if the members have any.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had names.

    Examples
    --------
    >>> import hornbeam as hb
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = hb.AdaBoostClassifier(n_estimators=30).fit(X, y)
    >>> bool(model.score(X, y) > 0.98 and model.training_error_bound_[-1] < 0.2)
    True
    """

    _declared_as = {  # noqa: RUF012
        "estimator": "adaboost_classifier",
        "n_estimators": "adaboost_rounds",
        "learning_rate": "adaboost_rate",
        "algorithm": "adaboost_algorithm",
        "random_state": "adaboost_random_state",
        "early_stopping": "adaboost_stopping",
        "validation_fraction": "adaboost_fraction",
        "n_iter_no_change": "adaboost_patience",
        "calibrate": "adaboost_calibrate",
        "n_jobs": "adaboost_jobs",
        "verbose": "adaboost_verbose",
    }
    classes_: Array
    n_classes_: int
    calibration_: float

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        algorithm: str = "SAMME",
        random_state: Any = None,
        early_stopping: bool | Literal["auto"] = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        calibrate: bool = False,
        n_jobs: int | None = None,
        verbose: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.algorithm = algorithm
        self.random_state = random_state
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.calibrate = calibrate
        self.n_jobs = n_jobs
        self.verbose = verbose

    # --- fitting --------------------------------------------------------------------

    def _default(self) -> Any:
        return DecisionTreeClassifier(max_depth=1)

    def _read_target(self, y: Any) -> Array:
        maker = self._maker
        if is_regressor(maker) or (is_registered(maker) and not is_classifier(maker)):
            raise ValueError(
                f"AdaBoostClassifier needs a classifier, but estimator is a "
                f"{type(maker).__name__}. Choose a classifier, or AdaBoostRegressor."
            )
        classes = read_classes(y, type(self).__name__)
        if len(classes.names) > 1:
            raise ValueError(
                f"y has {len(classes.names)} outputs, but AdaBoostClassifier takes one. Fit one "
                "ensemble per output (sklearn.multioutput.MultiOutputClassifier)."
            )
        warn_column_vector(y)
        self.classes_ = classes.names[0]
        self.n_classes_, self.calibration_ = len(self.classes_), 1.0
        return self.classes_[classes.labels[:, 0]]

    def _check_weights(self, y: Any, weight: Array) -> None:
        warn_weightless(weight, read_classes(y, type(self).__name__))

    def _rounds(
        self, members: Members, target: Array, weight: Array, random: np.random.RandomState
    ) -> Iterator[Round]:
        rounds = samme_r if self.algorithm == "SAMME.R" else samme
        labels = self._class_numbers(target)
        return rounds(members, labels, weight, self.n_classes_, self.learning_rate)

    # --- rows held out --------------------------------------------------------------

    @property
    def _holds_out(self) -> bool:
        return super()._holds_out or self.calibrate

    def _class_numbers(self, target: Array) -> Array:
        return np.searchsorted(self.classes_, target)

    def _watcher(self, members: Members, target: Array, weight: Array) -> HeldVotes:
        labels = self._class_numbers(target)
        return HeldVotes(members, labels, weight, self.n_classes_, self.algorithm == "SAMME.R")

    def _settle(self, watch: HeldVotes) -> None:
        if self.calibrate:
            self.calibration_ = watch.trust()

    # --- prediction -----------------------------------------------------------------

    def predict(self, X: Any) -> Array:
        """Predict the class of each row: the most probable one.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        return self._named(self.predict_proba(X))

    def predict_proba(self, X: Any) -> Array:
        """Predict the probability of each class, by the link of the exponential loss.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)

        Notes
        -----
        SAMME minimises ``E exp(-y . f / K)`` where y is 1 for the class and -1/(K-1) for the
        others, and f sums to 0. The minimum has ``f_k = (K-1) (log p_k - mean_j log p_j)``, so
        ``p = softmax(f / (K-1))``. With votes ``V_k``, the sum of the weights alpha of the
        members that choose class k, f is ``(K-1) (V_k - mean_j V_j)``, and that is::

            p_k = exp(V_k) / sum_j exp(V_j)

        With two classes, ``1 / (1 + exp(-2 F))`` where F is half the sum of alpha times +1 or -1.
        SAMME.R has ``V_k = learning_rate * sum_m log p_k^(m)``.
        """
        return self._shares(committee_of(self).scores(X, self))

    def decision_function(self, X: Any) -> Array:
        """Return the weighted mean vote for each class, as scikit-learn has it.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            A vote is 1 for a class and -1/(K-1) for the others, so the mean is from -1/(K-1) to 1.
            With two classes: the difference of both, from -2 to 2.
        """
        scores = committee_of(self).scores(X, self)
        return self._decision(scores, float(self.estimator_weights_.sum()))

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Predict the class of each row after each round.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Yields
        ------
        array of shape (n_samples,)
        """
        for shares in self.staged_predict_proba(X):
            yield self._named(shares)

    def staged_predict_proba(self, X: Any) -> Iterator[Array]:
        """Predict the probability of each class after each round.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Yields
        ------
        array of shape (n_samples, n_classes)
        """
        for scores in committee_of(self).staged_scores(X, self):
            yield self._shares(scores)

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """Return the weighted mean vote for each class after each round.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Yields
        ------
        array of shape (n_samples,) or (n_samples, n_classes)
        """
        committee = committee_of(self)
        weights = np.cumsum(self.estimator_weights_)
        for scores, weight in zip(committee.staged_scores(X, self), weights, strict=True):
            yield self._decision(scores, float(weight))

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Return the accuracy after each round.

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
            yield float(accuracy_score(y, predicted, sample_weight=sample_weight))

    # --- margins --------------------------------------------------------------------

    def margins(self, X: Any, y: Any) -> Array:
        """Return by how much the votes for the right class are ahead of those for any other.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        array of shape (n_samples,)
            Between -1 and 1: difference of the shares of all votes; at most 0 means a wrong
            prediction, or a tie. Of SAMME.R: mean logarithm of the ratio of both probabilities.
        """
        scores = committee_of(self).scores(X, self)
        return self._ahead(scores, y, float(self.estimator_weights_.sum()))

    def staged_margins(self, X: Any, y: Any) -> Iterator[Array]:
        """Return the margins after each round.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Yields
        ------
        array of shape (n_samples,)
        """
        weights = np.cumsum(self.estimator_weights_)
        stages = committee_of(self).staged_scores(X, self)
        for scores, weight in zip(stages, weights, strict=True):
            yield self._ahead(scores, y, float(weight))

    @property
    def training_error_bound_(self) -> Array:
        """What the (weighted) error on the training rows is not above after each round.

        Notes
        -----
        A row of class c that is predicted as another has at most half of all votes for c, so
        ``[wrong] <= exp(sum_m alpha_m (1/2 - [member m is right]))``. The sum of that over the
        weighted rows is a product, since each round multiplies the weights by its factor::

            prod_m exp(alpha_m / 2) (err_m + (1 - err_m) exp(-alpha_m))

        With two classes and ``learning_rate=1`` that is ``prod_m 2 sqrt(err_m (1 - err_m))``, the
        exponential loss itself. More classes need members with err < 1/K to lower it; it is never
        above 1, and may rise.
        """
        check_is_fitted(self, "estimators_")
        if self.algorithm != "SAMME":
            raise AttributeError(
                "training_error_bound_ is a product over the weighted errors of members, by which "
                "only algorithm='SAMME' weighs them."
            )
        alpha, error = self.estimator_weights_, self.estimator_errors_
        factors = np.log(error + (1.0 - error) * np.exp(-alpha)) + alpha / 2.0
        return np.minimum(np.exp(np.cumsum(factors)), 1.0)

    # --- from scores ----------------------------------------------------------------

    def _shares(self, scores: Array) -> Array:
        return np.asarray(softmax(self.calibration_ * scores, axis=1))

    def _named(self, shares: Array) -> Array:
        return self.classes_[shares.argmax(axis=1)]

    def _decision(self, scores: Array, weight: float) -> Array:
        n_classes = self.n_classes_
        if self.algorithm == "SAMME.R":  # as if each member had voted its h
            mean = (n_classes - 1) * (scores - scores.mean(axis=1, keepdims=True)) / weight
        else:
            mean = (n_classes * scores / weight - 1.0) / max(1, n_classes - 1)
        if n_classes == 2:
            return np.asarray(mean[:, 1] - mean[:, 0])
        return np.asarray(mean[:, 0] if n_classes == 1 else mean)

    def _ahead(self, scores: Array, y: Any, weight: float) -> Array:
        known = read_classes(y, type(self).__name__)
        labels = np.searchsorted(self.classes_, known.names[0])[known.labels[:, 0]]
        place = np.minimum(labels, self.n_classes_ - 1)
        strange = self.classes_[place] != known.names[0][known.labels[:, 0]]
        if strange.any() or len(labels) != len(scores):
            raise ValueError(
                f"Margins need a class of {self.classes_.tolist()[:10]} for each of the "
                f"{len(scores)} rows of X."
            )
        rows = np.arange(len(scores))
        own = scores[rows, labels]
        others = scores.copy()
        others[rows, labels] = -np.inf
        best = others.max(axis=1) if self.n_classes_ > 1 else np.zeros(len(scores))
        return np.asarray((own - best) / weight)


class HeldVotes:
    """What the votes for held-out rows come to, round by round."""

    def __init__(
        self, members: Members, labels: Array, weight: Array, n_classes: int, by_shares: bool
    ) -> None:
        self.members, self.labels, self.by_shares = members, labels, by_shares
        self.weight = weight / weight.sum()
        self.scores = np.zeros((len(labels), n_classes))
        self.best = self.scores

    def add(self, one: Round) -> float:
        """Add the votes of a member; returns the share of wrong rows."""
        if self.by_shares:
            shares = self.members.shares(one.member, 1)
            self.scores = self.scores + one.weight * np.log(np.maximum(shares, LEAST))
        else:
            votes = self.members.predict(one.member, 1)
            self.scores = self.scores + one.weight * np.eye(self.scores.shape[1])[votes]
        return float(self.weight @ (self.scores.argmax(axis=1) != self.labels))

    def remember(self) -> None:
        """Note that there was no better round before."""
        self.best = self.scores

    def trust(self) -> float:
        """The factor of the votes by which the held-out rows are the most probable."""
        rows = np.arange(len(self.labels))

        def loss(exponent: float) -> float:
            logs = log_softmax(np.exp(exponent) * self.best, axis=1)
            return -float(self.weight @ logs[rows, self.labels])

        limits = np.log(_LEAST_TRUST), np.log(_MOST_TRUST)
        return float(np.exp(minimize_scalar(loss, bounds=limits, method="bounded").x))

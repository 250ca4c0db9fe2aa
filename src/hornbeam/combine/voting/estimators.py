"""Voting and averaging: `VotingClassifier` and `VotingRegressor`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from hornbeam.combine.crossfit import FitInput, HeldOut, cross_fit, mean_blocks
from hornbeam.combine.named import (
    NamedClassifier,
    NamedEnsemble,
    NamedRegressor,
    is_there,
    prefitted,
)
from hornbeam.combine.outputs import method_of
from hornbeam.data.folds import Split, read_folds
from hornbeam.dtypes import Array
from hornbeam.model.registry import register_estimator
from hornbeam.params import declared
from hornbeam.probabilities import Probabilities

FOLDS_KEY = 7


class BaseVoting(NamedEnsemble):
    """What both kinds of voting share."""

    weights: Any
    prefit: bool
    cv: Any
    weights_: Array

    @property
    def _asked(self) -> str:
        """What members are asked."""
        return "predict"

    def _fit(self, given: FitInput) -> None:
        named, weights = self._members(), self._read_weights()
        methods = [method_of(name, member, self._asked) for name, member in named]
        held: HeldOut | None = None
        if self.prefit:
            self.models_ = prefitted(named, given.classes)
            held = self._asked_now(given) if weights is None else None
        else:
            folds = self._folds(given) if weights is None else []
            with self._bar("voting", (len(folds) + 1) * len(named)) as bar:
                arguments = given, named, methods, folds, True, self.n_jobs, bar
                self.models_, held = cross_fit(*arguments, keep_folds=False)
        if held is not None:
            weights = self._select(given, held, self._asked == "predict")
        assert weights is not None
        self.weights_ = weights

    def _read_weights(self) -> Array | None:
        """The weights of the members that are not dropped; None if they are to be found."""
        there = [is_there(member) for _, member in self.estimators]
        if isinstance(self.weights, str):
            return None
        if self.weights is None:
            return np.ones(sum(there))
        weights = np.asarray(self.weights, np.float64)
        if weights.shape != (len(there),):
            raise ValueError(
                "Number of `estimators` and weights must be equal; got "
                f"{weights.size} weights, {len(there)} estimators."
            )
        chosen = weights[there]
        if not np.isfinite(chosen).all() or (chosen < 0.0).any() or not chosen.any():
            raise ValueError(
                f"weights={list(self.weights)} must be finite numbers from 0 up, and one of them "
                "above 0."
            )
        return chosen

    def _folds(self, given: FitInput) -> list[Split]:
        splits = self._splits(given, FOLDS_KEY)
        return read_folds(self.cv, splits, given.rows.table, given.target, given.kin.groups)

    def _asked_now(self, given: FitInput) -> HeldOut:
        """What members that were fitted before say of all rows."""
        arguments = self.models_, self._methods, given.classes, given.rows, self.n_jobs
        blocks = [block for block in mean_blocks(*arguments) if block is not None]
        return HeldOut(np.arange(given.rows.n_rows), blocks)

    @property
    def _methods(self) -> list[str]:
        return [self._asked] * len(self.models_)

    def _shares_of_members(self) -> Array:
        return self.weights_ / self.weights_.sum()

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the columns that `transform` makes.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        array of str
        """
        check_is_fitted(self)
        own = type(self).__name__.lower()
        names = [name for name, member in self.estimators if is_there(member)]
        return np.asarray([f"{own}_{name}{i}" for name in names for i in self._columns()], object)

    def _columns(self) -> list[Any]:
        """What is added to the name of a member for each of its columns."""
        return [""]


def _is_soft(self: Any) -> bool:
    if self.voting != "soft":
        raise AttributeError(
            f"predict_proba is not available when voting={self.voting!r}: votes are no "
            "probabilities. Choose voting='soft'."
        )
    return True


@register_estimator
@declared
class VotingClassifier(Probabilities, NamedClassifier, BaseVoting):
    """Classifiers that vote, or whose probabilities are averaged.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted members that are not dropped.
    named_estimators_ : Bunch
        The same by their names.
    weights_ : array
        What each of them counts.
    classes_ : array
    n_classes_ : int
    feature_importances_ : array
        Weighted mean of those of the members; only if all have any.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had names.

    Examples
    --------
    >>> import hornbeam as hb
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> members = [("tree", hb.DecisionTreeClassifier(max_depth=3)), ("bayes", GaussianNB())]
    >>> model = hb.VotingClassifier(members, voting="soft", weights=[1, 2]).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _declared_as = {  # noqa: RUF012
        "estimators": "named_estimators",
        "voting": "voting_voting",
        "weights": "voting_weights",
        "n_jobs": "named_jobs",
        "flatten_transform": "voting_flatten",
        "verbose": "named_verbose",
        "prefit": "voting_prefit",
        "cv": "named_cv",
        "random_state": "named_random_state",
    }
    voting: str
    flatten_transform: bool

    def __init__(
        self,
        estimators: Any,
        *,
        voting: str = "hard",
        weights: Any = None,
        n_jobs: int | None = None,
        flatten_transform: bool = True,
        verbose: Any = None,
        prefit: bool = False,
        cv: Any = None,
        random_state: Any = None,
    ) -> None:
        self.estimators = estimators
        self.voting = voting
        self.weights = weights
        self.n_jobs = n_jobs
        self.flatten_transform = flatten_transform
        self.verbose = verbose
        self.prefit = prefit
        self.cv = cv
        self.random_state = random_state

    @property
    def _asked(self) -> str:
        return "predict_proba" if self.voting == "soft" else "predict"

    def predict(self, X: Any) -> Array:
        """Predict the class of each row: the one with the most votes, or the most probable.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
            Of equal classes the first in `classes_`.
        """
        check_is_fitted(self)
        return self._named(self._mean(X, self.weights_))

    @available_if(_is_soft)
    def predict_proba(self, X: Any) -> Array:
        """Predict the probability of each class: the weighted mean over the members.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
            Only there with ``voting='soft'``.
        """
        check_is_fitted(self)
        return self._mean(X, self.weights_)

    @available_if(_is_soft)
    def predict_log_proba(self, X: Any) -> Array:
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
            Only there with ``voting='soft'``.
        """
        return np.asarray(super().predict_log_proba(X))

    def transform(self, X: Any) -> Array:
        """Return what each member says.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_members) or (n_samples, n_members * n_classes)
            Numbers of the classes that members vote for; their probabilities with
            ``voting='soft'``, which without ``flatten_transform`` have the shape
            (n_members, n_samples, n_classes).
        """
        blocks = self._blocks(X)
        if self.voting == "hard":
            return np.stack([block.argmax(axis=1) for block in blocks], axis=1)
        return np.hstack(blocks) if self.flatten_transform else np.asarray(blocks)

    def _columns(self) -> list[Any]:
        if self.voting == "hard":
            return [""]
        if not self.flatten_transform:
            raise ValueError(
                "get_feature_names_out is not supported when `voting='soft'` and "
                "`flatten_transform=False`"
            )
        return list(range(self.n_classes_))


@register_estimator
@declared
class VotingRegressor(RegressorMixin, NamedRegressor, BaseVoting):  # type: ignore[misc]
    """Regressors whose predictions are averaged.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted members that are not dropped.
    named_estimators_ : Bunch
        The same by their names.
    weights_ : array
        What each of them counts.
    feature_importances_ : array
        Weighted mean of those of the members; only if all have any.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had names.

    Examples
    --------
    >>> import hornbeam as hb
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 2.0, 4.0, 6.0]
    >>> members = [("line", LinearRegression()), ("tree", hb.DecisionTreeRegressor())]
    >>> hb.VotingRegressor(members).fit(X, y).predict([[1.0]]).round(6).tolist()
    [2.0]
    """

    _declared_as = {  # noqa: RUF012
        name: declared_as
        for name, declared_as in VotingClassifier._declared_as.items()
        if name not in ("voting", "flatten_transform")
    }

    def __init__(
        self,
        estimators: Any,
        *,
        weights: Any = None,
        n_jobs: int | None = None,
        verbose: Any = None,
        prefit: bool = False,
        cv: Any = None,
        random_state: Any = None,
    ) -> None:
        self.estimators = estimators
        self.weights = weights
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.prefit = prefit
        self.cv = cv
        self.random_state = random_state

    def predict(self, X: Any) -> Array:
        """Predict the target of each row: the weighted mean over the members.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self)
        return self._mean(X, self.weights_)[:, 0]

    def transform(self, X: Any) -> Array:
        """Return what each member predicts.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_members)
        """
        return np.hstack(self._blocks(X))

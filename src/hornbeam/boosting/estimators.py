"""Gradient boosting: `GradientBoostingClassifier` and `GradientBoostingRegressor`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from hornbeam.boosting.base import COMMON, BaseGradientBoosting
from hornbeam.boosting.defaults import Auto
from hornbeam.boosting.rows import TrainingRows, read_one_column, relabel
from hornbeam.boosting.schedule import Rate
from hornbeam.data.folds import Splits
from hornbeam.data.target import (
    check_length,
    read_classes,
    warn_column_vector,
    warn_weightless,
    weigh_classes,
)
from hornbeam.dtypes import Array
from hornbeam.model.registry import register_estimator
from hornbeam.params import declared
from hornbeam.probabilities import Probabilities


@register_estimator
@declared
class GradientBoostingRegressor(RegressorMixin, BaseGradientBoosting):  # type: ignore[misc]
    """Gradient boosting of regression trees.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    trees_ : sequence of Tree
        The trees; their values include the learning rate.
    schema_ : Schema
        Names, kinds and categories of the columns.
    n_iter_ : int
        Rounds in the model.
    learning_rate_ : float
        The learning rate, also where it was found (``learning_rate="auto"``); of a schedule
        the mean.
    growth_ : str
        How the trees were grown, also where that was found (``growth="auto"``).
    colsample_bynode_ : float
        The share of the features that a node could ask, also where that was found.
    history_ : dict of str to array
        What was measured after each round: the mean loss by the name of the rows, "train",
        "validation" or yours (of squared errors half the square), and what ``scoring`` asks
        for, such as "validation r2".
    calibration_ : array
        What is added to each quantile; only with ``calibrate=True``.
    bundles_ : list of lists of int
        The columns of X that were counted together, bundle by bundle.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had names.
    feature_importances_ : array
    coef_, intercept_, term_names_ : array, float or array, list of str
        Only with ``booster='linear'``: the coefficients, and what they belong to. Without
        categories and missing values these are the features.

    Examples
    --------
    >>> import hornbeam as hb
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [20.0, 20.0, 30.0, 30.0]
    >>> model = hb.GradientBoostingRegressor(min_samples_leaf=1).fit(X, y)
    >>> model.predict([[0.4], [2.6]]).round(1)
    array([20., 30.])
    """

    _task = "regression"
    _declared_as = {**COMMON, "loss": "regression_loss"}  # noqa: RUF012

    def __init__(
        self,
        *,
        loss: Any = "squared_error",
        booster: str = "trees",
        n_estimators: int = 100,
        learning_rate: Rate = "auto",
        max_leaf_nodes: int | None = 31,
        max_depth: int | Auto | None = "auto",
        min_samples_leaf: int | Auto = "auto",
        min_child_weight: float = 1e-3,
        min_split_gain: float = 0.0,
        reg_lambda: float | Auto = "auto",
        reg_alpha: float = 0.0,
        max_delta_step: float = 0.0,
        growth: str = "auto",
        order: int = 2,
        subsample: float = 1.0,
        sampling: str = "uniform",
        top_rate: float = 0.2,
        other_rate: float = 0.1,
        colsample_bytree: float = 1.0,
        colsample_bylevel: float = 1.0,
        colsample_bynode: float | Auto = "auto",
        feature_weights: Any = None,
        max_bins: int = 255,
        split: str = "histogram",
        candidates: str = "global",
        eps: float = 0.03,
        bundle_features: bool = True,
        max_conflict_rate: float = 0.0,
        categorical_features: Any = "from_dtype",
        category_split: str = "subset",
        category_smooth: float | Auto = "auto",
        category_l2: float = 10.0,
        category_limit: int | None = None,
        category_rows: int = 0,
        unseen: str = "missing",
        monotonic_cst: Any = None,
        interaction_constraints: Any = None,
        quantile: Any = 0.5,
        calibrate: bool = False,
        huber_quantile: float = 0.9,
        tweedie_power: float = 1.5,
        drop_rate: float = 0.0,
        skip_drop: float = 0.5,
        early_stopping: bool | Auto = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        tol: float = 1e-7,
        scoring: Any = "loss",
        warm_start: bool = False,
        verbose: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
        self.booster = booster
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_child_weight = min_child_weight
        self.min_split_gain = min_split_gain
        self.reg_lambda = reg_lambda
        self.reg_alpha = reg_alpha
        self.max_delta_step = max_delta_step
        self.growth = growth
        self.order = order
        self.subsample = subsample
        self.sampling = sampling
        self.top_rate = top_rate
        self.other_rate = other_rate
        self.colsample_bytree = colsample_bytree
        self.colsample_bylevel = colsample_bylevel
        self.colsample_bynode = colsample_bynode
        self.feature_weights = feature_weights
        self.max_bins = max_bins
        self.split = split
        self.candidates = candidates
        self.eps = eps
        self.bundle_features = bundle_features
        self.max_conflict_rate = max_conflict_rate
        self.categorical_features = categorical_features
        self.category_split = category_split
        self.category_smooth = category_smooth
        self.category_l2 = category_l2
        self.category_limit = category_limit
        self.category_rows = category_rows
        self.unseen = unseen
        self.monotonic_cst = monotonic_cst
        self.interaction_constraints = interaction_constraints
        self.quantile = quantile
        self.calibrate = calibrate
        self.huber_quantile = huber_quantile
        self.tweedie_power = tweedie_power
        self.drop_rate = drop_rate
        self.skip_drop = skip_drop
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.scoring = scoring
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _read_target(self, y: Any, weight: Array, fitted: dict[str, Any], again: bool) -> Any:
        values = read_one_column(y, self._name)
        fitted["n_outputs_"] = 1
        return values, weight

    def predict(self, X: Any, *, n_rounds: int | None = None) -> Array:
        """Predict the target of each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        n_rounds : int, optional
            Predict with the first so many rounds; None: with all.

        Returns
        -------
        array of shape (n_samples,), or (n_samples, n_quantiles) for several quantiles
        """
        return self._flat(self._scores(X, n_rounds))

    def _flat(self, scores: Array) -> Array:
        predictions = self._linked(scores)
        return predictions.ravel() if scores.shape[1] == 1 else predictions

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Predict after each round.

        Quantiles of every round are moved by ``calibration_``, which was measured after the
        last one.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Yields
        ------
        array of shape (n_samples,), or (n_samples, n_quantiles) for several quantiles
        """
        for scores in self._staged_scores(X):
            yield self._flat(scores)


@register_estimator
@declared
class GradientBoostingClassifier(Probabilities, BaseGradientBoosting):
    """Gradient boosting for two or more classes.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    trees_ : sequence of Tree
        The trees, one per class and round if there are more than two classes.
    schema_ : Schema
        Names, kinds and categories of the columns.
    classes_ : array
    n_classes_ : int
    n_iter_ : int
        Rounds in the model.
    learning_rate_ : float
        The learning rate, also where it was found (``learning_rate="auto"``); of a schedule
        the mean.
    growth_ : str
        How the trees were grown, also where that was found (``growth="auto"``).
    colsample_bynode_ : float
        The share of the features that a node could ask, also where that was found.
    history_ : dict of str to array
        What was measured after each round: the mean loss by the name of the rows, "train",
        "validation" or yours, and what ``scoring`` asks for, such as "validation roc_auc".
    bundles_ : list of lists of int
        The columns of X that were counted together, bundle by bundle.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had names.
    feature_importances_ : array
    coef_, intercept_, term_names_ : array, float or array, list of str
        Only with ``booster='linear'``: the coefficients, and what they belong to. Without
        categories and missing values these are the features.

    Examples
    --------
    >>> import hornbeam as hb
    >>> X = [["sunny", 85.0], ["rain", None], ["sunny", 69.0], ["rain", 70.0]]
    >>> y = ["no", "yes", "yes", "yes"]
    >>> model = hb.GradientBoostingClassifier(min_samples_leaf=1).fit(X, y)
    >>> model.predict([["sunny", 90.0], ["snow", 64.0]]).tolist()
    ['no', 'yes']
    """

    _task = "classification"
    _least_classes = 2
    _declared_as = {**COMMON, "loss": "classification_loss"}  # noqa: RUF012
    classes_: Array
    n_classes_: int

    def __init__(
        self,
        *,
        loss: Any = "log_loss",
        booster: str = "trees",
        n_estimators: int = 100,
        learning_rate: Rate = "auto",
        max_leaf_nodes: int | None = 31,
        max_depth: int | Auto | None = "auto",
        min_samples_leaf: int | Auto = "auto",
        min_child_weight: float = 1e-3,
        min_split_gain: float = 0.0,
        reg_lambda: float | Auto = "auto",
        reg_alpha: float = 0.0,
        max_delta_step: float = 0.0,
        growth: str = "auto",
        order: int = 2,
        subsample: float = 1.0,
        sampling: str = "uniform",
        top_rate: float = 0.2,
        other_rate: float = 0.1,
        colsample_bytree: float = 1.0,
        colsample_bylevel: float = 1.0,
        colsample_bynode: float | Auto = "auto",
        feature_weights: Any = None,
        max_bins: int = 255,
        split: str = "histogram",
        candidates: str = "global",
        eps: float = 0.03,
        bundle_features: bool = True,
        max_conflict_rate: float = 0.0,
        categorical_features: Any = "from_dtype",
        category_split: str = "subset",
        category_smooth: float | Auto = "auto",
        category_l2: float = 10.0,
        category_limit: int | None = None,
        category_rows: int = 0,
        unseen: str = "missing",
        monotonic_cst: Any = None,
        interaction_constraints: Any = None,
        class_weight: Any = None,
        drop_rate: float = 0.0,
        skip_drop: float = 0.5,
        early_stopping: bool | Auto = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        tol: float = 1e-7,
        scoring: Any = "loss",
        warm_start: bool = False,
        verbose: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
        self.booster = booster
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_child_weight = min_child_weight
        self.min_split_gain = min_split_gain
        self.reg_lambda = reg_lambda
        self.reg_alpha = reg_alpha
        self.max_delta_step = max_delta_step
        self.growth = growth
        self.order = order
        self.subsample = subsample
        self.sampling = sampling
        self.top_rate = top_rate
        self.other_rate = other_rate
        self.colsample_bytree = colsample_bytree
        self.colsample_bylevel = colsample_bylevel
        self.colsample_bynode = colsample_bynode
        self.feature_weights = feature_weights
        self.max_bins = max_bins
        self.split = split
        self.candidates = candidates
        self.eps = eps
        self.bundle_features = bundle_features
        self.max_conflict_rate = max_conflict_rate
        self.categorical_features = categorical_features
        self.category_split = category_split
        self.category_smooth = category_smooth
        self.category_l2 = category_l2
        self.category_limit = category_limit
        self.category_rows = category_rows
        self.unseen = unseen
        self.monotonic_cst = monotonic_cst
        self.interaction_constraints = interaction_constraints
        self.class_weight = class_weight
        self.drop_rate = drop_rate
        self.skip_drop = skip_drop
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.scoring = scoring
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _read_target(self, y: Any, weight: Array, fitted: dict[str, Any], again: bool) -> Any:
        name = self._name
        classes = read_classes(y, name)
        if len(classes.names) > 1:
            raise ValueError(
                f"y has {len(classes.names)} columns, but {name} predicts one target: fit one "
                "model per column, or use sklearn.multioutput.MultiOutputClassifier."
            )
        warn_column_vector(y)
        check_length(classes.labels, len(weight))
        labels = classes.labels[:, 0].astype(np.float64)
        if again:
            return relabel(classes.names[0], labels, fitted["classes_"]), weight
        if len(classes.names[0]) < self._least_classes:
            raise ValueError(
                f"{name} needs two classes to tell apart, but y holds only one class: "
                f"{classes.names[0].tolist()[0]!r}."
            )
        weight = weigh_classes(weight, self.class_weight, y, classes)
        warn_weightless(weight, classes)
        fitted["n_outputs_"] = 1
        fitted["classes_"] = classes.names[0]
        fitted["n_classes_"] = len(classes.names[0])
        return labels, weight

    def _known_target(self, target: Array, fitted: dict[str, Any]) -> Array:
        classes: Array = fitted["classes_"]
        return classes[target.astype(np.int64)]

    def _splits(self, rows: TrainingRows, random: Any) -> Splits:
        """Every class keeps its share."""
        return Splits(len(rows.target), random, rows.target, rows.kin)

    def decision_function(self, X: Any, *, n_rounds: int | None = None) -> Array:
        """Return the scores behind the probabilities.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        n_rounds : int, optional
            Predict with the first so many rounds; None: with all.

        Returns
        -------
        array of shape (n_samples,) for two classes, else (n_samples, n_scores)
        """
        return self._decided(self._scores(X, n_rounds))

    def _decided(self, scores: Array) -> Array:
        """The scores, or of two classes by how much that of the second is ahead."""
        if scores.shape[1] == 1:
            return scores[:, 0]
        return scores[:, 1] - scores[:, 0] if self.n_classes_ == 2 else scores

    def predict_proba(self, X: Any, *, n_rounds: int | None = None) -> Array:
        """Predict the probability of each class.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        n_rounds : int, optional
            Predict with the first so many rounds; None: with all.

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return self._linked(self._scores(X, n_rounds))

    def predict(self, X: Any, *, n_rounds: int | None = None) -> Array:
        """Predict the class of each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        n_rounds : int, optional
            Predict with the first so many rounds; None: with all.

        Returns
        -------
        array of shape (n_samples,)
        """
        return self._likeliest(self._scores(X, n_rounds))

    def _likeliest(self, scores: Array) -> Array:
        if scores.shape[1] == 1:  # saves the exponential
            return self.classes_[(scores[:, 0] > 0).astype(np.int64)]
        return self.classes_[self._linked(scores).argmax(axis=1)]

    def staged_predict_proba(self, X: Any) -> Iterator[Array]:
        """Predict the probabilities after each round.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Yields
        ------
        array of shape (n_samples, n_classes)
        """
        for scores in self._staged_scores(X):
            yield self._linked(scores)

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Predict the class after each round.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Yields
        ------
        array of shape (n_samples,)
        """
        for scores in self._staged_scores(X):
            yield self._likeliest(scores)

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """Return the scores after each round.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Yields
        ------
        array of shape (n_samples,) for two classes, else (n_samples, n_scores)
        """
        for scores in self._staged_scores(X):
            yield self._decided(scores)

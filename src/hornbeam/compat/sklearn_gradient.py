"""GradientBoosting of scikit-learn: gradient steps with a line search in each leaf (Friedman)."""

from __future__ import annotations

import warnings
from abc import ABCMeta
from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np
import sklearn.ensemble
from sklearn.base import ClassifierMixin, RegressorMixin, clone
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import _num_samples, check_is_fitted

from hornbeam.boosting.defaults import rows_of
from hornbeam.boosting.engine import RoundReport
from hornbeam.boosting.estimators import GradientBoostingClassifier as ClassifierEngine
from hornbeam.boosting.estimators import GradientBoostingRegressor as RegressorEngine
from hornbeam.boosting.trees import tree_estimators
from hornbeam.combine.tables import TableRows, open_rows
from hornbeam.compat.adapter import Adapter, ClassifierMethods, RegressorMethods
from hornbeam.compat.measures import drawn_rows, mean_losses
from hornbeam.compat.sklearn_trees import showing_arrays
from hornbeam.compat.translation import (
    Known,
    Row,
    Translation,
    absent,
    apart,
    converted,
    refuse,
    same,
)
from hornbeam.data.target import read_weights
from hornbeam.dtypes import Array
from hornbeam.errors import ModelFileError
from hornbeam.fitting import fitting
from hornbeam.tree.estimators import DecisionTreeRegressor
from hornbeam.tree.reader import count_features

_FIXED = {
    "early_stopping": False,
    "order": 1,
    "growth": "leaf",
    "reg_lambda": 0.0,
    "category_l2": 0.0,
}

_FIT = {
    "X": "the same; text and missing values are taken as well",
    "y": "the same",
    "sample_weight": "the same",
    "monitor": "called after each round with its number (from 0), the estimator and a dict with "
    "the `report` of the round; stops the fit if it returns True",
}
_ATTRIBUTES = {
    "engine_": "the fitted estimator of ours, with all that it can do",
    "estimators_": "array of the trees, (n_estimators_, trees of a round), as "
    "`DecisionTreeRegressor`",
    "n_estimators_": "rounds in the model",
    "n_trees_per_iteration_": "trees of a round: one per class if there are more than two",
    "train_score_": "the loss after each round, of the rows that it was grown on",
    "oob_scores_, oob_score_, oob_improvement_": "the same of the other rows, the last of these, "
    "and by how much they fall; with `subsample` below 1",
    "init_": "the fitted estimator that scores start from; None: the best constants",
    "max_features_": "features that a node may ask",
    "feature_importances_": "share of each feature in the gain of all splits",
    "n_features_in_, feature_names_in_": "the same",
}
_OF_CLASSES = {"classes_, n_classes_": "the same"}


def _rows(value: Any, known: Known) -> int:
    return rows_of(value, known["n_samples"])


def _check_split(value: Any, known: Known) -> dict[str, Any]:
    """Two leaves of `min_samples_leaf` rows make up what a node needs at least."""
    if _rows(value, known) > max(2, 2 * _rows(known["min_samples_leaf"], known)):
        instead = "write min_samples_leaf, of half as many rows."
        raise refuse("min_samples_split", instead, value, known)
    return {}


def _gain(value: float, known: Known) -> float:
    return 0.5 * value * known["weight"]


def _drawn(value: Any, known: Known) -> float:
    return count_features(value, known["n_features"]) / known["n_features"]


def _of_alpha(value: float, known: Known) -> dict[str, Any]:
    return {"quantile": value, "huber_quantile": value}


_MIDDLE: tuple[Row, ...] = (
    *same("learning_rate", "n_estimators", "subsample"),
    apart("criterion", "changes nothing, as there"),
    Row(
        "min_samples_split",
        "up to twice `min_samples_leaf`; else an error: write `min_samples_leaf`",
        _check_split,
    ),
    *same("min_samples_leaf"),
    converted(
        "min_weight_fraction_leaf",
        "`min_child_weight`: the share times the weight of all rows",
        "min_child_weight",
        lambda value, known: value * known["weight"],
    ),
    *same("max_depth"),
    converted(
        "min_impurity_decrease",
        "`min_split_gain`: the value times half the weight of all rows",
        "min_split_gain",
        _gain,
    ),
    apart("init", "the scores start from its predictions, which are added again in `predict`"),
    *same("random_state"),
    converted(
        "max_features",
        "`colsample_bynode`: the number drawn as a share",
        "colsample_bynode",
        _drawn,
    ),
)
_ALPHA = Row("alpha", "`quantile` or `huber_quantile`", _of_alpha)
_END: tuple[Row, ...] = (
    converted(
        "verbose", "`verbose`: a progress bar if it is not 0", "verbose", lambda v, _: int(bool(v))
    ),
    *same("max_leaf_nodes", "warm_start"),
    apart("validation_fraction", "the same rows are held out"),
    apart("n_iter_no_change", "the same; all rounds are kept, as there"),
    apart("tol", "the same, in units of the loss"),
    absent("ccp_alpha", (0.0,), "write max_leaf_nodes, or min_impurity_decrease."),
)

CLASSIFIER = Translation(
    "scikit-learn",
    "GradientBoostingClassifier",
    "GradientBoostingClassifier",
    (*same("loss"), *_MIDDLE, *_END),
    _FIXED,
    _FIT,
    {**_ATTRIBUTES, **_OF_CLASSES},
)
REGRESSOR = Translation(
    "scikit-learn",
    "GradientBoostingRegressor",
    "GradientBoostingRegressor",
    (*same("loss"), *_MIDDLE, _ALPHA, *_END),
    _FIXED,
    _FIT,
    _ATTRIBUTES,
)


class Stages:
    """Told of every round: keeps the losses, asks the monitor, and stops in time."""

    def __init__(self, adapter: BaseGradientBoosting, monitor: Any, factor: float) -> None:
        self.adapter, self.monitor, self.factor = adapter, monitor, factor
        self.train = adapter.train_score_.tolist()
        patience = adapter.n_iter_no_change
        self.recent = None if patience is None else np.full(patience, np.inf)

    def __call__(self, report: RoundReport) -> bool:
        """Note a round; True ends the fit."""
        number = report.number - 1
        self.train.append(self.factor * report.train_loss)
        if self.monitor is not None and self.monitor(number, self.adapter, {"report": report}):
            return True
        if self.recent is None or report.valid_loss is None:
            return False
        loss = self.factor * report.valid_loss
        if not (loss + self.adapter.tol < self.recent).any():
            return True
        self.recent[number % len(self.recent)] = loss
        return False


class BaseGradientBoosting(Adapter, metaclass=ABCMeta):
    """What both share."""

    loss: str
    n_estimators: int
    learning_rate: float
    criterion: str
    subsample: float
    max_features: Any
    init: Any
    validation_fraction: float
    n_iter_no_change: int | None
    tol: float
    random_state: Any

    train_score_: Array
    init_: Any
    grown_with_: list[tuple[int, dict[str, Any]]]

    def fit(self, X: Any, y: Any, sample_weight: Any = None, monitor: Any = None) -> Self:
        """Boost.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        monitor : function, optional
            Called after each round with its number, the estimator and a dict; True ends the fit.

        Returns
        -------
        self
        """
        self._check_parameters()
        if self.criterion != "deprecated":
            warnings.warn(
                "The parameter `criterion` has no effect and goes away with scikit-learn 1.11. "
                "Leave it at its default.",
                FutureWarning,
                stacklevel=2,
            )
        earlier = self._earlier()
        with fitting(self) as fitted:
            fitted._fit(X, y, sample_weight, monitor, earlier)
        return self

    def _earlier(self) -> dict[str, Any]:
        """What a fit that goes on goes on from."""
        if not (self.warm_start and "engine_" in self.__dict__):
            return {}
        if self.n_estimators < self.n_estimators_:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"estimators_.shape[0]={self.n_estimators_} when warm_start==True"
            )
        return dict(vars(self))

    def _fit(self, X: Any, y: Any, weight: Any, monitor: Any, earlier: dict[str, Any]) -> None:
        rows = open_rows(X, type(self).__name__)
        learnt, held = (X, y, weight), (None, None, None)
        if self.n_iter_no_change is not None and y is not None:
            learnt, held = self._hold_out(rows, learnt)
        facts = self._facts(rows, *learnt[1:])
        self._n_classes = facts["n_classes"]
        self.max_features_ = count_features(self.max_features, rows.n_columns)
        self.train_score_ = earlier.get("train_score_", np.zeros(0))
        engine = self._make_engine(earlier.get("engine_"), **facts)
        self.init_ = earlier["init_"] if earlier else self._fit_init(*learnt)
        stages = Stages(self, monitor, self._factor)
        watched = dict(zip(("X_val", "y_val", "sample_weight_val"), held, strict=True))
        watched = {name: part for name, part in watched.items() if part is not None}
        start = self._start(learnt[0], engine) if self.init_ is not None else None
        engine.fit(*learnt, **watched, init_score=start, callbacks=[stages])
        self.train_score_ = np.array(stages.train)
        self._adopt(engine)
        if self.subsample < 1.0:
            self._score_out_of_bag(learnt, earlier)
        grown = [*earlier.get("grown_with_", ()), (engine.n_iter_, self._tree_parameters())]
        self.grown_with_ = grown

    def _facts(self, rows: TableRows, y: Any, weight: Any) -> dict[str, Any]:
        """What the translation needs to know of the rows."""
        n_rows = rows.n_rows if y is None else _num_samples(y)
        given = read_weights(weight, n_rows) if weight is not None else None
        return {
            "n_samples": n_rows,
            "n_features": rows.n_columns,
            "n_classes": self._count_classes(y, given),
            "weight": float(n_rows if given is None else given.sum()),
        }

    def _count_classes(self, y: Any, weight: Any) -> int:
        return 1

    def _hold_out(self, rows: TableRows, given: Any) -> tuple[Any, Any]:
        """The rows to learn from and those to stop by: the same ones as in scikit-learn."""
        _, y, weight = given
        y = np.asarray(y)
        codes = np.unique(y, return_inverse=True)[1].astype(np.float64)
        learnt, held = train_test_split(
            np.arange(rows.n_rows),
            test_size=self.validation_fraction,
            stratify=codes if isinstance(self, ClassifierMixin) else None,
            random_state=self.random_state,
        )
        if isinstance(self, ClassifierMixin) and len(np.unique(y[learnt])) < len(np.unique(y)):
            raise ValueError(
                "The training data after the early stopping split is missing some classes. Try "
                "another random_state."
            )
        columns = np.arange(rows.n_columns)
        weight = None if weight is None else np.asarray(weight)

        def part(chosen: Array) -> Any:
            some = None if weight is None else weight[chosen]
            return rows.part(chosen, columns), y[chosen], some

        return part(learnt), part(held)

    def _score_out_of_bag(self, learnt: Any, earlier: dict[str, Any]) -> None:
        """The losses of the rows that no tree of a round was grown on, and of the others."""
        X, y, weight = learnt
        n_rows, n_before = len(self._raw_predict(X)), len(earlier.get("train_score_", ()))
        weight = np.ones(n_rows) if weight is None else np.asarray(weight, np.float64)
        scores = np.zeros(self.n_estimators_)
        gains, train = scores.copy(), self.train_score_.copy()
        if "oob_scores_" in earlier:
            scores[:n_before], gains[:n_before] = (
                earlier["oob_scores_"],
                earlier["oob_improvement_"],
            )
        drawn = drawn_rows(self.engine_, weight > 0, self.subsample)
        start = self.engine_.ensemble_.start
        first = np.tile(start, (n_rows, 1))
        if self.init_ is not None:
            first = first + self._start(X, self.engine_)
        previous = None
        for number, staged in enumerate(self._staged_raw_predict(X)):
            inside = next(drawn)
            if number < n_before:
                continue
            out = np.where(inside, 0.0, weight)
            if previous is None:
                before = scores[number - 1] if number else self._loss_of(X, y, out, first)
                previous = before
            scores[number] = self._loss_of(X, y, out, staged)
            train[number] = self._loss_of(X, y, np.where(inside, weight, 0.0), staged)
            gains[number], previous = previous - scores[number], scores[number]
        self.oob_scores_, self.oob_improvement_, self.train_score_ = scores, gains, train
        self.oob_score_ = float(scores[-1])

    def _loss_of(self, X: Any, y: Any, weight: Array, scores: Array) -> float:
        if not weight.any():  # no row is out of the bag
            return 0.0
        return self._factor * next(mean_losses(self.engine_, X, y, weight, [scores]))

    @property
    def _factor(self) -> float:
        """Of the loss in scikit-learn's scores: it takes half of some losses everywhere else."""
        halved = self.loss == "squared_error" or (self.loss == "log_loss" and self._n_classes == 2)
        return 2.0 if halved else 1.0

    # --- where scores start -------------------------------------------------------------

    def _fit_init(self, X: Any, y: Any, weight: Any) -> Any:
        """A fitted `init`; None: the engine knows the best constants."""
        if self.init is None or isinstance(self.init, str):
            return self.init
        init = clone(self.init)
        if weight is None:
            return init.fit(X, y)
        try:
            return init.fit(X, y, sample_weight=weight)
        except (TypeError, ValueError) as error:
            if "sample_weight" not in str(error) and "stepname__parameter" not in str(error):
                raise
            raise ValueError(
                f"The initial estimator {type(init).__name__} does not support sample weights."
            ) from error

    def _check_rest(self, state: Mapping[str, Any]) -> None:
        super()._check_rest(state)
        start, method = state["init_"], "predict"
        if isinstance(self, ClassifierMixin):
            method = "predict_proba"
        if not (start is None or isinstance(start, str) or callable(getattr(start, method, None))):
            raise ModelFileError(f"init_ is a {type(start).__name__}, which has no {method}.")
        grown = state["grown_with_"]
        pairs = grown if isinstance(grown, list) else [None]
        if not all(
            isinstance(pair, tuple) and [type(part) for part in pair] == [int, dict]
            for pair in pairs
        ):
            raise ModelFileError("grown_with_ must be a list of pairs: rounds, and parameters.")

    def _start(self, X: Any, engine: Any) -> Array:
        """The scores that rows have before the first round, because of ``init``."""
        raise NotImplementedError

    def _raw_predict(self, X: Any) -> Array:
        scores = super()._raw_predict(X)
        return scores if self.init_ is None else scores + self._start(X, self.engine_)

    def _staged_raw_predict(self, X: Any) -> Iterator[Array]:
        check_is_fitted(self)
        start = 0.0 if self.init_ is None else self._start(X, self.engine_)
        for scores in super()._staged_raw_predict(X):
            yield scores + start

    # --- what has been learnt -------------------------------------------------------------

    @property
    def n_estimators_(self) -> int:
        """Rounds in the model."""
        return int(self._engine.n_iter_)

    @property
    def n_trees_per_iteration_(self) -> int:
        """Trees of a round."""
        return int(self._engine.ensemble_.n_scores)

    @property
    def feature_importances_(self) -> Array:
        """Share of each feature in the gain of all splits."""
        return np.asarray(self._engine.feature_importances_)

    @property
    def estimators_(self) -> Array:
        """The trees as estimators, (n_estimators_, trees of a round)."""
        check_is_fitted(self)
        grown_with = self.grown_with_

        def parameters(number: int) -> dict[str, Any]:
            return next(params for last, params in grown_with if number < last)

        trees = tree_estimators(self.engine_, parameters, self.learning_rate)
        for place, tree in np.ndenumerate(trees):
            trees[place] = showing_arrays(tree)
        return trees

    def _tree_parameters(self) -> dict[str, Any]:
        """The parameters that a single tree has as well."""
        known = DecisionTreeRegressor._get_param_names()
        wanted = {name: value for name, value in self.get_params(False).items() if name in known}
        wanted.pop("criterion", None)
        return {**wanted, "ccp_alpha": 0.0}

    def apply(self, X: Any) -> Array:
        """Return the number of the leaf that each row falls into, in each tree.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_estimators_) or (n_samples, n_estimators_, trees of a round)
        """
        leaves = self._engine.apply(X).astype(np.float64)
        if isinstance(self, RegressorMixin):
            return leaves
        return leaves.reshape(len(leaves), -1, self.n_trees_per_iteration_)


class GradientBoostingRegressor(RegressorMethods, RegressorMixin, BaseGradientBoosting):  # type: ignore[misc]
    """`sklearn.ensemble.GradientBoostingRegressor`, on hornbeam's engine.

    Parameters are scikit-learn's; docs/compat/sklearn.md says what becomes of each.

    Examples
    --------
    >>> from hornbeam.compat.sklearn import GradientBoostingRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [20.0, 20.0, 30.0, 30.0]
    >>> model = GradientBoostingRegressor().fit(X, y)
    >>> model.predict([[0.4], [2.6]]).round(1)
    array([20., 30.])
    """

    _translation = REGRESSOR
    _engine_class = RegressorEngine
    _parameter_constraints = sklearn.ensemble.GradientBoostingRegressor._parameter_constraints

    def __init__(
        self,
        *,
        loss: Any = "squared_error",
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        subsample: float = 1.0,
        criterion: str = "deprecated",
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_depth: int | None = 3,
        min_impurity_decrease: float = 0.0,
        init: Any = None,
        random_state: Any = None,
        max_features: Any = None,
        alpha: float = 0.9,
        verbose: int = 0,
        max_leaf_nodes: int | None = None,
        warm_start: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        tol: float = 0.0001,
        ccp_alpha: float = 0.0,
    ) -> None:
        self.loss = loss
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.subsample = subsample
        self.criterion = criterion
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_depth = max_depth
        self.min_impurity_decrease = min_impurity_decrease
        self.init = init
        self.random_state = random_state
        self.max_features = max_features
        self.alpha = alpha
        self.verbose = verbose
        self.max_leaf_nodes = max_leaf_nodes
        self.warm_start = warm_start
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.ccp_alpha = ccp_alpha

    def _start(self, X: Any, engine: Any) -> Array:
        if isinstance(self.init_, str):
            return np.zeros((_num_samples(X), 1))
        return np.asarray(self.init_.predict(X), np.float64).reshape(-1, 1)


class GradientBoostingClassifier(
    ClassifierMethods,
    ClassifierMixin,  # type: ignore[misc]
    BaseGradientBoosting,
):
    """`sklearn.ensemble.GradientBoostingClassifier`, on hornbeam's engine.

    Parameters are scikit-learn's; docs/compat/sklearn.md says what becomes of each.

    Examples
    --------
    >>> from hornbeam.compat.sklearn import GradientBoostingClassifier
    >>> X, y = [["sun"], ["rain"], ["sun"], ["rain"]], ["no", "yes", "no", "yes"]
    >>> model = GradientBoostingClassifier().fit(X, y)
    >>> model.predict([["sun"], ["rain"]]).tolist()
    ['no', 'yes']
    """

    _translation = CLASSIFIER
    _engine_class = ClassifierEngine
    _parameter_constraints = sklearn.ensemble.GradientBoostingClassifier._parameter_constraints

    def __init__(
        self,
        *,
        loss: Any = "log_loss",
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        subsample: float = 1.0,
        criterion: str = "deprecated",
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_depth: int | None = 3,
        min_impurity_decrease: float = 0.0,
        init: Any = None,
        random_state: Any = None,
        max_features: Any = None,
        verbose: int = 0,
        max_leaf_nodes: int | None = None,
        warm_start: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        tol: float = 0.0001,
        ccp_alpha: float = 0.0,
    ) -> None:
        self.loss = loss
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.subsample = subsample
        self.criterion = criterion
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_depth = max_depth
        self.min_impurity_decrease = min_impurity_decrease
        self.init = init
        self.random_state = random_state
        self.max_features = max_features
        self.verbose = verbose
        self.max_leaf_nodes = max_leaf_nodes
        self.warm_start = warm_start
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.ccp_alpha = ccp_alpha

    def predict_log_proba(self, X: Any) -> Array:
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _count_classes(self, y: Any, weight: Any) -> int:
        if y is None:
            return 0
        names = np.unique(np.asarray(y))
        counted = names if weight is None else np.unique(np.asarray(y)[np.asarray(weight) > 0])
        if len(counted) < 2:
            raise ValueError(
                f"y contains {len(counted)} class after sample_weight trimmed classes with zero "
                "weights, while a minimum of 2 classes are required."
            )
        if self.loss == "exponential" and len(names) > 2:
            raise ValueError(
                "loss='exponential' is only suitable for a binary classification problem, but y "
                f"has {len(names)} classes. Use loss='log_loss'."
            )
        return len(names)

    def _start(self, X: Any, engine: Any) -> Array:
        n_scores = self._count_scores(engine)
        if isinstance(self.init_, str):
            return np.zeros((_num_samples(X), n_scores))
        least = np.finfo(np.float32).eps
        shares = np.clip(self.init_.predict_proba(X), least, 1.0 - least)
        if n_scores > 1:
            logs = np.log(shares)
            return logs - logs.mean(axis=1, keepdims=True)
        odds = np.log(shares[:, 1] / shares[:, 0]).reshape(-1, 1)
        return 0.5 * odds if self.loss == "exponential" else odds

    def _count_scores(self, engine: Any) -> int:
        """Scores of a row; before the first round there is only ``init`` to ask."""
        if "ensemble_" in vars(engine):
            return int(engine.ensemble_.n_scores)
        return 1 if self._n_classes <= 2 else self._n_classes

"""The estimators of LightGBM, on hornbeam's engine."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import compute_sample_weight

from hornbeam.boosting.estimators import GradientBoostingClassifier, GradientBoostingRegressor
from hornbeam.boosting.ranker import GradientBoostingRanker
from hornbeam.compat.boosters import (
    BoosterAdapter,
    EvalSet,
    EvalsLog,
    Listener,
    nth,
    pairs,
    some_rounds,
    split_totals,
)
from hornbeam.compat.lightgbm.callback import (
    TRAINING,
    CallbackEnv,
    EarlyStopException,
    EvalResult,
    early_stopping,
)
from hornbeam.compat.lightgbm.metrics import read_metrics
from hornbeam.compat.lightgbm.parameters import ALIASES, CLASSIFIER, RANKER, REGRESSOR
from hornbeam.compat.translation import refuse
from hornbeam.data.target import read_classes
from hornbeam.dtypes import Array
from hornbeam.fitting import fitting

_PLACES = (1, 2, 3, 4, 5)  # of ndcg and map
_USUAL = {
    "squared_error": "l2",
    "absolute_error": "l1",
    "quantile": "quantile",
    "poisson": "poisson",
    "gamma": "gamma",
    "tweedie": "tweedie",
    "lambdamart": "ndcg",
}


class LGBMModel(BoosterAdapter):
    """What the three have in common.

    Parameters are those of LightGBM; docs/compat/lightgbm.md says what becomes of each.
    """

    _aliases = ALIASES
    objective: Any

    def __init__(
        self,
        *,
        boosting_type: str = "gbdt",
        num_leaves: int = 31,
        max_depth: int = -1,
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        subsample_for_bin: int = 200000,
        objective: Any = None,
        class_weight: Any = None,
        min_split_gain: float = 0.0,
        min_child_weight: float = 1e-3,
        min_child_samples: int = 20,
        subsample: float = 1.0,
        subsample_freq: int = 0,
        colsample_bytree: float = 1.0,
        reg_alpha: float = 0.0,
        reg_lambda: float = 0.0,
        random_state: Any = None,
        n_jobs: int | None = None,
        importance_type: str = "split",
        **kwargs: Any,
    ) -> None:
        self.boosting_type = boosting_type
        self.num_leaves = num_leaves
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.subsample_for_bin = subsample_for_bin
        self.objective = objective
        self.class_weight = class_weight
        self.min_split_gain = min_split_gain
        self.min_child_weight = min_child_weight
        self.min_child_samples = min_child_samples
        self.subsample = subsample
        self.subsample_freq = subsample_freq
        self.colsample_bytree = colsample_bytree
        self.reg_alpha = reg_alpha
        self.reg_lambda = reg_lambda
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.importance_type = importance_type
        self.kwargs = kwargs

    # --- fitting ------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        init_score: Any = None,
        eval_set: Any = None,
        eval_names: list[str] | None = None,
        eval_sample_weight: Any = None,
        eval_class_weight: Any = None,
        eval_init_score: Any = None,
        eval_metric: Any = None,
        feature_name: Any = "auto",
        categorical_feature: Any = "auto",
        callbacks: Any = None,
        init_model: Any = None,
        *,
        eval_X: Any = None,
        eval_y: Any = None,
    ) -> Self:
        """Boost.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        init_score : array-like of shape (n_samples,), optional
            Scores to start from.
        eval_set : list of (X, y), optional
            Rows to measure metrics on after every round.
        eval_names : list of str, optional
            What they are called.
        eval_sample_weight, eval_class_weight : list, optional
        eval_init_score : None
        eval_metric : str, function or list, optional
            What is measured besides the usual metric.
        feature_name : "auto" or list of str
        categorical_feature : "auto" or list
            Further columns to take as categories, by name or position.
        callbacks : list of functions, optional
        init_model : fitted estimator, optional
            The model to go on from.
        eval_X, eval_y : tuple, optional
            Rows to measure metrics on, instead of ``eval_set``.

        Returns
        -------
        self
        """
        sets = self._sets(
            X, y, eval_set, eval_X, eval_y, eval_names, eval_sample_weight, eval_class_weight
        )
        asked = (eval_metric, eval_init_score, feature_name, categorical_feature, callbacks)
        more = {"sample_weight": sample_weight, "init_score": init_score}
        return self._boost(X, y, sets, asked, init_model, more)

    def _sets(
        self,
        X: Any,
        y: Any,
        eval_set: Any,
        eval_X: Any,
        eval_y: Any,
        names: Any,
        weights: Any,
        class_weights: Any,
        groups: Any = None,
    ) -> list[EvalSet]:
        """The rows to evaluate; those that are learnt from have a name of their own."""
        if (eval_X is None) != (eval_y is None):
            raise ValueError("You must specify eval_X and eval_y, not just one of them.")
        if eval_X is not None:
            if eval_set is not None:
                raise ValueError(
                    "Specify either 'eval_set' or 'eval_X' and 'eval_y', but not both."
                )
            several = isinstance(eval_X, tuple)
            eval_set = list(zip(eval_X, eval_y, strict=True)) if several else [(eval_X, eval_y)]
        given, sets = pairs(eval_set), []
        for number, (table, target) in enumerate(given):
            weight = nth(weights, number, len(given), "eval_sample_weight")
            balance = nth(class_weights, number, len(given), "eval_class_weight")
            if balance is not None:
                balanced = compute_sample_weight(balance, target)
                weight = balanced if weight is None else np.multiply(weight, balanced)
            group = nth(groups, number, len(given), "eval_group")
            learnt = table is X and target is y
            name = TRAINING if learnt else f"valid_{number}"
            if names is not None:
                name = nth(names, number, len(given), "eval_names")
            sets.append(EvalSet(name, table, target, weight, group, learnt=learnt))
        return sets

    def _boost(
        self,
        X: Any,
        y: Any,
        sets: list[EvalSet],
        asked: tuple[Any, ...],
        init_model: Any,
        more: dict[str, Any],
        eval_at: Any = None,
    ) -> Any:
        eval_metric, eval_init_score, feature_name, categorical_feature, callbacks = asked
        if eval_init_score is not None:
            raise refuse(
                "eval_init_score", "rows to evaluate start at the best constant; leave init_score "
                "away as well.", eval_init_score, {"": f"{type(self).__name__}.fit"},
            )  # fmt: skip
        with fitting(self) as fitted:
            given, earlier = self._given(), self._earlier(init_model)
            ours = self._translation.to_ours(given, **self._facts(y))
            engine = self._engine_of(ours, categorical_feature, earlier)
            usual = self._usual_metric(ours["loss"], y)
            places = given["eval_at"] or eval_at or _PLACES
            metrics = read_metrics(eval_metric, given["metric"], usual, places, given)
            learnt = {rows.name for rows in sets if rows.learnt}
            rounds = Rounds(self, engine, metrics, self._callbacks(callbacks, given), learnt)
            n_before = 0 if earlier is None else earlier.n_iter_
            listener = Listener(metrics, rounds, n_before)
            fitted._fit_engine(engine, X, y, sets, listener, **more)
            fitted._note(engine, listener.log, rounds, n_before, feature_name)
        return self

    def _engine_of(self, ours: dict[str, Any], categorical_feature: Any, earlier: Any) -> Any:
        """An engine of ours with these parameters."""
        if not isinstance(categorical_feature, str):
            ours["categorical_features"] = list(categorical_feature)
        elif categorical_feature != "auto":
            ours["categorical_features"] = categorical_feature.removeprefix("name:").split(",")
        engine = self._engine_class(**ours)
        engine._called = type(self).__name__
        if earlier is not None:
            engine.__dict__ = {**vars(earlier), **vars(engine)}
            engine.set_params(warm_start=True, n_estimators=earlier.n_iter_ + engine.n_estimators)
        return engine

    def _facts(self, y: Any) -> dict[str, Any]:
        """What conversions need to know of the table."""
        return {}

    def _usual_metric(self, loss: str, y: Any) -> str:
        return _USUAL[loss]

    def _earlier(self, init_model: Any) -> Any:
        """The engine of the model to go on from."""
        if init_model is None:
            return None
        if not isinstance(init_model, type(self)):
            raise TypeError(
                f"init_model must be a fitted {type(self).__name__} of hornbeam.compat.lightgbm, "
                f"but is {init_model!r:.60}."
            )
        return init_model._engine

    def _callbacks(self, callbacks: Any, given: dict[str, Any]) -> list[Any]:
        """All that listen, in the order that they ask for."""
        found = list(callbacks or ())
        for callback in found:
            if not callable(callback):
                raise TypeError(
                    f"callbacks must hold functions that take an env, but hold {callback!r:.60}."
                )
            if getattr(callback, "before_iteration", False):
                raise refuse(
                    "callbacks", "a function that is called before a round could only change "
                    "parameters, and all rounds have the same ones.", callback,
                    {"": f"{type(self).__name__}.fit"},
                )  # fmt: skip
        if given["early_stopping_round"]:
            first_only = bool(given["first_metric_only"])
            found.append(early_stopping(given["early_stopping_round"], first_only))
        return sorted(found, key=lambda callback: getattr(callback, "order", 0))

    def _note(
        self, engine: Any, log: EvalsLog, rounds: Rounds, n_before: int, feature_name: Any
    ) -> None:
        """What everybody looks for on a fitted estimator."""
        self.evals_result_ = log
        self.best_iteration_ = 0
        best = {rows: {name: own[-1] for name, own in logs.items()} for rows, logs in log.items()}
        if rounds.stopped is not None:
            self.best_iteration_ = n_before + rounds.stopped.best_iteration + 1
            engine = some_rounds(engine, 0, self.best_iteration_)
            best = {}
            for result in rounds.stopped.best_score:
                best.setdefault(result.dataset_name, {})[result.metric_name] = result.metric_value
        self.best_score_ = best
        names = engine.schema_.feature_names if engine.schema_.named else None
        if not isinstance(feature_name, str):
            names = list(feature_name)
        if names is None:
            names = [f"Column_{number}" for number in range(engine.n_features_in_)]
        self.feature_name_ = [str(name).replace(" ", "_") for name in names]
        self._adopt(engine)

    # --- what was fitted ----------------------------------------------------------------

    @property
    def n_estimators_(self) -> int:
        """Rounds in the model."""
        return int(self._engine.n_iter_)

    @property
    def n_iter_(self) -> int:
        """Rounds in the model."""
        return int(self._engine.n_iter_)

    @property
    def n_features_(self) -> int:
        """How many features there are."""
        return int(self._engine.n_features_in_)

    @property
    def objective_(self) -> str:
        """What was minimised, by LightGBM's name."""
        self._engine  # noqa: B018  (raises if there is none)
        return str(self.objective or self._usual_objective)

    @property
    def _usual_objective(self) -> str:
        return "regression"

    @property
    def feature_importances_(self) -> Array:
        """The number of splits of each feature, or with ``importance_type="gain"`` their gain."""
        return importance_of(self._engine, self.importance_type)

    @property
    def booster_(self) -> Booster:
        """What scripts ask of a booster."""
        return Booster(self)

    def _part(self, start_iteration: int, num_iteration: int | None) -> Any:
        """The engine with some of its rounds."""
        if num_iteration is None or num_iteration <= 0:
            return self._rounds(start_iteration)
        return self._rounds(start_iteration, start_iteration + num_iteration)

    def predict(
        self,
        X: Any,
        raw_score: bool = False,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        pred_leaf: bool = False,
        pred_contrib: bool = False,
        validate_features: bool = False,
        **kwargs: Any,
    ) -> Array:
        """Predict each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        raw_score : bool
            Return scores as they are.
        start_iteration : int
            The first round.
        num_iteration : int, optional
            How many rounds; None: all, up to the best one.
        pred_leaf : bool
            Return the leaf of each row in each tree.
        pred_contrib : bool
            Not there: an error.
        validate_features : bool
            Columns are matched by name anyway.
        **kwargs
            None: an error.

        Returns
        -------
        array of shape (n_samples,), or (n_samples, n_trees) for leaves
        """
        part = self._asked(start_iteration, num_iteration, pred_contrib, kwargs)
        if pred_leaf:
            return np.asarray(part.apply(X))
        scores = part._scores(X)
        if raw_score:
            return scores[:, 0] if scores.shape[1] == 1 else scores
        return self._from_scores(part, scores)

    def _asked(
        self, start_iteration: int, num_iteration: int | None, contributions: bool, kwargs: Any
    ) -> Any:
        """The rounds that a prediction asks for."""
        known = {"": f"{type(self).__name__}.predict"}
        if contributions:
            raise refuse(
                "pred_contrib", "for shares of a model take "
                "model.engine_.importances('permutation', X, y), for rows the package shap with "
                "model.predict.", True, known,
            )  # fmt: skip
        for name, value in kwargs.items():
            raise refuse(name, "leave it away.", value, known)
        return self._part(start_iteration, num_iteration)

    def _from_scores(self, part: Any, scores: Array) -> Array:
        return np.asarray(part._flat(scores))


class Rounds:
    """Tells LightGBM's callbacks of every round, until one of them has heard enough."""

    def __init__(
        self, model: Any, engine: Any, metrics: Any, callbacks: list[Any], learnt: set[str]
    ) -> None:
        self.model, self.engine, self.metrics, self.callbacks = model, engine, metrics, callbacks
        self.learnt = learnt
        self.stopped: EarlyStopException | None = None

    def __call__(self, iteration: int, log: EvalsLog) -> bool:
        """Hear of a round; True ends the fit."""
        results = [
            EvalResult(rows, metric.name, own[metric.name][-1], metric.larger_is_better)
            for rows, own in log.items()
            for metric in self.metrics
        ]
        n_rounds, params = self.engine.n_estimators, self.model.get_params()
        env = CallbackEnv(self.model, params, iteration, 0, n_rounds, results, self.learnt)
        try:
            for callback in self.callbacks:
                callback(env)
        except EarlyStopException as stopped:
            self.stopped = stopped
            return True
        return False


def importance_of(engine: Any, kind: str) -> Array:
    """What the splits of each feature count for, by LightGBM's names."""
    if kind not in ("split", "gain"):
        raise ValueError(f"importance_type must be 'split' or 'gain', but is {kind!r}.")
    splits, total = split_totals(engine, "gain")
    return splits.astype(np.int32) if kind == "split" else total


class Booster:
    """The few things that scripts ask of a booster."""

    def __init__(self, model: LGBMModel) -> None:
        self.model = model
        self.engine = model._engine

    @property
    def best_iteration(self) -> int:
        """The best round, counted from 1; 0 without early stopping."""
        return self.model.best_iteration_

    @property
    def best_score(self) -> dict[str, dict[str, float]]:
        """The figures of the best round."""
        return self.model.best_score_

    def feature_importance(
        self, importance_type: str = "split", iteration: int | None = None
    ) -> Array:
        """Return the number of splits of each feature, or their gain.

        Parameters
        ----------
        importance_type : {"split", "gain"}
        iteration : int, optional
            Of how many rounds.
        """
        return importance_of(self.model._part(0, iteration), importance_type)

    def feature_name(self) -> list[str]:
        """Return the names of the columns."""
        return list(self.model.feature_name_)

    def num_trees(self) -> int:
        """Return how many trees there are."""
        return len(self.engine.trees_)

    def num_feature(self) -> int:
        """Return how many features there are."""
        return self.model.n_features_

    def current_iteration(self) -> int:
        """Return how many rounds there are."""
        return self.model.n_iter_

    def predict(self, X: Any, **options: Any) -> Array:
        """Predict numbers, or probabilities: of two classes those of the second one."""
        if not hasattr(self.model, "predict_proba"):
            return self.model.predict(X, **options)
        found: Array = self.model.predict_proba(X, **options)
        return found[:, 1] if found.ndim == 2 and found.shape[1] == 2 else found

    def save_model(self, filename: Any) -> Booster:
        """Save the model in hornbeam's own file, whatever its name ends with."""
        self.engine.save(filename)
        return self


class LGBMRegressor(RegressorMixin, LGBMModel):  # type: ignore[misc]
    """`lightgbm.LGBMRegressor`, on hornbeam's engine.

    Parameters are those of LightGBM; docs/compat/lightgbm.md says what becomes of each.

    Examples
    --------
    >>> from hornbeam.compat.lightgbm import LGBMRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [20.0, 20.0, 30.0, 30.0]
    >>> model = LGBMRegressor(min_child_samples=1).fit(X, y)
    >>> model.predict([[0.4], [2.6]]).round(1)
    array([20., 30.])
    """

    _translation = REGRESSOR
    _engine_class = GradientBoostingRegressor

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        init_score: Any = None,
        eval_set: Any = None,
        eval_names: list[str] | None = None,
        eval_sample_weight: Any = None,
        eval_init_score: Any = None,
        eval_metric: Any = None,
        feature_name: Any = "auto",
        categorical_feature: Any = "auto",
        callbacks: Any = None,
        init_model: Any = None,
        *,
        eval_X: Any = None,
        eval_y: Any = None,
    ) -> Self:
        """Boost; the arguments are those of `LGBMClassifier.fit`, but for classes.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight, init_score : array-like of shape (n_samples,), optional
        eval_set : list of (X, y), optional
        eval_names, eval_sample_weight : list, optional
        eval_init_score : None
        eval_metric : str, function or list, optional
        feature_name : "auto" or list of str
        categorical_feature : "auto" or list
        callbacks : list of functions, optional
        init_model : fitted LGBMRegressor, optional
        eval_X, eval_y : tuple, optional

        Returns
        -------
        self
        """
        return super().fit(
            X, y, sample_weight, init_score, eval_set, eval_names, eval_sample_weight, None,
            eval_init_score, eval_metric, feature_name, categorical_feature, callbacks, init_model,
            eval_X=eval_X, eval_y=eval_y,
        )  # fmt: skip


class LGBMClassifier(ClassifierMixin, LGBMModel):  # type: ignore[misc]
    """`lightgbm.LGBMClassifier`, on hornbeam's engine.

    Parameters are those of LightGBM; docs/compat/lightgbm.md says what becomes of each.

    Examples
    --------
    >>> from hornbeam.compat.lightgbm import LGBMClassifier
    >>> X, y = [["sun"], ["rain"], ["sun"], ["rain"]], ["no", "yes", "no", "yes"]
    >>> model = LGBMClassifier(min_child_samples=1).fit(X, y)
    >>> model.predict([["sun"], ["rain"]]).tolist()
    ['no', 'yes']
    """

    _translation = CLASSIFIER
    _engine_class = GradientBoostingClassifier
    classes_: Array
    n_classes_: int

    def _facts(self, y: Any) -> dict[str, Any]:
        classes = read_classes(y, type(self).__name__)
        counts = np.bincount(classes.labels[:, 0], minlength=classes.counts[0])
        return {"classes": classes.names[0].tolist(), "counts": counts.tolist()}

    def _usual_metric(self, loss: str, y: Any) -> str:
        n_classes = read_classes(y, type(self).__name__).counts[0]
        return "multi_logloss" if n_classes > 2 else "binary_logloss"

    @property
    def _usual_objective(self) -> str:
        return "multiclass" if self.n_classes_ > 2 else "binary"

    def predict_proba(
        self,
        X: Any,
        raw_score: bool = False,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        pred_leaf: bool = False,
        pred_contrib: bool = False,
        validate_features: bool = False,
        **kwargs: Any,
    ) -> Array:
        """Predict the probability of each class.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        raw_score, start_iteration, num_iteration, pred_leaf, pred_contrib, validate_features
            As of `predict`.
        **kwargs
            None: an error.

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        if raw_score or pred_leaf:
            return self.predict(X, raw_score, start_iteration, num_iteration, pred_leaf)
        part = self._asked(start_iteration, num_iteration, pred_contrib, kwargs)
        return np.asarray(part._linked(part._scores(X)))

    def decision_function(self, X: Any) -> Array:
        """Return the scores behind the probabilities.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        return self.predict(X, raw_score=True)

    def _from_scores(self, part: Any, scores: Array) -> Array:
        return np.asarray(part._likeliest(scores))


class LGBMRanker(LGBMModel):
    """`lightgbm.LGBMRanker`, on hornbeam's engine.

    Parameters are those of LightGBM; docs/compat/lightgbm.md says what becomes of each.

    Examples
    --------
    >>> from hornbeam.compat.lightgbm import LGBMRanker
    >>> X, relevance = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 2]
    >>> ranker = LGBMRanker(min_child_samples=1).fit(X, relevance, group=[2, 2])
    >>> scores = ranker.predict(X)
    >>> bool(scores[1] > scores[0] and scores[3] > scores[2])
    True
    """

    _translation = RANKER
    _engine_class = GradientBoostingRanker

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        init_score: Any = None,
        group: Any = None,
        eval_set: Any = None,
        eval_names: list[str] | None = None,
        eval_sample_weight: Any = None,
        eval_init_score: Any = None,
        eval_group: Any = None,
        eval_metric: Any = None,
        eval_at: Any = _PLACES,
        feature_name: Any = "auto",
        categorical_feature: Any = "auto",
        callbacks: Any = None,
        init_model: Any = None,
        *,
        eval_X: Any = None,
        eval_y: Any = None,
    ) -> Self:
        """Learn to rank.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Relevance of each document to its query.
        sample_weight : array-like of shape (n_samples,), optional
        init_score : array-like of shape (n_samples,), optional
        group : array-like of int
            Rows of each query, in the order of the rows.
        eval_set : list of (X, y), optional
        eval_names : list of str, optional
        eval_sample_weight : list of array-like, optional
        eval_init_score : None
        eval_group : list of array-like, optional
            Rows of each query, for every set.
        eval_metric : str, function or list, optional
        eval_at : sequence of int
            The places that NDCG and MAP look at.
        feature_name : "auto" or list of str
        categorical_feature : "auto" or list
        callbacks : list of functions, optional
        init_model : fitted LGBMRanker, optional
        eval_X, eval_y : tuple, optional

        Returns
        -------
        self
        """
        if group is None:
            raise ValueError("Should set group for ranking task")
        if (eval_set is not None or eval_X is not None) and eval_group is None:
            raise ValueError("Eval_group cannot be None when eval_set is not None")
        sets = self._sets(
            X, y, eval_set, eval_X, eval_y, eval_names, eval_sample_weight, None, eval_group
        )
        asked = (eval_metric, eval_init_score, feature_name, categorical_feature, callbacks)
        more = {"sample_weight": sample_weight, "init_score": init_score, "group": group}
        return self._boost(X, y, sets, asked, init_model, more, eval_at)

    @property
    def _usual_objective(self) -> str:
        return "lambdarank"

    def _from_scores(self, part: Any, scores: Array) -> Array:
        return scores[:, 0]

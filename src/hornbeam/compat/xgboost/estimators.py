"""The estimators of XGBoost, on hornbeam's engine."""

from __future__ import annotations

import inspect
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import _num_samples

import hornbeam
from hornbeam.boosting.estimators import GradientBoostingClassifier, GradientBoostingRegressor
from hornbeam.boosting.queries import take_column
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
from hornbeam.compat.translation import refuse
from hornbeam.compat.xgboost.callback import EarlyStopping, EvaluationMonitor, TrainingCallback
from hornbeam.compat.xgboost.metrics import USUAL, read_metrics
from hornbeam.compat.xgboost.parameters import ALIASES, CLASSIFIER, RANKER, REGRESSOR
from hornbeam.data.target import read_classes, read_weights
from hornbeam.dtypes import Array
from hornbeam.fitting import fitting

_KINDS = ("weight", "gain", "cover", "total_gain", "total_cover")


class XGBModel(BoosterAdapter):
    """What the three have in common.

    Parameters are those of XGBoost; docs/compat/xgboost.md says what becomes of each. None is
    XGBoost's default.
    """

    _aliases = ALIASES
    objective: Any
    evals_result_: EvalsLog

    def __init__(
        self,
        *,
        max_depth: int | None = None,
        max_leaves: int | None = None,
        max_bin: int | None = None,
        grow_policy: str | None = None,
        learning_rate: float | None = None,
        n_estimators: int | None = None,
        verbosity: int | None = None,
        objective: Any = None,
        booster: str | None = None,
        tree_method: str | None = None,
        n_jobs: int | None = None,
        gamma: float | None = None,
        min_child_weight: float | None = None,
        max_delta_step: float | None = None,
        subsample: float | None = None,
        sampling_method: str | None = None,
        colsample_bytree: float | None = None,
        colsample_bylevel: float | None = None,
        colsample_bynode: float | None = None,
        reg_alpha: float | None = None,
        reg_lambda: float | None = None,
        scale_pos_weight: float | None = None,
        base_score: float | None = None,
        random_state: Any = None,
        missing: float = np.nan,
        num_parallel_tree: int | None = None,
        monotone_constraints: Any = None,
        interaction_constraints: Any = None,
        importance_type: str | None = None,
        device: str | None = None,
        validate_parameters: bool | None = None,
        enable_categorical: bool = False,
        feature_types: Any = None,
        feature_weights: Any = None,
        max_cat_to_onehot: int | None = None,
        max_cat_threshold: int | None = None,
        multi_strategy: str | None = None,
        eval_metric: Any = None,
        early_stopping_rounds: int | None = None,
        callbacks: Any = None,
        **kwargs: Any,
    ) -> None:
        self.max_depth = max_depth
        self.max_leaves = max_leaves
        self.max_bin = max_bin
        self.grow_policy = grow_policy
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.verbosity = verbosity
        self.objective = objective
        self.booster = booster
        self.tree_method = tree_method
        self.n_jobs = n_jobs
        self.gamma = gamma
        self.min_child_weight = min_child_weight
        self.max_delta_step = max_delta_step
        self.subsample = subsample
        self.sampling_method = sampling_method
        self.colsample_bytree = colsample_bytree
        self.colsample_bylevel = colsample_bylevel
        self.colsample_bynode = colsample_bynode
        self.reg_alpha = reg_alpha
        self.reg_lambda = reg_lambda
        self.scale_pos_weight = scale_pos_weight
        self.base_score = base_score
        self.random_state = random_state
        self.missing = missing
        self.num_parallel_tree = num_parallel_tree
        self.monotone_constraints = monotone_constraints
        self.interaction_constraints = interaction_constraints
        self.importance_type = importance_type
        self.device = device
        self.validate_parameters = validate_parameters
        self.enable_categorical = enable_categorical
        self.feature_types = feature_types
        self.feature_weights = feature_weights
        self.max_cat_to_onehot = max_cat_to_onehot
        self.max_cat_threshold = max_cat_threshold
        self.multi_strategy = multi_strategy
        self.eval_metric = eval_metric
        self.early_stopping_rounds = early_stopping_rounds
        self.callbacks = callbacks
        self.kwargs = kwargs

    # --- fitting ------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        base_margin: Any = None,
        eval_set: Any = None,
        verbose: bool | int | None = True,
        xgb_model: Any = None,
        sample_weight_eval_set: Any = None,
        base_margin_eval_set: Any = None,
        feature_weights: Any = None,
    ) -> Self:
        """Boost.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        base_margin : array-like of shape (n_samples,), optional
            Scores to start from.
        eval_set : list of (X, y), optional
            Rows to measure ``eval_metric`` on after every round.
        verbose : bool or int
            Print the figures of every round, or of every so many rounds.
        xgb_model : fitted estimator, optional
            The model to go on from.
        sample_weight_eval_set : list of array-like, optional
        base_margin_eval_set : None
        feature_weights : array-like of shape (n_features,), optional
            How likely each feature is drawn, instead of the parameter of this name.

        Returns
        -------
        self
        """
        self._refuse_others(base_margin_eval_set)
        given = pairs(eval_set)
        weights = [
            nth(sample_weight_eval_set, n, len(given), "sample_weight_eval_set")
            for n in range(len(given))
        ]
        sets = [
            EvalSet(f"validation_{n}", *pair, weight)
            for n, (pair, weight) in enumerate(zip(given, weights, strict=True))
        ]
        return self._boost(
            X, y, sets, verbose, xgb_model, sample_weight, base_margin, feature_weights
        )

    def _boost(
        self,
        X: Any,
        y: Any,
        sets: list[EvalSet],
        verbose: Any,
        xgb_model: Any,
        sample_weight: Any,
        base_margin: Any,
        feature_weights: Any,
        **queries: Any,
    ) -> Any:
        with fitting(self) as fitted:
            given, facts = self._given(), self._facts(y)
            facts["weight"] = _total(sample_weight, y)
            if feature_weights is not None:
                given["feature_weights"] = feature_weights
            earlier = self._earlier(xgb_model)
            engine = self._engine_of(given, facts, earlier)
            stops = self._callbacks(sets, verbose)
            listener = Listener(
                read_metrics(given["eval_metric"], self._usual_metric(given, facts)),
                lambda epoch, log: _after_round(self, stops, epoch, log),
                0 if earlier is None else earlier.n_iter_,
            )
            for callback in stops:
                callback.before_training(self)
            more = {"sample_weight": sample_weight, "init_score": base_margin, **queries}
            fitted._fit_engine(engine, X, y, sets, listener, **more)
            fitted._adopt(engine)
            fitted.evals_result_ = listener.log
            fitted._keep_the_best(stops)
            for callback in stops:
                callback.after_training(fitted)
        return self

    def _engine_of(self, given: dict[str, Any], facts: dict[str, Any], earlier: Any) -> Any:
        """An engine of ours with these parameters."""
        engine = self._engine_class(**self._translation.to_ours(given, **facts))
        engine._called = type(self).__name__
        if earlier is not None:
            engine.__dict__ = {**vars(earlier), **vars(engine)}
            engine.set_params(warm_start=True, n_estimators=earlier.n_iter_ + engine.n_estimators)
        return engine

    def _facts(self, y: Any) -> dict[str, Any]:
        """What conversions need to know of the table."""
        return {}

    def _usual_metric(self, given: dict[str, Any], facts: dict[str, Any]) -> str:
        power = given.get("tweedie_variance_power") or 1.5
        return USUAL[given["objective"]].format(tweedie_variance_power=power)

    def _earlier(self, xgb_model: Any) -> Any:
        """The engine of the model to go on from."""
        if xgb_model is None:
            return None
        if not isinstance(xgb_model, type(self)):
            raise TypeError(
                f"xgb_model must be a fitted {type(self).__name__} of hornbeam.compat.xgboost, but "
                f"is {xgb_model!r:.60}."
            )
        return xgb_model._engine

    def _refuse_others(self, base_margin_eval_set: Any) -> None:
        known = {"": f"{type(self).__name__}.fit"}
        if base_margin_eval_set is not None:
            raise refuse(
                "base_margin_eval_set", "rows to evaluate start at the best constant; leave "
                "base_margin away as well.", base_margin_eval_set, known,
            )  # fmt: skip

    def _callbacks(self, sets: list[EvalSet], verbose: Any) -> list[TrainingCallback]:
        """All that listen: the user's, early stopping, and what prints."""
        listening = list(self.callbacks or ())
        for callback in listening:
            if not isinstance(callback, TrainingCallback) and not hasattr(
                callback, "after_iteration"
            ):
                raise TypeError(
                    "callbacks must be TrainingCallback of hornbeam.compat.xgboost.callback, but "
                    f"hold {callback!r:.60}."
                )
        if self.early_stopping_rounds is not None:
            if not sets:
                raise ValueError("Must have at least 1 validation dataset for early stopping.")
            listening.append(EarlyStopping(rounds=self.early_stopping_rounds))
        if verbose and sets:
            period = 1 if verbose is True else int(verbose)
            listening.append(EvaluationMonitor(period=period))
        return listening

    def _keep_the_best(self, stops: list[TrainingCallback]) -> None:
        """Drop the rounds after the best one, if somebody looked for it."""
        for callback in stops:
            if isinstance(callback, EarlyStopping) and callback.best_iteration is not None:
                self.best_iteration_, self.best_score_ = (
                    callback.best_iteration,
                    callback.best_score,
                )
                n_before = self.engine_.n_iter_ - _n_rounds(self.evals_result_)
                self.engine_ = some_rounds(self.engine_, 0, n_before + callback.best_iteration + 1)

    # --- what was fitted ----------------------------------------------------------------

    def evals_result(self) -> EvalsLog:
        """Return the figures of every round: rows, metric, a list."""
        self._engine  # noqa: B018  (raises if there is none)
        return self.evals_result_

    @property
    def best_iteration(self) -> int:
        """The best round, counted from 0; only with early stopping."""
        return int(self._stopped("best_iteration"))

    @property
    def best_score(self) -> float:
        """The figure of the best round; only with early stopping."""
        return float(self._stopped("best_score"))

    def _stopped(self, name: str) -> Any:
        if f"{name}_" not in self.__dict__:
            raise AttributeError(f"`{name}` is only defined when early stopping is used.")
        return self.__dict__[f"{name}_"]

    @property
    def feature_importances_(self) -> Array:
        """Share of each feature in what ``importance_type`` counts, by default the mean gain."""
        scores = importance_of(self._engine, self.importance_type or "gain")
        whole = scores.sum()
        found: Array = (scores / whole if whole > 0 else scores).astype(np.float32)
        return found

    @property
    def coef_(self) -> Array:
        """The coefficients of a linear model, one row per class if there are several."""
        found: Array = self._engine.coef_
        return found[0] if found.ndim == 2 and len(found) == 1 else found

    @property
    def intercept_(self) -> Array:
        """The intercepts of a linear model."""
        return np.atleast_1d(np.asarray(self._engine.intercept_))

    def get_booster(self) -> Booster:
        """Return what scripts ask of a booster."""
        return Booster(self._engine)

    def get_xgb_params(self) -> dict[str, Any]:
        """Return all parameters, but for those that are about rounds and evaluation."""
        others = {"n_estimators", "eval_metric", "early_stopping_rounds", "callbacks", "missing"}
        others |= {"importance_type", "kwargs", "enable_categorical"}
        return {name: value for name, value in self.get_params().items() if name not in others}

    def get_num_boosting_rounds(self) -> int:
        """Return how many rounds there are to be."""
        return 100 if self.n_estimators is None else self.n_estimators

    def save_model(self, fname: Any) -> None:
        """Save the model in hornbeam's own file, whatever the name ends with.

        Parameters
        ----------
        fname : path
        """
        self.save(fname)

    def load_model(self, fname: Any) -> None:
        """Load what `save_model` has saved.

        Parameters
        ----------
        fname : path
        """
        engine = hornbeam.load(fname)
        if not isinstance(engine, self._engine_class):
            raise ValueError(
                f"{fname} holds a {type(engine).__name__}, which is not what {type(self).__name__} "
                f"stands for: a {self._engine_class.__name__}."
            )
        self._adopt(engine)
        self.evals_result_ = {}

    def _part(self, iteration_range: Any) -> Any:
        """The engine with the rounds from one to before another; (0, 0) are all of them."""
        if iteration_range is None or tuple(iteration_range) == (0, 0):
            return self._engine
        first, last = map(int, iteration_range)
        return self._rounds(first, last or None)

    def apply(self, X: Any, iteration_range: Any = None) -> Array:
        """Return the leaf of each row in each tree.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        iteration_range : (int, int), optional
            The first round, and the one after the last.

        Returns
        -------
        array of shape (n_samples, n_trees)
        """
        found: Array = self._part(iteration_range).apply(X)
        return found

    def predict(
        self,
        X: Any,
        *,
        output_margin: bool = False,
        validate_features: bool = True,
        base_margin: Any = None,
        iteration_range: Any = None,
    ) -> Array:
        """Predict each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        output_margin : bool
            Return scores as they are.
        validate_features : bool
            Columns are matched by name anyway.
        base_margin : array-like, optional
            Scores to start from, instead of the best constant.
        iteration_range : (int, int), optional
            The first round, and the one after the last.

        Returns
        -------
        array of shape (n_samples,), or (n_samples, n_scores) if there are several
        """
        part = self._part(iteration_range)
        scores = self._margins(part, X, base_margin)
        if output_margin:
            return scores[:, 0] if scores.shape[1] == 1 else scores
        return self._from_margins(part, scores)

    def _margins(self, part: Any, X: Any, base_margin: Any) -> Array:
        scores: Array = part._scores(X)
        if base_margin is None:
            return scores
        return scores - part.ensemble_.start + np.asarray(base_margin).reshape(len(scores), -1)

    def _from_margins(self, part: Any, scores: Array) -> Array:
        return np.asarray(part._flat(scores))


def _with_signature(cls: type[XGBModel]) -> type[XGBModel]:
    """Class decorator: the constructor shows all parameters, with the objective of the class."""
    own = inspect.signature(cls.__init__).parameters["objective"]
    shared = inspect.signature(XGBModel.__init__)
    parameters = [own if one.name == own.name else one for one in shared.parameters.values()]
    cls.__init__.__signature__ = shared.replace(parameters=parameters)  # type: ignore[attr-defined]
    return cls


def _after_round(model: Any, callbacks: list[TrainingCallback], epoch: int, log: EvalsLog) -> bool:
    """Let all callbacks hear of a round; True if one wants to stop."""
    return any([callback.after_iteration(model, epoch, log) for callback in callbacks])


def _n_rounds(log: EvalsLog) -> int:
    return len(next(iter(next(iter(log.values())).values())))


def importance_of(engine: Any, kind: str) -> Array:
    """What the splits of each feature count for, by XGBoost's names."""
    if kind not in _KINDS:
        raise ValueError(f"importance_type must be one of {_KINDS}, but is {kind!r}.")
    splits, total = split_totals(engine, kind.removeprefix("total_"))
    if kind == "weight":
        return splits
    return total if kind.startswith("total_") else total / np.maximum(splits, 1.0)


class Booster:
    """The few things that scripts ask of a booster."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine

    @property
    def feature_names(self) -> list[str]:
        """The names of the columns."""
        schema = self.engine.schema_
        if schema.named:
            return list(schema.feature_names)
        return [f"f{number}" for number in range(schema.n_features)]

    def num_boosted_rounds(self) -> int:
        """Return how many rounds there are."""
        return int(self.engine.n_iter_)

    def num_features(self) -> int:
        """Return how many features there are."""
        return int(self.engine.n_features_in_)

    def get_score(self, fmap: str = "", importance_type: str = "weight") -> dict[str, float]:
        """Return what the splits of each feature count for; features without splits are left out.

        Parameters
        ----------
        fmap : str
            Not used.
        importance_type : {"weight", "gain", "cover", "total_gain", "total_cover"}
        """
        scores = importance_of(self.engine, importance_type)
        return {
            name: float(score)
            for name, score in zip(self.feature_names, scores, strict=True)
            if score > 0
        }

    def get_fscore(self, fmap: str = "") -> dict[str, float]:
        """Return how many splits each feature has."""
        return self.get_score(fmap)

    def save_model(self, fname: Any) -> None:
        """Save the model in hornbeam's own file."""
        self.engine.save(fname)


@_with_signature
class XGBRegressor(RegressorMixin, XGBModel):  # type: ignore[misc]
    """`xgboost.XGBRegressor`, on hornbeam's engine.

    Parameters are those of XGBoost; docs/compat/xgboost.md says what becomes of each.

    Examples
    --------
    >>> from hornbeam.compat.xgboost import XGBRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [20.0, 20.0, 30.0, 30.0]
    >>> model = XGBRegressor(n_estimators=50, max_depth=2).fit(X, y)
    >>> model.predict([[0.4], [2.6]]).round(1)
    array([20., 30.])
    """

    _translation = REGRESSOR
    _engine_class = GradientBoostingRegressor

    def __init__(self, *, objective: Any = "reg:squarederror", **kwargs: Any) -> None:
        super().__init__(objective=objective, **kwargs)


@_with_signature
class XGBClassifier(ClassifierMixin, XGBModel):  # type: ignore[misc]
    """`xgboost.XGBClassifier`, on hornbeam's engine.

    Parameters are those of XGBoost; docs/compat/xgboost.md says what becomes of each.

    Examples
    --------
    >>> from hornbeam.compat.xgboost import XGBClassifier
    >>> X, y = [["sun"], ["rain"], ["sun"], ["rain"]], ["no", "yes", "no", "yes"]
    >>> model = XGBClassifier(n_estimators=20, min_child_weight=0).fit(X, y)
    >>> model.predict([["sun"], ["rain"]]).tolist()
    ['no', 'yes']
    """

    _translation = CLASSIFIER
    _engine_class = GradientBoostingClassifier
    classes_: Array

    def __init__(self, *, objective: Any = "binary:logistic", **kwargs: Any) -> None:
        super().__init__(objective=objective, **kwargs)

    def _facts(self, y: Any) -> dict[str, Any]:
        classes = read_classes(y, type(self).__name__).names[0].tolist()
        return {"classes": classes, "n_classes": len(classes)}

    def _usual_metric(self, given: dict[str, Any], facts: dict[str, Any]) -> str:
        return "mlogloss" if facts["n_classes"] > 2 else "logloss"

    def predict_proba(
        self,
        X: Any,
        validate_features: bool = True,
        base_margin: Any = None,
        iteration_range: Any = None,
    ) -> Array:
        """Predict the probability of each class.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        validate_features : bool
            Columns are matched by name anyway.
        base_margin : array-like, optional
            Scores to start from, instead of the usual ones.
        iteration_range : (int, int), optional
            The first round, and the one after the last.

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        part = self._part(iteration_range)
        return np.asarray(part._linked(self._margins(part, X, base_margin)))

    def _from_margins(self, part: Any, scores: Array) -> Array:
        return np.asarray(part._likeliest(scores))


@_with_signature
class XGBRanker(XGBModel):
    """`xgboost.XGBRanker`, on hornbeam's engine.

    Parameters are those of XGBoost; docs/compat/xgboost.md says what becomes of each.

    Examples
    --------
    >>> from hornbeam.compat.xgboost import XGBRanker
    >>> X, relevance = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 2]
    >>> ranker = XGBRanker(n_estimators=10, min_child_weight=0).fit(X, relevance, group=[2, 2])
    >>> scores = ranker.predict(X)
    >>> bool(scores[1] > scores[0] and scores[3] > scores[2])
    True
    """

    _translation = RANKER
    _engine_class = GradientBoostingRanker

    def __init__(self, *, objective: str = "rank:ndcg", **kwargs: Any) -> None:
        super().__init__(objective=objective, **kwargs)

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        group: Any = None,
        qid: Any = None,
        sample_weight: Any = None,
        base_margin: Any = None,
        eval_set: Any = None,
        eval_group: Any = None,
        eval_qid: Any = None,
        verbose: bool | int | None = False,
        xgb_model: Any = None,
        sample_weight_eval_set: Any = None,
        base_margin_eval_set: Any = None,
        feature_weights: Any = None,
    ) -> Self:
        """Learn to rank.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            A data frame may hold the query of each row in a column ``qid``.
        y : array-like of shape (n_samples,)
            Relevance of each document to its query.
        group, qid : array-like, optional
            Rows of each query, or the query of each row.
        sample_weight : array-like, optional
            Of each row, or of each query.
        base_margin : array-like of shape (n_samples,), optional
        eval_set : list of (X, y), optional
        eval_group, eval_qid : list of array-like, optional
        verbose : bool or int
        xgb_model : fitted XGBRanker, optional
        sample_weight_eval_set : list of array-like, optional
        base_margin_eval_set : None
        feature_weights : array-like of shape (n_features,), optional
            How likely each feature is drawn, instead of the parameter of this name.

        Returns
        -------
        self
        """
        self._refuse_others(base_margin_eval_set)
        given = pairs(eval_set)
        sets = []
        for number, (table, target) in enumerate(given):
            extra = [
                nth(values, number, len(given), name)
                for values, name in (
                    (sample_weight_eval_set, "sample_weight_eval_set"),
                    (eval_group, "eval_group"),
                    (eval_qid, "eval_qid"),
                )
            ]
            table, extra[2] = _without_query(table, extra[2])
            extra[0] = _of_rows(extra[0], extra[1], extra[2], target)
            sets.append(EvalSet(f"validation_{number}", table, target, *extra))
        X, qid = _without_query(X, qid)
        weight = _of_rows(sample_weight, group, qid, y)
        return self._boost(
            X,
            y,
            sets,
            verbose,
            xgb_model,
            weight,
            base_margin,
            feature_weights,
            group=group,
            qid=qid,
        )

    def score(self, X: Any, y: Any) -> float:
        """Return NDCG@10; X is a data frame with a column ``qid``.

        Parameters
        ----------
        X : data frame
        y : array-like of shape (n_samples,)

        Returns
        -------
        float
        """
        table, qid = _without_query(X, None)
        return float(self._engine.score(table, y, qid=qid))

    def predict(self, X: Any, **options: Any) -> Array:
        """Score each row: within a query, the larger score ranks first.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            A column ``qid`` is left out.
        **options
            As of `XGBRegressor.predict`.

        Returns
        -------
        array of shape (n_samples,)
        """
        return super().predict(_without_query(X, None)[0], **options)

    def _from_margins(self, part: Any, scores: Array) -> Array:
        return scores[:, 0]


def _without_query(X: Any, qid: Any) -> tuple[Any, Any]:
    """A table without its column ``qid``, and that column."""
    names = getattr(X, "columns", None)
    if qid is not None or names is None or "qid" not in list(names):
        return X, qid
    return take_column(X, "qid")


def _of_rows(weight: Any, group: Any, qid: Any, y: Any) -> Any:
    """Weights of rows, also where they were given one per query."""
    if weight is None or np.shape(weight)[:1] == (_num_samples(y),):
        return weight
    weight = np.asarray(weight)
    if weight.ndim == 0:
        return weight
    if group is not None and len(weight) == len(group):
        return np.repeat(weight, group)
    if qid is not None:
        names, places = np.unique(np.asarray(qid), return_inverse=True)
        if len(weight) == len(names):
            return weight[places]
    return weight


def _total(sample_weight: Any, y: Any) -> float:
    """What all rows weigh."""
    return float(read_weights(sample_weight, _num_samples(y)).sum())

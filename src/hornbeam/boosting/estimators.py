"""Gradient boosting: `GradientBoostingClassifier`, `-Regressor` and `-Ranker`.

``fit`` is the whole story: learn the schema, code the columns, boost, store the trees.
"""

from __future__ import annotations

import hashlib
import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from hornbeam.boosting import parameters as _declarations  # noqa: F401  (registers them)
from hornbeam.boosting.build import build_trees
from hornbeam.boosting.constraints import read_groups
from hornbeam.boosting.engine import Rounds, boost
from hornbeam.boosting.grower import BoostRules, RowScores
from hornbeam.boosting.history import Watch, history_frame, plot_history
from hornbeam.boosting.importance import importances
from hornbeam.boosting.presets import preset_parameters
from hornbeam.boosting.savable import SavableBoosting
from hornbeam.boosting.table import code_table, code_table_like
from hornbeam.data.schema import Schema
from hornbeam.data.target import (
    check_length,
    read_classes,
    read_values,
    read_weights,
    weigh_classes,
)
from hornbeam.dtypes import MAX_ROWS, Array
from hornbeam.losses import Loss, LossOptions, apply_link, resolve
from hornbeam.output.modelfile import register_estimator
from hornbeam.params import check_params, declared
from hornbeam.tree.constraints import read_monotone
from hornbeam.tree.ensemble import Ensemble
from hornbeam.tree.single import SingleTree
from hornbeam.tree.storage import Tree

_MAX_EXPONENT = 60  # of the largest weight: slopes are float32


class BaseGradientBoosting(SavableBoosting, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """What all three share."""

    _task: str
    loss: Any
    n_estimators: int
    learning_rate: float
    max_leaf_nodes: int | None
    max_depth: int | None
    min_samples_leaf: int
    min_child_weight: float
    min_split_gain: float
    reg_lambda: float
    reg_alpha: float
    max_delta_step: float
    growth: str
    order: int
    subsample: float
    colsample_bytree: float
    colsample_bylevel: float
    colsample_bynode: float
    max_bins: int
    categorical_features: Any
    category_split: str
    category_smooth: float
    category_l2: float
    unseen: str
    monotonic_constraints: Any
    interaction_constraints: Any
    drop_rate: float
    skip_drop: float
    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int
    tol: float
    warm_start: bool
    verbose: int | None
    random_state: Any
    n_jobs: int | None

    ensemble_: Ensemble
    link_: str
    history_: dict[str, Array]

    # --- fitting --------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        init_score: Any = None,
        callbacks: Sequence[Callable[..., Any]] = (),
    ) -> Any:
        """Boost.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            NumPy array, list, sparse matrix, or a pandas, polars or Arrow table. Strings,
            bools and categoricals are categories; NaN, None and NA are missing.
        y : array-like of shape (n_samples,)
            Target; must not be missing.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; rows of weight 0 are left out.
        X_val, y_val, sample_weight_val : optional
            Rows to watch the loss on, and to stop by if ``early_stopping`` is set.
        init_score : array-like of shape (n_samples,) or (n_samples, n_scores), optional
            Scores to start from, instead of the best constant. They are not part of the
            model: add them to its `decision_function` yourself.
        callbacks : sequence of functions
            Each is called after every round with a report (``number``, ``train_loss``,
            ``valid_loss``); one that returns True ends the fit.

        Returns
        -------
        self
        """
        given = Given(X, y, sample_weight, init_score, None)
        valid = None
        if not (X_val is None and y_val is None and sample_weight_val is None):
            valid = Given(X_val, y_val, sample_weight_val, None, None)
        return self._fit(given, valid, callbacks)

    def _fit(self, given: Given, valid: Given | None, callbacks: Sequence[Any]) -> Any:
        check_params(self)
        _check_callbacks(callbacks)
        before = self._kept_from_before()
        if before is None:
            self._forget()  # a fit that fails leaves nothing behind
        fitted = self._boost(given, valid, callbacks, before)
        self._forget()
        for name, value in fitted.items():
            setattr(self, name, value)
        return self

    def _boost(
        self, given: Given, valid: Given | None, callbacks: Sequence[Any], before: Any
    ) -> dict[str, Any]:
        """Boost; returns all fitted attributes."""
        name = type(self).__name__
        if before is None:
            schema, matrix = Schema.learn(given.X, name, self.categorical_features, self.unseen)
        else:
            schema, matrix = before.schema_, before.schema_.read(given.X, name)
        fitted: dict[str, Any] = {"schema_": schema, "n_features_in_": schema.n_features}
        if schema.named:
            fitted["feature_names_in_"] = np.array(schema.feature_names, dtype=object)
        rows = self._read_rows(given, matrix, fitted)
        if before is not None:
            _check_classes(before, fitted)
        seed = _seed(self.random_state) if before is None else before.seed_
        fitted["seed_"] = seed
        watched = None
        if valid is not None:
            if valid.X is None or valid.y is None:
                raise ValueError("X_val and y_val belong together: pass both to fit, or neither.")
            watched = self._read_rows(valid, schema.read(valid.X, name), fitted, True)
        options = LossOptions(
            getattr(self, "quantile", 0.5),
            getattr(self, "huber_quantile", 0.9),
            getattr(self, "tweedie_power", 1.5),
        )
        loss = resolve(
            self.loss,
            task=self._task,  # type: ignore[arg-type]
            n_classes=fitted.get("n_classes_", 0),
            options=options,
            y=rows.target,
            weight=rows.weight,
        )
        loss.check_target(rows.target)
        if watched is not None:
            loss.check_target(watched.target)
        elif self.early_stopping:
            rows, watched = self._hold_out(rows, seed)
        rules = self._rules(schema, loss)
        table = code_table(
            rows.matrix, schema.is_category, schema.n_categories, self.max_bins, self.n_jobs
        )
        start = loss.start(rows.target, rows.weight)
        if rows.init_score is not None:
            start = np.zeros(loss.n_scores)
        n_before = 0
        if before is not None:
            start, n_before = before.ensemble_.start, before.n_iter_
        scores = self._row_scores(rows, loss, start, before)
        validation = None
        if watched is not None:
            coded = code_table_like(table, watched.matrix, self.n_jobs)
            validation = (coded, self._row_scores(watched, loss, start, before))
        rounds = Rounds(
            max(0, self.n_estimators - n_before),
            self.learning_rate,
            self.order,
            self.drop_rate,
            self.skip_drop,
            seed,
            n_before,
        )
        watch = Watch(
            rounds=self.n_estimators,
            metric=loss.metric,
            patience=self.n_iter_no_change if self.early_stopping else None,
            tol=self.tol,
            verbose=self.verbose,
            callbacks=callbacks,
            history=None if before is None else before.history_,
            n_before=n_before,
        )
        with watch:
            grown = boost(
                table, scores, rules, rounds, validation, watch, self.n_jobs, watch.wants_train_loss
            )
        if grown and all(len(tree.child) == 1 for tree in grown):
            _explain_no_split(float(grown[0].hessian[0]), scores, rules)
        n_kept = watch.best_round(n_before + len(grown) // loss.n_scores)
        trees = [] if before is None else list(before.ensemble_.trees)
        trees += build_trees(grown, table.codes, rules)
        del trees[n_kept * loss.n_scores :]
        fitted["ensemble_"] = Ensemble(
            trees, np.arange(len(trees)) % loss.n_scores, loss.n_scores, start
        )
        fitted["link_"] = loss.link_name
        fitted["n_iter_"] = n_kept
        fitted["history_"] = watch.history()
        return fitted

    def _row_scores(self, rows: _Rows, loss: Loss, start: Array, before: Any) -> RowScores:
        """Scores of some rows: where boosting starts, or where an earlier fit left them."""
        if before is not None:
            at: Array = before.ensemble_.scores(rows.matrix, self.n_jobs).T
        else:
            at = start.reshape(-1, 1)
        if rows.init_score is not None:
            at = at + _lay_out_init(rows.init_score, loss.n_scores)
        return RowScores(loss, rows.target, rows.weight, at, self.order, rows.groups)

    def _kept_from_before(self) -> Any:
        """The estimator itself if this fit goes on where the last one ended."""
        if self.early_stopping and self.drop_rate > 0.0:
            raise ValueError(
                f"early_stopping=True does not go with drop_rate={self.drop_rate}: later rounds "
                "change the trees of earlier ones, so there is no best round to go back to."
            )
        if not self.warm_start or "ensemble_" not in self.__dict__:
            return None
        if self.drop_rate > 0.0:
            raise ValueError(
                f"warm_start=True does not go with drop_rate={self.drop_rate}: dropping changes "
                "the trees of earlier rounds. Fit all rounds at once."
            )
        if self.n_estimators < self.n_iter_:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be at least the {self.n_iter_} rounds "
                "that the warm-started model has."
            )
        return self

    @abstractmethod
    def _read_target(self, y: Any, weight: Array, fitted: dict[str, Any], again: bool) -> Any:
        """The target as float64, and the weights; note what was learnt in ``fitted``."""

    def _read_rows(
        self, given: Given, matrix: Any, fitted: dict[str, Any], again: bool = False
    ) -> _Rows:
        """Check y and the weights of a table."""
        n_rows = matrix.shape[0]
        if n_rows > MAX_ROWS:
            raise ValueError(f"X has {n_rows} rows; at most {MAX_ROWS} are possible.")
        weight = read_weights(given.sample_weight, n_rows)
        target, weight = self._read_target(given.y, weight, fitted, again)
        check_length(target, n_rows)
        init = None if given.init_score is None else _read_init(given.init_score, n_rows)
        rows = _Rows(matrix, target, _moderate(weight), init, given.groups)
        return rows if (weight > 0).all() else rows.chosen(weight > 0)

    def _hold_out(self, rows: _Rows, seed: int) -> tuple[_Rows, _Rows]:
        """Part the rows at random into those to learn from and those to watch."""
        held = self._draw_held(rows, np.random.default_rng([seed, 1]))
        n_rows = len(held)
        if not held.any() or held.all():
            raise ValueError(
                f"early_stopping=True with validation_fraction={self.validation_fraction} leaves "
                f"{int(held.sum())} of {n_rows} rows to validate on. Choose another fraction, or "
                "pass X_val and y_val to fit."
            )
        return rows.chosen(~held), rows.chosen(held)

    def _draw_held(self, rows: _Rows, random: np.random.Generator) -> Array:
        """A mask of the rows to hold out."""
        return draw_share(len(rows.target), self.validation_fraction, random)

    def _rules(self, schema: Schema, loss: Loss) -> BoostRules:
        """The parameters of growing as numbers."""
        monotone = read_monotone(
            self.monotonic_constraints, schema, parameter="monotonic_constraints"
        )
        if monotone is not None and loss.n_scores > 1:
            raise ValueError(
                "monotonic_constraints need one score per row, but the loss "
                f"{loss.name!r} has {loss.n_scores}: constrain a model of two classes or a "
                "regression."
            )
        return BoostRules(
            max_leaf_nodes=self.max_leaf_nodes,
            max_depth=None if self.max_depth is None else min(self.max_depth, 2**31 - 1),
            min_samples_leaf=min(self.min_samples_leaf, 2**31 - 1),
            min_child_weight=float(self.min_child_weight),
            min_split_gain=float(self.min_split_gain),
            reg_lambda=float(self.reg_lambda),
            reg_alpha=float(self.reg_alpha),
            max_delta_step=float(self.max_delta_step),
            growth=self.growth,
            subsample=float(self.subsample),
            colsample_bytree=float(self.colsample_bytree),
            colsample_bylevel=float(self.colsample_bylevel),
            colsample_bynode=float(self.colsample_bynode),
            category_split=self.category_split,
            category_smooth=float(self.category_smooth),
            category_l2=float(self.category_l2),
            monotone=monotone,
            groups=read_groups(self.interaction_constraints, schema),
        )

    def _forget(self) -> None:
        """Drop what an earlier fit has learnt."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Any:
        """Make an estimator with the settings of a published algorithm.

        Parameters
        ----------
        name : {"friedman", "xgboost", "lightgbm"}
        **changes
            Parameters to set otherwise.

        Returns
        -------
        estimator

        Examples
        --------
        >>> import hornbeam as hb
        >>> hb.GradientBoostingRegressor.preset("xgboost", n_estimators=10).growth
        'level'
        """
        return cls(**preset_parameters(name, changes))

    # --- using the model ----------------------------------------------------------------

    def _features(self, X: Any) -> Any:
        """The part of a table that was learnt from."""
        return X

    def _scores(self, X: Any) -> Array:
        """Scores of each row, (n_rows, n_scores)."""
        if "ensemble_" not in self.__dict__:
            check_is_fitted(self)
        name, X = type(self).__name__, self._features(X)
        if self.schema_.takes_as_is(X, name):
            scores = self.ensemble_.scores(X, self.n_jobs)
            if scores is not None:
                return scores
        scores = self.ensemble_.scores(self.schema_.read(X, name), self.n_jobs)
        assert scores is not None  # read has refused infinite values
        return scores

    def _staged_scores(self, X: Any) -> Iterator[Array]:
        check_is_fitted(self)
        matrix = self.schema_.read(self._features(X), type(self).__name__)
        every = self.ensemble_.n_scores
        for scores in self.ensemble_.staged_scores(matrix, self.n_jobs, every):
            assert scores is not None  # read has refused infinite values
            yield scores

    def _linked(self, scores: Array) -> Array:
        """Predictions on the user's scale."""
        single = self.ensemble_.n_scores == 1
        return apply_link(self.link_, scores[:, 0] if single else scores)

    def apply(self, X: Any) -> Array:
        """Return the leaf of each row in each tree.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of int32 of shape (n_samples, n_trees)
        """
        check_is_fitted(self)
        matrix = self.schema_.read(self._features(X), type(self).__name__)
        leaves = self.ensemble_.leaves(matrix, self.n_jobs)
        assert leaves is not None  # read has refused infinite values
        return leaves

    @property
    def trees_(self) -> Sequence[Tree]:
        """The trees, ``n_scores`` of them per round."""
        check_is_fitted(self)
        return self.ensemble_.trees

    def tree(self, number: int) -> SingleTree:
        """Return one tree to look at, with `hb.export_text`, `hb.plot_tree` or `hb.tree_svg`.

        Parameters
        ----------
        number : int
            Which of ``trees_``.

        Returns
        -------
        SingleTree
            Its values are what the leaves add to a score.
        """
        return SingleTree(self.trees_[number], self.schema_, "objective")

    @property
    def feature_importances_(self) -> Array:
        """Share of each feature in the gain of all splits."""
        return self.importances("gain")

    def importances(self, kind: str = "gain", X: Any = None, y: Any = None) -> Array:
        """Return how important each feature is.

        Parameters
        ----------
        kind : {"gain", "split", "cover", "squared", "permutation"}
            Share in the gain of all splits; in their number; in the hessian of the nodes
            they split; Friedman's squared relative importance averaged over trees; or the
            loss of score when a column of (X, y) is shuffled.
        X, y
            Rows to shuffle, for "permutation".

        Returns
        -------
        array of shape (n_features,)
        """
        check_is_fitted(self)
        return importances(self, kind, X, y)

    def history(self) -> Any:
        """Return the losses of each round as a pandas data frame."""
        check_is_fitted(self)
        return history_frame(self.history_)

    def plot_history(self, ax: Any = None) -> Any:
        """Draw the losses of each round; returns the matplotlib axes."""
        check_is_fitted(self)
        return plot_history(self.history_, ax)

    def predictor(self) -> Any:
        """Return an object for serving: no validation beyond the shape, thread-safe."""
        from hornbeam.boosting.predictor import Predictor

        check_is_fitted(self)
        return Predictor(
            self.ensemble_, self._linked, self.n_features_in_, getattr(self, "classes_", None)
        )

    def digest(self) -> str:
        """Return a SHA-256 of the model: equal digests mean equal models, bit for bit."""
        check_is_fitted(self)
        classes = getattr(self, "classes_", None)
        names = None if classes is None else classes.tolist()
        state = hashlib.sha256(f"{self.link_}{names}".encode())
        state.update(np.ascontiguousarray(self.ensemble_.start).tobytes())
        for tree in self.ensemble_.trees:
            state.update(tree.digest().encode())
        return state.hexdigest()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags


class Given:
    """What the user passes to ``fit``."""

    def __init__(self, X: Any, y: Any, sample_weight: Any, init_score: Any, groups: Any) -> None:
        self.X, self.y, self.sample_weight = X, y, sample_weight
        self.init_score, self.groups = init_score, groups


class _Rows:
    """Rows that were read: a float matrix, targets, weights."""

    def __init__(
        self,
        matrix: Any,
        target: Array,
        weight: Array,
        init_score: Array | None,
        groups: Array | None,
    ) -> None:
        self.matrix, self.target, self.weight = matrix, target, weight
        self.init_score, self.groups = init_score, groups

    def chosen(self, mask: Array) -> _Rows:
        """Some of the rows."""
        init = None if self.init_score is None else self.init_score[mask]
        groups = self.groups
        if groups is not None:
            sizes = np.add.reduceat(mask.astype(np.int64), groups[:-1])
            sizes = sizes[sizes > 0]
            groups = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        matrix = self.matrix
        if scipy.sparse.issparse(matrix):
            matrix = scipy.sparse.csr_array(matrix)
        return _Rows(matrix[mask], self.target[mask], self.weight[mask], init, groups)


def _check_classes(before: Any, fitted: dict[str, Any]) -> None:
    """A model that goes on learning keeps its classes."""
    if "classes_" not in fitted:
        return
    classes, earlier = fitted["classes_"], before.classes_
    if not np.array_equal(classes, earlier):
        raise ValueError(
            f"warm_start=True goes on with a model of the classes {earlier.tolist()[:10]}, but y "
            f"holds {classes.tolist()[:10]}. Fit a new model, or pass rows of the same classes."
        )


def _explain_no_split(hessian: float, scores: RowScores, rules: BoostRules) -> None:
    """Warn if no tree has a split for a reason that somebody should act on."""
    if hessian < 2.0 * rules.min_child_weight:
        reason = (
            f"the hessians of all rows add up to {hessian:.3g}, less than twice "
            f"min_child_weight={rules.min_child_weight:g}: choose a smaller one, or scale y or "
            "sample_weight"
        )
    elif scores.peak[0] == 0.0 and np.ptp(scores.target) > 0.0:
        reason = "all gradients round to zero: scale y, so that its values are not so small"
    else:
        return
    warnings.warn(f"No tree has a split, since {reason}.", UserWarning, stacklevel=5)


def _moderate(weight: Array) -> Array:
    """Weights times a power of two if they are so large or small that slopes would overflow."""
    exponent = int(np.frexp(weight.max())[1]) if len(weight) else 0
    return weight if abs(exponent) <= _MAX_EXPONENT else np.ldexp(weight, -exponent)


def draw_share(count: int, share: float, random: np.random.Generator) -> Array:
    """A mask of so many entries, of which about this share is set."""
    mask = np.zeros(count, bool)
    mask[random.permutation(count)[: round(share * count)]] = True
    return mask


def _seed(random_state: Any) -> int:
    return int(check_random_state(random_state).randint(2**31 - 1))


def _check_callbacks(callbacks: Any) -> None:
    """Callbacks are functions, and there may be several."""
    if isinstance(callbacks, Sequence) and all(callable(callback) for callback in callbacks):
        return
    raise TypeError(
        "callbacks must be a list of functions that take the report of a round, but is "
        f"{callbacks!r:.60}."
    )


def _read_init(init_score: Any, n_rows: int) -> Array:
    """Start scores as finite numbers, one or several for each row."""
    try:
        init = np.asarray(init_score, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"init_score must hold numbers: {error}.") from error
    if init.ndim not in (1, 2) or len(init) != n_rows:
        raise ValueError(f"init_score has shape {init.shape}, but X has {n_rows} rows.")
    if not np.isfinite(init).all():
        raise ValueError("init_score holds NaN or infinite values.")
    return init


def _lay_out_init(init: Array, n_scores: int) -> Array:
    """Start scores of each row as (n_scores, n_rows)."""
    n_rows = len(init)
    if init.size != n_rows * n_scores:
        wanted = (n_rows,) if n_scores == 1 else (n_rows, n_scores)
        raise ValueError(f"init_score has shape {init.shape}; it must have shape {wanted}.")
    return init.reshape(n_rows, -1).T


COMMON = {
    "max_leaf_nodes": "boosting_leaves",
    "min_samples_leaf": "boosting_samples_leaf",
    "growth": "boosting_growth",
    "max_bins": "boosting_bins",
}


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
    history_ : dict of str to array
        Losses per round, as far as they were measured.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had names.
    feature_importances_ : array

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
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 5,
        min_child_weight: float = 1e-3,
        min_split_gain: float = 0.0,
        reg_lambda: float = 1.0,
        reg_alpha: float = 0.0,
        max_delta_step: float = 0.0,
        growth: str = "leaf",
        order: int = 2,
        subsample: float = 1.0,
        colsample_bytree: float = 1.0,
        colsample_bylevel: float = 1.0,
        colsample_bynode: float = 1.0,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        category_split: str = "subset",
        category_smooth: float = 10.0,
        category_l2: float = 10.0,
        unseen: str = "missing",
        monotonic_constraints: Any = None,
        interaction_constraints: Any = None,
        quantile: Any = 0.5,
        huber_quantile: float = 0.9,
        tweedie_power: float = 1.5,
        drop_rate: float = 0.0,
        skip_drop: float = 0.5,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        warm_start: bool = False,
        verbose: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
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
        self.colsample_bytree = colsample_bytree
        self.colsample_bylevel = colsample_bylevel
        self.colsample_bynode = colsample_bynode
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.category_split = category_split
        self.category_smooth = category_smooth
        self.category_l2 = category_l2
        self.unseen = unseen
        self.monotonic_constraints = monotonic_constraints
        self.interaction_constraints = interaction_constraints
        self.quantile = quantile
        self.huber_quantile = huber_quantile
        self.tweedie_power = tweedie_power
        self.drop_rate = drop_rate
        self.skip_drop = skip_drop
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _read_target(self, y: Any, weight: Array, fitted: dict[str, Any], again: bool) -> Any:
        values = read_one_column(y, type(self).__name__)
        fitted["n_outputs_"] = 1
        return values, weight

    def predict(self, X: Any) -> Array:
        """Predict the target of each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,), or (n_samples, n_quantiles) for several quantiles
        """
        return self._flat(self._scores(X))

    def _flat(self, scores: Array) -> Array:
        predictions = self._linked(scores)
        return predictions.ravel() if scores.shape[1] == 1 else predictions

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Predict after each round.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Yields
        ------
        array of shape (n_samples,)
        """
        for scores in self._staged_scores(X):
            yield self._flat(scores)


def read_one_column(y: Any, name: str) -> Array:
    """A target of one column; a column vector is taken with a warning, as everywhere."""
    values = read_values(y, name)
    if values.shape[1] > 1:
        raise ValueError(
            f"y has {values.shape[1]} columns, but {name} predicts one target: fit one model per "
            "column, or use sklearn.multioutput.MultiOutputRegressor."
        )
    warn_column_vector(y)
    return values[:, 0]


def warn_column_vector(y: Any) -> None:
    """Say that y was a column where a flat array was expected, in scikit-learn's words."""
    shape = getattr(y, "shape", None)
    if shape is not None and len(shape) == 2 and shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape "
            "of y to (n_samples,), for example using ravel().",
            DataConversionWarning,
            stacklevel=6,
        )


@register_estimator
@declared
class GradientBoostingClassifier(ClassifierMixin, BaseGradientBoosting):  # type: ignore[misc]
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
    history_ : dict of str to array
        Losses per round, as far as they were measured.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had names.
    feature_importances_ : array

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
    _declared_as = {**COMMON, "loss": "classification_loss"}  # noqa: RUF012
    classes_: Array
    n_classes_: int

    def __init__(
        self,
        *,
        loss: Any = "log_loss",
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 5,
        min_child_weight: float = 1e-3,
        min_split_gain: float = 0.0,
        reg_lambda: float = 1.0,
        reg_alpha: float = 0.0,
        max_delta_step: float = 0.0,
        growth: str = "leaf",
        order: int = 2,
        subsample: float = 1.0,
        colsample_bytree: float = 1.0,
        colsample_bylevel: float = 1.0,
        colsample_bynode: float = 1.0,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        category_split: str = "subset",
        category_smooth: float = 10.0,
        category_l2: float = 10.0,
        unseen: str = "missing",
        monotonic_constraints: Any = None,
        interaction_constraints: Any = None,
        class_weight: Any = None,
        drop_rate: float = 0.0,
        skip_drop: float = 0.5,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        warm_start: bool = False,
        verbose: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.loss = loss
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
        self.colsample_bytree = colsample_bytree
        self.colsample_bylevel = colsample_bylevel
        self.colsample_bynode = colsample_bynode
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.category_split = category_split
        self.category_smooth = category_smooth
        self.category_l2 = category_l2
        self.unseen = unseen
        self.monotonic_constraints = monotonic_constraints
        self.interaction_constraints = interaction_constraints
        self.class_weight = class_weight
        self.drop_rate = drop_rate
        self.skip_drop = skip_drop
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _read_target(self, y: Any, weight: Array, fitted: dict[str, Any], again: bool) -> Any:
        name = type(self).__name__
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
            return _relabel(classes.names[0], labels, fitted["classes_"]), weight
        if len(classes.names[0]) < 2:
            raise ValueError(
                f"{name} needs two classes to tell apart, but y holds only one class: "
                f"{classes.names[0].tolist()[0]!r}."
            )
        weight = weigh_classes(weight, self.class_weight, y, classes)
        fitted["n_outputs_"] = 1
        fitted["classes_"] = classes.names[0]
        fitted["n_classes_"] = len(classes.names[0])
        return labels, weight

    def _draw_held(self, rows: _Rows, random: np.random.Generator) -> Array:
        """The same share of every class."""
        held = np.zeros(len(rows.target), bool)
        for label in range(int(rows.target.max()) + 1):
            members = np.flatnonzero(rows.target == label)
            held[members] = draw_share(len(members), self.validation_fraction, random)
        return held

    def decision_function(self, X: Any) -> Array:
        """Return the scores behind the probabilities.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) for two classes, else (n_samples, n_scores)
        """
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any) -> Array:
        """Predict the probability of each class.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return self._linked(self._scores(X))

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

    def predict(self, X: Any) -> Array:
        """Predict the class of each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        return self._likeliest(self._scores(X))

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
            yield scores[:, 0] if scores.shape[1] == 1 else scores


def _relabel(names: Array, labels: Array, classes: Array) -> Array:
    """Numbers of validation classes among the classes of training."""
    unknown = [name for name in names.tolist() if name not in set(classes.tolist())]
    if unknown:
        raise ValueError(
            f"y_val holds the class {unknown[0]!r}, which is not among the classes of y: "
            f"{classes.tolist()[:10]}."
        )
    place = np.searchsorted(classes, names)
    numbers: Array = place[labels.astype(np.int64)].astype(np.float64)
    return numbers

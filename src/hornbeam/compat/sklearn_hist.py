"""HistGradientBoosting of scikit-learn: leaf-wise Newton steps on binned columns."""

from __future__ import annotations

from abc import ABCMeta
from itertools import combinations
from numbers import Integral
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
import sklearn.ensemble
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import check_scoring
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples

from hornbeam.boosting.engine import RoundReport
from hornbeam.boosting.estimators import GradientBoostingClassifier, GradientBoostingRegressor
from hornbeam.combine.tables import TableRows, open_rows
from hornbeam.compat.adapter import Adapter, ClassifierMethods, RegressorMethods
from hornbeam.compat.measures import before_the_first_round, mean_loss
from hornbeam.compat.translation import (
    Known,
    Row,
    Translation,
    apart,
    chosen,
    converted,
    renamed,
    same,
)
from hornbeam.data.choices import chosen_categories
from hornbeam.dtypes import Array
from hornbeam.fitting import fitting

_WATCHED, _LEARNT = "validation", "learnt"  # rows, in the reports of the engine
_MANY_ROWS = 10_000  # more of them, and 'auto' stops early

_FIXED = {
    "early_stopping": False,
    "growth": "leaf",
    "min_child_weight": 1e-3,
    "category_l2": 0.0,
    "order": 2,
}

_FIT = {
    "X": "the same; text is taken as well",
    "y": "the same",
    "sample_weight": "the same",
    "X_val, y_val, sample_weight_val": "the rows to stop by",
}
_ATTRIBUTES = {
    "engine_": "the fitted estimator of ours, with all that it can do",
    "n_iter_": "rounds in the model, those without improvement as well",
    "n_trees_per_iteration_": "trees of a round: one per class if there are more than two",
    "train_score_, validation_score_": "the score (minus the loss) at the start and after each "
    "round; empty without early stopping",
    "do_early_stopping_": "whether the fit could stop early",
    "is_categorical_": "which columns are categories; None if none is",
    "n_features_in_, feature_names_in_": "the same",
}
_OF_CLASSES = {"classes_": "the same"}


def _groups(value: Any, known: Known) -> Any:
    """Interaction constraints as groups of positions."""
    features = range(known["n_features"])
    if value == "no_interactions":
        return [[feature] for feature in features]
    if value == "pairwise":
        return [list(pair) for pair in combinations(features, 2)]
    if value is None:
        return None
    last = known["n_features"] - 1
    for group in value:
        if not isinstance(group, (tuple, list, set, frozenset)):
            raise ValueError(
                "Interaction constraints must be a sequence of tuples or lists, got: "
                f"{value!r:.200}."
            )
        if not all(isinstance(place, Integral) and 0 <= int(place) <= last for place in group):
            raise ValueError(
                "Interaction constraints must consist of integer indices in [0, n_features - 1] = "
                f"[0, {last}], specifying the position of features, got invalid indices: {group!r}"
            )
    return [list(group) for group in value]


_MIDDLE: tuple[Row, ...] = (
    *same("learning_rate"),
    renamed("max_iter", "n_estimators"),
    *same("max_leaf_nodes", "max_depth", "min_samples_leaf"),
    renamed("l2_regularization", "reg_lambda"),
    renamed("max_features", "colsample_bynode"),
    *same("max_bins"),
    Row(
        "categorical_features",
        "the same; a negative code is a missing value",
        lambda value, known: {"categorical_features": value},
    ),
    *same("monotonic_cst"),
    converted(
        "interaction_cst",
        "`interaction_constraints`, with the pairs or single features written out for "
        "`'pairwise'` and `'no_interactions'`",
        "interaction_constraints",
        _groups,
    ),
    *same("warm_start"),
    apart("early_stopping", "the same: `'auto'` stops early with more than 10,000 rows"),
    apart("scoring", "the same"),
    apart(
        "validation_fraction",
        "the same rows are held out; None stops by the training loss",
    ),
    apart("n_iter_no_change", "the same; all rounds are kept, as there"),
    apart("tol", "the same, in units of the loss"),
    converted(
        "verbose", "`verbose`: a progress bar if it is not 0", "verbose", lambda v, _: int(bool(v))
    ),
    *same("random_state"),
)
_OWN_LOSS = "write a function of one row, loss(y, score), with hb.GradientBoosting*."

CLASSIFIER = Translation(
    "scikit-learn",
    "HistGradientBoostingClassifier",
    "GradientBoostingClassifier",
    (chosen("loss", "loss", {"log_loss": "log_loss"}, _OWN_LOSS), *_MIDDLE, *same("class_weight")),
    _FIXED,
    _FIT,
    {**_ATTRIBUTES, **_OF_CLASSES},
)
_LOSSES = {
    name: name for name in ("squared_error", "absolute_error", "gamma", "poisson", "quantile")
}
REGRESSOR = Translation(
    "scikit-learn",
    "HistGradientBoostingRegressor",
    "GradientBoostingRegressor",
    (
        chosen("loss", "loss", _LOSSES, _OWN_LOSS),
        converted(
            "quantile",
            "the same; None is the median, which no other loss asks for",
            "quantile",
            lambda value, known: 0.5 if value is None else value,
        ),
        *_MIDDLE,
    ),
    _FIXED,
    _FIT,
    _ATTRIBUTES,
)


class Stopping:
    """Told of every round: keeps the losses, and stops where they do not fall any more."""

    def __init__(self, adapter: BaseHistGradientBoosting, watches: bool) -> None:
        self.adapter, self.watches = adapter, watches
        self.by_loss = adapter.scoring == "loss"
        self.train = adapter.train_score_.tolist()
        self.valid = adapter.validation_score_.tolist()

    def __call__(self, report: RoundReport) -> bool:
        """Note a round; True ends the fit."""
        if self.by_loss:
            self.train.append(-report.train_loss)
            self.valid += [-report.losses[_WATCHED]] if self.watches else []
        else:
            self.train += report.scores[_LEARNT].values()
            self.valid += report.scores[_WATCHED].values() if self.watches else []
        return self.adapter._should_stop(self.valid if self.watches else self.train)


class BaseHistGradientBoosting(Adapter, metaclass=ABCMeta):
    """What both share."""

    max_iter: int
    categorical_features: Any
    early_stopping: Any
    validation_fraction: Any
    n_iter_no_change: int
    tol: float
    scoring: Any
    random_state: Any

    train_score_: Array
    validation_score_: Array
    seed_: int

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Boost.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Categories of text need no encoding; missing values are taken as they are.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
        X_val, y_val, sample_weight_val : optional
            Rows to stop by, instead of some that are held out.

        Returns
        -------
        self
        """
        self._check_parameters()
        if X_val is not None and y_val is None:
            raise ValueError("X_val is provided, but y_val was not provided.")
        if y_val is not None and X_val is None:
            raise ValueError("y_val is provided, but X_val was not provided.")
        if X_val is not None and self.early_stopping is False:
            raise ValueError(
                "X_val and y_val are passed to fit while early_stopping is False. When passing "
                "X_val and y_val to fit, early_stopping should be set to either 'auto' or True."
            )
        earlier = self._earlier()
        with fitting(self) as fitted:
            given = (X, y, sample_weight)
            fitted._fit(given, (X_val, y_val, sample_weight_val), earlier)
        return self

    def _earlier(self) -> dict[str, Any]:
        """What a fit that goes on goes on from."""
        if not (self.warm_start and "engine_" in self.__dict__):
            return {}
        if self.max_iter < self.n_iter_:
            raise ValueError(
                f"max_iter={self.max_iter} must be larger than or equal to "
                f"n_iter_={self.n_iter_} when warm_start==True"
            )
        return dict(vars(self))

    def _fit(self, given: Any, watched: Any, earlier: dict[str, Any]) -> None:
        empty = np.zeros(0)
        self.train_score_ = earlier.get("train_score_", empty)
        self.validation_score_ = earlier.get("validation_score_", empty)
        self.seed_ = earlier["seed_"] if earlier else self._draw_seed()
        n_rows = 0 if given[1] is None else _num_samples(given[1])
        stops, many = self.early_stopping, n_rows > _MANY_ROWS or watched[0] is not None
        self.do_early_stopping_ = bool(many if stops == "auto" else stops)
        rows = open_rows(given[0], type(self).__name__)
        coded = _without_negative_codes(rows, self.categorical_features)
        if coded is not rows:
            rows, given = coded, (coded.native, *given[1:])
        engine = self._make_engine(earlier.get("engine_"), n_features=rows.n_columns)
        engine._least_classes = 1
        if not self.do_early_stopping_:
            engine.fit(*given)
        else:
            self._fit_and_stop(engine, rows, given, watched)
        self._adopt(engine)
        is_category = engine.schema_.is_category
        self.is_categorical_ = is_category if is_category.any() else None

    def _fit_and_stop(self, engine: Any, rows: TableRows, given: Any, watched: Any) -> None:
        """Boost until the loss of rows that are not learnt from falls no more."""
        if watched[0] is None and watched[1] is None and self.validation_fraction is not None:
            given, watched = self._hold_out(rows, given)
        watches = watched[0] is not None
        stopping, rows_by_name = Stopping(self, watches), {_WATCHED: watched} if watches else {}
        if not stopping.by_loss:
            engine.scoring, rows_by_name[_LEARNT] = self._scorer(), given
        engine.fit(*given, **_named(rows_by_name), callbacks=[stopping])
        engine.scoring = "loss"  # what was measured is not needed to go on
        if not len(self.train_score_):
            stopping.train.insert(0, self._first_score(engine, given))
            if watches:
                stopping.valid.insert(0, self._first_score(engine, watched))
        self.train_score_ = np.array(stopping.train)
        self.validation_score_ = np.array(stopping.valid)

    def _scorer(self) -> Any:
        """A scorer by name, or as a function."""
        if self.scoring is not None:
            return self.scoring
        return "accuracy" if isinstance(self, ClassifierMixin) else "r2"

    def _first_score(self, engine: Any, given: Any) -> float:
        """The score before the first round."""
        X, y, weight = given
        if self.scoring == "loss":
            return -mean_loss(engine, X, y, weight)
        model = before_the_first_round(engine)
        more = {} if weight is None else {"sample_weight": weight}
        return float(check_scoring(model, self._scorer())(model, X, y, **more))

    def _hold_out(self, rows: TableRows, given: Any) -> tuple[Any, Any]:
        """The rows to learn from and those to stop by: the same ones as in scikit-learn."""
        _, y, weight = given
        learnt, held = train_test_split(
            np.arange(rows.n_rows),
            test_size=self.validation_fraction,
            stratify=y if isinstance(self, ClassifierMixin) else None,
            random_state=self.seed_,
        )
        y, columns = np.asarray(y), np.arange(rows.n_columns)
        weight = None if weight is None else np.asarray(weight)

        def part(chosen: Array) -> Any:
            some = None if weight is None else weight[chosen]
            return rows.part(chosen, columns), y[chosen], some

        return part(learnt), part(held)

    def _draw_seed(self) -> int:
        random = check_random_state(self.random_state)
        return int(random.randint(np.iinfo(np.uint32).max, dtype="u8"))

    def _should_stop(self, scores: list[float]) -> bool:
        """Whether the last scores are no better than the one before them, but for ``tol``."""
        if len(scores) <= self.n_iter_no_change:
            return False
        reference = scores[-self.n_iter_no_change - 1] + self.tol
        return not any(score > reference for score in scores[-self.n_iter_no_change :])

    @property
    def n_iter_(self) -> int:
        """Rounds in the model."""
        return int(self._engine.n_iter_)

    @property
    def n_trees_per_iteration_(self) -> int:
        """Trees of a round."""
        return int(self._engine.ensemble_.n_scores)


def _without_negative_codes(rows: TableRows, chosen: Any) -> TableRows:
    """The table with missing values where the code of a category is negative.

    In other tables such a code is a category that training has not seen, which is missing too.
    """
    names = rows.table.columns if rows.is_frame else [f"x{i}" for i in range(rows.n_columns)]
    columns = sorted(chosen_categories(chosen, names))
    if not columns:
        return rows
    if not rows.is_frame:
        if rows.table.dtype.kind not in "if" or not (rows.table[:, columns] < 0).any():
            return rows
        table = rows.table.astype(np.float64)
        table[:, columns] = np.where(table[:, columns] < 0, np.nan, table[:, columns])
        return TableRows(table, False)
    frame = rows.table
    numbers = [names[i] for i in columns if frame.schema[names[i]].is_numeric()]
    known = [nw.when(nw.col(name) >= 0).then(nw.col(name)).alias(name) for name in numbers]
    return TableRows(frame.with_columns(*known), True) if known else rows


def _named(sets: dict[str, Any]) -> dict[str, Any]:
    """Sets of rows by name as the arguments of a fit."""
    names = ("X_val", "y_val", "sample_weight_val")
    parts = {name: {rows: parts[i] for rows, parts in sets.items()} for i, name in enumerate(names)}
    if all(weight is None for weight in parts["sample_weight_val"].values()):
        del parts["sample_weight_val"]
    return parts if sets else {}


class HistGradientBoostingRegressor(RegressorMethods, RegressorMixin, BaseHistGradientBoosting):  # type: ignore[misc]
    """`sklearn.ensemble.HistGradientBoostingRegressor`, on hornbeam's engine.

    Parameters are scikit-learn's; docs/compat/sklearn.md says what becomes of each.

    Examples
    --------
    >>> from hornbeam.compat.sklearn import HistGradientBoostingRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [20.0, 20.0, 30.0, 30.0]
    >>> model = HistGradientBoostingRegressor(min_samples_leaf=1).fit(X, y)
    >>> model.predict([[0.4], [2.6]]).round(1)
    array([20., 30.])
    """

    _translation = REGRESSOR
    _engine_class = GradientBoostingRegressor
    _parameter_constraints = sklearn.ensemble.HistGradientBoostingRegressor._parameter_constraints

    def __init__(
        self,
        loss: Any = "squared_error",
        *,
        quantile: float | None = None,
        learning_rate: float = 0.1,
        max_iter: int = 100,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        l2_regularization: float = 0.0,
        max_features: float = 1.0,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        warm_start: bool = False,
        early_stopping: Any = "auto",
        scoring: Any = "loss",
        validation_fraction: Any = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-07,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.quantile = quantile
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_features = max_features
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state


class HistGradientBoostingClassifier(
    ClassifierMethods,
    ClassifierMixin,  # type: ignore[misc]
    BaseHistGradientBoosting,
):
    """`sklearn.ensemble.HistGradientBoostingClassifier`, on hornbeam's engine.

    Parameters are scikit-learn's; docs/compat/sklearn.md says what becomes of each.

    Examples
    --------
    >>> from hornbeam.compat.sklearn import HistGradientBoostingClassifier
    >>> X, y = [["sun"], ["rain"], ["sun"], ["rain"]], ["no", "yes", "no", "yes"]
    >>> model = HistGradientBoostingClassifier(min_samples_leaf=1).fit(X, y)
    >>> model.predict([["sun"], ["rain"]]).tolist()
    ['no', 'yes']
    """

    _translation = CLASSIFIER
    _engine_class = GradientBoostingClassifier
    _parameter_constraints = sklearn.ensemble.HistGradientBoostingClassifier._parameter_constraints

    def __init__(
        self,
        loss: Any = "log_loss",
        *,
        learning_rate: float = 0.1,
        max_iter: int = 100,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        l2_regularization: float = 0.0,
        max_features: float = 1.0,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        warm_start: bool = False,
        early_stopping: Any = "auto",
        scoring: Any = "loss",
        validation_fraction: Any = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-07,
        verbose: int = 0,
        random_state: Any = None,
        class_weight: Any = None,
    ) -> None:
        self.loss = loss
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_features = max_features
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.class_weight = class_weight

"""Random forests and extremely randomised trees, for classes and for numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from hornbeam.data.target import read_values
from hornbeam.dtypes import Array
from hornbeam.forest.bags import Bags
from hornbeam.forest.base import BaseForest
from hornbeam.forest.calibration import find_levels, levels_to_ask
from hornbeam.forest.parameters import FOREST_NAMES
from hornbeam.forest.quantiles import LeafSamples, read_levels
from hornbeam.model.registry import register_estimator
from hornbeam.params import declared
from hornbeam.probabilities import OutputProbabilities
from hornbeam.tree.estimators import (
    CartTree,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    join_outputs,
)
from hornbeam.tree.rules import WARY
from hornbeam.tree.task import Task

LEAST_SPLIT = 2  # rows, unless a trial finds that more are better
# Parameters that a forest hands on to its trees.
_OF_TREES = (
    "criterion",
    "max_depth",
    "min_samples_split",
    "min_samples_leaf",
    "min_weight_fraction_leaf",
    "max_features",
    "max_leaf_nodes",
    "min_impurity_decrease",
    "monotonic_cst",
    "finder",
    "max_bins",
    "growth",
    "categorical_features",
    "category_split",
    "unseen",
    "n_jobs",
)


def _of_trees(forest: Any) -> dict[str, Any]:
    """Parameters of a forest's trees; they know nothing of being wary (see `_refine`)."""
    shared = {name: getattr(forest, name) for name in _OF_TREES}
    if shared["min_samples_split"] == "auto":
        shared["min_samples_split"] = vars(forest).get("min_samples_split_", LEAST_SPLIT)
    if shared["max_features"] == "auto":
        shared["max_features"] = vars(forest).get("max_features_", forest._share_drawn)
    if shared["category_split"] in ("auto", *WARY):
        shared["category_split"] = "subset"
    return shared


class ForestClassifier(OutputProbabilities, BaseForest):
    """What forests of classification trees share."""

    _splitter = "best"
    _declared_as = {  # noqa: RUF012
        **FOREST_NAMES,
        "min_samples_split": "forest_split_size",
        "criterion": "classification_criterion",
        "class_weight": "forest_class_weight",
    }
    voting: str
    class_weight: Any

    def _template(self) -> CartTree:
        own = self.class_weight if self.class_weight != "balanced_subsample" else None
        shared = _of_trees(self)
        return DecisionTreeClassifier(splitter=self._splitter, class_weight=own, **shared)

    def predict(self, X: Any) -> Array:
        """Predict the class of each row: the one with the most votes or the largest mean share.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_outputs)
        """
        scores = self._predicted(X, mean=False, hard=self.voting == "hard")
        if self.n_outputs_ == 1:
            return self.classes_[scores.argmax(axis=1)]
        blocks = self._blocks(scores)
        return join_outputs(
            [
                names[block.argmax(axis=1)]
                for names, block in zip(self.classes_, blocks, strict=True)
            ]
        )

    def predict_proba(self, X: Any) -> Array | list[Array]:
        """Predict the probability of each class: its mean share in the leaves, or of the votes.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes), or a list of them with several outputs
        """
        shares = self._predicted(X, mean=True, hard=self.voting == "hard")
        return shares if self.n_outputs_ == 1 else self._blocks(shares)


class ForestRegressor(RegressorMixin, BaseForest):  # type: ignore[misc]
    """What forests of regression trees share."""

    _splitter = "best"
    _share_drawn: float  # of the features, unless a trial finds that all are better
    _declared_as = {  # noqa: RUF012
        **FOREST_NAMES,
        "min_samples_split": "forest_split_size",
        "max_features": "forest_features",
        "criterion": "regression_criterion",
    }
    leaf_samples: bool
    calibrate: bool

    def _template(self) -> CartTree:
        shared = _of_trees(self)
        return DecisionTreeRegressor(splitter=self._splitter, **shared)

    def _check_fits(self, earlier: dict[str, Any], fitted: dict[str, Any]) -> None:
        super()._check_fits(earlier, fitted)
        if self.leaf_samples and fitted["n_outputs_"] > 1:
            raise ValueError(
                "leaf_samples=True is for quantiles of one output, but y has "
                f"{fitted['n_outputs_']}: fit one forest per output."
            )

    def _check_bags_wanted(self, time: Any) -> None:
        super()._check_bags_wanted(time)
        if self.calibrate and not self.leaf_samples:
            raise ValueError(
                "calibrate=True is for quantiles, which need the training rows in the leaves: "
                "set leaf_samples=True as well."
            )

    def _note(self, task: Task, bags: Bags, y: Any, fitted: dict[str, Any]) -> None:
        if not self.leaf_samples:
            return
        store, weight = fitted["store_"], task.target.weight
        leaves = store.leaves(task.matrix, self.n_jobs)
        values = read_values(y, type(self).__name__)[:, 0]
        samples = fitted["leaf_samples_"] = LeafSamples.gather(
            leaves, store.root, values, lambda tree: bags.counts(tree) * weight
        )
        if self.calibrate:
            fitted["calibration_"] = find_levels(
                self, task, bags, values, samples, store.root, leaves
            )

    def predict(self, X: Any) -> Array:
        """Predict the target of each row: the mean over the trees.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_outputs)
        """
        means = self._predicted(X, mean=True)
        return means[:, 0] if self.n_outputs_ == 1 else means

    def predict_quantiles(self, X: Any, quantiles: Any = (0.05, 0.5, 0.95)) -> Array:
        """Predict quantiles of the target (a quantile regression forest).

        Needs ``leaf_samples=True``; with ``calibrate=True`` as well they hold for new rows.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        quantiles : float or list of floats
            From 0 to 1.

        Returns
        -------
        array of shape (n_samples, n_quantiles), or (n_samples,) for a single number
        """
        check_is_fitted(self)
        samples = self.__dict__.get("leaf_samples_")
        if samples is None:
            raise ValueError(
                "Quantiles need the training rows in the leaves, which this forest did not keep: "
                "fit it with leaf_samples=True."
            )
        levels = levels_to_ask(read_levels(quantiles), self.__dict__.get("calibration_"))
        found: Array = samples.quantiles(self.apply(X) + self.store_.root[:-1], levels)
        return found[:, 0] if np.ndim(quantiles) == 0 else found

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Array:
        """Predict between which two values the target lies with a given probability.

        Needs ``leaf_samples=True``; with ``calibrate=True`` as well the probability is that of
        new rows.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        coverage : float
            Probability that the target is inside, between 0 and 1.

        Returns
        -------
        array of shape (n_samples, 2)
        """
        if not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage must be between 0 and 1, but is {coverage!r}.")
        outside = (1.0 - coverage) / 2.0
        return self.predict_quantiles(X, [outside, 1.0 - outside])


@register_estimator
@declared
class RandomForestClassifier(ForestClassifier):
    """A random forest for classes (Breiman 2001).

    Trees on bootstrap samples of the rows, each node searching a random choice of the features;
    their class shares are averaged, or their votes counted.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    estimators_ : sequence of DecisionTreeClassifier
        The trees, each made when it is asked for.
    store_ : ForestStore
        All trees packed into few arrays.
    schema_ : Schema
        Names, kinds and categories of the columns.
    classes_ : array, or list of arrays with several outputs
    n_classes_ : int, or list of int
    n_outputs_ : int
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had names.
    min_samples_split_ : int
        Rows that a node needed to be split.
    max_features_ : int
        Features that were drawn at a node.
    category_split_ : str
        How categories were parted.
    feature_importances_ : array
    oob_score_ : float
    oob_decision_function_ : array of shape (n_samples, n_classes)
        What the trees that have not seen a row say; with ``oob_score=True``.

    Examples
    --------
    >>> import hornbeam as hb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = hb.RandomForestClassifier(oob_score=True, random_state=0).fit(X, y)
    >>> forest.oob_score_ > 0.9
    True
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str | Callable[..., float] = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float | str = "auto",
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: bool | Callable[..., float] = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | None = None,
        warm_start: bool = False,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        max_samples: int | float | None = None,
        monotonic_cst: Any = None,
        voting: str = "soft",
        constant_features: str = "skip",
        early_stopping: bool | Literal["auto"] = "auto",
        n_iter_no_change: int | None = None,
        tol: float = 1e-4,
        finder: str = "histogram",
        max_bins: int = 255,
        growth: str | None = None,
        categorical_features: Any = "from_dtype",
        category_split: str = "auto",
        unseen: str = "missing",
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.voting = voting
        self.constant_features = constant_features
        self.early_stopping = early_stopping
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.finder = finder
        self.max_bins = max_bins
        self.growth = growth
        self.categorical_features = categorical_features
        self.category_split = category_split
        self.unseen = unseen


@register_estimator
@declared
class RandomForestRegressor(ForestRegressor):
    """A random forest for numbers (Breiman 2001).

    Trees on bootstrap samples of the rows whose predictions are averaged. With
    ``leaf_samples=True`` it also predicts quantiles and intervals (Meinshausen 2006).

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    estimators_ : sequence of DecisionTreeRegressor
        The trees, each made when it is asked for.
    store_ : ForestStore
        All trees packed into few arrays.
    schema_ : Schema
        Names, kinds and categories of the columns.
    n_outputs_ : int
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had names.
    min_samples_split_ : int
        Rows that a node needed to be split.
    max_features_ : int
        Features that were drawn at a node.
    category_split_ : str
        How categories were parted.
    feature_importances_ : array
    oob_score_ : float
    oob_prediction_ : array of shape (n_samples,)
        What the trees that have not seen a row say; with ``oob_score=True``.
    calibration_ : array
        Which level the leaves are asked for, for the levels 0, 0.001 and so on to 1; with
        ``calibrate=True``.

    Examples
    --------
    >>> import hornbeam as hb
    >>> X, y = [[float(i)] for i in range(100)], [float(i) for i in range(100)]
    >>> forest = hb.RandomForestRegressor(leaf_samples=True, random_state=0).fit(X, y)
    >>> low, high = forest.predict_interval([[50.0]], coverage=0.8)[0]
    >>> bool(low <= 50.0 <= high)
    True
    """

    _share_drawn = 0.7

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str | Callable[..., float] = "squared_error",
        max_depth: int | None = None,
        min_samples_split: int | float | str = "auto",
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = "auto",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: bool | Callable[..., float] = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | None = None,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: int | float | None = None,
        monotonic_cst: Any = None,
        leaf_samples: bool = False,
        calibrate: bool = False,
        constant_features: str = "skip",
        early_stopping: bool | Literal["auto"] = "auto",
        n_iter_no_change: int | None = None,
        tol: float = 1e-4,
        finder: str = "histogram",
        max_bins: int = 255,
        growth: str | None = None,
        categorical_features: Any = "from_dtype",
        category_split: str = "auto",
        unseen: str = "missing",
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.leaf_samples = leaf_samples
        self.calibrate = calibrate
        self.constant_features = constant_features
        self.early_stopping = early_stopping
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.finder = finder
        self.max_bins = max_bins
        self.growth = growth
        self.categorical_features = categorical_features
        self.category_split = category_split
        self.unseen = unseen


@register_estimator
@declared
class ExtraTreesClassifier(ForestClassifier):
    """Extremely randomised trees for classes (Geurts, Ernst, Wehenkel 2006).

    Each node draws features and one random cut of each, and takes the best of these cuts.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    estimators_ : sequence of DecisionTreeClassifier
        The trees, each made when it is asked for.
    store_ : ForestStore
        All trees packed into few arrays.
    schema_ : Schema
        Names, kinds and categories of the columns.
    classes_ : array, or list of arrays with several outputs
    n_classes_ : int, or list of int
    n_outputs_ : int
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had names.
    min_samples_split_ : int
        Rows that a node needed to be split.
    max_features_ : int
        Features that were drawn at a node.
    category_split_ : str
        How categories were parted.
    feature_importances_ : array
    oob_score_ : float
    oob_decision_function_ : array of shape (n_samples, n_classes)
        What the trees that have not seen a row say; with ``oob_score=True``.

    Examples
    --------
    >>> import hornbeam as hb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> hb.ExtraTreesClassifier(random_state=0).fit(X, y).score(X, y)
    1.0
    """

    _splitter = "random"

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str | Callable[..., float] = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float | str = "auto",
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: bool | Callable[..., float] = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | None = None,
        warm_start: bool = False,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        max_samples: int | float | None = None,
        monotonic_cst: Any = None,
        voting: str = "soft",
        constant_features: str = "skip",
        early_stopping: bool | Literal["auto"] = "auto",
        n_iter_no_change: int | None = None,
        tol: float = 1e-4,
        finder: str = "histogram",
        max_bins: int = 255,
        growth: str | None = None,
        categorical_features: Any = "from_dtype",
        category_split: str = "auto",
        unseen: str = "missing",
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.voting = voting
        self.constant_features = constant_features
        self.early_stopping = early_stopping
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.finder = finder
        self.max_bins = max_bins
        self.growth = growth
        self.categorical_features = categorical_features
        self.category_split = category_split
        self.unseen = unseen


@register_estimator
@declared
class ExtraTreesRegressor(ForestRegressor):
    """Extremely randomised trees for numbers (Geurts, Ernst, Wehenkel 2006).

    Each node draws features and one random cut of each, and takes the best of these cuts.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    estimators_ : sequence of DecisionTreeRegressor
        The trees, each made when it is asked for.
    store_ : ForestStore
        All trees packed into few arrays.
    schema_ : Schema
        Names, kinds and categories of the columns.
    n_outputs_ : int
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had names.
    min_samples_split_ : int
        Rows that a node needed to be split.
    max_features_ : int
        Features that were drawn at a node.
    category_split_ : str
        How categories were parted.
    feature_importances_ : array
    oob_score_ : float
    oob_prediction_ : array of shape (n_samples,)
        What the trees that have not seen a row say; with ``oob_score=True``.
    calibration_ : array
        Which level the leaves are asked for, for the levels 0, 0.001 and so on to 1; with
        ``calibrate=True``.

    Examples
    --------
    >>> import hornbeam as hb
    >>> X, y = [[float(i)] for i in range(100)], [float(i) for i in range(100)]
    >>> forest = hb.ExtraTreesRegressor(random_state=0).fit(X, y)
    >>> bool(abs(forest.predict([[50.0]])[0] - 50.0) < 1.0)
    True
    """

    _splitter = "random"
    _share_drawn = 0.9

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str | Callable[..., float] = "squared_error",
        max_depth: int | None = None,
        min_samples_split: int | float | str = "auto",
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = "auto",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: bool | Callable[..., float] = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | None = None,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: int | float | None = None,
        monotonic_cst: Any = None,
        leaf_samples: bool = False,
        calibrate: bool = False,
        constant_features: str = "skip",
        early_stopping: bool | Literal["auto"] = "auto",
        n_iter_no_change: int | None = None,
        tol: float = 1e-4,
        finder: str = "histogram",
        max_bins: int = 255,
        growth: str | None = None,
        categorical_features: Any = "from_dtype",
        category_split: str = "auto",
        unseen: str = "missing",
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.leaf_samples = leaf_samples
        self.calibrate = calibrate
        self.constant_features = constant_features
        self.early_stopping = early_stopping
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.finder = finder
        self.max_bins = max_bins
        self.growth = growth
        self.categorical_features = categorical_features
        self.category_split = category_split
        self.unseen = unseen

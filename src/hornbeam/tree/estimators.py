"""CART: `DecisionTreeClassifier` and `DecisionTreeRegressor`.

``fit`` is the whole story: learn the schema, code the columns, grow, prune.
"""

from __future__ import annotations

import math
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import (
    BaseEstimator,
    MultiOutputMixin,
    RegressorMixin,
    is_classifier,
)
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import check_is_fitted

from hornbeam.criteria import resolve
from hornbeam.data.coding import Codes, encode_bins, encode_ranks
from hornbeam.data.folding import warn_of_folding
from hornbeam.data.schema import Schema
from hornbeam.data.target import (
    Classes,
    check_length,
    read_classes,
    read_values,
    read_weights,
    warn_weightless,
    weigh_classes,
)
from hornbeam.dtypes import MAX_ROWS, Array
from hornbeam.fitting import become, fitting, forget
from hornbeam.output.modelfile import register_estimator
from hornbeam.output.savable import SavableTree
from hornbeam.params import check_params, declared
from hornbeam.probabilities import OutputProbabilities
from hornbeam.runtime.companion import begin
from hornbeam.tree.constraints import read_monotone
from hornbeam.tree.grower import Target
from hornbeam.tree.memory import remember
from hornbeam.tree.model import SingleTreeModel
from hornbeam.tree.pruning.cost import prune_by_cost, pruning_path
from hornbeam.tree.pruning.functions import class_counts, prune_on
from hornbeam.tree.pruning.pessimistic import CONFIDENCE, prune_by_limit
from hornbeam.tree.pruning.reduced_error import hold_out
from hornbeam.tree.rules import GrowthRules
from hornbeam.tree.scaling import Scaling
from hornbeam.tree.steps import category_kernels, usual_kernels
from hornbeam.tree.storage import Tree
from hornbeam.tree.task import Task
from hornbeam.tree.traversal import walker

_TELL_ALL_APART = "finder='exact' tells all of them apart."
WIDE_RANDOM_CUTS = 0.5  # random cuts are drawn from the range of a column (see `encode_bins`)


class BaseDecisionTree(
    SingleTreeModel,
    SavableTree,
    MultiOutputMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
    metaclass=ABCMeta,
):
    """What both trees share."""

    criterion: str | Callable[..., float]
    splitter: str
    max_depth: int | None
    min_samples_split: int | float
    min_samples_leaf: int | float
    min_weight_fraction_leaf: float
    max_features: int | float | str | None
    max_leaf_nodes: int | None
    min_impurity_decrease: float
    ccp_alpha: float
    pruning: str | None
    validation_fraction: float
    monotonic_cst: Any
    finder: str
    max_bins: int
    growth: str | None
    categorical_features: Any
    category_split: str
    unseen: str
    random_state: Any
    n_jobs: int | None

    # --- fitting --------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Grow the tree.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            NumPy array, list, sparse matrix, or a pandas, polars or Arrow table. Strings,
            bools and categoricals are categories; NaN, None and NA are missing.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Target; must not be missing.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; rows of weight 0 are left out.

        Returns
        -------
        self
        """
        forget(self)
        check_params(self)
        held_out = self._hold_out(y, sample_weight) if self.pruning == "reduced_error" else None
        with fitting(self) as grown:
            become(grown, self._grow(X, y, sample_weight, held_out))
            grown.tree_ = grown._prune(grown.tree_, X, y, sample_weight, held_out)
        remember(self.tree_, X, y, sample_weight, held_out)
        return self

    def _grow(
        self, X: Any, y: Any, sample_weight: Any, held_out: Array | None = None
    ) -> dict[str, Any]:
        """Grow the unpruned tree; returns all fitted attributes."""
        schema, matrix, weight, fitted = self._read(X, sample_weight, held_out)
        fitted["tree_"] = self._grow_on(schema, matrix, y, weight, fitted)
        return fitted

    def _read(
        self, X: Any, sample_weight: Any, held_out: Array | None = None
    ) -> tuple[Schema, Any, Array, dict[str, Any]]:
        """Schema, matrix and weights of the rows, and the fitted attributes they give."""
        check_params(self)
        as_bytes, random = self.finder != "exact", self.splitter == "random"
        draws = self.max_features is not None
        begin(usual_kernels(as_bytes, is_classifier(self), draws, random))
        name = type(self).__name__
        schema, matrix = Schema.learn(X, name, self.categorical_features, self.unseen)
        if schema.is_category.any() and not self._deal_rare:  # cautious forests have their own
            begin(category_kernels(random, self.category_split))
        n_rows = matrix.shape[0]
        if n_rows > MAX_ROWS:
            raise ValueError(f"X has {n_rows} rows; {name} takes up to {MAX_ROWS}.")
        fitted: dict[str, Any] = {"schema_": schema, "n_features_in_": schema.n_features}
        if schema.named:
            fitted["feature_names_in_"] = np.array(schema.feature_names, dtype=object)
        fitted["max_features_"] = self._resolve_max_features(schema.n_features)
        weight = read_weights(sample_weight, n_rows)
        if held_out is not None:  # rows of weight 0 are left out
            check_length(held_out, n_rows)
            weight = np.where(held_out, 0.0, weight)
        return schema, matrix, weight, fitted

    @abstractmethod
    def _grow_on(
        self, schema: Schema, matrix: Any, y: Any, weight: Array, fitted: dict[str, Any]
    ) -> Tree:
        """Read y, grow the tree, and note what was learnt about y in ``fitted``."""

    @abstractmethod
    def _weigh(self, y: Any, sample_weight: Any) -> tuple[Array, Array]:
        """Weight of each row, and its class (all alike if there is no one class)."""

    def _hold_out(self, y: Any, sample_weight: Any) -> Array:
        """A mask of the rows to prune by instead of growing on them."""
        weight, groups = self._weigh(y, sample_weight)
        counted = np.flatnonzero(weight > 0)
        random = check_random_state(self.random_state)
        held_out = np.zeros(len(weight), bool)
        held_out[counted] = hold_out(groups[counted], self.validation_fraction, random)
        if not held_out.any() or held_out[counted].all():
            raise ValueError(
                f"pruning='reduced_error' with validation_fraction={self.validation_fraction} "
                f"holds out {int(held_out.sum())} of n_samples={len(counted)} rows. Choose "
                "another fraction, or pass validation rows to hornbeam.prune_reduced_error."
            )
        return held_out

    def _prune(
        self, tree: Tree, X: Any, y: Any, sample_weight: Any, held_out: Array | None
    ) -> Tree:
        """Prune the grown tree by all methods that were asked for."""
        if self.ccp_alpha > 0.0:
            tree = prune_by_cost(tree, self.ccp_alpha)
        if held_out is not None:
            leaves = walker(tree).leaves(self.schema_.read(X, type(self).__name__), self.n_jobs)
            weight = np.where(held_out, self._weigh(y, sample_weight)[0], 0.0)
            assert leaves is not None
            tree = prune_on(self, tree, leaves, y, weight)
        return tree

    def _resolve_max_features(self, n_features: int) -> int:
        if self.max_features is None:
            return n_features
        if self.max_features == "sqrt":
            return max(1, int(math.sqrt(n_features)))
        if self.max_features == "log2":
            return max(1, int(math.log2(n_features)))
        if isinstance(self.max_features, Integral):
            return min(int(self.max_features), n_features)
        return max(1, int(float(self.max_features) * n_features))

    # --- using the tree ---------------------------------------------------------------

    def _leaves(self, X: Any) -> Array:
        if "tree_" not in self.__dict__:
            check_is_fitted(self)
        name, ready = type(self).__name__, walker(self.tree_)
        if self.schema_.takes_as_is(X, name):
            leaves = ready.leaves(X, self.n_jobs)
            if leaves is not None:
                return leaves
        # something else than a plain array, or one with an infinite value: read says so
        return ready.leaves(self.schema_.read(X, name), self.n_jobs)  # type: ignore[return-value]

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """Return the pruning path of the tree grown on this data.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        Bunch
            ``ccp_alphas``, where the pruned tree changes, and the ``impurities`` of the
            leaves of the tree from there on.
        """
        alphas, impurities = pruning_path(self._grow(X, y, sample_weight)["tree_"])
        return Bunch(ccp_alphas=alphas, impurities=impurities)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags


def _at_most(value: int | None, most: int) -> int | None:
    return None if value is None else min(int(value), most)


def _count(value: int | float, n_rows: int) -> int:
    """A number of rows, given as such or as a share."""
    if isinstance(value, Integral):
        return min(int(value), 2**31 - 1)
    return max(1, math.ceil(float(value) * n_rows))


class CartTree(BaseDecisionTree):
    """What CART grows by: binary splits, searched by the kernels that forests use, too."""

    _may_list = True
    # see `encode_bins`; a forest may want it otherwise
    _deal_rare = False
    _wide_cuts = 0.0

    def _grow_on(
        self, schema: Schema, matrix: Any, y: Any, weight: Array, fitted: dict[str, Any]
    ) -> Tree:
        return self._task(schema, matrix, y, weight, fitted).grow(self.n_jobs)

    def _task(
        self, schema: Schema, matrix: Any, y: Any, weight: Array, fitted: dict[str, Any]
    ) -> Task:
        """What is to be grown; notes what was learnt about y in ``fitted``."""
        target, scaling = self._read_target(y, weight, fitted)
        rules = self._rules(schema, target.weight, fitted["max_features_"], scaling)
        codes = self._encode(schema, matrix)
        warn_of_folding(codes, matrix, schema.feature_names, self._deal_rare, _TELL_ALL_APART)
        criterion = resolve(
            self.criterion, classification=is_classifier(self), n_outputs=target.n_outputs
        )
        return Task(matrix, codes, target, criterion, rules, scaling)

    @abstractmethod
    def _read_target(self, y: Any, weight: Array, fitted: dict[str, Any]) -> tuple[Target, Scaling]:
        """Read y, and note what was learnt about it in ``fitted``."""

    def _encode(self, schema: Schema, matrix: Any) -> Codes:
        kinds = (matrix, schema.is_category, schema.n_categories)
        random = self.splitter == "random"
        if self.finder == "histogram":
            return encode_bins(
                *kinds,
                max_bins=self.max_bins,
                n_jobs=self.n_jobs,
                wide=WIDE_RANDOM_CUTS if random else self._wide_cuts,
                deal_rare=self._deal_rare,
            )
        return encode_ranks(*kinds, n_jobs=self.n_jobs, with_values=random)

    def _rules(
        self, schema: Schema, weight: Array, max_features: int, scaling: Scaling
    ) -> GrowthRules:
        """The parameters of growing as numbers."""
        n_rows = len(weight)
        if self.max_leaf_nodes is not None and self.growth in ("depth", "level"):
            raise ValueError(
                f"max_leaf_nodes={self.max_leaf_nodes} needs growth='leaf' (best-first), not "
                f"growth={self.growth!r}: other orders would spend the leaves on one corner."
            )
        min_leaf = _count(self.min_samples_leaf, n_rows)
        min_split = max(2, _count(self.min_samples_split, n_rows), 2 * min_leaf)
        random = check_random_state(self.random_state)
        return GrowthRules(
            max_depth=_at_most(self.max_depth, 2**31 - 1),
            min_samples_split=min_split,
            min_samples_leaf=min_leaf,
            min_weight_leaf=self.min_weight_fraction_leaf * float(weight.sum()),
            max_leaf_nodes=_at_most(self.max_leaf_nodes, 2**31 - 1),
            min_impurity_decrease=scaling.impurity(self.min_impurity_decrease),
            max_features=max_features,
            growth=self.growth or ("leaf" if self.max_leaf_nodes is not None else "depth"),
            random_cuts=self.splitter == "random",
            category_split=self.category_split,
            list_sets=True,
            monotone=read_monotone(self.monotonic_cst, schema),
            seed=int(random.randint(2**31 - 1)),
        )


@register_estimator
@declared
class DecisionTreeClassifier(OutputProbabilities, CartTree):
    """A classification tree (CART).

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    tree_ : Tree
        The tree as flat arrays.
    schema_ : Schema
        Names, kinds and categories of the columns.
    classes_ : array, or list of arrays with several outputs
    n_classes_ : int, or list of int
    n_outputs_ : int
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had names.
    max_features_ : int
    feature_importances_ : array

    Examples
    --------
    >>> import hornbeam as hb
    >>> X = [["sunny", 85.0], ["rain", None], ["sunny", 69.0], ["rain", 70.0]]
    >>> y = ["no", "yes", "yes", "yes"]
    >>> tree = hb.DecisionTreeClassifier().fit(X, y)
    >>> tree.predict([["sunny", 90.0], ["snow", 64.0]]).tolist()
    ['no', 'yes']
    """

    _declared_as = {  # noqa: RUF012
        "criterion": "classification_criterion",
        "pruning": "classification_pruning",
        "confidence": "pruning_confidence",
        "validation_fraction": "pruning_fraction",
    }
    classes_: Any
    n_classes_: Any

    def __init__(
        self,
        *,
        criterion: str | Callable[..., float] = "gini",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        pruning: str | None = None,
        confidence: float = CONFIDENCE,
        validation_fraction: float = 0.2,
        monotonic_cst: Any = None,
        finder: str = "exact",
        max_bins: int = 255,
        growth: str | None = None,
        categorical_features: Any = "from_dtype",
        category_split: str = "subset",
        unseen: str = "missing",
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.pruning = pruning
        self.confidence = confidence
        self.validation_fraction = validation_fraction
        self.monotonic_cst = monotonic_cst
        self.finder = finder
        self.max_bins = max_bins
        self.growth = growth
        self.categorical_features = categorical_features
        self.category_split = category_split
        self.unseen = unseen
        self.n_jobs = n_jobs

    def _read_target(self, y: Any, weight: Array, fitted: dict[str, Any]) -> tuple[Target, Scaling]:
        classes = read_classes(y, type(self).__name__)
        check_length(classes.labels, len(weight))
        weight = weigh_classes(weight, self.class_weight, y, classes)
        warn_weightless(weight, classes)
        single = len(classes.names) == 1
        fitted["n_outputs_"] = len(classes.names)
        fitted["classes_"] = classes.names[0] if single else classes.names
        fitted["n_classes_"] = classes.counts[0] if single else np.array(classes.counts)
        self._check_constraint(classes)
        target = Target(weight, labels=classes.labels, class_start=classes.start)
        return target, Scaling(np.zeros(len(classes.names)))

    def _weigh(self, y: Any, sample_weight: Any) -> tuple[Array, Array]:
        classes = read_classes(y, type(self).__name__)
        weight = read_weights(sample_weight, len(classes.labels))
        single = len(classes.names) == 1
        groups = classes.labels[:, 0] if single else np.zeros(len(weight), np.int64)
        return weigh_classes(weight, self.class_weight, y, classes), groups

    def _prune(
        self, tree: Tree, X: Any, y: Any, sample_weight: Any, held_out: Array | None
    ) -> Tree:
        tree = super()._prune(tree, X, y, sample_weight, held_out)
        if self.pruning == "pessimistic":
            tree = prune_by_limit(tree, class_counts(self), self.confidence)
        return tree

    def _check_constraint(self, classes: Classes) -> None:
        if self.monotonic_cst is None:
            return
        if len(classes.names) > 1:
            raise ValueError("Monotonicity constraints are not supported with multiple outputs.")
        if classes.counts[0] > 2:
            raise ValueError(
                "Monotonicity constraints are not supported with multiclass classification: "
                f"y has {classes.counts[0]} classes."
            )

    def predict(self, X: Any) -> Array:
        """Predict the class of each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_outputs)
        """
        leaves = self._leaves(X)
        if self.n_outputs_ == 1:
            value = self.tree_.value
            if len(leaves) < len(value):
                return self.classes_[value[leaves].argmax(axis=1)]
            return self.classes_[value.argmax(axis=1)][leaves]
        blocks = self._blocks(self.tree_.value)
        best = [
            names[block.argmax(axis=1)][leaves]
            for names, block in zip(self.classes_, blocks, strict=True)
        ]
        return join_outputs(best)

    def predict_proba(self, X: Any) -> Array | list[Array]:
        """Predict the probability of each class: its share in the leaf.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes), or a list of them with several outputs
        """
        leaves = self._leaves(X)
        value = self.tree_.value[leaves]
        return value if self.n_outputs_ == 1 else self._blocks(value)


@register_estimator
@declared
class DecisionTreeRegressor(RegressorMixin, CartTree):  # type: ignore[misc]
    """A regression tree (CART).

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    tree_ : Tree
        The tree as flat arrays.
    schema_ : Schema
        Names, kinds and categories of the columns.
    n_outputs_ : int
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had names.
    max_features_ : int
    feature_importances_ : array

    Examples
    --------
    >>> import hornbeam as hb
    >>> rent = hb.DecisionTreeRegressor().fit([[75.0], [90.0], [105.0]], [1000, 2000, 4000])
    >>> rent.predict([[80.0], [120.0]])
    array([1000., 4000.])
    """

    _declared_as = {  # noqa: RUF012
        "criterion": "regression_criterion",
        "pruning": "regression_pruning",
        "validation_fraction": "pruning_fraction",
    }

    def __init__(
        self,
        *,
        criterion: str | Callable[..., float] = "squared_error",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        pruning: str | None = None,
        validation_fraction: float = 0.2,
        monotonic_cst: Any = None,
        finder: str = "exact",
        max_bins: int = 255,
        growth: str | None = None,
        categorical_features: Any = "from_dtype",
        category_split: str = "subset",
        unseen: str = "missing",
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.pruning = pruning
        self.validation_fraction = validation_fraction
        self.monotonic_cst = monotonic_cst
        self.finder = finder
        self.max_bins = max_bins
        self.growth = growth
        self.categorical_features = categorical_features
        self.category_split = category_split
        self.unseen = unseen
        self.n_jobs = n_jobs

    def _read_target(self, y: Any, weight: Array, fitted: dict[str, Any]) -> tuple[Target, Scaling]:
        values = read_values(y, type(self).__name__)
        check_length(values, len(weight))
        fitted["n_outputs_"] = values.shape[1]
        if values.shape[1] > 1 and self.monotonic_cst is not None:
            raise ValueError("Monotonicity constraints are not supported with multiple outputs.")
        if self.criterion == "poisson":
            _check_counts(values)
        scaling = self._scaling(values)
        return Target(weight, values=scaling.apply(values)), scaling

    def _weigh(self, y: Any, sample_weight: Any) -> tuple[Array, Array]:
        n_rows = len(read_values(y, type(self).__name__))
        return read_weights(sample_weight, n_rows), np.zeros(n_rows, np.int64)

    def _scaling(self, values: Array) -> Scaling:
        if callable(self.criterion):  # a user's own criterion sees the targets as they are
            return Scaling(np.zeros(values.shape[1]))
        degree = 1 if self.criterion in ("absolute_error", "poisson") else 2
        return Scaling.of(values, degree, may_shift=self.criterion != "poisson")

    def predict(self, X: Any) -> Array:
        """Predict the target of each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_outputs)
        """
        leaves = self._leaves(X)
        value = self.tree_.value
        return value[leaves, 0] if self.n_outputs_ == 1 else value[leaves]


def join_outputs(columns: list[Array]) -> Array:
    """The predicted classes of all outputs side by side, whatever their types."""
    kinds = {column.dtype.kind for column in columns}
    mixed = len(kinds) > 1 and not kinds <= set("biuf")  # such as strings beside numbers
    kind = object if mixed else np.result_type(*columns)
    return np.stack([column.astype(kind) for column in columns], axis=1)


def _check_counts(values: Array) -> None:
    if (values < 0).any():
        raise ValueError(
            "Some value(s) of y are negative which is not allowed for Poisson regression: "
            f"{values.min()}."
        )
    if (values.sum(axis=0) <= 0).any():
        raise ValueError("Sum of y is not positive which is necessary for Poisson regression.")

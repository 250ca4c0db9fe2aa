"""CART: `DecisionTreeClassifier` and `DecisionTreeRegressor`.

``fit`` is the whole story: learn the schema, code the columns, grow, prune.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import scipy.sparse
from sklearn.base import (
    BaseEstimator,
    MultiOutputMixin,
    RegressorMixin,
)
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import check_is_fitted

from hornbeam.data.folds import Kin, Split, Splits
from hornbeam.dtypes import Array
from hornbeam.fitting import become, fitting, forget
from hornbeam.model.registry import register_estimator
from hornbeam.params import check_params, declared
from hornbeam.probabilities import OutputProbabilities
from hornbeam.tree.memory import remember
from hornbeam.tree.model import SingleTreeModel
from hornbeam.tree.pruning.cost import prune_by_cost, pruning_path
from hornbeam.tree.pruning.functions import class_counts, prune_on
from hornbeam.tree.pruning.pessimistic import CONFIDENCE, prune_by_limit
from hornbeam.tree.reader import CartReader
from hornbeam.tree.savable import SavableTree, kept_of_one_tree
from hornbeam.tree.storage import Tree, stored_tree
from hornbeam.tree.traversal import walker


class CartTree(
    SingleTreeModel,
    SavableTree,
    MultiOutputMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
    metaclass=ABCMeta,
):
    """What both trees share: binary splits, searched by the kernels that forests use, too."""

    _keeps = kept_of_one_tree(may_list=True)

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

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        check_input: bool = True,
        *,
        groups: Any = None,
        time: Any = None,
    ) -> Self:
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
        check_input : bool
            Changes nothing: X is always checked.
        groups, time : array-like of shape (n_samples,), optional
            Which rows belong together, and when they were, for ``pruning='reduced_error'``: no
            group is on both sides, and the rows that are held out are the latest ones.

        Returns
        -------
        self
        """
        forget(self)
        check_params(self)
        not_learnt = held_out = None
        if self.pruning == "reduced_error":
            split = self._hold_out(y, sample_weight, groups, time)
            not_learnt, held_out = ~split.learnt, split.held
        with fitting(self) as grown:
            become(grown, self._grow(X, y, sample_weight, not_learnt))
            grown.tree_ = grown._prune(stored_tree(grown), X, y, sample_weight, held_out)
        remember(stored_tree(self), X, y, sample_weight, not_learnt)
        return self

    def _grow(
        self, X: Any, y: Any, sample_weight: Any, held_out: Array | None = None
    ) -> dict[str, Any]:
        """Grow the unpruned tree; returns all fitted attributes."""
        check_params(self)
        reader = self._reader()
        table, fitted = reader.read(X, sample_weight, held_out)
        fitted["tree_"] = reader.task(table, y, fitted).grow(self.n_jobs)
        return fitted

    def _reader(self) -> CartReader:
        return CartReader(self, type(self).__name__)

    def _hold_out(self, y: Any, sample_weight: Any, groups: Any = None, time: Any = None) -> Split:
        """The rows to prune by instead of growing on them."""
        weight, classes = self._reader().weigh(y, sample_weight)
        kin = Kin.read(groups, time, len(weight))
        counted = np.flatnonzero(weight > 0)
        random = check_random_state(self.random_state)
        splits = Splits(len(counted), random, classes[counted], kin.chosen(counted))
        drawn = splits.hold_out_evenly(self.validation_fraction)
        if not drawn.held.any() or not drawn.learnt.any():
            raise ValueError(
                f"pruning='reduced_error' with validation_fraction={self.validation_fraction} "
                f"holds out {int(drawn.held.sum())} of n_samples={len(counted)} rows. Choose "
                "another fraction, or pass validation rows to hornbeam.prune_reduced_error."
            )
        split = Split(np.zeros(len(weight), bool), np.zeros(len(weight), bool))
        split.learnt[counted], split.held[counted] = drawn
        split.learnt[weight == 0] = True  # they count nowhere
        return split

    def _prune(
        self, tree: Tree, X: Any, y: Any, sample_weight: Any, held_out: Array | None
    ) -> Tree:
        """Prune the grown tree by all methods that were asked for."""
        if self.ccp_alpha > 0.0:
            tree = prune_by_cost(tree, self.ccp_alpha)
        if held_out is not None:
            leaves = walker(tree).leaves(self.schema_.read(X, type(self).__name__), self.n_jobs)
            weight = np.where(held_out, self._reader().weigh(y, sample_weight)[0], 0.0)
            assert leaves is not None
            tree = prune_on(self, tree, leaves, y, weight)
        return tree

    # --- using the tree ---------------------------------------------------------------

    def apply(self, X: Any, check_input: bool = True) -> Array:
        """Return the number of the leaf that each row falls into.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        check_input : bool
            Changes nothing: X is always checked.

        Returns
        -------
        array of int64
        """
        return super().apply(X)

    def decision_path(self, X: Any, check_input: bool = True) -> scipy.sparse.csr_matrix:
        """Return which nodes each row passes.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        check_input : bool
            Changes nothing: X is always checked.

        Returns
        -------
        sparse matrix of shape (n_samples, n_nodes)
            1 where a row passes a node.
        """
        return super().decision_path(X)

    def _leaves(self, X: Any) -> Array:
        if "tree_" not in self.__dict__:
            check_is_fitted(self)
        name, ready = type(self).__name__, walker(stored_tree(self))
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

    def _prune(
        self, tree: Tree, X: Any, y: Any, sample_weight: Any, held_out: Array | None
    ) -> Tree:
        tree = super()._prune(tree, X, y, sample_weight, held_out)
        if self.pruning == "pessimistic":
            tree = prune_by_limit(tree, class_counts(self), self.confidence)
        return tree

    def predict(self, X: Any, check_input: bool = True) -> Array:
        """Predict the class of each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        check_input : bool
            Changes nothing: X is always checked.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_outputs)
        """
        leaves = self._leaves(X)
        if self.n_outputs_ == 1:
            value = stored_tree(self).value
            if len(leaves) < len(value):
                return self.classes_[value[leaves].argmax(axis=1)]
            return self.classes_[value.argmax(axis=1)][leaves]
        blocks = self._blocks(stored_tree(self).value)
        best = [
            names[block.argmax(axis=1)][leaves]
            for names, block in zip(self.classes_, blocks, strict=True)
        ]
        return join_outputs(best)

    def predict_proba(self, X: Any, check_input: bool = True) -> Array | list[Array]:
        """Predict the probability of each class: its share in the leaf.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        check_input : bool
            Changes nothing: X is always checked.

        Returns
        -------
        array of shape (n_samples, n_classes), or a list of them with several outputs
        """
        leaves = self._leaves(X)
        value = stored_tree(self).value[leaves]
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

    def predict(self, X: Any, check_input: bool = True) -> Array:
        """Predict the target of each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        check_input : bool
            Changes nothing: X is always checked.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_outputs)
        """
        leaves = self._leaves(X)
        value = stored_tree(self).value
        return value[leaves, 0] if self.n_outputs_ == 1 else value[leaves]


def join_outputs(columns: list[Array]) -> Array:
    """The predicted classes of all outputs side by side, whatever their types."""
    kinds = {column.dtype.kind for column in columns}
    mixed = len(kinds) > 1 and not kinds <= set("biuf")  # such as strings beside numbers
    kind = object if mixed else np.result_type(*columns)
    return np.stack([column.astype(kind) for column in columns], axis=1)

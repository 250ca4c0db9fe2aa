"""What ID3 and C4.5 share: they fit a multiway tree and predict with fractions."""

from __future__ import annotations

import warnings
from abc import ABCMeta, abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_is_fitted

from hornbeam.data.coding import encode_ranks
from hornbeam.data.reader import TrainingTable, read_table
from hornbeam.data.target import (
    Classes,
    check_length,
    read_classes,
    read_weights,
    warn_weightless,
    weigh_classes,
)
from hornbeam.dtypes import LEAF, Array
from hornbeam.errors import ModelFileError
from hornbeam.fitting import become, forget
from hornbeam.params import check_params
from hornbeam.probabilities import Probabilities
from hornbeam.quinlan.build import build_tree
from hornbeam.quinlan.fractions import fraction_walker
from hornbeam.quinlan.grower import Grown, QuinlanRules, grow
from hornbeam.tree.memory import remember
from hornbeam.tree.model import SingleTreeModel
from hornbeam.tree.savable import SavableTree
from hornbeam.tree.storage import Tree


class QuinlanTree(
    SingleTreeModel,
    SavableTree,
    Probabilities,
    BaseEstimator,  # type: ignore[misc]
    metaclass=ABCMeta,
):
    """A classification tree with one branch per category and fractions of rows."""

    criterion = "entropy"  # what the impurity of a stored node is
    _parts_rows = True  # where the branch of a row is not known, it goes down every one
    _keeps_identities = False  # see `Schema.learn`

    class_weight: Any
    categorical_features: Any
    unseen: str
    n_jobs: int | None
    classes_: Array
    n_classes_: int
    n_features_in_: int

    @classmethod
    def _check_fit(cls, state: dict[str, Any]) -> None:
        """Fractions are shares of weights: no split may be without any below it."""
        tree: Tree = state["tree_"]
        inner = np.flatnonzero(tree.kind != LEAF)
        below = tree.weight[1:]  # the children of a node are neighbours, and in its order
        heaviest = np.maximum.reduceat(below, tree.first_child[inner] - 1) if len(inner) else below
        if (tree.weight < 0.0).any() or (heaviest <= 0.0).any():
            raise ModelFileError("weight leaves a split without rows, or is below 0.")

    # --- fitting --------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree, and prune it.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            NumPy array, list, sparse matrix, or a pandas, polars or Arrow table. Strings,
            bools and categoricals are categories; NaN, None and NA are missing.
        y : array-like of shape (n_samples,)
            Classes; must not be missing.
        sample_weight : array-like of shape (n_samples,), optional
            Weights; a weight of 2 is the row twice, rows of weight 0 are left out. Weights
            that sum to less than the rows there are count as shares of these.

        Returns
        -------
        self
        """
        forget(self)
        become(self, self._grow(X, y, sample_weight))
        remember(self.tree_, X, y, sample_weight)
        return self

    @abstractmethod
    def _growth_rules(self, total: float) -> QuinlanRules:
        """The parameters of growing as numbers; ``total`` is the weight of all rows."""

    @abstractmethod
    def _prune_grown(self, grown: Grown) -> None:
        """Prune the grown tree, in place."""

    def _read(self, X: Any, sample_weight: Any) -> TrainingTable:
        """Read the table, with the columns as this algorithm takes them."""
        return read_table(
            X,
            sample_weight,
            type(self).__name__,
            self.categorical_features,
            self.unseen,
            self._keeps_identities,
        )

    def _grow(self, X: Any, y: Any, sample_weight: Any) -> dict[str, Any]:
        """Grow and prune the tree; returns all fitted attributes."""
        check_params(self)
        table = self._read(X, sample_weight)
        schema, matrix = table.schema, table.matrix
        classes = self._read_classes(y, table.n_rows)
        weight = weigh_classes(table.weight, self.class_weight, y, classes)
        warn_weightless(weight, classes)
        labels, kept = classes.labels[:, 0], weight > 0.0
        if not kept.all():
            matrix, labels, weight = matrix[np.flatnonzero(kept)], labels[kept], weight[kept]
        weight = as_counts(weight)
        codes = encode_ranks(
            matrix, schema.is_category, schema.n_categories, self.n_jobs, with_values=True
        )
        rules = self._growth_rules(float(weight.sum()))
        grown = grow(codes, labels, weight, classes.counts[0], rules, self.n_jobs)
        self._prune_grown(grown)
        return {
            **table.attributes(),
            "max_features_": schema.n_features,
            "classes_": classes.names[0],
            "n_classes_": classes.counts[0],
            "n_outputs_": 1,
            "tree_": build_tree(grown),
        }

    def _read_classes(self, y: Any, n_rows: int) -> Classes:
        name = type(self).__name__
        classes = read_classes(y, name)
        check_length(classes.labels, n_rows)
        if len(classes.names) > 1:
            raise ValueError(
                f"y has {len(classes.names)} columns; {name} predicts one output. Fit one tree "
                "per column (sklearn.multioutput.MultiOutputClassifier does)."
            )
        if np.asarray(y).ndim == 2:
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected. Pass y.ravel().",
                DataConversionWarning,
                stacklevel=4,  # the caller of fit
            )
        return classes

    def _weigh(self, y: Any, sample_weight: Any) -> tuple[Array, Array]:
        classes = read_classes(y, type(self).__name__)
        weight = read_weights(sample_weight, len(classes.labels))
        return weigh_classes(weight, self.class_weight, y, classes), classes.labels[:, 0]

    # --- using the tree -------------------------------------------------------------------

    def _leaves(self, X: Any) -> Array:
        """Where the way of a row parts, it is followed along the heaviest branches."""
        walker, matrix = self._ready(X)
        leaves: Array = walker.leaves(matrix, self.n_jobs)
        return leaves

    def _ready(self, X: Any) -> tuple[Any, Any]:
        check_is_fitted(self)
        matrix = self.schema_.read(X, type(self).__name__)
        return fraction_walker(self.tree_, self.schema_.n_categories), matrix

    def predict_proba(self, X: Any) -> Array:
        """Predict the probability of each class: its share in the leaf.

        A row whose way is unknown at a node (its value there is missing, or a category that
        no training row of the node had) goes down all branches, in proportion to their
        training weight, and gets the mixture of the leaves it reaches.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        walker, matrix = self._ready(X)
        shares: Array = walker.mixture(matrix, self.n_jobs)
        return shares

    def predict(self, X: Any) -> Array:
        """Predict the class of each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        shares = self.predict_proba(X)
        chosen: Array = self.classes_[shares.argmax(axis=1)]
        return chosen

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags


def as_counts(weight: Array) -> Array:
    """Weights as numbers of rows, which is what Quinlan's statistics are about.

    A weight of 2 stands for two rows. Weights that sum to less than the rows there are, as
    those that boosting passes on, are shares: they are scaled to sum to the rows.
    """
    total = float(weight.sum())
    return np.asarray(weight * max(1.0, len(weight) / total), np.float64)

"""What every estimator of one tree can do with it, whatever grew the tree."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_is_fitted

from hornbeam.dtypes import Array
from hornbeam.tree.importance import gain_importance
from hornbeam.tree.storage import Tree, stored_tree
from hornbeam.tree.traversal import decision_path

if TYPE_CHECKING:
    import hornbeam.explain.report


class SingleTreeModel:
    """Mixin for estimators with a ``tree_``; put it before ``BaseEstimator``."""

    tree_: Tree
    n_features_in_: int

    @abstractmethod
    def _leaves(self, X: Any) -> Array:
        """Number of the leaf that each row falls into."""

    def apply(self, X: Any) -> Array:
        """Return the number of the leaf that each row falls into.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of int64
        """
        return self._leaves(X).astype(np.int64)

    def decision_path(self, X: Any) -> scipy.sparse.csr_matrix:
        """Return which nodes each row passes.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        sparse matrix of shape (n_samples, n_nodes)
            1 where a row passes a node.
        """
        return decision_path(stored_tree(self), self._leaves(X))

    def get_depth(self) -> int:
        """Return how many questions lead to the deepest leaf."""
        check_is_fitted(self)
        return stored_tree(self).max_depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self)
        return stored_tree(self).n_leaves

    @property
    def feature_importances_(self) -> Array:
        """Share of each feature in the relative gain of all splits."""
        check_is_fitted(self)
        return gain_importance(stored_tree(self), self.n_features_in_)

    def explain_split(
        self,
        node: int = 0,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        *,
        decimals: int | None = 3,
        max_categories: int | None = 6,
    ) -> hornbeam.explain.report.SplitExplanation:
        """Show the table behind the split of a node, or why it is a leaf.

        Parameters
        ----------
        node : int
            Number of the node; 0 is the root.
        X, y, sample_weight
            What was passed to `fit`. May be left out while those tables are still there.
        decimals : int or None, default 3
            Digits behind the point; None shows numbers exactly.
        max_categories : int or None, default 6
            How many categories of a set, and how many classes, to list; None lists all.

        Returns
        -------
        SplitExplanation
            Print it, look at it in a notebook, or ask it for ``records()``.
        """
        import hornbeam  # what explains a tree stands above it

        return hornbeam.explain_split(
            self, node, X, y, sample_weight, decimals=decimals, max_categories=max_categories
        )

"""What scikit-learn's ``tree_`` has besides arrays of the same names: for tools that walk trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from hornbeam.dtypes import LEAF, Array


class ScikitLearnNames:
    """Mixin for a stored tree: more of its arrays, and what can be asked of it, by those names.

    Leaves have the feature -1 and no threshold here; `hornbeam.compat.sklearn.tree_arrays` has
    all arrays in scikit-learn's convention.
    """

    first_child: Array
    feature: Array
    kind: Array
    missing_branch: Array
    n_samples: Array
    weight: Array
    impurity: Array
    value: Array

    @property
    def children_left(self) -> Array:
        """First child of each node, -1 for a leaf."""
        return np.where(self.kind == LEAF, -1, self.first_child).astype(np.int64)

    @property
    def children_right(self) -> Array:
        """Second child of each node, -1 for a leaf."""
        return np.where(self.kind == LEAF, -1, self.first_child + 1).astype(np.int64)

    @property
    def missing_go_to_left(self) -> Array:
        """Whether missing values go to the first child (uint8), 0 for a leaf."""
        return ((self.kind != LEAF) & (self.missing_branch == 0)).astype(np.uint8)

    @property
    def n_node_samples(self) -> Array:
        """Training rows in each node."""
        return self.n_samples

    @property
    def weighted_n_node_samples(self) -> Array:
        """Weight of the training rows in each node."""
        return self.weight

    @property
    def capacity(self) -> int:
        """As many nodes as there are."""
        return len(self.first_child)

    def apply(self, X: Any) -> Array:
        """Return the number of the leaf that each row falls into.

        Parameters
        ----------
        X : array or sparse matrix of floats
            As the tree sees it: category numbers in category columns, NaN where missing.

        Returns
        -------
        array of int64
        """
        from hornbeam.tree.traversal import walker  # which stands above stored trees

        matrix = X if scipy.sparse.issparse(X) else np.ascontiguousarray(X)
        leaves = walker(self).leaves(matrix, checked=False)  # type: ignore[arg-type]
        assert leaves is not None  # nothing was checked
        return leaves.astype(np.int64)

    def decision_path(self, X: Any) -> scipy.sparse.csr_matrix:
        """Return which nodes each row passes.

        Parameters
        ----------
        X : array or sparse matrix of floats
            As for `apply`.

        Returns
        -------
        sparse matrix of shape (n_samples, n_nodes)
        """
        from hornbeam.tree.traversal import decision_path  # which stands above stored trees

        return decision_path(self, self.apply(X))  # type: ignore[arg-type]

    def compute_feature_importances(self, normalize: bool = True) -> Array:
        """Return the relative gain of the splits on each feature, up to the last one asked.

        Parameters
        ----------
        normalize : bool
            Whether they add up to 1.

        Returns
        -------
        array
        """
        from hornbeam.tree.importance import relative_gain  # which stands above stored trees

        inner = np.flatnonzero(self.kind != LEAF)
        gains = relative_gain(self)[inner]  # type: ignore[arg-type]
        gain = np.bincount(self.feature[inner], gains, minlength=1)
        total = gain.sum()
        return gain / total if normalize and total > 0.0 else gain

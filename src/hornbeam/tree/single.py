"""One tree of an ensemble, as everything that shows a tree wants it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from hornbeam.data.infinities import infinities_are_numbers
from hornbeam.data.schema import Schema
from hornbeam.dtypes import Array
from hornbeam.tree.storage import Tree
from hornbeam.tree.traversal import decision_path, walker


@dataclass(frozen=True, eq=False, repr=False)
class SingleTree:
    """A tree with its schema: `hb.export_text`, `hb.plot_tree` and `hb.tree_svg` take it."""

    tree_: Tree
    schema_: Schema
    criterion: str
    n_outputs_: int = 1

    def __repr__(self) -> str:
        return f"<SingleTree on {self.schema_.n_features:,} columns: {self.tree_!r}>"

    def apply(self, X: Any) -> Array:
        """Return the number of the leaf that each row falls into.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of int64
        """
        with infinities_are_numbers():
            matrix = self.schema_.read(X, "the ensemble of this tree")
        leaves = walker(self.tree_).leaves(matrix)
        assert leaves is not None  # there are no infinite values left
        return leaves.astype(np.int64)

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
        return decision_path(self.tree_, self.apply(X))

    def predict(self, X: Any) -> Array:
        """Return what the leaves of the rows hold: what they add to a score, or path lengths.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        return self.tree_.value[self.apply(X), 0]

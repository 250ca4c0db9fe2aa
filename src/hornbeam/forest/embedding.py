"""Totally random trees as an embedding: a row becomes the leaves that it falls into.

Trees that part the rows at random know nothing about a target, but rows that are alike
share many leaves. Written as zeros and ones, one column per leaf of all trees, that is a
representation for linear models, clustering and nearest neighbours.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from hornbeam.dtypes import Array
from hornbeam.forest.bags import derive_key
from hornbeam.forest.base import BaseForest
from hornbeam.forest.parameters import FOREST_NAMES
from hornbeam.forest.store import ForestStore
from hornbeam.model.registry import register_estimator
from hornbeam.params import declared
from hornbeam.tree.estimators import CartTree, DecisionTreeRegressor

_TARGET = -1  # the trees of a forest have the numbers from 0 up

# Parameters that the embedding hands on to its trees.
_OF_TREES = (
    "max_depth",
    "min_samples_split",
    "min_samples_leaf",
    "min_weight_fraction_leaf",
    "max_leaf_nodes",
    "min_impurity_decrease",
    "finder",
    "max_bins",
    "categorical_features",
    "unseen",
    "n_jobs",
)


@register_estimator
@declared
class RandomTreesEmbedding(TransformerMixin, BaseForest):  # type: ignore[misc]
    """Embed rows by the leaves of totally random trees that they fall into.

    Each node cuts one random feature at a random place. The embedding has a column for
    every leaf of every tree, 1 where a row ended and 0 elsewhere.

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
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had names.

    Examples
    --------
    >>> import hornbeam as hb
    >>> X = [[0.0], [0.1], [5.0], [9.0]]
    >>> embedding = hb.RandomTreesEmbedding(n_estimators=3, max_depth=1, random_state=0)
    >>> embedding.fit_transform(X).shape
    (4, 6)
    """

    _declared_as = FOREST_NAMES

    # What is a parameter of other forests is not one here.
    bootstrap = False
    oob_score = False
    max_samples = None
    ccp_alpha = 0.0
    constant_features = "skip"
    early_stopping = False
    n_iter_no_change = None
    tol = 0.0

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_depth: int | None = 5,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        sparse_output: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | None = None,
        warm_start: bool = False,
        finder: str = "histogram",
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        unseen: str = "missing",
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.sparse_output = sparse_output
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.finder = finder
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.unseen = unseen

    def _template(self) -> CartTree:
        shared = {name: getattr(self, name) for name in _OF_TREES}
        return DecisionTreeRegressor(splitter="random", max_features=1, **shared)

    def _target(self, y: Any, n_rows: int, seed: int) -> Array:
        """A random number per row: every split is as good as any other."""
        return draw_units(derive_key(seed, _TARGET), n_rows)

    def fit(  # type: ignore[override]  # nothing is held out, so that no rows belong together
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            NumPy array, list, sparse matrix, or a pandas, polars or Arrow table. Strings,
            bools and categoricals are categories; NaN, None and NA are missing.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weights; rows of weight 0 are left out.

        Returns
        -------
        self
        """
        return super().fit(X, None, sample_weight)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Grow the trees and embed the same rows.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        sparse matrix (or array, without ``sparse_output``) of shape (n_samples, n_leaves)
        """
        return self.fit(X, y, sample_weight).transform(X)

    def transform(self, X: Any) -> Any:
        """Embed rows.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        sparse matrix (or array, without ``sparse_output``) of shape (n_samples, n_leaves)
        """
        leaves = self.apply(X)
        encoded = encode_leaves(self.store_, leaves)
        return encoded if self.sparse_output else encoded.toarray()

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return a name for each column of the embedding: its tree and its leaf.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        array of str
        """
        check_is_fitted(self)
        store = self.store_
        leaf = np.flatnonzero(store.nodes["child"] < 0)
        tree = np.searchsorted(store.root, leaf, "right") - 1
        prefix = type(self).__name__.lower()
        pairs = zip(tree, leaf - store.root[tree], strict=True)
        return np.array([f"{prefix}_{number}_{node}" for number, node in pairs], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags


def encode_leaves(store: ForestStore, leaves: Array) -> scipy.sparse.csr_matrix:
    """One column per leaf of all trees, in their order; 1 where a row ended."""
    n_rows, n_trees = leaves.shape
    is_leaf = store.nodes["child"] < 0
    column = np.cumsum(is_leaf) - 1
    chosen = column[(leaves + store.root[:-1]).ravel()]
    starts = np.arange(n_rows + 1) * n_trees
    ones, n_leaves = np.ones(len(chosen)), int(np.count_nonzero(is_leaf))
    return scipy.sparse.csr_matrix((ones, chosen, starts), shape=(n_rows, n_leaves))


def draw_units(key: int, n: int) -> Array:
    """`hornbeam.runtime.random.draw_unit` for the counters below n."""
    bits = np.uint64(key) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((bits ^ (bits >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53

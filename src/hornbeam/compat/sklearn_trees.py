"""scikit-learn's view of our trees: its arrays, and its own text and drawings of them.

Scripts read ``tree_`` by hand: they stop at leaves where ``feature`` is -2, and take
``value[node, output]`` for the shares of classes. So the trees here show themselves in these
arrays; the stored tree stays what it is, and all of hornbeam reads that one (`stored_tree`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn.tree
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

import hornbeam.output.drawing
import hornbeam.output.graphviz
import hornbeam.output.text
from hornbeam.dtypes import LEAF, THRESHOLD, Array
from hornbeam.tree.estimators import DecisionTreeClassifier as Classifier
from hornbeam.tree.estimators import DecisionTreeRegressor as Regressor
from hornbeam.tree.extra import ExtraTreeClassifier as ExtraClassifier
from hornbeam.tree.extra import ExtraTreeRegressor as ExtraRegressor
from hornbeam.tree.importance import gain_importance
from hornbeam.tree.storage import Tree, stored_tree

_NONE = -2  # scikit-learn's feature and threshold of a leaf


@dataclass(frozen=True)
class TreeArrays:
    """A tree in scikit-learn's arrays, by the names that its ``tree_`` has.

    Nodes keep our numbers, which `apply` returns. ``stored`` is hornbeam's own tree.
    """

    stored: Tree

    node_count: int
    n_features: int
    n_outputs: int
    n_classes: Array
    max_n_classes: int
    max_depth: int
    n_leaves: int
    children_left: Array
    children_right: Array
    feature: Array
    threshold: Array
    missing_go_to_left: Array
    impurity: Array
    n_node_samples: Array
    weighted_n_node_samples: Array
    value: Array
    importance: Array

    @property
    def capacity(self) -> int:
        """As many nodes as there are."""
        return self.node_count

    def apply(self, X: Any) -> Array:
        """Return the number of the leaf that each row falls into.

        Parameters
        ----------
        X : array or sparse matrix of floats

        Returns
        -------
        array of int64
        """
        return self.stored.apply(X)

    def decision_path(self, X: Any) -> Any:
        """Return which nodes each row passes.

        Parameters
        ----------
        X : array or sparse matrix of floats

        Returns
        -------
        sparse matrix of shape (n_samples, n_nodes)
        """
        return self.stored.decision_path(X)

    def predict(self, X: Any) -> Array:
        """Return the values of the leaf that each row falls into.

        Parameters
        ----------
        X : array or sparse matrix of floats

        Returns
        -------
        array of shape (n_samples, n_classes), or (n_samples, n_outputs, n_classes)
        """
        found = self.value[self.apply(X)]
        return found[:, 0] if self.n_outputs == 1 else found

    def compute_feature_importances(self, normalize: bool = True) -> Array:
        """Share of each feature in the relative gain of all splits.

        Parameters
        ----------
        normalize : bool
            Whether the shares add up to 1.

        Returns
        -------
        array of shape (n_features,)
        """
        total = self.importance.sum()
        return self.importance / total if normalize and total > 0.0 else self.importance


def tree_arrays(estimator: Any) -> TreeArrays:
    """Return a fitted tree as scikit-learn's ``tree_`` has it.

    Parameters
    ----------
    estimator : fitted tree
        A tree by itself, or one of a forest or of a boosted model (``estimators_[0]``).

    Returns
    -------
    TreeArrays
        ``threshold`` is -2 and ``feature`` is -2 in leaves; ``value`` has the shape
        (nodes, outputs, classes).

    Examples
    --------
    >>> from hornbeam.compat.sklearn import DecisionTreeClassifier, tree_arrays
    >>> tree = DecisionTreeClassifier().fit([[1.0], [2.0]], ["no", "yes"])
    >>> tree_arrays(tree).threshold.tolist(), tree_arrays(tree).value.shape
    ([1.5, -2.0, -2.0], (3, 1, 2))
    """
    check_is_fitted(estimator)
    tree = stored_tree(estimator)
    if not _asks_numbers(tree):
        raise ValueError(
            "The tree parts categories, which scikit-learn's arrays cannot say: read `tree_`, or "
            "use hb.export_text, hb.export_rules or hb.plot_tree."
        )
    n_classes = np.ones(estimator.n_outputs_, np.int64)
    if is_classifier(estimator):
        n_classes = np.atleast_1d(np.asarray(estimator.n_classes_, np.int64))
    leaf = tree.kind == LEAF
    return TreeArrays(
        stored=tree,
        node_count=tree.node_count,
        n_features=estimator.n_features_in_,
        n_outputs=estimator.n_outputs_,
        n_classes=n_classes,
        max_n_classes=int(n_classes.max()),
        max_depth=tree.max_depth,
        n_leaves=tree.n_leaves,
        children_left=np.where(leaf, -1, tree.first_child).astype(np.int64),
        children_right=np.where(leaf, -1, tree.first_child + 1).astype(np.int64),
        feature=np.where(leaf, _NONE, tree.feature).astype(np.int64),
        threshold=np.where(leaf, float(_NONE), tree.threshold),
        missing_go_to_left=(~leaf & (tree.missing_branch == 0)).astype(np.uint8),
        impurity=tree.impurity,
        n_node_samples=tree.n_samples,
        weighted_n_node_samples=tree.weight,
        value=_blocks(tree.value, n_classes),
        importance=gain_importance(tree, estimator.n_features_in_),
    )


class ShowsArrays:
    """Mixin for an estimator of one tree whose ``tree_`` has scikit-learn's arrays.

    A tree that parts categories is shown as it is: scikit-learn's arrays have no room for them.
    """

    @property
    def tree_(self) -> Any:
        """The fitted tree, as `tree_arrays` has it."""
        if "tree_" not in self.__dict__:
            raise AttributeError(f"This {type(self).__name__} is not fitted, so it has no tree_.")
        tree = stored_tree(self)
        if not _asks_numbers(tree):
            return tree
        shown = self.__dict__.get("_shown")  # loops over nodes ask for it again and again
        if shown is None or shown.stored is not tree:
            shown = self.__dict__["_shown"] = tree_arrays(self)
        return shown

    @tree_.setter
    def tree_(self, tree: Tree) -> None:
        self.__dict__["tree_"] = tree

    def __getstate__(self) -> Any:
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_shown"}


class DecisionTreeClassifier(ShowsArrays, Classifier):
    """`hornbeam.DecisionTreeClassifier` whose ``tree_`` has scikit-learn's arrays."""


class DecisionTreeRegressor(ShowsArrays, Regressor):
    """`hornbeam.DecisionTreeRegressor` whose ``tree_`` has scikit-learn's arrays."""


class ExtraTreeClassifier(ShowsArrays, ExtraClassifier):
    """`hornbeam.ExtraTreeClassifier` whose ``tree_`` has scikit-learn's arrays."""


class ExtraTreeRegressor(ShowsArrays, ExtraRegressor):
    """`hornbeam.ExtraTreeRegressor` whose ``tree_`` has scikit-learn's arrays."""


_SHOWN: dict[type, type] = {
    Classifier: DecisionTreeClassifier,
    Regressor: DecisionTreeRegressor,
    ExtraClassifier: ExtraTreeClassifier,
    ExtraRegressor: ExtraTreeRegressor,
}


def showing_arrays(estimator: Any) -> Any:
    """The same estimator of one tree with scikit-learn's arrays as its ``tree_``."""
    shown_as = _SHOWN[type(estimator)]
    shown: Any = shown_as()
    shown.__dict__.update(vars(estimator))
    return shown


def _asks_numbers(tree: Tree) -> bool:
    return bool(np.isin(tree.kind, (LEAF, THRESHOLD)).all())


def _blocks(value: Array, n_classes: Array) -> Array:
    """Values of each output side by side: (nodes, outputs, classes)."""
    blocks = np.zeros((len(value), len(n_classes), int(n_classes.max())))
    for output, block in enumerate(np.split(value, np.cumsum(n_classes)[:-1], axis=1)):
        blocks[:, output, : block.shape[1]] = block
    return blocks


def _as_theirs(estimator: Any) -> Any:
    """An estimator of scikit-learn that has our tree; None if it cannot say what ours does."""
    check_is_fitted(estimator)
    if not _asks_numbers(stored_tree(estimator)):
        return None
    classifies = is_classifier(estimator)
    theirs = (
        sklearn.tree.DecisionTreeClassifier()
        if classifies
        else sklearn.tree.DecisionTreeRegressor()
    )
    theirs.criterion, theirs.tree_ = estimator.criterion, tree_arrays(estimator)
    for name in ("n_features_in_", "feature_names_in_", "classes_", "n_classes_", "n_outputs_"):
        if hasattr(estimator, name):
            setattr(theirs, name, getattr(estimator, name))
    return theirs


def export_text(decision_tree: Any, **options: Any) -> str:
    """Show a fitted tree as text: in scikit-learn's words, or as `hb.export_text` if these fail.

    Parameters
    ----------
    decision_tree : fitted tree
    **options
        Those of `sklearn.tree.export_text`.

    Returns
    -------
    str
    """
    theirs = _as_theirs(decision_tree)
    if theirs is None:
        return hornbeam.output.text.export_text(decision_tree, **options)
    return str(sklearn.tree.export_text(theirs, **options))


def export_graphviz(decision_tree: Any, out_file: Any = None, **options: Any) -> str | None:
    """Write a fitted tree for Graphviz: in scikit-learn's words, or as `hb.export_graphviz`.

    Parameters
    ----------
    decision_tree : fitted tree
    out_file : path or file, optional
    **options
        Those of `sklearn.tree.export_graphviz`.

    Returns
    -------
    str or None
    """
    theirs = _as_theirs(decision_tree)
    if theirs is None:
        return hornbeam.output.graphviz.export_graphviz(decision_tree, out_file, **options)
    found: str | None = sklearn.tree.export_graphviz(theirs, out_file, **options)
    return found


def plot_tree(decision_tree: Any, **options: Any) -> list[Any]:
    """Draw a fitted tree: as scikit-learn does, or as `hb.plot_tree` where it cannot.

    Parameters
    ----------
    decision_tree : fitted tree
    **options
        Those of `sklearn.tree.plot_tree`.

    Returns
    -------
    list of matplotlib artists
    """
    theirs = _as_theirs(decision_tree)
    if theirs is None:
        return hornbeam.output.drawing.plot_tree(decision_tree, **options)
    return list(sklearn.tree.plot_tree(theirs, **options))

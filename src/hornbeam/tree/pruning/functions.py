"""Prune a fitted tree: each function returns a new estimator and leaves the old one alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from hornbeam.data.target import check_length, read_classes, read_values, read_weights
from hornbeam.dtypes import Array
from hornbeam.tree.memory import hand_on
from hornbeam.tree.pruning.cost import prune_by_cost
from hornbeam.tree.pruning.pessimistic import CONFIDENCE, prune_by_limit
from hornbeam.tree.pruning.reduced_error import class_loss, prune_by_validation, squared_loss
from hornbeam.tree.storage import Tree, stored_tree


def prune_cost_complexity(estimator: Any, ccp_alpha: float) -> Any:
    """Return the tree pruned at a cost per leaf (minimal cost-complexity pruning).

    It is the smallest subtree that minimises R(T) + ccp_alpha * (leaves of T), R being the
    impurity of the leaves, weighted by their share of the rows. `hornbeam.choose_ccp_alpha`
    finds a good alpha.

    Parameters
    ----------
    estimator : fitted tree estimator
        It is not changed.
    ccp_alpha : float
        What a leaf costs, in units of the impurity; at least 0.

    Returns
    -------
    estimator
        Of the same class, fitted, with the same parameters.

    Examples
    --------
    >>> import hornbeam as hb
    >>> X, y = [[0], [1], [2], [3], [4], [5]], [0, 0, 1, 0, 1, 1]
    >>> tree = hb.DecisionTreeClassifier().fit(X, y)
    >>> pruned = hb.prune_cost_complexity(tree, 0.15)
    >>> tree.get_n_leaves(), pruned.get_n_leaves()
    (4, 2)
    """
    tree = _tree_of(estimator)
    if not ccp_alpha >= 0.0:
        raise ValueError(f"ccp_alpha is {ccp_alpha!r}; a leaf must cost 0 or more.")
    return with_tree(estimator, prune_by_cost(tree, float(ccp_alpha)))


def prune_reduced_error(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    """Return the tree pruned so that it makes the fewest errors on validation rows.

    From the bottom up, a subtree is replaced by a leaf unless it is better than the leaf on
    rows that the tree was not grown on: the weight of the wrong rows for a classifier, the
    squared error for a regressor (the mean over the outputs if there are several). The
    result is never worse on these rows than the tree was, and it is the smallest such
    subtree. Missing values and categories that are new follow the rules of the tree.

    Parameters
    ----------
    estimator : fitted tree estimator
        It is not changed.
    X : table of shape (n_samples, n_features)
        Validation rows; must not be those of `fit`, on which no tree looks too large.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Their targets. A class that training has not seen counts as an error anywhere.
    sample_weight : array-like of shape (n_samples,), optional
        Their weights.

    Returns
    -------
    estimator
        Of the same class, fitted, with the same parameters.

    Examples
    --------
    >>> import hornbeam as hb
    >>> X, y = [[0], [1], [2], [3], [4], [5]], [0, 0, 1, 0, 1, 1]
    >>> tree = hb.DecisionTreeClassifier().fit(X, y)
    >>> pruned = hb.prune_reduced_error(tree, [[0.5], [2], [3], [4.5]], [0, 0, 0, 1])
    >>> pruned.get_n_leaves(), pruned.predict([[2], [3], [4]]).tolist()
    (3, [0, 0, 1])
    """
    tree = _tree_of(estimator)
    leaves = estimator.apply(X)
    weight = read_weights(sample_weight, len(leaves))
    return with_tree(estimator, prune_on(estimator, tree, leaves, y, weight))


def prune_pessimistic(estimator: Any, confidence: float = CONFIDENCE) -> Any:
    """Return the tree pruned by Quinlan's pessimistic estimate of its errors.

    A leaf with e errors among n training rows is expected to make as many as the upper
    confidence limit of a binomial proportion says (`hornbeam.tree.pruning.pessimistic`). A subtree
    is replaced by a leaf if the leaf's limit is not above the sum of the limits below. No
    other rows are needed. Weights count as numbers of rows, so they should be about that.

    Parameters
    ----------
    estimator : fitted tree classifier
        It is not changed.
    confidence : float
        Quinlan's confidence factor, above 0 and up to 0.5; smaller prunes more.

    Returns
    -------
    estimator
        Of the same class, fitted, with the same parameters.

    Examples
    --------
    >>> import hornbeam as hb
    >>> X, y = [[0], [1], [2], [3], [4], [5]], [0, 0, 1, 0, 1, 1]
    >>> tree = hb.DecisionTreeClassifier().fit(X, y)
    >>> hb.prune_pessimistic(tree).get_n_leaves()
    2
    """
    tree = _tree_of(estimator)
    if not is_classifier(estimator):
        raise TypeError(
            f"Pessimistic pruning counts wrong classes, and {type(estimator).__name__} predicts "
            "numbers. Use prune_reduced_error with validation rows, or prune_cost_complexity."
        )
    if not 0.0 < confidence <= 0.5:
        raise ValueError(f"confidence is {confidence!r}; it must be above 0 and at most 0.5.")
    return with_tree(estimator, prune_by_limit(tree, class_counts(estimator), confidence))


def prune_on(estimator: Any, tree: Tree, leaves: Array, y: Any, weight: Array) -> Tree:
    """Reduced-error pruning on rows that fall into these leaves."""
    if is_classifier(estimator):
        labels = _known_labels(estimator, y)
        check_length(labels, len(leaves))
        loss = class_loss(tree, labels, class_counts(estimator), weight)
    else:
        values = read_values(y, type(estimator).__name__)
        check_length(values, len(leaves))
        _check_outputs(estimator, values.shape[1])
        loss = squared_loss(tree, values, weight)
    return prune_by_validation(tree, leaves, loss)


def with_tree(estimator: Any, tree: Tree) -> Any:
    """A copy of a fitted estimator that has another tree."""
    pruned: Any = object.__new__(type(estimator))
    vars(pruned).update(vars(estimator))
    hand_on(stored_tree(pruned), tree)
    pruned.tree_ = tree
    return pruned


def class_counts(estimator: Any) -> list[int]:
    """Number of classes of each output."""
    return [int(count) for count in np.atleast_1d(estimator.n_classes_)]


def _tree_of(estimator: Any) -> Tree:
    check_is_fitted(estimator)
    tree = getattr(estimator, "__dict__", {}).get("tree_")
    if not isinstance(tree, Tree):
        raise TypeError(
            f"{type(estimator).__name__} is not an estimator of one tree, which is what can be "
            "pruned."
        )
    return tree


def _known_labels(estimator: Any, y: Any) -> Array:
    """Class numbers of validation targets (rows, outputs); -1 for a class that is new."""
    found = read_classes(y, type(estimator).__name__)
    _check_outputs(estimator, len(found.names))
    known = [estimator.classes_] if estimator.n_outputs_ == 1 else estimator.classes_
    labels = found.labels - found.start[:-1]
    for output, names in enumerate(found.names):
        number = {name: i for i, name in enumerate(known[output].tolist())}
        table = np.array([number.get(name, -1) for name in names.tolist()], np.int64)
        labels[:, output] = table[labels[:, output]]
    return labels


def _check_outputs(estimator: Any, n_outputs: int) -> None:
    if n_outputs != estimator.n_outputs_:
        raise ValueError(
            f"y has {n_outputs} outputs, but {type(estimator).__name__} was fitted on "
            f"{estimator.n_outputs_}."
        )

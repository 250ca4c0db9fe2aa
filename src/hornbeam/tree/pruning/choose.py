"""Choose how much to prune: the cost of a leaf by cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from hornbeam.data.folds import Kin, Split, Splits, read_folds
from hornbeam.dtypes import Array
from hornbeam.notices import silenced
from hornbeam.tree.pruning.cost import cut_alphas, cut_below, pruning_path
from hornbeam.tree.pruning.functions import prune_cost_complexity, with_tree
from hornbeam.tree.storage import stored_tree

_FOLDS_KEY = 13  # tells these draws from others with the same seed


@dataclass(frozen=True, eq=False, repr=False)
class AlphaChoice:
    """What cross-validation found out about `ccp_alpha`.

    Attributes
    ----------
    ccp_alphas : array
        The values that were tried, ascending; each stands for one subtree of the path.
    n_leaves : array
        Leaves of the tree grown on all rows and pruned at each of them.
    scores : array (folds, alphas)
        Score of each fold; larger is better.
    best_alpha : float
        The largest alpha with the best mean score.
    ccp_alpha : float
        The choice: the best one, or by the rule of one standard error the largest one whose
        mean score is within a standard error of the best.
    estimator : fitted estimator
        The tree of all rows, pruned at ``ccp_alpha``.
    """

    ccp_alphas: Array
    n_leaves: Array
    scores: Array
    best_alpha: float
    ccp_alpha: float
    estimator: Any

    def __repr__(self) -> str:
        leaves = stored_tree(self.estimator).n_leaves
        return (
            f"<AlphaChoice: ccp_alpha={self.ccp_alpha:.6g}, {leaves:,} leaves, of "
            f"{len(self.ccp_alphas):,} values on {len(self.scores)} folds; .plot() draws them>"
        )

    @property
    def mean_scores(self) -> Array:
        """Mean score of each alpha over the folds."""
        return np.asarray(self.scores.mean(axis=0))

    @property
    def standard_errors(self) -> Array:
        """Standard error of each of these means."""
        return _standard_errors(self.scores)

    def plot(self, ax: Any = None) -> Any:
        """Draw the mean scores, a standard error around them, and the choice.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to; a new figure by default.

        Returns
        -------
        matplotlib axes
        """
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots()[1]
        mean, error = self.mean_scores, self.standard_errors
        ax.step(self.ccp_alphas, mean, where="post", label="mean score")
        ax.fill_between(self.ccp_alphas, mean - error, mean + error, step="post", alpha=0.25)
        ax.axvline(self.ccp_alpha, linestyle="--", label=f"ccp_alpha = {self.ccp_alpha:.4g}")
        ax.set_xlabel("ccp_alpha")
        ax.set_ylabel("score on the folds left out")
        ax.legend()
        return ax


def choose_ccp_alpha(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    cv: Any = 5,
    scoring: Any = None,
    one_standard_error: bool = False,
    max_alphas: int = 100,
    groups: Any = None,
    time: Any = None,
) -> AlphaChoice:
    """Choose `ccp_alpha` by cross-validation along the pruning path.

    One tree is grown on all rows and one on each fold's training rows; each is pruned at
    every alpha of the path of the first one (at the geometric mean of neighbours, as
    Breiman et al. advise), so no tree is grown twice.

    Parameters
    ----------
    estimator : tree estimator
        Not changed, and need not be fitted; its own `ccp_alpha` is not used.
    X, y, sample_weight
        As in `fit`. Weights count in the scores too, if `scoring` takes them.
    cv : int, splitter, or iterable of pairs of row numbers
        How many folds there are, drawn at random but always the same; they keep the shares of
        the classes. Or a splitter as of scikit-learn.
    scoring : str or function, optional
        As in scikit-learn; by default the estimator's own score.
    one_standard_error : bool
        Take the smallest tree whose score is within one standard error of the best.
    max_alphas : int
        Try at most so many values, evenly spread over the path.
    groups, time : array-like of shape (n_samples,), optional
        Which rows belong together, and which come first: rows of a group are never on both sides
        of a fold, and no row is scored by a tree that has seen rows as late. A splitter is
        checked against both.

    Returns
    -------
    AlphaChoice
        The path, all scores, the choice, and the pruned tree.

    Examples
    --------
    >>> import hornbeam as hb
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> choice = hb.choose_ccp_alpha(hb.DecisionTreeClassifier(), X, y, one_standard_error=True)
    >>> int(choice.n_leaves[0]), choice.estimator.get_n_leaves()
    (22, 7)
    """
    if "ccp_alpha" not in estimator.get_params():
        raise TypeError(f"{type(estimator).__name__} has no parameter ccp_alpha to choose.")
    if max_alphas < 2:
        raise ValueError(f"max_alphas is {max_alphas}; at least 2 values must be tried.")
    unpruned = clone(estimator).set_params(ccp_alpha=0.0)
    kin = Kin.read(groups, time, _num_samples(X))
    full = clone(unpruned).fit(X, y, sample_weight=sample_weight, **_said(kin))
    alphas = _between(pruning_path(stored_tree(full))[0], max_alphas)
    scorer = check_scoring(full, scoring=scoring)
    splits = Splits(_num_samples(X), (0, _FOLDS_KEY), _class_numbers(estimator, y), kin)
    folds = read_folds(cv, splits, X, y, kin.groups)
    with silenced(True):  # the full tree has said what there is to say
        scores = np.array(
            [_fold_scores(unpruned, scorer, alphas, X, y, sample_weight, kin, f) for f in folds]
        )
    best = _last_at_least(scores.mean(axis=0), 0.0)
    slack = float(_standard_errors(scores)[best]) if one_standard_error else 0.0
    chosen = float(alphas[_last_at_least(scores.mean(axis=0), slack)])
    cut = cut_alphas(stored_tree(full))
    leaves = [cut_below(stored_tree(full), cut <= alpha).n_leaves for alpha in alphas]
    pruned = prune_cost_complexity(full, chosen).set_params(ccp_alpha=chosen)
    return AlphaChoice(alphas, np.array(leaves), scores, float(alphas[best]), chosen, pruned)


def _class_numbers(estimator: Any, y: Any) -> Array | None:
    """Number of each row's class, if there is one for each row."""
    if not is_classifier(estimator) or np.ndim(y) != 1:
        return None
    return np.unique(np.asarray(y), return_inverse=True)[1]


def _said(kin: Kin) -> dict[str, Array]:
    """What `fit` is told of rows that belong together."""
    said = {"groups": kin.groups, "time": kin.time}
    return {name: values for name, values in said.items() if values is not None}


def _between(path: Array, most: int) -> Array:
    """Geometric means of neighbouring alphas of a path: each stands for one subtree."""
    steps = np.unique(np.maximum(path, 0.0))
    alphas = np.append(np.sqrt(steps[:-1]) * np.sqrt(steps[1:]), steps[-1])
    alphas = np.unique(np.append(0.0, alphas))
    kept = np.unique(np.linspace(0, len(alphas) - 1, min(most, len(alphas))).round().astype(int))
    return np.asarray(alphas[kept])


def _fold_scores(
    unpruned: Any,
    scorer: Any,
    alphas: Array,
    X: Any,
    y: Any,
    sample_weight: Any,
    kin: Kin,
    fold: Split,
) -> list[float]:
    """Scores of one fold's tree, pruned at each alpha."""
    train, test = np.flatnonzero(fold.learnt), np.flatnonzero(fold.held)

    def chosen(table: Any, rows: Array) -> Any:
        return None if table is None else _safe_indexing(table, rows)

    weight, said = chosen(sample_weight, train), _said(kin.chosen(train))
    grown = clone(unpruned).fit(chosen(X, train), chosen(y, train), sample_weight=weight, **said)
    cut = cut_alphas(stored_tree(grown))
    more = {} if sample_weight is None else {"sample_weight": chosen(sample_weight, test)}
    X_test, y_test = chosen(X, test), chosen(y, test)
    return [
        scorer(
            with_tree(grown, cut_below(stored_tree(grown), cut <= alpha)), X_test, y_test, **more
        )
        for alpha in alphas
    ]


def _standard_errors(scores: Array) -> Array:
    return np.asarray(scores.std(axis=0, ddof=1) / np.sqrt(len(scores)))


def _last_at_least(means: Array, slack: float) -> int:
    """The largest alpha whose mean score is the best, or within ``slack`` of it."""
    return int(np.flatnonzero(means >= means.max() - slack - 1e-12)[-1])

"""Extremely randomised trees by themselves: `ExtraTreeClassifier` and `ExtraTreeRegressor`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hornbeam.model.registry import register_estimator
from hornbeam.params import declared
from hornbeam.tree.estimators import DecisionTreeClassifier, DecisionTreeRegressor
from hornbeam.tree.pruning.pessimistic import CONFIDENCE


@register_estimator
@declared
class ExtraTreeClassifier(DecisionTreeClassifier):
    """A classification tree with random cuts (Geurts, Ernst and Wehenkel 2006).

    One tree of `ExtraTreesClassifier`: cuts are drawn at random, and the best of them
    is taken. Alone it is seldom of use; it is there for ensembles.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    tree_ : Tree
        The tree as flat arrays; the others are those of `DecisionTreeClassifier`.

    Examples
    --------
    >>> import hornbeam as hb
    >>> tree = hb.ExtraTreeClassifier(random_state=0).fit([[1.0], [2.0]], ["no", "yes"])
    >>> tree.predict([[0.5], [2.5]]).tolist()
    ['no', 'yes']
    """

    def __init__(
        self,
        *,
        criterion: str | Callable[..., float] = "gini",
        splitter: str = "random",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = "sqrt",
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
        super().__init__(
            criterion=criterion,
            splitter=splitter,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            random_state=random_state,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            class_weight=class_weight,
            ccp_alpha=ccp_alpha,
            pruning=pruning,
            confidence=confidence,
            validation_fraction=validation_fraction,
            monotonic_cst=monotonic_cst,
            finder=finder,
            max_bins=max_bins,
            growth=growth,
            categorical_features=categorical_features,
            category_split=category_split,
            unseen=unseen,
            n_jobs=n_jobs,
        )


@register_estimator
@declared
class ExtraTreeRegressor(DecisionTreeRegressor):
    """A regression tree with random cuts (Geurts, Ernst and Wehenkel 2006).

    One tree of `ExtraTreesRegressor`: cuts are drawn at random, and the best of them
    is taken. Alone it is seldom of use; it is there for ensembles.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    tree_ : Tree
        The tree as flat arrays; the others are those of `DecisionTreeRegressor`.

    Examples
    --------
    >>> import hornbeam as hb
    >>> tree = hb.ExtraTreeRegressor(random_state=0).fit([[75.0], [105.0]], [1000, 4000])
    >>> tree.predict([[60.0], [120.0]])
    array([1000., 4000.])
    """

    def __init__(
        self,
        *,
        criterion: str | Callable[..., float] = "squared_error",
        splitter: str = "random",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | str | None = 1.0,
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
        super().__init__(
            criterion=criterion,
            splitter=splitter,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            random_state=random_state,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            ccp_alpha=ccp_alpha,
            pruning=pruning,
            validation_fraction=validation_fraction,
            monotonic_cst=monotonic_cst,
            finder=finder,
            max_bins=max_bins,
            growth=growth,
            categorical_features=categorical_features,
            category_split=category_split,
            unseen=unseen,
            n_jobs=n_jobs,
        )

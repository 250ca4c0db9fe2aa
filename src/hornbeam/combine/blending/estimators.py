"""Blending on a hold-out share: `BlendingClassifier` and `BlendingRegressor`."""

from __future__ import annotations

from typing import Any

from hornbeam.combine.crossfit import FitInput
from hornbeam.combine.stacking.base import (
    FOLDS_KEY,
    BaseStacking,
    StackedClassifier,
    StackedRegressor,
)
from hornbeam.data.folds import Split
from hornbeam.model.registry import register_estimator
from hornbeam.params import declared


class HeldBlending(BaseStacking):
    """Members are fitted on a share of the rows."""

    validation_fraction: float
    refit: bool
    _label = "blending"

    @property
    def _fits_again(self) -> bool:
        return self.refit

    def _folds(self, given: FitInput) -> list[Split]:
        split = self._splits(given, FOLDS_KEY).hold_out(self.validation_fraction)
        if not split.learnt.any() or not split.held.any():
            raise ValueError(
                f"validation_fraction={self.validation_fraction} leaves {split.learnt.sum()} of "
                f"{len(split.held)} rows for the members and {split.held.sum()} for the final "
                "estimator. Choose another fraction, or stacking."
            )
        return [split]


@register_estimator
@declared
class BlendingClassifier(StackedClassifier, HeldBlending):
    """Classifiers whose predictions for rows held out another estimator learns from.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted members that are not dropped.
    named_estimators_ : Bunch
        The same by their names.
    final_estimator_ : estimator
        The fitted final estimator, if it is no greedy selection.
    weights_ : array
        What each member counts, if it is.
    stack_method_ : list of str
        What each member is asked.
    classes_ : array
    n_classes_ : int
    feature_importances_ : array
        Those of the members, by how much these count; only if all have any.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had names.

    Examples
    --------
    >>> import hornbeam as hb
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> members = [("tree", hb.DecisionTreeClassifier(max_depth=3)), ("bayes", GaussianNB())]
    >>> bool(hb.BlendingClassifier(members, random_state=0).fit(X, y).score(X, y) > 0.9)
    True
    """

    _declared_as = {  # noqa: RUF012
        "estimators": "named_estimators",
        "final_estimator": "stacking_final",
        "validation_fraction": "blending_fraction",
        "stack_method": "stacking_method",
        "n_jobs": "named_jobs",
        "passthrough": "stacking_passthrough",
        "verbose": "named_verbose",
        "refit": "blending_refit",
        "random_state": "named_random_state",
    }

    def __init__(
        self,
        estimators: Any,
        final_estimator: Any = None,
        *,
        validation_fraction: float = 0.25,
        stack_method: str = "auto",
        n_jobs: int | None = None,
        passthrough: bool = False,
        verbose: Any = None,
        refit: bool = True,
        random_state: Any = None,
    ) -> None:
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.validation_fraction = validation_fraction
        self.stack_method = stack_method
        self.n_jobs = n_jobs
        self.passthrough = passthrough
        self.verbose = verbose
        self.refit = refit
        self.random_state = random_state


@register_estimator
@declared
class BlendingRegressor(StackedRegressor, HeldBlending):
    """Regressors whose predictions for rows held out another estimator learns from.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted members that are not dropped.
    named_estimators_ : Bunch
        The same by their names.
    final_estimator_ : estimator
        The fitted final estimator, if it is no greedy selection.
    weights_ : array
        What each member counts, if it is.
    stack_method_ : list of str
        What each member is asked.
    feature_importances_ : array
        Those of the members, by how much these count; only if all have any.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had names.

    Examples
    --------
    >>> import hornbeam as hb
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import RidgeCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> members = [("line", RidgeCV()), ("tree", hb.DecisionTreeRegressor(max_depth=3))]
    >>> bool(hb.BlendingRegressor(members, random_state=0).fit(X, y).score(X, y) > 0.4)
    True
    """

    _declared_as = {  # noqa: RUF012
        name: declared_as
        for name, declared_as in BlendingClassifier._declared_as.items()
        if name != "stack_method"
    }

    def __init__(
        self,
        estimators: Any,
        final_estimator: Any = None,
        *,
        validation_fraction: float = 0.25,
        n_jobs: int | None = None,
        passthrough: bool = False,
        verbose: Any = None,
        refit: bool = True,
        random_state: Any = None,
    ) -> None:
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.validation_fraction = validation_fraction
        self.n_jobs = n_jobs
        self.passthrough = passthrough
        self.verbose = verbose
        self.refit = refit
        self.random_state = random_state

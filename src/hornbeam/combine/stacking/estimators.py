"""Stacking by folds: `StackingClassifier` and `StackingRegressor`."""

from __future__ import annotations

from typing import Any

from hornbeam.combine.crossfit import FitInput
from hornbeam.combine.parameters import PREFIT
from hornbeam.combine.stacking.base import (
    FOLDS_KEY,
    BaseStacking,
    StackedClassifier,
    StackedRegressor,
)
from hornbeam.data.folds import Split, read_folds
from hornbeam.model.registry import register_estimator
from hornbeam.params import declared


class FoldedStacking(BaseStacking):
    """Members are fitted on folds."""

    cv: Any
    refit: str

    @property
    def _is_prefit(self) -> bool:
        return isinstance(self.cv, str) and self.cv == PREFIT

    @property
    def _fits_again(self) -> bool:
        return self.refit == "refit"

    def _folds(self, given: FitInput) -> list[Split]:
        splits, table = self._splits(given, FOLDS_KEY), given.rows.table
        return read_folds(self.cv, splits, table, given.target, given.kin.groups)


@register_estimator
@declared
class StackingClassifier(StackedClassifier, FoldedStacking):
    """Classifiers whose held-out predictions another estimator learns from.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted members that are not dropped; with ``refit='fold_mean'`` means of fold models.
    named_estimators_ : Bunch
        The same by their names.
    models_ : list of lists of estimators
        The fitted models of each member: one for each fold, or the one of all rows.
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
    >>> model = hb.StackingClassifier(members, random_state=0).fit(X, y)
    >>> model.weights_.shape, len(model.models_[0])
    ((2,), 1)
    """

    _declared_as = {  # noqa: RUF012
        "estimators": "named_estimators",
        "final_estimator": "stacking_final",
        "cv": "stacking_cv",
        "stack_method": "stacking_method",
        "n_jobs": "named_jobs",
        "passthrough": "stacking_passthrough",
        "verbose": "named_verbose",
        "refit": "stacking_refit",
        "random_state": "named_random_state",
    }

    def __init__(
        self,
        estimators: Any,
        final_estimator: Any = None,
        *,
        cv: Any = None,
        stack_method: str = "auto",
        n_jobs: int | None = None,
        passthrough: bool = False,
        verbose: Any = None,
        refit: str = "refit",
        random_state: Any = None,
    ) -> None:
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.cv = cv
        self.stack_method = stack_method
        self.n_jobs = n_jobs
        self.passthrough = passthrough
        self.verbose = verbose
        self.refit = refit
        self.random_state = random_state


@register_estimator
@declared
class StackingRegressor(StackedRegressor, FoldedStacking):
    """Regressors whose held-out predictions another estimator learns from.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted members that are not dropped; with ``refit='fold_mean'`` means of fold models.
    named_estimators_ : Bunch
        The same by their names.
    models_ : list of lists of estimators
        The fitted models of each member: one for each fold, or the one of all rows.
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
    >>> model = hb.StackingRegressor(members, RidgeCV(), random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.5)
    True
    """

    _declared_as = {  # noqa: RUF012
        name: declared_as
        for name, declared_as in StackingClassifier._declared_as.items()
        if name != "stack_method"
    }

    def __init__(
        self,
        estimators: Any,
        final_estimator: Any = None,
        *,
        cv: Any = None,
        n_jobs: int | None = None,
        passthrough: bool = False,
        verbose: Any = None,
        refit: str = "refit",
        random_state: Any = None,
    ) -> None:
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.cv = cv
        self.n_jobs = n_jobs
        self.passthrough = passthrough
        self.verbose = verbose
        self.refit = refit
        self.random_state = random_state

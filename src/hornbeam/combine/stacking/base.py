"""What stacking and blending share: a final estimator learns from held-out predictions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import RegressorMixin, clone, is_classifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from hornbeam.combine.crossfit import (
    FitInput,
    HeldOut,
    cross_fit,
    kin_arguments,
    mean_blocks,
    require_weights,
)
from hornbeam.combine.members import retold, seed_open
from hornbeam.combine.named import (
    NamedClassifier,
    NamedEnsemble,
    NamedRegressor,
    is_there,
    kind_of,
    prefitted,
)
from hornbeam.combine.outputs import METHODS, features_of, method_of
from hornbeam.combine.parameters import GREEDY
from hornbeam.combine.tables import TableRows, read_rows
from hornbeam.data.folds import Split
from hornbeam.dtypes import Array
from hornbeam.probabilities import Probabilities

FOLDS_KEY = 8
_FINAL = 1_000_000  # the number of the final estimator among the members that are seeded


class BaseStacking(NamedEnsemble):
    """Members, and an estimator that learns from what they say of rows they have not seen."""

    final_estimator: Any
    stack_method: str
    passthrough: bool
    stack_method_: list[str]
    final_estimator_: Any  # if it is no greedy selection
    weights_: Array  # if it is
    _has_final = True

    # --- fitting ----------------------------------------------------------------------

    def _fit(self, given: FitInput) -> None:
        named = self._members()
        final = self._read_final()
        order = ("predict_proba", "predict") if isinstance(final, str) else METHODS
        self.stack_method_ = [self._method(name, member, order) for name, member in named]
        held = self._fit_members(given, named)
        with retold("The final estimator could not be fitted"):
            if isinstance(final, str):
                votes = "predict" in self.stack_method_
                self.weights_ = self._select(given, held, votes)
            else:
                self._fit_final(final, given, held)

    def _read_final(self) -> Any:
        """The final estimator, checked; `GREEDY` for a selection."""
        final = GREEDY if self.final_estimator is None else self.final_estimator
        if isinstance(final, str):  # the declaration allows no other
            if self.passthrough:
                raise ValueError(
                    "passthrough=True shows the table to the final estimator, but "
                    "final_estimator='greedy' only averages members. Choose an estimator, or "
                    "passthrough=False."
                )
            if self.stack_method == "decision_function":
                raise ValueError(
                    "final_estimator='greedy' averages probabilities or votes, and values of "
                    "decision functions are of different units. Choose stack_method='auto'."
                )
            return final
        right, kind = kind_of(self)
        if not right(final):
            raise ValueError(
                f"`final_estimator` parameter should be a {kind}. Got {final!r}, which predicts "
                "something else."
            )
        return final

    def _method(self, name: str, member: Any, order: tuple[str, ...]) -> str:
        if not is_classifier(self):
            return "predict"
        return method_of(name, member, self.stack_method, order)

    def _fit_members(self, given: FitInput, named: list[tuple[str, Any]]) -> HeldOut:
        """Fit the members; returns what they say of rows that they have not seen."""
        if self._is_prefit:
            self.models_ = prefitted(named, given.classes)
            methods, rows = self.stack_method_, given.rows
            blocks = mean_blocks(self.models_, methods, given.classes, rows, self.n_jobs)
            return HeldOut(np.arange(rows.n_rows), [b for b in blocks if b is not None])
        folds = self._folds(given)
        again = self._fits_again
        with self._bar(self._label, (len(folds) + again) * len(named)) as bar:
            arguments = given, named, self.stack_method_, folds, again, self.n_jobs, bar
            self.models_, held = cross_fit(*arguments, keep_folds=not again)
        assert held is not None
        return held

    _label = "stacking"

    @property
    def _is_prefit(self) -> bool:
        """Whether members are taken as they are."""
        return False

    @property
    @abstractmethod
    def _fits_again(self) -> bool:
        """Whether members are fitted once more on all rows."""

    @abstractmethod
    def _folds(self, given: FitInput) -> list[Split]:
        """How rows are parted into those that members learn from and those that they predict."""

    def _fit_final(self, final: Any, given: FitInput, held: HeldOut) -> None:
        """Let the final estimator learn from the rows that any fold has held out."""
        self.final_estimator_ = clone(final)
        seed_open(self.final_estimator_, np.random.default_rng([given.seed, _FINAL]))
        rows = held.rows
        table = self._features(held.blocks, given.rows, rows)
        more = kin_arguments(self.final_estimator_, given.kin.chosen(rows))
        if given.weight is not None:
            require_weights("final_estimator", self.final_estimator_)
            more["sample_weight"] = given.weight[rows]
        self.final_estimator_.fit(table, given.target[rows], **more)

    # --- what the final estimator sees ------------------------------------------------

    def _features(self, blocks: list[Array], rows: TableRows, chosen: Array | None = None) -> Any:
        """What members say, side by side, and the table if it is passed through."""
        n_classes = len(getattr(self, "classes_", ()))
        parts = zip(blocks, self.stack_method_, strict=True)
        found = np.hstack([features_of(block, method, n_classes) for block, method in parts])
        if not self.passthrough:
            return found
        table = rows.part(chosen, np.arange(rows.n_columns))
        if scipy.sparse.issparse(table):
            return scipy.sparse.hstack([found, table], format="csr")
        if rows.is_frame:
            return _beside(found, self._own_names(), table)
        return np.hstack([found, np.asarray(table)])

    def transform(self, X: Any) -> Any:
        """Return what the final estimator learns from.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_columns)
            For each member a probability per class (of two classes, that of the second one),
            a value of its decision function, or what it predicts. With ``passthrough`` the
            table stands behind, and a data frame stays one.
        """
        blocks = self._blocks(X)
        return self._features(blocks, read_rows(X, self, fitted=True))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the columns that `transform` makes.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns of the table, for ``passthrough``.

        Returns
        -------
        array of str
        """
        from sklearn.utils.validation import _check_feature_names_in

        check_is_fitted(self)
        own = self._own_names()
        if not self.passthrough:
            return np.asarray(own, object)
        given = _check_feature_names_in(self, input_features, generate_names=True)
        return np.concatenate([np.asarray(own, object), given])

    def _own_names(self) -> list[str]:
        own, n_classes = type(self).__name__.lower(), len(getattr(self, "classes_", ()))
        ends = [str(number) for number in range(n_classes)] if n_classes > 2 else [""]
        names = [name for name, member in self.estimators if is_there(member)]
        return [f"{own}_{name}{end}" for name in names for end in ends]

    # --- prediction -------------------------------------------------------------------

    @property
    def _methods(self) -> list[str]:
        return self.stack_method_

    def _is_greedy(self) -> bool:
        return "weights_" in vars(self)

    def _finally(self, X: Any, method: str, **params: Any) -> Any:
        """What the final estimator says."""
        return getattr(self.final_estimator_, method)(self.transform(X), **params)

    # --- what it holds ----------------------------------------------------------------

    def _shares_of_members(self) -> Array:
        """Their weights; else how much the final estimator makes of their columns."""
        if self._is_greedy():
            return self.weights_
        final = self.final_estimator_
        found = getattr(final, "feature_importances_", None)
        if found is None and hasattr(final, "coef_"):
            found = np.abs(np.atleast_2d(final.coef_)).sum(axis=0)
        if found is None or self.passthrough:
            raise AttributeError(
                f"The final estimator ({type(final).__name__}) does not say how much the members "
                "count, so the ensemble has no feature_importances_. Use "
                "sklearn.inspection.permutation_importance."
            )
        shares = found.reshape(len(self.models_), -1).sum(axis=1)  # of columns side by side
        return shares if shares.sum() > 0.0 else np.ones(len(shares))


def _beside(found: Array, names: list[str], table: Any) -> Any:
    """A data frame with further columns in front, of the library that it is of."""
    import narwhals as nw

    frame: Any = nw.from_native(table)
    if not all(isinstance(name, str) for name in frame.columns):  # names of two kinds are none
        frame = frame.rename({name: f"x{place}" for place, name in enumerate(frame.columns)})
    space: Any = nw.get_native_namespace(frame)
    added: Any = nw.from_dict(dict(zip(names, found.T, strict=True)), backend=space)
    return nw.to_native(nw.concat([added, frame], how="horizontal"))


def final_has(method: str) -> Callable[[Any], bool]:
    """Whether the final estimator has a method, for `available_if`."""

    def check(self: Any) -> bool:
        final = self.final_estimator
        if final is None or isinstance(final, str):
            return method in ("predict", "predict_proba")
        getattr(vars(self).get("final_estimator_", final), method)  # its own AttributeError
        return True

    return check


class StackedClassifier(Probabilities, NamedClassifier, BaseStacking):
    """What classifiers by stacking and by blending share."""

    @available_if(final_has("predict"))
    def predict(self, X: Any, **predict_params: Any) -> Array:
        """Predict the class of each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        **predict_params : dict
            What `predict` of the final estimator gets besides.

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self)
        if self._is_greedy():
            return self._named(self._mean(X, self.weights_))
        return np.asarray(self._finally(X, "predict", **predict_params))

    @available_if(final_has("predict_proba"))
    def predict_proba(self, X: Any) -> Array:
        """Predict the probability of each class.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        if self._is_greedy():
            return self._mean(X, self.weights_)
        found = np.asarray(self._finally(X, "predict_proba"), np.float64)
        known = np.searchsorted(self.classes_, self.final_estimator_.classes_)
        shares = np.zeros((len(found), self.n_classes_))
        shares[:, known] = found
        return shares

    @available_if(final_has("predict_proba"))
    def predict_log_proba(self, X: Any) -> Array:
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return np.asarray(super().predict_log_proba(X))

    @available_if(final_has("decision_function"))
    def decision_function(self, X: Any) -> Array:
        """Return the decision function of the final estimator.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
        """
        check_is_fitted(self)
        return np.asarray(self._finally(X, "decision_function"))


class StackedRegressor(RegressorMixin, NamedRegressor, BaseStacking):  # type: ignore[misc]
    """What regressors by stacking and by blending share."""

    stack_method = "predict"

    @available_if(final_has("predict"))
    def predict(self, X: Any, **predict_params: Any) -> Array:
        """Predict the target of each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        **predict_params : dict
            What `predict` of the final estimator gets besides.

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self)
        if self._is_greedy():
            return self._mean(X, self.weights_)[:, 0]
        return self._finally(X, "predict", **predict_params)

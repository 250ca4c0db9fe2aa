"""What all adapters share: parameters are translated, and an engine of ours is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import validate_parameter_constraints

from hornbeam.callbacks import CallbackSupportMixin
from hornbeam.compat.engine import WithEngine
from hornbeam.compat.translation import Translation
from hornbeam.dtypes import Array


class Adapter(CallbackSupportMixin, WithEngine):  # type: ignore[misc]
    """Mixin for classes that stand for a class of another library.

    ``engine_`` is the fitted estimator of ours, with all that it can do and they cannot.
    """

    _translation: ClassVar[Translation]
    _parameter_constraints: ClassVar[dict[str, Any]]
    warm_start: Any

    def _check_parameters(self) -> None:
        """Raise scikit-learn's own error for a parameter that cannot be."""
        validate_parameter_constraints(
            self._parameter_constraints, self.get_params(deep=False), type(self).__name__
        )

    def _make_engine(self, earlier: Any = None, **facts: Any) -> Any:
        """An engine with our parameters translated: new, or one that goes on with an earlier."""
        ours = self._translation.to_ours(self.get_params(deep=False), **facts)
        engine = self._engine_class(**ours)
        engine._called = type(self).__name__
        if "_skl_callbacks" in vars(self):
            engine.set_callbacks(*self._skl_callbacks)
        if earlier is not None:
            engine.__dict__ = {**vars(earlier), **vars(engine)}
        return engine

    def _raw_predict(self, X: Any) -> Array:
        """Scores of each row, (n_rows, n_scores)."""
        return self._engine._scores(X)

    def _staged_raw_predict(self, X: Any) -> Iterator[Array]:
        return self._engine._staged_scores(X)

    def _check_rest(self, state: Mapping[str, Any]) -> None:
        given = {name: state[name] for name in self._get_param_names()}
        validate_parameter_constraints(self._parameter_constraints, given, type(self).__name__)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


class RegressorMethods:
    """What an adapter of a regressor is asked for."""

    _raw_predict: Any
    _staged_raw_predict: Any
    engine_: Any

    def predict(self, X: Any) -> Array:
        """Predict the target of each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        scores = self._raw_predict(X)
        return np.asarray(self.engine_._flat(scores))

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Predict after each round.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Yields
        ------
        array of shape (n_samples,)
        """
        for scores in self._staged_raw_predict(X):
            yield self.engine_._flat(scores)


class ClassifierMethods:
    """What an adapter of a classifier is asked for."""

    _raw_predict: Any
    _staged_raw_predict: Any
    engine_: Any
    classes_: Array
    n_classes_: int

    def predict(self, X: Any) -> Array:
        """Predict the class of each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        scores = self._raw_predict(X)
        return np.asarray(self.engine_._likeliest(scores))

    def predict_proba(self, X: Any) -> Array:
        """Predict the probability of each class.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        scores = self._raw_predict(X)
        return np.asarray(self.engine_._linked(scores))

    def decision_function(self, X: Any) -> Array:
        """Return the scores behind the probabilities.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        return _squeezed(self._raw_predict(X))

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Predict the class after each round.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Yields
        ------
        array of shape (n_samples,)
        """
        for scores in self._staged_raw_predict(X):
            yield self.engine_._likeliest(scores)

    def staged_predict_proba(self, X: Any) -> Iterator[Array]:
        """Predict the probabilities after each round.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Yields
        ------
        array of shape (n_samples, n_classes)
        """
        for scores in self._staged_raw_predict(X):
            yield self.engine_._linked(scores)

    def staged_decision_function(self, X: Any) -> Iterator[Array]:
        """Return the scores after each round.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Yields
        ------
        array of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        for scores in self._staged_raw_predict(X):
            yield _squeezed(scores)


def _squeezed(scores: Array) -> Array:
    return scores[:, 0] if scores.shape[1] == 1 else scores

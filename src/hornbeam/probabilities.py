"""What all classifiers make of the probabilities that they predict."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from hornbeam.dtypes import Array


class Probabilities(ClassifierMixin):  # type: ignore[misc]
    """Mixin for classifiers that predict probabilities."""

    @abstractmethod
    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of each class."""

    def predict_log_proba(self, X: Any) -> Any:
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes), or a list of them with several outputs
        """
        shares = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(s) for s in shares] if isinstance(shares, list) else np.log(shares)


class OutputProbabilities(Probabilities):
    """Mixin for classifiers of several outputs, whose probabilities stand side by side."""

    n_classes_: Any

    def _blocks(self, shares: Array) -> list[Array]:
        """The columns of each output."""
        return np.split(shares, np.cumsum(self.n_classes_)[:-1], axis=1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

"""Members that count, memorise, fail or lie: what ensembles are tested with."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin


class Counting(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """The mean; counts fits and predictions of all its kind."""

    counts: ClassVar[dict[str, int]] = {"fit": 0, "predict": 0}

    def fit(self, X: Any, y: Any) -> Any:
        self.counts["fit"] += 1
        self.mean_, self.n_features_in_ = float(np.mean(y)), np.shape(X)[1]
        return self

    def predict(self, X: Any) -> Any:
        self.counts["predict"] += 1
        return np.full(len(X), self.mean_)

    @classmethod
    def counted(cls) -> tuple[int, int]:
        """Fits and predictions since the last call."""
        found = cls.counts["fit"], cls.counts["predict"]
        cls.counts.update(fit=0, predict=0)
        return found


class Memory(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Knows its training rows by heart, and nothing else."""

    def fit(self, X: Any, y: Any) -> Any:
        self.classes_, numbers = np.unique(y, return_inverse=True)
        self.known_ = {
            tuple(row): n for row, n in zip(np.asarray(X).tolist(), numbers, strict=True)
        }
        self.shares_ = np.bincount(numbers) / len(numbers)
        return self

    def predict_proba(self, X: Any) -> Any:
        sure = np.eye(len(self.classes_))
        rows = [tuple(row) for row in np.asarray(X).tolist()]
        return np.array([sure[self.known_[r]] if r in self.known_ else self.shares_ for r in rows])

    def predict(self, X: Any) -> Any:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class Fixed(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Says the same of every row: the rows of ``table`` one after the other."""

    def __init__(self, table: Any = None, classes: Any = None) -> None:
        self.table, self.classes = table, classes

    def fit(self, X: Any, y: Any) -> Any:
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: Any) -> Any:
        return np.tile(np.asarray(self.table, float), (len(X), 1))

    def predict(self, X: Any) -> Any:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class Failing(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Fails where it is fitted without the row that begins with ``row``, or says NaN."""

    def __init__(
        self, row: float = 0.0, error: type[Exception] = ValueError, nan: bool = False
    ) -> None:
        self.row, self.error, self.nan = row, error, nan

    def fit(self, X: Any, y: Any) -> Any:
        self.lacks_ = not np.any(np.asarray(X)[:, 0] == self.row)
        if self.lacks_ and not self.nan:
            raise self.error("this row is needed")
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), np.nan if self.lacks_ and self.nan else 1.0)


class Shareless(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The most frequent class; has no probabilities."""

    def fit(self, X: Any, y: Any) -> Any:
        self.classes_, counts = np.unique(y, return_counts=True)
        self.most_ = self.classes_[counts.argmax()]
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.most_)

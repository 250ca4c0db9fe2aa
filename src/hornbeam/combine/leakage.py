"""Does an ensemble learn from rows that it should only predict? `hornbeam.check_leakage`.

A spy takes the place of every member: it notes which rows it was fitted on, and which rows it was
then asked about while the ensemble was still being fitted. What a spy has seen it knows by heart,
so an ensemble that asks it about its own rows learns to trust what means nothing for new ones.
"""

from __future__ import annotations

import inspect
import itertools
import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier

from hornbeam.combine.named import is_there
from hornbeam.combine.tables import TableRows, read_rows
from hornbeam.data.folds import Kin, Split
from hornbeam.data.target import check_length
from hornbeam.dtypes import Array


@dataclass
class Notes:
    """What the spies of one check have seen.

    Attributes
    ----------
    asked : list of (str, Split)
        Name of the member, the rows it was fitted on and those it was asked about.
    """

    asked: list[tuple[str, Split]] = field(default_factory=list)


_notes: dict[int, Notes] = {}
_numbers = itertools.count()
_lock = threading.Lock()


class Spy(BaseEstimator):  # type: ignore[misc]
    """A member that knows the rows it was fitted on by heart, and notes what it is asked.

    Parameters
    ----------
    name : str
        Of the member in whose place it is.
    check : int
        Number of the check that it notes for.
    n_rows : int
        Of the table, whose only column is the number of the row.
    """

    known_: dict[int, Any]
    default_: Any

    def __init__(self, name: str = "", check: int = 0, n_rows: int = 0) -> None:
        self.name, self.check, self.n_rows = name, check, n_rows

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Learn the rows by heart.

        Parameters
        ----------
        X : array of shape (n_samples, 1)
            Numbers of rows.
        y : array-like
        sample_weight : ignored

        Returns
        -------
        self
        """
        self.rows_, self.n_features_in_ = _row_numbers(X), 1
        self._learn(np.asarray(y))
        return self

    def _learn(self, y: Array) -> None:
        self.known_ = dict(zip(self.rows_.tolist(), y.tolist(), strict=True))
        self.default_ = float(np.mean(y))

    def _note(self, X: Any) -> Array:
        rows = _row_numbers(X)
        sides = np.zeros((2, self.n_rows), bool)
        sides[0, self.rows_], sides[1, rows] = True, True
        with _lock:
            if self.check in _notes:
                _notes[self.check].asked.append((self.name, Split(*sides)))
        return rows


class SpyRegressor(RegressorMixin, Spy):  # type: ignore[misc]
    """A regressor that knows its rows by heart."""

    def predict(self, X: Any) -> Array:
        """What it has been told of the rows; of others the mean."""
        return np.array([self.known_.get(row, self.default_) for row in self._note(X).tolist()])


class SpyClassifier(ClassifierMixin, Spy):  # type: ignore[misc]
    """A classifier that knows its rows by heart."""

    def _learn(self, y: Array) -> None:
        self.classes_, numbers = np.unique(y, return_inverse=True)
        self.known_ = dict(zip(self.rows_.tolist(), numbers.tolist(), strict=True))
        self.default_ = np.bincount(numbers) / len(numbers)

    def predict_proba(self, X: Any) -> Array:
        """Certainty for the rows that it knows; for others the shares of the classes."""
        certain = np.eye(len(self.classes_))
        rows = self._note(X).tolist()
        return np.array(
            [certain[self.known_[r]] if r in self.known_ else self.default_ for r in rows]
        )

    def predict(self, X: Any) -> Array:
        """The most probable class."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


def _row_numbers(X: Any) -> Array:
    return np.asarray(X)[:, 0].astype(np.int64)


def check_leakage(
    stack: Any, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, time: Any = None
) -> list[str]:
    """Return where an ensemble learns from rows that it should only predict; empty if nowhere.

    Parameters
    ----------
    stack : estimator
        A voting ensemble, a stack or a blend, fitted or not; also one of scikit-learn's. A clone of
        it is fitted, with a member that memorises its rows in the place of each one, on a table
        whose only column is the number of the row.
    X : table of shape (n_samples, n_features)
        What it is to be fitted on. Only the number of the rows matters.
    y : array-like of shape (n_samples,)
    sample_weight : array-like of shape (n_samples,), optional
    groups, time : array-like of shape (n_samples,), optional
        Which rows belong together, and which come first. They are checked, and passed to `fit`
        where it takes them.

    Returns
    -------
    list of str
        A sentence for each member that was asked about rows that it was fitted on, about rows of
        groups that it has seen, or about rows that are not later than all it has seen. Then the
        ensemble learns from predictions that are better than those for new rows will be.

    Examples
    --------
    >>> import hornbeam as hb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> members = [("tree", hb.DecisionTreeClassifier())]
    >>> hb.check_leakage(hb.StackingClassifier(members), X, y)
    []
    """
    given = read_rows(X, Spy(), fitted=False)
    y = np.asarray(y)
    check_length(y, given.n_rows)
    kin = Kin.read(groups, time, given.n_rows)
    with _lock:
        number = next(_numbers)
        notes = _notes[number] = Notes()
    try:
        _fit_with_spies(stack, number, given, y, sample_weight, {"groups": groups, "time": time})
    finally:
        del _notes[number]
    found = [_leak(name, split, kin) for name, split in notes.asked]
    return list(dict.fromkeys(sentence for sentence in found if sentence))


def _fit_with_spies(
    stack: Any, number: int, given: TableRows, y: Array, weight: Any, said: dict[str, Any]
) -> None:
    spy = SpyClassifier if is_classifier(stack) else SpyRegressor
    params = stack.get_params(deep=False)
    if "estimators" not in params:
        raise TypeError(
            f"check_leakage looks at ensembles with named members, and {type(stack).__name__} has "
            "no estimators. Pass a voting ensemble, a stack or a blend."
        )
    if params.get("prefit") or isinstance(params.get("cv"), str):
        raise ValueError(
            "Members that are taken as they are were fitted before, so nobody knows which rows "
            "they have seen. check_leakage needs an ensemble that fits its members."
        )
    changed = {
        "estimators": [
            (name, spy(name, number, given.n_rows) if is_there(member) else member)
            for name, member in params["estimators"]
        ],
        "n_jobs": 1,
        "passthrough": False,
        "stack_method": "auto",
    }
    spied = clone(stack).set_params(**{k: v for k, v in changed.items() if k in params})
    known = inspect.signature(spied.fit).parameters
    more = {k: v for k, v in said.items() if v is not None and k in known}
    if weight is not None:
        more["sample_weight"] = weight
    spied.fit(np.arange(float(given.n_rows))[:, None], y, **more)


def _leak(name: str, split: Split, kin: Kin) -> str | None:
    """What is wrong with the rows that a member was fitted on and asked about, if anything."""
    both = np.flatnonzero(split.learnt & split.held)
    if len(both):
        return (
            f"The member {name!r} was fitted on row {both[0]} ({len(both)} rows in all) and then "
            "asked about it."
        )
    forbidden = np.flatnonzero(split.learnt & ~kin.learnt(split.held))
    if not len(forbidden):
        return None
    row = forbidden[0]
    if not Kin(kin.groups).learnt(split.held)[row]:
        return (
            f"The member {name!r} was fitted on row {row} and then asked about rows of the same "
            "group."
        )
    return (
        f"The member {name!r} was fitted on row {row} and then asked about rows that are not later."
    )

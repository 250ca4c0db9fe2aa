"""What both estimators of AdaBoost share: how they are fitted, and how they are used."""

from __future__ import annotations

import copy
from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

import hornbeam.combine.adaboost.parameters  # noqa: F401  (declares what the estimators have)
from hornbeam.callbacks import CallbackSupportMixin, Told, with_callbacks
from hornbeam.combine.adaboost.members import Members, make_members
from hornbeam.combine.adaboost.parameters import USUAL_PATIENCE
from hornbeam.combine.adaboost.rounds import Round, check_weights
from hornbeam.combine.adaboost.savable import SavableAdaBoost
from hornbeam.combine.tables import TableRows, read_rows
from hornbeam.data.folds import Kin, Split, Splits
from hornbeam.data.target import check_length, read_weights
from hornbeam.dtypes import Array
from hornbeam.fitting import fitting, forget, learnt
from hornbeam.params import check_params
from hornbeam.progress import ProgressBar
from hornbeam.stopping import patience_of

_HELD_KEY = 5  # tells these draws from others with the same seed


class BaseAdaBoost(
    SavableAdaBoost,
    CallbackSupportMixin,  # type: ignore[misc]
    MetaEstimatorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
    metaclass=ABCMeta,
):
    """What both kinds of AdaBoost share."""

    estimator: Any
    n_estimators: int
    learning_rate: float
    random_state: Any
    early_stopping: bool | Literal["auto"]
    validation_fraction: float
    n_iter_no_change: int | None
    n_jobs: int | None
    verbose: int | None

    estimators_: list[Any]
    estimator_weights_: Array
    estimator_errors_: Array

    # --- fitting --------------------------------------------------------------------

    @with_callbacks
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, time: Any = None
    ) -> Self:
        """Fit the members, one after the other.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Anything that the estimator takes.
        y : array-like of shape (n_samples,)
            Target.
        sample_weight : array-like of shape (n_samples,), optional
            What rows weigh in the first round; rows of weight 0 never count.
        groups, time : array-like of shape (n_samples,), optional
            Which rows belong together, and which come first, for what is held out by
            `early_stopping` and `calibrate`, and by members whose ``fit`` takes them.

        Returns
        -------
        self
        """
        forget(self)
        check_params(self)
        told = Told(self, self.n_estimators, X, y, sample_weight)
        with fitting(self) as boosted:
            boosted._fit(X, y, sample_weight, groups, time, told)
            told.end(lambda: learnt(boosted))
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any, time: Any, told: Told) -> None:
        rows = read_rows(X, self, fitted=False)
        target = self._read_target(y)
        check_length(target, rows.n_rows)
        weight = read_weights(sample_weight, rows.n_rows)
        self._check_weights(y, weight)
        self.estimator_ = clone(self._maker)
        random = check_random_state(self.random_state)
        n_rounds, kin = self.n_estimators, Kin.read(groups, time, rows.n_rows)
        if self._holds_out:
            own = copy.deepcopy(random)  # so that what follows is as without it
            split = self._split(target, weight, kin, int(own.randint(2**31 - 1)))
            n_rounds = self._watch(rows, target, weight, split, own, kin)
        members = self._members(rows, target, random, n_rounds, kin)
        with ProgressBar("AdaBoost", n_rounds, self.verbose) as bar:
            found = []
            for one in self._rounds(members, target, weight / weight.sum(), random):
                found.append(one)
                bar.show(len(found), f"error {one.error:.4f}")
                if told.step(lambda: self._with(found)):
                    break
        self._keep(found)
        check_weights(self.estimator_weights_)

    def _with(self, rounds: list[Round]) -> dict[str, Any]:
        """The fitted attributes after some rounds."""
        self._keep(rounds)
        return learnt(self)

    def _keep(self, rounds: list[Round]) -> None:
        self.estimators_ = [one.member for one in rounds]
        self.estimator_weights_ = np.array([one.weight for one in rounds])
        self.estimator_errors_ = np.array([one.error for one in rounds])

    def _members(
        self,
        rows: TableRows,
        target: Array,
        random: np.random.RandomState,
        most: int,
        kin: Kin,
        held: TableRows | None = None,
    ) -> Members:
        classes = getattr(self, "classes_", None)
        arguments = self._maker, rows, target, classes, random, most, kin
        return make_members(*arguments, n_jobs=self.n_jobs, held=held)

    @property
    def _maker(self) -> Any:
        """The estimator that members are clones of."""
        return self._default() if self.estimator is None else self.estimator

    @abstractmethod
    def _default(self) -> Any:
        """The estimator that is taken where none is given."""

    @abstractmethod
    def _read_target(self, y: Any) -> Array:
        """The target as members get it; notes the classes."""

    def _check_weights(self, y: Any, weight: Array) -> None:
        """Say so if something cannot be learnt with these weights."""

    @abstractmethod
    def _rounds(
        self, members: Members, target: Array, weight: Array, random: np.random.RandomState
    ) -> Iterator[Round]:
        """The rounds of the chosen algorithm."""

    # --- rows held out --------------------------------------------------------------

    @property
    def _holds_out(self) -> bool:
        """Whether something is to be found out on rows that members have not seen."""
        return patience_of(self, USUAL_PATIENCE) is not None

    def _split(self, target: Array, weight: Array, kin: Kin, seed: int) -> Split:
        """Rows to learn from and rows to watch, all of which have a weight."""
        counted = weight > 0.0
        numbers = self._class_numbers(target)
        classes = None if numbers is None else numbers[counted]
        splits = Splits(int(counted.sum()), (seed, _HELD_KEY), classes, kin.chosen(counted))
        drawn = splits.hold_out_evenly(self.validation_fraction)
        if not drawn.learnt.any() or not drawn.held.any():
            switch = "early_stopping" if self.early_stopping else "calibrate"
            raise ValueError(
                f"{switch}=True with validation_fraction={self.validation_fraction} holds out "
                f"{int(drawn.held.sum())} of n_samples={int(counted.sum())} rows and learns from "
                f"{int(drawn.learnt.sum())}. Choose another fraction, or {switch}=False."
            )
        masks = [np.zeros(len(weight), bool) for _ in drawn]
        for mask, part in zip(masks, drawn, strict=True):
            mask[counted] = part
        return Split(*masks)

    def _class_numbers(self, target: Array) -> Array | None:
        """Number of each row's class, if there are classes."""
        return None

    def _watch(
        self,
        rows: TableRows,
        target: Array,
        weight: Array,
        split: Split,
        random: np.random.RandomState,
        kin: Kin,
    ) -> int:
        """Boost some rows and watch the others; returns after how many rounds to stop."""
        learnt, held = (
            TableRows(rows.table[np.flatnonzero(part)], rows.is_frame) for part in split
        )
        most, kin = self.n_estimators, kin.chosen(split.learnt)
        members = self._members(learnt, target[split.learnt], random, most, kin, held)
        weights = weight[split.learnt]
        watch = self._watcher(members, target[split.held], weight[split.held])
        patience, best, best_number = patience_of(self, USUAL_PATIENCE), np.inf, 1
        rounds = self._rounds(members, target[split.learnt], weights / weights.sum(), random)
        with ProgressBar("watching", self.n_estimators, self.verbose) as bar:
            for number, one in enumerate(rounds, 1):
                loss = watch.add(one)
                bar.show(number, f"held-out loss {loss:.5g}")
                if loss < best or not patience:
                    best, best_number = loss, number
                    watch.remember()
                if patience and number - best_number >= patience:
                    break
        self._settle(watch)
        return best_number

    @abstractmethod
    def _watcher(self, members: Members, target: Array, weight: Array) -> Any:
        """What tells how good the ensemble is on held-out rows after each round."""

    def _settle(self, watch: Any) -> None:
        """Note what else was found out on the held-out rows."""

    # --- what it holds --------------------------------------------------------------

    @property
    def feature_importances_(self) -> Array:
        """Importances of the members, weighted by what these weigh in the ensemble."""
        check_is_fitted(self, "estimators_")
        if not all(hasattr(member, "feature_importances_") for member in self.estimators_):
            raise AttributeError(
                f"{type(self.estimators_[0]).__name__} has no feature_importances_, so the "
                "ensemble has none. Use sklearn.inspection.permutation_importance."
            )
        weights = self.estimator_weights_
        total = sum(
            weight * member.feature_importances_
            for weight, member in zip(weights, self.estimators_, strict=True)
        )
        return np.asarray(total / weights.sum())

    def __len__(self) -> int:
        return len(self.estimators_)

    def __getitem__(self, index: int) -> Any:
        return self.estimators_[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.estimators_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._maker).input_tags
        tags.input_tags.sparse = inner.sparse
        tags.input_tags.allow_nan = inner.allow_nan
        tags.input_tags.categorical = inner.categorical
        return tags

"""Bagging over any scikit-learn estimator: `BaggingClassifier` and `BaggingRegressor`.

``fit`` draws a sample of the rows and the columns for each member, fits a clone of the
estimator on it and, if asked to, predicts every row by the members that have not seen it.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    RegressorMixin,
    clone,
)
from sklearn.metrics import accuracy_score
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from hornbeam.callbacks import CallbackSupportMixin, Told, with_callbacks
from hornbeam.chance import are_many
from hornbeam.combine.bagging.parameters import KINDS
from hornbeam.combine.bagging.samples import fit_member
from hornbeam.combine.bagging.savable import SavableBagging
from hornbeam.combine.jobs import run_jobs
from hornbeam.combine.members import (
    member_classes,
    member_decision,
    member_shares,
    member_values,
)
from hornbeam.combine.routing import Routed, WithMetadata, routed_to_members
from hornbeam.combine.tables import TableRows, read_rows
from hornbeam.data.folds import Kin
from hornbeam.data.sampling import Sampler, SampleSize
from hornbeam.data.schema import Schema
from hornbeam.data.target import (
    check_length,
    read_classes,
    read_values,
    read_weights,
    warn_column_vector,
    warn_weightless,
)
from hornbeam.dtypes import MAX_ROWS, Array
from hornbeam.fitting import fitting, forget, learnt
from hornbeam.model.registry import is_registered, register_estimator
from hornbeam.notices import warn
from hornbeam.params import check_params, declared
from hornbeam.probabilities import Probabilities
from hornbeam.progress import ProgressBar
from hornbeam.tree.estimators import DecisionTreeClassifier, DecisionTreeRegressor
from hornbeam.tree.scaling import Totals, scaled_r2


class BaseBagging(
    SavableBagging,
    CallbackSupportMixin,  # type: ignore[misc]
    MetaEstimatorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
    metaclass=ABCMeta,
):
    """What both kinds of bagging share."""

    estimator: Any
    n_estimators: int
    kind: str
    max_samples: int | float | None
    max_features: int | float | None
    bootstrap: bool | None
    bootstrap_features: bool | None
    oob_score: bool | Callable[..., float]
    warm_start: bool
    n_jobs: int | None
    random_state: Any
    verbose: int | None

    # --- fitting --------------------------------------------------------------------

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        time: Any = None,
        **params: Any,
    ) -> Self:
        """Fit the members, each on a sample of its own.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Anything that the estimator takes and rows and columns can be drawn from: an
            array, a list, a sparse matrix or a data frame, which members get as a data frame.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Target; classifiers take one output.
        sample_weight : array-like of shape (n_samples,), optional
            Rows are drawn with probabilities by their weights, those of weight 0 never.
        groups, time : array-like of shape (n_samples,), optional
            Which rows belong together, and which come first: out-of-bag predictions of a row come
            from members that have seen no row of its group, and members that are hornbeam's are
            told. With `time` there are none, since members have seen what came later.
        **params
            Metadata for the members, if scikit-learn's routing is enabled.

        Returns
        -------
        self
        """
        check_params(self)
        routed = routed_to_members(self, "fit", params).get("fit", {})
        goes_on = self._goes_on()
        if not goes_on:
            forget(self)
        told = Told(self, self.n_estimators, X, y, sample_weight)
        with fitting(self) as bagging:
            if goes_on:
                bagging._remember(self)
            before = self if goes_on else None
            bagging._fit(X, y, sample_weight, groups, time, before, routed, told)
            told.end(lambda: learnt(bagging))
        return self

    def _remember(self, earlier: Any) -> None:
        """Take what a table must have in common with that of an earlier fit."""
        for name in ("n_features_in_", "feature_names_in_", "seed_"):
            if name in vars(earlier):
                setattr(self, name, getattr(earlier, name))

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        groups: Any,
        time: Any,
        earlier: Any,
        routed: Mapping[str, Any],
        told: Told,
    ) -> None:
        """Fit the members that an earlier fit has not, and score them all."""
        rows = read_rows(X, self, fitted=earlier is not None)
        target, learnt = self._read_target(y)
        check_length(target, rows.n_rows)
        weight = None if sample_weight is None else read_weights(sample_weight, rows.n_rows)
        kin = self._read_kin(groups, time, rows.n_rows)
        self._check_weights(y, weight)
        learnt |= {"n_rows_in_": rows.n_rows, "size_": self._size(rows, weight)}
        if earlier is None:
            self.seed_ = int(check_random_state(self.random_state).randint(2**31 - 1))
        else:
            _check_same(earlier, learnt)
        for name, value in learnt.items():
            setattr(self, name, value)
        self._weight, self.estimator_ = weight, clone(self._maker)
        sampler, weighs = self._sampler(), self._weighs_rows(X)
        members = [] if earlier is None else list(earlier.estimators_)
        first = len(members)
        members += self._fit_members(rows, target, sampler, first, weighs, kin, routed, told)
        self.estimators_ = members
        self.estimators_features_ = list(sampler.features(0, len(members)).astype(np.int64))
        if self.oob_score:
            self._set_oob(rows, target, kin)

    def _read_kin(self, groups: Any, time: Any, n_rows: int) -> Kin:
        if self.oob_score and time is not None:
            raise ValueError(
                f"oob_score={self.oob_score!r} asks members about rows out of their bags, and with "
                "time these members may have seen what came later. Leave time away, or "
                "oob_score=False."
            )
        return Kin.read(groups, time, n_rows)

    @property
    def _maker(self) -> Any:
        """The estimator that members are clones of."""
        return self._default() if self.estimator is None else self.estimator

    def _default(self) -> Any:
        raise NotImplementedError

    @abstractmethod
    def _read_target(self, y: Any) -> tuple[Array, dict[str, Any]]:
        """The target as members get it, and what was learnt about it."""

    def _check_weights(self, y: Any, weight: Array | None) -> None:
        """Say so if something cannot be learnt with these weights."""

    def _chosen(self, name: str) -> Any:
        """A parameter of sampling, or what the named kind of bagging has for it."""
        given = getattr(self, name)
        return KINDS[self.kind][name] if given is None else given

    def _size(self, rows: TableRows, weight: Array | None) -> SampleSize:
        """The parameters of sampling as numbers."""
        bootstrap, twice = bool(self._chosen("bootstrap")), bool(self._chosen("bootstrap_features"))
        n_rows = _count("max_samples", self._chosen("max_samples"), rows.n_rows, bootstrap)
        n_features = _count("max_features", self._chosen("max_features"), rows.n_columns, twice)
        if weight is not None and not bootstrap:
            n_rows = min(n_rows, int(np.count_nonzero(weight)))
        if self.oob_score and not bootstrap and n_rows == rows.n_rows:
            raise ValueError(
                f"oob_score={self.oob_score!r} needs rows that a member has not seen, but every "
                f"member sees all {n_rows} rows. Choose kind='bagging', or a smaller max_samples."
            )
        if twice and rows.is_frame:
            raise ValueError(
                "bootstrap_features=True draws a column more than once, which a data frame "
                "cannot hold. Pass X as an array, or choose bootstrap_features=False."
            )
        return SampleSize(n_rows, n_features, bootstrap, twice)

    def _goes_on(self) -> bool:
        """Whether there are members to go on with."""
        if not self.warm_start or "estimators_" not in self.__dict__:
            return False
        if self.n_estimators < len(self.estimators_):
            raise ValueError(
                f"n_estimators={self.n_estimators} must be at least the {len(self.estimators_)} "
                "members that the warm-started ensemble has."
            )
        if self.n_estimators == len(self.estimators_):
            warn(
                "Warm-start fitting without increasing n_estimators does not fit new trees.",
            )
        return True

    def _sampler(self) -> Sampler:
        return Sampler(self.seed_, (self.n_rows_in_, self.n_features_in_), self.size_, self._weight)

    def _weighs_rows(self, X: Any) -> bool:
        """Whether a row that is drawn repeatedly is one row that weighs more.

        Where hornbeam's trees part many categories, copies of a row would look like other
        rows that agree with it. What the columns are is found out on the way, and warned of.
        """
        member = self.estimator_
        has_columns = hasattr(member, "categorical_features") and hasattr(member, "unseen")
        if not is_registered(member) or not has_columns:
            return False
        chosen, keeps = member.categorical_features, getattr(member, "_keeps_identities", False)
        schema, matrix = Schema.learn(X, type(self).__name__, chosen, member.unseen, keeps)
        many = any(column.kind == "identity" for column in schema.columns)
        many = many or are_many(int(schema.n_categories.max(initial=0)), matrix.shape[0])
        return self.size_.bootstrap and many

    def _fit_members(
        self,
        rows: TableRows,
        target: Array,
        sampler: Sampler,
        first: int,
        weighs: bool,
        kin: Kin,
        routed: Mapping[str, Any],
        told: Told,
    ) -> list[Any]:
        """Fit the members from number ``first`` up."""
        members: list[Any] = []
        n_members = self.n_estimators - first

        def arguments(number: int) -> tuple[Any, ...]:
            return self.estimator_, rows, target, sampler, first + number, weighs, kin, routed

        with ProgressBar("bagging", n_members, self.verbose) as bar:

            def keep(member: Any) -> None:
                members.append(member)
                bar.show(len(members))
                told.step()

            run_jobs(fit_member, arguments, n_members, keep, self.n_jobs)
        return members

    # --- out of bag -------------------------------------------------------------------

    def _unseen_rows(self, kin: Kin) -> Iterator[Array]:
        """For each member the rows of which it has not seen any of the group."""
        sampler = self._sampler()
        for number in range(len(self.estimators_)):
            seen = np.zeros(self.n_rows_in_, bool)
            seen[sampler.rows(number, 1)[0]] = True
            yield np.flatnonzero(kin.learnt(seen))  # what may be learnt from while these are held

    def _oob_mean(
        self, rows: TableRows, predict: Callable[..., Array], n_values: int, kin: Kin
    ) -> Array:
        """Mean prediction of each row by members that have not seen it; NaN where all have."""
        total, count = Totals((rows.n_rows, n_values)), np.zeros(rows.n_rows)
        unseen = list(self._unseen_rows(kin))
        some = [number for number in range(len(unseen)) if len(unseen[number])]

        def arguments(place: int) -> tuple[Any, ...]:
            number = some[place]
            part = rows.part(unseen[number], self.estimators_features_[number])
            return self.estimators_[number], part, *self._predict_with()

        turns = iter(some)

        def add(values: Array) -> None:
            told = unseen[next(turns)]
            total.add(values.reshape(len(values), -1), told)
            count[told] += 1

        run_jobs(predict, arguments, len(some), add, self.n_jobs)
        if not count.all():
            warn(
                "Some inputs do not have OOB scores. This probably means too few estimators were "
                f"used to compute any reliable oob estimates. {np.count_nonzero(count == 0)} of "
                f"{rows.n_rows} rows were seen by every member, so they have no out-of-bag "
                "prediction (NaN). Choose a larger n_estimators.",
            )
        return total.mean(count[:, None])

    def _predict_with(self) -> tuple[Any, ...]:
        """What a member's prediction needs besides its rows."""
        return ()

    @abstractmethod
    def _set_oob(self, rows: TableRows, target: Array, kin: Kin) -> None:
        """Predict the training rows by members that have not seen them, and score that."""

    def _score_oob(self, metric: Callable[..., float], target: Array, predicted: Array) -> float:
        there = ~np.isnan(predicted.reshape(len(predicted), -1)).any(axis=1)
        if not there.any():
            return float("nan")
        chosen = self.oob_score if callable(self.oob_score) else metric
        return float(chosen(target[there], self._answer(predicted[there])))

    def _answer(self, predicted: Array) -> Array:
        """What `predict` returns for these means."""
        return predicted

    # --- prediction -------------------------------------------------------------------

    def _mean(
        self, X: Any, predict: Callable[..., Array], *arguments: Any, routed: Routed | None = None
    ) -> Array:
        """Mean of what the members predict, added up in their order."""
        check_is_fitted(self, "estimators_")
        rows = read_rows(X, self, fitted=True)
        members = list(zip(self.estimators_, self.estimators_features_, strict=True))
        total: Totals | None = None

        def arguments_of(number: int) -> tuple[Any, ...]:
            member, features = members[number]
            member = WithMetadata(member, routed) if routed else member
            return member, rows.part(None, features), *arguments

        def add(values: Array) -> None:
            nonlocal total
            total = total or Totals(values.shape)
            total.add(values)

        run_jobs(predict, arguments_of, len(members), add, self.n_jobs)
        assert total is not None  # an ensemble has members
        return total.mean(len(members))

    @property
    def estimators_samples_(self) -> list[Array]:
        """Which rows each member was fitted on; drawn again, as in the fit."""
        check_is_fitted(self, "estimators_")
        return list(self._sampler().rows(0, len(self.estimators_)).astype(np.int64))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how metadata gets to the members.

        Returns
        -------
        MetadataRouter
        """
        maker = self._maker
        shares = "predict_proba" if hasattr(maker, "predict_proba") else "predict"
        ways = MethodMapping().add(caller="fit", callee="fit")
        ways.add(caller="decision_function", callee="decision_function")
        for caller in ("predict", "predict_proba", "predict_log_proba"):
            ways.add(caller=caller, callee=shares)
        return MetadataRouter(owner=self).add(estimator=maker, method_mapping=ways)

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


def _check_same(earlier: Any, learnt: dict[str, Any]) -> None:
    """A warm start must see the table that the earlier members were drawn from."""
    for name, value in learnt.items():
        if not np.array_equal(value, getattr(earlier, name)):
            raise ValueError(
                f"warm_start=True goes on with an ensemble whose {name} is "
                f"{getattr(earlier, name)}, but now it would be {value}. Fit anew with "
                "warm_start=False."
            )


def _count(name: str, value: int | float, limit: int, replace: bool) -> int:
    """A number of rows or columns, given as such or as a share."""
    if not isinstance(value, Integral):
        return max(1, int(float(value) * limit))
    if value > limit and not replace:
        raise ValueError(
            f"{name}={value} is more than the {limit} there are, and they are drawn without "
            f"replacement. Choose at most {limit}."
        )
    if value > MAX_ROWS:
        raise ValueError(f"{name}={value} is more than can be drawn: choose at most {MAX_ROWS}.")
    return int(value)


def _has(method: str) -> Callable[[Any], bool]:
    """Whether a classifier can average what its members return, for `available_if`."""

    def check(self: Any) -> bool:
        if self.voting == "hard":  # votes and mean decisions may disagree
            return False
        members = self.__dict__.get("estimators_")
        return hasattr(members[0] if members else self._maker, method)

    return check


@register_estimator
@declared
class BaggingClassifier(Probabilities, BaseBagging):
    """Any classifier, fitted many times on samples of the rows and the columns.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted members.
    estimators_samples_ : list of arrays
        Rows that each member was fitted on.
    estimators_features_ : list of arrays
        Columns that each member was fitted on.
    classes_ : array
    n_classes_ : int
    oob_score_ : float
        Accuracy of the out-of-bag predictions, if `oob_score` is set.
    oob_decision_function_ : array of shape (n_samples, n_classes)
        Mean prediction by members that have not seen the row; NaN where all have.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had names.

    Examples
    --------
    >>> import hornbeam as hb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = hb.BaggingClassifier(None, 30, kind="patches", oob_score=True, random_state=0)
    >>> model.fit(X, y).oob_score_ > 0.9
    True
    """

    _declared_as = {  # noqa: RUF012
        "estimator": "bagging_estimator",
        "n_estimators": "bagging_members",
        "kind": "bagging_kind",
        "max_samples": "bagging_samples",
        "max_features": "bagging_features",
        "bootstrap": "bagging_bootstrap",
        "bootstrap_features": "bagging_bootstrap_features",
        "oob_score": "bagging_oob",
        "voting": "bagging_voting",
        "warm_start": "bagging_warm_start",
        "n_jobs": "bagging_jobs",
        "random_state": "bagging_random_state",
        "verbose": "bagging_verbose",
    }
    voting: str
    classes_: Array
    n_classes_: int

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        kind: str = "bagging",
        max_samples: int | float | None = None,
        max_features: int | float | None = None,
        bootstrap: bool | None = None,
        bootstrap_features: bool | None = None,
        voting: str = "soft",
        oob_score: bool | Callable[..., float] = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.kind = kind
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.bootstrap_features = bootstrap_features
        self.voting = voting
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _default(self) -> Any:
        return DecisionTreeClassifier()

    def _read_target(self, y: Any) -> tuple[Array, dict[str, Any]]:
        maker = self._maker
        if is_registered(maker) and not isinstance(maker, ClassifierMixin):
            raise ValueError(
                f"{type(self).__name__} needs a classifier, but estimator is a "
                f"{type(maker).__name__}. Choose a classifier, or BaggingRegressor."
            )
        classes = read_classes(y, type(self).__name__)
        if len(classes.names) > 1:
            raise ValueError(
                f"y has {len(classes.names)} outputs, but {type(self).__name__} takes one. Fit one "
                "ensemble per output (sklearn.multioutput.MultiOutputClassifier)."
            )
        warn_column_vector(y)
        names = classes.names[0]
        return names[classes.labels[:, 0]], {"classes_": names, "n_classes_": len(names)}

    def _check_weights(self, y: Any, weight: Array | None) -> None:
        if weight is not None:
            warn_weightless(weight, read_classes(y, type(self).__name__))

    def _predict_with(self) -> tuple[Any, ...]:
        return (self.classes_, self.voting)

    def _set_oob(self, rows: TableRows, target: Array, kin: Kin) -> None:
        shares = self._oob_mean(rows, member_shares, self.n_classes_, kin)
        self.oob_decision_function_ = shares
        self.oob_score_ = self._score_oob(accuracy_score, target, shares)

    def _answer(self, predicted: Array) -> Array:
        return self.classes_[predicted.argmax(axis=1)]

    def predict_proba(self, X: Any, **params: Any) -> Array:
        """Predict the probability of each class: the mean over the members.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        **params
            Metadata for the members, if scikit-learn's routing is enabled.

        Returns
        -------
        array of shape (n_samples, n_classes)
            With ``voting='hard'``, or members without probabilities: shares of the votes.
        """
        check_is_fitted(self, "estimators_")
        return self._shares(X, routed_to_members(self, "predict_proba", params))

    def _shares(self, X: Any, routed: Routed) -> Array:
        return self._mean(X, member_shares, *self._predict_with(), routed=routed)

    def predict_log_proba(self, X: Any, **params: Any) -> Array:
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        **params
            Metadata for the members, if scikit-learn's routing is enabled.

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        check_is_fitted(self, "estimators_")
        shares = self._shares(X, routed_to_members(self, "predict_log_proba", params))
        with np.errstate(divide="ignore"):
            return np.log(shares)

    def predict(self, X: Any, **params: Any) -> Array:
        """Predict the class of each row: the one with the largest mean share.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        **params
            Metadata for the members, if scikit-learn's routing is enabled.

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self, "estimators_")
        return self._answer(self._shares(X, routed_to_members(self, "predict", params)))

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any, **params: Any) -> Array:
        """Return the mean of the members' decision functions.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        **params
            Metadata for the members, if scikit-learn's routing is enabled.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            Not there with ``voting='hard'``.
        """
        check_is_fitted(self, "estimators_")
        for member in self.estimators_:
            seen = member_classes(member, self.classes_)
            if len(seen) < self.n_classes_:
                raise ValueError(
                    f"A member has seen {len(seen)} of {self.n_classes_} classes, so the decision "
                    "functions cannot be averaged. Use predict_proba, or larger samples."
                )
        routed = routed_to_members(self, "decision_function", params)
        return self._mean(X, member_decision, routed=routed)


@register_estimator
@declared
class BaggingRegressor(RegressorMixin, BaseBagging):  # type: ignore[misc]
    """Any regressor, fitted many times on samples of the rows and the columns.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted members.
    estimators_samples_ : list of arrays
        Rows that each member was fitted on.
    estimators_features_ : list of arrays
        Columns that each member was fitted on.
    oob_score_ : float
        R2 of the out-of-bag predictions, if `oob_score` is set.
    oob_prediction_ : array of shape (n_samples,) or (n_samples, n_outputs)
        Mean prediction by members that have not seen the row; NaN where all have.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had names.

    Examples
    --------
    >>> import hornbeam as hb
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 2.0, 4.0, 6.0]
    >>> model = hb.BaggingRegressor(LinearRegression(), kind="pasting", random_state=0).fit(X, y)
    >>> model.predict([[5.0]]).round(6).tolist()
    [10.0]
    """

    _declared_as = {  # noqa: RUF012
        name: declared_as
        for name, declared_as in BaggingClassifier._declared_as.items()
        if name != "voting"
    }

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        kind: str = "bagging",
        max_samples: int | float | None = None,
        max_features: int | float | None = None,
        bootstrap: bool | None = None,
        bootstrap_features: bool | None = None,
        oob_score: bool | Callable[..., float] = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.kind = kind
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.bootstrap_features = bootstrap_features
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _default(self) -> Any:
        return DecisionTreeRegressor()

    def _read_target(self, y: Any) -> tuple[Array, dict[str, Any]]:
        values = read_values(y, type(self).__name__)
        n_outputs = values.shape[1]
        return (values[:, 0] if n_outputs == 1 else values), {"n_outputs_": n_outputs}

    def _set_oob(self, rows: TableRows, target: Array, kin: Kin) -> None:
        mean = self._oob_mean(rows, member_values, self.n_outputs_, kin)
        self.oob_prediction_ = mean[:, 0] if self.n_outputs_ == 1 else mean
        self.oob_score_ = self._score_oob(scaled_r2, target, self.oob_prediction_)

    def predict(self, X: Any, **params: Any) -> Array:
        """Predict the target of each row: the mean over the members.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        **params
            Metadata for the members, if scikit-learn's routing is enabled.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_outputs)
        """
        check_is_fitted(self, "estimators_")
        return self._mean(X, member_values, routed=routed_to_members(self, "predict", params))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = get_tags(self._maker).target_tags.multi_output
        return tags

"""What voting, stacking and blending share: members with names, fitted on one table."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import (
    MetaEstimatorMixin,
    TransformerMixin,
    is_classifier,
    is_regressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.utils import Bunch, check_random_state, get_tags
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    get_routing_for_object,
    process_routing,
)
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import check_is_fitted

import hornbeam.combine.parameters  # noqa: F401  (declares what the estimators have)
from hornbeam.combine.crossfit import FitInput, FoldMean, HeldOut, mean_blocks
from hornbeam.combine.greedy import greedy_weights
from hornbeam.combine.named_savable import SavableNamed
from hornbeam.combine.tables import read_rows
from hornbeam.data.folds import Kin, Splits
from hornbeam.data.target import (
    check_length,
    read_classes,
    read_values,
    read_weights,
    warn_column_vector,
    warn_weightless,
)
from hornbeam.dtypes import Array
from hornbeam.fitting import fitting, forget
from hornbeam.model.registry import is_registered
from hornbeam.params import check_params
from hornbeam.progress import ProgressBar

DROP = "drop"


class NamedEnsemble(SavableNamed, TransformerMixin, MetaEstimatorMixin, _BaseComposition):  # type: ignore[misc]
    """Members with names, fitted on one table, whose predictions are combined."""

    estimators: Any
    n_jobs: int | None
    verbose: Any
    random_state: Any

    models_: list[list[Any]]  # of each member: one, or one for each fold
    n_features_in_: int

    # --- parameters -------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the parameters of this estimator, and with ``deep`` those of its members.

        Parameters
        ----------
        deep : bool

        Returns
        -------
        dict
            A member is there by its name, and its parameters as ``name__parameter``.
        """
        return dict(super()._get_params("estimators", deep=deep))

    def set_params(self, **params: Any) -> Any:
        """Set parameters of this estimator or of its members, or a member itself.

        Parameters
        ----------
        **params : dict
            ``name="drop"`` leaves a member out.

        Returns
        -------
        self
        """
        super()._set_params("estimators", **params)
        return self

    @property
    def named_estimators(self) -> Bunch:
        """The unfitted members by their names."""
        return Bunch(**dict(self.estimators))

    def _members(self) -> list[tuple[str, Any]]:
        """The members that are not dropped, checked."""
        pairs = self.estimators
        named = bool(pairs) and all(
            isinstance(pair, (tuple, list)) and len(pair) == 2 and isinstance(pair[0], str)
            for pair in pairs
        )
        if not named:
            raise ValueError(
                "Invalid 'estimators' attribute, 'estimators' should be a non-empty list of "
                "(string, estimator) tuples."
            )
        self._validate_names([name for name, _ in pairs])
        found = [(name, member) for name, member in pairs if is_there(member)]
        if not found:
            raise ValueError(
                "All estimators are dropped. At least one is required to be an estimator."
            )
        right, kind = kind_of(self)
        for name, member in found:
            if isinstance(member, type) or not right(member):
                raise ValueError(
                    f"The estimator {_name_of(member)} should be a {kind}: the member {name!r} "
                    f"of a {type(self).__name__} predicts something else. All members must be "
                    f"{kind}s."
                )
        return found

    # --- fitting ----------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        time: Any = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the members, and what combines them.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Anything that the members take: an array, a list, a sparse matrix or a data frame,
            which members get as a data frame.
        y : array-like of shape (n_samples,)
            Target.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, for members that can be told; rows of weight 0 are left out.
        groups, time : array-like of shape (n_samples,), optional
            Which rows belong together, and which come first: rows of a group are never on both
            sides of a split, and no row is predicted by a model that has seen rows as late.
            Members that are hornbeam's are told as well.
        **fit_params : dict
            What members request by scikit-learn's metadata routing, if that is enabled.

        Returns
        -------
        self
        """
        forget(self)
        check_params(self)
        with fitting(self) as ensemble:
            given = ensemble._read(X, y, sample_weight, groups, time, fit_params)
            ensemble._fit(given)
        return self

    def _read(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, time: Any, params: dict[str, Any]
    ) -> FitInput:
        named = self._members()
        rows = read_rows(X, self, fitted=False)
        target = self._read_target(y)
        check_length(target, rows.n_rows)
        kin = Kin.read(groups, time, rows.n_rows)
        weight = None if sample_weight is None else read_weights(sample_weight, rows.n_rows)
        classes = getattr(self, "classes_", None)
        if weight is not None and classes is not None:
            warn_weightless(weight, read_classes(y, type(self).__name__))
        metadata = self._routed(named, sample_weight, groups, time, params)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        given = FitInput(rows, target, classes, weight, kin, seed, metadata)
        return given if weight is None else given.counted()

    def _routed(
        self, named: list[tuple[str, Any]], weight: Any, groups: Any, time: Any, params: Any
    ) -> dict[str, dict[str, Any]]:
        """What members request of the metadata, if scikit-learn routes it; else nothing."""
        from sklearn import get_config

        if not get_config()["enable_metadata_routing"]:
            if params:
                raise TypeError(
                    f"fit got {sorted(params)}, which members get by metadata routing only: "
                    "sklearn.set_config(enable_metadata_routing=True) enables it."
                )
            return {}
        said = {**params, **({} if weight is None else {"sample_weight": weight})}
        routed = process_routing(self, "fit", **said)
        found = {name: dict(routed[name]["fit"]) for name, _ in named}
        for name, member in named:
            for key, value in (("groups", groups), ("time", time)):
                asked = get_routing_for_object(member).consumes("fit", [key])
                if value is not None and asked and not is_registered(member):
                    found[name][key] = value
        return found

    def get_metadata_routing(self) -> MetadataRouter:
        """Return what members request of the metadata that `fit` is given."""
        router = MetadataRouter(owner=self).add_self_request(self)
        for name, member in self.estimators:
            mapping = MethodMapping().add(caller="fit", callee="fit")
            router.add(**{name: member}, method_mapping=mapping)
        return router

    @abstractmethod
    def _read_target(self, y: Any) -> Array:
        """The target as members get it; notes the classes."""

    @abstractmethod
    def _fit(self, given: FitInput) -> None:
        """Fit the members and what combines them."""

    def _splits(self, given: FitInput, key: int) -> Splits:
        """Who parts the rows; the key tells these draws from others with the same seed."""
        n_rows = len(given.target)
        if n_rows < 2:
            raise ValueError(
                f"n_samples={n_rows}: members must predict rows that they have not seen, so there "
                "must be at least 2."
            )
        return Splits(n_rows, (given.seed, key), given.labels, given.kin)

    def _select(self, given: FitInput, held: HeldOut, votes: bool) -> Array:
        """Weights of the members by greedy selection."""
        labels, rows = given.labels, held.rows
        weight = np.ones(len(rows)) if given.weight is None else given.weight[rows]
        known = None if labels is None else labels[rows]
        return greedy_weights(held.blocks, given.target[rows], weight, known, votes)

    def _bar(self, label: str, total: int) -> ProgressBar:
        return ProgressBar(label, total, None if self.verbose is None else int(self.verbose))

    # --- members ----------------------------------------------------------------------

    @property
    def estimators_(self) -> list[Any]:
        """The fitted members; one that has a model for each fold is their mean."""
        classes = getattr(self, "classes_", None)
        return [own[0] if len(own) == 1 else FoldMean(own, classes) for own in self.models_]

    @property
    def named_estimators_(self) -> Bunch:
        """The fitted members by their names; ``"drop"`` for those that are left out."""
        fitted = iter(self.estimators_)
        return Bunch(
            **{name: next(fitted) if is_there(one) else DROP for name, one in self.estimators}
        )

    # --- prediction -------------------------------------------------------------------

    @property
    def _methods(self) -> list[str]:
        """What each member is asked."""
        raise NotImplementedError

    def _blocks(self, X: Any, weights: Array | None = None) -> list[Any]:
        """What each member says of rows; those of weight 0 are not asked."""
        check_is_fitted(self)
        rows = read_rows(X, self, fitted=True)
        classes = getattr(self, "classes_", None)
        arguments = self.models_, self._methods, classes, rows, self.n_jobs
        if weights is None:
            return mean_blocks(*arguments)
        return mean_blocks(*arguments, lambda number: weights[number] > 0.0)

    def _mean(self, X: Any, weights: Array) -> Array:
        """The weighted mean of what members say."""
        blocks = self._blocks(X, weights)
        total = weights.sum()
        said = [(w / total) * b for w, b in zip(weights, blocks, strict=True) if b is not None]
        return np.asarray(sum(said[1:], said[0]))

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, and return what the members then say of the same rows.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        **fit_params : dict
            As in `fit`.

        Returns
        -------
        array
            As of `transform`.
        """
        return self.fit(X, y, **fit_params).transform(X)

    # --- what it holds ----------------------------------------------------------------

    @abstractmethod
    def _shares_of_members(self) -> Array:
        """How much each member counts."""

    @property
    def feature_importances_(self) -> Array:
        """Importances of the members, weighted by how much these count; their sum is 1."""
        check_is_fitted(self)
        shares = self._shares_of_members()
        total = np.zeros(self.n_features_in_)
        names = [name for name, member in self.estimators if is_there(member)]
        for name, own, share in zip(names, self.models_, shares, strict=True):
            if share <= 0.0:
                continue
            for model in own:
                found = getattr(model, "feature_importances_", None)
                if found is None:
                    raise AttributeError(
                        f"The member {name!r} ({_name_of(model)}) has no feature_importances_, "
                        "so the ensemble has none. Use "
                        "sklearn.inspection.permutation_importance."
                    )
                whole = max(float(np.sum(found)), float(np.finfo(np.float64).tiny))
                total += share / len(own) * np.asarray(found) / whole
        return total / shares.sum()

    def __len__(self) -> int:
        return len(self.models_)

    def __getitem__(self, index: int) -> Any:
        return self.estimators_[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.estimators_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            there = [member for _, member in self.estimators if is_there(member)]
            inner = [get_tags(member).input_tags for member in there]
        except Exception:  # members that `fit` will complain of
            return tags
        tags.transformer_tags.preserves_dtype = []
        for name in ("sparse", "allow_nan", "categorical"):
            setattr(tags.input_tags, name, all(getattr(one, name) for one in inner))
        return tags

    def _sk_visual_block_(self) -> Any:
        try:
            from sklearn.utils._repr_html.estimator import _VisualBlock
        except ImportError:  # scikit-learn before 1.8
            from sklearn.utils._estimator_html_repr import _VisualBlock

        names, members = zip(*self.estimators, strict=True)
        return _VisualBlock("parallel", members, names=names)


class NamedClassifier(NamedEnsemble):
    """What ensembles of classifiers share."""

    classes_: Array
    n_classes_: int

    def _read_target(self, y: Any) -> Array:
        name = type(self).__name__
        classes = read_classes(y, name)
        if len(classes.names) > 1:
            raise NotImplementedError(
                f"y has {len(classes.names)} outputs, but {name} takes one: Multilabel and "
                "multi-output classification are not supported. Fit one ensemble per output "
                "(sklearn.multioutput.MultiOutputClassifier)."
            )
        warn_column_vector(y)
        self.classes_ = classes.names[0]
        self.n_classes_ = len(self.classes_)
        return self.classes_[classes.labels[:, 0]]

    def _named(self, shares: Array) -> Array:
        """The classes with the largest shares; of equal ones the first."""
        return self.classes_[shares.argmax(axis=1)]


class NamedRegressor(NamedEnsemble):
    """What ensembles of regressors share."""

    def _read_target(self, y: Any) -> Array:
        name = type(self).__name__
        values = read_values(y, name)
        if values.shape[1] > 1:
            raise ValueError(
                f"y should be a 1d array, got an array of shape {values.shape} instead: {name} "
                "takes one output. Fit one ensemble per output "
                "(sklearn.multioutput.MultiOutputRegressor)."
            )
        warn_column_vector(y)
        return values[:, 0]

    @property
    def _methods(self) -> list[str]:
        return ["predict"] * len(self.models_)


def prefitted(named: list[tuple[str, Any]], classes: Array | None) -> list[list[Any]]:
    """Members that were fitted before, as the models of an ensemble."""
    for name, member in named:
        try:
            check_is_fitted(member)
        except NotFittedError as error:
            raise NotFittedError(f"The member {name!r} is taken as it is, but: {error}") from error
        known = getattr(member, "classes_", None)
        strange = [] if classes is None or known is None else set(known) - set(classes)
        if strange:
            raise ValueError(
                f"The member {name!r} knows the class {sorted(strange)[0]!r}, which y lacks. Pass "
                "rows of all classes to fit."
            )
    return [[member] for _, member in named]


def kind_of(ensemble: Any) -> tuple[Callable[[Any], bool], str]:
    """Whether an estimator is of the kind that an ensemble is made of, and its name."""
    return (is_classifier, "classifier") if is_classifier(ensemble) else (is_regressor, "regressor")


def is_there(member: Any) -> bool:
    """Whether a member is not dropped."""
    return not (isinstance(member, str) and member == DROP)


def _name_of(member: Any) -> str:
    return member.__name__ if isinstance(member, type) else type(member).__name__

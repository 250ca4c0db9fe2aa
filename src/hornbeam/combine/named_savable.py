"""What voting, stacking and blending inherit to be saved, loaded and unpickled safely."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, is_classifier, is_regressor
from sklearn.utils.validation import check_is_fitted

from hornbeam.combine.bagging.savable import (
    ascend,
    check_member,
    check_names,
    member_width,
    name_array,
)
from hornbeam.combine.outputs import METHODS
from hornbeam.dtypes import STAT, Array
from hornbeam.errors import ModelFileError
from hornbeam.model.entries import take, take_array
from hornbeam.model.registry import is_registered, new_estimator
from hornbeam.model.savable import Savable
from hornbeam.model.state import check_classes, checked_params, finite_array, has_model, whole
from hornbeam.tree.model import digest_with_classes


class SavableNamed(Savable):
    """Mixin for ensembles with ``models_``, and ``weights_`` or a ``final_estimator_``."""

    models_: list[list[Any]]
    n_features_in_: int
    _final_is_needed = False  # unless there are weights

    def digest(self) -> str:
        """Return a SHA-256 of the model: equal digests mean equal models, bit for bit.

        It is made of the weights and of the digests of the members, so these must be hornbeam's
        own. Members of other libraries have only pickles, and those of equal models may differ.
        """
        check_is_fitted(self)
        header = self._model_header()
        parts = [header[name] for name in ("n_models", "methods", "passthrough")]
        state = hashlib.sha256(repr(parts).encode())
        for array in self._model_arrays().values():
            state.update(array.astype(array.dtype.newbyteorder("<")).tobytes())
        for model in self._model_members():
            if not is_registered(model):
                raise TypeError(
                    f"A member is a {type(model).__name__}, which is not one of hornbeam's "
                    "estimators and has no digest. Compare what the models predict."
                )
            state.update(model.digest().encode())
        return digest_with_classes(state.hexdigest(), self)

    def _model_header(self) -> dict[str, Any]:
        names = getattr(self, "feature_names_in_", None)
        return {
            "params": self.get_params(deep=False),  # type: ignore[attr-defined]
            "n_features": int(self.n_features_in_),
            "feature_names": None if names is None else list(names),
            "classes": getattr(self, "classes_", None),
            "n_models": [len(own) for own in self.models_],
            "methods": vars(self).get("stack_method_"),
            "has_final": "final_estimator_" in vars(self),
            "passthrough": bool(getattr(self, "passthrough", False)),
        }

    def _model_arrays(self) -> dict[str, Array]:
        weights = vars(self).get("weights_")
        return {} if weights is None else {"weights": np.ascontiguousarray(weights, STAT)}

    def _model_members(self) -> list[Any]:
        final = [self.final_estimator_] if "final_estimator_" in vars(self) else []
        return [model for own in self.models_ for model in own] + final

    @classmethod
    def _from_model(
        cls, header: dict[str, Any], arrays: dict[str, Array], members: list[Any]
    ) -> Any:
        ensemble = new_estimator(cls, take(header, "params", dict))
        state = vars(ensemble)
        state["n_features_in_"] = take(header, "n_features", int)
        names = take(header, "feature_names", list, type(None))
        if names is not None:
            state["feature_names_in_"] = name_array(names)
        classes = take(header, "classes", np.ndarray, type(None))
        if classes is not None:
            state |= {"classes_": classes, "n_classes_": len(classes)}
        methods = take(header, "methods", list, type(None))
        if methods is not None:
            state["stack_method_"] = methods
        if take(header, "passthrough", bool) != bool(getattr(ensemble, "passthrough", False)):
            raise ModelFileError("The parameters do not say whether X is passed through.")
        if "weights" in arrays:
            state["weights_"] = take_array(arrays, "weights")
        if take(header, "has_final", bool):
            if not members:
                raise ModelFileError("The ensemble has no final estimator.")
            state["final_estimator_"] = members[-1]
            members = members[:-1]
        state["models_"] = _dealt(members, take(header, "n_models", list))
        check_named(cls, state)
        return ensemble

    @classmethod
    def _checked_state(cls, state: dict[str, Any]) -> dict[str, Any]:
        checked = {**state, **checked_params(cls, state)}
        check_named(cls, checked)
        return checked


def _dealt(models: list[Any], counts: list[Any]) -> list[list[Any]]:
    """The models of each member."""
    good = all(type(count) is int and count > 0 for count in counts)
    if not good or not counts or sum(counts) != len(models):
        raise ModelFileError(f"{len(models)} models do not fit the members.")
    ends = np.cumsum(counts).tolist()
    return [models[end - count : end] for end, count in zip(ends, counts, strict=True)]


def check_named(cls: type[SavableNamed], state: dict[str, Any]) -> None:
    """Raise unless a fit could have left this: members, and what combines them.

    Parameters
    ----------
    cls : type
        Class of the ensemble.
    state : dict
        Its attributes. Members that are hornbeam's have checked themselves.
    """
    n_features = whole(state, "n_features_in_", 1, 2**31 - 1)
    whole_state = {**state, "n_outputs_": 1}
    check_classes(cls, whole_state)
    if issubclass(cls, ClassifierMixin) and not ascend(state["classes_"]):
        raise ModelFileError("The classes are not in ascending order.")
    check_names(state)
    models = state.get("models_")
    if not isinstance(models, list) or not models or not all(_are_models(own) for own in models):
        raise ModelFileError("The ensemble has no members.")
    there = [pair for pair in state["estimators"] if not isinstance(pair[1], str)]
    if len(there) != len(models):
        raise ModelFileError(f"{len(models)} fitted members do not fit {len(there)} estimators.")
    columns = np.arange(n_features)
    for number, own in enumerate(models):
        for model in own:
            try:
                check_member(cls, whole_state, model, columns)
                if is_registered(model) and member_width(model) != 1:
                    raise ModelFileError(f"it predicts {member_width(model)} numbers for a row.")
            except ModelFileError as error:
                raise ModelFileError(f"Member {number} does not fit: {error}") from error
    _check_methods(cls, state, models)
    _check_combination(cls, state, models)


def _are_models(own: Any) -> bool:
    return isinstance(own, list) and len(own) > 0


def _check_methods(cls: type[SavableNamed], state: dict[str, Any], models: list[Any]) -> None:
    """What members are asked, they can answer."""
    if ("stack_method_" in state) != cls._final_is_needed:
        raise ModelFileError("The methods that members are asked by do not fit the ensemble.")
    methods = state.get("stack_method_", ["predict"] * len(models))
    if not isinstance(methods, list) or len(methods) != len(models):
        raise ModelFileError("There must be a method for each member.")
    for method, own in zip(methods, models, strict=True):
        if method not in METHODS or not all(hasattr(model, method) for model in own):
            raise ModelFileError(f"A member cannot be asked by {str(method)[:60]!r}.")


def _check_combination(cls: type[SavableNamed], state: dict[str, Any], models: list[Any]) -> None:
    """There are weights, or there is a final estimator where one is needed."""
    final, weights = state.get("final_estimator_"), state.get("weights_")
    if (final is not None) == (weights is not None) or (final is not None) > cls._final_is_needed:
        raise ModelFileError("The ensemble needs weights, or a final estimator, and only one.")
    if weights is not None:
        weights = finite_array(weights, "weights_")
        if len(weights) != len(models) or (weights < 0.0).any() or not weights.any():
            raise ModelFileError(f"weights_ must be a number from 0 for each of {len(models)}.")
        return
    right = is_classifier if issubclass(cls, ClassifierMixin) else is_regressor
    if not right(final) or not hasattr(final, "predict"):
        raise ModelFileError("The final estimator is of another kind.")
    if is_registered(final) and not has_model(vars(final)):
        raise ModelFileError("The final estimator is not fitted.")

"""What AdaBoost inherits to be saved, loaded and unpickled safely, with all its members."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from hornbeam.combine.bagging.savable import (
    ascend,
    check_member,
    check_names,
    member_width,
    name_array,
)
from hornbeam.dtypes import STAT, Array
from hornbeam.errors import ModelFileError
from hornbeam.model.entries import take, take_array
from hornbeam.model.registry import is_registered, new_estimator
from hornbeam.model.savable import Savable
from hornbeam.model.state import check_classes, checked_params, finite_array, real, whole
from hornbeam.tree.model import digest_with_classes

_LARGEST = 1e300  # calibration


class SavableAdaBoost(Savable):
    """Mixin for ensembles with ``estimators_`` and a weight for each."""

    estimators_: list[Any]
    estimator_weights_: Array
    estimator_errors_: Array
    n_features_in_: int
    _maker: Any

    def digest(self) -> str:
        """Return a SHA-256 of the model: equal digests mean equal models, bit for bit.

        It is made of the weights and of the digests of the members, so these must be hornbeam's
        own. Members of other libraries have only pickles, and those of equal models may differ.
        """
        check_is_fitted(self, "estimators_")
        state = hashlib.sha256(repr(vars(self).get("calibration_")).encode())
        for array in self._model_arrays().values():
            state.update(array.astype(array.dtype.newbyteorder("<")).tobytes())
        for number, member in enumerate(self.estimators_):
            if not is_registered(member):
                raise TypeError(
                    f"Member {number} is a {type(member).__name__}, which is not one of hornbeam's "
                    "estimators and has no digest. Compare what the models predict."
                )
            state.update(member.digest().encode())
        return digest_with_classes(state.hexdigest(), self)

    def _model_header(self) -> dict[str, Any]:
        names = getattr(self, "feature_names_in_", None)
        return {
            "params": self.get_params(deep=False),  # type: ignore[attr-defined]
            "n_features": int(self.n_features_in_),
            "feature_names": None if names is None else list(names),
            "classes": getattr(self, "classes_", None),
            "calibration": vars(self).get("calibration_"),
        }

    def _model_arrays(self) -> dict[str, Array]:
        return {
            "weights": np.ascontiguousarray(self.estimator_weights_, STAT),
            "errors": np.ascontiguousarray(self.estimator_errors_, STAT),
        }

    def _model_members(self) -> list[Any]:
        return self.estimators_

    @classmethod
    def _from_model(
        cls, header: dict[str, Any], arrays: dict[str, Array], members: list[Any]
    ) -> Any:
        boosted = new_estimator(cls, take(header, "params", dict))
        state = vars(boosted)
        state["n_features_in_"] = take(header, "n_features", int)
        names = take(header, "feature_names", list, type(None))
        if names is not None:
            state["feature_names_in_"] = name_array(names)
        classes = take(header, "classes", np.ndarray, type(None))
        calibration = take(header, "calibration", float, type(None))
        if classes is not None:
            state |= {"classes_": classes, "n_classes_": len(classes)}
            state["calibration_"] = calibration
        elif calibration is not None:
            raise ModelFileError("A regressor has no calibration.")
        state["estimator_weights_"] = take_array(arrays, "weights")
        state["estimator_errors_"] = take_array(arrays, "errors")
        state["estimators_"] = members
        check_boosted(cls, state)
        state["estimator_"] = clone(boosted._maker)  # as `fit` has made it
        return boosted

    @classmethod
    def _checked_state(cls, state: dict[str, Any]) -> dict[str, Any]:
        checked = {**state, **checked_params(cls, state)}
        check_boosted(cls, checked)
        return checked


def check_boosted(cls: type, state: dict[str, Any]) -> None:
    """Raise unless a fit could have left this: the weights, the members, and that these fit.

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
    if issubclass(cls, ClassifierMixin):
        real(state, "calibration_", 0.0, _LARGEST)
        if not ascend(state["classes_"]):
            raise ModelFileError("The classes are not in ascending order.")
    check_names(state)
    members = state.get("estimators_")
    if not isinstance(members, list) or not members:
        raise ModelFileError("The ensemble has no members.")
    for name in ("estimator_weights_", "estimator_errors_"):
        numbers = finite_array(state.get(name), name)
        if len(numbers) != len(members) or (numbers < 0.0).any():
            raise ModelFileError(
                f"{name} must be a number from 0 for each of {len(members)} members."
            )
    if not state["estimator_weights_"].any():
        raise ModelFileError("All members weigh 0.")
    columns = np.arange(n_features)
    for number, member in enumerate(members):
        try:
            check_member(cls, whole_state, member, columns)
            if is_registered(member) and member_width(member) != 1:
                raise ModelFileError(f"it predicts {member_width(member)} numbers for a row.")
        except ModelFileError as error:
            raise ModelFileError(f"Member {number} does not fit: {error}") from error
    if state.get("algorithm") == "SAMME.R":
        _check_shares(members)


def _check_shares(members: list[Any]) -> None:
    for number, member in enumerate(members):
        if not hasattr(member, "predict_proba"):
            raise ModelFileError(f"Member {number} has no probabilities, which SAMME.R adds up.")

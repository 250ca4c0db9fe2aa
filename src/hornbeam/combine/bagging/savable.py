"""What bagging inherits to be saved, loaded and unpickled safely, with all its members."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from hornbeam.data.sampling import SampleSize
from hornbeam.dtypes import MAX_ROWS, STAT, Array
from hornbeam.errors import ModelFileError
from hornbeam.model.arrays import checked_array
from hornbeam.model.entries import take, take_array
from hornbeam.model.registry import is_registered, new_estimator
from hornbeam.model.savable import Savable
from hornbeam.model.state import (
    check_classes,
    check_sample_size,
    check_weight,
    checked_params,
    has_model,
    whole,
)
from hornbeam.tree.model import digest_with_classes


class SavableBagging(Savable):
    """Mixin for ensembles with ``estimators_`` that were fitted on samples."""

    estimators_: list[Any]
    estimators_features_: list[Array]
    size_: SampleSize
    seed_: int
    n_rows_in_: int
    n_features_in_: int
    n_outputs_: int  # of regressors
    _weight: Array | None  # which rows are drawn again by
    _maker: Any

    def digest(self) -> str:
        """Return a SHA-256 of the model: equal digests mean equal models, bit for bit.

        It is made of the samples and of the digests of the members, so these must be hornbeam's
        own. Members of other libraries have only pickles, and those of equal models may differ.
        """
        check_is_fitted(self)
        numbers = (self.seed_, self.n_rows_in_, self.n_features_in_, asdict(self.size_))
        state = hashlib.sha256(repr(numbers).encode())
        for name, array in self._sample_arrays().items():
            state.update(f"{name}:{array.shape};".encode())
            state.update(array.astype(array.dtype.newbyteorder("<")).tobytes())
        for number, member in enumerate(self.estimators_):
            if not is_registered(member):
                raise TypeError(
                    f"Member {number} is a {type(member).__name__}, which is not one of hornbeam's "
                    "estimators and has no digest. Compare what the models predict."
                )
            state.update(member.digest().encode())
        return digest_with_classes(state.hexdigest(), self)

    def _sample_arrays(self) -> dict[str, Array]:
        """Which columns the members see, and by which weights their rows are drawn."""
        arrays = {"features": np.array(self.estimators_features_, np.int64)}
        if self._weight is not None:
            arrays["weight"] = np.ascontiguousarray(self._weight, STAT)
        return arrays

    def _model_header(self) -> dict[str, Any]:
        names = getattr(self, "feature_names_in_", None)
        return {
            "params": self.get_params(deep=False),  # type: ignore[attr-defined]
            "n_features": int(self.n_features_in_),
            "feature_names": None if names is None else list(names),
            "n_outputs": int(getattr(self, "n_outputs_", 1)),
            "classes": getattr(self, "classes_", None),
            "n_rows": int(self.n_rows_in_),
            "seed": int(self.seed_),
            "size": asdict(self.size_),
            "oob_score": vars(self).get("oob_score_"),
        }

    def _model_arrays(self) -> dict[str, Array]:
        arrays = self._sample_arrays()
        if "oob_score_" in vars(self):
            arrays["oob"] = np.ascontiguousarray(getattr(self, _oob_name(type(self))), STAT)
        return arrays

    def _model_members(self) -> list[Any]:
        return self.estimators_

    @classmethod
    def _from_model(
        cls, header: dict[str, Any], arrays: dict[str, Array], members: list[Any]
    ) -> Any:
        bag = new_estimator(cls, take(header, "params", dict))
        state = vars(bag)
        state["n_features_in_"] = take(header, "n_features", int)
        names = take(header, "feature_names", list, type(None))
        if names is not None:
            state["feature_names_in_"] = name_array(names)
        n_outputs = take(header, "n_outputs", int)
        classes = take(header, "classes", np.ndarray, type(None))
        if classes is not None:
            state |= {"classes_": classes, "n_classes_": len(classes)}
        else:
            state["n_outputs_"] = n_outputs
        if classes is not None and n_outputs != 1:
            raise ModelFileError(f"A classifier of {n_outputs} outputs cannot be.")
        state["n_rows_in_"] = take(header, "n_rows", int)
        state["seed_"] = take(header, "seed", int)
        state["size_"] = SampleSize(**take(header, "size", dict))
        state["_weight"] = take_array(arrays, "weight") if "weight" in arrays else None
        features = checked_array(take_array(arrays, "features"), "features", np.int64, 2)
        state["estimators_features_"] = list(features)
        state["estimators_"] = members
        score = take(header, "oob_score", float, type(None))
        if score is not None:
            state |= {"oob_score_": score, _oob_name(cls): take_array(arrays, "oob")}
        check_bag(cls, state)
        state["estimator_"] = clone(bag._maker)  # as `fit` has made it
        return bag

    @classmethod
    def _checked_state(cls, state: dict[str, Any]) -> dict[str, Any]:
        checked = {**state, **checked_params(cls, state)}
        check_bag(cls, checked)
        return checked


def name_array(names: list[Any]) -> Array:
    """Names of columns as estimators have them."""
    array = np.empty(len(names), object)
    array[:] = names
    return array


def _oob_name(cls: type) -> str:
    return "oob_decision_function_" if issubclass(cls, ClassifierMixin) else "oob_prediction_"


# --- checks: the same for a file and for a pickle ------------------------------------------


def check_bag(cls: type, state: dict[str, Any]) -> None:
    """Raise unless a fit could have left this: the samples, the members, and that these fit.

    Parameters
    ----------
    cls : type
        Class of the ensemble.
    state : dict
        Its attributes. Members that are hornbeam's have checked themselves.
    """
    n_rows = whole(state, "n_rows_in_", 1, MAX_ROWS)
    n_features = whole(state, "n_features_in_", 1, 2**31 - 1)
    whole(state, "seed_", 0, 2**31 - 1)
    check_sample_size(state.get("size_"), SampleSize, n_rows, n_features)
    if "_weight" not in state:
        raise ModelFileError("The ensemble does not say if rows were drawn by weights.")
    check_weight(state, n_rows)
    if not issubclass(cls, ClassifierMixin):
        whole(state, "n_outputs_", 1, 2**31 - 1)
    check_classes(cls, {"n_outputs_": 1, **state})
    if "classes_" in state and not ascend(state["classes_"]):
        raise ModelFileError("The classes are not in ascending order.")
    check_names(state)
    _check_oob(cls, state)
    _check_columns(state)
    for number, member in enumerate(state["estimators_"]):
        try:
            check_member(cls, state, member, state["estimators_features_"][number])
        except ModelFileError as error:
            raise ModelFileError(f"Member {number} does not fit: {error}") from error
    widths = {member_width(member) for member in state["estimators_"] if is_registered(member)}
    if len(widths) > 1:
        raise ModelFileError(f"The members predict {sorted(widths)} numbers for a row.")


def check_names(state: dict[str, Any]) -> None:
    """Raise unless the names of the columns, if there are any, name them all."""
    if "feature_names_in_" not in state:
        return
    n_features, names = state["n_features_in_"], state["feature_names_in_"]
    right = isinstance(names, np.ndarray) and names.shape == (n_features,)
    if not right or not all(isinstance(name, str) for name in names):
        raise ModelFileError(f"feature_names_in_ does not name {n_features} columns.")


def _check_oob(cls: type, state: dict[str, Any]) -> None:
    """What members said of rows that they had not seen: a row each, NaN where all had."""
    name = _oob_name(cls)
    if (name in state) != ("oob_score_" in state):
        raise ModelFileError(f"{name} and oob_score_ belong together.")
    if name not in state:
        return
    if not isinstance(state["oob_score_"], Real):
        raise ModelFileError("The score of the rows out of the bag is no number.")
    width = state["n_classes_" if "classes_" in state else "n_outputs_"]
    alone = "classes_" not in state and width == 1
    shape = (state["n_rows_in_"],) if alone else (state["n_rows_in_"], width)
    if checked_array(state[name], name, STAT, len(shape)).shape != shape:
        raise ModelFileError(f"{name} must be an array of {shape} numbers.")


def _check_columns(state: dict[str, Any]) -> None:
    """There are members, and each has the columns of a sample."""
    members, columns = state.get("estimators_"), state.get("estimators_features_")
    size: SampleSize = state["size_"]
    if not isinstance(members, list) or not isinstance(columns, list) or not members:
        raise ModelFileError("The ensemble has no members.")
    if len(members) != len(columns):
        raise ModelFileError(f"{len(members)} members do not fit {len(columns)} samples.")
    for chosen in columns:
        chosen = checked_array(chosen, "estimators_features_", np.int64)
        inside = ((chosen >= 0) & (chosen < state["n_features_in_"])).all()
        ascend = (np.diff(chosen) >= (0 if size.bootstrap_features else 1)).all()
        if not inside or not ascend or len(chosen) != size.n_features:
            raise ModelFileError("The columns of a member are not those of a sample.")


def check_member(cls: type, state: dict[str, Any], member: Any, columns: Array) -> None:
    """One member predicts what the ensemble needs, from the columns that it gets."""
    own, name = is_registered(member), type(member).__name__
    if not hasattr(member, "predict") or (own and not has_model(vars(member))):
        raise ModelFileError(f"it is a {name} that cannot predict.")
    n_features = getattr(member, "n_features_in_", None)
    queries = own and getattr(member, "query", None) is not None  # a ranker takes their column away
    if isinstance(n_features, Integral) and n_features + queries != len(columns):
        raise ModelFileError(f"it knows {n_features} columns, and gets {len(columns)}.")
    names, known = state.get("feature_names_in_"), getattr(member, "feature_names_in_", None)
    if own and names is not None and known is not None and not set(known) <= set(names[columns]):
        raise ModelFileError("it knows other columns than it gets.")
    if issubclass(cls, ClassifierMixin):
        _check_classifier(member, own, state["classes_"])
    elif own and getattr(member, "n_outputs_", 1) != state["n_outputs_"]:
        raise ModelFileError(f"it has {member.n_outputs_} outputs, not {state['n_outputs_']}.")
    elif own and not _are_numbers(getattr(member, "classes_", None)):
        raise ModelFileError("its classes are no numbers.")


def _check_classifier(member: Any, own: bool, classes: Array) -> None:
    """A classifier of another library need not be one by its class."""
    if not isinstance(member, ClassifierMixin):
        if own:
            raise ModelFileError(f"it is a {type(member).__name__}, not a classifier.")
        return
    known = getattr(member, "classes_", None)
    if isinstance(known, list):
        raise ModelFileError(f"it has {len(known)} outputs, not 1.")
    if known is None:
        return
    same_kind = not own or known.dtype.kind == classes.dtype.kind
    if not same_kind or not _are_among(np.asarray(known), classes):
        raise ModelFileError("its classes are not among those of the ensemble.")


def _are_among(names: Array, classes: Array) -> bool:
    """Whether a binary search in the classes finds all of some names."""
    try:
        place = np.searchsorted(classes, names)
        return bool(np.all(classes[np.minimum(place, len(classes) - 1)] == names))
    except TypeError:  # a string is neither less nor more than a number
        return False


def ascend(classes: Array) -> bool:
    """Whether classes are different from each other, and in ascending order."""
    try:
        return np.array_equal(np.unique(classes), classes)
    except TypeError:
        return False


def _are_numbers(classes: Any) -> bool:
    listed = classes if isinstance(classes, list) else [classes]
    return classes is None or all(np.asarray(names).dtype.kind in "biuf" for names in listed)


def member_width(member: Any) -> int:
    """How many numbers a member predicts for a row; quantiles of boosting are several."""
    if isinstance(member, SavableBagging):
        return max(member_width(inner) for inner in member.estimators_)
    n_scores = getattr(getattr(member, "ensemble_", None), "n_scores", 1)
    several = not isinstance(member, ClassifierMixin) and n_scores > 1
    return n_scores if several else int(getattr(member, "n_outputs_", 1))

"""What bagging inherits to be saved, loaded and unpickled safely, with all its members."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone

from hornbeam.data.sampling import SampleSize
from hornbeam.dtypes import MAX_ROWS, STAT, Array
from hornbeam.errors import ModelFileError
from hornbeam.model.arrays import checked_array
from hornbeam.model.entries import take_array
from hornbeam.model.kept import (
    ColumnNames,
    Contents,
    Kept,
    KeptMembers,
    KeptSize,
    NumberArray,
    Outputs,
    Real,
    RowWeight,
    State,
    Whole,
)
from hornbeam.model.registry import is_registered
from hornbeam.model.savable import Savable
from hornbeam.model.state import has_model


@dataclass(frozen=True)
class KeptColumns(Kept):
    """The columns that each member sees, all the same number."""

    name: str = "estimators_features_"

    def _write(self, state: Mapping[str, Any], contents: Contents) -> None:
        contents.arrays["features"] = np.array(state[self.name], np.int64)

    def _read(self, contents: Contents, state: State) -> None:
        found = take_array(contents.arrays, "features")
        state[self.name] = list(checked_array(found, "features", np.int64, 2))

    def _check(self, cls: type, state: State) -> None:
        columns, n_features, size = state.get(self.name), state["n_features_in_"], state["size_"]
        if not isinstance(columns, list):
            raise ModelFileError("The ensemble does not say which columns its members see.")
        for chosen in columns:
            chosen = checked_array(chosen, self.name, np.int64)
            inside = ((chosen >= 0) & (chosen < n_features)).all()
            ascend = (np.diff(chosen) >= (0 if size.bootstrap_features else 1)).all()
            if not inside or not ascend or len(chosen) != size.n_features:
                raise ModelFileError("The columns of a member are not those of a sample.")


@dataclass(frozen=True)
class KeptOutOfBag(NumberArray):
    """What members said of rows that they had not seen: a row each, NaN where all had."""

    optional: bool = True
    noted: bool = True

    def _check(self, cls: type, state: State) -> None:
        width = state["n_classes_" if "classes_" in state else "n_outputs_"]
        alone = "classes_" not in state and width == 1
        shape = (state["n_rows_in_"],) if alone else (state["n_rows_in_"], width)
        if checked_array(state[self.name], self.name, STAT, len(shape)).shape != shape:
            raise ModelFileError(f"{self.name} must be an array of {shape} numbers.")


class SavableBagging(Savable):
    """Mixin for ensembles with ``estimators_`` that were fitted on samples."""

    _keeps = (
        Whole("n_rows_in_", 1, MAX_ROWS),
        Whole("n_features_in_", 1),
        ColumnNames(),
        Outputs(is_single="classifiers"),
        Whole("seed_"),
        KeptSize("size_"),
        RowWeight(),
        KeptColumns(),
        KeptMembers(),
        Real("oob_score_", None, optional=True, noted=True),
        KeptOutOfBag("oob_decision_function_"),
        KeptOutOfBag("oob_prediction_"),
    )

    estimators_: list[Any]
    estimators_features_: list[Array]
    size_: SampleSize
    seed_: int
    n_rows_in_: int
    n_features_in_: int
    n_outputs_: int  # of regressors
    _weight: Array | None  # which rows are drawn again by
    _maker: Any

    @classmethod
    def _from_contents(cls, contents: Contents) -> Any:
        bag = super()._from_contents(contents)
        bag.estimator_ = clone(bag._maker)  # as `fit` has made it
        return bag

    @classmethod
    def _check_fit(cls, state: State) -> None:
        state.setdefault("_weight", None)
        if "classes_" in state and not ascend(state["classes_"]):
            raise ModelFileError("The classes are not in ascending order.")
        names = {"oob_decision_function_", "oob_prediction_", "oob_score_"} & set(state)
        if names and names != {_oob_name(cls), "oob_score_"}:
            raise ModelFileError(f"{_oob_name(cls)} and oob_score_ belong together.")
        members, columns = state["estimators_"], state["estimators_features_"]
        if len(members) != len(columns):
            raise ModelFileError(f"{len(members)} members do not fit {len(columns)} samples.")
        for number, member in enumerate(members):
            try:
                check_member(cls, state, member, columns[number])
            except ModelFileError as error:
                raise ModelFileError(f"Member {number} does not fit: {error}") from error
        widths = {member_width(member) for member in members if is_registered(member)}
        if len(widths) > 1:
            raise ModelFileError(f"The members predict {sorted(widths)} numbers for a row.")


def _oob_name(cls: type) -> str:
    return "oob_decision_function_" if issubclass(cls, ClassifierMixin) else "oob_prediction_"


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

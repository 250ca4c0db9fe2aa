"""What AdaBoost inherits to be saved, loaded and unpickled safely, with all its members."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, clone

from hornbeam.combine.bagging.savable import ascend, check_member, member_width
from hornbeam.dtypes import Array
from hornbeam.errors import ModelFileError
from hornbeam.model.kept import (
    ColumnNames,
    Contents,
    KeptMembers,
    NumberArray,
    Outputs,
    Real,
    State,
    Whole,
)
from hornbeam.model.registry import is_registered
from hornbeam.model.savable import Savable

_LARGEST = 1e300  # calibration


class SavableAdaBoost(Savable):
    """Mixin for ensembles with ``estimators_`` and a weight for each."""

    _keeps = (
        Whole("n_features_in_", 1, noted=True),
        ColumnNames(),
        Outputs(is_single="all"),
        Real("calibration_", 0.0, _LARGEST, optional=True),
        NumberArray("estimator_weights_"),
        NumberArray("estimator_errors_"),
        KeptMembers(),
    )

    estimators_: list[Any]
    estimator_weights_: Array
    estimator_errors_: Array
    n_features_in_: int
    _maker: Any

    @classmethod
    def _from_contents(cls, contents: Contents) -> Any:
        boosted = super()._from_contents(contents)
        boosted.estimator_ = clone(boosted._maker)  # as `fit` has made it
        return boosted

    @classmethod
    def _check_fit(cls, state: State) -> None:
        members, classifies = state["estimators_"], issubclass(cls, ClassifierMixin)
        if ("calibration_" in state) != classifies:
            raise ModelFileError("A classifier, and only it, has a calibration.")
        if classifies and not ascend(state["classes_"]):
            raise ModelFileError("The classes are not in ascending order.")
        for name in ("estimator_weights_", "estimator_errors_"):
            if len(state[name]) != len(members) or (state[name] < 0.0).any():
                raise ModelFileError(
                    f"{name} must be a number from 0 for each of {len(members)} members."
                )
        if not state["estimator_weights_"].any():
            raise ModelFileError("All members weigh 0.")
        columns = np.arange(state["n_features_in_"])
        for number, member in enumerate(members):
            try:
                check_member(cls, {"n_outputs_": 1, **state}, member, columns)
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

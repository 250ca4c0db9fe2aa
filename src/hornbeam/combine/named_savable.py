"""What voting, stacking and blending inherit to be saved, loaded and unpickled safely."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, is_classifier, is_regressor

from hornbeam.combine.bagging.savable import ascend, check_member, member_width
from hornbeam.combine.outputs import METHODS
from hornbeam.errors import ModelFileError
from hornbeam.model.entries import take
from hornbeam.model.kept import (
    ColumnNames,
    Contents,
    Kept,
    KeptMembers,
    NumberArray,
    Outputs,
    State,
    Whole,
)
from hornbeam.model.registry import is_registered
from hornbeam.model.savable import Savable
from hornbeam.model.state import has_model


@dataclass(frozen=True)
class Models(KeptMembers):
    """The fitted models of each member, one or more; a file has them one after the other."""

    name: str = "models_"

    def _write(self, state: Mapping[str, Any], contents: Contents) -> None:
        contents.header[self.key] = [len(own) for own in state[self.name]]
        contents.members += [model for own in state[self.name] for model in own]

    def _read(self, contents: Contents, state: State) -> None:
        counts = take(contents.header, self.key, list)
        good = all(type(count) is int and count > 0 for count in counts)
        if not good or sum(counts) > len(contents.members):
            raise ModelFileError(f"{len(contents.members)} models do not fit the members.")
        ends = np.cumsum(counts, dtype=np.int64).tolist()
        models, rest = contents.members[: sum(counts)], contents.members[sum(counts) :]
        state[self.name] = [models[e - n : e] for e, n in zip(ends, counts, strict=True)]
        contents.members = rest

    def _check(self, cls: type, state: State) -> None:
        models = state.get(self.name)
        good = isinstance(models, list) and all(isinstance(own, list) and own for own in models)
        if not models or not good:
            raise ModelFileError("The ensemble has no members.")


@dataclass(frozen=True)
class Final(KeptMembers):
    """The estimator that learns from the others; a file has it last."""

    name: str = "final_estimator_"
    optional: bool = True

    def _write(self, state: Mapping[str, Any], contents: Contents) -> None:
        contents.header[self.key] = True
        contents.members.append(state[self.name])

    def _read(self, contents: Contents, state: State) -> None:
        take(contents.header, self.key, bool)
        if not contents.members:
            raise ModelFileError("The ensemble has no final estimator.")
        state[self.name] = contents.members.pop()

    def _check(self, cls: type, state: State) -> None:
        final = state[self.name]
        right = is_classifier if issubclass(cls, ClassifierMixin) else is_regressor
        if not right(final) or not hasattr(final, "predict"):
            raise ModelFileError("The final estimator is of another kind.")
        if is_registered(final) and not has_model(vars(final)):
            raise ModelFileError("The final estimator is not fitted.")


@dataclass(frozen=True)
class Methods(Kept):
    """What each member is asked."""

    name: str = "stack_method_"
    optional: bool = True

    def _read(self, contents: Contents, state: State) -> None:
        state[self.name] = take(contents.header, self.key, list)

    def _check(self, cls: type, state: State) -> None:
        methods, models = state[self.name], state["models_"]
        if not isinstance(methods, list) or len(methods) != len(models):
            raise ModelFileError("There must be a method for each member.")
        for method, own in zip(methods, models, strict=True):
            if method not in METHODS or not all(hasattr(model, method) for model in own):
                raise ModelFileError(f"A member cannot be asked by {str(method)[:60]!r}.")


class SavableNamed(Savable):
    """Mixin for ensembles with ``models_``, and ``weights_`` or a ``final_estimator_``."""

    _keeps = (
        Whole("n_features_in_", 1, noted=True),
        ColumnNames(),
        Outputs(is_single="all"),
        NumberArray("weights_", optional=True),
        Models(),
        Methods(),
        Final(),
    )
    _has_final = False  # unless it has weights

    @classmethod
    def _check_fit(cls, state: State) -> None:
        if issubclass(cls, ClassifierMixin) and not ascend(state["classes_"]):
            raise ModelFileError("The classes are not in ascending order.")
        models, weights = state["models_"], state.get("weights_")
        there = [pair for pair in state["estimators"] if not isinstance(pair[1], str)]
        if len(there) != len(models):
            raise ModelFileError(f"{len(models)} members do not fit {len(there)} estimators.")
        for number, own in enumerate(models):
            for model in own:
                _check_model(cls, state, number, model)
        if ("stack_method_" in state) != cls._has_final:
            raise ModelFileError("The methods that members are asked by do not fit the ensemble.")
        final = state.get("final_estimator_") is not None
        if final == (weights is not None) or final > cls._has_final:
            raise ModelFileError("The ensemble needs weights, or a final estimator, and only one.")
        right = weights is None or len(weights) == len(models)
        if not right or (weights is not None and (not weights.any() or (weights < 0.0).any())):
            raise ModelFileError(f"weights_ must be a number from 0 for each of {len(models)}.")


def _check_model(cls: type, state: State, number: int, model: Any) -> None:
    columns = np.arange(state["n_features_in_"])
    try:
        check_member(cls, {"n_outputs_": 1, **state}, model, columns)
        if is_registered(model) and member_width(model) != 1:
            raise ModelFileError(f"it predicts {member_width(model)} numbers for a row.")
    except ModelFileError as error:
        raise ModelFileError(f"Member {number} does not fit: {error}") from error

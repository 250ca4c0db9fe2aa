"""What a boosting estimator inherits to be saved, loaded and unpickled safely."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from hornbeam.boosting.calibration import check_shifts
from hornbeam.boosting.defaults import GROWTHS
from hornbeam.dtypes import STAT, Array
from hornbeam.errors import ModelFileError
from hornbeam.losses import LINKS, OwnLoss
from hornbeam.model.arrays import checked_array
from hornbeam.model.entries import take, take_array
from hornbeam.model.pickles import Pickles
from hornbeam.model.savable import SavableModel
from hornbeam.model.state import finite_array, known_text, real, whole
from hornbeam.model.values import DECODERS, ENCODERS, decode_value, encode_value
from hornbeam.tree.ensemble import Ensemble
from hornbeam.tree.packing import pack_trees, take_trees
from hornbeam.tree.validate import validate_trees


def _encode_own_loss(loss: Any, where: str, depth: int, pickles: Pickles) -> dict[str, Any]:
    """A user's loss by the names of its functions: a model file holds no code."""
    fields = {field.name: getattr(loss, field.name) for field in dataclasses.fields(loss)}
    return {"$own_loss": encode_value(fields, where, depth + 1, pickles)}


def _decode_own_loss(body: Any, depth: int, pickles: Pickles) -> OwnLoss:
    fields = decode_value(body, depth, pickles)
    known = {field.name for field in dataclasses.fields(OwnLoss)}
    if not isinstance(fields, dict) or set(fields) != known:
        raise ModelFileError("The header holds an $own_loss value of the wrong form.")
    try:
        return OwnLoss(**fields)
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"The header holds an own loss that cannot be: {error}") from error


ENCODERS[OwnLoss] = _encode_own_loss
DECODERS["$own_loss"] = _decode_own_loss


class SavableBoosting(SavableModel):
    """Mixin for models with an ``ensemble_`` of trees that have one value per node."""

    ensemble_: Ensemble
    link_: str
    n_iter_: int
    learning_rate_: float
    growth_: str
    colsample_bynode_: float
    calibration_: Array  # only if it was asked for

    def _model_header(self) -> dict[str, Any]:
        return {
            **super()._model_header(),
            "link": self.link_,
            "n_rounds": int(self.n_iter_),
            "seed": int(self.seed_),  # type: ignore[attr-defined]
            "learning_rate": float(self.learning_rate_),
            "growth": self.growth_,
            "colsample_bynode": float(self.colsample_bynode_),
            "history": {name: list(map(float, v)) for name, v in self.history_.items()},  # type: ignore[attr-defined]
        }

    def _model_arrays(self) -> dict[str, Array]:
        start = np.ascontiguousarray(self.ensemble_.start, STAT)
        arrays = {**pack_trees(self.ensemble_.trees), "start": start}
        if "calibration_" in self.__dict__:
            arrays["calibration"] = np.ascontiguousarray(self.calibration_, STAT)
        return arrays

    @classmethod
    def _from_model(cls, header: dict[str, Any], arrays: dict[str, Array]) -> Any:
        estimator, _ = cls._from_header(header)
        estimator.link_ = take(header, "link", str)
        estimator.n_iter_ = take(header, "n_rounds", int)
        estimator.seed_ = take(header, "seed", int)
        estimator.learning_rate_ = take(header, "learning_rate", float)
        estimator.growth_ = take(header, "growth", str)
        estimator.colsample_bynode_ = take(header, "colsample_bynode", float)
        estimator.history_ = _read_history(take(header, "history", dict))
        start = take_array(arrays, "start")
        trees = take_trees(arrays, estimator.schema_, 1)
        if "calibration" in arrays:
            estimator.calibration_ = take_array(arrays, "calibration")
        _check_model(vars(estimator), start, len(trees))
        estimator.ensemble_ = Ensemble(trees, np.arange(len(trees)) % len(start), len(start), start)
        return estimator

    @classmethod
    def _check_pickled(cls, state: dict[str, Any]) -> None:
        ensemble, schema = state.get("ensemble_"), state["schema_"]
        if not isinstance(ensemble, Ensemble):
            raise ModelFileError("The pickled model has an ensemble_ that is none.")
        trees, start = validate_trees(ensemble.trees, schema), ensemble.start
        _check_model(state, start, len(trees))
        n_scores = len(start)
        state["ensemble_"] = Ensemble(trees, np.arange(len(trees)) % n_scores, n_scores, start)


def _read_history(content: dict[str, Any]) -> dict[str, Array]:
    for name, losses in content.items():
        if not isinstance(losses, list) or not all(type(loss) is float for loss in losses):
            raise ModelFileError(f"The history {name[:60]!r} is not a list of numbers.")
    return {name: np.array(losses) for name, losses in content.items()}


def _check_model(state: dict[str, Any], start: Any, n_trees: int) -> None:
    """Sizes that must fit each other, or predictions would read beside their arrays."""
    known_text(state, "link_", LINKS)
    known_text(state, "growth_", GROWTHS)
    if real(state, "learning_rate_", 0.0, np.finfo(STAT).max) == 0.0:
        raise ModelFileError("A learning rate of 0.0 cannot be.")
    if real(state, "colsample_bynode_", 0.0, 1.0) == 0.0:
        raise ModelFileError("A share of 0.0 of the features cannot be.")
    whole(state, "seed_", 0, 2**31 - 1)
    if not len(finite_array(start, "start")):
        raise ModelFileError("There must be a start score.")
    n_rounds = whole(state, "n_iter_", 0, 2**31 - 1)
    if n_trees != n_rounds * len(start):
        raise ModelFileError(
            f"The model has {n_trees} trees, not {len(start)} for each of {n_rounds} rounds."
        )
    n_classes = state.get("n_classes_")
    if n_classes is not None and len(start) not in _scores_of_classes(n_classes):
        raise ModelFileError(f"{len(start)} scores do not tell {n_classes} classes apart.")
    history = state.get("history_")
    if not isinstance(history, dict) or not all(isinstance(name, str) for name in history):
        raise ModelFileError("The history of the losses is none.")
    for name, losses in history.items():
        checked_array(losses, f"history {name[:60]!r}", STAT)
    if "calibration_" in state:
        shifts = check_shifts(state["calibration_"], state["link_"], len(start))
        state["calibration_"] = shifts


def _scores_of_classes(n_classes: int) -> tuple[int, ...]:
    return (1,) if n_classes <= 2 else (n_classes, n_classes - 1)

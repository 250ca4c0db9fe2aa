"""What a boosting estimator inherits to be saved, loaded and unpickled safely."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from hornbeam.boosting.defaults import GROWTHS
from hornbeam.dtypes import STAT, Array
from hornbeam.errors import ModelFileError
from hornbeam.losses import LINKS, OwnLoss
from hornbeam.output.modelfile import pack_trees, take, take_array, take_trees
from hornbeam.output.savable import SavableModel
from hornbeam.output.validate import checked_array, validate_tree
from hornbeam.output.values import DECODERS, ENCODERS, decode_value, encode_value
from hornbeam.tree.ensemble import Ensemble
from hornbeam.tree.storage import TREE_FIELDS


def _encode_own_loss(loss: Any, where: str, depth: int) -> dict[str, Any]:
    """A user's loss by the names of its functions: a model file holds no code."""
    fields = {field.name: getattr(loss, field.name) for field in dataclasses.fields(loss)}
    return {"$own_loss": encode_value(fields, where, depth + 1)}


def _decode_own_loss(body: Any, depth: int) -> OwnLoss:
    fields = decode_value(body, depth)
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

    def _model_header(self) -> dict[str, Any]:
        return {
            **super()._model_header(),
            "link": self.link_,
            "n_rounds": int(self.n_iter_),
            "seed": int(self.seed_),  # type: ignore[attr-defined]
            "learning_rate": float(self.learning_rate_),
            "growth": self.growth_,
            "colsample_bynode": float(getattr(self, "colsample_bynode_", 1.0)),
            "history": {name: list(map(float, v)) for name, v in self.history_.items()},  # type: ignore[attr-defined]
        }

    def _model_arrays(self) -> dict[str, Array]:
        start = np.ascontiguousarray(self.ensemble_.start, STAT)
        return {**pack_trees(self.ensemble_.trees), "start": start}

    @classmethod
    def _from_model(cls, header: dict[str, Any], arrays: dict[str, Array]) -> Any:
        estimator, _ = cls._from_header(header)
        estimator.link_ = take(header, "link", str)
        estimator.n_iter_ = take(header, "n_rounds", int)
        estimator.seed_ = take(header, "seed", int)
        estimator.learning_rate_ = take(header, "learning_rate", float)
        estimator.growth_ = take(header, "growth", str)
        if "colsample_bynode" in header:  # files of earlier versions do not say
            estimator.colsample_bynode_ = take(header, "colsample_bynode", float)
        estimator.history_ = _read_history(take(header, "history", dict))
        start = checked_array(take_array(arrays, "start"), "start", STAT)
        trees = take_trees(arrays, estimator.schema_, 1)
        _check_model(estimator, start, len(trees))
        estimator.ensemble_ = Ensemble(trees, np.arange(len(trees)) % len(start), len(start), start)
        return estimator

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(_validated(state))  # type: ignore[misc]


def _read_history(content: dict[str, Any]) -> dict[str, Array]:
    for name, losses in content.items():
        if not isinstance(losses, list) or not all(type(loss) is float for loss in losses):
            raise ModelFileError(f"The history {name[:60]!r} is not a list of numbers.")
    return {name: np.array(losses) for name, losses in content.items()}


def _check_model(estimator: Any, start: Array, n_trees: int) -> None:
    """Sizes that must fit each other, or predictions would read beside their arrays."""
    if estimator.link_ not in LINKS:
        raise ModelFileError(f"There is no link {estimator.link_[:60]!r}.")
    if not 0.0 < estimator.learning_rate_ < np.inf:
        raise ModelFileError(f"A learning rate of {estimator.learning_rate_} cannot be.")
    if estimator.growth_ not in GROWTHS:
        raise ModelFileError(f"There is no growth {estimator.growth_[:60]!r}.")
    share = getattr(estimator, "colsample_bynode_", 1.0)
    if not 0.0 < share <= 1.0:
        raise ModelFileError(f"A share of {share} of the features cannot be.")
    if not len(start) or not np.isfinite(start).all():
        raise ModelFileError("The start scores must be finite, and there must be one.")
    if estimator.n_iter_ < 0 or n_trees != estimator.n_iter_ * len(start):
        raise ModelFileError(
            f"The model has {n_trees} trees, not {len(start)} for each of "
            f"{estimator.n_iter_} rounds."
        )
    n_classes = getattr(estimator, "n_classes_", None)
    if n_classes is not None and len(start) not in _scores_of_classes(n_classes):
        raise ModelFileError(f"{len(start)} scores do not tell {n_classes} classes apart.")


def _scores_of_classes(n_classes: int) -> tuple[int, ...]:
    return (1,) if n_classes == 2 else (n_classes, n_classes - 1)


def _validated(state: dict[str, Any]) -> dict[str, Any]:
    """Check the trees inside the state of a pickled estimator."""
    checked = dict(state)
    if "ensemble_" not in checked:
        return checked
    ensemble, schema = checked["ensemble_"], checked.get("schema_")
    if not isinstance(ensemble, Ensemble) or schema is None:
        raise ModelFileError("The pickled model has an ensemble_ that is none, or no schema_.")
    trees = [
        validate_tree(
            {name: getattr(tree, name, None) for name in TREE_FIELDS},
            schema.n_features,
            1,
            schema.n_categories,
            schema.is_category,
        )
        for tree in ensemble.trees
    ]
    start = checked_array(ensemble.start, "start", STAT)
    checked["ensemble_"] = Ensemble(trees, np.arange(len(trees)) % len(start), len(start), start)
    return checked

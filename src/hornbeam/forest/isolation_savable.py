"""What the isolation forest inherits to be saved, loaded and unpickled safely."""

from __future__ import annotations

from typing import Any

import numpy as np

from hornbeam.data.sampling import SampleSize
from hornbeam.dtypes import MAX_ROWS, Array
from hornbeam.errors import ModelFileError
from hornbeam.forest.isolation_growth import IsolationRules, Planes
from hornbeam.forest.isolation_planes import (
    PlaneEnsemble,
    checked_planes,
    pack_planes,
    take_planes,
)
from hornbeam.model.entries import take, take_array
from hornbeam.model.savable import SavableModel
from hornbeam.model.state import check_sample_size, check_weight, finite_array, real, whole
from hornbeam.tree.ensemble import Ensemble
from hornbeam.tree.packing import pack_trees, take_trees
from hornbeam.tree.storage import Tree
from hornbeam.tree.validate import validate_trees


class SavableIsolation(SavableModel):
    """Mixin for a forest with an ``ensemble_`` whose trees have path lengths as values."""

    ensemble_: Ensemble | PlaneEnsemble
    rules_: IsolationRules
    seed_: int
    offset_: float
    training_scores_: Array
    max_samples_: int
    n_rows_in_: int
    n_features_in_: int
    weighted_: bool
    _weight: Array | None  # kept for drawing the samples again, but not in a file

    def _model_header(self) -> dict[str, Any]:
        rules = self.rules_
        return {
            **super()._model_header(),
            "sample_rows": int(rules.size.n_rows),
            "sample_features": int(rules.size.n_features),
            "replacement": bool(rules.size.bootstrap),
            "plane_size": int(rules.plane_size),
            "seed": int(rules.seed),
            "n_rows": int(self.n_rows_in_),
            "weighted": bool(self.weighted_),
            "offset": float(self.offset_),
        }

    def _model_arrays(self) -> dict[str, Array]:
        arrays = {**pack_trees(self.ensemble_.trees), "scores": self.training_scores_}
        if isinstance(self.ensemble_, PlaneEnsemble):
            arrays |= pack_planes(self.ensemble_.planes)
        return arrays

    @classmethod
    def _from_model(cls, header: dict[str, Any], arrays: dict[str, Array]) -> Any:
        forest, _ = cls._from_header(header)
        schema = forest.schema_
        size = SampleSize(
            n_rows=take(header, "sample_rows", int),
            n_features=take(header, "sample_features", int),
            bootstrap=take(header, "replacement", bool),
        )
        forest.rules_ = IsolationRules(
            size,
            plane_size=take(header, "plane_size", int),
            seed=take(header, "seed", int),
        )
        forest.seed_, forest.max_samples_ = forest.rules_.seed, forest.rules_.n_rows
        forest.n_rows_in_ = take(header, "n_rows", int)
        forest._weight, forest.weighted_ = None, take(header, "weighted", bool)
        forest.offset_ = take(header, "offset", float)
        forest.training_scores_ = take_array(arrays, "scores")
        _check_numbers(vars(forest))
        trees = take_trees(arrays, schema, 1)
        _check_samples(trees, forest.max_samples_)
        planes = take_planes(arrays, trees, schema) if forest.rules_.plane_size > 1 else None
        forest.ensemble_ = make_ensemble(trees, planes)
        return forest

    @classmethod
    def _check_pickled(cls, state: dict[str, Any]) -> None:
        ensemble, schema = state.get("ensemble_"), state["schema_"]
        if not isinstance(ensemble, Ensemble | PlaneEnsemble):
            raise ModelFileError("The pickled model has an ensemble_ that is none.")
        _check_numbers(state)
        trees = validate_trees(ensemble.trees, schema)
        _check_samples(trees, state["max_samples_"])
        planes = None
        if isinstance(ensemble, PlaneEnsemble):
            planes = checked_planes(ensemble.planes, trees, schema)
        if (planes is not None) != (state["rules_"].plane_size > 1):
            raise ModelFileError("The trees of the pickled forest do not ask as its rules say.")
        state["ensemble_"] = make_ensemble(trees, planes)


def make_ensemble(trees: list[Tree], planes: Planes | None) -> Ensemble | PlaneEnsemble:
    """What sums up the path lengths of the trees."""
    if planes is not None:
        return PlaneEnsemble(trees, planes)
    return Ensemble(trees, np.zeros(len(trees), np.int64), 1, np.zeros(1))


def _check_samples(trees: list[Tree], n_rows: int) -> None:
    if not trees or any(tree.n_samples[0] != n_rows for tree in trees):
        raise ModelFileError(f"A tree has not seen {n_rows} rows, as it should.")


def _check_numbers(state: dict[str, Any]) -> None:
    """Numbers that samples are drawn and scores are computed with."""
    rules, n_features = state.get("rules_"), state["schema_"].n_features
    n_rows = whole(state, "n_rows_in_", 1, MAX_ROWS)
    if not isinstance(rules, IsolationRules):
        raise ModelFileError("The rules of the isolation forest are none.")
    check_sample_size(rules.size, SampleSize, n_rows, n_features)
    whole(vars(rules.size), "n_rows", 1, n_rows)
    whole(vars(rules), "plane_size", 1, n_features)
    whole(vars(rules), "seed", 0, 2**31 - 1)
    whole(state, "seed_", rules.seed, rules.seed)
    whole(state, "max_samples_", rules.n_rows, rules.n_rows)
    scores = finite_array(state.get("training_scores_"), "scores")
    if (scores[1:] < scores[:-1]).any():
        raise ModelFileError("The scores of the training rows must be finite and ascend.")
    real(state, "offset_", -1.0, 0.0)
    if not isinstance(state.get("weighted_"), bool):
        raise ModelFileError("weighted_ must say whether rows were weighted.")
    check_weight(state, n_rows)

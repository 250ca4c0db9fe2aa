"""What the isolation forest inherits to be saved, loaded and unpickled safely."""

from __future__ import annotations

from typing import Any

import numpy as np

from hornbeam.bagging.sampling import SampleSize
from hornbeam.dtypes import MAX_ROWS, STAT, Array
from hornbeam.errors import ModelFileError
from hornbeam.forest.isolation_growth import IsolationRules, Planes
from hornbeam.forest.isolation_planes import (
    PlaneEnsemble,
    checked_planes,
    pack_planes,
    take_planes,
)
from hornbeam.output.modelfile import pack_trees, take, take_array, take_trees
from hornbeam.output.savable import SavableModel
from hornbeam.output.validate import checked_array, validate_tree
from hornbeam.tree.ensemble import Ensemble
from hornbeam.tree.storage import TREE_FIELDS, Tree


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
        forest.training_scores_ = checked_array(take_array(arrays, "scores"), "scores", STAT)
        _check_numbers(vars(forest))
        trees = take_trees(arrays, schema, 1)
        if any(tree.n_samples[0] != forest.max_samples_ for tree in trees):
            raise ModelFileError(f"A tree has not seen {forest.max_samples_} rows, as it should.")
        planes = take_planes(arrays, trees, schema) if forest.rules_.plane_size > 1 else None
        forest.ensemble_ = make_ensemble(trees, planes)
        return forest

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(_validated(state))  # type: ignore[misc]


def make_ensemble(trees: list[Tree], planes: Planes | None) -> Ensemble | PlaneEnsemble:
    """What sums up the path lengths of the trees."""
    if planes is not None:
        return PlaneEnsemble(trees, planes)
    return Ensemble(trees, np.zeros(len(trees), np.int64), 1, np.zeros(1))


def _check_numbers(state: dict[str, Any]) -> None:
    """Numbers that samples are drawn and scores are computed with."""
    rules, n_rows = state["rules_"], state["n_rows_in_"]
    if not 1 <= rules.n_rows <= n_rows <= MAX_ROWS:
        raise ModelFileError(f"Samples of {rules.n_rows} of {n_rows} rows cannot be.")
    n_features = state["schema_"].n_features
    if not (1 <= rules.size.n_features <= n_features and 1 <= rules.plane_size <= n_features):
        raise ModelFileError(
            f"Trees of {rules.size.n_features} columns and planes through {rules.plane_size} do "
            f"not fit a table of {n_features} columns."
        )
    if not 0 <= rules.seed < 2**31:
        raise ModelFileError(f"The seed {rules.seed} cannot be.")
    scores = state["training_scores_"]
    if not np.isfinite(scores).all() or (scores[1:] < scores[:-1]).any():
        raise ModelFileError("The scores of the training rows must be finite and ascend.")
    if not -1.0 <= state["offset_"] <= 0.0:
        raise ModelFileError(f"The offset {state['offset_']} cannot be.")


def _validated(state: dict[str, Any]) -> dict[str, Any]:
    """Check the trees inside the state of a pickled forest."""
    checked = dict(state)
    if "ensemble_" not in checked:
        return checked
    ensemble, schema = checked["ensemble_"], checked.get("schema_")
    if not isinstance(ensemble, Ensemble | PlaneEnsemble) or schema is None:
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
    planes = None
    if isinstance(ensemble, PlaneEnsemble):
        planes = checked_planes(ensemble.planes, trees, schema)
    checked["ensemble_"] = make_ensemble(trees, planes)
    return checked

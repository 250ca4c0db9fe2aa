"""What the isolation forest inherits to be saved, loaded and unpickled safely."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hornbeam.dtypes import MAX_ROWS, Array
from hornbeam.errors import ModelFileError
from hornbeam.forest.isolation_growth import IsolationRules, Planes
from hornbeam.forest.isolation_planes import (
    PlaneEnsemble,
    checked_planes,
    pack_planes,
    take_planes,
)
from hornbeam.model.kept import (
    Columns,
    Contents,
    Flag,
    Kept,
    KeptSize,
    Numbers,
    Outputs,
    Real,
    Record,
    State,
    Whole,
)
from hornbeam.model.savable import Savable
from hornbeam.model.state import check_weight, whole
from hornbeam.tree.ensemble import Ensemble
from hornbeam.tree.packing import pack_trees, take_trees
from hornbeam.tree.storage import Tree
from hornbeam.tree.validate import validate_trees


@dataclass(frozen=True)
class KeptPaths(Kept):
    """Trees whose values are path lengths, with planes where the rules say so."""

    name: str = "ensemble_"

    def _write(self, state: Mapping[str, Any], contents: Contents) -> None:
        ensemble = state[self.name]
        contents.arrays |= pack_trees(ensemble.trees)
        if isinstance(ensemble, PlaneEnsemble):
            contents.arrays |= pack_planes(ensemble.planes)

    def _read(self, contents: Contents, state: State) -> None:
        trees = take_trees(contents.arrays)
        planes = take_planes(contents.arrays) if state["rules_"].plane_size > 1 else None
        state[self.name] = make_ensemble(trees, planes)

    def _check(self, cls: type, state: State) -> None:
        ensemble, schema = state.get(self.name), state["schema_"]
        if not isinstance(ensemble, Ensemble | PlaneEnsemble):
            raise ModelFileError("The pickled model has an ensemble_ that is none.")
        trees, planes = validate_trees(ensemble.trees, schema), None
        if isinstance(ensemble, PlaneEnsemble):
            planes = checked_planes(ensemble.planes, trees, schema)
        if (planes is not None) != (state["rules_"].plane_size > 1):
            raise ModelFileError("The trees of the pickled forest do not ask as its rules say.")
        state[self.name] = make_ensemble(trees, planes)


def make_ensemble(trees: list[Tree], planes: Planes | None) -> Ensemble | PlaneEnsemble:
    """What sums up the path lengths of the trees."""
    if planes is not None:
        return PlaneEnsemble(trees, planes)
    return Ensemble(trees, np.zeros(len(trees), np.int64), 1, np.zeros(1))


class SavableIsolation(Savable):
    """Mixin for a forest with an ``ensemble_`` whose trees have path lengths as values."""

    _keeps = (
        Columns(),
        Outputs(),
        Whole("n_rows_in_", 1, MAX_ROWS, noted=True),
        Record(
            "rules_",
            IsolationRules,
            (
                KeptSize("size"),
                Whole("plane_size", 1, "n_features_in_"),
                Whole("seed"),
            ),
        ),
        Flag("weighted_", noted=True),
        Real("offset_", -1.0, 0.0),
        Numbers("training_scores_", noted=True),
        KeptPaths(),
    )

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

    @classmethod
    def _check_fit(cls, state: State) -> None:
        rules: IsolationRules = state["rules_"]
        n_rows = state["n_rows_in_"]
        whole(vars(rules.size), "n_rows", 1, n_rows)
        state["seed_"], state["max_samples_"] = rules.seed, rules.n_rows
        scores, trees = state["training_scores_"], state["ensemble_"].trees
        if (scores[1:] < scores[:-1]).any():
            raise ModelFileError("The scores of the training rows must be finite and ascend.")
        if not trees or any(tree.n_samples[0] != rules.n_rows for tree in trees):
            raise ModelFileError(f"A tree has not seen {rules.n_rows} rows, as it should.")
        state.setdefault("_weight", None)
        check_weight(state, n_rows)

"""What the isolation forest inherits to be saved, loaded and unpickled safely."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hornbeam.dtypes import MAX_ROWS, Array
from hornbeam.errors import ModelFileError
from hornbeam.forest.isolation_growth import IsolationRules
from hornbeam.model.kept import (
    Columns,
    Flag,
    KeptSize,
    NumberArray,
    Outputs,
    Real,
    Record,
    State,
    Whole,
)
from hornbeam.model.savable import Savable
from hornbeam.model.state import check_weight, whole
from hornbeam.tree.ensemble import Ensemble
from hornbeam.tree.savable import KeptEnsemble


class KeptPaths(KeptEnsemble):
    """Trees whose values are path lengths, with planes where the rules say so."""

    def _with_planes(self, state: Mapping[str, Any]) -> bool:
        return bool(state["rules_"].plane_size > 1)


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
        Whole("seed_", noted=True),
        Whole("max_samples_", noted=True),
        Flag("weighted_", noted=True),
        Real("offset_", -1.0, 0.0),
        NumberArray("training_scores_", noted=True),
        KeptPaths(),
    )

    ensemble_: Ensemble
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
        whole(state, "seed_", rules.seed, rules.seed)
        whole(state, "max_samples_", rules.n_rows, rules.n_rows)
        scores, trees = state["training_scores_"], state["ensemble_"].trees
        if (scores[1:] < scores[:-1]).any():
            raise ModelFileError("The scores of the training rows must be finite and ascend.")
        seen = trees.nodes.n_samples[trees.node_start[:-1]]
        if not len(trees) or state["ensemble_"].n_scores != 1 or (seen != rules.n_rows).any():
            raise ModelFileError(f"A tree has not seen {rules.n_rows} rows, as it should.")
        state.setdefault("_weight", None)
        check_weight(state, n_rows)

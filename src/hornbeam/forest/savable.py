"""What a forest inherits to be saved, loaded and unpickled safely."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hornbeam.dtypes import MAX_ROWS, Array
from hornbeam.errors import ModelFileError
from hornbeam.forest.bags import Bags
from hornbeam.forest.calibration import check_levels
from hornbeam.forest.quantiles import LeafSamples
from hornbeam.forest.store import STORE_FIELDS, ForestStore
from hornbeam.forest.validate import check_pickled, store_of
from hornbeam.kernels.state import CATEGORY_CODES
from hornbeam.model.arrays import checked_array
from hornbeam.model.entries import take_array
from hornbeam.model.kept import (
    Columns,
    Contents,
    Kept,
    NumberArray,
    Outputs,
    Real,
    Record,
    State,
    Text,
    Whole,
    n_values_of,
)
from hornbeam.model.savable import Savable
from hornbeam.model.state import check_shares
from hornbeam.tree.validate import Known

SAMPLE_PARTS = (
    NumberArray("values"),
    NumberArray("first", np.int64),
    NumberArray("rank", np.int32),
    NumberArray("share", np.float32),
)


@dataclass(frozen=True)
class KeptStore(Kept):
    """The trees of a forest, and the relative gain of each feature in each of them."""

    name: str = "store_"

    def _write(self, state: Mapping[str, Any], contents: Contents) -> None:
        arrays = state[self.name].arrays()
        contents.arrays |= {f"forest.{name}": arrays[name] for name in arrays}

    def _read(self, contents: Contents, state: State) -> None:
        found = {name: take_array(contents.arrays, f"forest.{name}") for name in STORE_FIELDS}
        state[self.name] = store_of(found, "classes_" in state or n_values_of(state) > 1)

    def _check(self, cls: type, state: State) -> None:
        store, n_values = state.get(self.name), n_values_of(state)
        if not isinstance(store, ForestStore):
            raise ModelFileError("The pickled forest has a store_ that is none.")
        store = state[self.name] = check_pickled(store, Known.by(state["schema_"], n_values))
        if store.by_table != ("classes_" in state or n_values > 1):
            raise ModelFileError("The leaves do not predict what the forest does.")
        for name in ("table", "inner_value"):
            check_shares(state, getattr(store, name), name)


class SavableForest(Savable):
    """Mixin for forests with a ``store_`` of trees."""

    _keeps = (
        Columns(),
        Outputs(),
        Whole("n_rows_in_", 1, MAX_ROWS, noted=True),
        Whole("n_draws_", 0, MAX_ROWS, noted=True),
        Whole("min_samples_split_", 2, noted=True),
        Whole("max_features_", 1, "n_features_in_", noted=True),
        Whole("seed_", 0, 2**63 - 1, noted=True),
        Text("category_split_", CATEGORY_CODES, noted=True),
        KeptStore(),
        NumberArray("tree_gains_", ndim=2, noted=True),
        Real("oob_score_", optional=True, noted=True),
        Record("leaf_samples_", LeafSamples, SAMPLE_PARTS, optional=True, noted=True),
        NumberArray("calibration_", optional=True),
    )

    store_: ForestStore
    tree_gains_: Array
    leaf_samples_: LeafSamples  # only if they were asked for
    calibration_: Array  # only if it was asked for
    seed_: int
    n_rows_in_: int
    n_draws_: int
    min_samples_split_: int
    max_features_: int
    category_split_: str
    n_features_in_: int
    classes_: Any
    n_classes_: Any

    @classmethod
    def _check_fit(cls, state: State) -> None:
        store: ForestStore = state["store_"]
        expected = (store.n_trees, state["n_features_in_"])
        if state["tree_gains_"].shape != expected:
            raise ModelFileError(f"gains must be {expected} finite numbers.")
        if "_bags" in state:
            _check_bags(state["_bags"], state)
        if "leaf_samples_" in state:
            _check_samples(state["leaf_samples_"], store)
        if "calibration_" in state:
            check_levels(state["calibration_"])


def _check_bags(bags: Any, state: State) -> None:
    """Bags draw rows of the training table, as the numbers beside them say."""
    facts = tuple(state[name] for name in ("seed_", "n_rows_in_", "n_draws_"))
    if not isinstance(bags, Bags) or (bags.seed, bags.n_rows, bags.n_draws) != facts:
        raise ModelFileError("_bags does not draw the rows of the trees.")
    if bags.drawable is not None:
        rows = checked_array(bags.drawable, "_bags.drawable", np.int64)
        if len(rows) == 0 or rows.min() < 0 or rows.max() >= bags.n_rows:
            raise ModelFileError("_bags draws rows that are not in the table.")


def _check_samples(samples: LeafSamples, store: ForestStore) -> None:
    """Training rows of the leaves: they lie where the values and the leaves are."""
    values, first, rank, share = samples.values, samples.first, samples.rank, samples.share
    sizes = np.diff(first)
    sound = (
        len(first) == store.n_nodes + 1
        and first[0] == 0
        and first[-1] == len(rank) == len(share)
        and np.all(sizes >= 0)
        and np.all(sizes[store.nodes["child"] < 0] > 0)
        and np.all((rank >= 0) & (rank < len(values)))
        and np.all((share > 0) & (share <= 1.0 + 1e-5))
        and np.all(values[1:] >= values[:-1])
    )
    if not sound:
        raise ModelFileError("The training rows of the leaves do not fit the trees.")

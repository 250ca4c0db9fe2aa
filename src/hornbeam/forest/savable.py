"""What a forest inherits to be saved, loaded and unpickled safely."""

from __future__ import annotations

from dataclasses import asdict, fields
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from hornbeam.dtypes import MAX_ROWS, STAT, Array
from hornbeam.errors import ModelFileError
from hornbeam.forest.calibration import check_levels
from hornbeam.forest.quantiles import LeafSamples
from hornbeam.forest.store import STORE_FIELDS, ForestStore
from hornbeam.forest.validate import check_pickled, check_store
from hornbeam.kernels.state import CATEGORY_CODES
from hornbeam.model.arrays import checked_array
from hornbeam.model.entries import take, take_array
from hornbeam.model.savable import SavableModel
from hornbeam.model.state import check_shares, finite_array, known_text, whole


class SavableForest(SavableModel):
    """Mixin for forests with a ``store_`` of trees."""

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

    def _model_header(self) -> dict[str, Any]:
        return {
            **super()._model_header(),
            "seed": int(self.seed_),
            "n_rows": int(self.n_rows_in_),
            "n_draws": int(self.n_draws_),
            "min_samples_split": int(self.min_samples_split_),
            "max_features": int(self.max_features_),
            "category_split": self.category_split_,
            "oob_score": self.__dict__.get("oob_score_"),
            "has_samples": "leaf_samples_" in self.__dict__,
        }

    def _model_arrays(self) -> dict[str, Array]:
        arrays = {f"forest.{name}": array for name, array in self.store_.arrays().items()}
        arrays["gains"] = self.tree_gains_
        if "leaf_samples_" in self.__dict__:
            samples = asdict(self.leaf_samples_)
            arrays |= {f"samples.{name}": array for name, array in samples.items()}
        if "calibration_" in self.__dict__:
            arrays["calibration"] = self.calibration_
        return {name: np.ascontiguousarray(array) for name, array in arrays.items()}

    @classmethod
    def _from_model(cls, header: dict[str, Any], arrays: dict[str, Array]) -> Any:
        forest, n_values = cls._from_header(header)
        forest.seed_ = take(header, "seed", int)
        forest.n_rows_in_ = take(header, "n_rows", int)
        forest.n_draws_ = take(header, "n_draws", int)
        forest.min_samples_split_ = take(header, "min_samples_split", int)
        forest.max_features_ = take(header, "max_features", int)
        forest.category_split_ = take(header, "category_split", str)
        found = {name: take_array(arrays, f"forest.{name}") for name in STORE_FIELDS}
        forest.store_ = _checked_store(forest, found, n_values)
        forest.tree_gains_ = take_array(arrays, "gains")
        oob_score = take(header, "oob_score", float, type(None))
        if oob_score is not None:
            forest.oob_score_ = oob_score
        if take(header, "has_samples", bool):
            names = [field.name for field in fields(LeafSamples)]
            samples = {name: take_array(arrays, f"samples.{name}") for name in names}
            forest.leaf_samples_ = LeafSamples(**samples)
        if "calibration" in arrays:
            forest.calibration_ = take_array(arrays, "calibration")
        _check_numbers(vars(forest))
        return forest

    @classmethod
    def _check_pickled(cls, state: dict[str, Any]) -> None:
        store, schema = state.get("store_"), state["schema_"]
        if not isinstance(store, ForestStore):
            raise ModelFileError("The pickled forest has a store_ that is none.")
        kinds = schema.n_categories, schema.is_category
        n_values = int(np.sum(state.get("n_classes_", state["n_outputs_"])))
        state["store_"] = check_pickled(store, schema.n_features, n_values, *kinds)
        _check_numbers(state)


def _checked_store(forest: Any, arrays: dict[str, Array], n_values: int) -> ForestStore:
    schema = forest.schema_
    by_table = is_classifier(forest) or n_values > 1
    return check_store(
        arrays, by_table, schema.n_features, n_values, schema.n_categories, schema.is_category
    )


def _check_numbers(state: dict[str, Any]) -> None:
    """What is neither in the header's common part nor in the store."""
    store, n_features = state["store_"], state["schema_"].n_features
    whole(state, "n_rows_in_", 1, MAX_ROWS)
    whole(state, "n_draws_", 0, MAX_ROWS)
    whole(state, "min_samples_split_", 2, 2**31 - 1)
    whole(state, "max_features_", 1, n_features)
    whole(state, "seed_", 0, 2**63 - 1)
    known_text(state, "category_split_", CATEGORY_CODES)
    if store.by_table != ("classes_" in state or store.n_values > 1):
        raise ModelFileError("The leaves do not predict what the forest does.")
    for name in ("table", "inner_value"):
        check_shares(state, getattr(store, name), name)
    expected = (store.n_trees, n_features)
    if finite_array(state.get("tree_gains_"), "gains", 2).shape != expected:
        raise ModelFileError(f"gains must be {expected} finite numbers.")
    if not isinstance(state.get("oob_score_", 0.0), Real):
        raise ModelFileError("The score of the rows out of the bag is no number.")
    if "leaf_samples_" in state:
        _check_samples(state["leaf_samples_"], store)
    if "calibration_" in state:
        check_levels(state["calibration_"])


def _check_samples(samples: Any, store: ForestStore) -> None:
    """Training rows of the leaves: they lie where the values and the leaves are."""
    if not isinstance(samples, LeafSamples):
        raise ModelFileError("leaf_samples_ is not what a forest keeps of its leaves.")
    values = checked_array(samples.values, "samples.values", STAT)
    first = checked_array(samples.first, "samples.first", np.int64)
    rank = checked_array(samples.rank, "samples.rank", np.int32)
    share = checked_array(samples.share, "samples.share", np.float32)
    sizes = np.diff(first)
    sound = (
        len(first) == store.n_nodes + 1
        and first[0] == 0
        and first[-1] == len(rank) == len(share)
        and np.all(sizes >= 0)
        and np.all(sizes[store.nodes["child"] < 0] > 0)
        and np.all((rank >= 0) & (rank < len(values)))
        and np.all((share > 0) & (share <= 1.0 + 1e-5))
        and np.isfinite(values).all()
        and np.all(values[1:] >= values[:-1])
    )
    if not sound:
        raise ModelFileError("The training rows of the leaves do not fit the trees.")

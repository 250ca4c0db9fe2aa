"""What a boosting estimator inherits to be saved, loaded and unpickled safely."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hornbeam.boosting.calibration import check_shifts
from hornbeam.boosting.defaults import GROWTHS
from hornbeam.boosting.linear import MISSING, LinearRounds, LinearTerms
from hornbeam.dtypes import STAT, Array
from hornbeam.errors import ModelFileError
from hornbeam.losses import LINKS, OwnLoss
from hornbeam.model.arrays import checked_array
from hornbeam.model.entries import take, take_array
from hornbeam.model.kept import (
    Columns,
    Contents,
    Kept,
    NumberArray,
    Outputs,
    Real,
    State,
    Text,
    Whole,
)
from hornbeam.model.pickles import Pickles
from hornbeam.model.savable import Savable
from hornbeam.model.state import finite_array
from hornbeam.model.values import DECODERS, ENCODERS, decode_value, encode_value
from hornbeam.tree.ensemble import Ensemble
from hornbeam.tree.savable import KeptEnsemble


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


@dataclass(frozen=True)
class KeptHistory(Kept):
    """What the losses were after each round, by name."""

    name: str = "history_"
    noted: bool = True

    def _write(self, state: Mapping[str, Any], contents: Contents) -> None:
        losses = {name: list(map(float, v)) for name, v in state[self.name].items()}
        contents.header[self.key] = losses

    def _read(self, contents: Contents, state: State) -> None:
        found = take(contents.header, self.key, dict)
        for name, losses in found.items():
            if not isinstance(losses, list) or not all(type(loss) is float for loss in losses):
                raise ModelFileError(f"The history {name[:60]!r} is not a list of numbers.")
        state[self.name] = {name: np.array(losses) for name, losses in found.items()}

    def _check(self, cls: type, state: State) -> None:
        history = state.get(self.name)
        if not isinstance(history, dict) or not all(isinstance(name, str) for name in history):
            raise ModelFileError("The history of the losses is none.")
        for name, losses in history.items():
            checked_array(losses, f"history {name[:60]!r}", STAT)


@dataclass(frozen=True)
class KeptLinear(Kept):
    """The rounds of a linear model, which are its ensemble."""

    name: str = "linear_"
    optional: bool = True

    def _write(self, state: Mapping[str, Any], contents: Contents) -> None:
        linear = state[self.name]
        contents.arrays |= {f"{self.key}.{k}": v for k, v in linear.terms._asdict().items()}
        contents.arrays[f"{self.key}.path"] = linear.path.ravel()

    def _read(self, contents: Contents, state: State) -> None:
        names = LinearTerms._fields
        fields = [take_array(contents.arrays, f"{self.key}.{name}") for name in names]
        path = np.asarray(take_array(contents.arrays, f"{self.key}.path"))
        start = state["ensemble_"].start
        shape = (-1, len(start), np.size(fields[0]) + 1)
        if path.size % (shape[1] * shape[2]):
            raise ModelFileError("The arrays of the linear model do not fit each other.")
        state[self.name] = LinearRounds(LinearTerms(*fields), path.reshape(shape), start)

    def _check(self, cls: type, state: State) -> None:
        linear = state[self.name]
        if not isinstance(linear, LinearRounds) or not isinstance(linear.terms, LinearTerms):
            raise ModelFileError("The pickled model has a linear_ that is none.")
        start, schema = state["ensemble_"].start, state["schema_"]
        feature = checked_array(linear.terms.feature, "linear feature", np.int32)
        kind = checked_array(linear.terms.kind, "linear kind", np.int32)
        fill = finite_array(linear.terms.fill, "linear fill")
        spread = finite_array(linear.terms.spread, "linear spread")
        path = finite_array(linear.path, "linear path", 3)
        n_terms, n_features = len(feature), schema.n_features
        fits = len(kind) == len(spread) == n_terms and len(fill) == n_features
        if not fits or path.shape[1:] != (len(start), n_terms + 1):
            raise ModelFileError("The arrays of the linear model do not fit each other.")
        if n_terms and not 0 <= feature.min() <= feature.max() < n_features:
            raise ModelFileError("The linear model asks a feature that is not there.")
        most = np.where(schema.is_category, schema.n_categories, 0)[feature]
        listed = kind >= 0
        if (kind < MISSING).any() or (kind[listed] >= most[listed]).any():
            raise ModelFileError("The linear model asks a category that is not there.")
        terms = LinearTerms(feature, kind, fill, spread)
        state[self.name] = state["ensemble_"] = LinearRounds(terms, path, start)


@dataclass(frozen=True)
class KeptBundles(Kept):
    """Which features shared a column of codes, bundle by bundle."""

    name: str = "bundles_"
    noted: bool = True

    def _write(self, state: Mapping[str, Any], contents: Contents) -> None:
        contents.header[self.key] = [[int(f) for f in bundle] for bundle in state[self.name]]

    def _read(self, contents: Contents, state: State) -> None:
        state[self.name] = take(contents.header, self.key, list)

    def _check(self, cls: type, state: State) -> None:
        bundles, features = state.get(self.name), set(range(state["schema_"].n_features))
        if not isinstance(bundles, list):
            raise ModelFileError("The bundles of the features are no list.")
        for bundle in bundles:
            known = isinstance(bundle, list) and all(type(feature) is int for feature in bundle)
            if not known or len(bundle) < 2 or bundle != sorted(features.intersection(bundle)):
                raise ModelFileError("A bundle of features holds what is no feature, or too few.")


class SavableBoosting(Savable):
    """Mixin for models with an ``ensemble_`` of trees that have one value per node."""

    _keeps = (
        Columns(),
        Outputs(),
        Text("link_", LINKS),
        Whole("n_iter_", noted=True),
        Whole("seed_", noted=True),
        Real("learning_rate_", 0.0, is_open=True, noted=True),
        Text("growth_", GROWTHS, noted=True, optional=True),
        Real("colsample_bynode_", 0.0, 1.0, is_open=True, noted=True, optional=True),
        KeptHistory(),
        KeptBundles(),
        KeptEnsemble(),
        KeptLinear(),
        NumberArray("calibration_", optional=True),
    )

    ensemble_: Ensemble
    link_: str
    n_iter_: int
    learning_rate_: float
    growth_: str
    colsample_bynode_: float
    bundles_: list[list[int]]
    calibration_: Array  # only if it was asked for

    @classmethod
    def _check_fit(cls, state: State) -> None:
        """Sizes that must fit each other, or predictions would read beside their arrays."""
        ensemble, n_rounds, n_classes = (
            state["ensemble_"],
            state["n_iter_"],
            state.get("n_classes_"),
        )
        n_trees, n_scores = ensemble.n_trees, ensemble.n_scores
        if isinstance(ensemble, LinearRounds):
            if ensemble.n_rounds != n_rounds:
                raise ModelFileError(
                    f"The linear model has {ensemble.n_rounds} rounds, not {n_rounds}."
                )
        elif state.get("growth_") is None or state.get("colsample_bynode_") is None:
            raise ModelFileError("The model does not say how its trees were grown.")
        elif n_trees != n_rounds * n_scores:
            raise ModelFileError(
                f"The model has {n_trees} trees, not {n_scores} for each of {n_rounds} rounds."
            )
        if n_classes is not None and n_scores not in _scores_of_classes(n_classes):
            raise ModelFileError(f"{n_scores} scores do not tell {n_classes} classes apart.")
        if "calibration_" in state:
            shifts = check_shifts(state["calibration_"], state["link_"], n_scores)
            state["calibration_"] = shifts


def _scores_of_classes(n_classes: int) -> tuple[int, ...]:
    return (1, 2) if n_classes <= 2 else (n_classes, n_classes - 1)

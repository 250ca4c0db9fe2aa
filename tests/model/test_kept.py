"""What a fit leaves behind, declared: written, read, checked and digested in one way."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from hornbeam.errors import ModelFileError
from hornbeam.model.kept import (
    Contents,
    Flag,
    Kept,
    KeptMembers,
    NumberArray,
    Outputs,
    Real,
    Record,
    Text,
    Whole,
)
from hornbeam.model.modelfile import load_model_bytes, model_bytes
from hornbeam.model.registry import register_estimator
from hornbeam.model.savable import Savable

pytestmark = pytest.mark.quick


@dataclass(frozen=True)
class Pair:
    size: int
    names: np.ndarray


PARTS = (Whole("size", 1, "count_"), NumberArray("names", np.int64))


class Base(Savable, BaseEstimator):
    def fit(self, X: Any, y: Any) -> Base:
        raise NotImplementedError


@register_estimator
class Keeper(Base):
    """Keeps one thing of each kind."""

    _keeps = (
        Whole("count_", 1, 9),
        Real("rate_", 0.0, 1.0, is_open=True),
        Text("way_", ("left", "right")),
        Flag("is_done_", noted=True),
        NumberArray("sums_"),
        NumberArray("codes_", np.uint8, 2, optional=True),
        Record("pair_", Pair, PARTS),
        KeptMembers(),
    )

    @classmethod
    def _check_fit(cls, state: dict[str, Any]) -> None:
        if len(state["sums_"]) != state["count_"]:
            raise ModelFileError("There must be a sum for each.")


def keeper(**changes: Any) -> Keeper:
    model = Keeper()
    good: dict[str, Any] = {
        "count_": 3,
        "rate_": 0.5,
        "way_": "left",
        "is_done_": True,
        "sums_": np.array([1.0, 2.0, 3.0]),
        "pair_": Pair(2, np.arange(4)),
        "estimators_": [small()],
    }
    vars(model).update(good | changes)
    return model


@register_estimator
class Small(ClassifierMixin, Base):
    _keeps = (Whole("n_features_in_", 1), Outputs(is_single="classifiers"))


def small() -> Small:
    model = Small()
    model.n_features_in_, model.classes_, model.n_classes_ = 2, np.array(["a", "b"]), 2
    return model


@pytest.mark.parametrize("changes", [{}, {"codes_": np.ones((2, 2), np.uint8)}])
def test_everything_comes_back(changes: dict[str, Any]) -> None:
    model = keeper(**changes)
    data = model_bytes(model)
    for again in (load_model_bytes(data), pickle.loads(pickle.dumps(model))):
        assert vars(again).keys() == vars(model).keys()
        assert model_bytes(again) == data and again.digest() == model.digest()
        assert again.pair_.names.tolist() == [0, 1, 2, 3]
        assert again.estimators_[0].classes_.tolist() == ["a", "b"]
        assert not hasattr(again.estimators_[0], "n_outputs_")


def test_the_digest_speaks_of_all_but_notes() -> None:
    other = small()
    other.n_features_in_ = 3
    changes: list[dict[str, Any]] = [
        {},
        {"count_": 4},
        {"rate_": 0.25},
        {"way_": "right"},
        {"sums_": np.array([1.0, 2.0, -3.0])},
        {"sums_": np.array([1.0, 2.0])},
        {"codes_": np.ones((2, 2), np.uint8)},
        {"pair_": Pair(1, np.arange(4))},
        {"pair_": Pair(2, np.arange(5))},
        {"estimators_": [other]},
        {"estimators_": [small(), small()]},
    ]
    assert len({keeper(**change).digest() for change in changes}) == len(changes)
    assert keeper(is_done_=False).digest() == keeper().digest()
    with pytest.raises(TypeError, match="Member 0 is a object"):
        keeper(estimators_=[object()]).digest()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"count_": 0}, "count_ cannot be 0"),
        ({"count_": 10}, "count_ cannot be 10"),
        ({"count_": 4}, "a sum for each"),
        ({"rate_": 0.0}, "rate_ cannot be 0.0: it is above"),
        ({"rate_": 1.5}, r"rate_ cannot be 1\.5"),
        ({"rate_": np.nan}, "rate_ cannot be nan"),
        ({"way_": "up"}, "no way 'up'"),
        ({"sums_": np.array([1.0, np.inf, 2.0])}, "sums holds a number that is not finite"),
        ({"sums_": np.ones((3, 1))}, "dimensions"),
        ({"codes_": np.ones(3, np.uint8)}, "dimensions"),
        ({"pair_": Pair(4, np.arange(4))}, "size cannot be 4"),
        ({"estimators_": []}, "no members"),
    ],
)
def test_what_no_fit_leaves_is_refused_from_files_and_pickles(
    changes: dict[str, Any], sentence: str
) -> None:
    model = keeper(**changes)
    for write, read in ((model_bytes, load_model_bytes), (pickle.dumps, pickle.loads)):
        with pytest.raises(ModelFileError, match=sentence):
            read(write(model))  # type: ignore[operator]


@pytest.mark.parametrize("kept", Keeper._keeps)
def test_what_is_missing_is_noticed(kept: Kept) -> None:
    state = {name: value for name, value in vars(keeper()).items() if name != kept.name}
    if kept.optional:
        Keeper().__setstate__(state)
        return
    with pytest.raises(ModelFileError):
        Keeper().__setstate__(state)
    contents = keeper()._model_contents()
    contents.header = {name: contents.header[name] for name in contents.header if name != kept.key}
    contents.arrays = {
        name: array for name, array in contents.arrays.items() if name.split(".")[0] != kept.key
    }
    if isinstance(kept, KeptMembers):
        contents.members = []
    with pytest.raises(ModelFileError):
        Keeper._from_contents(contents)


def test_a_record_takes_all_that_is_its_own_and_no_more() -> None:
    contents = Contents({"pair": {"size": 1, "more": 2}}, {"pair.names": np.arange(2)})
    record = Record("pair_", Pair, PARTS)
    with pytest.raises(ModelFileError, match="pair has an entry too many: 'more'"):
        record.read(contents, {})
    contents = Contents({"pair": {"size": 1}}, {"pair.names": np.arange(2), "pair.x": np.ones(1)})
    state: dict[str, Any] = {"count_": 1}
    record.read(contents, state)
    record.check(Keeper, state)
    assert list(contents.arrays) == ["pair.x"] and not contents.header
    with pytest.raises(ModelFileError, match="pair_ is no Pair"):
        record.check(Keeper, {"count_": 1, "pair_": (1, 2)})

"""The mixin that makes tree estimators savable, on estimators that cannot train."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model.handmade import pairs, steps, weather
from model.test_modelfile import forged, header_of
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError

from hornbeam.errors import ModelFileError
from hornbeam.model.kept import Contents
from hornbeam.model.modelfile import load, load_model_bytes, model_bytes
from hornbeam.model.registry import register_estimator
from hornbeam.tree.savable import SavableTree, write_trees
from hornbeam.tree.storage import Trees


class Base(SavableTree, BaseEstimator):
    def __init__(self, depth: Any = None) -> None:
        self.depth = depth

    def fit(self, X: Any, y: Any) -> Base:
        raise NotImplementedError

    def like(self, other: Any) -> Any:
        for name in ("tree_", "schema_", "classes_", "n_classes_", "n_outputs_"):
            if hasattr(other, name):
                setattr(self, name, getattr(other, name))
        self.n_features_in_ = self.max_features_ = self.schema_.n_features
        self.feature_names_in_ = np.array(self.schema_.feature_names, dtype=object)
        return self


@register_estimator
class Classifier(ClassifierMixin, Base):
    pass


@register_estimator
class Regressor(RegressorMixin, Base):
    pass


def models() -> list[Any]:
    return [Classifier().like(weather()), Classifier(3).like(pairs()), Regressor().like(steps())]


@pytest.mark.parametrize("model", models())
def test_all_fitted_attributes_come_back(model: Any, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    for again in (load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert vars(again).keys() == vars(model).keys()
        assert again.tree_.digest() == model.tree_.digest()
        for name in set(vars(model)) - {"tree_"}:
            assert str(getattr(again, name)) == str(getattr(model, name)), name


def test_an_unfitted_model_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        Regressor().save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_pickle_is_noticed() -> None:
    model = Regressor().like(steps())
    model.tree_.feature[0] = 9
    with pytest.raises(ModelFileError, match=r"feature\[0\] is 9"):
        pickle.loads(pickle.dumps(model))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("n_outputs", 0, "n_outputs_ cannot be 0"),
        ("n_outputs", 2, "do not fit the outputs"),
        ("n_outputs", 2**40, "n_outputs_ cannot be"),
        ("classes", None, "do not fit the estimator"),
        ("classes", [], "do not fit the outputs"),
        ("classes", [["a", "b"]], "do not fit the outputs"),
        ("max_features", 0, "max_features_ cannot be 0"),
        ("max_features", 4, "max_features_ cannot be 4"),
        ("max_features", None, "is a NoneType, not int"),
    ],
)
def test_hostile_entries(key: str, value: Any, message: str) -> None:
    data = model_bytes(Classifier().like(weather()))
    model = {**header_of(data)["model"], key: value}
    with pytest.raises(ModelFileError, match=message):
        load_model_bytes(forged(data, model=model))


def test_two_trees_in_the_file_of_one() -> None:
    two = Contents()
    write_trees(Trees.of([weather().tree_] * 2), two)
    data = forged(model_bytes(Classifier().like(weather())), arrays=two.arrays)
    with pytest.raises(ModelFileError, match="holds 2"):
        load_model_bytes(data)

"""What an estimator inherits to be saved, loaded and unpickled safely."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from hornbeam.data.schema import Schema
from hornbeam.dtypes import Array
from hornbeam.errors import ModelFileError, contradictions
from hornbeam.output.modelfile import new_estimator, pack_trees, save_model, take, take_trees
from hornbeam.output.state import (
    check_classes,
    check_shares,
    checked_state,
    columns_of,
    has_model,
    whole,
)
from hornbeam.output.validate import validated_state
from hornbeam.tree.storage import Tree


class SavableModel:
    """What all savable estimators share; put a subclass before ``BaseEstimator``.

    It reads and sets the fitted attributes ``schema_``, ``classes_``, ``n_classes_``,
    ``n_outputs_``, ``n_features_in_`` and ``feature_names_in_``.
    """

    schema_: Schema
    n_outputs_: int

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file, whole or not at all.

        Parameters
        ----------
        path : str or path
            Where to; an existing file is replaced, also behind a symbolic link. What is no
            regular file (a pipe, a device, a link to nothing) is refused. `hornbeam.load`
            reads it.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        save_model(self, path)

    def _model_header(self) -> dict[str, Any]:
        return {
            "params": self.get_params(deep=False),  # type: ignore[attr-defined]
            "schema": self.schema_.to_dict(),
            "n_outputs": int(self.n_outputs_),
            "classes": _listed_classes(self),
        }

    @classmethod
    def _from_header(cls, header: dict[str, Any]) -> tuple[Any, int]:
        """An estimator that knows its schema and classes, and how many values it predicts."""
        estimator = new_estimator(cls, take(header, "params", dict))
        schema = estimator.schema_ = Schema.from_dict(take(header, "schema", dict))
        vars(estimator).update(columns_of(schema))
        return estimator, _set_outputs(estimator, header)

    @classmethod
    def _check_pickled(cls, state: dict[str, Any]) -> None:
        """Check what only models of this kind have; arrays that kernels read are made anew."""
        raise NotImplementedError

    def __setstate__(self, state: dict[str, Any]) -> None:
        with contradictions("The pickled model"):
            checked = checked_state(type(self), state)
            if has_model(checked):
                self._check_pickled(checked)
        super().__setstate__(checked)  # type: ignore[misc]


class SavableTree(SavableModel):
    """Mixin for estimators of one tree, ``tree_``, that have ``max_features_``."""

    _may_list = False  # see `validate_tree`

    tree_: Tree
    max_features_: int

    def _model_header(self) -> dict[str, Any]:
        return {**super()._model_header(), "max_features": int(self.max_features_)}

    def _model_arrays(self) -> dict[str, Array]:
        return pack_trees([self.tree_])

    @classmethod
    def _from_model(cls, header: dict[str, Any], arrays: dict[str, Array]) -> Any:
        estimator, n_values = cls._from_header(header)
        estimator.max_features_ = take(header, "max_features", int)
        whole(vars(estimator), "max_features_", 1, estimator.n_features_in_)
        own_branch = getattr(estimator, "missing", None) == "category"  # of ID3
        trees = take_trees(arrays, estimator.schema_, n_values, own_branch, cls._may_list)
        if len(trees) != 1:
            raise ModelFileError(f"The file of one tree holds {len(trees)}.")
        estimator.tree_ = trees[0]
        check_shares(vars(estimator), estimator.tree_.value, "value")
        cls._check_tree(estimator.tree_)
        return estimator

    @classmethod
    def _check_pickled(cls, state: dict[str, Any]) -> None:
        whole(state, "max_features_", 1, state["n_features_in_"])
        if "tree_" not in state:
            raise ModelFileError("The pickled model has no tree_.")
        state.update(validated_state(state, cls._may_list))
        check_shares(state, state["tree_"].value, "value")
        cls._check_tree(state["tree_"])

    @classmethod
    def _check_tree(cls, tree: Tree) -> None:
        """Check what only trees of this kind must be."""


def _listed_classes(estimator: Any) -> list[Array] | None:
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        return None
    return [classes] if estimator.n_outputs_ == 1 else list(classes)


def _set_outputs(estimator: Any, header: dict[str, Any]) -> int:
    """Set classes and number of outputs; return how many values a node predicts."""
    n_outputs: int = take(header, "n_outputs", int)
    classes = take(header, "classes", list, type(None))
    estimator.n_outputs_ = n_outputs
    if classes is not None:
        sizes = [np.size(names) for names in classes]
        single = len(sizes) == 1
        estimator.classes_ = classes[0] if single else classes
        estimator.n_classes_ = sizes[0] if single else np.array(sizes)
    whole(vars(estimator), "n_outputs_", 1, 2**31 - 1)
    check_classes(type(estimator), vars(estimator))
    return n_outputs if classes is None else int(np.sum(estimator.n_classes_))

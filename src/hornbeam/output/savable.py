"""What an estimator inherits to be saved, loaded and unpickled safely."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from hornbeam.data.schema import Schema
from hornbeam.dtypes import Array
from hornbeam.errors import ModelFileError
from hornbeam.output.modelfile import new_estimator, pack_trees, save_model, take, take_trees
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
        estimator.n_features_in_ = schema.n_features
        if schema.named:
            estimator.feature_names_in_ = np.array(schema.feature_names, dtype=object)
        return estimator, _set_outputs(estimator, header)


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
        if not 1 <= estimator.max_features_ <= estimator.n_features_in_:
            raise ModelFileError(f"max_features {estimator.max_features_} cannot be.")
        own_branch = getattr(estimator, "missing", None) == "category"  # of ID3
        trees = take_trees(arrays, estimator.schema_, n_values, own_branch, cls._may_list)
        if len(trees) != 1:
            raise ModelFileError(f"The file of one tree holds {len(trees)}.")
        estimator.tree_ = trees[0]
        return estimator

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(validated_state(state, self._may_list))  # type: ignore[misc]


def _listed_classes(estimator: Any) -> list[Array] | None:
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        return None
    return [classes] if estimator.n_outputs_ == 1 else list(classes)


def _set_outputs(estimator: Any, header: dict[str, Any]) -> int:
    """Set classes and number of outputs; return how many values a node predicts."""
    n_outputs: int = take(header, "n_outputs", int)
    classes = take(header, "classes", list, type(None))
    if n_outputs < 1 or is_classifier(estimator) != (classes is not None):
        raise ModelFileError("The classes do not fit the estimator.")
    estimator.n_outputs_ = n_outputs
    if classes is None:
        return n_outputs
    good = len(classes) == n_outputs and all(
        isinstance(names, np.ndarray) and names.ndim == 1 and len(names) for names in classes
    )
    if not good:
        raise ModelFileError("The classes do not fit the outputs.")
    sizes = [len(names) for names in classes]
    single = n_outputs == 1
    estimator.classes_ = classes[0] if single else classes
    estimator.n_classes_ = sizes[0] if single else np.array(sizes)
    return sum(sizes)

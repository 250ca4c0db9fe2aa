"""What an estimator inherits to be saved, loaded and unpickled safely."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from hornbeam.data.reader import columns_of
from hornbeam.data.schema import Schema
from hornbeam.dtypes import Array
from hornbeam.errors import contradictions
from hornbeam.model.entries import take
from hornbeam.model.modelfile import save_model
from hornbeam.model.registry import new_estimator
from hornbeam.model.state import check_classes, checked_state, has_model, whole


class Savable:
    """What saves itself and is unpickled with checks; put a subclass before ``BaseEstimator``."""

    def save(self, path: str | os.PathLike[str], *, allow_pickle: bool = False) -> None:
        """Write the fitted model to a file, whole or not at all.

        A model of a class of your own, made from this one, is read back as this one.

        Parameters
        ----------
        path : str or path
            Where to; an existing file is replaced, also behind a symbolic link. What is no
            regular file (a pipe, a device, a link to nothing) is refused. `hornbeam.load`
            reads it.
        allow_pickle : bool
            Whether estimators of other libraries inside the model (as members of bagging) are
            stored as pickles. Without it they are an error; with it, `hornbeam.load` needs
            ``allow_pickle=True`` too.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        save_model(self, path, allow_pickle=allow_pickle)

    @classmethod
    def _checked_state(cls, state: dict[str, Any]) -> dict[str, Any]:
        """The state of a fitted model with all that matters checked."""
        raise NotImplementedError

    def __setstate__(self, state: dict[str, Any]) -> None:
        with contradictions("The pickled model"):
            checked = self._checked_state(state) if has_model(state) else state
        super().__setstate__(checked)  # type: ignore[misc]


class SavableModel(Savable):
    """What all savable estimators of trees share.

    It reads and sets the fitted attributes ``schema_``, ``classes_``, ``n_classes_``,
    ``n_outputs_``, ``n_features_in_`` and ``feature_names_in_``.
    """

    schema_: Schema
    n_outputs_: int

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

    @classmethod
    def _checked_state(cls, state: dict[str, Any]) -> dict[str, Any]:
        checked = checked_state(cls, state)
        cls._check_pickled(checked)
        return checked


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

"""What an estimator inherits to be saved, loaded, unpickled and digested.

The class says what a fit leaves behind (`hornbeam.model.kept`)::

    _keeps = (Columns(), Outputs(), Whole("seed_", noted=True), ...)

and, where one thing must fit another, what a fit could have left, for files and pickles alike::

    @classmethod
    def _check_fit(cls, state): ...
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import IO, Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hornbeam.errors import contradictions
from hornbeam.model.entries import take
from hornbeam.model.kept import Contents, Kept
from hornbeam.model.modelfile import save_model
from hornbeam.model.registry import is_registered, new_estimator
from hornbeam.model.state import checked_params, has_model


class Savable:
    """What saves itself and is unpickled with checks; put a subclass before ``BaseEstimator``."""

    _keeps: ClassVar[tuple[Kept, ...]] = ()

    def save(self, path: str | os.PathLike[str] | IO[bytes], *, allow_pickle: bool = False) -> None:
        """Write the fitted model to a file, whole or not at all.

        A model of a class of your own, made from this one, is read back as this one.

        Parameters
        ----------
        path : str, path or file
            Where to: a file opened with mode "wb", such as an `io.BytesIO`, gets the bytes. An
            existing file is replaced, also behind a symbolic link. What is no
            regular file (a pipe, a device, a link to nothing) is refused. `hornbeam.load`
            reads it.
        allow_pickle : bool
            Whether estimators of other libraries inside the model (as members of bagging) are
            stored as pickles. Without it they are an error; with it, `hornbeam.load` needs
            ``allow_pickle=True`` too.
        """
        check_is_fitted(self)
        save_model(self, path, allow_pickle=allow_pickle)

    def digest(self) -> str:
        """Return a SHA-256 of the model: equal digests mean equal models, bit for bit.

        It speaks of what a model file would hold, but for the parameters, the schema and notes
        on how the fit went. Members of other libraries have no digest, since pickles of equal
        models may differ.
        """
        check_is_fitted(self)
        contents = Contents()
        for kept in self._keeps:
            if not kept.noted:
                kept.write(vars(self), contents)
        state = hashlib.sha256(repr(_plain(contents.header)).encode())
        for name in sorted(contents.arrays):
            array = np.ascontiguousarray(contents.arrays[name])
            little = array.astype(array.dtype.newbyteorder("<"), copy=False)
            state.update(f"{name}:{array.dtype.str[1:]}:{array.shape};".encode())
            state.update(little.tobytes())
        for number, member in enumerate(contents.members):
            if not is_registered(member):
                raise TypeError(
                    f"Member {number} is a {type(member).__name__}, which is not one of hornbeam's "
                    "estimators and has no digest. Compare what the models predict."
                )
            state.update(member.digest().encode())
        return state.hexdigest()

    def _model_contents(self) -> Contents:
        """What a model file says of the model."""
        check_is_fitted(self)
        contents = Contents({"params": self.get_params(deep=False)})  # type: ignore[attr-defined]
        for kept in self._keeps:
            kept.write(vars(self), contents)
        return contents

    @classmethod
    def _from_contents(cls, contents: Contents) -> Any:
        """Take a fitted model out of the contents of a file."""
        estimator = new_estimator(cls, take(contents.header, "params", dict))
        state = vars(estimator)
        for kept in cls._keeps:
            kept.read(contents, state)
        cls._check_state(state)
        return estimator

    @classmethod
    def _check_state(cls, state: dict[str, Any]) -> None:
        """Raise unless a fit could have left this; arrays that kernels read are made anew."""
        for kept in cls._keeps:
            kept.check(cls, state)
        cls._check_fit(state)

    @classmethod
    def _check_fit(cls, state: dict[str, Any]) -> None:
        """Check what must fit each other, and add what follows from what is kept."""

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        checked = dict(state)
        with contradictions("The pickled model"):
            if has_model(state):
                checked |= checked_params(type(self), state)
                self._check_state(checked)
        super().__setstate__(checked)  # type: ignore[misc]


def _plain(value: Any) -> Any:
    """A value of a header as one that `repr` writes exactly, and equal ones the same."""
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, Mapping):
        return sorted((key, _plain(item)) for key, item in value.items())
    return [_plain(item) for item in value] if isinstance(value, list) else value

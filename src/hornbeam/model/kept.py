"""What a fit leaves behind, declared: how it is written, read, checked and digested.

An estimator lists what it keeps in ``_keeps``, and `hornbeam.model.savable.Savable` does the rest,
for files, pickles and digests. Each thing kept knows its way into the `Contents` of a model file
and out of them, the check that a file and a pickle both pass, and whether the digest speaks of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from numbers import Real as RealNumber
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from hornbeam.data.reader import columns_of
from hornbeam.data.sampling import SampleSize
from hornbeam.data.schema import Schema
from hornbeam.dtypes import STAT, Array
from hornbeam.errors import ModelFileError
from hornbeam.model.arrays import checked_array
from hornbeam.model.entries import take, take_array
from hornbeam.model.state import (
    check_classes,
    check_sample_size,
    check_weight,
    finite_array,
    known_text,
    real,
    whole,
)

State = dict[str, Any]  # the ``__dict__`` of an estimator
_MOST = 2**31 - 1


@dataclass
class Contents:
    """What a model file says of one model; whoever reads takes out, and nothing may be left.

    Attributes
    ----------
    header : dict
        Values that `values.encode_value` can write.
    arrays : dict of str to array
    members : list
        Fitted models.
    """

    header: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)
    members: list[Any] = field(default_factory=list)

    def holds(self, key: str) -> bool:
        """Whether there is an entry or an array of this name, or of a part of it."""
        return key in self.header or any(
            name == key or name.startswith(f"{key}.") for name in self.arrays
        )


@dataclass(frozen=True)
class Kept:
    """One attribute that a fit leaves behind.

    Parameters
    ----------
    name : str
        The attribute.
    optional : bool
        Whether some fits do not leave it behind.
    noted : bool
        It says how the fit went or what was asked for, not what the model is: models that
        differ in nothing else have one digest.
    """

    name: str
    _: KW_ONLY
    optional: bool = False
    noted: bool = False

    @property
    def key(self) -> str:
        """Its name in a model file."""
        return self.name.strip("_")

    def write(self, state: Mapping[str, Any], contents: Contents) -> None:
        """Put it into the contents of a file, if this fit has left it behind."""
        if self._is_in(state):
            self._write(state, contents)

    def read(self, contents: Contents, state: State) -> None:
        """Take it out of the contents of a file, as it is: `check` comes afterwards."""
        if not self.optional or contents.holds(self.key):
            self._read(contents, state)

    def check(self, cls: type, state: State) -> None:
        """Raise unless a fit of this class could have left it; may put a new copy in its place."""
        if self._is_in(state):
            self._check(cls, state)

    def _is_in(self, state: Mapping[str, Any]) -> bool:
        """Whether it is there, or must be."""
        return not self.optional or state.get(self.name) is not None

    # what each kind does in its own way

    def _write(self, state: Mapping[str, Any], contents: Contents) -> None:
        contents.header[self.key] = state[self.name]

    def _read(self, contents: Contents, state: State) -> None:
        raise NotImplementedError

    def _check(self, cls: type, state: State) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class Whole(Kept):
    """A whole number; a limit may be the name of another attribute."""

    least: int | str = 0
    most: int | str = _MOST

    def _write(self, state: Mapping[str, Any], contents: Contents) -> None:
        contents.header[self.key] = int(state[self.name])

    def _read(self, contents: Contents, state: State) -> None:
        state[self.name] = take(contents.header, self.key, int)

    def _check(self, cls: type, state: State) -> None:
        least, most = (
            state[limit] if isinstance(limit, str) else limit for limit in (self.least, self.most)
        )
        state[self.name] = whole(state, self.name, least, most)


@dataclass(frozen=True)
class Real(Kept):
    """A number; with ``is_open`` it is not the least one itself, and without a least one any."""

    least: float | None = -float(np.finfo(STAT).max)
    most: float = float(np.finfo(STAT).max)
    is_open: bool = False

    def _write(self, state: Mapping[str, Any], contents: Contents) -> None:
        contents.header[self.key] = float(state[self.name])

    def _read(self, contents: Contents, state: State) -> None:
        state[self.name] = take(contents.header, self.key, float)

    def _check(self, cls: type, state: State) -> None:
        if self.least is None:
            if not isinstance(state.get(self.name), RealNumber):
                raise ModelFileError(f"{self.name} is no number.")
            return
        number = real(state, self.name, self.least, self.most)
        if self.is_open and number == self.least:
            raise ModelFileError(f"{self.name} cannot be {number}: it is above that.")


@dataclass(frozen=True)
class Text(Kept):
    """One of some names."""

    known: Iterable[str] = ()

    def _read(self, contents: Contents, state: State) -> None:
        state[self.name] = take(contents.header, self.key, str)

    def _check(self, cls: type, state: State) -> None:
        known_text(state, self.name, self.known)


@dataclass(frozen=True)
class Flag(Kept):
    """True or False."""

    def _write(self, state: Mapping[str, Any], contents: Contents) -> None:
        contents.header[self.key] = bool(state[self.name])

    def _read(self, contents: Contents, state: State) -> None:
        state[self.name] = take(contents.header, self.key, bool)

    def _check(self, cls: type, state: State) -> None:
        if not isinstance(state.get(self.name), bool):
            raise ModelFileError(
                f"{self.name} cannot be {state.get(self.name)!r:.60}: it is True or False."
            )


@dataclass(frozen=True)
class NumberArray(Kept):
    """An array; of floats they are finite unless ``may_lack`` some."""

    dtype: type[np.generic] = STAT
    ndim: int = 1
    may_lack: bool = False

    def _write(self, state: Mapping[str, Any], contents: Contents) -> None:
        contents.arrays[self.key] = np.asarray(state[self.name], self.dtype)

    def _read(self, contents: Contents, state: State) -> None:
        state[self.name] = take_array(contents.arrays, self.key)

    def _check(self, cls: type, state: State) -> None:
        array = state.get(self.name)
        if np.dtype(self.dtype) == np.dtype(STAT) and not self.may_lack:
            state[self.name] = finite_array(array, self.key, self.ndim)
        else:
            state[self.name] = checked_array(array, self.key, self.dtype, self.ndim)


@dataclass(frozen=True)
class Record(Kept):
    """A dataclass of things that are kept; their limits may name attributes of the estimator."""

    cls: type = object
    parts: tuple[Kept, ...] = ()

    def _write(self, state: Mapping[str, Any], contents: Contents) -> None:
        inside, fields = Contents(), vars(state[self.name])
        for part in self.parts:
            part.write(fields, inside)
        if inside.header:
            contents.header[self.key] = inside.header
        contents.arrays |= {f"{self.key}.{name}": inside.arrays[name] for name in inside.arrays}

    def _read(self, contents: Contents, state: State) -> None:
        start = f"{self.key}."
        own = [name for name in contents.arrays if name.startswith(start)]
        inside = Contents(arrays={name.removeprefix(start): contents.arrays[name] for name in own})
        if self.key in contents.header:
            inside.header = take(contents.header, self.key, dict)
        fields: State = {}
        for part in self.parts:
            part.read(inside, fields)
        if inside.header:
            raise ModelFileError(f"{self.key} has an entry too many: {sorted(inside.header)[0]!r}.")
        for name in own:
            if name.removeprefix(start) not in inside.arrays:
                del contents.arrays[name]
        state[self.name] = self.cls(**fields)

    def _check(self, cls: type, state: State) -> None:
        found = state.get(self.name)
        if not isinstance(found, self.cls):
            raise ModelFileError(f"{self.name} is no {self.cls.__name__}.")
        inside = {**state, **vars(found)}
        for part in self.parts:
            part.check(cls, inside)
        state[self.name] = self.cls(**{part.name: inside[part.name] for part in self.parts})


@dataclass(frozen=True)
class KeptSize(Record):
    """How large samples are, which can be drawn from the table."""

    cls: type = SampleSize
    parts: tuple[Kept, ...] = (
        Whole("n_rows", 1),
        Whole("n_features", 1),
        Flag("bootstrap"),
        Flag("bootstrap_features"),
    )

    def _check(self, cls: type, state: State) -> None:
        found, n_features = state.get(self.name), state["n_features_in_"]
        check_sample_size(found, SampleSize, state["n_rows_in_"], n_features)


@dataclass(frozen=True)
class RowWeight(NumberArray):
    """The weights that rows are drawn by, or None."""

    name: str = "_weight"
    optional: bool = True

    def _check(self, cls: type, state: State) -> None:
        check_weight(state, state["n_rows_in_"])


@dataclass(frozen=True)
class Columns(Kept):
    """The schema, and the attributes that say what columns there are."""

    name: str = "schema_"
    noted: bool = True

    def _write(self, state: Mapping[str, Any], contents: Contents) -> None:
        contents.header[self.key] = state[self.name].to_dict()

    def _read(self, contents: Contents, state: State) -> None:
        schema = state[self.name] = Schema.from_dict(take(contents.header, self.key, dict))
        state |= columns_of(schema)

    def _check(self, cls: type, state: State) -> None:
        schema = state.get(self.name)
        if not isinstance(schema, Schema):
            raise ModelFileError("The pickled model has no schema_.")
        try:
            schema = state[self.name] = Schema.from_dict(schema.to_dict())
        except (AttributeError, TypeError, ValueError) as error:
            raise ModelFileError(f"The schema of the pickled model cannot be: {error}") from error
        whole(state, "n_features_in_", schema.n_features, schema.n_features)
        state |= columns_of(schema)


@dataclass(frozen=True)
class ColumnNames(Kept):
    """The names of the columns, for ensembles whose members have the schemas."""

    name: str = "feature_names_in_"
    optional: bool = True
    noted: bool = True

    def _write(self, state: Mapping[str, Any], contents: Contents) -> None:
        contents.header[self.key] = list(state[self.name])

    def _read(self, contents: Contents, state: State) -> None:
        names = take(contents.header, self.key, list)
        state[self.name] = np.empty(len(names), object)
        state[self.name][:] = names

    def _check(self, cls: type, state: State) -> None:
        n_features, names = state["n_features_in_"], state[self.name]
        right = isinstance(names, np.ndarray) and names.shape == (n_features,)
        if not right or not all(isinstance(name, str) for name in names):
            raise ModelFileError(f"feature_names_in_ does not name {n_features} columns.")


@dataclass(frozen=True)
class Outputs(Kept):
    """How many outputs there are, and of a classifier the classes of each.

    With ``is_single`` there is one, and ``n_outputs_`` does not say so: for ``"classifiers"``
    or for ``"all"``.
    """

    name: str = "n_outputs_"
    is_single: str = ""

    def _is_single(self, cls: type) -> bool:
        classifies = issubclass(cls, ClassifierMixin)
        return self.is_single == "all" or (classifies and self.is_single == "classifiers")

    def _write(self, state: Mapping[str, Any], contents: Contents) -> None:
        n_outputs, classes = int(state.get("n_outputs_", 1)), state.get("classes_")
        if classes is not None and n_outputs == 1:
            classes = [classes]
        contents.header["n_outputs"] = n_outputs
        contents.header["classes"] = None if classes is None else list(classes)

    def _read(self, contents: Contents, state: State) -> None:
        state["n_outputs_"] = take(contents.header, "n_outputs", int)
        classes = take(contents.header, "classes", list, type(None))
        if classes is not None:
            sizes = [np.size(names) for names in classes]
            single = len(sizes) == 1
            state["classes_"] = classes[0] if single else classes
            state["n_classes_"] = sizes[0] if single else np.array(sizes)

    def _check(self, cls: type, state: State) -> None:
        if not self._is_single(cls):
            state["n_outputs_"] = whole(state, "n_outputs_", 1, _MOST)
        elif state.pop("n_outputs_", 1) != 1:
            raise ModelFileError(f"A {cls.__name__} has one output, and no more.")
        check_classes(cls, {"n_outputs_": 1, **state})


@dataclass(frozen=True)
class KeptMembers(Kept):
    """Fitted models. Those of hornbeam check themselves; that they fit is for the ensemble."""

    name: str = "estimators_"

    def _write(self, state: Mapping[str, Any], contents: Contents) -> None:
        contents.members += state[self.name]

    def _read(self, contents: Contents, state: State) -> None:
        state[self.name], contents.members = contents.members, []

    def _check(self, cls: type, state: State) -> None:
        members = state.get(self.name)
        if not isinstance(members, list) or not members:
            raise ModelFileError("The ensemble has no members.")


def n_values_of(state: Mapping[str, Any]) -> int:
    """How many numbers the trees of a model predict: shares of all classes, or outputs."""
    return int(np.sum(state.get("n_classes_", state["n_outputs_"])))

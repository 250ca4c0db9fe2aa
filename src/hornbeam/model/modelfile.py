"""The model file: safetensors arrays plus a JSON header, never pickle unless it is asked for.

Layout (the safetensors format)::

    8 bytes   length of the next part
    JSON      names, dtypes and shapes of the arrays; under "__metadata__", "hornbeam",
              the header as a string: format, version, SHA-256, and the model
    bytes     the arrays

A model is the name of its estimator, its entries, its arrays and its members: the fitted models
that it holds, each again a model. The arrays of member 3 have names that begin with
``members.3.``; without that they are called as in a file of its own. A member that is no
estimator of hornbeam's is a pickle (`pickles`).

The SHA-256 is that of the whole file with the digits of the SHA-256 itself replaced by
zeros, so that no bit can change unnoticed. It says nothing about who wrote the file:
therefore everything is checked again when it is read (`values`, `state`, `tree/validate`).

An estimator takes part by what it inherits from `hornbeam.model.savable.Savable` and by the
decorator `register_estimator`.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from typing import Any

import numpy as np

from hornbeam.dtypes import Array
from hornbeam.errors import ModelFileError, contradictions
from hornbeam.model.atomic import read_regular_file, replace_file
from hornbeam.model.kept import Contents, KeptMembers
from hornbeam.model.pickles import Pickles
from hornbeam.model.registry import UPGRADE, class_in_file, find_estimator, is_registered
from hornbeam.model.values import decode_value, encode_value, parse_json

FORMAT = 2  # 1 was given up before the first release: it had no members
MAX_MEMBER_DEPTH = 8  # of models inside models; a bag of bags of boosters has 2
# safetensors refuses more; schema and classes of 100,000 categories need a twentieth.
MAX_HEADER_BYTES = 100_000_000
MAX_FILE_BYTES = 2**36
NO_CHECKSUM = "0" * 64
_MEMBERS = "members."  # how the names of members' arrays begin
DTYPE_BYTES = {
    "BOOL": 1, "U8": 1, "I8": 1, "U16": 2, "I16": 2, "F16": 2,
    "U32": 4, "I32": 4, "F32": 4, "U64": 8, "I64": 8, "F64": 8,
}  # fmt: skip

_MODEL_ENTRIES = ("estimator", "model", "members")

# --- writing ----------------------------------------------------------------------------


def save_model(estimator: Any, path: str | os.PathLike[str], *, allow_pickle: bool = False) -> None:
    """Write a fitted estimator to a file.

    The file appears whole or not at all: a crash or a full disk in the middle leaves what
    was there before.

    Parameters
    ----------
    estimator : object
        A fitted estimator of a registered class.
    path : str or path
        Where to; an existing file is replaced (`output_target` says what is refused).
    allow_pickle : bool
        Whether estimators of other libraries inside it are stored as pickles; else they are an
        error.
    """
    data = model_bytes(estimator, allow_pickle=allow_pickle)
    # never replace a good file by one that cannot be read
    load_model_bytes(data, allow_pickle=allow_pickle)
    replace_file(path, data)


def model_bytes(estimator: Any, *, allow_pickle: bool = False) -> bytes:
    """Return the content of the model file of a fitted estimator.

    Parameters
    ----------
    estimator : object
        A fitted estimator of a registered class.
    allow_pickle : bool
        As in `save_model`.

    Returns
    -------
    bytes
        Equal models give equal bytes, unless there are pickles among them: these depend on how
        the parts of an object share memory.
    """
    import hornbeam

    arrays: dict[str, Array] = {}
    model = _describe_model(estimator, arrays, allow_pickle)
    header = {
        "format": FORMAT,
        "version": hornbeam.__version__,
        "estimator": model["estimator"],
        "sha256": NO_CHECKSUM,
        "model": model["model"],
        "members": model["members"],
    }
    return pack_file(header, arrays)


def _describe_model(
    estimator: Any, arrays: dict[str, Array], allow_pickle: bool, prefix: str = "", depth: int = 0
) -> dict[str, Any]:
    """What the header says of a model; its arrays are added to those of the file."""
    name, pickles = class_in_file(estimator).__name__, Pickles(allow_pickle)
    if depth > MAX_MEMBER_DEPTH:
        raise ValueError(
            f"A {name} lies in more than {MAX_MEMBER_DEPTH} models, one inside the other, which "
            "a model file cannot hold. Pickle the model, or nest fewer."
        )
    contents = estimator._model_contents()
    model = {
        "estimator": name,
        "model": encode_value(contents.header, name, 0, pickles),
        "members": [],
    }
    for own in (contents.arrays, pickles.arrays):
        arrays |= {prefix + key: np.ascontiguousarray(array) for key, array in own.items()}
    for number, member in enumerate(contents.members):
        inside = f"{prefix}{_MEMBERS}{number}."
        if is_registered(member):
            described = _describe_model(member, arrays, allow_pickle, inside, depth + 1)
        else:
            pickles = Pickles(allow_pickle)
            described = pickles.add(member, f"Member {number} of a {name}")
            arrays |= {inside + key: array for key, array in pickles.arrays.items()}
        model["members"].append(described)
    return model


def pack_file(header: dict[str, Any], arrays: dict[str, Array]) -> bytes:
    """Serialise header and arrays, then put the checksum in its place.

    Parameters
    ----------
    header : dict
        JSON values, with `NO_CHECKSUM` under "sha256".
    arrays : dict of str to array
        Contiguous arrays.

    Returns
    -------
    bytes
    """
    from safetensors.numpy import save

    text = json.dumps(header, allow_nan=False, separators=(",", ":"))
    data = bytearray(save(arrays, metadata={"hornbeam": text}))
    end = 8 + int.from_bytes(data[:8], "little")
    if end > MAX_HEADER_BYTES:
        raise ValueError(
            f"The names and categories of this model need {end} bytes, more than the "
            f"{MAX_HEADER_BYTES} that a model file has room for."
        )
    _write_checksum(data, end)
    return bytes(data)


def _checksum_position(data: bytes | bytearray, checksum: str, end: int) -> int:
    """Where in the file the checksum stands: right after its name, in quotes."""
    quote = b'\\"'  # the header is a JSON string inside JSON
    mark = quote + b"sha256" + quote + b":" + quote + checksum.encode() + quote
    position = data.find(mark, 8, end)
    if position < 0:
        raise ModelFileError("The checksum is not where it should be.")
    return position + len(mark) - len(quote) - 64


def _whole_checksum(data: bytes | bytearray, position: int) -> str:
    view = memoryview(data)
    state = hashlib.sha256(view[:position])
    state.update(NO_CHECKSUM.encode())
    state.update(view[position + 64 :])
    return state.hexdigest()


def _write_checksum(data: bytearray, end: int) -> None:
    position = _checksum_position(data, NO_CHECKSUM, end)
    data[position : position + 64] = _whole_checksum(data, position).encode()


# --- reading ----------------------------------------------------------------------------


def load(path: str | os.PathLike[str], *, allow_pickle: bool = False) -> Any:
    """Read a fitted estimator from a file that its method `save` wrote.

    Nothing in the file is executed, and nothing in it is believed before it was checked.

    Parameters
    ----------
    path : str or path
        The file.
    allow_pickle : bool
        Whether estimators of other libraries are read from the pickles in which
        ``save(path, allow_pickle=True)`` stored them. **That runs whatever code the file names:
        choose True only for files of people whom you trust.**

    Returns
    -------
    estimator
        Fitted; predicts bit for bit what the saved one did.

    Raises
    ------
    ModelFileError
        If the file is damaged, was made to do harm, or is no model file; or if it holds
        pickles, and ``allow_pickle`` is not set.
    FileNotFoundError
        If there is no such file.
    """
    try:
        data = read_regular_file(path, MAX_FILE_BYTES, file_end)
        return load_model_bytes(data, allow_pickle=allow_pickle)
    except ModelFileError as error:
        raise ModelFileError(f"Cannot load {os.fspath(path)!r}: {error}") from error


def load_model_bytes(data: bytes, *, allow_pickle: bool = False) -> Any:
    """Build the estimator from the content of a model file.

    Parameters
    ----------
    data : bytes
        The whole file.
    allow_pickle : bool
        As in `load`.

    Returns
    -------
    estimator
        Fitted.
    """
    header = _checked_header(data)
    model = {key: header[key] for key in _MODEL_ENTRIES}
    return _read_model(model, _read_arrays(data), allow_pickle)


def _read_model(model: Any, arrays: dict[str, Array], allow_pickle: bool, depth: int = 0) -> Any:
    """Build a model, and first its members, from what the header says and its own arrays."""
    _check_model(model)
    if depth > MAX_MEMBER_DEPTH:
        raise ModelFileError(f"It lies in more than {MAX_MEMBER_DEPTH} models.")
    cls = find_estimator(model["estimator"])
    members = _read_members(cls, model["members"], arrays, allow_pickle, depth)
    with contradictions("The model in the file"):
        entries = decode_value(model["model"], 0, Pickles(allow_pickle, arrays))
        contents = Contents(entries, arrays, members)
        estimator = cls._from_contents(contents)
    _refuse_rest("entry", contents.header)
    _refuse_rest("array", contents.arrays)
    return estimator


def _refuse_rest(what: str, rest: dict[str, Any]) -> None:
    """Nobody has taken it, so it does not belong."""
    if rest:
        raise ModelFileError(f"The file has an {what} too many: {sorted(rest)[0][:60]!r}.")


def _read_members(
    cls: type[Any], models: list[Any], arrays: dict[str, Array], allow_pickle: bool, depth: int
) -> list[Any]:
    """Build the members of a model; their arrays are taken out of its own."""
    if models and not any(isinstance(kept, KeptMembers) for kept in getattr(cls, "_keeps", ())):
        raise ModelFileError(f"A {cls.__name__} has no members, but the file has {len(models)}.")
    if len(models) > len(arrays):  # every member has some
        raise ModelFileError(f"{len(models)} members cannot have {len(arrays)} arrays.")
    members = []
    own_arrays = _take_member_arrays(arrays, len(models))
    for number, (model, own) in enumerate(zip(models, own_arrays, strict=True)):
        try:
            members.append(_read_member(model, own, allow_pickle, depth + 1))
        except ModelFileError as error:
            raise ModelFileError(f"Member {number}: {error}") from error
    return members


def _read_member(model: Any, arrays: dict[str, Array], allow_pickle: bool, depth: int) -> Any:
    if not isinstance(model, dict) or set(model) != {"$pickle"}:
        return _read_model(model, arrays, allow_pickle, depth)
    member = Pickles(allow_pickle, arrays).take(model["$pickle"])
    _refuse_rest("array", arrays)
    return member


def _take_member_arrays(arrays: dict[str, Array], n_members: int) -> list[dict[str, Array]]:
    """Remove the arrays of members; what does not name one of them exactly is left over."""
    taken: list[dict[str, Array]] = [{} for _ in range(n_members)]
    numbers = {str(number): number for number in range(n_members)}
    for name in [name for name in arrays if name.startswith(_MEMBERS)]:
        number, dot, rest = name.removeprefix(_MEMBERS).partition(".")
        if dot and number in numbers:
            taken[numbers[number]][rest] = arrays.pop(name)
    return taken


def file_end(start: bytes) -> int:
    """Say where a safetensors file must end, from its first bytes.

    Parameters
    ----------
    start : bytes
        The first 8 bytes, or more.

    Returns
    -------
    int
        Number of bytes of the file; of the parts before the arrays as long as `start`
        does not hold these.
    """
    end = _frame_end(start)
    return end if len(start) < end else end + _arrays_size(_read_frame(start, end))


def _frame_end(start: bytes) -> int:
    """Where the list of arrays ends and the arrays begin."""
    if len(start) < 8:
        raise ModelFileError("It is too short to be a model file.")
    end = 8 + int.from_bytes(start[:8], "little")
    if not 10 <= end <= MAX_HEADER_BYTES or start[8:9] not in (b"{", b""):
        raise ModelFileError("It is not a hornbeam model file.")
    return end


def _read_frame(data: bytes, end: int) -> dict[str, Any]:
    frame: dict[str, Any] = parse_json(data[8:end], "The list of arrays")
    return frame


def _arrays_size(frame: dict[str, Any]) -> int:
    return sum(_n_bytes(name, frame[name]) for name in frame if name != "__metadata__")


def _n_bytes(name: str, entry: Any) -> int:
    """Room of one array; only plain small shapes of known types pass."""
    fields: dict[str, Any] = entry if isinstance(entry, dict) else {}
    dtype, shape = fields.get("dtype"), fields.get("shape")
    if not isinstance(dtype, str) or dtype not in DTYPE_BYTES:
        raise ModelFileError(f"The array {name[:60]!r} is of a type that hornbeam never writes.")
    plain = isinstance(shape, list) and len(shape) <= 2
    if not plain or not all(type(n) is int and 0 <= n <= MAX_FILE_BYTES for n in shape or ()):
        raise ModelFileError(f"The array {name[:60]!r} has a shape that hornbeam never writes.")
    return math.prod(shape or ()) * DTYPE_BYTES[dtype]


def _checked_header(data: bytes) -> dict[str, Any]:
    """Return the header if size, checksum and format are right."""
    end = _frame_end(data)
    frame = _read_frame(data, end) if len(data) >= end else {}
    if end + _arrays_size(frame) != len(data):
        raise ModelFileError(f"It is damaged: {len(data)} bytes are not what it should have.")
    metadata = frame.get("__metadata__")
    text = metadata.get("hornbeam") if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        raise ModelFileError("It is a safetensors file, but not one that hornbeam wrote.")
    header = parse_json(text, "The header")
    checksum = header.get("sha256") if isinstance(header, dict) else None
    if not isinstance(checksum, str) or len(checksum) != 64 or not checksum.isascii():
        raise ModelFileError("The header has no checksum.")
    if _whole_checksum(data, _checksum_position(data, checksum, end)) != checksum:
        raise ModelFileError("It is damaged: its content does not match its checksum.")
    _check_format(header)
    return dict(header)


def _check_format(header: dict[str, Any]) -> None:
    number, version = header.get("format"), header.get("version")
    if type(number) is not int or number < 1 or not isinstance(version, str):
        raise ModelFileError("The header does not say which format the file has.")
    wrote = f"It was written by hornbeam {version[:20]} in format {number}; this hornbeam reads "
    if number > FORMAT:
        raise ModelFileError(f"{wrote}formats up to {FORMAT}. {UPGRADE}")
    if number < FORMAT:
        raise ModelFileError(
            f"{wrote}format {FORMAT} only. Fit the model again, or unpickle it if there is a "
            "pickle of it, and save it again."
        )
    if set(header) != {"format", "version", "sha256", *_MODEL_ENTRIES}:
        raise ModelFileError("The header has not the entries it should have.")


def _check_model(model: Any) -> None:
    """Raise unless the header says of a model what it should say."""
    good = isinstance(model, dict) and set(model) == set(_MODEL_ENTRIES)
    if not good or not isinstance(model["model"], dict) or not isinstance(model["members"], list):
        raise ModelFileError("The model has not the entries it should have.")


def _read_arrays(data: bytes) -> dict[str, Array]:
    from safetensors.numpy import load as load_arrays

    try:
        return dict(load_arrays(data))
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # a panic of the library is no Exception
        raise ModelFileError(f"The arrays cannot be read ({error}).") from error

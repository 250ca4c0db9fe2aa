"""Damage to model files and pickles: blind, and with care so that the form is still right."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from safetensors.numpy import load as load_arrays

from benchmarks.datasets import Array
from benchmarks.digest_tables import Random
from hornbeam.model.modelfile import NO_CHECKSUM, pack_file

WHOLE = (-1, 0, 1, 2, 63, 64, 2**31 - 1, 2**31, -(2**31), 2**40, 2**63 - 1, -(2**63))
REAL = (np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0, 0.0, 1.0, 2**53)
ANYTHING = (
    *(None, True, False, -1, 0, 1, 3, 2**31, 2**70, 0.5, -0.5, 1e308, "", "x", "\u0000", "a" * 300),
    *([], {}, [0], [[0]], [None], {"$x": 1}, {"a": []}),
)


def pick(rng: Random, values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


# --- blind damage: the checksum tells -----------------------------------------------------------


def _place(rng: Random, data: Any) -> int:
    """Anywhere; in half of all cases near the beginning, where lengths and names are."""
    return int(rng.integers(len(data) if rng.random() < 0.5 else min(600, len(data))))


def cut(rng: Random, data: bytes) -> bytes:
    return data[: _place(rng, data)]


def flipped_bit(rng: Random, data: bytes) -> bytes:
    damaged = bytearray(data)
    damaged[_place(rng, data)] ^= 1 << int(rng.integers(8))
    return bytes(damaged)


def other_byte(rng: Random, data: bytes) -> bytes:
    damaged = bytearray(data)
    damaged[_place(rng, data)] = int(rng.integers(256))
    return bytes(damaged)


def other_span(rng: Random, data: bytes) -> bytes:
    """Some bytes are wiped, random, or those from elsewhere."""
    start, size = _place(rng, data), int(2 ** rng.uniform(1, 12))
    damaged = bytearray(data)
    size = len(damaged[start : start + size])
    other = _place(rng, data)
    fill = [bytes(size), b"\xff" * size, rng.bytes(size), data[other : other + size].ljust(size)]
    damaged[start : start + size] = pick(rng, fill)
    return bytes(damaged)


def moved(rng: Random, data: bytes) -> bytes:
    """Some bytes too many, or too few."""
    start, size = _place(rng, data), int(2 ** rng.uniform(0, 8))
    middle = rng.bytes(size) if rng.random() < 0.5 else b""
    return data[:start] + middle + data[start + (0 if middle else size) :]


BLIND = (cut, flipped_bit, other_byte, other_span, moved)


def damaged_file(rng: Random, data: bytes) -> bytes:
    return pick(rng, BLIND)(rng, data)


# --- a right checksum around wrong arrays -------------------------------------------------------


def header_of(data: bytes) -> dict[str, Any]:
    frame = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    header: dict[str, Any] = json.loads(frame["__metadata__"]["hornbeam"])
    return header


def hostile_file(rng: Random, data: bytes) -> bytes:
    """A well-formed file with one to three things in it that are not as they were."""
    header, arrays = header_of(data), dict(load_arrays(data))
    for _ in range(1 + int(rng.integers(3))):
        if rng.random() < 0.75:
            change_arrays(rng, arrays)
        else:
            change_inside(rng, header["model"], _json_places)
    kept = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return pack_file({**header, "sha256": NO_CHECKSUM}, kept)


def change_arrays(rng: Random, arrays: dict[str, Array]) -> None:
    """Change, remove or exchange one of the arrays."""
    if not arrays:
        return
    name, other = pick(rng, sorted(arrays)), pick(rng, sorted(arrays))
    chance = rng.random()
    if chance < 0.03:
        del arrays[name]
    elif chance < 0.06:
        arrays[name], arrays[other] = arrays[other], arrays[name]
    elif chance < 0.08:
        arrays["more"] = arrays[name]
    else:
        arrays[name] = changed_array(rng, arrays[name])


def changed_array(rng: Random, array: Array) -> Array:
    """An array with other entries, another length, type or shape."""
    chance = rng.random()
    if chance < 0.75 and array.size:
        return _other_entries(rng, array)
    if chance < 0.90:
        return _other_length(rng, array)
    if chance < 0.96:
        kind = pick(rng, (np.int64, np.int32, np.uint8, np.float64, np.float32, bool))
        with np.errstate(all="ignore"):
            return np.nan_to_num(array).astype(kind) if array.dtype.kind in "fiub" else array
    return pick(rng, (array[None], array.reshape(-1, 1), array.ravel(), array[..., None]))


def _other_entries(rng: Random, array: Array) -> Array:
    changed = array.copy()
    if changed.dtype.kind not in "fiub":
        return changed[::-1].copy()
    flat = changed.reshape(-1)
    place, other = int(rng.integers(flat.size)), int(rng.integers(flat.size))
    chance = rng.random()
    if chance < 0.5:
        flat[place] = _entry(rng, flat, place)
    elif chance < 0.7:
        flat[place] = flat[other]  # children with two parents, cycles
    elif chance < 0.8:
        flat[place], flat[other] = flat[other], flat[place]
    elif chance < 0.9:
        flat[min(place, other) : max(place, other) + 1] = _entry(rng, flat, place)
    else:
        flat[:] = np.roll(flat, 1) if rng.random() < 0.5 else flat[::-1].copy()
    return changed


def _entry(rng: Random, flat: Array, place: int) -> Any:
    """A value that the dtype can hold, and that nobody should believe."""
    if flat.dtype.kind == "f":
        with np.errstate(over="ignore"):
            return np.array(pick(rng, REAL)).astype(flat.dtype)
    if flat.dtype.kind == "b":
        return not flat[place]
    limits = np.iinfo(flat.dtype)
    near = int(flat[place]) + pick(rng, (-2, -1, 1, 2))
    wanted = near if rng.random() < 0.4 else pick(rng, (*WHOLE, flat.size - 1, flat.size))
    return min(max(wanted, limits.min), limits.max)


def _other_length(rng: Random, array: Array) -> Array:
    if array.ndim == 0 or not len(array):
        return np.zeros(3, array.dtype)
    ways = (array[:-1], array[1:], array[:0], array[: len(array) // 2])
    longer = (np.concatenate([array, array[-1:]]), np.concatenate([array, array]))
    return pick(rng, (*ways, *longer))


# --- anything inside of a header or of a pickled model ------------------------------------------

Place = tuple[Any, Any]  # a container, and the key of something in it


def change_inside(rng: Random, root: Any, places_of: Callable[[Any], Iterator[Place]]) -> None:
    """Replace or remove one thing somewhere inside of a model."""
    container, key = pick(rng, list(places_of(root)))
    value = container[key] if isinstance(container, (dict, list)) else vars(container)[key]
    if rng.random() < 0.1 and not isinstance(container, list):
        _remove(container, key)
    elif isinstance(value, np.ndarray) and rng.random() < 0.9:
        _put(container, key, changed_array(rng, value))
    elif isinstance(value, list) and value and rng.random() < 0.5:
        _put(container, key, pick(rng, (value[:-1], value + value[-1:], value[::-1])))
    elif isinstance(value, bool) or not isinstance(value, (int, float)) or rng.random() < 0.3:
        _put(container, key, copy.deepcopy(pick(rng, ANYTHING)))
    else:
        near = type(value)(value + pick(rng, (-1, 1)))
        _put(container, key, pick(rng, (near, -value, *WHOLE, 0.5, 1e308)))


def _put(container: Any, key: Any, value: Any) -> None:
    if isinstance(container, (dict, list)):
        container[key] = value
    else:
        vars(container)[key] = value  # also of frozen dataclasses


def _remove(container: Any, key: Any) -> None:
    del (container if isinstance(container, dict) else vars(container))[key]


def _json_places(root: Any) -> Iterator[Place]:
    keys = root if isinstance(root, dict) else range(len(root)) if isinstance(root, list) else ()
    for key in keys:
        yield root, key
        yield from _json_places(root[key])


def object_places(root: Any, depth: int = 6) -> Iterator[Place]:
    """Everything in the attributes of an object of hornbeam and of what it consists of."""
    if depth == 0:
        return
    if isinstance(root, dict):
        inside: Any = root
    elif isinstance(root, list):
        inside = dict(enumerate(root[:20]))
    elif type(root).__module__.startswith("hornbeam") and hasattr(root, "__dict__"):
        inside = vars(root)
    else:
        inside = {}
    for key, value in list(inside.items()):
        yield root, key
        yield from object_places(value, depth - 1)

"""Python values to JSON and back, for the header of a model file.

JSON knows less than Python, so what it lacks is written as an object with one key that
starts with ``$``::

    (1, 2)                 {"$tuple": [1, 2]}
    {0: 1.5}               {"$dict": [[0, 1.5]]}
    inf                    {"$float": "inf"}
    np.array([1, 2])       {"$array": {"dtype": "int64", "shape": [2], "values": [1, 2]}}
    my_criterion           {"$function": "my_criterion"}

Estimators are written by their parameters (`registry`), those of other libraries as pickles
that lie beside the header (`pickles`).

Reading trusts nothing: the file may have been written to do harm.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np

from hornbeam.dtypes import Array
from hornbeam.errors import ModelFileError, UnavailableFunctionError
from hornbeam.model.pickles import Pickles

MAX_DEPTH = 32  # of nested values; real headers need about six
MAX_DIGITS = 100  # of an integer
MAX_CHARACTERS = 2**26  # of an array of strings, with their padding
NUMBER_DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64",
)  # fmt: skip
TEXT_DTYPES = ("str", "object")


class UnavailableFunction:
    """Stands for a user's function in a loaded model: its name is known, its code is not.

    Examples
    --------
    >>> from hornbeam.model.values import UnavailableFunction
    >>> UnavailableFunction("my_criterion")
    UnavailableFunction('my_criterion')
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.__name__ = name

    def __repr__(self) -> str:
        return f"UnavailableFunction({self.name!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnavailableFunction) and other.name == self.name

    def __hash__(self) -> int:
        return hash(("UnavailableFunction", self.name))

    @property
    def __code__(self) -> NoReturn:  # what a compiler asks for first
        self()

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        """Say that the function did not travel with the model."""
        raise UnavailableFunctionError(
            f"The function {self.name!r} was given to the model before it was saved. A model "
            "file holds no code, so only its name is known here: set the parameter to the "
            "function again before you fit."
        )


# --- writing -------------------------------------------------------------------------


def encode_value(
    value: Any, where: str = "value", depth: int = 0, pickles: Pickles | None = None
) -> Any:
    """Turn a Python value into what JSON can hold.

    Parameters
    ----------
    value : object
        None, bool, number, str, list, tuple, dict, NumPy scalar or array, function,
        random state (written as None), an object whose type is in `ENCODERS`, or any other
        estimator.
    where : str
        What the value is called in an error.
    depth : int
        How deep the value sits in others.
    pickles : Pickles, optional
        Takes estimators of other libraries; without it they are refused.

    Returns
    -------
    object
        Lists, dicts with string keys and scalars only.

    Examples
    --------
    >>> from hornbeam.model.values import encode_value
    >>> encode_value({"class_weight": {0: 1.0, 1: 2.0}})
    {'class_weight': {'$dict': [[0, 1.0], [1, 2.0]]}}
    """
    if depth > MAX_DEPTH:
        raise ValueError(f"{where} is nested more than {MAX_DEPTH} deep and cannot be saved.")
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, str)):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, int):
        return _encode_int(value, where)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": repr(float(value))}
    if isinstance(value, (list, tuple)):
        items = [encode_value(v, f"{where}[{i}]", depth + 1, pickles) for i, v in enumerate(value)]
        return {"$tuple": items} if isinstance(value, tuple) else items
    if isinstance(value, Mapping):
        return _encode_dict(value, where, depth, pickles)
    if isinstance(value, np.ndarray):
        return _encode_array(value, where, depth)
    return _encode_object(value, where, depth, pickles or Pickles())


def _encode_int(value: int, where: str) -> int:
    if abs(value) >= 10**MAX_DIGITS:
        raise ValueError(f"{where} has more than {MAX_DIGITS} digits and cannot be saved.")
    return int(value)


def _encode_dict(
    value: Mapping[Any, Any], where: str, depth: int, pickles: Pickles | None
) -> dict[str, Any]:
    items = {k: encode_value(v, f"{where}[{k!r}]", depth + 1, pickles) for k, v in value.items()}
    if all(isinstance(key, str) and not key.startswith("$") for key in value):
        return {str(key): item for key, item in items.items()}
    pairs = [[encode_value(k, f"a key of {where}", depth + 1), v] for k, v in items.items()]
    return {"$dict": pairs}


def _encode_array(value: Array, where: str, depth: int) -> dict[str, Any]:
    kind = "str" if value.dtype.kind == "U" else value.dtype.name
    if kind not in NUMBER_DTYPES + TEXT_DTYPES:
        raise TypeError(
            f"{where} is an array of dtype {value.dtype}, which a model file cannot hold. "
            "Use numbers, booleans or strings."
        )
    values = [encode_value(v, where, depth + 1) for v in value.ravel().tolist()]
    return {"$array": {"dtype": kind, "shape": list(value.shape), "values": values}}


def _encode_object(value: Any, where: str, depth: int, pickles: Pickles) -> dict[str, Any] | None:
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return None  # its state is spent; the fitted model does not need it
    if type(value) in ENCODERS:
        return ENCODERS[type(value)](value, where, depth, pickles)
    if hasattr(value, "fit") and not isinstance(value, type):
        return pickles.add(value, where)
    if isinstance(value, UnavailableFunction) or (callable(value) and not isinstance(value, type)):
        return {"$function": str(getattr(value, "__name__", type(value).__name__))}
    raise TypeError(
        f"{where} is a {type(value).__name__}, which a model file cannot hold. It can hold "
        "None, bool, numbers, str, lists, tuples, dicts, NumPy arrays and functions by name."
    )


# --- reading -------------------------------------------------------------------------


def parse_json(text: str | bytes, what: str) -> Any:
    """Read JSON more strictly than Python does.

    Refused are duplicate keys, NaN and infinities, numbers too large to be meant, and
    nesting that would exhaust the stack.

    Parameters
    ----------
    text : str or bytes
        The JSON text.
    what : str
        What the text is called in an error.

    Returns
    -------
    object
        The value.
    """
    try:
        return json.loads(
            text,
            object_pairs_hook=_unique_keys,
            parse_constant=_no_constant,
            parse_float=_finite_float,
            parse_int=_short_int,
        )
    except ModelFileError:
        raise
    except RecursionError:
        raise ModelFileError(f"{what} is nested too deep to be from hornbeam.") from None
    except ValueError as error:  # also JSONDecodeError and UnicodeDecodeError
        raise ModelFileError(f"{what} is not valid JSON ({error}).") from error


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ModelFileError(f"The header has the entry {twice[:60]!r} twice.")
    return result


def _no_constant(name: str) -> NoReturn:
    raise ModelFileError(f"The header holds {name}, which hornbeam never writes.")


def _finite_float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ModelFileError(f"The header holds the number {digits[:40]}, which is too large.")
    return value


def _short_int(digits: str) -> int:
    if len(digits) > MAX_DIGITS + 1:
        raise ModelFileError(f"The header holds an integer of {len(digits)} digits.")
    return int(digits)


def decode_value(value: Any, depth: int = 0, pickles: Pickles | None = None) -> Any:
    """Turn what `encode_value` wrote back into the Python value.

    Parameters
    ----------
    value : object
        Parsed JSON.
    depth : int
        How deep the value sits in others.
    pickles : Pickles, optional
        Has the estimators of other libraries; without it they are refused.

    Returns
    -------
    object
        The value.

    Examples
    --------
    >>> from hornbeam.model.values import decode_value
    >>> decode_value({"$tuple": [1, {"$float": "inf"}]})
    (1, inf)
    """
    if depth > MAX_DEPTH:
        raise ModelFileError(f"The header is nested more than {MAX_DEPTH} deep.")
    if isinstance(value, list):
        return [decode_value(item, depth + 1, pickles) for item in value]
    if not isinstance(value, dict):
        return value
    tags = [key for key in value if key.startswith("$")]
    if not tags:
        return {key: decode_value(item, depth + 1, pickles) for key, item in value.items()}
    decoder = DECODERS.get(tags[0])
    if len(value) != 1 or decoder is None:
        raise ModelFileError(
            f"The header holds a value of the unknown kind {tags[0][:60]!r}. It may come from a "
            "newer hornbeam: pip install --upgrade hornbeam."
        )
    return decoder(value[tags[0]], depth + 1, pickles or Pickles())


def _expect(good: bool, tag: str) -> None:
    if not good:
        raise ModelFileError(f"The header holds a {tag} value of the wrong form.")


def _decode_tuple(body: Any, depth: int, pickles: Pickles) -> tuple[Any, ...]:
    _expect(isinstance(body, list), "$tuple")
    return tuple(decode_value(item, depth, pickles) for item in body)


def _decode_float(body: Any, depth: int, pickles: Pickles) -> float:
    _expect(body in ("nan", "inf", "-inf"), "$float")
    return float(body)


def _decode_function(body: Any, depth: int, pickles: Pickles) -> UnavailableFunction:
    _expect(isinstance(body, str), "$function")
    return UnavailableFunction(body)


def _decode_dict(body: Any, depth: int, pickles: Pickles) -> dict[Any, Any]:
    good = isinstance(body, list) and all(isinstance(p, list) and len(p) == 2 for p in body)
    _expect(good, "$dict")
    result: dict[Any, Any] = {}
    for encoded_key, item in body:
        key = decode_value(encoded_key, depth)
        _expect(key is None or isinstance(key, (bool, int, float, str)), "$dict")
        result[key] = decode_value(item, depth, pickles)
    _expect(len(result) == len(body), "$dict")
    return result


def _decode_array(body: Any, depth: int, pickles: Pickles) -> Array:
    _expect(isinstance(body, dict) and set(body) == {"dtype", "shape", "values"}, "$array")
    kind, shape, values = body["dtype"], body["shape"], body["values"]
    _expect(isinstance(kind, str) and kind in NUMBER_DTYPES + TEXT_DTYPES, "$array")
    _expect(isinstance(values, list) and isinstance(shape, list) and len(shape) <= 4, "$array")
    _expect(all(type(n) is int and 0 <= n <= len(values) for n in shape), "$array")
    _expect(math.prod(shape) == len(values), "$array")
    flat = _flat_array(kind, [decode_value(item, depth) for item in values])
    return flat.reshape(shape)


def _flat_array(kind: str, values: list[Any]) -> Array:
    """Array of one dtype; a value the dtype cannot hold exactly is refused."""
    if kind == "object":
        _expect(all(v is None or isinstance(v, (bool, int, float, str)) for v in values), "$array")
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    if kind == "str":
        _expect(all(isinstance(v, str) for v in values), "$array")
        longest = max(map(len, values), default=0)  # NumPy gives every string this room
        _expect(longest * len(values) <= MAX_CHARACTERS, "$array")
        return np.array(values, dtype=np.str_)
    dtype = np.dtype(kind)
    allowed: tuple[type, ...] = {"b": (bool,), "f": (float, int)}.get(dtype.kind, (int,))
    _expect(all(type(v) in allowed for v in values), "$array")
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        _expect(all(limits.min <= v <= limits.max for v in values), "$array")
    with np.errstate(all="ignore"):
        return np.array(values, dtype=dtype)


# How values of further types are written and read; the model file adds estimators.
ENCODERS: dict[type, Callable[[Any, str, int, Pickles], dict[str, Any]]] = {}
DECODERS: dict[str, Callable[[Any, int, Pickles], Any]] = {
    "$tuple": _decode_tuple,
    "$float": _decode_float,
    "$function": _decode_function,
    "$dict": _decode_dict,
    "$array": _decode_array,
    "$pickle": lambda body, depth, pickles: pickles.take(body),
}

"""Estimators of other libraries in a model file: pickled, and only where the user says so.

Unpickling runs whatever code the file names. So nothing is pickled without ``allow_pickle`` in
`save`, and nothing is unpickled without ``allow_pickle`` in `load`, whatever the file says.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hornbeam.dtypes import Array
from hornbeam.errors import ModelFileError
from hornbeam.model.arrays import checked_array

PROTOCOL = 5  # the same for every Python


@dataclass
class Pickles:
    """The pickled objects of one model in a file.

    Parameters
    ----------
    allowed : bool
        Whether there may be any.
    arrays : dict of str to array
        Where they are: ``pickle.0``, ``pickle.1``, ... of type uint8. Those that are taken are
        removed.

    Examples
    --------
    >>> from hornbeam.model.pickles import Pickles
    >>> pickles = Pickles(allowed=True)
    >>> content = pickles.add(complex(1, 2), "the member")
    >>> content
    {'$pickle': ['builtins.complex', 0]}
    >>> pickles.take(content["$pickle"])
    (1+2j)
    """

    allowed: bool = False
    arrays: dict[str, Array] = field(default_factory=dict)

    def add(self, value: Any, where: str) -> dict[str, Any]:
        """Pickle an object; return what the header says of it.

        Parameters
        ----------
        value : object
        where : str
            What it is called in an error.

        Returns
        -------
        dict
            Under ``$pickle`` the name of its class and the number of its array.
        """
        name = class_name(value)
        if not self.allowed:
            raise TypeError(
                f"{where} is a {name}, which is not one of hornbeam's estimators, so a model file "
                "can only hold it as a pickle. save(path, allow_pickle=True) writes that; "
                "hb.load(path, allow_pickle=True) reads it, and runs the code that it names."
            )
        try:
            content = pickle.dumps(value, PROTOCOL)
        except Exception as error:  # of whatever class the object's own methods raise
            raise TypeError(f"{where} is a {name} that cannot be pickled ({error}).") from error
        number = len(self.arrays)
        self.arrays[f"pickle.{number}"] = np.frombuffer(content, np.uint8)
        return {"$pickle": [name, number]}

    def take(self, body: Any) -> Any:
        """Unpickle an object, if that is allowed.

        Parameters
        ----------
        body : object
            What the header has under ``$pickle``.

        Returns
        -------
        object
        """
        pair = body if isinstance(body, list) and len(body) == 2 else [None, None]
        name, number = pair
        if not isinstance(name, str) or type(number) is not int:
            raise ModelFileError("The header holds a $pickle value of the wrong form.")
        if not self.allowed:
            raise ModelFileError(
                f"The file holds a pickled {name[:100]}, and reading a pickle runs whatever code "
                "it names. If you trust whoever wrote the file: hb.load(path, allow_pickle=True)."
            )
        key = f"pickle.{number}"
        if key not in self.arrays:
            raise ModelFileError(f"The file lacks the array {key!r}.")
        content = checked_array(self.arrays.pop(key), key, np.uint8)
        try:
            value = pickle.loads(content.tobytes())
        except MemoryError:
            raise
        except Exception as error:  # of whatever class the object's own methods raise
            raise ModelFileError(
                f"The pickled {name[:100]} cannot be read ({type(error).__name__}: {error})."
            ) from error
        if class_name(value) != name:
            raise ModelFileError(
                f"The pickled {name[:100]} is a {class_name(value)[:100]} after all."
            )
        return value


def class_name(value: Any) -> str:
    """The class of an object, with its module."""
    return f"{type(value).__module__}.{type(value).__qualname__}"

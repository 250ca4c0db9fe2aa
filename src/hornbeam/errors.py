"""The errors that only hornbeam raises.

A mistake in a call is a ``ValueError`` or ``TypeError`` as everywhere in Python; these
are for the cases that a caller may want to catch by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class ModelFileError(ValueError):
    """A model file (or a pickled model) is damaged, hostile, or not a model at all.

    The message says what was found, where, and what to do.

    Examples
    --------
    >>> from hornbeam.errors import ModelFileError
    >>> issubclass(ModelFileError, ValueError)
    True
    """


class SparseTargetError(TypeError, ValueError):
    """Targets came as a sparse matrix: an error of either kind to scikit-learn."""


class UnavailableFunctionError(RuntimeError):
    """A function the model was trained with is not part of its file and was called."""


class MissingDependencyError(ImportError):
    """An optional package is needed for this call; the message says how to get it."""


@contextmanager
def contradictions(what: str) -> Iterator[None]:
    """Whatever hostile content provokes in the checks of it becomes a `ModelFileError`.

    Parameters
    ----------
    what : str
        What is checked, as the subject of a sentence.
    """
    try:
        yield
    except (ModelFileError, MemoryError):  # a good model may be too large for this machine
        raise
    except Exception as error:
        raise ModelFileError(f"{what} contradicts itself: {error}") from error


def rebuilt(cls: type, *arguments: object) -> object:
    """Make a part of a pickled model; what its constructor makes of hostile content is a sentence.

    Parameters
    ----------
    cls : type
        A class whose ``__reduce__`` names this function.
    *arguments : object
        What its constructor takes.
    """
    with contradictions("The pickled model"):
        return cls(*arguments)

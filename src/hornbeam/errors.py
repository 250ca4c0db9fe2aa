"""The errors that only hornbeam raises.

A mistake in a call is a ``ValueError`` or ``TypeError`` as everywhere in Python; these
are for the cases that a caller may want to catch by name.
"""

from __future__ import annotations


class ModelFileError(ValueError):
    """A model file (or a pickled model) is damaged, hostile, or not a model at all.

    The message says what was found, where, and what to do.

    Examples
    --------
    >>> from hornbeam.errors import ModelFileError
    >>> issubclass(ModelFileError, ValueError)
    True
    """


class UnavailableFunctionError(RuntimeError):
    """A function the model was trained with is not part of its file and was called."""


class MissingDependencyError(ImportError):
    """An optional package is needed for this call; the message says how to get it."""

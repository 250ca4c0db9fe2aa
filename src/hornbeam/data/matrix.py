"""The float matrix: made of an array or of columns, checked for infinities, shown to kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hornbeam.data.columns import Numbers, float_type, refuse_infinity, to_floats
from hornbeam.data.infinities import are_numbers, bounded
from hornbeam.dtypes import Array
from hornbeam.kernels.binning import find_infinite

_NARROW_CATEGORIES = 2**24  # float32 counts up to here


def as_float_matrix(values: Array) -> Array:
    """A contiguous, aligned float32 or float64 matrix; the array itself if it is one."""
    dtype = float_type(values.dtype)
    contiguous = values.flags.c_contiguous or values.flags.f_contiguous
    if values.dtype == dtype and contiguous:
        return kernel_view(values)
    column_major = abs(values.strides[0]) < abs(values.strides[1])
    with np.errstate(over="ignore"):
        return np.array(values, dtype, order="F" if column_major else "C")


def assemble(parts: Sequence[Numbers | Array], titles: Sequence[str]) -> Array:
    """One column-major matrix from numbers and category numbers (where -1 is missing)."""
    narrow = all(
        float_type(part.values.dtype) is np.float32
        if isinstance(part, Numbers)
        else part.max() < _NARROW_CATEGORIES
        for part in parts
    )
    dtype = np.float32 if narrow else np.float64
    first = parts[0]
    n_rows = len(first.values if isinstance(first, Numbers) else first)
    matrix = np.empty((n_rows, len(parts)), dtype, order="F")
    for index, part in enumerate(parts):
        if isinstance(part, Numbers):
            matrix[:, index] = to_floats(part, titles[index], dtype)
        else:
            matrix[:, index] = part
            matrix[part < 0, index] = np.nan
    return finite(matrix, titles.__getitem__, matrix.dtype)


def finite(matrix: Array, title: Callable[[int], str], dtype: Any) -> Array:
    """The matrix without infinite values, which are refused unless they are numbers here.

    ``title`` names a column, ``dtype`` is what the user gave.
    """
    place = int(find_infinite(matrix.ravel("K")))
    if place < 0:
        return matrix
    if are_numbers():
        return bounded(matrix)
    n_rows, n_columns = matrix.shape
    if matrix.flags.c_contiguous:
        row, index = divmod(place, n_columns)
    else:
        index, row = divmod(place, n_rows)
    refuse_infinity(title(index), matrix[row, index], row, dtype)


class _SameMemory:
    """An array's memory without its read-only mark, through NumPy's array interface."""

    def __init__(self, array: Array) -> None:
        self.array = array  # keeps the memory alive
        interface: dict[str, Any] = dict(array.__array_interface__)
        interface["data"] = (interface["data"][0], False)
        self.__array_interface__ = interface


def kernel_view(array: Array) -> Array:
    """The same array, typed the way kernels are compiled for.

    Numba compiles a kernel once more for read-only and for misaligned arrays. Kernels only
    read their inputs, so the mark can go; misaligned memory is copied.
    """
    if not array.flags.aligned:
        return array.copy(order="K")
    if array.flags.writeable:
        return array
    return np.asarray(_SameMemory(array))

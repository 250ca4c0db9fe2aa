"""scipy's sparse matrices: numbers in canonical compressed form, never made dense."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from hornbeam.data.columns import (
    first_inexact,
    float_type,
    refuse_complex,
    refuse_infinity,
    refuse_integer,
)
from hornbeam.data.infinities import are_numbers, bounded
from hornbeam.data.matrix import kernel_view
from hornbeam.kernels.binning import find_infinite

_CONTAINERS = {"csc": scipy.sparse.csc_array, "csr": scipy.sparse.csr_array}


class SparseTable:
    """A sparse matrix or array of any format; entries that are not stored are zeros."""

    names: None = None

    def __init__(self, X: Any) -> None:
        if X.ndim != 2:
            raise ValueError(
                f"Expected 2D input, got input with shape {X.shape}.\nReshape your data either "
                "using array.reshape(-1, 1) if your data has a single feature or "
                "array.reshape(1, -1) if it contains a single sample."
            )
        if X.dtype.kind == "c":
            refuse_complex("the sparse matrix X")
        if X.dtype.kind not in "biuf":
            raise TypeError(
                f"The sparse matrix X has the dtype {X.dtype}, but sparse data must be numbers. "
                "Convert it with X.astype(float)."
            )
        self.values = X
        self.shape: tuple[int, int] = X.shape

    def title(self, index: int) -> str:
        """How errors call a column."""
        return f"column {index}"

    def matrix(self, layout: str) -> Any:
        """The numbers as a canonical ``csc_array`` or ``csr_array`` ("csc" or "csr").

        Duplicates are summed, indices sorted; the user's matrix is left as it was.
        """
        dtype = float_type(self.values.dtype)
        stored = _checked(self.values)
        if stored.dtype.kind not in "iu" or stored.dtype.itemsize < 8:
            stored = stored.astype(dtype, copy=False)  # before int8 duplicates are summed
        matrix = _CONTAINERS[layout](stored)
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        self._check_integers(matrix)
        matrix = _CONTAINERS[layout](matrix, dtype=dtype)
        small = max(matrix.nnz, *matrix.shape) < 2**31
        index = np.int32 if small else np.int64
        matrix.data = kernel_view(matrix.data)
        matrix.indices = kernel_view(matrix.indices.astype(index, copy=False))
        matrix.indptr = kernel_view(matrix.indptr.astype(index, copy=False))
        self._check_finite(matrix)
        return matrix

    def _check_integers(self, matrix: Any) -> None:
        place = first_inexact(matrix.data) if matrix.dtype.kind in "iu" else -1
        if place >= 0:
            row, index = _position(matrix, place)
            refuse_integer(self.title(index), int(matrix.data[place]), row)

    def _check_finite(self, matrix: Any) -> None:
        place = int(find_infinite(matrix.data))
        if place >= 0 and are_numbers():
            matrix.data = bounded(matrix.data)
        elif place >= 0:
            row, index = _position(matrix, place)
            refuse_infinity(self.title(index), matrix.data[place], row, self.values.dtype)


def _checked(X: Any) -> Any:
    """X as csc, csr or coo with every index in range; neither scipy nor kernels look again."""
    try:
        if X.format not in _CONTAINERS:
            X = X.tocoo()
            return scipy.sparse.coo_array((X.data, (X.row, X.col)), shape=X.shape)  # checks
        checked = _CONTAINERS[X.format](X)
        checked.check_format(full_check=True)
    except ValueError as error:
        raise ValueError(
            f"The sparse matrix X is broken ({error}). Build it anew from its entries."
        ) from error
    return checked


def _position(matrix: Any, place: int) -> tuple[int, int]:
    """Row and column of a stored entry."""
    outer = int(np.searchsorted(matrix.indptr, place, side="right")) - 1
    inner = int(matrix.indices[place])
    return (inner, outer) if matrix.format == "csc" else (outer, inner)

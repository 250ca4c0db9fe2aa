"""The one driver of prediction: rows of a table to kernels, in chunks, from several threads.

What sends rows down trees (`Walker`, `PackedTrees`, `Walks`, `FractionWalker`) brings a function
that sends some neighbouring rows down; sparse tables, codes in the place of categories, chunks and
threads are the driver's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse

from hornbeam.dtypes import Array
from hornbeam.runtime.team import run_parallel

CHUNK_ROWS = 4096
_PIECE_BYTES = 1 << 23  # rows of a sparse table are made dense in pieces of this size


# A dense table as kernels read it: ``cells[row * row_step + column * column_step]``, with the
# two steps and the number of columns. A plain tuple, because one row takes three microseconds.
Cells: TypeAlias = tuple[Array, int, int, int]
Outputs: TypeAlias = tuple[Array | None, ...]  # one entry per row each
# Sends the rows first:last down; False if a value is infinite.
Walk: TypeAlias = Callable[[Cells, int, int, Outputs], bool]


def cells_of(matrix: Array) -> Cells:
    """The cells of a matrix, contiguous and writable: kernels are compiled for no others."""
    flags = matrix.flags
    if not (flags.carray or flags.farray):
        matrix = matrix.copy()
    size = matrix.itemsize
    row_step, column_step = matrix.strides
    return matrix.ravel("K"), row_step // size, column_step // size, matrix.shape[1]


def send_down(
    matrix: Any,
    walk: Walk,
    outputs: Outputs,
    n_jobs: int | None,
    seconds_per_row: float,
    chunk_rows: Callable[[int], int] | None = None,
    prepare: Callable[[Array], Array] | None = None,
) -> bool:
    """Send the rows of a table down trees.

    Parameters
    ----------
    matrix : array or sparse matrix of shape (n_rows, n_columns)
    walk : callable
        Takes the `Cells`, the first and the last row, and the outputs to fill in for these rows.
    outputs : tuple of arrays or None
    n_jobs : int or None
    seconds_per_row : float
        For the choice of the number of threads.
    chunk_rows : callable, optional
        Says of a number of rows how many of them a call takes; `CHUNK_ROWS` without it.
    prepare : callable, optional
        Makes of some rows what is walked.

    Returns
    -------
    bool
        False if an infinite value was met; then the outputs say nothing.
    """
    if prepare is not None or type(matrix) is not np.ndarray:
        return _send_pieces(matrix, walk, outputs, n_jobs, seconds_per_row, chunk_rows, prepare)
    n_rows = len(matrix)
    if n_rows == 0:
        return True
    cells = cells_of(matrix)
    width = CHUNK_ROWS if chunk_rows is None else chunk_rows(n_rows)
    if n_rows <= width:
        return walk(cells, 0, n_rows, outputs)
    n_chunks = -(-n_rows // width)
    finite = np.ones(n_chunks, bool)

    def walk_chunk(chunk: int) -> None:
        first = chunk * width
        finite[chunk] = walk(cells, first, min(n_rows, first + width), outputs)

    run_parallel(walk_chunk, n_chunks, n_jobs, n_rows * seconds_per_row)
    return bool(finite.all())


def _send_pieces(
    matrix: Any,
    walk: Walk,
    outputs: Outputs,
    n_jobs: int | None,
    seconds_per_row: float,
    chunk_rows: Callable[[int], int] | None,
    prepare: Callable[[Array], Array] | None,
) -> bool:
    """As `send_down`; each piece of rows is made dense, and prepared."""
    is_sparse = scipy.sparse.issparse(matrix)
    source: Any = matrix.tocsr() if is_sparse else np.asarray(matrix)
    step = max(1, _PIECE_BYTES // (8 * max(1, matrix.shape[1])))
    for start in range(0, matrix.shape[0], step):
        rows = slice(start, start + step)
        piece = source[rows].toarray() if is_sparse else source[rows]
        own = tuple(None if output is None else output[rows] for output in outputs)
        piece = piece if prepare is None else prepare(piece)
        if not send_down(piece, walk, own, n_jobs, seconds_per_row, chunk_rows):
            return False
    return True


def check_width(n_columns: int, n_asked: int) -> None:
    """Raise an error if trees ask for a column that is not there."""
    if n_columns < n_asked:
        raise ValueError(
            f"the table has {n_columns} columns, but the trees ask for column {n_asked - 1}: give "
            "all the columns of the training table"
        )

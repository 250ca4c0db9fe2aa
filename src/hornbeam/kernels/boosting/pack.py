"""Codes row by row: what histograms are counted from."""

from __future__ import annotations

from hornbeam.dtypes import Array
from hornbeam.runtime.kernel import kernel

BLOCK_ROWS = 256  # rows and columns are exchanged in blocks that stay in the cache
BLOCK_COLUMNS = 64


@kernel
def pack_rows(by_column: Array, first: int, last: int, by_row: Array) -> None:
    """Copy the codes of some rows.

    ``by_column`` has shape (columns, rows), ``by_row`` (rows, stride).
    """
    n_columns = by_column.shape[0]
    for start in range(first, last, BLOCK_ROWS):
        stop = min(start + BLOCK_ROWS, last)
        for block in range(0, n_columns, BLOCK_COLUMNS):
            for column in range(block, min(block + BLOCK_COLUMNS, n_columns)):
                for row in range(start, stop):
                    by_row[row, column] = by_column[column, row]


@kernel
def pack_bundles(
    by_feature: Array, column: Array, lookup: Array, first: int, last: int, by_column: Array
) -> None:
    """Bring the codes of some rows into columns that features may share.

    ``lookup[feature, code]`` is what a code becomes; ``by_column``, of shape (columns, rows),
    is zero before. Where two features of a column conflict in a row, the last of them is seen.
    """
    for feature in range(by_feature.shape[0]):
        target = column[feature]
        for row in range(first, last):
            code = lookup[feature, by_feature[feature, row]]
            by_column[target, row] = code if code != 0 else by_column[target, row]

"""Codes row by row: what histograms are counted from."""

from __future__ import annotations

from hornbeam.dtypes import Array
from hornbeam.runtime.kernel import kernel

BLOCK_ROWS = 256  # rows and features are exchanged in blocks that stay in the cache
BLOCK_FEATURES = 64


@kernel
def pack_rows(by_feature: Array, first: int, last: int, by_row: Array) -> None:
    """Copy the codes of some rows.

    ``by_feature`` has shape (features, rows), ``by_row`` (rows, stride).
    """
    n_features = by_feature.shape[0]
    for start in range(first, last, BLOCK_ROWS):
        stop = min(start + BLOCK_ROWS, last)
        for block in range(0, n_features, BLOCK_FEATURES):
            for feature in range(block, min(block + BLOCK_FEATURES, n_features)):
                for row in range(start, stop):
                    by_row[row, feature] = by_feature[feature, row]


@kernel
def pack_bundles(
    by_feature: Array, column: Array, lookup: Array, first: int, last: int, by_row: Array
) -> None:
    """Copy the codes of some rows into columns that features may share.

    ``lookup[feature, code]`` is what a code becomes; ``by_row`` is zero before.
    """
    for start in range(first, last, BLOCK_ROWS):
        stop = min(start + BLOCK_ROWS, last)
        for feature in range(by_feature.shape[0]):
            target = column[feature]
            for row in range(start, stop):
                by_row[row, target] |= lookup[feature, by_feature[feature, row]]

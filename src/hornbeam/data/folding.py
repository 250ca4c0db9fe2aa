"""Say which categories of a column are not told apart: bins are too few for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hornbeam.data.coding import Codes
from hornbeam.data.matrix import kernel_view
from hornbeam.kernels.binning import count_categories
from hornbeam.notices import warn

_MOST_NAMED = 3


def warn_of_folding(
    codes: Codes, matrix: Any, names: Sequence[str], dealt: bool, way_out: str
) -> None:
    """Warn of columns that have more categories than bins.

    Parameters
    ----------
    codes : Codes
        What `encode_bins` made of the matrix.
    matrix : float32 or float64 array
    names : sequence of str
        Names of the columns.
    dealt : bool
        Whether rare categories were dealt out to the frequent ones.
    way_out : str
        What to do about it, as a sentence.
    """
    folded = list(codes.category_code)
    if not folded:
        return
    said = [_describe(codes, matrix, names, f, dealt) for f in folded[:_MOST_NAMED]]
    if len(folded) > _MOST_NAMED:
        said.append(f"So it is with {len(folded) - _MOST_NAMED} more columns.")
    warn(" ".join([*said, way_out]))


def _describe(codes: Codes, matrix: Any, names: Sequence[str], feature: int, dealt: bool) -> str:
    """What was done to the categories of one column."""
    n_categories, n_codes = len(codes.category_code[feature]), int(codes.n_codes[feature])
    counts = np.zeros(n_categories, np.int64)
    count_categories(np.ascontiguousarray(kernel_view(matrix)[:, feature]), counts)
    kept = n_codes if dealt else n_codes - 1
    share = np.sort(counts)[:-kept].sum() / max(1, counts.sum())
    rest = f"{n_categories - kept:,} others ({share:.0%} of the rows)"
    treated = f"deals out the {rest} to them" if dealt else f"treats the {rest} as one"
    return (
        f"Column {names[feature]!r} has {n_categories:,} categories; the model tells the {kept} "
        f"most frequent ones apart and {treated}."
    )

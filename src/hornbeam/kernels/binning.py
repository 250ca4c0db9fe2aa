"""Compiled passes over one column: find infinities, rank, bin, number categories.

Columns are 1-D contiguous float32 or float64 with NaN for missing; codes are uint8 or
uint32, whose largest value means missing.
"""

from __future__ import annotations

import numpy as np

from hornbeam.dtypes import Array
from hornbeam.runtime.kernel import kernel
from hornbeam.runtime.random import derive

BLOCK = 4096
EDGE_SLOTS = 256  # edges padded with inf: eight halvings find a place among them


@kernel
def find_infinite(values: Array) -> int:
    """Position of the first infinite value, -1 if there is none (NaN is fine)."""
    start = 0
    while start < values.size:
        stop = min(start + BLOCK, values.size)
        found = 0
        for i in range(start, stop):  # no early exit: this loop is vectorised
            found += abs(values[i]) > 1.7976931348623157e308
        if found > 0:
            for i in range(start, stop):
                if abs(values[i]) > 1.7976931348623157e308:
                    return i
        start = stop
    return -1


@kernel
def rank_sorted(column: Array, order: Array, missing: int, codes: Array) -> int:
    """Write the rank of each value among the distinct ones; return how many there are.

    ``order`` sorts the column ascending with NaN last. Equal values share a rank, and
    -0.0 equals 0.0.
    """
    rank = -1
    last = 0.0
    for i in range(order.size):
        row = order[i]
        value = column[row]
        if value != value:
            codes[row] = missing
            continue
        if rank < 0 or value != last:
            rank += 1
            last = value
        codes[row] = rank
    return rank + 1


@kernel
def collect_distinct(column: Array, limit: int, found: Array) -> int:
    """Collect the distinct values in ascending order into ``found`` (limit + 1 slots).

    Returns how many there are; ``limit + 1`` means more than ``limit``, and the search
    has stopped there.
    """
    count = 0
    last = column.dtype.type(np.nan)
    for i in range(column.size):
        value = column[i]
        if value != value or value == last:
            continue
        last = value
        low = 0
        high = count
        while low < high:
            middle = (low + high) >> 1
            if found[middle] < value:
                low = middle + 1
            else:
                high = middle
        if low < count and found[low] == value:
            continue
        for j in range(count, low, -1):
            found[j] = found[j - 1]
        found[low] = value
        count += 1
        if count > limit:
            return count
    return count


@kernel
def cut_by_weight(counts: Array, n_rows: int, max_bins: int, cuts: Array) -> int:
    """Choose after which distinct values a bin ends, so that bins hold equally many rows.

    ``counts[j]`` rows have the j-th smallest value; there are more values than bins. A
    value that alone fills a bin (its count reaches the mean over the bins that such heavy
    values leave to the light ones) gets one of its own. The light values between share
    the other bins: one is closed when it holds its fair share of the rows still to be
    placed (or half of it, and a heavy value follows), or when each value left can have its
    own.
    Returns the number of cuts, at most ``max_bins - 1``.
    """
    light_bins = max_bins
    light_rows = n_rows
    n_heavy = -1
    found = 0
    while found != n_heavy:  # each round lowers the mean, so heavy values stay heavy
        n_heavy = found
        found = 0
        heavy_rows = 0
        for j in range(counts.size):
            if counts[j] * light_bins >= light_rows:
                found += 1
                heavy_rows += counts[j]
        light_bins = max_bins - found
        light_rows = n_rows - heavy_rows
    n_cuts = 0
    bins_left = light_bins
    rows_left = light_rows
    values_left = counts.size - n_heavy
    filled = 0
    for j in range(counts.size - 1):
        if counts[j] * light_bins >= light_rows:
            cuts[n_cuts] = j
            n_cuts += 1
            rows_left -= filled  # light values that had to join this one
            filled = 0
            continue
        filled += counts[j]
        full = filled * bins_left >= rows_left or values_left <= bins_left
        values_left -= 1
        # few rows before a heavy value are not worth one of the bins: they join it
        half_full = 2 * filled * bins_left >= rows_left
        ends = counts[j + 1] * light_bins >= light_rows and (half_full or values_left == 0)
        # the last bin for light values stays open until none of them is left
        if (bins_left > 1 and (full or ends)) or (ends and values_left == 0):
            cuts[n_cuts] = j
            n_cuts += 1
            bins_left -= 1
            rows_left -= filled
            filled = 0
    return n_cuts


@kernel
def assign_bins(column: Array, edges: Array, missing: int, codes: Array) -> None:
    """Write the code of each value: how many edges are smaller (x <= edge belongs below).

    ``edges`` has EDGE_SLOTS entries, ascending, padded with inf; the search is eight
    steps without a branch, or two if there are at most three edges.
    """
    if edges[3] == np.inf:
        for i in range(column.size):
            value = column[i]
            place = 2 * (edges[1] < value)
            place += edges[place] < value
            codes[i] = missing if value != value else place
        return
    for i in range(column.size):
        value = column[i]
        place = 0
        place += 128 * (edges[place + 127] < value)
        place += 64 * (edges[place + 63] < value)
        place += 32 * (edges[place + 31] < value)
        place += 16 * (edges[place + 15] < value)
        place += 8 * (edges[place + 7] < value)
        place += 4 * (edges[place + 3] < value)
        place += 2 * (edges[place + 1] < value)
        place += edges[place] < value
        codes[i] = missing if value != value else place


@kernel
def assign_sparse_bins(
    values: Array,
    column_start: Array,
    edges: Array,
    edge_start: Array,
    first: int,
    last: int,
    missing: int,
    codes: Array,
) -> None:
    """Write the code of each stored value of some columns of a sparse matrix."""
    for feature in range(first, last):
        for i in range(column_start[feature], column_start[feature + 1]):
            value = values[i]
            low, high = edge_start[feature], edge_start[feature + 1]
            while low < high:
                middle = (low + high) >> 1
                if edges[middle] < value:  # x <= edge belongs below
                    low = middle + 1
                else:
                    high = middle
            codes[i] = missing if value != value else low - edge_start[feature]


@kernel
def count_categories(column: Array, counts: Array) -> None:
    """Add up how many rows have each category."""
    for i in range(column.size):
        value = column[i]
        if value == value:
            counts[int(value)] += 1


@kernel
def number_categories(column: Array, code_of: Array, missing: int, codes: Array) -> None:
    """Write the code of each category number."""
    for i in range(column.size):
        value = column[i]
        codes[i] = missing if value != value else code_of[int(value)]


@kernel
def hash_rows(seed: int, hashes: Array) -> None:
    """Hash every row number; the rows with the smallest hashes are a random sample."""
    for row in range(hashes.size):
        hashes[row] = derive(seed, row)

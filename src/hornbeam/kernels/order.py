"""Bring the rows of a node into the order of a feature's codes.

The result is a list of keys ``(code << 32) | entry``, ascending by code. An entry is
something with labels, statistics and a row count: a single row of the node, or a cell of
a histogram that stands for many rows. Scans (kernels/scan.py) read only keys and
entries, so that exact and histogram split finding are the same scan.
"""

from __future__ import annotations

from numba import int64, uint32, uint64

from hornbeam.dtypes import MISSING_BIN, MISSING_RANK
from hornbeam.kernels.state import BYTES, N_CLASSES, N_LABELS, N_ROWS, N_STATS
from hornbeam.runtime.kernel import part

INSERTION_LIMIT = 24
MAX_DIGIT_BITS = 11
RADIX_COUNTERS = 1 << MAX_DIGIT_BITS
ENTRY_MASK = 0xFFFFFFFF  # the entry's half of a key


@part
def gather_codes(problem, feature, row, first, last, out):  # type: ignore[no-untyped-def]
    """Copy a feature's codes of the rows ``row[first:last]`` to ``out`` (missing: MISSING_RANK).

    Returns the smallest and largest code and how many rows are missing.
    """
    offset = feature * problem.whole[N_ROWS]
    low, high, n_missing = uint32(MISSING_RANK), uint32(0), 0
    if problem.whole[BYTES]:
        bins = problem.bins
        for j in range(first, last):
            code = uint32(bins[offset + row[j]])
            if code == uint32(MISSING_BIN):
                code = uint32(MISSING_RANK)
                n_missing += 1
            else:
                high = max(high, code)
            low = min(low, code)
            out[j - first] = code
    else:
        ranks = problem.ranks
        for j in range(first, last):
            code = ranks[offset + row[j]]
            if code == uint32(MISSING_RANK):
                n_missing += 1
            else:
                high = max(high, code)
            low = min(low, code)
            out[j - first] = code
    return int64(low), int64(high), n_missing


@part
def row_keys(codes, count, n_missing, first, keys):  # type: ignore[no-untyped-def]
    """One key per row, missing ones last; the entry is the row's place in the node order."""
    known = 0
    missing = count - n_missing
    for j in range(count):
        key = (uint64(codes[j]) << uint64(32)) | uint64(first + j)
        if codes[j] != uint32(MISSING_RANK):
            keys[known] = key
            known += 1
        else:
            keys[missing] = key
            missing += 1
    return known


@part
def sort_keys(keys, spare, count, low, high, counters):  # type: ignore[no-untyped-def]
    """Sort keys by code, keeping the row order among equal codes.

    Returns 1 when the result lies in ``spare``, 0 when it lies in ``keys``. All codes are
    between ``low`` and ``high``, which bounds the digits that need sorting.
    """
    if count <= INSERTION_LIMIT:
        for i in range(1, count):
            key = keys[i]
            j = i - 1
            while j >= 0 and keys[j] > key:
                keys[j + 1] = keys[j]
                j -= 1
            keys[j + 1] = key
        return 0
    bits = 1
    while (high - low) >> bits > 0:
        bits += 1
    widest = 4
    while widest < MAX_DIGIT_BITS and (1 << widest) < count:
        widest += 1
    passes = (bits + widest - 1) // widest
    digit = (bits + passes - 1) // passes
    mask = uint64((1 << digit) - 1)
    base = uint64(low) << uint64(32)
    in_spare = 0
    for step in range(passes):
        shift = uint64(32 + step * digit)
        source, target = keys, spare
        if in_spare == 1:
            source, target = spare, keys
        for c in range(1 << digit):
            counters[c] = 0
        for i in range(count):
            counters[((source[i] - base) >> shift) & mask] += 1
        place = 0
        for c in range(1 << digit):
            size = counters[c]
            counters[c] = place
            place += size
        for i in range(count):
            key = source[i]
            c = ((key - base) >> shift) & mask
            target[counters[c]] = key
            counters[c] += 1
        in_spare = 1 - in_spare
    return in_spare


@part
def cell_keys(problem, rows, scratch, count, low, high, first):  # type: ignore[no-untyped-def]
    """Histogram of a node's rows; returns how many keys, one per cell that is in use.

    There is a cell per (code, class), or per code where moments are summed. Cells that
    are in use become entries, in the order of their codes, and are cleared for the next
    feature.
    """
    n_stats, n_classes = problem.whole[N_STATS], problem.whole[N_CLASSES]
    codes, labels, stats = scratch.codes, rows.labels, rows.stats
    sums, cell_rows = scratch.cell_sums, scratch.cell_rows
    if problem.whole[N_LABELS] == 1:
        for j in range(count):
            if codes[j] != uint32(MISSING_RANK):
                cell = (int64(codes[j]) - low) * n_classes + labels[first + j]
                sums[cell] += stats[first + j]
                cell_rows[cell] += 1
    else:
        for j in range(count):
            if codes[j] != uint32(MISSING_RANK):
                cell = int64(codes[j]) - low
                cell_rows[cell] += 1
                for s in range(n_stats):
                    sums[cell * n_stats + s] += stats[(first + j) * n_stats + s]
    entry = 0
    cell = 0
    for code in range(low, high + 1):
        for label in range(n_classes):
            if cell_rows[cell] > 0:
                scratch.keys[entry] = (uint64(code) << uint64(32)) | uint64(entry)
                scratch.entry_labels[entry] = label
                scratch.entry_rows[entry] = cell_rows[cell]
                cell_rows[cell] = 0
                for s in range(n_stats):
                    scratch.entry_stats[entry * n_stats + s] = sums[cell * n_stats + s]
                    sums[cell * n_stats + s] = 0.0
                entry += 1
            cell += 1
    return entry


@part
def merge_sort(values, items, spare_items, count):  # type: ignore[no-untyped-def]
    """Sort ``items`` by ``values[item]``, ascending and stable (n log n, no recursion)."""
    width = 1
    while width < count:
        start = 0
        while start < count:
            middle = min(start + width, count)
            end = min(start + 2 * width, count)
            i, j = start, middle
            for place in range(start, end):
                if i < middle and (j >= end or values[items[i]] <= values[items[j]]):
                    spare_items[place] = items[i]
                    i += 1
                else:
                    spare_items[place] = items[j]
                    j += 1
            start = end
        for i in range(count):
            items[i] = spare_items[i]
        width *= 2

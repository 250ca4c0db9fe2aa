"""Bring the rows of a node into the order of a feature's codes.

The result is a list of keys ``(code << 32) | entry``, ascending by code. An entry is
something with labels, statistics and a row count: a single row of the node, or a cell of
a histogram that stands for many rows. Scans (kernels/scan.py) read only keys and
entries, so that exact and histogram split finding are the same scan.
"""

from __future__ import annotations

from numba import int64, uint32, uint64

from hornbeam.dtypes import MISSING_BIN, MISSING_RANK
from hornbeam.kernels.collect import (
    COPIED_CELLS,
    N_COPIES,
    join_copies,
    make_collector,
    note_all,
    note_code,
    words_of,
)
from hornbeam.kernels.pieces import column_of, next_piece
from hornbeam.kernels.state import (
    PROBLEM_AT,
    ROWS_AT,
    SCRATCH_AT,
    CountCells,
    SortRows,
    load_problem,
    load_rows,
    load_scratch,
)
from hornbeam.runtime.atomics import trailing_zeros
from hornbeam.runtime.kernel import inlined, part, step

INSERTION_LIMIT = 24
MAX_DIGIT_BITS = 11
RADIX_COUNTERS = 1 << MAX_DIGIT_BITS
ENTRY_MASK = 0xFFFFFFFF  # the entry's half of a key


@part
def code_at(page, place, as_bytes):
    """Code at a place of a page; a missing one is MISSING_RANK, whatever the width of the codes."""
    if as_bytes:
        code = uint32(page.bins[place])
        return uint32(MISSING_RANK) if code == uint32(MISSING_BIN) else code
    return page.ranks[place]


@inlined
def row_keys(problem, rows, feature, first, last, keys):
    """One key per row, missing ones last; the entry is the row's place in the node order.

    Returns the smallest and largest code and how many rows are not missing.
    """
    low, high = uint32(MISSING_RANK), uint32(0)
    known, missing = 0, last - first
    row, as_bytes, begin = rows.row, problem.as_bytes, first
    while begin < last:
        page, end = next_piece(problem, row, begin, last)
        offset = column_of(page, feature)
        for j in range(begin, end):
            code = code_at(page, offset + row[j], as_bytes)
            key = (uint64(code) << uint64(32)) | uint64(j)
            if code != uint32(MISSING_RANK):
                low, high = min(low, code), max(high, code)
                keys[known] = key
                known += 1
            else:
                missing -= 1
                keys[missing] = key
        begin = end
    return int64(low), int64(high), known


@inlined
def sort_keys(keys, spare, count, low, high, counters):
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
    for turn in range(passes):
        shift = uint64(32 + turn * digit)
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


@step(SortRows)
def sort_rows(slots, feature, first, last):
    """List the rows of a node by ascending code, missing ones last.

    Returns how many are not missing. The keys are in ``keys`` or, if ``ask.in_spare`` is set,
    in ``spare_keys``.
    """
    problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
    scratch = load_scratch(slots, SCRATCH_AT)
    keys, spare = scratch.keys, scratch.spare_keys
    scratch.ask.in_spare = 0
    low, high, known = row_keys(problem, rows, feature, first, last, keys)
    if known > 0 and low < high:
        scratch.ask.in_spare = sort_keys(keys, spare, known, low, high, scratch.counters)
        if scratch.ask.in_spare:
            for i in range(known, last - first):
                spare[i] = keys[i]
    return known


@inlined
def note_codes(problem, scratch, feature, n_rows):
    """Whether the codes that occur are worth noting, one bit each; else all count as noted.

    Where most of them occur, looking at all is cheaper.
    """
    n_codes = problem.n_codes[feature]
    note = n_codes * problem.sums.n_classes > n_rows
    if not note:
        note_all(scratch.occupied, n_codes)
    return note


@inlined
def add_label(into, seen, copy, code, j):
    """Count a row of a class, and note its code if it is worth noting."""
    cell_rows, n_classes, labels, occupied, note, distance = into
    if note:
        note_code(occupied, code)
    cell_rows[copy * distance + code * n_classes + labels[j]] += 1
    return seen


@inlined
def add_weight(into, seen, copy, code, j):
    """... with its weight."""
    (cell_rows, cell_sums, n_classes, labels, stats, occupied), note, distance = into
    if note:
        note_code(occupied, code)
    cell = copy * distance + code * n_classes + labels[j]
    cell_rows[cell] += 1
    cell_sums[cell] += stats[j]
    return seen


@inlined
def add_stats(into, seen, copy, code, j):
    """... or add its statistics, of no class."""
    stats, cell_rows, cell_sums, occupied, n_stats, note = into
    if note:
        note_code(occupied, code)
    cell_rows[code] += 1
    for s in range(n_stats):
        cell_sums[code * n_stats + s] += stats[j * n_stats + s]
    return seen


collect_byte_labels = make_collector(add_label, copies=N_COPIES)
collect_word_labels = make_collector(add_label, words_of, N_COPIES)
collect_byte_weights = make_collector(add_weight, copies=N_COPIES)
collect_word_weights = make_collector(add_weight, words_of, N_COPIES)
collect_byte_stats = make_collector(add_stats)
collect_word_stats = make_collector(add_stats, words_of)


@step(CountCells)
def count_labels(slots, feature, first, last):
    """Histogram of a node's rows, each of weight 1: a cell per (code, class).

    Missing values have the cells after those of the last code.
    """
    problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
    scratch = load_scratch(slots, SCRATCH_AT)
    cells, n_codes, n_classes = scratch.cell_rows, problem.n_codes[feature], problem.sums.n_classes
    note, span = note_codes(problem, scratch, feature, last - first), (n_codes + 1) * n_classes
    distance = span if N_COPIES * span <= COPIED_CELLS and not note else 0
    into = (cells, n_classes, rows.labels, scratch.occupied, note, distance)
    if problem.as_bytes:
        collect_byte_labels(problem, rows.row, feature, first, last, n_codes, into, 0)
    else:
        collect_word_labels(problem, rows.row, feature, first, last, n_codes, into, 0)
    if distance > 0:
        join_copies(cells, span, distance, N_COPIES)


@step(CountCells)
def count_weights(slots, feature, first, last):
    """Histogram of a node's rows, which weigh something: a cell per (code, class)."""
    problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
    scratch, n_codes = load_scratch(slots, SCRATCH_AT), problem.n_codes[feature]
    counts, weights, n_classes = scratch.cell_rows, scratch.cell_sums, problem.sums.n_classes
    note, span = note_codes(problem, scratch, feature, last - first), (n_codes + 1) * n_classes
    distance = span if N_COPIES * span <= COPIED_CELLS and not note else 0
    cells = (counts, weights, n_classes, rows.labels, rows.stats, scratch.occupied)
    into = (cells, note, distance)
    if problem.as_bytes:
        collect_byte_weights(problem, rows.row, feature, first, last, n_codes, into, 0)
    else:
        collect_word_weights(problem, rows.row, feature, first, last, n_codes, into, 0)
    if distance > 0:
        join_copies(counts, span, distance, N_COPIES)
        join_copies(weights, span, distance, N_COPIES)


@step(CountCells)
def count_sums(slots, feature, first, last):
    """Histogram of a node's rows: a cell per code for moments."""
    problem, rows = load_problem(slots, PROBLEM_AT), load_rows(slots, ROWS_AT)
    scratch, n_stats = load_scratch(slots, SCRATCH_AT), problem.sums.n_stats
    note, cells = note_codes(problem, scratch, feature, last - first), scratch.cell_rows
    into = (rows.stats, cells, scratch.cell_sums, scratch.occupied, n_stats, note)
    n_codes = problem.n_codes[feature]
    if problem.as_bytes:
        collect_byte_stats(problem, rows.row, feature, first, last, n_codes, into, 0)
    else:
        collect_word_stats(problem, rows.row, feature, first, last, n_codes, into, 0)


@inlined
def cell_keys(problem, scratch, feature):
    """Make the cells in use entries, by ascending code, and clear them.

    Returns how many entries there are, and how many of them are not missing.
    """
    sums, n_codes = problem.sums, problem.n_codes[feature]
    n_stats, n_classes = sums.n_stats, sums.n_classes
    from_rows = sums.n_labels == 1 and problem.weights.unit
    cell_sums, cell_rows, occupied = scratch.cell_sums, scratch.cell_rows, scratch.occupied
    entry = 0
    known = 0
    for word in range((n_codes >> 6) + 1):
        bits = occupied[word]
        occupied[word] = uint64(0)
        while bits != uint64(0):
            code = (word << 6) + trailing_zeros(bits)
            bits &= bits - uint64(1)
            if code > n_codes:
                break
            for label in range(n_classes):
                cell = code * n_classes + label
                count = cell_rows[cell]
                if count > 0:
                    scratch.keys[entry] = (uint64(code) << uint64(32)) | uint64(entry)
                    scratch.entry_labels[entry] = label
                    scratch.entry_rows[entry] = count
                    cell_rows[cell] = 0
                    if from_rows:
                        scratch.entry_stats[entry] = count
                    else:
                        for s in range(n_stats):
                            at = cell * n_stats + s
                            scratch.entry_stats[entry * n_stats + s] = cell_sums[at]
                            cell_sums[at] = 0.0
                    entry += 1
            if code < n_codes:
                known = entry
    return entry, known


@part
def merge_sort(values, items, spare_items, count):
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

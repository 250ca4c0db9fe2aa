"""Sort the entries of a node by their codes of one feature."""

from __future__ import annotations

from numba import int64, uint64

from hornbeam.kernels.pieces import column_of, next_piece
from hornbeam.kernels.quinlan.state import MISSING_CODE
from hornbeam.runtime.kernel import part

FEW = 40
DIGIT_BITS = 8
DIGITS = 1 << DIGIT_BITS


@part
def insert_sorted(keys, n_keys):
    """Sort a few keys by insertion."""
    for i in range(1, n_keys):
        key = keys[i]
        place = i
        while place > 0 and keys[place - 1] > key:
            keys[place] = keys[place - 1]
            place -= 1
        keys[place] = key


@part
def sort_entries(table, row, scratch, feature, first, last):
    """Sort the entries with a known code, stably; return how many these are.

    Afterwards ``keys[i] >> 32`` is a code, from the smallest up, and its lower half the
    place of an entry behind ``first``.
    """
    keys, other, digits = scratch.keys, scratch.new_keys, scratch.digits
    n_keys = int64(0)
    smallest, largest = int64(MISSING_CODE), int64(0)
    begin = first
    while begin < last:
        page, end = next_piece(table, row, begin, last)
        codes, offset = page.ranks, column_of(page, feature)
        for i in range(begin, end):
            code = int64(codes[offset + row[i]])
            if code != MISSING_CODE:
                keys[n_keys] = (uint64(code) << uint64(32)) | uint64(i - first)
                n_keys += 1
                smallest, largest = min(smallest, code), max(largest, code)
        begin = end
    if n_keys <= FEW:
        insert_sorted(keys, n_keys)
        return n_keys
    shift = int64(0)
    while (largest - smallest) >> shift > 0:
        for digit in range(DIGITS + 1):
            digits[digit] = 0
        for i in range(n_keys):
            digit = ((int64(keys[i] >> uint64(32)) - smallest) >> shift) & (DIGITS - 1)
            digits[digit + 1] += 1
        for digit in range(DIGITS):
            digits[digit + 1] += digits[digit]
        for i in range(n_keys):
            digit = ((int64(keys[i] >> uint64(32)) - smallest) >> shift) & (DIGITS - 1)
            other[digits[digit]] = keys[i]
            digits[digit] += 1
        for i in range(n_keys):
            keys[i] = other[i]
        shift += DIGIT_BITS
    return n_keys

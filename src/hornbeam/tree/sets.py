"""Sets of categories: over all of them, or over the codes that they share.

Where a column has more categories than codes, trees grow on codes, and a set over codes takes 32
bytes at most, however many categories there are. Which code a category has is then kept once for
all trees.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from hornbeam.dtypes import BIN, JOINT_CODE, MAX_BINS, WORD, WORD_BITS, Array
from hornbeam.kernels.forest import code_categories

_BITS_AT_ONCE = 1 << 24  # of unfolded sets: each is a byte on the way


class SharedCodes(NamedTuple):
    """Codes that categories share.

    ``code_of_category[code_start[f]:code_start[f + 1]]`` are the codes of the categories of
    column f; none if its sets are over the categories themselves. Both are empty if no column has
    more categories than codes. Codes are bytes, or joint codes of several facets
    (`data.facets`), of which there may be more.
    """

    code_start: Array  # int64
    code_of_category: Array  # uint8 or uint16

    @classmethod
    def of(cls, category_code: Mapping[int, Array], n_features: int) -> SharedCodes:
        """The codes of some columns of a table."""
        if not category_code:
            return cls(np.empty(0, np.int64), np.empty(0, BIN))
        codes = [category_code.get(feature, np.empty(0)) for feature in range(n_features)]
        ends = np.cumsum([0, *(len(own) for own in codes)], dtype=np.int64)
        joined = np.concatenate(codes)
        return cls(ends, joined.astype(BIN if joined.max(initial=0) <= MAX_BINS else JOINT_CODE))

    @property
    def columns(self) -> Array:
        """Which columns have categories that share codes."""
        return np.flatnonzero(np.diff(self.code_start))

    def by_column(self) -> dict[int, Array]:
        """The code of each category of these columns."""
        start = self.code_start
        return {f: self.code_of_category[start[f] : start[f + 1]] for f in self.columns.tolist()}

    def are(self, other: SharedCodes) -> bool:
        """Whether these are the same codes."""
        pairs = zip(self, other, strict=True)
        return all(one is another or np.array_equal(one, another) for one, another in pairs)

    def coded(self, matrix: Array, columns: Array) -> Array:
        """A copy of a table with codes in the place of the categories of some columns."""
        coded = np.array(matrix)
        row_step, column_step = (stride // coded.itemsize for stride in coded.strides)
        code_categories(coded.ravel("K"), row_step, column_step, len(coded), columns, *self)
        return coded


def unfold_sets(
    n_words: Array, words: Array, feature: Array, category_code: dict[int, Array]
) -> tuple[Array, Array]:
    """Bit sets over categories from those over the codes that these were folded into.

    Sets are one after the other; each is of a feature, and so many words long.
    """
    if not category_code:
        return n_words, words
    start, length = np.cumsum(n_words) - n_words, n_words.copy()
    for column, code_of_category in category_code.items():
        length[feature == column] = -(-len(code_of_category) // WORD_BITS)
    unfolded = np.empty(int(length.sum()), WORD)
    first = np.cumsum(length) - length
    plain = np.flatnonzero(~np.isin(feature, list(category_code)))
    unfolded[ranges(first[plain], length[plain])] = words[ranges(start[plain], length[plain])]
    for column, code_of_category in category_code.items():
        of_column = np.flatnonzero(feature == column)
        n_bits = -(-len(code_of_category) // WORD_BITS) * WORD_BITS
        step = max(1, _BITS_AT_ONCE // n_bits)
        for some in range(0, len(of_column), step):
            sets = of_column[some : some + step]
            folded = words[start[sets, None] + np.arange(n_words[sets[0]])]
            bits = np.unpackbits(folded.view(np.uint8), axis=1, bitorder="little")
            padded = np.zeros((len(sets), n_bits), np.uint8)
            padded[:, : len(code_of_category)] = bits.take(code_of_category, axis=1)
            place = first[sets, None] + np.arange(n_bits // WORD_BITS)
            unfolded[place] = np.packbits(padded, axis=1, bitorder="little").view(WORD)
    return length, unfolded


def ranges(start: Array, length: Array) -> Array:
    """The numbers from each start on, so many of them, one range after the other."""
    before = np.cumsum(length) - length
    return np.arange(int(length.sum())) + np.repeat(start - before, length)

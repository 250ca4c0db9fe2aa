"""Exclusive features share a column (Ke et al. 2017: exclusive feature bundling).

Features that are hardly ever different from their most frequent code, and never two of
them in the same row, can be counted in one column. The most frequent code is not
counted: it gets what remains of the node, feature by feature. With no conflicts allowed
the histograms, and so the model, are the same as without bundling, to the last bit.

To share out features to as few columns as possible is to colour a graph, in which features
that differ in the same row are neighbours. It is done greedily (Algorithm 3 there): those that
differ in most rows first, which stands for their degree, each goes to the first column where
the rows in conflict stay within what is allowed. In such a row one of the features is seen, and
the others seem to have their most frequent code.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hornbeam.dtypes import BIN, MISSING_BIN, Array

_CODES = 256
_MOST_CODES = 255  # of a bundle; code 0 means that all its features have their default
_MOST_DIFFERENT = 0.25  # share of rows in which a feature that is bundled may differ
_OPEN_BUNDLES = 64  # bundles that a feature is tried to fit into
_SAMPLE = 1 << 14


@dataclass(frozen=True, eq=False)
class Bundles:
    """Which column each feature is counted in, and how.

    Attributes
    ----------
    column : int64 array
        The column of each feature.
    is_shared : uint8 array
        1 where the column is shared; otherwise it holds the codes themselves.
    offset, width : int64 array
        The codes of a feature in a shared column are offset .. offset + width, those of
        its cells in order without the default one.
    default : uint8 array
        The code of each feature that is not counted in a shared column.
    """

    column: Array
    is_shared: Array
    offset: Array
    width: Array
    default: Array

    @property
    def shared(self) -> list[Array]:
        """The features of each column that several share, ascending."""
        columns = np.unique(self.column[self.is_shared == 1])
        return [np.flatnonzero(self.column == column) for column in columns]

    @property
    def n_columns(self) -> int:
        """How many columns there are."""
        return int(self.column.max(initial=-1)) + 1

    def lookup(self, feature: int, n_codes: int) -> Array:
        """What each code of a feature becomes in its column; 0 for the default."""
        table = np.arange(_CODES, dtype=BIN)
        if self.is_shared[feature]:
            table[:] = 0
            codes = (*range(n_codes), MISSING_BIN)
            kept = [code for code in codes if code != self.default[feature]][: self.width[feature]]
            table[kept] = self.offset[feature] + np.arange(len(kept))
        return table


def no_bundles(n_features: int) -> Bundles:
    """Every feature in a column of its own."""
    return Bundles(
        column=np.arange(n_features),
        is_shared=np.zeros(n_features, np.uint8),
        offset=np.zeros(n_features, np.int64),
        width=np.zeros(n_features, np.int64),
        default=np.zeros(n_features, BIN),
    )


def find_bundles(columns: Array, n_codes: Array, max_conflict_rate: float = 0.0) -> Bundles:
    """Bundle exclusive features greedily, those that differ most often first.

    In each bundle the share of the rows in which two features or more differ is at most
    ``max_conflict_rate``, where a row counts once for each feature that finds another one there.
    """
    n_features, n_rows = columns.shape
    candidates = []
    for feature in range(n_features):
        column = columns[feature]
        if _share_of_default(column[:: max(1, n_rows // _SAMPLE)]) < 1.0 - 1.5 * _MOST_DIFFERENT:
            continue
        counts = np.bincount(column, minlength=_CODES)
        default = int(counts.argmax())
        different = n_rows - int(counts[default])
        width = (
            int(n_codes[feature])
            - (default != MISSING_BIN)
            + (default != MISSING_BIN and counts[MISSING_BIN] > 0)
        )
        if different <= _MOST_DIFFERENT * n_rows and 0 < width < _MOST_CODES:
            candidates.append((-different, feature, default, width))
    if len(candidates) < 2:
        return no_bundles(n_features)
    return _bundle(columns, sorted(candidates), int(max_conflict_rate * n_rows))


def _share_of_default(sample: Array) -> float:
    return float(np.bincount(sample, minlength=_CODES).max() / max(1, len(sample)))


def _count_bits(words: Array, most: int) -> int:
    """How many bits are set, or more than ``most`` if it is known that there are more."""
    there = words[words != 0]
    return len(there) if len(there) > most else int(np.unpackbits(there).sum())


def _bundle(
    columns: Array, candidates: list[tuple[int, int, int, int]], most_conflicts: int
) -> Bundles:
    n_features = len(columns)
    members: list[list[tuple[int, int, int]]] = []  # per bundle: feature, default, width
    masks: list[Array] = []  # rows in which some feature of the bundle differs
    sizes: list[int] = []
    left: list[int] = []  # conflicts that a bundle may still have
    for _, feature, default, width in candidates:
        rows = np.packbits(columns[feature] != default)
        for bundle in range(max(0, len(members) - _OPEN_BUNDLES), len(members)):
            if sizes[bundle] + width > _MOST_CODES:
                continue
            conflicts = _count_bits(masks[bundle] & rows, left[bundle])
            if conflicts <= left[bundle]:
                left[bundle] -= conflicts
                break
        else:
            bundle = len(members)
            left.append(most_conflicts)
            members.append([])
            masks.append(np.zeros_like(rows))
            sizes.append(0)
        members[bundle].append((feature, default, width))
        masks[bundle] |= rows
        sizes[bundle] += width
    bundle_of = np.full(n_features, -1)
    result = no_bundles(n_features)
    for number, bundle_members in enumerate(members):
        if len(bundle_members) == 1:
            continue
        offset = 1
        for feature, default, width in bundle_members:
            bundle_of[feature] = number
            result.is_shared[feature] = 1
            result.offset[feature], result.width[feature] = offset, width
            result.default[feature] = default
            offset += width
    first: dict[int, int] = {}
    n_columns = 0
    for feature in range(n_features):
        number = int(bundle_of[feature])
        if number in first:
            result.column[feature] = first[number]
            continue
        if number >= 0:
            first[number] = n_columns
        result.column[feature] = n_columns
        n_columns += 1
    return result

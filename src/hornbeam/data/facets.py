"""Facets: a column with more categories than codes is coded in several ways at once.

A code is a byte, and a column may have any number of categories. So a wide column becomes several
features, its facets, each with codes of its own::

    by name     the most frequent categories apart, all others together: the column itself
    by name     the next most frequent ones apart, all others together; as often as pays
    in order    all categories in the order of what they say of the target, cut into bins

Questions about names are answered exactly, but each tells few categories apart. Those about the
order tell all of them apart by the one thing that matters most, and need few rows of each.

A category of few rows has its place in the order by chance, and its own rows would believe it. So
the order that a row sees is made from other rows: the rows are parted into folds, and in each fold
categories lie where the rows of the other folds put them (target statistics: Micci-Barreca 2001,
Prokhorenkova et al. 2018). New rows see the order of all rows.

All facets of a column together say of two categories whether they are ever told apart. Those that
never are have the same joint code, and the sets of a fitted tree are over joint codes. Their number
does not grow with that of the categories.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hornbeam.data.coding import Codes, category_bins, codes_of_bins, find_edges, sample_rows
from hornbeam.data.folds import NO_KIN, Kin
from hornbeam.dtypes import BIN, Array

FOLDS = 4  # fewer know too little of each other, more of them too much
FOLDS_OF_TIME = 8  # of which each knows the earlier ones only
SMOOTH_ROWS = 2.0  # rows of the mean that a category begins with
MOST_NAMED = 3  # facets by name
ROWS_OF_NAME = 20  # in the mean: fewer are not worth a name
# Scores have as many directions in which categories may differ. So many bins has the order in each:
BINS_OF_DIRECTIONS = (255, 22, 8)
_EXACT_BITS = 52  # sums of integers below 2**52 are exact in floats
_FOLD_KEY = 5  # tells these draws from others with the same seed


class Slopes(NamedTuple):
    """What rows say of their target: gradients and hessians of the loss before the first tree.

    Both are of shape (n_rows, n_scores).
    """

    gradient: Array
    hessian: Array


def add_facets(
    codes: Codes,
    matrix: Array,
    slopes: Slopes,
    max_bins: int,
    seed: int,
    kin: Kin = NO_KIN,
    most_named: int = MOST_NAMED,
) -> Codes:
    """Add facets to the columns of a table that have more categories than codes.

    Parameters
    ----------
    codes : Codes
        Of the whole table, made by `encode_bins`: those of wide columns are their first facet.
    matrix : float32 or float64 array
    slopes : Slopes
    max_bins : int
    seed : int
    kin : Kin
        Rows of a group are in one fold; with times a row sees the order of earlier rows only.
    most_named : int
        How many facets by name a column may have.

    Returns
    -------
    Codes
        With the new facets behind the columns of the table.
    """
    wide = list(codes.category_code)
    facets: list[_Facet] = []
    for column in wide:
        category = matrix[:, column]
        n_categories = len(codes.category_code[column])
        facets += _by_name(column, category, n_categories, max_bins, most_named)
        order = _Order(category, n_categories, slopes, _folds(kin, len(category), seed, column))
        facets += order.facets(column, max_bins)
    n_columns = len(codes.n_codes)
    own = np.arange(n_columns) if codes.source is None else codes.source
    rows = np.concatenate([codes.columns, *(facet.rows.reshape(1, -1) for facet in facets)])
    kept = [facet.is_named for facet in facets]
    return replace(
        codes.with_columns(rows),
        n_codes=np.concatenate([codes.n_codes, [facet.n_codes for facet in facets]]).astype(int),
        is_category=np.concatenate([codes.is_category, kept]).astype(np.uint8),
        edge_start=_extended(codes.edge_start, len(facets)),
        middle_start=_extended(codes.middle_start, len(facets)),
        crowded=np.concatenate([codes.crowded, np.zeros(len(facets), np.uint8)]),
        category_code=codes.category_code
        | {n_columns + i: facet.of_category for i, facet in enumerate(facets)},
        source=np.concatenate([own, [facet.column for facet in facets]]).astype(np.int64),
    )


@dataclass(frozen=True, eq=False)
class _Facet:
    """One way to code a column: the codes of its rows, and those of its categories."""

    column: int
    is_named: bool
    n_codes: int
    rows: Array
    of_category: Array


def _by_name(
    column: int, category: Array, n_categories: int, max_bins: int, most: int
) -> Iterator[_Facet]:
    """The next most frequent categories apart, as often as they have enough rows."""
    known = category[~np.isnan(category)].astype(np.int64)
    counts = np.bincount(known, minlength=n_categories)
    by_count = np.argsort(-counts, kind="stable")  # the first ones have names in the column itself
    for number in range(1, most):
        named = by_count[number * (max_bins - 1) : (number + 1) * (max_bins - 1)]
        if not len(named) or counts[named].mean() < ROWS_OF_NAME:
            return
        code = np.full(n_categories, len(named), np.int32)
        code[np.sort(named)] = np.arange(len(named))
        yield _Facet(column, True, len(named) + 1, category_bins(category, code), code)


class _Order:
    """Where the categories of a column lie, judged by all rows and by those of other folds."""

    def __init__(
        self, category: Array, n_categories: int, slopes: Slopes, folds: tuple[Array, bool]
    ) -> None:
        self.missing = np.isnan(category)
        self.fold, in_time = folds
        n_folds = int(self.fold.max(initial=0)) + 1
        known = np.where(self.missing, 0, category).astype(np.int64)
        self.place = known * n_folds + self.fold  # of each row in tables of category and fold
        said = ~self.missing[:, None] & np.isfinite(slopes.gradient) & np.isfinite(slopes.hessian)
        weight = np.where(said, slopes.hessian, 0.0)
        slope = np.where(said, slopes.gradient, 0.0)
        total = weight.sum(axis=0)
        mean = np.divide(slope.sum(axis=0), total, out=np.zeros_like(total), where=total > 0)
        smooth = SMOOTH_ROWS * total / max(1, np.count_nonzero(~self.missing))
        shape = (n_categories, n_folds)
        full, held = [], []
        for score in range(weight.shape[1]):
            above = slope[:, score] - mean[score] * weight[:, score]
            of_g, of_h = (_exact_sums(s, self.place, shape) for s in (above, weight[:, score]))
            full.append(_steps(of_g.sum(axis=1), of_h.sum(axis=1), smooth[score]))
            others = _of_others(of_g, in_time), _of_others(of_h, in_time)
            held.append(_steps(*others, smooth[score]))
            if score == 0:
                self.weight = of_h.sum(axis=1)
        self.full, self.held = np.array(full), np.array(held)  # (n_scores, n_categories, ..)

    def facets(self, column: int, max_bins: int, most_directions: int = 3) -> Iterator[_Facet]:
        """One facet for each direction in which the categories differ most."""
        directions = _directions(self.full, self.weight)[:most_directions]
        most = min(max_bins, BINS_OF_DIRECTIONS[len(directions) - 1])
        for direction in directions:
            of_category = np.tensordot(direction, self.full, 1)
            of_row = np.tensordot(direction, self.held, 1).ravel()[self.place]
            of_row[self.missing] = np.nan
            edges, middles, _ = find_edges(of_row, most, sample_rows(len(of_row), 0))
            code = codes_of_bins(of_category, edges).astype(np.int32)
            yield _Facet(column, False, len(middles), codes_of_bins(of_row, edges), code)


def _folds(kin: Kin, n_rows: int, seed: int, column: int) -> tuple[Array, bool]:
    """The fold of each row, and whether folds are in the order of time."""
    if kin.time is not None:
        rank = np.argsort(np.argsort(kin.time, kind="stable"), kind="stable")
        first = np.full(int(kin.time.max(initial=0)) + 1, n_rows, np.int64)
        np.minimum.at(first, kin.time, rank)  # rows of one time are in one fold
        return first[kin.time] * FOLDS_OF_TIME // max(1, n_rows), True
    random = np.random.default_rng([_FOLD_KEY, seed, column])
    if kin.groups is not None:
        return random.integers(FOLDS, size=int(kin.groups.max(initial=0)) + 1)[kin.groups], False
    return random.integers(FOLDS, size=n_rows), False


def _exact_sums(part: Array, place: Array, shape: tuple[int, int]) -> Array:
    """Sums per category and fold that no order of the rows changes.

    Otherwise the sums of other rows would differ in their last bits by what the row itself says.
    """
    most = float(np.abs(part).max(initial=0.0)) * max(1, len(part))
    exponent = _EXACT_BITS - int(np.frexp(most)[1])
    whole = np.rint(np.ldexp(part.astype(np.float64), exponent))
    sums = np.bincount(place, whole, minlength=shape[0] * shape[1])
    return np.ldexp(sums, -exponent).reshape(shape)


def _of_others(sums: Array, in_time: bool) -> Array:
    """The sums of the other folds, or of the earlier ones."""
    if in_time:
        return np.cumsum(sums, axis=1) - sums
    return sums.sum(axis=1, keepdims=True) - sums


def _steps(gradient: Array, hessian: Array, smooth: float) -> Array:
    """G / (H + smooth): the step that a category asks for, drawn towards none."""
    divisor = hessian + smooth
    return np.divide(gradient, divisor, out=np.zeros_like(gradient), where=divisor > 0)


def _directions(full: Array, weight: Array) -> Array:
    """The directions in which categories differ most, of as many scores as there are."""
    n_scores = len(full)
    if n_scores == 1:
        return np.ones((1, 1))
    kept = min(n_scores - 1, len(BINS_OF_DIRECTIONS))
    _, vectors = np.linalg.eigh((full * weight) @ full.T)
    found = vectors[:, ::-1][:, :kept].T
    largest = found[np.arange(kept), np.abs(found).argmax(axis=1)]
    signed: Array = found * np.sign(largest)[:, None]
    return signed


def _extended(start: Array, n_more: int) -> Array:
    """Where the edges of features begin, and of more features, which have none."""
    return np.concatenate([start, np.full(n_more, start[-1])])


# --- one order instead of facets -------------------------------------------------------------


def put_in_order(
    codes: Codes, matrix: Array, slopes: Slopes, max_bins: int, seed: int, kin: Kin = NO_KIN
) -> tuple[Codes, Array]:
    """Code columns with more categories than codes by their order alone, as numbers.

    For forests, whose trees are too different from each other to mend what one order misses, and
    who ask of their training rows what trees say that have not seen them. So the table changes,
    too: a row has a category in it that new rows have the same code for.

    Parameters
    ----------
    codes, matrix, slopes, max_bins, seed, kin
        As in `add_facets`.

    Returns
    -------
    codes : Codes
        A wide column is no category column in them; ``category_code`` has its codes.
    matrix : array
    """
    columns, matrix = codes.columns.copy(), np.array(matrix)
    n_codes, is_category = codes.n_codes.copy(), codes.is_category.copy()
    books = {"edges": _parts(codes.edges, codes.edge_start)}
    books["middles"] = _parts(codes.middles, codes.middle_start)
    category_code = dict(codes.category_code)
    for column in codes.category_code:
        category, n_categories = matrix[:, column], len(codes.category_code[column])
        order = _Order(category, n_categories, slopes, _folds(kin, len(category), seed, column))
        (facet,) = order.facets(column, max_bins, most_directions=1)
        # codes that no category has are those of its neighbours
        used, own = np.unique(facet.of_category, return_inverse=True)
        category_code[column] = own.ravel().astype(np.int32)
        known = ~order.missing
        code = np.minimum(np.searchsorted(used, facet.rows[known]), len(used) - 1)
        columns[column, known] = code
        stands_for = np.empty(len(used))
        stands_for[own.ravel()[::-1]] = np.arange(n_categories)[::-1]
        matrix[known, column] = stands_for[code]
        n_codes[column], is_category[column] = len(used), 0
        books["edges"][column] = np.arange(len(used) - 1) + 0.5
        books["middles"][column] = np.arange(float(len(used)))
    (edges, edge_start), (middles, middle_start) = (_joined(parts) for parts in books.values())
    ordered = replace(
        codes.with_columns(columns),
        n_codes=n_codes,
        is_category=is_category,
        edges=edges,
        edge_start=edge_start,
        middles=middles,
        middle_start=middle_start,
        category_code=category_code,
    )
    return ordered, matrix


def _parts(values: Array, start: Array) -> list[Array]:
    return [values[first:last] for first, last in pairwise(start.tolist())]


def _joined(parts: list[Array]) -> tuple[Array, Array]:
    start = np.cumsum([0, *(len(part) for part in parts)], dtype=np.int64)
    return np.concatenate([*parts, np.empty(0)]), start


# --- joint codes --------------------------------------------------------------------------


class JointCodes(NamedTuple):
    """The joint code of each category of a column, and what each of its facets says of these."""

    of_category: Array
    of_facet: dict[int, Array]  # by feature: the code of each joint code


def join_facets(codes: Codes) -> dict[int, JointCodes]:
    """Joint codes of the columns that have facets, by column."""
    joint = {}
    source = np.arange(len(codes.n_codes)) if codes.source is None else codes.source
    for column in sorted({int(source[feature]) for feature in codes.category_code}):
        features = np.flatnonzero(source == column).tolist()
        table = np.column_stack([codes.category_code[feature] for feature in features])
        distinct, joined = np.unique(table.astype(BIN), axis=0, return_inverse=True)
        by_facet = dict(zip(features, distinct.T.astype(np.int64), strict=True))
        joint[column] = JointCodes(joined.ravel(), by_facet)
    return joint

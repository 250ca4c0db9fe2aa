"""The loop that fills histograms, against its definition, over pages and with every adder."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit

from hornbeam.kernels import collect as c
from hornbeam.kernels.order import add_label, add_stats
from hornbeam.kernels.order import add_weight as add_class_weight
from hornbeam.kernels.quinlan.search import add_unknown, add_weight, add_witness
from hornbeam.kernels.split_bins import ROW_UNIT, add_class, add_one, weigh_class
from hornbeam.kernels.split_cuts import add_class_side, add_moment_side, add_to_range
from hornbeam.runtime.kernel import inlined

MISSING, N_ROWS, N_CODES, N_CLASSES = 255, 137, 70, 3


class Page(NamedTuple):
    """What a collector reads of a page ..."""

    start: int
    stop: int
    bins: Any
    ranks: Any


class Table(NamedTuple):
    """... and of a table."""

    pages: Any
    n_pages: int


class Node(NamedTuple):
    """The rows of a node, and what is known of them."""

    row: Any
    code: Any  # of their rows
    label: Any
    weight: Any


def make(n_pages: int) -> tuple[Table, Node]:
    """A table of two features, cut unevenly, and a node that has two thirds of its rows."""
    random = np.random.default_rng(n_pages)
    codes = random.integers(0, N_CODES, (2, N_ROWS))
    codes[random.random(codes.shape) < 0.1] = MISSING
    ends = [0, *sorted(random.choice(np.arange(1, N_ROWS), n_pages - 1, replace=False)), N_ROWS]
    pages = tuple(
        Page(
            int(start),
            int(stop),
            codes[:, start:stop].astype(np.uint8).ravel(),
            codes[:, start:stop].astype(np.uint32).ravel(),
        )
        for start, stop in pairwise(ends)
    )
    row = np.flatnonzero(random.random(N_ROWS) < 0.67).astype(np.int32)
    label = random.integers(0, N_CLASSES, len(row)).astype(np.int32)
    weight = random.integers(1, 5, len(row)).astype(float)
    return Table(pages, n_pages), Node(row, codes[1, row], label, weight)


@inlined
def list_code(into, seen, copy, code, j):  # type: ignore[no-untyped-def]
    """Write down what an adder is told; tells how many rows there were."""
    into[seen, 0], into[seen, 1], into[seen, 2] = copy, code, j
    return seen + 1


def collected(
    add: Any, table: Table, node: Node, most: int, into: Any, seen: Any, **how: Any
) -> Any:
    collect = c.make_collector(add, **how)

    @njit
    def run(table, row, most, into, seen):  # type: ignore[no-untyped-def]
        return collect(table, row, 1, 2, len(row), most, into, seen)

    return run(table, node.row, most, into, seen)


@pytest.mark.quick
@pytest.mark.parametrize("n_pages", [1, 2, 7])
@pytest.mark.parametrize("width", ["bytes", "words"])
def test_every_row_is_met_once_in_its_order(n_pages: int, width: str) -> None:
    table, node = make(n_pages)
    codes_of = c.bytes_of if width == "bytes" else c.words_of
    met = np.full((N_ROWS, 3), -1)
    count = collected(list_code, table, node, N_CODES, met, 0, codes_of=codes_of, copies=4)
    places = np.arange(2, len(node.row))
    expected = np.stack([places % 4, np.minimum(node.code, N_CODES)[2:], places], axis=1)
    assert count == len(places)
    np.testing.assert_array_equal(met[:count], expected)


def cells_of(node: Node, amount: Any) -> Any:
    """Sums of an amount for each code and class, row by row."""
    cells = np.zeros((N_CODES + 1, N_CLASSES))
    for j in range(2, len(node.row)):
        cells[min(node.code[j], N_CODES), node.label[j]] += amount[j]
    return cells


def occupied_codes(words: Any) -> list[int]:
    return [
        64 * at + bit for at, word in enumerate(words) for bit in range(64) if int(word) >> bit & 1
    ]


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("note", [False, True])
def test_classes_are_counted_and_weighed_in_one_word(unit: bool, note: bool) -> None:
    table, node = make(2)
    span = (N_CODES + 1) * N_CLASSES
    words, occupied = np.zeros(4 * span, np.int64), np.zeros(2, np.uint64)
    cells = (words, occupied, N_CLASSES, node.label, 0, node.weight)
    into = (cells, unit, note, 0 if note else span)
    collected(add_class, table, node, N_CODES, into, 0, copies=4)
    _join(words, 0 if note else span)
    counts = cells_of(node, np.ones(len(node.row)))
    weights = counts if unit else cells_of(node, node.weight)
    np.testing.assert_array_equal(words[:span], (counts * ROW_UNIT + weights).ravel())
    assert not words[span:].any(), "copies are left empty"
    expected = np.unique(np.minimum(node.code[2:], N_CODES)).tolist() if note else []
    assert occupied_codes(occupied) == expected


@njit
def _join(words, distance):  # type: ignore[no-untyped-def]
    if distance > 0:
        c.join_copies(words, distance, distance, 4)


def test_weights_that_are_no_whole_numbers_have_cells_of_their_own() -> None:
    table, node = make(2)
    span = (N_CODES + 1) * N_CLASSES
    words, occupied, sums = np.zeros(span, np.int64), np.zeros(2, np.uint64), np.zeros(span)
    cells = (words, occupied, N_CLASSES, node.label, 0, node.weight / 7)
    collected(weigh_class, table, node, N_CODES, (cells, sums, True, 0), 0)
    np.testing.assert_array_equal(words >> 32, cells_of(node, np.ones(len(node.row))).ravel())
    np.testing.assert_array_equal(sums, cells_of(node, node.weight / 7).ravel())
    copied, copied_sums = np.zeros(4 * span, np.int64), np.zeros(4 * span)
    cells = (copied, occupied, N_CLASSES, node.label, 0, node.weight / 7)
    collected(weigh_class, table, node, N_CODES, (cells, copied_sums, False, span), 0, copies=4)
    _join(copied, span)
    _join(copied_sums, span)
    np.testing.assert_array_equal(copied[:span], words)
    np.testing.assert_allclose(copied_sums[:span], sums, rtol=1e-14)
    assert not copied[span:].any() and not copied_sums[span:].any(), "copies are left empty"


@pytest.mark.parametrize("moments", [False, True])
def test_statistics_and_labels_of_the_general_search(moments: bool) -> None:
    table, node = make(2)
    n_classes, n_stats = (1, 3) if moments else (N_CLASSES, 1)
    n_cells = (N_CODES + 1) * n_classes
    rows, sums = np.zeros(n_cells, np.int32), np.zeros(n_cells * n_stats)
    occupied, stats = np.zeros(2, np.uint64), np.outer(node.weight, np.arange(1.0, 1 + n_stats))
    if moments:
        into: Any = (stats.ravel(), rows, sums, occupied, n_stats, True)
        collected(add_stats, table, node, N_CODES, into, 0)
    else:
        cells = (rows, sums, n_classes, node.label, stats.ravel(), occupied)
        collected(add_class_weight, table, node, N_CODES, (cells, True, 0), 0)
    counts, weights = cells_of(node, np.ones(len(node.row))), cells_of(node, node.weight)
    if moments:
        counts, weights = counts.sum(axis=1), np.outer(weights.sum(axis=1), [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(rows, counts.ravel())
    np.testing.assert_array_equal(sums, weights.ravel())
    if not moments:
        again = np.zeros(n_cells, np.int32)
        into = (again, n_classes, node.label, occupied, True, 0)
        collected(add_label, table, node, N_CODES, into, 0, codes_of=c.words_of)
        np.testing.assert_array_equal(again, counts.ravel())


def test_sides_of_a_cut_and_the_range_of_codes() -> None:
    table, node = make(3)
    code, weight, cut = node.code[2:], node.weight[2:], 30
    side = np.where(code == MISSING, 2, code <= cut)
    sums, moments = np.zeros(3 * N_CLASSES), np.zeros(9)
    stats = np.outer(node.weight, [1.0, 2.0, 3.0]).ravel()
    counted = (np.count_nonzero(side == 1), np.count_nonzero(side == 2))
    into = (sums, cut, N_CLASSES, node.label, 0, node.weight)
    assert collected(add_class_side, table, node, MISSING, into, (0, 0)) == counted
    assert (
        collected(add_moment_side, table, node, MISSING, (moments, cut, stats), (0, 0)) == counted
    )
    expected = [
        weight[(side == s) & (node.label[2:] == k)].sum() for s in range(3) for k in range(3)
    ]
    np.testing.assert_array_equal(sums, expected)
    np.testing.assert_array_equal(
        moments, [m * weight[side == s].sum() for s in range(3) for m in (1, 2, 3)]
    )
    known = code[code != MISSING]
    seen = collected(add_to_range, table, node, MISSING, (), (MISSING, -1, 0))
    assert seen == (known.min(), known.max(), counted[1])


def test_ones_are_the_rows_beyond_the_first_code() -> None:
    table, node = make(1)
    words = np.zeros(N_CLASSES, np.int64)
    largest = collected(
        add_one, table, node, MISSING, (words, node.label, 0, node.weight, False), 0
    )
    ones = node.code[2:] != 0
    weight, label = node.weight[2:], node.label[2:]
    assert largest == node.code[2:].max()
    for k in range(N_CLASSES):
        here = ones & (label == k)
        assert words[k] == np.count_nonzero(here) * ROW_UNIT + weight[here].sum()


def test_entries_without_a_value_are_weighed_apart() -> None:
    """Quinlan's trees keep cells of weights, and know the rows whose value is missing."""
    table, node = make(2)
    missing = 2**32 - 1
    for page in table.pages:
        page.ranks[page.ranks == MISSING] = missing
    cells = np.zeros((N_CODES + 1) * N_CLASSES)
    into = (cells, N_CLASSES, node.label, node.weight)
    collected(add_weight, table, node, N_CODES, into, 0, codes_of=c.words_of)
    np.testing.assert_array_equal(cells, cells_of(node, node.weight).ravel())
    sums, last = np.zeros(N_CLASSES), cells[-N_CLASSES:]
    into = (sums, node.label, node.weight, -1.0)
    unknown = collected(add_unknown, table, node, missing, into, 0.0, codes_of=c.words_of)
    assert unknown == last.sum() and np.array_equal(sums, -last)
    known = node.weight[2:][node.code[2:] != MISSING]
    told = collected(
        add_witness, table, node, missing, node.weight, (0.0, 0.0), codes_of=c.words_of
    )
    assert told == (known.sum(), (known**2).sum())

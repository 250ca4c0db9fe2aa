"""Rows of a node, page by page: every row once, in order, on the page that holds it."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.data.pages import cut_at, page_borders
from hornbeam.kernels.pieces import PageCodes, column_of, first_row_of, next_piece, next_run
from hornbeam.runtime.kernel import specialise
from hornbeam.runtime.pointers import I4, I8
from hornbeam.runtime.views import ViewArray, make_loader, make_slots

pytestmark = pytest.mark.quick

# The cache knows the sources of the package only, so kernels of tests must not be kept.
not_stored = partial(specialise, variant=None)
N_FEATURES = 3


class Table(NamedTuple):
    """What loops over pieces read, and room for what they find."""

    pages: ViewArray[PageCodes]
    n_pages: int
    row: I4
    first: I4  # of each piece
    code: I8  # of each row, by the column and by the row


load_table = make_loader(Table)


@not_stored
def list_pieces(slots, feature, last):
    table = load_table(slots, 0)
    begin, n_pieces = 1, 0
    while begin < last:
        page, end = next_piece(table, table.row, begin, last)
        offset, by_row = column_of(page, feature), first_row_of(page, N_FEATURES)
        for j in range(begin, end):
            table.code[2 * j] = page.bins[offset + table.row[j]]
            place = by_row + table.row[j] * N_FEATURES + feature
            table.code[2 * j + 1] = page.by_row[place]
        table.first[n_pieces] = begin
        n_pieces += 1
        begin = end
    return n_pieces


@not_stored
def list_runs(slots, feature, last):
    table = load_table(slots, 0)
    begin, n_runs = 1, 0
    while begin < last:
        page, end = next_run(table, table.row, begin, last)
        offset = column_of(page, feature)
        for j in range(begin, end):
            table.code[2 * j] = page.bins[offset + table.row[j]]
        table.first[n_runs] = begin
        n_runs += 1
        begin = end
    return n_runs


def cut_table(codes: np.ndarray, cuts: list[int]) -> tuple[np.ndarray, ViewArray]:
    """Where pages end, and views of them."""
    with cut_at(*cuts):
        border = page_borders(codes.shape[1])
    nothing = (np.empty(0, np.float32), np.empty(0))
    ranks = np.empty(0, np.uint32)
    views = []
    for start, stop in zip(border[:-1].tolist(), border[1:].tolist(), strict=True):
        part = np.ascontiguousarray(codes[:, start:stop])
        by_row = np.ascontiguousarray(part.T).ravel()
        views.append(PageCodes(start, stop, part.ravel(), ranks, by_row, *nothing))
    return border, ViewArray(views)


@given(
    st.integers(1, 60).flatmap(
        lambda n: st.tuples(st.just(n), st.lists(st.integers(0, n - 1), min_size=1, unique=True))
    ),
    st.lists(st.integers(0, 60), max_size=7).map(sorted),
    st.booleans(),
)
def test_rows_are_read_on_the_page_that_holds_them(
    rows: tuple[int, list[int]], cuts: list[int], ascend: bool
) -> None:
    n_rows, chosen = rows
    row = np.array([0, *(sorted(chosen) if ascend else chosen)], np.int32)  # the first is no row
    codes = np.random.default_rng(n_rows).integers(0, 256, (N_FEATURES, n_rows)).astype(np.uint8)
    border, pages = cut_table(codes, cuts)
    table = Table(
        pages, len(pages.views), row, np.zeros(len(row), np.int32), np.zeros(2 * len(row), np.int64)
    )
    page_of_row = np.searchsorted(border[1:], row[1:], side="right")
    first = 1 + np.flatnonzero(np.concatenate([[True], np.diff(page_of_row) != 0]))
    for find in [list_runs, *([list_pieces] if ascend else [])]:
        for feature in range(N_FEATURES):
            n_pieces = find(make_slots(table), feature, len(row))
            assert table.first[:n_pieces].tolist() == first.tolist()
            found = table.code.reshape(-1, 2)[1:]
            np.testing.assert_array_equal(found[:, 0], codes[feature, row[1:]])
            if find is list_pieces:
                np.testing.assert_array_equal(found[:, 1], codes[feature, row[1:]])

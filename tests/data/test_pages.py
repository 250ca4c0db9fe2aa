"""Pages: every row is in one of them, in order, wherever a table is cut."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.data.pages import Pages, cut_at, page_borders

pytestmark = pytest.mark.quick


@given(st.integers(0, 50), st.lists(st.integers(0, 60), max_size=6).map(sorted))
def test_pages_hold_every_row_once(n_rows: int, cuts: list[int]) -> None:
    with cut_at(*cuts):
        border = page_borders(n_rows)
    rows = np.arange(n_rows)
    pages = Pages.cut(border, lambda start, stop: rows[start:stop])
    assert len(pages) == len(cuts) + 1
    assert pages.n_rows == n_rows
    assert [row for page in pages for row in page.codes] == rows.tolist()
    for page in pages:
        assert page.codes.tolist() == list(range(page.start, page.stop))
        assert page.n_rows == len(page.codes)


@given(st.lists(st.booleans(), max_size=40), st.lists(st.integers(0, 40), max_size=4).map(sorted))
def test_chosen_rows_stay_in_their_pages(mask: list[bool], cuts: list[int]) -> None:
    rows = np.arange(len(mask))
    with cut_at(*cuts):
        pages = Pages.cut(page_borders(len(mask)), lambda start, stop: rows[start:stop])
    some = pages.chosen(np.array(mask, bool), lambda codes, chosen: codes[chosen])
    assert len(some) == len(pages)
    assert some.n_rows == sum(mask)
    for page, before in zip(some, pages, strict=True):
        kept = [row for row in before.codes if mask[row]]
        assert page.codes.tolist() == kept
        assert page.n_rows == len(kept)


def test_a_table_is_one_page_unless_somebody_says_otherwise() -> None:
    with cut_at(3):
        assert page_borders(5).tolist() == [0, 3, 5]
    assert page_borders(5).tolist() == [0, 5]


def test_cuts_must_ascend() -> None:
    with pytest.raises(ValueError, match=r"ascending rows, got \(5, 3\)"), cut_at(5, 3):
        pass

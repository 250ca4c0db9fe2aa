"""Chunks of rows in pages: each row is in one chunk, and each chunk in one page."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.kernels.pages import page_of_chunk
from hornbeam.runtime.kernel import kernel

pytestmark = pytest.mark.quick


@kernel
def _find(
    first: Any, last: Any, n_pages: int, size: int, chunk: int, page: int, passed: int
) -> Any:
    return page_of_chunk(first, 0, last, 0, n_pages, size, chunk, page, passed)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=7),
    st.integers(1, 4),
    st.booleans(),
)
def test_chunks_follow_each_other(pages: list[tuple[int, int]], size: int, again: bool) -> None:
    first = np.array([gap for gap, _ in pages], np.int64)
    last = first + np.array([count for _, count in pages], np.int64)
    chunks = [
        (page, row)
        for page in range(len(pages))
        for row in range(int(first[page]), int(last[page]), size)
    ]
    place = (0, 0)
    for chunk, (page, row) in enumerate(chunks):
        place = _find(first, last, len(pages), size, chunk, *((0, 0) if again else place))
        assert place[0] == page
        assert first[page] + (chunk - place[1]) * size == row
    page, passed = _find(first, last, len(pages), size, len(chunks), *place)
    assert first[page] + (len(chunks) - passed) * size >= last[page]  # there is none

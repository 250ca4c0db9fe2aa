"""Which rows belong to one query."""

from __future__ import annotations

import numpy as np
import pytest

from hornbeam.boosting.queries import count_rows, read_queries, take_column

pytestmark = pytest.mark.quick


def test_groups_are_borders() -> None:
    found = read_queries([2, 3, 1], None, np.zeros((6, 1)))
    assert found.groups.tolist() == [0, 2, 5, 6] and found.order is None
    values = np.arange(6)
    assert found.sort(values) is values


def test_queries_are_sorted_stably() -> None:
    found = read_queries(None, ["b", "a", "b", "a", "c"], np.zeros((5, 1)))
    assert found.groups.tolist() == [0, 2, 4, 5]
    assert found.order is not None and found.order.tolist() == [1, 3, 0, 2, 4]
    assert found.sort([10, 11, 12, 13, 14]) == [11, 13, 10, 12, 14]
    assert found.sort(None) is None
    assert found.sort(np.arange(3)).tolist() == [0, 1, 2]  # refused where it is read
    assert found.sort(2.0) == 2.0


def test_rows_are_counted_in_whatever_holds_them() -> None:
    assert [count_rows(v) for v in (np.zeros((3, 2)), [1, 2], np.array(1.0), 5.0)] == [3, 2, -1, -1]


def test_the_query_column_is_taken_out() -> None:
    table = np.arange(12.0).reshape(4, 3)
    for query in (1, -2):
        rest, column = take_column(table, query)
        assert rest.tolist() == table[:, [0, 2]].tolist() and column.tolist() == [1, 4, 7, 10]
    assert take_column(table, "q", missing_ok=True)[1] is None

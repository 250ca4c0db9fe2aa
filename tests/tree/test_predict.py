"""The one driver of prediction, on a walk of plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

from hornbeam.tree import predict
from hornbeam.tree.predict import Cells, check_width, send_down

pytestmark = pytest.mark.quick
X = np.random.default_rng(0).normal(size=(50, 3))
X[X < 0.3] = 0.0


def walk(cells: Cells, first: int, last: int, outputs: Any) -> bool:
    """Add the sums of rows to one output; nothing is done with the other."""
    sums, nothing = outputs
    assert nothing is None
    for row in range(first, last):
        flat, row_step, column_step, n_columns = cells
        places = row * row_step + np.arange(n_columns) * column_step
        sums[row] += flat[places].sum()
    return bool(np.isfinite(sums[first:last]).all())


FORMS: list[Any] = [
    X,
    np.asfortranarray(X),
    np.repeat(X, 2, axis=1)[:, ::2],
    scipy.sparse.csr_array(X),
    scipy.sparse.csc_matrix(X),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("rows", [1, 7, 50, 99])
def test_every_row_is_sent_once(
    form: Any, n_jobs: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predict, "CHUNK_ROWS", rows)
    monkeypatch.setattr(predict, "_PIECE_BYTES", 8 * 3 * 20)
    for chunk_rows in (None, lambda n_rows: max(1, n_rows // 3)):
        sums = np.zeros(50)
        assert send_down(form, walk, (sums, None), n_jobs, 1.0, chunk_rows)
        np.testing.assert_allclose(sums, X.sum(axis=1))


def test_rows_are_prepared_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predict, "_PIECE_BYTES", 8 * 3 * 20)
    sizes = []

    def double(piece: Any) -> Any:
        sizes.append(len(piece))
        return 2.0 * piece

    for form in FORMS:
        sums = np.zeros(50)
        assert send_down(form, walk, (sums, None), 1, 1.0, prepare=double)
        np.testing.assert_allclose(sums, 2 * X.sum(axis=1))
    assert sizes == [20, 20, 10] * len(FORMS)


def test_one_infinite_value_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predict, "CHUNK_ROWS", 10)
    bad = X.copy()
    bad[33, 1] = np.inf
    for form in (bad, scipy.sparse.csr_array(bad)):
        assert not send_down(form, walk, (np.zeros(50), None), 1, 1.0)
    assert send_down(X[:0], walk, (np.zeros(0), None), 1, 1.0)


def test_a_column_that_is_not_there_is_named() -> None:
    check_width(3, 3)
    with pytest.raises(ValueError, match="has 3 columns, but the trees ask for column 4"):
        check_width(3, 5)

"""Quantiles of held-out rows, and the folds that hold them out."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hornbeam import conformal
from hornbeam.conformal import draw_folds, held_quantiles

rng = np.random.default_rng(0)


def naive(values: list[float], share: float) -> float:
    """The conformal rank by counting (Romano, Patterson and Candes 2019, formula 8)."""
    ordered, n = sorted(values), len(values)
    up = ordered[min(n, math.ceil(round((n + 1) * share, 9))) - 1]
    down = ordered[max(1, math.floor(round((n + 1) * share, 9))) - 1]
    return up if share > 0.5 else down if share < 0.5 else (up + down) / 2


@pytest.mark.quick
@pytest.mark.parametrize("n", [1, 2, 3, 9, 10, 19, 99, 100])
def test_ranks_by_counting(n: int) -> None:
    values = rng.normal(size=n).round(1)  # with ties
    shares = np.array([0.01, 0.1, 0.25, 0.5, 0.6, 0.9, 0.95, 0.99])
    expected = [naive(values.tolist(), share) for share in shares]
    np.testing.assert_array_equal(held_quantiles(values, np.ones(n), shares), expected)


def test_a_new_value_lies_below_as_often_as_the_share_says() -> None:
    """Of n + 1 values the last one is the new one: with a probability of k / (n + 1)."""
    n, shares = 19, np.array([0.1, 0.5, 0.9])
    drawn = rng.normal(size=(20_000, n + 1))
    found = np.array([held_quantiles(row[:n], np.ones(n), shares) for row in drawn])
    np.testing.assert_allclose((drawn[:, [n]] <= found).mean(axis=0), shares, atol=0.012)


@pytest.mark.quick
def test_both_ends_are_alike() -> None:
    values, weight = rng.normal(size=50), rng.random(50) + 0.1
    shares = np.array([0.05, 0.3, 0.5, 0.7, 0.95])
    mirrored = -held_quantiles(-values, weight, 1.0 - shares)
    np.testing.assert_array_equal(held_quantiles(values, weight, shares), mirrored)


@pytest.mark.quick
def test_weights_count_as_rows_do() -> None:
    values, weight = rng.normal(size=60), rng.integers(1, 4, 60).astype(float)
    shares = np.array([0.1, 0.5, 0.9])
    found = held_quantiles(values, weight, shares)
    for factor in (0.001, 7.0):
        np.testing.assert_array_equal(held_quantiles(values, factor * weight, shares), found)
    # the new row weighs as much as the mean row: so many of the repeated ones
    repeated = np.sort(np.repeat(values, weight.astype(int)))
    total = len(repeated) * (1 + 1 / len(values))
    assert found[2] == repeated[math.ceil(0.9 * total) - 1]
    assert found[0] == repeated[len(repeated) - math.ceil(0.9 * total)]


@pytest.mark.quick
@pytest.mark.parametrize(
    ("n_rows", "n_folds"), [(2, 2), (7, 7), (500, 10), (10000, 10), (13000, 7), (20000, 5)]
)
def test_every_row_is_held_out_once(n_rows: int, n_folds: int) -> None:
    folds = draw_folds(n_rows, 1, 2)
    assert len(folds) == n_folds
    assert np.sum([fold.held for fold in folds], axis=0).tolist() == [1] * n_rows
    sizes = [int(fold.held.sum()) for fold in folds]
    assert max(sizes) - min(sizes) <= 1
    assert np.array_equal(folds, draw_folds(n_rows, 1, 2))


@pytest.mark.quick
def test_many_rows_are_held_out_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conformal, "ENOUGH_HELD", 100)
    assert [len(draw_folds(n, 0, 0)) for n in (100_000, 40)] == [1, 10]
    monkeypatch.setattr(conformal, "ENOUGH_HELD", 30_000)
    assert len(draw_folds(100_000, 0, 0)) == 2


@pytest.mark.quick
def test_one_row_cannot_be_held_out() -> None:
    with pytest.raises(ValueError, match="there is 1 row: pass at least two"):
        draw_folds(1, 0, 0)

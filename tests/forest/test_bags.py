"""Bootstrap facts, measured on the bags that forests are grown on."""

from __future__ import annotations

import numpy as np
import pytest

from hornbeam.forest.bags import Bags, balance_bag, count_draws, derive_key
from hornbeam.runtime.kernel import kernel
from hornbeam.runtime.random import derive, draw_below


@kernel
def naive_bag(key, n_draws, n_rows):
    """How often each row is drawn, one draw after the other."""
    return [draw_below(key, draw, n_rows) for draw in range(n_draws)]


@kernel
def derive_compiled(key, number):
    """`derive` as kernels call it."""
    return derive(key, number)


@pytest.mark.quick
def test_keys_are_those_of_the_kernels() -> None:
    for key, number in ((0, 0), (2**31 - 2, 7), (2**64 - 1, 10**6), (5, -1)):
        expected = derive_compiled(np.uint64(key), np.int64(number))
        assert derive_key(key, number) == int(expected), (key, number)


@pytest.mark.quick
def test_a_bag_counts_its_draws() -> None:
    bags = Bags(3, 10, 25)
    rows = naive_bag(np.uint64(derive_key(bags.key(4), 2)), 25, 10)
    assert bags.counts(4).tolist() == np.bincount(rows, minlength=10).tolist()
    assert bags.counts(4).sum() == 25
    assert Bags(3, 10, 0).counts(4).tolist() == [1] * 10


@pytest.mark.mission("E2")
@pytest.mark.parametrize("n", [1, 2, 5, 50, 1000])
def test_how_often_a_row_is_in_a_bag(n: int) -> None:
    """With probability 1 - (1 - 1/n)**n, which comes close to 1 - 1/e."""
    n_bags = 100_000 // n + 500
    inside = np.array([Bags(1, n, n).counts(tree) > 0 for tree in range(n_bags)])
    expected = 1 - (1 - 1 / n) ** n
    error = np.sqrt(expected * (1 - expected) / n_bags)
    assert abs(inside[:, 0].mean() - expected) <= 4 * error
    assert abs(inside[:, -1].mean() - expected) <= 4 * error
    # all rows together: their number in a bag varies less than that of independent rows
    assert abs(inside.mean() - expected) <= 4 * error / np.sqrt(n)
    if n == 1000:
        assert abs(inside.mean() - (1 - np.exp(-1))) < 0.002


@pytest.mark.mission("E2")
def test_every_count_has_its_share() -> None:
    """Counts of a row are binomial, and bags of different trees are independent."""
    counts = np.array([Bags(9, 20, 20).counts(tree) for tree in range(4000)])
    for times, share in enumerate((0.3585, 0.3774, 0.1887, 0.0596)):  # of Binomial(20, 1/20)
        error = np.sqrt(share * (1 - share) / counts.size)
        assert abs(np.mean(counts == times) - share) < 4 * error
    correlation = np.corrcoef(counts[:-1].ravel(), counts[1:].ravel())[0, 1]
    assert abs(correlation) < 4 / np.sqrt(counts.size)


def test_rows_without_weight_are_never_drawn() -> None:
    weight = np.array([1.0, 0.0, 2.0, 0.0, 0.5])
    bags, dense = Bags.of(7, weight, 3), Bags(7, 3, 3)
    for tree in range(20):
        counts = bags.counts(tree)
        assert counts[[1, 3]].tolist() == [0, 0]
        assert counts[[0, 2, 4]].tolist() == dense.counts(tree).tolist()
    assert Bags.of(7, np.ones(4), 4).drawable is None


def test_how_many_rows_are_drawn() -> None:
    assert count_draws(False, None, 9) == 0
    assert count_draws(True, None, 9) == 9
    assert count_draws(True, 4, 9) == 4
    assert count_draws(True, 0.5, 9) == 4  # half of 9, rounded
    assert count_draws(True, 0.01, 9) == 1
    assert count_draws(True, 10, 9) == 10
    assert count_draws(True, 1.5, 8) == 12
    with pytest.raises(ValueError, match="`max_sample` cannot be set if `bootstrap=False`"):
        count_draws(False, 0.5, 9)


def test_balancing_gives_all_classes_of_a_bag_the_same_weight() -> None:
    rng = np.random.default_rng(0)
    labels = rng.choice(3, 60, p=[0.7, 0.2, 0.1])
    counts = rng.poisson(1.0, 60)
    counts[labels == 1] = 0
    factor = balance_bag(labels[:, None], np.array([0, 3]), counts)
    totals = np.bincount(labels, counts * factor, 3)
    assert totals[1] == 0.0
    np.testing.assert_allclose(totals[[0, 2]], counts.sum() / 2)

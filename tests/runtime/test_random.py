"""Counter-based random numbers: uniform, independent of order, without easy collisions."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest
from scipy import stats

from hornbeam.runtime.kernel import specialise
from hornbeam.runtime.random import derive, draw_below, draw_unit, mix

pytestmark = pytest.mark.quick

# The cache knows the sources of the package only, so kernels of tests must not be kept.
not_stored = partial(specialise, variant=None)


@not_stored
def mix_all(values, out):
    for i in range(len(values)):
        out[i] = mix(values[i])


@not_stored
def derive_all(keys, numbers, out):
    for i in range(len(keys)):
        for j in range(len(numbers)):
            out[i, j] = derive(keys[i], numbers[j])


@not_stored
def draw_all_below(key, counters, limit, out):
    for i in range(len(counters)):
        out[i] = draw_below(key, counters[i], limit)


@not_stored
def draw_all_units(key, counters, out):
    for i in range(len(counters)):
        out[i] = draw_unit(key, counters[i])


def derived(keys: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    out = np.empty((len(keys), len(numbers)), np.uint64)
    derive_all(keys, numbers, out)
    return out


def below(key: int, counters: np.ndarray, limit: int) -> np.ndarray:
    out = np.empty(len(counters), np.int64)
    draw_all_below(np.uint64(key), counters, limit, out)
    return out


def units(key: int, counters: np.ndarray) -> np.ndarray:
    out = np.empty(len(counters))
    draw_all_units(np.uint64(key), counters, out)
    return out


KEYS = [0, 1, 2, 2**31 - 1, 2**63, 2**64 - 1]
COUNTERS = np.arange(20_000)
ZERO = np.zeros(1, np.int64)


def test_mix_is_that_of_splitmix64() -> None:
    """The first outputs of the generator with seed 0 (Steele, Lea and Flood 2014)."""
    golden = 0x9E3779B97F4A7C15
    states = np.array([(i * golden) % 2**64 for i in (1, 2, 3)], np.uint64)
    out = np.empty(3, np.uint64)
    mix_all(states, out)
    assert [hex(value) for value in out.tolist()] == [
        "0xe220a8397b1dcdaf",
        "0x6e789e6aa1b965f4",
        "0x6c45d188009454f",
    ]
    assert derived(np.zeros(1, np.uint64), np.arange(3)).tolist()[0] == out.tolist()


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("limit", [2, 3, 10, 1000])
def test_whole_numbers_are_uniform(key: int, limit: int) -> None:
    drawn = below(key, COUNTERS, limit)
    assert drawn.min() >= 0 and drawn.max() < limit
    assert stats.chisquare(np.bincount(drawn, minlength=limit)).pvalue > 1e-5


@pytest.mark.parametrize("key", KEYS)
def test_unit_numbers_are_uniform(key: int) -> None:
    drawn = units(key, COUNTERS)
    assert drawn.min() >= 0.0 and drawn.max() < 1.0
    assert stats.kstest(drawn, "uniform").pvalue > 1e-5
    assert len(set(drawn.tolist())) == len(COUNTERS)


def test_keys_that_follow_each_other_are_independent() -> None:
    """Pairs of draws with neighbouring keys or counters fill the square evenly."""
    for first, second in (
        (units(7, COUNTERS), units(8, COUNTERS)),
        (units(7, COUNTERS), units(7, COUNTERS + 1)),
        (units(7, COUNTERS), units(int(derived(np.array([7], np.uint64), ZERO)[0, 0]), COUNTERS)),
    ):
        cells = np.bincount((first * 10).astype(int) * 10 + (second * 10).astype(int))
        assert stats.chisquare(cells).pvalue > 1e-5
        assert abs(np.corrcoef(first, second)[0, 1]) < 0.03


def test_the_first_draw_of_many_seeds_is_uniform() -> None:
    """Seeds are often 0, 1, 2, ..."""
    first = np.array([units(seed, ZERO)[0] for seed in range(2000)])
    assert stats.kstest(first, "uniform").pvalue > 1e-5


def test_draws_do_not_depend_on_order_or_company() -> None:
    shuffled = np.random.default_rng(0).permutation(COUNTERS)
    np.testing.assert_array_equal(units(5, shuffled), units(5, COUNTERS)[shuffled])
    np.testing.assert_array_equal(below(5, shuffled[:10], 9), below(5, COUNTERS, 9)[shuffled[:10]])


def test_limits() -> None:
    assert set(below(3, COUNTERS[:100], 1)) == {0}
    largest = below(3, COUNTERS, 2**32 - 1)
    assert largest.min() >= 0 and largest.max() < 2**32 - 1
    assert largest.max() > 0.99 * 2**32


def test_derived_keys_do_not_collide() -> None:
    """Neither among many, nor along different paths in a tree."""
    keys = derived(np.arange(500, dtype=np.uint64), np.arange(500))
    assert len(np.unique(keys)) == keys.size
    paths = {}
    for path in itertools.chain.from_iterable(
        itertools.product((0, 1), repeat=depth) for depth in range(1, 13)
    ):
        key = paths.get(path[:-1], np.uint64(42))
        paths[path] = derived(np.array([key], np.uint64), np.array([path[-1]]))[0, 0]
    assert len(set(paths.values())) == len(paths) == 2**13 - 2


def test_every_bit_matters() -> None:
    """Flipping one bit of the key flips about half of the bits of what is derived."""
    keys = np.array([1234567 ^ (1 << bit) for bit in range(64)] + [1234567], np.uint64)
    changed = derived(keys, ZERO).ravel()
    flips = [bin(int(value) ^ int(changed[-1])).count("1") for value in changed[:-1]]
    assert min(flips) > 12 and 28 < np.mean(flips) < 36

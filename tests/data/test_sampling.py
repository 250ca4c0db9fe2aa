"""Samples: their sizes, their probabilities, and that they are the same whoever draws them."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.data.sampling import Sampler, SampleSize


def rows(n: int, size: int, bootstrap: bool, count: int, seed: int = 0) -> np.ndarray:
    return Sampler(seed, (n, 1), SampleSize(size, 1, bootstrap)).rows(0, count)


@pytest.mark.mission("E2")
@pytest.mark.quick
@pytest.mark.parametrize("n", [1, 2, 5, 20, 200])
def test_a_row_is_in_a_bootstrap_with_this_probability(n: int) -> None:
    """1 - (1 - 1/n)^n, measured on the samples that members are fitted on."""
    count = 20_000 // n + 500
    drawn = rows(n, n, True, count)
    inside = np.array([len(np.unique(sample)) for sample in drawn])
    expected = 1 - (1 - 1 / n) ** n
    # Var(distinct) of the bootstrap: n (1-1/n)^n + n (n-1) (1-2/n)^n - n^2 (1-1/n)^(2n)
    out = 1 - 1 / n
    variance = n * out**n + n * (n - 1) * (1 - 2 / n) ** n - n**2 * out ** (2 * n)
    error = math.sqrt(max(variance, 0.0) / count) / n
    assert inside.mean() / n == pytest.approx(expected, abs=4 * error + 1e-12)


@pytest.mark.mission("E2")
def test_the_distinct_share_goes_to_1_minus_1_over_e() -> None:
    model = hb.BaggingRegressor(n_estimators=30, random_state=0)
    model.fit(np.arange(5000.0)[:, None], np.zeros(5000))
    shares = [len(np.unique(sample)) / 5000 for sample in model.estimators_samples_]
    assert np.mean(shares) == pytest.approx(1 - 1 / math.e, abs=0.003)
    assert 1 - np.mean(shares) == pytest.approx(0.368, abs=0.003)  # the share out of bag


@pytest.mark.parametrize("bootstrap", [False, True])
def test_every_row_is_drawn_alike(bootstrap: bool) -> None:
    drawn = np.bincount(rows(50, 10, bootstrap, 4000).ravel(), minlength=50)
    assert scipy.stats.chisquare(drawn).pvalue > 1e-3


def test_pairs_are_drawn_alike_without_replacement() -> None:
    drawn = np.sort(rows(6, 2, False, 6000), axis=1)
    counts = np.bincount(drawn[:, 0] * 6 + drawn[:, 1], minlength=36)
    assert scipy.stats.chisquare(counts[counts > 0]).pvalue > 1e-3
    assert np.count_nonzero(counts) == 15


@given(st.integers(1, 300), st.data(), st.integers(0, 2**31 - 2))
def test_without_replacement_rows_are_different(n: int, data: st.DataObject, seed: int) -> None:
    size = data.draw(st.integers(1, n))
    drawn = rows(n, size, False, 3, seed)
    assert all(len(set(sample.tolist())) == size for sample in drawn)
    assert drawn.min() >= 0 and drawn.max() < n


def test_a_sample_does_not_depend_on_who_draws_it() -> None:
    for weight in (None, np.arange(100) + 1.0):
        for bootstrap in (False, True):
            sampler = Sampler(7, (100, 9), SampleSize(30, 4, bootstrap, bootstrap), weight)
            assert np.array_equal(sampler.rows(0, 10)[6:8], sampler.rows(6, 2))
            assert np.array_equal(sampler.features(0, 10)[6:8], sampler.features(6, 2))


@pytest.mark.parametrize("replace", [False, True])
def test_columns(replace: bool) -> None:
    sampler = Sampler(0, (5, 8), SampleSize(5, 3, True, replace))
    drawn = sampler.features(0, 4000)
    assert scipy.stats.chisquare(np.bincount(drawn.ravel(), minlength=8)).pvalue > 1e-3
    assert np.array_equal(np.sort(drawn, axis=1), drawn)
    twice = (drawn[:, 1:] == drawn[:, :-1]).any(axis=1)
    assert twice.any() == replace


def test_weights_are_probabilities() -> None:
    """With replacement: multinomial. Without: the first draw has these probabilities."""
    weight = np.array([0.0, 1.0, 2.0, 5.0, 0.0])
    many = Sampler(0, (5, 1), SampleSize(4, 1, True), weight).rows(0, 4000)
    counts = np.bincount(many.ravel(), minlength=5)
    assert counts[0] == counts[4] == 0
    assert scipy.stats.chisquare(counts[1:4], 16_000 * weight[1:4] / 8).pvalue > 1e-3
    single = Sampler(0, (5, 1), SampleSize(1, 1, False), weight).rows(0, 4000)
    counts = np.bincount(single.ravel(), minlength=5)
    assert scipy.stats.chisquare(counts[1:4], 4000 * weight[1:4] / 8).pvalue > 1e-3

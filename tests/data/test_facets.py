"""Facets of columns with more categories than codes, against slow definitions of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam.data import facets as f
from hornbeam.data.coding import Codes, encode_bins, encode_like
from hornbeam.data.folds import Kin

pytestmark = pytest.mark.quick
N, N_CATEGORIES = 3000, 700


def table(seed: int = 0, n: int = N, n_categories: int = N_CATEGORIES) -> np.ndarray:
    """A number, a wide column with missing values, and one with few categories."""
    rng = np.random.default_rng(seed)
    wide = np.minimum(rng.geometric(4.0 / n_categories, n) - 1, n_categories - 1).astype(float)
    wide[::19] = np.nan
    return np.column_stack([rng.normal(size=n), wide, rng.integers(0, 5, n)])


def slopes_of(seed: int = 1, n: int = N, n_scores: int = 1) -> f.Slopes:
    rng = np.random.default_rng(seed)
    return f.Slopes(rng.normal(size=(n, n_scores)), rng.uniform(0.1, 1.0, (n, n_scores)))


def coded(X: np.ndarray, max_bins: int = 255) -> Codes:
    n_categories = np.array([0, N_CATEGORIES, 5])
    return encode_bins(X, n_categories > 0, n_categories, max_bins=max_bins)


def widened(X: np.ndarray, slopes: f.Slopes, kin: Kin = f.NO_KIN, max_bins: int = 255) -> Codes:
    return f.add_facets(coded(X, max_bins), X, slopes, max_bins, 0, kin)


def test_the_columns_of_the_table_stay_as_they_are() -> None:
    X = table()
    codes, before = widened(X, slopes_of()), coded(X)
    np.testing.assert_array_equal(codes.columns[:3], before.columns)
    assert codes.source is not None and codes.source[:3].tolist() == [0, 1, 2]
    assert set(codes.source[3:].tolist()) == {1} and codes.n_columns == 3
    assert codes.is_category.tolist()[:3] == [0, 1, 1] and codes.is_category[-1] == 0
    assert codes.column_of(np.array([-1, 0, 3])).tolist() == [-1, 0, 1]
    for facet in codes.facets_of(1):
        assert (codes.columns[facet] == 255).tolist() == np.isnan(X[:, 1]).tolist()
        assert codes.columns[facet][codes.columns[facet] < 255].max() < codes.n_codes[facet]


def test_every_category_with_rows_enough_has_a_name_in_one_facet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(f, "ROWS_OF_NAME", 1)
    X = table()
    codes = widened(X, slopes_of(), max_bins=50)
    counts = np.bincount(X[~np.isnan(X[:, 1]), 1].astype(int), minlength=N_CATEGORIES)
    named = np.zeros(N_CATEGORIES, int)
    for facet in (1, *codes.facets_of(1)):
        if codes.is_category[facet]:
            code = codes.category_code[facet]
            named += code < codes.n_codes[facet] - 1
            known = ~np.isnan(X[:, 1])
            np.testing.assert_array_equal(
                codes.columns[facet][known], code[X[known, 1].astype(int)]
            )
    assert named.max() == 1  # and in one only
    assert counts[named == 1].min() >= counts[named == 0].max()
    assert named.sum() == 49 * f.MOST_NAMED


def naive_order(X: np.ndarray, slopes: f.Slopes, fold: np.ndarray, in_time: bool) -> np.ndarray:
    """What each row sees of its category, by loops: G / (H + smooth) of the other folds."""
    known = np.flatnonzero(~np.isnan(X[:, 1]))
    g, h = slopes.gradient[:, 0], slopes.hessian[:, 0]
    mean = g[known].sum() / h[known].sum()
    smooth = f.SMOOTH_ROWS * h[known].mean()
    seen = np.full(len(X), np.nan)
    for row in known:
        same = known[X[known, 1] == X[row, 1]]
        others = same[fold[same] < fold[row]] if in_time else same[fold[same] != fold[row]]
        seen[row] = (g[others] - mean * h[others]).sum() / (h[others].sum() + smooth)
    return seen


@pytest.mark.parametrize("kind", ["rows", "groups", "time"])
def test_the_order_is_that_of_other_rows(kind: str) -> None:
    X, slopes = table(n=600), slopes_of(n=600)
    rng = np.random.default_rng(2)
    groups = rng.integers(0, 90, 600) if kind == "groups" else None
    time = rng.integers(0, 200, 600) if kind == "time" else None
    kin = Kin.read(groups, time, 600)
    fold, in_time = f._folds(kin, 600, 0, 1)
    assert in_time == (kind == "time") and len(np.unique(fold)) > 2
    if groups is not None:
        assert all(len(set(fold[groups == group])) == 1 for group in groups)
    if time is not None:
        order = np.argsort(time, kind="stable")
        assert (np.diff(fold[order]) >= 0).all()
        assert all(len(set(fold[time == moment])) == 1 for moment in time)
    codes = widened(X, slopes, kin)
    seen = naive_order(X, slopes, fold, in_time)
    facet = codes.facets_of(1)[-1]
    known = ~np.isnan(seen)
    by_value = np.argsort(seen[known].round(12), kind="stable")
    assert (np.diff(codes.columns[facet][known][by_value].astype(int)) >= 0).all()
    assert len(np.unique(codes.columns[facet][known])) > 50


def test_new_rows_see_the_order_of_all_rows() -> None:
    X, slopes = table(n=600), slopes_of(n=600)
    codes = widened(X, slopes)
    facet = codes.facets_of(1)[-1]
    g, h, known = slopes.gradient[:, 0], slopes.hessian[:, 0], ~np.isnan(X[:, 1])
    mean, smooth = g[known].sum() / h[known].sum(), f.SMOOTH_ROWS * h[known].mean()
    of_category = np.zeros(N_CATEGORIES)
    for category in range(N_CATEGORIES):
        rows = X[:, 1] == category
        of_category[category] = (g[rows] - mean * h[rows]).sum() / (h[rows].sum() + smooth)
    code = codes.category_code[facet]
    assert (np.diff(code[np.argsort(of_category.round(12), kind="stable")]) >= 0).all()
    again = encode_like(codes, X)
    np.testing.assert_array_equal(again.columns[facet][known], code[X[known, 1].astype(int)])
    np.testing.assert_array_equal(again.columns[:3], codes.columns[:3])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**31), st.integers(0, 599))
def test_no_row_sees_its_own_target(seed: int, row: int) -> None:
    X, slopes = table(seed % 5, n=600), slopes_of(n=600)
    gradient = slopes.gradient.copy()
    # one against another of the same category and fold: neither the mean nor other rows change
    fold, _ = f._folds(f.NO_KIN, 600, 0, 1)
    like = np.flatnonzero((X[:, 1] == X[row, 1]) & (fold == fold[row]))
    if len(like) < 2:
        return
    even = f.Slopes(gradient, np.ones_like(gradient))
    moved = gradient.copy()
    moved[like] = np.roll(gradient[like], seed % len(like))
    one, other = widened(X, even), widened(X, even._replace(gradient=moved))
    np.testing.assert_array_equal(one.columns, other.columns)


def test_rows_of_equal_statistics_have_equal_codes() -> None:
    """Sums are exact: what is left of a sum must not tell what was taken from it."""
    rng = np.random.default_rng(5)
    n = 4000
    X = table(n=n)
    y = rng.integers(0, 2, n) - 0.3
    fold = np.arange(n)  # leave one out: the hardest case
    slopes = f.Slopes(y[:, None], np.ones((n, 1)))
    order = f._Order(X[:, 1], N_CATEGORIES, slopes, (fold, False))
    seen = order.held[0].ravel()[order.place]
    known = ~np.isnan(X[:, 1])
    category = X[known, 1].astype(int)
    ones = np.bincount(category, y[known] > 0, minlength=N_CATEGORIES)[category] - (y[known] > 0)
    rows = np.bincount(category, minlength=N_CATEGORIES)[category] - 1
    key = ones * 10_000 + rows
    for value in np.unique(key):
        assert len(np.unique(seen[known][key == value])) == 1


def test_no_order_of_the_rows_changes_the_sums() -> None:
    slopes, place = slopes_of(3), np.random.default_rng(3).integers(0, 40, N)
    whole = f._exact_sums(slopes.gradient[:, 0], place, (10, 4))
    mixed = np.random.default_rng(4).permutation(N)
    np.testing.assert_array_equal(
        whole, f._exact_sums(slopes.gradient[mixed, 0], place[mixed], (10, 4))
    )
    naive = np.bincount(place, slopes.gradient[:, 0], minlength=40).reshape(10, 4)
    np.testing.assert_allclose(whole, naive, rtol=1e-9, atol=1e-9)


def test_several_scores_have_several_orders() -> None:
    X = table()
    codes = widened(X, slopes_of(n_scores=5))
    orders = [facet for facet in codes.facets_of(1) if not codes.is_category[facet]]
    assert len(orders) == 3 and (codes.n_codes[orders] <= 8).all()
    two = widened(X, slopes_of(n_scores=2))
    assert sum(not two.is_category[facet] for facet in two.facets_of(1)) == 1


def test_joint_codes_tell_apart_what_any_facet_does() -> None:
    X = table()
    codes = widened(X, slopes_of(n_scores=4))
    (column,), (joint,) = zip(*f.join_facets(codes).items(), strict=True)
    assert column == 1 and set(joint.of_facet) == {1, *codes.facets_of(1)}
    for facet, code in joint.of_facet.items():
        np.testing.assert_array_equal(code[joint.of_category], codes.category_code[facet])
    tuples = {tuple(codes.category_code[facet][c] for facet in joint.of_facet) for c in range(700)}
    assert len(tuples) == joint.of_category.max() + 1
    assert f.join_facets(replace(coded(X[:, :1].repeat(3, 1) * 0), category_code={})) == {}


def test_slopes_that_are_no_numbers_do_no_harm_here() -> None:
    """Whoever takes the slopes says what is wrong with them."""
    X, slopes = table(), slopes_of()
    slopes.gradient[5] = np.nan
    with np.errstate(all="raise"):
        widened(X, slopes)
    widened(X, f.Slopes(np.zeros((N, 1)), np.zeros((N, 1))))

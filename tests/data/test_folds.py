"""Splits of rows: who belongs together stays so, nobody learns from the future, shares hold."""

from __future__ import annotations

import datetime
import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit

from hornbeam.data.folds import NO_KIN, Kin, Split, Splits, draw_share, read_folds


@st.composite
def tables(draw: st.DrawFn) -> tuple[int, Any, Kin, int]:
    """Rows, their classes, how they belong together, and a seed."""
    n_rows = draw(st.integers(2, 60))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    groups = rng.integers(0, draw(st.integers(1, n_rows)), n_rows) if draw(st.booleans()) else None
    time = rng.integers(0, draw(st.integers(1, n_rows)), n_rows) if draw(st.booleans()) else None
    classes = rng.integers(0, 3, n_rows) if draw(st.booleans()) else None
    if classes is not None:
        classes = np.unique(classes, return_inverse=True)[1]
    return n_rows, classes, Kin.read(groups, time, n_rows), draw(st.integers(0, 1000))


def naive_learnt(kin: Kin, held: np.ndarray) -> np.ndarray:
    """Row by row: not held, of no held group, and earlier than every held row."""
    rows = range(len(held))
    return np.array(
        [
            not held[i]
            and not any(
                held[j]
                and (
                    (kin.groups is not None and kin.groups[i] == kin.groups[j])
                    or (kin.time is not None and kin.time[i] >= kin.time[j])
                )
                for j in rows
            )
            for i in rows
        ],
        bool,
    )


def check(kin: Kin, split: Split) -> None:
    assert np.array_equal(split.learnt, naive_learnt(kin, split.held))


@given(tables(), st.floats(0.05, 0.95))
def test_a_hold_out_is_kept_apart(table: Any, share: float) -> None:
    n_rows, classes, kin, seed = table
    splits = Splits(n_rows, (seed, 1), classes, kin)
    for make in (splits.hold_out, splits.hold_out_evenly):
        try:
            split = make(share)
        except ValueError as error:
            assert kin.time is not None and "different values" in str(error)
            assert len(np.unique(kin.time)) < 2
            continue
        check(kin, split)
        if kin.time is None and classes is not None and len(np.unique(classes)) > 1:
            assert set(classes[split.learnt]) == set(classes)  # every class can be learnt


@given(tables(), st.integers(2, 6))
def test_folds_are_kept_apart_and_hold_every_row_out_once(table: Any, n_folds: int) -> None:
    n_rows, classes, kin, seed = table
    splits = Splits(n_rows, (seed, 2), classes, kin)
    try:
        folds = splits.folds(n_folds)
    except ValueError as error:
        few = n_folds > splits.n_folds_possible
        assert few or ("nothing to learn from" in str(error) and kin.groups is not None)
        return
    assert len(folds) == n_folds
    for split in folds:
        check(kin, split)
        assert split.held.any()
    times = np.sum([split.held for split in folds], axis=0)
    assert times.max() == 1
    if kin.time is None:
        assert times.min() == 1
    else:  # blocks of time, one after the other; the first is predicted by nobody
        spans = [(kin.time[s.held].min(), kin.time[s.held].max()) for s in folds]
        assert kin.time[times == 0].max() < spans[0][0]
        assert all(first[1] < second[0] for first, second in itertools.pairwise(spans))


@given(
    st.integers(2, 8), st.integers(0, 1000), st.lists(st.integers(1, 30), min_size=1, max_size=4)
)
def test_folds_have_their_share_of_every_class(n_folds: int, seed: int, counts: list[int]) -> None:
    classes = np.repeat(np.arange(len(counts)), counts)
    if len(classes) < n_folds:
        return
    folds = Splits(len(classes), (seed, 0), classes).folds(n_folds)
    held = np.array([np.bincount(classes[s.held], minlength=len(counts)) for s in folds])
    assert (np.abs(held - np.array(counts) / n_folds) < 1.0).all()
    assert np.ptp(held.sum(axis=1)) <= 1


@given(st.integers(2, 6), st.integers(0, 1000))
def test_groups_are_dealt_out_evenly(n_folds: int, seed: int) -> None:
    """No fold is larger than the mean by more than the largest group."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(20), rng.integers(1, 10, 20))
    folds = Splits(len(groups), (seed, 0), kin=Kin.read(groups, None, len(groups))).folds(n_folds)
    sizes = np.array([split.held.sum() for split in folds])
    assert np.ptp(sizes) <= np.bincount(groups).max()


@given(tables(), st.integers(1, 10))
def test_halves_and_pairs_are_kept_apart(table: Any, most: int) -> None:
    n_rows, classes, kin, seed = table
    if kin.time is not None and len(np.unique(kin.time)) < 2:
        return
    for learnt, held in Splits(n_rows, (seed, 3), classes, kin).halves(both=True):
        assert not (learnt & held).any()
        check(Kin(kin.groups), Split(Kin(kin.groups).learnt(held) & learnt | learnt, held))
        if kin.time is not None:
            assert kin.time[learnt].max() < kin.time[held].min()
    first, second = Splits(n_rows, (seed, 4), classes, kin).pair(most)
    assert first.sum() <= most and second.sum() <= most and not (first & second).any()
    if kin.groups is not None:
        assert not set(kin.groups[first]) & set(kin.groups[second])


@given(tables())
def test_draws_depend_on_the_key_alone(table: Any) -> None:
    n_rows, classes, _, seed = table
    first = Splits(n_rows, (seed, 5), classes).folds(2)
    second = Splits(n_rows, (seed, 5), classes).folds(2)
    assert all(np.array_equal(a.held, b.held) for a, b in zip(first, second, strict=True))


@given(tables(), st.integers(0, 100))
def test_joined_groups_share_no_row_in_either_sense(table: Any, seed: int) -> None:
    n_rows, _, kin, _ = table
    others = np.random.default_rng(seed).integers(0, 5, n_rows)
    joined = kin.joined(others)
    assert joined.groups is not None
    for groups in (others, kin.groups):
        if groups is not None:
            for number in np.unique(groups):
                assert len(np.unique(joined.groups[groups == number])) == 1
    if kin.time is not None:  # a group is as late as its last row
        for number in np.unique(joined.groups):
            rows = joined.groups == number
            assert (joined.time[rows] == kin.time[rows].max()).all()


# --- what users say --------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.parametrize(
    "time",
    [
        [3, 1, 2, 1],
        [3.5, -1.0, 0.0, -1.0],
        ["c", "a", "b", "a"],
        [datetime.date(2020, 1, day) for day in (3, 1, 2, 1)],
        np.array(["2020-01-03", "2020-01-01", "2020-01-02", "2020-01-01"], "datetime64[D]"),
        pd.to_datetime(["2020-01-03", "2020-01-01", "2020-01-02", "2020-01-01"], utc=True),
        pd.Series([3, 1, 2, 1], dtype="Int64", index=[7, 8, 9, 9]),
        pd.Categorical(["c", "a", "b", "a"]),
    ],
    ids=repr,
)
def test_times_are_places_and_ties_share_one(time: Any) -> None:
    kin = Kin.read(None, time, 4)
    assert kin.time is not None and kin.time.tolist() == [2, 0, 1, 0]
    assert kin.chosen(np.array([0, 2])).time.tolist() == [2, 1]


@pytest.mark.quick
@pytest.mark.parametrize(
    ("groups", "error", "match"),
    [
        ([1, 2], ValueError, r"groups has shape \(2,\), but X has 3 rows"),
        ([[1], [2], [3]], ValueError, r"groups has shape \(3, 1\)"),
        ([1.0, np.nan, 2.0], ValueError, r"groups\[1\] is nan"),
        (["a", None, "b"], ValueError, r"groups\[1\] is None"),
        (pd.Series([1, 2, None], dtype="Int64"), ValueError, r"groups\[2\] is (nan|<NA>)"),
        (np.array(["2020", "NaT", "2021"], "datetime64[D]"), ValueError, r"groups\[1\] is NaT"),
        (np.array([1, "a", 2], object), TypeError, "cannot be compared"),
    ],
    ids=repr,
)
def test_bad_groups(groups: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        Kin.read(groups, None, 3)


@pytest.mark.quick
def test_nothing_said_is_no_kin() -> None:
    assert Kin.read(None, None, 3) is NO_KIN and not NO_KIN
    assert NO_KIN.chosen(np.array([0])) is NO_KIN
    assert NO_KIN.learnt(np.array([True, False])).tolist() == [False, True]


@pytest.mark.quick
@pytest.mark.parametrize(
    ("kin", "n_folds", "match"),
    [
        (NO_KIN, 1, "cv=1 makes no folds"),
        (NO_KIN, 7, r"7 folds \(cv\) need as many rows, but there are 6"),
        (Kin.read([0, 0, 1, 1, 2, 2], None, 6), 4, "need as many groups, but there are 3"),
        (Kin.read(None, [0, 0, 1, 1, 2, 2], 6), 3, "need 4 different times, but time has 3"),
        (Kin.read([0, 0, 0, 0, 0, 0], [0, 1, 2, 3, 4, 5], 6), 2, "nothing to learn from"),
    ],
)
def test_too_many_folds(kin: Kin, n_folds: int, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        Splits(6, (0, 0), kin=kin).folds(n_folds)


# --- what others have split ------------------------------------------------------------


@pytest.mark.quick
def test_folds_of_scikit_learn_and_pairs_of_rows_are_taken() -> None:
    splits, X = Splits(6, (0, 0)), np.zeros((6, 1))
    for cv in (KFold(3), list(KFold(3).split(X)), KFold(3).split(X), ShuffleSplit(2)):
        folds = read_folds(cv, splits, X, None)
        assert all(len(split.learnt) == 6 for split in folds)
    masks = [(np.arange(6) < 3, np.arange(6) >= 3)]
    assert read_folds(masks, splits, X, None)[0].held.tolist() == [False] * 3 + [True] * 3
    assert len(read_folds(None, splits, X, None)) == 5 and len(read_folds(3, splits, X, None)) == 3
    kin = Kin.read([0, 0, 1, 1, 2, 2], None, 6)
    assert len(read_folds(GroupKFold(3), Splits(6, (0, 0), kin=kin), X, None, kin.groups)) == 3


@pytest.mark.quick
@pytest.mark.parametrize(
    ("cv", "match"),
    [
        ([([0, 1], [1, 2])], "Fold 0 of cv learns from row 1, which it also holds out"),
        ([([0, 9], [1, 2])], "Fold 0 of cv is no pair of rows"),
        ([([0], [1]), 3], "Fold 1 of cv is no pair of rows"),
        ([([True, False], [1])], r"a mask of shape \(2,\)"),
        ([([], [1])], "no rows on one of its sides"),
        ([], "cv has no folds"),
    ],
)
def test_bad_folds(cv: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        read_folds(cv, Splits(6, (0, 0)), np.zeros((6, 1)), None)


@pytest.mark.quick
def test_folds_of_others_are_checked() -> None:
    X = np.zeros((6, 1))
    grouped = Splits(6, (0, 0), kin=Kin.read([0, 1, 0, 1, 2, 3], None, 6))
    with pytest.raises(ValueError, match=r"Fold 0 of cv learns from row 2, whose group"):
        read_folds(KFold(3), grouped, X, None)
    timed = Splits(6, (0, 0), kin=Kin.read(None, np.arange(6), 6))
    with pytest.raises(ValueError, match="learns from row 2, which is not earlier"):
        read_folds(KFold(3), timed, X, None)
    assert len(read_folds([([0, 1], [2, 3]), ([0, 3], [4])], timed, X, None)) == 2


@pytest.mark.quick
def test_a_share_is_rounded() -> None:
    random = np.random.default_rng(0)
    assert [draw_share(10, share, random).sum() for share in (0.0, 0.04, 0.1, 0.5, 1.0)] == [
        0, 0, 1, 5, 10,
    ]  # fmt: skip

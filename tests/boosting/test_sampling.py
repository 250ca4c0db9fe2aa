"""Row sampling against its definition: who is drawn, what that weighs, and what it leaves alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import log_loss, r2_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import hornbeam as hb
from hornbeam import losses
from hornbeam.boosting.grower import BoostedGrower
from hornbeam.boosting.rules import BoostRules
from hornbeam.boosting.sampling import Goss, Mvs, RowSampling, Uniform, middle_of
from hornbeam.boosting.scores import RowScores
from hornbeam.boosting.table import code_table
from hornbeam.compat.measures import _hashes
from hornbeam.data.pages import cut_at
from hornbeam.dtypes import Array
from tests.boosting.test_pages import CLASSES, FRAME, RARE, STORED, WEIGHT, N, Y

Regressor, Classifier = hb.GradientBoostingRegressor, hb.GradientBoostingClassifier
DRAWS: list[dict[str, Any]] = [
    {"sampling": "goss"},
    {"sampling": "goss", "top_rate": 0.0, "other_rate": 0.4},
    {"sampling": "mvs", "subsample": 0.4},
    {"subsample": 0.3},
]
FEW: dict[str, Any] = {"n_estimators": 12, "learning_rate": 0.3, "random_state": 0}
EVEN_WEIGHT = np.ones(N)


# --- the definition, row by row -----------------------------------------------------------


def cells_of(key: Array) -> Array:
    """The first 15 bits of float32 that are not the sign."""
    return key.astype(np.float32).view(np.int32) >> 16


def goss_chances(key: Array, top: float, other: float) -> Array:
    """The largest keys, equal cells by a fair draw; then some of those that are left."""
    cell, n_top = cells_of(key), top * len(key)
    chances = np.empty(len(key))
    for row, own in enumerate(cell):
        above, equal = np.sum(cell > own), np.sum(cell == own)
        sure = min(1.0, max(0.0, (n_top - above) / equal))
        chances[row] = sure + (1.0 - sure) * other / (1.0 - top)
    return chances


def mvs_chances(gradient: Array, hessian: Array, share: float) -> Array:
    """Minimum of 1 and key / mu, with mu found by halving an interval."""
    step = np.abs(gradient).sum() / hessian.sum()
    key = middle_of(cells_of(np.sqrt(gradient**2 + step**2 * hessian**2)))
    low, high = 0.0, key.sum() / share / len(key) + key.max()
    for _ in range(200):
        mu = 0.5 * (low + high)
        low, high = (mu, high) if np.minimum(1.0, key / mu).sum() > share * len(key) else (low, mu)
    return np.minimum(1.0, key / high)


@dataclass(eq=False)
class Drawn:
    """What a grower has drawn for a tree."""

    rows: Array
    slopes: Array  # before they are weighed
    weighed: Array
    row_weight: Array


def draw(
    sampling: RowSampling,
    seed: int = 7,
    weight: Array = EVEN_WEIGHT,
    y: Array = Y,
    n_jobs: int = 1,
    cuts: tuple[int, ...] = (),
) -> Drawn:
    """Draw rows as for a first tree under the log loss."""
    matrix = np.arange(len(y), dtype=float)[:, None]
    with cut_at(*cuts):
        table = code_table(matrix, np.zeros(1, bool), np.zeros(1, np.int64), 255, 1)
    loss = losses.resolve("log_loss", task="classification", n_classes=2)
    label = (y > np.median(y)).astype(float)
    scores = RowScores(loss, label, weight, np.zeros(1), 2)
    scores.score[:] = y  # so that slopes differ
    grower = BoostedGrower(table, BoostRules(sampling=sampling), scores, n_jobs)
    scores.take_slopes(1)
    slopes = grower.rows.slope.reshape(-1, 2).copy()
    grower._begin_tree(seed, table.features, [grower.peak])
    nodes, n_pages = grower.nodes, len(cuts) + 1
    spans = zip(nodes.first[:n_pages].tolist(), nodes.last[:n_pages].tolist(), strict=True)
    rows = np.concatenate([grower.rows.row[first:last] for first, last in spans]).copy()
    weighed = grower.rows.slope.reshape(-1, 2).copy()
    with np.errstate(divide="ignore", invalid="ignore"):
        row_weight = weighed[:, 1].astype(float) / slopes[:, 1]
    return Drawn(rows, slopes, weighed, row_weight)


SAMPLINGS = [Uniform(0.4), Goss(0.2, 0.1), Goss(0.0, 0.3), Goss(0.5, 0.2), Mvs(0.3), Mvs(0.9)]


@pytest.mark.mission("L4")
@pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
@pytest.mark.parametrize("weight", [EVEN_WEIGHT, WEIGHT], ids=["even", "weighted"])
def test_rows_are_drawn_as_defined(sampling: Any, weight: Array) -> None:
    drawn = draw(sampling, weight=weight)
    gradient, hessian = drawn.slopes.astype(float).T
    if isinstance(sampling, Goss):
        chances = goss_chances(np.abs(gradient * hessian), sampling.top, sampling.other)
    elif isinstance(sampling, Mvs):
        chances = mvs_chances(gradient, hessian, sampling.share)
    else:
        chances = np.full(N, sampling.share)
    hashes = (_hashes(7, np.arange(N, dtype=np.uint64)) >> np.uint64(33)).astype(float)
    limit = np.round(chances * 2.0**31)
    close = np.abs(hashes - limit) <= 1e-6 * 2.0**31  # mu is found in another way here
    assert close.sum() <= 2
    expected = np.flatnonzero(hashes < limit)
    assert set(drawn.rows.tolist()) ^ set(expected.tolist()) <= set(np.flatnonzero(close).tolist())
    assert (np.diff(drawn.rows) > 0).all()
    rows = drawn.rows
    factor = np.ones(N) if isinstance(sampling, Uniform) else 1.0 / chances
    assert drawn.row_weight[rows] == pytest.approx(factor[rows], rel=1e-6)
    np.testing.assert_allclose(
        drawn.weighed[rows], drawn.slopes[rows] * factor[rows, None], rtol=1e-6
    )


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
@pytest.mark.usefixtures("real_threads")
def test_threads_and_pages_draw_the_same_rows(sampling: Any) -> None:
    y = np.random.default_rng(1).normal(size=30_000)
    weight = np.ones(len(y))
    one = draw(sampling, y=y, weight=weight)
    for n_jobs, cuts in [(2, ()), (4, ()), (1, (0, 7, 12_345)), (2, (5000, 5001, 29_999))]:
        other = draw(sampling, y=y, weight=weight, n_jobs=n_jobs, cuts=cuts)
        np.testing.assert_array_equal(one.rows, other.rows)
        np.testing.assert_array_equal(one.weighed[one.rows], other.weighed[one.rows])


# --- shares -------------------------------------------------------------------------------

COUNTS = st.dictionaries(st.integers(0, 32_640), st.integers(1, 1000), min_size=1, max_size=30)


@settings(max_examples=60, deadline=None)
@given(COUNTS, st.floats(0.0, 0.9), st.floats(0.01, 1.0))
def test_shares_of_goss(cells: dict[int, int], top: float, of_rest: float) -> None:
    there = np.array(sorted(cells))
    counts = np.array([cells[cell] for cell in there])
    other = of_rest * (1.0 - top)
    shares = Goss(top, other).shares(there, counts)
    assert (counts * shares).sum() == pytest.approx((top + other) * counts.sum())
    assert (np.diff(shares) >= -1e-12).all()
    assert shares.min() >= other / (1 - top) - 1e-12 and shares.max() <= 1.0 + 1e-12


@settings(max_examples=60, deadline=None)
@given(COUNTS, st.floats(0.01, 0.99))
def test_shares_of_mvs(cells: dict[int, int], share: float) -> None:
    there = np.array(sorted(cells))
    counts = np.array([cells[cell] for cell in there])
    shares = Mvs(share).shares(there, counts)
    assert (counts * shares).sum() == pytest.approx(share * counts.sum(), rel=1e-6)
    below = shares < 1.0  # go with the key
    ratio = shares[below] / middle_of(there[below])
    assert ratio == pytest.approx(ratio[0] if len(ratio) else 0.0, rel=1e-6)
    assert (np.diff(shares) >= 0.0).all()


# --- what sums of drawn rows say of all rows ------------------------------------------------


@pytest.mark.mission("L4")
@pytest.mark.parametrize("sampling", [Goss(0.2, 0.1), Mvs(0.3)], ids=str)
def test_sums_and_squares_of_gradients_are_unbiased(sampling: Any) -> None:
    """Over 600 seeds: the sums of a side, and G^2 less the variance that drawing adds to it.

    A gain is made of G^2 / (H + lambda) of the sides. The square of an unbiased sum exceeds that
    of the true one by the variance of the sum, which is known: sum of (1 - p) / p g^2.
    """
    whole = draw(Uniform(0.999999)).slopes.astype(float)
    left = np.quantile(Y, 0.3) > Y
    sums, squares, gains = [], [], []
    for seed in range(600):
        drawn = draw(sampling, seed)
        rows = drawn.rows[left[drawn.rows]]
        weighed, weight = drawn.weighed[rows].astype(float), drawn.row_weight[rows]
        total = weighed.sum(axis=0)
        # (1 - p) / p g^2 of the drawn rows, each over p: what they say of that sum over all
        noise = ((1.0 - 1.0 / weight) * weighed[:, 0] ** 2).sum()
        sums.append(total)
        squares.append(total[0] ** 2 - noise)
        gains.append(total[0] ** 2 / total[1])
    exact = whole[left].sum(axis=0)
    for found, true in ((np.array(sums), exact), (np.array(squares), exact[0] ** 2)):
        error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
        assert (np.abs(found.mean(axis=0) - true) < 4.0 * error).all()
    assert np.mean(gains) == pytest.approx(exact[0] ** 2 / exact[1], rel=0.05)


def test_a_sample_that_is_all_rows_changes_nothing() -> None:
    plain = Regressor(**FEW).fit(FRAME, Y)
    for top in (0.0, 0.3, 0.5):
        all_rows = Regressor(**FEW, sampling="goss", top_rate=top, other_rate=1.0 - top)
        assert all_rows.fit(FRAME, Y).digest() == plain.digest()


# --- fits -------------------------------------------------------------------------------------


@pytest.mark.mission("L4")
@pytest.mark.parametrize(
    ("growth", "draws"),
    [
        *(("leaf", draws) for draws in DRAWS),
        ("level", DRAWS[0]),
        ("symmetric", DRAWS[2]),
    ],
    ids=str,
)
@pytest.mark.usefixtures("real_threads")
def test_threads_and_pages_change_nothing(growth: str, draws: dict[str, Any]) -> None:
    fits: list[tuple[Any, Any, Any]] = [
        (Regressor, FRAME, Y),
        (Classifier, FRAME, CLASSES),
        (Regressor, STORED, Y),
        (Regressor, RARE, Y),
    ]
    for maker, X, y in fits:
        model = maker(**FEW | {"n_estimators": 3}, growth=growth, max_depth=5, **draws)
        one = model.fit(X, y, WEIGHT).digest()
        for n_jobs, cuts in [(2, ()), (4, (500,)), (1, (1, 3, 300, 301, 700, 1199))]:
            with cut_at(*cuts):
                assert model.set_params(n_jobs=n_jobs).fit(X, y, WEIGHT).digest() == one


@pytest.mark.parametrize("draws", DRAWS, ids=str)
@pytest.mark.parametrize("growth", ["leaf", "symmetric"])
@pytest.mark.parametrize("X", [FRAME, STORED, RARE], ids=["mixed", "sparse", "bundled"])
def test_scores_of_all_rows_follow_the_trees(X: Any, growth: str, draws: dict[str, Any]) -> None:
    """Rows that were not drawn walk down: the loss in training is that of the predictions."""
    label = Y > 0.5
    watched = Classifier(**FEW, growth=growth, **draws)
    watched.fit(X, label, X_val=X, y_val=label)
    loss = log_loss(label, watched.predict_proba(X))
    assert watched.history_["validation"][-1] == pytest.approx(loss, rel=1e-6)
    assert watched.history_["train"][-1] == pytest.approx(loss, rel=1e-6)


@pytest.mark.parametrize("draws", DRAWS[:3], ids=str)
def test_quality_is_near_that_of_all_rows(draws: dict[str, Any]) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(6000, 6))
    y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + random.normal(0, 0.5, 6000)
    usual: dict[str, Any] = {"n_estimators": 60, "learning_rate": 0.1, "random_state": 0}
    whole = Regressor(**usual).fit(X[:4000], y[:4000]).score(X[4000:], y[4000:])
    some = Regressor(**usual, **draws).fit(X[:4000], y[:4000]).score(X[4000:], y[4000:])
    assert some > whole - 0.02


@pytest.mark.parametrize("draws", DRAWS[:3], ids=str)
@pytest.mark.parametrize(
    "other",
    [
        {"drop_rate": 0.5, "skip_drop": 0.0},
        {"early_stopping": True},
        {"order": 1},
        {"colsample_bytree": 0.5, "colsample_bynode": 0.5},
        {"monotonic_cst": [1, -1, 0, 0, 0, 0, 0, 0]},
        {"loss": "absolute_error"},
        {"loss": "quantile", "quantile": [0.2, 0.8]},
        {"loss": "huber"},
        {"min_samples_leaf": 40},
        {"reg_lambda": 0.0, "min_child_weight": 0.0},
    ],
    ids=str,
)
def test_it_goes_with_everything_else(other: dict[str, Any], draws: dict[str, Any]) -> None:
    model = Regressor(**FEW, **draws, **other)
    one = model.fit(FRAME, Y, WEIGHT)
    digest, predicted = one.digest(), one.predict(FRAME)
    assert np.isfinite(predicted).all() and predicted.std() > 0.0
    assert any(tree.node_count > 1 for tree in one.trees_)
    assert model.set_params(n_jobs=2).fit(FRAME, Y, WEIGHT).digest() == digest


def test_leaves_that_are_chosen_anew_know_the_weights() -> None:
    """The medians of absolute errors are those of weighed rows."""
    random = np.random.default_rng(0)
    X = np.zeros((4000, 1))
    y = random.exponential(size=4000)
    model = Regressor(
        loss="absolute_error", n_estimators=1, learning_rate=1.0, sampling="mvs", subsample=0.2,
        random_state=0,
    )  # fmt: skip
    weight = np.where(y > 2.0, 20.0, 1.0)  # drawn for sure, and often: they would pull the median
    predicted = model.fit(X, y, weight).predict(X[:1])[0]
    order = np.argsort(y)
    middle = np.searchsorted(np.cumsum(weight[order]), 0.5 * weight.sum())
    assert predicted == pytest.approx(y[order][middle], abs=0.25)


@pytest.mark.parametrize("draws", DRAWS[:3], ids=str)
def test_a_warm_start_is_the_same_as_one_fit(draws: dict[str, Any]) -> None:
    whole = Classifier(**FEW, **draws).fit(FRAME, CLASSES)
    part = Classifier(**FEW | {"n_estimators": 5}, **draws, warm_start=True).fit(FRAME, CLASSES)
    part.set_params(n_estimators=12).fit(FRAME, CLASSES)
    assert np.abs(part.predict_proba(FRAME) - whole.predict_proba(FRAME)).max() < 1e-6


@pytest.mark.parametrize("draws", DRAWS[:3], ids=str)
def test_ranking(draws: dict[str, Any]) -> None:
    relevance = np.digitize(Y, [0.0, 1.0, 2.0])
    group = np.full(N // 20, 20)
    ranker = hb.GradientBoostingRanker(**FEW, **draws).fit(FRAME, relevance, group=group)
    again = hb.GradientBoostingRanker(**FEW, **draws, n_jobs=2).fit(FRAME, relevance, group=group)
    assert ranker.digest() == again.digest()
    assert ranker.score(FRAME, relevance, group=group) > 0.7


# --- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"sampling": "goss", "top_rate": 0.7, "other_rate": 0.5}, "they come to 1.2: lower one"),
        ({"sampling": "goss", "subsample": 0.5}, "leave subsample at 1.0"),
        ({"sampling": "mvs"}, r"subsample=1\.0 is all of them: set it to 0\.5"),
        ({"sampling": "goss", "other_rate": 0.0}, "The 'other_rate' parameter"),
        ({"sampling": "goss", "top_rate": 1.0}, "The 'top_rate' parameter"),
        ({"sampling": "goss", "top_rate": -0.1}, "The 'top_rate' parameter"),
        ({"sampling": "gross"}, "The 'sampling' parameter"),
        ({"sampling": None}, "The 'sampling' parameter"),
    ],
)
def test_bad_rates_are_sentences(params: dict[str, Any], words: str) -> None:
    for maker, y in ((Regressor, Y), (Classifier, CLASSES)):
        with pytest.raises(ValueError, match=words):
            maker(**params).fit(FRAME, y)


def test_tiny_rates_leave_single_leaves() -> None:
    for params in (
        {"sampling": "goss", "top_rate": 0.0, "other_rate": 1e-9},
        {"sampling": "mvs", "subsample": 1e-9},
    ):
        model = Regressor(**FEW, **params).fit(FRAME, Y)
        assert all(tree.node_count == 1 for tree in model.trees_)
        assert np.isfinite(model.predict(FRAME)).all()


def test_slopes_of_all_sizes() -> None:
    """Targets near the ends of float64, and a target that is constant."""
    for factor in (1e-300, 1e-30, 1e30, 1e300):
        for draws in DRAWS[:3]:
            model = Regressor(**FEW, **draws).fit(FRAME, factor * Y)
            predicted = model.predict(FRAME)
            assert np.isfinite(predicted).all()
            assert r2_score(Y, predicted / factor) > 0.3
    for draws in DRAWS:
        assert Regressor(**FEW, **draws).fit(FRAME, np.ones(N)).predict(FRAME) == pytest.approx(1.0)


def test_rules_hold_one_strategy() -> None:
    assert not BoostRules().sampling.draws
    assert replace(BoostRules(), sampling=Goss()).sampling.draws


@parametrize_with_checks(
    [
        Classifier(**FEW, sampling="goss", top_rate=0.4, other_rate=0.3),
        Regressor(**FEW, sampling="goss", top_rate=0.4, other_rate=0.3),
        Classifier(**FEW, sampling="mvs", subsample=0.7),
        Regressor(**FEW, sampling="mvs", subsample=0.7),
    ]
)
def test_yielded_check(estimator: Any, check: Any) -> None:
    """scikit-learn's own checks; other rows are drawn where weights are counts of rows."""
    if "sample_weight_equivalence" in str(check):
        pytest.skip("copies of a row are drawn one by one")
    check(estimator)

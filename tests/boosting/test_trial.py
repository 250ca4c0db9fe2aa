"""What trials find: the learning rate (`learning_rate="auto"`), and which trees to grow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.boosting import trial
from hornbeam.boosting.rows import TrainingRows
from hornbeam.data.folds import Splits, draw_share

RNG = np.random.default_rng(3)
X = RNG.normal(size=(600, 5))
SIGNAL = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
NOISE = RNG.normal(size=600)


def some_rows(n_rows: int) -> TrainingRows:
    return TrainingRows(
        np.arange(float(n_rows))[:, None], np.zeros(n_rows), np.ones(n_rows), None, None
    )


def splits(rows: TrainingRows, random: np.random.Generator) -> Splits:
    return Splits(len(rows.target), random)


def rate_of(
    n_rows: int, *curves: list[float]
) -> tuple[float, list[tuple[TrainingRows, TrainingRows]]]:
    """The rate for rows whose trials give these losses, and what was tried."""
    asked: list[tuple[TrainingRows, TrainingRows]] = []

    def losses(
        learnt: TrainingRows, watched: TrainingRows, growth: str, share: float, leader: Any
    ) -> Any:
        asked.append((learnt, watched))
        return np.array(curves[len(asked) - 1])

    pace = trial.find_pace(some_rows(n_rows), splits, ["leaf"], [1.0], losses, 0)
    assert pace.growth == "leaf" and pace.share == 1.0
    return pace.rate, asked


def least_at(place: int) -> list[float]:
    return [abs(place - i) for i in range(trial.TRIAL_ROUNDS)]


@pytest.mark.quick
@pytest.mark.parametrize(
    ("place", "rate"), [(0, 0.06), (24, 0.1), (29, 0.12), (48, 0.196), (49, 0.2)]
)
def test_the_least_loss_is_to_be_reached_in_75_rounds(place: int, rate: float) -> None:
    assert rate_of(20_000, least_at(place))[0] == pytest.approx(rate)


@pytest.mark.quick
def test_few_rows_are_tried_both_ways_and_many_only_in_part() -> None:
    rate, asked = rate_of(1000, least_at(20), [2.0 * x for x in least_at(30)])
    assert rate == pytest.approx(0.3 * 31 / 75)
    one, other = asked[0]
    assert asked[1] == (other, one)
    assert len(one.target) == len(other.target) == 500
    both = np.concatenate([one.matrix[:, 0], other.matrix[:, 0]])
    assert (np.sort(both) == np.arange(1000)).all()
    rate, asked = rate_of(100_000, least_at(2))
    assert rate == trial.USUAL_RATE  # more rows than were tried bear the usual rate
    assert [len(rows.target) for rows in asked[0]] == [20_000, 20_000]


@pytest.mark.quick
@pytest.mark.parametrize("curve", [[1.0, 1.0], [1.0, np.nan], [np.inf, 1.0]])
def test_losses_that_tell_nothing_leave_the_usual_rate(curve: list[float]) -> None:
    assert rate_of(20_000, curve)[0] == trial.USUAL_RATE
    assert rate_of(99) == (trial.USUAL_RATE, [])


@pytest.mark.quick
@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        (1.0, 1.0, "alternate"),
        (1.19, 1.0, "alternate"),
        (1.21, 1.0, "leaf"),
        (0.5, 1.0, "alternate"),
    ],
)
def test_the_first_growth_is_taken_unless_the_other_is_clearly_better(
    first: float, second: float, found: str
) -> None:
    curves = {"alternate": [3.0, first, 3.0], "leaf": [3.0, 3.0, second]}
    pace = trial.find_pace(
        some_rows(20_000),
        splits,
        list(curves),
        [1.0],
        lambda _, __, g, *___: np.array(curves[g]),
        0,
    )
    assert pace.growth == found
    assert pace.rate == trial.LEAST_RATE  # two or three rounds


@pytest.mark.quick
@pytest.mark.parametrize(
    ("few", "every", "share"),
    [
        ([1.0, 1.0], [0.9, 0.96], 1.0),
        ([1.0, 1.0], [0.96, 0.99], 0.4),
        ([1.0, 1.0], [0.9, 1.02], 1.0),
        ([-1.0, -1.0], [-1.1, -1.2], 1.0),  # a loss may be negative
        ([1.0, 1.0], [np.nan, np.nan], 0.4),
    ],
)
def test_all_features_are_taken_if_the_least_losses_get_clearly_lower(
    few: list[float], every: list[float], share: float
) -> None:
    """The least losses of each trial; of all features at the 40th round, of few at the first."""
    rest: dict[float, Any] = {0.4: iter(few), 1.0: iter(every)}
    asked = []

    def losses(
        learnt: TrainingRows, watched: TrainingRows, growth: str, share: float, leader: Any
    ) -> Any:
        asked.append(share)
        curve = np.full(50, 3.0)
        curve[39 if share == 1.0 else 0] = next(rest[share])
        return curve

    pace = trial.find_pace(some_rows(900), splits, ["leaf"], [0.4, 1.0], losses, 0)
    assert pace.share == share and len(asked) == 4
    assert pace.rate == pytest.approx(0.16 if share == 1.0 else trial.LEAST_RATE)


@pytest.mark.quick
@pytest.mark.parametrize("given_up_in", [0, 1])
def test_a_way_to_grow_that_falls_behind_in_a_half_is_given_up(given_up_in: int) -> None:
    asked: list[tuple[str, float]] = []

    def losses(
        learnt: TrainingRows, watched: TrainingRows, growth: str, share: float, leader: Any
    ) -> Any:
        asked.append((growth, share))
        if (growth, share) == ("a", 0.4):
            assert leader is None
            return np.maximum(3.0 - np.arange(50.0) / 2.0, 1.0)
        assert len(leader.curve) == 50
        assert leader.looks == (trial.LOOKS if share == 0.4 else {5: 0.02} | trial.LOOKS)
        half = asked.count((growth, share)) - 1
        return np.full(10 if half == given_up_in else 50, 0.1)

    pace = trial.find_pace(some_rows(900), splits, ["a", "b"], [0.4, 1.0], losses, 0)
    assert (pace.growth, pace.share) == ("a", 0.4)
    assert len(asked) == 2 + 2 * (1 + given_up_in)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("least", "n_rounds", "behind"),
    [
        (1.04, 10, False),  # what hangs on features together is learnt late
        (1.06, 10, True),
        (1.06, 11, False),  # it is looked at twice
        (0.99, 30, False),
        (1.0, 30, True),
        (np.nan, 30, True),
    ],
)
def test_who_falls_behind_gives_up(least: float, n_rounds: int, behind: bool) -> None:
    curve = np.append(np.full(n_rounds, 1.0), 0.1)  # what comes later is not known yet
    losses = [2.0] * (n_rounds - 1) + [least]
    assert trial.falls_behind(losses, trial.Leader(curve, trial.LOOKS)) is behind


@pytest.mark.quick
@pytest.mark.parametrize(
    ("curve", "when"),
    [
        (np.linspace(3.0, 1.0, 50), 26),
        (3.0 * 0.5 ** np.arange(50.0), 5),  # half-way at once, which is too soon to tell
        (1.0 - 0.002 * np.arange(50.0), None),  # nothing much is learnt
        (1.0 + np.arange(50.0), None),
        (-1.0 - 0.1 * np.arange(50.0), 26),  # a loss may be negative
    ],
)
def test_another_share_must_be_ahead_when_the_usual_one_is_half_way(
    curve: Any, when: int | None
) -> None:
    extra = {} if when is None else {when: trial.SOON_BETTER}
    assert trial.early_looks(curve) == trial.LOOKS | extra
    if when is not None:
        leader = trial.Leader(curve, trial.early_looks(curve))
        least = curve[when - 1]
        for ahead, behind in ((0.03, False), (0.01, True)):
            assert trial.falls_behind([least - ahead * abs(least)] * when, leader) is behind


@pytest.mark.quick
def test_rows_that_tell_nothing_get_the_last_growth() -> None:
    shares = [0.4, 1.0]
    flat = trial.find_pace(some_rows(500), splits, ["a", "b"], shares, lambda *_: np.ones(3), 0)
    few = trial.find_pace(some_rows(99), splits, ["a", "b"], shares, lambda *_: np.arange(3.0), 0)
    assert flat == few == ("b", 0.4, trial.USUAL_RATE)


def test_signals_are_learnt_faster_than_noise() -> None:
    clear = hb.GradientBoostingRegressor(n_estimators=1).fit(X, SIGNAL)
    mixed = hb.GradientBoostingRegressor(n_estimators=1).fit(X, SIGNAL + NOISE)
    noise = hb.GradientBoostingRegressor(n_estimators=1).fit(X, NOISE)
    assert noise.learning_rate_ == trial.LEAST_RATE
    assert trial.LEAST_RATE < mixed.learning_rate_ < 0.15 < clear.learning_rate_


WIDE = RNG.normal(size=(1500, 24))
FEW_MATTER = 3.0 * (WIDE[:, 0] > 0) + WIDE[:, 1] * WIDE[:, 2] + 0.1 * RNG.normal(size=1500)
ALL_MATTER = WIDE.sum(axis=1) + 5.0 * RNG.normal(size=1500)


@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
@pytest.mark.parametrize("rate", ["auto", 0.1])
def test_few_features_that_matter_among_many_are_asked_at_every_node(kind: str, rate: Any) -> None:
    estimator = getattr(hb, f"GradientBoosting{kind}")
    y = np.median(FEW_MATTER) < FEW_MATTER if kind == "Classifier" else FEW_MATTER
    settings = {"n_estimators": 20, "learning_rate": rate}
    found = estimator(**settings).fit(WIDE[:1000], y[:1000])
    drawn = estimator(colsample_bynode=0.4, random_state=0, **settings).fit(WIDE[:1000], y[:1000])
    assert found.colsample_bynode_ == 1.0 and drawn.colsample_bynode_ == 0.4
    assert found.score(WIDE[1000:], y[1000:]) > drawn.score(WIDE[1000:], y[1000:])
    given = estimator(
        n_estimators=20,
        colsample_bynode=1.0,
        learning_rate=found.learning_rate_,
        growth=found.growth_,
    )
    assert given.fit(WIDE[:1000], y[:1000]).digest() == found.digest()


def test_features_are_drawn_where_all_of_them_matter(tmp_path: Path) -> None:
    model = hb.GradientBoostingRegressor(n_estimators=4, warm_start=True).fit(WIDE, ALL_MATTER)
    assert model.colsample_bynode_ == 0.4
    model.save(tmp_path / "m.hornbeam")
    loaded = hb.load(tmp_path / "m.hornbeam")
    assert loaded.colsample_bynode_ == 0.4
    at_once = hb.GradientBoostingRegressor(n_estimators=6).fit(WIDE, ALL_MATTER)
    for going_on in (model, loaded):
        going_on.set_params(n_estimators=6).fit(WIDE, ALL_MATTER)
        assert going_on.digest() == at_once.digest()


def test_the_trial_is_that_of_two_fits_by_hand() -> None:
    """Halves drawn in the same way, fitted with X_val: the mean of their losses is the curve.

    All rows together make the bins, so here each half has all values that there are.
    """
    y, settings = SIGNAL + NOISE / 3, {"min_samples_leaf": 5, "max_depth": 7}
    held = draw_share(600, 0.5, np.random.default_rng([0, 2]))
    rough = np.clip(np.round(2 * X), -3, 3)
    assert all(set(a) == set(b) for a, b in zip(rough[held].T, rough[~held].T, strict=True))
    curves = []
    for part in (~held, held):
        half = hb.GradientBoostingRegressor(
            n_estimators=50, learning_rate=0.3, colsample_bynode=1.0, **settings
        )
        half.fit(rough[part], y[part], X_val=rough[~part], y_val=y[~part])
        curves.append(half.history_["validation"])
    rounds = 1 + int(np.argmin(np.mean(curves, axis=0)))
    found = hb.GradientBoostingRegressor(n_estimators=1).fit(rough, y).learning_rate_
    assert trial.LEAST_RATE < found < trial.MOST_RATE
    assert found == pytest.approx(0.3 * rounds / 75)


def test_a_fit_with_the_rate_that_was_found_is_the_same_model() -> None:
    y = SIGNAL + NOISE > 0.0
    found = hb.GradientBoostingClassifier(n_estimators=5).fit(X, y)
    assert found.growth_ == "alternate"
    given = hb.GradientBoostingClassifier(
        n_estimators=5, learning_rate=found.learning_rate_, growth=found.growth_
    )
    assert (given.fit(X, y).predict_proba(X) == found.predict_proba(X)).all()


@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_threads_do_not_change_the_rate(kind: str) -> None:
    y = SIGNAL + NOISE
    estimator = getattr(hb, f"GradientBoosting{kind}")
    fits = [
        estimator(n_estimators=3, n_jobs=n).fit(X, y > 0 if kind == "Classifier" else y)
        for n in (1, 2, 4)
    ]
    assert len({fit.learning_rate_ for fit in fits}) == 1
    assert len({fit.digest() for fit in fits}) == 1


def test_more_rounds_keep_the_rate_even_on_other_rows(tmp_path: Path) -> None:
    model = hb.GradientBoostingRegressor(n_estimators=5, warm_start=True).fit(X, SIGNAL)
    rate = model.learning_rate_
    model.save(tmp_path / "m.hornbeam")
    loaded = hb.load(tmp_path / "m.hornbeam")
    assert loaded.learning_rate_ == rate > 0.15
    for going_on in (model, loaded):
        assert going_on.set_params(n_estimators=8).fit(X, NOISE).learning_rate_ == rate


def test_drops_and_ranks_have_the_usual_rate() -> None:
    drops = hb.GradientBoostingRegressor(n_estimators=2, drop_rate=0.5).fit(X, SIGNAL)
    ranks = hb.GradientBoostingRanker(n_estimators=2)
    ranks.fit(X, np.digitize(SIGNAL, [0.0, 1.0]), group=[100] * 6)
    assert drops.learning_rate_ == ranks.learning_rate_ == trial.USUAL_RATE


def test_halves_hold_every_class_with_two_rows() -> None:
    y = np.zeros(600, int)
    y[:2], y[2:300] = 2, 1
    model = hb.GradientBoostingClassifier(n_estimators=2).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    assert trial.LEAST_RATE <= model.learning_rate_ <= trial.MOST_RATE


def test_classes_of_one_row_cannot_be_halved() -> None:
    model = hb.GradientBoostingClassifier(n_estimators=1).fit(X[:100], np.arange(100))
    assert model.learning_rate_ == trial.USUAL_RATE


def test_weights_count_in_the_trial() -> None:
    """Rows of noise that hardly count do not slow a model down."""
    y = np.concatenate([SIGNAL, NOISE])
    both = np.vstack([X, X])
    slow = hb.GradientBoostingRegressor(n_estimators=1).fit(both, y)
    weight = np.repeat([1.0, 1e-6], 600)
    fast = hb.GradientBoostingRegressor(n_estimators=1).fit(both, y, weight)
    assert slow.learning_rate_ < fast.learning_rate_

"""The arithmetic of ensembles against definitions, simulations and the numbers of the sources."""

from __future__ import annotations

from itertools import product
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

import hornbeam as hb
from benchmarks import shared
from hornbeam import theory
from hornbeam.theory.decomposition import _of_classes

XC, YC = load_breast_cancer(return_X_y=True)
XR, YR = load_diabetes(return_X_y=True)


# --- juries -----------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.mission("E1")
def test_25_voters_at_035_err_in_6_of_100() -> None:
    assert round(theory.majority_error(25, 0.35), 2) == 0.06
    by_sum = sum(comb(25, k) * 0.35**k * 0.65 ** (25 - k) for k in range(13, 26))
    assert theory.majority_error(25, 0.35) == pytest.approx(by_sum)


@pytest.mark.quick
@pytest.mark.mission("E1")
@pytest.mark.parametrize("n_voters", [1, 2, 3, 4, 5])
def test_the_majority_errs_as_often_as_counting_all_votes_says(n_voters: int) -> None:
    expected = 0.0
    for votes in product((0, 1), repeat=n_voters):
        wrong = sum(votes)
        share = 1.0 if 2 * wrong > n_voters else 0.5 if 2 * wrong == n_voters else 0.0
        expected += share * 0.3**wrong * 0.7 ** (n_voters - wrong)
    assert theory.majority_error(n_voters, 0.3) == pytest.approx(expected)


@pytest.mark.quick
@pytest.mark.mission("E1")
def test_juries_follow_condorcet_and_stay_under_the_bound() -> None:
    for error in (0.1, 0.3, 0.45):
        found = [theory.majority_error(n, error) for n in range(1, 60, 2)]
        assert np.all(np.diff(found) < 0.0)
        bound = [theory.hoeffding_bound(n, error) for n in range(1, 60, 2)]
        assert np.all(np.array(found) <= bound)
        assert bound[0] == pytest.approx(np.exp(-0.5 * (1.0 - 2.0 * error) ** 2))
    worse = [theory.majority_error(n, 0.55) for n in range(1, 60, 2)]
    assert np.all(np.diff(worse) > 0.0)
    assert theory.majority_error(9, 0.5) == pytest.approx(0.5)
    assert theory.hoeffding_bound(9, 0.6) == 1.0


@pytest.mark.quick
@pytest.mark.parametrize(
    ("arguments", "words"),
    [((0, 0.3), "n_voters must be"), ((2.5, 0.3), "n_voters must be"), ((3, 1.2), "probability")],
)
def test_no_jury_can_be_like_that(arguments: Any, words: str) -> None:
    for function in (theory.majority_error, theory.hoeffding_bound):
        with pytest.raises(ValueError, match=words):
            function(*arguments)


# --- averages and samples -----------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.mission("E1")
def test_the_variance_of_an_average_is_that_of_correlated_numbers() -> None:
    for n_models, rho in ((1, 0.3), (4, 0.0), (4, 0.7), (5, 1.0), (3, -0.5)):
        covariance = 2.0 * (rho * np.ones((n_models, n_models)) + (1.0 - rho) * np.eye(n_models))
        mean = np.full(n_models, 1.0 / n_models)
        expected = mean @ covariance @ mean
        assert theory.variance_of_average(2.0, rho, n_models) == pytest.approx(expected)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((1.0, -0.9, 3), "correlation must be from -0.5 to 1 for 3 models"),
        ((1.0, 1.1, 3), "correlation"),
        ((-1.0, 0.0, 3), "variance must not be negative"),
        ((1.0, 0.0, 0), "n_models must be"),
    ],
)
def test_no_average_can_be_like_that(arguments: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        theory.variance_of_average(*arguments)


@pytest.mark.mission("E2")
def test_shares_of_bootstrap_samples() -> None:
    for n_rows in (1, 2, 3, 4):
        drawn = [len(set(rows)) / n_rows for rows in product(range(n_rows), repeat=n_rows)]
        assert theory.distinct_share(n_rows) == pytest.approx(np.mean(drawn))
    assert theory.inclusion_probability(10**7) == pytest.approx(1.0 - 1.0 / np.e, abs=1e-6)
    assert theory.inclusion_probability(10, 25) == pytest.approx(1.0 - 0.9**25)
    mean, error = theory.measured_share(500, 200, n_samples=200)
    assert abs(mean - theory.distinct_share(500, 200)) < 4.0 * error
    with pytest.raises(ValueError, match="n_rows=0"):
        theory.inclusion_probability(0)


# --- bias and variance ------------------------------------------------------------------


def parts(estimator: Any, X: Any, y: Any, n_fits: int = 12) -> theory.BiasVariance:
    test = np.arange(len(y)) % 3 == 0
    return theory.bias_variance(
        estimator, X[~test], y[~test], X[test], y[test], n_fits=n_fits, random_state=0
    )


@pytest.mark.mission("E1")
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_parts_of_the_01_loss_are_domingos(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    predicted, y = rng.integers(n_classes, size=(9, 40)), rng.integers(n_classes, size=40)
    found = _of_classes(predicted, y)
    loss = bias = harm = good = 0.0
    for row in range(40):
        votes = predicted[:, row].tolist()
        main = max(sorted(set(votes)), key=votes.count)
        loss += np.mean([v != y[row] for v in votes]) / 40
        bias += (main != y[row]) / 40
        if main == y[row]:
            harm += np.mean([v != main for v in votes]) / 40
        else:
            good += np.mean([v == y[row] for v in votes]) / 40
    expected = (loss, bias, harm - good, harm, good)
    assert (
        found.loss, found.bias, found.variance, found.unbiased_variance, found.biased_variance
    ) == pytest.approx(expected)  # fmt: skip
    assert found.loss == pytest.approx(found.bias + found.variance)


@pytest.mark.mission("E1")
def test_the_parts_of_the_squared_loss_add_up() -> None:
    found = parts(hb.DecisionTreeRegressor(), XR, YR)
    assert found.loss == pytest.approx(found.bias + found.variance)
    assert found.variance == found.unbiased_variance > 0.0
    again = parts(hb.DecisionTreeRegressor(), XR, YR)
    assert again == found  # one seed, one answer
    constant = parts(hb.DecisionTreeRegressor(max_depth=1), XR, np.zeros(len(YR)))
    assert (constant.loss, constant.bias, constant.variance) == (0.0, 0.0, 0.0)


def check_order(X: Any, y: Any, deep: Any, stump: Any, forest: Any, boosted: Any) -> None:
    """Deep trees vary, stumps are biased, forests vary less, boosting is less biased."""
    trees, stumps, forests, boosts = (
        parts(model, X, y) for model in (deep, stump, forest, boosted)
    )
    assert trees.variance > stumps.variance
    assert stumps.bias > trees.bias
    assert forests.variance < trees.variance
    assert boosts.bias < stumps.bias
    assert forests.loss < trees.loss
    assert boosts.loss < stumps.loss


@pytest.mark.mission("E1")
def test_trees_stumps_forests_and_boosting_on_numbers() -> None:
    check_order(
        XR,
        YR,
        hb.DecisionTreeRegressor(),
        hb.DecisionTreeRegressor(max_depth=1),
        hb.RandomForestRegressor(n_estimators=20, min_samples_split=2),
        hb.GradientBoostingRegressor(n_estimators=30, learning_rate=0.1),
    )


@pytest.mark.mission("E1")
@pytest.mark.parametrize("name", ["uci_vehicle", "letter", "spambase"])
def test_trees_stumps_forests_and_boosting_on_shared_sets(shared_data: Path, name: str) -> None:
    data = shared.load(name)
    assert data is not None
    data = data.capped(1500)
    X, y = np.asarray(shared.numbered(data.X)), np.asarray(data.y)
    check_order(
        X,
        y,
        hb.DecisionTreeClassifier(),
        hb.DecisionTreeClassifier(max_depth=1),
        hb.RandomForestClassifier(n_estimators=20, min_samples_split=2),
        hb.AdaBoostClassifier(hb.DecisionTreeClassifier(max_depth=3), n_estimators=30),
    )


def test_frames_and_names_of_classes_are_taken() -> None:
    frame = pd.DataFrame({"color": ["red", "blue", "green", "red"] * 20, "size": np.arange(80)})
    y = np.where(frame["color"] == "red", "yes", "no")
    found = theory.bias_variance(
        hb.DecisionTreeClassifier(), frame[:60], y[:60], frame[60:], y[60:], n_fits=4
    )
    assert (found.loss, found.n_fits) == (0.0, 4)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"n_fits": 1}, "n_fits=1 shows no variance"),
        ({"max_samples": 0.0}, "max_samples must be a share"),
        ({"max_samples": 1.5}, "max_samples must be a share"),
    ],
)
def test_no_decomposition_can_be_like_that(more: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        theory.bias_variance(hb.DecisionTreeRegressor(), XR, YR, XR, YR, **more)


def test_the_target_fits_the_test_rows() -> None:
    with pytest.raises(ValueError, match="y_test has shape"):
        theory.bias_variance(hb.DecisionTreeRegressor(), XR, YR, XR[:9], YR[:8], n_fits=2)


# --- pictures -----------------------------------------------------------------------------


def test_pictures_show_the_numbers() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    ax = theory.plot_jury((0.35, 0.6), most=25, bound=True)
    lines = ax.get_lines()
    assert len(lines) == 4
    assert lines[0].get_ydata()[-1] == pytest.approx(theory.majority_error(25, 0.35))
    assert lines[1].get_ydata()[-1] == pytest.approx(theory.hoeffding_bound(25, 0.35))
    one = theory.BiasVariance(0.3, 0.2, 0.1, 0.1, 0.0, 30)
    two = theory.BiasVariance(0.25, 0.05, 0.2, 0.2, 0.0, 30)
    ax = theory.plot_bias_variance({"stump": one, "tree": two})
    assert [round(bar.get_height(), 9) for bar in ax.patches] == [0.2, 0.05, 0.1, 0.2]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["stump", "tree"]
    with pytest.raises(ValueError, match="nothing to draw"):
        theory.plot_bias_variance({})

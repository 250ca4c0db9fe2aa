"""What is said about rows out of the bag equals a naive re-computation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score, r2_score

import hornbeam as hb
from hornbeam.forest.bags import Bags

rng = np.random.default_rng(1)
N = 300
X = rng.normal(size=(N, 4)).round(1)
LEVEL = 3 * X[:, 0] + X[:, 1] + rng.normal(0, 0.5, N)
LABEL = np.array(["low", "mid", "top"])[np.digitize(LEVEL, [-1.0, 1.0])]
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(
    kind=np.where(LEVEL > 0, rng.choice(list("uv"), N), rng.choice(list("vw"), N))
)
CLASSIFIERS = [hb.RandomForestClassifier, hb.ExtraTreesClassifier]
REGRESSORS = [hb.RandomForestRegressor, hb.ExtraTreesRegressor]
FORESTS = [*CLASSIFIERS, *REGRESSORS]


def target(forest: Any) -> np.ndarray:
    return LABEL if forest in CLASSIFIERS else LEVEL


def grown(forest: Any, table: Any = FRAME, **params: Any) -> Any:
    few = {"n_estimators": 30, "bootstrap": True, "oob_score": True, "random_state": 0, **params}
    return forest(**few).fit(table, target(forest))


def naive_means(model: Any, table: Any, hard: bool = False) -> np.ndarray:
    """Mean over the trees that have not seen a row, tree by tree and row by row."""
    bags = Bags(model.seed_, N, model.n_draws_)
    sums, votes = 0.0, np.zeros(N)
    for number, tree in enumerate(model.estimators_):
        outside = bags.counts(number) == 0
        found = tree.predict_proba(table) if hasattr(tree, "classes_") else tree.predict(table)
        if hard:
            found = (found == found.max(axis=1, keepdims=True)) & (
                np.cumsum(found == found.max(axis=1, keepdims=True), axis=1) == 1
            )
        mask = outside if found.ndim == 1 else outside[:, None]
        sums, votes = sums + np.where(mask, found, 0.0), votes + outside
    with np.errstate(invalid="ignore"):
        return sums / (votes if np.ndim(sums) == 1 else votes[:, None])


@pytest.mark.quick
@pytest.mark.mission("E4", "E5")
@pytest.mark.parametrize("forest", REGRESSORS)
@pytest.mark.parametrize("max_samples", [None, 0.4])
def test_values_out_of_the_bag(forest: Any, max_samples: float | None) -> None:
    model = grown(forest, max_samples=max_samples)
    expected = naive_means(model, FRAME)
    np.testing.assert_allclose(model.oob_prediction_, expected, rtol=1e-12)
    assert model.oob_score_ == pytest.approx(r2_score(LEVEL, expected))
    assert 0.5 < model.oob_score_ < model.score(FRAME, LEVEL)


@pytest.mark.quick
@pytest.mark.mission("E4", "E5")
@pytest.mark.parametrize("forest", CLASSIFIERS)
@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_classes_out_of_the_bag(forest: Any, voting: str) -> None:
    model = grown(forest, voting=voting, max_depth=4)
    expected = naive_means(model, FRAME, hard=voting == "hard")
    np.testing.assert_allclose(model.oob_decision_function_, expected, rtol=1e-12)
    found = model.classes_[expected.argmax(axis=1)]
    assert model.oob_score_ == accuracy_score(LABEL, found)
    assert 0.5 < model.oob_score_ < 1.0


def test_a_score_of_ones_own() -> None:
    model = grown(hb.RandomForestClassifier, oob_score=balanced_accuracy_score)
    found = model.classes_[model.oob_decision_function_.argmax(axis=1)]
    assert model.oob_score_ == balanced_accuracy_score(LABEL, found)


def test_several_values_out_of_the_bag() -> None:
    y = np.column_stack([LEVEL, X[:, 2]])
    model = hb.RandomForestRegressor(n_estimators=30, oob_score=True, random_state=0).fit(X, y)
    bags = Bags(model.seed_, N, N)
    outside = np.array([bags.counts(number) == 0 for number in range(30)])
    trees = np.array([tree.predict(X) for tree in model.estimators_])
    expected = (trees * outside[:, :, None]).sum(axis=0) / outside.sum(axis=0)[:, None]
    np.testing.assert_allclose(model.oob_prediction_, expected, rtol=1e-12)
    assert model.oob_score_ == pytest.approx(r2_score(y, expected))


def test_rows_in_every_bag_have_no_prediction() -> None:
    with pytest.warns(UserWarning, match="do not have OOB scores") as caught:
        model = grown(hb.RandomForestRegressor, n_estimators=2)
    assert caught[0].filename == __file__  # the warning points to the caller's line
    missing = np.isnan(model.oob_prediction_)
    assert 0 < missing.sum() < N
    score = r2_score(LEVEL[~missing], model.oob_prediction_[~missing])
    assert model.oob_score_ == pytest.approx(score)


@pytest.mark.parametrize("name", ["oob_score", "early_stopping"])
def test_there_is_no_bag_without_a_bootstrap(name: str) -> None:
    with pytest.raises(ValueError, match=rf"{name}=True .* only available if bootstrap=True"):
        hb.ExtraTreesClassifier(**{name: True}).fit(X, LABEL)


# --- importances by permutation ------------------------------------------------------------------


@pytest.mark.mission("E4")
@pytest.mark.parametrize("forest", FORESTS)
def test_importances_by_permutation(forest: Any) -> None:
    """What matters falls far, and what does not stays within the error of 0."""
    noise = np.column_stack([X, rng.normal(size=N)])
    model = grown(forest, noise, n_estimators=60)
    mean, error = model.importances("permutation", noise, target(forest), return_error=True)
    assert mean[0] > mean[1] > 3 * error[1] and mean[0] > 10 * error[0]
    for unrelated in (2, 3, 4):
        assert abs(mean[unrelated]) < max(3 * error[unrelated], 0.02)
    again = model.set_params(n_jobs=2).importances("permutation", noise, target(forest))
    np.testing.assert_array_equal(again, mean)


@pytest.mark.parametrize("forest", FORESTS)
def test_permutation_of_one_tree(forest: Any) -> None:
    """Averaged over all orders of few rows out of the bag, as computed by hand."""
    model = grown(forest, X, n_estimators=1, max_depth=2, oob_score=False)
    outside = np.flatnonzero(Bags(model.seed_, N, N).counts(0) == 0)
    tree, y = model.estimators_[0], target(forest)[outside]
    score = accuracy_score if forest in CLASSIFIERS else r2_score
    before = score(y, tree.predict(X[outside]))
    falls = []
    for seed in range(40):
        shuffled = X[outside].copy()
        order = np.random.default_rng(seed).permutation(len(outside))
        shuffled[:, 0] = shuffled[order, 0]
        falls.append(before - score(y, tree.predict(shuffled)))
    found = model.importances("permutation", X, target(forest))
    assert abs(found[0] - np.mean(falls)) < 4 * np.std(falls)
    never = np.setdiff1d(np.arange(4), tree.tree_.feature)
    assert len(never) and np.all(found[never] == 0.0)


def test_permutation_after_loading(tmp_path: Any) -> None:
    weight = rng.integers(0, 3, N)
    model = hb.RandomForestClassifier(n_estimators=10, random_state=0).fit(FRAME, LABEL, weight)
    model.save(tmp_path / "model")
    expected = model.importances("permutation", FRAME, LABEL, weight)
    found = hb.load(tmp_path / "model").importances("permutation", FRAME, LABEL, weight)
    np.testing.assert_array_equal(found, expected)


def test_what_permutation_needs() -> None:
    model = grown(hb.RandomForestClassifier, X)
    with pytest.raises(ValueError, match="pass the X and y of fit"):
        model.importances("permutation")
    with pytest.raises(ValueError, match="needs the 300 training rows, but X has 299"):
        model.importances("permutation", X[1:], LABEL[1:])
    with pytest.raises(ValueError, match="needs the y of fit with the classes"):
        model.importances("permutation", X, np.where(LABEL == "low", "other", LABEL))
    plain = hb.ExtraTreesClassifier(n_estimators=2).fit(X, LABEL)
    with pytest.raises(ValueError, match="needs rows out of the bag"):
        plain.importances("permutation", X, LABEL)


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
@pytest.mark.parametrize("forest", [hb.RandomForestRegressor, hb.ExtraTreesRegressor])
def test_targets_near_the_largest_number(forest: Any, criterion: str, n_outputs: int) -> None:
    """The sum of what the trees predict is beyond all numbers, their mean is not."""
    random = np.random.default_rng(3)
    rows = random.normal(size=(90, 3))
    y = random.uniform(0.4, 0.9, (90, n_outputs)) * np.sign(rows[:, :n_outputs])
    y = y[:, 0] if n_outputs == 1 else y
    model = forest(
        n_estimators=12, criterion=criterion, bootstrap=True, oob_score=True, random_state=0
    )
    plain = model.fit(rows, y)
    expected = plain.predict(rows), plain.oob_prediction_
    scores = plain.oob_score_, plain.importances(), plain.importances("permutation", rows, y)
    large = model.fit(rows, np.ldexp(y, 1024))
    for found, wanted in zip((large.predict(rows), large.oob_prediction_), expected, strict=True):
        np.testing.assert_allclose(np.ldexp(found, -1024), wanted, rtol=1e-12, equal_nan=True)
    own = large.importances(), large.importances("permutation", rows, np.ldexp(y, 1024))
    for found, wanted in zip((large.oob_score_, *own), scores, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_early_stopping_and_warm_start_of_large_targets() -> None:
    random = np.random.default_rng(4)
    rows, sizes = random.normal(size=(90, 3)), np.where(np.arange(90) % 30 == 0, 0, -40)
    y = np.ldexp(random.uniform(0.5, 1.0, 90), 1024 + sizes)  # few of them are so large
    params = {"random_state": 0, "early_stopping": True, "n_iter_no_change": 2}
    forest = hb.RandomForestRegressor(n_estimators=40, **params).fit(rows, y)
    assert np.isfinite(forest.oob_prediction_[~np.isnan(forest.oob_prediction_)]).all()
    assert np.isfinite(forest.predict(rows)).all()
    half = hb.RandomForestRegressor(n_estimators=20, random_state=0, warm_start=True).fit(rows, y)
    whole = hb.RandomForestRegressor(n_estimators=40, random_state=0).fit(rows, y)
    again = half.set_params(n_estimators=40).fit(rows, y)
    np.testing.assert_array_equal(again.predict(rows), whole.predict(rows))

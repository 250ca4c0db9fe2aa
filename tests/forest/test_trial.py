"""What a trial finds out: it says what a large forest would show."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hornbeam as hb
from hornbeam.data.folds import NO_KIN
from hornbeam.forest import trial
from hornbeam.forest.bags import Bags
from hornbeam.forest.growing import Plantation
from hornbeam.forest.trial import Trial, find_rules, stops
from hornbeam.tree.task import Task

rng = np.random.default_rng(3)
N = 1200
X = rng.normal(size=(N, 5)).round(1)
FRAME = pd.DataFrame(X, columns=list("abcde")).assign(kind=rng.choice(list("uvw"), N))
NOISY = X[:, 0] + rng.normal(0, 2, N)
CLEAN = X[:, 0] + (FRAME["kind"] == "u")
GUESS = rng.choice(["low", "mid", "top"], N)
LABEL = np.where(rng.random(N) < 0.4, GUESS, np.where(X[:, 0] > 0, "top", "low"))
CLASSIFIERS = [hb.RandomForestClassifier, hb.ExtraTreesClassifier]
FORESTS = [*CLASSIFIERS, hb.RandomForestRegressor, hb.ExtraTreesRegressor]


def noisy(forest: Any) -> Any:
    return LABEL if forest in CLASSIFIERS else NOISY


def task_of(forest: Any, y: Any, weight: Any = None) -> Task:
    """What a forest is grown from."""
    model = forest(random_state=0)
    reader = model._reader()
    table, fitted = reader.read(FRAME, weight)
    return model._refine(reader.task(table, y, fitted), reader, table.schema, 0, NO_KIN)


def trial_of(task: Task, rows: int = N // 2, n_draws: int = N // 2) -> Trial:
    learnt, asked = task.chosen(np.arange(rows)), task.chosen(np.arange(rows, N))
    return Trial(learnt, asked, Bags.of(5, learnt.target.weight, n_draws), False, 1)


@pytest.mark.quick
@pytest.mark.mission("E4", "E5")
@pytest.mark.parametrize("forest", FORESTS)
@pytest.mark.parametrize("size", [2, 10, 50])
def test_stopping_a_tree_is_growing_it_less(forest: Any, size: int) -> None:
    """Draws belong to nodes, so a tree that needs more rows to split is the top of the other."""
    task = task_of(forest, noisy(forest))
    learnt, asked = task.chosen(np.arange(N // 2)), task.chosen(np.arange(N // 2, N))
    found = trial_of(task)
    short = replace(learnt, rules=replace(learnt.rules, min_samples_split=size))
    bags = Bags.of(5, learnt.target.weight, N // 2)
    store, _ = Plantation(short, bags, False, 0.0, 1).grow(0, trial.TREES, lambda n: None)
    leaves = store.leaves(asked.matrix)
    assert leaves is not None
    ends = stops(found.nodes, size)[found.leaves]
    for number in range(trial.TREES):
        expected = store.leaf_values(number, leaves[:, number])
        np.testing.assert_allclose(found.nodes.value[ends[number]], expected, atol=1e-12)


@pytest.mark.parametrize("forest", FORESTS)
@pytest.mark.parametrize("size", [2, 20])
def test_errors_are_those_of_pairs_of_trees(forest: Any, size: int) -> None:
    weight = rng.integers(1, 4, N).astype(float)
    found = trial_of(task_of(forest, noisy(forest), weight))
    ends = stops(found.nodes, size)[found.leaves]
    errors = found.nodes.value[ends] - found.truth  # (trees, rows, values)
    for limit in (None, np.full(errors.shape[2], 0.3)):
        if limit is not None:
            errors = np.clip(errors, -limit, limit)
        pairs = [(a * b).sum(axis=1) for a, b in itertools.permutations(errors, 2)]
        expected = weight[N // 2 :] * np.mean(pairs, axis=0)
        np.testing.assert_allclose(found.errors(size, limit), expected, rtol=1e-9, atol=1e-12)


def test_pairs_tell_the_error_of_a_large_forest() -> None:
    """Six trees do not have it, but their pairs do, and 500 trees show it."""
    task = task_of(hb.ExtraTreesRegressor, NOISY)
    found = trial_of(task, n_draws=0)
    few = np.mean((found.nodes.value[found.leaves][..., 0].mean(axis=0) - NOISY[N // 2 :]) ** 2)
    params = {"n_estimators": 500, "random_state": 1, "min_samples_split": 2}
    large = hb.ExtraTreesRegressor(**params).fit(FRAME[: N // 2], NOISY[: N // 2])
    expected = np.mean((large.predict(FRAME[N // 2 :]) - NOISY[N // 2 :]) ** 2)
    assert abs(found.errors(2).mean() / expected - 1) < 0.03 < few / expected - 1


@pytest.mark.quick
@pytest.mark.parametrize("forest", FORESTS)
def test_noise_makes_larger_nodes(forest: Any) -> None:
    model = forest(n_estimators=5, random_state=0).fit(FRAME, noisy(forest))
    assert model.min_samples_split_ in trial.SIZES
    for tree in model.estimators_:
        inner = tree.tree_.first_child > 0
        assert tree.tree_.n_samples[inner].min() >= model.min_samples_split_
        assert tree.min_samples_split == model.min_samples_split_
    clean = forest(n_estimators=5, random_state=0).fit(FRAME, np.round(CLEAN))
    assert clean.min_samples_split_ == 2


@pytest.mark.parametrize("forest", FORESTS)
def test_the_choice_is_part_of_the_model(forest: Any, tmp_path: Any) -> None:
    """Whatever the number of threads, in one go or in two, saved, pickled or told."""
    params = {"n_estimators": 12, "random_state": 0}
    y = noisy(forest)
    model = forest(**params, n_jobs=1).fit(FRAME, y)
    size, digest = model.min_samples_split_, model.digest()
    assert forest(**params, n_jobs=2).fit(FRAME, y).digest() == digest
    assert forest(**params, min_samples_split=size).fit(FRAME, y).digest() == digest
    model.save(tmp_path / "model")
    again = [hb.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))]
    assert [m.min_samples_split_ for m in again] == [size, size]
    first = forest(**{**params, "n_estimators": 5}, warm_start=True).fit(FRAME, y)
    assert first.set_params(n_estimators=12).fit(FRAME, y).digest() == digest
    assert first.min_samples_split_ == size


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e30, 1e200])
def test_units_do_not_matter(scale: float) -> None:
    sizes = {
        hb.RandomForestRegressor(n_estimators=1, random_state=0)
        .fit(FRAME, factor * NOISY)
        .min_samples_split_
        for factor in (1.0, scale)
    }
    assert len(sizes) == 1


def test_several_outputs_and_weights() -> None:
    both = np.column_stack([NOISY, -NOISY])
    for forest, y in (
        (hb.RandomForestRegressor, both),
        (hb.ExtraTreesClassifier, np.column_stack([LABEL, GUESS])),
    ):
        weight = np.where(np.arange(N) < N - 50, 1.0, 0.0)
        kept = forest(n_estimators=1, random_state=0).fit(FRAME[: N - 50], y[: N - 50])
        model = forest(n_estimators=1, random_state=0).fit(FRAME, y, weight)
        assert model.min_samples_split_ == kept.min_samples_split_ > 2


@pytest.mark.parametrize(
    ("make", "y"),
    [
        (lambda: hb.RandomForestRegressor(criterion="absolute_error"), NOISY),
        (lambda: hb.RandomForestRegressor(min_samples_split=2), NOISY),
        (lambda: hb.ExtraTreesClassifier(), np.zeros(N)),
        (lambda: hb.ExtraTreesRegressor(), np.zeros(N)),
    ],
)
def test_where_there_is_nothing_to_find(make: Callable[[], Any], y: Any) -> None:
    assert make().set_params(n_estimators=1).fit(FRAME, y).min_samples_split_ == 2


def test_few_rows_do_not_tell() -> None:
    model = hb.RandomForestRegressor(n_estimators=1).fit(FRAME[:98], NOISY[:98])
    assert model.min_samples_split_ == 2


def test_what_is_given_is_the_least() -> None:
    task = task_of(hb.RandomForestRegressor, NOISY)
    task = replace(task, rules=replace(task.rules, min_samples_split=1000))
    found = find_rules(task, Bags.of(0, task.target.weight, N), False, 1, ["min_samples_split"])
    assert found == task.rules


@pytest.mark.parametrize("forest", FORESTS)
def test_a_slight_gain_makes_slightly_larger_nodes_where_there_are_no_bags(
    forest: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node of five rows is no bold guess, but trees of bags have learnt less by heart."""
    task = task_of(forest, noisy(forest))
    monkeypatch.setattr(trial, "SURE", 1e9)
    for n_draws, expected in ((0, trial.SLIGHT), (N, 2)):
        bags = Bags.of(0, task.target.weight, n_draws)
        found = find_rules(task, bags, False, 1, ["min_samples_split"])
        assert found.min_samples_split == expected
    clean = task_of(forest, np.round(CLEAN))
    bags = Bags.of(0, clean.target.weight, 0)
    assert find_rules(clean, bags, False, 1, ["min_samples_split"]).min_samples_split == 2


def test_the_embedding_splits_pairs() -> None:
    assert hb.RandomTreesEmbedding(n_estimators=2).fit(X).min_samples_split_ == 2
    with pytest.raises(ValueError, match="min_samples_split"):
        hb.RandomTreesEmbedding(min_samples_split="auto").fit(X)


def test_a_wrong_word_is_named() -> None:
    with pytest.raises(ValueError, match=r"min_samples_split.*'auto'.*'car'"):
        hb.RandomForestClassifier(min_samples_split="car").fit(X, LABEL)


@pytest.mark.parametrize("forest", CLASSIFIERS)
def test_balanced_classes(forest: Any) -> None:
    rare = (X[:, 0] + rng.normal(0, 2, N) > 2).astype(int)
    model = forest(n_estimators=3, random_state=0, class_weight="balanced_subsample")
    assert model.fit(FRAME, rare).min_samples_split_ > 2


# --- how many features a node draws ---------------------------------------------------------

TOGETHER = rng.uniform(size=(4000, 8))
# two of eight columns tell all, but neither without the other
LATE = np.round(50 * (TOGETHER[:, 0] - TOGETHER[:, 1]))


ADDITIVE = TOGETHER @ np.arange(8) + rng.normal(size=4000)
DRAWN = {hb.RandomForestRegressor: 5, hb.ExtraTreesRegressor: 7}


@pytest.mark.quick
@pytest.mark.mission("E4", "E5")
@pytest.mark.parametrize("forest", DRAWN)
def test_all_features_are_searched_where_few_are_needed_together(forest: Any) -> None:
    model = forest(n_estimators=5, random_state=0).fit(TOGETHER, LATE)
    assert model.max_features_ == 8
    assert {tree.max_features_ for tree in model.estimators_} == {8}
    told = forest(n_estimators=5, random_state=0, max_features=1.0).fit(TOGETHER, LATE)
    assert told.digest() == model.digest()
    for seed in range(5):  # of columns that add up some will do, and by chance fewer seem better
        model = forest(n_estimators=1, random_state=seed).fit(TOGETHER, ADDITIVE)
        assert model.max_features_ in (5, DRAWN[forest])


def test_few_features_are_drawn_where_that_is_certainly_better() -> None:
    """Columns that say the same of something hidden: trees of all of them are too much alike."""
    random = np.random.default_rng(0)
    hidden = random.normal(size=4000)
    hints = hidden[:, None] + random.normal(0, 0.5, (4000, 4))
    y = hidden + random.normal(0, 0.1, 4000)
    train, test = (hints[:3000], y[:3000]), (hints[3000:], y[3000:])
    params = {"n_estimators": 30, "min_samples_split": 2, "random_state": 0}
    model = hb.ExtraTreesRegressor(**params).fit(*train)
    assert model.max_features_ == 2
    told = hb.ExtraTreesRegressor(**params, max_features=2).fit(*train)
    assert told.digest() == model.digest()
    for more in (3, 4):
        other = hb.ExtraTreesRegressor(**params, max_features=more).fit(*train)
        assert model.score(*test) > other.score(*test)


@pytest.mark.parametrize("forest", DRAWN)
def test_one_row_does_not_decide_about_features(forest: Any) -> None:
    for row in range(5):
        far = ADDITIVE.copy()
        far[row] = 1e6
        model = forest(n_estimators=1, random_state=row).fit(TOGETHER, far)
        assert model.max_features_ == DRAWN[forest]


@pytest.mark.parametrize("forest", DRAWN)
def test_the_drawn_features_are_part_of_the_model(forest: Any, tmp_path: Any) -> None:
    params = {"n_estimators": 6, "random_state": 0}
    model = forest(**params, n_jobs=1).fit(TOGETHER, LATE)
    digest = model.digest()
    assert forest(**params, n_jobs=2).fit(TOGETHER, LATE).digest() == digest
    first = forest(n_estimators=2, random_state=0, warm_start=True).fit(TOGETHER, LATE)
    assert first.set_params(n_estimators=6).fit(TOGETHER, LATE).digest() == digest
    assert first.max_features_ == 8
    model.save(tmp_path / "model")
    for again in (hb.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert again.max_features_ == again.estimators_[0].max_features_ == 8


@pytest.mark.parametrize("forest", DRAWN)
def test_the_split_size_is_that_of_the_features_found(forest: Any) -> None:
    """Trees that are compared draw other features than the forest may."""
    for y in (LATE, ADDITIVE, ADDITIVE + rng.normal(0, 20, 4000)):
        model = forest(n_estimators=1, random_state=0).fit(TOGETHER, y)
        told = forest(n_estimators=1, random_state=0, max_features=model.max_features_)
        assert told.fit(TOGETHER, y).min_samples_split_ == model.min_samples_split_


def test_features_that_are_told_or_cannot_be_tried() -> None:
    both = np.column_stack([LATE, -LATE])
    assert hb.RandomForestRegressor(n_estimators=1).fit(TOGETHER, both).max_features_ == 8
    settings: list[tuple[dict[str, Any], int]] = [
        ({"criterion": "absolute_error", "max_depth": 2}, 5),
        ({"max_features": "sqrt"}, 2),
        ({"max_features": None}, 8),
        ({"max_features": 3}, 3),
    ]
    for params, expected in settings:
        model = hb.RandomForestRegressor(n_estimators=1, **params).fit(TOGETHER[:400], LATE[:400])
        assert model.max_features_ == expected
    with pytest.raises(ValueError, match="max_features"):
        hb.RandomForestClassifier(max_features="auto").fit(FRAME, LABEL)


# --- how categories are parted ----------------------------------------------------------------

AIRLINE = pd.Categorical.from_codes(rng.integers(0, 6, 4000), list("uvwxyz"))
WHEN = pd.DataFrame(TOGETHER[:, :4], columns=list("abcd")).assign(airline=AIRLINE)


@pytest.mark.mission("E4", "E5")
@pytest.mark.parametrize("forest", DRAWN)
@pytest.mark.parametrize("rule", ["cautious", "random"])
def test_the_way_to_part_categories_is_part_of_the_model(
    forest: Any, rule: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    asked = []
    choose = trial._category_split

    def prefer(trials: Any, rules: Any) -> str:
        """Let one of the two be much worse."""
        asked.append(choose(trials, rules))
        worse = "random" if rule == "cautious" else "cautious"
        found = {split: trials(rules.max_features, split) for split in ("cautious", "random")}
        for half in found[worse]:
            monkeypatch.setattr(half, "truth", half.truth + 1e3)
        return choose(trials, rules)

    monkeypatch.setattr(trial, "_category_split", prefer)
    params = {"n_estimators": 4, "min_samples_split": 2, "random_state": 0}
    model = forest(**params).fit(WHEN, LATE)
    assert model.category_split_ == rule and model.max_features_ == 5 and len(asked) == 1
    told = forest(**params, max_features=1.0, category_split=rule).fit(WHEN, LATE)
    assert told.digest() == model.digest()
    first = forest(**{**params, "n_estimators": 2}, warm_start=True).fit(WHEN, LATE)
    assert first.set_params(n_estimators=4).fit(WHEN, LATE).digest() == model.digest()
    model.save(tmp_path / "model")
    for again in (hb.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert again.category_split_ == rule


@pytest.mark.parametrize("forest", FORESTS)
def test_otherwise_categories_are_parted_with_caution(forest: Any) -> None:
    assert (
        forest(n_estimators=2, random_state=0).fit(FRAME, noisy(forest)).category_split_
        == "cautious"
    )
    for rule in ("cautious", "random", "subset", "one_vs_rest"):
        model = forest(n_estimators=2, category_split=rule).fit(FRAME, noisy(forest))
        assert model.category_split_ == rule

"""Sample weights and class weights."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from tree.test_oracle import random_table

import hornbeam as hb

CRITERIA = {
    "gini": hb.DecisionTreeClassifier,
    "entropy": hb.DecisionTreeClassifier,
    "misclassification": hb.DecisionTreeClassifier,
    "squared_error": hb.DecisionTreeRegressor,
    "absolute_error": hb.DecisionTreeRegressor,
    "friedman_mse": hb.DecisionTreeRegressor,
    "poisson": hb.DecisionTreeRegressor,
}
FINDERS = ["exact", "histogram"]
# Arrays of a tree that say neither how many rows there are nor what they weigh. The way of a
# value that no training row of a node has is left out, too: it goes with more rows, not weight.
SHAPE = ("first_child", "feature", "kind", "threshold", "value")


def table(seed=0, n=60):
    """Whole numbers as targets, so that sums do not depend on their order."""
    rng = np.random.default_rng(seed)
    X = random_table(rng, n, n_categories=4, missing=True)
    return X, 1 + rng.integers(0, 3, n), rng


def assert_same_shape(one, other, X):
    for name in SHAPE:
        ours, theirs = getattr(one.tree_, name), getattr(other.tree_, name)
        np.testing.assert_array_equal(ours, theirs, err_msg=name)
    np.testing.assert_array_equal(one.apply(X), other.apply(X))
    rel = 1e-12 if one.criterion == "poisson" else 0.0  # sums of logarithms are not whole
    assert one.tree_.impurity == pytest.approx(other.tree_.impurity, rel=rel, abs=rel)


@pytest.mark.mission("T13")
@pytest.mark.quick
@pytest.mark.parametrize("finder", FINDERS)
@pytest.mark.parametrize("criterion", CRITERIA)
def test_weight_two_is_the_row_twice(criterion, finder):
    for seed in range(3):
        X, y, rng = table(seed)
        times = rng.integers(1, 4, len(y))
        again = np.repeat(np.arange(len(y)), times)
        make = CRITERIA[criterion]
        weighted = make(criterion=criterion, finder=finder).fit(X, y, sample_weight=times)
        repeated = make(criterion=criterion, finder=finder).fit(X.iloc[again], y[again])
        assert_same_shape(weighted, repeated, X)
        np.testing.assert_array_equal(weighted.tree_.weight, repeated.tree_.weight)


@pytest.mark.mission("T13")
@pytest.mark.quick
@pytest.mark.parametrize("criterion", CRITERIA)
def test_weight_zero_is_no_row(criterion):
    for seed in range(3):
        X, y, rng = table(seed)
        keep = rng.random(len(y)) < 0.7
        make = CRITERIA[criterion]
        weighted = make(criterion=criterion).fit(X, y, sample_weight=keep.astype(float))
        dropped = make(criterion=criterion).fit(X.iloc[keep], y[keep])
        assert_same_kept_rows(weighted, dropped, X.iloc[keep])


def assert_same_kept_rows(one, other, X):
    """All but classes and categories that only left-out rows have: those are still known."""
    for name in ("first_child", "feature", "kind", "threshold", "n_samples", "weight", "impurity"):
        np.testing.assert_array_equal(getattr(one.tree_, name), getattr(other.tree_, name))
    np.testing.assert_array_equal(one.apply(X), other.apply(X))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


@pytest.mark.mission("T13")
@pytest.mark.quick
def test_rows_of_weight_zero_do_not_count_for_the_limits():
    X = np.arange(20.0)[:, None]
    y = np.repeat([0.0, 1.0], 10)
    weight = np.ones(20)
    weight[:8] = 0.0  # two rows of the first half are left
    tree = hb.DecisionTreeRegressor(min_samples_leaf=3).fit(X, y, sample_weight=weight)
    assert tree.tree_.n_samples[0] == 12
    assert tree.tree_.n_samples.min() >= 3


@pytest.mark.mission("T13")
@pytest.mark.quick
@pytest.mark.parametrize("factor", [2.0, 0.25, 2.0**400, 2.0**-400])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_common_factor_changes_nothing(criterion, factor):
    X, y, rng = table()
    weight = rng.uniform(0.1, 2.0, len(y))
    make = CRITERIA[criterion]
    plain = make(criterion=criterion).fit(X, y, sample_weight=weight)
    scaled = make(criterion=criterion).fit(X, y, sample_weight=factor * weight)
    assert_same_shape(plain, scaled, X)
    np.testing.assert_array_equal(plain.tree_.set_words, scaled.tree_.set_words)


@pytest.mark.mission("T13")
@pytest.mark.quick
@pytest.mark.parametrize("class_weight", ["balanced", {1: 1.0, 2: 4.0, 3: 0.5}, {2: 3.0}])
def test_class_weight_is_a_sample_weight(class_weight):
    X, y, rng = table(n=90)
    weight = rng.uniform(0.5, 2.0, len(y))
    counts = {k: (y == k).sum() for k in (1, 2, 3)}
    if class_weight == "balanced":
        factor = {k: len(y) / (3 * count) for k, count in counts.items()}
    else:
        factor = {1: 1.0, 2: 1.0, 3: 1.0, **class_weight}
    by_class = hb.DecisionTreeClassifier(class_weight=class_weight).fit(X, y, weight)
    by_row = hb.DecisionTreeClassifier().fit(X, y, weight * [factor[k] for k in y])
    assert by_class.digest() == by_row.digest()


@pytest.mark.mission("T13")
@pytest.mark.quick
def test_weights_decide_the_leaf():
    X, y = [[0.0], [0.0]], [0, 1]
    tree = hb.DecisionTreeClassifier().fit(X, y, sample_weight=[1.0, 3.0])
    assert tree.predict_proba([[0.0]]).tolist() == [[0.25, 0.75]]
    values = hb.DecisionTreeRegressor().fit(X, [0.0, 4.0], sample_weight=[1.0, 3.0])
    assert values.predict([[0.0]]).tolist() == [3.0]
    median = hb.DecisionTreeRegressor(criterion="absolute_error")
    assert median.fit(X, [0.0, 4.0], sample_weight=[1.0, 3.0]).predict([[0.0]]).tolist() == [4.0]


# --- classes without weight ---------------------------------------------------------------------

WEIGHTLESS = [
    hb.DecisionTreeClassifier(),
    hb.RandomForestClassifier(n_estimators=3, random_state=0),
    hb.ExtraTreesClassifier(n_estimators=3, random_state=0),
    hb.BaggingClassifier(n_estimators=3, random_state=0),
    hb.GradientBoostingClassifier(n_estimators=3),
    hb.ID3Classifier(numeric="categories"),
    hb.C45Classifier(),
]


@pytest.mark.parametrize("model", WEIGHTLESS, ids=lambda m: type(m).__name__)
def test_a_class_without_weight_is_named_once_and_hardly_predicted(model):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, size=(90, 3)).astype(float), np.repeat(["a", "b", "c"], 30)
    with pytest.warns(UserWarning, match="^Class 'b' of y has no weight: ") as said:
        model.fit(X, y, np.where(y == "b", 0.0, 1.0))
    assert len(said) == 1 and said[0].filename == __file__
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.predict_proba(X)[:, 1].max() < 1e-9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y, np.where(np.arange(90) % 2, 0.0, 1.0))


@pytest.mark.parametrize(
    "model",
    [m for m in WEIGHTLESS if "class_weight" in m.get_params()],
    ids=lambda m: type(m).__name__,
)
def test_class_weights_of_zero_are_named_too(model):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, size=(90, 3)).astype(float), np.repeat(["a", "b", "c"], 30)
    model = clone(model).set_params(class_weight={"b": 0.0, "c": 0.0})
    with pytest.warns(UserWarning, match="^Classes 'b', 'c' of y have no weight: "):
        model.fit(X, y)


def test_reduced_error_pruning_grows_on_every_class():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(61, 2))
    y = np.append(np.arange(60) % 2, 2)
    X[60] = 9.0
    for seed in range(20):
        tree = hb.DecisionTreeClassifier(
            pruning="reduced_error", validation_fraction=0.6, random_state=seed
        ).fit(X, y)
        assert tree._hold_out(y, None).held.sum() > 30
        assert not tree._hold_out(y, None).held[60]

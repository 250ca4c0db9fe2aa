"""Random forests and extra trees: the same for any way to them, and equal to naive ones."""

from __future__ import annotations

import copy
import itertools
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.utils.class_weight import compute_sample_weight

import hornbeam as hb
from hornbeam.forest.bags import Bags

rng = np.random.default_rng(0)
N = 400
X = rng.normal(size=(N, 5)).round(1)
LEVEL = X[:, 0] * 2 + X[:, 1] ** 2 + rng.normal(0, 0.3, N)
LABEL = np.digitize(LEVEL, [0.0, 1.5])
HOLES = np.where(rng.random((N, 5)) < 0.15, np.nan, X)
FRAME = pd.DataFrame(HOLES, columns=list("abcde")).assign(
    kind=np.where(LEVEL > 1, rng.choice(list("uv"), N), rng.choice(list("vwx"), N))
)
CLASSIFIERS = [hb.RandomForestClassifier, hb.ExtraTreesClassifier]
REGRESSORS = [hb.RandomForestRegressor, hb.ExtraTreesRegressor]
FORESTS = [*CLASSIFIERS, *REGRESSORS]


def target(forest: Any) -> np.ndarray:
    return LABEL if forest in CLASSIFIERS else LEVEL


def grown(forest: Any, table: Any = X, **params: Any) -> Any:
    few = {"n_estimators": 8, "random_state": 0, **params}
    return forest(**few).fit(table, target(forest))


# --- one forest, many ways to it ------------------------------------------------------------

WAYS: list[dict[str, Any]] = [
    {},
    {"bootstrap": True, "max_samples": 0.5, "min_samples_leaf": 3},
    {"bootstrap": False, "max_features": 2, "finder": "exact"},
    {"max_leaf_nodes": 15, "ccp_alpha": 0.001},
]


@pytest.mark.parametrize("forest", FORESTS)
@pytest.mark.parametrize("params", WAYS, ids=repr)
def test_the_number_of_threads_does_not_matter(forest: Any, params: dict[str, Any]) -> None:
    alone = grown(forest, FRAME, n_jobs=1, **params)
    for n_jobs in (None, 2, 4, -1):
        model = grown(forest, FRAME, n_jobs=n_jobs, **params)
        assert model.digest() == alone.digest(), n_jobs
        assert model.predict(FRAME).tobytes() == alone.predict(FRAME).tobytes()


@pytest.mark.quick
@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("forest", FORESTS)
@pytest.mark.parametrize("params", WAYS, ids=repr)
def test_a_warm_start_is_the_same_as_all_trees_at_once(forest: Any, params: dict[str, Any]) -> None:
    bagged = params.get("bootstrap", "RandomForest" in forest.__name__)
    at_once = grown(forest, n_estimators=20, oob_score=bagged, **params)
    warm = grown(forest, n_estimators=5, oob_score=bagged, warm_start=True, **params)
    for n_estimators in (12, 20):
        warm.set_params(n_estimators=n_estimators).fit(X, target(forest))
    assert warm.digest() == at_once.digest()
    assert np.array_equal(warm.tree_gains_, at_once.tree_gains_)
    if bagged:
        assert warm.oob_score_ == at_once.oob_score_


def test_a_warm_start_of_another_table_is_refused() -> None:
    warm = grown(hb.RandomForestClassifier, n_estimators=3, warm_start=True)
    digest = warm.digest()
    warm.set_params(n_estimators=5)
    for table, y, words in (
        (X[:, :3], LABEL, "n_features_in_ is 5, but this table gives 3"),
        (X[:200], LABEL[:200], "n_rows_in_ is 400, but this table gives 200"),
        (X, LABEL + 1, "the classes"),
        (pd.DataFrame(X, columns=list("abcde")), LABEL, "other columns"),
    ):
        with pytest.raises(ValueError, match=words):
            warm.fit(table, y)
    with pytest.raises(ValueError, match="n_estimators=2 must be larger or equal"):
        warm.set_params(n_estimators=2).fit(X, LABEL)
    with pytest.warns(UserWarning, match="does not fit new trees"):
        warm.set_params(n_estimators=3).fit(X, LABEL)
    assert warm.digest() == digest


def test_a_warm_start_forgets_what_no_longer_fits() -> None:
    forest = hb.RandomForestRegressor(
        n_estimators=5, warm_start=True, oob_score=True, leaf_samples=True, random_state=0
    )
    with pytest.warns(UserWarning, match="OOB"):
        forest.fit(X, LEVEL)
    forest.set_params(n_estimators=9, oob_score=False, leaf_samples=False).fit(X, LEVEL)
    assert not hasattr(forest, "oob_score_") and not hasattr(forest, "leaf_samples_")


@pytest.mark.quick
@pytest.mark.parametrize("forest", FORESTS)
def test_the_kind_of_table_does_not_matter(forest: Any) -> None:
    expected = grown(forest, HOLES)
    frame = pd.DataFrame(HOLES, columns=list("abcde"))
    tables = [
        np.asfortranarray(HOLES),
        HOLES.tolist(),
        frame,
        pl.from_pandas(frame),
        scipy.sparse.csr_array(HOLES),
        scipy.sparse.csc_matrix(HOLES),
    ]
    for table in tables:
        model = grown(forest, table)
        assert model.digest() == expected.digest(), type(table)
        assert model.predict(table).tobytes() == expected.predict(HOLES).tobytes()
        assert np.array_equal(model.apply(table), expected.apply(HOLES))


@pytest.mark.parametrize("forest", FORESTS)
def test_copies_are_the_same(forest: Any) -> None:
    model = grown(forest, FRAME)
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert again.digest() == model.digest()
        assert np.array_equal(again.predict(FRAME), model.predict(FRAME))
    assert clone(model).fit(FRAME, target(forest)).digest() == model.digest()
    other = clone(model).set_params(random_state=1).fit(FRAME, target(forest))
    assert other.digest() != model.digest()


# --- the trees and the forest ----------------------------------------------------------------


@pytest.mark.mission("E4", "E5")
@pytest.mark.parametrize("forest", FORESTS)
def test_the_forest_is_the_sum_of_its_trees(forest: Any) -> None:
    model = grown(forest, FRAME)
    trees = list(model.estimators_)
    assert len(trees) == len(model.estimators_) == 8
    leaves = model.apply(FRAME)
    assert leaves.shape == (N, 8) and leaves.dtype == np.int64
    for number, tree in enumerate(trees):
        assert np.array_equal(tree.apply(FRAME), leaves[:, number])
    if forest in REGRESSORS:
        sums = sum(tree.predict(FRAME) for tree in trees)
        assert np.array_equal(model.predict(FRAME), sums / 8)
        return
    shares = sum(tree.predict_proba(FRAME) for tree in trees) / 8
    assert np.array_equal(model.predict_proba(FRAME), shares)
    assert np.array_equal(model.predict(FRAME), model.classes_[shares.argmax(axis=1)])
    with np.errstate(divide="ignore"):
        assert np.array_equal(model.predict_log_proba(FRAME), np.log(shares))


@pytest.mark.mission("E4")
@pytest.mark.parametrize("forest", CLASSIFIERS)
def test_hard_votes(forest: Any) -> None:
    model = grown(forest, FRAME, voting="hard", max_depth=3, n_estimators=15)
    votes = np.zeros((N, 3))
    for tree in model.estimators_:
        votes[np.arange(N), np.searchsorted(model.classes_, tree.predict(FRAME))] += 1
    assert np.array_equal(model.predict_proba(FRAME), votes / 15)
    assert np.array_equal(model.predict(FRAME), model.classes_[votes.argmax(axis=1)])
    soft = grown(forest, FRAME, max_depth=3, n_estimators=15)
    assert soft.digest() == model.digest()
    assert not np.array_equal(soft.predict_proba(FRAME), model.predict_proba(FRAME))


@pytest.fixture
def first_of_ties(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of equally good splits the first one is taken, as in single trees."""
    monkeypatch.setattr("hornbeam.forest.base.RANDOM_TIES", False)


PLAIN: dict[str, Any] = {
    "n_estimators": 1,
    "bootstrap": False,
    "max_features": None,
    "min_samples_split": 2,
    "category_split": "subset",
}


@pytest.mark.quick
@pytest.mark.mission("E4")
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"finder": "exact"},
        {"max_depth": 4, "min_samples_leaf": 5},
        {"max_leaf_nodes": 11},
        {"ccp_alpha": 0.01},
        {"min_weight_fraction_leaf": 0.05, "max_bins": 9},
        {"min_impurity_decrease": 0.005, "growth": "level"},
        {"category_split": "one_vs_rest", "unseen": "other"},
    ],
    ids=repr,
)
@pytest.mark.usefixtures("first_of_ties")
def test_a_forest_of_one_plain_tree_is_a_decision_tree(params: dict[str, Any]) -> None:
    shared = {"finder": "histogram", **params}
    for forest, tree in (
        (hb.RandomForestClassifier, hb.DecisionTreeClassifier),
        (hb.RandomForestRegressor, hb.DecisionTreeRegressor),
    ):
        weight = rng.integers(1, 4, N)
        one = forest(**{**PLAIN, **params}).fit(FRAME, target(forest), weight)
        single = tree(**shared).fit(FRAME, target(forest), weight)
        assert np.array_equal(one.predict(FRAME), single.predict(FRAME))
        ours, theirs = one.estimators_[0].tree_, single.tree_
        for name in ("first_child", "feature", "threshold", "missing_branch", "set_words"):
            assert np.array_equal(getattr(ours, name), getattr(theirs, name), equal_nan=True), name
        np.testing.assert_allclose(ours.value, theirs.value, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(one.feature_importances_, single.feature_importances_)
        if forest is hb.RandomForestClassifier:
            assert np.array_equal(one.predict_proba(FRAME), single.predict_proba(FRAME))


@pytest.mark.mission("E4")
@pytest.mark.parametrize("forest", [hb.RandomForestClassifier, hb.RandomForestRegressor])
@pytest.mark.usefixtures("first_of_ties")
def test_each_tree_is_a_decision_tree_on_its_bag(forest: Any) -> None:
    model = grown(forest, max_features=None, n_estimators=4, min_weight_fraction_leaf=0.02)
    assert model.n_draws_ == N
    bags = Bags(model.seed_, N, N)
    for number, ours in enumerate(model.estimators_):
        tree = type(ours)(finder="histogram", min_weight_fraction_leaf=0.02)
        tree.fit(X, target(forest), bags.counts(number))
        assert np.array_equal(tree.predict(X), ours.predict(X))
        assert np.array_equal(tree.tree_.feature, ours.tree_.feature)


@pytest.mark.parametrize("finder", ["exact", "histogram"])
def test_any_feature_parts_two_rows(finder: str) -> None:
    """All of them do it equally well, so that each is taken equally often."""
    table, y = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]), np.array([0.0, 1.0])
    for forest in (hb.RandomForestRegressor, hb.ExtraTreesRegressor):
        model = forest(n_estimators=400, bootstrap=False, finder=finder, random_state=0)
        roots = [tree.tree_.feature[0] for tree in model.fit(table, y).estimators_]
        np.testing.assert_allclose(np.bincount(roots) / 400, [1 / 3, 1 / 3, 1 / 3], atol=0.07)


def test_paths_through_all_trees() -> None:
    model = grown(hb.ExtraTreesClassifier, FRAME)
    indicator, start = model.decision_path(FRAME)
    assert indicator.shape == (N, start[-1]) and len(start) == 9
    leaves = model.apply(FRAME)
    for number, tree in enumerate(model.estimators_):
        own = indicator[:, start[number] : start[number + 1]]
        assert (own != tree.decision_path(FRAME)).nnz == 0
        assert np.all(own[np.arange(N), leaves[:, number]] == 1)


def test_trees_are_a_sequence() -> None:
    model = grown(hb.RandomForestRegressor)
    assert isinstance(model.estimators_[0], hb.DecisionTreeRegressor)
    assert model.estimators_[-1].tree_.digest() == model.estimators_[7].tree_.digest()
    assert [t.tree_.digest() for t in model.estimators_[2:4]] == [
        model.estimators_[i].tree_.digest() for i in (2, 3)
    ]
    with pytest.raises(IndexError):
        model.estimators_[8]
    assert "8 trees of" in repr(model.estimators_)
    assert "feature" in hb.export_text(model.estimators_[0]) or hb.export_text(model.estimators_[0])


# --- weights ---------------------------------------------------------------------------------


@pytest.mark.parametrize("forest", FORESTS)
@pytest.mark.parametrize("finder", ["exact", "histogram"])
def test_weights_are_repetitions_without_a_bootstrap(forest: Any, finder: str) -> None:
    times = rng.integers(0, 4, N)
    # large leaves: where few rows are left, splits are equally good but for rounding
    few = {"min_weight_fraction_leaf": 0.05, "n_estimators": 5}
    params = {"bootstrap": False, "finder": finder, "random_state": 0, **few}
    weighted = forest(**params).fit(HOLES, target(forest), times)
    repeated = forest(**params).fit(np.repeat(HOLES, times, 0), np.repeat(target(forest), times))
    for ours, theirs in zip(weighted.estimators_, repeated.estimators_, strict=True):
        assert np.array_equal(ours.tree_.feature, theirs.tree_.feature)
        assert np.array_equal(ours.tree_.threshold, theirs.tree_.threshold, equal_nan=True)
        np.testing.assert_allclose(ours.tree_.value, theirs.tree_.value, atol=1e-12)


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("forest", FORESTS)
def test_rows_of_weight_0_are_as_good_as_not_there(forest: Any) -> None:
    """Also with a bootstrap, and they are not in the score."""
    there = rng.random(N) < 0.3
    params = {"bootstrap": True, "oob_score": True, "n_estimators": 6, "random_state": 0}
    weighted = forest(**params).fit(FRAME, target(forest), there.astype(float))
    without = forest(**params).fit(FRAME[there], target(forest)[there])
    assert weighted.store_.digest() == without.store_.digest()
    assert weighted.oob_score_ == without.oob_score_


def test_a_single_row_with_weight() -> None:
    weight = np.zeros(N)
    weight[7] = 1.0
    model = hb.RandomForestRegressor(n_estimators=5, random_state=0).fit(X, LEVEL, weight)
    np.testing.assert_allclose(model.predict(X), LEVEL[7])


@pytest.mark.parametrize("forest", CLASSIFIERS)
def test_class_weights_are_sample_weights(forest: Any) -> None:
    chosen = {0: 1.0, 1: 5.0, 2: 0.5}
    for class_weight in (chosen, "balanced"):
        given = compute_sample_weight(class_weight, LABEL)
        ours = grown(forest, class_weight=class_weight)
        theirs = forest(n_estimators=8, random_state=0).fit(X, LABEL, given)
        assert ours.digest() == theirs.digest()


@pytest.mark.usefixtures("first_of_ties")
def test_balanced_subsample() -> None:
    """As scikit-learn weighs the rows of a bag, tree by tree."""
    rare = np.where(rng.random(N) < 0.1, 1, 0)
    params = {"n_estimators": 4, "random_state": 0, "max_features": None, "min_samples_split": 2}
    model = hb.RandomForestClassifier(class_weight="balanced_subsample", **params).fit(X, rare)
    bags = Bags(model.seed_, N, N)
    for number, ours in enumerate(model.estimators_):
        counts = bags.counts(number)
        balance = compute_sample_weight("balanced", rare, indices=np.repeat(np.arange(N), counts))
        tree = hb.DecisionTreeClassifier(finder="histogram").fit(X, rare, counts * balance)
        np.testing.assert_allclose(tree.predict_proba(X), ours.predict_proba(X), atol=1e-12)
        total = ours.tree_.value[0]
        np.testing.assert_allclose(total, [0.5, 0.5])


def test_max_samples_is_how_many_rows_are_drawn() -> None:
    for max_samples, expected in ((50, 50), (0.25, 100), (None, N)):
        model = grown(hb.RandomForestClassifier, max_samples=max_samples)
        weights = [tree.tree_.weight[0] for tree in model.estimators_]
        np.testing.assert_allclose(weights, expected)
        assert model.n_draws_ == expected


# --- several outputs ---------------------------------------------------------------------------


@pytest.mark.parametrize("forest", REGRESSORS)
def test_several_values(forest: Any) -> None:
    y = np.column_stack([LEVEL, -3 * LEVEL, X[:, 2]])
    model = forest(n_estimators=10, random_state=0).fit(FRAME, y)
    found = model.predict(FRAME)
    assert found.shape == (N, 3) and model.n_outputs_ == 3
    np.testing.assert_allclose(found, sum(t.predict(FRAME) for t in model.estimators_) / 10)
    assert model.score(FRAME, y) > 0.8


@pytest.mark.parametrize("forest", CLASSIFIERS)
def test_several_classes(forest: Any) -> None:
    y = np.column_stack([LABEL, np.where(LEVEL > 1, 7, 3)])
    model = forest(n_estimators=10, bootstrap=True, oob_score=True, random_state=0)
    with pytest.warns(UserWarning, match="OOB"):
        model.fit(FRAME, y)
    shares = model.predict_proba(FRAME)
    assert [s.shape for s in shares] == [(N, 3), (N, 2)]
    for output in range(2):
        expected = sum(t.predict_proba(FRAME)[output] for t in model.estimators_) / 10
        np.testing.assert_allclose(shares[output], expected)
    assert np.mean(model.predict(FRAME) == y) > 0.9
    assert [s.shape for s in model.oob_decision_function_] == [(N, 3), (N, 2)]
    named = np.column_stack([np.array(["a", "b", "c"])[LABEL], np.where(LEVEL > 1, "v", "u")])
    with pytest.warns(UserWarning, match="OOB"):
        again = clone(model).fit(FRAME, named)
    assert again.oob_score_ == model.oob_score_
    assert np.mean(again.predict(FRAME) == named) > 0.9


def test_classes_of_every_kind() -> None:
    for y in (LABEL > 0, np.array(["x", "yy", "z"])[LABEL], LABEL.astype(float), LABEL * 10**9):
        for given in (y, y.tolist(), pd.Series(y), pl.Series(y.tolist())):
            model = hb.RandomForestClassifier(n_estimators=30, oob_score=True, random_state=0)
            model.fit(X, given)
            assert set(model.predict(X).tolist()) <= set(y.tolist())
            assert model.score(X, y) > 0.9 and 0.5 < model.oob_score_ < 1.0


# --- which features are drawn ------------------------------------------------------------------


@pytest.mark.mission("E4")
def test_constant_features_do_not_count() -> None:
    """Of 40 columns 36 are constant: scikit-learn's rule mostly draws these."""
    few, y = make_classification(
        800, 4, n_informative=4, n_redundant=0, n_clusters_per_class=1, random_state=0
    )
    wide = np.hstack([np.ones((800, 18)), few, np.zeros((800, 18))])
    train, test = slice(0, 300), slice(300, 800)
    params = {"n_estimators": 40, "max_depth": 2, "random_state": 0}
    narrow = hb.RandomForestClassifier(max_features=None, **params).fit(few[train], y[train])
    models = {
        rule: hb.RandomForestClassifier(max_features=4, constant_features=rule, **params)
        for rule in ("skip", "count")
    }
    roots = {}
    for rule, model in models.items():
        model.fit(wide[train], y[train])
        roots[rule] = np.array([tree.tree_.feature[0] for tree in model.estimators_]) - 18
        assert set(np.flatnonzero(model.feature_importances_)) <= set(range(18, 22))
    # four useful features are drawn at every node, as if the others were not there
    assert np.array_equal(models["skip"].predict_proba(wide[test]), narrow.predict_proba(few[test]))
    # with the other rule a node has about one of the four to choose from
    best = np.bincount(roots["skip"]).argmax()
    assert np.mean(roots["skip"] == best) > 0.8 > 0.6 > np.mean(roots["count"] == best)
    scores = {rule: model.score(wide[test], y[test]) for rule, model in models.items()}
    assert scores["skip"] > scores["count"] - 0.02


def test_without_constant_features_both_rules_are_one() -> None:
    """At the root all features differ; with stumps the rules cannot matter."""
    for forest in FORESTS:
        digests = {
            rule: grown(forest, max_depth=1, max_features=2, constant_features=rule).digest()
            for rule in ("skip", "count")
        }
        assert digests["skip"] == digests["count"]


@pytest.mark.mission("E4", "E5")
def test_as_accurate_as_scikit_learn() -> None:
    wide, y = make_classification(1500, 20, n_informative=8, n_classes=3, random_state=1)
    train, test = slice(0, 1000), slice(1000, 1500)
    for ours, theirs in (
        (hb.RandomForestClassifier, RandomForestClassifier),
        (hb.ExtraTreesClassifier, ExtraTreesClassifier),
    ):
        scores = [
            forest(n_estimators=100, random_state=0).fit(wide[train], y[train])
            for forest in (ours, theirs)
        ]
        a, b = (model.score(wide[test], y[test]) for model in scores)
        error = np.sqrt(2 * b * (1 - b) / 500)
        assert a > b - 2 * error


# --- constraints, missing values, categories ---------------------------------------------------


@pytest.mark.parametrize("forest", FORESTS)
def test_monotone_constraints_hold(forest: Any) -> None:
    y = (LEVEL > 0.5) if forest in CLASSIFIERS else LEVEL
    noisy = hb.RandomForestRegressor  # a free forest breaks them, so that the test can fail
    grid = np.linspace(-3, 3, 61)

    def largest_fall(model: Any, column: int, sign: int) -> float:
        worst = 0.0
        for base in X[:25]:
            rows = np.repeat(base[None], 61, 0)
            rows[:, column] = grid
            p = model.predict_proba(rows)[:, 1] if forest in CLASSIFIERS else model.predict(rows)
            worst = max(worst, float(np.max(-sign * np.diff(p), initial=0.0)))
        return worst

    bound = forest(n_estimators=10, monotonic_cst=[1, 0, -1, 0, 0], random_state=0).fit(X, y)
    assert largest_fall(bound, 0, 1) <= 1e-12
    assert largest_fall(bound, 2, -1) <= 1e-12
    if forest is noisy:
        assert largest_fall(forest(n_estimators=10, random_state=0).fit(X, y), 2, -1) > 0.01


@pytest.mark.parametrize("forest", FORESTS)
def test_missing_values_and_categories_are_used(forest: Any) -> None:
    table = pd.DataFrame(
        {
            "gap": np.where(rng.random(N) < 0.5, np.nan, rng.normal(size=N)),
            "kind": rng.choice(["a", "b", "c", "d", "e"], N),
        }
    )
    mark = table["gap"].isna().to_numpy() ^ table["kind"].isin(["a", "d"]).to_numpy()
    model = forest(n_estimators=30, random_state=0).fit(table, mark.astype(int))
    assert model.score(table, mark.astype(int)) > 0.95
    new = pd.DataFrame({"gap": [np.nan, 0.3], "kind": ["never seen", None]})
    assert np.all(np.isfinite(model.predict(new).astype(float)))
    strict = forest(n_estimators=3, unseen="error").fit(table, mark.astype(int))
    with pytest.raises(ValueError, match="not there in fit"):
        strict.predict(new)


def test_all_criteria() -> None:
    for criterion in ("gini", "entropy", "log_loss", "misclassification"):
        assert (
            grown(hb.RandomForestClassifier, FRAME, criterion=criterion).score(FRAME, LABEL) > 0.9
        )
    y = np.abs(LEVEL)
    for criterion in ("squared_error", "absolute_error", "friedman_mse", "poisson"):
        model = hb.RandomForestRegressor(n_estimators=8, criterion=criterion, random_state=0)
        assert model.fit(FRAME, y).score(FRAME, y) > 0.7


# --- early stopping, progress ------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.parametrize("forest", [hb.RandomForestClassifier, hb.RandomForestRegressor])
def test_early_stopping(forest: Any) -> None:
    few = grown(forest, n_estimators=400, early_stopping=True, n_iter_no_change=2, tol=0.02)
    n_trees = len(few.estimators_)
    assert 30 <= n_trees < 200 and n_trees % 10 == 0
    same = grown(forest, n_estimators=n_trees, oob_score=True)
    assert same.digest() == few.digest()
    assert few.oob_score_ == pytest.approx(same.oob_score_, abs=1e-12)
    # it stopped because the last two steps of ten trees did not help, and not before
    scores = [
        grown(forest, n_estimators=n, oob_score=True).oob_score_ for n in range(10, n_trees + 1, 10)
    ]
    best, failures = -np.inf, []
    for score in scores:
        failures.append(score <= best + 0.02)
        best = max(best, score)
    assert failures[-2:] == [True, True]
    assert not any(a and b for a, b in itertools.pairwise(failures[:-1]))


def test_patience_without_bags_stops_nothing_and_says_so() -> None:
    with pytest.warns(UserWarning, match="n_iter_no_change=3 stops nothing"):
        patient = grown(hb.ExtraTreesClassifier, n_estimators=12, n_iter_no_change=3)
    assert patient.digest() == grown(hb.ExtraTreesClassifier, n_estimators=12).digest()
    with pytest.raises(ValueError, match="only available if bootstrap=True"):
        grown(hb.ExtraTreesClassifier, early_stopping=True)


def test_early_stopping_goes_on_after_a_warm_start() -> None:
    params = {"early_stopping": True, "warm_start": True, "n_iter_no_change": 1, "tol": 1.0}
    model = grown(hb.RandomForestClassifier, n_estimators=20, **params)
    assert len(model.estimators_) == 20  # the first ten always help
    model.set_params(n_estimators=60).fit(X, LABEL)
    assert len(model.estimators_) == 30
    assert model.digest() == grown(hb.RandomForestClassifier, n_estimators=30).digest()


def test_progress(capfd: pytest.CaptureFixture[str]) -> None:
    for verbose, shown in ((1, True), (0, False), (None, False)):
        grown(hb.RandomForestRegressor, verbose=verbose)
        captured = capfd.readouterr()
        assert captured.out == ""
        assert ("8/8" in captured.err) == shown, captured.err


# --- importances and proximities ------------------------------------------------------------------


@pytest.mark.mission("E4")
@pytest.mark.parametrize("forest", FORESTS)
def test_importances_by_gain(forest: Any) -> None:
    model = grown(forest, n_estimators=30)
    trees = np.array([tree.feature_importances_ for tree in model.estimators_])
    mean, error = model.importances(return_error=True)
    np.testing.assert_allclose(mean, trees.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(error, trees.std(axis=0, ddof=1) / np.sqrt(30), rtol=1e-3)
    np.testing.assert_array_equal(mean, model.feature_importances_)
    assert mean.sum() == pytest.approx(1.0)
    assert set(np.argsort(-mean)[:2]) == {0, 1}
    with pytest.raises(ValueError, match="kind must be 'gain' or 'permutation', but is 'shap'"):
        model.importances("shap")


def test_no_split_no_importance() -> None:
    model = hb.RandomForestRegressor(n_estimators=3).fit(X, np.ones(N))
    assert model.feature_importances_.tolist() == [0.0] * 5


@pytest.mark.parametrize("forest", FORESTS)
def test_proximities(forest: Any) -> None:
    model = grown(forest, FRAME, max_depth=4)
    leaves = model.apply(FRAME)
    expected = (leaves[:, None, :] == leaves[None, :, :]).mean(axis=2)
    found = model.proximities(FRAME)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found, found.T)
    assert np.all(np.diag(found) == 1.0)
    np.testing.assert_array_equal(model.proximities(FRAME[:7], FRAME[50:90]), found[:7, 50:90])

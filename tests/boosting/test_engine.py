"""The boosting engine: digests, threads, pools of histograms, weights, draws and examples."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import hornbeam as hb
from hornbeam.boosting import grower

Regressor, Classifier = hb.GradientBoostingRegressor, hb.GradientBoostingClassifier

rng = np.random.default_rng(0)
N = 3000
X = rng.normal(size=(N, 6)).astype(np.float32).astype(float)
X[rng.random((N, 6)) < 0.1] = np.nan
LEVEL = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) ** 2 + rng.normal(0, 0.5, N)
FRAME = pd.DataFrame(X, columns=list("abcdef")).assign(kind=rng.choice(list("uvwxyz"), N))
WEIGHT = rng.uniform(0.5, 2.0, N)

MODELS: list[tuple[Any, Any, Any, Any]] = [
    (Regressor(n_estimators=5), FRAME, LEVEL, None),
    (Regressor(n_estimators=5, subsample=0.6, colsample_bynode=0.5), FRAME, LEVEL, WEIGHT),
    (Regressor(n_estimators=4, growth="level", max_depth=5), X, LEVEL, None),
    (Regressor(n_estimators=3, loss="absolute_error"), X, LEVEL, None),
    (Regressor(n_estimators=3, loss="huber", order=1), X, LEVEL, WEIGHT),
    (Classifier(n_estimators=5, colsample_bylevel=0.5), FRAME, LEVEL > 0.5, None),
    (Classifier(n_estimators=3), X, np.digitize(LEVEL, [0, 1]), WEIGHT),
    (Regressor(n_estimators=4, drop_rate=0.5, skip_drop=0.0), X, LEVEL, None),
]
for model_, *_ in MODELS:
    model_.set_params(random_state=0, n_jobs=2)


def fit(number: int, **params: Any) -> Any:
    model, table, y, weight = MODELS[number]
    return pickle.loads(pickle.dumps(model)).set_params(**params).fit(table, y, weight)


def fit_and_predict(number: int) -> tuple[str, bytes]:
    model = fit(number)
    return model.digest(), model.predict(MODELS[number][1]).tobytes()


@pytest.fixture(scope="module")
def expected() -> list[tuple[str, bytes]]:
    return [fit_and_predict(number) for number in range(len(MODELS))]


# --- the same model from everywhere -------------------------------------------------------------


@pytest.mark.usefixtures("real_threads")
@pytest.mark.parametrize("number", range(len(MODELS)))
def test_threads_and_repetitions_do_not_matter(number: int, expected: Any) -> None:
    for n_jobs in (1, 2, 4, 3, -1, None, 2):
        assert fit(number, n_jobs=n_jobs).digest() == expected[number][0], n_jobs


@pytest.fixture(scope="module")
def many_rows() -> tuple[Any, Any, Any]:
    """More rows than tiles hold, so that threads share them out and empty tiles midway."""
    n = 50_000
    random = np.random.default_rng(1)
    table = random.integers(0, 40, (n, 5)).astype(float)
    table[random.random((n, 5)) < 0.05] = np.nan
    level = np.nan_to_num(table[:, 0]) + np.nan_to_num(table[:, 1]) % 7 + random.normal(size=n)
    return table, level, random.uniform(0.5, 2.0, n)


@pytest.mark.usefixtures("real_threads")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("growth", ["leaf", "level"])
def test_many_rows_on_several_threads(many_rows: Any, weighted: bool, growth: str) -> None:
    table, level, weight = many_rows
    digests = {
        Regressor(n_estimators=4, growth=growth, n_jobs=n_jobs, random_state=0)
        .fit(table, level, weight if weighted else None)
        .digest()
        for n_jobs in (1, 2, 4, 2)
    }
    assert len(digests) == 1


@pytest.mark.usefixtures("real_threads")
@pytest.mark.parametrize(
    "params", [{"loss": "huber", "order": 1}, {"loss": "log_cosh", "order": 1}]
)
def test_leaves_that_are_refitted_do_not_depend_on_threads(
    many_rows: Any, params: dict[str, Any]
) -> None:
    """Sums of floats depend on the order of the rows, so this must not depend on threads."""
    table, level, _ = many_rows
    weight = 10.0 ** np.random.default_rng(2).uniform(-9, 0, len(level))  # no sum is exact
    digests = {
        Regressor(n_estimators=2, max_leaf_nodes=6, n_jobs=n_jobs, random_state=0, **params)
        .fit(table, level, weight)
        .digest()
        for n_jobs in (1, 2, 3)
    }
    assert len(digests) == 1


@pytest.mark.usefixtures("real_threads")
@pytest.mark.parametrize("n_features", [1, 63, 64, 70, 300])
def test_narrow_and_wide_tables(n_features: int) -> None:
    """Padded rows, blocks of features, and threads that share out features."""
    random = np.random.default_rng(2)
    table, y = random.normal(size=(5000, n_features)), random.normal(size=5000)
    y = y + table[:, n_features // 2]
    params = {"n_estimators": 2, "max_leaf_nodes": 8, "max_bins": 16, "random_state": 0}
    models = [
        Regressor(**params, n_jobs=n_jobs, colsample_bytree=share).fit(table, y)
        for share in (1.0, 0.7)
        for n_jobs in (1, 4)
    ]
    assert models[0].digest() == models[1].digest()
    assert models[2].digest() == models[3].digest()
    assert models[0].trees_[0].feature[0] == n_features // 2


def test_float32_float64_and_containers_give_the_same_model() -> None:
    plain = Regressor(n_estimators=3).fit(X, LEVEL)
    for table in (
        X.astype(np.float32),
        np.asfortranarray(X),
        X.tolist(),
        pd.DataFrame(X),
        np.asfortranarray(X.astype(np.float32)),
    ):
        other = Regressor(n_estimators=3).fit(table, LEVEL)
        assert other.digest() == plain.digest()
        np.testing.assert_array_equal(other.predict(table), plain.predict(X))
    zeros = np.nan_to_num(X) * (np.abs(np.nan_to_num(X)) > 1)
    dense = Regressor(n_estimators=3).fit(zeros, LEVEL)
    for sparse in (scipy.sparse.csr_array(zeros), scipy.sparse.csc_array(zeros)):
        other = Regressor(n_estimators=3).fit(sparse, LEVEL)
        assert other.digest() == dense.digest()
        np.testing.assert_array_equal(other.predict(sparse), dense.predict(zeros))


def test_columns_are_found_by_name() -> None:
    """In predict always; a fit on permuted columns is the same model but for ties."""
    drawn: Any = {"n_estimators": 10, "colsample_bytree": 0.8, "colsample_bynode": 0.6}
    model = Regressor(**drawn, random_state=0).fit(FRAME, LEVEL)
    shuffled = FRAME[["kind", *"fbdace"]]
    np.testing.assert_array_equal(model.predict(shuffled), model.predict(FRAME))
    other = Regressor(**drawn, random_state=0).fit(shuffled, LEVEL)
    np.testing.assert_array_equal(other.predict(FRAME), model.predict(FRAME))
    names = [shuffled.columns[f] for f in other.trees_[0].feature if f >= 0]
    assert names == [FRAME.columns[f] for f in model.trees_[0].feature if f >= 0]
    # two equal columns: of equal gains the first column wins, wherever it is
    twins = pd.DataFrame({"a": X[:, 0], "b": X[:, 0]})
    for names in (["a", "b"], ["b", "a"]):
        features = Regressor(n_estimators=2).fit(twins[names], LEVEL).trees_[0].feature
        assert set(features.tolist()) == {-1, 0}


@pytest.mark.usefixtures("real_threads")
def test_eight_python_threads_at_once(expected: Any, in_eight_threads: Any) -> None:
    def work(seed: int) -> None:
        for turn in range(3):
            number = (seed + turn) % len(MODELS)
            assert fit_and_predict(number) == expected[number]

    in_eight_threads(work)


@pytest.mark.usefixtures("real_threads")
@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork here"
)
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_forked_children(expected: Any) -> None:
    with multiprocessing.get_context("fork").Pool(2) as pool:
        results = pool.map_async(fit_and_predict, range(len(MODELS))).get(timeout=120)
    assert results == expected


# --- histograms ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("real_threads")
@pytest.mark.mission("L2")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("growth", ["leaf", "level", "depth"])
def test_few_places_for_histograms_change_nothing(
    monkeypatch: Any, growth: str, weighted: bool
) -> None:
    """What is subtracted where there is room is counted where there is none."""
    weight = np.where(rng.random(N) < 0.2, 10.0, 0.1) if weighted else None
    params = {"n_estimators": 3, "max_leaf_nodes": 60, "growth": growth, "min_samples_leaf": 10}
    plenty = Regressor(**params).fit(FRAME, LEVEL, weight).digest()
    monkeypatch.setattr(grower, "_POOL_BYTES", 1)
    for n_jobs in (1, 3):
        scarce = Regressor(**params, n_jobs=n_jobs).fit(FRAME, LEVEL, weight)
        assert scarce.digest() == plenty


@pytest.mark.parametrize("loss", ["squared_error", "log_loss"])
def test_the_sums_of_a_node_are_those_of_its_rows(loss: str) -> None:
    """Hessians that differ a billionfold: some are rounded to nothing, their gradients not."""
    random = np.random.default_rng(3)
    table = random.integers(0, 12, (400, 2)).astype(float)
    if loss == "log_loss":
        y = random.integers(0, 2, 400)
        # in some cells all rows are surely of the other class: large gradients, no hessian
        init = np.where(table[:, 0] % 3 == 1, 15.0 - 30.0 * y, random.normal(size=400))
        model = Classifier(n_estimators=1, learning_rate=1.0, min_samples_leaf=5, reg_lambda=1.0)
        model.fit(table, y, init_score=init)
        share = 1.0 / (1.0 + np.exp(-init))
        gradient, hessian = share - y, share * (1.0 - share)
    else:
        y, weight = random.normal(size=400), 10.0 ** random.uniform(-9, 0, 400)
        model = Regressor(n_estimators=1, learning_rate=1.0, min_samples_leaf=5, reg_lambda=1.0)
        model.fit(table, y, weight)
        gradient, hessian = weight * (model.ensemble_.start[0] - y), weight
    tree, leaf = model.trees_[0], model.apply(table)[:, 0]
    assert tree.n_leaves > 3
    for number in np.unique(leaf):
        rows = leaf == number
        assert tree.n_samples[number] == rows.sum()
        step = -gradient[rows].sum() / (hessian[rows].sum() + 1.0)
        assert tree.value[number, 0] == pytest.approx(step, rel=1e-2, abs=1e-2)


TINY_WEIGHTS = """
import json
import numpy as np
import hornbeam as hb
rng = np.random.default_rng(0)
X = rng.normal(size=(400, 2))
y = np.nan_to_num(X[:, 0])
X[:60, 0] = np.nan
weight = np.where(np.isnan(X[:, 0]), 1e-7, 1.0)
found = []
for n_jobs in (1, 2):
    model = hb.GradientBoostingRegressor(n_estimators=3, min_samples_leaf=1, n_jobs=n_jobs)
    tree = model.fit(X, y, weight).trees_[0]
    inner = np.flatnonzero(~tree.is_leaf)
    first = tree.first_child[inner]
    below = tree.n_samples[first] + tree.n_samples[first + 1]
    found.append(bool((below == tree.n_samples[inner]).all()))
    found.append(int(tree.n_samples[tree.is_leaf].sum()))
    found.append(bool((tree.n_samples > 0).all()))
print(json.dumps(found))
"""


def test_missing_rows_with_hardly_any_weight() -> None:
    """Their hessians round to nothing, but the rows are there (in a process of its own)."""
    result = subprocess.run(
        [sys.executable, "-c", TINY_WEIGHTS], capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, f"{result.returncode} {result.stderr[-300:]}"
    assert json.loads(result.stdout) == [True, 400, True] * 2


# --- weights ------------------------------------------------------------------------------------

COARSE = np.round(np.nan_to_num(X), 0)  # few values, so that repetition changes no bin


@pytest.mark.parametrize("kind", ["regression", "two", "three"])
def test_a_weight_of_two_is_the_row_twice(kind: str) -> None:
    y = {"two": LEVEL > 0.5, "three": np.digitize(LEVEL, [0, 1])}.get(kind, LEVEL)
    maker = Regressor if kind == "regression" else Classifier
    # what "auto" chooses follows the number of rows
    chosen: Any = {"learning_rate": 0.1, "max_depth": None, "colsample_bynode": 1.0}
    model = maker(n_estimators=5, min_samples_leaf=1, max_leaf_nodes=8, **chosen)
    times = rng.integers(1, 4, N)
    weighted = model.fit(COARSE, y, times.astype(float))
    method = weighted.predict if maker is Regressor else weighted.predict_proba
    first = method(COARSE)
    second = model.fit(np.repeat(COARSE, times, axis=0), np.repeat(y, times))
    method = second.predict if maker is Regressor else second.predict_proba
    np.testing.assert_allclose(first, method(COARSE), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("order", [1, 2])
def test_a_weight_of_zero_is_no_row(order: int) -> None:
    """Such rows set no bins and no thresholds, count in no leaf and have no part in the start."""
    weight = np.where(rng.random(N) < 0.3, 0.0, 1.0)
    kept = weight > 0
    table = np.where(kept[:, None], X, X + 0.25)
    y = np.where(kept, LEVEL, 1e6)
    params = {"n_estimators": 5, "order": order, "max_bins": 32}
    with_them = Regressor(**params).fit(table, y, weight)
    without = Regressor(**params).fit(table[kept], y[kept])
    assert with_them.trees_[0].n_samples[0] == kept.sum()
    np.testing.assert_allclose(with_them.predict(table), without.predict(table), rtol=1e-3)


def test_class_weights_are_sample_weights() -> None:
    y = np.where(LEVEL > 1, "yes", "no")
    weight = np.where(y == "yes", 3.0, 0.5)
    by_class = Classifier(n_estimators=4, class_weight={"yes": 3.0, "no": 0.5}).fit(X, y)
    assert by_class.digest() == Classifier(n_estimators=4).fit(X, y, weight).digest()
    balanced = Classifier(n_estimators=1, class_weight="balanced").fit(X, y)
    assert balanced.ensemble_.start == pytest.approx([0.0], abs=1e-9)


def test_init_scores_are_where_boosting_starts() -> None:
    """Ten rounds are five rounds and five more on their scores."""
    fixed: Any = {"colsample_bynode": 1.0}  # draws count rounds from the start of a fit
    first = Regressor(n_estimators=5, **fixed).fit(X, LEVEL)
    second = Regressor(n_estimators=5, **fixed).fit(X, LEVEL, init_score=first.predict(X))
    whole = Regressor(n_estimators=10, **fixed).fit(X, LEVEL)
    assert second.ensemble_.start.tolist() == [0.0]
    np.testing.assert_allclose(
        first.predict(X) + second.predict(X), whole.predict(X), rtol=1e-9, atol=1e-9
    )
    y = np.digitize(LEVEL, [0, 1])
    fixed["reg_lambda"] = 1.0  # "auto" compares with the hessians that a fit starts from,
    fixed["growth"] = "leaf"  # and "alternate" counts rounds from there
    one = Classifier(n_estimators=3, **fixed).fit(X, y)
    two = Classifier(n_estimators=3, **fixed).fit(X, y, init_score=one.decision_function(X))
    both = Classifier(n_estimators=6, **fixed).fit(X, y)
    np.testing.assert_allclose(
        one.decision_function(X) + two.decision_function(X),
        both.decision_function(X),
        rtol=1e-6,
        atol=1e-6,
    )
    for shape in ((N + 1,), (N, 2), ()):
        with pytest.raises(ValueError, match="init_score has shape"):
            Regressor().fit(X, LEVEL, init_score=np.zeros(shape))
    with pytest.raises(ValueError, match="init_score holds NaN"):
        Regressor().fit(X, LEVEL, init_score=np.full(N, np.nan))


# --- draws --------------------------------------------------------------------------------------


@pytest.mark.mission("X8")
@pytest.mark.mission("G3")
def test_shares_of_rows_and_columns() -> None:
    table = rng.normal(size=(N, 20))
    y = table.sum(axis=1) + rng.normal(size=N)
    model = Regressor(n_estimators=40, subsample=0.3, random_state=0).fit(table, y)
    drawn = np.array([tree.n_samples[0] for tree in model.trees_])
    assert abs(drawn.mean() / N - 0.3) < 0.01 and len(set(drawn.tolist())) > 5
    model = Regressor(n_estimators=40, colsample_bytree=0.25, random_state=0).fit(table, y)
    used = [set(tree.feature[~tree.is_leaf].tolist()) for tree in model.trees_]
    assert max(map(len, used)) == 5 and set().union(*used) == set(range(20))
    model = Regressor(
        n_estimators=20, colsample_bylevel=0.1, growth="level", max_depth=4, random_state=0
    ).fit(table, y)
    for tree in model.trees_:
        inner = ~tree.is_leaf
        for depth in range(4):
            assert len(set(tree.feature[inner & (tree.depth == depth)].tolist())) <= 2
    assert len({tree.feature[0] for tree in model.trees_}) > 3
    # one of twenty features at each node: the roots ask them all equally often
    model = Regressor(n_estimators=400, colsample_bynode=0.05, max_leaf_nodes=2, random_state=0)
    roots = np.bincount([t.feature[0] for t in model.fit(table, y).trees_], minlength=20)
    assert roots.min() >= 8 and roots.max() <= 36
    # shares multiply: 10 of the tree, 5 of the level, 2 of the node
    model = Regressor(
        n_estimators=30,
        colsample_bytree=0.5,
        colsample_bylevel=0.5,
        colsample_bynode=0.4,
        random_state=0,
    ).fit(table, y)
    assert max(len(set(t.feature[~t.is_leaf].tolist())) for t in model.trees_) <= 10


@pytest.mark.mission("G3")
def test_rows_are_drawn_without_replacement_and_independently() -> None:
    """Every row is in about half of the trees, whatever its neighbours do."""
    table = np.arange(2000.0).reshape(-1, 1)
    model = Regressor(n_estimators=200, subsample=0.5, max_leaf_nodes=2, random_state=0)
    model.fit(table, rng.normal(size=2000))
    counts = np.array([tree.n_samples[0] for tree in model.trees_])
    assert counts.max() <= 2000
    assert abs(counts.mean() - 1000) < 10 and 15 < counts.std() < 30  # sqrt(2000 / 4) = 22


# --- learning -----------------------------------------------------------------------------------


CONVEX: list[tuple[type, dict[str, Any]]] = [
    (Regressor, {"loss": "squared_error"}),
    (Regressor, {"loss": "squared_error", "order": 1}),
    (Regressor, {"loss": "absolute_error"}),
    (Regressor, {"loss": "huber"}),
    (Regressor, {"loss": "huber", "order": 1}),
    (Regressor, {"loss": "quantile", "quantile": 0.8}),
    (Regressor, {"loss": "log_cosh"}),
    (Regressor, {"loss": "poisson"}),
    (Regressor, {"loss": "poisson", "order": 1}),
    (Regressor, {"loss": "gamma"}),
    (Regressor, {"loss": "tweedie"}),
    (Classifier, {"loss": "log_loss"}),
    (Classifier, {"loss": "exponential"}),
    (Classifier, {"loss": "log_loss", "order": 1}),
    (Classifier, {"loss": "log_loss", "classes": 3}),
    (Classifier, {"loss": "log_loss_k1", "classes": 3}),
]


@pytest.mark.mission("X1")
@pytest.mark.parametrize(("maker", "params"), CONVEX, ids=repr)
def test_the_training_loss_falls_every_round(maker: Any, params: dict[str, Any]) -> None:
    params = dict(params)
    classes = params.pop("classes", 2)
    y: Any = np.digitize(LEVEL, [0.5] if classes == 2 else [0, 1])
    if maker is Regressor:
        y = np.abs(LEVEL) + 0.1
    reports: list[Any] = []
    model = maker(**params, n_estimators=25, learning_rate=0.05)
    model.fit(X, y, callbacks=[reports.append])
    losses = [report.train_loss for report in reports]
    assert [report.number for report in reports] == list(range(1, 26))
    assert np.all(np.diff(losses) < 0)
    assert model.history_["train"].tolist() == losses


@pytest.mark.mission("G1")
def test_the_age_of_thirty() -> None:
    """30 = 20 + 6 + 3 + 1: each round learns a part of what the ones before have left."""
    X, y = [[0.0], [1.0]], [30.0, 10.0]
    model = Regressor(
        n_estimators=3, min_samples_leaf=1, learning_rate=0.6, min_child_weight=0.0, reg_lambda=0.0
    ).fit(X, y)
    assert model.ensemble_.start.tolist() == [20.0]
    stages = [float(stage[0]) for stage in model.staged_predict(X)]
    assert stages == pytest.approx([26.0, 28.4, 29.36])
    # with the rates of the example, 6 of 10, then 3 of 4, then all of the rest
    age = 20.0
    for rate, step in ((0.6, 6.0), (0.75, 3.0), (1.0, 1.0)):
        tree = Regressor(n_estimators=1, min_samples_leaf=1, learning_rate=rate, reg_lambda=0.0)
        found = tree.fit(X, y, init_score=[age, 40.0 - age]).predict(X)[0]
        assert found == pytest.approx(step)
        age += found
    assert age == pytest.approx(30.0)


@pytest.mark.mission("G2")
def test_ten_percent_positives() -> None:
    y = np.arange(100) < 10
    table = rng.normal(size=(100, 1))
    model = Classifier(n_estimators=1).fit(table, y)
    assert model.ensemble_.start == pytest.approx([np.log(1 / 9)])
    half = Classifier(n_estimators=1, loss="exponential").fit(table, y)
    assert half.ensemble_.start == pytest.approx([0.5 * np.log(1 / 9)])
    three = np.repeat([0, 1, 2], [10, 30, 60])
    shares = Classifier(n_estimators=1).fit(table, three).ensemble_.start
    assert np.exp(shares) / np.exp(shares).sum() == pytest.approx([0.1, 0.3, 0.6])
    less = Classifier(n_estimators=1, loss="log_loss_k1").fit(table, three).ensemble_.start
    assert less == pytest.approx(np.log([3.0, 6.0]))


@pytest.mark.mission("G2")
def test_forms_of_the_classifier_learn_alike() -> None:
    y = np.digitize(LEVEL, [0.0, 1.0])
    names = ["low", "middle", "high"]
    scores = {}
    for loss in ("log_loss", "log_loss_k1"):
        model = Classifier(loss=loss, n_estimators=30, max_depth=None).fit(X, np.array(names)[y])
        scores[loss] = model.score(X, np.array(names)[y])
        assert model.decision_function(X).shape == (N, 3 if loss == "log_loss" else 2)
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
        assert model.classes_.tolist() == sorted(names)
    assert min(scores.values()) > 0.8 and abs(np.subtract(*scores.values())) < 0.03
    two = Classifier(loss="exponential", n_estimators=30).fit(X, LEVEL > 0.5)
    assert two.score(X, LEVEL > 0.5) > 0.85


@pytest.mark.mission("X5")
def test_missing_values_go_where_they_belong() -> None:
    one_tree = {"n_estimators": 1, "learning_rate": 1.0, "reg_lambda": 0.0}
    for side, value in ((0, -5.0), (1, 5.0)):
        table = np.linspace(-1, 1, 200).reshape(-1, 1)
        y = np.sign(table[:, 0]) * 5.0
        table[::4] = np.nan
        y[::4] = value
        model = Regressor(**one_tree).fit(table, y)
        assert model.trees_[0].missing_branch[0] == side
        assert model.predict([[np.nan]])[0] == pytest.approx(value)
    # never seen in training: to the child with more rows
    table = np.r_[np.zeros(30), np.ones(70)].reshape(-1, 1)
    model = Regressor(**one_tree).fit(table, table[:, 0])
    assert model.predict([[np.nan]])[0] == pytest.approx(1.0)
    assert Regressor(**one_tree).fit(1 - table, table[:, 0]).predict([[np.nan]])[
        0
    ] == pytest.approx(1.0)


@pytest.mark.mission("L1")
def test_rare_categories_are_folded_together() -> None:
    random = np.random.default_rng(5)
    number = np.minimum(random.geometric(0.02, 20_000), 400)
    effect = np.where(number < 40, np.sin(number * 1.7) * 3, 0.0)
    frame = pd.DataFrame({"c": [f"c{i}" for i in number]})
    y = effect + random.normal(0, 0.3, len(number))
    one = {"category_split": "one_vs_rest"}  # sets tell all categories apart
    model = Regressor(n_estimators=40, max_bins=64, **one).fit(frame, y)
    predicted = model.predict(frame)
    assert model.score(frame, effect) > 0.9
    rare = number > 250
    assert rare.sum() > 20 and len(np.unique(predicted[rare])) == 1
    assert np.isfinite(model.predict(pd.DataFrame({"c": ["new", None]}))).all()


@pytest.mark.mission("G1")
def test_several_quantiles_never_cross() -> None:
    model = Regressor(loss="quantile", quantile=[0.1, 0.5, 0.9], n_estimators=40).fit(X, LEVEL)
    predicted = model.predict(X)
    assert predicted.shape == (N, 3) and (np.diff(predicted, axis=1) >= 0).all()
    below = (LEVEL[:, None] < predicted).mean(axis=0)
    assert below == pytest.approx([0.1, 0.5, 0.9], abs=0.05)


# --- Ctrl-C -------------------------------------------------------------------------------------

INTERRUPTED = """
import json, os, signal, sys, threading, time
import numpy as np
import hornbeam as hb
from sklearn.exceptions import NotFittedError

params = json.loads(sys.argv[1])
rng = np.random.default_rng(0)
X = rng.normal(size=(300_000, 10)).astype(np.float32)
y = rng.normal(size=len(X))
small = hb.GradientBoostingRegressor(n_estimators=3, **params)
digest = small.fit(X[:5000], y[:5000]).digest()
model = hb.GradientBoostingRegressor(n_estimators=10**6, **params)
sent = []

def interrupt():
    sent.append(time.process_time())
    os.kill(os.getpid(), signal.SIGINT)

waits = []
for delay in (0.1, 1.5):
    threading.Timer(delay, interrupt).start()
    try:
        model.fit(X, y)
        print("the fit was too short to interrupt")
    except KeyboardInterrupt:
        waits.append(time.process_time() - sent[-1])
    try:
        model.predict(X[:5])
        print("fitted")
    except NotFittedError:
        pass
again = small.fit(X[:5000], y[:5000]).digest() == digest
print(json.dumps({"waits": waits, "again": again}))
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("params", [{"n_jobs": 1}, {"n_jobs": 2}], ids=repr)
def test_ctrl_c_stops_a_long_fit(params: dict[str, Any]) -> None:
    """Within two seconds of work; nothing of the fit is left, and the team is usable."""
    result = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, json.dumps(params)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    outcome = json.loads(result.stdout)
    assert outcome["again"]
    assert len(outcome["waits"]) == 2 and max(outcome["waits"]) < 2.0

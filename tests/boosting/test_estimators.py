"""The estimators as a user meets them: stages, leaves, single trees, presets, sparse tables."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import hornbeam as hb
from hornbeam.boosting.arrays import make_pages
from hornbeam.boosting.grower import BoostedGrower
from hornbeam.boosting.rules import BoostRules
from hornbeam.boosting.scores import RowScores
from hornbeam.boosting.table import code_table
from hornbeam.losses import resolve

Classifier, Regressor = hb.GradientBoostingClassifier, hb.GradientBoostingRegressor
Ranker = hb.GradientBoostingRanker
FEW: dict[str, Any] = {"n_estimators": 6, "min_samples_leaf": 5, "random_state": 0}

rng = np.random.default_rng(0)
N = 400
X = rng.normal(size=(N, 4))
X[rng.random((N, 4)) < 0.1] = np.nan
LEVEL = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) ** 2 + rng.normal(0, 0.3, N)
FRAME = pd.DataFrame(X, columns=["age", "size", "c", "d"]).assign(kind=rng.choice(list("uvw"), N))
THREE = np.array(["low", "middle", "high"])[np.digitize(LEVEL, [0.0, 1.0])]


def models() -> dict[str, Any]:
    return {
        "regressor": Regressor(**FEW).fit(FRAME, LEVEL),
        "poisson": Regressor(**FEW, loss="poisson").fit(FRAME, np.abs(LEVEL)),
        "quantiles": Regressor(**FEW, loss="quantile", quantile=[0.2, 0.8]).fit(FRAME, LEVEL),
        "two": Classifier(**FEW).fit(FRAME, LEVEL > 0.5),
        "three": Classifier(**FEW).fit(FRAME, THREE),
        "k1": Classifier(**FEW, loss="log_loss_k1").fit(FRAME, THREE),
        "ranker": Ranker(**FEW).fit(FRAME, np.digitize(LEVEL, [0, 1]), group=[20] * 20),
    }


MODELS = models()


# --- predictions -----------------------------------------------------------------------------


@pytest.mark.mission("G3")
@pytest.mark.quick
@pytest.mark.parametrize("name", MODELS)
def test_the_last_stage_is_the_prediction(name: str) -> None:
    model = MODELS[name]
    methods = ["predict"]
    if isinstance(model, Classifier):
        methods += ["predict_proba", "decision_function"]
    for method in methods:
        stages = list(getattr(model, f"staged_{method}")(FRAME))
        assert len(stages) == model.n_iter_ == 6
        np.testing.assert_array_equal(stages[-1], getattr(model, method)(FRAME))
        assert any(not np.array_equal(stages[0], stage) for stage in stages[1:])


@pytest.mark.quick
@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_sums_over_leaves(name: str) -> None:
    """Start plus what the leaves of `apply` add, through the link."""
    model = MODELS[name]
    leaves, n_scores = model.apply(FRAME), model.ensemble_.n_scores
    assert leaves.shape == ((N, 6) if n_scores == 1 else (N, 6, n_scores))
    assert leaves.dtype == np.int32
    leaves = leaves.reshape(N, -1)
    scores = np.tile(model.ensemble_.start, (N, 1))
    for number, tree in enumerate(model.trees_):
        assert tree.is_leaf[leaves[:, number]].all()
        scores[:, number % n_scores] += tree.value[leaves[:, number], 0]
    if isinstance(model, Classifier):
        found = model.decision_function(FRAME)
        shares = model.predict_proba(FRAME)
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
        assert (model.classes_[shares.argmax(axis=1)] == model.predict(FRAME)).all()
        np.testing.assert_allclose(model.predict_log_proba(FRAME), np.log(shares))
    else:
        found = model.predict(FRAME)
        scores = np.exp(scores) if name == "poisson" else scores
        scores = np.sort(scores, axis=1) if name == "quantiles" else scores
    np.testing.assert_allclose(found, scores if n_scores > 1 else scores[:, 0], rtol=1e-12)


@pytest.mark.quick
@pytest.mark.parametrize("name", MODELS)
def test_the_predictor_predicts_the_same(name: str) -> None:
    model = MODELS[name]
    numbers = model.schema_.read(FRAME, "")  # categories as numbers
    predict = model.predictor()
    classifier = isinstance(model, Classifier)
    expected = model.predict_proba(FRAME) if classifier else model.predict(FRAME)
    np.testing.assert_array_equal(predict(np.asarray(numbers, float)), expected)
    for row in range(3):
        np.testing.assert_array_equal(predict(np.asarray(numbers, float)[row]), expected[row])


# --- single trees ----------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.parametrize("name", MODELS)
def test_single_trees_can_be_looked_at(name: str) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    model = MODELS[name]
    tree = model.tree(1)
    assert tree.tree_.digest() == model.trees_[1].digest()
    text = hb.export_text(tree)
    assert text.count("value: [") > 5 and ("age" in text or "size" in text)
    assert len(hb.export_rules(tree)) == tree.tree_.n_leaves
    drawing = ElementTree.fromstring(hb.tree_svg(tree))
    assert drawing.tag.endswith("svg") and len(list(drawing.iter())) > tree.tree_.node_count
    figure = hb.plot_tree(tree)
    assert figure is not None
    plt.close("all")
    assert model.tree(-1).tree_.digest() == model.trees_[-1].digest()
    with pytest.raises(IndexError):
        model.tree(len(model.trees_))


@pytest.mark.quick
def test_before_a_fit_everything_says_so() -> None:
    for maker in (Regressor, Classifier, Ranker):
        model = maker()
        calls = [
            lambda m: m.predict(X),
            lambda m: m.apply(X),
            lambda m: m.tree(0),
            lambda m: m.trees_,
            lambda m: m.feature_importances_,
            lambda m: m.history(),
            lambda m: m.plot_history(),
            lambda m: m.predictor(),
            lambda m: m.digest(),
            lambda m: m.save("nowhere"),
            lambda m: list(m.staged_predict(X)),
        ]
        for call in calls:
            with pytest.raises(NotFittedError):
                call(model)


# --- settings --------------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.parametrize("maker", [Regressor, Classifier, Ranker])
def test_presets_are_settings(maker: Any) -> None:
    assert maker.preset("xgboost").get_params()["growth"] == "level"
    assert maker.preset("lightgbm").get_params()["growth"] == "leaf"
    assert maker.preset("friedman").get_params()["order"] == 1
    changed = maker.preset("xgboost", max_depth=3, n_estimators=7)
    assert (changed.max_depth, changed.n_estimators, changed.reg_lambda) == (3, 7, 1.0)
    with pytest.raises(TypeError, match="no parameter 'num_leaves': did you mean"):
        maker.preset("lightgbm", num_leaves=7)


@pytest.mark.quick
def test_in_a_pipeline_and_cross_validation() -> None:
    from sklearn.impute import SimpleImputer

    scores = cross_val_score(make_pipeline(SimpleImputer(), Regressor(**FEW)), X, LEVEL, cv=3)
    assert scores.min() > 0.3
    assert cross_val_score(Classifier(**FEW), FRAME, THREE, cv=3).min() > 0.6


@pytest.mark.mission("X11")
@pytest.mark.mission("L3")
@pytest.mark.quick
def test_growth_orders() -> None:
    level = Regressor(n_estimators=1, growth="level", max_depth=3, min_samples_leaf=1).fit(X, LEVEL)
    assert level.trees_[0].max_depth == 3 and level.trees_[0].n_leaves == 8
    leaf = Regressor(n_estimators=1, growth="leaf", max_leaf_nodes=8, min_samples_leaf=1)
    tree = leaf.fit(X, LEVEL).trees_[0]
    assert tree.n_leaves == 8 and tree.max_depth > 3
    assert leaf.set_params(max_depth=4).fit(X, LEVEL).trees_[0].max_depth <= 4


# --- sparse tables ---------------------------------------------------------------------------


@pytest.mark.usefixtures("real_threads")
@pytest.mark.mission("X5")
@pytest.mark.parametrize(
    "way",
    [
        {},  # with a trial of the learning rate
        pytest.param({"learning_rate": 0.1}, marks=pytest.mark.quick),
        {"subsample": 0.6},
        {"colsample_bytree": 0.5, "colsample_bynode": 0.5, "learning_rate": 0.1},
        {"growth": "level", "learning_rate": 0.1},
        {"order": 1, "learning_rate": 0.1},
    ],
    ids=repr,
)
def test_a_sparse_table_is_the_dense_one(way: dict[str, Any]) -> None:
    random = np.random.default_rng(1)
    dense = random.normal(size=(N, 12)).round(1) * (random.random((N, 12)) < 0.2)
    dense[random.random((N, 12)) < 0.02] = np.nan
    dense[:, 3] = 0.0
    dense[:, 4] = np.abs(dense[:, 4]) + 1.0  # no zero at all
    dense[4:, 5] = 0.0  # fewer others than a leaf must have
    y = np.nan_to_num(dense[:, 0]) - np.nan_to_num(dense[:, 4]) + random.normal(0, 0.1, N)
    plain = Regressor(**FEW, **way).fit(dense, y)
    for form in (scipy.sparse.csr_array, scipy.sparse.csc_array, scipy.sparse.coo_matrix):
        for n_jobs in (1, 2):
            model = Regressor(**FEW, **way, n_jobs=n_jobs).fit(form(dense), y)
            assert model.digest() == plain.digest()
        np.testing.assert_array_equal(model.predict(form(dense)), plain.predict(dense))
        np.testing.assert_array_equal(model.predict(dense), plain.predict(dense))
        np.testing.assert_array_equal(model.apply(form(dense)), plain.apply(dense))
    labels = np.digitize(y, [-1, 0])
    fit = {"X_val": scipy.sparse.csr_array(dense), "y_val": labels}
    sparse = Classifier(**FEW, **way).fit(scipy.sparse.csr_array(dense), labels, **fit)
    fit["X_val"] = dense
    assert sparse.digest() == Classifier(**FEW, **way).fit(dense, labels, **fit).digest()


def entries_and_bytes(n_rows: int, n_features: int, n_entries: int) -> tuple[int, int]:
    """What a tree on a random sparse table counts and keeps."""
    random = np.random.default_rng(0)
    places = random.choice(n_rows * n_features, n_entries, replace=False)
    matrix = scipy.sparse.csc_array(
        (random.integers(1, 4, n_entries) * 1.0, (places % n_rows, places // n_rows)),
        shape=(n_rows, n_features),
    )
    none = np.zeros(n_features, np.int64)
    table = code_table(matrix, none.astype(bool), none, 255, 1)
    loss = resolve("squared_error", task="regression")
    scores = RowScores(loss, random.normal(size=n_rows), np.ones(n_rows), np.zeros(1), 2)
    scores.take_slopes(1)
    grower = BoostedGrower(table, BoostRules(max_leaf_nodes=4), scores, 1)
    grower.grow(0, np.arange(n_features))
    (page,) = make_pages(table)
    kept = [*page, *grower.table, *grower.rows, *grower.nodes, *grower.team, *grower.team.best]
    n_bytes = sum(array.nbytes for array in kept if isinstance(array, np.ndarray))
    return len(page.entry_cell), n_bytes


@pytest.mark.mission("X5")
@pytest.mark.quick
def test_the_work_grows_with_the_entries_and_not_with_the_cells() -> None:
    """Counting goes over `entry_cell` once per level: one addition for each entry."""
    n_rows, n_features, n_entries = 2000, 500, 10_000
    few, few_bytes = entries_and_bytes(n_rows, n_features, n_entries)
    assert few == n_entries
    more, _ = entries_and_bytes(n_rows, n_features, 3 * n_entries)
    assert more == 3 * n_entries
    wide, wide_bytes = entries_and_bytes(n_rows, 4 * n_features, n_entries)
    assert wide == n_entries
    # per feature a few cells of histograms; a dense table would need 3,000,000 codes, twice
    assert wide_bytes - few_bytes < 3 * n_features * 8 * 64 < 1_500 * n_rows

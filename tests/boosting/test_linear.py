"""The linear booster: the models of scikit-learn at convergence, and all that boosting can do."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
)
from sklearn.utils.estimator_checks import parametrize_with_checks

import hornbeam as hb
from hornbeam.boosting.linear import LinearRounds, linear_scores
from hornbeam.errors import ModelFileError

Classifier, Regressor = hb.GradientBoostingClassifier, hb.GradientBoostingRegressor
Own = hb.losses.OwnLoss
N, D = 300, 8
rng = np.random.default_rng(0)
X = rng.normal(size=(N, D)) @ rng.normal(size=(D, D)) + 50.0 * rng.normal(size=D)
X[rng.random(X.shape) < 0.3] = 0.0
EVEN = (X - X.mean(axis=0)) / X.std(axis=0)
LEVEL = EVEN @ rng.normal(size=D) + rng.normal(size=N)
WEIGHT = rng.uniform(0.2, 3.0, N)
FOUR = np.digitize(LEVEL, np.quantile(LEVEL, [0.3, 0.6, 0.8]))
COUNTS = rng.poisson(np.exp(np.clip(0.4 * LEVEL, -3, 3)))


def linear(maker: Any = Regressor, **params: Any) -> Any:
    return maker(booster="linear", **params)


def agree(ours: Any, theirs: Any, tolerance: float = 1e-6) -> None:
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=tolerance, atol=tolerance)


# --- what scikit-learn fits ------------------------------------------------------------------


@pytest.mark.mission("X10")
@pytest.mark.parametrize("alpha", [0.0, 0.1, 10.0, 1000.0])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["even", "weighted"])
def test_squared_error_is_ridge(alpha: float, weight: Any) -> None:
    ours = linear(reg_lambda=alpha).fit(X, LEVEL, weight)
    agree(ours, Ridge(alpha=alpha, solver="svd").fit(X, LEVEL, weight))
    assert ours.n_iter_ <= 3  # a parabola is minimised in one round


@pytest.mark.mission("X10")
@pytest.mark.parametrize("ratio", [0.2, 0.8, 1.0])
@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.5])
def test_both_penalties_are_the_elastic_net(alpha: float, ratio: float) -> None:
    """It divides the squares by 2 n, and its penalties are alpha times their share."""
    ours = linear(reg_alpha=N * alpha * ratio, reg_lambda=N * alpha * (1.0 - ratio))
    theirs = ElasticNet(alpha=alpha, l1_ratio=ratio, tol=1e-14, max_iter=10**6)
    agree(ours.fit(EVEN, LEVEL), theirs.fit(EVEN, LEVEL))
    np.testing.assert_array_equal(ours.coef_ == 0.0, theirs.coef_ == 0.0)


@pytest.mark.mission("X10")
@pytest.mark.parametrize(
    ("n_classes", "C"), [(2, 0.1), (2, 1.0), (2, 30.0), (3, 0.1), (3, 1.0), (4, 0.3)]
)
def test_log_loss_is_logistic_regression(C: float, n_classes: int) -> None:
    y = np.minimum(FOUR, n_classes - 1)
    ours = linear(Classifier, reg_lambda=1.0 / C, n_estimators=1500).fit(EVEN, y, WEIGHT)
    theirs = LogisticRegression(C=C, tol=1e-12, max_iter=10**6, solver="newton-cg")
    theirs.fit(EVEN, y, WEIGHT)
    agree(ours, theirs)
    np.testing.assert_allclose(ours.predict_proba(EVEN), theirs.predict_proba(EVEN), atol=1e-6)
    assert n_classes > 2 or ours.n_iter_ < 50  # ends when it has converged


@pytest.mark.mission("X10")
@pytest.mark.parametrize(
    ("loss", "y", "peer"),
    [("poisson", COUNTS, PoissonRegressor), ("gamma", COUNTS + 0.5, GammaRegressor)],
)
def test_deviances_are_generalised_linear_models(loss: str, y: Any, peer: Any) -> None:
    ours = linear(loss=loss, reg_lambda=3.0).fit(EVEN, y)
    theirs = peer(alpha=3.0 / N, tol=1e-12, max_iter=1000, solver="newton-cholesky").fit(EVEN, y)
    agree(ours, theirs)


@pytest.mark.mission("X10")
@pytest.mark.parametrize("loss", ["huber", "log_cosh", "tweedie"])
def test_other_losses_end_where_nothing_goes_down(loss: str) -> None:
    y = COUNTS.astype(float)
    model = linear(loss=loss, reg_lambda=0.0, n_estimators=500).fit(EVEN, y)
    best = hb.losses.resolve(loss, task="regression", y=y, options=hb.losses.LossOptions())
    one = np.ones(N)
    scores = model.ensemble_.scores(EVEN)[:, 0]
    reached = hb.losses.total_loss(best, y, one, scores)
    for j in range(D):
        for step in (1e-3, -1e-3):
            assert hb.losses.total_loss(best, y, one, scores + step * EVEN[:, j]) > reached


def test_an_own_loss_is_fitted_as_a_built_in_one() -> None:
    def logistic(y, score):
        return np.log(1.0 + np.exp(-score)) + (1.0 - y) * score

    y = FOUR > 1
    own, usual = (linear(Classifier, loss=loss).fit(EVEN, y) for loss in (logistic, "log_loss"))
    np.testing.assert_allclose(own.coef_, usual.coef_, atol=1e-5)


def test_columns_far_from_zero_and_of_any_scale_are_no_harder() -> None:
    far = EVEN * 10.0 ** np.arange(-6, 10, 2)[:D] + 10.0 ** np.arange(-4, 12, 2)[:D]
    ours, even = (linear(reg_lambda=0.0).fit(table, LEVEL) for table in (far, EVEN))
    np.testing.assert_allclose(ours.predict(far), even.predict(EVEN), atol=1e-5)


def test_columns_that_say_the_same_share_their_coefficient() -> None:
    twice = np.hstack([EVEN, EVEN[:, :1], np.ones((N, 1))])
    ours = linear(reg_lambda=1.0).fit(twice, LEVEL)
    assert ours.coef_[0] == pytest.approx(ours.coef_[D], abs=1e-6)
    assert ours.coef_[D + 1] == 0.0  # a constant says nothing that the intercept does not
    loose = linear(reg_lambda=0.0).fit(twice, LEVEL)
    np.testing.assert_allclose(
        loose.predict(twice), linear(reg_lambda=0.0).fit(EVEN, LEVEL).predict(EVEN), atol=1e-6
    )


@pytest.mark.mission("X10")
def test_tables_of_many_columns_are_worked_on_in_blocks() -> None:
    wide = scipy.sparse.random_array((200, 500), density=0.05, random_state=0, format="csr")
    y = wide[:, [1, 40, 300]].sum(axis=1) * 5.0 + np.random.default_rng(0).normal(size=200) * 0.1
    ours = linear(reg_alpha=0.2, reg_lambda=0.2).fit(wide, y)
    theirs = ElasticNet(alpha=0.4 / 200, l1_ratio=0.5, tol=1e-14, max_iter=10**6)
    agree(ours, theirs.fit(wide, y))
    signs = Classifier(booster="linear", n_estimators=200).fit(wide, y > np.median(y))
    theirs = LogisticRegression(tol=1e-12, max_iter=10**6).fit(wide, y > np.median(y))
    agree(signs, theirs)


def test_monotone_coefficients_have_their_sign() -> None:
    free = linear().fit(EVEN, LEVEL).coef_
    against = -np.sign(free).astype(int)
    against[1::2] = 0
    bound = linear(monotonic_cst=against).fit(EVEN, LEVEL).coef_
    assert (bound[::2] == 0.0).any() and (bound * against >= 0.0).all()


# --- the same model, however it is fitted ------------------------------------------------------


@pytest.mark.mission("X10")
@pytest.mark.parametrize("columns", [D, 150])
@pytest.mark.parametrize("maker", [Regressor, Classifier])
def test_one_digest_for_threads_and_kinds_of_tables(
    maker: Any, columns: int, monkeypatch: Any
) -> None:
    from hornbeam.boosting import linear_fit, scores

    monkeypatch.setattr(scores, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(linear_fit, "_SECONDS_PER_ENTRY", 1.0)  # real threads
    table = X[:, np.arange(columns) % D] * np.linspace(1.0, 2.0, columns) ** 2
    y = LEVEL if maker is Regressor else FOUR
    tables = [table, np.asfortranarray(table), scipy.sparse.csr_array(table)]
    tables += [scipy.sparse.csc_array(table), pd.DataFrame(table)]
    models = [
        linear(maker, n_estimators=5, n_jobs=n_jobs, reg_alpha=0.1).fit(one, y)
        for n_jobs in (1, 2, 4)
        for one in tables
    ]
    assert len({model.digest() for model in models}) == 1
    predicted = [model.predict(one) for model, one in zip(models, tables, strict=False)]
    for other in predicted[1:]:
        np.testing.assert_array_equal(predicted[0], other)
    predictor = models[0].predictor()
    if maker is Regressor:
        np.testing.assert_array_equal(predictor(table), predicted[0])
        assert [predictor(row) for row in table[:5]] == predicted[0][:5].tolist()
    else:
        np.testing.assert_array_equal(predictor(table), models[0].predict_proba(table))


@pytest.mark.parametrize("maker", [Regressor, Classifier])
def test_rounds_are_staged_counted_and_gone_on_with(maker: Any) -> None:
    y = LEVEL if maker is Regressor else FOUR
    whole = linear(maker, n_estimators=8, learning_rate=0.3).fit(EVEN, y)
    parts = linear(maker, n_estimators=3, learning_rate=0.3, warm_start=True).fit(EVEN, y)
    three = parts.predict(EVEN)
    assert parts.n_iter_ == 3
    assert parts.set_params(n_estimators=8).fit(EVEN, y).digest() == whole.digest()
    stages = list(whole.staged_predict(EVEN))
    assert len(stages) == whole.n_iter_ == 8
    np.testing.assert_array_equal(stages[2], three)
    np.testing.assert_array_equal(stages[2], whole.predict(EVEN, n_rounds=3))
    assert len(np.unique(whole.predict(EVEN, n_rounds=0))) == 1
    falling = linear(maker, n_estimators=8, learning_rate=lambda k: 0.3).fit(EVEN, y)
    assert falling.digest() == whole.digest()
    parts.booster = "trees"
    with pytest.raises(ValueError, match="a model of another booster than 'trees'"):
        parts.set_params(n_estimators=9).fit(EVEN, y)


def test_early_stopping_keeps_the_best_round() -> None:
    noisy = np.hstack([EVEN, rng.normal(size=(N, 150))])
    params = {"learning_rate": 0.05, "reg_lambda": 0.0, "n_estimators": 300, "random_state": 0}
    stopped = linear(n_iter_no_change=5, scoring=["loss", "r2"], **params).fit(noisy, LEVEL)
    curve = stopped.history_["validation"]
    assert 1 < stopped.n_iter_ == 1 + int(np.argmin(curve)) < len(curve) < 300
    assert len(stopped.history_["validation r2"]) == len(curve)
    seen: list[int] = []
    linear(**params).fit(noisy, LEVEL, callbacks=[lambda report: seen.append(report.number)])
    assert seen[:3] == [1, 2, 3]
    ended = linear(**params).fit(noisy, LEVEL, callbacks=[lambda report: report.number == 4])
    assert ended.n_iter_ == 4


def test_scores_to_start_from_are_not_part_of_the_model() -> None:
    base = 3.0 * EVEN[:, 0] + 7.0
    rest = linear(reg_lambda=0.0).fit(EVEN, LEVEL, init_score=base)
    full = linear(reg_lambda=0.0).fit(EVEN, LEVEL)
    np.testing.assert_allclose(rest.predict(EVEN) + base, full.predict(EVEN), atol=1e-6)


@pytest.mark.parametrize("exponent", [-150, 200])
def test_targets_beyond_single_precision_are_scaled(exponent: int) -> None:
    scale = 2.0**exponent
    usual = linear(reg_lambda=2.0).fit(EVEN, LEVEL)
    scaled = linear(reg_lambda=2.0).fit(EVEN, LEVEL * scale)
    np.testing.assert_allclose(scaled.coef_ / scale, usual.coef_, rtol=1e-6, atol=1e-7)


def test_the_ranker_learns_a_linear_score() -> None:
    group = [30] * 10
    ranker = linear(hb.GradientBoostingRanker, n_estimators=50, learning_rate=0.3)
    ranker.fit(EVEN, FOUR, group=group)
    flat = hb.GradientBoostingRanker(n_estimators=1, learning_rate=1e-9).fit(
        EVEN, FOUR, group=group
    )
    assert ranker.score(EVEN, FOUR, group=group) > flat.score(EVEN, FOUR, group=group) + 0.05
    assert ranker.coef_.shape == (D,)


# --- categories and missing values -------------------------------------------------------------


def mixed() -> tuple[pd.DataFrame, Any]:
    table = pd.DataFrame(
        {
            "size": EVEN[:, 0],
            "kind": np.random.default_rng(1).choice(list("abc"), N),
            "age": EVEN[:, 1] + 3.0,
        }
    )
    table.loc[::7, "size"] = np.nan
    table.loc[::11, "kind"] = None
    return table, LEVEL + (table["kind"] == "b")


def test_categories_and_missing_values_are_columns_of_their_own() -> None:
    """As a ridge of columns that are written out."""
    table, y = mixed()
    ours = linear(reg_lambda=1.5).fit(table, y)
    assert ours.term_names_ == [
        "size", "size is missing", "kind=a", "kind=b", "kind=c", "kind is missing", "age"
    ]  # fmt: skip
    mean = table["size"].mean()
    columns = [table["size"].fillna(mean), table["size"].isna()]
    columns += [table["kind"] == kind for kind in "abc"]
    columns += [table["kind"].isna(), table["age"]]
    written = np.column_stack([np.asarray(column, float) for column in columns])
    theirs = Ridge(alpha=1.5, solver="svd").fit(written, y)
    agree(ours, theirs)
    np.testing.assert_allclose(ours.predict(table), theirs.predict(written), atol=1e-6)
    shares = np.abs(theirs.coef_) * written.std(axis=0)
    by_feature = np.array([shares[:2].sum(), shares[2:6].sum(), shares[6]])
    np.testing.assert_allclose(ours.feature_importances_, by_feature / by_feature.sum(), atol=1e-5)
    assert ours.importances("permutation", table, y).shape == (3,)


def test_what_was_never_missing_counts_as_the_mean() -> None:
    table, y = mixed()
    model = linear().fit(table, y)
    other = pd.DataFrame(
        {"size": [0.5, 0.5], "kind": ["a", "new"], "age": [np.nan, table["age"].mean()]}
    )
    first, second = model.predict(other)
    by_name = dict(zip(model.term_names_, model.coef_, strict=True))
    base = model.intercept_ + 0.5 * by_name["size"] + table["age"].mean() * by_name["age"]
    # an unknown category is a missing one, as everywhere
    assert second == pytest.approx(base + by_name["kind is missing"])
    assert first == pytest.approx(base + by_name["kind=a"])


def test_sparse_tables_may_lack_values() -> None:
    holes = X.copy()
    holes[::9, 2] = np.nan
    dense, sparse = linear().fit(holes, LEVEL), linear().fit(scipy.sparse.csr_array(holes), LEVEL)
    assert dense.digest() == sparse.digest()
    np.testing.assert_array_equal(
        dense.predict(holes), sparse.predict(scipy.sparse.csc_array(holes))
    )


# --- files -------------------------------------------------------------------------------------


@pytest.mark.parametrize("maker", [Regressor, Classifier])
def test_models_are_saved_loaded_and_pickled(maker: Any, tmp_path: Any) -> None:
    table, y = mixed()
    y = y if maker is Regressor else FOUR
    model = linear(maker, n_estimators=4, learning_rate=0.5).fit(table, y)
    model.save(tmp_path / "model")
    for read in (hb.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert read.digest() == model.digest() and read.booster == "linear"
        np.testing.assert_array_equal(read.predict(table), model.predict(table))
        np.testing.assert_array_equal(read.coef_, model.coef_)
        assert read.term_names_ == model.term_names_
    assert clone(model).booster == "linear"


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("feature", np.array([0, 9], np.int32), "do not fit each other"),
        ("feature", None, "asks a feature that is not there"),
        ("kind", "category", "asks a category that is not there"),
        ("kind", "unknown", "asks a category that is not there"),
        ("fill", np.zeros(1), "do not fit each other"),
        ("spread", np.full(D, np.nan), "spread"),
        ("path", np.full((1, 1, D + 1), np.inf), "path"),
        ("path", np.zeros((2, 1, D + 1)), "2 rounds, not 1"),
        ("path", np.zeros((1, 2, D + 1)), "do not fit each other"),
    ],
)
def test_arrays_that_no_fit_has_left_are_refused(field: str, value: Any, message: str) -> None:
    model = linear(n_estimators=1).fit(EVEN, LEVEL)
    terms = model.linear_.terms
    if value is None:
        value = terms.feature + np.int32(1)
    elif isinstance(value, str):
        value = np.full(D, 0 if value == "category" else -3, np.int32)
    path = value if field == "path" else model.linear_.path
    terms = terms if field == "path" else terms._replace(**{field: value})
    broken = LinearRounds(terms, path, model.linear_.start)
    model.linear_ = model.ensemble_ = broken
    with pytest.raises(ModelFileError, match=message):
        pickle.loads(pickle.dumps(model))


# --- what makes no sense -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"drop_rate": 0.1}, "drop_rate=0.1 does not go with booster='linear': there are no trees"),
        ({"interaction_constraints": [[0, 1]]}, "interaction_constraints=.*none of them interact"),
        ({"feature_weights": [1] * D}, "feature_weights=.* it draws no features"),
        ({"subsample": 0.5}, "subsample=0.5 .* every round looks at all rows"),
        ({"colsample_bytree": 0.5}, "colsample_bytree=0.5"),
        ({"colsample_bynode": 0.5}, "colsample_bynode=0.5"),
        ({"max_delta_step": 1.0}, "max_delta_step=1.0"),
        ({"loss": "absolute_error"}, "'absolute_error' has no second derivative .* take 'huber'"),
        ({"loss": "quantile"}, "'quantile' has no second derivative"),
        ({"loss": "sqrt_absolute", "order": 1}, "no second derivative"),
        ({"loss": lambda y, score: y * score}, "second derivatives that are not positive"),
        ({"booster": "forest"}, "The 'booster' parameter"),
        ({"learning_rate": -0.1}, "The 'learning_rate' parameter"),
    ],
)
def test_settings_that_make_no_sense_are_sentences(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Regressor(**{"booster": "linear", **params}).fit(EVEN, LEVEL)


def test_numbers_that_cannot_be_multiplied_are_sentences() -> None:
    for value in (np.inf, -np.inf, 1e200):
        bad = EVEN.copy()
        bad[3, 2] = value
        for table in (bad, scipy.sparse.csr_array(bad)):
            with pytest.raises(ValueError, match="which a linear model cannot multiply"):
                linear().fit(table, LEVEL)
            with pytest.raises(ValueError, match="which a linear model cannot multiply"):
                linear().fit(EVEN, LEVEL).predict(table)


def test_what_only_trees_have_is_a_sentence() -> None:
    model = linear().fit(EVEN, LEVEL)
    for ask in (
        lambda: model.apply(EVEN),
        lambda: model.tree(0),
        lambda: model.importances("split"),
    ):
        with pytest.raises(ValueError, match="booster='linear'"):
            ask()
    assert len(model.trees_) == 0
    trees = Regressor(n_estimators=2, learning_rate=0.1).fit(EVEN, LEVEL)
    for name in ("coef_", "intercept_", "term_names_"):
        assert not hasattr(trees, name)
    empty = linear_scores(model.linear_.terms, model.linear_.coefficients(), EVEN[:0])
    assert empty.shape == (0, 1)


@parametrize_with_checks([linear(Classifier), linear(Regressor)])
def test_yielded_check(estimator: Any, check: Any) -> None:
    """No expected failures; a weight of 3 is not three rows to the last bit of float32, though."""
    if "sample_weight_equivalence" in str(check):
        pytest.skip("scikit-learn asks for 1e-7: shown to the precision of the slopes below")
    check(estimator)


@pytest.mark.parametrize("maker", [Regressor, Classifier])
def test_a_weight_is_so_many_rows(maker: Any) -> None:
    y = LEVEL if maker is Regressor else FOUR > 1
    times = np.random.default_rng(2).integers(0, 4, N)
    weighted = linear(maker).fit(EVEN, y, times)
    repeated = linear(maker).fit(np.repeat(EVEN, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-6)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, atol=1e-6)

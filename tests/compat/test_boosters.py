"""XGBoost's and LightGBM's estimators: constructors, arguments of fit, what is there afterwards."""

from __future__ import annotations

import importlib
import inspect
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

import hornbeam as hb
from hornbeam.compat import lightgbm as lgb
from hornbeam.compat import xgboost as xgb
from hornbeam.compat.translation import page

DOCS = Path(__file__).resolve().parents[2] / "docs" / "compat"
PEERS = ("xgboost", "lightgbm")

rng = np.random.default_rng(0)
X, X_VAL = rng.normal(size=(200, 4)), rng.normal(size=(100, 4))
LEVEL, LEVEL_VAL = (x[:, 0] + x[:, 1] ** 2 + rng.normal(size=len(x)) for x in (X, X_VAL))
LABEL, LABEL_VAL = (LEVEL > 1).astype(int), (LEVEL_VAL > 1).astype(int)
THREE = np.digitize(LEVEL, [0.0, 1.5])
QUERIES = np.repeat(np.arange(20), 10)
RELEVANCE = np.clip(np.round(LEVEL), 0, 3).astype(int)


# --- tables and pages ---------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.parametrize("peer", PEERS)
def test_the_page_is_made_from_the_tables(peer: str) -> None:
    """`python -m hornbeam.compat docs/compat` writes it."""
    module = importlib.import_module(f"hornbeam.compat.{peer}")
    assert (DOCS / f"{peer}.md").read_text(encoding="utf-8") == page(module)


@pytest.mark.quick
@pytest.mark.parametrize("peer", PEERS)
def test_every_parameter_has_a_row(peer: str) -> None:
    module = importlib.import_module(f"hornbeam.compat.{peer}")
    for translation in module.TRANSLATIONS:
        ours = getattr(module, translation.theirs)
        names = [row.theirs for row in translation.parameters]
        assert len(names) == len(set(names))
        assert set(inspect.signature(ours.__init__).parameters) - {"self", "kwargs"} <= set(names)
        assert set(ours._aliases) | set(ours._aliases.values()) <= set(names)
        given = set().union(*(name.split(", ") for name in translation.fit))
        assert given >= set(inspect.signature(ours.fit).parameters) - {"self"}
        for name in ", ".join(translation.attributes).replace("()", "").split(", "):
            fitted_later = {
                "engine_",
                "evals_result_",
                "best_iteration_",
                "best_score_",
                "classes_",
            }
            fitted_later |= {"n_classes_", "n_features_in_", "feature_names_in_", "feature_name_"}
            assert hasattr(ours, name) or name in fitted_later, name


@pytest.mark.quick
@pytest.mark.parametrize("peer", PEERS)
def test_constructors_are_those_of_the_peer(peer: str) -> None:
    """Where it is installed; it is in the bench extra only."""
    theirs = pytest.importorskip(peer)
    module = importlib.import_module(f"hornbeam.compat.{peer}")
    for translation in module.TRANSLATIONS:
        ours, other = (getattr(m, translation.theirs) for m in (module, theirs))
        defaults, expected = ours().get_params(), other().get_params()
        missing = {name for name in expected if expected[name] is np.nan or expected[name] is None}
        assert defaults.keys() == expected.keys()
        assert all(defaults[name] == expected[name] for name in expected.keys() - missing)
        fit, their_fit = (inspect.signature(one.fit).parameters for one in (ours, other))
        names, expected_names = list(fit), list(their_fit)
        assert names == expected_names
        assert [fit[name].kind for name in names] == [their_fit[name].kind for name in names]


@pytest.mark.quick
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: xgb.XGBRegressor(device="cuda"), r"device='cuda'\).*processor cores"),
        (lambda: xgb.XGBRegressor(missing=-999), "replace it by NaN first: X = np.where"),
        (lambda: xgb.XGBRegressor(booster="gbforest"), "choose one of these"),
        (lambda: xgb.XGBRegressor(objective="reg:pseudohubererror"), "a function of one row"),
        (lambda: xgb.XGBRegressor(num_parallel_tree=5), "hornbeam.RandomForestClassifier"),
        (lambda: xgb.XGBRegressor(eval_metric="rmsee"), "eval_metric='rmsee' is not measured"),
        (lambda: xgb.XGBRegressor(early_stopping_rounds=3), "at least 1 validation dataset"),
        (lambda: xgb.XGBRegressor(tree_method="gpu_hist"), "tree_method='hist'"),
        (lambda: lgb.LGBMRegressor(boosting_type="rf"), "take hornbeam.RandomForest"),
        (lambda: lgb.LGBMRegressor(data_sample_strategy="mvs"), "choose 'bagging' or 'goss'"),
        (lambda: xgb.XGBRegressor(sampling_method="goss"), "choose 'uniform' or 'gradient_based'"),
        (lambda: lgb.LGBMRegressor(objective="huber"), "parts errors at a distance"),
        (lambda: lgb.LGBMRegressor(linear_tree=True), "leaves hold constants"),
        (lambda: lgb.LGBMRegressor(early_stopping_round=3), "at least one dataset and eval"),
        (lambda: lgb.LGBMRegressor(scale_pos_weight=2), "pass sample_weight to fit"),
    ],
)
def test_what_has_no_equivalent_says_what_to_write(make: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make().fit(X, LEVEL)


@pytest.mark.quick
def test_what_is_not_there_says_what_to_use() -> None:
    for module, names in (
        (xgb, ("train", "DMatrix", "XGBRFClassifier")),
        (lgb, ("train", "Dataset")),
    ):
        for name in names:
            with pytest.raises(ImportError, match=f"has no {name}: use "):
                getattr(module, name)
        assert not hasattr(module, "nonsense")
    for model in (xgb.XGBRegressor(foo=1), lgb.LGBMRegressor(foo=1)):
        with pytest.raises(TypeError, match="has no parameter 'foo'; the page about"):
            model.fit(X, LEVEL)
    with pytest.raises(NotImplementedError, match="one learning rate"):
        xgb.callback.LearningRateScheduler([0.1])
    with pytest.raises(NotImplementedError, match="the same parameters"):
        lgb.reset_parameter(learning_rate=[0.1])
    for argument in ({"base_margin_eval_set": [LEVEL]},):
        with pytest.raises(ValueError, match=f"fit.{next(iter(argument))}=.* has no equivalent"):
            xgb.XGBRegressor().fit(X, LEVEL, **argument)
    with pytest.raises(ValueError, match=r"fit\(eval_init_score=.* has no equivalent"):
        lgb.LGBMRegressor().fit(X, LEVEL, eval_init_score=[LEVEL])
    with pytest.raises(NotFittedError):
        xgb.XGBClassifier().predict(X)


# --- the models are those of our engine ---------------------------------------------------------


@pytest.mark.parametrize("peer", PEERS)
def test_the_engine_has_the_translated_parameters(peer: str) -> None:
    few: dict[str, Any] = {"n_estimators": 5, "learning_rate": 0.2, "max_depth": 3}
    if peer == "xgboost":
        model: Any = xgb.XGBRegressor(**few, gamma=0.4, reg_alpha=0.1).fit(X, LEVEL)
        changes: dict[str, Any] = {"min_split_gain": 0.2, "reg_alpha": 0.1}
    else:
        model = lgb.LGBMRegressor(**few, min_split_gain=0.4, lambda_l1=0.1).fit(X, LEVEL)
        changes = {"min_split_gain": 0.2, "reg_alpha": 0.1, "category_smooth": 10.0}
    ours = hb.GradientBoostingRegressor.preset(peer, random_state=0, **{**few, **changes})
    assert ours.fit(X, LEVEL).digest() == model.digest()
    np.testing.assert_array_equal(model.predict(X_VAL), ours.predict(X_VAL))


def test_hessians_of_several_classes_count_as_in_xgboost() -> None:
    """2 p (1 - p) there, K / (K - 1) p (1 - p) here: for three classes 4/3 as much."""
    model = xgb.XGBClassifier(n_estimators=2, learning_rate=0.4, gamma=0.3).fit(X, THREE)
    engine = model.engine_
    assert engine.learning_rate == pytest.approx(0.3) and engine.reg_lambda == pytest.approx(0.75)
    assert engine.min_split_gain == pytest.approx(0.3 * 0.5 * 4 / 3)
    assert engine.min_child_weight == pytest.approx(0.75)


def test_bagging_of_lightgbm_needs_a_frequency() -> None:
    drawn = lgb.LGBMRegressor(n_estimators=3, subsample=0.5, bagging_freq=5).fit(X, LEVEL)
    whole = lgb.LGBMRegressor(n_estimators=3, subsample=0.5).fit(X, LEVEL)
    assert (drawn.engine_.subsample, whole.engine_.subsample) == (0.5, 1.0)


def test_gradients_draw_rows() -> None:
    few: dict[str, Any] = {"n_estimators": 3, "min_child_samples": 5}
    rates: dict[str, Any] = {"top_rate": 0.3, "other_rate": 0.2}
    goss = lgb.LGBMRegressor(**few, boosting_type="goss", **rates).fit(X, LEVEL)
    ours = hb.GradientBoostingRegressor.preset(
        "lightgbm", n_estimators=3, min_samples_leaf=5, sampling="goss", **rates, random_state=0
    )
    assert goss.engine_.digest() == ours.fit(X, LEVEL).digest()
    same = lgb.LGBMRegressor(**few, data_sample_strategy="goss", subsample=0.5, subsample_freq=1)
    assert same.fit(X, LEVEL).engine_.sampling == "goss"
    mvs = xgb.XGBRegressor(n_estimators=3, sampling_method="gradient_based", subsample=0.5)
    assert mvs.fit(X, LEVEL).engine_.sampling == "mvs"
    whole = xgb.XGBRegressor(n_estimators=3, sampling_method="gradient_based").fit(X, LEVEL)
    assert whole.engine_.sampling == "uniform"


@pytest.mark.parametrize("maker", [xgb.XGBClassifier, lgb.LGBMClassifier])
def test_classes_can_weigh(maker: Any) -> None:
    names = np.where(LABEL == 1, "yes", "no")
    few: dict[str, Any] = {"n_estimators": 5, "verbosity": 0}
    plain = maker(**few).fit(X, names).predict_proba(X)[:, 1].mean()
    heavy = maker(**few, scale_pos_weight=5.0).fit(X, names)
    assert heavy.predict_proba(X)[:, 1].mean() > plain + 0.1
    assert set(heavy.predict(X)) <= {"no", "yes"} and heavy.classes_.tolist() == ["no", "yes"]
    if maker is lgb.LGBMClassifier:
        weights = {"no": 1.0, "yes": float((LABEL == 0).sum() / (LABEL == 1).sum())}
        balanced = maker(**few, is_unbalance=True).fit(X, names)
        assert balanced.digest() == maker(**few, class_weight=weights).fit(X, names).digest()


# --- rows to evaluate, early stopping, callbacks ------------------------------------------------


def test_xgboost_keeps_the_best_round(capsys: Any) -> None:
    model = xgb.XGBClassifier(
        n_estimators=200, max_depth=3, eval_metric=["auc", "logloss"], early_stopping_rounds=5
    )
    model.fit(X, LABEL, eval_set=[(X, LABEL), (X_VAL, LABEL_VAL)], verbose=10)
    log = model.evals_result()
    assert list(log) == ["validation_0", "validation_1"]
    assert list(log["validation_1"]) == ["auc", "logloss"]
    losses = log["validation_1"]["logloss"]
    assert model.best_iteration == int(np.argmin(losses)) == len(losses) - 6
    assert model.best_score == min(losses) and model.engine_.n_iter_ == model.best_iteration + 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("[0]\tvalidation_0-auc:") and f"-logloss:{losses[0]:.5f}" in lines[0]
    assert lines[-1].startswith(f"[{len(losses) - 1}]")
    fewer = clone(model).set_params(
        early_stopping_rounds=None, n_estimators=model.best_iteration + 1
    )
    assert fewer.fit(X, LABEL).digest() == model.digest()
    with pytest.raises(AttributeError, match="only defined when early stopping"):
        fewer.best_iteration  # noqa: B018


def test_callbacks_of_xgboost() -> None:
    heard: list[int] = []

    class Own(xgb.callback.TrainingCallback):
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            heard.append(epoch)
            assert len(evals_log["validation_0"]["rmse"]) == epoch + 1
            return epoch == 7

    stop = xgb.callback.EarlyStopping(rounds=50, metric_name="mae", data_name="validation_0")
    model = xgb.XGBRegressor(eval_metric=["mae", "rmse"], callbacks=[Own(), stop])
    model.fit(X, LEVEL, eval_set=[(X_VAL, LEVEL_VAL)], verbose=False)
    assert heard == list(range(8))
    errors = model.evals_result()["validation_0"]["mae"]
    assert model.best_iteration == int(np.argmin(errors))
    with pytest.raises(ValueError, match="No metric named: auc"):
        wrong = xgb.callback.EarlyStopping(rounds=3, metric_name="auc")
        xgb.XGBRegressor(callbacks=[wrong]).fit(X, LEVEL, eval_set=[(X, LEVEL)], verbose=False)


def test_lightgbm_stops_by_each_metric(capsys: Any) -> None:
    record: dict[str, Any] = {}
    model = lgb.LGBMClassifier(n_estimators=300, num_leaves=7)
    model.fit(
        X,
        LABEL,
        eval_set=[(X, LABEL), (X_VAL, LABEL_VAL)],
        eval_names=["train", "valid"],
        eval_metric=["auc", "binary_error"],
        callbacks=[lgb.record_evaluation(record), lgb.early_stopping(5), lgb.log_evaluation(4)],
    )
    assert record == model.evals_result_ and list(record) == ["train", "valid"]
    assert list(record["valid"]) == ["auc", "binary_error", "binary_logloss"]
    n_rounds = len(record["valid"]["auc"])
    bests = {
        "auc": int(np.argmax(record["valid"]["auc"])),
        "binary_error": int(np.argmin(record["valid"]["binary_error"])),
        "binary_logloss": int(np.argmin(record["valid"]["binary_logloss"])),
    }
    assert n_rounds - 1 - min(bests.values()) == 5  # the first one to wait so long
    assert model.best_iteration_ == min(bests.values()) + 1 == model.n_estimators_ == model.n_iter_
    best = {name: own[model.best_iteration_ - 1] for name, own in record["valid"].items()}
    assert model.best_score_["valid"] == best
    out = capsys.readouterr().out
    assert "Training until validation scores don't improve for 5 rounds" in out
    assert f"[4]\ttrain's auc: {record['train']['auc'][3]:g}" in out
    assert f"Early stopping, best iteration is:\n[{model.best_iteration_}]" in out


def test_own_metrics_and_own_callbacks_of_lightgbm() -> None:
    def worst(y: Any, p: Any) -> tuple[str, float, bool]:
        return "worst", float(np.abs(y - p).max()), False

    seen: list[Any] = []

    def stop_at_four(env: Any) -> None:
        seen.append([result[:2] for result in env.evaluation_result_list])
        if env.iteration == 4:
            raise lgb.EarlyStopException(2, env.evaluation_result_list)

    model = lgb.LGBMRegressor(metric="mae")
    model.fit(X, LEVEL, eval_X=X_VAL, eval_y=LEVEL_VAL, eval_metric=worst, callbacks=[stop_at_four])
    assert seen[0] == [("valid_0", "l1"), ("valid_0", "worst")] and len(seen) == 5
    assert model.best_iteration_ == 3
    three = lgb.LGBMRegressor(n_estimators=3).fit(X, LEVEL)
    assert three.digest() == model.digest()
    gaps = np.abs(three.predict(X_VAL) - LEVEL_VAL)
    assert model.evals_result_["valid_0"]["worst"][2] == pytest.approx(gaps.max())


def test_weights_of_evaluated_rows_count() -> None:
    weight = rng.uniform(0.2, 3.0, 100)
    found = xgb.XGBRegressor(n_estimators=3, eval_metric="mae").fit(
        X, LEVEL, eval_set=[(X_VAL, LEVEL_VAL)], sample_weight_eval_set=[weight], verbose=False
    )
    expected = np.average(np.abs(found.predict(X_VAL) - LEVEL_VAL), weights=weight)
    assert found.evals_result()["validation_0"]["mae"][-1] == pytest.approx(expected)
    other = lgb.LGBMClassifier(n_estimators=3).fit(
        X, LABEL, eval_set=[(X_VAL, LABEL_VAL)], eval_class_weight=["balanced"]
    )
    share = other.predict_proba(X_VAL)[:, 1]
    losses = -np.where(LABEL_VAL == 1, np.log(share), np.log(1 - share))
    means = [losses[label == LABEL_VAL].mean() for label in (0, 1)]
    assert other.evals_result_["valid_0"]["binary_logloss"][-1] == pytest.approx(np.mean(means))
    with pytest.raises(ValueError, match="has 2 entries, but eval_set has 1"):
        lgb.LGBMRegressor().fit(
            X, LEVEL, eval_set=[(X, LEVEL)], eval_sample_weight=[weight, weight]
        )
    with pytest.raises(TypeError, match=r"a list of pairs \(X, y\)"):
        xgb.XGBRegressor().fit(X, LEVEL, eval_set=[X])


# --- what was fitted ----------------------------------------------------------------------------


@pytest.mark.parametrize("maker", [xgb.XGBRegressor, lgb.LGBMRegressor])
def test_some_of_the_rounds_predict(maker: Any) -> None:
    model, few = (maker(n_estimators=n, max_depth=3).fit(X, LEVEL) for n in (8, 3))
    raw = {"output_margin": True} if maker is xgb.XGBRegressor else {"raw_score": True}
    if maker is xgb.XGBRegressor:
        three = model.predict(X_VAL, iteration_range=(0, 3))
        rest = model.predict(X_VAL, iteration_range=(3, 8))
        leaves = model.apply(X_VAL)
        np.testing.assert_array_equal(
            model.predict(X_VAL, iteration_range=(0, 0)), model.predict(X_VAL)
        )
    else:
        three = model.predict(X_VAL, num_iteration=3)
        rest = model.predict(X_VAL, start_iteration=3)
        leaves = model.predict(X_VAL, pred_leaf=True)
    np.testing.assert_array_equal(three, few.predict(X_VAL))
    assert three + rest - LEVEL.mean() == pytest.approx(model.predict(X_VAL))
    assert leaves.shape == (100, 8)
    np.testing.assert_array_equal(model.predict(X_VAL, **raw), model.predict(X_VAL))


def test_importances_by_their_names() -> None:
    frame = pd.DataFrame(X, columns=["a b", "b", "c", "d"])
    model = xgb.XGBRegressor(n_estimators=10, max_depth=3).fit(frame, LEVEL)
    booster = model.get_booster()
    counts, totals, means = (
        booster.get_score(importance_type=kind) for kind in ("weight", "total_gain", "gain")
    )
    assert sum(counts.values()) == sum(tree.n_leaves - 1 for tree in model.engine_.trees_)
    assert totals == pytest.approx({name: means[name] * counts[name] for name in counts})
    shares = model.feature_importances_
    assert shares.sum() == pytest.approx(1.0, rel=1e-6) and shares.argmax() in (0, 1)
    assert booster.feature_names == list(frame.columns) and booster.num_boosted_rounds() == 10
    leaf_wise = lgb.LGBMRegressor(n_estimators=10).fit(frame, LEVEL)
    assert leaf_wise.feature_name_[0] == "a_b" and leaf_wise.n_features_ == 4
    splits = leaf_wise.feature_importances_
    assert splits.dtype == np.int32
    assert splits.sum() == sum(tree.n_leaves - 1 for tree in leaf_wise.engine_.trees_)
    gains = leaf_wise.booster_.feature_importance("gain")
    assert (gains > 0).tolist() == (splits > 0).tolist()
    with pytest.raises(ValueError, match="importance_type must be one of"):
        xgb.XGBRegressor(n_estimators=2, importance_type="x").fit(X, LEVEL).feature_importances_  # noqa: B018
    with pytest.raises(ValueError, match=r"pred_contrib=True.*importances"):
        leaf_wise.predict(X, pred_contrib=True)


def test_gains_are_those_of_the_objective(tmp_path: Any) -> None:
    """G^2 / (H + lambda) of the children, less that of the node: no half."""
    model = xgb.XGBRegressor(n_estimators=1, max_depth=1, reg_lambda=0.0, learning_rate=1.0)
    booster = model.fit(X, LEVEL).get_booster()
    ((name, gain),) = booster.get_score(importance_type="gain").items()
    left = model.apply(X)[:, 0] == model.apply(X)[:, 0].min()
    rest = LEVEL - LEVEL.mean()
    expected = rest[left].sum() ** 2 / left.sum() + rest[~left].sum() ** 2 / (~left).sum()
    assert gain == pytest.approx(expected, rel=1e-4) and name.startswith("f")
    model.save_model(tmp_path / "model.json")
    again = xgb.XGBRegressor()
    again.load_model(tmp_path / "model.json")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="holds a GradientBoostingRegressor, which is not what"):
        xgb.XGBClassifier().load_model(tmp_path / "model.json")


@pytest.mark.parametrize("maker", [xgb.XGBClassifier, lgb.LGBMClassifier])
def test_searches_clones_and_pickles(maker: Any) -> None:
    model = maker(n_estimators=5, eta=0.3)
    assert clone(model).get_params() == model.get_params() and "eta=0.3" in repr(model)
    search = GridSearchCV(model, {"max_depth": [1, 3], "eta": [0.1, 0.3]}, cv=2).fit(X, LABEL)
    best = search.best_estimator_
    assert best.engine_.learning_rate == search.best_params_["eta"]
    again = pickle.loads(pickle.dumps(best))
    np.testing.assert_array_equal(again.predict_proba(X), best.predict_proba(X))
    assert hb.GradientBoostingClassifier in type(best.engine_).__mro__
    assert best.set_params(eta=0.5).get_params()["eta"] == 0.5


@pytest.mark.parametrize("maker", [xgb.XGBRegressor, lgb.LGBMRegressor])
def test_going_on_with_a_model(maker: Any) -> None:
    whole = maker(n_estimators=6).fit(X, LEVEL)
    first = maker(n_estimators=4).fit(X, LEVEL)
    earlier = {"xgb_model" if maker is xgb.XGBRegressor else "init_model": first}
    both = maker(n_estimators=2).fit(X, LEVEL, **earlier)
    assert both.digest() == whole.digest() and first.engine_.n_iter_ == 4
    with pytest.raises(TypeError, match="must be a fitted"):
        maker().fit(X, LEVEL, **dict.fromkeys(earlier, "model.txt"))


def test_rankers() -> None:
    by_name = pd.DataFrame(X, columns=list("abcd")).assign(qid=QUERIES)
    model = xgb.XGBRanker(n_estimators=10, max_depth=3).fit(by_name, RELEVANCE)
    other = xgb.XGBRanker(n_estimators=10, max_depth=3)
    other.fit(by_name[list("abcd")], RELEVANCE, group=[10] * 20, sample_weight=np.ones(20))
    assert model.digest() == other.digest()
    assert model.score(by_name, RELEVANCE) > 0.7
    np.testing.assert_array_equal(model.predict(by_name), other.predict(by_name[list("abcd")]))
    watched = xgb.XGBRanker(n_estimators=4, eval_metric=["ndcg@3", "map"]).fit(
        X, RELEVANCE, qid=QUERIES, eval_set=[(X, RELEVANCE)], eval_qid=[QUERIES]
    )
    assert list(watched.evals_result()["validation_0"]) == ["ndcg@3", "map"]
    leaf_wise = lgb.LGBMRanker(n_estimators=4, min_child_samples=5)
    leaf_wise.fit(
        X, RELEVANCE, group=[10] * 20, eval_set=[(X, RELEVANCE)], eval_group=[[10] * 20],
        eval_at=[3], callbacks=[lgb.early_stopping(2, verbose=False)],
    )  # fmt: skip
    assert list(leaf_wise.evals_result_) == ["training"]
    assert leaf_wise.predict(X).shape == (200,) and leaf_wise.objective_ == "lambdarank"
    with pytest.raises(ValueError, match="Should set group"):
        lgb.LGBMRanker().fit(X, RELEVANCE)


def test_tables_as_they_are() -> None:
    frame = pd.DataFrame({"kind": rng.choice(["a", "b", None], 200), "x": X[:, 0], "n": THREE})
    y = LEVEL + 2.0 * (frame["kind"] == "a")
    model = xgb.XGBRegressor(n_estimators=30, feature_types=["c", "q", "c"]).fit(frame, y)
    assert model.score(frame, y) > 0.5 and model.engine_.schema_.is_category.tolist() == [
        True,
        False,
        True,
    ]
    other = lgb.LGBMRegressor(n_estimators=30).fit(frame, y, categorical_feature=["n"])
    assert other.engine_.schema_.is_category.tolist() == [True, False, True]
    bound = xgb.XGBRegressor(n_estimators=5, monotone_constraints="(1,0,0,-1)").fit(X, LEVEL)
    assert (
        bound.engine_.monotonic_cst == [1, 0, 0, -1] and hb.check_constraints(bound.engine_) == []
    )
    groups = xgb.XGBRegressor(n_estimators=2, interaction_constraints="[[0, 1], [2, 3]]")
    assert groups.fit(X, LEVEL).engine_.interaction_constraints == [[0, 1], [2, 3]]
    margin = np.full(200, 3.0)
    start = xgb.XGBRegressor(n_estimators=3).fit(X, LEVEL, base_margin=margin)
    assert start.predict(X, base_margin=margin) == pytest.approx(3.0 + start.predict(X), rel=1e-12)


# --- a linear model, and weights of features ------------------------------------------------


@pytest.mark.parametrize("weight", [None, np.linspace(0.5, 2.0, len(X))], ids=["even", "weighted"])
def test_gblinear_is_their_model_at_convergence(weight: Any) -> None:
    """Their coordinate descent needs many rounds; penalties are per weight of the rows."""
    peer = pytest.importorskip("xgboost")
    params = {"booster": "gblinear", "reg_lambda": 0.1, "reg_alpha": 0.02, "n_estimators": 500}
    full = np.nan_to_num(np.asarray(X, float))
    theirs = peer.XGBRegressor(updater="coord_descent", **params)
    theirs.fit(full, LEVEL, sample_weight=weight)
    ours = xgb.XGBRegressor(**params).fit(full, LEVEL, sample_weight=weight)
    np.testing.assert_allclose(ours.predict(full), theirs.predict(full), atol=2e-3)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-3)
    assert ours.coef_.shape == (full.shape[1],) and ours.intercept_.shape == (1,)
    np.testing.assert_array_equal(
        ours.predict(full, iteration_range=(0, 2)), ours.engine_.predict(full, n_rounds=2)
    )


def test_weights_of_features_are_taken() -> None:
    few = {"n_estimators": 5, "colsample_bynode": 0.5, "random_state": 0}
    n_features = np.asarray(X).shape[1]
    weights = [0.0] + [1.0] * (n_features - 1)
    one = xgb.XGBRegressor(feature_weights=weights, **few).fit(X, LEVEL)
    other = xgb.XGBRegressor(**few).fit(X, LEVEL, feature_weights=weights)
    assert one.digest() == other.digest()
    assert one.engine_.importances("split")[0] == 0.0

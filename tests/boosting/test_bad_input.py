"""Bad input of every kind: the right result, or a sentence; never a crash or a silent constant."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.exceptions import NotFittedError
from tree import test_inputs_end_to_end as tables

import hornbeam as hb

Classifier, Regressor = hb.GradientBoostingClassifier, hb.GradientBoostingRegressor
Ranker = hb.GradientBoostingRanker
BOTH = [Classifier, Regressor]
NAN, INF = float("nan"), float("inf")

rng = np.random.default_rng(0)
N = 200
X = rng.normal(size=(N, 3))
LEVEL = X[:, 0] + rng.normal(0, 0.1, N)
LABEL = (LEVEL > 0).astype(int)
THREE = np.digitize(LEVEL, [-0.5, 0.5])
FEW: dict[str, Any] = {
    "n_estimators": 5,
    "learning_rate": 0.1,
    "min_samples_leaf": 5,
    "min_child_weight": 1e-3,
    "reg_lambda": 0.0,
    "random_state": 0,
}
SMALL = tables.SMALL  # 40 rows


def target(maker: Any) -> np.ndarray:
    return LABEL if maker is Classifier else LEVEL


def fitted(maker: Any, **params: Any) -> Any:
    return maker(**{**FEW, **params}).fit(X, target(maker))


# --- X, y and weights: the cases of the trees ------------------------------------------------


@pytest.mark.parametrize("maker", BOTH)
@pytest.mark.parametrize("case", [case for case in tables.BAD_X if case not in ("inf", "-inf")])
def test_bad_tables(maker: Any, case: str) -> None:
    table, error, words = tables.BAD_X[case]
    model = maker(**FEW).fit(SMALL, np.arange(40) % 2)
    with pytest.raises(error) as caught:
        model.fit(table, np.arange(40) % 2)
    words = words.replace("Decision", "GradientBoosting")
    assert re.search(words, str(caught.value), re.DOTALL), caught.value
    with pytest.raises(NotFittedError):  # nothing is left of the fit before
        model.predict(SMALL)


@pytest.mark.parametrize("maker", BOTH)
def test_missing_and_infinite_targets(maker: Any) -> None:
    for value in tables.NO_VALUE.values():
        y = tables.with_value(maker, value)
        for form in (y, pd.Series(y), y.tolist()):
            with pytest.raises(ValueError, match=r"contains NaN\. Row 3 holds .*drop such rows"):
                maker().fit(SMALL, form)
    for y in tables.MISSING_TARGETS.values():
        with pytest.raises(ValueError, match=r"Input y contains NaN\. Row 3 holds"):
            maker().fit(SMALL, y)
    for value in (np.inf, -np.inf):
        y = tables.with_value(maker, value)
        with pytest.raises(ValueError, match=r"Input y contains infinity.*Row 3 holds -?inf"):
            maker().fit(SMALL, y.astype(float))


@pytest.mark.parametrize("case", tables.BAD_Y)
def test_bad_targets(case: str) -> None:
    trees, y, error, words = tables.BAD_Y[case]
    for tree in trees:
        with pytest.raises(error, match=words):
            (Classifier if tree is tables.Classifier else Regressor)().fit(SMALL, y)


@pytest.mark.parametrize("maker", BOTH)
@pytest.mark.parametrize("case", tables.BAD_WEIGHTS)
def test_bad_weights(maker: Any, case: str) -> None:
    weight, words = tables.BAD_WEIGHTS[case]
    with pytest.raises(ValueError, match=words):
        maker().fit(SMALL, np.arange(40) % 2, weight)


@pytest.mark.parametrize("maker", BOTH)
def test_one_target_only(maker: Any) -> None:
    with pytest.raises(ValueError, match=r"y has 2 columns.*sklearn\.multioutput\.MultiOutput"):
        maker().fit(X, np.column_stack([LABEL, LABEL]))


def test_one_class_is_an_error_that_names_it() -> None:
    for y, name in ((np.ones(N, int), "1"), (["only"] * N, "'only'"), (np.ones(N, bool), "True")):
        with pytest.raises(ValueError, match=f"two classes.*only one class: {name}\\.$"):
            Classifier().fit(X, y)
    with pytest.raises(ValueError, match="only one class"):
        Classifier().fit(X[:1], LABEL[:1])


def test_few_rows() -> None:
    assert Regressor().fit(X[:1], [7.0]).predict(X[:3]).tolist() == [7.0] * 3
    assert Regressor(min_samples_leaf=1).fit(X[:1], [7.0]).trees_[0].node_count == 1
    two = Classifier(min_samples_leaf=1).fit([[0.0], [1.0]], ["a", "b"])
    assert two.predict([[0.0], [1.0]]).tolist() == ["a", "b"]
    with pytest.raises(NotFittedError):
        Regressor().predict(X)


@pytest.mark.parametrize("maker", BOTH)
def test_columns_with_nothing_to_learn_from(maker: Any) -> None:
    """Constant and all-missing columns: the start alone, or no difference beside others."""
    y = target(maker)
    nothing: list[Any] = [
        np.full((N, 2), 7.5),
        np.full((N, 2), np.nan),
        pd.DataFrame({"a": [None] * N}),
        pd.DataFrame({"a": ["same"] * N}),
        scipy.sparse.csr_array((N, 2)),
    ]
    for table in nothing:
        model = maker(**FEW).fit(table, y)
        assert all(tree.node_count == 1 for tree in model.trees_)
        assert len(np.unique(model.predict(table))) == 1
        assert not model.feature_importances_.any()
    plain = fitted(maker)
    for column in (np.full((N, 1), 7.5), np.full((N, 1), np.nan)):
        assert maker(**FEW).fit(np.hstack([X, column]), y).digest() == plain.digest()


def test_a_constant_target_is_predicted() -> None:
    for value in (7.0, 0.0, -1e30, 1e-30):
        model = Regressor(**FEW).fit(X, np.full(N, value))
        np.testing.assert_allclose(model.predict(X), value, rtol=1e-15)


def test_100_000_categories() -> None:
    n = 100_000
    table = pd.DataFrame({"id": [f"id{i}" for i in range(n)], "x": np.arange(n) % 7})
    y = np.arange(n) % 2 + (np.arange(n) % 7 == 3)
    with pytest.warns(UserWarning, match="Column 'id' has 100,000 different values"):
        model = Regressor(**FEW).fit(table, y)
    assert np.isfinite(model.predict(table.assign(id="new")[:10])).all()
    assert 1 in model.trees_[0].feature


# --- scales ----------------------------------------------------------------------------------


@pytest.mark.parametrize("exponent", [100, -100])
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber", "quantile"])
def test_the_scale_of_y_changes_nothing(loss: str, exponent: int) -> None:
    """1e30 and 1e-30: by a power of two even the bits are those of the plain model."""
    plain = Regressor(**FEW, loss=loss).fit(X, LEVEL)
    scaled = Regressor(**FEW, loss=loss).fit(X, LEVEL * 2.0**exponent)
    np.testing.assert_allclose(scaled.predict(X) / 2.0**exponent, plain.predict(X), rtol=1e-6)
    assert scaled.trees_[0].n_leaves == plain.trees_[0].n_leaves > 3


@pytest.mark.parametrize("scale", [1e30, 1e-30])
@pytest.mark.parametrize("loss", ["poisson", "gamma", "tweedie"])
def test_the_scale_of_positive_targets(loss: str, scale: float) -> None:
    """With a log link a factor is a constant more; a hessian may be as small as the mean."""
    params = {**FEW, "loss": loss, "min_child_weight": 0.0}
    plain = Regressor(**params).fit(X, np.exp(LEVEL)).predict(X)
    scaled = Regressor(**params).fit(X, np.exp(LEVEL) * scale).predict(X)
    np.testing.assert_allclose(scaled / scale, plain, rtol=1e-3)


def test_targets_beyond_float32_are_a_sentence_unless_the_loss_goes_with_them() -> None:
    usual = Regressor(**FEW).fit(X, LEVEL).predict(X)
    own = hb.losses.OwnLoss(gradient=lambda y, score: score - y, hessian=lambda y, score: 1.0)
    for scale in (2.0**1000, 2.0**130):
        assert (Regressor(**FEW).fit(X, LEVEL * scale).predict(X) == usual * scale).all()
        with pytest.raises(ValueError, match=r"NaN or infinite gradients.*scale y"):
            Regressor(**FEW, loss=own).fit(X, LEVEL * scale)


@pytest.mark.parametrize("maker", BOTH)
@pytest.mark.parametrize("exponent", [1000, 300, -300, -1000])
def test_huge_and_tiny_weights(maker: Any, exponent: int) -> None:
    """1e300 and 1e-300. The least sum of hessians counts weights, so it is set to nothing."""
    weight = rng.uniform(0.5, 2.0, N)
    params = {**FEW, "min_child_weight": 0.0}
    plain = maker(**params).fit(X, target(maker), weight)
    scaled = maker(**params).fit(X, target(maker), weight * 2.0**exponent)
    np.testing.assert_allclose(scaled.predict(X), plain.predict(X), rtol=1e-6)
    mixed = np.where(rng.random(N) < 0.5, 2.0**exponent, 2.0**-exponent)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = maker(**params).fit(X, target(maker), mixed)
        heavy = mixed == mixed.max()
        assert model.score(X[heavy], target(maker)[heavy]) > 0.5


def test_huge_class_weights() -> None:
    plain = Classifier(**{**FEW, "min_child_weight": 0.0}).fit(X, LABEL)
    same = dict.fromkeys((0, 1), 2.0**266)  # 1e80
    huge = Classifier(**{**FEW, "min_child_weight": 0.0}, class_weight=same).fit(X, LABEL)
    np.testing.assert_allclose(huge.predict_proba(X), plain.predict_proba(X), rtol=1e-6)
    one_sided = Classifier(**FEW, class_weight={0: 1e80, 1: 1.0}).fit(X, LABEL)
    assert set(one_sided.predict(X).tolist()) == {0}
    assert np.isfinite(one_sided.predict_proba(X)).all()


# --- losses ----------------------------------------------------------------------------------


def raising(y: float, score: float) -> float:
    if score > -1e300:
        raise ValueError("there is no such score")
    return score


def nothing(y: float, score: float) -> float:
    return np.nan


def later(y: float, score: float) -> float:
    return (y - score) ** 2 if abs(score) < 0.5 else np.nan


def concave(y: float, score: float) -> float:
    return -((y - score) ** 2)


def three_arguments(y: float, score: float, more: float) -> float:
    return y


def no_number(y: float, score: float) -> Any:
    return "a"


def an_array(y: float, score: float) -> Any:
    return np.zeros(3)


OWN: dict[str, tuple[Any, type[Exception], str]] = {
    "raises": (raising, ValueError, "there is no such score"),
    "NaN": (nothing, ValueError, "The loss 'nothing' returned NaN or infinite gradients"),
    "NaN later": (later, ValueError, "The loss 'later' returned NaN or infinite gradients"),
    "concave": (concave, ValueError, "second derivatives that are not positive.*use order=1"),
    "wrong signature": (three_arguments, TypeError, r"functions of two numbers, \(y, score\)"),
    "text": (no_number, TypeError, "could not be compiled.*return a number"),
    "wrong length": (an_array, TypeError, "could not be compiled.*return a number"),
    "no Python": (max, TypeError, "must be made of plain functions"),
}


@pytest.mark.mission("X9")
@pytest.mark.parametrize("case", OWN)
def test_own_losses_that_fail(case: str) -> None:
    loss, error, words = OWN[case]
    model = Regressor(**{**FEW, "n_estimators": 50}, loss=loss)
    with pytest.raises(error, match=words):
        model.fit(X, LEVEL)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.mission("X9")
def test_a_loss_that_bends_down_has_a_way_out() -> None:
    def bent(y: float, score: float) -> float:
        return np.log(1.0 + (y - score) ** 2)  # concave beyond 1

    y = 5.0 * LEVEL
    with pytest.raises(ValueError, match=r"'bent' has second derivatives that are not positive"):
        Regressor(**FEW, loss=bent).fit(X, y)
    model = Regressor(**{**FEW, "n_estimators": 30}, loss=bent, order=1).fit(X, y)
    assert np.mean(np.abs(model.predict(X) - y)) < 0.5 * np.mean(np.abs(y - np.median(y)))


def test_losses_that_do_not_fit() -> None:
    cases: list[tuple[Any, Any, Any, str]] = [
        (Regressor(loss="mse"), LEVEL, ValueError, "loss must be one of .* but is 'mse'"),
        (Classifier(loss="huber"), LABEL, ValueError, "one of .'log_loss'.* but is 'huber'"),
        (Classifier(loss="exponential"), THREE, ValueError, "for two classes, but y has 3"),
        (Classifier(loss=later), THREE, ValueError, "one score per row .* 3 classes"),
        (Regressor(loss=None), LEVEL, ValueError, "The 'loss' parameter .* Got None"),
        (Regressor(loss="sqrt_absolute"), LEVEL, ValueError, "not positive .*use order=1"),
        (Regressor(loss="poisson"), LEVEL, ValueError, r"negative.*'poisson': -\d"),
        (Regressor(loss="gamma"), np.abs(LEVEL) * 0, ValueError, "not positive.*'gamma': 0"),
    ]
    for model, y, error, words in cases:
        with pytest.raises(error, match=words):
            model.fit(X, y)
    for quantile in ([0.9, 0.1], [0.5, 0.5]):
        with pytest.raises(ValueError, match=r"must be ascending, but quantile is \[0"):
            Regressor(loss="quantile", quantile=quantile).fit(X, LEVEL)
    for quantile in ([0, 0.5], [], [1.2], [0.1, NAN], [[0.1, 0.2]], [0.1, [0.2]], ["low"]):
        with pytest.raises(ValueError, match=r"quantile must be a number .* between 0 and 1"):
            Regressor(loss="quantile", quantile=quantile).fit(X, LEVEL)


# --- parameters ------------------------------------------------------------------------------

REFUSED: dict[str, list[Any]] = {
    "n_estimators": [0, -1, 2.5, NAN],
    "learning_rate": [0, -0.1, NAN, INF],
    "max_leaf_nodes": [0, 1, NAN, 5.0],
    "max_depth": [1e9, 0, NAN, "deep"],
    "min_samples_leaf": [0, 1.5, NAN],
    "min_child_weight": [-1, NAN, INF],
    "min_split_gain": [-1, NAN, INF],
    "reg_lambda": [-1, NAN, INF],
    "reg_alpha": [-1, NAN, INF],
    "max_delta_step": [-1, NAN],
    "growth": ["wide", None],
    "order": [0, 3, "2"],
    "subsample": [0, 1.5, NAN],
    "sampling": ["gross", None],
    "top_rate": [-0.1, 1.0, NAN],
    "other_rate": [0.0, 1.5, NAN],
    "colsample_bytree": [0, 1.5, NAN],
    "colsample_bylevel": [0, 1.5, NAN],
    "colsample_bynode": [0, 1.5, NAN],
    "max_bins": [2**31, 256, 1, NAN],
    "bundle_features": ["no", None],
    "max_conflict_rate": [-0.1, 1.0, NAN],
    "category_split": ["all"],
    "category_smooth": [-1, NAN],
    "category_l2": [-1, NAN],
    "category_limit": [0, 1.5, NAN],
    "category_rows": [-1, 1.5, None, NAN],
    "unseen": ["guess"],
    "drop_rate": [-0.1, 1.1, NAN],
    "skip_drop": [-0.1, 1.1, NAN],
    "early_stopping": ["yes", None],
    "validation_fraction": [0.0, 1.0, NAN],
    "n_iter_no_change": [0, NAN],
    "tol": [-1, NAN],
    "verbose": [-1, "yes"],
    "random_state": ["x", -1, 2**32],
    "n_jobs": [0, 1.5, NAN],
}


@pytest.mark.parametrize("maker", BOTH)
def test_refused_parameters(maker: Any) -> None:
    for name, values in REFUSED.items():
        for value in values:
            got = re.escape(repr(value))
            words = rf"The '{name}' parameter of {maker.__name__} must be .* Got {got}"
            with pytest.raises(ValueError, match=words):
                maker(**{name: value}).fit(X, target(maker))


def test_huge_parameters_set_no_limit() -> None:
    plain = fitted(Regressor).digest()
    for name in ("max_depth", "n_jobs"):
        assert fitted(Regressor, **{name: 10**30}).digest() == plain
    stops = {"early_stopping": True, "random_state": 0}
    patient = fitted(Regressor, **stops, n_iter_no_change=10**30)
    assert patient.digest() == fitted(Regressor, **stops, n_iter_no_change=10**3).digest()
    unlimited = fitted(Regressor, max_leaf_nodes=None).digest()
    assert fitted(Regressor, max_leaf_nodes=10**30).digest() == unlimited


def test_huge_limits_leave_single_leaves() -> None:
    limits: list[dict[str, Any]] = [
        {"min_samples_leaf": 10**30},
        {"min_child_weight": 1e308},
        {"min_split_gain": 1e308},
        {"reg_alpha": 1e308},
        {"subsample": 1e-9},
    ]
    for params in limits:
        model = fitted(Regressor, **params)
        assert all(tree.node_count == 1 for tree in model.trees_), params
        assert model.predict(X) == pytest.approx(np.full(N, LEVEL.mean()), abs=1e-6)
    held = fitted(Regressor, reg_lambda=1e308)  # splits, but no step
    assert held.predict(X) == pytest.approx(np.full(N, LEVEL.mean()), abs=1e-6)


def test_a_learning_rate_that_runs_away_is_a_sentence() -> None:
    with pytest.raises(ValueError, match="NaN or infinite gradients"):
        fitted(Regressor, learning_rate=1e300)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("num_leaves", "max_leaf_nodes"),
        ("max_iter", "n_estimators"),
        ("eta", "learning_rate"),
        ("gamma", "min_split_gain"),
        ("lambda_l2", "reg_lambda"),
        ("min_data_in_leaf", "min_samples_leaf"),
        ("feature_fraction", "colsample_bytree"),
        ("monotone_constraints", "monotonic_cst"),
        ("monotonic_constraints", "monotonic_cst"),
        ("max_features", "colsample_bynode"),
        ("early_stopping_rounds", "n_iter_no_change"),
        ("objective", "loss"),
        ("learning_rat", "learning_rate"),
    ],
)
def test_names_of_other_libraries_get_a_hint(theirs: str, ours: str) -> None:
    for maker in (Classifier, Regressor, Ranker):
        words = f"{maker.__name__} has no parameter '{theirs}': did you mean '{ours}'"
        with pytest.raises(TypeError, match=words):
            maker(**{theirs: 1})
        with pytest.raises(ValueError, match=words):
            maker().set_params(**{theirs: 1})


def test_an_unknown_name_lists_those_there_are() -> None:
    with pytest.raises(TypeError, match="no parameter 'qqq'; it has loss, booster, n_estimators, "):
        Regressor(qqq=1)
    with pytest.raises(ValueError, match="There is no preset 'ydf'; there are 'friedman'"):
        Regressor.preset("ydf")


def test_parameters_that_do_not_fit_the_data() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"interaction_constraints": [0.5]}, r"names 0\.5, which is not a column of X.* 0 to 2"),
        ({"interaction_constraints": [[True]]}, "names True, which is not a column of X"),
        ({"interaction_constraints": [[3]]}, "names 3, which is not a column of X"),
        ({"monotonic_cst": [1, 0]}, "shape 2 .* 3 features"),
        ({"categorical_features": [99]}, "position 99, but X has 3 columns"),
    ]
    for params, words in cases:
        with pytest.raises(ValueError, match=words):
            Regressor(**FEW, **params).fit(X, LEVEL)
    groups = np.array([[0, 1], [1, 2]])
    lists = fitted(Regressor, interaction_constraints=groups.tolist())
    assert fitted(Regressor, interaction_constraints=groups).digest() == lists.digest()
    for weights, words in (
        ({0: NAN, 1: 1}, r"class_weight\[0\] is nan; weights must be finite"),
        ({0: 1, 1: -1}, r"class_weight\[1\] is -1; weights must be finite and not negative"),
        ({"x": 1}, "class_weight names 'x', which is not a class of y"),
        ({0: 0, 1: 0}, "are zero, so there is no row to learn from"),
    ):
        with pytest.raises(ValueError, match=words):
            Classifier(class_weight=weights).fit(X, LABEL)


# --- the other arguments of fit, and predict -------------------------------------------------


def test_validation_rows_that_do_not_fit() -> None:
    for alone in ({"X_val": X}, {"y_val": LEVEL}, {"sample_weight_val": np.ones(N)}):
        with pytest.raises(ValueError, match="X_val and y_val belong together"):
            Regressor().fit(X, LEVEL, **alone)
    frame = pd.DataFrame(X, columns=list("abc"))
    with pytest.raises(ValueError, match=r"(?s)unseen at fit time:.*- z.*now missing:.*- a"):
        Regressor().fit(frame, LEVEL, X_val=frame.rename(columns={"a": "z"}), y_val=LEVEL)
    with pytest.raises(ValueError, match=r"X has 2 features, but .* expecting 3"):
        Regressor().fit(X, LEVEL, X_val=X[:, :2], y_val=LEVEL)
    with pytest.raises(ValueError, match=r"y_val holds the class 2, which is not among .*\[0, 1\]"):
        Classifier().fit(X, LABEL, X_val=X, y_val=LABEL + 1)
    about = r"In the validation rows \(X_val, y_val\): "
    with pytest.raises(ValueError, match=about + ".* must be finite and not negative"):
        Regressor().fit(X, LEVEL, X_val=X, y_val=LEVEL, sample_weight_val=-np.ones(N))
    with pytest.raises(ValueError, match=about + ".*inconsistent numbers of samples"):
        Regressor().fit(X, LEVEL, X_val=X, y_val=LEVEL[:-1])
    with pytest.raises(ValueError, match=about + ".* not positive"):
        Regressor(loss="gamma").fit(X, np.exp(LEVEL), X_val=X, y_val=-np.exp(LEVEL))


def test_start_scores_that_do_not_fit() -> None:
    half = np.r_[np.zeros(100), np.ones(100)]
    for weight in (None, half):  # rows of no weight have start scores, too
        for init in (np.zeros(100), np.zeros((N, 2)), 0.0, np.zeros((N, 1, 1))):
            with pytest.raises(ValueError, match="init_score has shape"):
                Regressor().fit(X, LEVEL, weight, init_score=init)
    with pytest.raises(ValueError, match="init_score must hold numbers"):
        Regressor().fit(X, LEVEL, init_score=["a"] * N)
    with pytest.raises(ValueError, match="init_score holds NaN or infinite"):
        Regressor().fit(X, LEVEL, init_score=np.full(N, INF))
    flat = Regressor(**FEW).fit(X, LEVEL, half, init_score=pd.Series(np.zeros(N)))
    column = Regressor(**FEW).fit(X, LEVEL, half, init_score=np.zeros((N, 1)).tolist())
    assert flat.digest() == column.digest()


def test_callbacks_that_are_none() -> None:
    for callbacks in (print, [3], 3, "print"):
        with pytest.raises(TypeError, match="callbacks must be a list of functions"):
            Regressor(**FEW).fit(X, LEVEL, callbacks=callbacks)

    def fail(report: Any) -> None:
        raise RuntimeError("enough")

    model = Regressor(**FEW)
    with pytest.raises(RuntimeError, match="enough"):
        model.fit(X, LEVEL, callbacks=[fail])
    assert not hasattr(model, "ensemble_")
    seen: list[int] = []
    model.fit(X, LEVEL, callbacks=[lambda report: seen.append(report.number) or len(seen) == 2])
    assert seen == [1, 2] and model.n_iter_ == 2


@pytest.mark.parametrize("unseen", ["missing", "other", "error"])
def test_unknown_categories_in_predict(unseen: str) -> None:
    frame = pd.DataFrame({"c": rng.choice(list("abc"), N), "x": X[:, 0]})
    frame.loc[::7, "c"] = None
    model = Regressor(**FEW, unseen=unseen).fit(frame, LEVEL)
    new = pd.DataFrame({"c": ["zzz"], "x": [0.0]})
    if unseen == "error":
        with pytest.raises(ValueError, match=r"column 'c' holds categories .*: 'zzz'"):
            model.predict(new)
    else:
        assert np.isfinite(model.predict(new)).all()
    if unseen == "missing":
        assert model.predict(new) == model.predict(new.assign(c=None))


@pytest.mark.parametrize("maker", BOTH)
def test_bad_tables_in_predict(maker: Any) -> None:
    model = fitted(maker)
    with pytest.raises(ValueError, match=r"X has 2 features, but .* expecting 3"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match="Expected 2D array, got 1D"):
        model.predict(X[0])
    with pytest.raises(ValueError, match="Complex data not supported"):
        model.predict(X * 1j)
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        model.predict(X[:0])

"""Scores besides the loss, several sets of validation rows, and what is told of each round."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import get_scorer, log_loss, roc_auc_score

import hornbeam as hb
from hornbeam.boosting.engine import RoundReport

Regressor, Classifier = hb.GradientBoostingRegressor, hb.GradientBoostingClassifier
Ranker = hb.GradientBoostingRanker

rng = np.random.default_rng(0)
X, X_VAL, X_TEST = (rng.normal(size=(n, 3)) for n in (200, 120, 90))
LEVEL, LEVEL_VAL, LEVEL_TEST = (
    x[:, 0] + x[:, 1] ** 2 + rng.normal(size=len(x)) for x in (X, X_VAL, X_TEST)
)
SMALL: dict[str, Any] = {"learning_rate": 0.3, "min_samples_leaf": 5, "random_state": 0}
FEW: dict[str, Any] = {**SMALL, "n_estimators": 6}


def words_of(level: np.ndarray) -> np.ndarray:
    return np.array(["low", "mid", "high"])[np.digitize(level, [0, 1])]


CASES: list[Any] = [
    (Regressor, LEVEL, LEVEL_VAL, ["r2", "neg_mean_absolute_error"]),
    (Classifier, LEVEL > 1, LEVEL_VAL > 1, ["roc_auc", "accuracy", "average_precision"]),
    (Classifier, words_of(LEVEL), words_of(LEVEL_VAL), ["neg_log_loss", "f1_macro"]),
]


@pytest.mark.mission("G3")
@pytest.mark.parametrize(("maker", "y", "y_val", "names"), CASES)
def test_scores_are_those_of_the_staged_models(maker: Any, y: Any, y_val: Any, names: Any) -> None:
    weight = rng.uniform(0.5, 2.0, len(y_val))
    for given in (None, weight):
        model = maker(**FEW, scoring=[*names, None])
        model.fit(X, y, X_val=X_VAL, y_val=y_val, sample_weight_val=given)
        options = {} if given is None else {"sample_weight": given}
        for number in range(1, 7):
            stage = maker(**{**FEW, "n_estimators": number}).fit(X, y)
            for name in names:
                expected = get_scorer(name)(stage, X_VAL, y_val, **options)
                found = model.history_[f"validation {name}"][number - 1]
                assert found == pytest.approx(expected, rel=1e-12)
            own = stage.score(X_VAL, y_val, given)
            assert model.history_["validation score"][number - 1] == pytest.approx(own, rel=1e-12)


@pytest.mark.mission("G3")
def test_the_first_score_decides_when_to_stop() -> None:
    y, y_val = LEVEL > 1, LEVEL_VAL > 1
    given = {"X_val": X_VAL, "y_val": y_val}
    model = Classifier(**SMALL, n_estimators=200, n_iter_no_change=5, tol=0.0, scoring="roc_auc")
    areas = model.fit(X, y, **given).history_["validation roc_auc"]
    assert model.n_iter_ == np.argmax(areas) + 1 == len(areas) - 5
    assert roc_auc_score(y_val, model.predict_proba(X_VAL)[:, 1]) == areas.max()
    losses = Classifier(**SMALL, n_estimators=200, n_iter_no_change=5, scoring=["loss", "roc_auc"])
    by_loss = losses.fit(X, y, **given).history_
    assert losses.n_iter_ == np.argmin(by_loss["validation"]) + 1
    assert "validation roc_auc" in by_loss
    falling = iter(range(100, 0, -1))
    worse = Classifier(n_iter_no_change=5, scoring=[lambda *_: next(falling), "loss"])
    assert worse.fit(X, y, **given).n_iter_ == 1
    held = Classifier(**SMALL, n_estimators=200, n_iter_no_change=5, scoring="accuracy")
    held.fit(pd.DataFrame(X, columns=list("abc")), words_of(LEVEL))
    assert held.n_iter_ < 200 and "validation accuracy" in held.history_


def test_a_function_gets_the_rows_and_a_model_that_knows_them() -> None:
    frame = pd.DataFrame(X, columns=list("abc"))
    frame_val = pd.DataFrame(X_VAL, columns=list("abc"))
    seen: list[Any] = []

    def worst_group(estimator: Any, rows: Any, y: Any) -> float:
        seen.append(rows)
        gaps = np.abs(estimator.predict(rows) - y)
        return -max(gaps[rows["a"] > 0].mean(), gaps[rows["a"] <= 0].mean())

    model = Regressor(**FEW, scoring=worst_group)
    model.fit(frame, LEVEL, X_val=frame_val, y_val=LEVEL_VAL)
    assert all(rows is frame_val for rows in seen) and len(seen) == 6
    last = model.history_["validation worst_group"][-1]
    assert last == pytest.approx(worst_group(model, frame_val, LEVEL_VAL), rel=1e-12)
    with pytest.raises(ValueError, match=r"predictions of 10 rows, but .* the 120 rows"):
        Regressor(**FEW, scoring=lambda e, rows, y: e.predict(rows[:10]).mean()).fit(
            frame, LEVEL, X_val=frame_val, y_val=LEVEL_VAL
        )
    with pytest.raises(TypeError, match="'nothing' returned None, not a number"):

        def nothing(estimator: Any, rows: Any, y: Any) -> None: ...

        Regressor(**FEW, scoring=nothing).fit(X, LEVEL, X_val=X_VAL, y_val=LEVEL_VAL)  # fmt: skip


def test_huge_targets_are_scored_as_they_are() -> None:
    model = Regressor(**FEW, scoring=["r2", "neg_mean_absolute_error"])
    model.fit(X, LEVEL * 1e40, X_val=X_VAL, y_val=LEVEL_VAL * 1e40)
    plain = Regressor(**FEW, scoring="r2").fit(X, LEVEL, X_val=X_VAL, y_val=LEVEL_VAL)
    assert model.history_["validation r2"] == pytest.approx(plain.history_["validation r2"])
    gaps = np.abs(model.predict(X_VAL) - LEVEL_VAL * 1e40).mean()
    assert -model.history_["validation neg_mean_absolute_error"][-1] == pytest.approx(gaps)


@pytest.mark.mission("G3")
def test_several_sets_by_name() -> None:
    sets: dict[str, Any] = {
        "X_val": {"valid": X_VAL, "test": X_TEST},
        "y_val": {"valid": LEVEL_VAL, "test": LEVEL_TEST},
    }
    heard: list[RoundReport] = []
    model = Regressor(**SMALL, n_estimators=300, n_iter_no_change=5, scoring=["loss", "r2"])
    model.fit(X, LEVEL, **sets, callbacks=[heard.append])
    one = Regressor(**SMALL, n_estimators=300, n_iter_no_change=5)
    one.fit(X, LEVEL, X_val=X_VAL, y_val=LEVEL_VAL)
    assert model.digest() == one.digest()  # it stops by the first one
    names = {"train", "valid", "test", "valid r2", "test r2"}
    assert set(model.history_) == set(model.history().columns) == names
    staged = [0.5 * np.mean((p - LEVEL_TEST) ** 2) for p in model.staged_predict(X_TEST)]
    assert model.history_["test"][: model.n_iter_] == pytest.approx(np.array(staged))
    assert list(heard[3].losses) == ["valid", "test"]
    assert heard[3].valid_loss == heard[3].losses["valid"] == model.history_["valid"][3]
    assert heard[3].scores["test"]["r2"] == model.history_["test r2"][3]
    again = hb.GradientBoostingRegressor(**SMALL, n_estimators=3, warm_start=True, scoring="r2")
    again.fit(X, LEVEL, **sets).set_params(n_estimators=5).fit(X, LEVEL, **sets)
    assert len(again.history_["test r2"]) == 5


def test_the_history_of_sets_is_saved(tmp_path: Any) -> None:
    model = Regressor(**FEW, scoring=["r2"])
    model.fit(X, LEVEL, X_val={"test": X_VAL}, y_val={"test": LEVEL_VAL})
    model.save(tmp_path / "a.hornbeam")
    loaded = hb.load(tmp_path / "a.hornbeam")
    assert loaded.history_.keys() == model.history_.keys() == {"train", "test", "test r2"}


def test_arguments_that_do_not_fit() -> None:
    model = Regressor(**FEW)
    one: dict[str, Any] = {"X_val": {"a": X_VAL}, "y_val": {"a": LEVEL_VAL}}
    cases: list[tuple[dict[str, Any], str]] = [
        ({**one, "y_val": LEVEL_VAL}, r"rows \['a'\], so y_val must be a dict of these names, but"),
        ({**one, "y_val": {"b": LEVEL_VAL}}, r"y_val must be a dict .*, but has \['b'\]"),
        ({**one, "sample_weight_val": {}}, "sample_weight_val must be a dict of these names"),
        ({"X_val": {"train": X_VAL}, "y_val": {"train": LEVEL_VAL}}, "'train' is the name of the"),
        ({"X_val": {1: X_VAL}, "y_val": {1: LEVEL_VAL}}, "validation rows 1: names must be text"),
        ({**one, "X_val": {"a": X_VAL[:, :2]}}, r"In the validation rows \(X_val\['a'\], y_val"),
    ]
    for given, words in cases:
        with pytest.raises(ValueError, match=words):
            model.fit(X, LEVEL, **given)
    given = {"X_val": X_VAL, "y_val": LEVEL_VAL}
    wrong: list[tuple[Any, type[Exception], str]] = [
        ("rmse", ValueError, "'rmse' is not a valid scoring value"),
        ([], ValueError, "names nothing to watch"),
        (["r2", "r2"], ValueError, "names 'r2' twice"),
        ([3], TypeError, "scoring must be 'loss', a name of"),
    ]
    for scoring, kind, words in wrong:
        with pytest.raises(kind, match=words):
            Regressor(**FEW, scoring=scoring).fit(X, LEVEL, **given)
    with pytest.raises(ValueError, match="'scoring' parameter"):
        Regressor(**FEW, scoring=3).fit(X, LEVEL, **given)
    with pytest.raises(ValueError, match="scoring='r2' is measured on validation rows, and there"):
        Regressor(**FEW, scoring="r2").fit(X, LEVEL)


# --- ranking ------------------------------------------------------------------------------------

QUERY = rng.integers(0, 12, 200)
RELEVANCE = np.clip(np.digitize(LEVEL, [0, 1, 2]), 0, 3)


def test_the_ranker_scores_ndcg() -> None:
    ranker = Ranker(**FEW).fit(X, RELEVANCE, qid=QUERY)
    scores = ranker.predict(X)
    each = []
    for query in range(12):
        rows = np.flatnonzero(query == QUERY)
        gains = 2.0 ** RELEVANCE[rows] - 1
        discounts = 1 / np.log2(np.arange(len(rows)) + 2) * (np.arange(len(rows)) < 10)
        ranked = gains[np.argsort(-scores[rows], kind="stable")]
        each.append((ranked * discounts).sum() / (np.sort(gains)[::-1] * discounts).sum())
    assert ranker.score(X, RELEVANCE, qid=QUERY) == pytest.approx(np.mean(each), rel=1e-9)
    frame = pd.DataFrame(X, columns=list("abc")).assign(query=QUERY)
    named = Ranker(**FEW, query="query").fit(frame, RELEVANCE)
    assert named.score(frame, RELEVANCE) == ranker.score(X, RELEVANCE, qid=QUERY)
    assert named.importances("permutation", frame, RELEVANCE).argmax() in (0, 1)
    with pytest.raises(ValueError, match="pass either group"):
        ranker.score(X, RELEVANCE)


def test_a_ranker_watches_what_one_likes() -> None:
    def first_is_best(estimator: Any, rows: Any, y: Any, group: Any) -> float:
        np.testing.assert_array_equal(group, np.bincount(QUERY))
        return float(np.corrcoef(estimator.predict(rows), y)[0, 1])

    order = np.argsort(QUERY, kind="stable")
    ranker = Ranker(**FEW, scoring=["loss", first_is_best])
    sets: dict[str, Any] = {"X_val": {"a": X, "b": X}, "y_val": {"a": RELEVANCE, "b": RELEVANCE}}
    ranker.fit(X, RELEVANCE, qid=QUERY, **sets, qid_val={"a": QUERY, "b": QUERY})
    assert 1.0 - ranker.history_["a"][-1] == pytest.approx(ranker.score(X, RELEVANCE, qid=QUERY))
    last = first_is_best(ranker, X[order], RELEVANCE[order], np.bincount(QUERY))
    assert ranker.history_["b first_is_best"][-1] == pytest.approx(last)
    with pytest.raises(ValueError, match="'scoring' parameter"):
        Ranker(scoring="r2").fit(X, RELEVANCE, qid=QUERY)


# --- what is said of a fit ----------------------------------------------------------------------


def test_a_line_after_every_few_rounds(capsys: Any) -> None:
    model = Classifier(**{**FEW, "n_estimators": 7}, verbose=3, scoring="accuracy")
    model.fit(X, LEVEL > 1, X_val={"test": X_VAL}, y_val={"test": LEVEL_VAL > 1})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("]")[0] for line in lines] == ["[3", "[6", "[7"]
    train, test, accuracy = (
        model.history_[name][-1] for name in ("train", "test", "test accuracy")
    )
    assert lines[-1] == f"[7] log loss {train:.5g}, test {test:.5g}, test accuracy {accuracy:.5g}"
    shown = log_loss(LEVEL_VAL > 1, model.predict_proba(X_VAL)[:, 1])
    assert test == pytest.approx(shown, rel=1e-6)
    stopped = Regressor(**SMALL, n_estimators=500, n_iter_no_change=2, verbose=100).fit(X, LEVEL)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith(f"[{stopped.n_iter_ + 2}] half squared error ")


def test_names_of_scikit_learn_for_what_was_fitted() -> None:
    y = words_of(LEVEL)
    model = Classifier(**FEW).fit(X, y, X_val=X_VAL, y_val=words_of(LEVEL_VAL))
    assert model.n_estimators_ == 6 and model.estimators_.shape == (6, 3)
    assert model.estimators_[2, 1].tree_.digest() == model.trees_[7].digest()
    assert "x1" in hb.export_text(model.estimators_[0, 0])
    np.testing.assert_array_equal(model.train_score_, model.history_["train"])
    np.testing.assert_array_equal(model.validation_score_, model.history_["validation"])
    bare = Regressor(**FEW).fit(X, LEVEL)
    assert not hasattr(bare, "validation_score_")
    with pytest.raises(AttributeError, match=r"no losses of 'validation' rows\. They are"):
        bare.validation_score_  # noqa: B018

"""The benchmarks of boosting: metrics, shared sets, tables of the libraries, verdicts."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn.metrics

from benchmarks import boosters, metrics, report, shared
from benchmarks.boosters import HORNBEAM, LIBRARIES, LIGHTGBM, Setup, equal, installed
from benchmarks.cases import boosting, boosting_memory, boosting_predict, boosting_quality
from benchmarks.cases.boosting_quality import AUC, LOG_LOSS
from benchmarks.datasets import DataSet, pictures
from benchmarks.harness import Options
from benchmarks.results import Row

# --- metrics -------------------------------------------------------------------------------


@pytest.fixture
def answers() -> tuple[Any, Any]:
    """Probabilities of four classes for 200 rows, and the true classes, of which one is absent."""
    rng = np.random.default_rng(0)
    return rng.dirichlet(np.ones(4), size=200), rng.integers(3, size=200)


def test_log_loss_is_scikit_learns(answers: tuple[Any, Any]) -> None:
    probabilities, y = answers
    expected = sklearn.metrics.log_loss(y, probabilities, labels=range(4))
    assert metrics.log_loss(probabilities, y) == pytest.approx(expected)
    sure = np.array([[1.0, 0.0]], np.float32)
    assert metrics.log_loss(sure, np.array([1])) == pytest.approx(-np.log(1e-7))


def test_auc_weighs_classes_by_their_share(answers: tuple[Any, Any]) -> None:
    probabilities, y = answers
    one_by_one = [sklearn.metrics.roc_auc_score(y == k, probabilities[:, k]) for k in range(3)]
    expected = np.average(one_by_one, weights=np.bincount(y))
    assert metrics.auc(probabilities, y) == pytest.approx(expected)
    two, y = probabilities[:, :2], y % 2
    assert metrics.auc(two, y) == sklearn.metrics.roc_auc_score(y, two[:, 1])


def test_ndcg_is_the_mean_of_scikit_learns_over_queries_with_something_to_find() -> None:
    rng = np.random.default_rng(0)
    sizes = np.array([15, 3, 1, 20])
    relevance, scores = rng.integers(4, size=39), rng.normal(size=39)
    relevance[15:19] = [0, 0, 0, 2]  # the second query has nothing, the third a single row
    parts = [slice(0, 15), slice(19, 39)]
    each = [
        sklearn.metrics.ndcg_score([2.0 ** relevance[part] - 1], [scores[part]], k=10)
        for part in parts
    ]
    assert metrics.ndcg(scores, relevance, sizes) == pytest.approx((sum(each) + 1.0) / 3)


def test_rmse() -> None:
    assert metrics.rmse(np.array([1.0, 5.0]), np.array([1.0, 1.0])) == pytest.approx(8**0.5)


# --- shared sets ---------------------------------------------------------------------------


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder of shared data with one table, one ranking and one set for teaching."""
    monkeypatch.setenv("HORNBEAM_DATA", str(tmp_path))
    n_rows = 200
    table = pd.DataFrame(
        {
            "ID": range(n_rows),
            "number": [None if row == 7 else row / 3 for row in range(n_rows)],
            "word": [None if row == 3 else "None" if row % 2 else "b" for row in range(n_rows)],
            "empty": [None] * n_rows,
            "Y": ["rare" if row < 5 else "yes" if row % 3 else "no" for row in range(n_rows)],
        }
    )
    _write(tmp_path / "credit_card_default", "classification", "Y", n_rows, ["word"])
    table.to_csv(tmp_path / "credit_card_default" / "data.csv.gz", index=False)
    _write(tmp_path / "tiny", "classification", "Y", 14, [])
    _write(tmp_path / "odd", "anomaly", "Y", 1000, [])
    _write(tmp_path / "lightgbm_lambdarank", "ranking", "first field", n_rows, [])
    for part in ("train", "test"):
        name = tmp_path / "lightgbm_lambdarank" / f"rank.{part}"
        lines = [f"{row % 3} 1:{row} 3:{row / 7}" for row in range(n_rows)]
        _zip(name.with_name(f"rank.{part}.gz"), lines)
        _zip(name.with_name(f"rank.{part}.query.gz"), ["20"] * 10)
    return tmp_path


def _write(folder: Path, task: str, target: str, n_rows: int, categorical: list[str]) -> None:
    folder.mkdir()
    part = {"file": "data.csv.gz", "rows": n_rows, "categorical": categorical}
    meta = {"name": folder.name, "task": task, "target": target, "parts": [part]}
    (folder / "meta.json").write_text(json.dumps(meta), encoding="utf-8")


def _zip(path: Path, lines: list[str]) -> None:
    with gzip.open(path, "wt", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")


def test_sets_for_teaching_and_of_other_tasks_are_not_listed(folder: Path) -> None:
    assert shared.names() == ["credit_card_default", "lightgbm_lambdarank"]
    assert shared.load("unheard-of") is None


def test_a_table_keeps_numbers_and_categories_and_loses_what_tells_the_answer(
    folder: Path,
) -> None:
    data = shared.load("credit_card_default")
    assert data is not None
    assert list(data.X) == ["number", "word"]
    assert data.X["number"].dtype == np.float32
    assert list(data.X["word"].cat.categories) == ["None", "b"], "None is a word here"
    assert data.X.isna().sum().to_dict() == {"number": 1, "word": 1}
    assert (data.n_classes, data.capped(1000).n_classes) == (3, 2), "5 rows are too few"


def test_splits_differ_by_seed_and_keep_the_shares_of_classes(folder: Path) -> None:
    data = shared.load("credit_card_default")
    assert data is not None
    first, again, other = (data.capped(160).split(seed) for seed in (0, 0, 1))
    pd.testing.assert_frame_equal(first.X, again.X)
    assert not first.X.equals(other.X)
    assert len(first.y_test) == pytest.approx(len(first.y) / 3, abs=1)
    assert first.y.mean() == pytest.approx(first.y_test.mean(), abs=0.03)


def test_every_row_of_a_small_set_is_tested_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = shared.load("credit_card_default")
    assert data is not None
    few = data.capped(160)
    few = replace(few, X=np.arange(len(few.y)).reshape(-1, 1))
    folds = few.folds(0)
    assert len(folds) == 4
    tested = np.concatenate([fold.X_test[:, 0] for fold in folds])
    assert sorted(tested) == few.X[:, 0].tolist()
    for fold in folds:
        assert not np.isin(fold.X, fold.X_test).any()
        assert fold.y.mean() == pytest.approx(fold.y_test.mean(), abs=0.03)
    assert not np.array_equal(folds[0].X_test, few.folds(1)[0].X_test)
    monkeypatch.setattr(shared, "FEW_ROWS", len(few.y))
    [only] = few.folds(0)
    assert np.array_equal(only.X, few.split(0).X)


def test_queries_stay_whole(folder: Path) -> None:
    data = shared.load("lightgbm_lambdarank")
    assert data is not None
    split = data.split(0)
    assert split.task == "ranking"
    assert split.queries is not None and split.queries_test is not None
    assert list(split.queries) == [20] * 15
    assert list(split.queries_test) == [20] * 5
    firsts = split.X[:, 0].reshape(15, 20) // 20
    assert (firsts == firsts[:, :1]).all(), "rows of a query follow each other"


def test_pictures_are_whole_numbers_of_ten_classes() -> None:
    data = pictures(300, 100)
    assert data.X.shape == (300, 784)
    assert data.X.dtype == np.float32
    assert (np.floor(data.X) == data.X).all()
    assert (data.X.min(), len(np.unique(data.y))) == (0, 10)
    assert 0.2 < (data.X == 0).mean() < 0.8


# --- libraries -----------------------------------------------------------------------------


@pytest.fixture
def frame() -> pd.DataFrame:
    many = [f"c{row}" for row in range(300)]
    few = ["a", None, "b"] * 100
    numbers = np.arange(300, dtype=np.float32)
    return pd.DataFrame(
        {"number": numbers, "few": pd.Categorical(few), "many": pd.Categorical(many)}
    )


def test_catboost_gets_words(frame: pd.DataFrame) -> None:
    catboost = LIBRARIES[boosters.CATBOOST]
    table = catboost.table(frame)
    assert list(table["few"][:3]) == ["a", "?", "b"]
    assert catboost.categories(table) == {"cat_features": ["few", "many"]}
    assert table["number"].equals(frame["number"])


def test_scikit_learn_gets_many_categories_as_numbers(frame: pd.DataFrame) -> None:
    table = LIBRARIES[boosters.SKLEARN].table(frame)
    assert isinstance(table["few"].dtype, pd.CategoricalDtype)
    assert table["many"].dtype == np.float32
    frame.loc[5, "many"] = None
    assert np.isnan(LIBRARIES[boosters.SKLEARN].table(frame)["many"][5])


def test_a_wide_sparse_table_is_not_made_dense() -> None:
    library = LIBRARIES[boosters.SKLEARN]
    for n_columns, can in ((10, True), (5000, False)):
        X = scipy.sparse.csr_matrix((4, n_columns), dtype=np.float32)
        data = DataSet("zeros", X, np.zeros(4, int), X, np.zeros(4, int))
        assert library.can(data) == can
        assert LIBRARIES[HORNBEAM].can(data)
    assert not library.can(replace(data, task="ranking"))


def test_a_library_that_is_absent_is_left_out_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = replace(LIBRARIES[LIGHTGBM], module="no_such_module_at_all")
    monkeypatch.setitem(LIBRARIES, LIGHTGBM, absent)
    options = Options()
    assert [library.name for library in installed(options, (HORNBEAM, LIGHTGBM))] == [HORNBEAM]
    assert "LightGBM is not installed" in options.notes[0]


def test_a_setup_gives_its_parameters_and_no_others() -> None:
    library = LIBRARIES[boosters.SKLEARN]
    default = Setup(library, n_rounds=3).make("regression")
    assert (default.max_iter, default.min_samples_leaf, default.early_stopping) == (3, 20, False)
    changed = equal(library, n_rounds=3).changed("other", max_leaf_nodes=5)
    assert changed.title == "other"
    assert changed.make("regression").max_leaf_nodes == 5


# --- verdicts ------------------------------------------------------------------------------


def rows_of(metric: boosting_quality.Metric, **runs: list[float]) -> list[Row]:
    return [
        Row(metric.name, "set", name, float(np.mean(each)), "", tuple(each), meaning="as much")
        for name, each in runs.items()
    ]


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        ([0.30, 0.40, 0.50], "met"),  # the same
        ([0.29, 0.41, 0.51], "met"),  # worse on average, by half a standard error
        ([0.32, 0.42, 0.52], "missed"),  # always worse, though less than the splits differ
        ([0.20, 0.30, 0.40], "met"),
    ],
)
def test_hornbeam_must_not_be_behind_the_best_beyond_noise(ours: list[float], verdict: str) -> None:
    rows = rows_of(LOG_LOSS, hornbeam=ours, good=[0.30, 0.40, 0.50], bad=[0.9, 0.9, 0.9])
    judged = boosting_quality._judged(LOG_LOSS, rows)
    assert (judged[0].reference, judged[0].verdict) == ("good", verdict)
    assert judged[1:] == rows[1:]
    upside_down = rows_of(
        AUC, hornbeam=[1 - run for run in ours], good=[0.7, 0.6, 0.5], bad=[0.1, 0.1, 0.1]
    )
    judged = boosting_quality._judged(AUC, upside_down)
    assert (judged[0].reference, judged[0].verdict) == ("good", verdict)


def test_summary_counts_sets_and_ranks_libraries() -> None:
    behind = rows_of(LOG_LOSS, hornbeam=[0.5, 0.6], peer=[0.4, 0.5])
    ahead = [replace(row, data="other") for row in rows_of(LOG_LOSS, hornbeam=[0.1], peer=[0.2])]
    judged = boosting_quality._judged(LOG_LOSS, behind) + ahead
    count, *ranks = boosting_quality.summary(judged)
    assert (count.value, count.verdict, count.data) == (1, "missed", "2 sets, log loss")
    assert {row.contender: row.value for row in ranks} == {"hornbeam": 1.5, "peer": 1.5}


def test_suite_has_a_geometric_mean() -> None:
    rows = [Row("suite", "d", LIGHTGBM, 1.0, ratio=ratio) for ratio in (1.0, 4.0)]
    (mean,) = boosting.suite_mean([*rows, Row("suite", "d", HORNBEAM, 1.0)])
    assert (mean.value, mean.verdict) == (2.0, "met")
    assert list(boosting.suite_mean([])) == []


def test_the_time_of_single_rows_is_divided() -> None:
    loop = Row("one row", "d", boosting_predict.PREDICTOR, 0.03, runs=(0.03, 0.04))
    row = boosting_predict._per_row(loop)
    assert (row.value, *row.runs) == pytest.approx((3e-5, 3e-5, 4e-5))
    assert row.verdict == "missed"
    assert boosting_predict._per_row(replace(loop, contender="peer")).target is None


def test_memory_is_compared_with_lightgbms() -> None:
    names = {"input": 1.0, HORNBEAM: 30.0, LIGHTGBM: 20.0, "peer": 10.0}
    rows = [Row("c", "d", name, size, "MB", meaning="as much") for name, size in names.items()]
    compared = {row.contender: row for row in boosting_memory._beside_lightgbm(rows)}
    assert (compared[HORNBEAM].ratio, compared[HORNBEAM].verdict) == (1.5, "missed")
    assert (compared["peer"].ratio, compared["peer"].target) == (0.5, None)
    assert compared["input"].ratio is None
    without = [row for row in rows if row.contender != LIGHTGBM]
    assert boosting_memory._beside_lightgbm(without) == without


def test_quality_is_written_with_four_digits() -> None:
    base, ours = rows_of(LOG_LOSS, peer=[0.32154], hornbeam=[0.33])
    cells = report._cells(ours.against(base))
    assert cells[3:5] == ("0.33", "1.0263x as much as peer")

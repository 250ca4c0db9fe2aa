"""The benchmarks of forests: tables of the libraries, verdicts, going on after an interruption."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble

import hornbeam as hb
from benchmarks import report, shared
from benchmarks.cases import forest, forest_quality, isolation
from benchmarks.cases.forest import HORNBEAM, OURS, THEIRS, YDF, YDFS, Models
from benchmarks.cases.forest_quality import DIFFERENCE
from benchmarks.datasets import DataSet, Task
from benchmarks.harness import SKLEARN, Options, measure_all
from benchmarks.results import Row
from benchmarks.shared import SharedSet


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "number": np.array([1.5, np.nan, -2.0], np.float32),
            "word": pd.Categorical(["b", None, "a"], categories=["a", "b", "unused"]),
        }
    )


def small(task: Task = "classification") -> SharedSet:
    """120 rows whose answer is plain from one of two columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2)).astype(np.float32)
    y = (X[:, 0] > 0).astype(np.int64) if task == "classification" else X[:, 0].astype(np.float64)
    return SharedSet("plain", task, X, y)


# --- tables --------------------------------------------------------------------------------


def test_scikit_learn_gets_numbers_of_categories(frame: pd.DataFrame) -> None:
    expected = np.array([[1.5, 1.0], [np.nan, np.nan], [-2.0, 0.0]], np.float32)
    table = shared.numbered(frame)
    assert table.dtype == np.float32
    np.testing.assert_array_equal(table, expected)
    assert shared.numbered(expected) is expected


def test_ydf_gets_columns_with_words_for_categories(frame: pd.DataFrame) -> None:
    table = YDFS.table(frame)
    assert list(table) == ["number", "word"]
    assert list(table["word"]) == ["b", "", "a"]
    np.testing.assert_array_equal(table["number"], frame["number"])
    columns = YDFS.table(np.arange(6.0).reshape(3, 2))
    assert {name: list(column) for name, column in columns.items()} == {
        "x0": [0.0, 2.0, 4.0],
        "x1": [1.0, 3.0, 5.0],
    }


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("library", [OURS, THEIRS, YDFS], ids=lambda library: library.name)
def test_every_library_learns_what_is_plain(library: forest.Library, task: Task) -> None:
    if library is YDFS:
        pytest.importorskip("ydf")
    data = small(task).split(0)
    model = library.make(forest.RANDOM_FOREST, data, 20, 1)
    fitted = library.fit(model, library.table(data.X), data.y)
    assert library.score(fitted, data) > 0.9


def test_ydf_answers_with_the_classes_of_y() -> None:
    pytest.importorskip("ydf")
    plain = small()
    for classes in ([3, 7], [5, 2, 9]):
        is_high = (plain.X > 0).astype(np.int64)
        y = np.array(classes)[is_high[:, : len(classes) - 1].sum(axis=1)]
        data = DataSet("plain", plain.X, y, plain.X, y)
        learner = YDFS.make(forest.RANDOM_FOREST, data, 20, 1)
        model = YDFS.fit(learner, YDFS.table(data.X), y)
        assert YDFS.score(model, data) > 0.95


# --- verdicts on times and sizes -----------------------------------------------------------


def test_a_peer_is_flagged_only_where_it_is_better() -> None:
    ours = Row("fit", "d", HORNBEAM, 1.0, score=0.90)
    peers = [replace(ours, contender=f"{s}", score=s) for s in (0.80, 0.904, 0.92)]
    rows = list(forest.unless_better([ours, *peers]))
    assert [bool(row.flags) for row in rows] == [False, False, False, True]
    assert "0.9200 is above hornbeam's 0.9000" in rows[-1].flags[0]


def test_a_forest_is_fitted_once_for_all_who_ask() -> None:
    models = Models(Options(quick=True))
    data = small().split(0)
    first = models(THEIRS, data)
    assert models(THEIRS, replace(data, X_test=data.X_test[:5])) is first
    assert models(OURS, data) is not first
    assert models(THEIRS, data.head(50)) is not first


@pytest.mark.parametrize("kind", [forest.RANDOM_FOREST, forest.EXTRA_TREES])
def test_random_forests_of_the_fit_on_arrays_are_used_again(kind: str) -> None:
    options = Options(quick=True, repeats=1)
    models, data = Models(options), small().split(0)
    case = forest.fit_case(kind, data, options, models)
    list(measure_all([case], options))
    kept = {name: model for (name, n), model in models.fitted.items() if n == len(data.X)}
    assert {HORNBEAM, SKLEARN} <= set(kept) if kind == forest.RANDOM_FOREST else not kept
    for library in (OURS, THEIRS) if kept else ():
        assert models(library, data) is kept[library.name]
        assert library.score(kept[library.name], data) > 0.9


def test_size_counts_nodes_and_values() -> None:
    data = small().split(0)
    theirs = sklearn.ensemble.RandomForestClassifier(3, random_state=0).fit(data.X, data.y)
    ours = hb.RandomForestClassifier(n_estimators=3, random_state=0).fit(data.X, data.y)
    # Of each node: 64 bytes, and the shares of two classes.
    stored = [tree.tree_.__getstate__() for tree in theirs.estimators_]
    expected = sum(state["nodes"].nbytes + state["values"].nbytes for state in stored)
    assert forest.sklearn_bytes(theirs) == expected
    size, mine, per_node, my_node = forest.size_rows(data, ours, theirs)
    assert size.value == pytest.approx(expected / 1e6)
    assert per_node.value == 80
    assert (mine.contender, mine.reference) == (HORNBEAM, SKLEARN)
    assert mine.value == pytest.approx(ours.store_.nbytes / 1e6)
    assert my_node.value == pytest.approx(ours.store_.nbytes / ours.store_.n_nodes)


def test_contenders_of_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    data, options = small().split(0), Options(quick=True)
    monkeypatch.setattr(forest, "find_spec", lambda name: name)
    random_forest = forest.fit_case(forest.RANDOM_FOREST, data, options)
    assert [each.name for each in random_forest.contenders] == [
        HORNBEAM,
        forest.DEFAULT,
        SKLEARN,
        YDF,
    ]
    extra = forest.fit_case(forest.EXTRA_TREES, data, options)
    assert [str(each.target) for each in extra.contenders] == ["None", "None", ">= 2.5"]
    monkeypatch.setattr(forest, "find_spec", lambda name: None)
    without = forest.fit_case(forest.RANDOM_FOREST, data, options)
    assert [each.name for each in without.contenders] == [HORNBEAM, forest.DEFAULT, SKLEARN]
    forest.notes(options)
    assert any("YDF is not installed" in note for note in options.notes)


# --- verdicts on quality -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        ([0.5, 0.6, 0.7], "met"),  # the same
        ([0.6, 0.7, 0.8], "met"),
        ([0.45, 0.61, 0.69], "met"),  # below on average, by less than two standard errors
        ([0.49, 0.59, 0.69], "missed"),  # always below, though less than the seeds differ
    ],
)
def test_below_means_by_more_than_two_standard_errors(ours: list[float], verdict: str) -> None:
    pairs = list(zip([0.5, 0.6, 0.7], ours, strict=True))
    base, row = forest_quality.compared("random forest, accuracy", "d", pairs)
    assert (base.contender, base.value) == (SKLEARN, pytest.approx(0.6))
    assert row.value == pytest.approx(np.mean(ours) - 0.6)
    assert row.score == pytest.approx(np.mean(ours))
    assert row.verdict == verdict


def test_bound_is_two_standard_errors_of_the_difference() -> None:
    _, row = forest_quality.compared("c", "d", [(0.5, 0.5), (0.5, 0.6), (0.5, 0.7)])
    assert row.target is not None
    assert row.target.bound == pytest.approx(-2 * 0.1 / math.sqrt(3))


def test_summary_counts_sets_and_takes_means() -> None:
    below = forest_quality.compared("random forest, R2", "a", [(0.5, 0.3), (0.5, 0.31)])
    above = forest_quality.compared("random forest, R2", "b", [(0.5, 0.9), (0.5, 0.8)])
    other = forest_quality.compared("extra trees, accuracy", "a", [(0.5, 0.6), (0.5, 0.6)])
    rows = list(forest_quality.summary([*below, *above, *other]))
    assert [(row.case, row.data, row.verdict) for row in rows] == [
        ("random forest, sets below", "2 sets", "missed"),
        ("random forest, R2", "mean of 2 sets", "met"),
        ("extra trees, sets below", "1 sets", "met"),
        ("extra trees, accuracy", "mean of 1 sets", "met"),
    ]
    assert [row.value for row in rows] == pytest.approx([1, 0.0775, 0, 0.1])
    assert {row.contender for row in rows} == {DIFFERENCE}


def test_scores_are_of_both_libraries() -> None:
    for task in ("classification", "regression"):
        data = small(task).split(0)  # type: ignore[arg-type]
        for library in (SKLEARN, "hornbeam"):
            assert forest_quality.score(library, "extra trees", data, 0, 20) > 0.9


# --- going on ------------------------------------------------------------------------------


def test_a_stopped_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, str]] = []
    n_calls = 5 * 4  # seeds and folds: there are few rows

    def score(library: str, kind: str, data: DataSet, seed: int, n_trees: int) -> float:
        calls.append((library, kind))
        return 0.5 + seed / 10

    monkeypatch.setattr(forest_quality, "score", score)
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    first = forest_quality.rows_on(small(), "random forest", Options())
    ours = [("hornbeam", "random forest")] * n_calls
    assert calls == [(SKLEARN, "random forest")] * n_calls + ours
    again = forest_quality.rows_on(small(), "random forest", Options())
    assert again == first and len(calls) == 2 * n_calls
    monkeypatch.setattr(forest_quality, "SOURCES", ("hornbeam",))  # as if they had changed
    forest_quality.rows_on(small(), "random forest", Options())
    assert calls[2 * n_calls :] == ours


def test_a_small_run_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    monkeypatch.setattr(forest_quality, "sets", lambda options: [small().capped(80)])
    rows = list(forest_quality.rows(Options(quick=True)))
    assert [row.contender for row in rows[:2]] == [SKLEARN, DIFFERENCE]
    assert not list(tmp_path.iterdir())


def test_wide_sets_are_left_out_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = SharedSet("wide", "classification", np.zeros((9, 2000)), np.zeros(9, np.int64))
    ranking = replace(small(), task="ranking")
    known: dict[str, Any] = {"wide": wide, "plain": small(), "ranking": ranking}
    monkeypatch.setattr(shared, "names", lambda: list(known))
    monkeypatch.setattr(shared, "load", known.get)
    options = Options()
    assert [data.name for data in forest_quality.sets(options)] == ["plain"]
    assert options.notes == ["wide is left out: 2000 columns."]


def test_without_shared_data_sets_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "names", list)
    options = Options(quick=True)
    assert [data.task for data in forest_quality.sets(options)] == ["classification", "regression"]
    assert "HORNBEAM_DATA" in options.notes[0]


# --- isolation -----------------------------------------------------------------------------


def anomalies() -> DataSet:
    """300 rows, of which the last three lie far away."""
    X = np.random.default_rng(0).normal(size=(300, 3)).astype(np.float32)
    X[-3:] += 20
    y = np.repeat([0, 1], [297, 3])
    return DataSet("far", X, y, X, y)


def test_auc_of_scikit_learn_is_measured_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    monkeypatch.setattr(isolation, "SEEDS", 2)
    data = anomalies()
    rows = list(isolation.auc_rows("16_http", data, Options()))
    assert [row.contender for row in rows] == ["the paper", SKLEARN, HORNBEAM]
    assert all(row.value == 1.0 for row in rows)
    assert rows[-1].verdict == "met"
    monkeypatch.delattr(sklearn.ensemble, "IsolationForest")
    again = list(isolation.auc_rows("16_http", data, Options()))
    assert again == rows


def test_the_reference_is_scikit_learn_where_the_file_is_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    monkeypatch.setattr(isolation, "SEEDS", 2)
    *_, mine = isolation.auc_rows("29_Pima", anomalies(), Options())
    assert (mine.reference, mine.verdict) == (SKLEARN, "met")


def test_hornbeam_is_compared_with_the_faster_and_with_isotree() -> None:
    slow = Row("fit and score", "d", f"{SKLEARN}, n_jobs=1", 10.0)
    fast = replace(slow, contender=f"{SKLEARN}, n_jobs=-1", value=8.0)
    mine = replace(slow, contender=isolation.ours().name, value=2.0, target=isolation.FASTER)
    isotree = replace(slow, contender=isolation.ISOTREE, value=1.9)
    rows = [slow, fast, mine, isotree]
    compared = isolation.against_the_faster(rows)[2]
    assert (compared.ratio, compared.verdict) == (4.0, "missed")
    [beside] = isolation.against_isotree(rows)
    assert (beside.ratio, beside.verdict) == (0.95, "missed")
    assert list(isolation.against_isotree(rows[:3])) == []

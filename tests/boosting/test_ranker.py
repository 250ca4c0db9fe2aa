"""Learning to rank: queries in every form, NDCG that rises, whole queries held out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.exceptions import NotFittedError
from sklearn.metrics import ndcg_score

import hornbeam as hb

Ranker = hb.GradientBoostingRanker
FEW: dict[str, Any] = {"n_estimators": 10, "min_samples_leaf": 5, "random_state": 0}

rng = np.random.default_rng(0)
SIZES = rng.integers(1, 30, 40)
QID = np.repeat(np.arange(40), SIZES)
N = len(QID)
X = rng.normal(size=(N, 3)).round(2)
RELEVANCE = np.clip(np.round(X[:, 0] + 0.5 * X[:, 1] + rng.normal(0, 0.5, N)) + 1, 0, 4)
SHUFFLED = rng.permutation(N)


def ndcg(scores: np.ndarray, relevance: np.ndarray = RELEVANCE, qid: Any = QID) -> float:
    """Mean NDCG@10 of the queries that have something to rank."""
    found = []
    for query in np.unique(qid):
        rows = qid == query
        if rows.sum() > 1 and relevance[rows].any():
            gains = 2.0 ** relevance[rows] - 1.0
            found.append(ndcg_score([gains], [scores[rows]], k=10))
    return float(np.mean(found))


@pytest.fixture(scope="module")
def plain() -> Any:
    return Ranker(**FEW).fit(X, RELEVANCE, group=SIZES)


# --- queries ---------------------------------------------------------------------------------


def test_every_way_to_name_queries_is_the_same(plain: Any) -> None:
    frame = pd.DataFrame(X, columns=list("abc")).assign(q=QID)
    models = {
        "qid": Ranker(**FEW).fit(X, RELEVANCE, qid=QID),
        "text": Ranker(**FEW).fit(X, RELEVANCE, qid=[f"q{i:02d}" for i in QID]),
        "name": Ranker(**FEW, query="q").fit(frame, RELEVANCE),
        "polars": Ranker(**FEW, query="q").fit(pl.from_pandas(frame), RELEVANCE),
        "arrow": Ranker(**FEW, query="q").fit(pa.Table.from_pandas(frame), RELEVANCE),
        "position": Ranker(**FEW, query=3).fit(np.column_stack([X, QID]), RELEVANCE),
        "from the end": Ranker(**FEW, query=-1).fit(frame, RELEVANCE),
        "first": Ranker(**FEW, query=0).fit(np.column_stack([QID, X]), RELEVANCE),
        "list": Ranker(**FEW, query=3).fit(np.column_stack([X, QID]).tolist(), RELEVANCE),
        "sparse": Ranker(**FEW, query=3).fit(
            scipy.sparse.csr_array(np.column_stack([X, QID])), RELEVANCE
        ),
        "arrow position": Ranker(**FEW, query=3).fit(pa.Table.from_pandas(frame), RELEVANCE),
    }
    for name, model in models.items():
        assert model.digest() == plain.digest(), name
    # in predict the column may be there or not
    np.testing.assert_array_equal(models["name"].predict(frame), plain.predict(X))
    np.testing.assert_array_equal(models["name"].predict(frame[list("abc")]), plain.predict(X))
    np.testing.assert_array_equal(models["name"].apply(frame), plain.apply(X))
    assert models["name"].feature_names_in_.tolist() == ["a", "b", "c"]


def test_rows_of_a_query_need_not_be_neighbours() -> None:
    """Stably sorted by query, so shuffle within what sorting keeps: the blocks of queries."""
    starts = np.concatenate([[0], np.cumsum(SIZES)])
    turns = [np.arange(starts[q], starts[q + 1]) for q in range(40)]
    order = np.concatenate([rows[k : k + 1] for k in range(30) for rows in turns])  # by turns
    weight, init = rng.uniform(0.5, 2.0, N), rng.normal(size=N)
    expected = Ranker(**FEW).fit(X, RELEVANCE, weight, qid=QID, init_score=init).digest()
    tables: list[Any] = [
        X[order],
        X[order].tolist(),
        pd.DataFrame(X[order]),
        pl.DataFrame(X[order]),
        pa.table({str(i): X[order, i] for i in range(3)}),
        scipy.sparse.csc_array(X[order]),
        np.ma.array(X[order]),
    ]
    for table in tables:
        model = Ranker(**FEW)
        model.fit(table, RELEVANCE[order], weight[order], qid=QID[order], init_score=init[order])
        assert model.digest() == expected, type(table)
    for y in (pd.Series(RELEVANCE[order]), pl.Series(RELEVANCE[order]), RELEVANCE[order].tolist()):
        model = Ranker(**FEW)
        model.fit(X[order], y, weight[order], qid=pd.Series(QID[order]), init_score=init[order])
        assert model.digest() == expected, type(y)


def test_categories_in_lists_stay_what_they_are() -> None:
    """Numbers beside words in a list are numbers, also when rows are put in order."""
    rows = [[float(a), "uv"[int(b > 0)]] for a, b in X[:, :2]]
    straight = Ranker(**FEW).fit(rows, RELEVANCE, qid=QID)
    assert straight.schema_.is_category.tolist() == [False, True]
    mixed = [rows[i] for i in SHUFFLED]
    shuffled = Ranker(**FEW).fit(mixed, RELEVANCE[SHUFFLED], qid=QID[SHUFFLED])
    assert shuffled.schema_.is_category.tolist() == [False, True]
    masked = np.ma.array(X, mask=X > 2)
    model = Ranker(**FEW).fit(masked[SHUFFLED], RELEVANCE[SHUFFLED], qid=QID[SHUFFLED])
    holes = np.where(X > 2, np.nan, X)
    peer = Ranker(**FEW).fit(holes[SHUFFLED], RELEVANCE[SHUFFLED], qid=QID[SHUFFLED])
    assert model.digest() == peer.digest()


@pytest.mark.usefixtures("real_threads")
def test_threads_do_not_matter() -> None:
    digests = {Ranker(**FEW, n_jobs=n).fit(X, RELEVANCE, qid=QID).digest() for n in (1, 2, 4)}
    assert len(digests) == 1


# --- learning --------------------------------------------------------------------------------


def test_ndcg_rises(plain: Any) -> None:
    """Over no rounds (all scores equal: worse than chance cannot be told) and over few."""
    stages = [ndcg(stage) for stage in plain.staged_predict(X)]
    nothing = ndcg(rng.normal(size=N))
    assert nothing < stages[0] < stages[-1] and stages[-1] > 0.9
    table = rng.normal(size=(N, 3))
    unseen = np.clip(np.round(table[:, 0] + 0.5 * table[:, 1]) + 1, 0, 4)
    assert ndcg(plain.predict(table), unseen) > 0.9
    assert ndcg(plain.predict(table), unseen) > ndcg(rng.normal(size=N), unseen) + 0.2


def test_the_history_is_one_minus_ndcg() -> None:
    model = Ranker(**FEW)
    model.fit(X, RELEVANCE, group=SIZES, X_val=X, y_val=RELEVANCE, group_val=SIZES)
    kept = np.concatenate([RELEVANCE[q == QID] for q in range(40)])
    assert len(kept) == N and len(model.history_["validation"]) == 10
    # queries without anything relevant count as perfect there
    empty = sum(not RELEVANCE[q == QID].any() for q in range(40))
    useful = [q for q in range(40) if RELEVANCE[q == QID].any()]
    scores, total = model.predict(X), float(empty)
    for query in useful:
        rows = query == QID
        if rows.sum() == 1:
            total += 1.0
        else:
            total += ndcg_score([2.0 ** RELEVANCE[rows] - 1], [scores[rows]], k=10)
    assert 1.0 - model.history_["validation"][-1] == pytest.approx(total / 40, abs=0.01)


@pytest.mark.mission("G3")
def test_whole_queries_are_held_out(monkeypatch: Any) -> None:
    parts: list[Any] = []
    original = Ranker._hold_out

    def spy(self: Any, rows: Any, seed: int) -> Any:
        parts.extend(original(self, rows, seed))
        return parts[-2], parts[-1]

    monkeypatch.setattr(Ranker, "_hold_out", spy)
    tagged = np.column_stack([X, QID])
    params = {**FEW, "n_estimators": 50, "validation_fraction": 0.25}
    model = Ranker(**params, early_stopping=True).fit(tagged, RELEVANCE, qid=QID)
    learnt, held = (set(part.matrix[:, 3].tolist()) for part in parts)
    assert not learnt & held and len(held) == 10 and len(learnt) == 30
    for part in parts:
        assert part.groups[-1] == len(part.target) == len(part.matrix)
        assert np.diff(part.groups).tolist() == [
            SIZES[int(q)] for q in np.unique(part.matrix[:, 3])
        ]
    assert model.n_iter_ <= 50


def test_weights_of_zero_leave_documents_out() -> None:
    weight = (np.arange(N) % 3 > 0).astype(float)
    kept = weight > 0
    with_them = Ranker(**FEW).fit(X, RELEVANCE, weight, qid=QID)
    without = Ranker(**FEW).fit(X[kept], RELEVANCE[kept], qid=QID[kept])
    assert with_them.digest() == without.digest()


# --- errors ----------------------------------------------------------------------------------


def test_queries_that_do_not_fit() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "must know which rows belong to one query"),
        ({"group": SIZES, "qid": QID}, "pass either group"),
        ({"group": SIZES[:-1]}, f"group adds up to {N - SIZES[-1]} rows, but X has {N}"),
        ({"group": [0, N]}, "all at least 1"),
        ({"group": [N / 2, N / 2]}, "number of rows of each query"),
        ({"group": N}, "number of rows of each query"),
        ({"qid": QID[:-1]}, rf"qid has shape \({N - 1},\), but X has {N} rows"),
        ({"qid": QID.reshape(-1, 1)}, r"qid has shape"),
    ]
    for queries, words in cases:
        with pytest.raises(ValueError, match=words):
            Ranker(**FEW).fit(X, RELEVANCE, **queries)
    frame = pd.DataFrame(X, columns=list("abc"))
    for table, query, words in (
        (frame, "q", r"query='q' is not a column of X, which has \['a', 'b', 'c'\]"),
        (X, "q", "query='q' is not a column of X, which has no names"),
        (X, True, "query=True is neither the name nor the position of a column"),
        (X, 3, r"query=3 is not a column of X, whose shape is"),
        (X[:, 0], 0, r"query=0 is not a column of X, whose shape is"),
    ):
        with pytest.raises(ValueError, match=words):
            Ranker(**FEW, query=query).fit(table, RELEVANCE)


def test_other_bad_input() -> None:
    mixed = QID[SHUFFLED]
    cases: list[tuple[tuple[Any, ...], str]] = [
        ((X, RELEVANCE + 0.5), r"whole numbers from 0 \(irrelevant\)"),
        ((X, -RELEVANCE), r"whole numbers from 0"),
        ((X, RELEVANCE[:-1]), "inconsistent numbers of samples"),
        ((X, None), "requires y to be passed"),
        ((X, RELEVANCE, np.ones(3)), r"sample_weight.shape == \(3,\)"),
        ((X, RELEVANCE, -np.ones(N)), r"must be finite and not negative"),
        ((X[:, :0], RELEVANCE), r"0 feature\(s\)"),
    ]
    for qid in (QID, mixed):
        for given, words in cases:
            with pytest.raises(ValueError, match=words):
                Ranker(**FEW).fit(*given, qid=qid)
    for alone in ({"X_val": X}, {"y_val": RELEVANCE}, {"group_val": SIZES}, {"qid_val": QID}):
        with pytest.raises(ValueError, match="X_val and y_val belong together"):
            Ranker(**FEW).fit(X, RELEVANCE, qid=QID, **alone)
    with pytest.raises(ValueError, match="must know which rows belong to one query"):
        Ranker(**FEW).fit(X, RELEVANCE, qid=QID, X_val=X, y_val=RELEVANCE)
    with pytest.raises(ValueError, match="leaves 0 of 5 rows to validate on"):
        Ranker(early_stopping=True).fit(X[:5], RELEVANCE[:5], group=[5])
    with pytest.raises(NotFittedError):
        Ranker(query="q").predict(X)


def test_queries_of_one_document_teach_nothing() -> None:
    model = Ranker(**FEW).fit(X, RELEVANCE, group=np.ones(N, int))
    assert set(model.predict(X).tolist()) == {0.0}

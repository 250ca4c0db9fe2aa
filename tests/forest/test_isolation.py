"""The isolation forest against a naive re-computation, scikit-learn and what the paper says."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import scipy.stats
import sklearn.ensemble
from hypothesis import given
from hypothesis import strategies as st
from model.handmade import validate_tree
from sklearn.ensemble._iforest import _average_path_length
from sklearn.metrics import roc_auc_score

import hornbeam as hb
from hornbeam.dtypes import LEAF, SUBSET
from hornbeam.forest.isolation_growth import average_path
from hornbeam.tree.storage import TREE_FIELDS

Forest = hb.IsolationForest
rng = np.random.default_rng(0)
X = rng.normal(size=(600, 4))
X[:6] += 7.0
WITH_HOLES = np.where(rng.random(X.shape) < 0.1, np.nan, X)
FRAME = pd.DataFrame(WITH_HOLES, columns=list("abcd")).assign(
    kind=pd.Categorical(np.where(np.arange(600) == 9, "rare", rng.choice(list("uvw"), 600)))
)
TABLES: dict[str, Any] = {
    "numbers": X,
    "float32": X.astype(np.float32),
    "column-major": np.asfortranarray(X),
    "missing": WITH_HOLES,
    "mixed": FRAME,
}


def naive_path(tree: Any, row: Any, category: Any) -> float:
    """Walk a row down a tree, question by question; ``category`` says which columns are."""
    node = depth = 0
    while tree.kind[node] != LEAF:
        x = row[tree.feature[node]]
        if math.isnan(x):
            branch = int(tree.missing_branch[node])
        elif tree.kind[node] == SUBSET:
            assert category[tree.feature[node]]
            branch = int(int(x) not in tree.category_set(node))
        else:
            branch = int(x > tree.threshold[node])
        node, depth = int(tree.first_child[node]) + branch, depth + 1
    n = int(tree.n_samples[node])
    harmonic = math.log(n - 1) + 0.5772156649015329 if n > 2 else 0.0
    beyond = 2 * harmonic - 2 * (n - 1) / n if n > 2 else float(n == 2)
    return depth + beyond


@pytest.mark.mission("E7")
@pytest.mark.quick
@pytest.mark.parametrize("name", TABLES)
def test_scores_equal_a_naive_walk(name: str) -> None:
    """score = 2 ** (-E(h) / c(psi)), h = questions asked + c(rows that are left)."""
    table = TABLES[name]
    forest = Forest(n_estimators=20, max_samples=64, random_state=1).fit(table)
    matrix, category = forest.schema_.read(table), forest.schema_.is_category
    some = range(0, 600, 37)
    mean = [np.mean([naive_path(t, matrix[i], category) for t in forest.trees_]) for i in some]
    usual = 2 * (math.log(63) + 0.5772156649015329) - 2 * 63 / 64
    expected = 2.0 ** (-np.array(mean) / usual)
    scores = forest.anomaly_score(table)
    assert np.allclose(scores[list(some)], expected, rtol=1e-12)
    assert np.all((scores > 0) & (scores < 1))
    assert np.array_equal(forest.score_samples(table), -scores)


@pytest.mark.mission("E7")
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("size", [1, 2, 3, 64, 100, 600])
def test_trees_are_isolation_trees(name: str, size: int) -> None:
    """Each tree: its sample in its leaves, at most ceil(log2 psi) deep, and no split in vain."""
    forest = Forest(n_estimators=5, max_samples=size, random_state=2).fit(TABLES[name])
    schema, matrix = forest.schema_, forest.schema_.read(TABLES[name])
    limit = math.ceil(math.log2(max(size, 2)))
    for tree, rows in zip(forest.trees_, forest.estimators_samples_, strict=True):
        assert len(set(rows.tolist())) == size and rows.min() >= 0 and rows.max() < 600
        validate_tree({field: getattr(tree, field) for field in TREE_FIELDS}, schema)
        assert tree.max_depth <= limit
        counts = count_rows(tree, matrix[rows])
        assert counts.tolist() == tree.n_samples.tolist()
        assert counts.min() >= 1
        for node in np.flatnonzero(tree.is_leaf):
            alone = counts[node] == 1 or tree.depth[node] == limit
            assert alone or is_constant(tree, node, matrix[rows])


def rows_of(tree: Any, matrix: Any) -> list[Any]:
    """Rows in each node, by sending whole nodes down."""
    found: list[Any] = [None] * tree.node_count
    found[0] = np.arange(len(matrix))
    for node in range(tree.node_count):
        if tree.kind[node] == LEAF:
            continue
        x = matrix[found[node], tree.feature[node]]
        if tree.kind[node] == SUBSET:
            right = ~np.isin(x, tree.category_set(node))
        else:
            right = x > tree.threshold[node]
        right = np.where(np.isnan(x), tree.missing_branch[node] == 1, right)
        first = tree.first_child[node]
        found[first], found[first + 1] = found[node][~right], found[node][right]
    return found


def count_rows(tree: Any, matrix: Any) -> Any:
    return np.array([len(rows) for rows in rows_of(tree, matrix)])


def is_constant(tree: Any, node: Any, matrix: Any) -> bool:
    part = matrix[rows_of(tree, matrix)[node]]
    return all(len(np.unique(column[~np.isnan(column)])) <= 1 for column in part.T)


def test_average_path_is_scikit_learns() -> None:
    n = np.array([1, 2, 3, 5, 17, 256, 100_000])
    assert np.allclose(average_path(n), _average_path_length(n), rtol=1e-14)


# --- draws ------------------------------------------------------------------------------------


def test_columns_and_cuts_are_drawn_uniformly() -> None:
    table = np.random.default_rng(1).uniform(size=(256, 3))
    forest = Forest(n_estimators=3000, max_samples=256, random_state=0).fit(table)
    features = np.array([tree.feature[0] for tree in forest.trees_])
    cuts = np.array([tree.threshold[0] for tree in forest.trees_])
    assert scipy.stats.chisquare(np.bincount(features, minlength=3)).pvalue > 1e-3
    low, high = table.min(axis=0)[features], table.max(axis=0)[features]
    assert scipy.stats.kstest((cuts - low) / (high - low), "uniform").pvalue > 1e-3


def test_constant_columns_are_not_asked() -> None:
    table = np.column_stack([np.zeros(50), np.arange(50.0), np.full(50, np.nan), np.ones(50)])
    forest = Forest(n_estimators=30, random_state=0).fit(table)
    assert {int(f) for tree in forest.trees_ for f in tree.feature} == {-1, 1}


def test_missing_values_follow_a_random_row() -> None:
    """Of 90 low and 10 high values: about 90 % of the cuts between send missing values down."""
    table = np.r_[np.zeros(90), np.ones(10)][:, None]
    forest = Forest(n_estimators=2000, max_samples=100, random_state=0).fit(table)
    right = sum(int(tree.missing_branch[0]) for tree in forest.trees_)
    assert scipy.stats.binomtest(right, 2000, 0.1).pvalue > 1e-3
    scores = forest.anomaly_score([[0.0], [1.0], [np.nan]])
    assert scores[0] < scores[2] < scores[1]


def test_rare_and_unseen_categories_stand_out() -> None:
    forest = Forest(n_estimators=300, random_state=0).fit(FRAME[["kind"]])
    scores = forest.anomaly_score(pd.DataFrame({"kind": ["u", "v", "w", "rare", "new", None]}))
    assert min(scores[3:5]) > max(scores[:3]) + 0.05
    calm = Forest(n_estimators=300, random_state=0, unseen="missing").fit(FRAME[["kind"]])
    assert calm.anomaly_score(pd.DataFrame({"kind": ["new"]}))[0] < scores[4] - 0.05


def test_many_categories() -> None:
    """More than one word of 64 categories, most of them not in a sample."""
    labels = np.array([f"c{i}" for i in range(500)])[rng.integers(0, 500, 2000)]
    forest = Forest(n_estimators=20, random_state=0).fit(labels[:, None])
    matrix = forest.schema_.read(labels[:, None])
    for tree, rows in zip(forest.trees_, forest.estimators_samples_, strict=True):
        assert count_rows(tree, matrix[rows]).tolist() == tree.n_samples.tolist()


@pytest.mark.parametrize("bootstrap", [False, True])
def test_weights_are_probabilities(bootstrap: bool) -> None:
    """A row of weight 3 is drawn three times as often, one of weight 0 never."""
    weight = np.r_[np.zeros(10), np.ones(50), np.full(50, 3.0)]
    forest = Forest(n_estimators=4000, max_samples=1, bootstrap=bootstrap, random_state=0)
    forest.fit(np.arange(110.0)[:, None], sample_weight=weight)
    drawn = np.bincount(np.concatenate(forest.estimators_samples_), minlength=110)
    assert drawn[:10].sum() == 0
    assert scipy.stats.chisquare(drawn[10:], 4000 * weight[10:] / weight.sum()).pvalue > 1e-3


# --- sameness -----------------------------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.parametrize("params", [{}, {"extension_level": 2}, {"bootstrap": True}], ids=repr)
@pytest.mark.parametrize("name", TABLES)
def test_the_number_of_threads_does_not_matter(name: str, params: dict[str, Any]) -> None:
    table = TABLES[name]
    one = Forest(n_estimators=30, random_state=3, n_jobs=1, **params).fit(table)
    for n_jobs in (None, 2, 4, -1):
        other = Forest(n_estimators=30, random_state=3, n_jobs=n_jobs, **params).fit(table)
        assert other.digest() == one.digest()
        assert np.array_equal(other.score_samples(table), one.score_samples(table))


@pytest.mark.parametrize("level", [0, 2])
def test_warm_start_equals_all_at_once(level: int) -> None:
    params: dict[str, Any] = {"random_state": 4, "extension_level": level, "max_features": 0.8}
    forest = Forest(n_estimators=50, warm_start=True, **params).fit(FRAME)
    grown = forest.set_params(n_estimators=100).fit(FRAME)
    once = Forest(n_estimators=100, **params).fit(FRAME)
    assert grown.digest() == once.digest()
    assert np.array_equal(grown.score_samples(FRAME), once.score_samples(FRAME))
    with pytest.raises(ValueError, match="must be at least the 100 trees"):
        grown.set_params(n_estimators=10).fit(FRAME)
    with pytest.raises(ValueError, match="Fit anew"):
        grown.set_params(n_estimators=110, max_samples=10).fit(FRAME)
    assert len(grown.ensemble_.trees) == 100  # still usable after the error


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("max_features", [1.0, 0.5])
def test_sparse_equals_dense(level: int, max_features: float) -> None:
    table = scipy.sparse.random(400, 30, 0.1, random_state=0, format="csr")
    params: dict[str, Any] = {"extension_level": level, "max_features": max_features}
    sparse = Forest(n_estimators=20, random_state=0, **params).fit(table)
    dense = Forest(n_estimators=20, random_state=0, **params).fit(table.toarray())
    assert sparse.digest() == dense.digest()
    assert np.array_equal(sparse.score_samples(table), dense.score_samples(table.toarray()))


def test_a_sparse_table_without_entries() -> None:
    forest = Forest(n_estimators=3).fit(scipy.sparse.csr_array((10, 4)))
    assert all(tree.node_count == 1 for tree in forest.trees_)


def test_columns_are_found_by_name() -> None:
    forest = Forest(n_estimators=10, random_state=0).fit(FRAME)
    assert np.array_equal(
        forest.score_samples(FRAME[FRAME.columns[::-1]]), forest.score_samples(FRAME)
    )


@given(st.integers(1, 60), st.integers(1, 4), st.integers(0, 3), st.integers(0, 10_000))
def test_any_small_table(n_rows: int, n_columns: int, level: int, seed: int) -> None:
    """Few distinct values, holes, single rows: samples fill the trees, scores are in [0, 1]."""
    draw = np.random.default_rng(seed)
    table = draw.integers(0, 4, (n_rows, n_columns)).astype(float)
    table[draw.random(table.shape) < 0.3] = np.nan
    level = min(level, n_columns - 1)
    forest = Forest(n_estimators=3, random_state=seed, extension_level=level).fit(table)
    scores = forest.anomaly_score(table)
    assert np.all((scores >= 0) & (scores <= 1))
    for tree in forest.ensemble_.trees:
        leaves = tree.is_leaf
        assert tree.n_samples[leaves].sum() == n_rows and tree.n_samples.min() >= 1


# --- hyperplanes ----------------------------------------------------------------------------------


def test_planes_part_the_samples_as_they_say() -> None:
    forest: Any = Forest(n_estimators=10, extension_level=2, random_state=0).fit(FRAME)
    matrix, planes = forest.schema_.read(FRAME).astype(float), forest.ensemble_.trees.planes
    first_node = first_term = 0
    for tree, rows in zip(forest.ensemble_.trees, forest.estimators_samples_, strict=True):
        found: list[Any] = [None] * tree.node_count
        found[0] = matrix[rows]
        for node in range(tree.node_count):
            terms = slice(first_term, first_term + planes.n_terms[first_node + node])
            first_term = terms.stop
            assert len(found[node]) == tree.n_samples[node]
            if tree.kind[node] == LEAF:
                continue
            if tree.kind[node] == SUBSET:
                x = found[node][:, tree.feature[node]]
                right = ~np.isin(x, tree.category_set(node))
                right[np.isnan(x)] = tree.missing_branch[node] == 1
            else:
                features = planes.feature[terms]
                assert 1 <= len(features) <= 3 and len(set(features.tolist())) == len(features)
                x = found[node][:, features]
                parts = np.where(np.isnan(x), planes.missing[terms], planes.weight[terms] * x)
                right = np.cumsum(parts, axis=1)[:, -1] > tree.threshold[node]
            child = tree.first_child[node]
            found[child], found[child + 1] = found[node][~right], found[node][right]
        first_node += tree.node_count


def test_planes_see_what_axes_do_not() -> None:
    """Hariri et al.: two blobs make a ghost where their axes cross; planes do not."""
    draw = np.random.default_rng(0)
    blobs = np.r_[draw.normal((0, 10), 1, (500, 2)), draw.normal((10, 0), 1, (500, 2))]
    ghost = draw.normal((0, 0), 1, (200, 2))
    table, label = np.r_[blobs, ghost], np.r_[np.zeros(1000), np.ones(200)]

    def auc(level: int) -> float:
        forest = Forest(n_estimators=200, extension_level=level, random_state=0).fit(blobs)
        return float(roc_auc_score(label, forest.anomaly_score(table)))

    assert auc(1) > auc(0) + 0.005
    assert auc(1) > 0.99


def test_units_do_not_matter_to_planes() -> None:
    one = Forest(n_estimators=20, extension_level=3, random_state=0).fit(X)
    other = Forest(n_estimators=20, extension_level=3, random_state=0).fit(X * 2.0**20)
    assert np.array_equal(one.score_samples(X), other.score_samples(X * 2.0**20))


def test_hyperplanes_have_no_trees_to_draw() -> None:
    forest = Forest(n_estimators=3, extension_level=1).fit(X)
    assert not hasattr(forest, "trees_")
    with pytest.raises(AttributeError, match="extension_level=1"):
        forest.tree(0)


# --- answers --------------------------------------------------------------------------------------


@pytest.mark.mission("E7")
@pytest.mark.quick
def test_top_query() -> None:
    forest = Forest(random_state=0).fit(X)
    order = np.argsort(-forest.anomaly_score(X), kind="stable")
    assert set(forest.top(X, 1.0).tolist()) == set(range(6))
    for q, count in ((0.01, 1), (1.0, 6), (7.0, 42), (33.3, 200), (100, 600)):
        assert forest.top(X, q).tolist() == order[:count].tolist()
    wrong: tuple[Any, ...] = (0, -1, 101, "5", float("nan"))
    for nothing in wrong:
        with pytest.raises(ValueError, match="percentage"):
            forest.top(X, nothing)


@pytest.mark.quick
@pytest.mark.parametrize("level", [0, 1])
def test_contamination_after_the_fit(level: int) -> None:
    """The same offset as a fit with it, from kept scores or from rows that are passed."""
    forest = Forest(random_state=0, extension_level=level).fit(X)
    assert forest.offset_ == -0.5
    with pytest.raises(ValueError, match="Pass these rows as X"):
        forest.set_contamination(0.1)
    assert forest.contamination == "auto" and forest.offset_ == -0.5
    for share in (0.1, 0.01, 0.5):
        fitted = Forest(random_state=0, extension_level=level, contamination=share).fit(X)
        assert forest.set_contamination(share, X).offset_ == fitted.offset_
        assert forest.set_contamination(share).digest() == fitted.digest()
        assert (forest.predict(X) == -1).mean() == pytest.approx(share, abs=0.005)
        assert np.array_equal(forest.predict(X) == -1, forest.decision_function(X) < 0)
    assert forest.set_contamination("auto").offset_ == -0.5
    for wrong in (0.0, 0.7, "many"):
        with pytest.raises(ValueError, match="contamination"):
            forest.set_contamination(wrong)
    assert forest.contamination == "auto"


def test_signs_and_offset_are_scikit_learns() -> None:
    ours = Forest(n_estimators=500, contamination=0.05, random_state=0).fit(X)
    theirs = sklearn.ensemble.IsolationForest(
        n_estimators=500, contamination=0.05, random_state=0
    ).fit(X)
    assert np.abs(ours.score_samples(X) - theirs.score_samples(X)).max() < 0.05
    assert ours.offset_ == pytest.approx(theirs.offset_, abs=0.02)
    assert np.corrcoef(ours.score_samples(X), theirs.score_samples(X))[0, 1] > 0.98
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.97


def test_trees_can_be_looked_at() -> None:
    forest = Forest(n_estimators=3, max_samples=16, random_state=0).fit(FRAME)
    assert len(forest.estimators_) == 3
    text = hb.export_text(forest.tree(0), show_samples=True)
    assert "value: [" in text and "samples:" in text
    assert hb.tree_svg(forest.tree(1)).lstrip().startswith("<")


# --- the paper's table ----------------------------------------------------------------------------


@pytest.mark.mission("E7")
@pytest.mark.parametrize(
    ("file", "paper"),
    [("23_mammography", 0.86), ("30_satellite", 0.71), ("4_breastw", 0.99), ("32_shuttle", 1.00)],
)
def test_auc_of_the_papers_table(shared_data: Path, file: str, paper: float) -> None:
    """Liu et al. 2008, table 3; `python -m benchmarks isolation` has all ten sets, ten seeds."""
    data = np.load(shared_data / "adbench" / f"{file}.npz")
    aucs = [
        roc_auc_score(data["y"], Forest(random_state=seed).fit(data["X"]).anomaly_score(data["X"]))
        for seed in range(5)
    ]
    assert np.mean(aucs) == pytest.approx(paper, abs=0.02)

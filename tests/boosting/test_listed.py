"""Exact and approximate splits along sorted lists: brute force, histograms, threads and pages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

import hornbeam as hb
from hornbeam.data.pages import cut_at

pytestmark = pytest.mark.usefixtures("real_threads")

SETTINGS = {
    "n_estimators": 6,
    "learning_rate": 0.3,
    "growth": "leaf",
    "max_depth": None,
    "colsample_bynode": 1.0,
    "random_state": 0,
}
EXACT: dict[str, Any] = {"split": "exact"}
TINY: list[dict[str, Any]] = [
    {"split": "approximate", "eps": 1e-7, "candidates": which} for which in ("global", "local")
]
EXACT_IDS = ["exact", "global", "local"]


def few_values(seed: int = 0, n: int = 1500) -> Any:
    """A table with fewer than 255 values in a column, so that histograms miss none."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 6)).round(1)
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * random.normal(size=n)
    return X, y


def with_holes(X: Any, share: float = 0.2) -> Any:
    return np.where(np.random.default_rng(1).random(X.shape) < share, np.nan, X)


def thin(X: Any) -> Any:
    return X * (np.random.default_rng(2).random(X.shape) < 0.3)


X, Y = few_values()
HOLES = with_holes(X)
THIN = scipy.sparse.csr_array(thin(X))
THIN_HOLES = scipy.sparse.csr_array(with_holes(thin(X), 0.05))
FRAME = pd.DataFrame(HOLES, columns=list("uvwxyz")).assign(
    c=pd.Categorical(np.random.default_rng(3).integers(0, 30, len(X)).astype(str))
)
MORE_Y = Y + np.tile(np.arange(3.0), len(Y) // 3)


def fit(kind: str, table: Any, y: Any, **settings: Any) -> Any:
    more = settings.pop("more", {})
    make: Any = getattr(hb, f"GradientBoosting{kind}")
    return make(**{**SETTINGS, **settings}).fit(table, y, **more)


# --- exact is brute force -------------------------------------------------------------------


def brute_force(X: Any, y: Any, rows: Any, depth: int, found: list[Any]) -> None:
    """All cuts of a node, from the definition: the leaves, as sets of rows."""
    best = (1e-9, None)
    g = -y[rows]
    for feature in range(X.shape[1]):
        column = X[rows, feature]
        missing = np.isnan(column)
        for cut in np.unique(column[~missing]):
            for missing_left in (False, True):
                left = (column <= cut) | (missing & missing_left)
                if not 0 < left.sum() < len(rows):
                    continue
                sides = [g[left], g[~left]]
                after = sum(side.sum() ** 2 / (len(side) + 1.0) for side in sides)
                gain = 0.5 * (after - g.sum() ** 2 / (len(g) + 1.0))
                if gain > best[0] + 1e-9:
                    best = (gain, left)
    left = best[1]
    if depth == 0 or left is None:
        found.append(frozenset(rows.tolist()))
        return
    brute_force(X, y, rows[left], depth - 1, found)
    brute_force(X, y, rows[~left], depth - 1, found)


@pytest.mark.quick
@pytest.mark.mission("X2")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("how", ["dense", "missing", "sparse"])
def test_exact_is_brute_force(how: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(150, 4)), random.normal(size=150)
    y -= y.mean()
    X = {"dense": X, "missing": with_holes(X), "sparse": thin(X)}[how]
    leaves: list[Any] = []
    brute_force(X, y, np.arange(150), 4, leaves)
    table = scipy.sparse.csr_array(X) if how == "sparse" else X
    model = hb.GradientBoostingRegressor(
        **{**SETTINGS, "n_estimators": 1, "max_depth": 4}, split="exact", min_samples_leaf=1,
        max_leaf_nodes=None, reg_lambda=1.0,
    ).fit(table, y)  # fmt: skip
    leaf = model.apply(table)[:, 0]
    grown = {frozenset(np.flatnonzero(leaf == number).tolist()) for number in np.unique(leaf)}
    assert grown == set(leaves)


# --- exact is the histogram of all values, approximate with a small eps is exact --------------


CASES: dict[str, tuple[str, Any, Any, dict[str, Any]]] = {
    "plain": ("Regressor", X, Y, {}),
    "missing": ("Regressor", HOLES, Y, {}),
    "sparse": ("Regressor", THIN, Y, {}),
    "sparse with holes": ("Regressor", THIN_HOLES, Y, {"subsample": 0.6}),
    "categories": ("Regressor", FRAME, MORE_Y, {"min_samples_leaf": 1, "category_smooth": 0.0}),
    "rows and features drawn": (
        "Regressor",
        HOLES,
        Y,
        {"subsample": 0.6, "colsample_bytree": 0.8, "colsample_bylevel": 0.8},
    ),
    "drawn for nodes": ("Regressor", HOLES, Y, {"colsample_bynode": 0.5, "growth": "depth"}),
    "bounds": ("Regressor", HOLES, Y, {"monotonic_cst": [1, 0, -1, 0, 0, 0], "reg_alpha": 0.5}),
    "groups": ("Regressor", HOLES, Y, {"interaction_constraints": [[0, 1], [2, 3, 4]]}),
    "levels": ("Regressor", HOLES, Y, {"growth": "level", "max_depth": 5, "max_leaf_nodes": None}),
    "own leaves": ("Regressor", HOLES, Y, {"loss": "absolute_error"}),
    "dropped rounds": ("Regressor", HOLES, Y, {"drop_rate": 0.5}),
    "stopped": ("Regressor", HOLES, Y, {"n_iter_no_change": 3}),
    "validation": (
        "Regressor",
        HOLES,
        Y,
        {"more": {"X_val": X[:400] + 0.01, "y_val": Y[:400]}},
    ),
    "two classes": ("Classifier", HOLES, Y > 0, {"min_samples_leaf": 1}),
    "three classes": ("Classifier", HOLES, np.digitize(Y, [-1, 1]), {"min_samples_leaf": 1}),
    "weights": (
        "Regressor",
        HOLES,
        Y,
        {"min_samples_leaf": 1, "more": {"sample_weight": np.linspace(0.0, 2.0, len(Y))}},
    ),
}


@pytest.mark.mission("X2")
@pytest.mark.mission("X3")
@pytest.mark.parametrize("name", CASES)
def test_all_values_are_one_code_book(name: str) -> None:
    kind, table, y, settings = CASES[name]
    bins = fit(kind, table, y, **settings)
    for split in (EXACT, *TINY):
        listed = fit(kind, table, y, **settings, **split)
        assert len(listed.trees_) == len(bins.trees_)
        assert np.array_equal(listed._scores(table), bins._scores(table)), split
        for rows, losses in bins.history_.items():
            assert np.array_equal(listed.history_[rows], losses)


@pytest.mark.mission("X2")
@pytest.mark.mission("X3")
@pytest.mark.mission("X6")
@pytest.mark.parametrize("split", [EXACT, *[{**tiny, "eps": 0.05} for tiny in TINY]], ids=EXACT_IDS)
@pytest.mark.parametrize("kind", ["Regressor", "Classifier"])
def test_threads_and_pages_change_nothing(kind: str, split: dict[str, Any]) -> None:
    random = np.random.default_rng(5)
    table = FRAME.assign(n=random.normal(size=len(FRAME)))
    y = Y if kind == "Regressor" else Y > 0
    settings = {**split, "subsample": 0.7, "more": {"X_val": table[:300], "y_val": y[:300]}}
    digests = set()
    for n_jobs in (1, 2, 4):
        digests.add(fit(kind, table, y, n_jobs=n_jobs, **{**settings}).digest())
    for borders in ([700], [1, 200, 300, 301, 800, 1400]):
        with cut_at(*borders):
            digests.add(fit(kind, table, y, n_jobs=2, **{**settings}).digest())
    assert len(digests) == 1


@pytest.mark.mission("X6")
@pytest.mark.parametrize("split", [EXACT, *TINY], ids=EXACT_IDS)
def test_sparse_columns_are_those_of_the_dense_table(split: dict[str, Any]) -> None:
    random = np.random.default_rng(6)
    dense = thin(random.normal(size=(600, 5)))
    y = dense.sum(axis=1) + random.normal(size=600)
    one, other = (
        fit("Regressor", table, y, **split) for table in (dense, scipy.sparse.csr_array(dense))
    )
    assert np.array_equal(one.predict(dense), other.predict(dense))


def test_weighed_rows_count_as_rows() -> None:
    weight = np.where(np.arange(len(Y)) == 7, 1e4, 1.0)
    model = fit("Regressor", HOLES, Y, **EXACT, min_samples_leaf=40, more={"sample_weight": weight})
    assert min(tree.n_samples[tree.is_leaf].min() for tree in model.trees_) >= 40


# --- candidates -----------------------------------------------------------------------------


@pytest.mark.mission("X3")
def test_the_root_is_cut_at_candidates() -> None:
    """Buckets of the hessian, from the definition: r(x) is the share of the hessian below x."""
    random = np.random.default_rng(7)
    x, weight = random.normal(size=400), random.random(400)
    order = np.argsort(x)
    below = np.concatenate([[0.0], np.cumsum(weight[order])[:-1]]) / weight.sum()
    for eps in (0.5, 0.21, 0.1, 0.03):
        bucket = np.floor(below / eps)
        allowed = (x[order][1:] + x[order][:-1])[np.diff(bucket) != 0] / 2
        for which in ("global", "local"):
            for seed in range(5):
                y = np.random.default_rng(seed).normal(size=400) + np.sin(3 * x)
                model = fit(
                    "Regressor", x[:, None], y, split="approximate", eps=eps, candidates=which,
                    n_estimators=1, max_depth=1, more={"sample_weight": weight},
                )  # fmt: skip
                threshold = float(model.trees_[0].threshold[0])
                assert np.abs(allowed - threshold).min() < 1e-9


@pytest.mark.mission("X3")
def test_global_candidates_are_few_and_local_ones_are_proposed_anew() -> None:
    random = np.random.default_rng(8)
    x = random.normal(size=(2000, 1))
    y = np.sin(8 * x[:, 0]) + 0.1 * random.normal(size=2000)
    counts = {}
    for which in ("global", "local"):
        model = fit(
            "Regressor", x, y, split="approximate", eps=0.25, candidates=which,
            max_leaf_nodes=None, n_estimators=30,
        )  # fmt: skip
        cuts = [tree.threshold[~np.isnan(tree.threshold)] for tree in model.trees_]
        counts[which] = len(np.unique(np.concatenate(cuts)))
    assert counts["global"] == 3  # between four buckets of equal hessians
    assert counts["local"] > 50


# --- what does not go together ----------------------------------------------------------------


@pytest.mark.quick
@pytest.mark.parametrize("eps", [0, 0.0, 1.0, 2, -0.1, np.nan, "small"])
def test_eps_must_be_a_share(eps: Any) -> None:
    with pytest.raises(ValueError, match="eps"):
        hb.GradientBoostingRegressor(split="approximate", eps=eps).fit(X, Y)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"split": "greedy"}, "split"),
        ({"split": "approximate", "candidates": "many"}, "candidates"),
        ({"split": "exact", "growth": "symmetric"}, "set split='histogram', or growth='level'"),
        ({"split": "approximate", "growth": "alternate"}, "growth='alternate' asks all nodes"),
    ],
)
def test_bad_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit("Regressor", X, Y, **settings)


@pytest.mark.quick
def test_automatic_growth_is_leaf_wise() -> None:
    model = hb.GradientBoostingClassifier(split="exact", n_estimators=5).fit(X, Y > 0)
    assert model.growth_ == "leaf"


@pytest.mark.quick
@pytest.mark.parametrize("split", [EXACT, *TINY], ids=EXACT_IDS)
def test_odd_tables(split: dict[str, Any]) -> None:
    column = np.full((30, 1), np.nan)
    target = np.arange(30.0)
    assert len(np.unique(fit("Regressor", column, target, **split).predict(column))) == 1
    both = np.concatenate([column, np.ones((30, 1))], axis=1)
    both[:15, 1] = np.nan
    model = fit("Regressor", both, target, **split, n_estimators=100)
    assert model.predict(both)[[0, -1]] == pytest.approx([7.0, 22.0], abs=0.1)
    none = scipy.sparse.csr_array((30, 2))
    assert len(np.unique(fit("Regressor", none, target, **split).predict(none))) == 1


@parametrize_with_checks(
    [
        make(n_estimators=5, min_samples_leaf=1, max_leaf_nodes=8, learning_rate=0.5, **split)
        for make in (hb.GradientBoostingRegressor, hb.GradientBoostingClassifier)
        for split in (
            EXACT,
            {"split": "approximate", "candidates": "local"},
            {"split": "approximate"},
        )
    ]
)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    if "sample_weight_equivalence" in str(check):
        pytest.skip("units of weighted slopes differ: see tests/boosting/test_checks.py")
    check(estimator)

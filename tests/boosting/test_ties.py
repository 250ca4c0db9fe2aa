"""Of equal gains the lowest feature wins, then the lowest threshold, however rows are laid out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse

import hornbeam as hb

GROWTHS = ["leaf", "level", "depth", "symmetric", "alternate"]
STUMP = {
    "n_estimators": 1,
    "learning_rate": 1.0,
    "min_samples_leaf": 1,
    "reg_lambda": 1.0,
    "colsample_bynode": 1.0,
}


def mostly_zero(seed: int, missing: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Eight rows of features that seldom differ from zero, so that some share a column."""
    random = np.random.default_rng(seed)
    X = random.choice([0.0, 0.0, 0.0, 1.0, 3.0, -2.0], size=(8, random.integers(3, 7)))
    if missing:
        X[random.random(X.shape) < 0.1] = np.nan
    return X, random.integers(0, 3, 8).astype(float)


def first_question(X: np.ndarray, y: np.ndarray) -> tuple[int, float]:
    """The best cut, by trying all; (-1, nan) if none gains anything. All sums are exact."""
    gradient, best, found = y.mean() - y, 0.0, (-1, np.nan)
    for feature in range(X.shape[1]):
        for low, high in itertools.pairwise(np.unique(X[:, feature])):
            left = X[:, feature] <= low
            one, two = gradient[left].sum(), gradient[~left].sum()
            gain = 0.5 * (one * one / (left.sum() + 1.0) + two * two / ((~left).sum() + 1.0))
            if gain > best:
                best, found = gain, (feature, (low + high) / 2)
    return found


@pytest.mark.parametrize("growth", GROWTHS)
def test_the_first_question_is_the_first_of_the_best(growth: str) -> None:
    for seed in range(40):
        X, y = mostly_zero(seed)
        model = hb.GradientBoostingRegressor(**STUMP, growth=growth, max_leaf_nodes=2)
        root = model.fit(X, y).trees_[0]
        expected = first_question(X, y)
        assert root.feature[0] == expected[0], seed
        np.testing.assert_equal(root.threshold[0], expected[1])


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("growth", GROWTHS)
def test_layout_and_threads_do_not_break_ties(
    growth: str, missing: bool, real_threads: None
) -> None:
    for seed in range(12):
        X, y = mostly_zero(100 + seed, missing)
        models = [
            hb.GradientBoostingRegressor(
                **{**STUMP, "n_estimators": 2, "learning_rate": 0.5}, growth=growth, n_jobs=n_jobs
            ).fit(table, y)
            for table in (X, scipy.sparse.csr_array(X))
            for n_jobs in (1, 2)
        ]
        assert len({model.digest() for model in models}) == 1, seed


def test_a_tie_between_shared_columns() -> None:
    """The first and the third feature share a column; the second and the third part alike."""
    X = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 3, 3.0]])
    y = np.array([0, 1, 0, 1.0])
    for table in (X, scipy.sparse.csr_array(X)):
        tree = hb.GradientBoostingRegressor(**STUMP).fit(table, y).trees_[0]
        assert tree.feature[tree.feature >= 0].tolist() == [0, 1]


def test_several_scores_gain_the_same_by_questions_that_part_alike() -> None:
    """A copy of a feature with finer values elsewhere is never asked instead of it."""
    random = np.random.default_rng(0)
    for _ in range(20):
        coarse = random.integers(0, 3, 40).astype(float)
        copies = np.column_stack([coarse, -coarse, 2.0 * coarse])
        y = random.integers(0, 3, 40)
        model = hb.GradientBoostingClassifier(
            n_estimators=2, growth="symmetric", learning_rate=0.3, min_samples_leaf=1, reg_alpha=0.1
        ).fit(copies, y)
        asked = {int(f) for tree in model.trees_ for f in tree.feature if f >= 0}
        assert asked <= {0}

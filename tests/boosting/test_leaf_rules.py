"""Values of leaves: each is the best constant for its rows, by a search over a grid."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.optimize

from hornbeam import losses
from hornbeam.boosting.leaf_rules import keep_order, leaf_values

N = 240


def problem(name, weighted, seed=0, **options):
    """Loss, y, weight, scores and the rows of four leaves."""
    rng = np.random.default_rng(seed)
    y = rng.gamma(2.0, size=N)
    weight = rng.uniform(0.2, 2.0, N) if weighted else np.broadcast_to(1.0, N)
    loss = losses.resolve(
        name, task="regression", y=y, weight=weight, options=losses.LossOptions(**options)
    )
    leaves = np.array_split(rng.permutation(N), [10, 11, 130])
    return loss, y, weight, rng.normal(size=N), leaves


def leaf_loss(loss, y, weight, scores, rows, value):
    return losses.total_loss(loss, y[rows], np.array(weight[rows]), scores[rows] + value)


@pytest.mark.mission("G1")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", losses.names("regression"))
def test_no_other_constant_is_better(name, weighted):
    loss, y, weight, scores, leaves = problem(name, weighted, quantile=0.3)
    values = leaf_values(loss, y, weight, scores, leaves)
    for rows, value in zip(leaves, values, strict=True):
        reached = leaf_loss(loss, y, weight, scores, rows, value)
        # the square root has many valleys, of which a sample of 64 is looked at
        slack = 0.02 * reached if name == "sqrt_absolute" else 1e-5 * (1.0 + reached)
        for other in [*np.linspace(-3, 6, 91), value - 1e-2, value + 1e-2]:
            assert leaf_loss(loss, y, weight, scores, rows, other) >= reached - slack


@pytest.mark.mission("G1")
def test_medians_and_quantiles_of_a_leaf():
    y = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 99.0])
    ones, scores = np.broadcast_to(1.0, 6), np.ones(6)
    leaves = [np.arange(4), np.array([4, 5])]
    absolute = losses.resolve("absolute_error", task="regression")
    assert leaf_values(absolute, y, ones, scores, leaves) == pytest.approx([2.0, 56.5])
    options = losses.LossOptions(quantile=[0.25, 0.9])
    loss = losses.resolve("quantile", task="regression", options=options)
    both = np.stack([scores, 2 * scores])
    assert leaf_values(loss, y, ones, both, leaves, score=0) == pytest.approx([0.0, 15.0])
    assert leaf_values(loss, y, ones, both, leaves, score=1) == pytest.approx([6.0, 97.0])


@pytest.mark.mission("G1")
def test_squares_have_the_mean_of_the_residuals():
    loss, y, weight, scores, leaves = problem("squared_error", weighted=True)
    expected = [np.average((y - scores)[rows], weights=weight[rows]) for rows in leaves]
    assert leaf_values(loss, y, weight, scores, leaves) == pytest.approx(expected, rel=1e-5)


@pytest.mark.mission("G2")
@pytest.mark.parametrize(
    ("name", "n_classes"),
    [("log_loss", 2), ("log_loss", 4), ("log_loss_k1", 4), ("exponential", 2)],
)
def test_classes_take_friedmans_single_step(name, n_classes):
    """(K-1)/K * sum r / sum |r| (1-|r|) for K scores (Friedman 2001, eq. 32)."""
    rng = np.random.default_rng(1)
    y, weight = rng.integers(0, n_classes, N).astype(float), rng.uniform(0.5, 2.0, N)
    loss = losses.resolve(name, task="classification", n_classes=n_classes)
    scores = rng.normal(size=(loss.n_scores, N))
    leaves = np.array_split(rng.permutation(N), 3)
    shares = loss.link(scores.T)
    for k in range(loss.n_scores):
        label = k + n_classes - loss.n_scores
        rest = (y == label) - shares[:, label]
        bend = np.abs(rest) * (1.0 - np.abs(rest))
        factor = (n_classes - 1) / n_classes if loss.link_name == "softmax" else 1.0
        if name == "exponential":
            sign = 2.0 * y - 1.0
            rest, bend = sign * np.exp(-sign * scores[0]), np.exp(-sign * scores[0])
        expected = [
            factor * (weight * rest)[rows].sum() / (weight * bend)[rows].sum() for rows in leaves
        ]
        values = leaf_values(loss, y, weight, scores, leaves, score=k)
        assert values == pytest.approx(expected, rel=1e-5)


def test_ranking_takes_one_step_on_whole_queries():
    rng = np.random.default_rng(2)
    y, scores, ones = rng.integers(0, 4, N).astype(float), rng.normal(size=N), np.ones(N)
    groups = np.arange(0, N + 1, 20)
    loss = losses.resolve("lambdamart", task="ranking")
    leaves = [np.arange(0, N, 2), np.arange(1, N, 2)]
    slopes, _ = losses.slopes_of(loss, y, ones, scores, groups=groups)
    expected = [-slopes[0, r, 0].sum() / slopes[0, r, 1].sum() for r in leaves]
    values = leaf_values(loss, y, ones, scores, leaves, groups=groups)
    assert values == pytest.approx(expected, rel=1e-4)


@pytest.mark.mission("X9")
def test_a_loss_that_bends_down_is_searched_too():
    """log(1 + r^2) has a negative second derivative far from its target."""

    def cauchy(y, score):
        return math.log(1.0 + (y - score) ** 2)

    _, y, weight, _, leaves = problem("squared_error", weighted=True)
    loss = losses.resolve(cauchy, task="regression")
    scores = np.full(N, -2.0)
    assert losses.slopes_of(loss, y, weight, scores)[0][..., 1].min() < 0
    for rows, value in zip(leaves, leaf_values(loss, y, weight, scores, leaves), strict=True):

        def total(step, rows=rows):
            return leaf_loss(loss, y, weight, scores, rows, step)

        near = scipy.optimize.minimize_scalar(total, bounds=(value - 0.3, value + 0.3))
        assert total(value) <= near.fun + 1e-6
        assert total(value) < total(0.0)


@pytest.mark.parametrize("name", ["absolute_error", "sqrt_absolute", "poisson", "squared_error"])
def test_threads_and_empty_leaves(name):
    loss, y, weight, scores, leaves = problem(name, weighted=True)
    weight[leaves[1]] = 0.0
    leaves.append(np.zeros(0, np.int64))
    one = leaf_values(loss, y, weight, scores, leaves, n_jobs=1)
    assert one.tobytes() == leaf_values(loss, y, weight, scores, leaves, n_jobs=3).tobytes()
    assert one[1] == 0.0 and one[-1] == 0.0 and np.isfinite(one).all()


def test_the_square_root_prefers_the_crowd_over_the_middle():
    """Of three equal values and two far ones the best constant is the three."""
    loss = losses.resolve("sqrt_absolute", task="regression")
    y = np.array([0.0, 0.0, 0.0, 9.0, 10.0, 11.0, 12.0])
    values = leaf_values(loss, y, np.ones(7), np.zeros(7), [np.arange(7)])
    totals = [np.sqrt(np.abs(y - v)).sum() for v in y]
    assert np.sqrt(np.abs(y - values[0])).sum() == pytest.approx(min(totals))


def random_tree(seed, n_splits):
    """First children of the nodes of a tree, numbered as it grew leaf by leaf."""
    rng = np.random.default_rng(seed)
    child = np.zeros(1, np.int64)
    for _ in range(n_splits):
        child[rng.choice(np.flatnonzero(child == 0))] = len(child)
        child = np.concatenate([child, [0, 0]])
    return child, rng


def leaves_below(child, node):
    below = [node] if child[node] == 0 else []
    for branch in range(2 if child[node] else 0):
        below += leaves_below(child, child[node] + branch)
    return below


@pytest.mark.quick
@pytest.mark.parametrize("seed", range(20))
def test_values_are_brought_into_order(seed):
    """All leaves on one side of a constrained split are above all on the other."""
    child, rng = random_tree(seed, 1 + seed)
    direction = np.where(child > 0, rng.integers(-1, 2, len(child)), 0)
    count = rng.integers(0, 9, len(child))
    value = rng.normal(size=len(child))
    found = keep_order(child, direction, count, value)
    leaf = child == 0
    assert value[leaf].min() <= found[leaf].min() and found[leaf].max() <= value[leaf].max()
    for node in np.flatnonzero(direction):
        left, right = (found[leaves_below(child, child[node] + b)] for b in range(2))
        assert left.max() <= right.min() if direction[node] > 0 else right.max() <= left.min()
    again = keep_order(child, np.zeros_like(child), count, value)
    np.testing.assert_array_equal(again[leaf], value[leaf])


@pytest.mark.quick
def test_values_in_order_stay_and_others_meet_at_their_mean():
    child, count = np.array([1, 0, 0]), np.array([4, 1, 3])
    up = np.array([1, 0, 0])
    assert keep_order(child, up, count, np.array([9.0, 1.0, 5.0]))[1:].tolist() == [1.0, 5.0]
    assert keep_order(child, up, count, np.array([9.0, 5.0, 1.0]))[1:].tolist() == [2.0, 2.0]
    assert keep_order(child, -up, count, np.array([9.0, 5.0, 1.0]))[1:].tolist() == [5.0, 1.0]

"""Greedy selection does what its definition says, and nothing depends on the order of ties."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.combine.greedy import greedy_weights, select


def slow(predictions: np.ndarray, loss: object, n_steps: int) -> np.ndarray:
    """The definition, with lists of members in place of sums."""
    chosen: list[int] = []
    best: tuple[float, list[int]] = (np.inf, [])
    for _ in range(n_steps):
        trials = [chosen + [m] for m in range(len(predictions))]
        losses = [loss(predictions[t].mean(axis=0)) for t in trials]  # type: ignore[operator]
        chosen = trials[min(range(len(losses)), key=lambda m: (float(f"{losses[m]:.9g}"), m))]
        if float(f"{min(losses):.9g}") < best[0]:
            best = float(f"{min(losses):.9g}"), chosen
    return np.bincount(best[1], minlength=len(predictions))


@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 12))
def test_it_is_the_definition(seed: int, n_members: int, n_steps: int) -> None:
    rng = np.random.default_rng(seed)
    y = rng.normal(size=20)
    predictions = (y + rng.normal(size=(n_members, 20)))[:, :, None]

    def loss(mean: np.ndarray) -> float:
        return float(np.mean((mean[:, 0] - y) ** 2))

    assert np.array_equal(select(predictions, loss, n_steps), slow(predictions, loss, n_steps))


@pytest.mark.quick
def test_the_first_of_equal_members_is_selected_and_the_shortest_prefix() -> None:
    y = np.array([0.0, 1.0, 2.0])
    same = np.stack([y + 1.0, y, y])
    assert greedy_weights(list(same[:, :, None]), y, np.ones(3), None, False).tolist() == [0, 1, 0]


@pytest.mark.quick
def test_two_members_that_err_to_both_sides_are_better_together() -> None:
    y = np.zeros(4)
    blocks = [np.full((4, 1), 1.0), np.full((4, 1), -1.0), np.full((4, 1), 3.0)]
    assert greedy_weights(blocks, y, np.ones(4), None, False).tolist() == [0.5, 0.5, 0.0]


@given(st.integers(0, 10_000))
def test_it_is_never_worse_than_the_best_member_on_its_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels, weight = rng.integers(0, 3, 30), rng.uniform(0.1, 2.0, 30)
    blocks = [rng.dirichlet(np.ones(3), 30) for _ in range(4)]

    def loss(shares: np.ndarray) -> float:
        return -float(weight @ np.log(shares[np.arange(30), labels]))

    weights = greedy_weights(blocks, labels, weight, labels, False)
    mixed = sum(w * b for w, b in zip(weights, blocks, strict=True))
    assert loss(mixed) <= min(loss(block) for block in blocks) + 1e-9


@pytest.mark.quick
def test_the_order_of_members_only_permutes_the_weights() -> None:
    rng = np.random.default_rng(3)
    y = rng.normal(size=50)
    blocks = [(y + rng.normal(size=50) * s)[:, None] for s in (0.5, 0.6, 0.7)]
    base = greedy_weights(blocks, y, np.ones(50), None, False)
    for order in itertools.permutations(range(3)):
        found = greedy_weights([blocks[i] for i in order], y, np.ones(50), None, False)
        assert np.allclose(found, base[list(order)])


@pytest.mark.quick
def test_votes_are_selected_by_wrong_rows() -> None:
    labels = np.array([0, 0, 1, 1])
    bad, good = np.eye(2)[[1, 1, 0, 0]], np.eye(2)[[0, 0, 1, 0]]
    assert greedy_weights([bad, good], labels, np.ones(4), labels, True).tolist() == [0, 1]


@pytest.mark.quick
@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1.0, 1e150, 1e300])
def test_the_units_of_y_do_not_matter(scale: float) -> None:
    rng = np.random.default_rng(0)
    y = rng.uniform(-1, 1, 30)
    blocks = [(y + 0.3 * rng.normal(size=30))[:, None] for _ in range(3)]
    base = greedy_weights(blocks, y, np.ones(30), None, False)
    scaled = greedy_weights([scale * b for b in blocks], scale * y, np.ones(30), None, False)
    assert np.array_equal(base, scaled)

"""Cuts of a boosted number, against all of them one after the other."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit

from hornbeam.kernels.boosting.search import (
    MANY_CUTS,
    SearchedNode,
    amount_to_beat,
    search_in_full,
    search_plain,
)
from hornbeam.kernels.boosting.state import ALL_HELD, HELD_ROOM, MOST_CUTS, UNKNOWN


class Rules(NamedTuple):
    is_plain: bool = True
    alpha: float = 0.0
    max_step: float = 0.0
    min_leaf: int = 1


class Units(NamedTuple):
    gradient: float = 1.0
    hessian: float = 1.0


class Shape(NamedTuple):
    n_cells: int


class Steps(NamedTuple):
    count_held: bool


class Table(NamedTuple):
    """What the walk reads of a table ..."""

    shape: Shape
    cell_start: Any
    n_codes: Any
    monotone: Any
    penalty: float
    rules: Rules
    units: Units
    steps: Steps


class Best(NamedTuple):
    """... where it notes the best cut ..."""

    gain: Any
    left_value: Any
    right_value: Any
    gradient: Any
    hessian: Any
    feature: Any
    cut: Any
    missing_left: Any


class Team(NamedTuple):
    """... and what it reads of a thread."""

    cells: Any
    held: Any
    prefix: Any
    best: Best


class Cells(NamedTuple):
    """Sums of each code of a feature; those of missing values are the last ones."""

    gradient: Any
    hessian: Any
    held: Any


@cache
def runner(plain: bool) -> Any:
    @njit
    def run(table, team, node):  # type: ignore[no-untyped-def]
        to_beat = amount_to_beat(table, team.best, 0, node)
        if plain:
            search_plain(table, team, node, 0, 0, 1, to_beat, 0)
        else:
            search_in_full(table, team, node, 0, 0, 1, to_beat, 0)

    return run


def make_cells(seed: int, n_codes: int, missing: bool) -> Cells:
    random = np.random.default_rng(seed)
    held = random.integers(0, 6, n_codes + 1) * (random.random(n_codes + 1) < 0.7)
    held[-1] = 7 if missing else 0
    gradient = np.where(held > 0, random.integers(-40, 41, n_codes + 1), 0)
    return Cells(gradient, held * random.integers(1, 4, n_codes + 1), held)


def found_cut(cells: Cells, rules: Rules, counts: bool, direction: int, node: SearchedNode) -> Best:
    """What the walk notes; the feature is the second one of a table."""
    n_codes = len(cells.gradient) - 1
    n_cells = 3 + n_codes + 1
    planes = np.zeros((2, n_cells), np.int64)
    planes[:, 3:] = cells.gradient, cells.hessian
    room = np.zeros(HELD_ROOM, np.int64)
    room[: n_codes + 1] = cells.held
    room[ALL_HELD] = cells.held.sum()
    table = Table(
        Shape(n_cells), np.array([0, 3, n_cells]), np.array([2, n_codes]),
        np.array([0, direction]), 0.5, rules, Units(), Steps(counts),
    )  # fmt: skip
    best = Best(*(np.zeros(1) for _ in range(3)), *(np.full(1, -9) for _ in range(5)))
    best.gain[0] = 1e-6
    team = Team(planes.ravel(), room, np.zeros(2 * MOST_CUTS, np.int64), best)
    runner(rules.is_plain and not counts)(table, team, node)
    return best


def weight_of(g: float, h: float, rules: Rules) -> float:
    """-T(G) / (H + lambda), clipped."""
    weight = -float(np.sign(g)) * max(abs(g) - rules.alpha, 0.0) / (h + 0.5)
    return float(np.clip(weight, -rules.max_step, rules.max_step)) if rules.max_step else weight


def objective(g: float, h: float, rules: Rules) -> float:
    weight = weight_of(g, h, rules)
    return g * weight + (h + 0.5) * weight**2 / 2 + rules.alpha * abs(weight)


def best_of_all(cells: Cells, rules: Rules, counts: bool, direction: int, enough: int) -> Any:
    """Gain, last code on the left and side of missing values, with two loops."""
    n_codes, total = len(cells.gradient) - 1, (cells.gradient.sum(), cells.hessian.sum())
    best: Any = (1e-6, -9, -9)
    some = cells.hessian[-1] > 0
    for missing_left in range(2 if some else 1):
        for code in range(n_codes):
            here = np.zeros(n_codes + 1, bool)
            here[: code + 1] = True
            here[-1] = missing_left and some
            (g, h), n_left = (
                (cells.gradient[here].sum(), cells.hessian[here].sum()),
                cells.held[here].sum(),
            )
            if min(h, total[1] - h) < enough:
                continue
            if counts and min(n_left, cells.held.sum() - n_left) < rules.min_leaf:
                continue
            rest = total[0] - g, total[1] - h
            if (weight_of(g, h, rules) - weight_of(*rest, rules)) * direction > 0:
                continue
            gain = objective(*total, rules) - objective(g, h, rules) - objective(*rest, rules)
            if gain > best[0] + 1e-9 and cells.hessian[code] > 0:
                best = (gain, code, missing_left if some else UNKNOWN)
    return best


@pytest.mark.parametrize("n_codes", [5, MANY_CUTS - 1, 60])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(
    ("rules", "counts", "direction"),
    [
        (Rules(), False, 0),
        (Rules(is_plain=False, alpha=9.0, max_step=2.0), False, 0),
        (Rules(is_plain=False), False, -1),
        (Rules(min_leaf=9), True, 0),
    ],
)
def test_the_best_cut_of_all_is_found(
    n_codes: int, missing: bool, rules: Rules, counts: bool, direction: int
) -> None:
    for seed in range(8):
        cells, enough = make_cells(seed, n_codes, missing), 1 + 6 * (seed % 2)
        g, h = float(cells.gradient.sum()), float(cells.hessian.sum())
        before = -2.0 * objective(g, h, rules)
        node = SearchedNode(int(g), int(h), enough, 1.0, -np.inf, np.inf, before)
        found = found_cut(cells, rules, counts, direction, node)
        gain, cut, missing_left = best_of_all(cells, rules, counts, direction, enough)
        assert found.gain[0] == pytest.approx(gain)
        assert (found.cut[0], found.missing_left[0]) == (cut, missing_left), seed
        if cut >= 0:
            assert found.feature[0] == 1
            codes = np.arange(n_codes + 1) <= cut
            codes[-1] = missing_left == 1 and missing
            assert found.gradient[0] == cells.gradient[codes].sum()
            weight = weight_of(found.gradient[0], found.hessian[0], rules)
            assert found.left_value[0] == pytest.approx(weight)

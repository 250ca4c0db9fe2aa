"""Every walk along the cuts of a node, with everything that is summed, against its definition."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit

from hornbeam.criteria import _gini_may_beat, _gini_score, _squared_error_score
from hornbeam.kernels.order_statistics import ORDER_BLOCKS, order_sums
from hornbeam.kernels.scan import make_cell_scan, make_cut_judge, make_key_scan
from hornbeam.kernels.split_bin_categories import (
    EVERY,
    add_class_group,
    add_moment_group,
    make_group_scan,
    open_class_groups,
    open_moment_groups,
    rows_of_classes,
    rows_of_moments,
)
from hornbeam.kernels.state import ABSENT, LEFT, RIGHT, WORD_FIRST_WINS, ScanQuestion
from hornbeam.kernels.sums import ROW_UNIT, class_sums, moment_sums
from hornbeam.runtime.kernel import inlined, specialise
from hornbeam.runtime.views import make_loader, make_slots, read_notes

not_stored = partial(specialise, variant=None)
load_question = make_loader(ScanQuestion)
CLASSES = class_sums(inlined(_gini_score), inlined(_gini_may_beat))
MOMENTS = {width: moment_sums(inlined(_squared_error_score), width) for width in (3, 4)}
N_CODES, FEATURE = 70, 1


class Node(NamedTuple):
    """Rows of a node: the missing code is N_CODES."""

    code: Any
    label: Any
    y: Any
    weight: Any


def make_node(seed: int, n_classes: int, n_rows: int = 60, whole: bool = True) -> Node:
    random = np.random.default_rng(seed)
    code = random.choice(np.append(random.integers(0, N_CODES, 12), N_CODES), n_rows)
    label = random.integers(0, n_classes, n_rows)
    label[code < 30] = 0
    weight = random.integers(1, 4, n_rows) / (1.0 if whole else 8.0)
    return Node(code, label, random.integers(-3, 4, n_rows) + (code > 40) * 2.0, weight)


class Rules(NamedTuple):
    min_leaf: int


class Weights(NamedTuple):
    whole: bool


class Problem(NamedTuple):
    """What walks read of a problem ..."""

    n_codes: Any
    monotone: Any
    class_start: Any
    rules: Rules
    weights: Weights
    max_categories: int


class Ask(NamedTuple):
    """... of a question ..."""

    n_totals: int
    weight: float
    min_weight: float
    lower: float
    upper: float
    anew: bool


class Scratch(NamedTuple):
    """... and of a thread's own memory."""

    cell_words: Any
    cell_sums: Any
    occupied: Any
    total: Any
    left: Any
    right: Any
    class_span: Any
    keys: Any
    group_order: Any
    ask: Ask


class Desk(NamedTuple):
    """Where splits are kept."""

    words: Any
    best_score: Any
    best_feature: Any
    best_cut: Any
    best_missing_left: Any
    best_threshold: Any
    feature_score: Any
    tie: Any
    member: Any


# --- definitions --------------------------------------------------------------------------


class Limits(NamedTuple):
    min_leaf: int = 1
    min_weight: float = 0.0
    monotone: int = 0
    lower: float = -np.inf
    upper: float = np.inf


def gini(node: Node, here: Any) -> float:
    """Weight times the Gini impurity of some rows."""
    counts = np.bincount(node.label[here], node.weight[here])
    return float(counts.sum() - (counts**2).sum() / counts.sum())


def squares(node: Node, here: Any) -> float:
    """Minus the squared sum over the weight."""
    return float(-((node.weight[here] @ node.y[here]) ** 2) / node.weight[here].sum())


def distances(node: Node, here: Any) -> float:
    """Sum of distances from the median, which is found by trying all values."""
    y, weight = node.y[here], node.weight[here]
    return float(min(weight @ np.abs(y - value) for value in y))


def mean(node: Node, here: Any) -> float:
    return float(np.average(node.y[here], weights=node.weight[here]))


def share_of(last: int) -> Callable[[Node, Any], float]:
    return lambda node, here: float(np.average(node.label[here] == last, weights=node.weight[here]))


def score_of(node: Node, left: Any, loss: Any, value: Any, limits: Limits) -> float:
    """Minus the losses of both sides; -inf if the cut is not allowed."""
    sides = (left, ~left)
    if min(side.sum() for side in sides) < max(1, limits.min_leaf):
        return -np.inf
    if min(node.weight[side].sum() for side in sides) < limits.min_weight:
        return -np.inf
    low, high = value(node, sides[0]), value(node, sides[1])
    if limits.monotone and not (
        limits.lower <= min(low, high)
        and max(low, high) <= limits.upper
        and (low - high) * limits.monotone <= 0
    ):
        return -np.inf
    return -sum(loss(node, side) for side in sides)


def best_cut(
    node: Node, loss: Any, value: Any, missing_left: bool, limits: Limits
) -> tuple[float, int, int]:
    """Best score, last code on the left and rows there, of all cuts one after the other."""
    best = (-np.inf, -1, 0)
    for code in np.unique(node.code[node.code < N_CODES]):
        left = node.code <= code
        left |= missing_left & (node.code == N_CODES)
        score = score_of(node, left, loss, value, limits)
        if score > best[0] + 1e-9:
            best = (score, int(code), int(left.sum()))
    return best


LIMITS = [
    Limits(),
    Limits(min_leaf=9),
    Limits(min_weight=25.0),
    Limits(monotone=1, lower=-1.0, upper=2.0),
]


# --- along keys -----------------------------------------------------------------------------


@cache
def key_runner(summed: str) -> Any:
    """The walk along keys, to be called from Python."""
    of = {"classes": CLASSES.entries, "moments": MOMENTS[3].entries, "order": order_sums}
    scan = make_key_scan(of[summed], None)

    @not_stored
    def run(slots, keys, labels, stats, rows, span, total, start, left, right, order):  # type: ignore[no-untyped-def]
        ask = load_question(slots, 0)
        return scan(keys, labels, stats, rows, span, total, start, left, right, order, ask)

    return run


def scan_entries(summed: str, node: Node, stats: Any, missing_left: bool, limits: Limits) -> Any:
    """The walk along keys of single rows, sorted by their codes."""
    run, n_labels, total = key_runner(summed), 0, stats.sum(axis=0)
    if summed == "classes":
        n_labels, total = 1, np.bincount(node.label, node.weight, 3)
    order = np.argsort(node.code, kind="stable")
    keys = (node.code[order].astype(np.uint64) << np.uint64(32)) | order.astype(np.uint64)
    missing = node.code == N_CODES
    n_stats = stats.shape[1]
    start = np.zeros(len(total))
    if missing_left:
        for j in np.flatnonzero(missing):
            if n_labels:
                start[node.label[j]] += node.weight[j]
            else:
                start += np.resize(stats[j], len(total))
    question = ScanQuestion(
        n_keys=int((~missing).sum()), n_all_keys=len(node.code), n_rows=len(node.code),
        n_stats=n_stats, n_labels=n_labels, n_outputs=1, n_totals=len(total),
        min_leaf=limits.min_leaf, min_weight=limits.min_weight, whole_weights=n_labels > 0,
        weight=node.weight.sum(), start_rows=int(missing.sum()) if missing_left else 0,
        start_weight=node.weight[missing].sum() if missing_left else 0.0,
        monotone=limits.monotone, lower=limits.lower, upper=limits.upper,
    )  # fmt: skip
    slots = make_slots(question)
    score = run(
        slots, keys, node.label.astype(np.int32), stats.ravel(), np.ones(1, np.int32),
        np.array([0, len(total)]), total, start, np.zeros(len(total)), np.zeros(len(total)),
        np.zeros(ORDER_BLOCKS * len(node.code)),
    )  # fmt: skip
    answer = read_notes(slots, 0, ScanQuestion)
    code = int(keys[answer.best_key] >> np.uint64(32)) if score > -np.inf else -1
    return score, code, answer.best_rows


def moments_of(node: Node) -> Any:
    return np.stack([node.weight, node.weight * node.y, node.weight * node.y**2], axis=1)


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("summed", ["classes", "moments", "order"])
def test_keys_are_cut_at_the_best_place(summed: str, limits: Limits) -> None:
    for seed in range(4):
        node, missing_left = make_node(seed, 3), bool(seed % 2)
        stats = {
            "classes": node.weight[:, None],
            "moments": moments_of(node),
            "order": np.stack([node.weight, node.y], axis=1),
        }[summed]
        losses = {"classes": gini, "moments": squares, "order": distances}
        if summed == "order" and limits.monotone:
            continue  # a median between two values is tested with trees
        value = share_of(2) if summed == "classes" else mean
        found = scan_entries(summed, node, stats, missing_left, limits)
        expected = best_cut(node, losses[summed], value, missing_left, limits)
        assert found[0] == pytest.approx(expected[0], rel=1e-9)
        assert found[1:] == expected[1:] or expected[0] == -np.inf, seed


# --- along cells ------------------------------------------------------------------------------


def stage(
    node: Node, n_classes: int, width: int, limits: Limits, whole: bool = True
) -> tuple[Any, Any]:
    """A problem of two features of which the second is asked, and its filled cells."""
    problem = Problem(
        np.array([2, N_CODES]), np.array([0, limits.monotone]), np.array([0, n_classes]),
        Rules(limits.min_leaf), Weights(whole), N_CODES,
    )  # fmt: skip
    occupied = np.zeros(2, np.uint64)
    for code in node.code:
        occupied[code >> 6] |= np.uint64(1) << np.uint64(code & 63)
    n_cells = N_CODES + 1
    if width:
        cells = np.zeros((n_cells, width))
        numbers = np.column_stack([np.ones(len(node.code)), moments_of(node)])[:, :width]
        np.add.at(cells, node.code, numbers)
        words, total = np.zeros(1, np.int64), moments_of(node).sum(axis=0)
    else:
        words, cells = np.zeros((n_cells, n_classes), np.int64), np.zeros((n_cells, n_classes))
        np.add.at(
            words, (node.code, node.label), ROW_UNIT + (node.weight.astype(int) if whole else 0)
        )
        np.add.at(cells, (node.code, node.label), 0.0 if whole else node.weight)
        total = np.bincount(node.label, node.weight, n_classes)
    room = partial(np.zeros, max(3, n_classes))
    ask = Ask(n_classes, node.weight.sum(), limits.min_weight, limits.lower, limits.upper, False)
    scratch = Scratch(
        words.ravel(), cells.ravel(), occupied, total, room(), room(), np.array([0, n_classes]),
        np.zeros(N_CODES, np.uint64), np.zeros(N_CODES, np.int64), ask,
    )  # fmt: skip
    return problem, scratch


CELLS = {
    "two": CLASSES.two_cells,
    "classes": CLASSES.cells,
    "first moments": MOMENTS[3].cells,
    "moments": MOMENTS[4].cells,
}


@cache
def cell_runner(summed: str) -> Any:
    scan = make_cell_scan(CELLS[summed], None)

    @njit
    def run(problem, scratch, n_rows, missing_left):  # type: ignore[no-untyped-def]
        return scan(problem, scratch, FEATURE, n_rows, missing_left, True)

    return run


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize(
    "summed", ["two", "two by arrays", "three", "fractions", "first moments", "moments"]
)
def test_cells_are_cut_at_the_best_place(summed: str, limits: Limits) -> None:
    n_classes = 2 if summed.startswith("two") else 3
    whole = summed != "fractions"
    for seed in range(4):
        node, missing_left = make_node(seed, n_classes, whole=whole), bool(seed % 2)
        if summed.endswith("moments"):
            width = 3 if summed.startswith("first") else 4
            problem, scratch = stage(node, n_classes, width, limits)
            walk, loss, value = summed, squares, mean
        else:
            problem, scratch = stage(node, n_classes, 0, limits, whole)
            walk = "two" if summed == "two" else "classes"
            loss, value = gini, share_of(n_classes - 1)
        found = cell_runner(walk)(problem, scratch, len(node.code), missing_left)
        expected = best_cut(node, loss, value, missing_left, limits)
        assert found[0] == pytest.approx(expected[0], rel=1e-9)
        assert found[1:3] == expected[1:]
        assert found[3] == len(np.unique(node.code[node.code < N_CODES]))
        known = slice(0, N_CODES * max(1, len(scratch.cell_words) // (N_CODES + 1)))
        assert not scratch.cell_words[known].any() and not scratch.occupied.any()


# --- one cut, and groups of categories ----------------------------------------------------------


def make_desk() -> Desk:
    desk = Desk(
        np.zeros(64, np.int64), np.full(1, -np.inf), np.full(1, 9), np.zeros(1, np.int64),
        np.zeros(1, np.int64), np.zeros(1), np.full(2, -np.inf), np.zeros(1),
        np.full(N_CODES, 7, np.uint8),
    )  # fmt: skip
    desk.words[WORD_FIRST_WINS] = 1
    return desk


@cache
def cut_runner(moments: bool) -> Any:
    judge = make_cut_judge(MOMENTS[3].cut if moments else CLASSES.cut, None)

    @njit
    def run(problem, scratch, left, counted, desk):  # type: ignore[no-untyped-def]
        return judge(problem, scratch, FEATURE, left, counted, 1, 5, desk, 0)

    return run


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("moments", [False, True])
def test_one_cut_is_judged_by_its_definition(moments: bool, limits: Limits) -> None:
    run, node = cut_runner(moments), make_node(2, 3)
    problem, scratch = stage(node, 3, 3 if moments else 0, limits)
    for cut in range(-1, N_CODES):
        left = node.code <= cut
        counted = (len(left), int(left.sum()), int(cut % 2))
        if moments:
            of_left: Any = tuple(moments_of(node)[left].sum(axis=0).tolist())
        else:
            of_left = scratch.left
            of_left[:] = np.bincount(node.label[left], node.weight[left], 3)
        desk = make_desk()
        better = run(problem, scratch, of_left, counted, desk)
        loss, value = (squares, mean) if moments else (gini, share_of(2))
        expected = score_of(node, left, loss, value, limits)
        assert better == (expected > -np.inf)
        assert desk.best_score[0] == pytest.approx(expected, rel=1e-9)
        if better:
            side = 1 if cut % 2 else 2 * left.sum() > len(left)
            assert (desk.best_cut[0], desk.best_missing_left[0]) == (5, side)
            assert not run(problem, scratch, of_left, counted, desk), "it beats itself"


@cache
def group_runner(moments: bool) -> Any:
    judge = make_cut_judge(MOMENTS[4].cut if moments else CLASSES.cut, None)
    sums = (open_class_groups, add_class_group, rows_of_classes)
    if moments:
        sums = (open_moment_groups, add_moment_group, rows_of_moments)
    walk = make_group_scan(sums, judge, None)

    @njit
    def run(problem, scratch, n_groups, only, counted, desk):  # type: ignore[no-untyped-def]
        walk(problem, scratch, FEATURE, n_groups, only, counted[1], counted[0], desk, 0)

    return run


@pytest.mark.parametrize("moments", [False, True])
@pytest.mark.parametrize("only", [EVERY, 1, 4])
def test_groups_are_parted_in_their_order(moments: bool, only: int) -> None:
    run = group_runner(moments)
    for seed in range(4):
        node = make_node(seed, 3)
        problem, scratch = stage(node, 3, 4 if moments else 0, Limits(min_leaf=3))
        known = np.unique(node.code[node.code < N_CODES])
        scratch.keys[: len(known)] = known.astype(np.uint64) << np.uint64(32)
        if not moments:  # cells of groups are neighbours
            words = scratch.cell_words.reshape(-1, 3)
            words[: len(known)] = words[known]
        scratch.group_order[: len(known)] = np.random.default_rng(seed).permutation(len(known))
        n_missing, desk = int((node.code == N_CODES).sum()), make_desk()
        run(problem, scratch, len(known), only, (len(node.code), n_missing), desk)
        order = known[scratch.group_order[: len(known)]]
        best: Any = (-np.inf, [])
        for missing_left in range(2 if n_missing and only == EVERY else 1):
            for n_left in range(1, len(order) + 1) if only == EVERY else (only,):
                left = np.isin(node.code, order[:n_left])
                left |= bool(missing_left) & (node.code == N_CODES)
                loss, value = (squares, mean) if moments else (gini, share_of(2))
                score = score_of(node, left, loss, value, Limits(min_leaf=3))
                if score > best[0] + 1e-9:
                    best = (score, order[:n_left].tolist())
        assert desk.best_score[0] == pytest.approx(best[0], rel=1e-9)
        if best[0] > -np.inf:
            assert sorted(np.flatnonzero(desk.member == LEFT)) == sorted(best[1])
            assert sorted(np.flatnonzero(desk.member == RIGHT)) == sorted(set(known) - set(best[1]))
            assert np.count_nonzero(desk.member == ABSENT) == N_CODES - len(known)

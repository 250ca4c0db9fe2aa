"""Grow a tree from codes: set the stage for the kernels, run them, store the result.

`grow_tree` is the whole path: lay out the rows, run the growth loop
(kernels/grow.py) on as many threads as pay, and turn what it leaves behind into a `Tree`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.special import xlogy

from hornbeam.criteria import Criterion
from hornbeam.data.coding import Codes
from hornbeam.dtypes import BIN, LABEL, RANK, ROW, STAT, WORD_BITS, Array
from hornbeam.kernels import state as s
from hornbeam.kernels.constraints import BOUNDS_SIGNATURE, hand_on_bounds
from hornbeam.kernels.grow import EXPAND_SIGNATURE, expand
from hornbeam.kernels.order import RADIX_COUNTERS, SORT_SIGNATURE, sort_rows
from hornbeam.kernels.settle import SETTLE_SIGNATURE, settle
from hornbeam.kernels.split import (
    ORDER_SIGNATURE,
    SEARCH_SIGNATURE,
    order_entries,
    search_number,
)
from hornbeam.kernels.split_categories import (
    KEEP_SIGNATURE,
    keep_category_set,
    search_category,
)
from hornbeam.kernels.split_random import search_random_number
from hornbeam.kernels.tile import TILE_SIGNATURE, make_tile
from hornbeam.runtime.atomics import NODE_COUNT
from hornbeam.runtime.kernel import address_of, compiled
from hornbeam.runtime.pointers import make_slots, new_arrays
from hornbeam.runtime.team import new_shared, run_team, thread_count
from hornbeam.tree.build import build_tree
from hornbeam.tree.storage import Tree

_UNLIMITED = 2**62
# Cells of a histogram that still live in the second-level cache.
_CELL_LIMIT = 1 << 15
# A tile of codes is to stay in the second-level cache while a subtree grows.
_TILE_BYTES = 1 << 19
_LEAST_TILE_ROWS = 64
# About what one (row, feature) pair costs on one level of the tree.
_SECONDS_PER_PAIR = 4e-9
# Remembering which features are constant pays unless there are very many of them.
_CONSTANT_FEATURES_LIMIT = 1024


@dataclass(frozen=True)
class GrowthRules:
    """The parameters of growing, resolved to numbers."""

    max_depth: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_leaf: float = 0.0
    max_leaf_nodes: int | None = None
    min_impurity_decrease: float = 0.0
    max_features: int | None = None
    growth: str = "depth"
    random_cuts: bool = False
    category_split: str = "subset"
    monotone: Array | None = None
    seed: int = 0


@dataclass(frozen=True)
class Target:
    """What is predicted: class numbers or values per output, and a weight per row.

    Growing a tree may rearrange ``labels``; a target is made for one tree.

    ``labels`` (rows, outputs) number the classes of all outputs one after the other,
    output o having the numbers class_start[o] to class_start[o + 1] - 1.
    """

    weight: Array
    labels: Array | None = None
    values: Array | None = None
    class_start: Array = field(default_factory=lambda: np.zeros(1, np.int64))

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        both = self.labels if self.labels is not None else self.values
        assert both is not None
        return int(both.shape[1])


def grow_tree(
    codes: Codes,
    target: Target,
    criterion: Criterion,
    rules: GrowthRules,
    n_jobs: int | None,
    value_at: Callable[[Array, Array], Array],
) -> Tree:
    """Grow one tree.

    ``value_at(rows, features)`` looks up values in the data; thresholds of exact splits
    are the middle between two of them.
    """
    nodes = _grow_nodes(codes, target, criterion, rules, n_jobs)
    return build_tree(nodes, codes, criterion, rules, value_at)


def _grow_nodes(
    codes: Codes, target: Target, criterion: Criterion, rules: GrowthRules, n_jobs: int | None
) -> s.Nodes:
    """Run the growth loop; its working memory is free again when this returns."""
    compiled(expand, EXPAND_SIGNATURE)
    compiled(make_tile, TILE_SIGNATURE)
    stage = _Stage(codes, target, criterion, rules, _lay_out_rows(target, criterion), n_jobs)
    stage.run()
    return stage.nodes


def _lay_out_rows(target: Target, criterion: Criterion) -> s.Rows:
    """Rows with positive weight, and what the criterion sums of each."""
    counted = target.weight > 0
    everyone = bool(counted.all())
    row = np.arange(len(counted), dtype=ROW) if everyone else np.flatnonzero(counted).astype(ROW)
    chosen = slice(None) if everyone else row
    weight = target.weight[chosen, None]
    labels = np.empty((len(row), 0), LABEL)
    if criterion.summed == "classes":
        assert target.labels is not None
        labels = np.ascontiguousarray(target.labels[chosen], LABEL)
        stats = weight
    else:
        assert target.values is not None
        values = target.values[chosen]
        stats = np.hstack([weight, values])
        if criterion.summed == "moments":
            squares = criterion.second_moment == "squares"
            second = values * values if squares else xlogy(values, values)
            stats = np.hstack([weight, weight * values, weight * second])
    return s.Rows(row, labels.ravel(), np.array(stats, STAT, order="C").ravel())


class _Stage:
    """All arrays of one growth, and the loop that makes room when they are full."""

    def __init__(
        self,
        codes: Codes,
        target: Target,
        criterion: Criterion,
        rules: GrowthRules,
        rows: s.Rows,
        n_jobs: int | None,
    ) -> None:
        n_rows, n_features = len(rows.row), len(codes.n_codes)
        n_searched = rules.max_features or n_features
        levels = min(rules.max_depth or 64, 2 * max(1, n_rows).bit_length())
        self.rows = rows
        self.seconds = n_rows * n_searched * levels * _SECONDS_PER_PAIR
        self.size = thread_count(n_jobs, self.seconds)
        self.problem = _make_problem(codes, target, criterion, rules, rows)
        self.whole = self.problem.whole
        self.whole[s.THREADS] = self.size
        self.whole[s.CAPACITY] = _first_capacity(rules, n_rows, self.size)
        self.whole[s.SET_CAPACITY] = 64 * self.size * self.whole[s.CATEGORY_WORDS]
        self.shared = new_shared()
        self.nodes = _make_nodes(self.whole, rules)
        self.tiles = [_make_tile(self.problem) for _ in range(self.size)]
        self.tasks = np.zeros(self.whole[s.CAPACITY], np.int32)
        self.team_desk = _make_desk(self.whole, self.shared, self.size)
        self.scratches = [
            _make_scratch(self.whole, n_rows, criterion, self.tasks) for _ in range(self.size)
        ]
        self.own_desks = [_make_desk(self.whole, new_shared(), 1) for _ in range(self.size)]
        self.nodes.last[0] = n_rows
        self.nodes.key[0] = rules.seed
        self.shared[NODE_COUNT] = 1
        self.shared[s.WORD_TAIL] = 1  # the root, node 0, is on the team's frontier
        self.task_numbers = itertools.count()

    def _slots(self, rank: int, problem: s.Problem) -> Array:
        return make_slots(
            problem,
            self.rows,
            self.nodes,
            self.scratches[rank],
            self.team_desk,
            self.own_desks[rank],
        )

    def run(self) -> None:
        """Run the growth loop until the tree is complete."""
        while True:
            run_team(self._work, self.size, self.shared, self.seconds)
            desks = [self.team_desk, *self.own_desks]
            if not any(desk.words[s.WORD_STATUS] == s.FULL for desk in desks):
                return
            self._make_room()

    def _work(self, rank: int) -> None:
        """One thread's share: large nodes together with the others, small ones alone."""
        slots = self._slots(rank, self.problem)
        tile_slots = self._slots(rank, self.tiles[rank])
        status = expand(slots, s.TEAM_DESK_AT, rank, self.size)
        desk = self.own_desks[rank]
        while status == s.DONE:
            if desk.words[s.WORD_HEAD] == desk.words[s.WORD_TAIL]:
                task = next(self.task_numbers)
                if task >= self.shared[s.WORD_TASKS]:
                    return
                desk.words[s.WORD_HEAD], desk.words[s.WORD_TAIL] = 0, 1
                desk.frontier[0] = self.tasks[task]
                make_tile(slots, tile_slots, int(self.tasks[task]))
            status = expand(tile_slots, s.OWN_DESK_AT, 0, 1)

    def _make_room(self) -> None:
        """Double what can run full; everything goes on where it was."""
        capacity = 2 * self.whole[s.CAPACITY]
        for problem in (self.problem, *self.tiles):
            problem.whole[s.CAPACITY] = capacity
            problem.whole[s.SET_CAPACITY] *= 2
        arrays = self.nodes._asdict()
        for name, array in arrays.items():
            per_node = array.size // (capacity // 2)
            length = 2 * array.size if name == "sets" else per_node * capacity
            self.nodes = self.nodes._replace(**{name: _enlarged(array, length)})
        self.tasks = _enlarged(self.tasks, capacity)
        self.scratches = [scratch._replace(tasks=self.tasks) for scratch in self.scratches]
        self.team_desk = self._with_room(self.team_desk)
        self.own_desks = [self._with_room(desk) for desk in self.own_desks]

    def _with_room(self, desk: s.Desk) -> s.Desk:
        desk.words[s.WORD_STATUS] = s.DONE
        return desk._replace(frontier=_enlarged(desk.frontier, self.whole[s.CAPACITY]))


def _enlarged(array: Array, length: int) -> Array:
    larger = np.zeros(length, array.dtype)
    larger[: len(array)] = array
    return larger


def _first_capacity(rules: GrowthRules, n_rows: int, size: int) -> int:
    """Room for the nodes that are likely to come; more is made when needed."""
    most = 2 * max(1, n_rows // max(1, rules.min_samples_leaf)) + 1
    if rules.max_depth is not None and rules.max_depth < 40:
        most = min(most, 2 ** (rules.max_depth + 1) + 1)
    if rules.max_leaf_nodes is not None:
        most = min(most, 4 * rules.max_leaf_nodes + 1)
    return min(most, max(1024, n_rows // 3)) + 4 * size


def _make_problem(
    codes: Codes, target: Target, criterion: Criterion, rules: GrowthRules, rows: s.Rows
) -> s.Problem:
    n_features, n_rows = codes.columns.shape
    as_bytes = codes.columns.dtype == BIN
    flat, other = codes.columns.ravel(), np.empty(0, RANK if as_bytes else BIN)
    n_categories = int(codes.n_codes[codes.is_category != 0].max(initial=0))
    classes = criterion.summed == "classes"
    n_labels = target.n_outputs if classes else 0
    n_stats = rows.stats.size // max(1, len(rows.row))
    n_totals = int(target.class_start[-1]) if classes else n_stats
    whole = np.zeros(s.N_WHOLE, np.int64)
    whole[s.N_ROWS] = n_rows
    whole[s.N_FEATURES] = n_features
    whole[s.BYTES] = as_bytes
    whole[s.N_LABELS] = n_labels
    whole[s.N_STATS] = n_stats
    whole[s.N_TOTALS] = n_totals
    whole[s.N_OUTPUTS] = target.n_outputs
    whole[s.N_CLASSES] = n_totals if classes else 1
    whole[s.MAX_FEATURES] = rules.max_features or n_features
    whole[s.MAX_DEPTH] = _UNLIMITED if rules.max_depth is None else rules.max_depth
    whole[s.MIN_SPLIT] = rules.min_samples_split
    whole[s.MIN_LEAF] = rules.min_samples_leaf
    whole[s.MAX_LEAVES] = _UNLIMITED if rules.max_leaf_nodes is None else rules.max_leaf_nodes
    whole[s.GROWTH] = s.GROWTH_CODES[rules.growth]
    whole[s.RANDOM_CUTS] = rules.random_cuts
    whole[s.CATEGORY_RULE] = s.CATEGORY_CODES[rules.category_split]
    whole[s.ROWS_ONLY] = criterion.summed == "order" or n_labels > 1
    whole[s.SCAN] = criterion.scan
    whole[s.SUMMARY] = criterion.summary
    whole[s.SETTLE] = address_of(settle, SETTLE_SIGNATURE)
    whole[s.SORT] = address_of(sort_rows, SORT_SIGNATURE)
    whole[s.ORDER] = address_of(order_entries, ORDER_SIGNATURE)
    search = search_random_number if rules.random_cuts else search_number
    whole[s.SEARCH_NUMBER] = address_of(search, SEARCH_SIGNATURE)
    if codes.is_category.any():  # also if all of them are missing: no categories at all
        whole[s.SEARCH_CATEGORY] = address_of(search_category, SEARCH_SIGNATURE)
        whole[s.KEEP_SET] = address_of(keep_category_set, KEEP_SIGNATURE)
    if rules.monotone is not None:
        whole[s.HAND_ON_BOUNDS] = address_of(hand_on_bounds, BOUNDS_SIGNATURE)
    whole[s.VALUE_AT] = n_totals - 1 if classes else 1
    whole[s.VALUE_IS_TOTAL] = criterion.summed == "order"
    whole[s.CELL_LIMIT] = _CELL_LIMIT
    whole[s.TASK_ROWS] = _task_rows(n_features, codes.columns.itemsize)
    weight = rows.stats[::n_stats]
    whole[s.UNIT_WEIGHTS] = bool(np.all(weight == 1.0))
    whole[s.WHOLE_WEIGHTS] = bool(np.all(weight == np.rint(weight)) and weight.sum() < 2.0**26)
    whole[s.KNOWS_CONSTANT] = n_features <= _CONSTANT_FEATURES_LIMIT
    whole[s.CONSTRAINED] = rules.monotone is not None
    whole[s.MAX_CATEGORIES] = n_categories
    whole[s.CATEGORY_WORDS] = -(-n_categories // WORD_BITS)
    real = np.zeros(s.N_REAL, STAT)
    real[s.MIN_WEIGHT_LEAF] = rules.min_weight_leaf
    real[s.MIN_DECREASE] = rules.min_impurity_decrease
    monotone = rules.monotone if rules.monotone is not None else np.zeros(n_features)
    return s.Problem(
        flat if as_bytes else other,
        other if as_bytes else flat,
        codes.n_codes,
        codes.is_category,
        np.ascontiguousarray(monotone, np.int64),
        codes.edges,
        codes.edge_start,
        np.ascontiguousarray(target.class_start, np.int64),
        np.empty(0, ROW),
        whole,
        real,
    )


def _task_rows(n_features: int, itemsize: int) -> int:
    """How many rows a tile holds; 0 where it would be too few to be worth it."""
    n_rows = _TILE_BYTES // (n_features * itemsize)
    return n_rows if n_rows >= _LEAST_TILE_ROWS else 0


def _make_tile(problem: s.Problem) -> s.Problem:
    """Room for the codes of a small node, as a problem of its own."""
    n_rows = int(min(problem.whole[s.TASK_ROWS], problem.whole[s.N_ROWS]))
    n_codes = n_rows * int(problem.whole[s.N_FEATURES])
    whole = problem.whole.copy()
    whole[s.TILED] = 1
    return problem._replace(
        bins=np.empty(n_codes if whole[s.BYTES] else 0, BIN),
        ranks=np.empty(0 if whole[s.BYTES] else n_codes, RANK),
        n_codes=np.empty_like(problem.n_codes),
        origin=np.empty(n_rows, ROW),
        whole=whole,
    )


def _make_nodes(whole: Array, rules: GrowthRules) -> s.Nodes:
    """Zeroed node arrays; what these rules do not need takes no room."""
    capacity = int(whole[s.CAPACITY])
    lengths = dict.fromkeys(s.Nodes._fields, capacity)
    lengths["totals"] = capacity * int(whole[s.N_TOTALS])
    lengths["constant"] = capacity * int(whole[s.KNOWS_CONSTANT] * whole[s.N_FEATURES])
    lengths["sets"] = int(whole[s.SET_CAPACITY])
    lengths["lower"] = lengths["upper"] = capacity * int(whole[s.CONSTRAINED])
    lengths["threshold"] = capacity * int(whole[s.RANDOM_CUTS])
    nodes: s.Nodes = new_arrays(s.Nodes, lengths)
    nodes.lower[:1] = -np.inf
    nodes.upper[:1] = np.inf
    return nodes


def _make_desk(whole: Array, words: Array, size: int) -> s.Desk:
    words[s.WORD_LEAVES] = 1
    lengths = dict.fromkeys(s.Desk._fields, size)
    lengths["features"] = int(whole[s.N_FEATURES])
    lengths["frontier"] = int(whole[s.CAPACITY])
    lengths["member"] = size * int(whole[s.MAX_CATEGORIES])
    desk: s.Desk = new_arrays(s.Desk, lengths)
    return desk._replace(words=words)


def _make_scratch(whole: Array, n_rows: int, criterion: Criterion, tasks: Array) -> s.Scratch:
    n_stats, n_totals = int(whole[s.N_STATS]), int(whole[s.N_TOTALS])
    n_cells = 0 if whole[s.ROWS_ONLY] else _CELL_LIMIT
    n_entries = min(n_cells, n_rows)
    n_groups = min(int(whole[s.MAX_CATEGORIES]), n_rows) + 1
    lengths = {
        **dict.fromkeys(("keys", "spare_keys"), n_rows),
        "counters": RADIX_COUNTERS,
        "cell_sums": n_cells * n_stats,
        "cell_rows": n_cells,
        "occupied": n_cells // WORD_BITS + 1,
        "entry_labels": n_entries,
        "entry_stats": n_entries * n_stats,
        "entry_rows": n_entries,
        **dict.fromkeys(("group_start", "group_order", "group_spare", "group_mean"), n_groups),
        **dict.fromkeys(("total", "start", "left", "right"), n_totals),
        "order": criterion.order_blocks * n_rows,
        "ask": s.N_ASK,
        "real": s.N_ASK_REAL,
        **dict.fromkeys(("spare_row", "spare_labels", "spare_stats", "tasks"), 0),
    }
    scratch: s.Scratch = new_arrays(s.Scratch, lengths)
    n_labels = int(whole[s.N_LABELS])
    # keys and parted rows are never needed at the same time: where they fit, they share room
    halves = scratch.spare_keys.view(ROW)
    return scratch._replace(
        tasks=tasks,
        spare_row=halves[:n_rows],
        spare_labels=halves[n_rows:] if n_labels <= 1 else np.empty(n_rows * n_labels, LABEL),
        spare_stats=scratch.keys.view(STAT) if n_stats == 1 else np.empty(n_rows * n_stats, STAT),
    )

"""Grow a tree from codes: set the stage for the kernels, and run them.

`grow_nodes` lays out the rows and runs the growth loop (kernels/grow.py) on as many threads
as pay; tree/build.py turns what it leaves behind into a `Tree`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import xlogy

from hornbeam.chance import find_many
from hornbeam.criteria import Criterion
from hornbeam.data.coding import Codes
from hornbeam.dtypes import BIN, LABEL, MAX_BINS, MAX_NODES, RANK, ROW, STAT, WORD_BITS, Array
from hornbeam.kernels import state as s
from hornbeam.kernels.grow import expand
from hornbeam.kernels.lanes import BLOCK_LANES, LANES, PART_LANES, PLACE_LANES
from hornbeam.kernels.order import COUNT_SIGNATURE, RADIX_COUNTERS, count_labels, count_sums
from hornbeam.kernels.split import SEARCH_SIGNATURE, TOGETHER_SIGNATURE
from hornbeam.kernels.tile import TILE_SIGNATURE, make_tile
from hornbeam.runtime.atomics import NODE_COUNT, STOP
from hornbeam.runtime.kernel import address_of, compiled
from hornbeam.runtime.team import new_shared, run_team, thread_count
from hornbeam.runtime.views import make_slots, new_arrays
from hornbeam.tree.rules import LIST_FROM, GrowthRules
from hornbeam.tree.steps import (
    CELL_LIMIT,
    choose_searches,
    choose_steps,
    general_category_steps,
    search_together,
    set_addresses,
)
from hornbeam.tree.storage import check_node_count

_UNLIMITED = 2**62
# Room for so many category sets is made at first.
_FIRST_SETS = 1 << 12
# A tile of codes is to stay in the second-level cache while a subtree grows.
_TILE_BYTES = 1 << 19
_LEAST_TILE_ROWS = 64
# About what one (row, feature) pair costs on one level of the tree.
_SECONDS_PER_PAIR = 4e-9
# Remembering which features are constant pays unless there are very many of them.
_CONSTANT_FEATURES_LIMIT = 1024
# Counting features that have two codes side by side pays if a lane holds so many rows.
_LEAST_LANE_ROWS = 8
# Looking at all features of a node pays unless there are very many of them, too.
_ROW_FEATURES_LIMIT = 512


@dataclass(frozen=True)
class Target:
    """What is predicted: class numbers or values per output, and a weight per row.

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

    def chosen(self, rows: Array) -> Target:
        """The target of some of the rows."""
        labels = None if self.labels is None else self.labels[rows]
        values = None if self.values is None else self.values[rows]
        return replace(self, weight=self.weight[rows], labels=labels, values=values)


def grow_nodes(
    codes: Codes, target: Target, criterion: Criterion, rules: GrowthRules, n_jobs: int | None
) -> s.Nodes:
    """Run the growth loop; its working memory is free again when this returns."""
    rows = Layout(target, criterion).rows(target.weight)
    n_rows = len(rows.row)
    size = thread_count(n_jobs, growth_seconds(n_rows, len(codes.n_codes), rules))
    return Stage(codes, target, criterion, rules, n_rows, size).grow(rows, rules.seed)


def growth_seconds(n_rows: int, n_features: int, rules: GrowthRules) -> float:
    """About how long one thread takes for a tree."""
    levels = min(rules.max_depth or 64, 2 * max(1, n_rows).bit_length())
    return n_rows * (rules.max_features or n_features) * levels * _SECONDS_PER_PAIR


class Layout:
    """What the criterion sums of each row, to be weighed for one tree after the other."""

    def __init__(self, target: Target, criterion: Criterion) -> None:
        self.labels = target.labels if criterion.summed == "classes" else None
        self.summed = criterion.summed
        self.sums: list[Array] = []  # of the rows, if each weighs 1
        if criterion.summed != "classes":
            assert target.values is not None
            self.sums = [np.array(values, STAT) for values in target.values.T]
        if criterion.summed == "moments":
            squares = criterion.second_moment == "squares"
            self.sums += [y * y if squares else xlogy(y, y) for y in self.sums]

    def rows(self, weight: Array) -> s.Rows:
        """Rows with positive weight; growing rearranges them."""
        counted = weight > 0
        everyone = bool(counted.all())
        row = np.arange(len(weight)) if everyone else np.flatnonzero(counted)
        chosen = slice(None) if everyone else row
        weight = weight[chosen]
        labels = np.empty(0, LABEL)
        if self.labels is not None:
            labels = np.array(self.labels[chosen], LABEL, order="C").ravel()
        stats = np.empty((len(row), 1 + len(self.sums)), STAT)
        stats[:, 0] = weight
        for k, unweighted in enumerate(self.sums, 1):
            known = unweighted[chosen]
            stats[:, k] = known * weight if self.summed == "moments" else known
        return s.Rows(row.astype(ROW), labels, stats.ravel())


class Stage:
    """All arrays of growing, and the loop that makes room when they are full.

    A stage may grow one tree after the other, as forests do. ``most_rows`` is how many
    rows the largest of them has.
    """

    def __init__(
        self,
        codes: Codes,
        target: Target,
        criterion: Criterion,
        rules: GrowthRules,
        most_rows: int,
        size: int,
    ) -> None:
        self.seconds = growth_seconds(most_rows, len(codes.n_codes), rules)
        self.size = size
        self.problem = _make_problem(codes, target, criterion, rules)
        self.whole = self.problem.whole
        self.criterion, self.rules = criterion, rules
        self.together = search_together(criterion, rules, self.problem)
        self.grow_block = int(self.whole[s.GROW_BLOCK])
        # a block grows at once into a tree in which every row has a leaf of its own
        n_splits = max(1, min(BLOCK_LANES, most_rows) - 1) if self.grow_block else 1
        self.whole[s.ROOM_NODES] = 2 * n_splits
        self.whole[s.ROOM_SETS] = n_splits * _most_words(codes, self.whole, most_rows)
        self.whole[s.THREADS] = size
        if size == 1 and self.whole[s.N_ROWS] <= self.whole[s.TASK_ROWS]:
            self.whole[s.TASK_ROWS] = 0  # the whole table is as small as a tile
        if self.whole[s.TASK_ROWS] > 0:
            compiled(make_tile, TILE_SIGNATURE)
        self.whole[s.CAPACITY] = _first_capacity(rules, most_rows, size)
        self.whole[s.CAPACITY] += 2 * size * n_splits
        n_sets = min(int(self.whole[s.CAPACITY]) // 2, _FIRST_SETS) + 4 * size * n_splits
        few_words = min(self.whole[s.CATEGORY_WORDS], LIST_FROM // WORD_BITS)
        self.whole[s.SET_CAPACITY] = n_sets * few_words + 4 * size * self.whole[s.ROOM_SETS]
        self.shared = new_shared()
        self.nodes = _make_nodes(self.whole, rules)
        self.tiles = [_make_tile(self.problem) for _ in range(size)]
        self.tasks = np.zeros(self.whole[s.CAPACITY], np.int32)
        self.team_desk = _make_desk(self.whole, self.shared, size, int(self.whole[s.CAPACITY]))
        self.scratches = [
            _make_scratch(
                self.whole,
                most_rows,
                criterion,
                self.together is not None,
                self.grow_block != 0,
                self.tasks,
            )
            for _ in range(size)
        ]
        # A tree on the rows of a task has fewer than twice as many nodes.
        most_nodes = 2 * int(self.whole[s.TASK_ROWS])
        self.own_desks = [_make_desk(self.whole, new_shared(), 1, most_nodes) for _ in range(size)]
        self._addresses: dict[Any, int] = {}
        self._slots: list[tuple[Array, Array]] = []  # of each thread: for the table, for its tile

    def grow(self, rows: s.Rows, seed: int, inline: bool = False) -> s.Nodes:
        """Grow a tree; what is returned is overwritten by the next one.

        ``inline`` means in the calling thread, for those who run several stages at once.
        """
        self._start(rows, seed)
        while True:
            run_team(self._work, self.size, self.shared, 0.0 if inline else self.seconds)
            desks = [self.team_desk, *self.own_desks]
            if not any(desk.words[s.WORD_STATUS] == s.FULL for desk in desks):
                return self.nodes
            self._make_room()

    def _start(self, rows: s.Rows, seed: int) -> None:
        """Leave nothing of the tree before, and put the root on the team's frontier."""
        self.rows = rows
        if self._slots:  # it takes long to list all arrays, and only these are new
            of_rows = make_slots(rows)
            for slots in itertools.chain.from_iterable(self._slots):
                slots[s.ROWS_AT : s.NODES_AT] = of_rows
        else:
            self._list_arrays()
        weight = rows.stats[:: int(self.whole[s.N_STATS])]
        unit = bool(np.all(weight == 1.0))
        even = unit or bool(np.all(weight == np.rint(weight)) and weight.sum() < 2.0**26)
        lane_rows = int(MAX_BINS // weight.max(initial=1.0)) if even else 0
        together, block = 0, 0
        # counts of random cuts are rows, so these must weigh 1
        least = MAX_BINS if self.whole[s.RANDOM_CUTS] else _LEAST_LANE_ROWS
        if self.together is not None and lane_rows >= least:
            together = self._address_of(self.together, TOGETHER_SIGNATURE)
        if together or not self.whole[s.N_LABELS]:  # blocks of classes count rows, too
            block = self.grow_block
        # the special search of categories counts classes by weights that are whole numbers
        counts = self.whole[s.KEEP_SET] and self.whole[s.N_LABELS]
        general = counts and not even and not self.whole[s.SEARCH_CATEGORY]
        for problem in (self.problem, *self.tiles):
            if general:
                set_addresses(problem.whole, general_category_steps(self.criterion, self.rules))
            problem.whole[s.UNIT_WEIGHTS], problem.whole[s.WHOLE_WEIGHTS] = unit, even
            problem.whole[s.SEARCH_TOGETHER] = together
            problem.whole[s.GROW_BLOCK] = block
            problem.whole[s.LANE_ROWS] = lane_rows
            if self.whole[s.ORDER] and not self.whole[s.ROWS_ONLY]:
                count = count_labels if unit and self.whole[s.N_LABELS] == 1 else count_sums
                problem.whole[s.COUNT] = self._address_of(count, COUNT_SIGNATURE)
        for desk in (self.team_desk, *self.own_desks):
            desk.words[:STOP] = 0  # a stop may have been called for already: it stays
            desk.words[STOP + 1 :] = 0
            desk.words[s.WORD_LEAVES] = 1
            desk.words[s.WORD_FIRST_WINS] = self.whole[s.RANDOM_TIES]
        nodes = self.nodes
        nodes.first[0], nodes.last[0], nodes.depth[0] = 0, len(rows.row), 0
        nodes.state[0], nodes.weight[0] = s.UNSEEN, 0.0
        nodes.key[0] = seed
        nodes.constant[: self.whole[s.N_FEATURES]] = 0
        self.shared[NODE_COUNT] = 1
        self.shared[s.WORD_TAIL] = 1
        self.team_desk.frontier[0] = 0
        self.task_numbers = itertools.count()

    def _address_of(self, step: Any, signature: Any) -> int:
        """Where a kernel is; looked up once, as trees of a forest may be small."""
        if step not in self._addresses:
            self._addresses[step] = address_of(step, signature)
        return self._addresses[step]

    def slots(self) -> Array:
        """Where the kernels find what the first thread works on."""
        return self._slots[0][0]

    def _list_arrays(self) -> None:
        """Tell the kernels where all arrays are."""
        self._slots = [
            (self._list_for(rank, self.problem), self._list_for(rank, self.tiles[rank]))
            for rank in range(self.size)
        ]

    def _list_for(self, rank: int, problem: s.Problem) -> Array:
        scratch, desk = self.scratches[rank], self.own_desks[rank]
        return make_slots(problem, self.rows, self.nodes, scratch, self.team_desk, desk)

    def _work(self, rank: int) -> None:
        """One thread's share: large nodes together with the others, small ones alone."""
        slots, tile_slots = self._slots[rank]
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
        """Double what has run full; everything goes on where it was."""
        needed = self.shared[s.WORD_SETS] + self.size * self.whole[s.ROOM_SETS]
        if needed > self.whole[s.SET_CAPACITY]:
            sets = _enlarged(self.nodes.sets, 2 * int(self.whole[s.SET_CAPACITY]))
            self.nodes = self.nodes._replace(sets=sets)
            for problem in (self.problem, *self.tiles):
                problem.whole[s.SET_CAPACITY] = len(sets)
        else:
            self._make_room_for_nodes()
        self._list_arrays()
        for desk in (self.team_desk, *self.own_desks):
            desk.words[s.WORD_STATUS] = s.DONE

    def _make_room_for_nodes(self) -> None:
        before = int(self.whole[s.CAPACITY])
        capacity = min(2 * before, MAX_NODES)
        if capacity == before:
            check_node_count(before + 1)
        for problem in (self.problem, *self.tiles):
            problem.whole[s.CAPACITY] = capacity
        for name, array in self.nodes._asdict().items():
            if name != "sets":
                larger = _enlarged(array, array.size // before * capacity)
                self.nodes = self.nodes._replace(**{name: larger})
        self.tasks = _enlarged(self.tasks, capacity)
        self.scratches = [scratch._replace(tasks=self.tasks) for scratch in self.scratches]
        frontier = _enlarged(self.team_desk.frontier, capacity)
        self.team_desk = self.team_desk._replace(frontier=frontier)


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


def _most_words(codes: Codes, whole: Array, n_rows: int) -> int:
    """How many words the set of a node may have."""
    n_codes = codes.n_codes[codes.is_category != 0]
    listed = n_codes > whole[s.LIST_FROM]
    bits = -(-n_codes[~listed].max(initial=0) // WORD_BITS)
    return max(int(bits), (n_rows + 1) // 2 if listed.any() else 0)


def _make_problem(
    codes: Codes, target: Target, criterion: Criterion, rules: GrowthRules
) -> s.Problem:
    n_features = len(codes.n_codes)
    as_bytes = codes.columns.dtype == BIN
    flat, other = codes.columns.ravel(), np.empty(0, RANK if as_bytes else BIN)
    whole = _count(codes, target, criterion, rules)
    searches, which = choose_searches(codes, whole, criterion, rules)
    set_addresses(whole, choose_steps(codes, whole, criterion, rules, searches), searches)
    addresses = np.array([address_of(search, SEARCH_SIGNATURE) for search in searches], np.int64)
    real = np.zeros(s.N_REAL, STAT)
    real[s.MIN_WEIGHT_LEAF] = rules.min_weight_leaf
    real[s.MIN_DECREASE] = rules.min_impurity_decrease
    real[s.PERFECT_SCORE] = criterion.perfect_score
    real[s.SCORE_UNIT] = target.n_outputs if criterion.adds_outputs else 1
    places, place_start = _places(codes) if rules.random_cuts else (np.empty(0), codes.edge_start)
    monotone = rules.monotone if rules.monotone is not None else np.zeros(n_features)
    return s.Problem(
        flat if as_bytes else other,
        other if as_bytes else flat,
        codes.n_codes,
        _kinds(codes, target, rules),
        addresses[which],
        np.ascontiguousarray(monotone, np.int64),
        codes.edges,
        codes.edge_start,
        places,
        place_start,
        np.ascontiguousarray(target.class_start, np.int64),
        codes.by_row.ravel() if whole[s.ROW_STRIDE] else np.empty(0, BIN),
        *_values(codes),
        np.empty(0, ROW),
        whole,
        real,
    )


def _kinds(codes: Codes, target: Target, rules: GrowthRules) -> Array:
    """Which features are categories, and which of them must prove themselves beyond chance.

    Only those that are ordered by the target: one of them against the rest, or a set that is
    drawn, finds no more by chance than a number does, and cautious trees ask beforehand.
    """
    if rules.category_split != "subset" or rules.random_cuts:
        return codes.is_category
    counted = target.weight > 0
    many = find_many(codes, int(np.count_nonzero(counted)), counted)
    return np.where(many, s.MANY_CATEGORIES, codes.is_category).astype(np.uint8)


def _count(codes: Codes, target: Target, criterion: Criterion, rules: GrowthRules) -> Array:
    """What a problem says in whole numbers, but for the addresses of kernels."""
    n_features, n_rows = codes.columns.shape
    as_bytes = codes.columns.dtype == BIN
    n_categories = int(codes.n_codes[codes.is_category != 0].max(initial=0))
    classes = criterion.summed == "classes"
    n_labels = target.n_outputs if classes else 0
    n_stats = criterion.stats_per_row(target.n_outputs)
    n_totals = int(target.class_start[-1]) if classes else n_stats
    wanted = as_bytes and n_features <= _ROW_FEATURES_LIMIT
    by_row = wanted and (rules.draws(n_features) or rules.random_cuts)
    whole = np.zeros(s.N_WHOLE, np.int64)
    whole[s.N_ROWS] = n_rows
    whole[s.N_FEATURES] = n_features
    whole[s.BYTES] = as_bytes
    whole[s.ROW_STRIDE] = codes.by_row.shape[1] if by_row else 0
    if codes.values is not None:
        whole[s.N_CROWDED] = codes.values.shape[1]
        whole[s.WIDE_VALUES] = codes.values.dtype == np.float64
    whole[s.LANE_WIDTH] = -(-whole[s.ROW_STRIDE] // LANES) * LANES
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
    whole[s.LOGS] = criterion.summed == "moments" and criterion.second_moment == "logs"
    whole[s.VALUE_AT] = n_totals - 1 if classes else 1
    whole[s.VALUE_IS_TOTAL] = criterion.summed == "order"
    whole[s.CELL_LIMIT] = CELL_LIMIT
    whole[s.TASK_ROWS] = _task_rows(n_features, codes.columns.itemsize)
    whole[s.KNOWS_CONSTANT] = n_features <= _CONSTANT_FEATURES_LIMIT and not by_row
    whole[s.CONSTRAINED] = rules.monotone is not None
    whole[s.COUNT_CONSTANT] = rules.count_constant
    whole[s.RANDOM_TIES] = rules.random_ties
    if not rules.random_ties and not rules.random_cuts:
        whole[s.TIES] = criterion.ties
    whole[s.MAX_CATEGORIES] = n_categories
    whole[s.SCORE_FORM] = criterion.score_form
    whole[s.LIST_FROM] = LIST_FROM if rules.list_sets else _UNLIMITED
    whole[s.CATEGORY_WORDS] = -(-n_categories // WORD_BITS)
    return whole


def _places(codes: Codes) -> tuple[Array, Array]:
    """Where each code lies, for random cuts: the value of a rank, the middle of a bin.

    Those of bins are searched 16 at a time: each feature has room for 256 of them, and
    before these every 16th once more.
    """
    if codes.columns.dtype != BIN:
        return codes.edges, codes.edge_start
    n_features, room = len(codes.n_codes), MAX_BINS + 1
    places = np.full((n_features, PLACE_LANES + room), np.inf)
    for place, first, last in zip(places, codes.middle_start, codes.middle_start[1:], strict=False):
        place[PLACE_LANES : PLACE_LANES + last - first] = codes.middles[first:last]
    places[:, :PLACE_LANES] = places[:, PLACE_LANES :: room // PLACE_LANES]
    return places.ravel(), PLACE_LANES + np.arange(n_features) * places.shape[1]


def _values(codes: Codes) -> tuple[Array, Array, Array]:
    """Where the values of each feature are, and these as float32 or float64; one is empty."""
    place = np.full(len(codes.n_codes), -1, np.int64)
    narrow, wide = np.empty(0, np.float32), np.empty(0, np.float64)
    if codes.values is None:
        return place, narrow, wide
    place[codes.crowded != 0] = np.arange(codes.values.shape[1])
    if codes.values.dtype == np.float32:
        return place, codes.values.ravel(), wide
    return place, narrow, codes.values.ravel()


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
        by_row=np.empty(n_rows * int(whole[s.ROW_STRIDE]) + LANES, BIN),
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


def _make_desk(whole: Array, words: Array, size: int, most_nodes: int) -> s.Desk:
    lengths = dict.fromkeys(s.Desk._fields, size)
    lengths["features"] = lengths["feature_score"] = int(whole[s.N_FEATURES])
    lengths["frontier"] = most_nodes  # that may wait
    lengths["member"] = size * int(whole[s.MAX_CATEGORIES])
    desk: s.Desk = new_arrays(s.Desk, lengths)
    return desk._replace(words=words)


def _make_scratch(
    whole: Array, n_rows: int, criterion: Criterion, together: bool, block: bool, tasks: Array
) -> s.Scratch:
    n_stats, n_totals = int(whole[s.N_STATS]), int(whole[s.N_TOTALS])
    width, n_classes = int(whole[s.LANE_WIDTH]), int(whole[s.N_CLASSES])
    n_cells = 0 if whole[s.ROWS_ONLY] else CELL_LIMIT
    n_entries = min(n_cells, n_rows)
    n_groups = min(int(whole[s.MAX_CATEGORIES]), n_rows) + 1
    lengths = {
        **dict.fromkeys(("keys", "spare_keys"), n_rows + PART_LANES),
        "counters": RADIX_COUNTERS,
        "cell_sums": n_cells * (1 + n_stats),
        "cell_rows": n_cells,
        "cell_words": n_cells if whole[s.BYTES] and whole[s.N_LABELS] == 1 else 0,
        "occupied": n_cells // WORD_BITS + 1,
        "sides": MAX_BINS + 1,
        "row_sides": n_rows,
        **dict.fromkeys(("low", "high", "top"), width),
        "varies": max(width, int(whole[s.N_FEATURES])),
        **dict.fromkeys(("cuts", "known_codes"), width * together),
        **dict.fromkeys(("lane_counts", "lane_rows"), 2 * n_classes * width * together),
        "lane_sums": 6 * width * together,
        "block_codes": int(whole[s.ROW_STRIDE]) * BLOCK_LANES * block,
        "block_values": int(whole[s.N_CROWDED]) * BLOCK_LANES * block,
        "block_stats": (1 + n_stats) * BLOCK_LANES * block,
        **dict.fromkeys(("block_classes", "block_labels"), n_totals * block),
        "block_groups": (BLOCK_LANES + 1) * block,
        **dict.fromkeys(("block_rows", "block_nodes"), BLOCK_LANES * block),
        "labels": n_rows if whole[s.NUMBER_ANEW] else 0,
        "new_number": n_totals,
        "class_span": 2,
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
    scratch.known_codes[:] = MAX_BINS - 1
    n_labels, n_spare = int(whole[s.N_LABELS]), n_rows + PART_LANES
    # keys and parted rows are never needed at the same time: where they fit, they share room
    halves = scratch.spare_keys.view(ROW)
    return scratch._replace(
        tasks=tasks,
        spare_row=halves[:n_spare],
        spare_labels=halves[n_spare:] if n_labels <= 1 else np.empty(n_spare * n_labels, LABEL),
        spare_stats=scratch.keys.view(STAT) if n_stats == 1 else np.empty(n_spare * n_stats, STAT),
    )

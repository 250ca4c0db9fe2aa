"""Grow a tree from codes: set the stage for the kernels, and run them.

`grow_nodes` lays out the rows and runs the driver (kernels/driver.py) on as many threads as
pay; tree/build.py turns what it leaves behind into a `Tree`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import xlogy

from hornbeam.chance import find_many
from hornbeam.criteria import Criterion
from hornbeam.data.coding import Codes, padded_width
from hornbeam.dtypes import BIN, LABEL, MAX_BINS, MAX_NODES, RANK, ROW, STAT, WORD_BITS, Array
from hornbeam.kernels import state as s
from hornbeam.kernels.driver import FINISHED, FULL, WORD_TURN, Crew, drive
from hornbeam.kernels.frontier import (
    WORD_WAITING,
    Frontier,
    begin_with,
    longer,
    new_frontier,
)
from hornbeam.kernels.lanes import BLOCK_LANES, LANES, PART_LANES, PLACE_LANES
from hornbeam.kernels.order import RADIX_COUNTERS, count_labels, count_sums
from hornbeam.kernels.pieces import PageCodes
from hornbeam.kernels.tile import TILE_SIGNATURE, make_tile
from hornbeam.runtime.atomics import NODE_COUNT, STOP
from hornbeam.runtime.kernel import compiled
from hornbeam.runtime.team import new_shared, run_team, thread_count
from hornbeam.runtime.views import (
    StepArray,
    ViewArray,
    make_slots,
    new_arrays,
    place_of,
    set_fields,
)
from hornbeam.tree.rules import LIST_FROM, GrowthRules
from hornbeam.tree.steps import (
    CELL_LIMIT,
    TURN,
    compile_steps,
    general_category_steps,
    search_together,
    with_steps,
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
# Where the slots of the weights are, which every tree has its own of.
_WEIGHTS_AT = s.PROBLEM_AT + place_of(s.Problem, "weights")


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
    """Run the driver; its working memory is free again when this returns."""
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
        self.criterion, self.rules = criterion, rules
        problem = _make_problem(codes, target, criterion, rules)
        self.together = search_together(criterion, rules, problem)
        self.grow_block = problem.steps.grow_block
        # a block grows at once into a tree in which every row has a leaf of its own
        n_splits = max(1, min(BLOCK_LANES, most_rows) - 1) if self.grow_block else 1
        room = _first_room(codes, problem, rules, most_rows, size, n_splits)
        self.problem = problem._replace(room=room)
        if room.task_rows > 0:
            compiled(make_tile, TILE_SIGNATURE)
        self.shared = new_shared()
        self.nodes = _make_nodes(self.problem)
        self.tiles = [_make_tile(self.problem, codes.n_rows) for _ in range(size)]
        self.tasks = np.zeros(room.nodes, np.int32)
        self.team_desk = self._new_desk(self.shared, size, room.nodes)
        together, block = self.together is not None, self.grow_block is not None
        self.scratches = [
            _make_scratch(self.problem, most_rows, criterion, together, block, self.tasks)
            for _ in range(size)
        ]
        # A tree on the rows of a task has fewer than twice as many nodes.
        most_nodes = 2 * room.task_rows
        self.own_desks = [self._new_desk(new_shared(), 1, most_nodes) for _ in range(size)]
        self._slots: list[tuple[Array, Array]] = []  # of each thread: for the table, for its tile

    def _new_desk(self, words: Array, size: int, most_nodes: int) -> s.Desk:
        frontier = new_frontier(self.rules.growth, most_nodes)
        return _make_desk(self.problem, words, frontier, size)

    def grow(
        self, rows: s.Rows, seed: int, min_weight_leaf: float | None = None, inline: bool = False
    ) -> s.Nodes:
        """Grow a tree; what is returned is overwritten by the next one.

        ``min_weight_leaf`` is that of the rules, unless it hangs on what the rows of this tree
        weigh. ``inline`` means in the calling thread, for those who run several stages at once.
        """
        least = self.rules.min_weight_leaf if min_weight_leaf is None else min_weight_leaf
        self._start(rows, seed, least)
        while True:
            run_team(self._work, self.size, self.shared, 0.0 if inline else self.seconds)
            desks = [self.team_desk, *self.own_desks]
            if not any(desk.words[WORD_TURN] == FULL for desk in desks):
                return self.nodes
            self._make_room()

    def _start(self, rows: s.Rows, seed: int, min_weight_leaf: float) -> None:
        """Leave nothing of the tree before, and put the root on the team's frontier."""
        self.rows = rows
        weights = _know_weights(rows.stats[:: self.problem.sums.n_stats], min_weight_leaf)
        steps = self._steps_for(weights)
        same_steps = steps is self.problem.steps
        if not same_steps:
            compile_steps(steps)
        self.problem = self.problem._replace(weights=weights, steps=steps)
        self.tiles = [tile._replace(weights=weights, steps=steps) for tile in self.tiles]
        if self._slots:  # it takes long to list all arrays, and only these are new
            of_rows, of_weights = make_slots(rows), make_slots(weights)
            for slots in itertools.chain.from_iterable(self._slots):
                slots[s.ROWS_AT : s.NODES_AT] = of_rows
                slots[_WEIGHTS_AT : _WEIGHTS_AT + len(of_weights)] = of_weights
                if not same_steps:
                    set_fields(slots, s.PROBLEM_AT, s.Problem, steps=steps)
        else:
            self._list_arrays()
        for desk in (self.team_desk, *self.own_desks):
            desk.words[:STOP] = 0  # a stop may have been called for already: it stays
            desk.words[STOP + 1 :] = 0
            desk.words[s.WORD_LEAVES] = 1
            desk.words[s.WORD_FIRST_WINS] = self.rules.random_ties
        nodes = self.nodes
        nodes.first[0], nodes.last[0], nodes.depth[0] = 0, len(rows.row), 0
        nodes.state[0], nodes.weight[0] = s.UNSEEN, 0.0
        nodes.key[0] = seed
        nodes.constant[: self.problem.n_features] = 0
        self.shared[NODE_COUNT] = 1
        begin_with(self.team_desk.frontier, self.shared, 0)
        self.task_numbers = itertools.count()

    def _steps_for(self, weights: s.Weights) -> s.GrowSteps:
        """The kernels for a tree whose rows weigh like that; the same ones if nothing changes."""
        sums, steps = self.problem.sums, self.problem.steps
        # counts of random cuts are rows, so these must weigh 1
        least = MAX_BINS if self.rules.random_cuts else _LEAST_LANE_ROWS
        together = self.together if weights.lane_rows >= least else None
        # blocks of classes count rows, too
        block = self.grow_block if together is not None or not sums.n_labels else None
        changes: dict[str, Any] = {"search_together": together, "grow_block": block}
        # the special search of categories counts classes by weights that are whole numbers
        if steps.keep_set and sums.n_labels and not weights.whole and not steps.search_category:
            changes |= general_category_steps(self.criterion, self.rules)
        if (steps.order or "order" in changes) and not sums.rows_only:
            by_labels = weights.unit and sums.n_labels == 1
            changes["count_cells"] = count_labels if by_labels else count_sums
        if all(getattr(steps, name) is step for name, step in changes.items()):
            return steps
        return steps._replace(**changes)

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
        status = drive(slots, s.TEAM_DESK_AT, rank, self.size)
        desk = self.own_desks[rank]
        while status == FINISHED:
            if desk.words[WORD_WAITING] == 0:
                task = next(self.task_numbers)
                if task >= self.shared[s.WORD_TASKS]:
                    return
                begin_with(desk.frontier, desk.words, self.tasks[task])
                self._fill_tile(rank, int(self.tasks[task]))
            status = drive(tile_slots, s.OWN_DESK_AT, 0, 1)

    def _fill_tile(self, rank: int, node: int) -> None:
        """Copy the codes of a node's rows into the tile of a thread."""
        slots, tile_slots = self._slots[rank]
        n_rows = int(self.nodes.last[node]) - int(self.nodes.first[node])
        set_fields(self.tiles[rank].pages.slots, 0, PageCodes, stop=n_rows)
        make_tile(slots, tile_slots, node)

    def _make_room(self) -> None:
        """Double what has run full; everything goes on where it was."""
        room = self.problem.room
        if self.shared[s.WORD_SETS] + self.size * room.sets_at_once > room.sets:
            sets = _enlarged(self.nodes.sets, 2 * room.sets)
            self.nodes = self.nodes._replace(sets=sets)
            self._set_room(room._replace(sets=len(sets)))
        else:
            self._make_room_for_nodes()
        self._list_arrays()
        for desk in (self.team_desk, *self.own_desks):
            desk.words[WORD_TURN] = FINISHED

    def _set_room(self, room: s.GrowRoom) -> None:
        self.problem = self.problem._replace(room=room)
        self.tiles = [tile._replace(room=room) for tile in self.tiles]

    def _make_room_for_nodes(self) -> None:
        before = self.problem.room.nodes
        capacity = min(2 * before, MAX_NODES)
        if capacity == before:
            check_node_count(before + 1)
        self._set_room(self.problem.room._replace(nodes=capacity))
        for name, array in self.nodes._asdict().items():
            if name != "sets":
                larger = _enlarged(array, array.size // before * capacity)
                self.nodes = self.nodes._replace(**{name: larger})
        self.tasks = _enlarged(self.tasks, capacity)
        self.scratches = [scratch._replace(tasks=self.tasks) for scratch in self.scratches]
        frontier = longer(self.team_desk.frontier, capacity)
        self.team_desk = self.team_desk._replace(frontier=frontier)


def _enlarged(array: Array, length: int) -> Array:
    larger = np.zeros(length, array.dtype)
    larger[: len(array)] = array
    return larger


def _know_weights(weight: Array, min_weight_leaf: float) -> s.Weights:
    """What is known of the weights of a tree's rows."""
    unit = bool(np.all(weight == 1.0))
    whole = unit or bool(np.all(weight == np.rint(weight)) and weight.sum() < 2.0**26)
    lane_rows = int(MAX_BINS // weight.max(initial=1.0)) if whole else 0
    return s.Weights(unit, whole, lane_rows, float(min_weight_leaf))


def _first_room(
    codes: Codes,
    problem: s.Problem,
    rules: GrowthRules,
    most_rows: int,
    size: int,
    n_splits: int,
) -> s.GrowRoom:
    """Room for what is likely to come; more is made when needed.

    ``n_splits`` is how many splits a thread makes at once.
    """
    most = 2 * max(1, most_rows // max(1, rules.min_samples_leaf)) + 1
    if rules.max_depth is not None and rules.max_depth < 40:
        most = min(most, 2 ** (rules.max_depth + 1) + 1)
    if rules.max_leaf_nodes is not None:
        most = min(most, 4 * rules.max_leaf_nodes + 1)
    n_nodes = min(most, max(1024, most_rows // 3)) + 4 * size + 2 * size * n_splits
    task_rows = _task_rows(problem)
    if size == 1 and codes.n_rows <= task_rows:
        task_rows = 0  # the whole table is as small as a tile
    sets_at_once = n_splits * _most_words(codes, problem, most_rows)
    n_sets = min(n_nodes // 2, _FIRST_SETS) + 4 * size * n_splits
    few_words = min(problem.category_words, LIST_FROM // WORD_BITS)
    return s.GrowRoom(
        nodes=n_nodes,
        sets=n_sets * few_words + 4 * size * sets_at_once,
        nodes_at_once=2 * n_splits,
        sets_at_once=sets_at_once,
        task_rows=task_rows,
        cells=CELL_LIMIT,
        threads=size,
    )


def _most_words(codes: Codes, problem: s.Problem, n_rows: int) -> int:
    """How many words the set of a node may have."""
    n_codes = codes.n_codes[codes.is_category != 0]
    listed = n_codes > problem.rules.list_from
    bits = -(-n_codes[~listed].max(initial=0) // WORD_BITS)
    return max(int(bits), (n_rows + 1) // 2 if listed.any() else 0)


def _make_problem(
    codes: Codes, target: Target, criterion: Criterion, rules: GrowthRules
) -> s.Problem:
    """All but the weights of a tree's rows and the room for it, which come later."""
    n_features = len(codes.n_codes)
    wanted = codes.as_bytes and n_features <= _ROW_FEATURES_LIMIT
    by_row = wanted and (rules.draws(n_features) or rules.random_cuts)
    stride = padded_width(n_features) if by_row else 0
    pages, values = codes.views(by_row), codes.pages.codes[0].values
    places, place_start = _places(codes) if rules.random_cuts else (np.empty(0), codes.edge_start)
    monotone = rules.monotone if rules.monotone is not None else np.zeros(n_features)
    n_categories = int(codes.n_codes[codes.is_category != 0].max(initial=0))
    problem = s.Problem(
        pages=pages,
        n_pages=len(codes.pages),
        n_codes=codes.n_codes,
        is_category=_kinds(codes, target, rules),
        search=StepArray([]),
        monotone=np.ascontiguousarray(monotone, np.int64),
        borders=codes.edges,
        border_start=codes.edge_start,
        places=places,
        place_start=place_start,
        class_start=np.ascontiguousarray(target.class_start, np.int64),
        value_at=_value_places(codes),
        value_pages=pages,
        n_value_pages=len(codes.pages),
        origin=np.empty(0, ROW),
        n_features=n_features,
        as_bytes=codes.as_bytes,
        row_stride=stride,
        lane_width=-(-stride // LANES) * LANES,
        n_crowded=0 if values is None else values.shape[1],
        has_wide_values=values is not None and values.dtype == np.float64,
        tiled=False,
        category_words=-(-n_categories // WORD_BITS),
        max_categories=n_categories,
        sums=_sums(target, criterion),
        rules=_split_rules(n_features, rules, criterion, by_row),
        weights=s.Weights(False, False, 0, rules.min_weight_leaf),
        room=s.GrowRoom(0, 0, 0, 0, 0, CELL_LIMIT, 1),
        steps=s.GrowSteps(None, None),
    )
    return with_steps(problem, codes, criterion, rules)


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


def _sums(target: Target, criterion: Criterion) -> s.CriterionSums:
    """What the criterion sums of rows and nodes."""
    classes = criterion.summed == "classes"
    n_labels = target.n_outputs if classes else 0
    n_stats = criterion.stats_per_row(target.n_outputs)
    n_totals = int(target.class_start[-1]) if classes else n_stats
    return s.CriterionSums(
        n_labels=n_labels,
        n_stats=n_stats,
        n_totals=n_totals,
        n_outputs=target.n_outputs,
        n_classes=n_totals if classes else 1,
        rows_only=criterion.summed == "order" or n_labels > 1,
        logs=criterion.summed == "moments" and criterion.second_moment == "logs",
        value_at=n_totals - 1 if classes else 1,
        value_is_total=criterion.summed == "order",
        score_form=criterion.score_form,
        score_unit=target.n_outputs if criterion.adds_outputs else 1,
        perfect_score=criterion.perfect_score,
    )


def _split_rules(
    n_features: int, rules: GrowthRules, criterion: Criterion, by_row: bool
) -> s.SplitRules:
    """The rules as kernels read them."""
    by_chance = rules.random_ties or rules.random_cuts
    return s.SplitRules(
        max_features=rules.max_features or n_features,
        max_depth=_UNLIMITED if rules.max_depth is None else rules.max_depth,
        max_leaves=_UNLIMITED if rules.max_leaf_nodes is None else rules.max_leaf_nodes,
        min_split=rules.min_samples_split,
        min_leaf=rules.min_samples_leaf,
        min_decrease=rules.min_impurity_decrease,
        random_cuts=rules.random_cuts,
        category_rule=s.CATEGORY_CODES[rules.category_split],
        list_from=LIST_FROM if rules.list_sets else _UNLIMITED,
        count_constant=rules.count_constant,
        random_ties=rules.random_ties,
        ties=s.TIES_EXACT if by_chance else criterion.ties,
        constrained=rules.monotone is not None,
        knows_constant=n_features <= _CONSTANT_FEATURES_LIMIT and not by_row,
    )


def _places(codes: Codes) -> tuple[Array, Array]:
    """Where each code lies, for random cuts: the value of a rank, the middle of a bin.

    Those of bins are searched 16 at a time: each feature has room for 256 of them, and
    before these every 16th once more.
    """
    if not codes.as_bytes:
        return codes.edges, codes.edge_start
    n_features, room = len(codes.n_codes), MAX_BINS + 1
    places = np.full((n_features, PLACE_LANES + room), np.inf)
    for place, first, last in zip(places, codes.middle_start, codes.middle_start[1:], strict=False):
        place[PLACE_LANES : PLACE_LANES + last - first] = codes.middles[first:last]
    places[:, :PLACE_LANES] = places[:, PLACE_LANES :: room // PLACE_LANES]
    return places.ravel(), PLACE_LANES + np.arange(n_features) * places.shape[1]


def _value_places(codes: Codes) -> Array:
    """Where the values of each feature are in a row of them; -1 if they are not known."""
    place = np.full(len(codes.n_codes), -1, np.int64)
    if codes.pages.codes[0].values is not None:
        crowded = np.flatnonzero(codes.crowded)
        place[crowded] = np.arange(len(crowded))
    return place


def _task_rows(problem: s.Problem) -> int:
    """How many rows a tile holds; 0 where it would be too few to be worth it."""
    code = np.dtype(BIN if problem.as_bytes else RANK)
    n_rows = _TILE_BYTES // (problem.n_features * code.itemsize)
    return n_rows if n_rows >= _LEAST_TILE_ROWS else 0


def _make_tile(problem: s.Problem, n_rows: int) -> s.Problem:
    """Room for the codes of a small node of a table of so many rows, as a problem of its own."""
    n_rows = min(problem.room.task_rows, n_rows)
    n_codes = n_rows * problem.n_features
    page = PageCodes(
        start=0,
        stop=n_rows,
        bins=np.empty(n_codes if problem.as_bytes else 0, BIN),
        ranks=np.empty(0 if problem.as_bytes else n_codes, RANK),
        by_row=np.empty(n_rows * problem.row_stride + LANES, BIN),
        narrow_values=np.empty(0, np.float32),
        wide_values=np.empty(0),
    )
    return problem._replace(
        pages=ViewArray([page]),
        n_pages=1,
        n_codes=np.empty_like(problem.n_codes),
        origin=np.empty(n_rows, ROW),
        tiled=True,
    )


def _make_nodes(problem: s.Problem) -> s.Nodes:
    """Zeroed node arrays; what these rules do not need takes no room."""
    rules, capacity = problem.rules, problem.room.nodes
    lengths = dict.fromkeys(s.Nodes._fields, capacity)
    lengths["totals"] = capacity * problem.sums.n_totals
    lengths["constant"] = capacity * problem.n_features if rules.knows_constant else 0
    lengths["sets"] = problem.room.sets
    lengths["lower"] = lengths["upper"] = capacity * rules.constrained
    lengths["threshold"] = capacity * rules.random_cuts
    nodes: s.Nodes = new_arrays(s.Nodes, lengths)
    nodes.lower[:1] = -np.inf
    nodes.upper[:1] = np.inf
    return nodes


def _make_desk(problem: s.Problem, words: Array, frontier: Frontier, size: int) -> s.Desk:
    others = {"crew": Crew(words, TURN), "words": words, "frontier": frontier}
    lengths = dict.fromkeys(s.Desk._fields[len(others) :], size)
    lengths["features"] = lengths["feature_score"] = problem.n_features
    lengths["member"] = size * problem.max_categories
    desk: s.Desk = new_arrays(s.Desk, lengths, **others)
    return desk


def _make_scratch(
    problem: s.Problem,
    n_rows: int,
    criterion: Criterion,
    together: bool,
    block: bool,
    tasks: Array,
) -> s.Scratch:
    sums, width = problem.sums, problem.lane_width
    n_stats, n_totals, n_classes = sums.n_stats, sums.n_totals, sums.n_classes
    n_cells = 0 if sums.rows_only else CELL_LIMIT
    n_entries = min(n_cells, n_rows)
    n_groups = min(problem.max_categories, n_rows) + 1
    lengths = {
        **dict.fromkeys(("keys", "spare_keys"), n_rows + PART_LANES),
        "counters": RADIX_COUNTERS,
        "cell_sums": n_cells * (1 + n_stats),
        "cell_rows": n_cells,
        "cell_words": n_cells if problem.as_bytes and sums.n_labels == 1 else 0,
        "occupied": n_cells // WORD_BITS + 1,
        "sides": MAX_BINS + 1,
        "row_sides": n_rows,
        **dict.fromkeys(("low", "high", "top"), width),
        "varies": max(width, problem.n_features),
        **dict.fromkeys(("cuts", "known_codes"), width * together),
        **dict.fromkeys(("lane_counts", "lane_rows"), 2 * n_classes * width * together),
        "lane_sums": 6 * width * together,
        "block_codes": problem.row_stride * BLOCK_LANES * block,
        "block_values": problem.n_crowded * BLOCK_LANES * block,
        "block_stats": (1 + n_stats) * BLOCK_LANES * block,
        **dict.fromkeys(("block_classes", "block_labels"), n_totals * block),
        "block_groups": (BLOCK_LANES + 1) * block,
        **dict.fromkeys(("block_rows", "block_nodes"), BLOCK_LANES * block),
        "labels": n_rows if problem.steps.number_anew else 0,
        "new_number": n_totals,
        "class_span": 2,
        "entry_labels": n_entries,
        "entry_stats": n_entries * n_stats,
        "entry_rows": n_entries,
        **dict.fromkeys(("group_start", "group_order", "group_spare", "group_mean"), n_groups),
        **dict.fromkeys(("total", "start", "left", "right"), n_totals),
        "order": criterion.order_blocks * n_rows,
        **dict.fromkeys(("spare_row", "spare_labels", "spare_stats", "tasks"), 0),
    }
    scratch: s.Scratch = new_arrays(s.Scratch, lengths, ask=s.ScanQuestion())
    scratch.known_codes[:] = MAX_BINS - 1
    n_labels, n_spare = sums.n_labels, n_rows + PART_LANES
    # keys and parted rows are never needed at the same time: where they fit, they share room
    halves = scratch.spare_keys.view(ROW)
    return scratch._replace(
        tasks=tasks,
        spare_row=halves[:n_spare],
        spare_labels=halves[n_spare:] if n_labels <= 1 else np.empty(n_spare * n_labels, LABEL),
        spare_stats=scratch.keys.view(STAT) if n_stats == 1 else np.empty(n_spare * n_stats, STAT),
    )

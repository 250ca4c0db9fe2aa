"""Grow boosted trees, one after the other, on one coded table.

`BoostedGrower` owns the arrays the kernels work on (kernels/boosting/state.py) and the
team of threads; a round of boosting calls `grow` for a tree, then `advance` with the
values of its leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hornbeam.boosting.arrays import make_pages, make_table, new_nodes, new_team
from hornbeam.boosting.bundles import Bundles
from hornbeam.boosting.defaults import ALTERNATE, LEAF
from hornbeam.boosting.parts import OnePart, Parts
from hornbeam.boosting.rows import weighs_too_much
from hornbeam.boosting.rules import BoostRules, draws_features, is_plain, most_leaves
from hornbeam.boosting.sampling import ALL_ROWS, RowSampler, RowSampling, sampling_kernels
from hornbeam.boosting.scores import RowScores, paying_threads
from hornbeam.boosting.table import CodedTable
from hornbeam.boosting.units import TOO_HEAVY, choose_units
from hornbeam.dtypes import ROW, Array
from hornbeam.kernels.boosting import rounds
from hornbeam.kernels.boosting import state as s
from hornbeam.kernels.boosting.ahead import collect, count_apart, settle_ahead, take_ahead
from hornbeam.kernels.boosting.features import choose_features
from hornbeam.kernels.boosting.grow import collect_sums, count_and_search, settle_nodes
from hornbeam.kernels.boosting.histogram import (
    add_shared,
    count_columns,
    count_held,
    count_shared,
    empty_shared_column,
    fill_default_cell,
)
from hornbeam.kernels.boosting.nodes import (
    make_root,
    mark_sides,
    plan_build,
    settle_split,
    take_node,
)
from hornbeam.kernels.boosting.partition import lay_out_all, lay_out_drawn, part_together
from hornbeam.kernels.boosting.search import search_bound, search_category, search_features
from hornbeam.kernels.boosting.sparse import (
    count_sparse_alone,
    count_sparse_shared,
    prepare_sparse,
)
from hornbeam.kernels.boosting.steps import BoostSteps
from hornbeam.kernels.boosting.walk import TRAILS_SIGNATURE, lay_trails, walk_rows
from hornbeam.kernels.driver import ADDING, WORD_TURN, DriverSteps, drive, driver_kernels
from hornbeam.kernels.frontier import new_frontier
from hornbeam.kernels.slopes import SlopePeak
from hornbeam.runtime.companion import Kernel, compile_all
from hornbeam.runtime.team import run_team
from hornbeam.runtime.views import declared_signatures, make_slots, set_fields

_SECONDS_PER_PAIR = 1.5e-9  # of a (row, feature) pair in a tree of usual depth
SECONDS_PER_ROW = 20e-9  # parted on every level
_SECONDS_PER_CELL = 3e-9  # of a histogram cell, searched and subtracted
_POOL_BYTES = 1 << 29  # histograms kept for subtraction

_USUAL_STEPS = {
    "make_root": make_root,
    "plan_build": plan_build,
    "search_features": search_features,
    "settle": settle_split,
}


_USUAL_TURN = DriverSteps(
    take=take_node, collect=collect_sums, scan=count_and_search, settle=settle_nodes
)


class GrownTree:
    """A tree as growing leaves it behind, with codes instead of thresholds."""

    __slots__ = (
        "child", "count", "cut", "feature", "gradient", "hessian", "member", "missing_left",
        "penalty", "step", "value",
    )  # fmt: skip

    def __init__(
        self, nodes: s.BoostNodes, n_nodes: int, units: s.BoostUnits, penalty: float
    ) -> None:
        self.penalty = penalty  # lambda of this tree
        self.child = nodes.child[:n_nodes].copy()
        self.feature = nodes.feature[:n_nodes].copy()
        self.cut = nodes.cut[:n_nodes].copy()
        self.missing_left = nodes.missing_left[:n_nodes].copy()
        self.member = nodes.member[: n_nodes * s.MEMBER_WORDS].reshape(n_nodes, -1).copy()
        self.gradient = nodes.gradient[:n_nodes] * units.gradient
        self.hessian = nodes.hessian[:n_nodes] * units.hessian
        self.count = nodes.n_rows[:n_nodes].copy()
        self.step = nodes.value[:n_nodes].copy()  # the Newton step of each node
        self.value = self.step  # what it adds to a score


class TreeGrower:
    """What growers of one table have in common: arrays, and rows that move by the leaves.

    A grower makes the arrays that the kernels work on, and grows.
    """

    rules: BoostRules
    scores: RowScores
    size: int  # threads
    seconds: float  # that a tree takes
    pages: list[s.BoostPage]
    table: s.BoostTable  # without what is of one tree:
    units: s.BoostUnits
    draw: s.BoostDraw
    active: Array | None = None  # features drawn
    rows: s.BoostRows
    nodes: s.BoostNodes
    team: s.BoostTeam
    words: Array
    slots: Array
    score_slots: list[Array]
    bundles: Bundles
    sampler: RowSampler | None

    def _begin_tree(self, seed: int, active: Array, peaks: Sequence[SlopePeak]) -> None:
        """Draw features and rows for a tree; ``peaks`` are the largest slopes of all rows."""
        if active is not self.active:  # which are often those of the last tree
            self.active, self.draw = active, self._choose(active)
        self.draw = self.draw._replace(seed=seed)
        set_fields(self.slots, s.TABLE_AT, s.BoostTable, draw=self.draw)
        if self.sampler is not None:
            self.sampler.draw(peaks)

    def _sample_by(self, slopes: Sequence[Array], parts: Parts) -> None:
        """Draw the rows of trees by these slopes, if the rules say so."""
        sampling, self.sampler, scores = self.rules.sampling, None, self.scores
        chosen_anew = scores.loss.leaf_rule != "newton" or scores.order == 1  # values of leaves
        if sampling.draws:
            self.sampler = RowSampler(
                sampling, self.slots, self.words, slopes, self.size, parts, chosen_anew
            )

    def row_weights(self) -> Array:
        """What each row that was drawn for the last tree weighs."""
        weight = np.broadcast_to(self.scores.weight, self.scores.n_rows)
        return weight if self.sampler is None else self.sampler.row_weights(weight)

    def _choose(self, active: Array) -> s.BoostDraw:
        """List the features drawn for a tree, and the columns that hold them."""
        team, rules, n_active = self.team, self.rules, len(active)
        team.tiles[:] = 0  # features that were not drawn are counted in shared columns, too
        column = self.bundles.column[active]
        order = np.argsort(column, kind="stable")
        columns, sizes = np.unique(column, return_counts=True)
        team.active[:n_active] = active
        team.bundle[: len(columns)] = columns
        team.bundle_start[1 : len(columns) + 1] = np.cumsum(sizes)
        team.bundle_feature[:n_active] = active[order]
        by_level = max(1, round(rules.colsample_bylevel * n_active))
        return s.BoostDraw(
            n_active=n_active,
            n_bundles=len(columns),
            by_level=by_level,
            by_node=max(1, round(rules.colsample_bynode * min(by_level, n_active))),
        )

    def rows_of_leaves(self, tree: GrownTree) -> list[Array]:
        """The drawn rows in each leaf of the tree just grown, by node number."""
        nodes, n_rows, n_pages = self.nodes, self.scores.n_rows, self.table.shape.n_pages
        leaves = []
        for node in np.flatnonzero(tree.child == 0):
            buffer = self.rows.row[int(nodes.buffer[node]) * n_rows :]
            pages = slice(node * n_pages, (node + 1) * n_pages)
            spans = zip(nodes.first[pages].tolist(), nodes.last[pages].tolist(), strict=True)
            rows = np.concatenate([buffer[first:last] for first, last in spans])
            # in an order that no number of threads changes: sums of floats depend on it
            leaves.append(np.sort(rows))
        return leaves

    def advance(self, values: Array, which: int, with_slopes: bool) -> None:
        """Add the values of the leaves (by node number) to score ``which`` of every row."""
        words = self.words
        n_nodes, n_drawn = int(words[s.WORD_NODES]), int(words[s.WORD_DRAWN])
        words[:] = 0
        words[s.WORD_NODES], words[s.WORD_DRAWN] = n_nodes, n_drawn
        if with_slopes:
            self.scores.reset_peaks()
        if n_drawn < self.scores.n_rows:
            lay_trails(self.slots, n_nodes)
        slots, own, size = self.slots, self.score_slots, self.size

        def work(rank: int) -> None:
            rounds.advance(slots, own[rank], values, which, with_slopes, rank, size)

        run_team(work, size, words, self.seconds)
        if with_slopes:
            self.scores.gather_peaks()


class BoostedGrower(TreeGrower):
    """Arrays and threads for growing trees on one table.

    One that works ``alone`` has a thread of its own beside other growers of the same scores;
    of one that is ``followed``, other rows follow the trees (`boosting.follower`).
    """

    def __init__(
        self,
        table: CodedTable,
        rules: BoostRules,
        scores: RowScores,
        n_jobs: int | None,
        alone: bool = False,
        followed: bool = False,
        parts: Parts | None = None,
    ) -> None:
        self.parts = parts = OnePart(table.n_rows) if parts is None else parts
        if parts.are_many:
            rules = replace(rules, ahead=max(1, rules.ahead))
        n_rows, n_features, n_cells = table.n_rows, table.n_features, table.n_cells
        max_leaves = most_leaves(rules, parts.n_rows)
        seconds = table.n_pairs * _SECONDS_PER_PAIR + n_rows * SECONDS_PER_ROW
        self.seconds = seconds + 2 * min(max_leaves, 64) * n_cells * _SECONDS_PER_CELL
        self.size = 1 if alone else paying_threads(n_jobs, self.seconds)
        self.rules, self.scores = rules, scores
        n_slots = 2 * rules.ahead + int(max(4, min(max_leaves, _POOL_BYTES // (16 * n_cells))))
        least = rules.min_samples_leaf
        (self.heaviest,) = parts.largest([scores.heaviest])
        counted = least > 1 and weighs_too_much(self.heaviest, parts.n_rows, least)
        if counted and parts.are_many:
            raise ValueError(TOO_HEAVY)
        steps, turn = _steps(table, rules, self.size, counted), _turn(rules)
        compile_all(kernels_of(steps, turn, followed, rules.sampling))
        self.pages = make_pages(table)
        self.table = make_table(table, self.pages, rules, max_leaves, n_slots, BoostSteps(**steps))
        if parts.are_many:
            shape = self.table.shape._replace(first_row=parts.first_row)
            settings = self.table.rules._replace(is_part=True)
            self.table = self.table._replace(shape=shape, rules=settings)
        self.bundles, n_columns = table.bundles, table.bundles.n_columns
        self.desk = scores.new_desk() if scores.loss.n_scores > 1 else scores.desk(0)
        slope = self.desk.arrays.slope
        self.rows = new_rows(table, rules, slope, self.size, scores.loss.n_scores > 1)
        most = 2 * max_leaves + 2 * rules.ahead
        self.nodes = new_nodes(self.table.shape, most, trail=trail_words(rules, most))
        size = self.size
        self.team = new_team(
            turn,
            new_frontier(LEAF if rules.growth == ALTERNATE else rules.growth, max_leaves + 1),
            size,
            cells=2 * n_cells * (n_slots + 1),
            sums=2 * n_cells * size if size > 1 else 0,
            tiles=(n_cells if table.is_sparse else n_columns * s.TILE_STRIDE) * size,
            active=n_features,
            bundle=n_columns,
            bundle_start=n_columns + 1,
            bundle_feature=n_features,
            may_ask=2 * n_features,
            goes_left=256,
            free_slots=n_slots,
            sort_key=256 * size,
            sort_code=256 * size,
            prefix=2 * s.MOST_CUTS * size,
            held=s.HELD_ROOM * size if counted else 0,
            column=n_rows if table.is_sparse else 0,
            holder=n_rows if table.is_sparse else 0,
            draw=n_features,
            job=rules.ahead,
            popped=3 * rules.ahead,
            taken=2 * rules.ahead,
            is_left=2 * rules.ahead,
        )
        self.words = self.team.words
        self.score_slots = scores.slots(size)
        self.slots = make_slots(self.table, self.rows, self.nodes, self.team)
        self._sample_by([slope], parts)

    @property
    def peak(self) -> SlopePeak:
        """The largest slopes of the score that the next tree is grown for."""
        return self.scores.peak if self.scores.loss.n_scores == 1 else self._own_peak

    def take_slopes(self, which: int) -> None:
        """Take the slopes of one of several scores."""
        self.scores.take_slopes_of(which, self.desk, self.seconds)
        self._own_peak = self.desk.peak

    def grow(self, seed: int, active: Array, fall: float = 1.0) -> GrownTree:
        """Grow a tree on the slopes; ``active`` are the features drawn.

        ``fall`` is the share of lambda that counts.
        """
        penalty = fall * self.rules.reg_lambda
        self._begin_tree(seed, active, [self.peak])
        self.units = units = self._choose_units()
        set_fields(self.slots, s.TABLE_AT, s.BoostTable, units=units, penalty=penalty)
        self.words[:] = 0
        slots, size = self.slots, self.size
        self.team.taken[:] = 0
        while True:
            run_team(
                lambda rank: drive(slots, s.TEAM_AT, rank, size), size, self.words, self.seconds
            )
            if self.words[WORD_TURN] != ADDING:
                break
            self.parts.add_up(self._partial_sums())
        return GrownTree(self.nodes, int(self.words[s.WORD_NODES]), units, penalty)

    def _choose_units(self) -> s.BoostUnits:
        """Choose what one unit of a gradient and of a hessian is worth, in all parts alike."""
        scores, peak, sampler = self.scores, self.peak, self.sampler
        even = scores.equal_hessians
        if sampler is not None:
            peak, even = sampler.weighed(peak), even and not sampler.reweighs
        least = peak.hessian if scores.n_rows else np.inf  # if all are equal
        numbers = [peak.gradient, peak.hessian, -least, not even]
        gradient, hessian, least, uneven = self.parts.largest(numbers)
        equal = not uneven and hessian == -least
        peak = peak._replace(gradient=gradient, hessian=hessian)
        slope = None if self.parts.are_many else self.desk.arrays.slope
        return choose_units(peak, slope, self.parts.n_rows, equal, self.heaviest)

    def _partial_sums(self) -> list[Array]:
        """The sums with which the team has come up for air."""
        words, nodes, n_cells = self.words, self.nodes, self.table.shape.n_cells
        histograms = self.team.cells.reshape(-1, 2 * n_cells)
        if words[s.WORD_MODE] == s.PLANTING:
            return [words[s.WORD_GRADIENT : s.WORD_HESSIAN + 1], nodes.n_rows[:1]]
        if words[s.WORD_BUILD] >= 0:
            return [histograms[words[s.WORD_BUILD_SLOT]]]
        children = nodes.ahead[self.team.job[: words[s.WORD_JOBS]]]
        counted = [histograms[slot] for slot in nodes.slot[children] if slot >= 0]
        return counted + [nodes.n_rows[child : child + 1] for child in children]


def new_rows(
    table: CodedTable, rules: BoostRules, slope: Array, size: int, lends_leaves: bool
) -> s.BoostRows:
    """Room for the rows of a tree; the leaves may be lent that of the slopes."""
    n_rows = table.n_rows
    return s.BoostRows(
        slope,
        slope.view(np.int64),
        np.zeros(2 * n_rows + s.AHEAD, ROW),
        slope.view(np.int32) if lends_leaves else np.empty(n_rows, np.int32),
        np.empty(n_rows if size > 1 else 0, np.uint8),
        np.zeros(n_rows // s.CHUNK + len(table.pages), np.int64),
        np.empty(n_rows if rules.sampling.draws else 0, ROW),
    )


def trail_words(rules: BoostRules, n_nodes: int) -> int:
    """Room for the trails of so many nodes, where some rows walk down the trees."""
    return s.TRAIL * n_nodes if rules.sampling.draws else 0


def _steps(table: CodedTable, rules: BoostRules, size: int, counted: bool) -> dict[str, Any]:
    """The steps of growth by their names: only what this fit needs is compiled."""
    sparse, draws = table.is_sparse, rules.sampling.draws
    bundled, categories = bool(table.bundles.is_shared.any()), bool(table.codes.is_category.any())
    steps = _USUAL_STEPS | {
        "lay_out_rows": lay_out_drawn if draws else lay_out_all,
        "count_columns": count_sparse_alone if sparse else count_columns,
    }
    if size > 1:
        steps["count_shared"] = count_sparse_shared if sparse else count_shared
        steps |= {"add_shared": add_shared, "part_together": part_together}
    if draws:
        steps |= {"forget_leaves": rounds.forget_leaves, "walk_rows": walk_rows}
    if sparse:
        steps["prepare_sparse"] = prepare_sparse
    if bundled:
        steps["empty_shared"] = empty_shared_column
    if bundled or sparse:
        steps["fill_default"] = fill_default_cell
    if bundled or categories:
        steps["mark_sides"] = mark_sides
    if categories:
        steps["search_category"] = search_category
    if counted:
        steps["count_held"] = count_held
    if counted or not is_plain(rules):
        steps["search_bound"] = search_bound
    if draws_features(rules):
        steps["choose_features"] = choose_features
    if rules.ahead:
        steps |= {"settle": settle_ahead, "collect": collect, "count_apart": count_apart}
    return steps


def _turn(rules: BoostRules) -> DriverSteps:
    """What the driver does; nodes may be counted ahead of their turn."""
    return _USUAL_TURN._replace(take=take_ahead) if rules.ahead else _USUAL_TURN


def kernels_of(
    steps: dict[str, Any],
    turn: DriverSteps = _USUAL_TURN,
    followed: bool = False,
    sampling: RowSampling = ALL_ROWS,
) -> list[Kernel]:
    """The kernels of a fit, with their signatures."""
    kernels = [
        *driver_kernels(turn),
        (rounds.advance, rounds.ADVANCE_SIGNATURE),
        *declared_signatures(list(steps.values())),
        *sampling_kernels(sampling),
    ]
    if followed or sampling.draws:
        kernels.append((lay_trails, TRAILS_SIGNATURE))
    if followed:
        kernels += [
            (rounds.follow, rounds.FOLLOW_SIGNATURE),
            (rounds.take_losses, rounds.SLOPES_SIGNATURE),
        ]
    return kernels


# What every fit needs, so that compiling can begin before the data are read.
USUAL_KERNELS = kernels_of(_USUAL_STEPS)

"""Grow boosted trees along sorted lists of rows: ``split="exact"`` and ``"approximate"``."""

from __future__ import annotations

from typing import Any

from hornbeam.boosting.arrays import make_pages, make_table, new_nodes, new_team
from hornbeam.boosting.grower import SECONDS_PER_ROW, BoostedGrower, kernels_of, new_rows
from hornbeam.boosting.listed_table import ListedTable
from hornbeam.boosting.parts import OnePart
from hornbeam.boosting.rules import BoostRules, draws_features, most_leaves
from hornbeam.boosting.scores import RowScores, paying_threads
from hornbeam.kernels.boosting import listed as k
from hornbeam.kernels.boosting import rounds
from hornbeam.kernels.boosting import state as s
from hornbeam.kernels.boosting.features import choose_features
from hornbeam.kernels.boosting.grow import collect_sums, settle_nodes
from hornbeam.kernels.boosting.nodes import make_root, mark_sides, take_node
from hornbeam.kernels.boosting.partition import lay_out_all, lay_out_drawn, part_together
from hornbeam.kernels.boosting.search import search_category
from hornbeam.kernels.boosting.steps import BoostSteps
from hornbeam.kernels.boosting.walk import walk_rows
from hornbeam.kernels.driver import DriverSteps
from hornbeam.kernels.frontier import new_frontier
from hornbeam.runtime.companion import compile_all
from hornbeam.runtime.views import make_slots, new_arrays

_SECONDS_PER_ENTRY = 5e-9  # of a list, parted and searched on every level
_USUAL_LEVELS = 6
_TURN = DriverSteps(take=take_node, collect=collect_sums, scan=k.search_lists, settle=settle_nodes)
_USUAL_STEPS = {
    "make_root": make_root,
    "plan_build": k.plan_lists,
    "settle": k.settle_listed,
    "prepare_sparse": k.flag_sides,
    "count_held": k.count_category,
}


class ListedGrower(BoostedGrower):
    """Arrays and threads for growing trees on sorted lists."""

    def __init__(
        self,
        table: ListedTable,
        rules: BoostRules,
        scores: RowScores,
        n_jobs: int | None,
        alone: bool = False,
        followed: bool = False,
    ) -> None:
        n_rows, n_features = table.n_rows, table.n_features
        self.parts = OnePart(n_rows)
        max_leaves = most_leaves(rules, n_rows)
        levels = min(_USUAL_LEVELS, max_leaves.bit_length())
        self.seconds = table.n_pairs * levels * _SECONDS_PER_ENTRY + n_rows * SECONDS_PER_ROW
        self.size = size = 1 if alone else paying_threads(n_jobs, self.seconds)
        self.rules, self.scores, self.bundles = rules, scores, table.bundles
        self.heaviest = scores.heaviest
        steps = _steps(table, rules, size)
        compile_all(kernels_of(steps, _TURN, followed, rules.sampling))
        self.pages = make_pages(table)
        self.table = make_table(table, self.pages, rules, max_leaves, 1, BoostSteps(**steps))
        self.desk = scores.new_desk() if scores.loss.n_scores > 1 else scores.desk(0)
        slope = self.desk.arrays.slope
        self.rows = new_rows(table, rules, slope, size, scores.loss.n_scores > 1)
        n_nodes = 2 * max_leaves
        self.nodes = new_nodes(self.table.shape, n_nodes)
        self.team = new_team(
            _TURN,
            new_frontier(rules.growth, max_leaves + 1),
            size,
            cells=2 * table.n_cells * size,
            active=n_features,
            bundle=n_features,
            bundle_start=n_features + 1,
            bundle_feature=n_features,
            may_ask=2 * n_features,
            goes_left=256,
            free_slots=1,
            sort_key=256 * size,
            sort_code=256 * size,
            held=s.HELD_ROOM * size,
            column=n_rows,
            holder=n_rows if table.is_sparse else 0,
            draw=n_features,
        )
        self.lists = _make_lists(table, rules, n_nodes, size)
        self.words = self.team.words
        self.score_slots = scores.slots(size)
        self.slots = make_slots(self.table, self.rows, self.nodes, self.team, self.lists)
        self._sample_by([slope], self.parts)


def _make_lists(table: ListedTable, rules: BoostRules, n_nodes: int, size: int) -> k.SortedLists:
    lists, approximate = table.lists, rules.split == "approximate"
    per = {"global": k.PER_TREE, "local": k.PER_NODE}[rules.candidates]
    places = dict.fromkeys(("first", "zero", "known", "last"), n_nodes * table.n_features)
    room = dict.fromkeys(("gradient", "hessian"), k.STRETCH * size)
    made: k.SortedLists = new_arrays(
        k.SortedLists,
        {**places, **room, "entry": 2 * len(lists.entry), "buffer": n_nodes},
        sorted=lists.entry,
        start=lists.start,
        zero_at=lists.zero_at,
        known_at=lists.known_at,
        n_entries=len(lists.entry),
        mark=k.CANDIDATE if approximate else k.DISTINCT,
        proposes=per if approximate else k.NEVER,
        n_buckets=1.0 / rules.eps,
        lists_zeros=not table.is_sparse,
    )
    return made


def _steps(table: ListedTable, rules: BoostRules, size: int) -> dict[str, Any]:
    """The steps of growth by their names: only what this fit needs is compiled."""
    draws = rules.sampling.draws
    steps = _USUAL_STEPS | {"lay_out_rows": lay_out_drawn if draws else lay_out_all}
    if size > 1:
        steps["part_together"] = part_together
    if draws:
        steps |= {"forget_leaves": rounds.forget_leaves, "walk_rows": walk_rows}
    if table.codes.is_category.any():
        steps |= {"mark_sides": mark_sides, "search_category": search_category}
    if draws_features(rules):
        steps["choose_features"] = choose_features
    return steps

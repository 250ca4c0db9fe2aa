"""Grow symmetric trees: all nodes of a level, and the trees of all scores, ask one question.

Few questions with many answers each: such trees are hard to fit to the noise of few rows, and
every class profits by what the others say. See kernels/boosting/symmetric.py for the loop.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hornbeam.boosting.grower import (
    BoostRules,
    GrownTree,
    TreeGrower,
    draws_features,
    make_table,
    most_leaves,
    set_addresses,
    unit,
)
from hornbeam.boosting.scores import RowScores, paying_threads
from hornbeam.boosting.table import CodedTable
from hornbeam.dtypes import ROW, Array
from hornbeam.kernels.boosting import rounds
from hornbeam.kernels.boosting import state as s
from hornbeam.kernels.boosting import symmetric as y
from hornbeam.kernels.boosting.features import choose_features
from hornbeam.kernels.boosting.grow import GROW_SIGNATURE
from hornbeam.kernels.boosting.nodes import mark_sides
from hornbeam.kernels.slopes import SlopePeak
from hornbeam.runtime.companion import Kernel, compile_all
from hornbeam.runtime.team import run_team
from hornbeam.runtime.views import make_slots, new_arrays

_BITS = 30  # of a gradient and of a hessian: the sums of 2**31 rows fit into 64 bits
_SECONDS_PER_SUM = 3e-9  # of a row, feature and score, on every level
_USUAL_LEVELS = 5

_USUAL_STEPS = {
    s.MAKE_ROOT: y.plant,
    s.PLAN_BUILD: y.open_level,
    s.COUNT_AND_SEARCH: y.search_level,
    s.SEARCH_FEATURES: y.search_question,
    s.NEXT_SPLIT: y.ask,
    s.MARK_SIDES: mark_sides,
}


class SymmetricGrower(TreeGrower):
    """Arrays and threads for growing symmetric trees on one table, those of all scores at once."""

    def __init__(
        self, table: CodedTable, rules: BoostRules, scores: RowScores, n_jobs: int | None
    ) -> None:
        n_rows, n_features, n_scores = table.n_rows, table.n_features, scores.loss.n_scores
        rules = replace(rules, max_depth=rules.levels)
        max_leaves = most_leaves(rules, n_rows)
        n_pairs = len(table.entry_cell) or n_rows * n_features
        self.seconds = n_pairs * n_scores * _USUAL_LEVELS * _SECONDS_PER_SUM
        self.size = size = paying_threads(n_jobs, self.seconds)
        self.rules, self.scores, self.bundles = rules, scores, table.bundles
        self.table = make_table(table, rules, max_leaves, 1)
        steps = _steps(table, rules)
        compile_all(_kernels(steps))
        set_addresses(self.table, steps)
        # slopes of several scores are taken one after the other, each into memory of its own
        one = n_scores == 1
        self.desks = [scores.desk(0)] if one else [scores.new_desk() for _ in range(n_scores)]
        self.rows = s.Rows(
            np.empty(0, np.float32),
            np.empty(0, np.int64),
            np.zeros(2 * n_rows + s.AHEAD, ROW),
            np.empty(n_rows, np.int32),
            np.empty(0, np.uint8),
            np.empty(0, np.int64),
        )
        n_nodes = 2 * max_leaves
        n_groups = 0 if rules.groups is None else len(rules.groups)
        lengths = dict.fromkeys(s.Nodes._fields, n_nodes)
        lengths |= {"member": n_nodes * s.MEMBER_WORDS, "groups": n_nodes * n_groups}
        by_score = ("gradient", "hessian", "left_gradient", "left_hessian", "value")
        lengths |= dict.fromkeys(by_score, n_nodes * n_scores)
        self.nodes: s.Nodes = new_arrays(s.Nodes, lengths)
        team = dict.fromkeys(s.Team._fields, 0) | {
            "words": s.N_WORDS,
            "active": n_features,
            "bundle": table.bundles.n_columns,
            "bundle_start": table.bundles.n_columns + 1,
            "bundle_feature": n_features,
            "may_ask": n_features,
            "goes_left": 256,
            "frontier": max_leaves + 1,
            "column": n_rows if table.is_sparse else 0,
            "holder": n_rows if table.is_sparse else 0,
            "draw": n_features,
        }
        self.team: s.Team = new_arrays(s.Team, team)
        self.level = _make_level(table, n_scores, max_leaves, n_rows, size)
        self.words = self.team.words
        self.score_slots = scores.slots(size)
        self.slots = make_slots(self.table, self.rows, self.nodes, self.team, self.level)

    @property
    def peaks(self) -> list[SlopePeak]:
        """The largest slopes of each score."""
        if self.scores.loss.n_scores == 1:
            return [self.scores.peak]
        return [desk.peak for desk in self.desks]

    def take_slopes(self) -> None:
        """Take the slopes of all scores, if there are several."""
        if len(self.desks) > 1:
            for which, desk in enumerate(self.desks):
                self.scores.take_slopes_of(which, desk, self.seconds)

    def grow(self, seed: int, active: Array, falls: list[float]) -> list[GrownTree]:
        """Grow the trees of all scores on their slopes; ``active`` are the features drawn.

        ``falls`` are the shares of lambda that count.
        """
        units = self._round_slopes()
        self.level.penalty[:] = penalty = np.array(falls) * self.rules.reg_lambda
        self._draw(seed, active)
        self.words[:] = 0
        slots, size = self.slots, self.size
        run_team(lambda rank: y.grow_symmetric(slots, rank, size), size, self.words, self.seconds)
        n_nodes = int(self.words[s.WORD_NODES])
        return [
            GrownTree(self._nodes_of(which), n_nodes, units, float(penalty[which]))
            for which in range(len(self.desks))
        ]

    def _round_slopes(self) -> tuple[float, float]:
        """Make integers of the slopes; returns what one unit of each is worth, for all scores."""
        real, peaks = self.table.real, self.peaks
        hessian = max(peak.hessian for peak in peaks)
        gradient_unit = unit(max(peak.gradient for peak in peaks), _BITS)
        units = gradient_unit, hessian if self.scores.equal_hessians else unit(hessian, _BITS)
        real[s.GRADIENT_UNIT], real[s.GRADIENT_SCALE] = units[0], 1 / units[0]
        real[s.HESSIAN_UNIT], real[s.HESSIAN_SCALE] = units[1], 1 / units[1]
        for which, desk in enumerate(self.desks):
            y.pack_score(self.slots, desk.arrays.slope, which)
        return units

    def _nodes_of(self, which: int) -> s.Nodes:
        """The nodes with the sums and values of one score."""
        most = len(self.nodes.child)
        span = slice(which * most, (which + 1) * most)
        names = ("gradient", "hessian", "value")
        return self.nodes._replace(**{name: getattr(self.nodes, name)[span] for name in names})


def _make_level(
    table: CodedTable, n_scores: int, max_leaves: int, n_rows: int, size: int
) -> y.Level:
    """Arrays for the questions of a level."""
    tile_nodes = max_leaves if table.is_sparse else 1
    tile_places = int(table.codes.n_codes.max(initial=0)) + 2  # missing, and rare categories
    level: y.Level = new_arrays(
        y.Level,
        {
            "whole": y.N_LEVEL_WHOLE,
            "penalty": n_scores,
            "slope": 2 * n_rows * n_scores,
            "n_left": 2 * max_leaves,
            "tile": 2 * size * tile_nodes * tile_places * n_scores,
            "held": size * tile_nodes * tile_places,
            "present": size * tile_nodes * y.PLACE_WORDS,
            "left": 2 * size * n_scores,
            "gain": size * y.N_GAINS,
            "place_of": size * y.PLACES,
            "key": size * y.PLACES,
            "code_at": size * y.PLACES,
            "best": size * y.N_BEST_SUM,
            "asked": size * y.N_ASKED,
            "member": size * s.MEMBER_WORDS,
            "absent": 2 * size * s.MEMBER_WORDS,
        },
    )
    level.whole[y.N_SCORES] = n_scores
    level.whole[y.N_NODES] = 2 * max_leaves
    level.whole[y.TILE_NODES], level.whole[y.TILE_PLACES] = tile_nodes, tile_places
    return level


def _steps(table: CodedTable, rules: BoostRules) -> dict[int, Any]:
    """The kernels that growth calls by address."""
    steps: dict[int, Any] = dict(_USUAL_STEPS)
    if table.codes.is_category.any():
        steps[s.ORDER_CATEGORIES] = y.order_categories
    if table.is_sparse:
        steps[s.COUNT_SHARED] = y.count_entries
    if draws_features(rules):
        steps[s.CHOOSE_FEATURES] = choose_features
    if rules.subsample < 1.0:
        steps |= {s.FORGET_LEAVES: rounds.forget_leaves, s.WALK_ROWS: rounds.walk_rows}
    return steps


def _kernels(steps: dict[int, Any]) -> list[Kernel]:
    """The kernels of a fit, with their signatures."""
    return [
        (y.grow_symmetric, GROW_SIGNATURE),
        (y.pack_score, y.PACK_SIGNATURE),
        (rounds.advance, rounds.ADVANCE_SIGNATURE),
        *((step, s.STEP_SIGNATURE) for step in steps.values()),
    ]


# What every fit with symmetric trees needs, so that compiling can begin before they are grown.
USUAL_KERNELS = _kernels(_USUAL_STEPS)

"""Grow symmetric trees: all nodes of a level, and the trees of all scores, ask one question.

Few questions with many answers each: such trees are hard to fit to the noise of few rows, and
every class profits by what the others say. See kernels/boosting/symmetric.py for the steps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hornbeam.boosting.arrays import make_pages, make_table, new_nodes, new_team
from hornbeam.boosting.defaults import LEVEL
from hornbeam.boosting.grower import GrownTree, TreeGrower, trail_words
from hornbeam.boosting.parts import OnePart
from hornbeam.boosting.rules import BoostRules, draws_features, most_leaves
from hornbeam.boosting.sampling import ALL_ROWS, RowSampling, sampling_kernels
from hornbeam.boosting.scores import RowScores, paying_threads
from hornbeam.boosting.table import CodedTable
from hornbeam.boosting.units import make_units, unit
from hornbeam.dtypes import ROW, Array
from hornbeam.kernels.boosting import rounds
from hornbeam.kernels.boosting import state as s
from hornbeam.kernels.boosting import symmetric as y
from hornbeam.kernels.boosting.features import choose_features
from hornbeam.kernels.boosting.nodes import mark_sides
from hornbeam.kernels.boosting.steps import BoostSteps
from hornbeam.kernels.boosting.walk import TRAILS_SIGNATURE, lay_trails, walk_rows
from hornbeam.kernels.driver import DriverSteps, drive, driver_kernels
from hornbeam.kernels.frontier import new_frontier
from hornbeam.kernels.slopes import SlopePeak
from hornbeam.runtime.companion import Kernel, compile_all
from hornbeam.runtime.team import run_team
from hornbeam.runtime.views import declared_signatures, make_slots, new_arrays, set_fields

_BITS = 30  # of a gradient and of a hessian: the sums of 2**31 rows fit into 64 bits
_SECONDS_PER_SUM = 3e-9  # of a row, feature and score, on every level
_USUAL_LEVELS = 5

_TURN = DriverSteps(take=y.take_level, scan=y.search_level, settle=y.ask)
_USUAL_STEPS = {"search_question": y.search_question}
_USUAL_SHARED = {"mark_sides": mark_sides}  # with other ways to grow


class SymmetricGrower(TreeGrower):
    """Arrays and threads for growing symmetric trees on one table, those of all scores at once."""

    def __init__(
        self, table: CodedTable, rules: BoostRules, scores: RowScores, n_jobs: int | None
    ) -> None:
        n_rows, n_features, n_scores = table.n_rows, table.n_features, scores.loss.n_scores
        rules = replace(rules, max_depth=rules.levels)
        max_leaves = most_leaves(rules, n_rows)
        n_pairs = table.n_pairs if table.is_sparse else n_rows * n_features
        self.seconds = n_pairs * n_scores * _USUAL_LEVELS * _SECONDS_PER_SUM
        self.size = size = paying_threads(n_jobs, self.seconds)
        self.rules, self.scores, self.bundles = rules, scores, table.bundles
        steps, shared = _steps(table), _shared_steps(rules)
        compile_all(_kernels(steps, shared, rules.sampling))
        self.pages = make_pages(table)
        self.table = make_table(table, self.pages, rules, max_leaves, 1, BoostSteps(**shared))
        # slopes of several scores are taken one after the other, each into memory of its own
        one = n_scores == 1
        self.desks = [scores.desk(0)] if one else [scores.new_desk() for _ in range(n_scores)]
        self.rows = s.BoostRows(
            np.empty(0, np.float32),
            np.empty(0, np.int64),
            np.zeros(2 * n_rows + s.AHEAD, ROW),
            np.empty(n_rows, np.int32),
            np.empty(0, np.uint8),
            np.zeros(n_rows // s.CHUNK + len(table.pages), np.int64),
            np.empty(n_rows if rules.sampling.draws else 0, ROW),
        )
        by_score = ("gradient", "hessian", "left_gradient", "left_hessian", "value")
        lengths = dict.fromkeys(by_score, 2 * max_leaves * n_scores)
        lengths["trail"] = trail_words(rules, 2 * max_leaves)
        self.nodes = new_nodes(self.table.shape, 2 * max_leaves, **lengths)
        self.team = new_team(
            _TURN,
            new_frontier(LEVEL, max_leaves + 1),
            active=n_features,
            bundle=table.bundles.n_columns,
            bundle_start=table.bundles.n_columns + 1,
            bundle_feature=n_features,
            may_ask=n_features,
            goes_left=256,
            job=max_leaves + 1,
            column=n_rows if table.is_sparse else 0,
            holder=n_rows if table.is_sparse else 0,
            draw=n_features,
        )
        self.level = _make_level(table, steps, n_scores, max_leaves, n_rows, size)
        self.words = self.team.words
        self.score_slots = scores.slots(size)
        self.slots = make_slots(self.table, self.rows, self.nodes, self.team, self.level)
        self._sample_by([desk.arrays.slope for desk in self.desks], OnePart(n_rows))

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
        self.level.penalty[:] = penalty = np.array(falls) * self.rules.reg_lambda
        self._begin_tree(seed, active, self.peaks)
        self.units = units = self._choose_units()
        set_fields(self.slots, s.TABLE_AT, s.BoostTable, units=units)
        for which, desk in enumerate(self.desks):
            y.pack_score(self.slots, desk.arrays.slope, which)
        self.words[:] = 0
        slots, size = self.slots, self.size
        run_team(lambda rank: drive(slots, s.TEAM_AT, rank, size), size, self.words, self.seconds)
        n_nodes = int(self.words[s.WORD_NODES])
        return [
            GrownTree(self._nodes_of(which), n_nodes, units, float(penalty[which]))
            for which in range(len(self.desks))
        ]

    def _choose_units(self) -> s.BoostUnits:
        """Choose what one unit of a gradient and of a hessian is worth, for all scores."""
        peaks, even = self.peaks, self.scores.equal_hessians
        if self.sampler is not None:  # which knows the largest slopes of all scores together
            peaks, even = [self.sampler.weighed(max(peaks))], even and not self.sampler.reweighs
        hessian = max(peak.hessian for peak in peaks)
        gradient = unit(max(peak.gradient for peak in peaks), _BITS)
        return make_units(gradient, hessian if even else unit(hessian, _BITS))

    def _nodes_of(self, which: int) -> s.BoostNodes:
        """The nodes with the sums and values of one score."""
        most = len(self.nodes.child)
        span = slice(which * most, (which + 1) * most)
        names = ("gradient", "hessian", "value")
        return self.nodes._replace(**{name: getattr(self.nodes, name)[span] for name in names})


def _make_level(
    table: CodedTable,
    steps: dict[str, Any],
    n_scores: int,
    max_leaves: int,
    n_rows: int,
    size: int,
) -> y.SymmetricLevel:
    """Settings and arrays for the questions of a level."""
    tile_nodes = max_leaves if table.is_sparse else 1
    tile_places = int(table.codes.n_codes.max(initial=0)) + 2  # missing, and rare categories
    best = dict.fromkeys(y.SymmetricBest._fields, s.LINE * size)
    level: y.SymmetricLevel = new_arrays(
        y.SymmetricLevel,
        {
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
            "may_cut": size * y.PLACES,
            "price": size * s.LINE,
            "absent": 2 * size * s.MEMBER_WORDS,
        },
        n_scores=n_scores,
        n_nodes=2 * max_leaves,
        tile_nodes=tile_nodes,
        tile_places=tile_places,
        steps=y.SymmetricSteps(**steps),
        best=new_arrays(y.SymmetricBest, best | {"member": size * s.MEMBER_WORDS}),
    )
    return level


def _steps(table: CodedTable) -> dict[str, Any]:
    """The steps of symmetric trees by their names."""
    steps: dict[str, Any] = dict(_USUAL_STEPS)
    if table.codes.is_category.any():
        steps["order_categories"] = y.order_categories
    if table.is_sparse:
        steps["count_entries"] = y.count_entries
    return steps


def _shared_steps(rules: BoostRules) -> dict[str, Any]:
    """The steps that they share with other trees."""
    steps: dict[str, Any] = dict(_USUAL_SHARED)
    if draws_features(rules):
        steps["choose_features"] = choose_features
    if rules.sampling.draws:
        steps |= {"forget_leaves": rounds.forget_leaves, "walk_rows": walk_rows}
    return steps


def _kernels(
    steps: dict[str, Any],
    shared: dict[str, Any],
    sampling: RowSampling = ALL_ROWS,
) -> list[Kernel]:
    """The kernels of a fit, with their signatures."""
    return [
        *driver_kernels(_TURN),
        (y.pack_score, y.PACK_SIGNATURE),
        (rounds.advance, rounds.ADVANCE_SIGNATURE),
        *declared_signatures([*steps.values(), *shared.values()]),
        *sampling_kernels(sampling),
        *([(lay_trails, TRAILS_SIGNATURE)] if sampling.draws else []),
    ]


# What every fit with symmetric trees needs, so that compiling can begin before they are grown.
USUAL_KERNELS = _kernels(_USUAL_STEPS, _USUAL_SHARED)

"""Rows that no tree is grown on: their scores follow the trees by walking down each of them."""

from __future__ import annotations

import numpy as np

from hornbeam.boosting.arrays import make_pages, make_table, new_team
from hornbeam.boosting.grower import SECONDS_PER_ROW, GrownTree
from hornbeam.boosting.rules import BoostRules
from hornbeam.boosting.scores import RowScores, paying_threads
from hornbeam.boosting.table import CodedTable
from hornbeam.dtypes import ROW, Array
from hornbeam.kernels.boosting import rounds
from hornbeam.kernels.boosting import state as s
from hornbeam.kernels.boosting.steps import BoostSteps
from hornbeam.kernels.boosting.walk import TRAILS_SIGNATURE, lay_trails
from hornbeam.runtime.kernel import compiled
from hornbeam.runtime.team import run_team
from hornbeam.runtime.views import make_slots, new_arrays

_WALKED = ("child", "feature", "cut", "missing_left", "member")  # of the nodes


class Follower:
    """Rows whose scores follow trees by walking down each of them."""

    def __init__(self, table: CodedTable, scores: RowScores, n_jobs: int | None) -> None:
        self.pages = make_pages(table)
        self.table = make_table(table, self.pages, BoostRules(), 2, 1, BoostSteps())
        self.seconds = table.n_rows * SECONDS_PER_ROW
        size = paying_threads(n_jobs, self.seconds)
        self.rows: s.BoostRows = new_arrays(s.BoostRows, dict.fromkeys(s.BoostRows._fields, 0))
        leaf, waiting = np.empty(table.n_rows, np.int32), np.empty(table.n_rows, ROW)
        self.rows = self.rows._replace(leaf=leaf, waiting=waiting)
        self.team = new_team()
        self.score_slots = scores.slots(size)
        self._make_nodes(0)
        compiled(rounds.follow, rounds.FOLLOW_SIGNATURE)
        compiled(lay_trails, TRAILS_SIGNATURE)

    def _make_nodes(self, most: int) -> None:
        """Make room for trees of so many nodes."""
        lengths = dict.fromkeys(s.BoostNodes._fields, 0) | dict.fromkeys(_WALKED, most)
        lengths["member"] *= s.MEMBER_WORDS
        lengths["trail"] = s.TRAIL * most
        self.nodes: s.BoostNodes = new_arrays(s.BoostNodes, lengths)
        self.slots = make_slots(self.table, self.rows, self.nodes, self.team)

    def follow(self, tree: GrownTree, values: Array, which: int) -> None:
        """Add the values of a tree's leaves to score ``which`` of every row."""
        if len(tree.child) > len(self.nodes.child):
            self._make_nodes(2 * len(tree.child))
        for name in _WALKED:
            array = getattr(tree, name)
            getattr(self.nodes, name)[: array.size] = array.ravel()
        slots, own, words = self.slots, self.score_slots, self.team.words
        words[:] = 0
        lay_trails(slots, len(tree.child))
        run_team(
            lambda rank: rounds.follow(slots, own[rank], values, which),
            len(own),
            words,
            self.seconds,
        )

"""All that growing trees on a table needs, read from the user's data and parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hornbeam.criteria import Criterion
from hornbeam.data.coding import Codes
from hornbeam.dtypes import Array
from hornbeam.kernels import state as s
from hornbeam.tree.build import build_tree
from hornbeam.tree.grower import Target, grow_nodes
from hornbeam.tree.rules import GrowthRules
from hornbeam.tree.scaling import Scaling
from hornbeam.tree.storage import Tree


@dataclass(frozen=True)
class Task:
    """What is to be grown; the same for one tree and for all trees of a forest."""

    matrix: Any
    codes: Codes
    target: Target
    criterion: Criterion
    rules: GrowthRules
    scaling: Scaling  # of the target

    def grow(self, n_jobs: int | None) -> Tree:
        """Grow one tree, on as many threads as pay."""
        return self.tree(grow_nodes(self.codes, self.target, self.criterion, self.rules, n_jobs))

    def chosen(self, rows: Array) -> Task:
        """The same task on some of the rows."""
        target = self.target.chosen(rows)
        share = float(target.weight.sum() / self.target.weight.sum())
        return replace(
            self,
            matrix=self.matrix[rows],
            codes=self.codes.chosen(rows),
            target=target,
            rules=replace(self.rules, min_weight_leaf=share * self.rules.min_weight_leaf),
        )

    def tree(self, nodes: s.Nodes) -> Tree:
        """What growing left behind as a tree in the user's units."""
        tree = build_tree(nodes, self.codes, self.criterion, self.rules, look_up(self.matrix))
        return self.scaling.restore(tree)


def look_up(matrix: Any) -> Callable[[Array, Array], Array]:
    """How to read single values of the data: ``value_at(rows, features)``."""

    def value_at(rows: Array, features: Array) -> Array:
        return np.asarray(matrix[rows, features]).ravel() if len(rows) else np.empty(0)

    return value_at

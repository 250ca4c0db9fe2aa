"""From a grown tree to a store of one tree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hornbeam.dtypes import STAT, Array
from hornbeam.forest.store import RECORD, ForestStore, distinct_rows, renumber
from hornbeam.kernels import forest_pack as p
from hornbeam.runtime.atomics import NODE_COUNT
from hornbeam.runtime.views import make_slots
from hornbeam.tree.build import category_sets
from hornbeam.tree.grower import Stage
from hornbeam.tree.importance import feature_gains
from hornbeam.tree.pruning.cost import prune_by_cost
from hornbeam.tree.sets import SharedCodes
from hornbeam.tree.task import Task

# A table of so few rows is made distinct later, with those of all other trees.
_SHORT_TABLE = 256
# Weights and impurities that float32 holds without a unit (see `ForestStore`).
_LEAST, _MOST = 1e-30, 1e30


class TreeMemory:
    """Room for the nodes of one tree, used again for later ones.

    Fresh memory for every tree would be cleared by the system first, which can take a
    tenth of the time of a fit.
    """

    def __init__(self) -> None:
        self.records = np.empty(0, RECORD)
        self.impurity = np.empty(0, np.float32)

    def hold(self, n_nodes: int) -> None:
        """Make room for so many nodes at least."""
        if n_nodes > len(self.records):
            self.records = np.empty(n_nodes + n_nodes // 8, RECORD)
            self.impurity = np.empty(len(self.records), np.float32)


class Packer:
    """Packs the trees of a task as they are grown."""

    def __init__(self, task: Task, ccp_alpha: float) -> None:
        codes = task.codes
        self.code_start, self.code_of_category = SharedCodes.of(
            codes.category_code, len(codes.n_codes)
        )
        self.task = replace(task, codes=replace(codes, category_code={}))  # sets stay over codes
        self.ccp_alpha = ccp_alpha
        classes = task.criterion.summed == "classes"
        self.by_classes = classes
        self.by_table = classes or task.target.n_outputs > 1
        self.class_start = task.target.class_start if classes else None
        self.n_values = int(task.target.class_start[-1]) if classes else task.target.n_outputs
        # what the kernel does not know goes the long way, through an ordinary tree
        self.special = (
            ccp_alpha > 0.0
            or task.criterion.summed == "order"
            or not task.codes.as_bytes
            or task.rules.monotone is not None
            or task.scaling.changes
        )

    def pack(self, stage: Stage, memory: TreeMemory) -> tuple[ForestStore, Array]:
        """The tree that a stage has just grown, and the relative gain of each feature.

        Nodes of the store are in ``memory``.
        """
        heaviest, mixed = stage.nodes.weight[0], stage.nodes.impurity[0]
        usual = _LEAST < heaviest < _MOST and (mixed == 0.0 or _LEAST < mixed < _MOST)
        if self.special or not usual:
            return self._pack_tree(stage)
        n_most = int(stage.shared[NODE_COUNT])
        n_features = len(self.task.codes.n_codes)
        memory.hold(n_most)
        records = memory.records
        packing = p.Packing(
            n_values=self.n_values,
            by_classes=self.by_classes,
            has_random_cuts=self.task.rules.random_cuts,
            has_one_output=self.task.target.n_outputs == 1,
            edges=self.task.codes.edges,
            edge_start=self.task.codes.edge_start,
            is_category=self.task.codes.is_category,
            order=np.empty(n_most, np.int32),
            threshold=records.view(np.float64),
            link=records.view(np.int32),
            link_float=records.view(np.float32),
            impurity=memory.impurity,
            gains=np.zeros(n_features),
            table=np.empty(n_most // 2 * self.n_values + self.n_values if self.by_table else 0),
            pure_row=np.full(self.n_values, -1, np.int32),
            set_node=np.empty(n_most // 2 + 1, np.int32),
        )
        n_nodes, n_rows, n_sets = p.pack_nodes(stage.slots(), make_slots(packing))
        nodes = records[:n_nodes]
        table = packing.table[: n_rows * self.n_values].reshape(n_rows, self.n_values)
        if n_rows > _SHORT_TABLE:
            table, rows = distinct_rows(table)
            renumber(nodes, 0, rows)
        asking = packing.set_node[:n_sets]
        n_words, set_words = category_sets(stage.nodes, asking)
        return ForestStore(
            nodes=nodes,
            impurity=packing.impurity[:n_nodes],
            root=np.array([0, n_nodes]),
            set_start=np.concatenate([[0], np.cumsum(n_words)]),
            set_words=set_words,
            table=np.array(table, STAT),
            inner_value=np.empty((0, self.n_values)),
            weight_unit=np.ones(1),
            impurity_unit=np.ones(1),
            class_start=self._class_start(),
            by_table=self.by_table,
            code_start=self.code_start,
            code_of_category=self.code_of_category,
        ), packing.gains

    def _class_start(self) -> Array:
        if self.class_start is None:
            return np.array([0, self.n_values])
        return np.array(self.class_start, np.int64)

    def _pack_tree(self, stage: Stage) -> tuple[ForestStore, Array]:
        task = self.task
        tree = task.tree(stage.nodes)
        if self.ccp_alpha > 0.0:
            tree = prune_by_cost(tree, self.ccp_alpha)
        gains = feature_gains(tree, len(task.codes.n_codes))
        most = np.finfo(STAT).max / (2.0 * max(1.0, float(tree.weight[0])))
        if tree.impurity[0] > most:  # squares of such targets are beyond all numbers
            tree = replace(tree, impurity=np.minimum(tree.impurity, most))
        keep_inner = task.criterion.summed == "order"
        store = ForestStore.pack([tree], self.by_table, self.class_start, keep_inner)
        own = replace(store, code_start=self.code_start, code_of_category=self.code_of_category)
        return own, gains

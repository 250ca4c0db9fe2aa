"""Reduced-error pruning: keep of a tree only what pays on rows it was not grown on.

From the bottom up, an inner node becomes a leaf if that makes no more errors on the
validation rows than the subtree below it. Ties go to the leaf, so what no validation row
reaches is cut as well.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hornbeam.dtypes import Array
from hornbeam.tree.pruning.cost import cut_below, cut_where_no_worse
from hornbeam.tree.storage import Tree

# Loss of so many rows (their numbers), each predicted by a node (its number).
RowLoss = Callable[[Array, Array], Array]


def class_loss(tree: Tree, labels: Array, n_classes: list[int], weight: Array) -> RowLoss:
    """Weight of a row if its class is not the node's, mean over the outputs.

    ``labels`` (rows, outputs) number the classes of each output from 0; a class that the
    tree does not know is -1.
    """
    blocks = np.split(tree.value, np.cumsum(n_classes)[:-1], axis=1)
    predicted = np.stack([block.argmax(axis=1) for block in blocks], axis=1)

    def loss(rows: Array, nodes: Array) -> Array:
        return weight[rows] * (predicted[nodes] != labels[rows]).mean(axis=1)

    return loss


def squared_loss(tree: Tree, values: Array, weight: Array) -> RowLoss:
    """Weighted squared error of a row, mean over the outputs."""

    def loss(rows: Array, nodes: Array) -> Array:
        return weight[rows] * ((tree.value[nodes] - values[rows]) ** 2).mean(axis=1)

    return loss


def node_losses(tree: Tree, leaves: Array, loss: RowLoss) -> Array:
    """Loss of each node over all validation rows that pass it, were it a leaf."""
    total = np.zeros(tree.node_count)
    rows, nodes = np.arange(len(leaves)), leaves.astype(np.int64)
    while len(rows):  # from the leaves to the root, one step at a time
        total += np.bincount(nodes, loss(rows, nodes), tree.node_count)
        rows, nodes = rows[nodes > 0], tree.parent[nodes[nodes > 0]]
    return total


def prune_by_validation(tree: Tree, leaves: Array, loss: RowLoss) -> Tree:
    """The pruned tree; ``leaves`` are the leaves of the validation rows."""
    return cut_below(tree, cut_where_no_worse(tree, node_losses(tree, leaves, loss)))

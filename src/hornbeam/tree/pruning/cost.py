"""Minimal cost-complexity pruning (Breiman et al. 1984; source 004).

The cost of a subtree is R(T) + alpha * |leaves of T|. The weakest link is the inner node
whose subtree is worth the least per leaf,

    g(t) = (R(t) - R(T_t)) / (|leaves of T_t| - 1),

with R(t) = share of the weight in t times its impurity. Cutting the weakest link again
and again gives the pruning path.
"""

from __future__ import annotations

import heapq
from dataclasses import fields, replace

import numpy as np

from hornbeam.dtypes import LEAF, NO_CHILD, NO_FEATURE, NODE, Array
from hornbeam.tree.scaling import weights_of
from hornbeam.tree.storage import Tree


class _Pruner:
    """Subtree risks and leaf counts, kept up to date while links are cut."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.parent = tree.parent.tolist()
        self.cut = tree.is_leaf.tolist()
        weight, whole = weights_of(tree)
        self.risk = (weight * tree.impurity / whole).tolist()
        self.leaf_risk = self.risk.copy()  # R(T_t)
        self.leaves = [1] * tree.node_count
        for node in np.flatnonzero(~tree.is_leaf)[::-1].tolist():
            children = self._children(node)
            self.leaf_risk[node] = sum(self.leaf_risk[child] for child in children)
            self.leaves[node] = sum(self.leaves[child] for child in children)
        # Strengths only grow as links are cut, so a node is pushed again when it changes
        # and outdated entries are passed over.
        self.heap = [(self._strength(t), t) for t in range(tree.node_count) if not self.cut[t]]
        heapq.heapify(self.heap)

    def _children(self, node: int) -> range:
        first = int(self.tree.first_child[node])
        return range(first, first + int(self.tree.n_branches[node]))

    def _strength(self, node: int) -> float:
        return (self.risk[node] - self.leaf_risk[node]) / (self.leaves[node] - 1)

    def weakest(self) -> tuple[float, int] | None:
        """The weakest link: its strength and node, None when only the root is left."""
        while self.heap:
            strength, node = self.heap[0]
            if not self.cut[node] and strength == self._strength(node):
                return strength, node
            heapq.heappop(self.heap)
        return None

    def prune(self, node: int) -> None:
        """Make a node a leaf."""
        below = [node]
        while below:  # everything under it is gone
            gone = below.pop()
            if not self.cut[gone]:
                below.extend(self._children(gone))
            self.cut[gone] = True
        risk_change = self.risk[node] - self.leaf_risk[node]
        leaf_change = 1 - self.leaves[node]
        self.leaf_risk[node], self.leaves[node] = self.risk[node], 1
        above = self.parent[node]
        while above >= 0:
            self.leaf_risk[above] += risk_change
            self.leaves[above] += leaf_change
            heapq.heappush(self.heap, (self._strength(above), above))
            above = self.parent[above]


def pruning_path(tree: Tree) -> tuple[Array, Array]:
    """The alpha of each cut, weakest link first, and the risk of the tree after it."""
    pruner = _Pruner(tree)
    alphas, risks = [0.0], [pruner.leaf_risk[0]]
    while (link := pruner.weakest()) is not None:
        strength, node = link
        pruner.prune(node)
        alphas.append(strength)
        risks.append(pruner.leaf_risk[0])
    return np.array(alphas), np.array(risks)


def cut_alphas(tree: Tree) -> Array:
    """The alpha from which on each node is a leaf or gone; 0 for the leaves.

    ``cut_below(tree, cut_alphas(tree) <= alpha)`` is the tree pruned at alpha, for any alpha.
    """
    pruner = _Pruner(tree)
    alphas = np.where(tree.is_leaf, 0.0, np.inf)
    reached = 0.0
    while (link := pruner.weakest()) is not None:
        reached = max(reached, link[0])  # rounding must not turn the path around
        alphas[link[1]] = reached
        pruner.prune(link[1])
    return alphas


def prune_by_cost(tree: Tree, alpha: float) -> Tree:
    """The smallest subtree that minimises R(T) + alpha * |leaves|."""
    pruner = _Pruner(tree)
    while (link := pruner.weakest()) is not None and link[0] <= alpha:
        pruner.prune(link[1])
    return cut_below(tree, np.array(pruner.cut))


def cut_where_no_worse(tree: Tree, loss: Array) -> Array:
    """Which nodes to make leaves, bottom-up, so that the sum of the leaves' losses is smallest.

    ``loss`` is what each node costs as a leaf. Of equally good trees it is the smallest.
    """
    below = loss.copy()  # the smallest cost of each node's subtree
    cut = tree.is_leaf.copy()
    for node in np.flatnonzero(~tree.is_leaf)[::-1]:
        first = tree.first_child[node]
        below[node] = below[first : first + tree.n_branches[node]].sum()
        if loss[node] <= below[node]:
            below[node], cut[node] = loss[node], True
    return cut


def cut_below(tree: Tree, make_leaf: Array) -> Tree:
    """The tree in which these nodes (and leaves as before) have nothing below them."""
    keep = np.zeros(tree.node_count, bool)
    keep[0] = True
    for node in range(1, tree.node_count):  # parents come first
        keep[node] = keep[tree.parent[node]] and not make_leaf[tree.parent[node]]
    kept = np.flatnonzero(keep)
    leaf = make_leaf[kept] | tree.is_leaf[kept]
    number = np.cumsum(keep) - 1
    words = tree.set_start[kept + 1] - tree.set_start[kept]
    words[leaf] = 0
    word_rows = [
        tree.set_words[tree.set_start[node] : tree.set_start[node + 1]]
        for node in kept[~leaf & (words > 0)]
    ]
    columns = {
        field.name: getattr(tree, field.name)[kept]
        for field in fields(tree)
        if field.name not in ("set_start", "set_words")
    }
    columns["first_child"] = np.where(leaf, NO_CHILD, number[columns["first_child"]]).astype(NODE)
    for name, value in (
        ("n_branches", 0),
        ("feature", NO_FEATURE),
        ("kind", LEAF),
        ("threshold", np.nan),
        ("missing_branch", 0),
    ):
        columns[name] = np.where(leaf, value, columns[name]).astype(columns[name].dtype)
    return replace(
        tree,
        set_start=np.concatenate([[0], np.cumsum(words)]),
        set_words=np.concatenate([tree.set_words[:0], *word_rows]),
        **columns,
    )

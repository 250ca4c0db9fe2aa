"""Prune a grown C4.5 tree: collapse, replace subtrees by leaves, raise subtrees.

A tree is judged by its pessimistic errors, the sum over its leaves of the upper limit of
their errors (`hornbeam.tree.pruning.pessimistic`). From the bottom up each inner node becomes
what has the least of them:

    a leaf                                                    subtree replacement
    its heaviest branch, given all the rows of the node       subtree raising
    what it is

On equal terms the smaller tree wins. So no step raises the pessimistic errors.
"""

from __future__ import annotations

import numpy as np

from hornbeam.dtypes import LEAF, Array
from hornbeam.quinlan.grower import Grown, Refilled
from hornbeam.tree.pruning.pessimistic import upper_errors

_NOTHING = 1e-9  # differences of errors that are rounding
_COLLAPSED = 1e-3  # Quinlan's, for a split that gets no more rows right


def collapse(grown: Grown) -> None:
    """Make a leaf of every node whose subtree gets no more training rows right."""
    errors = _leaf_errors(grown.counts)
    for node in reversed(grown.inner_nodes()):
        below = grown.sum_below(errors, node)
        if below >= errors[node] - _COLLAPSED:
            grown.cut(node)
        else:
            errors[node] = below


def prune(grown: Grown, confidence: float, raising: bool) -> None:
    """Prune by pessimistic errors."""
    as_leaf = pessimistic_errors(grown.counts, confidence)
    estimate = as_leaf.copy()
    for node in reversed(grown.inner_nodes()):
        children = grown.children(node)
        tree = grown.sum_below(estimate, node)
        branch, trial, heaviest = np.inf, None, -1
        cuts: list[int] = []
        if raising:
            heaviest = children[int(np.argmax(grown.nodes.weight[children.start : children.stop]))]
            if grown.nodes.kind[heaviest] != LEAF:
                trial = grown.refilled(heaviest, node)
                branch, cuts = _judge(grown, trial, confidence)
        if as_leaf[node] <= min(tree, branch) + _NOTHING:
            grown.cut(node)
            estimate[node] = as_leaf[node]
        elif branch <= tree + _NOTHING and trial is not None:
            _settle(grown, trial, cuts)
            grown.raise_child(node, heaviest)
            estimate[node] = branch
        else:
            estimate[node] = tree


def pessimistic_errors(counts: Array, confidence: float) -> Array:
    """Upper limit of the errors of nodes with these class weights, as leaves."""
    return upper_errors(_leaf_errors(counts), counts.sum(axis=1), confidence)


def _leaf_errors(counts: Array) -> Array:
    """Weight of the rows that a leaf with these class weights gets wrong."""
    errors: Array = np.maximum(counts.sum(axis=1) - counts.max(axis=1), 0.0)
    return errors


def _judge(grown: Grown, trial: Refilled, confidence: float) -> tuple[float, list[int]]:
    """Pessimistic errors of a refilled subtree, and the nodes that had better be leaves."""
    nodes = trial.visited
    estimate, cuts = trial.estimate, []
    estimate[nodes] = pessimistic_errors(trial.counts_of(nodes), confidence)
    for node in nodes[grown.nodes.kind[nodes] != LEAF][::-1].tolist():
        below = grown.sum_below(estimate, node)
        if node != nodes[0] and estimate[node] <= below + _NOTHING:
            cuts.append(node)
        else:
            estimate[node] = below
    return float(estimate[nodes[0]]), cuts


def _settle(grown: Grown, trial: Refilled, cuts: list[int]) -> None:
    """Let the subtree have what it was refilled with."""
    nodes = trial.visited
    grown.counts[nodes] = trial.counts_of(nodes)
    grown.nodes.weight[nodes] = trial.weight[nodes]
    grown.nodes.size[nodes] = trial.size[nodes]
    for node in cuts:
        grown.cut(node)

"""Walk a hornbeam tree and a scikit-learn tree side by side.

scikit-learn numbers its nodes in the order it makes them, and among features that offer
equally good splits it takes the first of a random permutation (hornbeam: the lowest). So
the trees are compared from the root down, pair by pair. Where the two ask different
questions, both must be worth exactly the same to rounding: a tie. Below a tie the trees may
differ, so the walk does not go on there.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest


@dataclass
class Walk:
    """What a walk along two trees has seen."""

    compared: int = 0
    ties: list[tuple[int, int]] = field(default_factory=list)


def relative_gain(tree, node):
    """What the split of a scikit-learn or hornbeam node is worth, of the whole tree's weight."""
    weight, impurity = tree.weighted_n_node_samples, tree.impurity
    left, right = tree.children_left[node], tree.children_right[node]
    below = weight[left] * impurity[left] + weight[right] * impurity[right]
    return (weight[node] * impurity[node] - below) / weight[0]


def walk_together(ours, theirs, rel=0.0) -> Walk:
    """Assert that two fitted estimators hold the same tree up to ties; returns what was seen.

    ``rel`` is the relative tolerance of sums over rows: 0 where all sums are exact, else
    something for scikit-learn adding up the rows of a node in another order.
    """
    mine, other = ours.tree_, theirs.tree_
    seen = Walk()
    pairs = [(0, 0)]
    while pairs:
        node, peer = pairs.pop()
        seen.compared += 1
        compare_nodes(mine, node, other, peer, rel)
        if is_pure(mine, node) and other.impurity[peer] <= rel:
            continue  # scikit-learn splits pure nodes whose rounding errors look impure
        if not same_question(mine, node, other, peer):
            assert not mine.is_leaf[node] and other.children_left[peer] >= 0
            assert relative_gain(mine, node) == pytest.approx(relative_gain(other, peer), rel=1e-9)
            seen.ties.append((node, peer))
        elif not mine.is_leaf[node]:
            pairs.append((mine.children_left[node], other.children_left[peer]))
            pairs.append((mine.children_right[node], other.children_right[peer]))
    return seen


def compare_nodes(mine, node, other, peer, rel):
    assert mine.n_node_samples[node] == other.n_node_samples[peer]
    assert mine.weight[node] == pytest.approx(other.weighted_n_node_samples[peer], rel=rel, abs=0)
    value = values_of(other, peer)
    assert mine.value[node] == pytest.approx(value, rel=rel, abs=rel * np.abs(value).max())
    loose = 1e3 * rel * (1.0 + np.square(value).max())  # a difference of two large sums
    assert mine.impurity[node] == pytest.approx(other.impurity[peer], rel=rel, abs=loose)


def values_of(other, peer):
    """Values of a scikit-learn node in hornbeam's layout: the outputs' classes in a row."""
    classes = np.atleast_1d(other.n_classes)
    return np.concatenate([row[:k] for row, k in zip(other.value[peer], classes, strict=True)])


def is_pure(mine, node):
    return mine.is_leaf[node] and mine.impurity[node] == 0.0


def same_question(mine, node, other, peer):
    if mine.is_leaf[node] or other.children_left[peer] < 0:
        return bool(mine.is_leaf[node]) == (other.children_left[peer] < 0)
    return (
        mine.feature[node] == other.feature[peer]
        and mine.threshold[node] == other.threshold[peer]
        and mine.missing_branch[node] == 1 - other.missing_go_to_left[peer]
    )

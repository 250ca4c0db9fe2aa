"""Which features a node may ask: draws for its level and itself, and interaction groups."""

from __future__ import annotations

from numba import float64, int64, uint64

from hornbeam.kernels.boosting.state import (
    NODES_AT,
    TABLE_AT,
    TEAM_AT,
    load_nodes,
    load_table,
    load_team,
)
from hornbeam.kernels.boosting.steps import ChooseFeatures
from hornbeam.kernels.slopes import key_of, log
from hornbeam.runtime.kernel import part, step
from hornbeam.runtime.random import derive, derive_for_feature


@part
def draw_key(table, key, feature):
    """The number by which a feature is drawn: those with the smallest ones are.

    Features of weights w are drawn one after the other, each time in proportion to the weights
    of those that are left, if their numbers are -log(u) / w (Efraimidis and Spirakis 2006).
    """
    drawn = derive_for_feature(key, table.draw_number[feature])
    if not table.shape.has_draw_weights:
        return drawn >> uint64(1)
    share = (float64(drawn >> uint64(11)) + 0.5) * 2.0**-53
    return uint64(key_of(-log(share) / table.draw_weight[feature]))


@part
def keep_smallest(table, team, may_ask, at, n_active, key, kept):
    """Of the features that may be asked, keep those with the smallest hashes."""
    allowed = int64(0)
    for k in range(n_active):
        feature = int64(team.active[k])
        if may_ask[at + feature]:
            allowed += 1
            team.draw[k] = draw_key(table, key, feature)
        else:
            team.draw[k] = uint64(2**63)
    if allowed <= kept:
        return allowed
    low, high = uint64(0), uint64(2**63 - 1)  # the smallest limit that lets enough through
    while low < high:
        middle = low + ((high - low) >> uint64(1))
        below = int64(0)
        for k in range(n_active):
            below += team.draw[k] <= middle
        if below >= kept:
            high = middle
        else:
            low = middle + uint64(1)
    for k in range(n_active):
        if team.draw[k] > high:
            may_ask[at + int64(team.active[k])] = 0
    return kept


@step(ChooseFeatures)
def choose_features(slots, node, which):
    """Mark the features a node may ask: drawn for its tree, level and node, and allowed."""
    table, nodes = load_table(slots, TABLE_AT), load_nodes(slots, NODES_AT)
    team = load_team(slots, TEAM_AT)
    shape, draw = table.shape, table.draw
    n_features, n_active, n_groups = (
        shape.n_features,
        draw.n_active,
        shape.n_groups,
    )
    at = which * n_features
    for k in range(n_active):
        team.may_ask[at + int64(team.active[k])] = 1
    if n_groups > 0:
        for k in range(n_active):
            feature = int64(team.active[k])
            allowed = False
            for group in range(n_groups):
                if (
                    nodes.groups[node * n_groups + group]
                    and table.groups[group * n_features + feature]
                ):
                    allowed = True
            if not allowed:
                team.may_ask[at + feature] = 0
    key = derive(draw.seed, n_features)
    own_key, kept = derive(key, nodes.depth[node]), draw.by_level
    for _ in range(2):  # once for the level, then for the node
        if kept < n_active:
            keep_smallest(table, team, team.may_ask, at, n_active, own_key, kept)
        own_key, kept = derive(derive(key, -1), node), draw.by_node

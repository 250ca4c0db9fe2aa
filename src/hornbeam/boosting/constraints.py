"""Interaction constraints, and a check of fitted trees against all constraints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from hornbeam.data.schema import Schema
from hornbeam.dtypes import LEAF, Array
from hornbeam.tree.constraints import by_feature, read_monotone
from hornbeam.tree.storage import Tree


def read_groups(constraint: Any, schema: Schema) -> Array | None:
    """Interaction groups as a bool table (groups, features); None if there are none."""
    if constraint is None:
        return None
    if isinstance(constraint, str) or not isinstance(constraint, (Sequence, np.ndarray)):
        raise ValueError(
            "interaction_constraints must be a list of groups of features, such as "
            f"[['age', 'income'], [2, 3]], but is {constraint!r:.60}."
        )
    groups = []
    for group in constraint:
        row = np.zeros(schema.n_features, bool)
        if isinstance(group, str) or not isinstance(group, Iterable):
            group = [group]
        for member in group:
            row[_position(member, schema)] = True
        groups.append(row)
    rest = ~np.logical_or.reduce(groups) if groups else np.ones(schema.n_features, bool)
    if rest.any():
        groups.append(rest)
    return np.array(groups)


def read_feature_weights(weights: Any, schema: Schema) -> Array | None:
    """How likely each feature is drawn, by position or by name; None if all are alike."""
    if weights is None:
        return None
    given = by_feature(weights, "feature_weights", "weight", 1.0, schema)
    try:
        found = given.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"feature_weights must be numbers: {error}.") from error
    bad = np.flatnonzero(~(np.isfinite(found) & (found >= 0.0)))
    if len(bad):
        raise ValueError(
            f"feature_weights gives {schema.feature_names[bad[0]]!r} the weight {found[bad[0]]}: "
            "weights must be finite and not negative; 0 leaves a feature out."
        )
    if not found.any():
        raise ValueError(
            "feature_weights are all 0, which leaves no feature to ask: give some a positive one."
        )
    found = np.ldexp(found, -int(np.frexp(found.max())[1]))  # of any size, as quotients are
    return None if (found == found[0]).all() else found


def _position(member: Any, schema: Schema) -> int:
    if isinstance(member, str) and member in schema.feature_names:
        return schema.feature_names.index(member)
    if (
        isinstance(member, Integral)
        and not isinstance(member, bool)
        and 0 <= int(member) < schema.n_features
    ):
        return int(member)
    raise ValueError(
        f"interaction_constraints names {member!r}, which is not a column of X: give names or "
        f"positions from 0 to {schema.n_features - 1}."
    )


def check_constraints(model: Any) -> list[str]:
    """Check every tree of a fitted boosting model against its constraints.

    The trees themselves are looked at, not predictions on samples: a monotone feature must
    part each node so that all leaves on one side are at least as large as all on the
    other, and all features on a way to a leaf must be in one interaction group.

    Parameters
    ----------
    model : GradientBoostingClassifier, GradientBoostingRegressor or GradientBoostingRanker

    Returns
    -------
    list of str
        A sentence for each violation; empty if there is none.

    Examples
    --------
    >>> import hornbeam as hb
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 2.0, 4.0]
    >>> model = hb.GradientBoostingRegressor(min_samples_leaf=1, monotonic_cst=[1])
    >>> hb.check_constraints(model.fit(X, y))
    []
    """
    schema = model.schema_
    monotone = read_monotone(model.monotonic_cst, schema)
    groups = read_groups(model.interaction_constraints, schema)
    found = []
    for number, tree in enumerate(model.trees_):
        if monotone is not None:
            found += _monotone_violations(number, tree, monotone, schema)
        if groups is not None:
            found += _group_violations(number, tree, groups, schema)
    return found


def _monotone_violations(number: int, tree: Tree, monotone: Array, schema: Schema) -> list[str]:
    low, high = tree.value[:, 0].copy(), tree.value[:, 0].copy()
    found = []
    for node in range(tree.node_count - 1, -1, -1):  # children come after their parents
        if tree.kind[node] == LEAF:
            continue
        left, right = tree.first_child[node], tree.first_child[node] + 1
        direction = monotone[tree.feature[node]]
        rises, falls = high[left] <= low[right], low[left] >= high[right]
        if (direction > 0 and not rises) or (direction < 0 and not falls):
            found.append(
                f"Tree {number}, node {node}: leaves below do not "
                f"{'rise' if direction > 0 else 'fall'} with "
                f"{schema.feature_names[tree.feature[node]]!r}."
            )
        low[node], high[node] = min(low[left], low[right]), max(high[left], high[right])
    return found


def _group_violations(number: int, tree: Tree, groups: Array, schema: Schema) -> list[str]:
    open_groups = np.ones((tree.node_count, len(groups)), bool)
    found = []
    for node in range(tree.node_count):
        if tree.kind[node] == LEAF:
            continue
        here = open_groups[node] & groups[:, tree.feature[node]]
        if not here.any():
            found.append(
                f"Tree {number}, node {node}: {schema.feature_names[tree.feature[node]]!r} is in "
                "no group with the features asked above it."
            )
        first = tree.first_child[node]
        open_groups[first] = open_groups[first + 1] = here
    return found

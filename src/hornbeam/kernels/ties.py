"""Ties: how much the scores of equally good features may differ by rounding alone.

Of equally good features the lowest wins. Equal sums are rounded otherwise when their rows
come in another order, as those of a mirrored column do. So the scores of two features count
as equal if they differ by no more than rounding can explain. Cuts of one feature are compared
as they are: the lowest of those whose scores are the same number wins, as in scikit-learn.
"""

from __future__ import annotations

import math

from hornbeam.dtypes import EPSILON
from hornbeam.kernels.state import (
    TIES_BY_CLASSES,
    TIES_BY_DIFFERENCE,
    TIES_BY_LOGS,
    TIES_BY_MEDIANS,
    TIES_BY_SQUARES,
)
from hornbeam.runtime.kernel import part

# A sum of n numbers is off by about sqrt(n) roundings, and a score adds some more: measured
# on mirrored columns of 3 to a million rows these are up to 20 + sqrt(n), mostly much fewer.
_ROUNDINGS = 16.0 * EPSILON
_FEW = 4.0


@part
def tie_of(problem, nodes, node):
    """By how much a score must be larger than another one of a node to be better.

    What is rounded is as large as the terms of a score: their size is the impurity of the
    node plus what its scores leave out of it, which is large where means are far from zero.
    """
    kind = problem.rules.ties
    if kind == 0:
        return 0.0
    weight, n_totals = nodes.weight[node], problem.sums.n_totals
    n_outputs = problem.sums.n_outputs
    size = abs(weight * nodes.impurity[node] * n_outputs)
    if kind == TIES_BY_CLASSES:
        size += weight
    else:
        for output in range(n_outputs):
            total = nodes.totals[node * n_totals + 1 + output]
            if kind in (TIES_BY_SQUARES, TIES_BY_DIFFERENCE):
                size += total * total / weight
            elif kind == TIES_BY_LOGS:
                size += total + abs(total * math.log(max(total / weight, EPSILON)))
            elif kind == TIES_BY_MEDIANS:
                size += abs(total) * weight
    if kind == TIES_BY_DIFFERENCE:
        size *= weight * n_outputs
    tie = _ROUNDINGS * (_FEW + math.sqrt(float(nodes.last[node] - nodes.first[node]))) * size
    return tie if tie < math.inf else 0.0

"""Between which codes the rows of a node lie, for all features at once.

Small nodes, of which a forest has millions, then know which of their features are constant
before any of them is searched.
"""

from __future__ import annotations

from numba import int64, uint8

from hornbeam.dtypes import MISSING_BIN
from hornbeam.kernels.lanes import LANES, span_lanes
from hornbeam.kernels.state import ROW_STRIDE
from hornbeam.runtime.kernel import inlined, part


@part
def find_ranges(problem, row, first, last, scratch):
    """Fill ``scratch.low``, ``high`` and ``top`` for the rows of a node."""
    stride = problem.whole[ROW_STRIDE]
    for lane in range(0, stride, LANES):
        span_lanes(
            problem.by_row, stride, row, first, last, lane, scratch.low, scratch.high, scratch.top
        )


@inlined
def spans_codes(scratch, feature):
    """Whether a feature has two codes in the node, or one and missing values."""
    low, known = scratch.low[feature], scratch.high[feature]
    missing = scratch.top[feature] == uint8(MISSING_BIN)
    return known > 0 and (missing or int64(low) + 1 < int64(known))

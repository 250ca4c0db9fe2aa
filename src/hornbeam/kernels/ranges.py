"""Between which codes the rows of a node lie, for all features at once.

Small nodes, of which a forest has millions, then know which of their features are constant
before any of them is searched.
"""

from __future__ import annotations

from numba import uint8

from hornbeam.kernels.lanes import LANES, span_lanes
from hornbeam.kernels.pieces import first_row_of, next_piece
from hornbeam.runtime.kernel import part


@part
def find_ranges(problem, row, first, last, scratch):
    """Fill ``scratch.low``, ``high``, ``top`` and ``varies`` for the rows of a node.

    A feature varies if it has two codes in the node, or one and missing values.
    """
    stride = problem.row_stride
    low, high, top, varies = scratch.low, scratch.high, scratch.top, scratch.varies
    for lane in range(0, stride, LANES):
        for feature in range(lane, lane + LANES):
            low[feature], high[feature], top[feature] = uint8(255), uint8(0), uint8(0)
        begin = first
        while begin < last:
            page, end = next_piece(problem, row, begin, last)
            table = (page.by_row, first_row_of(page, stride), stride)
            span_lanes(table, row, begin, end, lane, low, high, top)
            begin = end
        for feature in range(lane, lane + LANES):
            # missing values have the largest code of all
            known, spread = high[feature] != 0, top[feature] != low[feature]
            varies[feature] = uint8(known) & uint8(spread)

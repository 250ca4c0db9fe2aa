"""Between which codes the rows of a node lie, for all features at once.

The codes of a row are neighbours in a second copy of the table, so 32 features take one
vector instruction per row. Small nodes, of which a forest has millions, then know which of
their features are constant before any of them is searched.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import int64, types, uint8
from numba.core import cgutils
from numba.extending import intrinsic

from hornbeam.dtypes import MISSING_BIN
from hornbeam.kernels.state import ROW_STRIDE
from hornbeam.runtime.atomics import pointer_to
from hornbeam.runtime.kernel import inlined, part

LANES = 32


@intrinsic
def span_lanes(
    typing_context: Any,
    by_row: Any,
    stride: Any,
    row: Any,
    first: Any,
    last: Any,
    lane: Any,
    low: Any,
    high: Any,
    top: Any,
) -> Any:
    """Smallest code, largest known code plus 1 (0: none) and largest code of 32 features."""
    signature = types.void(
        by_row, types.int64, row, types.int64, types.int64, types.int64, low, high, top
    )

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        table, step, rows, begin, end, offset, *results = args
        lanes = ir.VectorType(ir.IntType(8), LANES)
        smallest, known, largest = (cgutils.alloca_once(builder, lanes) for _ in range(3))
        builder.store(ir.Constant(lanes, [255] * LANES), smallest)
        builder.store(ir.Constant(lanes, [0] * LANES), known)
        builder.store(ir.Constant(lanes, [0] * LANES), largest)
        ones = ir.Constant(lanes, [1] * LANES)
        with cgutils.for_range_slice(builder, begin, end, ir.Constant(begin.type, 1)) as (place, _):
            number = builder.load(pointer_to(context, builder, sig.args[2], rows, place))
            start = builder.add(builder.mul(builder.sext(number, step.type), step), offset)
            address = pointer_to(context, builder, sig.args[0], table, start)
            codes = builder.load(builder.bitcast(address, lanes.as_pointer()), align=1)
            for kept, codes_or_more, sign in (
                (smallest, codes, "<"),
                (known, builder.add(codes, ones), ">"),  # a missing code, 255, becomes 0
                (largest, codes, ">"),
            ):
                before = builder.load(kept)
                better = builder.icmp_unsigned(sign, codes_or_more, before)
                builder.store(builder.select(better, codes_or_more, before), kept)
        for kept, kind, result in zip(
            (smallest, known, largest), sig.args[6:], results, strict=True
        ):
            address = pointer_to(context, builder, kind, result, offset)
            builder.store(builder.load(kept), builder.bitcast(address, lanes.as_pointer()), align=1)
        return context.get_dummy_value()

    return signature, generate


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

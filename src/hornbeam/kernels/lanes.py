"""Arithmetic on the codes of a row, many features at a time.

The codes of a row are neighbours in a second copy of the table (PageCodes.by_row), so a
vector instruction handles 32 features of it, one in each lane. Where a row is shorter, the
other lanes see codes of the next row, and nobody asks for what they hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from hornbeam.runtime.atomics import pointer_to

LANES = 32
SUM_LANES = 8  # real numbers take eight times the room
PLACE_LANES = 16
PART_LANES = 8
BLOCK_LANES = 64  # rows of a block, see kernels/block.py
_SHUFFLED = 32  # bytes of a vector


def _vector(context: Any, builder: Any, kind: Any, array: Any, place: Any, vector: Any) -> Any:
    """Address of a vector that begins at a cell of an array."""
    address = pointer_to(context, builder, kind, array, place)
    return builder.bitcast(address, vector.as_pointer())


def _splat(builder: Any, value: Any, vector: Any) -> Any:
    """A vector that has the same value in all lanes."""
    nothing = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
    order = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, nothing, order)


def _codes_of(
    context: Any, builder: Any, kinds: Any, args: Any, place: Any, offset: Any, vector: Any
) -> Any:
    """Codes from ``offset`` on of the row at a place; ``args`` are table and row.

    A table is the codes row by row, how many are before those of row 0 (which may be on another
    page: then there are that many too few), and how many each row has.
    """
    by_row, before, step = (builder.extract_value(args[0], i) for i in range(3))
    number = builder.load(pointer_to(context, builder, kinds[1], args[1], place))
    begin = builder.add(before, offset)
    start = builder.add(builder.mul(builder.sext(number, step.type), step), begin)
    return builder.load(_vector(context, builder, kinds[0][0], by_row, start, vector), align=1)


def _loop(builder: Any, first: Any, last: Any) -> Any:
    """``for place in range(first, last)``, as a context manager."""
    return cgutils.for_range_slice(builder, first, last, ir.Constant(first.type, 1))


@intrinsic
def span_lanes(
    typing_context: Any,
    table: Any,
    row: Any,
    first: Any,
    last: Any,
    lane: Any,
    low: Any,
    high: Any,
    top: Any,
) -> Any:
    """Smallest code, largest known code plus 1 (0: none) and largest code of 32 features.

    What ``low``, ``high`` and ``top`` hold before are those of other rows.
    """
    signature = types.void(table, row, types.int64, types.int64, types.int64, low, high, top)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        begin, end, offset, *results = args[2:]
        lanes = ir.VectorType(ir.IntType(8), LANES)
        smallest, known, largest = kept_ones = [
            cgutils.alloca_once(builder, lanes) for _ in range(3)
        ]
        targets = [
            _vector(context, builder, kind, result, offset, lanes)
            for kind, result in zip(sig.args[5:], results, strict=True)
        ]
        for kept, target in zip(kept_ones, targets, strict=True):
            builder.store(builder.load(target, align=1), kept)
        ones = ir.Constant(lanes, [1] * LANES)
        with _loop(builder, begin, end) as (place, _):
            codes = _codes_of(context, builder, sig.args, args[:2], place, offset, lanes)
            for kept, codes_or_more, sign in (
                (smallest, codes, "<"),
                (known, builder.add(codes, ones), ">"),  # a missing code, 255, becomes 0
                (largest, codes, ">"),
            ):
                before = builder.load(kept)
                better = builder.icmp_unsigned(sign, codes_or_more, before)
                builder.store(builder.select(better, codes_or_more, before), kept)
        for kept, target in zip(kept_ones, targets, strict=True):
            builder.store(builder.load(kept), target, align=1)
        return context.get_dummy_value()

    return signature, generate


def _make_counter(sign: str) -> Any:
    """``count(by_row, start, cuts, lane, counts, at, amount)``: compare 32 codes with 32 cuts.

    Where the comparison holds, the amount is added to ``counts[at + i]``.
    """

    @intrinsic
    def count(
        typing_context: Any,
        by_row: Any,
        start: Any,
        cuts: Any,
        lane: Any,
        counts: Any,
        at: Any,
        amount: Any,
    ) -> Any:
        signature = types.void(
            by_row, types.int64, cuts, types.int64, counts, types.int64, types.uint8
        )

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            lanes = ir.VectorType(ir.IntType(8), LANES)
            codes, limits, counters = (
                _vector(context, builder, sig.args[i], args[i], args[i + 1], lanes)
                for i in (0, 2, 4)
            )
            holds = builder.icmp_unsigned(
                sign, builder.load(codes, align=1), builder.load(limits, align=1)
            )
            nothing = ir.Constant(lanes, [0] * LANES)
            added = builder.select(holds, _splat(builder, args[6], lanes), nothing)
            builder.store(builder.add(builder.load(counters, align=1), added), counters, align=1)
            return context.get_dummy_value()

        return signature, generate

    return count


count_up_to, count_above = _make_counter("<="), _make_counter(">")


@intrinsic
def count_two_up_to(
    typing_context: Any,
    table: Any,
    row: Any,
    first: Any,
    last: Any,
    lane: Any,
    cuts: Any,
    labels: Any,
    shift: Any,
    counts: Any,
    width: Any,
) -> Any:
    """Count the rows of two classes whose codes are up to the cut, for 32 features.

    Row ``j`` has the class ``labels[j - shift]``. Those of class 0 are added to ``counts[lane:]``,
    those of class 1 to ``counts[width + lane:]``. Counters stay in registers, where the next
    row need not wait until they are stored.
    """
    whole = types.int64
    signature = types.void(table, row, whole, whole, whole, cuts, labels, whole, counts, whole)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        begin, end, offset, limits, classes, before, results, width = args[2:]
        lanes = ir.VectorType(ir.IntType(8), LANES)
        nothing = ir.Constant(lanes, [0] * LANES)
        everyone, second = (cgutils.alloca_once(builder, lanes) for _ in range(2))
        builder.store(nothing, everyone)
        builder.store(nothing, second)
        limit = builder.load(_vector(context, builder, sig.args[5], limits, offset, lanes), align=1)
        with _loop(builder, begin, end) as (place, _):
            codes = _codes_of(context, builder, sig.args, args[:2], place, offset, lanes)
            label = builder.load(
                pointer_to(context, builder, sig.args[6], classes, builder.sub(place, before))
            )
            one = _splat(builder, builder.trunc(label, lanes.element), lanes)
            added = builder.zext(builder.icmp_unsigned("<=", codes, limit), lanes)
            builder.store(builder.add(builder.load(everyone), added), everyone)
            added = builder.and_(added, one)
            builder.store(builder.add(builder.load(second), added), second)
        others = builder.sub(builder.load(everyone), builder.load(second))
        for count, at in (
            (others, offset),
            (builder.load(second), builder.add(width, offset)),
        ):
            address = _vector(context, builder, sig.args[8], results, at, lanes)
            known = builder.load(address, align=1)
            builder.store(builder.add(known, count), address, align=1)
        return context.get_dummy_value()

    return signature, generate


def _make_adder(sign: str) -> Any:
    """``add(table, row, first, last, lane, cuts, stats, sums, at)``.

    Compare the codes of a node's rows with the cuts of 8 features. Statistic s of the three
    of a row is added to ``sums[at + s * stride + i]`` where the comparison holds.
    """

    @intrinsic
    def add(
        typing_context: Any,
        table: Any,
        row: Any,
        first: Any,
        last: Any,
        lane: Any,
        cuts: Any,
        stats: Any,
        sums: Any,
        at: Any,
    ) -> Any:
        whole = types.int64
        signature = types.void(table, row, whole, whole, whole, cuts, stats, sums, whole)

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            step = builder.extract_value(args[0], 2)
            begin, end, offset, limits, values, results, place = args[2:]
            lanes = ir.VectorType(ir.IntType(8), SUM_LANES)
            reals = ir.VectorType(ir.DoubleType(), SUM_LANES)
            nothing = ir.Constant(reals, [0.0] * SUM_LANES)
            borders = builder.load(
                _vector(context, builder, sig.args[5], limits, offset, lanes), align=1
            )
            targets, kept = [], []
            for s in range(3):
                cell = builder.add(place, builder.mul(ir.Constant(step.type, s), step))
                targets.append(_vector(context, builder, sig.args[7], results, cell, reals))
                kept.append(cgutils.alloca_once(builder, reals))
                builder.store(builder.load(targets[s], align=8), kept[s])
            with _loop(builder, begin, end) as (j, _):
                codes = _codes_of(context, builder, sig.args, args[:2], j, offset, lanes)
                holds = builder.icmp_unsigned(sign, codes, borders)
                for s in range(3):
                    cell = builder.add(builder.mul(j, ir.Constant(j.type, 3)), j.type(s))
                    value = builder.load(pointer_to(context, builder, sig.args[6], values, cell))
                    added = builder.select(holds, _splat(builder, value, reals), nothing)
                    builder.store(builder.fadd(builder.load(kept[s]), added), kept[s])
            for target, sum_ in zip(targets, kept, strict=True):
                builder.store(builder.load(sum_), target, align=8)
            return context.get_dummy_value()

        return signature, generate

    return add


add_up_to, add_above = _make_adder("<="), _make_adder(">")


@intrinsic
def count_up_to_place(typing_context: Any, places: Any, at: Any, limit: Any) -> Any:
    """How many of ``places[at : at + 16]`` are at most ``limit``."""
    signature = types.int64(places, types.int64, types.float64)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        reals = ir.VectorType(ir.DoubleType(), PLACE_LANES)
        values = builder.load(
            _vector(context, builder, sig.args[0], args[0], args[1], reals), align=8
        )
        holds = builder.fcmp_ordered("<=", values, _splat(builder, args[2], reals))
        bits = builder.bitcast(holds, ir.IntType(PLACE_LANES))
        return builder.zext(builder.ctpop(bits), ir.IntType(64))

    return signature, generate


def _make_block_comparison(sign: str, kind: Any) -> Any:
    """``rows(items, at, item)``: compare ``items[at : at + 64]`` with an item; a bit for each."""
    real = kind is types.float64

    @intrinsic
    def rows(typing_context: Any, items: Any, at: Any, item: Any) -> Any:
        signature = types.uint64(items, types.int64, kind)

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            lanes = ir.VectorType(context.get_data_type(kind), BLOCK_LANES)
            address = _vector(context, builder, sig.args[0], args[0], args[1], lanes)
            content = builder.load(address, align=context.get_abi_sizeof(lanes.element))
            compare = builder.fcmp_ordered if real else builder.icmp_unsigned
            holds = compare(sign, content, _splat(builder, args[2], lanes))
            return builder.bitcast(holds, ir.IntType(BLOCK_LANES))

        return signature, generate

    return rows


rows_up_to = _make_block_comparison("<=", types.uint8)
rows_equal = _make_block_comparison("==", types.uint8)
rows_up_to_value = _make_block_comparison("<=", types.float64)
rows_equal_value = _make_block_comparison("==", types.float64)


def _make_block_extreme(which: str, added: int, others: int) -> Any:
    """``code(codes, at, rows)``: the extreme of 64 codes, of those whose bit is set in ``rows``."""

    @intrinsic
    def code(typing_context: Any, codes: Any, at: Any, rows: Any) -> Any:
        signature = types.int64(codes, types.int64, types.uint64)

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            byte = ir.IntType(8)
            lanes = ir.VectorType(byte, BLOCK_LANES)
            address = _vector(context, builder, sig.args[0], args[0], args[1], lanes)
            moved = ir.Constant(lanes, [added] * BLOCK_LANES)
            content = builder.add(builder.load(address, align=1), moved)
            chosen = builder.bitcast(args[2], ir.VectorType(ir.IntType(1), BLOCK_LANES))
            content = builder.select(chosen, content, ir.Constant(lanes, [others] * BLOCK_LANES))
            reduce = cgutils.get_or_insert_function(
                builder.module,
                ir.FunctionType(byte, [lanes]),
                f"llvm.vector.reduce.{which}.v{BLOCK_LANES}i8",
            )
            return builder.zext(builder.call(reduce, [content]), ir.IntType(64))

        return signature, generate

    return code


lowest_code = _make_block_extreme("umin", 0, 255)
# The largest known code plus 1; a missing code, 255, becomes 0.
highest_code = _make_block_extreme("umax", 1, 0)


def _make_block_fold(join: Callable[[Any, Any, Any], Any], others: float) -> Any:
    """``fold(values, at, rows)``: join those of 64 values whose bit is set in ``rows``.

    They are joined half by half, always in the same order. ``others`` changes nothing.
    """

    @intrinsic
    def fold(typing_context: Any, values: Any, at: Any, rows: Any) -> Any:
        signature = types.float64(values, types.int64, types.uint64)

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            reals = ir.VectorType(ir.DoubleType(), BLOCK_LANES)
            address = _vector(context, builder, sig.args[0], args[0], args[1], reals)
            chosen = builder.bitcast(args[2], ir.VectorType(ir.IntType(1), BLOCK_LANES))
            nothing = ir.Constant(reals, [others] * BLOCK_LANES)
            content = builder.select(chosen, builder.load(address, align=8), nothing)
            size = BLOCK_LANES
            while size > 1:
                size //= 2
                word = ir.IntType(32)
                halves = [
                    builder.shuffle_vector(
                        content,
                        content,
                        ir.Constant(ir.VectorType(word, size), list(range(first, first + size))),
                    )
                    for first in (0, size)
                ]
                content = join(builder, *halves)
            return builder.extract_element(content, ir.Constant(ir.IntType(32), 0))

        return signature, generate

    return fold


def _join_by(sign: str) -> Callable[[Any, Any, Any], Any]:
    """Take the one of two values that compares like that with the other."""

    def join(builder: Any, one: Any, other: Any) -> Any:
        return builder.select(builder.fcmp_ordered(sign, one, other), one, other)

    return join


lowest_value = _make_block_fold(_join_by("<"), math.inf)
highest_value = _make_block_fold(_join_by(">"), -math.inf)
sum_values = _make_block_fold(lambda builder, one, other: builder.fadd(one, other), 0.0)


@intrinsic
def part_lanes(
    typing_context: Any,
    items: Any,
    place: Any,
    left: Any,
    spare: Any,
    right: Any,
    sides: Any,
    number: Any,
) -> Any:
    """Part 8 items from ``place`` on by 8 sides from ``number`` on; returns how many go left.

    Those of side 1 move to ``items[left:]``, the others to ``spare[right:]``. At both places
    8 items are overwritten.
    """
    whole = types.int64
    signature = whole(items, whole, whole, spare, whole, sides, whole)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        source, begin, low, store, high, marks, first = args
        item = context.get_data_type(sig.args[0].dtype)
        size = context.get_abi_sizeof(item)
        lanes, bytes_ = (ir.VectorType(kind, PART_LANES) for kind in (item, ir.IntType(8)))
        content = builder.load(
            _vector(context, builder, sig.args[0], source, begin, lanes), align=size
        )
        mark = builder.load(_vector(context, builder, sig.args[5], marks, first, bytes_), align=1)
        put = _put_by_table if _shuffles_only(context) else _put_compressed
        for sign, array, to in (("==", store, high), ("!=", source, low)):
            goes = builder.icmp_unsigned(sign, mark, ir.Constant(bytes_, [0] * PART_LANES))
            target = pointer_to(context, builder, sig.args[0], array, to)
            put(builder, content, goes, target, size)
        count = builder.ctpop(builder.bitcast(goes, ir.IntType(PART_LANES)))
        return builder.zext(count, ir.IntType(64))

    return signature, generate


@intrinsic
def copy_four(
    typing_context: Any, source: Any, place: Any, target: Any, to: Any, other: Any, there: Any
) -> Any:
    """Copy 4 items from ``source[place:]`` to ``target[to:]`` and to ``other[there:]``."""
    whole = types.int64
    signature = types.void(source, whole, target, whole, other, whole)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        item = context.get_data_type(sig.args[0].dtype)
        size = context.get_abi_sizeof(item)
        four = ir.VectorType(item, 4)
        addresses = [
            _vector(context, builder, sig.args[i], args[i], args[i + 1], four) for i in (0, 2, 4)
        ]
        content = builder.load(addresses[0], align=size)
        builder.store(content, addresses[1], align=size)
        builder.store(content, addresses[2], align=size)
        return context.get_dummy_value()

    return signature, generate


def _shuffles_only(context: Any) -> bool:
    """Whether the processor has AVX2, but not the instruction that moves chosen lanes together.

    What LLVM makes of it without that instruction goes through memory, lane by lane.
    """
    features = context.codegen().magic_tuple()[2].split(",")
    return "+avx2" in features and "+avx512vl" not in features


def _put_compressed(builder: Any, content: Any, goes: Any, target: Any, size: int) -> None:
    """Store the chosen lanes of ``content`` from ``target`` on, and anything behind them."""
    lanes = content.type
    kind = f"{'f' if isinstance(lanes.element, ir.DoubleType) else 'i'}{8 * size}"
    compress = cgutils.get_or_insert_function(
        builder.module,
        ir.FunctionType(lanes, [lanes, goes.type, lanes]),
        f"llvm.experimental.vector.compress.v{lanes.count}{kind}",
    )
    chosen = builder.call(compress, [content, goes, ir.Constant(lanes, ir.Undefined)])
    builder.store(chosen, builder.bitcast(target, lanes.as_pointer()), align=size)


def _put_by_table(builder: Any, content: Any, goes: Any, target: Any, size: int) -> None:
    """As `_put_compressed`, by shuffles of 32 bytes whose order a table knows."""
    n_lanes = _SHUFFLED // size
    words = ir.VectorType(ir.IntType(32), _SHUFFLED // 4)
    shuffle = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(words, [words, words]), "llvm.x86.avx2.permd"
    )
    table = _order_table(builder.module, n_lanes)
    zero = ir.Constant(ir.IntType(64), 0)
    for first in range(0, PART_LANES, n_lanes):
        chosen = ir.Constant(
            ir.VectorType(ir.IntType(32), n_lanes), list(range(first, first + n_lanes))
        )
        some = builder.shuffle_vector(content, content, chosen)
        bits = builder.shuffle_vector(goes, goes, chosen)
        pattern = builder.zext(builder.bitcast(bits, ir.IntType(n_lanes)), zero.type)
        order = builder.zext(builder.load(builder.gep(table, [zero, pattern]), align=1), words)
        moved = builder.call(shuffle, [builder.bitcast(some, words), order])
        place = builder.bitcast(target, some.type.as_pointer())
        builder.store(builder.bitcast(moved, some.type), place, align=size)
        target = builder.gep(target, [builder.ctpop(pattern)])


def _order_table(module: Any, n_lanes: int) -> Any:
    """For each pattern of lanes: the words of the chosen ones, in their order."""
    name = f"hornbeam_order_of_{n_lanes}_lanes"
    if name in module.globals:
        return module.globals[name]
    n_words, per_lane = _SHUFFLED // 4, _SHUFFLED // 4 // n_lanes
    orders = []
    for pattern in range(1 << n_lanes):
        chosen = [lane for lane in range(n_lanes) if pattern >> lane & 1]
        words = [per_lane * lane + word for lane in chosen for word in range(per_lane)]
        orders.append(words + [0] * (n_words - len(words)))
    row = ir.VectorType(ir.IntType(8), n_words)
    kind = ir.ArrayType(row, len(orders))
    table = ir.GlobalVariable(module, kind, name)
    table.linkage, table.global_constant, table.unnamed_addr = "internal", True, True
    table.initializer = ir.Constant(kind, [ir.Constant(row, order) for order in orders])
    return table

"""Slopes of a loss: gradient and hessian of every row, and the sum of its values.

A loss is a formula of one row (losses.py); the factories here compile it into two
steps that the boosting engine takes on chunks of rows:

- ``fill`` writes gradient and hessian of one score, times the row's weight, as float32 pairs;
- ``measure`` returns the sum of weight times value.

Scores are score-major: score k of row i is ``score[k * n_rows + i]``. The slopes of that
score, one of several at a time, are ``slope[2 * i]`` (gradient) and the place behind it
(hessian). Where they depend on the other scores of the row, a third step, ``prepare``, has
left what all of them have in common in ``scratch``. A unit is a
row; where documents are ranked it is a query, a group of neighbouring rows. Nothing is
carried from one unit to the next, so results do not depend on the chunks.

The loops over rows are written so that LLVM makes vector code of them: no branches, an
exponential in plain arithmetic, and largest values compared as integers (a comparison of
floats may not be reordered, since NaN is neither larger nor smaller).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from llvmlite import ir
from numba import float32, float64, int64, types
from numba.core import cgutils
from numba.extending import intrinsic

from hornbeam.runtime.kernel import (
    BOUNDS_CHECK,
    inlined,
    kernel,
    part,
    step,
    with_own_name,
)
from hornbeam.runtime.pointers import F4, F8, I8, bare
from hornbeam.runtime.views import Slots, make_loader, written


class FillSlopes(Protocol):
    """Write gradient and hessian of one score of some rows (or queries), and note the largest."""

    def __call__(self, slots: Slots, first: int, last: int) -> None: ...


class PrepareSlopes(Protocol):
    """Leave in ``scratch`` what the slopes of all scores of some rows have in common."""

    def __call__(self, slots: Slots, first: int, last: int) -> None: ...


class MeasureLoss(Protocol):
    """The sum of weight times loss over some rows (or queries)."""

    def __call__(self, slots: Slots, first: int, last: int) -> float: ...


@written
class SlopePeak(NamedTuple):
    """The largest slopes that a thread has seen."""

    gradient: float
    hessian: float
    n_bad: int  # gradients and hessians that are not finite
    least: float  # the smallest hessian


NEW_PEAK = SlopePeak(gradient=0.0, hessian=0.0, n_bad=0, least=math.inf)


class LossRows(NamedTuple):
    """Rows under a loss: what its kernels read and write, for one thread."""

    target: F8
    weight: F8  # one of each row, or one for all
    score: F8  # score[k * n_rows + row]
    slope: F4  # gradient and hessian of a score: slope[2 * row], and the next
    settings: F8  # of the loss
    groups: I8  # rows of each query: groups[q] .. groups[q + 1]
    scratch: F8
    sums: F8  # of the loss, per chunk
    n_rows: int
    n_scores: int
    weight_step: int  # from row to row: 0 if all have the same weight
    order: int  # of the steps: 1 counts weights as hessians
    peak: SlopePeak
    fill: FillSlopes
    prepare: PrepareSlopes | None = None
    measure: MeasureLoss | None = None
    which: int = 0  # the score whose slopes are taken


load_loss = make_loader(LossRows)

# Added to second derivatives that may round to nothing, so that a leaf can divide by them.
TINY_HESSIAN = 1e-16
# Rows that softmax works on at once, so that the scores of all classes stay in the cache.
_BLOCK = 256
# Scores beyond these give probabilities of 0 and 1 anyway.
_SOFTMAX_LIMIT = 1e6

_INFINITE_BITS = 0x7F800000  # of a float32
_INFINITE_KEY = 0x7FF0000000000000  # of a float64, larger than that of every number

# --- bits ------------------------------------------------------------------------------


@intrinsic
def _bits(typing_context: Any, value: Any) -> Any:
    """The bits of a float64 as an int64."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic
def _from_bits(typing_context: Any, bits: Any) -> Any:
    """The float64 that has these bits."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), generate


@intrinsic
def _single_from_bits(typing_context: Any, bits: Any) -> Any:
    """The float32 that has these bits."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.FloatType())

    return types.float32(types.int32), generate


@intrinsic
def choose(typing_context: Any, condition: Any, one: Any, other: Any) -> Any:
    """One float64 or the other, without a branch that would keep a loop from vector code."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.select(*args)

    return types.float64(types.boolean, types.float64, types.float64), generate


@intrinsic
def _pair(typing_context: Any, first: Any, second: Any) -> Any:
    """Two float32, one after the other in memory, as the float64 with the same bits."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        half, word = ir.IntType(32), ir.IntType(64)
        low, high = (builder.zext(builder.bitcast(arg, half), word) for arg in args)
        if sys.byteorder == "big":
            low, high = high, low
        bits = builder.or_(low, builder.shl(high, ir.Constant(word, 32)))
        return builder.bitcast(bits, ir.DoubleType())

    return types.float64(types.float32, types.float32), generate


@intrinsic
def _larger_bits(typing_context: Any, top: Any, value: Any) -> Any:
    """The larger of ``top`` and the bits of |value|; those of infinity and NaN are largest.

    Bits of floats that are not negative are in the order of the floats.
    """

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        word = ir.IntType(32)
        bits = builder.and_(builder.bitcast(args[1], word), ir.Constant(word, 0x7FFFFFFF))
        return builder.select(builder.icmp_signed(">", bits, args[0]), bits, args[0])

    return types.int32(types.int32, types.float32), generate


@intrinsic
def bits_of_single(typing_context: Any, value: Any) -> Any:
    """The bits of a float32 as an int32, in the order of the floats if none is negative."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(32))

    return types.int32(types.float32), generate


@intrinsic
def muladd(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    """The sum a * b + c, in one instruction where the processor has it."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = ir.FunctionType(ir.DoubleType(), [ir.DoubleType()] * 3)
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.fmuladd.f64")
        return builder.call(function, args)

    return types.float64(types.float64, types.float64, types.float64), generate


@part
def key_of(value):
    """An int64 in the order of the float64: its bits, the lower ones flipped if negative."""
    bits = _bits(value)
    return bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF)


@part
def _from_key(key):
    """The float64 of a key: flipping twice changes nothing."""
    return _from_bits(key ^ ((key >> 63) & 0x7FFFFFFFFFFFFFFF))


@intrinsic
def _smaller_key(typing_context: Any, least: Any, key: Any) -> Any:
    """The smaller of two keys."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        least, key = args
        return builder.select(builder.icmp_signed("<", key, least), key, least)

    return types.int64(types.int64, types.int64), generate


# --- exponential and logarithm -----------------------------------------------------------

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01  # ln 2 without its last 20 bits: n times it is exact
_LN2_LOW = 1.90821492927058770002e-10  # the rest of ln 2
_TO_WHOLE = 6755399441055744.0  # 1.5 * 2**52: adding it leaves a whole number in the last bits
_TO_WHOLE_BITS = 0x4338000000000000
_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
_SMALLEST_NORMAL = 2.0**-1022


@part
def clip(x, low, high):
    """A number brought into a range; NaN stays NaN."""
    x = choose(x > high, high, x)
    return choose(x < low, low, x)


@part
def _exp_inside(x):
    """The exponential from -708 to 709.

    x = n ln 2 + r with |r| <= ln 2 / 2; the series of e^r up to r^11 / 11! is off by less
    than 7e-15; 2^n is made by writing n into the exponent.
    """
    shifted = muladd(x, _LOG2_E, _TO_WHOLE)
    n = shifted - _TO_WHOLE
    r = muladd(n, -_LN2_LOW, muladd(n, -_LN2_HIGH, x))
    series = 1.0 / 39916800.0
    series = muladd(series, r, 1.0 / 3628800.0)
    series = muladd(series, r, 1.0 / 362880.0)
    series = muladd(series, r, 1.0 / 40320.0)
    series = muladd(series, r, 1.0 / 5040.0)
    series = muladd(series, r, 1.0 / 720.0)
    series = muladd(series, r, 1.0 / 120.0)
    series = muladd(series, r, 1.0 / 24.0)
    series = muladd(series, r, 1.0 / 6.0)
    series = muladd(series, r, 0.5)
    series = muladd(series, r, 1.0)
    series = muladd(series, r, 1.0)
    return series * _from_bits((_bits(shifted) + 1023) << 52)


@part
def exp(x):
    """The exponential within 1e-14 of its value, in arithmetic that becomes vector code.

    Larger and smaller x give the finite ends of the range, NaN stays NaN.
    """
    return _exp_inside(clip(x, -708.0, 709.0))


@part
def exp_single(x):
    """The same, but what it returns is also a number of float32, as slopes are."""
    return _exp_inside(clip(x, -80.0, 80.0))


@part
def log(x):
    """The natural logarithm within 1e-14 of the true value, in plain arithmetic.

    x = 2^k m with m between sqrt(1/2) and sqrt(2), and log m = 2 artanh((m - 1) / (m + 1)).
    """
    small = x < _SMALLEST_NORMAL
    bits = _bits(choose(small, x * 2.0**54, x))
    above = bits - _SQRT_HALF_BITS
    m = _from_bits(bits - ((above >> 52) << 52))
    k = _from_bits((above >> 52) + _TO_WHOLE_BITS) - _TO_WHOLE - choose(small, 54.0, 0.0)
    f = (m - 1.0) / (m + 1.0)
    f2 = f * f
    series = 2.0 / 19.0
    series = muladd(series, f2, 2.0 / 17.0)
    series = muladd(series, f2, 2.0 / 15.0)
    series = muladd(series, f2, 2.0 / 13.0)
    series = muladd(series, f2, 2.0 / 11.0)
    series = muladd(series, f2, 2.0 / 9.0)
    series = muladd(series, f2, 2.0 / 7.0)
    series = muladd(series, f2, 2.0 / 5.0)
    series = muladd(series, f2, 2.0 / 3.0)
    series = muladd(series, f2, 2.0)
    result = muladd(k, _LN2_HIGH, muladd(k, _LN2_LOW, f * series))
    result = choose(x < math.inf, result, x)  # infinity and NaN are their own logarithms
    return choose(x > 0.0, result, choose(x == 0.0, -math.inf, math.nan))


@part
def log1p(x):
    """The logarithm of 1 + x for x >= 0; the second term is what 1 + x has rounded off."""
    u = 1.0 + x
    return log(u) + (x - (u - 1.0)) / u


# --- what all kernels share -------------------------------------------------------------


@intrinsic
def _doubles_behind(typing_context: Any, slopes: Any) -> Any:
    """The memory of float32 pairs as float64: room for one number per pair."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType().as_pointer())

    return types.CPointer(types.float64)(slopes), generate


@inlined
def _doubles_of_array(slopes):
    return slopes.view(np.float64)


_as_doubles = _doubles_of_array if BOUNDS_CHECK else _doubles_behind


@part
def _put(room, place, weight, order, gradient, hessian, tops):
    """Write the slopes of a row; returns the largest ones and the least hessian so far.

    ``room`` are the slopes seen as one float64 per pair (`_as_doubles`).
    """
    top_gradient, top_hessian, least = tops
    used = choose(order == 1, 1.0, hessian)  # a first-order step counts weights
    first, second = float32(weight * gradient), float32(weight * used)
    room[place] = _pair(first, second)
    return (
        _larger_bits(top_gradient, first),
        _larger_bits(top_hessian, second),
        _smaller_key(least, key_of(choose(weight > 0.0, hessian, math.inf))),
    )


_NO_TOPS = (np.int32(0), np.int32(0), np.int64(_INFINITE_KEY))


@part
def _note_peak(rows, tops, first, last):
    """Note the largest slopes of some neighbouring rows, counting NaN and inf."""
    top_gradient, top_hessian, least = tops
    peak, slope = rows.peak, rows.slope
    if top_gradient < _INFINITE_BITS and top_hessian < _INFINITE_BITS:
        peak.gradient = max(peak.gradient, float64(_single_from_bits(top_gradient)))
        peak.hessian = max(peak.hessian, float64(_single_from_bits(top_hessian)))
    else:
        for place in range(2 * first, 2 * last):
            if not math.isfinite(slope[place]):
                peak.n_bad += 1
    if _from_key(least) < peak.least:
        peak.least = _from_key(least)


# --- losses of single scores -------------------------------------------------------------


def make_fill(slope: Callable[..., Any], variant: str | None) -> Any:
    """Kernel of a loss whose scores do not depend on each other.

    ``slope(y, score, settings, k)`` returns gradient and hessian of score k of a row.
    """

    @inlined
    def slope_of_row(y, score, settings, k, common, row):
        return slope(y, score, settings, k)

    return make_fill_of_rows(slope_of_row, variant)


def make_fill_of_rows(slope_of_row: Callable[..., Any], variant: str | None) -> Any:
    """Kernel of a loss whose slopes may depend on what ``prepare`` has left in ``scratch``.

    ``slope_of_row(y, score, settings, k, scratch, i)`` returns those of score k of row i.
    """

    @inlined
    def fill_rows(rows, room, weight_step, first, last):
        target, weight, score, settings = rows.target, rows.weight, rows.score, rows.settings
        k, order, common = rows.which, rows.order, rows.scratch
        offset, tops = k * rows.n_rows, _NO_TOPS
        for i in range(first, last):
            gradient, hessian = slope_of_row(target[i], score[offset + i], settings, k, common, i)
            tops = _put(room, i, weight[i * weight_step], order, gradient, hessian, tops)
        return tops

    def fill(slots, first, last):
        rows = load_loss(slots, 0)
        room = _as_doubles(rows.slope)
        if rows.weight_step == 0:  # a loop of its own: its weight stays in a register
            tops = fill_rows(rows, room, 0, first, last)
        else:
            tops = fill_rows(rows, room, 1, first, last)
        _note_peak(rows, tops, first, last)

    return step(FillSlopes, variant)(fill)


def make_measure(value: Callable[..., Any], variant: str | None) -> Any:
    """Sum of weight times ``value(y, score, settings, k)`` over rows and scores."""

    def measure(slots, first, last):
        rows = load_loss(slots, 0)
        target, weight, score, settings = rows.target, rows.weight, rows.score, rows.settings
        n_rows, weight_step = rows.n_rows, rows.weight_step
        total = 0.0
        for k in range(rows.n_scores):
            for i in range(first, last):
                total += weight[i * weight_step] * value(
                    target[i], score[k * n_rows + i], settings, k
                )
        return total

    return step(MeasureLoss, variant)(measure)


# --- softmax -----------------------------------------------------------------------------


@part
def _limited(score):
    return clip(score, -_SOFTMAX_LIMIT, _SOFTMAX_LIMIT)


@intrinsic
def _block_on_stack(typing_context: Any) -> Any:
    """Room for a float64 for each row of a block."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        room = cgutils.alloca_once(builder, ir.ArrayType(ir.DoubleType(), _BLOCK))
        return builder.bitcast(room, ir.DoubleType().as_pointer())

    return types.CPointer(types.float64)(), generate


def make_softmax_prepare(with_reference: bool, variant: str | None) -> Any:
    """The logarithm of the sum of the exponentials of a row's scores, for every row.

    With a reference class, class 0 has the fixed score 0 and score k belongs to class
    k + 1, so that the sums are 1 + sum of exp.
    """

    def prepare(slots, first, last):
        rows, tops = load_loss(slots, 0), _block_on_stack()
        scores, scratch, n_rows, n_scores = rows.score, rows.scratch, rows.n_rows, rows.n_scores
        for start in range(first, last, _BLOCK):
            end = min(start + _BLOCK, last)
            for i in range(start, end):
                tops[i - start] = 0.0 if with_reference else _limited(scores[i])
            for k in range(n_scores):
                for i in range(start, end):
                    score = _limited(scores[k * n_rows + i])
                    tops[i - start] = choose(score > tops[i - start], score, tops[i - start])
            for i in range(start, end):
                scratch[i] = exp(-tops[i - start]) if with_reference else 0.0
            for k in range(n_scores):
                for i in range(start, end):
                    scratch[i] += exp(_limited(scores[k * n_rows + i]) - tops[i - start])
            for i in range(start, end):
                scratch[i] = tops[i - start] + log(scratch[i])

    return step(PrepareSlopes, variant)(prepare)


def make_softmax_fill(with_reference: bool, variant: str | None) -> Any:
    """Softmax over the scores of a row, from what `make_softmax_prepare` left.

    ``settings[0]`` is multiplied to the second derivatives p (1 - p).
    """
    shift = 1 if with_reference else 0

    def slopes_of_score(y, score, settings, k, common, row):
        share = exp(_limited(score) - common[row])
        hessian = settings[0] * share * (1.0 - share) + TINY_HESSIAN
        return share - choose(y == float64(k + shift), 1.0, 0.0), hessian

    return make_fill_of_rows(part(with_own_name(slopes_of_score, variant)), variant)


def make_softmax_measure(with_reference: bool, variant: str | None) -> Any:
    """Sum of weight times minus the log of the probability of the row's class."""
    shift = 1 if with_reference else 0

    def measure(slots, first, last):
        rows = load_loss(slots, 0)
        y, weight, scores = rows.target, rows.weight, rows.score
        n_rows, n_scores, weight_step = rows.n_rows, rows.n_scores, rows.weight_step
        loss = 0.0
        for i in range(first, last):
            top = 0.0 if with_reference else _limited(scores[i])
            for k in range(n_scores):
                top = max(top, _limited(scores[k * n_rows + i]))
            total = exp(-top) if with_reference else 0.0
            own = int64(y[i]) - shift
            own_score = _limited(scores[own * n_rows + i]) if own >= 0 else 0.0
            for k in range(n_scores):
                total += exp(_limited(scores[k * n_rows + i]) - top)
            loss += weight[i * weight_step] * (top - own_score + log(total))
        return loss

    return step(MeasureLoss, variant)(measure)


# --- ranking -----------------------------------------------------------------------------


class RankRules(NamedTuple):
    """The settings of LambdaMART."""

    truncation: int  # pairs are made with documents of the first so many places
    sigma: float
    cut: int  # places that NDCG looks at


@part
def _sort_descending(values, base, scratch, count):
    """Places of a group by descending value in ``scratch[:count]``, ties in row order.

    A merge sort without recursion; ``scratch[count:2 * count]`` is its second half.
    """
    for i in range(count):
        scratch[i] = i
    width = 1
    while width < count:
        start = 0
        while start < count:
            middle = min(start + width, count)
            end = min(start + 2 * width, count)
            i, j = start, middle
            for place in range(start, end):
                take_left = i < middle
                if take_left and j < end:
                    left = values[base + int64(scratch[i])]
                    take_left = not left < values[base + int64(scratch[j])]
                if take_left:
                    scratch[count + place] = scratch[i]
                    i += 1
                else:
                    scratch[count + place] = scratch[j]
                    j += 1
            start = end
        for i in range(count):
            scratch[i] = scratch[count + i]
        width *= 2


@part
def _gain(label):
    """Gain of a document: 2^label - 1 (label >= 0 and whole)."""
    return _from_bits((int64(label) + 1023) << 52) - 1.0


@part
def _sorted_gain(values, y, base, count, cut, scratch):
    """Discounted gain of the first ``cut`` documents when sorted by ``values``, descending."""
    _sort_descending(values, base, scratch, count)
    total = 0.0
    for place in range(min(cut, count)):
        total += _gain(y[base + int64(scratch[place])]) / math.log2(place + 2.0)
    return total


@part
def _add_pairs(y, scores, rules, base, count, inverse_ideal, scratch):
    """Lambdas and their slopes of all pairs of a query into the upper half of ``scratch``.

    The documents are sorted in ``scratch[:count]``; the discounts of their places go behind
    them, gradients to ``scratch[2 * count]`` and on, hessians behind those. Returns the sum
    of the sizes of the lambdas.
    """
    sigma = rules.sigma
    discounts, gradients, hessians = count, 2 * count, 3 * count
    for place in range(count):
        scratch[discounts + place] = 1.0 / math.log2(place + 2.0)
    best = scores[base + int64(scratch[0])]
    worst = scores[base + int64(scratch[count - 1])]
    size = 0.0
    for i in range(min(rules.truncation, count - 1)):
        for j in range(i + 1, count):
            high, low = int64(scratch[i]), int64(scratch[j])
            if y[base + high] == y[base + low]:
                continue
            change = scratch[discounts + i] - scratch[discounts + j]
            if y[base + high] < y[base + low]:
                high, low = low, high
            change *= (_gain(y[base + high]) - _gain(y[base + low])) * inverse_ideal
            difference = _limited(scores[base + high]) - _limited(scores[base + low])
            if best != worst:
                change /= 0.01 + abs(difference)
            odds = exp(-sigma * difference)
            wrong = odds / (1.0 + odds)  # probability that the pair is in the wrong order
            force = sigma * wrong * change
            bend = sigma * sigma * change * wrong / (1.0 + odds)
            scratch[gradients + high] -= force
            scratch[gradients + low] += force
            scratch[hessians + high] += bend
            scratch[hessians + low] += bend
            size += 2.0 * force
    return size


def make_rank_fill(rules: RankRules, variant: str | None) -> Any:
    """LambdaMART: for each pair of a query the change of NDCG if they were swapped."""

    def fill(slots, first, last):
        rows = load_loss(slots, 0)
        y, weight, scores, scratch = rows.target, rows.weight, rows.score, rows.scratch
        groups, weight_step, order = rows.groups, rows.weight_step, rows.order
        room = _as_doubles(rows.slope)
        for group in range(first, last):
            base, count = groups[group], groups[group + 1] - groups[group]
            if count == 0:
                continue
            ideal = _sorted_gain(y, y, base, count, rules.truncation, scratch)
            for i in range(2 * count, 4 * count):
                scratch[i] = 0.0
            factor = 1.0
            if ideal > 0.0:
                _sort_descending(scores, base, scratch, count)
                size = _add_pairs(y, scores, rules, base, count, 1.0 / ideal, scratch)
                if size > 0.0:  # long queries shall not outweigh short ones
                    factor = math.log2(1.0 + size) / size
            tops = _NO_TOPS
            for i in range(count):
                gradient = factor * scratch[2 * count + i]
                hessian = factor * scratch[3 * count + i] + TINY_HESSIAN
                row_weight = weight[(base + i) * weight_step]
                tops = _put(room, base + i, row_weight, order, gradient, hessian, tops)
            _note_peak(rows, tops, base, base + count)

    return step(FillSlopes, variant)(fill)


def make_rank_measure(rules: RankRules, variant: str | None) -> Any:
    """Sum over queries of weight times 1 - NDCG; the weight is the mean of its rows'.

    A query without a relevant document cannot be ranked wrongly: it adds nothing.
    """

    def measure(slots, first, last):
        rows = load_loss(slots, 0)
        y, weight, scores, scratch = rows.target, rows.weight, rows.score, rows.scratch
        groups, weight_step, cut = rows.groups, rows.weight_step, rules.cut
        total = 0.0
        for group in range(first, last):
            base, count = groups[group], groups[group + 1] - groups[group]
            ideal = _sorted_gain(y, y, base, count, cut, scratch)
            if ideal <= 0.0:
                continue
            group_weight = 0.0
            for i in range(base, base + count):
                group_weight += weight[i * weight_step]
            reached = _sorted_gain(scores, y, base, count, cut, scratch)
            total += group_weight / count * (1.0 - reached / ideal)
        return total

    return step(MeasureLoss, variant)(measure)


# --- calls from Python ---------------------------------------------------------------------


@kernel
def call_fill(slots, first, last):
    """Take the slopes of some rows or queries."""
    load_loss(slots, 0).fill(bare(slots), first, last)


@kernel
def call_prepare(slots, first, last):
    """Find what the slopes of all scores of some rows have in common."""
    load_loss(slots, 0).prepare(bare(slots), first, last)


@kernel
def call_measure(slots, first, last):
    """The sum of the loss over some rows or queries."""
    return load_loss(slots, 0).measure(bare(slots), first, last)


__all__ = [
    "NEW_PEAK",
    "FillSlopes",
    "LossRows",
    "MeasureLoss",
    "PrepareSlopes",
    "RankRules",
    "SlopePeak",
    "call_fill",
    "call_measure",
    "call_prepare",
    "choose",
    "clip",
    "exp",
    "exp_single",
    "key_of",
    "load_loss",
    "log",
    "log1p",
    "make_fill",
    "make_fill_of_rows",
    "make_measure",
    "make_rank_fill",
    "make_rank_measure",
    "make_softmax_fill",
    "make_softmax_measure",
    "make_softmax_prepare",
]

"""A user's loss of several scores: its functions are handed all scores of a row at once.

The slopes of a score depend on the other scores of its row, as they are before the first tree of
the round: ``prepare`` lays them out side by side in ``scratch[row * n_scores]`` and on. Each call
gets a copy of its own, so that functions may write to it and threads do not meet.

``settings[0]`` is the number of scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import int64, types
from numba.core import cgutils
from numba.extending import intrinsic

from hornbeam.kernels.boosting.jets import jet_type, to_jet
from hornbeam.kernels.slopes import (
    MeasureLoss,
    PrepareSlopes,
    choose,
    load_loss,
    make_fill_of_rows,
)
from hornbeam.runtime.kernel import part, step, with_own_name
from hornbeam.runtime.pointers import array_at, as_array

MOST_SCORES = 256
_ROUNDED = 1e-8
_JET = 3  # numbers of a jet: value, first and second derivative


@intrinsic
def _room_on_stack(typing_context: Any) -> Any:
    """Room for the scores of a row, as numbers or as jets."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = ir.ArrayType(ir.DoubleType(), _JET * MOST_SCORES)
        return builder.bitcast(cgutils.alloca_once(builder, kind), ir.DoubleType().as_pointer())

    return types.CPointer(types.float64)(), generate


@intrinsic
def _as_jets(typing_context: Any, room: Any, length: Any) -> Any:
    """Triples of numbers as an array of jets."""
    result = types.Array(jet_type, 1, "C")

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = builder.bitcast(args[0], context.get_data_type(jet_type).as_pointer())
        return array_at(context, builder, sig.return_type, pointer, args[1])

    return result(room, types.int64), generate


@part
def _jets_of(scores, k, room):
    """The scores of a row as jets: only the ``k``-th moves."""
    for j in range(len(scores)):
        room[_JET * j] = scores[j]
        room[_JET * j + 1] = choose(j == k, 1.0, 0.0)
        room[_JET * j + 2] = 0.0
    return _as_jets(room, len(scores))


@step(PrepareSlopes)
def prepare_scores(slots, first, last):
    """Lay out the scores of each row side by side."""
    rows = load_loss(slots, 0)
    scores, scratch, n_rows, n_scores = rows.score, rows.scratch, rows.n_rows, rows.n_scores
    for k in range(n_scores):
        for i in range(first, last):
            scratch[i * n_scores + k] = scores[k * n_rows + i]


def make_own_fill(slope: Callable[..., Any], variant: str | None) -> Any:
    """Kernel of the slopes; ``slope(y, scores, k)`` returns gradient and hessian of score k."""

    def slopes_of_score(y, score, settings, k, common, row):
        room, n_scores = _room_on_stack(), int64(settings[0])
        for j in range(n_scores):
            room[j] = common[row * n_scores + j]
        gradient, hessian = slope(y, as_array(room, n_scores), k)
        # where a model is sure of a row, hessians are what rounding leaves of 0
        return gradient, choose((hessian < 0.0) & (hessian > -_ROUNDED), 0.0, hessian)

    return make_fill_of_rows(part(with_own_name(slopes_of_score, variant)), variant)


def make_own_measure(value: Callable[..., Any], variant: str | None) -> Any:
    """Kernel of the sum of weight times ``value(y, scores)``."""

    def measure(slots, first, last):
        rows, room = load_loss(slots, 0), _room_on_stack()
        y, weight, scores = rows.target, rows.weight, rows.score
        n_rows, n_scores, weight_step = rows.n_rows, rows.n_scores, rows.weight_step
        total = 0.0
        for i in range(first, last):
            for k in range(n_scores):
                room[k] = scores[k * n_rows + i]
            total += weight[i * weight_step] * value(y[i], as_array(room, n_scores))
        return total

    return step(MeasureLoss, variant)(measure)


# --- what is not given, made of what is ---------------------------------------------------

Inner = Callable[[Callable[..., Any]], Any]


def own_value(value: Any, gradient: Any, nodes: Sequence[tuple[float, float]]) -> Any:
    """The value as it is given, or the integral of the gradient on the way from 0.

    ``nodes`` are places and weights of a rule of integration on [0, 1].
    """
    if value is not None:

        def given(y, scores):
            return float(1.0 * value(y, scores))

        return given

    def integral(y, scores):
        room, total = _room_on_stack(), 0.0
        for place, weight in nodes:
            for k in range(len(scores)):
                for j in range(len(scores)):
                    room[j] = place * scores[j]
                at = as_array(room, len(scores))
                total += weight * scores[k] * float(1.0 * gradient(y, at, k))
        return total

    return integral


def by_calculus(functions: Sequence[Any], parts: Sequence[Any], inner: Inner) -> Any:
    """Slopes by the rules of differentiation."""
    value, gradient, given = functions[0], functions[1], parts[1]
    if gradient is not None:
        gradient = inner(gradient)

        def hessian_by_calculus(y, scores, k):
            jet = to_jet(gradient(y, _jets_of(scores, k, _room_on_stack()), k))
            return float(1.0 * given(y, scores, k)), jet.first

        return hessian_by_calculus

    value = inner(value)

    def slopes_by_calculus(y, scores, k):
        jet = to_jet(value(y, _jets_of(scores, k, _room_on_stack())))
        return jet.first, jet.second

    return slopes_by_calculus


@part
def _first_step(score):
    """The step that balances rounding and truncation of a first difference: eps^(1/3)."""
    return 2.0**-17 * choose(abs(score) > 1.0, abs(score), 1.0)


@part
def _second_step(score):
    """The step of five points, near eps^(1/6): both differences are good to about 1e-9."""
    return 2.0**-9 * choose(abs(score) > 16.0, 0.0625 * abs(score), 1.0)


def by_differences(value: Any, gradient: Any, hessian: Any) -> Any:
    """Slopes as they are given; those that are not are made of differences."""
    if gradient is not None and hessian is not None:

        def given(y, scores, k):
            slope = float(1.0 * gradient(y, scores, k))
            return slope, float(1.0 * hessian(y, scores, k))

        return given
    if gradient is not None:

        def of_gradient(y, scores, k):
            slope, score = float(1.0 * gradient(y, scores, k)), scores[k]
            width = _first_step(score)
            scores[k] = score + width
            rise = float(1.0 * gradient(y, scores, k))
            scores[k] = score - width
            rise -= float(1.0 * gradient(y, scores, k))
            return slope, rise / (2.0 * width)

        return of_gradient

    def of_value(y, scores, k):
        middle, score = float(1.0 * value(y, scores)), scores[k]
        width = _second_step(score)
        scores[k] = score - width
        below = float(1.0 * value(y, scores))
        scores[k] = score + width
        above = float(1.0 * value(y, scores))
        scores[k] = score - 2.0 * width
        low = float(1.0 * value(y, scores))
        scores[k] = score + 2.0 * width
        high = float(1.0 * value(y, scores))
        first = (8.0 * (above - below) - (high - low)) / (12.0 * width)
        bend = 16.0 * (above + below) - (high + low) - 30.0 * middle
        return first, bend / (12.0 * width * width)

    return of_value


__all__ = [
    "MOST_SCORES",
    "by_calculus",
    "by_differences",
    "make_own_fill",
    "make_own_measure",
    "own_value",
    "prepare_scores",
]

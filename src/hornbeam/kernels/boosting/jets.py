"""Numbers that carry their first two derivatives, so that a loss is derived by running it.

A jet is the value of an expression in the score, with its first and second derivative by
the score. A user's loss, compiled for jets instead of numbers, computes its gradient and
hessian by the rules of calculus: exact, in one run, and in code as plain as its own.

At a kink, as that of ``abs`` at 0, the derivative is the one towards larger scores.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import float64, types
from numba.core import cgutils
from numba.core.typeconv import Conversion
from numba.extending import (
    intrinsic,
    lower_cast,
    make_attribute_wrapper,
    models,
    overload,
    register_model,
)

from hornbeam.kernels.slopes import choose, exp, log, log1p
from hornbeam.runtime.kernel import part


class JetType(types.Type):  # type: ignore[misc]
    """The type of jets; a number that meets a jet becomes one that does not change."""

    def __init__(self) -> None:
        super().__init__(name="Jet")

    def unify(self, typing_context: Any, other: Any) -> Any:
        """What a variable is that is a jet on one way and a number on another."""
        return self if isinstance(other, types.Integer | types.Float) else None

    def can_convert_from(self, typing_context: Any, other: Any) -> Any:
        """Numbers become jets where jets are expected."""
        return Conversion.safe if isinstance(other, types.Integer | types.Float) else None


jet_type = JetType()


@register_model(JetType)
class _JetModel(models.StructModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        members = [("value", float64), ("first", float64), ("second", float64)]
        super().__init__(manager, kind, members)


for _name in ("value", "first", "second"):
    make_attribute_wrapper(JetType, _name, _name)


def _build(context: Any, builder: Any, *parts: Any) -> Any:
    jet = cgutils.create_struct_proxy(jet_type)(context, builder)
    jet.value, jet.first, jet.second = parts
    return jet._getvalue()


@intrinsic
def make_jet(typing_context: Any, value: Any, first: Any, second: Any) -> Any:
    """A jet of its three parts."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _build(context, builder, *args)

    return jet_type(float64, float64, float64), generate


@lower_cast(types.Float, JetType)
@lower_cast(types.Integer, JetType)
def _number_to_jet(context: Any, builder: Any, fromty: Any, toty: Any, number: Any) -> Any:
    value = context.cast(builder, number, fromty, float64)
    zero = builder.fmul(value, ir.Constant(ir.DoubleType(), 0.0))  # NaN has no derivatives
    return _build(context, builder, value, zero, zero)


_OPTIONS = {"error_model": "numpy", "nogil": True, "forceinline": True}


def _is_jet(kind: Any) -> bool:
    return isinstance(kind, JetType)


def _is_number(kind: Any) -> bool:
    return isinstance(kind, types.Integer | types.Float)


def to_jet(x):
    """A number, or a jet, as a jet."""
    raise NotImplementedError


@overload(to_jet, jit_options=_OPTIONS)
def _to_jet(x):
    if _is_jet(x):
        return lambda x: x
    if _is_number(x):
        return lambda x: make_jet(float64(x), 0.0 * x, 0.0 * x)  # NaN has no derivatives
    return None


# --- rules ---------------------------------------------------------------------------------


@part
def _chain(x, value, first, second):
    """The jet of f(x) from f, f' and f'' at the value of x."""
    return make_jet(value, first * x.first, second * x.first * x.first + first * x.second)


@part
def _add(a, b):
    return make_jet(a.value + b.value, a.first + b.first, a.second + b.second)


@part
def _subtract(a, b):
    return make_jet(a.value - b.value, a.first - b.first, a.second - b.second)


@part
def _multiply(a, b):
    second = a.second * b.value + 2.0 * a.first * b.first + a.value * b.second
    return make_jet(a.value * b.value, a.first * b.value + a.value * b.first, second)


@part
def _scale(a, factor):
    return make_jet(a.value * factor, a.first * factor, a.second * factor)


@part
def _invert(a):
    inverse = 1.0 / a.value
    square = inverse * inverse
    return _chain(a, inverse, -square, 2.0 * square * inverse)


@part
def _exp(x):
    value = exp(x.value)
    return _chain(x, value, value, value)


@part
def _log(x):
    inverse = 1.0 / x.value
    return _chain(x, log(x.value), inverse, -inverse * inverse)


@part
def _log1p(x):
    inverse = 1.0 / (1.0 + x.value)
    return _chain(x, log1p(x.value), inverse, -inverse * inverse)


@part
def _sqrt(x):
    root = math.sqrt(x.value)
    return _chain(x, root, 0.5 / root, -0.25 / (root * x.value))


@part
def _tanh(x):
    value = math.tanh(x.value)
    rise = 1.0 - value * value
    return _chain(x, value, rise, -2.0 * value * rise)


@part
def _sinh(x):
    value, rise = math.sinh(x.value), math.cosh(x.value)
    return _chain(x, value, rise, value)


@part
def _cosh(x):
    value, rise = math.cosh(x.value), math.sinh(x.value)
    return _chain(x, value, rise, value)


@part
def _sin(x):
    value = math.sin(x.value)
    return _chain(x, value, math.cos(x.value), -value)


@part
def _cos(x):
    value = math.cos(x.value)
    return _chain(x, value, -math.sin(x.value), -value)


@part
def _square(x):
    return _chain(x, x.value * x.value, 2.0 * x.value, 2.0)


@part
def _power(x, exponent):
    """The power x^c; its second derivative is 0 for c = 1, also where x is 0."""
    value, first = x.value**exponent, exponent * x.value ** (exponent - 1.0)
    bend = exponent * (exponent - 1.0)
    second = choose(bend == 0.0, 0.0, bend * x.value ** (exponent - 2.0))
    return _chain(x, value, choose(exponent == 0.0, 0.0, first), second)


@part
def _absolute(x):
    rises = (x.value > 0.0) | ((x.value == 0.0) & (x.first >= 0.0))
    return _scale(x, choose(rises, 1.0, -1.0))


@part
def _pick(condition, a, b):
    return make_jet(
        choose(condition, a.value, b.value),
        choose(condition, a.first, b.first),
        choose(condition, a.second, b.second),
    )


@part
def _larger(a, b):
    return _pick((a.value > b.value) | ((a.value == b.value) & (a.first >= b.first)), a, b)


@part
def _smaller(a, b):
    return _pick((a.value < b.value) | ((a.value == b.value) & (a.first <= b.first)), a, b)


# --- which function of Python has which rule -------------------------------------------------

_UNARY: dict[Any, tuple[Callable[..., Any], ...]] = {
    _exp: (math.exp, np.exp),
    _log: (math.log, np.log),
    _log1p: (math.log1p, np.log1p),
    _sqrt: (math.sqrt, np.sqrt),
    _tanh: (math.tanh, np.tanh),
    _sinh: (math.sinh, np.sinh),
    _cosh: (math.cosh, np.cosh),
    _sin: (math.sin, np.sin),
    _cos: (math.cos, np.cos),
    _absolute: (abs, math.fabs, np.abs, np.fabs),
    _square: (np.square,),
}
_BINARY: dict[Any, tuple[Callable[..., Any], ...]] = {
    _add: (operator.add, operator.iadd),
    _subtract: (operator.sub, operator.isub),
    _larger: (max, np.maximum),
    _smaller: (min, np.minimum),
}


def _declare_unary(rule: Any, function: Callable[..., Any]) -> None:
    @overload(function, jit_options=_OPTIONS)
    def of_jet(x):
        return (lambda x: rule(x)) if _is_jet(x) else None


def _declare_binary(rule: Any, function: Callable[..., Any]) -> None:
    @overload(function, jit_options=_OPTIONS)
    def of_jets(a, b):
        if not (_is_jet(a) or _is_jet(b)):
            return None
        return lambda a, b: rule(to_jet(a), to_jet(b))


def _declare_comparison(compare: Callable[..., Any]) -> None:
    @overload(compare, jit_options=_OPTIONS)
    def of_jets(a, b):
        if not (_is_jet(a) or _is_jet(b)):
            return None
        return lambda a, b: compare(to_jet(a).value, to_jet(b).value)


for _rule, _functions in _UNARY.items():
    for _function in _functions:
        _declare_unary(_rule, _function)
for _rule, _functions in _BINARY.items():
    for _function in _functions:
        _declare_binary(_rule, _function)
for _compare in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
    _declare_comparison(_compare)


@overload(operator.neg, jit_options=_OPTIONS)
def _negative(x):
    return (lambda x: _scale(x, -1.0)) if _is_jet(x) else None


@overload(operator.pos, jit_options=_OPTIONS)
def _positive(x):
    return (lambda x: x) if _is_jet(x) else None


@overload(operator.mul, jit_options=_OPTIONS)
@overload(operator.imul, jit_options=_OPTIONS)
def _product(a, b):
    if _is_jet(a) and _is_jet(b):
        return lambda a, b: _multiply(a, b)
    if _is_jet(a) and _is_number(b):
        return lambda a, b: _scale(a, float64(b))
    if _is_number(a) and _is_jet(b):
        return lambda a, b: _scale(b, float64(a))
    return None


@overload(operator.truediv, jit_options=_OPTIONS)
@overload(operator.itruediv, jit_options=_OPTIONS)
def _quotient(a, b):
    if _is_jet(a) and _is_jet(b):
        return lambda a, b: _multiply(a, _invert(b))
    if _is_jet(a) and _is_number(b):
        return lambda a, b: _scale(a, 1.0 / float64(b))
    if _is_number(a) and _is_jet(b):
        return lambda a, b: _scale(_invert(b), float64(a))
    return None


def _raised(a, b):
    if _is_jet(a) and isinstance(b, types.IntegerLiteral) and b.literal_value == 2:
        return lambda a, b: _square(a)
    if _is_jet(a) and _is_number(b):
        return lambda a, b: _power(a, float64(b))
    if _is_jet(b) and (_is_jet(a) or _is_number(a)):
        return lambda a, b: _exp(_multiply(b, _log(to_jet(a))))
    return None


for _function in (operator.pow, math.pow, np.power):
    overload(_function, jit_options=_OPTIONS, prefer_literal=True)(_raised)


@overload(np.where, jit_options=_OPTIONS)
def _where(condition, a, b):
    if isinstance(condition, types.Boolean) and (_is_jet(a) or _is_jet(b)):
        return lambda condition, a, b: _pick(condition, to_jet(a), to_jet(b))
    return None


__all__ = ["jet_type", "make_jet", "to_jet"]

"""Kernels compiled with fewer passes compute what Numba makes of the same functions."""

from __future__ import annotations

import copy

import numba
import numpy as np
from numba.core import ir

from hornbeam.runtime.kernel import inlined, jitted
from hornbeam.runtime.passes import KernelCompiler, _FreshBlock


def bend(x, least):
    if x < least:
        return least - x
    return 2.0 * x


def bend_twice(x, least):
    return bend(bend(x, least), least + 1)


bend_inlined = inlined(bend)


def bend_inlined_twice(x, least):
    return bend_inlined(bend_inlined(x, least), least + 1)


inner = inlined(bend_inlined_twice)


def add_up(values):
    total = 0.0
    for i in range(len(values)):
        total += inner(values[i], 1) - inner(total, 0.5)
    return total


def test_functions_within_functions_are_computed_as_python_does() -> None:
    values = np.random.default_rng(0).normal(size=40)
    total = 0.0
    for value in values:
        total += bend_twice(value, 1) - bend_twice(total, 0.5)
    ours, numbas = jitted(add_up), numba.njit(error_model="numpy")(add_up)
    assert ours(values) == numbas(values) == total
    assert ours._compiler.pipeline_class is KernelCompiler


def test_code_that_was_read_for_one_call_is_not_copied() -> None:
    block = ir.Block(ir.Scope(None, ir.Loc("nowhere", 1)), ir.Loc("nowhere", 1))
    assert copy.deepcopy(block) is not block
    block.__class__ = _FreshBlock
    assert copy.deepcopy(block) is block

"""What the integers of a tree are worth: gradients and hessians are rounded to them."""

from __future__ import annotations

from typing import Any

import numpy as np

from hornbeam.dtypes import STAT, Array
from hornbeam.kernels.boosting import state as s
from hornbeam.kernels.slopes import SlopePeak

_LEAST_HESSIAN_BITS = 15
_MOST_GRADIENT_BITS = 30
_LEAST_BITS = 4  # of the hessian of a row of usual weight, or units are chosen more finely
TOO_HEAVY = (
    "One row weighs so much more than others that all must be seen together, but the rows of this "
    "table are in several parts: give such rows less weight, or learn from one part."
)


def choose_units(
    peak: SlopePeak, slope: Array | None, n_rows: int, equal_hessians: bool, heaviest: float
) -> s.BoostUnits:
    """Choose what one unit of a gradient and of a hessian is worth, and the lanes.

    The sums of as many rows as a tile can hold must fit into a word of 64 bits: those of
    the hessians into the lane, those of the gradients and a sign into the rest. Where all
    hessians are equal, they are just 1. As a rule, as many rows with the largest slopes as
    there are would fit. Where a few rows weigh so much that little would be left of the others,
    it is their sums that must fit, which leaves more bits to each row.
    """
    row_bits = min(n_rows, s.FLUSH_ROWS).bit_length()
    spare = 62 - 2 * row_bits
    hessian_bits = 1 if equal_hessians else max(_LEAST_HESSIAN_BITS, spare // 2 - 1)
    gradient_bits = min(_MOST_GRADIENT_BITS, spare - hessian_bits)
    gradient_unit = unit(peak.gradient, gradient_bits)
    hessian_unit = peak.hessian if equal_hessians else unit(peak.hessian, hessian_bits)
    if not equal_hessians and heaviest > 2.0 ** (hessian_bits - _LEAST_BITS):
        if slope is None:  # of all rows, which are in several parts
            raise ValueError(TOO_HEAVY)
        gradients, hessians = np.abs(slope).reshape(-1, 2).sum(axis=0, dtype=STAT)
        gradient_unit = min(gradient_unit, unit(gradients, row_bits + gradient_bits - 1))
        hessian_unit = min(hessian_unit, unit(hessians, row_bits + hessian_bits - 1))
    return make_units(gradient_unit, hessian_unit, row_bits + hessian_bits)


def make_units(gradient: float, hessian: float, lane: int = 0) -> s.BoostUnits:
    """What integers are worth, and what slopes are multiplied with to become integers."""
    return s.BoostUnits(
        lane=lane,
        gradient=gradient,
        hessian=hessian,
        gradient_scale=1 / gradient,
        hessian_scale=1 / hessian,
    )


def unit(largest: Any, bits: int) -> float:
    """The power of two that brings the largest number just below ``2**bits``."""
    if largest <= 0.0:
        return 1.0
    exponent = int(np.frexp(float(largest))[1])  # largest < 2**exponent
    return float(2.0 ** (exponent - bits))

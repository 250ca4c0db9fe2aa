"""Entropies in fixed point, so that no result depends on the order of additions.

A scan moves weight from one side of a cut to the other and keeps the sums of
x * log2(x) up to date. In floating point the rounding errors of a million steps would
add up and two cuts of equal worth would differ; integers add exactly.
"""

from __future__ import annotations

import math

from numba import int64

from hornbeam.runtime.kernel import part

TIE = 1e-10  # gains (in bits) closer than this are equal: the first one wins
LEAST = 1e-9  # weights closer than this are equal


@part
def lift(x, scale):
    """Return x * log2(x) in fixed point."""
    if x <= 0.0:
        return int64(0)
    return int64(math.floor(x * math.log2(x) * scale + 0.5))


@part
def bits(x):
    """Return x * log2(x)."""
    return x * math.log2(x) if x > 0.0 else 0.0


@part
def split_info(total, left, right, unknown):
    """Entropy of a binary split, the missing values being a third part."""
    return (bits(total) - bits(left) - bits(right) - bits(unknown)) / total

"""Random numbers from a counter instead of a stream.

A draw is a hash of (seed, tree, node, counter), so it does not depend on how many
threads there are, which of them asks first, or what was drawn before.
"""

from __future__ import annotations

from numba import float64, int64, uint64

from hornbeam.runtime.kernel import part

_GOLDEN = 0x9E3779B97F4A7C15


@part
def mix(bits):
    """Scramble 64 bits (the finaliser of SplitMix64)."""
    bits = uint64(bits)
    bits = (bits ^ (bits >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> uint64(27))) * uint64(0x94D049BB133111EB)
    return bits ^ (bits >> uint64(31))


@part
def derive(key, number):
    """A key for the part with this number: a tree of a forest, a branch of a node."""
    return mix(uint64(key) + (uint64(number) + uint64(1)) * uint64(_GOLDEN))


@part
def derive_for_feature(key, feature):
    """A key for a node's draws on one feature.

    Branches count from 0 up, so features count from -1 down: a cut must not be drawn with
    the numbers that a child of the node draws with.
    """
    return derive(key, -1 - int64(feature))


@part
def draw_below(key, counter, limit):
    """A whole number from 0 to limit - 1 (limit below 2**32)."""
    high = derive(key, counter) >> uint64(32)
    return int64((high * uint64(limit)) >> uint64(32))


@part
def draw_unit(key, counter):
    """A number from [0, 1) with 53 random bits."""
    return float64(derive(key, counter) >> uint64(11)) * (1.0 / 9007199254740992.0)

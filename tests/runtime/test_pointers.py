"""Arrays as NamedTuples of pointers: what arrives in a kernel is what was sent."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import pytest

from hornbeam.runtime.kernel import BOUNDS_CHECK, specialise
from hornbeam.runtime.pointers import (
    ELEMENTS,
    F4,
    F8,
    I4,
    I8,
    U1,
    U4,
    U8,
    as_array,
    make_loader,
    make_slots,
    new_arrays,
    slot_count,
)

pytestmark = pytest.mark.quick

# The cache knows the sources of the package only, so kernels of tests must not be kept.
not_stored = partial(specialise, variant=None)


class Few(NamedTuple):
    weight: F8
    count: I4


class All(NamedTuple):
    small: U1
    signed: I4
    rank: U4
    whole: I8
    bits: U8
    single: F4
    real: F8


load_few, load_all = make_loader(Few), make_loader(All)


@not_stored
def change(slots, first):
    few, every = load_few(slots, 0), load_all(slots, first)
    for i in range(3):
        few.weight[i] += 0.5
        few.count[i] -= 1
    every.small[0], every.signed[0], every.rank[0] = 255, -(2**31), 2**32 - 1
    every.whole[0], every.single[0], every.real[0] = -(2**62), 0.25, -1.5
    every.bits[0] = every.bits[1] >> 1


@not_stored
def sum_behind_pointer(slots):
    values = as_array(load_few(slots, 0).weight, 2)
    return values[0] + values[1], len(values)


def few() -> Few:
    return Few(np.arange(3.0), np.arange(3, dtype=np.int32))


def test_kernels_write_where_the_arrays_are() -> None:
    one, other = few(), new_arrays(All, dict.fromkeys(All._fields, 2))
    other.bits[1] = 2**64 - 1
    slots = make_slots(one, other)
    assert len(slots) == slot_count([Few, All]) == 18
    assert slots[1::2].tolist() == [3, 3] + [2] * 7
    change(slots, slot_count([Few]))
    assert one.weight.tolist() == [0.5, 1.5, 2.5] and one.count.tolist() == [-1, 0, 1]
    assert [array[0] for array in other] == [
        255, -(2**31), 2**32 - 1, -(2**62), 2**63 - 1, 0.25, -1.5
    ]  # fmt: skip
    assert [array[1] for array in other] == [0, 0, 0, 0, 2**64 - 1, 0.0, 0.0]


def test_pointers_as_arrays() -> None:
    assert sum_behind_pointer(make_slots(few())) == (1.0, 2)


def test_new_arrays_are_zero_and_of_the_right_type() -> None:
    arrays = new_arrays(All, dict(zip(All._fields, range(7), strict=True)))
    assert [array.size for array in arrays] == list(range(7))
    assert not any(array.any() for array in arrays)
    assert [str(array.dtype) for array in arrays] == [str(kind) for kind in ELEMENTS.values()]


@pytest.mark.parametrize(
    "wrong",
    [
        np.arange(3.0, dtype=np.float32),
        np.arange(3),
        np.arange(3.0).astype(">f8"),
        np.arange(6.0)[::2],
        np.arange(3.0)[::-1],
        np.asfortranarray(np.ones((3, 2))),
    ],
    ids=["float32", "int64", "big endian", "strided", "reversed", "Fortran"],
)
def test_wrong_arrays_are_refused(wrong: np.ndarray) -> None:
    with pytest.raises(TypeError, match="weight must be a contiguous array of float64"):
        make_slots(few()._replace(weight=wrong))


def test_a_missing_array_is_refused() -> None:
    with pytest.raises((AttributeError, TypeError)):
        make_slots(few()._replace(weight=None))


@not_stored
def read_beyond(slots):
    return load_few(slots, 0).weight[3]


@pytest.mark.skipif(not BOUNDS_CHECK, reason="only with HORNBEAM_BOUNDSCHECK=1")
def test_reading_beyond_the_end_is_noticed() -> None:
    with pytest.raises(IndexError):
        read_beyond(make_slots(few()))

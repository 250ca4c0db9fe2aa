"""NamedTuples as views: what arrives in a kernel is what was sent."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import pytest
from numba import boolean, float64, int32, int64, uint64
from numba.core.errors import NumbaError

from hornbeam.runtime.kernel import BOUNDS_CHECK, specialise, step
from hornbeam.runtime.pointers import ELEMENTS, F4, F8, I4, I8, SLOTS, U1, U4, U8, as_array, bare
from hornbeam.runtime.views import (
    Bits,
    Slots,
    StepArray,
    ViewArray,
    declared_signatures,
    make_loader,
    make_slots,
    new_arrays,
    read_notes,
    remembered_slots,
    set_fields,
    signature_of,
    width_of,
    written,
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
    assert len(slots) == width_of(Few, All) == 18
    assert slots[1::2].tolist() == [3, 3] + [2] * 7
    change(slots, width_of(Few))
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


# --- numbers, parts and steps -----------------------------------------------------------


class Judge(Protocol):
    """A step that says whether a value is enough."""

    def __call__(self, slots: Slots, value: float) -> bool: ...


class Count(Protocol):
    """A step with a whole number as its result."""

    def __call__(self, slots: Slots, first: int, word: Bits) -> int: ...


class Settings(NamedTuple):
    least: float
    size: int
    word: Bits
    yes: bool
    no: bool


class Whole(NamedTuple):
    weight: F8
    settings: Settings
    judge: Judge | None
    other: Judge | None
    count: StepArray[Count]


@written
class Notes(NamedTuple):
    best: float
    place: int
    found: bool


load_whole, load_notes = make_loader(Whole), make_loader(Notes)
stored_nowhere = partial(step, variant=None)


@stored_nowhere(Judge)
def is_enough(slots, value):
    return value >= load_whole(slots, 0).settings.least


@stored_nowhere(Count)
def add(slots, first, word):
    return first + int64(word >> uint64(60)) + load_whole(slots, 0).settings.size


@stored_nowhere(Count)
def negate(slots, first, word):
    return -first


@not_stored
def ask(slots, out):
    slots = bare(slots)
    whole, notes = load_whole(slots, 0), load_notes(slots, NOTES_AT)
    settings = whole.settings
    out[0] = settings.least
    out[1] = settings.size
    out[2] = settings.word >> uint64(1)
    out[3], out[4] = settings.yes, settings.no
    out[5], out[6] = whole.judge(slots, 2), whole.judge(slots, 0.25)  # 2 becomes 2.0
    out[7], out[8] = bool(whole.judge), bool(whole.other)
    number = int32(7)
    for k in range(3):
        out[9 + k] = whole.count[k](slots, number, settings.word)
    if not notes.found:
        notes.best = whole.weight[1]
        notes.place += 1
        notes.found = notes.place > 1
    out[12] = notes.best


NOTES_AT = width_of(Whole)


def whole(**changes: Any) -> Whole:
    settings = Settings(0.5, -3, 2**64 - 1, True, False)
    steps = StepArray([add, negate], np.array([1, 0, 1]))
    return Whole(np.arange(3.0), settings, is_enough, None, steps)._replace(**changes)


def test_numbers_parts_and_steps_arrive() -> None:
    group, out = whole(), np.full(13, np.nan)
    slots = make_slots(group, Notes(-np.inf, 0, False))
    assert len(slots) == width_of(Whole, Notes) == 2 + 5 + 1 + 1 + 2 + 3
    ask(slots, out)
    assert out.tolist() == [0.5, -3, 2.0**63, 1, 0, 1, 0, 1, 0, -7, 7 + 15 - 3, -7, 1.0]


class Span(NamedTuple):
    first: int
    is_last: bool
    last: int


load_span = make_loader(Span)


@not_stored
def length_of(slots):
    span = load_span(slots, 0)
    return span.last - span.first, span.is_last


def test_slots_of_whole_numbers_are_remembered() -> None:
    slots = remembered_slots(Span, np.int64(3), True, 2**40)
    assert slots.tolist() == [3, 1, 2**40] and length_of(slots) == (2**40 - 3, True)
    assert remembered_slots(Span, 3, True, 2**40) is slots
    assert remembered_slots(Span, 3, False, 2**40).tolist() == [3, 0, 2**40]


def test_what_a_thread_notes_stays_in_its_slots() -> None:
    group, out = whole(), np.zeros(13)
    slots = make_slots(group, Notes(-np.inf, 0, False))
    for place in (1, 2, 2):
        ask(slots, out)
        assert slots[NOTES_AT + 1 :].tolist() == [place, place > 1]
    assert slots[NOTES_AT : NOTES_AT + 1].view(float).tolist() == [1.0]


def test_notes_are_read_by_python() -> None:
    notes = Notes(-0.25, -7, True)
    slots = make_slots(whole(), notes)
    assert read_notes(slots, NOTES_AT, Notes) == notes
    ask(slots, np.zeros(13))  # something was found, so nothing is noted
    assert read_notes(slots, NOTES_AT, Notes) == notes
    settings = whole().settings
    assert read_notes(make_slots(settings), 0, Settings) == settings


def test_what_is_no_array_is_given_beside_the_lengths() -> None:
    settings, steps = whole().settings, StepArray([add])
    group = new_arrays(Whole, {"weight": 3}, settings=settings, judge=None, other=None, count=steps)
    assert group == Whole(group.weight, settings, None, None, steps)
    assert group.weight.tolist() == [0.0, 0.0, 0.0]


def test_single_fields_are_written_anew() -> None:
    group, out = whole(), np.zeros(13)
    slots = make_slots(group, Notes(0.0, 0, True))
    settings = group.settings._replace(least=9.0, yes=False)
    set_fields(slots, 0, Whole, settings=settings, other=is_enough, weight=np.arange(5.0))
    ask(slots, out)
    assert out[[0, 3, 5, 8]].tolist() == [9.0, 0, 0, 1] and slots[1] == 5


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"judge": add}, "judge must be a step of Judge, got one of .*Count"),
        ({"count": StepArray([add, is_enough])}, "count must be a step of Count, got .*Judge"),
        ({"settings": Notes(0.0, 0, True)}, "settings must be of Settings, got Notes"),
        ({"weight": np.zeros(3, np.float32)}, "weight must be a contiguous array of float64"),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(TypeError, match=sentence):
        make_slots(whole(**changes))


@not_stored
def write_a_setting(slots):
    load_whole(slots, 0).settings.size = 1


@not_stored
def call_with_too_little(slots):
    return load_whole(slots, 0).judge(bare(slots))


@not_stored
def read_what_is_not_there(slots):
    return load_whole(slots, 0).settings.least_rows


@pytest.mark.parametrize("wrong", [write_a_setting, call_with_too_little, read_what_is_not_there])
def test_mistakes_are_found_when_kernels_are_compiled(wrong: Any) -> None:
    with pytest.raises(NumbaError):
        wrong(make_slots(whole()))


def test_signatures_are_those_that_are_declared() -> None:
    assert signature_of(Count) == int64(SLOTS, int64, uint64)
    assert declared_signatures([is_enough]) == [(is_enough, boolean(SLOTS, float64))]


# --- many views of one kind ---------------------------------------------------------------


class Shelf(NamedTuple):
    number: int
    weight: F8


class House(NamedTuple):
    n_shelves: int
    shelves: ViewArray[Shelf]
    total: F8


load_house = make_loader(House)


@not_stored
def weigh_house(slots):
    house = load_house(slots, 0)
    for i in range(house.n_shelves):
        shelf = house.shelves[i]
        house.total[0] += shelf.number * shelf.weight[i]


def test_views_are_found_by_their_number() -> None:
    shelves = [Shelf(10**i, np.arange(3.0)) for i in range(3)]
    house = House(3, ViewArray(shelves), np.zeros(1))
    slots = make_slots(house)
    assert len(slots) == width_of(House) == 4
    weigh_house(slots)
    assert house.total.tolist() == [210.0]
    set_fields(house.shelves.slots, width_of(Shelf), Shelf, number=0)
    weigh_house(slots)
    assert house.total.tolist() == [210.0 + 200.0]


def test_views_of_another_kind_are_refused() -> None:
    with pytest.raises(TypeError, match="shelves must be of Shelf, got Few"):
        make_slots(House(1, ViewArray([few()]), np.zeros(1)))

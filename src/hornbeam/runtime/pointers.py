"""Hand many arrays to a kernel as NamedTuples of bare pointers.

Numba passes an array as seven words and counts references to it; a kernel that works on
fifty arrays would spend seconds in compilation and nanoseconds per call on that alone.
So the addresses of the arrays go into one int64 array of slots, and inside the kernel

    nodes = load_nodes(slots, 0)
    nodes.weight[node] += 1.0

reads them back as a NamedTuple of typed pointers, one word each. With bounds checking
on, the same source gets arrays of the right length instead.

The NamedTuple's annotations name the element types::

    class Nodes(NamedTuple):
        weight: F8
        first: I4
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np import arrayobj

from hornbeam.dtypes import Array
from hornbeam.runtime.kernel import BOUNDS_CHECK

ELEMENTS = {
    "U1": types.uint8,
    "I4": types.int32,
    "U4": types.uint32,
    "I8": types.int64,
    "U8": types.uint64,
    "F4": types.float32,
    "F8": types.float64,
}
_NUMPY = {name: np.dtype(str(element)) for name, element in ELEMENTS.items()}
# Annotations only; inside a kernel the fields are pointers.
U1: TypeAlias = Array
I4: TypeAlias = Array
U4: TypeAlias = Array
I8: TypeAlias = Array
U8: TypeAlias = Array
F4: TypeAlias = Array
F8: TypeAlias = Array


@cache
def _kinds(group: Any) -> dict[str, str]:
    """Field name -> name of its element type."""
    return {
        name: getattr(kind, "__forward_arg__", kind) for name, kind in group.__annotations__.items()
    }


def make_slots(*groups: Any) -> Array:
    """Addresses and lengths of all arrays of some NamedTuples: (address, length) pairs."""
    slots = []
    for group in groups:
        for (name, kind), array in zip(_kinds(group.__class__).items(), group, strict=True):
            if array.dtype != _NUMPY[kind] or not array.flags.c_contiguous:
                raise TypeError(f"{name} must be a contiguous array of {_NUMPY[kind]}")
            slots += [array.ctypes.data, array.size]
    return np.array(slots, np.int64)


def new_arrays(group: Any, lengths: dict[str, int]) -> Any:
    """A NamedTuple of this class with zeroed arrays of the given lengths."""
    kinds = _kinds(group)
    return group(*(np.zeros(lengths[name], _NUMPY[kinds[name]]) for name in group._fields))


def slot_count(groups: Sequence[type]) -> int:
    """How many slots NamedTuples of these classes take."""
    return 2 * sum(len(group.__annotations__) for group in groups)


def make_loader(group: Any) -> Any:
    """An intrinsic ``load(slots, first)`` that reads a NamedTuple of pointers."""
    elements = [ELEMENTS[kind] for kind in _kinds(group).values()]
    if BOUNDS_CHECK:
        fields = [types.Array(element, 1, "C") for element in elements]
    else:
        fields = [types.CPointer(element) for element in elements]
    result = types.NamedTuple(fields, group)

    @intrinsic
    def load(typing_context: Any, slots: Any, first: Any) -> Any:
        signature = result(slots, types.int64)

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            data = _data(context, builder, sig.args[0], args[0])
            values = []
            for number, (field, element) in enumerate(zip(fields, elements, strict=True)):
                place = builder.add(args[1], ir.Constant(ir.IntType(64), 2 * number))
                address = builder.load(builder.gep(data, [place]))
                kind = context.get_data_type(element).as_pointer()
                pointer = builder.inttoptr(address, kind)
                if BOUNDS_CHECK:
                    place = builder.add(place, ir.Constant(ir.IntType(64), 1))
                    length = builder.load(builder.gep(data, [place]))
                    pointer = _array(context, builder, field, pointer, length)
                values.append(pointer)
            return context.make_tuple(builder, sig.return_type, values)

        return signature, generate

    return load


def _array(context: Any, builder: Any, kind: Any, pointer: Any, length: Any) -> Any:
    """An array of known length on memory that somebody else owns."""
    array = context.make_array(kind)(context, builder)
    size = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    item = context.get_constant(types.intp, size)
    arrayobj.populate_array(
        array, data=pointer, shape=[length], strides=[item], itemsize=item, meminfo=None
    )
    return array._getvalue()


@intrinsic
def as_array(typing_context: Any, pointer: Any, length: Any) -> Any:
    """The first ``length`` elements behind a pointer, as an array that owns nothing."""
    result = types.Array(pointer.dtype, 1, "C")
    signature = result(pointer, types.int64)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = _data(context, builder, sig.args[0], args[0])
        return _array(context, builder, sig.return_type, data, args[1])

    return signature, generate


def _data(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """Address of the first element of an array, or what a bare pointer points to."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, array).data
    return array


def pointer_type(element: Any) -> Any:
    """The type that stands for an array of these elements in a kernel's signature."""
    return types.Array(element, 1, "C") if BOUNDS_CHECK else types.CPointer(element)


SLOTS = pointer_type(types.int64)


@intrinsic
def bare(typing_context: Any, slots: Any) -> Any:
    """Slots without the array around them: nobody counts references to a pointer.

    A kernel that gets its slots from Python begins with this. Otherwise every call of
    another kernel would count up and down, which is an atomic operation each.
    """
    signature = SLOTS(slots)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if BOUNDS_CHECK:
            context.nrt.incref(builder, sig.args[0], args[0])
            return args[0]
        return _data(context, builder, sig.args[0], args[0])

    return signature, generate


__all__ = [
    "F4",
    "F8",
    "I4",
    "I8",
    "SLOTS",
    "U1",
    "U4",
    "U8",
    "as_array",
    "bare",
    "make_loader",
    "make_slots",
    "new_arrays",
    "pointer_type",
    "slot_count",
]

"""Hand many arrays to a kernel as NamedTuples of bare pointers.

Numba passes an array as seven words and counts references to it; a kernel that works on
fifty arrays would spend seconds in compilation and nanoseconds per call on that alone.
So the addresses of the arrays go into one int64 array of slots, and inside the kernel

    nodes = load_nodes(slots, 0)
    nodes.weight[node] += 1.0

is a view of them: one word, the place among the slots. Reading a field of it reads its
pointer from there. Nobody writes to the slots while a kernel runs, and the loads say so:
the compiler reads a pointer once and keeps it out of loops. With bounds checking on, the
same source gets arrays of the right length instead.

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
from numba.core import datamodel
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, register_model
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


class View(types.Type):  # type: ignore[misc]
    """The type of what a kernel sees of a NamedTuple of arrays: the address of its first slot."""

    def __init__(self, group: Any) -> None:
        self.group = group
        self.places = {name: place for place, name in enumerate(group._fields)}
        self.fields = {name: pointer_type(ELEMENTS[kind]) for name, kind in _kinds(group).items()}
        super().__init__(name=f"View({group.__module__}.{group.__qualname__})")


@register_model(View)
class _ViewModel(datamodel.models.PrimitiveModel):  # type: ignore[misc]
    """How a view is kept: as a pointer to its slots."""

    def __init__(self, manager: Any, view: Any) -> None:
        super().__init__(manager, view, ir.IntType(64).as_pointer())


@infer_getattr
class _ViewAttribute(AttributeTemplate):  # type: ignore[misc]
    """A field of a view is a pointer (or an array, with bounds checks)."""

    key = View

    def generic_resolve(self, view: Any, name: str) -> Any:
        """Return the type of a field, None if there is none of this name."""
        return view.fields.get(name)


@lower_getattr_generic(View)
def _read_field(context: Any, builder: Any, view: Any, slots: Any, name: str) -> Any:
    """Read the pointer of a field, and its length if accesses are checked."""
    field = view.fields[name]
    address = _read(builder, slots, 2 * view.places[name])
    pointer = builder.inttoptr(address, context.get_data_type(field.dtype).as_pointer())
    if not BOUNDS_CHECK:
        return pointer
    length = _read(builder, slots, 2 * view.places[name] + 1)
    return _array(context, builder, field, pointer, length)


def _read(builder: Any, slots: Any, place: int) -> Any:
    """A slot that does not change while the kernel runs."""
    word = builder.load(builder.gep(slots, [ir.Constant(ir.IntType(64), place)], inbounds=True))
    word.set_metadata("invariant.load", builder.module.add_metadata([]))
    return word


def make_loader(group: Any) -> Any:
    """An intrinsic ``load(slots, first)``: a view of the NamedTuple whose slots begin there."""
    result = View(group)

    @intrinsic
    def load(typing_context: Any, slots: Any, first: Any) -> Any:
        signature = result(slots, types.int64)

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            data = data_of(context, builder, sig.args[0], args[0])
            return builder.gep(data, [args[1]])

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
        data = data_of(context, builder, sig.args[0], args[0])
        return _array(context, builder, sig.return_type, data, args[1])

    return signature, generate


def data_of(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """Address of the first element of an array, or what a bare pointer points to."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, array).data
    return array


def pointer_type(element: Any) -> Any:
    """The type that stands for an array of these elements in a kernel's signature."""
    return types.Array(element, 1, "C") if BOUNDS_CHECK else types.CPointer(element)


SLOTS = pointer_type(types.int64)


@intrinsic
def bare(typing_context: Any, array: Any) -> Any:
    """The elements of an array without the array around them; with bounds checks, the array.

    Nobody counts references to a pointer, and there is no negative index to test for. A
    kernel that gets its slots from Python begins with this: otherwise every call of another
    kernel would count up and down, which is an atomic operation each.
    """
    signature = (array if BOUNDS_CHECK else types.CPointer(array.dtype))(array)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if BOUNDS_CHECK:  # it has an owner more then
            return impl_ret_borrowed(context, builder, sig.return_type, args[0])
        return data_of(context, builder, sig.args[0], args[0])

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
    "data_of",
    "make_loader",
    "make_slots",
    "new_arrays",
    "pointer_type",
    "slot_count",
]

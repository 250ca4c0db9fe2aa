"""Bare pointers in place of arrays: what kernels hand one another costs no counting.

Numba passes an array as seven words and counts references to it. A pointer is one word, and
nobody counts it. With bounds checking on, the same source gets arrays of the right length.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numba import types
from numba.core.imputils import impl_ret_borrowed
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
NUMPY_TYPES = {name: np.dtype(str(element)) for name, element in ELEMENTS.items()}
# Annotations only: inside a kernel these are pointers.
U1: TypeAlias = Array
I4: TypeAlias = Array
U4: TypeAlias = Array
I8: TypeAlias = Array
U8: TypeAlias = Array
F4: TypeAlias = Array
F8: TypeAlias = Array


def pointer_type(element: Any) -> Any:
    """The type that stands for an array of these elements in a kernel's signature."""
    return types.Array(element, 1, "C") if BOUNDS_CHECK else types.CPointer(element)


SLOTS = pointer_type(types.int64)


def array_at(context: Any, builder: Any, kind: Any, pointer: Any, length: Any) -> Any:
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
        return array_at(context, builder, sig.return_type, data, args[1])

    return signature, generate


def data_of(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """Address of the first element of an array, or what a bare pointer points to."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, array).data
    return array


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

"""What Numba has no words for: atomics, the barrier, counting bits.

The barrier lets the threads of a team meet inside compiled code. A waiting thread
spins for a moment, then sleeps, so that nothing deadlocks and no core burns when there
are more threads than cores. It does not yield its core: on a busy machine the scheduler
would give that away for milliseconds, while a thread that slept is let in at once.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from hornbeam.runtime.kernel import part

# Layout of the int64 array a team shares. The counters that many threads write lie a
# cache line (8 words) apart.
ARRIVED = 0
GENERATION = 8
STOP = 16
NEXT_TASK = 24
NODE_COUNT = 32
CONTROL = 40
SHARED_WORDS = 64

_SPINS = 2000
_NAP_MICROSECONDS = 50

_IS_X86 = platform.machine().lower() in ("x86_64", "amd64", "i386", "i686")


def _register_nap() -> None:
    """Give the system's sleep call a name that compiled code can link to."""
    if sys.platform == "win32":
        system = ctypes.windll.kernel32  # type: ignore[attr-defined,unused-ignore]
        nap = system.Sleep
    else:
        nap = ctypes.CDLL(None).usleep
    binding.add_symbol("hornbeam_nap", ctypes.cast(nap, ctypes.c_void_p).value)


_register_nap()
_nap = types.ExternalFunction("hornbeam_nap", types.int32(types.uint32))
_NAP = 1 if sys.platform == "win32" else _NAP_MICROSECONDS  # Windows counts milliseconds


def pointer_to(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    """Address of a cell of an array, or of what a bare pointer points to."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, array).data
    return builder.gep(array, [index])


@intrinsic
def atomic_add(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """Add to an int64 cell and return what was there before."""
    signature = types.int64(array, types.int64, types.int64)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = pointer_to(context, builder, sig.args[0], args[0], args[1])
        return builder.atomic_rmw("add", pointer, args[2], "seq_cst")

    return signature, generate


@intrinsic
def atomic_load(typing_context: Any, array: Any, index: Any) -> Any:
    """Read an int64 cell that other threads write."""
    signature = types.int64(array, types.int64)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = pointer_to(context, builder, sig.args[0], args[0], args[1])
        return builder.load_atomic(pointer, "seq_cst", 8)

    return signature, generate


@intrinsic
def atomic_store(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """Write an int64 cell that other threads read."""
    signature = types.void(array, types.int64, types.int64)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = pointer_to(context, builder, sig.args[0], args[0], args[1])
        builder.store_atomic(args[2], pointer, "seq_cst", 8)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def spin_hint(typing_context: Any) -> Any:
    """Tell the processor that this is a waiting loop, where it has a word for that."""
    signature = types.void()

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if _IS_X86:
            kind = ir.FunctionType(ir.VoidType(), [])
            pause = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.sse2.pause")
            builder.call(pause, [])
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Ask the processor to bring a cell into the cache; any index is allowed."""
    signature = types.void(array, types.int64)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = pointer_to(context, builder, sig.args[0], args[0], args[1])
        byte = ir.IntType(8).as_pointer()
        word = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        fetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        read, keep, data = (ir.Constant(word, number) for number in (0, 3, 1))
        builder.call(fetch, [builder.bitcast(pointer, byte), read, keep, data])
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def trailing_zeros(typing_context: Any, bits: Any) -> Any:
    """Number of the lowest bit that is set."""
    signature = types.int64(types.uint64)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return signature, generate


@intrinsic
def count_bits(typing_context: Any, bits: Any) -> Any:
    """How many bits are set."""
    signature = types.int64(types.uint64)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return signature, generate


@part
def claim(words, index, amount, alone):
    """`atomic_add`, or the same without a lock by a thread that is alone with the words."""
    if not alone:
        return atomic_add(words, index, amount)
    before = words[index]
    words[index] = before + amount
    return before


@part
def barrier(shared, size):
    """Wait until all ``size`` threads of the team are here, or somebody says stop."""
    if size == 1:
        return
    generation = atomic_load(shared, GENERATION)
    if atomic_add(shared, ARRIVED, 1) == size - 1:
        atomic_store(shared, ARRIVED, 0)
        atomic_store(shared, GENERATION, generation + 1)
        return
    waited = 0
    while atomic_load(shared, GENERATION) == generation and atomic_load(shared, STOP) == 0:
        waited += 1
        if waited < _SPINS:
            spin_hint()
        else:
            _nap(_NAP)

"""What kernels work on, declared once as NamedTuples and seen from inside by name.

A growing tree works on a hundred arrays, settings and other kernels. Python puts all of them
into one int64 array of slots, and inside a kernel

    problem = load_problem(slots, 0)
    if problem.rules.min_leaf > 1 and problem.steps.settle(slots, node):
        problem.weight[node] += 1.0

is a view of them: one word, the place among the slots. Reading a field reads its slot. Nobody
writes to the slots while a kernel runs, and the loads say so: the compiler reads a slot once
and keeps it out of loops. The annotations of the NamedTuple say what a field is::

    class Rules(NamedTuple):
        min_leaf: int                   # the slot holds the number itself; also float and bool

    class Settle(Protocol):             # a step: a kernel that others call by its address, so
        def __call__(self, slots: Slots, node: int) -> bool: ...    # that it is compiled apart

    class Steps(NamedTuple):
        settle: Settle | None           # in Python a kernel decorated with @step(Settle)
        search: StepArray[Search]       # many of one kind

    class Problem(NamedTuple):
        weight: F8                      # an array: its address and its length
        rules: Rules                    # a part of the view
        pages: ViewArray[Page]          # many views of one kind, by number: problem.pages[2].codes

A NamedTuple that is ``@written`` is a thread's own notes: kernels may assign to its numbers,
which stay in the slots of this thread.
"""

from __future__ import annotations

import operator
import struct
import sys
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils, datamodel
from numba.core.errors import LoweringError
from numba.core.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    Signature,
    infer_global,
    signature,
)
from numba.extending import (
    infer_getattr,
    intrinsic,
    lower_builtin,
    lower_getattr_generic,
    lower_setattr_generic,
    register_model,
)

from hornbeam.dtypes import Array
from hornbeam.runtime.kernel import BOUNDS_CHECK, address_of
from hornbeam.runtime.pointers import (
    ELEMENTS,
    NUMPY_TYPES,
    SLOTS,
    array_at,
    data_of,
    pointer_type,
)

Slots: TypeAlias = Array
Bits: TypeAlias = int  # 64 of them, without a sign
_NUMBERS = {
    "int": types.int64,
    "float": types.float64,
    "bool": types.boolean,
    "Bits": types.uint64,
}
_WORD = ir.IntType(64)
# How `struct` writes a number into its slot.
_IN_SLOT = {
    "int": "q",
    "float": "d",
    "bool": "?7x" if sys.byteorder == "little" else "7x?",
    "Bits": "Q",
}

Declared = TypeVar("Declared")


class StepArray(Generic[Declared]):
    """Kernels of one kind, to be called by number; ``which`` repeats and orders them."""

    def __init__(self, kernels: Sequence[Any], which: Array | None = None) -> None:
        addresses = np.array([step_address(kernel) for kernel in kernels], np.int64)
        self.declared = {kernel.declared for kernel in kernels}
        self.addresses = addresses if which is None else addresses[which]


class ViewArray(Generic[Declared]):
    """NamedTuples of one class, each of which kernels see by its number."""

    def __init__(self, views: Sequence[Declared]) -> None:
        self.views = list(views)
        self.slots = make_slots(*self.views)


def written(group: type[Declared]) -> type[Declared]:
    """Let kernels assign to the numbers of a NamedTuple."""
    group.is_written = True  # type: ignore[attr-defined]
    return group


# --- what annotations say -----------------------------------------------------------


class Field(NamedTuple):
    """A field of a view: its type in kernels, and where its slots are."""

    type: Any
    annotation: Any  # name of the elements, or the class that declares it
    place: int
    width: int  # in slots
    packer: struct.Struct | None  # writes it into slots, if it is a number or made of numbers


class StepType(types.Callable):  # type: ignore[misc]
    """The type of a kernel that is called by its address."""

    def __init__(self, declared: Any) -> None:
        self.declared = declared
        super().__init__(name=f"Step({declared.__module__}.{declared.__qualname__})")

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """The declared signature; arguments are converted to it."""
        declared = signature_of(self.declared)
        if len(args) != len(declared.args) or kws:
            return None
        return Signature(declared.return_type, declared.args, self)

    def get_call_signatures(self) -> Any:
        """What Numba shows in errors."""
        return [signature_of(self.declared)], False

    def get_impl_key(self, sig: Any) -> Any:
        """All steps are called alike."""
        return StepType


class View(types.Type):  # type: ignore[misc]
    """The type of what a kernel sees of a NamedTuple: the address of its first slot."""

    def __init__(self, group: Any) -> None:
        self.group = group
        super().__init__(name=f"View({group.__module__}.{group.__qualname__})")


class ViewsType(types.Type):  # type: ignore[misc]
    """The type of many views of one kind: the address of the first slot of the first of them."""

    def __init__(self, group: Any) -> None:
        self.group = group
        super().__init__(name=f"Views({group.__module__}.{group.__qualname__})")


@cache
def fields_of(group: Any) -> dict[str, Field]:
    """The fields of a NamedTuple, with their places among its slots."""
    fields, place = {}, 0
    for name, annotation in group.__annotations__.items():
        kind, declared = _resolved(getattr(annotation, "__forward_arg__", annotation), group)
        width, packer = 1, _packer((declared,))
        if isinstance(kind, View):
            width, packer = width_of(declared), _packer_of(declared)
        elif isinstance(kind, types.Array | types.CPointer):
            width = 2
        fields[name] = Field(kind, declared, place, width, packer)
        place += width
    return fields


def _packer(kinds: Sequence[Any]) -> struct.Struct | None:
    """What writes numbers of some kinds into slots; None if not all are numbers."""
    if not all(kind in _IN_SLOT for kind in kinds):
        return None
    return struct.Struct("=" + "".join(_IN_SLOT[kind] for kind in kinds))


@cache
def _packer_of(group: Any) -> struct.Struct | None:
    return _packer([field.annotation for field in fields_of(group).values()])


def width_of(*groups: Any) -> int:
    """How many slots NamedTuples of these classes take."""
    return sum(field.width for group in groups for field in fields_of(group).values())


def _resolved(annotation: str, owner: Any) -> tuple[Any, Any]:
    """The type that an annotation stands for in kernels, and what declares it."""
    name = annotation.removesuffix(" | None")
    if name in ELEMENTS:
        return pointer_type(ELEMENTS[name]), name
    if name in _NUMBERS:
        return _NUMBERS[name], name
    if name == "Slots":
        return SLOTS, name
    namespace = vars(sys.modules[owner.__module__])
    if name.startswith("StepArray["):
        declared = namespace[name.removeprefix("StepArray[").removesuffix("]")]
        return pointer_type(StepType(declared)), declared
    if name.startswith("ViewArray["):
        declared = namespace[name.removeprefix("ViewArray[").removesuffix("]")]
        return ViewsType(declared), declared
    declared = namespace[name]
    return (View(declared) if hasattr(declared, "_fields") else StepType(declared)), declared


@cache
def signature_of(declared: Any) -> Any:
    """The signature that a protocol declares in its ``__call__``."""
    annotations = dict(declared.__call__.__annotations__)
    result = annotations.pop("return")
    arguments = [_resolved(annotation, declared)[0] for annotation in annotations.values()]
    return (types.void if result == "None" else _resolved(result, declared)[0])(*arguments)


def declared_signatures(kernels: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Steps with their signatures, as `runtime.companion` compiles them."""
    return [(kernel, signature_of(kernel.declared)) for kernel in kernels]


def step_address(kernel: Any) -> int:
    """Where the machine code of a step is, compiled if need be."""
    declared = kernel.declared
    address = kernel.addresses.get(declared)
    if address is None:
        address = kernel.addresses[declared] = address_of(kernel, signature_of(declared))
    return int(address)


# --- from Python --------------------------------------------------------------------


def make_slots(*groups: Any) -> Array:
    """What kernels find in some NamedTuples, one after the other."""
    return np.array([word for group in groups for word in _words_of(group)], np.int64)


@lru_cache(maxsize=256)
def remembered_slots(group: Any, *values: int) -> Array:
    """The slots of a NamedTuple of this class, all of whose values are whole numbers.

    For those who ask for the same ones often: making them anew takes as long as sending a row
    down a hundred trees. Nobody may write to them.
    """
    return make_slots(group(*values))


def set_fields(slots: Any, first: int, group: Any, **values: Any) -> None:
    """Write some fields anew of a NamedTuple of this class whose slots begin at ``first``."""
    fields = fields_of(group)
    for name, value in values.items():
        field = fields[name]
        place = first + field.place
        if field.packer is None:
            slots[place : place + field.width] = _slots_of(name, field, value)
        elif type(field.type) is View:  # which is faster than isinstance, for an abstract class
            _check_part(name, field, value)
            field.packer.pack_into(slots, 8 * place, *value)
        else:
            field.packer.pack_into(slots, 8 * place, value)


def read_notes(slots: Any, first: int, group: Any) -> Any:
    """The numbers that kernels have left in the notes whose slots begin at ``first``."""
    packer = _packer_of(group)
    assert packer is not None, f"{group.__name__} must be made of numbers"
    return group(*packer.unpack_from(slots, 8 * first))


def place_of(group: Any, name: str) -> int:
    """The place of a field among the slots of its NamedTuple."""
    return fields_of(group)[name].place


def new_arrays(group: Any, lengths: dict[str, int], **others: Any) -> Any:
    """A NamedTuple of this class with zeroed arrays of the given lengths; ``others`` as given."""
    fields = fields_of(group)
    arrays = {
        name: np.zeros(length, NUMPY_TYPES[fields[name].annotation])
        for name, length in lengths.items()
    }
    return group(**arrays, **others)


def _words_of(group: Any) -> list[int]:
    words: list[int] = []
    for (name, field), value in zip(fields_of(group.__class__).items(), group, strict=True):
        words += _slots_of(name, field, value)
    return words


def _slots_of(name: str, field: Field, value: Any) -> list[int]:
    kind, declared = field.type, field.annotation
    if declared in NUMPY_TYPES:
        if value.dtype != NUMPY_TYPES[declared] or not value.flags.c_contiguous:
            raise TypeError(f"{name} must be a contiguous array of {NUMPY_TYPES[declared]}")
        return [value.ctypes.data, value.size]
    if declared in _NUMBERS:
        assert field.packer is not None  # numbers have one
        return [int.from_bytes(field.packer.pack(value), sys.byteorder, signed=True)]
    if isinstance(kind, View):
        _check_part(name, field, value)
        return _words_of(value)
    if isinstance(kind, ViewsType):
        for view in value.views:
            _check_part(name, field, view)
        return [value.slots.ctypes.data]
    if isinstance(kind, StepType):
        if value is None:
            return [0]
        if value.declared is not declared:
            _check_step(name, declared, {value.declared})
        return [step_address(value)]
    _check_step(name, declared, value.declared)
    return [value.addresses.ctypes.data, value.addresses.size]


def _check_part(name: str, field: Field, value: Any) -> None:
    if type(value) is not field.annotation:
        found = type(value).__name__
        raise TypeError(f"{name} must be of {field.annotation.__name__}, got {found}")


def _check_step(name: str, declared: Any, found: set[Any]) -> None:
    for other in found - {declared}:
        raise TypeError(f"{name} must be a step of {declared.__name__}, got one of {other}")


# --- inside kernels -----------------------------------------------------------------


def make_loader(group: Any) -> Any:
    """An intrinsic ``load(slots, first)``: a view of the NamedTuple whose slots begin there."""
    result = View(group)

    @intrinsic
    def load(typing_context: Any, slots: Any, first: Any) -> Any:
        own = result(slots, types.int64)

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            data = data_of(context, builder, sig.args[0], args[0])
            return builder.gep(data, [args[1]])

        return own, generate

    return load


@register_model(View)
@register_model(ViewsType)
class _ViewModel(datamodel.models.PrimitiveModel):  # type: ignore[misc]
    """How a view, or many of them, are kept: as a pointer to slots."""

    def __init__(self, manager: Any, view: Any) -> None:
        super().__init__(manager, view, _WORD.as_pointer())


@register_model(StepType)
class _StepModel(datamodel.models.PrimitiveModel):  # type: ignore[misc]
    """How a step is kept: as its address, 0 where there is none."""

    def __init__(self, manager: Any, step: Any) -> None:
        super().__init__(manager, step, _WORD)


@infer_global(operator.getitem)
class _ViewByNumber(AbstractTemplate):  # type: ignore[misc]
    """One of many views."""

    def generic(self, args: Any, kws: Any) -> Any:
        """Only arrays of views are asked here."""
        if isinstance(args[0], ViewsType):
            return signature(View(args[0].group), args[0], types.int64)
        return None


@lower_builtin(operator.getitem, ViewsType, types.int64)
def _view_by_number(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    width = ir.Constant(_WORD, width_of(sig.args[0].group))
    return builder.gep(args[0], [builder.mul(args[1], width)], inbounds=True)


@infer_getattr
class _ViewAttribute(AttributeTemplate):  # type: ignore[misc]
    """The fields of a view by their names."""

    key = View

    def generic_resolve(self, view: Any, name: str) -> Any:
        """Return the type of a field, None if there is none of this name."""
        field = fields_of(view.group).get(name)
        return None if field is None else field.type


@lower_getattr_generic(View)
def _read_field(context: Any, builder: Any, view: Any, slots: Any, name: str) -> Any:
    """Read a field from its slot; an array gets its length if accesses are checked."""
    kind, place = fields_of(view.group)[name].type, fields_of(view.group)[name].place
    if isinstance(kind, View):
        return builder.gep(slots, [ir.Constant(_WORD, place)], inbounds=True)
    word = _read(builder, slots, place, getattr(view.group, "is_written", False))
    if isinstance(kind, ViewsType):
        return builder.inttoptr(word, _WORD.as_pointer())
    if isinstance(kind, types.Array | types.CPointer):
        pointer = builder.inttoptr(word, context.get_data_type(kind.dtype).as_pointer())
        if not BOUNDS_CHECK:
            return pointer
        return array_at(context, builder, kind, pointer, _read(builder, slots, place + 1, False))
    if kind is types.float64:
        return builder.bitcast(word, ir.DoubleType())
    if kind is types.boolean:
        return builder.icmp_signed("!=", word, ir.Constant(_WORD, 0))
    return word


@lower_setattr_generic(View)
def _write_field(context: Any, builder: Any, sig: Any, args: Any, name: str) -> None:
    """Write a number into its slot."""
    view, kind = sig.args
    field = fields_of(view.group)[name]
    if not getattr(view.group, "is_written", False) or field.annotation not in _NUMBERS:
        raise LoweringError(f"{name} of {view.group.__name__} cannot be written by kernels.")
    word = context.cast(builder, args[1], kind, field.type)
    if field.type is types.float64:
        word = builder.bitcast(word, _WORD)
    elif field.type is types.boolean:
        word = builder.zext(word, _WORD)
    place = ir.Constant(_WORD, field.place)
    builder.store(word, builder.gep(args[0], [place], inbounds=True))


def _read(builder: Any, slots: Any, place: int, may_change: bool) -> Any:
    """A slot; most do not change while a kernel runs."""
    word = builder.load(builder.gep(slots, [ir.Constant(_WORD, place)], inbounds=True))
    if not may_change:
        word.set_metadata("invariant.load", builder.module.add_metadata([]))
    return word


@lower_builtin(StepType, StepType, types.VarArg(types.Any))
def _call_step(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """Call the kernel behind an address, by the signature that it is declared with."""
    declared = signature_of(sig.args[0].declared)
    convention = context.call_conv
    kind = convention.get_function_type(declared.return_type, declared.args)
    target = builder.inttoptr(args[0], kind.as_pointer())
    status, result = convention.call_function(
        builder, target, declared.return_type, declared.args, args[1:]
    )
    with cgutils.if_unlikely(builder, status.is_error):
        convention.return_status_propagate(builder, status)
    return result


@infer_global(bool)
class _IsThere(AbstractTemplate):  # type: ignore[misc]
    """A step is true if there is one."""

    def generic(self, args: Any, kws: Any) -> Any:
        """Only steps are asked here."""
        if len(args) == 1 and isinstance(args[0], StepType):
            return signature(types.boolean, *args)
        return None


@lower_builtin(bool, StepType)
def _is_there(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.icmp_unsigned("!=", args[0], ir.Constant(_WORD, 0))

"""What Numba does to a kernel before LLVM gets it, without what kernels have no use for.

Much of the time that compiling takes is Python's. Some of it is for nothing here: Numba looks for
closures and for expressions of whole arrays, which our kernels do not have, and copies every
function that becomes part of another one twice, in case somebody else needs the original. Users'
own functions may have closures (a list comprehension is one), so they go through all passes.
"""

from __future__ import annotations

from typing import Any

from numba.core import ir
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.inline_closurecall import InlineWorker, callee_ir_validator
from numba.core.typed_passes import NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes, InlineInlinables

_NO_USE = (InlineClosureLikes, NopythonRewrites)


class KernelCompiler(CompilerBase):  # type: ignore[misc]
    """Numba's compiler with fewer passes."""

    def define_pipelines(self) -> list[Any]:
        """The passes that a kernel goes through."""
        return [_fewer(DefaultPassBuilder.define_nopython_pipeline(self.state), self.state)]


def _fewer(manager: Any, state: Any) -> Any:
    """Leave out passes without use, and inline without copies."""
    left_out = _NO_USE if state.func_id.modname.startswith("hornbeam.") else ()
    manager.passes = [
        (InlineFresh if made is InlineInlinables else made, about)
        for made, about in manager.passes
        if made not in left_out
    ]
    manager.finalize()
    return manager


def _untyped_passes(state: Any) -> Any:
    return _fewer(DefaultPassBuilder.define_untyped_pipeline(state), state)


class _FreshBlock(ir.Block):  # type: ignore[misc]
    """Code that was read for one call, so that who wants a copy may have it as it is."""

    def __deepcopy__(self, memo: Any) -> _FreshBlock:
        return self


class _Inliner(InlineWorker):  # type: ignore[misc]
    """Puts functions where they are called."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._compiler_pipeline = _untyped_passes

    def run_untyped_passes(self, func: Any, enable_ssa: bool = False) -> Any:
        """Read a function; nobody else knows what is read here."""
        code = super().run_untyped_passes(func, enable_ssa)
        for block in code.blocks.values():
            block.__class__ = _FreshBlock
        return code

    def inline_function(self, *args: Any, **kwargs: Any) -> Any:
        """Put a function where it is called; from then on it is code like any other."""
        result = super().inline_function(*args, **kwargs)
        for _, block in result[-1]:
            block.__class__ = ir.Block
        return result


@register_pass(mutates_CFG=True, analysis_only=False)
class InlineFresh(InlineInlinables):  # type: ignore[misc]
    """Numba's pass that inlines, with an inliner that does not copy."""

    _name = "inline_fresh"

    def _do_work(
        self, state: Any, work_list: Any, block: Any, i: int, expr: Any, inline_worker: Any
    ) -> Any:
        inliner = _Inliner(
            state.typingctx,
            state.targetctx,
            state.locals,
            state.pipeline,
            state.flags,
            validator=callee_ir_validator,
        )
        return super()._do_work(state, work_list, block, i, expr, inliner)

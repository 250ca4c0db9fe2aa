"""The one door to Numba: the ``@kernel`` decorator and its cache on disk.

Compiled code is kept in a directory of the user's own, named by a hash of all kernel
sources, so that a stale cache cannot happen and a read-only install works. Each file
carries a checksum of its content and of the kernel that it belongs to, and is read only where
nobody else can have written it (`runtime.trusted`): a damaged, foreign or unwritable cache
costs time, never correctness. A cache that can only be read is read. Users without a home
that can be written to get a directory among the temporary files.

``HORNBEAM_CACHE_DIR`` chooses another directory, ``HORNBEAM_QUIET=1`` silences the
notice of the first compilation, ``HORNBEAM_BOUNDSCHECK=1`` compiles every kernel with
bounds checks (slow; for tests). Numba's own ``NUMBA_DISABLE_JIT`` does not hold here.
"""

from __future__ import annotations

import gc
import hashlib
import logging
import os
import pickle
import re
import sys
import tempfile
import threading
import time
import types
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

import llvmlite
import numba
from numba.core import compiler
from numba.core.caching import NullCache
from numba.core.compiler_lock import global_compiler_lock

from hornbeam.runtime import trusted
from hornbeam.runtime.passes import KernelCompiler
from hornbeam.runtime.workers import Result, out_of_reach

logger = logging.getLogger("hornbeam")

BOUNDS_CHECK = os.environ.get("HORNBEAM_BOUNDSCHECK", "") not in ("", "0")

_PACKAGE = Path(__file__).resolve().parent.parent
_CHECKSUM_BYTES = 32
_UNUSED_DAYS = 90
_NO_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a plain function on arrays with Numba, once per machine.

    The compiled function releases the GIL, divides like NumPy (no ZeroDivisionError)
    and never raises: arguments are checked in Python before.
    """
    return specialise(function, variant="")


def step(declared: type[Any], variant: str | None = "") -> Any:
    """Compile a kernel that only other kernels call, by its address (see `runtime.views`).

    ``declared`` is the protocol that says what it takes and returns. It has no wrapper for
    Python, which takes time to compile. ``variant`` as in `specialise`.
    """

    def decorate(function: Function) -> Function:
        compiled_later: Any = specialise(function, variant, **_NO_WRAPPERS)
        compiled_later.declared = declared
        return compiled_later

    return decorate


def part(function: Function) -> Function:
    """Compile a function that only kernels call, without the wrapper that Python needs.

    It is not stored: the kernels that it is part of are. Its machine code becomes part of
    theirs, where pointers that both read are read once.
    """
    return _compile(function, None, **_NO_WRAPPERS, forceinline=True)


def routine(function: Function) -> Function:
    """Compile a part that is too large to be copied into those that call it."""
    return _compile(function, None, **_NO_WRAPPERS)


def inlined(function: Function) -> Function:
    """A tiny function that becomes part of its callers before they are compiled.

    Compiling it on its own would cost more than compiling it again in each caller.
    """
    return _compile(function, None, inline="always")


def specialise(function: Function, variant: str | None, **options: Any) -> Function:
    """Compile a function made by a factory; ``variant`` tells its closures apart.

    With ``variant=None`` what the function depends on is unknown, so it is not stored.
    """
    own = function if variant == "" else with_own_name(function, variant)
    return _compile(own, variant, **options)


def part_of(function: Function, variant: str | None) -> Function:
    """A function made by a factory that becomes part of a specialised one."""
    return part(with_own_name(function, variant))


def with_own_name(function: Function, variant: str | None) -> Function:
    """A copy of a function whose compiled code has a name of its own.

    Numba names machine code by the qualified name of a function and a counter of the
    process. Code from the disk brings the counter of the process that compiled it, so two
    closures of one factory can meet under one name, and calls to one would reach the other.
    """
    label = uuid.uuid4().hex if variant is None else hashlib.sha256(variant.encode()).hexdigest()
    copy: Any = types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__module__ = function.__module__
    copy.__qualname__ = f"{function.__qualname__}_{label[:16]}"
    return copy


def fingerprint(function: Callable[..., Any]) -> str | None:
    """What a plain function depends on; None if that is more than its own code.

    Compiled code of a function with a fingerprint can be kept on disk.
    """
    code = function.__code__
    if function.__closure__ or code.co_freevars:
        return None
    for name in code.co_names:
        value = function.__globals__.get(name)
        if value is not None and not isinstance(value, types.ModuleType):
            return None
    content = repr((code.co_code, code.co_consts, code.co_names, function.__defaults__))
    return hashlib.sha256(content.encode()).hexdigest()


def _compile(function: Function, variant: str | None, **options: Any) -> Function:
    dispatcher: Any = jitted(function, nogil=True, boundscheck=BOUNDS_CHECK, **options)
    dispatcher._cache = KernelCache(function, variant)
    return dispatcher


def jitted(function: Function, **options: Any) -> Function:
    """Let Numba compile a function when it is first called; nothing is kept on disk."""
    with _although_disabled:
        dispatcher = numba.njit(error_model="numpy", pipeline_class=KernelCompiler, **options)(
            function
        )
    dispatcher.addresses = {}  # signature -> address, see `address_of`
    compile_now = dispatcher.compile

    def compile_although_disabled(signature: Any) -> Any:
        with _although_disabled:
            return compile_now(signature)

    dispatcher.compile = lambda signature: undisturbed(
        partial(compile_although_disabled, signature)
    )
    return dispatcher


class _AlthoughDisabled:
    """Compile in spite of NUMBA_DISABLE_JIT, which people set to debug code of their own.

    Kernels are no Python: they read bare pointers and use what only compiled code has. The
    setting is of the whole process, so the last thread to leave puts it back.
    """

    def __init__(self) -> None:
        self._setting = numba.config.DISABLE_JIT
        self.reset()

    def reset(self) -> None:
        """Begin anew: in a forked child no other thread is inside."""
        self._lock = threading.Lock()
        self._inside = 0
        numba.config.DISABLE_JIT = self._setting

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._setting, numba.config.DISABLE_JIT = numba.config.DISABLE_JIT, 0
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                numba.config.DISABLE_JIT = self._setting


_although_disabled = _AlthoughDisabled()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_although_disabled.reset)


def undisturbed(function: Callable[[], Result]) -> Result:
    """Call what compiles or loads code; an interrupt is raised when that is done.

    Who is already compiling goes on in the same thread: the lock of Numba is its own.
    """
    return function() if global_compiler_lock.is_locked() else out_of_reach(function)


def compiled(dispatcher: Any, signature: Any) -> Any:
    """Compile a kernel for a signature, unless it is compiled; returns Numba's result."""
    if not is_compiled(dispatcher, signature):
        undisturbed(partial(_compile_without_collecting, dispatcher, signature))
    return dispatcher.overloads[signature.args]


def _compile_without_collecting(dispatcher: Any, signature: Any) -> None:
    """Compile while Python's garbage collector rests.

    Numba makes millions of small objects while it compiles, and the collector would look
    through them again and again: a tenth of the time.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        dispatcher.compile(signature)
    finally:
        if collecting:
            gc.enable()


def is_compiled(dispatcher: Any, signature: Any) -> bool:
    """Whether a kernel is compiled for a signature in this process."""
    return signature.args in dispatcher.overloads


def is_at_hand(dispatcher: Any, signature: Any) -> bool:
    """Whether a kernel is compiled for a signature, here or in the cache on disk."""
    if is_compiled(dispatcher, signature):
        return True
    return bool(dispatcher._cache.holds(signature, dispatcher.targetctx.codegen()))


def address_of(dispatcher: Any, signature: Any) -> int:
    """Address of a kernel's machine code.

    LLVM is asked once: it has one lock for all threads.
    """

    def ask() -> int:
        result = compiled(dispatcher, signature)
        return int(result.library.get_pointer_to_function(result.fndesc.llvm_func_name))

    if signature not in dispatcher.addresses:
        dispatcher.addresses[signature] = undisturbed(ask)
    return int(dispatcher.addresses[signature])


class KernelCache(NullCache):  # type: ignore[misc]
    """Numba's cache protocol on checksummed files; every failure is a miss."""

    def __init__(self, function: Callable[..., Any], variant: str | None) -> None:
        module = function.__module__ or ""  # None for the function of an executed string
        self._name = f"{module.rpartition('.')[2]}.{function.__name__}"
        self._identity = f"{function.__module__}.{function.__qualname__}|{variant}"
        self._started: dict[Any, float] = {}
        self._stored = variant is not None

    @property
    def cache_path(self) -> str | None:
        """Directory of the compiled code."""
        directory = cache_directory()
        return None if directory is None else str(directory)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Compiled code for a signature, or None when it must be compiled."""
        target_context.refresh()
        payload = self.read(sig, target_context.codegen())
        if payload is not None:
            try:
                return compiler.CompileResult._rebuild(target_context, *pickle.loads(payload))
            except Exception as error:
                logger.info("the cached code of %s is unusable (%s)", self._name, error)
        _notice.announce(self._name)
        self._started[sig] = time.perf_counter()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep freshly compiled code; an unwritable directory is not an error."""
        seconds = time.perf_counter() - self._started.pop(sig, time.perf_counter())
        _compile_times[self._name] = _compile_times.get(self._name, 0.0) + seconds
        identity = self._identify(sig, data.codegen)
        if identity is None:
            return
        try:
            payload = pickle.dumps(data._reduce(), protocol=pickle.HIGHEST_PROTOCOL)
            with _opened_cache() as folder:
                folder.write(self._file_name(identity), _checksum(identity, payload) + payload)
        except OSError as error:
            _warn_unkept(error)
        except Exception as error:
            logger.info("the compiled code of %s could not be stored (%s)", self._name, error)

    def holds(self, sig: Any, codegen: Any) -> bool:
        """Whether there is a file for a signature."""
        identity = self._identify(sig, codegen)
        if identity is None:
            return False
        try:
            with _opened_cache() as folder:
                return folder.holds(self._file_name(identity))
        except OSError:
            return False

    def read(self, sig: Any, codegen: Any) -> bytes | None:
        """The stored code for a signature, None if there is none that can be used."""
        identity = self._identify(sig, codegen)
        if identity is None:
            return None
        try:
            with _opened_cache() as folder:
                content = folder.read(self._file_name(identity))
        except FileNotFoundError:
            return None
        except OSError as error:
            logger.info("the cached code of %s is not used (%s)", self._name, error)
            return None
        payload = content[_CHECKSUM_BYTES:]
        if _checksum(identity, payload) != content[:_CHECKSUM_BYTES]:
            logger.info("the cached code of %s is damaged and will be compiled again", self._name)
            return None
        return payload

    def _identify(self, sig: Any, codegen: Any) -> bytes | None:
        """Digest of all that tells this machine code from other; None if it is not stored."""
        if not self._stored or cache_directory() is None:
            return None
        key = repr((source_hash(), self._identity, str(sig), codegen.magic_tuple()))
        return hashlib.sha256(key.encode()).digest()

    def _file_name(self, identity: bytes) -> str:
        return f"{self._name}-{identity.hex()[:24]}.bin"


def _checksum(identity: bytes, payload: bytes) -> bytes:
    """Whose code it is stands under the checksum: a file of another kernel is no good file."""
    state = hashlib.sha256(identity)
    state.update(payload)
    return state.digest()


# --- where compiled code lives ----------------------------------------------------


def _user_cache_root() -> Path:
    if chosen := os.environ.get("HORNBEAM_CACHE_DIR"):
        return Path(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "hornbeam"


def _temporary_cache_root() -> Path:
    """Where code is kept for a while by users whose home is not there or cannot be written."""
    if os.environ.get("HORNBEAM_CACHE_DIR") or not hasattr(os, "geteuid"):
        raise FileNotFoundError("no other directory is tried")
    return Path(tempfile.gettempdir()) / f"hornbeam-{os.geteuid()}"


@cache
def source_hash() -> str:
    """Hash of everything compiled code depends on, besides the processor."""
    versions = (numba.__version__, llvmlite.__version__, sys.version_info[:3])
    state = hashlib.sha256(repr((*versions, BOUNDS_CHECK)).encode())
    for pattern in ("runtime/*.py", "kernels/**/*.py", "*.py"):
        for path in sorted(_PACKAGE.glob(pattern)):
            state.update(path.name.encode() + b"\0" + path.read_bytes())
    return state.hexdigest()[:16]


@cache
def cache_directory() -> Path | None:
    """Directory of this version's compiled code; None when there is no safe one.

    Loading compiled code runs it, so a directory that other users can write to, or that
    belongs to somebody else, is not used. This is asked again whenever a file is read.
    """
    reason: Exception | None = None
    for root_of in (_user_cache_root, _temporary_cache_root):
        try:
            return _made_directory(root_of())
        except (OSError, RuntimeError) as error:
            reason = reason or error
    _warn(reason)
    return None


def _made_directory(root: Path) -> Path:
    """The directory of this version in a root, made if need be; OSError if it is not safe."""
    directory = root / source_hash()
    trusted.make_folder(root)
    trusted.make_folder(directory)
    with trusted.opened_folder(root, directory.name):
        pass
    if os.access(directory, os.W_OK):
        with suppress(OSError):
            _remove_unused(root, directory)
    return directory


def can_keep_code() -> bool:
    """Whether compiled code can be left in the cache, and not only be read there."""
    directory = cache_directory()
    return directory is not None and os.access(directory, os.W_OK)


@contextmanager
def _opened_cache() -> Iterator[trusted.Folder]:
    """The directory of this version's compiled code, open, if it can still be trusted."""
    directory = cache_directory()
    if directory is None:
        raise FileNotFoundError("there is no cache directory")
    with trusted.opened_folder(directory.parent, directory.name) as folder:
        yield folder


def _remove_unused(root: Path, current: Path) -> None:
    """Drop the code of versions that nobody has used for a season."""
    os.utime(current)
    trusted.remove_abandoned(current)
    for directory in root.iterdir():
        is_other = re.fullmatch("[0-9a-f]{16}", directory.name) and directory != current
        if not is_other or not trusted.is_own(directory):
            continue
        if time.time() - directory.stat().st_mtime > _UNUSED_DAYS * 86400:
            trusted.remove_abandoned(directory)
            for file in directory.glob("*.bin"):
                file.unlink(missing_ok=True)
            if not any(directory.iterdir()):
                directory.rmdir()


# --- telling the user ---------------------------------------------------------------

_compile_times: dict[str, float] = {}
_warned: set[Path | None] = set()  # directories that could not be written to


def _warn(reason: object) -> None:
    logger.warning(
        "hornbeam cannot keep compiled code (%s), so every process compiles anew; "
        "set HORNBEAM_CACHE_DIR to a directory of your own",
        reason,
    )


def _warn_unkept(error: OSError) -> None:
    """Say once that what this process compiles is lost."""
    if cache_directory() not in _warned:
        _warned.add(cache_directory())
        _warn(error)


def compile_times() -> dict[str, float]:
    """Seconds spent compiling each kernel in this process, callees included."""
    return dict(_compile_times)


class _Notice:
    """One line on stderr while kernels compile, so that the wait has a reason."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0

    def announce(self, name: str) -> None:
        """Say that a kernel is being compiled (the first time in words)."""
        logger.debug("compiling %s", name)
        if os.environ.get("HORNBEAM_QUIET", "") not in ("", "0"):
            return
        with self._lock:
            self._count += 1
            if self._count == 1 and sys.stderr is not None:
                with suppress(OSError, ValueError):  # nobody can read it, so nobody waits
                    print(
                        "hornbeam: compiling for this machine; it takes some seconds and happens "
                        "once (`hornbeam warmup` does it ahead of time)",
                        file=sys.stderr,
                        flush=True,
                    )


_notice = _Notice()

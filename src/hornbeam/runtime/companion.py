"""A second process that compiles kernels beside this one.

Numba compiles one kernel at a time, however many threads there are, and the first fit on a
machine needs some twenty of them. So another Python process takes them from the end of the
list while this one takes them from the front, and leaves them in the cache on disk, where this
one finds them (`runtime.kernel`). Whatever goes wrong with the other process only costs time:
what is not in the cache is compiled here.
"""

from __future__ import annotations

import base64
import importlib
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from hornbeam.runtime.kernel import (
    can_keep_code,
    compiled,
    is_at_hand,
    is_compiled,
    undisturbed,
)
from hornbeam.runtime.team import core_count

Kernel = tuple[Any, Any]  # and its signature

# Starting another Python takes about as long as compiling two of them.
_LEAST_KERNELS = 4
_READY = b"ready"
# A process that takes longer than this for one kernel does not come back.
_PATIENCE_SECONDS = 60.0
_NAP_SECONDS = 0.002
_START = "import sys; sys.path[:] = {path!r}; import {module} as companion; companion.serve()"


class _Shared:
    """What threads know of each other: kernels that wait, and who hands them out."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin anew: in a forked child no thread hands anything out."""
        self.lock = threading.Lock()
        self.queue: deque[Kernel] = deque()
        self.helper: threading.Thread | None = None
        self.busy = False  # the other process has a kernel in hand


_shared = _Shared()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_shared.reset)


def begin(kernels: Iterable[Kernel]) -> None:
    """Let another process compile those kernels that are new, if they are many.

    Parameters
    ----------
    kernels : sequence of (kernel, signature)
    """
    new = [(step, signature) for step, signature in kernels if not is_compiled(step, signature)]
    if new:
        undisturbed(partial(_queue_up, new))


def _queue_up(kernels: Sequence[Kernel]) -> None:
    """Let the other process know of kernels that are not on disk either."""
    new = [kernel for kernel in kernels if not is_at_hand(*kernel)]
    if not new:
        return
    with _shared.lock:
        queue, helper = _shared.queue, _shared.helper
        queue.extend(kernel for kernel in new if kernel not in queue and _place(kernel[0]))
        is_there = helper is not None and helper.is_alive()
        if len(queue) >= _LEAST_KERNELS and not is_there and _can_help():
            _shared.helper = threading.Thread(target=_hand_out, args=(_shared,), daemon=True)
            _shared.helper.start()


def compile_all(kernels: Sequence[Kernel]) -> None:
    """Compile kernels, with the help of another process if many of them are new.

    Parameters
    ----------
    kernels : sequence of (kernel, signature)
    """
    begin(kernels)
    for kernel in kernels:
        if not _place(kernel[0]):  # those that only this process can compile
            compiled(*kernel)
    while _shared.queue:
        try:
            compiled(*_shared.queue.popleft())
        except IndexError:  # the other process was faster
            break
    _wait_for_other()
    for kernel in kernels:
        compiled(*kernel)


def _wait_for_other() -> None:
    """Until the last kernel of the other process is done; an interrupt leaves no lock behind."""
    begun = time.monotonic()
    while _shared.busy:
        if time.monotonic() - begun > _PATIENCE_SECONDS:
            _shared.busy = False  # nobody else is to wait for it
        time.sleep(_NAP_SECONDS)


def serve() -> None:
    """Compile what is asked for on standard input, until it ends; the other process runs this."""
    while True:
        print(_READY.decode(), flush=True)
        line = sys.stdin.readline()
        if not line:
            return
        (module, name), signature = pickle.loads(base64.b64decode(line))
        compiled(getattr(importlib.import_module(module), name), signature)


def _hand_out(shared: _Shared) -> None:
    """Give another process kernels from the end of the queue, whenever it has none."""
    start = _START.format(path=sys.path, module=__name__)
    try:
        with subprocess.Popen(
            [sys.executable, "-c", start],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HORNBEAM_QUIET": "1"},
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        ) as process:
            assert process.stdin is not None and process.stdout is not None
            for line in process.stdout:
                if line.strip() != _READY:
                    continue  # somebody's start-up file has something to say
                shared.busy = True  # before the queue is empty, or nobody would wait
                try:
                    kernel, signature = shared.queue.pop()
                except IndexError:
                    shared.busy = False
                    break
                request = pickle.dumps((_place(kernel), signature))
                process.stdin.write(base64.b64encode(request) + b"\n")
                process.stdin.flush()
    except OSError:
        return  # no process may be started here, or it has died
    finally:
        shared.busy = False


def _place(kernel: Any) -> tuple[str, str] | None:
    """Module and name by which another process can import a kernel; None if there is none."""
    module, name = kernel.py_func.__module__, kernel.py_func.__name__
    there = getattr(sys.modules.get(module), name, None)
    return (module, name) if there is kernel else None


def _can_help() -> bool:
    """Whether another Python can be started, has a core, and can leave something behind."""
    # sys.executable of a frozen program, or of one that embeds Python, is that program
    is_python = Path(sys.executable or "").stem.startswith("python")
    is_frozen = getattr(sys, "frozen", False)
    is_worker = multiprocessing.parent_process() is not None  # others keep the cores busy
    if not is_python or is_frozen or is_worker or core_count() < 2:
        return False
    return can_keep_code()

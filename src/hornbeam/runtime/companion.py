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
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import joblib

from hornbeam.runtime.kernel import cache_directory, compiled, is_at_hand

Kernel = tuple[Any, Any]  # and its signature

# Starting another Python takes about as long as compiling two of them.
_LEAST_KERNELS = 4
_READY = "ready"
_START = "import sys; sys.path[:] = {path!r}; import {module} as companion; companion.serve()"


_queue: deque[Kernel] = deque()
_helpers: list[threading.Thread] = []
_lock = threading.Lock()


def begin(kernels: Iterable[Kernel]) -> None:
    """Let another process compile those kernels that are new, if they are many.

    Parameters
    ----------
    kernels : sequence of (kernel, signature)
    """
    new = [kernel for kernel in kernels if not is_at_hand(*kernel)]
    if not new:
        return
    with _lock:
        _queue.extend(kernel for kernel in new if kernel not in _queue and _place(kernel[0]))
        _helpers[:] = [helper for helper in _helpers if helper.is_alive()]
        if len(_queue) >= _LEAST_KERNELS and not _helpers and _can_help():
            _helpers.append(threading.Thread(target=_hand_out, daemon=True))
            _helpers[0].start()


def compile_all(kernels: Sequence[Kernel]) -> None:
    """Compile kernels, with the help of another process if many of them are new.

    Parameters
    ----------
    kernels : sequence of (kernel, signature)
    """
    begin(kernels)
    while _queue:
        try:
            compiled(*_queue.popleft())
        except IndexError:  # the other process was faster
            break
    for helper in list(_helpers):
        helper.join()  # it is at its last kernel
    for kernel in kernels:
        compiled(*kernel)


def serve() -> None:
    """Compile what is asked for on standard input, until it ends; the other process runs this."""
    while True:
        print(_READY, flush=True)
        line = sys.stdin.readline()
        if not line:
            return
        module, name, signature = pickle.loads(base64.b64decode(line))
        compiled(getattr(importlib.import_module(module), name), signature)


def _hand_out() -> None:
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
            for _ in process.stdout:
                try:
                    kernel, signature = _queue.pop()
                except IndexError:
                    break
                request = pickle.dumps((*(_place(kernel) or ()), signature))
                process.stdin.write(base64.b64encode(request) + b"\n")
                process.stdin.flush()
    except OSError:
        return  # no process may be started here, or it has died


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
    if not is_python or is_frozen or is_worker or joblib.cpu_count() < 2:
        return False
    return cache_directory() is not None
